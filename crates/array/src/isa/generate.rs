//! Code generation: a processor's tasks to a program of its instruction set, within its memories.
//!
//! What is alike is rolled: parts of a task that do the same to the next words become a hardware loop, tasks that do the same one
//! after the other a loop in software. What differs from turn to turn (the words of a key, say) lies in memory in the order in
//! which it is needed, and an address generator goes through it. Which way is taken is decided by cycles, among those that fit.

use super::lower::{Group, Kind, Lowered, Room, Word};
use super::schedule::{Issue, Operand, Part, Past, schedule};
use super::{Code, Instruction, OUTSIDE, Opcode, Source, Target};
use crate::design::{Design, Source as From};
use crate::machine::Machine;
use crate::mapping::Problem;
use crate::program::{Arrivals, Links, Orders, tables};
use crate::simulate::{OutsideWord, Program, Setup};
use crate::tasks::{self, Wire};
use crate::values::{Id, Op, TaskId};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What goes outside, by stream: message, value and part of each word, in the order in which it leaves.
type Sent = BTreeMap<usize, Vec<(u32, Id, u32)>>;

/// How a program is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Everything once, one after the other.
    Straight,
    /// Tasks that are alike in a loop.
    Looped,
    /// Parts of tasks that are alike in a hardware loop.
    Repeated,
    /// Parts of tasks that are alike in a hardware loop, and tasks that are alike in a loop.
    Rolled,
    /// One part that is alike for all, which the jump at the end begins again.
    Endless,
}

/// All forms, the fastest first as a rule.
pub const FORMS: [Form; 5] = [Form::Straight, Form::Looped, Form::Repeated, Form::Rolled, Form::Endless];

/// A processor's program.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The program.
    pub code: Code,
    /// How it is written.
    pub form: Form,
    /// Cycles of a period if nothing is waited for: of instructions, and of NOPs.
    pub cycles: (u64, u64),
}

/// What a part of a program is made of.
#[derive(Clone)]
struct Made {
    groups: Vec<Group>,
    comes: Vec<(u8, u32)>,
}

impl Made {
    /// Words that it makes or takes.
    fn own(&self) -> BTreeSet<u32> {
        let made = self.groups.iter().flat_map(|group| &group.slots).filter_map(|slot| slot.to);
        made.chain(self.comes.iter().map(|(_, word)| *word)).collect()
    }

    /// Whether it needs no words but its own and parameters, and uses all words that it takes.
    fn is_closed(&self, kinds: &[Kind]) -> bool {
        let own = self.own();
        let words = self.groups.iter().flat_map(|group| &group.slots).flat_map(|slot| [slot.a, slot.b]);
        let used: BTreeSet<u32> = words
            .filter_map(|word| match word {
                Word::Of(word) => Some(word),
                Word::Known(_) => None,
            })
            .collect();
        let is_parameter = |word: &u32| matches!(kinds[*word as usize], Kind::Parameter(_));
        used.iter().all(|word| own.contains(word) || is_parameter(word))
            && self.comes.iter().all(|(_, word)| used.contains(word))
    }
}

/// A piece of a program.
#[derive(Clone)]
enum Block {
    /// Instructions, once.
    Once(Made),
    /// The same for several turns: the first, and the parameters of each turn in the order of the first's words.
    Turns(Made, Vec<Vec<u32>>),
}

/// A processor while its program is made.
#[derive(Clone)]
struct Maker<'d> {
    design: &'d Design,
    core: usize,
    homes: &'d [usize],
    orders: &'d Orders,
    links: &'d Links,
    parameters: &'d HashMap<Id, i128>,
    arrivals: Arrivals,
    /// The port of each link that comes in, the number of each that goes out.
    ports: BTreeMap<usize, u8>,
    numbers: BTreeMap<usize, u32>,
    /// Words of values that came in, as far as they have.
    halves: BTreeMap<(u32, Id), Vec<Option<Word>>>,
    leaves: Vec<(u32, Vec<u32>, u32)>,
    comes: Vec<(u8, u32)>,
}

/// Makes what is simulated of a design, with generated code; and the programs. Where programs do not fit that interleave their
/// outputs, they write them as they come; where they do not fit either, those of several parts keep to the order of these, so that
/// they can be rolled.
///
/// # Errors
///
/// A program or its data do not fit the memories of a processor, with the count; an operation has no instructions.
pub fn build(
    design: &Design,
    machine: &Machine,
    parameters: &HashMap<Id, i128>,
    places: Option<&[[u32; 2]]>,
    form: Option<Form>,
) -> Result<(Setup, Vec<Generated>), Problem> {
    let mut made = built(design, machine, parameters, places, form, false);
    if made.is_err() && design.interleave.is_some() {
        let plain = Design { interleave: None, ..design.clone() };
        made = built(&plain, machine, parameters, places, form, false).or_else(|_| {
            let why = made.err().unwrap_or_else(|| "there is no program".into());
            built(&plain, machine, parameters, places, form, true).map_err(|rolled| Problem {
                text: format!("{why}; with outputs in the order of its parts, {rolled}"),
                ..why
            })
        });
    }
    made
}

