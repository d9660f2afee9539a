//! Kernels and passes as statements in order, for printers of any language.
//!
//! What is settled here needs no knowledge of a language: which values get variables and where, what is read before it is
//! written over, which bytes go together as words, and what passes keep in variables from one to the next.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `apart` | kernels as parts that do not need each other |
//! | `early` | tokens that are put out as soon as can be |
//! | `pieces` | what a node reads: loads of several bytes, shifted and masked values, byte swaps |
//! | `place` | where in a list of effects a node gets its variable |
//! | `order` | a list of effects as statements |
//! | `late` | values right before what needs them first |
//! | `glue` | values that lie together, as one |
//! | `passes` | what passes of a loop keep from one to the next, and the effects of one |
//! | `lanes` | passes side by side |

mod apart;
mod early;
mod glue;
mod lanes;
mod late;
mod order;
mod passes;
mod pieces;
mod place;

pub use apart::apart;
pub use early::outputs_early;
pub use glue::glue;
pub use lanes::{Filled, Lanes, Slots, Taken, Tokens};
pub use order::{Order, Ordered, Statement, ordered};
pub use passes::{Kept, Passes};
pub use pieces::{Outside, Piece, Place};
pub use place::Write;

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
