//! Constants: expressions lowered like any other and then evaluated.

use crate::body::{Folded, Operand, Typed};
use crate::builder::{Builder, VarValue};
use crate::procedure::ProcedureSlot;
use crate::types::{Elem, Ty};
use headrace_ir as ir;
use headrace_ir::eval::{Constants, EvalError, Evaluator};
use headrace_ir::{Int, LocalKind, ProcedureId, Stmt, StmtKind, Type, Value, VariableId};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;
use std::cell::Cell;

/// Steps that one constant may take.
const CONSTANT_STEPS: u64 = 1 << 24;

/// Steps that a constant may take even when the others of the run took all there are.
const LEAST_STEPS: u64 = 1 << 12;

/// What the evaluator may see of a builder.
struct Known<'b> {
    variables: &'b [crate::builder::VarSlot],
    procedures: &'b [ProcedureSlot],
    /// Variables count with their initial values.
    initial: bool,
    /// Variables whose reading was told already.
    told: &'b [VariableId],
    /// Another one that was read although it is assigned to.
    assigned: Cell<Option<VariableId>>,
}

impl Constants for Known<'_> {
    fn variable(&self, id: VariableId) -> Option<(&Type, &Value)> {
        let slot = self.variables.get(id.index())?;
        match &slot.value {
            VarValue::Known(value) if self.initial || !slot.mutable => {
                if slot.mutable && !self.told.contains(&id) {
                    self.assigned.set(Some(id));
                }
                Some((&slot.ir_ty, value))
            }
            _ => None,
        }
    }

    fn procedure(&self, id: ProcedureId) -> Option<&ir::Procedure> {
        self.procedures.get(id.index())?.ir.as_ref()
    }
}

