//! Type lowering to C. How values lie in C: storage types of scalars, and the four C types in which integers are computed.

use super::text::{Part, Text, text};
use headrace_analysis::ranges::Interval;
use headrace_ir::{Int, IntType, RealType, Scalar, Type};

/// A C type in which an integer expression is computed. Narrower storage types promote to `I32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repr {
    /// `int32_t`, which is `int`
    I32,
    /// `uint32_t`
    U32,
    /// `int64_t`
    I64,
    /// `uint64_t`
    U64,
}

impl Repr {
    /// Name of the type.
    pub fn c(self) -> &'static str {
        match self {
            Repr::I32 => "int32_t",
            Repr::U32 => "uint32_t",
            Repr::I64 => "int64_t",
            Repr::U64 => "uint64_t",
        }
    }

    /// 32 or 64.
    pub fn bits(self) -> u32 {
        match self {
            Repr::I32 | Repr::U32 => 32,
            Repr::I64 | Repr::U64 => 64,
        }
    }

    /// The unsigned type of as many bits.
    pub fn unsigned(self) -> Repr {
        if self.bits() == 32 { Repr::U32 } else { Repr::U64 }
    }

    /// Suffix of the runtime's functions for the type.
    pub fn suffix(self) -> &'static str {
        match self {
            Repr::I32 => "i32",
            Repr::U32 => "u32",
            Repr::I64 => "i64",
            Repr::U64 => "u64",
        }
    }

    /// True when the type holds negative values.
    pub fn is_signed(self) -> bool {
        matches!(self, Repr::I32 | Repr::I64)
    }

    /// The narrowest type that holds all of an interval; `None` when 64 bits are not enough.
    pub fn holding(range: &Interval) -> Option<Repr> {
        [
            (Repr::I32, IntType::signed(32)),
            (Repr::U32, IntType::unsigned(32)),
            (Repr::I64, IntType::signed(64)),
            (Repr::U64, IntType::unsigned(64)),
        ]
        .into_iter()
        .find(|(_, ty)| range.fits(*ty))
        .map(|(repr, _)| repr)
    }

    /// The type that a stored integer of up to 64 bits has when it is read.
    pub fn of_storage(ty: IntType) -> Repr {
        match (ty.signed, ty.width) {
            (_, 0..=16) | (true, 17..=32) => Repr::I32,
            (false, 17..=32) => Repr::U32,
            (true, _) => Repr::I64,
            (false, _) => Repr::U64,
        }
    }
}

/// Words of a stored integer of more than 64 bits.
pub fn storage_words(ty: IntType) -> Option<u32> {
    (ty.width > 64).then(|| ty.width.div_ceil(32))
}

/// Words of a stored scalar: more than one only for wide integers.
pub fn words(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::Int(ty) => storage_words(ty).unwrap_or(1),
        _ => 1,
    }
}

/// True for integers of more than 64 bits.
pub fn is_wide(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(ty) if ty.width > 64)
}

/// The C type of one element in memory; `uint32_t` for each word of a wide integer.
pub fn element(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::Int(IntType { signed, width }) => match (signed, width) {
            (true, 0..=8) => "int8_t",
            (false, 0..=8) => "uint8_t",
            (true, 9..=16) => "int16_t",
            (false, 9..=16) => "uint16_t",
            (true, 17..=32) => "int32_t",
            (false, 17..=32) => "uint32_t",
            (true, 33..=64) => "int64_t",
            (false, 33..=64) => "uint64_t",
            (_, _) => "uint32_t",
        },
        Scalar::Real(RealType::Half) => "uint16_t",
        Scalar::Real(RealType::Float) => "float",
        Scalar::Real(RealType::Double) => "double",
        Scalar::String => "const char *",
    }
}

/// Bytes of one C element.
pub fn element_bytes(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::String => 8,
        Scalar::Int(ty) if ty.width > 64 => 4,
        _ => scalar.storage_bytes() as u64,
    }
}

/// Number of C elements that a variable takes: `None` when it is a plain scalar.
pub fn array_length(ty: &Type) -> Option<u64> {
    let words = u64::from(words(ty.element));
    if ty.is_list() {
        Some(ty.len() as u64 * words)
    } else if words > 1 {
        Some(words)
    } else {
        None
    }
}

