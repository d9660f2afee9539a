//! Contenders as shared objects: the adapters of other libraries, and what is compiled around a generated project. What
//! their functions do stands in `bench/peers/peer.h`.

use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes of the tag of every AEAD.
pub const TAG_BYTES: usize = 16;

/// Room behind the longest result.
pub const ROOM_BYTES: usize = 64;

/// What a run returns that failed.
const FAILED: usize = usize::MAX;

#[repr(C)]
struct RawStrings {
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
}

type Text = unsafe extern "C" fn() -> *const c_char;
type Open = unsafe extern "C" fn(*const c_char, *const RawStrings) -> *mut c_void;
type Run = unsafe extern "C" fn(*mut c_void, *const u8, *mut u8, usize) -> usize;
type RunMany = unsafe extern "C" fn(*mut c_void, *const *const u8, *const *mut u8, usize, c_uint) -> usize;
type RunPieces = unsafe extern "C" fn(*mut c_void, *const u8, *mut u8, usize, usize) -> usize;
type Threads = unsafe extern "C" fn(*mut c_void, c_uint);
type Close = unsafe extern "C" fn(*mut c_void);

/// The strings that stand beside the input; empty where an operation takes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// The key.
    pub key: Vec<u8>,
    /// The initial block or nonce.
    pub iv: Vec<u8>,
}

/// A loaded shared object.
#[derive(Debug)]
pub struct Object {
    open: Open,
    run: Run,
    run_many: Option<RunMany>,
    run_pieces: Option<RunPieces>,
    threads: Option<Threads>,
    problem: Option<Text>,
    device: Option<Text>,
    close: Close,
    /// The version that it gives itself.
    pub version: String,
    /// Never unloaded: libraries leave functions behind that the process calls when it ends.
    _library: ManuallyDrop<Library>,
}

impl Object {
    /// Loads a shared object.
    ///
    /// # Errors
    ///
    /// What the loader says, or which function is not there.
    pub fn load(path: &Path) -> Result<Arc<Self>, String> {
        // SAFETY: the object is an adapter of this project, compiled from its source; the libraries behind it initialise
        // themselves as for any program that links them.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        // SAFETY: the types are those that peer.h declares, which every adapter includes or repeats.
        unsafe {
            let symbol = |error: libloading::Error| error.to_string();
            let version = *library.get::<Text>(b"peer_version\0").map_err(symbol)?;
            let open = *library.get::<Open>(b"peer_open\0").map_err(symbol)?;
            let run = *library.get::<Run>(b"peer_run\0").map_err(symbol)?;
            let close = *library.get::<Close>(b"peer_close\0").map_err(symbol)?;
            let run_many = library.get::<RunMany>(b"peer_run_many\0").ok().map(|symbol| *symbol);
            let run_pieces = library.get::<RunPieces>(b"peer_run_pieces\0").ok().map(|symbol| *symbol);
            let threads = library.get::<Threads>(b"peer_threads\0").ok().map(|symbol| *symbol);
            let problem = library.get::<Text>(b"peer_problem\0").ok().map(|symbol| *symbol);
            let device = library.get::<Text>(b"peer_device\0").ok().map(|symbol| *symbol);
            let version = CStr::from_ptr(version()).to_string_lossy().into_owned();
            let _library = ManuallyDrop::new(library);
            Ok(Arc::new(Self { open, run, run_many, run_pieces, threads, problem, device, close, version, _library }))
        }
    }

    /// What is missing beside the library, where that is why an operation could not be prepared.
    pub fn problem(&self) -> Option<String> {
        said(self.problem?)
    }

    /// What the device calls itself that computes, where one does.
    pub fn device(&self) -> Option<String> {
        said(self.device?)
    }
}

/// What such a function says, if anything.
fn said(function: Text) -> Option<String> {
    // SAFETY: the function gives a string that is there as long as the object, which is never unloaded.
    let said = unsafe { CStr::from_ptr(function()) }.to_string_lossy().into_owned();
    Some(said).filter(|said| !said.is_empty())
}

/// An operation of a contender with its key: ready to run.
#[derive(Debug)]
pub struct Prepared {
    object: Arc<Object>,
    context: NonNull<c_void>,
}

// SAFETY: peer.h says that any thread may use a context, one at a time.
unsafe impl Send for Prepared {}

