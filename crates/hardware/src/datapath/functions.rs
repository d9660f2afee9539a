//! Technology mapping ahead of folding: bitwise functions that differ from round to round become one look-up table that a number
//! chooses from. Rounds that differ only in the formulas of their S-boxes on words are alike then, and one operator does them all.
//!
//! Words on which formulas work bit by bit are S-boxes side by side, one for each bit. Such formulas are found as in a mapper for
//! FPGAs, by cuts of few inputs (Cong and Ding, "FlowMap", 1994; Mishchenko, Chatterjee and Brayton, "Improvements to technology
//! mapping for LUT-based FPGAs", 2007): a cone is all that is computed of the same few words and nothing else. Cones of as many
//! inputs and outputs are functions of one table, whose index is the number of the function, a constant of the round, and a bit of
//! each word.

use super::region::{Region, Task};
use headrace_kernel::{Graph, NodeId, Op, Table, TableId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Words that a function has as inputs, at least and at most.
const INPUTS: [usize; 2] = [3, 4];

/// Words that it gives, at most.
const MOST_OUTPUTS: usize = 4;

/// Ands and ors that a cone has, at least: what has fewer is not worth a table.
const LEAST_PRODUCTS: usize = 3;

/// Cuts of a value that are looked at, those of the earliest values first.
const MOST_CUTS: usize = 48;

/// Functions that a table chooses from, at most.
const MOST_FUNCTIONS: usize = 16;

/// Cones that must have the same inputs and outputs in number for a table to be made: there are no rounds below that.
const LEAST_CONES: usize = 6;

/// In which order values are numbered, by which rounds are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// As the network computed them.
    Computed,
    /// Each right before what first needs it: what was computed ahead stands with the round that takes it.
    Asked,
}

impl Sequence {
    pub(crate) const ALL: [Self; 2] = [Self::Computed, Self::Asked];
}

/// What is computed of some words bit by bit.
struct Cone {
    /// The words, in the order in which they were computed.
    inputs: Vec<NodeId>,
    /// What others need of it, in the order in which they do.
    outputs: Vec<NodeId>,
    /// The outputs for all values of a bit of each input (input i is bit i of the position), output i in bit i.
    function: Vec<u128>,
}

impl Cone {
    /// Puts the outputs in the order that makes the function this one; whether there is such an order.
    fn reorder(&mut self, wanted: &[u128]) -> bool {
        let column = |function: &[u128], output: usize| -> Vec<u128> {
            function.iter().map(|value| value >> output & 1).collect()
        };
        let mut left: Vec<usize> = (0..self.outputs.len()).collect();
        let mut order = Vec::new();
        for output in 0..self.outputs.len() {
            let wanted = column(wanted, output);
            let Some(at) = left.iter().position(|&own| column(&self.function, own) == wanted) else { return false };
            order.push(left.remove(at));
        }
        self.outputs = order.iter().map(|&own| self.outputs[own]).collect();
        self.function = wanted.to_vec();
        true
    }
}

