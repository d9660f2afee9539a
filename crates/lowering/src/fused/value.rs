//! One node as expressions.
//!
//! Values are computed in `U32` or `U64`, the smallest that holds the width, and those of more than 64 bits in two `U64`. A
//! value is *clean* when the bits above its width are zero; what is not is masked where somebody needs it clean, and only
//! there. Choices are made with masks, because what is chosen by may be secret.

use super::kernel::KernelCode;
use super::wide;
use headrace_program::{BinaryOp, ByteOrder, CompareOp, Expr, Type, UnaryOp};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, ObjectId, Op};
use headrace_transform::statements::{Piece, Place};

/// Bits that a value is computed with.
pub(super) fn word(width: u32) -> u32 {
    match width {
        ..=32 => 32,
        33..=64 => 64,
        _ => 128,
    }
}

/// The type of the words that a value of a width is computed in.
pub(super) fn word_type(width: u32) -> Type {
    if width <= 32 { Type::U32 } else { Type::U64 }
}

/// A value.
#[derive(Clone, Debug)]
pub(super) struct Value {
    /// The low bits.
    pub low: Expr,
    /// Bits from 64 on, of values that have so many; then both are `U64`.
    pub high: Option<Expr>,
    /// Bits above the width are zero.
    pub clean: bool,
}

impl Value {
    pub fn one(low: Expr, clean: bool) -> Value {
        Value { low, high: None, clean }
    }

    pub fn two(low: Expr, high: Expr, clean: bool) -> Value {
        Value { low, high: Some(high), clean }
    }

    /// A constant of so many bits.
    pub fn number(value: u128, width: u32) -> Value {
        let low = Expr::int(word_type(width), value as u64);
        Value { low, high: (width > 64).then(|| Expr::int(Type::U64, (value >> 64) as u64)), clean: true }
    }

    /// Bits that it is computed with.
    pub fn word(&self) -> u32 {
        if self.high.is_some() { 128 } else { self.low.ty.bits() }
    }

    /// The upper word, or zeros.
    pub fn upper(&self) -> Expr {
        self.high.clone().unwrap_or(Expr::int(Type::U64, 0))
    }

    /// In more or fewer words; what does not fit is cut off.
    pub fn cast(self, word: u32) -> Value {
        match word {
            32 => Value::one(self.low.to(Type::U32), self.clean),
            64 => Value::one(self.low.to(Type::U64), self.clean),
            _ => {
                let upper = self.upper();
                Value::two(self.low.to(Type::U64), upper, self.clean)
            }
        }
    }

    /// Word by word.
    pub fn map(self, mut of: impl FnMut(Expr) -> Expr) -> Value {
        let Value { low, high, clean } = self;
        Value { low: of(low), high: high.map(of), clean }
    }

    /// Word by word, of two values of as many words.
    pub fn zip(self, other: Value, clean: bool, mut of: impl FnMut(Expr, Expr) -> Expr) -> Value {
        let low = of(self.low, other.low);
        let high = self.high.zip(other.high).map(|(a, b)| of(a, b));
        Value { low, high, clean }
    }

    /// With the bits of a mask only; the word of the value holds them all.
    pub fn masked(self, bits: u128) -> Value {
        let ty = self.low.ty;
        let word = self.word();
        let masked = |x: Expr, bits: u64, all: u64| match bits {
            0 => Expr::int(x.ty, 0),
            _ if bits == all => x,
            _ => {
                let ty = x.ty;
                x.and(Expr::int(ty, bits))
            }
        };
        let all = if word == 32 { u64::from(u32::MAX) } else { u64::MAX };
        debug_assert!(word == 128 || bits <= u128::from(all));
        let low = masked(self.low, ty.extend(bits as u64), all);
        let high = self.high.map(|high| masked(high, (bits >> 64) as u64, u64::MAX));
        Value { low, high, clean: true }
    }
}

/// A `Bool` as a word of ones or zeros.
pub(super) fn all_if(condition: Expr, ty: Type) -> Expr {
    Expr::unary(UnaryOp::Negate, condition.to(ty))
}

