//! `headrace bench`: one file a subject; here is what they share.

mod array;
mod blocks;
mod checking;
mod command;
mod compile;
mod embedded;
mod evp;
mod experiments;
mod footprints;
mod interpreter;
mod ours;
pub mod processes;
mod published;
pub mod referee;
mod stream;
mod target_sides;
pub mod targets;
mod threads;
mod tls;
mod updates;

use super::Context;
use crate::cli::BenchArgs;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use experiments::Experiments;
use headrace::Error;
use headrace::error::describe;
use headrace_bench::counts::{self, Counts};
use headrace_bench::cycles;
use headrace_bench::footprints::{FootprintRules, Footprints, table as footprint_table};
use headrace_bench::hardware;
use headrace_bench::machine;
use headrace_bench::page;
use headrace_bench::results::{Machine, Ratio, Results, Row, Verdict};
use headrace_bench::summary;
use headrace_bench::tables;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is measured, by the word on the command line.
const SUBJECTS: &[(&str, Measure)] = &[
    ("published", published::measure),
    ("targets", targets::measure),
    ("threads", threads::measure),
    ("compile", compile::measure),
    ("networks", blocks::measure),
    ("interpreter", interpreter::measure),
    ("check", checking::measure),
    ("embedded", embedded::measure),
    (FOOTPRINTS, footprints::measure),
    ("command", command::measure),
    ("tls", tls::measure),
    ("evp", evp::measure),
    (UPDATES, updates::measure),
];

/// The word for mappings to arrays of small processors.
const ARRAY: &str = "array";

/// The word for kernels of stream processors.
const STREAM: &str = "stream";

/// The word for all rows of the referee.
const REFEREE: &str = "referee";

/// The word for what microcontrollers need, which `embedded` measures too.
const FOOTPRINTS: &str = "footprints";

/// The word for messages in pieces, which are many rows, too.
const UPDATES: &str = "updates";

/// Measures a subject.
type Measure = fn(&mut Context, &BenchArgs, &Machine) -> Outcome<Measured>;

/// What came of a subject.
#[derive(Clone, Default)]
pub struct Measured {
    rows: Vec<Row>,
    ratios: Vec<Ratio>,
    verdicts: Vec<Verdict>,
    counts: Option<Counts>,
    footprints: Option<Footprints>,
    /// Versions of other libraries that took part.
    versions: BTreeMap<String, String>,
    /// See [`Results::shows_rows`].
    shows_rows: bool,
}

/// Tools whose versions belong to a result.
const TOOLS: &[&str] = &["gcc", "clang", "openssl", "rustc"];

