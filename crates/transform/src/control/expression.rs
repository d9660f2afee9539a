//! Symbolic execution of expressions. Expressions as nodes.
//!
//! Integers of the representation are exact, nodes have a width. Who needs only the low bits of a result says so, and
//! what it is computed from is then computed in as many bits where that gives the same low bits; everything else is
//! computed in as many bits as its range needs. Example: in `wrap 32 (a + b + c)` both sums are of 32 bits; in
//! `(a + b) >> 8` on bytes the sum has 9.

use super::NotFused;
use super::numbers::{Number, bits_of, range_of};
use super::symbolic_execution::{Frame, State, Walk};
use super::symbolic_store::ListId;
use crate::kernel::graph::{MAX_BITS, mask, signed};
use crate::kernel::{Effect, NodeId};
use headrace_ir::{Argument, BinaryOp, CompareOp, Expr, ExprKind, ProcedureId, Scalar, Value};
use headrace_source::Span;

/// A place of a list: the list, the index of its first element, and the number of elements from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub list: ListId,
    pub start: usize,
}

impl Walk<'_, '_> {
    /// The node of an integer in as many bits.
    pub fn in_bits(&mut self, number: Number, bits: u32) -> NodeId {
        let width = self.graph.width(number.node);
        if bits <= width {
            return self.graph.extract(number.node, 0, bits);
        }
        match number.range {
            Some((low, _)) if low < 0 => self.graph.sign_extend(number.node, bits),
            _ => self.graph.zero_extend(number.node, bits),
        }
    }

    fn exact(&mut self, low: i128, high: i128, node: NodeId) -> Number {
        let bits = bits_of(low, high);
        let node = if bits < self.graph.width(node) { self.graph.extract(node, 0, bits) } else { node };
        if let (true, Some(value)) = (low < high, self.graph.constant(node)) {
            let width = self.graph.width(node);
            let value = if low < 0 { signed(value, width) } else { value as i128 };
            return Number::ranged(node, value, value);
        }
        Number::ranged(node, low, high)
    }

    /// An integer constant.
    pub fn integer(&mut self, value: i128) -> Number {
        let node = self.graph.number(value as u128, bits_of(value, value));
        Number::ranged(node, value, value)
    }

    /// What a variable of a type holds, as an integer.
    pub fn of_type(&mut self, state: &State, node: NodeId, ty: Scalar) -> Number {
        let width = self.graph.width(node);
        let (low, high) = state.facts.range(self.graph, node);
        if low == high {
            let value = if matches!(ty, Scalar::Int(int) if int.signed) { signed(low, width) } else { low as i128 };
            return self.integer(value);
        }
        match ty {
            Scalar::Int(int) if int.signed && high > mask(width - 1) => {
                let most = mask(width - 1) as i128;
                Number::ranged(node, -most - 1, most)
            }
            _ if high > i128::MAX as u128 => Number { node, range: None, whole: true },
            _ => self.exact(low as i128, high as i128, node),
        }
    }

    /// An integer that is exact.
    pub(super) fn number(&mut self, state: &mut State, frame: &Frame, expr: &Expr) -> Result<Number, NotFused> {
        let number = self.evaluate(state, frame, expr, None)?;
        if number.range.is_none() {
            return Err(NotFused::new("a value needs more bits than transitions have", expr.span));
        }
        Ok(number)
    }

    /// An integer that its node holds, with bounds or as an unsigned number of as many bits as transitions have.
    fn whole(&mut self, state: &mut State, frame: &Frame, expr: &Expr) -> Result<Number, NotFused> {
        let number = self.evaluate(state, frame, expr, None)?;
        if number.range.is_none() && !number.whole {
            return Err(NotFused::new("a value needs more bits than transitions have", expr.span));
        }
        Ok(number)
    }

    /// Bounds of an integer.
    pub fn range_of_expression(
        &mut self,
        state: &mut State,
        frame: &Frame,
        expr: &Expr,
    ) -> Result<(i128, i128), NotFused> {
        Ok(self.number(state, frame, expr)?.range.unwrap_or_default())
    }

