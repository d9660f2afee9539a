//! Buffer allocation of FIFOs. Where the tokens of each connection lie.

use super::{CONTEXT, FLOW, Fill, Ports};
use crate::c::ctype;
use crate::c::text::{Declared, Fixed, Name, Text, text};
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
    /// What it connects: what connects the same in several networks is one.
    pub(super) name: String,
    /// Its field.
    pub(super) field: String,
    /// What a function that knows no field calls it.
    alias: Option<Name>,
    pub(crate) lies: Lies,
    /// Its array is filled from a string of the caller while the network runs.
    is_refilled: bool,
    /// Type of the tokens.
    pub(crate) scalar: Scalar,
    /// Types that they are converted to on their way.
    pub(crate) via: Vec<Scalar>,
    pub(crate) source: Endpoint,
    pub(crate) target: Endpoint,
    /// The numbers of tokens that firings read, and that they write.
    reads: Vec<u64>,
    writes: Vec<u64>,
    /// The most tokens that a firing reads or writes.
    pub(crate) burst: u64,
}

/// Settles it for all connections.
pub(super) fn lay_out(network: &Network, fills: &[Fill], ports: &Ports) -> Vec<Fifo> {
    let mut fifos = Vec::new();
    for (connection, fill) in network.connections.iter().zip(fills) {
        let (source, target) = network.describe(connection);
        let name = format!("{}_to_{}", identifier(&source), identifier(&target));
        let scalar = network.target_port(connection).ty;
        let (reads, writes) = bursts(network, connection);
        let burst = reads.iter().chain(&writes).copied().max().unwrap_or(1);
        let place = if fill.at_rest == 0 { Place::Passing } else { Place::Kept };
        let string = match connection.source {
            Endpoint::Boundary(port) if ports.strings.contains(&port) => Some(port),
            _ => None,
        };
        // As long as this much has been read ahead, output does not reach what has not been read.
        let ahead = ports.in_place.filter(|(port, _)| Some(*port) == string).map_or(0, |(_, held_back)| held_back);
        let lies = match (string, connection.target) {
            (_, Endpoint::Boundary(port)) if ports.dropped.contains(&port) => Lies::Dropped,
            (_, Endpoint::Boundary(_)) => Lies::Wanted,
            (Some(_), _) if fill.at_rest == 0 && ahead == 0 => Lies::Given,
            (Some(_), _) => Lies::Array(place, fill.at_rest.max(burst + ahead)),
            (None, _) => Lies::Array(place, fill.most.max(burst)),
        };
        fifos.push(Fifo {
            field: name.clone(),
            name,
            alias: None,
            is_refilled: string.is_some() && matches!(lies, Lies::Array(..)),
            lies,
            scalar,
            via: connection.via.clone(),
            source: connection.source,
            target: connection.target,
            reads,
            writes,
            burst,
        });
    }
    fifos
}

/// What a function that knows no field calls the number of tokens in a FIFO that it calls `alias`.
fn count_name(alias: &Name) -> Name {
    format!("n_{alias}").into()
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
    let different = |mut bursts: Vec<u64>| {
        bursts.sort_unstable();
        bursts.dedup();
        bursts
    };
    (different(reads), different(writes))
}

impl Fifo {
    /// Whether it is, in another network, what this one is here.
    pub(super) fn is_one_with(&self, other: &Fifo) -> bool {
        self.name == other.name
            && self.scalar == other.scalar
            && self.via == other.via
            && self.is_refilled == other.is_refilled
            && std::mem::discriminant(&self.lies) == std::mem::discriminant(&other.lies)
    }

    /// Becomes large enough for both.
    pub(super) fn join(&mut self, other: &Fifo) {
        if let (Lies::Array(place, capacity), Lies::Array(others, least)) = (&mut self.lies, &other.lies) {
            *capacity = (*capacity).max(*least);
            if *others == Place::Kept {
                *place = Place::Kept;
            }
        }
    }

    /// The same where another one lies.
    pub(super) fn placed_as(&self, other: &Fifo) -> Fifo {
        Fifo { field: other.field.clone(), lies: other.lies.clone(), ..self.clone() }
    }

    /// The same under a name that a function gives it.
    pub(super) fn called(&self, alias: Name) -> Fifo {
        Fifo { alias: Some(alias), ..self.clone() }
    }

    /// Whether functions do the same with both.
    pub(super) fn is_like(&self, other: &Fifo) -> bool {
        self.scalar == other.scalar
            && self.via == other.via
            && self.reads == other.reads
            && self.writes == other.writes
            && self.capacity() == other.capacity()
            && self.is_right_aligned() == other.is_right_aligned()
            && std::mem::discriminant(&self.lies) == std::mem::discriminant(&other.lies)
    }

