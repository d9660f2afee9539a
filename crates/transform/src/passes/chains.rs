//! Chains of an operation whose operands may be combined in any order, and how long machines take for chains of any.

use crate::kernel::{Graph, NodeId, Op};
use std::collections::{HashMap, HashSet};

/// How long a machine takes for most operations, and for bitwise ones, of which it does two or three at once.
pub(super) const OPERATION: u64 = 2;
const BITWISE: u64 = 1;

/// Operations that begin in the time of one.
const SIDE_BY_SIDE: u64 = 2;

/// How long an operation takes.
pub(super) fn takes(op: &Op) -> u64 {
    match op {
        Op::Const(_) | Op::Input { .. } | Op::Extract(..) => 0,
        Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Not(_) => BITWISE,
        _ => OPERATION,
    }
}

/// Whether the longest chain of any operations takes about as long as all operations that a machine could begin meanwhile.
pub(super) fn waits(graph: &Graph, order: &[NodeId]) -> bool {
    let mut times: HashMap<NodeId, u64> = HashMap::new();
    let (mut longest, mut all) = (0, 0);
    for &id in order {
        let op = graph.op(id);
        let operands = op.operands().into_iter().map(|operand| times[&operand]).max();
        let time = operands.unwrap_or(0) + takes(op);
        times.insert(id, time);
        longest = longest.max(time);
        all += takes(op);
    }
    4 * SIDE_BY_SIDE * longest > 3 * all
}

/// The chains of one operation in a graph.
pub(super) struct Chains<'a> {
    graph: &'a Graph,
    /// The operands of the operation, where a node is one.
    link: fn(&Op) -> Option<[NodeId; 2]>,
    readers: HashMap<NodeId, usize>,
    /// Links that are nothing but a term of one other.
    parts: HashSet<NodeId>,
}

impl<'a> Chains<'a> {
    /// Those in what roots need; `order` is all that they need, operands first.
    pub(super) fn of(
        graph: &'a Graph,
        roots: Vec<NodeId>,
        order: &[NodeId],
        link: fn(&Op) -> Option<[NodeId; 2]>,
    ) -> Self {
        let mut readers: HashMap<NodeId, usize> = HashMap::new();
        roots.into_iter().for_each(|root| *readers.entry(root).or_default() += 1);
        let mut parts: HashSet<NodeId> = HashSet::new();
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