impl Builder<'_> {
    /// The value of a constant integer expression; `what` it is for stands in messages.
    ///
    /// Of a variable that is assigned to, its initial value counts, as it does in Orcc.
    pub fn fold_int(&mut self, expr: &ast::Expr, what: &str) -> Folded<Int> {
        let is_size = std::mem::replace(&mut self.body.is_size, true);
        let told = std::mem::take(&mut self.body.told);
        let outer = self.used_changed.take();
        let folded = self.fold(expr, what);
        let used = std::mem::replace(&mut self.used_changed, outer);
        self.body.told = told;
        self.body.is_size = is_size;
        if let (Folded::Known(_), Some(changed), 0) = (&folded, used, self.dead) {
            self.report_changed(what, &changed, expr.span);
            return Folded::Wrong;
        }
        match folded {
            Folded::Known((Value::Int(value), _)) => Folded::Known(value),
            Folded::Known((_, ty)) => {
                self.error("type-mismatch", format!("{what} must be an integer"), expr.span, format!("this is `{ty}`"));
                Folded::Wrong
            }
            Folded::Unknown => Folded::Unknown,
            Folded::Wrong => Folded::Wrong,
        }
    }

    /// The value of a constant condition.
    pub fn fold_bool(&mut self, expr: &ast::Expr, what: &str) -> Folded<bool> {
        match self.fold(expr, what) {
            Folded::Known((Value::Bool(value), _)) => Folded::Known(value),
            Folded::Known((_, ty)) => {
                self.error("type-mismatch", format!("{what} must be a `bool`"), expr.span, format!("this is `{ty}`"));
                Folded::Wrong
            }
            Folded::Unknown => Folded::Unknown,
            Folded::Wrong => Folded::Wrong,
        }
    }

    /// The value of a constant scalar expression and its type. `what` it is for stands in messages.
    pub fn fold(&mut self, expr: &ast::Expr, what: &str) -> Folded<(Value, Ty)> {
        if let ast::ExprKind::Int(value) = &expr.kind {
            let value = Int::from(value.clone());
            let bounds = crate::types::Bounds::of(&value);
            return Folded::Known((Value::Int(value), Ty::int(bounds)));
        }
        let taint = self.taint;
        let (stmts, (typed, mark, outer)) = self.block(|this| {
            let mark = this.body.locals.len();
            let outer = this.body.constant_from;
            this.body.constant_from = Some(mark);
            let typed = this.expr(expr);
            (typed, mark, outer)
        });
        let result = self.folded(typed, stmts, taint, what);
        self.body.constant_from = outer;
        self.body.locals.truncate(mark);
        self.body.types.truncate(mark);
        result
    }

    fn folded(&mut self, typed: Typed, stmts: Vec<Stmt>, taint: u64, what: &str) -> Folded<(Value, Ty)> {
        let Typed { value, ty, span, bounds, .. } = typed;
        if ty.is_poison() {
            return Folded::Wrong;
        }
        if ty.is_list() {
            self.error("type-mismatch", format!("{what} must be a single value"), span, format!("this is `{ty}`"));
            return Folded::Wrong;
        }
        let Operand::Scalar(expr) = value else {
            // Its type is known and its value is not, unless something was wrong.
            return if self.taint == taint { Folded::Wrong } else { Folded::Unknown };
        };
        if stmts.is_empty() {
            match &expr.kind {
                ir::ExprKind::Int(value) => return Folded::Known((Value::Int(value.clone()), ty)),
                ir::ExprKind::Bool(value) => return Folded::Known((Value::Bool(*value), ty)),
                ir::ExprKind::Real(value, _) => return Folded::Known((Value::Real(*value), ty)),
                ir::ExprKind::String(text) => return Folded::Known((Value::String(text.clone()), ty)),
                _ => {}
            }
        }
        if self.taint != taint {
            return Folded::Unknown;
        }
        // The local that takes the value is never wrapped: it only carries it out.
        let storage = match ty.elem {
            Elem::Int(_) => Ty::int(bounds),
            elem => Ty::scalar(elem),
        };
        let local = self.temporary(storage);
        let mut body = stmts;
        body.push(Stmt { kind: StmtKind::Assign(Self::local_place(local, span), expr), span });
        match self.evaluate(&body, local, span) {
            Folded::Known(value) => Folded::Known((value, ty)),
            Folded::Unknown => Folded::Unknown,
            Folded::Wrong => Folded::Wrong,
        }
    }

    /// The value of an initialiser, converted to the type of its variable.
    pub fn fold_into(&mut self, expr: &ast::Expr, ty: &Ty, ir_ty: &Type) -> Option<Value> {
        if let Some(value) = self.table(expr, ty) {
            return Some(value);
        }
        let taint = self.taint;
        let mark = self.body.locals.len();
        let local = self.add_local("value", ty.clone(), LocalKind::Plain);
        let place = Self::local_place(local, expr.span);
        let (stmts, ()) = self.block(|this| this.assign_into(place, ty, expr));
        let value = if self.taint == taint && ty.known().as_ref() == Some(ir_ty) {
            match self.evaluate(&stmts, local, expr.span) {
                Folded::Known(value) => Some(value),
                Folded::Unknown | Folded::Wrong => None,
            }
        } else {
            None
        };
        self.body.locals.truncate(mark);
        self.body.types.truncate(mark);
        value
    }

    /// Runs statements over the locals of the current body and returns what `local` holds then.
    pub fn evaluate(&mut self, body: &[Stmt], local: ir::LocalId, span: Span) -> Folded<Value> {
        loop {
            let budget = CONSTANT_STEPS.min(self.session.steps_left()).max(LEAST_STEPS);
            let initial = self.body.initial || self.body.is_size;
            let known = Known {
                variables: &self.variables,
                procedures: &self.procedures,
                initial,
                told: &self.body.told,
                assigned: Cell::new(None),
            };
            let mut evaluator = Evaluator::new(&known, budget);
            let outcome = evaluator.run(&self.body.locals, body, local, span);
            let spent = budget - evaluator.steps_left();
            let lost = evaluator.lost().filter(|_| outcome.is_ok()).cloned();
            let assigned = known.assigned.get().filter(|_| outcome.is_ok() && !self.body.initial);
            self.session.spend_steps(spent);
            if let Some(lost) = lost {
                self.check_fits(&lost.value, lost.ty, None, lost.span);
            }
            // A size that names the variable was told of it there; one by way of functions is told here.
            if let Some(id) = assigned {
                let name = self.variables[id.index()].name.clone();
                self.warn_initial(&name, span);
            }
            let error = match outcome {
                Ok(value) => return Folded::Known(value),
                Err(error) => error,
            };
            match error {
                EvalError::Unknown(id) => {
                    let slot = &self.variables[id.index()];
                    if slot.mutable && !initial {
                        let message = format!("this depends on `{}`, which the actor assigns to", slot.name);
                        let diagnostic = Diagnostic::error("not-constant", message)
                            .at(span, "must be known before the program runs")
                            .also(slot.span, "declared here");
                        self.report(diagnostic);
                        return Folded::Wrong;
                    }
                    if self.ensure_value(id, span).is_none() {
                        return Folded::Unknown;
                    }
                }
                other => {
                    self.report_evaluation(other, span);
                    return Folded::Wrong;
                }
            }
        }
    }

    /// The value of a list of literals that has just the shape of its type, which is what tables are.
    pub fn table(&mut self, expr: &ast::Expr, ty: &Ty) -> Option<Value> {
        let known = ty.known().filter(Type::is_list)?;
        let mut values = Vec::new();
        if !plain_list(expr, &known, &mut values) {
            return None;
        }
        if let ir::Scalar::Int(int) = known.element {
            self.check_table_fits(expr, int);
        }
        Some(Value::List(values))
    }

    fn report_evaluation(&mut self, error: EvalError, span: Span) {
        let why = "while this constant was computed";
        let diagnostic = match error {
            EvalError::Unknown(_) | EvalError::Malformed(_) => return,
            EvalError::NoBody(id) => {
                let Some(slot) = self.procedures.get(id.index()) else { return };
                if !slot.in_progress {
                    return;
                }
                Diagnostic::error("cyclic-constant", format!("`{}` needs a constant that calls it", slot.name))
                    .at(span, "calls it")
                    .also(slot.span, "declared here")
            }
            EvalError::Effect(at) => Diagnostic::error("not-constant", "a constant cannot have effects")
                .at(at, "known only when the program runs")
                .also(span, why),
            EvalError::Arithmetic(error, at) => {
                if self.dead > 0 {
                    return;
                }
                Diagnostic::error(arithmetic_slug(error), error.to_string()).at(at, "here").also(span, why)
            }
            EvalError::IndexOutOfRange { index, size, span: at } => {
                if self.dead > 0 {
                    return;
                }
                Diagnostic::error(
                    "index-out-of-range",
                    format!("index {} of a list of {size} elements", crate::lists::short(&index)),
                )
                .at(at, format!("must lie in 0 .. {}", i64::from(size) - 1))
                .also(span, why)
            }
            EvalError::Budget(at) => {
                Diagnostic::error("constant-too-expensive", "this constant takes too long to compute")
                    .at(span, "given up")
                    .also(at, "while working here")
                    .help("compute it at run time, in an `initialize` action")
            }
            EvalError::Depth(at) => {
                Diagnostic::error("constant-too-expensive", "calls in this constant nest too deeply")
                    .at(span, "given up")
                    .also(at, "the next call would be too deep")
            }
        };
        self.report(diagnostic);
    }

    /// Converts a value that was given from outside to the type of what takes it.
    pub fn convert_value(&mut self, value: Value, from: &Ty, to: &Ty, span: Span) -> Option<Value> {
        if from.is_poison() || to.is_poison() {
            return None;
        }
        let lists_fit = from.dims.len() == to.dims.len()
            && from.dims.iter().zip(&to.dims).all(|(a, b)| a <= b || *b == crate::types::UNKNOWN);
        // Numbers in XDF are all of one precision, whatever the parameter has.
        let reals = matches!((from.elem, to.elem), (Elem::Real(_), Elem::Real(_)));
        if !(from.elem.converts_to(to.elem) || reals) || !lists_fit {
            self.error(
                "type-mismatch",
                format!("`{from}` does not convert to `{to}`"),
                span,
                format!("this is `{from}`, the parameter is `{to}`"),
            );
            return None;
        }
        let target = to.known()?;
        if self.session.sources.name(span.file).starts_with(crate::elaborate::COMMAND_LINE)
            && let Some(wrong) = out_of_range(&value, target.element)
        {
            self.error(
                "type-mismatch",
                format!("{wrong} does not fit `{to}`"),
                span,
                format!("the parameter is `{to}`"),
            );
            return None;
        }
        self.check_value_fits(&value, from, &target, span);
        match value {
            Value::List(values) => {
                let mut out = Value::zero(&target);
                if let Value::List(slots) = &mut out {
                    place_values(slots, &target.dims, values, &from.dims, target.element)?;
                }
                Some(out)
            }
            scalar => ir::eval::convert_scalar(scalar, target.element),
        }
    }
}

