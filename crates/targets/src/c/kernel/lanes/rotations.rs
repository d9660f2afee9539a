//! Instruction selection for rotations in lanes. Those by whole bytes are a byte shuffle where the machine has no rotation;
//! by amounts that differ from iteration to iteration, lanes rotate in the direction in which the amount is there.

use super::Printer;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, Op};
use headrace_transform::statements::Piece;
use rustc_hash::FxHashSet;

/// Where a rotation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Left,
    Right,
}

impl Printer<'_> {
    /// Whether lanes are rotated by so many bits by a shuffle of their bytes.
    pub(super) fn rotates_by_shuffle(&self, up: u32) -> bool {
        self.machine.byte_shuffle && !self.rotates() && up.is_multiple_of(8) && matches!(self.lane(), 32 | 64)
    }

    /// What these pieces of a lane rotate by one instruction, by how many bits to the left, and the bits that are taken
    /// of that.
    pub(super) fn one_rotation(&self, pieces: &[Piece]) -> Option<(NodeId, u32, u128)> {
        let [Piece::Moved { source, shift: up, mask: above }, Piece::Moved { source: same, shift: down, mask: below }] =
            pieces
        else {
            return None;
        };
        let turned = u32::try_from(*up).ok().filter(|&up| up > 0 && source == same)?;
        if up - down != self.lane() as i32 {
            return None;
        }
        let low = mask(turned);
        let taken = (above & !low) | (below & low);
        let by_shuffle = self.rotates_by_shuffle(turned) && taken == mask(self.lane());
        (self.rotates() || by_shuffle).then_some((*source, turned, taken))
    }

    /// Direction and amount of a rotation to the left by `n` of a value of so many bits: to the left by -x is to the
    /// right by x.
    pub(super) fn turn(&self, n: NodeId, width: u32) -> (Direction, NodeId) {
        let graph = &self.words.graph;
        match graph.op(n) {
            // Amounts count modulo the width: those of fewer bits must not wrap around before that.
            &Op::Sub(from, x)
                if graph.constant(from).is_some_and(|from| from % u128::from(width) == 0)
                    && 1 << graph.width(n).min(127) >= u128::from(width) =>
            {
                (Direction::Right, x)
            }
            _ => (Direction::Left, n),
        }
    }

    /// The nodes that a node reads when it is printed, as often as it names them.
    pub(super) fn reads(&self, id: NodeId) -> Vec<NodeId> {
        match self.words.graph.op(id) {
            Op::RotateLeft(a, n) => vec![*a, self.turn(*n, self.words.graph.width(id)).1],
            Op::SignExtend(_) => match self.compared(id) {
                Some((a, b, _)) => vec![a, b],
                None => self.outside.reads(id),
            },
            _ => self.outside.reads(id),
        }
    }

    /// What is read for the values, themselves included.
    pub(super) fn read_for_values(&self) -> FxHashSet<NodeId> {
        let mut seen = FxHashSet::default();
        let mut open = self.values.clone();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(self.reads(id));
            }
        }
        seen
    }

    /// A rotation to the left by amounts that no one knows before.
    pub(super) fn rotation(&mut self, a: NodeId, n: NodeId, width: u32) -> String {
        let (direction, n) = self.turn(n, width);
        if width == self.lane() && self.rotates() {
            let name = if direction == Direction::Left { "rolv" } else { "rorv" };
            return self.instruction(name, &format!("{}, {}", self.raw(&a), self.raw(&n)));
        }
        let most = self.number(u128::from(width - 1));
        let (a, n) = (self.vector(a), self.vector(n));
        let (there, back) = if direction == Direction::Left { ("<<", ">>") } else { (">>", "<<") };
        self.cut(format!("({a} {there} ({n} & {most})) | ({a} {back} (-{n} & {most}))"), width)
    }
}
