//! A random walk over the networks of one map that never becomes longer and keeps what makes it shorter.
//!
//! Two moves, both leave every output as it is. With XORs of two:
//!
//! * *regroup*: `t = a ^ b` with `b = c ^ d` becomes `t = d ^ b'` with `b' = a ^ c`. If a value `a ^ c` is there already it is
//!   used, and `b` goes when nothing else reads it; otherwise `b` is turned into `b'` when only `t` reads it.
//! * *redefine*: `t` becomes the XOR of other values that XOR to the same, unless one of them is made from `t`.
//!
//! With XORs of three the same on up to five values: those of `t` and of `b` are split anew; when they are three at most, `t`
//! reads them all and `b` is not needed for it.
//!
//! Values that nothing reads any more are taken out with what only they read: that is where the network becomes shorter.
//! Invariants: no two values are equal, and `index` knows each that is there; no step reads a value twice.

use super::search::{ValueMap, Work, input_values};
use super::{Arity, XorNetwork, XorStep};
use crate::random::Random;
use std::collections::HashMap;

/// What a step reads: two or three values. Of two, the third place repeats the second.
#[derive(Clone, Copy, Debug)]
struct Operands {
    list: [usize; 3],
    n: usize,
}

impl Operands {
    const NONE: Operands = Operands { list: [0; 3], n: 0 };

    /// The operands in `values`, of which there are two or three.
    fn of(values: &[usize]) -> Operands {
        match *values {
            [a, b, c] => Operands { list: [a, b, c], n: 3 },
            [a, b] => Operands { list: [a, b, b], n: 2 },
            _ => Operands::NONE,
        }
    }

    fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        self.list.into_iter().take(self.n)
    }
}

#[derive(Clone, Debug)]
struct Node {
    operands: Operands,
    value: u128,
    n_readers: usize,
}

pub(super) struct Walk {
    n_inputs: usize,
    most_operands: usize,
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
    pub(super) fn new(network: &XorNetwork, arity: Arity, max_depth: Option<usize>) -> Walk {
        let n_inputs = network.n_inputs;
        let most_operands = if arity == Arity::Three { 3 } else { 2 };
        let mut nodes: Vec<Node> = input_values(n_inputs)
            .into_iter()
            .map(|value| Node { operands: Operands::NONE, value, n_readers: 0 })
            .collect();
        let mut index: ValueMap<usize> = nodes.iter().enumerate().map(|(i, node)| (node.value, i)).collect();
        // Steps that compute the same become one; what a step reads twice cancels; what is zero has no place.
        let mut place: Vec<Option<usize>> = (0..n_inputs).map(Some).collect();
        for step in &network.steps {
            let mut operands: Vec<usize> = Vec::new();
            for v in step.operands().filter_map(|v| place[v]) {
                match operands.iter().position(|&other| other == v) {
                    Some(twice) => drop(operands.swap_remove(twice)),
                    None => operands.push(v),
                }
            }
            let value = operands.iter().fold(0, |sum, &v| sum ^ nodes[v].value);
            place.push((value != 0).then(|| {
                *index.entry(value).or_insert_with(|| {
                    nodes.push(Node { operands: Operands::of(&operands), value, n_readers: 0 });
                    nodes.len() - 1
                })
            }));
        }
        let outputs: Vec<Option<usize>> = network.outputs.iter().map(|output| output.and_then(|v| place[v])).collect();
        for i in n_inputs..nodes.len() {
            let operands = nodes[i].operands;
            operands.iter().for_each(|v| nodes[v].n_readers += 1);
        }
        for &output in outputs.iter().flatten() {
            nodes[output].n_readers += 1;
        }
        let alive: Vec<usize> = (n_inputs..nodes.len()).collect();
        let seen = vec![0; nodes.len()];
        let mut walk = Walk { n_inputs, most_operands, nodes, index, alive, outputs, max_depth, seen, time: 0 };
        for i in (n_inputs..walk.nodes.len()).rev() {
            if walk.nodes[i].n_readers == 0 {
                walk.remove(i);
            }
        }
        walk
    }

    /// The number of XORs.
    pub(super) fn n_steps(&self) -> usize {
        self.alive.len()
    }

    /// Takes a step that nothing reads out, and what then nothing reads.
    fn remove(&mut self, node: usize) {
        let mut gone = vec![node];
        while let Some(node) = gone.pop() {
            let Some(at) = self.alive.iter().position(|&other| other == node) else { continue };
            self.alive.swap_remove(at);
            self.index.remove(&self.nodes[node].value);
            for operand in self.nodes[node].operands.iter() {
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
                rest.extend(self.nodes[node].operands.iter());
            }
        }
        false
    }

    /// Visits the steps so that each comes after what it reads, beginning from the outputs.
    fn in_order(&self, mut visit: impl FnMut(usize)) {
        let mut done = vec![false; self.nodes.len()];
        done[..self.n_inputs].fill(true);
        let mut rest: Vec<usize> = self.outputs.iter().rev().flatten().copied().collect();
        while let Some(&node) = rest.last() {
            match self.nodes[node].operands.iter().find(|&v| !done[v]) {
                Some(operand) if !done[node] => rest.push(operand),
                _ => {
                    rest.pop();
                    if !std::mem::replace(&mut done[node], true) {
                        visit(node);
                    }
                }
            }
        }
    }

