//! Code generation for transitions and loops, in C. Kernels printed as C.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `expression` | one node as a C expression |
//! | `scalar` | a list of effects as statements |
//! | `machine` | levels of processors, as C asks for them |
//! | `words` | a loop whose iterations run side by side, in machine words |
//! | `loop_frame` | groups of iterations, what remains, and what goes on to the next call |
//! | `vectors` | vector types; one vector for each word of many iterations, from memory and back |
//! | `layers` | an iteration of bytes as layers of registers |
//! | `lanes` | one lane of a vector for each iteration |
//! | `translation_validation` | words, circuits and tables of a loop, tried against it |
//! | `bits` | a loop as a circuit |
//! | `outlined_functions` | tables in a circuit that were written as formulas |
//! | `linear_subcircuits` | sums between the tables of a circuit, as calls |
//! | `fused_subcircuits` | calls that feed only a sum, as one with it |
//! | `subcircuits` | parts of a circuit that become calls |
//! | `outlined_circuit` | a circuit as calls of the functions that occur in it again and again |
//! | `print_outlined` | such calls, and what they call |
//! | `bitslice` | one bit of a vector for each iteration |
//! | `sequential` | iteration after iteration |
//! | `rows` | words of iterations that lie side by side, taken apart and put together by permutations |
//! | `transpose` | squares of words in registers, by merges of pairs |
//! | `split_iteration` | pieces of iterations, as iterations of their own |
//! | `distributed` | a loop as two, of which one need not wait |
//! | `byte_planes` | one byte of a vector for each byte of a word, with tables that are filled first |
//! | `tabulated` | several iterations side by side, with tables of what depends on single bytes |
//! | `strategy` | which way to print a loop |
//! | `autotune` | how long a printed loop takes on this processor |
//! | `blocks` | registers of 128 bits, several iterations in wide ones |
//! | `modular` | a linear recurrence modulo a number, with powers in lanes |
//! | `recurrence` | a product recurrence over blocks, with powers and carry-less multiplications |
//! | `stitched` | both parts of a loop with such a recurrence in one loop |
//! | `short_trip` | both parts for few iterations, in one register |
//! | `portable_product` | the same in C for any machine |
//! | `extract_reductions` | sums over iterations beside what is left of a loop without them |
//! | `sink_copies` | elements that become what others are, after all iterations |
//! | `multi_buffer`, `messages` | iterations that need each other, for many messages at once |
//! | `renamed` | names of a loop that is made of another |
//! | `advance_counters` | what iterations leave that are not run here |
//! | `work_items` | one work item of a device for each iteration |
//! | `work` | operations of printed loops, counted by kind |
//! | `prelude` | what the printed text expects above it |

mod advance_counters;
mod autotune;
mod bits;
mod bitslice;
mod blocks;
mod byte_planes;
mod distributed;
mod expression;
mod extract_reductions;
mod fused_subcircuits;
mod lanes;
mod layers;
mod linear_subcircuits;
mod loop_frame;
pub mod machine;
mod messages;
mod modular;
mod multi_buffer;
mod outlined_circuit;
mod outlined_functions;
mod portable_product;
mod prelude;
mod prelude_wide;
mod print_outlined;
mod recurrence;
mod renamed;
mod rows;
mod scalar;
mod sequential;
mod short_trip;
mod sink_copies;
mod split_iteration;
mod stitched;
mod strategy;
mod subcircuits;
mod tabulated;
mod translation_validation;
mod transpose;
mod vectors;
mod words;
pub mod work;
mod work_items;

pub use advance_counters::{skipped, touched};
pub use autotune::{Alone, ON_TRIAL, Trials, trial, trial_of_many};
pub use bitslice::bitslice;
pub use blocks::{Blocks, blocks, blocks_with_held};
pub use byte_planes::in_byte_planes;
pub use extract_reductions::with_sums;
pub use lanes::lanes;
pub use loop_frame::{CFunction, LoopNames, Support};
pub use machine::{Machine, Needs};
pub use messages::Many;
pub use modular::POWERS_BYTES as RESIDUE_POWERS_BYTES;
pub use multi_buffer::many;
pub use portable_product::{portable_product, portable_recurrence};
pub use prelude::{arithmetic, prelude};
pub use recurrence::{Memo, POWERS_BYTES, product_once, recurrence};
pub use renamed::Renamed;
pub(super) use scalar::used_tables;
pub use scalar::{element_type, statements, tables, tables_but, tables_named};
pub use sequential::sequential;
pub use short_trip::{product_kept, short_trip};
pub use sink_copies::with_copies;
pub use stitched::stitched;
pub use strategy::{MOST_FUNCTION, Strategy, print_best, print_loop};
pub use tabulated::{TabulatedFunction, tabulated, tabulated_lanes};
pub use words::NotApplicable;
pub use work_items::{ItemPort, Items, items};

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

    /// An element of an object that lives from kernel to kernel: an expression that can be assigned to. Elements have
    /// the type [`element_type`] and lie one beside the other.
    fn element(&self, object: &Object, index: &str) -> String;

    /// The same where there is a shorter way to an element than by its number.
    fn element_near(&self, _object: ObjectId, _index: NodeId) -> Option<String> {
        None
    }

    /// What is kept of an object that loops multiply by.
    fn memo(&self, _multiplier: &Object) -> Option<Memo> {
        None
    }

    /// The array that holds a table.
    fn table(&self, table: TableId) -> String;

    /// A statement that ends the run with an error where `condition` is 0: `index` was not less than `length`.
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String;

    /// What the function begins with that gives the bytes of a word in the other order; then come the bits of the word, up to 64.
    fn swap(&self) -> &'static str {
        "__builtin_bswap"
    }

    /// What a function that has the context begins with: statements, a line each.
    fn entered(&self) -> String {
        String::new()
    }

    /// A function under a name that follows from what it does, for all programs that have the same: `identity` says all that
    /// its text depends on but the objects, which it works on in this order. `None` where functions stay what they are.
    fn shared(&self, _identity: &str, _objects: &[&Object]) -> Option<Shared<'_>> {
        None
    }

    /// An instruction of a machine; operands and result are of the type that computes with their width.
    fn instruction(&self, _description: u32, _operands: &[String]) -> String {
        String::new()
    }
}

/// What a function is printed with that several programs may have.
pub struct Shared<'a> {
    /// What its name begins with.
    pub name: String,
    /// What stands above it: the type that it works on, `struct NAME_on`.
    pub above: String,
    /// What it is called with, an initializer of that type, where the context is `s`.
    pub on: String,
    /// The fields of that type: of what each points to the type, and where that lies in the context `s`.
    pub fields: Vec<(String, String)>,
    /// What things are called in it.
    pub names: Box<dyn Names + 'a>,
}

impl Shared<'_> {
    /// Text that stands once in a file, whoever prints it first.
    pub fn guarded(&self, text: &str) -> String {
        guarded(&self.name, text)
    }
}

/// Text that stands once in a file, however often it is printed.
pub fn guarded(name: &str, text: &str) -> String {
    format!("#ifndef has_{name}\n#define has_{name}\n{text}#endif\n")
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
