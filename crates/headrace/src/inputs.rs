//! Inputs of networks: byte strings and numbers, and the tokens that are filled in beside them (`XSize` companions, `Rekey`).

use crate::error::{Error, Result};
use crate::feed::{Feed, Fixed, Pending, Provider};
use crate::tokens::{Decoder, Encoding, store_number, store_text};
use headrace_exchange::input_named;
use headrace_ir::{IntType, Network, Scalar};
use std::collections::VecDeque;
use std::io::{self, Read};

/// What a read takes at most.
const PIECE_BYTES: usize = 1 << 16;

/// The same of a file: little enough that it is still in the caches when it is written.
const FILE_PIECE_BYTES: u64 = 1 << 18;

/// The same where several threads want something to do.
const FILE_PIECE_BYTES_OF_THREADS: u64 = 1 << 21;

/// Most bytes that one chunk announces, a power of two below the 31 bits that a companion token has for it.
const MAX_CHUNK_BYTES: u64 = 1 << 30;

/// The bit of a companion token that marks the last chunk of a string.
pub const LAST_CHUNK: u32 = 1 << 31;

/// A string for an input of a network: one of several, in order, where a port is given several.
pub struct Input {
    /// The port.
    pub port: String,
    /// Whether tokens of several bytes begin with the highest.
    pub big_endian: bool,
    /// What comes.
    pub source: Source,
}

/// Where a string comes from.
pub enum Source {
    /// Bytes that are there; at a port of texts, one text.
    Bytes(Vec<u8>),
    /// Tokens, as numbers are written.
    Numbers(Vec<String>),
    /// Something of known length, such as a file.
    Known {
        /// The bytes.
        from: Box<dyn Read>,
        /// How many there are.
        length: u64,
        /// What messages call it.
        name: String,
    },
    /// Something of any length, such as a pipe, which may have to be waited for.
    Unknown {
        /// The bytes.
        from: Box<dyn Read>,
        /// What messages call it.
        name: String,
    },
}

/// One string, with numbers and texts as tokens.
enum Opened {
    /// Stored tokens.
    Tokens(Vec<u8>),
    /// Of known length.
    Known { from: Box<dyn Read>, length: u64, name: String },
    /// Of which nobody knows how long it is.
    Unknown { from: Box<dyn Read>, name: String },
}

impl Feed<'_> {
    /// Adds providers for inputs, for the companions of byte strings, which are told their lengths, and for `Rekey`: true as
    /// often as there are keys. So many threads want something to do. Gives the bytes that are known to come.
    ///
    /// # Errors
    ///
    /// There is no such port; strings of one port differ in their byte order; what is given is no tokens.
    pub fn bind(&mut self, network: &Network, inputs: Vec<Input>, threads: u32) -> Result<u64> {
        are_known(network, inputs.iter().map(|input| input.port.as_str()))?;
        let rekey = rekey(network, &inputs);
        let given: Vec<String> = inputs.iter().map(|input| input.port.clone()).collect();
        let mut n_bytes = 0;
        let mut left = inputs;
        for (at, port) in network.inputs.iter().enumerate() {
            let (mine, others): (Vec<Input>, Vec<Input>) = left.into_iter().partition(|input| input.port == port.name);
            left = others;
            let Some(big_endian) = mine.first().map(|first| first.big_endian) else { continue };
            if mine.iter().any(|input| input.big_endian != big_endian) {
                return Err(Error::usage(format!("--in {}: all of one port have one byte order", port.name)));
            }
            let companion = companion_of(network, &port.name, port.ty)
                .filter(|companion| !given.contains(&network.inputs[*companion].name));
            let encoding = Encoding::new(port.ty, big_endian);
            let sources = mine.into_iter().map(|input| input.source);
            let strings = Strings::open(&format!("--in {}", port.name), at, companion, encoding, sources)?;
            let strings = strings.for_threads(threads);
            n_bytes += strings.known_bytes();
            self.providers.push(Box::new(strings));
        }
        if let Some((at, tokens)) = rekey {
            self.pending[at].filled_in = true;
            self.providers.push(Box::new(Fixed::new(at, tokens)));
        }
        Ok(n_bytes)
    }
}

/// Makes sure that a network has inputs of these names.
///
/// # Errors
///
/// Which it does not have, and which it has.
pub fn are_known<'n>(network: &Network, mut ports: impl Iterator<Item = &'n str>) -> Result {
    match ports.find(|port| input_named(network, port).is_none()) {
        Some(port) => Err(no_such("input", port, network.inputs.iter().map(|port| &port.name))),
        None => Ok(()),
    }
}

/// That a network has no port or instance of that name, and which it has.
pub fn no_such<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    let known: Vec<&str> = known.map(String::as_str).collect();
    let known =
        if known.is_empty() { format!("there are no {kind}s") } else { format!("{kind}s are {}", known.join(", ")) };
    Error::usage(format!("there is no {kind} `{}`; {known}", name.escape_debug()))
}

