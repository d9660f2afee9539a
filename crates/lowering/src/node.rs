//! Expressions annotated by value-range analysis. Expressions with the values that they can have.

use crate::code::Code;
use headrace_analysis::ranges::{Interval, of_expr};
use headrace_ir::{Expr, ExprKind, Int, ProcedureId, Scalar};

/// An expression, annotated.
#[derive(Debug)]
pub(crate) struct Node<'e> {
    pub(crate) expr: &'e Expr,
    /// Values that it can have, for integers.
    pub(crate) range: Interval,
    /// Scalar operands, in order. Indices and arguments are not among them.
    pub(crate) kids: Vec<Node<'e>>,
}

impl Node<'_> {
    /// The value, if there is only one.
    pub(crate) fn single(&self) -> Option<&Int> {
        self.range.single()
    }
}

impl Code<'_, '_> {
    pub(crate) fn node<'e>(&self, expr: &'e Expr) -> Node<'e> {
        let kids: Vec<Node<'e>> = match expr.kind {
            ExprKind::Concat(_) => Vec::new(),
            _ => expr.parts().into_iter().map(|part| self.node(part)).collect(),
        };
        let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
        let range = of_expr(expr, &parts, |root| self.root_range(root), |procedure| self.result_range(procedure));
        Node { expr, range, kids }
    }

    fn result_range(&self, procedure: ProcedureId) -> Interval {
        let scalar = self.result_of(procedure).unwrap_or(Scalar::Bool);
        self.plan.ranges.result(procedure.index(), scalar)
    }

    fn result_of(&self, procedure: ProcedureId) -> Option<Scalar> {
        self.plan.actor.procedures[procedure.index()].result.as_ref().map(|result| result.0)
    }

    /// What kind of scalar an expression is; nothing for integers that no type was given.
    pub(crate) fn scalar_of(&self, expr: &Expr) -> Option<Scalar> {
        expr.scalar(&|root| self.type_of(root).element, &|procedure| self.result_of(procedure))
    }
}
