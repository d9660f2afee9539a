//! Atomic creation of files: one has no name until all of it is there.
//!
//! Where the file system can do so (Linux: `O_TMPFILE` and `linkat`), a file that is being written has no name at all, so
//! that nothing stays of it whatever ends the command, `SIGKILL` included. A file that is there already can only be replaced
//! by renaming another one over it: that one has a hidden name, `.headrace-…`, from the moment in which all of it is written
//! to the renaming right after. On other file systems it has the hidden name all the time; whatever signal ends the
//! command removes it, but `SIGKILL` does not. Until it has its own name, only its owner can read it.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Temporary files and folders that have names, for the one who interrupts the command.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What hidden names begin with.
pub const HIDDEN: &str = ".headrace-";

/// Most symbolic links on the way to a file, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Notes a temporary file or folder that has a name.
pub fn begun(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// It has gone, or has become what it was to be.
pub fn ended(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != path);
}

/// Removes all that was begun and did not end.
pub fn remove_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // What cannot be removed stays under its hidden name; there is no one left to tell.
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
}

/// A file on its way to a name.
#[derive(Debug)]
pub struct WholeFile {
    content: Content,
    /// Where it will be.
    path: PathBuf,
    /// The permissions that it will have.
    permissions: Option<Permissions>,
    /// Whether it may take the place of a file that is there.
    replaces: bool,
}

#[derive(Debug)]
enum Content {
    /// Without a name.
    #[cfg(target_os = "linux")]
    Nameless(File),
    Hidden(tempfile::NamedTempFile),
}

impl WholeFile {
    /// Begins the file `path`; through a symbolic link, the file that it names, whether that is there yet or not. One that
    /// is there keeps its permissions.
    ///
    /// # Errors
    ///
    /// What the system says: no such folder, no permission, a loop of links, a name that is too long.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = target_of(path)?;
        let permissions = match fs::metadata(&path) {
            Ok(there) => Some(there.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::other("is no name of a file"));
        }
        #[cfg(unix)]
        let permissions = Some(usual(permissions));
        let content = Content::create(folder_of(&path))?;
        Ok(Self { content, path, permissions, replaces: true })
    }

    /// The same for a file that must not be there, neither now nor when it is whole.
    ///
    /// # Errors
    ///
    /// As [`WholeFile::create`]; it is there.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { replaces: false, ..Self::create(path)? })
            }
            Err(error) => Err(error),
        }
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True when nobody but this process can see what is written before it is whole.
    pub fn is_nameless(&self) -> bool {
        match &self.content {
            #[cfg(target_os = "linux")]
            Content::Nameless(_) => true,
            Content::Hidden(_) => false,
        }
    }

    fn file(&mut self) -> &mut File {
        match &mut self.content {
            #[cfg(target_os = "linux")]
            Content::Nameless(file) => file,
            Content::Hidden(file) => file.as_file_mut(),
        }
    }

    /// Writes all bytes.
    ///
    /// # Errors
    ///
    /// The disk is full, the file grows larger than it may.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file().write_all(bytes)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// The folder is gone or nothing can be written there any more; nothing is left then.
    pub fn commit(mut self) -> io::Result<()> {
        if let Some(permissions) = self.permissions.take() {
            self.file().set_permissions(permissions)?;
        }
        match self.content {
            #[cfg(target_os = "linux")]
            Content::Nameless(file) => name(&file, &self.path, self.replaces),
            Content::Hidden(file) => {
                let hidden = file.path().to_owned();
                let named = if self.replaces { file.persist(&self.path) } else { file.persist_noclobber(&self.path) };
                let named = named.map(drop).map_err(|error| error.error);
                ended(&hidden);
                named
            }
        }
    }
}

impl Content {
    fn create(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{Mode, OFlags};
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            // Without /proc it could not be given a name later.
            if Path::new("/proc/self/fd").is_dir()
                && let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)
            {
                return Ok(Content::Nameless(file.into()));
            }
        }
        let file = tempfile::Builder::new().prefix(HIDDEN).tempfile_in(folder).map_err(without_name)?;
        begun(file.path());
        Ok(Content::Hidden(file))
    }
}

