//! Steps that are kept by their content: what goes in decides what comes out, so that nothing is done twice, by whichever command.

use crate::failure::Outcome;
use crate::output::TemporaryFolder;
use headrace::Error;
use headrace::toolchains::{Said, run};
use headrace_private::cache::{Cache, SYNTHESIS, default_place};
use headrace_private::limits::Limits;
use headrace_targets::toolchain::Step;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Who does steps.
pub(super) struct Steps {
    cache: Result<Cache, String>,
    /// For each command.
    limit: Duration,
}

/// A folder in which a step is done.
pub(super) struct Bench {
    folder: TemporaryFolder,
    limit: Duration,
}

impl Bench {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub(super) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<(), String> {
        let path = self.path().join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
        made.map_err(|error| format!("{}: {}", path.display(), headrace::error::describe(&error)))
    }

    /// Reads a file that a command wrote.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let path = self.path().join(name);
        fs::read_to_string(&path).map_err(|error| format!("{name}: {}", headrace::error::describe(&error)))
    }

    /// Runs a command, which must end well, and gives what it said.
    pub(super) fn run<W: Into<String>>(&self, words: impl IntoIterator<Item = W>) -> Result<Said, String> {
        let said = run(&Step::new(words), self.path(), self.limit);
        said.complaint().map_or(Ok(said), Err)
    }
}

impl Steps {
    /// Steps each of whose commands may take so long.
    pub(super) fn new(limit: Duration) -> Self {
        let cache = Limits::of_environment().and_then(|limits| Cache::open(&default_place()?, limits));
        Self { cache, limit }
    }

    /// Why nothing is kept, if nothing is.
    pub(super) fn not_kept(&self) -> Option<&str> {
        self.cache.as_ref().err().map(String::as_str)
    }

    /// A folder for a step.
    pub(super) fn bench(&self) -> Result<Bench, String> {
        let folder = TemporaryFolder::new().map_err(|error| error.to_string())?;
        Ok(Bench { folder, limit: self.limit })
    }

    /// What came of a step, and the key that it is kept under: a hash of all that goes into it.
    ///
    /// # Errors
    ///
    /// What `make` says.
    pub(super) fn once<T: Serialize + DeserializeOwned>(
        &self,
        what: &str,
        parts: &[&str],
        make: impl FnOnce(&Bench) -> Result<T, String>,
    ) -> Result<(T, String), String> {
        let key = key(what, parts);
        let known = |cache: &Cache| serde_json::from_slice(&cache.get(&key, SYNTHESIS)?).ok();
        let cache = self.cache.as_ref().ok();
        if let Some(known) = cache.and_then(known) {
            return Ok((known, key));
        }
        // Who comes second waits for who came first, and takes what that one made.
        let turn = cache.map(|cache| cache.turn(&key, self.limit));
        if let Some(known) = cache.and_then(known) {
            return Ok((known, key));
        }
        let made = make(&self.bench()?)?;
        if let (Some(cache), Ok(bytes)) = (cache, serde_json::to_vec(&made)) {
            // What is not kept is made again.
            let _ = cache.put(&key, SYNTHESIS, &bytes);
        }
        drop(turn);
        Ok((made, key))
    }
}

/// Changes where what steps give has another form or meaning.
const FORM: &str = "2";

/// A name for a step and all that goes into it.
fn key(what: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in [FORM, what].iter().chain(parts) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Does something with each of several things, so many at a time, until one fails; `told` hears of each that is done.
///
/// # Errors
///
/// What the first of them says that failed.
pub(in super::super) fn in_parallel<T: Sync, R: Send>(
    things: &[T],
    jobs: usize,
    of: impl Fn(&T) -> Result<R, String> + Sync,
    told: impl Fn() + Sync,
) -> Outcome<Vec<R>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R, String>)>> = Mutex::new(Vec::new());
    let work = || {
        while let Some((at, thing)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, things.get(at)?)))
        {
            let result = of(thing);
            if result.is_err() {
                next.store(things.len(), Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
            told();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(things.len()) {
            // Where there is no thread to be had, there are fewer.
            let _ = std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect::<Result<_, _>>().map_err(Error::wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_parts_apart() {
        assert_ne!(key("a", &["b", "c"]), key("a", &["bc"]));
        assert_eq!(key("a", &[]).len(), 32);
    }

    #[test]
    fn results_come_in_order_and_the_first_failure_ends_it() {
        let numbers: Vec<u32> = (0..20).collect();
        let doubled = in_parallel(&numbers, 4, |n| Ok(2 * n), || {}).expect("none fails");
        assert_eq!(doubled, (0..20).map(|n| 2 * n).collect::<Vec<_>>());
        let failed = in_parallel(&numbers, 1, |n| if *n < 3 { Ok(()) } else { Err(format!("{n} is large")) }, || {});
        assert!(failed.is_err_and(|failure| failure.to_string() == "3 is large"));
    }
}
