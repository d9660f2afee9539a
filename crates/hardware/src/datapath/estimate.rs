//! Area and delay of values, roughly: the look-up tables (LUTs) that they take of an FPGA, and the levels of logic that they put
//! behind their operands. Planning compares these with each other only.

use headrace_kernel::{Graph, NodeId, Op};
use headrace_machines::fabric::Area;
use headrace_machines::{Fabric, machines};
use headrace_rtl::index_bits;

fn fabric() -> &'static Fabric {
    machines().fabric()
}

/// The logic of a value, in LUTs.
pub(crate) fn weight(graph: &Graph, id: NodeId) -> u64 {
    let width = u64::from(graph.width(id));
    let Fabric { lut_inputs, area, .. } = fabric();
    let Area { bitwise, inverted_per_lut, sum, equal_per_lut, product, quotient, element, .. } = area;
    match graph.op(id) {
        Op::Const(_) | Op::Input { .. } | Op::Extract(..) | Op::Concat(_) | Op::SignExtend(_) | Op::Loaded(_) => 0,
        Op::Entry { index, .. } => {
            if graph.constant(*index).is_some() {
                0
            } else {
                u64::from(element.value) * width
            }
        }
        Op::Lookup(table, _) => width * (graph.table(*table).elements.len() as u64).div_ceil(1 << lut_inputs.value),
        Op::Add(..) | Op::Sub(..) | Op::Less(..) | Op::LessSigned(..) => u64::from(sum.value) * width,
        Op::Equal(a, _) => u64::from(graph.width(*a)).div_ceil(equal_per_lut.value.into()),
        Op::Mul(..) => u64::from(product.value) * width * width,
        Op::Divide(..) | Op::Remainder(..) => u64::from(quotient.value) * width * width,
        Op::ShiftLeft(..) | Op::ShiftRight(..) | Op::ShiftRightSigned(..) | Op::RotateLeft(..) => {
            u64::from(bitwise.value) * width * u64::from(index_bits(width))
        }
        Op::Not(_) => width / u64::from(inverted_per_lut.value),
        Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Select(..) | Op::LookupBytes(..) | Op::Instruction { .. } => {
            u64::from(bitwise.value) * width
        }
    }
}

/// What a table of so many LUTs takes more where its index does not come out of a register but from behind other logic.
pub(crate) fn late_table(luts: u64) -> u64 {
    luts / u64::from(fabric().area.late_table_part.value)
}

/// The logic that chooses by the cycle among so many bits, in LUTs.
pub(crate) fn choices(bits: u64) -> u64 {
    bits / u64::from(fabric().area.choices_per_lut.value)
}

/// What so many bits in registers count, in LUTs.
pub(crate) fn registers(bits: u64) -> u64 {
    bits / u64::from(fabric().area.registers_per_lut.value)
}

/// Levels of logic of a value behind its operands, in halves of what a LUT does.
pub(crate) fn levels(graph: &Graph, id: NodeId) -> u32 {
    let width = graph.width(id);
    let levels = &fabric().levels;
    match graph.op(id) {
        Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Select(..) => levels.bitwise.value,
        Op::Lookup(table, _) => index_bits(graph.table(*table).elements.len() as u64).div_ceil(2) + levels.table.value,
        Op::Add(..) | Op::Sub(..) => levels.sum.value + width / levels.carried_per_level.value,
        Op::Equal(..) | Op::Less(..) | Op::LessSigned(..) => levels.comparison.value,
        Op::Mul(..) | Op::Divide(..) | Op::Remainder(..) => levels.product.value * width,
        Op::ShiftLeft(..) | Op::ShiftRight(..) | Op::ShiftRightSigned(..) | Op::RotateLeft(..) | Op::Entry { .. } => {
            levels.shift.value
        }
        _ => 0,
    }
}
