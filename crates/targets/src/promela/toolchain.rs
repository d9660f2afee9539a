//! Toolchain of target `promela`. Models: `make` with Spin, which needs a C compiler.

use crate::toolchain::{MAKE, Tool, Toolchain, alone, make_test};

pub(crate) const SPIN: Toolchain = Toolchain {
    name: "promela",
    tools: &[Tool { commands: &["spin"], oldest: 6, package: "spin gcc libc6-dev" }, MAKE],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test: make_test,
    emulator: None,
    fused: true,
};
