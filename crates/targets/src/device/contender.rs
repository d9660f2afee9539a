//! Benchmark adapter for projects with offload. Projects for devices in measurements: a shared object over the functions of the
//! project, with a device as its help.

use crate::c::contender::{Help, shim};
use crate::contender::{Subject, arguments};
use crate::project::Files;

/// What is built.
pub(crate) const OBJECT: &str = "contender.so";

/// The sources beside the project.
///
/// # Errors
///
/// Why there is nothing to measure.
pub(crate) fn files(subject: &Subject<'_>) -> Result<Files, String> {
    arguments(subject.spec)?;
    if !subject.project.keys().any(|path| path.contains("_kernels.")) {
        return Err("a message has no loops that a device could run, so that the processor does it all, as in C".into());
    }
    Ok(Files::from([("contender.c".to_owned(), shim(subject.spec, Help::Device).into_bytes())]))
}
