//! What is below a folder.

use crate::folders::KINDS;
use std::path::Path;

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