    /// The low bits of an integer.
    pub fn low_bits(&mut self, state: &mut State, frame: &Frame, expr: &Expr, bits: u32) -> Result<NodeId, NotFused> {
        if bits > MAX_BITS {
            return Err(NotFused::new("a value has more bits than transitions have", expr.span));
        }
        let number = self.evaluate(state, frame, expr, Some(bits))?;
        Ok(self.in_bits(number, bits))
    }

    /// The value of an expression as a variable of a type stores it.
    pub fn scalar(&mut self, state: &mut State, frame: &Frame, expr: &Expr, ty: Scalar) -> Result<NodeId, NotFused> {
        match ty {
            Scalar::Bool => self.condition(state, frame, expr),
            Scalar::Int(int) => self.low_bits(state, frame, expr, int.width),
            Scalar::Real(_) | Scalar::String => Err(NotFused::new("reals and texts are not in transitions", expr.span)),
        }
    }

    /// Operands of an exact operation in a common width, or in the width that is wanted.
    fn both(&mut self, a: Number, b: Number, bits: u32) -> (NodeId, NodeId) {
        (self.in_bits(a, bits), self.in_bits(b, bits))
    }

    fn evaluate(
        &mut self,
        state: &mut State,
        frame: &Frame,
        expr: &Expr,
        want: Option<u32>,
    ) -> Result<Number, NotFused> {
        let wanted = |bits: u32| want.is_some_and(|want| want <= bits);
        match &expr.kind {
            ExprKind::Int(value) => match value.to_i64().map(i128::from).or(value.to_u64().map(i128::from)) {
                Some(value) => Ok(self.integer(value)),
                None => {
                    let bytes = value.to_le_bytes(16);
                    let low = bytes.iter().rev().fold(0_u128, |value, &byte| value << 8 | u128::from(byte));
                    if !value.is_negative() && value.magnitude_bits() < 127 {
                        return Ok(self.integer(low as i128));
                    }
                    match want {
                        Some(bits) => Ok(Number::low(self.graph.number(low, bits))),
                        None => Err(NotFused::new("a constant has more bits than transitions have", expr.span)),
                    }
                }
            },
            ExprKind::Load(place) => {
                let (node, ty) = self.load(state, frame, place)?;
                let number = self.of_type(state, node, ty);
                Ok(number)
            }
            ExprKind::Negate(a) => {
                let zero = self.integer(0);
                let a = self.evaluate(state, frame, a, want)?;
                self.arithmetic(BinaryOp::Sub, zero, a, want, expr.span)
            }
            ExprKind::Complement(a) => {
                let a = self.evaluate(state, frame, a, want)?;
                match (a.range, want) {
                    (_, Some(bits)) => {
                        let node = self.in_bits(a, bits);
                        Ok(Number::low(self.graph.not(node)))
                    }
                    (Some((low, high)), None) => {
                        let bits = bits_of(!high, !low);
                        let node = self.in_bits(a, bits.max(self.graph.width(a.node)));
                        let node = self.graph.not(node);
                        Ok(self.exact(!high, !low, node))
                    }
                    _ => Err(NotFused::new("a value needs more bits than transitions have", expr.span)),
                }
            }
            ExprKind::Binary(op, a, b) => self.binary(state, frame, *op, a, b, want, expr.span),
            ExprKind::ShiftLeft(ty, a, count) => {
                let count = self.number(state, frame, count)?;
                if count.range.is_some_and(|range| range.0 < 0) {
                    return Err(NotFused::new("a value is shifted left by a count that may be negative", expr.span));
                }
                let known = self.graph.constant(count.node).filter(|_| count.range.is_some_and(|range| range.0 >= 0));
                if wanted(ty.width) || ty.width > MAX_BITS {
                    let Some(bits) = want.filter(|_| wanted(ty.width)) else {
                        // Wider than transitions are, but perhaps not what can come out.
                        let a = self.number(state, frame, a)?;
                        if let (Some((low, high)), Some(count)) = (a.range, known) {
                            let fits = low >= 0 && bits_of(low, high) + (count.min(200) as u32) < MAX_BITS;
                            if fits {
                                let bits = bits_of(low, high) + count as u32;
                                let node = self.in_bits(a, bits);
                                let node = self.graph.shift_left_by(node, count as u32);
                                return Ok(self.exact(low << count, high << count, node));
                            }
                        }
                        return Err(NotFused::new("a value needs more bits than transitions have", expr.span));
                    };
                    let a = self.low_bits(state, frame, a, bits)?;
                    let node = self.graph.shift_left(a, count.node);
                    return Ok(Number::low(node));
                }
                let a = self.evaluate(state, frame, a, Some(ty.width))?;
                if let (Some((low, high)), Some(count)) = (a.range, known) {
                    // No bit is lost.
                    if low >= 0 && bits_of(low, high) + (count.min(200) as u32) <= ty.width - u32::from(ty.signed) {
                        let bits = bits_of(low, high) + count as u32;
                        let node = self.in_bits(a, bits);
                        let node = self.graph.shift_left_by(node, count as u32);
                        return Ok(self.exact(low << count, high << count, node));
                    }
                }
                let a = self.in_bits(a, ty.width);
                let node = self.graph.shift_left(a, count.node);
                Ok(self.of_type(state, node, Scalar::Int(*ty)))
            }
            ExprKind::Wrap(ty, a) => {
                if wanted(ty.width) {
                    return self.evaluate(state, frame, a, want);
                }
                if ty.width > MAX_BITS {
                    return self.evaluate(state, frame, a, None);
                }
                let a = self.evaluate(state, frame, a, Some(ty.width))?;
                if let Some((low, high)) = a.range {
                    let fits = if ty.signed {
                        let most = mask(ty.width - 1) as i128;
                        low >= -most - 1 && high <= most
                    } else {
                        low >= 0 && bits_of(low, high) <= ty.width
                    };
                    if fits {
                        return Ok(a);
                    }
                }
                let node = self.in_bits(a, ty.width);
                Ok(self.of_type(state, node, Scalar::Int(*ty)))
            }
            ExprKind::If(condition, a, b) => {
                let condition = self.condition(state, frame, condition)?;
                if let Some(holds) = state.facts.decide(self.graph, condition) {
                    return self.evaluate(state, frame, if holds { a } else { b }, want);
                }
                let (a, a_effects) =
                    self.under(state, condition, true, |walk, state| walk.evaluate(state, frame, a, want))?;
                let (b, b_effects) =
                    self.under(state, condition, false, |walk, state| walk.evaluate(state, frame, b, want))?;
                if !a_effects.is_empty() || !b_effects.is_empty() {
                    let (range, bits) = match (a.range, b.range, want) {
                        (Some((a_low, a_high)), Some((b_low, b_high)), _) => {
                            let (low, high) = (a_low.min(b_low), a_high.max(b_high));
                            (Some((low, high)), bits_of(low, high))
                        }
                        (_, _, Some(bits)) => (None, bits),
                        _ => return Err(NotFused::new("a value needs more bits than transitions have", expr.span)),
                    };
                    let (x, y) = self.both(a, b, bits);
                    let node = self.joined(state, condition, (x, a_effects), (y, b_effects));
                    return Ok(Number { node, range, whole: false });
                }
                match (a.range, b.range, want) {
                    (Some((a_low, a_high)), Some((b_low, b_high)), _) => {
                        let (low, high) = (a_low.min(b_low), a_high.max(b_high));
                        let (x, y) = self.both(a, b, bits_of(low, high));
                        let node = self.graph.select(condition, x, y);
                        Ok(self.exact(low, high, node))
                    }
                    (_, _, None) if a.is_unsigned() && b.is_unsigned() => {
                        let (x, y) = self.both(a, b, MAX_BITS);
                        Ok(Number { node: self.graph.select(condition, x, y), range: None, whole: true })
                    }
                    (_, _, Some(bits)) => {
                        let (x, y) = self.both(a, b, bits);
                        Ok(Number::low(self.graph.select(condition, x, y)))
                    }
                    _ => Err(NotFused::new("a value needs more bits than transitions have", expr.span)),
                }
            }
            ExprKind::Call(procedure, arguments) => {
                let (node, ty) = self.call_function(state, frame, *procedure, arguments, expr.span)?;
                Ok(self.of_type(state, node, ty))
            }
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Compare(..) | ExprKind::And(..) | ExprKind::Or(..) => {
                let node = self.condition(state, frame, expr)?;
                Ok(self.exact(0, 1, node))
            }
            _ => Err(NotFused::new("reals and texts are not in transitions", expr.span)),
        }
    }

