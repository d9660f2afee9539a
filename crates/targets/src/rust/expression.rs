//! Printer of expressions: their spelling and precedence in Rust. Places and expressions.

use super::name;
use headrace_program::{BinaryOp, ByteOrder, Expr, ExprKind, Function, Module, Place, Root, Type, UnaryOp};

/// What expressions of a function are printed with.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
}

/// A constant of a type.
pub(super) fn constant(value: u64, ty: Type) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        Type::F64 => format!("f64::from_bits({value:#x})"),
        Type::F32 => format!("f32::from_bits({value:#x})"),
        ty if ty.is_signed() && (value as i64) < 0 => format!("({}{ty})", value as i64),
        _ if value > 1024 => format!("{value:#x}{ty}"),
        _ => format!("{value}{ty}"),
    }
}

/// An order of bytes in the names of the methods of integers.
pub(super) fn order_name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Big => "be",
        ByteOrder::Little => "le",
    }
}

impl Scope<'_> {
    /// A place, without a sign of reference.
    pub(super) fn place(&self, place: &Place) -> String {
        let root = match place.root {
            Root::Table(table) => format!("TABLE_{}", self.module.tables[table.index()].name),
            Root::Variable(variable) => name(&self.function.variables[variable.index()].name),
        };
        let fields = self.module.fields(self.function, place).into_iter().flatten();
        fields.fold(root, |text, field| format!("{text}.{}", name(&field.name)))
    }

    /// An index or count as `usize`.
    pub(super) fn index(&self, expr: &Expr) -> String {
        match expr.constant() {
            Some(value) => value.to_string(),
            None => format!("{} as usize", self.operand(expr)),
        }
    }

    /// An expression that may stand anywhere.
    pub(super) fn operand(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        match expr.kind {
            ExprKind::Constant(_)
            | ExprKind::Read(_)
            | ExprKind::Element(..)
            | ExprKind::Word(..)
            | ExprKind::Has(_)
            | ExprKind::Reinterpret(_) => text,
            ExprKind::Unary(UnaryOp::Negate, _) if expr.ty.is_int() => text,
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) if expr.ty.is_int() => text,
            ExprKind::Binary(..) if expr.rotation().is_some() => text,
            _ => format!("({text})"),
        }
    }

    /// An expression that stands by itself.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => constant(*value, expr.ty),
            ExprKind::Has(features) => format!("has_{}__()", features.0),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Element(place, index) => format!("{}[{}]", self.place(place), self.index(index)),
            ExprKind::Word(place, index, order) => {
                let place = self.place(place);
                let byte = |i: u32| match index.constant() {
                    Some(index) => format!("{place}[{}]", index + u64::from(i)),
                    None => format!("{place}[{} + {i}]", self.index(index)),
                };
                let bytes: Vec<String> = (0..expr.ty.bytes()).map(byte).collect();
                format!("{}::from_{}_bytes([{}])", expr.ty, order_name(*order), bytes.join(", "))
            }
            ExprKind::Unary(UnaryOp::Negate, x) if expr.ty.is_int() => format!("{}.wrapping_neg()", self.operand(x)),
            ExprKind::Unary(UnaryOp::Negate, x) => format!("-{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) => format!("!{}", self.operand(x)),
            ExprKind::Binary(op, a, b) => match expr.rotation() {
                Some((rotated, count)) => format!("{}.rotate_left({count})", self.operand(rotated)),
                None => self.binary(*op, expr.ty, a, b),
            },
            ExprKind::Compare(op, a, b) => format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b)),
            ExprKind::Convert(x) => format!("{} as {}", self.operand(x), expr.ty),
            ExprKind::Reinterpret(x) if expr.ty.is_real() => format!("{}::from_bits({})", expr.ty, self.expr(x)),
            ExprKind::Reinterpret(x) => format!("{}.to_bits()", self.operand(x)),
            ExprKind::Select(c, a, b) => {
                format!("if {} {{ {} }} else {{ {} }}", self.expr(c), self.expr(a), self.expr(b))
            }
        }
    }

    fn binary(&self, op: BinaryOp, ty: Type, a: &Expr, b: &Expr) -> String {
        let (x, y) = (self.operand(a), self.operand(b));
        let wrapping = match op {
            BinaryOp::Add => Some("wrapping_add"),
            BinaryOp::Sub => Some("wrapping_sub"),
            BinaryOp::Mul => Some("wrapping_mul"),
            _ => None,
        };
        if let (Some(method), true) = (wrapping, ty.is_int()) {
            return format!("{x}.{method}({})", self.expr(b));
        }
        let symbol = match op {
            BinaryOp::And if ty == Type::Bool => "&&",
            BinaryOp::Or if ty == Type::Bool => "||",
            op => op.symbol(),
        };
        format!("{x} {symbol} {y}")
    }

    /// True when a value is read from something that a call may hold for writing.
    pub(super) fn reads_memory(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Read(place) => !place.path.is_empty(),
            ExprKind::Element(..) | ExprKind::Word(..) => true,
            _ => expr.parts().into_iter().any(|part| self.reads_memory(part)),
        }
    }
}
