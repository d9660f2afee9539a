//! Call graph: which procedures of an actor call which.

use headrace_ir::{Actor, Argument, Expr, ExprKind, Place, Stmt, StmtKind};

/// For each procedure of an actor those that it calls, in the order in which they are evaluated.
#[derive(Clone, Debug)]
pub struct Calls {
    of: Vec<Vec<usize>>,
}

impl Calls {
    /// Those of an actor.
    pub fn of(actor: &Actor) -> Self {
        let of = actor.procedures.iter().map(|procedure| {
            let mut calls = Vec::new();
            in_block(&procedure.body, &mut calls);
            if let Some((_, result)) = &procedure.result {
                in_expr(result, &mut calls);
            }
            calls
        });
        Self { of: of.collect() }
    }

    /// What a procedure calls; several times what it calls in several places.
    pub fn from(&self, procedure: usize) -> &[usize] {
        &self.of[procedure]
    }

    /// True for procedures that can call themselves, directly or not.
    pub fn is_recursive(&self, procedure: usize) -> bool {
        let mut seen = vec![false; self.of.len()];
        let mut todo = self.of[procedure].clone();
        while let Some(next) = todo.pop() {
            if next == procedure {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                todo.extend(&self.of[next]);
            }
        }
        false
    }
}

fn in_arguments(arguments: &[Argument], calls: &mut Vec<usize>) {
    for argument in arguments {
        match argument {
            Argument::Value(value) => in_expr(value, calls),
            Argument::List(place) => in_place(place, calls),
        }
    }
}

fn in_place(place: &Place, calls: &mut Vec<usize>) {
    place.indices.iter().for_each(|index| in_expr(index, calls));
}

fn in_expr(expr: &Expr, calls: &mut Vec<usize>) {
    match &expr.kind {
        ExprKind::Load(place) => in_place(place, calls),
        ExprKind::Call(procedure, arguments) => {
            calls.push(procedure.index());
            in_arguments(arguments, calls);
        }
        _ => expr.parts().into_iter().for_each(|part| in_expr(part, calls)),
    }
}

fn in_block(statements: &[Stmt], calls: &mut Vec<usize>) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                in_expr(value, calls);
                in_place(place, calls);
            }
            StmtKind::Copy { target, source, .. } => {
                in_place(source, calls);
                in_place(target, calls);
            }
            StmtKind::If(condition, yes, no) => {
                in_expr(condition, calls);
                in_block(yes, calls);
                in_block(no, calls);
            }
            StmtKind::While { before, condition, body } => {
                in_block(before, calls);
                in_expr(condition, calls);
                in_block(body, calls);
            }
            StmtKind::Foreach { low, high, body, .. } => {
                in_expr(low, calls);
                in_expr(high, calls);
                in_block(body, calls);
            }
            StmtKind::Call { procedure, arguments, .. } => {
                calls.push(procedure.index());
                in_arguments(arguments, calls);
            }
            StmtKind::CallNative { arguments, .. } => in_arguments(arguments, calls),
            StmtKind::Print { pieces, .. } => pieces.iter().for_each(|piece| in_expr(&piece.value, calls)),
        }
    }
}
