//! Scalar machines: words of one size, as languages without vectors compute with.

use crate::Kind;
use crate::cost_model::CostModel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A machine that computes with words.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Its name, which is that of its file.
    pub name: String,
    /// [`Kind::Scalar`].
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
    /// Bits of a word.
    pub word_bits: u32,
    /// Words that lie in registers at once.
    pub registers: u32,
    /// Where these come from.
    pub source: String,
    /// What operations take.
    #[serde(serialize_with = "crate::cost_model::by_name")]
    pub costs: Arc<CostModel>,
}

/// A file of kind `scalar`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    kind: Kind,
    about: String,
    word_bits: u32,
    registers: u32,
    source: String,
    pub(crate) costs: String,
}

impl File {
    pub(crate) fn machine(self, name: &str, costs: Arc<CostModel>) -> Machine {
        let Self { kind, about, word_bits, registers, source, costs: _ } = self;
        Machine { name: name.to_owned(), kind, about, word_bits, registers, source, costs }
    }
}
