//! The C structures of the runtime's header as Rust sees them, and memory for contexts.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub code: u32,
    pub place: u32,
    pub a: i64,
    pub b: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub scalar: i64,
    pub bytes: *mut u8,
    pub n_bytes: u32,
    pub real: f64,
    pub text: *const c_char,
}

impl Argument {
    pub(crate) const NONE: Argument =
        Argument { scalar: 0, bytes: std::ptr::null_mut(), n_bytes: 0, real: 0.0, text: std::ptr::null() };
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Host {
    pub user: *mut c_void,
    pub print: unsafe extern "C" fn(*mut c_void, *const c_char, usize),
    pub print_real: unsafe extern "C" fn(*mut c_void, f64, c_int),
    pub native: unsafe extern "C" fn(*mut c_void, *const c_char, *mut Argument, u32, *mut Control) -> i64,
}

#[repr(C)]
#[derive(Debug)]
pub(crate) struct Control {
    pub host: *const Host,
    pub budget: u64,
    pub stopped: u32,
    pub limited: u32,
    pub depth: u32,
    pub exit_status: i32,
    pub instance: u32,
    pub trap: Trap,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub name: *const c_char,
    pub size: usize,
    pub alignment: usize,
    pub init: unsafe extern "C" fn(*mut c_void, *const Host),
    pub write: unsafe extern "C" fn(*mut c_void, u32, *const c_void, usize) -> usize,
    pub read: unsafe extern "C" fn(*mut c_void, u32, *mut c_void, usize) -> usize,
    pub run: unsafe extern "C" fn(*mut c_void, u64) -> u32,
    pub clear: unsafe extern "C" fn(*mut c_void),
    pub inspect: unsafe extern "C" fn(*const c_void, *mut u32, *mut u32, *mut u32),
    pub firings: unsafe extern "C" fn(*const c_void, *mut u64),
    pub control: unsafe extern "C" fn(*const c_void) -> *const Control,
    /// Null or a function that takes and puts tokens without copies.
    pub stream: Option<Stream>,
    /// Null or a function that takes helpers.
    pub help: Option<unsafe extern "C" fn(*mut c_void, *const Helpers)>,
    /// Null or a function that says whether its scheduler goes on.
    pub has_left: *const c_void,
}

/// Context, input port, bytes, output port, where its bytes go, how many there is room for and then are there, status; the
/// bytes that were taken.
pub(crate) type Stream =
    unsafe extern "C" fn(*mut c_void, u32, *const u8, usize, u32, *mut u8, *mut usize, *mut u32) -> usize;

/// Threads that help with a message.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Helpers {
    pub user: *mut c_void,
    pub n_threads: u32,
    pub start_cycles: u32,
    pub run: *const c_void,
    pub rest: *const c_void,
}

// SAFETY: the table is constant; the pointers in it are functions and a text of the library.
unsafe impl Send for Network {}
// SAFETY: as above.
unsafe impl Sync for Network {}

/// How the threads of a run wait for each other.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Waiting {
    pub user: *mut c_void,
    pub wait: unsafe extern "C" fn(*mut c_void, u32),
    pub wake: unsafe extern "C" fn(*mut c_void, u32),
    pub spins: u32,
}

/// A network with partitions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    pub n_partitions: u32,
    pub home: u32,
    pub begin: unsafe extern "C" fn(*mut c_void, *const Waiting, u64, bool),
    pub work: unsafe extern "C" fn(*mut c_void, u32),
    pub feed: unsafe extern "C" fn(*mut c_void, unsafe extern "C" fn(*mut c_void) -> bool, *mut c_void),
    pub halt: unsafe extern "C" fn(*mut c_void),
    pub end: unsafe extern "C" fn(*mut c_void) -> u32,
}

/// Memory of a context, released with it. Like that of callers it is not clear: what `init` forgets is a 1 in every field.
#[derive(Debug)]
pub(crate) struct Memory {
    pointer: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    pub(crate) fn new(size: usize, alignment: usize) -> Option<Memory> {
        let layout = Layout::from_size_align(size.max(1), alignment.max(16)).ok()?;
        // SAFETY: the layout has a size of at least 1.
        let pointer = NonNull::new(unsafe { alloc(layout) })?;
        for at in 0..layout.size() {
            // SAFETY: `at` is within what was allocated.
            unsafe { pointer.add(at).write(u8::from(at % 4 == 0)) };
        }
        Some(Memory { pointer, layout })
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.pointer.as_ptr().cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`, and not released before.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}
