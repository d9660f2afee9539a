//! Regions of a network: its inner networks that become datapaths, among actors that are modules.
//!
//! The outermost inner networks are tried first, then those inside of them. One that becomes a datapath is taken out of the network, and
//! in its place stands an actor with its ports: of that only what a firing takes and makes is ever looked at, to say how many tokens
//! connections move at once and how many FIFOs hold.

use crate::datapath::Unit;
use crate::{Options, datapath};
use headrace_ir::{
    Action, ActionId, Actor, ActorId, Connection, Endpoint, Expr, ExprKind, Guard, Instance, InstanceId, Lines,
    LocalId, Network, Output, OutputValue, Pattern, Port, Scalar, Schedule, State, StateId, Test,
};
use std::collections::{BTreeMap, BTreeSet};

/// The network with regions as actors, and the datapath of each of these, by its position.
pub(crate) fn found(network: &Network, options: &Options) -> (Network, BTreeMap<usize, Unit>) {
    let mut network = network.clone();
    let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
    // What inner networks were whose stand-ins these are.
    let mut known: Vec<(Region, ActorId)> = Vec::new();
    let mut tried: BTreeSet<Vec<String>> = BTreeSet::new();
    let deepest = network.instances.iter().map(|instance| instance.path.len()).max().unwrap_or(0);
    for depth in 1..deepest {
        let prefixes: BTreeSet<Vec<String>> = network
            .instances
            .iter()
            .filter(|instance| instance.path.len() > depth)
            .map(|instance| instance.path[..depth].to_vec())
            .collect();
        for prefix in prefixes {
            if !tried.insert(prefix.clone()) {
                continue;
            }
            let inside: Vec<usize> = (0..network.instances.len())
                .filter(|&at| {
                    network.instances[at].path.len() > depth && network.instances[at].path.starts_with(&prefix)
                })
                .collect();
            if inside.len() == network.instances.len() {
                continue;
            }
            let cut = Cut::of(&network, &prefix, &inside);
            let region = Region::of(&cut, is_fed_back(&network, &inside));
            if let Some((_, actor)) = known.iter().find(|(other, _)| *other == region) {
                network = cut.replaced(&network, *actor);
                continue;
            }
            if let Ok(unit) = datapath::Unit::of(&cut.inner, options, region.is_fed_back) {
                if is_slow(&network, &prefix, &unit, options) {
                    continue;
                }
                let actor = ActorId(network.actors.len() as u32);
                network.actors.push(cut.stand_in(&unit, network.instances[inside[0]].span));
                network = cut.replaced(&network, actor);
                units.insert(actor.index(), unit);
                known.push((region, actor));
            }
        }
    }
    (network, units)
}

/// Whether a datapath of an inner network takes several times as long as one of a network inside of it: as modules, what it
/// would do one after the other overlaps.
fn is_slow(network: &Network, prefix: &[String], unit: &datapath::Unit, options: &Options) -> bool {
    let depth = prefix.len() + 1;
    let within: BTreeSet<&[String]> = network
        .instances
        .iter()
        .filter(|one| one.path.len() > depth && one.path.starts_with(prefix))
        .map(|one| &one.path[..depth])
        .collect();
    within.into_iter().any(|path| {
        let inside: Vec<usize> = (0..network.instances.len())
            .filter(|&at| network.instances[at].path.len() > depth && network.instances[at].path.starts_with(path))
            .collect();
        let cut = Cut::of(network, path, &inside);
        let inner = datapath::Unit::of(&cut.inner, options, is_fed_back(network, &inside));
        inner.is_ok_and(|inner| inner.longest() > 0 && unit.longest() > SLOW * inner.longest())
    })
}

/// How many times as long a datapath may take as one inside of it.
const SLOW: u32 = 2;

/// Whether what some instances give comes back to them by way of others.
fn is_fed_back(network: &Network, inside: &[usize]) -> bool {
    let mut seen: BTreeSet<usize> = inside.iter().copied().collect();
    let mut next: Vec<usize> = inside.to_vec();
    let mut is_outside = false;
    while let Some(at) = next.pop() {
        for connection in &network.connections {
            let (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) = (connection.source, connection.target)
            else {
                continue;
            };
            if from.index() != at {
                continue;
            }
            is_outside |= !inside.contains(&at) && inside.contains(&to.index());
            if seen.insert(to.index()) {
                next.push(to.index());
            }
        }
    }
    is_outside
}

