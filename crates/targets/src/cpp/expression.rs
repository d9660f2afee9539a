//! Printer of expressions: their spelling and precedence in C++. Places and expressions.

use super::name;
use headrace_program::{BinaryOp, Expr, ExprKind, Function, Module, Place, Root, Type, UnaryOp};

/// What expressions of a function are printed with.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
}

/// The type of values and elements.
pub(super) fn ctype(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::U8 => "std::uint8_t",
        Type::U16 => "std::uint16_t",
        Type::U32 => "std::uint32_t",
        Type::U64 => "std::uint64_t",
        Type::I8 => "std::int8_t",
        Type::I16 => "std::int16_t",
        Type::I32 => "std::int32_t",
        Type::I64 => "std::int64_t",
        Type::F32 => "float",
        Type::F64 => "double",
    }
}

/// A constant of a type, as it stands in a list of its elements.
pub(super) fn item(value: u64, ty: Type) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        Type::F64 => format!("std::bit_cast<double>(UINT64_C({value:#x}))"),
        Type::F32 => format!("std::bit_cast<float>({:#x}u)", value as u32),
        Type::I32 if value as i32 == i32::MIN => "INT32_MIN".to_owned(),
        Type::I64 if value as i64 == i64::MIN => "INT64_MIN".to_owned(),
        Type::I64 if (value as i64) < 0 => format!("-INT64_C({})", (value as i64).unsigned_abs()),
        Type::I64 => format!("INT64_C({value})"),
        ty if ty.is_signed() => (value as i64).to_string(),
        Type::U64 => format!("UINT64_C({value:#x})"),
        Type::U32 if value > 1024 => format!("{value:#x}u"),
        Type::U32 => format!("{value}u"),
        _ => format!("{value:#x}"),
    }
}

/// A constant of a type, which may stand anywhere.
pub(super) fn constant(value: u64, ty: Type) -> String {
    let text = item(value, ty);
    match ty {
        Type::U8 | Type::U16 | Type::I8 | Type::I16 => format!("{}{{{}}}", ctype(ty), ty.extend(value) as i64),
        // The least of a type has a name.
        Type::I32 if i32::MIN < value as i32 && (value as i32) < 0 => format!("({text})"),
        Type::I64 if i64::MIN < value as i64 && (value as i64) < 0 => format!("({text})"),
        _ => text,
    }
}

