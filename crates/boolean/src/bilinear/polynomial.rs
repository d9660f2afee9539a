//! Arithmetic modulo one polynomial over GF(2). Bit `i` of a number is the coefficient of X^i.

use std::fmt;

/// The polynomial `X^degree + low`, of degree 1 to 128, as what polynomials are reduced by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Modulus {
    degree: usize,
    low: u128,
}

impl Modulus {
    /// `X^degree + low`. None when the degree is not from 1 to 128, or `low` has a term above it.
    pub fn new(degree: usize, low: u128) -> Option<Modulus> {
        ((1..=128).contains(&degree) && (degree == 128 || low >> degree == 0)).then_some(Modulus { degree, low })
    }

    /// The degree n.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The polynomial without X^n.
    pub fn low(&self) -> u128 {
        self.low
    }

    /// The highest power below X^n.
    pub fn second_degree(&self) -> usize {
        127_usize.saturating_sub(self.low.leading_zeros() as usize)
    }

    /// All polynomials that are reduced, as bits.
    pub(super) fn mask(&self) -> u128 {
        u128::MAX >> (128 - self.degree)
    }

    /// `a · X`.
    pub fn times_x(&self, a: u128) -> u128 {
        let carry = a >> (self.degree - 1) & 1 != 0;
        (a << 1 & self.mask()) ^ if carry { self.low } else { 0 }
    }

    /// `a / X`, when X can be divided by: the constant term of the polynomial is 1.
    pub fn over_x(&self, a: u128) -> Option<u128> {
        (self.low & 1 != 0).then(|| if a & 1 == 0 { a >> 1 } else { (a ^ self.low) >> 1 | 1 << (self.degree - 1) })
    }

    /// `a · b`.
    pub fn multiply(&self, a: u128, b: u128) -> u128 {
        let b = b & self.mask();
        let mut sum = 0;
        for i in (0..self.degree).rev() {
            sum = self.times_x(sum);
            if b >> i & 1 != 0 {
                sum ^= a & self.mask();
            }
        }
        sum
    }

    /// `X^exponent`; of a negative exponent, when X can be divided by.
    pub fn power_of_x(&self, exponent: i64) -> Option<u128> {
        let one = self.multiply(1, 1);
        let step = if exponent < 0 { self.over_x(one)? } else { self.times_x(one) };
        let mut result = one;
        for bit in (0..64 - exponent.unsigned_abs().leading_zeros()).rev() {
            result = self.multiply(result, result);
            if exponent.unsigned_abs() >> bit & 1 != 0 {
                result = self.multiply(result, step);
            }
        }
        Some(result)
    }

    /// The exponent of a power of X, when there is one between -limit and limit: the one nearest to zero.
    pub fn exponent_of(&self, power: u128, limit: i64) -> Option<i64> {
        let one = self.multiply(1, 1);
        let (mut up, mut down) = (one, Some(one));
        for exponent in 0..=limit {
            if up == power {
                return Some(exponent);
            }
            if down == Some(power) {
                return Some(-exponent);
            }
            up = self.times_x(up);
            down = down.and_then(|down| self.over_x(down));
        }
        None
    }

    /// `element^1` to `element^n_powers`: what a recurrence `x := (x + a) · element` is split over independent lanes with.
    pub fn powers(&self, element: u128, n_powers: usize) -> Vec<u128> {
        let next = |power: &u128| Some(self.multiply(*power, element));
        std::iter::successors(Some(element & self.mask()), next).take(n_powers).collect()
    }

    /// The inverse of `a`, when `a` has no factor in common with the polynomial.
    pub fn inverse(&self, a: u128) -> Option<u128> {
        let matrix = crate::matrix::BitMatrix::from_u128_map(self.degree, self.degree, |x| self.multiply(x, a));
        let one = crate::matrix::BitVector::from_u128(self.degree, self.multiply(1, 1));
        (matrix.rank() == self.degree).then(|| matrix.solve(&one).map(|x| x.to_u128())).flatten()
    }

    /// Whether the polynomial has no factors, so that its remainders are a field. Rabin's test: X^(2^n) = X, and X^(2^(n/p)) -
    /// X has no factor in common for any prime p that divides n.
    pub fn is_irreducible(&self) -> bool {
        if self.degree == 1 {
            return true;
        }
        let x = 2 & self.mask();
        let frobenius = |n: usize| (0..n).fold(x, |power, _| self.multiply(power, power));
        let is_prime = |p: &usize| (2..*p).all(|q| !p.is_multiple_of(q));
        frobenius(self.degree) == x
            && (2..=self.degree)
                .filter(|p| self.degree.is_multiple_of(*p) && is_prime(p))
                .all(|p| self.inverse(frobenius(self.degree / p) ^ x).is_some())
    }

    /// `floor(X^(2n) / P)` without its leading X^n: what Barrett's reduction multiplies by.
    pub(super) fn barrett(&self) -> u128 {
        let mut quotient = 0;
        // The remainder of X^(2n), divided step by step; its highest n coefficients come out as the quotient.
        let mut rest = self.low & self.mask();
        for _ in 0..self.degree {
            let carry = rest >> (self.degree - 1) & 1;
            quotient = quotient << 1 | carry;
            rest = self.times_x(rest);
        }
        quotient
    }

    /// The inverse of the polynomial modulo X^64, when its constant term is 1.
    pub(super) fn inverse_modulo_x64(&self) -> Option<u64> {
        let p = if self.degree < 64 { self.low as u64 | 1 << self.degree } else { self.low as u64 };
        if p & 1 == 0 {
            return None;
        }
        // Bit by bit: whatever is left of 1 - inverse · p at X^i is taken away by a term X^i.
        let (mut inverse, mut rest) = (0, 1_u64);
        for i in 0..64 {
            if rest >> i & 1 != 0 {
                inverse |= 1 << i;
                rest ^= p << i;
            }
        }
        Some(inverse)
    }
}

impl fmt::Display for Modulus {
    /// `X^8 + X^4 + X^3 + X + 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let term = |exponent: usize| match exponent {
            0 => "1".to_owned(),
            1 => "X".to_owned(),
            _ => format!("X^{exponent}"),
        };
        f.write_str(&term(self.degree))?;
        (0..self.degree).rev().filter(|i| self.low >> i & 1 != 0).try_for_each(|i| write!(f, " + {}", term(i)))
    }
}
