//! Temporary folders that nobody else can enter, gone with their owner, with the command when it is interrupted, and with the
//! next command when it was killed.

use crate::trust;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What the names of such folders begin with.
const PREFIX: &str = "headrace-private-";

/// One that nobody holds and that is older was left behind by a process that was killed. Who makes one holds it well before.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Where locks cannot tell, an older one was left behind, too.
const FORGOTTEN: Duration = Duration::from_secs(2 * 24 * 3600);

/// Files and folders that are to go when the command is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a file or folder removed when the command is interrupted.
pub fn remove_when_interrupted(path: PathBuf) {
    unfinished().push(path);
}

/// Takes back [`remove_when_interrupted`].
pub fn forget(path: &Path) {
    unfinished().retain(|other| other != path);
}

/// Removes what is unfinished: for the one who interrupts the command, after the processes that write there have been stopped.
pub fn remove_unfinished() {
    for path in unfinished().drain(..) {
        // What was stopped may still come to an end and write a last file.
        for _ in 0..100 {
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            if fs::symlink_metadata(&path).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A temporary folder that only the user can enter, with mode 0700.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: tempfile::TempDir,
    /// Locked as long as this process lives.
    _held: Option<OwnedFd>,
}

impl PrivateFolder {
    /// A new one, empty, in the first place for temporary files that can be trusted and written to.
    ///
    /// # Errors
    ///
    /// Why the first of them does not do.
    pub fn new() -> Result<Self, String> {
        let mut first = None;
        for place in places() {
            match Self::new_in(&place) {
                Ok(folder) => return Ok(folder),
                Err(why) => first = first.or(Some(why)),
            }
        }
        let why = first.unwrap_or_default();
        Err(format!("there is no place for temporary files ({why}); TMPDIR names one"))
    }

    /// A new one, empty, in this place.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn new_in(place: &Path) -> Result<Self, String> {
        trust::is_safe(place)?;
        sweep(place);
        let told = |error: io::Error| format!("{}: {}", place.display(), crate::describe(&error));
        let permissions = fs::Permissions::from_mode(0o700);
        let mut unfinished = unfinished();
        let made = tempfile::Builder::new().prefix(PREFIX).permissions(permissions).tempdir_in(place);
        let folder = made.map_err(told)?;
        unfinished.push(folder.path().to_owned());
        drop(unfinished);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = open(folder.path(), flags, Mode::empty()).ok();
        let held = held.filter(|held| flock(held, FlockOperation::NonBlockingLockExclusive).is_ok());
        Ok(Self { folder, _held: held })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let path = self.folder.path();
        // What cannot be removed is left to the next command.
        let _ = fs::remove_dir_all(path);
        forget(path);
    }
}

/// Places for temporary files, the one that the user names first.
pub fn places() -> Vec<PathBuf> {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut places = vec![std::env::temp_dir()];
    for place in usual.into_iter().chain(named) {
        if place.is_absolute() && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Removes folders of this user that processes which are no more have left in a place.
fn sweep(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        let age =
            about.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok()).unwrap_or_default();
        if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() || age < LEFT_BEHIND {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(folder) = open(entry.path(), flags, Mode::empty()) else { continue };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() || age > FORGOTTEN {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
