//! Projects that `headrace build --target llvm` makes: they compile without a warning and give the known answers,
//! linked by clang and in `lli`, with the oldest LLVM that takes them and with the newest found here.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here, sample};
use std::process::Command;

/// Versions of LLVM whose clang and lli are here.
fn versions() -> Vec<&'static str> {
    let found: Vec<&str> = ["16", "19"]
        .into_iter()
        .filter(|version| ["clang", "llvm-link", "lli"].iter().all(|tool| is_here(&format!("{tool}-{version}"))))
        .collect();
    if found.is_empty() {
        eprintln!("not run: neither LLVM 16 nor 19 is here (scripts/tools.sh llvm)");
    }
    found
}

/// Builds a project and runs its test both ways; gives what the tests said.
fn built_and_run(folder: &Folder, what: &[&str]) -> String {
    let project = folder.build("llvm", what);
    let mut said = String::new();
    for version in versions() {
        let clang = format!("CLANG=clang-{version}");
        for goal in ["test", "lli"] {
            let mut make = Command::new("make");
            said += &folder.run_in(&project, make.args(["-s", "-j2", goal, &clang, "CFLAGS=-O1"]));
        }
        folder.run_in(&project, Command::new("make").args(["-s", "clean", &clang]));
    }
    // That of the runtime says what clang compiles it for.
    let warned = said.lines().any(|line| line.contains("warning") && !line.contains("different data layouts"));
    assert!(!warned, "{what:?}:\n{said}");
    said
}

/// The same for a project with known answers.
fn built_and_tested(folder: &Folder, what: &[&str]) {
    let said = built_and_run(folder, what);
    let of_all = said.lines().filter(|line| !line.starts_with("operation "));
    let passed = of_all.filter(|line| line.ends_with(" passed, 0 failed") && !line.contains(": 0 passed"));
    assert_eq!(passed.count(), 2 * versions().len(), "{what:?}:\n{said}");
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = Folder::new();
    for what in sample(&[
        &["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..],
        &["chacha20"],
        &["sha256"],
        &["aes128-cmac"],
        &["ascon-aead128"],
        &["ctr-drbg-aes128"],
    ]) {
        built_and_tested(&folder, what);
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    let said = built_and_run(&folder, &folder.write_wide());
    assert_eq!(said.matches("the streams are those of the interpreter").count(), 2 * versions().len(), "{said}");
}

#[test]
fn modules_may_be_optimised_before_it_is_known_what_they_are_for() {
    let folder = Folder::new();
    let project = folder.build("llvm", &["sha256"]);
    let sources = project.join("src");
    // What one of them has optimised, an older one might not read.
    if let Some(version) = versions().last() {
        let mut optimise = Command::new(format!("opt-{version}"));
        let module = "sha256_hash_network.ll";
        folder.run_in(&sources, optimise.args(["-passes=verify,default<O2>", module, "-S", "-o", module]));
        let mut make = Command::new("make");
        let said = folder.run_in(&project, make.args(["-s", "test", &format!("CLANG=clang-{version}")]));
        assert!(said.contains(" passed, 0 failed"), "{said}");
        // Places of 32 bits, too.
        let mut compile = Command::new(format!("llc-{version}"));
        folder.run_in(&sources, compile.args(["-mtriple=i386-linux-gnu", module, "-o", "sha256_hash_network.s"]));
    }
}
