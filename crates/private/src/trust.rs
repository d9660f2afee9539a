//! Folders that nobody else can change: each component of the path is opened without following symbolic links, and held to
//! who owns it and who may write to it.
//!
//! Code is loaded from what lies there, so whoever could rename a folder on the way, or put a file into the last one, could
//! have the user run anything (CWE-379, CWE-427). On the way, owners are root and the user, and where others may write, the
//! sticky bit keeps them from renaming what is not theirs.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// Symbolic links on one path: the limit of Linux.
const MOST_LINKS: usize = 40;

/// What groups and others may not have, where nothing is theirs.
const OF_OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);
const WRITE_OF_OTHERS: Mode = Mode::WGRP.union(Mode::WOTH);

/// Folders on the way are only passed: that takes no permission to list them.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

/// Opens a folder of the user, which only the user may enter. What is missing on the way is made; the folder itself, where
/// others may enter it, is closed to them, but not one that is there for everybody, such as /tmp: root owns that, too.
///
/// # Errors
///
/// Why it is not to be had, or not to be trusted, with what to do.
pub fn own_folder(path: &Path) -> Result<OwnedFd, String> {
    let passed = walk(path, true)?;
    let told = |error: Errno| told(path, error);
    let folder =
        openat(&passed, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(told)?;
    let about = fstat(&folder).map_err(told)?;
    if about.st_uid != geteuid().as_raw() {
        return Err(format!("{} belongs to another user", path.display()));
    }
    if mode(&about).contains(Mode::SVTX) && mode(&about).intersects(WRITE_OF_OTHERS) {
        return Err(format!("{} is shared by several users (name a folder in it)", path.display()));
    }
    let others = |folder: &OwnedFd| fstat(folder).map(|about| mode(&about).intersects(OF_OTHERS)).map_err(told);
    if others(&folder)? {
        fchmod(&folder, Mode::RWXU).map_err(told)?;
        if others(&folder)? {
            return Err(format!("{} cannot be closed to others (its file system has no permissions)", path.display()));
        }
    }
    Ok(folder)
}

/// Whether others can neither change the way to a folder nor rename what the user makes there.
///
/// # Errors
///
/// Why not, with what to do.
pub fn is_safe(path: &Path) -> Result<(), String> {
    walk(path, false).map(drop)
}

/// Whether nobody else can put anything into a folder, not even beside what is there.
///
/// # Errors
///
/// Who could.
pub fn is_unshared(path: &Path) -> Result<(), String> {
    unshared(&walk(path, false)?, path)
}

fn unshared(folder: &OwnedFd, path: &Path) -> Result<(), String> {
    let about = fstat(folder).map_err(|error| told(path, error))?;
    if mode(&about).intersects(WRITE_OF_OTHERS) {
        return Err(format!("others may write to {} (chmod go-w)", path.display()));
    }
    Ok(())
}

/// Opens a folder that root or the user owns, into which nobody else can put anything, to read what is there.
///
/// # Errors
///
/// There is none, or who could.
pub fn unshared_folder(path: &Path) -> Result<OwnedFd, String> {
    let passed = walk(path, false)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(&passed, ".", flags, Mode::empty()).map_err(|error| told(path, error))?;
    unshared(&folder, path)?;
    Ok(folder)
}

/// Whether a file is root's or the user's, and nobody else may write to it.
pub fn is_trusted_file(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
        && owned(about, Path::new("")).is_ok()
        && !mode(about).intersects(WRITE_OF_OTHERS)
}

/// Whether a file is the user's, and nobody else may write to it.
pub fn is_own_file(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
        && about.st_uid == geteuid().as_raw()
        && !mode(about).intersects(WRITE_OF_OTHERS)
}

/// The folder for what programs of the user can make again: the one that `XDG_CACHE_HOME` names, else `.cache` in that of the
/// user.
///
/// # Errors
///
/// There is none that is the user's.
pub fn user_cache() -> Result<PathBuf, String> {
    // A relative path means nothing here (XDG Base Directory Specification).
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(caches) = absolute("XDG_CACHE_HOME") {
        return Ok(caches);
    }
    let home = absolute("HOME").ok_or("neither XDG_CACHE_HOME nor HOME names a folder")?;
    // `sudo` may keep the HOME of who calls it.
    if !is_owner(&home) {
        return Err(format!("HOME is {}, which is not a folder of this user", home.display()));
    }
    Ok(home.join(".cache"))
}

/// Whether what a path leads to is the user's.
fn is_owner(path: &Path) -> bool {
    rustix::fs::stat(path).is_ok_and(|about| about.st_uid == geteuid().as_raw())
}

fn mode(about: &Stat) -> Mode {
    Mode::from_raw_mode(about.st_mode)
}

fn told(path: &Path, error: Errno) -> String {
    format!("{}: {}", path.display(), crate::describe(&io::Error::from(error)))
}

/// Goes down a path from the root. With `own`, what is missing is made, and the last folder is held only to its owner.
fn walk(path: &Path, own: bool) -> Result<OwnedFd, String> {
    if !path.is_absolute() {
        return Err(format!("{} is no absolute path", path.display()));
    }
    let flags = PASS | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = || rustix::fs::open("/", flags, Mode::empty()).map_err(|error| told(Path::new("/"), error));
    let (mut here, mut shown) = (root()?, PathBuf::from("/"));
    check(&here, &shown)?;
    let mut rest: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        let next = shown.join(&name);
        let about = match statat(&here, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) if own => {
                match mkdirat(&here, &name, Mode::RWXU) {
                    // Somebody else was faster; what it is now is looked at.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(told(&next, error)),
                }
                statat(&here, &name, AtFlags::SYMLINK_NOFOLLOW)
            }
            about => about,
        };
        let about = about.map_err(|error| told(&next, error))?;
        if FileType::from_raw_mode(about.st_mode) == FileType::Symlink {
            links += 1;
            if links > MOST_LINKS {
                return Err(told(path, Errno::LOOP));
            }
            owned(&about, &next)?;
            let target = readlinkat(&here, &name, Vec::new()).map_err(|error| told(&next, error))?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                (here, shown) = (root()?, PathBuf::from("/"));
            }
            names(&target).collect::<Vec<_>>().into_iter().rev().for_each(|name| rest.push_front(name));
            continue;
        }
        here = openat(&here, &name, flags, Mode::empty()).map_err(|error| told(&next, error))?;
        shown = next;
        if own && rest.is_empty() {
            let about = fstat(&here).map_err(|error| told(&shown, error))?;
            owned(&about, &shown)?;
        } else {
            check(&here, &shown)?;
        }
    }
    Ok(here)
}

