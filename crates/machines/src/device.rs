//! Devices: what logic synthesis maps to, an FPGA or a library of cells, and what its tools are told.

use crate::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A device, or a library of cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What the command line calls it, which is the name of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// [`Kind::Device`].
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
    /// What it is, for tables: part and speed grade where there is one.
    pub part: String,
    /// The pass of Yosys that maps to it, with options. Multipliers are made of LUTs.
    pub pass: String,
    /// Cells with the look-up tables (LUTs) of the device that one takes.
    #[serde(default)]
    pub luts: BTreeMap<String, u64>,
    /// Cells that are one LUT and nothing else: names, or how names begin with `*` behind.
    #[serde(default)]
    pub plain_luts: Vec<String>,
    /// Registers of one bit, in the same way.
    pub registers: Vec<String>,
    /// Where all of this comes from.
    pub source: String,
    /// What places and routes; none where nothing open does.
    pub place: Option<PlaceAndRoute>,
    /// The library of an ASIC process, where that is what it is.
    pub library: Option<CellLibrary>,
}

/// nextpnr for a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceAndRoute {
    /// The command, without what YoWASP puts in front.
    pub command: String,
    /// The package of PyPI that has it.
    pub package: String,
    /// What it is given beside netlist, seed and report.
    pub arguments: Vec<String>,
}

/// A library of cells in the Liberty format.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellLibrary {
    /// Where its package puts it.
    pub path: String,
    /// The package of Debian that has it.
    pub package: String,
    /// The cell whose area is one gate equivalent (GE).
    pub gate: String,
}
