//! Code generation on measured costs: what each processor of a design does, cycle by cycle, with values.
//!
//! How the cycles of a task fall to reading, computing and writing, the machine's costs say ([`crate::machine::Cost`]); which
//! word goes when over which link follows from the design. Words come out of a FIFO in the order in which they went in: a
//! reader that needs another first keeps what is before it.

use crate::design::{Design, Source};
use crate::isa::lower::table_words;
use crate::machine::{Cost, Emit, Machine};
use crate::mapping::Problem;
use crate::simulate::{Channel, Compute, How, OutsideWord, Program, Setup, Step};
use crate::tasks::{From, Task, Wire};
use crate::values::{Id, Op, TaskId};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A word of a value: which message of the period, which value, which part of it.
pub(crate) type Word = (u32, Id, u32);

/// What comes to a processor over its links, and how far that has been taken.
#[derive(Clone)]
pub(crate) struct Arrivals {
    core: usize,
    /// The link from each source.
    pub links: BTreeMap<Source, usize>,
    /// What other processors send and nobody has taken yet, by link.
    pub pending: BTreeMap<usize, VecDeque<Word>>,
    /// Links with words that have been taken.
    pub taken: BTreeSet<(usize, Word)>,
    /// Words that came from outside, by link.
    pub outside: BTreeMap<usize, Vec<Word>>,
}

impl Arrivals {
    /// Those of a processor, before anything is taken.
    pub fn of(links: &Links, core: usize) -> Self {
        let own = links.by_ends.iter().filter(|((_, to), _)| *to == core);
        let own: BTreeMap<Source, usize> = own.map(|(&(source, _), &link)| (source, link)).collect();
        let inside = own.iter().filter(|(source, _)| matches!(source, Source::Core(_)));
        let pending = inside.map(|(_, &link)| (link, links.words[link].iter().copied().collect())).collect();
        Self { core, links: own, pending, taken: BTreeSet::new(), outside: BTreeMap::new() }
    }

    /// The link over which a wire comes, `homes` being the processors of tasks; none where it stays on the processor.
    pub fn link(&self, wire: &Wire, homes: &[usize]) -> Option<usize> {
        let source = match wire.from {
            From::Outside(port) => Source::Outside(port),
            From::Task(from) => match homes[from.index()] {
                home if home == self.core => return None,
                home => Source::Core(home),
            },
        };
        self.links.get(&source).copied()
    }

    /// Takes the next word over a link on the way to one that is wanted.
    ///
    /// # Errors
    ///
    /// There is none: the one that is wanted is never sent.
    pub fn next(&mut self, link: usize, wanted: Word) -> Result<Word, String> {
        let word = match self.pending.get_mut(&link) {
            Some(pending) => pending.pop_front().ok_or("a word that is needed is never sent")?,
            None => {
                self.outside.entry(link).or_default().push(wanted);
                wanted
            }
        };
        self.taken.insert((link, word));
        Ok(word)
    }
}

/// Who takes a value: processors, and the positions at which it leaves.
type Takers = (BTreeSet<usize>, Vec<u32>);

/// How tasks order their outputs, and who takes them.
pub struct Orders {
    /// For each task, its outputs in the order in which it writes them.
    pub sequences: Vec<Vec<Id>>,
    /// For each task and value, the processors that take it, and the positions at which it leaves.
    takers: Vec<BTreeMap<Id, Takers>>,
}

