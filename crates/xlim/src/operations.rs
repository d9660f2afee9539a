//! The instruction set of XLIM: which operations there are, and what each takes and gives.

use crate::design::Kind;
use headrace_ir::{CompareOp, Scalar};

/// What is common to the operands of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// One operand of any type.
    Any,
    /// One integer.
    Int,
    /// Two integers.
    TwoInts,
    /// Two integers, or two booleans.
    Two,
    /// One boolean.
    Bool,
    /// At least one operand, all integers or all booleans.
    Many,
    /// A boolean, and two integers or two booleans.
    Choice,
}

/// What an operation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// An integer.
    Int,
    /// A boolean.
    Bool,
    /// What its last operand is: integer or boolean.
    Same,
    /// Whatever its port says.
    Any,
}

/// The operations that compute, by the names of the format.
pub(crate) fn computing(name: &str) -> Option<(Kind, Takes, Gives)> {
    use CompareOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    Some(match name {
        "noop" => (Kind::Convert, Takes::Any, Gives::Same),
        "cast" => (Kind::Convert, Takes::Any, Gives::Any),
        "$add" => (Kind::Add, Takes::TwoInts, Gives::Int),
        "$sub" => (Kind::Sub, Takes::TwoInts, Gives::Int),
        "$mul" => (Kind::Mul, Takes::TwoInts, Gives::Int),
        "$div" => (Kind::Div, Takes::TwoInts, Gives::Int),
        "$mod" => (Kind::Mod, Takes::TwoInts, Gives::Int),
        "$negate" => (Kind::Negate, Takes::Int, Gives::Int),
        "bitand" | "$and" => (Kind::And, Takes::Many, Gives::Same),
        "bitor" | "$or" => (Kind::Or, Takes::Many, Gives::Same),
        "bitxor" | "$xor" => (Kind::Xor, Takes::Many, Gives::Same),
        "bitnot" => (Kind::Complement, Takes::Int, Gives::Int),
        "$not" => (Kind::Not, Takes::Bool, Gives::Bool),
        "lshift" => (Kind::ShiftLeft, Takes::TwoInts, Gives::Int),
        "rshift" => (Kind::ShiftRight, Takes::TwoInts, Gives::Int),
        "urshift" => (Kind::ShiftRightBits, Takes::TwoInts, Gives::Int),
        "$eq" => (Kind::Compare(Equal), Takes::Two, Gives::Bool),
        "$ne" => (Kind::Compare(NotEqual), Takes::Two, Gives::Bool),
        "$lt" => (Kind::Compare(Less), Takes::TwoInts, Gives::Bool),
        "$le" => (Kind::Compare(LessEqual), Takes::TwoInts, Gives::Bool),
        "$gt" => (Kind::Compare(Greater), Takes::TwoInts, Gives::Bool),
        "$ge" => (Kind::Compare(GreaterEqual), Takes::TwoInts, Gives::Bool),
        "$selector" => (Kind::Select, Takes::Choice, Gives::Same),
        _ => return None,
    })
}

/// What is wrong with operands, if anything is.
pub(crate) fn wrong_operands(takes: Takes, types: &[Scalar]) -> Option<&'static str> {
    let is_bool = |ty: &Scalar| *ty == Scalar::Bool;
    let alike = |types: &[Scalar]| types.iter().all(is_bool) || !types.iter().any(is_bool);
    let good = match takes {
        Takes::Nothing => types.is_empty(),
        Takes::Any => types.len() == 1,
        Takes::Int => types.len() == 1 && !is_bool(&types[0]),
        Takes::TwoInts => types.len() == 2 && !types.iter().any(is_bool),
        Takes::Two => types.len() == 2 && alike(types),
        Takes::Bool => types.len() == 1 && is_bool(&types[0]),
        Takes::Many => !types.is_empty() && alike(types),
        Takes::Choice => types.len() == 3 && is_bool(&types[0]) && alike(&types[1..]),
    };
    let wanted = match takes {
        Takes::Nothing => "no input",
        Takes::Any => "one input",
        Takes::Int => "one integer",
        Takes::TwoInts => "two integers",
        Takes::Two => "two integers or two booleans",
        Takes::Bool => "one boolean",
        Takes::Many => "integers or booleans, at least one",
        Takes::Choice => "a boolean, and two integers or two booleans",
    };
    (!good).then_some(wanted)
}
