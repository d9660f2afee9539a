//! Automata do what their networks do: transitions evaluated along the states, with and without their loops, give the
//! interpreter's streams.

use folders::Folders;
use headrace_engine::{CollectingHost, exhaust};
use headrace_frontend::{Session, Top, elaborate};
use headrace_interp::{Interpreter, Options};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_transform::control::{Automaton, Brevity, Limits, Sample, Trips, Unrolling, automaton_of};
use headrace_transform::kernel::evaluate::{World, run};
use headrace_transform::kernel::execute::{Bounds, Ended, beginning, execute};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::text::{read, text};
use headrace_transform::kernel::verify::verify;
use headrace_transform::kernel::{Effect, Graph, Object, Op, Residue};
use headrace_transform::passes::reroll_loops::{Aim, reroll_loops};
use std::path::Path;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

/// The output streams of an automaton, and how many iterations its loops ran.
fn streams(automaton: &Automaton, network: &Network, sample: &Sample, with_loops: bool) -> (Vec<Vec<u128>>, u64) {
    let (world, looped) = given(automaton, network, sample, with_loops);
    (world.outputs, looped)
}

/// What there is when nothing can be done with a sample any more, and how many iterations loops ran.
fn given(automaton: &Automaton, network: &Network, sample: &Sample, with_loops: bool) -> (World, u64) {
    let mut world = beginning(automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
    let (mut at, mut looped) = (0, 0);
    for part in sample {
        world.inputs.iter_mut().zip(part).for_each(|(all, more)| all.extend(more));
        let bounds = Bounds { with_loops, ..Bounds::default() };
        let execution = execute(automaton, at, &mut world, bounds);
        looped += execution.iterations;
        at = match execution.ended {
            Ended::Waits(at) | Ended::Ends(at) => at,
            // After many iterations at once there may be input where single steps found none.
            Ended::Leaves(_) if with_loops => return (world, looped),
            Ended::Leaves(at) => panic!("the automaton leaves what it was explored with, in state {at}"),
            Ended::Fails(at) | Ended::Stopped(at) => panic!("state {at} comes to no end, or fails a check"),
        };
    }
    (world, looped)
}

/// The interpreter's.
fn interpreted(network: &Network, sample: &Sample) -> Vec<Vec<u128>> {
    let mut engine = Interpreter::new(network.clone(), Options::default()).unwrap();
    let mut host = CollectingHost::default();
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut waiting: Vec<Vec<u8>> = vec![Vec::new(); network.inputs.len()];
    for part in sample {
        for (port, tokens) in part.iter().enumerate() {
            let bytes = network.inputs[port].ty.storage_bytes();
            tokens.iter().for_each(|token| waiting[port].extend(&token.to_le_bytes()[..bytes]));
        }
        exhaust(&mut engine, network, &mut waiting, &mut outputs, &mut host).unwrap();
    }
    outputs
        .iter()
        .zip(&network.outputs)
        .map(|(stored, port)| {
            let token = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte));
            stored.chunks(port.ty.storage_bytes()).map(token).collect()
        })
        .collect()
}

/// The network of the first variant of an operation, typical messages, and its automaton.
fn explored(set: &str, operation: &str) -> (Network, Vec<Sample>, Automaton) {
    explored_variant(set, operation, None)
}

/// The same with messages in pieces.
fn explored_in_pieces(set: &str, operation: &str) -> (Network, Vec<Sample>, Automaton) {
    explored_on(set, operation, None, |spec, ports| {
        let ports = || ports.iter().copied();
        [samples::streams(spec, ports()), samples::pieces_of_any_length(spec, ports())].concat()
    })
}

/// The same of a variant.
fn explored_variant(set: &str, operation: &str, variant: Option<&str>) -> (Network, Vec<Sample>, Automaton) {
    explored_on(set, operation, variant, |spec, ports| samples::streams(spec, ports.iter().copied()))
}

