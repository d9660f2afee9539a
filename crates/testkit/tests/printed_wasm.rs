//! Networks printed as WebAssembly, run by Node.js: conformance programs and random networks must show what the interpreter
//! shows.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

#[expect(dead_code, reason = "each test uses a part of it")]
mod sidecar;

#[path = "support/conformance.rs"]
mod conformance;

use headrace_interp::{Interpreter, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_program::{Module, Print, Stmt};
use headrace_targets::c::Options;
use headrace_targets::wasm::project::{Printed, WRAPPER, printed};
use headrace_testkit::differential::{interpreted, program, storage};
use headrace_testkit::generate::{Case, Cuts, Knobs, generate};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more.
const CASES: u64 = 100;

/// Moves tokens through every network until nothing moves, and shows streams and prints.
const RUNNER: &str = r"
import { readFileSync } from 'node:fs';
import { Network, Status, load } from './network.js';

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array, i8: Int8Array, i16: Int16Array,
  i32: Int32Array, i64: BigInt64Array, f32: Float32Array, f64: Float64Array };
const cases = JSON.parse(readFileSync('cases.json', 'utf8'));
for (const [at, { inputs, outputs }] of cases.entries()) {
  const code = await load(new URL(`./case_${at}.wasm`, import.meta.url));
  const other = new Network(code, inputs, outputs);
  const network = new Network(code, inputs, outputs);
  const left = inputs.map(({ element, hex }) => new KINDS[element](new Uint8Array(Buffer.from(hex, 'hex')).buffer));
  const made = outputs.map(() => []);
  const printed = [];
  const host = { print: (bytes) => printed.push(Buffer.from(bytes).toString('hex')) };
  let status = Status.IDLE;
  for (let moved = 1; moved > 0 && status === Status.IDLE; ) {
    moved = 0;
    inputs.forEach(({ words }, port) => {
      const n = network.write(port, left[port]);
      left[port] = left[port].subarray(n * words);
      moved += n;
    });
    status = network.run(undefined, host);
    outputs.forEach((_, port) => {
      const tokens = network.read(port);
      made[port].push(Buffer.from(tokens.buffer).toString('hex'));
      moved += tokens.length;
    });
  }
  made.forEach((pieces, port) => console.log(`${at} ${port} ${pieces.join('')}`));
  console.log(`${at} printed ${printed.join('')}`);
  console.log(`${at} ended ${status}`);
  network.clear();
  other.clear();
}
";

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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("digits")).collect()
}

/// A network as the runner takes it, with what goes into each input.
fn case(module: &Module, inputs: &[Vec<u8>]) -> String {
    let name = |id: headrace_program::FunctionId| &module.function(id).name;
    let inputs = module.interface.inputs.iter().zip(inputs).map(|(port, tokens)| {
        let (element, words, tokens) = (port.element, port.words, hex(tokens));
        let write = name(port.write);
        format!(r#"{{ "write": "{write}", "element": "{element}", "words": {words}, "hex": "{tokens}" }}"#)
    });
    let outputs = module.interface.outputs.iter().map(|port| {
        let (read, waiting) = (name(port.read), name(port.waiting));
        let (element, words) = (port.element, port.words);
        format!(r#"{{ "read": "{read}", "waiting": "{waiting}", "element": "{element}", "words": {words} }}"#)
    });
    let (inputs, outputs): (Vec<String>, Vec<String>) = (inputs.collect(), outputs.collect());
    format!(r#"{{ "inputs": [{}], "outputs": [{}] }}"#, inputs.join(", "), outputs.join(", "))
}

/// Runs all of them in one process.
fn run(networks: &[(Printed, Vec<Vec<u8>>)]) -> Vec<Seen> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).expect("it is writable");
    write(WRAPPER.0, WRAPPER.1.as_bytes());
    write("package.json", br#"{ "type": "module" }"#);
    write("main.js", RUNNER.as_bytes());
    let mut cases = Vec::new();
    for (at, (printed, inputs)) in networks.iter().enumerate() {
        write(&format!("case_{at}.wasm"), &printed.binary);
        cases.push(case(&printed.lowered, inputs));
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

/// Lines by the actor that printed them.
fn lines(printed: &[u8]) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(printed).lines() {
        let (actor, rest) = line.split_once(':').unwrap_or(("", line));
        out.entry(actor.to_owned()).or_default().push(rest.to_owned());
    }
    out
}

fn compiled(network: &Network, fifo_tokens: u32) -> Printed {
    let options = Options { fifo_tokens, ..Options::default() };
    printed(network, &options).unwrap_or_else(|problems| panic!("{}: {problems:?}", network.name))
}

#[test]
fn random_networks_show_what_the_interpreter_shows() {
    if !has_node() {
        return;
    }
    let asked = std::env::var("HEADRACE_PRINTED_CASES").ok().and_then(|text| text.parse().ok());
    let first: u64 = std::env::var("HEADRACE_PRINTED_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let cases: Vec<(u64, Case)> =
        (first..first + asked.unwrap_or(CASES)).map(|seed| (seed, generate(seed, &Knobs::default()))).collect();
    let mut networks = Vec::new();
    let mut expected = Vec::new();
    for (seed, case) in &cases {
        let network = program::elaborate(case, &Cuts::default()).unwrap_or_else(|why| panic!("{seed}: {why}"));
        let network = Arc::new(network);
        // Small FIFOs are full more often.
        let fifo_tokens = if seed % 2 == 0 { DEFAULT_FIFO_TOKENS } else { 1 + (seed % 8) as u32 };
        let inputs = network.inputs.iter().map(|port| {
            let stream = case.inputs.iter().find(|stream| stream.port == port.name);
            stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|v| storage(v, port.ty)).collect())
        });
        networks.push((compiled(&network, fifo_tokens), inputs.collect()));
        let shown = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, fifo_tokens, false);
        expected.push(shown.unwrap_or_else(|verdict| panic!("{seed}: {verdict}")));
    }
    let seen = run(&networks);
    for (((seed, _), seen), expected) in cases.iter().zip(&seen).zip(&expected) {
        assert_eq!(seen.status, "0", "seed {seed}");
        assert_eq!(seen.streams, expected.outputs, "seed {seed}");
        assert_eq!(lines(&seen.printed), expected.printed, "seed {seed}, what was printed");
    }
    let n_shown: usize = seen.iter().flat_map(|seen| &seen.streams).map(Vec::len).sum();
    assert!(n_shown > 100, "only {n_shown} bytes were shown");
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
