//! Compiled libraries: found in the cache, else made, loaded and kept.

use crate::NativeError;
use crate::compiler::Compiler;
use crate::library::Loaded;
use headrace_private::cache::{Cache, LIBRARY, default_place};
use headrace_private::limits::Limits;
use std::path::Path;

/// A library, and why it was not kept for the next run if it was not.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub loaded: Loaded,
    pub not_kept: Option<String>,
}

/// What is compiled.
pub(crate) struct Job<'a> {
    pub compiler: &'a Compiler,
    /// The name under which it is kept.
    pub key: &'a str,
    pub source: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub flags: &'a [String],
}

/// The cache in this place; `None`: that of the user.
///
/// # Errors
///
/// Why there is none.
pub(crate) fn cache(place: Option<&Path>) -> Result<Cache, String> {
    let limits = Limits::of_environment()?;
    match place {
        Some(place) => {
            Cache::open(&std::path::absolute(place).map_err(|error| headrace_private::describe(&error))?, limits)
        }
        None => Cache::open(&default_place()?, limits),
    }
}

/// The library of this name, if it was made before, is whole and can be loaded.
pub(crate) fn known(cache: &Cache, key: &str) -> Option<Loaded> {
    Loaded::from_bytes(&cache.get(key, LIBRARY)?).ok()
}

/// The library of a job, however it comes.
///
/// # Errors
///
/// What the file system, the compiler or the loader said.
pub(crate) fn library(job: &Job<'_>, place: Option<&Path>) -> Result<Compiled, NativeError> {
    let limits = Limits::of_environment().map_err(NativeError::Unable)?;
    let cache = cache(place);
    let known = |cache: &Cache| Some(Compiled { loaded: known(cache, job.key)?, not_kept: None });
    if let Some(known) = cache.as_ref().ok().and_then(known) {
        return Ok(known);
    }
    // Who comes second waits for who came first, and takes what that one made.
    let turn = cache.as_ref().ok().map(|cache| cache.turn(job.key, limits.compiling));
    if let Some(known) = cache.as_ref().ok().and_then(known) {
        return Ok(known);
    }
    let bytes = job.compiler.compile(job.source, job.headers, job.flags, limits.compiling)?;
    // What does not load is not kept.
    let loaded = Loaded::from_bytes(&bytes).map_err(|why| job.compiler.unloadable(&why))?;
    let kept = cache.as_ref().map_err(Clone::clone).and_then(|cache| cache.put(job.key, LIBRARY, &bytes));
    drop(turn);
    Ok(Compiled { loaded, not_kept: kept.err() })
}
