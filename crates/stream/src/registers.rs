//! Register allocation for distributed register files: which unit of its kind an operation runs on, which of its inputs reads
//! what, and the words of the local register files.
//!
//! Each input of a unit reads a file of its own, and a result is written to the files of all inputs that read it, when it is there.
//! So few results may come into a file in a cycle, and a file is small: units and the order of operands are chosen for that, first
//! along the schedule, then by repairs where too many results meet. Where a value is held longer than an interval it needs a word
//! for each iteration that overlaps, and the loop is unrolled as often (*modulo variable expansion*, Lam 1988).

use crate::kernel::{KernelOp, Operand, What};
use crate::machine::Machine;
use crate::words::WordOp;
use headrace_scheduling::cyclic::Schedule;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A local register file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOfInput {
    /// What listings call it.
    pub name: String,
    /// Its words.
    pub words: usize,
}

/// Units and registers of all operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// The files.
    pub files: Vec<FileOfInput>,
    /// For each operation which unit of its kind it runs on.
    pub units: Vec<usize>,
    /// For each operation the file of each operand, in the order of the operands.
    pub reads: Vec<Vec<usize>>,
    /// For each operation the files that its result is written to, each with a word for each copy of the loop.
    pub results: Vec<BTreeMap<usize, Vec<usize>>>,
    /// For each standing value the files that have it, each with its word.
    pub standing: Vec<BTreeMap<usize, usize>>,
    /// How often the loop is unrolled.
    pub unrolled: usize,
    /// Words of all files that are used.
    pub words: usize,
    /// Words beyond those of their files.
    pub overflow: usize,
    /// Results that come into a file in the same cycle as another, beyond its ports.
    pub conflicts: usize,
    /// The operations that such results come from, and those that they meet.
    pub meeting: Vec<usize>,
}

impl Allocation {
    /// Whether everything has a place.
    pub fn is_complete(&self) -> bool {
        self.overflow == 0 && self.conflicts == 0
    }
}

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Value {
    Standing(usize),
    Result(usize),
}

struct Search<'a> {
    ops: &'a [KernelOp],
    schedule: &'a Schedule,
    /// For each kind of unit, of each unit of it, the files of its inputs.
    inputs: Vec<Vec<Vec<usize>>>,
    files: Vec<FileOfInput>,
    ports: usize,
    units: Vec<usize>,
    swapped: Vec<bool>,
    /// How many operands read a value from a file.
    uses: FxHashMap<(usize, Value), u32>,
    /// Results that come into each file in each cycle of the interval.
    writes: Vec<Vec<u16>>,
    /// Values in each file.
    held: Vec<usize>,
    conflicts: usize,
    /// What a value costs that another file has already.
    copy: usize,
}

impl Search<'_> {
    /// The file that each operand reads, for a unit and an order.
    fn files_of(&self, op: usize, unit: usize, swapped: bool) -> Vec<usize> {
        let inputs = &self.inputs[self.ops[op].unit][unit];
        let n = self.ops[op].operands.len();
        // The first operand of a choice decides.
        let shift = usize::from(n == 3 && inputs.len() >= 3);
        (0..n)
            .map(|at| {
                let at = if n == 3 && shift == 1 { (at + 2) % 3 } else { at };
                let at = if swapped && at < 2 { 1 - at } else { at };
                inputs.get(at).or(inputs.last()).copied().unwrap_or(0)
            })
            .collect()
    }

    fn value(operand: &Operand) -> Value {
        match *operand {
            Operand::Standing(at) => Value::Standing(at),
            Operand::Result { op, .. } => Value::Result(op),
        }
    }

    fn arrival(&self, op: usize) -> usize {
        (self.schedule.begins[op] + self.ops[op].latency) % self.schedule.ii
    }

    fn add(&mut self, op: usize) {
        for (operand, file) in self.ops[op].operands.iter().zip(self.files_of(op, self.units[op], self.swapped[op])) {
            let value = Self::value(operand);
            let uses = self.uses.entry((file, value)).or_insert(0);
            *uses += 1;
            if *uses > 1 {
                continue;
            }
            self.held[file] += 1;
            if let Value::Result(from) = value {
                let cycle = self.arrival(from);
                self.writes[file][cycle] += 1;
                self.conflicts += usize::from(usize::from(self.writes[file][cycle]) > self.ports);
            }
        }
    }

    fn remove(&mut self, op: usize) {
        for (operand, file) in self.ops[op].operands.iter().zip(self.files_of(op, self.units[op], self.swapped[op])) {
            let value = Self::value(operand);
            let Some(uses) = self.uses.get_mut(&(file, value)) else { continue };
            *uses -= 1;
            if *uses > 0 {
                continue;
            }
            self.uses.remove(&(file, value));
            self.held[file] -= 1;
            if let Value::Result(from) = value {
                let cycle = self.arrival(from);
                self.conflicts -= usize::from(usize::from(self.writes[file][cycle]) > self.ports);
                self.writes[file][cycle] -= 1;
            }
        }
    }

    /// What adding an operation costs.
    fn cost(&self, op: usize, unit: usize, swapped: bool) -> usize {
        let mut cost = 0;
        for (operand, file) in self.ops[op].operands.iter().zip(self.files_of(op, unit, swapped)) {
            let value = Self::value(operand);
            if self.uses.contains_key(&(file, value)) {
                continue;
            }
            let words = self.files[file].words.max(1);
            cost += self.copy + 40 * self.held[file] / words;
            if let Value::Result(from) = value
                && usize::from(self.writes[file][self.arrival(from)]) >= self.ports
            {
                cost += 1000;
            }
        }
        cost
    }

    fn commutes(&self, op: usize) -> bool {
        matches!(&self.ops[op].what, What::Word(WordOp::Binary(op, ..)) if op.commutes())
    }
}

