//! Lowered programs against the interpreter: conformance programs and random networks must show the same, and what is
//! lowered must be what printers rely on.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

mod sidecar;

use headrace_exchange::Running;
use headrace_interp::{Interpreter, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network, Port, Scalar};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::known_answers::{Answer, CallInput, Plan, Verdict, cases};
use headrace_library::vectors::VectorFile;
use headrace_lowering::{Lanes, Options, Streams, lower, lower_fused};
use headrace_program::{Module, verify};
use headrace_source::SourceMap;
use headrace_targets::automata::automaton_of_operation;
use headrace_testkit::automata::{bits, parts, read_again};
use headrace_testkit::differential::{Stopped, difference, interpreted, observe, program, storage};
use headrace_testkit::generate::{Cuts, Knobs, Stream, generate};
use headrace_testkit::lowered::LoweredEngine;
use headrace_testkit::peers::library::Shipped;
use headrace_testkit::rng::Rng;
use headrace_transform::control::{Limits, automaton_of};
use headrace_transform::kernel::execute::{Bounds, Ended, beginning, execute};
use num_bigint::BigInt;
use sidecar::{Seen, run};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Random networks, unless `HEADRACE_LOWERED_CASES` asks for more.
const CASES: u64 = 50;

/// Random networks as automata, unless as many are asked for.
const AUTOMATA: u64 = 20;

/// How automata are lowered: few iterations at once, so that short messages have them. Functions for machines with features are
/// verified; the evaluator takes the way without.
const FUSED: Options = Options::of(512, Lanes { count: 2, longest: Some(40) })
    .with_nested_rotations()
    .with_vectors()
    .with_streams(Streams::All);

