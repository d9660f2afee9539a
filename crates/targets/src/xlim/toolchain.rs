//! Toolchain of target `xlim`. Networks with designs of XLIM: the command itself executes them.

use crate::toolchain::{ITSELF, Step, Toolchain, alone};

pub(crate) const HEADRACE: Toolchain = Toolchain {
    name: "xlim",
    tools: &[ITSELF],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test: |batch, member| {
        Step::new(["sh".to_owned(), format!("{}/test.sh", member.folder)]).with("HEADRACE", batch.tool(0))
    },
    emulator: None,
    fused: true,
};
