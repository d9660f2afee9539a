//! A walk over the identities in a piece of the representation, to collect or to renumber them.

use headrace_ir::{Argument, Expr, ExprKind, NativeId, Place, ProcedureId, Root, Stmt, StmtKind};

/// What is done with identities.
pub(crate) trait Ids {
    /// The root of a place, or the variable of a loop.
    fn root(&mut self, root: &mut Root);
    /// A procedure that is called.
    fn procedure(&mut self, _: &mut ProcedureId) {}
    /// A native that is called.
    fn native(&mut self, _: &mut NativeId) {}
}

impl<F: FnMut(&mut Root)> Ids for F {
    fn root(&mut self, root: &mut Root) {
        self(root);
    }
}

pub(crate) fn stmts(body: &mut [Stmt], ids: &mut dyn Ids) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::Assign(target, value) => {
                place(target, ids);
                expr(value, ids);
            }
            StmtKind::Copy { target, source, .. } => {
                place(target, ids);
                place(source, ids);
            }
            StmtKind::If(condition, then, otherwise) => {
                expr(condition, ids);
                block(then, ids);
                block(otherwise, ids);
            }
            StmtKind::While { before, condition, body } => {
                block(before, ids);
                expr(condition, ids);
                block(body, ids);
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let mut root = Root::Local(*variable);
                ids.root(&mut root);
                expr(low, ids);
                expr(high, ids);
                block(body, ids);
            }
            StmtKind::Call { procedure, arguments, .. } => {
                ids.procedure(procedure);
                arguments.iter_mut().for_each(|argument| self::argument(argument, ids));
            }
            StmtKind::CallNative { native, arguments, .. } => {
                ids.native(native);
                arguments.iter_mut().for_each(|argument| self::argument(argument, ids));
            }
            StmtKind::Print { pieces, .. } => pieces.iter_mut().for_each(|piece| expr(&mut piece.value, ids)),
        }
    }
}

fn block(body: &mut [Stmt], ids: &mut dyn Ids) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || stmts(body, ids));
}

pub(crate) fn place(place: &mut Place, ids: &mut dyn Ids) {
    ids.root(&mut place.root);
    place.indices.iter_mut().for_each(|index| expr(index, ids));
}

fn argument(argument: &mut Argument, ids: &mut dyn Ids) {
    match argument {
        Argument::Value(value) => expr(value, ids),
        Argument::List(list) => place(list, ids),
    }
}

pub(crate) fn expr(e: &mut Expr, ids: &mut dyn Ids) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &mut e.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => {}
        ExprKind::Load(source) => place(source, ids),
        ExprKind::Negate(x)
        | ExprKind::Complement(x)
        | ExprKind::Not(x)
        | ExprKind::Wrap(_, x)
        | ExprKind::IntToReal(_, x)
        | ExprKind::RealToReal(_, x)
        | ExprKind::RealNegate(x) => expr(x, ids),
        ExprKind::Binary(_, x, y)
        | ExprKind::ShiftLeft(_, x, y)
        | ExprKind::Compare(_, x, y)
        | ExprKind::And(x, y)
        | ExprKind::Or(x, y)
        | ExprKind::RealBinary(_, _, x, y) => {
            expr(x, ids);
            expr(y, ids);
        }
        ExprKind::If(x, y, z) => {
            expr(x, ids);
            expr(y, ids);
            expr(z, ids);
        }
        ExprKind::Call(procedure, arguments) => {
            ids.procedure(procedure);
            arguments.iter_mut().for_each(|argument| self::argument(argument, ids));
        }
        ExprKind::Concat(operands) => operands.iter_mut().for_each(|operand| expr(&mut operand.value, ids)),
    });
}
