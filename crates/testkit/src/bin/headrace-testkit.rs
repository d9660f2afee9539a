//! Generated programs from the shell: shows them, writes them, compares engines on them.

use headrace::toolchains;
use headrace_targets::toolchain;
use headrace_testkit::automata::{self, library::Extent};
use headrace_testkit::benchmark_source;
use headrace_testkit::corpus::mutate;
use headrace_testkit::corpus::survey::Survey;
use headrace_testkit::differential::judge::{self, Work};
use headrace_testkit::differential::native::Native;
use headrace_testkit::differential::program;
use headrace_testkit::differential::supervise;
use headrace_testkit::document::put_into;
use headrace_testkit::generate::{Cuts, Knobs, generate};
use headrace_testkit::printed::{self, campaign, names};
use headrace_testkit::taint;
use headrace_testkit::{hardware, mapped, peers};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: headrace-testkit COMMAND
  show SEED                the files and the input of a generated program
  write SEED DIR           its files below a folder
  ir [--seed S] [--cuts F] its network, as the engines get it
  bench-source DIR         the actors that `headrace check` is measured on
  differential [OPTIONS]   compares engines, firing orders and FIFO sizes on generated programs
    --seed S               seed of the first case (default 0)
    --cases N              number of cases (default 2000; with --hours: no limit)
    --hours H              how long to go on, fractions allowed
    --minutes M            the same in minutes
    --seconds S            the same in seconds
    --on T[,T]             in programs of these targets, or of all (`list` shows them), in the place of the engines;
                           --cases, --hours and the like are for each target, --batch is 100 networks in one program,
                           --cc the tool that compiles
    --interp               the interpreter alone
    --cc CC                the C compiler (default: $CC, or cc)
    --sanitize             native code under the address and undefined-behaviour sanitizers
    --threads              native code on two to four threads, with a random mapping for each case
    --strict               warnings of the C compiler are failures
    --batch N              cases in one process (default 200: 100 in one compilation of either form)
    --jobs N               batches at a time (default: processors)
    --out DIR              shrinks what fails and writes it there
    --tries N              programs tried while shrinking one (default 400)
    --failures N           stops after so many (default 20)
  automata [SET…] [OPTIONS]   control automata, printed and read again, on known answers of the library against what these say
    --answers N            known answers of each operation (default: all)
    --bytes N              the longest message (default 4096)
    --messages N           where there are fewer answers, random messages against the interpreter (default 8)
    --seconds S            begins no further answer of an operation after so long
    --results FILE         where a line goes for each operation; those that have one are not compared again
    --commit NAME          the commit of the compiler, for results that begin and their table
    --into FILE            a document that gets a table of all results there are, between its marks
    --random N             as many random networks against the interpreter, in the place of the library
    --seed S               of the first one (default 0)
  hardware [OPTIONS]       random networks as hardware, in the simulator of designs with stalls, against the interpreter
    --actors N             until so many actors were compared (default 1000)
    --seed S               of the first network (default 0)
    --seconds S            begins no further ones after so long
    --results FILE         where it is kept what was compared; a later run goes on behind it
    --commit C             of the compiler, for the table
    --into DOCUMENT        puts a table of the results there
  mapped [OPTIONS]         random networks on an array of small processors, simulated, against the interpreter
    --cases N              networks that can be mapped (default 10000)
    --rtl                  as soft cores and as state machines in RTL, the former cycle by cycle
    --seed S               of the first network that is tried (default 0)
    --seconds S            begins no further one after so long
  sanitize [OPTIONS]       the same as differential --sanitize --cases 200
  peers [PRIMITIVE…] [OPTIONS]   every operation of the crypto library against independent implementations
    --messages N           random messages for each operation and variant (default 10000)
    --seed S               what they are made from (default 0)
    --blocks N             as many messages as have so many blocks of input
    --engine E             native (default); interp; or fused, which is held to native where there is no peer
    --variant V            only this variant
    --fifo N               capacity of FIFOs, in tokens (default 512)
    --seconds S            begins nothing new after so long
    --jobs N               operations at a time (default: processors)
    --library DIR          the repository (default: this folder)
    --json FILE            results as data
  taint FILE OPTIONS       where machine code shows a secret in its branches, addresses and times; see docs/machine-code.md
    --region NAME=WHAT     memory that holds secret, public or zero bytes, or pointers to another region (&REGION)
    --secret PART          a part of a region is secret: REGION[FROM..TO], or REGION:STRUCT.FIELD by debug information
    --public PART          a part is public
    --call TEXT            walks a call like 'f(&region, &region+64, 16, public, secret, *secret, *public)'; several in turn
    --budget N             instructions that are executed at most (default 100000000)
    --json                 the findings as data
  names --on T[,T]         everything in networks is called by all words of all languages, on these targets, or on all
  names --write DIR        the sources of such networks, a folder for each role and every 60 words
  corpus DIR [OPTIONS]     what `headrace check` says of every program of a tree: a line of JSON each, and a table
    --headrace PATH        the command (default: beside this one)
    --results FILE         where the lines go; what it has already is not asked for again (default corpus.jsonl)
    --seconds S            time for one file (default 60)
    --with OPTION          an option of `headrace check`; repeats
  mutate DIR [OPTIONS]     programs of a tree, changed at random, through check and run: no panic, no hang, bounded memory
    --headrace PATH        the command (default: beside this one)
    --cases N              number of programs (default 2000)
    --seed S               of the first one (default 0)
    --seconds S            time for one command (default 60)
    --out DIR              where programs go on which a command failed (default mutated)
  judge [OPTIONS]          the same for one batch in this process: --seed, --cases, --cuts FILE, --interp, --cc, --sanitize, --strict, --threads,
                           --work DIR (compiled code goes there and stays)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match &words[..] {
        ["show", seed] => show(seed),
        ["write", seed, dir] => number(seed)
            .and_then(|seed| write(Path::new(dir), &generate(seed, &Knobs::default()).texts(&Cuts::default()))),
        ["bench-source", dir] => write(Path::new(dir), &benchmark_source::actors(100, 1000, 1)),
        ["ir", rest @ ..] => Options::parse(rest).and_then(|options| options.ir()),
        ["automata", rest @ ..] => automata(rest),
        ["sanitize", rest @ ..] => Options::parse(rest).and_then(|options| options.sanitized().differential()),
        ["hardware", rest @ ..] => in_hardware(rest),
        ["mapped", rest @ ..] => on_an_array(rest),
        ["names", "--on", targets] => names_on(targets),
        ["names", "--write", dir] => write_names(Path::new(dir)),
        ["differential", rest @ ..] => Options::parse(rest).and_then(|options| options.differential()),
        ["peers", rest @ ..] => compare_with_peers(rest),
        ["taint", file, rest @ ..] => walk_machine_code(file, rest),
        ["corpus", dir, rest @ ..] => survey(dir, rest),
        ["mutate", dir, rest @ ..] => mutated(dir, rest),
        ["judge", rest @ ..] => Options::parse(rest).and_then(|options| options.judge()),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number\n{USAGE}"))
}

