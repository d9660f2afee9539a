//! Types and constants in LLVM IR. Records are packed structures, whose fields lie where C puts them.

use crate::layout::Layouts;
use headrace_program::{FieldType, Module, RecordId, Type};
use std::fmt::Write as _;

/// The type of a value.
pub(super) fn value(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "i1",
        Type::U8 | Type::I8 => "i8",
        Type::U16 | Type::I16 => "i16",
        Type::U32 | Type::I32 => "i32",
        Type::U64 | Type::I64 => "i64",
        Type::F32 => "float",
        Type::F64 => "double",
    }
}

/// The type of a value in memory that others may see: a `Bool` is a byte that is 0 or 1.
pub(super) fn memory(ty: Type) -> &'static str {
    if ty == Type::Bool { "i8" } else { value(ty) }
}

/// What calling conventions want to know of narrow parameters and results.
pub(super) fn extension(ty: Type) -> &'static str {
    match ty {
        Type::Bool | Type::U8 | Type::U16 => "zeroext ",
        Type::I8 | Type::I16 => "signext ",
        _ => "",
    }
}

/// The type of a parameter or argument.
pub(super) fn given(ty: Type) -> String {
    format!("{} {}", value(ty), extension(ty)).trim_end().to_owned()
}

/// The type of a result.
pub(super) fn result(ty: Type) -> String {
    format!("{}{}", extension(ty), value(ty))
}

/// A constant.
pub(super) fn constant(bits: u64, ty: Type) -> String {
    match ty {
        Type::Bool => (bits != 0).to_string(),
        Type::F64 => format!("0x{bits:016X}"),
        // Written as the binary64 of the same value.
        Type::F32 => format!("0x{:016X}", f64::from(f32::from_bits(bits as u32)).to_bits()),
        ty if ty.is_signed() => (bits as i64).to_string(),
        _ => bits.to_string(),
    }
}

/// The name of a structure.
pub(super) fn structure(module: &Module, id: RecordId) -> String {
    format!("%{}", module.record(id).name)
}

/// The type of a field.
fn field(module: &Module, ty: FieldType) -> String {
    match ty {
        FieldType::Scalar(ty) => memory(ty).to_owned(),
        FieldType::Array(ty, len) => format!("[{len} x {}]", memory(ty)),
        FieldType::Record(id) => structure(module, id),
    }
}

/// A structure: packed, with what lies between its fields as fields of their own.
pub(super) struct Structure {
    /// Its definition.
    pub(super) text: String,
    /// Positions of fields among those of the structure.
    pub(super) positions: Vec<u32>,
}

pub(super) fn structure_of(module: &Module, layouts: &Layouts, id: RecordId) -> Structure {
    let (record, layout) = (module.record(id), layouts.record(id));
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut positions = Vec::new();
    let mut end = 0;
    let gap = |lines: &mut Vec<(String, String)>, end: u32, to: u32| {
        if to > end {
            lines.push((format!("[{} x i8]", to - end), "nothing".to_owned()));
        }
    };
    for (own, &at) in record.fields.iter().zip(&layout.offsets) {
        gap(&mut lines, end, at);
        positions.push(lines.len() as u32);
        let about = if own.about.is_empty() { own.name.clone() } else { format!("{}: {}", own.name, own.about) };
        lines.push((field(module, own.ty), about.replace('\n', " ")));
        end = at + layouts.size(own.ty).0;
    }
    gap(&mut lines, end, layout.bytes);
    let mut text = format!("; {}\n{} = type <{{\n", record.about.replace('\n', " "), structure(module, id));
    for (at, (ty, about)) in lines.iter().enumerate() {
        let comma = if at + 1 < lines.len() { "," } else { "" };
        let _ = writeln!(text, "  {ty}{comma} ; {about}");
    }
    text.push_str("}>\n\n");
    Structure { text, positions }
}

/// Bytes as the text of a constant.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut text = "c\"".to_owned();
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => drop(write!(text, "\\{byte:02X}")),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => drop(write!(text, "\\{byte:02X}")),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_as_llvm_reads_them() {
        assert_eq!(constant(u64::MAX, Type::I32), "-1");
        assert_eq!(constant(u64::MAX, Type::U64), "18446744073709551615");
        assert_eq!(constant(1, Type::Bool), "true");
        assert_eq!(constant(1.5f64.to_bits(), Type::F64), "0x3FF8000000000000");
        assert_eq!(constant(u64::from(0.1f32.to_bits()), Type::F32), "0x3FB99999A0000000");
        assert_eq!(bytes(b"a\"\\\n\xff"), "c\"a\\22\\5C\\0A\\FF\"");
    }
}
