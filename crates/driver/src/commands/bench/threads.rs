//! One core and several: the hash tree of CTL's publication (figures 4 and 5) over messages of 1 to 8 MB, and AES-CTR over
//! 16 MiB, as generated projects process them with `message_helped`: the start of the threads is part of every call. What
//! counts is time on the wall.
//!
//! What the machine gives at that moment is measured in the same turns: two runs at once that share nothing, as much work on
//! bytes that stay in caches, by one thread and by two, which is where computing and starting threads end, and the same
//! bytes copied by one thread and by two, which is where memory ends.

use super::{Measured, ours, referee};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace::engines::c_compiler;
use headrace_bench::contender::{Buffer, Prepared, ROOM_BYTES};
use headrace_bench::contest::{APART, Times, noise};
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

/// Attempts of a turn, of which the fastest counts.
const ATTEMPTS: usize = 5;

/// How much longer a run on one thread may take on the wall than on its processor, before others are said to keep it busy.
const MOST_WAITING: f64 = 1.2;

/// What takes turns.
enum Side {
    /// The operation, on so many threads.
    Threads(Prepared, u32),
    /// The operation twice, each over one half and on a thread of its own.
    Apart(Box<[Prepared; 2]>),
    /// The operation over as many bytes that stay in caches, in short messages, each context on a thread of its own.
    Cached(Vec<Prepared>),
    /// No operation: the bytes are copied by so many threads.
    Copied(u32),
}

/// What was measured of one message.
struct Turns {
    /// For each number of threads.
    times: Vec<Times>,
    /// Two runs at once that share nothing.
    apart: Times,
    /// Short messages in caches, by one thread and by two.
    cached: Option<[Times; 2]>,
    /// Copying, by one thread and by two; none where an operation gives much less than it takes.
    copied: Option<[Times; 2]>,
    /// Seconds on the wall for each on the processor, on one thread.
    waiting: Vec<f64>,
}

