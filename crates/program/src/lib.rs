//! Programs as printers of languages take them: nothing is left to decide.
//!
//! A [`Module`] is what a network was lowered to. Widths, signs, layouts, bounds and the order of firings are settled; what
//! is left to a printer is the spelling of its language. What a printer may rely on, and [`verify`] holds programs to:
//!
//! * **Machine types only.** `bool`, integers of 8, 16, 32 and 64 bits with and without sign, binary32 and binary64. Both
//!   operands of an operator have one type. Integers wrap; a type changes only where [`ExprKind::Convert`] or
//!   [`ExprKind::Reinterpret`] says so. Arithmetic is done in 32 or 64 bits; narrower types are stored only.
//! * **Expressions are total and pure.** Whatever could go wrong was guarded: shift counts are below the width, divisors
//!   are not zero and no quotient overflows, indices lie within their array. So operands may be evaluated in any order,
//!   once or not at all. Calls are statements.
//! * **Control is structured.** `if`, `while`, `loop` with labelled `break` and `continue`, `switch` without fall-through.
//! * **State is records.** A record has scalars, arrays of fixed length and records as fields. A function takes records and
//!   arrays by reference; what one call takes for writing overlaps with nothing else that it takes, and there are no
//!   globals but constant tables, so that every language can say it by references, objects, pointers or offsets.
//! * **Arrays are whole.** A reference is to an array from its beginning, of known length; what works on a part of one takes
//!   an offset beside it. Slices of unknown length come from outside only: the functions of an [`Interface`] are given them, and
//!   may pass them on.
//! * **Words are bytes.** What lies in an array of bytes may be read and stored as a number of several, in an order that is
//!   said.
//! * **Lanes are independent.** [`Stmt::Lanes`] is the same block for many values; a language that has vectors may use them.
//! * **Vectors are registers of functions for machines that have them.** Such a function is called below an `if` of
//!   [`ExprKind::Has`], and a language without vectors leaves it out.
//! * **Variables begin at zero**: scalars and arrays alike, at every call; a vector register is given a value before it is read.
//!
//! | file | what is there |
//! | --- | --- |
//! | `types` | machine types |
//! | `module` | modules, records, tables, functions, the interface |
//! | `expr`, `stmt` | expressions and statements |
//! | `vector` | vector registers, instructions of machines |
//! | `verify` | whether a module keeps to what printers rely on |
//! | `text` | the readable form |
//! | `evaluate` | what a module means, by running it |
//! | `effects` | which functions reach the host |
//! | `names` | identifiers, none twice in a scope |
//! | `language` | words that languages keep for themselves |

pub mod effects;
pub mod evaluate;
mod expr;
pub mod language;
mod module;
pub mod names;
mod stmt;
mod text;
mod types;
mod vector;
mod verify;

pub use expr::{BinaryOp, ByteOrder, CompareOp, Expr, ExprKind, Place, Root, UnaryOp};
pub use module::{
    FeatureSetId, Field, FieldType, Function, FunctionId, Input, Interface, Module, NativeName, Output, Parameter,
    Record, RecordId, Stream, Table, TableId, Variable, VariableId, VariableKind,
};
pub use stmt::{Argument, Label, NativeArgument, Print, RealFormat, Stmt};
pub use text::text;
pub use types::Type;
pub use vector::{FeatureSet, Instruction, VectorOperand, VectorStmt};
pub use verify::verify;
