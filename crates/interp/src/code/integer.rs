//! Compilation of integer expressions to closures.

use super::operators::{arithmetic, big_operator, double_operator, on_words, word_operator};
use super::{Compiled, Home, Run, Scope, Word, code, malformed};
use crate::fifo::{low_word, word_to_int, wrap_word};
use crate::machine::{Class, Fault, Machine, for_element, trap};
use crate::range::{Range, Tier};
use headrace_ir::{ArithmeticError, BinaryOp, Expr, ExprKind, Int, IntType, MAX_SHIFT, MAX_WIDTH, Place, Scalar};
use headrace_source::Span;
use num_traits::ToPrimitive as _;

/// Code that gives an exact integer, in the representation that its range asks for.
pub(super) enum Number {
    Word(Word),
    Double(Run<i128>),
    Big(Run<Int>),
}

/// An integer expression.
pub(super) struct Integer {
    pub number: Number,
    pub range: Range,
}

/// Counts up to here have a result in every type.
const MAX_CONSTANT_SHIFT: i64 = MAX_SHIFT as i64;

fn wrap_double(ty: IntType, value: i128) -> i128 {
    let shift = 128 - ty.width.clamp(1, 128);
    if ty.signed { value << shift >> shift } else { ((value as u128) << shift >> shift) as i128 }
}

fn int_from_double(value: i128) -> Int {
    match i64::try_from(value) {
        Ok(small) => Int::from(small),
        Err(_) => Int::from_le_bytes(&value.to_le_bytes(), true),
    }
}

/// The value of an integer that is known to fit.
fn double_from_int(value: &Int) -> i128 {
    match value {
        Int::Small(small) => i128::from(*small),
        Int::Big(big) => big.to_i128().unwrap_or_default(),
    }
}

impl Integer {
    fn word(word: Word, range: Range) -> Integer {
        Integer { number: Number::Word(word), range }
    }

    fn run(run: Run<i64>, range: Range) -> Integer {
        Integer { number: Number::Word(Word::Code(run)), range }
    }

    /// The same value as a 128-bit integer; only asked for when it fits.
    pub(super) fn double(self) -> Run<i128> {
        match self.number {
            Number::Word(word) => code(move |m| Ok(i128::from(word.get(m)?))),
            Number::Double(run) => run,
            Number::Big(run) => code(move |m| Ok(double_from_int(&run(m)?))),
        }
    }

    /// The same value as any integer.
    pub(super) fn big(self) -> Run<Int> {
        match self.number {
            Number::Word(Word::Const(value)) => code(move |_| Ok(Int::from(value))),
            Number::Word(word) => code(move |m| Ok(Int::from(word.get(m)?))),
            Number::Double(run) => code(move |m| Ok(int_from_double(run(m)?))),
            Number::Big(run) => run,
        }
    }

    /// The low 64 bits of the value.
    fn low(self) -> Word {
        match self.number {
            Number::Word(word) => word,
            Number::Double(run) => Word::Code(code(move |m| Ok(run(m)? as i64))),
            Number::Big(run) => Word::Code(code(move |m| Ok(low_word(&run(m)?)))),
        }
    }

    /// The value, or the nearest one that a word holds: for shift counts, of which all large ones are alike.
    fn clamped(self) -> Word {
        match self.number {
            Number::Word(word) => word,
            Number::Double(run) => {
                Word::Code(code(move |m| Ok(run(m)?.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)))
            }
            Number::Big(run) => Word::Code(code(move |m| {
                let value = run(m)?;
                Ok(value.to_i64().unwrap_or(if value.is_negative() { i64::MIN } else { i64::MAX }))
            })),
        }
    }

    fn tier(&self) -> Tier {
        match self.number {
            Number::Word(_) => Tier::Word,
            Number::Double(_) => Tier::Double,
            Number::Big(_) => Tier::Big,
        }
    }
}

