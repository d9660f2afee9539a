//! What passed in a long test is written down, so that the same test goes on where it was cut off.
//!
//! A file of lines in JSON: the first says which command wrote it, each other one what came of a job. Jobs with failures are
//! not written down: they are tried again. A line that was cut off when the command was is no line.

use crate::failure::Outcome;
use headrace::Error;
use headrace::known_answers::{Done, Finding, Job};
use headrace::reading::read_at_most;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// More than the lines of all jobs on all targets have.
const MAX_BYTES: u64 = 1 << 28;

/// The first line.
#[derive(Deserialize, PartialEq, Serialize)]
struct Head {
    /// What the file is.
    headrace: String,
    version: String,
}

impl Head {
    fn own() -> Self {
        Self { headrace: "test".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}

/// A line: a job and what came of it.
#[derive(Deserialize, Serialize)]
struct Entry<'e> {
    job: Name<'e>,
    seconds: f64,
    /// Of cases in their order: why not run, and of how many this is so.
    findings: Vec<(Option<Cow<'static, str>>, usize)>,
}

/// What tells a job from others.
#[derive(Deserialize, Eq, Hash, PartialEq, Serialize)]
struct Name<'e> {
    place: Cow<'e, str>,
    set: Cow<'e, str>,
    operation: Cow<'e, str>,
    variant: Cow<'e, str>,
    arguments: Cow<'e, [(String, String)]>,
}

impl<'e> Name<'e> {
    fn of(job: &'e Job) -> Self {
        Self {
            place: job.place.name().into(),
            set: job.spec.set.as_str().into(),
            operation: job.spec.name.as_str().into(),
            variant: job.variant.as_str().into(),
            arguments: job.arguments.as_slice().into(),
        }
    }
}

/// Where it is written down.
pub(super) struct Journal {
    path: PathBuf,
    known: HashMap<Name<'static>, Done>,
    file: Mutex<File>,
    /// The first that went wrong with it.
    problem: Mutex<Option<io::Error>>,
}

impl Journal {
    /// Goes on with a file, or begins one.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let io = |error: io::Error| Error::io(path.display(), &error);
        let before = if path.exists() { read_at_most(path, MAX_BYTES).map_err(Error::wrong)? } else { Vec::new() };
        let before = String::from_utf8_lossy(&before);
        let mut lines = before.lines();
        let head = lines.next().map(|line| serde_json::from_str::<Head>(line).ok());
        if head.is_some_and(|head| head != Some(Head::own())) {
            let own = env!("CARGO_PKG_VERSION");
            return Err(Error::wrong(format!(
                "`{}` was not written by `headrace test` of version {own}: name another file, or remove it",
                path.display()
            )));
        }
        let known = lines.filter_map(|line| serde_json::from_str::<Entry<'static>>(line).ok());
        let known = known.map(|entry| (entry.job, done(entry.seconds, &entry.findings))).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
        if before.is_empty() {
            writeln!(file, "{}", json(&Head::own())).map_err(io)?;
        } else if !before.ends_with('\n') {
            writeln!(file).map_err(io)?;
        }
        Ok(Self { path: path.to_owned(), known, file: Mutex::new(file), problem: Mutex::new(None) })
    }

    /// What came of a job the last time, if it was the same.
    pub(super) fn known(&self, job: &Job) -> Option<Done> {
        let done = self.known.get(&Name::of(job))?;
        (done.findings.len() == job.cases.len()).then(|| done.clone())
    }

    /// Writes down what came of jobs.
    pub(super) fn add<'j>(&self, jobs: impl Iterator<Item = (&'j Job, &'j Done)>) {
        let mut text = String::new();
        for (job, done) in jobs {
            if let Some(findings) = findings(done) {
                text += &json(&Entry { job: Name::of(job), seconds: done.seconds, findings });
                text.push('\n');
            }
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(text.as_bytes()) {
            self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Whether everything could be written down.
    pub(super) fn close(self) -> Outcome {
        let problem = self.problem.into_inner().unwrap_or_else(PoisonError::into_inner);
        problem.map_or(Ok(()), |error| Err(Error::io(self.path.display(), &error)))
    }
}

fn json(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default()
}

/// Findings of a job without failures, equal ones together.
fn findings(done: &Done) -> Option<Vec<(Option<Cow<'static, str>>, usize)>> {
    let mut found: Vec<(Option<Cow<'static, str>>, usize)> = Vec::new();
    for finding in &done.findings {
        let now = match finding {
            Finding::Passed => None,
            Finding::NotRun(why) => Some(why.clone()),
            Finding::Failed(_) => return None,
        };
        match found.last_mut() {
            Some((last, n)) if *last == now => *n += 1,
            _ => found.push((now, 1)),
        }
    }
    Some(found)
}

fn done(seconds: f64, findings: &[(Option<Cow<'static, str>>, usize)]) -> Done {
    let finding = |why: &Option<Cow<'static, str>>| why.clone().map_or(Finding::Passed, Finding::NotRun);
    let findings = findings.iter().flat_map(|(why, n)| std::iter::repeat_n(finding(why), *n)).collect();
    Done { findings, seconds }
}
