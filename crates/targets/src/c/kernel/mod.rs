//! Kernels printed as C.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `expression` | one node as a C expression |
//! | `scalar` | a list of effects as statements |
//! | `machine` | what a CPU can do |
//! | `words` | a loop whose passes run side by side, in machine words |
//! | `frame` | groups of passes, what remains, and what goes on to the next call |
//! | `vectors` | vector types; one vector for each word of many passes, from memory and back |
//! | `layers` | a pass of bytes as layers of registers |
//! | `lanes` | one lane of a vector for each pass |
//! | `agreement` | words, circuits and tables of a loop, tried against it |
//! | `bits` | a loop as a circuit |
//! | `formulas` | tables in a circuit that were written as formulas |
//! | `sums` | sums between the tables of a circuit, as calls |
//! | `merged` | calls that feed only a sum, as one with it |
//! | `calls` | parts of a circuit that become calls |
//! | `rolled` | a circuit as calls of the functions that occur in it again and again |
//! | `called` | such calls, and what they call |
//! | `bitslice` | one bit of a vector for each pass |
//! | `passes` | pass after pass |
//! | `rows` | words of passes that lie side by side, taken apart and put together by permutations |
//! | `split` | pieces of passes, as passes of their own |
//! | `distributed` | a loop as two, of which one need not wait |
//! | `tabulated` | several passes side by side, with tables of what depends on single bytes |
//! | `strategy` | which way to print a loop |
//! | `trial` | how long a printed loop takes on this processor |
//! | `blocks` | registers of 128 bits, several passes in wide ones |
//! | `modular` | a linear recurrence modulo a number, with powers in lanes |
//! | `recurrence` | a product recurrence over blocks, with powers and carry-less multiplications |
//! | `split_sums` | sums over passes beside what is left of a loop without them |
//! | `copied` | elements that become what others are, after all passes |
//! | `many` | passes that need each other, for many messages at once |
//! | `renamed` | names of a loop that is made of another |
//! | `skipped` | what passes leave that are not run here |
//! | `items` | one work item of a device for each pass |
//! | `prelude` | what the printed text expects above it |

mod agreement;
mod bits;
mod bitslice;
mod blocks;
mod called;
mod calls;
mod copied;
mod distributed;
mod expression;
mod formulas;
mod frame;
mod items;
mod lanes;
mod layers;
mod machine;
mod many;
mod merged;
mod modular;
mod passes;
mod prelude;
mod prelude_wide;
mod recurrence;
mod renamed;
mod rolled;
mod rows;
mod scalar;
mod skipped;
mod split;
mod split_sums;
mod strategy;
mod sums;
mod tabulated;
mod trial;
mod vectors;
mod words;

pub use bitslice::bitslice;
pub use blocks::{Blocks, blocks, blocks_with_held};
pub use copied::with_copies;
pub use frame::{CFunction, LoopNames};
pub use items::{ItemPort, Items, items};
pub use lanes::lanes;
pub use machine::{MACHINES, Machine, NEON, supported};
pub use many::{Many, many};
pub use passes::passes;
pub use prelude::{arithmetic, prelude};
pub use recurrence::{product_once, recurrence};
pub use renamed::Renamed;
pub(super) use scalar::used_tables;
pub use scalar::{element_type, statements, tables, tables_but};
pub use skipped::{skipped, touched};
pub use split_sums::with_sums;
pub use strategy::{MOST_TEXT, Strategy, print_best, print_loop};
pub use tabulated::{TabulatedFunction, tabulated, tabulated_lanes};
pub use trial::{Alone, ON_TRIAL, Trials, trial};
pub use words::Unsuited;

use headrace_source::Span;
use headrace_transform::kernel::{NodeId, Object, ObjectId, TableId};
use headrace_transform::statements::{self as settled, Together};

/// How what lies outside of a kernel is written in C.
pub trait Names {
    /// The value of a token of an input port: an expression of an unsigned type without operators outside brackets.
    fn input(&self, port: u32, offset: i64) -> String;

    /// A pointer to `n` tokens of an input port that lie one beside the other as bytes, from this one on; `None` where
    /// they do not.
    fn input_bytes(&self, _port: u32, _offset: i64, _n: u32) -> Option<String> {
        None
    }

    /// A statement that produces a token of an output port; `value` is an expression that is less than 2^width.
    fn output(&self, port: u32, offset: u64, value: &str) -> String;

    /// A pointer to where `n` tokens of an output port go that lie one beside the other as bytes; `None` where they do
    /// not.
    fn output_bytes(&self, _port: u32, _offset: u64, _n: u32) -> Option<String> {
        None
    }

    /// An element of an object that lives from kernel to kernel: an expression that can be assigned to. Elements have the
    /// type [`element_type`] and lie one beside the other.
    fn element(&self, object: &Object, index: &str) -> String;

    /// The same where there is a shorter way to an element than by its number.
    fn element_near(&self, _object: ObjectId, _index: NodeId) -> Option<String> {
        None
    }

    /// The array that holds a table.
    fn table(&self, table: TableId) -> String;

    /// A statement that ends the run with an error where `condition` is 0: `index` was not less than `length`.
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String;

    /// An instruction of a machine; operands and result are of the type that computes with their width.
    fn instruction(&self, _description: u32, _operands: &[String]) -> String {
        String::new()
    }
}

impl Together for dyn Names + '_ {
    fn input_bytes(&self, port: u32, offset: i64, n: u32) -> bool {
        Names::input_bytes(self, port, offset, n).is_some()
    }

    fn output_bytes(&self, port: u32, offset: u64, n: u32) -> bool {
        Names::output_bytes(self, port, offset, n).is_some()
    }

    fn is_near(&self, object: ObjectId, index: NodeId) -> bool {
        self.element_near(object, index).is_some()
    }
}

/// What lies outside of a kernel that is printed.
type Outside<'a> = settled::Outside<'a, dyn Names + 'a>;
