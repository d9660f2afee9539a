//! Packs the files of platforms into a table of `(name, text)`, which `src/file.rs` includes.

#[path = "../machines/pack.rs"]
mod pack;

fn main() -> std::io::Result<()> {
    pack::pack("platforms")
}
