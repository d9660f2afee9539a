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

/// Processors of QEMU with fewer vector instructions than most machines that run tests: none of AVX-512, none of AVX.
const NARROWER: [&str; 2] = ["Haswell", "Westmere"];

/// A module asks the processor what it has, so that each kind of loop runs on narrower ones too, and where there are no modules
/// for an architecture.
#[test]
fn variants_for_narrower_processors_give_known_answers() {
    let folder = Folder::new();
    let Some(version) = versions().last().copied().filter(|_| cfg!(target_arch = "x86_64")) else { return };
    let clang = format!("CLANG=clang-{version}");
    for (set, operation) in [("aes128-gcm", "aead-encrypt"), ("chacha20-poly1305", "aead-decrypt"), ("sha256", "hash")]
    {
        let project = folder.build("llvm", &[set, "--operation", operation]);
        assert!(project.join("src/x86_64").is_dir(), "{set} has no module for x86-64");
        let make = |more: &[&str]| {
            let mut make = Command::new("make");
            folder.run_in(&project, make.args(["-s", "-j2", "clean", &clang, "CFLAGS=-O1"]));
            let mut make = Command::new("make");
            folder.run_in(&project, make.args(["-s", "-j2", "test", &clang, "CFLAGS=-O1"]).args(more))
        };
        let without = make(&["ARCHITECTURE=none"]);
        assert!(without.contains(" passed, 0 failed"), "{set}: {without}");
        assert_eq!(make(&[]), without, "{set}");
        if !is_here("qemu-x86_64") {
            eprintln!("not run: no qemu-x86_64");
            continue;
        }
        for processor in NARROWER {
            let mut emulated = Command::new("qemu-x86_64");
            let said = folder.run(emulated.args(["-cpu", processor]).arg(project.join("test/test")));
            // It tells what else such a processor has.
            let own: Vec<&str> = said.lines().filter(|line| !line.starts_with("qemu-x86_64: warning: ")).collect();
            assert_eq!(own, without.lines().collect::<Vec<_>>(), "{set} on {processor}");
        }
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
        let clang = format!("CLANG=clang-{version}");
        let said = folder.run_in(&project, make.args(["-s", "test", &clang, "ARCHITECTURE=none"]));
        assert!(said.contains(" passed, 0 failed"), "{said}");
        // Places of 32 bits, too.
        let mut compile = Command::new(format!("llc-{version}"));
        folder.run_in(&sources, compile.args(["-mtriple=i386-linux-gnu", module, "-o", "sha256_hash_network.s"]));
    }
}