impl Scope<'_> {
    /// The representation for a result of this range.
    fn tier(&self, range: Range) -> Tier {
        if self.context.widest { Tier::Big } else { range.tier() }
    }

    /// An index: traps in the indexed place tell values that no word holds as well.
    pub(super) fn index(&self, expr: &Expr) -> Compiled<Word> {
        let span = expr.span;
        let integer = self.integer(expr)?;
        Ok(match integer.number {
            Number::Word(word) => word,
            Number::Double(run) => Word::Code(code(move |m| {
                let value = run(m)?;
                i64::try_from(value).map_err(|_| outside_any(int_from_double(value), span))
            })),
            Number::Big(run) => Word::Code(code(move |m| {
                let value = run(m)?;
                value.to_i64().ok_or_else(|| outside_any(value, span))
            })),
        })
    }

    /// The value of an integer expression.
    pub(super) fn integer(&self, expr: &Expr) -> Compiled<Integer> {
        stacker::maybe_grow(1 << 16, 1 << 20, || self.integer_here(expr))
    }

    fn integer_here(&self, expr: &Expr) -> Compiled<Integer> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(value) => Ok(self.literal(value)),
            ExprKind::Load(place) => self.load_integer(place),
            ExprKind::Negate(operand) => {
                let a = self.integer(operand)?;
                let range = a.range.negated();
                Ok(match self.tier(range.union(a.range)) {
                    Tier::Word => {
                        let word = a.low();
                        Integer::run(code(move |m| Ok(-word.get(m)?)), range)
                    }
                    Tier::Double => {
                        let run = a.double();
                        Integer { number: Number::Double(code(move |m| Ok(-run(m)?))), range }
                    }
                    Tier::Big => {
                        let run = a.big();
                        Integer { number: Number::Big(code(move |m| Ok(run(m)?.neg()))), range }
                    }
                })
            }
            ExprKind::Complement(operand) => {
                let a = self.integer(operand)?;
                let range = a.range.complemented();
                Ok(match a.tier() {
                    Tier::Word => {
                        let word = a.low();
                        Integer::run(code(move |m| Ok(!word.get(m)?)), range)
                    }
                    Tier::Double => {
                        let run = a.double();
                        Integer { number: Number::Double(code(move |m| Ok(!run(m)?))), range }
                    }
                    Tier::Big => {
                        let run = a.big();
                        Integer { number: Number::Big(code(move |m| Ok(run(m)?.complement()))), range }
                    }
                })
            }
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span),
            ExprKind::ShiftLeft(ty, value, count) => self.shift_left(*ty, value, count, span),
            ExprKind::Wrap(ty, operand) => self.wrap(*ty, operand),
            ExprKind::If(condition, then, otherwise) => {
                let condition = self.boolean(condition)?;
                let (a, b) = (self.integer(then)?, self.integer(otherwise)?);
                let range = a.range.union(b.range);
                Ok(match a.tier().max(b.tier()) {
                    Tier::Word => {
                        let (a, b) = (a.low(), b.low());
                        Integer::run(code(move |m| if condition.get(m)? != 0 { a.get(m) } else { b.get(m) }), range)
                    }
                    Tier::Double => {
                        let (a, b) = (a.double(), b.double());
                        let run = code(move |m| if condition.get(m)? != 0 { a(m) } else { b(m) });
                        Integer { number: Number::Double(run), range }
                    }
                    Tier::Big => {
                        let (a, b) = (a.big(), b.big());
                        let run = code(move |m| if condition.get(m)? != 0 { a(m) } else { b(m) });
                        Integer { number: Number::Big(run), range }
                    }
                })
            }
            ExprKind::Call(procedure, arguments) => {
                let call = self.call(*procedure, arguments, span)?;
                match self.context.results.get(procedure.index()) {
                    Some(Some(Scalar::Int(ty))) if ty.width <= 64 => Ok(self.stored(*ty, Word::Code(call.word()))),
                    Some(Some(Scalar::Int(ty))) => {
                        Ok(self.narrowed(Integer { number: Number::Big(call.wide()), range: Range::of_type(*ty) }))
                    }
                    _ => malformed("a call without an integer result", span),
                }
            }
            _ => malformed("an expression that is not an integer", span),
        }
    }

    fn literal(&self, value: &Int) -> Integer {
        let range = Range::of_value(value);
        match (value, self.tier(range)) {
            (Int::Small(small), Tier::Word) => Integer::word(Word::Const(*small), range),
            (_, Tier::Double) => {
                let value = double_from_int(value);
                Integer { number: Number::Double(code(move |_| Ok(value))), range }
            }
            _ => {
                let value = value.clone();
                Integer { number: Number::Big(code(move |_| Ok(value.clone()))), range }
            }
        }
    }

    /// The integer for which a stored word stands.
    fn stored(&self, ty: IntType, word: Word) -> Integer {
        let range = Range::of_type(ty);
        match self.tier(range) {
            Tier::Word => Integer::word(word, range),
            Tier::Double => {
                Integer { number: Number::Double(code(move |m| Ok(i128::from(word.get(m)? as u64)))), range }
            }
            Tier::Big => Integer { number: Number::Big(code(move |m| Ok(word_to_int(ty, word.get(m)?)))), range },
        }
    }

    /// The same value in the narrowest representation.
    fn narrowed(&self, integer: Integer) -> Integer {
        let range = integer.range;
        match self.tier(range) {
            Tier::Double if integer.tier() == Tier::Big => Integer { number: Number::Double(integer.double()), range },
            _ => integer,
        }
    }

    fn load_integer(&self, place: &Place) -> Compiled<Integer> {
        let ty = self.place_type(place)?;
        let Scalar::Int(int) = ty.element else {
            return malformed("a load that is not an integer", place.span);
        };
        if ty.is_list() {
            return malformed("a list where a scalar is wanted", place.span);
        }
        match Class::of(ty.element) {
            Class::Wide => {
                let address = self.address(place)?;
                let run = code(move |m: &mut Machine<'_>| {
                    let at = address.locate(m, |extent| extent.wides)?;
                    Ok(m.memory.wides[at].clone())
                });
                Ok(self.narrowed(Integer { number: Number::Big(run), range: Range::of_type(int) }))
            }
            _ => {
                let word = self.load_word(place)?;
                Ok(self.stored(int, word))
            }
        }
    }

    /// The stored word of a scalar place whose class is [`Class::Word`].
    pub(super) fn load_word(&self, place: &Place) -> Compiled<Word> {
        let mut address = self.address(place)?;
        let offset = address.offset;
        let Some(element) = address.element else {
            return Ok(match address.home {
                Home::Fixed(at) => {
                    let at = at + offset;
                    Word::Code(code(move |m| Ok(m.memory.words[at])))
                }
                Home::State(at) => {
                    let at = at + offset;
                    Word::Code(code(move |m| Ok(m.memory.words[m.state.words + at])))
                }
                Home::Frame(at) => Word::Frame(at + offset),
                Home::Reference(at) => {
                    Word::Code(code(move |m| Ok(m.memory.words[m.memory.words[m.frame.words + at] as usize + offset])))
                }
            });
        };
        if address.indices.is_empty() {
            return Ok(Word::Code(match address.home {
                Home::Fixed(at) => {
                    let at = at + offset;
                    for_element!(element, ELEMENT => code(move |m| Ok(m.memory.element(ELEMENT, at))))
                }
                Home::State(at) => {
                    let at = at + offset;
                    for_element!(element, ELEMENT => code(move |m| Ok(m.memory.element(ELEMENT, m.state.lists + at))))
                }
                Home::Frame(at) => {
                    let at = at + offset;
                    for_element!(element, ELEMENT => code(move |m| Ok(m.memory.element(ELEMENT, m.frame.lists + at))))
                }
                Home::Reference(at) => for_element!(element, ELEMENT => code(move |m| {
                    Ok(m.memory.element(ELEMENT, m.memory.words[m.frame.words + at] as usize + offset))
                })),
            }));
        }
        if let Some((index, reach)) = address.only_index() {
            macro_rules! element {
                (|$m:ident| $base:expr) => {
                    match index {
                        Word::Frame(at) => for_element!(element, ELEMENT => code(move |$m| {
                            let at = reach.at($m, $m.memory.words[$m.frame.words + at])?;
                            Ok($m.memory.element(ELEMENT, $base + at))
                        })),
                        index => for_element!(element, ELEMENT => code(move |$m| {
                            let index = index.get($m)?;
                            let at = reach.at($m, index)?;
                            Ok($m.memory.element(ELEMENT, $base + at))
                        })),
                    }
                };
            }
            return Ok(Word::Code(match address.home {
                Home::Fixed(home) => element!(|m| home),
                Home::State(home) => element!(|m| m.state.lists + home),
                Home::Frame(home) => element!(|m| m.frame.lists + home),
                Home::Reference(home) => element!(|m| m.memory.words[m.frame.words + home] as usize),
            }));
        }
        Ok(Word::Code(for_element!(element, ELEMENT => code(move |m| {
            let at = address.locate(m, |extent| extent.lists)?;
            Ok(m.memory.element(ELEMENT, at))
        }))))
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Compiled<Integer> {
        let (a, b) = (self.integer(left)?, self.integer(right)?);
        let range = match (op, &b.number) {
            (BinaryOp::ShiftRight, Number::Word(Word::Const(count @ 0..=4096))) => a.range.shifted_right(*count as u32),
            _ => Range::binary(op, a.range, b.range),
        };
        if op == BinaryOp::ShiftRight {
            return Ok(self.shift_right(a, b, range, span));
        }
        Ok(match self.tier(range).max(a.tier()).max(b.tier()) {
            Tier::Word => Integer::run(word_operator(op, a.low(), b.low(), span), range),
            Tier::Double => {
                let run = double_operator(op, a.double(), b.double(), span);
                self.fitted(Integer { number: Number::Double(run), range })
            }
            Tier::Big => {
                let run = big_operator(op, a.big(), b.big(), span);
                self.fitted(Integer { number: Number::Big(run), range })
            }
        })
    }

    /// Back to a narrower representation when the result needs less than the operands.
    fn fitted(&self, integer: Integer) -> Integer {
        let range = integer.range;
        match self.tier(range) {
            Tier::Word if integer.tier() > Tier::Word => Integer::word(integer.low(), range),
            Tier::Double if integer.tier() > Tier::Double => {
                Integer { number: Number::Double(integer.double()), range }
            }
            _ => integer,
        }
    }

    fn shift_right(&self, a: Integer, b: Integer, range: Range, span: Span) -> Integer {
        let count = b.clamped();
        let negative = move || arithmetic(ArithmeticError::NegativeShift, span);
        let integer = match a.number {
            Number::Word(word) => {
                let run = match count {
                    Word::Const(count) if count >= 0 => {
                        let count = count.min(63);
                        on_words!(word, Word::Const(count), |x, y| Ok(x >> y))
                    }
                    count => on_words!(word, count, |x, y| if y < 0 { Err(negative()) } else { Ok(x >> y.min(63)) }),
                };
                Integer::run(run, range)
            }
            Number::Double(run) => {
                let run = code(move |m| {
                    let value = run(m)?;
                    let count = count.get(m)?;
                    if count < 0 { Err(negative()) } else { Ok(value >> count.min(127)) }
                });
                Integer { number: Number::Double(run), range }
            }
            Number::Big(run) => {
                let run = code(move |m| {
                    let value = run(m)?;
                    let count = Int::from(count.get(m)?);
                    value.shr(&count).map_err(|error| arithmetic(error, span))
                });
                Integer { number: Number::Big(run), range }
            }
        };
        self.fitted(integer)
    }

    fn shift_left(&self, ty: IntType, value: &Expr, count: &Expr, span: Span) -> Compiled<Integer> {
        let (a, b) = (self.integer(value)?, self.integer(count)?);
        if let Number::Word(Word::Const(count @ 0..=MAX_CONSTANT_SHIFT)) = b.number {
            let range = a.range.shifted_left(count as u32);
            if range.within(ty) && self.tier(range) < Tier::Big {
                return Ok(match self.tier(range) {
                    Tier::Word if count < 64 => {
                        Integer::run(on_words!(a.low(), Word::Const(count), |x, y| Ok(x << y)), range)
                    }
                    _ => {
                        let run = a.double();
                        let count = count.min(127);
                        Integer { number: Number::Double(code(move |m| Ok(run(m)? << count))), range }
                    }
                });
            }
        }
        let range = Range::shifted(ty, a.range, b.range);
        let width = i64::from(ty.width);
        Ok(match (self.tier(range), a.tier()) {
            (Tier::Word, Tier::Word) => {
                let run = on_words!(a.low(), b.clamped(), |x, y| {
                    if y < 0 {
                        Ok(wrap_word(ty, x >> y.unsigned_abs().min(63)))
                    } else if y >= width.min(64) {
                        Ok(0)
                    } else {
                        Ok(wrap_word(ty, x << y))
                    }
                });
                Integer::run(run, range)
            }
            (Tier::Word | Tier::Double, tier) if tier < Tier::Big => {
                let (a, b) = (a.double(), b.clamped());
                let run = code(move |m: &mut Machine<'_>| {
                    let value = a(m)?;
                    let count = b.get(m)?;
                    if count < 0 {
                        Ok(wrap_double(ty, value >> count.unsigned_abs().min(127)))
                    } else if count >= width.min(128) {
                        Ok(0)
                    } else {
                        Ok(wrap_double(ty, value << count))
                    }
                });
                self.fitted(Integer { number: Number::Double(run), range })
            }
            _ => {
                let (a, b) = (a.big(), b.big());
                let run = code(move |m: &mut Machine<'_>| {
                    let value = a(m)?;
                    value.shl(&b(m)?, ty).map_err(|error| arithmetic(error, span))
                });
                self.fitted(Integer { number: Number::Big(run), range })
            }
        })
    }

    fn wrap(&self, ty: IntType, operand: &Expr) -> Compiled<Integer> {
        let given = self.range(operand)?;
        if given.within(ty) {
            return self.integer(operand);
        }
        let range = Range::of_type(ty);
        Ok(match self.tier(range) {
            Tier::Word => {
                let low = self.low(operand)?;
                Integer::run(code(move |m| Ok(wrap_word(ty, low.get(m)?))), range)
            }
            Tier::Double if ty.width <= 64 => {
                let low = self.low(operand)?;
                Integer { number: Number::Double(code(move |m| Ok(i128::from(low.get(m)? as u64)))), range }
            }
            Tier::Double if self.tier(given) < Tier::Big => {
                let run = self.integer(operand)?.double();
                Integer { number: Number::Double(code(move |m| Ok(wrap_double(ty, run(m)?)))), range }
            }
            _ => {
                let run = self.integer(operand)?.big();
                self.fitted(Integer { number: Number::Big(code(move |m| Ok(run(m)?.wrap(ty)))), range })
            }
        })
    }

    /// The range of an integer expression.
    fn range(&self, expr: &Expr) -> Compiled<Range> {
        stacker::maybe_grow(1 << 16, 1 << 20, || {
            Ok(match &expr.kind {
                ExprKind::Int(value) => Range::of_value(value),
                ExprKind::Load(place) => match self.place_type(place)?.element {
                    Scalar::Int(ty) => Range::of_type(ty),
                    _ => return malformed("a load that is not an integer", expr.span),
                },
                ExprKind::Negate(operand) => self.range(operand)?.negated(),
                ExprKind::Complement(operand) => self.range(operand)?.complemented(),
                ExprKind::Binary(BinaryOp::ShiftRight, left, right) => match right.kind {
                    ExprKind::Int(Int::Small(count @ 0..=4096)) => self.range(left)?.shifted_right(count as u32),
                    _ => self.range(left)?,
                },
                ExprKind::Binary(op, left, right) => Range::binary(*op, self.range(left)?, self.range(right)?),
                ExprKind::ShiftLeft(ty, value, count) => {
                    let value = self.range(value)?;
                    if let ExprKind::Int(Int::Small(count @ 0..=MAX_CONSTANT_SHIFT)) = count.kind {
                        let range = value.shifted_left(count as u32);
                        if range.within(*ty) {
                            return Ok(range);
                        }
                    }
                    Range::shifted(*ty, value, self.range(count)?)
                }
                ExprKind::Wrap(ty, operand) => {
                    let range = self.range(operand)?;
                    if range.within(*ty) { range } else { Range::of_type(*ty) }
                }
                ExprKind::If(_, then, otherwise) => self.range(then)?.union(self.range(otherwise)?),
                ExprKind::Call(procedure, _) => match self.context.results.get(procedure.index()) {
                    Some(Some(Scalar::Int(ty))) => Range::of_type(*ty),
                    _ => return malformed("a call without an integer result", expr.span),
                },
                _ => return malformed("an expression that is not an integer", expr.span),
            })
        })
    }

    /// The value of an integer expression modulo 2^64. Sums, products and bit operations need no more of their operands.
    pub(super) fn low(&self, expr: &Expr) -> Compiled<Word> {
        stacker::maybe_grow(1 << 16, 1 << 20, || self.low_here(expr))
    }

    fn low_here(&self, expr: &Expr) -> Compiled<Word> {
        if self.context.widest {
            return Ok(self.integer(expr)?.low());
        }
        match &expr.kind {
            ExprKind::Int(value) => Ok(Word::Const(low_word(value))),
            ExprKind::Load(place) if Class::of(self.place_type(place)?.element) == Class::Word => self.load_word(place),
            ExprKind::Wrap(ty, operand) if ty.width >= 64 => self.low(operand),
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (self.range(left)?, self.range(right)?);
                let wide = self.tier(a).max(self.tier(b)).max(self.tier(Range::binary(*op, a, b)));
                let modular = !matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::ShiftRight);
                if wide == Tier::Word || !modular {
                    return Ok(self.binary(*op, left, right, expr.span)?.low());
                }
                macro_rules! wrapping {
                    (|$x:ident, $y:ident| $value:expr) => {
                        Ok(Word::Code(on_words!(self.low(left)?, self.low(right)?, |$x, $y| Ok($value))))
                    };
                }
                match op {
                    BinaryOp::Add => wrapping!(|x, y| x.wrapping_add(y)),
                    BinaryOp::Sub => wrapping!(|x, y| x.wrapping_sub(y)),
                    BinaryOp::Mul => wrapping!(|x, y| x.wrapping_mul(y)),
                    BinaryOp::And => wrapping!(|x, y| x & y),
                    BinaryOp::Or => wrapping!(|x, y| x | y),
                    _ => wrapping!(|x, y| x ^ y),
                }
            }
            // By a count that may be negative, the value as a whole is shifted.
            ExprKind::ShiftLeft(ty, value, count)
                if (64..=MAX_WIDTH).contains(&ty.width) && self.range(count)?.negative.is_none() =>
            {
                // What is shifted out of a word is no longer wanted.
                let count = self.integer(count)?.clamped();
                Ok(Word::Code(on_words!(self.low(value)?, count, |x, y| if y >= 64 { Ok(0) } else { Ok(x << y) })))
            }
            _ => Ok(self.integer(expr)?.low()),
        }
    }

    /// The word to store at a place of an integer type of at most 64 bits.
    pub(super) fn stored_int(&self, ty: IntType, expr: &Expr) -> Compiled<Word> {
        let within = self.range(expr)?.within(ty);
        let low = self.low(expr)?;
        // The front end wraps what it stores; wrapping once more keeps memory within its types whatever it does.
        Ok(if within || ty.width == 64 { low } else { Word::Code(code(move |m| Ok(wrap_word(ty, low.get(m)?)))) })
    }
}

#[cold]
fn outside_any(index: Int, span: Span) -> Fault {
    trap(format!("index {index} is outside the list"), span)
}
