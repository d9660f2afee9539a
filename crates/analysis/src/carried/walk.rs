//! What a firing makes of each state variable, by walking its statements over values that say how they depend on what
//! the variables held before.

use super::value::{Form, Value};
use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, Local, LocalKind, Place, ProcedureId, Root, Scalar, Stmt, StmtKind, Type,
    VariableId,
};

/// Iterations of a loop after which what still changes can be anything.
const MAX_PASSES: usize = 8;

/// Statements that are walked for one action.
const MAX_STEPS: u64 = 1 << 18;

/// Calls that nest deeper are not followed.
const MAX_CALL_DEPTH: usize = 64;

/// What each variable holds after a firing of the action; `None` for an action with too much to be walked. What is
/// `held` counts as independent of state.
pub(super) fn after(actor: &Actor, action: &Action, held: &[bool]) -> Option<Vec<Value>> {
    let mut walk = Walk { actor, values: Vec::new(), frames: Vec::new(), steps: MAX_STEPS };
    for (id, variable) in (0..).map(VariableId).zip(&actor.variables) {
        let value = match (&variable.initial, variable.mutable) {
            (_, true) if held.get(id.index()) == Some(&true) => Value::free(),
            (_, true) => Value::before(id),
            (headrace_ir::Value::Int(value), false) => Value::constant(value.clone()),
            _ => Value::free(),
        };
        walk.values.push(typed(value, &variable.ty));
    }
    let locals = walk.locals(&action.locals, 0);
    walk.frames.push(locals);
    walk.statements(&action.body);
    walk.values.truncate(actor.variables.len());
    (walk.steps > 0).then_some(walk.values)
}

fn typed(value: Value, ty: &Type) -> Value {
    match ty.element {
        Scalar::Bool => value.within(1, false),
        Scalar::Int(int) => value.within(int.width, int.signed),
        Scalar::Real(_) | Scalar::String => value,
    }
}

struct Walk<'a> {
    actor: &'a Actor,
    /// Variables first, then the locals of each frame.
    values: Vec<Value>,
    /// For each frame, where each local lies.
    frames: Vec<Vec<usize>>,
    steps: u64,
}

