//! `headrace test`: known answers of primitives on engines, and in projects of targets.

mod journal;
mod kept;
mod projects;
mod queue;
mod tally;

use super::Context;
use crate::cli::TestArgs;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use crate::terminal::{Terminal, plural};
use crate::toolchains::{self, Found};
use headrace::Error;
use headrace::engines::{self, Available, EngineName, NotStarted};
use headrace::primitive::Runner;
use headrace::reading::read_at_most;
use headrace_engine::Engine;
use headrace_exchange::check_ports;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_library::catalog::{Library, OperationSpec};
use headrace_library::known_answers::{Case, Verdict, cases};
use headrace_library::vectors::{MAX_FILE_BYTES, VectorFile};
use headrace_targets::toolchain::{self, Toolchain};
use journal::Journal;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tally::Tally;

/// Most failures that are described.
const MAX_DESCRIBED: usize = 20;

/// A known-answer file with its cases.
struct File {
    /// Its name without folders.
    name: String,
    cases: Vec<Case>,
}

/// Where known answers are tried.
#[derive(Clone, Copy)]
enum Place {
    /// A network on an engine.
    Engine(EngineName),
    /// A project that is built and run.
    Project(&'static Toolchain),
}

impl Place {
    /// All of them, engines first.
    fn all() -> impl Iterator<Item = Self> {
        engines::ALL.into_iter().map(Place::Engine).chain(toolchain::of_known_answers().map(Place::Project))
    }

    /// What the command line calls it.
    fn name(self) -> &'static str {
        match self {
            Place::Engine(engine) => engines::name(engine),
            Place::Project(toolchain) => toolchain.name,
        }
    }
}

/// Which variants of operations are tried.
#[derive(Clone, Copy)]
enum Variants<'a> {
    /// All on engines; in projects, which take long to build, the first.
    Usual,
    All,
    Only(&'a str),
}

impl<'a> Variants<'a> {
    /// What `--variant` says.
    fn wanted(argument: Option<&'a str>) -> Self {
        match argument {
            None => Self::Usual,
            Some("all") => Self::All,
            Some(name) => Self::Only(name),
        }
    }

    /// Whether the variant of this name and number of an operation is tried in a place.
    fn has(self, place: Place, at: usize, name: &str) -> bool {
        match self {
            Self::Usual => at == 0 || matches!(place, Place::Engine(_)),
            Self::All => true,
            Self::Only(only) => only == name,
        }
    }
}

/// All cases of one operation that run on one network and in one place.
struct Job<'l> {
    spec: Cow<'l, OperationSpec>,
    variant: &'l str,
    /// What the records give the network beside what the manifest does.
    arguments: Vec<(String, String)>,
    place: Place,
    network: Result<Arc<Network>, String>,
    /// File and case.
    cases: Vec<(usize, usize)>,
}

/// What came of a case.
#[derive(Clone)]
enum Finding {
    Passed,
    Failed(String),
    /// For this reason.
    NotRun(Cow<'static, str>),
}

impl From<Verdict> for Finding {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passed => Finding::Passed,
            Verdict::Failed(why) => Finding::Failed(why),
        }
    }
}

impl Finding {
    fn not_run(why: &'static str) -> Self {
        Finding::NotRun(Cow::Borrowed(why))
    }
}

/// What came of a job: a finding for each case, and the time it took.
#[derive(Clone)]
struct Done {
    findings: Vec<Finding>,
    seconds: f64,
}

