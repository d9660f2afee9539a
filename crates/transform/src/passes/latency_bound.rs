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

/// The longest chain, as a share of the time in which all operations can begin.
fn share(graph: &Graph, order: &[NodeId]) -> f64 {
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
    (u64::from(latency().issued.value) * longest) as f64 / all.max(1) as f64
}

/// Whether the longest chain takes about as long as all operations that a machine could begin meanwhile.
pub(super) fn waits(graph: &Graph, order: &[NodeId]) -> bool {
    share(graph, order) > 0.75
}

/// Whether the longest chain takes so much of the time that a shorter one may save some. Machines look ahead by some hundred
/// operations only, so a chain costs time long before it takes as long as all the rest: of 16 messages of SHA-256 at once,
/// by 16 % with a share of a half.
pub(super) fn may_wait(graph: &Graph, order: &[NodeId]) -> bool {
    share(graph, order) > 0.4
}
