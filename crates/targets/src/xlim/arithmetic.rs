//! Type inference for integer operations. Integers: each operation in a type that holds its result, its operands cast to that
//! type.

use super::value::{Printer, Val};
use headrace_ir::eval::int_binary;
use headrace_ir::{BinaryOp, CompareOp, Int, IntType, MAX_SHIFT, MAX_WIDTH, Scalar};

/// Bits that a signed type needs to hold all values of a type.
fn signed_bits(ty: IntType) -> u32 {
    ty.width + u32::from(!ty.signed)
}

/// The smallest type that holds the values of both.
fn join(a: IntType, b: IntType) -> IntType {
    match a.signed || b.signed {
        false => IntType::unsigned(a.width.max(b.width)),
        true => IntType::signed(signed_bits(a).max(signed_bits(b))),
    }
}

/// The smallest type that holds the values of both; booleans meet booleans.
pub(super) fn join_types(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Scalar::Int(join(a, b)),
        _ => a,
    }
}

/// The power of two that a constant is.
fn power_of_two(value: &Int) -> Option<u32> {
    let bits = value.magnitude_bits();
    let is_power = !value.is_negative() && bits > 0 && value.and(&value.sub(&Int::from(1i64))) == Int::ZERO;
    is_power.then_some(bits as u32 - 1)
}