/// Runs the known-answer tests.
pub fn test(context: &mut Context, arguments: &TestArgs) -> Outcome {
    let library = context.library()?;
    let places = places_wanted(&arguments.on)?;
    let words: Vec<&str> = arguments.primitives.iter().map(String::as_str).collect();
    let scope = library.select(&words).map_err(|problem| Error::unknown(&problem))?;
    let variants = Variants::wanted(arguments.variant.as_deref());
    if let Variants::Only(name) = variants
        && scope.iter().all(|spec| spec.variant(Some(name)).is_none())
    {
        return Err(Error::usage(format!("nothing has a variant `{}`", name.escape_debug())));
    }
    let files = read_files(context, &library, &scope, arguments.vectors.as_deref())?;
    let mut present = Vec::new();
    let mut absent = Vec::new();
    let mut found = HashMap::new();
    let compiler = compiler_wanted(&places, arguments.compiler.as_deref())?;
    for place in places {
        match tools_of(place, compiler) {
            Ok(tools) => {
                present.push(place);
                found.extend(tools.map(|tools| (place.name(), tools)));
            }
            Err(why) => absent.push((place, why)),
        }
    }
    for (place, why) in &absent {
        context.terminal.note(&format!("{}: not run: {why}", place.name()));
    }
    if present.is_empty() {
        return Err(Error::missing("nothing that was asked for can run on this machine"));
    }
    let jobs = make_jobs(context, &library, &files, &present, variants);
    let workers = arguments.jobs.map_or_else(processors, |jobs| jobs as usize);
    let journal = arguments.resume.as_deref().map(Journal::open).transpose()?;
    let (mut done, mut to_do) = (Vec::new(), Vec::new());
    for (at, job) in jobs.iter().enumerate() {
        match journal.as_ref().and_then(|journal| journal.known(job)) {
            Some(known) => done.push((at, known)),
            None => to_do.push(at),
        }
    }
    if !done.is_empty() {
        let (n_known, n_jobs) = (done.len(), jobs.len());
        context.terminal.note(&format!("{n_known} of {} passed before", plural(n_jobs, "operation and variant")));
    }
    let finished = |done: &[(usize, Done)]| {
        if let Some(journal) = &journal {
            journal.add(done.iter().map(|(at, done)| (&jobs[*at], done)));
        }
    };
    let of_engines = |at: &usize| matches!(jobs[*at].place, Place::Engine(_));
    let (on_engines, in_projects): (Vec<usize>, Vec<usize>) = to_do.into_iter().partition(of_engines);
    done.extend(run_all(context.terminal, &jobs, on_engines, &files, workers, &finished));
    let plan = projects::Plan { found, workers, limit: Duration::from_secs(arguments.timeout.into()) };
    done.extend(projects::run(context.terminal, &jobs, in_projects, &files, &plan, &finished));
    if let Some(journal) = journal {
        journal.close()?;
    }
    let mut tally = Tally::default();
    for (at, done) in &done {
        tally.add(&jobs[*at], done, &files);
    }
    for (place, _) in &absent {
        tally.skip(*place, &files);
    }
    for line in tally.not_run() {
        context.terminal.note(&line);
    }
    for line in tally.lines() {
        output::print(format!("{line}\n").as_bytes())?;
    }
    tally.describe_failures(context, &files);
    if let Some(path) = &arguments.json {
        write_file(path, tally.json(&files).as_bytes())?;
    }
    let tried = tally::Scope { operations: &scope, variants };
    for document in &arguments.into {
        let mut text = std::fs::read_to_string(document).map_err(|error| Error::io(document.display(), &error))?;
        let mut found = false;
        for mark in ["library", "works", "known-answers"] {
            // What was not run this time stays as it stands there.
            let before = tally::Table::read(headrace_bench::tables::content(&text, mark).unwrap_or_default());
            let table = match mark {
                "library" => tally::members(&library),
                "works" => tally.overview(&library, &tried, &before),
                _ => tally.details(&library, &tried, &before),
            };
            if let Some(new) = headrace_bench::tables::replace(&text, mark, &table) {
                text = new;
                found = true;
            }
        }
        if !found {
            return Err(Error::wrong(format!("{}: has no marks for a table", document.display())));
        }
        write_file(document, text.as_bytes())?;
    }
    let (passed, failed, skipped) = tally.counts();
    output::print(format!("{passed} passed, {failed} failed, {skipped} skipped\n").as_bytes())?;
    if passed + failed + skipped == 0 {
        let of = if words.is_empty() { "anything that is here".to_owned() } else { format!("`{}`", words.join(" ")) };
        return Err(Error::wrong(format!("there are no known answers for {of}: nothing was tested")));
    }
    super::fail_if(failed > 0 || context.has_errors())
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
        engines::ALL.into_iter().map(Place::Engine).for_each(&mut add);
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

/// The compiler that is named, as long as it is for one target.
fn compiler_wanted<'c>(places: &[Place], compiler: Option<&'c str>) -> Outcome<Option<&'c str>> {
    match (compiler, places) {
        (None, _) | (_, [Place::Project(_)]) => Ok(compiler),
        _ => Err(Error::usage("--compiler is for one target, which --on names; of the engine native, CC says it")),
    }
}

/// What a place needs, where it needs more than this command; or what is missing.
fn tools_of(place: Place, compiler: Option<&str>) -> Result<Option<Found>, String> {
    match place {
        Place::Project(toolchain) => toolchains::find(toolchain, compiler).map(Some),
        Place::Engine(engine) => match engines::availability(engine) {
            Available::Here(_) => Ok(None),
            Available::Missing(why) => Err(why),
        },
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
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
        let bytes = read_at_most(path, MAX_FILE_BYTES as u64).map_err(Error::wrong)?;
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
            let Some((display, text)) = context.workspace.roots.text(&path) else {
                return Err(Error::wrong(format!("the manifest names `{path}`, which is not there")));
            };
            texts.push((name, display, text.map_err(Error::wrong)?.into_bytes()));
        }
    }
    let mut files = Vec::new();
    for (name, display, bytes) in texts {
        let id = context.workspace.session.sources.add(display, String::from_utf8_lossy(&bytes));
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

/// A job for every operation, variant, set of network arguments and place that has cases.
fn make_jobs<'l>(
    context: &mut Context,
    library: &'l Library,
    files: &[File],
    places: &[Place],
    variants: Variants<'_>,
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
        for (at, (variant, named)) in spec.variants.iter().zip(&plain.variants).enumerate() {
            let places: Vec<Place> =
                places.iter().copied().filter(|place| variants.has(*place, at, &named.name)).collect();
            if places.is_empty() {
                continue;
            }
            let text = variant.network.to_string();
            let network = networks.entry(text.clone()).or_insert_with(|| {
                let network = context.elaborate(&text, &[]).map_err(|error| match error {
                    Error::Told => format!("`{text}` has errors"),
                    error => error.to_string(),
                })?;
                check_ports(&spec, &network).map(|()| network)
            });
            for place in places {
                jobs.push(Job {
                    spec: spec.clone(),
                    variant: &named.name,
                    arguments: arguments.clone(),
                    place,
                    network: network.clone(),
                    cases: cases.clone(),
                });
            }
        }
    }
    jobs
}

