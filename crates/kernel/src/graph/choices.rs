//! Algebraic simplification of comparisons, selects and look-ups. What has one outcome whatever its operands are is that constant,
//! and choices between equal values are none.

use super::{Graph, NodeId, Op, TableId, mask, signed};

/// How many operations a choice looks through for its own condition.
const ASSUMED_DEPTH: u32 = 4;

impl Graph {
    /// Whether two values are equal.
    pub fn equal(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return self.bit(true);
        }
        let ((a_low, a_high), (b_low, b_high)) = (self.bounds(a), self.bounds(b));
        if a_high < b_low || b_high < a_low {
            return self.bit(false);
        }
        let (a, b) = self.constant_last(a, b);
        if self.width(a) == 1
            && let Some(value) = self.constant(b)
        {
            return if value == 1 { a } else { self.not(a) };
        }
        // Zeros in front of both say nothing.
        if let (Some(c), Op::Concat(parts)) = (self.constant(b), self.op(a).clone())
            && self.constant(parts[0]) == Some(0)
        {
            let width = self.width(a) - self.width(parts[0]);
            let (a, b) = (self.extract(a, 0, width), self.number(c, width));
            return self.equal(a, b);
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Equal(a, b), 1)
    }

    /// Whether the first is less than the second, unsigned.
    pub fn less(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let ((a_low, a_high), (b_low, b_high)) = (self.bounds(a), self.bounds(b));
        if a_high < b_low {
            return self.bit(true);
        }
        if a == b || a_low >= b_high {
            return self.bit(false);
        }
        if a_high <= 1 && b_high <= 1 {
            let (a, b) = (self.extract(a, 0, 1), self.extract(b, 0, 1));
            let not_a = self.not(a);
            return self.and(not_a, b);
        }
        // Zeros in front of both say nothing.
        let most = a_high.max(b_high);
        let width = (128 - most.leading_zeros()).max(1);
        if width < self.width(a) {
            let (a, b) = (self.extract(a, 0, width), self.extract(b, 0, width));
            return self.add(Op::Less(a, b), 1);
        }
        self.add(Op::Less(a, b), 1)
    }

    /// Whether the first is less than the second, as two's complement.
    pub fn less_signed(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.bit(signed(x, width) < signed(y, width));
        }
        let positive = mask(width - 1);
        if self.bounds(a).1 <= positive && self.bounds(b).1 <= positive {
            return self.less(a, b);
        }
        if a == b {
            return self.bit(false);
        }
        self.add(Op::LessSigned(a, b), 1)
    }

    /// The second operand if the first is 1, else the third.
    pub fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return a;
        }
        match *self.op(condition) {
            Op::Const(0) => return b,
            Op::Const(_) => return a,
            Op::Not(inner) => return self.select(inner, b, a),
            _ => {}
        }
        if self.width(a) == 1 {
            match (self.constant(a), self.constant(b)) {
                (Some(1), Some(0)) => return condition,
                (Some(0), Some(1)) => return self.not(condition),
                (_, Some(0)) => return self.and(condition, a),
                (Some(1), _) => return self.or(condition, b),
                _ => {}
            }
        }
        // A side that the other becomes wherever it is not chosen is the value in both cases.
        let a_where_not = self.assuming(a, condition, false, ASSUMED_DEPTH);
        if a_where_not == self.assuming(b, condition, false, ASSUMED_DEPTH) {
            return a;
        }
        if self.assuming(a, condition, true, ASSUMED_DEPTH) == self.assuming(b, condition, true, ASSUMED_DEPTH) {
            return b;
        }
        self.add(Op::Select(condition, a, b), self.width(a))
    }

    /// The value where a condition is known, as far as a few operations show.
    fn assuming(&mut self, a: NodeId, condition: NodeId, holds: bool, depth: u32) -> NodeId {
        if a == condition {
            return self.bit(holds);
        }
        if depth == 0 || a < condition {
            return a;
        }
        let op = self.op(a).clone();
        let operands = op.operands();
        if operands.len() > 4 {
            return a;
        }
        let known: Vec<NodeId> = operands.iter().map(|&x| self.assuming(x, condition, holds, depth - 1)).collect();
        if known == *operands { a } else { self.rebuild(&op, self.width(a), &known) }
    }

    /// An element of a constant table. The index is less than its length.
    pub fn lookup(&mut self, table: TableId, index: NodeId) -> NodeId {
        let width = self.table(table).width;
        if let Some(at) = self.constant(index) {
            let value = self.table(table).elements.get(at as usize).copied().unwrap_or(0);
            return self.number(value, width);
        }
        self.add(Op::Lookup(table, index), width)
    }
}