/// Measures, prints tables and writes results; or prints the tables of earlier results.
pub fn bench(context: &mut Context, arguments: &BenchArgs) -> Outcome {
    if let [object, operation] = arguments.once.as_slice() {
        return published::once(Path::new(object), operation);
    }
    if !arguments.table.is_empty() {
        return show_earlier(arguments);
    }
    // It has results of its own kind: figures beside published ones, and nothing that depends on this computer.
    if let [word] = arguments.primitives.as_slice()
        && word == ARRAY
    {
        Experiments::check_place(arguments, ARRAY)?;
        return array::bench(context, arguments);
    }
    if let [word] = arguments.primitives.as_slice()
        && word == STREAM
    {
        Experiments::check_place(arguments, STREAM)?;
        return stream::bench(context, arguments);
    }
    if arguments.into.is_some() {
        return Err(Error::usage(
            "`--into` is for tables of earlier results (`--table`), for `array` and for `stream`",
        ));
    }
    let (subjects, primitives) = chosen(&arguments.primitives);
    let mut machine = machine::describe(TOOLS, Path::new("."));
    if primitives.is_some() {
        machine.clock_source = format!("{}; rows of the referee: {}", machine.clock_source, cycles::SOURCE);
    }
    let mut results = Results { machine, ..Results::default() };
    let goes_on = subjects.is_empty() || matches!(subjects.as_slice(), [(UPDATES, _)]);
    let mut earlier = earlier(arguments, &results.machine, goes_on)?;
    let machine = results.machine.clone();
    if let ([(FOOTPRINTS, _)], Some(path)) = (subjects.as_slice(), arguments.json.as_ref().filter(|path| path.exists()))
    {
        // They say themselves when they were taken: what else the file has stays as it is.
        results = read_results(path)?;
    }
    let keep = |before: &Results, measured: &Measured| match &arguments.json {
        Some(path) => {
            let mut until_now = before.clone();
            add(&mut until_now, measured.clone());
            write_file(path, until_now.to_json().as_bytes())
        }
        None => Ok(()),
    };
    for (name, measure) in subjects {
        context.terminal.status(&format!("measuring {name}"));
        let measured = match name {
            UPDATES if arguments.json.is_some() => {
                let earlier = std::mem::take(&mut earlier);
                updates::go_on(context, arguments, earlier, &mut |measured| keep(&results, measured))?
            }
            _ => measure(context, arguments, &machine)?,
        };
        add(&mut results, measured);
    }
    if let Some(primitives) = primitives {
        let before = results.clone();
        let mut keep = |measured: &Measured| keep(&before, measured);
        let measured = referee::measure(context, arguments, &primitives, earlier, &mut keep)?;
        add(&mut results, measured);
    }
    context.terminal.status("");
    output::print(render(&results, None, false).as_bytes())?;
    if let Some(path) = &arguments.json {
        write_file(path, results.to_json().as_bytes())?;
    }
    match &arguments.html {
        Some(path) => write_page(path, &results),
        None => Ok(()),
    }
}

/// Puts what came of a subject to the results.
fn add(results: &mut Results, measured: Measured) {
    results.rows.extend(measured.rows);
    results.ratios.extend(measured.ratios);
    results.verdicts.extend(measured.verdicts);
    results.counts = measured.counts.or(results.counts.take());
    results.footprints = measured.footprints.or(results.footprints.take());
    results.machine.versions.extend(measured.versions);
    results.shows_rows |= measured.shows_rows;
}

/// What the file of `--resume` has; nothing where it is not asked for or the file is not there yet.
fn earlier(arguments: &BenchArgs, machine: &Machine, only_referee: bool) -> Outcome<Measured> {
    let Some(path) = arguments.json.as_ref().filter(|path| arguments.resume && path.exists()) else {
        return Ok(Measured::default());
    };
    if !only_referee {
        return Err(Error::usage(
            "`--resume` is about rows beside other libraries and `updates`: name operations, `referee` or that alone",
        ));
    }
    let results = read_results(path)?;
    let old = &results.machine;
    if (&old.cpu, &old.commit) != (&machine.cpu, &machine.commit) {
        let problem: &str =
            "was measured on another machine or by another version; without `--resume` it is begun anew";
        return Err(Error::wrong(format!("{}: {problem}", path.display())));
    }
    Ok(Measured {
        rows: results.rows,
        ratios: results.ratios,
        verdicts: results.verdicts,
        counts: None,
        footprints: None,
        versions: results.machine.versions,
        shows_rows: results.shows_rows,
    })
}

/// What footprints are measured of, and on what.
fn footprint_rules() -> Outcome<FootprintRules> {
    FootprintRules::parse(include_str!("../../../../../bench/embedded/bare/rules.toml"))
        .map_err(|problem| Error::wrong(format!("bench/embedded/bare/rules.toml: {problem}")))
}

fn write_page(path: &Path, results: &Results) -> Outcome {
    let page = page::page(results).map_err(Error::wrong)?;
    write_file(path, page.as_bytes())
}