/// Rounds of repairs, and operations that are looked at in them, at most.
const ROUNDS: usize = 60;
const LEAST_ROUNDS: usize = 5;
const LOOKS: usize = 25_000;

/// Units and registers for scheduled operations.
pub fn allocate(ops: &[KernelOp], n_standing: usize, schedule: &Schedule, machine: &Machine) -> Allocation {
    let mut files = Vec::new();
    let mut inputs = Vec::new();
    let has_files = machine.unit.values().any(|unit| unit.files.is_some());
    if !has_files {
        files.push(FileOfInput { name: "R".into(), words: *machine.registers.words });
    }
    for (name, unit) in &machine.unit {
        let mut of_kind = Vec::new();
        for number in 0..*unit.count {
            let mut of_unit = Vec::new();
            match &unit.files {
                Some(words) => {
                    for (input, &words) in words.iter().enumerate() {
                        of_unit.push(files.len());
                        files.push(FileOfInput { name: format!("{name}{number}.{input}"), words });
                    }
                }
                None if !has_files => of_unit.push(0),
                None => {}
            }
            of_kind.push(of_unit);
        }
        inputs.push(of_kind);
    }
    let ports = machine.registers.write_ports.as_ref().map_or(usize::MAX >> 1, |ports| ports.value);
    let mut best: Option<Allocation> = None;
    for attempt in 0..(STARTS / ops.len().max(1)).clamp(LEAST_STARTS, MOST_STARTS) {
        let found = search(ops, n_standing, schedule, &files, &inputs, ports, attempt as u64);
        let key =
            |it: &Allocation| (it.conflicts, it.words.saturating_sub(*machine.registers.words), it.overflow, it.words);
        let is_enough = found.conflicts == 0 && found.words <= *machine.registers.words;
        if best.as_ref().is_none_or(|best| key(&found) < key(best)) {
            best = Some(found);
        }
        if is_enough {
            break;
        }
    }
    best.unwrap_or_default()
}

/// Operations that all searches of a kernel look at, about, and the searches: the first without chance, others with some.
const STARTS: usize = 2000;
const LEAST_STARTS: usize = 1;
const MOST_STARTS: usize = 4;

