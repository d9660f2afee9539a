//! Figures of hardware cores (area, clock frequency, throughput) as data and as a table: what a core takes of a device, how fast
//! it can be clocked there, and how many cycles a block takes.
//!
//! A row holds all that it takes to measure it again: sources by their digests, scripts, options, seeds, versions of tools.

use crate::study::{self, Published};
use crate::tables::{figure, figure_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A core on a device.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Core {
    /// The parameter set, or the network or folder.
    pub primitive: String,
    /// The operation; empty where it is none of the library.
    pub operation: String,
    /// The variant of the network.
    pub variant: String,
    /// `headrace`, or whose Verilog it is.
    pub implementation: String,
    /// The core of ours that does the same, by its name in tables; empty where nobody says.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub like: String,
    /// The device.
    pub device: String,
    /// Its part and speed grade.
    pub part: String,
    /// What it takes.
    pub area: Area,
    /// Longest chain of LUTs, or of gates, between registers and ports.
    pub levels: u64,
    /// How fast it can be clocked; none where nothing places and routes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<Clock>,
    /// Cycles that messages take, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<Cycles>,
    /// The same of decryption, in a core that does both.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inverse_cycles: Option<Cycles>,
    /// What the Verilog was held to, where more than cycles was measured in its bench.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verified: Option<String>,
    /// What a study has of cores that do the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<Published>,
    /// What the mapped netlist was held to, where it was simulated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub netlist_verified: Option<String>,
    /// How to measure it again.
    pub provenance: Provenance,
}

/// What a core takes of a device.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Area {
    /// LUTs of the device, those of carry chains and small memories too; 0 on a library of cells.
    pub luts: u64,
    /// Cells that are a LUT and nothing else.
    pub lut_cells: u64,
    /// Registers, in bits.
    pub registers: u64,
    /// Block memories.
    pub rams: u64,
    /// Multipliers.
    pub multipliers: u64,
    /// Gate equivalents, on a library of cells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate_equivalents: Option<f64>,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
}

/// Clock frequencies that nextpnr reached, one a seed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Clock {
    /// Seeds, in order.
    pub seeds: Vec<u32>,
    /// What each gave, in MHz.
    pub fmax_mhz: Vec<f64>,
    /// The highest.
    pub best_mhz: f64,
    /// The median.
    pub median_mhz: f64,
    /// Distance between the lowest and the highest, as a part of the median.
    pub spread: f64,
    /// Of each seed where the critical path is, and what of it are cells and wires.
    pub critical: Vec<String>,
}

impl Clock {
    /// Of seeds and what each gave in MHz, with where its critical path is.
    pub fn new(runs: Vec<(u32, f64, String)>) -> Self {
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        let fmax_mhz: Vec<f64> = runs.iter().map(|(_, fmax, _)| rounded(*fmax)).collect();
        let best = fmax_mhz.iter().copied().fold(0.0, f64::max);
        let least = fmax_mhz.iter().copied().fold(f64::INFINITY, f64::min);
        let median = crate::measure::median(&fmax_mhz);
        Clock {
            seeds: runs.iter().map(|(seed, ..)| *seed).collect(),
            best_mhz: best,
            median_mhz: rounded(median),
            spread: ((best - least) / median * 1e4).round() / 1e4,
            critical: runs.into_iter().map(|(.., critical)| critical).collect(),
            fmax_mhz,
        }
    }
}

/// Cycles that messages take, without stalls.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Cycles {
    /// Bits of a block.
    pub block_bits: u64,
    /// Cycles that each further block of a message takes: `b` of a + b·n.
    pub per_block: f64,
    /// Cycles that a message takes beside its blocks: `a` of a + b·n, from the first token in to the last one out. None where
    /// only the other is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub per_message: Option<f64>,
    /// Blocks of messages and the cycles that these took, where they were measured.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub messages: Vec<(u64, u64)>,
    /// Where the figures come from.
    pub source: String,
}

impl Cycles {
    /// The line through what the two longest messages took, of at least two.
    pub fn measured(block_bits: u64, mut messages: Vec<(u64, u64)>, source: String) -> Option<Self> {
        messages.sort_unstable();
        messages.dedup();
        let [.., (n0, c0), (n1, c1)] = messages[..] else { return None };
        if n0 == n1 {
            return None;
        }
        let per_block = (c1 as f64 - c0 as f64) / (n1 - n0) as f64;
        let per_message = c1 as f64 - per_block * n1 as f64;
        Some(Cycles { block_bits, per_block, per_message: Some(per_message), messages, source })
    }

