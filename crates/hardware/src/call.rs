//! Procedures and functions: written out where they are called.
//!
//! All calls of one share its locals, since it cannot be called again before it has ended. Lists are passed by reference:
//! the procedure works on the variable of its caller.

use crate::code::{Code, Frame, Slot};
use crate::place::Location;
use crate::step::Step;
use headrace_analysis::assigned;
use headrace_analysis::ranges::Unit;
use headrace_ir::{Argument, LocalId, LocalKind, ProcedureId, Root, Scalar};
use headrace_rtl::Expr;
use headrace_source::Span;

impl<'a> Code<'a> {
    /// Calls a function in an expression; its value, as its type says.
    pub(crate) fn call_expression(&mut self, procedure: ProcedureId, arguments: &[Argument], span: Span) -> Expr {
        self.call(procedure, arguments, span).unwrap_or_else(|| {
            // What is called in an expression gives a value, unless it was refused.
            let width = self.result_of(procedure).map_or(1, Scalar::width).max(1);
            Expr::number(width, 0)
        })
    }

    /// Calls a procedure, or a function whose value goes to a local.
    pub(crate) fn call_statement(
        &mut self,
        result: Option<LocalId>,
        procedure: ProcedureId,
        arguments: &[Argument],
        span: Span,
    ) {
        let value = self.call(procedure, arguments, span);
        if let (Some(local), Some(value)) = (result, value) {
            let (home, _) = self.root_home(Root::Local(local));
            let place = Location { at: Expr::number(home.index_width(), 0), home };
            self.store(&place, value);
        }
    }

    fn call(&mut self, procedure: ProcedureId, arguments: &[Argument], span: Span) -> Option<Expr> {
        let at = procedure.index();
        let actor = self.actor;
        let source = &actor.procedures[at];
        if self.calls.is_recursive(at) {
            let what = format!("procedures that call themselves, as `{}` does", source.name);
            self.unsupported(span, &what, "write it as a loop");
            return None;
        }
        // Arguments while names still mean what they mean to the caller.
        enum Given {
            Value(Expr),
            List(Location),
        }
        let mut given = Vec::new();
        for (argument, local) in arguments.iter().zip(&source.locals) {
            given.push(match argument {
                Argument::Value(value) => {
                    let node = self.node(value);
                    Given::Value(self.value_as(&node, local.ty.element))
                }
                Argument::List(place) => {
                    let location = self.locate(place);
                    // The variables of an index may change while the procedure runs.
                    let at = self.named("list_at", location.at);
                    Given::List(Location { home: location.home, at })
                }
            });
        }
        let short = source.name.rsplit('.').next().unwrap_or(&source.name);
        let prefix = std::mem::replace(&mut self.prefix, format!("{short}_"));
        let mut slots = match self.shared.get(&at) {
            Some(slots) => slots.clone(),
            None => {
                let slots = self.slots(Unit::Procedure(at), &source.locals, source.span);
                self.shared.insert(at, slots.clone());
                slots
            }
        };
        let mut values = Vec::new();
        for (slot, given) in slots.iter_mut().zip(given) {
            match given {
                Given::Value(value) => values.push((slot.home.clone(), value)),
                Given::List(location) => {
                    let offset = Some(location.at).filter(|at| at.value().is_none_or(|at| !at.is_zero()));
                    *slot = Slot { home: location.home, offset, range: slot.range.clone() };
                }
            }
        }
        let frame = std::mem::replace(&mut self.frame, Frame { locals: &source.locals, slots });
        for (home, value) in values {
            let place = Location { at: Expr::number(home.index_width(), 0), home };
            self.store(&place, value);
        }
        for (number, local) in source.locals.iter().enumerate() {
            if local.kind == LocalKind::Plain && !assigned::assigned_first_in_procedure(source, number) {
                self.zero(number);
            }
        }
        self.block(&source.body);
        let value = source.result.as_ref().map(|(scalar, value)| {
            let node = self.node(value);
            let value = self.value_as(&node, *scalar);
            self.named("result", value)
        });
        self.frame = frame;
        self.prefix = prefix;
        value
    }

    /// Gives a local zeros.
    pub(crate) fn zero(&mut self, number: usize) {
        let home = self.frame.slots[number].home.clone();
        let place = Location { at: Expr::number(home.index_width(), 0), home };
        let (len, width) = (place.home.len, place.home.width);
        let whole = Expr::number(1, 0).resized(false, len * width);
        if self.store_all(&place, len, whole) {
            return;
        }
        if let crate::code::Storage::Memory(memory) = place.home.storage {
            let index = place.home.index_width();
            self.count("clear", len, |code, i| {
                code.push(Step::Write(memory, i.resized(false, index), Expr::number(width, 0)));
            });
        }
    }
}
