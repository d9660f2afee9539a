//! Messages in pieces beside whole ones: what it costs to give an operation its input by `update`.
//!
//! Of every primitive one parameter set, the first: all its operations that take pieces. The generated C, as a project of its own, gets
//! one message in pieces of a kibibyte and whole by turns, under a key that it has; both must give the same.

use super::Measured;
use super::ours::{self, Build, Compiled};
use super::processes::{Job, Turns};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::commands::synth::steps::in_parallel;
use crate::failure::Outcome;
use headrace::Error;
use headrace::engines::c_compiler;
use headrace_bench::contender::{Prepared, Strings};
use headrace_bench::contest::{Entrant, Inputs, Load, Side, hold_sides, noise};
use headrace_bench::results::{Machine, Subject, Verdict};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_targets::c::contender::takes_pieces;
use std::collections::BTreeSet;

/// Bytes of a message, about, and of a piece.
const BYTES: u64 = 65_536;
const PIECE: usize = 1024;

/// What must be reached and should be, in speeds of whole messages.
const WANTED: (f64, f64) = (0.9, 0.97);

/// Operations that are compiled before any of them is measured: compilers would disturb that.
const TOGETHER: usize = 8;

/// Compilers at a time.
const COMPILERS: usize = 2;

/// The most pairs: there are many rows.
const MOST_PAIRS: u32 = 9;

/// Measures operation after operation.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    go_on(context, arguments, Measured::default(), &mut |_| Ok(()))
}

/// The same of those that `earlier` does not have. `keep` gets all after each few.
pub fn go_on(
    context: &mut Context,
    arguments: &BenchArgs,
    earlier: Measured,
    keep: &mut dyn FnMut(&Measured) -> Outcome,
) -> Outcome<Measured> {
    let library = context.library()?;
    let compiler = match arguments.compilers.first() {
        Some(named) => named.clone(),
        None => c_compiler()?.name(),
    };
    let build = Build { fused: !arguments.unfused, tuned: arguments.tune, ..Build::native(&compiler) };
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    let all = library.operations().iter().filter(|spec| takes_pieces(spec));
    let mut measured = earlier;
    let firsts = all.filter(|&spec| seen.insert((&spec.folder, &spec.name)));
    let is_done = |spec: &OperationSpec, one: &Verdict| (&one.primitive, &one.operation) == (&spec.set, &spec.name);
    let operations: Vec<&OperationSpec> =
        firsts.filter(|spec| !measured.verdicts.iter().any(|one| is_done(spec, one))).collect();
    let pairs = arguments.pairs.clamp(1, MOST_PAIRS) as usize;
    for (at, some) in operations.chunks(TOGETHER).enumerate() {
        let mut generated = Vec::new();
        for (number, spec) in some.iter().enumerate() {
            let done = at * TOGETHER + number;
            context.terminal.status(&format!("generating {}, {done} of {} done", spec.full_name(), operations.len()));
            let variant = spec.variant(None).ok_or_else(|| Error::wrong("there is no variant"))?;
            generated.push(ours::generate(context, spec, variant, &build)?);
        }
        context.terminal.status(&format!("compiling {} operations", some.len()));
        let compiled = in_parallel(&generated, COMPILERS, |one| Ok(one.compile()), || {})?;
        for (spec, compiled) in some.iter().zip(compiled) {
            context.terminal.status(&format!("measuring {}", spec.full_name()));
            let inverse = spec.inverse.as_deref().filter(|_| !spec.alphabet.is_empty());
            let inverse = match inverse.and_then(|name| library.operation(&spec.set, name)) {
                None => None,
                Some(made_by) => {
                    let variant = made_by.variant(None).ok_or_else(|| Error::wrong("there is no variant"))?;
                    Some((made_by, ours::compile(context, made_by, variant, &build)?))
                }
            };
            let verdict = compiled.and_then(|compiled| one(spec, &compiled, inverse, pairs, &mut measured));
            let verdict = verdict.unwrap_or_else(|why| job(spec, "", "").not_measured(&why));
            measured.verdicts.push(Verdict { pieces: PIECE as u64, ..verdict });
        }
        keep(&measured)?;
    }
    Ok(measured)
}

