//! Which integers a variable can hold, for one actor as a whole.
//!
//! One interval is kept for each scalar, and one for all elements of a list, whatever the place in the program. It is
//! the least solution that the assignments of the actor allow, found by iterating from the initial values; what still
//! grows after a few rounds is widened to its type. So an index that was computed as `(x >> 24) & 0xff` is known to be
//! below 256 also when it went through an `int` variable.
//!
//! Every interval contains all values that an expression has when it is evaluated without error; where unchecked code
//! replaces the result of an error (a division by zero gives 0), that value is contained as well.

mod expression;
mod guards;
mod interval;

pub use expression::{of_expr, usual_count, with_counts_up_to};
pub use interval::{Interval, of_scalar};

use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, Guard, Int, Local, LocalKind, OutputValue, Place, Root, Scalar, Stmt,
    StmtKind, Type, Value,
};
use std::collections::BTreeSet;

/// The unit of code in which a local stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Position in [`Actor::actions`].
    Action(usize),
    /// Position in [`Actor::initializers`].
    Initializer(usize),
    /// Position in [`Actor::procedures`].
    Procedure(usize),
}

/// Intervals of the variables, locals and function results of an actor. `None`: nothing reaches it.
#[derive(Debug)]
pub struct Ranges {
    variables: Vec<Option<Interval>>,
    actions: Vec<Vec<Option<Interval>>>,
    initializers: Vec<Vec<Option<Interval>>>,
    procedures: Vec<Vec<Option<Interval>>>,
    results: Vec<Option<Interval>>,
}

/// Rounds of exact iteration before what still changes is widened to its type.
const EXACT_ROUNDS: usize = 5;

impl Ranges {
    /// Solves for an actor.
    pub fn of(actor: &Actor) -> Ranges {
        Self::solved(actor, false)
    }

    /// Solves for an actor whose actions are begun only where their guards hold, which then say something of what they read.
    pub fn with_guards(actor: &Actor) -> Ranges {
        Self::solved(actor, true)
    }

    fn solved(actor: &Actor, with_guards: bool) -> Ranges {
        let locals_of =
            |locals: &[Local], unit_is_action: bool, body: &dyn Fn(usize) -> bool| -> Vec<Option<Interval>> {
                locals
                    .iter()
                    .enumerate()
                    .map(|(at, local)| match local.kind {
                        LocalKind::Pattern if unit_is_action => Some(of_scalar(local.ty.element)),
                        LocalKind::Pattern | LocalKind::Parameter => None,
                        LocalKind::Plain if body(at) => None,
                        LocalKind::Plain => Some(Interval::of(Int::ZERO)),
                    })
                    .collect()
            };
        let action_locals = |action: &Action| {
            locals_of(&action.locals, true, &|at| crate::assigned::assigned_first_in_action(action, at))
        };
        let mut ranges = Ranges {
            variables: actor
                .variables
                .iter()
                .map(|variable| Some(of_value(&variable.initial, variable.ty.element)))
                .collect(),
            actions: actor.actions.iter().map(action_locals).collect(),
            initializers: actor.initializers.iter().map(action_locals).collect(),
            procedures: actor
                .procedures
                .iter()
                .map(|procedure| {
                    locals_of(&procedure.locals, false, &|at| {
                        crate::assigned::assigned_first_in_procedure(procedure, at)
                    })
                })
                .collect(),
            results: vec![None; actor.procedures.len()],
        };
        let mut round = 0;
        let thresholds = with_guards.then(|| guards::thresholds(actor));
        loop {
            let mut solver = Solver {
                actor,
                ranges: &mut ranges,
                changed: false,
                widen: round >= EXACT_ROUNDS,
                thresholds: thresholds.as_deref(),
                held: guards::Bounds::new(),
            };
            solver.round();
            if !solver.changed {
                break;
            }
            round += 1;
        }
        ranges
    }

    /// Values of an actor variable, or of the elements of a list.
    pub fn variable(&self, at: usize, scalar: Scalar) -> Interval {
        self.variables[at].clone().unwrap_or_else(|| of_scalar(scalar))
    }

    /// Values of a local, or of the elements of a list.
    pub fn local(&self, unit: Unit, at: usize, scalar: Scalar) -> Interval {
        self.slot(unit)[at].clone().unwrap_or_else(|| of_scalar(scalar))
    }

