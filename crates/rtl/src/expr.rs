//! Expressions: values of given widths, pure and total.
//!
//! The functions that make them fold constants and leave out what does nothing, so that what is printed is short.

use crate::{Bits, SignalId, TableId};

/// An expression and its width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Bits of the value, at least one.
    pub width: u32,
}

/// The forms of expressions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExprKind {
    /// A constant of the width.
    Constant(Bits),
    /// A signal.
    Signal(SignalId),
    /// An element of a table; zero beyond its end.
    Lookup(TableId, Box<Expr>),
    /// An operator of one operand of the same width.
    Unary(UnaryOp, Box<Expr>),
    /// An operator of two operands of the same width.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A shift of the first operand, of the same width, by the second, of any width and without sign.
    Shift(ShiftOp, Box<Expr>, Box<Expr>),
    /// A comparison of two operands of one width, as one bit.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// The second operand where the first, of one bit, is set, else the third.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// One behind the other, the most significant first.
    Concat(Vec<Expr>),
    /// As many bits as the width says, from this one on; they lie within the operand.
    Slice(Box<Expr>, u32),
    /// As many bits of a signal as the width says, from one on, which is computed; zeros beyond the end.
    Part(SignalId, Box<Expr>),
    /// More bits: zeros, or copies of the highest bit.
    Extend(bool, Box<Expr>),
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// All bits the other way round.
    Not,
    /// Zero minus it.
    Negate,
}

/// Operators of two operands, which wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient of numbers without sign; 0 by 0.
    Div,
    /// Remainder of numbers without sign; 0 by 0.
    Rem,
    /// Quotient of numbers with sign, toward zero; 0 by 0.
    DivSigned,
    /// Remainder of numbers with sign, which has the sign of the dividend; 0 by 0.
    RemSigned,
    /// Bit by bit.
    And,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    Xor,
}

/// Shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftOp {
    /// To the left; zeros come in.
    Left,
    /// To the right; zeros come in.
    Right,
    /// To the right; copies of the highest bit come in.
    RightSigned,
}

/// Comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less, without sign.
    Less,
    /// Less or equal, without sign.
    LessEqual,
    /// Less, with sign.
    LessSigned,
    /// Less or equal, with sign.
    LessEqualSigned,
}

/// A table of operators and their names in the textual form.
macro_rules! names {
    ($ty:ident: $($op:ident $name:literal),* $(,)?) => {
        impl $ty {
            /// All of them.
            pub const ALL: &[$ty] = &[$($ty::$op),*];

            /// Name in the textual form.
            pub const fn name(self) -> &'static str {
                match self {
                    $($ty::$op => $name),*
                }
            }
        }
    };
}

names!(UnaryOp: Not "not", Negate "neg");
names!(BinaryOp: Add "add", Sub "sub", Mul "mul", Div "div", Rem "rem", DivSigned "divs", RemSigned "rems", And "and",
    Or "or", Xor "xor");
names!(ShiftOp: Left "shl", Right "shr", RightSigned "sra");
names!(CompareOp: Equal "eq", NotEqual "ne", Less "lt", LessEqual "le", LessSigned "lts", LessEqualSigned "les");

impl Expr {
    fn of(kind: ExprKind, width: u32) -> Self {
        Self { kind, width }
    }

    /// A constant.
    pub fn constant(value: Bits) -> Self {
        Self { width: value.width(), kind: ExprKind::Constant(value) }
    }

    /// A small constant.
    pub fn number(width: u32, value: u64) -> Self {
        Self::constant(Bits::new(width, value))
    }

    /// One bit.
    pub fn bit(value: bool) -> Self {
        Self::number(1, u64::from(value))
    }

    /// A signal of this width.
    pub fn signal(id: SignalId, width: u32) -> Self {
        Self::of(ExprKind::Signal(id), width)
    }

    /// An element of a table with elements of this width.
    pub fn lookup(table: TableId, index: Expr, width: u32) -> Self {
        Self::of(ExprKind::Lookup(table, Box::new(index)), width)
    }

