//! Mathematical integers with the operators of the language. Up to 64 bits they never touch the heap.

use crate::{IntType, MAX_WIDTH};
use num_bigint::BigInt;
use num_integer::Integer as _;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};
use std::cmp::Ordering;
use std::fmt;

/// A mathematical integer. `Big` only ever holds values outside `i64`, so equality is structural.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// Fits 64 bits, signed.
    Small(i64),
    /// Does not.
    Big(Box<BigInt>),
}

/// Why an operator has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticError {
    /// `/` or `div` by zero.
    DivisionByZero,
    /// `mod` by zero or a negative number.
    ModulusNotPositive,
    /// `>>` by a negative count.
    NegativeShift,
    /// `<<` by more than [`MAX_SHIFT`] where the value as a whole counts.
    ShiftTooFar,
}

/// The largest count of a left shift whose value is used as a whole, not stored.
pub const MAX_SHIFT: u32 = 2048;

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithmeticError::DivisionByZero => "division by zero",
            ArithmeticError::ModulusNotPositive => "`mod` needs a positive modulus",
            ArithmeticError::NegativeShift => "shift by a negative count",
            ArithmeticError::ShiftTooFar => "left shift by more than 2048 where the value is not stored",
        })
    }
}

impl Int {
    /// 0
    pub const ZERO: Int = Int::Small(0);

