//! What build files of projects in C have more where a device runs loops.

use crate::project::Files;

/// What devices a project has kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    None,
    OpenCl,
    Cuda,
}

/// nvcc where there is one, or the C++ compiler.
const MAKE_CUDA: &str = "NVCC ?= $(shell command -v nvcc)
CUDA_ARCHITECTURES ?= all-major
ifeq ($(NVCC),)
COMPILE_CUDA = $(CXX) -std=c++11 -x c++ -fno-exceptions -fno-rtti -Wall -Wextra -Werror -Isrc $(CFLAGS)
else
COMPILE_CUDA = $(NVCC) -O3 -std=c++17 -arch=$(CUDA_ARCHITECTURES) -Isrc
CUDA_FOLDER := $(dir $(shell command -v $(NVCC)))..
CUDA_LIBRARIES ?= $(patsubst %,-L%,$(wildcard $(CUDA_FOLDER)/lib64 $(CUDA_FOLDER)/lib)) -lcudart_static -ldl -lrt -lpthread -lstdc++
endif
";

const RULES_CUDA: &str = "
%.device.o: %.cu $(HEADERS)
\t$(COMPILE_CUDA) -c $< -o $@
";

impl Device {
    /// That of a project with those files.
    pub(crate) fn of(files: &Files) -> Device {
        let has = |path: &str| files.contains_key(path);
        match (has("src/headrace_opencl.c"), has("src/headrace_cuda.cu")) {
            (true, _) => Device::OpenCl,
            (_, true) => Device::Cuda,
            _ => Device::None,
        }
    }

    /// What a package of CMake needs that uses the library.
    pub(crate) fn needed_by_users(self) -> &'static str {
        match self {
            Device::OpenCl => "include(CMakeFindDependencyMacro)\nfind_dependency(OpenCL)\n",
            Device::Cuda | Device::None => "",
        }
    }

    /// What CMake does first: of sources in CUDA it must be settled who compiles them.
    pub(crate) fn cmake_first(self, name: &str) -> String {
        match self {
            Device::None => String::new(),
            Device::OpenCl => "find_package(OpenCL REQUIRED)\n".to_owned(),
            Device::Cuda => format!(
                "include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES all-major)
  endif()
  enable_language(CUDA)
else()
  message(STATUS \"{name}: there is no nvcc, so that the processor stands for the device\")
  enable_language(CXX)
  file(GLOB KERNELS ${{CMAKE_CURRENT_SOURCE_DIR}}/src/*.cu)
  set_source_files_properties(${{KERNELS}} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS \"-xc++;-fno-exceptions;-fno-rtti\")
endif()
"
            ),
        }
    }

    /// What a library is linked with in CMake.
    pub(crate) fn cmake_links(self, name: &str) -> String {
        match self {
            Device::OpenCl => format!("target_link_libraries({name} PUBLIC OpenCL::OpenCL)\n"),
            Device::Cuda | Device::None => String::new(),
        }
    }

    /// Libraries of a program that uses the library.
    pub(crate) fn libraries(self) -> &'static str {
        match self {
            Device::OpenCl => " -lOpenCL",
            Device::Cuda | Device::None => "",
        }
    }

    /// The same in a Makefile.
    pub(crate) fn make_libraries(self) -> &'static str {
        match self {
            Device::Cuda => " $(CUDA_LIBRARIES)",
            Device::OpenCl | Device::None => self.libraries(),
        }
    }

    /// What a Makefile begins with.
    pub(crate) fn make_first(self) -> &'static str {
        if self == Device::Cuda { MAKE_CUDA } else { "" }
    }

    /// Rules of a Makefile.
    pub(crate) fn make_rules(self) -> &'static str {
        if self == Device::Cuda { RULES_CUDA } else { "" }
    }

    /// What a project needs to be built and run.
    pub(crate) fn needs(self) -> &'static str {
        match self {
            Device::None => "No heap, no global state, no dependency beyond the C library.",
            Device::OpenCl => {
                "No global state; no heap but for devices; no dependency beyond the C library and the ICD loader of OpenCL."
            }
            Device::Cuda => "No global state; no heap but for devices; no dependency beyond the C library and CUDA.",
        }
    }

    /// How users hand a device to a message.
    pub(crate) fn readme(self) -> String {
        let own = match self {
            Device::None => return String::new(),
            Device::OpenCl => {
                "Kernels are texts in OpenCL C 1.2, which the device's own compiler takes when they are first needed. Any device with such a
compiler will do, processors with PoCL among them."
            }
            Device::Cuda => {
                "nvcc compiles the kernels, for the architectures in `CUDA_ARCHITECTURES` (`make`) or `CMAKE_CUDA_ARCHITECTURES`. Where there is
no nvcc, the C++ compiler takes the same kernels, and the processor stands for the device: for comparing values, not for speed."
            }
        };
        format!(
            "
A device runs the wide loops of long messages, one work item for each iteration; everything else stays with the processor:

```c
char why[256];
struct headrace_device *device = headrace_device_open(NULL, why, sizeof why);
const struct headrace_helpers helpers = headrace_device_helpers(device);
/* …_message_helped(&context, &helpers, …) */
```

`src/headrace_device.h` says how a device is chosen (`HEADRACE_DEVICE`), and what is overwritten. {own}
A look-up in a table is an address that depends on what is looked up, on a device as on a processor.
"
        )
    }
}
