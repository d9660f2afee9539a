//! Tests that are named as evidence are there.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn tests_that_are_named_as_evidence_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["crates/targets/src", "crates/transform/src"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    let mut seen = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("a source can be read");
        for named in text.split("test: \"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let Some((path, function)) = named.split_once(' ').filter(|(path, _)| path.starts_with("crates/")) else {
                continue;
            };
            let test = fs::read_to_string(root.join(path)).unwrap_or_else(|_| panic!("{}: {path}", file.display()));
            assert!(test.contains(&format!("fn {function}()")), "{}: {named}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}
