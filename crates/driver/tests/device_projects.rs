//! Projects that `headrace build --target opencl` and `--target cuda` make: they compile without a warning, and known
//! answers and long messages are the same with a device as without one.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, sample};
use std::path::Path;
use std::process::Command;

/// What CMake builds; all else is built by `make`.
const BY_CMAKE: &[&str] = &["sha256"];

/// What clang compiles, which warns of more than gcc.
const BY_CLANG: &[&str] = &["hex"];

/// A generator takes no messages, so that its test has no long ones.
const GENERATOR: &[&str] = &["lcg32"];

/// One architecture, which takes less time than all; later GPUs run it, too.
const WITH_NVCC: &[&str] = &["CUDA_ARCHITECTURES=sm_75"];

/// The processor stands for the device.
const WITHOUT_NVCC: &[&str] = &["NVCC="];

/// Builds a project, runs its test, and gives what it said; `None` where there is nothing to run it on. `variables` are
/// those of `make`.
fn tested(folder: &Folder, target: &str, what: &[&str], variables: &[&str]) -> Option<String> {
    let project = folder.build(target, what);
    let (said, test) = if what == BY_CMAKE && is_here("cmake") {
        let mut cmake = Command::new("cmake");
        if variables == WITHOUT_NVCC {
            cmake.arg("-DCMAKE_CUDA_COMPILER=");
        }
        cmake.args(["-S", ".", "-B", "build"]).env("CFLAGS", "-O1 -Wall -Wextra").env("CMAKE_BUILD_TYPE", "None");
        folder.run_in(&project, &mut cmake);
        let said = folder.run_in(&project, Command::new("cmake").args(["--build", "build"]));
        (said, format!("build/{}_test", what[0]))
    } else {
        let mut make = Command::new("make");
        make.args(["-s", "-j2", "test/test", "CFLAGS=-O1"]).args(variables);
        if what == BY_CLANG && is_here("clang") && is_here("clang++") {
            make.args(["CC=clang", "CXX=clang++"]);
        }
        (folder.run_in(&project, &mut make), "test/test".to_owned())
    };
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    let test = Command::new(project.join(test))
        .env("POCL_CACHE_DIR", &project)
        .output()
        .expect("the test of the project starts");
    let said = format!("{}{}", String::from_utf8_lossy(&test.stdout), String::from_utf8_lossy(&test.stderr));
    if test.status.code() == Some(4) {
        eprintln!("not run: {said}");
        return None;
    }
    assert!(test.status.success() && said.contains(" passed, 0 failed"), "{what:?}:\n{said}");
    Some(said)
}

/// Operations with wide loops: most of a long message goes through the device.
fn runs_there(target: &str) {
    let folder = Folder::new();
    for (what, operations) in sample(&[
        (
            &["aes128", "--operation", "ctr", "--operation", "cbc-decrypt"][..],
            &["aes128_ctr", "aes128_cbc_decrypt"][..],
        ),
        (&["chacha20"], &["chacha20_stream"]),
        (BY_CMAKE, &[]),
        (BY_CLANG, &[]),
        (GENERATOR, &[]),
    ]) {
        let said = match tested(&folder, target, what, WITH_NVCC) {
            // What nvcc compiles runs on a GPU only, and shows here that it can be compiled.
            None if target == "cuda" => tested(&Folder::new(), target, what, WITHOUT_NVCC),
            said => said,
        };
        let Some(said) = said else { return };
        for operation in operations {
            let line = said.lines().find(|line| line.starts_with(&format!("{operation}, 737280 bytes: result 0, ")));
            let iterations = line.and_then(|line| line.split(", ").last()?.split(' ').next()?.parse::<u64>().ok());
            assert!(
                iterations.is_some_and(|iterations| iterations * 64 + 1024 > 737_280),
                "{operation}: {line:?}\n{said}"
            );
        }
    }
}

#[test]
fn a_device_of_opencl_gives_what_the_processor_gives() {
    // The header and the library stand in packages for developers.
    if !Path::new("/usr/include/CL/cl.h").exists() {
        eprintln!("not run: no CL/cl.h (scripts/tools.sh opencl)");
        return;
    }
    runs_there("opencl");
}

#[test]
fn kernels_in_cuda_give_what_the_processor_gives() {
    if is_here("c++") {
        runs_there("cuda");
    }
}
