//! Every slug has a wrong program and a page, and the wrong program is told what is wrong with it.
//!
//! `tests/diagnostics/<slug>/` holds the program: all entities in it are checked, and `expected.txt` lists the problems
//! that are found, one a line. Where no program can show the slug, `elsewhere.txt` names the test that does, or where
//! else it is reported.
//! `docs/diagnostics/<slug>.md` is the page. `BLESS=1 cargo test --test diagnostics` writes `expected.txt` anew.

use headrace_frontend::{Session, SourceKind, SourceProvider, SourceText, Top, check, elaborate};
use headrace_source::{Diagnostic, SLUGS, Severity};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const KINDS: [(&str, SourceKind); 3] = [("cal", SourceKind::Cal), ("nl", SourceKind::Nl), ("xdf", SourceKind::Xdf)];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// One folder as the only source root.
struct Folder(PathBuf);

impl SourceProvider for Folder {
    fn find(&self, name: &str) -> Result<Option<SourceText>, String> {
        for (extension, kind) in KINDS {
            let relative = format!("{}.{extension}", name.replace('.', "/"));
            let path = self.0.join(&relative);
            if path.is_file() {
                return match std::fs::read(&path).map(String::from_utf8) {
                    Ok(Ok(text)) => Ok(Some(SourceText { display: relative, text, kind })),
                    Ok(Err(_)) => Err(format!("`{relative}` is not text in UTF-8")),
                    Err(error) => Err(format!("`{relative}`: {error}")),
                };
            }
        }
        Ok(None)
    }

    fn similar(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn places(&self) -> Vec<String> {
        vec!["the folder of the test".to_string()]
    }
}

fn entities(folder: &Path, prefix: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
        let path = entry.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name").to_string();
        if path.is_dir() {
            entities(&path, &format!("{prefix}{stem}."), out);
        } else if KINDS.iter().any(|(extension, _)| path.extension().is_some_and(|found| found == *extension)) {
            out.push(format!("{prefix}{stem}"));
        }
    }
}

fn line(session: &Session, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut text = format!("{severity}[{}]", diagnostic.slug);
    if let Some(label) = &diagnostic.primary {
        let (line, column) = session.sources.position(label.span);
        let _ = write!(text, " {}:{line}:{column}", session.sources.name(label.span.file));
    }
    let _ = write!(text, " {}", diagnostic.message);
    text
}

/// The problems of everything in a folder, each once.
fn problems(folder: &Path, mut names: Vec<String>) -> Vec<String> {
    names.sort();
    let root = Folder(folder.to_path_buf());
    let mut lines = Vec::new();
    for name in &names {
        let top = Top::Name(name.clone());
        let mut session = Session::new();
        check(&mut session, &root, &top);
        if !session.has_errors() {
            let _ = elaborate(&mut session, &root, &top, &[]);
        }
        for diagnostic in session.take_diagnostics() {
            // What an entity needs from its surroundings is no problem of the entity, nor that it is a unit.
            let about_the_call = diagnostic.slug == "missing-parameter"
                && diagnostic.help.as_ref().is_some_and(|help| help.contains("--set"))
                || diagnostic.slug == "not-instantiable" && diagnostic.primary.is_none();
            let line = line(&session, &diagnostic);
            if !about_the_call && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

fn folders() -> BTreeSet<String> {
    let listed = std::fs::read_dir(repository().join("tests/diagnostics")).expect("the folder exists");
    listed
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_slug_has_a_program_and_a_page_and_nothing_else_does() {
    let slugs: BTreeSet<String> = SLUGS.iter().map(|(slug, _)| slug.to_string()).collect();
    assert!(SLUGS.windows(2).all(|pair| pair[0].0 < pair[1].0), "the list of slugs is not sorted");
    assert_eq!(folders(), slugs, "tests/diagnostics on the left, the slugs on the right");
    let pages: BTreeSet<String> = std::fs::read_dir(repository().join("docs/diagnostics"))
        .expect("the folder exists")
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().strip_suffix(".md").map(str::to_string))
        .filter(|name| name != "README")
        .collect();
    assert_eq!(pages, slugs, "docs/diagnostics on the left, the slugs on the right");
    for slug in &slugs {
        let page = std::fs::read_to_string(repository().join(format!("docs/diagnostics/{slug}.md"))).expect("a page");
        assert!(page.starts_with(&format!("# {slug}\n")), "the page of {slug} begins with another title");
    }
}

#[test]
fn every_wrong_program_is_told_what_is_wrong() {
    let mut failures = Vec::new();
    for slug in folders() {
        let folder = repository().join("tests/diagnostics").join(&slug);
        if let Ok(elsewhere) = std::fs::read_to_string(folder.join("elsewhere.txt")) {
            let path = repository().join(elsewhere.trim());
            let test = std::fs::read_to_string(&path).unwrap_or_default();
            if !test.contains(&slug) {
                failures.push(format!("{slug}: {} does not name it", elsewhere.trim()));
            }
            continue;
        }
        let mut names = Vec::new();
        entities(&folder, "", &mut names);
        if names.is_empty() {
            // A manifest or known-answer file: the tests of the library look at it.
            let expected = std::fs::read_to_string(folder.join("expected.txt")).unwrap_or_default();
            if !expected.contains(&format!("[{slug}]")) {
                failures.push(format!("{slug}: has no program, and is expected nowhere"));
            }
            continue;
        }
        let found = problems(&folder, names).join("\n") + "\n";
        let expected_path = folder.join("expected.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected_path, &found).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        if found != expected {
            failures.push(format!("{slug}: found\n{found}expected\n{expected}"));
        }
        if !found.contains(&format!("[{slug}]")) {
            failures.push(format!("{slug}: is not reported, but\n{found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
