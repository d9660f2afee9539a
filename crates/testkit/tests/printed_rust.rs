//! Random networks printed in Rust: compiled together into one program, they must show what the interpreter shows.

use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_program::{Module, effects};
use headrace_targets::c::Options;
use headrace_targets::rust::project::of_network;
use headrace_testkit::differential::{Observed, interpreted, program, storage};
use headrace_testkit::generate::{Case, Cuts, Knobs, generate};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more.
const CASES: u64 = 30;

/// What every program has beside its networks.
const HARNESS: &str = r#"
struct Collected(Vec<u8>);

impl host::Host for Collected {
    fn print(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }
    fn print_real(&mut self, _: f64, _: u32) {}
    fn native(&mut self, _: &str, _: &mut [host::Argument<'_>]) -> Option<i64> {
        None
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
"#;

struct One {
    case: Case,
    network: Arc<Network>,
    expected: Observed,
}

fn one(seed: u64) -> One {
    let case = generate(seed, &Knobs::default());
    let network = program::elaborate(&case, &Cuts::default()).unwrap_or_else(|verdict| panic!("{seed}: {verdict}"));
    let network = Arc::new(network);
    let expected = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, DEFAULT_FIFO_TOKENS, false)
        .unwrap_or_else(|verdict| panic!("{seed}: {verdict}"));
    One { case, network, expected }
}

/// The function that runs a network and shows what came of it.
fn runner(at: usize, one: &One, module: &Module) -> String {
    let Module { interface, .. } = module;
    let host = if effects::reach_host(module)[interface.run.index()] { ", &mut host" } else { "" };
    let mut text = format!(
        "\nfn run_{at}() {{\n    let mut context = Box::new(network_{at}::Context::new());\n    let mut host = Collected(Vec::new());\n    let _ = &mut host;\n"
    );
    let (mut moves, mut shows) = (String::new(), String::new());
    for (number, (port, declared)) in interface.inputs.iter().zip(&one.network.inputs).enumerate() {
        let stream = one.case.inputs.iter().find(|stream| stream.port == declared.name);
        let bytes: Vec<u8> =
            stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|v| storage(v, declared.ty)).collect());
        let values = bytes.chunks_exact(port.element.bytes() as usize).map(|bytes| {
            let value = port.element.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
            if port.element.is_signed() { (value as i64).to_string() } else { value.to_string() }
        });
        let values: Vec<String> = values.collect();
        let _ = writeln!(text, "    let mut in_{number}: &[{}] = &[{}];", port.element, values.join(", "));
        let write = &module.function(port.write).name;
        let _ = write!(
            moves,
            "        let n = context.{write}(in_{number});\n        in_{number} = &in_{number}[n * {}..];\n        moved += n;\n",
            port.words
        );
    }
    let _ = writeln!(moves, "        assert_eq!(context.run(u64::MAX{host}), host::Status::Idle);");
    for (number, port) in interface.outputs.iter().enumerate() {
        let _ = writeln!(text, "    let mut out_{number}: Vec<u8> = Vec::new();");
        let read = &module.function(port.read).name;
        let _ = write!(
            moves,
            "        let mut tokens = [0; {0} * 40];\n        let n = context.{read}(&mut tokens);\n        \
             tokens[..n * {0}].iter().for_each(|token| out_{number}.extend(token.to_le_bytes()));\n        moved += n;\n",
            port.words
        );
        let _ = writeln!(shows, "    println!(\"{at} {number} {{}}\", hex(&out_{number}));");
    }
    let _ = write!(
        text,
        "    loop {{\n        let mut moved = 0;\n{moves}        if moved == 0 {{\n            break;\n        }}\n    }}\n{shows}    println!(\"{at} printed {{}}\", hex(&host.0));\n}}\n"
    );
    text
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("digits")).collect()
}

/// Lines by the actor that printed them.
fn lines(printed: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(printed).lines() {
        let (actor, rest) = line.split_once(':').unwrap_or(("", line));
        out.entry(actor.to_owned()).or_default().push(rest.to_owned());
    }
    out
}

#[test]
fn printed_rust_shows_what_the_interpreter_shows() {
    let asked = std::env::var("HEADRACE_PRINTED_CASES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("HEADRACE_PRINTED_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let all: Vec<One> = (first..first + asked.unwrap_or(CASES)).map(one).collect();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).expect("it is writable");
    let mut main = format!("mod host;\n{HARNESS}");
    let mut calls = String::new();
    for (at, one) in all.iter().enumerate() {
        let files =
            of_network(&one.network, None, &Options::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
        write(&format!("network_{at}.rs"), &files["src/network.rs"]);
        write("host.rs", &files["src/host.rs"]);
        let module = headrace_lowering::lower(&one.network, &headrace_lowering::Options::default()).expect("lowered");
        main = format!("mod network_{at};\n{main}{}", runner(at, one, &module));
        let _ = writeln!(calls, "        run_{at}();");
    }
    let _ = write!(
        main,
        "\nfn main() {{\n    let all = || {{\n{calls}    }};\n    std::thread::Builder::new().stack_size(1 << 28).spawn(all).unwrap().join().unwrap();\n}}\n"
    );
    // Of the harness, not of what is printed.
    main.insert_str(0, "#![allow(unused_mut)]\n");
    write("main.rs", main.as_bytes());
    let said = compiled_and_run(folder.path());
    let mut n_shown = 0;
    for line in said.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (at, what, shown) = (word().parse::<usize>().expect("a number"), word().to_owned(), bytes(word()));
        let seed = first + at as u64;
        n_shown += shown.len();
        match what.parse::<usize>() {
            Ok(port) => assert_eq!(all[at].expected.outputs[port], shown, "seed {seed}, output {port}"),
            Err(_) => assert_eq!(all[at].expected.printed, lines(&shown), "seed {seed}, what was printed"),
        }
    }
    assert!(n_shown > 100, "only {n_shown} bytes were shown");
}

/// With checks of overflows, which printed code must never meet, and no warning.
fn compiled_and_run(folder: &Path) -> String {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut compile = Command::new(rustc);
    compile.current_dir(folder).args(["--edition", "2024", "-C", "debug-assertions", "-D", "warnings", "main.rs"]);
    let output = compile.output().expect("rustc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.join("main")).output().expect("what was compiled starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("digits")
}
