//! Reassociation: sums of several terms are added in the order in which these come, so that what is there a cycle before, as a term
//! that went through registers, a constant, a word of a schedule, is summed a cycle before.
//!
//! A round that adds h, S(e), Ch, K and W in this order waits for S(e) with h, K and W in its hands. Written as (h + K + W) + S(e) +
//! Ch, the first sum needs nothing that the round before has computed, and [`super::plan`] moves it there (retiming).

use super::estimate::levels;
use super::plan::{Place, Plan};
use super::region::{Region, Task};
use super::runs::is_wire;
use headrace_kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Cycles that a term must lie behind the sum to be summed before.
const EARLY: u32 = 2;

/// Sums that take terms in another order: the early ones, then the others.
type Sums = FxHashMap<NodeId, (Vec<NodeId>, Vec<NodeId>)>;

/// How often each value is used.
fn uses(graph: &Graph, roots: &[NodeId]) -> FxHashMap<NodeId, usize> {
    let mut uses: FxHashMap<NodeId, usize> = FxHashMap::default();
    roots.iter().for_each(|&root| *uses.entry(root).or_default() += 2);
    for id in graph.reachable(roots.iter().copied()) {
        graph.op(id).operands().into_iter().for_each(|operand| *uses.entry(operand).or_default() += 1);
    }
    uses
}

/// The terms of a sum, with how deep each of them stands; sums that are part of it are taken apart.
fn terms(graph: &Graph, is_part: &dyn Fn(NodeId) -> bool, id: NodeId, depth: usize, found: &mut Vec<(usize, NodeId)>) {
    for operand in graph.op(id).operands() {
        let is_sum = matches!(graph.op(operand), Op::Add(..)) && graph.width(operand) == graph.width(id);
        if is_sum && is_part(operand) {
            terms(graph, is_part, operand, depth + 1, found);
        } else {
            found.push((depth, operand));
        }
    }
}

/// Sums that are terms of a sum and of nothing else, and so on.
fn parts_of(graph: &Graph, uses: &FxHashMap<NodeId, usize>, id: NodeId, found: &mut Vec<NodeId>) {
    for operand in graph.op(id).operands() {
        if matches!(graph.op(operand), Op::Add(..)) && uses[&operand] == 1 {
            found.push(operand);
            parts_of(graph, uses, operand, found);
        }
    }
}

/// The class of the operator that computes a value, through wires.
fn classes(graph: &Graph, plan: &Plan, id: NodeId, found: &mut FxHashSet<usize>) {
    match plan.place.get(&id) {
        Some(Place::Instance(class, _)) => {
            found.insert(*class);
        }
        _ if is_wire(graph.op(id)) => {
            graph.op(id).operands().into_iter().for_each(|operand| classes(graph, plan, operand, found));
        }
        _ => {}
    }
}

/// Levels of logic behind each value in the cycle in which it is computed.
fn levels_behind(graph: &Graph, plan: &Plan, roots: &[NodeId]) -> FxHashMap<NodeId, u32> {
    let mut behind: FxHashMap<NodeId, u32> = FxHashMap::default();
    for id in graph.reachable(roots.iter().copied()).into_iter().rev() {
        let own = behind.get(&id).copied().unwrap_or(0) + levels(graph, id);
        let time = plan.time(graph, id);
        for operand in graph.op(id).operands().into_iter().filter(|&operand| plan.time(graph, operand) == time) {
            let known = behind.entry(operand).or_default();
            *known = (*known).max(own);
        }
        behind.entry(id).or_default();
    }
    behind
}