/// The verified module of a network.
fn lowered(network: &Network, fifo_tokens: u32) -> Result<Module, String> {
    let module = lower(network, &Options { fifo_tokens, ..Options::default() })
        .map_err(|problems| problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; "))?;
    verified(module)
}

fn verified(module: Module) -> Result<Module, String> {
    let problems = verify(&module);
    if problems.is_empty() { Ok(module) } else { Err(format!("{problems:#?}")) }
}

fn compare(network: &Arc<Network>, streams: &[Stream], fifo_tokens: u32) -> Result<(), String> {
    let module = lowered(network, fifo_tokens)?;
    compare_module(network, &module, streams, fifo_tokens)
}

fn compare_module(network: &Arc<Network>, module: &Module, streams: &[Stream], fifo_tokens: u32) -> Result<(), String> {
    let mut engine = LoweredEngine::new(network, module).map_err(|fault| fault.to_string())?;
    // What the context held before makes no difference.
    let half = |stream: &Stream| Stream { tokens: stream.tokens[..stream.tokens.len() / 2].to_vec(), ..stream.clone() };
    let _ = observe(&mut engine, network, &streams.iter().map(half).collect::<Vec<_>>());
    engine.restart().map_err(|fault| fault.to_string())?;
    let mut shown = observe(&mut engine, network, streams).map_err(|stopped| match stopped {
        Stopped::Trapped(message) => message,
        Stopped::RanAway => "ran away".to_owned(),
    })?;
    let expected = interpreted::interpret(network, streams, Order::RoundRobin, fifo_tokens, false)
        .map_err(|verdict| verdict.to_string())?;
    shown.firings.clear();
    match difference(&expected, &shown, true) {
        Some(text) => Err(text),
        None => Ok(()),
    }
}

fn random_case(seed: u64) -> Result<(), String> {
    let case = generate(seed, &Knobs::default());
    let network = Arc::new(program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?);
    let mut rng = Rng::new(!seed);
    let fifo_tokens = if rng.chance(50) { DEFAULT_FIFO_TOKENS } else { rng.range(1, 9) as u32 };
    compare(&network, &case.inputs, fifo_tokens)
}

/// Transitions of an execution, at most.
const MOST_TRANSITIONS: u64 = 20_000;

/// A random network as its automaton for the beginning of its input, or for all of it: the rest goes on in the
/// scheduler. Gives whether there was one.
fn random_automaton(seed: u64) -> Result<bool, String> {
    let case = generate(seed, &Knobs::default());
    let network = Arc::new(program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?);
    let mut rng = Rng::new(!seed);
    let streams = |port: &Port| {
        let stream = case.inputs.iter().find(|stream| stream.port == port.name);
        let tokens = stream.map_or(&[][..], |stream| &stream.tokens);
        tokens.iter().map(|token| bits(token, port.ty.width())).collect::<Vec<u128>>()
    };
    let inputs: Vec<Vec<u128>> = network.inputs.iter().map(streams).collect();
    let sample = parts(&inputs, &mut rng);
    let limits = Limits { states: 300, nodes: 100_000, ..Limits::default() };
    let Ok(automaton) = automaton_of(&network, &[sample], &limits) else { return Ok(false) };
    let Ok(module) = lower_fused(&network, &automaton, &FUSED) else { return Ok(false) };
    let module = verified(module)?;
    let automaton = read_again(&automaton)?;
    let mut world = beginning(&automaton, inputs, network.outputs.len());
    let bounds = Bounds { with_loops: false, transitions: MOST_TRANSITIONS };
    let execution = execute(&automaton, 0, &mut world, bounds);
    match execution.ended {
        // From there on the network does all that it can.
        Ended::Leaves(_) => compare_module(&network, &module, &case.inputs, DEFAULT_FIFO_TOKENS)?,
        // An automaton only does what somebody waits for.
        Ended::Waits(_) | Ended::Ends(_) => {
            let mut engine = LoweredEngine::new(&network, &module).map_err(|fault| fault.to_string())?;
            let shown = observe(&mut engine, &network, &case.inputs).map_err(|stopped| format!("{stopped:?}"))?;
            for ((port, tokens), bytes) in network.outputs.iter().zip(&world.outputs).zip(&shown.outputs) {
                let size = port.ty.storage_bytes();
                let stored = |&token: &u128| storage(&number(token, port.ty), port.ty);
                let expected: Vec<u8> = tokens.iter().flat_map(stored).collect();
                if expected != *bytes {
                    return Err(format!("`{}`: {bytes:02x?}, not {expected:02x?}, tokens of {size}", port.name));
                }
            }
        }
        Ended::Fails(_) | Ended::Stopped(_) => return Ok(false),
    }
    Ok(true)
}

/// The number that the bits of a token stand for.
fn number(bits: u128, scalar: Scalar) -> BigInt {
    let number = BigInt::from(bits);
    match scalar {
        Scalar::Int(ty) if ty.signed && bits >> (ty.width - 1) & 1 == 1 => number - (BigInt::from(1) << ty.width),
        _ => number,
    }
}

#[test]
fn random_networks_as_automata_show_what_the_interpreter_shows() {
    let asked = std::env::var("HEADRACE_LOWERED_CASES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("HEADRACE_LOWERED_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (failures, n_automata) = on_large_stack(move || {
        let (mut failures, mut n_automata) = (Vec::new(), 0);
        for seed in first..first + asked.unwrap_or(AUTOMATA) {
            match random_automaton(seed) {
                Ok(was_one) => n_automata += u64::from(was_one),
                Err(why) => failures.push(format!("seed {seed}: {why}")),
            }
        }
        (failures, n_automata)
    });
    println!("{n_automata} automata");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(n_automata > 0, "no network had an automaton");
}

/// On a large stack: the evaluator nests as the program does.
fn on_large_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(run).expect("a thread");
    thread.join().expect("the thread ends")
}

#[test]
fn random_networks_show_what_the_interpreter_shows() {
    let asked = std::env::var("HEADRACE_LOWERED_CASES").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("HEADRACE_LOWERED_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let failures: Vec<String> = on_large_stack(move || {
        (first..first + asked.unwrap_or(CASES))
            .filter_map(|seed| random_case(seed).err().map(|why| format!("seed {seed}: {why}")))
            .collect()
    });
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn conformance_programs_show_what_the_interpreter_shows() {
    let folder = text::repository().join("tests/conformance");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of programs")
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    names.sort();
    let failures: Vec<String> = on_large_stack(move || {
        names.iter().filter_map(|name| conformance(name).err().map(|why| format!("{name}: {why}"))).collect()
    });
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

fn conformance(name: &str) -> Result<(), String> {
    let folder = text::repository().join("tests/conformance");
    let sidecar = std::fs::read_to_string(folder.join(format!("{name}.toml"))).map_err(|error| error.to_string())?;
    let expected: toml::Table = sidecar.parse().map_err(|error: toml::de::Error| error.to_string())?;
    // Errors of the program are not reported, and limits count rounds: what both do is compared.
    if expected.contains_key("trap") || expected.contains_key("max_firings") {
        return Ok(());
    }
    let network = Arc::new(text::network(vec![folder, text::repository()], name, &[])?);
    let fifo_tokens = expected.get("fifo").and_then(toml::Value::as_integer).map_or(DEFAULT_FIFO_TOKENS, |n| n as u32);
    let module = lowered(&network, fifo_tokens)?;
    let mut engine = LoweredEngine::new(&network, &module).map_err(|fault| fault.to_string())?;
    let inputs = sidecar::inputs(&network, &expected)?;
    let shown = shown(run(&network, &inputs, &expected, &mut engine));
    let options = headrace_interp::Options { fifo_tokens, ..headrace_interp::Options::default() };
    let mut judge = Interpreter::new(network.clone(), options).map_err(|problems| format!("{problems:?}"))?;
    let wanted = self::shown(run(&network, &inputs, &expected, &mut judge));
    if shown == wanted { Ok(()) } else { Err(format!("{shown:?} and not {wanted:?}")) }
}

/// What two engines must agree on: streams, prints, what was written, how it ended.
fn shown(seen: Seen) -> (Vec<Vec<u8>>, Vec<u8>, Vec<u8>, String) {
    let end = match seen.outcome {
        Err(trap) => trap.message,
        Ok(outcome) => format!("{outcome:?}, lacks room: {}", seen.lacks_room),
    };
    (seen.streams, seen.host.printed, seen.host.written, end)
}

/// Seconds for known answers, unless `HEADRACE_LOWERED_SECONDS` gives more.
const SECONDS: u64 = 6;

/// As many operations are tried however long they take.
const LEAST: usize = 6;

/// Longest message whose answer is computed, in bytes: the evaluator is slow.
const MOST_BYTES: usize = 300;

/// Operations of the library, every one in a while, on known answers: as many as the time allows.
#[test]
fn operations_of_the_library_give_known_answers() {
    operations_give_known_answers(As::Scheduled);
}

#[test]
fn operations_give_known_answers_as_automata() {
    operations_give_known_answers(As::Automaton);
}

#[test]
fn operations_give_known_answers_where_automata_are_left() {
    operations_give_known_answers(As::PartOfAutomaton);
}

/// What loops and transitions become on vector registers, by what functions are called: a loop of each kind.
#[test]
fn loops_of_each_kind_have_functions_for_machines_with_features() {
    let kinds = [
        ("aes128", "ctr", "blocks"),
        ("sha256", "hash", "block"),
        ("aes128-gcm", "aead-encrypt", "products"),
        ("aes128-gcm", "aead-encrypt", "product"),
        ("chacha20", "stream", "lanes"),
        ("chacha20-poly1305", "aead-encrypt", "residues"),
    ];
    let shipped = Shipped::read(&text::repository()).expect("the library");
    for (set, operation, kind) in kinds {
        let spec = shipped.library.operation(set, operation).expect("it is in the library");
        let network = shipped.network(spec, "standard").expect("it is right");
        let module = As::Automaton.module(spec, &network).expect("it is verified").expect("it has an automaton");
        let is_it = |name: &str| name.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit()) == kind;
        let found = module.functions.iter().filter(|function| function.features.is_some() && is_it(&function.name));
        assert!(found.count() > 0, "{set} {operation} has no {kind}");
    }
}

/// What operations are lowered as.
#[derive(Clone, Copy)]
enum As {
    Scheduled,
    Automaton,
    /// With states that nobody explored, where the scheduler goes on.
    PartOfAutomaton,
}

impl As {
    /// The verified module, where the operation has an automaton that is lowered.
    fn module(self, spec: &OperationSpec, network: &Network) -> Result<Option<Module>, String> {
        if matches!(self, As::Scheduled) {
            return lowered(network, DEFAULT_FIFO_TOKENS).map(Some);
        }
        let Ok(automaton) = automaton_of_operation(spec, network) else { return Ok(None) };
        let n_states = automaton.states.len();
        let automaton = match self {
            As::PartOfAutomaton => automaton.typical(n_states * 2 / 3, usize::MAX),
            _ => Some(automaton),
        };
        let Some(automaton) = automaton else { return Ok(None) };
        match lower_fused(network, &automaton, &FUSED) {
            Ok(module) => verified(module).map(Some),
            Err(why) => {
                println!("{}: {why}", spec.full_name());
                Ok(None)
            }
        }
    }
}

fn operations_give_known_answers(how: As) {
    let asked = std::env::var("HEADRACE_LOWERED_SECONDS").ok().and_then(|text| text.parse().ok());
    let deadline = Instant::now() + Duration::from_secs(asked.unwrap_or(SECONDS));
    let (failures, n_operations, n_answers) = on_large_stack(move || {
        let shipped = Shipped::read(&text::repository()).expect("the library");
        let mut operations = shipped.library.operations().to_vec();
        // Those of one parameter set only, to look for what is wrong with it.
        if let Ok(set) = std::env::var("HEADRACE_LOWERED_SET") {
            operations.retain(|spec| spec.set == set);
        }
        let (mut failures, mut n_operations, mut n_answers) = (Vec::new(), 0, 0);
        // Neighbours are of one family: a step that no number of them divides goes through all of them far apart.
        let step = (1..).map(|n| 89 + 2 * n).find(|step| !operations.len().is_multiple_of(*step)).unwrap_or(1);
        for at in 0..operations.len() {
            if at >= operations.len() || n_operations >= LEAST && Instant::now() > deadline {
                break;
            }
            let spec = &operations[at * step % operations.len()];
            match known_answers(&shipped, spec, how) {
                Ok(n) => {
                    n_answers += n;
                    n_operations += usize::from(n > 0);
                }
                Err(why) => failures.push(format!("{}: {why}", spec.full_name())),
            }
        }
        (failures, n_operations, n_answers)
    });
    println!("{n_answers} answers of {n_operations} operations");
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(n_operations >= LEAST, "only {n_operations} operations were tried");
}

/// The first answers of short messages; gives how many there were.
fn known_answers(shipped: &Shipped, spec: &OperationSpec, how: As) -> Result<usize, String> {
    let manifest = shipped.library.manifests().iter().find(|manifest| manifest.folder == spec.folder);
    let Some(manifest) = manifest else { return Ok(0) };
    let mut found = Vec::new();
    for path in shipped.library.vector_files(manifest) {
        let bytes = std::fs::read(text::repository().join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let mut sources = SourceMap::default();
        let id = sources.add(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
        let (file, _) = VectorFile::parse(id, &bytes);
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let all = cases(&shipped.library, &name, &file, &[spec]).cases;
        let short = all.into_iter().filter(|case| match &case.plan {
            Plan::Accept(message, _) | Plan::Reject(message) => {
                [Role::Input, Role::Ad, Role::Seed]
                    .iter()
                    .filter_map(|role| message.get(*role))
                    .map(<[u8]>::len)
                    .sum::<usize>()
                    <= MOST_BYTES
                    && message.words <= 200
            }
            _ => false,
        });
        found.extend(short.filter(|case| case.arguments.is_empty()));
        if found.len() > 40 {
            break;
        }
    }
    let Some(variant) = spec.variants.first() else { return Ok(0) };
    if found.is_empty() {
        return Ok(0);
    }
    let network = shipped.network(spec, &variant.name)?;
    let Some(module) = how.module(spec, &network)? else { return Ok(0) };
    let step = (found.len() / 3).max(1);
    let mut n = 0;
    for case in found.iter().step_by(step).take(3) {
        let verdict = case.perform(spec, |call| {
            let CallInput::Message(message) = &call.input else { return Err("a part".to_owned()) };
            let mut engine = LoweredEngine::new(&network, &module).map_err(|fault| fault.to_string())?;
            // One after the other through buffers and past them.
            if n % 2 == 0 {
                engine = engine.streaming();
            }
            Running::new(spec, &network, Box::new(engine)).perform(message).map(Answer::Message)
        })?;
        if let Verdict::Failed(why) = verdict {
            return Err(format!("record {}: {why}", case.count));
        }
        n += 1;
    }
    Ok(n)
}
