//! Loop-carried reads at distance one. Tokens of the iteration before that an iteration reads: in memory they stand before
//! those of the iteration, but those before the first iteration lie in the context.

use headrace_transform::kernel::{Carried, Carry, Loop, ObjectId, Op};
use rustc_hash::FxHashSet;

/// Elements that an iteration reads and that hold tokens of the iteration before: port and offset of the token, and the
/// element. Several elements may come to hold the same token without having begun with the same value.
pub fn read_delays(body: &Loop) -> Vec<(u32, i64, &Carried)> {
    let read: FxHashSet<(ObjectId, usize)> = body
        .graph
        .reachable(body.roots())
        .into_iter()
        .filter_map(|id| match body.graph.op(id) {
            Op::Entry { object, index } => Some((*object, body.graph.constant(*index)? as usize)),
            _ => None,
        })
        .collect();
    let delayed =
        body.carried.iter().filter(|one| one.carry == Carry::Delay && read.contains(&(one.object, one.index)));
    delayed
        .filter_map(|one| match *body.graph.op(one.next) {
            Op::Input { port, offset } => Some((port, offset, one)),
            _ => None,
        })
        .collect()
}
