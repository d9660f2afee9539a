//! Operations on values of one or two words that need more than one step.

use super::kernel::KernelCode;
use super::value::{Value, all_if, or};
use headrace_program::{BinaryOp, CompareOp, Expr, Type, UnaryOp};

/// `a == b` or `a < b` of clean values whose words can be read more than once. No part of it is a choice.
pub(super) fn comparison(op: CompareOp, a: &Value, b: &Value) -> Expr {
    if a.high.is_none() && b.high.is_none() {
        return Expr::compare(op, a.low.clone(), b.low.clone());
    }
    let (high_a, high_b) = (a.upper(), b.upper());
    let zero = Expr::int(Type::U64, 0);
    let flag = |op: CompareOp, a: Expr, b: Expr| Expr::compare(op, a, b).to(Type::U32);
    match op {
        CompareOp::Less => {
            let above = flag(CompareOp::Less, high_a.clone(), high_b.clone());
            let same = flag(CompareOp::Equal, high_a, high_b);
            let below = flag(CompareOp::Less, a.low.clone(), b.low.clone());
            Expr::compare(CompareOp::NotEqual, above.or(same.and(below)), Expr::u32(0))
        }
        _ => {
            let differ = |a: Expr, b: Expr| Expr::binary(BinaryOp::Xor, a, b);
            let low = differ(a.low.clone(), b.low.clone());
            Expr::compare(op, or(low, differ(high_a, high_b)), zero)
        }
    }
}

/// Ones below the width where its top bit is 1, else zeros, of a clean value whose words can be read more than once.
pub(super) fn sign(value: &Value, width: u32) -> Value {
    let ones = |bit: Expr| Expr::unary(UnaryOp::Negate, bit);
    match &value.high {
        None => {
            let ty = value.low.ty;
            let all = ones(value.low.clone().shifted_right(width - 1));
            let all = if width == ty.bits() { all } else { all.and(Expr::int(ty, (1 << width) - 1)) };
            Value::one(all, true)
        }
        Some(high) => {
            let all = ones(high.clone().shifted_right(width - 65));
            let above =
                if width == 128 { all.clone() } else { all.clone().and(Expr::int(Type::U64, (1 << (width - 64)) - 1)) };
            Value::two(all, above, true)
        }
    }
}

/// The sum.
pub(super) fn sum(code: &mut KernelCode<'_, '_>, a: &Value, b: &Value) -> Value {
    let low = code.once(a.low.clone().plus(b.low.clone()));
    let carry = low.clone().less(a.low.clone()).to(Type::U64);
    let high = a.upper().plus(b.upper()).plus(carry);
    Value::two(low, high, false)
}

/// The difference.
pub(super) fn difference(code: &mut KernelCode<'_, '_>, a: &Value, b: &Value) -> Value {
    let low = code.once(a.low.clone().minus(b.low.clone()));
    let borrow = a.low.clone().less(b.low.clone()).to(Type::U64);
    let high = a.upper().minus(b.upper()).minus(borrow);
    Value::two(low, high, false)
}

/// The product, without what is above 128 bits.
pub(super) fn product(code: &mut KernelCode<'_, '_>, a: &Value, b: &Value) -> Value {
    let half = |x: &Expr| (x.clone().to(Type::U32).to(Type::U64), x.clone().shifted_right(32));
    let ((a0, a1), (b0, b1)) = (half(&a.low), half(&b.low));
    let [a0, a1, b0, b1] = [a0, a1, b0, b1].map(|x| code.once(x));
    let [p00, p01, p10] = [(&a0, &b0), (&a0, &b1), (&a1, &b0)].map(|(a, b)| code.once(a.clone().times(b.clone())));
    let cut = |x: &Expr| x.clone().to(Type::U32).to(Type::U64);
    let middle = code.once(p00.shifted_right(32).plus(cut(&p01)).plus(cut(&p10)));
    let above = a1.times(b1).plus(p01.shifted_right(32)).plus(p10.shifted_right(32)).plus(middle.shifted_right(32));
    let crossed = a.low.clone().times(b.upper()).plus(a.upper().times(b.low.clone()));
    Value::two(a.low.clone().times(b.low.clone()), above.plus(crossed), false)
}