fn explored_on(
    set: &str,
    operation: &str,
    variant: Option<&str>,
    streams: fn(&OperationSpec, &[&str]) -> Vec<Sample>,
) -> (Network, Vec<Sample>, Automaton) {
    let library = loading::library(&[]);
    let spec = library.operation(set, operation).unwrap();
    let text = spec.variant(variant).unwrap().network.to_string();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text), &[]).unwrap();
    let ports: Vec<&str> = network.inputs.iter().map(|port| port.name.as_str()).collect();
    let samples = streams(spec, &ports);
    let automaton = automaton_of(&network, &samples, &Limits::default()).unwrap();
    (network, samples, read_again(&format!("{set} {operation}"), &automaton))
}

/// The automaton that the text of another is read as: nothing is lost, and both are as they must be.
fn read_again(name: &str, automaton: &Automaton) -> Automaton {
    assert_eq!(verify(automaton), Vec::<String>::new(), "{name}");
    let printed = text(automaton);
    let again = read(&printed).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    assert_eq!(verify(&again), Vec::<String>::new(), "{name}");
    assert!(text(&again) == printed, "{name} is another automaton when it is read");
    again
}

/// Checks the first variant of an operation; gives how many iterations its loops ran.
fn check(set: &str, operation: &str) -> u64 {
    let (network, samples, automaton) = explored(set, operation);
    compare(&format!("{set} {operation}"), &network, &samples, &automaton)
}

fn compare(name: &str, network: &Network, samples: &[Sample], automaton: &Automaton) -> u64 {
    let mut looped = 0;
    let smaller = automaton.with_less_storage();
    for sample in samples {
        let expected = interpreted(network, sample);
        assert!(expected.iter().any(|stream| !stream.is_empty()));
        assert_eq!(streams(automaton, network, sample, false).0, expected, "{name}");
        let (with_loops, iterations) = streams(automaton, network, sample, true);
        for (ours, theirs) in with_loops.iter().zip(&expected) {
            assert_eq!(ours[..], theirs[..ours.len()], "{name} with loops");
        }
        looped += iterations;
        if let Some(smaller) = &smaller {
            assert_eq!(streams(smaller, network, sample, false).0, expected, "{name} with less storage");
            assert_eq!(
                streams(smaller, network, sample, true),
                (with_loops, iterations),
                "{name} with less storage and loops"
            );
        }
    }
    looped
}

#[test]
fn what_samples_leave_open_is_explored_where_it_is_little() {
    let (network, _, automaton) = explored_in_pieces("sha256", "hash");
    assert!(!automaton.leaves() && automaton.states.len() < 60, "{} states", automaton.states.len());
    let library = loading::library(&[]);
    let spec = library.operation("sha256", "hash").unwrap();
    let ports = network.inputs.iter().map(|port| port.name.as_str());
    // Numbers that are not among the samples.
    let samples = samples::cut_by_chance(spec, ports, 64, 20_000..20_040);
    compare("sha256 hash", &network, &samples, &automaton);
}

#[test]
fn rounds_stay_loops_where_nothing_is_unrolled() {
    let (network, samples, straight) = explored("sha1", "hash");
    let limits = Limits { unrolling: Unrolling::NONE, ..Limits::default() };
    let rolled = automaton_of(&network, &samples, &limits).unwrap();
    let n_loops = |automaton: &Automaton| {
        let mut n = 0;
        let mut count = |effect: &Effect| n += usize::from(matches!(effect, Effect::While { .. }));
        for state in &automaton.states {
            state.step.transitions(&mut |transition, _| Effect::walk(&transition.effects, &mut count));
        }
        n
    };
    assert!(n_loops(&rolled) > n_loops(&straight), "{} and {}", n_loops(&rolled), n_loops(&straight));
    compare("sha1 hash", &network, &samples[..4], &read_again("sha1 hash", &rolled));
}

#[test]
fn rings_of_rounds_and_counts_of_blocks() {
    assert!(check("aes128", "ecb-encrypt") > 10);
    assert!(check("aes128", "cbc-decrypt") > 10);
}

