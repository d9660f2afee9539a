//! Target `cuda`: the project of target `c`, whose wide loops a device of CUDA runs.
//!
//! Kernels and their launches are one `.cu` file for each network. nvcc compiles it; where there is none, any C++ compiler
//! does, and `headrace_kernel.h` runs groups of work items one after the other on the processor, so that the values of
//! the same kernels can be compared everywhere.

pub(crate) mod toolchain;

use crate::c::kernel::Items;
use crate::device::{self, text};
use std::fmt::Write as _;

/// What a project ships with.
pub(crate) const RUNTIME: &[(&str, &str)] = &[
    ("src/headrace_kernel.h", include_str!("../../../../runtime/cuda/headrace_kernel.h")),
    ("src/headrace_cuda.h", include_str!("../../../../runtime/cuda/headrace_cuda.h")),
    ("src/headrace_cuda.cu", include_str!("../../../../runtime/cuda/headrace_cuda.cu")),
];

/// The header with the functions that kernels call, and its path. No kernel calls all of them, and compilers warn of such
/// functions unless a header has them.
pub(crate) fn functions() -> (&'static str, String) {
    const GUARD: &str = "HEADRACE_CUDA_FUNCTIONS_H";
    let head =
        format!("/* What kernels call. */\n#ifndef {GUARD}\n#define {GUARD}\n\n#include \"headrace_kernel.h\"\n");
    ("src/headrace_functions.h", format!("{head}\n{}#endif\n", device::functions()))
}

/// The kernels of a network, and a function for each that launches it.
pub(crate) fn kernels(head: &str, prefix: &str, kernels: &[Items]) -> String {
    let mut file = format!("{head}#include \"headrace_cuda.h\"\n#include \"headrace_functions.h\"\n{}", text(kernels));
    let mut launches = Vec::new();
    for kernel in kernels {
        let name = &kernel.name;
        let mut arguments = format!("(const struct {name}_given *)launch->given");
        for (at, port) in kernel.ports.iter().enumerate() {
            let quality = if port.is_input { "const " } else { "" };
            let _ = write!(arguments, ", ({quality}{} *)launch->ports[{at}]", port.word);
        }
        let _ = write!(
            file,
            "\nstatic void {name}_launch(const struct headrace_launch *launch)\n{{\n  HR_LAUNCH({name}, launch, {arguments}, launch->first, launch->n);\n}}\n"
        );
        launches.push(format!("{name}_launch"));
    }
    let _ = write!(
        file,
        "\nstatic void (*const launches[])(const struct headrace_launch *launch) = {{{}}};\n\nextern \"C\" const struct headrace_kernels {prefix}_kernels = {{launches}};\n",
        launches.join(", ")
    );
    file
}
