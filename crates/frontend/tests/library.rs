//! The library that ships with the compiler is accepted without an error or a warning.

use entities::entities;
use folders::Folders;
use headrace_frontend::{Session, Top, check};
use std::path::Path;

#[path = "support/entities.rs"]
mod entities;
#[path = "support/folders.rs"]
mod folders;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "support/mod.rs"]
mod support;

#[test]
fn the_library_has_no_problems() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let roots = Folders(vec![root.clone()]);
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
    let roots = Folders(vec![root.clone()]);
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
