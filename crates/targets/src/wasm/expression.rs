//! Code generation for expressions. Expressions. Values of 8 and 16 bits are kept in 32, extended as their type says.

use super::code::{Code, SWAPPED, value};
use headrace_program::{BinaryOp, ByteOrder, CompareOp, Expr, ExprKind, Place, Root, Type, UnaryOp};

/// A constant.
pub(super) fn constant(bits: u64, ty: Type) -> String {
    match ty {
        Type::F64 => real(bits, "f64", 52, 0x7ff, &format!("{:e}", f64::from_bits(bits))),
        Type::F32 => real(bits, "f32", 23, 0xff, &format!("{:e}", f32::from_bits(bits as u32))),
        Type::U64 | Type::I64 => format!("(i64.const {})", bits as i64),
        _ => format!("(i32.const {})", bits as u32 as i32),
    }
}

/// A real: the shortest decimal that reads back the same; infinities and what is no number have words of their own.
fn real(bits: u64, name: &str, n_fraction: u32, exponents: u64, decimal: &str) -> String {
    let fraction = bits & ((1 << n_fraction) - 1);
    let exponent = bits >> n_fraction & exponents;
    let sign = if bits >> n_fraction > exponents { "-" } else { "" };
    match (exponent == exponents, fraction) {
        (true, 0) => format!("({name}.const {sign}inf)"),
        (true, payload) => format!("({name}.const {sign}nan:{payload:#x})"),
        (false, _) => format!("({name}.const {decimal})"),
    }
}

impl Code<'_> {
    /// True for a scalar that is no field.
    fn is_local(place: &Place) -> bool {
        matches!(place.root, Root::Variable(_)) && place.path.is_empty()
    }

    /// The value of a scalar.
    fn scalar(&self, place: &Place) -> String {
        let (address, ty) = self.locate(place);
        if Self::is_local(place) { address.base.text().to_owned() } else { Self::load(ty, &address) }
    }

    /// Stores a scalar.
    pub(super) fn assigned(&self, place: &Place, operand: &str) -> String {
        if let (Root::Variable(variable), true) = (place.root, Self::is_local(place)) {
            return format!("(local.set ${} {operand})", self.function.variables[variable.index()].name);
        }
        let (address, ty) = self.locate(place);
        Self::store(ty, &address, operand)
    }

    /// Stores a word as bytes.
    pub(super) fn store_word(&mut self, place: &Place, index: &Expr, own: &Expr, order: ByteOrder) {
        let (address, _) = self.element_behind(place, index);
        let operand = self.expr(own);
        if order == ByteOrder::Little {
            return self.line(&Self::store(own.ty, &address, &operand));
        }
        if value(own.ty) == "i32" {
            return self.line(&Self::store(Type::U32, &address, &swapped(&operand)));
        }
        let local = format!("$word.{}", self.number());
        self.locals.push(format!("(local {local} i64)"));
        self.line(&format!("(local.set {local} {operand})"));
        let word = format!("(local.get {local})");
        for (at, count) in [(0, 32), (4, 0)] {
            let half = swapped(&format!("(i32.wrap_i64 (i64.shr_u {word} (i64.const {count})))"));
            self.line(&Self::store(Type::U32, &address.plus(at), &half));
        }
    }

    /// An expression.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        let name = value(expr.ty);
        match &expr.kind {
            ExprKind::Constant(bits) => constant(*bits, expr.ty),
            // No program for it has functions for machines with features.
            ExprKind::Has(_) => constant(0, expr.ty),
            ExprKind::Read(place) => self.scalar(place),
            ExprKind::Element(place, index) => {
                let (address, ty) = self.element(place, index);
                Self::load(ty, &address)
            }
            ExprKind::Word(place, index, order) => {
                let (address, _) = self.element_behind(place, index);
                match (order, name) {
                    (ByteOrder::Little, _) => Self::load(expr.ty, &address),
                    (ByteOrder::Big, "i32") => swapped(&Self::load(Type::U32, &address)),
                    (ByteOrder::Big, _) => {
                        let half = |at: u32| swapped(&Self::load(Type::U32, &address.plus(at)));
                        let (high, low) = (half(0), half(4));
                        format!("(i64.or (i64.shl (i64.extend_i32_u {high}) (i64.const 32)) (i64.extend_i32_u {low}))")
                    }
                }
            }
            ExprKind::Unary(op, x) => {
                let operand = self.expr(x);
                match (op, expr.ty) {
                    (UnaryOp::Negate, Type::F64) => format!("(f64.neg {operand})"),
                    (UnaryOp::Negate, _) => format!("({name}.sub ({name}.const 0) {operand})"),
                    (UnaryOp::Not, Type::Bool) => format!("(i32.eqz {operand})"),
                    (UnaryOp::Not, _) => format!("({name}.xor {operand} ({name}.const -1))"),
                }
            }
            ExprKind::Binary(op, a, b) => {
                if let Some((rotated, count)) = expr.rotation() {
                    return format!("({name}.rotl {} ({name}.const {count}))", self.expr(rotated));
                }
                let (x, mut y) = (self.expr(a), self.expr(b));
                let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
                if is_shift && name == "i64" {
                    y = b.constant().map_or_else(|| format!("(i64.extend_i32_u {y})"), |n| format!("(i64.const {n})"));
                }
                format!("({name}.{} {x} {y})", operator(*op, expr.ty))
            }
            ExprKind::Compare(op, a, b) => {
                format!("({}.{} {} {})", value(a.ty), comparison(*op, a.ty), self.expr(a), self.expr(b))
            }
            ExprKind::Convert(x) => converted(x.ty, expr.ty, self.expr(x)),
            ExprKind::Reinterpret(x) => format!("({name}.reinterpret_{} {})", value(x.ty), self.expr(x)),
            ExprKind::Select(condition, yes, no) => {
                format!("(select {} {} {})", self.expr(yes), self.expr(no), self.expr(condition))
            }
        }
    }
}

