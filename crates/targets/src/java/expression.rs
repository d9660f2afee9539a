//! Printer of expressions: their spelling and precedence in Java. Places and expressions.

use super::name;
use crate::locals::Declared;
use headrace_program::{
    BinaryOp, ByteOrder, CompareOp, Expr, ExprKind, Function, Module, Place, Root, Type, UnaryOp, VariableId,
    VariableKind,
};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What expressions of a function are printed with.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) module: &'a Module,
    pub(super) function: &'a Function,
    /// Its variables are fields of an object: it is printed as several methods.
    pub(super) in_parts: bool,
    /// Those that belong to a block of one of the methods.
    pub(super) declared: &'a RefCell<Declared<'a>>,
    /// Types of reals that unsigned longs are converted to, as far as printed.
    pub(super) reals: &'a RefCell<BTreeSet<&'static str>>,
}

/// What methods call the object of the variables of their function.
pub(super) const VARIABLES: &str = "v__";

/// What scalars, parameters and results of a type are.
pub(super) fn scalar(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "boolean",
        Type::U64 | Type::I64 => "long",
        Type::F32 => "float",
        Type::F64 => "double",
        _ => "int",
    }
}

/// What elements of arrays of a type are.
pub(super) fn element(ty: Type) -> &'static str {
    match ty {
        Type::U8 | Type::I8 => "byte",
        Type::U16 | Type::I16 => "short",
        _ => scalar(ty),
    }
}

/// The value that variables of a type begin with.
pub(super) fn zero(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "false",
        Type::F32 | Type::F64 => "0",
        Type::U64 | Type::I64 => "0L",
        _ => "0",
    }
}

/// A constant of a type.
pub(super) fn constant(value: u64, ty: Type) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        Type::F64 => format!("Double.longBitsToDouble({value:#x}L)"),
        Type::F32 => format!("Float.intBitsToFloat({:#x})", value as u32),
        Type::I64 if (value as i64) < 0 => format!("({}L)", value as i64),
        Type::U64 | Type::I64 if value > 1024 => format!("{value:#x}L"),
        Type::U64 | Type::I64 => format!("{value}L"),
        ty if ty.is_signed() && (value as i64) < 0 => format!("({})", value as i64),
        _ if value > 1024 => format!("{:#x}", value as u32),
        _ => value.to_string(),
    }
}

/// What reads and writes words of a type in arrays of bytes.
pub(super) fn words(ty: Type, order: ByteOrder) -> String {
    let order = match order {
        ByteOrder::Big => "BIG",
        ByteOrder::Little => "LITTLE",
    };
    format!("Words.{order}_{}", ty.bits())
}