impl Walk<'_> {
    fn locals(&mut self, locals: &[Local], skip: usize) -> Vec<usize> {
        let mut places = Vec::new();
        for local in &locals[skip.min(locals.len())..] {
            places.push(self.values.len());
            let value = match local.kind {
                LocalKind::Plain => Value::constant(headrace_ir::Int::ZERO),
                LocalKind::Pattern | LocalKind::Parameter => Value::free(),
            };
            self.values.push(typed(value, &local.ty));
        }
        places
    }

    fn slot(&self, root: Root) -> usize {
        match root {
            Root::Actor(id) => id.index(),
            Root::Local(id) => self.frames.last().and_then(|frame| frame.get(id.index())).copied().unwrap_or(0),
        }
    }

    fn width_of(&self, id: VariableId) -> u32 {
        self.actor.variables[id.index()].ty.element.width()
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let value = self.expr(value);
                self.store(place, value, true);
            }
            StmtKind::Copy { target, source, .. } => {
                let value = self.load(source);
                let covers = self.len(target.root) <= self.len(source.root) && source.indices.is_empty();
                self.store(target, value, covers);
            }
            StmtKind::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                let before = self.values.clone();
                self.statements(then);
                let after_then = std::mem::replace(&mut self.values, before);
                self.statements(otherwise);
                self.join(after_then, &condition);
            }
            StmtKind::While { before, condition, body } => self.repeat(
                |walk| {
                    walk.statements(before);
                    walk.expr(condition)
                },
                body,
            ),
            StmtKind::Foreach { variable, low, high, body } => {
                let (low, high) = (self.expr(low), self.expr(high));
                let slot = self.slot(Root::Local(*variable));
                let mut counter = Value::any(&low, &high);
                let below = |high: u128| u128::MAX.checked_shr(high.leading_zeros()).unwrap_or(0);
                counter.ones = low.ones.zip(high.ones).map(|(_, high)| below(high));
                self.values[slot] = counter.clone();
                self.repeat(
                    |walk| {
                        walk.values[slot] = counter.clone();
                        counter.clone()
                    },
                    body,
                );
            }
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(*procedure, arguments);
                if let Some(local) = result {
                    let slot = self.slot(Root::Local(*local));
                    self.values[slot] = value;
                }
            }
            StmtKind::CallNative { result, arguments, .. } => {
                let mut given = Value::free();
                for argument in arguments {
                    let value = self.argument(argument);
                    given = Value::any(&given, &value);
                }
                for argument in arguments {
                    if let Argument::List(place) = argument {
                        self.store(place, given.clone(), false);
                    }
                }
                if let Some(local) = result {
                    let slot = self.slot(Root::Local(*local));
                    self.values[slot] = given;
                }
            }
            StmtKind::Print { .. } => {}
        }
    }

    /// A loop; `head` gives what decides whether there is another iteration.
    fn repeat(&mut self, mut head: impl FnMut(&mut Self) -> Value, body: &[Stmt]) {
        for iteration in 0.. {
            let before = self.values.clone();
            let condition = head(self);
            self.statements(body);
            self.join(before.clone(), &condition);
            if self.values == before || self.steps == 0 {
                return;
            }
            if iteration >= MAX_PASSES {
                for (value, before) in self.values.iter_mut().zip(before) {
                    if *value != before {
                        *value = Value::any(value, &before);
                    }
                }
            }
        }
    }

    /// Joins with what came of the other branch.
    fn join(&mut self, other: Vec<Value>, condition: &Value) {
        for (value, other) in self.values.iter_mut().zip(other) {
            if *value == other {
                continue;
            }
            *value = match restarted(value, &other, condition) {
                Some(counter) => counter,
                None if condition.on.is_empty() => value.join(&other),
                None => {
                    let joined = value.join(&other);
                    Value { ones: joined.ones, ..Value::any(&joined, condition) }
                }
            };
        }
    }

    fn len(&self, root: Root) -> usize {
        match root {
            Root::Actor(id) => self.actor.variables[id.index()].ty.len(),
            // Of locals it does not matter: they begin anew.
            Root::Local(_) => 1,
        }
    }

    fn store(&mut self, place: &Place, value: Value, covers: bool) {
        let slot = self.slot(place.root);
        let value = match self.index(place) {
            Some(index) if index.on.is_empty() => value,
            Some(index) => Value::any(&value, &index),
            None => value,
        };
        if place.indices.is_empty() && covers {
            self.values[slot] = value;
        } else {
            self.values[slot] = self.values[slot].element(&value);
        }
    }

    fn index(&mut self, place: &Place) -> Option<Value> {
        let mut joined: Option<Value> = None;
        for index in &place.indices {
            let value = self.expr(index);
            joined = Some(joined.map_or(value.clone(), |joined| Value::any(&joined, &value)));
        }
        joined
    }

    fn load(&mut self, place: &Place) -> Value {
        let index = self.index(place);
        let value = self.values[self.slot(place.root)].clone();
        match index {
            Some(index) if !index.on.is_empty() => Value { ones: value.ones, ..Value::any(&value, &index) },
            Some(_) if matches!(value.form, Form::Kept(_)) => Value { form: Form::Linear, ..value },
            _ => value,
        }
    }

    fn argument(&mut self, argument: &Argument) -> Value {
        match argument {
            Argument::Value(value) => self.expr(value),
            Argument::List(place) => self.load(place),
        }
    }

    fn call(&mut self, id: ProcedureId, arguments: &[Argument]) -> Value {
        if self.frames.len() > MAX_CALL_DEPTH {
            self.steps = 0;
            return Value::free();
        }
        let actor = self.actor;
        let Some(procedure) = actor.procedures.get(id.index()) else { return Value::free() };
        let height = self.values.len();
        let mut frame = Vec::new();
        let mut parts = Vec::new();
        for (argument, local) in arguments.iter().zip(&procedure.locals) {
            match argument {
                Argument::List(place) if place.indices.is_empty() => frame.push(self.slot(place.root)),
                Argument::List(place) => {
                    let value = self.load(place);
                    parts.push((place, self.values.len()));
                    frame.push(self.values.len());
                    self.values.push(value);
                }
                Argument::Value(value) => {
                    let value = typed(self.expr(value), &local.ty);
                    frame.push(self.values.len());
                    self.values.push(value);
                }
            }
        }
        let rest = self.locals(&procedure.locals, arguments.len());
        frame.extend(rest);
        self.frames.push(frame);
        self.statements(&procedure.body);
        let result = procedure.result.as_ref().map_or_else(Value::free, |(_, value)| self.expr(value));
        self.frames.pop();
        for (place, slot) in parts {
            let value = self.values[slot].clone();
            self.store(place, value, false);
        }
        self.values.truncate(height);
        result
    }

    fn expr(&mut self, expr: &Expr) -> Value {
        match &expr.kind {
            ExprKind::Int(value) => Value::constant(value.clone()),
            ExprKind::Bool(value) => Value::constant(headrace_ir::Int::from(i64::from(*value))),
            ExprKind::Real(..) | ExprKind::String(_) => Value::free(),
            ExprKind::Load(place) => self.load(place),
            ExprKind::Negate(a) => self.expr(a).negate(),
            ExprKind::Complement(a) => self.expr(a).complement(),
            ExprKind::Not(a) => self.expr(a).not(),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                Value::binary(*op, &a, &b)
            }
            ExprKind::ShiftLeft(ty, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                a.shift_left(&b).wrapped(ty.width, ty.signed, |id| self.width_of(id))
            }
            ExprKind::Wrap(ty, a) => {
                let value = self.expr(a);
                if value.known.as_ref().is_some_and(|known| known.fits(*ty)) {
                    return value;
                }
                value.wrapped(ty.width, ty.signed, |id| self.width_of(id))
            }
            ExprKind::Compare(_, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                a.compare(&b)
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let op = if matches!(expr.kind, ExprKind::And(..)) {
                    headrace_ir::BinaryOp::And
                } else {
                    headrace_ir::BinaryOp::Or
                };
                Value::binary(op, &a, &b).within(1, false)
            }
            ExprKind::If(condition, a, b) => {
                let (condition, a, b) = (self.expr(condition), self.expr(a), self.expr(b));
                if let Some(counter) = restarted(&a, &b, &condition) {
                    return counter;
                }
                if condition.on.is_empty() {
                    return a.join(&b);
                }
                // A bit of the state chooses between two values that it does not change otherwise.
                if a.form == Form::Free && b.form == Form::Free && condition.is_bit() {
                    let ones = a.ones.zip(b.ones).map(|(a, b)| a | b);
                    let chosen = condition.compare(&Value::constant(headrace_ir::Int::ZERO));
                    return Value { ones, ..chosen };
                }
                Value::any(&Value::any(&a, &b), &condition)
            }
            ExprKind::Call(procedure, arguments) => self.call(*procedure, arguments),
            ExprKind::IntToReal(_, a) | ExprKind::RealToReal(_, a) | ExprKind::RealNegate(a) => {
                let value = self.expr(a);
                Value::any(&value, &value)
            }
            ExprKind::RealBinary(_, _, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                Value::any(&a, &b)
            }
            ExprKind::Concat(operands) => {
                let mut all = Value::free();
                for operand in operands {
                    let value = self.expr(&operand.value);
                    all = Value::any(&all, &value);
                }
                all
            }
        }
    }
}

/// A counter that begins anew when it has come to its end: one branch counts, the other is a constant, and nothing but
/// the counter decides.
fn restarted(a: &Value, b: &Value, condition: &Value) -> Option<Value> {
    let counts = |counter: &Value, constant: &Value| match &counter.form {
        Form::Plus(variable, step) if *step != headrace_ir::Int::ZERO => {
            constant.known.is_some() && condition.is_closed && condition.on.iter().all(|on| on == variable)
        }
        _ => false,
    };
    let counter = if counts(a, b) { a } else { Some(b).filter(|b| counts(b, a))? };
    Some(Value { ones: a.ones.zip(b.ones).map(|(a, b)| a | b), known: None, ..counter.clone() })
}