/// The cost of a task on a machine.
///
/// # Errors
///
/// There is none.
pub fn cost_of<'m>(design: &Design, machine: &'m Machine, task: &Task) -> Result<&'m Cost, String> {
    let n = task.outputs.len();
    let class = if task.class.is_empty() { "pass" } else { &task.class };
    let style = design.style.get(class);
    let fits = |cost: &&Cost| cost.class == class && cost.outputs.is_none_or(|outputs| outputs == n);
    let all = || machine.cost.iter().filter(fits);
    let found = match style {
        Some(style) => all().find(|cost| cost.style.as_ref() == Some(style)),
        None => all().find(|cost| cost.style.is_none()),
    };
    found.ok_or_else(|| {
        let known: Vec<String> = machine
            .cost
            .iter()
            .filter(|cost| cost.class == class)
            .map(|cost| cost.outputs.map_or("any".into(), |n| n.to_string()))
            .collect();
        let sizes = match known.is_empty() {
            true => "it has none of this class".to_owned(),
            false => format!("it has those for {} outputs", known.join(", ")),
        };
        format!(
            "`{}` has no measured cost for `{class}` with {n} outputs ({}): {sizes}; take costs of generated code (`--cost isa`)",
            machine.name, task.name
        )
    })
}

impl Orders {
    /// The orders of a design. `free` says which tasks may write their outputs in any order at the same cost, `patient` which
    /// take what they need in any order at the same cost.
    pub fn of(design: &Design, free: &dyn Fn(TaskId) -> bool, patient: &dyn Fn(TaskId) -> bool) -> Self {
        let tasks = &design.tasks;
        let homes = design.homes();
        let n = tasks.tasks.len();
        let mut takers: Vec<BTreeMap<Id, Takers>> = vec![BTreeMap::new(); n];
        for (reader, task) in tasks.tasks.iter().enumerate() {
            for wire in &task.inputs {
                if let From::Task(from) = wire.from {
                    takers[from.index()].entry(wire.value).or_default().0.insert(homes[reader]);
                }
            }
        }
        for (position, wire) in (0..).zip(tasks.outputs.iter().flat_map(|stream| &stream.wires)) {
            if let From::Task(from) = wire.from {
                takers[from.index()].entry(wire.value).or_default().1.push(position);
            }
        }
        // What two tasks of a processor give (one of them passes it on, say) goes to another processor once.
        for (home, core) in design.cores.iter().enumerate() {
            let mut sent: BTreeSet<(Id, usize)> = BTreeSet::new();
            for (task, _) in core.turns(design.in_flight).into_iter().filter(|(_, message)| *message == 0) {
                for (&id, (cores, _)) in &mut takers[task.index()] {
                    cores.retain(|&to| to == home || sent.insert((id, to)));
                }
            }
        }
        let readers = tasks.readers();
        let mut sequences: Vec<Vec<Id>> = vec![Vec::new(); n];
        // When each task first needs each of its inputs.
        let mut wanted: Vec<HashMap<Id, usize>> = vec![HashMap::new(); n];
        for at in (0..n).rev() {
            let task = &tasks.tasks[at];
            let mut outputs = task.outputs.clone();
            match design.interleave {
                Some(rows) if outputs.len() > rows => {
                    let mut numbered: Vec<(usize, Id)> = outputs.into_iter().enumerate().collect();
                    numbered.sort_by_key(|&(k, _)| (k % rows, k / rows));
                    outputs = numbered.into_iter().map(|(_, id)| id).collect();
                }
                Some(_) => {}
                None if free(TaskId(at as u32)) => {
                    // As the reader wants them that takes the most.
                    let mut takes: BTreeMap<usize, usize> = BTreeMap::new();
                    readers[at].iter().for_each(|(reader, _)| *takes.entry(*reader).or_default() += 1);
                    let mut rank: HashMap<Id, (usize, usize, usize)> = HashMap::new();
                    for &(reader, id) in &readers[at] {
                        let when = wanted.get(reader).and_then(|wanted| wanted.get(&id)).copied();
                        let when = (usize::MAX - takes[&reader], reader, when.unwrap_or(usize::MAX));
                        rank.entry(id).and_modify(|it| *it = (*it).min(when)).or_insert(when);
                    }
                    outputs.sort_by_key(|id| rank.get(id).copied());
                }
                None => {}
            }
            let given: BTreeSet<Id> = task.inputs.iter().map(|wire| wire.value).collect();
            let mut computed: BTreeSet<Id> = BTreeSet::new();
            let n_asking = if patient(TaskId(at as u32)) { 0 } else { outputs.len() };
            for &output in &outputs[..n_asking] {
                let stop = |id: Id| given.contains(&id) || tasks.parameters.contains(&id) || computed.contains(&id);
                let mut new: Vec<Id> = tasks.needs(&[output], &stop);
                new.retain(|id| given.contains(id));
                for id in new {
                    let next = wanted[at].len();
                    wanted[at].entry(id).or_insert(next);
                }
                let cone = tasks.cone(&[output], &stop);
                computed.extend(cone);
            }
            sequences[at] = outputs;
        }
        Self { sequences, takers }
    }

