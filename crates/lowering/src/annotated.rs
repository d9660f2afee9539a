//! Expressions annotated by value-range analysis, and what that decides for code in any language: which indices are inside their
//! lists, which comparisons always come out the same, and which shifts are worth a version for small counts.
//!
//! Who generates code makes a [`Node`] of an expression, operands first, and asks here before it chooses instructions.

use headrace_analysis::ranges::{Interval, of_expr, usual_count, with_counts_up_to};
use headrace_ir::{CompareOp, Expr, ExprKind, Int, MAX_SHIFT, MAX_WIDTH, ProcedureId, Root};

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

/// What is known where an expression stands.
pub trait Scope {
    /// Values of a variable or of the elements of a list.
    fn root_range(&self, root: Root) -> Interval;

    /// Values that a function returns.
    fn result_range(&self, procedure: ProcedureId) -> Interval;

    /// True when evaluating the expression itself, given its operands, can stop the program.
    fn stops(&self, _expr: &Expr, _kids: &[Node<'_>]) -> bool {
        false
    }
}

impl<'e> Node<'e> {
    /// Annotates an expression.
    pub fn of(expr: &'e Expr, scope: &impl Scope) -> Node<'e> {
        let kids: Vec<Node<'e>> = match &expr.kind {
            ExprKind::Concat(_) => Vec::new(),
            _ => expr.parts().into_iter().map(|part| Node::of(part, scope)).collect(),
        };
        let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
        let range = of_expr(expr, &parts, |root| scope.root_range(root), |procedure| scope.result_range(procedure));
        let can_stop = scope.stops(expr, &kids) || kids.iter().any(|kid| kid.can_stop);
        Node { expr, range, can_stop, kids }
    }

    /// The value, if there is only one.
    pub fn single(&self) -> Option<&Int> {
        self.range.single()
    }

    /// True for a left shift whose value as a whole counts, by a count that may be above the limit.
    pub fn shifts_too_far(&self) -> bool {
        matches!(&self.expr.kind, ExprKind::ShiftLeft(ty, _, _) if ty.width > MAX_WIDTH)
            && self.kids[1].range.high > Int::from(i64::from(MAX_SHIFT))
    }

    /// The expression as it is when counts of shifts are small, and the counts with what they must not exceed; nothing where
    /// that does not help: it `fits` what code computes in at once neither then nor do its operands, or a count does not.
    pub fn with_small_counts(&self, fits: &dyn Fn(&Interval) -> bool) -> Option<(Node<'e>, Vec<(&Node<'e>, i64)>)> {
        let mut counts = Vec::new();
        let narrow = self.narrowed(&mut counts);
        let all = narrow.kids.iter().map(|kid| kid.range.clone()).reduce(|all, range| all.join(&range))?;
        let is_comparison = matches!(self.expr.kind, ExprKind::Compare(..));
        let helps = fits(&all)
            && (is_comparison || fits(&narrow.range))
            && !counts.is_empty()
            && counts.iter().all(|(count, _)| fits(&count.range));
        helps.then_some((narrow, counts))
    }

    fn narrowed<'n>(&'n self, counts: &mut Vec<(&'n Node<'e>, i64)>) -> Node<'e> {
        let mut kids: Vec<Node<'e>> = self.kids.iter().map(|kid| kid.narrowed(counts)).collect();
        let mut can_stop = self.can_stop;
        if self.shifts_too_far()
            && let Some(most) = usual_count(&kids[0].range)
        {
            counts.push((&self.kids[1], most));
            kids[1].range.high = kids[1].range.high.clone().min(Int::from(most));
            can_stop = kids.iter().any(|kid| kid.can_stop);
        }
        let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
        let range = with_counts_up_to(self.expr, &parts, &self.range);
        Node { expr: self.expr, range, can_stop, kids }
    }
}

/// True when every value of an index is inside `0..size`.
pub fn index_proven(range: &Interval, size: u32) -> bool {
    range.non_negative() && range.high < Int::from(i64::from(size))
}

/// What a comparison always comes to, where the values alone say so.
pub fn decided(a: &Interval, b: &Interval, op: CompareOp) -> Option<bool> {
    use CompareOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let (less, greater) = (a.high < b.low, a.low > b.high);
    let equal = a.single().is_some() && a.single() == b.single();
    match op {
        Equal => (equal || less || greater).then_some(equal),
        NotEqual => (equal || less || greater).then_some(!equal),
        Less => (less || a.low >= b.high).then_some(less),
        LessEqual => (greater || a.high <= b.low).then_some(!greater),
        Greater => (greater || a.high <= b.low).then_some(greater),
        GreaterEqual => (less || a.low >= b.high).then_some(!less),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_and_comparisons_are_decided_by_values_alone() {
        let range = |low: i64, high: i64| Interval::new(Int::from(low), Int::from(high));
        assert!(index_proven(&range(0, 3), 4) && !index_proven(&range(0, 4), 4) && !index_proven(&range(-1, 3), 4));
        assert_eq!(decided(&range(0, 3), &range(4, 9), CompareOp::Less), Some(true));
        assert_eq!(decided(&range(0, 4), &range(4, 9), CompareOp::Less), None);
        assert_eq!(decided(&range(2, 2), &range(2, 2), CompareOp::NotEqual), Some(false));
    }
}
