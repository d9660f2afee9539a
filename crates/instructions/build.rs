//! Packs the descriptions and the units of the library that they use into a table of `(path, text)`, which `src/lib.rs`
//! includes. Paths are those in the repository, from which packages have their names.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

const FOLDER: &str = "crates/instructions/descriptions";
const UNITS: &[&str] = &["ctl/block/aes/SBox.cal", "ctl/parts/galois/Gf256.cal"];

fn main() -> io::Result<()> {
    let crate_root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let repository = crate_root.join("../..").canonicalize()?;
    let mut files: Vec<String> = UNITS.iter().map(|unit| (*unit).to_owned()).collect();
    for entry in fs::read_dir(repository.join(FOLDER))? {
        files.push(format!("{FOLDER}/{}", entry?.file_name().to_string_lossy()));
    }
    files.sort();
    println!("cargo::rerun-if-changed={}", repository.join(FOLDER).display());
    let mut table = String::from("&[\n");
    for file in &files {
        let path = repository.join(file).display().to_string();
        println!("cargo::rerun-if-changed={path}");
        let _ = writeln!(table, "    ({file:?}, include_str!({path:?})),");
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs");
    fs::write(out, table)
}
