//! Expressions with the values that they can have.

use crate::code::Code;
use headrace_analysis::ranges::{Interval, of_scalar};
use headrace_ir::{Expr, ExprKind, Int, Scalar};

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
        let range = self.range_of(expr, &kids);
        Node { expr, range, kids }
    }

    fn range_of(&self, expr: &Expr, kids: &[Node<'_>]) -> Interval {
        match &expr.kind {
            ExprKind::Int(value) => Interval::of(value.clone()),
            ExprKind::Load(place) => self.root_range(place.root),
            ExprKind::Negate(_) => kids[0].range.negate(),
            ExprKind::Complement(_) => kids[0].range.complement(),
            ExprKind::Wrap(ty, _) => kids[0].range.wrap(*ty),
            ExprKind::Binary(op, _, _) => Interval::binary(*op, &kids[0].range, &kids[1].range),
            ExprKind::ShiftLeft(ty, _, _) => kids[0].range.shift_left(&kids[1].range, *ty),
            ExprKind::If(..) => kids[1].range.join(&kids[2].range),
            ExprKind::Call(procedure, _) => match &self.plan.actor.procedures[procedure.index()].result {
                Some((scalar, _)) => self.plan.ranges.result(procedure.index(), *scalar),
                None => of_scalar(Scalar::Bool),
            },
            _ => of_scalar(Scalar::Bool),
        }
    }

    /// What kind of scalar an expression is; nothing for integers that no type was given.
    pub(crate) fn scalar_of(&self, expr: &Expr) -> Option<Scalar> {
        match &expr.kind {
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Compare(..) | ExprKind::And(..) | ExprKind::Or(..) => {
                Some(Scalar::Bool)
            }
            ExprKind::Real(_, ty)
            | ExprKind::IntToReal(ty, _)
            | ExprKind::RealToReal(ty, _)
            | ExprKind::RealBinary(ty, ..) => Some(Scalar::Real(*ty)),
            ExprKind::RealNegate(x) => self.scalar_of(x),
            ExprKind::String(_) | ExprKind::Concat(_) => Some(Scalar::String),
            ExprKind::Load(place) => Some(self.type_of(place.root).element),
            ExprKind::Call(procedure, _) => {
                self.plan.actor.procedures[procedure.index()].result.as_ref().map(|result| result.0)
            }
            ExprKind::If(_, a, b) => self.scalar_of(a).or_else(|| self.scalar_of(b)),
            ExprKind::Wrap(ty, _) | ExprKind::ShiftLeft(ty, _, _) => Some(Scalar::Int(*ty)),
            ExprKind::Int(_) | ExprKind::Negate(_) | ExprKind::Complement(_) | ExprKind::Binary(..) => None,
        }
    }
}
