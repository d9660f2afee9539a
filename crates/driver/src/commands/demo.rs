//! `headrace demo`: the main job on real input, through every engine found here.

use super::{Context, use_primitive};
use crate::cli::{DemoArgs, EngineName, FuseWhen, UseArgs};
use crate::engines::{self, Available};
use crate::failure::{Failure, Outcome, Status};
use crate::output::{self, TemporaryFolder, write_file};
use crate::picture;
use headrace_bench::report::{Trial, demonstration};
use headrace_bench::tables::figure;
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

/// The network that is drawn in the report.
const DRAWN: &str = "ctl.block.aes.AesEncrypt(NK = 4)";

/// Encrypts a file through every engine, compares, and prints and writes a table.
pub fn demo(context: &mut Context, arguments: &DemoArgs) -> Outcome {
    let folder = TemporaryFolder::new()?;
    let plain = folder.path().join("plain");
    let n_bytes = usize::try_from(arguments.size << 20).map_err(|_| Failure::usage("--size: too large"))?;
    context.terminal.say(&format!("encrypting {} MiB of noise with {SET} in mode {OPERATION}", arguments.size));
    write_file(&plain, &noise(n_bytes))?;
    let peer = openssl(&plain, &folder.path().join("peer"))?;
    let library = context.library()?;
    let spec = library.operation(SET, OPERATION);
    let spec = spec.ok_or_else(|| Failure::wrong(format!("the library has no operation `{SET} {OPERATION}`")))?;
    let mut trials = vec![Trial {
        name: peer.version.clone(),
        verified: Some(true),
        bytes: n_bytes as u64,
        mb_per_s: peer.mb_per_s,
        ratio: 1.0,
        note: "the independent implementation".into(),
    }];
    for engine in [EngineName::Native, EngineName::Interp] {
        for variant in &spec.variants {
            let name = format!("{} engine, variant {}", engines::name(engine), variant.name);
            context.terminal.status(&name);
            let mut trial =
                Trial { name, verified: None, bytes: 0, mb_per_s: f64::NAN, ratio: f64::NAN, note: String::new() };
            match engines::availability(engine) {
                Available::Missing(why) => trial.note = why,
                Available::Here(with) => {
                    let time = if engine == EngineName::Interp { Some(arguments.seconds) } else { None };
                    let job = Job { engine, variant: &variant.name, plain: &plain, cipher: &peer.cipher, n_bytes };
                    match job.run(context, folder.path(), time) {
                        Ok((bytes, seconds, equal)) => {
                            trial.verified = Some(equal);
                            trial.bytes = bytes as u64;
                            trial.mb_per_s = bytes as f64 / seconds / 1e6;
                            trial.ratio = trial.mb_per_s / peer.mb_per_s;
                            trial.note = format!("{}; {}", variant.network, with);
                        }
                        // The others are shown all the same.
                        Err(failure) if failure.status == Status::MissingTool => {
                            trial.note = engines::first_line(&failure.message).to_owned();
                        }
                        Err(failure) => return Err(failure),
                    }
                }
            }
            trials.push(trial);
        }
    }
    context.terminal.status("");
    output::print(table(&trials).as_bytes())?;
    write_report(context, arguments, &trials)?;
    context.terminal.say(&format!("report: {}", arguments.output.display()));
    super::fail_if(trials.iter().any(|trial| trial.verified == Some(false)))
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
    let version = headrace_bench::machine::version_of("openssl")
        .ok_or_else(|| Failure::missing("openssl is missing: apt-get install openssl"))?;
    let version = version.split(" (Library").next().unwrap_or_default().to_owned();
    let mut command = Command::new("openssl");
    command.args(["enc", PEER_CIPHER, "-e", "-K", KEY, "-iv", COUNTER, "-in"]).arg(plain).arg("-out").arg(out);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let began = Instant::now();
        let ran = command.output().map_err(|error| Failure::io("openssl", &error))?;
        if !ran.status.success() {
            return Err(Failure::wrong(format!("openssl failed: {}", String::from_utf8_lossy(&ran.stderr))));
        }
        best = best.min(began.elapsed().as_secs_f64());
    }
    let cipher = fs::read(out).map_err(|error| Failure::io(out.display(), &error))?;
    Ok(Peer { version, mb_per_s: cipher.len() as f64 / best / 1e6, cipher })
}

