//! Resource sharing: operators that several tasks use, with operands that are chosen by which of them begins.
//!
//! A ring that a state goes round is one task that takes the state in and does a round, and one that does a round with what is there.
//! Both store the same elements, and what they store is computed alike: values are held against each other from there on towards their
//! operands, and where these differ, one is chosen. The first task then is the other one behind a choice of its input.

use super::estimate::weight;
use super::plan::Plan;
use super::region::{Region, Task};
use super::runs::{is_source, parameter};
use headrace_kernel::{Graph, NodeId, Object, ObjectId, Op};
use rustc_hash::FxHashMap;

/// The region with operators shared where that is worth it, among tasks that take one cycle; their plans change with it.
pub(crate) fn shared(mut region: Region, plans: &mut [Plan]) -> Region {
    for b in 1..region.tasks.len() {
        for a in 0..b {
            if plans[a].last > 0 || plans[b].last > 0 {
                continue;
            }
            if let Some(with) = together(&region, a, b) {
                region = with;
                for task in [a, b] {
                    let roots = region.tasks[task].roots();
                    plans[task] = Plan::of(&mut region.graph, &roots, 0);
                }
            }
        }
    }
    region
}

/// The region in which two tasks share what they compute alike; `None` where they share too little.
fn together(region: &Region, a: usize, b: usize) -> Option<Region> {
    let (one, other) = (&region.tasks[a], &region.tasks[b]);
    let stores = one.stores.iter().enumerate().filter_map(|(at, store)| {
        let found = other.stores.iter().position(|other| (other.0, other.1) == (store.0, store.1));
        found.map(|found| (at, found))
    });
    let stores: Vec<(usize, usize)> = stores.collect();
    let outputs = one.outputs.iter().enumerate().filter_map(|(at, output)| {
        let found = other.outputs.iter().position(|other| (other.0, other.1) == (output.0, output.1));
        found.map(|found| (at, found))
    });
    let outputs: Vec<(usize, usize)> = outputs.collect();
    if stores.is_empty() && outputs.is_empty() {
        return None;
    }
    let mut new = region.clone();
    let begins = ObjectId(new.objects.len() as u32);
    let name = format!("t{b}_begins");
    new.objects.push(Object { name, width: 1, length: 1, persistent: false, residue: None });
    new.initial.push(Vec::new());
    new.begins.insert(begins, b);
    let zero = new.graph.number(0, 32);
    let begins = new.graph.entry(begins, zero, 1);
    let mut merger = Merger { graph: &mut new.graph, begins, known: FxHashMap::default() };
    for (x, y) in stores {
        let value = merger.merged(one.stores[x].2, other.stores[y].2);
        new.tasks[a].stores[x].2 = value;
        new.tasks[b].stores[y].2 = value;
    }
    for (x, y) in outputs {
        let value = merger.merged(one.outputs[x].2, other.outputs[y].2);
        new.tasks[a].outputs[x].2 = value;
        new.tasks[b].outputs[y].2 = value;
    }
    let area = |graph: &Graph, tasks: &[Task]| -> u64 {
        let roots = tasks[a].roots().into_iter().chain(tasks[b].roots());
        graph.reachable(roots).into_iter().map(|id| weight(graph, id)).sum()
    };
    let (before, after) = (area(&region.graph, &region.tasks), area(&new.graph, &new.tasks));
    // What is chosen lies in the way of the signal, so a little is not worth it.
    (after * 10 < before * 9).then_some(new)
}

struct Merger<'g> {
    graph: &'g mut Graph,
    /// Whether the second task begins, and not the first.
    begins: NodeId,
    known: FxHashMap<(NodeId, NodeId), NodeId>,
}

impl Merger<'_> {
    /// What is the first value for the first task, and the second for the second.
    fn merged(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return a;
        }
        if let Some(&known) = self.known.get(&(a, b)) {
            return known;
        }
        let (x, y) = (self.graph.node(a).clone(), self.graph.node(b).clone());
        let operands = |op: &Op| op.operands().to_vec();
        let (of_x, mut of_y) = (operands(&x.op), operands(&y.op));
        let widths = |graph: &Graph, all: &[NodeId]| all.iter().map(|&id| graph.width(id)).collect::<Vec<_>>();
        let is_alike = std::mem::discriminant(&x.op) == std::mem::discriminant(&y.op)
            && x.width == y.width
            && parameter(&x.op) == parameter(&y.op)
            && !is_source(self.graph, a)
            && !is_source(self.graph, b)
            && widths(self.graph, &of_x) == widths(self.graph, &of_y);
        let value = if is_alike {
            if x.op.commutes()
                && self.fits(of_x[0], of_y[1], DEEP) + self.fits(of_x[1], of_y[0], DEEP)
                    > self.fits(of_x[0], of_y[0], DEEP) + self.fits(of_x[1], of_y[1], DEEP)
            {
                of_y.swap(0, 1);
            }
            let all: Vec<NodeId> = of_x.iter().zip(&of_y).map(|(&x, &y)| self.merged(x, y)).collect();
            self.graph.rebuild(&x.op, x.width, &all)
        } else {
            self.graph.select(self.begins, b, a)
        };
        self.known.insert((a, b), value);
        value
    }

    /// How far two values are computed alike.
    fn fits(&self, a: NodeId, b: NodeId, depth: u32) -> u32 {
        if a == b {
            return 1 << depth;
        }
        let (x, y) = (self.graph.op(a), self.graph.op(b));
        if std::mem::discriminant(x) != std::mem::discriminant(y) || self.graph.width(a) != self.graph.width(b) {
            return 0;
        }
        if depth == 0 || is_source(self.graph, a) {
            return 1;
        }
        let pairs = x.operands().to_vec().into_iter().zip(y.operands().to_vec());
        1 + pairs.map(|(a, b)| self.fits(a, b, depth - 1)).sum::<u32>()
    }
}

/// Operands of operands that are looked at to tell which operands belong together.
const DEEP: u32 = 3;
