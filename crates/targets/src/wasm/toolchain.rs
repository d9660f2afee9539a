//! Toolchain of target `wasm`. Packages of WebAssembly: Node.js runs them as they are.

use crate::toolchain::{Step, Tool, Toolchain, alone};

pub(crate) const NODE: Toolchain = Toolchain {
    name: "wasm",
    tools: &[Tool { commands: &["node", "nodejs"], oldest: 18, package: "nodejs" }],
    at_once: 8,
    join: alone,
    build: |_| Vec::new(),
    test: |batch, member| Step::new([batch.tool(0).to_owned(), format!("{}/test/test.js", member.folder)]),
    emulator: None,
    fused: true,
};