#[test]
fn pieces_of_any_length_have_states_and_not_one_for_each_byte_that_waits() {
    for (set, operation, most) in [("aes128", "ctr", 100), ("chacha20-poly1305", "aead-decrypt", 400)] {
        let (network, samples, automaton) = explored_in_pieces(set, operation);
        assert!(automaton.states.len() < most, "{set} {operation}: {} states", automaton.states.len());
        // Those in pieces come last.
        let some = &samples[samples.len().saturating_sub(60)..];
        assert!(compare(&format!("{set} {operation}"), &network, some, &automaton) > 10);
    }
}

#[test]
fn automata_are_not_left_for_pieces_that_no_sample_had() {
    let (network, _, automaton) = explored_in_pieces("aes128-gcm", "aead-encrypt");
    let library = loading::library(&[]);
    let spec = library.operation("aes128-gcm", "aead-encrypt").unwrap();
    let ports = network.inputs.iter().map(|port| port.name.as_str());
    // Numbers that are not among the samples.
    for sample in samples::cut_by_chance(spec, ports, 16, 10_000..10_200) {
        assert_eq!(streams(&automaton, &network, &sample, false).0, interpreted(&network, &sample));
    }
}

#[test]
fn bursts_that_begin_before_their_first_block() {
    // The cycle that begins a burst moves no token, so only with the next block's it is one of the same loop.
    let (network, samples, automaton) = explored("des", "cbc-decrypt");
    let loops = || automaton.states.iter().flat_map(|state| &state.loops);
    assert!(loops().any(|counted| counted.rounds.as_ref().is_some_and(|rounds| rounds.ways.len() > 1)));
    assert!(compare("des cbc-decrypt", &network, &samples, &automaton) > 10);
}

#[test]
fn chains_and_compressions() {
    check("aes128", "cbc-encrypt");
    assert!(check("sha256", "hash") > 10);
}

#[test]
fn what_is_long_begins_with_memory_even_where_its_tokens_are_constants() {
    let (_, _, automaton) = explored("hmac-sha256", "mac");
    let mut n_long = 0;
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            let nodes = Effect::needed(&transition.effects, &automaton.graph);
            let reads_state = nodes.iter().any(|&id| match automaton.graph.op(id) {
                Op::Entry { object, .. } => automaton.object(*object).name.ends_with("_add_state_State"),
                _ => false,
            });
            assert!(nodes.len() < 3_000 || reads_state, "{}", state.description);
            n_long += usize::from(nodes.len() >= 3_000);
        });
    }
    assert!(n_long > 3);
}

#[test]
fn a_message_does_not_wait_for_the_tag_after_it() {
    for (set, operation) in [("poly1305", "verify"), ("ascon-aead128", "aead-decrypt")] {
        let (network, samples, automaton) = explored(set, operation);
        let port = |name: &str| network.inputs.iter().position(|port| port.name == name).unwrap();
        let mut message = samples.iter().flatten().max_by_key(|part| part[port("Input")].len()).unwrap().clone();
        message[port("TagIn")].clear();
        let (world, _) = given(&automaton, &network, &vec![message], true);
        assert!(world.inputs[port("Input")].len() > 64, "{set}");
        assert_eq!(world.consumed[port("Input")], world.inputs[port("Input")].len(), "{set}");
    }
}

#[test]
fn what_needs_no_input_is_decided_before_it_is_read() {
    for (set, operation) in [("chacha20", "stream"), ("aes128", "cfb-decrypt")] {
        let (_, _, automaton) = explored(set, operation);
        let waiting = automaton.states.iter().find(|state| state.description.contains(" in mask.Input"));
        assert_eq!(waiting.map(|state| &state.description), None, "{set} {operation}");
    }
}

