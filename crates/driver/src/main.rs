//! The command `headrace`: its stack, its allocator and what it says of its own mistakes; all else is in the library.

use clap::Parser;
use headrace_driver::cli::Cli;
use headrace_driver::commands;
use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Room for deep recursion, beyond what the depth limits of the parts need.
const STACK_BYTES: usize = 256 << 20;

fn main() -> ExitCode {
    let cli = Cli::parse();
    commands::guard_against_interruption();
    std::panic::set_hook(Box::new(|panic| commands::report_internal_error(&panic.to_string())));
    let worker = std::thread::Builder::new().name("headrace".into()).stack_size(STACK_BYTES);
    let running = worker.spawn(move || commands::dispatch(cli));
    match running.map(|thread| thread.join()) {
        Ok(Ok(status)) => ExitCode::from(status),
        // The hook has said what happened.
        Ok(Err(_)) => ExitCode::from(commands::INTERNAL_ERROR),
        Err(error) => {
            eprintln!("error: no thread could be started: {error}");
            ExitCode::from(1)
        }
    }
}

/// An allocator that ends the command with a message where there is no memory left: bounds are for what users are likely to
/// type, this is for the rest, and for machines with little memory.
struct Allocator;

// SAFETY: everything is handed on to an allocator; what it returns is looked at, not changed.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are wanted.
        there(unsafe { mimalloc::MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { mimalloc::MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { mimalloc::MiMalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { mimalloc::MiMalloc.realloc(pointer, layout, size) }, size)
    }
}

fn there(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        no_memory(size);
    }
    pointer
}

/// Says that there is no memory, without any, and ends. Files that are being written do not have their own names yet.
#[cold]
fn no_memory(size: usize) -> ! {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = size;
    while rest > 0 && at > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let mut said = std::io::stderr();
    for part in [&b"error: there is not enough memory: "[..], &digits[at..], b" bytes more are needed\n"] {
        // Nobody is left to tell.
        let _ = said.write_all(part);
    }
    std::process::exit(1)
}
