//! Source texts in memory, for the tests of this crate.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top};
use headrace_ir::Network;
use headrace_source::Severity;
use std::collections::BTreeMap;

/// Texts by qualified name.
#[derive(Default)]
pub struct Texts(BTreeMap<String, (SourceKind, String)>);

impl Texts {
    /// Adds a text.
    pub fn add(mut self, name: &str, kind: SourceKind, text: &str) -> Self {
        self.0.insert(name.to_string(), (kind, text.to_string()));
        self
    }

    /// Adds a `.cal` text.
    pub fn cal(self, name: &str, text: &str) -> Self {
        self.add(name, SourceKind::Cal, text)
    }

    /// Adds a `.nl` text.
    pub fn nl(self, name: &str, text: &str) -> Self {
        self.add(name, SourceKind::Nl, text)
    }
}

impl SourceProvider for Texts {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        Ok(self.0.get(name).map(|(kind, text)| SourceText {
            display: name.to_string(),
            text: text.clone(),
            kind: *kind,
        }))
    }

    fn similar(&self, name: &str) -> Vec<String> {
        let base = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let same = |other: &&String| other.to_ascii_lowercase().ends_with(&base);
        self.0.keys().filter(same).cloned().collect()
    }

    fn places(&self) -> Vec<String> {
        vec!["memory".to_string()]
    }
}

/// Every problem as `slug line:column message`, warnings with a `?` in front.
pub fn problems(session: &mut Session) -> Vec<String> {
    let diagnostics = session.take_diagnostics();
    let show = |diagnostic: &headrace_source::Diagnostic| {
        let mark = if diagnostic.severity == Severity::Error { "" } else { "?" };
        let place = diagnostic.primary.as_ref().map_or("-".to_string(), |label| {
            let (line, column) = session.sources.position(label.span);
            format!("{line}:{column}")
        });
        format!("{mark}{} {place} {}", diagnostic.slug, diagnostic.message)
    };
    diagnostics.iter().map(show).collect()
}

/// Elaborates `top`, which must have no errors.
pub fn elaborated(texts: &Texts, top: &str) -> Network {
    let mut session = Session::new();
    let top = if top.contains('(') { Top::Expression(top.to_string()) } else { Top::Name(top.to_string()) };
    let network = headrace_frontend::elaborate(&mut session, texts, &top, &[]);
    match network {
        Some(network) => {
            let broken = headrace_ir::verify::verify(&network);
            assert!(broken.is_empty(), "{broken:#?}");
            network
        }
        None => panic!("{:#?}", problems(&mut session)),
    }
}

/// The problems of `top`, as `check` sees them.
pub fn checked(texts: &Texts, top: &str) -> Vec<String> {
    let mut session = Session::new();
    headrace_frontend::check(&mut session, texts, &Top::Name(top.to_string()));
    problems(&mut session)
}
