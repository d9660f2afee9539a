//! How fast sources are checked: the whole library, and a folder of generated ones.

use super::Measured;
use crate::cli::BenchArgs;
use crate::commands::{Context, library_folder};
use crate::failure::Outcome;
use headrace::Error;
use headrace::roots::{Roots, files_below};
use headrace_bench::measure::{Contender, median, take_turns};
use headrace_bench::results::{Machine, Ratio, Row, Subject};
use headrace_frontend::{Session, Top};
use std::fs;
use std::path::Path;

/// Goals: seconds for the library, megabytes a second for generated sources.
const LIBRARY_GOAL: f64 = 0.3;
const SOURCES_GOAL: f64 = 5.0;

/// Measures the library, and the folder of `--sources` if there is one.
pub fn measure(context: &mut Context, arguments: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let pairs = arguments.pairs as usize;
    let mut measured = Measured::default();
    let library = Roots::new(&[], library_folder().as_deref());
    let names: Vec<String> = library.names().into_iter().collect();
    let bytes = check_library(&library, &names).map_err(Error::wrong)?;
    let times = alone(|| check_library(&library, &names).map(|_| ()), pairs)?;
    measured.ratios.push(ratio("check of the whole library", median(&times), LIBRARY_GOAL, true, "s", pairs));
    measured.rows.push(row("library", &format!("{} entities", names.len()), bytes, times, machine));
    if let Some(folder) = &arguments.sources {
        let (files, bytes) = check_folder(folder).map_err(Error::wrong)?;
        let times = alone(|| check_folder(folder).map(|_| ()), pairs)?;
        let speed = bytes as f64 / median(&times) / 1e6;
        let name = format!("check of {files} generated files, reading included");
        measured.ratios.push(ratio(&name, speed, SOURCES_GOAL, false, "MB/s", pairs));
        measured.rows.push(row("generated sources", &format!("{files} files"), bytes, times, machine));
    } else {
        context.terminal.note("no generated sources were checked; --sources names a folder of them");
    }
    Ok(measured)
}

fn alone<'a>(work: impl FnMut() -> Result<(), String> + 'a, rounds: usize) -> Outcome<Vec<f64>> {
    let mut contenders: Vec<Contender> = vec![Box::new(work)];
    take_turns(&mut contenders, rounds).map_err(Error::wrong)?.pop().ok_or_else(|| Error::wrong("nothing was measured"))
}

fn ratio(name: &str, value: f64, goal: f64, at_most: bool, unit: &str, pairs: usize) -> Ratio {
    Ratio { name: name.into(), engine: "check".into(), value, goal, at_most, unit: unit.into(), pairs }
}

fn row(primitive: &str, variant: &str, bytes: usize, seconds: Vec<f64>, machine: &Machine) -> Row {
    let subject = Subject {
        primitive: primitive.into(),
        operation: "check".into(),
        variant: variant.into(),
        implementation: "headrace".into(),
        engine: "check".into(),
        bytes: bytes as u64,
        verified: Some("no errors".into()),
    };
    Row::new(subject, seconds, machine.clock_hz)
}

/// Bytes of source text in a session, after making sure that there were no errors.
fn read_bytes(session: &Session) -> Result<usize, String> {
    if session.has_errors() {
        let first = session.diagnostics().first().map(|problem| problem.message.clone()).unwrap_or_default();
        return Err(format!("the sources have errors: {first}"));
    }
    let files = (0..session.sources.len()).map(|at| headrace_source::FileId(at as u32));
    Ok(files.map(|file| session.sources.text(file).len()).sum())
}

fn check_library(roots: &Roots, names: &[String]) -> Result<usize, String> {
    let mut session = Session::new();
    for name in names {
        headrace_frontend::check(&mut session, roots, &Top::Name(name.clone()));
    }
    read_bytes(&session)
}

/// Number of files, and their bytes.
fn check_folder(folder: &Path) -> Result<(usize, usize), String> {
    let failed = |error: std::io::Error| format!("{}: {}", folder.display(), headrace::error::describe(&error));
    let files = files_below(folder, &["cal", "nl", "xdf"]).map_err(failed)?;
    let mut roots = Roots::new(&[folder.to_owned()], library_folder().as_deref());
    let mut session = Session::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(failed)?;
        let kind = headrace::roots::kind_of(file).ok_or("not a source file")?;
        if let Some(name) = roots.adopt(file, &text, kind) {
            headrace_frontend::check(&mut session, &roots, &Top::Name(name));
        }
    }
    Ok((files.len(), read_bytes(&session)?))
}
