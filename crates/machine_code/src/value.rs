//! What is known of a public number: the domain of values of the walk.
//!
//! A number is a 64-bit pattern read as signed; narrower results stand in it zero-extended, as x86-64 leaves them. Few numbers
//! are kept one by one, so that tables of jumps and states of machines stay exact; more become the range that spans them.

use std::rc::Rc;

/// As many numbers are told apart; more become a range.
const MOST: usize = 128;
/// A range of fewer numbers than this is kept one by one.
const SHORT: i64 = 64;

/// A set of numbers that a register or a place in memory may hold. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Exactly this one.
    One(i64),
    /// One of these, ascending, at least two.
    Few(Rc<[i64]>),
    /// From the first to the second, both included.
    Between(i64, i64),
    /// Nothing is known.
    Any,
}

/// Whatever can be pointed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Region {
    /// The stack; offsets are relative to the stack pointer at the walk's beginning.
    Stack,
    /// What the file holds; offsets are its addresses.
    Image,
    /// A region that the scenario declares.
    Given(usize),
}

/// A number, or a pointer: numbers are then offsets in `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Value {
    pub base: Option<Region>,
    pub numbers: Numbers,
}

/// How two numbers can stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Relation {
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
        }
    }

    fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }

    /// Whether some number of `low..=high` can be on the other side of `a`.
    fn possible(self, a: i128, (low, high): (i128, i128)) -> bool {
        match self {
            Self::Equal => low <= a && a <= high,
            Self::NotEqual => low != a || high != a,
            Self::Less => a < high,
            Self::LessEqual => a <= high,
            Self::Greater => a > low,
            Self::GreaterEqual => a >= low,
        }
    }
}

/// The widest number of `bits` bits, zero-extended.
fn ones(bits: u32) -> i64 {
    if bits >= 64 { -1 } else { (1 << bits) - 1 }
}

impl Numbers {
    /// The smallest set that holds all of these; nothing is known of none.
    pub(crate) fn of(mut numbers: Vec<i64>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        match numbers[..] {
            [] => Self::Any,
            [one] => Self::One(one),
            [low, .., high] if numbers.len() > MOST => Self::Between(low, high),
            _ => Self::Few(numbers.into()),
        }
    }

    pub(crate) fn one(&self) -> Option<i64> {
        if let Self::One(one) = self { Some(*one) } else { None }
    }

    /// All of them where they are few.
    pub(crate) fn list(&self) -> Option<&[i64]> {
        match self {
            Self::One(one) => Some(std::slice::from_ref(one)),
            Self::Few(few) => Some(few),
            _ => None,
        }
    }

    pub(crate) fn bounds(&self) -> (i64, i64) {
        match self {
            Self::One(one) => (*one, *one),
            Self::Few(few) => (few.first().copied().unwrap_or(i64::MIN), few.last().copied().unwrap_or(i64::MAX)),
            Self::Between(low, high) => (*low, *high),
            Self::Any => (i64::MIN, i64::MAX),
        }
    }

    /// All from `low` to `high`.
    pub(crate) fn range(low: i64, high: i64) -> Self {
        match (low, high) {
            (i64::MIN, i64::MAX) => Self::Any,
            _ if low == high => Self::One(low),
            // So that what indexes a table stays exact.
            _ if high.checked_sub(low).is_some_and(|span| span < SHORT) => Self::Few((low..=high).collect()),
            _ => Self::Between(low, high),
        }
    }

    pub(crate) fn map(&self, f: impl Fn(i64) -> i64) -> Option<Self> {
        match self {
            Self::One(one) => Some(Self::One(f(*one))),
            Self::Few(few) => Some(Self::of(few.iter().map(|n| f(*n)).collect())),
            _ => None,
        }
    }

    /// `f` of every two of them, where they are few.
    pub(crate) fn pairs(&self, other: &Self, f: impl Fn(i64, i64) -> i64) -> Option<Self> {
        let (a, b) = (self.list()?, other.list()?);
        if a.len() * b.len() > MOST * 8 {
            return None;
        }
        Some(Self::of(a.iter().flat_map(|a| b.iter().map(|b| f(*a, *b)).collect::<Vec<_>>()).collect()))
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        self.pairs(other, i64::wrapping_add).unwrap_or_else(|| {
            let ((a, b), (c, d)) = (self.bounds(), other.bounds());
            match (a.checked_add(c), b.checked_add(d)) {
                (Some(low), Some(high)) => Self::range(low, high),
                _ => Self::Any,
            }
        })
    }

