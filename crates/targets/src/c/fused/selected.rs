//! Kernels as loops of one pass, for what looks for instructions in loops.

use headrace_transform::kernel::{Carried, Carry, Loop, ObjectId, Op};
use std::collections::BTreeSet;

/// Bytes of a register.
const BYTES: usize = 16;

/// The same loop of one pass, in which elements that are only read go on unchanged: then they are words and blocks as those
/// that passes hand on are, and what is made of them need not be known before. `None` when there are none.
pub(super) fn holding(body: &Loop) -> Option<Loop> {
    let mut body = body.clone();
    let known: BTreeSet<(ObjectId, usize)> = body.carried.iter().map(|one| (one.object, one.index)).collect();
    let mut read = BTreeSet::new();
    for id in body.graph.reachable(body.roots()) {
        let Op::Entry { object, index } = body.graph.op(id) else { continue };
        let at = body.graph.constant(*index)? as usize;
        let length = body.objects[object.0 as usize].length;
        // Registers hold whole blocks of bytes.
        let places = if body.graph.width(id) == 8 { at / BYTES * BYTES..(at / BYTES + 1) * BYTES } else { at..at + 1 };
        read.extend(places.filter(|&place| place < length).map(|place| (*object, place)));
    }
    let before = body.carried.len();
    for &(object, at) in read.difference(&known) {
        let width = body.objects[object.0 as usize].width;
        let index = body.graph.number(at as u128, 32);
        let next = body.graph.entry(object, index, width);
        body.carried.push(Carried { object, index: at, next, carry: Carry::True });
    }
    (body.carried.len() > before).then_some(body)
}
