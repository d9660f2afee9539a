//! The cache of what was compiled or synthesised: a folder that only the user can enter, with entries that carry their digests.
//!
//! An entry is a file `KEY.KIND`, its bytes followed by [`Trailer`]. It is read whole and held to its trailer before anything
//! of it is used, so what a crash, a full disk or a hand has changed is made anew. It appears by renaming, after it and
//! before its folder were written to the disk. Who makes an entry holds a lock meanwhile; others wait for it.
//!
//! Entries that were not used for [`Limits::most_age`] go, and those that were used least recently as long as all together
//! have more than [`Limits::most_bytes`].

use crate::limits::Limits;
use crate::{forget, remove_when_interrupted, trust};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::fs::{flock, fstat, futimens, openat, renameat, unlinkat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// What an entry ends with.
const MAGIC: &[u8; 8] = b"headrace";

/// Bytes behind those of an entry: their SHA-256 with the name of the entry, and `MAGIC`.
const TRAILER_BYTES: usize = 32 + MAGIC.len();

/// No entry is larger; what is was not made here.
const MOST_ENTRY_BYTES: u64 = 1 << 30;

/// How exact the time of last use is: reading need not write each time.
const USE_STEP: Duration = Duration::from_secs(3600);

/// Files of writers and locks that are older, and not locked, belong to nobody any more.
const LEFT_BEHIND: Duration = Duration::from_secs(600);

/// Folders of an earlier version, in which compilers that were killed have worked.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// Kinds of entries, as their names end: libraries.
pub const LIBRARY: &str = "so";

/// That a network is not fused.
pub const UNFUSED: &str = "unfused";

/// What came of a trial.
pub const TRIAL: &str = "trial";

/// How an operation is started from what was compiled for it, without its network.
pub const SHORTCUT: &str = "shortcut";

/// What was spent on an operation for want of fused code.
pub const SPENT: &str = "spent";

/// What came of a step of logic synthesis.
pub const SYNTHESIS: &str = "synthesis";

/// All kinds of entries.
const KINDS: [&str; 6] = [LIBRARY, UNFUSED, TRIAL, SHORTCUT, SPENT, SYNTHESIS];

/// What the names of locks end in.
const LOCK: &str = "lock";

/// What the names of files end in that are being written.
const NEW: &str = "new";

/// How an entry is opened: a pipe of its name is not waited for.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An open cache.
#[derive(Debug)]
pub struct Cache {
    folder: OwnedFd,
    path: PathBuf,
    limits: Limits,
}

/// The right to make an entry, as long as it lives.
#[derive(Debug)]
pub struct Turn<'a> {
    cache: &'a Cache,
    name: String,
    _locked: OwnedFd,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // While it is locked: who waits sees that the file is gone, and makes another.
        let _ = unlinkat(&self.cache.folder, &self.name, AtFlags::empty());
        forget(&self.cache.path.join(&self.name));
    }
}

