//! From the hierarchy to one flat network: boundaries of inner networks disappear.
//!
//! Tokens have the types of actors' ports and, at the boundary of the whole network, of its own. Ports of networks inside
//! carry nothing, whatever type they have; one that could not hold what passes gets a warning.

use crate::hierarchy::{ActorNode, End, Link, NetworkNode, Node, PortType};
use crate::session::Session;
use crate::types::Elem;
use headrace_ir as ir;
use headrace_ir::{Connection, Endpoint, InstanceId, Network};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;
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
    /// Not known, or wrong and reported.
    Unknown,
}

/// A way from the actor or boundary port that writes to the one that reads.
struct Way {
    source: Endpoint,
    /// Types of the two ends.
    source_elem: Elem,
    target_elem: Elem,
    /// How a user writes the two ends.
    from: String,
    to: String,
    /// Ports of inner networks on the way.
    passed: Vec<PortType>,
    fifo_tokens: Option<u32>,
    is_registered: bool,
    /// The connection at the reader, and the one at the writer.
    last: Span,
    first: Span,
}

struct Flattener<'s> {
    session: &'s mut Session,
    occurrences: Vec<Occurrence>,
    instances: Vec<ir::Instance>,
    names: HashSet<String>,
    nodes: Vec<(usize, usize, Rc<ActorNode>)>,
    to_run: bool,
    failed: bool,
}

