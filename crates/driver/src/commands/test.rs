//! `headrace test`: known answers of primitives on every engine.

mod tally;

use super::Context;
use crate::cli::{EngineName, TestArgs};
use crate::engines::{self, Available};
use crate::failure::{Failure, Outcome};
use crate::output::{self, write_file};
use crate::primitive::Runner;
use crate::reading::read_at_most;
use crate::terminal::{Terminal, plural};
use headrace_engine::Engine;
use headrace_exchange::check_ports;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::known_answers::{Case, Verdict, cases};
use headrace_library::vectors::{MAX_FILE_BYTES, VectorFile};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tally::Tally;

/// Most failures that are described.
const MAX_DESCRIBED: usize = 20;

/// A known-answer file with its cases.
struct File {
    /// Its name without folders.
    name: String,
    cases: Vec<Case>,
}

/// All cases of one operation that run on one network and one engine.
struct Job<'l> {
    spec: Cow<'l, OperationSpec>,
    variant: &'l str,
    engine: EngineName,
    network: Result<Arc<Network>, String>,
    /// File and case.
    cases: Vec<(usize, usize)>,
}

/// What came of a job: a verdict for each case, and the time it took.
struct Done {
    verdicts: Vec<Verdict>,
    seconds: f64,
}

/// Runs the known-answer tests.
pub fn test(context: &mut Context, arguments: &TestArgs) -> Outcome {
    let library = context.library()?;
    let engines = engines_wanted(&arguments.on)?;
    let words: Vec<&str> = arguments.primitives.iter().map(String::as_str).collect();
    let scope = library.select(&words).map_err(|problem| context.usage(&problem))?;
    let has = |variant: &String| scope.iter().any(|spec| spec.variant(Some(variant)).is_some());
    if let Some(variant) = arguments.variant.as_ref().filter(|variant| !has(variant)) {
        return Err(Failure::usage(format!("nothing has a variant `{}`", variant.escape_debug())));
    }
    let files = read_files(context, &library, &scope, arguments.vectors.as_deref())?;
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for engine in engines {
        match engines::availability(engine) {
            Available::Here(_) => present.push(engine),
            Available::Missing(why) => absent.push((engine, why)),
        }
    }
    let jobs = make_jobs(context, &library, &files, &present, arguments.variant.as_deref());
    let done = run_all(context.terminal, &jobs, &files);
    let mut tally = Tally::default();
    for (job, done) in jobs.iter().zip(&done) {
        tally.add(job, done, &files);
    }
    for (engine, why) in &absent {
        context.terminal.note(&format!("{}: not run: {why}", engines::name(*engine)));
        tally.skip(*engine, &files);
    }
    for line in tally.lines() {
        output::print(format!("{line}\n").as_bytes())?;
    }
    tally.describe_failures(context, &files);
    if let Some(path) = &arguments.json {
        write_file(path, tally.json(&files).as_bytes())?;
    }
    for document in &arguments.into {
        let mut text = std::fs::read_to_string(document).map_err(|error| Failure::io(document.display(), &error))?;
        let mut found = false;
        for (mark, table) in [("works", tally.overview(&library)), ("known-answers", tally.details(&library))] {
            if let Some(new) = headrace_bench::tables::replace(&text, mark, &table) {
                text = new;
                found = true;
            }
        }
        if !found {
            return Err(Failure::wrong(format!("{}: has no marks for a table", document.display())));
        }
        write_file(document, text.as_bytes())?;
    }
    let (passed, failed, skipped) = tally.counts();
    output::print(format!("{passed} passed, {failed} failed, {skipped} skipped\n").as_bytes())?;
    super::fail_if(failed > 0 || context.has_errors())
}

fn engines_wanted(on: &[String]) -> Outcome<Vec<EngineName>> {
    if on.is_empty() {
        return Ok(engines::ALL.to_vec());
    }
    on.iter()
        .map(|name| {
            engines::named(name).ok_or_else(|| {
                let known: Vec<&str> = engines::ALL.iter().map(|engine| engines::name(*engine)).collect();
                Failure::usage(format!("`{}` is no engine or target; {} are", name.escape_debug(), known.join(", ")))
            })
        })
        .collect()
}

/// Reads the known-answer files of the scope, or the one that is given, and makes cases of them.
fn read_files(
    context: &mut Context,
    library: &Library,
    scope: &[&OperationSpec],
    given: Option<&Path>,
) -> Outcome<Vec<File>> {
    let mut texts: Vec<(String, String, Vec<u8>)> = Vec::new();
    if let Some(path) = given {
        let bytes = read_at_most(path, MAX_FILE_BYTES as u64).map_err(Failure::wrong)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        texts.push((name, path.display().to_string(), bytes));
    } else {
        let mut paths: Vec<String> = Vec::new();
        for manifest in
            library.manifests().iter().filter(|manifest| scope.iter().any(|spec| spec.folder == manifest.folder))
        {
            paths.extend(library.vector_files(manifest));
        }
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
            let Some((display, text)) = context.roots.text(&path) else {
                return Err(Failure::wrong(format!("the manifest names `{path}`, which is not there")));
            };
            texts.push((name, display, text.map_err(Failure::wrong)?.into_bytes()));
        }
    }
    let mut files = Vec::new();
    for (name, display, bytes) in texts {
        let id = context.session.sources.add(display, String::from_utf8_lossy(&bytes));
        let (file, mut problems) = VectorFile::parse(id, &bytes);
        let made = cases(library, &name, &file, scope);
        problems.extend(made.problems);
        context.show(&problems);
        files.push(File { name, cases: made.cases });
    }
    Ok(files)
}