    /// Whether another task on the same processor takes a value of a task.
    pub fn stays(&self, task: TaskId, id: Id, home: usize) -> bool {
        self.takers[task.index()].get(&id).is_some_and(|(cores, _)| cores.contains(&home))
    }

    /// The processors other than its own that take a value of a task, and the positions at which it leaves.
    pub fn takers(&self, task: TaskId, id: Id, home: usize) -> (Vec<usize>, Vec<u32>) {
        let takers = self.takers[task.index()].get(&id);
        takers.map_or_else(Default::default, |(cores, leaves)| {
            (cores.iter().copied().filter(|core| *core != home).collect(), leaves.clone())
        })
    }
}

/// Links of a design with the words that go over each in a period.
pub struct Links {
    /// All links.
    pub channels: Vec<Channel>,
    /// By source and reader.
    pub by_ends: BTreeMap<(Source, usize), usize>,
    /// Words of a period, in the order in which they are written; of those from outside nothing yet.
    pub words: Vec<Vec<Word>>,
}

impl Links {
    /// The links of a design, with the words that go over them.
    pub fn of(design: &Design, machine: &Machine, orders: &Orders, places: Option<&[[u32; 2]]>) -> Self {
        let homes = design.homes();
        let mut links = Self { channels: Vec::new(), by_ends: BTreeMap::new(), words: Vec::new() };
        for core in 0..design.cores.len() {
            for (source, _) in design.sources(core, &homes) {
                let from = match source {
                    Source::Outside(_) => None,
                    Source::Core(from) => Some(from),
                };
                let tiles = match (from, places) {
                    (Some(from), Some(places)) => {
                        let (a, b) = (places[from], places[core]);
                        a[0].abs_diff(b[0]) + a[1].abs_diff(b[1])
                    }
                    _ => 1,
                };
                let link = &machine.link;
                let latency = match tiles {
                    0 | 1 => *link.near_latency,
                    tiles => *link.long_latency + *link.long_latency_per_tile * tiles,
                };
                let depth = *machine.fifo.depth as usize;
                links.by_ends.insert((source, core), links.channels.len());
                links.channels.push(Channel { from, to: core, depth, latency: u64::from(latency) });
                links.words.push(Vec::new());
            }
        }
        for (at, core) in design.cores.iter().enumerate() {
            for (task, message) in core.turns(design.in_flight) {
                for &id in &orders.sequences[task.index()] {
                    for to in orders.takers(task, id, at).0 {
                        if let Some(&link) = links.by_ends.get(&(Source::Core(at), to)) {
                            let n = design.tasks.values.n_words(id, *machine.core.word_bits) as u32;
                            links.words[link].extend((0..n).map(|limb| (message, id, limb)));
                        }
                    }
                }
            }
        }
        links
    }
}

/// A processor's values and what has come to it, while its program is made.
pub struct Maker<'d> {
    design: &'d Design,
    core: usize,
    word_bits: u32,
    homes: Vec<usize>,
    slots: HashMap<(u32, Id, u32), u32>,
    arrivals: Arrivals,
    program: Program,
    parameters: &'d HashMap<Id, i128>,
}

/// Stands for a value as a whole among its parts.
const WHOLE: u32 = u32::MAX;

