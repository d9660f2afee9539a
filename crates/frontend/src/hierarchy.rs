//! The hierarchy of an elaborated network: what contains what, and what is connected on each level.

use crate::session::EntityId;
use crate::types::{Elem, Ty};
use headrace_ir::{ActorId, Scalar, Value};
use headrace_source::Span;
use headrace_syntax::ast::{self, Text};
use std::collections::HashMap;
use std::rc::Rc;

/// A port of an instance.
#[derive(Clone, Debug)]
pub struct PortType {
    /// Its name.
    pub name: String,
    pub(crate) elem: Elem,
    /// Where it is declared.
    pub span: Span,
}

impl PortType {
    /// The type of its tokens, unless that depends on something unknown.
    pub fn scalar(&self) -> Option<Scalar> {
        self.elem.known()
    }
}

/// What an instance is.
#[derive(Clone, Debug)]
pub enum Node {
    /// An actor.
    Actor(Rc<ActorNode>),
    /// A network.
    Network(Rc<NetworkNode>),
    /// Not known: an entity parameter without a value, or something wrong that was reported.
    Unknown,
}

/// An actor in the hierarchy.
#[derive(Debug)]
pub struct ActorNode {
    /// Qualified name of its class.
    pub class: String,
    pub(crate) entity: EntityId,
    /// Input ports.
    pub inputs: Vec<PortType>,
    /// Output ports.
    pub outputs: Vec<PortType>,
    /// What the variables of an instance take in memory.
    pub(crate) state_bytes: u64,
    /// Among the elaborated actors, when it has no errors.
    pub(crate) index: Option<ActorId>,
}

/// A network in the hierarchy. Networks with equal parameters are shared.
#[derive(Debug)]
pub struct NetworkNode {
    /// Qualified name of its class.
    pub class: String,
    pub(crate) entity: EntityId,
    /// Its value parameters.
    pub parameters: Vec<(String, Value)>,
    /// Input ports.
    pub inputs: Vec<PortType>,
    /// Output ports.
    pub outputs: Vec<PortType>,
    /// The instances in it, in document order.
    pub children: Vec<Child>,
    /// The connections in it, in document order.
    pub links: Vec<Link>,
    pub(crate) link_attributes: Vec<Vec<ast::Attribute>>,
    pub(crate) by_target: HashMap<End, usize>,
    /// Where its name is declared.
    pub span: Span,
}

/// An instance in a network.
#[derive(Clone, Debug)]
pub struct Child {
    /// Its name; elements of lists of instances have their index appended with `_`.
    pub name: String,
    /// What it is.
    pub node: Node,
    /// Where it is declared.
    pub span: Span,
    /// Arguments that are values, by name or, without one, by position.
    pub(crate) args: Rc<Vec<(Option<Text>, Value, Ty)>>,
    pub(crate) attributes: Rc<Vec<ast::Attribute>>,
}

/// One end of a [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// Position in [`NetworkNode::children`]; `None` for the network itself.
    pub child: Option<usize>,
    /// Position among the ports: outputs of a child and inputs of the network as a source, the others as a target.
    pub port: usize,
}

/// A connection on one level.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Where tokens come from.
    pub from: End,
    /// Where they go.
    pub to: End,
    /// `bufferSize`
    pub fifo_tokens: Option<u32>,
    /// `flag registered`
    pub is_registered: bool,
    /// Where it is declared.
    pub span: Span,
}

impl Node {
    /// Input ports, if known.
    pub fn inputs(&self) -> &[PortType] {
        match self {
            Node::Actor(actor) => &actor.inputs,
            Node::Network(network) => &network.inputs,
            Node::Unknown => &[],
        }
    }

    /// Output ports, if known.
    pub fn outputs(&self) -> &[PortType] {
        match self {
            Node::Actor(actor) => &actor.outputs,
            Node::Network(network) => &network.outputs,
            Node::Unknown => &[],
        }
    }

    /// Qualified name of the class; empty when it is not known.
    pub fn class(&self) -> &str {
        match self {
            Node::Actor(actor) => &actor.class,
            Node::Network(network) => &network.class,
            Node::Unknown => "",
        }
    }

    pub(crate) fn entity(&self) -> Option<EntityId> {
        match self {
            Node::Actor(actor) => Some(actor.entity),
            Node::Network(network) => Some(network.entity),
            Node::Unknown => None,
        }
    }
}

impl NetworkNode {
    pub(crate) fn source_port(&self, end: End) -> Option<&PortType> {
        let ports = match end.child {
            None => self.inputs.as_slice(),
            Some(child) => self.children.get(child)?.node.outputs(),
        };
        ports.get(end.port)
    }

    pub(crate) fn target_port(&self, end: End) -> Option<&PortType> {
        let ports = match end.child {
            None => self.outputs.as_slice(),
            Some(child) => self.children.get(child)?.node.inputs(),
        };
        ports.get(end.port)
    }

    /// The target of a connection as a user writes it.
    pub fn describe_target(&self, end: End) -> String {
        match end.child.and_then(|child| self.children.get(child)) {
            None => self.outputs.get(end.port).map_or(String::new(), |port| port.name.clone()),
            Some(child) => {
                let port = child.node.inputs().get(end.port).map_or("", |port| &port.name);
                format!("{}.{port}", child.name)
            }
        }
    }

    /// The source of a connection as a user writes it.
    pub fn describe_source(&self, end: End) -> String {
        match end.child.and_then(|child| self.children.get(child)) {
            None => self.inputs.get(end.port).map_or(String::new(), |port| port.name.clone()),
            Some(child) => {
                let port = child.node.outputs().get(end.port).map_or("", |port| &port.name);
                format!("{}.{port}", child.name)
            }
        }
    }
}
