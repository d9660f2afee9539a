//! The experiments that CTL was published with (section 5): AES-128 as standard network and as look-up-table actor against a
//! plain reference and one with tables, and SHA-256, over 4096 bytes, in 100 runs that are processes of their own, each with
//! other input.

use super::{Measured, ours, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output;
use headrace::Error;
use headrace::engines::c_compiler;
use headrace::error::describe;
use headrace_bench::contender::{Object, Prepared, ROOM_BYTES};
use headrace_bench::contest::{Times, noise, timed_once};
use headrace_bench::cycles;
use headrace_bench::peers;
use headrace_bench::results::{Machine, Row, Subject};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Bytes of a message.
const BYTES: usize = 4096;
/// Runs of each contender.
const RUNS: usize = 100;
/// What is measured.
const OPERATIONS: &[(&str, &str)] =
    &[("aes128", "ecb-encrypt"), ("aes128", "ecb-decrypt"), ("aes128", "ctr"), ("sha256", "hash")];
/// Our variants, as far as an operation has them.
const VARIANTS: &[&str] = &["standard", "lut"];
/// The references, by their names in the rules.
const REFERENCES: &[&str] = &["plain", "tables"];

/// One of those who are measured.
struct Contender {
    variant: String,
    implementation: String,
    engine: String,
    path: PathBuf,
    object: Arc<Object>,
}

/// Measures all of them, in turn.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    let library = context.library()?;
    let rules = referee::rules()?;
    let compiler = match arguments.compilers.first() {
        Some(named) => named.clone(),
        None => c_compiler()?.name(),
    };
    let mut measured = Measured::default();
    let mut references = Vec::new();
    for name in REFERENCES {
        let spec = rules.peers.get(*name).ok_or_else(|| Error::wrong(format!("no peer `{name}`")))?;
        references.push((peers::find(name, spec, &referee::adapters()).map_err(Error::missing)?, spec));
    }
    for (set, operation) in OPERATIONS {
        let spec = library.operation(set, operation);
        let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{set} {operation}`")))?;
        context.terminal.status(&format!("measuring {}", spec.full_name()));
        let full = format!("{set} {operation}");
        let strings = referee::strings(&rules, set);
        let mut compiled = Vec::new();
        for variant in spec.variants.iter().filter(|variant| VARIANTS.contains(&variant.name.as_str())) {
            compiled.push(ours::compile(context, spec, variant, &ours::Build::native(&compiler))?);
        }
        let own = compiled.iter().map(|ours| Contender {
            variant: ours.variant.clone(),
            implementation: "headrace".into(),
            engine: ours.engine.clone(),
            path: ours.path.clone(),
            object: Arc::clone(&ours.object),
        });
        let others = references.iter().map(|(peer, spec)| Contender {
            variant: peer.name.clone(),
            implementation: spec.title.clone(),
            engine: format!("cc {}", spec.flags.join(" ")),
            path: peer.path.clone(),
            object: Arc::clone(&peer.object),
        });
        let has = |contender: &Contender| Prepared::open(&contender.object, &full, &strings).is_some();
        let contenders: Vec<Contender> = own.chain(others).filter(has).collect();
        compare(&contenders, &full, &strings)?;
        let mut times = vec![Times::default(); contenders.len()];
        for _ in 0..RUNS {
            for (contender, times) in contenders.iter().zip(&mut times) {
                let (seconds, cycles) = separately(&contender.path, &full)?;
                times.seconds.push(seconds);
                times.cycles.push(cycles);
            }
        }
        for (contender, times) in contenders.into_iter().zip(times) {
            let subject = Subject {
                primitive: (*set).into(),
                operation: (*operation).into(),
                variant: contender.variant,
                implementation: contender.implementation,
                engine: contender.engine,
                bytes: BYTES as u64,
                verified: Some("equal outputs".into()),
            };
            measured.rows.push(Row { separate_cycles: times.cycles.clone(), ..Row::of_times(subject, &times, 1) });
        }
    }
    Ok(measured)
}

/// Holds all outputs against each other.
fn compare(contenders: &[Contender], operation: &str, strings: &headrace_bench::contender::Strings) -> Outcome {
    let input = noise(BYTES, 3);
    let result = |contender: &Contender| -> Option<Vec<u8>> {
        let mut output = vec![0; BYTES + ROOM_BYTES];
        let n = Prepared::open(&contender.object, operation, strings)?.run(&input, &mut output)?;
        output.truncate(n);
        Some(output)
    };
    let mut results = contenders.iter().map(|contender| (result(contender), contender));
    let Some((first, _)) = results.next() else { return Ok(()) };
    match results.find(|(result, _)| result.is_none() || *result != first) {
        None if first.is_some() => Ok(()),
        None => Err(Error::wrong(format!("{operation} fails"))),
        Some((_, other)) => Err(Error::wrong(format!("{operation}: {} gives another result", other.implementation))),
    }
}

/// One run in a process of its own: seconds and cycles.
fn separately(object: &Path, operation: &str) -> Outcome<(f64, f64)> {
    let wrong = |problem: String| Error::wrong(format!("a run of {operation}: {problem}"));
    let command = std::env::current_exe().map_err(|error| wrong(describe(&error)))?;
    let ran = Command::new(command).args(["bench", "--once"]).arg(object).arg(operation).output();
    let ran = ran.map_err(|error| wrong(describe(&error)))?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let figures: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match figures.as_slice() {
        [seconds, cycles] => Ok((*seconds, *cycles)),
        _ => Err(wrong(String::from_utf8_lossy(&ran.stderr).trim().to_owned())),
    }
}

/// What such a process does: one run that is not counted, so that code and stack are mapped; then one that is.
pub fn once(object: &Path, operation: &str) -> Outcome {
    let rules = referee::rules()?;
    let set = operation.split(' ').next().unwrap_or_default();
    let object = Object::load(object).map_err(Error::wrong)?;
    let refused = || Error::wrong(format!("`{operation}` cannot be opened"));
    let prepared = Prepared::open(&object, operation, &referee::strings(&rules, set)).ok_or_else(refused)?;
    cycles::pin();
    let time = timed_once(prepared, &noise(BYTES, u64::from(std::process::id())));
    let (seconds, cycles) = time.ok_or_else(|| Error::wrong("the run failed"))?;
    output::print(format!("{seconds:e} {cycles:e}\n").as_bytes())
}
