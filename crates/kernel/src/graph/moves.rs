//! What moves bits: cutting, gluing, widening, shifts and rotations.

use super::{Graph, NodeId, Op, mask, signed};

impl Graph {
    /// Bits `lo` to `lo + width - 1`; `lo + width` is at most the width of the operand.
    pub fn extract(&mut self, a: NodeId, lo: u32, width: u32) -> NodeId {
        if lo == 0 && width == self.width(a) {
            return a;
        }
        match self.op(a).clone() {
            Op::Const(value) => self.number(value >> lo, width),
            Op::Extract(inner, below) => self.extract(inner, below + lo, width),
            Op::Concat(parts) => {
                let mut taken = Vec::new();
                let mut end = self.width(a);
                for part in parts.iter() {
                    let part_width = self.width(*part);
                    let start = end - part_width;
                    let (from, to) = (start.max(lo), end.min(lo + width));
                    if from < to {
                        taken.push(self.extract(*part, from - start, to - from));
                    }
                    end = start;
                }
                self.concat(&taken)
            }
            Op::SignExtend(inner) if lo + width <= self.width(inner) => self.extract(inner, lo, width),
            // Low bits depend on low bits only. Sums of other things are not computed twice for their parts.
            Op::Add(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let sum = self.sum(x, y);
                self.extract(sum, lo, width)
            }
            Op::Sub(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let difference = self.difference(x, y);
                self.extract(difference, lo, width)
            }
            Op::Mul(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let product = self.product(x, y);
                self.extract(product, lo, width)
            }
            // Where one side is constant or mostly made of parts, bits are followed through.
            Op::Xor(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.xor(x, y)
            }
            Op::And(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.and(x, y)
            }
            Op::Or(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.or(x, y)
            }
            Op::Select(c, x, y) if self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.select(c, x, y)
            }
            _ => {
                let (least, most) = self.bounds(a);
                // Known zeros above.
                let bits = 128 - most.leading_zeros();
                if lo >= bits {
                    return self.number(0, width);
                }
                if least == most {
                    return self.number(least >> lo, width);
                }
                self.add(Op::Extract(a, lo), width)
            }
        }
    }

    /// Whether a bitwise operation on the two falls into parts.
    fn splits(&self, a: NodeId, b: NodeId) -> bool {
        (self.moves_bits(a) && self.moves_bits(b)) || self.constant(a).is_some() || self.constant(b).is_some()
    }

    fn moves_bits(&self, a: NodeId) -> bool {
        matches!(self.op(a), Op::Const(_) | Op::Concat(_))
    }

    /// Parts one beside the other, the first in the most significant bits. There is at least one, and together they have
    /// at most [`MAX_BITS`] bits.
    pub fn concat(&mut self, parts: &[NodeId]) -> NodeId {
        let mut flat: Vec<NodeId> = Vec::with_capacity(parts.len());
        for &part in parts {
            let pieces: Vec<NodeId> = match self.op(part) {
                Op::Concat(inner) => inner.to_vec(),
                _ => vec![part],
            };
            for piece in pieces {
                match flat.last().copied().and_then(|last| self.joined(last, piece)) {
                    Some(both) => {
                        flat.pop();
                        flat.push(both);
                    }
                    None => flat.push(piece),
                }
            }
        }
        if let [one] = flat[..] {
            return one;
        }
        let width = flat.iter().map(|&part| self.width(part)).sum();
        self.add(Op::Concat(flat.into()), width)
    }

    /// Two neighbours as one node: constants, or neighbouring bits of one value.
    fn joined(&mut self, high: NodeId, low: NodeId) -> Option<NodeId> {
        let (high_width, low_width) = (self.width(high), self.width(low));
        match (self.op(high).clone(), self.op(low).clone()) {
            (Op::Const(a), Op::Const(b)) => Some(self.number((a << low_width) | b, high_width + low_width)),
            (Op::Extract(a, at), Op::Extract(b, below)) if a == b && below + low_width == at => {
                Some(self.extract(a, below, high_width + low_width))
            }
            _ => None,
        }
    }

    /// Zeros in front, up to the width.
    pub fn zero_extend(&mut self, a: NodeId, width: u32) -> NodeId {
        let more = width - self.width(a);
        if more == 0 {
            return a;
        }
        let zeros = self.number(0, more);
        self.concat(&[zeros, a])
    }

    /// Copies of the top bit in front, up to the width.
    pub fn sign_extend(&mut self, a: NodeId, width: u32) -> NodeId {
        let from = self.width(a);
        if width == from {
            return a;
        }
        if let Some(value) = self.constant(a) {
            return self.number(signed(value, from) as u128, width);
        }
        if self.bounds(a).1 <= mask(from - 1) {
            return self.zero_extend(a, width);
        }
        let inner = match self.op(a) {
            Op::SignExtend(inner) => *inner,
            _ => a,
        };
        self.add(Op::SignExtend(inner), width)
    }

    /// The value cut or extended with zeros to the width.
    pub fn resize(&mut self, a: NodeId, width: u32) -> NodeId {
        if width <= self.width(a) { self.extract(a, 0, width) } else { self.zero_extend(a, width) }
    }

    /// Left by a constant.
    pub fn shift_left_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        if count == 0 {
            return a;
        }
        if count >= width {
            return self.number(0, width);
        }
        let kept = self.extract(a, 0, width - count);
        let zeros = self.number(0, count);
        self.concat(&[kept, zeros])
    }

    /// Right by a constant, zeros come in.
    pub fn shift_right_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        if count == 0 {
            return a;
        }
        if count >= width {
            return self.number(0, width);
        }
        let kept = self.extract(a, count, width - count);
        self.zero_extend(kept, width)
    }

    /// Left by a constant, what falls out comes in at the right.
    pub fn rotate_left_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        let count = count % width;
        if count == 0 {
            return a;
        }
        let (low, high) = (self.extract(a, 0, width - count), self.extract(a, width - count, count));
        self.concat(&[low, high])
    }

    /// The value of which a node is the rotation by a constant, and by how far to the left.
    pub fn rotated(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let Op::Concat(parts) = self.op(id) else { return None };
        let [high, low] = parts[..] else { return None };
        let (Op::Extract(of_high, 0), Op::Extract(of_low, at)) = (self.op(high), self.op(low)) else { return None };
        let is_whole = of_high == of_low && self.width(*of_high) == self.width(id) && *at == self.width(high);
        is_whole.then(|| (*of_high, self.width(low)))
    }

    /// Left; 0 from the width on.
    pub fn shift_left(&mut self, a: NodeId, count: NodeId) -> NodeId {
        match self.constant(count) {
            Some(count) => self.shift_left_by(a, count.min(255) as u32),
            None => self.add(Op::ShiftLeft(a, count), self.width(a)),
        }
    }

    /// Right, zeros come in; 0 from the width on.
    pub fn shift_right(&mut self, a: NodeId, count: NodeId) -> NodeId {
        match self.constant(count) {
            Some(count) => self.shift_right_by(a, count.min(255) as u32),
            None => self.add(Op::ShiftRight(a, count), self.width(a)),
        }
    }

    /// Right, copies of the top bit come in.
    pub fn shift_right_signed(&mut self, a: NodeId, count: NodeId) -> NodeId {
        let width = self.width(a);
        match self.constant(count) {
            Some(count) => {
                let count = count.min(u128::from(width - 1)) as u32;
                let kept = self.extract(a, count, width - count);
                self.sign_extend(kept, width)
            }
            None => self.add(Op::ShiftRightSigned(a, count), width),
        }
    }

    /// Left by an amount modulo the width, a power of two.
    pub fn rotate_left(&mut self, a: NodeId, count: NodeId) -> NodeId {
        let width = self.width(a);
        let count = self.modulo(count, width);
        match self.constant(count) {
            Some(count) => self.rotate_left_by(a, (count % u128::from(width)) as u32),
            None => self.add(Op::RotateLeft(a, count), width),
        }
    }

    /// An amount that is the same modulo a power of two as another one, whose higher bits were cut off by a mask for nothing.
    fn modulo(&self, mut amount: NodeId, power: u32) -> NodeId {
        let covers = |mask: NodeId| self.constant(mask).is_some_and(|mask| !mask & u128::from(power - 1) == 0);
        loop {
            amount = match *self.op(amount) {
                Op::And(a, b) if covers(b) => a,
                Op::And(a, b) if covers(a) => b,
                _ => return amount,
            };
        }
    }

    /// `x << n | x >> m` is a rotation when n + m = width for all counts that can occur: the amount to the left.
    pub(super) fn rotation(&mut self, width: u32, left: NodeId, right: NodeId) -> Option<NodeId> {
        if !width.is_power_of_two() {
            return None;
        }
        // Complement of the other: width - n, written as a difference from a constant or a sum with a negative one.
        // Without the bits above those that count a rotation, the difference from the width is that from zero.
        let is_rest = |graph: &Graph, rest: NodeId, of: NodeId| {
            let rest = graph.without_zeros(rest);
            let Op::Sub(whole, n) = *graph.op(rest) else { return false };
            let from = graph.constant(whole);
            let short = graph.width(rest) == width.trailing_zeros();
            (from == Some(u128::from(width)) || short && from == Some(0)) && graph.same_number(n, of)
        };
        if self.bounds(left).1 <= u128::from(width) && is_rest(self, right, left) {
            return Some(left);
        }
        if self.bounds(right).1 <= u128::from(width) && is_rest(self, left, right) {
            // Rotating right by n is rotating left by the rest.
            return Some(left);
        }
        None
    }

    /// Whether two nodes have the same value whatever zeros stand in front.
    pub fn same_number(&self, a: NodeId, b: NodeId) -> bool {
        self.without_zeros(a) == self.without_zeros(b)
    }

    pub(super) fn without_zeros(&self, a: NodeId) -> NodeId {
        match self.op(a) {
            Op::Concat(parts) => match parts[..] {
                [zeros, rest] if self.constant(zeros) == Some(0) => rest,
                _ => a,
            },
            _ => a,
        }
    }
}
