//! A random walk over the networks of one map that never becomes longer and keeps what makes it shorter.
//!
//! Two moves, both leave every output as it is:
//!
//! * *regroup*: `t = a ^ b` with `b = c ^ d` becomes `t = d ^ b'` with `b' = a ^ c`. If a value `a ^ c` is there already it is
//!   used, and `b` goes when nothing else reads it; otherwise `b` is turned into `b'` when only `t` reads it.
//! * *redefine*: `t` becomes the XOR of any two other values that XOR to the same, unless one of them is made from `t`.
//!
//! Values that nothing reads any more are taken out with what only they read: that is where the network becomes shorter.
//! Invariant: no two values are equal, and `index` knows each that is there.

use super::{Draft, ValueMap, Work, input_values};
use crate::random::Random;
use std::collections::HashMap;

#[derive(Clone, Debug)]
struct Node {
    operands: (usize, usize),
    value: u128,
    n_readers: usize,
}

pub(super) struct Walk {
    n_inputs: usize,
    nodes: Vec<Node>,
    index: ValueMap<usize>,
    /// The nodes of the steps that are there, in any order.
    alive: Vec<usize>,
    outputs: Vec<Option<usize>>,
    max_depth: Option<usize>,
    /// For the search for cycles: when each node was last seen, and what time it is.
    seen: Vec<u32>,
    time: u32,
}

impl Walk {
    pub(super) fn new(draft: &Draft, max_depth: Option<usize>) -> Walk {
        let mut nodes: Vec<Node> = input_values(draft.n_inputs)
            .into_iter()
            .map(|value| Node { operands: (0, 0), value, n_readers: 0 })
            .collect();
        let mut index: ValueMap<usize> = nodes.iter().enumerate().map(|(i, node)| (node.value, i)).collect();
        // Steps that compute the same become one.
        let mut place: Vec<usize> = (0..draft.n_inputs).collect();
        for &(a, b) in &draft.pairs {
            let operands = (place[a], place[b]);
            let value = nodes[operands.0].value ^ nodes[operands.1].value;
            let node = *index.entry(value).or_insert_with(|| {
                nodes.push(Node { operands, value, n_readers: 0 });
                nodes.len() - 1
            });
            place.push(node);
        }
        let outputs: Vec<Option<usize>> = draft.outputs.iter().map(|output| output.map(|v| place[v])).collect();
        for i in draft.n_inputs..nodes.len() {
            let (a, b) = nodes[i].operands;
            nodes[a].n_readers += 1;
            nodes[b].n_readers += 1;
        }
        for &output in outputs.iter().flatten() {
            nodes[output].n_readers += 1;
        }
        let alive: Vec<usize> = (draft.n_inputs..nodes.len()).collect();
        let seen = vec![0; nodes.len()];
        let mut walk = Walk { n_inputs: draft.n_inputs, nodes, index, alive, outputs, max_depth, seen, time: 0 };
        for i in (draft.n_inputs..walk.nodes.len()).rev() {
            if walk.nodes[i].n_readers == 0 {
                walk.remove(i);
            }
        }
        walk
    }

    /// Takes a step that nothing reads out, and what then nothing reads.
    fn remove(&mut self, node: usize) {
        let mut gone = vec![node];
        while let Some(node) = gone.pop() {
            let Some(at) = self.alive.iter().position(|&other| other == node) else { continue };
            self.alive.swap_remove(at);
            self.index.remove(&self.nodes[node].value);
            let (a, b) = self.nodes[node].operands;
            for operand in [a, b] {
                self.nodes[operand].n_readers -= 1;
                if operand >= self.n_inputs && self.nodes[operand].n_readers == 0 {
                    gone.push(operand);
                }
            }
        }
    }

    /// Whether `node` is made from `from`, or is it.
    fn depends(&mut self, node: usize, from: usize, work: &mut Work) -> bool {
        self.time += 1;
        let mut rest = vec![node];
        while let Some(node) = rest.pop() {
            if node == from {
                return true;
            }
            if node >= self.n_inputs && self.seen[node] != self.time {
                self.seen[node] = self.time;
                work.take(1);
                let (a, b) = self.nodes[node].operands;
                rest.extend([a, b]);
            }
        }
        false
    }

    fn depth(&self) -> usize {
        let mut depths: Vec<Option<usize>> = vec![None; self.nodes.len()];
        depths[..self.n_inputs].fill(Some(0));
        let mut rest = self.alive.clone();
        while let Some(&node) = rest.last() {
            let (a, b) = self.nodes[node].operands;
            match (depths[node], depths[a], depths[b]) {
                (Some(_), _, _) => {
                    rest.pop();
                }
                (None, Some(a), Some(b)) => depths[node] = Some(a.max(b) + 1),
                (None, None, _) => rest.push(a),
                (None, _, None) => rest.push(b),
            }
        }
        self.outputs.iter().flatten().filter_map(|&v| depths[v]).max().unwrap_or(0)
    }

