//! Overlapped execution of successive tasks: the load of the next block in the cycle in which the last one is unloaded.
//!
//! A permutation whose number of rounds is a token is a task a round: one takes a block in, others turn it, and one puts it out. Where
//! what follows that one waits for tokens only, both are done at once, as one task more, when these are there.

use super::region::{Region, Task, Tree};
use headrace_kernel::ObjectId;
use rustc_hash::FxHashSet;

impl Region {
    /// The region with such tasks; `None` where there are none.
    pub(crate) fn overlapped(&self) -> Option<Region> {
        let mut region = self.clone();
        for state in 0..self.states.len() {
            let tree = region.with_next(&self.states[state].0);
            region.states[state].0 = tree;
        }
        (region.tasks.len() > self.tasks.len()).then_some(region)
    }

    fn with_next(&mut self, tree: &Tree) -> Tree {
        match tree {
            Tree::Branch { condition, then, otherwise } => Tree::Branch {
                condition: *condition,
                then: Box::new(self.with_next(then)),
                otherwise: Box::new(self.with_next(otherwise)),
            },
            Tree::Wait(all) => {
                Tree::Wait(all.iter().map(|(port, tokens, next)| (*port, *tokens, self.with_next(next))).collect())
            }
            Tree::Go { task, target, .. } => {
                let first = self.tasks[*task].clone();
                let is_last = first.produces.iter().any(|n| *n > 0) && first.consumes.iter().all(|n| *n == 0);
                let next = self.states[*target].0.clone();
                match is_last.then(|| self.after(&first, &next)).flatten() {
                    Some(both) => Tree::Else(Box::new(both), Box::new(tree.clone())),
                    None => tree.clone(),
                }
            }
            Tree::Else(..) | Tree::End => tree.clone(),
        }
    }

    /// What comes after a task, with that task done, too; `None` where it does not wait for tokens alone.
    fn after(&mut self, first: &Task, tree: &Tree) -> Option<Tree> {
        match tree {
            Tree::Wait(all) => {
                let all = all.iter().map(|(port, tokens, next)| Some((*port, *tokens, self.after(first, next)?)));
                Some(Tree::Wait(all.collect::<Option<_>>()?))
            }
            Tree::Go { task, target, .. } => {
                let second = &self.tasks[*task];
                let changed: FxHashSet<ObjectId> = first.stores.iter().map(|store| store.0).collect();
                let takes = second.consumes.iter().any(|n| *n > 0);
                let is_apart = self.objects_of(second.roots()).is_disjoint(&changed);
                if !takes || !is_apart || second.produces.iter().any(|n| *n > 0) {
                    return None;
                }
                let mut both = Task { consumes: second.consumes.clone(), ..first.clone() };
                both.stores.retain(|store| second.stores.iter().all(|other| (other.0, other.1) != (store.0, store.1)));
                both.stores.extend(second.stores.iter().copied());
                both.stores.sort_unstable_by_key(|store| (store.0, store.1));
                self.tasks.push(both);
                Some(Tree::Go { task: self.tasks.len() - 1, target: *target, beside: Vec::new() })
            }
            Tree::Branch { .. } | Tree::Else(..) | Tree::End => None,
        }
    }
}
