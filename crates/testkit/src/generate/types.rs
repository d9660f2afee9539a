//! Types of generated variables, how they are spelled, and what is known of an expression's value.

use crate::rng::Rng;

/// The scalar types that generated programs compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `bool`
    Bool,
    /// `int(size=bits)` or `uint(size=bits)`
    Int {
        /// `int` rather than `uint`
        signed: bool,
        /// the width, 1 to 4096
        bits: u32,
    },
}

impl Scalar {
    /// `uint(size=bits)`.
    pub const fn uint(bits: u32) -> Self {
        Self::Int { signed: false, bits }
    }

    /// Whether this is `bool`, which converts to nothing else.
    pub fn is_bool(self) -> bool {
        self == Self::Bool
    }

    /// The type's spelling; 32-bit integers are written without a width now and then.
    pub(crate) fn text(self, rng: &mut Rng) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Int { signed, bits } => {
                let name = if signed { "int" } else { "uint" };
                if bits == 32 && rng.chance(50) {
                    name.into()
                } else if bits > 9 && rng.chance(5) {
                    format!("{name}(size={}+{})", bits - 3, 3)
                } else {
                    format!("{name}(size={bits})")
                }
            }
        }
    }
}

/// A scalar or a list of fixed length, nested or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ty {
    /// The innermost element's type.
    pub scalar: Scalar,
    /// Lengths, outermost first; empty for a scalar.
    pub dims: Vec<u32>,
}

impl Ty {
    /// A type without dimensions.
    pub fn scalar(scalar: Scalar) -> Self {
        Self { scalar, dims: Vec::new() }
    }

    /// Number of scalars in a value.
    pub fn n_elements(&self) -> u64 {
        self.dims.iter().map(|d| u64::from(*d)).product()
    }

    /// `T name` in one of the two spellings of list types.
    pub(crate) fn declare(&self, name: &str, rng: &mut Rng) -> String {
        let scalar = self.scalar.text(rng);
        if self.dims.is_empty() {
            return format!("{scalar} {name}");
        }
        if rng.chance(50) {
            format!("{} {name}", self.list_text(&scalar))
        } else {
            let dims: String = self.dims.iter().map(|d| format!("[{d}]")).collect();
            format!("{scalar} {name}{dims}")
        }
    }

    /// The type alone, lists as `List(type:..., size=...)`.
    pub(crate) fn text(&self, rng: &mut Rng) -> String {
        let scalar = self.scalar.text(rng);
        self.list_text(&scalar)
    }

    fn list_text(&self, scalar: &str) -> String {
        let mut out = scalar.to_owned();
        for d in self.dims.iter().rev() {
            out = format!("List(type:{out}, size={d})");
        }
        out
    }
}

/// What is known of an integer expression: enough to keep divisors, counts and indexes legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The value may be negative.
    pub signed: bool,
    /// It fits in a type of this width (of this signedness).
    pub bits: u32,
    /// Tighter limits where a small range is known.
    pub exact: Option<(i64, i64)>,
}

impl Bound {
    pub fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool => Self { signed: false, bits: 1, exact: None },
            Scalar::Int { signed, bits } => Self { signed, bits, exact: None },
        }
    }

    pub fn wide(signed: bool, bits: u32) -> Self {
        Self { signed, bits, exact: None }
    }

    pub fn range(lo: i64, hi: i64) -> Self {
        let magnitude = lo.unsigned_abs().max(hi.unsigned_abs());
        let bits = (64 - magnitude.leading_zeros()).max(1);
        Self { signed: lo < 0, bits: if lo < 0 { bits + 1 } else { bits }, exact: Some((lo, hi)) }
    }

    /// Width of a signed type that holds the value.
    pub fn signed_bits(self) -> u32 {
        if self.signed { self.bits } else { self.bits + 1 }
    }

    /// Limits as numbers, when they are known or small.
    pub fn limits(self) -> Option<(i64, i64)> {
        if self.exact.is_some() {
            return self.exact;
        }
        if self.bits > 32 {
            None
        } else if self.signed {
            Some((-(1i64 << (self.bits - 1)), (1i64 << (self.bits - 1)) - 1))
        } else {
            Some((0, (1i64 << self.bits) - 1))
        }
    }

    /// The smallest range of either kind that covers both.
    pub fn union(self, other: Self) -> Self {
        if let (Some((a, b)), Some((c, d))) = (self.exact, other.exact) {
            return Self::range(a.min(c), b.max(d));
        }
        if self.signed || other.signed {
            Self::wide(true, self.signed_bits().max(other.signed_bits()))
        } else {
            Self::wide(false, self.bits.max(other.bits))
        }
    }
}

/// Draws a width: mostly 1 to 64, with weight on the sizes of machine words and one beside them.
pub(crate) fn draw_bits(rng: &mut Rng, widest: u32) -> u32 {
    let bits = match rng.weighted(&[34, 30, 20, 8, 6, 2]) {
        0 => [8, 16, 32, 64][rng.below(4)],
        1 => rng.range(1, 64) as u32,
        2 => [1, 7, 9, 15, 17, 31, 33, 63][rng.below(8)],
        3 => [65, 66, 96, 127, 128, 129][rng.below(6)],
        4 => rng.range(65, 300) as u32,
        _ => [256, 512, 1024, 2048, 4095, 4096][rng.below(6)],
    };
    if bits > widest { rng.range(1, i64::from(widest)) as u32 } else { bits }
}

/// Draws a scalar type; one in eight is `bool`.
pub(crate) fn draw_scalar(rng: &mut Rng, widest: u32) -> Scalar {
    if rng.chance(12) { Scalar::Bool } else { Scalar::Int { signed: rng.chance(40), bits: draw_bits(rng, widest) } }
}
