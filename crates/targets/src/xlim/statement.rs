//! Lowering of statements to XLIM, with procedures inlined: calls are written out where they stand.

use super::value::{Binding, Frame, List, Owner, Printer, StateKey, Val};
use headrace_ir::{
    Argument, BinaryOp, CompareOp, Expr, Int, Local, LocalId, Place, ProcedureId, Root, Scalar, Stmt, StmtKind,
};
use headrace_source::Span;
use std::collections::BTreeSet;

/// The scalar locals that statements change.
fn assigned(stmts: &[Stmt], into: &mut BTreeSet<LocalId>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Assign(Place { root: Root::Local(local), indices, .. }, _) if indices.is_empty() => {
                into.insert(*local);
            }
            StmtKind::Assign(..) | StmtKind::Copy { .. } | StmtKind::Print { .. } => {}
            StmtKind::If(_, then, otherwise) => {
                assigned(then, into);
                assigned(otherwise, into);
            }
            StmtKind::While { before, body, .. } => {
                assigned(before, into);
                assigned(body, into);
            }
            StmtKind::Foreach { variable, body, .. } => {
                into.insert(*variable);
                assigned(body, into);
            }
            StmtKind::Call { result, .. } | StmtKind::CallNative { result, .. } => into.extend(*result),
        }
    }
}

impl<'a> Printer<'a> {
    /// The name of whose locals these are.
    pub(super) fn owner_name(&self, owner: Owner) -> String {
        match owner {
            Owner::Action(at) => self.actor.actions[at].name.clone(),
            Owner::Initializer(at) => self.actor.initializers[at].name.clone(),
            Owner::Guard(at) => format!("{}.guard", self.actor.actions[at].name),
            Owner::GuardOfInitializer(at) => format!("{}.guard", self.actor.initializers[at].name),
            Owner::Procedure(id) => self.actor.procedures[id.index()].name.clone(),
        }
    }

    /// Locals at their beginning: zero, but for those of `given`. Lists are state variables, which the last use has left as
    /// they were then.
    pub(super) fn enter(
        &mut self,
        owner: Owner,
        locals: &'a [Local],
        given: Vec<Binding>,
        span: Span,
        clear: &dyn Fn(usize) -> bool,
    ) {
        self.frames.push(Frame { owner, locals, bindings: Vec::new() });
        let n_given = given.len();
        let mut bindings = given;
        for (at, local) in locals.iter().enumerate().skip(n_given) {
            let element = if matches!(local.ty.element, Scalar::Real(_) | Scalar::String) {
                self.checked(local.ty.element, span)
            } else {
                local.ty.element
            };
            if !local.ty.is_list() {
                bindings.push(Binding::Scalar(Val::constant(Int::ZERO, element)));
                continue;
            }
            let state = self.state(StateKey::Local(owner, LocalId(at as u32)));
            let list =
                List { state, offset: Val::int(Int::ZERO), dims: local.ty.dims.clone(), element, constant: None };
            if clear(at) {
                self.counted(list.len(), |printer, i| {
                    printer.store_element(&list, i.clone(), Val::constant(Int::ZERO, element));
                });
            }
            bindings.push(Binding::List(list));
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.bindings = bindings;
        }
    }

    pub(super) fn leave(&mut self) {
        self.frames.pop();
    }

    /// The value of a scalar local.
    fn local(&self, id: LocalId) -> Val {
        match self.frames.last().map(|frame| &frame.bindings[id.index()]) {
            Some(Binding::Scalar(val)) => val.clone(),
            _ => Val::bool(false),
        }
    }

    pub(super) fn set_local(&mut self, id: LocalId, val: Val) {
        let Some(ty) = self.frames.last().map(|frame| frame.locals[id.index()].ty.element) else { return };
        let val = self.cast(val, ty);
        if let Some(frame) = self.frames.last_mut() {
            frame.bindings[id.index()] = Binding::Scalar(val);
        }
    }

