//! Why what is printed is taken to mean what its transition means, and trials of it.
//!
//! A transition goes through several forms before it is text, and each of them says how it was held to the one before
//! ([`Evidence`]). What a trial compares, it compares whenever a loop is printed: a form that differs is not used.

use super::Loop;
use super::evaluate::{World, run_loop_with};
use super::graph::mask;
use std::fmt;

/// Draws of all tokens and elements in a trial of a loop.
pub const DRAWS: u64 = 2;

/// Iterations of a loop that are run for each draw: what the second one takes from the first is seen too.
pub const ITERATIONS: u64 = 3;

/// How one form of a transition was shown to mean what another does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// On every input, when it was printed.
    Exhaustive {
        /// What was compared.
        what: &'static str,
        /// Inputs of each.
        cases: u64,
    },
    /// Both are linear in each operand, and were compared on bases when it was printed: that decides.
    Basis {
        /// What was compared.
        what: &'static str,
        /// Vectors, or pairs of them.
        vectors: u64,
    },
    /// By an identity that holds for all operands.
    Identity {
        /// The identity.
        what: &'static str,
    },
    /// On random inputs, when it was printed.
    Trial {
        /// What was compared.
        what: &'static str,
        /// Iterations.
        iterations: u64,
    },
    /// By a test of the project, with random inputs.
    Test {
        /// What is compared.
        what: &'static str,
        /// The file and the test.
        test: &'static str,
    },
}

impl Evidence {
    /// A trial of a loop with its whole iterations.
    pub fn trial(what: &'static str) -> Evidence {
        Evidence::Trial { what, iterations: DRAWS * ITERATIONS }
    }

    /// The kind, for those who sort by it.
    pub fn kind(&self) -> &'static str {
        match self {
            Evidence::Exhaustive { .. } => "exhaustive",
            Evidence::Basis { .. } => "basis",
            Evidence::Identity { .. } => "identity",
            Evidence::Trial { .. } => "trial",
            Evidence::Test { .. } => "test",
        }
    }

    /// What was compared, or the identity.
    pub fn what(&self) -> &'static str {
        match self {
            Evidence::Exhaustive { what, .. }
            | Evidence::Basis { what, .. }
            | Evidence::Identity { what }
            | Evidence::Trial { what, .. }
            | Evidence::Test { what, .. } => what,
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Exhaustive { what, cases } => write!(f, "{what}: on all {cases} inputs"),
            Evidence::Basis { what, vectors } => write!(f, "{what}: on a basis of {vectors}"),
            Evidence::Identity { what } => write!(f, "{what}: for all operands"),
            Evidence::Trial { what, iterations } => {
                write!(f, "{what}: in {iterations} iterations on random inputs when printed")
            }
            Evidence::Test { what, test } => write!(f, "{what}: by test, {test}"),
        }
    }
}

/// The next word of Vigna's generator of this name.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Arbitrary tokens and elements for some iterations of a loop, the same for the same seed.
pub fn drawn(body: &Loop, iterations: u64, seed: u64) -> World {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = || u128::from(splitmix64(&mut state));
    let mut values = |n: u64, width: u32| -> Vec<u128> {
        let one = |_| match width {
            0..=64 => word() & mask(width),
            _ => (word() << 64 | word()) & mask(width),
        };
        (0..n).map(one).collect()
    };
    World {
        inputs: body.consumes.iter().map(|&(tokens, width)| values(tokens * iterations, width)).collect(),
        consumed: vec![0; body.consumes.len()],
        outputs: vec![Vec::new(); body.produces.len()],
        objects: body.objects.iter().map(|object| values(object.length as u64, object.width)).collect(),
    }
}

/// Whether a loop leaves the same behind as another, in [`DRAWS`] times [`ITERATIONS`] iterations, where `n` iterations of
/// the one are one of the new. Instructions mean what `instruction` says. `prepare` sets elements that only the new one
/// has.
pub fn agree(
    old: &Loop,
    new: &Loop,
    n: u64,
    instruction: &dyn Fn(u32, &[u128]) -> u128,
    prepare: &dyn Fn(&mut World),
) -> bool {
    (0..DRAWS).all(|seed| {
        let mut meant = drawn(old, ITERATIONS * n, seed);
        let mut made = meant.clone();
        let own = new.objects.iter().skip(old.objects.len());
        made.objects.extend(own.map(|object| vec![0; object.length]));
        prepare(&mut made);
        run_loop_with(old, &mut meant, ITERATIONS * n, instruction);
        run_loop_with(new, &mut made, ITERATIONS, instruction);
        made.objects.truncate(old.objects.len());
        meant.outputs == made.outputs && meant.objects == made.objects
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Carried, Carry, Graph, NodeId, Object, ObjectId};

    /// Iterations that add a token to an element and give the sum, or something else made of both.
    fn adding(f: impl Fn(&mut Graph, NodeId, NodeId) -> NodeId) -> Loop {
        let mut graph = Graph::new();
        let (zero, token) = (graph.number(0, 32), graph.input(0, 0, 32));
        let before = graph.entry(ObjectId(0), zero, 32);
        let sum = f(&mut graph, before, token);
        Loop {
            objects: vec![Object { name: "sum".into(), width: 32, length: 1, persistent: true, residue: None }],
            consumes: vec![(1, 32)],
            produces: vec![(1, 32)],
            outputs: vec![(0, 0, sum)],
            carried: vec![Carried { object: ObjectId(0), index: 0, next: sum, carry: Carry::True }],
            counters: Vec::new(),
            graph,
        }
    }

    #[test]
    fn what_differs_is_seen() {
        let sum = adding(|graph, a, b| graph.sum(a, b));
        let both = |graph: &mut Graph, a, b| {
            // a + b = (a ^ b) + 2 (a & b)
            let (low, common) = (graph.xor(a, b), graph.and(a, b));
            let twice = graph.shift_left_by(common, 1);
            graph.sum(low, twice)
        };
        let none = |_: u32, _: &[u128]| 0;
        assert!(agree(&sum, &adding(both), 1, &none, &|_| {}));
        assert!(!agree(&sum, &adding(|graph, a, b| graph.xor(a, b)), 1, &none, &|_| {}));
    }

    #[test]
    fn evidence_says_what_it_is() {
        let tables = Evidence::Exhaustive { what: "circuits of tables", cases: 256 };
        assert_eq!(tables.to_string(), "circuits of tables: on all 256 inputs");
        assert_eq!((tables.kind(), tables.what()), ("exhaustive", "circuits of tables"));
    }
}
