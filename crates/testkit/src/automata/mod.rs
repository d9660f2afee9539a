//! Control automata against the interpreter: the evaluator of automata is an engine, and what it runs has been printed
//! and read again.
//!
//! So one comparison holds the exploration, the textual form, its reader, the verifier and the evaluator to the networks:
//! operations of the library on their known answers, and random networks. Where an automaton ends in a state that nobody
//! explored, the interpreter goes on from the beginning, and what has come out already is passed over.

pub mod campaign;
pub mod engine;
pub mod library;
pub mod table;

use crate::differential::{Stopped, difference, interpreted, observe, program};
use crate::generate::{Cuts, Knobs, generate};
use crate::rng::Rng;
use engine::AutomatonEngine;
use headrace_interp::Order;
use headrace_ir::DEFAULT_FIFO_TOKENS;
use headrace_transform::control::{Automaton, Limits, Sample, automaton_of};
use headrace_transform::kernel::execute::Bounds;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::text;
use headrace_transform::kernel::verify::verify;
use num_bigint::{BigInt, Sign};
use std::cell::Cell;
use std::sync::Arc;

/// Transitions of one run of a random network: not all of them end.
const MOST_TRANSITIONS: u64 = 20_000;

/// The automaton that the text of another is read as.
///
/// # Errors
///
/// What is wrong with it, or that it is another one.
pub fn read_again(automaton: &Automaton) -> Result<Automaton, String> {
    let printed = text::text(automaton);
    let again = text::read(&printed).map_err(|wrong| format!("its text cannot be read: {wrong}"))?;
    let problems = verify(&again);
    match problems.is_empty() && text::text(&again) == printed {
        true => Ok(again),
        false => Err(format!("its automaton is another when it is read: {problems:?}")),
    }
}

/// Compares a random network as its automaton for a part of its input with the interpreter. Gives whether it had one.
///
/// # Errors
///
/// What differs.
pub fn random(seed: u64) -> Result<bool, String> {
    let case = generate(seed, &Knobs::default());
    // Programs that nobody takes are what other campaigns are about.
    let Ok(network) = program::elaborate(&case, &Cuts::default()) else { return Ok(false) };
    let network = Arc::new(network);
    let tokens = |port: &headrace_ir::Port| {
        let stream = case.inputs.iter().find(|stream| stream.port == port.name);
        let tokens = stream.map_or(&[][..], |stream| &stream.tokens);
        tokens.iter().map(|token| bits(token, port.ty.width())).collect::<Vec<u128>>()
    };
    let inputs: Vec<Vec<u128>> = network.inputs.iter().map(tokens).collect();
    let limits = Limits { states: 300, nodes: 100_000, ..Limits::default() };
    let sample = parts(&inputs, &mut Rng::new(!seed));
    let Ok(automaton) = automaton_of(&network, &[sample], &limits) else { return Ok(false) };
    let automaton = read_again(&automaton)?;
    // What ends in an error or never is what other campaigns are about.
    let judged = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, DEFAULT_FIFO_TOKENS, false);
    let Ok(mut expected) = judged else { return Ok(false) };
    let leaves = Cell::new(false);
    let bounds = Bounds { with_loops: true, transitions: MOST_TRANSITIONS };
    let mut engine = AutomatonEngine::new(&network, &automaton, bounds, &leaves);
    let mut shown = observe(&mut engine, &network, &case.inputs).map_err(|stopped| match stopped {
        Stopped::Trapped(message) => message,
        Stopped::RanAway => "ran away".to_owned(),
    })?;
    shown.firings.clear();
    if !leaves.get() {
        // An automaton does what somebody waits for, and leaves what lies in FIFOs.
        for (shown, expected) in shown.outputs.iter().zip(&mut expected.outputs) {
            expected.truncate(shown.len());
        }
    }
    match shown.outputs == expected.outputs {
        true => Ok(true),
        false => Err(difference(&expected, &shown, true).unwrap_or_else(|| "streams differ".to_owned())),
    }
}

/// A beginning of streams in one to three parts.
pub fn parts(inputs: &[Vec<u128>], rng: &mut Rng) -> Sample {
    let (n_parts, share) = (rng.range(1, 3) as usize, rng.range(1, 3) as usize);
    let part = |part: usize| {
        let of = |tokens: &Vec<u128>| {
            let n = tokens.len() * share / 3;
            tokens[n * part / n_parts..n * (part + 1) / n_parts].to_vec()
        };
        inputs.iter().map(of).collect()
    };
    (0..n_parts).map(part).collect()
}

/// The bits of a token.
pub fn bits(token: &BigInt, width: u32) -> u128 {
    let bytes = token.to_signed_bytes_le();
    let fill = if token.sign() == Sign::Minus { 0xff } else { 0 };
    let all: Vec<u8> = bytes.into_iter().chain(std::iter::repeat(fill)).take(16).collect();
    let whole = all.iter().rev().fold(0, |whole, &byte| whole << 8 | u128::from(byte));
    whole & mask(width)
}
