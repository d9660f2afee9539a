//! Networks whose actors are designs of XLIM: a design that is named by its file, or an XDF beside whose file the designs lie.

use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::roots::read_source;
use headrace_source::{Diagnostic, Severity, Span};
use headrace_syntax::ast::{self, Entity, EntityExprKind};
use headrace_syntax::xdf;
use headrace_xlim::{Design, XlimNetwork};
use std::path::{Path, PathBuf};

/// The ending of designs.
const ENDING: &str = "xlim";

/// Reads the network that NETWORK means, if its actors are designs.
pub fn load(context: &mut Context, text: &str) -> Outcome<Option<XlimNetwork>> {
    let path = Path::new(text);
    let loaded = match path.extension().and_then(|ending| ending.to_str()) {
        Some(ENDING) => {
            design(context, path, None).and_then(|(design, span)| XlimNetwork::of_design(design, span)).map(Some)
        }
        Some("xdf") if path.exists() => of_xdf(context, path)?,
        _ => return Ok(None),
    };
    loaded.map_err(|problems| {
        context.show(&problems);
        Failure::said()
    })
}

fn of_xdf(context: &mut Context, path: &Path) -> Outcome<Result<Option<XlimNetwork>, Vec<Diagnostic>>> {
    let text = read_source(path).map_err(Failure::wrong)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // Most networks have actors in CAL: their texts are read where these are.
    let file = headrace_source::FileId(0);
    let Some(Entity::Network(found)) = xdf::read(file, "network", &text).0.map(|tree| tree.entity) else {
        return Ok(Ok(None));
    };
    if !classes(&found).any(|class| design_file(folder, class).is_file()) {
        return Ok(Ok(None));
    }
    let file = context.session.sources.add(path.display().to_string(), text);
    let (tree, problems) = xdf::read(file, "network", context.session.sources.text(file));
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Ok(Err(problems));
    }
    context.show(&problems);
    let Some(Entity::Network(network)) = tree.map(|tree| tree.entity) else { return Ok(Ok(None)) };
    let mut read = |class: &str, span: Span| -> Result<Design, Vec<Diagnostic>> {
        design(context, &design_file(folder, class), Some(span)).map(|(design, _)| design)
    };
    Ok(XlimNetwork::of_xdf(&network, &mut read).map(Some))
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

/// Reads a design; `asked` is where it is named.
fn design(context: &mut Context, path: &Path, asked: Option<Span>) -> Result<(Design, Span), Vec<Diagnostic>> {
    let text = read_source(path).map_err(|message| {
        let problem = Diagnostic::error("unreadable-file", message);
        vec![asked.iter().fold(problem, |problem, span| problem.at(*span, "named here"))]
    })?;
    let file = context.session.sources.add(path.display().to_string(), text);
    let (design, problems) = headrace_xlim::read(file, context.session.sources.text(file));
    design.map(|design| (design, Span::new(file, 0, 0))).ok_or(problems)
}
