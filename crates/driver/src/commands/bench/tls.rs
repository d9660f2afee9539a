//! Connections over TLS with the generated provider, beside the default provider of OpenSSL.
//!
//! `openssl s_client` sends bytes to `openssl s_server` on the loopback. Both sides load the provider that `headrace build
//! --target openssl` makes here, or neither does; time is that on the wall from the start of the client until the server has
//! ended, with the handshake. The provider itself tells how many bytes went through it.

use super::Measured;
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{TemporaryFolder, write_file};
use headrace_bench::contest::Times;
use headrace_bench::cycles;
use headrace_bench::machine::version_of;
use headrace_bench::measure::{median, speed_ratio};
use headrace_bench::results::{Machine, Row, Status, Subject, Verdict};
use std::fs::File;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes of a connection.
const BYTES: u64 = 1 << 30;
/// The most pairs: a run takes seconds.
const MOST_PAIRS: u32 = 5;
/// What must be reached and should be, in speeds of the default provider.
const MUST: f64 = 0.8;
/// See [`MUST`].
const GOAL: f64 = 1.0;
/// Seconds that a connection may take before it is given up.
const PATIENCE: u64 = 120;

/// A suite: the set of the library, the version, and the option and the name by which it is chosen.
const SUITES: &[(&str, &str, &str, &str)] = &[
    ("aes128-gcm", "-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"),
    ("chacha20-poly1305", "-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"),
    ("aes128-gcm", "-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"),
];

/// Measures every suite.
pub fn measure(context: &mut Context, arguments: &BenchArgs, _: &Machine) -> Outcome<Measured> {
    if !context.is_plain() {
        return Err(Failure::usage(
            "what is measured is the command with its own library: without -L and --orcc-widths",
        ));
    }
    let Some(version) = version_of("openssl") else {
        return Err(Failure::missing("openssl is missing: apt-get install openssl"));
    };
    let version = version.split(" (Library").next().unwrap_or_default().to_owned();
    let mut measured = Measured::default();
    measured.versions.insert("openssl".into(), version.clone());
    let folder = TemporaryFolder::new()?;
    context.terminal.status("building the provider");
    let connection = Connection::new(folder.path())?;
    context.terminal.status(&format!("writing {} MiB", BYTES >> 20));
    // Zeros: a letter at the beginning of a line may be a command to the client.
    write_file(&connection.input(), &vec![0; usize::try_from(BYTES).unwrap_or(0)])?;
    let hertz = cycles::hertz();
    for &(set, tls, option, suite) in SUITES {
        context.terminal.status(&format!("measuring {suite}"));
        let [mut ours, mut theirs] = [Times::default(), Times::default()];
        for _ in 0..arguments.pairs.clamp(1, MOST_PAIRS) {
            for (is_ours, times) in [(true, &mut ours), (false, &mut theirs)] {
                let seconds = connection.run(is_ours, &[tls, option, suite])?;
                times.seconds.push(seconds);
                times.cycles.push(seconds * hertz);
            }
        }
        let subject = |implementation: &str| Subject {
            primitive: set.into(),
            operation: format!("TLS {}", tls.trim_start_matches("-tls").replace('_', ".")),
            variant: suite.into(),
            implementation: implementation.into(),
            engine: "openssl s_client, s_server".into(),
            bytes: BYTES,
            verified: Some("all bytes arrived; the provider served them".into()),
        };
        measured.rows.push(Row::of_times(subject("headrace"), &ours, 1));
        measured.rows.push(Row::of_times(subject(&version), &theirs, 1));
        measured.verdicts.push(verdict(&subject("headrace"), &version, &ours, &theirs));
    }
    Ok(measured)
}

fn verdict(subject: &Subject, other: &str, ours: &Times, theirs: &Times) -> Verdict {
    let per_byte = |times: &Times| median(&times.cycles) / BYTES as f64;
    let ratio = speed_ratio(&ours.seconds, &theirs.seconds);
    Verdict {
        row: "Connections over the loopback, our provider against the default one".into(),
        primitive: subject.primitive.clone(),
        operation: subject.operation.clone(),
        variant: subject.variant.clone(),
        bytes: BYTES,
        streams: 1,
        pieces: 0,
        ours: Some(per_byte(ours)),
        other: other.into(),
        others: Some(per_byte(theirs)),
        ratio: Some(ratio),
        must: format!("≥ {MUST} × the default provider"),
        goal: format!("≥ {GOAL} × the default provider"),
        status: match ratio {
            ratio if ratio >= GOAL => Status::Goal,
            ratio if ratio >= MUST => Status::Must,
            _ => Status::Missed,
        },
        note: format!("{:.2} s and {:.2} s on the wall", median(&ours.seconds), median(&theirs.seconds)),
    }
}