impl<'d> Maker<'d> {
    fn new(
        design: &'d Design,
        core: usize,
        links: &Links,
        machine: &Machine,
        parameters: &'d HashMap<Id, i128>,
    ) -> Self {
        Self {
            design,
            core,
            word_bits: *machine.core.word_bits,
            homes: design.homes(),
            slots: HashMap::new(),
            arrivals: Arrivals::of(links, core),
            program: Program::default(),
            parameters,
        }
    }

    fn n_words(&self, id: Id) -> u32 {
        self.design.tasks.values.n_words(id, self.word_bits) as u32
    }

    fn slot(&mut self, message: u32, id: Id, limb: u32) -> u32 {
        let known = self.design.tasks.values.constant(id).or_else(|| self.parameters.get(&id).copied());
        let key = if known.is_some() { (0, id, limb) } else { (message, id, limb) };
        *self.slots.entry(key).or_insert_with(|| {
            self.program.initial.push(known.unwrap_or(0));
            (self.program.initial.len() - 1) as u32
        })
    }

    /// The link over which a wire comes; none where it stays on the processor.
    fn link(&self, wire: &Wire) -> Option<usize> {
        self.arrivals.link(wire, &self.homes)
    }

    /// The next take over a link on the way to a word: the link and where the word goes.
    fn take(&mut self, link: usize, wanted: Word) -> Result<(u32, u32, Word), String> {
        let word = self.arrivals.next(link, wanted)?;
        let (message, id, limb) = word;
        let to = match self.n_words(id) {
            1 => self.slot(message, id, WHOLE),
            _ => self.slot(message, id, limb),
        };
        Ok((link as u32, to, word))
    }

    /// What puts a value of several words together, when its last word has come.
    fn join(&mut self, (message, id, limb): Word) -> Option<Compute> {
        let n = self.n_words(id);
        (n > 1 && limb + 1 == n).then(|| {
            let args = (0..n).map(|limb| self.slot(message, id, limb)).collect();
            let (width, signed) = self.design.tasks.values.width(id);
            Compute { to: self.slot(message, id, WHOLE), how: How::Join(self.word_bits, width, signed), args }
        })
    }

    /// What computes values, operands first.
    fn computes(&mut self, message: u32, ids: &[Id]) -> Vec<Compute> {
        let mut all = Vec::new();
        for &id in ids {
            let node = self.design.tasks.values.node(id).clone();
            let args = node.args.iter().map(|&arg| self.slot(message, arg, WHOLE)).collect();
            all.push(Compute { to: self.slot(message, id, WHOLE), how: How::Op(node.op), args });
        }
        all
    }

    /// What cuts a value into words.
    fn cuts(&mut self, message: u32, id: Id) -> Vec<Compute> {
        match self.n_words(id) {
            1 => Vec::new(),
            n => {
                let from = self.slot(message, id, WHOLE);
                let bits = self.word_bits;
                let cut = |limb: u32, maker: &mut Self| Compute {
                    to: maker.slot(message, id, limb),
                    how: How::Part(limb * bits, bits),
                    args: vec![from],
                };
                (0..n).map(|limb| cut(limb, self)).collect()
            }
        }
    }

    /// Instructions that send a value: over links, or to the outside.
    fn sends(&mut self, message: u32, id: Id, to: &[usize], leaves: &[u32]) -> Vec<Step> {
        let n = self.n_words(id);
        let mut steps = Vec::new();
        for limb in 0..n {
            let from = if n == 1 { self.slot(message, id, WHOLE) } else { self.slot(message, id, limb) };
            let put = to.iter().map(|&link| (link as u32, from)).collect();
            let leave = match limb + 1 == n && !leaves.is_empty() {
                true => vec![(self.slot(message, id, WHOLE), leaves.to_vec())],
                false => Vec::new(),
            };
            let compute = if limb == 0 { self.cuts(message, id) } else { Vec::new() };
            steps.push(Step::Move { take: Vec::new(), compute, put, leave });
        }
        steps
    }
}

