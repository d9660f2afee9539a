//! The library says nothing, asks its environment for nothing and ends nothing by itself: held against its source.

use std::fs;
use std::path::{Path, PathBuf};

/// What only the command does.
const OF_THE_COMMAND: &[&str] = &[
    "println!(",
    "print!(",
    "io::stdout",
    "io::stderr",
    "io::stdin",
    "env::var",
    "env::temp_dir",
    "env::current_exe",
    "process::exit",
    "clap::",
    "fs::write",
    "File::create",
];

/// Files that write by what they are for, and what: projects are built in folders that go with them.
const ALLOWED: &[(&str, &str)] = &[("src/toolchains.rs", "fs::write")];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_library_does_nothing_that_is_for_the_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 30, "only {} files were found", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let below = file.strip_prefix(root).expect("it lies there").display().to_string();
        // Tests may, and so do comments with examples.
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, line) in own.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let wrong = OF_THE_COMMAND.iter().find(|word| line.contains(**word) && !ALLOWED.contains(&(&below, word)));
            assert!(wrong.is_none(), "{below}:{}: {}", at + 1, line.trim());
        }
    }
}
