//! How a value depends on what state variables held before the firing.

use headrace_ir::{BinaryOp, Int, VariableId};
use std::collections::BTreeSet;

/// In which way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Not at all.
    Free,
    /// It is a variable, or an element of it, plus a constant.
    Plus(VariableId, Int),
    /// Of a list: some elements are as they were, the others do not depend on state.
    Kept(VariableId),
    /// It is a·v + b of one variable, where a and b do not depend on state.
    Affine(VariableId),
    /// Each of its bits is a sum modulo 2 of bits of variables, and perhaps 1; which ones does not depend on state.
    Linear,
    /// Some other way.
    Any,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// How it depends on state.
    pub form: Form,
    /// On which variables.
    pub on: BTreeSet<VariableId>,
    /// Bits that can be one, where it is known that all others are zero.
    pub ones: Option<u128>,
    /// Its value, where it is constant.
    pub known: Option<Int>,
    /// True when nothing but constants and state went into it.
    pub is_closed: bool,
}

impl Value {
    /// One that does not depend on state.
    pub fn free() -> Self {
        Value { form: Form::Free, on: BTreeSet::new(), ones: None, known: None, is_closed: false }
    }

    /// A constant.
    pub fn constant(value: Int) -> Self {
        let ones = u128::try_from(value.to_big()).ok();
        Value { ones, known: Some(value), is_closed: true, ..Value::free() }
    }

    /// What a variable holds before the firing.
    pub fn before(variable: VariableId) -> Self {
        Value {
            form: Form::Plus(variable, Int::ZERO),
            on: BTreeSet::from([variable]),
            is_closed: true,
            ..Value::free()
        }
    }

    /// With this form, on the variables of both.
    fn of(form: Form, a: &Value, b: &Value) -> Self {
        let on: BTreeSet<VariableId> = a.on.union(&b.on).copied().collect();
        Value {
            form: if on.is_empty() { Form::Free } else { form },
            on,
            ones: None,
            known: None,
            is_closed: a.is_closed && b.is_closed,
        }
    }

    /// Of any form, on the variables of both.
    pub fn any(a: &Value, b: &Value) -> Self {
        Value::of(Form::Any, a, b)
    }

    /// The same with what is known about its bits.
    pub fn within(mut self, width: u32, signed: bool) -> Self {
        let mask = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        self.ones = match self.ones {
            _ if signed || width > 128 => self.ones.filter(|ones| ones & !(mask >> 1) == 0),
            Some(ones) => Some(ones & mask),
            None => Some(mask),
        };
        self
    }

    fn is_linear(&self) -> bool {
        match &self.form {
            Form::Free | Form::Linear | Form::Kept(_) => true,
            Form::Plus(_, step) => *step == Int::ZERO,
            Form::Affine(_) | Form::Any => false,
        }
    }

    fn is_free(&self) -> bool {
        self.form == Form::Free
    }

    /// At most its lowest bit is one.
    pub fn is_bit(&self) -> bool {
        self.ones.is_some_and(|ones| ones <= 1)
    }

    /// The variable of which it is a multiple plus something.
    fn affine(&self) -> Option<VariableId> {
        match self.form {
            Form::Plus(variable, _) | Form::Affine(variable) => Some(variable),
            _ => None,
        }
    }

    /// What it is where it is one of two, and what does not depend on state decides which.
    pub fn join(&self, other: &Value) -> Value {
        if self == other {
            return self.clone();
        }
        let form = match (&self.form, &other.form) {
            (a, b) if a == b => a.clone(),
            (Form::Kept(a), Form::Plus(b, step)) | (Form::Plus(b, step), Form::Kept(a))
                if a == b && *step == Int::ZERO =>
            {
                Form::Kept(*a)
            }
            _ if self.is_linear() && other.is_linear() => Form::Linear,
            _ => match (self.affine(), other.affine()) {
                (Some(a), Some(b)) if a == b => Form::Affine(a),
                (Some(a), None) if other.is_free() => Form::Affine(a),
                (None, Some(b)) if self.is_free() => Form::Affine(b),
                _ => Form::Any,
            },
        };
        let ones = self.ones.zip(other.ones).map(|(a, b)| a | b);
        Value { ones, ..Value::of(form, self, other) }
    }

