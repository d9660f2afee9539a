//! Masked-merge simplification. Bits of two values, chosen by a mask, in three operations in the place of four.
//!
//! ```text
//! (m & a) ^ (~m & b)    =>    ((a ^ b) & m) ^ b
//! ```
//!
//! No bit is in both halves, so that it does not matter whether they are added by XOR or by OR. Machines that have an
//! operation for a value and the complement of another need three either way, and those with an operation for any function
//! of three values one.
//!
//! Establishes: fewer values are computed than before.

use super::pass::{Form, Pass, Property};
use crate::kernel::{Graph, Loop, NodeId, Op};
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "masked-merge",
    about: "Chooses bits of two values by a mask in three operations",
    requires: &[],
    establishes: &[Property::FewerValues],
    gives_up: &[],
    form: Form::Loop(masked_merge),
};

/// A loop in which masks choose so; `None` where that does not make it shorter.
pub fn masked_merge(body: &Loop) -> Option<Loop> {
    let order = body.needed();
    let mut readers: FxHashMap<NodeId, usize> = FxHashMap::default();
    let operands = order.iter().flat_map(|id| body.graph.op(*id).operands());
    operands.chain(body.roots()).for_each(|id| *readers.entry(id).or_default() += 1);
    let merge = |&id: &NodeId| Some((id, Merge::of(&body.graph, &readers, id)?));
    let merges: FxHashMap<NodeId, Merge> = order.iter().filter_map(merge).collect();
    if merges.is_empty() {
        return None;
    }
    let merged = body.rebuilt(|graph, new, id| match merges.get(&id) {
        Some(Merge { mask, one, zero }) => {
            let [mask, one, zero] = [mask, one, zero].map(|id| new[id]);
            let differ = graph.xor(one, zero);
            let chosen = graph.and(differ, mask);
            Some(graph.xor(chosen, zero))
        }
        None => graph.copy(&body.graph, id, new),
    })?;
    (merged.needed().len() < order.len()).then_some(merged)
}

/// A value that has the bits of `one` where the mask is 1, and elsewhere those of `zero`.
struct Merge {
    mask: NodeId,
    one: NodeId,
    zero: NodeId,
}

impl Merge {
    /// What a node chooses, if nothing else reads its halves.
    fn of(graph: &Graph, readers: &FxHashMap<NodeId, usize>, id: NodeId) -> Option<Merge> {
        let (Op::Xor(left, right) | Op::Or(left, right)) = *graph.op(id) else { return None };
        let halves = [left, right].map(|half| match *graph.op(half) {
            Op::And(a, b) if readers.get(&half) == Some(&1) => Some([a, b]),
            _ => None,
        });
        let [Some(left), Some(right)] = halves else { return None };
        [(left, right), (right, left)].into_iter().find_map(|(masked, others)| {
            let others = [others, [others[1], others[0]]];
            others.into_iter().find_map(|[complement, zero]| {
                let Op::Not(mask) = *graph.op(complement) else { return None };
                let at = masked.iter().position(|&id| id == mask)?;
                Some(Merge { mask, one: masked[1 - at], zero })
            })
        })
    }
}