impl Cache {
    /// Opens the cache in a folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// Why it is not to be used: also where the limits keep nothing.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, String> {
        if limits.most_bytes == 0 {
            return Err("HEADRACE_CACHE_BYTES is 0".into());
        }
        let folder = trust::own_folder(path)?;
        Ok(Self { folder, path: path.to_owned(), limits })
    }

    /// The bytes of an entry, if it is there and whole. What is there and is not whole is removed.
    pub fn get(&self, key: &str, kind: &str) -> Option<Vec<u8>> {
        let name = format!("{key}.{kind}");
        let found = match openat(&self.folder, &name, READ, Mode::empty()) {
            Ok(file) => whole(File::from(file), &name),
            Err(Errno::NOENT) => return None,
            Err(_) => None,
        };
        if found.is_none() {
            self.remove(&name);
        }
        found
    }

    /// Keeps a number that may be lost: who adds to it holds its lock, and where somebody else does, what is added is forgotten.
    /// Nothing is waited for, and nothing is written to the disk before it is due there.
    pub fn add(&self, key: &str, kind: &str, more: u64) {
        let Some(_turn) = self.turn(key, Duration::ZERO) else { return };
        let sum = self.number(key, kind).saturating_add(more);
        // What is not kept is counted again the next time.
        let _ = self.keep(key, kind, sum.to_string().as_bytes(), false);
    }

    /// A number that [`Cache::add`] keeps; 0 where there is none.
    pub fn number(&self, key: &str, kind: &str) -> u64 {
        let text = self.get(key, kind).and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// Keeps an entry, and lets go what is too much or too old.
    ///
    /// # Errors
    ///
    /// What the file system says; nothing is kept then.
    pub fn put(&self, key: &str, kind: &str, bytes: &[u8]) -> Result<(), String> {
        self.keep(key, kind, bytes, true)?;
        self.sweep();
        Ok(())
    }

    fn keep(&self, key: &str, kind: &str, bytes: &[u8], lasting: bool) -> Result<(), String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("{key}.{kind}");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let new = format!("{name}.{}.{number}.{NEW}", std::process::id());
        remove_when_interrupted(self.path.join(&new));
        let kept = self.write(&new, &name, bytes, lasting);
        if kept.is_err() {
            let _ = unlinkat(&self.folder, &new, AtFlags::empty());
        }
        forget(&self.path.join(&new));
        kept.map_err(|error| format!("{}: {}", self.path.display(), crate::describe(&error)))
    }

    fn write(&self, new: &str, name: &str, bytes: &[u8], lasting: bool) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, new, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        file.write_all(&digest(name, bytes))?;
        file.write_all(MAGIC)?;
        if lasting {
            file.sync_all()?;
        }
        renameat(&self.folder, new, &self.folder, name)?;
        if lasting {
            // Some file systems have no way to do this for folders.
            let _ = rustix::fs::fsync(&self.folder);
        }
        Ok(())
    }

    /// Whatever has this name.
    fn remove(&self, name: &str) {
        if unlinkat(&self.folder, name, AtFlags::empty()).is_err() {
            // What cannot be removed is not used either.
            let _ = fs::remove_dir_all(self.path.join(name));
        }
    }

    /// The right to make an entry, when those who make it already have ended or the time is over; then, and where there are no
    /// locks, `None`: several make it.
    pub fn turn(&self, key: &str, limit: Duration) -> Option<Turn<'_>> {
        let name = format!("{key}.{LOCK}");
        let began = Instant::now();
        let mut pause = Duration::from_millis(5);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let file = openat(&self.folder, &name, flags, Mode::RUSR | Mode::WUSR).ok()?;
            loop {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => break,
                    Err(Errno::WOULDBLOCK | Errno::INTR) if began.elapsed() < limit => {
                        std::thread::sleep(pause);
                        pause = (pause * 2).min(Duration::from_millis(100));
                    }
                    Err(_) => return None,
                }
            }
            if fstat(&file).is_ok_and(|about| about.st_nlink > 0) {
                remove_when_interrupted(self.path.join(&name));
                return Some(Turn { cache: self, name, _locked: file });
            }
        }
    }

    /// Removes what is too old, what is too much, and what was left behind.
    fn sweep(&self) {
        let Ok(listed) = fs::read_dir(&self.path) else { return };
        let mut entries = Vec::new();
        for entry in listed.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(about) = entry.metadata() else { continue };
            let age = about.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
            let age = age.unwrap_or_default();
            let Some((key, rest)) = name.split_once('.').filter(|(key, _)| is_key(key)) else { continue };
            let is_entry = KINDS.contains(&rest);
            if rest == LOCK {
                // Nobody holds a lock that is to be had. It goes when it is let go: removed by its name afterwards it could be
                // that of somebody who has made one meanwhile.
                if age > LEFT_BEHIND {
                    drop(self.turn(key, Duration::ZERO));
                }
                continue;
            }
            let too_old = match rest.rsplit_once('.') {
                _ if is_entry => age > self.limits.most_age,
                Some((_, NEW)) => age > LEFT_BEHIND,
                _ => about.is_dir() && age > FORGOTTEN,
            };
            if too_old {
                self.remove(&name);
            } else if about.is_file() {
                entries.push((age, about.len(), is_entry, name));
            }
        }
        let mut total: u64 = entries.iter().map(|(_, bytes, ..)| bytes).sum();
        entries.sort_by_key(|(age, ..)| std::cmp::Reverse(*age));
        for (_, bytes, is_entry, name) in entries {
            if total <= self.limits.most_bytes {
                break;
            }
            if is_entry {
                self.remove(&name);
                total -= bytes;
            }
        }
    }
}

