//! Crates that `headrace build --target rust` makes: they compile without a warning and give the known answers.

use std::path::Path;
use std::process::Command;

/// Runs a command, which must end well, and gives all that it said.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// Builds a crate and runs its test, in a target folder for all; gives what the test said.
fn built_and_run(folder: &Path, what: &[&str]) -> String {
    let name = Path::new(what[0]).file_name().expect("a name");
    let project = folder.join("projects").join(name);
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    run(build.current_dir(folder).arg("build").args(what).args(["--target", "rust", "-o"]).arg(&project));
    let mut test = Command::new(env!("CARGO"));
    test.current_dir(&project).args(["test", "--offline"]).env("CARGO_TARGET_DIR", folder.join("target"));
    let said = run(&mut test);
    assert!(!said.contains("warning"), "{what:?}:\n{said}");
    said
}

/// The same, which must test something.
fn built_and_tested(folder: &Path, what: &[&str]) {
    let said = built_and_run(folder, what);
    let passed = |line: &&str| line.starts_with("test result: ok. ") && !line.contains(" 0 passed");
    assert!(said.lines().any(|line| passed(&line)), "{what:?} tests nothing:\n{said}");
}

#[test]
fn operations_of_every_shape_give_known_answers() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for what in [
        &["aes128", "--operation", "encrypt", "--operation", "ctr", "--operation", "cbc-decrypt"][..],
        &["chacha20"],
        &["sha256"],
        &["aes128-cmac"],
        &["ascon-aead128"],
        &["ctr-drbg-aes128"],
    ] {
        built_and_tested(folder.path(), what);
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let wide = "actor Wide() uint(size=100) In, int(size=7) Small ==> uint(size=100) Out, bool Odd:
        int(size=130) sum := -1;
        action In:[x], Small:[y] ==> Out:[sum / 3], Odd:[(sum & 1) = 1]
        do sum := sum * 5 + (x << 9) - y; end
    end";
    std::fs::write(folder.path().join("Wide.cal"), wide).expect("the folder is writable");
    built_and_tested(folder.path(), &["Wide.cal"]);
}

#[test]
fn natives_and_prints_reach_the_host() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let tells = "actor Tells() uint(size=8) In ==> uint(size=8) Out:
        action In:[x] ==> Out:[x + 1] do println(x); end
    end";
    std::fs::write(folder.path().join("Tells.cal"), tells).expect("the folder is writable");
    built_and_tested(folder.path(), &["Tells.cal"]);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    for name in ["CopiesInput.cal", "NativeInGuard.cal", "Halves.cal"] {
        built_and_run(folder.path(), &[&programs.join(name).display().to_string()]);
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
