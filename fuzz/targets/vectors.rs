//! Reads any bytes as a known-answer file.
#![no_main]

#[path = "checks.rs"]
mod checks;

use headrace_library::vectors::VectorFile;
use headrace_source::FileId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (_, problems) = VectorFile::parse(FileId(0), bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        checks::problems(text, &problems);
    }
});