    fn locals(&self, ids: &[LocalId]) -> Vec<Val> {
        ids.iter().map(|id| self.local(*id)).collect()
    }

    fn set_locals(&mut self, ids: &[LocalId], vals: &[Val]) {
        ids.iter().zip(vals).for_each(|(id, val)| self.set_local(*id, val.clone()));
    }

    fn hint(&self, id: LocalId) -> String {
        self.frames.last().map_or(String::new(), |frame| frame.locals[id.index()].name.clone())
    }

    /// A procedure or function written out; the value of a function.
    pub(super) fn call(&mut self, id: ProcedureId, arguments: &'a [Argument], span: Span) -> Val {
        let actor = self.actor;
        let procedure = &actor.procedures[id.index()];
        let nothing = Val::constant(Int::ZERO, procedure.result.as_ref().map_or(Scalar::Bool, |(ty, _)| *ty));
        if self.frames.iter().any(|frame| frame.owner == Owner::Procedure(id)) {
            self.unsupported(span, "a procedure that calls itself", "write it with a loop, or use another target");
            return nothing;
        }
        if self.is_too_long(span) {
            return nothing;
        }
        let mut given = self.arguments(arguments);
        for (binding, local) in given.iter_mut().zip(&procedure.locals) {
            if let Binding::Scalar(val) = binding {
                *val = self.cast(val.clone(), local.ty.element);
            }
        }
        self.enter(Owner::Procedure(id), &procedure.locals, given, span, &|_| true);
        self.statements(&procedure.body);
        let value = match &procedure.result {
            None => nothing,
            Some((ty, expr)) => {
                let value = self.expr(expr);
                self.cast(value, *ty)
            }
        };
        self.leave();
        value
    }

