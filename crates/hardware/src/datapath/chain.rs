//! Operation chaining of states: tasks that follow each other without waiting for anything are one task.
//!
//! A ring of rounds that another ring goes along with is explored as a state for each step of each of them, though nothing ever
//! waits between the first and the last. What such a task reads is what the one before stores, and so both become one, in whose
//! values rounds are found again.

use super::region::{Region, Task, Tree};
use headrace_kernel::{NodeId, ObjectId, Op};
use rustc_hash::FxHashMap;

impl Region {
    /// The region with such tasks joined; `None` where there are none.
    pub(crate) fn chained(&self) -> Option<Region> {
        let mut region = self.clone();
        let mut joined: FxHashMap<(usize, usize), Option<usize>> = FxHashMap::default();
        for state in 0..region.states.len() {
            let mut tree = region.states[state].0.clone();
            tree.for_each_mut(&mut |tree| match tree {
                Tree::Go { task, target, beside } if beside.is_empty() => region.chain(task, target, &mut joined),
                _ => {}
            });
            region.states[state].0 = tree;
        }
        if joined.values().all(Option::is_none) {
            return None;
        }
        region.without_what_never_happens().into()
    }

    /// The region in which the first round of several is done in the cycle in which a block comes in, behind a choice of what it works
    /// on; `None` where there is none that could. How many rounds there are may be a token of the block: where it says that the first
    /// one is the last, that is done in the next cycle, since what a cycle puts out does not depend on what it takes in.
    pub(crate) fn with_rounds_begun(&self) -> Option<Region> {
        let mut region = self.clone();
        for state in 0..self.states.len() {
            let tree = region.with_round_begun(&self.states[state].0);
            region.states[state].0 = tree;
        }
        (region.tasks.len() > self.tasks.len()).then(|| region.without_what_never_happens())
    }

    fn with_round_begun(&mut self, tree: &Tree) -> Tree {
        match tree {
            Tree::Branch { condition, then, otherwise } => Tree::Branch {
                condition: *condition,
                then: Box::new(self.with_round_begun(then)),
                otherwise: Box::new(self.with_round_begun(otherwise)),
            },
            Tree::Wait(all) => {
                Tree::Wait(all.iter().map(|(port, n, next)| (*port, *n, self.with_round_begun(next))).collect())
            }
            Tree::Go { task, target, beside } if beside.is_empty() && self.takes_and_keeps(*task) => {
                let next = self.states[*target].0.clone();
                self.round_behind(*task, &next, tree).unwrap_or_else(|| tree.clone())
            }
            Tree::Go { .. } | Tree::Else(..) | Tree::End => tree.clone(),
        }
    }

    /// Whether a task takes tokens and puts none out.
    fn takes_and_keeps(&self, task: usize) -> bool {
        let own = &self.tasks[task];
        own.consumes.iter().any(|n| *n > 0) && own.produces.iter().all(|n| *n == 0)
    }

    /// Whether a task moves no tokens, and one that may come behind it does not either.
    fn goes_on(&self, task: usize, target: usize) -> bool {
        let is_silent = |task: usize| {
            let Task { consumes, produces, .. } = &self.tasks[task];
            consumes.iter().chain(produces).all(|n| *n == 0)
        };
        is_silent(task) && self.states[target].0.leaves().iter().any(|leaf| is_silent(leaf.0))
    }

    /// What may happen in the next state, begun with a task, as far as that are rounds; `alone` is that task by itself. `None` where there
    /// is no round.
    fn round_behind(&mut self, task: usize, next: &Tree, alone: &Tree) -> Option<Tree> {
        match next {
            Tree::Branch { condition, then, otherwise } => {
                let sees = |id: &NodeId| matches!(self.graph.op(*id), Op::Input { .. }) || self.is_computed_element(*id);
                if self.graph.reachable([*condition]).iter().any(sees) {
                    return None;
                }
                let known: FxHashMap<(ObjectId, usize), NodeId> =
                    self.tasks[task].stores.iter().map(|store| ((store.0, store.1), store.2)).collect();
                let decided = self.with_elements(&[*condition], &known)[condition];
                let [then, otherwise] = [then, otherwise].map(|next| self.round_behind(task, next, alone));
                if then.is_none() && otherwise.is_none() {
                    return None;
                }
                let [then, otherwise] = [then, otherwise].map(|next| Box::new(next.unwrap_or_else(|| alone.clone())));
                Some(Tree::Branch { condition: decided, then, otherwise })
            }
            Tree::Go { task: round, target, beside } if beside.is_empty() && self.goes_on(*round, *target) => {
                let both = self.joined_tasks(task, *round)?;
                Some(Tree::Go { task: both, target: *target, beside: Vec::new() })
            }
            _ => None,
        }
    }

