//! The transition that is searched: its words, and words that are sums of others.

use super::bits::{Bit, bits};
use super::pattern::WORD_BITS;
use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Nested sums of a word that are looked at.
const MOST_SUMS: usize = 64;

/// Operands of nested exclusive ors that are listed.
const MOST_TERMS: usize = 1024;

/// An operation in which neither order nor brackets matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gather {
    /// Sum of words.
    Add,
    /// Bitwise exclusive or.
    Xor,
}

/// The values of a transition, with sums added that it does not have.
pub struct Transition {
    /// The values.
    pub graph: Graph,
    /// Words that are put together, by their lowest bit.
    by_lowest: FxHashMap<Bit, Vec<NodeId>>,
    /// The bits of nodes that somebody asked for.
    bits: RefCell<FxHashMap<NodeId, Rc<[Bit]>>>,
    parts: FxHashMap<NodeId, Vec<NodeId>>,
    /// Sums that each word is an operand of.
    sums: FxHashMap<NodeId, Vec<NodeId>>,
    uses: FxHashMap<NodeId, usize>,
}

impl Transition {
    /// Of what some roots need.
    pub fn new(graph: &Graph, roots: &[NodeId]) -> Transition {
        let mut by_lowest: FxHashMap<Bit, Vec<NodeId>> = FxHashMap::default();
        let mut known: FxHashMap<NodeId, Rc<[Bit]>> = FxHashMap::default();
        let mut sums: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        let mut uses: FxHashMap<NodeId, usize> = FxHashMap::default();
        for id in graph.reachable(roots.iter().copied()) {
            for operand in graph.op(id).operands() {
                *uses.entry(operand).or_default() += 1;
            }
            if graph.width(id) == WORD_BITS && matches!(graph.op(id), Op::Concat(_)) {
                let bits = bits(graph, id);
                by_lowest.entry(bits[0]).or_default().push(id);
                known.insert(id, bits.into());
            }
            if let Op::Add(a, b) = *graph.op(id) {
                sums.entry(a).or_default().push(id);
                sums.entry(b).or_default().push(id);
            }
        }
        Transition {
            graph: graph.clone(),
            by_lowest,
            bits: RefCell::new(known),
            parts: FxHashMap::default(),
            sums,
            uses,
        }
    }

    /// The bits of a node, the lowest first.
    pub fn bits(&self, id: NodeId) -> Rc<[Bit]> {
        self.bits.borrow_mut().entry(id).or_insert_with(|| bits(&self.graph, id).into()).clone()
    }

    /// The word of which some bits are known.
    pub fn word_of(&self, wanted: &[Option<Bit>]) -> Option<NodeId> {
        let mut source = None;
        let in_place = wanted.iter().enumerate().all(|(at, bit)| match bit {
            Some(Bit::Of(node, i)) => *i as usize == at && *source.get_or_insert(*node) == *node,
            Some(Bit::Constant(_)) => false,
            None => true,
        });
        if in_place {
            return source.filter(|&source| self.graph.width(source) == WORD_BITS);
        }
        let is_it = |id: &NodeId| self.bits(*id).iter().copied().map(Some).eq(wanted.iter().copied());
        self.by_lowest.get(wanted.first()?.as_ref()?)?.iter().rev().copied().find(is_it)
    }

    /// The operands of a sum: as they were put together here, else the two of the node.
    pub fn parts(&self, gather: Gather, id: NodeId) -> Option<Vec<NodeId>> {
        let own = match (gather, self.graph.op(id)) {
            (Gather::Add, Op::Add(a, b)) | (Gather::Xor, Op::Xor(a, b)) => vec![*a, *b],
            _ => return None,
        };
        Some(self.parts.get(&id).cloned().unwrap_or(own))
    }

    /// Nested sums that a word is an operand of, the innermost first.
    pub fn sums_of(&self, id: NodeId) -> Vec<NodeId> {
        let mut all = vec![id];
        let mut done = 0;
        while done < all.len() && all.len() < MOST_SUMS {
            for &sum in self.sums.get(&all[done]).into_iter().flatten() {
                if !all.contains(&sum) {
                    all.push(sum);
                }
            }
            done += 1;
        }
        all.split_off(1)
    }

    /// Whether a word is a sum that is only there for another sum.
    pub fn is_step(&self, id: NodeId) -> bool {
        matches!(self.graph.op(id), Op::Add(..))
            && self.uses.get(&id) == Some(&1)
            && self.sums.get(&id).is_some_and(|sums| sums.len() == 1)
    }

    /// Whether a sum is there for other sums only.
    pub fn is_inner(&self, id: NodeId) -> bool {
        self.is_own(id) || self.uses.get(&id).copied() == self.sums.get(&id).map(Vec::len)
    }

    /// Whether a sum was put together here.
    pub fn is_own(&self, id: NodeId) -> bool {
        self.parts.contains_key(&id)
    }

    /// All operands of nested exclusive ors; the value itself where they are too many.
    pub fn flat(&self, gather: Gather, root: NodeId) -> Vec<NodeId> {
        let (mut all, mut open) = (Vec::new(), vec![root]);
        while let Some(id) = open.pop() {
            match self.parts(gather, id) {
                Some(parts) => open.extend(parts.into_iter().rev()),
                None => all.push(id),
            }
            if all.len() > MOST_TERMS {
                return vec![root];
            }
        }
        all
    }

    /// The sum of words.
    pub fn gathered(&mut self, gather: Gather, nodes: &[NodeId]) -> NodeId {
        let mut sorted = nodes.to_vec();
        sorted.sort_unstable();
        let mut sum = None;
        for &node in &sorted {
            sum = Some(match (sum, gather) {
                (None, _) => node,
                (Some(sum), Gather::Add) => self.graph.sum(sum, node),
                (Some(sum), Gather::Xor) => self.graph.xor(sum, node),
            });
        }
        let sum = sum.unwrap_or_else(|| self.graph.number(0, WORD_BITS));
        if sorted.len() > 1 {
            self.parts.entry(sum).or_insert(sorted);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_listed_in_order_up_to_a_number() {
        let mut graph = Graph::new();
        let words = [0, 1, 2].map(|at| graph.input(0, at, WORD_BITS));
        let [a, b, c] = words;
        let inner = graph.add(Op::Xor(a, b), WORD_BITS);
        let sum = graph.add(Op::Xor(inner, c), WORD_BITS);
        // Three words that are added to each other turn by turn.
        let last = (0..80)
            .fold(words, |[a, b, c], _| [(b, c), (c, a), (a, b)].map(|(x, y)| graph.add(Op::Xor(x, y), WORD_BITS)))[0];
        let kernel = Transition::new(&graph, &[sum, last]);
        assert_eq!(kernel.flat(Gather::Xor, sum), words);
        assert_eq!(kernel.flat(Gather::Xor, last), [last]);
    }
}
