//! `headrace synth`: quality of results (QoR) of cores on FPGAs. Networks become Verilog, or somebody's Verilog is taken, and all
//! of it goes through the same Yosys and nextpnr: what it takes of a device, how fast it can be clocked, how much it does.
//!
//! | file | what is there |
//! | --- | --- |
//! | `sources` | where Verilog comes from |
//! | `tools` | where Yosys and nextpnr are |
//! | `steps` | steps that are kept by their content; several at a time |
//! | `flow` | read, map, place and route |
//! | `simulation` | cycles of messages; netlists on known answers |

mod flow;
mod simulation;
mod sources;
pub(super) mod steps;
mod tools;

use super::Context;
use crate::cli::{ShapeName, SynthArgs};
use crate::failure::Outcome;
use crate::output::{self, write_file};
use crate::progress::{Progress, Unit};
use crate::project_folder::{self, Beside};
use flow::{Flow, Mapped, Read};
use headrace::Error;
use headrace::build::hardware_words;
use headrace_bench::hardware::{self, Core, Cycles, Provenance};
use headrace_bench::machine;
use headrace_bench::results::Results;
use headrace_synthesis::device::{self, Device};
use headrace_synthesis::models::models;
use headrace_synthesis::script;
use headrace_targets::project::Files;
use simulation::{Simulated, Simulator};
use sources::{Source, Timing};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use steps::{Steps, in_parallel};
use tools::Tools;

/// Measures cores, prints a table and writes results.
pub fn synth(context: &mut Context, arguments: &SynthArgs) -> Outcome {
    if arguments.install {
        context.terminal.status("installing Yosys and nextpnr");
        let place = tools::install();
        context.terminal.status("");
        context.terminal.say(&format!("Yosys and nextpnr are in {}", place?.display()));
        if arguments.cores.is_empty() {
            return Ok(());
        }
    }
    if arguments.cycles_only {
        return cycles_only(context, arguments);
    }
    let devices = devices(arguments)?;
    let tools = Tools::find(&devices, arguments.seeds > 0)?;
    if let Some(keep) = &arguments.keep {
        project_folder::check(keep, beside(arguments))?;
    }
    let sources = sources::all(context, arguments)?;
    if arguments.simulate {
        if let Some(source) = sources.iter().find(|source| source.test_bench().is_none()) {
            let name = source.name();
            let what = format!("--simulate: {name} has no bench; --like names an operation that has one");
            return Err(Error::usage(what));
        }
        for device in devices.iter().filter(|device| models(device).is_none()) {
            let what = format!("netlists for {} are not simulated: there are no models of its cells", device.name);
            context.terminal.note(&what);
        }
    }
    let steps = Steps::new(Duration::from_secs(arguments.timeout.into()));
    if let Some(why) = steps.not_kept() {
        context.terminal.note(&format!("what is measured is not kept for the next time: {why}"));
    }
    let simulators = Simulator::find();
    if simulators.is_empty() {
        let what = "there is no iverilog and no verilator on the path (apt-get install iverilog)";
        if arguments.simulate {
            return Err(Error::missing(format!("{what}: --simulate needs one")));
        }
        if sources.iter().any(|source| source.test_bench().is_some()) {
            context.terminal.note(&format!("cycles are not measured: {what}"));
        }
    }
    let run = Run {
        flow: Flow { steps: &steps, tools: &tools, allow_constant: arguments.allow_constant },
        sources: &sources,
        devices: &devices,
        simulators: &simulators,
        jobs: arguments.jobs.map_or_else(processors, |jobs| jobs as usize),
        seeds: arguments.seeds,
        simulates: arguments.simulate,
        keeps: arguments.keep.is_some(),
    };
    let (mut cores, kept) = run.all(context)?;
    let command = command(arguments);
    cores.iter_mut().for_each(|core| core.provenance.command.clone_from(&command));
    for core in &cores {
        tell(context, core);
    }
    output::print(hardware::table(&cores).as_bytes())?;
    if let Some(path) = &arguments.json {
        write_file(path, results(with_others(cores, arguments)?).to_json().as_bytes())?;
    }
    match &arguments.keep {
        Some(folder) => project_folder::write(folder, &kept, beside(arguments)),
        None => Ok(()),
    }
}

