//! Ordinary messages keep to the control automata of their operations: no program meets the run-time scheduler, whether it gives a
//! message at once or in pieces of whatever length its buffer has.
//!
//! Messages under one key, with texts and associated data of any lengths, none of which is a sample. Two operations a day, all of
//! [`HELD`] and [`HELD_IN_PIECES`] with `HEADRACE_WHOLE=all`; `HEADRACE_OPERATIONS="aes128-gcm aead-encrypt …"` names any.

use headrace_frontend::{Session, Top, elaborate};
use headrace_ir::Network;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::{Role, samples};
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::kernel::execute::{Bounds, Ended, Executor, beginning};
use headrace_transform::kernel::text::text;
use std::time::SystemTime;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

/// Parameter sets whose operations are held to this.
const HELD: [&str; 7] =
    ["aes128-gcm", "aes128-ccm", "aes128-eax", "aes128-gcm-siv", "chacha20-poly1305", "ascon-aead128", "aegis-128l"];

/// Parameter sets and operations that are held to it for messages in pieces.
const HELD_IN_PIECES: [&str; 15] = [
    "aes128-gcm",
    "aes128-gcm-siv",
    "chacha20-poly1305",
    "ascon-aead128",
    "aegis-128l",
    "aes128-ocb3 aead-encrypt",
    "aes128 cbc-encrypt",
    "aes128 cbc-decrypt",
    "aes128 cbc-cs1-decrypt",
    "aes128 cbc-cs2-decrypt",
    "aes128 cbc-cs3-decrypt",
    "aes128 cfb-encrypt",
    "aes128 cfb-decrypt",
    "aes128 ctr",
    "aes128 ecb-encrypt",
];

/// Streams of messages of an operation.
const STREAMS: u64 = 24;

/// One in so many bytes of texts may be left to the scheduler: ends of messages that nothing else is like.
const ONE_IN: usize = 50;

/// The same where they come in pieces: all that follows in a stream counts, though later messages are no longer left to it.
const ONE_IN_OF_PIECES: usize = 16;

/// Operations of a day.
const A_DAY: usize = 2;

/// Bytes of texts that the scheduler would get, those of all texts, and the first message of which it would get some.
struct Left {
    bytes: usize,
    of: usize,
    first: Option<String>,
}

/// The network of an operation's first variant.
fn network_of(spec: &OperationSpec) -> Network {
    let text = spec.variant(None).expect("the first variant").network.to_string();
    let mut session = Session::new();
    let roots = folders::Folders(vec![loading::root()]);
    elaborate(&mut session, &roots, &Top::Expression(text), &[]).expect("a network of the library")
}

fn left(spec: &OperationSpec, in_pieces: bool) -> Left {
    let network = network_of(spec);
    let automaton = automaton_of_operation(spec, &network).unwrap_or_else(|why| panic!("{}", why.reason));
    let mut executor = Executor::new(&automaton);
    let ports = || network.inputs.iter().map(|port| port.name.as_str());
    let text = spec.input(Role::Input).expect("a text");
    let text = ports().position(|name| name == text.name).expect("its port");
    let mut left = Left { bytes: 0, of: 0, first: None };
    for stream in samples::ordinary_messages(spec, ports(), in_pieces, 0..STREAMS) {
        let mut world = beginning(&automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
        let mut at = 0;
        for (number, part) in stream.iter().enumerate() {
            world.inputs.iter_mut().zip(part).for_each(|(all, more)| all.extend(more));
            left.of += part[text].len();
            at = match executor.execute(at, &mut world, Bounds::default()).ended {
                Ended::Waits(at) | Ended::Ends(at) => at,
                Ended::Leaves(at) => {
                    left.bytes += world.inputs[text].len() - world.consumed[text];
                    let lengths: Vec<usize> = part.iter().map(Vec::len).collect();
                    // Of a message in pieces the scheduler gets all that follows.
                    let rest: usize = stream[number + 1..].iter().map(|part| part[text].len()).sum();
                    left.of += rest;
                    left.bytes += if in_pieces { rest } else { 0 };
                    let state = &automaton.states[at].description;
                    left.first.get_or_insert(format!("part {number}, tokens {lengths:?}, state {at}: {state}"));
                    break;
                }
                Ended::Fails(at) | Ended::Stopped(at) => panic!("state {at} comes to no end"),
            };
        }
    }
    left
}

/// Holds some parameter sets and operations to it.
fn hold(held: &[&str], in_pieces: bool) {
    let library = loading::library(&[]);
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|what| what == "all");
    let named = std::env::var("HEADRACE_OPERATIONS").unwrap_or_default();
    let has_pieces = |spec: &OperationSpec| spec.framing == Framing::Message && !spec.single_chunk;
    let wanted = |spec: &&OperationSpec| match named.is_empty() {
        true => held.iter().any(|held| *held == spec.set || *held == format!("{} {}", spec.set, spec.name)),
        false => named.contains(&format!("{} {}", spec.set, spec.name)),
    };
    let of_text = |spec: &&OperationSpec| spec.input(Role::Input).is_some() && (!in_pieces || has_pieces(spec));
    let mut operations: Vec<&OperationSpec> = library.operations().iter().filter(of_text).filter(wanted).collect();
    if named.is_empty() && !all {
        let days = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60)) as usize;
        let n = operations.len();
        operations.rotate_left(days * A_DAY % n);
        operations.truncate(A_DAY);
    }
    assert!(!operations.is_empty());
    let mut wrong = Vec::new();
    for spec in operations {
        let name = format!("{} {}", spec.set, spec.name);
        let left = left(spec, in_pieces);
        println!("{name}: {} of {} bytes are left; {:?}", left.bytes, left.of, left.first);
        if left.bytes * (if in_pieces { ONE_IN_OF_PIECES } else { ONE_IN }) > left.of {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "ordinary messages leave the automata of {wrong:?}");
}

#[test]
fn ordinary_messages_stay_in_their_automata() {
    hold(&HELD, false);
}

#[test]
fn ordinary_pieces_stay_in_their_automata() {
    hold(&HELD_IN_PIECES, true);
}

/// States with bounds checks may stop with an error, so pieces that come through them have no function of their own.
#[test]
fn decryption_with_ciphertext_stealing_needs_no_bounds_checks() {
    let library = loading::library(&[]);
    for form in 1..=3 {
        let spec = library.operation("aes128", &format!("cbc-cs{form}-decrypt")).expect("an operation of the library");
        let automaton = automaton_of_operation(spec, &network_of(spec)).unwrap_or_else(|why| panic!("{}", why.reason));
        let text = text(&automaton);
        let checks: Vec<&str> = text.lines().map(str::trim).filter(|line| line.starts_with("check ")).collect();
        assert!(checks.is_empty(), "CBC-CS{form}: {checks:?}");
    }
}
