//! Reads any text as a `.cal` file.
#![no_main]

#[path = "checks.rs"]
mod checks;
#[path = "text.rs"]
mod text;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    text::check(source);
});