fn built(
    design: &Design,
    machine: &Machine,
    parameters: &HashMap<Id, i128>,
    places: Option<&[[u32; 2]]>,
    form: Option<Form>,
    keeps_parts: bool,
) -> Result<(Setup, Vec<Generated>), Problem> {
    // What is one piece, or only passes on, takes its words in any order. All write in any: parts that cannot be rolled then
    // are written out.
    let patient = |task: TaskId| {
        let task = &design.tasks.tasks[task.index()];
        crate::transform::only_passes(&design.tasks, task)
            || units(design, task, &task.outputs).len() == 1
            || design.style.get(&task.class).is_some_and(|style| style == "end")
    };
    // Pieces of pipelines keep to the order in which words come.
    let free = |task: TaskId| {
        let task = &design.tasks.tasks[task.index()];
        !(task.class.ends_with(crate::transform::PIECE)
            || keeps_parts && units(design, task, &task.outputs).iter().any(|part| part.len() > 1))
    };
    let orders = Orders::of(design, &free, &patient);
    let links = Links::of(design, machine, &orders, places);
    let homes = design.homes();
    let mut outside: Vec<Option<Vec<OutsideWord>>> = vec![None; links.channels.len()];
    let mut programs = Vec::new();
    let mut all = Vec::new();
    for (at, core) in design.cores.iter().enumerate() {
        let forms = form.map_or_else(|| forms_of(design, core, &orders), |form| vec![form]);
        let mut rooms = vec![Room::Packed, Room::Least];
        let elements: usize = tables(design, core).iter().map(|&table| design.tasks.values.table(table).len()).sum();
        if (1..=*machine.core.data_words as usize).contains(&elements) {
            rooms.insert(0, Room::Whole);
        }
        let forms = rooms.iter().flat_map(|&room| forms.iter().map(move |&form| (form, room)));
        let mut best: Option<(Generated, Sent)> = None;
        let mut why = None;
        let mut known = rooms[0];
        for (form, room) in forms {
            // What takes less memory only where the faster does not fit.
            if room != known && best.is_some() {
                break;
            }
            known = room;
            match Maker::new(design, at, &homes, &orders, &links, parameters).program(machine, form, room) {
                Ok(made) => {
                    let cycles = |it: &Generated| it.cycles.0 + it.cycles.1;
                    if best.as_ref().is_none_or(|(known, _)| cycles(&made.0) < cycles(known)) {
                        best = Some(made);
                    }
                }
                Err(problem) => why = Some(better(why, problem)),
            }
        }
        let Some((made, came)) = best else {
            return Err(Problem::of(&core.name, why.as_ref().map_or("there is no program", |(_, why)| why)));
        };
        for (link, words) in came {
            let bits = *machine.core.word_bits;
            let token = |&(message, id, limb): &(u32, Id, u32)| {
                let (port, at) = match design.tasks.values.node(id).op {
                    Op::Input(port, at) => (port, at),
                    _ => (u32::MAX, 0),
                };
                OutsideWord { message, port, at, shift: limb * bits, bits }
            };
            outside[link] = Some(words.iter().map(token).collect());
        }
        let names = core.tasks.iter().map(|task| design.tasks.tasks[task.index()].name.clone()).collect();
        programs.push(Program {
            tasks: names,
            data_words: made.code.memory.len(),
            program_words: Some(made.code.program_words()),
            code: Some(made.code.clone()),
            ..Program::default()
        });
        all.push(made);
    }
    let setup = Setup {
        programs,
        channels: links.channels,
        outside,
        n_outputs: design.tasks.outputs.iter().map(|stream| stream.wires.len()).sum(),
        tables: Vec::new(),
        messages: design.in_flight,
        halt_after: u64::from(*machine.clock.halt_after),
        restart: u64::from(*machine.clock.restart),
        periods: design.periods(),
        ticks: design.ticks(),
    };
    Ok((setup, all))
}

/// Forms in which a processor's program may differ: what is one part for one message has nothing to roll.
fn forms_of(design: &Design, core: &crate::design::Core, orders: &Orders) -> Vec<Form> {
    let is_one = match core.turns(design.in_flight)[..] {
        [(task, _)] => {
            let own = &design.tasks.tasks[task.index()];
            units(design, own, &orders.sequences[task.index()]).len() == 1
        }
        _ => false,
    };
    if is_one { vec![Form::Straight] } else { FORMS.to_vec() }
}

/// The program of one processor of a design in a form.
///
/// # Errors
///
/// As [`build`].
pub fn program_of(
    design: &Design,
    machine: &Machine,
    parameters: &HashMap<Id, i128>,
    core: usize,
    form: Form,
) -> Result<Generated, Problem> {
    let patient = |task: TaskId| {
        let task = &design.tasks.tasks[task.index()];
        crate::transform::only_passes(&design.tasks, task) || units(design, task, &task.outputs).len() == 1
    };
    let orders = Orders::of(design, &|_| true, &patient);
    let links = Links::of(design, machine, &orders, None);
    let homes = design.homes();
    let made = Maker::new(design, core, &homes, &orders, &links, parameters).program(machine, form, Room::Packed);
    made.map(|(made, _)| made).map_err(|(_, why)| Problem::of(&design.cores[core].name, &why))
}

/// Of two reasons the one that is less bad: of programs that are too long, the shorter.
fn better(known: Option<(usize, String)>, new: (usize, String)) -> (usize, String) {
    match known {
        Some(known) if known.0 <= new.0 => known,
        _ => new,
    }
}

/// Outputs in parts that have nothing in common but what is known, in the order of the outputs.
fn units(design: &Design, task: &tasks::Task, sequence: &[Id]) -> Vec<Vec<Id>> {
    let tasks = &design.tasks;
    let given: BTreeSet<Id> = task.inputs.iter().map(|wire| wire.value).collect();
    let stop = |id: Id| given.contains(&id) || tasks.parameters.contains(&id);
    let mut owner: BTreeMap<Id, usize> = BTreeMap::new();
    let mut parent: Vec<usize> = (0..sequence.len()).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for (at, &output) in sequence.iter().enumerate() {
        let needs = tasks.needs(&[output], &stop);
        for id in tasks.cone(&[output], &stop).into_iter().chain(needs) {
            if let Some(&other) = owner.get(&id) {
                let (a, b) = (root(&mut parent, other), root(&mut parent, at));
                parent[a.max(b)] = a.min(b);
            }
            owner.insert(id, at);
        }
    }
    let mut all: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
    for (at, &output) in sequence.iter().enumerate() {
        all.entry(root(&mut parent, at)).or_default().push(output);
    }
    all.into_values().collect()
}

