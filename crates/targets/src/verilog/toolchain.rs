//! Folders with Verilog: `make` with Icarus, or with Verilator where it is asked for.

use crate::toolchain::{Batch, MAKE, Member, Step, Tool, Toolchain, alone};

fn test(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    let simulator = format!("SIM={}", batch.tool(0));
    Step::new([batch.tool(1), "--no-print-directory", "-s", "-C", &member.folder, "test", &simulator])
}

pub(crate) const SIMULATOR: Toolchain = Toolchain {
    name: "verilog",
    tools: &[Tool { commands: &["iverilog", "verilator"], oldest: 0, package: "iverilog" }, MAKE],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test,
    emulator: None,
};
