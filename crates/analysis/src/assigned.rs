//! Which locals are assigned before anything reads them, so that they need no zero at first, and which locals a block
//! reads or writes.
//!
//! The test is syntactic: the first statement that mentions the local assigns it as a whole, and it comes before all
//! other mentions in the same block or in one block inside.

use headrace_ir::{Action, Argument, Expr, ExprKind, LocalId, OutputValue, Place, Procedure, Root, Stmt, StmtKind};

/// What an expression or statement does with a local.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Some value of it is read.
    pub read: bool,
    /// It, or a part of it, is written.
    pub written: bool,
}

impl Uses {
    /// Mentioned at all.
    pub fn any(self) -> bool {
        self.read || self.written
    }

    fn and(self, other: Uses) -> Uses {
        Uses { read: self.read || other.read, written: self.written || other.written }
    }
}

const NONE: Uses = Uses { read: false, written: false };

fn local_root(place: &Place, local: usize) -> bool {
    matches!(place.root, Root::Local(id) if id.index() == local)
}

fn in_indices(place: &Place, local: usize) -> Uses {
    place.indices.iter().fold(NONE, |uses, index| uses.and(in_expr(index, local)))
}

fn in_place_read(place: &Place, local: usize) -> Uses {
    in_indices(place, local).and(Uses { read: local_root(place, local), written: false })
}

fn in_place_written(place: &Place, local: usize) -> Uses {
    in_indices(place, local).and(Uses { read: false, written: local_root(place, local) })
}

pub(crate) fn in_arguments(arguments: &[Argument], local: usize) -> Uses {
    arguments.iter().fold(NONE, |uses, argument| {
        uses.and(match argument {
            Argument::Value(value) => in_expr(value, local),
            // A callee may write what it gets by reference.
            Argument::List(place) => in_place_read(place, local).and(in_place_written(place, local)),
        })
    })
}

/// What an expression does with a local.
pub fn in_expr(expr: &Expr, local: usize) -> Uses {
    match &expr.kind {
        ExprKind::Load(place) => in_place_read(place, local),
        ExprKind::Call(_, arguments) => in_arguments(arguments, local),
        _ => expr.parts().into_iter().fold(NONE, |uses, part| uses.and(in_expr(part, local))),
    }
}

fn is(id: &LocalId, local: usize) -> bool {
    id.index() == local
}

/// What a statement does with a local.
pub fn in_statement(statement: &Stmt, local: usize) -> Uses {
    match &statement.kind {
        StmtKind::Assign(place, value) => in_expr(value, local).and(in_place_written(place, local)),
        StmtKind::Copy { target, source, .. } => in_place_read(source, local).and(in_place_written(target, local)),
        StmtKind::If(condition, yes, no) => {
            in_expr(condition, local).and(in_block(yes, local)).and(in_block(no, local))
        }
        StmtKind::While { before, condition, body } => {
            in_block(before, local).and(in_expr(condition, local)).and(in_block(body, local))
        }
        StmtKind::Foreach { variable, low, high, body } => {
            let own = Uses { read: false, written: is(variable, local) };
            in_expr(low, local).and(in_expr(high, local)).and(in_block(body, local)).and(own)
        }
        StmtKind::Call { result, arguments, .. } | StmtKind::CallNative { result, arguments, .. } => {
            let own = Uses { read: false, written: result.as_ref().is_some_and(|result| is(result, local)) };
            in_arguments(arguments, local).and(own)
        }
        StmtKind::Print { pieces, .. } => {
            pieces.iter().fold(NONE, |uses, piece| uses.and(in_expr(&piece.value, local)))
        }
    }
}

/// What a block does with a local.
pub fn in_block(statements: &[Stmt], local: usize) -> Uses {
    statements.iter().fold(NONE, |uses, statement| uses.and(in_statement(statement, local)))
}