/// A declaration of `name` with the type, without initialiser.
pub fn declaration(ty: &Type, name: impl Part) -> Text {
    // Pointers stand before their names.
    let space = if ty.element == Scalar::String { "" } else { " " };
    let element = element(ty.element);
    match array_length(ty) {
        Some(length) => text![element, space, name, "[", length, "]"],
        None => text![element, space, name],
    }
}

/// The C type of constants, with the space before their names.
pub fn constant(scalar: Scalar) -> String {
    let element = element(scalar);
    if scalar == Scalar::String { format!("{element}const ") } else { format!("const {element} ") }
}

/// A parameter that points to memory of the type.
pub fn pointer(scalar: Scalar, constant: bool, restrict: bool, name: impl Part) -> Text {
    let element = element(scalar);
    let restrict = if restrict { "restrict " } else { "" };
    match (scalar, constant) {
        (Scalar::String, true) => text![element, "const *", restrict, name],
        (Scalar::String, false) => text![element, "*", restrict, name],
        (_, true) => text!["const ", element, " *", restrict, name],
        (_, false) => text![element, " *", restrict, name],
    }
}

/// An integer constant of the type.
pub fn literal(value: &Int, repr: Repr) -> String {
    let big = value.to_big();
    let text = if value.magnitude_bits() > 10 && !value.is_negative() && !repr.is_signed() {
        format!("0x{big:x}")
    } else {
        big.to_string()
    };
    match repr {
        Repr::I32 if value.to_i64() == Some(i64::from(i32::MIN)) => "INT32_MIN".to_owned(),
        Repr::I32 if value.is_negative() => format!("({text})"),
        Repr::I32 => text,
        Repr::U32 => format!("{text}u"),
        Repr::I64 if value.to_i64() == Some(i64::MIN) => "INT64_MIN".to_owned(),
        Repr::I64 => format!("INT64_C({text})"),
        Repr::U64 => format!("UINT64_C({text})"),
    }
}

/// A real constant: hexadecimal, which is exact.
pub fn real_literal(value: f64) -> String {
    if value.is_nan() {
        return "(double)NAN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "(double)INFINITY".to_owned() } else { "(-(double)INFINITY)".to_owned() };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "(-0.0)".to_owned() } else { "0.0".to_owned() };
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (head, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let text = format!("0x{head}.{fraction:013x}p{exponent:+}");
    if value < 0.0 { format!("(-{text})") } else { text }
}

/// A C string literal. Bytes that could be misread are written in octal.
pub fn text_literal(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'?' => out.push_str("\\077"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

/// The words of a constant, least significant first.
pub fn words_of(value: &Int, words: u32) -> String {
    let bytes = value.to_le_bytes(words as usize * 4);
    let texts: Vec<String> = bytes
        .chunks_exact(4)
        .map(|chunk| {
            let word = chunk.iter().rev().fold(0u32, |word, &byte| word << 8 | u32::from(byte));
            format!("{word:#x}u")
        })
        .collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_type_that_they_are_computed_in() {
        assert_eq!(literal(&Int::from(-5i64), Repr::I32), "(-5)");
        assert_eq!(literal(&Int::from(i64::from(i32::MIN)), Repr::I32), "INT32_MIN");
        assert_eq!(literal(&Int::from(0x8000_0000u64), Repr::U32), "0x80000000u");
        assert_eq!(literal(&Int::from(i64::MIN), Repr::I64), "INT64_MIN");
        assert_eq!(literal(&Int::from(u64::MAX), Repr::U64), "UINT64_C(0xffffffffffffffff)");
    }

    #[test]
    fn texts_are_escaped_so_that_nothing_is_misread() {
        assert_eq!(text_literal("a\"b\\\n\u{1}2??="), r#""a\"b\\\n\0012\077\077=""#);
    }

    #[test]
    fn reals_are_written_exactly() {
        assert_eq!(real_literal(1.0), "0x1.0000000000000p+0");
        assert_eq!(real_literal(-0.1), "(-0x1.999999999999ap-4)");
        assert_eq!(real_literal(5e-324), "0x0.0000000000001p-1022");
    }
}