/// One search: units along the schedule, then repairs, then words.
fn search(
    ops: &[KernelOp],
    n_standing: usize,
    schedule: &Schedule,
    files: &[FileOfInput],
    inputs: &[Vec<Vec<usize>>],
    ports: usize,
    seed: u64,
) -> Allocation {
    let n_files = files.len();
    let mut search = Search {
        ops,
        schedule,
        inputs: inputs.to_vec(),
        files: files.to_vec(),
        ports,
        units: vec![0; ops.len()],
        swapped: vec![false; ops.len()],
        uses: FxHashMap::default(),
        writes: vec![vec![0; schedule.ii]; n_files],
        held: vec![0; n_files],
        conflicts: 0,
        copy: if seed % 2 == 1 { 60 } else { 8 },
    };
    let mut state = seed;
    let mut chance = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed < 2 { 0 } else { (state >> 33) as usize % 30 }
    };
    let ii = schedule.ii;
    // Operations that keep each unit busy in each cycle of the interval.
    let mut busy: Vec<Vec<Vec<Option<usize>>>> =
        search.inputs.iter().map(|kind| vec![vec![None; ii]; kind.len()]).collect();
    let mut order: Vec<usize> = (0..ops.len()).collect();
    // Those that keep a unit longest go first: others find place around them.
    order.sort_by_key(|&at| (std::cmp::Reverse(ops[at].busy), schedule.begins[at], at));
    for op in order {
        let cycles = |at: usize| (schedule.begins[op] + at) % ii;
        let n = ops[op].busy.max(1);
        let free = (0..busy[ops[op].unit].len())
            .filter(|&unit| (0..n).all(|at| busy[ops[op].unit][unit][cycles(at)].is_none()));
        let ways = free.flat_map(|unit| [(unit, false), (unit, true)]).filter(|way| !way.1 || search.commutes(op));
        let best = ways.min_by_key(|&(unit, swapped)| (search.cost(op, unit, swapped) + chance(), unit, swapped));
        // A unit that is busy in several cycles may find none of its kind free in all of them: it counts as a conflict.
        let (unit, swapped) = best.unwrap_or_else(|| {
            search.conflicts += 1;
            (0, false)
        });
        for at in 0..n {
            busy[ops[op].unit][unit][cycles(at)] = Some(op);
        }
        (search.units[op], search.swapped[op]) = (unit, swapped);
        search.add(op);
    }
    repair(&mut search, &mut busy);
    color(&search, n_standing)
}

/// Moves operations to other units of their kind, or exchanges two, where that leaves fewer results that meet.
fn repair(search: &mut Search<'_>, busy: &mut [Vec<Vec<Option<usize>>>]) {
    let ii = search.schedule.ii;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..(LOOKS / search.ops.len().max(1)).clamp(LEAST_ROUNDS, ROUNDS) {
        if search.conflicts == 0 {
            return;
        }
        // Operations that read a value where it meets another.
        let meets = |search: &Search<'_>, op: usize| {
            let files = search.files_of(op, search.units[op], search.swapped[op]);
            search.ops[op].operands.iter().zip(files).any(|(operand, file)| match Search::value(operand) {
                Value::Result(from) => usize::from(search.writes[file][search.arrival(from)]) > search.ports,
                Value::Standing(_) => false,
            })
        };
        let all: Vec<usize> = (0..search.ops.len()).filter(|&op| meets(search, op)).collect();
        if all.is_empty() {
            return;
        }
        for op in all {
            if !meets(search, op) {
                continue;
            }
            let kind = search.ops[op].unit;
            let is_short = |op: usize| search.ops[op].busy <= 1;
            let cycle = search.schedule.begins[op] % ii;
            let before = search.conflicts;
            let (own_unit, own_swapped) = (search.units[op], search.swapped[op]);
            let mut best = (before, usize::MAX, own_unit, own_swapped, false);
            search.remove(op);
            for (unit, cycles) in busy[kind].iter().enumerate() {
                let other = cycles[cycle].filter(|&other| other != op);
                if unit != own_unit && (!is_short(op) || other.is_some_and(|other| !is_short(other))) {
                    continue;
                }
                if let Some(other) = other {
                    search.remove(other);
                }
                let own_ways: &[bool] = if search.commutes(op) { &[false, true] } else { &[false] };
                for &swapped in own_ways {
                    (search.units[op], search.swapped[op]) = (unit, swapped);
                    search.add(op);
                    let other_ways: &[bool] =
                        if other.is_some_and(|other| search.commutes(other)) { &[false, true] } else { &[false] };
                    for &other_swapped in other_ways {
                        let mut kept = (0, false);
                        if let Some(other) = other {
                            kept = (search.units[other], search.swapped[other]);
                            (search.units[other], search.swapped[other]) = (own_unit, other_swapped);
                            search.add(other);
                        }
                        // Of equal ones any, so that the next round begins elsewhere.
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let chance = (state >> 40) as usize;
                        if (search.conflicts, chance) < (best.0, best.1) {
                            best = (search.conflicts, chance, unit, swapped, other_swapped);
                        }
                        if let Some(other) = other {
                            search.remove(other);
                            (search.units[other], search.swapped[other]) = kept;
                        }
                    }
                    search.remove(op);
                }
                if let Some(other) = other {
                    search.add(other);
                }
            }
            let (_, _, unit, swapped, other_swapped) = best;
            if unit != own_unit
                && let Some(other) = busy[kind][unit][cycle]
            {
                search.remove(other);
                (search.units[other], search.swapped[other]) = (own_unit, other_swapped);
                search.add(other);
                busy[kind][own_unit][cycle] = Some(other);
                busy[kind][unit][cycle] = Some(op);
            } else if unit != own_unit {
                busy[kind][own_unit][cycle] = None;
                busy[kind][unit][cycle] = Some(op);
            }
            (search.units[op], search.swapped[op]) = (unit, swapped);
            search.add(op);
        }
    }
}

