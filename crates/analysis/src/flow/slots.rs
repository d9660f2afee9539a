//! Storage while the statements of an action are walked: the last node of each variable.

use super::{NodeId, Origin};
use headrace_ir::Int;
use std::collections::BTreeMap;

/// The nodes whose values lie in a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// The variable, or all elements that `elements` does not say; `None` is a constant.
    pub whole: Option<NodeId>,
    /// Elements that were written with constant indices since.
    pub elements: BTreeMap<usize, Option<NodeId>>,
    /// What a scalar is known to be; 0 and 1 stand for false and true.
    pub known: Option<Int>,
}

impl Contents {
    /// One node, or a constant, throughout.
    pub fn of(whole: Option<NodeId>) -> Self {
        Contents { whole, elements: BTreeMap::new(), known: None }
    }

    /// The node of an element.
    pub fn element(&self, at: usize) -> Option<NodeId> {
        self.elements.get(&at).copied().unwrap_or(self.whole)
    }

    /// All nodes of a range of elements.
    pub fn range(&self, from: usize, len: usize) -> impl Iterator<Item = NodeId> + '_ {
        let within = || self.elements.range(from..from.saturating_add(len));
        let whole = self.whole.filter(|_| within().count() < len);
        within().filter_map(|(_, node)| *node).chain(whole)
    }

    /// All nodes.
    pub fn all(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.elements.values().filter_map(|node| *node).chain(self.whole)
    }
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// What nodes made by its assignments are called.
    pub origin: Origin,
    /// Number of elements.
    pub len: usize,
}

/// A variable, or the part of one that a list parameter stands for.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Position in [`Store::slots`].
    pub slot: usize,
    /// The first element, where it is constant.
    pub start: Option<usize>,
    /// Nodes of the indices that are not.
    pub index: Vec<NodeId>,
    /// Sizes of the dimensions that are left.
    pub dims: Vec<u32>,
}

/// All variables that are alive. Those of calls lie on top.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// What they are.
    pub slots: Vec<Slot>,
    /// What is in them.
    pub contents: Vec<Contents>,
}

impl Store {
    /// A new variable.
    pub fn push(&mut self, slot: Slot, contents: Contents) -> usize {
        self.slots.push(slot);
        self.contents.push(contents);
        self.slots.len() - 1
    }

    /// Takes away variables of a call that has ended.
    pub fn truncate(&mut self, len: usize) {
        self.slots.truncate(len);
        self.contents.truncate(len);
    }
}

/// Adds what is not there yet.
pub(super) fn add(nodes: &mut Vec<NodeId>, more: impl IntoIterator<Item = NodeId>) {
    for node in more {
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
}
