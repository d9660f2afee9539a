//! Kernels: operations of word code on units of a cluster, scheduled, with registers.

use crate::legalize::NoForm;
use crate::machine::Machine;
use crate::place::Placed;
use crate::registers::{self, Allocation};
use crate::trial::numbers;
use crate::words::{WordId, WordOp};
use headrace_scheduling::cyclic::{Dependence, Operation, Problem, Schedule};
use headrace_scheduling::list_units;
use headrace_scheduling::modulo::{self, Order, Whose};
use headrace_scheduling::moves::Moves;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What an operation of a kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// What makes a word; its own operands do not count.
    Word(WordOp),
    /// Passes a value on.
    Move,
    /// Writes a word of a record.
    Write {
        /// Position of the output stream.
        stream: u32,
        /// Which word of its record.
        word: u32,
    },
}

/// What an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// What no iteration changes: a position in [`Kernel::standing`].
    Standing(usize),
    /// The result of an operation of this iteration, or of one before.
    Result {
        /// The operation.
        op: usize,
        /// How many iterations before.
        distance: usize,
    },
}

/// An operation of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOp {
    /// What it does.
    pub what: What,
    /// What it reads.
    pub operands: Vec<Operand>,
    /// Its kind of unit: a position in the machine's.
    pub unit: usize,
    /// Cycles to its result.
    pub latency: usize,
    /// Cycles that its unit is busy.
    pub busy: usize,
}

/// How iterations follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The next begins while others go on.
    Modulo,
    /// The next begins when the one before has ended.
    List,
}

/// A kernel for a machine.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The code that it was made of.
    pub placed: Placed,
    /// How iterations follow each other.
    pub scheduling: Scheduling,
    /// The operations.
    pub ops: Vec<KernelOp>,
    /// Words of the code that no iteration changes: constants, keys, and what is computed from them before the first.
    pub standing: Vec<WordId>,
    /// Those that have no registers lie in the scratchpad: the word there, which.
    pub spilled: Vec<(u32, WordId)>,
    /// What is carried into the first iterations: of an operation, so many iterations before the first, a position in
    /// [`crate::words::WordCode::carried`].
    pub initial: BTreeMap<(usize, usize), usize>,
    /// When operations begin.
    pub schedule: Schedule,
    /// The bound of units on the interval.
    pub res_mii: usize,
    /// The bound of each kind of unit.
    pub bounds: Vec<usize>,
    /// The bound of recurrences.
    pub rec_mii: usize,
    /// Results that are held at once at most, without standing values.
    pub max_live: usize,
    /// Registers and units of operations.
    pub registers: Allocation,
}

impl Kernel {
    /// Instructions in microcode: the interval, as often as registers ask for.
    pub fn microcode_words(&self) -> usize {
        self.schedule.ii * self.registers.unrolled
    }

    /// Cycles from the beginning of an iteration to its last result.
    pub fn length(&self) -> usize {
        self.ops
            .iter()
            .zip(&self.schedule.begins)
            .map(|(op, begin)| begin + op.latency.max(op.busy).max(1))
            .max()
            .unwrap_or(0)
    }

    /// Operations that run in an iteration, for each kind of unit.
    pub fn work(&self, n_units: usize) -> Vec<usize> {
        let mut work = vec![0; n_units];
        self.ops.iter().for_each(|op| work[op.unit] += op.busy.max(1));
        work
    }
}

/// What machine files call an operation.
pub fn name_of(op: &WordOp) -> &'static str {
    match op {
        WordOp::Binary(op, ..) => op.name(),
        WordOp::Select(..) => "select",
        WordOp::Read { .. } => "read",
        WordOp::Scratchpad { .. } => "scratchpad",
        WordOp::Indexed { .. } => "indexed",
        WordOp::Gather { .. } => "gather",
        WordOp::Broadcast { .. } => "broadcast",
        WordOp::Permute { .. } => "permute",
        WordOp::Const(_)
        | WordOp::Cluster
        | WordOp::Held(_)
        | WordOp::Given(_)
        | WordOp::Carried(_)
        | WordOp::Lookup { .. } => "move",
    }
}

/// The operations of code on a machine, before they have times.
#[derive(Clone, Debug, Default)]
pub struct Selected {
    /// The operations.
    pub ops: Vec<KernelOp>,
    /// See [`Kernel::standing`].
    pub standing: Vec<WordId>,
    /// See [`Kernel::spilled`].
    pub spilled: Vec<(u32, WordId)>,
    /// See [`Kernel::initial`].
    pub initial: BTreeMap<(usize, usize), usize>,
}

