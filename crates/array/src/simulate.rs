//! Event simulation of an array, with values: a timed Kahn process network.
//!
//! Each processor runs its program again and again, a message (or as many as are in flight) a time. An instruction that moves
//! words waits until every word has come and every target has room. No processor chooses between links, so times do not
//! depend on the order in which processors are simulated: each runs ahead until it needs a word or room that is not known
//! yet, and what happens is the same as cycle by cycle. A word that is written in a cycle can be read `latency` cycles after
//! its end; a word that is read makes room from the next cycle on.
//!
//! Processors have clocks of their own (globally asynchronous, locally synchronous). Time is counted in ticks, of which each
//! processor's cycle takes as many as it likes; a word that crosses from one clock to another is seen at an edge of the
//! reader's, after the link's latency in cycles of that.

use crate::isa::{Code, Instruction, OUTSIDE, Source, Target};
use crate::values::{Op, evaluate};
use serde::Serialize;
use std::collections::VecDeque;

/// A link with the FIFO at its end.
#[derive(Clone, Debug, Serialize)]
pub struct Channel {
    /// The processor that writes; none for what comes from outside.
    pub from: Option<usize>,
    /// The processor that reads.
    pub to: usize,
    /// Words that the FIFO holds.
    pub depth: usize,
    /// Cycles from the end of the instruction that writes until a word can be read.
    pub latency: u64,
}

/// A word's computation: what is known becomes known a little more. Takes no time of its own: `Work` has that.
#[derive(Clone, Debug)]
pub struct Compute {
    /// Where the result goes.
    pub to: u32,
    /// What is computed.
    pub how: How,
    /// From where.
    pub args: Vec<u32>,
}

/// What is computed.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// An operation of the network.
    Op(Op),
    /// A part of a value: shifted to the right so far and cut to so many bits.
    Part(u32, u32),
    /// Words of so many bits put together, the lowest first; whether the last has the sign.
    Join(u32, u32, bool),
}

/// What a processor does next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Instructions and NOPs that move nothing.
    Work(u32, u32),
    /// One instruction that takes words from links, computes, and puts words on links or gives them to the outside.
    Move {
        /// Links with where the word goes.
        take: Vec<(u32, u32)>,
        /// What is known then.
        compute: Vec<Compute>,
        /// Links with where the word is.
        put: Vec<(u32, u32)>,
        /// Where a word is that leaves, and its positions in the message's output.
        leave: Vec<(u32, Vec<u32>)>,
    },
    /// Values become known.
    Compute(Vec<Compute>),
    /// Another task begins, by its position in the processor's list of names.
    Task(u32),
    /// What follows is for a message, by its position in the period.
    Message(u32),
}

/// A processor's program for one period.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What it does, again and again.
    pub steps: Vec<Step>,
    /// How many values it keeps, with those that are known from the beginning.
    pub initial: Vec<i128>,
    /// Names of its tasks.
    pub tasks: Vec<String>,
    /// Words that its data memory must have for what it keeps, where that is known.
    pub data_words: usize,
    /// Instructions that it has, where that is known.
    pub program_words: Option<usize>,
    /// The program as instructions, in the place of steps.
    pub code: Option<Code>,
}

/// A word that comes from outside.
#[derive(Clone, Copy, Debug)]
pub struct OutsideWord {
    /// The message of the period.
    pub message: u32,
    /// The input port.
    pub port: u32,
    /// The position of the token in its stream.
    pub at: u32,
    /// From which bit on.
    pub shift: u32,
    /// How many bits.
    pub bits: u32,
}

/// What is simulated.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Programs by processor.
    pub programs: Vec<Program>,
    /// Links.
    pub channels: Vec<Channel>,
    /// For each link from outside: the words of a period, in order.
    pub outside: Vec<Option<Vec<OutsideWord>>>,
    /// Words that a message gives to the outside.
    pub n_outputs: usize,
    /// Tables that operations name.
    pub tables: Vec<Vec<i128>>,
    /// Messages in a period.
    pub messages: usize,
    /// Cycles without a word after which an oscillator stops.
    pub halt_after: u64,
    /// Cycles that it takes to start again.
    pub restart: u64,
    /// Ticks of a cycle of each processor.
    pub periods: Vec<u64>,
    /// Ticks of a cycle at the nominal frequency.
    pub ticks: u64,
}

