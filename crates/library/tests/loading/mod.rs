//! The library that this repository ships, read from its folder.

use std::path::{Path, PathBuf};

use headrace_library::catalog::Library;
use headrace_source::{FileId, SourceMap};

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All `primitive.toml` below `folder`, as paths from the root.
fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            manifests(&entry, found);
        } else if entry.file_name().is_some_and(|name| name == "primitive.toml") {
            found.push(entry);
        }
    }
}

/// Every manifest below `ctl` and those of other source roots; none may have a problem.
pub fn library(roots: &[PathBuf]) -> Library {
    let mut sources = SourceMap::default();
    let mut files: Vec<(FileId, String)> = Vec::new();
    let own = roots.iter().map(|root| (root.clone(), root.clone()));
    for (root, folder) in own.chain([(root(), root().join("ctl"))]) {
        let mut paths = Vec::new();
        manifests(&folder, &mut paths);
        paths.sort();
        for path in paths {
            let shown = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            files.push((sources.add(shown.clone(), std::fs::read_to_string(path).unwrap()), shown));
        }
    }
    let (library, problems) =
        Library::load(files.iter().map(|(file, path)| (*file, path.as_str(), sources.text(*file))));
    let shown: Vec<String> = problems
        .iter()
        .map(|problem| {
            let at = problem.primary.as_ref().map(|label| label.span);
            let place = at.map(|span| format!("{}:{:?}", sources.name(span.file), sources.position(span)));
            format!("{place:?}: {}", problem.message)
        })
        .collect();
    assert!(shown.is_empty(), "{shown:#?}");
    library
}
