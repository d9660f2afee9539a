//! Messages to tokens and back.
//!
//! A string of variable length on port `X` has a companion `XSize`: one token per chunk, the low 31 bits say how many
//! bytes follow on `X`, the top bit marks the last chunk; the empty string is the one token 0x80000000. Cores take
//! bursts instead: `Rekey`, the key if it was true, `Blocks`, then so many blocks. Illegal sizes are refused before a
//! token is made; where the length is not known in advance, at the end.

use headrace_source::{Diagnostic, Slug};

use crate::catalog::{Framing, OperationSpec};
use crate::ports::{PortSpec, Role};
use zeroize::{Zeroize, Zeroizing};

mod reader;
pub use reader::{MessageReader, Outcome};

/// A string of a message has a size that its operation does not take, or is missing, or is one too many.
pub const MESSAGE_SIZE: Slug = "message-size";

/// The top bit of a chunk token.
pub const LAST_CHUNK: u64 = 0x8000_0000;
/// Greatest number of bytes in one chunk.
pub const MAX_CHUNK_BYTES: usize = 0x7fff_ffff;

/// Tokens, in the representation that suits their width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Tokens of 8 bits.
    Bytes(Vec<u8>),
    /// Tokens of any other width up to 64 bits.
    Words(Vec<u64>),
}

impl Zeroize for Tokens {
    fn zeroize(&mut self) {
        match self {
            Tokens::Bytes(bytes) => bytes.zeroize(),
            Tokens::Words(words) => words.zeroize(),
        }
    }
}

/// Tokens of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortData {
    /// Name of the port.
    pub port: String,
    /// The tokens.
    pub tokens: Tokens,
}

impl Zeroize for PortData {
    fn zeroize(&mut self) {
        self.tokens.zeroize();
    }
}

impl PortData {
    fn word(port: &str, value: u64) -> Self {
        PortData { port: port.to_owned(), tokens: Tokens::Words(vec![value]) }
    }
}

/// The strings of one message, among them keys and plaintext: they are wiped when it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whether the key (the seed of a generator that goes on) is sent; without it that of the message before stays.
    pub rekey: bool,
    /// How many words a generator is asked for.
    pub words: u64,
    strings: Vec<(Role, Zeroizing<Vec<u8>>)>,
}

impl Default for Message {
    fn default() -> Self {
        Self::new()
    }
}

impl Message {
    /// A message without strings, with `rekey` set.
    pub fn new() -> Self {
        Message { rekey: true, words: 0, strings: Vec::new() }
    }

    /// The same with a string set.
    pub fn with(mut self, role: Role, bytes: impl Into<Vec<u8>>) -> Self {
        self.set(role, bytes);
        self
    }

    /// Sets a string.
    pub fn set(&mut self, role: Role, bytes: impl Into<Vec<u8>>) {
        self.strings.retain(|(other, _)| *other != role);
        self.strings.push((role, Zeroizing::new(bytes.into())));
    }

    /// A string.
    pub fn get(&self, role: Role) -> Option<&[u8]> {
        self.strings.iter().find(|(other, _)| *other == role).map(|(_, bytes)| bytes.as_slice())
    }

    /// The most bytes of input that there can be beside the nonce, and that the arguments of the network allow.
    fn most_input_bytes(&self, spec: &OperationSpec) -> u64 {
        let nonce_bytes = self.get(Role::Nonce).map_or(0, |nonce| nonce.len() as u64);
        let length_bytes = spec.nonce_and_length_bytes.map(|shared| shared.saturating_sub(nonce_bytes));
        let length_bytes = length_bytes.and_then(|bytes| u32::try_from(bytes).ok());
        let beside_nonce =
            length_bytes.and_then(|bytes| 256u64.checked_pow(bytes)).map_or(u64::MAX, |beyond| beyond - 1);
        beside_nonce.min(spec.most_input().unwrap_or(u64::MAX))
    }

