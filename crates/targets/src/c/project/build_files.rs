//! Build files and README of a project in C, of which some sources may be modules in LLVM IR.

use super::device::{Dialect, NEEDS};
use crate::project::Files;

/// What needs threads, where it is part of a project.
const HELPERS: &str = "src/headrace_helpers.c";

/// Adds what builds, tests, installs and explains a project of the sources that `files` has, with kernels in a dialect.
pub(crate) fn add(files: &mut Files, name: &str, command: &str, about: &str, device: Option<&Dialect>) {
    let ending = |ending: &str| -> Vec<String> {
        files.keys().filter(|path| path.starts_with("src/") && path.ends_with(ending)).cloned().collect()
    };
    let (sources, headers, mut modules) = (ending(".c"), ending(".h"), ending(".ll"));
    // Those in folders of architectures stand for these there.
    let n_modules = modules.len();
    modules.retain(|path| path.matches('/').count() == 1);
    let has_architectures = modules.len() < n_modules;
    let made = format!("# Made by `{command}`. Changes here will be lost.\n");
    let objects: Vec<String> = sources.iter().map(|path| format!("{}.o", path.trim_end_matches(".c"))).collect();
    let threads = sources.iter().any(|path| path == HELPERS);
    let of_device = ending(".cu");
    let device_objects: Vec<String> = of_device.iter().map(|path| path.replace(".cu", ".device.o")).collect();
    let sources: Vec<String> = sources.into_iter().chain(of_device).collect();
    let parts = Parts {
        name,
        made: &made,
        sources: &sources,
        headers: &headers,
        modules: &modules,
        has_architectures,
        threads,
        device,
    };
    let mut texts = vec![
        ("CMakeLists.txt".to_owned(), parts.cmake()),
        (
            format!("{name}-config.cmake.in"),
            format!(
                "{made}@PACKAGE_INIT@\n{}include(\"${{CMAKE_CURRENT_LIST_DIR}}/{name}-targets.cmake\")\n",
                device.map_or("", |device| device.needed_by_users)
            ),
        ),
        (format!("{name}.pc.in"), parts.pkg_config()),
        ("Makefile".to_owned(), parts.makefile(&objects, &device_objects)),
        ("README.md".to_owned(), parts.readme(command, about)),
    ];
    texts.drain(..).for_each(|(path, text)| drop(files.insert(path, text.into_bytes())));
}

/// What a project is built from.
struct Parts<'a> {
    name: &'a str,
    made: &'a str,
    sources: &'a [String],
    headers: &'a [String],
    modules: &'a [String],
    has_architectures: bool,
    threads: bool,
    device: Option<&'a Dialect>,
}

/// What compiles modules, which CMake has no language for.
const CMAKE_MODULES: &str = "
if(NOT CMAKE_C_COMPILER_ID MATCHES Clang OR CMAKE_C_COMPILER_VERSION VERSION_LESS 15)
  message(FATAL_ERROR \"LLVM IR is compiled by clang of version 15 or newer: -DCMAKE_C_COMPILER=clang-19\")
endif()
# Modules for the architecture that is compiled for have functions for features of its processors.
execute_process(COMMAND ${CMAKE_C_COMPILER} -dumpmachine OUTPUT_VARIABLE MACHINE OUTPUT_STRIP_TRAILING_WHITESPACE)
if(CMAKE_C_COMPILER_TARGET)
  set(MACHINE ${CMAKE_C_COMPILER_TARGET})
endif()
string(REGEX REPLACE \"-.*\" \"\" ARCHITECTURE \"${MACHINE}\")
foreach(name ${MODULES})
  set(module src/${ARCHITECTURE}/${name})
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${module})
    set(module src/${name})
  endif()
  add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${module}.o
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/src/${ARCHITECTURE}
    COMMAND ${CMAKE_C_COMPILER} -O3 -fPIC -Wno-override-module -c ${CMAKE_CURRENT_SOURCE_DIR}/${module} -o ${CMAKE_CURRENT_BINARY_DIR}/${module}.o
    DEPENDS ${module} VERBATIM)
  list(APPEND MODULE_OBJECTS ${CMAKE_CURRENT_BINARY_DIR}/${module}.o)
endforeach()
";

/// What a Makefile begins with where there are modules: a clang that takes them, and the tools beside it.
const MAKE_MODULES: &str = "CLANG ?= $(shell for clang in clang clang-19 clang-18 clang-17 clang-16; do \\
    $$clang -dumpversion 2>/dev/null | grep -q '^\\(1[5-9]\\|[2-9][0-9]\\)' && echo $$clang && break; done)
