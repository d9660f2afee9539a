//! Kernels of operations of the library do what their networks do: on the simulator, on the messages that the library is tested
//! with, whose streams are the interpreter's.

use folders::Folders;
use headrace_engine::{CollectingHost, exhaust};
use headrace_frontend::{Session, Top, elaborate};
use headrace_interp::{Interpreter, Options};
use headrace_ir::Network;
use headrace_kernel::Loop;
use headrace_kernel::automaton::Automaton;
use headrace_kernel::evaluate::World;
use headrace_kernel::execute::{Bounds, Ended, beginning, execute};
use headrace_library::samples;
use headrace_stream::choose::{Way, kernel_of, ways};
use headrace_stream::kernel::{Kernel, Scheduling};
use headrace_stream::legalize::is_chain;
use headrace_stream::machine::Machine;
use headrace_stream::place::Otherwise;
use headrace_stream::reroll::rolled_of;
use headrace_stream::simulate::{self, Data};
use headrace_stream::trial::{tokens_of, trial, trial_of, words_of};
use headrace_transform::control::{Limits, Sample, automaton_of};
use std::collections::BTreeMap;
use std::path::Path;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

fn machine(name: &str) -> Machine {
    Machine::read(headrace_platform::find(name).expect("a platform")).unwrap_or_else(|wrong| panic!("{wrong}"))
}

/// Samples of an operation that are compared.
const SAMPLES: usize = 5;

/// The interpreter's streams.
fn interpreted(network: &Network, sample: &Sample) -> Vec<Vec<u128>> {
    let mut engine = Interpreter::new(network.clone(), Options::default()).expect("an engine");
    let mut host = CollectingHost::default();
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut waiting: Vec<Vec<u8>> = vec![Vec::new(); network.inputs.len()];
    for part in sample {
        for (port, tokens) in part.iter().enumerate() {
            let bytes = network.inputs[port].ty.storage_bytes();
            tokens.iter().for_each(|token| waiting[port].extend(&token.to_le_bytes()[..bytes]));
        }
        exhaust(&mut engine, network, &mut waiting, &mut outputs, &mut host).expect("it runs");
    }
    let of = |(stored, port): (&Vec<u8>, &headrace_ir::Port)| {
        let token = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte));
        stored.chunks(port.ty.storage_bytes()).map(token).collect()
    };
    outputs.iter().zip(&network.outputs).map(of).collect()
}

/// What a kernel makes of the tokens that are there: those of each output port.
fn simulated(kernel: &Kernel, way: &Way, machine: &Machine, world: &World, iterations: u64) -> Vec<Vec<u128>> {
    let body = &way.form.body;
    let records = (iterations * way.form.per_iteration) as usize;
    let code = &kernel.placed.code;
    let clusters = *machine.clusters as usize;
    let channels = is_chain(body);
    let streams = code.inputs.iter().map(|stream| {
        let begin = world.consumed[stream.port as usize];
        let tokens = &world.inputs[stream.port as usize][begin..begin + records * stream.tokens as usize];
        let words = words_of(stream, tokens);
        // All channels have the same message.
        match channels {
            true => words.chunks(stream.words as usize).flat_map(|record| record.repeat(clusters)).collect(),
            false => words,
        }
    });
    let objects = way.form.objects.iter().zip(&body.objects).map(|(from, own)| {
        let mut elements = world.objects[from.0 as usize].clone();
        elements.resize(own.length, 0);
        elements
    });
    let data = Data {
        streams: streams.collect(),
        records: if channels { records * clusters } else { records },
        objects: vec![objects.collect()],
        given: Vec::new(),
    };
    let outcome = simulate::run(kernel, machine, body, &data, channels).expect("it runs");
    let mut outputs = vec![Vec::new(); body.produces.len()];
    for (stream, words) in code.outputs.iter().zip(&outcome.streams) {
        let own: Vec<u32> = match channels {
            // Of the last cluster.
            true => {
                words.chunks(stream.words as usize).skip(clusters - 1).step_by(clusters).flatten().copied().collect()
            }
            false => words.clone(),
        };
        outputs[stream.port as usize] = tokens_of(stream, &own);
    }
    outputs
}

