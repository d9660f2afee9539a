//! Inlining and unrolling for size. What small C repeats because that costs less than it saves: functions that become part of
//! those that call them, and iterations of loops that follow one another.

use headrace_analysis::assigned;
use headrace_ir::{
    Actor, Argument, BinaryOp, Expr, ExprKind, Local, LocalKind, Place, Procedure, Root, Stmt, StmtKind,
};

/// The most operations of an expression that is no longer than a call of it.
const MOST_OPERATIONS: usize = 16;

/// The most statements of a procedure that is worth repeating.
const MOST_STATEMENTS: usize = 12;

/// Whether a procedure becomes part of those that call it: a short expression, of which compilers see what it becomes
/// once its arguments are known; or statements that say what they do by numbers in the calls only.
pub(super) fn is_folded(actor: &Actor, at: usize) -> bool {
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
/// round, which costs nothing in a row, and the few of a short one that accumulates in a variable, whose counter would
/// take as many instructions; of a long one whose only statement computes much, neighbours share what they read.
pub(super) fn iterations_in_a_row(locals: &[Local], iterations: u64, body: &[Stmt]) -> u64 {
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
    if let [Stmt { kind: StmtKind::Assign(place, value), .. }] = body
        && iterations <= IN_A_ROW
        && is_scalar(place)
        && operations(value) <= MOST_ACCUMULATED
    {
        return iterations;
    }
    if let [Stmt { kind: StmtKind::Assign(place, value), .. }] = body
        && !is_scalar(place)
        && iterations >= LONG_LOOP
        && iterations.is_multiple_of(IN_A_ROW)
        && operations(value) >= LEAST_IN_LONG_LOOP
    {
        return IN_A_ROW;
    }
    let moves = body.iter().filter(is_move).count();
    let straight = body.iter().all(|statement| matches!(statement.kind, StmtKind::Assign(..)));
    if straight && moves >= 3 && iterations.is_multiple_of(IN_A_ROW) { IN_A_ROW } else { 1 }
}

/// The least iterations of a long loop, and the least operations of its statement.
const LONG_LOOP: u64 = 32;
const LEAST_IN_LONG_LOOP: usize = 8;

/// The most operations of what is accumulated in a row.
const MOST_ACCUMULATED: usize = 8;

/// Iterations in a row: with more, compilers run out of registers.
const IN_A_ROW: u64 = 4;

/// Whether compilers should have all iterations of a loop in a row: few and short ones that shift integers of two words
/// by the number of the iteration, which is much more work where that is not known. `bits` says how many the elements
/// of a variable have.
pub(super) fn is_unrolled(variable: usize, iterations: u64, body: &[Stmt], bits: &dyn Fn(Root) -> u32) -> bool {
    let [Stmt { kind: StmtKind::Assign(place, value), .. }] = body else { return false };
    let grows = bits(place.root) > WORD_BITS && reads_wide(value, bits);
    grows && iterations <= 8 && operations(value) + place.indices.len() <= 8 && shifts_by(value, variable)
}

/// The lists of a loop that is one XOR of lists of bytes, element by element: target and operands, all indexed by the
/// variable. `is_bytes` says whether the elements of a variable are.
pub(super) fn xor_of_lists<'b>(
    variable: usize,
    body: &'b [Stmt],
    is_bytes: &dyn Fn(Root) -> bool,
) -> Option<[&'b Place; 3]> {
    let [Stmt { kind: StmtKind::Assign(target, value), .. }] = body else { return None };
    let ExprKind::Binary(BinaryOp::Xor, a, b) = &unwrapped(value, 8).kind else { return None };
    let (ExprKind::Load(a), ExprKind::Load(b)) = (&a.kind, &b.kind) else { return None };
    let is_element = |place: &Place| {
        let [index] = place.indices.as_slice() else { return false };
        let by_variable = matches!(&index.kind, ExprKind::Load(Place { root: Root::Local(local), indices, .. })
            if local.index() == variable && indices.is_empty());
        by_variable && is_bytes(place.root)
    };
    [target, a, b].into_iter().all(is_element).then_some([target, a, b])
}

/// Bytes of a word of the machines that small programs are for.
pub(super) const WORD_BYTES: usize = (WORD_BITS / 8) as usize;

