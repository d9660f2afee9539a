//! Symbolic integers. Integers of expressions: their nodes, and what is known of them.

use crate::kernel::NodeId;
use headrace_ir::BinaryOp;

/// An integer: exact, or known in its low bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub node: NodeId,
    /// Bounds if the node holds the integer exactly: unsigned where the lower bound is not negative, else as two's
    /// complement.
    pub range: Option<(i128, i128)>,
    /// Without bounds: the node holds it all the same, an unsigned number of as many bits as transitions have.
    pub whole: bool,
}

impl Number {
    /// What a node holds exactly.
    pub fn ranged(node: NodeId, low: i128, high: i128) -> Self {
        Self { node, range: Some((low, high)), whole: false }
    }

    /// What only the low bits are known of.
    pub fn low(node: NodeId) -> Self {
        Self { node, range: None, whole: false }
    }

    /// Whether the node holds an unsigned number.
    pub fn is_unsigned(self) -> bool {
        self.whole || self.range.is_some_and(|(low, _)| low >= 0)
    }
}

/// Bits that a range takes.
pub(super) fn bits_of(low: i128, high: i128) -> u32 {
    let magnitude = |value: i128| 128 - if value < 0 { (!value).leading_zeros() } else { value.leading_zeros() };
    if low >= 0 { magnitude(high).max(1) } else { magnitude(low).max(magnitude(high)) + 1 }
}

/// Bounds of the result of an exact operation; `None` when they do not fit.
pub(super) fn range_of(op: BinaryOp, a: (i128, i128), b: (i128, i128)) -> Option<(i128, i128)> {
    match op {
        BinaryOp::Add => Some((a.0.checked_add(b.0)?, a.1.checked_add(b.1)?)),
        BinaryOp::Sub => Some((a.0.checked_sub(b.1)?, a.1.checked_sub(b.0)?)),
        BinaryOp::Mul => {
            let corners = [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
            Some((*corners.iter().min()?, *corners.iter().max()?))
        }
        BinaryOp::And if a.0 >= 0 && b.0 >= 0 => Some((0, a.1.min(b.1))),
        BinaryOp::And if a.0 >= 0 => Some((0, a.1)),
        BinaryOp::And if b.0 >= 0 => Some((0, b.1)),
        BinaryOp::Or | BinaryOp::Xor if a.0 >= 0 && b.0 >= 0 => {
            let bits = bits_of(0, a.1.max(b.1));
            (bits < 127).then(|| (0, (1_i128 << bits) - 1))
        }
        _ => {
            let bits = bits_of(a.0.min(-1), a.1).max(bits_of(b.0.min(-1), b.1));
            (bits < 127).then(|| (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1))
        }
    }
}
