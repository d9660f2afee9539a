//! Types while a program is being checked: widths and sizes that depend on a parameter without a value are unknown, and
//! what was found wrong has the type [`Elem::Poison`], about which nothing more is said.
//!
//! The widths here are those of the language's table of result types. They serve diagnostics and the elements of list
//! expressions; what a value really needs is kept apart as a [`Bounds`].

use headrace_ir::{Int, IntType, MAX_SHIFT, RealType, Scalar, Type};
use std::fmt;

/// A width or a list size that is not known.
pub(crate) const UNKNOWN: u32 = 0;

/// Widths of the table saturate here, far above every width that can be stored.
const WIDTH_CEILING: u32 = 1 << 24;

/// Type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Elem {
    /// Wrong, and reported.
    Poison,
    Bool,
    Int(Bounds),
    Real(RealType),
    String,
}

/// An integer type, or the narrowest one that surely holds a value; width [`UNKNOWN`] when it depends on what is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bounds {
    pub signed: bool,
    pub width: u32,
}

/// A scalar or a list; sizes outermost first, [`UNKNOWN`] where not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ty {
    pub elem: Elem,
    pub dims: Vec<u32>,
}

impl Bounds {
    pub const fn unsigned(width: u32) -> Self {
        Self { signed: false, width }
    }

    pub const fn signed(width: u32) -> Self {
        Self { signed: true, width }
    }

    pub const UNKNOWN: Bounds = Bounds { signed: true, width: UNKNOWN };

    pub fn is_known(self) -> bool {
        self.width != UNKNOWN
    }

    /// The narrowest type of a literal, as the table has it: `0` takes one bit.
    pub fn of(value: &Int) -> Self {
        let bits = |bits: u64| u32::try_from(bits).unwrap_or(WIDTH_CEILING).clamp(1, WIDTH_CEILING);
        if value.is_negative() {
            Self::signed(bits(value.complement().magnitude_bits() + 1))
        } else {
            Self::unsigned(bits(value.magnitude_bits()))
        }
    }

    fn with(signed: bool, width: u64) -> Self {
        Self { signed, width: u32::try_from(width).unwrap_or(WIDTH_CEILING).min(WIDTH_CEILING) }
    }

    /// Width of the signed type that holds all values.
    fn signed_width(self) -> u64 {
        u64::from(self.width) + u64::from(!self.signed)
    }

    /// True when every value of `self` lies in `target`.
    pub fn fits(self, target: IntType) -> bool {
        self.is_known()
            && if self.signed {
                target.signed && self.width <= target.width
            } else {
                u64::from(self.width) + u64::from(target.signed) <= u64::from(target.width)
            }
    }

    fn map2(self, other: Bounds, f: impl FnOnce(Bounds, Bounds) -> Bounds) -> Bounds {
        if self.is_known() && other.is_known() { f(self, other) } else { Bounds::UNKNOWN }
    }

    // The table.

