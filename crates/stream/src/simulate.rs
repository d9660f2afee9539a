//! Cycle-level simulation of kernels with their values: in each cycle operations begin, read registers, and results arrive in
//! others. Nothing is known here of the code that a kernel was made of, but what its operations do.
//!
//! Registers are those of the allocation. A value that is read too late, or a register that two values have at once, gives wrong
//! results here, as on the machine. Ports of register files are not looked at: what meets at them is counted with the allocation.

use crate::kernel::{Kernel, Operand, What};
use crate::machine::Machine;
use crate::place::Place;
use crate::words::{BITS, First, Held, TableSource, WordCode, WordOp, places};
use headrace_kernel::evaluate::{Environment, values};
use headrace_kernel::{Loop, ObjectId};

/// What a kernel works on.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Words of each input stream, record after record. In independent records cluster `c` has record `i * C + c` in iteration `i`;
    /// where clusters have channels, those of all channels lie in turns.
    pub streams: Vec<Vec<u32>>,
    /// Records.
    pub records: usize,
    /// Elements of the loop's objects, for each cluster or for all of them.
    pub objects: Vec<Vec<Vec<u128>>>,
    /// What the phase before handed on, in each cluster: [`crate::words::WordOp::Given`].
    pub given: Vec<Vec<u32>>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Words of each output stream.
    pub streams: Vec<Vec<u32>>,
    /// Cycles from the first operation to the last result.
    pub cycles: u64,
    /// Operations that ran, in all clusters.
    pub operations: u64,
    /// Words that operations read from and wrote to local register files, in all clusters.
    pub register_words: u64,
    /// For each carried word what it is after the last iteration, in each cluster; empty where nobody knows.
    pub carried: Vec<Vec<u32>>,
}

/// What went wrong: a mistake of the compiler, not of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// A word of elements that lie several in a word.
pub fn packed(elements: &[u128], bits: u32, word: u32, big_endian: bool) -> u32 {
    let all = elements.len() as u64;
    let n = u64::from(crate::words::per_word(bits));
    let first = if n == 1 { u64::from(word / bits.div_ceil(BITS)) } else { u64::from(word) * n };
    let mut value = 0;
    for at in first..(first + n).min(all) {
        let mut below = 0;
        for (place, lo, width) in places(bits, at, all, big_endian) {
            if place == word {
                let mask = if width >= BITS { u32::MAX } else { (1 << width) - 1 };
                value |= ((elements[at as usize] >> below) as u32 & mask) << lo;
            }
            below += width;
        }
    }
    value
}

struct Objects<'a>(&'a [Vec<u128>]);

impl Environment for Objects<'_> {
    fn input(&self, _port: u32, _offset: i64) -> u128 {
        0
    }

    fn entry(&self, object: ObjectId, index: u128) -> u128 {
        self.0.get(object.0 as usize).and_then(|elements| elements.get(index as usize)).copied().unwrap_or(0)
    }
}

/// Where words of a code come from when a kernel begins.
struct Beginning<'a> {
    body: &'a Loop,
    code: &'a WordCode,
    data: &'a Data,
    clusters: usize,
    big_endian: bool,
    /// Whether clusters have channels.
    channels: bool,
}