/// Shifted left by less than the bits of its words.
pub(super) fn left(code: &mut KernelCode<'_, '_>, value: Value, count: Expr) -> Value {
    let clean = false;
    let Some(high) = value.high else {
        return Value::one(Expr::binary(BinaryOp::ShiftLeft, value.low, count), clean);
    };
    match count.constant() {
        Some(0) => Value::two(value.low, high, value.clean),
        Some(by) if by >= 64 => Value::two(Expr::int(Type::U64, 0), value.low.shifted_left(by as u32 - 64), clean),
        Some(by) => {
            let low = code.once(value.low);
            let spilled = low.clone().shifted_right(64 - by as u32);
            Value::two(low.shifted_left(by as u32), or(high.shifted_left(by as u32), spilled), clean)
        }
        None => {
            let (low, count) = (code.once(value.low), code.once(count));
            let by = code.once(count.clone().and(Expr::u32(63)));
            let shift = |x: Expr, by: Expr| Expr::binary(BinaryOp::ShiftLeft, x, by);
            let rest =
                Expr::binary(BinaryOp::ShiftRight, low.clone().shifted_right(1), Expr::u32(63).minus(by.clone()));
            let lower = code.once(shift(low, by.clone()));
            let upper = or(shift(high, by), rest);
            let far = code.once(all_if(count.at_least(Expr::u32(64)), Type::U64));
            let near = code.once(Expr::unary(UnaryOp::Not, far.clone()));
            Value::two(lower.clone().and(near.clone()), or(upper.and(near), lower.and(far)), clean)
        }
    }
}

/// Shifted right by less than the bits of its words; zeros come in.
pub(super) fn right(code: &mut KernelCode<'_, '_>, value: Value, count: Expr) -> Value {
    let clean = value.clean;
    let Some(high) = value.high else {
        return Value::one(Expr::binary(BinaryOp::ShiftRight, value.low, count), clean);
    };
    match count.constant() {
        Some(0) => Value::two(value.low, high, clean),
        Some(by) if by >= 64 => Value::two(high.shifted_right(by as u32 - 64), Expr::int(Type::U64, 0), clean),
        Some(by) => {
            let high = code.once(high);
            let spilled = high.clone().shifted_left(64 - by as u32);
            Value::two(or(value.low.shifted_right(by as u32), spilled), high.shifted_right(by as u32), clean)
        }
        None => {
            let (high, count) = (code.once(high), code.once(count));
            let by = code.once(count.clone().and(Expr::u32(63)));
            let shift = |x: Expr, by: Expr| Expr::binary(BinaryOp::ShiftRight, x, by);
            let rest = Expr::binary(BinaryOp::ShiftLeft, high.clone().shifted_left(1), Expr::u32(63).minus(by.clone()));
            let upper = code.once(shift(high, by.clone()));
            let lower = or(shift(value.low, by), rest);
            let far = code.once(all_if(count.at_least(Expr::u32(64)), Type::U64));
            let near = code.once(Expr::unary(UnaryOp::Not, far.clone()));
            Value::two(or(lower.and(near.clone()), upper.clone().and(far)), upper.and(near), clean)
        }
    }
}

/// Bytes in reverse order, of 32, 64 or 128 bits; words can be read more than once.
pub(super) fn swapped(code: &mut KernelCode<'_, '_>, value: Value) -> Value {
    match value.high {
        None => Value::one(swapped_word(code, value.low), true),
        Some(high) => {
            let (low, high) = (swapped_word(code, value.low), swapped_word(code, high));
            Value::two(high, low, true)
        }
    }
}

fn swapped_word(code: &mut KernelCode<'_, '_>, x: Expr) -> Expr {
    let ty = x.ty;
    let mut x = x;
    let mut step = 8;
    while step < ty.bits() {
        // Ones in every other field of so many bits.
        let ones = (u64::MAX / ((1 << step) + 1)) & if ty == Type::U32 { u64::from(u32::MAX) } else { u64::MAX };
        let whole = code.once(x);
        x = if 2 * step == ty.bits() {
            or(whole.clone().shifted_left(step), whole.shifted_right(step))
        } else {
            let field = Expr::int(ty, ones);
            let up = whole.clone().and(field.clone()).shifted_left(step);
            or(up, whole.shifted_right(step).and(field))
        };
        step *= 2;
    }
    x
}
