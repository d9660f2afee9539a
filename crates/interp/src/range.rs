//! Bounds of integer expressions, found bottom-up from the types of what they read. They decide only which machine
//! representation computes an expression exactly: 64 bits, 128 bits or any number.

use headrace_ir::{BinaryOp, Int, IntType, MAX_SHIFT, MAX_WIDTH};

/// All values are at least `-2^negative` (at least 0 when there is no `negative`) and at most `2^positive - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub negative: Option<u32>,
    pub positive: u32,
}

/// The narrowest representation that holds every value of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// `i64`
    Word,
    /// `i128`
    Double,
    /// [`Int`]
    Big,
}

impl Range {
    pub fn of_type(ty: IntType) -> Range {
        if ty.signed {
            Range { negative: Some(ty.width.saturating_sub(1)), positive: ty.width.saturating_sub(1) }
        } else {
            Range { negative: None, positive: ty.width }
        }
    }

    pub fn of_value(value: &Int) -> Range {
        if value.is_negative() {
            Range { negative: Some(value.complement().magnitude_bits() as u32), positive: 0 }
        } else {
            Range { negative: None, positive: value.magnitude_bits() as u32 }
        }
    }

    pub fn tier(self) -> Tier {
        match self.positive.max(self.negative.unwrap_or(0)) {
            0..=63 => Tier::Word,
            64..=127 => Tier::Double,
            _ => Tier::Big,
        }
    }

    /// True when a store to the type changes no value of the range.
    pub fn within(self, ty: IntType) -> bool {
        let bounds = Range::of_type(ty);
        self.positive <= bounds.positive
            && self.negative.is_none_or(|bits| bounds.negative.is_some_and(|bound| bits <= bound))
    }

    pub fn union(self, other: Range) -> Range {
        Range { negative: self.negative.max(other.negative), positive: self.positive.max(other.positive) }
    }

    /// Bits of the largest absolute value, which may be 2^bits itself.
    fn magnitude(self) -> u32 {
        self.positive.max(self.negative.unwrap_or(0))
    }

    pub fn negated(self) -> Range {
        Range {
            negative: (self.positive > 0).then_some(self.positive),
            positive: self.negative.map_or(0, |bits| bits.saturating_add(1)),
        }
    }

    pub fn complemented(self) -> Range {
        Range { negative: Some(self.positive), positive: self.negative.unwrap_or(0) }
    }

    /// The range after `<< count` without wrapping.
    pub fn shifted_left(self, count: u32) -> Range {
        Range {
            negative: self.negative.map(|bits| bits.saturating_add(count)),
            positive: if self.positive == 0 { 0 } else { self.positive.saturating_add(count) },
        }
    }

    /// The range of `a << b` wrapped to a type.
    pub fn shifted(ty: IntType, a: Range, b: Range) -> Range {
        let most = if b.positive < 16 { (1 << b.positive) - 1 } else { u32::MAX };
        let most = if ty.width > MAX_WIDTH { most.min(MAX_SHIFT) } else { most };
        let range = a.shifted_left(most);
        if range.within(ty) { range } else { Range::of_type(ty) }
    }

    /// The range after `>> count`.
    pub fn shifted_right(self, count: u32) -> Range {
        Range {
            negative: self.negative.map(|bits| bits.saturating_sub(count)),
            positive: self.positive.saturating_sub(count),
        }
    }

