//! The verifier: whether a network keeps to what engines and targets rely on.
//!
//! Verified, for every network:
//!
//! 1. Instances name actors that exist; names of instances are unique, and every actor is instantiated.
//! 2. Connections end at ports that exist; no input port of an instance and no output of the network has two.
//! 3. Tokens convert along a connection: number to number, never to a narrower real; `bool` to `bool`.
//!
//! For every actor:
//!
//! 4. Types are proper: widths from 1 to [`MAX_WIDTH`], sizes of at least 1, at most [`MAX_LIST_ELEMENTS`] elements; no
//!    port is a `String`.
//! 5. Names of ports of one direction, of variables and of procedures are unique.
//! 6. Initial values have the shape of their type, and integers lie in its range.
//! 7. Every state's tests name actions and states that exist, no action twice; the initial state exists.
//! 8. Priorities are irreflexive and transitively closed.
//! 9. Patterns: one entry a port, at least one name; each local is of kind `Pattern`, bound once, of the type of the port
//!    (a list of the repeat count with `repeat`); initialisers consume nothing.
//! 10. Outputs: one entry a port, at least one value; scalars have just the type of the port, lists are one-dimensional,
//!     have at least the repeat count of elements and say when they need conversion.
//! 11. Guards write nothing but plain locals, print nothing themselves, and list just the pattern locals that they read.
//!     They may call natives, which are then called whenever the guard is tested.
//! 12. Parameters of a procedure are its first locals and no others; a function called in an expression is pure.
//!
//! For every statement and expression:
//!
//! 13. Identities lie in their tables.
//! 14. Scalar places are fully indexed, sub-lists are not over-indexed, indices are integers.
//! 15. Operands have the kind that the operator takes; branches of a choice have one kind; real operands have the format
//!     of the operator.
//! 16. What is stored in a scalar, passed by value, or is the result of a function needs no conversion: an integer
//!     surely fits, everything else is of that very type.
//! 17. Copies join lists of equal inner sizes, the outermost of the source being no larger, and say when they need
//!     conversion. Constants and parameters of patterns' ports are never written: only mutable variables and locals are.
//! 18. Lists are passed with exactly the type of the parameter.
//! 19. Loop variables are plain integer locals.

use crate::{
    Action, Actor, Argument, Expr, ExprKind, Local, LocalKind, MAX_LIST_ELEMENTS, MAX_SHIFT, MAX_WIDTH, Network,
    OutputValue, Place, ProcedureId, RealType, Root, Scalar, Stmt, StmtKind, Type, Value,
};
use crate::{CompareOp, Endpoint};
use std::collections::HashSet;

mod bounds;
mod roots;

use bounds::{Bounds, int_bounds};
use roots::{roots_of_expr, roots_of_stmt};

/// Everything in a network that is not as it must be; empty when all is well.
pub fn verify(network: &Network) -> Vec<String> {
    let mut problems = Vec::new();
    let mut used = vec![false; network.actors.len()];
    let mut names = HashSet::new();
    for instance in &network.instances {
        match used.get_mut(instance.actor.index()) {
            Some(used) => *used = true,
            None => {
                problems.push(format!("instance {}: no actor {}", instance.name, instance.actor.0));
                return problems;
            }
        }
        if !names.insert(&instance.name) {
            problems.push(format!("two instances are called {}", instance.name));
        }
    }
    for (actor, _) in network.actors.iter().zip(&used).filter(|(_, used)| !**used) {
        problems.push(format!("actor {} is never instantiated", actor.class));
    }
    connections(network, &mut problems);
    for actor in &network.actors {
        let mut checker = Checker { actor, problems: Vec::new(), place: String::new(), locals: &[], guard: false };
        checker.actor();
        problems.extend(checker.problems.into_iter().map(|problem| format!("actor {}: {problem}", actor.class)));
    }
    problems
}

