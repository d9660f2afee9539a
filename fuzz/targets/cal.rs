//! Reads any text as a `.cal` file, and checks what it means.
#![no_main]

#[path = "checks.rs"]
mod checks;
#[path = "meaning.rs"]
mod meaning;
#[path = "text.rs"]
mod text;

use headrace_frontend::SourceKind;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    text::check(source);
    meaning::check(source, SourceKind::Cal);
});
