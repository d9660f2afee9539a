//! Findings of the taint analysis: what a walk reports.

use std::collections::BTreeMap;
use std::fmt;

/// How a secret shows in what a machine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A conditional branch reads a flag, or a loop instruction a counter, that depends on a secret.
    Branch,
    /// The target of a jump or a call does.
    IndirectJump,
    /// The address of an access to memory does, that of a gather, a scatter or a prefetch included.
    Address,
    /// Which elements a masked access touches in memory does.
    MaskedAccess,
    /// An operand of a division does.
    Division,
    /// The count of a repeated string instruction does.
    RepeatCount,
    /// The time that an instruction takes may, on some processor.
    VariableTime,
    /// A function outside of the file, whose time depends on what it reads, gets a secret.
    LibraryCall,
    /// The walk cannot tell what happens here, so nothing is said about what follows from it.
    NotUnderstood,
}

impl Kind {
    /// A word for it, for reports as data.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::IndirectJump => "indirect-jump",
            Self::Address => "address",
            Self::MaskedAccess => "masked-access",
            Self::Division => "division",
            Self::RepeatCount => "repeat-count",
            Self::VariableTime => "variable-time",
            Self::LibraryCall => "library-call",
            Self::NotUnderstood => "not-understood",
        }
    }
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As the debug information names it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The function that the line stands in, which may be inlined into another.
    pub function: Option<String>,
}

/// One place where a secret shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What happens.
    pub kind: Kind,
    /// Where the instruction lies.
    pub address: u64,
    /// The function of the file that it lies in.
    pub function: String,
    /// The instruction, in AT&T's syntax.
    pub instruction: String,
    /// What of it is secret, or not understood.
    pub detail: String,
    /// Where it comes from, the innermost of inlined calls first; empty without debug information.
    pub source: Vec<Source>,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}: {:#x} <{}> `{}`: {}",
            self.kind.slug(),
            self.address,
            self.function,
            self.instruction,
            self.detail
        )?;
        for (at, source) in self.source.iter().enumerate() {
            let word = if at == 0 { "at" } else { "called at" };
            write!(out, "\n    {word} {}:{}", source.file, source.line)?;
            if let Some(function) = &source.function {
                write!(out, " in {function}")?;
            }
        }
        Ok(())
    }
}

/// Findings while a walk goes on: one of a kind for each instruction.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    found: BTreeMap<(u64, Kind), (usize, String)>,
}

impl Findings {
    pub(crate) fn add(&mut self, kind: Kind, address: u64, detail: impl Into<String>) {
        let order = self.found.len();
        self.found.entry((address, kind)).or_insert_with(|| (order, detail.into()));
    }

    /// All of them as they were found: what others follow from comes before those.
    pub(crate) fn in_order(&self) -> Vec<(u64, Kind, &str)> {
        let mut all: Vec<_> = self.found.iter().collect();
        all.sort_by_key(|(_, (order, _))| *order);
        all.into_iter().map(|((address, kind), (_, detail))| (*address, *kind, detail.as_str())).collect()
    }
}
