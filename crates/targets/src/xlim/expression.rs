//! Lowering of expressions to XLIM operations. Places and expressions.

use super::value::{Binding, List, Printer, StateKey, Val};
use headrace_ir::{Argument, BinaryOp, Expr, ExprKind, Int, IntType, Place, Root, Scalar, Value, VariableId};
use headrace_source::Span;

/// Whether an expression can be computed where the program does not get to it: nothing in it fails or takes long.
fn is_total(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(..) => false,
        ExprKind::Load(place) => {
            place.indices.iter().all(|index| matches!(&index.kind, ExprKind::Int(index) if !index.is_negative()))
        }
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod | BinaryOp::ShiftRight, left, right)
        | ExprKind::ShiftLeft(_, left, right) => {
            let positive = |right: &Expr| matches!(&right.kind, ExprKind::Int(n) if *n > Int::ZERO);
            is_total(left) && positive(right)
        }
        _ => expr.parts().into_iter().all(is_total),
    }
}

impl<'a> Printer<'a> {
    /// The state variable for a key, which is declared once it is asked for.
    pub(super) fn state(&mut self, key: StateKey) -> String {
        if let Some(name) = self.states.get(&key) {
            return name.clone();
        }
        let wanted = match key {
            StateKey::Variable(id) => self.actor.variables[id.index()].name.clone(),
            StateKey::Local(owner, local) => {
                let frame = self.frames.iter().rev().find(|frame| frame.owner == owner);
                let local = frame.map_or("list", |frame| frame.locals[local.index()].name.as_str());
                format!("{}.{local}", self.owner_name(owner))
            }
            StateKey::Fsm => "currentState".to_owned(),
        };
        // What values are called has a `$` in it, what states are called has none.
        let wanted = super::value::escaped(&wanted.replace('$', "_"));
        let mut name = wanted.clone();
        let mut number = 1;
        while self.states.values().any(|taken| *taken == name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        self.states.insert(key, name.clone());
        name
    }

    /// The same for an operation that reads or changes it.
    pub(super) fn used_state(&mut self, key: StateKey) -> String {
        let name = self.state(key);
        self.used.insert(name.clone());
        name
    }

    /// The part of a list, or the list, that a place means.
    pub(super) fn list(&mut self, place: &'a Place) -> List {
        let mut list = match place.root {
            Root::Actor(id) => {
                let variable = &self.actor.variables[id.index()];
                List {
                    state: self.state(StateKey::Variable(id)),
                    offset: Val::int(Int::ZERO),
                    dims: variable.ty.dims.clone(),
                    element: variable.ty.element,
                    constant: (!variable.mutable).then_some(id),
                }
            }
            Root::Local(id) => match self.frames.last().map(|frame| &frame.bindings[id.index()]) {
                Some(Binding::List(list)) => list.clone(),
                _ => {
                    self.unsupported(place.span, "this place", "report it");
                    let dims = vec![1; place.indices.len()];
                    List {
                        state: String::new(),
                        offset: Val::int(Int::ZERO),
                        dims,
                        element: Scalar::Bool,
                        constant: None,
                    }
                }
            },
        };
        for index in &place.indices {
            let index = self.expr(index);
            list.dims.remove(0);
            let stride = Val::int(Int::from(list.len()));
            let step = self.binary(BinaryOp::Mul, index, stride);
            list.offset = self.binary(BinaryOp::Add, list.offset, step);
        }
        list
    }

    fn initial(&self, id: VariableId, at: usize) -> Option<Val> {
        let variable = &self.actor.variables[id.index()];
        let initial = variable.whole_initial();
        let value = match &*initial {
            Value::List(values) => values.get(at)?,
            scalar => scalar,
        };
        match value {
            Value::Int(value) => Some(Val::constant(value.clone(), variable.ty.element)),
            Value::Bool(value) => Some(Val::bool(*value)),
            _ => None,
        }
    }

    /// The element of a list that lies `at` behind its beginning.
    pub(super) fn element(&mut self, list: &List, at: Val) -> Val {
        let index = self.binary(BinaryOp::Add, list.offset.clone(), at);
        if let (Some(id), Some(at)) = (list.constant, index.known().and_then(Int::to_u64))
            && let Some(value) = usize::try_from(at).ok().and_then(|at| self.initial(id, at))
        {
            return value;
        }
        let name = format!(" name=\"{}\"", list.state);
        self.used.insert(list.state.clone());
        self.operation("var_ref", &name, &[&index], Some(("e", list.element)))
    }

    /// Stores an element that lies `at` behind the beginning of a list.
    pub(super) fn store_element(&mut self, list: &List, at: Val, value: Val) {
        let index = self.binary(BinaryOp::Add, list.offset.clone(), at);
        let value = self.cast(value, list.element);
        self.used.insert(list.state.clone());
        self.operation("assign", &format!(" target=\"{}\"", list.state), &[&index, &value], None);
    }

    fn load(&mut self, place: &'a Place) -> Val {
        match place.root {
            _ if !place.indices.is_empty() => {
                let mut list = self.list(place);
                let at = std::mem::replace(&mut list.offset, Val::int(Int::ZERO));
                self.element(&list, at)
            }
            Root::Local(id) => match self.frames.last().map(|frame| &frame.bindings[id.index()]) {
                Some(Binding::Scalar(val)) => val.clone(),
                _ => Val::bool(false),
            },
            Root::Actor(id) => {
                let variable = &self.actor.variables[id.index()];
                let ty = self.checked(variable.ty.element, place.span);
                if let Some(known) = self.initial(id, 0).filter(|_| !variable.mutable) {
                    return known;
                }
                let state = self.used_state(StateKey::Variable(id));
                self.operation_on("noop", "", &[state], Some((&variable.name, ty)))
            }
        }
    }

    /// A type that the format has; others are told of, and stand as bool.
    pub(super) fn checked(&mut self, ty: Scalar, span: Span) -> Scalar {
        match ty {
            Scalar::Bool | Scalar::Int(_) => ty,
            Scalar::Real(_) => {
                self.unsupported(span, "numbers of type real", "compute with integers, or use another target");
                Scalar::Bool
            }
            Scalar::String => {
                self.unsupported(span, "strings", "take them out, or use another target");
                Scalar::Bool
            }
        }
    }

    /// The value of an expression: exact where the representation says so.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Val {
        stacker::maybe_grow(128 << 10, 1 << 20, || self.expr_of(expr))
    }