    /// What is wrong with an input of `length` bytes, where it is known before anything of it is.
    ///
    /// # Errors
    ///
    /// The operation takes no such length, not beside this nonce, or not in the one chunk that it needs.
    pub fn check_input(&self, spec: &OperationSpec, length: u64) -> Result<(), Diagnostic> {
        let Some(port) = spec.input(Role::Input) else { return Ok(()) };
        let most = self.most_input_bytes(spec);
        let wrong = if !port.sizes.allows(length) {
            size_message(spec, port, length)
        } else if length > most {
            too_long(spec, most)
        } else if spec.single_chunk && length > MAX_CHUNK_BYTES as u64 {
            one_chunk(spec)
        } else {
            return Ok(());
        };
        Err(Diagnostic::error(MESSAGE_SIZE, wrong))
    }

    /// The most bytes of input that can be legal, whatever the length turns out to be.
    pub fn most_input(&self, spec: &OperationSpec) -> u64 {
        let own = spec.input(Role::Input).map_or(0, |port| port.sizes.max());
        let chunk = if spec.single_chunk { MAX_CHUNK_BYTES as u64 } else { u64::MAX };
        own.min(self.most_input_bytes(spec)).min(chunk)
    }

    /// Everything wrong with the sizes of the message; nothing when it may be sent. `Input` is left out when
    /// `streamed`, because its length is not known yet.
    pub fn check(&self, spec: &OperationSpec, streamed: bool) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let mut wrong = |message: String| {
            problems.push(Diagnostic::error(MESSAGE_SIZE, message));
        };
        for port in strings_of(spec) {
            let given = self.get(port.role);
            let absent = match port.role {
                Role::Key => !self.rekey,
                // A generator that cannot go on is seeded for every request.
                Role::Seed => !self.rekey && spec.input(Role::Rekey).is_some(),
                Role::Entropy => given.is_none(),
                Role::Input => streamed,
                _ => false,
            };
            if absent {
                continue;
            }
            let length = given.map_or(0, |bytes| bytes.len() as u64);
            if port.sizes.allows(length) {
                continue;
            }
            wrong(match given {
                Some(_) => size_message(spec, port, length),
                None => format!("`{}` needs `{}` ({})", spec.full_name(), port.role.name(), port.sizes),
            });
        }
        if let Some(input) = self.get(Role::Input).filter(|_| !streamed)
            && input.len() as u64 > self.most_input_bytes(spec)
        {
            wrong(too_long(spec, self.most_input_bytes(spec)));
        }
        for (role, _) in &self.strings {
            if spec.input(*role).is_none() {
                wrong(format!("`{}` takes no `{}`", spec.full_name(), role.name()));
            }
        }
        if let Some(port) = spec.input(Role::Blocks).filter(|_| spec.framing == Framing::Generator) {
            let most = port.sizes.max().min(u32::MAX.into());
            if self.words > most {
                wrong(format!("{} words are asked for; one request is for at most {most}", self.words));
            }
        }
        problems
    }
}

fn size_message(spec: &OperationSpec, port: &PortSpec, length: u64) -> String {
    format!("`{}` of `{}` has {length} bytes; it must have {}", port.role.name(), spec.full_name(), port.sizes)
}

fn one_chunk(spec: &OperationSpec) -> String {
    format!("`{}` takes its input in one chunk, which has at most {MAX_CHUNK_BYTES} bytes", spec.full_name())
}

fn too_long(spec: &OperationSpec, most: u64) -> String {
    let why = match &spec.input_limit {
        Some(limit) if spec.most_input() == Some(most) => {
            format!("({limit}): more would use a counter value twice, or not fit where it is kept")
        }
        _ => "beside a nonce of this size".into(),
    };
    format!("`Input` of `{}` must have at most {most} bytes {why}", spec.full_name())
}

/// The inputs that are byte strings, in the order of feeding.
fn strings_of(spec: &OperationSpec) -> impl Iterator<Item = &PortSpec> {
    spec.inputs.iter().filter(|port| !port.role.is_control())
}