impl Scope<'_> {
    /// A place: of a slice, the array in which it lies.
    pub(super) fn place(&self, place: &Place) -> String {
        let root = match place.root {
            Root::Table(table) => format!("TABLE_{}__", self.module.tables[table.index()].name),
            Root::Variable(variable) => self.variable(variable),
        };
        let fields = self.module.fields(self.function, place).into_iter().flatten();
        fields.fold(root, |text, field| format!("{text}.{}", name(&field.name)))
    }

    /// A variable.
    pub(super) fn variable(&self, variable: VariableId) -> String {
        let own = name(&self.function.variables[variable.index()].name);
        if self.declared.borrow().is_inner(variable) { own } else { self.found(own) }
    }

    /// Where a variable with this name lies.
    fn found(&self, own: String) -> String {
        if self.in_parts { format!("{VARIABLES}.{own}") } else { own }
    }

    /// What is added to indices: slices begin anywhere in their arrays.
    fn offset(&self, place: &Place) -> Option<String> {
        match place.root {
            Root::Variable(variable) if place.path.is_empty() => {
                let variable = &self.function.variables[variable.index()];
                matches!(variable.kind, VariableKind::Slice { .. }).then(|| self.found(offset(&variable.name)))
            }
            _ => None,
        }
    }

    /// An index into the array of a place.
    pub(super) fn index(&self, place: &Place, index: &Expr) -> String {
        match self.offset(place) {
            Some(offset) if index.constant() == Some(0) => offset,
            Some(offset) => format!("{offset} + {}", self.operand(index)),
            None => self.expr(index),
        }
    }

    /// An element as it is stored.
    pub(super) fn raw(&self, place: &Place, index: &Expr) -> String {
        format!("{}[{}]", self.place(place), self.index(place, index))
    }

    /// A value as an element of an array.
    pub(super) fn stored(&self, value: &Expr) -> String {
        let narrow = element(value.ty);
        if narrow == scalar(value.ty) {
            return self.expr(value);
        }
        // What is cut anyway need not be brought to its range.
        match &value.kind {
            ExprKind::Element(place, index) => self.raw(place, index),
            ExprKind::Convert(x) if x.ty.is_int() => format!("({narrow}) {}", self.operand(x)),
            ExprKind::Constant(bits) => {
                let signed = if value.ty.bits() == 8 { i64::from(*bits as i8) } else { i64::from(*bits as i16) };
                signed.to_string()
            }
            _ => format!("({narrow}) {}", self.operand(value)),
        }
    }

    /// An expression that may stand anywhere.
    pub(super) fn operand(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        if is_primary(expr) || has_parentheses(expr) { text } else { format!("({text})") }
    }

    /// An expression that stands by itself.
    pub(super) fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => constant(*value, expr.ty),
            // No program for it has functions for machines with features.
            ExprKind::Has(_) => "false".to_owned(),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Element(place, index) => {
                let text = self.raw(place, index);
                match expr.ty {
                    Type::U8 => format!("{text} & 0xff"),
                    Type::U16 => format!("{text} & 0xffff"),
                    _ => text,
                }
            }
            ExprKind::Word(place, index, order) => {
                let (words, ty) = (words(expr.ty, *order), scalar(expr.ty));
                format!("({ty}) {words}.get({}, {})", self.place(place), self.index(place, index))
            }
            ExprKind::Unary(UnaryOp::Negate, x) => format!("-{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) if expr.ty == Type::Bool => format!("!{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) => format!("~{}", self.operand(x)),
            ExprKind::Binary(op, a, b) => self.binary(*op, expr.ty, a, b),
            ExprKind::Compare(op, a, b) => self.compare(*op, a, b),
            ExprKind::Convert(x) => self.convert(expr.ty, x),
            ExprKind::Reinterpret(x) => {
                let function = match expr.ty {
                    Type::F32 => "Float.intBitsToFloat",
                    Type::F64 => "Double.longBitsToDouble",
                    Type::U32 => "Float.floatToRawIntBits",
                    _ => "Double.doubleToRawLongBits",
                };
                format!("{function}({})", self.expr(x))
            }
            ExprKind::Select(c, a, b) => {
                format!("{} ? {} : {}", self.operand(c), self.operand(a), self.operand(b))
            }
        }
    }

    fn binary(&self, op: BinaryOp, ty: Type, a: &Expr, b: &Expr) -> String {
        let (x, y) = (self.operand(a), self.operand(b));
        let unsigned = matches!(ty, Type::U32 | Type::U64);
        let class = if ty == Type::U64 { "Long" } else { "Integer" };
        match op {
            BinaryOp::Div if unsigned => format!("{class}.divideUnsigned({}, {})", self.expr(a), self.expr(b)),
            BinaryOp::Rem if unsigned => format!("{class}.remainderUnsigned({}, {})", self.expr(a), self.expr(b)),
            BinaryOp::ShiftRight if unsigned => format!("{x} >>> {y}"),
            BinaryOp::And if ty == Type::Bool => format!("{x} && {y}"),
            BinaryOp::Or if ty == Type::Bool => format!("{x} || {y}"),
            _ => format!("{x} {} {y}", op.symbol()),
        }
    }

    fn compare(&self, op: CompareOp, a: &Expr, b: &Expr) -> String {
        let symbol = op.symbol();
        let by_sign = matches!(op, CompareOp::Equal | CompareOp::NotEqual)
            || !matches!(a.ty, Type::U32 | Type::U64)
            || (is_small(a) && is_small(b));
        if by_sign {
            return format!("{} {symbol} {}", self.operand(a), self.operand(b));
        }
        let class = if a.ty == Type::U64 { "Long" } else { "Integer" };
        format!("{class}.compareUnsigned({}, {}) {symbol} 0", self.expr(a), self.expr(b))
    }

    fn convert(&self, to: Type, x: &Expr) -> String {
        let from = x.ty;
        if from == Type::Bool {
            let one = match to {
                Type::U64 | Type::I64 => "1L : 0L",
                Type::F32 => "1f : 0f",
                Type::F64 => "1d : 0d",
                _ => "1 : 0",
            };
            return format!("{} ? {one}", self.operand(x));
        }
        let text = self.operand(x);
        if changes_nothing(to, from) {
            return text;
        }
        let is_long = matches!(from, Type::U64 | Type::I64);
        let int = if is_long { format!("(int) {text}") } else { text.clone() };
        match to {
            Type::U8 => format!("{int} & 0xff"),
            Type::I8 => format!("(byte) {text}"),
            Type::U16 => format!("{int} & 0xffff"),
            Type::I16 => format!("(short) {text}"),
            Type::U32 | Type::I32 => int,
            Type::U64 | Type::I64 if from == Type::U32 => format!("{text} & 0xffffffffL"),
            Type::U64 | Type::I64 => format!("(long) {text}"),
            Type::F32 | Type::F64 => {
                let real = scalar(to);
                match from {
                    Type::U32 => format!("({real}) ({text} & 0xffffffffL)"),
                    Type::U64 => {
                        self.reals.borrow_mut().insert(real);
                        format!("{real}__({})", self.expr(x))
                    }
                    _ => format!("({real}) {text}"),
                }
            }
            Type::Bool => text,
        }
    }
}

