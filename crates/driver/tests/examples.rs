//! The programs in `examples/`: what their READMEs tell users to do is done, word by word, in copies of their folders.
//!
//! The commands there compare with `openssl` and `sha256sum`; that the programs were served by generated code, and refuse what
//! was changed, is tested here. `examples/rustcrypto` is in `rust_crates.rs`, which has the crates that it needs.

#[expect(dead_code, reason = "projects are made by the commands of the READMEs")]
mod projects;

use projects::{Folder, commands, is_here};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of an example, where its commands were run, and what they said.
struct Followed {
    folder: Folder,
    here: PathBuf,
    said: String,
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder is writable");
    for entry in std::fs::read_dir(from).expect("the example is there") {
        let entry = entry.expect("the example can be read");
        // What somebody made there is ignored by git, and is none of the example.
        if entry.path().is_dir() {
            if entry.file_name() == "src" {
                copy(&entry.path(), &to.join("src"));
            }
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("the folder is writable");
        }
    }
}

/// Does what a README says. Projects are made without the work that makes them fast.
fn follow(example: &str) -> Followed {
    let folder = Folder::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let here = folder.path().join(example);
    copy(&examples.join(example), &here);
    std::fs::copy(examples.join("unlock.sh"), folder.path().join("unlock.sh")).expect("the script is there");
    let quick = format!("#!/bin/sh\nexec {} \"$@\" --unfused\n", env!("CARGO_BIN_EXE_headrace"));
    let headrace = folder.path().join("bin/headrace");
    std::fs::create_dir(folder.path().join("bin")).expect("the folder is writable");
    std::fs::write(&headrace, quick).expect("the folder is writable");
    std::fs::set_permissions(&headrace, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let readme = std::fs::read_to_string(here.join("README.md")).expect("the example has a README");
    let path = std::env::var("PATH").unwrap_or_default();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let mut shell = Command::new("sh");
    shell.arg("-ec").arg(format!("exec 2>&1\n{}", commands(&readme)));
    shell.env("PATH", format!("{}:{path}", folder.path().join("bin").display()));
    shell.env("CFLAGS", "-O1").env("CMAKE_BUILD_TYPE", "None").env("CMAKE_BUILD_PARALLEL_LEVEL", &jobs);
    shell.env("MAKEFLAGS", format!("-j{jobs}"));
    let said = folder.run_in(&here, &mut shell);
    assert!(!said.contains("warning"), "{said}");
    Followed { folder, here, said }
}

impl Followed {
    /// The fingerprint that the program prints, and what `sha256sum` prints: each line with a sum comes in pairs.
    fn sums_agree(&self) {
        let is_sum = |line: &&str| line.len() > 64 && line[..64].bytes().all(|byte| byte.is_ascii_hexdigit());
        let sums: Vec<&str> = self.said.lines().filter(is_sum).map(|line| &line[..64]).collect();
        assert!(!sums.is_empty() && sums.iter().all(|sum| *sum == sums[0]), "{}", self.said);
    }

    /// Where the lines stand that are said, in this order, among others.
    fn says(&self, lines: &[&str]) {
        let mut all = self.said.lines();
        for line in lines {
            assert!(all.any(|said| said == *line), "no `{line}` in its place:\n{}", self.said);
        }
    }

    /// Boxes that were changed or are none, wrong keys, and commands that there are not.
    fn refuses(&self, strongbox: impl Fn() -> Command, made: &str) {
        let refused = |arguments: &[&str], code: i32, why: &str| {
            let mut command = strongbox();
            let output = command.args(arguments).current_dir(&self.here).output().expect("the program starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?}:\n{said}");
            assert!(said.contains(why), "{arguments:?}:\n{said}");
            assert!(!self.here.join("nothing").exists(), "{arguments:?} leaves something");
        };
        let mut bytes = std::fs::read(self.here.join(made)).expect("there is a box");
        bytes[20] ^= 1;
        std::fs::write(self.here.join("changed"), &bytes).expect("the folder is writable");
        std::fs::write(self.here.join("short"), &bytes[..47]).expect("the folder is writable");
        refused(&["open", "key", "changed", "nothing"], 1, "changed is not what was locked under this key");
        refused(&["open", "key", "short", "nothing"], 1, "short is too short for a box");
        refused(&["open", "short", made, "nothing"], 1, "short");
        refused(&["lock", "changed", made, "nothing"], 1, "changed");
        refused(&["burn", "key"], 2, "usage: ");
        let mut unlock = Command::new("sh");
        let output = unlock.args(["../unlock.sh", "key", "changed"]).current_dir(&self.here).output();
        assert_eq!(output.expect("sh is there").status.code(), Some(1), "the script takes a changed box");
    }
}

fn tools_are_here(tools: &[&str]) -> bool {
    tools.iter().all(|tool| is_here(tool))
}

/// `openssl version` has no hyphens.
fn openssl_is_here() -> bool {
    let found =
        Command::new("openssl").arg("version").output().is_ok_and(|output| output.stdout.starts_with(b"OpenSSL 3"));
    if !found {
        eprintln!("not run: no OpenSSL 3");
    }
    found
}

#[test]
fn a_program_for_the_jca_is_served_by_the_jdk_and_by_generated_providers() {
    if !tools_are_here(&["javac", "make"]) || !openssl_is_here() {
        return;
    }
    let followed = follow("jca");
    followed.sums_agree();
    followed.says(&[
        "AES/CTR/NoPadding: SunJCE",
        "SecureRandom: Headrace-ctr-drbg-aes128",
        "AES/CTR/NoPadding: Headrace-aes128",
        "HmacSHA256: Headrace-hmac-sha256",
        "AES/CTR/NoPadding: Headrace-aes128",
        "AES/CTR/NoPadding: SunJCE",
        "SHA-256: Headrace-sha256",
    ]);
    // Compiled once for all that is refused.
    followed.folder.run_in(&followed.here, Command::new("javac").args(["-d", "classes", "src/Strongbox.java"]));
    let strongbox = || {
        let mut java = Command::new("java");
        let names = ["aes128", "ctr-drbg-aes128", "hmac-sha256", "sha256"];
        let folders = names.map(|name| format!("generated/{name}/build/classes"));
        java.arg("-cp").arg(format!("classes:{}", folders.join(":")));
        java.args(["-Djava.security.properties=headrace.security", "Strongbox"]);
        java
    };
    followed.refuses(strongbox, "ours.box");
}

#[test]
fn a_program_finds_packages_with_cmake_and_pkg_config() {
    if !tools_are_here(&["cmake", "cc", "pkg-config"]) || !openssl_is_here() {
        return;
    }
    let followed = follow("cmake");
    followed.sums_agree();
    // Who says nothing of how it is to be built gets fast code.
    let mut configure = Command::new("cmake");
    configure.args(["-S", "generated/sha256", "-B", "plain", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]);
    followed.folder.run_in(&followed.here, configure.env_remove("CMAKE_BUILD_TYPE").env_remove("CFLAGS"));
    let compiled = std::fs::read_to_string(followed.here.join("plain/compile_commands.json")).expect("CMake wrote it");
    assert!(compiled.contains(" -O3 "), "{compiled}");
    for program in ["build/strongbox", "strongbox"] {
        followed.refuses(|| Command::new(followed.here.join(program)), "box");
    }
}

#[test]
fn programs_for_openssl_are_served_by_the_provider() {
    if !tools_are_here(&["make", "cc"]) || !openssl_is_here() {
        return;
    }
    if !Path::new("/usr/include/openssl/core_dispatch.h").exists() {
        eprintln!("not run: no headers of OpenSSL 3");
        return;
    }
    let followed = follow("openssl");
    followed.sums_agree();
    followed.says(&["AES-128-CTR: default", "AES-128-CTR: headrace", "HMAC: headrace", "SHA256: headrace"]);
    let readme = std::fs::metadata(followed.here.join("README.md")).expect("it is there").len();
    let served = std::fs::read_to_string(followed.here.join("served")).expect("the provider counts");
    // By `openssl enc` and `dgst`, by `lock`, `open` and `fingerprint`; an HMAC takes the initial block, too.
    let expected = [
        ("AES-128-CTR", readme),
        ("SHA2-256", readme),
        ("AES-128-CTR", readme),
        ("HMAC", readme + 16),
        ("AES-128-CTR", readme),
        ("HMAC", readme + 16),
        ("SHA2-256", readme),
    ];
    let expected = expected.map(|(name, bytes)| format!("{name} {bytes}\n")).concat();
    // How often the command begins a message that it then goes on with is its own affair.
    let without_messages = |line: &str| {
        let parts: Vec<&str> = line.split(' ').collect();
        assert_ne!(parts[1], "0", "{served}");
        format!("{} {}\n", parts[0], parts[2])
    };
    assert_eq!(served.lines().map(without_messages).collect::<String>(), expected, "{served}");
    followed.refuses(|| Command::new(followed.here.join("strongbox")), "ours.box");
}
