//! Spooling of what must be withheld: bytes kept in memory while they are few, and in a file without a name beyond that.
//!
//! What may be released only when a message was verified, or must be known whole before anything can be done with it, may
//! be larger than memory. The file is for its owner only and is removed as soon as it is made, so that no one can open it
//! and nothing stays of it whatever ends the process.

use crate::error::{Error, Result, describe};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Bytes that are kept in memory.
pub const IN_MEMORY_BYTES: usize = 1 << 16;

/// Bytes that are moved at once.
const PIECE_BYTES: usize = 1 << 16;

/// What can be read anew from any place.
pub trait Seekable: Read + Seek {}
impl<T: Read + Seek> Seekable for T {}

/// Bytes that are kept until it is known what to do with them.
#[derive(Debug)]
pub struct Spool {
    memory: Zeroizing<Vec<u8>>,
    file: Option<File>,
    length: u64,
    /// Folders in which the file may be, the best first.
    places: Vec<PathBuf>,
}

impl Spool {
    /// An empty one, whose file would be in the first of these folders that takes it.
    pub fn new(places: &[PathBuf]) -> Self {
        Self { memory: Zeroizing::new(Vec::new()), file: None, length: 0, places: places.to_vec() }
    }

    /// Bytes in it.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Keeps further bytes.
    ///
    /// # Errors
    ///
    /// There is no room for them, or no folder to have them in.
    pub fn write(&mut self, bytes: &[u8]) -> Result {
        self.length += bytes.len() as u64;
        if self.file.is_none() {
            if self.memory.len() + bytes.len() <= IN_MEMORY_BYTES {
                if self.memory.capacity() < self.memory.len() + bytes.len() {
                    // Growing would leave copies that are not wiped.
                    let mut larger = Zeroizing::new(Vec::with_capacity(IN_MEMORY_BYTES));
                    larger.extend_from_slice(&self.memory);
                    self.memory = larger;
                }
                self.memory.extend_from_slice(bytes);
                return Ok(());
            }
            let mut file = self.open()?;
            file.write_all(&self.memory).map_err(|error| full(&error))?;
            self.memory = Zeroizing::new(Vec::new());
            self.file = Some(file);
        }
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|error| full(&error))
    }

    fn open(&self) -> Result<File> {
        let mut problem = "no folder is named".to_owned();
        for place in &self.places {
            match tempfile::tempfile_in(place) {
                Ok(file) => return Ok(file),
                Err(error) => problem = format!("{}: {}", place.display(), describe(&error)),
            }
        }
        Err(Error::wrong(format!(
            "what must be kept until the end has no place: {problem}; TMPDIR names a folder for it; nothing was written"
        )))
    }

    /// What is in it, from the beginning. What was kept in memory is wiped with the reader.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn into_reader(mut self) -> io::Result<Box<dyn Seekable>> {
        match self.file.take() {
            None => Ok(Box::new(io::Cursor::new(self.memory))),
            Some(mut file) => {
                file.rewind()?;
                Ok(Box::new(file))
            }
        }
    }

    /// Hands all of it on, piece by piece, and is empty then.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or what `take` says.
    pub fn release(&mut self, mut take: impl FnMut(&[u8]) -> Result) -> Result {
        self.length = 0;
        let memory = std::mem::replace(&mut self.memory, Zeroizing::new(Vec::new()));
        for piece in memory.chunks(PIECE_BYTES) {
            take(piece)?;
        }
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let failed = |error: io::Error| Error::io("what was kept until the end", &error);
        file.rewind().map_err(failed)?;
        let mut piece = Zeroizing::new(vec![0; PIECE_BYTES]);
        loop {
            match file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(n_bytes) => take(&piece[..n_bytes])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

fn full(error: &io::Error) -> Error {
    Error::wrong(format!(
        "what must be kept until the end finds no room: {}; TMPDIR names a folder for it; nothing was written",
        describe(error)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_from_memory_and_from_the_file() {
        for length in [0, 1, IN_MEMORY_BYTES, IN_MEMORY_BYTES + 1, 3 * IN_MEMORY_BYTES] {
            let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let filled = || {
                let mut spool = Spool::new(&[std::env::temp_dir()]);
                content.chunks(300_000).for_each(|piece| spool.write(piece).expect("there is room"));
                assert_eq!((spool.len(), spool.is_empty()), (length as u64, length == 0));
                assert_eq!(spool.file.is_some(), length > IN_MEMORY_BYTES);
                spool
            };
            let mut read = Vec::new();
            filled().into_reader().and_then(|mut reader| reader.read_to_end(&mut read)).expect("it can be read");
            assert!(read == content);
            let mut released = Vec::new();
            let mut spool = filled();
            let take = |piece: &[u8]| {
                released.extend_from_slice(piece);
                Ok(())
            };
            spool.release(take).expect("it can be read");
            assert!(released == content && spool.is_empty());
        }
    }

    #[test]
    fn without_a_place_it_says_so() {
        let mut spool = Spool::new(&["no/such/folder".into()]);
        let refused = spool.write(&vec![0; IN_MEMORY_BYTES + 1]).expect_err("there is no place");
        assert!(refused.to_string().contains("no/such/folder") && refused.to_string().contains("TMPDIR"), "{refused}");
    }
}