    /// The most cycles by which a message is off the line.
    pub fn off_by(&self) -> f64 {
        let Some(per_message) = self.per_message else { return 0.0 };
        let off = |(n, cycles): &(u64, u64)| (*cycles as f64 - per_message - self.per_block * *n as f64).abs();
        self.messages.iter().map(off).fold(0.0, f64::max)
    }
}

/// How a row came about.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Provenance {
    /// The command.
    pub command: String,
    /// What made the Verilog.
    pub made_by: String,
    /// SHA-256 of each file of Verilog, in the order in which they are read.
    pub sources: Vec<(String, String)>,
    /// Module, clock and parameters that were taken.
    pub top: String,
    /// See [`Provenance::top`].
    pub clock: String,
    /// Scripts of Yosys, by what each does.
    pub scripts: BTreeMap<String, String>,
    /// What nextpnr was given, but for seed, netlist and report.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub place_and_route: String,
    /// Versions of the tools.
    pub tools: BTreeMap<String, String>,
    /// Seconds that reading, mapping and each seed took, when they were made.
    pub seconds: BTreeMap<String, f64>,
}

impl Core {
    /// Megabits (10^6) a second at a clock frequency in MHz.
    pub fn megabits(&self, mhz: f64) -> Option<f64> {
        let cycles = self.cycles.as_ref().filter(|cycles| cycles.per_block > 0.0)?;
        Some(cycles.block_bits as f64 / cycles.per_block * mhz)
    }

    /// Megabits a second at the median clock frequency.
    pub fn median_megabits(&self) -> Option<f64> {
        self.megabits(self.clock.as_ref()?.median_mhz)
    }

    /// Its name in tables.
    pub fn name(&self) -> String {
        let names = [&self.primitive, &self.operation, &self.variant].map(String::as_str);
        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Whether a newer row is of the same.
    pub fn is_of(&self, other: &Core) -> bool {
        (self.name(), &self.implementation, &self.device) == (other.name(), &other.implementation, &other.device)
    }

    /// What it reaches, for each LUT, of the one among these that does the same on the same device.
    pub fn of_like(&self, cores: &[Core]) -> Option<f64> {
        let other = cores.iter().find(|other| other.device == self.device && other.like == self.name())?;
        match (self.megabits_per_lut(), other.megabits_per_lut()) {
            (Some(ours), Some(theirs)) => Some(ours / theirs),
            // Without a clock frequency, by LUTs alone.
            _ => Some(other.area.luts as f64 / self.area.luts.max(1) as f64),
        }
    }

    /// The same for each LUT.
    pub fn megabits_per_lut(&self) -> Option<f64> {
        Some(self.median_megabits()? / (self.area.luts.max(1) as f64))
    }
}

/// Rows that are known, with new ones in the place of those of the same core on the same device. A row without a device, of which only
/// cycles are known, is not needed where there are rows of the same Verilog on a device, and takes the place of rows of other Verilog,
/// which are of a core that is no more.
pub fn renewed(known: Vec<Core>, new: Vec<Core>) -> Vec<Core> {
    let is_same = |a: &Core, b: &Core| (a.name(), &a.implementation) == (b.name(), &b.implementation);
    let is_of_same_files = |a: &Core, b: &Core| a.provenance.sources == b.provenance.sources;
    let mut rows = known;
    for core in new {
        let is_old = |row: &Core| {
            let has_no_device = row.device.is_empty() || core.device.is_empty() && !is_of_same_files(row, &core);
            row.is_of(&core) || is_same(row, &core) && has_no_device
        };
        let place = rows.iter().position(is_old).unwrap_or(rows.len());
        rows.retain(|row| !is_old(row));
        if !core.device.is_empty() || !rows.iter().any(|row| is_same(row, &core)) {
            rows.insert(place.min(rows.len()), core);
        }
    }
    rows
}

/// All cores: those that a study has figures of beside these, then the others.
pub fn table(cores: &[Core]) -> String {
    let (studied, others): (Vec<&Core>, Vec<&Core>) = cores.iter().partition(|core| core.published.is_some());
    let mut text = if studied.is_empty() { String::new() } else { study::table(&studied) };
    if !studied.is_empty() && !others.is_empty() {
        text.push('\n');
    }
    if !others.is_empty() || studied.is_empty() {
        text.push_str(&figures(&others, cores));
    }
    text
}

/// Figures of some of all cores.
fn figures(shown: &[&Core], cores: &[Core]) -> String {
    let mut text = String::from(
        "| core | by | device | LUTs | LUT cells | registers | RAMs | levels | Fmax median, MHz | best | spread | block, bits | cycles a block | a message more | Mbit/s | Mbit/s a LUT | of hand-written |\n\
         |---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for core in shown {
        let Area { luts, lut_cells, registers, rams, gate_equivalents, .. } = &core.area;
        let whole = |n: u64| figure(n as f64);
        let (luts, lut_cells) = match gate_equivalents {
            Some(gates) => (format!("{} GE", figure(*gates)), figure(f64::NAN)),
            None => (grouped(*luts), grouped(*lut_cells)),
        };
        let clock = core.clock.as_ref();
        let cycles = core.cycles.as_ref();
        let name = core.name();
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {luts} | {lut_cells} | {} | {rams} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            core.implementation,
            core.device,
            grouped(*registers),
            core.levels,
            megahertz(clock.map(|clock| clock.median_mhz)),
            megahertz(clock.map(|clock| clock.best_mhz)),
            clock.map_or_else(|| figure(f64::NAN), |clock| format!("{:.1} %", 100.0 * clock.spread)),
            cycles.map_or_else(|| figure(f64::NAN), |cycles| whole(cycles.block_bits)),
            cycles.map_or_else(|| figure(f64::NAN), |cycles| plain(cycles.per_block)),
            cycles.and_then(|cycles| cycles.per_message).map_or_else(|| figure(f64::NAN), plain),
            figure_of(core.median_megabits()),
            core.megabits_per_lut().map_or_else(|| figure(f64::NAN), |value| format!("{value:.3}")),
            core.of_like(cores).map_or_else(|| figure(f64::NAN), |value| format!("{value:.2}")),
        );
    }
    text
}

