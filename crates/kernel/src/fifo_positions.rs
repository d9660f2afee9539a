//! Deoptimization: positions of FIFOs in a state of an automaton, for the run-time scheduler to go on from.
//! How far each was written follows from the tokens that wait in it.

use crate::automaton::ControlState;
use headrace_ir::{Connection, Endpoint, Network};

/// Tokens that are moved at once, at most, for a FIFO to begin where they begin.
const MOST_MOVED: usize = 1024;

impl ControlState {
    /// Tokens that are as good as written to a FIFO: those that one port writes have the same count. It is one that the actors
    /// can have come to by themselves, because they move many tokens at once where these begin at multiples of their number.
    pub fn written(&self, network: &Network, connection: usize) -> usize {
        let source = network.connections[connection].source;
        let siblings = || network.connections.iter().zip(&self.fills).filter(|(other, _)| other.source == source);
        let least = siblings().map(|(_, fill)| *fill).max().unwrap_or(0);
        let step = moved(network, source, true);
        let reached = |&written: &usize| {
            let read =
                |(one, fill): (&Connection, &usize)| (written - fill).is_multiple_of(moved(network, one.target, false));
            written.is_multiple_of(step) && siblings().all(read)
        };
        (least..=least + MOST_MOVED).find(reached).unwrap_or(least)
    }
}

/// What divides all numbers of tokens that an actor moves at an end of a FIFO.
fn moved(network: &Network, end: Endpoint, is_source: bool) -> usize {
    let Endpoint::Instance(instance, port) = end else { return 1 };
    let actor = network.actor_of(instance);
    let numbers = actor.actions.iter().chain(&actor.initializers).flat_map(|action| {
        let outputs = action.produces.iter().filter(|one| is_source && one.port == port).map(|one| one.tokens());
        let inputs = action.consumes.iter().filter(|one| !is_source && one.port == port).map(|one| one.tokens());
        outputs.chain(inputs).collect::<Vec<_>>()
    });
    usize::try_from(numbers.fold(0, gcd)).unwrap_or(1).max(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
