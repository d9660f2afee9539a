//! Lowering of integer arithmetic. Integer expressions of up to 64 bits.
//!
//! Two questions decide what is made of one. *Exact*: the value itself, in the narrowest type that holds all values that the
//! expression can have. *Low*: some value of a wanted type that agrees with it in all bits of that type, since the value is
//! about to be cut; sums, products, left shifts and logic need no more bits of their operands than are wanted of them. An
//! exact value is the low bits in a type that holds it.

use crate::annotated::Node;
use crate::code::Code;
use crate::machine::{class, holding};
use headrace_ir::{BinaryOp, ExprKind, Int, IntType};
use headrace_program::{self as program, CompareOp, Expr, Type, UnaryOp};

/// The operator of the program for one whose low bits depend on the low bits of its operands alone.
fn ring(op: BinaryOp) -> Option<program::BinaryOp> {
    Some(match op {
        BinaryOp::Add => program::BinaryOp::Add,
        BinaryOp::Sub => program::BinaryOp::Sub,
        BinaryOp::Mul => program::BinaryOp::Mul,
        BinaryOp::And => program::BinaryOp::And,
        BinaryOp::Or => program::BinaryOp::Or,
        BinaryOp::Xor => program::BinaryOp::Xor,
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::ShiftRight => return None,
    })
}

impl Code<'_, '_> {
    /// The value of an integer expression that fits 64 bits.
    pub(crate) fn exact(&mut self, node: &Node<'_>) -> Expr {
        let ty = holding(&node.range).unwrap_or(Type::U64);
        self.low(node, ty)
    }

    /// A value of the type, one of those for computing, that agrees with the expression in all bits of the type.
    pub(crate) fn low(&mut self, node: &Node<'_>, ty: Type) -> Expr {
        if let Some(value) = node.single() {
            let value = value.clone();
            return self.constant(&value, ty);
        }
        if let Some(own) = holding(&node.range)
            && own.bits() < ty.bits()
        {
            return self.low(node, own).to(ty);
        }
        match &node.expr.kind {
            ExprKind::Int(value) => self.constant(value, ty),
            ExprKind::Load(place) => self.load_low(place, ty),
            ExprKind::Negate(_) => Expr::unary(UnaryOp::Negate, self.low(&node.kids[0], ty)),
            ExprKind::Complement(_) => Expr::unary(UnaryOp::Not, self.low(&node.kids[0], ty)),
            ExprKind::Binary(op, _, _) => match ring(*op) {
                Some(op) => {
                    let a = self.low(&node.kids[0], ty);
                    let b = self.low(&node.kids[1], ty);
                    Expr::binary(op, a, b)
                }
                None if *op == BinaryOp::ShiftRight => self.shift_right(node, ty),
                None => self.division(node, *op, ty),
            },
            ExprKind::ShiftLeft(wrapped, _, _) => self.shift_left(node, *wrapped, ty),
            ExprKind::Wrap(wrapped, _) => {
                let x = &node.kids[0];
                if ty.bits() <= wrapped.width || x.range.fits(*wrapped) {
                    return self.low(x, ty);
                }
                self.wrapped(x, *wrapped).to(ty)
            }
            ExprKind::If(..) => self.choose(node, ty, &mut |code, branch| code.low(branch, ty)),
            ExprKind::Call(procedure, arguments) => {
                if self.scalar_of(node.expr).and_then(crate::machine::wide_words).is_some() {
                    return self.low_of_wide(node, ty);
                }
                self.call_expression(*procedure, arguments).to(ty)
            }
            _ => {
                let value = self.malformed(node.expr.span);
                value.to(ty)
            }
        }
    }