/// Exclusive or, without what changes nothing.
pub(super) fn xor(a: Expr, b: Expr) -> Expr {
    match (a.constant(), b.constant()) {
        (_, Some(0)) => a,
        (Some(0), _) => b,
        _ => Expr::binary(BinaryOp::Xor, a, b),
    }
}

/// Or, without what changes nothing.
pub(super) fn or(a: Expr, b: Expr) -> Expr {
    match (a.constant(), b.constant()) {
        (_, Some(0)) => a,
        (Some(0), _) => b,
        _ => a.or(b),
    }
}

impl KernelCode<'_, '_> {
    fn width(&self, id: NodeId) -> u32 {
        self.graph().width(id)
    }

    /// A node as a value that is less than 2^width.
    pub(super) fn clean(&mut self, id: NodeId) -> Value {
        let value = self.node(id);
        if value.clean { value } else { value.masked(mask(self.width(id))) }
    }

    /// An index as a `U32`.
    pub(super) fn position(&mut self, index: NodeId) -> Expr {
        self.clean(index).low.to(Type::U32)
    }

    /// A node of one bit as a condition.
    pub(super) fn condition(&mut self, id: NodeId) -> Expr {
        if !self.has_variable(id) {
            match *self.graph().op(id) {
                Op::Equal(a, b) => return self.comparison(CompareOp::Equal, a, b),
                Op::Less(a, b) => return self.comparison(CompareOp::Less, a, b),
                Op::LessSigned(a, b) => return self.less_signed(a, b),
                Op::Not(a) => return self.condition(a).negated(),
                _ => {}
            }
        }
        let value = self.clean(id).low;
        let zero = Expr::int(value.ty, 0);
        Expr::compare(CompareOp::NotEqual, value, zero)
    }

    fn comparison(&mut self, op: CompareOp, a: NodeId, b: NodeId) -> Expr {
        let (a, b) = (self.clean(a), self.clean(b));
        if a.high.is_none() && b.high.is_none() {
            return Expr::compare(op, a.low, b.low);
        }
        let (a, b) = (self.plain(a), self.plain(b));
        wide::comparison(op, &a, &b)
    }

    /// Whether one number with a sign is less than another.
    fn less_signed(&mut self, a: NodeId, b: NodeId) -> Expr {
        let own = self.width(a);
        let (a, b) = (self.clean(a), self.clean(b));
        if let Some(ty) = match own {
            32 => Some(Type::I32),
            64 => Some(Type::I64),
            _ => None,
        } {
            return Expr::compare(CompareOp::Less, a.low.to(ty), b.low.to(ty));
        }
        // The same order as that of numbers without signs, once those with are the lower ones.
        let top = Value::number(1 << (own - 1), own);
        let (a, b) = (a.zip(top.clone(), true, xor), b.zip(top, true, xor));
        let (a, b) = (self.plain(a), self.plain(b));
        wide::comparison(CompareOp::Less, &a, &b)
    }

    /// A value whose words can be read more than once.
    pub(super) fn plain(&mut self, value: Value) -> Value {
        value.map(|word| self.once(word))
    }

    /// A word that can be read more than once.
    pub(super) fn once(&mut self, word: Expr) -> Expr {
        if word.is_plain() { word } else { self.named(word) }
    }

