//! Target `cuda`: the project of target `c`, whose wide loops a device of CUDA runs.
//!
//! Kernels and their launches are one `.cu` file for each network. nvcc compiles it; where there is none, any C++ compiler
//! does, and `headrace_kernel.h` runs groups of work items one after the other on the processor, so that the values of
//! the same kernels can be compared everywhere.

pub(crate) mod contender;
pub(crate) mod toolchain;

use crate::c::Dialect;
use crate::c::kernel::Items;
use crate::device::{self, text};
use std::fmt::Write as _;

/// CUDA C++.
pub const DIALECT: Dialect = Dialect {
    name: "CUDA",
    kernels: |head, prefix, items| (format!("{prefix}_kernels.cu"), kernels(head, prefix, items)),
    runtime: || {
        let (path, text) = functions();
        let mut files = device::runtime(RUNTIME);
        files.insert(path.to_owned(), text.into_bytes());
        files
    },
    needed_by_users: "",
    cmake_first: CMAKE,
    cmake_links: "",
    make_first: MAKE,
    make_rules: MAKE_RULES,
    make_libraries: " $(CUDA_LIBRARIES)",
    libraries: "",
    needs: "No global state; no heap but for devices; no dependency beyond the C library and CUDA.",
    about: "nvcc compiles the kernels, for the architectures in `CUDA_ARCHITECTURES` (`make`) or `CMAKE_CUDA_ARCHITECTURES`. Where there is
no nvcc, the C++ compiler takes the same kernels, and the processor stands for the device: for comparing values, not for speed.",
};

/// Of sources in CUDA it must be settled who compiles them.
const CMAKE: &str = "include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES all-major)
  endif()
  enable_language(CUDA)
else()
  message(STATUS \"NAME: there is no nvcc, so that the processor stands for the device\")
  enable_language(CXX)
  file(GLOB KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/src/*.cu)
  set_source_files_properties(${KERNELS} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS \"-xc++;-fno-exceptions;-fno-rtti\")
endif()
";

/// nvcc where there is one, or the C++ compiler.
const MAKE: &str = "NVCC ?= $(shell command -v nvcc)
CUDA_ARCHITECTURES ?= all-major
ifeq ($(NVCC),)
COMPILE_CUDA = $(CXX) -std=c++11 -x c++ -fno-exceptions -fno-rtti -Wall -Wextra -Werror -Isrc $(CFLAGS)
else
COMPILE_CUDA = $(NVCC) -O3 -std=c++17 -arch=$(CUDA_ARCHITECTURES) -Isrc
CUDA_FOLDER := $(dir $(shell command -v $(NVCC)))..
CUDA_LIBRARIES ?= $(patsubst %,-L%,$(wildcard $(CUDA_FOLDER)/lib64 $(CUDA_FOLDER)/lib)) -lcudart_static -ldl -lrt -lpthread -lstdc++
endif
";

/// What compiles kernels.
const MAKE_RULES: &str = "
%.device.o: %.cu $(HEADERS)
\t$(COMPILE_CUDA) -c $< -o $@
";

/// What a project ships with.
const RUNTIME: &[(&str, &str)] = &[
    ("src/headrace_kernel.h", include_str!("../../../../runtime/cuda/headrace_kernel.h")),
    ("src/headrace_cuda.h", include_str!("../../../../runtime/cuda/headrace_cuda.h")),
    ("src/headrace_cuda.cu", include_str!("../../../../runtime/cuda/headrace_cuda.cu")),
];

/// The header with the functions that kernels call, and its path. No kernel calls all of them, and compilers warn of such
/// functions unless a header has them.
fn functions() -> (&'static str, String) {
    const GUARD: &str = "HEADRACE_CUDA_FUNCTIONS_H";
    let head =
        format!("/* What kernels call. */\n#ifndef {GUARD}\n#define {GUARD}\n\n#include \"headrace_kernel.h\"\n");
    ("src/headrace_functions.h", format!("{head}\n{}#endif\n", device::functions()))
}

/// The kernels of a network, and a function for each that launches it.
fn kernels(head: &str, prefix: &str, kernels: &[Items]) -> String {
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
