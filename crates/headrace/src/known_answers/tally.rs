//! Test verdicts, added up: what came of known answers, by record and by operation.

use super::jobs::{File, Job};
use super::{Done, Finding, Place};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What became of one record in one place.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// What was wrong, case by case.
    pub failures: Vec<String>,
    /// Cases: both directions of an operation, and several operations.
    pub n_cases: usize,
    /// Cases that are as they should be.
    pub passed: usize,
    /// Why cases were not run.
    pub not_run: BTreeSet<Cow<'static, str>>,
}

impl Record {
    /// `failed`, `skipped` or `passed`.
    pub fn result(&self) -> &'static str {
        match (self.failures.is_empty(), self.passed) {
            (false, _) => "failed",
            (true, 0) => "skipped",
            (true, _) => "passed",
        }
    }
}

/// What became of an operation in one variant in one place.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Cases that are as they should be: records by direction.
    pub passed: usize,
    /// Those that are not.
    pub failed: usize,
    /// Those that were not tried.
    pub not_run: usize,
    /// Seconds that all took.
    pub seconds: f64,
    /// File and count of each record that was run.
    pub records: BTreeSet<(usize, u64)>,
    /// The same of those that failed.
    pub failed_records: BTreeSet<(usize, u64)>,
}

/// All results of a test.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Records by file, count and place.
    pub records: BTreeMap<(usize, u64, &'static str), Record>,
    /// Operations by name, place and variant.
    pub lines: BTreeMap<(String, &'static str, String), Line>,
    /// Cases that were not run where others were, by place and reason.
    pub not_run: BTreeMap<(&'static str, Cow<'static, str>), usize>,
}

impl Tally {
    pub(super) fn add(&mut self, job: &Job, done: &Done, files: &[File]) {
        let place = job.place.name();
        let name = format!("{} {}", job.spec.set, job.spec.name);
        let line = self.lines.entry((name.clone(), place, job.variant.clone())).or_default();
        line.seconds += done.seconds;
        for ((file, case), finding) in job.cases.iter().zip(&done.findings) {
            let case = &files[*file].cases[*case];
            let record = self.records.entry((*file, case.count, place)).or_default();
            record.n_cases += 1;
            match finding {
                Finding::Passed => {
                    line.passed += 1;
                    record.passed += 1;
                }
                Finding::Failed(why) => {
                    line.failed += 1;
                    line.failed_records.insert((*file, case.count));
                    record.failures.push(format!("{name} ({}): {why}", job.variant));
                }
                Finding::NotRun(why) => {
                    line.not_run += 1;
                    record.not_run.insert(why.clone());
                    *self.not_run.entry((place, why.clone())).or_default() += 1;
                    continue;
                }
            }
            line.records.insert((*file, case.count));
        }
    }

    /// Counts all records as not tried in a place where nothing can be tried, for one reason.
    pub(super) fn add_absent(&mut self, place: Place, why: &str, files: &[File]) {
        for (at, file) in files.iter().enumerate() {
            for case in &file.cases {
                let record = self.records.entry((at, case.count, place.name())).or_default();
                record.n_cases += 1;
                record.not_run.insert(Cow::Owned(why.to_owned()));
            }
        }
    }

    /// Records that passed, that failed, and that were not tried.
    pub fn counts(&self) -> (usize, usize, usize) {
        let of = |wanted: &str| self.records.values().filter(|record| record.result() == wanted).count();
        (of("passed"), of("failed"), of("skipped"))
    }

    /// All of it in JSON: a row for each record and place.
    pub fn json(&self, files: &[File]) -> String {
        let row = |((file, count, place), record): (&(usize, u64, &'static str), &Record)| {
            json!({
                "file": files[*file].name, "count": count, "engine": place, "result": record.result(),
                "cases": record.n_cases, "failures": record.failures, "not_run": record.not_run,
            })
        };
        let rows: Vec<_> = self.records.iter().map(row).collect();
        let (passed, failed, skipped) = self.counts();
        let all = json!({ "passed": passed, "failed": failed, "skipped": skipped, "rows": rows });
        serde_json::to_string_pretty(&all).map(|text| text + "\n").unwrap_or_default()
    }
}
