//! The wrong manifests, known-answer files and words of `tests/diagnostics` are told what is wrong with them.
//!
//! A folder is the library's when it has a `primitive.toml` below it; `words.txt` is what a user types, `x.rsp` a
//! known-answer file of the first manifest. `BLESS=1 cargo test --test diagnostics` writes `expected.txt` anew.

use headrace_library::catalog::Library;
use headrace_library::framing::Message;
use headrace_library::known_answers::cases;
use headrace_library::vectors::VectorFile;
use headrace_source::{Diagnostic, SourceMap};
use std::path::{Path, PathBuf};

#[path = "loading/mod.rs"]
mod loading;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be listed").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn problems(folder: &Path) -> Option<Vec<String>> {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    paths.sort();
    let shown = |path: &Path| path.strip_prefix(folder).expect("below the folder").to_string_lossy().into_owned();
    let mut sources = SourceMap::default();
    let mut manifests = Vec::new();
    for path in paths.iter().filter(|path| path.ends_with("primitive.toml")) {
        let text = std::fs::read_to_string(path).expect("a text");
        manifests.push((sources.add(shown(path), text), shown(path)));
    }
    if manifests.is_empty() {
        return None;
    }
    let (library, mut found) =
        Library::load(manifests.iter().map(|(file, path)| (*file, path.as_str(), sources.text(*file))));
    if let Ok(words) = std::fs::read_to_string(folder.join("words.txt")) {
        found.extend(library.select(&words.split_whitespace().collect::<Vec<_>>()).err());
    }
    if let Ok(text) = std::fs::read_to_string(folder.join("x.rsp")) {
        let file = sources.add("x.rsp", text);
        let (vectors, problems) = VectorFile::parse(file, sources.text(file).as_bytes());
        let scope: Vec<_> = library.operations().iter().collect();
        let fine = problems.is_empty();
        found.extend(problems);
        if fine {
            found.extend(cases(&library, "x", &vectors, &scope).problems);
        }
    }
    let line = |problem: &Diagnostic| {
        let place = problem.primary.as_ref().map_or(String::new(), |label| {
            let (line, column) = sources.position(label.span);
            format!(" {}:{line}:{column}", sources.name(label.span.file))
        });
        let severity = format!("{:?}", problem.severity).to_lowercase();
        format!("{severity}[{}]{place} {}", problem.slug, problem.message)
    };
    Some(found.iter().map(line).collect())
}

#[test]
fn what_is_wrong_with_each_is_said() {
    let mut n_folders = 0;
    for entry in std::fs::read_dir(loading::root().join("tests/diagnostics")).expect("the folder exists").flatten() {
        let folder = entry.path();
        let Some(found) = problems(&folder) else { continue };
        n_folders += 1;
        let found = found.join("\n") + "\n";
        let expected_path = folder.join("expected.txt");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected_path, &found).expect("the file can be written");
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        assert_eq!(found, expected, "{}", folder.display());
        let slug = folder.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(found.contains(&format!("[{slug}]")), "{slug} is not reported: {found}");
    }
    assert!(n_folders >= 8, "only {n_folders} folders have a manifest");
}

#[test]
fn a_message_without_its_key_is_refused() {
    let library = loading::library(&[]);
    let spec = library.find("aes128", Some("encrypt")).expect("the library has it");
    let problems = Message::new().check(spec, false);
    assert!(problems.iter().any(|problem| problem.slug == "message-size"), "{problems:?}");
}
