//! Symbolic store: variables on a path. Variables while a path is executed: lists of nodes, as far as they are known,
//! above objects in memory.
//!
//! A scalar is a list of one. As long as a list is read and written at known places it lives in nodes. A place that is
//! not known makes it go through memory: what was written is stored, and later reads are loads.

use crate::kernel::{NodeId, ObjectId};
use std::rc::Rc;

/// Position in [`super::symbolic_execution::State`]'s table of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ListId(pub u32);

#[derive(Clone, Debug)]
pub(crate) struct List {
    /// Bits of an element.
    pub width: u32,
    /// Values that are known to be the current ones.
    pub elements: Vec<Option<NodeId>>,
    /// Elements whose value is not in memory yet.
    pub dirty: Vec<bool>,
    /// Where it lies; lists of a firing have no object until they need one.
    pub object: Option<ObjectId>,
    /// Whether the transition has stored to the object, so that [`crate::kernel::Op::Entry`] does not tell what it
    /// holds.
    pub stored: bool,
    /// Whether every access goes to memory at once, as inside of structured loops.
    pub in_memory: bool,
}

impl List {
    /// A list in an object, of which nothing is known.
    pub fn in_object(object: ObjectId, width: u32, length: usize) -> Rc<List> {
        Rc::new(List {
            width,
            elements: vec![None; length],
            dirty: vec![false; length],
            object: Some(object),
            stored: false,
            in_memory: false,
        })
    }

    /// A list of a firing.
    pub fn of_values(width: u32, elements: Vec<NodeId>) -> Rc<List> {
        let length = elements.len();
        Rc::new(List {
            width,
            elements: elements.into_iter().map(Some).collect(),
            dirty: vec![true; length],
            object: None,
            stored: false,
            in_memory: false,
        })
    }

    /// Forgets what is known; it is all in memory.
    pub fn forget(&mut self) {
        self.elements.iter_mut().for_each(|element| *element = None);
        self.dirty.iter_mut().for_each(|dirty| *dirty = false);
    }
}
