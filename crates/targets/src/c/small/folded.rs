//! What small C repeats because that costs less than it saves: functions that become part of those that call them, and
//! iterations of loops that follow one another.

use headrace_analysis::assigned;
use headrace_ir::{Actor, Argument, Expr, ExprKind, Local, LocalKind, Place, Procedure, Root, Stmt, StmtKind};

/// The most operations of an expression that is no longer than a call of it.
const MOST_OPERATIONS: usize = 16;

/// The most statements of a procedure that is worth repeating.
const MOST_STATEMENTS: usize = 12;

/// Whether a procedure becomes part of those that call it: a short expression, of which compilers see what it becomes
/// once its arguments are known; or statements that say what they do by numbers in the calls only.
pub(in crate::c) fn is_folded(actor: &Actor, at: usize) -> bool {
    let procedure = &actor.procedures[at];
    match &procedure.result {
        Some((_, value)) => procedure.body.is_empty() && operations(value) <= MOST_OPERATIONS,
        None => is_by_numbers(actor, at, procedure),
    }
}

fn operations(expr: &Expr) -> usize {
    let own = match &expr.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Wrap(..) => 0,
        ExprKind::Load(place) => place.indices.iter().map(operations).sum(),
        ExprKind::Call(_, arguments) => 2 + arguments.len(),
        _ => 1,
    };
    own + expr.parts().into_iter().map(operations).sum::<usize>()
}

/// Whether it has several numbers for parameters, all of which are known wherever it is called.
fn is_by_numbers(actor: &Actor, at: usize, procedure: &Procedure) -> bool {
    let parameters = || procedure.locals.iter().take(procedure.n_parameters);
    let straight = procedure.body.iter().all(|statement| matches!(statement.kind, StmtKind::Assign(..)));
    if !straight
        || procedure.body.len() > MOST_STATEMENTS
        || parameters().filter(|parameter| !parameter.ty.is_list()).count() < 2
    {
        return false;
    }
    let mut known = true;
    let actions = actor.initializers.iter().chain(&actor.actions).map(|action| &action.body);
    for body in actions.chain(actor.procedures.iter().map(|procedure| &procedure.body)) {
        calls(body, &mut |callee, arguments| {
            let is_number = |argument: &Argument| match argument {
                Argument::Value(value) => is_constant(value),
                Argument::List(_) => true,
            };
            known &= callee != at || arguments.iter().all(is_number);
        });
    }
    known
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) => true,
        ExprKind::Wrap(_, inner) => is_constant(inner),
        _ => false,
    }
}

/// Every call of a procedure in statements.
fn calls(statements: &[Stmt], visit: &mut dyn FnMut(usize, &[Argument])) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Call { procedure, arguments, .. } => visit(procedure.index(), arguments),
            StmtKind::If(_, yes, no) => {
                calls(yes, visit);
                calls(no, visit);
            }
            StmtKind::While { before, body, .. } => {
                calls(before, visit);
                calls(body, visit);
            }
            StmtKind::Foreach { body, .. } => calls(body, visit),
            _ => {}
        }
    }
}

/// Iterations of a loop that stand one after the other, given how many iterations there are: where variables move
/// round, which costs nothing in a row.
pub(in crate::c) fn iterations_in_a_row(locals: &[Local], iterations: u64, body: &[Stmt]) -> u64 {
    let is_scalar = |place: &Place| {
        let local = match place.root {
            Root::Local(local) => &locals[local.index()],
            Root::Actor(_) => return false,
        };
        place.indices.is_empty() && !local.ty.is_list() && local.kind == LocalKind::Plain
    };
    let is_move = |statement: &&Stmt| match &statement.kind {
        StmtKind::Assign(place, value) => {
            is_scalar(place) && matches!(&value.kind, ExprKind::Load(source) if is_scalar(source))
        }
        _ => false,
    };
    let moves = body.iter().filter(is_move).count();
    let straight = body.iter().all(|statement| matches!(statement.kind, StmtKind::Assign(..)));
    if straight && moves >= 3 && iterations.is_multiple_of(IN_A_ROW) { IN_A_ROW } else { 1 }
}

/// Iterations in a row: with more, compilers run out of registers.
const IN_A_ROW: u64 = 4;

/// Whether compilers should have all iterations of a loop in a row: few and short ones that shift integers of two words
/// by the number of the iteration, which is much more work where that is not known. `bits` says how many the elements
/// of a variable have.
pub(in crate::c) fn is_unrolled(variable: usize, iterations: u64, body: &[Stmt], bits: &dyn Fn(Root) -> u32) -> bool {
    let [Stmt { kind: StmtKind::Assign(place, value), .. }] = body else { return false };
    let grows = bits(place.root) > WORD_BITS && reads_wide(value, bits);
    grows && iterations <= 8 && operations(value) + place.indices.len() <= 8 && shifts_by(value, variable)
}

/// Bits of a word of the machines that small programs are for.
const WORD_BITS: u32 = 32;

fn reads_wide(expr: &Expr, bits: &dyn Fn(Root) -> u32) -> bool {
    let here = matches!(&expr.kind, ExprKind::Load(place) if bits(place.root) > WORD_BITS);
    here || expr.parts().into_iter().any(|part| reads_wide(part, bits))
}

fn shifts_by(expr: &Expr, variable: usize) -> bool {
    let here = match &expr.kind {
        ExprKind::ShiftLeft(_, _, count) | ExprKind::Binary(headrace_ir::BinaryOp::ShiftRight, _, count) => {
            assigned::in_expr(count, variable).any()
        }
        _ => false,
    };
    here || expr.parts().into_iter().any(|part| shifts_by(part, variable))
}

/// About how much code an actor is, in no unit.
pub(super) fn size(actor: &Actor) -> usize {
    let actions = actor.initializers.iter().chain(&actor.actions).map(|action| size_of_block(&action.body) + 10);
    let procedures = actor.procedures.iter().map(|procedure| {
        size_of_block(&procedure.body) + procedure.result.as_ref().map_or(0, |(_, value)| operations(value))
    });
    actions.chain(procedures).sum()
}

fn size_of_block(statements: &[Stmt]) -> usize {
    let of = |statement: &Stmt| match &statement.kind {
        StmtKind::Assign(place, value) => 1 + operations(value) + place.indices.iter().map(operations).sum::<usize>(),
        StmtKind::If(condition, yes, no) => 1 + operations(condition) + size_of_block(yes) + size_of_block(no),
        StmtKind::While { before, body, .. } => 2 + size_of_block(before) + size_of_block(body),
        StmtKind::Foreach { body, .. } => 2 + size_of_block(body),
        StmtKind::Call { arguments, .. } => 1 + arguments.len(),
        _ => 3,
    };
    statements.iter().map(of).sum()
}