    pub(crate) fn sub(&self, other: &Self) -> Self {
        self.pairs(other, i64::wrapping_sub).unwrap_or_else(|| {
            let ((a, b), (c, d)) = (self.bounds(), other.bounds());
            match (a.checked_sub(d), b.checked_sub(c)) {
                (Some(low), Some(high)) => Self::range(low, high),
                _ => Self::Any,
            }
        })
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        self.pairs(other, i64::wrapping_mul).unwrap_or_else(|| {
            let ((a, b), (c, d)) = (self.bounds(), other.bounds());
            match (a.checked_mul(c), b.checked_mul(d)) {
                (Some(low), Some(high)) if a >= 0 && c >= 0 => Self::range(low, high),
                _ => Self::Any,
            }
        })
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        self.pairs(other, |a, b| a & b).unwrap_or_else(|| {
            let most = [self.bounds(), other.bounds()].into_iter().filter(|(low, _)| *low >= 0).map(|(_, high)| high);
            most.min().map_or(Self::Any, |high| Self::range(0, high))
        })
    }

    /// Or, exclusive or: `f` must not set a bit that neither has.
    pub(crate) fn or_like(&self, other: &Self, f: impl Fn(i64, i64) -> i64) -> Self {
        self.pairs(other, f).unwrap_or_else(|| {
            let ((a, b), (c, d)) = (self.bounds(), other.bounds());
            if a < 0 || c < 0 {
                return Self::Any;
            }
            Self::range(0, ones(64 - (b | d).leading_zeros()))
        })
    }

    pub(crate) fn shl(&self, by: u32) -> Self {
        self.map(|n| n.checked_shl(by).unwrap_or(0))
            .unwrap_or_else(|| if by < 63 { self.mul(&Self::One(1 << by)) } else { Self::Any })
    }

    /// The logical shift of a number of 64 bits, or of fewer that stand zero-extended.
    pub(crate) fn shr(&self, by: u32) -> Self {
        let by = by.min(63);
        self.map(|n| (n as u64 >> by) as i64).unwrap_or_else(|| match self.bounds() {
            (low, high) if low >= 0 => Self::range(low >> by, high >> by),
            _ if by == 0 => Self::Any,
            _ => Self::range(0, ones(64 - by)),
        })
    }

    pub(crate) fn sar(&self, by: u32) -> Self {
        let by = by.min(63);
        let (low, high) = self.bounds();
        self.map(|n| n >> by).unwrap_or_else(|| Self::range(low >> by, high >> by))
    }

    /// The low `bits` bits, zero-extended.
    pub(crate) fn truncate(&self, bits: u32) -> Self {
        if bits >= 64 {
            return self.clone();
        }
        self.map(|n| n & ones(bits)).unwrap_or_else(|| match self.bounds() {
            (low, high) if low >= 0 && high <= ones(bits) => Self::range(low, high),
            _ => Self::range(0, ones(bits)),
        })
    }

    /// The low `bits` bits, sign-extended.
    pub(crate) fn extend(&self, bits: u32) -> Self {
        if bits >= 64 {
            return self.clone();
        }
        let up = 64 - bits;
        self.map(|n| (n << up) >> up).unwrap_or_else(|| match self.truncate(bits).bounds() {
            (low, high) if high <= ones(bits - 1) => Self::range(low, high),
            _ => Self::range(-ones(bits - 1) - 1, ones(bits - 1)),
        })
    }

    pub(crate) fn join(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        if let (Some(a), Some(b)) = (self.list(), other.list()) {
            return Self::of(a.iter().chain(b).copied().collect());
        }
        let ((a, b), (c, d)) = (self.bounds(), other.bounds());
        Self::range(a.min(c), b.max(d))
    }