/// Values that are put to the scratchpad at most, one read for each that reads them.
type Spilled = FxHashMap<WordId, u32>;

/// The operations of placed code.
///
/// # Errors
///
/// Where the machine lacks an operation.
pub fn select(placed: &Placed, machine: &Machine, spilled: &Spilled) -> Result<Selected, NoForm> {
    let code = &placed.code;
    let invariants = code.invariants();
    let mut selector = Selector {
        placed,
        machine,
        invariants: &invariants,
        spilled,
        made: Selected::default(),
        ops: FxHashMap::default(),
        standing: FxHashMap::default(),
    };
    for id in code.needed() {
        if invariants[id.index()] || matches!(code.op(id), WordOp::Carried(_) | WordOp::Given(_)) {
            continue;
        }
        let op = code.op(id).clone();
        let at = selector.push(What::Word(op.clone()), name_of(&op), Vec::new())?;
        selector.ops.insert(id, at);
    }
    // Operands of all, those from the iteration before too.
    let mut all: Vec<(WordId, usize)> = selector.ops.iter().map(|(&id, &at)| (id, at)).collect();
    all.sort_unstable();
    for (id, at) in all {
        let operands = code.op(id).operands().into_iter().map(|operand| selector.operand(operand));
        let operands = operands.collect::<Result<Vec<_>, NoForm>>()?;
        selector.made.ops[at].operands = operands;
    }
    for &(stream, word, value) in &code.writes {
        let operand = selector.operand(value)?;
        selector.push(What::Write { stream, word }, "write", vec![operand])?;
    }
    let mut made = selector.made;
    made.spilled = spilled.iter().map(|(&id, &at)| (at, id)).collect();
    made.spilled.sort_unstable();
    Ok(made)
}

struct Selector<'a> {
    placed: &'a Placed,
    machine: &'a Machine,
    invariants: &'a [bool],
    spilled: &'a Spilled,
    made: Selected,
    /// Operations of words.
    ops: FxHashMap<WordId, usize>,
    standing: FxHashMap<WordId, usize>,
}

impl Selector<'_> {
    fn push(&mut self, what: What, name: &str, operands: Vec<Operand>) -> Result<usize, NoForm> {
        let name = if name == "move" { "or" } else { name };
        let (unit, latency, busy) = self
            .machine
            .operation(name)
            .ok_or_else(|| NoForm::new(format!("no unit of {} has the operation `{name}`", self.machine.name)))?;
        self.made.ops.push(KernelOp { what, operands, unit, latency, busy });
        Ok(self.made.ops.len() - 1)
    }

    fn stand(&mut self, id: WordId) -> usize {
        *self.standing.entry(id).or_insert_with(|| {
            self.made.standing.push(id);
            self.made.standing.len() - 1
        })
    }

    fn operand(&mut self, id: WordId) -> Result<Operand, NoForm> {
        if matches!(self.placed.code.op(id), WordOp::Given(_)) {
            return Ok(Operand::Standing(self.stand(id)));
        }
        if self.invariants[id.index()] {
            if let Some(&at) = self.spilled.get(&id) {
                let read = WordOp::Scratchpad { base: at, index: None };
                let op = self.push(What::Word(read), "scratchpad", Vec::new())?;
                return Ok(Operand::Result { op, distance: 0 });
            }
            return Ok(Operand::Standing(self.stand(id)));
        }
        let code = &self.placed.code;
        let mut now = id;
        let mut chain = Vec::new();
        while let WordOp::Carried(at) = *code.op(now) {
            let at = at as usize;
            if chain.contains(&at) {
                return Err(NoForm::new("what iterations hand on comes from nowhere"));
            }
            chain.push(at);
            now = code.carried[at].next;
        }
        let distance = chain.len();
        let op = match self.ops.get(&now) {
            Some(&op) => op,
            // What is the same in all iterations, but not before the first.
            None => {
                let operand = self.operand(now)?;
                self.push(What::Move, "move", vec![operand])?
            }
        };
        // In iteration i the i-th of the chain has what it was at first.
        let mut fits = true;
        for (iteration, &at) in chain.iter().enumerate() {
            let before = distance - iteration;
            fits &= self
                .made
                .initial
                .get(&(op, before))
                .is_none_or(|&other| code.carried[other].first == code.carried[at].first);
        }
        let op = if fits {
            op
        } else {
            // Another value is there before the first iteration.
            self.push(What::Move, "move", vec![Operand::Result { op, distance: 0 }])?
        };
        for (iteration, &at) in chain.iter().enumerate() {
            self.made.initial.insert((op, distance - iteration), at);
        }
        Ok(Operand::Result { op, distance })
    }
}

