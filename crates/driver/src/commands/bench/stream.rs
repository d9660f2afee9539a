//! `headrace bench stream`: kernels of stream processors beside what was published of such.
//!
//! `bench/stream.toml` has the published numbers and the operations; platforms and networks what is compiled and simulated; this
//! puts one beside the other. Nothing that is published goes into what is computed.

use super::experiments::{Experiment, Experiments, Line, experiment};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use headrace::Error;
use headrace::analysis::streams::stream::choose::{Way, bytes_of, kernel_of, ways};
use headrace::analysis::streams::stream::kernel::{Kernel, Scheduling};
use headrace::analysis::streams::stream::machine::{Machine, Processor, Scratchpad};
use headrace::analysis::streams::stream::place::Otherwise;
use headrace::analysis::streams::stream::processor::{Counted, Pace};
use headrace::analysis::streams::stream::program::{self, Load};
use headrace::analysis::streams::stream::reroll::rolled_of;
use headrace::analysis::streams::stream::simulate::Data;
use headrace::analysis::streams::stream::suits::{Limit, by_the_papers_rule, on_host, predict};
use headrace::analysis::streams::stream::trial::{trial, trial_of};
use headrace::analysis::streams::{Loops, loops_of, machine};
use headrace_bench::study::rank_correlation;
use headrace_native::{Compiler, LocalTrials};
use headrace_platform::charts::{Axis, Point, Scatter, Series};
use headrace_platform::{Figure, File, Wrong};
use headrace_targets::c::kernel::Trials;
use headrace_targets::c::on_trial;
use headrace_transform::kernel::Loop;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    paper: Vec<Paper>,
    library: Library,
    measured: Measured,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    platform: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    name: String,
    operation: [String; 2],
    platform: String,
    form: Option<String>,
    /// Whether words of which indices are parts are broadcast, where a table is spread.
    #[serde(default)]
    broadcast: bool,
    speedup: f64,
    host: f64,
    host_source: String,
    fitted_host: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    platforms: Vec<String>,
    operations: Vec<String>,
}

impl Paper {
    /// The ways that are those of the published kernel.
    fn only(&self) -> Only<'_> {
        Only {
            form: self.form.as_deref(),
            spread: self.broadcast.then_some(&[Otherwise::SpreadEach, Otherwise::SpreadPacked]),
            only_shifts: true,
        }
    }
}

/// Which ways are looked at.
#[derive(Clone, Copy, Default)]
struct Only<'a> {
    form: Option<&'a str>,
    spread: Option<&'a [Otherwise]>,
    /// Without shifts by multipliers.
    only_shifts: bool,
}

/// A loop that is timed.
struct Timed {
    /// The way that it is printed, for readers.
    about: String,
    /// The program that times it.
    source: String,
    /// Bytes of an iteration.
    bytes: f64,
    /// What the model says.
    pace: Pace,
}

/// How often each loop is timed.
const ATTEMPTS: usize = 2;

/// A program that says how long a cycle is: the nanoseconds of an addition that waits for the one before.
const A_CYCLE: &str = r#"#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}
double headrace_trial(void);
double headrace_trial(void)
{
    uint64_t sum = 1, step = 3;
    double best = 1e300, start = now();
    for (int run = 0; run < 2000 && now() - start < 4e7; run++) {
        double began = now();
        for (int i = 0; i < 1000; i++)
            __asm__ volatile(".rept 32\n add %1, %0\n .endr" : "+r"(sum) : "r"(step));
        double took = now() - began;
        best = took < best ? took : best;
    }
    return best / 32000;
}
"#;

struct Bench<'c> {
    context: &'c mut Context,
    loops: BTreeMap<(String, String), Arc<Loops>>,
    /// What was simulated of the library, and what the model says.
    points: Vec<Point>,
}

/// Compiles and simulates everything, prints it beside what was published, and writes results and document.
pub fn bench(context: &mut Context, arguments: &BenchArgs) -> Outcome {
    let text = include_str!("../../../../../bench/stream.toml");
    let mut published: Published = File::new("bench/stream.toml", text).parse().map_err(wrong)?;
    let mut bench = Bench { context, loops: BTreeMap::new(), points: Vec::new() };
    // Some operations: what is timed of them.
    if !arguments.operations.is_empty() {
        published.library.operations.clone_from(&arguments.operations);
        let experiments = vec![bench.measured(&published)?];
        let command = "headrace bench stream --operations …".into();
        let results = Experiments { mark: super::STREAM.into(), command, experiments, errata: Vec::new() };
        output::print(results.text().as_bytes())?;
        return results.write(arguments);
    }
    let library = bench.library(&published)?;
    let experiments = vec![
        bench.distribution(&published)?,
        bench.overlap(&published)?,
        bench.speedups(&published)?,
        bench.hosts(&published)?,
        bench.order(&published)?,
        bench.calibrated(&published)?,
        bench.sweeps(&published)?,
        library.0,
        library.1,
        bench.measured(&published)?,
        bench.lengths(&published)?,
        library.2,
        bench.better(&published)?,
    ];
    let results = Experiments {
        mark: super::STREAM.into(),
        command: "headrace bench stream --json bench/results/stream.json --into docs/stream-processors.md".into(),
        experiments,
        errata: Vec::new(),
    };
    output::print(results.text().as_bytes())?;
    results.write(arguments)?;
    if let Some(document) = &arguments.into {
        let figures = document.with_file_name("figures");
        for (name, chart) in bench.charts(&published)? {
            write_file(&figures.join(name), chart.as_bytes())?;
        }
    }
    Ok(())
}

