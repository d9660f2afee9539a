//! Rounds that a kernel has one after the other, as a loop.
//!
//! A kernel is all that a network does between two decisions, so of the rounds of a cipher it has as many copies as there are
//! rounds, and an automaton has a kernel for each way through a message. Programs get so long that compilers take minutes.
//!
//! ```text
//! a := f(x, k[0]); b := f(a, k[1]); c := f(b, k[2]) …      =>      c := x; i from 0 on: c := f(c, k[i])
//! ```
//!
//! Nodes stand in the order in which the network computed them, and rounds are found by that ([`trace`]): the same operations
//! come again, a period later, on operands that were computed as long before. What a round takes from the rounds before goes
//! from pass to pass in memory. What else differs from round to round, such as keys and constants, lies in lists: where a
//! network keeps it, if its place goes on by a constant, and elsewhere those that are filled before. That makes code
//! short, not fast; [`Brevity`](crate::control::Brevity) says where it is wanted.
//!
//! Establishes: the effects do what those before did, on more objects that are zero when a kernel begins.

mod emit;
mod shape;
mod trace;

#[cfg(test)]
mod tests;

use crate::kernel::{Effect, Graph, Object};
use shape::Rounds;
use trace::Trace;

/// Values of a kernel that is long.
const LONG: usize = 400;

/// A kernel with loops.
#[derive(Clone, Debug)]
pub struct Rolled {
    /// The values, with the tables of the old graph.
    pub graph: Graph,
    /// The objects, and after them those of loops.
    pub objects: Vec<Object>,
    /// The effects, and before them the loops.
    pub effects: Vec<Effect>,
}

/// The effects with loops for what they repeat; `None` where they are not long, or hardly repeat anything.
pub fn rolled_rounds(graph: &Graph, objects: &[Object], effects: &[Effect]) -> Option<Rolled> {
    // What is loaded in loops has other values in each pass.
    if effects.iter().any(|effect| matches!(effect, Effect::While { .. } | Effect::If { .. })) {
        return None;
    }
    let trace = Trace::of(graph, effects);
    if trace.nodes.len() < LONG {
        return None;
    }
    let mut found = Vec::new();
    search(&trace, 0, trace.nodes.len(), &mut found);
    found.sort_by_key(|rounds: &Rounds| rounds.start);
    if found.is_empty() {
        return None;
    }
    emit::emitted(&trace, objects, effects, &found)
}

/// The rounds between two positions: those that save most, and what is before and after them.
fn search(trace: &Trace, from: usize, to: usize, found: &mut Vec<Rounds>) {
    let Some(rounds) = trace.runs(from, to).into_iter().find_map(|run| Rounds::of(trace, &run)) else { return };
    search(trace, from, rounds.start, found);
    search(trace, rounds.end(), to, found);
    found.push(rounds);
}