/// Measures cycles, prints a table and writes results: rows without a device.
fn cycles_only(context: &mut Context, arguments: &SynthArgs) -> Outcome {
    let sources = sources::all(context, arguments)?;
    let steps = Steps::new(Duration::from_secs(arguments.timeout.into()));
    let simulators = Simulator::find();
    if simulators.is_empty() {
        return Err(Error::missing("there is no iverilog and no verilator on the path (apt-get install iverilog)"));
    }
    let command = command(arguments);
    let jobs = arguments.jobs.map_or_else(processors, |jobs| jobs as usize);
    let of = |source: &Source| {
        let top = source.reading.top.clone().unwrap_or_default();
        let measured = measured(&steps, &simulators, source, &top);
        measured.map(|measured| measured.row(source, &command)).map_err(|why| format!("{}: {why}", source.name()))
    };
    if let Some(folder) = &arguments.keep {
        project_folder::check(folder, beside(arguments))?;
        let mut kept = Files::new();
        for source in &sources {
            let files = source.all_files().map(|(name, bytes)| (format!("rtl/{name}"), bytes.clone()));
            let bench = source.test_bench().into_iter().flat_map(|bench| bench.files.iter().cloned());
            kept.extend(files.chain(bench).map(|(name, bytes)| (format!("{}/{name}", source.folder()), bytes)));
        }
        project_folder::write(folder, &kept, beside(arguments))?;
    }
    let cores = in_parallel(&sources, jobs, of, || {})?;
    for core in &cores {
        tell(context, core);
    }
    output::print(hardware::table(&cores).as_bytes())?;
    match &arguments.json {
        Some(path) => write_file(path, results(with_others(cores, arguments)?).to_json().as_bytes()),
        None => Ok(()),
    }
}

/// What the bench of a core tells.
#[derive(Clone, Default)]
struct Told {
    cycles: Option<Cycles>,
    inverse_cycles: Option<Cycles>,
    verified: Option<String>,
    simulator: Option<String>,
}

impl Told {
    /// A row with nothing else.
    fn row(self, source: &Source, command: &str) -> Core {
        Core {
            primitive: source.primitive.clone(),
            operation: source.operation.clone(),
            variant: source.variant.clone(),
            implementation: source.implementation.clone(),
            like: source.like.clone(),
            published: source.published.clone(),
            cycles: self.cycles,
            inverse_cycles: self.inverse_cycles,
            verified: self.verified,
            provenance: Provenance {
                command: command.to_owned(),
                made_by: source.made_by.clone(),
                sources: source.all_files().map(|(name, bytes)| (name.clone(), steps::digest(bytes))).collect(),
                top: source.reading.top.clone().unwrap_or_default(),
                tools: self.simulator.map(|version| ("simulator".to_owned(), version)).into_iter().collect(),
                ..Provenance::default()
            },
            ..Core::default()
        }
    }
}

/// The cycles of messages, of a core whose answers are right.
fn measured(steps: &Steps, simulators: &[Simulator], source: &Source, top: &str) -> Result<Told, String> {
    match &source.timing {
        Timing::Given { bits, cycles } => Ok(Told {
            cycles: Some(Cycles {
                block_bits: *bits,
                per_block: *cycles as f64,
                source: "given on the command line".into(),
                ..Cycles::default()
            }),
            ..Told::default()
        }),
        Timing::Measured(bench) => {
            let Some(simulator) = bench.simulator(simulators) else { return Ok(Told::default()) };
            let verilog: Vec<(String, Vec<u8>)> = source.all_files().cloned().collect();
            let simulated = bench.run(steps, simulator, top, &verilog)?;
            right(&simulated, "the Verilog")?;
            let [cycles, inverse_cycles] = bench.cycles(&simulated, simulator);
            let verified = bench.verified(&simulated, simulator);
            Ok(Told { cycles, inverse_cycles, verified, simulator: Some(simulator.version.clone()) })
        }
        Timing::Unknown => Ok(Told::default()),
    }
}