    /// The same list after an element became something else.
    pub fn element(&self, new: &Value) -> Value {
        let mut joined = self.join(new);
        joined.form = match (&self.form, joined.form) {
            (Form::Kept(variable), _) if new.is_free() => Form::Kept(*variable),
            (Form::Plus(variable, step), _) if new.is_free() && *step == Int::ZERO => Form::Kept(*variable),
            // Which element became which is not known.
            (_, Form::Kept(_)) => Form::Linear,
            (_, Form::Plus(_, step)) if step == Int::ZERO => Form::Linear,
            (_, Form::Plus(variable, _)) => Form::Affine(variable),
            (_, form) => form,
        };
        joined.known = None;
        joined
    }

    /// `-x`
    pub fn negate(&self) -> Value {
        let form = match self.affine() {
            _ if self.is_bit() && self.is_linear() => Form::Linear,
            Some(variable) => Form::Affine(variable),
            None => Form::Any,
        };
        Value::of(form, self, self)
    }

    /// `~x`
    pub fn complement(&self) -> Value {
        let form = match self.affine() {
            _ if self.is_linear() => Form::Linear,
            Some(variable) => Form::Affine(variable),
            None => Form::Any,
        };
        Value::of(form, self, self)
    }

    /// `not x` of a boolean.
    pub fn not(&self) -> Value {
        let form = if self.is_linear() { Form::Linear } else { Form::Any };
        Value { ones: Some(1), ..Value::of(form, self, self) }
    }

    /// A comparison. Of a bit with a constant it is the bit or its opposite.
    pub fn compare(&self, other: &Value) -> Value {
        let bit = (self.is_bit() && other.known.is_some()) || (other.is_bit() && self.known.is_some());
        let form = if bit && self.is_linear() && other.is_linear() { Form::Linear } else { Form::Any };
        Value { ones: Some(1), ..Value::of(form, self, other) }
    }

    /// Stored in a type that may be too narrow for it; `width_of` gives the widths of variables.
    pub fn wrapped(&self, width: u32, signed: bool, width_of: impl Fn(VariableId) -> u32) -> Value {
        let mut value = self.clone();
        value.known = None;
        value.form = match self.form.clone() {
            Form::Plus(variable, step) if step == Int::ZERO && width < width_of(variable) => Form::Linear,
            Form::Affine(variable) if width < width_of(variable) => Form::Any,
            form => form,
        };
        if signed && self.ones.is_none_or(|ones| width < 128 && ones >> (width - 1) != 0) {
            value.ones = None;
        }
        value.within(width, signed)
    }

