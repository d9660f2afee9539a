//! Networks as hardware show what the interpreter shows: designs on the simulator of `rtl`, through their text, and what is
//! printed of them in Verilog on Icarus, a few on Verilator, and in VHDL on GHDL, with stalls by chance.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

mod support;

use headrace::toolchains::find;
use headrace_engine::Engine;
use headrace_exchange::Running;
use headrace_hardware::{Datapath, Options};
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_targets::Options as Printing;
use headrace_targets::Target;
use headrace_targets::project::Recording;
use headrace_targets::toolchain;
use headrace_testkit::differential::storage;
use headrace_testkit::hardware::{self, RandomNetwork, design, lacks_something, messages, random_case};
use headrace_testkit::peers::library::Shipped;
use std::path::Path;
use std::process::Command;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more, from the seed `HEADRACE_PRINTED_FIRST` on.
const CASES: u64 = 40;

/// Of these, so many are simulated in each language,
const SIMULATED: u64 = 12;

/// and so many on Verilator, which compiles for seconds what runs for none.
const VERILATED: u64 = 1;

fn asked(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_networks_show_what_the_interpreter_shows() {
    let first = asked("HEADRACE_PRINTED_FIRST", 0);
    let cases = asked("HEADRACE_PRINTED_CASES", CASES);
    let mut compared = 0;
    let mut failures = Vec::new();
    for seed in first..first + cases {
        match random_case(seed) {
            Ok(was) => compared += u64::from(was.is_some()),
            Err(why) => failures.push(format!("seed {seed}: {why}")),
        }
    }
    println!("{compared} of {cases} networks were compared");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(compared * 2 >= cases, "only {compared} of {cases} networks can be hardware");
}

/// Whether the project of a network was simulated; it is not where how far a run gets is up to the sizes of FIFOs.
fn simulated(target: &Target, seed: u64, make: &str, simulator: &str, folder: &Path) -> Result<bool, String> {
    let one = RandomNetwork::new(seed)?;
    if one.expected.lacks_room {
        return Ok(false);
    }
    let inputs = one.network.inputs.iter().map(|port| {
        let stream = one.case.inputs.iter().find(|stream| stream.port == port.name);
        stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|token| storage(token, port.ty)).collect())
    });
    let recording = Recording { inputs: inputs.collect(), outputs: one.expected.outputs.clone() };
    let options = Printing { fifo_tokens: one.fifo_tokens, ..Printing::default() };
    let of_network = target.of_network.expect("networks have a place");
    let files = match of_network(&one.network, Some(&recording), &options) {
        Ok(files) => files,
        Err(problems) if lacks_something(&problems) => return Ok(false),
        Err(problems) => return Err(messages(&problems)),
    };
    let folder = folder.join(seed.to_string());
    for (path, bytes) in &files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    let mut command = Command::new(make);
    command.arg("-s").arg("-C").arg(&folder);
    let variable = if target.name == "vhdl" { "GHDL" } else { "SIM" };
    command.args([format!("{variable}={simulator}"), format!("SEED={seed}"), format!("STALL={}", seed % 3 * 40)]);
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && complained.is_empty() { Ok(true) } else { Err(format!("{said}{complained}")) }
}

/// Random networks as projects of the target of a toolchain, with its tools: so many unless more are asked for.
fn simulate_some(name: &str, usual: u64) {
    let has = |target: &&Target| target.toolchains.iter().any(|toolchain| toolchain.name == name);
    let target = headrace_targets::ALL.iter().find(has).expect("a target");
    let found = match find(toolchain::named(name).expect("a toolchain"), None, None) {
        Ok(found) => found,
        Err(why) => return eprintln!("not run: {name}: {why}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let first = asked("HEADRACE_PRINTED_FIRST", 0);
    let cases = asked("HEADRACE_PRINTED_CASES", usual);
    let mut compared = 0;
    let mut failures = Vec::new();
    for seed in first..first + cases {
        match simulated(target, seed, &found.commands[1], &found.commands[0], folder.path()) {
            Ok(was) => compared += u64::from(was),
            Err(why) => failures.push(format!("seed {seed}: {why}")),
        }
    }
    println!("{compared} of {cases} networks were simulated");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(compared * 3 >= cases || cases < 3, "only {compared} of {cases} networks were simulated");
}

#[test]
fn random_networks_in_verilog_show_what_the_interpreter_shows() {
    simulate_some("verilog-icarus", SIMULATED);
    simulate_some("verilog", VERILATED);
}

#[test]
fn random_networks_in_vhdl_show_what_the_interpreter_shows() {
    simulate_some("vhdl", SIMULATED);
}

/// The first messages of an operation, on both.
fn operation(shipped: &Shipped, spec: &OperationSpec) -> Result<(), String> {
    let network = shipped.network(spec, &spec.variants[0].name)?;
    // Of actors: `crates/hardware/tests/datapath.rs` has ciphers as datapaths, on fewer messages.
    let options = Options { datapath: Datapath::Never, ..Options::default() };
    let Some(design) = design(&network, &options)? else { return Err("it is refused".to_owned()) };
    for message in samples::messages(spec).iter().take(2) {
        let wanted = support::running(spec, &network).perform(message);
        let engine = hardware::engine(&network, &design, 1)?;
        let shown = Running::new(spec, &network, Box::new(engine) as Box<dyn Engine>).perform(message);
        if shown != wanted {
            return Err(format!("{shown:?} and not {wanted:?}"));
        }
    }
    Ok(())
}

#[test]
fn operations_of_several_shapes_show_what_the_interpreter_shows() {
    let shipped = Shipped::read(&text::repository()).expect("the library");
    let mut failures = Vec::new();
    for (set, name) in [("hex", "encode"), ("lfsr16-galois", "generate"), ("aes128", "encrypt")] {
        let found = shipped.library.operations().iter().find(|spec| spec.set == set && spec.name == name);
        let Some(spec) = found else {
            failures.push(format!("{set} has no {name}"));
            continue;
        };
        if let Err(why) = operation(&shipped, spec) {
            failures.push(format!("{set} {name}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}