/// Bytes of a string: lent, or in memory that may become the tokens.
enum Piece<'b> {
    Lent(&'b [u8]),
    Given(&'b mut Vec<u8>),
}

impl Piece<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Piece::Lent(bytes) => bytes,
            Piece::Given(bytes) => bytes,
        }
    }

    fn tokens(self, port: &PortSpec) -> Result<Tokens, Diagnostic> {
        match self {
            Piece::Given(bytes) if port.bits == 8 => Ok(Tokens::Bytes(std::mem::take(bytes))),
            other => tokens(port, other.bytes()),
        }
    }
}

/// The tokens of `bytes` at the width of a port: bytes, bits with the most significant first, or big-endian words.
fn tokens(port: &PortSpec, bytes: &[u8]) -> Result<Tokens, Diagnostic> {
    match port.bits {
        8 => Ok(Tokens::Bytes(bytes.to_vec())),
        1 => Ok(Tokens::Words(
            bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u64::from(byte >> bit & 1))).collect(),
        )),
        bits => {
            let size = (bits as usize / 8).clamp(1, 8);
            if !bytes.len().is_multiple_of(size) {
                return Err(Diagnostic::error(
                    MESSAGE_SIZE,
                    format!("`{}` has {} bytes; its words have {size}", port.name, bytes.len()),
                ));
            }
            Ok(Tokens::Words(
                bytes
                    .chunks_exact(size)
                    .map(|word| word.iter().fold(0, |acc, byte| acc << 8 | u64::from(*byte)))
                    .collect(),
            ))
        }
    }
}

/// Makes the tokens of one message after another.
pub struct MessageWriter<'s> {
    spec: &'s OperationSpec,
    state: State,
}

enum State {
    Idle,
    Open {
        /// Input bytes so far.
        length: u64,
        /// The most that there can be beside the nonce.
        most: u64,
        /// Input not sent yet: a string that must be one chunk, or the beginning of a block of a core.
        held: Zeroizing<Vec<u8>>,
        /// The tag to be verified.
        tag: Vec<u8>,
        /// What begins the next burst of a core: the key, once.
        burst: Option<Zeroizing<Vec<u8>>>,
        /// How long the input is, where that was announced, and whether its one chunk has begun.
        announced: Option<u64>,
        begun: bool,
    },
}

impl<'s> MessageWriter<'s> {
    /// A writer for an operation.
    pub fn new(spec: &'s OperationSpec) -> Self {
        MessageWriter { spec, state: State::Idle }
    }

    /// All tokens of a message whose input is known whole.
    pub fn whole(&mut self, message: &Message) -> Result<Vec<PortData>, Vec<Diagnostic>> {
        let problems = message.check(self.spec, false);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut out = self.begin(message)?;
        if self.spec.input(Role::Input).is_some() {
            let input = message.get(Role::Input).unwrap_or_default();
            let rest = self.chunk(input, true).map_err(|problem| vec![problem])?;
            out.extend(rest);
        }
        Ok(out)
    }

