//! Crates that `headrace build --target rust` makes: they compile without a warning and give the known answers.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::Folder;
use std::process::Command;

/// Builds a crate and runs its test, in a target folder for all; gives what the test said.
fn built_and_run(folder: &Folder, what: &[&str]) -> String {
    let project = folder.build("rust", what);
    let target = project.with_file_name("target");
    let mut test = Command::new(env!("CARGO"));
    let said = folder.run_in(&project, test.args(["test", "--offline"]).env("CARGO_TARGET_DIR", target));
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    said
}

/// The same, which must test something.
fn built_and_tested(folder: &Folder, what: &[&str]) {
    let said = built_and_run(folder, what);
    let passed = |line: &&str| line.starts_with("test result: ok. ") && !line.contains(" 0 passed");
    assert!(said.lines().any(|line| passed(&line)), "{what:?} tests nothing:\n{said}");
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = Folder::new();
    for what in [
        &["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..],
        &["chacha20"],
        &["sha256"],
        &["aes128-cmac"],
        &["ascon-aead128"],
        &["ctr-drbg-aes128"],
    ] {
        built_and_tested(&folder, what);
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    built_and_tested(&folder, &folder.write_wide());
}

#[test]
fn natives_and_prints_reach_the_host() {
    let folder = Folder::new();
    built_and_tested(&folder, &folder.write_tells());
    for program in projects::conformance() {
        built_and_run(&folder, &[&program]);
    }
}

#[test]
fn nothing_is_tuned_where_nothing_is_fused() {
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    let output =
        build.args(["build", "chacha20", "--target", "rust", "--tune", "-o", "x"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("target rust prints no loops"));
}