/// What statements store that are the four bytes of a word, the least significant first, in elements that follow one
/// another: the first element and the word. `is_bytes` says whether the elements of a variable are bytes, `is_word`
/// whether those are words of 32 bits.
pub(super) fn stored_word<'b>(
    statements: &'b [Stmt],
    is_bytes: &dyn Fn(Root) -> bool,
    is_word: &dyn Fn(Root) -> bool,
) -> Option<(&'b Place, &'b Place)> {
    let mut found: Option<(&Place, &Place)> = None;
    for (at, statement) in statements.get(..WORD_BYTES)?.iter().enumerate() {
        let StmtKind::Assign(place, value) = &statement.kind else { return None };
        let (word, shift) = shifted(unwrapped(value, 8));
        let ExprKind::Load(word) = &word.kind else { return None };
        let indices = || place.indices.iter().chain(&word.indices);
        if shift != 8 * at
            || place.indices.len() != 1
            || !indices().all(is_plain)
            || !is_bytes(place.root)
            || !is_word(word.root)
        {
            return None;
        }
        match found {
            None => found = Some((place, word)),
            Some((first, known)) => {
                let follows = place.root == first.root
                    && match &place.indices[0].kind {
                        ExprKind::Binary(BinaryOp::Add, base, more) => {
                            is_number(more, at) && is_same(base, &first.indices[0])
                        }
                        _ => false,
                    };
                if !follows || !is_same_place(known, word) {
                    return None;
                }
            }
        }
    }
    // The word must not change while its bytes are stored.
    found.filter(|(place, word)| place.root != word.root)
}

/// An expression without what wraps it to as many bits as count of it or more.
fn unwrapped(mut expr: &Expr, bits: u32) -> &Expr {
    while let ExprKind::Wrap(ty, inner) = &expr.kind
        && ty.width >= bits
    {
        expr = inner;
    }
    expr
}

/// Whether an index reads nothing but numbers and scalars.
fn is_plain(expr: &Expr) -> bool {
    let here = match &expr.kind {
        ExprKind::Load(place) => place.indices.is_empty(),
        ExprKind::Int(_) | ExprKind::Binary(..) => true,
        _ => false,
    };
    here && expr.parts().into_iter().all(is_plain)
}

/// What is shifted to the right, and by how many bits.
fn shifted(expr: &Expr) -> (&Expr, usize) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::ShiftRight, inner, count) => match &count.kind {
            ExprKind::Int(bits) => {
                (unwrapped(inner, WORD_BITS + 1), bits.to_u64().and_then(|n| n.try_into().ok()).unwrap_or(usize::MAX))
            }
            _ => (expr, 0),
        },
        _ => (expr, 0),
    }
}

fn is_number(expr: &Expr, number: usize) -> bool {
    matches!(&expr.kind, ExprKind::Int(value) if value.to_u64() == u64::try_from(number).ok())
}

/// Whether two expressions are the same, wherever they stand.
fn is_same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Load(a), ExprKind::Load(b)) => is_same_place(a, b),
        (ExprKind::Wrap(a_type, a), ExprKind::Wrap(b_type, b)) => a_type == b_type && is_same(a, b),
        (ExprKind::Binary(a_op, a, c), ExprKind::Binary(b_op, b, d)) => a_op == b_op && is_same(a, b) && is_same(c, d),
        _ => false,
    }
}

fn is_same_place(a: &Place, b: &Place) -> bool {
    a.root == b.root
        && a.indices.len() == b.indices.len()
        && a.indices.iter().zip(&b.indices).all(|(a, b)| is_same(a, b))
}

/// Bits of a word of the machines that small programs are for.
const WORD_BITS: u32 = 32;

fn reads_wide(expr: &Expr, bits: &dyn Fn(Root) -> u32) -> bool {
    let here = matches!(&expr.kind, ExprKind::Load(place) if bits(place.root) > WORD_BITS);
    here || expr.parts().into_iter().any(|part| reads_wide(part, bits))
}

fn shifts_by(expr: &Expr, variable: usize) -> bool {
    let here = match &expr.kind {
        ExprKind::ShiftLeft(_, _, count) | ExprKind::Binary(BinaryOp::ShiftRight, _, count) => {
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