/// Sums of rounds whose terms come in different cycles.
fn sums(graph: &Graph, plan: &Plan, roots: &[NodeId]) -> Sums {
    let uses = uses(graph, roots);
    let is_inner = |id: NodeId| uses.get(&id) == Some(&1);
    let mut sums = Sums::default();
    // A sum that is a term of another one is part of that.
    let mut parts: FxHashSet<NodeId> = FxHashSet::default();
    for id in graph.reachable(roots.iter().copied()).into_iter().filter(|&id| matches!(graph.op(id), Op::Add(..))) {
        let same_width = |operand: &NodeId| graph.width(*operand) == graph.width(id);
        parts.extend(graph.op(id).operands().into_iter().filter(same_width).filter(|&operand| is_inner(operand)));
    }
    let behind = levels_behind(graph, plan, roots);
    for class in plan.classes.iter().filter(|class| matches!(graph.op(class.nodes[0]), Op::Add(..))) {
        let middle = class.nodes[class.nodes.len() / 2];
        let is_critical = plan.depths.get(&middle).zip(behind.get(&middle)).is_some_and(|(a, b)| a + b >= plan.depth);
        if parts.contains(&middle) || !is_critical {
            continue;
        }
        // What is taken apart in one iteration is so in all: operators, whatever uses their values have.
        let mut own_parts = Vec::new();
        parts_of(graph, &uses, middle, &mut own_parts);
        let mut inner = FxHashSet::default();
        own_parts.iter().for_each(|&id| classes(graph, plan, id, &mut inner));
        let is_part = |id: NodeId| {
            let mut own = FxHashSet::default();
            classes(graph, plan, id, &mut own);
            uses[&id] == 1 && !own.is_disjoint(&inner)
        };
        let mut found = Vec::new();
        terms(graph, &is_part, middle, 0, &mut found);
        let time = plan.time(graph, middle);
        let is_late = |id: NodeId| plan.time(graph, id) + EARLY > time && graph.constant(id).is_none();
        let n_late = found.iter().filter(|(_, id)| is_late(*id)).count();
        if n_late == 0 || found.len() < n_late + 2 {
            continue;
        }
        // Operators whose values are late in all iterations.
        let mut late = FxHashSet::default();
        found.iter().filter(|(_, id)| is_late(*id)).for_each(|(_, id)| classes(graph, plan, *id, &mut late));
        let mut early = FxHashSet::default();
        found.iter().filter(|(_, id)| !is_late(*id)).for_each(|(_, id)| classes(graph, plan, *id, &mut early));
        if !late.is_disjoint(&early) {
            continue;
        }
        for &id in &class.nodes {
            let mut found = Vec::new();
            terms(graph, &is_part, id, 0, &mut found);
            // The deepest first, as they were added.
            found.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
            let is_late = |id: NodeId| {
                let mut own = FxHashSet::default();
                classes(graph, plan, id, &mut own);
                !own.is_disjoint(&late)
            };
            let all = found.into_iter().map(|(_, id)| id);
            let (behind, before): (Vec<NodeId>, Vec<NodeId>) = all.partition(|&id| is_late(id));
            if before.len() >= 2 && !behind.is_empty() {
                sums.insert(id, (before, behind));
            }
        }
    }
    sums
}

impl Region {
    /// The region with sums in the order in which their terms come; `None` where they stand in it.
    pub(crate) fn reassociated(&self, plans: &[Plan]) -> Option<Region> {
        let mut all = Sums::default();
        for (task, plan) in self.tasks.iter().zip(plans).filter(|(_, plan)| plan.last > 0) {
            all.extend(sums(&self.graph, plan, &task.roots()));
        }
        if all.is_empty() {
            return None;
        }
        let mut region = Region { graph: Graph::with_tables_of(&self.graph), ..self.clone() };
        let graph = &mut region.graph;
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        for id in self.graph.reachable(roots) {
            let value = match all.get(&id) {
                Some((before, behind)) => {
                    let terms = before.iter().chain(behind).map(|term| new[term]);
                    terms.collect::<Vec<_>>().into_iter().reduce(|sum, term| graph.sum(sum, term))?
                }
                None => {
                    let op = self.graph.op(id);
                    let operands: Vec<NodeId> = op.operands().into_iter().map(|operand| new[&operand]).collect();
                    graph.rebuild(op, self.graph.width(id), &operands)
                }
            };
            new.insert(id, value);
        }
        region.substitute(&new);
        Some(region)
    }
}
