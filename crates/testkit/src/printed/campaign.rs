//! Random networks in one language, a batch after the other, as many as are wanted or as there is time for.

use super::{Language, One};
use headrace::toolchains::{Found, run, workshop, write_files};
use headrace_targets::toolchain;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What to run, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of the first network; the others follow one by one.
    pub first_seed: u64,
    /// Number of networks; without one, as many as there is time for.
    pub cases: Option<u64>,
    /// Nothing begins that is not likely to end within this.
    pub time: Option<Duration>,
    /// Networks in one program.
    pub batch: u64,
    /// Programs at a time.
    pub jobs: usize,
    /// Failures after which nothing more begins.
    pub most_failures: usize,
    /// How long a command may take.
    pub limit: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        let limit = Duration::from_secs(900);
        Self { first_seed: 0, cases: Some(100), time: None, batch: 100, jobs: 1, most_failures: 20, limit }
    }
}

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Networks that were run.
    pub cases: u64,
    /// Those that had something to compare.
    pub telling: u64,
    /// Seeds of those that fail, with what is wrong.
    pub failures: Vec<(u64, String)>,
}

/// What batches share.
struct State {
    /// The number of the next network.
    next: u64,
    /// How long the longest batch took.
    longest: Duration,
    summary: Summary,
}

/// Runs networks with the tools that were found; `tell` hears of each batch and each failure.
pub fn campaign(language: &Language, found: &Found, plan: &Plan, tell: &(dyn Fn(&str) + Sync)) -> Summary {
    let began = Instant::now();
    let state = Mutex::new(State { next: 0, longest: Duration::ZERO, summary: Summary::default() });
    let shared = || state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let take = || {
        let mut state = shared();
        let late = plan.time.is_some_and(|time| state.next > 0 && began.elapsed() + state.longest >= time);
        let left = plan.cases.map_or(u64::MAX, |cases| cases.saturating_sub(state.next));
        let n = plan.batch.max(1).min(left);
        if n == 0 || late || state.summary.failures.len() >= plan.most_failures {
            return None;
        }
        let first = plan.first_seed.wrapping_add(state.next);
        state.next += n;
        Some((first, n))
    };
    let work = || {
        while let Some((first, n)) = take() {
            let began = Instant::now();
            let verdicts = batch(language, found, plan.limit, first, n);
            let mut state = shared();
            state.longest = state.longest.max(began.elapsed());
            for (seed, is_telling, wrong) in verdicts {
                state.summary.cases += 1;
                state.summary.telling += u64::from(is_telling);
                if let Some(wrong) = wrong {
                    tell(&format!("seed {seed}, {}: {wrong}", language.name));
                    state.summary.failures.push((seed, wrong));
                }
            }
            let Summary { cases, failures, .. } = &state.summary;
            tell(&format!("{}: {cases} networks, {} failed", language.name, failures.len()));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            // Networks nest deeply, and the interpreter calls itself.
            let worker = std::thread::Builder::new().stack_size(256 << 20);
            if worker.spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    let mut summary = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).summary;
    summary.failures.sort();
    summary
}

/// What is wrong with networks that were made elsewhere, each with its number.
pub fn held(language: &Language, found: &Found, limit: Duration, all: Vec<One>) -> Vec<(u64, String)> {
    let mut judged = Judged::new();
    compare(language, found, limit, all, &mut judged);
    judged
        .into_iter()
        .filter_map(|(seed, is_telling, wrong)| match (is_telling, wrong) {
            (_, Some(wrong)) => Some((seed, wrong)),
            (false, None) => Some((seed, "nothing comes out of it".to_owned())),
            (true, None) => None,
        })
        .collect()
}

/// Of each network its seed, whether it tells anything, and what is wrong.
type Judged = Vec<(u64, bool, Option<String>)>;

fn batch(language: &Language, found: &Found, limit: Duration, first: u64, n: u64) -> Judged {
    let mut judged = Judged::new();
    let mut all = Vec::new();
    for seed in (0..n).map(|at| first.wrapping_add(at)) {
        match catch_unwind(|| One::new(seed)) {
            Ok(Ok(one)) => all.push(one),
            Ok(Err(why)) => judged.push((seed, false, Some(why))),
            Err(_) => judged.push((seed, false, Some("it could not be made: the command is wrong".to_owned()))),
        }
    }
    compare(language, found, limit, all, &mut judged);
    judged
}

/// Holds networks to the interpreter. Where their program cannot be built or does not end well, one of them is to blame:
/// each half by itself.
fn compare(language: &Language, found: &Found, limit: Duration, mut all: Vec<One>, judged: &mut Judged) {
    if all.is_empty() {
        return;
    }
    let shown = catch_unwind(AssertUnwindSafe(|| shown(language, found, limit, &all)));
    let shown = shown.unwrap_or_else(|_| Err("it cannot be printed: the target is wrong".to_owned()));
    match shown {
        Ok(said) => {
            let wrong = super::one::judge(&all, &said);
            judged.extend(all.iter().zip(wrong).map(|(one, wrong)| (one.seed, one.is_telling(), wrong)));
        }
        Err(why) if all.len() == 1 => judged.push((all[0].seed, all[0].is_telling(), Some(why))),
        Err(_) => {
            let other = all.split_off(all.len() / 2);
            compare(language, found, limit, all, judged);
            compare(language, found, limit, other, judged);
        }
    }
}

/// What the program of these networks says.
fn shown(language: &Language, found: &Found, limit: Duration, all: &[One]) -> Result<String, String> {
    let files = (language.files)(all)?;
    let folder = workshop()?;
    write_files(folder.path(), &files)?;
    for step in (language.build)(&found.commands) {
        said(&step, folder.path(), limit)?;
    }
    let toolchain = toolchain::named(language.name).ok_or("there is no toolchain of its name")?;
    said(&(language.run)(toolchain, &found.commands), folder.path(), limit)
}

fn said(step: &headrace_targets::toolchain::Step, folder: &Path, limit: Duration) -> Result<String, String> {
    let said = run(step, folder, limit);
    said.complaint().map_or(Ok(said.text), Err)
}
