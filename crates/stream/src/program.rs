//! Stream programs: strips of records that are loaded, worked on and stored, side by side as far as memory, the stream register
//! file and the controller allow. A simulation, command by command.
//!
//! The host writes one command after the other; the controller holds as many as its scoreboard has places, and begins each as soon
//! as what it waits for is done: the memory system is free, or the clusters are; its strip is there; the place of its strip in the
//! stream register file is free again. Each stream has two places (*double buffering*).

use crate::kernel::Kernel;
use crate::machine::Machine;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Loads the input streams of a strip.
    Load,
    /// Runs the kernel on a strip.
    Kernel,
    /// Stores the output streams of a strip.
    Store,
}

/// A command that has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What it did.
    pub command: Command,
    /// The strip, from 0.
    pub strip: usize,
    /// The cycle in which it began.
    pub begin: u64,
    /// The first cycle after it.
    pub end: u64,
}

/// What a program came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Commands in the order of the host.
    pub ran: Vec<Ran>,
    /// Cycles in all.
    pub cycles: u64,
    /// Words that came from and went to memory.
    pub memory_words: u64,
    /// Words that clusters read from and wrote to the stream register file.
    pub stream_words: u64,
}

/// What a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Records.
    pub records: u64,
    /// Words of a record of all input streams.
    pub words_in: u64,
    /// Words of a record of all output streams.
    pub words_out: u64,
    /// Words of the stream register file that tables take.
    pub table_words: u64,
    /// Cycles between iterations.
    pub interval: u64,
    /// Cycles from the beginning of an iteration to its last result.
    pub length: u64,
}

impl Load {
    /// What a kernel asks for so many records.
    pub fn of(kernel: &Kernel, records: u64) -> Load {
        let words = |streams: &[crate::words::Stream]| streams.iter().map(|stream| u64::from(stream.words)).sum();
        Load {
            records,
            words_in: words(&kernel.placed.code.inputs),
            words_out: words(&kernel.placed.code.outputs),
            table_words: kernel.placed.register_words,
            interval: kernel.schedule.ii as u64,
            length: kernel.length() as u64,
        }
    }

    /// Records of a strip: as many as the stream register file has two places for, whole iterations of all clusters.
    pub fn strip(&self, machine: &Machine) -> u64 {
        let clusters = u64::from(*machine.clusters);
        let room = machine.stream_registers.words.saturating_sub(self.table_words);
        let records = room / (2 * (self.words_in + self.words_out)).max(1);
        (records / clusters * clusters).max(clusters)
    }

    /// Cycles of the kernel on so many records.
    pub fn kernel_cycles(&self, machine: &Machine, records: u64) -> u64 {
        let iterations = records.div_ceil(u64::from(*machine.clusters));
        match iterations {
            0 => 0,
            n => *machine.control.kernel_start + (n - 1) * self.interval + self.length,
        }
    }

    /// Cycles of the memory system for so many words.
    pub fn memory_cycles(machine: &Machine, words: u64) -> u64 {
        if words == 0 { 0 } else { *machine.memory.latency + (words as f64 / machine.words_per_cycle()).ceil() as u64 }
    }
}