impl Region {
    /// The region with tables in the place of bitwise functions that differ, in one of its tasks; `None` where there are none.
    pub(crate) fn with_function_tables(&self, task: usize, sequence: Sequence) -> Option<Region> {
        let roots = self.tasks[task].roots();
        let mut kinds: BTreeMap<(usize, usize), Vec<Cone>> = BTreeMap::new();
        for cone in cones(&self.graph, &roots) {
            kinds.entry((cone.inputs.len(), cone.outputs.len())).or_default().push(cone);
        }
        let mut region = Region { graph: Graph::with_tables_of(&self.graph), ..self.clone() };
        // For each output its cone, by the first input: table, number of the function, cone.
        let mut chosen: Vec<(TableId, u128, u32, Cone)> = Vec::new();
        for cones in kinds.into_values().filter(|cones| cones.len() >= LEAST_CONES) {
            // The first cone of a function says in which order its outputs are.
            let mut functions: Vec<Vec<u128>> = Vec::new();
            let mut cones = cones;
            cones.sort_by_key(|cone| cone.inputs[0]);
            for cone in &mut cones {
                if !functions.iter().any(|function| cone.reorder(function)) {
                    functions.push(cone.function.clone());
                }
            }
            if !(2..=MOST_FUNCTIONS).contains(&functions.len()) {
                continue;
            }
            let width = cones[0].outputs.len() as u32;
            let name = "functions".to_owned();
            let number_bits = usize::BITS - (functions.len() - 1).leading_zeros();
            let table = region.graph.add_table(Table { name, width, elements: functions.concat().into() });
            for cone in cones {
                let number = functions.iter().position(|function| *function == cone.function).unwrap_or(0);
                chosen.push((table, number as u128, number_bits, cone));
            }
        }
        if chosen.is_empty() {
            return None;
        }
        let of_output: FxHashMap<NodeId, usize> = (chosen.iter().enumerate())
            .flat_map(|(at, one)| one.3.outputs.iter().map(move |&output| (output, at)))
            .collect();
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let all = match sequence {
            Sequence::Computed => self.graph.reachable(roots),
            Sequence::Asked => as_asked(&self.graph, &roots, |id| {
                of_output
                    .get(&id)
                    .map_or_else(|| self.graph.op(id).operands().to_vec(), |at| chosen[*at].3.inputs.clone())
            }),
        };
        for id in all {
            if new.contains_key(&id) {
                continue;
            }
            let Some((table, number, number_bits, cone)) = of_output.get(&id).map(|at| &chosen[*at]) else {
                let copied = region.graph.copy(&self.graph, id, &new)?;
                new.insert(id, copied);
                continue;
            };
            let inputs: Option<Vec<NodeId>> = cone.inputs.iter().map(|input| new.get(input).copied()).collect();
            let inputs = inputs?;
            let graph = &mut region.graph;
            let number = graph.number(*number, *number_bits);
            // The words of the outputs, from their top bits.
            let mut words: Vec<Vec<NodeId>> = vec![Vec::new(); cone.outputs.len()];
            for at in (0..self.graph.width(id)).rev() {
                let mut index = vec![number];
                index.extend(inputs.iter().rev().map(|&input| bit(graph, input, at)));
                let index = graph.concat(&index);
                let found = graph.lookup(*table, index);
                words.iter_mut().enumerate().for_each(|(lo, word)| word.push(graph.extract(found, lo as u32, 1)));
            }
            for (&output, word) in cone.outputs.iter().zip(&words) {
                let word = region.graph.concat(word);
                new.insert(output, word);
            }
        }
        let mut changed = self.tasks[task].clone();
        changed.outputs.iter_mut().for_each(|one| one.2 = new[&one.2]);
        changed.stores.iter_mut().for_each(|one| one.2 = new[&one.2]);
        // All others stay as they are.
        let mut same: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        for id in self.graph.reachable(roots) {
            let copied = region.graph.copy(&self.graph, id, &same)?;
            same.insert(id, copied);
        }
        region.substitute(&same);
        region.tasks[task] = changed;
        Some(region)
    }
}

