// The functions that every adapter exports (`../peers/peer.h`), over a function that opens an operation. Included by each.

use std::ffi::{CStr, c_char, c_void};

/// An operation with its key: takes a message, writes what comes out, says how many bytes that is.
pub type Operation = Box<dyn FnMut(&[u8], &mut [u8]) -> Option<usize>>;

/// The strings that stand beside the input.
#[repr(C)]
pub struct RawStrings {
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
}

/// Room behind the longest result.
const ROOM_BYTES: usize = 64;

#[unsafe(no_mangle)]
pub extern "C" fn peer_version() -> *const c_char {
    VERSION.as_ptr()
}

/// # Safety
///
/// As peer.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_open(operation: *const c_char, strings: *const RawStrings) -> *mut c_void {
    // SAFETY: a string that ends in zero, and pointers with their lengths.
    let (operation, key, iv) = unsafe {
        let strings = &*strings;
        let bytes = |at: *const u8, n| if n == 0 { &[][..] } else { std::slice::from_raw_parts(at, n) };
        (CStr::from_ptr(operation), bytes(strings.key, strings.key_bytes), bytes(strings.iv, strings.iv_bytes))
    };
    let opened = operation.to_str().ok().and_then(|operation| open(operation, key, iv));
    opened.map_or(std::ptr::null_mut(), |operation| Box::into_raw(Box::new(operation)).cast())
}

/// # Safety
///
/// As peer.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_run(context: *mut c_void, input: *const u8, output: *mut u8, n_bytes: usize) -> usize {
    // SAFETY: the context came from `peer_open`; no result is longer than twice the input.
    let (operation, input, output) = unsafe {
        (
            &mut *context.cast::<Operation>(),
            std::slice::from_raw_parts(input, n_bytes),
            std::slice::from_raw_parts_mut(output, output_bytes(n_bytes) + ROOM_BYTES),
        )
    };
    operation(input, output).unwrap_or(usize::MAX)
}

/// # Safety
///
/// As peer.h says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn peer_close(context: *mut c_void) {
    // SAFETY: the context came from `peer_open` and is not used again.
    drop(unsafe { Box::from_raw(context.cast::<Operation>()) });
}
