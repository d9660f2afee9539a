//! The scope of expressions in an actor: what is known of its variables and functions, for value-range analysis.

use crate::annotated::{Node, Scope};
use crate::code::Code;
use headrace_analysis::ranges::Interval;
use headrace_ir::{Expr, ProcedureId, Root, Scalar};

impl Scope for Code<'_, '_> {
    fn root_range(&self, root: Root) -> Interval {
        Code::root_range(self, root)
    }

    fn result_range(&self, procedure: ProcedureId) -> Interval {
        let scalar = self.result_of(procedure).unwrap_or(Scalar::Bool);
        self.plan.ranges.result(procedure.index(), scalar)
    }
}

impl Code<'_, '_> {
    pub(crate) fn node<'e>(&self, expr: &'e Expr) -> Node<'e> {
        Node::of(expr, self)
    }

    fn result_of(&self, procedure: ProcedureId) -> Option<Scalar> {
        self.plan.actor.procedures[procedure.index()].result.as_ref().map(|result| result.0)
    }

    /// What kind of scalar an expression is; nothing for integers that no type was given.
    pub(crate) fn scalar_of(&self, expr: &Expr) -> Option<Scalar> {
        expr.scalar(&|root| self.type_of(root).element, &|procedure| self.result_of(procedure))
    }
}
