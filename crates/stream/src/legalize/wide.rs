//! Legalization of wide arithmetic: numbers of several words, the least significant first, the last one clean above its bits.

use super::bits::ones;
use super::{Legalizer, NoForm};
use crate::words::{BITS, Binary, WordId};

impl Legalizer<'_> {
    /// Sum modulo 2^width.
    pub(super) fn sum(&mut self, a: &[WordId], b: &[WordId]) -> Vec<WordId> {
        let mut carry: Option<WordId> = None;
        let mut all = Vec::new();
        for (at, (&x, &y)) in a.iter().zip(b).enumerate() {
            let is_last = at + 1 == a.len();
            let sum = self.code.binary(Binary::Add, x, y);
            let mut out = (!is_last).then(|| self.code.binary(Binary::LtU, sum, x));
            let with = match carry {
                Some(carry) => {
                    let with = self.code.binary(Binary::Add, sum, carry);
                    // Either the one or the other sum comes round.
                    if let Some(one) = out {
                        let other = self.code.binary(Binary::LtU, with, carry);
                        out = Some(self.code.binary(Binary::Or, one, other));
                    }
                    with
                }
                None => sum,
            };
            carry = out;
            all.push(with);
        }
        all
    }

    /// Difference modulo 2^width, and 1 where it is less than nothing.
    pub(super) fn difference(&mut self, a: &[WordId], b: &[WordId]) -> (Vec<WordId>, WordId) {
        let mut borrow: Option<WordId> = None;
        let mut all = Vec::new();
        for (&x, &y) in a.iter().zip(b) {
            let difference = self.code.binary(Binary::Sub, x, y);
            let mut out = self.code.binary(Binary::LtU, x, y);
            let with = match borrow {
                Some(borrow) => {
                    let with = self.code.binary(Binary::Sub, difference, borrow);
                    let other = self.code.binary(Binary::LtU, difference, borrow);
                    out = self.code.binary(Binary::Or, out, other);
                    with
                }
                None => difference,
            };
            borrow = Some(out);
            all.push(with);
        }
        let borrow = borrow.unwrap_or_else(|| self.code.number(0));
        (all, borrow)
    }

    /// High word of a product, from halves where the machine has no instruction for it.
    fn high_product(&mut self, a: WordId, b: WordId) -> WordId {
        if self.has.high_product {
            return self.code.binary(Binary::MulHi, a, b);
        }
        if let (Some(x), Some(y)) = (self.code.constant(a), self.code.constant(b)) {
            return self.code.number(Binary::MulHi.apply(x, y));
        }
        if self.code.maybe(a).leading_zeros() + self.code.maybe(b).leading_zeros() >= BITS {
            return self.code.number(0);
        }
        let code = &mut self.code;
        let halves = |code: &mut crate::words::WordCode, x| {
            (code.binary_with(Binary::And, x, 0xffff), code.binary_with(Binary::Shr, x, 16))
        };
        let ((al, ah), (bl, bh)) = (halves(code, a), halves(code, b));
        let [ll, lh, hl, hh] = [(al, bl), (al, bh), (ah, bl), (ah, bh)].map(|(x, y)| code.binary(Binary::Mul, x, y));
        let carry = code.binary_with(Binary::Shr, ll, 16);
        let middle = code.binary(Binary::Add, hl, carry);
        let low = code.binary_with(Binary::And, middle, 0xffff);
        let low = code.binary(Binary::Add, lh, low);
        let middle = code.binary_with(Binary::Shr, middle, 16);
        let low = code.binary_with(Binary::Shr, low, 16);
        let high = code.binary(Binary::Add, hh, middle);
        code.binary(Binary::Add, high, low)
    }

    /// Product modulo 2^width.
    pub(super) fn product(&mut self, a: &[WordId], b: &[WordId]) -> Vec<WordId> {
        let n = a.len();
        let zero = self.code.number(0);
        let mut all = vec![zero; n];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate().take(n - i) {
                if self.code.constant(x) == Some(0) || self.code.constant(y) == Some(0) {
                    continue;
                }
                let mut part = vec![zero; n - i - j];
                part[0] = self.code.binary(Binary::Mul, x, y);
                if n - i - j > 1 {
                    part[1] = self.high_product(x, y);
                }
                let sum = self.sum(&all[i + j..], &part);
                all[i + j..].copy_from_slice(&sum);
            }
        }
        all
    }

    /// 1 where both are equal.
    pub(super) fn equal(&mut self, a: &[WordId], b: &[WordId]) -> WordId {
        if let ([a], [b]) = (a, b) {
            return self.code.binary(Binary::Eq, *a, *b);
        }
        let zero = self.code.number(0);
        let mut all = zero;
        for (&x, &y) in a.iter().zip(b) {
            let differs = self.code.binary(Binary::Xor, x, y);
            all = self.code.binary(Binary::Or, all, differs);
        }
        self.code.binary(Binary::Eq, all, zero)
    }

    /// 1 where the first is less, unsigned.
    pub(super) fn less(&mut self, a: &[WordId], b: &[WordId]) -> WordId {
        if let ([a], [b]) = (a, b) {
            return self.code.binary(Binary::LtU, *a, *b);
        }
        self.difference(a, b).1
    }

    /// Shifted or rotated by an amount that is not known. The last word has garbage above where `a` has.
    pub(super) fn moved(
        &mut self,
        how: Binary,
        a: &[WordId],
        width: u32,
        amount: &[WordId],
        most: u128,
    ) -> Result<Vec<WordId>, NoForm> {
        let zero = self.code.number(0);
        let n = amount[0];
        if how == Binary::Rotl {
            return Ok(self.rotated(a, width, n));
        }
        if let [word] = *a {
            let word = if how == Binary::Sra && width < BITS {
                let up = self.code.binary_with(Binary::Shl, word, BITS - width);
                self.code.binary_with(Binary::Sra, up, BITS - width)
            } else {
                word
            };
            let moved = self.code.binary(how, word, n);
            if most < u128::from(BITS) {
                return Ok(vec![moved]);
            }
            // Amounts count modulo 32: beyond, nothing is left.
            let far = if how == Binary::Sra { self.code.binary_with(Binary::Sra, word, 31) } else { zero };
            let limit = self.code.number(BITS);
            let mut is_near = self.code.binary(Binary::LtU, n, limit);
            for &high in &amount[1..] {
                let is_none = self.code.binary(Binary::Eq, high, zero);
                is_near = self.code.binary(Binary::And, is_near, is_none);
            }
            return Ok(vec![self.code.select(is_near, moved, far)]);
        }
        if how == Binary::Sra {
            return Err(NoForm::new(
                "it shifts numbers of more than 32 bits with their sign by amounts that are not known",
            ));
        }
        // Words first, by powers of two, then bits.
        let mut words = a.to_vec();
        let count = words.len();
        let mut step = 1;
        while step < count {
            let bit = self.code.binary_with(Binary::And, n, BITS * step as u32);
            let from = |at: usize| {
                if how == Binary::Shl { at.checked_sub(step) } else { (at + step < count).then_some(at + step) }
            };
            let stepped: Vec<WordId> = (0..count).map(|at| from(at).map_or(zero, |at| words[at])).collect();
            words = (0..count).map(|at| self.code.select(bit, stepped[at], words[at])).collect();
            step *= 2;
        }
        let fine = self.code.binary_with(Binary::And, n, BITS - 1);
        let back = self.code.binary_with(Binary::Xor, fine, BITS - 1);
        let mut all = Vec::new();
        for at in 0..count {
            let (own, other, against) = match how {
                Binary::Shl => (Binary::Shl, at.checked_sub(1), Binary::Shr),
                _ => (Binary::Shr, (at + 1 < count).then_some(at + 1), Binary::Shl),
            };
            let moved = self.code.binary(own, words[at], fine);
            all.push(match other {
                Some(other) => {
                    // By one, and by 31 less the amount: never by 32.
                    let once = self.code.binary_with(against, words[other], 1);
                    let rest = self.code.binary(against, once, back);
                    self.code.binary(Binary::Or, moved, rest)
                }
                None => moved,
            });
        }
        let reach = (BITS as usize * count).next_power_of_two() as u128;
        if most >= reach {
            let limit = self.code.number(width);
            let mut is_near = self.code.binary(Binary::LtU, n, limit);
            for &high in &amount[1..] {
                let is_none = self.code.binary(Binary::Eq, high, zero);
                is_near = self.code.binary(Binary::And, is_near, is_none);
            }
            all = all.into_iter().map(|word| self.code.select(is_near, word, zero)).collect();
        }
        Ok(all)
    }

    /// Rotated to the left. The width is a power of two.
    fn rotated(&mut self, a: &[WordId], width: u32, n: WordId) -> Vec<WordId> {
        if width == BITS {
            return vec![self.code.rotate_left(self.has, a[0], n)];
        }
        if width < BITS {
            let n = self.code.binary_with(Binary::And, n, width - 1);
            let all = self.code.number(width);
            let back = self.code.binary(Binary::Sub, all, n);
            let (high, low) = (self.code.binary(Binary::Shl, a[0], n), self.code.binary(Binary::Shr, a[0], back));
            let both = self.code.binary(Binary::Or, high, low);
            return vec![self.code.binary_with(Binary::And, both, ones(width))];
        }
        let mut words = a.to_vec();
        let count = words.len();
        let mut step = 1;
        while step < count {
            let bit = self.code.binary_with(Binary::And, n, BITS * step as u32);
            words = (0..count).map(|at| self.code.select(bit, words[(at + count - step) % count], words[at])).collect();
            step *= 2;
        }
        let fine = self.code.binary_with(Binary::And, n, BITS - 1);
        let back = self.code.binary_with(Binary::Xor, fine, BITS - 1);
        (0..count)
            .map(|at| {
                let high = self.code.binary(Binary::Shl, words[at], fine);
                let once = self.code.binary_with(Binary::Shr, words[(at + count - 1) % count], 1);
                let low = self.code.binary(Binary::Shr, once, back);
                self.code.binary(Binary::Or, high, low)
            })
            .collect()
    }
}