    #[allow(clippy::too_many_arguments)] // the operation and where it stands
    fn binary(
        &mut self,
        state: &mut State,
        frame: &Frame,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        want: Option<u32>,
        span: Span,
    ) -> Result<Number, NotFused> {
        match op {
            BinaryOp::ShiftRight => {
                let count = self.number(state, frame, b)?;
                let Some((least, most)) = count.range.filter(|range| range.0 >= 0) else {
                    return Err(NotFused::new("a shift count may be negative", span));
                };
                if least == most && least < i128::from(MAX_BITS) {
                    let count = least as u32;
                    if let Some(bits) = want.filter(|bits| bits + count <= MAX_BITS) {
                        // The bits above the low ones come down.
                        let a = self.evaluate(state, frame, a, Some(bits + count))?;
                        if let Some((low, high)) = a.range {
                            return Ok(self.shifted(a, low, high, count));
                        }
                        let node = self.in_bits(a, bits + count);
                        return Ok(Number::low(self.graph.extract(node, count, bits)));
                    }
                    let a = self.whole(state, frame, a)?;
                    return Ok(match a.range {
                        Some((low, high)) => self.shifted(a, low, high, count),
                        None if count == 0 => a,
                        None => {
                            let node = self.graph.extract(a.node, count, MAX_BITS - count);
                            self.exact(0, mask(MAX_BITS - count) as i128, node)
                        }
                    });
                }
                let a = self.whole(state, frame, a)?;
                let Some((low, high)) = a.range else {
                    let node = self.graph.shift_right(a.node, count.node);
                    return Ok(Number { node, range: None, whole: true });
                };
                if low < 0 {
                    let node = self.graph.shift_right_signed(a.node, count.node);
                    return Ok(self.exact(low, high.max(-1), node));
                }
                let node = self.graph.shift_right(a.node, count.node);
                Ok(self.exact(0, high, node))
            }
            BinaryOp::Mod => {
                let modulus = self.number(state, frame, b)?;
                let Some((least, most)) = modulus.range.filter(|range| range.0 > 0) else {
                    return Err(NotFused::new("a modulus may not be positive", span));
                };
                if least == most && (least as u128).is_power_of_two() {
                    let bits = (least as u128).trailing_zeros();
                    if bits == 0 {
                        return Ok(self.integer(0));
                    }
                    let node = self.low_bits(state, frame, a, bits)?;
                    let (low, high) = state.facts.range(self.graph, node);
                    return Ok(self.exact(low as i128, high as i128, node));
                }
                let a = self.number(state, frame, a)?;
                match a.range {
                    Some((0.., high)) => {
                        if high < least {
                            return Ok(a);
                        }
                        let bits = bits_of(0, high.max(most));
                        let (x, y) = self.both(a, modulus, bits);
                        let node = self.graph.remainder(x, y);
                        Ok(self.exact(0, high.min(most - 1), node))
                    }
                    _ => Err(NotFused::new("the residue of a negative number", span)),
                }
            }
            BinaryOp::Div => {
                let (a, b) = (self.number(state, frame, a)?, self.number(state, frame, b)?);
                match (a.range, b.range) {
                    (Some((a_low @ 0.., a_high)), Some((b_low @ 1.., b_high))) => {
                        let (x, y) = self.both(a, b, bits_of(0, a_high.max(b_high)));
                        let node = self.graph.quotient(x, y);
                        Ok(self.exact(a_low / b_high, a_high / b_low, node))
                    }
                    (Some((a_low, a_high)), Some((b_low, b_high)))
                        if a_low == a_high && b_low == b_high && b_low != 0 =>
                    {
                        Ok(self.integer(a_low / b_low))
                    }
                    _ => Err(NotFused::new("a division of numbers that may be negative, or by zero", span)),
                }
            }
            _ => {
                let (a, b) = (self.evaluate(state, frame, a, want)?, self.evaluate(state, frame, b, want)?);
                self.arithmetic(op, a, b, want, span)
            }
        }
    }

