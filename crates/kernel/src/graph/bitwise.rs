//! Algebraic simplification and constant folding of bitwise operations.

use super::{Graph, NodeId, Op, mask};

impl Graph {
    /// All bits inverted.
    pub fn not(&mut self, a: NodeId) -> NodeId {
        match *self.op(a) {
            Op::Const(value) => self.number(!value, self.width(a)),
            Op::Not(inner) => inner,
            _ => self.add(Op::Not(a), self.width(a)),
        }
    }

    /// Bitwise exclusive or.
    pub fn xor(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return self.number(0, width);
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x ^ y, width),
            (_, Op::Const(0)) => return a,
            (_, Op::Const(ones)) if ones == mask(width) => return self.not(a),
            (Op::Xor(x, y), Op::Const(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c ^ d, width);
                    return self.xor(x, both);
                }
            }
            (Op::Xor(x, y), _) if x == b => return y,
            (Op::Xor(x, y), _) if y == b => return x,
            (_, Op::Xor(x, y)) if x == a => return y,
            (_, Op::Xor(x, y)) if y == a => return x,
            _ => {}
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Xor(a, b), width)
    }

    /// Bitwise or.
    pub fn or(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return a;
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x | y, width),
            (_, Op::Const(0)) => return a,
            (_, Op::Const(ones)) if ones == mask(width) => return b,
            (Op::ShiftLeft(x, n), Op::ShiftRight(y, m)) | (Op::ShiftRight(y, m), Op::ShiftLeft(x, n)) if x == y => {
                if let Some(count) = self.rotation(width, n, m) {
                    return self.rotate_left(x, count);
                }
            }
            _ => {}
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Or(a, b), width)
    }

    /// Bitwise and.
    pub fn and(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return a;
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x & y, width),
            (_, Op::Const(0)) => return b,
            (_, Op::Const(ones)) if ones == mask(width) => return a,
            (Op::And(x, y), Op::Const(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c & d, width);
                    return self.and(x, both);
                }
            }
            // A mask of one run of ones, or on parts, moves bits.
            (inner, Op::Const(ones)) if one_run(ones) || matches!(inner, Op::Concat(_)) => {
                let mut parts = Vec::new();
                let mut end = width;
                while end > 0 {
                    let bit = ones >> (end - 1) & 1;
                    let run = (1..=end).take_while(|n| (ones >> (end - n)) & 1 == bit).count() as u32;
                    let start = end - run;
                    parts.push(if bit == 1 { self.extract(a, start, run) } else { self.number(0, run) });
                    end = start;
                }
                return self.concat(&parts);
            }
            _ => {}
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::And(a, b), width)
    }

    /// The exclusive or (and the or) of values of which, bit for bit, at least one is known to be zero.
    pub(super) fn disjoint(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let (x, y) = (self.zero_runs(a)?, self.zero_runs(b)?);
        let mut cuts: Vec<u32> = x.iter().chain(&y).flat_map(|&(lo, hi, _)| [lo, hi]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let zero_at =
            |runs: &[(u32, u32, bool)], lo: u32| runs.iter().any(|&(from, to, zero)| zero && from <= lo && lo < to);
        let mut parts = Vec::new();
        for pair in cuts.windows(2) {
            let &[lo, hi] = pair else { continue };
            let part = match (zero_at(&x, lo), zero_at(&y, lo)) {
                (_, true) => self.extract(a, lo, hi - lo),
                (true, _) => self.extract(b, lo, hi - lo),
                _ => return None,
            };
            parts.push(part);
        }
        parts.reverse();
        Some(self.concat(&parts))
    }

    /// The parts of a value as (from, to, known to be zero), if it is made of parts.
    fn zero_runs(&self, a: NodeId) -> Option<Vec<(u32, u32, bool)>> {
        let Op::Concat(parts) = self.op(a) else { return None };
        let mut end = self.width(a);
        let mut runs = Vec::with_capacity(parts.len());
        for &part in parts.iter() {
            let start = end - self.width(part);
            runs.push((start, end, self.constant(part) == Some(0)));
            end = start;
        }
        Some(runs)
    }
}

/// Whether the ones of a mask stand together.
fn one_run(ones: u128) -> bool {
    let run = ones.checked_shr(ones.trailing_zeros()).unwrap_or(0);
    run != 0 && (run & run.wrapping_add(1)) == 0
}
