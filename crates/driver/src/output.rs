//! Outputs: files that appear whole or not at all, pipes and the terminal as they are written.

use crate::whole_file::{self, WholeFile};
use headrace::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Removes temporary folders, and what has a name of all outputs that were not committed.
pub fn remove_unfinished() {
    whole_file::remove_unfinished();
    headrace_private::remove_unfinished();
}

/// A temporary folder that only the user can enter, which goes with its owner, and when the command is interrupted.
#[derive(Debug)]
pub struct TemporaryFolder(headrace_private::PrivateFolder);

impl TemporaryFolder {
    /// A new one, empty.
    pub fn new() -> Result<Self> {
        headrace_private::PrivateFolder::new().map(Self).map_err(Error::wrong)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Where bytes go.
#[derive(Debug)]
pub enum Output {
    /// A regular file, which has its name after [`Output::commit`].
    File(WholeFile),
    /// A pipe, a device: what is written is gone.
    Stream(File, PathBuf),
    /// Standard output.
    Standard,
}

impl Output {
    /// Opens `path`, `-` being standard output. An existing regular file is replaced at the end, with its permissions.
    pub fn create(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Output::Standard);
        }
        let failed = |error: io::Error| Error::io(path.display(), &error);
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(Error::wrong(format!("{}: is a folder", path.display()))),
            Ok(metadata) if !metadata.is_file() => {
                let stream = File::options().write(true).open(path).map_err(failed)?;
                Ok(Output::Stream(stream, path.to_owned()))
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            Ok(_) | Err(_) => WholeFile::create(path).map(Output::File).map_err(failed),
        }
    }

    /// The same, but a file that is there is not replaced: neither now nor by a file that has come meanwhile.
    pub fn create_new(path: &Path) -> Result<Self> {
        if path == Path::new("-") || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Self::create(path);
        }
        WholeFile::create_new(path).map(Output::File).map_err(|error| Error::io(path.display(), &error))
    }

    /// Makes a file appear under its name; flushes a stream.
    pub fn commit(self) -> Result {
        match self {
            Output::File(file) => {
                let path = file.path().to_owned();
                file.commit().map_err(|error| Error::io(path.display(), &error))
            }
            Output::Stream(mut stream, path) => stream.flush().map_err(|error| Error::io(path.display(), &error)),
            Output::Standard => flush_standard(),
        }
    }

    /// True when what is written is seen at once.
    pub fn is_stream(&self) -> bool {
        !matches!(self, Output::File(_))
    }

    /// Writes all bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result {
        match self {
            Output::File(file) => {
                let written = file.write(bytes);
                written.map_err(|error| Error::io(file.path().display(), &error))
            }
            Output::Stream(stream, path) => {
                stream.write_all(bytes).map_err(|error| closed_or(path.display().to_string(), &error))
            }
            Output::Standard => print(bytes),
        }
    }
}

/// Writes a whole file at once.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    output.commit()
}

/// Makes a folder with those above it, unless it is there.
pub fn make_folder(path: &Path) -> Result {
    fs::create_dir_all(path).map_err(|error| Error::io(path.display(), &error))
}

/// Printed bytes that are collected where nobody watches: on the way to a regular file.
const PRINTED_BYTES: usize = 1 << 16;

/// What was printed and is not written yet. Whoever interrupts the command writes it.
static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// True when standard output is a regular file, which nobody waits for.
pub fn prints_to_file() -> bool {
    static TO_FILE: OnceLock<bool> = OnceLock::new();
    *TO_FILE.get_or_init(is_file)
}

#[cfg(unix)]
fn is_file() -> bool {
    rustix::fs::fstat(io::stdout()).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
}

#[cfg(not(unix))]
fn is_file() -> bool {
    false
}

/// Writes to standard output. When its reader has gone away, the command ends quietly.
pub fn print(bytes: &[u8]) -> Result {
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if bytes.len() >= PRINTED_BYTES {
        write_printed(&mut printed)?;
        return write_standard(bytes);
    }
    printed.extend_from_slice(bytes);
    if printed.len() >= PRINTED_BYTES { write_printed(&mut printed) } else { Ok(()) }
}

/// Makes what was printed visible.
pub fn flush_standard() -> Result {
    write_printed(&mut PRINTED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes what was printed to a file visible when the command is interrupted. Anywhere else, writing could wait for ever.
pub fn flush_interrupted() {
    if let (true, Ok(mut printed)) = (prints_to_file(), PRINTED.try_lock()) {
        // Nobody is left to tell.
        let _ = write_printed(&mut printed);
    }
}

fn write_printed(printed: &mut Vec<u8>) -> Result {
    let written = write_standard(printed);
    printed.clear();
    written
}

fn write_standard(bytes: &[u8]) -> Result {
    let mut standard = io::stdout().lock();
    let written = standard.write_all(bytes).and_then(|()| standard.flush());
    written.map_err(|error| closed_or("standard output".into(), &error))
}

/// A reader that went away is no one to complain to.
fn closed_or(what: String, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe { Error::Told } else { Error::io(what, error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_at_commit_and_not_before() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out");
        let mut output = Output::create(&path).expect("the folder is writable");
        output.write(b"whole").expect("the disk has room");
        assert!(!path.exists());
        drop(output);
        write_file(&path, b"whole").expect("the folder is writable");
        assert_eq!(fs::read(&path).expect("the file is there"), b"whole");
        assert!(Output::create(folder.path()).is_err_and(|failure| failure.to_string().contains("is a folder")));
    }
}
