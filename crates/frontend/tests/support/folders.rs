//! Sources below folders, for the tests that read programs from the repository.

use headrace_frontend::{SourceKind, SourceProvider, SourceText};
use std::path::PathBuf;

/// Source roots, searched in this order.
pub struct Folders(pub Vec<PathBuf>);

/// Endings of source files and what they hold.
pub const KINDS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

impl SourceProvider for Folders {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        for root in &self.0 {
            for (extension, kind) in KINDS {
                let path = root.join(format!("{}.{extension}", name.replace('.', "/")));
                if path.is_file() {
                    let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                    return Ok(Some(SourceText { display: path.display().to_string(), text, kind }));
                }
            }
        }
        Ok(None)
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        self.0.iter().map(|root| root.display().to_string()).collect()
    }
}