    /// What comes before the input. All strings but `Input` are taken from the message and checked; a message that
    /// was not ended is forgotten.
    pub fn begin(&mut self, message: &Message) -> Result<Vec<PortData>, Vec<Diagnostic>> {
        self.state = State::Idle;
        let problems = message.check(self.spec, true);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut out = Vec::new();
        let core = self.spec.framing == Framing::Core;
        for port in &self.spec.inputs {
            match port.role {
                Role::Rekey | Role::Decrypt | Role::Key | Role::Blocks if core => {}
                Role::Rekey => out.push(PortData::word(&port.name, message.rekey.into())),
                Role::Decrypt => out.push(PortData::word(&port.name, self.spec.decrypt.unwrap_or(false).into())),
                Role::Reseed => out.push(PortData::word(&port.name, message.get(Role::Entropy).is_some().into())),
                Role::Blocks => out.push(PortData::word(&port.name, message.words)),
                Role::Key if !message.rekey => {}
                Role::Seed if !message.rekey && self.spec.input(Role::Rekey).is_some() => {}
                Role::Entropy if message.get(Role::Entropy).is_none() => {}
                Role::Input | Role::TagIn => {}
                role => {
                    let bytes = message.get(role).unwrap_or_default();
                    string(&mut out, port, bytes).map_err(|problem| vec![problem])?;
                }
            }
        }
        if self.spec.input(Role::Input).is_some() {
            self.state = State::Open {
                length: 0,
                most: message.most_input_bytes(self.spec),
                held: Zeroizing::default(),
                tag: message.get(Role::TagIn).unwrap_or_default().to_vec(),
                burst: message.rekey.then(|| Zeroizing::new(message.get(Role::Key).unwrap_or_default().to_vec())),
                announced: None,
                begun: false,
            };
        }
        Ok(out)
    }

    /// Says how long the input of the message that has begun will be, so that what needs it in one chunk need not keep it.
    pub fn announce(&mut self, length: u64) {
        if let State::Open { announced, .. } = &mut self.state {
            *announced = Some(length);
        }
    }

    /// The tag to be verified, where it was not known when the message began.
    pub fn set_tag(&mut self, bytes: &[u8]) {
        if let State::Open { tag, .. } = &mut self.state {
            *tag = bytes.to_vec();
        }
    }

    /// The tokens of further input, and of what follows it when it is the last. An operation that must have its
    /// input in one chunk yields nothing before that, unless its length was announced.
    pub fn chunk(&mut self, bytes: &[u8], last: bool) -> Result<Vec<PortData>, Diagnostic> {
        self.piece(Piece::Lent(bytes), last)
    }

    /// The same of bytes in memory that becomes that of the tokens where they are the bytes as they are; it is left empty
    /// then.
    ///
    /// # Errors
    ///
    /// As [`MessageWriter::chunk`].
    pub fn chunk_of(&mut self, bytes: &mut Vec<u8>, last: bool) -> Result<Vec<PortData>, Diagnostic> {
        self.piece(Piece::Given(bytes), last)
    }

    fn piece(&mut self, piece: Piece<'_>, last: bool) -> Result<Vec<PortData>, Diagnostic> {
        let (spec, bytes) = (self.spec, piece.bytes());
        let Some(port) = spec.input(Role::Input) else {
            return Ok(Vec::new());
        };
        let State::Open { length, most, held, tag, burst, announced, begun } = &mut self.state else {
            return Err(Diagnostic::error(MESSAGE_SIZE, "input was given outside a message"));
        };
        *length = length.saturating_add(bytes.len() as u64);
        if *length > port.sizes.max() || (last && !port.sizes.allows(*length)) {
            let problem = Diagnostic::error(MESSAGE_SIZE, size_message(spec, port, *length));
            self.state = State::Idle;
            return Err(problem);
        }
        if *length > *most {
            let problem = Diagnostic::error(MESSAGE_SIZE, too_long(spec, *most));
            self.state = State::Idle;
            return Err(problem);
        }
        let mut out = Vec::new();
        if spec.framing == Framing::Core {
            held.extend_from_slice(bytes);
            let block = usize::try_from(spec.block_bytes.unwrap_or(1)).unwrap_or(1).max(1);
            let whole = held.len() - held.len() % block;
            if whole > 0 || (last && *length == 0) {
                let rest = Zeroizing::new(held.split_off(whole));
                core_burst(&mut out, spec, port, held, whole / block, burst.take())?;
                *held = rest;
            }
        } else if port.companion.is_none() {
            out.push(PortData { port: port.name.clone(), tokens: piece.tokens(port)? });
        } else if let (true, Some(whole)) = (spec.single_chunk, *announced) {
            if whole > MAX_CHUNK_BYTES as u64 || *length > whole || (last && *length != whole) {
                self.state = State::Idle;
                let wrong = if whole > MAX_CHUNK_BYTES as u64 {
                    one_chunk(spec)
                } else {
                    format!("the input of `{}` is not as long as it was said to be", spec.full_name())
                };
                return Err(Diagnostic::error(MESSAGE_SIZE, wrong));
            }
            if let Some(companion) = port.companion.as_deref().filter(|_| !*begun) {
                out.push(PortData::word(companion, whole | LAST_CHUNK));
                *begun = true;
            }
            if !bytes.is_empty() {
                out.push(PortData { port: port.name.clone(), tokens: piece.tokens(port)? });
            }
        } else if spec.single_chunk {
            if held.len().saturating_add(bytes.len()) > MAX_CHUNK_BYTES {
                self.state = State::Idle;
                return Err(Diagnostic::error(MESSAGE_SIZE, one_chunk(spec)));
            }
            held.extend_from_slice(bytes);
            if last {
                chunks(&mut out, port, Piece::Lent(held), true)?;
            }
        } else {
            chunks(&mut out, port, piece, last)?;
        }
        if last {
            if let Some(port) = spec.input(Role::TagIn) {
                string(&mut out, port, tag)?;
            }
            self.state = State::Idle;
        }
        Ok(out)
    }
}

