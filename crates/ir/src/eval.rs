//! Constant folding by a tree-walking interpreter. Expressions and statements are evaluated exactly.
//!
//! It computes what the program would compute, or says why it cannot: something is not a constant, an operator has no
//! result, an index is outside its list, or the budget of steps is spent. It neither prints nor calls natives nor writes
//! actor variables.

use crate::real::format_real;
use crate::{
    Argument, ArithmeticError, BinaryOp, CompareOp, Expr, ExprKind, Int, Local, LocalId, LocalKind, Place,
    PrintOperand, Procedure, ProcedureId, RealOp, RealType, Root, Scalar, Stmt, StmtKind, Type, Value, VariableId,
};
use headrace_source::Span;

pub use crate::real::{from_int as int_to_real, round as round_real};

/// Deepest nesting of calls.
pub const MAX_CALL_DEPTH: u32 = 256;

/// What the evaluator asks for.
pub trait Constants {
    /// The type and value of an actor variable, if known.
    fn variable(&self, id: VariableId) -> Option<(&Type, &Value)>;
    /// The function or procedure, if it can be evaluated.
    fn procedure(&self, id: ProcedureId) -> Option<&Procedure>;
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
pub enum EvalError {
    /// The value of this variable is not known.
    Unknown(VariableId),
    /// This function or procedure cannot be evaluated.
    NoBody(ProcedureId),
    /// A print, a native, or a write to an actor variable.
    Effect(Span),
    /// An operator without a result.
    Arithmetic(ArithmeticError, Span),
    /// An index outside its list.
    IndexOutOfRange {
        /// The index.
        index: Int,
        /// Number of elements.
        size: u32,
        /// Where the index stands.
        span: Span,
    },
    /// The budget of steps is spent.
    Budget(Span),
    /// Calls nest deeper than [`MAX_CALL_DEPTH`].
    Depth(Span),
    /// The program does not keep to the invariants of the representation.
    Malformed(Span),
}

enum Slot {
    Value(Value),
    /// Part of a local of an earlier frame.
    Frame {
        frame: usize,
        local: usize,
        offset: usize,
    },
    /// Part of an actor variable.
    Actor {
        variable: VariableId,
        offset: usize,
    },
}

struct Frame {
    slots: Vec<Slot>,
    types: Vec<Type>,
}

/// Where a place lies.
enum Storage {
    Local { frame: usize, local: usize, offset: usize },
    Actor { variable: VariableId, offset: usize },
}

/// A value that changed when it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// What was computed.
    pub value: Int,
    /// What it was wrapped to.
    pub ty: crate::IntType,
    /// The expression.
    pub span: Span,
}

/// The evaluator. One serves for any number of evaluations that share a budget.
pub struct Evaluator<'a> {
    constants: &'a dyn Constants,
    frames: Vec<Frame>,
    steps_left: u64,
    lost: Option<Lost>,
}

type Outcome<T> = Result<T, EvalError>;

impl<'a> Evaluator<'a> {
    /// An evaluator that gives up after `budget` steps; an expression, a statement and an element of a list count as
    /// one each.
    pub fn new(constants: &'a dyn Constants, budget: u64) -> Self {
        Self { constants, frames: Vec::new(), steps_left: budget, lost: None }
    }

    /// The first value that changed when a statement, not one of something called, stored it.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// Steps that are left.
    pub fn steps_left(&self) -> u64 {
        self.steps_left
    }

    /// Runs statements over fresh locals and returns the value that `result` has then.
    pub fn run(&mut self, locals: &[Local], body: &[Stmt], result: LocalId, span: Span) -> Outcome<Value> {
        self.frames.clear();
        let slots = self.fresh(locals, span)?;
        self.frames.push(Frame { slots, types: locals.iter().map(|local| local.ty.clone()).collect() });
        self.block(body)?;
        let mut frame = self.frames.pop().ok_or(EvalError::Malformed(span))?;
        match frame.slots.get_mut(result.index()) {
            Some(Slot::Value(value)) => Ok(std::mem::replace(value, Value::Bool(false))),
            _ => Err(EvalError::Malformed(span)),
        }
    }

