//! Reads any text as a `.cal` file.
#![no_main]

#[path = "checks.rs"]
mod checks;

use headrace_source::FileId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (tree, problems) = headrace_syntax::parse(FileId(0), text);
    let wrong = checks::problems(text, &problems);
    assert!(tree.is_some() || wrong, "no tree and no reason");
});
