//! Interleaving of independent iterations to hide latency. Whether iterations of one lane are done side by side: a
//! chain of operations that wait for each other leaves most of a machine idle, which another chain beside it can use as
//! long as both stay in registers.

use super::Printer;
use headrace_scheduling::pressure::most_held;
use headrace_transform::kernel::{NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Iterations side by side.
pub(super) const TOGETHER: u64 = 2;

/// Operations of all iterations that stay in the instruction cache.
const MOST_OPERATIONS: usize = 5000;

/// Registers that are left for what no iteration changes, and for what is on its way.
const OTHER_REGISTERS: usize = 4;

impl Printer<'_> {
    /// Iterations that a lane does at once.
    pub(super) fn together(&self) -> u32 {
        let iterations = |words: &super::WordLoop| {
            words.body.consumes.iter().chain(&words.body.produces).map(|port| port.0).sum::<u64>()
        };
        (iterations(self.words) / iterations(self.frame).max(1)).max(1) as u32
    }

    /// What is computed, node by node of the first iteration and of the others in turn.
    pub(super) fn side_by_side(&self) -> Vec<NodeId> {
        let (graph, n) = (&self.words.graph, u64::from(self.together()));
        let is_first = |port: u32, word: u64| word < self.words.outputs[port as usize].words(self.words.bits) / n;
        let written = self.words.written.iter().zip(&self.values);
        let of_first = written.filter(|((port, word, _), _)| is_first(*port, *word)).map(|(_, &value)| value);
        let known: FxHashSet<NodeId> = graph.reachable(of_first).into_iter().collect();
        let all = if self.is_deep { self.depth_first() } else { self.reachable() };
        let (first, others): (Vec<NodeId>, Vec<NodeId>) = all.into_iter().partition(|id| known.contains(id));
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut order = Vec::new();
        let in_turn = (0..first.len().max(others.len())).flat_map(|at| [first.get(at), others.get(at)]).flatten();
        for &id in in_turn {
            let needed = graph.reachable_but([id], |id| seen.contains(&id));
            seen.extend(&needed);
            order.extend(needed);
        }
        order
    }

    /// Whether one iteration a lane waits for itself, and two have room.
    pub(super) fn waits(&self) -> bool {
        let graph = &self.words.graph;
        let varying = |id: &NodeId| self.words.varying.contains(id);
        let order: Vec<NodeId> = self.reachable().into_iter().filter(varying).collect();
        let is_free = |id: NodeId| matches!(graph.op(id), Op::Input { .. } | Op::Extract(_, 0));
        let operations = order.iter().filter(|&&id| !is_free(id)).count();
        let mut depths: FxHashMap<NodeId, usize> = FxHashMap::default();
        for &id in &order {
            let operands = self.reads(id);
            let below = operands.iter().filter_map(|operand| depths.get(operand)).max().copied().unwrap_or(0);
            depths.insert(id, below + usize::from(!is_free(id)));
        }
        let depth = depths.values().max().copied().unwrap_or(0);
        operations < self.machine.costs.latency.busy.value as usize * depth && self.has_room(&order)
    }

    /// Whether two iterations a lane, computed in this order, stay in registers and in the instruction cache.
    pub(super) fn has_room(&self, order: &[NodeId]) -> bool {
        let graph = &self.words.graph;
        let is_free = |id: NodeId| matches!(graph.op(id), Op::Input { .. } | Op::Extract(_, 0));
        let operations = order.iter().filter(|&&id| !is_free(id)).count();
        let most = most_held(order, &self.values, |id| self.reads(id));
        let registers = if self.machine.ternary { 32 } else { 16 };
        operations * TOGETHER as usize <= MOST_OPERATIONS && most * TOGETHER as usize + OTHER_REGISTERS <= registers
    }
}
