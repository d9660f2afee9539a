//! The flow from Verilog to figures: read, map, place and route; each a step that is kept.

use super::sources::Source;
use super::steps::{Bench, Steps, digest};
use super::tools::Tools;
use headrace_bench::hardware::{Area, Clock, Core, Provenance};
use headrace_synthesis::checks::{self, Problem};
use headrace_synthesis::count::count;
use headrace_synthesis::device::{AIM_MHZ, Device, PlaceAndRoute};
use headrace_synthesis::levels::levels;
use headrace_synthesis::script::{self, files};
use headrace_synthesis::wrapper::{Pin, wrapper};
use headrace_synthesis::{CORE, liberty, netlist, report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Instant;

/// What all steps have at hand.
pub(super) struct Flow<'a> {
    pub(super) steps: &'a Steps,
    pub(super) tools: &'a Tools,
    /// Whether cores with constant outputs are measured.
    pub(super) allow_constant: bool,
}

/// A core that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Read {
    /// Its text in the form of Yosys.
    pub(super) intermediate: String,
    /// What its top module is called.
    pub(super) top: String,
    pins: Vec<Pin>,
    problems: Vec<Problem>,
    seconds: f64,
}

/// A core that was mapped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mapped {
    /// The netlist of core and wrapper.
    pub(super) netlist: String,
    /// The longest chain of logic in the core.
    levels: u64,
    seconds: f64,
    /// What it is kept under.
    #[serde(skip)]
    key: String,
}

/// What came of a seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Placed {
    fmax_mhz: f64,
    critical: String,
    seconds: f64,
}

/// Runs a script of Yosys and says how long that took.
fn yosys(bench: &Bench, tools: &Tools, name: &str, script: &str) -> Result<(String, f64), String> {
    bench.write(name, script)?;
    let began = Instant::now();
    let said = bench.run([tools.yosys.as_str(), "-q", name])?;
    Ok((said.text, rounded(began)))
}

fn rounded(began: Instant) -> f64 {
    (began.elapsed().as_secs_f64() * 10.0).round() / 10.0
}

