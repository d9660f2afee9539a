//! Known-answer tests of primitives: on engines, and in projects of targets that are built and run.

mod jobs;
mod kept;
mod on_engines;
mod projects;
mod queue;
pub mod tally;

pub use jobs::{File, Job, Test, Tests, Vectors};
pub use tally::Tally;

use crate::engines::{self, EngineName};
use headrace_library::known_answers::Verdict;
use headrace_targets::toolchain::{self, Toolchain};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where known answers are tried.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A network on an engine.
    Engine(EngineName),
    /// A project that is built and run.
    Project(&'static Toolchain),
}

impl Place {
    /// All of them, engines first.
    pub fn all() -> impl Iterator<Item = Self> {
        engines::ALL.into_iter().map(Place::Engine).chain(toolchain::of_known_answers().map(Place::Project))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Place::Engine(engine) => engines::name(engine),
            Place::Project(toolchain) => toolchain.name,
        }
    }
}

/// Which variants of operations are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Variants {
    /// All on engines; in projects, which take long to build, the first.
    #[default]
    Usual,
    /// All.
    All,
    /// Those of this name.
    Only(String),
}

impl Variants {
    /// Whether the variant of this name and number of an operation is tried in a place.
    pub fn has(&self, place: Place, at: usize, name: &str) -> bool {
        match self {
            Self::Usual => at == 0 || matches!(place, Place::Engine(_)),
            Self::All => true,
            Self::Only(only) => only == name,
        }
    }
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is as it should be.
    Passed,
    /// It is not, for this reason.
    Failed(String),
    /// It was not tried, for this reason.
    NotRun(Cow<'static, str>),
}

impl From<Verdict> for Finding {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passed => Finding::Passed,
            Verdict::Failed(why) => Finding::Failed(why),
        }
    }
}

impl Finding {
    pub(crate) fn not_run(why: &'static str) -> Self {
        Finding::NotRun(Cow::Borrowed(why))
    }
}

/// What came of a job: a finding for each case, and the time it took.
#[derive(Clone, Debug)]
pub struct Done {
    /// One for each case.
    pub findings: Vec<Finding>,
    /// Seconds, shared among the jobs of a batch.
    pub seconds: f64,
}

/// Hears how far a test is, from any thread.
pub trait Listener: Sync {
    /// So many networks of how many were tried on engines.
    fn networks(&self, _done: usize, _of: usize) {}

    /// So many projects of how many were built and tried.
    fn projects(&self, _done: usize, _of: usize) {}

    /// What came of jobs, by their numbers, as soon as it is known.
    fn finished(&self, _done: &[(usize, Done)]) {}
}

/// Nobody.
impl Listener for () {}

/// Processors of this machine.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Does one piece of work after the other, so many at a time; `told` hears how many are done.
fn in_turn<W>(
    next: impl Fn() -> Option<W> + Sync,
    workers: usize,
    of: impl Fn(W) -> Vec<(usize, Done)> + Sync,
    told: impl Fn(usize) + Sync,
) -> Vec<(usize, Done)> {
    let finished = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1) {
            // Networks may nest deeply.
            let worker = std::thread::Builder::new().stack_size(256 << 20);
            let run = || {
                while let Some(one) = next() {
                    let done = of(one);
                    results.lock().unwrap_or_else(PoisonError::into_inner).extend(done);
                    told(finished.fetch_add(1, Ordering::Relaxed) + 1);
                }
            };
            if worker.spawn_scoped(scope, run).is_err() {
                run();
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results
}
