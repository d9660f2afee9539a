//! How much work an action is, and how much of it each instance of a network does.
//!
//! Work is counted in operations of the representation: an operator, a load, a store, a test. Loops with constant
//! bounds count as often as they run; of the branches of an `if` the heavier one counts; where the number of iterations
//! depends on values, [`UNKNOWN_PASSES`] are assumed. A firing counts [`FIRING`] on top, for what the scheduler tests.
//!
//! How often an action fires follows from the program only where its rates do; otherwise it is counted in a run and
//! handed in. Example: an action that copies 64 tokens in a `foreach` is some 64 · 4 operations; fired 1000 times
//! beside an actor that fires 1000 times with one addition, it is nearly all of the work.
//!
//! Limits: a compiler may shorten what is counted here, and one operation can cost more than another. The numbers serve
//! to compare instances, not to predict times.

use headrace_ir::{
    Action, Actor, Argument, BinaryOp, Connection, Endpoint, Expr, ExprKind, Int, LocalId, Network, OutputValue, Place,
    PrintOperand, ProcedureId, Root, Stmt, StmtKind, Value,
};
use std::cell::RefCell;

/// Iterations assumed of a loop whose bounds are not constant.
pub const UNKNOWN_PASSES: u64 = 8;

/// Operations that a firing takes beside those of its action.
pub const FIRING: u64 = 12;

/// Work of one firing of an action, in operations.
pub fn of_action(actor: &Actor, action: &Action) -> u64 {
    of_action_with(&Counter::of(actor), action)
}

fn of_action_with(counter: &Counter, action: &Action) -> u64 {
    let guard: u64 =
        action.guard.conditions.iter().map(|condition| counter.expr(condition)).fold(0, u64::saturating_add);
    let outputs = action.produces.iter().flat_map(|output| &output.values).map(|value| match value {
        OutputValue::Scalar(value) => counter.expr(value),
        OutputValue::List { place, .. } => counter.place(place),
    });
    let moved: u64 = action.consumes.iter().map(headrace_ir::Pattern::tokens).sum::<u64>()
        + action.produces.iter().map(headrace_ir::Output::tokens).sum::<u64>();
    let parts = [FIRING, guard, counter.block(&action.guard.before), counter.block(&action.body), moved];
    outputs.chain(parts).fold(0, u64::saturating_add)
}

/// Work of each instance when its actions fire so often, in operations. Without firings of any action in the whole
/// network, each action of each instance counts once.
pub fn of_instances(network: &Network, firings: &[Vec<u64>]) -> Vec<u64> {
    let known = firings.iter().flatten().any(|&count| count > 0);
    let costs: Vec<Vec<u64>> = network
        .actors
        .iter()
        .map(|actor| {
            let counter = Counter::of(actor);
            actor.actions.iter().map(|action| of_action_with(&counter, action)).collect()
        })
        .collect();
    let instances = network.instances.iter().enumerate();
    instances
        .map(|(at, instance)| {
            let costs = costs.get(instance.actor.index()).map_or(&[][..], Vec::as_slice);
            let each = costs.iter().enumerate().map(|(action, &cost)| {
                let count = firings.get(at).and_then(|counts| counts.get(action)).copied().unwrap_or(0);
                cost.saturating_mul(if known { count } else { 1 })
            });
            each.fold(0, u64::saturating_add)
        })
        .collect()
}

/// Tokens that go through each connection when actions fire so often; what comes from the boundary is counted where it
/// is consumed. Without firings of any action, each action counts once.
pub fn of_connections(network: &Network, firings: &[Vec<u64>]) -> Vec<u64> {
    let known = firings.iter().flatten().any(|&count| count > 0);
    let count = |instance: headrace_ir::InstanceId, tokens: &dyn Fn(&Action) -> u64| -> u64 {
        let actions = network.actor_of(instance).actions.iter().enumerate();
        actions
            .map(|(at, action)| {
                let counted = firings.get(instance.index()).and_then(|counts| counts.get(at)).copied().unwrap_or(0);
                tokens(action).saturating_mul(if known { counted } else { 1 })
            })
            .fold(0, u64::saturating_add)
    };
    let through = |connection: &Connection| match (connection.source, connection.target) {
        (Endpoint::Instance(instance, port), _) => count(instance, &|action| action.produced(port)),
        (_, Endpoint::Instance(instance, port)) => count(instance, &|action| action.consumed(port)),
        _ => 0,
    };
    network.connections.iter().map(through).collect()
}

struct Counter<'a> {
    actor: &'a Actor,
    /// What each procedure takes, once it is known. One that is being counted calls itself: that call counts for
    /// nothing.
    procedures: RefCell<Vec<Option<u64>>>,
}

impl<'a> Counter<'a> {
    fn of(actor: &'a Actor) -> Self {
        Self { actor, procedures: RefCell::new(vec![None; actor.procedures.len()]) }
    }
}