/// Runs a program.
pub fn run(load: &Load, machine: &Machine) -> Timeline {
    let strip = load.strip(machine);
    let n = load.records.div_ceil(strip.max(1)) as usize;
    let records = |at: usize| strip.min(load.records - at as u64 * strip);
    let mut timeline = Timeline::default();
    let (mut memory_free, mut clusters_free) = (0_u64, 0_u64);
    // When each strip was loaded, worked on, stored.
    let mut loaded = vec![0_u64; n];
    let mut worked = vec![0_u64; n];
    let mut stored = vec![0_u64; n];
    let before = |ends: &[u64], at: usize| at.checked_sub(2).map_or(0, |at| ends[at]);
    // The next strip is loaded before the one before is stored, or memory would wait for the kernel.
    let mut order = Vec::new();
    for at in 0..n + 1 {
        if at < n {
            order.push((Command::Load, at));
            order.push((Command::Kernel, at));
        }
        if at > 0 {
            order.push((Command::Store, at - 1));
        }
    }
    for (number, (command, at)) in order.into_iter().enumerate() {
        let written = (number as u64 + 1) * *machine.control.command;
        let slots = (*machine.control.scoreboard).max(1);
        let has_place = number.checked_sub(slots).map_or(0, |other| timeline.ran[other].end);
        let issued = written.max(has_place);
        let (begin, end) = match command {
            Command::Load => {
                let words = records(at) * load.words_in;
                let begin = issued.max(memory_free).max(before(&worked, at));
                timeline.memory_words += words;
                (begin, begin + Load::memory_cycles(machine, words))
            }
            Command::Kernel => {
                let begin = issued.max(clusters_free).max(loaded[at]).max(before(&stored, at));
                timeline.stream_words += records(at) * (load.words_in + load.words_out);
                (begin, begin + load.kernel_cycles(machine, records(at)))
            }
            Command::Store => {
                let words = records(at) * load.words_out;
                let begin = issued.max(memory_free).max(worked[at]);
                timeline.memory_words += words;
                (begin, begin + Load::memory_cycles(machine, words))
            }
        };
        match command {
            Command::Load => (memory_free, loaded[at]) = (end, end),
            Command::Kernel => (clusters_free, worked[at]) = (end, end),
            Command::Store => (memory_free, stored[at]) = (end, end),
        }
        timeline.cycles = timeline.cycles.max(end);
        timeline.ran.push(Ran { command, strip: at, begin, end });
    }
    timeline
}

/// What [`run`] comes to, by a formula: the slower of memory and clusters sets the pace.
pub fn predicted(load: &Load, machine: &Machine) -> f64 {
    if load.records == 0 {
        return 0.0;
    }
    let strip = load.strip(machine);
    let n = load.records.div_ceil(strip);
    let first = strip.min(load.records);
    let last = load.records - (n - 1) * strip;
    let memory = |records: u64, words: u64| Load::memory_cycles(machine, records * words) as f64;
    let kernel = |records: u64| load.kernel_cycles(machine, records) as f64;
    let command = *machine.control.command as f64;
    let (all_in, all_out) = (
        (n - 1) as f64 * memory(strip, load.words_in) + memory(last, load.words_in),
        (n - 1) as f64 * memory(strip, load.words_out) + memory(last, load.words_out),
    );
    // Either the clusters are never idle after the first strip, or memory is not, but for the last one.
    let by_clusters =
        memory(first, load.words_in) + (n - 1) as f64 * kernel(strip) + kernel(last) + memory(last, load.words_out);
    let idle = if n == 1 { kernel(last) } else { (kernel(last) - memory(strip, load.words_out)).max(0.0) };
    command + by_clusters.max(all_in + all_out + idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imagine() -> Machine {
        Machine::read(headrace_platform::find("imagine").expect("a platform")).expect("a machine")
    }

    #[test]
    fn clusters_and_memory_work_side_by_side() {
        let machine = imagine();
        let load = Load { records: 100_000, words_in: 2, words_out: 2, table_words: 0, interval: 640, length: 900 };
        let timeline = run(&load, &machine);
        let kernels = 100_000 / 8 * 640;
        assert!(timeline.cycles as f64 / f64::from(kernels) < 1.03, "{}", timeline.cycles);
        // Memory sets the pace where the kernel is short.
        let short = Load { interval: 4, length: 40, ..load };
        let words = 400_000.0 / machine.words_per_cycle();
        let cycles = run(&short, &machine).cycles as f64;
        assert!((1.0..1.1).contains(&(cycles / words)), "{cycles} {words}");
    }

    #[test]
    fn the_formula_agrees_with_the_simulation() {
        let machine = imagine();
        for interval in [4, 40, 640] {
            for records in [1, 8, 100, 4000, 10_000, 50_000, 200_000] {
                let load =
                    Load { records, words_in: 2, words_out: 2, table_words: 0, interval, length: interval + 100 };
                let (run, formula) = (run(&load, &machine).cycles as f64, predicted(&load, &machine));
                assert!((formula / run - 1.0).abs() < 0.05, "{interval} {records}: {formula} for {run}");
            }
        }
    }
}
