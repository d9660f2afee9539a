//! Structured statements of the typed representation: what actions and procedures do, in order.

use crate::expr::PrintOperand;
use crate::{Argument, Expr, LocalId, NativeId, Place, ProcedureId, Scalar};
use headrace_source::Span;

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// A piece of what `print` shows: integers in decimal, booleans as `true` or `false`, reals as the shortest decimal
/// that reads back the same, strings as they are.
pub type PrintPiece = PrintOperand;

/// The forms of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Stores a scalar; the value is already wrapped to the type of the place. The value is evaluated before the
    /// indices of the place.
    Assign(Place, Expr),
    /// Copies a list into the first elements of another of the same number of dimensions whose sizes are equal, except
    /// that the outermost size of the source may be smaller. `convert` is the element type of the target when that of
    /// the source differs: each element is then converted as by a store. Source and target are the same place, or do
    /// not overlap.
    Copy {
        /// Written.
        target: Place,
        /// Read.
        source: Place,
        /// Element type to convert to, if any conversion is needed.
        convert: Option<Scalar>,
    },
    /// Two-way choice.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Runs `before`, tests the condition, runs the body, and again. `before` computes lists that the condition needs
    /// and is empty otherwise.
    While {
        /// Statements that belong to the condition.
        before: Vec<Stmt>,
        /// The condition.
        condition: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `foreach`: bounds are evaluated once (low, then high); nothing happens when `high < low`. The variable starts at
    /// low (wrapped to its type); after each iteration the loop ends if the variable, as it then is, is at least high,
    /// else it becomes itself plus one, wrapped to its type. The body may assign to it.
    Foreach {
        /// A local integer.
        variable: LocalId,
        /// First value.
        low: Expr,
        /// Last value, inclusive.
        high: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Calls a procedure, or a function whose result (already of the type of the local) is kept in `result`.
    Call {
        /// Where the scalar result goes.
        result: Option<LocalId>,
        /// What is called.
        procedure: ProcedureId,
        /// Arguments, evaluated left to right.
        arguments: Vec<Argument>,
    },
    /// Calls a native function or procedure.
    CallNative {
        /// Where the scalar result goes.
        result: Option<LocalId>,
        /// What is called.
        native: NativeId,
        /// Arguments, evaluated left to right.
        arguments: Vec<Argument>,
    },
    /// `print` and `println`.
    Print {
        /// Shown one after the other.
        pieces: Vec<PrintPiece>,
        /// Whether a line feed follows.
        newline: bool,
    },
}
