//! Deadlock report: what waits for what at the end of a run.

use std::fmt;

/// What an action waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Tokens on an input port.
    Tokens {
        /// Name of the port.
        port: String,
        /// Tokens that the action consumes there.
        needed: u64,
        /// Tokens there.
        there: u64,
    },
    /// Room on an output port; the action is enabled otherwise.
    Room {
        /// Name of the port.
        port: String,
        /// Tokens that the action produces there.
        needed: u64,
        /// Room in the fullest FIFO of the port.
        room: u64,
        /// Who reads that FIFO: `instance.Port`.
        reader: String,
    },
    /// Its tokens are there but its guard does not hold.
    Guard,
}

/// An action that may fire in the state of its actor, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Flat name of the instance.
    pub instance: String,
    /// Name of the FSM state; empty without an FSM.
    pub state: String,
    /// Name of the action.
    pub action: String,
    /// What is missing.
    pub blocked: Blocked,
}

/// In one line.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.instance, self.action)?;
        if !self.state.is_empty() {
            write!(f, " (state {})", self.state)?;
        }
        let s = |n: u64| if n == 1 { "" } else { "s" };
        match &self.blocked {
            Blocked::Tokens { port, needed, there } => {
                write!(f, " needs {needed} token{} on {port}, {there} there", s(*needed))
            }
            Blocked::Room { port, needed, room, reader } => write!(
                f,
                " needs room for {needed} token{} on {port}, whose reader {reader} leaves room for {room}",
                s(*needed)
            ),
            Blocked::Guard => f.write_str(" has its tokens, but its guard does not hold"),
        }
    }
}

/// Tokens that lie in a FIFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Who writes: `instance.Port`, or `Port` at the boundary.
    pub source: String,
    /// Who reads.
    pub target: String,
    /// Tokens there.
    pub tokens: u64,
    /// Capacity.
    pub capacity: u64,
}

/// Why nothing fires.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// Every action that could be next, with what it waits for.
    pub waits: Vec<Wait>,
    /// Every FIFO that is not empty.
    pub leftovers: Vec<Leftover>,
}

impl Report {
    /// True when an enabled action waits for room: the network admitted more than its FIFOs carry.
    pub fn lacks_room(&self) -> bool {
        self.waits.iter().any(|wait| matches!(wait.blocked, Blocked::Room { .. }))
    }
}