    /// What reads a node by its variable, or computes it.
    pub(super) fn node(&mut self, id: NodeId) -> Value {
        if let Some(value) = self.variable_of(id) {
            return value;
        }
        let width = self.width(id);
        let w = word(width);
        let graph = self.graph();
        let most = |id: NodeId| graph.bounds(id).1;
        let least = |id: NodeId| graph.bounds(id).0;
        match graph.op(id).clone() {
            Op::Const(value) => Value::number(value, width),
            Op::Input { port, offset } => self.token(port, offset),
            Op::Loaded(number) => self.loaded(number, width),
            Op::Entry { object, index } => self.entry(id, object, index),
            Op::Not(a) => {
                let a = self.node(a);
                if width == w {
                    return Value { clean: true, ..a.map(|word| Expr::unary(UnaryOp::Not, word)) };
                }
                let clean = a.clean;
                a.zip(Value::number(mask(width), width), clean, xor)
            }
            Op::And(a, b) => self.bitwise(a, b, |a, b| a || b, Expr::and),
            Op::Or(a, b) => match self.as_choice(a, b) {
                Some(parts) => self.choice(parts),
                None => self.bitwise(a, b, |a, b| a && b, or),
            },
            Op::Xor(a, b) => match self.as_choice(a, b) {
                Some(parts) => self.choice(parts),
                None => self.bitwise(a, b, |a, b| a && b, xor),
            },
            Op::Add(a, b) => {
                let fits = most(a).checked_add(most(b)).is_some_and(|sum| sum <= mask(width));
                self.arithmetic(BinaryOp::Add, a, b, width, fits)
            }
            Op::Sub(a, b) => self.arithmetic(BinaryOp::Sub, a, b, width, least(a) >= most(b)),
            Op::Mul(a, b) => {
                let fits = most(a).checked_mul(most(b)).is_some_and(|product| product <= mask(width));
                self.arithmetic(BinaryOp::Mul, a, b, width, fits)
            }
            Op::Divide(a, b) => self.division(BinaryOp::Div, a, b, width),
            Op::Remainder(a, b) => self.division(BinaryOp::Rem, a, b, width),
            Op::ShiftLeft(a, n) => {
                let a = self.node(a);
                let shifted = self.shifted(a, n, width, wide::left);
                Value { clean: width == w, ..shifted }
            }
            Op::ShiftRight(a, n) => {
                let a = self.clean(a);
                self.shifted(a, n, width, wide::right)
            }
            Op::ShiftRightSigned(a, n) => {
                // Where the top bit is 1, zeros come in at the top of the complement.
                let a = self.clean(a);
                let a = self.plain(a);
                let sign = wide::sign(&a, width);
                let sign = self.plain(sign);
                let turned = a.zip(sign.clone(), true, xor);
                let turned = self.plain(turned);
                self.shifted(turned, n, width, wide::right).zip(sign, true, xor)
            }
            Op::RotateLeft(a, n) => {
                let a = self.clean(a);
                let a = self.plain(a);
                let count = self.count(n);
                let count = self.once(count.and(Expr::u32(width - 1)));
                let back = Expr::u32(0).minus(count.clone()).and(Expr::u32(width - 1));
                let back = self.once(back);
                let (left, right) = (wide::left(self, a.clone(), count), wide::right(self, a, back));
                left.zip(right, width == w, or)
            }
            Op::Extract(a, lo) => self.extract(a, lo, width),
            Op::Concat(parts) => {
                let pieces = self.pieces(&parts);
                self.concat(&pieces, w)
            }
            Op::SignExtend(a) => {
                let own = self.width(a);
                let value = self.clean(a);
                if own == width {
                    return value;
                }
                let value = self.plain(value);
                let top = self.top_bit(&value, own).to(word_type(width));
                let all = self.once(Expr::unary(UnaryOp::Negate, top));
                let sign = if w == 128 { Value::two(all.clone(), all, true) } else { Value::one(all, true) };
                // Bits above the operand, as many as the sign says.
                let sign = sign.masked(mask(width) & !mask(own));
                value.cast(w).zip(sign, true, or)
            }
            Op::Equal(a, b) => Value::one(self.comparison(CompareOp::Equal, a, b).to(Type::U32), true),
            Op::Less(a, b) => Value::one(self.comparison(CompareOp::Less, a, b).to(Type::U32), true),
            Op::LessSigned(a, b) => Value::one(self.less_signed(a, b).to(Type::U32), true),
            Op::Select(c, a, b) => {
                let condition = self.clean(c).low;
                let all = Expr::unary(UnaryOp::Negate, condition.to(word_type(width)));
                let all = if w == 128 { self.once(all) } else { all };
                let all = if w == 128 { Value::two(all.clone(), all, false) } else { Value::one(all, false) };
                let a = self.node(a);
                if self.graph().constant(b) == Some(0) {
                    let clean = a.clean;
                    return all.zip(a, clean, Expr::and);
                }
                let b = self.node(b);
                let b = self.plain(b);
                let clean = a.clean && b.clean;
                let differ = a.zip(b.clone(), clean, xor).zip(all, clean, Expr::and);
                differ.zip(b, clean, xor)
            }
            Op::Lookup(table, index) => {
                let length = self.graph().table(table).elements.len();
                self.guarded(id, index, length, |code, index| code.element_of_table(table, index))
            }
            Op::LookupBytes(table, a) => {
                let a = self.clean(a);
                let a = self.plain(a);
                let mut all = Value::number(0, width);
                for at in (0..width).step_by(8) {
                    let byte = wide::right(self, a.clone(), Expr::u32(at)).low.to(Type::U32).and(Expr::u32(255));
                    let byte = self.element_of_table(table, byte).cast(w);
                    all = all.zip(wide::left(self, byte, Expr::u32(at)), true, or);
                }
                all
            }
            Op::Instruction { .. } => {
                self.refuse("an instruction of a machine");
                Value::number(0, width)
            }
        }
    }

