//! `headrace demo`: the main job on real input, in every way that can be had here.

use super::bench::targets::{self, Speed};
use super::{Context, use_primitive};
use crate::cli::{DemoArgs, EngineName, FuseWhen, UseArgs};
use crate::failure::Outcome;
use crate::output::{self, TemporaryFolder, write_file};
use crate::ports::hexadecimal;
use headrace::Error;
use headrace::engines::{self, Available};
use headrace::picture;
use headrace_bench::contender::Strings;
use headrace_bench::report::{Trial, demonstration};
use headrace_bench::tables::figure;
use headrace_library::catalog::OperationSpec;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Key and first counter block of SP 800-38A, F.5.1.
const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const COUNTER: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
/// What is done with them.
const SET: &str = "aes128";
const OPERATION: &str = "ctr";
/// The same in the words of the independent implementation.
const PEER_CIPHER: &str = "-aes-128-ctr";

/// Bytes by which the speed of a slow engine is found out.
const TRIAL_BYTES: usize = 1 << 12;

/// Bytes of the message for the languages of targets, some of which have it in memory several times.
const TARGET_BYTES: usize = 1 << 20;

/// The network that is drawn in the report.
const DRAWN: &str = "ctl.block.aes.AesEncrypt(NK = 4)";

/// What the rows of targets are.
const ABOUT_TARGETS: &str = "the operation as headrace build writes it in their languages, from memory to memory, without files; fused \
                             code is target c, and headrace test aes128 ctr --on all builds and tests what else there is";

/// Runs whose best counts, of OpenSSL and of what is as fast.
const RUNS: usize = 3;

/// The ways in which an operation runs, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Fused,
    Scheduler,
    Interpreter,
}

impl Way {
    const ALL: [Way; 3] = [Way::Fused, Way::Scheduler, Way::Interpreter];

    fn name(self) -> &'static str {
        match self {
            Way::Fused => "fused code",
            Way::Scheduler => "scheduler",
            Way::Interpreter => "interpreter",
        }
    }

    /// What it is.
    fn about(self) -> &'static str {
        match self {
            Way::Fused => {
                "all actors made one program and compiled: what headrace build writes, and what headrace use runs where it was \
                 compiled before or the input is long"
            }
            Way::Scheduler => {
                "the actors compiled one by one, fired by a scheduler at run time: for networks that no one program is made of, \
                 and for short inputs before it is"
            }
            Way::Interpreter => {
                "the actors executed as they are written: it says what a program means, traces it, and needs no C compiler"
            }
        }
    }

    fn engine(self) -> EngineName {
        if self == Way::Interpreter { EngineName::Interp } else { EngineName::Native }
    }
}

/// Encrypts a file in every way, compares, and prints and writes a table.
pub fn demo(context: &mut Context, arguments: &DemoArgs) -> Outcome {
    let folder = TemporaryFolder::new()?;
    let plain = folder.path().join("plain");
    let n_bytes = usize::try_from(arguments.size << 20).map_err(|_| Error::usage("--size: too large"))?;
    context.terminal.say(&format!("encrypting {} MiB of noise with {SET} in mode {OPERATION}", arguments.size));
    write_file(&plain, &noise(n_bytes))?;
    let library = context.library()?;
    let spec = library.operation(SET, OPERATION);
    let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no operation `{SET} {OPERATION}`")))?;
    let mut trials = Vec::new();
    // What all outputs are compared with: that of the independent implementation, or of what runs first without it.
    let (mut reference, mut peer_speed) = (None, f64::NAN);
    match openssl(&plain, &folder.path().join("peer")) {
        Ok(peer) => {
            trials.push(Trial {
                name: peer.version,
                verified: Some(true),
                bytes: n_bytes as u64,
                mb_per_s: peer.mb_per_s,
                ratio: 1.0,
                note: "the independent implementation: openssl enc".into(),
            });
            (reference, peer_speed) = (Some(peer.cipher), peer.mb_per_s);
        }
        Err(Error::MissingTool(why)) => trials.push(Trial::not_run("OpenSSL".into(), why)),
        Err(error) => return Err(error),
    }
    for way in Way::ALL {
        for variant in &spec.variants {
            let name = format!("{}, variant {}", way.name(), variant.name);
            context.terminal.status(&name);
            let with = match engines::availability(way.engine().into()) {
                Available::Here(with) => with,
                Available::Missing(why) => {
                    trials.push(Trial::not_run(name, why));
                    continue;
                }
            };
            let job = Job { way, variant: &variant.name, plain: &plain, n_bytes };
            let time = (way != Way::Fused).then_some(arguments.seconds);
            trials.push(match job.run(context, folder.path(), time) {
                Ok(Some(Made { cipher, seconds, wanted_bytes })) => {
                    let mb_per_s = cipher.len() as f64 / seconds / 1e6;
                    let trial = Trial {
                        name,
                        verified: reference
                            .as_ref()
                            .map(|reference| cipher.len() == wanted_bytes && agree(reference, &cipher)),
                        bytes: cipher.len() as u64,
                        mb_per_s,
                        ratio: mb_per_s / peer_speed,
                        note: format!("{}; {}; {with}", way.about(), variant.network),
                    };
                    reference.get_or_insert(cipher);
                    trial
                }
                Ok(None) => Trial::not_run(name, "no one program is made of this variant"),
                // The others are shown all the same.
                Err(Error::MissingTool(why)) => Trial::not_run(name, engines::first_line(&why)),
                Err(error) => return Err(error),
            });
        }
    }
    let spec = spec.clone();
    let plain = fs::read(&plain).map_err(|error| Error::io(plain.display(), &error))?;
    trials.extend(of_targets(context, &spec, &plain[..n_bytes.min(TARGET_BYTES)], reference.as_deref(), peer_speed)?);
    context.terminal.status("");
    output::print(table(&trials).as_bytes())?;
    write_report(context, arguments, &trials)?;
    context.terminal.say(&format!("report: {}", arguments.output.display()));
    super::fail_if(trials.iter().any(|trial| trial.verified == Some(false)))
}

