//! One core and several: the hash tree of CTL's publication (figures 4 and 5) over messages of 1 to 8 MB, and AES-CTR over
//! 16 MiB, as generated projects process them with `message_helped`: the start of the threads is part of every call. What
//! counts is time on the wall.

use super::{Measured, ours, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::engines::c_compiler;
use crate::failure::{Failure, Outcome};
use headrace_bench::contender::{Buffer, Prepared, ROOM_BYTES};
use headrace_bench::contest::{Times, noise};
use headrace_bench::cycles;
use headrace_bench::measure::{self, least, speed_ratio};
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use std::time::Instant;

/// Set, operation, sizes, and the size that the row is about.
const SUBJECTS: &[(&str, &str, &[usize], usize)] = &[
    ("sha256-tree4", "hash", &[1_000_000, 2_000_000, 4_000_000, 8_000_000], 8_000_000),
    ("aes128", "ctr", &[1 << 20, 4 << 20, 16 << 20], 16 << 20),
];
/// How much faster two threads must be than one, and should.
const MUST: f64 = 1.8;
/// See [`MUST`].
const GOAL: f64 = 2.0;
/// Threads of the row.
const ROW_THREADS: u32 = 2;

/// How much longer a run on one thread may take on the wall than on its processor, before others are said to keep it busy.
const MOST_WAITING: f64 = 1.2;

/// What was measured of one message.
struct Turns {
    /// For each number of threads.
    times: Vec<Times>,
    /// Seconds on the wall for each on the processor, on one thread.
    waiting: Vec<f64>,
}

/// Measures on one thread, two, and so on up to the cores that there are.
pub fn measure(context: &mut Context, arguments: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let library = context.library()?;
    let rules = referee::rules()?;
    let compiler = match arguments.compilers.first() {
        Some(named) => named.clone(),
        None => c_compiler()?.name(),
    };
    let mut measured = Measured::default();
    let n_threads: Vec<u32> =
        (0..).map(|power| 1 << power).take_while(|n| *n as usize <= machine.cores.max(1)).collect();
    for (set, operation, sizes, row_bytes) in SUBJECTS {
        let spec = library.operation(set, operation);
        let spec = spec.ok_or_else(|| Failure::wrong(format!("the library has no `{set} {operation}`")))?;
        let variant = spec.variant(None).ok_or_else(|| Failure::wrong("there is no variant"))?;
        context.terminal.status(&format!("compiling {}", spec.full_name()));
        let build = ours::Build { fused: !arguments.unfused, tuned: arguments.tune, ..ours::Build::native(&compiler) };
        let compiled = ours::compile(context, spec, variant, &build)?;
        let strings = referee::strings(&rules, set);
        let open = || Prepared::open(&compiled.object, &format!("{set} {operation}"), &strings);
        for bytes in *sizes {
            context.terminal.status(&format!("measuring {} over {bytes} bytes", spec.full_name()));
            let prepared: Option<Vec<Prepared>> = n_threads.iter().map(|_| open()).collect();
            let prepared =
                prepared.ok_or_else(|| Failure::wrong(format!("`{}` cannot be opened", spec.full_name())))?;
            let turns = take_turns(prepared, &n_threads, *bytes, arguments.pairs as usize)?;
            for (n, times) in n_threads.iter().zip(&turns.times) {
                let subject = Subject {
                    primitive: (*set).into(),
                    operation: (*operation).into(),
                    variant: format!("{}, {n} threads", compiled.variant),
                    implementation: "headrace".into(),
                    engine: compiled.engine.clone(),
                    bytes: *bytes as u64,
                    verified: Some("equal outputs on all numbers of threads".into()),
                };
                measured.rows.push(Row { threads: *n, ..Row::of_times(subject, times, 1) });
            }
            if bytes == row_bytes {
                let two = n_threads.iter().position(|n| *n == ROW_THREADS).and_then(|at| turns.times.get(at));
                let mut verdict = verdict(set, operation, *bytes, turns.times.first(), two);
                verdict.variant = format!("{}, {}", compiled.variant, compiled.engine);
                let waited = measure::median(&turns.waiting);
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

/// Has each number of threads process the message in turn, so many times after one that is not counted and whose results
/// are compared. All write to the same place.
fn take_turns(mut prepared: Vec<Prepared>, n_threads: &[u32], bytes: usize, pairs: usize) -> Outcome<Turns> {
    let (mut input, mut output) = (Buffer::new(bytes), Buffer::new(2 * bytes + ROOM_BYTES));
    input.bytes_mut().copy_from_slice(&noise(bytes, 3));
    let mut expected: Option<Vec<u8>> = None;
    let mut turns = Turns { times: vec![Times::default(); n_threads.len()], waiting: Vec::new() };
    let fails = |n: u32| Failure::wrong(format!("{n} threads fail"));
    for (one, n) in prepared.iter_mut().zip(n_threads) {
        if !one.set_threads(*n) {
            return Err(Failure::wrong("the project takes no number of threads"));
        }
        let made = one.run(input.bytes(), output.bytes_mut()).ok_or_else(|| fails(*n))?;
        let made = output.bytes().get(..made).ok_or_else(|| fails(*n))?;
        if expected.get_or_insert_with(|| made.to_vec()) != made {
            return Err(Failure::wrong(format!("{n} threads give another result")));
        }
        output.bytes_mut().fill(0);
    }
    let hertz = cycles::hertz();
    for _ in 0..pairs {
        for ((one, n), times) in prepared.iter_mut().zip(n_threads).zip(&mut turns.times) {
            let (start, on_processor) = (Instant::now(), measure::seconds());
            one.run(input.bytes(), output.bytes_mut()).ok_or_else(|| fails(*n))?;
            let (seconds, worked) = (start.elapsed().as_secs_f64(), measure::seconds() - on_processor);
            times.seconds.push(seconds);
            times.cycles.push(seconds * hertz);
            if *n == 1 {
                turns.waiting.push(seconds / worked.max(f64::MIN_POSITIVE));
            }
        }
    }
    Ok(turns)
}

/// What is said of the row: the median of the pairs' ratios counts, time on one thread over time on two.
fn verdict(set: &str, operation: &str, bytes: usize, one: Option<&Times>, two: Option<&Times>) -> Verdict {
    let per_byte = |times: &Times| measure::median(&times.cycles) / bytes as f64;
    let mut verdict = Verdict {
        row: format!("{ROW_THREADS} cores against one, start of threads included"),
        primitive: set.into(),
        operation: operation.into(),
        variant: String::new(),
        bytes: bytes as u64,
        streams: 1,
        ours: two.map(per_byte),
        other: "one thread".into(),
        others: one.map(per_byte),
        ratio: None,
        must: format!("≥ {MUST} × one thread"),
        goal: format!("≥ {GOAL} × one thread"),
        status: Status::NotMeasured,
        note: "this machine has one core".into(),
    };
    if let (Some(one), Some(two)) = (one, two) {
        let ratio = speed_ratio(&two.seconds, &one.seconds);
        verdict.ratio = Some(ratio);
        verdict.note = format!("{:.2} by the fastest of each", least(&one.seconds) / least(&two.seconds));
        verdict.status = match ratio {
            ratio if ratio >= GOAL => Status::Goal,
            ratio if ratio >= MUST => Status::Must,
            _ => Status::Missed,
        };
    }
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_cycles_per_byte_and_is_above_one_where_two_threads_are_faster() {
        let times = |seconds: [f64; 3]| Times { seconds: seconds.to_vec(), cycles: seconds.map(|s| s * 1e9).to_vec() };
        let (one, two) = (times([4.0, 8.0, 6.0]), times([2.0, 4.1, 3.1]));
        let verdict = verdict("x", "hash", 1_000_000_000, Some(&one), Some(&two));
        assert_eq!((verdict.ours, verdict.others), (Some(3.1), Some(6.0)));
        assert_eq!(verdict.ratio, Some(8.0 / 4.1));
        assert_eq!(verdict.status, Status::Must);
    }

    #[test]
    fn one_core_is_not_measured() {
        let verdict = verdict("x", "hash", 100, Some(&Times::default()), None);
        assert_eq!((verdict.ratio, verdict.status), (None, Status::NotMeasured));
    }
}