impl Beginning<'_> {
    fn objects(&self, cluster: usize) -> &[Vec<u128>] {
        &self.data.objects[cluster.min(self.data.objects.len() - 1)]
    }

    fn given(&self, at: u32, cluster: usize) -> u32 {
        self.data.given.get(at as usize).and_then(|words| words.get(cluster)).copied().unwrap_or(0)
    }

    fn held(&self, held: Held, cluster: usize) -> u32 {
        let object = held.object as usize;
        packed(&self.objects(cluster)[object], self.body.objects[object].width, held.word, self.big_endian)
    }

    fn first(&self, first: &First, cluster: usize) -> u32 {
        match *first {
            First::Elements { object, word } => self.held(Held { object, word }, cluster),
            First::Element { object, index, word } => {
                (self.objects(cluster)[object as usize][index] >> (BITS * word)) as u32
            }
            First::Counter { counter, word } => {
                let of = &self.body.counters[counter];
                let start = values(&self.body.graph, &[of.start], &Objects(self.objects(cluster)))[&of.start];
                let ahead = if self.channels { 0 } else { cluster as u128 };
                let width = self.body.graph.width(of.start);
                let start = start.wrapping_add(of.step.wrapping_mul(ahead)) & headrace_kernel::graph::mask(width);
                (start >> (BITS * word)) as u32
            }
            First::Given(at) => self.given(at, cluster),
            First::Nothing => 0,
        }
    }

    fn table(&self, table: u32, cluster: usize) -> Vec<u32> {
        let of = &self.code.tables[table as usize];
        let mask = if of.bits >= BITS { u32::MAX } else { (1 << of.bits) - 1 };
        match &of.source {
            TableSource::Constant(elements) => elements.to_vec(),
            TableSource::Object { object, lo } => {
                self.objects(cluster)[*object as usize].iter().map(|element| (element >> lo) as u32 & mask).collect()
            }
        }
    }

    /// What no iteration changes, in each cluster: for each word of the code, where it is known.
    fn invariants(&self) -> Vec<Vec<u32>> {
        let is_invariant = self.code.invariants();
        let tables: Vec<Vec<Vec<u32>>> = (0..self.clusters)
            .map(|cluster| (0..self.code.tables.len()).map(|table| self.table(table as u32, cluster)).collect())
            .collect();
        let mut all: Vec<Vec<u32>> = Vec::with_capacity(self.code.len());
        for (at, is_invariant) in is_invariant.into_iter().enumerate() {
            let is_given = matches!(self.code.op(crate::words::WordId(at as u32)), WordOp::Given(_));
            if !is_invariant && !is_given {
                all.push(Vec::new());
                continue;
            }
            let op = self.code.op(crate::words::WordId(at as u32));
            let of = |id: &crate::words::WordId, cluster: usize| all[id.index()][cluster];
            let value = |cluster: usize| match op {
                WordOp::Const(value) => *value,
                WordOp::Cluster => cluster as u32,
                WordOp::Given(at) => self.given(*at, cluster),
                WordOp::Held(held) => self.held(self.code.held[*held as usize], cluster),
                WordOp::Binary(op, a, b) => op.apply(of(a, cluster), of(b, cluster)),
                WordOp::Select(c, a, b) => of(if of(c, cluster) != 0 { a } else { b }, cluster),
                WordOp::Lookup { table, index }
                | WordOp::Indexed { table, index }
                | WordOp::Gather { table, index } => {
                    tables[cluster][*table as usize].get(of(index, cluster) as usize).copied().unwrap_or(0)
                }
                WordOp::Broadcast { value, from } => of(value, *from as usize),
                WordOp::Permute { value, lane } => of(value, of(lane, cluster) as usize % self.clusters),
                WordOp::Scratchpad { .. } | WordOp::Read { .. } | WordOp::Carried(_) => 0,
            };
            all.push((0..self.clusters).map(value).collect());
        }
        all
    }
}

/// What is carried into the first record, for each carried word of a code, in each cluster.
pub(crate) fn firsts(code: &WordCode, machine: &Machine, body: &Loop, data: &Data, channels: bool) -> Vec<Vec<u32>> {
    let clusters = *machine.clusters as usize;
    let big_endian = code.inputs.iter().chain(&code.outputs).next().is_none_or(|stream| stream.big_endian);
    let beginning = Beginning { body, code, data, clusters, big_endian, channels };
    let first = |one: &crate::words::Carried| (0..clusters).map(|at| beginning.first(&one.first, at)).collect();
    code.carried.iter().map(first).collect()
}

