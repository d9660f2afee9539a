//! The description of a many-core array: grid, processors, FIFOs, links, clocks and power, as data.
//!
//! A platform of kind `array` (`headrace_platform`). The fields here are the keys of its file; each number stands there with
//! its source.

use headrace_platform::{Figure, File, Kind, Wrong, find};
use serde::{Deserialize, Serialize};

/// An array of small processors.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What the command line calls it, which is the name of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// [`Kind::Array`].
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
    /// How many processors there are, and where.
    pub grid: Grid,
    /// A processor.
    pub core: Core,
    /// How long results of instructions take, in cycles from the issue of one instruction to that of the next that may use it.
    pub latency: Latency,
    /// The FIFO at each input port.
    pub fifo: Fifo,
    /// Links between processors.
    pub link: Link,
    /// Clocks and voltages.
    pub clock: Clock,
    /// Power at the nominal voltage and frequency.
    pub power: Power,
    /// What tasks take that were measured, where cost is `published`.
    #[serde(default)]
    pub cost: Vec<Cost>,
}

/// Where processors are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Columns.
    pub columns: Figure<u32>,
    /// Rows.
    pub rows: Figure<u32>,
    /// Processors in them, at most columns times rows.
    pub cores: Figure<u32>,
    /// What one takes of the chip, in square millimetres.
    pub area_mm2_per_core: Figure<f64>,
}

/// A processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Bits of a word, in memory, in FIFOs and on links: 8 to 64.
    pub word_bits: Figure<u32>,
    /// Instructions that its program may have.
    pub program_words: Figure<u32>,
    /// Words that its data memory has.
    pub data_words: Figure<u32>,
    /// Links that it can take words from, chosen when it is configured.
    pub input_ports: Figure<u32>,
    /// Registers that hold addresses; without any, no program looks anything up in a table.
    pub pointers: Figure<u32>,
    /// Generators of sequences of addresses; without any, programs are taken that do without.
    pub address_generators: Figure<u32>,
}

/// Cycles from an instruction to one that may use what it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Its result, by the bypass.
    pub result: Figure<u32>,
    /// A word of data memory that it wrote.
    pub data_memory: Figure<u32>,
    /// A pointer that it wrote.
    pub pointer: Figure<u32>,
    /// A flag that it set.
    pub flag: Figure<u32>,
    /// Cycles that beginning a hardware loop takes.
    pub repeat_setup: Figure<u32>,
    /// Cycles that a jump takes.
    pub jump: Figure<u32>,
    /// Cycles that setting an address generator takes.
    pub generator_setup: Figure<u32>,
}

/// A FIFO.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fifo {
    /// Words that it holds.
    pub depth: Figure<u32>,
}

/// Links.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Cycles from the end of the instruction that writes a word until it can be read, next door.
    pub near_latency: Figure<u32>,
    /// The same over more than one tile.
    pub long_latency: Figure<u32>,
    /// Cycles that each tile on the way adds.
    pub long_latency_per_tile: Figure<u32>,
}

/// Clocks and voltages.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Cycles without a word or room after which the oscillator stops.
    pub halt_after: Figure<u32>,
    /// Cycles that it takes to start again.
    pub restart: Figure<u32>,
    /// The nominal frequency.
    pub mhz: Figure<f64>,
    /// The nominal voltage.
    pub volts: Figure<f64>,
    /// Energy goes with this power of the voltage.
    pub energy_exponent: Figure<f64>,
    /// Voltages with the frequency that is reached there.
    pub point: Vec<OperatingPoint>,
}

/// A voltage with the frequency that is reached there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatingPoint {
    /// Voltage.
    pub volts: Figure<f64>,
    /// Frequency.
    pub mhz: Figure<f64>,
}

/// Power at the nominal voltage and frequency, in milliwatts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// A processor that executes an instruction in each cycle.
    pub active_mw: Figure<f64>,
    /// One that waits with its clock running, or executes NOPs.
    pub stall_mw: Figure<f64>,
    /// One whose oscillator stands.
    pub leakage_mw: Figure<f64>,
    /// A link to a neighbour with a word in each cycle.
    pub near_mw: Figure<f64>,
    /// A long link with a word in each cycle, for each tile.
    pub long_mw_per_tile: Figure<f64>,
}

/// When a task writes what it computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Emit {
    /// Each unit when it is done.
    Stream,
    /// All at the end.
    End,
    /// All spread evenly over the time that the computation takes.
    Spread,
}

/// What a task takes that was measured: how its cycles fall to reading, computing and writing.
///
/// It goes through its outputs unit by unit: takes the words that the unit needs (a cycle each), computes (what is left of
/// `cycles`, in equal shares), and writes (a cycle each).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The task's class; those of tasks fused on a processor with ` + ` between them. `merge` is what joins streams where ports
    /// are few, `pass` whatever else only passes words on.
    pub class: String,
    /// The number of outputs that it is for; none for any.
    pub outputs: Option<usize>,
    /// Which of several figures it is, where a mapping asks for one by name (`style`).
    pub style: Option<String>,
    /// All cycles of the task; none where there are `before`, moves and `after` alone.
    pub cycles: Option<u32>,
    /// How many of them are NOPs.
    #[serde(default)]
    pub nops: u32,
    /// Cycles before anything else.
    #[serde(default)]
    pub before: u32,
    /// Cycles after everything else.
    #[serde(default)]
    pub after: u32,
    /// Outputs that are computed together; none for all.
    pub unit: Option<usize>,
    /// When outputs are written.
    pub emit: Emit,
    /// Whether one instruction takes a word from each port and, where a unit is one output, writes it.
    #[serde(default)]
    pub together: bool,
    /// Instructions of its program.
    pub program_words: Option<u32>,
    /// Where the numbers come from.
    pub source: String,
}

