//! Scheduling by executing the control.
//!
//! Which action fires next is decided by round numbers, counters, sizes and states, which either are known while the
//! network is compiled or come in as tokens that a program must look at. So the network is executed without its data:
//! tokens and variables are nodes of a [`Graph`](crate::kernel::Graph), constants as far as they are known. Where a guard
//! cannot be decided the execution forks, and what it has done since the last fork is a [`Kernel`]. Equal states are one
//! [`ControlState`], so what comes out is a finite automaton: FIFOs, guards and firings are gone from it.
//!
//! A state is the states of all actors, the number of tokens in each FIFO, and the control values that are known. A
//! variable that takes more than a few values in otherwise equal states is not known there any more: counters become
//! variables of the program, and the exploration ends. Example: `left := left - 16` while `left >= 16` is one state with
//! a kernel that leads back to it, however long the message is.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `explore`, `follow` | states, from what samples do and from what they leave open |
//! | `schedule` | which firing comes next |
//! | `wiring` | what goes where in a network, and which actions decide |
//! | `execute`, `expression`, `repetition` | actions on nodes: statements, expressions, loops |
//! | `lists`, `memory`, `places` | variables while that goes on |
//! | `facts` | which conditions hold on a path |
//! | `keys`, `liveness` | what tells one state from another |
//! | `decisive` | what samples have to compute |
//! | `loops`, `together`, `rounds` | circles of kernels as loops |
//! | `hindrances` | why states have no loops |
//! | `congruence` | elements that are equal whenever a loop begins |
//! | `residues` | numbers of which only the residue counts |
//! | `repeated` | kernels that lead back to their state and write lists at computed places |
//! | `brevity` | kernels whose rounds are better loops |

mod brevity;
mod congruence;
mod decisive;
mod execute;
mod explore;
mod expression;
mod facts;
mod follow;
mod hindrances;
mod keys;
mod lists;
mod liveness;
mod loops;
mod memory;
mod numbers;
mod places;
mod repeated;
mod repetition;
mod residues;
mod rounds;
mod schedule;
mod together;
mod wiring;

pub use brevity::{Brevity, rounds_in_registers};
pub use explore::{Limits, Sample, automaton_of};
pub use headrace_kernel::automaton::{
    Automaton, Awaited, ControlState, CountedLoop, Holds, LastPass, Next, Part, Round, Rounds, Step, Trips, Update,
};
pub use hindrances::{Hindrance, hindrances};
pub use loops::once;
pub use repeated::{Repeated, repeated, together};

use headrace_kernel::automaton;
use headrace_source::Span;

/// Why a network, or a part of it, stays with its run-time scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFused {
    /// The reason, as a sentence without a full stop.
    pub reason: String,
    /// Where.
    pub span: Span,
}

impl NotFused {
    pub(crate) fn new(reason: impl Into<String>, span: Span) -> NotFused {
        NotFused { reason: reason.into(), span }
    }
}