    /// The value, where it is a constant.
    pub fn value(&self) -> Option<&Bits> {
        match &self.kind {
            ExprKind::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn is_zero(&self) -> bool {
        self.value().is_some_and(Bits::is_zero)
    }

    fn is_ones(&self) -> bool {
        self.value().is_some_and(|value| *value == Bits::ones(self.width))
    }

    /// All bits the other way round.
    pub fn inverted(self) -> Self {
        match self.kind {
            ExprKind::Constant(value) => {
                Self::constant(Bits::new(self.width, Bits::ones(self.width).value() ^ value.value()))
            }
            ExprKind::Unary(UnaryOp::Not, inner) => *inner,
            ExprKind::Compare(op, a, b) => match op {
                CompareOp::Equal => Self::compare(CompareOp::NotEqual, *a, *b),
                CompareOp::NotEqual => Self::compare(CompareOp::Equal, *a, *b),
                CompareOp::Less => Self::compare(CompareOp::LessEqual, *b, *a),
                CompareOp::LessEqual => Self::compare(CompareOp::Less, *b, *a),
                CompareOp::LessSigned => Self::compare(CompareOp::LessEqualSigned, *b, *a),
                CompareOp::LessEqualSigned => Self::compare(CompareOp::LessSigned, *b, *a),
            },
            kind => {
                let width = self.width;
                Self::of(ExprKind::Unary(UnaryOp::Not, Box::new(Self::of(kind, width))), width)
            }
        }
    }

    /// Zero minus it.
    pub fn negated(self) -> Self {
        let width = self.width;
        match self.value() {
            Some(value) => Self::constant(Bits::of_signed(width, &-value.signed())),
            None => Self::of(ExprKind::Unary(UnaryOp::Negate, Box::new(self)), width),
        }
    }

    /// An operator of two operands of one width.
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Self {
        let width = a.width;
        if let (Some(x), Some(y)) = (a.value(), b.value()) {
            return Self::constant(crate::simulate::binary(op, x, y));
        }
        match op {
            BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor if a.is_zero() => return b,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor if b.is_zero() => return a,
            BinaryOp::And if a.is_zero() || b.is_ones() => return a,
            BinaryOp::And if b.is_zero() || a.is_ones() => return b,
            BinaryOp::Or if a.is_ones() => return a,
            BinaryOp::Or if b.is_ones() => return b,
            // Where no place can carry, a sum is both beside each other.
            BinaryOp::Add if a.value().is_some() => return Self::binary(op, b, a),
            BinaryOp::Add if b.value().is_some() => {
                let (x, y) = (a.possible_bits(), b.possible_bits());
                if (x.value() & y.value()) == Default::default() {
                    return Self::binary(BinaryOp::Or, a, b);
                }
            }
            // A product with a power of two is wiring.
            BinaryOp::Mul if a.value().is_some() => return Self::binary(op, b, a),
            BinaryOp::Mul => {
                if let Some(factor) = b.value().map(Bits::value)
                    && factor.count_ones() <= 1
                {
                    return match factor.trailing_zeros() {
                        None => b,
                        Some(0) => a,
                        Some(bits) => {
                            let bits = bits as u32;
                            Self::concat(vec![a.slice(0, width - bits), Self::number(bits, 0)])
                        }
                    };
                }
            }
            _ => {}
        }
        Self::of(ExprKind::Binary(op, Box::new(a), Box::new(b)), width)
    }

    /// Bits that may be 1, as far as constants, extensions and what stands beside each other say.
    fn possible_bits(&self) -> Bits {
        match &self.kind {
            ExprKind::Constant(value) => value.clone(),
            ExprKind::Extend(false, inner) => inner.possible_bits().resized(self.width, false),
            ExprKind::Concat(parts) => {
                let all = parts.iter().map(Expr::possible_bits);
                all.reduce(|high, low| high.concat(&low)).unwrap_or_else(|| Bits::ones(self.width))
            }
            _ => Bits::ones(self.width),
        }
    }

    /// Both, bit by bit.
    pub fn and(self, other: Expr) -> Self {
        Self::binary(BinaryOp::And, self, other)
    }

    /// Either, bit by bit.
    pub fn or(self, other: Expr) -> Self {
        Self::binary(BinaryOp::Or, self, other)
    }

    /// The sum.
    pub fn plus(self, other: Expr) -> Self {
        Self::binary(BinaryOp::Add, self, other)
    }

    /// The difference.
    pub fn minus(self, other: Expr) -> Self {
        Self::binary(BinaryOp::Sub, self, other)
    }

    /// A shift.
    pub fn shift(op: ShiftOp, x: Expr, count: Expr) -> Self {
        let width = x.width;
        if count.is_zero() {
            return x;
        }
        if let (Some(x), Some(count)) = (x.value(), count.value()) {
            return Self::constant(crate::simulate::shift(op, x, count));
        }
        Self::of(ExprKind::Shift(op, Box::new(x), Box::new(count)), width)
    }

    /// A comparison of operands of one width.
    pub fn compare(op: CompareOp, a: Expr, b: Expr) -> Self {
        if let (Some(x), Some(y)) = (a.value(), b.value()) {
            return Self::bit(crate::simulate::compare(op, x, y));
        }
        // Nothing is less than the least, and all is up to the largest.
        let width = a.width;
        let (least, most) = match op {
            CompareOp::LessSigned | CompareOp::LessEqualSigned => {
                let most = Bits::ones(width).slice(1, width);
                (Bits::of_signed(width, &(-most.signed() - 1)), most)
            }
            _ => (Bits::zero(width), Bits::ones(width)),
        };
        match op {
            CompareOp::Less | CompareOp::LessSigned if b.value() == Some(&least) || a.value() == Some(&most) => {
                return Self::bit(false);
            }
            CompareOp::LessEqual | CompareOp::LessEqualSigned
                if a.value() == Some(&least) || b.value() == Some(&most) =>
            {
                return Self::bit(true);
            }
            _ => {}
        }
        // What is nothing, or more, needs no subtraction.
        let (is_zero, is_one) = (|x: &Expr| x.is_zero(), |x: &Expr| x.value().and_then(Bits::to_u64) == Some(1));
        match op {
            CompareOp::Less if is_zero(&a) => return Self::compare(CompareOp::NotEqual, b, a),
            CompareOp::Less if is_one(&b) => return Self::compare(CompareOp::Equal, a, Self::number(width, 0)),
            CompareOp::LessEqual if is_zero(&b) => return Self::compare(CompareOp::Equal, a, b),
            CompareOp::LessEqual if is_one(&a) => return Self::compare(CompareOp::NotEqual, b, Self::number(width, 0)),
            _ => {}
        }
        // Of one bit: itself, or the other way round.
        if a.width == 1 && matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            for (x, y) in [(&a, &b), (&b, &a)] {
                if let Some(y) = y.value() {
                    let same = y.is_zero() == (op == CompareOp::NotEqual);
                    return if same { x.clone() } else { x.clone().inverted() };
                }
            }
        }
        Self::of(ExprKind::Compare(op, Box::new(a), Box::new(b)), 1)
    }

    /// Whether it is a number.
    pub fn is(self, value: u64) -> Self {
        let width = self.width;
        Self::compare(CompareOp::Equal, self, Self::number(width, value))
    }

    /// One of two values.
    pub fn select(condition: Expr, yes: Expr, no: Expr) -> Self {
        if let Some(value) = condition.value() {
            return if value.is_zero() { no } else { yes };
        }
        if yes == no {
            return yes;
        }
        let width = yes.width;
        if width == 1 && yes.is_ones() && no.is_zero() {
            return condition;
        }
        if width == 1 && yes.is_zero() && no.is_ones() {
            return condition.inverted();
        }
        Self::of(ExprKind::Select(Box::new(condition), Box::new(yes), Box::new(no)), width)
    }

    /// One behind the other, the most significant first; at least one.
    pub fn concat(parts: Vec<Expr>) -> Self {
        let mut joined: Vec<Expr> = Vec::new();
        for part in parts {
            let both = joined.last().and_then(Expr::value).zip(part.value()).map(|(high, low)| high.concat(low));
            match both {
                Some(both) => {
                    joined.pop();
                    joined.push(Self::constant(both));
                }
                None => joined.push(part),
            }
        }
        if joined.len() == 1
            && let Some(only) = joined.pop()
        {
            return only;
        }
        let width = joined.iter().map(|part| part.width).sum();
        Self::of(ExprKind::Concat(joined), width)
    }

    /// So many bits from one on.
    pub fn slice(self, low: u32, width: u32) -> Self {
        if low == 0 && width == self.width {
            return self;
        }
        let own = self.width;
        match self.kind {
            ExprKind::Constant(value) => Self::constant(value.slice(u64::from(low), width)),
            ExprKind::Slice(inner, before) => inner.slice(before + low, width),
            ExprKind::Extend(_, inner) if low + width <= inner.width => inner.slice(low, width),
            ExprKind::Extend(signed, inner) if low < inner.width => {
                let rest = inner.width - low;
                inner.slice(low, rest).extended(signed, width)
            }
            ExprKind::Extend(false, _) => Self::number(width, 0),
            ExprKind::Concat(parts) => {
                let mut end = own;
                for part in &parts {
                    end -= part.width;
                    if low >= end && low + width <= end + part.width {
                        return part.clone().slice(low - end, width);
                    }
                }
                Self::of(ExprKind::Slice(Box::new(Self::of(ExprKind::Concat(parts), own)), low), width)
            }
            // Bit by bit, and what depends on lower bits only: narrower operands instead.
            ExprKind::Binary(op, a, b) if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => {
                Self::binary(op, a.slice(low, width), b.slice(low, width))
            }
            ExprKind::Binary(op, a, b) if low == 0 && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) => {
                Self::binary(op, a.slice(0, width), b.slice(0, width))
            }
            ExprKind::Unary(UnaryOp::Not, x) => x.slice(low, width).inverted(),
            ExprKind::Unary(UnaryOp::Negate, x) if low == 0 => x.slice(0, width).negated(),
            ExprKind::Select(condition, yes, no) => {
                Self::select(*condition, yes.slice(low, width), no.slice(low, width))
            }
            kind => Self::of(ExprKind::Slice(Box::new(Self::of(kind, own)), low), width),
        }
    }

