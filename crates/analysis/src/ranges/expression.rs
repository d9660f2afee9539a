//! Values of one expression, from those of its parts.

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
