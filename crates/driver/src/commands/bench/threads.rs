//! One core and several: the hash tree of CTL's publication (figures 4 and 5) over messages of 1 to 8 MB, and AES-CTR over
//! 16 MiB, the start of the threads included. What counts is time on the wall.

use super::{Measured, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::mapping;
use crate::primitive::Runner;
use headrace_bench::contest::{Times, noise};
use headrace_bench::cycles;
use headrace_bench::measure::{self, least, speed_ratio};
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use headrace_library::Role;
use headrace_library::framing::Message;
use headrace_library::known_answers::{Answer, CallInput};
use headrace_native::{NativeEngine, Options};
use std::sync::Arc;
use std::time::Instant;

/// Set, operation, sizes, and the size that the row is about.
const SUBJECTS: &[(&str, &str, &[usize], usize)] = &[
    ("sha256-tree4", "hash", &[1_000_000, 2_000_000, 4_000_000, 8_000_000], 8_000_000),
    ("aes128", "ctr", &[16 << 20], 16 << 20),
];
/// How much faster two threads must be than one, and should.
const MUST: f64 = 1.8;
/// See [`MUST`].
const GOAL: f64 = 2.0;
/// Threads of the row.
const ROW_THREADS: usize = 2;
/// Most runs of each; slow ones have fewer.
const MOST_RUNS: usize = 21;
/// Bytes of which so many runs are made that they come to it.
const RUN_BYTES: usize = 64 << 20;

/// How much longer a run on one thread may take on the wall than on its processor, before others are said to keep it busy.
const MOST_WAITING: f64 = 1.2;

/// Measures on one thread, two, and so on up to the cores that there are.
pub fn measure(context: &mut Context, _: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let library = context.library()?;
    let rules = referee::rules()?;
    let mut measured = Measured::default();
    let n_threads: Vec<usize> = (0..).map(|power| 1 << power).take_while(|n| *n <= machine.cores).collect();
    for (set, operation, sizes, row_bytes) in SUBJECTS {
        let spec = library.operation(set, operation);
        let spec = spec.ok_or_else(|| Failure::wrong(format!("the library has no `{set} {operation}`")))?;
        let variant = spec.variant(None).ok_or_else(|| Failure::wrong("there is no variant"))?;
        let network = context.elaborate(&variant.network.to_string(), &[])?;
        let strings = referee::strings(&rules, set);
        for bytes in *sizes {
            context.terminal.status(&format!("measuring {} over {bytes} bytes", spec.full_name()));
            let mut message = Message::new().with(Role::Input, noise(*bytes, 3));
            if spec.input(Role::Key).is_some() {
                message.set(Role::Key, strings.key.clone());
            }
            if spec.input(Role::Iv).is_some() {
                message.set(Role::Iv, strings.iv.clone());
            }
            let input = CallInput::Message(message);
            let mut times: Vec<Times> = vec![Times::default(); n_threads.len()];
            let mut answers: Vec<Answer> = Vec::new();
            let mut waiting: Vec<f64> = Vec::new();
            for _ in 0..(RUN_BYTES / bytes).clamp(3, MOST_RUNS) {
                for (n, times) in n_threads.iter().zip(&mut times) {
                    let mut options = Options::default();
                    let mut divided = Arc::clone(&network);
                    if *n > 1 {
                        let division = mapping::automatic(&network, u32::try_from(*n).unwrap_or(1));
                        divided = Arc::new(mapping::with_room(&network, &division));
                        options.mapping = Some(Arc::new(division.mapping));
                    }
                    let engine = NativeEngine::new(Arc::clone(&divided), &options);
                    let engine = engine.map_err(|error| Failure::wrong(error.to_string()))?;
                    // The threads of an engine start at its first run.
                    let mut runner = Runner::new(spec, &divided, Box::new(engine));
                    let (start, on_processor) = (Instant::now(), measure::seconds());
                    let answer = runner.perform(&input).map_err(Failure::wrong)?;
                    let seconds = start.elapsed().as_secs_f64();
                    if *n == 1 {
                        waiting.push(seconds / (measure::seconds() - on_processor).max(f64::MIN_POSITIVE));
                    }
                    times.seconds.push(seconds);
                    times.cycles.push(seconds * cycles::hertz());
                    answers.push(answer);
                    if answers.windows(2).any(|pair| pair[0] != pair[1]) {
                        return Err(Failure::wrong(format!("{n} threads give another result")));
                    }
                    answers.truncate(1);
                }
            }
            for (n, times) in n_threads.iter().zip(&times) {
                let subject = Subject {
                    primitive: (*set).into(),
                    operation: (*operation).into(),
                    variant: format!("{}, {n} threads", variant.name),
                    implementation: "headrace".into(),
                    engine: "native, divided by work".into(),
                    bytes: *bytes as u64,
                    verified: Some("equal outputs on all numbers of threads".into()),
                };
                let row = Row::of_times(subject, times, 1);
                measured.rows.push(Row { threads: u32::try_from(*n).unwrap_or(1), ..row });
            }
            if bytes == row_bytes {
                let two = n_threads.iter().position(|n| *n == ROW_THREADS);
                let title = format!("{ROW_THREADS} cores against one, start of threads included");
                let mut verdict = verdict(&title, set, operation, *bytes, &times, two);
                let waited = measure::median(&waiting);
                if waited > MOST_WAITING {
                    verdict.status = Status::NotMeasured;
                    verdict.note =
                        format!("others kept the cores busy: {waited:.1} s on the wall for each on one core");
                }
                measured.verdicts.push(verdict);
            }
        }
    }
    Ok(measured)
}

fn verdict(title: &str, set: &str, operation: &str, bytes: usize, times: &[Times], two: Option<usize>) -> Verdict {
    let mut verdict = Verdict {
        row: title.into(),
        primitive: set.into(),
        operation: operation.into(),
        variant: "native engine, divided by work".into(),
        bytes: bytes as u64,
        streams: 1,
        ours: None,
        other: "one thread".into(),
        others: times.first().map(|one| least(&one.cycles) / bytes as f64),
        ratio: None,
        must: format!("≥ {MUST} × one thread"),
        goal: format!("≥ {GOAL} × one thread"),
        status: Status::NotMeasured,
        note: "this machine has one core".into(),
    };
    if let (Some(one), Some(two)) = (times.first(), two.and_then(|at| times.get(at))) {
        let ratio = speed_ratio(&two.seconds, &one.seconds);
        verdict.ours = Some(least(&two.cycles) / bytes as f64);
        verdict.ratio = Some(ratio);
        verdict.note = String::new();
        verdict.status = match ratio {
            ratio if ratio >= GOAL => Status::Goal,
            ratio if ratio >= MUST => Status::Must,
            _ => Status::Missed,
        };
    }
    verdict
}