fn connections(network: &Network, problems: &mut Vec<String>) {
    let mut targets = HashSet::new();
    for (at, connection) in network.connections.iter().enumerate() {
        let exists = |endpoint: Endpoint, source: bool| match endpoint {
            Endpoint::Boundary(port) => port < if source { network.inputs.len() } else { network.outputs.len() },
            Endpoint::Instance(instance, port) => network.instances.get(instance.index()).is_some_and(|_| {
                let actor = network.actor_of(instance);
                port < if source { actor.outputs.len() } else { actor.inputs.len() }
            }),
        };
        if !exists(connection.source, true) || !exists(connection.target, false) {
            problems.push(format!("connection {at}: an end does not exist"));
            continue;
        }
        if !targets.insert(connection.target) {
            problems.push(format!("connection {at}: its target has another connection"));
        }
        let mut from = network.source_port(connection).ty;
        for &to in connection.via.iter().chain([&network.target_port(connection).ty]) {
            if !converts(from, to) {
                problems.push(format!("connection {at}: {from} does not convert to {to}"));
            }
            from = to;
        }
    }
}

fn converts(from: Scalar, to: Scalar) -> bool {
    match (from, to) {
        (Scalar::Int(_), Scalar::Int(_) | Scalar::Real(_)) => true,
        (Scalar::Real(from), Scalar::Real(to)) => rank(from) <= rank(to),
        (Scalar::Bool, Scalar::Bool) | (Scalar::String, Scalar::String) => true,
        _ => false,
    }
}

fn rank(real: RealType) -> u8 {
    match real {
        RealType::Half => 0,
        RealType::Float => 1,
        RealType::Double => 2,
    }
}

/// The kind of an expression; for integers the narrowest type that surely holds it, or none when that is wider than any.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Int(Option<Bounds>),
    Bool,
    Real(RealType),
    String,
}

struct Checker<'a> {
    actor: &'a Actor,
    problems: Vec<String>,
    /// Where in the actor.
    place: String,
    locals: &'a [Local],
    guard: bool,
}

impl<'a> Checker<'a> {
    fn fail(&mut self, what: impl AsRef<str>) {
        self.problems.push(format!("{}: {}", self.place, what.as_ref()));
    }

    fn require(&mut self, holds: bool, what: &str) {
        if !holds {
            self.fail(what);
        }
    }

    fn actor(&mut self) {
        let actor = self.actor;
        for (direction, ports) in [("input", &actor.inputs), ("output", &actor.outputs)] {
            self.place = format!("{direction} ports");
            let mut names = HashSet::new();
            for port in ports {
                self.require(names.insert(&port.name), "a name occurs twice");
                self.proper(&Type::scalar(port.ty));
            }
        }
        let mut names = HashSet::new();
        for variable in &actor.variables {
            self.place = format!("variable {}", variable.name);
            self.require(names.insert(&variable.name), "the name occurs twice");
            if self.proper(&variable.ty) {
                self.value(&variable.initial, &variable.ty);
            }
        }
        for native in &actor.natives {
            self.place = format!("native {}", native.name);
            native.parameters.iter().for_each(|ty| {
                self.proper(ty);
            });
        }
        let mut names = HashSet::new();
        for procedure in &actor.procedures {
            self.place = format!("procedure {}", procedure.name);
            self.require(names.insert(&procedure.name), "the name occurs twice");
            self.locals = &procedure.locals;
            self.guard = false;
            for (at, local) in procedure.locals.iter().enumerate() {
                self.proper(&local.ty);
                let parameter = local.kind == LocalKind::Parameter;
                self.require(parameter == (at < procedure.n_parameters), "parameters are not the first locals");
                self.require(local.kind != LocalKind::Pattern, "a procedure has a pattern local");
            }
            self.block(&procedure.body);
            if let Some((scalar, result)) = &procedure.result {
                self.proper(&Type::scalar(*scalar));
                self.stored(result, *scalar);
            }
            self.require(!procedure.pure_function || procedure.result.is_some(), "a pure function has no result");
        }
        for action in actor.actions.iter().chain(&actor.initializers) {
            self.action(action);
        }
        for action in &actor.initializers {
            self.place = action.name.clone();
            self.require(action.consumes.is_empty(), "an initialiser consumes tokens");
        }
        self.schedule();
    }