/// The devices that are named, each once, with what they need beside tools.
fn devices(arguments: &SynthArgs) -> Outcome<Vec<&'static Device>> {
    let mut devices: Vec<&'static Device> = Vec::new();
    for name in &arguments.devices {
        let found = device::named(name).ok_or_else(|| Error::usage(format!("there is no device `{name}`")))?;
        if devices.iter().all(|other| other.name != found.name) {
            devices.push(found);
        }
        if let Some(library) = found.library.as_ref().filter(|library| !Path::new(&library.path).exists()) {
            return Err(Error::missing(format!(
                "{name} needs {}, which is not here (apt-get install {})",
                library.path, library.package
            )));
        }
    }
    Ok(devices)
}

/// What may lie where files are kept.
fn beside(arguments: &SynthArgs) -> Beside {
    if arguments.force { Beside::Force } else { Beside::Nothing }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The command as it would be typed again.
fn command(arguments: &SynthArgs) -> String {
    let quoted = |word: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let mut words: Vec<String> = vec!["headrace".into(), "synth".into()];
    words.extend(arguments.cores.iter().map(|core| quoted(core)));
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), quoted(&value)]));
    };
    arguments.operations.iter().for_each(|operation| option("operation", Some(operation.clone())));
    option("variant", arguments.variant.clone());
    arguments.parameters.iter().for_each(|parameter| option("set", Some(parameter.clone())));
    option("fifo", (arguments.fifo != headrace_ir::DEFAULT_FIFO_TOKENS).then(|| arguments.fifo.to_string()));
    option("device", Some(arguments.devices.join(",")));
    option("seeds", Some(arguments.seeds.to_string()));
    option("top", arguments.top.clone());
    option("clock", arguments.clock.clone());
    option("bits", arguments.bits.map(|bits| bits.to_string()));
    option("cycles", arguments.cycles.map(|cycles| cycles.to_string()));
    option("like", arguments.like.clone());
    words.extend(hardware_words(&arguments.hardware.options()));
    words.extend((arguments.shape == ShapeName::Lwc).then(|| "--shape lwc".to_owned()));
    words.extend(arguments.word_bits.map(|bits| format!("--word-bits {bits}")));
    words.extend(arguments.study.iter().map(|path| format!("--study {}", quoted(&path.display().to_string()))));
    words.extend(arguments.cycles_only.then(|| "--cycles-only".to_owned()));
    words.extend(arguments.unfused.then(|| "--unfused".to_owned()));
    words.extend(arguments.simulate.then(|| "--simulate".to_owned()));
    words.extend(arguments.allow_constant.then(|| "--allow-constant".to_owned()));
    words.join(" ")
}

/// What a table has no place for.
fn tell(context: &Context, core: &Core) {
    let Core { primitive, operation, device, clock, cycles, .. } = core;
    let name = format!("{primitive} {operation}").trim().to_owned();
    if let Some(clock) = clock {
        // Of the run that the median is of, or the first above it.
        let at = (0..clock.fmax_mhz.len())
            .min_by(|a, b| {
                let far = |at: &usize| (clock.fmax_mhz[*at] - clock.median_mhz).abs();
                far(a).total_cmp(&far(b))
            })
            .unwrap_or(0);
        let critical = clock.critical.get(at).map_or("", String::as_str);
        if !critical.is_empty() {
            context.terminal.note(&format!("{name} on {device}: critical path from {critical}"));
        }
    }
    if let Some(off) = cycles.as_ref().map(Cycles::off_by).filter(|off| *off > 0.5) {
        context.terminal.note(&format!("{name}: messages are up to {off:.0} cycles off the line a + b·n"));
    }
}

/// These and what the file of results holds of others, where that is wanted.
fn with_others(cores: Vec<Core>, arguments: &SynthArgs) -> Outcome<Vec<Core>> {
    let Some(path) = arguments.json.as_ref().filter(|path| arguments.add && path.exists()) else { return Ok(cores) };
    let text = headrace::reading::read_at_most(path, MOST_RESULTS).map_err(Error::wrong)?;
    let known = Results::from_json(&String::from_utf8_lossy(&text));
    let known = known.map_err(|wrong| Error::wrong(format!("{}: {wrong}", path.display())))?;
    Ok(hardware::renewed(known.cores, cores))
}

