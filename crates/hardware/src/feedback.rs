//! Feedback around datapaths: connections without latency where a cycle of them would be paid for every block.
//!
//! What leads straight on may take as many clock cycles as it likes: blocks follow each other through it. Where the result of a datapath
//! decides what it gets next (a mode that chains blocks, a sponge), each cycle in between is one more for every block. These are the
//! strongly connected components of the network with a datapath in them (Tarjan, "Depth-first search and linear graph algorithms",
//! SIAM J. Comput. 1972; here by reachability, since networks are small). Connections in them let tokens through in the cycle in which they
//! come, as far as no way of logic closes: a datapath keeps what it gives in registers, so it ends every way. Where a network has more
//! under way than one block (counter mode, key stream made ahead), the source asks for a pipeline register at a connection
//! (`flag registered;`): a cycle more is paid for once there, and the clock is the faster for it.

use headrace_ir::{Endpoint, Network};
use std::collections::BTreeSet;

/// How tokens come through a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// In the cycle behind that in which they are made.
    Clocked,
    /// In the cycle behind it, though it is part of a feedback: a pipeline register, in front of which a datapath needs none of its own.
    Registered,
    /// In the cycle in which they are made.
    Direct,
}

/// For each connection how tokens come through it. `is_unit` says which actors are datapaths.
pub(crate) fn ways(network: &Network, is_unit: impl Fn(usize) -> bool) -> Vec<Way> {
    let edges: Vec<Option<(usize, usize)>> = network
        .connections
        .iter()
        .map(|connection| match (connection.source, connection.target) {
            (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) => Some((from.index(), to.index())),
            _ => None,
        })
        .collect();
    let units: Vec<bool> = network.instances.iter().map(|one| is_unit(one.actor.index())).collect();
    let all: BTreeSet<(usize, usize)> = edges.iter().flatten().copied().collect();
    let n = units.len();
    let forth: Vec<BTreeSet<usize>> = (0..n).map(|at| reached(&all, at)).collect();
    let together = |a: usize, b: usize| forth[a].contains(&b) && forth[b].contains(&a);
    let around_unit = |at: usize| (0..n).any(|unit| units[unit] && together(at, unit));
    let mut logic: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut way = |(edge, is_registered): (&Option<(usize, usize)>, bool)| {
        let Some((from, to)) = *edge else { return Way::Clocked };
        if !together(from, to) || !around_unit(from) {
            return Way::Clocked;
        }
        if is_registered {
            return Way::Registered;
        }
        // A way of logic that would come back to where it began.
        if !units[from] && !units[to] {
            if from == to || reached(&logic, to).contains(&from) {
                return Way::Clocked;
            }
            logic.insert((from, to));
        }
        Way::Direct
    };
    let registered = network.connections.iter().map(|connection| connection.is_registered);
    edges.iter().zip(registered).map(&mut way).collect()
}

/// What is reached from somewhere over one edge at least.
fn reached(edges: &BTreeSet<(usize, usize)>, from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        for &(_, to) in edges.range((at, 0)..=(at, usize::MAX)) {
            if found.insert(to) {
                next.push(to);
            }
        }
    }
    found
}