impl Counter<'_> {
    fn block(&self, statements: &[Stmt]) -> u64 {
        statements.iter().map(|statement| self.statement(statement)).fold(0, u64::saturating_add)
    }

    fn statement(&self, statement: &Stmt) -> u64 {
        match &statement.kind {
            StmtKind::Assign(place, value) => self.place(place).saturating_add(self.expr(value)),
            StmtKind::Copy { target, source, .. } => {
                let elements = self.elements(source);
                self.place(target).saturating_add(self.place(source)).saturating_add(elements)
            }
            StmtKind::If(condition, yes, no) => self.expr(condition) + self.block(yes).max(self.block(no)),
            StmtKind::While { before, condition, body } => {
                let iteration =
                    self.block(before).saturating_add(self.expr(condition)).saturating_add(self.block(body));
                iteration.saturating_mul(UNKNOWN_PASSES)
            }
            StmtKind::Foreach { low, high, body, .. } => {
                let iterations = match (self.constant(low), self.constant(high)) {
                    (Some(low), Some(high)) => u64::try_from(high.saturating_sub(low).saturating_add(1)).unwrap_or(0),
                    _ => UNKNOWN_PASSES,
                };
                self.block(body).saturating_add(2).saturating_mul(iterations).saturating_add(2)
            }
            StmtKind::Call { procedure, arguments, .. } => self.call(*procedure, arguments),
            StmtKind::CallNative { arguments, .. } => self.arguments(arguments).saturating_add(32),
            StmtKind::Print { pieces, .. } => pieces.iter().map(|piece| 32 + self.expr(&piece.value)).sum(),
        }
    }

    fn call(&self, procedure: ProcedureId, arguments: &[Argument]) -> u64 {
        let given = self.arguments(arguments).saturating_add(2);
        let at = procedure.index();
        let known = self.procedures.borrow().get(at).copied().flatten();
        let inner = known.unwrap_or_else(|| {
            let Some(procedure) = self.actor.procedures.get(at) else { return 0 };
            self.procedures.borrow_mut()[at] = Some(0);
            let result = procedure.result.as_ref().map_or(0, |(_, value)| self.expr(value));
            let cost = self.block(&procedure.body).saturating_add(result);
            self.procedures.borrow_mut()[at] = Some(cost);
            cost
        });
        given.saturating_add(inner)
    }

    fn arguments(&self, arguments: &[Argument]) -> u64 {
        let each = arguments.iter().map(|argument| match argument {
            Argument::Value(value) => self.expr(value),
            Argument::List(place) => self.place(place),
        });
        each.fold(0, u64::saturating_add)
    }

    fn place(&self, place: &Place) -> u64 {
        place.indices.iter().map(|index| self.expr(index)).fold(1, u64::saturating_add)
    }

    /// Elements of a list of which a place is a part; of locals the size is not looked up.
    fn elements(&self, place: &Place) -> u64 {
        match place.root {
            Root::Actor(variable) => self.actor.variables.get(variable.index()).map_or(1, |variable| {
                let dims = variable.ty.dims.iter().skip(place.indices.len());
                dims.map(|&size| u64::from(size)).fold(1, u64::saturating_mul)
            }),
            Root::Local(LocalId(_)) => UNKNOWN_PASSES,
        }
    }

    fn expr(&self, expr: &Expr) -> u64 {
        let two = |a: &Expr, b: &Expr| self.expr(a).saturating_add(self.expr(b)).saturating_add(1);
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => 0,
            ExprKind::Load(place) => self.place(place),
            // Conversions mostly come for nothing.
            ExprKind::Wrap(_, a) => self.expr(a),
            ExprKind::Negate(a)
            | ExprKind::Complement(a)
            | ExprKind::Not(a)
            | ExprKind::IntToReal(_, a)
            | ExprKind::RealToReal(_, a)
            | ExprKind::RealNegate(a) => self.expr(a).saturating_add(1),
            ExprKind::Binary(_, a, b)
            | ExprKind::ShiftLeft(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::RealBinary(_, _, a, b) => two(a, b),
            ExprKind::If(condition, yes, no) => {
                self.expr(condition).saturating_add(self.expr(yes).max(self.expr(no))).saturating_add(1)
            }
            ExprKind::Call(procedure, arguments) => self.call(*procedure, arguments),
            ExprKind::Concat(operands) => {
                operands.iter().map(|PrintOperand { value, .. }| 16 + self.expr(value)).fold(0, u64::saturating_add)
            }
        }
    }

    /// The value of an expression over literals and constants of the actor.
    fn constant(&self, expr: &Expr) -> Option<i64> {
        match &expr.kind {
            ExprKind::Int(value) => small(value),
            ExprKind::Load(place) if place.indices.is_empty() => match place.root {
                Root::Actor(variable) => {
                    let variable = self.actor.variables.get(variable.index())?;
                    match &variable.initial {
                        Value::Int(value) if !variable.mutable => small(value),
                        _ => None,
                    }
                }
                Root::Local(_) => None,
            },
            ExprKind::Wrap(_, inner) => self.constant(inner),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    BinaryOp::Div => a.checked_div(b),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

fn small(value: &Int) -> Option<i64> {
    value.to_i64()
}
