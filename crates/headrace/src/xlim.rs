//! Networks whose actors are designs of XLIM: a design that is named by its file, or an XDF beside whose file the designs lie.

use crate::error::{Error, Result};
use crate::roots::read_source;
use crate::workspace::Workspace;
use headrace_source::{Diagnostic, Severity, Span};
use headrace_syntax::ast::{self, Entity, EntityExprKind};
use headrace_syntax::xdf;
use headrace_xlim::{Design, XlimNetwork};
use std::path::{Path, PathBuf};

/// The ending of designs.
const ENDING: &str = "xlim";

impl Workspace {
    /// Reads the network that a path means, if its actors are designs.
    ///
    /// # Errors
    ///
    /// What is wrong with the network or a design of it.
    pub fn designs(&mut self, text: &str) -> Result<Option<XlimNetwork>> {
        let path = Path::new(text);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some(ENDING) => {
                let read = self.design(path, None).and_then(|(design, span)| XlimNetwork::of_design(design, span));
                read.map(Some).map_err(Error::Refused)
            }
            Some("xdf") if path.exists() => self.designs_of_xdf(path),
            _ => Ok(None),
        }
    }

    fn designs_of_xdf(&mut self, path: &Path) -> Result<Option<XlimNetwork>> {
        let text = read_source(path).map_err(Error::Wrong)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        // Most networks have actors in CAL: their texts are read where these are.
        let file = headrace_source::FileId(0);
        let Some(Entity::Network(found)) = xdf::read(file, "network", &text).0.map(|tree| tree.entity) else {
            return Ok(None);
        };
        if !classes(&found).any(|class| design_file(folder, class).is_file()) {
            return Ok(None);
        }
        let file = self.session.sources.add(path.display().to_string(), text);
        let (tree, problems) = xdf::read(file, "network", self.session.sources.text(file));
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(Error::Refused(problems));
        }
        self.remark_problems(problems);
        let Some(Entity::Network(network)) = tree.map(|tree| tree.entity) else { return Ok(None) };
        let mut read = |class: &str, span: Span| -> std::result::Result<Design, Vec<Diagnostic>> {
            self.design(&design_file(folder, class), Some(span)).map(|(design, _)| design)
        };
        XlimNetwork::of_xdf(&network, &mut read).map(Some).map_err(Error::Refused)
    }

    /// Reads a design; `asked` is where it is named.
    fn design(&mut self, path: &Path, asked: Option<Span>) -> std::result::Result<(Design, Span), Vec<Diagnostic>> {
        let text = read_source(path).map_err(|message| {
            let problem = Diagnostic::error("unreadable-file", message);
            vec![asked.iter().fold(problem, |problem, span| problem.at(*span, "named here"))]
        })?;
        let file = self.session.sources.add(path.display().to_string(), text);
        let (design, problems) = headrace_xlim::read(file, self.session.sources.text(file));
        design.map(|design| (design, Span::new(file, 0, 0))).ok_or(problems)
    }
}

fn classes(network: &ast::Network) -> impl Iterator<Item = &str> {
    network.entities.iter().filter_map(|entity| match &entity.value.kind {
        EntityExprKind::Instance { class, .. } => Some(class.text.as_str()),
        _ => None,
    })
}

/// Where the design of a class lies: packages are folders.
fn design_file(folder: &Path, class: &str) -> PathBuf {
    folder.join(class.replace('.', "/")).with_extension(ENDING)
}
