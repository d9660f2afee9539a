//! Straight-line transitions as loops of trip count one, so that loop strategies serve them. What reads and stores elements
//! becomes a loop of one iteration over words, blocks and tokens.

use headrace_transform::kernel::{Carried, Carry, Loop, NodeId, ObjectId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Values of a transition from which on another way is looked for.
pub const FEWEST_NODES: usize = 200;

/// Bytes of a register.
const BYTES: usize = 16;

/// The same loop of one iteration, in which elements that are only read go on unchanged: then they are words and blocks
/// as those that iterations hand on are, and what is made of them need not be known before. Words that are made of words only
/// are left for the next call instead, as no iteration follows. `None` when no element is only read.
pub fn holding(body: &Loop) -> Option<Loop> {
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
    for at in left(&body) {
        body.carried[at].carry = Carry::Delay;
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

/// Carried words that are made of nothing but words which stay, or which are among them, and that nothing else reads: positions
/// in the list.
fn left(body: &Loop) -> BTreeSet<usize> {
    let is_word = |object: ObjectId| body.objects[object.0 as usize].width != 8;
    let at: BTreeMap<(ObjectId, usize), usize> =
        body.carried.iter().enumerate().map(|(at, one)| ((one.object, one.index), at)).collect();
    let words = body.carried.iter().enumerate().filter(|(_, one)| one.carry == Carry::True && is_word(one.object));
    let mut left: BTreeSet<usize> = words.map(|(at, _)| at).collect();
    loop {
        let fits = |id: NodeId| match body.graph.op(id) {
            Op::Entry { object, .. } => {
                let is_left = |place: &(ObjectId, usize)| at.get(place).is_none_or(|at| left.contains(at));
                is_word(*object) && element(body, id).as_ref().is_some_and(is_left)
            }
            Op::Input { .. } | Op::Loaded(_) | Op::Lookup(..) | Op::LookupBytes(..) => false,
            _ => true,
        };
        let others = body.carried.iter().enumerate().filter(|(at, _)| !left.contains(at)).map(|(_, one)| one.next);
        let others = body.graph.reachable(others.chain(body.outputs.iter().map(|output| output.2)));
        let read: BTreeSet<(ObjectId, usize)> = others.into_iter().filter_map(|id| element(body, id)).collect();
        let goes = |&at: &usize| {
            let one = &body.carried[at];
            read.contains(&(one.object, one.index)) || !body.graph.reachable([one.next]).into_iter().all(fits)
        };
        let more: Vec<usize> = left.iter().copied().filter(|at| goes(at)).collect();
        if more.is_empty() {
            return left;
        }
        more.iter().for_each(|at| _ = left.remove(at));
    }
}

/// The element that a node reads, where its place is known.
fn element(body: &Loop, id: NodeId) -> Option<(ObjectId, usize)> {
    match body.graph.op(id) {
        Op::Entry { object, index } => Some((*object, usize::try_from(body.graph.constant(*index)?).ok()?)),
        _ => None,
    }
}

/// A loop of one iteration in which bytes that are stored side by side leave as tokens of more ports; and the object
/// and the element with which each of these begins. `None` where that is not all that is stored, or is read too.
pub fn stores_as_tokens(body: &Loop) -> Option<(Loop, Vec<(ObjectId, usize)>)> {
    let mut objects: BTreeMap<ObjectId, Vec<(usize, NodeId)>> = BTreeMap::new();
    for one in &body.carried {
        objects.entry(one.object).or_default().push((one.index, one.next));
    }
    let is_read = |id: NodeId| matches!(body.graph.op(id), Op::Entry { object, .. } if objects.contains_key(object));
    if objects.is_empty() || body.graph.reachable(body.roots()).into_iter().any(is_read) {
        return None;
    }
    let mut turned = Loop { carried: Vec::new(), counters: Vec::new(), ..body.clone() };
    let mut written = Vec::new();
    for (object, mut stores) in objects {
        stores.sort_unstable_by_key(|store| store.0);
        let first = stores.first()?.0;
        let in_a_row = stores.iter().enumerate().all(|(at, store)| store.0 == first + at);
        if body.objects[object.0 as usize].width != 8 || !in_a_row {
            return None;
        }
        let port = turned.produces.len() as u32;
        turned.produces.push((stores.len() as u64, 8));
        turned.outputs.extend(stores.iter().enumerate().map(|(at, store)| (port, at as u64, store.1)));
        written.push((object, first));
    }
    Some((turned, written))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_transform::kernel::{Graph, Object};

    #[test]
    fn what_reads_elements_and_stores_bytes_takes_words_and_gives_tokens() {
        let object =
            |name: &str, width: u32| Object { name: name.into(), width, length: 4, persistent: true, residue: None };
        let (words, bytes) = (ObjectId(0), ObjectId(1));
        let mut graph = Graph::new();
        let first = graph.number(0, 32);
        let word = graph.entry(words, first, 32);
        let carried = (0..4).map(|at| {
            let next = graph.extract(word, 8 * at, 8);
            Carried { object: bytes, index: at as usize, next, carry: Carry::True }
        });
        let carried = carried.collect();
        let body = Loop {
            objects: vec![object("words", 32), object("bytes", 8)],
            consumes: Vec::new(),
            produces: Vec::new(),
            outputs: Vec::new(),
            carried,
            counters: Vec::new(),
            graph,
        };
        let (turned, written) = stores_as_tokens(&body).unwrap();
        assert_eq!((written, &turned.produces[..]), (vec![(bytes, 0)], &[(4, 8)][..]));
        let held = holding(&turned).unwrap();
        assert_eq!(held.carried.iter().map(|one| (one.object, one.index)).collect::<Vec<_>>(), [(words, 0)]);
        assert_eq!(held.outputs.len(), 4);
    }
}
