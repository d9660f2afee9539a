//! The typed intermediate representation: what a checked program is, with nothing left to look up.
//!
//! A [`Network`] is flat: instances of [`Actor`]s and the FIFOs between them. Actors are instantiated: parameters,
//! widths, list sizes, repeats and initial values are numbers. What the front end settles, so that no engine or target
//! has to:
//!
//! * **Integers are exact.** An integer expression denotes a mathematical integer; it wraps only where an
//!   [`ExprKind::Wrap`] or [`ExprKind::ShiftLeft`] says so. Every store, scalar argument, function result and emitted
//!   token is wrapped explicitly, unless its value already has exactly the type of the place.
//! * **Expressions are scalar and pure.** Lists occur only as [`Place`]s: copied, passed by reference, emitted. A list
//!   value that is not a variable was computed into a local before. Calls to natives (and to functions that reach one)
//!   are statements, in source order.
//! * **Procedures are monomorphic.** One copy exists for each shape of list arguments, so list sizes are always static.
//! * **Choice is an ordered test list.** Each state lists its actions in the order in which they are tried; the first
//!   whose tokens are there and whose guard holds is the one that fires, and if it lacks room the actor waits.
//! * **Locals start at zero** at every firing or call, except what patterns and parameters bind.

pub mod actor;
pub mod eval;
pub mod expr;
pub mod int;
pub mod lines;
mod mapping;
pub mod network;
pub mod real;
pub mod stmt;
pub mod text;
pub mod types;
pub mod verify;

pub use actor::{
    Action, ActionId, Actor, Annotation, Guard, Local, LocalId, LocalKind, Native, NativeId, Output, OutputValue,
    Pattern, Port, Procedure, ProcedureId, Schedule, State, StateId, Test, Variable, VariableId,
};
pub use expr::{Argument, BinaryOp, CompareOp, Expr, ExprKind, Place, PrintOperand, RealOp, Root};
pub use int::{ArithmeticError, Int, MAX_SHIFT};
pub use lines::Lines;
pub use mapping::Mapping;
pub use network::{ActorId, Alternative, Connection, DEFAULT_FIFO_TOKENS, Endpoint, Instance, InstanceId, Network};
pub use stmt::{PrintPiece, Stmt, StmtKind};
pub use types::{IntType, MAX_LIST_ELEMENTS, MAX_REPEAT, MAX_WIDTH, RealType, Scalar, Type, Value};