    fn shifted(&mut self, a: Number, low: i128, high: i128, count: u32) -> Number {
        let width = self.graph.width(a.node);
        // What a number has beyond its width are copies of its sign.
        let most = if low < 0 { width - 1 } else { width };
        let (low, high) = (low >> count.min(127), high >> count.min(127));
        let count = count.min(most);
        if count == width {
            return self.integer(0);
        }
        let node = self.graph.extract(a.node, count, width - count);
        self.exact(low, high, node)
    }

    /// Operations whose low bits depend on low bits only.
    fn arithmetic(
        &mut self,
        op: BinaryOp,
        a: Number,
        b: Number,
        want: Option<u32>,
        span: Span,
    ) -> Result<Number, NotFused> {
        let range = match (a.range, b.range) {
            (Some(a), Some(b)) => range_of(op, a, b),
            _ => None,
        };
        let exact = range.map(|(low, high)| bits_of(low, high)).filter(|&bits| bits <= MAX_BITS);
        let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        let bits = match (exact, want) {
            (Some(exact), Some(want)) => exact.min(want),
            (Some(exact), None) => exact,
            (None, Some(want)) => want,
            (None, None) if a.is_unsigned() && b.is_unsigned() && bitwise => MAX_BITS,
            (None, None) => return Err(NotFused::new("a value needs more bits than transitions have", span)),
        };
        let (x, y) = self.both(a, b, bits);
        let node = match op {
            BinaryOp::Add => self.graph.sum(x, y),
            BinaryOp::Sub => self.graph.difference(x, y),
            BinaryOp::Mul => self.graph.product(x, y),
            BinaryOp::And => self.graph.and(x, y),
            BinaryOp::Or => self.graph.or(x, y),
            _ => self.graph.xor(x, y),
        };
        match range.filter(|_| exact == Some(bits)) {
            Some((low, high)) => Ok(self.exact(low, high, node)),
            None if a.whole || b.whole => {
                // Those of unsigned numbers stay within their bits.
                let whole = bitwise && bits == MAX_BITS && a.is_unsigned() && b.is_unsigned();
                Ok(Number { node, range: None, whole })
            }
            None => Ok(Number::low(node)),
        }
    }

