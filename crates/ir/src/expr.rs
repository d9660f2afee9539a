//! Scalar expressions and the places they read.

use crate::{Int, IntType, LocalId, ProcedureId, RealType, Scalar, VariableId};
use headrace_source::Span;

/// A scalar expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where it stands, for reports of run-time errors.
    pub span: Span,
}

/// The forms of expressions. Integer results are exact unless the form says that it wraps.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Integer literal.
    Int(Int),
    /// Boolean literal.
    Bool(bool),
    /// Real literal, rounded to its type.
    Real(f64, RealType),
    /// String literal.
    String(String),
    /// The value of a scalar variable or of a list element; every dimension is indexed.
    Load(Place),
    /// `-x` on integers.
    Negate(Box<Expr>),
    /// `~x` on integers: `-x - 1`.
    Complement(Box<Expr>),
    /// `not x` on booleans.
    Not(Box<Expr>),
    /// An exact operator on integers. `Div`, `Mod` and `ShiftRight`, by a negative count, can fail at run time.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x << y` wrapped to the given type; a negative count shifts to the right. A type wider than [`crate::MAX_WIDTH`] holds
    /// every value, and a count above [`crate::MAX_SHIFT`] fails then.
    ShiftLeft(IntType, Box<Expr>, Box<Expr>),
    /// The operand converted to the type as by a store.
    Wrap(IntType, Box<Expr>),
    /// A comparison of two operands of one kind: integers, reals, and, for `Equal` and `NotEqual`, booleans and strings.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `a and b`: `b` is evaluated only when `a` holds.
    And(Box<Expr>, Box<Expr>),
    /// `a or b`: `b` is evaluated only when `a` does not hold.
    Or(Box<Expr>, Box<Expr>),
    /// `if c then a else b end`: only the chosen branch is evaluated. Both branches are of one kind.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A call of a pure function with a scalar result. Its value has the result type of the function.
    Call(ProcedureId, Vec<Argument>),
    /// An integer converted to a real: correctly rounded to nearest even.
    IntToReal(RealType, Box<Expr>),
    /// A real rounded to a format.
    RealToReal(RealType, Box<Expr>),
    /// A real operator; the result is rounded to the format.
    RealBinary(RealType, RealOp, Box<Expr>, Box<Expr>),
    /// `-x` on reals.
    RealNegate(Box<Expr>),
    /// Text of the operands, one after the other, as printing shows them.
    Concat(Vec<PrintOperand>),
}

/// One operand of a string concatenation and what it is, which decides how it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintOperand {
    /// The value.
    pub value: Expr,
    /// `Int(_)` for any exact integer.
    pub kind: Scalar,
}

/// Exact integer operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/` and `div`: truncates toward zero; fails on zero.
    Div,
    /// `mod`: non-negative residue; fails unless the modulus is positive.
    Mod,
    /// `&` on infinite two's complement
    And,
    /// `|` on infinite two's complement
    Or,
    /// `^` on infinite two's complement
    Xor,
    /// `>>`, arithmetic; fails on a negative count.
    ShiftRight,
}

/// Real operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RealOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, IEEE 754: never fails.
    Div,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
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
    /// The comparison that holds with its sides exchanged.
    pub fn mirrored(self) -> Self {
        match self {
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessEqual => CompareOp::GreaterEqual,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterEqual => CompareOp::LessEqual,
            CompareOp::Equal | CompareOp::NotEqual => self,
        }
    }
}

/// The variable at the root of a [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A constant or state variable of the actor.
    Actor(VariableId),
    /// A local of the action or procedure in which the place stands.
    Local(LocalId),
}

/// A variable, or a part of a list variable: with fewer indices than dimensions it denotes a sub-list, which is
/// contiguous. An index outside `0..size` is a run-time error.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The variable.
    pub root: Root,
    /// One exact integer for each leading dimension that is fixed.
    pub indices: Vec<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A scalar, by value; already wrapped to the type of the parameter.
    Value(Expr),
    /// A list of exactly the type of the parameter, by reference.
    List(Place),
}

impl Expr {
    /// The expressions that this one is made of, one level down and in the order in which they are written. What places and
    /// calls hold is not among them: the index of an element and an argument are for who looks at places.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::Real(..)
            | ExprKind::String(_)
            | ExprKind::Load(_)
            | ExprKind::Call(..) => Vec::new(),
            ExprKind::Negate(a)
            | ExprKind::Complement(a)
            | ExprKind::Not(a)
            | ExprKind::Wrap(_, a)
            | ExprKind::IntToReal(_, a)
            | ExprKind::RealToReal(_, a)
            | ExprKind::RealNegate(a) => vec![a],
            ExprKind::Binary(_, a, b)
            | ExprKind::ShiftLeft(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::RealBinary(_, _, a, b) => vec![a, b],
            ExprKind::If(c, a, b) => vec![c, a, b],
            ExprKind::Concat(pieces) => pieces.iter().map(|piece| &piece.value).collect(),
        }
    }

    /// What kind of scalar it is, given the kind of the elements of a variable and of the result of a function; nothing for
    /// integers that no type was given.
    pub fn scalar(
        &self,
        root: &impl Fn(Root) -> Scalar,
        result: &impl Fn(ProcedureId) -> Option<Scalar>,
    ) -> Option<Scalar> {
        match &self.kind {
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Compare(..) | ExprKind::And(..) | ExprKind::Or(..) => {
                Some(Scalar::Bool)
            }
            ExprKind::Real(_, ty)
            | ExprKind::IntToReal(ty, _)
            | ExprKind::RealToReal(ty, _)
            | ExprKind::RealBinary(ty, ..) => Some(Scalar::Real(*ty)),
            ExprKind::RealNegate(x) => x.scalar(root, result),
            ExprKind::String(_) | ExprKind::Concat(_) => Some(Scalar::String),
            ExprKind::Load(place) => Some(root(place.root)),
            ExprKind::Call(procedure, _) => result(*procedure),
            ExprKind::If(_, a, b) => a.scalar(root, result).or_else(|| b.scalar(root, result)),
            ExprKind::Wrap(ty, _) | ExprKind::ShiftLeft(ty, _, _) => Some(Scalar::Int(*ty)),
            ExprKind::Int(_) | ExprKind::Negate(_) | ExprKind::Complement(_) | ExprKind::Binary(..) => None,
        }
    }
}
