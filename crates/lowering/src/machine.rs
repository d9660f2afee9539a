//! Type lowering. The machine types of scalars, and what their values are there.

use headrace_analysis::ranges::Interval;
use headrace_ir::real::to_bits;
use headrace_ir::{Int, IntType, RealType, Scalar, Value};
use headrace_program::Type;

/// The type in which a scalar of up to 64 bits is stored; of the words of a wider integer.
pub(crate) fn machine(scalar: Scalar) -> Type {
    match scalar {
        Scalar::Bool => Type::Bool,
        Scalar::Int(IntType { signed, width }) => match (signed, width) {
            (true, 0..=8) => Type::I8,
            (false, 0..=8) => Type::U8,
            (true, 9..=16) => Type::I16,
            (false, 9..=16) => Type::U16,
            (true, 17..=32) => Type::I32,
            (false, 17..=32) => Type::U32,
            (true, 33..=64) => Type::I64,
            (false, 33..=64) => Type::U64,
            _ => Type::U32,
        },
        Scalar::Real(RealType::Half) => Type::U16,
        Scalar::Real(RealType::Float) => Type::F32,
        Scalar::Real(RealType::Double) => Type::F64,
        Scalar::String => Type::U32,
    }
}

/// Words of an integer type of more than 64 bits.
pub(crate) fn wide_words(scalar: Scalar) -> Option<u32> {
    match scalar {
        Scalar::Int(ty) if ty.width > 64 => Some(ty.width.div_ceil(32)),
        _ => None,
    }
}

/// Elements that a scalar takes.
pub(crate) fn words(scalar: Scalar) -> u32 {
    wide_words(scalar).unwrap_or(1)
}

/// The narrowest of the types for computing that holds all of an interval; nothing when 64 bits are not enough.
pub(crate) fn holding(range: &Interval) -> Option<Type> {
    [
        (Type::I32, IntType::signed(32)),
        (Type::U32, IntType::unsigned(32)),
        (Type::I64, IntType::signed(64)),
        (Type::U64, IntType::unsigned(64)),
    ]
    .into_iter()
    .find(|(_, ty)| range.fits(*ty))
    .map(|(ty, _)| ty)
}

/// The type for computing with as many bits, 32 at least.
pub(crate) fn class(bits: u32) -> Type {
    if bits <= 32 { Type::U32 } else { Type::U64 }
}

/// Low 64 bits of an integer.
pub(crate) fn low_64(value: &Int) -> u64 {
    value.clone().wrap(IntType::unsigned(64)).to_u64().unwrap_or(0)
}

/// The words of an integer, least significant first.
pub(crate) fn words_of(value: &Int, words: u32) -> Vec<u64> {
    let bytes = value.to_le_bytes(words as usize * 4);
    bytes.chunks_exact(4).map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))).collect()
}

/// The elements of a constant scalar or list.
pub(crate) fn elements(value: &Value, scalar: Scalar, text: &mut dyn FnMut(&str) -> u32) -> Vec<u64> {
    match (value, scalar) {
        (Value::List(values), _) => values.iter().flat_map(|value| elements(value, scalar, text)).collect(),
        (Value::Bool(value), _) => vec![u64::from(*value)],
        (Value::Int(value), _) => match wide_words(scalar) {
            Some(words) => words_of(value, words),
            None => vec![machine(scalar).extend(low_64(value))],
        },
        (Value::Real(value), Scalar::Real(ty)) => vec![to_bits(*value, ty)],
        (Value::Real(value), _) => vec![value.to_bits()],
        (Value::String(value), _) => vec![u64::from(text(value))],
    }
}
