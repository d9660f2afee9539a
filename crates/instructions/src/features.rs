//! CPUID bits of features, as data: how a processor says what it has, for languages that have no word for that question. The file
//! `features.toml` has them.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A register in which `cpuid` gives bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Register {
    /// `ebx`
    Ebx,
    /// `ecx`
    Ecx,
    /// `edx`
    Edx,
}

/// How a processor says that it has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bit {
    /// What `cpuid` is asked: 1, or 7 with the number 0 beside it.
    pub leaf: u32,
    /// Where it gives the bit.
    pub register: Register,
    /// Which.
    pub bit: u32,
    /// Bits of the widest registers that the operating system must keep for it; 0: those that it always keeps.
    #[serde(default)]
    pub state: u32,
}

fn bits() -> &'static BTreeMap<String, Bit> {
    static ALL: OnceLock<BTreeMap<String, Bit>> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(include_str!("../features.toml")).unwrap_or_default())
}

/// How processors of x86-64 say that they have a feature, by the name that C compilers give it.
pub fn bit(name: &str) -> Option<Bit> {
    bits().get(name).copied()
}