/// A whole string: chunk tokens where its length can vary, then its bytes.
fn string(out: &mut Vec<PortData>, port: &PortSpec, bytes: &[u8]) -> Result<(), Diagnostic> {
    if port.companion.is_some() {
        return chunks(out, port, Piece::Lent(bytes), true);
    }
    out.push(PortData { port: port.name.clone(), tokens: tokens(port, bytes)? });
    Ok(())
}

/// One chunk, or as many as its length needs.
fn chunks(out: &mut Vec<PortData>, port: &PortSpec, whole: Piece<'_>, last: bool) -> Result<(), Diagnostic> {
    let Some(companion) = &port.companion else {
        return Ok(());
    };
    let bytes = whole.bytes();
    if bytes.is_empty() {
        if last {
            out.push(PortData::word(companion, LAST_CHUNK));
        }
        return Ok(());
    }
    if bytes.len() <= MAX_CHUNK_BYTES {
        out.push(PortData::word(companion, bytes.len() as u64 | if last { LAST_CHUNK } else { 0 }));
        out.push(PortData { port: port.name.clone(), tokens: whole.tokens(port)? });
        return Ok(());
    }
    let mut pieces = bytes.chunks(MAX_CHUNK_BYTES).peekable();
    while let Some(piece) = pieces.next() {
        let end = if last && pieces.peek().is_none() { LAST_CHUNK } else { 0 };
        out.push(PortData::word(companion, piece.len() as u64 | end));
        out.push(PortData { port: port.name.clone(), tokens: tokens(port, piece)? });
    }
    Ok(())
}

fn core_burst(
    out: &mut Vec<PortData>,
    spec: &OperationSpec,
    input: &PortSpec,
    bytes: &[u8],
    n_blocks: usize,
    key: Option<Zeroizing<Vec<u8>>>,
) -> Result<(), Diagnostic> {
    let Ok(n_blocks) = u32::try_from(n_blocks) else {
        return Err(Diagnostic::error(MESSAGE_SIZE, "one burst has at most 4294967295 blocks"));
    };
    for port in &spec.inputs {
        match port.role {
            Role::Rekey => out.push(PortData::word(&port.name, key.is_some().into())),
            Role::Decrypt => out.push(PortData::word(&port.name, spec.decrypt.unwrap_or(false).into())),
            Role::Key => {
                if let Some(key) = &key {
                    string(out, port, key)?;
                }
            }
            Role::Blocks => out.push(PortData::word(&port.name, n_blocks.into())),
            _ => {}
        }
    }
    out.push(PortData { port: input.name.clone(), tokens: tokens(input, bytes)? });
    Ok(())
}

#[cfg(test)]
mod tests;
