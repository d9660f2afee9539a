//! Recognition of bit-field moves and byte swaps. What nodes read when they are printed.
//!
//! `Concat` is how every movement of bits looks in a transition. Printed part by part it would be long and slow, so
//! that it is first taken apart into what a machine has: bytes that lie one beside the other are one load, bytes of one
//! value in reverse order are a byte swap, and parts of one value that move by the same distance are one shift and one
//! mask.

use super::Together;
use crate::kernel::graph::mask;
use crate::kernel::{Graph, NodeId, Object, ObjectId, Op};
use rustc_hash::FxHashSet;

/// Where bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Tokens of an input port.
    Port(u32),
    /// Elements of an object.
    Object(ObjectId),
}

/// A part of a value that is put together with `|`. All move what they read to its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Constant bits.
    Const(u128),
    /// Bytes from memory.
    Load {
        /// Where they lie.
        place: Place,
        /// The first of them.
        first: i64,
        /// How many.
        n_bytes: u32,
        /// The first is the most significant.
        big: bool,
        /// Bits below.
        at: u32,
    },
    /// A value moved left by `shift` (negative: right); only the bits of the mask are taken.
    Moved {
        /// The value.
        source: NodeId,
        /// Bits to the left.
        shift: i32,
        /// What is taken, after it moved.
        mask: u128,
    },
    /// The bytes of `n_bits` bits of a value from `lo` on in reverse order.
    Swapped {
        /// The value.
        source: NodeId,
        /// The lowest of the bits.
        lo: u32,
        /// How many.
        n_bits: u32,
        /// Bits below.
        at: u32,
    },
}

/// What lies outside and can be asked for bytes.
pub struct Outside<'a, N: ?Sized> {
    /// The values.
    pub graph: &'a Graph,
    /// What [`ObjectId`]s are.
    pub objects: &'a [Object],
    /// Which tokens lie one beside the other, and what else the printer knows of what lies outside.
    pub names: &'a N,
    /// Objects that change between the first statement and the last but at the very end: what they held is read before, byte
    /// by byte.
    pub stored: FxHashSet<ObjectId>,
}

impl<N: Together + ?Sized> Outside<'_, N> {
    /// Where a byte lies in memory, if it stays there.
    pub fn byte(&self, id: NodeId) -> Option<(Place, i64)> {
        if self.graph.width(id) != 8 {
            return None;
        }
        match self.graph.op(id) {
            Op::Input { port, offset } => Some((Place::Port(*port), *offset)),
            Op::Entry { object, index } => {
                let kept = &self.objects[object.0 as usize];
                let index = self.graph.constant(*index)?;
                let lies_there = kept.persistent && kept.width == 8 && !self.stored.contains(object);
                lies_there.then_some((Place::Object(*object), index as i64))
            }
            _ => None,
        }
    }

    /// Whether bytes from there on have one address after the other.
    pub fn lie_together(&self, place: Place, first: i64, n: u32) -> bool {
        match place {
            Place::Port(port) => self.names.input_bytes(port, first, n),
            Place::Object(_) => true,
        }
    }

    /// The pieces of a `Concat`.
    pub fn pieces(&self, parts: &[NodeId]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut end: u32 = parts.iter().map(|&part| self.graph.width(part)).sum();
        let mut rest = parts;
        while let Some((&part, after)) = rest.split_first() {
            if let Some((n, piece)) = self.load(rest, end).or_else(|| self.swap(rest, end)) {
                end -= n * 8;
                rest = &rest[n as usize..];
                pieces.push(piece);
                continue;
            }
            let width = self.graph.width(part);
            end -= width;
            rest = after;
            let (source, lo) = match self.graph.op(part) {
                Op::Const(0) => continue,
                Op::Const(value) => {
                    add_constant(&mut pieces, value << end);
                    continue;
                }
                Op::Extract(source, lo) => (*source, *lo),
                _ => (part, 0),
            };
            let taken = mask(width) << end;
            let distance = end as i32 - lo as i32;
            let known = pieces.iter_mut().find_map(|piece| match piece {
                Piece::Moved { source: other, shift, mask } if *other == source && *shift == distance => Some(mask),
                _ => None,
            });
            match known {
                Some(mask) => *mask |= taken,
                None => pieces.push(Piece::Moved { source, shift: distance, mask: taken }),
            }
        }
        pieces
    }

    /// Bytes at the beginning of `parts` that are one load; `end` is the bit above them.
    fn load(&self, parts: &[NodeId], end: u32) -> Option<(u32, Piece)> {
        let (place, first) = self.byte(*parts.first()?)?;
        let run = |step: i64| {
            let follows = |(i, &part): (usize, &NodeId)| self.byte(part) == Some((place, first + step * i as i64));
            parts.iter().enumerate().take_while(|&pair| follows(pair)).count() as u32
        };
        let (up, down) = (run(1), run(-1));
        let big = up >= down;
        // The longest load is that of the lowest addresses, as in stores of so many bytes: processors hand on to a load
        // what one store wrote, not what two did.
        let odd = 1 << down.trailing_zeros().min(4);
        let most = if big || odd < 2 { up.max(down) } else { odd };
        for n in [16, 8, 4, 2] {
            let first = if big { first } else { first + 1 - i64::from(n) };
            if n <= most && self.lie_together(place, first, n) {
                return Some((n, Piece::Load { place, first, n_bytes: n, big, at: end - n * 8 }));
            }
        }
        None
    }

    /// Bytes at the beginning of `parts` that are those of one value in reverse order.
    fn swap(&self, parts: &[NodeId], end: u32) -> Option<(u32, Piece)> {
        let byte = |part: NodeId| match self.graph.op(part) {
            Op::Extract(source, lo) if self.graph.width(part) == 8 => Some((*source, *lo)),
            _ => None,
        };
        let (source, lo) = byte(*parts.first()?)?;
        let follows = |(i, &part): (usize, &NodeId)| {
            byte(part).is_some_and(|(other, at)| other == source && at == lo + 8 * i as u32)
        };
        let n = parts.iter().enumerate().take_while(|&pair| follows(pair)).count() as u32;
        let n = [16, 8, 4].into_iter().find(|&size| size <= n)?;
        Some((n, Piece::Swapped { source, lo, n_bits: n * 8, at: end - n * 8 }))
    }

    /// The nodes that a node reads when it is printed, as often as it names them.
    pub fn reads(&self, id: NodeId) -> Vec<NodeId> {
        match self.graph.op(id) {
            Op::Concat(parts) => (self.pieces(parts).iter())
                .filter_map(|piece| match piece {
                    Piece::Moved { source, .. } | Piece::Swapped { source, .. } => Some(*source),
                    Piece::Const(_) | Piece::Load { .. } => None,
                })
                .collect(),
            op => op.operands().to_vec(),
        }
    }
}

fn add_constant(pieces: &mut Vec<Piece>, value: u128) {
    let known = pieces.iter_mut().find_map(|piece| match piece {
        Piece::Const(known) => Some(known),
        _ => None,
    });
    match known {
        Some(known) => *known |= value,
        None => pieces.push(Piece::Const(value)),
    }
}