/// Makes the flat network of an elaborated hierarchy; `None` where something in it is unknown. Only of what is to run it
/// is known that its own ports convert: a network that is checked may stand in others.
pub(crate) fn flatten(
    session: &mut Session,
    name: &str,
    top: &Node,
    actors: Vec<ir::Actor>,
    to_run: bool,
) -> Option<Network> {
    match top {
        Node::Unknown => None,
        Node::Actor(actor) => {
            check_memory(
                session,
                &[(name, actor)],
                actor.outputs.first().or(actor.inputs.first()).map(|port| port.span),
            );
            (!session.has_errors()).then(|| single(name, actor, actors)).flatten()
        }
        Node::Network(network) => {
            let mut flattener = Flattener {
                session,
                occurrences: Vec::new(),
                instances: Vec::new(),
                names: HashSet::new(),
                nodes: Vec::new(),
                to_run,
                failed: false,
            };
            flattener.add(network, None, &mut Vec::new(), None);
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

/// Reports variables that take more memory than they may.
fn check_memory(session: &mut Session, instances: &[(&str, &ActorNode)], span: Option<Span>) {
    let total = instances.iter().fold(0u64, |sum, (_, actor)| sum.saturating_add(actor.state_bytes));
    if total <= session.state_bytes() {
        return;
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let limit = session.state_bytes();
    let message = format!("variables take {} MiB, and {} MiB are allowed", mebibytes(total), mebibytes(limit));
    let mut diagnostic = Diagnostic::error("list-too-large", message);
    if let Some(span) = span {
        diagnostic = diagnostic.at(span, "all instances together");
    }
    let mut largest: Vec<_> = instances.iter().map(|(name, actor)| (actor.state_bytes, name)).collect();
    largest.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    for (bytes, name) in largest.iter().take(3) {
        diagnostic = diagnostic.note(format!("{} MiB in `{name}`", mebibytes(*bytes)));
    }
    session.report(diagnostic.help(format!("where there is memory, set HEADRACE_STATE_MIB={}", mebibytes(total))));
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
            is_registered: false,
            span: input.span,
        });
    }
    for (port, output) in actor.outputs.iter().enumerate() {
        connections.push(Connection {
            source: Endpoint::Instance(instance, port),
            target: Endpoint::Boundary(port),
            via: Vec::new(),
            fifo_tokens: None,
            is_registered: false,
            span: output.span,
        });
    }
    let span = actor.span;
    Some(Network {
        name: name.to_string(),
        inputs: actor.inputs.clone(),
        outputs: actor.outputs.clone(),
        actors: vec![actor],
        instances: vec![ir::Instance {
            name: base.clone(),
            path: vec![base],
            actor: ir::ActorId(0),
            alternative: None,
            span,
        }],
        connections,
        span,
    })
}

impl Flattener<'_> {
    /// Adds what is in a network; `alternative` is what an enclosing instance belongs to.
    fn add(
        &mut self,
        node: &Rc<NetworkNode>,
        parent: Option<(usize, usize)>,
        path: &mut Vec<String>,
        alternative: Option<&ir::Alternative>,
    ) -> usize {
        let id = self.occurrences.len();
        self.occurrences.push(Occurrence { node: node.clone(), parent, children: Vec::new() });
        let mut children = Vec::with_capacity(node.children.len());
        for (at, child) in node.children.iter().enumerate() {
            if self.instances.len() + self.occurrences.len() > MAX_FLAT {
                break;
            }
            // The outermost that says so decides.
            let own = if alternative.is_some() { None } else { self.alternative(&child.attributes, path) };
            let alternative = alternative.or(own.as_ref());
            path.push(child.name.clone());
            match &child.node {
                Node::Unknown => {
                    self.failed = true;
                    children.push(Place::Unknown);
                }
                Node::Network(inner) => {
                    let inner = self.add(inner, Some((id, at)), path, alternative);
                    children.push(Place::Network(inner));
                }
                Node::Actor(actor) => {
                    let instance = InstanceId(self.instances.len() as u32);
                    // Without an index it has errors; its connections are checked all the same.
                    self.failed |= actor.index.is_none();
                    let index = actor.index.unwrap_or(ir::ActorId(0));
                    let name = self.unique(path.join("_"));
                    let path = path.clone();
                    let alternative = alternative.cloned();
                    self.instances.push(ir::Instance { name, path, actor: index, alternative, span: child.span });
                    self.nodes.push((id, at, actor.clone()));
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

    /// What an instance says of itself: `string alternative = "encrypt";`.
    fn alternative(&mut self, attributes: &[ast::Attribute], path: &[String]) -> Option<ir::Alternative> {
        let attribute = attributes.iter().find(|attribute| attribute.name.text == "alternative")?;
        match &attribute.value {
            ast::AttributeValue::String(name) if !name.is_empty() => {
                Some(ir::Alternative { family: path.join("."), name: name.to_string() })
            }
            _ => {
                self.failed = true;
                self.session.report(
                    Diagnostic::error("alternative", "an alternative has a name")
                        .at(attribute.span, "not a text")
                        .help("write `string alternative = \"encrypt\";`"),
                );
                None
            }
        }
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
        let mut connections = Vec::new();
        let mut boundary = Boundary::of(top);
        let nodes = std::mem::take(&mut self.nodes);
        for (instance, (occurrence, child, actor)) in nodes.iter().enumerate() {
            for port in 0..actor.inputs.len() {
                let target = Endpoint::Instance(InstanceId(instance as u32), port);
                let way = self.trace(*occurrence, End { child: Some(*child), port });
                connections.extend(way.map(|way| self.connection(way, target, &mut boundary)));
            }
        }
        for port in 0..top.outputs.len() {
            let way = self.trace(0, End { child: None, port });
            connections.extend(way.map(|way| self.connection(way, Endpoint::Boundary(port), &mut boundary)));
        }
        let states: Vec<(&str, &ActorNode)> = self
            .instances
            .iter()
            .zip(&nodes)
            .map(|(instance, (_, _, actor))| (instance.name.as_str(), &**actor))
            .collect();
        check_memory(self.session, &states, Some(top.span));
        let inputs = ports(&boundary.inputs);
        let outputs = ports(&boundary.outputs);
        let (Some(inputs), Some(outputs), false) = (inputs, outputs, self.failed || self.session.has_errors()) else {
            return None;
        };
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
    fn trace(&mut self, mut at: usize, mut end: End) -> Option<Way> {
        let mut passed: Vec<PortType> = Vec::new();
        let (mut fifo_tokens, mut is_registered) = (None, false);
        let mut last: Option<Span> = None;
        let mut seen = HashSet::new();
        let reader = self.occurrences[at].node.clone();
        let (target_elem, to) = (reader.target_port(end)?.elem, reader.describe_target(end));
        loop {
            let node = self.occurrences[at].node.clone();
            let link: Link = *node.links.get(*node.by_target.get(&end)?)?;
            let span = *last.get_or_insert(link.span);
            fifo_tokens = fifo_tokens.max(link.fifo_tokens);
            is_registered |= link.is_registered;
            if !seen.insert((at, end)) {
                self.failed = true;
                self.session.report(
                    Diagnostic::error("connection-loop", "these connections lead round in a circle without an actor")
                        .at(link.span, "no token can ever get in here"),
                );
                return None;
            }
            let port = node.source_port(link.from)?;
            let source = match link.from.child {
                Some(child) => match self.occurrences[at].children.get(child)? {
                    Place::Unknown => return None,
                    Place::Actor(instance) => Some(Endpoint::Instance(*instance, link.from.port)),
                    Place::Network(inner) => {
                        at = *inner;
                        end = End { child: None, port: link.from.port };
                        None
                    }
                },
                None => match self.occurrences[at].parent {
                    None => Some(Endpoint::Boundary(link.from.port)),
                    Some((parent, child)) => {
                        at = parent;
                        end = End { child: Some(child), port: link.from.port };
                        None
                    }
                },
            };
            let Some(source) = source else {
                passed.push(port.clone());
                continue;
            };
            return Some(Way {
                source,
                source_elem: port.elem,
                target_elem,
                from: node.describe_source(link.from),
                to,
                passed,
                fifo_tokens,
                is_registered,
                last: span,
                first: link.span,
            });
        }
    }

    /// Checks the types along a way, which becomes a FIFO.
    fn connection(&mut self, mut way: Way, target: Endpoint, boundary: &mut Boundary) -> Connection {
        if let Endpoint::Boundary(port) = way.source {
            way.source_elem = boundary.inputs[port].elem;
        }
        // What the first reader of an input was promised stays true for those behind it.
        let decides = match way.source {
            Endpoint::Boundary(port) => boundary.read.insert(port),
            Endpoint::Instance(..) => true,
        };
        if decides && !way.source_elem.converts_to(way.target_elem) {
            boundary.adopt(self.session, &mut way, target);
        }
        for port in &way.passed {
            if !holds(port.elem, way.source_elem) {
                self.session.report(
                    Diagnostic::warning(
                        "inner-port-type",
                        format!(
                            "`{}` is declared as `{}`, and `{}` tokens pass it",
                            port.name, port.elem, way.source_elem
                        ),
                    )
                    .at(port.span, "has no effect on them")
                    .note(format!("from `{}` to `{}`: the types of these two decide", way.from, way.to))
                    .help(format!("declare it as `{}`", way.source_elem)),
                );
            }
        }
        self.check_types(&way, target, boundary);
        let Way { source, fifo_tokens, is_registered, last: span, .. } = way;
        Connection { source, target, via: Vec::new(), fifo_tokens, is_registered, span }
    }

    fn check_types(&mut self, way: &Way, target: Endpoint, boundary: &Boundary) {
        let Way { source_elem, target_elem, from, to, last, first, .. } = way;
        let at = |diagnostic: Diagnostic, label: String| match last == first {
            true => diagnostic.at(*last, label),
            false => diagnostic.at(*last, label).also(*first, "they come from here"),
        };
        if !source_elem.converts_to(*target_elem) {
            let message = format!("`{source_elem}` tokens cannot become `{target_elem}`");
            let diagnostic = at(Diagnostic::error("type-mismatch", message), "the two ports do not go together".into());
            self.session.report(diagnostic.note(format!("from `{from}` to `{to}`")));
            return;
        }
        let at_boundary = [way.source, target].iter().any(|end| matches!(end, Endpoint::Boundary(_)));
        if holds(*target_elem, *source_elem) || at_boundary && !self.to_run {
            return;
        }
        let message = format!("`{source_elem}` tokens are cut down to `{target_elem}`");
        let diagnostic = Diagnostic::warning("narrowing-connection", message);
        let label = format!("not every `{source_elem}` is a `{target_elem}`");
        // One for a port of the network, which carries nothing where the network stands in another one.
        let diagnostic = match (way.source, target) {
            (_, Endpoint::Boundary(port)) => {
                diagnostic.at(boundary.outputs[port].span, label).also(*last, format!("they come from `{from}`"))
            }
            (Endpoint::Boundary(port), _) => {
                diagnostic.at(boundary.inputs[port].span, label).also(*last, format!("they go to `{to}`"))
            }
            _ => at(diagnostic, label),
        };
        self.session.report(diagnostic.help("convert in an actor if this is meant"));
    }
}

/// The ports of the network as a whole.
struct Boundary {
    inputs: Vec<PortType>,
    outputs: Vec<PortType>,
    /// Inputs that something reads, whose types are settled by that.
    read: HashSet<usize>,
}

impl Boundary {
    fn of(top: &NetworkNode) -> Self {
        Self { inputs: top.inputs.clone(), outputs: top.outputs.clone(), read: HashSet::new() }
    }

    /// Where a port of the network does not go together with the actor's inside, as `bool` and `int`, tokens have the
    /// type that the actor has for them. Of an input the first reader decides.
    fn adopt(&mut self, session: &mut Session, way: &mut Way, target: Endpoint) {
        let (port, elem, end) = match (way.source, target) {
            (Endpoint::Boundary(at), Endpoint::Instance(..)) => {
                way.source_elem = way.target_elem;
                (&mut self.inputs[at], way.target_elem, &way.to)
            }
            (Endpoint::Instance(..), Endpoint::Boundary(at)) => {
                way.target_elem = way.source_elem;
                (&mut self.outputs[at], way.source_elem, &way.from)
            }
            _ => return,
        };
        session.report(
            Diagnostic::warning(
                "inner-port-type",
                format!("`{}` is declared as `{}`, and the tokens of `{end}` are `{elem}`", port.name, port.elem),
            )
            .at(port.span, format!("taken as `{elem}`"))
            .help(format!("declare it as `{elem}`")),
        );
        port.elem = elem;
    }
}

/// True when every value of the second type is one of the first, as far as is known.
fn holds(port: Elem, tokens: Elem) -> bool {
    match (port, tokens) {
        (Elem::Poison, _) | (_, Elem::Poison) => true,
        (Elem::Int(to), Elem::Int(from)) => !from.is_known() || to.int_type().is_none_or(|to| from.fits(to)),
        (Elem::Real(_), Elem::Int(_) | Elem::Real(_)) => true,
        (to, from) => to == from,
    }
}