/// Puts an entry into a folder of what is installed, which everybody may read. It appears whole.
///
/// # Errors
///
/// What the file system says.
pub fn install(place: &Path, key: &str, kind: &str, bytes: &[u8]) -> Result<(), String> {
    let name = format!("{key}.{kind}");
    let write = || {
        let mut file =
            tempfile::Builder::new().prefix(".new-").permissions(Permissions::from_mode(0o644)).tempfile_in(place)?;
        file.write_all(bytes)?;
        file.write_all(&digest(&name, bytes))?;
        file.write_all(MAGIC)?;
        // The umask of who installs must not close it to those who use it.
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.as_file().sync_all()?;
        file.persist(place.join(&name)).map(drop).map_err(|error| error.error)
    };
    write().map_err(|error: io::Error| format!("{}: {}", place.display(), crate::describe(&error)))
}

/// What was compiled when the command was installed: a folder with entries as those of the cache, which is only read.
///
/// Whoever could change an entry could change the command as well: the folder and all above it belong to root or the user, and
/// so do its files, and nobody else may write to any of them.
#[derive(Debug)]
pub struct Installed {
    folder: OwnedFd,
}

impl Installed {
    /// Opens such a folder; `None` where there is none, or one that others could change.
    pub fn open(path: &Path) -> Option<Self> {
        if !path.is_dir() {
            return None;
        }
        Some(Self { folder: trust::unshared_folder(path).ok()? })
    }

    /// The bytes of an entry, if it is there and whole.
    pub fn get(&self, key: &str, kind: &str) -> Option<Vec<u8>> {
        let name = format!("{key}.{kind}");
        let file = File::from(openat(&self.folder, &name, READ, Mode::empty()).ok()?);
        if !trust::is_trusted_file(&fstat(&file).ok()?) {
            return None;
        }
        content(file, &name)
    }
}

fn is_key(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn digest(name: &str, bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(name.as_bytes());
    hash.update([0]);
    hash.update(bytes);
    hash.finalize().into()
}

/// The bytes before the trailer of a file, if it is the user's and all of it is as it was written.
fn whole(file: File, name: &str) -> Option<Vec<u8>> {
    if !trust::is_own_file(&fstat(&file).ok()?) {
        return None;
    }
    let bytes = content(file.try_clone().ok()?, name)?;
    if SystemTime::now().duration_since(file.metadata().ok()?.modified().ok()?).is_ok_and(|age| age > USE_STEP) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let same = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        // Where the time of last use cannot be kept, the entry goes earlier.
        let _ = futimens(&file, &Timestamps { last_access: same, last_modification: now });
    }
    Some(bytes)
}

/// The bytes before the trailer of a file, if all of it is as it was written.
fn content(file: File, name: &str) -> Option<Vec<u8>> {
    let length = u64::try_from(fstat(&file).ok()?.st_size).ok().filter(|length| *length <= MOST_ENTRY_BYTES)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
    file.take(MOST_ENTRY_BYTES).read_to_end(&mut bytes).ok()?;
    let trailer = bytes.split_off(bytes.len().checked_sub(TRAILER_BYTES)?);
    (trailer[32..] == MAGIC[..] && trailer[..32] == digest(name, &bytes)).then_some(bytes)
}

