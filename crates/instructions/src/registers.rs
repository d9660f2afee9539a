//! Instructions on whole registers that every machine has, as data: what loops need beside the instructions that they were
//! selected for. The file `registers.toml` has them.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What registers are called upon to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// The functions of C for registers of 128, 256 and 512 bits.
    pub intrinsics: [String; 3],
    /// The operator of LLVM.
    pub operator: Option<String>,
    /// The functions of LLVM, where it has no operator for it.
    pub functions: Option<[String; 3]>,
    /// Bits of the integers that LLVM takes registers for.
    pub lanes: u32,
}

/// All operations by name.
fn operations() -> &'static BTreeMap<String, Operation> {
    static ALL: OnceLock<BTreeMap<String, Operation>> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(include_str!("../registers.toml")).unwrap_or_default())
}

/// The operation of a name, if there is one.
pub fn operation(name: &str) -> Option<&'static Operation> {
    operations().get(name)
}

/// What a machine must have for registers of so many bits, by the names that C compilers give it.
pub fn features(bits: u32) -> &'static [&'static str] {
    match bits {
        128 => &["ssse3", "sse4.1"],
        256 => &["avx2"],
        _ => &["avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"],
    }
}
