//! Early decisions: what is known a cycle before it is decided by is computed then, and kept as a bit.
//!
//! A condition on variables, such as that a round is the last, lies in front of everything that happens or does not; all of a state
//! waits for it. Its value in the next cycle follows from what tasks store in this one, so each of them stores it, too (the
//! condition is retimed over the registers of its variables).

use super::plan::Plan;
use super::region::{Region, Tree};
use headrace_kernel::{NodeId, Object, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bits of variables that a condition may look at and stay where it is: so many are one LUT with the state beside.
const FEW_BITS: u32 = 2;

impl Region {
    /// Makes bits of conditions on variables, where all that these become is known when a task begins. Plans stay what they are.
    pub(crate) fn decide_early(&mut self, plans: &[Plan]) {
        let mut conditions = self.conditions_of_all();
        conditions.sort_unstable();
        conditions.dedup();
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for condition in conditions {
            if let Some(bit) = self.decided_early(condition, plans) {
                new.insert(condition, bit);
            }
        }
        self.states.iter_mut().for_each(|(tree, _)| tree.substitute(&new));
    }

    /// The bit that says what a condition would; `None` where there is none.
    fn decided_early(&mut self, condition: NodeId, plans: &[Plan]) -> Option<NodeId> {
        let condition = self.without_offset(condition);
        let mut reads: FxHashSet<(ObjectId, usize)> = FxHashSet::default();
        let mut n_bits = 0;
        for id in self.graph.reachable([condition]) {
            match self.graph.op(id) {
                Op::Input { .. } => return None,
                Op::Entry { object, index } => {
                    if self.begins.contains_key(object) {
                        return None;
                    }
                    reads.insert((*object, self.graph.constant(*index)? as usize));
                    n_bits += self.graph.width(id);
                }
                _ => {}
            }
        }
        if n_bits <= FEW_BITS {
            return None;
        }
        let initially: FxHashMap<(ObjectId, usize), NodeId> = (reads.iter())
            .map(|&(object, index)| {
                let value = self.initial[object.0 as usize].get(index).copied().unwrap_or(0);
                ((object, index), self.graph.number(value, self.objects[object.0 as usize].width))
            })
            .collect();
        let initially = self.with_elements(&[condition], &initially)[&condition];
        let initially = self.graph.constant(initially)?;
        let mut stores = Vec::new();
        for (number, plan) in plans.iter().enumerate() {
            let changed: FxHashMap<(ObjectId, usize), NodeId> = (self.tasks[number].stores.iter())
                .filter(|store| reads.contains(&(store.0, store.1)))
                .map(|store| ((store.0, store.1), store.2))
                .collect();
            if changed.is_empty() {
                continue;
            }
            if changed.values().any(|&value| plan.time(&self.graph, value) > 0) {
                return None;
            }
            let value = self.with_elements(&[condition], &changed)[&condition];
            stores.push((number, self.without_offset(value)));
        }
        // Where two tasks that begin together change it, none of them knows what it becomes.
        if self.states.iter().any(|(tree, _)| begin_together(tree, &stores)) {
            return None;
        }
        let object = ObjectId(self.objects.len() as u32);
        self.objects.push(Object { name: "decision".to_owned(), width: 1, length: 1, persistent: true, residue: None });
        self.initial.push(vec![initially]);
        for (number, value) in stores {
            self.tasks[number].stores.push((object, 0, value));
        }
        let index = self.graph.number(0, 32);
        Some(self.graph.entry(object, index, 1))
    }

    /// A condition that compares with less to be computed: x + 1 < 12 is x < 11 where the sum does not wrap.
    fn without_offset(&mut self, condition: NodeId) -> NodeId {
        let graph = &mut self.graph;
        if let Op::Less(zero, x) = *graph.op(condition)
            && graph.constant(zero) == Some(0)
        {
            // More than nothing is not nothing, of a sum: not what would make it nothing.
            let is_zero = match *graph.op(x) {
                Op::Add(x, y) if graph.constant(y).is_some() => {
                    let width = graph.width(x);
                    let offset = graph.constant(y).unwrap_or(0);
                    let other = graph.number(offset.wrapping_neg(), width);
                    graph.equal(x, other)
                }
                _ => {
                    let zero = graph.number(0, graph.width(x));
                    graph.equal(x, zero)
                }
            };
            return graph.not(is_zero);
        }
        let Op::Less(sum, bound) = *graph.op(condition) else { return condition };
        let Op::Add(x, y) = *graph.op(sum) else { return condition };
        let (Some(offset), Some(limit)) = (graph.constant(y), graph.constant(bound)) else { return condition };
        let width = graph.width(x);
        let wraps = graph.bounds(x).1.checked_add(offset).is_none_or(|most| width < 128 && most >> width != 0);
        if wraps || limit < offset {
            return condition;
        }
        let bound = graph.number(limit - offset, graph.width(x));
        graph.less(x, bound)
    }
}

/// Whether several of these tasks begin in one cycle.
fn begin_together(tree: &Tree, tasks: &[(usize, NodeId)]) -> bool {
    let is_one = |task: &usize| tasks.iter().any(|(other, _)| other == task);
    let mut found = false;
    tree.for_each(&mut |tree| {
        if let Tree::Go { task, beside, .. } = tree {
            found |= beside.iter().chain([task]).filter(|task| is_one(task)).count() > 1;
        }
    });
    found
}
