//! Emission of rerolled loops. Rounds as effects.

use super::Block;
use super::shape::{Before, Handed, Rounds, Source, progression};
use super::trace::Trace;
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, Table, TableId};
use headrace_source::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bits of indices.
const INDEX: u32 = 32;

/// Values of earlier rounds: where they lie.
type Lines = BTreeMap<usize, Line>;

/// Where the values of the last rounds lie that a value of the round had, the newest first.
#[derive(Clone, Copy)]
struct Line {
    object: ObjectId,
    first: usize,
    n: usize,
}

/// A list of values of all rounds, behind those of rounds before the first: how many these are.
#[derive(Clone, Copy)]
struct History {
    object: ObjectId,
    before: usize,
}

/// Where what is handed to rounds lies: the index for the first round, and what is added for each, modulo 2^32.
#[derive(Clone, Copy)]
struct Given {
    list: List,
    first: u32,
    step: u32,
}

#[derive(Clone, Copy)]
enum List {
    Object(ObjectId),
    Table(TableId),
}

/// What iterations work on.
struct Memory {
    lines: Lines,
    kept: BTreeMap<usize, History>,
    given: Vec<Given>,
}

/// What grows.
struct Emitter<'t> {
    trace: &'t Trace<'t>,
    graph: Graph,
    objects: Vec<Object>,
    effects: Vec<Effect>,
    /// What stands for values.
    new: FxHashMap<NodeId, NodeId>,
    /// Elements that values lie in.
    lying: FxHashMap<NodeId, (ObjectId, usize)>,
    /// Lists that need not begin with zeros.
    filled: Vec<ObjectId>,
    loads: u32,
}

/// The transition with loops for rounds, which are in the order of their positions; `None` where a value is not there in
/// time.
pub(super) fn emitted(trace: &Trace, objects: &[Object], effects: &[Effect], found: &[Rounds]) -> Option<Block> {
    let loads = effects.iter().filter_map(|effect| match effect {
        Effect::Load { id, .. } => Some(id + 1),
        _ => None,
    });
    let mut emitter = Emitter {
        trace,
        graph: Graph::with_tables_of(trace.graph),
        objects: objects.to_vec(),
        effects: Vec::new(),
        new: FxHashMap::default(),
        lying: FxHashMap::default(),
        filled: Vec::new(),
        loads: loads.max().unwrap_or(0),
    };
    emitter.straight(&trace.read)?;
    let mut at = 0;
    for (number, rounds) in found.iter().enumerate() {
        emitter.straight(&trace.nodes[at..rounds.start])?;
        emitter.rounds(number, rounds)?;
        at = rounds.end();
    }
    emitter.straight(&trace.nodes[at..])?;
    let effects: Vec<Effect> = effects.iter().map(|effect| emitter.moved(effect)).collect::<Option<_>>()?;
    emitter.effects.extend(effects);
    let Emitter { graph, objects, effects, filled, .. } = emitter;
    Some(Block { graph, objects, effects, filled, n_indexed: 0 })
}

