//! Artificial deadlock (Parks 1995): a network that stops because its FIFOs are bounded. Whether a run that came to rest has
//! stopped so: whether something is missing that larger FIFOs would have brought.
//!
//! An actor that waits for room because its reader wants nothing more is no loss by itself: a source without input fills its
//! FIFO whenever what it is combined with ends. It is a loss where somebody waits for its further tokens: a reader that has
//! none, on the same connection or on another of its, or whoever takes an output of the network. Every circle of actors
//! that wait for one another's room and tokens has such a reader in it.

use headrace_engine::{Blocked, Report};
use headrace_ir::{Endpoint, Network};

/// True when an actor waits for room whose further tokens somebody waits for.
pub fn lacks(network: &Network, report: &Report) -> bool {
    let waiting = report.waits.iter().filter(|wait| matches!(wait.blocked, Blocked::Room { .. }));
    let mut instances =
        waiting.map(|wait| network.instances.iter().position(|instance| instance.name == wait.instance));
    instances.any(|instance| match instance {
        // Somebody else's network: what is not known is not excused.
        None => true,
        Some(writer) => network.connections.iter().any(|connection| {
            let is_its = matches!(connection.source, Endpoint::Instance(id, _) if id.index() == writer);
            is_its && is_awaited(network, report, connection.target)
        }),
    })
}

/// True when an engine has taken more than its FIFOs hold, so that another would have left a part of the input.
pub fn has_kept(report: &Report) -> bool {
    report.leftovers.iter().any(|left| left.tokens > left.capacity)
}

/// True when whoever reads there has too few tokens.
fn is_awaited(network: &Network, report: &Report, target: Endpoint) -> bool {
    match target {
        Endpoint::Boundary(_) => true,
        Endpoint::Instance(id, port) => {
            let reader = &network.instances[id.index()];
            let name = &network.actors[reader.actor.index()].inputs[port].name;
            report.waits.iter().any(|wait| {
                wait.instance == reader.name && matches!(&wait.blocked, Blocked::Tokens { port, .. } if port == name)
            })
        }
    }
}