    /// `self` joined with `next`, so that a chain of such steps ends soon: bounds that move go to the next of a few.
    pub(crate) fn widen(&self, next: &Self) -> Self {
        let joined = self.join(next);
        if joined == *self {
            return joined;
        }
        let ((a, b), (c, d)) = (self.bounds(), joined.bounds());
        let low = match c {
            _ if c == a => a,
            0.. => 0,
            _ if c >= -(1 << 31) => -(1 << 31),
            _ => i64::MIN,
        };
        let high =
            if d == b { b } else { [8, 16, 31, 32].map(ones).into_iter().find(|high| d <= *high).unwrap_or(i64::MAX) };
        Self::range(low, high)
    }

    /// What remains of both where `relation` holds between them, compared as numbers of `bits` bits; nothing if it cannot.
    pub(crate) fn compared(relation: Relation, a: &Self, b: &Self, bits: u32, signed: bool) -> Option<(Self, Self)> {
        let kept_a = a.kept(relation, b.span(bits, signed), bits, signed)?;
        let kept_b = b.kept(relation.swapped(), a.span(bits, signed), bits, signed)?;
        Some((kept_a, kept_b))
    }

    /// The range of what they mean when `bits` bits are compared.
    fn span(&self, bits: u32, signed: bool) -> (i128, i128) {
        let read = |n: i64| reading(n, bits, signed);
        match self.list() {
            Some(list) => {
                list.iter().fold((i128::MAX, i128::MIN), |(low, high), n| (low.min(read(*n)), high.max(read(*n))))
            }
            None => {
                let (low, high) = self.bounds();
                // Where the range does not break at a change of sign, its ends stay its ends.
                let whole = low >= 0 && high <= ones(bits).max(i64::from(bits >= 64) * i64::MAX);
                if (whole || (bits >= 64 && signed)) && read(low) <= read(high) {
                    (read(low), read(high))
                } else if signed {
                    (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
                } else {
                    (0, (1 << bits) - 1)
                }
            }
        }
    }

    fn kept(&self, relation: Relation, other: (i128, i128), bits: u32, signed: bool) -> Option<Self> {
        if let Some(list) = self.list() {
            let kept: Vec<i64> =
                list.iter().copied().filter(|n| relation.possible(reading(*n, bits, signed), other)).collect();
            return if kept.is_empty() { None } else { Some(Self::of(kept)) };
        }
        let (mut low, mut high) = self.span(bits, signed);
        match relation {
            Relation::Equal => (low, high) = (low.max(other.0), high.min(other.1)),
            Relation::NotEqual if other.0 == other.1 => {
                low += i128::from(low == other.0);
                high -= i128::from(high == other.0);
            }
            Relation::NotEqual => {}
            Relation::Less => high = high.min(other.1 - 1),
            Relation::LessEqual => high = high.min(other.1),
            Relation::Greater => low = low.max(other.0 + 1),
            Relation::GreaterEqual => low = low.max(other.0),
        }
        if low > high {
            return None;
        }
        // Back to patterns; a range that has both signs has no range of patterns.
        let up = if signed && bits < 64 && high < 0 { 1i128 << bits } else { 0 };
        let broken = signed && bits < 64 && low < 0 && high >= 0;
        Some(match (i64::try_from(low + up), i64::try_from(high + up)) {
            (Ok(low), Ok(high)) if !broken => Self::range(low, high),
            _ => self.clone(),
        })
    }
}

/// What the pattern means when `bits` bits are compared.
fn reading(n: i64, bits: u32, signed: bool) -> i128 {
    let up = 64u32.saturating_sub(bits);
    if signed { i128::from((n << up) >> up) } else { i128::from((n as u64) << up >> up) }
}

impl Value {
    pub(crate) const ANY: Self = Self { base: None, numbers: Numbers::Any };

    pub(crate) fn number(n: i64) -> Self {
        Self { base: None, numbers: Numbers::One(n) }
    }

    pub(crate) fn of(numbers: Numbers) -> Self {
        Self { base: None, numbers }
    }

    pub(crate) fn pointer(base: Region, offset: i64) -> Self {
        Self { base: Some(base), numbers: Numbers::One(offset) }
    }

