//! Steps: what an actor does, in order, between statements of the source and states of a state machine.
//!
//! A step is *simple* when it can be done in the cycle that it is reached in, together with what stands before and behind it.

use headrace_rtl::{Expr, SignalId};

/// The forms of steps. Expressions read what variables have at that point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A variable gets a value.
    Set(SignalId, Expr),
    /// A part of a variable, from a bit on so many.
    SetPart(SignalId, Expr, u32, Expr),
    /// A choice.
    If(Expr, Vec<Step>, Vec<Step>),
    /// A choice by the values of a variable; the last for all others.
    Case(SignalId, Vec<(u64, Vec<Step>)>, Vec<Step>),
    /// Runs `before`, tests, runs the body, and again.
    While { before: Vec<Step>, condition: Expr, body: Vec<Step> },
    /// Runs the body, then again where the condition holds.
    Repeat { body: Vec<Step>, again: Expr },
    /// A word of a memory, by number, to a variable.
    Read(usize, Expr, SignalId),
    /// A word of a memory.
    Write(usize, Expr, Expr),
    /// A token goes out, when there is room.
    Emit(usize, Expr),
    /// So many tokens go out, those of the given values in turn; `counter` counts the rounds, `turn` says whose turn it is.
    EmitAll { port: usize, counter: SignalId, turn: Option<SignalId>, rounds: u32, values: Vec<Expr> },
    /// On with a block of its own, behind which selection comes.
    Jump(usize),
    /// From here on states are called like this.
    Mark(String),
    /// For readers.
    Comment(String),
}

impl Step {
    /// The blocks in it.
    pub(crate) fn blocks(&self) -> Vec<&[Step]> {
        match self {
            Step::If(_, yes, no) => vec![yes, no],
            Step::Case(_, arms, rest) => {
                arms.iter().map(|(_, block)| block.as_slice()).chain([rest.as_slice()]).collect()
            }
            Step::While { before, body, .. } => vec![before, body],
            Step::Repeat { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// True when it can be done within a cycle, whatever stands around it.
    pub(crate) fn is_simple(&self) -> bool {
        match self {
            Step::Set(..) | Step::SetPart(..) | Step::Comment(_) | Step::Mark(_) => true,
            Step::If(..) | Step::Case(..) => self.blocks().into_iter().all(all_simple),
            _ => false,
        }
    }
}

/// True when all steps can be done within one cycle.
pub(crate) fn all_simple(steps: &[Step]) -> bool {
    steps.iter().all(Step::is_simple)
}

/// Assignments in a block, in the blocks in it too.
pub(crate) fn size(steps: &[Step]) -> usize {
    let of = |step: &Step| match step {
        Step::Comment(_) | Step::Mark(_) => 0,
        _ => 1 + step.blocks().into_iter().map(size).sum::<usize>(),
    };
    steps.iter().map(of).sum()
}

/// True when nothing is done.
pub(crate) fn is_nothing(steps: &[Step]) -> bool {
    steps.iter().all(|step| matches!(step, Step::Comment(_) | Step::Mark(_)))
}
