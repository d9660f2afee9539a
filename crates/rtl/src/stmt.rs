//! Statements of processes: assignments and choices, run in order within a cycle.

use crate::{Bits, Expr, SignalId};

/// What is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The signal.
    pub signal: SignalId,
    /// A part of it: from this bit on so many; nothing for all of it.
    pub part: Option<(Expr, u32)>,
}

/// The forms of statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// What comes after sees the new value.
    Assign(Target, Expr),
    /// By a condition of one bit.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// By value, else the last block.
    Case(Expr, Vec<(Bits, Vec<Stmt>)>, Vec<Stmt>),
    /// For readers.
    Comment(String),
}

impl Stmt {
    /// All of a signal is assigned.
    pub fn assign(signal: SignalId, value: Expr) -> Self {
        Stmt::Assign(Target { signal, part: None }, value)
    }

    /// The blocks in it.
    pub fn blocks(&self) -> Vec<&[Stmt]> {
        match self {
            Stmt::Assign(..) | Stmt::Comment(_) => Vec::new(),
            Stmt::If(_, yes, no) => vec![yes, no],
            Stmt::Case(_, arms, rest) => {
                arms.iter().map(|(_, block)| block.as_slice()).chain([rest.as_slice()]).collect()
            }
        }
    }

    /// The expressions in it, but for those in its blocks.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::Assign(target, value) => target.part.iter().map(|(at, _)| at).chain([value]).collect(),
            Stmt::If(value, ..) | Stmt::Case(value, ..) => vec![value],
            Stmt::Comment(_) => Vec::new(),
        }
    }
}