/// What all connections share.
struct Connection<'a> {
    folder: &'a Path,
}

impl Connection<'_> {
    /// Makes a key, a certificate and the provider.
    fn new(folder: &Path) -> Outcome<Connection<'_>> {
        let own = std::env::current_exe().map_err(|error| Failure::io("this command", &error))?;
        let mut build = Command::new(own);
        build.args(["build", "aes128-gcm", "chacha20-poly1305", "--target", "openssl", "-o", "provider"]);
        done(build.current_dir(folder))?;
        done(Command::new("make").args(["-s", "-j2", "-C", "provider", "headrace.so"]).current_dir(folder))?;
        let mut certificate = Command::new("openssl");
        certificate.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        done(certificate.args(["-keyout", "key.pem", "-out", "certificate.pem"]).current_dir(folder))?;
        Ok(Connection { folder })
    }

    fn input(&self) -> std::path::PathBuf {
        self.folder.join("in")
    }

    /// `openssl` with these words, and with the provider.
    fn openssl(&self, words: &[&str], is_ours: bool) -> Command {
        let mut command = Command::new("openssl");
        command.args(words).current_dir(self.folder).env("HEADRACE_SERVED", "served");
        if is_ours {
            command.args(["-provider-path", "provider", "-provider", "headrace", "-provider", "default"]);
            command.args(["-propquery", "?provider=headrace"]);
        }
        command
    }

    /// Seconds that the bytes take from one side to the other.
    fn run(&self, is_ours: bool, suite: &[&str]) -> Outcome<f64> {
        let served = self.folder.join("served");
        // From the run before.
        std::fs::remove_file(&served).ok();
        let place = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let place = place.map_err(|error| Failure::io("the loopback", &error))?.to_string();
        let mut server = self.openssl(&["s_server", "-accept", &place, "-quiet", "-naccept", "1"], is_ours);
        server.args(["-cert", "certificate.pem", "-key", "key.pem"]).args(suite);
        // It ends where its input does.
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let server = server.as_mut().map_err(|error| Failure::io("openssl", error))?;
        let output = server.stdout.take();
        let counted = std::thread::spawn(move || {
            let (mut n, mut bytes) = (0_u64, vec![0; 1 << 16]);
            let Some(mut output) = output else { return n };
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                n += read as u64;
            }
            n
        });
        sleep(Duration::from_millis(300));
        let input = File::open(self.input()).map_err(|error| Failure::io(self.input().display(), &error))?;
        let mut client = self.openssl(&["s_client", "-connect", &place, "-quiet", "-no_ign_eof"], is_ours);
        client.args(suite).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let ended = client.status().map_err(|error| Failure::io("openssl", &error));
        while server.try_wait().is_ok_and(|ended| ended.is_none()) {
            if began.elapsed().as_secs() > PATIENCE || ended.is_err() {
                server.kill().ok();
            }
            sleep(Duration::from_millis(2));
        }
        let seconds = began.elapsed().as_secs_f64();
        ended?;
        let arrived = counted.join().unwrap_or(0);
        if arrived != BYTES {
            return Err(Failure::wrong(format!("{}: {arrived} of {BYTES} bytes arrived", suite.join(" "))));
        }
        let served = std::fs::read_to_string(served).unwrap_or_default();
        let of_line = |line: &str| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let through: u64 = served.lines().map(of_line).sum();
        // Both sides have each byte once.
        if is_ours != (through >= 2 * BYTES) || !is_ours && through > 0 {
            return Err(Failure::wrong(format!("{}: {through} bytes went through the provider", suite.join(" "))));
        }
        Ok(seconds)
    }
}

/// Runs a command that must end well.
fn done(command: &mut Command) -> Outcome {
    let program = command.get_program().display().to_string();
    let ran = command.output().map_err(|error| Failure::io(&program, &error))?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(Failure::wrong(format!("{program} failed: {}", String::from_utf8_lossy(&ran.stderr).trim_end()))),
    }
}