/// What the languages of all targets that are found here make of a message.
fn of_targets(
    context: &mut Context,
    spec: &OperationSpec,
    plain: &[u8],
    reference: Option<&[u8]>,
    peer_speed: f64,
) -> Outcome<Vec<Trial>> {
    let bytes = |digits| hexadecimal(digits).map_err(Error::wrong);
    let strings = Strings { key: bytes(KEY)?, iv: bytes(COUNTER)? };
    let speeds = targets::speeds(context, spec, strings, plain)?;
    let trial = |Speed { target, made }: Speed| {
        let name = format!("target {}", target.name);
        match made {
            Err(why) => Trial::not_run(name, engines::first_line(&why)),
            Ok((by, cipher, seconds)) => {
                let mb_per_s = plain.len() as f64 / seconds / 1e6;
                Trial {
                    name,
                    verified: reference.map(|reference| cipher.len() == plain.len() && agree(reference, &cipher)),
                    bytes: cipher.len() as u64,
                    mb_per_s,
                    ratio: mb_per_s / peer_speed,
                    note: format!("{}; {by}; from memory to memory", target.about),
                }
            }
        }
    };
    Ok(speeds.into_iter().map(trial).collect())
}

/// Whether two outputs are the same as far as both go.
fn agree(one: &[u8], other: &[u8]) -> bool {
    let both = one.len().min(other.len());
    both > 0 && one[..both] == other[..both]
}

