//! Sources below folders, for the tests that read programs from the repository.

use headrace_frontend::{SourceKind, SourceProvider, SourceText};
use std::path::{Path, PathBuf};

/// Source roots, searched in this order.
pub struct Folders(pub Vec<PathBuf>);

/// Endings of source files and what they hold.
const KINDS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

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

/// Appends the qualified names of all entities below a folder.
pub fn entities(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
        let path = entry.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let name = format!("{prefix}{stem}");
        if path.is_dir() {
            entities(&path, &format!("{name}."), out);
        } else if KINDS.iter().any(|(extension, _)| path.extension().is_some_and(|found| found == *extension)) {
            out.push(name);
        }
    }
}