/// What a processor has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Cycles with an instruction.
    pub executed: u64,
    /// Cycles with a NOP.
    pub nops: u64,
    /// Cycles in which it waited with its clock running.
    pub stalled: u64,
    /// Cycles in which its oscillator stood.
    pub halted: u64,
}

impl Activity {
    fn minus(self, other: Self) -> Self {
        Self {
            executed: self.executed - other.executed,
            nops: self.nops - other.nops,
            stalled: self.stalled - other.stalled,
            halted: self.halted - other.halted,
        }
    }

    /// All cycles.
    pub fn cycles(self) -> u64 {
        self.executed + self.nops + self.stalled + self.halted
    }
}

/// A stretch of a processor's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Its first cycle.
    pub from: u64,
    /// The cycle behind its last.
    pub to: u64,
    /// What it did.
    pub state: State,
    /// For which of its tasks.
    pub task: u32,
}

/// What a processor does in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// An instruction.
    Executes,
    /// A NOP.
    Nop,
    /// It waits with its clock running.
    Stalls,
    /// Its oscillator stands.
    Halted,
}

/// What came of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// For each message, the cycle in which its last word left.
    pub done: Vec<u64>,
    /// For each message, the words that left.
    pub outputs: Vec<Vec<i128>>,
    /// What each processor did in the steady state, over `steady` messages.
    pub activity: Vec<Activity>,
    /// Words on each link in the steady state.
    pub words: Vec<u64>,
    /// Messages of the steady state.
    pub steady: usize,
    /// Cycles a message in the steady state.
    pub cycles_per_message: f64,
    /// Cycles from the beginning until the first message was done.
    pub latency: u64,
    /// Cycles that all processors together went through.
    pub core_cycles: u64,
    /// Most words that each FIFO held (as far as is known from times).
    pub fills: Vec<usize>,
    /// Cycles in which words left the array, with how many.
    pub leaves: Vec<(u64, u32)>,
    /// What each processor did when, where it was asked for.
    pub spells: Vec<Vec<Spell>>,
}

/// Why nothing goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The processor that waits.
    pub core: usize,
    /// For its task.
    pub task: String,
    /// The processor that it waits for; none for the outside.
    pub on: Option<usize>,
    /// Whether it waits for room; else for a word.
    pub room: bool,
    /// The link.
    pub channel: usize,
}

/// How a simulation fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Processors wait for each other: who for whom.
    Deadlock(u64, Vec<Waiting>),
    /// An operation has no result.
    Trap(usize, String),
}

struct Link {
    /// Words with the cycle from which they can be read.
    words: VecDeque<(i128, u64)>,
    /// Cycles from which the last `depth` places that were made free can be used, the oldest first.
    freed: VecDeque<u64>,
    n_put: usize,
    n_taken: usize,
    most: usize,
}

struct Running {
    at: usize,
    time: u64,
    task: u32,
    message: u32,
    period: usize,
    activity: Activity,
    values: Vec<i128>,
    marks: Vec<(u64, Activity)>,
    spells: Vec<Spell>,
    machine: Registers,
    /// Ticks of its cycle.
    cycle: u64,
}

/// What a processor that executes instructions keeps.
#[derive(Default)]
struct Registers {
    memory: Vec<u64>,
    pointers: [u64; 16],
    generators: [u32; 16],
    flags: [bool; 16],
    carry: bool,
    bypass: u64,
    at: usize,
    /// Where a hardware loop begins, where it ends, and how often it is still gone through.
    repeat: Option<(usize, usize, u32)>,
    /// Whether the NOPs before the instruction are done.
    waited: bool,
    run: u32,
    leaves: usize,
}

impl Registers {
    fn of(program: &Program) -> Self {
        let memory = program.code.as_ref().map(|code| code.memory.clone()).unwrap_or_default();
        Self { memory, ..Self::default() }
    }
}

/// What became of an instruction.
enum Did {
    /// It was carried out.
    Went,
    /// A word or room is missing.
    Waits,
    /// It was the last of a period.
    Period,
}