    fn too_deep(&self, work: &mut Work) -> bool {
        let Some(limit) = self.max_depth else { return false };
        work.take(self.alive.len());
        let mut depths = vec![0; self.nodes.len()];
        self.in_order(|node| {
            depths[node] = self.nodes[node].operands.iter().map(|v| depths[v]).max().unwrap_or(0) + 1;
        });
        self.outputs.iter().flatten().any(|&v| depths[v] > limit)
    }

    /// Makes `t` read `operands` instead, unless that is too deep.
    fn reconnect(&mut self, t: usize, operands: Operands, work: &mut Work) {
        let old = std::mem::replace(&mut self.nodes[t].operands, operands);
        if self.too_deep(work) {
            self.nodes[t].operands = old;
            return;
        }
        operands.iter().for_each(|v| self.nodes[v].n_readers += 1);
        for operand in old.iter() {
            self.nodes[operand].n_readers -= 1;
            if operand >= self.n_inputs && self.nodes[operand].n_readers == 0 {
                self.remove(operand);
            }
        }
    }

    fn regroup(&mut self, t: usize, random: &mut Random, work: &mut Work) {
        let of_t = self.nodes[t].operands;
        let b = of_t.list[random.below(of_t.n)];
        if b < self.n_inputs {
            return;
        }
        // What `t` and `b` read together; what both read cancels.
        let of_b = self.nodes[b].operands;
        let mut leaves = [0; 5];
        let mut n = 0;
        let both = of_t.iter().filter(|&v| v != b && !of_b.iter().any(|other| other == v));
        for leaf in both.chain(of_b.iter().filter(|&v| !of_t.iter().any(|other| other == v))) {
            leaves[n] = leaf;
            n += 1;
        }
        work.take(2);
        if n < 2 {
            return;
        }
        if n <= self.most_operands {
            self.reconnect(t, Operands::of(&leaves[..n]), work);
            return;
        }
        let least = (n + 1 - self.most_operands).max(2);
        let size = least + random.below(self.most_operands + 1 - least);
        for i in 0..size {
            leaves.swap(i, i + random.below(n - i));
        }
        let (inner, outer) = leaves[..n].split_at(size);
        let value = inner.iter().fold(0, |sum, &v| sum ^ self.nodes[v].value);
        if value == 0 {
            return;
        }
        let mut of_t = outer.to_vec();
        if let Some(&middle) = self.index.get(&value) {
            if !of_t.contains(&middle) && !self.depends(middle, t, work) {
                of_t.push(middle);
                self.reconnect(t, Operands::of(&of_t), work);
            }
        } else if self.nodes[b].n_readers == 1 {
            // Only `t` reads `b`: `b` becomes the new value.
            of_t.push(b);
            let (old_b, old_t) = (self.nodes[b].clone(), self.nodes[t].operands);
            self.nodes[b].operands = Operands::of(inner);
            self.nodes[t].operands = Operands::of(&of_t);
            if self.too_deep(work) {
                self.nodes[b].operands = old_b.operands;
                self.nodes[t].operands = old_t;
                return;
            }
            // What one of them read alone or both read has other numbers of readers now.
            old_b.operands.iter().chain(old_t.iter()).for_each(|v| self.nodes[v].n_readers -= 1);
            inner.iter().chain(&of_t).for_each(|&v| self.nodes[v].n_readers += 1);
            self.nodes[b].value = value;
            self.index.remove(&old_b.value);
            self.index.insert(value, b);
            for v in old_b.operands.iter().chain(old_t.iter()) {
                if v >= self.n_inputs && self.nodes[v].n_readers == 0 {
                    self.remove(v);
                }
            }
        }
    }

    fn redefine(&mut self, t: usize, random: &mut Random, work: &mut Work) {
        let n = self.n_inputs + self.alive.len();
        work.take(n / 2);
        let start = random.below(n);
        let old = self.nodes[t].operands;
        let at = |walk: &Walk, place: usize| {
            if place < walk.n_inputs { place } else { walk.alive[place - walk.n_inputs] }
        };
        // With three operands, one of them is chosen first.
        let third = (self.most_operands == 3 && random.below(4) != 0).then(|| at(self, random.below(n)));
        let rest = self.nodes[t].value ^ third.map_or(0, |v| self.nodes[v].value);
        if third == Some(t) {
            return;
        }
        for offset in 0..n {
            let a = at(self, (start + offset) % n);
            let Some(&b) = self.index.get(&(rest ^ self.nodes[a].value)) else { continue };
            let found = [a, b, third.unwrap_or(b)];
            let n_found = if third.is_some() { 3 } else { 2 };
            let known = found[..n_found].iter().all(|v| old.iter().any(|other| other == *v));
            if known || found.contains(&t) || a == b || third == Some(a) || third == Some(b) {
                continue;
            }
            if found[..n_found].iter().all(|&v| !self.depends(v, t, work)) {
                self.reconnect(t, Operands::of(&found[..n_found]), work);
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

    /// The network as it is now.
    pub(super) fn network(&self) -> XorNetwork {
        let mut place: HashMap<usize, usize> = (0..self.n_inputs).map(|i| (i, i)).collect();
        let mut steps = Vec::new();
        self.in_order(|node| {
            let operands = self.nodes[node].operands;
            let [a, b, c] = operands.list.map(|v| place.get(&v).copied().unwrap_or(0));
            place.insert(node, self.n_inputs + steps.len());
            steps.push(if operands.n == 3 { XorStep::Three(a, b, c) } else { XorStep::Two(a, b) });
        });
        let outputs = self.outputs.iter().map(|output| output.and_then(|v| place.get(&v).copied())).collect();
        XorNetwork { n_inputs: self.n_inputs, steps, outputs }
    }
}
