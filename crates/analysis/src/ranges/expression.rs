//! Interval arithmetic on expressions: the values of one, from those of its parts.

use super::{Interval, of_scalar};
use headrace_ir::{Expr, ExprKind, ProcedureId, Root, Scalar};

/// Which integers an expression can be, for those who go through one themselves: given what its parts ([`Expr::parts`], those
/// of a text left out) can be, the elements of a variable, and the result of a function.
pub fn of_expr(
    expr: &Expr,
    parts: &[&Interval],
    root: impl FnOnce(Root) -> Interval,
    result: impl FnOnce(ProcedureId) -> Interval,
) -> Interval {
    match &expr.kind {
        ExprKind::Int(value) => Interval::of(value.clone()),
        ExprKind::Load(place) => root(place.root),
        ExprKind::Negate(_) => parts[0].negate(),
        ExprKind::Complement(_) => parts[0].complement(),
        ExprKind::Wrap(ty, _) => parts[0].wrap(*ty),
        ExprKind::Binary(op, _, _) => Interval::binary(*op, parts[0], parts[1]),
        ExprKind::ShiftLeft(ty, _, _) => parts[0].shift_left(parts[1], *ty),
        ExprKind::If(..) => parts[1].join(parts[2]),
        ExprKind::Call(procedure, _) => result(*procedure),
        _ => of_scalar(Scalar::Bool),
    }
}

/// A count up to which `x << count` is computed in 64 bits, sums and comparisons around it too; nothing when x is large itself.
pub fn usual_count(x: &Interval) -> Option<i64> {
    i64::try_from(x.signed_bits()).ok().map(|bits| 62 - bits).filter(|&most| most >= 15)
}

/// Which integers an expression can be when less is known possible of its parts than when `all` was found.
pub fn with_counts_up_to(expr: &Expr, parts: &[&Interval], all: &Interval) -> Interval {
    of_expr(expr, parts, |_| all.clone(), |_| all.clone())
}