impl Machine {
    /// An array from its file.
    ///
    /// # Errors
    ///
    /// It is of another kind, a key is missing or unknown, or a number makes no sense.
    pub fn read(file: &File) -> Result<Self, Wrong> {
        let head = file.head()?;
        if head.kind != Kind::Array {
            return Err(Wrong::new(
                &file.path,
                format!("it is a {}, and networks are mapped to arrays here", head.kind),
            ));
        }
        let machine =
            Self { name: file.name.clone(), ..file.parse().map_err(|wrong| with_all_that_lacks(file, wrong))? };
        let wrong = |problem: String| Err(Wrong::new(&file.path, problem));
        let (grid, core) = (&machine.grid, &machine.core);
        if u64::from(*grid.cores) > u64::from(*grid.columns) * u64::from(*grid.rows) || *grid.cores == 0 {
            return wrong(format!(
                "`grid.cores` is {}; a grid of {} by {} has from 1 to {}",
                *grid.cores,
                *grid.columns,
                *grid.rows,
                u64::from(*grid.columns) * u64::from(*grid.rows)
            ));
        }
        if !(8..=64).contains(&*core.word_bits) {
            return wrong(format!("`core.word_bits` is {}; words have from 8 to 64 bits", *core.word_bits));
        }
        for (key, value) in [
            ("core.input_ports", *core.input_ports),
            ("core.program_words", *core.program_words),
            ("core.data_words", *core.data_words),
            ("fifo.depth", *machine.fifo.depth),
            ("grid.columns", *grid.columns),
        ] {
            if value == 0 || value > 1 << 20 {
                return wrong(format!("`{key}` is {value}; it must be from 1 to {}", 1 << 20));
            }
        }
        if *core.input_ports < 2 {
            return wrong("`core.input_ports` is 1; streams are merged by processors with 2 or more".into());
        }
        for (key, value, most) in
            [("core.pointers", *core.pointers, 16), ("core.address_generators", *core.address_generators, 16)]
        {
            if value > most {
                return wrong(format!("`{key}` is {value}; it must be from 0 to {most}"));
            }
        }
        let (latency, link, clock) = (&machine.latency, &machine.link, &machine.clock);
        for (key, value) in [
            ("latency.result", *latency.result),
            ("latency.data_memory", *latency.data_memory),
            ("latency.pointer", *latency.pointer),
            ("latency.flag", *latency.flag),
        ] {
            if !(1..=64).contains(&value) {
                return wrong(format!(
                    "`{key}` is {value}; the next instruction is 1 cycle behind, and 64 are the most"
                ));
            }
        }
        for (key, value) in [
            ("latency.repeat_setup", *latency.repeat_setup),
            ("latency.jump", *latency.jump),
            ("latency.generator_setup", *latency.generator_setup),
            ("link.near_latency", *link.near_latency),
            ("link.long_latency", *link.long_latency),
            ("link.long_latency_per_tile", *link.long_latency_per_tile),
            ("clock.restart", *clock.restart),
        ] {
            if value > 10_000 {
                return wrong(format!("`{key}` is {value}; 10000 cycles are the most"));
            }
        }
        let points =
            clock.point.iter().flat_map(|point| [("clock.point.volts", *point.volts), ("clock.point.mhz", *point.mhz)]);
        let power = &machine.power;
        let measures = [
            ("clock.energy_exponent", *clock.energy_exponent),
            ("power.active_mw", *power.active_mw),
            ("power.stall_mw", *power.stall_mw),
            ("power.leakage_mw", *power.leakage_mw),
            ("power.near_mw", *power.near_mw),
            ("power.long_mw_per_tile", *power.long_mw_per_tile),
        ];
        if let Some((key, value)) =
            measures.into_iter().chain(points).find(|(_, value)| !(value.is_finite() && *value >= 0.0))
        {
            return wrong(format!("`{key}` is {value}; it must be a number that is not below 0"));
        }
        let positive = [
            ("clock.mhz", *machine.clock.mhz),
            ("clock.volts", *machine.clock.volts),
            ("grid.area_mm2_per_core", *grid.area_mm2_per_core),
        ];
        if let Some((key, value)) = positive.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return wrong(format!("`{key}` is {value}; it must be more than 0"));
        }
        Ok(machine)
    }
}

/// What is wrong, with all other keys that are not there: those that every array has are those of one that is known.
fn with_all_that_lacks(file: &File, mut wrong: Wrong) -> Wrong {
    if wrong.problem.contains("missing field")
        && let Ok(whole) = find("kilocore")
        && let lacks = file.lacks(whole)
        && !lacks.is_empty()
    {
        wrong.problem = format!(
            "{}; of the keys that an array has there are none of: {}. docs/array.md says what each is, `headrace list platforms \
             --json` has them of arrays that are known",
            wrong.problem,
            lacks.join(", ")
        );
    }
    wrong
}