/// Runs an automaton on a sample, each loop on the simulator too: the streams, and the iterations that were simulated.
fn run(
    automaton: &Automaton,
    network: &Network,
    sample: &Sample,
    machine: &Machine,
    kernels: &mut Kernels,
) -> (Vec<Vec<u128>>, u64) {
    let mut world = beginning(automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
    let (mut at, mut checked) = (0, 0);
    for part in sample {
        world.inputs.iter_mut().zip(part).for_each(|(all, more)| all.extend(more));
        loop {
            let before = world.clone();
            let execution = execute(automaton, at, &mut world, Bounds { with_loops: true, transitions: 1 });
            if let ([one], n) = (automaton.states[at].loops.as_slice(), execution.iterations)
                && n > 0
                && let Some((kernel, way)) = kernels.of(at, &one.body, machine)
            {
                for (port, tokens) in simulated(kernel, way, machine, &before, n).iter().enumerate() {
                    let begin = before.outputs[port].len();
                    assert_eq!(tokens[..], world.outputs[port][begin..begin + tokens.len()], "state {at}, port {port}");
                }
                checked += n;
            }
            at = match execution.ended {
                Ended::Stopped(next) => next,
                Ended::Waits(next) | Ended::Ends(next) => {
                    at = next;
                    break;
                }
                Ended::Leaves(_) => return (world.outputs, checked),
                Ended::Fails(state) => panic!("state {state} fails"),
            };
        }
    }
    (world.outputs, checked)
}

/// Kernels of states.
#[derive(Default)]
struct Kernels(BTreeMap<usize, Option<(Kernel, Way)>>);

impl Kernels {
    fn of(&mut self, state: usize, body: &Loop, machine: &Machine) -> Option<&(Kernel, Way)> {
        let make = || kernel_of(&ways(body, machine, false).ok()?, machine, Scheduling::Modulo).ok();
        self.0.entry(state).or_insert_with(make).as_ref()
    }
}

/// Holds all loops of an operation to the interpreter's streams: iterations that were simulated.
fn check(set: &str, operation: &str, machine: &Machine) -> u64 {
    let library = loading::library(&[]);
    let spec = library.operation(set, operation).expect("an operation");
    let text = spec.variant(None).expect("a variant").network.to_string();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text), &[]).expect("a network");
    let samples = samples::streams(spec, network.inputs.iter().map(|port| port.name.as_str()));
    let automaton = automaton_of(&network, &samples, &Limits::default()).expect("an automaton");
    let mut kernels = Kernels::default();
    let mut checked = 0;
    for sample in samples.iter().take(SAMPLES) {
        let (streams, simulated) = run(&automaton, &network, sample, machine, &mut kernels);
        let expected = interpreted(&network, sample);
        for (ours, theirs) in streams.iter().zip(&expected) {
            assert_eq!(ours[..], theirs[..ours.len()], "{set} {operation}");
        }
        checked += simulated;
    }
    checked
}

#[test]
fn block_ciphers_codecs_stream_ciphers_and_hashes_on_imagine() {
    let imagine = machine("imagine");
    let operations = [
        ("blowfish", "ecb-encrypt"),
        ("aes128", "ecb-encrypt"),
        ("rc5", "ecb-encrypt"),
        ("base64", "encode"),
        ("aes128", "ctr"),
        ("rc5", "cbc-decrypt"),
        ("chacha20", "stream"),
        ("sha256", "hash"),
    ];
    for (set, operation) in operations {
        let checked = check(set, operation, &imagine);
        assert!(checked > 2, "{set} {operation}: {checked} iterations were simulated");
    }
}

#[test]
fn blowfish_on_all_platforms() {
    for name in ["imagine-big-sp", "imagine-indexed-srf", "merrimac", "imagine-latencies-a"] {
        assert!(check("blowfish", "ecb-encrypt", &machine(name)) > 2, "{name}");
    }
}

#[test]
fn plain_kernels_have_the_same_values() {
    let library = loading::library(&[]);
    let spec = library.operation("rc5", "ecb-encrypt").expect("an operation");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let text = spec.variant(None).expect("a variant").network.to_string();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text), &[]).expect("a network");
    let samples = samples::streams(spec, network.inputs.iter().map(|port| port.name.as_str()));
    let automaton = automaton_of(&network, &samples, &Limits::default()).expect("an automaton");
    let imagine = machine("imagine");
    for one in automaton.states.iter().flat_map(|state| &state.loops) {
        let all = ways(&one.body, &imagine, false).expect("ways");
        let (kernel, way) = kernel_of(&all, &imagine, Scheduling::List).expect("a kernel");
        trial(&kernel, &imagine, &way.form.body, 4, 3).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

/// The ways of the loop with the most operations.
fn ways_of(set: &str, operation: &str, machine: &Machine) -> Vec<Way> {
    let library = loading::library(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let spec = library.operation(set, operation).expect("an operation");
    let text = spec.variant(None).expect("a variant").network.to_string();
    let mut session = Session::new();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text), &[]).expect("a network");
    let samples = samples::streams(spec, network.inputs.iter().map(|port| port.name.as_str()));
    let automaton = automaton_of(&network, &samples, &Limits::default()).expect("an automaton");
    let loops = automaton.states.iter().flat_map(|state| &state.loops);
    let body = loops.max_by_key(|one| one.body.graph.len()).expect("a loop");
    ways(&body.body, machine, false).expect("ways")
}

