//! Algebraic simplification and constant folding of arithmetic modulo 2^width.

use super::{Graph, NodeId, Op};

impl Graph {
    /// Sum modulo 2^width.
    pub fn sum(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.constant(b)) {
            (Op::Const(x), Some(y)) => return self.number(x.wrapping_add(y), width),
            (_, Some(0)) => return a,
            (Op::Add(x, y), Some(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c.wrapping_add(d), width);
                    return self.sum(x, both);
                }
            }
            _ => {}
        }
        if width == 1 {
            return self.xor(a, b);
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        if let Some(wide) = self.carried_in(a, b).or_else(|| self.carried_in(b, a)) {
            return wide;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Add(a, b), width)
    }

    /// Difference modulo 2^width.
    pub fn difference(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return self.number(0, width);
        }
        if width == 1 {
            return self.xor(a, b);
        }
        if let Some(c) = self.constant(b) {
            // One form for constants: they are added. Bounds know sums without overflow only, so a difference that
            // cannot be negative stays one.
            if let Some(x) = self.constant(a) {
                return self.number(x.wrapping_sub(c), width);
            }
            if c == 0 {
                return a;
            }
            if self.bounds(a).0 < c {
                let negated = self.number(c.wrapping_neg(), width);
                return self.sum(a, negated);
            }
        }
        self.add(Op::Sub(a, b), width)
    }

    /// Product modulo 2^width.
    pub fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        let (a, b) = self.constant_last(a, b);
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.number(x.wrapping_mul(y), width),
            (_, Some(0)) => return b,
            (_, Some(1)) => return a,
            (_, Some(power)) if power.is_power_of_two() => return self.shift_left_by(a, power.trailing_zeros()),
            _ => {}
        }
        // A bit times a value: the value or nothing.
        for (bit, value) in [(a, b), (b, a)] {
            if self.bounds(bit).1 == 1 {
                let bit = self.extract(bit, 0, 1);
                let zero = self.number(0, width);
                return self.select(bit, value, zero);
            }
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Mul(a, b), width)
    }
}
