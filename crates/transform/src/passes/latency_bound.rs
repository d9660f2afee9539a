//! Latency-bound or throughput-bound: a critical-path estimate. Whether a machine waits for results, or has enough to
//! do meanwhile.

use crate::kernel::{Graph, NodeId, Op};
use headrace_machines::cost_model::Latency;
use headrace_machines::machines;
use rustc_hash::FxHashMap;

/// What a machine of which nothing is known takes.
pub(super) fn latency() -> &'static Latency {
    &machines().usual_costs().latency
}

/// How long an operation takes.
pub(super) fn takes(op: &Op) -> u64 {
    match op {
        Op::Const(_) | Op::Input { .. } | Op::Extract(..) => 0,
        Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Not(_) => latency().bitwise.value.into(),
        _ => latency().operation.value.into(),
    }
}

/// Whether a machine waits for the longest chain: it takes two fifths or more of the time in which all operations can
/// begin. Machines look ahead by some hundred operations only, so a chain costs time long before it takes as long as all
/// the rest: of 16 messages of SHA-256 at once, by 16 % with a share of a half.
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
    5 * u64::from(latency().issued.value) * longest > 2 * all
}