    /// Whether every read takes all that there can be.
    pub(super) fn is_slot(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.reads == [capacity])
    }

    /// Whether what is in it lies at the end of its array: where an instance writes more at once than is read, so that
    /// tokens move when something is written behind others, which is seldom, and not when some of them have been read.
    pub(super) fn is_right_aligned(&self) -> bool {
        let most = |bursts: &[u64]| bursts.last().copied().unwrap_or(0);
        // What an instance has read is looked at behind the tokens that it writes.
        let feeds_itself =
            matches!((self.source, self.target), (Endpoint::Instance(a, _), Endpoint::Instance(b, _)) if a == b);
        !feeds_itself
            && self.capacity().is_some()
            && matches!(self.source, Endpoint::Instance(..))
            && most(&self.writes) > most(&self.reads)
    }

    /// Whether it is written only when it is empty.
    pub(super) fn is_written_empty(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.writes == [capacity])
    }

    /// Where what is read next begins, as a pointer to elements.
    pub(super) fn begin(&self) -> Text {
        match self.capacity() {
            Some(capacity) if self.is_right_aligned() => match self.words() {
                1 => text!["(&", self.tokens(), "[", capacity, "u - ", self.count(), "])"],
                words => text!["(&", self.tokens(), "[", words, " * (", capacity, "u - ", self.count(), ")])"],
            },
            _ => self.elements(),
        }
    }

    /// The parameters of a function that is told where it lies, and what is given for them.
    pub(super) fn parameters(&self) -> (Vec<Text>, Vec<Text>) {
        let alias = &self.alias.clone().unwrap_or_default();
        let count = count_name(alias);
        let own = Fifo { alias: None, ..self.clone() };
        match self.lies {
            Lies::Array(..) => (
                vec![
                    text![self.count_type(), " *", Declared(&count)],
                    text![ctype::element(self.scalar), " *", Declared(alias)],
                ],
                vec![text!["&", own.count()], own.tokens()],
            ),
            Lies::Given => {
                (vec![text!["struct hr_small_in *", Declared(alias)]], vec![text!["&", FLOW, "->", self.field]])
            }
            Lies::Wanted => {
                (vec![text!["struct hr_small_out *", Declared(alias)]], vec![text!["&", FLOW, "->", self.field]])
            }
            Lies::Dropped => (Vec::new(), Vec::new()),
        }
    }

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

    fn holder(&self) -> Fixed {
        if self.place() == Some(Place::Kept) { CONTEXT } else { FLOW }
    }

    /// Tokens in it, or room where the caller wants them; an expression that can be assigned to.
    pub(crate) fn count(&self) -> Text {
        match (&self.lies, &self.alias) {
            (Lies::Array(..), Some(alias)) => text!["(*", count_name(alias), ")"],
            (Lies::Array(..), None) => text![self.holder(), "->n.", self.field],
            (_, Some(alias)) => text![alias, "->n"],
            (_, None) => text![FLOW, "->", self.field, ".n"],
        }
    }

    /// Where they begin, as a pointer to elements of their type.
    pub(crate) fn elements(&self) -> Text {
        match (&self.lies, ctype::element(self.scalar)) {
            (Lies::Array(..), _) | (_, "uint8_t") => self.tokens(),
            (Lies::Given, element) => text!["((const ", element, " *)(const void *)", self.tokens(), ")"],
            (_, element) => text!["((", element, " *)(void *)", self.tokens(), ")"],
        }
    }

    /// The same as what moves on where they lie with the caller.
    pub(crate) fn tokens(&self) -> Text {
        match (&self.lies, &self.alias) {
            (Lies::Array(..), Some(alias)) => text![alias],
            (Lies::Array(..), None) => text![self.holder(), "->", self.field],
            (_, Some(alias)) => text![alias, "->at"],
            (_, None) => text![FLOW, "->", self.field, ".at"],
        }
    }

    pub(super) fn count_type(&self) -> &'static str {
        if self.capacity().unwrap_or(0) > 255 { "uint16_t" } else { "uint8_t" }
    }

    pub(super) fn tokens_field(&self) -> String {
        let n = self.capacity().unwrap_or(0) * self.words();
        // Copies go word by word then.
        let aligned = if self.token_bytes() == 1 && n >= 8 { "_Alignas(4) " } else { "" };
        format!("    {aligned}{} {}[{n}];\n", ctype::element(self.scalar), self.field)
    }

    pub(super) fn count_field(&self) -> String {
        format!("        {} {};\n", self.count_type(), self.field)
    }

    /// The string of the caller that its array is filled from.
    pub(crate) fn window(&self) -> Option<Text> {
        self.is_refilled.then(|| text![FLOW, "->given.", self.field])
    }

    /// Fills its array as far as there is room.
    pub(super) fn refill(&self) -> Option<String> {
        let (window, count, capacity) = (self.window()?, self.count(), self.capacity()?);
        let (tokens, ty) = (self.tokens(), self.count_type());
        Some(format!("        {count} = ({ty})hr_small_refill(&{window}, {tokens}, {count}, {capacity}u);\n"))
    }

    /// The field of that string.
    pub(super) fn refilled_field(&self) -> Option<String> {
        self.is_refilled.then(|| format!("        struct hr_small_in {};\n", self.field))
    }

    pub(super) fn window_field(&self) -> Option<String> {
        match self.lies {
            Lies::Given => Some(format!("    struct hr_small_in {};\n", self.field)),
            Lies::Wanted => Some(format!("    struct hr_small_out {};\n", self.field)),
            _ => None,
        }
    }
}