impl Prepared {
    /// Prepares an operation (`aes128 ctr`); `None` when the contender does not have it.
    pub fn open(object: &Arc<Object>, operation: &str, strings: &Strings) -> Option<Self> {
        let operation = CString::new(operation).ok()?;
        let raw = RawStrings {
            key: strings.key.as_ptr(),
            key_bytes: strings.key.len(),
            iv: strings.iv.as_ptr(),
            iv_bytes: strings.iv.len(),
        };
        // SAFETY: all pointers are good for the length of the call, which is all that peer.h lets an adapter count on.
        let context = unsafe { (object.open)(operation.as_ptr(), &raw) };
        Some(Self { object: Arc::clone(object), context: NonNull::new(context)? })
    }

    /// Whether it takes many messages at once.
    pub fn has_many(&self) -> bool {
        self.object.run_many.is_some()
    }

    /// Processes a message. Gives the bytes that came out; `None` when it failed.
    ///
    /// `output` must have [`ROOM_BYTES`] more than the longest result.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Option<usize> {
        // SAFETY: the context is open; the buffers are distinct borrows, with the room that peer.h asks for.
        let n = unsafe { (self.object.run)(self.context.as_ptr(), input.as_ptr(), output.as_mut_ptr(), input.len()) };
        (n != FAILED).then_some(n)
    }

    /// Whether it takes messages in pieces.
    pub fn has_pieces(&self) -> bool {
        self.object.run_pieces.is_some()
    }

    /// As [`Prepared::run`], the message given in pieces of so many bytes; `None` also where that is not there.
    pub fn run_pieces(&mut self, input: &[u8], output: &mut [u8], piece: usize) -> Option<usize> {
        let run = self.object.run_pieces?;
        let (from, to) = (input.as_ptr(), output.as_mut_ptr());
        // SAFETY: as for `run`.
        let n = unsafe { run(self.context.as_ptr(), from, to, input.len(), piece) };
        (n != FAILED).then_some(n)
    }

    /// Has messages run on so many threads from here on; false where that is not there.
    pub fn set_threads(&mut self, n_threads: u32) -> bool {
        // SAFETY: the context is open.
        self.object.threads.map(|threads| unsafe { threads(self.context.as_ptr(), n_threads) }).is_some()
    }

    /// Processes messages of `n_bytes` each, one for each of the pointers. Gives the bytes that came out of each; `None` when
    /// it failed or cannot.
    ///
    /// # Safety
    ///
    /// Every pointer of `inputs` must be good for `n_bytes`, every pointer of `outputs` for the result and [`ROOM_BYTES`].
    pub unsafe fn run_many(&mut self, inputs: &[*const u8], outputs: &[*mut u8], n_bytes: usize) -> Option<usize> {
        let run_many = self.object.run_many?;
        let n = c_uint::try_from(inputs.len().min(outputs.len())).ok()?;
        // SAFETY: the context is open; the pointers are as the caller promises.
        let n = unsafe { run_many(self.context.as_ptr(), inputs.as_ptr(), outputs.as_ptr(), n_bytes, n) };
        (n != FAILED).then_some(n)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: the context came from this object's `peer_open` and is not used again.
        unsafe { (self.object.close)(self.context.as_ptr()) }
    }
}

/// Bytes after which addresses look the same to loads that wait for stores.
pub const PAGE: usize = 4096;

/// A buffer that begins at a known place of a page, a multiple of 64 bytes.
#[derive(Debug)]
pub struct Buffer {
    lines: Vec<Line>,
    first: usize,
    n_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Buffer {
    /// Zeros, `place` bytes (rounded to a multiple of 64) behind the beginning of a page.
    pub fn new(n_bytes: usize, place: usize) -> Self {
        let lines = vec![Line([0; 64]); (n_bytes + PAGE).div_ceil(64)];
        let at = lines.as_ptr() as usize;
        let first = (place % PAGE + PAGE - at % PAGE) % PAGE / 64;
        Self { lines, first, n_bytes }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        let lines = self.lines.get(self.first..).unwrap_or_default();
        // SAFETY: lines are 64 bytes each without gaps, and there are enough of them: `first` is less than those of a page.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), self.n_bytes) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let lines = self.lines.get_mut(self.first..).unwrap_or_default();
        // SAFETY: as above, and the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), self.n_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_lie_where_they_are_wanted() {
        for place in (0..PAGE).step_by(64) {
            assert_eq!(Buffer::new(10_000, place).bytes().as_ptr() as usize % PAGE, place);
        }
        let mut buffer = Buffer::new(100, 2048);
        assert_eq!(buffer.bytes().len(), 100);
        buffer.bytes_mut()[99] = 7;
        assert_eq!(buffer.bytes()[99], 7);
    }

    #[test]
    fn what_is_no_contender_is_an_error() {
        assert!(Object::load(Path::new("/nowhere/at/all.so")).is_err());
    }
}
