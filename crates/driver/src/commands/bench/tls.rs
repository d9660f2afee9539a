//! Connections over TLS with the generated provider, beside the default provider of OpenSSL.
//!
//! `openssl s_client` sends bytes to `openssl s_server` on the loopback. Both sides load the provider that `headrace build
//! --target openssl` makes here, or neither does; time is that on the wall from the start of the client until the server has
//! ended, with the handshake. The provider itself tells how many bytes went through it.

use super::Measured;
use super::command::run;
use super::processes::{Job, openssl, take_turns};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output::TemporaryFolder;
use headrace::Error;
use headrace_bench::machine::version_of;
use headrace_bench::results::{Machine, Subject};
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
const WANTED: (f64, f64) = (0.8, 1.0);
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
    let mut measured = Measured::default();
    let other = openssl();
    let job = |set: &str, tls: &str, suite: &str| Job {
        row: "Connections over the loopback, our provider against the default one",
        subject: Subject {
            primitive: set.into(),
            operation: format!("TLS {}", tls.trim_start_matches("-tls").replace('_', ".")),
            variant: suite.into(),
            implementation: "headrace".into(),
            engine: "openssl s_client, s_server".into(),
            bytes: BYTES,
            verified: Some("all bytes arrived; the provider served them".into()),
        },
        other: other.clone().unwrap_or_else(|| "openssl".into()),
        wanted: WANTED,
    };
    let hindrance = match &other {
        None => Some("openssl is missing: apt-get install openssl"),
        Some(_) if !context.workspace.is_plain() => {
            Some("it is about the command with its own library: without -L and --orcc-widths")
        }
        Some(_) if version_of("make").is_none() => Some("make is missing: apt-get install make"),
        Some(_) => None,
    };
    if let Some(why) = hindrance {
        measured.verdicts.extend(SUITES.iter().map(|(set, tls, _, suite)| job(set, tls, suite).not_measured(why)));
        return Ok(measured);
    }
    let folder = TemporaryFolder::new()?;
    context.terminal.status("building the provider");
    let connection = Connection::new(folder.path())?;
    for &(set, tls, option, suite) in SUITES {
        context.terminal.status(&format!("measuring {suite}"));
        let job = job(set, tls, suite);
        let pairs = arguments.pairs.clamp(1, MOST_PAIRS);
        let turns = take_turns(pairs, |is_ours| connection.run(is_ours, &[tls, option, suite]))?;
        measured.rows.extend(job.rows(&turns));
        measured.verdicts.push(job.verdict(&turns));
    }
    Ok(measured)
}

/// Makes the provider of these sets, in the folder `provider` of a folder.
pub(super) fn build_provider<'a>(folder: &Path, sets: impl IntoIterator<Item = &'a str>) -> Outcome {
    let own = std::env::current_exe().map_err(|error| Error::io("this command", &error))?;
    let mut build = Command::new(own);
    build.arg("build").args(sets).args(["--target", "openssl", "-o", "provider"]);
    run(build.current_dir(folder))?;
    run(Command::new("make").args(["-s", "-j2", "-C", "provider", "headrace.so"]).current_dir(folder))?;
    Ok(())
}

/// What all connections share.
struct Connection<'a> {
    folder: &'a Path,
}

impl Connection<'_> {
    /// Makes a key, a certificate and the provider.
    fn new(folder: &Path) -> Outcome<Connection<'_>> {
        build_provider(folder, ["aes128-gcm", "chacha20-poly1305"])?;
        let mut certificate = Command::new("openssl");
        certificate.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        run(certificate.args(["-keyout", "key.pem", "-out", "certificate.pem"]).current_dir(folder))?;
        let connection = Connection { folder };
        // Zeros, which are nowhere: a letter at the beginning of a line may be a command to the client.
        let input = File::create(connection.input()).and_then(|file| file.set_len(BYTES));
        input.map_err(|error| Error::io(connection.input().display(), &error))?;
        Ok(connection)
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
        let place = place.map_err(|error| Error::io("the loopback", &error))?.to_string();
        let mut server = self.openssl(&["s_server", "-accept", &place, "-quiet", "-naccept", "1"], is_ours);
        server.args(["-cert", "certificate.pem", "-key", "key.pem"]).args(suite);
        // It ends where its input does.
        let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let server = server.as_mut().map_err(|error| Error::io("openssl", error))?;
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
        let input = File::open(self.input()).map_err(|error| Error::io(self.input().display(), &error))?;
        let mut client = self.openssl(&["s_client", "-connect", &place, "-quiet", "-no_ign_eof"], is_ours);
        client.args(suite).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let ended = client.status().map_err(|error| Error::io("openssl", &error));
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
            return Err(Error::wrong(format!("{}: {arrived} of {BYTES} bytes arrived", suite.join(" "))));
        }
        let served = std::fs::read_to_string(served).unwrap_or_default();
        let of_line = |line: &str| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let through: u64 = served.lines().map(of_line).sum();
        // Both sides have each byte once.
        if is_ours != (through >= 2 * BYTES) || !is_ours && through > 0 {
            return Err(Error::wrong(format!("{}: {through} bytes went through the provider", suite.join(" "))));
        }
        Ok(seconds)
    }
}
