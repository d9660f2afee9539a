//! Bit vectors: unsigned values of a given width, with the arithmetic that wraps to it.
//!
//! A value of `n` bits is a number below 2 to the `n`; where an operation means signs, the highest bit is one.

use num_bigint::{BigInt, BigUint};
use std::fmt;

/// A value of a width of at least one bit.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    width: u32,
    value: BigUint,
}

impl Bits {
    /// The low bits of a number.
    pub fn new(width: u32, value: impl Into<BigUint>) -> Self {
        let value: BigUint = value.into();
        let value = if value.bits() > u64::from(width) { value & mask(width) } else { value };
        Self { width, value }
    }

    /// The low bits of a number in two's complement.
    pub fn of_signed(width: u32, value: &BigInt) -> Self {
        let modulus = BigInt::from(1) << width;
        let rest = ((value % &modulus) + &modulus) % &modulus;
        Self { width, value: rest.to_biguint().unwrap_or_default() }
    }

    /// Zero.
    pub fn zero(width: u32) -> Self {
        Self { width, value: BigUint::default() }
    }

    /// All ones.
    pub fn ones(width: u32) -> Self {
        Self { width, value: mask(width) }
    }

    /// Number of bits.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The number, without a sign.
    pub fn value(&self) -> &BigUint {
        &self.value
    }

    /// The number, the highest bit being its sign.
    pub fn signed(&self) -> BigInt {
        let value = BigInt::from(self.value.clone());
        if self.sign() { value - (BigInt::from(1) << self.width) } else { value }
    }

    /// The number, where it is small.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(&self.value).ok()
    }

    /// True when no bit is set.
    pub fn is_zero(&self) -> bool {
        self.value.bits() == 0
    }

    /// The highest bit.
    pub fn sign(&self) -> bool {
        self.width > 0 && self.value.bit(u64::from(self.width) - 1)
    }

    /// The bits from one on; zeros beyond the end.
    pub fn slice(&self, low: u64, width: u32) -> Bits {
        if low >= u64::from(self.width) {
            return Bits::zero(width);
        }
        Bits::new(width, &self.value >> low)
    }

    /// The same with other bits from one on; those beyond the end are left out.
    pub fn replaced(&self, low: u64, part: &Bits) -> Bits {
        if low >= u64::from(self.width) {
            return self.clone();
        }
        let hole = mask(part.width) << low;
        let kept = &self.value & (mask(self.width) ^ (&hole & mask(self.width)));
        Bits::new(self.width, kept | (&part.value << low))
    }

    /// More bits or fewer: filled with zeros, or with the highest bit where it is a sign.
    pub fn resized(&self, width: u32, signed: bool) -> Bits {
        if signed && width > self.width && self.sign() {
            let more = mask(width) ^ mask(self.width);
            return Bits { width, value: &self.value | more };
        }
        Bits::new(width, self.value.clone())
    }

    /// Two values behind each other, this one in front.
    pub fn concat(&self, low: &Bits) -> Bits {
        Bits { width: self.width + low.width, value: (&self.value << low.width) | &low.value }
    }
}

/// So many ones.
fn mask(width: u32) -> BigUint {
    (BigUint::from(1u8) << width) - 1u8
}

impl fmt::Display for Bits {
    /// As Verilog has it: `8'h1f`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'h{:x}", self.width, self.value)
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_wrap_to_their_width() {
        assert_eq!(Bits::new(4, 0x1fu32), Bits::new(4, 15u32));
        assert_eq!(Bits::of_signed(4, &BigInt::from(-1)), Bits::ones(4));
        assert_eq!(Bits::new(4, 9u32).signed(), BigInt::from(-7));
        assert_eq!(Bits::new(4, 9u32).resized(8, true), Bits::new(8, 0xf9u32));
        assert_eq!(Bits::new(4, 9u32).resized(8, false), Bits::new(8, 9u32));
    }

    #[test]
    fn parts_are_taken_and_put_back() {
        let value = Bits::new(12, 0xabcu32);
        assert_eq!(value.slice(4, 4), Bits::new(4, 0xbu32));
        assert_eq!(value.slice(8, 8), Bits::new(8, 0xau32));
        assert_eq!(value.replaced(4, &Bits::new(4, 1u32)), Bits::new(12, 0xa1cu32));
        assert_eq!(value.replaced(8, &Bits::new(8, 0xffu32)), Bits::new(12, 0xfbcu32));
        assert_eq!(value.replaced(12, &Bits::ones(4)), value);
        assert_eq!(Bits::new(4, 1u32).concat(&Bits::new(8, 2u32)), Bits::new(12, 0x102u32));
    }
}
