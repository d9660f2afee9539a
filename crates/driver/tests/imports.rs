//! Imports inside a part point one way, too: no circle of them leads through two folders.
//!
//! A folder and the file of its name are one module. Of what stands in a module, files that import each other are at most
//! one subject in several files; folders that do have no inside and no outside. What stands in a module may import the
//! module itself, which is the roof above it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module: the names on the way to it from the root of its crate.
type Module = Vec<String>;

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
}

fn module_of(path: &Path) -> Module {
    let mut names: Module = path.iter().map(|name| name.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
    if names.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// The text of each module of a crate, without comments and unit tests.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let mut paths = Vec::new();
    files(source, &mut paths);
    let text = |path: &Path| {
        let text = fs::read_to_string(path).expect("a source");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().lines();
        code.map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    };
    let inside = |path: &PathBuf| module_of(path.strip_prefix(source).expect("it is below"));
    let all = paths.iter().map(|path| (inside(path), text(path)));
    all.filter(|(module, _)| module.last().is_none_or(|name| name != "tests")).collect()
}

/// The paths of a tree of imports: `a::{b, c::d}` are `a::b` and `a::c::d`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, inside)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let (mut depth, mut begin, mut all) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                all.extend(expanded(&inside[begin..at]).iter().map(|path| format!("{}{path}", before.trim())));
                begin = at + 1;
            }
            _ => {}
        }
    }
    all
}

/// What a text imports, and what it names by a path from `crate` or `super`.
fn paths(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for statement in text.split(';') {
        let imported = statement.rfind("use ").filter(|&at| {
            let before = statement[..at].chars().next_back();
            before.is_none_or(|c| c.is_whitespace()) && !statement[at..].contains(['(', '=', '.'])
        });
        if let Some(at) = imported {
            all.extend(expanded(&statement[at + "use ".len()..]));
        }
        let is_of_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let words = statement[..imported.unwrap_or(statement.len())].split(|c| !is_of_path(c));
        all.extend(words.filter(|word| word.starts_with("crate::") || word.starts_with("super::")).map(str::to_owned));
    }
    all
}

/// The module of the crate that a path names something of.
fn named(path: &str, from: &Module, all: &BTreeMap<Module, String>) -> Option<Module> {
    let mut names = path.split("::").map(|name| name.trim().to_owned()).peekable();
    let mut module = match names.peek().map(String::as_str) {
        Some("crate") => Vec::new(),
        _ => from.clone(),
    };
    let first = names.peek().cloned()?;
    let is_child = || all.contains_key(&[from.as_slice(), std::slice::from_ref(&first)].concat());
    if !matches!(first.as_str(), "crate" | "super" | "self") && !is_child() {
        return None;
    }
    while let Some(name) = names.next_if(|name| matches!(name.as_str(), "crate" | "super" | "self")) {
        if name == "super" {
            module.pop();
        }
    }
    for name in names {
        module.push(name);
        if !all.contains_key(&module) {
            module.pop();
            break;
        }
    }
    (module != *from).then_some(module)
}

/// Everything that can be reached from a name, over one import at least.
fn reached<'n>(imports: &'n BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'n str> {
    let mut open: Vec<&str> = imports.get(from).into_iter().flatten().map(String::as_str).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            open.extend(imports.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    seen
}

/// Pairs of folders of a crate that import each other, directly or not.
fn circles(all: &BTreeMap<Module, String>) -> Vec<String> {
    // By the module in which both stand: who imports whom there.
    let mut inside: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (from, text) in all {
        for to in paths(text).iter().filter_map(|path| named(path, from, all)) {
            let n_shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
            if let (Some(own), Some(other)) = (from.get(n_shared), to.get(n_shared)) {
                let around = inside.entry(from[..n_shared].to_vec()).or_default();
                around.entry(own.clone()).or_default().insert(other.clone());
            }
        }
    }
    let is_folder = |around: &Module, name: &str| {
        all.keys()
            .any(|module| module.len() > around.len() + 1 && module.starts_with(around) && module[around.len()] == name)
    };
    let mut found = Vec::new();
    for (around, imports) in &inside {
        let folders: Vec<&String> = imports.keys().filter(|name| is_folder(around, name)).collect();
        for (at, one) in folders.iter().enumerate() {
            for other in &folders[at + 1..] {
                if reached(imports, one).contains(other.as_str()) && reached(imports, other).contains(one.as_str()) {
                    found.push(format!("{}: {one} and {other}", around.join("/")));
                }
            }
        }
    }
    found
}

#[test]
fn no_circle_of_imports_leads_through_two_folders() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for part in fs::read_dir(crates).expect("parts").flatten() {
        let source = part.path().join("src");
        if source.is_dir() {
            let own = circles(&modules(&source));
            found.extend(own.iter().map(|circle| format!("{}: {circle}", part.file_name().to_string_lossy())));
        }
    }
    assert!(found.is_empty(), "folders that import each other:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found_over_files_between_folders() {
    let text = |path: &str, text: &str| (path.split('/').map(str::to_owned).collect::<Module>(), text.to_owned());
    let all = BTreeMap::from([
        text("a", "mod b;\nuse crate::{between::Of, other};"),
        text("a/b", "fn f() {}"),
        text("between", "fn g() { crate::c::d::h() }"),
        text("c", "pub mod d;"),
        text("c/d", "use super::super::a::b::f;\npub fn h() {}"),
        text("other", ""),
    ]);
    assert_eq!(circles(&all), [": a and c"]);
    let one_way = all.into_iter().filter(|(module, _)| module != &["between"]).collect();
    assert_eq!(circles(&one_way), [""; 0]);
}
