//! Instructions on whole registers that every machine has, as data: what loops need beside the instructions that they were
//! selected for. The file `registers.toml` has them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The functions of C for registers of 128, 256 and 512 bits, by the names of operations.
fn operations() -> &'static BTreeMap<String, [String; 3]> {
    static ALL: OnceLock<BTreeMap<String, [String; 3]>> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(include_str!("../registers.toml")).unwrap_or_default())
}

/// The functions of an operation, if there is one of the name: an empty name is that of none.
pub fn intrinsics(name: &str) -> Option<&'static [String; 3]> {
    operations().get(name)
}

/// All operations and their functions, by name.
pub fn all() -> impl Iterator<Item = (&'static String, &'static [String; 3])> {
    operations().iter()
}

/// What a machine must have for registers of so many bits, by the names that C compilers give it.
pub fn features(bits: u32) -> &'static [&'static str] {
    match bits {
        128 => &["ssse3", "sse4.1"],
        256 => &["avx2"],
        _ => &["avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"],
    }
}
