//! Flattening of associative operator chains. Chains of an operation whose operands may be combined in any order.

use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The chains of one operation in a graph.
pub(super) struct Chains<'a> {
    graph: &'a Graph,
    /// The operands of the operation, where a node is one.
    link: fn(&Op) -> Option<[NodeId; 2]>,
    readers: FxHashMap<NodeId, usize>,
    /// Links that are nothing but a term of one other.
    parts: FxHashSet<NodeId>,
}

impl<'a> Chains<'a> {
    /// Those in what roots need; `order` is all that they need, operands first.
    pub(super) fn of(
        graph: &'a Graph,
        roots: Vec<NodeId>,
        order: &[NodeId],
        link: fn(&Op) -> Option<[NodeId; 2]>,
    ) -> Self {
        let mut readers: FxHashMap<NodeId, usize> = FxHashMap::default();
        roots.into_iter().for_each(|root| *readers.entry(root).or_default() += 1);
        let mut parts: FxHashSet<NodeId> = FxHashSet::default();
        for &id in order {
            let op = graph.op(id);
            for operand in op.operands() {
                *readers.entry(operand).or_default() += 1;
                if link(op).is_some() && link(graph.op(operand)).is_some() {
                    parts.insert(operand);
                }
            }
        }
        parts.retain(|part| readers.get(part) == Some(&1));
        Self { graph, link, readers, parts }
    }

    /// Whether no chain has more than two terms.
    pub(super) fn are_short(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a node is a link within a chain, of which nothing else knows.
    pub(super) fn is_part(&self, id: NodeId) -> bool {
        self.parts.contains(&id)
    }

    /// Whether one node or root reads a node, once.
    pub(super) fn is_read_once(&self, id: NodeId) -> bool {
        self.readers.get(&id) == Some(&1)
    }

    /// What the chain that ends with a node combines, from left to right; the node itself where it is no link.
    pub(super) fn terms(&self, end: NodeId) -> Vec<NodeId> {
        let mut terms = Vec::new();
        let mut open = vec![end];
        while let Some(id) = open.pop() {
            match (self.link)(self.graph.op(id)) {
                Some([a, b]) if id == end || self.is_part(id) => open.extend([b, a]),
                _ => terms.push(id),
            }
        }
        terms
    }
}
