//! Cutting of a network into networks, one for each partition of a mapping: what one thread, one processor or a part of
//! a chip runs of it.
//!
//! A part has the instances of its partition and what connects them. What led to another partition, or to the boundary of
//! the whole, ends at a port: whoever moves tokens from the output of one part to the input of another, in order and as
//! there is room, does what the connection did. A token is converted where it leaves its part, so that both ports have the
//! type of the FIFO. Example: `a → b → c` with `b` in a partition of its own is cut into `a` with an output and `c` with an
//! input, and `b` with both.

use headrace_ir::{Connection, Endpoint, Instance, InstanceId, Mapping, Network, Port};
use std::collections::{BTreeMap, BTreeSet};

/// What a port of a part stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outside {
    /// The port of the whole with this position, among its inputs or among its outputs. Tokens of an input go to all parts
    /// that have it.
    Boundary(usize),
    /// The connection of the whole with this position, which leads from one part to another.
    Crossing(usize),
}

/// A part of a network.
#[derive(Clone, Debug)]
pub struct Part {
    /// The part as a network.
    pub network: Network,
    /// Which instances of the whole it has, in the order of its own.
    pub instances: Vec<InstanceId>,
    /// What its inputs stand for.
    pub inputs: Vec<Outside>,
    /// What its outputs stand for.
    pub outputs: Vec<Outside>,
}

/// What of a network belongs to one partition of a mapping, as positions in the lists of the network: all that whoever runs it
/// must know, whether he has it as a network of its own or shares memory with the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its instances, in their order.
    pub instances: Vec<InstanceId>,
    /// Connections with both ends in it.
    pub inside: BTreeSet<usize>,
    /// Those that bring it tokens from another partition, or from the boundary.
    pub entering: BTreeSet<usize>,
    /// Those that take tokens from it there.
    pub leaving: BTreeSet<usize>,
}

impl Share {
    fn of(network: &Network, mapping: &Mapping, partition: usize) -> Share {
        let of_partition = |id: &InstanceId| mapping.partition(*id) == partition;
        let instances = (0..network.instances.len() as u32).map(InstanceId).filter(of_partition).collect();
        let mut share = Share { instances, ..Share::default() };
        for (at, connection) in network.connections.iter().enumerate() {
            let is_here = |endpoint: Endpoint| mapping.at(endpoint) == Some(partition);
            match (is_here(connection.source), is_here(connection.target)) {
                (true, true) => share.inside.insert(at),
                (false, true) => share.entering.insert(at),
                (true, false) => share.leaving.insert(at),
                (false, false) => false,
            };
        }
        share
    }
}

/// What belongs to each partition of a mapping.
pub fn shares(network: &Network, mapping: &Mapping) -> Vec<Share> {
    (0..mapping.partitions.len()).map(|partition| Share::of(network, mapping, partition)).collect()
}

/// The parts of a network, by the partitions of a mapping of its instances. What leads from an input of the whole straight to
/// an output of it belongs to the first.
pub fn cut_network(network: &Network, mapping: &Mapping) -> Vec<Part> {
    (0..mapping.partitions.len()).map(|partition| part(network, mapping, partition)).collect()
}

fn part(whole: &Network, mapping: &Mapping, partition: usize) -> Part {
    let Share { instances, inside, entering, leaving } = Share::of(whole, mapping, partition);
    let mut names: BTreeSet<String> = whole.inputs.iter().chain(&whole.outputs).map(|port| port.name.clone()).collect();
    let mut network = Network {
        name: format!("{}_{}", whole.name, mapping.partitions[partition]),
        inputs: Vec::new(),
        outputs: Vec::new(),
        actors: Vec::new(),
        instances: Vec::new(),
        connections: Vec::new(),
        span: whole.span,
    };
    let mut actors = BTreeMap::new();
    for &id in &instances {
        let instance = &whole.instances[id.index()];
        let next = network.actors.len();
        let actor = *actors.entry(instance.actor).or_insert(next);
        if actor == next {
            network.actors.push(whole.actor_of(id).clone());
        }
        network.instances.push(Instance { actor: headrace_ir::ActorId(actor as u32), ..instance.clone() });
    }
    let (mut inputs, mut outputs): (Vec<Outside>, Vec<Outside>) = (Vec::new(), Vec::new());
    for (at, connection) in whole.connections.iter().enumerate() {
        let is_straight =
            matches!((connection.source, connection.target), (Endpoint::Boundary(_), Endpoint::Boundary(_)));
        let is_inside = inside.contains(&at);
        let (from, to) = (is_inside || leaving.contains(&at), is_inside || entering.contains(&at));
        let is_own = from || to || (is_straight && partition == 0);
        if !is_own {
            continue;
        }
        let mut own = |endpoint: Endpoint, is_input: bool| match endpoint {
            Endpoint::Instance(id, port) if mapping.partition(id) == partition => {
                let own = instances.partition_point(|&other| other < id);
                Endpoint::Instance(InstanceId(own as u32), port)
            }
            outside => {
                let (ports, stand_for) = match is_input {
                    true => (&mut network.inputs, &mut inputs),
                    false => (&mut network.outputs, &mut outputs),
                };
                let (what, port) = match outside {
                    Endpoint::Boundary(port) if is_input => (Outside::Boundary(port), whole.inputs[port].clone()),
                    Endpoint::Boundary(port) => (Outside::Boundary(port), whole.outputs[port].clone()),
                    Endpoint::Instance(..) => (Outside::Crossing(at), crossing(whole, connection, &mut names)),
                };
                let known = stand_for.iter().position(|&other| other == what);
                Endpoint::Boundary(known.unwrap_or_else(|| {
                    ports.push(port);
                    stand_for.push(what);
                    ports.len() - 1
                }))
            }
        };
        let (source, target) = (own(connection.source, true), own(connection.target, false));
        // Tokens that come from another part have been converted there.
        let via = if to && !from && matches!(connection.source, Endpoint::Instance(..)) {
            Vec::new()
        } else {
            connection.via.clone()
        };
        network.connections.push(Connection { source, target, via, ..connection.clone() });
    }
    Part { network, instances, inputs, outputs }
}

/// The port for a connection to or from another part: of the type of its tokens, called after where they come from.
fn crossing(whole: &Network, connection: &Connection, names: &mut BTreeSet<String>) -> Port {
    let (from, to) = whole.describe(connection);
    let base = format!("{from}_to_{to}").replace('.', "_");
    let mut name = base.clone();
    let mut number = 1;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{base}_{number}");
    }
    Port { name, ..whole.target_port(connection).clone() }
}