    fn too_deep(&self, work: &mut Work) -> bool {
        self.max_depth.is_some_and(|limit| {
            work.take(self.alive.len());
            self.depth() > limit
        })
    }

    /// Makes `t` read `operands` instead, unless that is too deep.
    fn reconnect(&mut self, t: usize, operands: (usize, usize), work: &mut Work) {
        let old = self.nodes[t].operands;
        self.nodes[t].operands = operands;
        if self.too_deep(work) {
            self.nodes[t].operands = old;
            return;
        }
        for operand in [operands.0, operands.1] {
            self.nodes[operand].n_readers += 1;
        }
        for operand in [old.0, old.1] {
            self.nodes[operand].n_readers -= 1;
            if operand >= self.n_inputs && self.nodes[operand].n_readers == 0 {
                self.remove(operand);
            }
        }
    }

    fn regroup(&mut self, t: usize, random: &mut Random, work: &mut Work) {
        let (mut a, mut b) = self.nodes[t].operands;
        let choice = random.below(4);
        if choice & 1 != 0 {
            std::mem::swap(&mut a, &mut b);
        }
        if b < self.n_inputs {
            return;
        }
        let (mut c, mut d) = self.nodes[b].operands;
        if choice & 2 != 0 {
            std::mem::swap(&mut c, &mut d);
        }
        let value = self.nodes[a].value ^ self.nodes[c].value;
        work.take(2);
        if let Some(&middle) = self.index.get(&value) {
            if !self.depends(middle, t, work) {
                self.reconnect(t, (middle, d), work);
            }
        } else if self.nodes[b].n_readers == 1 && value != 0 {
            // Only `t` reads `b`: `b` becomes `a ^ c`, and `t` reads `d` instead of `a`.
            let (old_b, old_t, old_value) = (self.nodes[b].operands, self.nodes[t].operands, self.nodes[b].value);
            self.nodes[b].operands = (a, c);
            self.nodes[t].operands = (b, d);
            if self.too_deep(work) {
                self.nodes[b].operands = old_b;
                self.nodes[t].operands = old_t;
                return;
            }
            self.nodes[b].value = value;
            self.index.remove(&old_value);
            self.index.insert(value, b);
        }
    }

    fn redefine(&mut self, t: usize, random: &mut Random, work: &mut Work) {
        let n = self.n_inputs + self.alive.len();
        work.take(n / 2);
        let start = random.below(n);
        let old = self.nodes[t].operands;
        for offset in 0..n {
            let place = (start + offset) % n;
            let a = if place < self.n_inputs { place } else { self.alive[place - self.n_inputs] };
            if a == t || a == old.0 || a == old.1 {
                continue;
            }
            let Some(&b) = self.index.get(&(self.nodes[t].value ^ self.nodes[a].value)) else { continue };
            if !self.depends(a, t, work) && !self.depends(b, t, work) {
                self.reconnect(t, (a, b), work);
                return;
            }
        }
    }

    /// Walks until the work is used up.
    pub(super) fn run(&mut self, work: &mut Work, random: &mut Random) {
        while !self.alive.is_empty() && work.take(4) {
            let t = self.alive[random.below(self.alive.len())];
            if random.below(8) == 0 {
                self.redefine(t, random, work);
            } else {
                self.regroup(t, random, work);
            }
        }
    }

    /// The number of XORs.
    pub(super) fn n_steps(&self) -> usize {
        self.alive.len()
    }

    /// The network as it is now.
    pub(super) fn draft(&self) -> Draft {
        let mut place: HashMap<usize, usize> = (0..self.n_inputs).map(|i| (i, i)).collect();
        let mut pairs = Vec::new();
        let mut rest: Vec<usize> = self.outputs.iter().rev().flatten().copied().collect();
        while let Some(&node) = rest.last() {
            let (a, b) = self.nodes[node].operands;
            match (place.get(&node), place.get(&a), place.get(&b)) {
                (Some(_), _, _) => {
                    rest.pop();
                }
                (None, Some(&a), Some(&b)) => {
                    place.insert(node, self.n_inputs + pairs.len());
                    pairs.push((a, b));
                }
                (None, None, _) => rest.push(a),
                (None, _, None) => rest.push(b),
            }
        }
        let outputs = self.outputs.iter().map(|output| output.and_then(|v| place.get(&v).copied())).collect();
        Draft { n_inputs: self.n_inputs, pairs, outputs }
    }
}
