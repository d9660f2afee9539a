//! Shift-register recognition: a value that is another one shifted, but for the bits that come in, is written as that.
//! What has almost all bits of another value need not be put together from each of them.
//!
//! ```text
//! v := [a, u[63..1]]; w := [b, a, u[63..2]]    =>    w := [b, v[63..1]]
//! ```
//!
//! A register that moves by a bit in each round is, in a transition that has all rounds, put together from the bits that came in:
//! as many parts as there were rounds, in each of them. Written part by part, that is the square of the number of rounds.
//!
//! Result: of a value that is another one shifted but for what comes in at one end, only that is put together.

use super::pass::{Form, Pass};
use crate::kernel::{Effect, Graph, NodeId, Op};
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "shift-registers",
    about: "Writes a value that is another one shifted as that",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Block(|block| shift_registers(block.graph, block.effects).map(|new| block.with(new))),
};

/// Parts that another value must have for it to be shifted.
const FEWEST: usize = 6;

/// Parts of this many bits and more are cheap to move: bytes.
const WIDE: u32 = 8;

/// A value as one part and a shifted one.
struct Shifted {
    /// What comes in.
    part: NodeId,
    /// Whether it comes in above what is shifted, and not below.
    above: bool,
    /// What has the rest, and the lowest of its bits that are taken.
    other: NodeId,
    lo: u32,
}