    fn schedule(&mut self) {
        let actor = self.actor;
        let schedule = &actor.schedule;
        self.place = "schedule".to_string();
        self.require(schedule.initial.index() < schedule.states.len(), "there is no initial state");
        for state in &schedule.states {
            let mut seen = HashSet::new();
            for test in &state.tests {
                self.require(test.action.index() < actor.actions.len(), "a test has no action");
                self.require(test.next.index() < schedule.states.len(), "a test leads to no state");
                self.require(seen.insert(test.action), "a state tests an action twice");
            }
        }
        let pairs: HashSet<_> = actor.priorities.iter().copied().collect();
        for &(higher, lower) in &actor.priorities {
            let n = actor.actions.len();
            self.require(higher.index() < n && lower.index() < n, "a priority names no action");
            self.require(!pairs.contains(&(lower, higher)) && higher != lower, "priorities contradict one another");
        }
        if pairs.len() <= 1 << 12 {
            for &(a, b) in &actor.priorities {
                let mut next = actor.priorities.iter().filter(|(c, _)| *c == b);
                let closed = next.all(|&(_, d)| pairs.contains(&(a, d)));
                self.require(closed, "the priorities are not closed");
            }
        }
    }

    fn action(&mut self, action: &'a Action) {
        let actor = self.actor;
        self.place = format!("action {}", action.name);
        self.locals = &action.locals;
        let mut bound = HashSet::new();
        let mut ports = HashSet::new();
        for local in &action.locals {
            self.proper(&local.ty);
            self.require(local.kind != LocalKind::Parameter, "an action has a parameter");
        }
        for pattern in &action.consumes {
            let Some(port) = actor.inputs.get(pattern.port) else {
                self.fail("a pattern reads from no port");
                continue;
            };
            self.require(ports.insert(pattern.port), "a port is read twice");
            self.require(!pattern.locals.is_empty(), "a pattern binds nothing");
            self.require(pattern.repeat != Some(0), "a pattern repeats 0 times");
            let ty = Type { element: port.ty, dims: pattern.repeat.into_iter().collect() };
            for id in &pattern.locals {
                self.require(bound.insert(*id), "a local is bound twice");
                match action.locals.get(id.index()) {
                    Some(local) => {
                        self.require(local.kind == LocalKind::Pattern, "a bound local is no pattern local");
                        self.require(local.ty == ty, "a bound local is not of the type of the port");
                    }
                    None => self.fail("a pattern binds no local"),
                }
            }
        }
        for (at, local) in action.locals.iter().enumerate() {
            let is_bound = bound.contains(&crate::LocalId(at as u32));
            self.require(is_bound == (local.kind == LocalKind::Pattern), "a pattern local is not bound");
        }
        self.guard = true;
        self.block(&action.guard.before);
        for condition in &action.guard.conditions {
            let kind = self.expr(condition);
            self.require(kind == Kind::Bool, "a guard is no bool");
        }
        self.guard = false;
        self.peeks(action);
        self.block(&action.body);
        let mut ports = HashSet::new();
        for output in &action.produces {
            let Some(port) = actor.outputs.get(output.port) else {
                self.fail("an output has no port");
                continue;
            };
            self.require(ports.insert(output.port), "a port is written twice");
            self.require(!output.values.is_empty(), "an output has no values");
            for value in &output.values {
                match (value, output.repeat) {
                    (OutputValue::Scalar(value), None) => self.stored(value, port.ty),
                    (OutputValue::List { place, convert }, Some(repeat)) => {
                        let Some(ty) = self.place(place) else { continue };
                        let long = ty.dims.len() == 1 && repeat >= 1 && ty.dims[0] >= repeat;
                        self.require(long, "an output list has the wrong size");
                        self.conversion(ty.element, port.ty, *convert);
                    }
                    _ => self.fail("an output is a list without repeat, or a scalar with it"),
                }
            }
        }
    }

    fn peeks(&mut self, action: &Action) {
        let mut read = HashSet::new();
        for stmt in &action.guard.before {
            roots_of_stmt(stmt, &mut read);
        }
        for condition in &action.guard.conditions {
            roots_of_expr(condition, &mut read);
        }
        let patterns: HashSet<_> = read
            .into_iter()
            .filter(|id| action.locals.get(id.index()).is_some_and(|local| local.kind == LocalKind::Pattern))
            .collect();
        let listed: HashSet<_> = action.guard.peeks.iter().copied().collect();
        self.require(patterns == listed, "the guard's peeks are not what it reads");
    }

