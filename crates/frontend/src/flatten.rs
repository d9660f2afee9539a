//! From the hierarchy to one flat network: boundaries of inner networks disappear, except for the conversions that their
//! port types make.

use crate::hierarchy::{ActorNode, End, NetworkNode, Node, PortType};
use crate::session::Session;
use crate::types::Elem;
use headrace_ir as ir;
use headrace_ir::{Connection, Endpoint, InstanceId, Network, Scalar};
use headrace_source::{Diagnostic, Span};
use std::collections::HashSet;
use std::rc::Rc;

/// Most instances of a flat network.
const MAX_FLAT: usize = 1 << 20;

/// One occurrence of a network in the hierarchy.
struct Occurrence {
    node: Rc<NetworkNode>,
    /// The occurrence that contains it, and its position there.
    parent: Option<(usize, usize)>,
    children: Vec<Place>,
}

/// What a child is in the flat network.
#[derive(Clone, Copy)]
enum Place {
    Actor(InstanceId),
    Network(usize),
}

struct Flattener<'s> {
    session: &'s mut Session,
    occurrences: Vec<Occurrence>,
    instances: Vec<ir::Instance>,
    names: HashSet<String>,
    nodes: Vec<(usize, usize, Rc<ActorNode>)>,
    failed: bool,
}

/// Makes the flat network of an elaborated hierarchy; `None` where something in it is unknown.
pub(crate) fn flatten(session: &mut Session, name: &str, top: &Node, actors: Vec<ir::Actor>) -> Option<Network> {
    match top {
        Node::Unknown => None,
        Node::Actor(actor) => single(name, actor, actors),
        Node::Network(network) => {
            let mut flattener = Flattener {
                session,
                occurrences: Vec::new(),
                instances: Vec::new(),
                names: HashSet::new(),
                nodes: Vec::new(),
                failed: false,
            };
            flattener.add(network, None, &mut Vec::new());
            flattener.finish(name, network, actors)
        }
    }
}

fn ports(ports: &[PortType]) -> Option<Vec<ir::Port>> {
    ports
        .iter()
        .map(|port| Some(ir::Port { name: port.name.clone(), ty: port.elem.known()?, span: port.span }))
        .collect()
}

/// An actor as a network of one instance.
fn single(name: &str, node: &ActorNode, mut actors: Vec<ir::Actor>) -> Option<Network> {
    let index = node.index?;
    let actor = actors.swap_remove(index.index());
    let base = name.rsplit_once('.').map_or(name, |(_, base)| base).to_string();
    let instance = InstanceId(0);
    let mut connections = Vec::with_capacity(actor.inputs.len() + actor.outputs.len());
    for (port, input) in actor.inputs.iter().enumerate() {
        connections.push(Connection {
            source: Endpoint::Boundary(port),
            target: Endpoint::Instance(instance, port),
            via: Vec::new(),
            fifo_tokens: None,
            span: input.span,
        });
    }
    for (port, output) in actor.outputs.iter().enumerate() {
        connections.push(Connection {
            source: Endpoint::Instance(instance, port),
            target: Endpoint::Boundary(port),
            via: Vec::new(),
            fifo_tokens: None,
            span: output.span,
        });
    }
    let span = actor.span;
    Some(Network {
        name: name.to_string(),
        inputs: actor.inputs.clone(),
        outputs: actor.outputs.clone(),
        actors: vec![actor],
        instances: vec![ir::Instance { name: base.clone(), path: vec![base], actor: ir::ActorId(0), span }],
        connections,
        span,
    })
}

