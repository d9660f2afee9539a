//! What lasts over a run: source texts, parsed files, diagnostics, constants of units, and the budget for folding.

use crate::members::Loaded;
use crate::types::Ty;
use headrace_ir::Value;
use headrace_source::{Diagnostic, Severity, SourceMap, Span};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Steps of the evaluator that all constants of a run may take together.
const TOTAL_STEPS: u64 = 1 << 26;

/// What the variables of all instances of a network may take in memory unless the user says otherwise, in bytes.
pub const DEFAULT_STATE_BYTES: u64 = 1 << 32;

/// How a source text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// RVC-CAL: an actor or a unit.
    Cal,
    /// A network as text.
    Nl,
    /// A network as XML.
    Xdf,
}

/// A text that a [`SourceProvider`] found.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The name under which diagnostics show it.
    pub display: String,
    /// The text.
    pub text: String,
    /// How it is written.
    pub kind: SourceKind,
}

/// Finds source texts below the source roots: the package is the folder path, the entity the base name of the file.
pub trait SourceProvider {
    /// The text of the entity with this qualified name (`ctl.block.aes.Aes128`), if a source root has one; a message
    /// when there is a file that cannot be read.
    fn find(&self, name: &str) -> Result<Option<SourceText>, String>;
    /// Qualified names of entities that a user may have meant.
    fn similar(&self, name: &str) -> Vec<String>;
    /// Where was looked, for the user to read.
    fn places(&self) -> Vec<String>;
}

/// Position in [`Session::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EntityId(pub u32);

/// What looking for an entity came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Found(EntityId),
    /// Found, but its text has errors, which were reported.
    Broken,
    Missing,
}

/// The type of a constant of a unit, its value unless that was wrong, and whether it is another than was written.
type UnitConstant = (Ty, Option<Arc<Value>>, bool);

/// Everything that outlives one elaboration. Diagnostics collect here; one place is reported once.
#[derive(Default)]
pub struct Session {
    /// All texts that were read.
    pub sources: SourceMap,
    /// Integers of up to 64 bits have 8, 16, 32 or 64, whichever is enough, as they have in C code of Orcc. For programs
    /// that were written for it and keep more in a variable than its type says. To be set before anything is read.
    pub orcc_widths: bool,
    diagnostics: Vec<Diagnostic>,
    n_errors: usize,
    reported: HashSet<(Span, bool)>,
    files: Vec<Arc<Loaded>>,
    by_name: HashMap<String, Lookup>,
    pub(crate) unit_constants: HashMap<(EntityId, u32), UnitConstant>,
    steps_spent: u64,
    /// Networks in XDF, in which Orcc takes arguments that no parameter takes.
    xdf: HashSet<headrace_source::FileId>,
    /// What the variables of all instances of a network may take in memory, in bytes, if that is not the default.
    state_bytes: Option<u64>,
}

impl Session {
    /// A session that has read nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what the variables of all instances of a network may take in memory, in bytes.
    pub fn set_state_bytes(&mut self, bytes: u64) {
        self.state_bytes = Some(bytes);
    }

    pub(crate) fn state_bytes(&self) -> u64 {
        self.state_bytes.unwrap_or(DEFAULT_STATE_BYTES)
    }

