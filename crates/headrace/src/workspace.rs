//! The session of a compiler: where sources are looked for, what was read of them, and networks that are made of it.

use crate::error::{Error, Result};
use crate::roots::{BUILT_IN, Roots, is_manifest, kind_of, read_source};
use headrace_frontend::{Expanded, Node, Session, SourceKind, SourceText, Top};
use headrace_ir::Network;
use headrace_library::catalog::Library;
use headrace_source::{Diagnostic, Severity, SourceMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What decides what names mean.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Source roots, searched in this order before the library; a package is a folder path below a root.
    pub roots: Vec<PathBuf>,
    /// A folder whose `ctl/` and `std/` are read in the place of the built-in library.
    pub library: Option<PathBuf>,
    /// Integers of up to 64 bits have 8, 16, 32 or 64, for programs that rely on what C code of Orcc does.
    pub orcc_widths: bool,
    /// Bytes that the variables of a network may take, if not [`headrace_frontend::DEFAULT_STATE_BYTES`].
    pub state_bytes: Option<u64>,
}

/// Something to be said beside what comes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Problems with places in sources that were found together.
    Problems(Vec<Diagnostic>),
    /// Why a part of what was asked for could not be done.
    Failed(Error),
    /// A file that cannot be read, and why.
    Unreadable(String),
    /// Something worth knowing.
    Note(String),
}

impl Remark {
    /// The problems that it tells.
    pub fn problems(&self) -> &[Diagnostic] {
        match self {
            Remark::Problems(problems) | Remark::Failed(Error::Sources(problems) | Error::Refused(problems)) => {
                problems
            }
            Remark::Failed(_) | Remark::Unreadable(_) | Remark::Note(_) => &[],
        }
    }
}

/// Sources that were read, and where others are looked for.
///
/// Files are read when something asks for them, and once. Diagnostics point into [`Workspace::sources`]. What a call has to
/// say beside its result waits for [`Workspace::take_remarks`]: nothing is printed.
pub struct Workspace {
    settings: Settings,
    /// Where sources are looked for.
    pub roots: Roots,
    /// What the front end has read.
    pub session: Session,
    pub(crate) remarks: Vec<Remark>,
}

impl Default for Workspace {
    /// The built-in library alone.
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Workspace {
    /// Nothing read yet.
    pub fn new(settings: Settings) -> Self {
        let roots = Roots::new(&settings.roots, settings.library.as_deref());
        Self::of(settings, roots)
    }

    /// The same roots, with nothing read.
    pub fn unread(&self) -> Self {
        Self::of(self.settings.clone(), self.roots.clone())
    }

    fn of(settings: Settings, roots: Roots) -> Self {
        let mut session = Session::new();
        session.orcc_widths = settings.orcc_widths;
        settings.state_bytes.into_iter().for_each(|bytes| session.set_state_bytes(bytes));
        Self { settings, roots, session, remarks: Vec::new() }
    }

    /// All texts that were read.
    pub fn sources(&self) -> &SourceMap {
        &self.session.sources
    }

    /// Whether what names mean is said by the built-in library alone: not by folders, nor by settings that change networks.
    pub fn is_plain(&self) -> bool {
        self.roots.are_built_in() && !self.settings.orcc_widths && self.settings.state_bytes.is_none()
    }

    /// What there is to say of the calls so far, in the order in which it was found; it is told once.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    pub(crate) fn remark(&mut self, remark: Remark) {
        self.remarks.push(remark);
    }

    /// Problems found together are told, where there are any.
    pub(crate) fn remark_problems(&mut self, problems: Vec<Diagnostic>) {
        if !problems.is_empty() {
            self.remarks.push(Remark::Problems(problems));
        }
    }