/// Simulates messages, one after the other without a pause. `inputs` has the tokens of each message, by port. The first
/// half of them warms up; spells are kept of `window` cycles, counted from the first.
///
/// # Errors
///
/// A deadlock, or an operation without a result.
pub fn simulate(setup: &Setup, inputs: &[Vec<Vec<i128>>], window: Option<(u64, u64)>) -> Result<Outcome, Failed> {
    let n_messages = inputs.len() - inputs.len() % setup.messages.max(1);
    let window = window.map(|(from, to)| (from * setup.ticks, to * setup.ticks));
    let mut links: Vec<Link> = setup
        .channels
        .iter()
        .map(|_| Link { words: VecDeque::new(), freed: VecDeque::new(), n_put: 0, n_taken: 0, most: 0 })
        .collect();
    for (link, outside) in links.iter_mut().zip(&setup.outside) {
        let Some(outside) = outside else { continue };
        for period in inputs[..n_messages].chunks(setup.messages.max(1)) {
            for word in outside {
                let tokens = period[word.message as usize].get(word.port as usize);
                let token = tokens.and_then(|tokens| tokens.get(word.at as usize)).copied().unwrap_or(0);
                link.words.push_back((part(token, word.shift, word.bits), 0));
            }
        }
    }
    let mut running: Vec<Running> = setup
        .programs
        .iter()
        .zip(&setup.periods)
        .map(|(program, &cycle)| Running {
            at: 0,
            time: 0,
            task: 0,
            message: 0,
            period: 0,
            activity: Activity::default(),
            values: program.initial.clone(),
            marks: Vec::new(),
            spells: Vec::new(),
            machine: Registers::of(program),
            cycle,
        })
        .collect();
    let mut outputs = vec![vec![0; setup.n_outputs]; n_messages];
    let mut done = vec![0u64; n_messages];
    let mut left: Vec<u64> = Vec::new();
    let n_periods = n_messages / setup.messages.max(1);
    let warm = n_periods / 2;
    let mut words_warm: Vec<usize> = vec![0; links.len()];
    let mut agenda: VecDeque<usize> = (0..running.len()).collect();
    let mut is_on: Vec<bool> = vec![true; running.len()];
    // Who waits for each link: the reader for a word, the writer for room.
    while let Some(at) = agenda.pop_front() {
        is_on[at] = false;
        let program = &setup.programs[at];
        let mut woken: Vec<usize> = Vec::new();
        let core = &mut running[at];
        if let Some(code) = &program.code {
            let mut world = World {
                links: &mut links,
                setup,
                woken: &mut woken,
                outputs: &mut outputs,
                done: &mut done,
                left: &mut left,
            };
            while core.period < n_periods {
                match core.instruction(code, &mut world, window) {
                    Ok(Did::Went) => {}
                    Ok(Did::Waits) => break,
                    Ok(Did::Period) => {
                        core.period += 1;
                        core.marks.push((core.time, core.activity));
                        if core.period == warm {
                            for (link, _) in setup.channels.iter().enumerate().filter(|(_, it)| it.from == Some(at)) {
                                words_warm[link] = world.links[link].n_put;
                            }
                        }
                    }
                    Err(why) => return Err(Failed::Trap(at, why)),
                }
            }
        }
        'run: while core.period < n_periods && !program.steps.is_empty() {
            match &program.steps[core.at] {
                Step::Work(executed, nops) => {
                    let (begin, middle) = (core.time, core.time + u64::from(*executed) * core.cycle);
                    core.time = middle + u64::from(*nops) * core.cycle;
                    core.activity.executed += u64::from(*executed);
                    core.activity.nops += u64::from(*nops);
                    core.note(window, begin, middle, State::Executes);
                    let end = core.time;
                    core.note(window, middle, end, State::Nop);
                }
                Step::Move { take, compute, put, leave } => {
                    let mut time = core.time;
                    for &(link, _) in take {
                        match links[link as usize].words.front() {
                            Some(&(_, ready)) => time = time.max(ready),
                            None => break 'run,
                        }
                    }
                    for &(link, _) in put {
                        let (link, channel) = (&links[link as usize], &setup.channels[link as usize]);
                        if link.n_put - link.n_taken >= channel.depth {
                            break 'run;
                        }
                        // The place that this word takes was freed when the word `depth` before it was read.
                        if link.n_put >= channel.depth {
                            let at = link.freed.len() - (link.n_taken + channel.depth - link.n_put);
                            time = time.max(link.freed[at]);
                        }
                    }
                    core.wait(time, setup, window);
                    let time = core.time;
                    for &(link, to) in take {
                        let depth = setup.channels[link as usize].depth;
                        if let Some(from) = setup.channels[link as usize].from {
                            woken.push(from);
                        }
                        let link = &mut links[link as usize];
                        if let Some((value, _)) = link.words.pop_front() {
                            core.values[to as usize] = value;
                        }
                        link.n_taken += 1;
                        link.freed.push_back(time + core.cycle);
                        if link.freed.len() > depth {
                            link.freed.pop_front();
                        }
                    }
                    for compute in compute {
                        let result = compute.run(&core.values, &setup.tables);
                        core.values[compute.to as usize] = result.map_err(|why| Failed::Trap(at, why))?;
                    }
                    for &(link, from) in put {
                        let channel = &setup.channels[link as usize];
                        let link = &mut links[link as usize];
                        let ready = time + core.cycle + channel.latency * setup.periods[channel.to];
                        link.words.push_back((core.values[from as usize], ready));
                        link.n_put += 1;
                        link.most = link.most.max(link.n_put - link.n_taken);
                        woken.push(channel.to);
                    }
                    core.executes(window);
                    for (from, positions) in leave {
                        let message = core.period * setup.messages + core.message as usize;
                        for &position in positions {
                            outputs[message][position as usize] = core.values[*from as usize];
                        }
                        done[message] = done[message].max(core.time);
                        left.push(time);
                    }
                }
                Step::Compute(all) => {
                    for compute in all {
                        let result = compute.run(&core.values, &setup.tables);
                        core.values[compute.to as usize] = result.map_err(|why| Failed::Trap(at, why))?;
                    }
                }
                Step::Task(task) => core.task = *task,
                Step::Message(message) => core.message = *message,
            }
            core.at += 1;
            if core.at == program.steps.len() {
                core.at = 0;
                core.period += 1;
                core.marks.push((core.time, core.activity));
                if core.period == warm {
                    for (link, channel) in setup.channels.iter().enumerate().filter(|(_, it)| it.from == Some(at)) {
                        let _ = channel;
                        words_warm[link] = links[link].n_put;
                    }
                }
            }
        }
        woken.sort_unstable();
        woken.dedup();
        for other in woken {
            if other != at && !is_on[other] {
                is_on[other] = true;
                agenda.push_back(other);
            }
        }
    }
    let time = running.iter().map(|core| core.time).max().unwrap_or(0);
    let has_work = |program: &Program| !program.steps.is_empty() || program.code.is_some();
    if running.iter().zip(&setup.programs).any(|(core, program)| core.period < n_periods && has_work(program)) {
        return Err(Failed::Deadlock(time.div_ceil(setup.ticks), waits(setup, &running, &links, n_periods)));
    }
    let steady = (n_periods - warm) * setup.messages;
    let measured = |core: &Running| match (core.marks.last(), core.marks.get(warm.wrapping_sub(1))) {
        (Some(&(_, end)), Some(&(_, begin))) => end.minus(begin),
        (Some(&(_, end)), None) => end,
        _ => Activity::default(),
    };
    let activity = running.iter().map(measured).collect();
    let words = links.iter().zip(&words_warm).map(|(link, &begin)| (link.n_put - begin) as u64).collect();
    let begin = (warm * setup.messages).checked_sub(1).and_then(|at| done.get(at)).copied().unwrap_or(0);
    let end = done.last().copied().unwrap_or(0);
    // In cycles at the nominal frequency.
    let cycles = |ticks: u64| ticks.div_ceil(setup.ticks);
    let core_cycles = setup.periods.iter().map(|cycle| time / cycle).sum();
    for spell in running.iter_mut().flat_map(|core| &mut core.spells) {
        (spell.from, spell.to) = (spell.from / setup.ticks, cycles(spell.to));
    }
    done.iter_mut().for_each(|done| *done = cycles(*done));
    left.sort_unstable();
    let leaves = left.chunk_by(|a, b| a == b).map(|same| (same[0] / setup.ticks, same.len() as u32)).collect();
    Ok(Outcome {
        cycles_per_message: (end - begin) as f64 / (setup.ticks * steady.max(1) as u64) as f64,
        latency: done.first().copied().unwrap_or(0),
        activity,
        words,
        steady,
        core_cycles,
        fills: links.iter().map(|link| link.most).collect(),
        spells: running.into_iter().map(|core| core.spells).collect(),
        done,
        outputs,
        leaves,
    })
}