/// An operation as it runs.
struct Running {
    op: usize,
    begin: usize,
    latency: usize,
    /// For each operand, for each copy of the loop, where its words begin.
    operands: Vec<Vec<usize>>,
    distances: Vec<usize>,
    /// For each copy of the loop the places that its result goes to.
    results: Vec<Vec<usize>>,
}

/// Runs a kernel of a loop.
///
/// # Errors
///
/// Where results meet at the ports of a file.
pub fn run(kernel: &Kernel, machine: &Machine, body: &Loop, data: &Data, channels: bool) -> Result<Outcome, Fault> {
    let clusters = *machine.clusters as usize;
    let code = &kernel.placed.code;
    let big_endian = code.inputs.iter().chain(&code.outputs).next().is_none_or(|stream| stream.big_endian);
    let beginning = Beginning { body, code, data, clusters, big_endian, channels };
    let invariants = beginning.invariants();
    let tables: Vec<Vec<Vec<u32>>> = (0..clusters)
        .map(|cluster| (0..code.tables.len()).map(|at| beginning.table(at as u32, cluster)).collect())
        .collect();

    // Scratchpads.
    let n_scratchpad = (machine.scratchpad_words() as usize).max(1);
    let mut scratchpads = vec![vec![0_u32; n_scratchpad]; clusters];
    for (table, place) in kernel.placed.places.iter().enumerate() {
        for (cluster, scratchpad) in scratchpads.iter_mut().enumerate() {
            for (at, &element) in tables[cluster][table].iter().enumerate() {
                match *place {
                    Place::Scratchpad { base, lo } => scratchpad[base as usize + at] |= element << lo,
                    Place::Spread { base } if at % clusters == cluster => {
                        scratchpad[base as usize + at / clusters] = element
                    }
                    Place::Spread { .. } | Place::StreamRegisters | Place::Memory => {}
                }
            }
        }
    }
    for &(at, word) in &kernel.spilled {
        for (cluster, scratchpad) in scratchpads.iter_mut().enumerate() {
            scratchpad[at as usize] = invariants[word.index()][cluster];
        }
    }

    // Registers: all words of all files one after the other, of each word all clusters.
    let allocation = &kernel.registers;
    let (ii, copies) = (kernel.schedule.ii, allocation.unrolled);
    let mut sizes: Vec<usize> = vec![0; allocation.files.len()];
    let mut grow = |file: usize, word: usize| sizes[file] = sizes[file].max(word + 1);
    allocation.standing.iter().flatten().for_each(|(&file, &word)| grow(file, word));
    allocation.results.iter().flatten().for_each(|(&file, words)| words.iter().for_each(|&word| grow(file, word)));
    let bases: Vec<usize> = sizes
        .iter()
        .scan(0, |sum, size| {
            let base = *sum;
            *sum += size;
            Some(base)
        })
        .collect();
    let n_registers: usize = sizes.iter().sum();
    let mut registers = vec![0_u32; n_registers * clusters];
    let place = |file: usize, word: usize| (bases[file] + word) * clusters;
    for (at, files) in allocation.standing.iter().enumerate() {
        for (&file, &word) in files {
            let to = place(file, word);
            registers[to..to + clusters].copy_from_slice(&invariants[kernel.standing[at].index()]);
        }
    }

    let longest = kernel.ops.iter().map(|op| op.latency).max().unwrap_or(0) + 2;
    // Results under way, by the cycle in which they arrive.
    let mut arriving: Vec<Vec<(usize, usize)>> = vec![Vec::new(); longest.next_power_of_two()];
    let ring = arriving.len();
    let mut values_under_way: Vec<u32> = Vec::new();
    let mut free: Vec<usize> = Vec::new();

    // What is carried into the first iterations.
    let mut late: Vec<(i64, usize, Vec<u32>)> = Vec::new();
    for (&(op, before), &carried) in &kernel.initial {
        let first: Vec<u32> =
            (0..clusters).map(|cluster| beginning.first(&code.carried[carried].first, cluster)).collect();
        let arrives = (kernel.schedule.begins[op] + kernel.ops[op].latency) as i64 - (before * ii) as i64;
        let copy = (copies - before % copies) % copies;
        for (&file, words) in &allocation.results[op] {
            late.push((arrives, place(file, words[copy]), first.clone()));
        }
    }
    late.sort_by_key(|one| one.0);
    let n_early = late.partition_point(|one| one.0 <= 0);
    for (_, to, first) in &late[..n_early] {
        registers[*to..to + clusters].copy_from_slice(first);
    }
    let mut late = late.into_iter().skip(n_early).peekable();

    // Operations by the cycle of the interval in which they begin.
    let mut slots: Vec<Vec<Running>> = (0..ii).map(|_| Vec::new()).collect();
    for (at, op) in kernel.ops.iter().enumerate() {
        let operands = op.operands.iter().zip(&allocation.reads[at]).map(|(operand, &file)| match *operand {
            Operand::Standing(value) => vec![place(file, allocation.standing[value][&file])],
            Operand::Result { op, .. } => allocation.results[op][&file].iter().map(|&word| place(file, word)).collect(),
        });
        let distances = op.operands.iter().map(|operand| match *operand {
            Operand::Standing(_) => 0,
            Operand::Result { distance, .. } => distance,
        });
        let results = (0..copies)
            .map(|copy| allocation.results[at].iter().map(|(&file, words)| place(file, words[copy])).collect());
        let begin = kernel.schedule.begins[at];
        slots[begin % ii].push(Running {
            op: at,
            begin,
            latency: op.latency,
            operands: operands.collect(),
            distances: distances.collect(),
            results: results.collect(),
        });
    }

    let mut outcome = Outcome {
        streams: code.outputs.iter().map(|stream| vec![0; stream.words as usize * data.records]).collect(),
        carried: vec![Vec::new(); code.carried.len()],
        ..Outcome::default()
    };
    let iterations = data.records.div_ceil(clusters);
    // Results of the last iteration that what is carried comes from.
    let mut wanted = vec![false; kernel.ops.len()];
    let mut of_carried: Vec<Option<usize>> = vec![None; code.carried.len()];
    for (at, one) in code.carried.iter().enumerate() {
        let what = code.op(one.next);
        let op = kernel.ops.iter().position(|op| matches!(&op.what, What::Word(word) if word == what));
        if let Some(op) = op {
            (wanted[op], of_carried[at]) = (true, Some(op));
        }
    }
    let mut last = vec![Vec::new(); kernel.ops.len()];
    if iterations == 0 {
        return Ok(outcome);
    }
    let end = (iterations - 1) * ii + kernel.length();
    let mut result = vec![0_u32; clusters];
    for cycle in 0..end {
        while late.peek().is_some_and(|one| one.0 == cycle as i64) {
            if let Some((_, to, first)) = late.next() {
                registers[to..to + clusters].copy_from_slice(&first);
            }
        }
        let now = std::mem::take(&mut arriving[cycle % ring]);
        for &(to, from) in &now {
            registers[to..to + clusters].copy_from_slice(&values_under_way[from..from + clusters]);
        }
        if let Some(&(_, from)) = now.first() {
            free.push(from);
        }
        // Several results arrive at once: each has a place of its own.
        let mut seen = now.first().map_or(usize::MAX, |one| one.1);
        for &(_, from) in now.iter().skip(1) {
            if from != seen {
                free.push(from);
                seen = from;
            }
        }
        for running in &slots[cycle % ii] {
            if cycle < running.begin {
                continue;
            }
            let iteration = (cycle - running.begin) / ii;
            if iteration >= iterations {
                continue;
            }
            let copy = iteration % copies;
            let operand = |at: usize| {
                let places = &running.operands[at];
                match places.len() {
                    1 => places[0],
                    n => places[(iteration + n * running.distances[at] - running.distances[at]) % n],
                }
            };
            outcome.operations += clusters as u64;
            outcome.register_words += ((running.operands.len() + running.results[copy].len()) * clusters) as u64;
            let record = iteration * clusters;
            match &kernel.ops[running.op].what {
                What::Write { stream, word } => {
                    let from = operand(0);
                    let words = code.outputs[*stream as usize].words as usize;
                    let out = &mut outcome.streams[*stream as usize];
                    for cluster in 0..clusters.min(data.records - record) {
                        out[(record + cluster) * words + *word as usize] = registers[from + cluster];
                    }
                    continue;
                }
                What::Move => {
                    let from = operand(0);
                    result.copy_from_slice(&registers[from..from + clusters]);
                }
                What::Word(op) => match op {
                    WordOp::Binary(op, ..) => {
                        let (a, b) = (operand(0), operand(1));
                        let (a, b) = (&registers[a..a + clusters], &registers[b..b + clusters]);
                        result.iter_mut().zip(a.iter().zip(b)).for_each(|(result, (&a, &b))| *result = op.apply(a, b));
                    }
                    WordOp::Select(..) => {
                        let [c, a, b] = [operand(0), operand(1), operand(2)];
                        for (cluster, result) in result.iter_mut().enumerate() {
                            *result = registers[if registers[c + cluster] != 0 { a } else { b } + cluster];
                        }
                    }
                    WordOp::Read { stream, word } => {
                        let words = code.inputs[*stream as usize].words as usize;
                        let tokens = &data.streams[*stream as usize];
                        for (cluster, result) in result.iter_mut().enumerate() {
                            *result = tokens.get((record + cluster) * words + *word as usize).copied().unwrap_or(0);
                        }
                    }
                    WordOp::Scratchpad { base, index } => {
                        let from = index.map(|_| operand(0));
                        for (cluster, result) in result.iter_mut().enumerate() {
                            let index = from.map_or(0, |from| registers[from + cluster]);
                            let at = base.wrapping_add(index) as usize;
                            *result = scratchpads[cluster].get(at).copied().unwrap_or(0);
                        }
                    }
                    WordOp::Indexed { table, .. } | WordOp::Gather { table, .. } | WordOp::Lookup { table, .. } => {
                        let from = operand(0);
                        for (cluster, result) in result.iter_mut().enumerate() {
                            let at = registers[from + cluster] as usize;
                            *result = tables[cluster][*table as usize].get(at).copied().unwrap_or(0);
                        }
                    }
                    WordOp::Broadcast { from: cluster, .. } => {
                        let from = operand(0);
                        result.fill(registers[from + *cluster as usize]);
                    }
                    WordOp::Permute { .. } => {
                        let (from, lane) = (operand(0), operand(1));
                        for (cluster, result) in result.iter_mut().enumerate() {
                            *result = registers[from + registers[lane + cluster] as usize % clusters];
                        }
                    }
                    WordOp::Const(_) | WordOp::Cluster | WordOp::Held(_) | WordOp::Given(_) | WordOp::Carried(_) => {}
                },
            }
            if wanted[running.op] && iteration + 1 == iterations {
                last[running.op].clone_from(&result);
            }
            let from = free.pop().unwrap_or_else(|| {
                values_under_way.resize(values_under_way.len() + clusters, 0);
                values_under_way.len() - clusters
            });
            values_under_way[from..from + clusters].copy_from_slice(&result);
            let arrival = &mut arriving[(cycle + running.latency) % ring];
            if running.results[copy].is_empty() {
                free.push(from);
            }
            arrival.extend(running.results[copy].iter().map(|&to| (to, from)));
        }
    }
    outcome.cycles = end as u64;
    for (carried, op) in outcome.carried.iter_mut().zip(of_carried) {
        if let Some(op) = op {
            carried.clone_from(&last[op]);
        }
    }
    Ok(outcome)
}
