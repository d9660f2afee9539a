//! Strategy selection for a loop, by estimated cost. Which way to print a loop.

use super::bitslice::bitslice;
use super::byte_planes::in_byte_planes;
use super::distributed::distributed;
use super::lanes::lanes;
use super::layers::layers;
use super::loop_frame::{CFunction, LoopNames};
use super::machine::Machine;
use super::modular::modular;
use super::sequential::sequential;
use super::split_iteration::split;
use super::tabulated::{tables_in_registers, tabulated, tabulated_lanes};
use super::words::NotApplicable;
use headrace_transform::kernel::Loop;

/// A way to print a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Iteration after iteration, as scalar statements: always possible, and the same on every machine.
    Sequential,
    /// One lane of a vector for each iteration.
    Lanes,
    /// One bit of a vector for each iteration.
    Bits,
    /// Pieces of iterations, in the best of the other ways.
    Pieces,
    /// What need not wait in the best of the other ways, and then what goes on from iteration to iteration.
    Distributed,
    /// Several iterations side by side as scalar statements, with tables of what depends on single bytes.
    Tables,
    /// One lane of a vector for each iteration, with tables that are filled first.
    TableLanes,
    /// One byte of a vector for each byte of a word of each iteration, with tables that are filled first.
    BytePlanes,
    /// One lane of a vector for each iteration, with long functions of bytes as tables that lie in registers.
    Registers,
    /// Iteration after iteration, its bytes side by side in registers.
    Layers,
    /// A linear recurrence modulo a number, with powers.
    Modular,
}

impl Strategy {
    /// All of them.
    pub const ALL: &[Strategy] = &[
        Strategy::Sequential,
        Strategy::Lanes,
        Strategy::Bits,
        Strategy::Pieces,
        Strategy::Distributed,
        Strategy::Tables,
        Strategy::TableLanes,
        Strategy::BytePlanes,
        Strategy::Registers,
        Strategy::Layers,
        Strategy::Modular,
    ];

    /// What reports and command lines call it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Sequential => "sequential",
            Strategy::Lanes => "lanes",
            Strategy::Bits => "bits",
            Strategy::Pieces => "pieces",
            Strategy::Distributed => "distributed",
            Strategy::Tables => "tables",
            Strategy::TableLanes => "table-lanes",
            Strategy::BytePlanes => "byte-planes",
            Strategy::Registers => "registers",
            Strategy::Layers => "layers",
            Strategy::Modular => "modular",
        }
    }
}

/// Prints a loop in a given way.
///
/// # Errors
///
/// Why it cannot be printed so.
pub fn print_loop(
    body: &Loop,
    machine: &Machine,
    strategy: Strategy,
    names: &LoopNames,
) -> Result<CFunction, NotApplicable> {
    match strategy {
        Strategy::Sequential => Ok(sequential(body, names)),
        Strategy::Lanes => lanes(body, machine, names),
        Strategy::Bits => bitslice(body, machine, names),
        Strategy::Pieces => split(body, machine, names),
        Strategy::Distributed => distributed(body, machine, names),
        Strategy::Tables => tabulated(body, names).map(|tabulated| tabulated.function),
        Strategy::TableLanes => tabulated_lanes(body, machine, names).map(|tabulated| tabulated.function),
        Strategy::BytePlanes => in_byte_planes(body, machine, names).map(|tabulated| tabulated.function),
        Strategy::Registers => tables_in_registers(body, machine, names),
        Strategy::Layers => layers(body, machine, names),
        Strategy::Modular => modular(body, machine, names),
    }
}

/// Size of a function: larger ones do not fit the instruction cache, and take compilers long.
pub const MOST_FUNCTION: usize = 40_000;

/// Prints a loop in the way that is estimated to take the fewest cycles on a machine, among those that are not too
/// long.
pub fn print_best(body: &Loop, machine: &Machine, names: &LoopNames) -> (Strategy, CFunction) {
    let mut best = print_whole(body, machine, names);
    for strategy in [Strategy::Pieces, Strategy::Distributed] {
        if let Ok(function) = print_loop(body, machine, strategy, names)
            && is_better(&function, &best.1)
        {
            best = (strategy, function);
        }
    }
    best
}

/// The same, but iterations are not taken apart.
pub(super) fn print_whole(body: &Loop, machine: &Machine, names: &LoopNames) -> (Strategy, CFunction) {
    let mut best = (Strategy::Sequential, sequential(body, names));
    for strategy in [Strategy::Lanes, Strategy::Bits, Strategy::Registers, Strategy::Modular] {
        if let Ok(function) = print_loop(body, machine, strategy, names)
            && is_better(&function, &best.1)
        {
            best = (strategy, function);
        }
    }
    best
}

fn is_better(function: &CFunction, than: &CFunction) -> bool {
    function.cycles < than.cycles && function.size <= MOST_FUNCTION
}
