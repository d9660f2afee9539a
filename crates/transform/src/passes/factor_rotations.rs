//! Factoring of rotations (Horner form). Rotations of one value that are mixed with each other, one around the other.
//!
//! ```text
//! (x <<< 7) ^ (x <<< 21) ^ (x <<< 26)    =>    ((((x <<< 5) ^ x) <<< 14) ^ x) <<< 7
//! ```
//!
//! It is Horner's rule, with rotations for powers, and has as many operations. But where a machine rotates a register
//! in place, each rotation of a value that is needed once more costs a copy: three on the left, one on the right.
//!
//! Each rotation waits for the one before. Where the longest chain is what takes the time, or would then, all stays as
//! it is. What is mixed comes later all the same, so that sums are added in a new order ([`late_terms_last_in`]). For
//! machines that rotate into another register it is no use.
//!
//! Result: of no value two rotations that nothing else reads are mixed as such; of sums, what is there first is
//! added first.

use super::chains::Chains;
use super::latency_bound::waits;
use super::pass::{Form, Pass, Property};
use super::reassociate_by_arrival::late_terms_last_in;
use crate::kernel::{Effect, Graph, NodeId, Op};
use headrace_machines::machines;
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "factor-rotations",
    about: "Nests rotations of one value that are mixed with each other",
    requires: &[],
    establishes: &[],
    gives_up: &[Property::SumsAsWritten],
    form: Form::Block(|block| factor_rotations(block.graph, block.effects).map(|new| block.with(new))),
};