impl Flow<'_> {
    /// Reads a core, and refuses one that has no figures.
    pub(super) fn read(&self, source: &Source) -> Result<Read, String> {
        let script = script::read(&source.reading);
        let mut parts = vec![self.tools.yosys_version.as_str(), script.as_str()];
        let digests: Vec<(&str, String)> =
            source.all_files().map(|(name, bytes)| (name.as_str(), digest(bytes))).collect();
        parts.extend(digests.iter().flat_map(|(name, digest)| [*name, digest.as_str()]));
        let (read, _) = self.steps.once("read", &parts, |bench| {
            for (name, bytes) in source.all_files() {
                bench.write(name, bytes)?;
            }
            let (said, seconds) = yosys(bench, self.tools, "read.ys", &script)?;
            let (top, module) = netlist::top(&bench.read(files::READ)?)?;
            Ok(Read {
                intermediate: script::without_places(&bench.read(files::INTERMEDIATE)?),
                top,
                pins: module.pins(),
                problems: checks::problems(&module, &said),
                seconds,
            })
        })?;
        let counts = |problem: &&Problem| !(problem.is_constant && self.allow_constant);
        let problems: Vec<&str> = read.problems.iter().filter(counts).map(|problem| problem.what.as_str()).collect();
        if problems.is_empty() { Ok(read) } else { Err(problems.join("\n  ")) }
    }

    /// The wrapper of a core.
    pub(super) fn wrapper(&self, source: &Source, read: &Read) -> Result<String, String> {
        Ok(wrapper(&read.pins, &checks::clock(&read.pins, source.clock.as_deref())?))
    }

    /// Maps a core to a device.
    pub(super) fn map(&self, source: &Source, read: &Read, device: &Device) -> Result<Mapped, String> {
        let (script, wrapper) = (script::map(device), self.wrapper(source, read)?);
        let library = library(device)?;
        let library_digest = library.as_ref().map(|text| digest(text.as_bytes())).unwrap_or_default();
        let parts = [self.tools.yosys_version.as_str(), &script, &read.intermediate, &wrapper, library_digest.as_str()];
        let (mapped, key) = self.steps.once("map", &parts, |bench| {
            bench.write(files::INTERMEDIATE, &read.intermediate)?;
            bench.write(files::WRAPPER, &wrapper)?;
            if let Some(library) = &library {
                bench.write(files::LIBRARY, library)?;
            }
            let (_, seconds) = yosys(bench, self.tools, "map.ys", &script)?;
            let netlist = bench.read(files::NETLIST)?;
            // A loop of logic is found here, before anybody places it.
            let levels = levels(&netlist::module(&netlist, CORE)?, device)?;
            Ok(Mapped { netlist, levels, seconds, key: String::new() })
        })?;
        Ok(Mapped { key, ..mapped })
    }

    /// Places and routes what was mapped, with a seed.
    pub(super) fn place(&self, mapped: &Mapped, device: &Device, seed: u32) -> Result<Placed, String> {
        let (Some(place), Some((command, version))) = (&device.place, self.tools.place(device)) else {
            return Err(format!("nothing places and routes for {}", device.name));
        };
        let arguments = arguments(place);
        let number = seed.to_string();
        let parts = [mapped.key.as_str(), version, &arguments.join(" "), &number];
        let (placed, _) = self.steps.once("place", &parts, |bench| {
            bench.write(files::NETLIST, &mapped.netlist)?;
            let own = ["--seed", &number, "--json", files::NETLIST, "--report", REPORT, "-q"];
            let words = std::iter::once(command).chain(arguments.iter().map(String::as_str)).chain(own);
            let began = Instant::now();
            bench.run(words)?;
            let timing = report::read(&bench.read(REPORT)?)?;
            let critical = timing.critical.map_or_else(String::new, |path| {
                format!("{}, logic {:.2} ns, wires {:.2} ns", path.ends, path.logic_ns, path.route_ns)
            });
            Ok(Placed { fmax_mhz: timing.fmax_mhz, critical, seconds: rounded(began) })
        })?;
        Ok(placed)
    }

    /// The figures of a core on a device.
    pub(super) fn figures(
        &self,
        source: &Source,
        read: &Read,
        device: &Device,
        mapped: &Mapped,
        placed: Vec<(u32, Placed)>,
    ) -> Result<Core, String> {
        let module = netlist::module(&mapped.netlist, CORE)?;
        let counts = count(&module, device);
        let gate_equivalents = match (&device.library, library(device)?) {
            (Some(cells), Some(text)) => Some(liberty::gate_equivalents(&counts, &liberty::areas(&text), &cells.gate)?),
            _ => None,
        };
        let mut tools = BTreeMap::from([("yosys".to_owned(), self.tools.yosys_version.clone())]);
        if let (Some((_, version)), false) = (self.tools.place(device), placed.is_empty()) {
            tools.insert("nextpnr".into(), version.to_owned());
        }
        let mut seconds = BTreeMap::from([("read".to_owned(), read.seconds), ("map".to_owned(), mapped.seconds)]);
        seconds.extend(placed.iter().map(|(seed, placed)| (format!("seed {seed}"), placed.seconds)));
        let place_and_route = device.place.as_ref().filter(|_| !placed.is_empty());
        Ok(Core {
            primitive: source.primitive.clone(),
            operation: source.operation.clone(),
            variant: source.variant.clone(),
            implementation: source.implementation.clone(),
            like: source.like.clone(),
            device: device.name.clone(),
            part: device.part.clone(),
            levels: mapped.levels,
            area: Area {
                luts: counts.luts,
                lut_cells: counts.lut_cells,
                registers: counts.registers,
                rams: counts.rams,
                multipliers: counts.multipliers,
                gate_equivalents,
                cells: counts.cells,
            },
            clock: (!placed.is_empty()).then(|| {
                Clock::new(placed.into_iter().map(|(seed, placed)| (seed, placed.fmax_mhz, placed.critical)).collect())
            }),
            cycles: None,
            inverse_cycles: None,
            verified: None,
            published: source.published.clone(),
            netlist_verified: None,
            provenance: Provenance {
                command: String::new(),
                made_by: source.made_by.clone(),
                sources: source.all_files().map(|(name, bytes)| (name.clone(), digest(bytes))).collect(),
                top: read.top.clone(),
                clock: checks::clock(&read.pins, source.clock.as_deref())?,
                scripts: BTreeMap::from([
                    ("read".to_owned(), script::read(&source.reading)),
                    ("map".to_owned(), script::map(device)),
                ]),
                place_and_route: place_and_route.map(|place| arguments(place).join(" ")).unwrap_or_default(),
                tools,
                seconds,
            },
        })
    }

    /// The mapped core as Verilog, under the name that it had.
    pub(super) fn mapped_verilog(&self, read: &Read, mapped: &Mapped) -> Result<String, String> {
        let script = script::write_mapped(&read.top);
        let parts = [self.tools.yosys_version.as_str(), &script, &mapped.key];
        let (text, _) = self.steps.once("write", &parts, |bench| {
            bench.write(files::NETLIST, &mapped.netlist)?;
            yosys(bench, self.tools, "write.ys", &script)?;
            bench.read(files::MAPPED)
        })?;
        Ok(text)
    }
}

/// What a seed reports.
const REPORT: &str = "report.json";

/// What nextpnr is given beside seed, netlist and report.
fn arguments(place: &PlaceAndRoute) -> Vec<String> {
    let own = place.arguments.iter().cloned();
    let aim = ["--freq".to_owned(), AIM_MHZ.to_string(), "--timing-allow-fail".to_owned()];
    own.chain(aim).collect()
}

/// The library of cells of a device, where it has one.
fn library(device: &Device) -> Result<Option<String>, String> {
    let Some(library) = &device.library else { return Ok(None) };
    let read = std::fs::read_to_string(&library.path);
    read.map(Some).map_err(|error| {
        format!("{}: {} (apt-get install {})", library.path, headrace::error::describe(&error), library.package)
    })
}
