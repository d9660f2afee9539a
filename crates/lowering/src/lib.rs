//! Networks lowered to programs: from exact integers, actors and FIFOs to machine types, functions and records.
//!
//! What the interpreter does, the program does: [`lower`] keeps the streams of every determinate network. An error of
//! the program (an index outside its list, a division by zero, a shift to the right by a negative count) is not
//! reported; it stays within bounds, as in generated C that is not checked. Integers of more than 64 bits are arrays of
//! 32-bit words, least significant first.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `building` | the module as it grows: tables, texts, records, names |
//! | `function` | a function as it grows: variables, blocks, loops |
//! | `machine` | the machine types of scalars, and conversions between types of tokens |
//! | `plan` | where the variables of an actor lie, which procedures call themselves |
//! | `code`, `place` | a function of an actor: its variables and what is known of them; places |
//! | `node`, `integer`, `value` | expressions, up to 64 bits |
//! | `usual` | shifts by counts that could be large and hardly ever are |
//! | `wide`, `wide_procedures`, `wide_division`, `digits` | integers beyond: operations, and the procedures that do them |
//! | `real` | halves, and integers as reals |
//! | `statement`, `call` | statements, procedures |
//! | `ring` | tokens to and from FIFOs |
//! | `firing`, `scheduler` | what an action does, what fires when |
//! | `network`, `boundary` | the context, and what the outside calls |
//! | `fused` | control automata in the place of schedulers |

pub mod annotated;
mod boundary;
mod building;
mod call;
mod code;
mod digits;
mod firing;
mod function;
mod fused;
mod integer;
mod machine;
mod network;
mod node;
mod place;
mod plan;
mod real;
mod ring;
mod scheduler;
mod statement;
mod usual;
mod value;
mod wide;
mod wide_division;
mod wide_procedures;

use headrace_ir::Network;
use headrace_program::Module;
use headrace_source::Diagnostic;
use headrace_transform::control::Automaton;

/// What the caller wants.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Capacity of FIFOs whose source does not say one, in tokens.
    pub fifo_tokens: u32,
    /// Tokens that wait at a port of a control automaton at least, where they come in bulk: how much goes in and out at
    /// once.
    pub boundary_tokens: u32,
    /// Tokens of a control automaton are read and made where they lie, not in arrays of functions: for languages that
    /// check no indices, or in which copies cost more than checks.
    pub tokens_in_place: bool,
    /// How iterations of loops that do not need each other run side by side, where they may.
    pub lanes: Option<Lanes>,
    /// Values of an iteration or kernel from which on its rounds are loops: for languages that are compiled while they
    /// run, and not where functions are long.
    pub most_values: Option<usize>,
    /// Mixed rotations of a value are nested, but for iterations that run side by side. Measured on SHA-256, code is
    /// faster with it by LLVM for processors of no kind in particular, and by V8; slower by gcc and HotSpot.
    pub factor_rotations: bool,
    /// Loops also run on vector registers, where a machine is found to have them and its instructions: for languages that can
    /// ask for that and have names for these.
    pub vectors: bool,
    /// Loops of automata also run on arrays of the caller ([`headrace_program::Interface::streams`]).
    pub streams: Streams,
}

/// Which loops also run on arrays of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// None.
    None,
    /// Those that run on vector registers: to the others, copies make little difference.
    Fast,
    /// All.
    All,
}

/// Iterations that run side by side, in vectors where a language or its compiler has them.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// How many.
    pub count: u32,
    /// Statements of an iteration that one loop over them may have at most; the others are in loops of their own.
    pub longest: Option<usize>,
}

impl Options {
    /// The same with tokens where they lie.
    pub const fn in_place(self) -> Self {
        Self { tokens_in_place: true, ..self }
    }

    /// The same with mixed rotations nested.
    pub const fn with_nested_rotations(self) -> Self {
        Self { factor_rotations: true, ..self }
    }

    /// The same with vector registers.
    pub const fn with_vectors(self) -> Self {
        Self { vectors: true, ..self }
    }

    /// The same with loops on arrays of the caller.
    pub const fn with_streams(self, streams: Streams) -> Self {
        Self { streams, ..self }
    }

    /// With so many tokens at ports at least, and iterations side by side.
    pub const fn of(boundary_tokens: u32, lanes: Lanes) -> Self {
        Self {
            fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
            boundary_tokens,
            tokens_in_place: false,
            lanes: Some(lanes),
            most_values: None,
            factor_rotations: false,
            vectors: false,
            streams: Streams::None,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
            boundary_tokens: 2048,
            tokens_in_place: false,
            lanes: None,
            most_values: None,
            factor_rotations: false,
            vectors: false,
            streams: Streams::None,
        }
    }
}

/// Lowers a network with its run-time scheduler.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn lower(network: &Network, options: &Options) -> Result<Module, Vec<Diagnostic>> {
    network::lower(network, options)
}

/// Lowers a network with its control automaton, which runs instead of the scheduler wherever it can.
///
/// # Errors
///
/// What an automaton has that is not lowered yet, as a sentence without a full stop: [`lower`] is there for such
/// networks.
pub fn lower_fused(network: &Network, automaton: &Automaton, options: &Options) -> Result<Module, String> {
    fused::lower(network, automaton, options)
}
