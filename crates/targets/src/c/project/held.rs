//! Sizes of boundary buffers: how many tokens of each port wait in the context of an operation while its strings come one after
//! the other.
//!
//! Strings of bounded length are there whole before the network reads them, or wait whole to be taken. Of others a part is
//! enough: they have to go through whatever their length is, so nothing waits for their end. A key comes in a call of its own, and
//! a network may read none of it before it has a string of the message.

use super::super::Held;
use crate::operation::Operation;
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};

/// Flags, sizes of chunks and counts that wait at a port.
const WORDS: u64 = 4;

/// Bytes of a string of any length.
const PART: u64 = 64;

/// Bytes beyond which a string is one of any length.
const WHOLE: u64 = 512;

/// The same of a key.
const WHOLE_KEY: u64 = 4096;

/// What contexts of an operation hold; `None` where it has no messages, but asks for output again and again.
pub(super) fn held(spec: &OperationSpec, network: &Network) -> Option<Held> {
    if spec.framing != Framing::Message {
        return None;
    }
    let Operation { strings, .. } = Operation::of(spec, network);
    let mut held = Held { inputs: vec![WORDS; network.inputs.len()], outputs: vec![WORDS; network.outputs.len()] };
    for ((role, ..), string) in crate::operation::STRINGS.into_iter().zip(strings) {
        let Some(string) = string else { continue };
        let most = string.lengths.iter().map(|lengths| lengths.max).max().unwrap_or(0);
        let whole = if role == Role::Key { WHOLE_KEY } else { WHOLE };
        let bounded = (most <= whole).then_some(most);
        if role == Role::Key {
            // Nothing waits when the next one comes: a key begins anew.
            held.inputs[string.port] = bounded.unwrap_or(PART);
        } else if !role.is_output() {
            // An empty message may leave a string that nobody has read when that of the next one comes.
            held.inputs[string.port] = bounded.map_or(PART, |most| 2 * most);
        } else if let Some(bytes) = bounded {
            held.outputs[string.port] = bytes;
        } else {
            // Output of any length comes while input goes in, in chunks of which the sizes are asked for; or at the end.
            held.outputs[string.port] = if string.sizes.is_some() { PART } else { WHOLE };
        }
    }
    Some(held)
}
