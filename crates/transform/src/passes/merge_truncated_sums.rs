//! Common subexpression elimination of truncated sums: a sum of the low bits of two values is the low bits of their sum.
//! Where a wider sum is computed anyway, narrower ones are read from it.
//!
//! ```text
//! s := [a, b, c] + 1; t := [b, c] + 1; u := c + 1    =>    t := s[15..0]; u := s[7..0]
//! ```
//!
//! A counter in bytes is a sum of so many widths as it has bytes: bits of each are asked for, and of a sum no more is
//! computed than somebody asks for.
//!
//! Result: no sum of low bits of two values stands beside a sum of more of their bits, unless parts of that come later.

use super::pass::{Form, Pass, Property};
use crate::kernel::graph::mask;
use crate::kernel::{Effect, Graph, NodeId, Op};
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "merge-truncated-sums",
    about: "Reads sums of the low bits of two values from their wider sum",
    // Where only one side of a choice loads what a wide sum has, that sum is none of the other side's.
    requires: &[Property::Straight],
    establishes: &[],
    gives_up: &[],
    form: Form::Block(|block| merge_truncated_sums(block.graph, block.effects).map(|new| block.with(new))),
};

/// Sums with one lowest part that are compared: each with each.
const MOST: usize = 64;

/// A sum of two values, by their parts, the highest first.
struct Sum {
    id: NodeId,
    sides: [Vec<NodeId>; 2],
}

