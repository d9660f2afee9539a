//! Control automata against the interpreter: the evaluator of automata is an engine, and what it runs has been printed
//! and read again.
//!
//! So one comparison holds the exploration, the textual form, its reader, the verifier and the evaluator to the networks:
//! operations of the library on their known answers, and random networks. Where an automaton ends in a state that nobody
//! explored, the interpreter goes on from the beginning, and what has come out already is passed over.

pub mod campaign;
pub mod table;

use crate::differential::{Stopped, difference, interpreted, observe, program};
use crate::generate::{Cuts, Knobs, generate};
use crate::peers::library::Shipped;
use crate::rng::Rng;
use headrace_engine::{Engine, Host, Outcome, Report, Trap};
use headrace_exchange::Running;
use headrace_interp::{Interpreter, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::known_answers::{Answer, CallInput, Case, Plan, Verdict, cases};
use headrace_library::vectors::VectorFile;
use headrace_source::SourceMap;
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::control::{Automaton, Limits, Sample, automaton_of};
use headrace_transform::kernel::evaluate::World;
use headrace_transform::kernel::execute::{Bounds, Ended, Executor, beginning};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::text;
use headrace_transform::kernel::verify::verify;
use num_bigint::{BigInt, Sign};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Transitions of one run of a random network: not all of them end.
const MOST_TRANSITIONS: u64 = 20_000;

/// Words of an operation that gives any number of them, at most.
const MOST_WORDS: u64 = 1024;

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

/// An automaton that runs, with the interpreter for what nobody explored.
pub struct AutomatonEngine<'a> {
    network: Arc<Network>,
    executor: Executor<'a>,
    bounds: Bounds,
    state: usize,
    world: World,
    /// Tokens of each output that were read.
    given: Vec<usize>,
    left: Option<Interpreter>,
    /// Set where the automaton was left.
    leaves: &'a Cell<bool>,
}

impl<'a> AutomatonEngine<'a> {
    /// At its beginning; `leaves` tells whether it was left.
    pub fn new(network: &Arc<Network>, automaton: &'a Automaton, bounds: Bounds, leaves: &'a Cell<bool>) -> Self {
        let world = beginning(automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
        let given = vec![0; network.outputs.len()];
        let executor = Executor::new(automaton);
        Self { network: Arc::clone(network), executor, bounds, state: 0, world, given, left: None, leaves }
    }

    /// The network from its beginning, with all that came in.
    fn leave(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        self.leaves.set(true);
        let options = headrace_interp::Options::default();
        let mut engine = Interpreter::new(Network::clone(&self.network), options)
            .map_err(|problems| trap(format!("{problems:?}")))?;
        let stored = |(port, tokens): (usize, &Vec<u128>)| {
            let bytes = self.network.inputs[port].ty.storage_bytes();
            tokens.iter().flat_map(|token| token.to_le_bytes()[..bytes].to_vec()).collect::<Vec<u8>>()
        };
        let mut waiting: Vec<Vec<u8>> = self.world.inputs.iter().enumerate().map(stored).collect();
        let mut made: Vec<Vec<u8>> = vec![Vec::new(); self.network.outputs.len()];
        let outcome = loop {
            let mut moved = 0;
            for (port, tokens) in waiting.iter_mut().enumerate() {
                let written = engine.write(port, tokens);
                tokens.drain(..written * self.network.inputs[port].ty.storage_bytes());
                moved += written;
            }
            let outcome = engine.run(max_firings, host)?;
            for (port, all) in made.iter_mut().enumerate() {
                moved += engine.read(port, all);
            }
            if moved == 0 || outcome != Outcome::Idle {
                break outcome;
            }
        };
        for (port, bytes) in made.iter().enumerate() {
            let size = self.network.outputs[port].ty.storage_bytes();
            let keep = mask(self.network.outputs[port].ty.width());
            let tokens: Vec<u128> = bytes.chunks(size).map(|bytes| token(bytes) & keep).collect();
            if tokens.get(..self.world.outputs[port].len()) != Some(&self.world.outputs[port][..]) {
                let (automaton, network) = (&self.world.outputs[port], tokens.len());
                let at = tokens.iter().zip(automaton).take_while(|(one, other)| one == other).count();
                let n = automaton.len();
                return Err(trap(format!("port {port}: {n} tokens of the automaton differ from {network} at {at}")));
            }
            self.world.outputs[port] = tokens;
        }
        self.left = Some(engine);
        Ok(outcome)
    }
}

fn trap(message: String) -> Trap {
    Trap { message, instance: String::new(), action: String::new(), span: None }
}

/// A stored token.
fn token(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

impl Engine for AutomatonEngine<'_> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        if let Some(left) = &mut self.left {
            return left.write(input, tokens);
        }
        let port = self.network.inputs[input].ty;
        let keep = mask(port.width());
        let tokens = tokens.chunks(port.storage_bytes()).map(|bytes| token(bytes) & keep);
        let before = self.world.inputs[input].len();
        self.world.inputs[input].extend(tokens);
        self.world.inputs[input].len() - before
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let port = self.network.outputs[output].ty;
        let new = &self.world.outputs[output][self.given[output]..];
        for &value in new {
            tokens.extend(stored(value, port));
        }
        let n = new.len();
        self.given[output] += n;
        n + self.left.as_mut().map_or(0, |left| left.read(output, tokens))
    }

    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        if let Some(left) = &mut self.left {
            return left.run(max_firings, host);
        }
        match self.executor.execute(self.state, &mut self.world, self.bounds).ended {
            Ended::Waits(at) | Ended::Ends(at) => {
                self.state = at;
                Ok(Outcome::Idle)
            }
            Ended::Leaves(_) | Ended::Stopped(_) => self.leave(max_firings, host),
            Ended::Fails(at) => Err(trap(format!("state {at} fails a check"))),
        }
    }

    fn report(&self) -> Report {
        self.left.as_ref().map_or_else(|| Report { waits: Vec::new(), leftovers: Vec::new() }, Interpreter::report)
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        self.network.instances.iter().map(|_| Vec::new()).collect()
    }
}

