//! Messages of the library's primitives through a running network: strings to tokens, tokens to strings.
//!
//! The framing of the library says which tokens a message is; this is how they get into an engine and out of it. The
//! command and the tests share it, so that a message means the same to both.

mod running;

pub use running::Running;

use headrace_engine::{Host, Report};
use headrace_ir::{Network, Scalar};
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, Tokens};

/// A host for primitives, which neither print nor read files.
pub struct SilentHost;

impl Host for SilentHost {
    fn print(&mut self, _bytes: &[u8]) {}

    fn source(&mut self) -> Result<&[u8], String> {
        Err("a primitive of the library reads no file".into())
    }

    fn writer_write(&mut self, _byte: u8) -> Result<(), String> {
        Err("a primitive of the library writes no file".into())
    }

    fn golden(&mut self) -> Result<&[u8], String> {
        Err("a primitive of the library compares with no file".into())
    }

    fn complain(&mut self, _message: &str) {}
}

/// The position of a network port by its name.
pub fn input_named(network: &Network, name: &str) -> Option<usize> {
    network.inputs.iter().position(|port| port.name == name)
}

/// Checks that a network has the ports that the manifest says.
pub fn check_ports(spec: &OperationSpec, network: &Network) -> Result<(), String> {
    let inputs = spec.inputs.iter().flat_map(|port| std::iter::once(&port.name).chain(&port.companion));
    let outputs = spec.outputs.iter().flat_map(|port| std::iter::once(&port.name).chain(&port.companion));
    let (bare_inputs, bare_outputs) = &spec.bare;
    for name in inputs.chain(bare_inputs) {
        if input_named(network, name).is_none() {
            return Err(format!(
                "network `{}` has no input `{name}`, which `{}` needs",
                network.name,
                spec.full_name()
            ));
        }
    }
    for name in outputs.chain(bare_outputs) {
        if !network.outputs.iter().any(|port| port.name == *name) {
            return Err(format!(
                "network `{}` has no output `{name}`, which `{}` needs",
                network.name,
                spec.full_name()
            ));
        }
    }
    Ok(())
}

/// Appends tokens of the framing in stored form.
pub fn store(tokens: &Tokens, scalar: Scalar, out: &mut Vec<u8>) {
    match tokens {
        Tokens::Bytes(bytes) if scalar.storage_bytes() == 1 => out.extend_from_slice(bytes),
        Tokens::Bytes(bytes) => bytes.iter().for_each(|byte| store_word(u64::from(*byte), scalar, out)),
        Tokens::Words(words) => words.iter().for_each(|word| store_word(*word, scalar, out)),
    }
}

fn store_word(word: u64, scalar: Scalar, out: &mut Vec<u8>) {
    let start = out.len();
    let size = scalar.storage_bytes();
    out.extend(word.to_le_bytes().into_iter().take(size));
    out.resize(start + size, 0);
}

/// Stored tokens as the framing takes them.
pub fn load(tokens: &[u8], scalar: Scalar) -> Tokens {
    if scalar.storage_bytes() == 1 && scalar.width() == 8 {
        return Tokens::Bytes(tokens.to_vec());
    }
    let word = |token: &[u8]| token.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Tokens::Words(tokens.chunks_exact(scalar.storage_bytes()).map(word).collect())
}

/// Whether the output of an operation does not say its own length.
pub fn is_counted(spec: &OperationSpec) -> bool {
    matches!(spec.framing, Framing::Core | Framing::Generator)
}

/// The length of the output of a core or a generator, which does not say it itself.
pub fn expected_output(spec: &OperationSpec, message: &Message, input_bytes: u64) -> u64 {
    match spec.framing {
        Framing::Generator => {
            let word_bytes = spec.output(Role::Output).and_then(|port| port.sizes.fixed());
            message.words.saturating_mul(word_bytes.unwrap_or(1))
        }
        _ => input_bytes,
    }
}

/// Why a message came to no end, in one line, from the report of an engine.
pub fn why_stuck(missing: &[String], report: &Report) -> String {
    let waits = report.waits.iter().take(3).map(ToString::to_string);
    let why: Vec<String> = std::iter::once(missing.join(", ")).chain(waits).filter(|part| !part.is_empty()).collect();
    format!("the message came to no end: {}", why.join("; "))
}
