//! Packs the files of mappings into a table of `(name, text)`, which `src/mapping.rs` includes.

#[path = "../machines/pack.rs"]
mod pack;

fn main() -> std::io::Result<()> {
    pack::pack("mappings")
}