    /// The value as an `i64` when it fits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Int::Small(value) => Some(*value),
            Int::Big(_) => None,
        }
    }

    /// The value as a `u64` when it fits.
    pub fn to_u64(&self) -> Option<u64> {
        match self {
            Int::Small(value) => u64::try_from(*value).ok(),
            Int::Big(value) => value.to_u64(),
        }
    }

    /// The value as an arbitrary-precision integer.
    pub fn to_big(&self) -> BigInt {
        match self {
            Int::Small(value) => BigInt::from(*value),
            Int::Big(value) => (**value).clone(),
        }
    }

    /// True below zero.
    pub fn is_negative(&self) -> bool {
        match self {
            Int::Small(value) => *value < 0,
            Int::Big(value) => value.is_negative(),
        }
    }

    /// Bits that the absolute value needs; 0 for 0.
    pub fn magnitude_bits(&self) -> u64 {
        match self {
            Int::Small(value) => 64 - u64::from(value.unsigned_abs().leading_zeros()),
            Int::Big(value) => value.bits(),
        }
    }

    /// `self + other`
    pub fn add(&self, other: &Int) -> Int {
        if let (Int::Small(a), Int::Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Int::Small(sum);
        }
        Int::from(self.to_big() + other.to_big())
    }

    /// `self - other`
    pub fn sub(&self, other: &Int) -> Int {
        if let (Int::Small(a), Int::Small(b)) = (self, other)
            && let Some(difference) = a.checked_sub(*b)
        {
            return Int::Small(difference);
        }
        Int::from(self.to_big() - other.to_big())
    }

    /// `self * other`
    pub fn mul(&self, other: &Int) -> Int {
        if let (Int::Small(a), Int::Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Int::Small(product);
        }
        Int::from(self.to_big() * other.to_big())
    }

    /// `self / other`, truncated toward zero.
    pub fn div(&self, other: &Int) -> Result<Int, ArithmeticError> {
        match (self, other) {
            (_, Int::Small(0)) => Err(ArithmeticError::DivisionByZero),
            (Int::Small(a), Int::Small(b)) if !(*a == i64::MIN && *b == -1) => Ok(Int::Small(a / b)),
            _ => Ok(Int::from(self.to_big() / other.to_big())),
        }
    }

    /// `self mod other`: the residue in `0..other`; the modulus must be positive.
    pub fn modulo(&self, other: &Int) -> Result<Int, ArithmeticError> {
        if other.is_negative() || *other == Int::ZERO {
            return Err(ArithmeticError::ModulusNotPositive);
        }
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => Ok(Int::Small(a.rem_euclid(*b))),
            _ => Ok(Int::from(self.to_big().mod_floor(&other.to_big()))),
        }
    }

    /// `self & other` on infinite two's complement.
    pub fn and(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => Int::Small(a & b),
            _ => Int::from(self.to_big() & other.to_big()),
        }
    }

    /// `self | other` on infinite two's complement.
    pub fn or(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => Int::Small(a | b),
            _ => Int::from(self.to_big() | other.to_big()),
        }
    }

    /// `self ^ other` on infinite two's complement.
    pub fn xor(&self, other: &Int) -> Int {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => Int::Small(a ^ b),
            _ => Int::from(self.to_big() ^ other.to_big()),
        }
    }

    /// `~self`, which is `-self - 1`.
    pub fn complement(&self) -> Int {
        match self {
            Int::Small(value) => Int::Small(!value),
            Int::Big(value) => Int::from(-(**value).clone() - 1),
        }
    }

    /// `-self`
    pub fn neg(&self) -> Int {
        Int::ZERO.sub(self)
    }

    /// `self << count`, wrapped to `ty`; a negative count shifts to the right. With a type wider than every variable the
    /// value as a whole counts, and a count above [`MAX_SHIFT`] is an error; with any other, no count exhausts memory.
    pub fn shl(&self, count: &Int, ty: IntType) -> Result<Int, ArithmeticError> {
        if count.is_negative() {
            return Ok(self.shr(&count.neg())?.wrap(ty));
        }
        let count = count.to_u64().unwrap_or(u64::MAX);
        if count > u64::from(MAX_SHIFT) && ty.width > MAX_WIDTH {
            return Err(ArithmeticError::ShiftTooFar);
        }
        if count >= u64::from(ty.width) {
            return Ok(Int::ZERO);
        }
        if let Int::Small(value) = self
            && count < 63
            && (value << count) >> count == *value
        {
            return Ok(Int::Small(value << count).wrap(ty));
        }
        Ok(Int::from(self.to_big() << count).wrap(ty))
    }

    /// `self >> count`, arithmetic: rounds toward minus infinity; large counts give 0 or -1.
    pub fn shr(&self, count: &Int) -> Result<Int, ArithmeticError> {
        if count.is_negative() {
            return Err(ArithmeticError::NegativeShift);
        }
        let limit = self.magnitude_bits() + 1;
        let count = count.to_u64().unwrap_or(u64::MAX).min(limit);
        Ok(match self {
            Int::Small(value) => Int::Small(value >> count.min(63)),
            Int::Big(value) => Int::from(&**value >> count),
        })
    }

    /// The value congruent modulo 2^width in the range of `ty`.
    pub fn wrap(self, ty: IntType) -> Int {
        let IntType { signed, width } = ty;
        if let Int::Small(value) = self {
            if width >= 64 {
                if signed || value >= 0 {
                    return self;
                }
            } else {
                let shift = 64 - width;
                return Int::Small(if signed {
                    (value << shift) >> shift
                } else {
                    (((value as u64) << shift) >> shift) as i64
                });
            }
        }
        let modulus = BigInt::from(1) << width;
        let residue = self.to_big().mod_floor(&modulus);
        if signed && residue.bit(u64::from(width) - 1) { Int::from(residue - modulus) } else { Int::from(residue) }
    }

    /// True when `wrap(ty)` changes nothing.
    pub fn fits(&self, ty: IntType) -> bool {
        if self.is_negative() {
            ty.signed && self.complement().magnitude_bits() < u64::from(ty.width)
        } else {
            self.magnitude_bits() + u64::from(ty.signed) <= u64::from(ty.width)
        }
    }

    /// Low `bytes` bytes of the two's complement form, little-endian.
    pub fn to_le_bytes(&self, bytes: usize) -> Vec<u8> {
        let fill = if self.is_negative() { 0xff } else { 0 };
        let mut out = match self {
            Int::Small(value) => value.to_le_bytes().to_vec(),
            Int::Big(value) => value.to_signed_bytes_le(),
        };
        out.resize(bytes, fill);
        out
    }

    /// Reads two's complement or unsigned little-endian bytes of any number.
    pub fn from_le_bytes(bytes: &[u8], signed: bool) -> Int {
        if bytes.len() <= 8 {
            let negative = signed && bytes.last().is_some_and(|&top| top & 0x80 != 0);
            let mut word = if negative { [0xff; 8] } else { [0; 8] };
            word[..bytes.len()].copy_from_slice(bytes);
            return if signed { Int::Small(i64::from_le_bytes(word)) } else { Int::from(u64::from_le_bytes(word)) };
        }
        if signed {
            Int::from(BigInt::from_signed_bytes_le(bytes))
        } else {
            Int::from(BigInt::from_bytes_le(num_bigint::Sign::Plus, bytes))
        }
    }
}

