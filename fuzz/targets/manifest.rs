//! Reads any text as a manifest.
#![no_main]

#[path = "checks.rs"]
mod checks;

use headrace_library::manifest::Manifest;
use headrace_source::FileId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (manifest, problems) = Manifest::parse(FileId(0), "ctl/block/x/primitive.toml", text);
    let wrong = checks::problems(text, &problems);
    assert!(manifest.is_some() || wrong, "no manifest and no reason");
});
