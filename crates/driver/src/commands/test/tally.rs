//! What came of the known answers: records and lines, shown as text, as JSON and as tables in documents.

use super::super::Context;
use super::{Done, File, Job, MAX_DESCRIBED};
use crate::cli::EngineName;
use crate::commands::summary::unique;
use crate::engines;
use crate::terminal::plural;
use headrace_library::catalog::{Framing, Library, OperationSpec};
use headrace_library::known_answers::Verdict;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// What became of one record on one engine.
#[derive(Default)]
struct Record {
    failures: Vec<String>,
    n_cases: usize,
    skipped: bool,
}

/// One line of the summary: an operation in one variant on one engine.
#[derive(Default)]
struct Line {
    /// Cases: records by direction.
    passed: usize,
    failed: usize,
    seconds: f64,
    /// File and count of each record, and of those that failed.
    records: BTreeSet<(usize, u64)>,
    failed_records: BTreeSet<(usize, u64)>,
}

/// All results: records by file, count and engine; lines by operation, engine and variant.
#[derive(Default)]
pub(super) struct Tally {
    records: BTreeMap<(usize, u64, &'static str), Record>,
    lines: BTreeMap<(String, &'static str, String), Line>,
}

impl Tally {
    pub(super) fn add(&mut self, job: &Job, done: &Done, files: &[File]) {
        let engine = engines::name(job.engine);
        let name = format!("{} {}", job.spec.set, job.spec.name);
        let line = self.lines.entry((name.clone(), engine, job.variant.to_owned())).or_default();
        line.seconds += done.seconds;
        for ((file, case), verdict) in job.cases.iter().zip(&done.verdicts) {
            let case = &files[*file].cases[*case];
            let record = self.records.entry((*file, case.count, engine)).or_default();
            record.n_cases += 1;
            line.records.insert((*file, case.count));
            match verdict {
                Verdict::Passed => line.passed += 1,
                Verdict::Failed(why) => {
                    line.failed += 1;
                    line.failed_records.insert((*file, case.count));
                    record.failures.push(format!("{name} ({}): {why}", job.variant));
                }
            }
        }
    }

    pub(super) fn skip(&mut self, engine: EngineName, files: &[File]) {
        for (at, file) in files.iter().enumerate() {
            for case in &file.cases {
                self.records.entry((at, case.count, engines::name(engine))).or_default().skipped = true;
            }
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let width = self.lines.keys().map(|(name, _, _)| name.len()).max().unwrap_or(0);
        let line = |((name, engine, variant), line): (&(String, &'static str, String), &Line)| {
            let failed = if line.failed > 0 { format!(", {} FAILED", line.failed) } else { String::new() };
            format!("{name:width$}  {engine:6}  {variant:8}  {:4} passed{failed}  {:.2} s", line.passed, line.seconds)
        };
        self.lines.iter().map(line).collect()
    }

    pub(super) fn describe_failures(&self, context: &Context, files: &[File]) {
        let failed: Vec<_> = self.records.iter().filter(|(_, record)| !record.failures.is_empty()).collect();
        for ((file, count, engine), record) in failed.iter().take(MAX_DESCRIBED) {
            let name = &files[*file].name;
            context.terminal.error(&format!("{name}, record {count}, on {engine}: {}", record.failures.join("\n  ")));
        }
        if failed.len() > MAX_DESCRIBED {
            context.terminal.error(&format!("… and {}", plural(failed.len() - MAX_DESCRIBED, "more failed record")));
        }
    }

    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let failed = self.records.values().filter(|record| !record.failures.is_empty()).count();
        let skipped = self.records.values().filter(|record| record.failures.is_empty() && record.skipped).count();
        (self.records.len() - failed - skipped, failed, skipped)
    }

    /// What passed in some lines on one engine: records, all variants and directions together.
    fn cell<'t>(&'t self, engine: &str, is_wanted: impl Fn(&'t str, &'t str) -> bool) -> String {
        let lines = self.lines.iter().filter(|((name, on, variant), _)| *on == engine && is_wanted(name, variant));
        let mut records: BTreeSet<&(usize, u64)> = BTreeSet::new();
        let mut failed: BTreeSet<&(usize, u64)> = BTreeSet::new();
        for (_, line) in lines {
            records.extend(&line.records);
            failed.extend(&line.failed_records);
        }
        match (records.len(), failed.len()) {
            (0, 0) => "–".to_owned(),
            (records, 0) => records.to_string(),
            (records, failed) => format!("{records}, **{failed} failed**"),
        }
    }

    /// A row for each family of primitives: its parameter sets, and how many records passed on each engine, all operations
    /// and variants together.
    pub(super) fn overview(&self, library: &Library) -> String {
        let (head, rules) = heads();
        let mut text = format!("| family | parameter sets | {head} |\n|---|---|{rules}\n");
        for family in unique(library.manifests().iter().map(|manifest| manifest.family.clone())) {
            let folders: Vec<&str> =
                library.manifests().iter().filter(|m| m.family == family).map(|m| m.folder.as_str()).collect();
            let specs: Vec<&OperationSpec> =
                library.operations().iter().filter(|spec| folders.contains(&spec.folder.as_str())).collect();
            if specs.is_empty() {
                continue;
            }
            let what = match specs.iter().all(|spec| spec.framing == Framing::Bare) {
                true => plural(specs.len(), "actor"),
                false => unique(specs.iter().map(|spec| format!("`{}`", spec.set))).join(" "),
            };
            let names: BTreeSet<String> = specs.iter().map(|spec| format!("{} {}", spec.set, spec.name)).collect();
            let cells =
                engines::ALL.iter().map(|engine| self.cell(engines::name(*engine), |name, _| names.contains(name)));
            text.push_str(&format!("| {family} | {what} | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
        }
        text
    }

    /// A row for each operation of each parameter set in each variant: how many records passed on each engine. What has
    /// no records stands there too.
    pub(super) fn details(&self, library: &Library) -> String {
        let (head, rules) = heads();
        let mut text = format!("| set | operation | variant | {head} |\n|---|---|---|{rules}\n");
        for spec in library.operations() {
            let wanted = format!("{} {}", spec.set, spec.name);
            for variant in &spec.variants {
                let cells = engines::ALL.iter().map(|engine| {
                    self.cell(engines::name(*engine), |name, written| name == wanted && written == variant.name)
                });
                text.push_str(&format!(
                    "| `{}` | {} | {} | {} |\n",
                    spec.set,
                    spec.name,
                    variant.name,
                    cells.collect::<Vec<_>>().join(" | ")
                ));
            }
        }
        text
    }

    pub(super) fn json(&self, files: &[File]) -> String {
        let row = |((file, count, engine), record): (&(usize, u64, &'static str), &Record)| {
            let result = match (record.failures.is_empty(), record.skipped) {
                (false, _) => "failed",
                (true, true) => "skipped",
                (true, false) => "passed",
            };
            json!({
                "file": files[*file].name, "count": count, "engine": engine, "result": result,
                "cases": record.n_cases, "failures": record.failures,
            })
        };
        let rows: Vec<_> = self.records.iter().map(row).collect();
        let (passed, failed, skipped) = self.counts();
        let all = json!({ "passed": passed, "failed": failed, "skipped": skipped, "rows": rows });
        serde_json::to_string_pretty(&all).map(|text| text + "\n").unwrap_or_default()
    }
}

/// The columns of the engines.
fn heads() -> (String, String) {
    let names: Vec<&str> = engines::ALL.iter().map(|engine| engines::name(*engine)).collect();
    (names.join(" | "), "--:|".repeat(names.len()))
}
