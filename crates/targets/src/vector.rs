//! Vector registers of x86-64 in C and in the languages that took its intrinsic functions: what types and functions are called.
//! Rust has the names of C, so that printers of both take them from here.

use headrace_program::{Function, Module, VariableId, VariableKind, VectorOperand, VectorStmt};

/// The type of a register of so many bits.
pub(crate) fn register_type(bits: u32) -> String {
    format!("__m{bits}i")
}

/// What names of functions on whole registers begin with, and what they end with.
fn affixes(bits: u32) -> (&'static str, &'static str) {
    match bits {
        128 => ("_mm", "si128"),
        256 => ("_mm256", "si256"),
        _ => ("_mm512", "si512"),
    }
}

/// The function that loads a register from memory.
pub(crate) fn load(bits: u32) -> String {
    let (prefix, suffix) = affixes(bits);
    format!("{prefix}_loadu_{suffix}")
}

/// The function that stores a register to memory.
pub(crate) fn store(bits: u32) -> String {
    let (prefix, suffix) = affixes(bits);
    format!("{prefix}_storeu_{suffix}")
}

/// A register of 128 bits in each part of a register of so many.
fn repeat(bits: u32, from: &str) -> String {
    match bits {
        128 => from.to_owned(),
        256 => format!("_mm256_broadcastsi128_si256({from})"),
        _ => format!("_mm512_broadcast_i32x4({from})"),
    }
}

/// A part of a register of 128 bits or more, or a register of 128 bits as the lowest part of a wide one.
fn part(to: u32, bits: u32, from: &str, part: u8) -> String {
    match (to, bits) {
        (128, 128) => from.to_owned(),
        (128, 256) => format!("_mm256_extracti128_si256({from}, {part})"),
        (128, _) => format!("_mm512_extracti32x4_epi32({from}, {part})"),
        (256, _) => format!("_mm256_zextsi128_si256({from})"),
        _ => format!("_mm512_zextsi128_si512({from})"),
    }
}

/// The value that a statement gives a register, where it is spelled alike in C++ and Rust: what it computes from registers.
pub(crate) fn from_registers(
    module: &Module,
    function: &Function,
    statement: &VectorStmt,
    name: fn(&str) -> String,
) -> Option<String> {
    let own = |register: VariableId| name(&function.variables[register.index()].name);
    let bits = |register: VariableId| width(function, register);
    Some(match statement {
        VectorStmt::Repeat { to, from } => repeat(bits(*to), &own(*from)),
        VectorStmt::Part { to, from, part: number } => part(bits(*to), bits(*from), &own(*from), *number),
        VectorStmt::Move { from, .. } => own(*from),
        VectorStmt::Apply { instruction, operands, .. } => {
            let intrinsic = &module.instructions.get(*instruction as usize)?.intrinsic;
            let operands: Vec<String> = operands
                .iter()
                .map(|operand| match operand {
                    VectorOperand::Register(register) => own(*register),
                    VectorOperand::Immediate(value) => value.to_string(),
                })
                .collect();
            format!("{intrinsic}({})", operands.join(", "))
        }
        VectorStmt::Load { .. } | VectorStmt::Store { .. } | VectorStmt::Set { .. } => return None,
    })
}

/// Bits of a register.
pub(crate) fn width(function: &Function, register: VariableId) -> u32 {
    match function.variables[register.index()].kind {
        VariableKind::Vector(bits) => bits,
        _ => 0,
    }
}
