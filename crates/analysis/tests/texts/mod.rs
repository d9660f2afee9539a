//! Networks of actors that stand in the tests as text.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, elaborate};
use headrace_ir::Network;

/// Name, kind and text of an entity.
pub type Text = (&'static str, SourceKind, String);

/// An actor.
pub fn cal(name: &'static str, text: &str) -> Text {
    (name, SourceKind::Cal, text.to_owned())
}

/// A network.
pub fn nl(name: &'static str, text: &str) -> Text {
    (name, SourceKind::Nl, text.to_owned())
}

struct Texts(Vec<Text>);

impl SourceProvider for Texts {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        let found = self.0.iter().find(|(known, ..)| *known == name);
        Ok(found.map(|(name, kind, text)| SourceText { display: (*name).into(), text: text.clone(), kind: *kind }))
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The flat network of one of them.
pub fn elaborated(texts: Vec<Text>, top: &str) -> Network {
    let mut session = Session::new();
    let network = elaborate(&mut session, &Texts(texts), &Top::Name(top.into()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}