fn job(spec: &OperationSpec, variant: &str, engine: &str) -> Job {
    Job {
        row: "Messages in pieces of a kibibyte, against whole ones",
        subject: Subject {
            primitive: spec.set.clone(),
            operation: spec.name.clone(),
            variant: variant.into(),
            implementation: "headrace".into(),
            engine: engine.into(),
            bytes: BYTES,
            verified: Some("equal results of pieces and of the whole".into()),
        },
        other: "the whole message".into(),
        wanted: WANTED,
    }
}

/// A length that a string of this role may have, where the operation has it: a usual one, else the least.
fn length(spec: &OperationSpec, role: Role) -> usize {
    let Some(port) = spec.input(role) else { return 0 };
    let usual: &[u64] = if role == Role::Nonce { &[12, 16, 24, 8] } else { &[16, 32, 24, 8, 64] };
    let usual = usual.iter().copied().find(|&bytes| port.sizes.allows(bytes));
    usual.unwrap_or_else(|| port.sizes.min()) as usize
}

/// An operation with a key.
fn open(spec: &OperationSpec, compiled: &Compiled) -> Result<Prepared, String> {
    let iv = length(spec, Role::Iv).max(length(spec, Role::Nonce));
    let strings = Strings { key: noise(length(spec, Role::Key), 1), iv: noise(iv, 2) };
    let name = format!("{} {}", spec.set, spec.name);
    Prepared::open(&compiled.object, &name, &strings).ok_or_else(|| "it cannot be opened".to_owned())
}

/// A message that the operation takes: what `made_by` gives where it takes no other.
fn message(spec: &OperationSpec, made_by: Option<(&OperationSpec, Compiled)>) -> Result<Vec<u8>, String> {
    let allowed = |spec: &OperationSpec, most: u64| {
        let sizes = spec.input(Role::Input).map(|port| &port.sizes);
        (1..=most).rev().find(|&bytes| sizes.is_none_or(|sizes| sizes.allows(bytes))).unwrap_or(most)
    };
    let Some((made_by, compiled)) = made_by else { return Ok(noise(allowed(spec, BYTES) as usize, 3)) };
    // It becomes longer.
    let load = Load { bytes: allowed(made_by, BYTES / 4) as usize, messages: 1, piece: 0 };
    let inputs = Inputs::new(&[noise(load.bytes, 3)]);
    let made = Entrant::new(open(made_by, &compiled)?, 4 * load.bytes, 1).results(&inputs, load);
    made.and_then(|made| made.into_iter().next()).ok_or_else(|| "nothing makes messages for it".to_owned())
}

/// Measures an operation.
fn one(
    spec: &OperationSpec,
    compiled: &Compiled,
    made_by: Option<(&OperationSpec, Compiled)>,
    pairs: usize,
    measured: &mut Measured,
) -> Result<Verdict, String> {
    let message = message(spec, made_by)?;
    let side = |piece: usize| -> Result<Side, String> {
        let load = Load { bytes: message.len(), messages: 1, piece };
        let entrant = Entrant::new(open(spec, compiled)?, 2 * message.len(), 1);
        Ok(Side::Loaded(entrant, Inputs::new(std::slice::from_ref(&message)), load))
    };
    let (mut pieces, mut whole) = (side(PIECE)?, side(0)?);
    let results = [pieces.result(), whole.result()];
    match &results {
        [Some(pieces), Some(whole)] if pieces == whole => {}
        [Some(_), Some(_)] => return Err("pieces and the whole give different results".into()),
        [None, _] => return Err("it takes no pieces of a kibibyte".into()),
        _ => return Err("it does not take the message whole".into()),
    }
    let times = hold_sides(&mut [&mut pieces, &mut whole], pairs);
    let [pieces, whole] = times.as_slice() else { return Err("there are no times".into()) };
    if pieces.seconds.is_empty() || whole.seconds.is_empty() {
        return Err("a run fails".into());
    }
    let mut job = job(spec, &compiled.variant, &compiled.engine);
    job.subject.bytes = message.len() as u64;
    let turns = Turns::of(pieces.clone(), whole.clone());
    let [mut of_pieces, mut of_whole] = job.rows(&turns);
    of_pieces.pieces = PIECE as u64;
    of_whole.implementation = "headrace".into();
    measured.rows.extend([of_pieces, of_whole]);
    Ok(Verdict { note: String::new(), ..job.verdict(&turns) })
}
