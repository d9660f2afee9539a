//! Expressions: typed, total and pure.

use crate::{FeatureSetId, TableId, Type, VariableId};

/// An expression and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Type of the value.
    pub ty: Type,
}

/// Where a place begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A variable or parameter of the function.
    Variable(VariableId),
    /// A constant table, which is only read.
    Table(TableId),
}

/// A variable, a table, or a field of a record that a parameter refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where it begins.
    pub root: Root,
    /// Positions of fields, each in the record that the ones before lead to.
    pub path: Vec<u32>,
}

impl Place {
    /// A whole variable.
    pub fn variable(variable: VariableId) -> Self {
        Self { root: Root::Variable(variable), path: Vec::new() }
    }

    /// A table.
    pub fn table(table: TableId) -> Self {
        Self { root: Root::Table(table), path: Vec::new() }
    }

    /// A field of a record that a variable refers to.
    pub fn field(variable: VariableId, field: u32) -> Self {
        Self { root: Root::Variable(variable), path: vec![field] }
    }

    /// A field of this record.
    pub fn then(mut self, field: u32) -> Self {
        self.path.push(field);
        self
    }

    /// True when one is a part of the other, or they are the same.
    pub fn overlaps(&self, other: &Place) -> bool {
        self.root == other.root && self.path.iter().zip(&other.path).all(|(a, b)| a == b)
    }
}

/// Which of several bytes in memory comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The most significant one.
    Big,
    /// The least significant one.
    Little,
}

impl ByteOrder {
    /// What readers know it as.
    pub const fn name(self) -> &'static str {
        match self {
            ByteOrder::Big => "big",
            ByteOrder::Little => "little",
        }
    }

    /// By how many bits byte `i` of a word of so many bytes is shifted in it.
    pub const fn shift(self, i: u32, n_bytes: u32) -> u32 {
        match self {
            ByteOrder::Big => 8 * (n_bytes - 1 - i),
            ByteOrder::Little => 8 * i,
        }
    }
}