impl From<BigInt> for Int {
    fn from(value: BigInt) -> Self {
        if value.is_zero() {
            return Int::ZERO;
        }
        match value.to_i64() {
            Some(small) => Int::Small(small),
            None => Int::Big(Box::new(value)),
        }
    }
}

impl From<i64> for Int {
    fn from(value: i64) -> Self {
        Int::Small(value)
    }
}

impl From<u64> for Int {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(small) => Int::Small(small),
            Err(_) => Int::Big(Box::new(BigInt::from(value))),
        }
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Int::Small(a), Int::Small(b)) => a.cmp(b),
            (Int::Small(_), Int::Big(b)) => {
                if b.is_negative() {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Int::Big(_), Int::Small(_)) => other.cmp(self).reverse(),
            (Int::Big(a), Int::Big(b)) => a.cmp(b),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Small(value) => value.fmt(f),
            Int::Big(value) => value.fmt(f),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(text: &str) -> Int {
        Int::from(text.parse::<BigInt>().expect("a number"))
    }

    #[test]
    fn wraps_as_stored() {
        assert_eq!(Int::from(255i64).wrap(IntType::signed(8)), Int::from(-1i64));
        assert_eq!(Int::from(-1i64).wrap(IntType::unsigned(5)), Int::from(31i64));
        assert_eq!(Int::from(-1i64).wrap(IntType::unsigned(64)), Int::from(u64::MAX));
        assert_eq!(big("18446744073709551616").wrap(IntType::unsigned(64)), Int::ZERO);
        assert_eq!(Int::from(1i64 << 62).add(&Int::from(1i64 << 62)).wrap(IntType::signed(64)), Int::from(i64::MIN));
    }

    #[test]
    fn divides_toward_zero_and_keeps_residues_non_negative() {
        assert_eq!(Int::from(-7i64).div(&Int::from(2i64)), Ok(Int::from(-3i64)));
        assert_eq!(Int::from(-7i64).modulo(&Int::from(4i64)), Ok(Int::from(1i64)));
        assert_eq!(Int::from(i64::MIN).div(&Int::from(-1i64)), Ok(big("9223372036854775808")));
        assert_eq!(Int::from(1i64).modulo(&Int::ZERO), Err(ArithmeticError::ModulusNotPositive));
    }

    #[test]
    fn shifts_by_any_count() {
        let huge = big("340282366920938463463374607431768211456");
        assert_eq!(Int::from(-5i64).shr(&huge), Ok(Int::from(-1i64)));
        assert_eq!(Int::from(5i64).shl(&huge, IntType::unsigned(95)), Ok(Int::ZERO));
        assert_eq!(Int::from(3i64).shl(&Int::from(63i64), IntType::unsigned(64)), Ok(Int::from(1u64 << 63)));
        assert_eq!(Int::from(1i64).shr(&Int::from(-1i64)), Err(ArithmeticError::NegativeShift));
        assert_eq!(Int::from(-5i64).shl(&huge.neg(), IntType::signed(95)), Ok(Int::from(-1i64)));
        assert_eq!(Int::from(300i64).shl(&Int::from(-1i64), IntType::unsigned(8)), Ok(Int::from(150i64)));
        let whole = IntType::signed(MAX_WIDTH + 1);
        let most = Int::from(i64::from(MAX_SHIFT));
        assert_eq!(Int::from(1i64).shl(&most, whole).map(|value| value.magnitude_bits()), Ok(2049));
        assert_eq!(Int::from(1i64).shl(&most.add(&Int::from(1i64)), whole), Err(ArithmeticError::ShiftTooFar));
    }

    #[test]
    fn fits_at_the_edges() {
        assert!(Int::from(-128i64).fits(IntType::signed(8)));
        assert!(!Int::from(-129i64).fits(IntType::signed(8)));
        assert!(!Int::from(128i64).fits(IntType::signed(8)));
        assert!(Int::from(u64::MAX).fits(IntType::unsigned(64)));
        assert!(!Int::from(-1i64).fits(IntType::unsigned(64)));
    }

    #[test]
    fn bytes_round_trip() {
        let value = big("-36893488147419103232");
        assert_eq!(Int::from_le_bytes(&value.to_le_bytes(12), true), value);
        assert_eq!(Int::from_le_bytes(&[0xff, 0xff], true), Int::from(-1i64));
        assert_eq!(Int::from_le_bytes(&[0xff; 8], false), Int::from(u64::MAX));
    }
}
