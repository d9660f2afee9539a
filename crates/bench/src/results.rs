//! Serialisation of benchmark results: results as data, the form of `headrace bench --json`.

use crate::counts::Counts;
use crate::footprints::Footprints;
use crate::hardware::Core;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was measured where.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Results {
    /// The machine.
    pub machine: Machine,
    /// One row for each contender.
    pub rows: Vec<Row>,
    /// Goals and how far they are reached.
    #[serde(default)]
    pub ratios: Vec<Ratio>,
    /// What the referee says of each row of its rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
    /// Instructions that were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// Footprints on microcontrollers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprints: Option<Footprints>,
    /// Cores that were synthesised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Core>,
    /// Documents show the rows beside what is said of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_rows: bool,
}

/// What the referee says of one operation of one row.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verdict {
    /// The row of the rules.
    pub row: String,
    /// The parameter set, or what else is measured.
    pub primitive: String,
    /// The operation.
    pub operation: String,
    /// The variant of ours that counts, with what it was compiled by.
    pub variant: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Messages at once.
    pub streams: u32,
    /// Bytes of the pieces that a message is given in; 0: it is given whole.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub pieces: u64,
    /// Our figure: cycles a byte of the fastest run, or what the marks say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ours: Option<f64>,
    /// What it is compared with.
    pub other: String,
    /// The figure of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub others: Option<f64>,
    /// Median of the ratios of the pairs, above 1 when ours is ahead.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<f64>,
    /// What must be reached.
    pub must: String,
    /// What is wanted.
    pub goal: String,
    /// How far it came.
    pub status: Status,
    /// Why, where that needs words.
    pub note: String,
}

/// How far a row came.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Outputs differ, or something else is wrong.
    Error,
    /// Something that it needs is not there.
    NotMeasured,
    /// Less than it must.
    Missed,
    /// Nothing was to be reached: for comparison.
    Compared,
    /// What it must.
    Must,
    /// What is wanted.
    Goal,
}

impl Status {
    /// How far a ratio came, above 1 when ours is ahead.
    pub fn of_ratio(ratio: f64, must: f64, goal: f64) -> Status {
        match ratio {
            ratio if ratio >= goal => Status::Goal,
            ratio if ratio >= must => Status::Must,
            _ => Status::Missed,
        }
    }

    /// The word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Status::Error => "error",
            Status::NotMeasured => "not measured",
            Status::Missed => "missed",
            Status::Compared => "for comparison",
            Status::Must => "must reached",
            Status::Goal => "goal reached",
        }
    }
}

/// The machine, and the versions of all that takes part.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Its architecture.
    pub architecture: String,
    /// Cores that may be used.
    pub cores: usize,
    /// What cycles are counted by, in hertz; none where no clock is known.
    pub clock_hz: Option<f64>,
    /// Where that clock is read.
    pub clock_source: String,
    /// What the seconds of the rows are.
    pub time: String,
    /// Instruction sets.
    pub features: Vec<String>,
    /// Caches of the first core.
    pub caches: Vec<Cache>,
    /// Operating system and kernel.
    pub system: String,
    /// Versions of compilers and libraries.
    pub versions: BTreeMap<String, String>,
    /// Date and time, UTC.
    pub date: String,
    /// Commit of the source.
    pub commit: String,
}

/// A cache.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Cache {
    /// Level, from 1.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size as the system shows it: `32K`.
    pub size: String,
}

/// How fast one implementation does one thing.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Row {
    /// The parameter set, or what else is measured.
    pub primitive: String,
    /// The operation.
    pub operation: String,
    /// Network or shape used.
    pub variant: String,
    /// `headrace`, or the peer and its version.
    pub implementation: String,
    /// Target and instruction set, or compiler and its flags.
    pub engine: String,
    /// Bytes a run; 0 where something else counts.
    pub bytes: u64,
    /// Independent streams.
    pub streams: u32,
    /// Bytes of the pieces that a message is given in; 0: it is given whole.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub pieces: u64,
    /// Threads.
    pub threads: u32,
    /// Cycles a byte of the fastest run, where bytes and cycles are counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles_per_byte_best: Option<f64>,
    /// Cycles a byte, median.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles_per_byte_median: Option<f64>,
    /// Megabytes (10^6) a second of the fastest run, where bytes are counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mb_per_s_best: Option<f64>,
    /// Megabytes a second, median.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mb_per_s_median: Option<f64>,
    /// Distance between the quartiles of the times, as a part of the median.
    pub spread: f64,
    /// How the output was checked, for ours; for peers too where it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verified: Option<String>,
    /// Firings a second, median, where firings are what counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub firings_per_s_median: Option<f64>,
    /// Seconds of every run, in order; runs of the same index in other rows of one group took place in turn.
    pub seconds: Vec<f64>,
    /// Cycles of every run, for runs that were processes of their own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub separate_cycles: Vec<f64>,
}

/// A comparison that a goal was set for.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Ratio {
    /// What is compared: `network of FIPS 197 / hand-written ring`.
    pub name: String,
    /// Compiler or engine that both used.
    pub engine: String,
    /// Median of the ratios of the pairs, or the figure itself.
    pub value: f64,
    /// The goal: at least this, or at most.
    pub goal: f64,
    /// True when less is better.
    #[serde(default)]
    pub at_most: bool,
    /// Unit of value and goal; empty for a ratio.
    #[serde(default)]
    pub unit: String,
    /// Number of pairs.
    pub pairs: usize,
}

impl Ratio {
    /// True when the goal is reached.
    pub fn is_met(&self) -> bool {
        if self.at_most { self.value <= self.goal } else { self.value >= self.goal }
    }
}

