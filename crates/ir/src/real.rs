//! Reals: rounding to a format, storage, conversion from integers, and the text that printing shows.
//!
//! The text has as few significant digits as read back to the same value, each the correctly rounded one for that
//! number of digits: what `printf("%.{p-1}e")` gives for the smallest such p, so that C can do the same with a loop.
//! From 1e-5 up to but not including 1e16 it is written without an exponent and with at least one digit after the point
//! (`1.0`, `0.001`, `123456.75`), otherwise as `1.5e-7`, `1e16`. The others are `inf`, `-inf`, `nan`.

use crate::{Int, RealType};
use num_bigint::BigUint;

/// A value rounded to nearest even in the format.
pub fn round(value: f64, ty: RealType) -> f64 {
    match ty {
        RealType::Double => value,
        RealType::Float => f64::from(value as f32),
        RealType::Half => round_half(value),
    }
}

/// binary16 has 11 significant bits, its least exponent is -14 and its largest finite value 65504.
fn round_half(value: f64) -> f64 {
    let magnitude = value.abs();
    if value.is_nan() || value == 0.0 || value.is_infinite() {
        return value;
    }
    if magnitude >= 65520.0 {
        return f64::INFINITY.copysign(value);
    }
    // Adding and taking away a power of two whose unit in the last place is that of the result rounds to nearest even.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let anchor = f64::powi(2.0, exponent - 10 + 52) * 1.5;
    ((magnitude + anchor) - anchor).copysign(value)
}

/// An integer rounded to nearest even in the format.
pub fn from_int(value: &Int, ty: RealType) -> f64 {
    match (value, ty) {
        (Int::Small(small), RealType::Double) => *small as f64,
        (Int::Small(small), RealType::Float) => f64::from(*small as f32),
        (Int::Small(small), RealType::Half) => round_half(if small.unsigned_abs() >= 1 << 20 {
            f64::INFINITY.copysign(*small as f64)
        } else {
            *small as f64
        }),
        (Int::Big(big), _) => {
            let magnitude = from_magnitude(big.magnitude(), ty);
            if value.is_negative() { -magnitude } else { magnitude }
        }
    }
}

fn from_magnitude(magnitude: &BigUint, ty: RealType) -> f64 {
    let shift = magnitude.bits().saturating_sub(64);
    let head = magnitude >> shift;
    let mut top = head.iter_u64_digits().next().unwrap_or(0);
    // A one in the last place stands for all that was shifted out, so that ties are told from what is above them.
    if magnitude.trailing_zeros().is_some_and(|zeros| zeros < shift) {
        top |= 1;
    }
    let (rounded, limit) = match ty {
        RealType::Double => (top as f64, f64::MAX),
        RealType::Float => (f64::from(top as f32), f64::from(f32::MAX)),
        RealType::Half => return f64::INFINITY,
    };
    let scaled = if shift > 1100 { f64::INFINITY } else { rounded * f64::powi(2.0, shift as i32) };
    if scaled > limit { f64::INFINITY } else { scaled }
}

/// The IEEE bit pattern of a value of the format.
pub fn to_bits(value: f64, ty: RealType) -> u64 {
    match ty {
        RealType::Double => value.to_bits(),
        RealType::Float => u64::from((value as f32).to_bits()),
        RealType::Half => u64::from(half_bits(round_half(value))),
    }
}

fn half_bits(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    if value.is_nan() {
        return sign | 0x7e00;
    }
    if value.is_infinite() {
        return sign | 0x7c00;
    }
    if exponent < -14 {
        return sign | (value.abs() * f64::powi(2.0, 24)) as u16;
    }
    sign | ((exponent + 15) as u16) << 10 | (bits >> 42) as u16 & 0x3ff
}

/// The value of an IEEE bit pattern of the format.
pub fn from_bits(bits: u64, ty: RealType) -> f64 {
    match ty {
        RealType::Double => f64::from_bits(bits),
        RealType::Float => f64::from(f32::from_bits(bits as u32)),
        RealType::Half => {
            let (exponent, fraction) = ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as f64);
            let magnitude = match exponent {
                0 => fraction * f64::powi(2.0, -24),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + fraction) * f64::powi(2.0, exponent - 25),
            };
            if bits & 0x8000 != 0 { -magnitude } else { magnitude }
        }
    }
}

