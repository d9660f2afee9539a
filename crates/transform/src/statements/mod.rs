//! Instruction order and storage of values, for printers of any language. Transitions and iterations as statements in
//! order, for printers of any language.
//!
//! What is settled here needs no knowledge of a language: which values get variables and where, what is read before it
//! is written over, which bytes go together as words, and what iterations keep in variables from one to the next.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `independent_components` | transitions as parts that do not need each other |
//! | `outputs_early` | tokens that are put out as soon as can be |
//! | `bit_moves` | what a node reads: loads of several bytes, shifted and masked values, byte swaps |
//! | `code_motion` | where in a list of effects a node gets its variable |
//! | `order` | a list of effects as statements |
//! | `sink_for_pressure` | values right before what needs them first |
//! | `join_loads` | values that lie together, as one |
//! | `carried_scalars` | what iterations of a loop keep from one to the next, and the effects of one |
//! | `lanes` | iterations side by side |
//! | `size` | how much text there will be |

mod bit_moves;
mod carried_scalars;
mod code_motion;
mod independent_components;
mod join_loads;
mod lanes;
mod order;
mod outputs_early;
mod sink_for_pressure;
mod size;

pub use bit_moves::{Outside, Piece, Place};
pub use carried_scalars::{Iterations, Kept};
pub use code_motion::{PATCHED, Write};
pub use independent_components::independent_components;
pub use join_loads::join_loads;
pub use lanes::{Filled, Lanes, Slots, Taken, Tokens};
pub use order::{Order, Ordered, Statement, ordered};
pub use outputs_early::outputs_early;
pub use size::size;

use crate::kernel::{NodeId, ObjectId};

/// Which tokens lie one beside the other in memory.
pub trait Together {
    /// Whether so many tokens of an input port lie together as bytes, from this one on.
    fn input_bytes(&self, port: u32, offset: i64, n: u32) -> bool;

    /// Whether so many tokens of an output port go where they lie together as bytes.
    fn output_bytes(&self, port: u32, offset: u64, n: u32) -> bool;

    /// Whether there is a shorter way to an element than by its number, which then is not computed for it.
    fn is_near(&self, _object: ObjectId, _index: NodeId) -> bool {
        false
    }
}

/// For tests: no tokens lie together.
#[cfg(test)]
struct Apart;

#[cfg(test)]
impl Together for Apart {
    fn input_bytes(&self, _port: u32, _offset: i64, _n: u32) -> bool {
        false
    }

    fn output_bytes(&self, _port: u32, _offset: u64, _n: u32) -> bool {
        false
    }
}