/// The command beside this one, as cargo and installations put them.
fn beside() -> PathBuf {
    std::env::current_exe().map_or_else(|_| "headrace".into(), |own| own.with_file_name("headrace"))
}

/// Where a command finds itself when it runs in another folder.
fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{path}: {error}"))
}

fn automata(words: &[&str]) -> Result<ExitCode, String> {
    let mut campaign = automata::campaign::Campaign {
        sets: Vec::new(),
        extent: Extent::default(),
        results: None,
        commit: None,
        into: None,
    };
    let (mut random, mut seed) = (None, 0);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--answers" => campaign.extent.answers = number(value()?)?,
            "--bytes" => campaign.extent.bytes = number(value()?)?,
            "--messages" => campaign.extent.messages = number(value()?)?,
            "--seconds" => campaign.extent.time = time(value()?, 1.0)?,
            "--results" => campaign.results = Some(absolute(value()?)?),
            "--commit" => campaign.commit = Some(value()?.to_owned()),
            "--into" => campaign.into = Some(absolute(value()?)?),
            "--random" => random = Some(number::<u64>(value()?)?),
            "--seed" => seed = number(value()?)?,
            _ if word.starts_with('-') => return Err(format!("unknown option {word}\n{USAGE}")),
            set => campaign.sets.push(set.to_owned()),
        }
    }
    if random.is_some() && (!campaign.sets.is_empty() || campaign.results.is_some()) {
        return Err(format!("--random excludes parameter sets and results\n{USAGE}"));
    }
    // The evaluator nests as values do.
    let compare = move || match random {
        Some(cases) => random_automata(seed, cases),
        None => automata_of_the_library(&campaign),
    };
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(compare).map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the comparison ended by itself".to_owned())?
}

