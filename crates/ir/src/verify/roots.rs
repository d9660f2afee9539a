//! Uses and definitions: the locals that statements and expressions read or write.

use crate::{Argument, Expr, ExprKind, LocalId, Place, Root, Stmt, StmtKind};
use std::collections::HashSet;

fn roots_of_place(place: &Place, out: &mut HashSet<LocalId>) {
    if let Root::Local(id) = place.root {
        out.insert(id);
    }
    place.indices.iter().for_each(|index| roots_of_expr(index, out));
}

fn roots_of_arguments(arguments: &[Argument], out: &mut HashSet<LocalId>) {
    for argument in arguments {
        match argument {
            Argument::Value(value) => roots_of_expr(value, out),
            Argument::List(place) => roots_of_place(place, out),
        }
    }
}

pub(super) fn roots_of_stmt(stmt: &Stmt, out: &mut HashSet<LocalId>) {
    match &stmt.kind {
        StmtKind::Assign(place, value) => {
            roots_of_place(place, out);
            roots_of_expr(value, out);
        }
        StmtKind::Copy { target, source, .. } => {
            roots_of_place(target, out);
            roots_of_place(source, out);
        }
        StmtKind::If(condition, then, otherwise) => {
            roots_of_expr(condition, out);
            then.iter().chain(otherwise).for_each(|stmt| roots_of_stmt(stmt, out));
        }
        StmtKind::While { before, condition, body } => {
            roots_of_expr(condition, out);
            before.iter().chain(body).for_each(|stmt| roots_of_stmt(stmt, out));
        }
        StmtKind::Foreach { low, high, body, .. } => {
            roots_of_expr(low, out);
            roots_of_expr(high, out);
            body.iter().for_each(|stmt| roots_of_stmt(stmt, out));
        }
        StmtKind::Call { arguments, .. } | StmtKind::CallNative { arguments, .. } => roots_of_arguments(arguments, out),
        StmtKind::Print { pieces, .. } => pieces.iter().for_each(|piece| roots_of_expr(&piece.value, out)),
    }
}

pub(super) fn roots_of_expr(expr: &Expr, out: &mut HashSet<LocalId>) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &expr.kind {
        ExprKind::Load(place) => roots_of_place(place, out),
        ExprKind::Call(_, arguments) => roots_of_arguments(arguments, out),
        _ => expr.parts().into_iter().for_each(|part| roots_of_expr(part, out)),
    });
}
