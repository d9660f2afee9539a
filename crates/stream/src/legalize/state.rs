//! What iterations find: keys, counters, what the record before was, and chains, as words that kernels hold or carry.

use super::bits::{Bits, Run};
use super::{Legalizer, NoForm};
use crate::words::{BITS, Binary, Carried, First, Held, Why, WordId, WordOp, per_word, places};
use headrace_kernel::{Carry, ObjectId};

/// A word that is carried, or one that the record before had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The word in an iteration.
    pub now: WordId,
    /// Position in the carried words whose next value is still missing.
    pub open: Option<usize>,
}

impl Legalizer<'_> {
    /// The carry of an element.
    pub(super) fn carry_of(&self, object: ObjectId, index: usize) -> Option<&Carry> {
        self.carries.get(&(object, index)).map(|&at| &self.body.carried[at].carry)
    }

    /// Whether elements of an object lie several in a word: those of a word are carried in the same way, or none is.
    pub(super) fn is_packed(&self, object: ObjectId) -> bool {
        let of = &self.body.objects[object.0 as usize];
        let n = per_word(of.width) as usize;
        let kind = |index: usize| self.carry_of(object, index).map(std::mem::discriminant);
        // Narrower ones would leave bits between them.
        matches!(of.width, 8 | 16)
            && (0..of.length).step_by(n).all(|begin| {
                let end = (begin + n).min(of.length);
                (begin..end).all(|index| kind(index) == kind(begin))
                    && !(begin..end).any(|index| matches!(self.carry_of(object, index), Some(Carry::Counter { .. })))
            })
    }

    /// The bits of an element when an iteration begins.
    pub(super) fn element(&mut self, object: ObjectId, index: usize) -> Result<Bits, NoForm> {
        let (width, length) = {
            let of = &self.body.objects[object.0 as usize];
            (of.width, of.length)
        };
        if let Some(&Carry::Counter { counter, lo }) = self.carry_of(object, index) {
            let words = self.counter(counter);
            return Ok(super::bits::slice(&words, lo, width));
        }
        let is_carried = self.carry_of(object, index).is_some();
        let is_packed = self.is_packed(object);
        let parts = match is_packed {
            true => places(width, index as u64, length as u64, self.big_endian),
            false => (0..width.div_ceil(BITS)).map(|word| (word, 0, (width - BITS * word).min(BITS))).collect(),
        };
        let mut bits = Bits::new();
        for (word, lo, part) in parts {
            let id = if !is_carried {
                let of = per_word(width) == 1;
                let word = if is_packed || !of { word } else { index as u32 * width.div_ceil(BITS) + word };
                match is_packed || of {
                    true => self.held(Held { object: object.0, word }),
                    false => {
                        // Its neighbours are carried: the word is held with what they were at first.
                        let (word, lo, _) = places(width, index as u64, length as u64, self.big_endian)[0];
                        let held = self.held(Held { object: object.0, word });
                        bits.push(Run { word: held, lo, width: part });
                        continue;
                    }
                }
            } else {
                let key = (object, if is_packed { usize::MAX } else { index }, word);
                let place = self.places.get(&key).copied();
                place.ok_or_else(|| NoForm::new("what iterations hand on has no order"))?.now
            };
            bits.push(Run { word: id, lo, width: part });
        }
        Ok(bits)
    }

    fn held(&mut self, held: Held) -> WordId {
        let at = self.code.held.iter().position(|other| *other == held).unwrap_or_else(|| {
            self.code.held.push(held);
            self.code.held.len() - 1
        });
        self.code.add(WordOp::Held(at as u32))
    }

    /// A number that goes on by a constant, as words that count.
    fn counter(&mut self, counter: usize) -> Bits {
        if let Some(known) = self.counters.get(&counter) {
            return known.clone();
        }
        let (start, step) = (self.body.counters[counter].start, self.body.counters[counter].step);
        let width = self.body.graph.width(start);
        let n = width.div_ceil(BITS);
        let first = self.code.carried.len();
        let now: Vec<WordId> = (0..n)
            .map(|word| {
                self.code.carried.push(Carried {
                    first: First::Counter { counter, word },
                    next: WordId(0),
                    why: Why::Counts,
                });
                self.code.add(WordOp::Carried((first + word as usize) as u32))
            })
            .collect();
        let step = step.wrapping_mul(u128::from(self.stride));
        let step: Vec<WordId> = (0..n).map(|word| self.code.number((step >> (BITS * word)) as u32)).collect();
        let next = self.sum(&now, &step);
        for (at, next) in next.into_iter().enumerate() {
            self.code.carried[first + at].next = next;
        }
        let bits = super::bits::of_words(&now, width);
        self.counters.insert(counter, bits.clone());
        bits
    }

    /// A word of the record before the iteration's.
    pub(super) fn of_record_before(&mut self, word: WordId, first: First) -> WordId {
        let at = self.code.carried.len();
        let carried = self.code.add(WordOp::Carried(at as u32));
        if self.stride == 1 {
            self.code.carried.push(Carried { first, next: word, why: Why::RecordBefore });
            return carried;
        }
        // The cluster before has it; the first one gets what the last one had in the iteration before.
        let own = self.code.add(WordOp::Cluster);
        let last = self.code.number(self.stride - 1);
        let before = self.code.binary(Binary::Add, own, last);
        let before = self.code.binary_with(Binary::And, before, self.stride - 1);
        let from = self.code.add(WordOp::Permute { value: word, lane: before });
        self.code.carried.push(Carried { first, next: from, why: Why::RecordBefore });
        self.code.select(own, from, carried)
    }
}
