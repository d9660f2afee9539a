//! Instruction selection for expressions. Each becomes instructions in SSA form, operands before what reads them.

use super::code::{Code, Spot};
use super::types::{constant, value};
use headrace_program::{BinaryOp, ByteOrder, CompareOp, Expr, ExprKind, Place, Type, UnaryOp};

impl Code<'_> {
    /// The value of an expression: a constant, or a name.
    pub(super) fn value(&mut self, expr: &Expr) -> String {
        let ty = value(expr.ty);
        match &expr.kind {
            ExprKind::Constant(bits) => constant(*bits, expr.ty),
            ExprKind::Has(features) if self.has_features(*features) => {
                self.define(&format!("call i1 @{}.has.{}()", self.shared.prefix, features.index()))
            }
            // A module that names no machine has no functions for features.
            ExprKind::Has(_) => constant(0, Type::Bool),
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
                let y = match op {
                    // Counts have 32 bits.
                    BinaryOp::ShiftLeft | BinaryOp::ShiftRight => self.converted(Type::U32, expr.ty, y, is_number(b)),
                    _ => y,
                };
                self.binary(*op, expr.ty, &x, &y)
            }
            ExprKind::Compare(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                self.define(&format!("{} {} {x}, {y}", comparison(*op, a.ty), value(a.ty)))
            }
            ExprKind::Convert(x) => {
                let operand = self.value(x);
                self.converted(x.ty, expr.ty, operand, is_number(x))
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

    /// Whether a condition holds, where the architecture alone decides that.
    pub(super) fn settled(&self, condition: &Expr) -> Option<bool> {
        match &condition.kind {
            ExprKind::Constant(value) => Some(*value != 0),
            ExprKind::Has(features) => (!self.has_features(*features)).then_some(false),
            ExprKind::Unary(UnaryOp::Not, x) => self.settled(x).map(|holds| !holds),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let decides = Some(*op == BinaryOp::Or);
                let (a, b) = (self.settled(a), self.settled(b));
                if a == decides || b == decides { decides } else { a.filter(|_| b.is_some()) }
            }
            _ => None,
        }
    }

    /// A word as it lies in memory, in the order that is wanted.
    fn word(&mut self, place: &Place, index: &Expr, order: ByteOrder, ty: Type) -> String {
        let spot = Spot { ty, is_aligned: false, ..self.spot(place, index) };
        let word = self.load(&spot);
        self.in_order(&word, order, ty)
    }

    /// Stores a word as it is to lie in memory.
    pub(super) fn store_word(&mut self, place: &Place, index: &Expr, own: &Expr, order: ByteOrder) {
        let operand = self.value(own);
        let operand = self.in_order(&operand, order, own.ty);
        let spot = Spot { ty: own.ty, is_aligned: false, ..self.spot(place, index) };
        self.store(&spot, &operand);
    }

    /// A word of the machine as one of an order, and back: the module names no machine.
    fn in_order(&mut self, word: &str, order: ByteOrder, ty: Type) -> String {
        let (prefix, ty) = (self.shared.prefix, value(ty));
        self.shared.orders.borrow_mut().insert((order.name(), ty));
        self.define(&format!("call {ty} @{prefix}.{}.{ty}({ty} {word})", order.name()))
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
        self.define(&format!("{name} {} {x}, {y}", value(ty)))
    }

    /// An operand in another type; `is_number`: it is one, and no register.
    fn converted(&mut self, from: Type, to: Type, operand: String, is_number: bool) -> String {
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
        // Numbers need no instruction, where they are spelled the same in both types.
        if is_number && name == "zext" {
            return operand;
        }
        self.define(&format!("{name} {} {operand} to {}", value(from), value(to)))
    }
}

/// Whether an expression is spelled as a number of its type.
fn is_number(expr: &Expr) -> bool {
    expr.ty != Type::Bool && expr.constant().is_some()
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