    pub(super) fn statements(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            stacker::maybe_grow(128 << 10, 1 << 20, || self.statement(stmt));
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        if self.is_too_long(stmt.span) {
            return;
        }
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let value = self.expr(value);
                self.assign(place, value);
            }
            StmtKind::Copy { target, source, .. } => {
                let source = self.list(source);
                let target = self.list(target);
                self.counted(source.len(), |printer, i| {
                    let value = printer.element(&source, i.clone());
                    printer.store_element(&target, i.clone(), value);
                });
            }
            StmtKind::If(condition, then, otherwise) => self.if_statement(condition, then, otherwise),
            StmtKind::While { before, condition, body } => self.while_statement(before, condition, body),
            StmtKind::Foreach { variable, low, high, body } => self.foreach_statement(*variable, low, high, body),
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(*procedure, arguments, stmt.span);
                if let Some(result) = result {
                    self.set_local(*result, value);
                }
            }
            StmtKind::CallNative { native, .. } => {
                let what = format!("the native procedure `{}`", self.actor.natives[native.index()].name);
                self.unsupported(
                    stmt.span,
                    &what,
                    "do what it does in an actor of the network's surroundings, behind a port",
                );
            }
            StmtKind::Print { .. } => {
                self.unsupported(stmt.span, "printing", "take `print` out, or send what it shows to an output port");
            }
        }
    }

    fn assign(&mut self, place: &'a Place, value: Val) {
        match place.root {
            _ if !place.indices.is_empty() => {
                let mut list = self.list(place);
                let at = std::mem::replace(&mut list.offset, Val::int(Int::ZERO));
                self.store_element(&list, at, value);
            }
            Root::Local(id) => self.set_local(id, value),
            Root::Actor(id) => {
                let ty = self.checked(self.actor.variables[id.index()].ty.element, place.span);
                let value = self.cast(value, ty);
                let state = self.used_state(StateKey::Variable(id));
                self.operation("assign", &format!(" target=\"{state}\""), &[&value], None);
            }
        }
    }

    fn if_statement(&mut self, condition: &'a Expr, then: &'a [Stmt], otherwise: &'a [Stmt]) {
        let condition = self.expr(condition);
        let mut changed = BTreeSet::new();
        assigned(then, &mut changed);
        assigned(otherwise, &mut changed);
        let changed: Vec<LocalId> = changed.into_iter().collect();
        let before = self.locals(&changed);
        let hints: Vec<String> = changed.iter().map(|id| self.hint(*id)).collect();
        let branch = |stmts: &'a [Stmt]| {
            let (changed, before) = (&changed, &before);
            move |printer: &mut Self| {
                printer.statements(stmts);
                let after = printer.locals(changed);
                printer.set_locals(changed, before);
                after
            }
        };
        let joined = self.choose(&condition, branch(then), branch(otherwise), &|at| hints[at].clone());
        self.set_locals(&changed, &joined);
    }

    fn carried(&self, ids: &[LocalId]) -> Vec<(String, Val)> {
        ids.iter().map(|id| (self.hint(*id), self.local(*id))).collect()
    }

    fn while_statement(&mut self, before: &'a [Stmt], condition: &'a Expr, body: &'a [Stmt]) {
        let mut changed = BTreeSet::new();
        assigned(before, &mut changed);
        assigned(body, &mut changed);
        let changed: Vec<LocalId> = changed.into_iter().collect();
        if before.is_empty() {
            let carried = self.carried(&changed);
            let ids = changed.clone();
            let ends = self.repeat(
                &carried,
                |printer, vals| {
                    printer.set_locals(&ids, vals);
                    printer.expr(condition)
                },
                |printer, _| {
                    printer.statements(body);
                    printer.locals(&ids)
                },
            );
            return self.set_locals(&changed, &ends);
        }
        // What belongs to the condition stands before the loop and again at the end of its body: tests give no values.
        self.statements(before);
        let first = self.expr(condition);
        let mut carried = self.carried(&changed);
        carried.push(("more".to_owned(), first));
        let ends = self.repeat(
            &carried,
            |printer, vals| {
                printer.set_locals(&changed, vals);
                vals[vals.len() - 1].clone()
            },
            |printer, _| {
                printer.statements(body);
                printer.statements(before);
                let more = printer.expr(condition);
                let mut ends = printer.locals(&changed);
                ends.push(more);
                ends
            },
        );
        self.set_locals(&changed, &ends);
    }

    fn foreach_statement(&mut self, variable: LocalId, low: &'a Expr, high: &'a Expr, body: &'a [Stmt]) {
        let low = self.expr(low);
        let high = self.expr(high);
        let enters = self.compare(CompareOp::LessEqual, low.clone(), high.clone());
        let before = self.local(variable);
        let ty = before.ty;
        let low = self.cast(low, ty);
        // A loop that is not entered leaves its variable alone.
        let start = self.select(&enters, low, before);
        let start = self.cast(start, ty);
        self.set_local(variable, start);
        let mut changed = BTreeSet::from([variable]);
        assigned(body, &mut changed);
        let changed: Vec<LocalId> = changed.into_iter().collect();
        let mut carried = self.carried(&changed);
        carried.push(("more".to_owned(), enters));
        let ends = self.repeat(
            &carried,
            |printer, vals| {
                printer.set_locals(&changed, vals);
                vals[vals.len() - 1].clone()
            },
            |printer, _| {
                printer.statements(body);
                let last = printer.local(variable);
                let more = printer.compare(CompareOp::Less, last.clone(), high.clone());
                let one = Val::int(Int::from(1i64));
                let next = match ty {
                    Scalar::Int(int) => printer.ring(BinaryOp::Add, last.clone(), one, int),
                    _ => last.clone(),
                };
                let next = printer.select(&more, next, last);
                printer.set_local(variable, next);
                let mut ends = printer.locals(&changed);
                ends.push(more);
                ends
            },
        );
        self.set_locals(&changed, &ends);
    }
}