/// Operation and the arguments that its records give its network.
type Group = (usize, Vec<(String, String)>);

/// A job for every operation, variant, set of network arguments and engine that has cases.
fn make_jobs<'l>(
    context: &mut Context,
    library: &'l Library,
    files: &[File],
    engines: &[EngineName],
    only_variant: Option<&str>,
) -> Vec<Job<'l>> {
    let mut groups: BTreeMap<Group, Vec<(usize, usize)>> = BTreeMap::new();
    let position: HashMap<(&str, &str), usize> = library
        .operations()
        .iter()
        .enumerate()
        .map(|(at, spec)| ((spec.set.as_str(), spec.name.as_str()), at))
        .collect();
    for (file_at, file) in files.iter().enumerate() {
        for (case_at, case) in file.cases.iter().enumerate() {
            if let Some(spec) = position.get(&(case.set.as_str(), case.operation.as_str())) {
                groups.entry((*spec, case.arguments.clone())).or_default().push((file_at, case_at));
            }
        }
    }
    let mut networks: HashMap<String, Result<Arc<Network>, String>> = HashMap::new();
    let mut jobs = Vec::new();
    for ((spec, arguments), cases) in groups {
        let plain = &library.operations()[spec];
        let spec = match arguments.as_slice() {
            [] => Cow::Borrowed(plain),
            arguments => Cow::Owned(plain.with_arguments(arguments)),
        };
        for (variant, named) in spec.variants.iter().zip(&plain.variants) {
            if only_variant.is_some_and(|only| only != variant.name) {
                continue;
            }
            let text = variant.network.to_string();
            let network = networks.entry(text.clone()).or_insert_with(|| {
                let network = context.elaborate(&text, &[]).map_err(|failure| match failure.message.as_str() {
                    "" => format!("`{text}` has errors"),
                    message => message.to_owned(),
                })?;
                check_ports(&spec, &network).map(|()| network)
            });
            for engine in engines {
                jobs.push(Job {
                    spec: spec.clone(),
                    variant: &named.name,
                    engine: *engine,
                    network: network.clone(),
                    cases: cases.clone(),
                });
            }
        }
    }
    jobs
}

/// Runs all jobs, as many at a time as there are cores.
fn run_all(terminal: Terminal, jobs: &[Job], files: &[File]) -> Vec<Done> {
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Done>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(jobs.len().max(1));
    // The slow ones first, so that the last one to end is a short one.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    let weight = |job: &Job| {
        job.cases.iter().map(|(file, case)| if files[*file].cases[*case].is_chain() { 1000 } else { 1 }).sum::<usize>()
    };
    order.sort_by_key(|at| std::cmp::Reverse((jobs[*at].engine == EngineName::Interp, weight(&jobs[*at]))));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            let work = || {
                while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done = run_job(&jobs[*at], files);
                    *results[*at].lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
                    let n = finished.fetch_add(1, Ordering::Relaxed) + 1;
                    terminal.status(&format!("{n} of {}", plural(jobs.len(), "network")));
                }
            };
            if worker.spawn_scoped(scope, work).is_err() {
                work();
            }
        }
    });
    terminal.status("");
    let missing = |cases: usize| Done { verdicts: vec![Verdict::Failed("was not run".into()); cases], seconds: 0.0 };
    let taken = results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.zip(jobs).map(|(done, job)| done.unwrap_or_else(|| missing(job.cases.len()))).collect()
}

fn run_job(job: &Job, files: &[File]) -> Done {
    let began = Instant::now();
    let all_fail = |message: &str| vec![Verdict::Failed(message.to_owned()); job.cases.len()];
    let verdicts = match &job.network {
        Err(message) => all_fail(message),
        Ok(network) => match engines::Factory::new(job.engine, network, DEFAULT_FIFO_TOKENS) {
            Err(problem) => all_fail(&problem.describe()),
            Ok(factory) => play(job, files, network, &factory),
        },
    };
    Done { verdicts, seconds: began.elapsed().as_secs_f64() }
}

/// Plays the cases of a job on one engine after another; a new engine only after a failure.
fn play(job: &Job, files: &[File], network: &Network, factory: &engines::Factory) -> Vec<Verdict> {
    let mut runner: Option<Runner> = None;
    let mut verdicts = Vec::with_capacity(job.cases.len());
    for (file, case) in &job.cases {
        let case = &files[*file].cases[*case];
        let verdict = case.perform(&job.spec, |call| {
            let mut current = match runner.take() {
                Some(current) => current,
                None => {
                    let engine: Box<dyn Engine> = factory.engine().map_err(|problem| problem.describe())?;
                    Runner::new(&job.spec, network, engine)
                }
            };
            let answer = current.perform(&call.input)?;
            runner = Some(current);
            Ok::<_, String>(answer)
        });
        verdicts.push(verdict.unwrap_or_else(Verdict::Failed));
    }
    verdicts
}