/// Ports of the files of a kind of unit that have bounds: those of the first two inputs together, and of each of three.
const PORTS: usize = 4;

/// The scheduling problem of operations. `spreads`: a result that several read may need the files of two units.
pub fn problem(ops: &[KernelOp], machine: &Machine, spreads: bool) -> Problem {
    let mut dependences = Vec::new();
    for (to, op) in ops.iter().enumerate() {
        for operand in &op.operands {
            if let Operand::Result { op: from, distance } = *operand {
                dependences.push(Dependence { from, to, latency: ops[from].latency, distance, is_value: true });
            }
        }
    }
    // Results come into the files of units through ports: as many in a cycle as the files of a kind have together. Which file
    // each one goes to is settled when registers are.
    let mut units: Vec<usize> = machine.unit.values().map(|unit| *unit.count).collect();
    let n_kinds = units.len();
    // For each result the ports that it comes through: of a kind, all inputs or one.
    let mut ways: Vec<Vec<usize>> = vec![Vec::new(); ops.len()];
    if let Some(ports) = &machine.registers.write_ports {
        for unit in machine.unit.values() {
            let files = unit.files.as_ref().map_or(0, |files| files.len());
            for inputs in [files.min(2), 1, 1, 1] {
                units.push((*unit.count * inputs * **ports).max(1));
            }
        }
        for op in ops {
            for (at, operand) in op.operands.iter().enumerate() {
                let Operand::Result { op: from, .. } = *operand else { continue };
                let commutes = matches!(&op.what, What::Word(WordOp::Binary(op, ..)) if op.commutes());
                let input = if op.operands.len() == 3 { [3, 1, 2][at] } else { at + 1 };
                let all = [(input < 3).then_some(0), (!commutes).then_some(input)];
                let most = if spreads {
                    machine.unit.values().nth(op.unit).map_or(1, |unit| unit.count.value).min(2)
                } else {
                    1
                };
                for way in all.into_iter().flatten().map(|port| n_kinds + PORTS * op.unit + port) {
                    if ways[from].iter().filter(|other| **other == way).count() < most {
                        ways[from].push(way);
                    }
                }
            }
        }
    }
    let also = |at: usize| ways[at].iter().map(|&way| (way, ops[at].latency)).collect();
    let operation = |(at, op): (usize, &KernelOp)| Operation { unit: Some(op.unit), busy: op.busy, also: also(at) };
    Problem { units, operations: ops.iter().enumerate().map(operation).collect(), dependences }
}

/// The bound of recurrences on the interval; where it may be near that of units, of both together.
pub fn bound_of_recurrences(problem: &Problem) -> usize {
    let rec_mii = problem.rec_mii();
    // Circles of which units do all in passing wait for their own operations alone.
    if 4 * rec_mii > problem.res_mii() { rec_mii.max(problem.rec_mii_of_units()) } else { rec_mii }
}

/// What sets a bound on the interval: a kind of unit, or the ports of its files.
pub fn name_of_bound(machine: &Machine, at: usize) -> String {
    let names: Vec<&String> = machine.unit.keys().collect();
    match names.get(at) {
        Some(name) => (*name).clone(),
        None => names.get((at - names.len()) / PORTS).map_or_else(String::new, |name| format!("results for {name}")),
    }
}

/// How often registers are looked for with more values in the scratchpad.
const ATTEMPTS: usize = 14;

/// The same of short code, which takes little time.
const ATTEMPTS_IN_TURN: usize = 20;

/// Steps of the interval, whether results have room at the ports of two units, and whose turn it is among operations that wait
/// equally long, in the order in which they are tried.
const TRIES: [(usize, bool, usize); 8] = [
    (0, true, 0),
    (0, false, 1),
    (0, true, 2),
    (1, false, 0),
    (2, false, 0),
    (1, true, 0),
    (3, false, 0),
    (4, true, 0),
];

/// What is tried of short code first.
const TURNS: [(usize, bool, usize); 12] = [
    (0, true, 0),
    (0, false, 1),
    (0, true, 1),
    (0, false, 2),
    (0, true, 2),
    (0, false, 3),
    (0, true, 3),
    (0, false, 4),
    (0, true, 4),
    (0, false, 5),
    (0, true, 5),
    (0, false, 6),
];

/// Words of code up to which it is short.
const SHORT: usize = 600;

