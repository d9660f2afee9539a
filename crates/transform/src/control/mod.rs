//! Partial evaluation of control: exploration of a network to a finite automaton. Scheduling by executing the control.
//!
//! Which action fires next is decided by round numbers, counters, sizes and states, which either are known while the
//! network is compiled or come in as tokens that a program must look at. So the network is executed without its data:
//! tokens and variables are nodes of a [`Graph`](crate::kernel::Graph), constants as far as they are known. Where a
//! guard cannot be decided the execution forks, and what it has done since the last fork is a [`Transition`]. Equal
//! states are one [`ControlState`], so what comes out is a finite automaton: FIFOs, guards and firings are gone from
//! it.
//!
//! A state is the states of all actors, the number of tokens in each FIFO, and the control values that are known. A
//! variable that takes more than a few values in otherwise equal states is not known there any more: counters become
//! variables of the program, and the exploration ends. Example: `left := left - 16` while `left >= 16` is one state
//! with a transition that leads back to it, however long the message is.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `explore`, `follow_samples` | states, from what samples do and from what they leave open |
//! | `search` | which samples, and how many of the states, code is generated for |
//! | `schedule` | which firing comes next |
//! | `wiring` | what goes where in a network, and which actions decide |
//! | `symbolic_execution`, `expression`, `source_loops` | actions on nodes: statements, expressions, loops |
//! | `symbolic_store`, `symbolic_memory`, `places` | variables while that goes on |
//! | `facts` | which conditions hold on a path |
//! | `state_identity`, `liveness` | what tells one state from another |
//! | `control_slice` | what samples have to compute |
//! | `loops`, `compose_transitions`, `counted_paths` | cycles of transitions as loops |
//! | `list_windows` | lists that loops go through, as ports |
//! | `action` | what one firing of one action does, by itself |
//! | `hindrances` | why states have no loops |
//! | `congruence` | elements that are equal whenever a loop begins |
//! | `residues` | numbers of which only the residue counts |
//! | `indexed_update_loops` | transitions that lead back to their state and write lists at computed places |
//! | `block_copies` | transitions that lead back to their state and store token after token |
//! | `code_size` | transitions whose rounds are better loops |

mod action;
mod block_copies;
mod code_size;
mod compose_transitions;
mod congruence;
mod control_slice;
mod counted_paths;
mod explore;
mod expression;
mod facts;
mod follow_samples;
mod hindrances;
mod indexed_update_loops;
mod list_windows;
mod liveness;
mod loops;
mod numbers;
mod places;
mod residues;
mod schedule;
mod search;
mod source_loops;
mod state_identity;
mod symbolic_execution;
mod symbolic_memory;
mod symbolic_store;
mod wiring;

pub use action::{ActionTransition, transition_of_action};
pub use block_copies::{BlockCopy, CountedElement, block_copies};
pub use code_size::Brevity;
pub use explore::{Followed, Limits, Sample, Unrolling, automaton_along, automaton_of};
pub use headrace_kernel::automaton::{
    Automaton, Awaited, ControlState, CountedLoop, CountedPath, CountedPaths, Holds, LastIteration, Next, Part, Step,
    Trips, Update, Window,
};
pub use hindrances::{Hindrance, hindrances};
pub use indexed_update_loops::{Repeated, repeated, together};
pub use loops::once;
pub use search::{Samples, search, within};

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