impl<'d> Maker<'d> {
    fn new(
        design: &'d Design,
        core: usize,
        homes: &'d [usize],
        orders: &'d Orders,
        links: &'d Links,
        parameters: &'d HashMap<Id, i128>,
    ) -> Self {
        let arrivals = Arrivals::of(links, core);
        let ports = arrivals.links.values().enumerate().map(|(port, &link)| (link, port as u8)).collect();
        let going = links.by_ends.iter().filter(|((source, _), _)| *source == From::Core(core));
        let numbers = going.enumerate().map(|(number, (_, &link))| (link, number as u32)).collect();
        Self {
            design,
            core,
            homes,
            orders,
            links,
            parameters,
            arrivals,
            ports,
            numbers,
            halves: BTreeMap::new(),
            leaves: Vec::new(),
            comes: Vec::new(),
        }
    }

    fn link(&self, wire: &Wire) -> Option<usize> {
        self.arrivals.link(wire, self.homes)
    }

    /// Takes words over a link up to one that is needed.
    fn take(&mut self, lowered: &mut Lowered, link: usize, wanted: (u32, Id, u32)) -> Result<(), String> {
        while !self.arrivals.taken.contains(&(link, wanted)) {
            let word = self.arrivals.next(link, wanted)?;
            let port = self.ports[&link];
            let new = lowered.word(Kind::Input(port));
            self.comes.push((port, new));
            let (message, id, limb) = word;
            let n = self.design.tasks.values.n_words(id, lowered.bits);
            let halves = self.halves.entry((message, id)).or_insert_with(|| vec![None; n]);
            halves[limb as usize] = Some(Word::Of(new));
            if halves.iter().all(Option::is_some) {
                lowered.known.insert((message, id), halves.iter().copied().flatten().collect());
            }
        }
        Ok(())
    }

    /// The instructions for some outputs of a task.
    fn part(&mut self, lowered: &mut Lowered, task: TaskId, message: u32, outputs: &[Id]) -> Result<Made, String> {
        let tasks = &self.design.tasks;
        let own = &tasks.tasks[task.index()];
        let given: BTreeMap<Id, Wire> = own.inputs.iter().map(|wire| (wire.value, *wire)).collect();
        let stop = |id: Id| given.contains_key(&id) || tasks.parameters.contains(&id);
        lowered.begin();
        self.comes.clear();
        for value in tasks.needs(outputs, &stop) {
            let Some(wire) = given.get(&value) else { continue };
            if let Some(link) = self.link(wire) {
                for limb in 0..tasks.values.n_words(value, lowered.bits) as u32 {
                    self.take(lowered, link, (message, value, limb))?;
                }
            }
        }
        // Parameters are words of memory.
        for id in tasks.cone(outputs, &stop) {
            for arg in tasks.values.node(id).args.clone() {
                self.parameter(lowered, message, arg);
            }
        }
        let mut kept: BTreeSet<u32> = BTreeSet::new();
        for &output in outputs {
            self.parameter(lowered, message, output);
            let words = lowered.value(&tasks.values, message, output)?;
            if self.orders.stays(task, output, self.core) {
                kept.extend(words.iter().filter_map(|word| match word {
                    Word::Of(word) => Some(*word),
                    Word::Known(_) => None,
                }));
            }
            let (to, leaves) = self.orders.takers(task, output, self.core);
            let mut links = 0u32;
            for to in to {
                if let Some(number) =
                    self.links.by_ends.get(&(From::Core(self.core), to)).and_then(|link| self.numbers.get(link))
                {
                    if *number > 30 {
                        return Err("a processor has more than 31 links that go out".into());
                    }
                    links |= 1 << number;
                }
            }
            if !leaves.is_empty() {
                links |= OUTSIDE;
                self.leaves.extend((0..words.len() as u32).map(|limb| (message, leaves.clone(), limb)));
            }
            if links != 0 {
                words.iter().for_each(|&word| send(lowered, word, links));
            }
        }
        // What other tasks on this processor compute again, they compute for themselves.
        for id in tasks.cone(outputs, &stop) {
            if !(outputs.contains(&id) && self.orders.stays(task, id, self.core)) {
                lowered.known.remove(&(message, id));
            }
        }
        lowered.sweep(&kept);
        merge_sends(lowered, &kept);
        Ok(Made { groups: lowered.begin(), comes: std::mem::take(&mut self.comes) })
    }

    fn parameter(&self, lowered: &mut Lowered, message: u32, id: Id) {
        if let Some(&value) = self.parameters.get(&id)
            && !lowered.known.contains_key(&(message, id))
        {
            let n = self.design.tasks.values.n_words(id, lowered.bits) as u32;
            let bits = lowered.bits;
            let words =
                (0..n).map(|at| lowered.parameter((value >> (at * bits)) as u64 & (u64::MAX >> (64 - bits)))).collect();
            lowered.known.insert((message, id), words);
        }
    }

