//! Memoised demand-driven evaluation of nodes: a value is computed when it is asked for, and once only until all are forgotten.
//! Values stand in an array by the number of the node with the round that they are of, so that nothing is hashed, and to forget
//! is to begin another round.

use super::{Environment, value};
use crate::graph::{Graph, NodeId};

/// Values of nodes of one graph, as far as they were asked for.
#[derive(Debug)]
pub(super) struct OnDemand {
    round: u32,
    /// The round in which each node was computed, and what it is then.
    known: Vec<(u32, u128)>,
    /// Nodes that wait for their operands; empty between calls.
    open: Vec<NodeId>,
    n_computed: u64,
}

impl Default for OnDemand {
    fn default() -> Self {
        Self { round: 1, known: Vec::new(), open: Vec::new(), n_computed: 0 }
    }
}

impl OnDemand {
    /// How many values were computed since the beginning.
    pub(super) fn n_computed(&self) -> u64 {
        self.n_computed
    }

    /// Forgets all values, and how many there were.
    pub(super) fn restart(&mut self) {
        self.forget();
        self.n_computed = 0;
    }

    /// Forgets all values. What is asked next may be of another graph.
    pub(super) fn forget(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.known.fill((0, 0));
            self.round = 1;
        }
    }

    #[inline]
    fn known(&self, id: NodeId) -> Option<u128> {
        let &(round, value) = self.known.get(id.index())?;
        (round == self.round).then_some(value)
    }

    /// The value of a node of a graph, which may have grown since the last call.
    pub(super) fn value(&mut self, graph: &Graph, node: NodeId, environment: &dyn Environment) -> u128 {
        if let Some(known) = self.known(node) {
            return known;
        }
        if self.known.len() < graph.len() {
            match self.known.is_empty() {
                // Zeros that are asked for at once cost nothing where nobody looks at them.
                true => self.known = vec![(0, 0); graph.len()],
                false => self.known.resize(graph.len(), (0, 0)),
            }
        }
        let mut open = std::mem::take(&mut self.open);
        open.push(node);
        while let Some(&next) = open.last() {
            if self.known(next).is_some() {
                open.pop();
                continue;
            }
            let n_open = open.len();
            graph.op(next).each_operand(|operand| {
                if self.known(operand).is_none() {
                    open.push(operand);
                }
            });
            if open.len() == n_open {
                let result = value(graph, next, &|id| self.known(*id).unwrap_or(0), environment);
                self.known[next.index()] = (self.round, result);
                self.n_computed += 1;
                open.pop();
            }
        }
        self.open = open;
        self.known(node).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use crate::graph::Op;
    use std::cell::Cell;

    /// Tokens are their numbers, and counted when they are read.
    struct Counted(Cell<u32>);

    impl Environment for Counted {
        fn input(&self, _port: u32, offset: i64) -> u128 {
            self.0.set(self.0.get() + 1);
            offset as u128
        }
        fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
            0
        }
    }

    #[test]
    fn nodes_are_computed_once_a_round_also_where_the_graph_grows() {
        let mut graph = Graph::new();
        let (one, two) = (graph.input(0, 1, 8), graph.input(0, 2, 8));
        let sum = graph.add(Op::Add(one, two), 8);
        let (mut values, tokens) = (OnDemand::default(), Counted(Cell::new(0)));
        assert_eq!((values.value(&graph, sum, &tokens), values.n_computed()), (3, 3));
        let more = graph.add(Op::Mul(sum, two), 8);
        assert_eq!((values.value(&graph, more, &tokens), values.n_computed(), tokens.0.get()), (6, 4, 2));
        values.forget();
        assert_eq!((values.value(&graph, two, &tokens), values.n_computed(), tokens.0.get()), (2, 5, 3));
        values.restart();
        assert_eq!((values.value(&graph, two, &tokens), values.n_computed(), tokens.0.get()), (2, 1, 4));
    }

    #[test]
    fn rounds_begin_anew_when_they_run_out() {
        let mut graph = Graph::new();
        let one = graph.input(0, 1, 8);
        let (mut values, tokens) = (OnDemand { round: u32::MAX, ..OnDemand::default() }, Counted(Cell::new(0)));
        assert_eq!(values.value(&graph, one, &tokens), 1);
        values.forget();
        assert_eq!((values.value(&graph, one, &tokens), tokens.0.get()), (1, 2));
    }
}
