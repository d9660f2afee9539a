//! Technology mapping of bitwise functions: those of a few words, by their truth tables.

use crate::kernel::graph::mask;
use crate::kernel::{Graph, NodeId, Op};

/// Words of a bitwise function.
pub const MOST_LEAVES: usize = 4;

/// The words of a bitwise function.
pub fn leaves(graph: &Graph, id: NodeId, is_leaf: &dyn Fn(NodeId) -> bool, out: &mut Vec<NodeId>) {
    let is_bitwise = matches!(graph.op(id), Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Not(_));
    if out.len() > MOST_LEAVES {
        return;
    }
    if is_bitwise && !is_leaf(id) {
        for operand in graph.op(id).operands() {
            leaves(graph, operand, is_leaf, out);
        }
    } else if !is_plain(graph, id) && !out.contains(&id) {
        out.push(id);
    }
}

/// A constant of equal bits.
fn is_plain(graph: &Graph, id: NodeId) -> bool {
    graph.constant(id).is_some_and(|value| value == 0 || value == mask(graph.width(id)))
}

/// The truth table of a bitwise function of words.
pub fn truth(graph: &Graph, id: NodeId, leaves: &[NodeId]) -> Option<u16> {
    const VARIABLES: [u16; MOST_LEAVES] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
    if let Some(at) = leaves.iter().position(|&leaf| leaf == id) {
        return VARIABLES.get(at).copied();
    }
    let of = |id: NodeId| truth(graph, id, leaves);
    Some(match *graph.op(id) {
        Op::Const(value) => {
            if value == 0 {
                0
            } else {
                u16::MAX
            }
        }
        Op::Not(a) => !of(a)?,
        Op::And(a, b) => of(a)? & of(b)?,
        Op::Or(a, b) => of(a)? | of(b)?,
        Op::Xor(a, b) => of(a)? ^ of(b)?,
        _ => return None,
    })
}