    /// Least upper bound.
    pub fn lub(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| match (a.signed, b.signed) {
            (true, true) | (false, false) => Bounds { signed: a.signed, width: a.width.max(b.width) },
            (true, false) => Bounds::signed(if a.width > b.width { a.width } else { b.width + 1 }),
            (false, true) => Bounds::signed(if b.width > a.width { b.width } else { a.width + 1 }),
        })
    }

    /// Greatest lower bound, for `&`.
    pub fn glb(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| match (a.signed, b.signed) {
            (true, true) | (false, false) => Bounds { signed: a.signed, width: a.width.min(b.width) },
            (true, false) => Bounds::signed(if a.width > b.width { b.width + 1 } else { a.width }),
            (false, true) => Bounds::signed(if b.width > a.width { a.width + 1 } else { b.width }),
        })
    }

    pub fn table_add(self, other: Bounds) -> Bounds {
        let lub = self.lub(other);
        if lub.is_known() { Bounds::with(lub.signed, u64::from(lub.width) + 1) } else { lub }
    }

    pub fn table_sub(self, other: Bounds) -> Bounds {
        let lub = self.lub(other);
        if lub.is_known() && !lub.signed { Bounds::with(true, u64::from(lub.width) + 1) } else { lub }
    }

    pub fn table_mul(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| Bounds::with(a.lub(b).signed, u64::from(a.width) + u64::from(b.width)))
    }

    /// What the table gives a left shift. A count of more than six bits may need more.
    pub fn table_shl(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| Bounds::with(a.lub(b).signed, u64::from(a.width) + (1 << b.width.min(6)) - 1))
    }

    pub fn table_neg(self) -> Bounds {
        if self.is_known() && !self.signed { Bounds::with(true, u64::from(self.width) + 1) } else { self }
    }

    // What exact results need.

    pub fn exact_add(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| {
            if !a.signed && !b.signed {
                Bounds::with(false, u64::from(a.width.max(b.width)) + 1)
            } else {
                Bounds::with(true, a.signed_width().max(b.signed_width()) + 1)
            }
        })
    }

    pub fn exact_sub(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| {
            if !a.signed && !b.signed {
                Bounds::with(true, u64::from(a.width.max(b.width)) + 1)
            } else {
                Bounds::with(true, a.signed_width().max(b.signed_width()) + 1)
            }
        })
    }

    pub fn exact_mul(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| {
            if !a.signed && !b.signed {
                Bounds::with(false, u64::from(a.width) + u64::from(b.width))
            } else {
                Bounds::with(true, a.signed_width() + b.signed_width())
            }
        })
    }

    pub fn exact_div(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| match (a.signed, b.signed) {
            (false, false) => a,
            (true, false) => a,
            (_, true) => Bounds::with(true, a.signed_width() + u64::from(a.signed)),
        })
    }

    pub fn exact_mod(self, other: Bounds) -> Bounds {
        if !other.is_known() {
            return other;
        }
        Bounds::unsigned(if other.signed { (other.width - 1).max(1) } else { other.width })
    }

    pub fn exact_and(self, other: Bounds) -> Bounds {
        match (self.is_known() && !self.signed, other.is_known() && !other.signed) {
            (true, true) => Bounds::unsigned(self.width.min(other.width)),
            (true, false) => self,
            (false, true) => other,
            (false, false) => self.map2(other, |a, b| Bounds::signed(a.width.max(b.width))),
        }
    }

    /// Bounds of `|`, `^` and of the choice between two values.
    pub fn exact_union(self, other: Bounds) -> Bounds {
        self.map2(other, |a, b| {
            if !a.signed && !b.signed {
                Bounds::unsigned(a.width.max(b.width))
            } else {
                Bounds::with(true, a.signed_width().max(b.signed_width()))
            }
        })
    }

    /// Bounds of a left shift by a constant count or by any of a type; a count above [`MAX_SHIFT`] has no result.
    pub fn exact_shl(self, count: Bounds, constant: Option<&Int>) -> Bounds {
        self.map2(count, |a, b| {
            let bits = if b.signed { b.width - 1 } else { b.width };
            let most = match constant {
                Some(count) if count.is_negative() => 0,
                Some(count) => count.to_u64().unwrap_or(u64::MAX),
                None if bits < 32 => (1 << bits) - 1,
                None => u64::MAX,
            };
            Bounds::with(a.signed, u64::from(a.width) + most.min(u64::from(MAX_SHIFT)))
        })
    }

    pub fn exact_neg(self) -> Bounds {
        if self.is_known() { Bounds::with(true, u64::from(self.width) + 1) } else { self }
    }

    pub fn exact_complement(self) -> Bounds {
        if self.is_known() { Bounds::with(true, self.signed_width()) } else { self }
    }

    /// As a type of the representation, if known.
    pub fn int_type(self) -> Option<IntType> {
        self.is_known().then_some(IntType { signed: self.signed, width: self.width })
    }
}

impl From<IntType> for Bounds {
    fn from(ty: IntType) -> Self {
        Self { signed: ty.signed, width: ty.width }
    }
}

