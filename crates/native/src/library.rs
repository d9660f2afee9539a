//! Libraries loaded from memory: what was verified is what is run, whatever becomes of the file that it was read from.

use headrace_private::{PrivateFolder, describe, places};
use libloading::{Library, Symbol};
use std::fs;
use std::path::Path;

/// A shared library that is loaded, and what it must outlive.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// Before what it was loaded from: dropped first.
    library: Library,
    /// The loader knows libraries by their names; a name that is free again would mean this one.
    _name: Option<std::os::fd::OwnedFd>,
    _folder: Option<PrivateFolder>,
}

impl Loaded {
    /// Loads the bytes of a library that was made from our own source.
    ///
    /// # Errors
    ///
    /// What the loader says.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if !is_for_this_machine(bytes) {
            return Err("it is for another machine".into());
        }
        #[cfg(target_os = "linux")]
        let mut first = match Self::from_memory(bytes) {
            Ok(loaded) => return Ok(loaded),
            Err(why) => Some(why),
        };
        #[cfg(not(target_os = "linux"))]
        let mut first = None;
        // A place may let nothing be executed, or have no room.
        for place in places() {
            match Self::from_folder(bytes, &place) {
                Ok(loaded) => return Ok(loaded),
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_default())
    }

    /// From a file without a name, which takes no place and no other process can change. It is not to be had where there is
    /// no /proc, or where the system lets no such file be executed.
    #[cfg(target_os = "linux")]
    fn from_memory(bytes: &[u8]) -> Result<Self, String> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        use std::io::Write as _;
        use std::os::fd::{AsRawFd as _, OwnedFd};
        let told = |error: std::io::Error| describe(&error);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = fs::File::from(memfd_create("headrace", flags).map_err(|error| told(error.into()))?);
        file.write_all(bytes).map_err(told)?;
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&file, all).map_err(|error| told(error.into()))?;
        let library = open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())))?;
        Ok(Self { library, _name: Some(OwnedFd::from(file)), _folder: None })
    }

    /// From a file in a folder that nobody else can enter.
    fn from_folder(bytes: &[u8], place: &Path) -> Result<Self, String> {
        let folder = PrivateFolder::new_in(place)?;
        let path = folder.path().join("network.so");
        fs::write(&path, bytes).map_err(|error| format!("{}: {}", path.display(), describe(&error)))?;
        Ok(Self { library: open(&path)?, _name: None, _folder: Some(folder) })
    }

    /// Loads a library from where somebody put it.
    pub(crate) fn from_path(path: &Path) -> Result<Self, String> {
        Ok(Self { library: open(path)?, _name: None, _folder: None })
    }

    /// A symbol of the library.
    ///
    /// # Safety
    ///
    /// It has this type.
    pub(crate) unsafe fn get<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, libloading::Error> {
        // SAFETY: by the contract of this function.
        unsafe { self.library.get(name) }
    }
}

/// Whether a library has the class, the byte order and the machine of this program. What the loader says of others is misleading.
fn is_for_this_machine(library: &[u8]) -> bool {
    let Some(own) = std::env::current_exe().ok().and_then(|path| head(&path)) else { return true };
    let of = |bytes: &[u8]| Some((bytes.get(..6)?.to_owned(), bytes.get(18..20)?.to_owned()));
    // Other formats than ELF are the loader's alone.
    !own.starts_with(b"\x7fELF") || of(&own) == of(library)
}

fn head(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: the library was made from our own source and has no initialisers.
    unsafe { Library::new(path) }.map_err(|error| format!("it cannot be loaded: {}", reason(&error)))
}

/// What the system says of a library that cannot be loaded.
pub(crate) fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
