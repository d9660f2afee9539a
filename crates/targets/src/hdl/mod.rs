//! Hardware description languages: what their targets share.
//!
//! | file | what is there |
//! | --- | --- |
//! | `axi` | cores with AXI4-Stream and AXI4-Lite |
//! | `litex` | wrappers for LiteX |
//! | `lwc` | cores with the LWC hardware API |
//! | `project` | folders: designs of networks with what builds and tests them |
//! | `statements` | the walk over statements of processes |
//! | `tokens` | known answers as files of tokens, which benches read |

mod axi;
mod litex;
mod lwc;
mod project;
mod statements;
mod tokens;

use crate::project::{KnownAnswer, Recording};
use headrace_ir::{Int, Network, Port};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message as Strings, MessageWriter, Tokens};
use headrace_rtl::Bits;
pub(crate) use lwc::Texts as LwcTexts;
pub use project::MadeDesign;
pub(crate) use project::{Language, Part};
pub(crate) use statements::{Statements, Words, block};
pub(crate) use tokens::{Message, Stream, first_count, streams_of, token_files};

/// Stored tokens of a port as values.
fn values(bytes: &[u8], port: &Port) -> Vec<Bits> {
    let width = port.ty.width().max(1);
    let value = |token: &[u8]| Bits::of_signed(width, &Int::from_le_bytes(token, false).to_big());
    bytes.chunks_exact(port.ty.storage_bytes()).map(value).collect()
}

/// A recorded run; without one, a message that only begins.
fn recorded(network: &Network, recording: Option<&Recording>) -> Message {
    match recording {
        Some(Recording { inputs, outputs }) => Message {
            inputs: network.inputs.iter().zip(inputs).map(|(port, stream)| values(stream, port)).collect(),
            outputs: network.outputs.iter().zip(outputs).map(|(port, stream)| (values(stream, port), false)).collect(),
        },
        None => nothing(network),
    }
}

/// Nothing goes in, and what comes out is not compared.
fn nothing(network: &Network) -> Message {
    Message { inputs: vec![Vec::new(); network.inputs.len()], outputs: vec![(Vec::new(), true); network.outputs.len()] }
}

/// Whether a bench can try an answer: what the framing of messages refuses never comes to the network.
pub(crate) fn holds(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> bool {
    message(spec, network, answer).is_some()
}

/// The tokens of a known answer. None for messages that the framing does not take, and where nothing is compared.
fn message(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> Option<Message> {
    let mut strings = Strings::new();
    strings.words = u64::from(answer.words);
    answer.strings.iter().for_each(|(role, bytes)| strings.set(*role, bytes.clone()));
    let mut message = nothing(network);
    for part in MessageWriter::new(spec).whole(&strings).ok()? {
        let at = network.inputs.iter().position(|port| port.name == part.port)?;
        let width = network.inputs[at].ty.width().max(1);
        match part.tokens {
            Tokens::Bytes(bytes) => message.inputs[at].extend(bytes.iter().map(|&byte| Bits::new(width, byte))),
            Tokens::Words(words) => message.inputs[at].extend(words.iter().map(|&word| Bits::new(width, word))),
        }
    }
    let mut compared = false;
    match &answer.expected {
        Some(expected) => {
            for port in spec.outputs.iter().filter(|port| port.bits == 8) {
                let found = network.outputs.iter().position(|own| own.name == port.name);
                let Some((at, bytes)) = found.zip(expected.get(&port.role)) else { continue };
                // Of a tag the record may hold the first bytes only.
                let more = port.role == Role::Tag && port.sizes.fixed() != Some(bytes.len() as u64);
                message.outputs[at] = (values(bytes, &network.outputs[at]), more);
                compared = true;
            }
        }
        // What is refused says so.
        None => {
            let verified = spec.outputs.iter().find(|port| port.role == Role::Verified)?;
            let at = network.outputs.iter().position(|port| port.name == verified.name)?;
            message.outputs[at] = (vec![Bits::zero(network.outputs[at].ty.width().max(1))], false);
            compared = true;
        }
    }
    compared.then_some(message)
}
