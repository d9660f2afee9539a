//! Code-size estimation for methods. How much code statements become, so that methods stay below what the virtual machine takes
//! (65,535 bytes) and compiles (8,000 bytes). Bounds from above, from the instructions that places and operators need.

use headrace_program::{
    Argument, BinaryOp, Expr, ExprKind, Function, NativeArgument, Place, Print, Root, Stmt, Type, VariableKind,
};

/// Bytes of a call of a part, with what follows from how it ends.
pub(super) const CALL: u32 = 40;

/// Where the variables of a function lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Bytes of what reads or writes one.
    variable: u32,
}

impl Size {
    /// In an object.
    pub(super) const IN_PARTS: Size = Size { variable: 5 };

    /// In the frame of a method: beyond 256 words instructions for them are longer.
    pub(super) fn of_whole(function: &Function) -> Self {
        let words = function.variables.iter().map(|variable| match variable.kind {
            VariableKind::Scalar(Type::U64 | Type::I64 | Type::F64) | VariableKind::Slice { .. } => 2,
            _ => 1,
        });
        // The object itself is the first.
        let n_words: u32 = 1 + words.sum::<u32>();
        Size { variable: if n_words <= 256 { 2 } else { 4 } }
    }

    fn place(self, place: &Place) -> u32 {
        let root = match place.root {
            Root::Table(_) => 3,
            Root::Variable(_) => self.variable,
        };
        root + 3 * place.path.len() as u32
    }

    fn expr(self, value: &Expr) -> u32 {
        let parts: u32 = value.parts().into_iter().map(|part| self.expr(part)).sum();
        let own = match &value.kind {
            // Reals are made of their bits.
            ExprKind::Constant(_) if value.ty.is_real() => 6,
            ExprKind::Constant(_) | ExprKind::Has(_) => 3,
            ExprKind::Read(at) => self.place(at),
            // Of a slice, the index of its beginning is added.
            ExprKind::Element(at, _) => self.place(at) + 5 + self.variable + 1,
            ExprKind::Word(at, ..) => self.place(at) + 6 + self.variable + 1,
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 3,
            // A branch, and both values.
            ExprKind::Binary(..) if value.ty == Type::Bool => 8,
            ExprKind::Binary(..) => 1,
            ExprKind::Unary(..) => 8,
            ExprKind::Compare(..) => 12,
            ExprKind::Convert(_) | ExprKind::Reinterpret(_) => 8,
            ExprKind::Select(..) => 6,
        };
        own + parts
    }

    /// Bytes of a statement without the blocks in it.
    pub(super) fn own(self, statement: &Stmt) -> u32 {
        let (place, expr) = (|at: &Place| self.place(at), |value: &Expr| self.expr(value));
        match statement {
            Stmt::Assign(at, value) => place(at) + 3 + expr(value),
            Stmt::Store(at, index, value) => place(at) + 5 + self.variable + expr(index) + expr(value),
            Stmt::StoreWord(at, index, value, _) => place(at) + 7 + self.variable + expr(index) + expr(value),
            // It counts, and is 0 behind it.
            Stmt::Lanes { .. } => 4 * self.variable + 20,
            Stmt::Copy { target, at, source, from, count } => {
                place(target) + place(source) + expr(at) + expr(from) + expr(count) + 2 * self.variable + 8
            }
            Stmt::Fill { target, at, count, value } => {
                place(target) + 2 * expr(at) + expr(count) + expr(value) + 2 * self.variable + 8
            }
            Stmt::If(condition, ..) => expr(condition) + 6,
            Stmt::While(_, condition, _) => expr(condition) + 6,
            Stmt::Vector(_) => 0,
            Stmt::Loop(..) | Stmt::Break(_) | Stmt::Continue(_) => 6,
            // A table may have five entries for each case.
            Stmt::Switch(value, cases, _) => expr(value) + 16 + 24 * cases.len() as u32,
            Stmt::Call { arguments, .. } => {
                let argument = |argument: &Argument| match argument {
                    Argument::Value(value) => expr(value),
                    Argument::Reference(at) => place(at) + self.variable,
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
    pub(super) fn block(self, statements: &[Stmt]) -> u32 {
        let size = |statement: &Stmt| {
            self.own(statement) + statement.blocks().into_iter().map(|block| self.block(block)).sum::<u32>()
        };
        statements.iter().map(size).fold(0, u32::saturating_add)
    }

    /// Bytes of a function that is one method: what gives its variables their zeros comes first.
    pub(super) fn whole(function: &Function) -> u32 {
        let size = Size::of_whole(function);
        let zeros = function.variables.iter().map(|variable| match variable.kind {
            VariableKind::Array(..) => 2 * size.variable + 3 + 5 + 4,
            _ => size.variable + 1,
        });
        zeros.fold(size.block(&function.body), u32::saturating_add)
    }
}