ifeq ($(CLANG),)
$(error LLVM IR is compiled by clang of version 15 or newer; CLANG says which)
endif
CC = $(CLANG)
LLVM_LINK ?= $(subst clang,llvm-link,$(CLANG))
LLI ?= $(subst clang,lli,$(CLANG))
";

/// Which modules a Makefile takes.
const MAKE_ARCHITECTURE: &str = "\
# Modules for the architecture that is compiled for have functions for features of its processors.
ARCHITECTURE := $(firstword $(subst -, ,$(shell $(CC) $(CFLAGS) -dumpmachine)))
MODULES := $(foreach module,ALL,\\
    $(firstword $(wildcard $(subst src/,src/$(ARCHITECTURE)/,$(module))) $(module)))
";

/// What users of modules want to know.
const README_MODULES: &str = "
`src/*.ll` are modules in LLVM IR, one for each network, for clang, opt and llc of version 15 or newer: they name no machine
and may be optimised and linked as you like. ARCHITECTURESThe header beside each declares its functions. What stands around them is C.
`make lli` links everything into one module and runs the test in `lli`; `CLANG=clang-16` says which tools are taken.
";

/// What they want to know where there are modules for an architecture.
const README_ARCHITECTURES: &str = "\
Those in a folder of an architecture (`src/x86_64`) are taken
instead of those of the same names where that is compiled for: they ask the processor what it has, and run on its wide registers and
its instructions, of AES for example, where it has these. They need nothing of the system, so that opt and `lli` take them, too;
`make ARCHITECTURE=none` leaves them out. ";

/// What users of the program want to know.
pub(super) const README_PROGRAM: &str = "
## The program

`make main` makes `bin/NAME`, which runs the network as `headrace run` does: `--in PORT=FILE` and `--out PORT=FILE` for its ports,
`--source`, `--writer`, `--golden` and `--video` for the files of natives, what actors print on standard output, and the same exit
status: 0 done; 1 the input is wrong, a check failed, or a run-time error; 2 wrong usage; 3 input was left undelivered; or what
the program itself exits with. `bin/NAME --help` lists everything. Input files are read whole before it begins.
";

/// What compiles the core without a C library: the only headers are those of the compiler itself.
const FREESTANDING_RULES: &str = "
.PHONY: freestanding
freestanding: libNAME-freestanding.a

libNAME-freestanding.a: $(CORE)
\t$(AR) rcs $@ $(CORE)

%.core.o: %.c $(HEADERS)
\t$(CC) -ffreestanding -nostdinc -isystem $(shell $(CC) -print-file-name=include) \\
\t    -std=c11 -Wall -Wextra -Werror -Isrc $(SECTIONS) $(CFLAGS) -c $< -o $@
";

/// The same for CMake: the library itself is the core.
const CMAKE_FREESTANDING: &str = "option(FREESTANDING \"for programs without a C library\" OFF)
if(FREESTANDING)
  target_compile_options(NAME PRIVATE -ffreestanding)
  set(BUILD_TESTING OFF)
else()
";

/// What users without a C library want to know.
const README_FREESTANDING: &str = "
`make freestanding` makes `libNAME-freestanding.a` for programs without a C library, such as firmware and kernels, and so does
`cmake -DFREESTANDING=ON`: EVERYTHING, compiled against no header but the compiler's own. A program
that it is linked into must have `memcpy`, `memmove`, `memset` and `memcmp`, which compilers call in any program, and the
library of the compiler (`-lgcc`), where processors lack an operation. There is no heap, no state outside of contexts, no
system call and nothing that is started before `main`. `CC=arm-none-eabi-gcc CFLAGS='-Os -mcpu=cortex-m4'` compiles it for
another processor; on x86-64 it takes no vector instructions, on AArch64 `CFLAGS=-mgeneral-regs-only` leaves them out.
";

/// The headers of parameter sets beside that of the project.
fn set_headers<'h>(name: &str, headers: &'h [String]) -> impl Iterator<Item = &'h String> {
    let own = format!("src/{name}.h");
    let shipped =
        |path: &str| path.starts_with("src/headrace") || path.ends_with("_network.h") || path.ends_with("_networks.h");
    headers.iter().filter(move |path| **path != own && !shipped(path))
}

