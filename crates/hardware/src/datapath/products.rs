//! Strength reduction of products with constants: where the summands of a product never meet in a bit, it is no more than wires.
//!
//! Code that works on several words in one multiplies the lowest bits of these by a mask, to say at once which of them take part. A bit of
//! a product is then a bit of an operand, or 0.

use super::region::{Region, Task};
use headrace_kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;

impl Region {
    /// The region with wires in the place of such products.
    pub(crate) fn with_products_as_wires(mut self) -> Region {
        let roots: Vec<NodeId> = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all()).collect();
        let nodes = self.graph.reachable(roots);
        if !nodes.iter().any(|&id| matches!(self.graph.op(id), Op::Mul(..))) {
            return self;
        }
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        // Bits of new values that may be 1.
        let mut possible: FxHashMap<NodeId, u128> = FxHashMap::default();
        for id in nodes {
            let (op, width) = (self.graph.op(id).clone(), self.graph.width(id));
            let operands: Vec<NodeId> = op.operands().iter().map(|operand| new[operand]).collect();
            let wires = match (&op, operands.as_slice()) {
                (Op::Mul(..), &[a, b]) => as_wires(&mut self.graph, a, b, &mut possible),
                _ => None,
            };
            let value = wires.unwrap_or_else(|| self.graph.rebuild(&op, width, &operands));
            new.insert(id, value);
        }
        self.substitute(&new);
        self
    }
}

fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width.clamp(1, 128))
}

/// Bits of a value that may be 1; all of one that has more than 128.
fn possible_bits(graph: &Graph, id: NodeId, known: &mut FxHashMap<NodeId, u128>) -> u128 {
    for id in graph.reachable_but([id], |id| known.contains_key(&id)) {
        if known.contains_key(&id) {
            continue;
        }
        let width = graph.width(id);
        let of = |operand: &NodeId| known[operand];
        let shift =
            |amount: &NodeId| graph.constant(*amount).filter(|amount| *amount < 128).map(|amount| amount as u32);
        let is_narrow = |operand: &NodeId| graph.width(*operand) <= 128;
        let bits = match graph.op(id) {
            Op::Const(value) => *value,
            Op::And(a, b) => of(a) & of(b),
            Op::Or(a, b) | Op::Xor(a, b) | Op::Select(_, a, b) => of(a) | of(b),
            Op::ShiftLeft(a, n) if let Some(n) = shift(n) => of(a) << n,
            Op::ShiftRight(a, n) if let Some(n) = shift(n) => of(a) >> n,
            Op::Extract(a, lo) if *lo < 128 && is_narrow(a) => of(a) >> lo,
            Op::Concat(parts) if width <= 128 => parts.iter().fold(0_u128, |bits, part| {
                // A part is narrower than the whole, unless it is the whole.
                bits.checked_shl(graph.width(*part)).unwrap_or(0) | of(part)
            }),
            _ => u128::MAX,
        };
        known.insert(id, bits & ones(width));
    }
    known[&id]
}

/// A product as wires, where one operand is a constant and no two summands of the other, shifted to the bits of the constant, may have
/// a 1 in the same place.
fn as_wires(graph: &mut Graph, a: NodeId, b: NodeId, known: &mut FxHashMap<NodeId, u128>) -> Option<NodeId> {
    let width = graph.width(a);
    let (value, constant) = match (graph.constant(a), graph.constant(b)) {
        (None, Some(constant)) => (a, constant),
        (Some(constant), None) => (b, constant),
        _ => return None,
    };
    if width > 128 {
        return None;
    }
    let bits = possible_bits(graph, value, known);
    let ones_of = |bits: u128| (0..width).filter(move |at| bits >> at & 1 == 1);
    let mut from: Vec<Option<u32>> = vec![None; width as usize];
    for shift in ones_of(constant) {
        for at in ones_of(bits).filter(|at| at + shift < width) {
            let place = &mut from[(at + shift) as usize];
            if place.is_some() {
                return None;
            }
            *place = Some(at);
        }
    }
    // From the most significant bit on, neighbours together.
    let mut parts = Vec::new();
    let mut end = width;
    while end > 0 {
        let mut start = end - 1;
        let top = from[start as usize];
        let follows = |start: u32| match (top, from[start as usize]) {
            (None, None) => true,
            (Some(top), Some(bit)) => bit + (end - 1 - start) == top,
            _ => false,
        };
        while start > 0 && follows(start - 1) {
            start -= 1;
        }
        parts.push(match from[start as usize] {
            Some(bit) => graph.extract(value, bit, end - start),
            None => graph.add(Op::Const(0), end - start),
        });
        end = start;
    }
    Some(graph.concat(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(graph: &mut Graph, width: u32) -> NodeId {
        graph.add(Op::Input { port: 0, offset: 0 }, width)
    }

    #[test]
    fn products_whose_summands_never_meet_are_wires() {
        let mut graph = Graph::default();
        let x = input(&mut graph, 32);
        let mask = graph.add(Op::Const(0x0001_0001), 32);
        let low = graph.and(x, mask);
        let product = as_wires(&mut graph, low, mask, &mut FxHashMap::default());
        // The lower halves meet in bit 16.
        assert_eq!(product, None);
        let factor = graph.add(Op::Const(0x8003), 32);
        let product = as_wires(&mut graph, low, factor, &mut FxHashMap::default()).expect("they never meet");
        let is_wire = |id: NodeId| {
            matches!(graph.op(id), Op::Extract(..) | Op::Concat(_) | Op::Const(_) | Op::Input { .. } | Op::And(..))
        };
        assert!(graph.reachable([product]).into_iter().all(is_wire));
        assert_eq!(possible_bits(&graph, product, &mut FxHashMap::default()), 0x8003_8003);
    }
}
