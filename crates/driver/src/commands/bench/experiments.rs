//! Results of simulated machines: figures beside published ones, as tables and as a file. They depend on no computer, but for
//! the speed of simulators, and have documents of their own.

use crate::cli::BenchArgs;
use crate::failure::Outcome;
use crate::output::{make_folder, write_file};
use headrace::Error;
use headrace::error::describe;
use headrace_bench::tables;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// A figure beside what was published.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub what: String,
    pub published: Option<f64>,
    pub here: Option<f64>,
    /// Greatest deviation that counts as the same, as a part of what was published; none where nothing is asked.
    pub tolerance: Option<f64>,
    pub note: String,
}

impl Line {
    /// A figure that is not there.
    pub(super) fn none(what: impl Into<String>) -> Self {
        Self { what: what.into(), published: None, here: None, tolerance: None, note: String::new() }
    }

    pub(super) fn new(what: impl Into<String>, published: Option<f64>, here: f64, tolerance: Option<f64>) -> Self {
        // What is no number is not there, as in results that are read again.
        let here = Some(here).filter(|it| !it.is_nan());
        Self { what: what.into(), published, here, tolerance, note: String::new() }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    fn deviation(&self) -> Option<f64> {
        Some(self.here? / self.published.filter(|it| *it != 0.0)? - 1.0)
    }

    pub(super) fn is_within(&self) -> Option<bool> {
        let tolerance = self.tolerance?;
        match (self.deviation(), self.published, self.here) {
            (Some(deviation), ..) => Some(deviation.abs() <= tolerance + 1e-9),
            (None, Some(_), Some(here)) => Some(here == 0.0),
            _ => Some(false),
        }
    }
}

/// What belongs together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Experiment {
    pub id: String,
    pub title: String,
    pub lines: Vec<Line>,
    pub notes: Vec<String>,
}

/// All experiments on machines of a kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiments {
    /// The mark of their tables in a document.
    pub mark: String,
    /// What makes them.
    pub command: String,
    /// The experiments, in the order of their tables.
    pub experiments: Vec<Experiment>,
    /// What is wrong with the publication.
    #[serde(default)]
    pub errata: Vec<String>,
}

impl Experiments {
    /// The document's part.
    pub(super) fn text(&self) -> String {
        let mut text: String = self.experiments.iter().map(table).collect();
        if !self.errata.is_empty() {
            text.push_str("\n### Errata of the publication\n\n");
        }
        self.errata.iter().for_each(|note| text.push_str(&format!("* {note}\n")));
        text
    }

    /// Looks, before anything is measured, whether there is a place for results and charts in the document that is asked for.
    ///
    /// # Errors
    ///
    /// The document is not there, cannot be read, or has no marks for `mark`.
    pub(super) fn check_place(arguments: &BenchArgs, mark: &str) -> Outcome {
        let Some(document) = &arguments.into else { return Ok(()) };
        replaced(document, mark, "")?;
        make_folder(&document.with_file_name("figures"))
    }

    /// Writes results and document, as far as they are asked for.
    pub(super) fn write(&self, arguments: &BenchArgs) -> Outcome {
        if let Some(path) = &arguments.json {
            let json = serde_json::to_string_pretty(self).unwrap_or_default();
            write_file(path, format!("{json}\n").as_bytes())?;
        }
        let Some(document) = &arguments.into else { return Ok(()) };
        write_file(document, replaced(document, &self.mark, &self.text())?.as_bytes())
    }
}

/// A document with other text between the marks of `mark`.
fn replaced(document: &Path, mark: &str, text: &str) -> Outcome<String> {
    let wrong = |problem: &str| Error::wrong(format!("{}: {problem}", document.display()));
    let old = fs::read_to_string(document).map_err(|error| wrong(&describe(&error)))?;
    tables::replace(&old, mark, text).ok_or_else(|| {
        let (begin, end) = (tables::begin(mark), tables::END);
        wrong(&format!("has no marks for {mark}: `{begin}` and `{end}`, each on a line of its own"))
    })
}

fn table(experiment: &Experiment) -> String {
    let number = |value: Option<f64>| match value {
        None => "–".to_owned(),
        Some(value) if value == value.round() && value.abs() < 1e7 => format!("{value}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    };
    let mut text = format!("\n### {}: {}\n\n", experiment.id, experiment.title);
    text.push_str("| what | published | here | deviation | asked | reached | note |\n|---|--:|--:|--:|--:|---|---|\n");
    for line in &experiment.lines {
        let deviation = line.deviation().map_or_else(|| "–".into(), |it| format!("{:+.1} %", 100.0 * it));
        let asked = match line.tolerance {
            None => "–".into(),
            Some(0.0) => "equal".into(),
            Some(tolerance) => format!("± {} %", number(Some((tolerance * 1e5).round() / 1e3))),
        };
        let reached = match line.is_within() {
            None => "–",
            Some(true) => "yes",
            Some(false) => "**no**",
        };
        text.push_str(&format!(
            "| {} | {} | {} | {deviation} | {asked} | {reached} | {} |\n",
            line.what,
            number(line.published),
            number(line.here),
            line.note
        ));
    }
    if !experiment.notes.is_empty() {
        text.push('\n');
    }
    experiment.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
    text
}

/// One of them.
pub(super) fn experiment(id: &str, title: &str, lines: Vec<Line>, notes: &[&str]) -> Experiment {
    Experiment { id: id.into(), title: title.into(), lines, notes: notes.iter().map(|&note| note.to_owned()).collect() }
}