/// The forms of expressions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExprKind {
    /// A constant: as [`Type::extend`] says.
    Constant(u64),
    /// The value of a scalar.
    Read(Place),
    /// An element of an array or slice; the index is a `U32` below its length.
    Element(Place, Box<Expr>),
    /// Elements of an array or slice of `U8` as one number, a `U32` or `U64`: as many as that has bytes, from an index on,
    /// a `U32`, which does not wrap where it is a sum. All of them lie within the array; the first need not lie at a multiple
    /// of anything.
    Word(Place, Box<Expr>, ByteOrder),
    /// An operator of one operand of the same type.
    Unary(UnaryOp, Box<Expr>),
    /// An operator of two operands of the same type as the value; of shifts, the count is a `U32` below the width.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A comparison of two operands of one type, by their sign where they have one; the value is a `Bool`.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// To the type of the expression: integers keep their value where it fits and wrap where not; integers become the
    /// nearest real, ties to even, and reals the nearest of a narrower format; `Bool` becomes 0 or 1. No real becomes an
    /// integer, and nothing becomes a `Bool`.
    Convert(Box<Expr>),
    /// Bits as they are, of `U32` and `F32` or of `U64` and `F64`.
    Reinterpret(Box<Expr>),
    /// The second operand when the first, a `Bool`, holds; else the third.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Whether the machine that the program runs on has features; a `Bool`, the same at all times.
    Has(FeatureSetId),
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`, wrapping, of computed integers and of `F64`.
    Negate,
    /// All bits of a computed integer; `not` of a `Bool`.
    Not,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, wrapping, of computed integers; of `F64`.
    Add,
    /// `-`, as `Add`.
    Sub,
    /// `*`, as `Add`.
    Mul,
    /// `/` toward zero of computed integers, whose divisor is not zero and whose quotient fits; IEEE 754 of `F64`.
    Div,
    /// What `Div` leaves, with the sign of the dividend; of integers.
    Rem,
    /// `&`, of computed integers; of `Bool`, where the second operand need not be evaluated.
    And,
    /// `|`, as `And`.
    Or,
    /// `^`, as `And`.
    Xor,
    /// `<<`, of computed integers.
    ShiftLeft,
    /// `>>`, of computed integers: fills with the sign, or with zeros where there is none.
    ShiftRight,
}

impl BinaryOp {
    /// How it is written in C and in the languages that took their operators from there.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `==`; the only ones of `Bool` are this and the next.
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl CompareOp {
    /// How it is written in C and in the languages that took their operators from there.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Equal => "==",
            CompareOp::NotEqual => "!=",
            CompareOp::Less => "<",
            CompareOp::LessEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEqual => ">=",
        }
    }
}

impl Expr {
    /// A constant of an integer type; bits beyond its width do not count.
    pub fn int(ty: Type, value: u64) -> Self {
        Self { kind: ExprKind::Constant(ty.extend(value)), ty }
    }

    /// A `U32`.
    pub fn u32(value: u32) -> Self {
        Self::int(Type::U32, u64::from(value))
    }

    /// A `Bool`.
    pub fn bool(value: bool) -> Self {
        Self::int(Type::Bool, u64::from(value))
    }

    /// A `F64`.
    pub fn real(value: f64) -> Self {
        Self { kind: ExprKind::Constant(value.to_bits()), ty: Type::F64 }
    }

    /// The constant that it is.
    pub fn constant(&self) -> Option<u64> {
        match self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a scalar of the type.
    pub fn read(place: Place, ty: Type) -> Self {
        Self { kind: ExprKind::Read(place), ty }
    }

    /// An element of an array of elements of the type.
    pub fn element(place: Place, index: Expr, ty: Type) -> Self {
        Self { kind: ExprKind::Element(place, Box::new(index)), ty }
    }

    /// Bytes from an index on as a number of the type.
    pub fn word(place: Place, index: Expr, order: ByteOrder, ty: Type) -> Self {
        Self { kind: ExprKind::Word(place, Box::new(index), order), ty }
    }

    /// An operator of one operand.
    pub fn unary(op: UnaryOp, x: Expr) -> Self {
        let ty = x.ty;
        Self { kind: ExprKind::Unary(op, Box::new(x)), ty }
    }

    /// `not x`
    pub fn negated(self) -> Self {
        match self.kind {
            ExprKind::Constant(value) if self.ty == Type::Bool => Expr::bool(value == 0),
            _ => Expr::unary(UnaryOp::Not, self),
        }
    }

    /// An operator of two operands, evaluated where both are constants of an integer type.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Self {
        let ty = a.ty;
        if let (Some(x), Some(y)) = (a.constant(), b.constant())
            && let Some(value) = crate::evaluate::binary(op, ty, x, y)
            && !ty.is_real()
        {
            return Expr::int(ty, value);
        }
        let neutral = |value: Option<u64>, of: u64| value == Some(of) && !ty.is_real();
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::ShiftLeft | BinaryOp::ShiftRight if neutral(b.constant(), 0) => {
                return a;
            }
            BinaryOp::Add if neutral(a.constant(), 0) => return b,
            BinaryOp::Mul if neutral(b.constant(), 1) => return a,
            BinaryOp::Mul if neutral(a.constant(), 1) => return b,
            BinaryOp::And if ty == Type::Bool => match (a.constant(), b.constant()) {
                (Some(0), _) | (_, Some(1)) => return a,
                (Some(_), _) | (_, Some(_)) => return b,
                _ => {}
            },
            BinaryOp::Or if ty == Type::Bool => match (a.constant(), b.constant()) {
                (Some(1), _) | (_, Some(0)) => return a,
                (Some(_), _) | (_, Some(_)) => return b,
                _ => {}
            },
            _ => {}
        }
        Self { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty }
    }

    /// `a + b`
    pub fn plus(self, b: Expr) -> Self {
        Expr::binary(BinaryOp::Add, self, b)
    }

    /// `a - b`
    pub fn minus(self, b: Expr) -> Self {
        Expr::binary(BinaryOp::Sub, self, b)
    }

    /// `a * b`
    pub fn times(self, b: Expr) -> Self {
        Expr::binary(BinaryOp::Mul, self, b)
    }

    /// `a & b`
    pub fn and(self, b: Expr) -> Self {
        Expr::binary(BinaryOp::And, self, b)
    }

    /// `a | b`
    pub fn or(self, b: Expr) -> Self {
        Expr::binary(BinaryOp::Or, self, b)
    }

    /// `a << count`, for a count below the width.
    pub fn shifted_left(self, count: u32) -> Self {
        Expr::binary(BinaryOp::ShiftLeft, self, Expr::u32(count))
    }

    /// `a >> count`, for a count below the width.
    pub fn shifted_right(self, count: u32) -> Self {
        Expr::binary(BinaryOp::ShiftRight, self, Expr::u32(count))
    }

    /// The value of which a word of 32 or 64 bits is the rotation, and by how far to the left, where it says so with two shifts:
    /// for languages that have a word for it.
    pub fn rotation(&self) -> Option<(&Expr, u32)> {
        let ExprKind::Binary(BinaryOp::Or, left, right) = &self.kind else { return None };
        let (ExprKind::Binary(BinaryOp::ShiftLeft, value, count), ExprKind::Binary(BinaryOp::ShiftRight, other, back)) =
            (&left.kind, &right.kind)
        else {
            return None;
        };
        let (count, back) = (count.constant()? as u32, back.constant()? as u32);
        let bits = match self.ty {
            Type::U32 => 32,
            Type::U64 => 64,
            _ => return None,
        };
        (value == other && value.ty == self.ty && count > 0 && count + back == bits).then_some((value, count))
    }

    /// A comparison.
    pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Self {
        if let (Some(x), Some(y)) = (a.constant(), b.constant())
            && !a.ty.is_real()
        {
            return Expr::bool(crate::evaluate::compare(op, a.ty, x, y));
        }
        Self { kind: ExprKind::Compare(op, Box::new(a), Box::new(b)), ty: Type::Bool }
    }

    /// `a == b`
    pub fn equals(self, b: Expr) -> Self {
        Expr::compare(CompareOp::Equal, self, b)
    }

    /// `a < b`
    pub fn less(self, b: Expr) -> Self {
        Expr::compare(CompareOp::Less, self, b)
    }

    /// `a >= b`
    pub fn at_least(self, b: Expr) -> Self {
        Expr::compare(CompareOp::GreaterEqual, self, b)
    }

    /// The value in another type. Constants and repeated conversions become simpler.
    pub fn to(self, ty: Type) -> Self {
        if self.ty == ty {
            return self;
        }
        if let Some(value) = self.constant()
            && ty.is_int()
            && !self.ty.is_real()
        {
            return Expr::int(ty, value);
        }
        // What was made wider and is cut again below that was never wider.
        if let ExprKind::Convert(inner) = self.kind.clone()
            && ty.is_int()
            && self.ty.is_int()
            && inner.ty.is_int()
            && self.ty.bits() >= ty.bits()
        {
            return inner.to(ty);
        }
        Self { kind: ExprKind::Convert(Box::new(self)), ty }
    }

    /// The bits as another type of the same width.
    pub fn reinterpret(self, ty: Type) -> Self {
        Self { kind: ExprKind::Reinterpret(Box::new(self)), ty }
    }

    /// One of two values of one type.
    pub fn select(condition: Expr, yes: Expr, no: Expr) -> Self {
        match condition.constant() {
            Some(0) => return no,
            Some(_) => return yes,
            None => {}
        }
        let ty = yes.ty;
        Self { kind: ExprKind::Select(Box::new(condition), Box::new(yes), Box::new(no)), ty }
    }

    /// True for constants and for scalars that are read as they are.
    pub fn is_plain(&self) -> bool {
        matches!(self.kind, ExprKind::Constant(_) | ExprKind::Read(_))
    }

    /// The expressions that this one is made of, one level down.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Constant(_) | ExprKind::Read(_) | ExprKind::Has(_) => Vec::new(),
            ExprKind::Element(_, x)
            | ExprKind::Word(_, x, _)
            | ExprKind::Unary(_, x)
            | ExprKind::Convert(x)
            | ExprKind::Reinterpret(x) => vec![x],
            ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(value: &Expr, left: u32, right: u32) -> Expr {
        Expr::binary(BinaryOp::Or, value.clone().shifted_left(left), value.clone().shifted_right(right))
    }

    fn read(ty: Type) -> Expr {
        Expr::read(Place::variable(crate::VariableId(0)), ty)
    }

    #[test]
    fn two_shifts_that_make_a_word_are_a_rotation() {
        for (ty, bits) in [(Type::U32, 32), (Type::U64, 64)] {
            let word = read(ty);
            assert_eq!(turned(&word, 7, bits - 7).rotation(), Some((&word, 7)));
            assert_eq!(turned(&word, 7, bits - 8).rotation(), None);
        }
    }

    #[test]
    fn other_shifts_are_none() {
        let byte = read(Type::U8);
        assert_eq!(turned(&byte, 3, 5).rotation(), None);
        let (word, other) = (read(Type::U32), Expr::read(Place::variable(crate::VariableId(1)), Type::U32));
        let mixed = Expr::binary(BinaryOp::Or, word.clone().shifted_left(7), other.shifted_right(25));
        assert_eq!(mixed.rotation(), None);
        let sum = Expr::binary(BinaryOp::Add, word.clone().shifted_left(7), word.shifted_right(25));
        assert_eq!(sum.rotation(), None);
    }
}