/// The bytes of a word in the other order.
fn swapped(word: &str) -> String {
    let part = |rotation: &str, word: &str, mask: i32| {
        format!("(i32.and (i32.{rotation} {word} (i32.const 8)) (i32.const {mask}))")
    };
    let (first, again) = (format!("(local.tee {SWAPPED} {word})"), format!("(local.get {SWAPPED})"));
    format!("(i32.or {} {})", part("rotl", &first, 0x00ff_00ff), part("rotr", &again, 0xff00_ff00_u32 as i32))
}

fn operator(op: BinaryOp, ty: Type) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div if ty == Type::F64 => "div",
        BinaryOp::Div if ty.is_signed() => "div_s",
        BinaryOp::Div => "div_u",
        BinaryOp::Rem if ty.is_signed() => "rem_s",
        BinaryOp::Rem => "rem_u",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::ShiftLeft => "shl",
        BinaryOp::ShiftRight if ty.is_signed() => "shr_s",
        BinaryOp::ShiftRight => "shr_u",
    }
}

fn comparison(op: CompareOp, ty: Type) -> &'static str {
    let pick = |real, signed, unsigned| match ty {
        Type::F32 | Type::F64 => real,
        ty if ty.is_signed() => signed,
        _ => unsigned,
    };
    match op {
        CompareOp::Equal => "eq",
        CompareOp::NotEqual => "ne",
        CompareOp::Less => pick("lt", "lt_s", "lt_u"),
        CompareOp::LessEqual => pick("le", "le_s", "le_u"),
        CompareOp::Greater => pick("gt", "gt_s", "gt_u"),
        CompareOp::GreaterEqual => pick("ge", "ge_s", "ge_u"),
    }
}

fn converted(from: Type, to: Type, operand: String) -> String {
    let sign = if from.is_signed() { "s" } else { "u" };
    match (from, to) {
        (Type::F32, Type::F64) => format!("(f64.promote_f32 {operand})"),
        (Type::F64, Type::F32) => format!("(f32.demote_f64 {operand})"),
        (_, to) if to.is_real() => format!("({}.convert_{}_{sign} {operand})", value(to), value(from)),
        (_, Type::U64 | Type::I64) if value(from) == "i64" => operand,
        (_, Type::U64 | Type::I64) => format!("(i64.extend_i32_{sign} {operand})"),
        _ => {
            let low = if value(from) == "i64" { format!("(i32.wrap_i64 {operand})") } else { operand };
            let fits = from.bits() < to.bits() && (!from.is_signed() || to.is_signed());
            match to {
                _ if fits => low,
                Type::U8 => format!("(i32.and {low} (i32.const 255))"),
                Type::U16 => format!("(i32.and {low} (i32.const 65535))"),
                Type::I8 => format!("(i32.extend8_s {low})"),
                Type::I16 => format!("(i32.extend16_s {low})"),
                _ => low,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_as_the_text_form_has_them() {
        assert_eq!(constant(u64::MAX, Type::U64), "(i64.const -1)");
        assert_eq!(constant(0x8000_0000, Type::U32), "(i32.const -2147483648)");
        assert_eq!(constant(1.5f64.to_bits(), Type::F64), "(f64.const 1.5e0)");
        assert_eq!(constant((-0.0f64).to_bits(), Type::F64), "(f64.const -0e0)");
        assert_eq!(constant(f64::NEG_INFINITY.to_bits(), Type::F64), "(f64.const -inf)");
        assert_eq!(constant(0x7ff8_0000_0000_0001, Type::F64), "(f64.const nan:0x8000000000001)");
    }

    #[test]
    fn narrow_values_stay_extended() {
        assert_eq!(converted(Type::U32, Type::U8, "x".into()), "(i32.and x (i32.const 255))");
        assert_eq!(converted(Type::U8, Type::U16, "x".into()), "x");
        assert_eq!(converted(Type::I8, Type::U16, "x".into()), "(i32.and x (i32.const 65535))");
        assert_eq!(converted(Type::I64, Type::I8, "x".into()), "(i32.extend8_s (i32.wrap_i64 x))");
        assert_eq!(converted(Type::I8, Type::U32, "x".into()), "x");
    }
}
