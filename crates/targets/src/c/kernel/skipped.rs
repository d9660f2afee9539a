//! Passes that somebody else runs: what they leave, as far as it can be known without running them.

use super::frame::{LoopNames, counter_ends, counter_start, delay_ends, head};
use super::scalar::element_type;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Loop, ObjectId, Op};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A function with the parameters of a loop that has counters go on by `passes` passes, one at least, and keeps what the
/// last of them leaves of its tokens. Nothing else is changed. It needs integers of 128 bits.
pub fn skipped(body: &Loop, names: &LoopNames) -> String {
    let mut text = head(body, None, names);
    for (n, counter) in body.counters.iter().enumerate() {
        text.push_str(&counter_start(body, n, names.names));
        let ones = super::expression::literal(mask(body.graph.width(counter.start)), 128);
        let step = super::expression::literal(counter.step, 128);
        let _ = writeln!(text, "  const u128 end{n}_ = (c{n}_ + {step} * passes) & {ones};");
    }
    text.push_str(&counter_ends(body, names.names));
    let delays = delay_ends(body, names.names);
    if !delays.is_empty() {
        for (port, &(tokens, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let ty = element_type(width);
            let _ = writeln!(text, "  const {ty} *const last{port}_ = in{port} + (passes - 1) * {tokens};");
        }
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
