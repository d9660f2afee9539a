//! The core of projects in C without a C library: compiled against no header but the compiler's, held to what the README of
//! projects says it needs, and linked into programs that start by themselves, on each processor that compilers here know.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A processor: its compiler, and what runs its programs here.
const PROCESSORS: &[(&str, &[&str])] = &[
    ("x86_64-linux-gnu-gcc", &[]),
    ("aarch64-linux-gnu-gcc", &["qemu-aarch64", "-cpu", "max"]),
    ("arm-linux-gnueabihf-gcc", &["qemu-arm"]),
    ("riscv64-linux-gnu-gcc", &["qemu-riscv64"]),
];

/// What a program without a C library must have, as the README of each project says.
const NEEDED: &[&str] = &["memcpy", "memmove", "memset", "memcmp"];

/// What a command says; nothing where it is not here.
fn said(command: &[&str], folder: &Path) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let program = program.strip_prefix("./").map_or_else(|| program.into(), |inside| folder.join(inside));
    let output = Command::new(program).args(arguments).current_dir(folder).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}:\n{text}", output.status);
    Some(text)
}

/// Names that objects of a library need of others.
fn needed(compiler: &str, library: &str, folder: &Path) -> BTreeSet<String> {
    let nm = compiler.replace("gcc", "nm");
    let listed = said(&[&nm, library], folder).expect("nm comes with compilers");
    let mut defined = BTreeSet::new();
    let mut undefined = BTreeSet::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["U", name] => drop(undefined.insert((*name).to_owned())),
            [_, _, name] => drop(defined.insert((*name).to_owned())),
            _ => {}
        }
    }
    undefined.difference(&defined).cloned().collect()
}

/// Builds a project and runs its test on every processor, without a C library.
fn tested(arguments: &[&str], name: &str) {
    let bare = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bare");
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = place.path();
    let headrace = env!("CARGO_BIN_EXE_headrace");
    let build = [&[headrace, "build"], arguments, &["--target", "c", "-o", "."]].concat();
    said(&build, folder).expect("the command starts");
    let readme = std::fs::read_to_string(folder.join("README.md")).expect("projects have one");
    assert!(NEEDED.iter().all(|function| readme.contains(&format!("`{function}`"))), "{readme}");
    let library = format!("lib{name}-freestanding.a");
    for (compiler, emulator) in PROCESSORS {
        let missing = emulator.iter().take(1).chain([compiler]).find(|tool| {
            let found = Command::new(tool).arg("--version").output();
            !found.is_ok_and(|output| output.status.success())
        });
        if let Some(missing) = missing {
            eprintln!("not run: {compiler}: no {missing}");
            continue;
        }
        said(&["make", "-s", "clean"], folder);
        said(&["make", "-s", "-j2", &format!("CC={compiler}"), "CFLAGS=-O1 -Wpedantic", "freestanding"], folder)
            .expect("make is here");
        let needs = needed(compiler, &library, folder);
        let unsaid: Vec<&String> = needs
            .iter()
            // Names with two underscores are those of the compiler's own library: without it, the program does not link. The
            // table is the linker's.
            .filter(|name| {
                !NEEDED.contains(&name.as_str()) && !name.starts_with("__") && *name != "_GLOBAL_OFFSET_TABLE_"
            })
            .collect();
        assert!(unsaid.is_empty(), "{compiler}: the core needs {unsaid:?}");
        let (start, include) = (bare.join("start.c"), bare.join("include"));
        let (start, include) = (start.display().to_string(), include.display().to_string());
        let headers = said(&[compiler, "-print-file-name=include"], folder).expect("the compiler is here");
        let flags = ["-std=gnu11", "-O1", "-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns"];
        let places = ["-nostdinc", "-isystem", headers.trim(), "-isystem", &include, "-Isrc"];
        let sources = [&start, "test/test.c", &library, "-o", "bare"];
        let link = ["-nostdlib", "-static", "-lgcc"];
        said(&[&[*compiler], &flags[..], &places, &sources, &link].concat(), folder).expect("the compiler is here");
        let passed = said(&[emulator, &["./bare"][..]].concat(), folder);
        let passed = passed.expect("what is run is here");
        let last = passed.lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("{name}: ")) && last.ends_with(" passed, 0 failed"), "{compiler}: {passed}");
        assert!(!last.contains(": 0 passed"), "{compiler}: {passed}");
    }
}

#[test]
fn a_hash_runs_without_a_c_library() {
    tested(&["sha256"], "sha256");
}

#[test]
fn a_cipher_with_wide_counters_runs_without_a_c_library() {
    tested(&["aes128", "--operation", "ctr", "--variant", "lut"], "aes128");
}
