//! `headrace test`: known answers of primitives on engines, and in projects of targets.

mod journal;
mod tables;
mod text;

use super::Context;
use crate::cli::TestArgs;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use crate::terminal::Terminal;
use headrace::Error;
use headrace::engines::ALL;
use headrace::known_answers::{Done, Listener, Place, Tally, Test, Tests, Variants, Vectors, processors};
use headrace::reading::read_at_most;
use headrace::words::plural;
use headrace_library::catalog::OperationSpec;
use headrace_library::vectors::MAX_FILE_BYTES;
use journal::Journal;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tables::{Scope, Table, Tables};

/// Runs the known-answer tests.
pub fn test(context: &mut Context, arguments: &TestArgs) -> Outcome {
    let test = wanted(arguments)?;
    let tests = context.workspace.tests(&test);
    let tests = context.told(tests)?;
    let journal = arguments.resume.as_deref().map(Journal::open).transpose()?;
    let (mut done, mut to_do) = (Vec::new(), Vec::new());
    for (at, job) in tests.jobs.iter().enumerate() {
        match journal.as_ref().and_then(|journal| journal.known(job)) {
            Some(known) => done.push((at, known)),
            None => to_do.push(at),
        }
    }
    if !done.is_empty() {
        let (n_known, n_jobs) = (done.len(), tests.jobs.len());
        context.terminal.note(&format!("{n_known} of {} passed before", plural(n_jobs, "operation and variant")));
    }
    let reporter = Reporter::new(context.terminal, &tests, journal.as_ref());
    done.extend(tests.run(to_do, &reporter));
    context.terminal.status("");
    if let Some(journal) = journal {
        journal.close()?;
    }
    let tally = tests.tally(&done);
    text::not_run(&tally).iter().for_each(|line| context.terminal.note(line));
    for line in text::lines(&tally) {
        output::print(format!("{line}\n").as_bytes())?;
    }
    text::describe_failures(&tally, context, &tests.files);
    if let Some(path) = &arguments.json {
        write_file(path, tally.json(&tests.files).as_bytes())?;
    }
    for document in &arguments.into {
        renew(document, &tests, &tally, &test.variants)?;
    }
    let (passed, failed, skipped) = tally.counts();
    output::print(format!("{passed} passed, {failed} failed, {skipped} skipped\n").as_bytes())?;
    if passed + failed + skipped == 0 {
        let words = &arguments.primitives;
        let of = if words.is_empty() { "anything that is here".to_owned() } else { format!("`{}`", words.join(" ")) };
        return Err(Error::wrong(format!("there are no known answers for {of}: nothing was tested")));
    }
    super::fail_if(failed > 0 || context.has_errors())
}

/// What the command line asks for.
fn wanted(arguments: &TestArgs) -> Outcome<Test> {
    Ok(Test {
        primitives: arguments.primitives.clone(),
        places: places_wanted(&arguments.on)?,
        variants: match arguments.variant.as_deref() {
            None => Variants::Usual,
            Some("all") => Variants::All,
            Some(name) => Variants::Only(name.to_owned()),
        },
        vectors: arguments.vectors.as_deref().map(vectors).transpose()?,
        compiler: arguments.compiler.clone(),
        command: super::itself(),
        workers: arguments.jobs.map_or_else(processors, |jobs| jobs as usize),
        limit: Duration::from_secs(arguments.timeout.into()),
    })
}

/// The places of these names, each once. Without a name, the engines.
fn places_wanted(on: &[String]) -> Outcome<Vec<Place>> {
    let mut places: Vec<Place> = Vec::new();
    let mut add = |place: Place| {
        if places.iter().all(|other| other.name() != place.name()) {
            places.push(place);
        }
    };
    if on.is_empty() {
        ALL.into_iter().map(Place::Engine).for_each(&mut add);
    }
    for name in on {
        match Place::all().find(|place| place.name() == name) {
            Some(place) => add(place),
            None if name == "all" => Place::all().for_each(&mut add),
            None if headrace_targets::ALL.iter().any(|target| target.name == name) => {
                return Err(Error::usage(format!(
                    "projects of target `{name}` hold no known answers: their own tests say what they find; \
                     `headrace build --target {name}` writes them"
                )));
            }
            None => {
                let known: Vec<&str> = Place::all().map(Place::name).collect();
                let (wrong, known) = (name.escape_debug(), known.join(", "));
                return Err(Error::usage(format!("`{wrong}` is no engine or target; all, {known} are")));
            }
        }
    }
    Ok(places)
}

/// The records of a file.
fn vectors(path: &Path) -> Outcome<Vectors> {
    let bytes = read_at_most(path, MAX_FILE_BYTES as u64).map_err(Error::Wrong)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Vectors { name, display: path.display().to_string(), bytes })
}

/// Puts the tables of what passed between the marks of a document.
fn renew(document: &Path, tests: &Tests, tally: &Tally, variants: &Variants) -> Outcome {
    let mut text = std::fs::read_to_string(document).map_err(|error| Error::io(document.display(), &error))?;
    let operations: Vec<&OperationSpec> = tests.scope.iter().collect();
    let tried = Scope { operations: &operations, variants };
    let tables = Tables { tally };
    let mut found = false;
    for mark in ["library", "works", "known-answers"] {
        // What was not run this time stays as it stands there.
        let before = Table::read(headrace_bench::tables::content(&text, mark).unwrap_or_default());
        let table = match mark {
            "library" => tables::members(&tests.library),
            "works" => tables.overview(&tests.library, &tried, &before),
            _ => tables.details(&tests.library, &tried, &before),
        };
        if let Some(new) = headrace_bench::tables::replace(&text, mark, &table) {
            text = new;
            found = true;
        }
    }
    if !found {
        return Err(Error::wrong(format!("{}: has no marks for a table", document.display())));
    }
    write_file(document, text.as_bytes())
}

/// Where one tells how far it is when nobody looks at a terminal.
const REPORTED: Duration = Duration::from_secs(60);

/// Tells how far a test is, and writes down what passes.
struct Reporter<'t> {
    terminal: Terminal,
    tests: &'t Tests,
    journal: Option<&'t Journal>,
    /// When a line was written last.
    line: Mutex<Instant>,
}

impl<'t> Reporter<'t> {
    fn new(terminal: Terminal, tests: &'t Tests, journal: Option<&'t Journal>) -> Self {
        Self { terminal, tests, journal, line: Mutex::new(Instant::now()) }
    }
}

impl Listener for Reporter<'_> {
    fn networks(&self, done: usize, of: usize) {
        self.terminal.status(&format!("{done} of {}", plural(of, "network")));
    }

    fn projects(&self, done: usize, of: usize) {
        let line = format!("{done} of {}", plural(of, "project"));
        self.terminal.status(&line);
        let mut last = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.terminal.interactive && last.elapsed() >= REPORTED {
            self.terminal.say(&line);
            *last = Instant::now();
        }
    }

    fn finished(&self, done: &[(usize, Done)]) {
        if let Some(journal) = self.journal {
            journal.add(done.iter().map(|(at, done)| (&self.tests.jobs[*at], done)));
        }
    }
}
