//! Toolchain of target `llvm`. Projects with modules of LLVM IR: `make` with a clang that takes opaque pointers.

use crate::c::toolchain::made;
use crate::toolchain::{MAKE, Step, Tool, Toolchain, alone};

pub(crate) const CLANG: Toolchain = Toolchain {
    name: "llvm",
    tools: &[
        Tool { commands: &["clang-19", "clang-18", "clang-17", "clang-16", "clang"], oldest: 15, package: "clang-19" },
        MAKE,
    ],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CLANG"),
    test: |_, member| Step::new([format!("./{}/test/test", member.folder)]),
    emulator: None,
    fused: true,
};