impl Ty {
    pub const POISON: Ty = Ty { elem: Elem::Poison, dims: Vec::new() };
    pub const BOOL: Ty = Ty { elem: Elem::Bool, dims: Vec::new() };
    pub const STRING: Ty = Ty { elem: Elem::String, dims: Vec::new() };

    pub fn scalar(elem: Elem) -> Self {
        Self { elem, dims: Vec::new() }
    }

    pub fn int(bounds: Bounds) -> Self {
        Self::scalar(Elem::Int(bounds))
    }

    pub fn is_list(&self) -> bool {
        !self.dims.is_empty()
    }

    pub fn is_poison(&self) -> bool {
        self.elem == Elem::Poison
    }

    /// Exact type, if nothing in it is unknown or wrong.
    pub fn known(&self) -> Option<Type> {
        if self.dims.contains(&UNKNOWN) {
            return None;
        }
        Some(Type { element: self.elem.known()?, dims: self.dims.clone() })
    }

    /// The type after `depth` indices.
    pub fn after_indices(&self, depth: usize) -> Ty {
        Ty { elem: self.elem, dims: self.dims.get(depth..).unwrap_or(&[]).to_vec() }
    }
}

impl Elem {
    /// Exact type, if nothing in it is unknown or wrong.
    pub fn known(self) -> Option<Scalar> {
        match self {
            Elem::Poison => None,
            Elem::Bool => Some(Scalar::Bool),
            Elem::Int(bounds) => bounds.int_type().map(Scalar::Int),
            Elem::Real(real) => Some(Scalar::Real(real)),
            Elem::String => Some(Scalar::String),
        }
    }

    /// Least upper bound of two elements, if there is one.
    pub fn lub(self, other: Elem) -> Option<Elem> {
        Some(match (self, other) {
            (Elem::Poison, _) | (_, Elem::Poison) => Elem::Poison,
            (Elem::Int(a), Elem::Int(b)) => Elem::Int(a.lub(b)),
            (Elem::Real(a), Elem::Real(b)) => Elem::Real(wider(a, b)),
            (Elem::Int(_), Elem::Real(real)) | (Elem::Real(real), Elem::Int(_)) => Elem::Real(real),
            (a, b) if a == b => a,
            _ => return None,
        })
    }

    /// True when a value of `self` may be stored as `target`.
    pub fn converts_to(self, target: Elem) -> bool {
        match (self, target) {
            (Elem::Poison, _) | (_, Elem::Poison) => true,
            (Elem::Int(_), Elem::Int(_) | Elem::Real(_)) => true,
            (Elem::Real(a), Elem::Real(b)) => wider(a, b) == b,
            (a, b) => a == b,
        }
    }
}

pub(crate) fn wider(a: RealType, b: RealType) -> RealType {
    let rank = |real| match real {
        RealType::Half => 0,
        RealType::Float => 1,
        RealType::Double => 2,
    };
    if rank(a) >= rank(b) { a } else { b }
}

impl From<Scalar> for Elem {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Bool => Elem::Bool,
            Scalar::Int(int) => Elem::Int(int.into()),
            Scalar::Real(real) => Elem::Real(real),
            Scalar::String => Elem::String,
        }
    }
}

impl From<&Type> for Ty {
    fn from(ty: &Type) -> Self {
        Ty { elem: ty.element.into(), dims: ty.dims.clone() }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Poison => f.write_str("?"),
            Elem::Bool => f.write_str("bool"),
            Elem::Int(Bounds { signed, width }) => {
                let name = if *signed { "int" } else { "uint" };
                match *width {
                    UNKNOWN => write!(f, "{name}(size=?)"),
                    width => write!(f, "{name}(size={width})"),
                }
            }
            Elem::Real(real) => real.fmt(f),
            Elem::String => f.write_str("String"),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in &self.dims {
            f.write_str("List(type:")?;
        }
        self.elem.fmt(f)?;
        for &size in self.dims.iter().rev() {
            match size {
                UNKNOWN => f.write_str(", size=?)")?,
                size => write!(f, ", size={size})")?,
            }
        }
        Ok(())
    }
}
