//! The scope of expressions in an actor: what is known of its variables and functions, for value-range analysis, and which
//! expressions can stop the program.

use super::Code;
use headrace_analysis::ranges::Interval;
use headrace_ir::{Argument, BinaryOp, Expr, ExprKind, Int, MAX_SHIFT, MAX_WIDTH, Place, ProcedureId, Root, Scalar};
use headrace_lowering::annotated::Scope;
pub use headrace_lowering::annotated::{Node, decided, index_proven};

impl Scope for Code<'_> {
    fn root_range(&self, root: Root) -> Interval {
        Code::root_range(self, root)
    }

    fn result_range(&self, procedure: ProcedureId) -> Interval {
        Code::result_range(self, procedure.index())
    }

    fn stops(&self, expr: &Expr, kids: &[Node<'_>]) -> bool {
        match &expr.kind {
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
        }
    }
}

impl Code<'_> {
    /// Annotates an expression.
    pub fn node<'e>(&self, expr: &'e Expr) -> Node<'e> {
        Node::of(expr, self)
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
