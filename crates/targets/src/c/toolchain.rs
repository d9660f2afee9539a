//! Projects in C: `make` with the compiler of this machine, or with one for AArch64 and QEMU.

use crate::toolchain::{Batch, C_COMPILER, MAKE, Member, Step, Tool, Toolchain, alone};

/// On this machine.
pub(crate) const HERE: Toolchain = Toolchain {
    name: "c",
    tools: &[C_COMPILER, MAKE],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CC"),
    test: |_, member| Step::new([format!("./{}/test/test", member.folder)]),
};

/// On an AArch64 that QEMU is.
pub(crate) const AARCH64: Toolchain = Toolchain {
    name: "c-aarch64",
    tools: &[
        Tool {
            commands: &["aarch64-linux-gnu-gcc"],
            oldest: 0,
            package: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        },
        MAKE,
        Tool { commands: &["qemu-aarch64"], oldest: 0, package: "qemu-user" },
    ],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CC"),
    test: on_aarch64,
};

fn on_aarch64(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    let test = format!("./{}/test/test", member.folder);
    Step::new([batch.tool(2), "-L", "/usr/aarch64-linux-gnu", "-cpu", "max", &test])
}

/// What builds the test of each project; `variable` is what its Makefile calls the compiler.
pub(crate) fn made(batch: &Batch<'_>, variable: &str) -> Vec<Step> {
    let make = |member: &Member<'_>| {
        let (jobs, compiler) = (format!("-j{}", batch.jobs), format!("{variable}={}", batch.tool(0)));
        let words = [batch.tool(1), "--no-print-directory", "-s", &jobs, "-C", &member.folder, &compiler];
        // Most of the time is the compiler's.
        Step::new(words.into_iter().chain(["CFLAGS=-O1", "test/test"]))
    };
    batch.members.iter().map(make).collect()
}
