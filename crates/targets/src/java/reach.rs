//! Reachability of statements. Which statements can complete normally, as sections 14.22 of the Java Language Specification
//! says: what follows one that cannot is an error there.

use headrace_program::{Expr, ExprKind, Label, Stmt};

/// A condition that Java may evaluate when it compiles: loops are then judged by its value.
pub(super) fn is_fixed(expr: &Expr) -> bool {
    !matches!(expr.kind, ExprKind::Read(_) | ExprKind::Element(..) | ExprKind::Word(..))
        && expr.parts().into_iter().all(is_fixed)
}

/// Whether something after the statement can be reached.
pub(super) fn completes(statement: &Stmt) -> bool {
    match statement {
        Stmt::If(_, yes, no) => block_completes(yes) || block_completes(no),
        Stmt::While(own, condition, body) => condition.constant() != Some(1) || is_left(body, *own),
        Stmt::Loop(own, body) => is_left(body, *own),
        Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => false,
        Stmt::Switch(_, cases, rest) => cases.iter().any(|(_, block)| block_completes(block)) || block_completes(rest),
        _ => true,
    }
}

/// Whether the end of a block can be reached.
pub(super) fn block_completes(block: &[Stmt]) -> bool {
    block.iter().all(completes)
}

/// Whether a statement that can be reached leaves the loop.
fn is_left(block: &[Stmt], own: Label) -> bool {
    for statement in block {
        let left = match statement {
            Stmt::Break(to) => *to == own,
            _ => statement.blocks().into_iter().any(|block| is_left(block, own)),
        };
        if left {
            return true;
        }
        if !completes(statement) {
            return false;
        }
    }
    false
}
