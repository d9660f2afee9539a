//! Latency-bound or throughput-bound: a critical-path estimate. Whether a machine waits for results, or has enough to
//! do meanwhile.

use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;

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

/// Whether the longest chain takes about as long as all operations that a machine could begin meanwhile.
pub(super) fn waits(graph: &Graph, order: &[NodeId]) -> bool {
    let mut times: FxHashMap<NodeId, u64> = FxHashMap::default();
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
