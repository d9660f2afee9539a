//! Intervals of integers, and what operations make of them.
//!
//! Every result contains all values that the operation has on values of its operands.

use headrace_ir::{BinaryOp, Int, IntType, MAX_SHIFT, MAX_WIDTH, Scalar};
use num_bigint::BigInt;

/// Magnitudes beyond this many bits are not followed.
const MAX_BITS: u64 = 1 << 17;

/// The integers from `low` to `high`, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Least value.
    pub low: Int,
    /// Greatest value.
    pub high: Int,
}

fn power(bits: u64) -> Int {
    Int::from(BigInt::from(1) << bits)
}

impl Interval {
    /// `low..=high`
    pub fn new(low: Int, high: Int) -> Self {
        Self { low, high }.bounded()
    }

    /// One value.
    pub fn of(value: Int) -> Self {
        Self { low: value.clone(), high: value }
    }

    /// All values of a type.
    pub fn of_type(ty: IntType) -> Self {
        let one = Int::from(1i64);
        if ty.signed {
            let half = power(u64::from(ty.width) - 1);
            Self { low: half.neg(), high: half.sub(&one) }
        } else {
            Self { low: Int::ZERO, high: power(u64::from(ty.width)).sub(&one) }
        }
    }

    pub(super) fn unbounded() -> Self {
        Self { low: power(MAX_BITS).neg(), high: power(MAX_BITS) }
    }

    pub(super) fn is_unbounded(&self) -> bool {
        self.low.magnitude_bits() > MAX_BITS || self.high.magnitude_bits() > MAX_BITS
    }

    pub(super) fn bounded(self) -> Self {
        if self.is_unbounded() { Self::unbounded() } else { self }
    }

    /// The value, if there is only one.
    pub fn single(&self) -> Option<&Int> {
        (self.low == self.high).then_some(&self.low)
    }

    /// True when every value of `self` is in `other`.
    pub fn within(&self, other: &Interval) -> bool {
        self.low >= other.low && self.high <= other.high
    }

    /// True when every value is one of the type.
    pub fn fits(&self, ty: IntType) -> bool {
        self.low.fits(ty) && self.high.fits(ty)
    }

    /// True when there is no negative value.
    pub fn non_negative(&self) -> bool {
        !self.low.is_negative()
    }

    /// Bits of two's complement that hold every value, sign bit included.
    pub fn signed_bits(&self) -> u64 {
        let bits = |value: &Int| {
            if value.is_negative() { value.complement().magnitude_bits() } else { value.magnitude_bits() }
        };
        bits(&self.low).max(bits(&self.high)) + 1
    }

    /// The least interval that contains both.
    pub fn join(&self, other: &Interval) -> Interval {
        Interval { low: self.low.clone().min(other.low.clone()), high: self.high.clone().max(other.high.clone()) }
    }

    pub(super) fn hull(values: impl IntoIterator<Item = Int>) -> Interval {
        let mut values = values.into_iter();
        let first = values.next().unwrap_or(Int::ZERO);
        let mut hull = Interval::of(first);
        for value in values {
            hull = hull.join(&Interval::of(value));
        }
        hull.bounded()
    }

    /// Values of the type that wrapping gives.
    pub fn wrap(&self, ty: IntType) -> Interval {
        if self.fits(ty) {
            return self.clone();
        }
        if let Some(value) = self.single().filter(|_| !self.is_unbounded()) {
            return Interval::of(value.clone().wrap(ty));
        }
        Interval::of_type(ty)
    }

    /// `-x`
    pub fn negate(&self) -> Interval {
        Interval::new(self.high.neg(), self.low.neg())
    }

    /// `~x`
    pub fn complement(&self) -> Interval {
        Interval::new(self.high.complement(), self.low.complement())
    }

    /// `x << y` wrapped to `ty`; by a negative count the other way.
    pub fn shift_left(&self, count: &Interval, ty: IntType) -> Interval {
        if self.is_unbounded() {
            return Interval::of_type(ty);
        }
        let back = count.low.is_negative().then(|| {
            let least = count.high.neg().max(Int::ZERO);
            Self::shift_right(self, &Interval { low: least, high: count.low.neg() })
        });
        let shifted = match (back, count.high.is_negative()) {
            (Some(back), true) => back,
            (Some(back), false) => back.join(&self.shifted_up(count, ty)),
            (None, _) => self.shifted_up(count, ty),
        };
        shifted.wrap(ty)
    }

    /// `x << y` for the counts that are not negative.
    fn shifted_up(&self, count: &Interval, ty: IntType) -> Interval {
        let zero = Interval::of(Int::ZERO);
        let whole = ty.width > MAX_WIDTH;
        let limit = if whole { u64::from(MAX_SHIFT) } else { u64::from(ty.width) - 1 };
        let least = count.low.clone().max(Int::ZERO).to_u64().unwrap_or(u64::MAX);
        let most = count.high.to_u64().unwrap_or(u64::MAX);
        if least > limit || *self == zero {
            return zero;
        }
        if most > limit && !whole {
            return Interval::of_type(ty);
        }
        let hull = Interval::hull(
            [&self.low, &self.high]
                .into_iter()
                .flat_map(|value| [least, most.min(limit)].map(|count| Int::from(value.to_big() << count))),
        );
        // More is an error, which unchecked code takes as 0.
        if most > limit { hull.join(&zero) } else { hull }
    }