    /// The program in a form, with the words that come from outside; why not, with the number of words that it would take.
    #[allow(clippy::type_complexity)]
    fn program(mut self, machine: &Machine, form: Form, room: Room) -> Result<(Generated, Sent), (usize, String)> {
        let fail = |why: String| (usize::MAX, why);
        let mut lowered = Lowered::new(*machine.core.word_bits);
        lowered.room = room;
        // Blocks of each task, and whether a task needs a word that another on this processor gives.
        let mut turns: Vec<Vec<Block>> = Vec::new();
        for (task, message) in self.design.cores[self.core].turns(self.design.in_flight) {
            let own = &self.design.tasks.tasks[task.index()];
            let sequence = &self.orders.sequences[task.index()];
            let parts = units(self.design, own, sequence);
            let rolled = match form {
                Form::Rolled | Form::Repeated | Form::Endless if parts.len() > 1 && parts.concat() == *sequence => {
                    self.rolled(&mut lowered, task, message, &parts).map_err(fail)?
                }
                _ => None,
            };
            turns.push(match rolled {
                Some(block) => vec![block],
                None => vec![Block::Once(self.part(&mut lowered, task, message, sequence).map_err(fail)?)],
            });
        }
        let mut writer = Writer::new(&lowered, machine, &turns);
        writer.lean = room == Room::Least;
        writer.stores = matches!(form, Form::Rolled | Form::Repeated);
        match form {
            Form::Endless => writer.endless(&turns).map_err(fail)?,
            _ => writer.all(&turns, matches!(form, Form::Looped | Form::Rolled)).map_err(fail)?,
        }
        let (instructions, cycles, memory, runs) = writer.finish()?;
        let generators = instructions.iter().filter_map(|it| match it {
            Instruction::Generate { generator, .. } => Some(u32::from(*generator) + 1),
            _ => None,
        });
        let (needs, has) = (generators.max().unwrap_or(0), *machine.core.address_generators);
        if needs > has {
            return Err(fail(format!("its program takes {needs} address generators, of {has}")));
        }
        // By number.
        let mut outputs = vec![0; self.numbers.len()];
        self.numbers.iter().for_each(|(&link, &number)| outputs[number as usize] = link as u32);
        let code = Code {
            instructions,
            memory,
            inputs: self.arrivals.links.values().map(|&link| link as u32).collect(),
            outputs,
            leaves: self.leaves,
            bits: lowered.bits,
            setup: (*machine.latency.repeat_setup, *machine.latency.generator_setup, *machine.latency.jump),
            runs,
        };
        let has = *machine.core.program_words as usize;
        if code.program_words() > has {
            let why = format!("its program takes {} words, of {has}", code.program_words());
            return Err((code.program_words(), why));
        }
        Ok((Generated { code, form, cycles }, self.arrivals.outside))
    }

    /// A task as turns of one part, where its parts are alike.
    fn rolled(
        &mut self,
        lowered: &mut Lowered,
        task: TaskId,
        message: u32,
        parts: &[Vec<Id>],
    ) -> Result<Option<Block>, String> {
        let (mut maker, mut trial) = (self.clone(), lowered.clone());
        let mut first: Option<(Made, Vec<Turn>)> = None;
        let mut parameters = Vec::new();
        // What others on this processor need has to be kept for each turn, and what was there before differs from turn to turn.
        let tasks = &self.design.tasks;
        let inputs = &tasks.tasks[task.index()].inputs;
        let others = self.design.cores[self.core].tasks.iter().filter(|other| **other != task);
        let elsewhere: BTreeSet<Id> =
            others.flat_map(|other| &tasks.tasks[other.index()].inputs).map(|wire| wire.value).collect();
        let stays = parts.iter().flatten().any(|&output| self.orders.stays(task, output, self.core));
        if stays || inputs.iter().any(|wire| elsewhere.contains(&wire.value)) {
            return Ok(None);
        }
        let mut is_alike = true;
        for outputs in parts {
            let made = maker.part(&mut trial, task, message, outputs)?;
            if !made.is_closed(&trial.kinds) {
                return Ok(None);
            }
            let (shape, own) = canonical(&made, &trial.kinds);
            match &first {
                None => first = Some((made, shape)),
                Some((_, known)) if *known == shape => {}
                Some(_) => {
                    is_alike = false;
                    break;
                }
            }
            parameters.push(own);
        }
        let is_distinct = |own: &Vec<u32>| own.iter().collect::<BTreeSet<_>>().len() == own.len();
        if is_alike && parameters.iter().all(is_distinct) {
            *self = maker;
            *lowered = trial;
            return Ok(first.map(|(made, _)| Block::Turns(made, parameters)));
        }
        Ok(None)
    }
}

/// Sends a word by a move of its own; where an instruction makes it for nothing else, [`merge_sends`] has that one send it.
fn send(lowered: &mut Lowered, word: Word, links: u32) {
    let slot = super::lower::Slot {
        op: Opcode::Mov,
        a: word,
        b: Word::Known(0),
        to: None,
        through: false,
        condition: None,
        links,
    };
    lowered.groups.push(Group { slots: vec![slot] });
}

/// Lets an instruction send its result itself, where sending is all that the result is for.
fn merge_sends(lowered: &mut Lowered, kept: &BTreeSet<u32>) {
    let mut uses: HashMap<u32, usize> = HashMap::new();
    let mut maker: HashMap<u32, usize> = HashMap::new();
    for (at, group) in lowered.groups.iter().enumerate() {
        for slot in &group.slots {
            for word in [slot.a, slot.b] {
                if let Word::Of(word) = word {
                    *uses.entry(word).or_default() += 1;
                }
            }
            if let Some(to) = slot.to {
                maker.insert(to, at);
            }
        }
    }
    let mut order: Vec<Group> = Vec::new();
    let mut moved: BTreeSet<usize> = BTreeSet::new();
    let groups = std::mem::take(&mut lowered.groups);
    let mut instead: HashMap<usize, Group> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        let [slot] = group.slots[..] else { continue };
        let Word::Of(word) = slot.a else { continue };
        if slot.links == 0 || slot.to.is_some() || uses.get(&word) != Some(&1) || kept.contains(&word) {
            continue;
        }
        let Some(&from) = maker.get(&word) else { continue };
        let makes_only_it = groups[from].slots.iter().all(|slot| slot.to == Some(word) && slot.links == 0);
        let is_carry = groups[from].slots.len() > 1 && groups[from].slots.iter().any(|slot| slot.condition.is_none());
        if makes_only_it && !is_carry && lowered.kinds[word as usize] == Kind::Result {
            let mut merged = groups[from].clone();
            merged.slots.iter_mut().for_each(|made| (made.to, made.links) = (None, slot.links));
            instead.insert(at, merged);
            moved.insert(from);
        }
    }
    for (at, group) in groups.into_iter().enumerate() {
        match instead.remove(&at) {
            Some(merged) => order.push(merged),
            None if !moved.contains(&at) => order.push(group),
            None => {}
        }
    }
    lowered.groups = order;
}