/// The bytes that engines keep a token in: integers with sign are extended.
fn stored(value: u128, ty: headrace_ir::Scalar) -> Vec<u8> {
    let width = ty.width();
    let signed = matches!(ty, headrace_ir::Scalar::Int(int) if int.signed);
    let extended =
        if signed && width < 128 && value >> (width - 1) & 1 == 1 { value | u128::MAX << width } else { value };
    extended.to_le_bytes()[..ty.storage_bytes()].to_vec()
}

/// How much of an operation is compared.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The longest message, in bytes.
    pub bytes: usize,
    /// Known answers at most, from the first to the last.
    pub answers: usize,
    /// Begins no further answer after this.
    pub time: Duration,
}

impl Default for Extent {
    /// All answers of at most 4 KiB, however long that takes.
    fn default() -> Self {
        Extent { bytes: 4096, answers: usize::MAX, time: Duration::MAX }
    }
}

/// What was compared of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    /// States of its automaton.
    pub states: usize,
    /// Known answers that were computed.
    pub answers: usize,
    /// Those for which the automaton was left.
    pub left: usize,
    /// Known answers that there was no time for.
    pub missing: usize,
}

/// Compares the automaton of an operation's first variant with its known answers. `None` where it has no automaton.
///
/// # Errors
///
/// What differs.
pub fn operation(
    shipped: &Shipped,
    root: &Path,
    spec: &OperationSpec,
    extent: Extent,
) -> Result<Option<Compared>, String> {
    let Some(variant) = spec.variants.first() else { return Ok(None) };
    let network = shipped.network(spec, &variant.name)?;
    let Ok(automaton) = automaton_of_operation(spec, &network) else { return Ok(None) };
    let problems = verify(&automaton);
    if !problems.is_empty() {
        return Err(format!("its automaton is not as it must be: {problems:?}"));
    }
    let automaton = read_again(&automaton)?;
    let mut compared = Compared { states: automaton.states.len(), ..Compared::default() };
    let all = answers(shipped, root, spec, extent.bytes)?;
    let step = all.len().div_ceil(extent.answers.max(1)).max(1);
    let begun = Instant::now();
    for case in all.iter().step_by(step) {
        if begun.elapsed() > extent.time {
            compared.missing += 1;
            continue;
        }
        let leaves = Cell::new(false);
        let verdict = case.perform(spec, |call| {
            let CallInput::Message(message) = &call.input else { return Err("a part".to_owned()) };
            let engine = AutomatonEngine::new(&network, &automaton, Bounds::default(), &leaves);
            Running::new(spec, &network, Box::new(engine)).perform(message).map(Answer::Message)
        })?;
        if let Verdict::Failed(why) = verdict {
            return Err(format!("record {}: {why}", case.count));
        }
        compared.answers += 1;
        compared.left += usize::from(leaves.get());
    }
    Ok(Some(compared))
}

/// Whole messages among the known answers of an operation, of at most so many bytes.
fn answers(shipped: &Shipped, root: &Path, spec: &OperationSpec, most_bytes: usize) -> Result<Vec<Case>, String> {
    let manifest = shipped.library.manifests().iter().find(|manifest| manifest.folder == spec.folder);
    let mut found = Vec::new();
    for path in manifest.map_or_else(Vec::new, |manifest| shipped.library.vector_files(manifest)) {
        let bytes = std::fs::read(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let mut sources = SourceMap::default();
        let id = sources.add(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
        let (file, _) = VectorFile::parse(id, &bytes);
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let is_short = |case: &Case| match &case.plan {
            Plan::Accept(message, _) | Plan::Reject(message) => {
                let strings = [Role::Input, Role::Ad, Role::Seed];
                let bytes: usize = strings.iter().filter_map(|role| message.get(*role)).map(<[u8]>::len).sum();
                bytes <= most_bytes && message.words <= MOST_WORDS
            }
            _ => false,
        };
        let all = cases(&shipped.library, &name, &file, &[spec]).cases;
        found.extend(all.into_iter().filter(|case| case.arguments.is_empty() && is_short(case)));
    }
    Ok(found)
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