    /// True when `x << y` needs no wrapping to `ty`, errors aside.
    pub fn shift_left_fits(&self, count: &Interval, ty: IntType) -> bool {
        let most = count.high.clone().max(Int::ZERO);
        let most = if ty.width > MAX_WIDTH { most.min(Int::from(i64::from(MAX_SHIFT))) } else { most };
        self.fits(ty)
            && match most.to_u64() {
                Some(most) if most <= u64::from(ty.width) => {
                    [&self.low, &self.high].iter().all(|value| Int::from(value.to_big() << most).fits(ty))
                }
                _ => *self == Interval::of(Int::ZERO),
            }
    }

    /// `x op y`
    pub fn binary(op: BinaryOp, a: &Interval, b: &Interval) -> Interval {
        let unbounded = a.is_unbounded() || b.is_unbounded();
        match op {
            BinaryOp::And | BinaryOp::Mod => {}
            _ if unbounded => return Interval::unbounded(),
            _ => {}
        }
        match op {
            BinaryOp::Add => Interval::new(a.low.add(&b.low), a.high.add(&b.high)),
            BinaryOp::Sub => Interval::new(a.low.sub(&b.high), a.high.sub(&b.low)),
            BinaryOp::Mul => {
                Interval::hull([&a.low, &a.high].into_iter().flat_map(|x| [&b.low, &b.high].map(|y| x.mul(y))))
            }
            BinaryOp::Div => Self::quotient(a, b),
            BinaryOp::Mod => Self::residue(a, b),
            BinaryOp::And => Self::and(a, b, unbounded),
            BinaryOp::Or | BinaryOp::Xor => Self::or(op, a, b),
            BinaryOp::ShiftRight => Self::shift_right(a, b),
        }
    }

    fn quotient(a: &Interval, b: &Interval) -> Interval {
        let mut divisors = vec![b.low.clone(), b.high.clone()];
        let zero = Interval::of(Int::ZERO);
        let has_zero = zero.within(b);
        if has_zero {
            divisors.push(Int::from(1i64));
            divisors.push(Int::from(-1i64));
        }
        let divisors = divisors.into_iter().filter(|divisor| Interval::of(divisor.clone()).within(b));
        let hull = Interval::hull(divisors.flat_map(|y| [&a.low, &a.high].map(|x| x.div(&y).unwrap_or(Int::ZERO))));
        if has_zero { hull.join(&zero) } else { hull }
    }

    fn residue(a: &Interval, b: &Interval) -> Interval {
        let zero = Interval::of(Int::ZERO);
        let one = Int::from(1i64);
        if b.high < one {
            return zero;
        }
        if let (Some(x), Some(y)) = (a.single(), b.single()) {
            return x.modulo(y).map_or(zero, Interval::of);
        }
        let most = b.high.sub(&one);
        if a.non_negative() {
            if a.high < b.low {
                return a.clone();
            }
            return Interval { low: Int::ZERO, high: most.min(a.high.clone()) };
        }
        Interval { low: Int::ZERO, high: most }
    }

    fn and(a: &Interval, b: &Interval, unbounded: bool) -> Interval {
        match (a.non_negative(), b.non_negative()) {
            (true, true) => {
                if let (Some(x), Some(y), false) = (a.single(), b.single(), unbounded) {
                    return Interval::of(x.and(y));
                }
                Interval { low: Int::ZERO, high: a.high.clone().min(b.high.clone()) }
            }
            (true, false) => Interval { low: Int::ZERO, high: a.high.clone() },
            (false, true) => Interval { low: Int::ZERO, high: b.high.clone() },
            (false, false) => {
                if unbounded {
                    return Interval::unbounded();
                }
                if let (Some(x), Some(y)) = (a.single(), b.single()) {
                    return Interval::of(x.and(y));
                }
                let bits = a.signed_bits().max(b.signed_bits()) - 1;
                Interval { low: power(bits).neg(), high: a.high.clone().max(b.high.clone()) }
            }
        }
    }

    fn or(op: BinaryOp, a: &Interval, b: &Interval) -> Interval {
        if let (Some(x), Some(y)) = (a.single(), b.single()) {
            return Interval::of(if op == BinaryOp::Or { x.or(y) } else { x.xor(y) });
        }
        let bits = a.signed_bits().max(b.signed_bits()) - 1;
        let high = power(bits).sub(&Int::from(1i64));
        if a.non_negative() && b.non_negative() {
            let low = if op == BinaryOp::Or { a.low.clone().max(b.low.clone()) } else { Int::ZERO };
            return Interval { low, high };
        }
        Interval { low: power(bits).neg(), high }
    }

