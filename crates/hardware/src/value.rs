//! Scalar expressions of all kinds: booleans and choices; integers stand in `integer`.
//!
//! What an expression needs first (loops of what it calls, words of memories) goes before it as steps; where it is evaluated
//! on a condition only, these stand inside a choice. Everything else is total, so it may be evaluated anyway.

use crate::code::Code;
use crate::node::Node;
use crate::step::Step;
use headrace_ir::{ExprKind, Scalar};
use headrace_rtl::Expr;

impl<'a> Code<'a> {
    /// The value of an expression as a variable of the type keeps it.
    pub(crate) fn value_as(&mut self, node: &Node<'_>, scalar: Scalar) -> Expr {
        match scalar {
            Scalar::Int(ty) => self.low(node, ty.width),
            Scalar::Bool => self.truth(node),
            Scalar::Real(_) | Scalar::String => {
                let width = self.width(scalar, node.expr.span);
                Expr::number(width, 0)
            }
        }
    }

    /// A boolean expression, as one bit.
    pub(crate) fn truth(&mut self, node: &Node<'_>) -> Expr {
        match &node.expr.kind {
            ExprKind::Bool(value) => Expr::bit(*value),
            ExprKind::Load(place) => {
                let location = self.locate(place);
                self.load(&location)
            }
            ExprKind::Not(_) => self.truth(&node.kids[0]).inverted(),
            ExprKind::And(..) | ExprKind::Or(..) => self.short_circuit(node),
            ExprKind::Compare(op, _, _) => {
                let (a, b) = (&node.kids[0], &node.kids[1]);
                match self.scalar_of(a.expr).or_else(|| self.scalar_of(b.expr)) {
                    Some(Scalar::Bool) => {
                        let (x, y) = (self.truth(a), self.truth(b));
                        let op = if *op == headrace_ir::CompareOp::Equal {
                            headrace_rtl::CompareOp::Equal
                        } else {
                            headrace_rtl::CompareOp::NotEqual
                        };
                        Expr::compare(op, x, y)
                    }
                    Some(scalar @ (Scalar::Real(_) | Scalar::String)) => {
                        self.width(scalar, node.expr.span);
                        Expr::bit(false)
                    }
                    _ => self.compare_integers(a, b, *op),
                }
            }
            ExprKind::If(..) => self.choose(node, 1, &mut |code, branch| code.truth(branch)),
            ExprKind::Call(procedure, arguments) => self.call_expression(*procedure, arguments, node.expr.span),
            _ => {
                self.unsupported(node.expr.span, "operands of the wrong kind", "check the program first");
                Expr::bit(false)
            }
        }
    }

    fn short_circuit(&mut self, node: &Node<'_>) -> Expr {
        let is_and = matches!(node.expr.kind, ExprKind::And(..));
        let a = self.truth(&node.kids[0]);
        let (b, before) = self.inside(|code| code.truth(&node.kids[1]));
        if crate::step::all_simple(&before) {
            self.steps.extend(before);
            return if is_and { a.and(b) } else { a.or(b) };
        }
        let holds = self.variable(&format!("{}holds", self.prefix), 1);
        self.push(Step::Set(holds, a));
        let now = self.get(holds);
        let mut block = before;
        block.push(Step::Set(holds, b));
        self.push_if(if is_and { now.clone() } else { now.clone().inverted() }, block, Vec::new());
        now
    }

    /// One of two branches, each made by `branch` in so many bits.
    pub(crate) fn choose(
        &mut self,
        node: &Node<'_>,
        width: u32,
        branch: &mut dyn FnMut(&mut Self, &Node<'_>) -> Expr,
    ) -> Expr {
        let condition = self.truth(&node.kids[0]);
        let (yes, mut before_yes) = self.inside(|code| branch(code, &node.kids[1]));
        let (no, mut before_no) = self.inside(|code| branch(code, &node.kids[2]));
        if crate::step::all_simple(&before_yes) && crate::step::all_simple(&before_no) {
            self.steps.extend(before_yes);
            self.steps.extend(before_no);
            return Expr::select(condition, yes, no);
        }
        let chosen = self.variable(&format!("{}chosen", self.prefix), width);
        before_yes.push(Step::Set(chosen, yes));
        before_no.push(Step::Set(chosen, no));
        self.push_if(condition, before_yes, before_no);
        self.get(chosen)
    }
}
