//! Toolchain of target `cpp`. Projects in C++: CMake configures some of them at once, as parts of one.

use crate::project::Files;
use crate::toolchain::{Batch, MAKE, Member, Step, Tool, Toolchain};
use std::fmt::Write as _;

pub(crate) const CMAKE: Toolchain = Toolchain {
    name: "cpp",
    tools: &[
        Tool { commands: &["g++", "clang++", "c++"], oldest: 10, package: "g++" },
        Tool { commands: &["cmake"], oldest: 3, package: "cmake" },
        Tool { commands: &["ctest"], oldest: 3, package: "cmake" },
        MAKE,
    ],
    at_once: 6,
    join,
    build,
    test,
    emulator: None,
    fused: true,
};

fn join(members: &[Member<'_>]) -> Files {
    let mut text = String::from("cmake_minimum_required(VERSION 3.16)\nproject(all LANGUAGES CXX)\ninclude(CTest)\n");
    for member in members {
        let _ = writeln!(text, "add_subdirectory({})", member.folder);
    }
    Files::from([("CMakeLists.txt".to_owned(), text.into_bytes())])
}

fn build(batch: &Batch<'_>) -> Vec<Step> {
    let compiler = format!("-DCMAKE_CXX_COMPILER={}", batch.tool(0));
    // Most of the time is the compiler's.
    let flags = "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";
    vec![
        Step::new([batch.tool(1), "-S", ".", "-B", "build", &compiler, flags]),
        Step::new([batch.tool(1), "--build", "build", "--parallel", &batch.jobs.to_string()]),
    ]
}

fn test(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    Step::new([batch.tool(2).to_owned(), "--test-dir".into(), format!("build/{}", member.folder), "--verbose".into()])
}