    pub fn binary(op: BinaryOp, a: Range, b: Range) -> Range {
        let either_negative = a.negative.is_some() || b.negative.is_some();
        match op {
            BinaryOp::Add => Range {
                negative: either_negative.then(|| match (a.negative, b.negative) {
                    (Some(a), Some(b)) => a.max(b).saturating_add(1),
                    (a, b) => a.or(b).unwrap_or(0),
                }),
                positive: a.positive.max(b.positive).saturating_add(1),
            },
            BinaryOp::Sub => Range {
                negative: Some(a.negative.map_or(b.positive, |bits| bits.max(b.positive).saturating_add(1))),
                positive: b.negative.map_or(a.positive, |bits| bits.max(a.positive).saturating_add(1)),
            },
            BinaryOp::Mul => {
                let bits = a.magnitude().saturating_add(b.magnitude());
                let positive = bits.saturating_add(u32::from(either_negative));
                Range { negative: either_negative.then_some(bits), positive }
            }
            BinaryOp::Div => Range {
                negative: either_negative.then_some(a.magnitude()),
                positive: a.magnitude().saturating_add(u32::from(either_negative)),
            },
            BinaryOp::Mod => Range { negative: None, positive: b.positive },
            BinaryOp::And => match (a.negative, b.negative) {
                (None, None) => Range { negative: None, positive: a.positive.min(b.positive) },
                (None, Some(_)) => a,
                (Some(_), None) => b,
                (Some(_), Some(_)) => {
                    let bits = a.magnitude().max(b.magnitude());
                    Range { negative: Some(bits), positive: bits }
                }
            },
            BinaryOp::Or | BinaryOp::Xor => {
                let bits = a.magnitude().max(b.magnitude());
                Range { negative: either_negative.then_some(bits), positive: bits }
            }
            BinaryOp::ShiftRight => a,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of values from two small ranges stays within what `binary` says, whatever the operator.
    #[test]
    fn bounds_hold_for_all_small_operands() {
        let ranges: Vec<Range> = (0..4)
            .flat_map(|positive| [None, Some(0), Some(1), Some(3)].map(|negative| Range { negative, positive }))
            .collect();
        let values = |range: Range| -(range.negative.map_or(0, |bits| 1i64 << bits))..(1i64 << range.positive);
        let inside = |value: &Int, range: Range| {
            Int::from((1i64 << range.positive) - 1) >= *value
                && *value >= Int::from(range.negative.map_or(0, |bits| -(1i64 << bits)))
        };
        for &a in &ranges {
            for &b in &ranges {
                for x in values(a) {
                    assert!(inside(&Int::from(x), Range::union(a, b)));
                    assert!(inside(&Int::from(-x), a.negated()), "-{x}");
                    assert!(inside(&Int::from(!x), a.complemented()), "~{x}");
                    assert!(inside(&Int::from(x << 3), a.shifted_left(3)), "{x} << 3");
                    for y in values(b) {
                        let (p, q) = (Int::from(x), Int::from(y));
                        let results = [
                            (BinaryOp::Add, Ok(p.add(&q))),
                            (BinaryOp::Sub, Ok(p.sub(&q))),
                            (BinaryOp::Mul, Ok(p.mul(&q))),
                            (BinaryOp::Div, p.div(&q)),
                            (BinaryOp::Mod, p.modulo(&q)),
                            (BinaryOp::And, Ok(p.and(&q))),
                            (BinaryOp::Or, Ok(p.or(&q))),
                            (BinaryOp::Xor, Ok(p.xor(&q))),
                            (BinaryOp::ShiftRight, p.shr(&q)),
                        ];
                        for (op, result) in results {
                            if let Ok(value) = result {
                                assert!(
                                    inside(&value, Range::binary(op, a, b)),
                                    "{x} {op:?} {y} = {value}: {a:?} {b:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn representations_at_the_edges() {
        assert_eq!(Range::of_type(IntType::signed(64)).tier(), Tier::Word);
        assert_eq!(Range::of_type(IntType::unsigned(64)).tier(), Tier::Double);
        assert_eq!(Range::of_type(IntType::unsigned(127)).tier(), Tier::Double);
        assert_eq!(Range::of_type(IntType::unsigned(128)).tier(), Tier::Big);
        assert!(Range::of_value(&Int::from(-128i64)).within(IntType::signed(8)));
        assert!(!Range::of_value(&Int::from(-129i64)).within(IntType::signed(8)));
        assert!(!Range::of_value(&Int::from(-1i64)).within(IntType::unsigned(8)));
    }
}
