//! Code versioning of shifts. Shifts by counts of which the program does not say that they are small: their values as a whole
//! may need thousands of bits, and hardly ever do. Code looks at the counts, and computes in 64 bits where these allow it.
//!
//! Example: in `x < (1 << n) - 1`, with an `int` n, the right side is a number of up to 2049 bits; with n at most 60, which
//! is tested first, it is one of 64.

use super::code::Code;
use super::code::node::Node;
use super::code::value::{Kind, Value, shifts_too_far};
use super::ctype::Repr;
use super::text::{Declared, text};
use headrace_analysis::ranges::{Interval, usual_count, with_counts_up_to};
use headrace_ir::{ExprKind, Int};

/// An expression as it is when counts are small, and the counts with what they must not exceed.
fn usual<'n, 'e>(node: &'n Node<'e>, counts: &mut Vec<(&'n Node<'e>, i64)>) -> Node<'e> {
    let mut kids: Vec<Node<'e>> = node.kids.iter().map(|kid| usual(kid, counts)).collect();
    let mut can_stop = node.can_stop;
    if shifts_too_far(node)
        && let Some(most) = usual_count(&kids[0].range)
    {
        counts.push((&node.kids[1], most));
        kids[1].range.high = kids[1].range.high.clone().min(Int::from(most));
        can_stop = kids.iter().any(|kid| kid.can_stop);
    }
    let parts: Vec<&Interval> = kids.iter().map(|kid| &kid.range).collect();
    let range = with_counts_up_to(node.expr, &parts, &node.range);
    Node { expr: node.expr, range, can_stop, kids }
}

impl Code<'_> {
    /// The value by the usual case where counts are small and by the general one elsewhere; nothing when small counts do not
    /// help.
    pub fn by_counts(
        &mut self,
        node: &Node<'_>,
        kind: Kind,
        small: &mut dyn FnMut(&mut Self, &Node<'_>) -> Value,
        general: &mut dyn FnMut(&mut Self, &Node<'_>) -> Value,
    ) -> Option<Value> {
        let mut counts = Vec::new();
        let narrow = usual(node, &mut counts);
        let all = narrow.kids.iter().map(|kid| kid.range.clone()).reduce(|all, range| all.join(&range))?;
        Repr::holding(&all)?;
        if !matches!(node.expr.kind, ExprKind::Compare(..)) {
            Repr::holding(&narrow.range)?;
        }
        if counts.is_empty() || counts.iter().any(|(count, _)| Repr::holding(&count.range).is_none()) {
            return None;
        }
        let mut condition: Option<Value> = None;
        for (count, most) in counts {
            let by = self.exact(count);
            let limit = Value::int(&Int::from(most), by.repr());
            let holds = Value::infix("<=", &by, &limit, Kind::Bool);
            condition = Some(match condition {
                None => holds,
                Some(before) => Value::infix("&&", &before, &holds, Kind::Bool),
            });
        }
        let condition = condition?;
        let yes = self.capture(|code| small(code, &narrow));
        let no = self.capture(|code| general(code, node));
        let ty = match kind {
            Kind::Int(repr) => repr.c(),
            Kind::Bool => "bool",
            Kind::Real | Kind::Text => return None,
        };
        let name = self.temporary("usual");
        self.line(text![ty, " ", Declared(&name), ";"]);
        self.branches(&name, &condition, [yes, no]);
        Some(Value::primary(name, kind))
    }
}