/// What the output expressions of an action do with a local.
pub fn in_outputs(action: &Action, local: usize) -> Uses {
    action.produces.iter().flat_map(|output| &output.values).fold(NONE, |uses, value| {
        uses.and(match value {
            OutputValue::Scalar(value) => in_expr(value, local),
            OutputValue::List { place, .. } => in_place_read(place, local),
        })
    })
}

/// What the guard of an action does with a local.
pub fn in_guard(action: &Action, local: usize) -> Uses {
    action
        .guard
        .conditions
        .iter()
        .fold(in_block(&action.guard.before, local), |uses, condition| uses.and(in_expr(condition, local)))
}

/// True when the body of an action assigns the local before anything in body or output expressions reads it. Guards
/// have locals of their own.
pub fn assigned_first_in_action(action: &Action, local: usize) -> bool {
    assigned_before(&action.body, local, in_outputs(action, local).any()) && !in_guard(action, local).any()
}

/// True when the body of a procedure assigns the local before anything reads it.
pub fn assigned_first_in_procedure(procedure: &Procedure, local: usize) -> bool {
    let after = procedure.result.as_ref().is_some_and(|(_, value)| in_expr(value, local).any());
    assigned_before(&procedure.body, local, after)
}

/// True when the statements assign the local before anything reads it. `after`: it is also mentioned after them.
pub fn assigned_before(statements: &[Stmt], local: usize, after: bool) -> bool {
    assigned_first(statements, local, after) || (!after && only_loop_variable(statements, local))
}

/// `after`: the local is also mentioned after the block.
fn assigned_first(statements: &[Stmt], local: usize, after: bool) -> bool {
    let mut mentions = statements.iter().enumerate().filter(|(_, statement)| in_statement(statement, local).any());
    let Some((at, first)) = mentions.next() else { return !after };
    let more = after || statements[at + 1..].iter().any(|statement| in_statement(statement, local).any());
    match &first.kind {
        StmtKind::Assign(place, value) => {
            local_root(place, local) && place.indices.is_empty() && !in_expr(value, local).any()
        }
        StmtKind::Call { result: Some(result), arguments, .. }
        | StmtKind::CallNative { result: Some(result), arguments, .. } => {
            is(result, local) && !in_arguments(arguments, local).any()
        }
        StmtKind::If(condition, yes, no) => {
            let (in_yes, in_no) = (in_block(yes, local).any(), in_block(no, local).any());
            if more || in_expr(condition, local).any() {
                return false;
            }
            (!in_yes || assigned_first(yes, local, false)) && (!in_no || assigned_first(no, local, false))
        }
        StmtKind::While { before, condition, body } => {
            !more
                && !in_block(before, local).any()
                && !in_expr(condition, local).any()
                && assigned_first(body, local, false)
        }
        StmtKind::Foreach { variable, low, high, body } => {
            let bounds = in_expr(low, local).and(in_expr(high, local)).any();
            if more || bounds {
                return false;
            }
            is(variable, local) || assigned_first(body, local, false)
        }
        StmtKind::Copy { .. } | StmtKind::Print { .. } | StmtKind::Call { .. } | StmtKind::CallNative { .. } => false,
    }
}

/// True when every mention of the local in these statements stands inside a `foreach` over it that does not assign it,
/// so that it can be a variable of the loops themselves.
pub fn only_loop_variable(statements: &[Stmt], local: usize) -> bool {
    statements.iter().all(|statement| {
        if !in_statement(statement, local).any() {
            return true;
        }
        match &statement.kind {
            StmtKind::Foreach { variable, low, high, body } => {
                if in_expr(low, local).and(in_expr(high, local)).any() {
                    return false;
                }
                if is(variable, local) { !in_block(body, local).written } else { only_loop_variable(body, local) }
            }
            StmtKind::If(condition, yes, no) => {
                !in_expr(condition, local).any() && only_loop_variable(yes, local) && only_loop_variable(no, local)
            }
            StmtKind::While { before, condition, body } => {
                !in_expr(condition, local).any() && only_loop_variable(before, local) && only_loop_variable(body, local)
            }
            _ => false,
        }
    })
}