/// An instruction with its words by the order in which they appear.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Turn {
    op: Opcode,
    operands: [Named; 2],
    to: Option<usize>,
    through: bool,
    condition: Option<(usize, bool)>,
    links: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Number(u64),
    Word(usize),
    Parameter,
}

/// Which parameters of a loop its instructions use, in their order; `place` has the position of each among all.
fn uses(issues: &[Issue], place: &HashMap<u32, usize>) -> Vec<usize> {
    let operands = issues.iter().flat_map(|issue| issue.operands);
    let used = operands.filter_map(|operand| match operand {
        Operand::Memory(word) => place.get(&word).copied(),
        _ => None,
    });
    used.collect()
}

/// The shape of a part, and its parameters in the order in which they appear.
fn canonical(made: &Made, kinds: &[Kind]) -> (Vec<Turn>, Vec<u32>) {
    let mut names: HashMap<u32, usize> = HashMap::new();
    let mut parameters = Vec::new();
    for (port, word) in &made.comes {
        let next = names.len();
        names.entry(*word).or_insert(next);
        let _ = port;
    }
    let mut name = |word: u32| {
        let next = names.len();
        *names.entry(word).or_insert(next)
    };
    let mut all = Vec::new();
    for (port, _) in &made.comes {
        // Which port each word comes from belongs to the shape.
        all.push(Turn {
            op: Opcode::Mov,
            operands: [Named::Number(u64::from(*port)), Named::Number(0)],
            to: None,
            through: false,
            condition: None,
            links: 0,
        });
    }
    for (at, group) in made.groups.iter().enumerate() {
        for slot in &group.slots {
            let mut operands = [Named::Number(0); 2];
            for (named, word) in operands.iter_mut().zip([slot.a, slot.b]) {
                *named = match word {
                    Word::Known(number) => Named::Number(number),
                    Word::Of(word) if matches!(kinds[word as usize], Kind::Parameter(_)) => {
                        parameters.push(word);
                        Named::Parameter
                    }
                    Word::Of(word) => Named::Word(name(word)),
                };
            }
            all.push(Turn {
                op: slot.op,
                operands,
                to: slot.to.map(&mut name),
                through: slot.through,
                condition: slot.condition.map(|(flag, is_set)| (name(flag), is_set)),
                links: slot.links,
            });
        }
        let _ = at;
    }
    (all, parameters)
}

/// Where an operand of memory is, before addresses are given.
#[derive(Clone, Copy)]
enum Place {
    Fixed(Source),
    /// A word of a value.
    Value(u32),
}

/// An instruction before addresses.
struct Draft {
    instruction: Instruction,
    places: [Place; 2],
    to: Option<u32>,
}

/// Writes a program.
struct Writer<'l> {
    lowered: &'l Lowered,
    machine: &'l Machine,
    drafts: Vec<Draft>,
    past: Past,
    /// Parameters in the order in which a generator goes through them.
    stream: Vec<u32>,
    counters: Vec<(usize, u32)>,
    cycles: (u64, u64),
    later: Vec<BTreeSet<u32>>,
    runs: u32,
    lean: bool,
    /// Whether words that come in to be stored are stored by a hardware loop.
    stores: bool,
    /// Words that lie one after the other, with the instruction that sets the generator for them.
    rows: Vec<(usize, Vec<u32>)>,
}

