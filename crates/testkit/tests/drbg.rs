//! The generators of SP 800-90A against those of OpenSSL 3: request after request through one running network, with
//! instantiations, reseedings and additional input drawn at random, and strings cut into chunks.
//!
//! OpenSSL is reached through `tests/peers/openssl_drbg.c`, which feeds it by its TEST-RAND.
//! `HEADRACE_DRBG_REQUESTS` asks for more requests of each generator.

use headrace_exchange::Running;
use headrace_interp::{Interpreter, Options};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::Message;
use headrace_testkit::peers::chunks::cut;
use headrace_testkit::peers::library::Shipped;
use headrace_testkit::rng::Rng;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Requests of each generator, unless more are asked for.
const REQUESTS: usize = 60;

/// OpenSSL's generators.
struct OpenSsl {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl OpenSsl {
    /// Compiles and starts them; `None` where OpenSSL or a C compiler is missing.
    fn start(root: &Path) -> Option<Self> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("openssl_drbg");
        let source = root.join("tests/peers/openssl_drbg.c");
        let built = Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(source).arg("-lcrypto").output();
        if !built.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(OpenSsl { child, to, from })
    }

    /// One command and its answer.
    fn ask(&mut self, command: &str) -> String {
        writeln!(self.to, "{command}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        let answer = answer.trim_end();
        assert_ne!(answer, "failed", "{command}");
        answer.to_owned()
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".into() } else { bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
}

fn bytes(n: usize, rng: &mut Rng) -> Vec<u8> {
    (0..n).map(|_| rng.bits() as u8).collect()
}

/// Often the least number, sometimes one a little above, rarely a great one; none above `most`.
fn length(least: usize, most: usize, rng: &mut Rng) -> usize {
    let above = [0, rng.below(20), rng.below(200), rng.below(1200)][rng.weighted(&[5, 3, 2, 1])];
    (least + above).min(most)
}

/// What a generator is to OpenSSL: the command that makes it, and how its strings are made up.
struct Kind {
    new: String,
    /// Least bytes of entropy input, and the most if that is not open.
    entropy: (usize, Option<usize>),
    nonce: usize,
}

fn kind(spec: &OperationSpec) -> Option<Kind> {
    if let Some(bits) = spec.set.strip_prefix("ctr-drbg-aes") {
        let (bits, derive) = match bits.strip_suffix("-nodf") {
            Some(bits) => (bits, false),
            None => (bits, true),
        };
        let key_bytes: usize = bits.parse::<usize>().ok()? / 8;
        let new = format!("new ctr AES-{bits}-CTR {}", u8::from(derive));
        return Some(if derive {
            Kind { new, entropy: (key_bytes, None), nonce: key_bytes / 2 }
        } else {
            Kind { new, entropy: (key_bytes + 16, Some(key_bytes + 16)), nonce: 0 }
        });
    }
    let hash = spec.set.strip_prefix("hash-drbg-")?;
    let strength = if hash == "sha1" { 16 } else { 32 };
    Some(Kind { new: format!("new hash {}", hash.to_uppercase()), entropy: (strength, None), nonce: strength / 2 })
}

#[test]
fn generators_make_the_bytes_of_openssl() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(mut peer) = OpenSsl::start(&root) else {
        eprintln!("not run: no C compiler, or no OpenSSL 3 to link with");
        return;
    };
    let wanted = std::env::var("HEADRACE_DRBG_REQUESTS").ok().and_then(|text| text.parse().ok());
    let shipped = Shipped::read(&root).unwrap();
    let mut n_kinds = 0;
    for spec in shipped.library.operations() {
        let Some(kind) = kind(spec) else { continue };
        n_kinds += 1;
        // Look-up tables are the fastest to interpret, where there are any.
        let variant = spec.variant(Some("lut")).unwrap_or(&spec.variants[0]);
        let network = shipped.network(spec, &variant.name).unwrap();
        let interpreter = Interpreter::new(network.clone(), Options::default()).unwrap();
        let mut running = Running::new(spec, &network, Box::new(interpreter));
        let mut rng = Rng::new(0x90a + n_kinds);
        peer.ask(&kind.new);
        for at in 0..wanted.unwrap_or(REQUESTS) {
            let mut message = Message::new();
            // What stands behind the entropy input is bounded by the length of the whole string.
            let rest = |given: usize, role: Role, rng: &mut Rng| {
                let most = usize::try_from(spec.input(role).unwrap().sizes.max()).unwrap() - given;
                let n = if rng.chance(50) { 0 } else { length(1, most, rng) };
                bytes(n, rng)
            };
            let most_entropy = kind.entropy.1.unwrap_or(600);
            message.rekey = at == 0 || rng.chance(15);
            if message.rekey {
                let entropy = bytes(length(kind.entropy.0, most_entropy, &mut rng), &mut rng);
                let n_nonce = if kind.nonce == 0 { 0 } else { length(kind.nonce, 100, &mut rng) };
                let nonce = bytes(n_nonce, &mut rng);
                let personalization = rest(entropy.len() + nonce.len(), Role::Seed, &mut rng);
                peer.ask(&format!("instantiate {} {} {}", hex(&entropy), hex(&nonce), hex(&personalization)));
                message.set(Role::Seed, [entropy, nonce, personalization].concat());
            }
            if rng.chance(30) {
                let entropy = bytes(length(kind.entropy.0, most_entropy, &mut rng), &mut rng);
                let additional = rest(entropy.len(), Role::Entropy, &mut rng);
                peer.ask(&format!("reseed {} {}", hex(&entropy), hex(&additional)));
                message.set(Role::Entropy, [entropy, additional].concat());
            }
            let additional = rest(0, Role::Ad, &mut rng);
            // OpenSSL does nothing at all where no byte is wanted.
            let n = length(1, 2000, &mut rng);
            let expected = peer.ask(&format!("generate {n} {}", hex(&additional)));
            message.set(Role::Ad, additional);
            message.words = n as u64;

            let mut data = running.tokens(&message).unwrap();
            cut(spec, &mut data, &mut rng);
            running.send(&data).unwrap();
            running.run().unwrap();
            let came = running.next(&message).unwrap();
            running.nothing_left().unwrap();
            let got = came.get(Role::Output).map(hex);
            assert_eq!(got.as_deref(), Some(&*expected), "{}, request {at}: {message:?}", spec.full_name());
        }
    }
    assert!(n_kinds > 0);
}
