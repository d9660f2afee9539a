//! Projects in C with kernels in CUDA: `make`, with nvcc where there is one, with the C++ compiler elsewhere.

use crate::c::toolchain::made;
use crate::toolchain::{C_COMPILER, MAKE, Step, Tool, Toolchain, alone};

pub(crate) const CUDA: Toolchain = Toolchain {
    name: "cuda",
    tools: &[C_COMPILER, MAKE, Tool { commands: &["nvcc", "g++", "clang++", "c++"], oldest: 0, package: "g++" }],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CC"),
    test: |_, member| Step::new([format!("./{}/test/test", member.folder)]),
    emulator: None,
};
