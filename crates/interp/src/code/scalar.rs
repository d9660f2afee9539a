//! Booleans, reals and strings, comparisons, and calls of functions.

use super::integer::Number;
use super::operators::on_words;
use super::{Compiled, Home, ResultCode, Run, Scope, Word, code, malformed};
use crate::machine::{Class, Extent, Fault, Machine, trap};
use headrace_ir::{
    Argument, CompareOp, Expr, ExprKind, Int, IntType, Place, PrintOperand, ProcedureId, RealOp, RealType, Scalar,
};
use headrace_natives::real;
use headrace_source::Span;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Longest string that a program may build, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The kinds that expressions are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Int,
    Real,
    Text,
}

impl Kind {
    fn of(scalar: Scalar) -> Kind {
        match scalar {
            Scalar::Bool => Kind::Bool,
            Scalar::Int(_) => Kind::Int,
            Scalar::Real(_) => Kind::Real,
            Scalar::String => Kind::Text,
        }
    }
}

/// A call with its arguments.
pub(super) struct Call {
    callee: usize,
    arguments: Vec<Passed>,
    size: Extent,
    filled: Extent,
    span: Span,
}

/// An argument and the position of its parameter in the frame of the callee.
enum Passed {
    Word(usize, Word),
    Wide(usize, Run<Int>),
    Text(usize, Run<String>),
    Reference(usize, super::place::Address),
}

