//! Toolchain of target `openssl`. Providers for OpenSSL: `make` with the compiler of this machine.

use crate::toolchain::{MAKE, Tool, Toolchain, alone, make_test};

pub(crate) const CC: Toolchain = Toolchain {
    name: "openssl",
    tools: &[Tool { commands: &["gcc", "clang", "cc"], oldest: 0, package: "gcc libc6-dev libssl-dev" }, MAKE],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test: |batch, member| make_test(batch, member).with("CC", batch.tool(0)),
    emulator: None,
    fused: true,
};
