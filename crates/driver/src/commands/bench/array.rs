//! `headrace bench array`: mappings to many-core arrays beside what was published of such.
//!
//! `bench/array.toml` has the published numbers, files of mappings and platforms what is simulated; this puts one beside the
//! other. Nothing that is published goes into what is computed.

mod figures;

use super::experiments::{Experiment, Experiments, Line, experiment};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use headrace::Error;
use headrace::array::{Costs, Effort, Found, Mapped, Shape, expected, explain, map, search, tasks, verified};
use headrace::clocked::Clocked;
use headrace_array::atomic;
use headrace_array::design::design;
use headrace_array::energy::{Energy, at_voltage, energy, frequency};
use headrace_array::isa::{Form, program_of};
use headrace_array::machine::Machine;
use headrace_array::mapping::{Mapping, built_in};
use headrace_array::place::place;
use headrace_array::program::{Links, Orders};
use headrace_array::rtl::{Array, soft_cores, state_machines};
use headrace_array::search::{MOST_IN_FLIGHT, Score, pareto};
use headrace_array::simulate::{Setup, simulate};
use headrace_ir::Network;
use headrace_platform::{File, Wrong};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    platform: String,
    normal: String,
    design: Vec<PublishedDesign>,
    plain: Vec<Plain>,
    activity: PublishedActivity,
    energy: Vec<PublishedEnergy>,
    scaling: Vec<Scaling>,
    software: Vec<Software>,
    delay: Vec<Delay>,
    wanted: Vec<Wanted>,
    others: Others,
    longer: Vec<Longer>,
    clocks: Vec<String>,
    hardware: InHardware,
    timed: String,
    errata: Errata,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InHardware {
    soft: Vec<String>,
    state_machines: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Longer {
    name: String,
    mapping: String,
    cycles: f64,
    cores: f64,
    /// Why processors are not as many as by the rule.
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delay {
    name: String,
    core: String,
    form: Form,
    cycles: f64,
    tolerance: Option<f64>,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    cores: usize,
    cycles: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Others {
    platforms: Vec<String>,
    mappings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedDesign {
    name: String,
    mapping: String,
    cycles: f64,
    online: Cores,
    offline: Cores,
    tolerance: f64,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cores {
    cores: f64,
    joining: f64,
    per_core: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    name: String,
    mapping: String,
    cores: f64,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedActivity {
    mapping: String,
    period: f64,
    total_mw: f64,
    mbps: f64,
    executing_mw: f64,
    stalled_mw: f64,
    links_mw: f64,
    row: Vec<ActivityRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActivityRow {
    name: String,
    tasks: String,
    number: f64,
    executing: f64,
    nops: f64,
    stalled: f64,
    halted: f64,
    near: f64,
    long: f64,
    printed_mw: [f64; 5],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedEnergy {
    mapping: String,
    name: String,
    nj_per_bit: f64,
    tolerance: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scaling {
    nm: f64,
    volts: f64,
    speed: f64,
    power: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Software {
    name: String,
    nm: f64,
    area: Option<f64>,
    mhz: f64,
    cycles_per_byte: Option<f64>,
    mbps: Option<f64>,
    watts: Option<f64>,
    scaled: Scaled,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scaled {
    mbps: f64,
    area: Option<f64>,
    mbps_per_mm2: Option<f64>,
    nj_per_bit: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Errata {
    notes: Vec<String>,
}

/// Simulates everything, prints it beside what was published, and writes results and document.
pub fn bench(context: &mut Context, arguments: &BenchArgs) -> Outcome {
    let published: Published =
        File::new("bench/array.toml", include_str!("../../../../../bench/array.toml")).parse().map_err(wrong)?;
    let machine = Machine::read(headrace_platform::find(&published.platform).map_err(wrong)?).map_err(wrong)?;
    let mut bench = Bench { context, machine, networks: BTreeMap::new(), kept: BTreeMap::new() };
    let mut experiments = vec![
        bench.cores(&published)?,
        bench.periods(&published)?,
        bench.atomic(&published)?,
        bench.per_core(&published)?,
        bench.delays(&published)?,
        bench.table_4(&published),
        bench.activity(&published)?,
        bench.energy(&published)?,
        bench.online(&published)?,
        bench.table_5(&published)?,
        bench.sweeps(&published)?,
        bench.longer(&published)?,
        bench.in_hardware(&published)?,
        bench.clocks(&published)?,
        bench.speed(&published)?,
    ];
    let (figures, charts) = bench.figures(&published)?;
    if let Some(document) = &arguments.into {
        let folder = document.with_file_name("figures");
        for (name, chart) in charts {
            write_file(&folder.join(name), chart.as_bytes())?;
        }
    }
    experiments.extend([bench.search(&published)?, figures]);
    let results = |experiments: &[Experiment]| Experiments {
        mark: super::ARRAY.into(),
        command: "headrace bench array --json bench/results/array.json --into docs/array.md".into(),
        experiments: experiments.to_vec(),
        errata: published.errata.notes.clone(),
    };
    let mut others = bench.others(&published, &mut |others| {
        // What takes long is kept as far as it is.
        results(&[experiments.as_slice(), std::slice::from_ref(others)].concat()).write(arguments)
    })?;
    others.lines.sort_by(|a, b| a.what.cmp(&b.what));
    experiments.push(others);
    let results = results(&experiments);
    output::print(results.text().as_bytes())?;
    results.write(arguments)
}

fn wrong(wrong: Wrong) -> Error {
    Error::wrong(wrong.to_string())
}

/// What is simulated, once each.
struct Bench<'c> {
    context: &'c mut Context,
    machine: Machine,
    networks: BTreeMap<String, Arc<Network>>,
    kept: BTreeMap<String, Arc<(Mapped, Energy)>>,
}

/// The modes of a key, by the end of a mapping's name.
const MODES: [&str; 2] = ["online", "offline"];

impl Bench<'_> {
    fn mapping(&mut self, name: &str) -> Outcome<(Mapping, Arc<Network>)> {
        let file = built_in().iter().find(|file| file.name == name);
        let file = file.ok_or_else(|| Error::wrong(format!("there is no mapping `{name}`")))?;
        let mapping = Mapping::read(file).map_err(wrong)?;
        let network = mapping.written.network.clone().unwrap_or_default();
        let known = self.networks.get(&network).cloned();
        let elaborated = match known {
            Some(known) => known,
            None => self.context.elaborate(&network, &[])?,
        };
        self.networks.insert(network, Arc::clone(&elaborated));
        Ok((mapping, elaborated))
    }

    /// A mapping, simulated, placed and held to the interpreter.
    fn mapped(&mut self, name: &str) -> Outcome<Arc<(Mapped, Energy)>> {
        if let Some(known) = self.kept.get(name) {
            return Ok(Arc::clone(known));
        }
        self.context.terminal.status(&format!("simulating {name}"));
        let (mapping, network) = self.mapping(name)?;
        let mapped = map(&network, &self.machine, &mapping, Effort { messages: 200, ..Effort::default() })?;
        let orders = Orders::of(&mapped.design, &|_| false, &|_| false);
        let links = Links::of(&mapped.design, &self.machine, &orders, None);
        let places = place(&mapped.design, &self.machine, &links, 1).map_err(Error::wrong)?;
        let takes = energy(&mapped.design, &self.machine, &mapped.setup.channels, &mapped.outcome, Some(&places));
        let both = Arc::new((mapped, takes));
        self.kept.insert(name.to_owned(), Arc::clone(&both));
        Ok(both)
    }

    fn cores(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for it in &published.design {
            for (mode, cores) in MODES.iter().zip([&it.online, &it.offline]) {
                let both = self.mapped(&format!("{}-{mode}", it.mapping))?;
                let n = both.0.design.cores.len() as f64;
                let joining = both.0.design.cores.iter().filter(|core| core.merges).count() as f64;
                lines.push(Line::new(format!("{}, {mode} keys", it.name), Some(cores.cores), n, Some(0.0)));
                let what = format!("{}, {mode} keys: joining", it.name);
                lines.push(Line::new(what, Some(cores.joining), joining, Some(0.0)));
            }
        }
        for it in &published.plain {
            let both = self.mapped(&it.mapping)?;
            let n = both.0.design.cores.len() as f64;
            let tolerance = if it.note.is_empty() { Some(0.0) } else { None };
            lines.push(Line::new(format!("{}, not optimised", it.name), Some(it.cores), n, tolerance).note(&it.note));
        }
        Ok(experiment(
            "X1",
            "processors",
            lines,
            &[
                "Each mapping has encrypted the known answers in its file and 200 random blocks in the simulator, as the interpreter has them.",
            ],
        ))
    }

    fn periods(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for it in &published.design {
            for mode in MODES {
                let both = self.mapped(&format!("{}-{mode}", it.mapping))?;
                let line = Line::new(
                    format!("{}, {mode} keys", it.name),
                    Some(it.cycles),
                    both.0.outcome.cycles_per_message,
                    Some(it.tolerance),
                );
                lines.push(line.note(&it.note));
            }
        }
        Ok(experiment(
            "X2–X4",
            "cycles a block",
            lines,
            &[
                "One latency of links, fitted to four of the looped designs; what is left of deviations is the latency of each single link and instructions around loops, which the lost figures would say.",
            ],
        ))
    }

    fn atomic(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for it in &published.design {
            let name = format!("{}-online", it.mapping);
            let simulated = self.mapped(&name)?.0.outcome.cycles_per_message;
            let period = atomic::period(&self.mapped(&name)?.0.design, &self.machine).map_err(Error::wrong)?;
            let holds = if period + 0.5 >= simulated { "not less than simulated" } else { "less than simulated" };
            lines.push(Line::new(&it.name, Some(it.cycles), period, None).note(holds));
        }
        Ok(experiment("X5", "cycles a block with atomic tasks: the period of the event graph", lines, &[]))
    }

    fn per_core(&mut self, published: &Published) -> Outcome<Experiment> {
        // Throughput per core from published cycles and our cores, as Table 2 has it, and from simulated cycles.
        let normal = published.design.iter().find(|it| format!("{}-online", it.mapping) == published.normal);
        let normal_cycles = normal.map_or(f64::NAN, |it| it.cycles);
        let base = self.mapped(&published.normal)?;
        let (base_cores, base_simulated) = (base.0.design.cores.len() as f64, base.0.outcome.cycles_per_message);
        let mut lines = Vec::new();
        for it in &published.design {
            for (mode, cores) in MODES.iter().zip([&it.online, &it.offline]) {
                let both = self.mapped(&format!("{}-{mode}", it.mapping))?;
                let n = both.0.design.cores.len() as f64;
                let from_published = normal_cycles * base_cores / (it.cycles * n);
                let simulated = base_simulated * base_cores / (both.0.outcome.cycles_per_message * n);
                // Table 2 has two digits behind the point.
                let tolerance = Some(0.0101 / cores.per_core);
                let line =
                    Line::new(format!("{}, {mode} keys", it.name), Some(cores.per_core), from_published, tolerance);
                lines.push(line.note(format!("{simulated:.2} with simulated cycles")));
            }
        }
        Ok(experiment(
            "X6",
            "throughput per processor, normalised, from published cycles and processors here",
            lines,
            &[],
        ))
    }

    fn table_4(&self, published: &Published) -> Experiment {
        let (power, activity) = (&self.machine.power, &published.activity);
        let mut sums = [0.0; 4];
        let mut lines = Vec::new();
        for row in &activity.row {
            let parts = [
                row.executing * *power.active_mw,
                (row.nops + row.stalled) * *power.stall_mw,
                row.halted * *power.leakage_mw,
                row.near * *power.near_mw + row.long * *power.long_mw_per_tile,
            ]
            .map(|part| part / activity.period);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += row.number * part);
            for (what, (part, printed)) in
                ["execution", "stall", "leakage", "links"].iter().zip(parts.iter().zip(row.printed_mw))
            {
                // Printed with two digits.
                let line = Line::new(format!("{}: {what}, mW", row.name), Some(printed), *part, None);
                let off = (part - printed).abs() > 0.011;
                lines.push(if off { line.note("see errata") } else { line });
            }
            let total = parts.iter().sum();
            let line = Line::new(format!("{}: sum, mW", row.name), Some(row.printed_mw[4]), total, None);
            lines.push(if (total - row.printed_mw[4]).abs() > 0.05 { line.note("see errata") } else { line });
        }
        lines.push(Line::new("all: execution, mW", Some(activity.executing_mw), sums[0], Some(0.005)));
        lines.push(Line::new("all: stall, mW", Some(activity.stalled_mw), sums[1], Some(0.005)));
        lines.push(Line::new("all: links, mW", Some(activity.links_mw), sums[3], Some(0.005)));
        lines.push(Line::new("all, mW", Some(activity.total_mw), sums.iter().sum(), Some(0.005)));
        experiment("X8", "Table 4 from its own cycles", lines, &[])
    }

    fn activity(&mut self, published: &Published) -> Outcome<Experiment> {
        let both = self.mapped(&published.activity.mapping)?;
        let (mapped, takes) = (&both.0, &both.1);
        let mut lines = Vec::new();
        for row in &published.activity.row {
            let is_of = |core: &&headrace_array::design::Core| match row.tasks.as_str() {
                "merge" => core.merges,
                prefix => {
                    !core.merges
                        && core.tasks.iter().any(|task| {
                            let name = &mapped.design.tasks.tasks[task.index()].name;
                            name.split(" + ").any(|part| part.starts_with(prefix))
                        })
                }
            };
            let of: Vec<usize> =
                (0..mapped.design.cores.len()).filter(|&core| is_of(&&mapped.design.cores[core])).collect();
            let mean = |f: &dyn Fn(usize) -> u64| {
                of.iter().map(|&core| f(core) as f64).sum::<f64>() / (of.len().max(1) * mapped.outcome.steady) as f64
            };
            let activity = |core: usize| mapped.outcome.activity[core];
            lines.push(Line::new(format!("{}: processors", row.name), Some(row.number), of.len() as f64, Some(0.0)));
            let one = |published: f64| if published > 0.0 { Some(1.0 / published) } else { Some(0.0) };
            let executed = mean(&|core| activity(core).executed);
            lines.push(Line::new(
                format!("{}: executing", row.name),
                Some(row.executing),
                executed,
                one(row.executing),
            ));
            let nops = mean(&|core| activity(core).nops);
            lines.push(Line::new(format!("{}: NOP", row.name), Some(row.nops), nops, one(row.nops)));
            lines.push(Line::new(
                format!("{}: stalled", row.name),
                Some(row.stalled),
                mean(&|core| activity(core).stalled),
                None,
            ));
            lines.push(Line::new(
                format!("{}: halted", row.name),
                Some(row.halted),
                mean(&|core| activity(core).halted),
                None,
            ));
        }
        lines.push(Line::new("all, mW", Some(published.activity.total_mw), takes.total_mw(), Some(0.01)));
        let mbps = 128.0 * takes.messages_per_second / 1e6;
        lines.push(
            Line::new("Mbit/s", Some(published.activity.mbps), mbps, None)
                .note("published at 1.21 GHz, simulated at the nominal frequency"),
        );
        Ok(experiment(
            "X9",
            "Table 4 from simulated activity: cycles of 70, and power",
            lines,
            &[
                "With MixColumns writing each byte when it is done; oscillators halt after the cycles that the platform says.",
            ],
        ))
    }

    fn energy(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for it in &published.energy {
            let per_bit = self.mapped(&it.mapping)?.1.nj_per_message / 128.0;
            lines.push(Line::new(format!("{}, nJ a bit", it.name), Some(it.nj_per_bit), per_bit, Some(it.tolerance)));
        }
        for it in &published.design {
            let per_bit = self.mapped(&format!("{}-offline", it.mapping))?.1.nj_per_message / 128.0;
            lines.push(Line::new(format!("{}, nJ a bit", it.name), None, per_bit, None));
        }
        let [pm, nomerge] =
            ["pm-offline", "nomerge-offline"].map(|name| self.mapped(name).map(|both| both.1.nj_per_message));
        let line = Line::new("Parallel MixColumns beside No merge", Some(2.0), pm? / nomerge?, None);
        lines.push(line.note("not reproduced: see errata"));
        for volts in [0.65, 0.8, 1.0, 1.2, 1.3] {
            let line =
                Line::new(format!("energy at {volts} V beside 1.3 V"), None, at_voltage(&self.machine, volts), None);
            let line =
                if volts == 0.65 { Line { published: Some(0.39 / 1.54), tolerance: Some(0.02), ..line } } else { line };
            lines.push(line.note(format!("at {:.0} MHz", frequency(&self.machine, volts))));
        }
        Ok(experiment("X10", "energy", lines, &[]))
    }

    fn online(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for it in &published.design {
            let online = self.mapped(&format!("{}-online", it.mapping))?.1.nj_per_message;
            let offline = self.mapped(&format!("{}-offline", it.mapping))?.1.nj_per_message;
            lines.push(
                Line::new(&it.name, None, 100.0 * (online / offline - 1.0), None).note("published for all: 35 to 55"),
            );
        }
        Ok(experiment("X11", "more energy with online key expansion, per cent", lines, &[]))
    }

    fn table_5(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        let tolerance = Some(0.003);
        let own = published.software.last().ok_or_else(|| Error::wrong("bench/array.toml: no software"))?;
        let [mut per_area, mut per_bit]: [Vec<(String, f64)>; 2] = Default::default();
        for it in &published.software {
            let scaling = published.scaling.iter().find(|scaling| scaling.nm == it.nm);
            let scaling =
                scaling.ok_or_else(|| Error::wrong(format!("bench/array.toml: no scaling from {} nm", it.nm)))?;
            let raw = it.mbps.unwrap_or_else(|| 8.0 * it.mhz / it.cycles_per_byte.unwrap_or(f64::NAN));
            let mbps = raw * scaling.speed;
            let at = format!("{} nm, {} V", scaling.nm, scaling.volts);
            lines.push(Line::new(format!("{}: Mbit/s", it.name), Some(it.scaled.mbps), mbps, tolerance).note(at));
            let area = it.area.map(|area| area * (65.0 / it.nm).powi(2));
            if let (Some(area), Some(printed)) = (area, it.scaled.area) {
                lines.push(Line::new(format!("{}: area, mm²", it.name), Some(printed), area, Some(0.005)));
            }
            if let (Some(area), Some(printed)) = (area, it.scaled.mbps_per_mm2) {
                lines.push(Line::new(
                    format!("{}: Mbit/s a mm²", it.name),
                    Some(printed),
                    it.scaled.mbps / area,
                    tolerance,
                ));
                per_area.push((it.name.clone(), it.scaled.mbps / area));
            }
            if let (Some(watts), Some(power), Some(printed)) = (it.watts, scaling.power, it.scaled.nj_per_bit) {
                let energy = watts * power / it.scaled.mbps * 1e3;
                lines.push(Line::new(format!("{}: nJ a bit", it.name), Some(printed), energy, tolerance));
                per_bit.push((it.name.clone(), energy));
            }
        }
        let of =
            |all: &[(String, f64)], name: &str| all.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        for (name, value) in per_area.iter().filter(|(name, _)| *name != own.name) {
            let gain = of(&per_area, &own.name).unwrap_or(f64::NAN) / value;
            lines.push(Line::new(format!("throughput an area beside {name}"), None, gain, None));
        }
        for (name, value) in per_bit.iter().filter(|(name, _)| *name != own.name) {
            let gain = value / of(&per_bit, &own.name).unwrap_or(f64::NAN);
            lines.push(Line::new(format!("energy a bit beside {name}"), None, gain, None));
        }
        Ok(experiment(
            "X12",
            "Table 5, scaled to 65 nm and 1.3 V",
            lines,
            &[
                "Throughput an area and energy a bit follow from the scaled throughput as it is printed, in three or four figures.",
                "Claimed: 3.5 to 9.2 and 10.7 to 15.6 times the throughput an area of processors, 3.3 times that of the GPU; 9.5 to 11.3 and 8.2 to 18.1 times less energy, 2.9 times less than the GPU.",
            ],
        ))
    }

    /// Cycles a block with a changed machine; none where processors wait for each other.
    fn with(&mut self, name: &str, change: &dyn Fn(&mut Machine)) -> Outcome<Result<f64, String>> {
        let (mapping, network) = self.mapping(name)?;
        let mut machine = self.machine.clone();
        change(&mut machine);
        let message = mapping.written.message.clone().unwrap_or_default();
        let shape = Shape::of(&network, &message)?;
        let design = design(&tasks(&network, &shape)?, &mapping, &machine).map_err(wrong)?;
        let messages = shape.random(&network, 32, 1, &[1]);
        let parameters = design.tasks.parameter_values(&messages[0]).map_err(Error::wrong)?;
        let setup = headrace_array::program::build(&design, &machine, &parameters, None).map_err(Error::wrong)?;
        Ok(match simulate(&setup, &messages, None) {
            Ok(outcome) => Ok(outcome.cycles_per_message),
            Err(failed) => Err(explain(&design, &failed).into()),
        })
    }

    fn delays(&mut self, published: &Published) -> Outcome<Experiment> {
        let (mapping, network) = self.mapping("delays")?;
        let shape = Shape::of(&network, &mapping.written.message.clone().unwrap_or_default())?;
        let design = design(&tasks(&network, &shape)?, &mapping, &self.machine).map_err(wrong)?;
        let message = shape.random(&network, 1, 1, &[]);
        let parameters = design.tasks.parameter_values(&message[0]).map_err(Error::wrong)?;
        let mut lines = Vec::new();
        for it in &published.delay {
            // The processor that joins eight words, where one is asked for.
            let joins_eight = |core: &headrace_array::design::Core| {
                core.merges && core.tasks.iter().all(|task| design.tasks.tasks[task.index()].outputs.len() == 8)
            };
            let core = match it.core.as_str() {
                "MERGE8" => design.cores.iter().position(joins_eight),
                name => design.cores.iter().position(|core| core.name == name),
            };
            let core = core.ok_or_else(|| Error::wrong(format!("bench/array.toml: no processor `{}`", it.core)))?;
            let made = program_of(&design, &self.machine, &parameters, core, it.form).map_err(Error::wrong)?;
            let line = Line::new(&it.name, Some(it.cycles), (made.cycles.0 + made.cycles.1) as f64, it.tolerance);
            let about = format!(
                "{} instructions, {} NOPs, {} words of program",
                made.cycles.0,
                made.cycles.1,
                made.code.program_words()
            );
            let about = if it.note.is_empty() { about } else { format!("{}; {about}", it.note) };
            lines.push(line.note(about));
        }
        Ok(experiment(
            "X7",
            "cycles of generated programs beside Table 1",
            lines,
            &[
                "The latencies of pointers, loops and generators were fitted to four of these delays; the others and how they fall to instructions and NOPs check them.",
            ],
        ))
    }

    fn search(&mut self, published: &Published) -> Outcome<Experiment> {
        let (mapping, network) = self.mapping("aes128-encrypt")?;
        let normal = published.design.iter().find(|it| format!("{}-online", it.mapping) == published.normal);
        let work = normal.map_or(f64::NAN, |it| it.cycles * it.online.cores);
        let mut lines = Vec::new();
        let mut notes = Vec::new();
        for (costs, about) in [(Costs::Published, "measured costs"), (Costs::Isa(None), "generated code")] {
            let terminal = self.context.terminal;
            let mut status = |at: usize, n: usize| terminal.status(&format!("{about}: mapping {at} of {n}"));
            let mut found = search(&network, &self.machine, &mapping, costs, &mut status)?;
            if costs == Costs::Published {
                // The published looped designs with several messages in flight belong to the space, too.
                found.extend(self.in_flight(published)?);
            }
            let scores: Vec<Score> = found.iter().map(|found| found.score).collect();
            for at in pareto(&scores) {
                let Score { cores, cycles, .. } = scores[at];
                // It counts when it has encrypted known answers and random blocks.
                let best = Mapping::read(&File::new("found.toml", found[at].text.clone())).map_err(wrong)?;
                let held = map(&network, &self.machine, &best, Effort { messages: 1000, costs, ..Effort::default() });
                let note = match &held {
                    Ok(held) => format!(
                        "{}; {} known answers, {} random blocks",
                        found[at].about, held.n_answers, held.n_messages
                    ),
                    Err(why) => format!("{}; not verified: {why}", found[at].about),
                };
                if held.is_ok() {
                    let what = format!("{about}: {cores} processors, cycles a block");
                    lines.push(Line::new(what, None, cycles, None).note(note));
                }
            }
            let per_core = scores.iter().map(|it| work / (it.cycles * it.cores as f64)).fold(0.0, f64::max);
            let asked = if costs == Costs::Published { 7.36 } else { 10.0 };
            let reached = if per_core >= asked { "reached" } else { "not reached" };
            notes.push(format!("* {about}: {} mappings are legal and fit; the best has a normalised throughput per processor of {per_core:.2} ({asked} were asked: {reached}).", found.len()));
            if costs == Costs::Published {
                for it in &published.wanted {
                    let good = scores.iter().filter(|score| score.cores <= it.cores).map(|score| score.cycles);
                    let best = good.fold(f64::INFINITY, f64::min);
                    let reached = if best <= it.cycles { "reached" } else { "not reached" };
                    notes.push(format!(
                        "* {} processors or fewer, {} cycles or fewer: {best:.1} found, {reached}.",
                        it.cores, it.cycles
                    ));
                }
            }
        }
        self.context.terminal.status("");
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        Ok(experiment("X14", "mappings found by search; none of those found is better in both", lines, &notes))
    }

    /// The published looped designs with more messages in flight.
    fn in_flight(&mut self, published: &Published) -> Outcome<Vec<Found>> {
        let mut all = Vec::new();
        for it in &published.design {
            let file = built_in().iter().find(|file| file.name == format!("{}-offline", it.mapping));
            let Some(file) = file else { continue };
            for n in 2..=MOST_IN_FLIGHT {
                let text = file.text.replacen("fold = ", &format!("in_flight = {n}\nfold = "), 1);
                let mapping = Mapping::read(&File::new(file.path.clone(), text.clone())).map_err(wrong)?;
                let network = self.mapping(&file.name)?.1;
                let effort = Effort { messages: 32, ..Effort::default() };
                let Ok(mapped) = map(&network, &self.machine, &mapping, effort) else { continue };
                let takes = energy(&mapped.design, &self.machine, &mapped.setup.channels, &mapped.outcome, None);
                let score = Score {
                    cores: mapped.design.cores.len(),
                    cycles: mapped.outcome.cycles_per_message,
                    energy: takes.nj_per_message,
                };
                all.push(Found { text, about: format!("{}, {n} messages in flight", it.name), score });
            }
        }
        Ok(all)
    }

    /// Networks that nobody has published on such arrays.
    fn others(&mut self, published: &Published, keep: &mut dyn FnMut(&Experiment) -> Outcome) -> Outcome<Experiment> {
        let title = "other networks, mapped by search with generated code, cycles a message";
        let notes = [
            "Of each network the mapping with the most messages for each processor. What an array's pins take is not modelled.",
        ];
        let mut lines: Vec<Line> = Vec::new();
        for platform in &published.others.platforms {
            let machine = Machine::read(headrace_platform::find(platform).map_err(wrong)?).map_err(wrong)?;
            for name in &published.others.mappings {
                keep(&experiment("X15", title, lines.clone(), &notes))?;
                let (mapping, network) = self.mapping(name)?;
                let costs = Costs::Isa(None);
                let terminal = self.context.terminal;
                let mut status =
                    |at: usize, n: usize| terminal.status(&format!("{name} on {platform}: mapping {at} of {n}"));
                let what = format!("{platform}: {}", mapping.written.about);
                let absent =
                    |note: String| Line { what: what.clone(), published: None, here: None, tolerance: None, note };
                let found = match search(&network, &machine, &mapping, costs, &mut status) {
                    Ok(found) => found,
                    Err(why) => {
                        lines.push(absent(why.to_string()));
                        continue;
                    }
                };
                let best = found.iter().min_by(|a, b| {
                    let worth = |it: &Found| it.score.cycles * it.score.cores as f64;
                    worth(a).total_cmp(&worth(b))
                });
                let Some(best) = best else {
                    lines.push(absent("no mapping of the family fits the memories".into()));
                    continue;
                };
                let taken = Mapping::read(&File::new("found.toml", best.text.clone())).map_err(wrong)?;
                match map(&network, &machine, &taken, Effort { messages: 1000, costs, ..Effort::default() }) {
                    Ok(held) => {
                        let takes = energy(&held.design, &machine, &held.setup.channels, &held.outcome, None);
                        let line = Line::new(what, None, held.outcome.cycles_per_message, None);
                        lines.push(line.note(format!(
                            "{} processors, {}, {:.0} nJ a message at {} V and {} MHz, {:.2} million messages a second; {} known answers, {} random messages",
                            best.score.cores,
                            best.about,
                            takes.nj_per_message,
                            *machine.clock.volts,
                            *machine.clock.mhz,
                            takes.messages_per_second / 1e6,
                            held.n_answers,
                            held.n_messages
                        )));
                    }
                    Err(why) => lines.push(absent(format!("not verified: {why}"))),
                }
            }
        }
        self.context.terminal.status("");
        Ok(experiment("X15", title, lines, &notes))
    }

    /// Longer keys, of which only rules are published.
    fn longer(&mut self, published: &Published) -> Outcome<Experiment> {
        let has = f64::from(*self.machine.grid.cores);
        let mut lines = Vec::new();
        for it in &published.longer {
            let both = self.mapped(&it.mapping)?;
            let (outcome, n) = (&both.0.outcome, both.0.design.cores.len() as f64);
            let cycles = Line::new(&it.name, Some(it.cycles), outcome.cycles_per_message, Some(0.05));
            lines.push(cycles.note(format!("{} known answers, {} random blocks", both.0.n_answers, both.0.n_messages)));
            let asked = it.why.is_none().then_some(0.0);
            let cores = Line::new(format!("{}: processors", it.name), Some(it.cores), n, asked);
            let cores = it.why.iter().fold(cores, |line, why| line.note(why));
            lines.push(if n > has { cores.note("more than there are") } else { cores });
        }
        Ok(experiment(
            "Section 4.9",
            "keys of 192 and 256 bits: cycles a block, beside what the paper's rules give",
            lines,
            &[
                "With online keys the rule is that looped designs need no more processors, unrolled ones two a round. Full parallelism with online keys of more than 128 bits takes more processors than there are.",
            ],
        ))
    }

    /// Arrays in RTL: cycles of soft cores beside those of the simulator, and of state machines.
    fn in_hardware(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for (names, soft) in [(&published.hardware.soft, true), (&published.hardware.state_machines, false)] {
            for name in names {
                self.context.terminal.status(&format!("{name} in RTL"));
                let (mapping, network) = self.mapping(name)?;
                let shape = Shape::of(&network, &mapping.written.message.clone().unwrap_or_default())?;
                let design = design(&tasks(&network, &shape)?, &mapping, &self.machine).map_err(wrong)?;
                let same: Vec<usize> = (0..network.inputs.len())
                    .filter(|&at| mapping.written.fold.iter().any(|port| *port.get_ref() == network.inputs[at].name))
                    .collect();
                let messages = shape.random(&network, 6, 1, &same);
                let parameters = design.tasks.parameter_values(&messages[0]).map_err(Error::wrong)?;
                let setup = match soft {
                    true => {
                        headrace_array::isa::build(&design, &self.machine, &parameters, None, None)
                            .map_err(Error::wrong)?
                            .0
                    }
                    false => Setup::default(),
                };
                let tokens = shape.tokens();
                let array = Array {
                    network: &network,
                    design: &design,
                    setup: &setup,
                    machine: &self.machine,
                    tokens: &tokens,
                    parameters: &parameters,
                };
                let made = if soft { soft_cores(&array) } else { state_machines(&array) }.map_err(Error::wrong)?;
                let want = expected(&network, &messages)?;
                let n: Vec<usize> =
                    (0..network.outputs.len()).map(|at| want.iter().map(|it| it[at].len()).sum()).collect();
                let came = Clocked::new(&made).map_err(Error::wrong)?.run(&network, &messages, &n, 100_000);
                came.gives(&network, &want).map_err(|why| Error::wrong(format!("{name} in RTL: {why}")))?;
                // Words that leave in a message: when the last of each left.
                let words: u32 = came.left.iter().map(|(_, n)| n).sum();
                let mut ends = Vec::new();
                let mut seen = 0;
                for (cycle, n) in &came.left {
                    seen += n;
                    if seen * messages.len() as u32 >= words * (ends.len() as u32 + 1) {
                        ends.push(*cycle);
                    }
                }
                let n = ends.len().max(2) - 1;
                let cycles =
                    ends.last().zip(ends.first()).map_or(f64::NAN, |(last, first)| (last - first) as f64 / n as f64);
                let what = format!("{}: {}", mapping.written.about, if soft { "soft cores" } else { "state machines" });
                let line = match soft {
                    true => {
                        let outcome = simulate(&setup, &messages, None)
                            .map_err(|failed| Error::wrong(explain(&design, &failed)))?;
                        let held = if outcome.leaves == came.left {
                            "each word leaves in the cycle"
                        } else {
                            "words leave in other cycles than"
                        };
                        let all: Vec<u64> = outcome.done.clone();
                        let simulated = (all[all.len() - 1] - all[0]) as f64 / (all.len() - 1) as f64;
                        Line::new(what, Some(simulated), cycles, Some(0.0)).note(format!("{held} of the simulator"))
                    }
                    false => Line::new(what, None, cycles, None),
                };
                lines.push(line);
            }
        }
        self.context.terminal.status("");
        Ok(experiment(
            "X18",
            "arrays in RTL, simulated: cycles a block, of soft cores beside the simulator's",
            lines,
            &[
                "Six random blocks, of which the interpreter has the same. \"Published\" is what the simulator says here.",
            ],
        ))
    }

    /// Processors with clocks of their own, each as slow as it may be; and links that take longer where they are long.
    fn clocks(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        for name in &published.clocks {
            let fast = self.mapped(name)?;
            let (mapping, network) = self.mapping(name)?;
            let shape = Shape::of(&network, &mapping.written.message.clone().unwrap_or_default())?;
            let mut slow = fast.0.design.clone();
            let time = fast.0.outcome.cycles_per_message * fast.0.outcome.steady as f64;
            for (core, activity) in slow.cores.iter_mut().zip(&fast.0.outcome.activity) {
                // In steps of a twentieth of the nominal frequency.
                let busy = (activity.executed + activity.nops) as f64 / time;
                core.clock = ((busy * 20.0).ceil() / 20.0).clamp(0.05, 1.0);
            }
            let effort = Effort { messages: 200, ..Effort::default() };
            let slow = verified(&network, &shape, &self.machine, &mapping, slow, effort)?;
            let takes = energy(&slow.design, &self.machine, &slow.setup.channels, &slow.outcome, None);
            let before = energy(&fast.0.design, &self.machine, &fast.0.setup.channels, &fast.0.outcome, None);
            let [now, then] = [&takes, &before].map(|it| it.nj_per_message / 128.0);
            let lowest = slow.design.cores.iter().map(|core| core.clock).fold(1.0, f64::min);
            let about = format!(
                "{} at one clock; each processor at the least twentieth of its frequency that it needs, down to {lowest}, at the voltage for it: {now:.2} nJ a bit, {then:.2} at one clock",
                fast.0.outcome.cycles_per_message
            );
            let what = format!("{}: cycles a block", mapping.written.about);
            lines.push(Line::new(what, None, slow.outcome.cycles_per_message, None).note(about));
            let mut far = self.machine.clone();
            far.link.long_latency_per_tile.value = 4;
            let far = map(&network, &far, &mapping, effort)?;
            let what =
                format!("{}: cycles a block where each tile of a long link takes four cycles", mapping.written.about);
            let n_long = far.setup.channels.iter().filter(|it| it.latency > u64::from(*self.machine.link.near_latency));
            let about = format!("{} of {} links are long", n_long.count(), far.setup.channels.len());
            lines.push(Line::new(what, None, far.outcome.cycles_per_message, None).note(about));
        }
        Ok(experiment("X16", "clocks of their own, and long links", lines, &[]))
    }

    /// How fast the simulator is on the computer at hand.
    fn speed(&mut self, published: &Published) -> Outcome<Experiment> {
        let (mapping, network) = self.mapping(&published.timed)?;
        let shape = Shape::of(&network, &mapping.written.message.clone().unwrap_or_default())?;
        let design = design(&tasks(&network, &shape)?, &mapping, &self.machine).map_err(wrong)?;
        let messages = shape.random(&network, 2000, 1, &[1]);
        let parameters = design.tasks.parameter_values(&messages[0]).map_err(Error::wrong)?;
        let programs = headrace_array::isa::build(&design, &self.machine, &parameters, None, None);
        let measured = headrace_array::program::build(&design, &self.machine, &parameters, None);
        let mut lines = Vec::new();
        for (what, setup) in [("measured costs", measured), ("generated programs", programs.map(|(setup, _)| setup))] {
            let setup = setup.map_err(Error::wrong)?;
            let mut best = 0.0f64;
            for _ in 0..3 {
                let began = Instant::now();
                let outcome =
                    simulate(&setup, &messages, None).map_err(|failed| Error::wrong(explain(&design, &failed)))?;
                best = best.max(outcome.core_cycles as f64 / began.elapsed().as_secs_f64() / 1e6);
            }
            let reached = if best >= 10.0 { "reached" } else { "not reached" };
            let n = design.cores.len() as f64;
            let about =
                format!("10 were asked: {reached}; the whole array {:.0} thousand cycles a second", best * 1e3 / n);
            lines.push(Line::new(format!("{what}: million processor-cycles a second"), None, best, None).note(about));
        }
        let about =
            format!("{}, {} blocks, the best of three; one core of the computer at hand.", mapping.written.about, 2000);
        Ok(experiment("X17", "the simulator's speed", lines, &[&about]))
    }

    fn sweeps(&mut self, published: &Published) -> Outcome<Experiment> {
        let mut lines = Vec::new();
        let mut notes = Vec::new();
        for it in &published.design {
            let name = format!("{}-online", it.mapping);
            let mut ways = vec![(it.name.clone(), name.clone())];
            let through = format!("{name}-through");
            if built_in().iter().any(|file| file.name == through) {
                ways.push((format!("{}, round keys by way of KeySubWord", it.name), through));
            }
            for (what, name) in &ways {
                for depth in [2, 4, 8, 16, 32, 64] {
                    self.context.terminal.status(&format!("{name} with FIFOs of {depth}"));
                    let came = self.with(name, &|machine| machine.fifo.depth.value = depth)?;
                    let what = format!("{what}, FIFOs of {depth}");
                    match came {
                        Ok(cycles) => lines.push(Line::new(what, None, cycles, None)),
                        Err(why) => {
                            let circle = why.lines().last().unwrap_or_default().trim().to_owned();
                            // The first line says after how many cycles, the last has the circle.
                            let (head, waits) = why.split_once('\n').unwrap_or((&why, ""));
                            let graph = waits.lines().map(str::trim).collect::<Vec<_>>().join("; ");
                            let head = head.split(':').next().unwrap_or_default();
                            notes.push(format!("* {what}: {head}: {graph}."));
                            let note = format!("deadlock {circle}");
                            lines.push(Line { what, published: None, here: None, tolerance: None, note });
                        }
                    }
                }
            }
            let mut before = 0.0;
            let mut rises = true;
            let mut row = Vec::new();
            for latency in [0, 2, 4, 6, 7, 8, 10, 12] {
                let came = self.with(&name, &|machine| machine.link.near_latency.value = latency)?;
                let cycles = came.unwrap_or(f64::NAN);
                rises &= cycles >= before;
                before = cycles;
                row.push(format!("{latency}: {cycles:.0}"));
            }
            let monotone = if rises { "never falls" } else { "falls somewhere" };
            notes.push(format!("* {}, cycles a block by latency of links: {} ({monotone}).", it.name, row.join(", ")));
        }
        let (mapping, network) = self.mapping(&published.activity.mapping)?;
        let mut row = Vec::new();
        for halt in [5, 9, 11, 14, 22, 40] {
            let mut machine = self.machine.clone();
            machine.clock.halt_after.value = halt;
            let mapped = map(&network, &machine, &mapping, Effort { messages: 64, ..Effort::default() })?;
            let takes = energy(&mapped.design, &machine, &mapped.setup.channels, &mapped.outcome, None);
            row.push(format!("{halt}: {:.2} W", takes.total_mw() / 1e3));
        }
        notes.push(format!(
            "* {}: power by cycles until an oscillator halts: {}.",
            mapping.written.about,
            row.join(", ")
        ));
        notes.push(
            "* Why depth 4 may be too little: where the 16 words of a round key go by way of KeySubWord, KeySchedule writes them while they \
             come back to it. Two FIFOs of 4 and the word in hand hold 9 of them, two of 8 hold 17. Where KeySchedule keeps in its own memory \
             what it needs again, no more than 4 words a round key go either way, and FIFOs of 4 hold them: that is why the published designs, \
             as they are mapped here, go on at depth 4."
                .into(),
        );
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        self.context.terminal.status("");
        Ok(experiment("X13", "cycles a block by the depth of FIFOs", lines, &notes))
    }
}
