//! Independent implementations of what the crypto library holds, for tests to compare with.
//!
//! [`peer`] gives what stands beside an operation of the library: a function from the strings of a message to what they
//! must come to. Most are crates of the RustCrypto project; where nobody else has written something down, there is no
//! peer, or a direct transcription of its definition. Nothing here is part of the command.
//!
//! | module | holds |
//! | --- | --- |
//! | `block` | block ciphers by name, all with one type, so that a mode is compiled once a block size |
//! | `mode` | modes of operation over any of them |
//! | `aead` | authenticated encryption |
//! | `mac` | message authentication codes |
//! | `hash` | hashes, and HMAC over them |
//! | `stream` | stream ciphers |
//! | `generator` | generators |
//! | `codec` | codecs |

mod aead;
mod block;
mod codec;
mod generator;
mod hash;
mod mac;
mod mode;
mod stream;

use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

/// What a message comes to; `None` for sizes that the peer does not take.
pub type Run = Box<dyn Fn(&Message) -> Option<Outcome> + Send + Sync>;

/// Another implementation of an operation.
pub struct Peer {
    /// The crates it is made of; empty for a transcription in this one.
    crates: Vec<&'static str>,
    run: Run,
}

impl Peer {
    fn new(crates: &[&'static str], run: impl Fn(&Message) -> Option<Outcome> + Send + Sync + 'static) -> Self {
        Peer { crates: crates.to_vec(), run: Box::new(run) }
    }

    /// What the message comes to; `None` for sizes that the peer does not take. The key must be there, with or without
    /// `rekey`.
    pub fn run(&self, message: &Message) -> Option<Outcome> {
        (self.run)(message)
    }

    /// Who it is: `aes 0.9.2, cbc 0.2.1`.
    pub fn name(&self) -> String {
        if self.crates.is_empty() {
            return "transcription".into();
        }
        let names: Vec<String> = self.crates.iter().map(|name| format!("{name} {}", version(name))).collect();
        names.join(", ")
    }
}

/// The version of a crate that this one is built with. Where the lock file has two, the later one is of the generation
/// that is used here.
fn version(name: &str) -> &'static str {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let head = format!("name = \"{name}\"\nversion = \"");
    LOCK.rsplit(&head)
        .next()
        .filter(|rest| rest.len() < LOCK.len())
        .and_then(|rest| rest.split('"').next())
        .unwrap_or("")
}

/// What stands beside an operation of a parameter set, if there is anything.
pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    mode::peer(set, operation)
        .or_else(|| aead::peer(set, operation))
        .or_else(|| mac::peer(set, operation))
        .or_else(|| hash::peer(set, operation))
        .or_else(|| stream::peer(set, operation))
        .or_else(|| generator::peer(set, operation))
        .or_else(|| codec::peer(set, operation))
}

/// A string of a message; empty if it is not there.
fn string(message: &Message, role: Role) -> &[u8] {
    message.get(role).unwrap_or_default()
}

fn key(message: &Message) -> &[u8] {
    string(message, Role::Key)
}

fn input(message: &Message) -> &[u8] {
    string(message, Role::Input)
}

/// An accepted message with `Output` alone.
fn output(bytes: impl Into<Vec<u8>>) -> Option<Outcome> {
    Some(Outcome::Accepted(vec![(Role::Output, bytes.into())]))
}

/// A tag that is made, or compared with the one that is given.
fn tag(message: &Message, operation: &str, made: &[u8]) -> Option<Outcome> {
    if operation.ends_with("verify") {
        let given = string(message, Role::TagIn);
        let same = !given.is_empty() && made.get(..given.len()) == Some(given);
        return Some(if same { Outcome::Accepted(Vec::new()) } else { Outcome::Rejected });
    }
    Some(Outcome::Accepted(vec![(Role::Tag, made.to_vec())]))
}