    /// A condition as one bit.
    pub fn condition(&mut self, state: &mut State, frame: &Frame, expr: &Expr) -> Result<NodeId, NotFused> {
        match &expr.kind {
            ExprKind::Bool(value) => Ok(self.graph.bit(*value)),
            ExprKind::Not(a) => {
                let a = self.condition(state, frame, a)?;
                Ok(self.graph.not(a))
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let is_and = matches!(expr.kind, ExprKind::And(..));
                let a = self.condition(state, frame, a)?;
                match state.facts.decide(self.graph, a) {
                    Some(holds) if holds == is_and => self.condition(state, frame, b),
                    Some(holds) => Ok(self.graph.bit(holds)),
                    None => {
                        let (b, effects) =
                            self.under(state, a, is_and, |walk, state| walk.condition(state, frame, b))?;
                        if !effects.is_empty() {
                            let short = self.graph.bit(!is_and);
                            return Ok(if is_and {
                                self.joined(state, a, (b, effects), (short, Vec::new()))
                            } else {
                                self.joined(state, a, (short, Vec::new()), (b, effects))
                            });
                        }
                        Ok(if is_and { self.graph.and(a, b) } else { self.graph.or(a, b) })
                    }
                }
            }
            ExprKind::Compare(op, a, b) => {
                let (x, y) = (self.is_condition(a), self.is_condition(b));
                let (a, b) = if x && y {
                    let (a, b) = (self.condition(state, frame, a)?, self.condition(state, frame, b)?);
                    (Number::ranged(a, 0, 1), Number::ranged(b, 0, 1))
                } else {
                    (self.whole(state, frame, a)?, self.whole(state, frame, b)?)
                };
                let (low, bits) = match (a.range, b.range) {
                    (Some((a_low, a_high)), Some((b_low, b_high))) => {
                        let (low, high) = (a_low.min(b_low), a_high.max(b_high));
                        (low, bits_of(low, high))
                    }
                    _ if a.is_unsigned() && b.is_unsigned() => (0, MAX_BITS),
                    _ => return Err(NotFused::new("a comparison needs more bits than transitions have", expr.span)),
                };
                let (x, y) = self.both(a, b, bits);
                let graph = &mut *self.graph;
                let less = |graph: &mut crate::kernel::Graph, x, y| {
                    if low < 0 { graph.less_signed(x, y) } else { graph.less(x, y) }
                };
                Ok(match op {
                    CompareOp::Equal => graph.equal(x, y),
                    CompareOp::NotEqual => {
                        let equal = graph.equal(x, y);
                        graph.not(equal)
                    }
                    CompareOp::Less => less(graph, x, y),
                    CompareOp::Greater => less(graph, y, x),
                    CompareOp::LessEqual => {
                        let greater = less(graph, y, x);
                        graph.not(greater)
                    }
                    CompareOp::GreaterEqual => {
                        let smaller = less(graph, x, y);
                        graph.not(smaller)
                    }
                })
            }
            ExprKind::If(condition, a, b) => {
                let condition = self.condition(state, frame, condition)?;
                if let Some(holds) = state.facts.decide(self.graph, condition) {
                    return self.condition(state, frame, if holds { a } else { b });
                }
                let (a, a_effects) =
                    self.under(state, condition, true, |walk, state| walk.condition(state, frame, a))?;
                let (b, b_effects) =
                    self.under(state, condition, false, |walk, state| walk.condition(state, frame, b))?;
                if !a_effects.is_empty() || !b_effects.is_empty() {
                    return Ok(self.joined(state, condition, (a, a_effects), (b, b_effects)));
                }
                Ok(self.graph.select(condition, a, b))
            }
            ExprKind::Load(place) => {
                let (node, _) = self.load(state, frame, place)?;
                match state.facts.decide(self.graph, node) {
                    Some(known) if self.graph.width(node) == 1 => Ok(self.graph.bit(known)),
                    _ => Ok(node),
                }
            }
            ExprKind::Call(procedure, arguments) => {
                Ok(self.call_function(state, frame, *procedure, arguments, expr.span)?.0)
            }
            _ => Err(NotFused::new("texts are not in transitions", expr.span)),
        }
    }

