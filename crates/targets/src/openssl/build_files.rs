//! Build files and README of a provider.

use super::table::Row;
use crate::project::Files;
use std::fmt::Write as _;

/// Adds what builds, tests and explains a provider of the sources that `files` has.
pub(super) fn add(files: &mut Files, command: &str, rows: &[Row<'_>]) {
    let ending = |folder: &str, ending: &str| -> Vec<String> {
        files.keys().filter(|path| path.starts_with(folder) && path.ends_with(ending)).cloned().collect()
    };
    let (sources, tests) = (ending("src/", ".c"), ending("test/", ".c"));
    let mut headers = ending("src/", ".h");
    headers.extend(ending("test/", ".h"));
    let made = format!("# Made by `{command}`. Changes here will be lost.\n");
    let objects = |sources: &[String]| -> String {
        let objects: Vec<String> = sources.iter().map(|path| path.replace(".c", ".o")).collect();
        objects.join(" ")
    };
    let makefile = format!(
        "{made}CFLAGS ?= -O3
PKG_CONFIG ?= pkg-config
# The headers of OpenSSL 3; the provider is not linked to it.
CRYPTO_CFLAGS := $(shell $(PKG_CONFIG) --cflags libcrypto 2>/dev/null)
CRYPTO_LIBS := $(or $(shell $(PKG_CONFIG) --libs libcrypto 2>/dev/null),-lcrypto)
ALL_CFLAGS = -std=c11 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -Isrc $(CRYPTO_CFLAGS) $(CFLAGS)
DL = $(shell [ \"$$(uname)\" = Linux ] && echo -ldl)
OBJECTS = {objects}
TESTS = {tests}
HEADERS = {headers}

headrace.so: $(OBJECTS)
\t$(CC) $(CFLAGS) -shared $(OBJECTS) -lm $(DL) -o $@

test/test: $(TESTS)
\t$(CC) $(CFLAGS) $(TESTS) $(CRYPTO_LIBS) -o $@

.PHONY: test clean
test: headrace.so test/test
\t./test/test .

%.o: %.c $(HEADERS)
\t$(CC) $(ALL_CFLAGS) -c $< -o $@

clean:
\trm -f $(OBJECTS) $(TESTS) headrace.so test/test
",
        objects = objects(&sources),
        tests = objects(&tests),
        headers = headers.join(" ")
    );
    let cmake = format!(
        "{made}cmake_minimum_required(VERSION 3.13)
project(headrace VERSION {version} LANGUAGES C)
include(GNUInstallDirs)
include(CTest)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(headrace MODULE {sources})
set_target_properties(headrace PROPERTIES PREFIX \"\" SUFFIX .so C_STANDARD 11 C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden)
# The headers; a provider finds its functions through the core that loads it.
target_include_directories(headrace PRIVATE ${{OPENSSL_INCLUDE_DIR}})
find_library(MATH_LIBRARY m)
if(MATH_LIBRARY)
  target_link_libraries(headrace PRIVATE m)
endif()
target_link_libraries(headrace PRIVATE ${{CMAKE_DL_LIBS}})

if(BUILD_TESTING)
  add_executable(headrace_test {tests})
  set_target_properties(headrace_test PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
  target_link_libraries(headrace_test PRIVATE OpenSSL::Crypto)
  add_test(NAME headrace COMMAND headrace_test $<TARGET_FILE_DIR:headrace>)
endif()

# Below the prefix, or where OpenSSL looks for providers: `openssl version -m`.
set(OPENSSL_MODULES ${{CMAKE_INSTALL_LIBDIR}}/ossl-modules CACHE STRING \"where providers go\")
install(TARGETS headrace LIBRARY DESTINATION ${{OPENSSL_MODULES}})
",
        version = env!("CARGO_PKG_VERSION"),
        sources = sources.join(" "),
        tests = tests.join(" ")
    );
    files.insert("Makefile".into(), makefile.into_bytes());
    files.insert("CMakeLists.txt".into(), cmake.into_bytes());
    files.insert("README.md".into(), readme(command, rows).into_bytes());
}

fn readme(command: &str, rows: &[Row<'_>]) -> String {
    let mut listed = String::new();
    let mut before = String::new();
    for Row { kind, name, .. } in rows {
        let names: Vec<String> = name.name.split(':').map(|name| format!("`{name}`")).collect();
        let of = name
            .of
            .as_ref()
            .map_or(String::new(), |of| format!(" with `{}`", of.split(':').next().unwrap_or_default()));
        let line = format!("| {} | {}{of} |\n", kind.name(), names.join(", "));
        // Lengths of tags are rows of one name.
        if line != before {
            let _ = write!(listed, "{line}");
        }
        before = line;
    }
    README
        .replace("{command}", command)
        .replace("{listed}", &listed)
        .replace("{differences}", &differences(DIFFERENCES))
}

/// The sentences of the table of differences as a list. A line has a name, what it is of, and its sentence.
fn differences(table: &str) -> String {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let sentences = lines.filter_map(|line| line.splitn(3, ' ').nth(2));
    sentences.fold(String::new(), |mut list, sentence| {
        let _ = writeln!(list, "* {sentence}");
        list
    })
}

const README: &str = include_str!("../../../../runtime/openssl/README.md");
const DIFFERENCES: &str = include_str!("../../../../runtime/openssl/differences.txt");
