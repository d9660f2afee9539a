//! The dataflow graph of a network: who is connected with whom.

use headrace_ir::{Endpoint, Network};

/// Instances in an order in which tokens flow: sources first, loops cut where they come back.
pub fn sources_first(network: &Network) -> Vec<usize> {
    let n = network.instances.len();
    let mut successors = vec![Vec::new(); n];
    let mut starts = Vec::new();
    for connection in &network.connections {
        match (connection.source, connection.target) {
            (Endpoint::Instance(source, _), Endpoint::Instance(target, _)) => {
                successors[source.index()].push(target.index());
            }
            (Endpoint::Boundary(_), Endpoint::Instance(target, _)) => starts.push(target.index()),
            _ => {}
        }
    }
    starts.extend(0..n);
    let mut seen = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for start in starts {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            match successors[at].get(next) {
                Some(&successor) => {
                    stack.push((at, next + 1));
                    if !std::mem::replace(&mut seen[successor], true) {
                        stack.push((successor, 0));
                    }
                }
                None => order.push(at),
            }
        }
    }
    order.reverse();
    order
}

/// Instances at the other ends of the FIFOs of one, each once and in the order of their numbers; itself where one leads back.
pub fn neighbours(network: &Network, instance: usize) -> Vec<usize> {
    let mut all = Vec::new();
    for connection in &network.connections {
        if let (Endpoint::Instance(source, _), Endpoint::Instance(target, _)) = (connection.source, connection.target) {
            if source.index() == instance {
                all.push(target.index());
            }
            if target.index() == instance {
                all.push(source.index());
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