/// The error without the name of a temporary file or folder, which the user does not know.
pub fn without_name(error: io::Error) -> io::Error {
    let code = error.raw_os_error().or_else(|| {
        let inner = error.get_ref().and_then(|inner| inner.source());
        inner.and_then(|inner| inner.downcast_ref::<io::Error>()).and_then(io::Error::raw_os_error)
    });
    code.map_or_else(
        || {
            let text = error.to_string();
            let reason = text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason);
            io::Error::new(error.kind(), reason.to_owned())
        },
        io::Error::from_raw_os_error,
    )
}

#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path, replaces: bool) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |to: &Path| linkat(CWD, own.as_str(), CWD, to, AtFlags::SYMLINK_FOLLOW);
    match link(path) {
        Err(rustix::io::Errno::EXIST) if replaces => {}
        linked => return Ok(linked?),
    }
    let folder = folder_of(path);
    let hidden = tempfile::Builder::new().prefix(HIDDEN).make_in(folder, |hidden| {
        begun(hidden);
        let linked = link(hidden);
        if linked.is_err() {
            ended(hidden);
        }
        Ok(linked?)
    });
    let hidden = hidden.map_err(without_name)?.into_temp_path();
    let named = fs::rename(&hidden, path);
    ended(&hidden);
    if named.is_ok() {
        // The name has gone with the renaming.
        let _ = hidden.keep();
    }
    named
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The permissions that a file is to have: those of the one that it replaces, or what new files get.
#[cfg(unix)]
fn usual(existing: Option<Permissions>) -> Permissions {
    use rustix::fs::Mode;
    use std::os::unix::fs::PermissionsExt;
    let mode = existing.map_or_else(
        || {
            // The mask can only be read by setting it; what another thread makes meanwhile is for its owner only.
            let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
            rustix::process::umask(mask);
            0o666 & !mask.bits()
        },
        |there| there.mode() & 0o777,
    );
    Permissions::from_mode(mode)
}

/// The file that a path means when it is a symbolic link, or one to another, to a file that is not there yet.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    // The system says what it says of a loop.
    fs::metadata(&path).map(|_| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).expect("the folder is there").count()
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_nothing_before() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out");
        let mut file = WholeFile::create(&path).expect("the folder is writable");
        file.write(b"whole").expect("the disk has room");
        assert!(!path.exists());
        assert!(!file.is_nameless() || names(folder.path()) == 0);
        drop(file);
        assert_eq!(names(folder.path()), 0);
        for content in [&b"whole"[..], b"new"] {
            let mut file = WholeFile::create(&path).expect("the folder is writable");
            file.write(content).expect("the disk has room");
            file.commit().expect("the folder is writable");
            assert_eq!(fs::read(&path).expect("it is there"), content);
            assert_eq!(names(folder.path()), 1);
        }
    }

    #[test]
    fn what_must_be_new_takes_the_place_of_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out");
        let mut file = WholeFile::create_new(&path).expect("it is not there");
        file.write(b"mine").expect("the disk has room");
        fs::write(&path, b"another's").expect("the folder is writable");
        let refused = file.commit().expect_err("it is there meanwhile");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert!(WholeFile::create_new(&path).is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists));
        assert_eq!((fs::read(&path).expect("it is there"), names(folder.path())), (b"another's".to_vec(), 1));
        WholeFile::create_new(&folder.path().join("new")).and_then(WholeFile::commit).expect("it is not there");
        assert_eq!(names(folder.path()), 2);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_survive_replacement() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("out");
        fs::write(&path, b"1").expect("the folder is writable");
        fs::set_permissions(&path, Permissions::from_mode(0o646)).expect("the file is ours");
        WholeFile::create(&path).and_then(WholeFile::commit).expect("the folder is writable");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o646);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_what_is_not_there_yet_and_not_in_circles() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| folder.path().join(name);
        symlink("middle", at("first")).expect("the folder is writable");
        symlink("target", at("middle")).expect("the folder is writable");
        WholeFile::create(&at("first")).and_then(WholeFile::commit).expect("the folder is writable");
        assert!(at("target").is_file() && at("first").is_symlink() && at("middle").is_symlink());
        symlink("one", at("other")).expect("the folder is writable");
        symlink("other", at("one")).expect("the folder is writable");
        let refused = WholeFile::create(&at("one")).expect_err("there is no end to them");
        assert!(refused.to_string().to_lowercase().contains("symbolic links"), "{refused}");
        assert!(at("one").is_symlink());
        assert!(WholeFile::create(&at("new/")).is_err());
        assert!(WholeFile::create(&at("no/new")).is_err());
    }
}
