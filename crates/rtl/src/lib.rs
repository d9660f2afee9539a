//! Register-transfer level (RTL): synchronous designs of one clock as modules with ports, registers, memories and logic.
//!
//! A [`Design`] says for every clock cycle what each register holds next and what each output shows. Printers of hardware
//! description languages spell it; nothing is left to decide. What they may rely on, and [`verify`] holds designs to:
//!
//! * **One clock, one reset.** Both are there without being mentioned: every module has them where it is printed. A register
//!   takes the value of its `next` signal at each rising edge, and its reset value while the reset is active.
//! * **Logic is combinational.** An assignment or a [`Process`] says what its signals are in the same cycle, on every path, so
//!   that there is no latch; no signal depends on itself within a cycle.
//! * **Widths are exact.** Operands of an operator have its width; what changes a width says so.
//! * **Expressions are total.** Beyond the end of a table, a memory or a signal, and of divisions by zero, the simulator
//!   shows zeros where languages show unknown values; designs must not let anything depend on them.
//!
//! | file | what is there |
//! | --- | --- |
//! | `bits` | values of any width |
//! | `design` | designs, modules, signals, memories, instances |
//! | `expr`, `stmt` | expressions, statements of processes |
//! | `verify`, `depend` | whether a design keeps to what printers rely on; what depends on what within a cycle |
//! | `activity` | whether a design has anything to do |
//! | `unread` | what nothing reads, left out |
//! | `text`, `reader` | the readable form, and back |
//! | `simulate` | what a design means, cycle by cycle |

mod activity;
mod bits;
mod depend;
mod design;
mod expr;
mod reader;
pub mod simulate;
mod stmt;
mod text;
mod unread;
mod verify;

pub use activity::{WORKS, with_activity};
pub use bits::Bits;
pub use design::{
    Assign, Connection, Design, Instance, Memory, MemoryRead, MemoryWrite, Module, Process, Signal, SignalId,
    SignalKind, Table, TableId, Timing,
};
pub use expr::{BinaryOp, CompareOp, Expr, ExprKind, ShiftOp, UnaryOp};
pub use reader::read;
pub use stmt::{Stmt, Target};
pub use text::text;
pub use unread::drop_unread;
pub use verify::verify;

/// Bits that tell so many values apart: none for up to one value.
pub fn index_bits(n_values: u64) -> u32 {
    if n_values <= 1 { 0 } else { 64 - (n_values - 1).leading_zeros() }
}