impl<'l> Writer<'l> {
    fn new(lowered: &'l Lowered, machine: &'l Machine, turns: &[Vec<Block>]) -> Self {
        // What each block leaves for those behind it.
        let blocks: Vec<&Block> = turns.iter().flatten().collect();
        let mut later: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); blocks.len()];
        let mut needed: BTreeSet<u32> = BTreeSet::new();
        for (at, block) in blocks.iter().enumerate().rev() {
            later[at].clone_from(&needed);
            let (Block::Once(made) | Block::Turns(made, _)) = block;
            for slot in made.groups.iter().flat_map(|group| &group.slots) {
                needed.extend([slot.a, slot.b].iter().filter_map(|word| match word {
                    Word::Of(word) => Some(*word),
                    Word::Known(_) => None,
                }));
            }
        }
        Self {
            lowered,
            machine,
            drafts: Vec::new(),
            past: Past::default(),
            stream: Vec::new(),
            counters: Vec::new(),
            cycles: (u64::from(*machine.latency.jump), 0),
            later,
            runs: 1,
            lean: false,
            stores: false,
            rows: Vec::new(),
        }
    }

    /// All turns, those that are alike in loops where that is wanted.
    fn all(&mut self, turns: &[Vec<Block>], loops: bool) -> Result<(), String> {
        let shape = |blocks: &Vec<Block>| -> Vec<(Vec<Turn>, usize)> {
            let one = |block: &Block| match block {
                Block::Once(made) => (canonical(made, &self.lowered.kinds).0, 1),
                Block::Turns(made, turns) => (canonical(made, &self.lowered.kinds).0, turns.len()),
            };
            blocks.iter().map(one).collect()
        };
        let shapes: Vec<Vec<(Vec<Turn>, usize)>> = if loops { turns.iter().map(shape).collect() } else { Vec::new() };
        let own: Vec<BTreeSet<u32>> = turns
            .iter()
            .map(|blocks| {
                let made = blocks.iter().map(|(Block::Once(made) | Block::Turns(made, _))| made);
                made.flat_map(Made::own).collect()
            })
            .collect();
        let mut block = 0;
        let mut at = 0;
        while at < turns.len() {
            let mut n = 1;
            if loops {
                while at + n < turns.len() && shapes[at + n] == shapes[at] {
                    n += 1;
                }
                // Nothing may be kept from turn to turn.
                let last = block + (0..n).map(|turn| turns[at + turn].len()).sum::<usize>() - 1;
                let keeps = (0..n).any(|turn| {
                    let after = block + (0..=turn).map(|turn| turns[at + turn].len()).sum::<usize>() - 1;
                    self.later[after.min(last)].intersection(&own[at + turn]).next().is_some()
                });
                let foreign = |turn: usize| self.foreign(&turns[at + turn], &own[at + turn]);
                if keeps || (n > 1 && (0..n).any(foreign)) {
                    n = 1;
                }
            }
            if n > 1 {
                self.turns(&turns[at..at + n])?;
            } else {
                for (offset, one) in turns[at].iter().enumerate() {
                    self.block(one, block + offset)?;
                }
            }
            block += (0..n).map(|turn| turns[at + turn].len()).sum::<usize>();
            at += n;
        }
        Ok(())
    }

    /// Whether blocks need words that they do not compute or take.
    fn foreign(&self, blocks: &[Block], own: &BTreeSet<u32>) -> bool {
        let made = blocks.iter().map(|(Block::Once(made) | Block::Turns(made, _))| made);
        made.flat_map(|made| made.groups.iter().flat_map(|group| &group.slots)).any(|slot| {
            [slot.a, slot.b].iter().any(|word| match word {
                Word::Of(word) => {
                    !own.contains(word) && !matches!(self.lowered.kinds[*word as usize], Kind::Parameter(_))
                }
                Word::Known(_) => false,
            })
        })
    }

    fn issues(&mut self, made: &Made, later: BTreeSet<u32>) -> Result<Vec<Issue>, String> {
        let part = Part { groups: made.groups.clone(), comes: made.comes.clone(), later };
        schedule(&part, &self.lowered.kinds, self.machine, &mut self.past, self.lean)
    }

    fn block(&mut self, block: &Block, at: usize) -> Result<(), String> {
        let later = self.later[at].clone();
        match block {
            Block::Once(made) if self.stores && self.is_passing(made) => {
                self.pass(made);
                Ok(())
            }
            Block::Once(made) => {
                let issues = self.issues(made, later)?;
                self.write(&issues, None, 1);
                Ok(())
            }
            Block::Turns(made, parameters) => {
                let issues = self.issues(made, later)?;
                self.repeat(made, &issues, parameters);
                Ok(())
            }
        }
    }

    /// Whether a part takes words of one port and only sends them, each once, in another order.
    fn is_passing(&self, made: &Made) -> bool {
        let comes: BTreeSet<u32> = made.comes.iter().map(|(_, word)| *word).collect();
        let sent = |group: &Group| match group.slots[..] {
            [slot] if slot.links != 0 && slot.to.is_none() && slot.op == Opcode::Mov && !slot.through => match slot.a {
                Word::Of(word) if comes.contains(&word) => Some(word),
                _ => None,
            },
            _ => None,
        };
        let sent: Option<Vec<u32>> = made.groups.iter().map(sent).collect();
        let in_order = |sent: &Vec<u32>| sent.iter().eq(made.comes.iter().map(|(_, word)| word));
        let one_port = made.comes.windows(2).all(|two| two[0].0 == two[1].0);
        made.comes.len() > 3 && one_port && sent.is_some_and(|sent| sent.len() == comes.len() && !in_order(&sent))
    }

    /// Stores words by a hardware loop and sends them in another order.
    fn pass(&mut self, made: &Made) {
        let n = made.comes.len();
        self.rows.push((self.drafts.len(), made.comes.iter().map(|(_, word)| *word).collect()));
        self.drafts.push(Draft::of(Instruction::Generate { generator: 1, at: 0 }));
        self.drafts.push(Draft::of(Instruction::Repeat { nops: 0, times: n as u32, length: 1 }));
        let latency = &self.machine.latency;
        self.cycles.0 += u64::from(*latency.generator_setup + *latency.repeat_setup);
        let store = |nops: u8, to: Target| Instruction::Do {
            nops,
            op: Opcode::Mov,
            to,
            a: Source::Immediate(0),
            b: Source::Immediate(0),
            sets: None,
            condition: None,
        };
        let port = made.comes[0].0;
        self.drafts.push(Draft {
            instruction: store(0, Target::Generator(1)),
            places: [Place::Fixed(Source::Input(port)), Place::Fixed(Source::Immediate(0))],
            to: None,
        });
        let mut time = n as u64;
        for slot in made.groups.iter().flat_map(|group| &group.slots) {
            let Word::Of(word) = slot.a else { continue };
            let stored = made.comes.iter().position(|(_, other)| *other == word).unwrap_or(0) as u64;
            let nops = (stored + u64::from(*latency.data_memory)).saturating_sub(time);
            time += nops + 1;
            self.cycles.1 += nops;
            self.drafts.push(Draft {
                instruction: store(nops as u8, Target::Links(slot.links)),
                places: [Place::Value(word), Place::Fixed(Source::Immediate(0))],
                to: None,
            });
        }
        self.cycles.0 += 2 * n as u64;
        // Parts behind may need them, too.
        let begin = self.past.now + u64::from(*latency.generator_setup + *latency.repeat_setup);
        self.past.when.extend((begin..).zip(&made.comes).map(|(when, (_, word))| (*word, when)));
        self.past.now = begin + time;
    }

    /// A hardware loop. Parameters of all turns go to the stream in the order of their uses.
    fn repeat(&mut self, made: &Made, issues: &[Issue], parameters: &[Vec<u32>]) {
        let (_, first) = canonical(made, &self.lowered.kinds);
        let place: HashMap<u32, usize> = first.iter().enumerate().map(|(at, word)| (*word, at)).collect();
        let uses = uses(issues, &place);
        for own in parameters {
            self.stream.extend(uses.iter().map(|&at| own[at]));
        }
        self.write_again(issues, &place, parameters.len() as u64);
    }

    /// Instructions of a hardware loop of so many turns.
    fn write_again(&mut self, issues: &[Issue], place: &HashMap<u32, usize>, times: u64) {
        let length = issues.len() as u32;
        self.drafts.push(Draft::of(Instruction::Repeat { nops: 0, times: times as u32, length }));
        self.cycles.0 += u64::from(*self.machine.latency.repeat_setup);
        self.write(issues, Some(place), times);
        self.past.now += (times - 1) * issues.iter().map(|issue| 1 + u64::from(issue.nops)).sum::<u64>();
    }

    /// Turns in a loop of software.
    fn turns(&mut self, turns: &[Vec<Block>]) -> Result<(), String> {
        let n = turns.len();
        let counter = self.counters.len();
        self.counters.push((self.drafts.len(), n as u32));
        // The counter is set, then the loop begins.
        self.drafts.push(Draft {
            instruction: Instruction::Do {
                nops: 0,
                op: Opcode::Mov,
                to: Target::Nowhere,
                a: Source::Immediate(n as u64),
                b: Source::Immediate(0),
                sets: None,
                condition: None,
            },
            places: [Place::Fixed(Source::Immediate(n as u64)), Place::Fixed(Source::Immediate(0))],
            to: Some(COUNTER + counter as u32),
        });
        self.cycles.0 += 1;
        let begin = self.drafts.len() as u32;
        let before = self.cycles;
        let mut per_turn: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (at, block) in turns[0].iter().enumerate() {
            let (Block::Once(made) | Block::Turns(made, _)) = block;
            let issues = self.issues(made, BTreeSet::new())?;
            let (_, first) = canonical(made, &self.lowered.kinds);
            let place: HashMap<u32, usize> = first.iter().enumerate().map(|(at, word)| (*word, at)).collect();
            if place.len() != first.len() {
                return Err("a parameter is used twice in a loop".into());
            }
            let uses = uses(&issues, &place);
            for (turn, blocks) in turns.iter().enumerate() {
                let own: Vec<Vec<u32>> = match &blocks[at] {
                    Block::Once(made) => vec![canonical(made, &self.lowered.kinds).1],
                    Block::Turns(_, parameters) => parameters.clone(),
                };
                for own in own {
                    per_turn[turn].extend(uses.iter().map(|&at| own[at]));
                }
            }
            match block {
                Block::Once(_) => self.write(&issues, Some(&place), 1),
                Block::Turns(_, parameters) => self.write_again(&issues, &place, parameters.len() as u64),
            }
        }
        self.stream.extend(per_turn.concat());
        let flag_wait = (*self.machine.latency.flag).saturating_sub(1) as u8;
        self.drafts.push(Draft {
            instruction: Instruction::Do {
                nops: 0,
                op: Opcode::Sub,
                to: Target::Nowhere,
                a: Source::Immediate(0),
                b: Source::Immediate(1),
                sets: Some(0),
                condition: None,
            },
            places: [Place::Value(COUNTER + counter as u32), Place::Fixed(Source::Immediate(1))],
            to: Some(COUNTER + counter as u32),
        });
        self.drafts.push(Draft::of(Instruction::Loop { nops: flag_wait, flag: 0, to: begin }));
        let inside = (
            self.cycles.0 - before.0 + 1 + u64::from(*self.machine.latency.jump),
            self.cycles.1 - before.1 + u64::from(flag_wait),
        );
        self.cycles = (before.0 + n as u64 * inside.0, before.1 + n as u64 * inside.1);
        self.past.now += n as u64 * (inside.0 + inside.1);
        Ok(())
    }

    /// One part for all, which the jump at the end begins again.
    fn endless(&mut self, turns: &[Vec<Block>]) -> Result<(), String> {
        let mut first: Option<(&Made, Vec<Turn>)> = None;
        let mut n = 0;
        for block in turns.iter().flatten() {
            let (made, times) = match block {
                Block::Once(made) => (made, 1),
                Block::Turns(made, turns) => (made, turns.len()),
            };
            if !made.is_closed(&self.lowered.kinds) {
                return Err("what its parts need of each other has no place in an endless program".into());
            }
            let (shape, parameters) = canonical(made, &self.lowered.kinds);
            if !parameters.is_empty() {
                return Err("what differs from turn to turn has no place in an endless program".into());
            }
            match &first {
                None => first = Some((made, shape)),
                Some((_, known)) if *known == shape => {}
                Some(_) => return Err("its parts are not alike".into()),
            }
            n += times as u32;
        }
        let (made, _) = first.ok_or("it has nothing to do")?;
        let issues = self.issues(made, BTreeSet::new())?;
        self.write(&issues, None, 1);
        self.runs = n;
        self.cycles = (self.cycles.0 * u64::from(n), self.cycles.1 * u64::from(n));
        Ok(())
    }

    fn write(&mut self, issues: &[Issue], generated: Option<&HashMap<u32, usize>>, times: u64) {
        for issue in issues {
            let place = |operand: Operand| match operand {
                Operand::Known(number) => Place::Fixed(Source::Immediate(number)),
                Operand::Bypass => Place::Fixed(Source::Bypass),
                Operand::Input(port) => Place::Fixed(Source::Input(port)),
                Operand::Peek(port) => Place::Fixed(Source::Peek(port)),
                Operand::Through(pointer) => Place::Fixed(Source::Pointer(pointer)),
                Operand::Memory(word) if generated.is_some_and(|it| it.contains_key(&word)) => {
                    Place::Fixed(Source::Generator(0))
                }
                Operand::Memory(word) => Place::Value(word),
            };
            let places = issue.operands.map(place);
            let kind = issue.slot.to.map(|word| self.lowered.kinds[word as usize]);
            let (to, sets) = match (kind, issue.register) {
                (Some(Kind::Pointer), Some(pointer)) => (Target::Pointer(pointer), None),
                (Some(Kind::Flag), Some(flag)) => (Target::Nowhere, Some(flag)),
                _ if issue.slot.links != 0 => (Target::Links(issue.slot.links), None),
                _ => (Target::Nowhere, None),
            };
            let to_word = match kind {
                Some(Kind::Result | Kind::Input(_)) => issue.slot.to,
                _ => None,
            };
            self.drafts.push(Draft {
                instruction: Instruction::Do {
                    nops: issue.nops,
                    op: issue.slot.op,
                    to,
                    a: Source::Immediate(0),
                    b: Source::Immediate(0),
                    sets,
                    condition: issue.condition,
                },
                places,
                to: to_word,
            });
            self.cycles.0 += times;
            self.cycles.1 += times * u64::from(issue.nops);
        }
    }

    /// Gives addresses, and the program with its cycles and its memory.
    #[allow(clippy::type_complexity)]
    fn finish(mut self) -> Result<(Vec<Instruction>, (u64, u64), Vec<u64>, u32), (usize, String)> {
        let mut memory = self.lowered.memory.clone();
        let parameter = |word: u32| match self.lowered.kinds[word as usize] {
            Kind::Parameter(at) => self.lowered.parameters[at as usize],
            _ => 0,
        };
        if !self.stream.is_empty() {
            let at = memory.len() as u32;
            memory.extend(self.stream.iter().map(|&word| parameter(word)));
            for draft in &mut self.drafts {
                if let Instruction::Loop { to, .. } = &mut draft.instruction {
                    *to += 1;
                }
            }
            self.drafts.insert(0, Draft::of(Instruction::Generate { generator: 0, at }));
            self.cycles.0 += u64::from(*self.machine.latency.generator_setup);
        }
        // From where to where each word is in use.
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            for place in draft.places {
                if let Place::Value(word) = place {
                    last.insert(word, at);
                }
            }
        }
        let mut address: HashMap<u32, u32> = HashMap::new();
        for (draft, words) in std::mem::take(&mut self.rows) {
            let begin = memory.len() as u32;
            for word in words {
                address.insert(word, memory.len() as u32);
                memory.push(0);
            }
            // Where parameters have a generator, that is set before everything else.
            let shift = usize::from(!self.stream.is_empty());
            if let Instruction::Generate { at, .. } = &mut self.drafts[draft + shift].instruction {
                *at = begin;
            }
        }
        // Parameters and counters stay.
        for &word in last.keys() {
            let is_parameter = word < COUNTER && matches!(self.lowered.kinds[word as usize], Kind::Parameter(_));
            if is_parameter || word >= COUNTER {
                address.insert(word, memory.len() as u32);
                memory.push(if is_parameter { parameter(word) } else { 0 });
            }
        }
        let fixed = memory.len() as u32;
        let mut top = fixed;
        let mut free: BTreeSet<u32> = BTreeSet::new();
        let mut instructions = Vec::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            let source = |place: Place| match place {
                Place::Fixed(source) => source,
                Place::Value(word) => Source::Memory(address.get(&word).copied().unwrap_or(0)),
            };
            let places = draft.places.map(source);
            // What is needed for the last time makes room at once: operands are read before results are written.
            for place in draft.places {
                if let Place::Value(word) = place
                    && last.get(&word) == Some(&at)
                    && let Some(&freed) = address.get(&word)
                    && freed >= fixed
                {
                    free.insert(freed);
                }
            }
            let mut result = None;
            if let Some(word) = draft.to
                && last.contains_key(&word)
            {
                let new = match address.get(&word) {
                    Some(&known) => known,
                    None => free.pop_first().unwrap_or_else(|| {
                        top += 1;
                        top - 1
                    }),
                };
                address.insert(word, new);
                result = Some(new);
            }
            instructions.push(match draft.instruction {
                Instruction::Do { nops, op, to, sets, condition, .. } => {
                    let to = match (result, to) {
                        (Some(at), Target::Nowhere) => Target::Memory(at),
                        (_, to) => to,
                    };
                    Instruction::Do { nops, op, to, a: places[0], b: places[1], sets, condition }
                }
                other => other,
            });
        }
        memory.resize(top as usize, 0);
        let has = *self.machine.core.data_words as usize;
        if memory.len() > has {
            return Err((instructions.len(), format!("its data takes {} words, of {has}", memory.len())));
        }
        Ok((instructions, self.cycles, memory, self.runs))
    }
}

/// Words from here on are counters of loops.
const COUNTER: u32 = 1 << 30;

impl Draft {
    fn of(instruction: Instruction) -> Self {
        Self { instruction, places: [Place::Fixed(Source::Immediate(0)); 2], to: None }
    }
}
