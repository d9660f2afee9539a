//! Expressions annotated by value-range analysis. Expressions with what is known of them: their interval and whether evaluating
//! them can stop the program.

use super::Code;
use headrace_analysis::ranges::{self, Interval};
use headrace_ir::{Argument, BinaryOp, Expr, ExprKind, Int, MAX_SHIFT, MAX_WIDTH, Place, Scalar};

/// An expression, annotated.
#[derive(Debug)]
pub struct Node<'e> {
    /// The expression.
    pub expr: &'e Expr,
    /// Values that it can have, for integers.
    pub range: Interval,
    /// True when a check in it can fail, so that it cannot be left out.
    pub can_stop: bool,
    /// Scalar operands, in order. Indices and arguments are not among them.
    pub kids: Vec<Node<'e>>,
}

impl Code<'_> {
    /// Annotates an expression.
    pub fn node<'e>(&self, expr: &'e Expr) -> Node<'e> {
        let kids: Vec<Node<'e>> = match &expr.kind {
            ExprKind::Concat(_) => Vec::new(),
            _ => expr.parts().into_iter().map(|part| self.node(part)).collect(),
        };
        let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
        let range = ranges::of_expr(
            expr,
            &parts,
            |root| self.root_range(root),
            |procedure| self.result_range(procedure.index()),
        );
        let own = match &expr.kind {
            ExprKind::Load(place) => self.place_can_stop(place),
            ExprKind::Call(procedure, arguments) => {
                self.procedure_can_stop(procedure.index())
                    || arguments.iter().any(|argument| match argument {
                        Argument::Value(value) => self.node(value).can_stop,
                        Argument::List(place) => self.place_can_stop(place),
                    })
            }
            ExprKind::Concat(_) => false,
            ExprKind::Binary(BinaryOp::Div, ..) => self.checked() && Interval::of(Int::ZERO).within(&kids[1].range),
            ExprKind::Binary(BinaryOp::Mod, ..) => self.checked() && kids[1].range.low <= Int::ZERO,
            ExprKind::Binary(BinaryOp::ShiftRight, ..) => self.checked() && kids[1].range.low.is_negative(),
            ExprKind::ShiftLeft(ty, ..) => {
                self.checked() && ty.width > MAX_WIDTH && kids[1].range.high > Int::from(i64::from(MAX_SHIFT))
            }
            _ => false,
        };
        let can_stop = own || kids.iter().any(|kid| kid.can_stop);
        Node { expr, range, can_stop, kids }
    }

    /// True when an index of the place can be out of range in checked code, or its evaluation can stop otherwise.
    pub fn place_can_stop(&self, place: &Place) -> bool {
        let ty = self.type_of(place.root);
        place.indices.iter().zip(&ty.dims).any(|(index, &size)| {
            let node = self.node(index);
            node.can_stop || (self.checked_indices() && !index_proven(&node.range, size))
        })
    }

    /// What kind of scalar an expression is; `None` for integers that no type was given.
    pub fn scalar_of(&self, node: &Node<'_>) -> Option<Scalar> {
        let procedures = &self.plan.actor.procedures;
        node.expr.scalar(&|root| self.type_of(root).element, &|procedure| {
            procedures[procedure.index()].result.as_ref().map(|result| result.0)
        })
    }
}

/// True when every value of an index is inside `0..size`.
pub fn index_proven(range: &Interval, size: u32) -> bool {
    range.non_negative() && range.high < Int::from(i64::from(size))
}