impl Printer<'_> {
    /// A value converted as by a store.
    pub(super) fn cast(&mut self, val: Val, ty: Scalar) -> Val {
        let Scalar::Int(int) = ty else { return val };
        if val.ty == ty {
            return val;
        }
        match val.known() {
            Some(known) => Val::constant(known.clone().wrap(int), ty),
            None => self.operation("cast", "", &[&val], Some(("t", ty))),
        }
    }

    /// An operation with one result type, to which its operands are cast.
    pub(super) fn in_type(&mut self, kind: &str, operands: Vec<Val>, ty: IntType) -> Val {
        let ty = Scalar::Int(ty);
        let operands: Vec<Val> = operands.into_iter().map(|operand| self.cast(operand, ty)).collect();
        self.operation(kind, "", &operands.iter().collect::<Vec<_>>(), Some(("t", ty)))
    }

    /// An exact operator.
    pub(super) fn binary(&mut self, op: BinaryOp, left: Val, right: Val) -> Val {
        if let (Some(a), Some(b)) = (left.known(), right.known())
            && let Ok(value) = int_binary(op, a, b)
        {
            return Val::int(value);
        }
        let (a, b) = (left.int_type(), right.int_type());
        let either_signed = a.signed || b.signed;
        let widest = signed_bits(a).max(signed_bits(b));
        match op {
            BinaryOp::Add if left.known() == Some(&Int::ZERO) => right,
            BinaryOp::Add if right.known() == Some(&Int::ZERO) => left,
            BinaryOp::Add if either_signed => self.in_type("$add", vec![left, right], IntType::signed(widest + 1)),
            BinaryOp::Add => self.in_type("$add", vec![left, right], IntType::unsigned(a.width.max(b.width) + 1)),
            BinaryOp::Sub => {
                let bits = if either_signed { widest + 1 } else { a.width.max(b.width) + 1 };
                self.in_type("$sub", vec![left, right], IntType::signed(bits))
            }
            BinaryOp::Mul if right.known() == Some(&Int::from(1i64)) => left,
            BinaryOp::Mul if either_signed => {
                self.in_type("$mul", vec![left, right], IntType::signed(signed_bits(a) + signed_bits(b)))
            }
            BinaryOp::Mul => self.in_type("$mul", vec![left, right], IntType::unsigned(a.width + b.width)),
            BinaryOp::Div => self.quotient(left, right),
            BinaryOp::Mod => self.residue(left, right),
            BinaryOp::And => {
                // Bits above an unsigned operand are zero.
                let width = [a, b].iter().filter(|ty| !ty.signed).map(|ty| ty.width).min();
                let ty = width.map_or(join(a, b), IntType::unsigned);
                self.in_type("bitand", vec![left, right], ty)
            }
            BinaryOp::Or => self.in_type("bitor", vec![left, right], join(a, b)),
            BinaryOp::Xor => self.in_type("bitxor", vec![left, right], join(a, b)),
            BinaryOp::ShiftRight => self.shift_right(left, right),
        }
    }

    /// An operator whose result wraps to a type, which it can do all along.
    pub(super) fn ring(&mut self, op: BinaryOp, left: Val, right: Val, ty: IntType) -> Val {
        let kind = match op {
            BinaryOp::Add => "$add",
            BinaryOp::Sub => "$sub",
            BinaryOp::Mul => "$mul",
            BinaryOp::And => "bitand",
            BinaryOp::Or => "bitor",
            _ => "bitxor",
        };
        if let (Some(a), Some(b)) = (left.known(), right.known())
            && let Ok(value) = int_binary(op, a, b)
        {
            return Val::constant(value.wrap(ty), Scalar::Int(ty));
        }
        self.in_type(kind, vec![left, right], ty)
    }

    fn quotient(&mut self, left: Val, right: Val) -> Val {
        let (a, b) = (left.int_type(), right.int_type());
        if let Some(power) = right.known().and_then(power_of_two).filter(|_| !a.signed) {
            return self.shift_right(left, Val::int(Int::from(u64::from(power))));
        }
        let ty = match a.signed || b.signed {
            false => join(a, b),
            // The least number by -1 takes one more bit.
            true => IntType::signed((signed_bits(a) + 1).max(signed_bits(b))),
        };
        self.in_type("$div", vec![left, right], ty)
    }

    /// The residue that is not negative; moduli are positive.
    fn residue(&mut self, left: Val, right: Val) -> Val {
        let (a, b) = (left.int_type(), right.int_type());
        if let Some(power) = right.known().and_then(power_of_two) {
            return match power {
                0 => Val::int(Int::ZERO),
                _ => self.cast(left, Scalar::Int(IntType::unsigned(power))),
            };
        }
        let result = IntType::unsigned(if b.signed { (b.width - 1).max(1) } else { b.width });
        let ty = match a.signed || b.signed {
            false => join(a, b),
            true => IntType::signed(signed_bits(a).max(signed_bits(b)) + 1),
        };
        let left = self.cast(left, Scalar::Int(ty));
        let right = self.cast(right, Scalar::Int(ty));
        let quotient = self.in_type("$div", vec![left.clone(), right.clone()], ty);
        let product = self.in_type("$mul", vec![quotient, right.clone()], ty);
        let mut rest = self.in_type("$sub", vec![left, product], ty);
        if ty.signed {
            let negative = self.compare(CompareOp::Less, rest.clone(), Val::int(Int::ZERO));
            let moved = self.in_type("$add", vec![rest.clone(), right], ty);
            rest = self.select(&negative, moved, rest);
        }
        self.cast(rest, Scalar::Int(result))
    }

    /// A count that is below the size, and whether it was, unless that is known.
    fn count(&mut self, count: Val, size: u32) -> (Val, Option<Val>) {
        let most = Int::from(u64::from(size));
        let ty = count.int_type();
        // Whatever lies in this type is below the size.
        let always = !ty.signed && ty.width < 32 && (1u64 << ty.width) <= u64::from(size);
        match count.known() {
            Some(known) if *known < most => (count, None),
            Some(_) => (Val::int(Int::ZERO), Some(Val::bool(false))),
            None if always => (count, None),
            None => {
                let below = self.compare(CompareOp::Less, count.clone(), Val::int(most));
                let zero = Val::constant(Int::ZERO, count.ty);
                (self.select(&below, count, zero), Some(below))
            }
        }
    }

    /// `left << count`, wrapped to a type.
    pub(super) fn shift_left(&mut self, left: Val, count: Val, ty: IntType) -> Val {
        if let (Some(value), Some(count)) = (left.known(), count.known())
            && let Ok(value) = value.shl(count, ty)
        {
            return Val::constant(value, Scalar::Int(ty));
        }
        // A design has no integers wider than variables are: what a shift as a whole needs, as far as there is room for it.
        let own = left.int_type();
        let whole = own.width + MAX_SHIFT + u32::from(ty.signed && !own.signed);
        let width = if ty.width > MAX_WIDTH { whole } else { ty.width };
        let ty = IntType { signed: ty.signed, width: width.min(MAX_WIDTH) };
        let out = Scalar::Int(ty);
        let signed = count.int_type().signed;
        let negative = match count.known() {
            Some(known) => Val::bool(known.is_negative()),
            None if signed => self.compare(CompareOp::Less, count.clone(), Val::int(Int::ZERO)),
            None => Val::bool(false),
        };
        if negative.known() == Some(&Int::ZERO) {
            return self.shift_up(left, count, ty);
        }
        // By a negative count, the other way.
        let zero = Val::constant(Int::ZERO, count.ty);
        let back = self.negate(count.clone());
        let nothing = Val::constant(Int::ZERO, back.ty);
        let back = self.select(&negative, back, nothing);
        let back = self.shift_right(left.clone(), back);
        let back = self.cast(back, out);
        let up = self.select(&negative, zero, count);
        let up = self.shift_up(left, up, ty);
        self.select(&negative, back, up)
    }

    /// `left << count`, wrapped to a type, by a count that is not negative.
    fn shift_up(&mut self, left: Val, count: Val, ty: IntType) -> Val {
        let out = Scalar::Int(ty);
        let left = self.cast(left, out);
        let (count, below) = self.count(count, ty.width);
        let shifted = self.operation("lshift", "", &[&left, &count], Some(("t", out)));
        match below {
            None => shifted,
            Some(below) => self.select(&below, shifted, Val::constant(Int::ZERO, out)),
        }
    }

    fn shift_right(&mut self, left: Val, count: Val) -> Val {
        let ty = left.int_type();
        let (count, below) = self.count(count, ty.width);
        if count.known() == Some(&Int::ZERO) && below.is_none() {
            return left;
        }
        let shifted = self.operation("rshift", "", &[&left, &count], Some(("t", left.ty)));
        let Some(below) = below else { return shifted };
        let rest = if ty.signed {
            let last = Val::int(Int::from(u64::from(ty.width - 1)));
            self.operation("rshift", "", &[&left, &last], Some(("t", left.ty)))
        } else {
            Val::constant(Int::ZERO, left.ty)
        };
        self.select(&below, shifted, rest)
    }

    pub(super) fn negate(&mut self, val: Val) -> Val {
        if let Some(known) = val.known() {
            return Val::int(known.neg());
        }
        let ty = val.int_type();
        self.in_type("$negate", vec![val], IntType::signed(ty.width + 1))
    }

    pub(super) fn complement(&mut self, val: Val) -> Val {
        if let Some(known) = val.known() {
            return Val::int(known.complement());
        }
        let ty = IntType::signed(signed_bits(val.int_type()));
        self.in_type("bitnot", vec![val], ty)
    }

    /// A comparison of integers or of booleans.
    pub(super) fn compare(&mut self, op: CompareOp, left: Val, right: Val) -> Val {
        let kind = match op {
            CompareOp::Equal => "$eq",
            CompareOp::NotEqual => "$ne",
            CompareOp::Less => "$lt",
            CompareOp::LessEqual => "$le",
            CompareOp::Greater => "$gt",
            CompareOp::GreaterEqual => "$ge",
        };
        if let (Some(a), Some(b)) = (left.known(), right.known()) {
            let order = a.cmp(b);
            return Val::bool(match op {
                CompareOp::Equal => order.is_eq(),
                CompareOp::NotEqual => order.is_ne(),
                CompareOp::Less => order.is_lt(),
                CompareOp::LessEqual => order.is_le(),
                CompareOp::Greater => order.is_gt(),
                CompareOp::GreaterEqual => order.is_ge(),
            });
        }
        let (left, right) = match (left.ty, right.ty) {
            (Scalar::Int(a), Scalar::Int(b)) => {
                let ty = Scalar::Int(join(a, b));
                (self.cast(left, ty), self.cast(right, ty))
            }
            _ => (left, right),
        };
        self.operation(kind, "", &[&left, &right], Some(("t", Scalar::Bool)))
    }

    /// The first where the decision holds, else the second; both are there.
    pub(super) fn select(&mut self, decision: &Val, first: Val, second: Val) -> Val {
        if let Some(known) = decision.known() {
            return if *known == Int::ZERO { second } else { first };
        }
        let (first, second) = self.alike(first, second);
        let ty = first.ty;
        self.operation("$selector", "", &[decision, &first, &second], Some(("t", ty)))
    }

    /// Two values in one type that holds both.
    pub(super) fn alike(&mut self, first: Val, second: Val) -> (Val, Val) {
        match (first.ty, second.ty) {
            (Scalar::Int(a), Scalar::Int(b)) => {
                let ty = Scalar::Int(join(a, b));
                (self.cast(first, ty), self.cast(second, ty))
            }
            _ => (first, second),
        }
    }

    pub(super) fn not(&mut self, val: Val) -> Val {
        match val.known() {
            Some(known) => Val::bool(*known == Int::ZERO),
            None => self.operation("$not", "", &[&val], Some(("t", Scalar::Bool))),
        }
    }

    /// Both hold.
    pub(super) fn both(&mut self, first: Val, second: Val) -> Val {
        match (first.known(), second.known()) {
            (Some(known), _) => {
                if *known == Int::ZERO {
                    first
                } else {
                    second
                }
            }
            (_, Some(known)) => {
                if *known == Int::ZERO {
                    second
                } else {
                    first
                }
            }
            _ => self.operation("$and", "", &[&first, &second], Some(("t", Scalar::Bool))),
        }
    }
}