/// Random networks as hardware.
fn in_hardware(words: &[&str]) -> Result<ExitCode, String> {
    let mut campaign = hardware::campaign::Campaign { actors: 1000, seed: 0, time: None, results: None };
    let (mut commit, mut into) = (None, None);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--actors" => campaign.actors = number(value()?)?,
            "--seed" => campaign.seed = number(value()?)?,
            "--seconds" => campaign.time = Some(time(value()?, 1.0)?),
            "--results" => campaign.results = Some(absolute(value()?)?),
            "--commit" => commit = Some(value()?),
            "--into" => into = Some(absolute(value()?)?),
            _ => return Err(format!("unknown option {word}\n{USAGE}")),
        }
    }
    let summary = hardware::campaign::campaign(&campaign, &mut |line| println!("{line}"))?;
    println!("{summary}");
    if let Some(path) = into {
        let io = |error: std::io::Error| format!("{}: {error}", path.display());
        let document = std::fs::read_to_string(&path).map_err(io)?;
        let table = summary.table(commit);
        let document = put_into(&document, hardware::campaign::MARK, &table)
            .map_err(|why| format!("{}: {why}", path.display()))?;
        std::fs::write(&path, document).map_err(io)?;
    }
    let enough = campaign.time.is_some() || summary.actors >= campaign.actors;
    Ok(if summary.passed() && enough { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Random networks on an array; one after the other, as each takes milliseconds.
fn on_an_array(words: &[&str]) -> Result<ExitCode, String> {
    let (mut cases, mut first, mut limit, mut in_rtl) = (10_000, 0, None, false);
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--cases" => cases = number::<u64>(value()?)?,
            "--seed" => first = number::<u64>(value()?)?,
            "--seconds" => limit = Some(time(value()?, 1.0)?),
            "--rtl" => in_rtl = true,
            _ => return Err(format!("unknown option {word}\n{USAGE}")),
        }
    }
    let machine = if in_rtl { mapped::clocked_machine()? } else { mapped::roomy()? };
    let case = if in_rtl { mapped::random_case_in_rtl } else { mapped::random_case };
    let began = Instant::now();
    let (mut n_mapped, mut n_failed, mut seed) = (0, 0, first);
    let end = first.saturating_add(cases.saturating_mul(mapped::TRIES));
    while n_mapped < cases && seed < end && limit.is_none_or(|limit| began.elapsed() < limit) {
        match case(seed, &machine) {
            Ok(was_mapped) => n_mapped += u64::from(was_mapped),
            Err(why) => {
                n_failed += 1;
                println!("seed {seed}: {why}");
            }
        }
        seed += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} networks, {n_mapped} mapped and right, {n_failed} failed ({seconds:.0} s)", seed - first);
    Ok(if n_failed == 0 && n_mapped > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn random_automata(seed: u64, cases: u64) -> Result<ExitCode, String> {
    let (mut automata, mut failed) = (0, 0);
    for seed in seed..seed.saturating_add(cases) {
        match automata::random(seed) {
            Ok(had_one) => automata += u64::from(had_one),
            Err(why) => {
                failed += 1;
                println!("seed {seed}: {why}");
            }
        }
    }
    println!("{cases} networks, {automata} automata, {failed} failed");
    Ok(if failed == 0 && automata > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn automata_of_the_library(campaign: &automata::campaign::Campaign) -> Result<ExitCode, String> {
    let summary = automata::campaign::campaign(campaign, Path::new("."), &mut |line| println!("{line}"))?;
    println!("{summary}");
    Ok(if summary.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn survey(dir: &str, words: &[&str]) -> Result<ExitCode, String> {
    let mut survey = Survey {
        headrace: beside(),
        folder: absolute(dir)?,
        options: Vec::new(),
        results: "corpus.jsonl".into(),
        time: mutate::LIMITS.time,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--headrace" => survey.headrace = absolute(value()?)?,
            "--results" => survey.results = value()?.into(),
            "--seconds" => survey.time = time(value()?, 1.0)?,
            "--with" => survey.options.push(value()?.to_owned()),
            _ => return Err(format!("unknown option {word}\n{USAGE}")),
        }
    }
    print!("{}", headrace_testkit::corpus::survey::survey(&survey)?);
    Ok(ExitCode::SUCCESS)
}

fn mutated(dir: &str, words: &[&str]) -> Result<ExitCode, String> {
    let mut campaign = mutate::Campaign {
        headrace: beside(),
        folder: absolute(dir)?,
        seed: 0,
        cases: 2000,
        limits: mutate::LIMITS,
        out: absolute("mutated")?,
    };
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--headrace" => campaign.headrace = absolute(value()?)?,
            "--cases" => campaign.cases = number(value()?)?,
            "--seed" => campaign.seed = number(value()?)?,
            "--seconds" => campaign.limits.time = time(value()?, 1.0)?,
            "--out" => campaign.out = absolute(value()?)?,
            _ => return Err(format!("unknown option {word}\n{USAGE}")),
        }
    }
    let summary = mutate::campaign(&campaign)?;
    let statuses: Vec<String> = summary.statuses.iter().map(|(status, n)| format!("{n} of status {status}")).collect();
    println!(
        "{} programs: {}; {} failed; at most {} MiB",
        campaign.cases,
        statuses.join(", "),
        summary.failures.len(),
        summary.memory >> 20
    );
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(seed: &str) -> Result<ExitCode, String> {
    let case = generate(number(seed)?, &Knobs::default());
    for (path, text) in case.texts(&Cuts::default()) {
        println!("==> {path} <==\n{text}");
    }
    for stream in &case.inputs {
        let tokens: Vec<String> = stream.tokens.iter().map(ToString::to_string).collect();
        println!("{} {:?}: {}", stream.port, stream.scalar, tokens.join(","));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(dir: &Path, files: &[(String, String)]) -> Result<ExitCode, String> {
    for (path, text) in files {
        let path = dir.join(path);
        let parent = path.parent().unwrap_or(dir);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Networks of names in programs of targets.
fn names_on(targets: &str) -> Result<ExitCode, String> {
    let asked: Vec<&str> = targets.split(',').collect();
    let languages = printed::ALL.iter().filter(|language| asked.contains(&language.name) || asked == ["all"]);
    let words = names::words();
    let (mut n_run, mut n_failed) = (0, 0);
    for language in languages {
        let Some(toolchain) = toolchain::named(language.name) else { continue };
        let found = match toolchains::find(toolchain, None, None) {
            Ok(found) => found,
            Err(why) => {
                println!("{}: not run: {why}", language.name);
                continue;
            }
        };
        let began = Instant::now();
        let mut failed = 0;
        for part in words.chunks(names::MOST) {
            let wrong = campaign::held(language, &found, campaign::Plan::default().limit, names::networks(part)?);
            failed += wrong.len();
            for (at, why) in wrong {
                eprintln!("{}: {:?} called {part:?}: {why}", language.name, names::ROLES[at as usize]);
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{}: {} words in {} roles, {failed} failed ({seconds:.0} s)",
            language.name,
            words.len(),
            names::ROLES.len()
        );
        n_run += 1;
        n_failed += failed;
    }
    Ok(match (n_run, n_failed) {
        (0, _) => ExitCode::from(4),
        (_, 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Their sources.
fn write_names(dir: &Path) -> Result<ExitCode, String> {
    for (at, part) in names::words().chunks(names::MOST).enumerate() {
        for &role in names::ROLES {
            write(&dir.join(format!("{role:?}_{at}").to_lowercase()), &names::texts(role, part))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Options {
    seed: u64,
    cases: Option<u64>,
    time: Option<Duration>,
    interp: bool,
    compiler: Option<String>,
    sanitize: bool,
    strict: bool,
    threads: bool,
    on: Vec<String>,
    batch: Option<u64>,
    jobs: Option<usize>,
    out: Option<PathBuf>,
    tries: usize,
    failures: usize,
    cuts: Cuts,
    work: Option<PathBuf>,
}

/// Set in the process that the sanitizers' run-time library was loaded into.
const PRELOADED: &str = "HEADRACE_TESTKIT_PRELOADED";

/// Runs this command again with the address sanitizer's library loaded first, as code that is loaded later needs it.
fn sanitized(compiler: Option<&str>) -> Result<ExitCode, String> {
    let compiler = compiler.map(str::to_owned).or_else(|| std::env::var("CC").ok()).unwrap_or_else(|| "gcc".to_owned());
    let asked = std::process::Command::new(&compiler).arg("-print-file-name=libasan.so").output();
    let library = asked.map_err(|error| format!("{compiler}: {error}"))?.stdout;
    let library = String::from_utf8_lossy(&library).trim().to_owned();
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    // In the place of this process, so that whoever watches it sees and ends the right one.
    let error = std::os::unix::process::CommandExt::exec(
        std::process::Command::new(program)
            .args(std::env::args_os().skip(1))
            .env("LD_PRELOAD", library)
            .env("ASAN_OPTIONS", "detect_leaks=0:exitcode=99")
            .env("UBSAN_OPTIONS", "print_stacktrace=1")
            .env(PRELOADED, "1"),
    );
    Err(format!("cannot start this program again: {error}"))
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            seed: 0,
            cases: None,
            time: None,
            interp: false,
            compiler: None,
            sanitize: false,
            strict: false,
            threads: false,
            on: Vec::new(),
            batch: None,
            jobs: None,
            out: None,
            tries: 400,
            failures: 20,
            cuts: Cuts::default(),
            work: None,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word {
                "--seed" => options.seed = number(value()?)?,
                "--cases" => options.cases = Some(number(value()?)?),
                "--hours" => options.time = Some(time(value()?, 3600.0)?),
                "--seconds" => options.time = Some(time(value()?, 1.0)?),
                "--on" => options.on = value()?.split(',').map(str::to_owned).collect(),
                "--minutes" => options.time = Some(time(value()?, 60.0)?),
                "--interp" => options.interp = true,
                "--cc" => options.compiler = Some(value()?.to_owned()),
                "--sanitize" => options.sanitize = true,
                "--strict" => options.strict = true,
                "--threads" => options.threads = true,
                "--batch" => options.batch = Some(number::<u64>(value()?)?.max(1)),
                "--jobs" => options.jobs = Some(number(value()?)?),
                "--out" => options.out = Some(value()?.into()),
                "--tries" => options.tries = number(value()?)?,
                "--failures" => options.failures = number(value()?)?,
                "--work" => options.work = Some(value()?.into()),
                "--cuts" => {
                    let file = value()?;
                    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
                    options.cuts = Cuts::parse(&text).ok_or_else(|| format!("{file} does not list cuts"))?;
                }
                _ => return Err(format!("unknown option {word}\n{USAGE}")),
            }
        }
        Ok(options)
    }

    /// Fewer cases, since each takes several times as long.
    fn sanitized(mut self) -> Self {
        self.sanitize = true;
        if self.time.is_none() {
            self.cases = self.cases.or(Some(200));
        }
        self
    }

    /// One batch in this process; lines for the supervisor on standard output.
    fn judge(self) -> Result<ExitCode, String> {
        if self.sanitize && std::env::var_os(PRELOADED).is_none() {
            return sanitized(self.compiler.as_deref());
        }
        let own = std::env::temp_dir().join(format!("headrace-testkit-{}", std::process::id()));
        let place = self.work.as_deref().unwrap_or(&own);
        let native = if self.interp {
            None
        } else {
            Some(Native::new(self.compiler.as_deref(), self.sanitize, self.strict, place)?)
        };
        let work = Work {
            first_seed: self.seed,
            cases: self.cases.unwrap_or(1),
            cuts: self.cuts,
            native,
            threads: self.threads,
        };
        let mut out = std::io::stdout();
        judge::run(&work, &mut |line| {
            // Without a reader there is nobody to tell.
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        });
        // It may never have been made.
        let _ = std::fs::remove_dir_all(&own);
        Ok(ExitCode::SUCCESS)
    }

    fn ir(self) -> Result<ExitCode, String> {
        let case = generate(self.seed, &Knobs::default());
        let network = program::elaborate(&case, &self.cuts).map_err(|verdict| verdict.to_string())?;
        println!("{}", headrace_ir::text::network(&network));
        Ok(ExitCode::SUCCESS)
    }

    /// Random networks in programs of targets. A target whose tools are missing says so; without any there is nothing to do.
    fn on_targets(self) -> Result<ExitCode, String> {
        let mut languages: Vec<&'static printed::Language> = Vec::new();
        for name in &self.on {
            match printed::named(name) {
                Some(one) => languages.push(one),
                None if name == "all" => languages.extend(printed::ALL),
                None if name == "list" => {
                    let names: String = printed::ALL.iter().map(|language| format!("{}\n", language.name)).collect();
                    // Who reads it may have found what it looked for, and gone.
                    let _ = std::io::stdout().write_all(names.as_bytes());
                    return Ok(ExitCode::SUCCESS);
                }
                None => {
                    let known: Vec<&str> = printed::ALL.iter().map(|language| language.name).collect();
                    return Err(format!("networks run on all or {}, not on `{name}`\n{USAGE}", known.join(", ")));
                }
            }
        }
        let cases = if self.time.is_some() { self.cases } else { self.cases.or(Some(100)) };
        let jobs = self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let plan = campaign::Plan {
            first_seed: self.seed,
            cases,
            time: self.time,
            batch: self.batch.unwrap_or(100),
            jobs,
            most_failures: self.failures,
            ..campaign::Plan::default()
        };
        let (mut n_run, mut n_failed) = (0, 0);
        for language in languages {
            let name = language.name;
            let Some(toolchain) = toolchain::named(name) else { continue };
            let found = match toolchains::find(toolchain, self.compiler.as_deref(), None) {
                Ok(found) => found,
                Err(why) => {
                    println!("{name}: not run: {why}");
                    continue;
                }
            };
            let began = Instant::now();
            let summary = campaign::campaign(language, &found, &plan, &|line| eprintln!("{line}"));
            for (seed, _) in &summary.failures {
                eprintln!("repeat: cargo run -p headrace-testkit -- differential --on {name} --seed {seed} --cases 1");
            }
            let (seconds, failed) = (began.elapsed().as_secs_f64(), summary.failures.len());
            println!(
                "{name}: {} networks, {} with output, {failed} failed ({seconds:.0} s, {})",
                summary.cases, summary.telling, found.version
            );
            n_run += summary.cases;
            n_failed += failed;
        }
        Ok(match (n_run, n_failed) {
            (0, _) => ExitCode::from(4),
            (_, 0) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }

    fn differential(self) -> Result<ExitCode, String> {
        if !self.on.is_empty() {
            return self.on_targets();
        }
        let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let mut judge_options = Vec::new();
        if self.interp {
            judge_options.push("--interp".to_owned());
        }
        if let Some(compiler) = self.compiler {
            judge_options.extend(["--cc".to_owned(), compiler]);
        }
        if self.sanitize {
            judge_options.push("--sanitize".to_owned());
        }
        if self.strict {
            judge_options.push("--strict".to_owned());
        }
        if self.threads {
            judge_options.push("--threads".to_owned());
        }
        let campaign = supervise::Campaign {
            program,
            first_seed: self.seed,
            cases: self.cases.or(if self.time.is_some() { None } else { Some(2000) }),
            time: self.time,
            batch: self.batch.unwrap_or(200),
            workers: self.jobs.unwrap_or(processors),
            judge_options,
            out: self.out,
            shrink_tries: self.tries,
            most_failures: self.failures,
        };
        let summary = supervise::run(&campaign, &|line| eprintln!("{line}"));
        let total: u64 = summary.kinds.values().sum();
        println!("{total} cases, {} with output, {} failed", summary.telling, summary.failures.len());
        Ok(if summary.failures.is_empty() && total > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Sends random messages through the crypto library and through its peers.
fn compare_with_peers(words: &[&str]) -> Result<ExitCode, String> {
    let mut plan = peers::Plan {
        messages: 10_000,
        blocks: 0,
        seed: 0,
        engine: peers::Engine::Native,
        variant: None,
        deadline: None,
        fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
    };
    let mut jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let mut root = PathBuf::from(".");
    let mut json: Option<PathBuf> = None;
    let mut primitives = Vec::new();
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--messages" => plan.messages = number(value()?)?,
            "--blocks" => (plan.messages, plan.blocks) = (0, number(value()?)?),
            "--seed" => plan.seed = number(value()?)?,
            "--engine" => {
                let name = value()?;
                let named = peers::Engine::ALL.iter().find(|engine| engine.name() == name);
                plan.engine = *named.ok_or_else(|| format!("`{name}` is no engine\n{USAGE}"))?;
            }
            "--variant" => plan.variant = Some(value()?.to_owned()),
            "--fifo" => plan.fifo_tokens = number(value()?)?,
            "--seconds" => plan.deadline = Some(Instant::now() + time(value()?, 1.0)?),
            "--jobs" => jobs = number(value()?)?,
            "--library" => root = value()?.into(),
            "--json" => json = Some(value()?.into()),
            _ if word.starts_with('-') => return Err(format!("unknown option {word}\n{USAGE}")),
            _ => primitives.push(word),
        }
    }
    let shipped = peers::library::Shipped::read(&root)?;
    let scope = shipped.library.select(&primitives).map_err(|problem| problem.message)?;
    let reports = peers::run(&shipped, &scope, &plan, jobs, &|line| println!("{line}"));
    println!("{}", reports.totals());
    if let Some(path) = json {
        std::fs::write(&path, reports.json()).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(if reports.are_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Walks compiled code with secrets marked.
fn walk_machine_code(file: &str, words: &[&str]) -> Result<ExitCode, String> {
    let mut options = taint::Options { file: file.into(), ..taint::Options::default() };
    let mut json = false;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let mut value = || words.next().map(str::to_owned).ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        match word {
            "--region" => options.steps.push(taint::Step::Region(value()?)),
            "--secret" => options.steps.push(taint::Step::Secret(value()?)),
            "--public" => options.steps.push(taint::Step::Public(value()?)),
            "--call" => options.steps.push(taint::Step::Call(value()?)),
            "--budget" => options.budget = Some(number(&value()?)?),
            "--json" => json = true,
            _ => return Err(format!("unknown option {word}\n{USAGE}")),
        }
    }
    let report = taint::walk(&options)?;
    if json {
        println!("{}", taint::json(&report));
    } else {
        for finding in &report.findings {
            println!("{finding}");
        }
        println!("{} findings in {} instructions", report.findings.len(), report.instructions);
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn time(text: &str, unit: f64) -> Result<Duration, String> {
    let n: f64 = number(text)?;
    Duration::try_from_secs_f64(n * unit).map_err(|_| format!("`{text}` is no time"))
}
