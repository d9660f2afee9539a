//! Toolchain of target `c`. Projects in C: `make` with the compiler of this machine, or with one for another processor, which
//! QEMU is.

use crate::toolchain::{Batch, C_COMPILER, Emulator, MAKE, Member, Step, Tool, Toolchain, alone};

/// On this machine.
pub(crate) const HERE: Toolchain = Toolchain {
    name: "c",
    tools: &[C_COMPILER, MAKE],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CC"),
    test: |batch, member| batch.toolchain.running(batch.tools, &format!("./{}/test/test", member.folder)),
    emulator: None,
    fused: true,
};

/// On a processor that QEMU is. The tools are a compiler, `make` and QEMU.
const fn elsewhere(name: &'static str, tools: &'static [Tool], arguments: &'static [&'static str]) -> Toolchain {
    Toolchain { name, tools, emulator: Some(Emulator { tool: 2, arguments }), ..HERE }
}

/// A tool of any version.
const fn tool(commands: &'static [&'static str], package: &'static str) -> Tool {
    Tool { commands, oldest: 0, package }
}

/// On an AArch64 with all extensions that QEMU has.
pub(crate) const AARCH64: Toolchain = elsewhere(
    "c-aarch64",
    &[
        tool(&["aarch64-linux-gnu-gcc"], "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
        MAKE,
        tool(&["qemu-aarch64"], "qemu-user"),
    ],
    &["-L", "/usr/aarch64-linux-gnu", "-cpu", "max"],
);

/// On an ARM of 32 bits: ARMv7-A with a unit for reals.
pub(crate) const ARM: Toolchain = elsewhere(
    "c-arm",
    &[
        tool(&["arm-linux-gnueabihf-gcc"], "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"),
        MAKE,
        tool(&["qemu-arm"], "qemu-user"),
    ],
    &["-L", "/usr/arm-linux-gnueabihf"],
);

/// On a RISC-V of 64 bits.
pub(crate) const RISCV64: Toolchain = elsewhere(
    "c-riscv64",
    &[
        tool(&["riscv64-linux-gnu-gcc"], "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"),
        MAKE,
        tool(&["qemu-riscv64"], "qemu-user"),
    ],
    &["-L", "/usr/riscv64-linux-gnu"],
);

/// What builds the test of each project; `variable` is what its Makefile calls the compiler.
pub(crate) fn made(batch: &Batch<'_>, variable: &str) -> Vec<Step> {
    let make = |member: &Member<'_>| {
        let (jobs, compiler) = (format!("-j{}", batch.jobs), format!("{variable}={}", batch.tool(0)));
        let words = [batch.tool(1), "--no-print-directory", "-s", &jobs, "-C", &member.folder, &compiler];
        // Most of the time is the compiler's.
        Step::new(words.into_iter().chain(["CFLAGS=-O0", "test/test"]))
    };
    batch.members.iter().map(make).collect()
}