    /// So many bits of a signal from a computed one on; the signal has `whole` bits.
    pub fn part(signal: SignalId, whole: u32, low: Expr, width: u32) -> Self {
        match low.value().and_then(Bits::to_u64) {
            Some(low) if low + u64::from(width) <= u64::from(whole) => {
                Self::signal(signal, whole).slice(low as u32, width)
            }
            _ => Self::of(ExprKind::Part(signal, Box::new(low)), width),
        }
    }

    /// With so many bits, at least as many as it has.
    pub fn extended(self, signed: bool, width: u32) -> Self {
        if width == self.width {
            return self;
        }
        match self.kind {
            ExprKind::Constant(value) => Self::constant(value.resized(width, signed)),
            ExprKind::Extend(before, inner) if before == signed || !before => inner.extended(before, width),
            kind => {
                let own = self.width;
                Self::of(ExprKind::Extend(signed, Box::new(Self::of(kind, own))), width)
            }
        }
    }

    /// With so many bits, more or fewer.
    pub fn resized(self, signed: bool, width: u32) -> Self {
        if width <= self.width { self.slice(0, width) } else { self.extended(signed, width) }
    }

    /// The operands.
    pub fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Constant(_) | ExprKind::Signal(_) => Vec::new(),
            ExprKind::Lookup(_, x)
            | ExprKind::Unary(_, x)
            | ExprKind::Slice(x, _)
            | ExprKind::Part(_, x)
            | ExprKind::Extend(_, x) => vec![x],
            ExprKind::Binary(_, a, b) | ExprKind::Shift(_, a, b) | ExprKind::Compare(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
            ExprKind::Concat(parts) => parts.iter().collect(),
        }
    }

    /// The same, to be changed.
    pub fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Constant(_) | ExprKind::Signal(_) => Vec::new(),
            ExprKind::Lookup(_, x)
            | ExprKind::Unary(_, x)
            | ExprKind::Slice(x, _)
            | ExprKind::Part(_, x)
            | ExprKind::Extend(_, x) => vec![x],
            ExprKind::Binary(_, a, b) | ExprKind::Shift(_, a, b) | ExprKind::Compare(_, a, b) => vec![a, b],
            ExprKind::Select(c, a, b) => vec![c, a, b],
            ExprKind::Concat(parts) => parts.iter_mut().collect(),
        }
    }

    /// Calls `see` with every signal that it reads.
    pub fn signals(&self, see: &mut impl FnMut(SignalId)) {
        if let ExprKind::Signal(id) | ExprKind::Part(id, _) = &self.kind {
            see(*id);
        }
        for part in self.parts() {
            part.signals(see);
        }
    }

    /// Substitution: `of` gives what stands in the place of a signal, of the same width. Constants are folded.
    pub fn substituted(&self, of: &impl Fn(SignalId) -> Expr) -> Self {
        let inner = |x: &Expr| x.substituted(of);
        match &self.kind {
            ExprKind::Constant(_) => self.clone(),
            ExprKind::Signal(signal) => of(*signal),
            ExprKind::Lookup(table, index) => Self::lookup(*table, inner(index), self.width),
            ExprKind::Unary(UnaryOp::Not, x) => inner(x).inverted(),
            ExprKind::Unary(UnaryOp::Negate, x) => inner(x).negated(),
            ExprKind::Binary(op, a, b) => Self::binary(*op, inner(a), inner(b)),
            ExprKind::Shift(op, x, count) => Self::shift(*op, inner(x), inner(count)),
            ExprKind::Compare(op, a, b) => Self::compare(*op, inner(a), inner(b)),
            ExprKind::Select(condition, yes, no) => Self::select(inner(condition), inner(yes), inner(no)),
            ExprKind::Concat(parts) => Self::concat(parts.iter().map(inner).collect()),
            ExprKind::Slice(x, low) => inner(x).slice(*low, self.width),
            ExprKind::Extend(signed, x) => inner(x).extended(*signed, self.width),
            ExprKind::Part(signal, low) => {
                let (whole, low) = (of(*signal), inner(low));
                let at = low.value().and_then(Bits::to_u64);
                match (whole.kind, at) {
                    (ExprKind::Signal(signal), _) => Self::part(signal, whole.width, low, self.width),
                    (kind, Some(at)) if at + u64::from(self.width) <= u64::from(whole.width) => {
                        Self::of(kind, whole.width).slice(at as u32, self.width)
                    }
                    _ => Self::of(ExprKind::Part(*signal, Box::new(low)), self.width),
                }
            }
        }
    }
}
