//! Common subexpression elimination of majority functions. Majorities of three values in the form that has most in
//! common with others.
//!
//! ```text
//! (a & b) ^ (a & c) ^ (b & c)    =>    ((a ^ b) & (b ^ c)) ^ b
//! ```
//!
//! Four operations in the place of five, whichever way a majority was written; and a difference that another majority
//! needs, or that is there anyway, is computed once. Of a sequence each value of which is decided with the two before
//! it, one in four is left out once more.
//!
//! Machines with an operation for any function of three values have no use for it.
//!
//! Establishes: fewer values are computed than before.

use super::pass::{Form, Pass, Property};
use crate::kernel::{Graph, Loop, NodeId, Op};
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "majority-cse",
    about: "Writes majorities of three values such that they share differences",
    requires: &[],
    establishes: &[Property::FewerValues],
    gives_up: &[],
    form: Form::Loop(majority_cse),
};

/// Bit `4 a + 2 b + c` is the majority of `a`, `b` and `c`.
const MAJORITY: u8 = 0b1110_1000;

/// How many operations one behind the other a majority is looked for in: `(a & b) | ((a | b) & c)` has three.
const DEPTH: usize = 3;

/// A loop in which majorities share differences; `None` where that does not make it shorter.
pub fn majority_cse(body: &Loop) -> Option<Loop> {
    let order = body.needed();
    let majorities: FxHashMap<NodeId, [NodeId; 3]> =
        order.iter().filter_map(|&id| Some((id, majority(&body.graph, id)?))).collect();
    if majorities.is_empty() {
        return None;
    }
    let mut wanted: FxHashMap<[NodeId; 2], usize> = FxHashMap::default();
    for [a, b, c] in majorities.values().copied() {
        [[a, b], [a, c], [b, c]].into_iter().for_each(|pair| *wanted.entry(pair).or_default() += 1);
    }
    for &id in &order {
        if let Op::Xor(a, b) = *body.graph.op(id) {
            *wanted.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
    }
    let shared = body.rebuilt(|graph, new, id| match majorities.get(&id) {
        Some(values) => {
            let [one, middle, other] = arranged(*values, &wanted).map(|value| new[&value]);
            let (before, behind) = (graph.xor(one, middle), graph.xor(middle, other));
            let both = graph.and(before, behind);
            Some(graph.xor(both, middle))
        }
        None => graph.copy(&body.graph, id, new),
    })?;
    (shared.needed().len() < order.len()).then_some(shared)
}

/// The values of a majority, in the middle the one whose differences from the others are wanted most often.
fn arranged([a, b, c]: [NodeId; 3], wanted: &FxHashMap<[NodeId; 2], usize>) -> [NodeId; 3] {
    let often = |pair: [NodeId; 2]| wanted.get(&pair).copied().unwrap_or(0);
    let without = [([b, a, c], often([b, c])), ([a, b, c], often([a, c])), ([a, c, b], often([a, b]))];
    without.into_iter().min_by_key(|(_, left_out)| *left_out).map_or([a, b, c], |(values, _)| values)
}

/// The three values of which a node is the majority, in the order of the graph.
fn majority(graph: &Graph, id: NodeId) -> Option<[NodeId; 3]> {
    if !matches!(graph.op(id), Op::Xor(..) | Op::Or(..) | Op::And(..)) {
        return None;
    }
    let found = |values: &[NodeId; 3]| truth(graph, id, values) == Some(MAJORITY);
    cuts(graph, id, DEPTH).into_iter().filter_map(|values| values.try_into().ok()).find(found)
}

/// Sets of three values at most that a node is a bitwise function of, each in the order of the graph.
fn cuts(graph: &Graph, id: NodeId, depth: usize) -> Vec<Vec<NodeId>> {
    let mut found = vec![vec![id]];
    if depth == 0 {
        return found;
    }
    match *graph.op(id) {
        Op::Not(a) => found.extend(cuts(graph, a, depth)),
        Op::Xor(a, b) | Op::Or(a, b) | Op::And(a, b) => {
            let others = cuts(graph, b, depth - 1);
            for one in cuts(graph, a, depth - 1) {
                for other in &others {
                    let mut both = [one.as_slice(), other].concat();
                    both.sort_unstable();
                    both.dedup();
                    if both.len() <= 3 && !found.contains(&both) {
                        found.push(both);
                    }
                }
            }
        }
        _ => {}
    }
    found
}

/// The truth table of a node as a function of three values, if it is one.
fn truth(graph: &Graph, id: NodeId, values: &[NodeId; 3]) -> Option<u8> {
    if let Some(at) = values.iter().position(|&value| value == id) {
        return Some([0b1111_0000, 0b1100_1100, 0b1010_1010][at]);
    }
    let of = |operand: NodeId| truth(graph, operand, values);
    Some(match *graph.op(id) {
        Op::Not(a) => !of(a)?,
        Op::Xor(a, b) => of(a)? ^ of(b)?,
        Op::Or(a, b) => of(a)? | of(b)?,
        Op::And(a, b) => of(a)? & of(b)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_loops::{Words, made, of_words};
    use super::*;

    fn n_bitwise(body: &Loop) -> usize {
        let is_bitwise =
            |id: &NodeId| matches!(body.graph.op(*id), Op::Xor(..) | Op::Or(..) | Op::And(..) | Op::Not(_));
        body.needed().iter().filter(|id| is_bitwise(id)).count()
    }

    type Written = fn(&mut Graph, [NodeId; 3]) -> NodeId;

    /// Ways to write a majority.
    const WAYS: [Written; 3] = [
        |graph, [a, b, c]| {
            let [ab, ac, bc] = [[a, b], [a, c], [b, c]].map(|[x, y]| graph.and(x, y));
            let two = graph.xor(ab, ac);
            graph.xor(two, bc)
        },
        |graph, [a, b, c]| {
            let [ab, ac, bc] = [[a, b], [a, c], [b, c]].map(|[x, y]| graph.and(x, y));
            let two = graph.or(ac, bc);
            graph.or(ab, two)
        },
        |graph, [a, b, c]| {
            let (both, one) = (graph.and(a, b), graph.or(a, b));
            let decided = graph.and(one, c);
            graph.or(both, decided)
        },
    ];

    #[test]
    fn each_way_is_found_and_means_the_same() {
        for (at, way) in WAYS.iter().enumerate() {
            // Neighbours decide: each difference is that of the next, too.
            let old = of_words(12, |graph, tokens| {
                tokens.windows(3).map(|three| way(graph, [three[0], three[1], three[2]])).collect()
            });
            let new = majority_cse(&old).expect("there are majorities");
            assert_eq!(made(&old, &Words), made(&new, &Words), "way {at}");
            // Eleven differences, and of each majority two operations.
            assert_eq!(n_bitwise(&new), 11 + 2 * 10, "way {at}");
            assert!(n_bitwise(&new) < n_bitwise(&old), "way {at}");
        }
    }

    #[test]
    fn what_would_not_be_shorter_stays() {
        // The carry of an addition, whose two inner values are there for others.
        let carry = of_words(3, |graph, tokens| {
            let (both, one) = (graph.and(tokens[0], tokens[1]), graph.xor(tokens[0], tokens[1]));
            let decided = graph.and(one, tokens[2]);
            let sum = graph.xor(one, tokens[2]);
            vec![graph.or(both, decided), sum, both]
        });
        assert!(majority_cse(&carry).is_none());
        let choice = of_words(3, |graph, tokens| {
            let differ = graph.xor(tokens[0], tokens[1]);
            let taken = graph.and(differ, tokens[2]);
            vec![graph.xor(taken, tokens[1])]
        });
        assert!(majority_cse(&choice).is_none());
    }
}