/// What a datapath of an inner network depends on, whatever it is called and wherever it stands.
#[derive(PartialEq)]
struct Region {
    inputs: Vec<(String, Scalar)>,
    outputs: Vec<(String, Scalar)>,
    /// The actor of each instance, and its names within.
    instances: Vec<(ActorId, Vec<String>)>,
    connections: Vec<(Endpoint, Endpoint, Vec<Scalar>, Option<u32>)>,
    is_fed_back: bool,
}

impl Region {
    fn of(cut: &Cut, is_fed_back: bool) -> Self {
        let ports = |ports: &[Port]| ports.iter().map(|port| (port.name.clone(), port.ty)).collect();
        let instances = cut.inner.instances.iter();
        let connections = cut.inner.connections.iter();
        Self {
            inputs: ports(&cut.inner.inputs),
            outputs: ports(&cut.inner.outputs),
            instances: instances.map(|one| (one.actor, one.path[cut.path.len()..].to_vec())).collect(),
            connections: connections.map(|one| (one.source, one.target, one.via.clone(), one.fifo_tokens)).collect(),
            is_fed_back,
        }
    }
}

/// An inner network cut out of another.
struct Cut {
    inner: Network,
    /// Positions of the instances in the network around.
    inside: Vec<usize>,
    /// What comes to each of its input ports.
    sources: Vec<Endpoint>,
    /// What each of its output ports is in the network around.
    givers: Vec<Endpoint>,
    path: Vec<String>,
}

impl Cut {
    fn of(network: &Network, path: &[String], inside: &[usize]) -> Self {
        let position: BTreeMap<usize, usize> = inside.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let is_inside = |end: Endpoint| matches!(end, Endpoint::Instance(at, _) if position.contains_key(&at.index()));
        let moved = |end: Endpoint| match end {
            Endpoint::Instance(at, port) => Endpoint::Instance(InstanceId(position[&at.index()] as u32), port),
            end => end,
        };
        let (mut sources, mut givers): (Vec<Endpoint>, Vec<Endpoint>) = (Vec::new(), Vec::new());
        let (mut inputs, mut outputs): (Vec<Port>, Vec<Port>) = (Vec::new(), Vec::new());
        let mut connections = Vec::new();
        for connection in &network.connections {
            match (is_inside(connection.source), is_inside(connection.target)) {
                (false, false) => {}
                (true, true) => connections.push(Connection {
                    source: moved(connection.source),
                    target: moved(connection.target),
                    ..connection.clone()
                }),
                (false, true) => {
                    let port = sources.iter().position(|&source| source == connection.source).unwrap_or_else(|| {
                        sources.push(connection.source);
                        let inner = network.target_port(connection);
                        inputs.push(Port {
                            name: fresh(&inputs, &inner.name),
                            ..network.source_port(connection).clone()
                        });
                        sources.len() - 1
                    });
                    let source = Endpoint::Boundary(port);
                    connections.push(Connection { source, target: moved(connection.target), ..connection.clone() });
                }
                (true, false) => {
                    if !givers.contains(&connection.source) {
                        givers.push(connection.source);
                        let port = network.source_port(connection);
                        outputs.push(Port { name: fresh(&outputs, &port.name), ..port.clone() });
                        connections.push(Connection {
                            source: moved(connection.source),
                            target: Endpoint::Boundary(givers.len() - 1),
                            via: Vec::new(),
                            fifo_tokens: None,
                            is_registered: false,
                            span: connection.span,
                        });
                    }
                }
            }
        }
        let name = path.join(".");
        let instances = inside.iter().map(|&at| network.instances[at].clone()).collect();
        let inner = Network { name, inputs, outputs, instances, connections, ..network.clone() };
        Self { inner, inside: inside.to_vec(), sources, givers, path: path.to_vec() }
    }

