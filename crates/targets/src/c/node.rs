//! Expressions with what is known of them: their interval and whether evaluating them can stop the program.

use super::code::Code;
use headrace_analysis::ranges::{self, Interval};
use headrace_ir::{Argument, BinaryOp, Expr, ExprKind, Int, Place, Scalar};

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
            ExprKind::Int(_)
            | ExprKind::Bool(_)
            | ExprKind::Real(..)
            | ExprKind::String(_)
            | ExprKind::Load(_)
            | ExprKind::Call(..)
            | ExprKind::Concat(_) => Vec::new(),
            ExprKind::Negate(x)
            | ExprKind::Complement(x)
            | ExprKind::Not(x)
            | ExprKind::Wrap(_, x)
            | ExprKind::IntToReal(_, x)
            | ExprKind::RealToReal(_, x)
            | ExprKind::RealNegate(x) => vec![self.node(x)],
            ExprKind::Binary(_, a, b)
            | ExprKind::ShiftLeft(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::RealBinary(_, _, a, b) => vec![self.node(a), self.node(b)],
            ExprKind::If(c, a, b) => vec![self.node(c), self.node(a), self.node(b)],
        };
        let range = self.range_of(expr, &kids);
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
            ExprKind::Binary(BinaryOp::ShiftRight, ..) | ExprKind::ShiftLeft(..) => {
                self.checked() && kids[1].range.low.is_negative()
            }
            _ => false,
        };
        let can_stop = own || kids.iter().any(|kid| kid.can_stop);
        Node { expr, range, can_stop, kids }
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
            ExprKind::Call(procedure, _) => self.result_range(procedure.index()),
            _ => ranges::of_scalar(Scalar::Bool),
        }
    }

    /// True when an index of the place can be out of range in checked code, or its evaluation can stop otherwise.
    pub fn place_can_stop(&self, place: &Place) -> bool {
        let ty = self.type_of(place.root);
        place.indices.iter().zip(&ty.dims).any(|(index, &size)| {
            let node = self.node(index);
            node.can_stop || (self.checked() && !index_proven(&node.range, size))
        })
    }

    /// What kind of scalar an expression is; `None` for integers that no type was given.
    pub fn scalar_of(&self, node: &Node<'_>) -> Option<Scalar> {
        match &node.expr.kind {
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Compare(..) | ExprKind::And(..) | ExprKind::Or(..) => {
                Some(Scalar::Bool)
            }
            ExprKind::Real(_, ty)
            | ExprKind::IntToReal(ty, _)
            | ExprKind::RealToReal(ty, _)
            | ExprKind::RealBinary(ty, ..) => Some(Scalar::Real(*ty)),
            ExprKind::RealNegate(_) => self.scalar_of(&node.kids[0]),
            ExprKind::String(_) | ExprKind::Concat(_) => Some(Scalar::String),
            ExprKind::Load(place) => Some(self.type_of(place.root).element),
            ExprKind::Call(procedure, _) => self.plan.actor.procedures[procedure.index()].result.as_ref().map(|r| r.0),
            ExprKind::If(..) => self.scalar_of(&node.kids[1]).or_else(|| self.scalar_of(&node.kids[2])),
            ExprKind::Wrap(ty, _) | ExprKind::ShiftLeft(ty, _, _) => Some(Scalar::Int(*ty)),
            ExprKind::Int(_) | ExprKind::Negate(_) | ExprKind::Complement(_) | ExprKind::Binary(..) => None,
        }
    }
}

/// True when every value of an index is inside `0..size`.
pub fn index_proven(range: &Interval, size: u32) -> bool {
    range.non_negative() && range.high < Int::from(i64::from(size))
}
