//! Pipelining: a task in stages, of which each works on another block, so that one begins in every clock cycle.
//!
//! The rounds are all there, one behind the other, and registers cut them into so many stages. The least levels of logic that a
//! stage can have are looked for first; among the ways to cut that leave no stage more than that, the one with fewer bits in
//! registers is taken: values as early as they can be computed, or as late. What a task reads of variables goes along with the
//! block, so that a new key may come in while blocks with the old one are under way.

use super::estimate::levels;
use super::plan::{Place, Plan};
use super::runs::{is_source, is_wire};
use headrace_kernel::{Graph, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Values in the order of their operands, with the values that each needs, through wires, and the bits that it needs of them.
struct Flow<'g> {
    graph: &'g Graph,
    nodes: Vec<NodeId>,
    needs: FxHashMap<NodeId, Vec<NodeId>>,
    /// What the next block needs, and what that is made of: it is in the first stage.
    first: FxHashSet<NodeId>,
}

/// The stage of each value.
type Stages = FxHashMap<NodeId, u32>;

impl Plan {
    /// The plan for these values in so many stages, at most; as many as have any logic. Those that are `kept` for the next block
    /// are computed in the first.
    pub(crate) fn pipelined(graph: &Graph, roots: &[NodeId], kept: &[NodeId], stages: u32) -> Plan {
        let flow = Flow::of(graph, roots, kept);
        let longest =
            flow.nodes.iter().map(|&id| levels(graph, id)).max().unwrap_or(0).max(flow.levels_of_first()).max(1);
        let whole: u32 = flow.nodes.iter().map(|&id| levels(graph, id)).sum();
        // A cut that fits stays one where a stage may have more levels.
        let (mut low, mut high) = (longest, whole.max(longest));
        while low < high {
            let middle = low.midpoint(high);
            if last(&flow.early(middle)) < stages { high = middle } else { low = middle + 1 }
        }
        let early = flow.early(low);
        let late = flow.late(low, last(&early));
        let of_stages = if flow.registers(roots, &late) < flow.registers(roots, &early) { late } else { early };
        let last = last(&of_stages);
        let place = of_stages.iter().map(|(&id, &stage)| (id, Place::Single(stage))).collect();
        Plan { place, singles: flow.nodes, last, depth: low, is_pipelined: true, ..Plan::default() }
    }
}

fn last(stages: &Stages) -> u32 {
    stages.values().copied().max().unwrap_or(0)
}

impl<'g> Flow<'g> {
    fn of(graph: &'g Graph, roots: &[NodeId], kept: &[NodeId]) -> Self {
        let all = graph.reachable(roots.iter().copied());
        let computes = |id: &NodeId| !is_source(graph, *id) && !is_wire(graph.op(*id));
        let nodes: Vec<NodeId> = all.into_iter().filter(computes).collect();
        let needs = nodes.iter().map(|&id| {
            let mut found = Vec::new();
            graph.op(id).operands().into_iter().for_each(|operand| through_wires(graph, operand, &mut found));
            found.sort_unstable();
            found.dedup();
            (id, found)
        });
        let first = graph.reachable(kept.iter().copied()).into_iter().filter(computes).collect();
        Self { graph, needs: needs.collect(), nodes, first }
    }

    /// Levels of what must be in the first stage.
    fn levels_of_first(&self) -> u32 {
        let mut depth: FxHashMap<NodeId, u32> = FxHashMap::default();
        for id in self.nodes.iter().filter(|id| self.first.contains(id)) {
            let below = self.needs[id].iter().filter_map(|need| depth.get(need)).max().copied().unwrap_or(0);
            depth.insert(*id, below + levels(self.graph, *id));
        }
        depth.into_values().max().unwrap_or(0)
    }

    /// Each value as early as it can be, in stages of so many levels.
    fn early(&self, levels_of_stage: u32) -> Stages {
        let mut at: FxHashMap<NodeId, (u32, u32)> = FxHashMap::default();
        for &id in &self.nodes {
            let (stage, depth) =
                self.needs[&id].iter().filter_map(|need| at.get(need)).max().copied().unwrap_or((0, 0));
            let own = levels(self.graph, id);
            let fits = depth + own <= levels_of_stage;
            at.insert(id, if fits { (stage, depth + own) } else { (stage + 1, own) });
        }
        at.into_iter().map(|(id, (stage, _))| (id, stage)).collect()
    }

    /// Each value as late as it can be, in stages of so many levels up to this last one.
    fn late(&self, levels_of_stage: u32, last: u32) -> Stages {
        let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for (&id, needs) in &self.needs {
            needs.iter().for_each(|&need| users.entry(need).or_default().push(id));
        }
        // Stages from the end, with the levels from the value to the end of its stage, its own among them.
        let mut at: FxHashMap<NodeId, (u32, u32)> = FxHashMap::default();
        for &id in self.nodes.iter().rev() {
            let users = users.get(&id).into_iter().flatten();
            let (stage, depth) = users.filter_map(|user| at.get(user)).max().copied().unwrap_or((0, 0));
            let own = levels(self.graph, id);
            if self.first.contains(&id) {
                at.insert(id, (last, if stage == last { depth + own } else { own }));
                continue;
            }
            let fits = depth + own <= levels_of_stage;
            at.insert(id, if fits { (stage, depth + own) } else { (stage + 1, own) });
        }
        at.into_iter().map(|(id, (stage, _))| (id, last.saturating_sub(stage))).collect()
    }

    /// Bits between stages.
    fn registers(&self, roots: &[NodeId], stages: &Stages) -> u64 {
        let of = |id: &NodeId| stages.get(id).copied().unwrap_or(0);
        let mut until: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut note = |id: NodeId, stage: u32| {
            let known = until.entry(id).or_default();
            *known = (*known).max(stage);
        };
        for (id, needs) in &self.needs {
            needs.iter().for_each(|&need| note(need, of(id)));
        }
        let end = last(stages);
        let mut given = Vec::new();
        roots.iter().for_each(|&root| through_wires(self.graph, root, &mut given));
        given.into_iter().for_each(|id| note(id, end));
        until.iter().map(|(id, &stage)| u64::from(stage - of(id)) * u64::from(self.graph.width(*id))).sum()
    }
}

/// The values that one is made of, through wires, but for constants.
fn through_wires(graph: &Graph, id: NodeId, found: &mut Vec<NodeId>) {
    if is_wire(graph.op(id)) {
        graph.op(id).operands().into_iter().for_each(|operand| through_wires(graph, operand, found));
    } else if graph.constant(id).is_none() {
        found.push(id);
    }
}