    /// Values that a function returns.
    pub fn result(&self, at: usize, scalar: Scalar) -> Interval {
        self.results[at].clone().unwrap_or_else(|| of_scalar(scalar))
    }

    fn slot(&self, unit: Unit) -> &[Option<Interval>] {
        match unit {
            Unit::Action(at) => &self.actions[at],
            Unit::Initializer(at) => &self.initializers[at],
            Unit::Procedure(at) => &self.procedures[at],
        }
    }

    fn slot_mut(&mut self, unit: Unit) -> &mut Vec<Option<Interval>> {
        match unit {
            Unit::Action(at) => &mut self.actions[at],
            Unit::Initializer(at) => &mut self.initializers[at],
            Unit::Procedure(at) => &mut self.procedures[at],
        }
    }
}

fn of_value(value: &Value, scalar: Scalar) -> Interval {
    match value {
        Value::Int(int) => Interval::of(int.clone()),
        Value::List(values) => {
            let mut values = values.iter();
            let Some(first) = values.next() else { return of_value(&Value::zero(&Type::scalar(scalar)), scalar) };
            let mut all = of_value(first, scalar);
            for value in values {
                if let Value::Int(int) = value {
                    if *int < all.low {
                        all.low = int.clone();
                    } else if *int > all.high {
                        all.high = int.clone();
                    }
                }
            }
            all
        }
        Value::Bool(_) | Value::Real(_) | Value::String(_) => of_scalar(scalar),
    }
}

struct Solver<'a> {
    actor: &'a Actor,
    ranges: &'a mut Ranges,
    changed: bool,
    widen: bool,
    /// Where guards count: numbers that they compare each variable with,
    thresholds: Option<&'a [BTreeSet<Int>]>,
    /// and what they say of variables that have not been assigned since.
    held: guards::Bounds,
}