    /// An operator.
    pub fn binary(op: BinaryOp, a: &Value, b: &Value) -> Value {
        let disjoint = a.ones.zip(b.ones).is_some_and(|(a, b)| a & b == 0);
        let linear = if a.is_linear() && b.is_linear() { Form::Linear } else { Form::Any };
        let one_free = a.is_free() || b.is_free();
        let form = match op {
            BinaryOp::Add | BinaryOp::Sub => {
                sum(op, a, b).unwrap_or(if disjoint && op == BinaryOp::Add { linear } else { Form::Any })
            }
            BinaryOp::Mul => match (a.affine(), b.affine()) {
                (Some(variable), None) | (None, Some(variable)) if one_free => Form::Affine(variable),
                // A bit of the state times something is that or nothing.
                _ if one_free && (a.is_free() || a.is_bit()) && (b.is_free() || b.is_bit()) => linear,
                _ => Form::Any,
            },
            BinaryOp::Xor => linear,
            BinaryOp::And => match (low_mask(a), low_mask(b)) {
                // The low bits of a sum are the sum modulo a power of two.
                (true, _) if !b.is_linear() => b.affine().map_or(Form::Any, Form::Affine),
                (_, true) if !a.is_linear() => a.affine().map_or(Form::Any, Form::Affine),
                _ if one_free => linear,
                _ => Form::Any,
            },
            BinaryOp::Or if one_free || disjoint => linear,
            BinaryOp::ShiftRight if b.is_free() => linear,
            BinaryOp::Mod => match b.known.as_ref().filter(|by| !by.is_negative() && **by != Int::ZERO) {
                // Modulo a power of two it is the low bits.
                Some(by) => {
                    let low = Value::constant(by.sub(&Int::from(1i64)));
                    if low_mask(&low) { Value::binary(BinaryOp::And, a, &low).form } else { Form::Any }
                }
                None => Form::Any,
            },
            BinaryOp::Or | BinaryOp::ShiftRight | BinaryOp::Div => Form::Any,
        };
        let ones = match op {
            BinaryOp::Xor | BinaryOp::Or => a.ones.zip(b.ones).map(|(a, b)| a | b),
            BinaryOp::Add if disjoint => a.ones.zip(b.ones).map(|(a, b)| a | b),
            BinaryOp::And => match (a.ones, b.ones) {
                (Some(a), Some(b)) => Some(a & b),
                (a, b) => a.or(b),
            },
            BinaryOp::ShiftRight => match (a.ones, b.known.as_ref().and_then(Int::to_u64)) {
                (Some(ones), Some(count)) => {
                    Some(u32::try_from(count).ok().and_then(|n| ones.checked_shr(n)).unwrap_or(0))
                }
                (Some(ones), None) => Some(u128::MAX.checked_shr(ones.leading_zeros()).unwrap_or(0)),
                (None, _) => None,
            },
            _ => None,
        };
        Value { ones, ..Value::of(form, a, b) }
    }

    /// `x << n`, before it is wrapped.
    pub fn shift_left(&self, count: &Value) -> Value {
        let ones = match (self.ones, count.known.as_ref().and_then(Int::to_u64)) {
            (Some(ones), Some(n)) if n <= u64::from(ones.leading_zeros()) => {
                Some(u32::try_from(n).ok().and_then(|n| ones.checked_shl(n)).unwrap_or(0))
            }
            _ => None,
        };
        // By a count that may be negative, bits are lost.
        let up = count.ones.is_some() || count.known.as_ref().is_some_and(|known| !known.is_negative());
        let form = match self.affine() {
            _ if !count.is_free() => Form::Any,
            _ if self.is_linear() => Form::Linear,
            Some(variable) if up => Form::Affine(variable),
            _ => Form::Any,
        };
        Value { ones, ..Value::of(form, self, count) }
    }
}

fn low_mask(value: &Value) -> bool {
    value
        .known
        .as_ref()
        .and_then(|known| u128::try_from(known.to_big()).ok())
        .is_some_and(|mask| mask & mask.wrapping_add(1) == 0)
}

/// The form of a sum or a difference, if it is one of integers.
fn sum(op: BinaryOp, a: &Value, b: &Value) -> Option<Form> {
    let combine = |a: &Int, b: &Int| if op == BinaryOp::Add { a.add(b) } else { a.sub(b) };
    match (a.affine(), b.affine()) {
        (Some(x), Some(y)) => (x == y).then_some(Form::Affine(x)),
        (Some(variable), None) if b.is_free() => Some(match (&a.form, &b.known) {
            (Form::Plus(_, step), Some(by)) => Form::Plus(variable, combine(step, by)),
            _ => Form::Affine(variable),
        }),
        (None, Some(variable)) if a.is_free() => Some(match (&b.form, &a.known) {
            (Form::Plus(_, step), Some(by)) if op == BinaryOp::Add => Form::Plus(variable, combine(step, by)),
            _ => Form::Affine(variable),
        }),
        _ => None,
    }
}
