//! Target `opencl`: the project of target `c`, whose wide loops a device of OpenCL runs.
//!
//! Kernels are texts that the device's own compiler takes when they are first needed, so that a project builds with a C
//! compiler and the ICD loader, and runs on any device.

pub(crate) mod contender;
pub(crate) mod toolchain;

use crate::c::Dialect;
use crate::c::kernel::Items;
use crate::device::{functions, runtime, text};
use std::fmt::Write as _;

/// OpenCL C 1.2.
pub const DIALECT: Dialect = Dialect {
    name: "OpenCL C",
    kernels: |head, prefix, items| (format!("{prefix}_kernels.c"), kernels(head, prefix, items)),
    runtime: || runtime(RUNTIME),
    needed_by_users: "include(CMakeFindDependencyMacro)\nfind_dependency(OpenCL)\n",
    cmake_first: "find_package(OpenCL REQUIRED)\n",
    cmake_links: "target_link_libraries(NAME PUBLIC OpenCL::OpenCL)\n",
    make_first: "",
    make_rules: "",
    make_libraries: " -lOpenCL",
    libraries: " -lOpenCL",
    needs: "No global state; no heap but for devices; no dependency beyond the C library and the ICD loader of OpenCL.",
    about: "Kernels are texts in OpenCL C 1.2, which the device's own compiler takes when they are first needed. Any device with such a
compiler will do, processors with PoCL among them.",
};

/// What a project ships with.
const RUNTIME: &[(&str, &str)] = &[
    ("src/headrace_opencl.h", include_str!("../../../../runtime/opencl/headrace_opencl.h")),
    ("src/headrace_opencl.c", include_str!("../../../../runtime/opencl/headrace_opencl.c")),
];

/// What stands above kernels.
const KERNEL: &str = include_str!("../../../../runtime/opencl/headrace_kernel.cl");

/// The kernels of a network as a text in C.
fn kernels(head: &str, prefix: &str, kernels: &[Items]) -> String {
    let mut file = format!(
        "{head}/* Kernels in OpenCL C, which the device's own compiler takes. */\n#include \"headrace_opencl.h\"\n\nstatic const char source[] =\n"
    );
    for line in format!("{KERNEL}{}{}", functions(), text(kernels)).lines() {
        let _ = writeln!(file, "    \"{}\\n\"", line.replace('\\', "\\\\").replace('"', "\\\""));
    }
    let names: Vec<String> = kernels.iter().map(|kernel| format!("\"{}\"", kernel.name)).collect();
    let _ = write!(
        file,
        "    ;\n\nstatic const char *const names[] = {{{}}};\n\nextern const struct headrace_kernels {prefix}_kernels;\nconst struct headrace_kernels {prefix}_kernels = {{source, sizeof source - 1, names}};\n",
        names.join(", ")
    );
    file
}