impl Solver<'_> {
    fn round(&mut self) {
        let actor = self.actor;
        for (at, procedure) in actor.procedures.iter().enumerate() {
            let unit = Unit::Procedure(at);
            self.block(unit, &procedure.locals, &procedure.body);
            let Some((scalar, value)) = &procedure.result else { continue };
            // Also for its own sake: it may call others.
            let range = self.expr(unit, &procedure.locals, value);
            if let Some(range) = range.filter(|_| matches!(scalar, Scalar::Int(_))) {
                let old = self.ranges.results[at].clone();
                if let Some(new) = grown(old.as_ref(), &range, *scalar, self.widen) {
                    self.ranges.results[at] = Some(new);
                    self.changed = true;
                }
            }
        }
        for (at, action) in actor.initializers.iter().enumerate() {
            self.action(Unit::Initializer(at), action);
        }
        for (at, action) in actor.actions.iter().enumerate() {
            self.action(Unit::Action(at), action);
        }
    }

    fn action(&mut self, unit: Unit, action: &Action) {
        let Guard { before, conditions, .. } = &action.guard;
        self.block(unit, &action.locals, before);
        for condition in conditions {
            self.expr(unit, &action.locals, condition);
        }
        if self.thresholds.is_some() {
            self.held = guards::bounds(action);
        }
        self.block(unit, &action.locals, &action.body);
        for output in &action.produces {
            for value in &output.values {
                match value {
                    OutputValue::Scalar(value) => {
                        self.expr(unit, &action.locals, value);
                    }
                    OutputValue::List { place, .. } => self.indices(unit, &action.locals, place),
                }
            }
        }
        self.held.clear();
    }

    /// What guards say is forgotten of what these statements may assign.
    fn forget(&mut self, statements: &[Stmt]) {
        if self.held.is_empty() {
            return;
        }
        match guards::assigned(statements) {
            Some(all) => self.held.retain(|variable, _| !all.contains(variable)),
            None => self.held.clear(),
        }
    }

    fn grow(&mut self, unit: Unit, locals: &[Local], root: Root, range: Option<Interval>) {
        let Some(range) = range else { return };
        let ty = root_type(self.actor, locals, root).element;
        if !matches!(ty, Scalar::Int(_)) {
            return;
        }
        let widen = self.widen;
        let thresholds = match root {
            Root::Actor(variable) => self.thresholds.and_then(|all| all.get(variable.index())),
            Root::Local(_) => None,
        };
        let slot = match root {
            Root::Actor(variable) => &mut self.ranges.variables[variable.index()],
            Root::Local(local) => &mut self.ranges.slot_mut(unit)[local.index()],
        };
        if let Some(new) = grown(slot.as_ref(), &range, ty, widen) {
            let stepwise = thresholds.filter(|_| widen).map(|thresholds| {
                let all = slot.as_ref().map_or(range.clone(), |old| old.join(&range));
                guards::widened(&all, thresholds, &of_scalar(ty))
            });
            *slot = Some(stepwise.unwrap_or(new));
            self.changed = true;
        }
    }

    fn root(&self, unit: Unit, root: Root) -> Option<Interval> {
        match root {
            Root::Actor(variable) => {
                let all = self.ranges.variables[variable.index()].as_ref()?;
                match self.held.get(&variable.index()) {
                    Some(bounds) => guards::narrowed(all, bounds),
                    None => Some(all.clone()),
                }
            }
            Root::Local(local) => self.ranges.slot(unit)[local.index()].clone(),
        }
    }

    fn indices(&mut self, unit: Unit, locals: &[Local], place: &Place) {
        for index in &place.indices {
            self.expr(unit, locals, index);
        }
    }

    fn block(&mut self, unit: Unit, locals: &[Local], statements: &[Stmt]) {
        for statement in statements {
            // A loop comes back to what it has assigned.
            if let StmtKind::While { .. } | StmtKind::Foreach { .. } = statement.kind {
                self.forget(std::slice::from_ref(statement));
            }
            let held = self.held.clone();
            self.statement(unit, locals, statement);
            self.held = held;
            self.forget(std::slice::from_ref(statement));
        }
    }

    fn statement(&mut self, unit: Unit, locals: &[Local], statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                self.indices(unit, locals, place);
                let range = self.expr(unit, locals, value);
                self.grow(unit, locals, place.root, range);
            }
            StmtKind::Copy { target, source, convert } => {
                self.indices(unit, locals, source);
                self.indices(unit, locals, target);
                let range = self.root(unit, source.root).map(|range| match convert {
                    Some(Scalar::Int(ty)) => range.wrap(*ty),
                    _ => range,
                });
                self.grow(unit, locals, target.root, range);
            }
            StmtKind::If(condition, yes, no) => {
                self.expr(unit, locals, condition);
                let held = self.held.clone();
                self.block(unit, locals, yes);
                self.held = held;
                self.block(unit, locals, no);
            }
            StmtKind::While { before, condition, body } => {
                self.block(unit, locals, before);
                self.expr(unit, locals, condition);
                self.block(unit, locals, body);
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let low = self.expr(unit, locals, low);
                let high = self.expr(unit, locals, high);
                if let (Some(low), Some(high), Some(local)) = (low, high, locals.get(variable.index()))
                    && let Scalar::Int(ty) = local.ty.element
                {
                    // From low up to high, both ends as wrapped as they come.
                    let range = if low.low <= high.high {
                        Interval { low: low.low.clone(), high: high.high.clone() }.wrap(ty)
                    } else {
                        low.wrap(ty)
                    };
                    self.grow(unit, locals, Root::Local(*variable), Some(range));
                    // An assignment in the body may take it below low, from where it counts up to high again.
                }
                self.block(unit, locals, body);
            }
            StmtKind::Call { result, procedure, arguments } => {
                self.call(unit, locals, procedure.index(), arguments);
                if let Some(result) = result {
                    let range = self.ranges.results[procedure.index()].clone();
                    self.grow(unit, locals, Root::Local(*result), range);
                }
            }
            StmtKind::CallNative { result, native, arguments } => {
                let native = &self.actor.natives[native.index()];
                for argument in arguments {
                    match argument {
                        Argument::Value(value) => {
                            self.expr(unit, locals, value);
                        }
                        Argument::List(place) => {
                            self.indices(unit, locals, place);
                            let element = root_type(self.actor, locals, place.root).element;
                            self.grow(unit, locals, place.root, Some(of_scalar(element)));
                        }
                    }
                }
                if let (Some(result), Some(scalar)) = (result, native.result) {
                    self.grow(unit, locals, Root::Local(*result), Some(of_scalar(scalar)));
                }
            }
            StmtKind::Print { pieces, .. } => {
                for piece in pieces {
                    self.expr(unit, locals, &piece.value);
                }
            }
        }
    }

    fn call(&mut self, unit: Unit, locals: &[Local], procedure: usize, arguments: &[Argument]) {
        let callee = &self.actor.procedures[procedure];
        let callee_unit = Unit::Procedure(procedure);
        for (at, argument) in arguments.iter().enumerate() {
            let parameter = Root::Local(headrace_ir::LocalId(at as u32));
            match argument {
                Argument::Value(value) => {
                    let range = self.expr(unit, locals, value);
                    self.grow(callee_unit, &callee.locals, parameter, range);
                }
                Argument::List(place) => {
                    self.indices(unit, locals, place);
                    let given = self.root(unit, place.root);
                    self.grow(callee_unit, &callee.locals, parameter, given);
                    let filled = self.root(callee_unit, parameter);
                    if root_mutable(self.actor, place.root) {
                        self.grow(unit, locals, place.root, filled);
                    }
                }
            }
        }
    }

    fn expr(&mut self, unit: Unit, locals: &[Local], expr: &Expr) -> Option<Interval> {
        match &expr.kind {
            ExprKind::Int(value) => Some(Interval::of(value.clone())),
            ExprKind::Bool(_) => Some(of_scalar(Scalar::Bool)),
            ExprKind::Real(..) | ExprKind::String(_) => Some(Interval::of(Int::ZERO)),
            ExprKind::Load(place) => {
                self.indices(unit, locals, place);
                self.root(unit, place.root)
            }
            ExprKind::Negate(x) => self.expr(unit, locals, x).map(|x| x.negate()),
            ExprKind::Complement(x) => self.expr(unit, locals, x).map(|x| x.complement()),
            ExprKind::Wrap(ty, x) => self.expr(unit, locals, x).map(|x| x.wrap(*ty)),
            ExprKind::Binary(op, a, b) => {
                let a = self.expr(unit, locals, a);
                let b = self.expr(unit, locals, b);
                Some(Interval::binary(*op, &a?, &b?))
            }
            ExprKind::ShiftLeft(ty, a, b) => {
                let a = self.expr(unit, locals, a);
                let b = self.expr(unit, locals, b);
                Some(a?.shift_left(&b?, *ty))
            }
            ExprKind::Not(x) | ExprKind::IntToReal(_, x) | ExprKind::RealToReal(_, x) | ExprKind::RealNegate(x) => {
                self.expr(unit, locals, x);
                Some(of_scalar(Scalar::Bool))
            }
            ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::RealBinary(_, _, a, b) => {
                self.expr(unit, locals, a);
                self.expr(unit, locals, b);
                Some(of_scalar(Scalar::Bool))
            }
            ExprKind::If(condition, a, b) => {
                self.expr(unit, locals, condition);
                let a = self.expr(unit, locals, a);
                let b = self.expr(unit, locals, b);
                match (a, b) {
                    (Some(a), Some(b)) => Some(a.join(&b)),
                    (a, b) => a.or(b),
                }
            }
            ExprKind::Call(procedure, arguments) => {
                self.call(unit, locals, procedure.index(), arguments);
                match &self.actor.procedures[procedure.index()].result {
                    Some((Scalar::Int(_), _)) => self.ranges.results[procedure.index()].clone(),
                    _ => Some(of_scalar(Scalar::Bool)),
                }
            }
            ExprKind::Concat(pieces) => {
                for piece in pieces {
                    self.expr(unit, locals, &piece.value);
                }
                Some(of_scalar(Scalar::Bool))
            }
        }
    }
}

fn grown(old: Option<&Interval>, range: &Interval, scalar: Scalar, widen: bool) -> Option<Interval> {
    match old {
        Some(old) if range.within(old) => None,
        _ if widen => Some(of_scalar(scalar)),
        Some(old) => Some(old.join(range)),
        None => Some(range.clone()),
    }
}

/// True when something may write the variable at the root of a place.
fn root_mutable(actor: &Actor, root: Root) -> bool {
    match root {
        Root::Actor(variable) => actor.variables[variable.index()].mutable,
        Root::Local(_) => true,
    }
}

/// The type of the variable at the root of a place.
pub fn root_type<'a>(actor: &'a Actor, locals: &'a [Local], root: Root) -> &'a Type {
    match root {
        Root::Actor(variable) => &actor.variables[variable.index()].ty,
        Root::Local(local) => &locals[local.index()].ty,
    }
}
