//! Toolchain of target `verilog`. Folders with Verilog: `make` with Verilator or with Icarus.

use crate::toolchain::{Batch, MAKE, Member, Step, Tool, Toolchain, alone};

fn test(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    let simulator = format!("SIM={}", batch.tool(0));
    Step::new([batch.tool(1), "--no-print-directory", "-s", "-C", &member.folder, "test", &simulator])
}

/// Verilator, whose reading of Verilog is the strictest; Icarus where it is not here. The first number of both is large enough.
pub(crate) const SIMULATOR: Toolchain = Toolchain {
    name: "verilog",
    tools: &[Tool { commands: &["verilator", "iverilog"], oldest: 5, package: "verilator" }, MAKE],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test,
    emulator: None,
    fused: true,
};

/// Icarus, which takes no time to build what it runs.
pub(crate) const ICARUS: Toolchain = Toolchain {
    name: "verilog-icarus",
    tools: &[Tool { commands: &["iverilog"], oldest: 0, package: "iverilog" }, MAKE],
    ..SIMULATOR
};

/// The other route: every actor is a module.
pub(crate) const ACTORS: Toolchain = Toolchain { name: "verilog-actors", fused: false, ..SIMULATOR };
