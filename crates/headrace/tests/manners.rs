//! The library says nothing, asks its environment for nothing and ends nothing by itself: held against its source.

use headrace::roots::files_below;
use std::fs;
use std::path::Path;

/// What only the command does.
const OF_THE_COMMAND: &[&str] = &[
    "println!(",
    "print!(",
    "io::stdout",
    "io::stderr",
    "io::stdin",
    "env::",
    "process::exit",
    "process::abort",
    "Command::new",
    "clap::",
    "fs::write",
    "fs::remove",
    "fs::rename",
    "fs::copy",
    "create_dir",
    "File::create",
    "File::options",
    "OpenOptions",
    "tempfile::",
];

/// Files that do so by what they are for: projects are built by tools, in folders that go with them; what is withheld waits in
/// files without names; relative paths are those of the working folder.
const ALLOWED: &[(&str, &[&str])] = &[
    ("src/toolchains.rs", &["fs::write", "create_dir", "Command::new", "tempfile::"]),
    ("src/spool.rs", &["tempfile::"]),
    ("src/roots.rs", &["env::"]),
];

#[test]
fn the_library_does_nothing_that_is_for_the_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files_below(&root.join("src"), &["rs"]).expect("the folder is there");
    assert!(files.len() > 30, "only {} files were found", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let below = file.strip_prefix(root).expect("it lies there").display().to_string();
        // Tests may, and so do comments with examples.
        let own = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let may = |word: &str| ALLOWED.iter().any(|(file, words)| *file == below && words.contains(&word));
        for (at, line) in own.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let wrong = OF_THE_COMMAND.iter().find(|word| line.contains(**word) && !may(word));
            assert!(wrong.is_none(), "{below}:{}: {}", at + 1, line.trim());
        }
    }
}