/// The input that carries the chunk sizes of a byte string.
fn companion_of(network: &Network, name: &str, ty: Scalar) -> Option<usize> {
    let companion = input_named(network, &format!("{name}Size"))?;
    let is_bytes = ty == Scalar::Int(IntType::unsigned(8));
    let is_size = network.inputs[companion].ty == Scalar::Int(IntType::unsigned(32));
    (is_bytes && is_size).then_some(companion)
}

/// The position of `Rekey` and its tokens, one for each message: true as long as there are keys, then false. None where somebody
/// gives it, or there are no keys.
fn rekey(network: &Network, inputs: &[Input]) -> Option<(usize, Vec<u8>)> {
    let rekey = input_named(network, "Rekey")?;
    let given = |name: &str| inputs.iter().filter(|input| input.port == name).count();
    let n_keys = given("Key");
    if network.inputs[rekey].ty != Scalar::Bool || given("Rekey") > 0 || n_keys == 0 {
        return None;
    }
    let n_bursts = inputs.iter().filter(|input| input.port == "Blocks").map(|input| match &input.source {
        Source::Numbers(numbers) => numbers.len(),
        Source::Bytes(bytes) => bytes.len() / 4,
        Source::Known { .. } | Source::Unknown { .. } => 1,
    });
    let strings = network.inputs.iter().filter(|port| port.name != "Key").map(|port| given(&port.name));
    let is_core = input_named(network, "Blocks").is_some();
    let n_messages = if is_core { n_bursts.sum() } else { strings.max().unwrap_or(0) };
    Some((rekey, (0..n_messages.max(n_keys)).map(|message| u8::from(message < n_keys)).collect()))
}

/// The strings of one port, in order, with the chunk sizes on its companion if it has one.
struct Strings {
    inputs: Vec<usize>,
    label: String,
    encoding: Encoding,
    sources: VecDeque<Opened>,
    current: Option<(Opened, Decoder)>,
    /// Bytes of the current string that no chunk announced yet, and those of the current chunk that are still to be read.
    unannounced: u64,
    in_chunk: u64,
    piece_bytes: u64,
    buffer: Vec<u8>,
}

fn open(source: Source, scalar: Scalar) -> std::result::Result<Opened, String> {
    match source {
        Source::Bytes(bytes) if scalar == Scalar::String => {
            let mut tokens = Vec::new();
            store_text(&bytes, &mut tokens)?;
            Ok(Opened::Tokens(tokens))
        }
        Source::Bytes(bytes) => {
            let length = bytes.len() as u64;
            Ok(Opened::Known { from: Box::new(std::io::Cursor::new(bytes)), length, name: String::new() })
        }
        Source::Numbers(numbers) => {
            let mut tokens = Vec::new();
            numbers.iter().try_for_each(|number| store_number(number, scalar, &mut tokens))?;
            Ok(Opened::Tokens(tokens))
        }
        Source::Known { from, length, name } => Ok(Opened::Known { from, length, name }),
        Source::Unknown { from, name } => Ok(Opened::Unknown { from, name }),
    }
}

impl Strings {
    /// The strings of a port. `input` and `companion` are network inputs, `label` is how messages call the port.
    fn open(
        label: &str,
        input: usize,
        companion: Option<usize>,
        encoding: Encoding,
        sources: impl Iterator<Item = Source>,
    ) -> Result<Self> {
        let opened = sources.map(|source| open(source, encoding.scalar()));
        let opened = opened.collect::<std::result::Result<VecDeque<_>, _>>();
        let sources = opened.map_err(|problem| Error::wrong(format!("{label}: {problem}")))?;
        Ok(Self {
            inputs: std::iter::once(input).chain(companion).collect(),
            label: label.to_owned(),
            encoding,
            sources,
            current: None,
            unannounced: 0,
            in_chunk: 0,
            piece_bytes: FILE_PIECE_BYTES,
            buffer: Vec::new(),
        })
    }

    /// The same in pieces for so many threads.
    fn for_threads(self, threads: u32) -> Self {
        let piece_bytes = if threads > 1 { FILE_PIECE_BYTES_OF_THREADS } else { FILE_PIECE_BYTES };
        Self { piece_bytes, ..self }
    }

    /// Bytes of all strings, as far as they are known.
    fn known_bytes(&self) -> u64 {
        let length = |opened: &Opened| match opened {
            Opened::Tokens(bytes) => bytes.len() as u64,
            Opened::Known { length, .. } => *length,
            Opened::Unknown { .. } => 0,
        };
        self.sources.iter().map(length).sum()
    }

