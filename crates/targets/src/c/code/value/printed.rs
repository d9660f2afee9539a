//! Printed expressions, and how they are put together without needless brackets.

use super::width_class;
use crate::c::ctype::{self, Repr, literal};
use crate::c::text::{Text, text};
use headrace_ir::{Int, IntType, RealType, Scalar};

/// How tightly a printed expression binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Names, calls, indexing, parentheses.
    Primary,
    /// A cast to the type.
    Cast(&'static str),
    /// `!`
    Not,
    /// Another prefix operator.
    Prefix,
    /// The operator, by its spelling.
    Infix(&'static str),
    /// `?:`
    Choice,
}

/// What a printed expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer of that C type.
    Int(Repr),
    /// 0 or 1.
    Bool,
    /// A `double`, holding a value of whatever format.
    Real,
    /// A `const char *`.
    Text,
}

/// A printed expression.
#[derive(Clone, Debug)]
pub struct Value {
    /// The text.
    pub text: Text,
    /// How tightly it binds.
    pub binding: Binding,
    /// What it is.
    pub kind: Kind,
    /// The value, of an integer constant.
    pub constant: Option<Int>,
    /// The value, of a boolean constant.
    pub truth: Option<bool>,
}

impl Value {
    /// A name, call or other primary expression.
    pub fn primary(text: impl Into<Text>, kind: Kind) -> Value {
        Value { text: text.into(), binding: Binding::Primary, kind, constant: None, truth: None }
    }

    /// An integer constant.
    pub fn int(value: &Int, repr: Repr) -> Value {
        Value {
            text: literal(value, repr).into(),
            binding: Binding::Primary,
            kind: Kind::Int(repr),
            constant: Some(value.clone()),
            truth: None,
        }
    }

    /// A boolean constant.
    pub fn bool(value: bool) -> Value {
        let text = if value { "true" } else { "false" };
        Value { truth: Some(value), ..Value::primary(text, Kind::Bool) }
    }

    /// The text as an operand of a prefix operator or cast.
    fn tight(&self) -> Text {
        match self.binding {
            Binding::Primary | Binding::Cast(_) | Binding::Not | Binding::Prefix => self.text.clone(),
            Binding::Infix(_) | Binding::Choice => text!["(", self.text, ")"],
        }
    }

    /// The text as an operand of an infix operator.
    fn operand(&self, op: &'static str, left: bool) -> Text {
        match self.binding {
            Binding::Infix(own) if left && own == op && ["+", "*", "^", "|", "&", "&&", "||"].contains(&op) => {
                self.text.clone()
            }
            // `!a == b` is right and looks wrong, so that compilers warn of it.
            Binding::Not if !["&&", "||"].contains(&op) => text!["(", self.text, ")"],
            _ => self.tight(),
        }
    }

    /// The C type of an integer.
    pub fn repr(&self) -> Repr {
        match self.kind {
            Kind::Int(repr) => repr,
            Kind::Bool | Kind::Real | Kind::Text => Repr::I32,
        }
    }

    /// Converted to another C type, modulo its width.
    pub fn to(&self, repr: Repr) -> Value {
        if self.kind == Kind::Int(repr) {
            return self.clone();
        }
        if let Some(value) = &self.constant {
            let ty = IntType { signed: repr.is_signed(), width: repr.bits() };
            return Value::int(&value.clone().wrap(ty), repr);
        }
        self.cast(repr.c(), Kind::Int(repr))
    }

    /// `(ty)x`
    pub fn cast(&self, ty: &'static str, kind: Kind) -> Value {
        Value { text: text!["(", ty, ")", self.tight()], binding: Binding::Cast(ty), kind, constant: None, truth: None }
    }

    /// `op x`
    pub fn prefix(op: &str, x: &Value, kind: Kind) -> Value {
        // Two signs must not run together.
        let is_prefixed = matches!(x.binding, Binding::Cast(_) | Binding::Not | Binding::Prefix);
        let operand = if is_prefixed { text!["(", x.text, ")"] } else { x.tight() };
        let binding = if op == "!" { Binding::Not } else { Binding::Prefix };
        Value { text: text![op, operand], binding, kind, constant: None, truth: None }
    }

    /// `a op b`
    pub fn infix(op: &'static str, a: &Value, b: &Value, kind: Kind) -> Value {
        Value {
            text: text![a.operand(op, true), " ", op, " ", b.operand(op, false)],
            binding: Binding::Infix(op),
            kind,
            constant: None,
            truth: None,
        }
    }

    /// `c ? a : b`
    pub fn choice(c: &Value, a: &Value, b: &Value, kind: Kind) -> Value {
        let text = text![c.tight(), " ? ", a.tight(), " : ", b.tight()];
        Value { text, binding: Binding::Choice, kind, constant: None, truth: None }
    }

    /// The conditions of a statement need no parentheses of their own.
    pub fn in_parentheses(&self) -> Text {
        text!["(", self.text, ")"]
    }
}

/// Rounds a `double` to a format.
pub fn round_real(x: &Value, ty: RealType) -> Value {
    match ty {
        RealType::Double => x.clone(),
        RealType::Float => x.cast("float", Kind::Real).cast("double", Kind::Real),
        RealType::Half => Value::primary(text!["hr_half_round(", x.text, ")"], Kind::Real),
    }
}

/// A C integer wrapped to a type of up to 64 bits, given that its low bits are right.
pub fn wrap_value(value: &Value, ty: IntType) -> Value {
    let IntType { signed, width } = ty;
    if let Some(constant) = &value.constant {
        let wrapped = constant.clone().wrap(ty);
        return Value::int(&wrapped, Repr::of_storage(ty));
    }
    let repr = Repr::of_storage(ty);
    match (signed, width) {
        (_, 8 | 16) => value.cast(ctype::element(Scalar::Int(ty)), Kind::Int(Repr::I32)),
        (_, 32 | 64) => value.to(repr),
        (false, _) => {
            let class = width_class(u64::from(width));
            let mask = Value::int(&Int::from((1u64 << width) - 1), class);
            let masked = Value::infix("&", &value.to(class), &mask, Kind::Int(class));
            masked.to(repr)
        }
        (true, _) => {
            let class = width_class(u64::from(width));
            let value = value.to(class);
            Value::primary(text!["hr_signed", class.bits(), "(", value.text, ", ", width, ")"], Kind::Int(repr))
        }
    }
}
