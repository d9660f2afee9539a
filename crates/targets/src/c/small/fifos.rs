//! Where the tokens of each connection lie.

use super::{Fill, Ports};
use crate::c::ctype;
use crate::c::names::Names;
use headrace_ir::{Connection, Endpoint, Network, Scalar};
use headrace_program::names::identifier;

/// Where a FIFO lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the context: it may hold tokens between calls.
    Kept,
    /// On the stack of a call.
    Passing,
}

/// Where the tokens of a connection lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lies {
    /// In an array of so many tokens.
    Array(Place, u64),
    /// Where the caller has them.
    Given,
    /// Where the caller wants them.
    Wanted,
    /// Nowhere: nobody wants them.
    Dropped,
}

/// A connection.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    /// Its field.
    pub(crate) field: String,
    pub(crate) lies: Lies,
    /// Type of the tokens.
    pub(crate) scalar: Scalar,
    /// Types that they are converted to on their way.
    pub(crate) via: Vec<Scalar>,
    pub(crate) source: Endpoint,
    pub(crate) target: Endpoint,
    /// Every read takes all that there can be.
    pub(crate) is_slot: bool,
    /// The most tokens that a firing reads or writes.
    pub(crate) burst: u64,
}

/// Settles it for all connections.
pub(super) fn lay_out(network: &Network, fills: &[Fill], ports: &Ports) -> Vec<Fifo> {
    let mut names = Names::default();
    for taken in ["n", "none", "made"] {
        names.fresh(taken);
    }
    let mut fifos = Vec::new();
    for (connection, fill) in network.connections.iter().zip(fills) {
        let (source, target) = network.describe(connection);
        let field = names.fresh(&format!("{}_to_{}", identifier(&source), identifier(&target)));
        let scalar = network.target_port(connection).ty;
        let (reads, writes) = bursts(network, connection);
        let largest = reads.iter().chain(&writes).copied().max().unwrap_or(1);
        let most = fill.most.max(largest);
        let lies = match (connection.source, connection.target) {
            (_, Endpoint::Boundary(port)) if ports.dropped.contains(&port) => Lies::Dropped,
            (_, Endpoint::Boundary(_)) => Lies::Wanted,
            (Endpoint::Boundary(port), _) if ports.strings.contains(&port) && fill.at_rest == 0 => Lies::Given,
            _ => Lies::Array(if fill.at_rest == 0 { Place::Passing } else { Place::Kept }, most),
        };
        let is_slot = !reads.is_empty() && reads.iter().all(|&read| read == most);
        let via = connection.via.clone();
        fifos.push(Fifo { field, lies, scalar, via, source: connection.source, target: connection.target, is_slot, burst: largest });
    }
    fifos
}

/// Tokens that firings read and write at once.
fn bursts(network: &Network, connection: &Connection) -> (Vec<u64>, Vec<u64>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    if let Endpoint::Instance(instance, port) = connection.target {
        let actor = network.actor_of(instance);
        reads.extend(actor.actions.iter().map(|action| action.consumed(port)).filter(|&n| n > 0));
    }
    if let Endpoint::Instance(instance, port) = connection.source {
        let actor = network.actor_of(instance);
        let all = actor.actions.iter().chain(&actor.initializers);
        writes.extend(all.map(|action| action.produced(port)).filter(|&n| n > 0));
    }
    (reads, writes)
}

impl Fifo {
    pub(crate) fn place(&self) -> Option<Place> {
        match self.lies {
            Lies::Array(place, _) => Some(place),
            _ => None,
        }
    }

    pub(crate) fn is_input_window(&self) -> bool {
        self.lies == Lies::Given
    }

    /// Tokens that it takes; none where only its caller knows.
    pub(crate) fn capacity(&self) -> Option<u64> {
        match self.lies {
            Lies::Array(_, capacity) => Some(capacity),
            _ => None,
        }
    }

    /// Elements of a token.
    pub(crate) fn words(&self) -> u64 {
        u64::from(ctype::words(self.scalar))
    }

    /// Bytes of a token.
    pub(crate) fn token_bytes(&self) -> u64 {
        self.words() * ctype::element_bytes(self.scalar)
    }

    /// Bytes of the array.
    pub(super) fn bytes(&self) -> u64 {
        self.capacity().unwrap_or(0) * self.token_bytes()
    }

    fn holder(&self) -> &'static str {
        if self.place() == Some(Place::Kept) { "c" } else { "f" }
    }

    /// Tokens in it, or room where the caller wants them; an expression that can be assigned to.
    pub(crate) fn count(&self) -> String {
        match self.lies {
            Lies::Array(..) => format!("{}->n.{}", self.holder(), self.field),
            _ => format!("f->{}.n", self.field),
        }
    }

    /// Where they begin, as a pointer to elements of their type.
    pub(crate) fn elements(&self) -> String {
        match (&self.lies, ctype::element(self.scalar)) {
            (Lies::Array(..), _) | (_, "uint8_t") => self.tokens(),
            (Lies::Given, element) => format!("((const {element} *)(const void *){})", self.tokens()),
            (_, element) => format!("(({element} *)(void *){})", self.tokens()),
        }
    }

    /// The same as what moves on where they lie with the caller.
    pub(crate) fn tokens(&self) -> String {
        match self.lies {
            Lies::Array(..) => format!("{}->{}", self.holder(), self.field),
            _ => format!("f->{}.at", self.field),
        }
    }

    pub(super) fn count_type(&self) -> &'static str {
        if self.capacity().unwrap_or(0) > 255 { "uint16_t" } else { "uint8_t" }
    }

    pub(super) fn tokens_field(&self) -> String {
        let n = self.capacity().unwrap_or(0) * self.words();
        format!("    {} {}[{n}];\n", ctype::element(self.scalar), self.field)
    }

    pub(super) fn count_field(&self) -> String {
        format!("        {} {};\n", self.count_type(), self.field)
    }

    pub(super) fn window_field(&self) -> Option<String> {
        match self.lies {
            Lies::Given => Some(format!("    struct hr_small_in {};\n", self.field)),
            Lies::Wanted => Some(format!("    struct hr_small_out {};\n", self.field)),
            _ => None,
        }
    }
}
