//! Operation chaining of states: tasks that follow each other without waiting for anything are one task.
//!
//! A ring of rounds that another ring goes along with is explored as a state for each step of each of them, though nothing ever
//! waits between the first and the last. What such a task reads is what the one before stores, and so both become one, in whose
//! values rounds are found again.

use super::region::{Region, Task, Tree};
use headrace_kernel::{NodeId, Object, ObjectId, Op};
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
        let mut begun = Vec::new();
        for state in 0..self.states.len() {
            let tree = self.states[state].0.clone();
            region.states[state].0 = region.with_round_begun(&tree, &mut begun);
        }
        if begun.is_empty() {
            return None;
        }
        let begun: Vec<(Task, Task, Task)> = begun
            .into_iter()
            .map(|(both, first, round)| {
                (region.tasks[both].clone(), region.tasks[first].clone(), region.tasks[round].clone())
            })
            .collect();
        let mut region = region.without_copies();
        for (both, first, round) in begun {
            if let Some(both) = region.tasks.iter().position(|task| *task == both) {
                region.choose_what_rounds_work_on(both, &first, &round);
            }
        }
        Some(region)
    }

    /// Has rounds work on what comes in when they are begun with it, and on what is there else: the same operators then do all of them.
    /// `both` is the task that takes a block in, `first`, with a round behind it.
    fn choose_what_rounds_work_on(&mut self, both: usize, first: &Task, round: &Task) {
        let begins = ObjectId(self.objects.len() as u32);
        let name = format!("t{both}_begins");
        self.objects.push(Object { name, width: 1, length: 1, persistent: false, residue: None });
        self.initial.push(Vec::new());
        self.begins.insert(begins, both);
        let zero = self.graph.number(0, 32);
        let begins = self.graph.entry(begins, zero, 1);
        let mut chosen: FxHashMap<(ObjectId, usize), NodeId> = FxHashMap::default();
        let mut known = FxHashMap::default();
        for &(object, index, value) in &first.stores {
            known.insert((object, index), value);
            // What counts rounds is no work of theirs.
            let Object { length, width, .. } = self.objects[object.0 as usize];
            if length > 1 && self.graph.width(value) == width {
                let at = self.graph.number(index as u128, 32);
                let kept = self.graph.entry(object, at, width);
                let value = self.graph.select(begins, value, kept);
                chosen.insert((object, index), value);
                known.insert((object, index), value);
            }
        }
        let whole: FxHashMap<(ObjectId, usize), NodeId> =
            first.stores.iter().map(|store| ((store.0, store.1), store.2)).collect();
        for task in 0..self.tasks.len() {
            let is_silent = self.tasks[task].consumes.iter().chain(&self.tasks[task].produces).all(|n| *n == 0);
            let (stores, values) = match task == both {
                true => (round.stores.clone(), &known),
                false if is_silent => (self.tasks[task].stores.clone(), &chosen),
                false => continue,
            };
            let roots: Vec<NodeId> = stores.iter().map(|store| store.2).collect();
            let new = self.with_elements(&roots, values);
            let mut stores: Vec<_> = stores.into_iter().map(|store| (store.0, store.1, new[&store.2])).collect();
            if task == both {
                let is_left = |place: &(ObjectId, usize)| stores.iter().all(|store| (store.0, store.1) != *place);
                let left: Vec<_> = whole.iter().filter(|(place, _)| is_left(place)).collect();
                let left: Vec<_> = left.into_iter().map(|(place, value)| (place.0, place.1, *value)).collect();
                stores.extend(left);
                stores.sort_unstable_by_key(|store| (store.0, store.1));
            }
            self.tasks[task].stores = stores;
        }
    }

    fn with_round_begun(&mut self, tree: &Tree, begun: &mut Vec<(usize, usize, usize)>) -> Tree {
        match tree {
            Tree::Branch { condition, then, otherwise } => Tree::Branch {
                condition: *condition,
                then: Box::new(self.with_round_begun(then, begun)),
                otherwise: Box::new(self.with_round_begun(otherwise, begun)),
            },
            Tree::Wait(all) => {
                Tree::Wait(all.iter().map(|(port, n, next)| (*port, *n, self.with_round_begun(next, begun))).collect())
            }
            Tree::Go { task, target, beside } if beside.is_empty() && self.takes_and_keeps(*task) => {
                let next = self.states[*target].0.clone();
                self.round_behind(*task, &next, tree, begun).unwrap_or_else(|| tree.clone())
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
    fn round_behind(
        &mut self,
        task: usize,
        next: &Tree,
        alone: &Tree,
        begun: &mut Vec<(usize, usize, usize)>,
    ) -> Option<Tree> {
        match next {
            Tree::Branch { condition, then, otherwise } => {
                let sees =
                    |id: &NodeId| matches!(self.graph.op(*id), Op::Input { .. }) || self.is_computed_element(*id);
                if self.graph.reachable([*condition]).iter().any(sees) {
                    return None;
                }
                let known: FxHashMap<(ObjectId, usize), NodeId> =
                    self.tasks[task].stores.iter().map(|store| ((store.0, store.1), store.2)).collect();
                let decided = self.with_elements(&[*condition], &known)[condition];
                let [then, otherwise] = [then, otherwise].map(|next| self.round_behind(task, next, alone, begun));
                if then.is_none() && otherwise.is_none() {
                    return None;
                }
                let [then, otherwise] = [then, otherwise].map(|next| Box::new(next.unwrap_or_else(|| alone.clone())));
                Some(Tree::Branch { condition: decided, then, otherwise })
            }
            Tree::Go { task: round, target, beside } if beside.is_empty() && self.goes_on(*round, *target) => {
                let both = self.joined_tasks(task, *round)?;
                begun.push((both, task, *round));
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