    fn low_of_wide(&mut self, node: &Node<'_>, ty: Type) -> Expr {
        let mut general = |code: &mut Self, node: &Node<'_>| {
            let words = code.wide_operation(node, 2);
            let place = program::Place::variable(words);
            code.low_of_words(&crate::place::Location { place, at: None }, ty)
        };
        let mut small = |code: &mut Self, node: &Node<'_>| code.low(node, ty);
        self.by_counts(node, ty, &mut small, &mut general).unwrap_or_else(|| general(self, node))
    }

    /// The expression wrapped to a type of up to 64 bits, in a type for computing that holds it.
    pub(crate) fn wrapped(&mut self, x: &Node<'_>, ty: IntType) -> Expr {
        let value = self.low(x, class(ty.width));
        wrap(value, ty)
    }

    fn division(&mut self, node: &Node<'_>, op: BinaryOp, ty: Type) -> Expr {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        if op == BinaryOp::Mod
            && let Some(bits) = b.single().and_then(power_of_two)
            && bits < ty.bits().max(64)
        {
            let class = class(bits.max(1));
            let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            return self.low(a, class).and(Expr::int(class, mask)).to(ty);
        }
        let Some(common) = holding(&a.range.join(&b.range).join(&node.range)) else {
            return self.low_of_wide(node, ty);
        };
        let x = self.low(a, common);
        let mut y = self.low(b, common);
        let zero = Expr::int(common, 0);
        let positive = b.range.low > Int::ZERO;
        let proven = if op == BinaryOp::Div { positive || b.range.high.is_negative() } else { positive };
        // An error: nothing is divided by 1 instead.
        let mut fine = Expr::bool(true);
        if !proven {
            y = self.named("divisor", y);
            fine = if op == BinaryOp::Div || !common.is_signed() {
                Expr::compare(CompareOp::NotEqual, y.clone(), zero.clone())
            } else {
                Expr::compare(CompareOp::Greater, y.clone(), zero.clone())
            };
            y = Expr::select(fine.clone(), y, Expr::int(common, 1));
        }
        let value = if op == BinaryOp::Div {
            Expr::binary(program::BinaryOp::Div, x, y)
        } else if a.range.non_negative() || !common.is_signed() {
            Expr::binary(program::BinaryOp::Rem, x, y)
        } else {
            let y = self.named("modulus", y);
            let rest = self.named("rest", Expr::binary(program::BinaryOp::Rem, x, y.clone()));
            Expr::select(rest.clone().less(zero.clone()), rest.clone().plus(y), rest)
        };
        Expr::select(fine, value, zero).to(ty)
    }

    /// A shift count that is not negative: at most `limit`, which stands for all above and for negative ones.
    pub(crate) fn shift_count(&mut self, count: &Node<'_>, limit: u32) -> Expr {
        if !count.range.low.is_negative() && count.range.high <= Int::from(i64::from(limit)) {
            return self.low(count, Type::U32);
        }
        let limit = Expr::u32(limit);
        let Some(own) = holding(&count.range) else {
            let words = u32::try_from(count.range.signed_bits().div_ceil(32)).unwrap_or(u32::MAX);
            let value = self.wide(count, words);
            let small = self.wide_count(value, words);
            let small = self.named("count", small);
            return Expr::select(small.clone().less(limit.clone()), small, limit);
        };
        let unsigned = class(own.bits());
        let value = self.low(count, own).to(unsigned);
        let value = self.named("count", value);
        let small = value.clone().less(limit.clone().to(unsigned));
        Expr::select(small, value.to(Type::U32), limit)
    }

    /// `x << count` in the type, with 0 from its width on.
    fn shifted_left(&mut self, x: Expr, count: &Node<'_>) -> Expr {
        let bits = x.ty.bits();
        if let Some(by) = count.single().filter(|by| !by.is_negative()) {
            return match by.to_u64().filter(|&by| by < u64::from(bits)) {
                Some(by) => x.shifted_left(by as u32),
                None => Expr::int(x.ty, 0),
            };
        }
        let by = self.shift_count(count, bits);
        if !count.range.low.is_negative() && count.range.high < Int::from(i64::from(bits)) {
            return Expr::binary(program::BinaryOp::ShiftLeft, x, by);
        }
        let by = self.named("count", by);
        let zero = Expr::int(x.ty, 0);
        let masked = by.clone().and(Expr::u32(bits - 1));
        let value = Expr::binary(program::BinaryOp::ShiftLeft, x, masked);
        Expr::select(by.less(Expr::u32(bits)), value, zero)
    }

    fn shift_left(&mut self, node: &Node<'_>, wrapped: IntType, ty: Type) -> Expr {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let fits = x.range.shift_left_fits(&count.range, wrapped);
        let unwrapped = ty.bits() <= wrapped.width || fits;
        if count.range.low.is_negative() {
            let Some(own) = holding(&x.range) else {
                let value = self.low_of_wide(node, Type::U64);
                return if unwrapped { value.to(ty) } else { wrap(value, wrapped).to(ty) };
            };
            let value = self.shifted_either_way(x, count, own, if unwrapped { ty } else { class(wrapped.width) });
            return if unwrapped { value.to(ty) } else { wrap(value, wrapped).to(ty) };
        }
        if unwrapped {
            let x = self.low(x, ty);
            return self.shifted_left(x, count);
        }
        let x = self.low(x, class(wrapped.width));
        let value = self.shifted_left(x, count);
        wrap(value, wrapped).to(ty)
    }

    /// `x << count` in a type, x being exact in its own, by a count that may be negative.
    fn shifted_either_way(&mut self, x: &Node<'_>, count: &Node<'_>, own: Type, ty: Type) -> Expr {
        let value = self.low(x, own);
        let value = self.named("value", value);
        let count = self.either_count(count);
        let left = count.clone().less(Expr::int(count.ty, 0)).negated();
        // Counts of which only the one that is taken is right; both are below the widths.
        let bits = ty.bits();
        let up = count.clone().to(class(count.ty.bits()));
        let near = up.clone().less(Expr::int(up.ty, u64::from(bits)));
        let masked = up.clone().to(Type::U32).and(Expr::u32(bits - 1));
        let shifted = Expr::binary(program::BinaryOp::ShiftLeft, value.clone().to(ty), masked);
        let shifted = Expr::select(near, shifted, Expr::int(ty, 0));
        let down = Expr::unary(UnaryOp::Negate, count).to(up.ty);
        let most = if own.is_signed() { own.bits() - 1 } else { own.bits() };
        let down = self.named("back", down);
        let small = down.clone().less(Expr::int(down.ty, u64::from(own.bits())));
        let by = down.to(Type::U32).and(Expr::u32(own.bits() - 1));
        let back = Expr::binary(program::BinaryOp::ShiftRight, value.clone(), by);
        let rest = if own.is_signed() { value.shifted_right(most) } else { Expr::int(own, 0) };
        let back = Expr::select(small, back, rest).to(ty);
        Expr::select(left, shifted, back)
    }

    /// A count that may be negative, as `I32` or `I64` and with a name; held at the limits of `I32` where it has more bits.
    pub(crate) fn either_count(&mut self, count: &Node<'_>) -> Expr {
        let value = match holding(&count.range) {
            Some(own) => self.low(count, own),
            None => {
                // What is beyond a word is as far as can be, one way or the other.
                let words = u32::try_from(count.range.signed_bits().div_ceil(32)).unwrap_or(u32::MAX);
                let value = self.wide(count, words);
                let top = self.f.at(value, Expr::u32(words - 1)).to(Type::I32);
                let negative = top.less(Expr::int(Type::I32, 0));
                let up = self.wide_count(value, words).to(Type::I32);
                let zero = self.wide_constant(&Int::ZERO, words);
                let id = self.procedure(&format!("wide_sub_{words}"), |name| crate::wide_procedures::sub(name, words));
                let negated = self.wide_call("negated", id, &[zero, value], words);
                let down = Expr::unary(UnaryOp::Negate, self.wide_count(negated, words).to(Type::I32));
                Expr::select(negative, down, up)
            }
        };
        self.named("count", value)
    }

    fn shift_right(&mut self, node: &Node<'_>, ty: Type) -> Expr {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let Some(own) = holding(&x.range) else {
            // The value shifted does not fit, but what is wanted of it does.
            if let Some(by) = count.single().and_then(Int::to_u64).filter(|&by| by < 64) {
                let wanted = if node.range.non_negative() {
                    u64::from(ty.bits()).min(node.range.high.magnitude_bits().max(1))
                } else {
                    u64::from(ty.bits())
                };
                if by + wanted <= 64 {
                    let value = self.low(x, Type::U64).shifted_right(by as u32);
                    let value = if node.range.non_negative() && wanted < 64 {
                        value.and(Expr::int(Type::U64, (1 << wanted) - 1))
                    } else {
                        value
                    };
                    return value.to(ty);
                }
            }
            return self.low_of_wide(node, ty);
        };
        let value = self.low(x, own);
        let bits = own.bits();
        if let Some(by) = count.single().filter(|by| !by.is_negative()) {
            let by = by.to_u64().filter(|&by| by < u64::from(bits));
            return match by {
                Some(by) => value.shifted_right(by as u32).to(ty),
                None if own.is_signed() => value.shifted_right(bits - 1).to(ty),
                None => Expr::int(ty, 0),
            };
        }
        if own.is_signed() {
            let by = self.shift_count(count, bits - 1);
            return Expr::binary(program::BinaryOp::ShiftRight, value, by).to(ty);
        }
        let by = self.shift_count(count, bits);
        if !count.range.low.is_negative() && count.range.high < Int::from(i64::from(bits)) {
            return Expr::binary(program::BinaryOp::ShiftRight, value, by).to(ty);
        }
        let by = self.named("count", by);
        let masked = by.clone().and(Expr::u32(bits - 1));
        let shifted = Expr::binary(program::BinaryOp::ShiftRight, value, masked);
        Expr::select(by.less(Expr::u32(bits)), shifted, Expr::int(own, 0)).to(ty)
    }
}

/// A value of a type for computing wrapped to a type of at most as many bits.
pub(crate) fn wrap(value: Expr, ty: IntType) -> Expr {
    let bits = value.ty.bits();
    let own = value.ty;
    match (ty.signed, ty.width) {
        (false, 8) => value.to(Type::U8).to(own),
        (false, 16) => value.to(Type::U16).to(own),
        (true, 8) => value.to(Type::I8).to(signed(own)),
        (true, 16) => value.to(Type::I16).to(signed(own)),
        (true, 32) => value.to(Type::I32),
        (false, 32) => value.to(Type::U32),
        (true, width) if width >= bits => value.to(signed(own)),
        (false, width) if width >= bits => value.to(class(bits)),
        (false, width) => value.and(Expr::int(own, u64::MAX >> (64 - width))),
        (true, width) => value.to(signed(own)).shifted_left(bits - width).shifted_right(bits - width),
    }
}

fn signed(ty: Type) -> Type {
    if ty.bits() == 32 { Type::I32 } else { Type::I64 }
}

fn power_of_two(value: &Int) -> Option<u32> {
    let value = value.to_u64()?;
    value.is_power_of_two().then(|| value.trailing_zeros())
}
