//! Operands of a node, without memory of their own: every walk over a graph asks each of its nodes for them.

use super::{NodeId, Op};
use std::ops::Deref;
use std::sync::Arc;

/// The operands of a node in order. A slice by reference; by value they come one after the other.
#[derive(Clone, Debug)]
pub struct Operands(Held);

#[derive(Clone, Debug)]
enum Held {
    /// The first so many.
    Few([NodeId; 3], u8),
    Many(Arc<[NodeId]>),
}

impl Op {
    /// Whether the operands can change places.
    pub fn commutes(&self) -> bool {
        matches!(self, Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Add(..) | Op::Mul(..) | Op::Equal(..))
    }

    /// The operands in order.
    #[inline]
    pub fn operands(&self) -> Operands {
        const NONE: NodeId = NodeId(0);
        Operands(match self {
            Op::Const(_) | Op::Input { .. } | Op::Loaded(_) => Held::Few([NONE; 3], 0),
            Op::Entry { index: a, .. }
            | Op::Not(a)
            | Op::Extract(a, _)
            | Op::SignExtend(a)
            | Op::Lookup(_, a)
            | Op::LookupBytes(_, a) => Held::Few([*a, NONE, NONE], 1),
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Divide(a, b)
            | Op::Remainder(a, b)
            | Op::ShiftLeft(a, b)
            | Op::ShiftRight(a, b)
            | Op::ShiftRightSigned(a, b)
            | Op::RotateLeft(a, b)
            | Op::Equal(a, b)
            | Op::Less(a, b)
            | Op::LessSigned(a, b) => Held::Few([*a, *b, NONE], 2),
            Op::Select(c, a, b) => Held::Few([*c, *a, *b], 3),
            Op::Concat(parts) => Held::Many(Arc::clone(parts)),
            Op::Instruction { operands, .. } => Held::Many(Arc::clone(operands)),
        })
    }

    /// Calls for each operand in order. Evaluators ask for nothing more often.
    #[inline]
    pub(crate) fn each_operand(&self, mut of: impl FnMut(NodeId)) {
        match self {
            Op::Concat(parts) => parts.iter().for_each(|&part| of(part)),
            Op::Instruction { operands, .. } => operands.iter().for_each(|&operand| of(operand)),
            few => few.operands().iter().for_each(|&operand| of(operand)),
        }
    }
}

impl Deref for Operands {
    type Target = [NodeId];

    #[inline]
    fn deref(&self) -> &[NodeId] {
        match &self.0 {
            Held::Few(all, n) => &all[..usize::from(*n)],
            Held::Many(all) => all,
        }
    }
}

/// Operands one after the other.
#[derive(Clone, Debug)]
pub struct IntoIter {
    operands: Operands,
    at: usize,
}

impl Iterator for IntoIter {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        let operand = self.operands.get(self.at).copied();
        self.at += usize::from(operand.is_some());
        operand
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.operands.len() - self.at;
        (left, Some(left))
    }
}

impl ExactSizeIterator for IntoIter {}

impl IntoIterator for Operands {
    type Item = NodeId;
    type IntoIter = IntoIter;

    #[inline]
    fn into_iter(self) -> IntoIter {
        IntoIter { operands: self, at: 0 }
    }
}
