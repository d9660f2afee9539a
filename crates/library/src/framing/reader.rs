//! Decoder of message framing: tokens to the strings of a message.

use std::collections::VecDeque;

use headrace_source::Diagnostic;
use zeroize::Zeroize;

use super::{LAST_CHUNK, MESSAGE_SIZE, Tokens};
use crate::catalog::{Framing, OperationSpec};
use crate::ports::{PortSpec, Role};

/// What a message came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The strings that came out, without those that were taken before.
    Accepted(Vec<(Role, Vec<u8>)>),
    /// `Verified` was false. What had come out is wiped.
    Rejected,
}

impl Outcome {
    /// A string of an accepted message.
    pub fn get(&self, role: Role) -> Option<&[u8]> {
        match self {
            Outcome::Accepted(strings) => strings.iter().find(|(other, _)| *other == role).map(|(_, bytes)| &**bytes),
            Outcome::Rejected => None,
        }
    }
}

/// Puts the tokens of the output ports together, one message after another. Where an operation verifies, nothing
/// comes out of it before the message is known to be authentic.
pub struct MessageReader<'s> {
    spec: &'s OperationSpec,
    ports: Vec<Port<'s>>,
}

/// One output port.
struct Port<'s> {
    spec: &'s PortSpec,
    /// How many bytes the string has, where that is known in advance.
    length: Option<u64>,
    /// Chunk tokens that have not been used.
    sizes: VecDeque<u64>,
    /// Bytes (or `Verified` tokens) that came; those before `used` are in the string.
    waiting: Vec<u8>,
    /// How many of `waiting` have been used.
    used: usize,
    /// Bits of the next byte of a port of 1-bit tokens, and their number.
    bits: (u8, u32),
    /// The string so far, without what was taken.
    string: Vec<u8>,
    /// Bytes of the string so far.
    seen: u64,
    /// Bytes that are still to come of the open chunk, and whether it is the last.
    chunk: Option<(u64, bool)>,
    done: bool,
}

impl Drop for MessageReader<'_> {
    fn drop(&mut self) {
        if self.spec.verifies {
            for port in &mut self.ports {
                port.string.zeroize();
                port.waiting.zeroize();
            }
        }
    }
}

impl<'s> MessageReader<'s> {
    /// A reader for an operation. Cores and generators say the length of their output by [`MessageReader::expect`].
    pub fn new(spec: &'s OperationSpec) -> Self {
        let mut reader = MessageReader {
            spec,
            ports: spec
                .outputs
                .iter()
                .map(|port| Port {
                    spec: port,
                    length: None,
                    sizes: VecDeque::new(),
                    waiting: Vec::new(),
                    used: 0,
                    bits: (0, 0),
                    string: Vec::new(),
                    seen: 0,
                    chunk: None,
                    done: false,
                })
                .collect(),
        };
        reader.restart();
        reader
    }

    /// Says how many bytes the next output of a core or a generator has; without meaning for messages, whose output
    /// says it itself.
    pub fn expect(&mut self, output_bytes: u64) {
        let counted = self.is_counted();
        for port in self.ports.iter_mut().filter(|port| counted && port.spec.role == Role::Output) {
            port.length = Some(output_bytes);
            port.string = Vec::new();
            port.seen = 0;
            port.advance();
        }
    }

    fn is_counted(&self) -> bool {
        matches!(self.spec.framing, Framing::Core | Framing::Generator)
    }

    fn restart(&mut self) {
        let counted = self.is_counted();
        for port in &mut self.ports {
            port.length = match port.spec.role {
                Role::Verified => Some(1),
                Role::Output if counted => Some(0),
                _ if port.spec.companion.is_none() => port.spec.sizes.fixed(),
                _ => None,
            };
            port.string = Vec::new();
            port.seen = 0;
            port.chunk = None;
            port.done = false;
        }
    }

    /// Takes tokens of a port; ports that are none of the operation's are an error.
    pub fn push(&mut self, name: &str, tokens: &Tokens) -> Result<(), Diagnostic> {
        for port in &mut self.ports {
            if port.spec.companion.as_deref() == Some(name) {
                match tokens {
                    Tokens::Bytes(bytes) => port.sizes.extend(bytes.iter().map(|b| u64::from(*b))),
                    Tokens::Words(words) => port.sizes.extend(words),
                }
                port.advance();
                return Ok(());
            }
            if port.spec.name == name {
                port.take_in(tokens);
                port.advance();
                return Ok(());
            }
        }
        Err(Diagnostic::error(
            MESSAGE_SIZE,
            format!("`{}` is no output of `{}`", name.escape_debug(), self.spec.full_name()),
        ))
    }

    /// The bytes of `Output` that have come since the last call; nothing where they are not verified yet.
    pub fn take(&mut self) -> Vec<u8> {
        if self.spec.verifies { Vec::new() } else { self.take_unverified() }
    }

    /// The bytes of `Output` that have come since the last call, verified or not: for those who withhold them themselves
    /// until [`MessageReader::finish`] says what the message came to.
    pub fn take_unverified(&mut self) -> Vec<u8> {
        self.ports
            .iter_mut()
            .find(|port| port.spec.role == Role::Output)
            .map(|port| std::mem::take(&mut port.string))
            .unwrap_or_default()
    }

    /// How many of further tokens of a port are, from the first on, the next bytes of `Output` as they are, with nothing before
    /// them that waits or was not taken. Whoever asks has them: they count as taken, verified or not, as by
    /// [`MessageReader::take_unverified`]. The others are for [`MessageReader::push`].
    pub fn pass(&mut self, name: &str, bytes: &[u8]) -> usize {
        let found = self.ports.iter_mut().find(|port| port.spec.role == Role::Output && port.spec.name == name);
        found.map_or(0, |port| port.pass(bytes.len()))
    }