/// The subjects that are named, and the words for the referee; everything when nothing is named.
fn chosen(words: &[String]) -> (Vec<(&'static str, Measure)>, Option<Vec<String>>) {
    if words.is_empty() {
        let all = SUBJECTS.iter().filter(|(name, _)| *name != FOOTPRINTS);
        return (all.copied().collect(), Some(Vec::new()));
    }
    if words.iter().any(|word| word == REFEREE) {
        let (subjects, _) = chosen(&words.iter().filter(|word| *word != REFEREE).cloned().collect::<Vec<_>>());
        return (if words.len() > 1 { subjects } else { Vec::new() }, Some(Vec::new()));
    }
    let named = |word: &String| SUBJECTS.iter().find(|(name, _)| word == name).copied();
    let primitives: Vec<String> = words.iter().filter(|word| named(word).is_none()).cloned().collect();
    let subjects = words.iter().filter_map(named).collect();
    (subjects, (!primitives.is_empty()).then_some(primitives))
}

/// The machine, if it is not that of the results before, and all tables.
fn render(results: &Results, before: Option<&Results>, is_brief: bool) -> String {
    let machine = &results.machine;
    let is_new = before.is_none_or(|before| {
        let old = &before.machine;
        old.cpu != machine.cpu || old.versions != machine.versions || old.system != machine.system
    });
    let mut text = if is_new { tables::machine(results) } else { String::new() };
    // The figures behind verdicts are many: documents leave them to the files.
    if !results.rows.is_empty() && (!is_brief || results.shows_rows || results.verdicts.is_empty()) {
        text.push_str(&format!("\n{}", tables::rows(&results.rows)));
    }
    if !results.ratios.is_empty() {
        text.push_str(&format!("\n{}", tables::ratios(&results.ratios)));
    }
    if !results.verdicts.is_empty() {
        text.push_str(&format!("\n{}", tables::verdicts(&results.verdicts)));
    }
    if let Some(counts) = &results.counts {
        text.push_str(&format!("\n{}", counts::table(counts)));
    }
    if !results.cores.is_empty() {
        text.push_str(&format!("\n{}", hardware::table(&results.cores)));
    }
    if let Some(footprints) = &results.footprints {
        text.push_str(&format!("\n{}", footprint_table(footprints)));
    }
    text
}

fn show_earlier(arguments: &BenchArgs) -> Outcome {
    // Simulated machines have results of their own kind, a file for each document.
    if let [path] = arguments.table.as_slice()
        && let Some(simulated) = fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok())
    {
        let simulated: Experiments = simulated;
        return match arguments.into {
            None => output::print(simulated.text().as_bytes()),
            Some(_) => simulated.write(arguments),
        };
    }
    let all = arguments.table.iter().map(|path| read_results(path)).collect::<Outcome<Vec<_>>>()?;
    let mut text = String::new();
    for (at, results) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &all[at]);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&render(results, before, true));
    }
    if let (Some(path), Some(results)) = (&arguments.html, all.last()) {
        write_page(path, results)?;
    }
    let Some(document) = &arguments.into else { return output::print(text.as_bytes()) };
    let wrong = |problem: &str| Error::wrong(format!("{}: {problem}", document.display()));
    let old = fs::read_to_string(document).map_err(|error| wrong(&describe(&error)))?;
    let with_tables = tables::replace(&old, "measurements", &text);
    let with_speeds = summary::renew(with_tables.as_ref().unwrap_or(&old), &all).map_err(|problem| wrong(&problem))?;
    let new = with_speeds.or(with_tables).ok_or_else(|| wrong("has no marks for measurements or speeds"))?;
    write_file(document, new.as_bytes())
}

/// Results as `--json` wrote them.
pub fn read_results(path: &Path) -> Outcome<Results> {
    let wrong = |problem: String| Error::wrong(format!("{}: {problem}", path.display()));
    let read = fs::read_to_string(path).map_err(|error| wrong(describe(&error)))?;
    Results::from_json(&read).map_err(wrong)
}