/// Runs jobs on engines, so many at a time; gives what came of each by its number.
fn run_all(
    terminal: Terminal,
    jobs: &[Job],
    mut order: Vec<usize>,
    files: &[File],
    workers: usize,
    finished: &Finished<'_>,
) -> Vec<(usize, Done)> {
    let n_jobs = order.len();
    // The slow ones first, so that the last one to end is a short one.
    let weight = |job: &Job| {
        job.cases.iter().map(|(file, case)| if files[*file].cases[*case].is_chain() { 1000 } else { 1 }).sum::<usize>()
    };
    let is_slow = |job: &Job| matches!(job.place, Place::Engine(EngineName::Interp));
    order.sort_by_key(|at| std::cmp::Reverse((is_slow(&jobs[*at]), weight(&jobs[*at]))));
    let next = AtomicUsize::new(0);
    let done = in_turn(
        || order.get(next.fetch_add(1, Ordering::Relaxed)),
        workers.min(n_jobs),
        |at| {
            let done = vec![(*at, run_job(&jobs[*at], files))];
            finished(&done);
            done
        },
        |n| terminal.status(&format!("{n} of {}", plural(n_jobs, "network"))),
    );
    terminal.status("");
    done
}

/// Hears what came of jobs, by their numbers, as soon as it is known.
type Finished<'a> = dyn Fn(&[(usize, Done)]) + Sync + 'a;

/// Does one piece of work after the other, so many at a time; `told` hears how many are done.
fn in_turn<W>(
    next: impl Fn() -> Option<W> + Sync,
    workers: usize,
    of: impl Fn(W) -> Vec<(usize, Done)> + Sync,
    told: impl Fn(usize) + Sync,
) -> Vec<(usize, Done)> {
    let finished = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            // Networks may nest deeply.
            let worker = std::thread::Builder::new().stack_size(256 << 20);
            let run = || {
                while let Some(one) = next() {
                    let done = of(one);
                    results.lock().unwrap_or_else(PoisonError::into_inner).extend(done);
                    told(finished.fetch_add(1, Ordering::Relaxed) + 1);
                }
            };
            if worker.spawn_scoped(scope, run).is_err() {
                run();
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results
}

fn run_job(job: &Job, files: &[File]) -> Done {
    let began = Instant::now();
    let all_fail = |message: &str| vec![Finding::Failed(message.to_owned()); job.cases.len()];
    let findings = match (&job.network, job.place) {
        (Err(message), _) => all_fail(message),
        (Ok(_), Place::Project(_)) => all_fail("a project is no engine"),
        (Ok(network), Place::Engine(engine)) => match engines::Factory::new(engine, network, DEFAULT_FIFO_TOKENS) {
            Err(problem) => match in_the_way(&problem) {
                // That says nothing about the network.
                Some(why) => vec![Finding::NotRun(Cow::Owned(why)); job.cases.len()],
                None => all_fail(&problem.describe()),
            },
            Ok(factory) => play(job, files, network, &factory),
        },
    };
    Done { findings, seconds: began.elapsed().as_secs_f64() }
}

/// What keeps compiled code from running here now, whatever it is compiled of.
fn in_the_way(problem: &NotStarted) -> Option<String> {
    match problem {
        NotStarted::Wrong(_) => None,
        NotStarted::MissingTool(why) | NotStarted::Unable(why) => Some(engines::first_line(why).to_owned()),
        // A compiler that refuses this program and takes another one has found a mistake in this one.
        NotStarted::Failed(_) => match engines::availability(EngineName::Native) {
            Available::Here(_) => None,
            Available::Missing(why) => Some(why),
        },
    }
}

/// Plays the cases of a job on one engine after another; a new engine only after a failure.
fn play(job: &Job, files: &[File], network: &Network, factory: &engines::Factory) -> Vec<Finding> {
    let mut runner: Option<Runner> = None;
    let mut findings = Vec::with_capacity(job.cases.len());
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
        findings.push(verdict.map_or_else(Finding::Failed, Finding::from));
    }
    findings
}