/// Who waits for whom.
fn waits(setup: &Setup, running: &[Running], links: &[Link], n_periods: usize) -> Vec<Waiting> {
    let mut all = Vec::new();
    for (at, (core, program)) in running.iter().zip(&setup.programs).enumerate() {
        if core.period == n_periods {
            continue;
        }
        if let Some(code) = &program.code {
            let task = program.tasks.join(", ");
            for (channel, room) in core.missing(code, links, setup) {
                let on = if room { Some(setup.channels[channel].to) } else { setup.channels[channel].from };
                all.push(Waiting { core: at, task: task.clone(), on, room, channel });
            }
            continue;
        }
        let task = program.tasks.get(core.task as usize).cloned().unwrap_or_default();
        if let Some(Step::Move { take, put, .. }) = program.steps.get(core.at) {
            for &(channel, _) in take {
                let channel = channel as usize;
                if links[channel].words.is_empty() {
                    let on = setup.channels[channel].from;
                    all.push(Waiting { core: at, task: task.clone(), on, room: false, channel });
                }
            }
            for &(channel, _) in put {
                let channel = channel as usize;
                if links[channel].n_put - links[channel].n_taken >= setup.channels[channel].depth {
                    let on = Some(setup.channels[channel].to);
                    all.push(Waiting { core: at, task: task.clone(), on, room: true, channel });
                }
            }
        }
    }
    all
}

