//! Names of instructions in LLVM IR, as data. The file `llvm.toml` says which intrinsic functions and instructions of LLVM do
//! what descriptions and operations on whole registers do.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What LLVM has for an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelling {
    /// Bits of an element of the vectors that it works on.
    pub element: u32,
    /// An instruction of LLVM for vectors of every length.
    pub operator: Option<String>,
    /// Intrinsic functions for registers of 128, 256 and 512 bits; an empty name is that of none.
    pub call: Option<[String; 3]>,
    /// Which operand each argument is, where that is not the order in which C passes them.
    pub order: Option<Vec<usize>>,
    /// Bits of a constant operand.
    #[serde(default = "byte")]
    pub constant: u32,
    /// A constant operand stands in every element of a vector.
    #[serde(default)]
    pub each: bool,
    /// Elements of each 128 bits of the result: of the first operand, and from there on of the second.
    pub pick: Option<Vec<u32>>,
    /// The result has 16 bytes, in each 128 bits, of two operands one behind the other, from a constant on; -1 is 16 zeros.
    pub window: Option<[i8; 2]>,
    /// A constant says which parts of 128 bits the result has: of registers of 256 bits by four bits each, any of both operands; of
    /// 512 bits by two bits each, two of the first and two of the second.
    #[serde(default)]
    pub parts: bool,
    /// The window begins that many bytes before the second one.
    #[serde(default)]
    pub backwards: bool,
}

fn byte() -> u32 {
    8
}

/// All spellings by the names of instructions.
fn spellings() -> &'static BTreeMap<String, Spelling> {
    static ALL: OnceLock<BTreeMap<String, Spelling>> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(include_str!("../llvm.toml")).unwrap_or_default())
}

/// What LLVM has for a description, or for an operation on whole registers.
pub fn spelling(name: &str) -> Option<&'static Spelling> {
    spellings().get(name)
}

impl Spelling {
    /// The intrinsic function for registers of so many bits.
    pub fn function(&self, bits: u32) -> Option<&str> {
        let at = bits.ilog2().checked_sub(7)? as usize;
        self.call.as_ref()?.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }
}