    /// The value of an expression without locals.
    pub fn constant(&mut self, expr: &Expr) -> Outcome<Value> {
        self.frames.clear();
        self.frames.push(Frame { slots: Vec::new(), types: Vec::new() });
        self.expr(expr)
    }

    fn fresh(&mut self, locals: &[Local], span: Span) -> Outcome<Vec<Slot>> {
        let mut slots = Vec::with_capacity(locals.len());
        for local in locals {
            self.spend(local.ty.len() as u64, span)?;
            slots.push(Slot::Value(Value::zero(&local.ty)));
        }
        Ok(slots)
    }

    fn spend(&mut self, steps: u64, span: Span) -> Outcome<()> {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(EvalError::Budget(span)),
        }
    }

    fn block(&mut self, body: &[Stmt]) -> Outcome<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &Stmt) -> Outcome<()> {
        let span = stmt.span;
        self.spend(1, span)?;
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let value = match &value.kind {
                    ExprKind::Wrap(ty, exact) if self.frames.len() == 1 => {
                        let exact_value = self.int(exact)?;
                        if self.lost.is_none() && !exact_value.fits(*ty) {
                            self.lost = Some(Lost { value: exact_value.clone(), ty: *ty, span: exact.span });
                        }
                        Value::Int(exact_value.wrap(*ty))
                    }
                    _ => self.expr(value)?,
                };
                let (storage, _) = self.resolve(place)?;
                self.store(storage, value, place.indices.is_empty(), span)
            }
            StmtKind::Copy { target, source, convert } => self.copy(target, source, *convert, span),
            StmtKind::If(condition, then, otherwise) => {
                if self.boolean(condition)? {
                    self.block(then)
                } else {
                    self.block(otherwise)
                }
            }
            StmtKind::While { before, condition, body } => loop {
                self.block(before)?;
                if !self.boolean(condition)? {
                    return Ok(());
                }
                self.block(body)?;
                self.spend(1, span)?;
            },
            StmtKind::Foreach { variable, low, high, body } => {
                let low = self.int(low)?;
                let high = self.int(high)?;
                if high < low {
                    return Ok(());
                }
                let frame = self.frames.last().ok_or(EvalError::Malformed(span))?;
                let ty = frame.types.get(variable.index()).and_then(|ty| ty.element.as_int());
                let ty = ty.ok_or(EvalError::Malformed(span))?;
                self.set_local(*variable, Value::Int(low.wrap(ty)), span)?;
                loop {
                    self.block(body)?;
                    self.spend(1, span)?;
                    let frame = self.frames.last().ok_or(EvalError::Malformed(span))?;
                    let Some(Slot::Value(Value::Int(now))) = frame.slots.get(variable.index()) else {
                        return Err(EvalError::Malformed(span));
                    };
                    if *now >= high {
                        return Ok(());
                    }
                    let next = now.add(&Int::Small(1)).wrap(ty);
                    self.set_local(*variable, Value::Int(next), span)?;
                }
            }
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(*procedure, arguments, span)?;
                match (result, value) {
                    (Some(local), Some(value)) => self.set_local(*local, value, span),
                    (None, _) => Ok(()),
                    (Some(_), None) => Err(EvalError::Malformed(span)),
                }
            }
            StmtKind::CallNative { .. } | StmtKind::Print { .. } => Err(EvalError::Effect(span)),
        }
    }

    fn set_local(&mut self, local: LocalId, value: Value, span: Span) -> Outcome<()> {
        let frame = self.frames.last_mut().ok_or(EvalError::Malformed(span))?;
        match frame.slots.get_mut(local.index()) {
            Some(Slot::Value(slot)) => {
                *slot = value;
                Ok(())
            }
            _ => Err(EvalError::Malformed(span)),
        }
    }

    fn boolean(&mut self, expr: &Expr) -> Outcome<bool> {
        match self.expr(expr)? {
            Value::Bool(value) => Ok(value),
            _ => Err(EvalError::Malformed(expr.span)),
        }
    }

    fn int(&mut self, expr: &Expr) -> Outcome<Int> {
        match self.expr(expr)? {
            Value::Int(value) => Ok(value),
            _ => Err(EvalError::Malformed(expr.span)),
        }
    }

    fn real(&mut self, expr: &Expr) -> Outcome<f64> {
        match self.expr(expr)? {
            Value::Real(value) => Ok(value),
            _ => Err(EvalError::Malformed(expr.span)),
        }
    }

    /// The storage of a place and the type of what lies there.
    fn resolve(&mut self, place: &Place) -> Outcome<(Storage, Type)> {
        let malformed = EvalError::Malformed(place.span);
        let ty = match place.root {
            Root::Actor(id) => self.constants.variable(id).ok_or(EvalError::Unknown(id))?.0.clone(),
            Root::Local(id) => {
                let frame = self.frames.last().ok_or(malformed.clone())?;
                frame.types.get(id.index()).ok_or(malformed.clone())?.clone()
            }
        };
        let mut stride = ty.len();
        let mut offset = 0;
        for (index, &size) in place.indices.iter().zip(&ty.dims) {
            stride /= size as usize;
            let value = self.int(index)?;
            match value.to_u64() {
                Some(at) if at < u64::from(size) => offset += at as usize * stride,
                _ => return Err(EvalError::IndexOutOfRange { index: value, size, span: index.span }),
            }
        }
        if place.indices.len() > ty.dims.len() {
            return Err(malformed);
        }
        let rest = ty.after_indices(place.indices.len());
        let storage = match place.root {
            Root::Actor(variable) => Storage::Actor { variable, offset },
            Root::Local(id) => {
                let frame = self.frames.len() - 1;
                match self.frames[frame].slots.get(id.index()) {
                    Some(Slot::Value(_)) => Storage::Local { frame, local: id.index(), offset },
                    Some(&Slot::Frame { frame, local, offset: base }) => {
                        Storage::Local { frame, local, offset: base + offset }
                    }
                    Some(&Slot::Actor { variable, offset: base }) => Storage::Actor { variable, offset: base + offset },
                    None => return Err(malformed),
                }
            }
        };
        Ok((storage, rest))
    }

    fn values(&self, storage: &Storage, len: usize, span: Span) -> Outcome<&[Value]> {
        let (value, offset) = match *storage {
            Storage::Actor { variable, offset } => {
                (self.constants.variable(variable).ok_or(EvalError::Unknown(variable))?.1, offset)
            }
            Storage::Local { frame, local, offset } => match self.frames.get(frame).and_then(|f| f.slots.get(local)) {
                Some(Slot::Value(value)) => (value, offset),
                _ => return Err(EvalError::Malformed(span)),
            },
        };
        match value {
            Value::List(values) => values.get(offset..offset + len).ok_or(EvalError::Malformed(span)),
            scalar if offset == 0 && len == 1 => Ok(std::slice::from_ref(scalar)),
            _ => Err(EvalError::Malformed(span)),
        }
    }

    fn store(&mut self, storage: Storage, value: Value, whole: bool, span: Span) -> Outcome<()> {
        let Storage::Local { frame, local, offset } = storage else {
            return Err(EvalError::Effect(span));
        };
        match self.frames.get_mut(frame).and_then(|f| f.slots.get_mut(local)) {
            Some(Slot::Value(Value::List(values))) => match values.get_mut(offset) {
                Some(slot) => {
                    *slot = value;
                    Ok(())
                }
                None => Err(EvalError::Malformed(span)),
            },
            Some(Slot::Value(slot)) if whole => {
                *slot = value;
                Ok(())
            }
            _ => Err(EvalError::Malformed(span)),
        }
    }

    fn copy(&mut self, target: &Place, source: &Place, convert: Option<Scalar>, span: Span) -> Outcome<()> {
        let (from, from_type) = self.resolve(source)?;
        let (to, to_type) = self.resolve(target)?;
        let n = from_type.len();
        if n > to_type.len() {
            return Err(EvalError::Malformed(span));
        }
        self.spend(n as u64, span)?;
        let mut values = self.values(&from, n, span)?.to_vec();
        if let Some(scalar) = convert {
            for value in &mut values {
                let old = std::mem::replace(value, Value::Bool(false));
                *value = convert_scalar(old, scalar).ok_or(EvalError::Malformed(span))?;
            }
        }
        let Storage::Local { frame, local, offset } = to else {
            return Err(EvalError::Effect(span));
        };
        match self.frames.get_mut(frame).and_then(|f| f.slots.get_mut(local)) {
            Some(Slot::Value(Value::List(slots))) => {
                let room = slots.get_mut(offset..offset + n).ok_or(EvalError::Malformed(span))?;
                room.clone_from_slice(&values);
                Ok(())
            }
            _ => Err(EvalError::Malformed(span)),
        }
    }

    fn call(&mut self, id: ProcedureId, arguments: &[Argument], span: Span) -> Outcome<Option<Value>> {
        self.spend(1, span)?;
        let procedure = self.constants.procedure(id).ok_or(EvalError::NoBody(id))?;
        if self.frames.len() as u32 >= MAX_CALL_DEPTH {
            return Err(EvalError::Depth(span));
        }
        let mut slots = Vec::with_capacity(procedure.locals.len());
        for argument in arguments {
            slots.push(match argument {
                Argument::Value(expr) => Slot::Value(self.expr(expr)?),
                Argument::List(place) => match self.resolve(place)?.0 {
                    Storage::Local { frame, local, offset } => Slot::Frame { frame, local, offset },
                    Storage::Actor { variable, offset } => Slot::Actor { variable, offset },
                },
            });
        }
        let rest = procedure.locals.get(slots.len()..).ok_or(EvalError::Malformed(span))?;
        if rest.iter().any(|local| local.kind == LocalKind::Parameter) {
            return Err(EvalError::Malformed(span));
        }
        let fresh = self.fresh(rest, span)?;
        slots.extend(fresh);
        let types = procedure.locals.iter().map(|local| local.ty.clone()).collect();
        self.frames.push(Frame { slots, types });
        // A stack of its own for each level would be needed only far beyond the depth that is allowed.
        let outcome = self.block(&procedure.body).and_then(|()| match &procedure.result {
            Some((_, expr)) => self.expr(expr).map(Some),
            None => Ok(None),
        });
        self.frames.pop();
        outcome
    }

    /// The value of an expression in the innermost frame.
    fn expr(&mut self, expr: &Expr) -> Outcome<Value> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &Expr) -> Outcome<Value> {
        let span = expr.span;
        self.spend(1, span)?;
        let arithmetic = |error| EvalError::Arithmetic(error, span);
        Ok(match &expr.kind {
            ExprKind::Int(value) => Value::Int(value.clone()),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Real(value, _) => Value::Real(*value),
            ExprKind::String(text) => Value::String(text.clone()),
            ExprKind::Load(place) => {
                let (storage, _) = self.resolve(place)?;
                self.values(&storage, 1, span)?[0].clone()
            }
            ExprKind::Negate(operand) => Value::Int(self.int(operand)?.neg()),
            ExprKind::Complement(operand) => Value::Int(self.int(operand)?.complement()),
            ExprKind::Not(operand) => Value::Bool(!self.boolean(operand)?),
            ExprKind::Binary(op, left, right) => {
                let left = self.int(left)?;
                let right = self.int(right)?;
                // Exact products of products are the one way to make an integer of any size.
                self.spend((left.magnitude_bits() + right.magnitude_bits()) / 64, span)?;
                Value::Int(int_binary(*op, &left, &right).map_err(arithmetic)?)
            }
            ExprKind::ShiftLeft(ty, left, right) => {
                let left = self.int(left)?;
                let right = self.int(right)?;
                self.spend(u64::from(ty.width) / 64, span)?;
                Value::Int(left.shl(&right, *ty).map_err(arithmetic)?)
            }
            ExprKind::Wrap(ty, operand) => Value::Int(self.int(operand)?.wrap(*ty)),
            ExprKind::Compare(op, left, right) => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                Value::Bool(compare(*op, &left, &right).ok_or(EvalError::Malformed(span))?)
            }
            ExprKind::And(left, right) => Value::Bool(self.boolean(left)? && self.boolean(right)?),
            ExprKind::Or(left, right) => Value::Bool(self.boolean(left)? || self.boolean(right)?),
            ExprKind::If(condition, then, otherwise) => {
                return if self.boolean(condition)? { self.expr(then) } else { self.expr(otherwise) };
            }
            ExprKind::Call(procedure, arguments) => {
                return self.call(*procedure, arguments, span)?.ok_or(EvalError::Malformed(span));
            }
            ExprKind::IntToReal(ty, operand) => Value::Real(int_to_real(&self.int(operand)?, *ty)),
            ExprKind::RealToReal(ty, operand) => Value::Real(round_real(self.real(operand)?, *ty)),
            ExprKind::RealBinary(ty, op, left, right) => {
                let left = self.real(left)?;
                let right = self.real(right)?;
                Value::Real(real_binary(*ty, *op, left, right))
            }
            ExprKind::RealNegate(operand) => Value::Real(-self.real(operand)?),
            ExprKind::Concat(operands) => {
                let mut text = String::new();
                for PrintOperand { value, kind } in operands {
                    let value = self.expr(value)?;
                    let piece = show(&value, *kind).ok_or(EvalError::Malformed(span))?;
                    self.spend(piece.len() as u64, span)?;
                    text.push_str(&piece);
                }
                Value::String(text)
            }
        })
    }
}