/// A whole number as it is, any other with two digits.
pub(crate) fn plain(value: f64) -> String {
    if value.fract().abs() < 0.005 { format!("{value:.0}") } else { format!("{value:.2}") }
}

pub(crate) fn megahertz(value: Option<f64>) -> String {
    value.map_or_else(|| figure(f64::NAN), |value| format!("{value:.1}"))
}

/// A count with its digits in groups.
pub(crate) fn grouped(n: u64) -> String {
    if n < 100 { n.to_string() } else { figure(n as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_a_line_through_the_longest_messages() {
        let cycles =
            Cycles::measured(128, vec![(1, 25), (9, 105), (5, 65), (2, 36)], "x".into()).expect("four messages");
        assert_eq!((cycles.per_block, cycles.per_message, cycles.off_by()), (10.0, Some(15.0), 1.0));
        assert_eq!(Cycles::measured(128, vec![(1, 25), (1, 25)], String::new()), None);
    }

    #[test]
    fn rows_without_a_device_give_way_to_rows_of_the_same_verilog() {
        let of = |device: &str, digest: &str| Core {
            primitive: "a".into(),
            device: device.into(),
            provenance: Provenance { sources: vec![("a.v".into(), digest.into())], ..Provenance::default() },
            ..Core::default()
        };
        let devices = |rows: &[Core]| rows.iter().map(|row| row.device.clone()).collect::<Vec<_>>();
        let placed = vec![of("ecp5", "1"), of("ice40", "1")];
        assert_eq!(devices(&renewed(placed.clone(), vec![of("", "1")])), ["ecp5", "ice40"]);
        assert_eq!(devices(&renewed(placed.clone(), vec![of("", "2")])), [""]);
        assert_eq!(devices(&renewed(vec![of("", "1")], vec![of("ecp5", "1")])), ["ecp5"]);
        assert_eq!(devices(&renewed(placed, vec![of("ecp5", "2")])), ["ecp5", "ice40"]);
    }

    #[test]
    fn rows_say_what_they_know_and_go_to_json_and_back() {
        let clock = Clock::new(vec![(1, 99.0, "a".into()), (2, 101.0, "b".into()), (3, 100.004, "c".into())]);
        assert_eq!((clock.median_mhz, clock.best_mhz, clock.spread), (100.0, 101.0, 0.02));
        let mut core = Core {
            primitive: "aes128".into(),
            operation: "encrypt".into(),
            implementation: "headrace".into(),
            area: Area { luts: 4000, lut_cells: 3990, registers: 262, ..Area::default() },
            clock: Some(clock),
            cycles: Cycles::measured(128, vec![(1, 20), (2, 30)], String::new()),
            ..Core::default()
        };
        assert_eq!((core.median_megabits(), core.megabits_per_lut()), (Some(1280.0), Some(0.32)));
        let text = table(std::slice::from_ref(&core));
        assert!(
            text.contains(
                "| 4 000 | 3 990 | 262 | 0 | 0 | 100.0 | 101.0 | 2.0 % | 128 | 10 | 10 | 1 280 | 0.320 | – |"
            ),
            "{text}"
        );
        let json = serde_json::to_string(&core).expect("it is data");
        assert_eq!(serde_json::from_str::<Core>(&json).ok(), Some(core.clone()));
        core.clock = None;
        core.area.gate_equivalents = Some(1234.5);
        assert!(table(&[core]).contains("| 1 234 GE | – |"));
    }
}
