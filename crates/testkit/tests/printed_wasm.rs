//! Networks printed as WebAssembly, run by Node.js: conformance programs must show what the interpreter shows.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

#[expect(dead_code, reason = "each test uses a part of it")]
mod sidecar;

#[path = "support/conformance.rs"]
mod conformance;

use headrace_interp::Interpreter;
use headrace_ir::Network;
use headrace_program::{Print, Stmt};
use headrace_targets::Options;
use headrace_targets::wasm::project::{Printed, WRAPPER, printed};
use headrace_testkit::printed::wasm::{RUNNER, case};
use std::path::Path;
use std::process::Command;

/// What a network showed: streams, prints, status.
#[derive(Debug, Default)]
struct Seen {
    streams: Vec<Vec<u8>>,
    printed: Vec<u8>,
    status: String,
}

fn has_node() -> bool {
    let found = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no node (on Debian: apt-get install nodejs)");
    }
    found
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("digits")).collect()
}

/// Runs all of them in one process.
fn run(networks: &[(Printed, Vec<Vec<u8>>)]) -> Vec<Seen> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).expect("it is writable");
    WRAPPER.iter().for_each(|(name, text)| write(name, text.as_bytes()));
    write("main.js", RUNNER.as_bytes());
    let mut cases = Vec::new();
    for (at, (printed, inputs)) in networks.iter().enumerate() {
        write(&format!("case_{at}.wasm"), &printed.binary);
        cases.push(case(at, &printed.lowered, inputs));
    }
    write("cases.json", format!("[{}]", cases.join(",\n")).as_bytes());
    let said = node(folder.path());
    let mut seen: Vec<Seen> = networks.iter().map(|_| Seen::default()).collect();
    for line in said.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (at, what, shown) = (word().parse::<usize>().expect("a number"), word(), word());
        match what {
            "printed" => seen[at].printed = bytes(shown),
            "ended" => seen[at].status = shown.to_owned(),
            _ => seen[at].streams.push(bytes(shown)),
        }
    }
    seen
}

/// With a stack for calls that nest as deep as they may.
fn node(folder: &Path) -> String {
    let output = Command::new("node").current_dir(folder).args(["--stack-size=7000", "main.js"]).output();
    let output = output.expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("digits")
}

fn compiled(network: &Network, fifo_tokens: u32) -> Printed {
    let options = Options { fifo_tokens, ..Options::default() };
    printed(network, &options).unwrap_or_else(|problems| panic!("{}: {problems:?}", network.name))
}

/// True when a real is printed, which the host of the runner does not do, or a native is called.
fn wants_host(block: &[Stmt]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Native { .. } | Stmt::Print(Print::Real(..)) => true,
        _ => statement.blocks().into_iter().any(wants_host),
    })
}

#[test]
fn conformance_programs_show_what_the_interpreter_shows() {
    if !has_node() {
        return;
    }
    let mut networks = Vec::new();
    let mut expected = Vec::new();
    for program in conformance::programs() {
        let compiled = compiled(&program.network, program.fifo_tokens);
        if compiled.lowered.functions.iter().any(|function| wants_host(&function.body)) {
            continue;
        }
        let options = headrace_interp::Options { fifo_tokens: program.fifo_tokens, ..Default::default() };
        let judge = Interpreter::new(program.network.clone(), options);
        let mut judge = judge.unwrap_or_else(|problems| panic!("{}: {problems:?}", program.name));
        expected.push((program.name.clone(), program.show(&mut judge)));
        networks.push((compiled, program.inputs));
    }
    let seen = run(&networks);
    let mut failures = Vec::new();
    for ((name, (streams, printed, _, end)), seen) in expected.iter().zip(&seen) {
        let status = if end == "Idle" { "0" } else { "3" };
        if (&seen.streams, &seen.printed, seen.status.as_str()) != (streams, printed, status) {
            failures.push(format!("{name}: {seen:?} and not {streams:?} {printed:?} {end}"));
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(expected.len() > 50, "only {} programs", expected.len());
}