/// A unit of a task's outputs: what is taken for it, what is computed, what is sent.
struct Unit {
    takes: Vec<Step>,
    compute: Vec<Compute>,
    sends: Vec<Step>,
}

/// Makes what is simulated of a design, with measured costs. `parameters` has the values of what is known beforehand;
/// `places` column and row of each processor, where they are known.
///
/// # Errors
///
/// There is no cost for a task, a cost is less than its moves take, or programs are too long for their memories.
pub fn build(
    design: &Design,
    machine: &Machine,
    parameters: &HashMap<Id, i128>,
    places: Option<&[[u32; 2]]>,
) -> Result<Setup, Problem> {
    let mut costs: Vec<&Cost> = Vec::new();
    for task in &design.tasks.tasks {
        costs.push(cost_of(design, machine, task)?);
    }
    let at_end = |task: TaskId| costs[task.index()].emit == Emit::End;
    let free = |task: TaskId| costs[task.index()].emit != Emit::Stream || costs[task.index()].unit == Some(1);
    let orders = Orders::of(design, &free, &at_end);
    let links = Links::of(design, machine, &orders, places);
    let mut programs = Vec::new();
    let mut outside: Vec<Option<Vec<OutsideWord>>> = vec![None; links.channels.len()];
    for (at, core) in design.cores.iter().enumerate() {
        let mut maker = Maker::new(design, at, &links, machine, parameters);
        let mut words = BTreeMap::new();
        maker.program.tasks = core.tasks.iter().map(|task| design.tasks.tasks[task.index()].name.clone()).collect();
        for (task, message) in core.turns(design.in_flight) {
            let position = core.tasks.iter().position(|other| *other == task).unwrap_or(0) as u32;
            maker.program.steps.extend([Step::Task(position), Step::Message(message)]);
            maker.task(task, message, costs[task.index()], &orders, &links)?;
            let cost = costs[task.index()];
            if let Some(n) = cost.program_words {
                words.insert((&cost.class, cost.outputs), n as usize);
            }
        }
        let program_words: usize = words.values().sum();
        if program_words > *machine.core.program_words as usize {
            let has = *machine.core.program_words;
            let each = words.iter().map(|((class, _), n)| format!("{n} for {class}")).collect::<Vec<_>>().join(", ");
            let text = format!("the program of `{}` takes {program_words} words, of {has}: {each}", core.name);
            return Err(Problem { text, core: Some(core.name.clone()) });
        }
        maker.program.program_words = Some(program_words);
        let (tables, known) = kept(design, core, *machine.core.word_bits);
        let has = *machine.core.data_words as usize;
        if tables + known > has {
            let text = format!(
                "the data of `{}` takes {} words at least, of {has}: {tables} for tables, {known} for what is known beforehand",
                core.name,
                tables + known
            );
            return Err(Problem { text, core: Some(core.name.clone()) });
        }
        maker.program.data_words = tables + known;
        let bits = maker.word_bits;
        for (&link, words) in &maker.arrivals.outside {
            let token = |&(message, id, limb): &Word| {
                let (port, at) = match design.tasks.values.node(id).op {
                    Op::Input(port, at) => (port, at),
                    _ => (u32::MAX, 0),
                };
                OutsideWord { message, port, at, shift: limb * bits, bits }
            };
            outside[link] = Some(words.iter().map(token).collect());
        }
        programs.push(maker.program);
    }
    Ok(Setup {
        programs,
        channels: links.channels,
        outside,
        n_outputs: design.tasks.outputs.iter().map(|stream| stream.wires.len()).sum(),
        tables: design.tasks.values.tables().to_vec(),
        messages: design.in_flight,
        halt_after: u64::from(*machine.clock.halt_after),
        restart: u64::from(*machine.clock.restart),
        periods: design.periods(),
        ticks: design.ticks(),
    })
}

