//! Constant folding and evaluation of operators on single values.

use crate::{BinaryOp, CompareOp, Type, UnaryOp};

/// An operator of two operands; nothing where it has no result.
pub fn binary(op: BinaryOp, ty: Type, x: u64, y: u64) -> Option<u64> {
    if ty == Type::F64 {
        let (a, b) = (f64::from_bits(x), f64::from_bits(y));
        let value = match op {
            BinaryOp::Add => a + b,
            BinaryOp::Sub => a - b,
            BinaryOp::Mul => a * b,
            BinaryOp::Div => a / b,
            _ => return None,
        };
        return Some(value.to_bits());
    }
    let count = || (y < u64::from(ty.bits())).then_some(y as u32);
    let value = match op {
        BinaryOp::Add => x.wrapping_add(y),
        BinaryOp::Sub => x.wrapping_sub(y),
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div | BinaryOp::Rem if ty.is_signed() => {
            let (a, b) = (x as i64, y as i64);
            let least = i64::MIN >> (64 - ty.bits());
            if b == 0 || (a == least && b == -1) {
                return None;
            }
            (if op == BinaryOp::Div { a / b } else { a % b }) as u64
        }
        BinaryOp::Div => x.checked_div(y)?,
        BinaryOp::Rem => x.checked_rem(y)?,
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::ShiftLeft => x << count()?,
        BinaryOp::ShiftRight if ty.is_signed() => ((x as i64) >> count()?) as u64,
        BinaryOp::ShiftRight => x >> count()?,
    };
    Some(ty.extend(value))
}

/// A comparison.
pub fn compare(op: CompareOp, ty: Type, x: u64, y: u64) -> bool {
    let order = match ty {
        Type::F64 => f64::from_bits(x).partial_cmp(&f64::from_bits(y)),
        Type::F32 => f32::from_bits(x as u32).partial_cmp(&f32::from_bits(y as u32)),
        ty if ty.is_signed() => Some((x as i64).cmp(&(y as i64))),
        _ => Some(x.cmp(&y)),
    };
    match op {
        CompareOp::Equal => order.is_some_and(|order| order.is_eq()),
        CompareOp::NotEqual => order.is_none_or(|order| order.is_ne()),
        CompareOp::Less => order.is_some_and(|order| order.is_lt()),
        CompareOp::LessEqual => order.is_some_and(|order| order.is_le()),
        CompareOp::Greater => order.is_some_and(|order| order.is_gt()),
        CompareOp::GreaterEqual => order.is_some_and(|order| order.is_ge()),
    }
}

/// An operator of one operand.
pub(super) fn unary(op: UnaryOp, ty: Type, x: u64) -> u64 {
    match (op, ty) {
        (UnaryOp::Negate, Type::F64) => (-f64::from_bits(x)).to_bits(),
        (UnaryOp::Negate, _) => ty.extend(x.wrapping_neg()),
        (UnaryOp::Not, Type::Bool) => u64::from(x == 0),
        (UnaryOp::Not, _) => ty.extend(!x),
    }
}

/// A value of one type in another.
pub(super) fn convert(from: Type, to: Type, x: u64) -> u64 {
    match (from, to) {
        (Type::F64, Type::F32) => u64::from((f64::from_bits(x) as f32).to_bits()),
        (Type::F32, Type::F64) => f64::from(f32::from_bits(x as u32)).to_bits(),
        (from, Type::F64) if from.is_signed() => (x as i64 as f64).to_bits(),
        (_, Type::F64) => (x as f64).to_bits(),
        (from, Type::F32) if from.is_signed() => u64::from((x as i64 as f32).to_bits()),
        (_, Type::F32) => u64::from((x as f32).to_bits()),
        (_, to) => to.extend(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_in_their_type() {
        assert_eq!(binary(BinaryOp::Add, Type::U32, 0xffff_ffff, 1), Some(0));
        assert_eq!(binary(BinaryOp::Add, Type::I32, i32::MAX as u64, 1), Some(i32::MIN as i64 as u64));
        assert_eq!(binary(BinaryOp::ShiftRight, Type::I32, (-8i64) as u64, 1), Some((-4i64) as u64));
        assert_eq!(convert(Type::I32, Type::U64, (-1i64) as u64), u64::MAX);
        assert_eq!(convert(Type::I64, Type::U32, (-1i64) as u64), u64::from(u32::MAX));
        assert_eq!(unary(UnaryOp::Not, Type::U32, 0), u64::from(u32::MAX));
    }

    #[test]
    fn what_has_no_result_gives_none() {
        assert_eq!(binary(BinaryOp::Div, Type::U32, 1, 0), None);
        assert_eq!(binary(BinaryOp::Div, Type::I32, i32::MIN as i64 as u64, (-1i64) as u64), None);
        assert_eq!(binary(BinaryOp::ShiftLeft, Type::U32, 1, 32), None);
    }
}
