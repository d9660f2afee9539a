//! XLIM, the XML Language-Independent Model of the OpenDF and OpenForge tools: read, verified, executed.
//!
//! A design is an actor: ports, state variables, and modules (tasks) of operations on values that are assigned once.
//! What is read here is what the open tools around the format agree on (the CAL to XLIM transformation of OpenDF,
//! OpenForge, the XLIM back end of Orcc), which were written to its description (XLIM 1.0, Xilinx, 2007) when that was
//! in circulation; the description itself was not consulted. Nothing is taken from this project's own writer, so that
//! running what it wrote is evidence.
//!
//! | file | what is there |
//! | --- | --- |
//! | `design` | a design as data |
//! | `read` | XML to design, verified on the way |
//! | `modules` | the bodies of modules: scopes, choices, loops |
//! | `operations` | which operations there are, what they take and give |
//! | `code` | a module as a list of instructions, so that it can be left and entered anywhere |
//! | `machine` | one actor while it runs |
//! | `network` | designs in a network of XDF, as an engine |
//!
//! # What a design means
//!
//! * Types are `bool`, `int` and `uint` with a `size` in bits. Sources of an operation are taken with their exact values, the
//!   result is computed exactly and wraps to the type of the output port. (Tools that size operands first agree as long as
//!   operands have the type of the result, which is how this project writes.)
//! * A name is assigned once in each module at the top, and seen after it stands, in its module and those inside; those of a
//!   `test` also in what follows it. `PHI` of a choice takes from the branch that was taken (`qualifier`), `PHI` of a
//!   loop first from before the loop, then from its body.
//! * A module with `autostart="true"` runs from the start, others when a `taskCall` names them. `pinRead` waits for a
//!   token and `pinWrite` for room. An iteration through the outermost loop of such a module in which nothing happened (no token
//!   moved, no variable or value carried to the next iteration changed, no task called) waits for the outside.
//! * `pinStatus` says whether there is a token, or room for one; `pinAvail` (of OpenDF's later dialect) how many. `pinPeek`
//!   reads a token ahead.
//! * A shift by more than the size, a division by zero, an index or a peek outside ends the run with an error.

mod code;
mod design;
mod machine;
mod modules;
mod network;
mod operations;
mod read;

pub use design::{Design, Pin, StateVar, Task};
pub use network::{Options, XlimEngine, XlimNetwork};
pub use read::read;

/// Widest integer that is read: intermediate results of wide operands are wider than any stored value.
pub const MAX_SIZE: u32 = 1 << 17;