impl Call {
    /// Opens the frame, fills in the arguments, runs the body, and `finish` before the frame closes.
    fn enter<T>(
        &self,
        m: &mut Machine<'_>,
        finish: impl FnOnce(&mut Machine<'_>, &ResultCode) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        m.tick(self.span)?;
        let caller = m.frame;
        let frame = m.open(self.size, self.span)?;
        for argument in &self.arguments {
            match argument {
                Passed::Word(at, word) => {
                    let value = word.get(m)?;
                    m.memory.words[frame.words + at] = value;
                }
                Passed::Wide(at, run) => {
                    let value = run(m)?;
                    m.memory.wides[frame.wides + at] = value;
                }
                Passed::Text(at, run) => {
                    let value = run(m)?;
                    m.memory.texts[frame.texts + at] = value;
                }
                Passed::Reference(at, address) => {
                    let value = address.locate_any(m)?;
                    m.memory.words[frame.words + at] = value as i64;
                }
            }
        }
        m.memory.clear(frame.plus(self.filled), frame.plus(self.size));
        m.frame = frame;
        let procedures = m.procedures;
        let Some(callee) = procedures.get(self.callee) else {
            return Err(trap("a procedure that does not exist", self.span));
        };
        let result = stacker::maybe_grow(1 << 17, 1 << 21, || {
            callee.body.run(m)?;
            finish(m, &callee.result)
        })
        .map_err(|fault| within(fault, &callee.name))?;
        m.frame = caller;
        m.close(frame);
        Ok(result)
    }

    pub fn word(self) -> Run<i64> {
        code(move |m| {
            self.enter(m, |m, result| match result {
                ResultCode::Word(word) => word.get(m),
                _ => Ok(0),
            })
        })
    }

    pub fn wide(self) -> Run<Int> {
        code(move |m| {
            self.enter(m, |m, result| match result {
                ResultCode::Wide(run) => run(m),
                _ => Ok(Int::ZERO),
            })
        })
    }

    pub fn text(self) -> Run<String> {
        code(move |m| {
            self.enter(m, |m, result| match result {
                ResultCode::Text(run) => run(m),
                _ => Ok(String::new()),
            })
        })
    }

    pub fn nothing(self) -> Run<()> {
        code(move |m| self.enter(m, |_, _| Ok(())))
    }
}

/// Notes the innermost procedure of a trap.
#[cold]
fn within(mut fault: Fault, name: &str) -> Fault {
    if let crate::machine::Stop::Trap { procedure: procedure @ None, .. } = &mut *fault {
        *procedure = Some(name.to_owned());
    }
    fault
}

impl Scope<'_> {
    pub(super) fn kind(&self, expr: &Expr) -> Compiled<Kind> {
        Ok(match &expr.kind {
            ExprKind::Int(_)
            | ExprKind::Negate(_)
            | ExprKind::Complement(_)
            | ExprKind::Binary(..)
            | ExprKind::ShiftLeft(..)
            | ExprKind::Wrap(..) => Kind::Int,
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Compare(..) | ExprKind::And(..) | ExprKind::Or(..) => {
                Kind::Bool
            }
            ExprKind::Real(..)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_) => Kind::Real,
            ExprKind::String(_) | ExprKind::Concat(_) => Kind::Text,
            ExprKind::Load(place) => Kind::of(self.place_type(place)?.element),
            ExprKind::If(_, then, _) => return stacker::maybe_grow(1 << 16, 1 << 20, || self.kind(then)),
            ExprKind::Call(procedure, _) => match self.context.results.get(procedure.index()) {
                Some(Some(scalar)) => Kind::of(*scalar),
                _ => return malformed("a call without a result", expr.span),
            },
        })
    }

    /// A call of a procedure of the actor.
    pub(super) fn call(&self, procedure: ProcedureId, arguments: &[Argument], span: Span) -> Compiled<Call> {
        let Some(frame) = self.context.frames.get(procedure.index()) else {
            return malformed("a procedure that does not exist", span);
        };
        let n_parameters = self.context.actor.procedures[procedure.index()].n_parameters;
        if arguments.len() != n_parameters || frame.homes.len() < n_parameters {
            return malformed("a call with the wrong number of arguments", span);
        }
        let mut passed = Vec::new();
        for (argument, (home, ty)) in arguments.iter().zip(&frame.homes) {
            passed.push(match (argument, home) {
                (Argument::Value(value), Home::Frame(at)) => match Class::of(ty.element) {
                    Class::Word => Passed::Word(*at, self.stored_word(ty.element, value)?),
                    Class::Wide => Passed::Wide(*at, self.stored_wide(ty.element, value)?),
                    Class::Text => Passed::Text(*at, self.text(value)?),
                },
                (Argument::List(place), Home::Reference(at)) => {
                    let address = self.address(place)?;
                    if address.ty.element != ty.element || address.ty.len() < ty.len() {
                        return malformed("a list argument of another type", span);
                    }
                    Passed::Reference(*at, address)
                }
                _ => return malformed("an argument of another kind", span),
            });
        }
        Ok(Call { callee: procedure.index(), arguments: passed, size: frame.size, filled: frame.filled, span })
    }

    /// The word to store at a place of a type whose class is [`Class::Word`].
    pub(super) fn stored_word(&self, ty: Scalar, expr: &Expr) -> Compiled<Word> {
        match ty {
            Scalar::Bool => self.boolean(expr),
            Scalar::Int(int) => self.stored_int(int, expr),
            Scalar::Real(_) => self.real(expr),
            Scalar::String => malformed("a string where a word is wanted", expr.span),
        }
    }

    /// The integer to store at a place of a type whose class is [`Class::Wide`].
    pub(super) fn stored_wide(&self, ty: Scalar, expr: &Expr) -> Compiled<Run<Int>> {
        let Scalar::Int(int) = ty else {
            return malformed("a store of another kind", expr.span);
        };
        let value = self.integer(expr)?;
        let within = value.range.within(int);
        let run = value.big();
        Ok(if within { run } else { code(move |m| Ok(run(m)?.wrap(int))) })
    }

    /// A boolean as 0 or 1.
    pub(super) fn boolean(&self, expr: &Expr) -> Compiled<Word> {
        stacker::maybe_grow(1 << 16, 1 << 20, || self.boolean_here(expr))
    }

    fn boolean_here(&self, expr: &Expr) -> Compiled<Word> {
        Ok(match &expr.kind {
            ExprKind::Bool(value) => Word::Const(i64::from(*value)),
            ExprKind::Load(place) => self.load_kind(place, Kind::Bool)?,
            ExprKind::Not(operand) => {
                let operand = self.boolean(operand)?;
                Word::Code(code(move |m| Ok(operand.get(m)? ^ 1)))
            }
            ExprKind::And(left, right) => {
                let (left, right) = (self.boolean(left)?, self.boolean(right)?);
                Word::Code(code(move |m| if left.get(m)? != 0 { right.get(m) } else { Ok(0) }))
            }
            ExprKind::Or(left, right) => {
                let (left, right) = (self.boolean(left)?, self.boolean(right)?);
                Word::Code(code(move |m| if left.get(m)? != 0 { Ok(1) } else { right.get(m) }))
            }
            ExprKind::If(condition, then, otherwise) => {
                self.choose(condition, self.boolean(then)?, self.boolean(otherwise)?)?
            }
            ExprKind::Compare(op, left, right) => self.compare(*op, left, right)?,
            ExprKind::Call(procedure, arguments) if self.kind(expr)? == Kind::Bool => {
                Word::Code(self.call(*procedure, arguments, expr.span)?.word())
            }
            _ => return malformed("an expression that is not a boolean", expr.span),
        })
    }

    fn choose(&self, condition: &Expr, then: Word, otherwise: Word) -> Compiled<Word> {
        let condition = self.boolean(condition)?;
        Ok(Word::Code(code(move |m| if condition.get(m)? != 0 { then.get(m) } else { otherwise.get(m) })))
    }

    fn load_kind(&self, place: &Place, kind: Kind) -> Compiled<Word> {
        let ty = self.place_type(place)?;
        if ty.is_list() || Kind::of(ty.element) != kind {
            return malformed("a load of another kind", place.span);
        }
        self.load_word(place)
    }

    fn compare(&self, op: CompareOp, left: &Expr, right: &Expr) -> Compiled<Word> {
        let kind = self.kind(left)?;
        if kind != self.kind(right)? {
            return malformed("a comparison of two kinds", left.span);
        }
        Ok(Word::Code(match kind {
            Kind::Bool => compare_words(op, self.boolean(left)?, self.boolean(right)?),
            Kind::Int => {
                let (a, b) = (self.integer(left)?, self.integer(right)?);
                match (a.number, b.number) {
                    (Number::Word(a), Number::Word(b)) => compare_words(op, a, b),
                    (a @ Number::Big(_), b) | (a, b @ Number::Big(_)) => {
                        let (a, b) = (as_big(a), as_big(b));
                        code(move |m: &mut Machine<'_>| {
                            let (x, y) = (a(m)?, b(m)?);
                            Ok(i64::from(holds(op, x.cmp(&y))))
                        })
                    }
                    (a, b) => {
                        let (a, b) = (as_double(a), as_double(b));
                        code(move |m: &mut Machine<'_>| {
                            let (x, y) = (a(m)?, b(m)?);
                            Ok(i64::from(holds(op, x.cmp(&y))))
                        })
                    }
                }
            }
            Kind::Real => {
                let (a, b) = (self.real(left)?, self.real(right)?);
                code(move |m: &mut Machine<'_>| {
                    let x = f64::from_bits(a.get(m)? as u64);
                    let y = f64::from_bits(b.get(m)? as u64);
                    Ok(i64::from(match x.partial_cmp(&y) {
                        Some(order) => holds(op, order),
                        None => op == CompareOp::NotEqual,
                    }))
                })
            }
            Kind::Text => {
                let (a, b) = (self.text(left)?, self.text(right)?);
                code(move |m: &mut Machine<'_>| {
                    let (x, y) = (a(m)?, b(m)?);
                    Ok(i64::from(holds(op, x.cmp(&y))))
                })
            }
        }))
    }

    /// A real as the bits of a binary64.
    pub(super) fn real(&self, expr: &Expr) -> Compiled<Word> {
        stacker::maybe_grow(1 << 16, 1 << 20, || self.real_here(expr))
    }

    fn real_here(&self, expr: &Expr) -> Compiled<Word> {
        Ok(match &expr.kind {
            ExprKind::Real(value, _) => Word::Const(value.to_bits() as i64),
            ExprKind::Load(place) => self.load_kind(place, Kind::Real)?,
            ExprKind::IntToReal(ty, operand) => {
                let (ty, operand) = (*ty, self.integer(operand)?.big());
                Word::Code(code(move |m| Ok(real::from_int(&operand(m)?, ty).to_bits() as i64)))
            }
            ExprKind::RealToReal(ty, operand) => {
                let (ty, operand) = (*ty, self.real(operand)?);
                Word::Code(code(move |m| Ok(rounded(ty, f64::from_bits(operand.get(m)? as u64)))))
            }
            ExprKind::RealNegate(operand) => {
                let operand = self.real(operand)?;
                Word::Code(code(move |m| Ok((-f64::from_bits(operand.get(m)? as u64)).to_bits() as i64)))
            }
            ExprKind::RealBinary(ty, op, left, right) => {
                let (ty, op, left, right) = (*ty, *op, self.real(left)?, self.real(right)?);
                Word::Code(code(move |m: &mut Machine<'_>| {
                    let x = f64::from_bits(left.get(m)? as u64);
                    let y = f64::from_bits(right.get(m)? as u64);
                    Ok(rounded(
                        ty,
                        match op {
                            RealOp::Add => x + y,
                            RealOp::Sub => x - y,
                            RealOp::Mul => x * y,
                            RealOp::Div => x / y,
                        },
                    ))
                }))
            }
            ExprKind::If(condition, then, otherwise) => {
                self.choose(condition, self.real(then)?, self.real(otherwise)?)?
            }
            ExprKind::Call(procedure, arguments) if self.kind(expr)? == Kind::Real => {
                Word::Code(self.call(*procedure, arguments, expr.span)?.word())
            }
            _ => return malformed("an expression that is not a real", expr.span),
        })
    }

    pub(super) fn text(&self, expr: &Expr) -> Compiled<Run<String>> {
        let span = expr.span;
        Ok(match &expr.kind {
            ExprKind::String(text) => {
                let text = text.clone();
                code(move |_| Ok(text.clone()))
            }
            ExprKind::Load(place) => {
                let ty = self.place_type(place)?;
                if ty.is_list() || ty.element != Scalar::String {
                    return malformed("a load that is not a string", place.span);
                }
                let address = self.address(place)?;
                code(move |m: &mut Machine<'_>| {
                    let at = address.locate(m, |extent| extent.texts)?;
                    Ok(m.memory.texts[at].clone())
                })
            }
            ExprKind::Concat(operands) => {
                let pieces = self.pieces(operands)?;
                code(move |m| {
                    let mut text = String::new();
                    for piece in &pieces {
                        piece.show(m, &mut text)?;
                        if text.len() > MAX_TEXT {
                            return Err(trap(format!("a string of more than {MAX_TEXT} bytes"), span));
                        }
                    }
                    Ok(text)
                })
            }
            ExprKind::If(condition, then, otherwise) => {
                let condition = self.boolean(condition)?;
                let (then, otherwise) = (self.text(then)?, self.text(otherwise)?);
                code(move |m| if condition.get(m)? != 0 { then(m) } else { otherwise(m) })
            }
            ExprKind::Call(procedure, arguments) if self.kind(expr)? == Kind::Text => {
                self.call(*procedure, arguments, span)?.text()
            }
            _ => return malformed("an expression that is not a string", span),
        })
    }

    /// Operands of a concatenation or a print.
    pub(super) fn pieces(&self, operands: &[PrintOperand]) -> Compiled<Vec<Piece>> {
        operands
            .iter()
            .map(|operand| {
                Ok(match operand.kind {
                    Scalar::Bool => Piece::Bool(self.boolean(&operand.value)?),
                    Scalar::Int(_) => match self.integer(&operand.value)?.number {
                        Number::Word(word) => Piece::Word(word),
                        number => Piece::Int(as_big(number)),
                    },
                    Scalar::Real(ty) => Piece::Real(ty, self.real(&operand.value)?),
                    Scalar::String => Piece::Text(self.text(&operand.value)?),
                })
            })
            .collect()
    }
}