    /// `(y ^ z) & x ^ z`
    fn choice(&mut self, [x, y, z]: [NodeId; 3]) -> Value {
        let (x, y, z) = (self.node(x), self.node(y), self.node(z));
        let z = self.plain(z);
        let clean = y.clean && z.clean;
        y.zip(z.clone(), clean, xor).zip(x, clean, Expr::and).zip(z, clean, xor)
    }

    /// `x & y | !x & z`, as `[x, y, z]`, where neither part is needed for something else: `(y ^ z) & x ^ z` takes fewer
    /// operations.
    fn as_choice(&self, a: NodeId, b: NodeId) -> Option<[NodeId; 3]> {
        let graph = self.graph();
        let sides = |id: NodeId| match *graph.op(id) {
            Op::And(x, y) if !self.has_variable(id) => Some([[x, y], [y, x]]),
            _ => None,
        };
        for [x, y] in sides(a)? {
            for [other, z] in sides(b)? {
                match (graph.op(other), graph.op(x)) {
                    (Op::Not(inner), _) if *inner == x => return Some([x, y, z]),
                    (_, Op::Not(inner)) if *inner == other => return Some([other, z, y]),
                    _ => {}
                }
            }
        }
        None
    }

    fn top_bit(&self, value: &Value, width: u32) -> Expr {
        let (word, at) = match &value.high {
            Some(high) => (high.clone(), width - 65),
            None => (value.low.clone(), width - 1),
        };
        word.shifted_right(at)
    }

    fn bitwise(
        &mut self,
        a: NodeId,
        b: NodeId,
        clean: impl Fn(bool, bool) -> bool,
        of: impl FnMut(Expr, Expr) -> Expr,
    ) -> Value {
        let (a, b) = (self.node(a), self.node(b));
        let clean = clean(a.clean, b.clean);
        a.zip(b, clean, of)
    }

    fn arithmetic(&mut self, op: BinaryOp, a: NodeId, b: NodeId, width: u32, fits: bool) -> Value {
        let (a, b) = if fits { (self.clean(a), self.clean(b)) } else { (self.node(a), self.node(b)) };
        let clean = fits || width == word(width);
        if a.high.is_none() {
            return Value::one(Expr::binary(op, a.low, b.low), clean);
        }
        let (a, b) = (self.plain(a), self.plain(b));
        let value = match op {
            BinaryOp::Add => wide::sum(self, &a, &b),
            BinaryOp::Sub => wide::difference(self, &a, &b),
            _ => wide::product(self, &a, &b),
        };
        Value { clean, ..value }
    }