    fn expr_of(&mut self, expr: &'a Expr) -> Val {
        if self.is_too_long(expr.span) {
            return Val::bool(false);
        }
        match &expr.kind {
            ExprKind::Int(value) => Val::int(value.clone()),
            ExprKind::Bool(value) => Val::bool(*value),
            ExprKind::Load(place) => self.load(place),
            ExprKind::Negate(x) => {
                let x = self.expr(x);
                self.negate(x)
            }
            ExprKind::Complement(x) => {
                let x = self.expr(x);
                self.complement(x)
            }
            ExprKind::Not(x) => {
                let x = self.expr(x);
                self.not(x)
            }
            ExprKind::Binary(op, a, b) => {
                let a = self.expr(a);
                let b = self.expr(b);
                self.binary(*op, a, b)
            }
            ExprKind::ShiftLeft(ty, a, b) => {
                let a = self.expr(a);
                let b = self.expr(b);
                self.shift_left(a, b, *ty)
            }
            ExprKind::Wrap(ty, x) => self.wrapping(x, *ty),
            ExprKind::Compare(op, a, b) => {
                let a = self.expr(a);
                let b = self.expr(b);
                self.compare(*op, a, b)
            }
            ExprKind::And(a, b) => {
                let a = self.expr(a);
                self.lazily(&a, b, Val::bool(false))
            }
            ExprKind::Or(a, b) => {
                let a = self.expr(a);
                if is_total(b) && a.known().is_none() {
                    let b = self.expr(b);
                    return match b.known() {
                        Some(_) => self.select(&a, Val::bool(true), b),
                        None => self.operation("$or", "", &[&a, &b], Some(("t", Scalar::Bool))),
                    };
                }
                let joined = self.choose(&a, |_| vec![Val::bool(true)], |p| vec![p.expr(b)], &|_| "or".to_owned());
                joined.into_iter().next().unwrap_or_else(|| Val::bool(false))
            }
            ExprKind::If(c, a, b) => {
                let c = self.expr(c);
                if is_total(a) && is_total(b) && c.known().is_none() {
                    let a = self.expr(a);
                    let b = self.expr(b);
                    return self.select(&c, a, b);
                }
                let joined = self.choose(&c, |p| vec![p.expr(a)], |p| vec![p.expr(b)], &|_| "if".to_owned());
                joined.into_iter().next().unwrap_or_else(|| Val::bool(false))
            }
            ExprKind::Call(procedure, arguments) => self.call(*procedure, arguments, expr.span),
            ExprKind::Real(..)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_) => {
                self.unsupported(expr.span, "numbers of type real", "compute with integers, or use another target");
                Val::bool(false)
            }
            ExprKind::String(_) | ExprKind::Concat(_) => {
                self.unsupported(expr.span, "strings", "take them out, or use another target");
                Val::bool(false)
            }
        }
    }

    /// `second` where `first` holds, else `otherwise`.
    pub(super) fn lazily(&mut self, first: &Val, second: &'a Expr, otherwise: Val) -> Val {
        if is_total(second) && first.known().is_none() {
            let second = self.expr(second);
            return self.both(first.clone(), second);
        }
        let joined = self.choose(first, |p| vec![p.expr(second)], |_| vec![otherwise], &|_| "and".to_owned());
        joined.into_iter().next().unwrap_or_else(|| Val::bool(false))
    }

    /// An expression wrapped to a type; what the operators in it lose above the type nobody sees.
    fn wrapping(&mut self, expr: &'a Expr, ty: IntType) -> Val {
        stacker::maybe_grow(128 << 10, 1 << 20, || {
            use BinaryOp::{Add, And, Mul, Or, Sub, Xor};
            match &expr.kind {
                ExprKind::Binary(op @ (Add | Sub | Mul | And | Or | Xor), a, b) => {
                    let a = self.wrapping(a, ty);
                    let b = self.wrapping(b, ty);
                    self.ring(*op, a, b, ty)
                }
                ExprKind::Negate(x) => {
                    let x = self.wrapping(x, ty);
                    if x.known().is_some() {
                        let negated = self.negate(x);
                        return self.cast(negated, Scalar::Int(ty));
                    }
                    self.in_type("$negate", vec![x], ty)
                }
                ExprKind::Complement(x) => {
                    let x = self.wrapping(x, ty);
                    if x.known().is_some() {
                        let flipped = self.complement(x);
                        return self.cast(flipped, Scalar::Int(ty));
                    }
                    self.in_type("bitnot", vec![x], ty)
                }
                // What wraps to a wider type before loses nothing that is wanted.
                ExprKind::Wrap(inner, x) if inner.width >= ty.width => self.wrapping(x, ty),
                _ => {
                    let val = self.expr(expr);
                    self.cast(val, Scalar::Int(ty))
                }
            }
        })
    }

    /// What is passed for parameters.
    pub(super) fn arguments(&mut self, arguments: &'a [Argument]) -> Vec<Binding> {
        arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(value) => Binding::Scalar(self.expr(value)),
                Argument::List(place) => Binding::List(self.list(place)),
            })
            .collect()
    }
}