/// Something to be shown.
pub(super) enum Piece {
    Bool(Word),
    Word(Word),
    Int(Run<Int>),
    Real(RealType, Word),
    Text(Run<String>),
}

impl Piece {
    pub fn show(&self, m: &mut Machine<'_>, text: &mut String) -> Result<(), Fault> {
        // Writing to a string does not fail.
        let _ = match self {
            Piece::Bool(word) => write!(text, "{}", word.get(m)? != 0),
            Piece::Word(word) => write!(text, "{}", word.get(m)?),
            Piece::Int(run) => write!(text, "{}", run(m)?),
            Piece::Real(ty, word) => text.write_str(&crate::fifo::show_real(*ty, word.get(m)?)),
            Piece::Text(run) => text.write_str(&run(m)?),
        };
        Ok(())
    }
}

fn rounded(ty: RealType, value: f64) -> i64 {
    real::round(value, ty).to_bits() as i64
}

fn holds(op: CompareOp, order: Ordering) -> bool {
    match op {
        CompareOp::Equal => order.is_eq(),
        CompareOp::NotEqual => order.is_ne(),
        CompareOp::Less => order.is_lt(),
        CompareOp::LessEqual => order.is_le(),
        CompareOp::Greater => order.is_gt(),
        CompareOp::GreaterEqual => order.is_ge(),
    }
}

fn compare_words(op: CompareOp, a: Word, b: Word) -> Run<i64> {
    match op {
        CompareOp::Equal => on_words!(a, b, |x, y| Ok(i64::from(x == y))),
        CompareOp::NotEqual => on_words!(a, b, |x, y| Ok(i64::from(x != y))),
        CompareOp::Less => on_words!(a, b, |x, y| Ok(i64::from(x < y))),
        CompareOp::LessEqual => on_words!(a, b, |x, y| Ok(i64::from(x <= y))),
        CompareOp::Greater => on_words!(a, b, |x, y| Ok(i64::from(x > y))),
        CompareOp::GreaterEqual => on_words!(a, b, |x, y| Ok(i64::from(x >= y))),
    }
}

fn as_big(number: Number) -> Run<Int> {
    super::integer::Integer { number, range: crate::range::Range::of_type(IntType::signed(128)) }.big()
}

fn as_double(number: Number) -> Run<i128> {
    super::integer::Integer { number, range: crate::range::Range::of_type(IntType::signed(127)) }.double()
}
