//! Networks with designs of XLIM: the command itself executes them.

use crate::toolchain::{Step, Tool, Toolchain, alone};

pub(crate) const HEADRACE: Toolchain = Toolchain {
    name: "xlim",
    tools: &[Tool { commands: &["headrace"], oldest: 0, package: "headrace" }],
    at_once: 1,
    join: alone,
    build: |_| Vec::new(),
    test: |_, member| Step::new(["sh".to_owned(), format!("{}/test.sh", member.folder)]),
};
