//! Induction variables advanced past iterations that are run elsewhere. Iterations that somebody else runs: what they
//! leave, as far as it can be known without running them.

use super::loop_frame::{LoopNames, counter_bounds, counter_ends, delay_ends, head, last_iteration};
use headrace_transform::kernel::{Loop, ObjectId, Op};
use std::collections::BTreeSet;

/// A function with the parameters of a loop that has counters go on by `iterations` iterations, one at least, and keeps
/// what the last of them leaves of its tokens. Nothing else is changed. It needs integers of 128 bits.
pub fn skipped(body: &Loop, names: &LoopNames) -> String {
    let mut text = head(body, None, names);
    text.push_str(&counter_bounds(body, names.names));
    text.push_str(&counter_ends(body, names.names));
    let delays = delay_ends(body, names.names);
    if !delays.is_empty() {
        text.push_str(&last_iteration(body));
    }
    text + &delays + "}\n"
}

/// The objects that a loop reads or changes.
pub fn touched(body: &Loop) -> BTreeSet<ObjectId> {
    let read = body.needed().into_iter().filter_map(|id| match body.graph.op(id) {
        Op::Entry { object, .. } => Some(*object),
        _ => None,
    });
    read.chain(body.carried.iter().map(|one| one.object)).collect()
}
