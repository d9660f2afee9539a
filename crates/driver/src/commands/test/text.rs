//! Test report for the terminal: what came of known answers, in lines.

use crate::commands::Context;
use headrace::known_answers::File;
use headrace::known_answers::tally::{Line, Tally};
use headrace::words::plural;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Most failures that are described.
const MAX_DESCRIBED: usize = 20;

/// What was not run where the rest was, with the reason.
pub(super) fn not_run(tally: &Tally) -> Vec<String> {
    let line =
        |((place, why), n): (&(&str, Cow<'_, str>), &usize)| format!("{place}: {} not run: {why}", plural(*n, "case"));
    tally.not_run.iter().map(line).collect()
}

/// A line for each operation in one variant in one place.
pub(super) fn lines(tally: &Tally) -> Vec<String> {
    let width = tally.lines.keys().map(|(name, _, _)| name.len()).max().unwrap_or(0);
    let place_width = tally.lines.keys().map(|(_, place, _)| place.len()).max().unwrap_or(0).max(6);
    let line = |((name, place, variant), line): (&(String, &'static str, String), &Line)| {
        let failed = if line.failed > 0 { format!(", {} FAILED", line.failed) } else { String::new() };
        let not_run = if line.not_run > 0 { format!(", {} not run", line.not_run) } else { String::new() };
        format!(
            "{name:width$}  {place:place_width$}  {variant:8}  {:4} passed{failed}{not_run}  {:.2} s",
            line.passed, line.seconds
        )
    };
    tally.lines.iter().map(line).collect()
}

/// What was wrong.
pub(super) fn describe_failures(tally: &Tally, context: &Context, files: &[File]) {
    let failed: Vec<_> = tally.records.iter().filter(|(_, record)| !record.failures.is_empty()).collect();
    // What spoils a whole project is said once.
    let mut told: BTreeSet<(&str, &[String])> = BTreeSet::new();
    let mut more = 0;
    for ((file, count, place), record) in failed {
        if told.len() >= MAX_DESCRIBED || !told.insert((place, &record.failures)) {
            more += 1;
            continue;
        }
        let name = &files[*file].name;
        context.terminal.error(&format!("{name}, record {count}, on {place}: {}", record.failures.join("\n  ")));
    }
    if more > 0 {
        context.terminal.error(&format!("… and {}", plural(more, "more failed record")));
    }
}