    /// Any number of so many bytes, zero-extended.
    pub(crate) fn any_of(bytes: usize) -> Self {
        Self::of(Numbers::Any.truncate(u32::try_from(bytes * 8).unwrap_or(64)))
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        let base = match (self.base, other.base) {
            (Some(_), Some(_)) => return Self::ANY,
            (one, two) => one.or(two),
        };
        Self { base, numbers: self.numbers.add(&other.numbers) }
    }

    pub(crate) fn sub(&self, other: &Self) -> Self {
        let base = match (self.base, other.base) {
            (base, None) => base,
            (Some(a), Some(b)) if a == b => None,
            _ => return Self::ANY,
        };
        Self { base, numbers: self.numbers.sub(&other.numbers) }
    }

    /// Applies to a number; of a pointer nothing is left.
    pub(crate) fn map(&self, f: impl Fn(&Numbers) -> Numbers) -> Self {
        if self.base.is_some() { Self::ANY } else { Self::of(f(&self.numbers)) }
    }

    pub(crate) fn join(&self, other: &Self) -> Self {
        if self.base == other.base {
            return Self { base: self.base, numbers: self.numbers.join(&other.numbers) };
        }
        Self::ANY
    }

    pub(crate) fn widen(&self, next: &Self) -> Self {
        if self.base == next.base {
            return Self { base: self.base, numbers: self.numbers.widen(&next.numbers) };
        }
        Self::ANY
    }

    /// What remains of both where the relation holds; nothing if it cannot.
    pub(crate) fn compared(relation: Relation, a: &Self, b: &Self, bits: u32, signed: bool) -> Option<(Self, Self)> {
        if a.base == b.base {
            // Places in one region have the order of their offsets, and no pointer wraps.
            let signed = signed || a.base.is_some();
            let (x, y) = Numbers::compared(relation, &a.numbers, &b.numbers, bits, signed)?;
            return Some((Self { base: a.base, numbers: x }, Self { base: b.base, numbers: y }));
        }
        // A pointer into a region is not null.
        let null = |value: &Self| value.base.is_none() && value.numbers == Numbers::One(0);
        if relation == Relation::Equal && bits == 64 && (null(a) || null(b)) {
            return None;
        }
        Some((a.clone(), b.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_keeps_what_can_hold() {
        let few = Numbers::of(vec![1, 5, 9]);
        let (a, _) = Numbers::compared(Relation::Less, &few, &Numbers::One(6), 32, false).unwrap();
        assert_eq!(a, Numbers::of(vec![1, 5]));
        assert_eq!(Numbers::compared(Relation::Greater, &few, &Numbers::One(9), 32, true), None);
        let (a, _) = Numbers::compared(Relation::LessEqual, &Numbers::Any, &Numbers::One(7), 64, false).unwrap();
        assert_eq!(a, Numbers::of((0..8).collect()));
        // The lowest of 32 bits is below zero only when it is read with a sign.
        let low = Numbers::One(0x8000_0000);
        assert!(Numbers::compared(Relation::Less, &low, &Numbers::One(0), 32, true).is_some());
        assert!(Numbers::compared(Relation::Less, &low, &Numbers::One(0), 32, false).is_none());
    }

    #[test]
    fn widening_ends() {
        let mut seen = Numbers::One(0);
        for n in 1..100 {
            seen = seen.widen(&seen.add(&Numbers::One(n << 8)));
        }
        assert_eq!(seen.add(&Numbers::One(1)).join(&seen), seen.widen(&seen.add(&Numbers::One(1))));
    }

    #[test]
    fn arithmetic_is_that_of_patterns() {
        assert_eq!(Numbers::One(-1).truncate(32), Numbers::One(0xffff_ffff));
        assert_eq!(Numbers::One(0xffff_ffff).extend(32), Numbers::One(-1));
        assert_eq!(Numbers::Any.and(&Numbers::One(511)), Numbers::Between(0, 511));
        assert_eq!(Numbers::Between(0, 511).shl(2).add(&Numbers::One(8)), Numbers::Between(8, 2052));
        assert_eq!(Numbers::Between(-4, 4).truncate(32), Numbers::Between(0, 0xffff_ffff));
    }
}
