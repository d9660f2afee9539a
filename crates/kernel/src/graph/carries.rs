//! Numbers that are kept in several values, the carries between which are written out.

use super::{Graph, MAX_BITS, NodeId, Op, mask};

impl Graph {
    /// A value plus the carry of a sum of lower digits is part of the sum of all digits: counters that are kept in bytes
    /// or words become one number. `high + carry(low + r)` is `((high, low) + r) >> n`, n being the bits of `low`.
    pub(super) fn carried_in(&mut self, high: NodeId, carry: NodeId) -> Option<NodeId> {
        let (low, r, n) = self.carry_of(self.without_zeros(carry))?;
        let width = self.width(high);
        if width + n > MAX_BITS {
            return None;
        }
        let both = self.concat(&[high, low]);
        let r = self.zero_extend(r, width + n);
        let wide = self.sum(both, r);
        Some(self.extract(wide, n, width))
    }

    /// Two numbers of n bits, and n, where a value is the carry of their sum: the bit above them, or what tells of a sum
    /// that it has come round: `low + r < low`, `low + r < r`, `low + 1 = 0`.
    fn carry_of(&mut self, carry: NodeId) -> Option<(NodeId, NodeId, u32)> {
        match *self.op(carry) {
            Op::Extract(sum, n) => {
                let Op::Add(low, r) = *self.op(sum) else { return None };
                if self.width(sum) != n + 1 || self.bounds(low).1 > mask(n) || self.bounds(r).1 > mask(n) {
                    return None;
                }
                Some((self.extract(low, 0, n), self.extract(r, 0, n), n))
            }
            Op::Less(sum, operand) => match *self.op(sum) {
                Op::Add(low, r) if operand == low || operand == r => Some((low, r, self.width(sum))),
                _ => None,
            },
            Op::Equal(sum, zero) if self.constant(zero) == Some(0) => match *self.op(sum) {
                Op::Add(low, one) if self.constant(one) == Some(1) => Some((low, one, self.width(sum))),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;

    #[test]
    fn counters_in_words_are_one_number() {
        let mut graph = Graph::new();
        let at = [0, 1].map(|index| graph.number(index, 32));
        let [low, high] = at.map(|at| graph.entry(ObjectId(0), at, 32));
        let (one, zero) = (graph.number(1, 32), graph.number(0, 32));
        let next = graph.sum(low, one);
        let ways = [graph.equal(next, zero), graph.less(next, low), graph.less(next, one)];
        let nodes = ways.map(|carry| {
            let carry = graph.zero_extend(carry, 32);
            graph.sum(high, carry)
        });
        let both = graph.concat(&[high, low]);
        let one = graph.number(1, 64);
        let wide = graph.sum(both, one);
        let expected = graph.extract(wide, 32, 32);
        assert_eq!(nodes, [expected; 3]);
        // The lower word alone is no carry.
        let no_carry = graph.equal(low, zero);
        let no_carry = graph.zero_extend(no_carry, 32);
        let sum = graph.sum(high, no_carry);
        assert!(matches!(graph.op(sum), Op::Add(..)));
    }
}