/// Reproducible noise (SplitMix64).
fn noise(n_bytes: usize) -> Vec<u8> {
    let mut state = 0x5eed_u64;
    let mut bytes = Vec::with_capacity(n_bytes + 8);
    while bytes.len() < n_bytes {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend_from_slice(&(word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(n_bytes);
    bytes
}

/// What the independent implementation made, and how fast.
struct Peer {
    version: String,
    cipher: Vec<u8>,
    mb_per_s: f64,
}

fn openssl(plain: &Path, out: &Path) -> Outcome<Peer> {
    let version = super::bench::processes::openssl()
        .ok_or_else(|| Error::missing("openssl is missing: apt-get install openssl"))?;
    let mut command = Command::new("openssl");
    command.args(["enc", PEER_CIPHER, "-e", "-K", KEY, "-iv", COUNTER, "-in"]).arg(plain).arg("-out").arg(out);
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let began = Instant::now();
        let ran = command.output().map_err(|error| Error::io("openssl", &error))?;
        if !ran.status.success() {
            return Err(Error::wrong(format!("openssl failed: {}", String::from_utf8_lossy(&ran.stderr))));
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    let cipher = fs::read(out).map_err(|error| Error::io(out.display(), &error))?;
    Ok(Peer { version, mb_per_s: cipher.len() as f64 / best / 1e6, cipher })
}

/// One encryption.
struct Job<'a> {
    way: Way,
    variant: &'a str,
    plain: &'a Path,
    n_bytes: usize,
}

/// What came of it.
struct Made {
    cipher: Vec<u8>,
    seconds: f64,
    wanted_bytes: usize,
}

impl Job<'_> {
    /// Encrypts the whole file some times, or as much of it as is done in `time` seconds; nothing where this cannot be.
    fn run(&self, context: &mut Context, folder: &Path, time: Option<u64>) -> Outcome<Option<Made>> {
        let Some(time) = time else {
            let mut best = self.encrypt(context, self.plain, folder, self.n_bytes)?;
            for _ in 1..RUNS {
                let Some(best) = &mut best else { break };
                if let Some(next) = self.encrypt(context, self.plain, folder, self.n_bytes)? {
                    best.seconds = best.seconds.min(next.seconds);
                }
            }
            return Ok(best);
        };
        let mut n_bytes = TRIAL_BYTES.min(self.n_bytes);
        let part = folder.join("part");
        let plain = fs::read(self.plain).map_err(|error| Error::io(self.plain.display(), &error))?;
        loop {
            write_file(&part, &plain[..n_bytes])?;
            let Some(made) = self.encrypt(context, &part, folder, n_bytes)? else { return Ok(None) };
            let possible = (n_bytes as f64 / made.seconds * time as f64) as usize / TRIAL_BYTES * TRIAL_BYTES;
            if made.seconds * 2.0 >= time as f64 || n_bytes == self.n_bytes || possible <= n_bytes {
                return Ok(Some(made));
            }
            // The speed of a short run says little about that of a long one, so the size grows in steps.
            n_bytes = possible.min(32 * n_bytes).min(self.n_bytes);
        }
    }

    fn encrypt(&self, context: &mut Context, plain: &Path, folder: &Path, n_bytes: usize) -> Outcome<Option<Made>> {
        let out: PathBuf = folder.join("out");
        let arguments = UseArgs {
            primitive: SET.into(),
            operation: OPERATION.into(),
            key: Some(format!("hex:{KEY}")),
            iv: Some(format!("hex:{COUNTER}")),
            input: plain.display().to_string(),
            output: out.display().to_string(),
            variant: Some(self.variant.to_owned()),
            engine: Some(self.way.engine()),
            fused: if self.way == Way::Fused { FuseWhen::Always } else { FuseWhen::Never },
            ..UseArgs::default()
        };
        let performed = use_primitive::perform(context, &arguments)?;
        if performed.fused != (self.way == Way::Fused) {
            return Ok(None);
        }
        let cipher = fs::read(&out).map_err(|error| Error::io(out.display(), &error))?;
        Ok(Some(Made { cipher, seconds: performed.seconds, wanted_bytes: n_bytes }))
    }
}

fn table(trials: &[Trial]) -> String {
    let width = trials.iter().map(|trial| trial.name.chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{:width$}  {:9}  {:>12}  {:>8}  ratio to OpenSSL\n", "", "verified", "bytes", "MB/s");
    for trial in trials {
        let name = &trial.name;
        if !trial.ran() {
            text.push_str(&format!("{name:width$}  not run: {}\n", trial.note));
            continue;
        }
        let word = match trial.verified {
            Some(true) => "identical",
            Some(false) => "DIFFERS",
            None => "–",
        };
        let (speed, ratio) = (figure(trial.mb_per_s), figure(trial.ratio));
        text.push_str(&format!("{name:width$}  {word:9}  {:>12}  {speed:>8}  {ratio}\n", trial.bytes));
    }
    text.push('\n');
    for way in Way::ALL {
        text.push_str(&format!("{}: {}\n", way.name(), way.about()));
    }
    text.push_str(&format!("targets: {ABOUT_TARGETS}\n"));
    text.push('\n');
    text
}

fn write_report(context: &mut Context, arguments: &DemoArgs, trials: &[Trial]) -> Outcome {
    let top = context.hierarchy(DRAWN, &[])?;
    let machine = headrace_bench::machine::describe(&["gcc", "clang", "openssl"], Path::new("."));
    let compared = match trials.first().filter(|peer| peer.ran()) {
        Some(peer) => format!("Each output was compared with that of {}, byte for byte.", peer.name),
        None => "OpenSSL is not here: each output was compared with that of the first, byte for byte.".to_owned(),
    };
    let about = [
        Way::ALL.map(|way| format!("{}: {}.", way.name(), way.about())).join(" "),
        format!("Targets: {ABOUT_TARGETS}."),
        format!(
            "The same network of RVC-CAL actors ran in all these ways. {compared} Fused code encrypted {} MiB {RUNS} times, as OpenSSL \
             did, and the best time counts; the others, as much of it as they do in {} seconds. Times are from the first token to the \
             last byte written, compilation not included; those of OpenSSL include the start of its process.",
            arguments.size, arguments.seconds
        ),
        format!(
            "{}, {} cores, {}; {}; {}.",
            machine.cpu,
            machine.cores,
            machine.system,
            machine.versions.values().cloned().collect::<Vec<_>>().join("; "),
            machine.date
        ),
    ];
    let lead = format!("One dataflow source, run in every way: {SET} in mode {OPERATION}, beside OpenSSL.");
    let page = demonstration("Headrace: demonstration", &lead, trials, &picture::draw(DRAWN, &top, usize::MAX), &about);
    write_file(&arguments.output, page.as_bytes())
}
