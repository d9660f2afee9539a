//! SIMD levels: vector units of processors, as far as loops are printed differently for them.

use crate::Kind;
use crate::cost_model::CostModel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A level of a processor.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Its name, which is that of its file: for readers, and for the names of functions.
    pub name: String,
    /// [`Kind::Simd`].
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
    /// The processors that can have it.
    pub architecture: Architecture,
    /// Its place among the levels of an architecture, the least first: a higher one is asked for first.
    pub rank: u32,
    /// Which loops are printed for it beside others.
    pub dispatch: Dispatch,
    /// What a processor must have beyond what every one of the architecture has, by the names of `-m…` of C compilers.
    pub features: Vec<String>,
    /// Bits of a vector.
    pub vector_bits: u32,
    /// Vectors that lie in registers at once.
    pub vector_registers: u32,
    /// Any function of three operands is one instruction, and lanes of 32 and 64 bits rotate.
    pub ternary: bool,
    /// Elements of tables are read by vectors of 32-bit and 64-bit indices.
    pub gather: bool,
    /// Bytes are chosen from sixteen.
    pub byte_shuffle: bool,
    /// Bytes are chosen from two vectors of 64 bytes.
    pub byte_permute: bool,
    /// Affine maps of bytes over GF(2).
    pub affine: bool,
    /// Where widths, registers and what it has come from.
    pub source: String,
    /// What operations take.
    #[serde(serialize_with = "crate::cost_model::by_name")]
    pub costs: Arc<CostModel>,
}

/// An instruction set that levels belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// The 64-bit processors of Intel and AMD.
    #[serde(rename = "x86-64")]
    X86_64,
    /// The 64-bit processors of Arm.
    Aarch64,
}

/// Which loops are printed for a level, to be chosen where a program finds it when it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// None: every processor of the architecture has it.
    #[default]
    Never,
    /// All that gain from it.
    EveryLoop,
    /// Those of affine maps of bytes: other loops gain nothing over the level below.
    AffineMaps,
}

impl Machine {
    /// Whether elements of a table of bytes are chosen from registers.
    pub fn chooses_bytes(&self) -> bool {
        match self.vector_bits {
            512 => self.byte_permute,
            _ => self.byte_shuffle,
        }
    }
}

/// A file of kind `simd`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    kind: Kind,
    about: String,
    architecture: Architecture,
    rank: u32,
    #[serde(default)]
    dispatch: Dispatch,
    #[serde(default)]
    features: Vec<String>,
    vector_bits: u32,
    vector_registers: u32,
    #[serde(default)]
    ternary: bool,
    #[serde(default)]
    gather: bool,
    #[serde(default)]
    byte_shuffle: bool,
    #[serde(default)]
    byte_permute: bool,
    #[serde(default)]
    affine: bool,
    source: String,
    pub(crate) costs: String,
}

impl File {
    /// The level, or what is wrong with it.
    pub(crate) fn machine(self, name: &str, costs: Arc<CostModel>) -> Result<Machine, String> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(is_word) {
            return Err(
                "names of functions end with its name; call the file by letters, digits and `_` only".to_owned()
            );
        }
        let is_width = self.vector_bits.is_power_of_two() && self.vector_bits >= 64;
        if !is_width {
            return Err(format!("`vector_bits` is {}, which is no power of two from 64 on", self.vector_bits));
        }
        if (self.dispatch == Dispatch::Never) != self.features.is_empty() {
            return Err("a level is chosen when a program runs exactly where it asks for `features`; \
                        give both `features` and `dispatch`, or neither"
                .to_owned());
        }
        Ok(Machine {
            name: name.to_owned(),
            kind: self.kind,
            about: self.about,
            architecture: self.architecture,
            rank: self.rank,
            dispatch: self.dispatch,
            features: self.features,
            vector_bits: self.vector_bits,
            vector_registers: self.vector_registers,
            ternary: self.ternary,
            gather: self.gather,
            byte_shuffle: self.byte_shuffle,
            byte_permute: self.byte_permute,
            affine: self.affine,
            source: self.source,
            costs,
        })
    }
}
