//! Random networks in the language of every target show what the interpreter shows.

use headrace::toolchains::find;
use headrace_targets::toolchain;
use headrace_testkit::printed::campaign::{Plan, campaign};
use headrace_testkit::printed::named;

/// So many networks in a language, unless `HEADRACE_PRINTED_CASES` asks for more, from the seed `HEADRACE_PRINTED_FIRST` on.
/// `make test` goes on with more, as far as its time goes.
fn tested(name: &str, compiler: Option<&str>, cases: u64) {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first_seed = asked("HEADRACE_PRINTED_FIRST").unwrap_or(0);
    tested_from(first_seed, name, compiler, asked("HEADRACE_PRINTED_CASES").unwrap_or(cases));
}

/// So many networks in a language, from a seed on.
fn tested_from(first_seed: u64, name: &str, compiler: Option<&str>, cases: u64) {
    let (language, toolchain) = (named(name).expect("a language"), toolchain::named(name).expect("a toolchain"));
    let found = match find(toolchain, compiler, None) {
        Ok(found) => found,
        Err(why) => {
            eprintln!("not run: {name}: {why}");
            return;
        }
    };
    let plan = Plan { first_seed, cases: Some(cases), ..Plan::default() };
    let summary = campaign(language, &found, &plan, &|line| eprintln!("{line}"));
    assert!(summary.failures.is_empty(), "{:?}", summary.failures);
    assert_eq!(summary.cases, cases);
    assert!(summary.telling * 2 > cases, "only {} of {cases} have any output", summary.telling);
}

#[test]
fn rust_shows_what_the_interpreter_shows() {
    tested("rust", None, 10);
}

#[test]
fn cpp_shows_what_the_interpreter_shows() {
    tested("cpp", Some("g++"), 10);
    tested("cpp", Some("clang++"), 10);
}

/// gcc warned of what it made of them: complements of widened numbers that are compared, signed constants that are widened.
#[test]
fn networks_that_were_warned_of_compile_without_warnings() {
    for seed in [2670, 4004, 5223] {
        tested_from(seed, "cpp", Some("g++"), 1);
    }
}

#[test]
fn java_shows_what_the_interpreter_shows() {
    tested("java", None, 20);
}

#[test]
fn webassembly_shows_what_the_interpreter_shows() {
    tested("wasm", None, 40);
}

#[test]
fn modules_and_c_show_what_the_interpreter_shows_in_programs() {
    tested("llvm", None, 10);
    tested("c", None, 10);
    for elsewhere in ["c-aarch64", "c-arm", "c-riscv64"] {
        tested(elsewhere, None, 10);
    }
}

/// A tool that does not do what it should is found out, and so is the network that it goes wrong with.
#[cfg(unix)]
#[test]
fn what_a_wrong_tool_makes_fails() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let tool = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n[ \"$1\" = --version ] && echo v99.0 && exit 0\n{text}\n"))
            .expect("it is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        path.display().to_string()
    };
    let language = named("wasm").expect("a language");
    let failing = |tool: &str| {
        let found = find(toolchain::named("wasm").expect("a toolchain"), Some(tool), None).expect("it answers");
        let plan = Plan { cases: Some(4), ..Plan::default() };
        campaign(language, &found, &plan, &|_| ()).failures
    };
    assert_eq!(failing(&tool("silent", "exit 0")).len(), 4);
    let dead = failing(&tool("dead", "exit 9"));
    assert!(dead.len() == 4 && dead.iter().all(|(_, why)| why.contains("exit status: 9")), "{dead:?}");
    if find(toolchain::named("wasm").expect("a toolchain"), None, None).is_ok() {
        // One digit of what is shown becomes another.
        let other = tool("other", "node \"$@\" | sed 's/0\\([0-9a-f]\\)$/1\\1/;t;s/1\\([0-9a-f]\\)$/0\\1/'");
        assert!(!failing(&other).is_empty());
    }
}
