//! Rounds as effects.

use super::Rolled;
use super::shape::{Handed, Rounds, Source};
use super::trace::Trace;
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op};
use std::collections::{BTreeMap, HashMap};

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

/// What grows.
struct Emitter<'t> {
    trace: &'t Trace<'t>,
    graph: Graph,
    objects: Vec<Object>,
    effects: Vec<Effect>,
    /// What stands for values.
    new: HashMap<NodeId, NodeId>,
    loads: u32,
}

/// The kernel with loops for rounds, which are in the order of their positions; `None` where a value is not there in time.
pub(super) fn emitted(trace: &Trace, objects: &[Object], effects: &[Effect], found: &[Rounds]) -> Option<Rolled> {
    let loads = effects.iter().filter_map(|effect| match effect {
        Effect::Load { id, .. } => Some(id + 1),
        _ => None,
    });
    let mut emitter = Emitter {
        trace,
        graph: Graph::with_tables_of(trace.graph),
        objects: objects.to_vec(),
        effects: Vec::new(),
        new: HashMap::new(),
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
    Some(Rolled { graph: emitter.graph, objects: emitter.objects, effects: emitter.effects })
}

impl Emitter<'_> {
    /// Values one after the other.
    fn straight(&mut self, nodes: &[NodeId]) -> Option<()> {
        for &id in nodes {
            let value = self.graph.copy(self.trace.graph, id, &self.new)?;
            self.new.insert(id, value);
        }
        Some(())
    }

    fn of(&self, id: NodeId) -> Option<NodeId> {
        self.new.get(&id).copied()
    }

    fn width(&self, position: usize) -> u32 {
        self.trace.graph.width(self.trace.nodes[position])
    }

    fn index(&mut self, index: usize) -> NodeId {
        self.graph.number(index as u128, INDEX)
    }

    /// A list that begins with zeros.
    fn list(&mut self, name: String, width: u32, length: usize) -> ObjectId {
        let mut name = name;
        while self.objects.iter().any(|object| object.name == name) {
            name.push('_');
        }
        self.objects.push(Object { name, width, length, persistent: false });
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
        let mut given = Vec::new();
        for (at, handed) in rounds.handed.iter().enumerate() {
            given.push(self.given(number, at, handed, rounds.n)?);
        }
        let kept: BTreeMap<usize, ObjectId> = (rounds.kept.iter())
            .map(|&value| {
                let width = self.width(rounds.start + value);
                (value, self.list(format!("rounds_{number}_value_{value}"), width, rounds.n))
            })
            .collect();
        let counter = self.list(format!("rounds_{number}_done"), INDEX, 1);
        let zero = self.index(0);
        let mut before = Vec::new();
        let done = self.load(&mut before, counter, zero);
        let all = self.index(rounds.n);
        let condition = self.graph.less(done, all);
        let mut body = Vec::new();
        self.round(rounds, &lines, &given, &kept, done, &mut body)?;
        let one = self.index(1);
        let next = self.graph.sum(done, one);
        body.push(Effect::Store { object: counter, index: zero, value: next });
        self.effects.push(Effect::While { before, condition, body });
        for &at in &rounds.wanted {
            let (round, value) = ((at - rounds.start) / rounds.period, (at - rounds.start) % rounds.period);
            let ago = rounds.n - 1 - round;
            let (object, place) = match lines.get(&value) {
                Some(line) if ago < line.n => (line.object, line.first + ago),
                _ => (*kept.get(&value)?, round),
            };
            let mut effects = Vec::new();
            let index = self.index(place);
            let loaded = self.load(&mut effects, object, index);
            self.effects.append(&mut effects);
            self.new.insert(self.trace.nodes[at], loaded);
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
                let position = rounds.start + value - (ago + 1) * rounds.period;
                let (index, value) = (self.index(line.first + ago), self.of(self.trace.nodes[position])?);
                self.effects.push(Effect::Store { object: line.object, index, value });
            }
        }
        Some(lines)
    }

    /// Where what is handed to rounds lies, and the index for the first round and what is added for each: a list is filled.
    fn given(&mut self, number: usize, at: usize, handed: &Handed, n: usize) -> Option<(ObjectId, u32, u32)> {
        let all = match handed {
            &Handed::Elements { object, first, step } => return Some((object, first, step)),
            Handed::List(all) => all,
        };
        let width = self.trace.graph.width(*all.first()?);
        let object = self.list(format!("rounds_{number}_given_{at}"), width, n);
        for (round, &id) in all.iter().enumerate() {
            let (index, value) = (self.index(round), self.of(id)?);
            self.effects.push(Effect::Store { object, index, value });
        }
        Some((object, 0, 1))
    }

    /// The effects of one round; `done` is how many were done before.
    fn round(
        &mut self,
        rounds: &Rounds,
        lines: &Lines,
        given: &[(ObjectId, u32, u32)],
        kept: &BTreeMap<usize, ObjectId>,
        done: NodeId,
        body: &mut Vec<Effect>,
    ) -> Option<()> {
        let mut carried: HashMap<(usize, usize), NodeId> = HashMap::new();
        for (&value, line) in lines {
            for ago in 0..line.n {
                let index = self.index(line.first + ago);
                carried.insert((value, ago + 1), self.load(body, line.object, index));
            }
        }
        let mut handed = Vec::new();
        for &(object, first, step) in given {
            let (first, step) = (self.index(first as usize), self.index(step as usize));
            let further = self.graph.product(done, step);
            let index = self.graph.sum(further, first);
            handed.push(self.load(body, object, index));
        }
        let mut values: Vec<NodeId> = Vec::with_capacity(rounds.period);
        for (number, sources) in rounds.sources.iter().enumerate() {
            let operand = |source: &Source| match *source {
                Source::Inside(value) => values.get(value).copied(),
                Source::Carried(before) => carried.get(&(before.value, before.rounds)).copied(),
                Source::Same(id) => self.of(id),
                Source::Handed(at) => handed.get(at).copied(),
            };
            let operands: Vec<NodeId> = sources.iter().map(operand).collect::<Option<_>>()?;
            let id = self.trace.nodes[rounds.start + number];
            let value = self.graph.rebuild(self.trace.graph.op(id), self.trace.graph.width(id), &operands);
            values.push(value);
        }
        for (&value, line) in lines {
            for ago in 0..line.n {
                let next = if ago == 0 { *values.get(value)? } else { *carried.get(&(value, ago))? };
                let index = self.index(line.first + ago);
                body.push(Effect::Store { object: line.object, index, value: next });
            }
        }
        for (&value, &object) in kept {
            body.push(Effect::Store { object, index: done, value: *values.get(value)? });
        }
        Some(())
    }

    /// An effect on what stands for values; there are no loops and choices where rounds are looked for.
    fn moved(&self, effect: &Effect) -> Option<Effect> {
        let of = |id: &NodeId| self.of(*id);
        Some(match effect {
            Effect::Load { id, object, index } => Effect::Load { id: *id, object: *object, index: of(index)? },
            Effect::Store { object, index, value } => {
                Effect::Store { object: *object, index: of(index)?, value: of(value)? }
            }
            Effect::Output { port, offset, value } => {
                Effect::Output { port: *port, offset: *offset, value: of(value)? }
            }
            Effect::Check { condition, index, length, span } => {
                Effect::Check { condition: of(condition)?, index: of(index)?, length: *length, span: *span }
            }
            Effect::While { .. } | Effect::If { .. } => return None,
        })
    }
}
