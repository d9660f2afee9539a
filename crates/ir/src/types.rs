//! Types of ports, variables and list elements, and the values that constants fold to.

use crate::Int;
use std::fmt;

/// Widest integer that every engine and target takes, in bits.
pub const MAX_WIDTH: u32 = 4096;

/// Most elements that one list may have, all dimensions together: every engine and target counts them in 31 bits.
pub const MAX_LIST_ELEMENTS: u64 = (1 << 31) - 1;

/// Most tokens that a firing may read from or write to one port.
pub const MAX_REPEAT: u64 = 1 << 26;

/// `int(size=width)` or `uint(size=width)`; `1 <= width <= MAX_WIDTH` for everything that is stored. The type of an
/// intermediate [`crate::ExprKind::ShiftLeft`] may be wider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IntType {
    /// Two's complement when true, else 0..2^width-1.
    pub signed: bool,
    /// Bits, sign included.
    pub width: u32,
}

impl IntType {
    /// `int(size=width)`.
    pub const fn signed(width: u32) -> Self {
        Self { signed: true, width }
    }

    /// `uint(size=width)`.
    pub const fn unsigned(width: u32) -> Self {
        Self { signed: false, width }
    }
}

impl fmt::Display for IntType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(size={})", if self.signed { "int" } else { "uint" }, self.width)
    }
}

/// IEEE 754 binary formats. Arithmetic is done in binary64 and rounded to the format after each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RealType {
    /// binary16
    Half,
    /// binary32
    Float,
    /// binary64
    Double,
}

impl fmt::Display for RealType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RealType::Half => "half",
            RealType::Float => "float",
            RealType::Double => "double",
        })
    }
}

/// What one token, scalar variable or list element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// `true` or `false`.
    Bool,
    /// A bounded integer.
    Int(IntType),
    /// A floating-point number.
    Real(RealType),
    /// Text.
    String,
}

impl Scalar {
    /// Bits of a token of this type: 1 for `bool`, 0 for `String`, which is of any length.
    pub fn width(self) -> u32 {
        match self {
            Scalar::Bool => 1,
            Scalar::Int(int) => int.width,
            Scalar::Real(RealType::Half) => 16,
            Scalar::Real(RealType::Float) => 32,
            Scalar::Real(RealType::Double) => 64,
            Scalar::String => 0,
        }
    }

    /// Bytes that one token takes in memory, in a FIFO and at the boundary of an engine: 1, 2, 4 or 8 up to 64 bits,
    /// else whole 32-bit words. Little-endian; signed values are sign-extended to fill, unsigned ones zero-extended;
    /// `bool` is 0 or 1; reals are their IEEE bit pattern; a `String` is a number of 8 bytes that stands for it.
    pub fn storage_bytes(self) -> usize {
        match self.width() {
            0 => 8,
            1..=8 => 1,
            9..=16 => 2,
            17..=32 => 4,
            33..=64 => 8,
            wide => 4 * wide.div_ceil(32) as usize,
        }
    }

    /// The integer type, if it is one.
    pub fn as_int(self) -> Option<IntType> {
        match self {
            Scalar::Int(int) => Some(int),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool => f.write_str("bool"),
            Scalar::Int(int) => int.fmt(f),
            Scalar::Real(real) => real.fmt(f),
            Scalar::String => f.write_str("String"),
        }
    }
}

/// A scalar, or a list of fixed shape. Lists are stored row-major, the first dimension outermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// Type of a scalar or of the innermost elements.
    pub element: Scalar,
    /// Sizes, outermost first; empty for a scalar. Each is at least 1.
    pub dims: Vec<u32>,
}

impl Type {
    /// A scalar type.
    pub fn scalar(element: Scalar) -> Self {
        Self { element, dims: Vec::new() }
    }

    /// A list type.
    pub fn list(element: Scalar, dims: Vec<u32>) -> Self {
        Self { element, dims }
    }

    /// True for lists.
    pub fn is_list(&self) -> bool {
        !self.dims.is_empty()
    }

    /// Number of scalars stored: 1 for a scalar.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|&size| size as usize).product()
    }

    /// Bytes that a variable of this type takes, as generated programs store it.
    pub fn storage_bytes(&self) -> u64 {
        (self.len() as u64).saturating_mul(self.element.storage_bytes().max(1) as u64)
    }

    /// Never true: sizes are at least 1.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type after `depth` indices.
    pub fn after_indices(&self, depth: usize) -> Type {
        Type { element: self.element, dims: self.dims[depth.min(self.dims.len())..].to_vec() }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in &self.dims {
            f.write_str("List(type:")?;
        }
        self.element.fmt(f)?;
        for size in self.dims.iter().rev() {
            write!(f, ", size={size})")?;
        }
        Ok(())
    }
}

/// A folded value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// An integer, within the type of what holds it.
    Int(Int),
    /// A real, already rounded to the type of what holds it.
    Real(f64),
    /// Text.
    String(String),
    /// The scalars of a list of any number of dimensions, row-major.
    List(Vec<Value>),
}

impl Value {
    /// What a variable without an initialiser holds: zero, false, "" throughout.
    pub fn zero(ty: &Type) -> Value {
        let scalar = match ty.element {
            Scalar::Bool => Value::Bool(false),
            Scalar::Int(_) => Value::Int(Int::ZERO),
            Scalar::Real(_) => Value::Real(0.0),
            Scalar::String => Value::String(String::new()),
        };
        if ty.is_list() { Value::List(vec![scalar; ty.len()]) } else { scalar }
    }
}