    /// Whether all strings of the message are complete.
    pub fn is_done(&self) -> bool {
        let refused = self.spec.framing == Framing::Generator && self.rejects();
        self.ports.iter().all(|port| port.done || (refused && port.spec.role == Role::Output))
    }

    /// Whether `Verified` came and is false.
    fn rejects(&self) -> bool {
        self.ports.iter().any(|port| port.spec.role == Role::Verified && port.done && port.string != [1])
    }

    /// Whether nothing of a further message is there.
    pub fn is_empty(&self) -> bool {
        self.ports.iter().all(|port| port.used == port.waiting.len() && port.sizes.is_empty() && port.bits.1 == 0)
    }

    /// What the message came to, when it is complete; then the next one begins.
    pub fn finish(&mut self) -> Option<Outcome> {
        if !self.is_done() {
            return None;
        }
        let rejected = self.rejects();
        let mut strings = Vec::new();
        for port in &mut self.ports {
            let mut string = std::mem::take(&mut port.string);
            if rejected {
                string.zeroize();
            } else if port.spec.role != Role::Verified {
                strings.push((port.spec.role, string));
            }
        }
        self.restart();
        let counted = self.is_counted();
        for port in &mut self.ports {
            // A counted output waits for the next `expect`.
            if !(counted && port.spec.role == Role::Output) {
                port.advance();
            }
        }
        Some(if rejected { Outcome::Rejected } else { Outcome::Accepted(strings) })
    }

    /// What is missing, for the report of a run that ended early. Empty when the message is complete.
    pub fn missing(&self) -> Vec<String> {
        self.ports
            .iter()
            .filter(|port| !port.done)
            .map(|port| match (port.length, port.chunk) {
                (Some(length), _) => {
                    format!("`{}` has {} of {length}", port.spec.name, port.seen)
                }
                (None, Some((rest, _))) if rest > 0 => {
                    format!("`{}` has {} bytes and the open chunk lacks {rest}", port.spec.name, port.seen)
                }
                _ => format!("`{}` has {} bytes and no last chunk", port.spec.name, port.seen),
            })
            .collect()
    }
}

impl Port<'_> {
    fn take_in(&mut self, tokens: &Tokens) {
        let bits = self.spec.bits;
        match tokens {
            Tokens::Bytes(bytes) if bits == 8 || self.spec.role == Role::Verified => {
                self.waiting.extend_from_slice(bytes);
            }
            Tokens::Bytes(bytes) => {
                for byte in bytes {
                    self.word((*byte).into());
                }
            }
            Tokens::Words(words) => {
                for word in words {
                    self.word(*word);
                }
            }
        }
    }

    fn word(&mut self, word: u64) {
        match self.spec.bits {
            _ if self.spec.role == Role::Verified => self.waiting.push(u8::from(word != 0)),
            1 => {
                let (byte, n_bits) = (self.bits.0 << 1 | (word & 1) as u8, self.bits.1 + 1);
                self.bits = if n_bits == 8 {
                    self.waiting.push(byte);
                    (0, 0)
                } else {
                    (byte, n_bits)
                };
            }
            bits => {
                let size = (bits as usize / 8).clamp(1, 8);
                self.waiting.extend(word.to_be_bytes().iter().skip(8 - size));
            }
        }
    }

    /// Counts up to `most` bytes as come and taken; how many.
    fn pass(&mut self, most: usize) -> usize {
        let mut passed = 0;
        while self.spec.bits == 8 && self.string.is_empty() && self.used == self.waiting.len() && passed < most {
            let open = match (self.length, self.chunk) {
                (Some(length), _) => length.saturating_sub(self.seen),
                (None, Some((rest, _))) => rest,
                (None, None) => 0,
            };
            let n = usize::try_from(open).unwrap_or(usize::MAX).min(most - passed);
            if n == 0 {
                break;
            }
            passed += n;
            self.seen = self.seen.saturating_add(n as u64);
            if let Some((rest, _)) = &mut self.chunk {
                *rest = rest.saturating_sub(n as u64);
            }
            self.advance();
        }
        passed
    }

    /// Moves as much as can be from what waits to the string.
    fn advance(&mut self) {
        if let Some(length) = self.length {
            self.take_up(length.saturating_sub(self.seen));
            self.done = self.seen == length;
            return;
        }
        while !self.done {
            let (rest, last) = match self.chunk {
                Some(open) => open,
                None => match self.sizes.pop_front() {
                    Some(token) => (token & (LAST_CHUNK - 1), token & LAST_CHUNK != 0),
                    None => return,
                },
            };
            let rest = rest - self.take_up(rest);
            self.chunk = Some((rest, last));
            if rest > 0 {
                return;
            }
            self.done = last;
            self.chunk = None;
        }
    }

    /// Moves up to `limit` bytes; how many.
    fn take_up(&mut self, limit: u64) -> u64 {
        let waiting = self.waiting.get(self.used..).unwrap_or_default();
        let n = usize::try_from(limit).unwrap_or(usize::MAX).min(waiting.len());
        self.string.extend_from_slice(waiting.get(..n).unwrap_or_default());
        self.used += n;
        if self.used == self.waiting.len() {
            // What would stay behind may be plaintext that is not verified.
            self.waiting.as_mut_slice().zeroize();
            self.waiting.clear();
            self.used = 0;
        }
        self.seen = self.seen.saturating_add(n as u64);
        n as u64
    }
}