impl Flattener<'_> {
    fn add(&mut self, node: &Rc<NetworkNode>, parent: Option<(usize, usize)>, path: &mut Vec<String>) -> usize {
        let id = self.occurrences.len();
        self.occurrences.push(Occurrence { node: node.clone(), parent, children: Vec::new() });
        let mut children = Vec::with_capacity(node.children.len());
        for (at, child) in node.children.iter().enumerate() {
            if self.failed {
                break;
            }
            path.push(child.name.clone());
            match &child.node {
                Node::Unknown => self.failed = true,
                Node::Network(inner) => {
                    let inner = self.add(inner, Some((id, at)), path);
                    children.push(Place::Network(inner));
                }
                Node::Actor(actor) => {
                    let instance = InstanceId(self.instances.len() as u32);
                    match actor.index {
                        Some(index) => {
                            let name = self.unique(path.join("_"));
                            let path = path.clone();
                            self.instances.push(ir::Instance { name, path, actor: index, span: child.span });
                            self.nodes.push((id, at, actor.clone()));
                        }
                        None => self.failed = true,
                    }
                    children.push(Place::Actor(instance));
                }
            }
            path.pop();
            if self.instances.len() + self.occurrences.len() > MAX_FLAT {
                self.failed = true;
                self.session.report(
                    Diagnostic::error("network-too-large", format!("more than {MAX_FLAT} instances"))
                        .at(node.span, "in this network, all levels together"),
                );
            }
        }
        self.occurrences[id].children = children;
        id
    }

    /// Different paths can give the same name: `a_b` in `c`, and `b` in `a` in `c`.
    fn unique(&mut self, name: String) -> String {
        let mut candidate = name.clone();
        let mut n = 2;
        while !self.names.insert(candidate.clone()) {
            candidate = format!("{name}_{n}");
            n += 1;
        }
        candidate
    }

    fn finish(mut self, name: &str, top: &NetworkNode, actors: Vec<ir::Actor>) -> Option<Network> {
        let inputs = ports(&top.inputs);
        let outputs = ports(&top.outputs);
        let (Some(inputs), Some(outputs), false) = (inputs, outputs, self.failed) else {
            return None;
        };
        let mut connections = Vec::new();
        let nodes = std::mem::take(&mut self.nodes);
        for (instance, (occurrence, child, actor)) in nodes.iter().enumerate() {
            for port in 0..actor.inputs.len() {
                let target = Endpoint::Instance(InstanceId(instance as u32), port);
                connections.extend(self.trace(*occurrence, End { child: Some(*child), port }, target));
            }
        }
        for port in 0..top.outputs.len() {
            connections.extend(self.trace(0, End { child: None, port }, Endpoint::Boundary(port)));
        }
        if self.failed {
            return None;
        }
        // Only what is instantiated, in the order of first use.
        let mut numbers: Vec<Option<ir::ActorId>> = vec![None; actors.len()];
        let mut order = Vec::new();
        for instance in &mut self.instances {
            let number = *numbers[instance.actor.index()].get_or_insert_with(|| {
                order.push(instance.actor.index());
                ir::ActorId(order.len() as u32 - 1)
            });
            instance.actor = number;
        }
        let mut actors: Vec<Option<ir::Actor>> = actors.into_iter().map(Some).collect();
        let actors: Vec<ir::Actor> = order.into_iter().filter_map(|at| actors[at].take()).collect();
        Some(Network {
            name: name.to_string(),
            inputs,
            outputs,
            actors,
            instances: self.instances,
            connections,
            span: top.span,
        })
    }

    /// Follows a connection from its target back to the actor or boundary port that writes to it.
    fn trace(&mut self, mut at: usize, mut end: End, target: Endpoint) -> Option<Connection> {
        let mut passed: Vec<Elem> = Vec::new();
        let mut fifo_tokens: Option<u32> = None;
        let mut span: Option<Span> = None;
        let mut seen = HashSet::new();
        let target_elem = self.occurrences[at].node.target_elem(end);
        loop {
            let node = self.occurrences[at].node.clone();
            let link = *node.links.get(*node.by_target.get(&end)?)?;
            span = span.or(Some(link.span));
            fifo_tokens = fifo_tokens.max(link.fifo_tokens);
            if !seen.insert((at, end)) {
                self.failed = true;
                self.session.report(
                    Diagnostic::error("connection-loop", "these connections lead round in a circle without an actor")
                        .at(link.span, "no token can ever get in here"),
                );
                return None;
            }
            let source = match link.from.child {
                Some(child) => match self.occurrences[at].children.get(child)? {
                    Place::Actor(instance) => Some(Endpoint::Instance(*instance, link.from.port)),
                    Place::Network(inner) => {
                        passed.push(node.source_elem(link.from)?);
                        at = *inner;
                        end = End { child: None, port: link.from.port };
                        None
                    }
                },
                None => match self.occurrences[at].parent {
                    None => Some(Endpoint::Boundary(link.from.port)),
                    Some((parent, child)) => {
                        passed.push(node.source_elem(link.from)?);
                        at = parent;
                        end = End { child: Some(child), port: link.from.port };
                        None
                    }
                },
            };
            if let Some(source) = source {
                let source_elem = node.source_elem(link.from)?;
                let via = conversions(source_elem, passed.into_iter().rev(), target_elem?);
                return Some(Connection { source, target, via, fifo_tokens, span: span.unwrap_or(link.span) });
            }
        }
    }
}

/// The types on the way that change a value.
fn conversions(source: Elem, passed: impl Iterator<Item = Elem>, target: Elem) -> Vec<Scalar> {
    let mut via = Vec::new();
    let mut now = source;
    for elem in passed {
        let same = match (now, elem) {
            (Elem::Int(from), Elem::Int(to)) => to.int_type().is_some_and(|to| from.fits(to)),
            (a, b) => a == b,
        };
        if !same && let Some(scalar) = elem.known() {
            via.push(scalar);
            now = elem;
        }
    }
    // The last conversion is the one that the target makes anyway.
    if via.last().copied() == target.known() {
        via.pop();
    }
    via
}