/// The steps of a path below where it begins.
fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::new("..").to_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

/// Refuses a folder in which others can rename what is not theirs.
fn check(folder: &OwnedFd, shown: &Path) -> Result<(), String> {
    let about = fstat(folder).map_err(|error| told(shown, error))?;
    owned(&about, shown)?;
    if mode(&about).intersects(WRITE_OF_OTHERS) && !mode(&about).contains(Mode::SVTX) {
        return Err(format!("others may write to {} (chmod go-w)", shown.display()));
    }
    Ok(())
}

fn owned(about: &Stat, shown: &Path) -> Result<(), String> {
    if about.st_uid == geteuid().as_raw() || is_root(about.st_uid) {
        return Ok(());
    }
    Err(format!("{} belongs to another user", shown.display()))
}

/// Whether an owner is root. In a user namespace without root, what root owns appears as owned by nobody.
fn is_root(owner: u32) -> bool {
    let read = |name: &str| std::fs::read_to_string(name).unwrap_or_default();
    owner == 0
        || read("/proc/sys/kernel/overflowuid").trim().parse() == Ok(owner) && {
            let map = read("/proc/self/uid_map");
            !map.is_empty() && map.lines().all(|line| line.split_whitespace().next() != Some("0"))
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn every_step_of_a_path_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let set = |name: &str, mode: u32| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        let refused = |name: &str, word: &str| {
            let why = own_folder(&at(name)).expect_err("others could change it");
            assert!(why.contains(word), "{name}: {why}");
        };
        fs::create_dir_all(at("a/b")).unwrap();
        own_folder(&at("a/b/c/d")).unwrap();
        assert_eq!(fs::metadata(at("a/b/c/d")).unwrap().permissions().mode() & 0o7777, 0o700);
        for (mode, is_safe_to_pass) in [(0o777, false), (0o770, false), (0o702, false), (0o1777, true), (0o755, true)] {
            set("a/b", mode);
            assert_eq!(own_folder(&at("a/b/c")).is_ok(), is_safe_to_pass, "{mode:o}");
            assert_eq!(is_safe(&at("a/b")).is_ok(), is_safe_to_pass, "{mode:o}");
            assert_eq!(is_unshared(&at("a/b")).is_ok(), mode == 0o755, "{mode:o}");
        }
        // What is there for everybody is nobody's own, and is left open.
        set("a/b", 0o1777);
        refused("a/b", "shared by several users");
        assert_eq!(fs::metadata(at("a/b")).unwrap().permissions().mode() & 0o7777, 0o1777);
        set("a/b", 0o755);
        symlink("b/../b/c", at("a/link")).unwrap();
        own_folder(&at("a/link/d")).unwrap();
        symlink(at("a"), at("absolute")).unwrap();
        own_folder(&at("absolute/link/d")).unwrap();
        symlink("loop", at("loop")).unwrap();
        refused("loop", "symbolic link");
        symlink("nowhere", at("dangling")).unwrap();
        own_folder(&at("dangling")).unwrap();
        assert!(at("nowhere").is_dir());
        fs::write(at("file"), "").unwrap();
        refused("file", "Not a directory");
        refused("file/below", "Not a directory");
        assert!(own_folder(Path::new("relative")).is_err());
        assert!(is_safe(&at("not/there")).is_err());
        set("a/b", 0o777);
        refused("a/link/d", "others may write");
    }
}
