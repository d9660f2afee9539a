//! How much code statements become, so that methods stay below what the virtual machine takes (65,535 bytes) and compiles
//! (8,000 bytes). An estimate, from the instructions that places and operators need.

use headrace_program::{Argument, BinaryOp, Expr, ExprKind, NativeArgument, Place, Print, Stmt, Type};

/// Bytes of a call of a part, with what follows from how it ends.
pub(super) const CALL: u32 = 40;

fn place(place: &Place) -> u32 {
    // The object of the variables and the variable, and a field each.
    5 + 3 * place.path.len() as u32
}

fn expr(value: &Expr) -> u32 {
    let parts: u32 = value.parts().into_iter().map(expr).sum();
    let own = match &value.kind {
        ExprKind::Constant(_) => 3,
        ExprKind::Read(at) => place(at),
        ExprKind::Element(at, _) => place(at) + 5,
        ExprKind::Word(at, ..) => place(at) + 10,
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 3,
        // A branch, and both values.
        ExprKind::Binary(..) if value.ty == Type::Bool => 8,
        ExprKind::Unary(..) | ExprKind::Binary(..) => 3,
        ExprKind::Compare(..) => 12,
        ExprKind::Convert(_) | ExprKind::Reinterpret(_) => 5,
        ExprKind::Select(..) => 6,
    };
    own + parts
}

/// Bytes of a statement without the blocks in it.
pub(super) fn own(statement: &Stmt) -> u32 {
    match statement {
        Stmt::Assign(at, value) => place(at) + 3 + expr(value),
        Stmt::Store(at, index, value) => place(at) + 4 + expr(index) + expr(value),
        Stmt::StoreWord(at, index, value, _) => place(at) + 9 + expr(index) + expr(value),
        Stmt::Lanes { .. } => 20,
        Stmt::Copy { target, at, source, from, count } => {
            place(target) + place(source) + expr(at) + expr(from) + expr(count) + 8
        }
        Stmt::Fill { target, at, count, value } => place(target) + 2 * expr(at) + expr(count) + expr(value) + 8,
        Stmt::If(condition, ..) => expr(condition) + 6,
        Stmt::While(_, condition, _) => expr(condition) + 6,
        Stmt::Loop(..) | Stmt::Break(_) | Stmt::Continue(_) => 6,
        Stmt::Switch(value, cases, _) => expr(value) + 16 + 11 * cases.len() as u32,
        Stmt::Call { arguments, .. } => {
            let argument = |argument: &Argument| match argument {
                Argument::Value(value) => expr(value),
                Argument::Reference(at) => place(at) + 4,
            };
            12 + arguments.iter().map(argument).sum::<u32>()
        }
        Stmt::Return(value) => 8 + value.as_ref().map_or(0, expr),
        Stmt::Print(Print::Text(value) | Print::Real(value, _)) => 20 + 2 * expr(value),
        Stmt::Print(Print::Bytes(at, from, count)) => 10 + place(at) + expr(from) + expr(count),
        Stmt::Native { arguments, .. } => {
            let argument = |argument: &NativeArgument| match argument {
                NativeArgument::Value(value) => 16 + expr(value),
                NativeArgument::Bytes(at, from, count) => 20 + place(at) + expr(from) + expr(count),
            };
            40 + arguments.iter().map(argument).sum::<u32>()
        }
    }
}

/// Bytes of a block, all in one method.
pub(super) fn block(statements: &[Stmt]) -> u32 {
    let size = |statement: &Stmt| own(statement) + statement.blocks().into_iter().map(block).sum::<u32>();
    statements.iter().map(size).fold(0, u32::saturating_add)
}