impl Parts<'_> {
    fn cmake(&self) -> String {
        let Parts { name, made, sources, headers, modules, threads, device, .. } = *self;
        let others: Vec<&str> = sources.iter().map(String::as_str).filter(|path| *path != HELPERS).collect();
        let helpers = if threads {
            format!(
                "find_library(THREADS_LIBRARY pthread)\nif(THREADS_LIBRARY)\n  target_sources({name} PRIVATE {HELPERS})\n  target_link_libraries({name} PUBLIC pthread)\nendif()\n"
            )
        } else {
            String::new()
        };
        format!(
        "{made}cmake_minimum_required(VERSION 3.13)
project({name} VERSION 0.1.0 LANGUAGES C)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
{device_first}include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
include(CTest)

{modules}add_library({name} {sources}{module_objects})
set_target_properties({name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
if(CMAKE_C_COMPILER_ID MATCHES \"GNU|Clang\")
  # Linkers drop what a program does not call (-Wl,--gc-sections).
  target_compile_options({name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffunction-sections> $<$<COMPILE_LANGUAGE:C>:-fdata-sections>
    $<$<COMPILE_LANGUAGE:C>:-fno-asynchronous-unwind-tables> $<$<COMPILE_LANGUAGE:C>:-fno-unwind-tables>)
endif()
target_include_directories({name} PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/src> $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}/{name}>)
{core}find_library(MATH_LIBRARY m)
if(MATH_LIBRARY)
  target_link_libraries({name} PUBLIC m)
endif()
{helpers}{device_links}{core_end}
if(BUILD_TESTING)
  add_executable({name}_test test/test.c)
  target_link_libraries({name}_test PRIVATE {name})
  add_test(NAME {name} COMMAND {name}_test)
endif()

install(TARGETS {name} EXPORT {name}-targets)
install(FILES {headers} DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}}/{name})
install(EXPORT {name}-targets NAMESPACE {name}:: DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
configure_package_config_file({name}-config.cmake.in {name}-config.cmake INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
write_basic_package_version_file({name}-config-version.cmake COMPATIBILITY SameMajorVersion)
# From where the file for pkg-config lies, so that `cmake --install` may choose another prefix.
file(RELATIVE_PATH PREFIX_FROM_FILE ${{CMAKE_INSTALL_FULL_LIBDIR}}/pkgconfig ${{CMAKE_INSTALL_PREFIX}})
configure_file({name}.pc.in {name}.pc @ONLY)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config.cmake ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config-version.cmake
        DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)
",
        core = if self.has_core() { CMAKE_FREESTANDING.replace("NAME", name) } else { String::new() },
        core_end = if self.has_core() { "endif()\n" } else { "" },
        device_first = device.map_or(String::new(), |device| device.cmake_first.replace("NAME", name)),
        device_links = device.map_or(String::new(), |device| device.cmake_links.replace("NAME", name)),
        sources = others.join(" "),
        headers = headers.join(" "),
        modules = match modules {
            [] => String::new(),
            modules => {
                let names: Vec<&str> = modules.iter().map(|path| path.trim_start_matches("src/")).collect();
                format!("set(MODULES {}){CMAKE_MODULES}\n", names.join(" "))
            }
        },
        module_objects = if modules.is_empty() { "" } else { " ${MODULE_OBJECTS}" }
    )
    }

    fn pkg_config(&self) -> String {
        let Parts { name, threads, device, .. } = *self;
        let threads = if threads { " -pthread" } else { "" };
        let libraries = device.map_or("", |device| device.libraries);
        format!(
            "prefix=${{pcfiledir}}/@PREFIX_FROM_FILE@
libdir=${{prefix}}/@CMAKE_INSTALL_LIBDIR@
includedir=${{prefix}}/@CMAKE_INSTALL_INCLUDEDIR@/{name}

Name: {name}
Description: made by Headrace
Version: @PROJECT_VERSION@
Libs: -L${{libdir}} -l{name} -lm{threads}{libraries}
Cflags: -I${{includedir}}
"
        )
    }

    fn makefile(&self, objects: &[String], device_objects: &[String]) -> String {
        let Parts { name, made, headers, modules, threads, device, .. } = *self;
        let threads = if threads { " -pthread" } else { "" };
        let libraries = device.map_or("", |device| device.make_libraries);
        let modules_too = (!modules.is_empty()).then(|| "$(MODULES:.ll=.module.o)".to_owned());
        let compiled: Vec<String> =
            objects.iter().cloned().chain(modules_too).chain(device_objects.iter().cloned()).collect();
        let chosen = match modules {
            [] => String::new(),
            modules => MAKE_ARCHITECTURE.replace("ALL", &modules.join(" ")),
        };
        let (first, rules) = if modules.is_empty() {
            device.map_or(("", String::new()), |device| (device.make_first, device.make_rules.to_owned()))
        } else {
            let bitcode: Vec<String> = objects.iter().map(|path| path.replace(".o", ".bc")).collect();
            let rules = format!(
                "\n%.module.o: %.ll\n\t$(CC) -Wno-override-module $(CFLAGS) -c $< -o $@\n\n\
             BITCODE = test/test.bc {}\n\n%.bc: %.c $(HEADERS)\n\t$(CC) $(ALL_CFLAGS) -emit-llvm -c $< -o $@\n\n\
             test/whole.bc: $(BITCODE) $(MODULES)\n\t$(LLVM_LINK) $(BITCODE) $(MODULES) -o $@\n\n\
             .PHONY: lli\nlli: test/whole.bc\n\t$(LLI) test/whole.bc\n",
                bitcode.join(" ")
            );
            (MAKE_MODULES, rules)
        };
        let bitcode = if modules.is_empty() { "" } else { " $(BITCODE) test/whole.bc" };
        let (core, core_too, core_rules) = if self.has_core() {
            let core = format!("CORE = {}\n", self.core().join(" "));
            (core, format!(" $(CORE) lib{name}-freestanding.a"), FREESTANDING_RULES.replace("NAME", name))
        } else {
            (String::new(), String::new(), String::new())
        };
        format!(
            "{made}{first}CFLAGS ?= -O3
# A section for each function: linkers drop what a program does not call (-Wl,--gc-sections). Nothing is ever unwound.
SECTIONS = -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables
ALL_CFLAGS = -std=c11 -Wall -Wextra -Werror -Isrc{threads} $(SECTIONS) $(CFLAGS)
{chosen}OBJECTS = {objects}
HEADERS = {headers}
{core}
lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)

test/test: test/test.c lib{name}.a $(HEADERS)
\t$(CC) $(ALL_CFLAGS) test/test.c lib{name}.a -lm{libraries} -o $@

.PHONY: test clean
test: test/test
\t./test/test

%.o: %.c $(HEADERS)
\t$(CC) $(ALL_CFLAGS) -c $< -o $@
{rules}{core_rules}
clean:
\trm -f $(OBJECTS) lib{name}.a test/test{bitcode}{core_too}
",
            objects = compiled.join(" "),
            headers = headers.join(" ")
        )
    }

    /// Whether there is a core for programs without a C library: where all parts are in C.
    fn has_core(&self) -> bool {
        self.modules.is_empty() && self.device.is_none()
    }

    /// The objects of the core: of all but threads.
    fn core(&self) -> Vec<String> {
        let core = self.sources.iter().filter(|path| *path != HELPERS);
        core.map(|path| format!("{}.core.o", path.trim_end_matches(".c"))).collect()
    }

    fn readme(&self, command: &str, about: &str) -> String {
        let Parts { name, headers, modules, threads, device, .. } = *self;
        let architectures = if self.has_architectures { README_ARCHITECTURES } else { "" };
        let modules = match modules {
            [] => String::new(),
            _ => README_MODULES.replace("ARCHITECTURES", architectures),
        };
        let helpers = if threads {
            "\n`headrace_helpers.c` has POSIX threads for those who want to hand them to long messages; everything else does without it.\n"
        } else {
            ""
        };
        let many = if self.sources.iter().any(|path| path.ends_with("_many.c")) {
            "\nSources that end in `_many.c` have the functions `…_many`, for many messages at once, and nothing that others need: who\ncompiles sources one by one leaves them out where those are not called.\n"
        } else {
            ""
        };
        let core = if threads { "everything but `headrace_helpers.c`" } else { "everything" };
        let freestanding = if self.has_core() {
            README_FREESTANDING.replace("NAME", name).replace("EVERYTHING", core)
        } else {
            String::new()
        };
        let needs = device.map_or(NEEDS, |device| device.needs);
        let about_device = device.map_or(String::new(), Dialect::readme);
        let sets: Vec<String> = set_headers(name, headers).map(|path| format!("`{path}`")).collect();
        let documented = match &sets[..] {
            [] => format!("`src/{name}.h` documents every function."),
            sets => format!("`src/{name}.h` includes\n{}, which document every function.", sets.join(", ")),
        };
        format!(
        "# {name}

{about} Made by `{command}`.

{needs} Build and test with either of

```
make test
cmake -B build && cmake --build build && ctest --test-dir build
```
{modules}{helpers}{many}{freestanding}{about_device}
`make clean test/test CFLAGS='-O2 -DHEADRACE_CONSTANT_TIME' && valgrind -q ./test/test` reports every branch and address that
depends on a secret: those of a variant that is declared constant-time are none.

`cmake --install build --prefix P` installs the library, its headers, a CMake package (`find_package({name})`, target
`{name}::{name}`) and a file for pkg-config. {documented}
Each function is in a section of its own: `-Wl,--gc-sections` leaves out of a program what it does not call.
"
    )
    }
}
