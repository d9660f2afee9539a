//! `headrace bench`: one file a subject; here is what they share.

mod blocks;
mod checking;
mod interpreter;

use super::Context;
use crate::cli::BenchArgs;
use crate::failure::{Failure, Outcome, describe};
use crate::output::{self, write_file};
use headrace_bench::machine;
use headrace_bench::results::{Machine, Ratio, Results, Row};
use headrace_bench::tables;
use std::fs;
use std::path::Path;

/// What is measured, by the word on the command line.
const SUBJECTS: &[(&str, Measure)] =
    &[("aes", blocks::measure), ("interpreter", interpreter::measure), ("check", checking::measure)];

/// Measures a subject.
type Measure = fn(&mut Context, &BenchArgs, &Machine) -> Outcome<Measured>;

/// What came of a subject.
#[derive(Default)]
pub struct Measured {
    rows: Vec<Row>,
    ratios: Vec<Ratio>,
}

/// Tools whose versions belong to a result.
const TOOLS: &[&str] = &["gcc", "clang", "openssl", "rustc"];

/// Measures, prints tables and writes results; or prints the tables of earlier results.
pub fn bench(context: &mut Context, arguments: &BenchArgs) -> Outcome {
    if !arguments.table.is_empty() {
        return show_earlier(arguments);
    }
    let subjects = chosen(&arguments.primitives)?;
    let machine = machine::describe(TOOLS, Path::new("."));
    let mut results = Results { machine, rows: Vec::new(), ratios: Vec::new() };
    for (name, measure) in subjects {
        context.terminal.status(&format!("measuring {name}"));
        let measured = measure(context, arguments, &results.machine)?;
        results.rows.extend(measured.rows);
        results.ratios.extend(measured.ratios);
    }
    context.terminal.status("");
    output::print(render(&results, None).as_bytes())?;
    match &arguments.json {
        Some(path) => write_file(path, results.to_json().as_bytes()),
        None => Ok(()),
    }
}

fn chosen(words: &[String]) -> Outcome<Vec<(&'static str, Measure)>> {
    if words.is_empty() {
        return Ok(SUBJECTS.to_vec());
    }
    words
        .iter()
        .map(|word| {
            // A parameter set is measured with its primitive.
            let found = SUBJECTS.iter().find(|(name, _)| word == name || (*name == "aes" && word == blocks::SET));
            found.copied().ok_or_else(|| {
                let known: Vec<&str> = SUBJECTS.iter().map(|(name, _)| *name).collect();
                let word = word.escape_debug();
                Failure::usage(format!("there is no measurement of `{word}`; there are {}", known.join(", ")))
            })
        })
        .collect()
}

/// The machine, if it is not that of the results before, and all tables.
fn render(results: &Results, before: Option<&Results>) -> String {
    let machine = &results.machine;
    let is_new = before.is_none_or(|before| {
        let old = &before.machine;
        old.cpu != machine.cpu || old.versions != machine.versions || old.system != machine.system
    });
    let mut text = if is_new { tables::machine(results) } else { String::new() };
    if !results.rows.is_empty() {
        text.push_str(&format!("\n{}", tables::rows(&results.rows)));
    }
    if !results.ratios.is_empty() {
        text.push_str(&format!("\n{}", tables::ratios(&results.ratios)));
    }
    text
}

fn show_earlier(arguments: &BenchArgs) -> Outcome {
    let mut text = String::new();
    let mut before: Option<Results> = None;
    for path in &arguments.table {
        let wrong = |problem: String| Failure::wrong(format!("{}: {problem}", path.display()));
        let read = fs::read_to_string(path).map_err(|error| wrong(describe(&error)))?;
        let results = Results::from_json(&read).map_err(wrong)?;
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&render(&results, before.as_ref()));
        before = Some(results);
    }
    let Some(document) = &arguments.into else { return output::print(text.as_bytes()) };
    let wrong = |problem: &str| Failure::wrong(format!("{}: {problem}", document.display()));
    let old = fs::read_to_string(document).map_err(|error| wrong(&describe(&error)))?;
    let new = tables::replace(&old, "measurements", &text).ok_or_else(|| wrong("has no marks for measurements"))?;
    write_file(document, new.as_bytes())
}