/// Bits of a number.
pub fn part(value: i128, shift: u32, bits: u32) -> i128 {
    (value >> shift) & ((1i128 << bits) - 1)
}

impl Compute {
    fn run(&self, values: &[i128], tables: &[Vec<i128>]) -> Result<i128, String> {
        let arg = |at: usize| values[self.args[at] as usize];
        Ok(match self.how {
            How::Op(op) => match self.args.len() {
                1 => evaluate(op, &[arg(0)], tables)?,
                2 => evaluate(op, &[arg(0), arg(1)], tables)?,
                _ => evaluate(op, &self.args.iter().map(|&at| values[at as usize]).collect::<Vec<_>>(), tables)?,
            },
            How::Part(shift, bits) => part(arg(0), shift, bits),
            How::Join(bits, width, signed) => {
                let whole = (0..self.args.len()).fold(0, |whole, at| whole | arg(at) << (bits * at as u32));
                let unused = 128 - width;
                if signed { whole << unused >> unused } else { whole }
            }
        })
    }
}

/// What is around a processor.
struct World<'w> {
    links: &'w mut [Link],
    setup: &'w Setup,
    woken: &'w mut Vec<usize>,
    outputs: &'w mut [Vec<i128>],
    done: &'w mut [u64],
    left: &'w mut Vec<u64>,
}

/// Links that an instruction takes a word from or only looks at, with whether it takes it.
fn looks(code: &Code, sources: [Source; 2]) -> impl Iterator<Item = (usize, bool)> {
    sources.into_iter().filter_map(|source| match source {
        Source::Input(port) => Some((code.inputs[port as usize] as usize, true)),
        Source::Peek(port) => Some((code.inputs[port as usize] as usize, false)),
        _ => None,
    })
}

/// Links that an instruction writes.
fn writes(code: &Code, to: Target) -> impl Iterator<Item = usize> {
    let links = match to {
        Target::Links(links) => links & !OUTSIDE,
        _ => 0,
    };
    code.outputs.iter().enumerate().filter(move |(number, _)| links >> number & 1 == 1).map(|(_, &link)| link as usize)
}

impl Link {
    /// The cycle from which there is room for another word; none where that is not known yet.
    fn room(&self, depth: usize) -> Option<u64> {
        if self.n_put - self.n_taken >= depth {
            return None;
        }
        match self.n_put < depth {
            true => Some(0),
            // The place that this word takes was freed when the word `depth` before it was read.
            false => Some(self.freed[self.freed.len() - (self.n_taken + depth - self.n_put)]),
        }
    }