    /// A quotient or remainder; 0 where the divisor is.
    fn division(&mut self, op: BinaryOp, a: NodeId, b: NodeId, width: u32) -> Value {
        let graph = self.graph();
        let limit = u128::from(u64::MAX);
        let (narrow, nonzero) = (graph.bounds(a).1 <= limit && graph.bounds(b).1 <= limit, graph.bounds(b).0 > 0);
        if width > 64 && !narrow {
            self.refuse("a division of more than 64 bits");
            return Value::number(0, width);
        }
        let (a, b) = (self.clean(a).low, self.clean(b).low);
        if nonzero {
            return Value::one(Expr::binary(op, a, b), true).cast(word(width));
        }
        let b = self.once(b);
        let ty = b.ty;
        let fine = Expr::compare(CompareOp::NotEqual, b.clone(), Expr::int(ty, 0));
        let divisor = Expr::select(fine.clone(), b, Expr::int(ty, 1));
        let value = Expr::binary(op, a, divisor).and(all_if(fine, ty));
        Value::one(value, true).cast(word(width))
    }

    /// An amount as a `U32`; what is more than 255 is 255.
    fn count(&mut self, n: NodeId) -> Expr {
        let most = self.graph().bounds(n).1;
        let value = self.clean(n);
        if most <= u128::from(u32::MAX) {
            return value.low.to(Type::U32);
        }
        let value = self.plain(value);
        let small =
            wide::comparison(CompareOp::Less, &value, &Value::number(256, if value.high.is_some() { 128 } else { 64 }));
        Expr::select(small, value.low.to(Type::U32), Expr::u32(255))
    }

    /// Shifted by an amount, 0 from the width on.
    fn shifted(&mut self, a: Value, n: NodeId, width: u32, shift: fn(&mut Self, Value, Expr) -> Value) -> Value {
        let most = self.graph().bounds(n).1;
        let count = self.count(n);
        if most < u128::from(width) {
            return shift(self, a, count);
        }
        let count = self.once(count);
        let inside = self.once(all_if(count.clone().less(Expr::u32(width)), a.low.ty));
        let value = shift(self, a, count.and(Expr::u32(word(width) - 1)));
        let clean = value.clean;
        let all =
            if value.high.is_some() { Value::two(inside.clone(), inside, true) } else { Value::one(inside, true) };
        value.zip(all, clean, Expr::and)
    }

    /// A value that needs an index below a length, or 0 where the index may not be.
    pub(super) fn guarded(
        &mut self,
        id: NodeId,
        index: NodeId,
        length: usize,
        read: impl FnOnce(&mut Self, Expr) -> Value,
    ) -> Value {
        if !self.may_be_outside(id) || self.graph().bounds(index).1 < length as u128 {
            let index = self.position(index);
            return read(self, index);
        }
        let value = self.clean(index);
        let value = self.plain(value);
        let bits = value.word();
        let inside = wide::comparison(CompareOp::Less, &value, &Value::number(length as u128, bits));
        let inside = self.once(inside);
        let index = Expr::select(inside.clone(), value.low.to(Type::U32), Expr::u32(0));
        let value = read(self, index);
        value.map(|word| {
            let ty = word.ty;
            word.and(all_if(inside.clone(), ty))
        })
    }

    fn entry(&mut self, id: NodeId, object: ObjectId, index: NodeId) -> Value {
        let kept = self.object(object);
        let (width, length, persistent) = (kept.width, kept.length, kept.persistent);
        if !persistent {
            return Value::number(0, width);
        }
        self.guarded(id, index, length, |code, index| code.element_at_beginning(object, index))
    }

    fn extract(&mut self, a: NodeId, lo: u32, width: u32) -> Value {
        let value = self.node(a);
        let own = value.word();
        let held = if value.clean { self.graph().bounds(a).1 } else { mask(own) } >> lo;
        let w = word(width);
        let moved = self.moved_right(value, lo, width);
        let clean = (held & mask(w)) <= mask(width);
        Value { clean, ..moved.cast(w) }
    }

