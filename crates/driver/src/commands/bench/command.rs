//! The command end to end: whole processes from file to file, beside `openssl`.
//!
//! A row is `headrace use` on a file of some size, with what `make install` compiles ahead: from its start to its end, with what
//! it reads and writes. The outputs are compared.

use super::Measured;
use super::processes::{Job, openssl, take_turns};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output::TemporaryFolder;
use headrace::Error;
use headrace_bench::contest::noise;
use headrace_bench::results::{Machine, Subject};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Key and counter block as `use` takes them; `openssl` takes the digits.
const KEY: &str = "hex:2b7e151628aed2a6abf7158809cf4f3c";
/// See [`KEY`].
const COUNTER: &str = "hex:f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// An operation, and the words of both commands; `IN` and `OUT` are the files.
struct Words {
    primitive: &'static str,
    operation: &'static str,
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
    /// What must be reached on large files and should be, in speeds of the other.
    wanted: (f64, f64),
}

const OPERATIONS: &[Words] = &[
    Words {
        primitive: "aes128",
        operation: "ctr",
        ours: &["use", "aes128", "ctr", "--key", KEY, "--iv", COUNTER, "--in", "IN", "--out", "OUT"],
        theirs: &["enc", "-aes-128-ctr", "-K", KEY, "-iv", COUNTER, "-in", "IN", "-out", "OUT"],
        wanted: (1.0, 2.0),
    },
    Words {
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

/// Measures every operation on every size.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    let mut measured = Measured::default();
    let other = openssl();
    let job = |words: &Words, bytes: u64| Job {
        row: "The command, file to file, whole process",
        subject: Subject {
            primitive: words.primitive.into(),
            operation: words.operation.into(),
            variant: "the command, file to file".into(),
            implementation: "headrace".into(),
            engine: "native".into(),
            bytes,
            verified: Some("equal outputs".into()),
        },
        other: other.clone().unwrap_or_else(|| "openssl".into()),
        wanted: if bytes <= SMALL { WANTED_OF_SMALL } else { words.wanted },
    };
    let hindrance = match &other {
        None => Some("openssl is missing: apt-get install openssl"),
        Some(_) if !context.workspace.is_plain() => {
            Some("it is about the command with its own library: without -L and --orcc-widths")
        }
        Some(_) => None,
    };
    if let Some(why) = hindrance {
        let all = SIZES.iter().flat_map(|(bytes, _)| OPERATIONS.iter().map(|words| job(words, *bytes)));
        measured.verdicts.extend(all.map(|job| job.not_measured(why)));
        return Ok(measured);
    }
    let own = std::env::current_exe().map_err(|error| Error::io("this command", &error))?;
    context.terminal.status("compiling");
    let names: Vec<String> =
        OPERATIONS.iter().map(|words| format!("{}-{}", words.primitive, words.operation)).collect();
    run(Command::new(&own).arg("prepare").args(names))?;
    let folder = TemporaryFolder::new()?;
    let [input, ours, theirs] = ["in", "ours", "theirs"].map(|name| folder.path().join(name));
    for &(bytes, most_pairs) in SIZES {
        context.terminal.status(&format!("writing {} MiB", bytes >> 20));
        write_noise(&input, bytes)?;
        for words in OPERATIONS {
            let job = job(words, bytes);
            context.terminal.status(&format!(
                "measuring {} {} over {} MiB",
                words.primitive,
                words.operation,
                bytes >> 20
            ));
            let mut one = command(&own, words.ours, &input, &ours);
            let mut other = command(Path::new("openssl"), words.theirs, &input, &theirs);
            // Files are in memory, as far as there is some.
            run(&mut one)?;
            run(&mut other)?;
            if !are_equal(&ours, &theirs)? {
                return Err(Error::wrong(format!("{} {}: outputs differ", words.primitive, words.operation)));
            }
            let turns = take_turns(arguments.pairs.clamp(1, most_pairs), |is_ours| {
                run(if is_ours { &mut one } else { &mut other })
            })?;
            measured.rows.extend(job.rows(&turns));
            measured.verdicts.push(job.verdict(&turns));
        }
    }
    Ok(measured)
}

/// A command with its words.
fn command(program: &Path, words: &[&str], input: &Path, output: &Path) -> Command {
    let mut command = Command::new(program);
    let takes_digits = program == Path::new("openssl");
    for word in words {
        match *word {
            "IN" => command.arg(input),
            "OUT" => command.arg(output),
            word if takes_digits => command.arg(word.trim_start_matches("hex:")),
            word => command.arg(word),
        };
    }
    command
}

/// Runs a command that must end well; gives seconds on the wall.
pub(super) fn run(command: &mut Command) -> Outcome<f64> {
    let name = command.get_program().display().to_string();
    let began = Instant::now();
    let ran = command.output().map_err(|error| Error::io(&name, &error))?;
    let seconds = began.elapsed().as_secs_f64();
    match ran.status.success() {
        true => Ok(seconds),
        false => Err(Error::wrong(format!("{name}: {}", String::from_utf8_lossy(&ran.stderr).trim_end()))),
    }
}

/// Writes noise, a block again and again: large files need not be in memory.
fn write_noise(path: &Path, bytes: u64) -> Outcome {
    let wrong = |error: std::io::Error| Error::io(path.display(), &error);
    let block = noise(BLOCK, 5);
    let mut file = File::create(path).map_err(wrong)?;
    (0..bytes / BLOCK as u64).try_for_each(|_| file.write_all(&block)).map_err(wrong)
}

/// Whether two files have the same bytes.
fn are_equal(one: &Path, other: &Path) -> Outcome<bool> {
    let open = |path: &Path| File::open(path).map_err(|error| Error::io(path.display(), &error));
    let (one, other) = (open(one)?, open(other)?);
    let mut blocks = [Vec::new(), Vec::new()];
    loop {
        let mut n = [0; 2];
        for ((file, block), n) in [&one, &other].into_iter().zip(&mut blocks).zip(&mut n) {
            block.clear();
            let read = file.take(BLOCK as u64).read_to_end(block);
            *n = read.map_err(|error| Error::io("output", &error))?;
        }
        if blocks[0] != blocks[1] {
            return Ok(false);
        }
        if n == [0, 0] {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_equal_to_the_last_byte() {
        let folder = TemporaryFolder::new().expect("a folder can be made");
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        write_noise(&one, 2 * BLOCK as u64).expect("it can be written");
        let mut bytes = std::fs::read(&one).expect("it is there");
        assert_eq!(bytes.len(), 2 * BLOCK);
        std::fs::write(&other, &bytes).expect("it can be written");
        assert!(are_equal(&one, &other).expect("both are there"));
        bytes[2 * BLOCK - 1] ^= 1;
        std::fs::write(&other, &bytes).expect("it can be written");
        assert!(!are_equal(&one, &other).expect("both are there"));
        std::fs::write(&other, &bytes[..BLOCK]).expect("it can be written");
        assert!(!are_equal(&one, &other).expect("both are there"));
    }
}
