//! Connectivity of networks and classification of actions. Which connections of a network go where, and what its
//! actions are like: what scheduling asks again and again.

use super::source_loops::weight;
use headrace_analysis::control::ControlSlice;
use headrace_ir::{Action, Actor, Endpoint, InstanceId, Network};
use rustc_hash::FxHashSet;

/// Operations of an action that is long.
const LONG_ACTION_OPERATIONS: u64 = 2_000;

fn is_long(actor: &Actor, action: &Action) -> bool {
    weight(actor, &action.body, &[], 0) > LONG_ACTION_OPERATIONS
}

/// Which connections go where.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    /// The connection at each input port of each instance.
    pub inputs: Vec<Vec<Option<usize>>>,
    /// The connections of each output port of each instance.
    pub outputs: Vec<Vec<Vec<usize>>>,
    /// The connections of each input port of the network.
    pub boundary: Vec<Vec<usize>>,
    /// Instances whose firings somebody outside waits for, or nobody.
    pub roots: Vec<usize>,
    /// Tokens that each connection should not exceed: what one firing needs, or what the source asks room for.
    pub room: Vec<u64>,
    /// Actions of each instance that are long.
    pub long: Vec<Vec<bool>>,
    /// Actions of each instance that are not long and make no tokens but those that decide.
    pub decide: Vec<Vec<bool>>,
}

impl Wiring {
    pub fn of(network: &Network, slice: &ControlSlice) -> Wiring {
        let n = network.instances.len();
        let actor = |at: usize| network.actor_of(InstanceId(at as u32));
        let mut wiring = Wiring {
            inputs: (0..n).map(|at| vec![None; actor(at).inputs.len()]).collect(),
            outputs: (0..n).map(|at| vec![Vec::new(); actor(at).outputs.len()]).collect(),
            boundary: vec![Vec::new(); network.inputs.len()],
            roots: Vec::new(),
            room: network
                .connections
                .iter()
                .map(|connection| network.largest_burst(connection).max(connection.fifo_tokens.unwrap_or(1).into()))
                .collect(),
            long: (0..n)
                .map(|at| actor(at).actions.iter().map(|action| is_long(actor(at), action)).collect())
                .collect(),
            decide: Vec::new(),
        };
        // Those that feed each instance, and those that make tokens for the outside.
        let mut feeders: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (at, connection) in network.connections.iter().enumerate() {
            if let Endpoint::Instance(instance, port) = connection.target {
                wiring.inputs[instance.index()][port] = Some(at);
            }
            match (connection.source, connection.target) {
                (Endpoint::Boundary(port), _) => wiring.boundary[port].push(at),
                (Endpoint::Instance(source, port), target) => {
                    wiring.outputs[source.index()][port].push(at);
                    match target {
                        Endpoint::Boundary(_) if wiring.roots.contains(&source.index()) => {}
                        Endpoint::Boundary(_) => wiring.roots.push(source.index()),
                        Endpoint::Instance(target, _) => feeders[target.index()].push(source.index()),
                    }
                }
            }
        }
        let only_decides = |connections: &Vec<usize>| connections.iter().all(|&at| slice.connections[at].is_control());
        let decides = |at: usize, action: &Action| {
            !is_long(actor(at), action)
                && action.produces.iter().all(|output| only_decides(&wiring.outputs[at][output.port]))
        };
        let decide = (0..n).map(|at| actor(at).actions.iter().map(|action| decides(at, action)).collect()).collect();
        wiring.decide = decide;
        // What feeds an end is asked by it; a cycle without one has to be asked itself.
        let reach = upstream(&feeders, &wiring.roots);
        wiring.roots.extend((0..n).filter(|at| !reach.contains(at)));
        // Those that most others work for come first: what ends a message, as a tag does, then sets the order in which
        // strings are taken, and all else is done on the way, not ahead of it.
        wiring.roots.sort_by_cached_key(|&root| std::cmp::Reverse(upstream(&feeders, &[root]).len()));
        wiring
    }

    /// Whether an instance takes tokens right from one of those that have fired.
    pub fn is_fed_by(&self, instance: usize, fired: &[(usize, usize)]) -> bool {
        let inputs = self.inputs[instance].iter().flatten();
        let feeds = |connection: &usize| {
            fired.iter().any(|&(source, _)| self.outputs[source].iter().any(|port| port.contains(connection)))
        };
        inputs.into_iter().any(feeds)
    }
}

/// Instances that work for some, themselves included.
fn upstream(feeders: &[Vec<usize>], roots: &[usize]) -> FxHashSet<usize> {
    let mut found = FxHashSet::default();
    let mut open = roots.to_vec();
    while let Some(at) = open.pop() {
        if found.insert(at) {
            open.extend(&feeders[at]);
        }
    }
    found
}