fn wrong(wrong: Wrong) -> Error {
    Error::wrong(wrong.to_string())
}

fn platform(name: &str) -> Outcome<Machine> {
    machine(name, |_| None).map_err(wrong)
}

fn cycles(kernel: &Kernel, way: &Way, machine: &Machine) -> f64 {
    kernel.schedule.ii as f64 / (f64::from(*machine.clusters) * way.bytes())
}

fn scheduling_name(scheduling: Scheduling) -> &'static str {
    match scheduling {
        Scheduling::Modulo => "overlapped",
        Scheduling::List => "plain",
    }
}

impl Bench<'_> {
    fn loops(&mut self, set: &str, operation: &str) -> Outcome<Arc<Loops>> {
        let key = (set.to_owned(), operation.to_owned());
        if let Some(known) = self.loops.get(&key) {
            return Ok(Arc::clone(known));
        }
        self.context.terminal.status(&format!("{set} {operation}"));
        let library = self.context.library()?;
        let spec = library.select(&[set, operation]).map_err(|problem| Error::unknown(&problem))?;
        let spec =
            spec.first().copied().cloned().ok_or_else(|| Error::wrong(format!("there is no {set} {operation}")))?;
        let network = spec.variant(None).map(|variant| variant.network.to_string()).unwrap_or_default();
        let network = self.context.elaborate(&network, &[])?;
        let loops = Arc::new(loops_of(&spec, &network));
        self.loops.insert(key, Arc::clone(&loops));
        Ok(loops)
    }

    fn ways(&mut self, operation: &[String; 2], machine: &Machine, only: Only<'_>) -> Outcome<Vec<Way>> {
        let loops = self.loops(&operation[0], &operation[1])?;
        let why = |reason: String| Error::wrong(format!("{} on {}: {reason}", operation.join(" "), machine.name));
        let body = loops.loops.first().ok_or_else(|| why("it has no loop".into()))?;
        let mut all = ways(body, machine, false).map_err(|reason| why(reason.to_string()))?;
        all.retain(|way| only.form.is_none_or(|form| way.form.name == form));
        all.retain(|way| !(only.only_shifts && way.multiplies));
        all.retain(|way| {
            only.spread.is_none_or(|spread| spread.contains(&way.choice.otherwise) && way.choice.whole == 0)
        });
        Ok(all)
    }

    fn kernel(
        &mut self,
        operation: &[String; 2],
        machine: &Machine,
        scheduling: Scheduling,
        only: Only<'_>,
    ) -> Outcome<(Kernel, Way)> {
        let all = self.ways(operation, machine, only)?;
        let why = |reason: String| Error::wrong(format!("{} on {}: {reason}", operation.join(" "), machine.name));
        let (kernel, way) = kernel_of(&all, machine, scheduling).map_err(|reason| why(reason.to_string()))?;
        trial(&kernel, machine, &way.form.body, 3, 1)
            .map_err(|problem| why(format!("its values are wrong: {problem}")))?;
        Ok((kernel, way))
    }

    fn of_paper(&mut self, paper: &Paper, scheduling: Scheduling, latencies: &str) -> Outcome<f64> {
        let mut machine = platform(&paper.platform)?;
        if latencies == "A" {
            let short = platform("imagine-latencies-a")?;
            machine.unit = short.unit;
        }
        let only = paper.only();
        if scheduling == Scheduling::List
            && let Some(cycles) = self.with_rounds(&paper.operation, &machine, only)?
        {
            return Ok(cycles);
        }
        let (kernel, way) = self.kernel(&paper.operation, &machine, scheduling, only)?;
        Ok(cycles(&kernel, &way, &machine))
    }

    /// Cycles a byte of a plain kernel whose rounds are a loop, as such are written by hand; `None`: it has no rounds, or keys of
    /// rounds find no room in the scratchpad.
    fn with_rounds(&mut self, operation: &[String; 2], machine: &Machine, only: Only<'_>) -> Outcome<Option<f64>> {
        let all = self.ways(operation, machine, only)?;
        let Ok((rolled, way)) = rolled_of(&all, machine) else { return Ok(None) };
        let body = &way.form.body;
        let run = |data: &Data| rolled.run(machine, body, data);
        trial_of(&way.placed.code, machine, body, 3, 1, &run).map_err(|problem| {
            Error::wrong(format!("{} on {}: values of rounds are wrong: {problem}", operation.join(" "), machine.name))
        })?;
        Ok(Some(rolled.interval() as f64 / (f64::from(*machine.clusters) * way.bytes())))
    }

    /// E1: a table that is spread beside one that each cluster has.
    fn distribution(&mut self, published: &Published) -> Outcome<Experiment> {
        let [spread, whole] = [&published.paper[0], &published.paper[1]];
        let asked = whole.speedup / spread.speedup;
        let mut lines = Vec::new();
        for latencies in ["B", "A"] {
            let (slow, fast) = (
                self.of_paper(spread, Scheduling::List, latencies)?,
                self.of_paper(whole, Scheduling::List, latencies)?,
            );
            let line = Line::new(
                format!("plain kernels, a loop over rounds, latencies {latencies}: ratio"),
                Some(asked),
                slow / fast,
                (latencies == "B").then_some(0.16),
            );
            lines.push(line.note(format!("{slow:.2} and {fast:.2} cycles a byte")));
        }
        let mut unrolled = |paper: &Paper| -> Outcome<f64> {
            let machine = platform(&paper.platform)?;
            let only = paper.only();
            let (kernel, way) = self.kernel(&paper.operation, &machine, Scheduling::List, only)?;
            Ok(cycles(&kernel, &way, &machine))
        };
        let (slow, fast) = (unrolled(spread)?, unrolled(whole)?);
        let line = Line::new("plain kernels, rounds unrolled, latencies B: ratio", Some(asked), slow / fast, None);
        lines.push(line.note(format!("{slow:.2} and {fast:.2} cycles a byte")));
        let notes = [
            "* The paper's two figures are for one program on one host, so that only their ratio says something of kernels.",
            "* A loop over rounds is what is written by hand: a round waits until the one before has ended, and reads its subkeys \
             from the scratchpad first. Where rounds are unrolled, subkeys are in registers before a round begins, which saves \
             most where a round is short.",
        ];
        Ok(experiment("E1", "Blowfish: S-boxes spread over clusters beside S-boxes in each scratchpad", lines, &notes))
    }

    /// E2: the same where iterations overlap.
    fn overlap(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for paper in &published.paper {
            let machine = platform(&paper.platform)?;
            let only = paper.only();
            let (kernel, way) = self.kernel(&paper.operation, &machine, Scheduling::Modulo, only)?;
            let least = kernel.res_mii.max(kernel.rec_mii);
            let line = Line::new(
                format!("{}: interval, beside the bound", paper.name),
                Some(least as f64),
                kernel.schedule.ii as f64,
                Some(0.02),
            );
            lines.push(line.note(format!(
                "{:.3} cycles a byte; {} values at once, {} registers, microcode {} words",
                cycles(&kernel, &way, &machine),
                kernel.max_live,
                kernel.registers.words,
                kernel.microcode_words()
            )));
        }
        let notes = ["* \"Published\" is the bound here: what units and recurrences allow at best."];
        Ok(experiment("E2", "intervals of overlapped kernels", lines, &notes))
    }

    fn speedup(cycles: f64, host: f64, machine: &Machine) -> f64 {
        // Bytes a second of all clusters over those of the host, which runs at 2 GHz.
        host / 2000.0 / (cycles / machine.clock_mhz.value)
    }

    /// E3: speed-ups beside good C.
    fn speedups(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for paper in &published.paper {
            let machine = platform(&paper.platform)?;
            for scheduling in [Scheduling::Modulo, Scheduling::List] {
                let cycles = self.of_paper(paper, scheduling, "B")?;
                let here = Self::speedup(cycles, paper.host, &machine);
                let is_asked = scheduling == Scheduling::Modulo && paper.name.starts_with("RC5");
                let line = Line::new(
                    format!("{}, {}", paper.name, scheduling_name(scheduling)),
                    Some(paper.speedup),
                    here,
                    is_asked.then_some(0.2),
                );
                lines.push(line.note(format!("host {} cycles a byte ({})", paper.host, paper.host_source)));
            }
        }
        let notes = [
            "* A table that is spread is slower than good C on the host: the published 2.4 needs a host several times slower.",
        ];
        Ok(experiment("E3", "speed-up over good C on a host of 2 GHz", lines, &notes))
    }

    /// E4: what the host must have been.
    fn hosts(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        let host = platform("athlon64")?;
        for paper in &published.paper {
            let machine = platform(&paper.platform)?;
            let loops = self.loops(&paper.operation[0], &paper.operation[1])?;
            let modelled = loops.loops.first().and_then(|body| on_host(body, &host).ok());
            for scheduling in [Scheduling::Modulo, Scheduling::List] {
                let cycles = self.of_paper(paper, scheduling, "B")?;
                let implied = paper.speedup * 2000.0 * cycles / machine.clock_mhz.value;
                let line = Line::new(
                    format!("{}, {}: cycles a byte of the host", paper.name, scheduling_name(scheduling)),
                    None,
                    implied,
                    None,
                );
                let modelled = modelled.map_or("none".into(), |cycles| format!("{cycles:.1}"));
                lines.push(line.note(format!("good C: {}; the model of {}: {modelled}", paper.host, host.name)));
            }
        }
        let notes = [
            "* The published speed-up times our cycles: the speed that the host must have had. It is not reproduced where \
                      that is far from good C.",
        ];
        Ok(experiment("E4", "the host that a published speed-up implies", lines, &notes))
    }

    /// E5: the order.
    fn order(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut ours: Vec<(String, f64, f64)> = Vec::new();
        for paper in &published.paper {
            let machine = platform(&paper.platform)?;
            let cycles = self.of_paper(paper, Scheduling::List, "B")?;
            ours.push((paper.name.clone(), paper.speedup, Self::speedup(cycles, paper.fitted_host, &machine)));
        }
        let place = |of: &dyn Fn(&(String, f64, f64)) -> f64, at: usize| {
            1 + ours.iter().filter(|other| of(other) > of(&ours[at])).count()
        };
        let lines = (0..ours.len())
            .map(|at| {
                let (theirs, here) = (place(&|one| one.1, at), place(&|one| one.2, at));
                let line = Line::new(format!("{}: place", ours[at].0), Some(theirs as f64), here as f64, Some(0.0));
                line.note(format!("{} and {:.2} times", ours[at].1, ours[at].2))
            })
            .collect();
        Ok(experiment("E5", "the order by speed-up, with the hosts of E6", lines, &[]))
    }

    /// E6: the published ratios, with fitted hosts.
    fn calibrated(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for paper in &published.paper {
            let machine = platform(&paper.platform)?;
            let cycles = self.of_paper(paper, Scheduling::List, "B")?;
            let here = Self::speedup(cycles, paper.fitted_host, &machine);
            let line = Line::new(format!("{}, plain", paper.name), Some(paper.speedup), here, Some(0.05));
            lines.push(line.note(format!("host {} cycles a byte, fitted", paper.fitted_host)));
        }
        let notes = [
            "* Five numbers with four hosts that were fitted before these kernels were compiled: only E1 and how likely the \
                      hosts are say something.",
        ];
        Ok(experiment("E6", "published speed-ups with fitted hosts", lines, &notes))
    }

    /// E7: what a change of the machine changes.
    fn sweeps(&mut self, published: &Published) -> Outcome<Experiment> {
        let blowfish = published.paper[0].operation.clone();
        let rc5 = published.paper[3].operation.clone();
        let base = platform("imagine")?;
        let mut lines = Vec::new();
        let mut knee = None;
        let with_words = |bench: &mut Self, words: u32| -> Outcome<Option<f64>> {
            let mut machine = base.clone();
            machine.scratchpad = Some(Scratchpad { words: figure(words) });
            match bench.kernel(&blowfish, &machine, Scheduling::Modulo, Only::default()) {
                Ok((kernel, way)) => Ok(Some(cycles(&kernel, &way, &machine))),
                Err(_) => Ok(None),
            }
        };
        for words in [64, 96, 128, 256, 512, 1023, 1024, 1042, 2048] {
            let found = with_words(self, words)?;
            let line = match found {
                Some(cycles) => {
                    if cycles < 2.0 && knee.is_none() {
                        knee = Some(words);
                    }
                    Line::new(format!("Blowfish, scratchpad of {words} words: cycles a byte"), None, cycles, None)
                }
                None => Line::none(format!("Blowfish, scratchpad of {words} words: no kernel")),
            };
            lines.push(line);
        }
        lines.push(
            Line::new(
                "the least scratchpad in which S-boxes are whole",
                Some(1024.0),
                f64::from(knee.unwrap_or(0)),
                Some(0.0),
            )
            .note("four tables of 256 words; subkeys are in registers"),
        );
        for clusters in [4_u32, 8, 16, 32] {
            let machine = Machine { clusters: figure(clusters), ..base.clone() };
            for (name, operation) in [("Blowfish", &blowfish), ("RC5", &rc5)] {
                match self.kernel(operation, &machine, Scheduling::Modulo, Only::default()) {
                    Ok((kernel, way)) => lines.push(Line::new(
                        format!("{name}, {clusters} clusters: cycles a byte"),
                        None,
                        cycles(&kernel, &way, &machine),
                        None,
                    )),
                    Err(_) => lines.push(Line::none(format!("{name}, {clusters} clusters: no kernel"))),
                }
            }
        }
        for ports in 1..=4_usize {
            let mut machine = base.clone();
            if let Some(unit) = machine.unit.get_mut("COMM") {
                unit.count = figure(ports);
            }
            if let Ok((kernel, way)) = self.kernel(&blowfish, &machine, Scheduling::Modulo, Only::default()) {
                lines.push(Line::new(
                    format!("Blowfish, {ports} communication units: cycles a byte"),
                    None,
                    cycles(&kernel, &way, &machine),
                    None,
                ));
            }
        }
        let mut rotates = base.clone();
        if let Some(unit) = rotates.unit.get_mut("ADD") {
            unit.latency.value.insert("rotl".into(), 2);
        }
        for (what, machine) in [("without", &base), ("with", &rotates)] {
            let (kernel, way) = self.kernel(&rc5, machine, Scheduling::Modulo, Only::default())?;
            lines.push(Line::new(
                format!("RC5, {what} an instruction that rotates: cycles a byte"),
                None,
                cycles(&kernel, &way, machine),
                None,
            ));
        }
        for name in ["imagine-indexed-srf", "merrimac"] {
            let machine = platform(name)?;
            let (kernel, way) = self.kernel(&blowfish, &machine, Scheduling::Modulo, Only::default())?;
            lines.push(Line::new(
                format!("Blowfish, {name}: cycles a byte"),
                None,
                cycles(&kernel, &way, &machine),
                None,
            ));
        }
        Ok(experiment("E7", "changes of the machine, overlapped kernels", lines, &[]))
    }

    /// E8: prediction and schedule of the library; verdicts beside the paper's rule; and E11, values.
    fn library(&mut self, published: &Published) -> Outcome<(Experiment, Experiment, Experiment)> {
        let (mut lines, mut rules, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (mut errors, mut rates): (Vec<f64>, Vec<f64>) = Default::default();
        let (mut n_kernels, mut n_least, mut n_near, mut n_none) = (0, 0, 0, 0);
        let (mut n_rolled, mut n_meeting) = (0, 0);
        for name in &published.library.platforms {
            let machine = platform(name)?;
            for operation in &published.library.operations {
                let (set, what) = operation.split_once(' ').unwrap_or((operation, ""));
                let loops = match self.loops(set, what) {
                    Ok(loops) => loops,
                    Err(problem) => {
                        self.context.terminal.note(&format!("{operation}: {problem}"));
                        continue;
                    }
                };
                let Some(body) = loops.loops.first() else {
                    let reason = loops.no_loop.first().map_or("no tokens go through a loop", String::as_str);
                    lines.push(Line::none(operation.clone()).note(format!("no kernel: {reason}")));
                    n_none += 1;
                    continue;
                };
                let all = match ways(body, &machine, false) {
                    Ok(all) => all,
                    Err(reason) => {
                        lines.push(Line::none(operation.clone()).note(format!("no kernel: {reason}")));
                        n_none += 1;
                        continue;
                    }
                };
                match kernel_of(&all, &machine, Scheduling::Modulo) {
                    Err(reason) => match rolled_of(&all, &machine) {
                        Ok((rolled, way)) => {
                            let load = rolled.load(400_000);
                            let cycles = program::run(&load, &machine).cycles as f64 / (400_000.0 * way.bytes());
                            lines.push(Line::new(operation.clone(), None, cycles, None).note(format!(
                                "rounds as a loop: {} of {} cycles; without: {reason}",
                                rolled.rounds, rolled.round.schedule.ii
                            )));
                            n_rolled += 1;
                            let body = &way.form.body;
                            let run = |data: &Data| rolled.run(&machine, body, data);
                            let right = trial_of(&way.placed.code, &machine, body, 3, 11, &run);
                            let what = format!("{operation} on {name}, rounds as a loop: differences");
                            let differences = f64::from(u8::from(right.is_err()));
                            values.push(
                                Line::new(what, Some(0.0), differences, Some(0.0))
                                    .note(right.err().unwrap_or_default()),
                            );
                        }
                        Err(other) => {
                            lines.push(Line::none(operation.clone()).note(format!("no kernel: {reason}; {other}")));
                            n_none += 1;
                        }
                    },
                    Ok((kernel, way)) => {
                        let predicted = predict(&way, &machine);
                        let load = Load::of(&kernel, 400_000);
                        let scheduled = program::run(&load, &machine).cycles as f64 / (400_000.0 * way.bytes());
                        let error = predicted.cycles_per_byte / scheduled - 1.0;
                        errors.push(error.abs());
                        // Names would lie upon each other: those that are off have one.
                        let label = if error.abs() > 0.05 { operation.clone() } else { String::new() };
                        self.points.push(Point { x: scheduled, y: predicted.cycles_per_byte, label });
                        n_kernels += 1;
                        n_meeting += usize::from(kernel.registers.conflicts > 0);
                        let least = kernel.res_mii.max(kernel.rec_mii);
                        n_least += usize::from(kernel.schedule.ii == least);
                        n_near += usize::from(kernel.schedule.ii as f64 <= 1.05 * least as f64);
                        let line = Line::new(operation.clone(), Some(scheduled), predicted.cycles_per_byte, Some(0.15));
                        let limit = match &predicted.limit {
                            Limit::Unit(name) => name.clone(),
                            other => other.to_string(),
                        };
                        lines.push(line.note(format!(
                            "{}; interval {} of {least} at least; by {limit}{}",
                            way.form.name,
                            kernel.schedule.ii,
                            if predicted.channels { "; channels" } else { "" }
                        )));
                        let right = trial(&kernel, &machine, &way.form.body, 4, 11);
                        let note = right.as_ref().err().cloned().unwrap_or_default();
                        rates.extend(right.as_ref().ok().map(|rate| rate / 1e6));
                        values.push(
                            Line::new(
                                format!("{operation} on {name}: differences"),
                                Some(0.0),
                                f64::from(u8::from(right.is_err())),
                                Some(0.0),
                            )
                            .note(note),
                        );
                        let rule = by_the_papers_rule(&all, &machine);
                        let host = on_host(body, &platform("athlon64")?).unwrap_or(f64::NAN);
                        let speedup = Self::speedup(predicted.cycles_per_byte, host, &machine);
                        rules.push(Line::new(operation.clone(), None, speedup, None).note(format!(
                            "{}; the paper's rule: {}",
                            headrace::analysis::streams::stream::suits::Verdict::of(speedup),
                            if rule { "suitable" } else { "unsuitable" }
                        )));
                    }
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        rates.sort_by(f64::total_cmp);
        let rate = |part: usize| rates.get(rates.len() * part / 4).copied().unwrap_or(f64::NAN);
        let reached = if rate(2) >= 5.0 { "reached" } else { "not reached" };
        let simulator = format!(
            "* Cycles that the simulator does in a second, of all clusters together: {:.1} million for half of the kernels and more, \
             {:.1} for three quarters (5 were asked: {reached}).",
            rate(2),
            rate(1)
        );
        let median = errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN);
        let most = errors.last().copied().unwrap_or(f64::NAN);
        let within = errors.iter().filter(|error| **error <= 0.15).count();
        let summary = [
            format!(
                "* {n_kernels} kernels: median error {:.1} %, worst {:.1} %, {within} within 15 %. {n_least} have the least \
                 interval that units and recurrences allow, {n_near} one within 5 % of it; in {n_meeting} some results meet others \
                 at the port of a register file. {n_rolled} more have their rounds as a loop, which the model does not predict: \
                 \"here\" is what is simulated. {n_none} operations have no kernel, for the reason beside them.",
                100.0 * median,
                100.0 * most
            ),
            "* \"Published\" is the stream program as it is simulated here, on 400,000 records, \"here\" the checking model, in \
             cycles a byte of \
             all clusters."
                .to_owned(),
        ];
        let notes: Vec<&str> = summary.iter().map(String::as_str).collect();
        self.context.terminal.status("");
        Ok((
            experiment("E8", "the checking model beside schedules, for the library", lines, &notes),
            experiment(
                "E8b",
                "verdicts: speed-up over an Athlon 64 by the same model, beside the paper's rule",
                rules,
                &[],
            ),
            experiment(
                "E11",
                "values of kernels beside the evaluator's, on random tokens and keys",
                values,
                &[&simulator],
            ),
        ))
    }

    /// E9: the model of a processor's pipes beside the loops of the C target, timed on that processor.
    fn measured(&mut self, published: &Published) -> Outcome<Experiment> {
        let title = "AVX-512: the model beside loops of the C target as they are timed, cycles a byte";
        let machine = platform(&published.measured.platform)?;
        let processor = machine.processor.as_ref().filter(|processor| processor.is_here());
        let (Some(processor), Some(compiler)) = (processor, Compiler::named("clang")) else {
            let note = format!("* Not compared: this is no {}, or there is no clang.", machine.about);
            return Ok(experiment("E9", title, Vec::new(), &[&note]));
        };
        let folder = tempfile::tempdir().map_err(|error| Error::wrong(format!("temporary folder: {error}")))?;
        let (mut lines, mut pairs) = (Vec::new(), Vec::new());
        let mut skipped = Vec::new();
        for operation in &published.library.operations {
            let (set, what) = operation.split_once(' ').unwrap_or((operation, ""));
            let timed = match self.timed_loop(set, what, processor)? {
                Ok(timed) => timed,
                Err(why) => {
                    skipped.push(format!("{operation} ({why})"));
                    continue;
                }
            };
            self.context.terminal.status(&format!("{operation}: {}", timed.about));
            // What else runs here makes it slower, never faster: the least of several counts.
            let mut least = f64::INFINITY;
            for attempt in 0..ATTEMPTS {
                let trials = LocalTrials::remembered_in(compiler.clone(), &folder.path().join(attempt.to_string()));
                let (Some(took), Some(cycle)) = (trials.run(&timed.source), trials.run(A_CYCLE)) else { continue };
                least = least.min(took / cycle);
            }
            if !least.is_finite() {
                skipped.push(format!("{operation} ({} does not run here)", timed.about));
                continue;
            }
            let (predicted, measured) = (timed.pace.cycles / timed.bytes, least / timed.bytes);
            pairs.push((predicted, measured));
            let about = format!("{}, by {}", timed.about, timed.pace.limit);
            lines.push(Line::new(operation.clone(), Some(measured), predicted, Some(0.3)).note(about));
        }
        let within = lines.iter().filter(|line| line.is_within() == Some(true)).count();
        let correlation =
            rank_correlation(&pairs).map_or_else(|| "–".to_owned(), |coefficient| format!("{coefficient:.2}"));
        let mut notes = vec![
            format!(
                "* {within} of {} within 30 %; rank correlation (Spearman) {correlation}. Timed: the loop alone, by clang -O3, on 16 KB \
                 that lie in the first cache, the least of many runs; cycles by a chain of additions beside it.",
                lines.len(),
            ),
            "* Predicted: the way in which the C target prints the loop. Operations of the loop by kind, values that find no \
             register, and the longest chain are counted when it is printed; pipes, latencies and how far the processor looks \
             ahead are those of the platform's file."
                .to_owned(),
        ];
        if !skipped.is_empty() {
            notes.push(format!("* Not compared: {}.", skipped.join("; ")));
        }
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        self.context.terminal.status("");
        Ok(experiment("E9", title, lines, &notes))
    }

    /// The loop that long messages of an operation go through, in the way in which the C target prints it for most; why there is
    /// none.
    fn timed_loop(&mut self, set: &str, operation: &str, processor: &Processor) -> Outcome<Result<Timed, String>> {
        let library = self.context.library()?;
        let spec = library.select(&[set, operation]).map_err(|problem| Error::unknown(&problem))?;
        let Some(spec) = spec.first().copied().cloned() else { return Ok(Err("no operation".into())) };
        let Some(variant) = spec.variant(None) else { return Ok(Err("no variant".into())) };
        let network = self.context.elaborate(&variant.network.to_string(), &[])?;
        let loops = loops_of(&spec, &network);
        // Long messages go through the loop that takes most.
        let taken = |body: &&Loop| body.consumes.iter().map(|&(n, bits)| n * u64::from(bits)).sum::<u64>();
        let longest = loops.loops.iter().rev().max_by_key(|body| (taken(body) > 0, body.graph.len()));
        let Some(body) = longest else { return Ok(Err("it has no loop".into())) };
        let mut ways = on_trial(body, !body.is_independent());
        // What runs is what the target estimates to be the fastest, by its own estimate.
        ways.sort_by(|a, b| a.variant.cycles.total_cmp(&b.variant.cycles));
        let Some(way) = ways.into_iter().next() else { return Ok(Err("it is not printed for vectors".into())) };
        let work = &way.variant.work;
        if work.operations.is_empty() {
            return Ok(Err(format!("operations of {} are not counted", way.variant.name)));
        }
        let (operations, chain, beside) = (&work.operations, &work.chain, &work.beside);
        let counted = Counted { operations, chain, beside, group: work.group, is_carried: work.is_carried };
        let messages = if way.messages > 1 { format!(", {} messages", way.messages) } else { String::new() };
        let about = format!("{}{messages}", way.variant.name);
        let pace = processor.pace(&counted);
        Ok(pace.map(|pace| Timed { about, source: way.source, bytes: bytes_of(body), pace }))
    }

    /// E10: short messages.
    fn lengths(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        let machine = platform("imagine")?;
        for paper in [&published.paper[0], &published.paper[3]] {
            let (kernel, way) = self.kernel(&paper.operation, &machine, Scheduling::Modulo, Only::default())?;
            let full = cycles(&kernel, &way, &machine).max(predict(&way, &machine).cycles_per_byte);
            let mut half = None;
            for log in 0..=17 {
                let records = 1_u64 << log;
                let load = Load::of(&kernel, records);
                let (run, formula) = (program::run(&load, &machine).cycles as f64, program::predicted(&load, &machine));
                let bytes = records as f64 * way.bytes();
                if half.is_none() && run / bytes <= 2.0 * full {
                    half = Some(bytes);
                }
                if log % 4 == 0 || log == 17 {
                    lines.push(
                        Line::new(format!("{}, {bytes} bytes: cycles", paper.name), Some(run), formula, Some(0.05))
                            .note(format!("{:.2} cycles a byte", run / bytes)),
                    );
                }
            }
            lines.push(Line::new(format!("{}: bytes at half speed", paper.name), None, half.unwrap_or(f64::NAN), None));
        }
        let notes = ["* \"Published\" is the stream program as it is simulated here, \"here\" the formula."];
        Ok(experiment("E10", "short messages: command, memory, start of the kernel", lines, &notes))
    }

    /// What the compiler finds beyond the paper.
    fn better(&mut self, published: &Published) -> Outcome<Experiment> {
        let imagine = platform("imagine")?;
        let big = platform("imagine-big-sp")?;
        let blowfish = published.paper[0].operation.clone();
        let rijndael = published.paper[2].operation.clone();
        let mut take = |machine: &Machine, operation: &[String; 2], scheduling, only| -> Outcome<f64> {
            let (kernel, way) = self.kernel(operation, machine, scheduling, only)?;
            Ok(cycles(&kernel, &way, machine))
        };
        let of = |spread| Only { spread: Some(spread), form: None, only_shifts: false };
        let literal = take(&imagine, &blowfish, Scheduling::Modulo, of(&[Otherwise::SpreadEach]))?;
        let one = take(&imagine, &blowfish, Scheduling::Modulo, of(&[Otherwise::SpreadPacked]))?;
        // Both with whatever way is best for them.
        let any = &[Otherwise::SpreadEach, Otherwise::SpreadPacked, Otherwise::SpreadExchange];
        let plain = take(&imagine, &blowfish, Scheduling::List, of(any))?;
        let round = take(&imagine, &blowfish, Scheduling::Modulo, of(any))?;
        let (big_plain, big_overlapped) = (
            take(&big, &blowfish, Scheduling::List, Only::default())?,
            take(&big, &blowfish, Scheduling::Modulo, Only::default())?,
        );
        let bytes = take(
            &imagine,
            &rijndael,
            Scheduling::Modulo,
            Only { form: Some("as it is"), spread: None, only_shifts: false },
        )?;
        let tables = take(&imagine, &rijndael, Scheduling::Modulo, Only::default())?;
        let line = |what: &str, asked: f64, slow: f64, fast: f64| {
            Line::new(what, Some(asked), slow / fast, None).note(format!("{slow:.3} and {fast:.3} cycles a byte"))
        };
        let lines = vec![
            line("one broadcast for all indices in a word, Blowfish", 1.6, literal, one),
            Line::new("words exchanged instead, Blowfish", None, one / round, None)
                .note(format!("{one:.3} and {round:.3} cycles a byte")),
            line("overlapped blocks, Blowfish with spread tables", 1.3, plain, round),
            line("overlapped blocks, Blowfish with whole tables", 4.0, big_plain, big_overlapped),
            line("a merged table in the scratchpad of 256 words, Rijndael", 1.9, bytes, tables),
        ];
        let notes = [
            "* \"Published\" is what was asked for. Each is found by the compiler from the network of the library.",
            "* Words exchanged: in each turn two clusters have each other's word, and read for each other. Its own is there \
             at once, which saves a turn. Plain and overlapped kernels with spread tables take whichever way is best for them.",
        ];
        self.context.terminal.status("");
        Ok(experiment("E12", "beyond the paper: how many times as fast", lines, &notes))
    }

    fn charts(&mut self, published: &Published) -> Outcome<Vec<(&'static str, String)>> {
        let machine = platform("imagine")?;
        let points = std::mem::take(&mut self.points);
        let ends: Vec<f64> = points.iter().map(|point| point.x).collect();
        let (low, high) = ends.iter().fold((f64::MAX, 0.0_f64), |(low, high), &x| (low.min(x), high.max(x)));
        let diagonal = [low, high].map(|at| Point { x: at, y: at, label: String::new() });
        let model = Scatter {
            title: "The checking model beside simulated programs, Imagine".into(),
            x: Axis::logarithmic("simulated, cycles a byte"),
            y: Axis::logarithmic("predicted, cycles a byte"),
            series: vec![
                Series { name: "equal".into(), line: true, points: diagonal.to_vec() },
                Series { name: "operations".into(), line: false, points },
            ],
            size: (760, 520),
        };
        let mut sizes = Vec::new();
        for words in [96_u32, 128, 192, 256, 384, 512, 768, 1023, 1024, 1536, 2048] {
            let mut changed = machine.clone();
            changed.scratchpad = Some(Scratchpad { words: figure(words) });
            let found = self.kernel(&published.paper[0].operation, &changed, Scheduling::Modulo, Only::default());
            if let Ok((kernel, way)) = found {
                sizes.push(Point { x: f64::from(words), y: cycles(&kernel, &way, &changed), label: String::new() });
            }
        }
        let sweep = Scatter {
            title: "Blowfish by the words of a scratchpad, overlapped".into(),
            x: Axis::logarithmic("words"),
            y: Axis::logarithmic("cycles a byte"),
            series: vec![Series { name: "Blowfish ECB".into(), line: true, points: sizes }],
            size: (760, 420),
        };
        self.context.terminal.status("");
        Ok(vec![("stream-model.svg", model.svg()), ("stream-scratchpad.svg", sweep.svg())])
    }
}

fn figure<T>(value: T) -> Figure<T> {
    Figure { value, source: "swept".into() }
}
