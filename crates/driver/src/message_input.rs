//! The input of one message: from a file, a pipe or the command line, with what must be known of it before it is sent.
//!
//! Of a file the length is known, so that a tag at its end is read first and what is too long is refused before anything is
//! done. Of a pipe the last bytes are held back, for they may be the tag, and what the operation needs whole is kept in a
//! [`Spool`] until its length is known.

use crate::failure::{Failure, Outcome};
use crate::ports::{self, Source};
use crate::spool::{Seekable, Spool};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::Message;
use headrace_source::Diagnostic;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
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
    /// Opens what `--in` says; an operation without an input has an empty one.
    pub fn open(text: &str, spec: &OperationSpec) -> Outcome<Self> {
        let new = |stream, name: String, length| Self {
            stream,
            name,
            length,
            tag_bytes: 0,
            held: Zeroizing::new(Vec::new()),
            taken: 0,
        };
        let bytes = |bytes: Vec<u8>| {
            let length = Some(bytes.len() as u64);
            new(Stream::Known(Box::new(io::Cursor::new(Zeroizing::new(bytes)))), "--in".into(), length)
        };
        if spec.input(Role::Input).is_none() {
            return Ok(bytes(Vec::new()));
        }
        match ports::source(text).map_err(|problem| Failure::usage(format!("--in: {problem}")))? {
            Source::Bytes(given) => Ok(bytes(given)),
            Source::Numbers(_) => Err(Failure::usage("--in: a byte string comes from a path, `-`, hex: or text:")),
            Source::Standard => Ok(match standard_file() {
                Some((file, length)) => new(Stream::Known(Box::new(file)), "standard input".into(), Some(length)),
                None => new(Stream::Unknown(Box::new(io::stdin())), "standard input".into(), None),
            }),
            Source::Path(path) => {
                let failed = |error: io::Error| Failure::io(path.display(), &error);
                let file = File::open(&path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    return Err(Failure::wrong(format!("{}: is a folder", path.display())));
                }
                let name = path.display().to_string();
                // Files below /proc say that they are empty.
                Ok(match metadata.is_file() && metadata.len() > 0 {
                    true => new(Stream::Known(Box::new(file)), name, Some(metadata.len())),
                    false => new(Stream::Unknown(Box::new(file)), name, None),
                })
            }
        }
    }

    /// Its length, where that is known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Prepares it for an operation: what must be one chunk is kept until its length is known, in `beside` where that is
    /// given; a tag that was not given is taken from the end, now or when that has come. A length that the operation does
    /// not take is refused where it is known.
    pub fn prepare(&mut self, spec: &OperationSpec, message: &mut Message, beside: Option<&Path>) -> Outcome {
        let tag = spec.input(Role::TagIn).filter(|_| message.get(Role::TagIn).is_none());
        let tag_bytes = tag.map_or(0, |port| port.sizes.max());
        if spec.single_chunk && self.length.is_none() {
            self.keep(message.most_input(spec).saturating_add(tag_bytes), beside)?;
        }
        if tag.is_some() {
            self.cut_off(tag_bytes, message)?;
        }
        let Some(length) = self.length else { return Ok(()) };
        message.check_input(spec, length).map_err(|problem| self.wrong(&problem))
    }

    /// Keeps all of it, so that its length is known.
    fn keep(&mut self, most: u64, beside: Option<&Path>) -> Outcome {
        let mut spool = Spool::new(beside);
        let mut piece = Zeroizing::new(vec![0; PIECE_BYTES]);
        loop {
            let n_bytes = self.fill(&mut piece)?;
            if n_bytes == 0 {
                break;
            }
            if spool.len() + n_bytes as u64 > most {
                return Err(Failure::wrong(format!(
                    "{}: is longer than the {most} bytes that the operation takes",
                    self.name
                )));
            }
            spool.write(&piece[..n_bytes])?;
        }
        self.length = Some(spool.len());
        let kept = spool.into_reader().map_err(|error| Failure::io(&self.name, &error))?;
        self.stream = Stream::Known(kept);
        Ok(())
    }

    /// Takes the tag from the end where that is there; of a pipe it is held back when it comes.
    fn cut_off(&mut self, tag_bytes: u64, message: &mut Message) -> Outcome {
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
        read().map_err(|error| Failure::io(&self.name, &error))?;
        message.set(Role::TagIn, tag);
        self.length = Some(at);
        Ok(())
    }

    fn too_short(&self, length: u64, tag_bytes: u64) -> Failure {
        Failure::wrong(format!("{}: has {length} bytes; the tag at its end alone has {tag_bytes} bytes", self.name))
    }

    /// A problem of its size, under its own name.
    pub fn wrong(&self, problem: &Diagnostic) -> Failure {
        Failure::wrong(format!("{}: {}", self.name, problem.message))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Outcome<usize> {
        loop {
            let read = match &mut self.stream {
                Stream::Known(stream) => stream.read(buffer),
                Stream::Unknown(stream) => stream.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| Failure::io(&self.name, &error)),
            }
        }
    }

    /// Puts what comes next into `piece`, which has room for more than a tag. After the last, [`MessageInput::tag`] has
    /// what was held back.
    pub fn read(&mut self, piece: &mut Vec<u8>) -> Outcome<Piece> {
        let room = piece.len();
        if let Some(length) = self.length {
            let left = length - self.taken;
            let most = usize::try_from(left).map_or(room, |left| left.min(room));
            let n_bytes = self.fill(&mut piece[..most])?;
            if n_bytes == 0 && left > 0 {
                return Err(Failure::wrong(format!("{}: became shorter while it was read", self.name)));
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

/// Standard input as a file with its length from here on, where it is a regular file.
#[cfg(unix)]
fn standard_file() -> Option<(File, u64)> {
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let at = file.stream_position().ok()?;
    Some((file, metadata.len().saturating_sub(at)))
}

#[cfg(not(unix))]
fn standard_file() -> Option<(File, u64)> {
    None
}

/// The folder in which an output will be, for what must be kept until then.
pub fn folder_of(destination: &crate::ports::Destination) -> Option<PathBuf> {
    match destination {
        crate::ports::Destination::Path(path) if path.as_os_str() != "-" && (path.is_file() || !path.exists()) => {
            Some(crate::whole_file::folder_of(path).to_owned())
        }
        _ => None,
    }
}
