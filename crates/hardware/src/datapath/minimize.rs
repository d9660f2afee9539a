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
                    let next = known.len();
                    *known.entry(describe(tree, &class)).or_insert(next)
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
                tree.renumber(|state| class[state], |task| task);
                kept.push((tree, description));
            }
        }
        self.states = kept;
        self
    }
}

/// A tree in preorder: how many trees are below each is known from what it is.
fn describe(tree: &Tree, class: &[usize]) -> Behaviour {
    let mut found = Behaviour::new();
    tree.for_each(&mut |tree| match tree {
        Tree::Branch { condition: NodeId(condition), .. } => found.push((0, *condition as usize, 0)),
        Tree::Wait(all) => {
            found.push((1, all.len(), 0));
            found.extend(all.iter().map(|(port, tokens, _)| (2, *port, *tokens as usize)));
        }
        Tree::Else(..) => found.push((3, 0, 0)),
        Tree::Go { task, target, beside } => {
            found.push((4, *task, class[*target]));
            found.extend(beside.iter().map(|task| (6, *task, 0)));
        }
        Tree::End => found.push((5, 0, 0)),
    });
    found
}
