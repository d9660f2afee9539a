//! Packs the files in TOML of a folder of a crate into a table of `(name, text)`, which its source includes as `files.rs`:
//! what build scripts of crates with such files share.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

/// Packs a folder beside the manifest.
pub fn pack(folder: &str) -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(folder);
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    let mut files: Vec<PathBuf> =
        entries.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    let mut table = String::from("&[\n");
    for path in &files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let path = path.display().to_string();
        println!("cargo::rerun-if-changed={path}");
        let _ = writeln!(table, "    ({name:?}, include_str!({path:?})),");
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"), table)
}
