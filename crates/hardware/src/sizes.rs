//! FIFO sizes (buffer sizing): how many tokens each connection must hold.
//!
//! A network that is static as a whole has a schedule ([`headrace_analysis::schedule`]), and FIFOs that hold what this needs are
//! enough: actors that wait for room can then always follow it. Where a connection is the only one at a port of the network,
//! whoever is outside can wait, so it needs no more than bursts do. All others hold what the source asks for, or as many
//! tokens as in every other target.

use crate::Options;
use headrace_analysis::{balance, schedule};
use headrace_ir::{Connection, Endpoint, Network};

/// For each connection its capacity in tokens: a power of two, at least two.
pub(crate) fn capacities(network: &Network, options: &Options) -> Vec<u64> {
    let scheduled = scheduled(network);
    let all = network.connections.iter().enumerate();
    all.map(|(at, connection)| {
        let burst = network.largest_burst(connection);
        let wanted = match scheduled.get(at).copied().flatten() {
            _ if connection.fifo_tokens.is_some() => network.capacity(connection, options.fifo_tokens),
            Some(most) => most.max(burst),
            None if is_alone_outside(network, connection) => burst,
            None => network.capacity(connection, options.fifo_tokens),
        };
        wanted.max(2).next_power_of_two()
    })
    .collect()
}

/// Whether a connection has an end outside that no other connection shares.
fn is_alone_outside(network: &Network, connection: &Connection) -> bool {
    let source = connection.source;
    let n = network.connections.iter().filter(|other| other.source == source).count();
    n == 1 && (matches!(source, Endpoint::Boundary(_)) || matches!(connection.target, Endpoint::Boundary(_)))
}

/// For each connection what a schedule of the whole network needs, where there is one.
fn scheduled(network: &Network) -> Vec<Option<u64>> {
    let mut most = vec![None; network.connections.len()];
    let balance = balance::analyse(network);
    if balance.islands.len() != 1 || balance.islands[0].instances.len() != network.instances.len() {
        return most;
    }
    for outcome in schedule::analyse(network, &balance) {
        if let schedule::Outcome::Runs(period) = outcome {
            for (fifo, tokens) in period.fifos.iter().zip(&period.demand_driven.most) {
                most[*fifo] = Some(*tokens);
            }
        }
    }
    most
}