/// Words of code of which fewer are tried.
const LONG: usize = 2500;

/// Operations that all attempts at moves look at, about, and these, at most.
const MOVED: usize = 25_000;
const MOST_MOVES: usize = 200;
const LEAST_MOVES: usize = 12;

/// Units and registers of scheduled operations; where results meet at ports, operations are moved within their slack as long as
/// that leaves fewer.
fn allocated(selected: &Selected, problem: &Problem, schedule: Schedule, machine: &Machine) -> (Schedule, Allocation) {
    let allocate = |schedule: &Schedule| registers::allocate(&selected.ops, selected.standing.len(), schedule, machine);
    let mut best = allocate(&schedule);
    let most = *machine.registers.words;
    // What has too few registers needs another schedule.
    if best.conflicts == 0 || best.words > most {
        return (schedule, best);
    }
    let key = |it: &Allocation| (it.words > most, it.conflicts, it.unrolled);
    let mut moves = Moves::new(problem, schedule);
    let mut next = numbers(1);
    let mut below = |n: usize| (next() % n as u128) as usize;
    for _ in 0..(MOVED / selected.ops.len().max(1)).clamp(LEAST_MOVES, MOST_MOVES) {
        if best.conflicts == 0 || best.meeting.is_empty() {
            break;
        }
        let at = best.meeting[below(best.meeting.len())];
        let Some(before) = moves.shift(at, &mut below) else { continue };
        let made = allocate(moves.schedule());
        if key(&made) <= key(&best) {
            best = made;
        } else {
            moves.undo(&before);
        }
    }
    (moves.schedule().clone(), best)
}