    /// The network around with an actor of it in the place of the inner one.
    fn replaced(&self, network: &Network, actor: ActorId) -> Network {
        let mut new = network.clone();
        let first = &network.instances[self.inside[0]];
        let span = first.span;
        let is_common = |&at: &usize| network.instances[at].alternative == first.alternative;
        let alternative = first.alternative.clone().filter(|_| self.inside.iter().all(is_common));
        // Behind all others, so that those keep their order.
        let kept: Vec<usize> = (0..network.instances.len()).filter(|at| !self.inside.contains(at)).collect();
        new.instances = kept.iter().map(|&at| network.instances[at].clone()).collect();
        new.instances.push(Instance { name: self.path.join("_"), path: self.path.clone(), actor, alternative, span });
        let own = InstanceId(kept.len() as u32);
        let moved = |end: Endpoint| match end {
            Endpoint::Instance(at, port) => match kept.iter().position(|&old| old == at.index()) {
                Some(new) => Endpoint::Instance(InstanceId(new as u32), port),
                None => {
                    let port = self.givers.iter().position(|&giver| giver == end).unwrap_or(0);
                    Endpoint::Instance(own, port)
                }
            },
            end => end,
        };
        let is_inside = |end: Endpoint| matches!(end, Endpoint::Instance(at, _) if self.inside.contains(&at.index()));
        new.connections = Vec::new();
        let mut connected = BTreeSet::new();
        for connection in &network.connections {
            let (source, target) = (connection.source, connection.target);
            match (is_inside(source), is_inside(target)) {
                (true, true) => {}
                (false, true) => {
                    let port = self.sources.iter().position(|&other| other == source).unwrap_or(0);
                    if connected.insert(port) {
                        new.connections.push(Connection {
                            source: moved(source),
                            target: Endpoint::Instance(own, port),
                            via: Vec::new(),
                            ..connection.clone()
                        });
                    }
                }
                _ => new.connections.push(Connection {
                    source: moved(source),
                    target: moved(target),
                    ..connection.clone()
                }),
            }
        }
        new
    }

    fn stand_in(&self, unit: &Unit, span: headrace_source::Span) -> Actor {
        let action = |(number, (consumes, produces)): (usize, (&[u64], &[u64]))| Action {
            name: format!("task_{number}"),
            tag: None,
            consumes: tokens(consumes)
                .map(|(port, n)| Pattern { port, locals: vec![LocalId(0)], repeat: Some(n) })
                .collect(),
            produces: tokens(produces)
                .map(|(port, n)| {
                    let nothing = Expr { kind: ExprKind::Bool(false), span };
                    Output { port, values: vec![OutputValue::Scalar(nothing)], repeat: Some(n) }
                })
                .collect(),
            guard: Guard::default(),
            locals: Vec::new(),
            body: Vec::new(),
            annotations: Vec::new(),
            span,
        };
        let actions: Vec<Action> = unit.rates().enumerate().map(action).collect();
        let tests = (0..actions.len()).map(|at| Test { action: ActionId(at as u32), next: StateId(0) }).collect();
        Actor {
            class: self.path.last().cloned().unwrap_or_default(),
            parameters: Vec::new(),
            inputs: self.inner.inputs.clone(),
            outputs: self.inner.outputs.clone(),
            variables: Vec::new(),
            procedures: Vec::new(),
            natives: Vec::new(),
            initializers: Vec::new(),
            actions,
            schedule: Schedule { states: vec![State { name: String::new(), tests }], initial: StateId(0) },
            priorities: Vec::new(),
            annotations: Vec::new(),
            lines: Lines::default(),
            span,
        }
    }
}

/// Ports with the tokens that are moved there, where there are any.
fn tokens(all: &[u64]) -> impl Iterator<Item = (usize, u32)> {
    all.iter().enumerate().filter(|(_, n)| **n > 0).map(|(port, n)| (port, u32::try_from(*n).unwrap_or(u32::MAX)))
}

/// A name like this one that no port has yet.
fn fresh(ports: &[Port], like: &str) -> String {
    let is_free = |name: &str| ports.iter().all(|port| port.name != name);
    let mut names = std::iter::once(like.to_owned()).chain((2..).map(|number| format!("{like}_{number}")));
    names.find(|name| is_free(name)).unwrap_or_else(|| like.to_owned())
}
