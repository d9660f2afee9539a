//! State minimisation: states of a region in which the same may happen are one.
//!
//! Partitions are refined as Moore does: all states are alike until what may happen in two of them, or where it leads to, tells
//! them apart. A network that remembers how it came to a place where that no longer matters has such states.

use super::region::{Region, Tree};
use headrace_kernel::NodeId;
use rustc_hash::FxHashMap;

/// What may happen in a state, with targets as numbers of their classes, as a sequence of words.
type Behaviour = Vec<(u8, usize, usize)>;

impl Region {
    /// The region with as few states as do the same.
    pub(crate) fn with_fewest_states(mut self) -> Region {
        let mut class = vec![0; self.states.len()];
        let mut n_classes = 1;
        loop {
            let mut known: FxHashMap<Behaviour, usize> = FxHashMap::default();
            let refined: Vec<usize> = (self.states.iter())
                .map(|(tree, _)| {
                    let mut behaviour = Behaviour::new();
                    describe(tree, &class, &mut behaviour);
                    let next = known.len();
                    *known.entry(behaviour).or_insert(next)
                })
                .collect();
            class = refined;
            if known.len() == n_classes {
                break;
            }
            n_classes = known.len();
        }
        if n_classes == self.states.len() {
            return self;
        }
        // Classes are numbered by their first states, so that the initial one stays the first.
        let mut kept: Vec<(Tree, String)> = Vec::new();
        for (at, (mut tree, description)) in std::mem::take(&mut self.states).into_iter().enumerate() {
            if class[at] == kept.len() {
                redirect(&mut tree, &class);
                kept.push((tree, description));
            }
        }
        self.states = kept;
        self
    }
}

fn describe(tree: &Tree, class: &[usize], found: &mut Behaviour) {
    match tree {
        Tree::Branch { condition: NodeId(condition), then, otherwise } => {
            found.push((0, *condition as usize, 0));
            describe(then, class, found);
            describe(otherwise, class, found);
        }
        Tree::Wait(all) => {
            found.push((1, all.len(), 0));
            for (port, tokens, next) in all {
                found.push((2, *port, *tokens as usize));
                describe(next, class, found);
            }
        }
        Tree::Else(first, second) => {
            found.push((3, 0, 0));
            describe(first, class, found);
            describe(second, class, found);
        }
        Tree::Go { task, target, beside } => {
            found.push((4, *task, class[*target]));
            found.extend(beside.iter().map(|task| (6, *task, 0)));
        }
        Tree::End => found.push((5, 0, 0)),
    }
}

fn redirect(tree: &mut Tree, class: &[usize]) {
    match tree {
        Tree::Branch { then, otherwise, .. } => {
            redirect(then, class);
            redirect(otherwise, class);
        }
        Tree::Wait(all) => all.iter_mut().for_each(|one| redirect(&mut one.2, class)),
        Tree::Else(first, second) => {
            redirect(first, class);
            redirect(second, class);
        }
        Tree::Go { target, .. } => *target = class[*target],
        Tree::End => {}
    }
}