    fn shift_right(a: &Interval, b: &Interval) -> Interval {
        let least = b.low.clone().max(Int::ZERO);
        let most = b.high.clone().max(Int::ZERO);
        let shifted = |value: &Int, count: &Int| value.shr(count).unwrap_or(Int::ZERO);
        let hull =
            Interval::hull([&a.low, &a.high].into_iter().flat_map(|x| [&least, &most].map(|count| shifted(x, count))));
        if b.low.is_negative() {
            // An error, which unchecked code takes as a huge count.
            let extreme = Interval::hull([Int::ZERO, if a.non_negative() { Int::ZERO } else { Int::from(-1i64) }]);
            return hull.join(&extreme);
        }
        hull
    }
}

/// The interval of everything of a type; for what is not a number, an unused one.
pub fn of_scalar(scalar: Scalar) -> Interval {
    match scalar {
        Scalar::Int(ty) => Interval::of_type(ty),
        Scalar::Bool => Interval { low: Int::ZERO, high: Int::from(1i64) },
        Scalar::Real(_) | Scalar::String => Interval::of(Int::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: i64, high: i64) -> Interval {
        Interval::new(Int::from(low), Int::from(high))
    }

    fn intervals() -> Vec<Interval> {
        let ends = [-9i64, -8, -5, -1, 0, 1, 3, 4, 7, 9];
        let pairs = ends.iter().flat_map(|&low| ends.iter().map(move |&high| (low, high)));
        pairs.filter(|(low, high)| low <= high).map(|(low, high)| interval(low, high)).collect()
    }

    fn values(range: &Interval) -> Vec<Int> {
        let (low, high) = (range.low.to_i64().unwrap_or(0), range.high.to_i64().unwrap_or(-1));
        (low..=high).map(Int::from).collect()
    }

    fn contains(range: &Interval, value: Int, what: &str) {
        assert!(Interval::of(value.clone()).within(range), "{what}: {value} is not in {range:?}");
    }

    #[test]
    fn every_result_is_in_the_interval() {
        use BinaryOp::{Add, And, Div, Mod, Mul, Or, ShiftRight, Sub, Xor};
        for a in intervals() {
            for b in intervals() {
                let ranges = [Add, Sub, Mul, Div, Mod, And, Or, Xor, ShiftRight].map(|op| Interval::binary(op, &a, &b));
                for x in values(&a) {
                    for y in values(&b) {
                        // Errors give what unchecked code makes of them.
                        let fill = if x.is_negative() { Int::from(-1i64) } else { Int::ZERO };
                        let results = [
                            x.add(&y),
                            x.sub(&y),
                            x.mul(&y),
                            x.div(&y).unwrap_or(Int::ZERO),
                            x.modulo(&y).unwrap_or(Int::ZERO),
                            x.and(&y),
                            x.or(&y),
                            x.xor(&y),
                            x.shr(&y).unwrap_or(fill),
                        ];
                        for (range, result) in ranges.iter().zip(results) {
                            contains(range, result, &format!("{x} and {y}"));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn shifts_and_wraps_are_in_the_interval() {
        let whole = IntType::signed(MAX_WIDTH + 1);
        for ty in [IntType::signed(5), IntType::unsigned(4), IntType::unsigned(70), whole] {
            for a in intervals() {
                let wrapped = a.wrap(ty);
                for x in values(&a) {
                    contains(&wrapped, x.clone().wrap(ty), "wrap");
                    contains(&a.negate(), x.neg(), "negate");
                    contains(&a.complement(), x.complement(), "complement");
                }
                for b in intervals() {
                    let range = a.shift_left(&b, ty);
                    for x in values(&a) {
                        for y in values(&b) {
                            let shifted = x.shl(&y, ty).unwrap_or(Int::ZERO);
                            if a.shift_left_fits(&b, ty) {
                                let count = y.to_i64().unwrap_or(0);
                                let exact = if count < 0 { x.to_big() >> -count } else { x.to_big() << count };
                                assert_eq!(shifted.to_big(), exact, "{x} << {y} fits");
                            }
                            contains(&range, shifted, "shift left");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn narrow_results_stay_narrow() {
        let word = Interval::of_type(IntType::unsigned(32));
        let byte = Interval::binary(BinaryOp::And, &word, &interval(255, 255));
        assert_eq!(byte, interval(0, 255));
        assert_eq!(Interval::binary(BinaryOp::ShiftRight, &word, &interval(24, 24)), interval(0, 255));
        assert_eq!(
            Interval::binary(BinaryOp::Mod, &Interval::of_type(IntType::signed(8)), &interval(10, 10)),
            interval(0, 9)
        );
    }

    #[test]
    fn magnitudes_are_bounded() {
        let huge = Interval::of_type(IntType::unsigned(4096));
        let mut product = huge.clone();
        for _ in 0..100 {
            product = Interval::binary(BinaryOp::Mul, &product, &huge);
        }
        assert!(product.high.magnitude_bits() <= MAX_BITS + 1);
        assert!(Interval::binary(BinaryOp::Sub, &product, &product).single().is_none());
    }
}