/// The first integer of a value that is outside the range of a type.
fn out_of_range(value: &Value, element: ir::Scalar) -> Option<Int> {
    match value {
        Value::List(values) => values.iter().find_map(|value| out_of_range(value, element)),
        Value::Int(int) => element.as_int().filter(|ty| !int.fits(*ty)).map(|_| int.clone()),
        _ => None,
    }
}

/// Writes the elements of a list, converted, to the first places of a larger one.
fn place_values(
    slots: &mut [Value],
    dims: &[u32],
    values: Vec<Value>,
    from: &[u32],
    element: ir::Scalar,
) -> Option<()> {
    for (at, value) in values.into_iter().enumerate() {
        let (mut rest, mut target, mut stride) = (at, 0, 1);
        for (&size, &room) in from.iter().zip(dims).rev() {
            target += rest % size as usize * stride;
            rest /= size as usize;
            stride *= room as usize;
        }
        *slots.get_mut(target)? = ir::eval::convert_scalar(value, element)?;
    }
    Some(())
}

/// The slug of an operator that has no result.
pub(crate) fn arithmetic_slug(error: ir::ArithmeticError) -> &'static str {
    match error {
        ir::ArithmeticError::DivisionByZero => "division-by-zero",
        ir::ArithmeticError::ModulusNotPositive => "modulus-not-positive",
        ir::ArithmeticError::NegativeShift => "negative-shift",
        ir::ArithmeticError::ShiftTooFar => "shift-too-far",
    }
}