/// Effects in which values are shifted where they can be; `None` where none can.
pub fn shift_registers(graph: &Graph, effects: &[Effect]) -> Option<(Graph, Vec<Effect>)> {
    let order = Effect::needed(effects, graph);
    let found = found(graph, &order);
    if found.is_empty() {
        return None;
    }
    let mut made = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in &order {
        let width = graph.width(id);
        let value = match found.get(&id) {
            Some(Shifted { part, above, other, lo }) => {
                let (part, other) = (*new.get(part)?, *new.get(other)?);
                // Not simplified: that would put all of it together again.
                let rest = made.add(Op::Extract(other, *lo), width - made.width(part));
                let parts = if *above { [part, rest] } else { [rest, part] };
                made.add(Op::Concat(parts.into()), width)
            }
            None => made.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    let effects = effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    Some((made, effects))
}

/// The values that can be shifted ones, in the order of the graph.
fn found(graph: &Graph, order: &[NodeId]) -> FxHashMap<NodeId, Shifted> {
    let mut found = FxHashMap::default();
    // Values by their first and their last part.
    let mut by_end: [FxHashMap<NodeId, Vec<NodeId>>; 2] = Default::default();
    for &id in order {
        let Op::Concat(parts) = graph.op(id) else { continue };
        if parts.iter().filter(|&&part| graph.width(part) < WIDE).count() < FEWEST {
            continue;
        }
        if let Some(shifted) = shifted(graph, parts, &by_end) {
            found.insert(id, shifted);
        }
        for (of_end, part) in by_end.iter_mut().zip([parts[0], parts[parts.len() - 1]]) {
            of_end.entry(part).or_default().push(id);
        }
    }
    found
}

/// A value as one of those before, shifted.
fn shifted(graph: &Graph, parts: &[NodeId], by_end: &[FxHashMap<NodeId, Vec<NodeId>>; 2]) -> Option<Shifted> {
    let width = |parts: &[NodeId]| -> u32 { parts.iter().map(|&part| graph.width(part)).sum() };
    let others = |end: usize, part: NodeId| by_end[end].get(&part).into_iter().flatten().rev().copied();
    let (&first, below) = parts.split_first()?;
    for other in others(0, *below.first()?) {
        let Op::Concat(all) = graph.op(other) else { continue };
        let missing = graph.width(other).checked_sub(width(below));
        if let Some(lo) = missing.filter(|_| begins_with(graph, all.iter(), below.iter(), true)) {
            return Some(Shifted { part: first, above: true, other, lo });
        }
    }
    let (&last, above) = parts.split_last()?;
    for other in others(1, *above.last()?) {
        let Op::Concat(all) = graph.op(other) else { continue };
        if graph.width(other) >= width(above) && begins_with(graph, all.iter().rev(), above.iter().rev(), false) {
            return Some(Shifted { part: last, above: false, other, lo: 0 });
        }
    }
    None
}

/// Whether parts begin with others, of which the last may be a piece of a longer one: its upper or its lower bits.
fn begins_with<'n>(
    graph: &Graph,
    mut parts: impl Iterator<Item = &'n NodeId>,
    others: impl ExactSizeIterator<Item = &'n NodeId>,
    upper: bool,
) -> bool {
    let n = others.len();
    for (at, &other) in others.enumerate() {
        let Some(&part) = parts.next() else { return false };
        if part != other && !(at + 1 == n && is_end(graph, other, part, upper)) {
            return false;
        }
    }
    true
}

/// Whether a value is the upper or lower bits of another.
fn is_end(graph: &Graph, piece: NodeId, whole: NodeId, upper: bool) -> bool {
    let origin = |id: NodeId| match graph.op(id) {
        Op::Extract(from, lo) => (*from, *lo),
        _ => (id, 0),
    };
    let (n, of) = (graph.width(piece), graph.width(whole));
    if n > of {
        return false;
    }
    let first = if upper { of - n } else { 0 };
    if let (Some(piece), Some(whole)) = (graph.constant(piece), graph.constant(whole)) {
        return piece == (whole >> first) & crate::kernel::graph::mask(n);
    }
    let ((from, lo), (whole_from, whole_lo)) = (origin(piece), origin(whole));
    from == whole_from && lo == whole_lo + first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ObjectId;
    use crate::kernel::evaluate::{Environment, values};

    struct Words;

    impl Environment for Words {
        fn input(&self, port: u32, offset: i64) -> u128 {
            (offset as u128 + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15 + u128::from(port)) & 0xffff_ffff
        }
        fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
            0
        }
    }

    /// A register of 32 bits through so many rounds, each of which takes a bit of another word in.
    fn register(rounds: u32, left: bool) -> (Graph, Vec<Effect>) {
        let mut graph = Graph::new();
        let (mut register, word) = (graph.input(0, 0, 32), graph.input(1, 0, 32));
        let mut effects = Vec::new();
        for round in 0..rounds {
            let lowest = graph.extract(register, if left { 31 } else { 0 }, 1);
            let taken = graph.extract(word, round, 1);
            let bit = graph.xor(lowest, taken);
            let rest = graph.extract(register, u32::from(!left), 31);
            register = if left { graph.concat(&[rest, bit]) } else { graph.concat(&[bit, rest]) };
            effects.push(Effect::Output { port: 0, offset: u64::from(round), value: register });
        }
        (graph, effects)
    }

    fn given(graph: &Graph, effects: &[Effect]) -> Vec<u128> {
        let roots = Effect::roots(effects);
        let values = values(graph, &roots, &Words);
        roots.iter().map(|root| values[root]).collect()
    }

    #[test]
    fn registers_are_shifted_and_not_put_together() {
        for left in [false, true] {
            let (graph, effects) = register(30, left);
            let (shorter, moved) = shift_registers(&graph, &effects).expect("there are long values");
            assert_eq!(given(&graph, &effects), given(&shorter, &moved), "left: {left}");
            let parts = |graph: &Graph, effects: &[Effect]| -> usize {
                let of = |id: &NodeId| match graph.op(*id) {
                    Op::Concat(parts) => parts.len(),
                    _ => 0,
                };
                Effect::needed(effects, graph).iter().map(of).sum()
            };
            assert!(parts(&graph, &effects) > 400);
            assert!(parts(&shorter, &moved) < 90, "{}", parts(&shorter, &moved));
        }
    }

    #[test]
    fn short_values_stay() {
        let (graph, effects) = register(4, false);
        assert!(shift_registers(&graph, &effects).is_none());
    }
}
