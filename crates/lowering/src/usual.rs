//! Code versioning of shifts by counts of which the program does not say that they are small. Their values as a whole may
//! need thousands of bits, and hardly ever do: programs look at the counts, and compute in 64 bits where these allow it.
//!
//! Example: in `x < (1 << n) - 1`, with an `int` n, the right side is a number of up to 2049 bits; with n at most 60, which
//! is tested first, it is one of 64.

use crate::code::Code;
use crate::machine::holding;
use crate::node::Node;
use headrace_analysis::ranges::{Interval, usual_count, with_counts_up_to};
use headrace_ir::{ExprKind, Int, MAX_SHIFT, MAX_WIDTH};
use headrace_program::{CompareOp, Expr, Place, Stmt, Type};

/// True for a left shift whose value as a whole counts, by a count that may be above the limit.
pub(crate) fn shifts_too_far(node: &Node<'_>) -> bool {
    matches!(&node.expr.kind, ExprKind::ShiftLeft(ty, _, _) if ty.width > MAX_WIDTH)
        && node.kids[1].range.high > Int::from(i64::from(MAX_SHIFT))
}

/// An expression as it is when counts are small, and the counts with what they must not exceed.
fn usual<'n, 'e>(node: &'n Node<'e>, counts: &mut Vec<(&'n Node<'e>, i64)>) -> Node<'e> {
    let mut kids: Vec<Node<'e>> = node.kids.iter().map(|kid| usual(kid, counts)).collect();
    if shifts_too_far(node)
        && let Some(most) = usual_count(&kids[0].range)
    {
        counts.push((&node.kids[1], most));
        kids[1].range.high = kids[1].range.high.clone().min(Int::from(most));
    }
    let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
    let range = with_counts_up_to(node.expr, &parts, &node.range);
    Node { expr: node.expr, range, kids }
}

impl Code<'_, '_> {
    /// The value, of the type, by the usual case where counts are small and by the general one elsewhere; nothing when small
    /// counts do not help.
    pub(crate) fn by_counts(
        &mut self,
        node: &Node<'_>,
        ty: Type,
        small: &mut dyn FnMut(&mut Self, &Node<'_>) -> Expr,
        general: &mut dyn FnMut(&mut Self, &Node<'_>) -> Expr,
    ) -> Option<Expr> {
        let mut counts = Vec::new();
        let narrow = usual(node, &mut counts);
        let all = narrow.kids.iter().map(|kid| kid.range.clone()).reduce(|all, range| all.join(&range))?;
        holding(&all)?;
        if !matches!(node.expr.kind, ExprKind::Compare(..)) {
            holding(&narrow.range)?;
        }
        if counts.is_empty() {
            return None;
        }
        let mut condition = Expr::bool(true);
        for (count, most) in counts {
            let own = holding(&count.range)?;
            let by = self.low(count, own);
            let most = u64::try_from(most).unwrap_or(0);
            condition = condition.and(Expr::compare(CompareOp::LessEqual, by, Expr::int(own, most)));
        }
        let (yes, mut before_yes) = self.inside(|code| small(code, &narrow));
        let (no, mut before_no) = self.inside(|code| general(code, node));
        let usual = self.f.scalar("usual", ty);
        before_yes.push(Stmt::Assign(Place::variable(usual), yes));
        before_no.push(Stmt::Assign(Place::variable(usual), no));
        self.push_if(condition, before_yes, before_no);
        Some(self.f.read(usual))
    }
}