/// Reads a list of literals that has just the shape of its type; false for anything else.
fn plain_list(expr: &ast::Expr, ty: &Type, out: &mut Vec<Value>) -> bool {
    fn scalar(expr: &ast::Expr, ty: ir::Scalar) -> Option<Value> {
        match (&expr.kind, ty) {
            (ast::ExprKind::Int(value), ir::Scalar::Int(int)) => Some(Value::Int(Int::from(value.clone()).wrap(int))),
            (ast::ExprKind::Unary { op: ast::UnaryOp::Minus, operand }, ir::Scalar::Int(int)) => match &operand.kind {
                ast::ExprKind::Int(value) => Some(Value::Int(Int::from(value.clone()).neg().wrap(int))),
                _ => None,
            },
            (ast::ExprKind::Bool(value), ir::Scalar::Bool) => Some(Value::Bool(*value)),
            _ => None,
        }
    }
    fn walk(expr: &ast::Expr, dims: &[u32], ty: ir::Scalar, out: &mut Vec<Value>) -> bool {
        match (dims.split_first(), &expr.kind) {
            (None, _) => scalar(expr, ty).map(|value| out.push(value)).is_some(),
            (Some((&size, inner)), ast::ExprKind::List { items, generators }) => {
                generators.is_empty()
                    && items.len() == size as usize
                    && items.iter().all(|item| walk(item, inner, ty, out))
            }
            _ => false,
        }
    }
    walk(expr, &ty.dims, ty.element, out)
}