/// Runs every long transition of an operation with loops for its rounds and without, on tokens and elements that look
/// random; gives how many values those have that have loops, without and with them.
fn rolled_kernels(set: &str, operation: &str, variant: &str, aim: Aim) -> (usize, usize) {
    let (network, _, automaton) = explored_variant(set, operation, Some(variant));
    let mut state = 1u64;
    let mut drawn = |width: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (u128::from(state >> 32) * 0x1_0000_0001_0000_0001_0000_0001) & mask(width)
    };
    let values = |graph: &Graph, effects: &[Effect]| Effect::needed(effects, graph).len();
    let (mut before, mut after) = (0, 0);
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            let rolled = reroll_loops(&automaton.graph, &automaton.objects, &transition.effects, aim);
            let Some(rolled) = rolled else { return };
            before += values(&automaton.graph, &transition.effects);
            after += values(&rolled.graph, &rolled.effects);
            let elements = |object: &Object| -> Vec<u128> {
                let element = |_| if object.persistent { drawn(object.width) } else { 0 };
                (0..object.length).map(element).collect()
            };
            let objects: Vec<Vec<u128>> = rolled.objects.iter().map(elements).collect();
            let inputs = network.inputs.iter().map(|port| (0..600).map(|_| drawn(port.ty.width())).collect());
            let mut world = World {
                inputs: inputs.collect(),
                consumed: vec![300; network.inputs.len()],
                outputs: vec![Vec::new(); network.outputs.len()],
                objects,
            };
            let mut other = world.clone();
            assert!(run(&automaton.graph, &transition.effects, &mut world, &mut 10_000_000));
            assert!(run(&rolled.graph, &rolled.effects, &mut other, &mut 10_000_000));
            let n_objects = automaton.objects.len();
            assert_eq!(world.outputs, other.outputs, "{set} {operation}");
            assert_eq!(world.objects[..n_objects], other.objects[..n_objects], "{set} {operation}");
        });
    }
    (before, after)
}

#[test]
fn rounds_of_kernels_become_loops() {
    for (set, operation, variant) in [("aes128", "cbc-encrypt", "boolean"), ("aes192", "ctr", "lut")] {
        let (before, after) = rolled_kernels(set, operation, variant, Aim::Brevity);
        assert!(before > 2 * after, "{set}: {before} values became {after}");
    }
    let registers = Aim::Registers { n_indexed: usize::MAX };
    let (before, after) = rolled_kernels("sha256", "hash", "standard", registers);
    assert!(before > 4 * after, "for registers: {before} values became {after}");
    let (before, after) = rolled_kernels("ascon-aead128", "aead-encrypt", "standard", Aim::Brevity);
    assert!(before > after && after > 0, "{before} values became {after}");
}

#[test]
fn kernels_that_come_again_stay_fast() {
    let (_, _, long) = explored_variant("aes192", "cbc-cs1-encrypt", Some("boolean"));
    let brevity = Brevity::of(&long, None);
    let (mut n_short, mut n_fast) = (0, 0);
    for (from, state) in long.states.iter().enumerate() {
        state.step.transitions(&mut |transition, to| match brevity.rolled(&transition.effects, from, to) {
            Some(_) => {
                assert_ne!(from, to);
                n_short += 1;
            }
            None => n_fast += usize::from(from == to),
        });
    }
    assert!(n_short > 10 && n_fast > 0, "{n_short} transitions are short, {n_fast} come again");
    // One that is not long.
    let (_, _, whole) = explored("ascon-aead128", "aead-encrypt");
    let brevity = Brevity::of(&whole, None);
    for (from, state) in whole.states.iter().enumerate() {
        state.step.transitions(&mut |transition, to| assert!(brevity.rolled(&transition.effects, from, to).is_none()));
    }
}

#[test]
fn rounds_of_long_kernels_are_loops_in_registers_wherever_they_lead() {
    const MOST: usize = 1500;
    let (_, _, automaton) = explored("sha256", "hash");
    let brevity = Brevity::of(&automaton, Some(MOST));
    let mut n_long = 0;
    for (from, state) in automaton.states.iter().enumerate() {
        state.step.transitions(&mut |transition, to| {
            let is_long = Effect::needed(&transition.effects, &automaton.graph).len() > MOST;
            let rolled = brevity.rolled(&transition.effects, from, to);
            assert_eq!(rolled.is_some(), is_long);
            n_long += usize::from(is_long);
        });
    }
    assert!(n_long > 2, "{n_long} transitions are long");
}

