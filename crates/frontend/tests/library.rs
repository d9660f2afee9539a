//! The library that ships with the compiler is accepted without an error or a warning.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, check};
use std::path::{Path, PathBuf};

#[path = "support/mod.rs"]
mod support;

/// Files below the source roots of this repository.
struct Roots(Vec<PathBuf>);

const KINDS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

impl SourceProvider for Roots {
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

fn entities(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
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

#[test]
fn the_library_has_no_problems() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let roots = Roots(vec![root.clone()]);
    let mut names = Vec::new();
    for folder in ["ctl", "std"] {
        entities(&root.join(folder), &format!("{folder}."), &mut names);
    }
    names.sort();
    assert!(!names.is_empty(), "no library found");
    let mut all = Vec::new();
    for name in &names {
        let mut session = Session::new();
        check(&mut session, &roots, &Top::Name(name.clone()));
        for problem in support::problems(&mut session) {
            all.push(format!("{name}: {problem}"));
        }
    }
    assert!(all.is_empty(), "{} entities checked\n{}", names.len(), all.join("\n"));
}

#[test]
fn what_is_elaborated_of_the_library_keeps_to_the_invariants() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let roots = Roots(vec![root.clone()]);
    let mut names = Vec::new();
    for folder in ["ctl", "std"] {
        entities(&root.join(folder), &format!("{folder}."), &mut names);
    }
    names.sort();
    let mut n_networks = 0;
    for name in &names {
        let mut session = Session::new();
        if let Some(network) = headrace_frontend::elaborate(&mut session, &roots, &Top::Name(name.clone()), &[]) {
            n_networks += 1;
            let problems = headrace_ir::verify::verify(&network);
            assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
        }
    }
    assert!(n_networks >= 20, "only {n_networks} of {} entities can be instantiated as they are", names.len());
}