/// Effects in which mixed rotations are nested, with their graph; `None` where there are none, or something would wait
/// for them.
pub fn factor_rotations(graph: &Graph, effects: &[Effect]) -> Option<(Graph, Vec<Effect>)> {
    let order = Effect::needed(effects, graph);
    let chains = Chains::of(graph, Effect::roots(effects), &order, |op| match *op {
        Op::Xor(a, b) => Some([a, b]),
        _ => None,
    });
    let ends = order.iter().filter(|id| !chains.is_part(**id));
    let mixed: FxHashMap<NodeId, Mixed> = ends.filter_map(|&id| Some((id, Mixed::of(graph, &chains, id)?))).collect();
    if mixed.is_empty() {
        return None;
    }
    let mut nested = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in &order {
        let value = match mixed.get(&id) {
            Some(mixed) => mixed.nested(&mut nested, &new)?,
            None => nested.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    let effects: Vec<Effect> = effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    if waits(&nested, &Effect::needed(&effects, &nested)) {
        return None;
    }
    Some(late_terms_last_in(&nested, &effects).unwrap_or((nested, effects)))
}

/// A chain with rotations to nest.
struct Mixed {
    /// Values and how far to the left they are rotated, from the least; 0 where the value itself is mixed in.
    nests: Vec<(NodeId, Vec<u32>)>,
    /// The other terms.
    others: Vec<NodeId>,
}

impl Mixed {
    /// The chain that ends with a node; `None` where no value has two rotations in it that nothing else reads.
    fn of(graph: &Graph, chains: &Chains<'_>, end: NodeId) -> Option<Self> {
        // Machines rotate whole words.
        let width = graph.width(end);
        if !machines().scalars().iter().any(|machine| machine.word_bits == width) {
            return None;
        }
        let terms = chains.terms(end);
        let rotated = |&term: &NodeId| graph.rotated(term).filter(|_| chains.is_read_once(term));
        let mut nests: Vec<(NodeId, Vec<u32>)> = Vec::new();
        for (value, count) in terms.iter().filter_map(rotated) {
            match nests.iter_mut().find(|nest| nest.0 == value) {
                Some((_, counts)) => counts.push(count),
                None => nests.push((value, vec![count])),
            }
        }
        nests.retain(|(_, counts)| counts.len() > 1);
        if nests.is_empty() {
            return None;
        }
        let is_nested =
            |term: &NodeId| rotated(term).is_some_and(|(value, _)| nests.iter().any(|nest| nest.0 == value));
        let mut others: Vec<NodeId> = terms.iter().copied().filter(|term| !is_nested(term)).collect();
        for (value, counts) in &mut nests {
            if let Some(at) = others.iter().position(|other| other == value) {
                others.remove(at);
                counts.push(0);
            }
            counts.sort_unstable();
        }
        Some(Self { nests, others })
    }

    /// The same with its rotations nested, of what stands for nodes in another graph.
    fn nested(&self, graph: &mut Graph, new: &FxHashMap<NodeId, NodeId>) -> Option<NodeId> {
        let nests = self.nests.iter().map(|(value, counts)| Some(nest(graph, *new.get(value)?, counts)));
        let mut terms: Vec<NodeId> = nests.collect::<Option<_>>()?;
        for other in &self.others {
            terms.push(*new.get(other)?);
        }
        terms.into_iter().reduce(|a, b| graph.xor(a, b))
    }
}

/// The mix of a value rotated to the left by each of some counts, which ascend.
fn nest(graph: &mut Graph, value: NodeId, counts: &[u32]) -> NodeId {
    let mut mixed = value;
    for at in (0..counts.len()).rev() {
        let below = if at == 0 { 0 } else { counts[at - 1] };
        mixed = graph.rotate_left_by(mixed, counts[at] - below);
        if at > 0 {
            mixed = graph.xor(mixed, value);
        }
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::super::test_loops::{Words, made, of_words};
    use super::*;
    use crate::kernel::Loop;

    /// The loop with mixed rotations nested in what its iterations give.
    fn nested(body: &Loop) -> Option<Loop> {
        let outputs = body.outputs.iter().map(|&(port, offset, value)| Effect::Output { port, offset, value });
        let (graph, effects) = factor_rotations(&body.graph, &outputs.collect::<Vec<_>>())?;
        let of = |effect: Effect| match effect {
            Effect::Output { port, offset, value } => Some((port, offset, value)),
            _ => None,
        };
        Some(Loop { graph, outputs: effects.into_iter().filter_map(of).collect(), ..body.clone() })
    }

    /// Rotations of a value by some counts and some values, mixed in this order.
    fn mixed(graph: &mut Graph, value: NodeId, counts: &[u32], others: &[NodeId]) -> NodeId {
        let mut terms: Vec<NodeId> = counts.iter().map(|&count| graph.rotate_left_by(value, count)).collect();
        terms.extend(others);
        terms.into_iter().reduce(|a, b| graph.xor(a, b)).expect("terms")
    }

    /// Times that rotations by constants read a value which something else reads, too: what machines copy for them.
    fn copies(body: &Loop) -> usize {
        let order = body.needed();
        let rotated = |id: &NodeId| body.graph.rotated(*id).map(|(value, _)| value);
        let is_shared = |value: &NodeId| {
            let reads = |id: &&NodeId| match body.graph.rotated(**id) {
                Some((rotated, _)) => rotated == *value,
                None => {
                    !matches!(body.graph.op(**id), Op::Extract(..)) && body.graph.op(**id).operands().contains(value)
                }
            };
            order.iter().filter(reads).count() > 1
        };
        order.iter().filter_map(rotated).filter(is_shared).count()
    }

    #[test]
    fn rotations_are_nested_and_give_the_same() {
        // Several at once, so that nothing waits for them.
        let old = of_words(8, |graph, tokens| {
            let of = |graph: &mut Graph, at: usize, counts: &[u32]| {
                let others = [tokens[at + 1], tokens[(at + 2) % 8]];
                mixed(graph, tokens[at], counts, &others[..at % 3])
            };
            [&[7, 21, 26][..], &[30, 10, 19], &[0, 13, 4], &[31, 1], &[5, 6, 9, 17], &[2, 3]]
                .into_iter()
                .enumerate()
                .map(|(at, counts)| of(graph, at, counts))
                .collect()
        });
        let new = nested(&old).expect("mixed rotations");
        assert_eq!(made(&old, &Words), made(&new, &Words));
        let operations = |body: &Loop| {
            let ops: Vec<NodeId> = body.needed();
            let of = |id: &&NodeId| body.graph.rotated(**id).is_some() || matches!(body.graph.op(**id), Op::Xor(..));
            ops.iter().filter(of).count()
        };
        assert_eq!(operations(&old), operations(&new));
        assert!(copies(&new) < copies(&old) / 2, "{} of {}", copies(&new), copies(&old));
        assert!(nested(&new).is_none());
    }

    #[test]
    fn what_is_nested_is_added_last() {
        let n = 8;
        let old = of_words(n as u64, |graph, tokens| {
            let of = |graph: &mut Graph, at: usize| {
                let mixed = mixed(graph, tokens[at], &[7, 21, 26], &[]);
                let sum = graph.sum(mixed, tokens[(at + 1) % n]);
                graph.sum(sum, tokens[(at + 2) % n])
            };
            (0..n).map(|at| of(graph, at)).collect()
        });
        let new = nested(&old).expect("mixed rotations");
        assert_eq!(made(&old, &Words), made(&new, &Words));
        let is_nest = |id: &NodeId| new.graph.rotated(*id).is_some();
        assert!(new.outputs.iter().all(|(_, _, sum)| new.graph.op(*sum).operands().iter().any(is_nest)));
    }

    #[test]
    fn rotations_that_are_wanted_anyway_stay() {
        let old = of_words(4, |graph, tokens| {
            let of = |graph: &mut Graph, &token: &NodeId| {
                let one = graph.rotate_left_by(token, 5);
                let other = graph.rotate_left_by(token, 11);
                [graph.xor(one, other), graph.sum(one, other)]
            };
            tokens.iter().flat_map(|token| of(graph, token)).collect()
        });
        assert!(nested(&old).is_none());
    }

    #[test]
    fn a_chain_that_everything_waits_for_stays() {
        let old = of_words(1, |graph, tokens| {
            let mut state = tokens[0];
            for _ in 0..6 {
                state = mixed(graph, state, &[2, 10, 18, 24], &[state]);
            }
            vec![state]
        });
        assert!(nested(&old).is_none());
    }
}
