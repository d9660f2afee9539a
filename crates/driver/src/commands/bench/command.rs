//! The command end to end: whole processes from file to file, beside `openssl`.
//!
//! A row is `headrace use` on a file of some size, warm cache: what it takes from its start to its end, with what it reads and
//! writes. Both commands take turns on one file; the median of the pairs' ratios counts.

use super::Measured;
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{TemporaryFolder, write_file};
use headrace_bench::contest::{Times, noise};
use headrace_bench::cycles;
use headrace_bench::machine::version_of;
use headrace_bench::measure::speed_ratio;
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Key and counter block as `use` takes them; `openssl` takes the digits.
const KEY: &str = "hex:2b7e151628aed2a6abf7158809cf4f3c";
/// See [`KEY`].
const COUNTER: &str = "hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// An operation, and the words of both commands; `IN` and `OUT` are the files.
struct Job {
    primitive: &'static str,
    operation: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    /// What must be reached on large files and should be, in speeds of the other.
    wanted: (f64, f64),
}

const JOBS: &[Job] = &[
    Job {
        primitive: "aes128",
        operation: "ctr",
        ours: &["use", "aes128", "ctr", "--key", KEY, "--iv", COUNTER, "--in", "IN", "--out", "OUT"],
        theirs: &["enc", "-aes-128-ctr", "-K", KEY, "-iv", COUNTER, "-in", "IN", "-out", "OUT"],
        wanted: (1.0, 2.0),
    },
    Job {
        primitive: "sha256",
        operation: "hash",
        ours: &["use", "sha256", "hash", "--in", "IN", "--out", "OUT"],
        theirs: &["dgst", "-sha256", "-binary", "-out", "OUT", "IN"],
        wanted: (1.0, 1.0),
    },
];

/// Sizes of files in bytes, and the most pairs of each.
const SIZES: &[(u64, u32)] = &[(SMALL, 21), (64 << 20, 9), (1 << 30, 3)];

/// Up to here it is the start of the process that counts.
const SMALL: u64 = 1 << 20;

/// What must be reached there and should be, in speeds of the other.
const WANTED_OF_SMALL: (f64, f64) = (1.0 / 1.5, 1.0);

/// Bytes of noise that a file repeats.
const BLOCK: usize = 1 << 20;

/// Measures every job on every size.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    if !context.is_plain() {
        return Err(Failure::usage(
            "what is measured is the command with its own library: without -L and --orcc-widths",
        ));
    }
    let mut measured = Measured::default();
    let Some(version) = version_of("openssl") else {
        return Err(Failure::missing("openssl is missing: apt-get install openssl"));
    };
    let version = version.split(" (Library").next().unwrap_or_default().to_owned();
    measured.versions.insert("openssl".into(), version.clone());
    let own = std::env::current_exe().map_err(|error| Failure::io("this command", &error))?;
    // As `make install` leaves it: what is common is compiled.
    context.terminal.status("compiling");
    let mut prepare = Command::new(&own);
    prepare.arg("prepare").args(JOBS.iter().map(|job| format!("{}-{}", job.primitive, job.operation)));
    Process(prepare).run()?;
    let folder = TemporaryFolder::new()?;
    let [input, ours, theirs] = ["in", "ours", "theirs"].map(|name| folder.path().join(name));
    let block = noise(BLOCK, 5);
    for &(bytes, most_pairs) in SIZES {
        context.terminal.status(&format!("writing {} MiB", bytes >> 20));
        write_file(&input, &block.repeat((bytes / BLOCK as u64) as usize))?;
        for job in JOBS {
            context.terminal.status(&format!("measuring {} {} over {} MiB", job.primitive, job.operation, bytes >> 20));
            let [mut ours_of, mut theirs_of] = [
                Process::of(&own, job.ours, &input, &ours),
                Process::of(Path::new("openssl"), job.theirs, &input, &theirs),
            ];
            // What is compiled is kept, and files are in memory.
            for process in [&mut ours_of, &mut theirs_of] {
                process.run()?;
            }
            let read = |path: &Path| std::fs::read(path).map_err(|error| Failure::io(path.display(), &error));
            let (one, other) = (read(&ours)?, read(&theirs)?);
            if one != other {
                return Err(Failure::wrong(format!("{} {}: outputs differ", job.primitive, job.operation)));
            }
            drop((one, other));
            let [mut our_times, mut their_times] = [Times::default(), Times::default()];
            let hertz = cycles::hertz();
            for _ in 0..arguments.pairs.clamp(1, most_pairs) {
                for (process, times) in [(&mut ours_of, &mut our_times), (&mut theirs_of, &mut their_times)] {
                    let seconds = process.run()?;
                    times.seconds.push(seconds);
                    times.cycles.push(seconds * hertz);
                }
            }
            let subject = |implementation: &str| Subject {
                primitive: job.primitive.into(),
                operation: job.operation.into(),
                variant: "the command, file to file".into(),
                implementation: implementation.into(),
                engine: "native".into(),
                bytes,
                verified: Some("equal outputs".into()),
            };
            measured.rows.push(Row::of_times(subject("headrace"), &our_times, 1));
            measured.rows.push(Row::of_times(subject(&version), &their_times, 1));
            let wanted = if bytes <= SMALL { WANTED_OF_SMALL } else { job.wanted };
            measured.verdicts.push(verdict(job, bytes, wanted, &version, &our_times, &their_times));
        }
    }
    Ok(measured)
}