/// Where the cache of the user is.
///
/// # Errors
///
/// There is no place for one that is the user's.
pub fn default_place() -> Result<PathBuf, String> {
    Ok(trust::user_cache()?.join("headrace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn limits(most_bytes: u64) -> Limits {
        Limits { most_bytes, most_age: 10 * DAY, compiling: DAY }
    }

    fn key(number: u32) -> String {
        format!("{number:032x}")
    }

    /// Makes a file look as if it was used so long ago.
    fn age(path: &Path, age: Duration) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn entries_go_when_they_are_old_or_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), limits(4000)).unwrap();
        let path = |number: u32| folder.path().join(format!("{}.so", key(number)));
        let there = |numbers: std::ops::Range<u32>| numbers.filter(|number| path(*number).exists()).collect::<Vec<_>>();
        for number in 0..3 {
            cache.put(&key(number), "so", &[7; 1000]).unwrap();
            age(&path(number), (5 - number) * DAY);
        }
        // What is used is young again.
        assert_eq!(cache.get(&key(0), "so"), Some(vec![7; 1000]));
        cache.put(&key(3), "so", &[7; 1000]).unwrap();
        assert_eq!(there(0..4), [0, 2, 3]);
        age(&path(2), 11 * DAY);
        cache.put(&key(4), "so", &[]).unwrap();
        assert_eq!(there(0..5), [0, 3, 4]);
        // What is larger than all may be is not kept, and others' files are not touched.
        std::fs::write(folder.path().join("mine"), [0; 5000]).unwrap();
        cache.put(&key(5), "so", &[7; 5000]).unwrap();
        assert!(folder.path().join("mine").exists() && !path(5).exists());
        assert!(Cache::open(folder.path(), limits(0)).is_err());
    }

    #[test]
    fn numbers_add_up_where_nobody_else_adds() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), limits(4000)).unwrap();
        assert_eq!(cache.number(&key(1), SPENT), 0);
        cache.add(&key(1), SPENT, 40);
        cache.add(&key(1), SPENT, 2);
        assert_eq!(cache.number(&key(1), SPENT), 42);
        let turn = cache.turn(&key(1), Duration::ZERO);
        cache.add(&key(1), SPENT, 1);
        drop(turn);
        assert_eq!(cache.number(&key(1), SPENT), 42);
        cache.add(&key(1), SPENT, u64::MAX);
        assert_eq!(cache.number(&key(1), SPENT), u64::MAX);
        std::fs::write(folder.path().join(format!("{}.{SPENT}", key(1))), "7").unwrap();
        assert_eq!(cache.number(&key(1), SPENT), 0);
    }

    #[test]
    fn what_is_installed_is_read_where_nobody_else_can_change_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("lib");
        let set = |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert!(Installed::open(&place).is_none());
        fs::create_dir(&place).unwrap();
        set(&place, 0o755);
        install(&place, &key(1), LIBRARY, b"code").unwrap();
        let entry = place.join(format!("{}.{LIBRARY}", key(1)));
        let read = || Installed::open(&place)?.get(&key(1), LIBRARY);
        assert_eq!(read().as_deref(), Some(&b"code"[..]));
        for (path, mode, usual) in
            [(&place, 0o775, 0o755), (&place, 0o757, 0o755), (&entry, 0o664, 0o644), (&entry, 0o646, 0o644)]
        {
            set(path, mode);
            assert_eq!(read(), None, "{} {mode:o}", path.display());
            set(path, usual);
        }
        std::fs::write(&entry, "other").unwrap();
        assert_eq!(read(), None);
        assert!(entry.exists(), "it is only read");
    }

    #[test]
    fn what_writers_left_behind_goes_and_who_writes_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), limits(4000)).unwrap();
        let path = |name: &str| folder.path().join(name);
        let (new, lock, held) =
            (format!("{}.so.1.1.new", key(1)), format!("{}.lock", key(2)), format!("{}.lock", key(3)));
        std::fs::write(path(&new), "half").unwrap();
        std::fs::write(path(&lock), "").unwrap();
        let turn = cache.turn(&key(3), Duration::ZERO).unwrap();
        assert!(cache.turn(&key(3), Duration::from_millis(20)).is_none());
        for name in [&new, &lock, &held] {
            age(&path(name), DAY);
        }
        cache.put(&key(4), "so", b"whole").unwrap();
        assert!(!path(&new).exists() && !path(&lock).exists() && path(&held).exists());
        drop(turn);
        assert!(!path(&held).exists());
        assert!(cache.turn(&key(3), Duration::ZERO).is_some());
    }
}