/// One encryption.
struct Job<'a> {
    engine: EngineName,
    variant: &'a str,
    plain: &'a Path,
    cipher: &'a [u8],
    n_bytes: usize,
}

impl Job<'_> {
    /// Encrypts the whole file, or as much of it as the engine does in `time` seconds. Gives the number of bytes, the
    /// seconds, and whether they are the bytes that they should be.
    fn run(&self, context: &mut Context, folder: &Path, time: Option<u64>) -> Outcome<(usize, f64, bool)> {
        let Some(time) = time else { return self.encrypt(context, self.plain, folder, self.n_bytes) };
        let mut n_bytes = TRIAL_BYTES.min(self.n_bytes);
        loop {
            let part = folder.join("part");
            let plain = fs::read(self.plain).map_err(|error| Failure::io(self.plain.display(), &error))?;
            write_file(&part, &plain[..n_bytes])?;
            let (bytes, seconds, equal) = self.encrypt(context, &part, folder, n_bytes)?;
            let possible = (bytes as f64 / seconds * time as f64) as usize / TRIAL_BYTES * TRIAL_BYTES;
            if !equal || seconds * 2.0 >= time as f64 || n_bytes == self.n_bytes || possible <= n_bytes {
                return Ok((bytes, seconds, equal));
            }
            // The speed of a short run says little about that of a long one, so the size grows in steps.
            n_bytes = possible.min(32 * n_bytes).min(self.n_bytes);
        }
    }

    fn encrypt(
        &self,
        context: &mut Context,
        plain: &Path,
        folder: &Path,
        n_bytes: usize,
    ) -> Outcome<(usize, f64, bool)> {
        let out: PathBuf = folder.join("out");
        let arguments = UseArgs {
            primitive: SET.into(),
            operation: OPERATION.into(),
            key: Some(format!("hex:{KEY}")),
            iv: Some(format!("hex:{COUNTER}")),
            input: plain.display().to_string(),
            output: out.display().to_string(),
            variant: Some(self.variant.to_owned()),
            engine: Some(self.engine),
            fused: FuseWhen::Always,
            ..UseArgs::default()
        };
        let seconds = use_primitive::perform(context, &arguments)?;
        let made = fs::read(&out).map_err(|error| Failure::io(out.display(), &error))?;
        Ok((made.len(), seconds, made.len() == n_bytes && self.cipher.starts_with(&made)))
    }
}

fn table(trials: &[Trial]) -> String {
    let width = trials.iter().map(|trial| trial.name.chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{:width$}  {:9}  {:>12}  {:>8}  ratio to OpenSSL\n", "", "verified", "bytes", "MB/s");
    for trial in trials {
        let name = &trial.name;
        let line = match trial.verified {
            None => format!("{name:width$}  not run: {}\n", trial.note),
            Some(equal) => {
                let word = if equal { "identical" } else { "DIFFERS" };
                let (speed, ratio) = (figure(trial.mb_per_s), figure(trial.ratio));
                format!("{name:width$}  {word:9}  {:>12}  {speed:>8}  {ratio}\n", trial.bytes)
            }
        };
        text.push_str(&line);
    }
    text.push('\n');
    text
}

fn write_report(context: &mut Context, arguments: &DemoArgs, trials: &[Trial]) -> Outcome {
    let top = context.hierarchy(DRAWN, &[])?;
    let machine = headrace_bench::machine::describe(&["gcc", "clang", "openssl"], Path::new("."));
    let about = [
        format!(
            "The same network of RVC-CAL actors ran on every engine. Each output was compared with that of {}, byte for byte. \
             Compiled code encrypted {} MiB; the interpreter, as much as it does in {} seconds. Times are from the first token to the \
             last byte written, compilation not included; those of OpenSSL include the start of its process.",
            trials.first().map_or("", |trial| &trial.name),
            arguments.size,
            arguments.seconds
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
    let lead = format!(
        "One dataflow source, every engine: {SET} in mode {OPERATION}, compared with an independent implementation."
    );
    let page = demonstration("Headrace: demonstration", &lead, trials, &picture::draw(DRAWN, &top, usize::MAX), &about);
    write_file(&arguments.output, page.as_bytes())
}
