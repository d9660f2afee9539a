//! Test fixtures. Small loops, for tests of passes.

use crate::kernel::evaluate::{Environment, values};
use crate::kernel::{Graph, Loop, NodeId, ObjectId};

/// An environment in which every token is this one, and elements are zero.
pub(super) struct Token(pub u128);

impl Environment for Token {
    fn input(&self, _port: u32, _offset: i64) -> u128 {
        self.0
    }
    fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
        0
    }
}

/// A loop that keeps nothing: its iterations consume so many tokens of so many bits from each port, and give what `f`
/// makes.
pub(super) fn iterations(consumes: &[(u64, u32)], f: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Loop {
    let mut graph = Graph::new();
    let outputs: Vec<(u32, u64, NodeId)> = (0..).zip(f(&mut graph)).map(|(at, id)| (0, at, id)).collect();
    let width = outputs.iter().map(|one| graph.width(one.2)).max().unwrap_or(0);
    let (objects, carried, counters) = (Vec::new(), Vec::new(), Vec::new());
    let (consumes, produces) = (consumes.to_vec(), vec![(outputs.len() as u64, width)]);
    Loop { graph, objects, consumes, produces, outputs, carried, counters }
}

/// The same with some words of 32 bits, of which `f` makes what iterations give.
pub(super) fn of_words(n: u64, f: impl FnOnce(&mut Graph, &[NodeId]) -> Vec<NodeId>) -> Loop {
    iterations(&[(n, 32)], |graph| {
        let tokens: Vec<NodeId> = (0..n as i64).map(|at| graph.input(0, at, 32)).collect();
        f(graph, &tokens)
    })
}

/// What an iteration gives.
pub(super) fn made(body: &Loop, environment: &dyn Environment) -> Vec<u128> {
    let roots: Vec<NodeId> = body.outputs.iter().map(|one| one.2).collect();
    let values = values(&body.graph, &roots, environment);
    roots.iter().map(|root| values[root]).collect()
}

/// Words of 32 bits that look random; elements are zero.
pub(super) struct Words;

impl Environment for Words {
    fn input(&self, _port: u32, offset: i64) -> u128 {
        (offset as u128 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) & 0xffff_ffff
    }
    fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
        0
    }
}
