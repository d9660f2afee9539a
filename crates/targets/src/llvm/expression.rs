//! Expressions.

use super::code::Code;
use super::types::{constant, value};
use headrace_program::{BinaryOp, ByteOrder, CompareOp, Expr, ExprKind, Place, Type, UnaryOp};

impl Code<'_> {
    /// The value of an expression: a constant, or a name.
    pub(super) fn value(&mut self, expr: &Expr) -> String {
        let ty = value(expr.ty);
        match &expr.kind {
            ExprKind::Constant(bits) => constant(*bits, expr.ty),
            ExprKind::Read(place) => {
                let spot = self.scalar(place, expr.ty);
                self.load(&spot)
            }
            ExprKind::Element(place, index) => {
                let spot = self.spot(place, index);
                self.load(&spot)
            }
            ExprKind::Word(place, index, order) => self.word(place, index, *order, expr.ty),
            ExprKind::Unary(op, x) => {
                let x = self.value(x);
                match (op, expr.ty) {
                    (UnaryOp::Negate, Type::F64) => self.define(&format!("fneg double {x}")),
                    (UnaryOp::Negate, _) => self.define(&format!("sub {ty} 0, {x}")),
                    (UnaryOp::Not, Type::Bool) => self.define(&format!("xor i1 {x}, true")),
                    (UnaryOp::Not, _) => self.define(&format!("xor {ty} {x}, -1")),
                }
            }
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                self.binary(*op, expr.ty, &x, &y)
            }
            ExprKind::Compare(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                self.define(&format!("{} {} {x}, {y}", comparison(*op, a.ty), value(a.ty)))
            }
            ExprKind::Convert(x) => {
                let operand = self.value(x);
                self.converted(x.ty, expr.ty, operand)
            }
            ExprKind::Reinterpret(x) => {
                let from = value(x.ty);
                let x = self.value(x);
                self.define(&format!("bitcast {from} {x} to {ty}"))
            }
            ExprKind::Select(condition, yes, no) => {
                let (condition, yes, no) = (self.value(condition), self.value(yes), self.value(no));
                self.define(&format!("select i1 {condition}, {ty} {yes}, {ty} {no}"))
            }
        }
    }

    /// A word byte by byte, which is the same on machines of either order: those that have it in one load find that.
    fn word(&mut self, place: &Place, index: &Expr, order: ByteOrder, ty: Type) -> String {
        let n_bytes = ty.bytes();
        let mut word = None;
        for i in 0..n_bytes {
            let spot = self.spot(place, &index.clone().plus(Expr::u32(i)));
            let byte = self.load(&spot);
            let byte = self.converted(Type::U8, ty, byte);
            let shifted = match order.shift(i, n_bytes) {
                0 => byte,
                count => self.define(&format!("shl {} {byte}, {count}", value(ty))),
            };
            word = Some(match word {
                None => shifted,
                Some(word) => self.define(&format!("or {} {word}, {shifted}", value(ty))),
            });
        }
        word.unwrap_or_default()
    }

    /// Stores a word byte by byte.
    pub(super) fn store_word(&mut self, place: &Place, index: &Expr, own: &Expr, order: ByteOrder) {
        let (ty, n_bytes) = (own.ty, own.ty.bytes());
        let operand = self.value(own);
        for i in 0..n_bytes {
            let shifted = match order.shift(i, n_bytes) {
                0 => operand.clone(),
                count => self.define(&format!("lshr {} {operand}, {count}", value(ty))),
            };
            let byte = self.define(&format!("trunc {} {shifted} to i8", value(ty)));
            let spot = self.spot(place, &index.clone().plus(Expr::u32(i)));
            self.store(&spot, &byte);
        }
    }

    fn binary(&mut self, op: BinaryOp, ty: Type, x: &str, y: &str) -> String {
        let name = match (op, ty) {
            (BinaryOp::Add, Type::F64) => "fadd",
            (BinaryOp::Sub, Type::F64) => "fsub",
            (BinaryOp::Mul, Type::F64) => "fmul",
            (BinaryOp::Div, Type::F64) => "fdiv",
            (BinaryOp::Add, _) => "add",
            (BinaryOp::Sub, _) => "sub",
            (BinaryOp::Mul, _) => "mul",
            (BinaryOp::Div, ty) if ty.is_signed() => "sdiv",
            (BinaryOp::Div, _) => "udiv",
            (BinaryOp::Rem, ty) if ty.is_signed() => "srem",
            (BinaryOp::Rem, _) => "urem",
            (BinaryOp::And, _) => "and",
            (BinaryOp::Or, _) => "or",
            (BinaryOp::Xor, _) => "xor",
            (BinaryOp::ShiftLeft, _) => "shl",
            (BinaryOp::ShiftRight, ty) if ty.is_signed() => "ashr",
            (BinaryOp::ShiftRight, _) => "lshr",
        };
        let is_shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
        // Counts have 32 bits.
        let y = if is_shift { self.converted(Type::U32, ty, y.to_owned()) } else { y.to_owned() };
        self.define(&format!("{name} {} {x}, {y}", value(ty)))
    }

    fn converted(&mut self, from: Type, to: Type, operand: String) -> String {
        let name = match (from, to) {
            (Type::F32, Type::F64) => "fpext",
            (Type::F64, Type::F32) => "fptrunc",
            (from, to) if to.is_real() => {
                if from.is_signed() {
                    "sitofp"
                } else {
                    "uitofp"
                }
            }
            (from, to) if from.bits() == to.bits() => return operand,
            (from, to) if from.bits() > to.bits() => "trunc",
            (from, _) if from.is_signed() => "sext",
            _ => "zext",
        };
        // Constants need no instruction, where they are spelled the same in both types.
        let is_constant = operand.starts_with(|c: char| c.is_ascii_digit());
        if is_constant && name == "zext" {
            return operand;
        }
        self.define(&format!("{name} {} {operand} to {}", value(from), value(to)))
    }
}

/// A comparison: of reals, only `!=` holds where one is not a number.
fn comparison(op: CompareOp, ty: Type) -> &'static str {
    let pick = |real, signed, unsigned| match ty {
        Type::F32 | Type::F64 => real,
        ty if ty.is_signed() => signed,
        _ => unsigned,
    };
    match op {
        CompareOp::Equal => pick("fcmp oeq", "icmp eq", "icmp eq"),
        CompareOp::NotEqual => pick("fcmp une", "icmp ne", "icmp ne"),
        CompareOp::Less => pick("fcmp olt", "icmp slt", "icmp ult"),
        CompareOp::LessEqual => pick("fcmp ole", "icmp sle", "icmp ule"),
        CompareOp::Greater => pick("fcmp ogt", "icmp sgt", "icmp ugt"),
        CompareOp::GreaterEqual => pick("fcmp oge", "icmp sge", "icmp uge"),
    }
}
