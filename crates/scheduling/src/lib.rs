//! Instruction scheduling: orders of operations that depend on each other, whatever the operations are.
//!
//! A problem is given by numbers: operations from 0 on, each with what must be done before. Who knows what an operation is
//! makes the problem, and puts its operations into the order that comes out.
//!
//! | file | what is there |
//! | --- | --- |
//! | `problem` | operations with latencies, issued so many in a cycle; schedules, verified |
//! | `list` | list scheduling by the longest way to the end |
//! | `pressure` | how many values an order holds at once; an order that follows chains to their ends |
//! | `spills` | a search for an order that puts few values aside where registers are few |
//! | `cyclic` | loops on machines with several kinds of units; schedules in which iterations overlap, bounds on them, verified |
//! | `recurrences` | a bound on the interval of loops whose recurrences wait for units |
//! | `modulo` | iterative modulo scheduling |
//! | `justify` | schedules with recurrences made shorter from the end and from the beginning |
//! | `moves` | operations of such a schedule in other cycles, one or two at a time |
//! | `list_units` | list scheduling for several kinds of units, one iteration after the other |
//! | `chance` | numbers by chance that are always the same |
//! | `sink` | values moved down to their first readers, where less is held then |

pub mod chance;
pub mod cyclic;
pub mod justify;
pub mod list;
pub mod list_units;
pub mod modulo;
pub mod moves;
pub mod pressure;
pub mod problem;
mod recurrences;
pub mod sink;
pub mod spills;

pub use problem::{Operation, Problem, Schedule, Violation};
