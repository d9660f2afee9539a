//! Bit-field moves: values as runs of bits of words, and what puts runs together to words. Nothing is moved before a value is
//! needed at a place.

use super::Legalizer;
use crate::words::{BITS, Binary, WordId};

/// A run of bits in a word. What stands around them in the word does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub word: WordId,
    pub lo: u32,
    pub width: u32,
}

/// Runs one above the other, the least significant first.
pub(crate) type Bits = Vec<Run>;

/// Ones in the low bits.
pub(crate) fn ones(width: u32) -> u32 {
    if width >= BITS { u32::MAX } else { (1 << width) - 1 }
}

/// How many bits there are in all.
pub(crate) fn width_of(bits: &[Run]) -> u32 {
    bits.iter().map(|run| run.width).sum()
}

/// So many bits from `lo` on.
pub(crate) fn slice(bits: &[Run], lo: u32, width: u32) -> Bits {
    let mut at = 0;
    let mut all = Bits::new();
    for run in bits {
        let (begin, end) = (lo.max(at), (lo + width).min(at + run.width));
        if begin < end {
            push(&mut all, Run { word: run.word, lo: run.lo + begin - at, width: end - begin });
        }
        at += run.width;
    }
    all
}

/// Puts a run above others; two that lie one above the other in a word are one.
pub(crate) fn push(all: &mut Bits, run: Run) {
    match all.last_mut() {
        Some(last) if last.word == run.word && last.lo + last.width == run.lo => last.width += run.width,
        _ => all.push(run),
    }
}

impl Legalizer<'_> {
    /// Constant bits.
    pub(super) fn constant_bits(&mut self, value: u128, width: u32) -> Bits {
        let n = width.div_ceil(BITS);
        let part = |at: u32| (value >> (BITS * at)) as u32 & ones(width - BITS * at);
        (0..n).map(|at| Run { word: self.code.number(part(at)), lo: 0, width: (width - BITS * at).min(BITS) }).collect()
    }

    /// A word whose low bits these are, 32 at most; `is_clean`: all others are 0.
    pub(super) fn word(&mut self, bits: &[Run], is_clean: bool) -> WordId {
        let width = width_of(bits);
        // Terms of the same word that move by the same distance are one: the word, by how much to the left modulo 32, which
        // bits of the result.
        let mut terms: Vec<(WordId, u32, u32)> = Vec::new();
        let mut constant = 0;
        let mut at = 0;
        for run in bits {
            if let Some(value) = self.code.constant(run.word) {
                constant |= (value >> run.lo & ones(run.width)) << at;
                at += run.width;
                continue;
            }
            let (distance, mask) = ((at + BITS - run.lo) % BITS, ones(run.width) << at);
            match terms.iter_mut().find(|term| term.0 == run.word && term.1 == distance) {
                Some(term) => term.2 |= mask,
                None => terms.push((run.word, distance, mask)),
            }
            at += run.width;
        }
        // Bits of the result that count: the others may hold anything.
        let counting = if is_clean { u32::MAX } else { ones(width) };
        let mut words = Vec::new();
        let mut done = vec![false; terms.len()];
        for at in 0..terms.len() {
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            let (word, distance, mask) = terms[at];
            // What goes out at one end and comes in at the other is one term, if it is a rotation.
            let wraps = distance > 0 && {
                let (left, right) = (u32::MAX << distance, u32::MAX >> (BITS - distance));
                mask & left != 0 && mask & right != 0
            };
            let amount = self.code.number(distance);
            let lone = terms.len() == 1 && constant == 0;
            let (moved, has) = if wraps {
                let moved = self.code.rotate_left(self.has, word, amount);
                (moved, self.code.maybe(word).rotate_left(distance))
            } else if distance > 0 && mask & (u32::MAX << distance) == 0 {
                let moved = self.code.binary_with(Binary::Shr, word, BITS - distance);
                (moved, self.code.maybe(word) >> (BITS - distance))
            } else {
                (self.code.binary(Binary::Shl, word, amount), self.code.maybe(word) << distance)
            };
            // Bits that are none of this term's but would count.
            let other = has & !mask & if lone { counting } else { counting | constant };
            let other = other & counting;
            words.push(if other == 0 { moved } else { self.code.binary_with(Binary::And, moved, mask) });
        }
        if constant != 0 || words.is_empty() {
            words.push(self.code.number(constant));
        }
        while words.len() > 1 {
            // In pairs: the shortest way.
            let pairs = words.chunks(2).map(<[WordId]>::to_vec).collect::<Vec<_>>();
            words = pairs
                .into_iter()
                .map(|pair| match pair[..] {
                    [a, b] => self.code.binary(Binary::Or, a, b),
                    _ => pair[0],
                })
                .collect();
        }
        words[0]
    }

    /// Words of a value, the least significant first; the last is clean above if asked.
    pub(super) fn words(&mut self, bits: &[Run], is_clean: bool) -> Vec<WordId> {
        let width = width_of(bits);
        (0..width.div_ceil(BITS))
            .map(|at| {
                let part = slice(bits, BITS * at, (width - BITS * at).min(BITS));
                self.word(&part, is_clean)
            })
            .collect()
    }
}

/// Words as a value of so many bits.
pub(crate) fn of_words(words: &[WordId], width: u32) -> Bits {
    let of = |(at, &word): (usize, &WordId)| Run { word, lo: 0, width: (width - BITS * at as u32).min(BITS) };
    words.iter().enumerate().map(of).collect()
}
