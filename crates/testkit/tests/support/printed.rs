//! Random networks for tests of what is printed in a language: programs with many of them show what came out as lines, and
//! these are held to what the interpreter shows.
//!
//! A line is `NETWORK OUTPUT BYTES`, or `NETWORK printed BYTES`, with the bytes in hexadecimal digits.

use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_program::Module;
use headrace_testkit::differential::{Observed, interpreted, program, storage};
use headrace_testkit::generate::{Case, Cuts, Knobs, generate};
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

/// A random network.
pub struct One {
    seed: u64,
    case: Case,
    pub network: Arc<Network>,
    /// What it is lowered to.
    pub module: Module,
    expected: Observed,
}

fn one(seed: u64) -> One {
    let case = generate(seed, &Knobs::default());
    let network = program::elaborate(&case, &Cuts::default()).unwrap_or_else(|verdict| panic!("{seed}: {verdict}"));
    let network = Arc::new(network);
    let expected = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, DEFAULT_FIFO_TOKENS, false)
        .unwrap_or_else(|verdict| panic!("{seed}: {verdict}"));
    let module = headrace_lowering::lower(&network, &headrace_lowering::Options::default()).expect("lowered");
    One { seed, case, network, module, expected }
}

/// So many networks, unless `HEADRACE_PRINTED_CASES` asks for more, from the seed `HEADRACE_PRINTED_FIRST` on.
pub fn networks(cases: u64) -> Vec<One> {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = asked("HEADRACE_PRINTED_FIRST").unwrap_or(0);
    (first..first + asked("HEADRACE_PRINTED_CASES").unwrap_or(cases)).map(one).collect()
}

impl One {
    /// The stored tokens that go into an input.
    pub fn input(&self, number: usize) -> Vec<u8> {
        let declared = &self.network.inputs[number];
        let stream = self.case.inputs.iter().find(|stream| stream.port == declared.name);
        stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|v| storage(v, declared.ty)).collect())
    }
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

/// Holds what a program showed to what the interpreter shows.
pub fn judge(all: &[One], said: &str) {
    let (mut n_shown, mut n_lines) = (0, 0);
    for line in said.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (at, what, shown) = (word().parse::<usize>().expect("a number"), word().to_owned(), bytes(word()));
        n_shown += shown.len();
        n_lines += 1;
        let One { seed, expected, .. } = &all[at];
        match what.parse::<usize>() {
            Ok(port) => assert_eq!(expected.outputs[port], shown, "seed {seed}, output {port}"),
            Err(_) => assert_eq!(expected.printed, lines(&shown), "seed {seed}, what was printed"),
        }
    }
    let wanted: usize = all.iter().map(|one| one.network.outputs.len() + 1).sum();
    assert_eq!(n_lines, wanted, "lines");
    assert!(n_shown > 100, "only {n_shown} bytes were shown");
}

/// Runs a command, which must end well, and gives what it said on its standard output.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{}{said}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stdout).expect("text")
}

/// Whether a tool is there; says so where it is not.
#[allow(dead_code, reason = "not each test needs it")]
pub fn is_here(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no {tool}");
    }
    found
}
