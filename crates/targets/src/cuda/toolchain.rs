//! Toolchain of target `cuda`. Projects in C with kernels in CUDA: `make`, with nvcc where there are nvcc and a GPU, with the
//! C++ compiler elsewhere.

use crate::c::toolchain::made;
use crate::toolchain::{C_COMPILER, MAKE, Step, Tool, Toolchain, alone};

/// The number of nvcc among the tools.
pub(crate) const NVCC: usize = 3;

/// The number of what comes with the driver of a GPU.
pub(crate) const DRIVER: usize = 4;

pub(crate) const CUDA: Toolchain = Toolchain {
    name: "cuda",
    tools: &[
        C_COMPILER,
        MAKE,
        Tool { commands: &["g++", "clang++", "c++"], oldest: 0, package: "g++" },
        Tool { commands: &["nvcc"], oldest: 0, package: "" },
        Tool { commands: &["nvidia-smi"], oldest: 0, package: "" },
    ],
    at_once: 1,
    join: alone,
    build: |batch| {
        // What nvcc compiles runs on a GPU only.
        let has_gpu = !batch.tool(NVCC).is_empty() && !batch.tool(DRIVER).is_empty();
        let kernels_by = if has_gpu {
            [format!("NVCC={}", batch.tool(NVCC)), "CUDA_ARCHITECTURES=native".to_owned()]
        } else {
            ["NVCC=".to_owned(), format!("CXX={}", batch.tool(2))]
        };
        let mut steps = made(batch, "CC");
        steps.iter_mut().for_each(|step| step.words.extend(kernels_by.clone()));
        steps
    },
    test: |_, member| Step::new([format!("./{}/test/test", member.folder)]),
    emulator: None,
    fused: true,
};
