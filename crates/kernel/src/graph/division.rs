//! Quotients and remainders.
//!
//! Remainders of divisors 2^k + 1 need no division, so vectors have them: with h and l the k bits above the lowest k, and
//! these, x = h 2^k + l is l - h modulo the divisor, and 2^2k is 1.

use super::{Graph, MAX_BITS, NodeId, Op};

impl Graph {
    /// Unsigned quotient.
    pub fn quotient(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) => return b,
            (Some(x), Some(y)) => return self.number(x / y, width),
            (_, Some(power)) if power.is_power_of_two() => return self.shift_right_by(a, power.trailing_zeros()),
            _ => {}
        }
        self.add(Op::Divide(a, b), width)
    }

    /// Unsigned remainder.
    pub fn remainder(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) => return b,
            (Some(x), Some(y)) => return self.number(x % y, width),
            (_, Some(1)) => return self.number(0, width),
            (_, Some(power)) if power.is_power_of_two() => {
                let low = self.extract(a, 0, power.trailing_zeros());
                return self.zero_extend(low, width);
            }
            (_, Some(most)) if self.bounds(a).1 < most => return a,
            (_, Some(divisor)) if (divisor - 1).is_power_of_two() => {
                let k = (divisor - 1).trailing_zeros();
                if k > 1 && 2 * k < MAX_BITS && self.bounds(a).1 <= 1 << (2 * k) {
                    return self.remainder_beside_power(a, k);
                }
            }
            _ => {}
        }
        self.add(Op::Remainder(a, b), width)
    }

    /// The remainder of what is no more than 2^2k, of 2^k + 1.
    fn remainder_beside_power(&mut self, a: NodeId, k: u32) -> NodeId {
        let width = self.width(a);
        let (low, high, top) = self.halves(a, k);
        let (low, high) = (self.zero_extend(low, k + 1), self.zero_extend(high, k + 1));
        let difference = self.difference(low, high);
        // A borrow sets the bit that the divisor, added for it, clears; it adds 1 beside that.
        let borrow = self.extract(difference, k, 1);
        let rest = self.extract(difference, 0, k);
        let one = match top {
            Some(top) => self.or(borrow, top),
            None => borrow,
        };
        let (rest, one) = (self.zero_extend(rest, k + 1), self.zero_extend(one, k + 1));
        let sum = self.sum(rest, one);
        if width > k + 1 { self.zero_extend(sum, width) } else { self.extract(sum, 0, width) }
    }

    /// The lowest k bits, the k above them, and the bit above these where there is one: 1 for 2^2k alone.
    fn halves(&mut self, a: NodeId, k: u32) -> (NodeId, NodeId, Option<NodeId>) {
        let width = self.width(a);
        if width <= 2 * k {
            let all = self.zero_extend(a, 2 * k);
            return (self.extract(all, 0, k), self.extract(all, k, k), None);
        }
        let factors = match *self.op(a) {
            Op::Mul(x, y) => Some((x, y)),
            _ => None,
        };
        let Some((x, y)) = factors.filter(|(x, y)| [x, y].map(|&one| self.bounds(one).1) == [1 << k; 2]) else {
            return (self.extract(a, 0, k), self.extract(a, k, k), Some(self.extract(a, 2 * k, 1)));
        };
        // Of factors that are no more than 2^k, the product is 2^2k where both are: it needs no bit of its own.
        let (x_top, y_top) = (self.extract(x, k, 1), self.extract(y, k, 1));
        let top = self.and(x_top, y_top);
        let (x, y) = (self.extract(x, 0, 2 * k), self.extract(y, 0, 2 * k));
        let product = self.product(x, y);
        (self.extract(product, 0, k), self.extract(product, k, k), Some(top))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use crate::evaluate::{Environment, values};

    struct Tokens([u128; 2]);

    impl Environment for Tokens {
        fn input(&self, port: u32, _: i64) -> u128 {
            self.0[port as usize]
        }
        fn entry(&self, _: ObjectId, _: u128) -> u128 {
            0
        }
    }

    #[test]
    fn remainders_beside_powers_need_no_division() {
        let mut graph = Graph::new();
        let divisor = graph.number(17, 8);
        let a = graph.input(0, 0, 8);
        let of_bytes = graph.remainder(a, divisor);
        // Factors of 4 bits, where 0 stands for 16.
        let factors = [0, 1].map(|port| {
            let bits = graph.input(port, 0, 4);
            let zero = graph.number(0, 4);
            let is_zero = graph.equal(bits, zero);
            let (wide, most) = (graph.zero_extend(bits, 9), graph.number(16, 9));
            graph.select(is_zero, most, wide)
        });
        let product = graph.product(factors[0], factors[1]);
        let divisor = graph.number(17, 9);
        let of_products = graph.remainder(product, divisor);
        let found = graph.reachable([of_bytes, of_products]);
        assert!(found.iter().all(|&id| !matches!(graph.op(id), Op::Remainder(..))));
        for x in 0..256 {
            let all = values(&graph, &[of_bytes], &Tokens([x, 0]));
            assert_eq!(all[&of_bytes], x % 17, "{x}");
        }
        for (x, y) in (0..16).flat_map(|x| (0..16).map(move |y| (x, y))) {
            let all = values(&graph, &[of_products], &Tokens([x, y]));
            let factor = |x: u128| if x == 0 { 16 } else { x };
            assert_eq!(all[&of_products], factor(x) * factor(y) % 17, "{x} {y}");
        }
    }
}
