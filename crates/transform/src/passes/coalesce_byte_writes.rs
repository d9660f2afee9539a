//! Superword-level parallelism of bytes: neighbouring bytes that are made alike are made together. One operation on a word
//! in the place of one for each of its bytes.
//!
//! ```text
//! out[0] := y[63..56] ^ m[0]; …; out[7] := y[7..0] ^ m[7]    =>    w := y ^ m[0..7]; out[0] := w[63..56]; …
//! d | (a[0] ^ b[0]) | … | (a[7] ^ b[7])                      =>    w := a[0..7] ^ b[0..7], folded to a byte by its halves
//! ```
//!
//! The operands of a word are bits of one value, or bytes that lie side by side in memory where nothing is written: what
//! would have to be put together byte by byte stays as it is.
//!
//! Result: where eight neighbouring bytes are written that one operation makes of such operands, they are bytes of one word.

use super::pass::{BlockRef, Form, Pass, Property};
use crate::kernel::{Effect, Graph, NodeId, ObjectId, Op};
use crate::statements::join_loads;
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "coalesce-byte-writes",
    about: "Makes neighbouring bytes together that one operation makes of words",
    requires: &[Property::Straight],
    establishes: &[],
    gives_up: &[],
    form: Form::Block(coalesce_byte_writes),
};

/// Bytes of a word.
const WORD: usize = 8;

/// Where a byte is written or read: a port or an object, and which.
type Place = (bool, u32);