    fn proper(&mut self, ty: &Type) -> bool {
        let width = match ty.element {
            Scalar::Int(int) => (1..=MAX_WIDTH).contains(&int.width),
            _ => true,
        };
        let mut elements: u64 = 1;
        for &size in &ty.dims {
            elements = elements.saturating_mul(u64::from(size));
        }
        let fine = width && (1..=MAX_LIST_ELEMENTS).contains(&elements);
        self.require(fine, "a type is not proper");
        fine
    }

    fn value(&mut self, value: &Value, ty: &Type) {
        let scalar = |value: &Value| match (value, ty.element) {
            (Value::Bool(_), Scalar::Bool) | (Value::String(_), Scalar::String) => true,
            (Value::Real(value), Scalar::Real(real)) => {
                value.is_nan() || crate::eval::round_real(*value, real) == *value
            }
            (Value::Int(value), Scalar::Int(int)) => value.fits(int),
            _ => false,
        };
        let fine = match value {
            Value::List(values) => {
                ty.is_list() && (values.is_empty() || values.len() == ty.len()) && values.iter().all(scalar)
            }
            single => !ty.is_list() && scalar(single),
        };
        self.require(fine, "the initial value is not of the type");
    }

    fn block(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.stmt(stmt));
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.written(place);
                if let Some(ty) = self.place(place) {
                    self.require(!ty.is_list(), "a scalar is assigned to a list");
                    self.stored(value, ty.element);
                }
            }
            StmtKind::Copy { target, source, convert } => {
                self.written(target);
                let (Some(to), Some(from)) = (self.place(target), self.place(source)) else { return };
                let shapes = to.is_list()
                    && to.dims.len() == from.dims.len()
                    && to.dims[1..] == from.dims[1..]
                    && from.dims[0] <= to.dims[0];
                self.require(shapes, "a copy joins lists of different shapes");
                self.conversion(from.element, to.element, *convert);
            }
            StmtKind::If(condition, then, otherwise) => {
                let kind = self.expr(condition);
                self.require(kind == Kind::Bool, "a condition is no bool");
                self.block(then);
                self.block(otherwise);
            }
            StmtKind::While { before, condition, body } => {
                self.block(before);
                let kind = self.expr(condition);
                self.require(kind == Kind::Bool, "a condition is no bool");
                self.block(body);
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let fine = self.locals.get(variable.index()).is_some_and(|local| {
                    local.kind == LocalKind::Plain && !local.ty.is_list() && local.ty.element.as_int().is_some()
                });
                self.require(fine, "a loop variable is no plain integer local");
                for bound in [low, high] {
                    self.int(bound);
                }
                self.block(body);
            }
            StmtKind::Call { result, procedure, arguments } => {
                let Some(callee) = self.actor.procedures.get(procedure.index()) else {
                    return self.fail("a call of no procedure");
                };
                let types: Vec<&Type> = callee.locals.iter().take(callee.n_parameters).map(|local| &local.ty).collect();
                self.arguments(arguments, &types);
                self.result(*result, callee.result.as_ref().map(|(scalar, _)| *scalar));
            }
            StmtKind::CallNative { result, native, arguments } => {
                let Some(callee) = self.actor.natives.get(native.index()) else {
                    return self.fail("a call of no native");
                };
                let types: Vec<&Type> = callee.parameters.iter().collect();
                self.arguments(arguments, &types);
                self.result(*result, callee.result);
            }
            StmtKind::Print { pieces, .. } => {
                self.require(!self.guard, "a guard prints");
                for piece in pieces {
                    let kind = self.expr(&piece.value);
                    self.require(same_kind(kind, piece.kind), "a piece is not of its kind");
                }
            }
        }
    }

    fn result(&mut self, local: Option<crate::LocalId>, result: Option<Scalar>) {
        let Some(local) = local else { return };
        let ty = self.locals.get(local.index()).map(|local| &local.ty);
        let fine = matches!((ty, result), (Some(ty), Some(scalar)) if *ty == Type::scalar(scalar));
        self.require(fine, "the result of a call goes to a local of another type");
    }

    fn arguments(&mut self, arguments: &[Argument], types: &[&Type]) {
        self.require(arguments.len() == types.len(), "a call has the wrong number of arguments");
        for (argument, ty) in arguments.iter().zip(types) {
            match argument {
                Argument::Value(value) => {
                    self.require(!ty.is_list(), "a list parameter is given a scalar");
                    self.stored(value, ty.element);
                }
                Argument::List(place) => {
                    if let Some(own) = self.place(place) {
                        self.require(own == **ty, "a list is passed as another type");
                    }
                }
            }
        }
    }

    fn conversion(&mut self, from: Scalar, to: Scalar, convert: Option<Scalar>) {
        let fine = match convert {
            None => from == to,
            Some(scalar) => scalar == to && from != to && converts(from, to),
        };
        self.require(fine, "elements are not converted as they must be");
    }

    fn written(&mut self, place: &Place) {
        match place.root {
            Root::Actor(id) => {
                let mutable = self.actor.variables.get(id.index()).is_some_and(|variable| variable.mutable);
                self.require(mutable, "a constant is written");
                self.require(!self.guard, "a guard writes a variable");
            }
            Root::Local(id) => {
                let plain = self.locals.get(id.index()).is_some_and(|local| local.kind == LocalKind::Plain);
                self.require(!self.guard || plain, "a guard writes a pattern local");
            }
        }
    }

    /// The type of what lies at a place.
    fn place(&mut self, place: &Place) -> Option<Type> {
        let ty = match place.root {
            Root::Actor(id) => self.actor.variables.get(id.index()).map(|variable| &variable.ty),
            Root::Local(id) => self.locals.get(id.index()).map(|local| &local.ty),
        };
        let Some(ty) = ty else {
            self.fail("a place has no variable");
            return None;
        };
        if place.indices.len() > ty.dims.len() {
            self.fail("a place has too many indices");
            return None;
        }
        let after = ty.after_indices(place.indices.len());
        for index in &place.indices {
            self.int(index);
        }
        Some(after)
    }

    /// A value that goes to a scalar of a type as it is.
    fn stored(&mut self, value: &Expr, scalar: Scalar) {
        let kind = self.expr(value);
        let fine = match (kind, scalar) {
            (Kind::Int(Some(bounds)), Scalar::Int(int)) => match &value.kind {
                ExprKind::Int(value) => value.fits(int),
                _ => bounds.fits(int),
            },
            (kind, scalar) => same_kind(kind, scalar) && !matches!(kind, Kind::Int(_)),
        };
        self.require(fine, &format!("a value is stored as {scalar} without conversion"));
    }

    fn int(&mut self, expr: &Expr) -> Option<Bounds> {
        match self.expr(expr) {
            Kind::Int(bounds) => bounds,
            _ => {
                self.fail("an operand is no integer");
                None
            }
        }
    }

    fn boolean(&mut self, expr: &Expr) {
        let kind = self.expr(expr);
        self.require(kind == Kind::Bool, "an operand is no bool");
    }

    fn real(&mut self, expr: &Expr, real: Option<RealType>) {
        let fine = match self.expr(expr) {
            Kind::Real(own) => real.is_none_or(|real| own == real),
            _ => false,
        };
        self.require(fine, "an operand is no real of the right format");
    }

    fn expr(&mut self, expr: &Expr) -> Kind {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &Expr) -> Kind {
        match &expr.kind {
            ExprKind::Int(value) => Kind::Int(Some(Bounds::literal(value))),
            ExprKind::Bool(_) => Kind::Bool,
            ExprKind::Real(_, real) => Kind::Real(*real),
            ExprKind::String(_) => Kind::String,
            ExprKind::Load(place) => match self.place(place) {
                Some(ty) => {
                    self.require(!ty.is_list(), "a list is loaded as a scalar");
                    kind_of(ty.element)
                }
                None => Kind::Bool,
            },
            ExprKind::Negate(x) => {
                let bounds = self.int(x);
                Kind::Int(bounds.map(|x| Bounds { signed: true, width: x.width + 1 }))
            }
            ExprKind::Complement(x) => {
                let bounds = self.int(x);
                Kind::Int(bounds.map(|x| Bounds { signed: true, width: x.signed_width() }))
            }
            ExprKind::Not(x) => {
                self.boolean(x);
                Kind::Bool
            }
            ExprKind::Binary(op, x, y) => {
                let (x, y) = (self.int(x), self.int(y));
                Kind::Int(x.zip(y).map(|(x, y)| int_bounds(*op, x, y)))
            }
            ExprKind::ShiftLeft(ty, x, y) => {
                let (x, count) = (self.int(x), &y.kind);
                self.int(y);
                let exact = match (x, count) {
                    (Some(x), ExprKind::Int(count)) => {
                        let count = if count.is_negative() { Some(0) } else { count.to_u64() };
                        count
                            .filter(|&count| count < u64::from(ty.width))
                            .map(|count| Bounds { signed: x.signed, width: x.width + count })
                    }
                    // More is an error.
                    (Some(x), _) if ty.width > MAX_WIDTH => {
                        Some(Bounds { signed: x.signed, width: x.width + u64::from(MAX_SHIFT) })
                    }
                    _ => None,
                };
                Kind::Int(Some(exact.filter(|exact| exact.fits(*ty)).unwrap_or(Bounds::of(*ty))))
            }
            ExprKind::Wrap(ty, x) => {
                self.int(x);
                Kind::Int(Some(Bounds::of(*ty)))
            }
            ExprKind::Compare(op, x, y) => {
                let (a, b) = (self.expr(x), self.expr(y));
                let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                let fine = match (a, b) {
                    (Kind::Int(_), Kind::Int(_)) | (Kind::Real(_), Kind::Real(_)) => true,
                    (Kind::Bool, Kind::Bool) | (Kind::String, Kind::String) => equality,
                    _ => false,
                };
                self.require(fine, "operands are compared that cannot be");
                Kind::Bool
            }
            ExprKind::And(x, y) | ExprKind::Or(x, y) => {
                self.boolean(x);
                self.boolean(y);
                Kind::Bool
            }
            ExprKind::If(condition, then, otherwise) => {
                self.boolean(condition);
                match (self.expr(then), self.expr(otherwise)) {
                    (Kind::Int(a), Kind::Int(b)) => Kind::Int(a.zip(b).map(|(a, b)| a.union(b))),
                    (a, b) => {
                        self.require(a == b, "the branches of a choice differ in kind");
                        a
                    }
                }
            }
            ExprKind::Call(procedure, arguments) => self.call(*procedure, arguments),
            ExprKind::IntToReal(real, x) => {
                self.int(x);
                Kind::Real(*real)
            }
            ExprKind::RealToReal(real, x) => {
                self.real(x, None);
                Kind::Real(*real)
            }
            ExprKind::RealBinary(real, _, x, y) => {
                self.real(x, Some(*real));
                self.real(y, Some(*real));
                Kind::Real(*real)
            }
            ExprKind::RealNegate(x) => match self.expr(x) {
                Kind::Real(real) => Kind::Real(real),
                other => {
                    self.fail("an operand is no real");
                    other
                }
            },
            ExprKind::Concat(pieces) => {
                for piece in pieces {
                    let kind = self.expr(&piece.value);
                    self.require(same_kind(kind, piece.kind), "a piece is not of its kind");
                }
                Kind::String
            }
        }
    }

    fn call(&mut self, procedure: ProcedureId, arguments: &[Argument]) -> Kind {
        let Some(callee) = self.actor.procedures.get(procedure.index()) else {
            self.fail("a call of no function");
            return Kind::Bool;
        };
        self.require(callee.pure_function, "an expression calls what is no pure function");
        let types: Vec<&Type> = callee.locals.iter().take(callee.n_parameters).map(|local| &local.ty).collect();
        self.arguments(arguments, &types);
        callee.result.as_ref().map_or(Kind::Bool, |(scalar, _)| kind_of(*scalar))
    }
}

fn kind_of(scalar: Scalar) -> Kind {
    match scalar {
        Scalar::Bool => Kind::Bool,
        Scalar::Int(int) => Kind::Int(Some(Bounds::of(int))),
        Scalar::Real(real) => Kind::Real(real),
        Scalar::String => Kind::String,
    }
}

fn same_kind(kind: Kind, scalar: Scalar) -> bool {
    match (kind, scalar) {
        (Kind::Int(_), Scalar::Int(_)) | (Kind::Bool, Scalar::Bool) | (Kind::String, Scalar::String) => true,
        (Kind::Real(a), Scalar::Real(b)) => a == b,
        _ => false,
    }
}