    /// Bits from `lo` on, of which so many are wanted.
    fn moved_right(&mut self, value: Value, lo: u32, wanted: u32) -> Value {
        match value.high {
            None => Value { low: value.low.shifted_right(lo), ..value },
            Some(high) if lo >= 64 => Value::one(high.shifted_right(lo - 64), value.clean),
            Some(_) if lo + wanted <= 64 => Value::one(value.low.shifted_right(lo), value.clean),
            Some(high) => wide::right(self, Value::two(value.low, high, value.clean), Expr::u32(lo)),
        }
    }

    /// Bits from `lo` on as a value that may hold more above.
    pub(super) fn bits_from(&mut self, id: NodeId, lo: u32, bits: u32) -> Value {
        let value = self.node(id);
        self.moved_right(value, lo, bits).cast(word(bits))
    }

    /// A value with so many zeros below it, in so many bits.
    pub(super) fn above_zeros(&mut self, id: NodeId, zeros: u32, bits: u32) -> Value {
        let value = self.clean(id).cast(word(bits));
        wide::left(self, value, Expr::u32(zeros))
    }

    fn concat(&mut self, pieces: &[Piece], w: u32) -> Value {
        let zero = Value::number(0, w);
        pieces.iter().fold(zero, |all, piece| {
            let value = self.piece(piece, w);
            all.zip(value, true, or)
        })
    }

    fn piece(&mut self, piece: &Piece, w: u32) -> Value {
        match *piece {
            Piece::Const(value) => Value::number(value, w),
            Piece::Load { place, first, n_bytes, big, at } => {
                let bytes: Vec<i64> = (first..first + i64::from(n_bytes)).collect();
                let value = self.bytes(place, &bytes, big).cast(w);
                wide::left(self, value, Expr::u32(at))
            }
            Piece::Swapped { source, lo, n_bits, at } => {
                let value = self.bits_from(source, lo, n_bits);
                let value = self.plain(value);
                let value = wide::swapped(self, value).cast(w);
                wide::left(self, value, Expr::u32(at))
            }
            Piece::Moved { source, shift, mask: taken } => self.moved(source, shift, taken, w),
        }
    }

    /// Bytes that lie together as a value.
    pub(super) fn bytes(&mut self, place: Place, bytes: &[i64], big: bool) -> Value {
        let word = |code: &mut Self, bytes: &[i64]| {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            if let Some(word) = code.word(place, bytes, order) {
                return word;
            }
            let ty = if bytes.len() > 4 { Type::U64 } else { Type::U32 };
            let mut all = Expr::int(ty, 0);
            let n = bytes.len() as u32;
            for (i, &byte) in (0..).zip(bytes) {
                let read = match place {
                    Place::Port(port) => code.token(port, byte),
                    Place::Object(object) => code.element(object, Expr::u32(byte as u32)),
                };
                let at = if big { n - 1 - i } else { i };
                all = or(all, read.low.to(ty).shifted_left(8 * at));
            }
            all
        };
        if bytes.len() <= 8 {
            return Value::one(word(self, bytes), true);
        }
        let (first, second) = bytes.split_at(8);
        let (first, second) = (word(self, first), word(self, second));
        if big { Value::two(second, first, true) } else { Value::two(first, second, true) }
    }

    fn moved(&mut self, source: NodeId, shift: i32, taken: u128, w: u32) -> Value {
        let width = self.width(source);
        let value = self.node(source);
        let held = mask(if value.clean { width } else { value.word() });
        let distance = shift.unsigned_abs();
        let (moved, held) = if shift > 0 {
            let value = value.cast(w);
            let value = if w == 128 { self.plain(value) } else { value };
            (wide::left(self, value, Expr::u32(distance)), (held << distance) & mask(w))
        } else {
            let wanted = u128::BITS - taken.leading_zeros();
            (self.moved_right(value, distance, wanted).cast(w), (held >> distance) & mask(w))
        };
        if held & !taken == 0 { Value { clean: true, ..moved } } else { moved.masked(taken) }
    }
}
