//! Bit provenance: where the bits of a value come from.

use crate::kernel::{Graph, NodeId, Op};

/// A bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// A constant.
    Constant(bool),
    /// A bit of a node that is not put together from others.
    Of(NodeId, u32),
}

/// The bits of a node, the lowest first.
pub fn bits(graph: &Graph, id: NodeId) -> Vec<Bit> {
    match graph.op(id) {
        Op::Const(value) => (0..graph.width(id)).map(|i| Bit::Constant(value >> i & 1 == 1)).collect(),
        Op::Concat(parts) => parts.iter().rev().flat_map(|&part| bits(graph, part)).collect(),
        Op::Extract(from, lo) => (0..graph.width(id)).map(|i| Bit::Of(*from, lo + i)).collect(),
        _ => (0..graph.width(id)).map(|i| Bit::Of(id, i)).collect(),
    }
}