/// A command that is run again and again.
struct Process(Command);

impl Process {
    fn of(program: &Path, words: &[&str], input: &Path, output: &Path) -> Process {
        let mut command = Command::new(program);
        for word in words {
            match *word {
                "IN" => command.arg(input),
                "OUT" => command.arg(output),
                word if words[0] != "use" => command.arg(word.trim_start_matches("hex:")),
                word => command.arg(word),
            };
        }
        Process(command)
    }

    /// Seconds on the wall.
    fn run(&mut self) -> Outcome<f64> {
        let began = Instant::now();
        let ran = self.0.output().map_err(|error| Failure::io(self.0.get_program().display(), &error))?;
        let seconds = began.elapsed().as_secs_f64();
        if ran.status.success() {
            return Ok(seconds);
        }
        let name = self.0.get_program().display().to_string();
        Err(Failure::wrong(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr).trim_end())))
    }
}

fn verdict(job: &Job, bytes: u64, wanted: (f64, f64), other: &str, ours: &Times, theirs: &Times) -> Verdict {
    let per_byte = |times: &Times| headrace_bench::measure::median(&times.cycles) / bytes as f64;
    let ratio = speed_ratio(&ours.seconds, &theirs.seconds);
    let (must, goal) = wanted;
    let milliseconds = |times: &Times| headrace_bench::measure::median(&times.seconds) * 1e3;
    Verdict {
        row: "The command, file to file, whole process".into(),
        primitive: job.primitive.into(),
        operation: job.operation.into(),
        variant: "headrace use".into(),
        bytes,
        streams: 1,
        pieces: 0,
        ours: Some(per_byte(ours)),
        other: other.into(),
        others: Some(per_byte(theirs)),
        ratio: Some(ratio),
        must: format!("≥ {must:.2} × openssl"),
        goal: format!("≥ {goal:.2} × openssl"),
        status: match ratio {
            ratio if ratio >= goal => Status::Goal,
            ratio if ratio >= must => Status::Must,
            _ => Status::Missed,
        },
        note: format!("{:.1} ms and {:.1} ms", milliseconds(ours), milliseconds(theirs)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_as_fast_as_the_other_reaches_what_it_must() {
        let times = |seconds: f64| Times { seconds: vec![seconds; 3], cycles: vec![seconds * 1e9; 3] };
        let judged = |ours, theirs| verdict(&JOBS[0], 1 << 30, (1.0, 2.0), "x", &times(ours), &times(theirs)).status;
        assert_eq!(
            [judged(1.1, 1.0), judged(1.0, 1.0), judged(1.0, 2.0)],
            [Status::Missed, Status::Must, Status::Goal]
        );
    }
}