/// The tables that a processor looks something up in.
pub fn tables(design: &Design, core: &crate::design::Core) -> BTreeSet<u32> {
    let tasks = &design.tasks;
    let nodes = core.tasks.iter().flat_map(|task| tasks.body(&tasks.tasks[task.index()]));
    let of = |id: Id| match tasks.values.node(id).op {
        Op::Table(table) => Some(table),
        _ => None,
    };
    nodes.filter_map(of).collect()
}

/// Words that the data memory of a processor must have whatever its program is: of tables, and of what is known when it is
/// loaded (a key, say).
fn kept(design: &Design, core: &crate::design::Core, bits: u32) -> (usize, usize) {
    let tasks = &design.tasks;
    let mut known: BTreeSet<Id> = BTreeSet::new();
    for task in &core.tasks {
        for id in tasks.body(&tasks.tasks[task.index()]) {
            known.extend(tasks.values.node(id).args.iter().filter(|arg| tasks.parameters.contains(arg)));
        }
    }
    // As densely as can be: how measured programs keep it, nobody says.
    let known = known.iter().map(|&id| tasks.values.width(id).0 as usize).sum::<usize>().div_ceil(bits as usize);
    (table_words(&tasks.values, &tables(design, core), bits), known)
}

impl Maker<'_> {
    fn task(&mut self, id: TaskId, message: u32, cost: &Cost, orders: &Orders, links: &Links) -> Result<(), String> {
        let design = self.design;
        let tasks = &design.tasks;
        let task = &tasks.tasks[id.index()];
        let given: BTreeMap<Id, Wire> = task.inputs.iter().map(|wire| (wire.value, *wire)).collect();
        let sequence = &orders.sequences[id.index()];
        let unit = cost.unit.unwrap_or(sequence.len()).max(1);
        let mut computed: BTreeSet<Id> = BTreeSet::new();
        let mut units: Vec<Unit> = Vec::new();
        // What is written at the end is computed in the order in which words come.
        let mut order = sequence.clone();
        if cost.emit == Emit::End && unit < order.len() {
            let arrival = |output: &Id| {
                let stop = |id: Id| given.contains_key(&id) || tasks.parameters.contains(&id);
                let needs = tasks.needs(&[*output], &stop);
                let place = |value: &Id| {
                    let pending = self.arrivals.pending.get(&self.link(given.get(value)?)?)?;
                    pending.iter().position(|word| (word.0, word.1) == (message, *value))
                };
                needs.iter().filter_map(place).max()
            };
            order.sort_by_cached_key(arrival);
        }
        let mut late: BTreeMap<Id, Vec<Step>> = BTreeMap::new();
        for outputs in order.chunks(unit) {
            let stop = |id: Id| given.contains_key(&id) || tasks.parameters.contains(&id) || computed.contains(&id);
            let cone = tasks.cone(outputs, &stop);
            // Words by link that have to come.
            let mut wanted: BTreeMap<usize, Vec<Word>> = BTreeMap::new();
            for value in tasks.needs(outputs, &stop) {
                let Some(wire) = given.get(&value) else { continue };
                if let Some(link) = self.link(wire) {
                    let missing = (0..self.n_words(value)).map(|limb| (message, value, limb));
                    let missing = missing.filter(|word| !self.arrivals.taken.contains(&(link, *word)));
                    wanted.entry(link).or_default().extend(missing);
                }
            }
            let mut by_link: Vec<Vec<(u32, u32, Word)>> = Vec::new();
            for (link, words) in wanted {
                let mut takes = Vec::new();
                for word in words {
                    while !self.arrivals.taken.contains(&(link, word)) {
                        takes.push(self.take(link, word)?);
                    }
                }
                by_link.push(takes);
            }
            let mut takes: Vec<Step> = Vec::new();
            let n_rows = if cost.together { by_link.iter().map(Vec::len).max().unwrap_or(0) } else { 0 };
            let rows: Vec<Vec<(u32, u32, Word)>> = match cost.together {
                // Together as late as can be: what comes before its turn is taken alone.
                true => (0..n_rows)
                    .map(|row| {
                        let one = |takes: &Vec<(u32, u32, Word)>| {
                            (row + takes.len()).checked_sub(n_rows).and_then(|at| takes.get(at)).copied()
                        };
                        by_link.iter().filter_map(one).collect()
                    })
                    .collect(),
                false => by_link.into_iter().flatten().map(|one| vec![one]).collect(),
            };
            for row in rows {
                let compute = row.iter().filter_map(|&(_, _, word)| self.join(word)).collect();
                let take = row.iter().map(|&(link, to, _)| (link, to)).collect();
                takes.push(Step::Move { take, compute, put: Vec::new(), leave: Vec::new() });
            }
            let compute = self.computes(message, &cone);
            let mut sends = Vec::new();
            for &value in outputs {
                let (to, leaves) = orders.takers(id, value, self.core);
                let to: Vec<usize> =
                    to.iter().filter_map(|&to| links.by_ends.get(&(Source::Core(self.core), to)).copied()).collect();
                if !to.is_empty() || !leaves.is_empty() {
                    let steps = self.sends(message, value, &to, &leaves);
                    match cost.emit {
                        Emit::End => _ = late.insert(value, steps),
                        Emit::Stream | Emit::Spread => sends.extend(steps),
                    }
                }
            }
            computed.extend(cone);
            units.push(Unit { takes, compute, sends });
        }
        if cost.together && unit == 1 {
            // The last word that comes goes out in the same instruction.
            for unit in &mut units {
                let Some(Step::Move { compute: cut, put, leave, .. }) = unit.sends.first_mut() else { continue };
                if let Some(Step::Move { take, compute, .. }) = unit.takes.pop() {
                    let mut all = compute;
                    all.append(&mut unit.compute);
                    all.append(cut);
                    let one = Step::Move { take, compute: all, put: std::mem::take(put), leave: std::mem::take(leave) };
                    unit.sends[0] = one;
                }
            }
        }
        let moves: usize = units.iter().map(|unit| unit.takes.len() + unit.sends.len()).sum();
        let moves = moves + late.values().map(Vec::len).sum::<usize>();
        let fixed = u64::from(cost.before + cost.after + cost.nops) + moves as u64;
        let work = match cost.cycles {
            None => 0,
            Some(cycles) => u64::from(cycles).checked_sub(fixed).ok_or_else(|| {
                format!(
                    "`{}` is said to take {cycles} cycles, and its {moves} moves with the rest take {fixed}",
                    task.name
                )
            })?,
        };
        let n = units.len().max(1) as u64;
        let share = |total: u64, at: u64, of: u64| (total * (at + 1) / of - total * at / of) as u32;
        let steps = &mut self.program.steps;
        steps.push(Step::Work(cost.before, 0));
        for (at, unit) in (0..).zip(units) {
            let (executed, nops) = (share(work, at, n), share(u64::from(cost.nops), at, n));
            steps.extend(unit.takes);
            match cost.emit {
                Emit::Spread => {
                    steps.push(Step::Compute(unit.compute));
                    let parts = unit.sends.len().max(1) as u64;
                    for (part, send) in (0..).zip(unit.sends) {
                        let [executed, nops] = [executed, nops].map(|it| share(u64::from(it), part, parts));
                        steps.extend([Step::Work(executed, nops), send]);
                    }
                }
                Emit::Stream | Emit::End => {
                    steps.push(Step::Compute(unit.compute));
                    steps.push(Step::Work(executed, nops));
                    steps.extend(unit.sends);
                }
            }
        }
        for id in sequence {
            steps.extend(late.remove(id).into_iter().flatten());
        }
        steps.push(Step::Work(cost.after, 0));
        steps.retain(|step| !matches!(step, Step::Work(0, 0)) && !matches!(step, Step::Compute(all) if all.is_empty()));
        Ok(())
    }
}
