//! Integer arithmetic of the interpreter: the operators, in each representation.

use super::{Run, Word, code};
use crate::machine::{Fault, Machine, trap};
use headrace_ir::{ArithmeticError, BinaryOp, Int};
use headrace_source::Span;

/// Builds the code of an operator on two words, without a call for operands that are constants or locals.
macro_rules! on_words {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $body:expr) => {
        match ($a, $b) {
            (Word::Frame(a), Word::Frame(b)) => code(move |m| {
                let ($x, $y) = (m.memory.words[m.frame.words + a], m.memory.words[m.frame.words + b]);
                $body
            }),
            (Word::Frame(a), Word::Const($y)) => code(move |m| {
                let $x = m.memory.words[m.frame.words + a];
                $body
            }),
            (Word::Const($x), Word::Frame(b)) => code(move |m| {
                let $y = m.memory.words[m.frame.words + b];
                $body
            }),
            (Word::Code(a), Word::Frame(b)) => code(move |m| {
                let $x = a(m)?;
                let $y = m.memory.words[m.frame.words + b];
                $body
            }),
            (Word::Frame(a), Word::Code(b)) => code(move |m| {
                let $x = m.memory.words[m.frame.words + a];
                let $y = b(m)?;
                $body
            }),
            (Word::Code(a), Word::Const($y)) => code(move |m| {
                let $x = a(m)?;
                $body
            }),
            (Word::Code(a), Word::Code(b)) => code(move |m| {
                let $x = a(m)?;
                let $y = b(m)?;
                $body
            }),
            (a, b) => code(move |m| {
                let $x = a.get(m)?;
                let $y = b.get(m)?;
                $body
            }),
        }
    };
}
pub(super) use on_words;

#[cold]
pub(super) fn arithmetic(error: ArithmeticError, span: Span) -> Fault {
    trap(error.to_string(), span)
}

pub(super) fn word_operator(op: BinaryOp, a: Word, b: Word, span: Span) -> Run<i64> {
    let division = move || arithmetic(ArithmeticError::DivisionByZero, span);
    let modulus = move || arithmetic(ArithmeticError::ModulusNotPositive, span);
    match op {
        BinaryOp::Add => on_words!(a, b, |x, y| Ok(x + y)),
        BinaryOp::Sub => on_words!(a, b, |x, y| Ok(x - y)),
        BinaryOp::Mul => on_words!(a, b, |x, y| Ok(x * y)),
        BinaryOp::Div => on_words!(a, b, |x, y| if y == 0 { Err(division()) } else { Ok(x / y) }),
        BinaryOp::Mod => on_words!(a, b, |x, y| if y <= 0 { Err(modulus()) } else { Ok(x.rem_euclid(y)) }),
        BinaryOp::And => on_words!(a, b, |x, y| Ok(x & y)),
        BinaryOp::Or => on_words!(a, b, |x, y| Ok(x | y)),
        BinaryOp::Xor => on_words!(a, b, |x, y| Ok(x ^ y)),
        BinaryOp::ShiftRight => on_words!(a, b, |x, y| {
            if y < 0 { Err(arithmetic(ArithmeticError::NegativeShift, span)) } else { Ok(x >> y.min(63)) }
        }),
    }
}

pub(super) fn double_operator(op: BinaryOp, a: Run<i128>, b: Run<i128>, span: Span) -> Run<i128> {
    macro_rules! on_doubles {
        (|$x:ident, $y:ident| $body:expr) => {
            code(move |m: &mut Machine<'_>| {
                let $x = a(m)?;
                let $y = b(m)?;
                $body
            })
        };
    }
    match op {
        BinaryOp::Add => on_doubles!(|x, y| Ok(x + y)),
        BinaryOp::Sub => on_doubles!(|x, y| Ok(x - y)),
        BinaryOp::Mul => on_doubles!(|x, y| Ok(x * y)),
        BinaryOp::Div => on_doubles!(|x, y| {
            if y == 0 { Err(arithmetic(ArithmeticError::DivisionByZero, span)) } else { Ok(x / y) }
        }),
        BinaryOp::Mod => on_doubles!(|x, y| {
            if y <= 0 { Err(arithmetic(ArithmeticError::ModulusNotPositive, span)) } else { Ok(x.rem_euclid(y)) }
        }),
        BinaryOp::And => on_doubles!(|x, y| Ok(x & y)),
        BinaryOp::Or => on_doubles!(|x, y| Ok(x | y)),
        BinaryOp::Xor => on_doubles!(|x, y| Ok(x ^ y)),
        BinaryOp::ShiftRight => on_doubles!(|x, y| {
            if y < 0 { Err(arithmetic(ArithmeticError::NegativeShift, span)) } else { Ok(x >> y.min(127)) }
        }),
    }
}

pub(super) fn big_operator(op: BinaryOp, a: Run<Int>, b: Run<Int>, span: Span) -> Run<Int> {
    code(move |m: &mut Machine<'_>| {
        let (x, y) = (a(m)?, b(m)?);
        match op {
            BinaryOp::Add => Ok(x.add(&y)),
            BinaryOp::Sub => Ok(x.sub(&y)),
            BinaryOp::Mul => Ok(x.mul(&y)),
            BinaryOp::Div => x.div(&y),
            BinaryOp::Mod => x.modulo(&y),
            BinaryOp::And => Ok(x.and(&y)),
            BinaryOp::Or => Ok(x.or(&y)),
            BinaryOp::Xor => Ok(x.xor(&y)),
            BinaryOp::ShiftRight => x.shr(&y),
        }
        .map_err(|error| arithmetic(error, span))
    })
}
