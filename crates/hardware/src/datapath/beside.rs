//! Operation chaining of tasks: what only notes that a block was taken is done in the cycle in which that begins.
//!
//! Where a task leads to a state that decides at once, without tokens, and has nothing to put out there either, both begin
//! together. A pipeline then takes a block in every cycle, and not in every second one.

use super::plan::Plan;
use super::region::{Region, Tree};
use headrace_kernel::{NodeId, ObjectId, Op};
use rustc_hash::FxHashSet;

impl Region {
    /// Lets such tasks begin beside those before them.
    pub(crate) fn begin_beside(&mut self, plans: &[Plan]) {
        let trees: Vec<Tree> = self.states.iter().map(|(tree, _)| self.with_beside(tree, plans)).collect();
        self.states.iter_mut().zip(trees).for_each(|(state, tree)| state.0 = tree);
    }

    fn with_beside(&self, tree: &Tree, plans: &[Plan]) -> Tree {
        match tree {
            Tree::Branch { condition, then, otherwise } => Tree::Branch {
                condition: *condition,
                then: Box::new(self.with_beside(then, plans)),
                otherwise: Box::new(self.with_beside(otherwise, plans)),
            },
            Tree::Wait(all) => Tree::Wait(
                all.iter().map(|(port, tokens, next)| (*port, *tokens, self.with_beside(next, plans))).collect(),
            ),
            Tree::Else(first, second) => {
                Tree::Else(Box::new(self.with_beside(first, plans)), Box::new(self.with_beside(second, plans)))
            }
            Tree::Go { task, target, beside } if beside.is_empty() && !self.is_silent(*task, plans) => {
                let next = &self.states[*target].0;
                self.joined(*task, next, tree, plans).unwrap_or_else(|| tree.clone())
            }
            Tree::Go { .. } | Tree::End => tree.clone(),
        }
    }

    /// Whether a task moves no tokens and is done in a cycle.
    fn is_silent(&self, task: usize, plans: &[Plan]) -> bool {
        let own = &self.tasks[task];
        plans[task].last == 0 && own.consumes.iter().chain(&own.produces).all(|n| *n == 0)
    }

    /// What may happen in the next state, begun with a task; `alone` is that task by itself. `None` where nothing is begun with it.
    fn joined(&self, task: usize, next: &Tree, alone: &Tree, plans: &[Plan]) -> Option<Tree> {
        let stored: FxHashSet<ObjectId> = self.tasks[task].stores.iter().map(|store| store.0).collect();
        match next {
            Tree::Branch { condition, then, otherwise } => {
                let sees = |id: &NodeId| matches!(self.graph.op(*id), Op::Input { .. });
                let is_apart = self.objects_of([*condition]).is_disjoint(&stored);
                if !is_apart || self.graph.reachable([*condition]).iter().any(sees) {
                    return None;
                }
                let [then, otherwise] = [then, otherwise].map(|next| self.joined(task, next, alone, plans));
                if then.is_none() && otherwise.is_none() {
                    return None;
                }
                let [then, otherwise] = [then, otherwise].map(|next| Box::new(next.unwrap_or_else(|| alone.clone())));
                Some(Tree::Branch { condition: *condition, then, otherwise })
            }
            Tree::Go { task: other, target, beside } if beside.is_empty() && self.is_silent(*other, plans) => {
                let changes: FxHashSet<ObjectId> = self.tasks[*other].stores.iter().map(|store| store.0).collect();
                let is_apart = changes.is_disjoint(&stored)
                    && self.objects_of(self.tasks[*other].roots()).is_disjoint(&stored)
                    && self.objects_of(self.tasks[task].roots()).is_disjoint(&changes);
                is_apart.then(|| Tree::Go { task, target: *target, beside: vec![*other] })
            }
            _ => None,
        }
    }
}
