//! Projects that `headrace build --target cpp` makes: both compilers take them without a warning, they give the known
//! answers, and other projects find what they install.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, sample};
use std::path::Path;
use std::process::Command;

const WARNINGS: &str = "-DCMAKE_CXX_FLAGS=-O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";

/// Builds what CMake describes with a compiler, below the folder of the project.
fn cmake(folder: &Folder, project: &Path, compiler: &str, more: &[&str]) -> std::path::PathBuf {
    let build = project.join(format!("build-{compiler}"));
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(project).arg("-B").arg(&build).arg(format!("-DCMAKE_CXX_COMPILER={compiler}"));
    folder.run(configure.arg(WARNINGS).args(more));
    folder.run(Command::new("cmake").arg("--build").arg(&build));
    build
}

/// The compilers that are here, as long as CMake is.
fn compilers() -> Vec<&'static str> {
    let here = |tool: &&str| is_here(tool);
    if is_here("cmake") { ["g++", "clang++"].into_iter().filter(here).collect() } else { Vec::new() }
}

fn built_and_tested(folder: &Folder, compiler: &str, what: &[&str]) {
    let project = folder.build("cpp", what);
    let build = cmake(folder, &project, compiler, &[]);
    let said = folder.run(Command::new("ctest").arg("--output-on-failure").arg("--test-dir").arg(&build));
    assert!(said.contains("100% tests passed, 0 tests failed out of 1"), "{what:?}:\n{said}");
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = Folder::new();
    let compilers = compilers();
    for (at, what) in sample(&[
        &["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-pad-decrypt"][..],
        &["chacha20"],
        &["sha256"],
        &["aes128-cmac"],
        &["aes128-ccm"],
        &["ascon-aead128"],
        &["ctr-drbg-aes128"],
        &["hex"],
    ])
    .enumerate()
    {
        // Both compilers for all of them take too long.
        if let Some(compiler) = compilers.get(at % compilers.len().max(1)) {
            built_and_tested(&folder, compiler, what);
        }
    }
}

/// Processors of QEMU with fewer vector instructions than most machines that run tests: none of AVX-512, none of AVX.
const NARROWER: [&str; 2] = ["Haswell", "Westmere"];

/// A program takes the functions for the processor that it finds, so that each kind of loop runs on narrower ones too, and where
/// there are none of these functions.
#[test]
fn variants_for_narrower_processors_give_known_answers() {
    let folder = Folder::new();
    let Some(compiler) = compilers().first().copied().filter(|_| cfg!(target_arch = "x86_64")) else { return };
    for (set, operation) in [("aes128-gcm", "aead-encrypt"), ("chacha20-poly1305", "aead-decrypt")] {
        let project = folder.build("cpp", &[set, "--operation", operation]);
        let answers = project.join("test/known_answers.txt");
        let program = |name: &str, more: &[&str]| {
            let mut compile = Command::new(compiler);
            compile.args(["-std=c++20", "-O1", "-I"]).arg(project.join("include")).args(more);
            compile.arg(project.join("test/known_answers.cpp")).arg("-o").arg(project.join(name));
            folder.run(&mut compile);
            project.join(name)
        };
        let without = folder.run(Command::new(program("without", &["-DHEADRACE_NO_SIMD"])).arg(&answers));
        assert!(without.contains(" known answers") && !without.starts_with("0 "), "{set}: {without}");
        if !is_here("qemu-x86_64") {
            eprintln!("not run: no qemu-x86_64");
            continue;
        }
        let found = program("found", &[]);
        for processor in NARROWER {
            let mut emulated = Command::new("qemu-x86_64");
            let said = folder.run(emulated.args(["-cpu", processor]).arg(&found).arg(&answers));
            // It tells what else such a processor has.
            let own: Vec<&str> = said.lines().filter(|line| !line.starts_with("qemu-x86_64: warning: ")).collect();
            assert_eq!(own, without.lines().collect::<Vec<_>>(), "{set} on {processor}");
        }
    }
}

#[test]
fn several_sets_are_one_project() {
    let folder = Folder::new();
    if let Some(compiler) = compilers().first() {
        built_and_tested(&folder, compiler, &["aes128-ccm", "sha256", "hmac-sha256", "--name", "three", "--unfused"]);
        // What has one name in several sets has two in the project.
        let whole = "#include <headrace/three.hpp>\nint main() { headrace::three::Sha256Hash hash; return 0; }\n";
        folder.write("whole.cpp", whole);
        let mut compile = Command::new(compiler);
        compile.args(["-std=c++20", "-fsyntax-only", "whole.cpp", "-I", "projects/aes128-ccm/include"]);
        folder.run(&mut compile);
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    let (wide, tells) = (folder.write_wide(), folder.write_tells());
    let programs = projects::conformance().map(|program| vec![program]);
    let all = [wide, tells].map(|what| what.map(str::to_owned).to_vec()).into_iter().chain(programs);
    // Both compilers for all of them take too long.
    for (what, compiler) in all.zip(compilers().iter().cycle()) {
        built_and_tested(&folder, compiler, &what.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// A project of somebody else.
const USER: &str = "cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES CXX)
find_package(headrace_sha256 REQUIRED)
add_executable(user user.cpp)
target_link_libraries(user PRIVATE headrace::sha256)
";

const PROGRAM: &str = r#"
#include <headrace/sha256.hpp>

#include <cstdio>
#include <memory>
#include <string_view>

int main() {
    using headrace::sha256::bytes_of;
    auto hash = std::make_unique<headrace::sha256::Hash>();
    std::array<std::uint8_t, 32> digest{};
    hash->message(bytes_of("abc"), digest);
    for (const std::uint8_t byte : digest) {
        std::printf("%02x", byte);
    }
    try {
        hash->message(bytes_of("abc"), std::span(digest).first(31));
    } catch (const headrace::sha256::Error& error) {
        std::printf(" %d", error.reason() == headrace::sha256::Reason::room);
    }
}
"#;

#[test]
fn other_projects_find_what_is_installed() {
    let folder = Folder::new();
    for compiler in compilers() {
        let project = folder.build("cpp", &["sha256"]);
        let build = cmake(&folder, &project, compiler, &[]);
        let prefix = project.join(format!("prefix-{compiler}"));
        folder.run(Command::new("cmake").arg("--install").arg(&build).arg("--prefix").arg(&prefix));
        folder.write("CMakeLists.txt", USER);
        folder.write("user.cpp", PROGRAM);
        let root = project.ancestors().nth(2).expect("the folder").to_owned();
        let user = cmake(&folder, &root, compiler, &[&format!("-DCMAKE_PREFIX_PATH={}", prefix.display())]);
        let said = folder.run(&mut Command::new(user.join("user")));
        // FIPS 180-4, the example of one block.
        assert_eq!(said, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 1");
    }
}