/// Effects in which narrow sums are parts of wider ones; `None` where none are.
fn merge_truncated_sums(graph: &Graph, effects: &[Effect]) -> Option<(Graph, Vec<Effect>)> {
    let order = Effect::needed(effects, graph);
    let wider = wider(graph, &order);
    if wider.is_empty() {
        return None;
    }
    let mut made = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in &order {
        let (width, op) = (graph.width(id), graph.op(id));
        let value = match op {
            _ if new.contains_key(&id) => continue,
            _ if wider.contains_key(&id) => {
                let sum = wider[&id];
                // Its parts are there, it may not be.
                for needed in graph.op(sum).operands().into_iter().chain([sum]) {
                    if !new.contains_key(&needed) {
                        let value = made.copy(graph, needed, &new)?;
                        new.insert(needed, value);
                    }
                }
                made.add(Op::Extract(*new.get(&sum)?, 0), width)
            }
            // Not simplified: that would make sums of their own again.
            Op::Extract(inner, lo) => match (wider.get(inner), graph.op(*inner)) {
                (Some(sum), _) => made.add(Op::Extract(*new.get(sum)?, *lo), width),
                (None, Op::Add(..)) => made.add(Op::Extract(*new.get(inner)?, *lo), width),
                _ => made.copy(graph, id, &new)?,
            },
            _ => made.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    let effects = effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    Some((made, effects))
}

/// The wider sum for each narrow one.
fn wider(graph: &Graph, order: &[NodeId]) -> FxHashMap<NodeId, NodeId> {
    let parts = |id: NodeId| match graph.op(id) {
        Op::Concat(parts) => parts.to_vec(),
        _ => vec![id],
    };
    // By the lowest part of one side: that is the same in all of a family.
    let mut families: FxHashMap<NodeId, Vec<Sum>> = FxHashMap::default();
    for &id in order {
        let Op::Add(a, b) = graph.op(id) else { continue };
        let sides = [parts(*a), parts(*b)];
        for side in &sides {
            let lowest = side[side.len() - 1];
            if graph.constant(lowest).is_none() {
                families.entry(lowest).or_default().push(Sum { id, sides: sides.clone() });
            }
        }
    }
    let mut wider = FxHashMap::default();
    for family in families.values_mut().filter(|family| family.len() <= MOST) {
        family.sort_by_key(|sum| std::cmp::Reverse((graph.width(sum.id), sum.id)));
        for at in 1..family.len() {
            let narrow = &family[at];
            let found = family[..at].iter().find(|wide| {
                graph.width(wide.id) > graph.width(narrow.id)
                    && !wider.contains_key(&wide.id)
                    && is_low(graph, narrow, wide)
                    && wide.sides.iter().flatten().all(|part| *part < narrow.id || graph.constant(*part).is_some())
            });
            if let Some(wide) = found {
                wider.insert(narrow.id, wide.id);
            }
        }
    }
    wider
}

/// Whether a sum is one of the low bits of what another one adds.
fn is_low(graph: &Graph, narrow: &Sum, wide: &Sum) -> bool {
    let width = graph.width(narrow.id);
    let low = |narrow: &[NodeId], wide: &[NodeId]| match (narrow, wide) {
        ([one], [other]) if one != other => {
            let constants = graph.constant(*one).zip(graph.constant(*other));
            constants.is_some_and(|(one, other)| one == other & mask(width))
        }
        _ => wide.ends_with(narrow),
    };
    let [a, b] = &narrow.sides;
    let [c, d] = &wide.sides;
    low(a, c) && low(b, d) || low(a, d) && low(b, c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ObjectId;
    use crate::kernel::evaluate::{World, run};

    /// Sixteen bytes that count, the highest first, as bytes of their sum with a constant.
    fn counter(step: u128) -> (Graph, Vec<Effect>) {
        let mut graph = Graph::new();
        let places: Vec<NodeId> = (0..16).map(|at| graph.number(at, 32)).collect();
        let bytes: Vec<NodeId> = places.iter().map(|&at| graph.entry(ObjectId(0), at, 8)).collect();
        let (all, step) = (graph.concat(&bytes), graph.number(step, 128));
        let sum = graph.sum(all, step);
        let store = |(at, &index): (usize, &NodeId)| {
            let value = graph.extract(sum, 120 - 8 * at as u32, 8);
            Effect::Store { object: ObjectId(0), index, value }
        };
        let effects = places.iter().enumerate().map(store).collect();
        (graph, effects)
    }

    fn n_sums(graph: &Graph, effects: &[Effect]) -> usize {
        Effect::needed(effects, graph).iter().filter(|&&id| matches!(graph.op(id), Op::Add(..))).count()
    }

    #[test]
    fn counters_in_bytes_are_one_sum() {
        for step in [1, 0xffff_ffff_ffff_ffff, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            let (graph, effects) = counter(step);
            assert_eq!(n_sums(&graph, &effects), 16);
            let (made, merged) = merge_truncated_sums(&graph, &effects).unwrap();
            assert_eq!(n_sums(&made, &merged), 1);
            assert!(merge_truncated_sums(&made, &merged).is_none());
            let elements: Vec<u128> = (0..16).map(|at| [0xff, 0xfe, 0x37][at % 3]).collect();
            let world =
                World { inputs: Vec::new(), consumed: Vec::new(), outputs: Vec::new(), objects: vec![elements] };
            let (mut one, mut other) = (world.clone(), world);
            assert!(run(&graph, &effects, &mut one, &mut 1000) && run(&made, &merged, &mut other, &mut 1000));
            assert_eq!(one.objects, other.objects);
        }
    }

    #[test]
    fn sums_of_other_values_stay() {
        let mut graph = Graph::new();
        let zero = graph.number(0, 32);
        let (a, b) = (graph.input(0, 0, 8), graph.input(0, 1, 8));
        let (ab, ba) = (graph.concat(&[a, b]), graph.concat(&[b, a]));
        let (one, two) = (graph.number(1, 16), graph.number(2, 8));
        let (wide, narrow) = (graph.sum(ab, one), graph.sum(b, two));
        let other = graph.sum(ba, one);
        let store = |value, object| Effect::Store { object: ObjectId(object), index: zero, value };
        let effects = [store(wide, 0), store(narrow, 1), store(other, 2)];
        assert!(merge_truncated_sums(&graph, &effects).is_none());
    }
}
