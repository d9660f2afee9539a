//! Toolchain of target `opencl`. Projects in C with kernels in OpenCL C: `make`, with an ICD loader and a device of any kind,
//! PoCL's for one.

use crate::c::toolchain::made;
use crate::toolchain::{C_COMPILER, MAKE, Step, Tool, Toolchain, alone};

pub(crate) const OPENCL: Toolchain = Toolchain {
    name: "opencl",
    tools: &[
        C_COMPILER,
        MAKE,
        // Where it is, its loader is too.
        Tool {
            commands: &["clinfo"],
            oldest: 0,
            package: "clinfo ocl-icd-opencl-dev opencl-c-headers pocl-opencl-icd",
        },
    ],
    at_once: 1,
    join: alone,
    build: |batch| made(batch, "CC"),
    test: |_, member| {
        // Most of the time is the compiler's. PoCL adds what stands there to the options of every program.
        Step::new([format!("./{}/test/test", member.folder)]).with("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
    },
    emulator: None,
    fused: true,
};