    /// What was found so far, in the order in which it was found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Takes the diagnostics out, ordered by place.
    pub fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        let mut all = std::mem::take(&mut self.diagnostics);
        self.n_errors = 0;
        all.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map(|label| label.span));
        all
    }

    /// True when an error was reported.
    pub fn has_errors(&self) -> bool {
        self.n_errors > 0
    }

    /// Adds a problem, unless the same place has one already. An error takes the place of a warning of its kind.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if let Some(label) = &diagnostic.primary {
            let (span, error) = (label.span, diagnostic.severity == Severity::Error);
            if !self.reported.insert((span, error)) {
                // Told once; but what is asked for anew is as wrong as before.
                self.n_errors += usize::from(error);
                return;
            }
            if error && self.reported.contains(&(span, false)) {
                self.diagnostics.retain(|earlier| {
                    earlier.severity == Severity::Error
                        || earlier.slug != diagnostic.slug
                        || earlier.primary.as_ref().is_none_or(|label| label.span != span)
                });
            }
        }
        self.n_errors += usize::from(diagnostic.severity == Severity::Error);
        self.diagnostics.push(diagnostic);
    }

    pub(crate) fn is_xdf(&self, span: Span) -> bool {
        self.xdf.contains(&span.file)
    }

    pub(crate) fn steps_left(&self) -> u64 {
        TOTAL_STEPS.saturating_sub(self.steps_spent)
    }

    pub(crate) fn spend_steps(&mut self, steps: u64) {
        self.steps_spent = self.steps_spent.saturating_add(steps);
    }

    /// A further name for an entity, for texts that cannot have its own.
    pub(crate) fn alias(&mut self, name: &str, entity: EntityId) {
        self.by_name.insert(name.to_string(), Lookup::Found(entity));
    }

    pub(crate) fn file(&self, id: EntityId) -> Arc<Loaded> {
        self.files[id.0 as usize].clone()
    }

    /// The entity with a qualified name, read and parsed at the first time.
    pub(crate) fn lookup(&mut self, provider: &dyn SourceProvider, name: &str) -> Lookup {
        if let Some(&found) = self.by_name.get(name) {
            return found;
        }
        let found = match provider.find(name) {
            Ok(Some(text)) => self.load(text, Some(name)),
            Ok(None) => Lookup::Missing,
            Err(message) => {
                self.report(Diagnostic::error("unreadable-file", message));
                Lookup::Broken
            }
        };
        self.by_name.insert(name.to_string(), found);
        found
    }

    /// Parses a text and registers it under `name`, or, without one, under the name that it gives itself.
    pub(crate) fn load(&mut self, source: SourceText, name: Option<&str>) -> Lookup {
        if source.text.len() >= u32::MAX as usize {
            let message = format!("`{}` is larger than 4 GiB", source.display);
            self.report(Diagnostic::error("unreadable-file", message));
            return Lookup::Broken;
        }
        let file = self.sources.add(source.display, source.text);
        if source.kind == SourceKind::Xdf {
            self.xdf.insert(file);
        }
        let text = self.sources.text(file);
        let display = self.sources.name(file);
        let base = base_name(display).to_owned();
        let named = !display.ends_with(&base);
        let (tree, problems) = match source.kind {
            SourceKind::Cal | SourceKind::Nl => headrace_syntax::parse(file, text),
            SourceKind::Xdf => {
                headrace_syntax::xdf::read(file, name.map_or(&base, |name| split_name(name, &base).1), text)
            }
        };
        let broken = problems.iter().any(|problem| problem.severity == Severity::Error);
        for problem in problems {
            self.report(problem);
        }
        let Some(tree) = tree else {
            return Lookup::Broken;
        };
        let (loaded, problems) = Loaded::new(tree, name, named.then_some(&base), source.kind);
        let own_name = loaded.name.clone();
        let id = EntityId(self.files.len() as u32);
        self.files.push(Arc::new(loaded));
        if !broken {
            for problem in problems {
                self.report(problem);
            }
        }
        let found = if broken { Lookup::Broken } else { Lookup::Found(id) };
        self.by_name.insert(own_name, found);
        found
    }
}

/// The package and the last part of a qualified name; the file may have dots in its name `base`.
pub(crate) fn split_name<'n>(name: &'n str, base: &str) -> (&'n str, &'n str) {
    if name == base {
        return ("", name);
    }
    let package = name.strip_suffix(base).and_then(|rest| rest.strip_suffix('.')).filter(|_| base.contains('.'));
    match package {
        Some(package) => (package, &name[package.len() + 1..]),
        None => name.rsplit_once('.').unwrap_or(("", name)),
    }
}

/// The name of an entity whose file has this path; all of it where it has no ending.
fn base_name(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |(base, _)| base)
}

#[cfg(test)]
mod tests {
    use super::{base_name, split_name};

    #[test]
    fn names_of_files() {
        assert_eq!(base_name("a/b/C-d.xdf"), "C-d");
        assert_eq!(base_name("v1.2.cal"), "v1.2");
        assert_eq!(base_name("--set N"), "--set N");
        assert_eq!(split_name("p.q.A", "A"), ("p.q", "A"));
        assert_eq!(split_name("p.q.v1.2", "v1.2"), ("p.q", "v1.2"));
        assert_eq!(split_name("A", "B"), ("", "A"));
    }
}
