//! Stream processors as data: clusters, units with latencies, register files, scratchpads, streams, memory, control.

use crate::words::{Binary, Has};
use headrace_platform::{Figure, File, Kind, Wrong};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine. Fields are the keys of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name, which is that of its file.
    #[serde(skip)]
    pub name: String,
    /// [`Kind::Stream`].
    pub kind: Kind,
    /// What it is, for readers.
    pub about: String,
    /// Clusters that do the same at once, a power of two.
    pub clusters: Figure<u32>,
    /// Cycles of the clusters in a microsecond.
    pub clock_mhz: Figure<f64>,
    /// Instructions that a kernel has at most; none: no bound that matters.
    pub microcode_words: Option<Figure<usize>>,
    /// Whether the first token of a word in a stream is its most significant: how memory is loaded. Without it either may be.
    pub big_endian: Option<Figure<bool>>,
    /// Kinds of units of a cluster, by what listings call them.
    pub unit: BTreeMap<String, Unit>,
    /// Registers.
    pub registers: Registers,
    /// Tables in a cluster.
    pub scratchpad: Option<Scratchpad>,
    /// What lies between memory and clusters.
    pub stream_registers: StreamRegisters,
    /// Memory.
    pub memory: Memory,
    /// What starts kernels and streams.
    pub control: Control,
    /// Where clusters are lanes of a processor's vectors: how it executes operations of any kind, out of order.
    pub processor: Option<Processor>,
}

/// What executes operations of loops out of order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// The family that the processor says it is (`cpuid`, as `/proc/cpuinfo` has it).
    pub family: Figure<u32>,
    /// Operations of all kinds that begin in a cycle at most.
    pub issued: Figure<f64>,
    /// Operations that it looks ahead.
    pub window: Figure<f64>,
    /// Cycles from the beginning of each kind of operation to its result.
    pub latency: Figure<BTreeMap<String, f64>>,
    /// Pipes by what listings call them. An operation may need several kinds: those that few pipes do keep one of all busy, too.
    pub pipe: BTreeMap<String, Pipe>,
}

/// A kind of pipe.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipe {
    /// How many there are.
    pub count: Figure<f64>,
    /// Cycles that each kind of operation keeps one of them busy.
    pub busy: Figure<BTreeMap<String, f64>>,
}

/// A kind of unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// How many of it a cluster has.
    pub count: Figure<usize>,
    /// Cycles from the beginning of each operation to its result. Beside those of [`Binary`] there are `select`, `read` and `write`
    /// (a word of a stream), `scratchpad`, `broadcast`, `permute`, `indexed` and `gather` (an element of a table in the stream
    /// register file and in memory).
    pub latency: Figure<BTreeMap<String, usize>>,
    /// Cycles from one operation to the next, where that is not 1.
    #[serde(default)]
    pub busy: BTreeMap<String, Figure<usize>>,
    /// Words of the local register file of each input; none: inputs read the common registers.
    pub files: Option<Figure<Vec<usize>>>,
}

/// What a file may begin with: another machine, of which it says what is different.
#[derive(Deserialize)]
struct Like {
    like: Option<String>,
}

/// Puts keys in the place of others, table by table.
fn merge(all: &mut toml::Table, own: toml::Table) {
    for (key, value) in own {
        match (all.get_mut(&key), value) {
            // A figure is one thing, with its source.
            (Some(toml::Value::Table(inner)), toml::Value::Table(more)) if !more.contains_key("source") => {
                merge(inner, more)
            }
            (_, value) => {
                all.insert(key, value);
            }
        }
    }
}

/// Registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Words of all local register files of a cluster together, or of the common one.
    pub words: Figure<usize>,
    /// Results that come into a local register file in a cycle.
    pub write_ports: Option<Figure<usize>>,
    /// Units cycles that a value costs for which there is no register: it is stored and loaded.
    pub spill: Option<Figure<f64>>,
}

/// A memory of each cluster for tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratchpad {
    /// Words.
    pub words: Figure<u32>,
}

/// The stream register file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamRegisters {
    /// Words of all clusters together.
    pub words: Figure<u64>,
}

/// Memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Bytes that streams move in a second, in 10^9.
    pub gb_per_second: Figure<f64>,
    /// Cycles from a stream command to the first word.
    pub latency: Figure<u64>,
}

/// The stream controller and the microcontroller.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Cycles from a stream command of the host to its start.
    pub command: Figure<u64>,
    /// Cycles to start a kernel beside its own.
    pub kernel_start: Figure<u64>,
    /// Cycles of an iteration that the loop itself takes.
    pub loop_overhead: Figure<usize>,
    /// Stream commands that the controller holds until what they wait for is done.
    pub scoreboard: Figure<usize>,
}