impl Emitter<'_> {
    /// Values one after the other.
    fn straight(&mut self, nodes: &[NodeId]) -> Option<()> {
        for &id in nodes {
            for operand in self.trace.graph.op(id).operands() {
                self.of(operand);
            }
            let value = self.graph.copy(self.trace.graph, id, &self.new)?;
            self.new.insert(id, value);
        }
        Some(())
    }

    /// What stands for a value: what lies in memory is loaded.
    fn of(&mut self, id: NodeId) -> Option<NodeId> {
        if let Some(&known) = self.new.get(&id) {
            return Some(known);
        }
        let &(object, place) = self.lying.get(&id)?;
        let index = self.index(place);
        let mut effects = Vec::new();
        let loaded = self.load(&mut effects, object, index);
        self.effects.append(&mut effects);
        self.new.insert(id, loaded);
        Some(loaded)
    }

    fn width(&self, position: usize) -> u32 {
        self.trace.graph.width(self.trace.nodes[position])
    }

    fn index(&mut self, index: usize) -> NodeId {
        self.graph.number(index as u128, INDEX)
    }

    /// A list that is filled before it is read.
    fn list(&mut self, name: String, width: u32, length: usize) -> ObjectId {
        let list = self.zeros(name, width, length);
        self.filled.push(list);
        list
    }

    /// A list that begins with zeros.
    fn zeros(&mut self, name: String, width: u32, length: usize) -> ObjectId {
        let mut name = name;
        while self.objects.iter().any(|object| object.name == name) {
            name.push('_');
        }
        self.objects.push(Object { name, width, length, persistent: false, residue: None });
        ObjectId(self.objects.len() as u32 - 1)
    }

    fn load(&mut self, effects: &mut Vec<Effect>, object: ObjectId, index: NodeId) -> NodeId {
        let id = self.loads;
        self.loads += 1;
        effects.push(Effect::Load { id, object, index });
        let width = self.objects[object.0 as usize].width;
        self.graph.add(Op::Loaded(id), width)
    }

    fn rounds(&mut self, number: usize, rounds: &Rounds) -> Option<()> {
        let lines = self.lines(number, rounds)?;
        let kept = self.kept(number, rounds)?;
        let tables = self.tables(number, rounds);
        let handed = rounds.handed.iter().enumerate();
        let given = handed.map(|(at, handed)| match tables.get(&at) {
            Some(table) => Some(*table),
            None => self.given(number, at, handed, rounds.n),
        });
        let given = given.collect::<Option<_>>()?;
        let memory = Memory { lines, kept, given };
        let counter = self.zeros(format!("rounds_{number}_done"), INDEX, 1);
        let zero = self.index(0);
        let mut before = Vec::new();
        let done = self.load(&mut before, counter, zero);
        let all = self.index(rounds.n);
        // Rounds are few: compilers know loops best that count with signs.
        let condition = self.graph.less_signed(done, all);
        let mut body = Vec::new();
        self.round(rounds, &memory, done, &mut body)?;
        let one = self.index(1);
        let next = self.graph.sum(done, one);
        body.push(Effect::Store { object: counter, index: zero, value: next });
        self.effects.push(Effect::While { before, condition, body, span: Span::default() });
        for &at in &rounds.wanted {
            let (round, value) = ((at - rounds.start) / rounds.period, (at - rounds.start) % rounds.period);
            let ago = rounds.n - 1 - round;
            let place = match memory.lines.get(&value) {
                Some(line) if ago < line.n => (line.object, line.first + ago),
                _ => memory.kept.get(&value).map(|history| (history.object, history.before + round))?,
            };
            self.lying.insert(self.trace.nodes[at], place);
        }
        Some(())
    }

    /// Lists of what goes from round to round, one for each width, with what the first rounds find there.
    fn lines(&mut self, number: usize, rounds: &Rounds) -> Option<Lines> {
        let mut lengths: BTreeMap<u32, usize> = BTreeMap::new();
        for (&value, &n) in &rounds.carried {
            *lengths.entry(self.width(rounds.start + value)).or_default() += n;
        }
        let objects: BTreeMap<u32, ObjectId> = lengths
            .into_iter()
            .map(|(width, length)| (width, self.list(format!("rounds_{number}_words_{width}"), width, length)))
            .collect();
        let mut next: BTreeMap<u32, usize> = BTreeMap::new();
        let mut lines = Lines::new();
        for (&value, &n) in &rounds.carried {
            let width = self.width(rounds.start + value);
            let first = next.entry(width).or_default();
            let line = Line { object: objects[&width], first: *first, n };
            *first += n;
            lines.insert(value, line);
            let is_read = |source: &Source| matches!(source, Source::Carried(before) if before.value == value);
            // What is only wanted after the loop begins with nothing.
            if !rounds.sources.iter().flatten().any(is_read) {
                continue;
            }
            for ago in 0..n {
                let first = rounds.first.get(&Before { value, rounds: ago + 1 })?;
                let (index, value) = (self.index(line.first + ago), self.of(*first)?);
                self.effects.push(Effect::Store { object: line.object, index, value });
            }
        }
        Some(lines)
    }

    /// Lists of what is kept of all rounds, with what is there before the first.
    fn kept(&mut self, number: usize, rounds: &Rounds) -> Option<BTreeMap<usize, History>> {
        let mut kept = BTreeMap::new();
        for (&value, &before) in &rounds.kept {
            let width = self.width(rounds.start + value);
            let object = self.list(format!("rounds_{number}_value_{value}"), width, before + rounds.n);
            for place in 0..before {
                let Some(&first) = rounds.first.get(&Before { value, rounds: before - place }) else { continue };
                let (index, value) = (self.index(place), self.of(first)?);
                self.effects.push(Effect::Store { object, index, value });
                self.lying.insert(first, (object, place));
            }
            kept.insert(value, History { object, before });
        }
        Some(kept)
    }

    /// Tables of constants that are handed to rounds: one for each width, in the order in which rounds need them.
    fn tables(&mut self, number: usize, rounds: &Rounds) -> BTreeMap<usize, Given> {
        let mut by_width: BTreeMap<u32, Vec<(usize, &[u128])>> = BTreeMap::new();
        for (at, handed) in rounds.handed.iter().enumerate() {
            if let Handed::Constants { all, width } = handed {
                by_width.entry(*width).or_default().push((at, all));
            }
        }
        let mut tables = BTreeMap::new();
        for (width, constants) in by_width {
            let elements = (0..rounds.n).flat_map(|round| constants.iter().map(move |(_, all)| all[round])).collect();
            let table = Table { name: format!("rounds_{number}_constants_{width}"), width, elements };
            let list = List::Table(self.graph.add_table(table));
            let step = constants.len() as u32;
            tables.extend((0..).zip(constants).map(|(first, (at, _))| (at, Given { list, first, step })));
        }
        tables
    }

    /// Where what is handed to rounds lies: a list is filled where it lies nowhere.
    fn given(&mut self, number: usize, at: usize, handed: &Handed, n: usize) -> Option<Given> {
        let name = format!("rounds_{number}_given_{at}");
        let all = match handed {
            &Handed::Elements { object, first, step } => {
                return Some(Given { list: List::Object(object), first, step });
            }
            // They are in tables.
            Handed::Constants { .. } => return None,
            Handed::List(all) => all,
        };
        let places: Option<Vec<_>> = all.iter().map(|id| self.lying.get(id).copied()).collect();
        if let Some((object, first, step)) = places.and_then(|places| progression(&places)) {
            return Some(Given { list: List::Object(object), first, step });
        }
        let width = self.trace.graph.width(*all.first()?);
        let object = self.list(name, width, n);
        for (round, &id) in all.iter().enumerate() {
            let (index, value) = (self.index(round), self.of(id)?);
            self.effects.push(Effect::Store { object, index, value });
        }
        Some(Given { list: List::Object(object), first: 0, step: 1 })
    }

    /// The effects of one round; `done` is how many were done before.
    fn round(&mut self, rounds: &Rounds, memory: &Memory, done: NodeId, body: &mut Vec<Effect>) -> Option<()> {
        let mut carried: BTreeMap<Before, NodeId> = BTreeMap::new();
        for (&value, line) in &memory.lines {
            for ago in 0..line.n {
                let index = self.index(line.first + ago);
                carried.insert(Before { value, rounds: ago + 1 }, self.load(body, line.object, index));
            }
        }
        for &source in rounds.sources.iter().flatten() {
            if let Source::Carried(before) = source
                && !carried.contains_key(&before)
            {
                let history = memory.kept.get(&before.value)?;
                let index = self.further(done, 1, (history.before - before.rounds) as u32);
                carried.insert(before, self.load(body, history.object, index));
            }
        }
        let mut handed = Vec::new();
        for &Given { list, first, step } in &memory.given {
            let index = self.further(done, step, first);
            handed.push(match list {
                List::Object(object) => self.load(body, object, index),
                List::Table(table) => self.graph.lookup(table, index),
            });
        }
        let mut values: Vec<NodeId> = Vec::with_capacity(rounds.period);
        for (number, sources) in rounds.sources.iter().enumerate() {
            let operand = |source: &Source| match *source {
                Source::Inside(value) => values.get(value).copied(),
                Source::Carried(before) => carried.get(&before).copied(),
                Source::Same(id) => self.of(id),
                Source::Handed(at) => handed.get(at).copied(),
            };
            let operands: Vec<NodeId> = sources.iter().map(operand).collect::<Option<_>>()?;
            let id = self.trace.nodes[rounds.start + number];
            let value = self.graph.rebuild(self.trace.graph.op(id), self.trace.graph.width(id), &operands);
            values.push(value);
        }
        for (&value, line) in &memory.lines {
            for ago in 0..line.n {
                let next = if ago == 0 { values.get(value) } else { carried.get(&Before { value, rounds: ago }) };
                let next = *next?;
                let index = self.index(line.first + ago);
                body.push(Effect::Store { object: line.object, index, value: next });
            }
        }
        for (&value, history) in &memory.kept {
            let index = self.further(done, 1, history.before as u32);
            body.push(Effect::Store { object: history.object, index, value: *values.get(value)? });
        }
        Some(())
    }

    /// An index that goes on by a constant from round to round, modulo 2^32.
    fn further(&mut self, done: NodeId, step: u32, first: u32) -> NodeId {
        let (first, step) = (self.index(first as usize), self.index(step as usize));
        let further = self.graph.product(done, step);
        self.graph.sum(further, first)
    }

    /// An effect on what stands for values; there are no loops and choices where rounds are looked for.
    fn moved(&mut self, effect: &Effect) -> Option<Effect> {
        for id in effect.uses() {
            self.of(id)?;
        }
        effect.moved(&self.new)
    }
}
