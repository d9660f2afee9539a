//! Complements of single bits as one sum with a constant: rounds are alike again that differ in the constants which they add.
//!
//! Simplification follows the bits of a value that a constant was added to, and leaves a complement of each bit that the constant has
//! set. In each round these are others. Where every bit of a value is read by itself, either always inverted or never, it is a bit of
//! the sum with the constant instead, which a plan takes from a ROM.

use super::region::{Region, Task};
use headrace_kernel::{NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// How the bits of a value are read.
#[derive(Default)]
struct Reads {
    plain: u128,
    inverted: u128,
}

/// Bits of a value that are inverted at least; fewer are cheaper where they are.
const LEAST: u32 = 2;

impl Region {
    /// The region with such sums.
    pub(crate) fn with_whole_complements(mut self) -> Region {
        let roots: Vec<NodeId> = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all()).collect();
        let nodes = self.graph.reachable(roots.iter().copied());
        let bit = |id: NodeId| match self.graph.op(id) {
            Op::Extract(value, lo) if self.graph.width(id) == 1 && self.graph.width(*value) <= 128 => {
                Some((*value, *lo))
            }
            _ => None,
        };
        let mut reads: FxHashMap<NodeId, Reads> = FxHashMap::default();
        // A bit that only complements read is not read itself.
        let mut read_plainly: FxHashSet<NodeId> = roots.iter().copied().collect();
        for &id in &nodes {
            let op = self.graph.op(id);
            if !matches!(op, Op::Not(_)) {
                read_plainly.extend(op.operands());
            }
        }
        for &id in &nodes {
            match self.graph.op(id) {
                Op::Not(inner) if let Some((value, at)) = bit(*inner) => {
                    reads.entry(value).or_default().inverted |= 1 << at;
                }
                _ if let Some((value, at)) = bit(id) => {
                    let reads = reads.entry(value).or_default();
                    reads.plain |= u128::from(read_plainly.contains(&id)) << at;
                }
                _ => {}
            }
        }
        let fits = |value: NodeId, reads: &Reads| {
            let all = u128::MAX >> (128 - self.graph.width(value));
            reads.plain & reads.inverted == 0
                && reads.plain | reads.inverted == all
                && reads.inverted.count_ones() >= LEAST
        };
        reads.retain(|value, reads| fits(*value, reads));
        if reads.is_empty() {
            return self;
        }
        let inverted_bit = |op: &Op| match op {
            Op::Not(inner) => bit(*inner).filter(|(value, _)| reads.contains_key(value)),
            _ => None,
        };
        // Made as they are: simplification would follow the bits again.
        let found: FxHashMap<NodeId, (NodeId, u32)> = nodes
            .iter()
            .filter_map(|&id| {
                let own = bit(id).filter(|(value, _)| reads.contains_key(value));
                Some((id, own.or_else(|| inverted_bit(self.graph.op(id)))?))
            })
            .collect();
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut sums: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in nodes {
            let (op, width) = (self.graph.op(id).clone(), self.graph.width(id));
            let value = if let Some(&(value, at)) = found.get(&id) {
                let bits = self.graph.width(value);
                let sum = *sums.entry(value).or_insert_with(|| {
                    let constant = self.graph.add(Op::Const(reads[&value].inverted), bits);
                    self.graph.add(Op::Xor(new[&value], constant), bits)
                });
                self.graph.add(Op::Extract(sum, at), 1)
            } else {
                let operands: Vec<NodeId> = op.operands().iter().map(|operand| new[operand]).collect();
                self.graph.rebuild(&op, width, &operands)
            };
            new.insert(id, value);
        }
        self.substitute(&new);
        self
    }
}