/// The kernel of placed code on a machine.
///
/// # Errors
///
/// Why there is none: an operation that the machine lacks, too few registers, too little microcode.
pub fn compile(placed: &Placed, machine: &Machine, scheduling: Scheduling) -> Result<Kernel, NoForm> {
    let mut spilled = Spilled::default();
    let registers = *machine.registers.words;
    let mut needed = 0;
    let mut microcode = 0;
    let mut why = String::new();
    // Longer intervals hold fewer values at once, and leave more room at ports.
    let mut longer = 0;
    let mut spreads = false;
    // What units ask for, without room that is only tried.
    let mut bound: Option<(usize, Vec<usize>)> = None;
    // Long code takes long, and what it lacks is rarely found by chance.
    let (attempts, tries) = match placed.code.len() {
        // One after the other there are no turns.
        _ if scheduling == Scheduling::List => (ATTEMPTS, vec![(0, true, 0)]),
        n if n <= SHORT => (ATTEMPTS_IN_TURN, [&TURNS[..], &TRIES[1..]].concat()),
        n if n <= LONG => (ATTEMPTS, TRIES.to_vec()),
        _ => (ATTEMPTS / 3, TRIES[..2].to_vec()),
    };
    // Where few are tried, long steps would go past what is enough.
    let step = if placed.code.len() > LONG { 56 } else { 32 };
    let mut order = tries.iter();
    let mut turn = 0;
    // Without overlap: too many values are held at once otherwise.
    let mut follows_chains = false;
    let mut best: Option<Kernel> = None;
    if let Some(most) = &machine.microcode_words {
        let selected = select(placed, machine, &spilled)?;
        let least = problem(&selected.ops, machine, false).res_mii();
        if least > most.value {
            let most = most.value;
            return Err(NoForm::new(format!(
                "it takes {least} words of microcode at least, of which there are {most}"
            )));
        }
    }
    for _ in 0..attempts {
        let selected = select(placed, machine, &spilled)?;
        let problem = problem(&selected.ops, machine, spreads);
        let latencies: Vec<usize> = selected.ops.iter().map(|op| op.latency).collect();
        let plain = match scheduling {
            Scheduling::List if follows_chains => list_units::following_chains(&problem, &latencies),
            Scheduling::List => list_units::shortest_of(&problem, &latencies),
            Scheduling::Modulo => list_units::one_after_the_other(&problem, &latencies),
        };
        let overhead = *machine.control.loop_overhead;
        let (res_mii, rec_mii) = (problem.res_mii(), bound_of_recurrences(&problem));
        let (least, bounds) = bound.get_or_insert_with(|| (res_mii, problem.bounds_of_units())).clone();
        let schedule = match scheduling {
            Scheduling::List => Schedule { ii: plain.ii + overhead, ..plain },
            // One after the other always has a schedule.
            Scheduling::Modulo => {
                let from = res_mii.max(rec_mii) + overhead + longer;
                // Recurrences are kept by what waits longest; where they leave room, chains hold less.
                let order = if 10 * rec_mii > 8 * res_mii { Order::Height } else { Order::DepthFirst };
                let whose = Whose { stages: 1, turn, order };
                match modulo::modulo_of(&problem, from, plain.ii + overhead, whose) {
                    Some(made) => made.schedule,
                    None => Schedule { ii: plain.ii + overhead, ..plain },
                }
            }
        };
        problem.verify(&schedule).map_err(|wrong| NoForm::new(format!("its schedule is wrong: {wrong}")))?;
        let (schedule, allocation) = allocated(&selected, &problem, schedule, machine);
        let max_live = problem.max_live(&schedule);
        needed = allocation.words;
        microcode = schedule.ii * allocation.unrolled;
        let fits_microcode = machine.microcode_words.as_ref().is_none_or(|most| microcode <= most.value);
        why = format!(
            "; {} results meet at ports, the interval is {} cycles, microcode {microcode} words",
            allocation.conflicts, schedule.ii
        );
        let conflicts = allocation.conflicts;
        if needed <= registers && fits_microcode {
            let kernel = Kernel {
                placed: placed.clone(),
                scheduling,
                bounds,
                ops: selected.ops,
                standing: selected.standing,
                spilled: selected.spilled,
                initial: selected.initial,
                schedule,
                res_mii: least,
                rec_mii,
                max_live,
                registers: allocation,
            };
            let key = |it: &Kernel| (it.registers.conflicts > 0, it.schedule.ii + it.registers.conflicts);
            let interval = kernel.schedule.ii;
            if best.as_ref().is_none_or(|best| key(&kernel) < key(best)) {
                best = Some(kernel);
            }
            // First the same interval with more room at ports, then longer ones.
            let is_good = conflicts == 0 && interval <= least.max(rec_mii) + overhead + longer;
            let Some(&(steps, more_room, whose)) = order.next() else { break };
            if is_good {
                break;
            }
            (longer, spreads, turn) = (steps * (1 + res_mii / 256), more_room, whose);
            continue;
        }
        if best.is_some() {
            break;
        }
        if needed <= registers {
            // The loop is unrolled for values that are held long.
            longer += 1 + res_mii / step;
            continue;
        }
        if scheduling == Scheduling::List && !std::mem::replace(&mut follows_chains, true) {
            continue;
        }
        // Standing values with the fewest readers go to the scratchpad, as far as there is room.
        let room =
            (machine.scratchpad_words().saturating_sub(placed.scratchpad_words) as usize).saturating_sub(spilled.len());
        let excess = (needed - registers).max(4);
        let mut n_readers = vec![0_usize; selected.standing.len()];
        for operand in selected.ops.iter().flat_map(|op| &op.operands) {
            if let Operand::Standing(at) = operand {
                n_readers[*at] += 1;
            }
        }
        // What a phase is given is another word for each record: nothing writes it to the scratchpad.
        let is_given = |at: &usize| matches!(placed.code.op(selected.standing[*at]), WordOp::Given(_));
        let mut order: Vec<usize> = (0..n_readers.len()).filter(|at| !is_given(at)).collect();
        order.sort_by_key(|&at| (n_readers[at], at));
        let more: Vec<WordId> = order.into_iter().take(excess.min(room)).map(|at| selected.standing[at]).collect();
        if more.is_empty() {
            longer += 1 + res_mii / step;
            continue;
        }
        for id in more {
            let at = placed.scratchpad_words + spilled.len() as u32;
            spilled.insert(id, at);
        }
    }
    // One after the other, iterations hold less at once, and the loop is not unrolled.
    let is_far = best
        .as_ref()
        .is_none_or(|best| best.schedule.ii > 2 * best.res_mii.max(best.rec_mii).max(1) || !best.spilled.is_empty());
    if scheduling == Scheduling::Modulo
        && is_far
        && let Ok(kernel) = compile(placed, machine, Scheduling::List)
        && best.as_ref().is_none_or(|best| kernel.schedule.ii < best.schedule.ii)
    {
        best = Some(kernel);
    }
    if let Some(kernel) = best {
        return Ok(kernel);
    }
    if let Some(most) = machine.microcode_words.as_ref().filter(|_| needed <= registers) {
        return Err(NoForm::new(format!("it takes {microcode} words of microcode, of which there are {}", most.value)));
    }
    Err(NoForm::new(format!("it needs {needed} registers in a cluster, of which there are {registers}{why}")))
}
