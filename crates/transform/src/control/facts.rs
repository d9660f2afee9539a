//! Path conditions and value ranges. What is known about values on a path: conditions that hold and the ranges that
//! follow from them.
//!
//! Example: once `left > 0` and not `left > 1` have been decided, `left` is 1, and every later condition on it is
//! known.

use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;

/// How far ranges are followed through operations.
const DEPTH: u32 = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    conditions: FxHashMap<NodeId, bool>,
    ranges: FxHashMap<NodeId, (u128, u128)>,
}

impl Facts {
    /// Whether a condition holds, if that is known.
    pub fn decide(&self, graph: &Graph, condition: NodeId) -> Option<bool> {
        if let Some(value) = graph.constant(condition) {
            return Some(value == 1);
        }
        if let Some(&known) = self.conditions.get(&condition) {
            return Some(known);
        }
        match *graph.op(condition) {
            Op::Not(inner) => self.decide(graph, inner).map(|known| !known),
            Op::And(a, b) => match (self.decide(graph, a), self.decide(graph, b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Op::Or(a, b) => match (self.decide(graph, a), self.decide(graph, b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Op::Equal(a, b) => {
                let ((a_low, a_high), (b_low, b_high)) = (self.range(graph, a), self.range(graph, b));
                if a_high < b_low || b_high < a_low {
                    Some(false)
                } else if a_low == a_high && (b_low, b_high) == (a_low, a_high) {
                    Some(true)
                } else {
                    None
                }
            }
            Op::Less(a, b) => {
                let ((a_low, a_high), (b_low, b_high)) = (self.range(graph, a), self.range(graph, b));
                if a_high < b_low {
                    Some(true)
                } else if a_low >= b_high {
                    Some(false)
                } else {
                    None
                }
            }
            _ => match self.range(graph, condition) {
                (1, _) => Some(true),
                (_, 0) => Some(false),
                _ => None,
            },
        }
    }

    /// Bounds of a value, inclusive, as an unsigned number.
    pub fn range(&self, graph: &Graph, node: NodeId) -> (u128, u128) {
        self.range_to(graph, node, DEPTH)
    }

    fn range_to(&self, graph: &Graph, node: NodeId, depth: u32) -> (u128, u128) {
        let (mut low, mut high) = graph.bounds(node);
        if let Some(&(least, most)) = self.ranges.get(&node) {
            low = low.max(least);
            high = high.min(most);
        }
        if depth == 0 || low >= high || self.ranges.is_empty() {
            return (low, high);
        }
        let of = |id: NodeId| self.range_to(graph, id, depth - 1);
        let most = crate::kernel::graph::mask(graph.width(node));
        let (least, greatest) = match graph.op(node) {
            Op::Add(a, b) => {
                let ((a_low, a_high), (b_low, b_high)) = (of(*a), of(*b));
                match (a_low.checked_add(b_low), a_high.checked_add(b_high)) {
                    (Some(sum_low), Some(sum_high)) if sum_high <= most => (sum_low, sum_high),
                    // A negative constant, and nothing that it would take below zero.
                    (Some(sum_low), Some(sum_high)) if sum_low > most => (sum_low - most - 1, sum_high - most - 1),
                    _ => (low, high),
                }
            }
            Op::Sub(a, b) => {
                let ((a_low, a_high), (b_low, b_high)) = (of(*a), of(*b));
                if a_low >= b_high { (a_low - b_high, a_high - b_low) } else { (low, high) }
            }
            Op::Concat(parts) => match parts[..] {
                [zeros, rest] if graph.constant(zeros) == Some(0) => of(rest),
                _ => (low, high),
            },
            Op::Extract(a, 0) => {
                let range = of(*a);
                if range.1 <= most { range } else { (low, high) }
            }
            Op::Select(c, a, b) => match self.conditions.get(c) {
                Some(true) => of(*a),
                Some(false) => of(*b),
                None => {
                    let ((a_low, a_high), (b_low, b_high)) = (of(*a), of(*b));
                    (a_low.min(b_low), a_high.max(b_high))
                }
            },
            _ => (low, high),
        };
        (low.max(least), high.min(greatest))
    }

    /// Takes it that a condition holds, or does not.
    pub fn assume(&mut self, graph: &Graph, condition: NodeId, holds: bool) {
        self.conditions.insert(condition, holds);
        match *graph.op(condition) {
            Op::Not(inner) => self.assume(graph, inner, !holds),
            Op::And(a, b) if holds => {
                self.assume(graph, a, true);
                self.assume(graph, b, true);
            }
            Op::Or(a, b) if !holds => {
                self.assume(graph, a, false);
                self.assume(graph, b, false);
            }
            Op::Equal(a, b) => {
                if let Some(value) = graph.constant(b) {
                    let (low, high) = self.range(graph, a);
                    match holds {
                        true => self.narrow(graph, a, value, value),
                        false if low == value => self.narrow(graph, a, low + 1, high),
                        false if high == value => self.narrow(graph, a, low, high - 1),
                        false => {}
                    }
                }
            }
            Op::Less(a, b) => {
                let ((a_low, a_high), (b_low, b_high)) = (self.range(graph, a), self.range(graph, b));
                if holds {
                    self.narrow(graph, a, a_low, b_high.saturating_sub(1));
                    self.narrow(graph, b, a_low + 1, b_high);
                } else {
                    self.narrow(graph, a, b_low, a_high);
                    self.narrow(graph, b, b_low, a_high);
                }
            }
            _ => {
                let value = u128::from(holds);
                self.ranges.insert(condition, (value, value));
            }
        }
    }

    fn narrow(&mut self, graph: &Graph, node: NodeId, low: u128, high: u128) {
        if graph.constant(node).is_some() || low > high {
            return;
        }
        let (least, most) = self.range(graph, node);
        let range = (low.max(least), high.min(most));
        if range.0 > range.1 {
            return;
        }
        self.ranges.insert(node, range);
        match graph.op(node) {
            // The same number with zeros in front.
            Op::Concat(parts) => {
                if let [zeros, rest] = parts[..]
                    && graph.constant(zeros) == Some(0)
                {
                    self.narrow(graph, rest, range.0, range.1);
                }
            }
            // The low bits of a number that has no others.
            Op::Extract(a, 0) if self.range(graph, *a).1 <= crate::kernel::graph::mask(graph.width(node)) => {
                self.narrow(graph, *a, range.0, range.1);
            }
            _ => {}
        }
    }
}
