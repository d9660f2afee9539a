//! Providers for what the command line names: byte strings from memory, files and pipes, numbers, and the tokens that
//! are filled in for the user (`XSize` companions, `Rekey`).

use crate::ports::Source;
use headrace::error::{Error, Result};
use headrace::feed::{Pending, Provider};
use headrace::tokens::{Decoder, Encoding, store_number, store_text};
use headrace_ir::Scalar;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

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

/// One string, opened.
#[derive(Debug)]
enum Opened {
    /// Stored tokens.
    Tokens(Vec<u8>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A file of known length.
    File { file: File, length: u64, name: String },
    /// A pipe, of which nobody knows how long it is.
    Stream { stream: Box<dyn ReadDebug>, name: String },
}

/// Something to read from that can be shown in a debugger.
trait ReadDebug: Read + std::fmt::Debug {}
impl<T: Read + std::fmt::Debug> ReadDebug for T {}

/// The strings of one port, in order, with the chunk sizes on its companion if it has one.
#[derive(Debug)]
pub struct Strings {
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

fn open(source: &Source, scalar: Scalar) -> std::result::Result<Opened, String> {
    match source {
        Source::Bytes(bytes) if scalar == Scalar::String => {
            let mut tokens = Vec::new();
            store_text(bytes, &mut tokens)?;
            Ok(Opened::Tokens(tokens))
        }
        Source::Bytes(bytes) => Ok(Opened::Bytes(bytes.clone())),
        Source::Numbers(numbers) => {
            let mut tokens = Vec::new();
            numbers.iter().try_for_each(|number| store_number(number, scalar, &mut tokens))?;
            Ok(Opened::Tokens(tokens))
        }
        Source::Standard => Ok(Opened::Stream { stream: Box::new(io::stdin()), name: "standard input".into() }),
        Source::Path(path) => {
            open_file(path).map_err(|error| format!("{}: {}", path.display(), headrace::error::describe(&error)))
        }
    }
}

fn open_file(path: &Path) -> io::Result<Opened> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let name = path.display().to_string();
    if metadata.is_dir() {
        return Err(io::Error::other("is a folder"));
    }
    // Files below /proc say that they are empty.
    if metadata.is_file() && metadata.len() > 0 {
        return Ok(Opened::File { file, length: metadata.len(), name });
    }
    Ok(Opened::Stream { stream: Box::new(file), name })
}

impl Strings {
    /// Opens the strings of a port. `input` and `companion` are network inputs, `label` is how messages call the port.
    pub fn open(
        label: &str,
        input: usize,
        companion: Option<usize>,
        encoding: Encoding,
        sources: &[Source],
    ) -> Result<Self> {
        let opened = sources.iter().map(|source| open(source, encoding.scalar()));
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
    pub fn for_threads(self, threads: u32) -> Self {
        let piece_bytes = if threads > 1 { FILE_PIECE_BYTES_OF_THREADS } else { FILE_PIECE_BYTES };
        Self { piece_bytes, ..self }
    }

    /// Bytes of all strings, as far as they are known.
    pub fn known_bytes(&self) -> u64 {
        let length = |opened: &Opened| match opened {
            Opened::Tokens(bytes) | Opened::Bytes(bytes) => bytes.len() as u64,
            Opened::File { length, .. } => *length,
            Opened::Stream { .. } => 0,
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
        matches!(next, Some(Opened::Stream { .. }))
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
                Opened::Bytes(bytes) => {
                    self.announce(pending, bytes.len() as u64, true);
                    let mut decoder = decoder;
                    let buffer = pending[input].buffer();
                    let decoded = decoder.decode(&bytes, buffer).and_then(|()| decoder.finish(buffer));
                    decoded.map_err(|problem| self.wrong(problem))?;
                }
                Opened::File { length, .. } => {
                    self.unannounced = length;
                    self.next_chunk(pending);
                    self.current = Some((opened, decoder));
                }
                Opened::Stream { .. } => self.current = Some((opened, decoder)),
            }
            return Ok(self.current.is_some() || !self.sources.is_empty());
        };
        let (n_bytes, ended) = match &mut opened {
            Opened::File { file, name, .. } => {
                let most = self.in_chunk.min(self.piece_bytes) as usize;
                self.buffer.resize(most, 0);
                let n_bytes = read(file, &mut self.buffer).map_err(|error| Error::io(&*name, &error))?;
                if n_bytes == 0 && most > 0 {
                    return Err(Error::wrong(format!("{name}: became shorter while it was read")));
                }
                self.in_chunk -= n_bytes as u64;
                (n_bytes, self.in_chunk == 0 && self.unannounced == 0)
            }
            Opened::Stream { stream, name } => {
                self.buffer.resize(PIECE_BYTES, 0);
                let n_bytes = read(stream, &mut self.buffer).map_err(|error| Error::io(&*name, &error))?;
                self.announce(pending, n_bytes as u64, n_bytes == 0);
                (n_bytes, n_bytes == 0)
            }
            Opened::Tokens(_) | Opened::Bytes(_) => (0, true),
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
        if matches!(opened, Opened::File { .. }) && self.in_chunk == 0 {
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

    fn provided(sources: &[Source]) -> (Vec<u8>, Vec<u8>) {
        let encoding = Encoding::new(Scalar::Int(IntType::unsigned(8)), false);
        let mut strings = Strings::open("In", 0, Some(1), encoding, sources).expect("the sources can be read");
        let mut pending = [Pending::new(1), Pending::new(4)];
        while strings.provide(&mut pending).expect("the sources can be read") {}
        let [bytes, sizes] = pending.map(|mut pending| pending.buffer().clone());
        (bytes, sizes)
    }

    #[test]
    fn every_string_is_announced_with_its_length() {
        let (bytes, sizes) =
            provided(&[Source::Bytes(b"abc".to_vec()), Source::Bytes(vec![]), Source::Numbers(vec!["7".into()])]);
        assert_eq!(bytes, b"abc\x07");
        assert_eq!(sizes, [[3, 0, 0, 0x80], [0, 0, 0, 0x80], [1, 0, 0, 0x80]].concat());
    }

    #[test]
    fn a_file_is_one_chunk() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
        let content: Vec<u8> = (0..200_000u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(file.path(), &content).expect("the disk has room");
        let (bytes, sizes) = provided(&[Source::Path(file.path().to_owned())]);
        assert_eq!(bytes, content);
        assert_eq!(sizes, (LAST_CHUNK | 200_000).to_le_bytes());
    }

    #[test]
    fn what_is_missing_is_named() {
        let encoding = Encoding::new(Scalar::Bool, false);
        let failure = Strings::open("In", 0, None, encoding, &[Source::Path("no/such".into())])
            .expect_err("there is no such file");
        assert_eq!(failure.to_string(), "In: no/such: No such file or directory");
    }
}
