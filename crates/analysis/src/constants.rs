//! Constant evaluation: values of expressions that no variable changes.

use headrace_ir::eval::int_binary;
use headrace_ir::{Actor, Expr, ExprKind, Int, Root, Value};

/// Expressions deeper than this have no known value.
const MAX_DEPTH: usize = 100;

/// The value of an integer expression that is made of literals and constants of the actor.
pub(crate) fn constant(actor: &Actor, expr: &Expr) -> Option<Int> {
    value(actor, expr, 0)
}

fn value(actor: &Actor, expr: &Expr, depth: usize) -> Option<Int> {
    if depth > MAX_DEPTH {
        return None;
    }
    let known = |expr: &Expr| value(actor, expr, depth + 1);
    Some(match &expr.kind {
        ExprKind::Int(value) => value.clone(),
        ExprKind::Load(place) => {
            let Root::Actor(id) = place.root else { return None };
            match actor.variables.get(id.index()).filter(|variable| !variable.mutable).map(|variable| &variable.initial)
            {
                Some(Value::Int(value)) => value.clone(),
                _ => return None,
            }
        }
        ExprKind::Negate(a) => known(a)?.neg(),
        ExprKind::Complement(a) => known(a)?.complement(),
        ExprKind::Wrap(ty, a) => known(a)?.wrap(*ty),
        ExprKind::Binary(op, a, b) => int_binary(*op, &known(a)?, &known(b)?).ok()?,
        ExprKind::ShiftLeft(ty, a, b) => known(a)?.shl(&known(b)?, *ty).ok()?,
        _ => return None,
    })
}