    /// What the text for a network means: a qualified name (`ctl.mode.ctr.Ctr`), the last part of one that is known, a path
    /// to a `.cal`, `.nl` or `.xdf` file, or an instantiation (`ctl.block.aes.AesEncrypt(NK = 4)`).
    ///
    /// # Errors
    ///
    /// The file cannot be read; several entities are called so. That nothing is called so is found out later.
    pub fn top(&mut self, text: &str) -> Result<Top> {
        let path = Path::new(text);
        if text.contains('(') && !path.exists() {
            return Ok(Top::Expression(text.to_owned()));
        }
        if let Some(kind) = kind_of(path).filter(|_| path.exists() || !self.roots.knows(text)) {
            return self.top_of_file(path, kind);
        }
        if !text.contains('.') && !self.roots.knows(text) {
            match self.roots.named(text).as_slice() {
                [] => {}
                [one] => return Ok(Top::Name(one.clone())),
                several => {
                    let several = several.join(", ");
                    return Err(Error::usage(format!("`{}` may mean {several}", text.escape_debug())));
                }
            }
        }
        Ok(Top::Name(text.to_owned()))
    }

    /// The entity in a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn top_of_file(&mut self, path: &Path, kind: SourceKind) -> Result<Top> {
        let text = read_source(path).map_err(Error::Wrong)?;
        Ok(match self.roots.adopt(path, &text, kind) {
            Some(name) => Top::Name(name),
            None => Top::Source(SourceText { display: path.display().to_string(), text, kind }, None),
        })
    }

    /// The flat network of an entity: every actor typed, with its parameters.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// let mut workspace = headrace::Workspace::default();
    /// let network = workspace.network("ctl.block.aes.AesEncrypt", &[("NK".into(), "8".into())])?;
    /// assert!(network.inputs.iter().any(|port| port.name == "Key"));
    /// let wrong = workspace.network("ctl.block.aes.NoSuchNetwork", &[]);
    /// assert!(matches!(wrong, Err(headrace::Error::Sources(problems)) if !problems.is_empty()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What [`Workspace::top`] says; what is wrong with the sources.
    pub fn network(&mut self, text: &str, parameters: &[(String, String)]) -> Result<Arc<Network>> {
        let top = self.top(text)?;
        let network = headrace_frontend::elaborate(&mut self.session, &self.roots, &top, parameters);
        self.found()?;
        network.map(Arc::new).ok_or_else(|| Error::Sources(Vec::new()))
    }

    /// The levels of networks and actors of an entity.
    ///
    /// # Errors
    ///
    /// As of [`Workspace::network`].
    pub fn hierarchy(&mut self, text: &str, parameters: &[(String, String)]) -> Result<Node> {
        let top = self.top(text)?;
        let node = headrace_frontend::hierarchy(&mut self.session, &self.roots, &top, parameters);
        self.found()?;
        node.ok_or_else(|| Error::Sources(Vec::new()))
    }

    /// A network with nothing left to resolve, and the inner networks that it needs.
    ///
    /// # Errors
    ///
    /// As of [`Workspace::network`]; it is an actor.
    pub fn expand(&mut self, text: &str, parameters: &[(String, String)]) -> Result<Vec<Expanded>> {
        let top = self.top(text)?;
        let expanded = headrace_frontend::expand(&mut self.session, &self.roots, &top, parameters);
        self.found()?;
        expanded.ok_or_else(|| Error::wrong(format!("`{}` is not a network", text.escape_debug())))
    }

    /// Fails if the front end found errors. Warnings about the built-in library are for those who check it.
    fn found(&mut self) -> Result {
        let mut found = self.session.take_diagnostics();
        found.retain(|diagnostic| {
            let name = diagnostic.primary.as_ref().map_or("", |label| self.session.sources.name(label.span.file));
            diagnostic.severity == Severity::Error || !name.starts_with(BUILT_IN)
        });
        self.sound(found)
    }

    /// Fails if there is an error among problems; else they are told.
    fn sound(&mut self, problems: Vec<Diagnostic>) -> Result {
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(Error::Sources(problems));
        }
        self.remark_problems(problems);
        Ok(())
    }

    /// All primitives below the source roots.
    ///
    /// # Errors
    ///
    /// What is wrong with their manifests.
    pub fn library(&mut self) -> Result<Library> {
        let texts = self.roots.texts(is_manifest, &["toml"]);
        let mut files = Vec::new();
        for (path, display, text) in texts {
            let id = self.session.sources.add(display, text.map_err(Error::Wrong)?);
            files.push((id, path));
        }
        let sources = &self.session.sources;
        let (library, problems) = Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id))));
        self.sound(problems)?;
        Ok(library)
    }
}
