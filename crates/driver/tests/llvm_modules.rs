//! Projects that `headrace build --target llvm` makes: they compile without a warning and give the known answers, linked by
//! clang and in `lli`, with the oldest LLVM that takes them and with the newest found here.

use std::path::Path;
use std::process::Command;

/// Runs a command, which must end well, and gives all that it said.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// Versions of LLVM whose clang and lli are here.
fn versions() -> Vec<&'static str> {
    let answers =
        |tool: String| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    let found: Vec<&str> = ["16", "19"]
        .into_iter()
        .filter(|version| ["clang", "llvm-link", "lli"].iter().all(|tool| answers(format!("{tool}-{version}"))))
        .collect();
    if found.is_empty() {
        eprintln!("not run: neither LLVM 16 nor 19 is here (scripts/tools.sh llvm)");
    }
    found
}

/// Builds a project and runs its test both ways; gives what the tests said.
fn built_and_run(folder: &Path, what: &[&str]) -> String {
    let name = Path::new(what[0]).file_name().expect("a name");
    let project = folder.join("projects").join(name);
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    run(build.current_dir(folder).arg("build").args(what).args(["--target", "llvm", "-o"]).arg(&project));
    let mut said = String::new();
    for version in versions() {
        let clang = format!("CLANG=clang-{version}");
        for goal in ["test", "lli"] {
            let mut make = Command::new("make");
            said += &run(make.current_dir(&project).args(["-s", "-j2", goal, &clang, "CFLAGS=-O1"]));
        }
        run(Command::new("make").current_dir(&project).args(["-s", "clean", &clang]));
    }
    // That of the runtime says what clang compiles it for.
    let warned = said.lines().any(|line| line.contains("warning") && !line.contains("different data layouts"));
    assert!(!warned, "{what:?}:\n{said}");
    said
}

/// The same for a project with known answers.
fn built_and_tested(folder: &Path, what: &[&str]) {
    let said = built_and_run(folder, what);
    let passed = said.lines().filter(|line| line.ends_with(" passed, 0 failed") && !line.contains(": 0 passed"));
    assert_eq!(passed.count(), 2 * versions().len(), "{what:?}:\n{said}");
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
    let said = built_and_run(folder.path(), &["Wide.cal"]);
    assert_eq!(said.matches("the streams are those of the interpreter").count(), 2 * versions().len(), "{said}");
}

#[test]
fn modules_may_be_optimised_before_it_is_known_what_they_are_for() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    run(build.current_dir(folder.path()).args(["build", "sha256", "--target", "llvm", "-o", "sha256"]));
    // What one of them has optimised, an older one might not read.
    if let Some(version) = versions().last() {
        let mut optimise = Command::new(format!("opt-{version}"));
        let optimise = optimise.current_dir(folder.path().join("sha256/src"));
        run(optimise.args([
            "-passes=verify,default<O2>",
            "sha256_hash_network.ll",
            "-S",
            "-o",
            "sha256_hash_network.ll",
        ]));
        let mut make = Command::new("make");
        let make = make.current_dir(folder.path().join("sha256"));
        let said = run(make.args(["-s", "test", &format!("CLANG=clang-{version}")]));
        assert!(said.contains(" passed, 0 failed"), "{said}");
        // Places of 32 bits, too.
        let mut compile = Command::new(format!("llc-{version}"));
        let compile = compile.current_dir(folder.path().join("sha256/src"));
        run(compile.args(["-mtriple=i386-linux-gnu", "sha256_hash_network.ll", "-o", "sha256_hash_network.s"]));
    }
}