/// Effects in which words are made of neighbouring bytes; `None` where there are none.
fn coalesce_byte_writes(block: BlockRef<'_>) -> Option<crate::kernel::Block> {
    let graph = block.graph;
    let stored: FxHashSet<ObjectId> = block.effects.iter().filter_map(stored).collect();
    let rows = rows(block);
    let order = Effect::needed(block.effects, graph);
    let sums: Vec<NodeId> = gathered(graph, &order);
    if rows.is_empty() && sums.is_empty() {
        return None;
    }
    let mut made = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut changed = false;
    for &id in &order {
        let folded = if sums.contains(&id) { folded(block, &stored, &mut made, &new, id) } else { None };
        changed |= folded.is_some();
        let value = match (folded, graph.op(id)) {
            (Some(value), _) => value,
            // Not simplified: narrower sums would be made of bits of a sum.
            (None, Op::Extract(inner, lo)) => made.add(Op::Extract(*new.get(inner)?, *lo), graph.width(id)),
            (None, _) => made.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    let mut effects: Vec<Effect> = block.effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    for row in rows {
        let values: Vec<NodeId> =
            row.iter().filter_map(|&at| written(&effects[at])).map(|(_, _, value)| value).collect();
        let Some(bytes) = word(block, &stored, &mut made, &values) else { continue };
        changed = true;
        for (&at, byte) in row.iter().zip(bytes) {
            match &mut effects[at] {
                Effect::Output { value, .. } | Effect::Store { value, .. } => *value = byte,
                _ => {}
            }
        }
    }
    changed.then(|| block.with((made, effects)))
}

fn stored(effect: &Effect) -> Option<ObjectId> {
    match effect {
        Effect::Store { object, .. } => Some(*object),
        _ => None,
    }
}

/// Where an effect writes, and what: the index of an element is a value.
fn written(effect: &Effect) -> Option<(Place, Result<u64, NodeId>, NodeId)> {
    match effect {
        Effect::Output { port, offset, value } => Some(((true, *port), Ok(*offset), *value)),
        Effect::Store { object, index, value } => Some(((false, object.0), Err(*index), *value)),
        _ => None,
    }
}

/// Effects that write a word of neighbouring bytes each, all made by the same operation; no place is written twice.
fn rows(block: BlockRef<'_>) -> Vec<[usize; WORD]> {
    let graph = block.graph;
    let mut places: FxHashMap<Place, Vec<(u64, usize, NodeId)>> = FxHashMap::default();
    for (at, effect) in block.effects.iter().enumerate() {
        let Some((place, index, value)) = written(effect) else { continue };
        let index = match index {
            Ok(offset) => offset,
            // What is written at a place that is computed may be any of them.
            Err(index) => match graph.constant(index) {
                Some(index) => index as u64,
                None => return Vec::new(),
            },
        };
        if graph.width(value) == 8 {
            places.entry(place).or_default().push((index, at, value));
        }
    }
    let mut rows = Vec::new();
    let mut places: Vec<_> = places.into_iter().collect();
    places.sort_unstable_by_key(|(place, _)| *place);
    for (_, mut bytes) in places {
        bytes.sort_unstable();
        if bytes.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            continue;
        }
        let mut rest = &bytes[..];
        while rest.len() >= WORD {
            let row = &rest[..WORD];
            let follow = row.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
            let kind = std::mem::discriminant(graph.op(row[0].2));
            let alike = row.iter().all(|(_, _, value)| std::mem::discriminant(graph.op(*value)) == kind);
            if follow && alike && matches!(graph.op(row[0].2), Op::Xor(..) | Op::And(..) | Op::Or(..)) {
                rows.push(std::array::from_fn(|i| row[i].1));
                rest = &rest[WORD..];
            } else {
                rest = &rest[1..];
            }
        }
    }
    rows
}

/// Bytes in the order of their places as those of one word, if its operands are words.
fn word(block: BlockRef<'_>, stored: &FxHashSet<ObjectId>, made: &mut Graph, values: &[NodeId]) -> Option<Vec<NodeId>> {
    let reversed: Vec<NodeId> = values.iter().rev().copied().collect();
    let found = [values, &reversed].into_iter().find_map(|parts| {
        let joined = joined(block, stored, made, parts)?;
        Some((joined, parts == values))
    });
    let (joined, is_first_highest) = found?;
    // Not simplified: that would be the operation on the bits of its operands again.
    let byte = |made: &mut Graph, i: usize| {
        let lo = 8 * if is_first_highest { WORD - 1 - i } else { i };
        made.add(Op::Extract(joined, lo as u32), 8)
    };
    Some((0..WORD).map(|i| byte(made, i)).collect())
}

/// Parts of a word, the highest first, as one operation on two words.
fn joined(block: BlockRef<'_>, stored: &FxHashSet<ObjectId>, made: &mut Graph, parts: &[NodeId]) -> Option<NodeId> {
    let joined = join_loads(made, parts);
    let (&a, &b) = match made.op(joined) {
        Op::Xor(a, b) | Op::And(a, b) | Op::Or(a, b) => (a, b),
        _ => return None,
    };
    [a, b].iter().all(|&side| is_word(block, stored, made, side)).then_some(joined)
}

/// Whether a value is there as a word: no parts, or bytes that lie side by side in either order.
fn is_word(block: BlockRef<'_>, stored: &FxHashSet<ObjectId>, made: &Graph, id: NodeId) -> bool {
    let Op::Concat(parts) = made.op(id) else { return true };
    let places: Option<Vec<(Place, i64)>> = parts.iter().map(|&part| read(block, stored, made, part)).collect();
    let Some(places) = places else { return false };
    let steps = |by: i64| places.windows(2).all(|pair| pair[1] == (pair[0].0, pair[0].1 + by));
    steps(1) || steps(-1)
}

/// Where a byte is read that nothing writes.
fn read(block: BlockRef<'_>, stored: &FxHashSet<ObjectId>, made: &Graph, id: NodeId) -> Option<(Place, i64)> {
    match made.op(id) {
        _ if made.width(id) != 8 => None,
        Op::Input { port, offset } => Some(((true, *port), *offset)),
        Op::Entry { object, index } => {
            let kept = &block.objects[object.0 as usize];
            let stays = kept.persistent && kept.width == 8 && !stored.contains(object);
            stays.then_some(((false, object.0), made.constant(*index)? as i64))
        }
        _ => None,
    }
}

/// Disjunctions of many bytes that no other such takes in.
fn gathered(graph: &Graph, order: &[NodeId]) -> Vec<NodeId> {
    let is_or = |id: NodeId| graph.width(id) == 8 && matches!(graph.op(id), Op::Or(..));
    let mut inner: FxHashSet<NodeId> = FxHashSet::default();
    for &id in order.iter().filter(|&&id| is_or(id)) {
        inner.extend(graph.op(id).operands().into_iter().filter(|&operand| is_or(operand)));
    }
    let many = |id: NodeId| terms(graph, id).is_some_and(|terms| terms.len() >= WORD);
    order.iter().copied().filter(|&id| is_or(id) && !inner.contains(&id) && many(id)).collect()
}

/// The most terms of a disjunction that are looked at.
const MOST_TERMS: usize = 256;

/// The terms of a disjunction of bytes.
fn terms(graph: &Graph, id: NodeId) -> Option<Vec<NodeId>> {
    let (mut open, mut terms) = (vec![id], Vec::new());
    while let Some(id) = open.pop() {
        match graph.op(id) {
            Op::Or(a, b) => open.extend([*b, *a]),
            _ => terms.push(id),
        }
        if terms.len() + open.len() > MOST_TERMS {
            return None;
        }
    }
    Some(terms)
}

/// A disjunction of bytes with those that make up words folded from these.
fn folded(
    block: BlockRef<'_>,
    stored: &FxHashSet<ObjectId>,
    made: &mut Graph,
    new: &FxHashMap<NodeId, NodeId>,
    id: NodeId,
) -> Option<NodeId> {
    let mut rest = terms(block.graph, id)?.iter().map(|term| new.get(term).copied()).collect::<Option<Vec<_>>>()?;
    let mut all: Option<NodeId> = None;
    let mut at = 0;
    while at + WORD <= rest.len() {
        let reversed: Vec<NodeId> = rest[at..at + WORD].iter().rev().copied().collect();
        let is_made = |made: &Graph, id: &NodeId| matches!(made.op(*id), Op::Xor(..) | Op::And(..));
        let word =
            if reversed.iter().all(|id| is_made(made, id)) { joined(block, stored, made, &reversed) } else { None };
        match word {
            Some(word) => {
                rest.drain(at..at + WORD);
                all = Some(match all {
                    Some(before) => made.or(before, word),
                    None => word,
                });
            }
            None => at += 1,
        }
    }
    let mut sum = all?;
    let mut width = made.width(sum);
    while width > 8 {
        width /= 2;
        let [low, high] = [0, width].map(|lo| made.add(Op::Extract(sum, lo), width));
        sum = made.or(low, high);
    }
    Some(rest.into_iter().fold(sum, |sum, term| made.or(sum, term)))
}