    /// Whether an operand of a comparison is a boolean, as far as its form tells.
    fn is_condition(&self, expr: &Expr) -> bool {
        matches!(
            expr.kind,
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::And(..) | ExprKind::Or(..) | ExprKind::Compare(..)
        )
    }

    /// Does something where a condition is known to hold, or not to; gives its effects apart.
    fn under<T>(
        &mut self,
        state: &mut State,
        condition: NodeId,
        holds: bool,
        work: impl FnOnce(&mut Self, &mut State) -> Result<T, NotFused>,
    ) -> Result<(T, Vec<Effect>), NotFused> {
        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        state.facts.assume(self.graph, condition, holds);
        state.effects.push(Vec::new());
        let result = work(self, state);
        let effects = state.effects.pop().unwrap_or_default();
        state.facts = facts;
        if !effects.is_empty() {
            // What has been loaded or flushed there has not been elsewhere.
            state.lists = lists;
        }
        Ok((result?, effects))
    }

    /// One of two values, each with the effects that it needs.
    fn joined(
        &mut self,
        state: &mut State,
        condition: NodeId,
        (a, mut then): (NodeId, Vec<Effect>),
        (b, mut otherwise): (NodeId, Vec<Effect>),
    ) -> NodeId {
        let object = self.add_cell(self.graph.width(a));
        let index = self.graph.number(0, 32);
        then.push(Effect::Store { object, index, value: a });
        otherwise.push(Effect::Store { object, index, value: b });
        state.push(Effect::If { condition, then, otherwise });
        self.load_effect(state, object, index)
    }

    /// A call of a pure function.
    fn call_function(
        &mut self,
        state: &mut State,
        frame: &Frame,
        procedure: ProcedureId,
        arguments: &[Argument],
        span: Span,
    ) -> Result<(NodeId, Scalar), NotFused> {
        let ty = self.actor(frame).procedures[procedure.index()].result.as_ref().map(|(ty, _)| *ty);
        let value = self.call(state, frame, procedure, arguments, span)?;
        value.zip(ty).ok_or_else(|| NotFused::new("a function without a value", span))
    }
}

/// The bits of a folded scalar.
pub(crate) fn bits_of_value(value: &Value) -> u128 {
    match value {
        Value::Bool(value) => u128::from(*value),
        Value::Int(value) => value.to_le_bytes(16).iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte)),
        Value::Real(_) | Value::String(_) | Value::List(_) => 0,
    }
}
