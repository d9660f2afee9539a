//! Outputs: files that appear whole or not at all, pipes and the terminal as they are written.

use crate::failure::{Failure, Outcome};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

/// Temporary files that are being written, for the one who interrupts the command.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes temporary folders, and the temporary files of all outputs that were not committed.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        // What cannot be removed stays under its hidden name; there is no one left to tell.
        let _ = fs::remove_file(&path);
    }
    headrace_private::remove_unfinished();
}

/// A temporary folder that only the user can enter, which goes with its owner, and when the command is interrupted.
#[derive(Debug)]
pub struct TemporaryFolder(headrace_private::PrivateFolder);

impl TemporaryFolder {
    /// A new one, empty.
    pub fn new() -> Outcome<Self> {
        headrace_private::PrivateFolder::new().map(Self).map_err(Failure::wrong)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Where bytes go.
#[derive(Debug)]
pub enum Output {
    /// A regular file, under another name until [`Output::commit`].
    File {
        /// What is being written.
        temporary: NamedTempFile,
        /// Where it will be.
        path: PathBuf,
    },
    /// A pipe, a device: what is written is gone.
    Stream(File, PathBuf),
    /// Standard output.
    Standard,
}

impl Output {
    /// Opens `path`, `-` being standard output. An existing regular file is replaced at the end, with its permissions.
    pub fn create(path: &Path) -> Outcome<Self> {
        if path == Path::new("-") {
            return Ok(Output::Standard);
        }
        let failed = |error: io::Error| Failure::io(path.display(), &error);
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(Failure::wrong(format!("{}: is a folder", path.display()))),
            Ok(metadata) if !metadata.is_file() => {
                let stream = File::options().write(true).open(path).map_err(failed)?;
                Ok(Output::Stream(stream, path.to_owned()))
            }
            existing => {
                // Through a symbolic link, the file it names is the one to replace.
                let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let mut builder = tempfile::Builder::new();
                builder.prefix(".headrace-");
                #[cfg(unix)]
                builder.permissions(permissions(existing.ok().as_ref()));
                #[cfg(not(unix))]
                drop(existing);
                let temporary = builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
                unfinished().push(temporary.path().to_owned());
                Ok(Output::File { temporary, path })
            }
        }
    }

    /// Makes a file appear under its name; flushes a stream.
    pub fn commit(self) -> Outcome {
        match self {
            Output::File { mut temporary, path } => {
                temporary.flush().map_err(|error| Failure::io(path.display(), &error))?;
                let hidden = temporary.path().to_owned();
                temporary.persist(&path).map_err(|error| Failure::io(path.display(), &error.error))?;
                unfinished().retain(|other| *other != hidden);
                Ok(())
            }
            Output::Stream(mut stream, path) => stream.flush().map_err(|error| Failure::io(path.display(), &error)),
            Output::Standard => flush_standard(),
        }
    }

    /// True when what is written is seen at once.
    pub fn is_stream(&self) -> bool {
        !matches!(self, Output::File { .. })
    }

    /// Writes all bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome {
        match self {
            Output::File { temporary, path } => {
                temporary.write_all(bytes).map_err(|error| Failure::io(path.display(), &error))
            }
            Output::Stream(stream, path) => {
                stream.write_all(bytes).map_err(|error| closed_or(path.display().to_string(), &error))
            }
            Output::Standard => print(bytes),
        }
    }
}

#[cfg(unix)]
fn permissions(existing: Option<&fs::Metadata>) -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    existing.map_or_else(|| fs::Permissions::from_mode(0o666), fs::Metadata::permissions)
}

/// Writes a whole file at once.
pub fn write_file(path: &Path, bytes: &[u8]) -> Outcome {
    let mut output = Output::create(path)?;
    output.write(bytes)?;
    output.commit()
}

/// Makes a folder with those above it, unless it is there.
pub fn make_folder(path: &Path) -> Outcome {
    fs::create_dir_all(path).map_err(|error| Failure::io(path.display(), &error))
}

/// Writes to standard output. When its reader has gone away, the command ends quietly.
pub fn print(bytes: &[u8]) -> Outcome {
    io::stdout().lock().write_all(bytes).map_err(|error| closed_or("standard output".into(), &error))
}

/// Makes what was printed visible.
pub fn flush_standard() -> Outcome {
    io::stdout().lock().flush().map_err(|error| closed_or("standard output".into(), &error))
}

/// A reader that went away is no one to complain to.
fn closed_or(what: String, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe { Failure::said() } else { Failure::io(what, error) }
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
        assert_eq!(fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
        write_file(&path, b"whole").expect("the folder is writable");
        assert_eq!(fs::read(&path).expect("the file is there"), b"whole");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_survive_replacement() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out");
        write_file(&path, b"1").expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("the file is ours");
        write_file(&path, b"2").expect("the folder is writable");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o640);
    }
}