/// What a row is about.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// See [`Row`].
    pub primitive: String,
    /// See [`Row`].
    pub operation: String,
    /// See [`Row`].
    pub variant: String,
    /// See [`Row`].
    pub implementation: String,
    /// See [`Row`].
    pub engine: String,
    /// See [`Row`].
    pub bytes: u64,
    /// See [`Row`].
    pub verified: Option<String>,
}

impl Verdict {
    /// Bytes of a message, and how many there were at once or in which pieces it came.
    pub fn load(&self) -> String {
        match (self.streams, self.pieces) {
            (1, 0) => self.bytes.to_string(),
            (1, pieces) => format!("{} in pieces of {pieces}", self.bytes),
            (streams, _) => format!("{streams} × {}", self.bytes),
        }
    }
}

impl Row {
    /// The row of a subject that took these times on one thread, cycles being counted by a clock of `clock_hz`, if by any.
    pub fn new(subject: Subject, seconds: Vec<f64>, clock_hz: Option<f64>) -> Self {
        let (best, middle) = (crate::measure::least(&seconds), crate::measure::median(&seconds));
        let bytes = subject.bytes as f64;
        let cycles = |seconds: f64| clock_hz.and_then(|clock_hz| per_byte(seconds * clock_hz, bytes));
        let megabytes = |seconds: f64| (bytes > 0.0).then(|| bytes / seconds / 1e6);
        Row {
            primitive: subject.primitive,
            operation: subject.operation,
            variant: subject.variant,
            implementation: subject.implementation,
            engine: subject.engine,
            bytes: subject.bytes,
            streams: 1,
            pieces: 0,
            threads: 1,
            cycles_per_byte_best: cycles(best),
            cycles_per_byte_median: cycles(middle),
            mb_per_s_best: megabytes(best),
            mb_per_s_median: megabytes(middle),
            spread: crate::measure::spread(&seconds),
            verified: subject.verified,
            firings_per_s_median: None,
            seconds: seconds.into_iter().map(rounded).collect(),
            separate_cycles: Vec::new(),
        }
    }
}

impl Row {
    /// The row of a subject whose runs took these times and cycles, for `streams` messages of `subject.bytes` each.
    pub fn of_times(subject: Subject, times: &crate::contest::Times, streams: u32) -> Self {
        let all_bytes = subject.bytes as f64 * f64::from(streams);
        let row = Row::new(subject, times.seconds.clone(), None);
        let together = |megabytes: Option<f64>| megabytes.map(|megabytes| megabytes * f64::from(streams));
        Row {
            streams,
            cycles_per_byte_best: per_byte(crate::measure::least(&times.cycles), all_bytes),
            cycles_per_byte_median: per_byte(crate::measure::median(&times.cycles), all_bytes),
            mb_per_s_best: together(row.mb_per_s_best),
            mb_per_s_median: together(row.mb_per_s_median),
            spread: if times.cycles.is_empty() { row.spread } else { crate::measure::spread(&times.cycles) },
            ..row
        }
    }
}

/// What is no number, because nothing was counted, is no figure either: JSON has no way to write it.
fn per_byte(cycles: f64, bytes: f64) -> Option<f64> {
    Some(cycles / bytes).filter(|figure| figure.is_finite())
}

/// What files of results do not say.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// To six digits, which is more than a clock tells.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

impl Results {
    /// Reads what [`Results::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The JSON text, indented.
    pub fn to_json(&self) -> String {
        // Serialising numbers, strings and lists into memory has no way to fail.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_figures_from_its_times() {
        let subject = Subject { bytes: 1_000_000, ..Subject::default() };
        let row = Row::new(subject, vec![0.5, 0.25, 1.0], Some(2e9));
        assert_eq!(row.mb_per_s_best, Some(4.0));
        assert_eq!(row.mb_per_s_median, Some(2.0));
        assert_eq!(row.cycles_per_byte_median, Some(1000.0));
        assert_eq!(row.cycles_per_byte_best, Some(500.0));
    }

    #[test]
    fn what_has_no_bytes_has_no_figures_for_them_and_is_read_again() {
        let machine = Machine { clock_hz: None, ..crate::machine::describe(&[], std::path::Path::new(".")) };
        let row = Row::new(Subject::default(), vec![0.5, 0.25, 1.0], Some(2e9));
        assert_eq!((row.cycles_per_byte_median, row.mb_per_s_median), (None, None));
        let times = crate::contest::Times { seconds: vec![0.5], cycles: Vec::new() };
        let uncounted = Row::of_times(Subject { bytes: 1_000_000, ..Subject::default() }, &times, 2);
        assert_eq!((uncounted.cycles_per_byte_best, uncounted.mb_per_s_best), (None, Some(4.0)));
        let results = Results { machine, rows: vec![row, uncounted], ..Results::default() };
        let text = results.to_json();
        assert_eq!(Results::from_json(&text), Ok(results));
    }

    #[test]
    fn json_goes_there_and_back() {
        let mut machine = crate::machine::describe(&[], std::path::Path::new("."));
        // A number that a parser which rounds twice reads as its neighbour.
        machine.clock_hz = Some(2_596_122_063.977_097);
        let row = Row::new(Subject { bytes: 1, ..Subject::default() }, vec![0.5], Some(2e9));
        let ratio = Ratio {
            name: "a / b".into(),
            engine: "gcc".into(),
            value: 0.75,
            goal: 0.8,
            at_most: false,
            unit: String::new(),
            pairs: 11,
        };
        assert!(!ratio.is_met());
        let results = Results { machine, rows: vec![row], ratios: vec![ratio], ..Results::default() };
        assert_eq!(Results::from_json(&results.to_json()), Ok(results));
    }
}