impl Scope<'_> {
    /// A place.
    pub(super) fn place(&self, place: &Place) -> String {
        let root = match place.root {
            Root::Table(table) => format!("TABLE_{}_x", self.module.tables[table.index()].name),
            Root::Variable(variable) => name(&self.function.variables[variable.index()].name),
        };
        let fields = self.module.fields(self.function, place).into_iter().flatten();
        fields.fold(root, |text, field| format!("{text}.{}", name(&field.name)))
    }

    /// An element of an array.
    pub(super) fn element(&self, place: &Place, index: &Expr) -> String {
        format!("{}[{}]", self.place(place), self.expr(index))
    }

    /// An element of a table that is known here. Compilers warn of what they make of its conversions where it is read.
    fn known(&self, place: &Place, index: &Expr) -> Option<u64> {
        let Root::Table(table) = place.root else { return None };
        let values = &self.module.tables[table.index()].values;
        values.get(usize::try_from(index.constant()?).ok()?).copied()
    }

    /// Where an element of an array lies; it may be the one after the last.
    pub(super) fn pointer(&self, place: &Place, index: &Expr) -> String {
        let data = format!("{}.data()", self.place(place));
        if index.constant() == Some(0) { data } else { format!("{data} + {}", self.operand(index)) }
    }

    /// An expression that may stand anywhere.
    pub(super) fn operand(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        if is_primary(expr) { text } else { format!("({text})") }
    }

    /// An operand of a comparison. gcc takes complements of widened numbers there for mistakes, since they have bits that the
    /// narrow ones lack, and sees them through conversions.
    fn compared(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, x) if is_widened(x) => {
                format!("({} ^ {})", self.operand(x), constant(expr.ty.extend(u64::MAX), expr.ty))
            }
            ExprKind::Convert(x) if is_complement(expr) => {
                let text = self.compared(x);
                // Conversions of conversions end here; what is no conversion has parentheses.
                let enclosed = if matches!(x.kind, ExprKind::Convert(_)) { format!("({text})") } else { text };
                format!("static_cast<{}>{enclosed}", ctype(expr.ty))
            }
            _ => self.operand(expr),
        }
    }

    /// An expression that stands by itself.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => constant(*value, expr.ty),
            ExprKind::Has(features) => format!("has_{}_x()", features.0),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Element(place, index) => match self.known(place, index) {
                Some(value) => constant(value, expr.ty),
                None => self.element(place, index),
            },
            ExprKind::Word(place, index, order) => {
                format!("load_{}<{}>({})", order.name(), ctype(expr.ty), self.pointer(place, index))
            }
            ExprKind::Unary(UnaryOp::Negate, x) if expr.ty.is_signed() => format!("wrapping_negate({})", self.expr(x)),
            ExprKind::Unary(UnaryOp::Negate, x) if expr.ty.is_int() => format!("0u - {}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Negate, x) => format!("-{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) if expr.ty == Type::Bool => format!("!{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) => format!("~{}", self.operand(x)),
            ExprKind::Binary(op, a, b) => match expr.rotation() {
                Some((rotated, count)) => format!("std::rotl({}, {count})", self.expr(rotated)),
                None => self.binary(*op, expr.ty, a, b),
            },
            ExprKind::Compare(op, a, b) => format!("{} {} {}", self.compared(a), op.symbol(), self.compared(b)),
            ExprKind::Convert(x) => format!("static_cast<{}>({})", ctype(expr.ty), self.expr(x)),
            ExprKind::Reinterpret(x) => format!("std::bit_cast<{}>({})", ctype(expr.ty), self.expr(x)),
            ExprKind::Select(c, a, b) => {
                format!("{} ? {} : {}", self.operand(c), self.operand(a), self.operand(b))
            }
        }
    }

    fn binary(&self, op: BinaryOp, ty: Type, a: &Expr, b: &Expr) -> String {
        if let Some(function) = wrapping(op, ty) {
            return format!("{function}({}, {})", self.expr(a), self.expr(b));
        }
        let (x, y) = (self.operand(a), self.operand(b));
        match op {
            BinaryOp::And if ty == Type::Bool => format!("{x} && {y}"),
            BinaryOp::Or if ty == Type::Bool => format!("{x} || {y}"),
            BinaryOp::Xor if ty == Type::Bool => format!("{x} != {y}"),
            // Narrow integers are computed as `int`.
            _ if ty.is_int() && !ty.is_computed() => format!("static_cast<{}>({x} {} {y})", ctype(ty), op.symbol()),
            _ => format!("{x} {} {y}", op.symbol()),
        }
    }
}

/// Whether an expression has no operator outside of parentheses.
fn is_primary(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_)
        | ExprKind::Read(_)
        | ExprKind::Element(..)
        | ExprKind::Word(..)
        | ExprKind::Has(_)
        | ExprKind::Reinterpret(_)
        | ExprKind::Convert(_) => true,
        ExprKind::Binary(op, ..) => wrapping(*op, expr.ty).is_some() || expr.rotation().is_some(),
        _ => false,
    }
}

/// Whether an expression is an unsigned integer in a wider type.
fn is_widened(expr: &Expr) -> bool {
    let is_narrow = |x: &Expr| x.ty.is_int() && !x.ty.is_signed() && x.ty.bits() < expr.ty.bits();
    matches!(&expr.kind, ExprKind::Convert(x) if is_narrow(x) || is_widened(x))
}

/// Whether an expression is a complement with all of its bits.
fn is_complement(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Unary(UnaryOp::Not, _) => true,
        ExprKind::Convert(x) => x.ty.bits() <= expr.ty.bits() && is_complement(x),
        _ => false,
    }
}

/// The function that computes what overflows of signed integers mean, which C++ leaves open.
fn wrapping(op: BinaryOp, ty: Type) -> Option<&'static str> {
    match op {
        _ if !ty.is_signed() => None,
        BinaryOp::Add => Some("wrapping_add"),
        BinaryOp::Sub => Some("wrapping_subtract"),
        BinaryOp::Mul => Some("wrapping_multiply"),
        _ => None,
    }
}
