//! Elaboration of generated programs: from a case to a network.

use super::verdict::{Kind, Verdict};
use crate::generate::{Case, Cuts};
use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate as elaborate_top};
use headrace_ir::Network;
use headrace_source::Severity;
use std::collections::BTreeMap;

/// The texts of one program, by qualified name.
struct Texts(BTreeMap<String, SourceText>);

impl Texts {
    fn new(texts: Vec<(String, String)>) -> Self {
        let texts = texts.into_iter().filter_map(|(path, text)| {
            let (name, extension) = path.rsplit_once('.')?;
            let kind = match extension {
                "nl" => SourceKind::Nl,
                "xdf" => SourceKind::Xdf,
                _ => SourceKind::Cal,
            };
            Some((name.replace('/', "."), SourceText { display: path.clone(), text, kind }))
        });
        Self(texts.collect())
    }
}

impl SourceProvider for Texts {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        Ok(self.0.get(name).cloned())
    }

    fn similar(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The network of a case without what is cut, or why the front end refuses it.
pub fn elaborate(case: &Case, cuts: &Cuts) -> Result<Network, Verdict> {
    elaborate_texts(case.texts(cuts), &case.top)
}

/// The network of this qualified name among texts, which have paths below the source root; or why the front end refuses it.
pub fn elaborate_texts(texts: Vec<(String, String)>, top: &str) -> Result<Network, Verdict> {
    let texts = Texts::new(texts);
    let mut session = Session::new();
    let network = elaborate_top(&mut session, &texts, &Top::Name(top.to_owned()), &[]);
    let problems = session.take_diagnostics();
    let error = problems.iter().find(|problem| problem.severity == Severity::Error);
    match (network, error) {
        (Some(network), None) => Ok(network),
        (_, Some(error)) => {
            let place = error.primary.as_ref().map_or(String::new(), |label| {
                let (line, column) = session.sources.position(label.span);
                let text: String =
                    session.sources.text(label.span.file)[label.span.start as usize..].chars().take(60).collect();
                format!(" at {}:{line}:{column}: {} `{text}`", session.sources.name(label.span.file), label.text)
            });
            // Names without their numbers, so that a shrunk program is refused for the same reason.
            let reason: String = error.message.chars().filter(|c| !c.is_ascii_digit()).collect();
            let mark = format!("{}:{reason}", error.slug);
            Err(Verdict::new(Kind::Refused, mark, format!("{}{place}", error.message)))
        }
        (None, None) => Err(Verdict::new(Kind::Refused, "silently", "no network and no error")),
    }
}
