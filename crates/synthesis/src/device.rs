//! Devices (technology targets), of which `machines` has the data, and what cells of all of them are.

pub use headrace_machines::device::{CellLibrary, Device, PlaceAndRoute};

use headrace_machines::machines;

/// A pattern for types of cells: a name, or how names begin with `*` behind.
type Pattern = &'static str;

/// Clock frequency that nextpnr aims at, in MHz: the same for all that is compared.
pub const AIM_MHZ: u32 = 250;

/// All devices, those that are placed first.
pub fn all() -> &'static [Device] {
    machines().devices()
}

/// Pins of small memories and shift registers that count at the next edge of the clock: what is written, where, and when. Addresses
/// that are read, too, are not among them.
pub(crate) const EDGE_PINS: &[(&[Pattern], &[Pattern])] = &[
    (&["TRELLIS_DPR16X4", "DPR16X4"], &["DI*", "WAD*", "WRE", "WCK"]),
    (&["RAM16SDP*"], &["DI*", "WAD*", "WRE", "CLK"]),
    (&["RAM32M", "RAM64M"], &["DI*", "WE", "WCLK"]),
    (&["RAM32X1*", "RAM64X1*", "RAM128X1*", "RAM256X1*"], &["D", "WE", "WCLK"]),
    (&["SRL*"], &["D", "CE", "CLK"]),
];

/// Memories that are no LUTs, of all devices.
pub(crate) const RAMS: &[Pattern] = &[
    "DP16KD",
    "PDPW16KD",
    "SB_RAM40_4K*",
    "SDPB",
    "SDPX9B",
    "DPB",
    "DPX9B",
    "pROM",
    "pROMX9",
    "SP",
    "SPX9",
    "PDP16K*",
    "PDPSC16K*",
    "RAMB18E1",
    "RAMB36E1",
];

/// Multipliers of all devices.
pub(crate) const MULTIPLIERS: &[Pattern] = &["MULT*", "ALU54*", "SB_MAC16*", "DSP48E1", "PREADD*"];

/// What sits between LUTs and costs none: wide multiplexers, inverters at pins, constants, and carry chains of devices where the
/// LUT beside is a cell of its own.
pub(crate) const FREE: &[Pattern] = &[
    "PFUMX",
    "L6MUX21",
    "MUX2_LUT*",
    "MUXF7",
    "MUXF8",
    "MUXF9",
    "SB_CARRY",
    "CARRY4",
    "INV",
    "GND",
    "VCC",
    "VLO",
    "VHI",
    "$_BUF_",
    "$buf",
    "$scopeinfo",
];

/// Cells of carry chains: the pin that the chain comes in by, and whether other pins go through a LUT inside.
pub(crate) const CARRIES: &[(&str, &str, bool)] = &[
    ("CCU2C", "CIN", true),
    ("CCU2", "CIN", true),
    ("ALU", "CIN", true),
    ("SB_CARRY", "CI", false),
    ("CARRY4", "CI", false),
];

/// Whether a type of cells is among patterns.
pub(crate) fn is_among(patterns: &[impl AsRef<str>], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.as_ref().strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern.as_ref() == name,
    })
}

/// The device of this name.
pub fn named(name: &str) -> Option<&'static Device> {
    all().iter().find(|device| device.name == name)
}

/// Whether a cell of a device keeps something, or is taken as if it did: paths begin and end there.
pub fn is_sequential(device: &Device, cell: &str) -> bool {
    is_among(&device.registers, cell) || is_among(RAMS, cell) || is_among(MULTIPLIERS, cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_patterns_are_beginnings_or_whole_names() {
        let names: Vec<&str> = all().iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["ecp5", "ice40", "gowin", "nexus", "xc7-estimate", "osu018"]);
        assert!(named("ecp").is_none());
        let [ecp5, ice40] = ["ecp5", "ice40"].map(|name| named(name).expect("it is there"));
        let of_ecp5 = ["TRELLIS_FF", "TRELLIS_FFX", "LUT4"].map(|cell| is_sequential(ecp5, cell));
        assert_eq!(of_ecp5, [true, false, false]);
        assert!(is_sequential(ice40, "SB_DFFESR") && is_sequential(ice40, "SB_RAM40_4KNR"));
    }
}
