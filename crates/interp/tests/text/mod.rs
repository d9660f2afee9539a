//! Programs from text.

#[path = "../../../frontend/tests/support/folders.rs"]
mod folders;

pub use folders::Folders;
use headrace_frontend::{Session, Top, check, elaborate};
use headrace_ir::Network;
use std::path::{Path, PathBuf};

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The network of an entity below the folders, or what is wrong with it.
pub fn network(folders: Vec<PathBuf>, name: &str, parameters: &[(&str, &str)]) -> Result<Network, String> {
    let mut session = Session::new();
    let parameters: Vec<(String, String)> =
        parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let network = elaborate(&mut session, &Folders(folders), &Top::Name(name.into()), &parameters);
    network.ok_or_else(|| problems(session))
}

/// Everything that is to be said about an entity on its own.
pub fn checked(folders: Vec<PathBuf>, name: &str) -> String {
    let mut session = Session::new();
    check(&mut session, &Folders(folders), &Top::Name(name.into()));
    problems(session)
}

fn problems(mut session: Session) -> String {
    let lines = session.take_diagnostics().into_iter().map(|diagnostic| {
        let place = diagnostic.primary.map_or(String::new(), |label| {
            let (line, column) = session.sources.position(label.span);
            format!("{}:{line}:{column}: {}: ", session.sources.name(label.span.file), label.text)
        });
        format!("{place}[{}] {} {:?}", diagnostic.slug, diagnostic.message, diagnostic.notes)
    });
    lines.collect::<Vec<_>>().join("\n")
}
