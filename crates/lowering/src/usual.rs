//! Code versioning of shifts by counts of which the program does not say that they are small. Their values as a whole may
//! need thousands of bits, and hardly ever do: programs look at the counts, and compute in 64 bits where these allow it.
//!
//! Example: in `x < (1 << n) - 1`, with an `int` n, the right side is a number of up to 2049 bits; with n at most 60, which
//! is tested first, it is one of 64.

use crate::annotated::Node;
use crate::code::Code;
use crate::machine::holding;
use headrace_program::{CompareOp, Expr, Place, Stmt, Type};

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
        let (narrow, counts) = node.with_small_counts(&|range| holding(range).is_some())?;
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
