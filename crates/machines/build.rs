//! Packs the files of machines into a table of `(name, text)`, which `src/lib.rs` includes.

#[path = "pack.rs"]
mod pack;

fn main() -> std::io::Result<()> {
    pack::pack("machines")
}
