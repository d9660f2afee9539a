//! The walk from the sources: breadth first, by data before control, so that paths are short and say what is computed.

use super::{Classes, Step, what};
use crate::flow::{self, Dependence, GlobalId, NodeId};
use headrace_ir::{Endpoint, InstanceId};
use std::collections::VecDeque;

/// How a node came to be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Not,
    /// A secret input of the network is connected to it.
    Source(u32),
    By(GlobalId),
}

/// Every secret node, and what it has its secret from.
pub(super) struct Walk<'g, 'n> {
    graph: &'g flow::Network<'n>,
    reached: Vec<Reached>,
    /// Distance from the source; whether only control leads here.
    rank: Vec<(u32, bool)>,
}

impl<'g, 'n> Walk<'g, 'n> {
    /// Walks a graph.
    pub fn new(graph: &'g flow::Network<'n>, classes: &Classes) -> Self {
        let n = graph.n_nodes();
        let mut walk = Walk { graph, reached: vec![Reached::Not; n], rank: vec![(0, false); n] };
        let mut is_public = vec![false; n];
        let mut waiting = VecDeque::new();
        for connection in &graph.network.connections {
            let (source, target) = graph.ends(connection);
            match (connection.source, connection.target) {
                (Endpoint::Boundary(port), _) if classes.secret_inputs.get(port).copied().unwrap_or(true) => {
                    if let Some(node) = target.filter(|node| walk.reached[*node as usize] == Reached::Not) {
                        walk.reached[node as usize] = Reached::Source(port as u32);
                        waiting.push_back(node);
                    }
                }
                (_, Endpoint::Boundary(port)) if classes.public_outputs.get(port).copied().unwrap_or(false) => {
                    source.into_iter().for_each(|node| is_public[node as usize] = true);
                }
                _ => {}
            }
        }
        let mut order = Vec::new();
        walk.spread(&mut waiting, &is_public, &mut order, false);
        // What control adds, once all that data reach is known.
        for node in order {
            waiting.push_back(node);
        }
        walk.spread(&mut waiting, &is_public, &mut Vec::new(), true);
        walk
    }

    fn spread(
        &mut self,
        waiting: &mut VecDeque<GlobalId>,
        is_public: &[bool],
        order: &mut Vec<GlobalId>,
        by_control: bool,
    ) {
        while let Some(node) = waiting.pop_front() {
            order.push(node);
            if is_public[node as usize] {
                continue;
            }
            for (next, dependence) in self.graph.dependents(node) {
                if self.reached[next as usize] == Reached::Not && (by_control || dependence == Dependence::Data) {
                    self.reached[next as usize] = Reached::By(node);
                    self.rank[next as usize] = (self.rank[node as usize].0 + 1, by_control);
                    waiting.push_back(next);
                }
            }
        }
    }

    /// True when a secret comes to the node.
    pub fn is_secret(&self, node: GlobalId) -> bool {
        self.reached[node as usize] != Reached::Not
    }

    /// Of some nodes of an instance the one that a secret comes to by the shortest way, data before control; its
    /// distance, and whether only control leads there.
    pub fn first_secret(&self, instance: InstanceId, nodes: &[NodeId]) -> Option<(GlobalId, (u32, bool))> {
        let nodes = nodes.iter().map(|&node| self.graph.global(instance, node)).filter(|&node| self.is_secret(node));
        let ranked = nodes.map(|node| (node, self.rank[node as usize]));
        ranked.min_by_key(|&(_, (distance, follows))| (follows, distance))
    }

    /// The steps from the port of the network to a node. Of several in a row that say the same, the first stays.
    pub fn path(&self, node: GlobalId) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut at = node;
        loop {
            let (instance, _) = self.graph.locate(at);
            let node = self.graph.node(at);
            if let Some(what) = what(self.graph, instance, node.origin) {
                steps.push(Step { instance: Some(instance), what, span: node.span });
            }
            match self.reached[at as usize] {
                Reached::By(before) => at = before,
                Reached::Source(port) => {
                    let port = &self.graph.network.inputs[port as usize];
                    steps.push(Step { instance: None, what: format!("`{}`", port.name), span: port.span });
                    break;
                }
                Reached::Not => break,
            }
        }
        steps.reverse();
        steps.dedup_by(|later, earlier| later.what == earlier.what && later.instance == earlier.instance);
        steps
    }
}