/// Whether an expression has no operator outside of parentheses.
fn is_primary(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Constant(_) | ExprKind::Read(_) | ExprKind::Reinterpret(_) => true,
        ExprKind::Element(..) => !matches!(expr.ty, Type::U8 | Type::U16),
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => expr.ty.is_computed() && !expr.ty.is_signed(),
        _ => false,
    }
}

/// Whether an expression is one in parentheses: conversions that change nothing are their operands.
fn has_parentheses(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Convert(x) if changes_nothing(expr.ty, x.ty) => has_parentheses(x) || !is_primary(x),
        ExprKind::Constant(value) => is_negative(*value, expr.ty),
        _ => false,
    }
}

/// Whether a constant has a sign.
fn is_negative(value: u64, ty: Type) -> bool {
    matches!(ty, Type::I8 | Type::I16 | Type::I32 | Type::I64) && (value as i64) < 0
}

/// Whether values of a type have the same representation in another one.
fn changes_nothing(to: Type, from: Type) -> bool {
    let is_long = matches!(from, Type::U64 | Type::I64);
    let fits = |bits: u32| from.bits() < bits || (from.bits() == bits && to.is_signed() == from.is_signed());
    match to {
        _ if from == Type::Bool => false,
        Type::U8 => !from.is_signed() && fits(8),
        Type::I8 => fits(8),
        Type::U16 => !from.is_signed() && fits(16),
        Type::I16 => fits(16),
        Type::U32 | Type::I32 => !is_long,
        Type::U64 | Type::I64 => is_long,
        Type::F32 | Type::F64 => false,
        Type::Bool => true,
    }
}

/// The name of the offset that comes with a slice.
pub(super) fn offset(slice: &str) -> String {
    format!("{slice}_at__")
}

/// An unsigned value whose upper bit is clear, so that comparing it with its sign is the same.
fn is_small(expr: &Expr) -> bool {
    let top = 1u64 << (expr.ty.bits() - 1);
    match &expr.kind {
        ExprKind::Constant(value) => *value < top,
        ExprKind::Convert(x) => !x.ty.is_signed() && x.ty.bits() < expr.ty.bits(),
        ExprKind::Binary(BinaryOp::And, a, b) => is_small(a) || is_small(b),
        ExprKind::Binary(BinaryOp::ShiftRight, _, count) => count.constant().is_some_and(|count| count > 0),
        ExprKind::Select(_, a, b) => is_small(a) && is_small(b),
        _ => false,
    }
}
