//! Flat networks: instances and the FIFOs between them.

use crate::actor::index;
use crate::{Actor, Port, Scalar};
use headrace_source::Span;
use std::fmt;

index!(
    /// Position in [`Network::actors`].
    ActorId
);
index!(
    /// Position in [`Network::instances`].
    InstanceId
);

/// A flat network. A single actor is a network of one instance whose ports are connected to ports of the same names.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Qualified name of the top entity.
    pub name: String,
    /// Input ports.
    pub inputs: Vec<Port>,
    /// Output ports.
    pub outputs: Vec<Port>,
    /// Instantiated actors; instances of one class with equal parameters share an entry.
    pub actors: Vec<Actor>,
    /// Instances, in the order of the source, depth first.
    pub instances: Vec<Instance>,
    /// FIFOs. Each input port of an instance and each output of the network has at most one.
    pub connections: Vec<Connection>,
    /// Where the top entity's name is declared.
    pub span: Span,
}

/// An instance of an actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Flat name: names of the enclosing instances and its own, joined by `_`; unique.
    pub name: String,
    /// Names of the enclosing instances from the outside, then its own.
    pub path: Vec<String>,
    /// Its actor.
    pub actor: ActorId,
    /// The part of the network that it belongs to, where only one of several works at a time.
    pub alternative: Option<Alternative>,
    /// Where it is declared.
    pub span: Span,
}

/// One of several parts of a network that exclude each other: what gives tokens to one of them waits until the others have put out
/// all that comes of theirs. The source says so of instances in a network: `{ string alternative = "encrypt"; }`. Nothing follows
/// for what a network does; hardware may have once what several of them need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alternative {
    /// The network whose parts they are: names of the enclosing instances, joined by `.`; empty for the outermost.
    pub family: String,
    /// Which of its parts.
    pub name: String,
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Alternative { family, name } = self;
        if family.is_empty() { write!(f, "{name}") } else { write!(f, "{family}.{name}") }
    }
}

/// One end of a connection. Ports are positions in the port lists of the network or of the instance's actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// As a source: an input port of the network; as a target: an output port of the network.
    Boundary(usize),
    /// As a source: an output port of the instance; as a target: one of its input ports.
    Instance(InstanceId, usize),
}

/// A FIFO. Its tokens have the type of the target port: conversion happens when a token is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Who writes. One source may have several connections: each gets a copy of every token.
    pub source: Endpoint,
    /// Who reads.
    pub target: Endpoint,
    /// Types that the tokens take on their way: converted to each in turn, then to the type of the target. Networks of the
    /// front end have none, since ports of networks inside convert nothing.
    pub via: Vec<Scalar>,
    /// Capacity asked for by the source (`bufferSize`), in tokens.
    pub fifo_tokens: Option<u32>,
    /// In hardware it has a pipeline register, also where feedback would let tokens through in the cycle in which they are made
    /// (`flag registered;`): the network has enough under way not to wait for it.
    pub is_registered: bool,
    /// Where it is declared.
    pub span: Span,
}

/// Capacity of a FIFO when neither the source nor the user says otherwise, in tokens.
pub const DEFAULT_FIFO_TOKENS: u32 = 512;

impl Network {
    /// The actor of an instance.
    pub fn actor_of(&self, instance: InstanceId) -> &Actor {
        &self.actors[self.instances[instance.index()].actor.index()]
    }

    /// The port at the source of a connection.
    pub fn source_port(&self, connection: &Connection) -> &Port {
        match connection.source {
            Endpoint::Boundary(port) => &self.inputs[port],
            Endpoint::Instance(instance, port) => &self.actor_of(instance).outputs[port],
        }
    }

    /// The port at the target of a connection, whose type is that of the tokens in the FIFO.
    pub fn target_port(&self, connection: &Connection) -> &Port {
        match connection.target {
            Endpoint::Boundary(port) => &self.outputs[port],
            Endpoint::Instance(instance, port) => &self.actor_of(instance).inputs[port],
        }
    }

    /// Most tokens that one firing writes to or reads from a connection; 1 for the boundary.
    pub fn largest_burst(&self, connection: &Connection) -> u64 {
        let produced = match connection.source {
            Endpoint::Boundary(_) => 1,
            Endpoint::Instance(instance, port) => {
                let actor = self.actor_of(instance);
                let all = actor.actions.iter().chain(&actor.initializers);
                all.map(|action| action.produced(port)).max().unwrap_or(0)
            }
        };
        let consumed = match connection.target {
            Endpoint::Boundary(_) => 1,
            Endpoint::Instance(instance, port) => {
                self.actor_of(instance).actions.iter().map(|action| action.consumed(port)).max().unwrap_or(0)
            }
        };
        produced.max(consumed).max(1)
    }

    /// Capacity of a connection in tokens: what the source asks for, else `default_tokens`, raised to twice the largest
    /// burst. The same in every engine, so that a network stops in the same place in all of them.
    pub fn capacity(&self, connection: &Connection, default_tokens: u32) -> u64 {
        let wanted = u64::from(connection.fifo_tokens.unwrap_or(default_tokens)).max(1);
        wanted.max(2 * self.largest_burst(connection))
    }

    /// `(produced, consumed)` endpoints as users see them: `instance.Port` or `Port` at the boundary.
    pub fn describe(&self, connection: &Connection) -> (String, String) {
        let name = |endpoint: Endpoint, port: &Port| match endpoint {
            Endpoint::Boundary(_) => port.name.clone(),
            Endpoint::Instance(instance, _) => format!("{}.{}", self.instances[instance.index()].name, port.name),
        };
        (name(connection.source, self.source_port(connection)), name(connection.target, self.target_port(connection)))
    }
}