/// Most bytes of a file of results.
const MOST_RESULTS: u64 = 64 << 20;

/// Results as `headrace bench` has them.
fn results(cores: Vec<Core>) -> Results {
    let mut machine = machine::describe(&[], Path::new("."));
    machine.time = "the clock frequency that nextpnr reports, median of the seeds".into();
    for core in &cores {
        let Core { device, provenance, .. } = core;
        let tools = provenance.tools.iter();
        machine.versions.extend(tools.map(|(tool, version)| {
            let name = if tool == "nextpnr" { format!("{tool} {device}") } else { tool.clone() };
            (name, version.clone())
        }));
    }
    Results { machine, cores, ..Results::default() }
}

/// Everything that is measured, and how.
struct Run<'a> {
    flow: Flow<'a>,
    sources: &'a [Source],
    devices: &'a [&'static Device],
    simulators: &'a [Simulator],
    /// Steps at a time.
    jobs: usize,
    seeds: u32,
    /// Whether netlists are simulated.
    simulates: bool,
    /// Whether what goes into steps is wanted.
    keeps: bool,
}

impl Run<'_> {
    /// Rows for all cores and devices, and what went into them as files.
    fn all(&self, context: &Context) -> Outcome<(Vec<Core>, Files)> {
        let places = |device: &Device| device.place.is_some();
        let n_seeds = self.seeds as usize * self.devices.iter().filter(|device| places(device)).count();
        let n_netlists =
            if self.simulates { self.devices.iter().filter(|one| models(one).is_some()).count() } else { 0 };
        let total = self.sources.len() * (2 + self.devices.len() + n_seeds + n_netlists);
        let progress = Mutex::new((0, Progress::new(context.terminal, total as u64, Unit::Steps)));
        let told = || {
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.0 += 1;
            let done = progress.0;
            progress.1.tell(done);
        };
        let outcome = self.measure(&told);
        progress.into_inner().unwrap_or_else(PoisonError::into_inner).1.finish();
        outcome
    }

    fn measure(&self, told: &(impl Fn() + Sync)) -> Outcome<(Vec<Core>, Files)> {
        let of = |source: &Source| format!("{}: ", source.name());
        // Where a core is wrong, no time is spent on the others.
        let reads: Vec<Read> = in_parallel(
            self.sources,
            self.jobs,
            |source| self.flow.read(source).map_err(|why| of(source) + &why),
            told,
        )?;
        let cores: Vec<(&Source, &Read)> = self.sources.iter().zip(&reads).collect();
        let cycles = in_parallel(
            &cores,
            self.jobs,
            |(source, read)| {
                measured(self.flow.steps, self.simulators, source, &read.top).map_err(|why| of(source) + &why)
            },
            told,
        )?;
        let pairs: Vec<(usize, &'static Device)> =
            (0..cores.len()).flat_map(|at| self.devices.iter().map(move |device| (at, *device))).collect();
        let mapped: Vec<Mapped> = in_parallel(
            &pairs,
            self.jobs,
            |(at, device)| {
                let (source, read) = cores[*at];
                self.flow.map(source, read, device).map_err(|why| format!("{}on {}: {why}", of(source), device.name))
            },
            told,
        )?;
        let seeds: Vec<(usize, u32)> = (0..pairs.len())
            .filter(|at| pairs[*at].1.place.is_some())
            .flat_map(|at| (1..=self.seeds).map(move |seed| (at, seed)))
            .collect();
        let placed = in_parallel(
            &seeds,
            self.jobs,
            |(at, seed)| {
                let (core, device) = pairs[*at];
                let placed = self.flow.place(&mapped[*at], device, *seed);
                placed.map_err(|why| format!("{}on {}, seed {seed}: {why}", of(cores[core].0), device.name))
            },
            told,
        )?;
        let mut by_pair: BTreeMap<usize, Vec<(u32, flow::Placed)>> = BTreeMap::new();
        for ((at, seed), placed) in seeds.iter().zip(placed) {
            by_pair.entry(*at).or_default().push((*seed, placed));
        }
        let with_models = |at: &usize| self.simulates && models(pairs[*at].1).is_some();
        let netlists: Vec<usize> = (0..pairs.len()).filter(with_models).collect();
        let verified = in_parallel(
            &netlists,
            self.jobs,
            |at| {
                let (core, device) = pairs[*at];
                let (source, read) = cores[core];
                let verified = self.verified(source, read, device, &mapped[*at]);
                verified.map_err(|why| format!("{}on {}: {why}", of(source), device.name))
            },
            told,
        )?;
        let mut verified: BTreeMap<usize, String> = netlists.into_iter().zip(verified).collect();
        let mut rows = Vec::new();
        let mut kept = Files::new();
        for (at, ((core, device), mapped)) in pairs.iter().zip(&mapped).enumerate() {
            let (source, read) = cores[*core];
            let placed = by_pair.remove(&at).unwrap_or_default();
            let named = |why: String| Error::wrong(format!("{}on {}: {why}", of(source), device.name));
            let mut row = self.flow.figures(source, read, device, mapped, placed).map_err(named)?;
            let told = cycles[*core].clone();
            (row.cycles, row.inverse_cycles, row.verified) = (told.cycles, told.inverse_cycles, told.verified);
            row.netlist_verified = verified.remove(&at);
            row.provenance.tools.extend(told.simulator.map(|version| ("simulator".to_owned(), version)));
            rows.push(row);
            if self.keeps {
                self.keep(*core, read, device, mapped, &mut kept).map_err(named)?;
            }
        }
        Ok((rows, kept))
    }

    /// What the mapped netlist of a core was held to.
    fn verified(&self, source: &Source, read: &Read, device: &Device, mapped: &Mapped) -> Result<String, String> {
        let bench = source.test_bench();
        let Some((bench, simulator)) = bench.and_then(|bench| Some((bench, bench.simulator(self.simulators)?))) else {
            return Err("--simulate: it has no bench; --like names an operation that has one".into());
        };
        let netlist = self.flow.mapped_verilog(read, mapped)?.into_bytes();
        let models = models(device).unwrap_or_default().as_bytes().to_vec();
        let verilog = [(script::files::MAPPED.to_owned(), netlist), ("cells.v".to_owned(), models)];
        let simulated = bench.shortened().run(self.flow.steps, simulator, &read.top, &verilog)?;
        right(&simulated, "the mapped netlist")?;
        Ok(format!("{} messages, simulated by {}", simulated.passed, simulator.version))
    }

    /// Files with which everything can be done by hand.
    fn keep(
        &self,
        core: usize,
        read: &Read,
        device: &Device,
        mapped: &Mapped,
        files: &mut Files,
    ) -> Result<(), String> {
        let source = &self.sources[core];
        // Cores of one name are told apart by where they stand on the command line.
        let is_first = self.sources[..core].iter().all(|other| other.folder() != source.folder());
        let number = if is_first { String::new() } else { format!("{}-", core + 1) };
        let folder = format!("{number}{}-{}/", source.folder(), device.name);
        for (name, bytes) in source.all_files() {
            files.insert(format!("{folder}{name}"), bytes.clone());
        }
        let texts = [
            ("read.ys", script::read(&source.reading)),
            ("map.ys", script::map(device)),
            (script::files::INTERMEDIATE, read.intermediate.clone()),
            (script::files::WRAPPER, self.flow.wrapper(source, read)?),
            (script::files::NETLIST, mapped.netlist.clone()),
        ];
        files.extend(texts.into_iter().map(|(name, text)| (format!("{folder}{name}"), text.into_bytes())));
        Ok(())
    }
}

/// That all messages came out right.
fn right(simulated: &Simulated, what: &str) -> Result<(), String> {
    let Simulated { passed, failed, said, .. } = simulated;
    if *failed > 0 || *passed == 0 {
        return Err(format!("{what} gives wrong answers to {failed} of {} messages:\n  {said}", passed + failed));
    }
    Ok(())
}
