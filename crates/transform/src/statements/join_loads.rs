//! Joining of adjacent loads and stores. Values put together from parts.

use crate::kernel::{Graph, NodeId, Op};

/// Parts one beside the other. Where all of them are made by the same bitwise operation and what they are made of lies
/// together, the operation is done once on all: `Concat[a ^ x[31..24], b ^ x[23..16], …]` is `Concat[a, b, …] ^ x`.
///
/// Parts of a sum that were cut off one by one, with what is below them, are one part of it.
pub fn join_loads(graph: &mut Graph, parts: &[NodeId]) -> NodeId {
    let mut joined: Vec<NodeId> = Vec::with_capacity(parts.len());
    for &part in parts {
        let both = joined.last().and_then(|&above| with_sum_below(graph, above, part));
        match (joined.last_mut(), both) {
            (Some(above), Some(both)) => *above = both,
            _ => joined.push(part),
        }
    }
    glued(graph, &joined).unwrap_or_else(|| graph.concat(&joined))
}

/// `Concat[(a + b)[high..lo], (a[lo-1..0] + b[lo-1..0])[lo-1..low]]` is `(a + b)[high..low]`.
fn with_sum_below(graph: &mut Graph, above: NodeId, below: NodeId) -> Option<NodeId> {
    let top = |graph: &Graph, part: NodeId| {
        let (sum, lo) = match graph.op(part) {
            Op::Extract(sum, lo) if lo + graph.width(part) == graph.width(*sum) => (*sum, *lo),
            _ => (part, 0),
        };
        match graph.op(sum) {
            Op::Add(a, b) => Some((sum, lo, [*a, *b])),
            _ => None,
        }
    };
    let (sum, lo, operands) = top(graph, above).filter(|&(_, lo, _)| lo > 0)?;
    let (_, lowest, lower_operands) = top(graph, below).filter(|&(lower, ..)| graph.width(lower) == lo)?;
    let cut = operands.map(|operand| graph.extract(operand, 0, lo));
    let is_same = cut == lower_operands || [cut[1], cut[0]] == lower_operands;
    let width = graph.width(above) + graph.width(below);
    is_same.then(|| graph.extract(sum, lowest, width))
}

fn glued(graph: &mut Graph, parts: &[NodeId]) -> Option<NodeId> {
    let (&first, _) = parts.split_first()?;
    if parts.len() < 2 {
        return None;
    }
    match graph.op(first).clone() {
        Op::Xor(..) | Op::And(..) | Op::Or(..) => {
            let kind = std::mem::discriminant(graph.op(first));
            let mut sides: (Vec<NodeId>, Vec<NodeId>) = (Vec::new(), Vec::new());
            for &part in parts {
                let op = graph.op(part);
                let (&a, &b) = match op {
                    Op::Xor(a, b) | Op::And(a, b) | Op::Or(a, b) if std::mem::discriminant(op) == kind => (a, b),
                    _ => return None,
                };
                let alike = |x: NodeId, y: Option<&NodeId>| y.is_some_and(|&y| source(graph, x) == source(graph, y));
                let swap = !alike(a, sides.0.last()) && (alike(b, sides.0.last()) || alike(a, sides.1.last()));
                let (a, b) = if swap { (b, a) } else { (a, b) };
                sides.0.push(a);
                sides.1.push(b);
            }
            let (a, b) = (join_loads(graph, &sides.0), join_loads(graph, &sides.1));
            let together = |id: NodeId| match graph.op(id) {
                Op::Concat(inner) => inner.len() * 2 <= parts.len(),
                _ => true,
            };
            // A byte swap is as good as bytes that lie together.
            let swapped = |id: NodeId| match graph.op(id) {
                Op::Concat(inner) => {
                    let same = |part: &NodeId| source(graph, *part) == source(graph, inner[0]);
                    inner.iter().all(same) && matches!(graph.op(inner[0]), Op::Extract(..) | Op::Entry { .. })
                }
                _ => false,
            };
            if !(together(a) || together(b) || swapped(a) || swapped(b)) {
                return None;
            }
            Some(match graph.op(first) {
                Op::Xor(..) => graph.xor(a, b),
                Op::And(..) => graph.and(a, b),
                _ => graph.or(a, b),
            })
        }
        Op::Not(_) => {
            let inner: Option<Vec<NodeId>> = parts
                .iter()
                .map(|&part| match graph.op(part) {
                    Op::Not(inner) => Some(*inner),
                    _ => None,
                })
                .collect();
            let inner = join_loads(graph, &inner?);
            Some(graph.not(inner))
        }
        Op::Select(condition, ..) => {
            let sides: Option<Vec<(NodeId, NodeId)>> = parts
                .iter()
                .map(|&part| match graph.op(part) {
                    Op::Select(c, a, b) if *c == condition => Some((*a, *b)),
                    _ => None,
                })
                .collect();
            let (a, b): (Vec<NodeId>, Vec<NodeId>) = sides?.into_iter().unzip();
            let (a, b) = (join_loads(graph, &a), join_loads(graph, &b));
            Some(graph.select(condition, a, b))
        }
        _ => None,
    }
}

/// What parts that lie together have in common.
fn source(graph: &Graph, id: NodeId) -> (u8, u64) {
    match graph.op(id) {
        Op::Const(_) => (0, 0),
        Op::Extract(from, _) => (1, u64::from(from.0)),
        Op::Entry { object, .. } => (2, u64::from(object.0)),
        Op::Input { port, .. } => (3, u64::from(*port)),
        Op::Select(condition, ..) => (4, u64::from(condition.0)),
        Op::Lookup(table, _) => (5, u64::from(table.0)),
        Op::Xor(..) => (6, 0),
        _ => (7, u64::from(id.0)),
    }
}