/// Words for all values of all files.
fn color(search: &Search<'_>, n_standing: usize) -> Allocation {
    let (ops, schedule, ii) = (search.ops, search.schedule, search.schedule.ii);
    let reads: Vec<Vec<usize>> =
        (0..ops.len()).map(|op| search.files_of(op, search.units[op], search.swapped[op])).collect();
    // Until when each file holds each result.
    let mut ends: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut standing: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); n_standing];
    let mut n_words = vec![0; search.files.len()];
    for (at, op) in ops.iter().enumerate() {
        for (operand, &file) in op.operands.iter().zip(&reads[at]) {
            match *operand {
                Operand::Standing(value) => {
                    standing[value].entry(file).or_insert_with(|| {
                        n_words[file] += 1;
                        n_words[file] - 1
                    });
                }
                Operand::Result { op, distance } => {
                    let end = ends.entry((op, file)).or_insert(0);
                    *end = (*end).max(schedule.begins[at] + distance * ii);
                }
            }
        }
    }
    let begin = |op: usize| schedule.begins[op] + ops[op].latency;
    let unrolled = ends.iter().map(|(&(op, _), &end)| (end - begin(op)) / ii + 1).max().unwrap_or(1);
    let period = ii * unrolled;
    let mut results: Vec<BTreeMap<usize, Vec<usize>>> = vec![BTreeMap::new(); ops.len()];
    // Words of each file in each cycle of the unrolled loop that are taken.
    let mut taken: Vec<Vec<Vec<bool>>> = vec![Vec::new(); search.files.len()];
    let mut arcs: Vec<(usize, usize, usize, usize)> = Vec::new();
    for (&(op, file), &end) in &ends {
        for copy in 0..unrolled {
            arcs.push(((begin(op) + copy * ii) % period, end - begin(op) + 1, op, copy * search.files.len() + file));
        }
    }
    arcs.sort_unstable_by_key(|&(begin, length, op, at)| (std::cmp::Reverse(length), begin, op, at));
    for (begin, length, op, at) in arcs {
        let (copy, file) = (at / search.files.len(), at % search.files.len());
        let cycles = || (begin..begin + length).map(|cycle| cycle % period);
        let word = match taken[file].iter().position(|word| cycles().all(|cycle| !word[cycle])) {
            Some(word) => word,
            None => {
                taken[file].push(vec![false; period]);
                taken[file].len() - 1
            }
        };
        cycles().for_each(|cycle| taken[file][word][cycle] = true);
        results[op].entry(file).or_insert_with(|| vec![0; unrolled])[copy] = n_words[file] + word;
    }
    let used: Vec<usize> = n_words.iter().zip(&taken).map(|(standing, taken)| standing + taken.len()).collect();
    let meets = |&(file, value): &(usize, Value)| match value {
        Value::Result(from) => (usize::from(search.writes[file][search.arrival(from)]) > search.ports).then_some(from),
        Value::Standing(_) => None,
    };
    let mut meeting: Vec<usize> = search.uses.keys().filter_map(meets).collect();
    meeting.sort_unstable();
    meeting.dedup();
    Allocation {
        meeting,
        files: search.files.clone(),
        units: search.units.clone(),
        reads,
        results,
        standing,
        unrolled,
        words: used.iter().sum(),
        overflow: used.iter().zip(&search.files).map(|(used, file)| used.saturating_sub(file.words)).sum(),
        conflicts: search.conflicts,
    }
}