    /// Takes a word; its place is free from a time on.
    fn take(&mut self, free: u64, depth: usize) -> i128 {
        let value = self.words.pop_front().map_or(0, |(value, _)| value);
        self.n_taken += 1;
        self.freed.push_back(free);
        if self.freed.len() > depth {
            self.freed.pop_front();
        }
        value
    }

    fn put(&mut self, value: i128, ready: u64) {
        self.words.push_back((value, ready));
        self.n_put += 1;
        self.most = self.most.max(self.n_put - self.n_taken);
    }
}

impl Running {
    /// Links without a word that is wanted, and (`true`) without room.
    fn missing(&self, code: &Code, links: &[Link], setup: &Setup) -> Vec<(usize, bool)> {
        let Some(Instruction::Do { a, b, to, .. }) = code.instructions.get(self.machine.at) else { return Vec::new() };
        let words =
            looks(code, [*a, *b]).filter(|(link, _)| links[*link].words.is_empty()).map(|(link, _)| (link, false));
        let room = writes(code, *to)
            .filter(|link| links[*link].room(setup.channels[*link].depth).is_none())
            .map(|link| (link, true));
        words.chain(room).collect()
    }

    /// Carries out an instruction, if its words are there and its links have room.
    fn instruction(&mut self, code: &Code, world: &mut World<'_>, window: Option<(u64, u64)>) -> Result<Did, String> {
        let (repeat, generate, jump) = code.setup;
        let busy = |this: &mut Self, cycles: u32, window| {
            let begin = this.time;
            this.time += u64::from(cycles) * this.cycle;
            this.activity.executed += u64::from(cycles);
            let end = this.time;
            this.note(window, begin, end, State::Executes);
        };
        let Some(instruction) = code.instructions.get(self.machine.at) else {
            // The jump at the end.
            busy(self, jump, window);
            self.machine.at = 0;
            self.machine.run += 1;
            if self.machine.run < code.runs {
                return Ok(Did::Went);
            }
            (self.machine.run, self.machine.leaves) = (0, 0);
            return Ok(Did::Period);
        };
        let nops = match instruction {
            Instruction::Do { nops, .. } | Instruction::Repeat { nops, .. } | Instruction::Loop { nops, .. } => *nops,
            Instruction::Generate { .. } => 0,
        };
        if nops > 0 && !self.machine.waited {
            let begin = self.time;
            self.time += u64::from(nops) * self.cycle;
            self.activity.nops += u64::from(nops);
            let end = self.time;
            self.note(window, begin, end, State::Nop);
            self.machine.waited = true;
        }
        match *instruction {
            Instruction::Repeat { times, length, .. } => {
                busy(self, repeat, window);
                let begin = self.machine.at + 1;
                self.machine.repeat = Some((begin, begin + length as usize, times - 1));
                self.machine.at = begin;
            }
            Instruction::Generate { generator, at } => {
                busy(self, generate, window);
                self.machine.generators[generator as usize] = at;
                self.machine.at += 1;
            }
            Instruction::Loop { flag, to, .. } => {
                busy(self, jump, window);
                self.machine.at = if self.machine.flags[flag as usize] { to as usize } else { self.machine.at + 1 };
            }
            Instruction::Do { op, to, a, b, sets, condition, .. } => {
                let goes = condition.is_none_or(|(flag, is_set)| self.machine.flags[flag as usize] == is_set);
                if goes {
                    let mut time = self.time;
                    for (link, _) in looks(code, [a, b]) {
                        match world.links[link].words.front() {
                            Some(&(_, ready)) => time = time.max(ready),
                            None => return Ok(Did::Waits),
                        }
                    }
                    for link in writes(code, to) {
                        match world.links[link].room(world.setup.channels[link].depth) {
                            Some(free) => time = time.max(free),
                            None => return Ok(Did::Waits),
                        }
                    }
                    self.wait(time, world.setup, window);
                    let x = self.operand(code, a, world)?;
                    let y = self.operand(code, b, world)?;
                    let result = op.apply(x, y, code.bits, &mut self.machine.carry);
                    if let Some(flag) = sets {
                        self.machine.flags[flag as usize] = result != 0;
                    }
                    self.machine.bypass = result;
                    self.result(code, to, result, world)?;
                }
                self.executes(window);
                self.machine.at += 1;
            }
        }
        self.machine.waited = false;
        if let Some((begin, end, left)) = self.machine.repeat
            && self.machine.at == end
        {
            if left > 0 {
                self.machine.repeat = Some((begin, end, left - 1));
                self.machine.at = begin;
            } else {
                self.machine.repeat = None;
            }
        }
        Ok(Did::Went)
    }

