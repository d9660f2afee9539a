//! Places that the low bits of a counter tell.
//!
//! What is made of a number by looking for its lowest one is the same for all odd numbers, and the same again for all
//! that are 2 more than a multiple of 4. So of 32 iterations in a row 31 add entries at places that are known
//! beforehand, and only one needs the whole number:
//!
//! ```text
//! n       ... 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 ...
//! ntz(n)       ?  0  1  0  2  0  1  0  3  0  1  0  2  0  1  0  ?
//! ```
//!
//! Found by computing with bits of which each is known, a bit of the number, its inverse, or anything.

use crate::kernel::{Carry, Graph, Loop, NodeId, Op};
use rustc_hash::FxHashMap;

/// Iterations of a period.
pub const PERIOD: usize = 32;

/// Places that come again and again.
#[derive(Clone, Debug)]
pub struct Period {
    /// The counter modulo [`PERIOD`] before an iteration of which the place is not known.
    pub open: usize,
    /// Places for the iterations that follow that one, up to the next such one.
    pub places: [usize; PERIOD - 1],
    /// Makes the places that are not known: an iteration is a whole period, and the counter begins with that of the
    /// first.
    pub others: Loop,
}

/// A bit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    Known(bool),
    /// That of the counter with this number, inverted or not.
    Counter(u32, bool),
    Any,
}

impl Bit {
    fn not(self) -> Bit {
        match self {
            Bit::Known(value) => Bit::Known(!value),
            Bit::Counter(at, inverted) => Bit::Counter(at, !inverted),
            Bit::Any => Bit::Any,
        }
    }

    fn xor(self, other: Bit) -> Bit {
        match (self, other) {
            (Bit::Known(value), bit) | (bit, Bit::Known(value)) => {
                if value {
                    bit.not()
                } else {
                    bit
                }
            }
            (Bit::Counter(a, x), Bit::Counter(b, y)) if a == b => Bit::Known(x != y),
            _ => Bit::Any,
        }
    }

    fn and(self, other: Bit) -> Bit {
        match (self, other) {
            (Bit::Known(false), _) | (_, Bit::Known(false)) => Bit::Known(false),
            (Bit::Known(true), bit) | (bit, Bit::Known(true)) => bit,
            (Bit::Counter(a, x), Bit::Counter(b, y)) if a == b => {
                if x == y {
                    self
                } else {
                    Bit::Known(false)
                }
            }
            _ => Bit::Any,
        }
    }

    fn or(self, other: Bit) -> Bit {
        self.not().and(other.not()).not()
    }
}

/// The period of the places that a loop makes as its only tokens, if a counter by ones that it is all about has one.
pub(super) fn period(index: &Loop) -> Option<Period> {
    let ([one], [counter], [(_, _, place)]) = (&index.carried[..], &index.counters[..], &index.outputs[..]) else {
        return None;
    };
    let element = index.graph.reachable([counter.start]).into_iter().find(|&id| {
        matches!(*index.graph.op(id), Op::Entry { object, index: at } if object == one.object
            && index.graph.constant(at) == Some(one.index as u128))
    })?;
    let whole = matches!(one.carry, Carry::Counter { lo: 0, .. }) && counter.start == element && counter.step == 1;
    if !whole || index.graph.width(element) < usize::BITS - PERIOD.leading_zeros() {
        return None;
    }
    let places: Vec<Option<usize>> = (0..PERIOD).map(|low| at(&index.graph, *place, element, low)).collect();
    let open = places.iter().position(Option::is_none)?;
    let mut known = [0; PERIOD - 1];
    for (i, place) in known.iter_mut().enumerate() {
        *place = places[(open + 1 + i) % PERIOD]?;
    }
    let mut others = index.clone();
    others.counters[0].step = PERIOD as u128;
    Some(Period { open, places: known, others })
}

/// The value of a node where the low bits of a counter are known, if they tell it.
fn at(graph: &Graph, root: NodeId, counter: NodeId, low: usize) -> Option<usize> {
    let mut bits: FxHashMap<NodeId, Vec<Bit>> = FxHashMap::default();
    for id in graph.reachable([root]) {
        let width = graph.width(id);
        let made: Vec<Bit> = if id == counter {
            let bit = |at: u32| match at < PERIOD.trailing_zeros() {
                true => Bit::Known(low >> at & 1 == 1),
                false => Bit::Counter(at, false),
            };
            (0..width).map(bit).collect()
        } else {
            evaluated(graph, id, &bits).unwrap_or_else(|| vec![Bit::Any; width as usize])
        };
        bits.insert(id, made);
    }
    let value = bits.get(&root)?.iter().enumerate().map(|(at, bit)| match bit {
        Bit::Known(value) => Some(usize::from(*value).checked_shl(at as u32).filter(|_| at < usize::BITS as usize)),
        _ => None,
    });
    value.sum::<Option<Option<usize>>>()?
}

