//! The input of one message: from memory, a file or a pipe, with what must be known of it before it is sent.
//!
//! Of a file the length is known, so that a tag at its end is read first and what is too long is refused before anything is
//! done. Of a pipe the last bytes are held back, for they may be the tag, and what the operation needs whole is kept in a
//! [`Spool`] until its length is known.

use crate::error::{Error, Result};
use crate::spool::{Seekable, Spool};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::Message;
use headrace_source::Diagnostic;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// What is read at once while a whole input is kept.
const PIECE_BYTES: usize = 1 << 16;

/// The input of the message.
pub struct MessageInput {
    stream: Stream,
    /// What messages call it.
    pub name: String,
    /// Its length, where that is known.
    length: Option<u64>,
    /// Bytes at the end of a pipe that are the tag, and the last ones that came.
    tag_bytes: usize,
    held: Zeroizing<Vec<u8>>,
    /// Bytes handed out.
    taken: u64,
}

/// Where it comes from.
enum Stream {
    /// Of known length.
    Known(Box<dyn Seekable>),
    /// Of any length.
    Unknown(Box<dyn Read>),
}

/// A piece of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Bytes that came.
    pub n_bytes: usize,
    /// Whether they are the last.
    pub last: bool,
}

impl MessageInput {
    /// Bytes that are there; messages call them `name`.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self::of_known(name, Box::new(io::Cursor::new(Zeroizing::new(bytes))), length)
    }

    /// What has this length from where it stands on, such as a file.
    pub fn of_known(name: &str, from: Box<dyn Seekable>, length: u64) -> Self {
        Self::of(name, Stream::Known(from), Some(length))
    }

    /// What has any length, such as a pipe.
    pub fn of_unknown(name: &str, from: Box<dyn Read>) -> Self {
        Self::of(name, Stream::Unknown(from), None)
    }

    fn of(name: &str, stream: Stream, length: Option<u64>) -> Self {
        Self { stream, name: name.to_owned(), length, tag_bytes: 0, held: Zeroizing::new(Vec::new()), taken: 0 }
    }

    /// Its length, where that is known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Prepares it for an operation: what must be one chunk is kept until its length is known, in a file in one of
    /// `places` if it is much; a tag that was not given is taken from the end, now or when that has come. A length that the operation does
    /// not take is refused where it is known.
    pub fn prepare(&mut self, spec: &OperationSpec, message: &mut Message, places: &[PathBuf]) -> Result {
        let tag = spec.input(Role::TagIn).filter(|_| message.get(Role::TagIn).is_none());
        let tag_bytes = tag.map_or(0, |port| port.sizes.max());
        if spec.single_chunk && self.length.is_none() {
            self.keep(message.most_input(spec).saturating_add(tag_bytes), places)?;
        }
        if tag.is_some() {
            self.cut_off(tag_bytes, message)?;
        }
        let Some(length) = self.length else { return Ok(()) };
        message.check_input(spec, length).map_err(|problem| self.wrong(&problem))
    }

    /// Keeps all of it, so that its length is known.
    fn keep(&mut self, most: u64, places: &[PathBuf]) -> Result {
        let mut spool = Spool::new(places);
        let mut piece = Zeroizing::new(vec![0; PIECE_BYTES]);
        loop {
            let n_bytes = self.fill(&mut piece)?;
            if n_bytes == 0 {
                break;
            }
            if spool.len() + n_bytes as u64 > most {
                return Err(Error::wrong(format!(
                    "{}: is longer than the {most} bytes that the operation takes",
                    self.name
                )));
            }
            spool.write(&piece[..n_bytes])?;
        }
        self.length = Some(spool.len());
        let kept = spool.into_reader().map_err(|error| Error::io(&self.name, &error))?;
        self.stream = Stream::Known(kept);
        Ok(())
    }

    /// Takes the tag from the end where that is there; of a pipe it is held back when it comes.
    fn cut_off(&mut self, tag_bytes: u64, message: &mut Message) -> Result {
        let n_bytes = usize::try_from(tag_bytes).unwrap_or(usize::MAX);
        let (Stream::Known(stream), Some(length)) = (&mut self.stream, self.length) else {
            self.tag_bytes = n_bytes;
            // Of the right length, until the tag is there.
            message.set(Role::TagIn, vec![0; n_bytes]);
            return Ok(());
        };
        let Some(at) = length.checked_sub(tag_bytes) else { return Err(self.too_short(length, tag_bytes)) };
        let mut tag = vec![0; n_bytes];
        let mut read = || {
            let begin = stream.stream_position()?;
            stream.seek(SeekFrom::Start(begin + at))?;
            stream.read_exact(&mut tag)?;
            stream.seek(SeekFrom::Start(begin)).map(drop)
        };
        read().map_err(|error| Error::io(&self.name, &error))?;
        message.set(Role::TagIn, tag);
        self.length = Some(at);
        Ok(())
    }

    fn too_short(&self, length: u64, tag_bytes: u64) -> Error {
        Error::wrong(format!("{}: has {length} bytes; the tag at its end alone has {tag_bytes} bytes", self.name))
    }

    /// A problem of its size, under its own name.
    pub fn wrong(&self, problem: &Diagnostic) -> Error {
        Error::wrong(format!("{}: {}", self.name, problem.message))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let read = match &mut self.stream {
                Stream::Known(stream) => stream.read(buffer),
                Stream::Unknown(stream) => stream.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| Error::io(&self.name, &error)),
            }
        }
    }

    /// Puts what comes next into `piece`, which has room for more than a tag. After the last, [`MessageInput::tag`] has
    /// what was held back.
    pub fn read(&mut self, piece: &mut Vec<u8>) -> Result<Piece> {
        let room = piece.len();
        if let Some(length) = self.length {
            let left = length - self.taken;
            let most = usize::try_from(left).map_or(room, |left| left.min(room));
            let n_bytes = self.fill(&mut piece[..most])?;
            if n_bytes == 0 && left > 0 {
                return Err(Error::wrong(format!("{}: became shorter while it was read", self.name)));
            }
            self.taken += n_bytes as u64;
            return Ok(Piece { n_bytes, last: self.taken == length });
        }
        let n_bytes = self.fill(piece)?;
        let last = n_bytes == 0;
        if self.tag_bytes == 0 {
            self.taken += n_bytes as u64;
            return Ok(Piece { n_bytes, last });
        }
        if last && self.held.len() < self.tag_bytes {
            return Err(self.too_short(self.held.len() as u64, self.tag_bytes as u64));
        }
        if self.held.capacity() < self.held.len() + n_bytes {
            // Growing would leave copies that are not wiped.
            let mut larger = Zeroizing::new(Vec::with_capacity(self.tag_bytes + room));
            larger.extend_from_slice(&self.held);
            self.held = larger;
        }
        self.held.extend_from_slice(&piece[..n_bytes]);
        let ready = self.held.len().saturating_sub(self.tag_bytes);
        piece.clear();
        piece.extend(self.held.drain(..ready));
        self.taken += ready as u64;
        Ok(Piece { n_bytes: ready, last })
    }

    /// The tag that stood at the end, after the last piece; nothing where it was known before.
    pub fn tag(&self) -> Option<&[u8]> {
        (self.tag_bytes > 0).then_some(self.held.as_slice())
    }
}