#[test]
fn what_microcode_has_no_room_for_has_rounds_as_a_loop() {
    // Independent records, numbers that count, and chains.
    for (set, operation, words) in [("rc5", "ecb-encrypt", 40), ("chacha20", "stream", 200), ("rc5", "cbc-encrypt", 40)]
    {
        let mut machine = machine("imagine");
        machine.microcode_words.as_mut().expect("a limit").value = words;
        let all = ways_of(set, operation, &machine);
        let refused = kernel_of(&all, &machine, Scheduling::Modulo).map(|_| ()).expect_err("too long");
        assert!(refused.to_string().contains("microcode"), "{refused}");
        let (rolled, way) = rolled_of(&all, &machine).unwrap_or_else(|reason| panic!("{set} {operation}: {reason}"));
        assert!(rolled.microcode_words() <= words, "{set} {operation}");
        let run = |data: &Data| rolled.run(&machine, &way.form.body, data);
        trial_of(&way.placed.code, &machine, &way.form.body, 4, 2, &run)
            .unwrap_or_else(|problem| panic!("{set} {operation}: {problem}"));
    }
    // A round that is too long itself is refused, with numbers.
    let mut machine = machine("imagine");
    machine.microcode_words.as_mut().expect("a limit").value = 8;
    let refused = rolled_of(&ways_of("rc5", "ecb-encrypt", &machine), &machine).map(|_| ()).expect_err("too long");
    assert!(refused.to_string().contains("of which there are 8"), "{refused}");
}

#[test]
fn tables_that_are_exchanged_and_shifts_that_are_multiplications_keep_the_values() {
    let machine = machine("imagine");
    let all = ways_of("blowfish", "ecb-encrypt", &machine);
    let exchange = |way: &&Way| way.choice.otherwise == Otherwise::SpreadExchange && way.choice.whole == 0;
    let broadcast = |way: &&Way| way.choice.otherwise == Otherwise::SpreadPacked && way.choice.whole == 0;
    let [exchange, broadcast] = [all.iter().find(exchange), all.iter().find(broadcast)].map(|way| way.expect("a way"));
    assert!(exchange.interval() < broadcast.interval());
    let ways = ways_of("serpent128", "ecb-encrypt", &machine);
    let multiplies = ways.iter().find(|way| way.multiplies).expect("multiplications");
    assert!(10 * multiplies.interval() < 9 * ways.iter().find(|way| !way.multiplies).expect("none").interval());
    for way in [exchange, multiplies] {
        let (kernel, way) = kernel_of(std::slice::from_ref(way), &machine, Scheduling::Modulo).expect("a kernel");
        assert_eq!(kernel.schedule.ii, kernel.res_mii);
        trial(&kernel, &machine, &way.form.body, 4, 3).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

#[test]
fn rounds_are_found_and_keep_the_values() {
    for (set, name, least) in [("rc5", "imagine", 12), ("blowfish", "imagine", 7), ("blowfish", "imagine-big-sp", 7)] {
        let machine = machine(name);
        let all = ways_of(set, "ecb-encrypt", &machine);
        let (rolled, way) = rolled_of(&all, &machine).expect("rounds");
        assert!(rolled.rounds >= least, "{set} on {name}: {} rounds", rolled.rounds);
        let (plain, _) = kernel_of(&all, &machine, Scheduling::List).expect("a kernel");
        assert!(4 * rolled.microcode_words() < 3 * plain.microcode_words(), "{set} on {name}");
        assert!(rolled.registers() <= *machine.registers.words, "{set} on {name}");
        let run = |data: &Data| rolled.run(&machine, &way.form.body, data);
        trial_of(&way.placed.code, &machine, &way.form.body, 5, 1, &run).expect("the same values");
    }
}