/// These values and all that they need, each behind what it needs and no sooner.
fn as_asked(graph: &Graph, roots: &[NodeId], needs: impl Fn(NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
    let mut met: FxHashSet<NodeId> = FxHashSet::default();
    let mut all = Vec::new();
    for &root in roots {
        let mut open = vec![(root, false)];
        while let Some((id, is_done)) = open.pop() {
            if is_done {
                all.push(id);
            } else if met.insert(id) {
                open.push((id, true));
                // What was computed last stands with the rounds that came before.
                let mut needed = needs(id);
                needed.sort_unstable();
                open.extend(needed.into_iter().map(|need| (need, false)));
            }
        }
    }
    debug_assert!(all.len() <= graph.reachable(roots.iter().copied()).len(), "cones only leave values out");
    all
}

/// A bit of a value, looked for through wires; what is computed as a whole stays whole.
fn bit(graph: &mut Graph, id: NodeId, at: u32) -> NodeId {
    match graph.op(id).clone() {
        Op::Extract(of, lo) => bit(graph, of, lo + at),
        Op::Concat(parts) => {
            // The last part has the lowest bits.
            let mut below = 0;
            for part in parts.iter().rev() {
                let width = graph.width(*part);
                if at < below + width {
                    return bit(graph, *part, at - below);
                }
                below += width;
            }
            graph.extract(id, at, 1)
        }
        Op::Not(_) | Op::And(..) | Op::Or(..) | Op::Xor(..) if graph.width(id) > 1 => graph.add(Op::Extract(id, at), 1),
        _ => graph.extract(id, at, 1),
    }
}

/// Whether a value is computed bit by bit, of values that are no constants.
fn is_bitwise(graph: &Graph, id: NodeId) -> bool {
    matches!(graph.op(id), Op::Not(_) | Op::And(..) | Op::Or(..) | Op::Xor(..))
        && graph.width(id) > 1
        && graph.op(id).operands().into_iter().all(|operand| graph.constant(operand).is_none())
}

/// The cones of these values and of what they need, largest first, which have no value in common.
fn cones(graph: &Graph, roots: &[NodeId]) -> Vec<Cone> {
    let nodes = graph.reachable(roots.iter().copied());
    let mut cuts: FxHashMap<NodeId, Vec<Vec<NodeId>>> = FxHashMap::default();
    let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    let mut members: BTreeMap<Vec<NodeId>, Vec<NodeId>> = BTreeMap::new();
    for &id in &nodes {
        graph.op(id).operands().into_iter().for_each(|operand| users.entry(operand).or_default().push(id));
        let mut own = if is_bitwise(graph, id) { cuts_of(graph, id, &cuts) } else { Vec::new() };
        for cut in own.iter().filter(|cut| (INPUTS[0]..=INPUTS[1]).contains(&cut.len())) {
            members.entry(cut.clone()).or_default().push(id);
        }
        own.push(vec![id]);
        cuts.insert(id, own);
    }
    let is_product = |id: &NodeId| matches!(graph.op(*id), Op::And(..) | Op::Or(..));
    let whole = |(inputs, members): (Vec<NodeId>, Vec<NodeId>)| {
        let members = between(graph, &inputs, members);
        (inputs, members)
    };
    let mut candidates: Vec<(Vec<NodeId>, Vec<NodeId>)> = members.into_iter().map(whole).collect();
    candidates.retain(|(_, members)| members.iter().filter(|id| is_product(id)).count() >= LEAST_PRODUCTS);
    candidates.sort_by_key(|(_, members)| std::cmp::Reverse(members.len()));
    let roots: FxHashSet<NodeId> = roots.iter().copied().collect();
    let mut taken: FxHashSet<NodeId> = FxHashSet::default();
    let mut found = Vec::new();
    for (inputs, members) in candidates {
        if members.iter().any(|id| taken.contains(id)) {
            continue;
        }
        // Outputs with who needs them first.
        let mut outputs: Vec<(NodeId, NodeId)> = Vec::new();
        // Sums of inputs that others need, too, are theirs.
        let mut sums: FxHashSet<NodeId> = inputs.iter().copied().collect();
        for &id in &members {
            if matches!(graph.op(id), Op::Not(_) | Op::Xor(..))
                && graph.op(id).operands().iter().all(|operand| sums.contains(operand))
            {
                sums.insert(id);
                continue;
            }
            let outside = users.get(&id).into_iter().flatten().copied().filter(|user| !members.contains(user)).min();
            if let Some(user) = outside.or(roots.contains(&id).then_some(NodeId(u32::MAX))) {
                outputs.push((user, id));
            }
        }
        outputs.sort_unstable();
        let outputs: Vec<NodeId> = outputs.into_iter().map(|output| output.1).collect();
        // All inputs are there before an output, so that none is made of one.
        let is_in_order = inputs.iter().max() < outputs.iter().min();
        if !is_in_order || !(1..=MOST_OUTPUTS).contains(&outputs.len()) {
            continue;
        }
        let function = function(graph, &inputs, &members, &outputs);
        taken.extend(&members);
        found.push(Cone { inputs, outputs, function });
    }
    found
}

/// These values and what they need that is made of the inputs, in order.
fn between(graph: &Graph, inputs: &[NodeId], ends: Vec<NodeId>) -> Vec<NodeId> {
    let mut found: FxHashSet<NodeId> = ends.iter().copied().collect();
    let mut open = ends;
    while let Some(id) = open.pop() {
        let operands = graph.op(id).operands().into_iter();
        open.extend(operands.filter(|operand| !inputs.contains(operand) && found.insert(*operand)));
    }
    let mut all: Vec<NodeId> = found.into_iter().collect();
    all.sort_unstable();
    all
}

/// Cuts of a value of those of its operands: sets of values, in order, of which it is made.
fn cuts_of(graph: &Graph, id: NodeId, cuts: &FxHashMap<NodeId, Vec<Vec<NodeId>>>) -> Vec<Vec<NodeId>> {
    let mut own = vec![Vec::new()];
    for operand in graph.op(id).operands() {
        let with = |one: &Vec<NodeId>| {
            let below = cuts.get(&operand).into_iter().flatten();
            let merged = below.map(|other| merged(one, other)).filter(|cut| cut.len() <= INPUTS[1]);
            merged.collect::<Vec<_>>()
        };
        own = own.iter().flat_map(with).collect();
        own.sort_unstable();
        own.dedup();
    }
    // Those of the earliest values reach furthest.
    own.sort_by_key(|cut| cut.last().copied());
    own.truncate(MOST_CUTS);
    own
}

fn merged(one: &[NodeId], other: &[NodeId]) -> Vec<NodeId> {
    let mut both: Vec<NodeId> = one.iter().chain(other).copied().collect();
    both.sort_unstable();
    both.dedup();
    both
}

/// The truth table of outputs of a cone, as [`Cone::function`].
fn function(graph: &Graph, inputs: &[NodeId], members: &[NodeId], outputs: &[NodeId]) -> Vec<u128> {
    let n_rows = 1u32 << inputs.len();
    let all = (1u32 << n_rows) - 1;
    // Each value as the bits that it has for all values of the inputs.
    let mut rows: FxHashMap<NodeId, u32> = FxHashMap::default();
    for (at, &input) in inputs.iter().enumerate() {
        rows.insert(input, (0..n_rows).filter(|row| row >> at & 1 == 1).map(|row| 1 << row).sum());
    }
    for &id in members {
        let of = |id: NodeId| rows.get(&id).copied().unwrap_or(0);
        let row = match *graph.op(id) {
            Op::Not(a) => !of(a) & all,
            Op::And(a, b) => of(a) & of(b),
            Op::Or(a, b) => of(a) | of(b),
            Op::Xor(a, b) => of(a) ^ of(b),
            _ => 0,
        };
        rows.insert(id, row);
    }
    let value = |row: u32| outputs.iter().enumerate().map(|(at, id)| u128::from(rows[id] >> row & 1) << at).sum();
    (0..n_rows).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cone_is_found_between_what_is_linear_and_its_function_is_right() {
        let mut graph = Graph::new();
        let keys: Vec<NodeId> = (0..8).map(|at| graph.input(0, at, 32)).collect();
        let x: Vec<NodeId> = (0..4).map(|at| graph.xor(keys[at], keys[at + 4])).collect();
        let t = graph.and(x[0], x[1]);
        let a = graph.xor(t, x[2]);
        let t = graph.or(a, x[3]);
        let b = graph.xor(t, x[1]);
        let t = graph.and(b, x[2]);
        let c = graph.not(t);
        let (first, turned) = (graph.rotate_left_by(a, 3), graph.rotate_left_by(c, 5));
        let last = graph.xor(first, turned);
        let found = cones(&graph, &[last, b]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].inputs, x);
        assert_eq!(found[0].outputs, [a, c, b]);
        for (row, value) in found[0].function.iter().enumerate() {
            let bit = |at: usize| row as u128 >> at & 1;
            let a = bit(0) & bit(1) ^ bit(2);
            let b = (a | bit(3)) ^ bit(1);
            let c = 1 ^ b & bit(2);
            assert_eq!(*value, a | c << 1 | b << 2);
        }
    }
}