impl Machine {
    /// A machine from its file.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn read(file: &File) -> Result<Machine, Wrong> {
        let wrong = |problem: String| Err(Wrong::new(&file.path, problem));
        let kind = file.head()?.kind;
        if kind != Kind::Stream {
            return wrong(format!("it is of kind `{kind}`, and kind `stream` is needed"));
        }
        let machine: Machine = match file.parse::<Like>()?.like {
            None => file.parse()?,
            Some(like) => {
                let mut all: toml::Table = headrace_platform::find(&like)?.parse()?;
                let mut own: toml::Table = file.parse()?;
                own.remove("like");
                merge(&mut all, own);
                all.try_into().map_err(|error: toml::de::Error| Wrong::new(&file.path, error.message()))?
            }
        };
        let machine = Machine { name: file.name.clone(), ..machine };
        let clusters = *machine.clusters;
        if !clusters.is_power_of_two() || clusters > 256 {
            return wrong(format!("`clusters` is {clusters}; it must be a power of two, 256 at most"));
        }
        if !(machine.clock_mhz.value > 0.0 && machine.memory.gb_per_second.value > 0.0) {
            return wrong("`clock_mhz` and `memory.gb_per_second` must be more than 0".into());
        }
        if let Some(scratchpad) = &machine.scratchpad
            && *scratchpad.words > 1 << 24
        {
            return wrong(format!("`scratchpad.words` is {}; it must be {} at most", *scratchpad.words, 1 << 24));
        }
        for (name, unit) in &machine.unit {
            if *unit.count == 0 || *unit.count > 64 {
                return wrong(format!("`count` of unit {} is {}; it must be from 1 to 64", name, *unit.count));
            }
            let late = unit.latency.iter().find(|(_, latency)| **latency > 10_000);
            if let Some((op, latency)) = late {
                return wrong(format!("`latency` of {op} is {latency}; it must be 10,000 at most"));
            }
            if let Some((op, busy)) = unit.busy.iter().find(|(_, busy)| busy.value == 0 || busy.value > 10_000) {
                return wrong(format!("`busy` of {op} is {}; it must be from 1 to 10,000", busy.value));
            }
            for op in unit.latency.keys().chain(unit.busy.keys()) {
                if !is_operation(op) {
                    return wrong(format!("unit {} has `{op}`, which is no operation; there are {}", name, names()));
                }
                if machine.unit.values().filter(|other| other.latency.contains_key(op)).count() > 1 {
                    return wrong(format!("two kinds of units have `{op}`; an operation has one"));
                }
            }
        }
        if let Some(processor) = &machine.processor {
            let pipes = processor.pipe.values();
            let figures =
                [processor.issued.value, processor.window.value].into_iter().chain(pipes.map(|pipe| pipe.count.value));
            let times = processor.latency.values().chain(processor.pipe.values().flat_map(|pipe| pipe.busy.values()));
            if !(figures.into_iter().all(|it| it.is_finite() && it > 0.0)
                && times.into_iter().all(|it| it.is_finite() && *it >= 0.0))
            {
                return wrong(
                    "`processor.issued`, `window` and counts of pipes must be more than 0, times not less".into(),
                );
            }
        }
        let needs = [
            "add", "sub", "and", "or", "xor", "shl", "shr", "sra", "eq", "ltu", "lts", "select", "mul", "read", "write",
        ];
        if let Some(missing) = needs.into_iter().find(|op| machine.operation(op).is_none()) {
            return wrong(format!("no unit has `{missing}`; without it kernels cannot be compiled"));
        }
        if machine.scratchpad.is_some() && machine.operation("scratchpad").is_none() {
            return wrong("there is a scratchpad, and no unit has `scratchpad`, which reads it".into());
        }
        Ok(machine)
    }

    /// The kind of unit that has an operation, its latency, and how long it keeps the unit busy.
    pub fn operation(&self, name: &str) -> Option<(usize, usize, usize)> {
        self.unit.values().enumerate().find_map(|(at, unit)| {
            let latency = *unit.latency.get(name)?;
            Some((at, latency, unit.busy.get(name).map_or(1, |busy| busy.value)))
        })
    }

    /// What it has of operations that not every machine has.
    pub fn has(&self) -> Has {
        Has { rotate: self.operation("rotl").is_some(), high_product: self.operation("mulhi").is_some() }
    }

    /// Words of a cluster's scratchpad.
    pub fn scratchpad_words(&self) -> u32 {
        self.scratchpad.as_ref().map_or(0, |scratchpad| *scratchpad.words)
    }

    /// Words that memory moves in a cycle of the clusters.
    pub fn words_per_cycle(&self) -> f64 {
        self.memory.gb_per_second.value * 1000.0 / 4.0 / self.clock_mhz.value
    }
}

fn names() -> String {
    let others = ["select", "read", "write", "scratchpad", "broadcast", "permute", "indexed", "gather"];
    Binary::ALL.iter().map(|op| op.name()).chain(others).collect::<Vec<_>>().join(", ")
}

fn is_operation(name: &str) -> bool {
    names().split(", ").any(|other| other == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Machine, Wrong> {
        Machine::read(&File::new("mine.toml", text))
    }

    #[test]
    fn every_platform_of_the_kind_is_a_machine() {
        let files =
            headrace_platform::built_in().iter().filter(|file| file.head().is_ok_and(|head| head.kind == Kind::Stream));
        let machines: Vec<Machine> =
            files.map(|file| Machine::read(file).unwrap_or_else(|wrong| panic!("{wrong}"))).collect();
        assert!(machines.len() >= 8, "{} machines", machines.len());
    }

    #[test]
    fn what_is_like_another_says_what_differs() {
        let changed = "like = \"imagine\"\nkind = \"stream\"\nabout = \"mine\"\n\
                       [scratchpad]\nwords = { value = 7, source = \"mine\" }\n";
        let machine = read(changed).expect("a machine");
        assert_eq!((machine.scratchpad_words(), *machine.clusters), (7, 8));
        let wrong = |text: &str| read(text).expect_err("it is wrong").problem;
        assert!(wrong("kind = \"array\"\nabout = \"mine\"\n").contains("kind `stream` is needed"));
        let three = format!("{changed}[unit.ADD]\ncount = {{ value = 0, source = \"mine\" }}\n");
        assert!(wrong(&three).contains("must be from 1 to 64"));
        assert!(wrong(&changed.replace("imagine", "nobody")).contains("no platform of that name"));
    }
}
