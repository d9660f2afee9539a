//! Machine types: fixed-width integers, floating-point numbers, truth values. They are all that variables of lowered programs have.

use std::fmt;

/// What a scalar variable, a field or an element of an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// `true` or `false`; 1 or 0 where it is converted.
    Bool,
    /// Unsigned, 8 bits; stored only.
    U8,
    /// Unsigned, 16 bits; stored only.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Two's complement, 8 bits; stored only.
    I8,
    /// Two's complement, 16 bits; stored only.
    I16,
    /// Two's complement, 32 bits.
    I32,
    /// Two's complement, 64 bits.
    I64,
    /// IEEE 754 binary32; stored, and what integers are converted to.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Type {
    /// All types.
    pub const ALL: [Type; 11] = [
        Type::Bool,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::F32,
        Type::F64,
    ];

    /// Bits of a value: 1 for `Bool`.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Bool => 1,
            Type::U8 | Type::I8 => 8,
            Type::U16 | Type::I16 => 16,
            Type::U32 | Type::I32 | Type::F32 => 32,
            Type::U64 | Type::I64 | Type::F64 => 64,
        }
    }

    /// Bytes that a value takes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for integers.
    pub const fn is_int(self) -> bool {
        !matches!(self, Type::Bool | Type::F32 | Type::F64)
    }

    /// True for integers with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// True for the types that integers are computed in.
    pub const fn is_computed(self) -> bool {
        matches!(self, Type::U32 | Type::U64 | Type::I32 | Type::I64)
    }

    /// True for reals.
    pub const fn is_real(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// Name in the textual form.
    pub const fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::I8 => "i8",
            Type::I16 => "i16",
            Type::I32 => "i32",
            Type::I64 => "i64",
            Type::F32 => "f32",
            Type::F64 => "f64",
        }
    }

    /// The bits of an integer of the type, sign- or zero-extended from its width to 64 bits: how values of the type are kept
    /// in tables, constants and by the evaluator. `Bool` is 0 or 1; reals are their bit patterns.
    pub const fn extend(self, bits: u64) -> u64 {
        match self {
            Type::Bool => (bits != 0) as u64,
            Type::U8 => bits as u8 as u64,
            Type::U16 => bits as u16 as u64,
            Type::U32 | Type::F32 => bits as u32 as u64,
            Type::U64 | Type::I64 | Type::F64 => bits,
            Type::I8 => bits as i8 as i64 as u64,
            Type::I16 => bits as i16 as i64 as u64,
            Type::I32 => bits as i32 as i64 as u64,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
