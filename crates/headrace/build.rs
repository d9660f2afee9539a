//! Packs the library, the manual pages of diagnostics and the benchmark references into this crate, so that what is built
//! with it works anywhere. Writes a table of `(path, bytes)` that `src/embedded.rs` includes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What is packed: folder of the repository, endings of the files.
const PACKED: &[(&str, &[&str])] = &[
    ("ctl", &["cal", "nl", "xdf", "toml", "rsp", "md"]),
    ("std", &["cal", "nl", "xdf"]),
    ("docs/diagnostics", &["md"]),
    ("bench/reference", &["c", "h"]),
    ("bench/peers", &["c", "cpp", "h"]),
    ("bench/embedded", &["c", "h", "toml"]),
    ("bench/contenders", &["java", "mjs"]),
    ("bench/rust-peers", &["rs"]),
];

fn main() -> io::Result<()> {
    let crate_root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let repository = crate_root.join("../..").canonicalize()?;
    let mut files = Vec::new();
    for (folder, endings) in PACKED {
        let folder = repository.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        if folder.is_dir() {
            collect(&folder, endings, &mut files)?;
        }
    }
    files.sort();
    let mut table = String::from("&[\n");
    for file in &files {
        let name: Vec<_> =
            file.strip_prefix(&repository).unwrap_or(file).iter().map(|part| part.to_string_lossy()).collect();
        let _ = writeln!(table, "    ({:?}, include_bytes!({:?})),", name.join("/"), file.display().to_string());
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("embedded.rs");
    fs::write(out, table)?;
    Ok(())
}

fn collect(folder: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, endings, files)?;
        } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
            files.push(path);
        }
    }
    Ok(())
}
