//! Variables that are passed to parameters of fewer bits, where values can be lost.
//!
//! A call cuts its arguments as a store does. Of what is computed that is often meant (`f(x + 1)` with 8 bits); a variable or
//! element that is handed on as it is has values that the parameter does not have only by mistake. Ranges say which it can
//! have: a counter of 32 bits that stays below 64 may be passed for 8 bits. Example: `clz(x)` with an x of 64 bits and
//! `procedure clz(uint a)`.

use crate::ranges::{Ranges, Unit, root_type};
use headrace_ir::{Actor, Argument, Expr, ExprKind, IntType, Local, Place, Root, Scalar, Stmt, StmtKind};
use headrace_source::Diagnostic;

struct Walk<'a> {
    actor: &'a Actor,
    unit: Unit,
    locals: &'a [Local],
    /// Solved when the first candidate is found.
    ranges: Option<Ranges>,
    found: Vec<Diagnostic>,
}

/// A warning for each such argument of an actor.
pub fn diagnostics(actor: &Actor) -> Vec<Diagnostic> {
    let mut walk = Walk { actor, unit: Unit::Procedure(0), locals: &[], ranges: None, found: Vec::new() };
    for (at, procedure) in actor.procedures.iter().enumerate() {
        (walk.unit, walk.locals) = (Unit::Procedure(at), &procedure.locals);
        walk.block(&procedure.body);
        if let Some((_, result)) = &procedure.result {
            walk.expr(result);
        }
    }
    let initializers = actor.initializers.iter().enumerate().map(|(at, action)| (Unit::Initializer(at), action));
    let actions = actor.actions.iter().enumerate().map(|(at, action)| (Unit::Action(at), action));
    for (unit, action) in initializers.chain(actions) {
        (walk.unit, walk.locals) = (unit, &action.locals);
        walk.block(&action.guard.before);
        action.guard.conditions.iter().for_each(|condition| walk.expr(condition));
        walk.block(&action.body);
        for value in action.produces.iter().flat_map(|output| &output.values) {
            if let headrace_ir::OutputValue::Scalar(value) = value {
                walk.expr(value);
            }
        }
    }
    walk.found
}

fn spelled(ty: IntType) -> String {
    format!("{}(size={})", if ty.signed { "int" } else { "uint" }, ty.width)
}

impl Walk<'_> {
    fn arguments(&mut self, procedure: Option<usize>, arguments: &[Argument]) {
        for (at, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Value(value) => {
                    self.expr(value);
                    if let (Some(procedure), ExprKind::Wrap(ty, inner)) = (procedure, &value.kind)
                        && let ExprKind::Load(place) = &inner.kind
                    {
                        self.passed(procedure, at, *ty, place, value);
                    }
                }
                Argument::List(place) => self.place(place),
            }
        }
    }

    fn passed(&mut self, procedure: usize, at: usize, ty: IntType, place: &Place, value: &Expr) {
        let scalar = root_type(self.actor, self.locals, place.root).element;
        let Scalar::Int(own) = scalar else { return };
        if own.width <= ty.width {
            return;
        }
        let ranges = self.ranges.get_or_insert_with(|| Ranges::of(self.actor));
        let (name, range) = match place.root {
            Root::Actor(id) => (&self.actor.variables[id.index()].name, ranges.variable(id.index(), scalar)),
            Root::Local(id) => (&self.locals[id.index()].name, ranges.local(self.unit, id.index(), scalar)),
        };
        if range.fits(ty) {
            return;
        }
        let callee = &self.actor.procedures[procedure];
        let parameter = callee.locals.get(at).map_or("", |local| local.name.as_str());
        let message = format!("`{name}` has more bits than the parameter `{parameter}` of `{}`", callee.name);
        self.found.push(
            Diagnostic::warning("narrowing-argument", message)
                .at(value.span, format!("`{}` becomes `{}`: upper bits are lost", spelled(own), spelled(ty)))
                .help("give the parameter a wider type, or write which bits are meant, as in `x & 255`"),
        );
    }

    fn place(&mut self, place: &Place) {
        place.indices.iter().for_each(|index| self.expr(index));
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Load(place) => self.place(place),
            ExprKind::Call(procedure, arguments) => self.arguments(Some(procedure.index()), arguments),
            _ => expr.parts().into_iter().for_each(|part| self.expr(part)),
        }
    }

    fn block(&mut self, statements: &[Stmt]) {
        for statement in statements {
            match &statement.kind {
                StmtKind::Assign(place, value) => {
                    self.expr(value);
                    self.place(place);
                }
                StmtKind::Copy { target, source, .. } => {
                    self.place(source);
                    self.place(target);
                }
                StmtKind::If(condition, yes, no) => {
                    self.expr(condition);
                    self.block(yes);
                    self.block(no);
                }
                StmtKind::While { before, condition, body } => {
                    self.block(before);
                    self.expr(condition);
                    self.block(body);
                }
                StmtKind::Foreach { low, high, body, .. } => {
                    self.expr(low);
                    self.expr(high);
                    self.block(body);
                }
                StmtKind::Call { procedure, arguments, .. } => self.arguments(Some(procedure.index()), arguments),
                StmtKind::CallNative { arguments, .. } => self.arguments(None, arguments),
                StmtKind::Print { pieces, .. } => pieces.iter().for_each(|piece| self.expr(&piece.value)),
            }
        }
    }
}
