//! What a run tells to those who watch it: every firing, and the tokens it took and gave.

mod json;
mod vcd;

pub use json::JsonLines;
pub use vcd::ValueChangeDump;

use headrace_ir::{Int, Network, Scalar};
use std::io;

/// The value of a token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenValue {
    /// Of a `bool` port.
    Bool(bool),
    /// Of an `int` or `uint` port.
    Int(Int),
    /// Of a `half`, `float` or `double` port, with its text.
    Real(f64, String),
    /// Of a `String` port.
    Text(String),
}

/// Tokens of one port, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct PortTokens {
    /// Position of the port among those of its direction.
    pub port: usize,
    /// The tokens.
    pub values: Vec<TokenValue>,
}

/// A firing of an action or initialiser.
#[derive(Clone, Debug, PartialEq)]
pub struct Firing {
    /// Number of the firing, from 0, initialisers included: the unit of time.
    pub time: u64,
    /// Position of the instance in the network.
    pub instance: usize,
    /// Name of the action.
    pub action: String,
    /// Position of the state before.
    pub from: usize,
    /// Position of the state after.
    pub to: usize,
    /// Tokens taken.
    pub consumed: Vec<PortTokens>,
    /// Tokens given, as they left the actor: before conversion to the types of the FIFOs.
    pub produced: Vec<PortTokens>,
}

/// Where firings go.
pub trait TraceSink: Send {
    /// Called once, before any firing.
    fn start(&mut self, network: &Network) -> io::Result<()>;

    /// Called after each firing.
    fn firing(&mut self, network: &Network, firing: &Firing) -> io::Result<()>;

    /// Called at the end.
    fn finish(&mut self) -> io::Result<()>;
}

pub(crate) fn value(ty: Scalar, cell: &crate::fifo::Cell) -> TokenValue {
    use crate::fifo::{Cell, show_real, word_to_int};
    match (ty, cell) {
        (_, Cell::Wide(wide)) => TokenValue::Int(wide.clone()),
        (Scalar::Int(int), Cell::Word(word)) => TokenValue::Int(word_to_int(int, *word)),
        (Scalar::Real(real), Cell::Word(word)) => {
            TokenValue::Real(f64::from_bits(*word as u64), show_real(real, *word))
        }
        (Scalar::String, Cell::Word(word)) => {
            TokenValue::Text(headrace_engine::texts::text_of(*word as u64).to_string_lossy().into_owned())
        }
        (Scalar::Bool, Cell::Word(word)) => TokenValue::Bool(*word != 0),
    }
}
