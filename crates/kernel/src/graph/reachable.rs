//! What nodes need. Operands have smaller numbers than what reads them, so that the numbers are an order, and marks for all
//! nodes up to the last root are a few bits.

use super::{Graph, NodeId};

/// Nodes of a graph as a bit each.
struct Marks(Vec<u64>);

impl Marks {
    /// Whether a node was not marked before.
    fn insert(&mut self, id: NodeId) -> bool {
        let (word, bit) = (&mut self.0[id.index() / 64], 1 << (id.index() % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn in_order(self) -> Vec<NodeId> {
        let mut all = Vec::with_capacity(self.0.iter().map(|word| word.count_ones() as usize).sum());
        for (at, mut word) in self.0.into_iter().enumerate() {
            while word != 0 {
                all.push(NodeId(at as u32 * 64 + word.trailing_zeros()));
                word &= word - 1;
            }
        }
        all
    }
}

impl Graph {
    /// Nodes that the given ones need, themselves included, operands first.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        self.reachable_but(roots, |_| false)
    }

    /// The same without those that are known and what only those need. A pass that asks for one node after the other so
    /// takes as long as its graph is large, and not that for each of them.
    pub fn reachable_but(
        &self,
        roots: impl IntoIterator<Item = NodeId>,
        is_known: impl Fn(NodeId) -> bool,
    ) -> Vec<NodeId> {
        let mut open: Vec<NodeId> = roots.into_iter().filter(|&id| !is_known(id)).collect();
        if let &[root] = open.as_slice()
            && self.op(root).operands().iter().all(|&operand| is_known(operand))
        {
            return open;
        }
        let last = open.iter().map(|id| id.index() / 64 + 1).max().unwrap_or(0);
        let mut seen = Marks(vec![0; last]);
        open.retain(|&id| seen.insert(id));
        while let Some(id) = open.pop() {
            open.extend(
                self.op(id).operands().into_iter().filter(|&operand| !is_known(operand) && seen.insert(operand)),
            );
        }
        seen.in_order()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn operands_come_first_and_what_is_known_is_left_out() {
        let mut graph = Graph::new();
        let inputs: Vec<NodeId> = (0..200).map(|at| graph.input(0, at, 8)).collect();
        let inner = graph.add(Op::Xor(inputs[3], inputs[190]), 8);
        let other = graph.add(Op::Xor(inputs[3], inputs[64]), 8);
        let outer = graph.add(Op::Add(inner, other), 8);
        assert_eq!(
            graph.reachable([outer, inputs[0]]),
            [inputs[0], inputs[3], inputs[64], inputs[190], inner, other, outer]
        );
        assert_eq!(graph.reachable_but([outer], |id| id == inner), [inputs[3], inputs[64], other, outer]);
        assert_eq!(graph.reachable_but([outer], |id| id == inner || id == other), [outer]);
        assert_eq!(graph.reachable_but([outer, inner], |id| id == outer || id == inner), []);
        assert_eq!(graph.reachable_but([outer, outer], |id| id == inner || id == other), [outer]);
        assert_eq!(graph.reachable([]), []);
    }

    #[test]
    fn asking_for_one_node_after_the_other_looks_at_each_edge_once() {
        const N_NODES: usize = 20_000;
        let mut graph = Graph::new();
        let mut all = vec![graph.input(0, 0, 32), graph.input(0, 1, 32)];
        while all.len() < N_NODES {
            let (a, b) = (all[all.len() - 1], all[all.len() - 2]);
            all.push(graph.add(Op::Add(a, b), 32));
        }
        let (mut known, asked) = (rustc_hash::FxHashSet::default(), std::cell::Cell::new(0));
        for &id in &all {
            let is_known = |id: NodeId| {
                asked.set(asked.get() + 1);
                known.contains(&id)
            };
            let new = graph.reachable_but([id], is_known);
            known.extend(new);
        }
        assert_eq!(known.len(), N_NODES);
        assert!(asked.get() <= 4 * N_NODES, "{}", asked.get());
    }
}
