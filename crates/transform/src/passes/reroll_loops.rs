//! Loop rerolling. Rounds that a transition has one after the other, as a loop.
//!
//! A transition is all that a network does between two decisions, so of the rounds of a cipher it has as many copies as
//! there are rounds, and an automaton has a transition for each way through a message. Programs get so long that compilers
//! take minutes.
//!
//! ```text
//! a := f(x, k[0]); b := f(a, k[1]); c := f(b, k[2]) …      =>      c := x; i from 0 on: c := f(c, k[i])
//! ```
//!
//! Nodes stand in the order in which the network computed them, and rounds are found by that ([`trace`]): the same
//! operations come again, a period later, on operands that were computed as long before. What a round takes from the
//! rounds before goes from iteration to iteration in memory. What else differs from round to round, such as keys and
//! constants, lies in lists: where a network keeps it, if its place goes on by a constant, and elsewhere those that are
//! filled before. That makes code short, not fast; [`Brevity`](crate::control::Brevity) says where it is wanted.
//!
//! Compilers that work while a program runs want loops to be fast ([`Aim::Registers`]): they hardly do anything for
//! code that is long. There what goes on for few rounds is in registers, one for each of them: such compilers repeat
//! short rounds themselves, and then nothing is moved. What goes on much further is in a list that keeps all of it, as
//! the message schedules of hash functions do, and constants are tables.
//!
//! Result: the effects do what those before did, on more objects that are zero when a transition begins.

mod emit;
mod shape;
mod trace;

#[cfg(test)]
mod tests;

use super::pass::{Form, Pass, Property};
use crate::kernel::{Block, Effect, Graph, Object};
use shape::Rounds;
use trace::{Run, Trace};

/// The pass.
pub const PASS: Pass = Pass {
    name: "reroll-loops",
    about: "Makes a loop of what effects repeat, for registers to hold",
    requires: &[Property::Straight, Property::SumsAsWritten],
    establishes: &[],
    gives_up: &[Property::Straight],
    form: Form::Block(|block| {
        reroll_loops(block.graph, block.objects, block.effects, Aim::Registers { n_indexed: block.n_indexed })
    }),
};

/// The same, but for code that is short.
pub const FOR_SIZE: Pass = Pass {
    name: "reroll-loops-for-size",
    about: "Makes a loop of what effects repeat, whatever memory that needs",
    form: Form::Block(|block| reroll_loops(block.graph, block.objects, block.effects, Aim::Brevity)),
    ..PASS
};

/// Values of a transition that is long.
const LONG_TRANSITION_VALUES: usize = 400;

/// What loops are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Short code, whatever memory it needs.
    Brevity,
    /// Loops that compilers hold in registers.
    Registers {
        /// Elements of how many objects, the first ones, can be read at any place; others have constant places.
        n_indexed: usize,
    },
}

impl Aim {
    fn n_indexed(self, objects: &[Object]) -> usize {
        match self {
            Self::Brevity => objects.len(),
            Self::Registers { n_indexed } => n_indexed,
        }
    }

    fn is_registers(self) -> bool {
        self != Self::Brevity
    }
}

/// The effects with loops for what they repeat; `None` where they are not long, or hardly repeat anything.
pub fn reroll_loops(graph: &Graph, objects: &[Object], effects: &[Effect], aim: Aim) -> Option<Block> {
    // What is loaded in loops has other values in each iteration.
    if effects.iter().any(|effect| matches!(effect, Effect::While { .. } | Effect::If { .. })) {
        return None;
    }
    let trace = Trace::of(graph, effects, aim);
    if trace.nodes.len() < LONG_TRANSITION_VALUES {
        return None;
    }
    let mut found = Vec::new();
    search(&trace, aim, 0, trace.nodes.len(), &mut found);
    found.sort_by_key(|rounds: &Rounds| rounds.start);
    if found.is_empty() {
        return None;
    }
    emit::emitted(&trace, objects, effects, &found).map(|block| Block { n_indexed: aim.n_indexed(objects), ..block })
}

/// The rounds between two positions: those that save most, and what is before and after them.
fn search(trace: &Trace, aim: Aim, from: usize, to: usize, found: &mut Vec<Rounds>) {
    // The last round may take something else than those before, which only shows when all are held against each other.
    let rounds_of = |run: Run| Rounds::of(trace, &run, aim).or_else(|| Rounds::of(trace, &run.shortened()?, aim));
    let Some(rounds) = trace.runs(from, to, aim).into_iter().find_map(rounds_of) else {
        return;
    };
    search(trace, aim, from, rounds.start, found);
    search(trace, aim, rounds.end(), to, found);
    found.push(rounds);
}
