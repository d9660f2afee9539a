//! Build files and README of a project.

use super::Files;

/// What needs threads, where it is part of a project.
const HELPERS: &str = "src/headrace_helpers.c";

/// Adds what builds, tests, installs and explains a project of the sources that `files` has.
pub(super) fn add(files: &mut Files, name: &str, command: &str, about: &str) {
    let sources: Vec<String> =
        files.keys().filter(|path| path.starts_with("src/") && path.ends_with(".c")).cloned().collect();
    let headers: Vec<String> =
        files.keys().filter(|path| path.starts_with("src/") && path.ends_with(".h")).cloned().collect();
    let made = format!("# Made by `{command}`. Changes here will be lost.\n");
    let objects: Vec<String> = sources.iter().map(|path| format!("{}.o", path.trim_end_matches(".c"))).collect();
    let threads = sources.iter().any(|path| path == HELPERS);
    files.insert("CMakeLists.txt".into(), cmake(&made, name, &sources, &headers, threads).into_bytes());
    files.insert(
        format!("{name}-config.cmake.in"),
        format!("{made}@PACKAGE_INIT@\ninclude(\"${{CMAKE_CURRENT_LIST_DIR}}/{name}-targets.cmake\")\n").into_bytes(),
    );
    files.insert(format!("{name}.pc.in"), pkg_config(name, threads).into_bytes());
    files.insert("Makefile".into(), makefile(&made, name, &objects, &headers, threads).into_bytes());
    files.insert("README.md".into(), readme(name, command, about, threads).into_bytes());
}

fn cmake(made: &str, name: &str, sources: &[String], headers: &[String], threads: bool) -> String {
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
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
include(CTest)

add_library({name} {sources})
set_target_properties({name} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
target_include_directories({name} PUBLIC $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/src> $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}/{name}>)
find_library(MATH_LIBRARY m)
if(MATH_LIBRARY)
  target_link_libraries({name} PUBLIC m)
endif()
{helpers}
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
configure_file({name}.pc.in {name}.pc @ONLY)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config.cmake ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config-version.cmake
        DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)
",
        sources = others.join(" "),
        headers = headers.join(" ")
    )
}

fn pkg_config(name: &str, threads: bool) -> String {
    let threads = if threads { " -pthread" } else { "" };
    format!(
        "prefix=@CMAKE_INSTALL_PREFIX@
libdir=${{prefix}}/@CMAKE_INSTALL_LIBDIR@
includedir=${{prefix}}/@CMAKE_INSTALL_INCLUDEDIR@/{name}

Name: {name}
Description: made by Headrace
Version: @PROJECT_VERSION@
Libs: -L${{libdir}} -l{name} -lm{threads}
Cflags: -I${{includedir}}
"
    )
}

fn makefile(made: &str, name: &str, objects: &[String], headers: &[String], threads: bool) -> String {
    let threads = if threads { " -pthread" } else { "" };
    format!(
        "{made}CFLAGS ?= -O3
ALL_CFLAGS = -std=c11 -Wall -Wextra -Werror -Isrc{threads} $(CFLAGS)
OBJECTS = {objects}
HEADERS = {headers}

lib{name}.a: $(OBJECTS)
\t$(AR) rcs $@ $(OBJECTS)

test/test: test/test.c lib{name}.a $(HEADERS)
\t$(CC) $(ALL_CFLAGS) test/test.c lib{name}.a -lm -o $@

.PHONY: test clean
test: test/test
\t./test/test

%.o: %.c $(HEADERS)
\t$(CC) $(ALL_CFLAGS) -c $< -o $@

clean:
\trm -f $(OBJECTS) lib{name}.a test/test
",
        objects = objects.join(" "),
        headers = headers.join(" ")
    )
}

fn readme(name: &str, command: &str, about: &str, threads: bool) -> String {
    let helpers = if threads {
        "\n`headrace_helpers.c` has POSIX threads for those who want to hand them to long messages; everything else does without it.\n"
    } else {
        ""
    };
    format!(
        "# {name}

{about} Made by `{command}`.

No heap, no global state, no dependency beyond the C library. Build and test with either of

```
make test
cmake -B build && cmake --build build && ctest --test-dir build
```
{helpers}
`make clean test/test CFLAGS='-O2 -DHEADRACE_CONSTANT_TIME' && valgrind -q ./test/test` reports every branch and address that
depends on a secret: those of a variant that is declared constant-time are none.

`cmake --install build --prefix P` installs the library, its headers, a CMake package (`find_package({name})`, target
`{name}::{name}`) and a file for pkg-config. `src/{name}.h` documents every function.
"
    )
}