/// Bytes of a message that stays in the cache of a core.
const CACHED_BYTES: usize = 16_384;

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
        let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{set} {operation}`")))?;
        let variant = spec.variant(None).ok_or_else(|| Error::wrong("there is no variant"))?;
        context.terminal.status(&format!("compiling {}", spec.full_name()));
        let build = ours::Build { fused: !arguments.unfused, tuned: arguments.tune, ..ours::Build::native(&compiler) };
        let compiled = ours::compile(context, spec, variant, &build)?;
        let strings = referee::strings(&rules, set);
        let open = || Prepared::open(&compiled.object, &format!("{set} {operation}"), &strings);
        for bytes in *sizes {
            context.terminal.status(&format!("measuring {} over {bytes} bytes", spec.full_name()));
            let mut sides: Option<Vec<Side>> = n_threads.iter().map(|n| Some(Side::Threads(open()?, *n))).collect();
            let cached = |n: u32| (0..n).map(|_| open()).collect::<Option<Vec<Prepared>>>();
            if let (Some(sides), Some(alone), Some(both)) = (&mut sides, cached(1), cached(ROW_THREADS)) {
                sides.extend([Side::Cached(alone), Side::Cached(both)]);
            }
            if let (Some(sides), Some(one), Some(other)) = (&mut sides, open(), open()) {
                sides.extend([Side::Apart(Box::new([one, other])), Side::Copied(1), Side::Copied(ROW_THREADS)]);
            }
            let sides = sides.ok_or_else(|| Error::wrong(format!("`{}` cannot be opened", spec.full_name())))?;
            let turns = take_turns(sides, *bytes, arguments.pairs as usize)?;
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
                if let (Some(one), Some(two)) = (turns.times.first(), two) {
                    verdict.note = format!("{}; {}", verdict.note, limits(one, two, &turns));
                }
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

/// Lets all sides take turns, so many times after one run each that is not counted and whose results are compared. All
/// write to the same place.
fn take_turns(mut sides: Vec<Side>, bytes: usize, pairs: usize) -> Outcome<Turns> {
    let (mut input, mut output) = (Buffer::new(bytes, 0), Buffer::new(2 * (bytes + ROOM_BYTES), APART));
    input.bytes_mut().copy_from_slice(&noise(bytes, 3));
    let mut expected: Option<Vec<u8>> = None;
    for side in &mut sides {
        let Side::Threads(one, n) = side else { continue };
        if !one.set_threads(*n) {
            return Err(Error::wrong("the project takes no number of threads"));
        }
        let fails = || Error::wrong(format!("{n} threads fail"));
        let made = one.run(input.bytes(), output.bytes_mut()).ok_or_else(fails)?;
        let made = output.bytes().get(..made).ok_or_else(fails)?;
        if expected.get_or_insert_with(|| made.to_vec()) != made {
            return Err(Error::wrong(format!("{n} threads give another result")));
        }
        output.bytes_mut().fill(0);
    }
    let much = expected.is_some_and(|made| made.len() >= bytes);
    sides.retain(|side| much || !matches!(side, Side::Copied(_)));
    let mut waiting = Vec::new();
    let mut times = vec![Times::default(); sides.len()];
    let hertz = cycles::hertz();
    for _ in 0..pairs {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            let mut best = f64::INFINITY;
            for _ in 0..ATTEMPTS {
                let (start, on_processor) = (Instant::now(), measure::seconds());
                side.run(input.bytes(), output.bytes_mut()).ok_or_else(|| Error::wrong("a run fails"))?;
                let (seconds, worked) = (start.elapsed().as_secs_f64(), measure::seconds() - on_processor);
                if seconds < best {
                    best = seconds;
                    if matches!(side, Side::Threads(_, 1)) {
                        waiting.push(seconds / worked.max(f64::MIN_POSITIVE));
                    }
                }
            }
            times.seconds.push(best);
            times.cycles.push(best * hertz);
        }
    }
    let mut turns = Turns { times: Vec::new(), apart: Times::default(), cached: None, copied: None, waiting };
    let (mut cached, mut copied) = (Vec::new(), Vec::new());
    for (side, times) in sides.iter().zip(times) {
        match side {
            Side::Threads(..) => turns.times.push(times),
            Side::Apart(_) => turns.apart = times,
            Side::Cached(_) => cached.push(times),
            Side::Copied(_) => copied.push(times),
        }
    }
    turns.cached = <[Times; 2]>::try_from(cached).ok();
    turns.copied = <[Times; 2]>::try_from(copied).ok();
    Ok(turns)
}

impl Side {
    /// One run; `None` where it fails.
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Option<()> {
        match self {
            Side::Threads(one, _) => one.run(input, output).map(|_| ()),
            Side::Apart(both) => {
                let [one, other] = both.as_mut();
                let halves = input.split_at(input.len() / 128 * 64);
                let places = output.split_at_mut(output.len() / 2);
                std::thread::scope(|scope| {
                    let helper = scope.spawn(|| other.run(halves.1, places.1).map(|_| ()));
                    let own = one.run(halves.0, places.0).map(|_| ());
                    helper.join().ok().flatten().and(own)
                })
            }
            Side::Cached(contexts) => {
                let each = input.len() / contexts.len().max(1);
                let run = |context: &mut Prepared, input: &[u8], output: &mut [u8]| {
                    let message = &input[..input.len().min(CACHED_BYTES)];
                    (0..each / CACHED_BYTES).try_for_each(|_| context.run(message, output).map(|_| ()))
                };
                let places = output.chunks_mut(2 * (CACHED_BYTES + ROOM_BYTES));
                let mut parts = contexts.iter_mut().zip(input.chunks(each.max(1)).zip(places));
                let own = parts.next();
                std::thread::scope(|scope| {
                    let others: Vec<_> =
                        parts.map(|(context, (from, to))| scope.spawn(move || run(context, from, to))).collect();
                    let own = own.and_then(|(context, (from, to))| run(context, from, to));
                    others.into_iter().fold(own, |own, other| own.and(other.join().ok().flatten()))
                })
            }
            Side::Copied(n) => {
                let each = input.len().div_ceil(*n as usize).max(1);
                let copy = |from: &[u8], to: &mut [u8]| to[..from.len()].copy_from_slice(from);
                let mut parts = input.chunks(each).zip(output.chunks_mut(each));
                let own = parts.next();
                std::thread::scope(|scope| {
                    for (from, to) in parts {
                        scope.spawn(move || copy(from, to));
                    }
                    own.map(|(from, to)| copy(from, to))
                })
            }
        }
    }
}

/// What the machine gave beside the row, in words: fastest runs.
fn limits(one: &Times, two: &Times, turns: &Turns) -> String {
    let times = |times: &Times| least(&one.seconds) / least(&times.seconds);
    let mut words = format!("two runs at once that share nothing: {:.2}", times(&turns.apart));
    let milliseconds = |times: &Times| least(&times.seconds) * 1e3;
    if let Some([alone, both]) = &turns.cached {
        let (alone, both) = (milliseconds(alone), milliseconds(both));
        words = format!(
            "{words}; the same work in the cache of a core takes {alone:.2} ms on one and {both:.2} ms on two: computing and the start of a thread allow {:.2}",
            alone / both
        );
    }
    if let Some([alone, both]) = &turns.copied {
        words = format!(
            "{words}; copying the same bytes takes {:.2} ms on one core and {:.2} ms on two, this takes {:.2} and {:.2}: memory allows {:.2}",
            milliseconds(alone),
            milliseconds(both),
            milliseconds(one),
            milliseconds(two),
            times(both)
        );
    }
    words
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
        pieces: 0,
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
        verdict.status = Status::of_ratio(ratio, MUST, GOAL);
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
    fn what_memory_allows_is_said_where_bytes_come_out() {
        let times = |seconds: f64| Times { seconds: vec![seconds; 3], cycles: vec![seconds; 3] };
        let (one, two) = (times(8e-3), times(5e-3));
        let copied = Some([times(7e-3), times(4e-3)]);
        let turns = Turns { times: Vec::new(), apart: times(4e-3), cached: None, copied, waiting: Vec::new() };
        let said = limits(&one, &two, &turns);
        assert!(said.ends_with("7.00 ms on one core and 4.00 ms on two, this takes 8.00 and 5.00: memory allows 2.00"));
        let hash = Turns { copied: None, cached: Some([times(6e-3), times(4e-3)]), ..turns };
        assert_eq!(
            limits(&one, &two, &hash),
            "two runs at once that share nothing: 2.00; the same work in the cache of a core takes 6.00 ms on one and 4.00 ms on two: computing and the start of a thread allow 1.50"
        );
    }

    #[test]
    fn bytes_are_copied_whole_by_any_number_of_threads() {
        let input = noise(1001, 1);
        for n in 1..4 {
            let mut output = vec![0; 2 * (1001 + ROOM_BYTES)];
            assert_eq!(Side::Copied(n).run(&input, &mut output), Some(()));
            assert_eq!(output[..1001], input);
        }
    }

    #[test]
    fn one_core_is_not_measured() {
        let verdict = verdict("x", "hash", 100, Some(&Times::default()), None);
        assert_eq!((verdict.ratio, verdict.status), (None, Status::NotMeasured));
    }
}