    fn announce(&self, pending: &mut [Pending], n_bytes: u64, last: bool) {
        if let Some(companion) = self.inputs.get(1) {
            let token = n_bytes as u32 | if last { LAST_CHUNK } else { 0 };
            pending[*companion].push(&token.to_le_bytes());
        }
    }

    /// Announces the next chunk of a string whose length is known.
    fn next_chunk(&mut self, pending: &mut [Pending]) {
        let n_bytes = self.unannounced.min(MAX_CHUNK_BYTES);
        self.unannounced -= n_bytes;
        self.in_chunk = n_bytes;
        self.announce(pending, n_bytes, self.unannounced == 0);
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> Error {
        Error::wrong(format!("{}: {problem}", self.label))
    }
}

impl Provider for Strings {
    fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    fn may_wait(&self) -> bool {
        let next = self.current.as_ref().map(|(opened, _)| opened).or(self.sources.front());
        matches!(next, Some(Opened::Unknown { .. }))
    }

    fn provide(&mut self, pending: &mut [Pending]) -> Result<bool> {
        let input = self.inputs[0];
        let Some((mut opened, mut decoder)) = self.current.take() else {
            let Some(opened) = self.sources.pop_front() else { return Ok(false) };
            let decoder = Decoder::new(self.encoding);
            match opened {
                Opened::Tokens(tokens) => {
                    self.announce(pending, tokens.len() as u64, true);
                    pending[input].push(&tokens);
                }
                Opened::Known { length, .. } => {
                    self.unannounced = length;
                    self.next_chunk(pending);
                    self.current = Some((opened, decoder));
                }
                Opened::Unknown { .. } => self.current = Some((opened, decoder)),
            }
            return Ok(self.current.is_some() || !self.sources.is_empty());
        };
        let (n_bytes, ended) = match &mut opened {
            Opened::Known { from, name, .. } => {
                let most = self.in_chunk.min(self.piece_bytes) as usize;
                self.buffer.resize(most, 0);
                let n_bytes = read(from, &mut self.buffer).map_err(|error| Error::io(&*name, &error))?;
                if n_bytes == 0 && most > 0 {
                    return Err(Error::wrong(format!("{name}: became shorter while it was read")));
                }
                self.in_chunk -= n_bytes as u64;
                (n_bytes, self.in_chunk == 0 && self.unannounced == 0)
            }
            Opened::Unknown { from, name } => {
                self.buffer.resize(PIECE_BYTES, 0);
                let n_bytes = read(from, &mut self.buffer).map_err(|error| Error::io(&*name, &error))?;
                self.announce(pending, n_bytes as u64, n_bytes == 0);
                (n_bytes, n_bytes == 0)
            }
            Opened::Tokens(_) => (0, true),
        };
        self.buffer.truncate(n_bytes);
        if decoder.is_bytewise() {
            pending[input].exchange(&mut self.buffer);
        } else {
            decoder.decode(&self.buffer, pending[input].buffer()).map_err(|problem| self.wrong(problem))?;
        }
        if ended {
            decoder.finish(pending[input].buffer()).map_err(|problem| self.wrong(problem))?;
            return Ok(!self.sources.is_empty());
        }
        if matches!(opened, Opened::Known { .. }) && self.in_chunk == 0 {
            self.next_chunk(pending);
        }
        self.current = Some((opened, decoder));
        Ok(true)
    }
}

fn read(from: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_ir::IntType;

    fn provided(sources: Vec<Source>) -> (Vec<u8>, Vec<u8>) {
        let encoding = Encoding::new(Scalar::Int(IntType::unsigned(8)), false);
        let mut strings =
            Strings::open("In", 0, Some(1), encoding, sources.into_iter()).expect("the sources can be read");
        let mut pending = [Pending::new(1), Pending::new(4)];
        while strings.provide(&mut pending).expect("the sources can be read") {}
        let [bytes, sizes] = pending.map(|mut pending| pending.buffer().clone());
        (bytes, sizes)
    }

    #[test]
    fn every_string_is_announced_with_its_length() {
        let (bytes, sizes) =
            provided(vec![Source::Bytes(b"abc".to_vec()), Source::Bytes(vec![]), Source::Numbers(vec!["7".into()])]);
        assert_eq!(bytes, b"abc\x07");
        assert_eq!(sizes, [[3, 0, 0, 0x80], [0, 0, 0, 0x80], [1, 0, 0, 0x80]].concat());
    }

    #[test]
    fn what_has_a_known_length_is_one_chunk() {
        let content: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
        let from = Box::new(io::Cursor::new(content.clone()));
        let (bytes, sizes) = provided(vec![Source::Known { from, length: 200_000, name: "a file".into() }]);
        assert_eq!(bytes, content);
        assert_eq!(sizes, (LAST_CHUNK | 200_000).to_le_bytes());
    }
}
