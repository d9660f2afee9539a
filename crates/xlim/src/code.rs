//! A module as a list of instructions with jumps, so that a machine can stop before any of them and go on later.

use crate::design::{Item, Operation, Phi, Source, Task};

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Instruction {
    /// An operation.
    Operation(Operation),
    /// Values that get theirs all at once: from the first or the second of their sources.
    Phis(Vec<Phi>, usize),
    /// Goes on elsewhere.
    Jump(usize),
    /// Goes on elsewhere unless the source holds.
    Unless(Source, usize),
    /// The end of an iteration through an outermost loop: goes on elsewhere.
    Iteration(usize),
}

/// The instructions of a task, at whose end it returns.
pub(crate) fn instructions(task: &Task) -> Vec<Instruction> {
    let mut code = Vec::new();
    append(&task.body, 0, &mut code);
    code
}

fn phis(phis: &[Phi], which: usize, code: &mut Vec<Instruction>) {
    if !phis.is_empty() {
        code.push(Instruction::Phis(phis.to_vec(), which));
    }
}

fn append(items: &[Item], loops: usize, code: &mut Vec<Instruction>) {
    stacker::maybe_grow(64 << 10, 1 << 20, || {
        for item in items {
            append_one(item, loops, code);
        }
    });
}

fn append_one(item: &Item, loops: usize, code: &mut Vec<Instruction>) {
    match item {
        Item::Operation(operation) => code.push(Instruction::Operation(operation.clone())),
        Item::If { test, decision, then, otherwise, phis: values } => {
            append(test, loops, code);
            let branch = code.len();
            code.push(Instruction::Jump(0));
            append(then, loops, code);
            phis(values, 0, code);
            let leave = code.len();
            code.push(Instruction::Jump(0));
            code[branch] = Instruction::Unless(*decision, code.len());
            append(otherwise, loops, code);
            phis(values, 1, code);
            code[leave] = Instruction::Jump(code.len());
        }
        Item::Loop { phis: values, test, decision, body } => {
            phis(values, 0, code);
            let top = code.len();
            append(test, loops + 1, code);
            let branch = code.len();
            code.push(Instruction::Jump(0));
            append(body, loops + 1, code);
            phis(values, 1, code);
            code.push(if loops == 0 { Instruction::Iteration(top) } else { Instruction::Jump(top) });
            code[branch] = Instruction::Unless(*decision, code.len());
        }
    }
}