/// An exact integer operator.
pub fn int_binary(op: BinaryOp, left: &Int, right: &Int) -> Result<Int, ArithmeticError> {
    Ok(match op {
        BinaryOp::Add => left.add(right),
        BinaryOp::Sub => left.sub(right),
        BinaryOp::Mul => left.mul(right),
        BinaryOp::Div => left.div(right)?,
        BinaryOp::Mod => left.modulo(right)?,
        BinaryOp::And => left.and(right),
        BinaryOp::Or => left.or(right),
        BinaryOp::Xor => left.xor(right),
        BinaryOp::ShiftRight => left.shr(right)?,
    })
}

/// A real operator, rounded to the format.
pub fn real_binary(ty: RealType, op: RealOp, left: f64, right: f64) -> f64 {
    let exact = match op {
        RealOp::Add => left + right,
        RealOp::Sub => left - right,
        RealOp::Mul => left * right,
        RealOp::Div => left / right,
    };
    round_real(exact, ty)
}

/// A comparison of two values of one kind; `None` when they are not comparable.
pub fn compare(op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
    use std::cmp::Ordering;
    let ordering = match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Real(a), Value::Real(b)) => a.partial_cmp(b),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => return None,
    };
    Some(match op {
        CompareOp::Equal => ordering == Some(Ordering::Equal),
        CompareOp::NotEqual => ordering != Some(Ordering::Equal),
        CompareOp::Less => ordering == Some(Ordering::Less),
        CompareOp::LessEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        CompareOp::Greater => ordering == Some(Ordering::Greater),
        CompareOp::GreaterEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
    })
}

/// The text of a scalar of a type as `print` shows it.
pub fn show(value: &Value, ty: Scalar) -> Option<String> {
    Some(match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Real(value) => match ty {
            Scalar::Real(ty) => format_real(*value, ty),
            _ => return None,
        },
        Value::String(value) => value.clone(),
        Value::List(_) => return None,
    })
}

/// Converts a scalar as a store into `to` does; `None` when its kind does not convert.
pub fn convert_scalar(value: Value, to: Scalar) -> Option<Value> {
    Some(match (value, to) {
        (Value::Int(value), Scalar::Int(ty)) => Value::Int(value.wrap(ty)),
        (Value::Int(value), Scalar::Real(ty)) => Value::Real(int_to_real(&value, ty)),
        (Value::Real(value), Scalar::Real(ty)) => Value::Real(round_real(value, ty)),
        (value @ Value::Bool(_), Scalar::Bool) | (value @ Value::String(_), Scalar::String) => value,
        _ => return None,
    })
}
