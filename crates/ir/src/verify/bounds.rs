//! The narrowest type that surely holds an integer, of any width.

use crate::{BinaryOp, Int, IntType};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    pub signed: bool,
    pub width: u64,
}

impl Bounds {
    pub fn of(ty: IntType) -> Self {
        Self { signed: ty.signed, width: u64::from(ty.width) }
    }

    pub fn literal(value: &Int) -> Self {
        if value.is_negative() {
            Self { signed: true, width: value.complement().magnitude_bits() + 1 }
        } else {
            Self { signed: false, width: value.magnitude_bits().max(1) }
        }
    }

    pub fn signed_width(self) -> u64 {
        self.width + u64::from(!self.signed)
    }

    pub fn fits(self, ty: IntType) -> bool {
        let width = u64::from(ty.width);
        if self.signed { ty.signed && self.width <= width } else { self.width + u64::from(ty.signed) <= width }
    }

    pub fn union(self, other: Self) -> Self {
        if !self.signed && !other.signed {
            Self { signed: false, width: self.width.max(other.width) }
        } else {
            Self { signed: true, width: self.signed_width().max(other.signed_width()) }
        }
    }
}

/// Bounds of the result of an exact operator.
pub(super) fn int_bounds(op: BinaryOp, x: Bounds, y: Bounds) -> Bounds {
    let both_unsigned = !x.signed && !y.signed;
    let widest = x.signed_width().max(y.signed_width());
    match op {
        BinaryOp::Add if both_unsigned => Bounds { signed: false, width: x.width.max(y.width) + 1 },
        BinaryOp::Sub if both_unsigned => Bounds { signed: true, width: x.width.max(y.width) + 1 },
        BinaryOp::Add | BinaryOp::Sub => Bounds { signed: true, width: widest + 1 },
        BinaryOp::Mul if both_unsigned => Bounds { signed: false, width: x.width + y.width },
        BinaryOp::Mul => Bounds { signed: true, width: x.signed_width() + y.signed_width() },
        BinaryOp::Div if !y.signed => x,
        BinaryOp::Div => Bounds { signed: true, width: x.signed_width() + u64::from(x.signed) },
        BinaryOp::Mod => Bounds { signed: false, width: if y.signed { (y.width - 1).max(1) } else { y.width } },
        BinaryOp::And => match (x.signed, y.signed) {
            (false, false) => Bounds { signed: false, width: x.width.min(y.width) },
            (false, true) => x,
            (true, false) => y,
            (true, true) => Bounds { signed: true, width: x.width.max(y.width) },
        },
        BinaryOp::Or | BinaryOp::Xor => x.union(y),
        BinaryOp::ShiftRight => x,
    }
}