/// The text of a value of the format.
pub fn format_real(value: f64, ty: RealType) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return format!("{sign}inf");
    }
    if magnitude == 0.0 {
        return format!("{sign}0.0");
    }
    let scientific = shortest(magnitude, ty);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_end_matches('0');
    if !(-5..16).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}e{exponent}");
    }
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()))
    } else {
        format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
    }
}

fn shortest(magnitude: f64, ty: RealType) -> String {
    let most = match ty {
        RealType::Half => 5,
        RealType::Float => 9,
        RealType::Double => 17,
    };
    (0..most)
        .map(|after_point| format!("{magnitude:.after_point$e}"))
        .find(|text| text.parse().is_ok_and(|read: f64| round_read(&read, text, ty) == magnitude))
        .unwrap_or_else(|| format!("{magnitude:e}"))
}

/// What the text reads back to; binary32 is read directly, since reading through binary64 would round twice.
fn round_read(read: &f64, text: &str, ty: RealType) -> f64 {
    match ty {
        RealType::Double => *read,
        RealType::Float => text.parse().map_or(f64::NAN, |read: f32| f64::from(read)),
        RealType::Half => round_half(*read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;

    #[test]
    fn shows_few_digits() {
        let double = |value| format_real(value, RealType::Double);
        assert_eq!(double(1.0), "1.0");
        assert_eq!(double(-0.0), "-0.0");
        assert_eq!(double(0.1), "0.1");
        assert_eq!(double(0.00001), "0.00001");
        assert_eq!(double(0.0000015), "1.5e-6");
        assert_eq!(double(123456.75), "123456.75");
        assert_eq!(double(1e15), "1000000000000000.0");
        assert_eq!(double(1e16), "1e16");
        assert_eq!(double(f64::MAX), "1.7976931348623157e308");
        assert_eq!(double(5e-324), "5e-324");
        assert_eq!(double(f64::NEG_INFINITY), "-inf");
        assert_eq!(double(f64::NAN), "nan");
        assert_eq!(format_real(f64::from(0.1f32), RealType::Float), "0.1");
        assert_eq!(format_real(round(0.1, RealType::Half), RealType::Half), "0.1");
        assert_eq!(format_real(65504.0, RealType::Half), "65500.0");
    }

    #[test]
    fn every_half_survives_bits_text_and_rounding() {
        for bits in 0..=0xffffu64 {
            let value = from_bits(bits, RealType::Half);
            if value.is_nan() {
                continue;
            }
            assert_eq!(to_bits(value, RealType::Half), bits);
            assert_eq!(round(value, RealType::Half).to_bits(), value.to_bits());
            let text = format_real(value, RealType::Half);
            assert_eq!(round(text.parse().expect("a number"), RealType::Half), value, "{text}");
        }
    }

    #[test]
    fn halfway_goes_to_even() {
        assert_eq!(round(2049.0, RealType::Half), 2048.0);
        assert_eq!(round(2051.0, RealType::Half), 2052.0);
        assert_eq!(round(65519.0, RealType::Half), 65504.0);
        assert_eq!(round(65520.0, RealType::Half), f64::INFINITY);
        assert_eq!(round(f64::powi(2.0, -25), RealType::Half), 0.0);
        assert_eq!(round(f64::powi(2.0, -25) * 1.01, RealType::Half), f64::powi(2.0, -24));
    }

    #[test]
    fn integers_are_rounded_once() {
        assert_eq!(from_int(&Int::from((1i64 << 53) + 1), RealType::Double), 9007199254740992.0);
        let tie = (BigInt::from(1) << 100usize) + (BigInt::from(1) << 76usize);
        assert_eq!(from_int(&Int::from(tie.clone()), RealType::Float), f64::powi(2.0, 100));
        assert_eq!(from_int(&Int::from(tie + 1), RealType::Float), f64::powi(2.0, 100) + f64::powi(2.0, 77));
        let huge = Int::from(BigInt::from(1) << 2000usize);
        assert_eq!(from_int(&huge.neg(), RealType::Double), f64::NEG_INFINITY);
        assert_eq!(from_int(&Int::from(65519i64), RealType::Half), 65504.0);
        assert_eq!(from_int(&Int::from(70000i64), RealType::Half), f64::INFINITY);
        assert_eq!(from_int(&Int::from((1i64 << 24) + 1), RealType::Float), f64::from(1u32 << 24));
        assert_eq!(from_int(&Int::from(u64::MAX), RealType::Double), 18446744073709551616.0);
    }
}
