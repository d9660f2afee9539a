//! Messages through EVP with the generated provider, beside the default provider of the same OpenSSL: what a program that calls
//! OpenSSL gets without a change but its configuration.
//!
//! `bench/peers/evp.c` sends messages under a key that is kept, each with its nonce and 13 bytes of associated data. Time is that of the
//! processor, for each message; both providers must give the same text and tag.

use super::Measured;
use super::processes::{Job, take_turns};
use super::referee::rules;
use super::tls::build_provider;
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output::TemporaryFolder;
use headrace::{Error, embedded};
use headrace_bench::machine::version_of;
use headrace_bench::peers;
use headrace_bench::results::{Machine, Subject};
use std::path::Path;
use std::process::Command;

/// Sets of the library, and their names for EVP.
const CIPHERS: &[(&str, &str)] =
    &[("aes128-gcm", "AES-128-GCM"), ("aes256-gcm", "AES-256-GCM"), ("chacha20-poly1305", "ChaCha20-Poly1305")];

/// Bytes of a message: a packet, and a record of TLS.
const SIZES: &[u64] = &[1400, 16384];

/// Bytes that go through a run.
const BYTES: u64 = 256 << 20;

/// The most pairs: there are many rows.
const MOST_PAIRS: u32 = 9;

/// What must be reached and should be, in speeds of the default provider.
const WANTED: (f64, f64) = (0.8, 1.0);

/// The versions of OpenSSL that are looked for, by their names in the rules: the current one first.
const LIBRARIES: &[&str] = &["openssl4", "openssl3"];

/// Measures every cipher in both directions.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    let mut measured = Measured::default();
    let folder = TemporaryFolder::new()?;
    let hindrance = match context.workspace.is_plain() {
        true => version_of("make").is_none().then(|| "make is missing: apt-get install make".to_owned()),
        false => Some("it is about the command with its own library: without -L and --orcc-widths".to_owned()),
    };
    let found = hindrance.map_or_else(|| program(folder.path()), Err);
    let job = |(set, cipher): (&str, &str), direction: &str, bytes: u64, other: &str| Job {
        row: "Messages through EVP, key kept, 13 bytes of associated data, our provider against the default one",
        subject: Subject {
            primitive: set.into(),
            operation: format!("aead-{direction}"),
            variant: cipher.into(),
            implementation: "headrace".into(),
            engine: "provider".into(),
            bytes,
            verified: Some("equal texts and tags".into()),
        },
        other: other.into(),
        wanted: WANTED,
    };
    let all = || {
        let of = |cipher| ["encrypt", "decrypt"].into_iter().map(move |direction| (cipher, direction));
        let directed = CIPHERS.iter().flat_map(move |&cipher| of(cipher));
        directed.flat_map(|(cipher, direction)| SIZES.iter().map(move |&bytes| (cipher, direction, bytes)))
    };
    let title = match found {
        Ok(title) => title,
        Err(why) => {
            let missed = all().map(|(cipher, way, bytes)| job(cipher, way, bytes, "OpenSSL").not_measured(&why));
            measured.verdicts.extend(missed);
            return Ok(measured);
        }
    };
    context.terminal.status("building the provider");
    build_provider(folder.path(), CIPHERS.iter().map(|cipher| cipher.0))?;
    let pairs = arguments.pairs.clamp(1, MOST_PAIRS);
    for (cipher, direction, bytes) in all() {
        context.terminal.status(&format!("measuring {} {direction} of {bytes} bytes", cipher.1));
        let job = job(cipher, direction, bytes, &title);
        let mut answer = None;
        let turns = take_turns(pairs, |is_ours| {
            let (seconds, given) = messages(folder.path(), is_ours, cipher.1, direction, bytes)?;
            if *answer.get_or_insert_with(|| given.clone()) != given {
                return Err(Error::wrong(format!("{} {direction}: the providers differ", cipher.1)));
            }
            Ok(seconds)
        })?;
        measured.rows.extend(job.rows(&turns));
        measured.verdicts.push(job.verdict(&turns));
    }
    Ok(measured)
}

/// Compiles the program against the first version that is there. Gives what that is called.
fn program(folder: &Path) -> Result<String, String> {
    let rules = rules().map_err(|_| "the rules of the referee cannot be read".to_owned())?;
    let source = ("evp.c", embedded::file("bench/peers/evp.c").unwrap_or_default());
    let mut why = "OpenSSL is missing: apt-get install libssl-dev pkg-config".to_owned();
    for name in LIBRARIES {
        let Some(spec) = rules.peers.get(*name) else { continue };
        match peers::program(source.0, spec, &[source], folder) {
            Ok(program) => {
                let version = Command::new(program).arg("version").output().map_err(|error| error.to_string())?;
                return Ok(format!("{} {}", spec.title, String::from_utf8_lossy(&version.stdout).trim_end()));
            }
            Err(problem) => why = format!("{problem}: {}", spec.get),
        }
    }
    Err(why)
}

/// Seconds that a message takes, and what came out.
fn messages(folder: &Path, is_ours: bool, cipher: &str, direction: &str, bytes: u64) -> Outcome<(f64, String)> {
    let provider = if is_ours { "provider" } else { "" };
    let mut command = Command::new(folder.join("evp"));
    command.args([provider, cipher, direction, &bytes.to_string(), &(BYTES / bytes).to_string()]);
    let ran = command.current_dir(folder).output().map_err(|error| Error::io("evp", &error))?;
    let said = String::from_utf8_lossy(if ran.status.success() { &ran.stdout } else { &ran.stderr }).into_owned();
    let parts = said.trim_end().split_once(' ').filter(|_| ran.status.success());
    let seconds = parts.and_then(|(seconds, given)| Some((seconds.parse().ok()?, given.to_owned())));
    seconds.ok_or_else(|| Error::wrong(format!("{cipher} {direction}: {}", said.trim_end())))
}
