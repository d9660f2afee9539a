//! Toolchain of target `vhdl`. Folders with VHDL: `make` with GHDL.

use crate::toolchain::{MAKE, Tool, Toolchain, alone, make_test};

pub(crate) const GHDL: Toolchain = Toolchain {
    name: "vhdl",
    tools: &[Tool { commands: &["ghdl"], oldest: 0, package: "ghdl" }, MAKE],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test: make_test,
    emulator: None,
    fused: true,
};
