//! Fabrics of FPGAs: the area and the delay of operations in look-up tables (LUTs), by which datapaths are planned.
//!
//! Both are rough: they are held against each other, not against a device.

use crate::Kind;
use crate::figure::Figure;
use serde::{Deserialize, Serialize};

/// What operations take of a fabric.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fabric {
    /// Its name, which is that of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// [`Kind::Fabric`].
    pub kind: Kind,
    /// What it is made of, for readers.
    pub about: String,
    /// Inputs of a LUT.
    pub lut_inputs: Figure<u32>,
    /// LUTs.
    pub area: Area,
    /// Levels of logic in a datapath.
    pub levels: Levels,
    /// Levels of logic in an actor.
    pub depth: Depth,
}

/// LUTs that operations take. Figures called `…_per_lut` are how much one LUT does, all others how many a bit takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// A bitwise operation of two operands, or a choice between two.
    pub bitwise: Figure<u32>,
    /// Bits that are inverted: an inverter goes into the LUT behind it, mostly.
    pub inverted_per_lut: Figure<u32>,
    /// A sum, a difference or a comparison.
    pub sum: Figure<u32>,
    /// Bits of each operand that are compared for equality.
    pub equal_per_lut: Figure<u32>,
    /// A product, for each bit of the other factor.
    pub product: Figure<u32>,
    /// A quotient or remainder, for each bit of the divisor.
    pub quotient: Figure<u32>,
    /// An element at a place that is computed.
    pub element: Figure<u32>,
    /// A table whose index does not come out of a register takes more by one part in so many.
    pub late_table_part: Figure<u32>,
    /// Bits that are chosen from by the cycle.
    pub choices_per_lut: Figure<u32>,
    /// Bits that are kept in registers, which are loaded and chosen among.
    pub registers_per_lut: Figure<u32>,
}

/// Levels of logic of operations in a datapath, in halves of a LUT.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// A bitwise operation, or a choice between two.
    pub bitwise: Figure<u32>,
    /// A table, beside a level for each two bits of its index.
    pub table: Figure<u32>,
    /// A sum or difference,
    pub sum: Figure<u32>,
    /// which takes a level more for each so many bits of its carry chain.
    pub carried_per_level: Figure<u32>,
    /// A comparison.
    pub comparison: Figure<u32>,
    /// A shift or an element, at places that are computed.
    pub shift: Figure<u32>,
    /// A product or quotient, for each bit.
    pub product: Figure<u32>,
}

/// Levels of logic of operations in an actor, in LUTs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Depth {
    /// A bitwise operation, a choice between two, or a condition under which something is set.
    pub bitwise: Figure<u32>,
    /// Bits of an index of a table for each level.
    pub index_per_level: Figure<u32>,
    /// Times that a width halves for each level, beside the first, of a sum, a comparison or a shift.
    pub halvings_per_level: Figure<u32>,
    /// A part at a place that is computed, read,
    pub part_read: Figure<u32>,
    /// and written.
    pub part_written: Figure<u32>,
    /// A product, for each time that its width halves.
    pub product: Figure<u32>,
    /// A quotient or remainder, for each bit.
    pub quotient: Figure<u32>,
}