/// The bits of a node from those of its operands, the lowest first.
fn evaluated(graph: &Graph, id: NodeId, bits: &FxHashMap<NodeId, Vec<Bit>>) -> Option<Vec<Bit>> {
    let width = graph.width(id) as usize;
    let of = |id: &NodeId| bits.get(id);
    let both = |a: &NodeId, b: &NodeId, f: fn(Bit, Bit) -> Bit| {
        Some(of(a)?.iter().zip(of(b)?).map(|(&a, &b)| f(a, b)).collect::<Vec<Bit>>())
    };
    let shift = |id: &NodeId| graph.constant(*id).and_then(|count| usize::try_from(count).ok());
    let zeros = |n: usize| std::iter::repeat_n(Bit::Known(false), n);
    Some(match graph.op(id) {
        Op::Const(value) => (0..width).map(|at| Bit::Known(value >> at & 1 == 1)).collect(),
        Op::Not(a) => of(a)?.iter().map(|bit| bit.not()).collect(),
        Op::And(a, b) => both(a, b, Bit::and)?,
        Op::Or(a, b) => both(a, b, Bit::or)?,
        Op::Xor(a, b) => both(a, b, Bit::xor)?,
        Op::Add(a, b) => sum(of(a)?, of(b)?.iter().copied(), Bit::Known(false)),
        Op::Sub(a, b) => sum(of(a)?, of(b)?.iter().map(|bit| bit.not()), Bit::Known(true)),
        Op::ShiftLeft(a, count) => zeros(shift(count)?.min(width)).chain(of(a)?.iter().copied()).take(width).collect(),
        Op::ShiftRight(a, count) => {
            of(a)?.iter().copied().skip(shift(count)?).chain(zeros(width)).take(width).collect()
        }
        Op::Extract(a, lo) => of(a)?.iter().copied().skip(*lo as usize).take(width).collect(),
        Op::Concat(parts) => {
            let parts: Option<Vec<&Vec<Bit>>> = parts.iter().rev().map(of).collect();
            parts?.into_iter().flatten().copied().collect()
        }
        Op::SignExtend(a) => {
            let a = of(a)?;
            a.iter().copied().chain(std::iter::repeat(*a.last()?)).take(width).collect()
        }
        Op::Equal(a, b) => {
            let differing = both(a, b, Bit::xor)?.into_iter().fold(Bit::Known(false), Bit::or);
            vec![differing.not()]
        }
        Op::Select(condition, a, b) => match of(condition)?.first()? {
            Bit::Known(true) => of(a)?.clone(),
            Bit::Known(false) => of(b)?.clone(),
            _ => both(a, b, |a, b| if a == b { a } else { Bit::Any })?,
        },
        _ => return None,
    })
}

/// A sum with what is carried in.
fn sum(a: &[Bit], b: impl Iterator<Item = Bit>, mut carry: Bit) -> Vec<Bit> {
    a.iter()
        .zip(b)
        .map(|(&a, b)| {
            let (half, made) = (a.xor(b), a.and(b));
            // Where both are the same that is carried on, whatever comes in.
            let out = if a == b && a != Bit::Any { a } else { made.or(half.and(carry)) };
            let bit = half.xor(carry);
            carry = out;
            bit
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Carried, Counter, Object, ObjectId};

    /// Places that `f` makes of a counter after the iteration.
    fn index(f: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> Loop {
        let mut graph = Graph::new();
        let zero = graph.number(0, 32);
        let n = graph.entry(ObjectId(0), zero, 64);
        let one = graph.number(1, 64);
        let next = graph.sum(n, one);
        let place = f(&mut graph, next);
        Loop {
            graph,
            objects: vec![Object { name: "n".into(), width: 64, length: 1, persistent: true, residue: None }],
            consumes: Vec::new(),
            produces: vec![(1, 64)],
            outputs: vec![(0, 0, place)],
            carried: vec![Carried { object: ObjectId(0), index: 0, next, carry: Carry::Counter { counter: 0, lo: 0 } }],
            counters: vec![Counter { start: n, step: 1 }],
        }
    }

    /// n & -n.
    fn lowest(graph: &mut Graph, n: NodeId) -> NodeId {
        let zero = graph.number(0, 64);
        let negative = graph.difference(zero, n);
        graph.and(n, negative)
    }

    #[test]
    fn the_lowest_one_of_a_number_comes_again() {
        let found = period(&index(lowest)).map(|found| (found.open, found.places.to_vec()));
        let places: Vec<usize> = (1..PERIOD).map(|n| 1 << n.trailing_zeros()).collect();
        assert_eq!(found, Some((PERIOD - 1, places)));
    }

    #[test]
    fn what_the_whole_number_tells_does_not() {
        assert!(period(&index(|_, n| n)).is_none());
        let other = |graph: &mut Graph, n| {
            let low = lowest(graph, n);
            graph.xor(low, n)
        };
        assert!(period(&index(other)).is_none());
    }
}