    /// Joins a task with those behind it.
    fn chain(&mut self, task: &mut usize, target: &mut usize, joined: &mut FxHashMap<(usize, usize), Option<usize>>) {
        // A circle in which nothing waits is gone round once.
        for _ in 0..self.states.len() {
            let Tree::Go { task: next, target: end, beside } = &self.states[*target].0 else { break };
            if !beside.is_empty() {
                break;
            }
            let (next, end) = (*next, *end);
            let both = match joined.get(&(*task, next)) {
                Some(known) => *known,
                None => {
                    let both = self.joined_tasks(*task, next);
                    joined.insert((*task, next), both);
                    both
                }
            };
            let Some(both) = both else { break };
            (*task, *target) = (both, end);
        }
    }

    /// A task and the one behind it as one; `None` where both put tokens out at one port, or the second takes any.
    fn joined_tasks(&mut self, first: usize, second: usize) -> Option<usize> {
        let (one, other) = (self.tasks[first].clone(), self.tasks[second].clone());
        let both_give = one.produces.iter().zip(&other.produces).any(|(a, b)| *a > 0 && *b > 0);
        if both_give || other.consumes.iter().any(|n| *n > 0) {
            return None;
        }
        let known: FxHashMap<(ObjectId, usize), NodeId> =
            one.stores.iter().map(|store| ((store.0, store.1), store.2)).collect();
        let roots = other.roots();
        // An element at a computed place may be one that has changed.
        let is_computed = |id: &NodeId| self.is_computed_element(*id);
        if self.graph.reachable(roots.iter().copied()).iter().any(is_computed) {
            return None;
        }
        let new = self.with_elements(&roots, &known);
        let mut both = Task { consumes: one.consumes, ..Task::default() };
        both.produces = one.produces.iter().zip(&other.produces).map(|(a, b)| a + b).collect();
        both.outputs = one.outputs;
        both.outputs.extend(other.outputs.iter().map(|&(port, offset, value)| (port, offset, new[&value])));
        both.stores = other.stores.iter().map(|&(object, index, value)| (object, index, new[&value])).collect();
        let is_left = |store: &(ObjectId, usize, NodeId)| {
            other.stores.iter().all(|later| (later.0, later.1) != (store.0, store.1))
        };
        both.stores.extend(one.stores.into_iter().filter(is_left));
        both.stores.sort_unstable_by_key(|store| (store.0, store.1));
        self.tasks.push(both);
        Some(self.tasks.len() - 1)
    }

    /// The region with one task where several do the same.
    pub(crate) fn without_copies(mut self) -> Region {
        let n = self.tasks.len();
        let first = |at: usize| (0..at).find(|&other| self.tasks[other] == self.tasks[at]).unwrap_or(at);
        let tasks: Vec<usize> = (0..n).map(first).collect();
        self.states.iter_mut().for_each(|(tree, _)| tree.renumber(|state| state, |task| tasks[task]));
        self.without_what_never_happens()
    }

    /// The region without states that are never entered, and without tasks that are never done.
    fn without_what_never_happens(mut self) -> Region {
        let mut entered = vec![false; self.states.len()];
        let mut done = vec![false; self.tasks.len()];
        let mut open = vec![0];
        while let Some(state) = open.pop() {
            if std::mem::replace(&mut entered[state], true) {
                continue;
            }
            for (task, target) in self.states[state].0.leaves() {
                done[task] = true;
                open.push(target);
            }
        }
        let numbers = |kept: &[bool]| -> Vec<usize> {
            let mut next = 0;
            let number = |kept: &bool| {
                next += usize::from(*kept);
                next.saturating_sub(1)
            };
            kept.iter().map(number).collect()
        };
        let (states, tasks) = (numbers(&entered), numbers(&done));
        let mut at = 0;
        self.states.retain(|_| {
            at += 1;
            entered[at - 1]
        });
        let mut at = 0;
        self.tasks.retain(|_| {
            at += 1;
            done[at - 1]
        });
        self.states.iter_mut().for_each(|(tree, _)| tree.renumber(|state| states[state], |task| tasks[task]));
        self
    }
}