#[test]
fn counters_of_streams() {
    assert!(check("chacha20", "stream") > 3);
    check("aes128", "ctr");
}

#[test]
fn decisions_on_data_and_negative_numbers() {
    check("aes128", "ecb-pad-decrypt");
}

#[test]
fn the_same_network_gives_the_same_numbers() {
    let objects = || explored("rc5", "ecb-encrypt").2.objects;
    let first = objects();
    let local: std::collections::HashSet<u32> =
        first.iter().filter(|object| !object.persistent).map(|object| object.width).collect();
    assert!(local.len() > 1, "lists of several widths tell a change of order");
    for _ in 0..5 {
        assert_eq!(objects(), first);
    }
}

#[test]
fn strings_that_come_side_by_side() {
    assert!(check("aes128-gcm", "aead-encrypt") > 10);
}

/// A network that stands in `tests/networks`, fed with the tokens of its ports.
fn check_own(name: &str, tokens: &[&[u128]]) -> Automaton {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut session = Session::new();
    let roots = Folders(vec![root.join("tests"), root.join("../..")]);
    let network = elaborate(&mut session, &roots, &Top::Expression(format!("networks.{name}")), &[]);
    let network = network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()));
    let samples = vec![vec![tokens.iter().map(|tokens| tokens.to_vec()).collect()]];
    let automaton =
        automaton_of(&network, &samples, &Limits::default()).unwrap_or_else(|error| panic!("{}", error.reason));
    compare(name, &network, &samples, &automaton);
    automaton
}

/// Only where nobody sees more than the residue may anything congruent stand for the limbs.
#[test]
fn limbs_that_come_out_are_no_residues() {
    let blocks: Vec<u128> = (0..16 * 40).map(|i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 & 0xff).collect();
    for (reduced, expected) in [(true, Some(Residue { limb_bits: 26, bits: 130, less: 5 })), (false, None)] {
        let factor = [0x2_0000_0000_u128 - 1, 12_345_678, 7, 0x3ff_fffe, 0x3ff_ffff];
        let automaton = check_own(&format!("Evaluate(REDUCED = {reduced})"), &[&factor, &[40], &blocks]);
        let found: Vec<Residue> = automaton.objects.iter().filter_map(|object| object.residue).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{reduced}");
    }
}

#[test]
fn numbers_of_as_many_bits_as_kernels_have() {
    let tokens: Vec<u128> = (1..64).map(|i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & 0xff).collect();
    check_own("Wide", &[&tokens[..48]]);
}

#[test]
fn tokens_that_are_there_decide_before_others_are_waited_for() {
    check_own("MayHave", &[&[1, 0, 0, 1, 0], &[3, 200]]);
}

#[test]
fn initialisers_that_change_no_state_fire_once() {
    let automaton = check_own("Begins", &[&[1, 2, 250, 255]]);
    assert_eq!(automaton.states.len(), 2);
}

/// Lists that loops go through, until places begin anew.
#[test]
fn lists_at_places_that_a_counter_tells_are_windows() {
    let tokens: Vec<u128> = (0..16 * 60).map(|i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 & 0xff).collect();
    let automaton = check_own("Kept", &[&tokens, &[3, 11, 5, 7, 2, 6, 17, 9]]);
    let loops = || automaton.states.iter().flat_map(|state| &state.loops);
    assert!(loops().any(|one| !one.read.is_empty() && one.written.is_empty()), "none reads");
    let writes = loops().filter(|one| !one.written.is_empty());
    assert!(writes.clone().any(|one| one.body.consumes[0].0 == 16), "none writes what comes in");
    assert!(writes.clone().any(|one| one.body.consumes[0].0 == 0), "none overwrites");
    for one in loops().filter(|one| one.has_windows()) {
        assert_eq!(one.trips.iter().filter(|trip| matches!(trip, Trips::Below { limit: 8, step: 1, .. })).count(), 1);
    }
    let read = read(&text(&automaton)).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(text(&read), text(&automaton));
}
