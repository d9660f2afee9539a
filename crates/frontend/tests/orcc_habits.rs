//! Source in the habits of programs that were written for Orcc is accepted: at most with warnings. Each file of
//! `tests/orcc_habits` is named for the habit that it shows.

use entities::entities;
use folders::Folders;
use headrace_frontend::{Session, SourceKind, SourceText, Top, check, elaborate};
use std::path::Path;

#[path = "support/entities.rs"]
mod entities;
#[path = "support/folders.rs"]
mod folders;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "support/mod.rs"]
mod support;

fn programs() -> (Folders, Vec<String>) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = repository.join("tests/orcc_habits");
    let mut names = Vec::new();
    entities(&root, "", &mut names);
    names.sort();
    assert!(names.len() > 15, "only {} programs found", names.len());
    (Folders(vec![root, repository]), names)
}

#[test]
fn habits_are_accepted() {
    let (roots, names) = programs();
    let mut all = Vec::new();
    for name in &names {
        let mut session = Session::new();
        check(&mut session, &roots, &Top::Name(name.clone()));
        let problems = support::problems(&mut session);
        all.extend(problems.iter().filter(|line| !line.starts_with('?')).map(|problem| format!("{name}: {problem}")));
    }
    assert!(all.is_empty(), "{} programs checked\n{}", names.len(), all.join("\n"));
}

#[test]
fn habits_keep_to_the_invariants() {
    let (roots, names) = programs();
    let mut n_elaborated = 0;
    for name in &names {
        let mut session = Session::new();
        if let Some(network) = elaborate(&mut session, &roots, &Top::Name(name.clone()), &[]) {
            n_elaborated += 1;
            let problems = headrace_ir::verify::verify(&network);
            assert!(problems.is_empty(), "{name}:\n{}", problems.join("\n"));
        }
    }
    assert!(n_elaborated * 2 > names.len(), "only {n_elaborated} of {} programs can be instantiated", names.len());
}

#[test]
fn an_import_that_is_needed_is_an_error_where_its_unit_is_missing() {
    let (roots, _) = programs();
    let text =
        "import habits.gone.Tables.*; actor Uses() int In ==> int Out : action In:[x] ==> Out:[SIZE + x] end end";
    let source = SourceText { display: "Uses.cal".into(), text: text.into(), kind: SourceKind::Cal };
    let mut session = Session::new();
    check(&mut session, &roots, &Top::Source(source, None));
    let found: Vec<_> =
        session.take_diagnostics().into_iter().map(|one| (one.slug.to_string(), one.severity)).collect();
    assert_eq!(found, [("unresolved-import".to_owned(), headrace_source::Severity::Error)]);
}
