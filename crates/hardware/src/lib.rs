//! High-level synthesis (HLS) of networks: actors become modules with valid/ready streams, connections become FIFOs.
//! A network whose control is finite and complete becomes one datapath instead ([`datapath`]).
//!
//! It starts from the typed representation and not from lowered programs, because hardware wants what these have given
//! up: the widths that the source says, expressions that are one cycle whatever their width, and the names and lines of
//! CAL; and because the representation has eight forms of statements, all of them structured.
//!
//! # What becomes of an actor
//!
//! A module with one state machine. In its state *select* it looks for the first action, in the order of the test list
//! of the FSM, whose tokens are there and whose guard holds. An action whose body needs no loop, which makes at most
//! one token a port and reaches no memory, fires in that very cycle, if there is room. What else there is runs through
//! states: straight-line code is one state, a loop takes a state an iteration, a token out a state, a list that lies in
//! a memory two for an element that is read. Loops that are short and whose bounds are constants are written out.
//!
//! * Scalars, and lists of up to [`Options::register_bits`] bits, are registers, and no more than wires where no state needs
//!   them after the one that gave them a value. Larger lists are memories, with a row in a word where only whole rows of them are
//!   read and written; constant lists are tables, thus logic.
//! * A port of which an action takes several tokens has a window: a shift register that takes tokens as they come, so that
//!   all of them can be looked at before one is taken.
//! * Integers are exact: an operator has as many bits as [`headrace_analysis::ranges`] says that its value needs, or as many as
//!   are wanted of it where it wraps.
//!
//! Errors of a program (an index outside its list, a division by zero) are not reported; what happens stays within
//! bounds, as in generated C that is not checked. What is printed has no place in hardware and is left out.
//!
//! | file | what is there |
//! | --- | --- |
//! | `step` | what an actor does, as steps; which of them take one cycle |
//! | `depth` | how much logic a cycle has |
//! | `code`, `place` | variables and where they lie; elements of lists |
//! | `rows` | lists of lists with a row in a word of a memory |
//! | `node`, `integer`, `value` | expressions |
//! | `statement`, `call` | statements; procedures, written out where they are called |
//! | `action` | tokens in and out, guards, what a firing does |
//! | `actor` | ports, windows, selection, the module |
//! | `states` | steps to states of a state machine |
//! | `registers` | which variables must outlive a cycle |
//! | `propagate`, `convert`, `overwritten`, `sink` | constants and copies; choices as multiplexers; dead assignments; code sinking |
//! | `constant_streams` | constants through connections |
//! | `defaults` | values of signals where nobody looks at them |
//! | `fifo`, `link`, `sizes` | connections: FIFOs, those between bursts of different sizes, and how much they must hold |
//! | `feedback` | which connections have no latency |
//! | `alternatives` | parts of a network that exclude each other, and what they share |
//! | `datapath`, `regions` | networks as datapaths; inner networks that become some |
//! | `network` | instances, forks, conversions: the top module |

mod action;
mod actor;
mod alternatives;
mod call;
mod code;
mod constant_streams;
mod convert;
mod datapath;
mod defaults;
mod depth;
mod feedback;
mod fifo;
mod integer;
mod link;
mod network;
mod node;
mod overwritten;
mod place;
mod propagate;
mod regions;
mod registers;
mod rows;
mod sink;
mod sizes;
mod statement;
mod states;
mod step;
mod value;

use headrace_ir::Network;
use headrace_rtl::Design;
use headrace_source::Diagnostic;
use std::collections::BTreeMap;

/// What is said about the module of an actor that prints.
pub const LEAVES_OUT: &str = "What it prints is left out.";

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Capacity of FIFOs of which neither the source nor an analysis says one, in tokens.
    pub fifo_tokens: u32,
    /// Lists of more bits lie in memories.
    pub register_bits: u64,
    /// Loops with constant bounds are written out up to so many iterations,
    pub unrolled_iterations: u32,
    /// up to so many assignments of all of them together,
    pub unrolled_steps: usize,
    /// and up to so many levels of logic behind one another, or twice as many as one iteration has.
    pub chained_levels: u32,
    /// Which networks become one datapath.
    pub datapath: Datapath,
    /// Rounds that a datapath does in a clock cycle; 0: all of them.
    pub rounds_per_cycle: u32,
    /// Stages of a pipeline that takes a block in each clock cycle, with all rounds one behind the other; 0: no pipeline.
    pub stages: u32,
    /// Ports of a datapath move all tokens of a block at once.
    pub wide_ports: bool,
    /// Loops of actors do as many iterations in a clock cycle as have no more levels of logic than that; 0: one.
    pub loop_levels: u32,
    /// Where what a datapath gives decides what it gets next, and a round is a task, the first round of a block is done in the cycle in
    /// which it comes in: a block takes a cycle less, and what puts the last round out has operators of its own.
    pub rounds_at_entry: bool,
}

/// Which networks become one datapath.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Datapath {
    /// Those that can.
    #[default]
    Auto,
    /// None: every actor is a module.
    Never,
    /// All: what cannot is refused, with the reason.
    Always,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
            register_bits: 2048,
            unrolled_iterations: 64,
            unrolled_steps: 512,
            chained_levels: 24,
            datapath: Datapath::default(),
            rounds_per_cycle: 1,
            stages: 0,
            wide_ports: false,
            loop_levels: 0,
            rounds_at_entry: false,
        }
    }
}

/// Actors as modules. The top of the design has the name of the network and, for each port of the network, a stream:
/// `PORT_data_i`, `PORT_valid_i`, `PORT_ready_o`, or for outputs `PORT_data_o`, `PORT_valid_o`, `PORT_ready_i`. A token
/// moves at a rising edge at which valid and ready are set; valid does not wait for ready.
///
/// # Errors
///
/// What has no place in hardware (natives, reals, texts, procedures that call themselves), with where it stands and
/// what to do.
pub fn lower(network: &Network, options: &Options) -> Result<Design, Vec<Diagnostic>> {
    if options.datapath != Datapath::Never {
        match datapath::lower(network, options) {
            Ok(design) => return Ok(design),
            Err(reason) if options.datapath == Datapath::Always => {
                let message = format!("`{}` is no datapath: {reason}", network.name);
                return Err(vec![Diagnostic::error("unsupported-by-target", message).at(network.span, "this network")]);
            }
            Err(_) => {
                let (network, units) = regions::found(&constant_streams::with_constants(network), options);
                return network::lower(&network, &units, options);
            }
        }
    }
    network::lower(network, &BTreeMap::new(), options)
}
