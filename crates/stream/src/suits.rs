//! The checking model: what a kernel takes on a machine, which resource sets that, and what would have to change; known from the
//! operations alone, before anything is scheduled.
//!
//! It goes beyond the rule of Yao et al. (section 3.4: data-level parallelism, and tables that a scratchpad holds), which is
//! [`by_the_papers_rule`]: a table that is spread has a price, a chain needs channels, and memory may be what is too slow.

use crate::choose::{Way, ways};
use crate::legalize::{NoForm, is_chain};
use crate::machine::Machine;
use crate::place::Place;
use crate::program::Load;
use headrace_kernel::Loop;
use headrace_platform::Figure;

/// What sets the pace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A kind of unit, by its name.
    Unit(String),
    /// Iterations wait for the one before.
    Recurrence,
    /// Memory.
    Memory,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Unit(name) => f.write_str(name),
            Limit::Recurrence => f.write_str("recurrence"),
            Limit::Memory => f.write_str("memory"),
        }
    }
}

/// Cycles of a kernel on a machine as the model has them.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Cycles of all clusters for a byte of messages, long ones.
    pub cycles_per_byte: f64,
    /// Of these what the clusters take.
    pub kernel: f64,
    /// And what memory takes.
    pub memory: f64,
    /// What sets the pace.
    pub limit: Limit,
    /// Whether clusters need records of different channels.
    pub channels: bool,
    /// Cycles between iterations that are expected.
    pub interval: usize,
}

/// What the model says of a way to make a kernel.
pub fn predict(way: &Way, machine: &Machine) -> Prediction {
    let units = way.bounds.iter().copied().max().unwrap_or(1);
    let interval = way.interval();
    let bytes = way.bytes();
    let clusters = f64::from(*machine.clusters);
    let load = Load {
        records: 0,
        words_in: way.placed.code.inputs.iter().map(|stream| u64::from(stream.words)).sum(),
        words_out: way.placed.code.outputs.iter().map(|stream| u64::from(stream.words)).sum(),
        table_words: way.placed.register_words,
        interval: interval as u64,
        length: interval as u64,
    };
    let strip = load.strip(machine) as f64;
    let kernel = interval as f64 / (clusters * bytes) + *machine.control.kernel_start as f64 / (strip * bytes);
    let memory = way.stream_words as f64 / machine.words_per_cycle() / bytes;
    let limit = if memory > kernel {
        Limit::Memory
    } else if way.rec_mii > units {
        Limit::Recurrence
    } else {
        let at = way.bounds.iter().position(|&bound| bound == units).unwrap_or(0);
        Limit::Unit(crate::kernel::name_of_bound(machine, at))
    };
    Prediction {
        cycles_per_byte: kernel.max(memory),
        kernel,
        memory,
        limit,
        channels: is_chain(&way.form.body),
        interval,
    }
}

/// Whether a machine is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// More than twice as fast as the host.
    Suitable,
    /// Up to twice.
    Marginal,
    /// Slower than the host.
    Unsuitable,
}

impl Verdict {
    /// The verdict on a speed-up.
    pub fn of(speedup: f64) -> Verdict {
        match speedup {
            2.0.. => Verdict::Suitable,
            1.0.. => Verdict::Marginal,
            _ => Verdict::Unsuitable,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Verdict::Suitable => "suitable",
            Verdict::Marginal => "marginal",
            Verdict::Unsuitable => "unsuitable",
        })
    }
}

/// What the rule of the paper says: records in parallel, and no table that is read at computed places, or one that the scratchpad
/// holds.
pub fn by_the_papers_rule(ways: &[Way], machine: &Machine) -> bool {
    // As the program has them: merged tables are others.
    ways.iter().filter(|way| way.is_as_written()).take(1).all(|way| {
        let words: usize = way.placed.code.tables.iter().map(|table| table.length).sum();
        !is_chain(&way.form.body) && words <= machine.scratchpad_words() as usize
    })
}

/// A change of a machine, or of how it is used, that makes a kernel faster.
#[derive(Clone, Debug)]
pub struct Change {
    /// What, as a phrase.
    pub what: String,
    /// Cycles for a byte with it.
    pub cycles_per_byte: f64,
}

/// Changes that make a kernel of a loop faster by a tenth or more, the best first.
pub fn changes(body: &Loop, way: &Way, machine: &Machine) -> Vec<Change> {
    let now = predict(way, machine).cycles_per_byte;
    let mut all = Vec::new();
    let mut consider = |what: String, changed: &Machine| {
        if let Ok(ways) = ways(body, changed, false)
            && let Some(best) = ways.first()
        {
            let then = predict(best, changed).cycles_per_byte;
            if then < now * 0.9 {
                all.push(Change { what, cycles_per_byte: then });
            }
        }
    };
    let is_whole = |place: &Place| matches!(place, Place::Scratchpad { .. });
    let tables = &way.placed.code.tables;
    if let Some(scratchpad) = &machine.scratchpad
        && !way.placed.places.iter().all(is_whole)
    {
        let words: usize = tables.iter().map(|table| table.length).sum();
        let mut changed = machine.clone();
        changed.scratchpad = Some(crate::machine::Scratchpad {
            words: Figure { value: words as u32, source: scratchpad.words.source.clone() },
        });
        consider(format!("a scratchpad of {words} words"), &changed);
    }
    if machine.operation("rotl").is_none()
        && let Some((unit, latency, _)) = machine.operation("shl")
    {
        let mut changed = machine.clone();
        if let Some(unit) = changed.unit.values_mut().nth(unit) {
            unit.latency.value.insert("rotl".into(), latency);
        }
        consider("an instruction that rotates".into(), &changed);
    }
    if predict(way, machine).limit == Limit::Memory {
        let mut changed = machine.clone();
        changed.memory.gb_per_second.value *= 2.0;
        consider("memory twice as fast".into(), &changed);
    }
    let units = way.bounds.iter().copied().max().unwrap_or(1).max(1);
    if way.rec_mii > units {
        // Several channels in a cluster take turns.
        let n = way.rec_mii.div_ceil(units);
        let then = predict(way, machine);
        let faster = (then.kernel / n as f64).max(then.memory);
        if faster < now * 0.9 {
            all.push(Change { what: format!("{n} channels in each cluster"), cycles_per_byte: faster });
        }
    }
    all.sort_by(|a, b| a.cycles_per_byte.total_cmp(&b.cycles_per_byte));
    all
}

/// Cycles for a byte on a host: a machine of one cluster without overlap of records, which is bound by its units or by the longest
/// chain of an iteration.
///
/// # Errors
///
/// Why the loop has no form for it.
pub fn on_host(body: &Loop, host: &Machine) -> Result<f64, NoForm> {
    let all = ways(body, host, false)?;
    let cost = |way: &Way| -> Result<f64, NoForm> {
        let selected = crate::kernel::select(&way.placed, host, &Default::default())?;
        let problem = crate::kernel::problem(&selected.ops, host, false);
        let within = headrace_scheduling::cyclic::Problem {
            dependences: problem.dependences.iter().filter(|one| one.distance == 0).copied().collect(),
            ..problem
        };
        let longest = within.heights(1).and_then(|heights| heights.into_iter().max()).unwrap_or(0);
        Ok(way.interval().max(longest as usize) as f64 / way.bytes())
    };
    let mut best = f64::INFINITY;
    for way in all.iter().take(4) {
        best = best.min(cost(way)?);
    }
    Ok(best)
}