    fn word(&mut self, at: u64) -> Result<&mut u64, String> {
        let n = self.machine.memory.len();
        let word = usize::try_from(at).ok().and_then(|at| self.machine.memory.get_mut(at));
        word.ok_or_else(|| format!("word {at} is outside its memory of {n}"))
    }

    fn operand(&mut self, code: &Code, source: Source, world: &mut World<'_>) -> Result<u64, String> {
        Ok(match source {
            Source::Memory(at) => *self.word(u64::from(at))?,
            Source::Immediate(number) => number,
            Source::Bypass => self.machine.bypass,
            Source::Pointer(pointer) => *self.word(self.machine.pointers[pointer as usize])?,
            Source::Generator(generator) => {
                let at = self.machine.generators[generator as usize];
                self.machine.generators[generator as usize] += 1;
                *self.word(u64::from(at))?
            }
            Source::Peek(port) => {
                let link = code.inputs[port as usize] as usize;
                world.links[link].words.front().map_or(0, |&(value, _)| value as u64)
            }
            Source::Input(port) => {
                let link = code.inputs[port as usize] as usize;
                let channel = &world.setup.channels[link];
                world.woken.extend(channel.from);
                world.links[link].take(self.time + self.cycle, channel.depth) as u64
            }
        })
    }

    fn result(&mut self, code: &Code, to: Target, result: u64, world: &mut World<'_>) -> Result<(), String> {
        match to {
            Target::Nowhere => {}
            Target::Memory(at) => *self.word(u64::from(at))? = result,
            Target::Pointer(pointer) => self.machine.pointers[pointer as usize] = result,
            Target::Generator(generator) => {
                let at = self.machine.generators[generator as usize];
                self.machine.generators[generator as usize] += 1;
                *self.word(u64::from(at))? = result;
            }
            Target::Links(links) => {
                for link in writes(code, to) {
                    let channel = &world.setup.channels[link];
                    let latency = channel.latency * world.setup.periods[channel.to];
                    world.links[link].put(i128::from(result), self.time + self.cycle + latency);
                    world.woken.push(channel.to);
                }
                if links & OUTSIDE != 0 {
                    let (message, positions, limb) = &code.leaves[self.machine.leaves];
                    self.machine.leaves += 1;
                    let message = self.period * world.setup.messages + *message as usize;
                    for &position in positions {
                        let place = &mut world.outputs[message][position as usize];
                        *place |= i128::from(result) << (limb * code.bits);
                    }
                    world.done[message] = world.done[message].max(self.time + self.cycle);
                    world.left.push(self.time);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, until: u64, setup: &Setup, window: Option<(u64, u64)>) {
        if until <= self.time {
            return;
        }
        let begin = self.time;
        // At an edge of its own clock.
        let waits = (until - begin).div_ceil(self.cycle);
        let stalled = waits.min(setup.halt_after);
        let restart = if waits > setup.halt_after { setup.restart } else { 0 };
        self.time = begin + (waits + restart) * self.cycle;
        self.activity.stalled += stalled;
        self.activity.halted += waits + restart - stalled;
        let (middle, end) = (begin + stalled * self.cycle, self.time);
        self.note(window, begin, middle, State::Stalls);
        self.note(window, middle, end, State::Halted);
    }

    fn executes(&mut self, window: Option<(u64, u64)>) {
        let begin = self.time;
        self.time += self.cycle;
        self.activity.executed += 1;
        self.note(window, begin, begin + self.cycle, State::Executes);
    }

    fn note(&mut self, window: Option<(u64, u64)>, from: u64, to: u64, state: State) {
        let Some((begin, end)) = window else { return };
        if from == to || to <= begin || from >= end {
            return;
        }
        match self.spells.last_mut() {
            Some(last) if last.to == from && last.state == state && last.task == self.task => last.to = to,
            _ => self.spells.push(Spell { from, to, state, task: self.task }),
        }
    }
}
