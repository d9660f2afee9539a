//! Partial vectorisation: gathers into lanes, then vector arithmetic. Iterations of a loop side by side: what differs
//! from one to the other is put into slots before, so that what is done with it is the same for all, and what comes out
//! is taken from slots behind.
//!
//! ```text
//! out[64 * p ..] := f(kept + p, in[64 * p ..]) ^ in[64 * p + 4 ..]
//!     =>  for each p: slot 0 := kept, slot 1 := in[64 * p ..]; kept := kept + 1
//!         for each p, at once: slot 2 := f(slot 0, slot 1)
//!         for each p: out[64 * p ..] := slot 2 ^ in[64 * p + 4 ..]
//! ```
//!
//! Tokens that are only added to what comes out, as those of stream ciphers are, come in at the end: they need no
//! slots.
//!
//! Worth while where most of an iteration is arithmetic that vectors have, and little of it is needed for what goes on
//! to the next.

use super::carried_scalars::Iterations;
use super::join_loads::join_loads;
use crate::kernel::{Effect, Graph, Loop, NodeId, Object, ObjectId, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Operations for each slot from which on iterations are worth running side by side: what a slot costs is about as
/// much.
const WORTH: usize = 6;

/// How much of an iteration may be needed for what goes on to the next: one in so many operations.
const UPDATES: usize = 8;

/// Bytes of a word.
const WORD: u64 = 4;

/// What a slot is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// With so many tokens from this one on.
    Tokens(Tokens),
    /// With a word of what is kept: which of [`Iterations::kept`], and which word.
    Kept(usize, usize),
}

/// Tokens of a slot: one, or bytes that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The port.
    pub port: u32,
    /// The first of them, in the iteration.
    pub first: u64,
    /// How many: 1, or 4 bytes.
    pub n: u64,
    /// Of several bytes, the first is the most significant.
    pub big: bool,
}

/// Slots of words of 32 bits or of 64. Of each kind, those that are read come first.
#[derive(Clone, Debug)]
pub struct Slots {
    /// The object that stands for them in the effects.
    pub object: ObjectId,
    /// What is put into them before.
    pub filled: Vec<Filled>,
    /// What is taken from those behind.
    pub taken: Vec<Taken>,
}

/// What is made of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The tokens that come out.
    pub tokens: Tokens,
    /// Tokens that go in and are added to them, modulo 2: what nothing else is done with needs no slot.
    pub plus: Option<Tokens>,
}

/// Iterations side by side.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The iterations one after the other, whose effects on what is kept go before.
    pub iterations: Iterations,
    /// What is done for each iteration with what is kept, in the graph of the iterations.
    pub updates: Vec<Effect>,
    /// Values from slots.
    pub graph: Graph,
    /// The objects of the iterations, and the slots behind them.
    pub objects: Vec<Object>,
    /// Slots of 32 bits and of 64.
    pub slots: [Slots; 2],
    /// What is done with slots.
    pub effects: Vec<Effect>,
}

impl Lanes {
    /// The iterations of a loop side by side, if they can run so and it is worth while.
    pub fn of(body: &Loop) -> Option<Lanes> {
        if !body.is_independent() {
            return None;
        }
        let iterations = Iterations::of(body);
        let first_kept = iterations.first_kept();
        let is_kept = |object: ObjectId| (object.0 as usize) >= first_kept;
        let mut outputs: Vec<(u32, u64, NodeId)> = Vec::new();
        let mut updates = Vec::new();
        for effect in &iterations.effects {
            match *effect {
                Effect::Output { port, offset, value } => outputs.push((port, offset, value)),
                Effect::Store { object, .. } if is_kept(object) => updates.push(effect.clone()),
                _ => return None,
            }
        }
        let roots: Vec<NodeId> = outputs.iter().map(|output| output.2).collect();
        let mut taking = Taking::new(&iterations, body);
        let order = iterations.graph.reachable(roots);
        taking.find_words(&order);
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for &id in &order {
            let new = taking.node(id, &known)?;
            known.insert(id, new);
        }
        let is_byte = |port: u32| body.produces[port as usize].1 == 8;
        let outputs = outputs.into_iter().map(|(port, offset, value)| (port, offset, known[&value])).collect();
        let first_slots = taking.first_slots;
        let mut made = words(&mut taking.graph, outputs, &is_byte)?;
        taking.add_late(&mut made);
        let (mut graph, filled) = taking.compacted(&mut made);
        let (effects, taken) = put(&mut graph, &made, first_slots, [filled[0].len(), filled[1].len()]);
        let [filled, filled_wide] = filled;
        let [own, wide] = taken;
        let n_slots = filled.len() + filled_wide.len() + own.len() + wide.len();
        let slots = |at: u32, filled, taken| Slots { object: ObjectId(first_slots + at), filled, taken };
        let slots = [slots(0, filled, own), slots(1, filled_wide, wide)];
        let mut objects = iterations.objects.clone();
        for (own, width) in slots.iter().zip([32, 64]) {
            let length = own.filled.len() + own.taken.len();
            objects.push(Object { name: format!("slots_{width}"), width, length, persistent: true, residue: None });
        }
        let (done, for_next) = (n_operations(&graph, &effects), n_operations(&iterations.graph, &updates));
        if done < WORTH * n_slots || for_next * UPDATES > done {
            return None;
        }
        Some(Lanes { updates, graph, objects, slots, effects, iterations })
    }
}

/// How many operations effects need.
fn n_operations(graph: &Graph, effects: &[Effect]) -> usize {
    let all = graph.reachable(effects.iter().flat_map(Effect::uses));
    all.into_iter().filter(|&id| graph.op(id).operands().iter().next().is_some()).count()
}

/// An iteration whose inputs become slots.
struct Taking<'a> {
    iterations: &'a Iterations,
    body: &'a Loop,
    graph: Graph,
    /// The number of the object of the slots of 32 bits; those of 64 are next.
    first_slots: u32,
    filled: [Vec<Filled>; 2],
    /// Bytes of an input port that belong to a word: the first of each word, and whether it is the most significant.
    words: FxHashMap<(u32, u64), bool>,
}

impl<'a> Taking<'a> {
    fn new(iterations: &'a Iterations, body: &'a Loop) -> Self {
        Taking {
            iterations,
            body,
            graph: Graph::with_tables_of(&iterations.graph),
            first_slots: iterations.objects.len() as u32,
            filled: [Vec::new(), Vec::new()],
            words: FxHashMap::default(),
        }
    }

    /// The slot that a node is the entry of.
    fn slot_of(&self, id: NodeId) -> Option<(usize, usize)> {
        let Op::Entry { object, index } = *self.graph.op(id) else { return None };
        let kind = object.0.checked_sub(self.first_slots)? as usize;
        Some((kind, self.graph.constant(index)? as usize))
    }

    /// Leaves tokens that nothing is done with but to add them to what comes out for the end.
    fn add_late(&self, made: &mut [Made]) {
        let graph = &self.graph;
        let mut uses: FxHashMap<NodeId, usize> = FxHashMap::default();
        for id in graph.reachable(made.iter().map(|one| one.value)) {
            graph.op(id).operands().iter().for_each(|operand| *uses.entry(*operand).or_default() += 1);
        }
        made.iter().for_each(|one| *uses.entry(one.value).or_default() += 1);
        for one in made {
            let Op::Xor(a, b) = *graph.op(one.value) else { continue };
            for (token, rest) in [(a, b), (b, a)] {
                let Some((kind, slot)) = self.slot_of(token) else { continue };
                if let Filled::Tokens(tokens) = self.filled[kind][slot]
                    && uses[&token] == 1
                    && (tokens.n, tokens.big) == (one.tokens.n, one.tokens.big)
                {
                    (one.value, one.plus) = (rest, Some(tokens));
                    break;
                }
            }
        }
    }

    /// The graph without slots that nothing reads, and what the others are filled with.
    fn compacted(&self, made: &mut [Made]) -> (Graph, [Vec<Filled>; 2]) {
        let mut graph = Graph::with_tables_of(&self.graph);
        let mut filled: [Vec<Filled>; 2] = Default::default();
        let mut slots: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in self.graph.reachable(made.iter().map(|one| one.value)) {
            let (op, width) = (self.graph.op(id), self.graph.width(id));
            let new = match self.slot_of(id) {
                Some((kind, slot)) => {
                    let new = *slots.entry((kind, slot)).or_insert_with(|| {
                        filled[kind].push(self.filled[kind][slot]);
                        filled[kind].len() - 1
                    });
                    let index = graph.number(new as u128, 64);
                    graph.entry(ObjectId(self.first_slots + kind as u32), index, width)
                }
                None => {
                    let operands: Vec<NodeId> = op.operands().iter().map(|operand| known[operand]).collect();
                    graph.rebuild(op, width, &operands)
                }
            };
            known.insert(id, new);
        }
        made.iter_mut().for_each(|one| one.value = known[&one.value]);
        (graph, filled)
    }

    /// Finds bytes that are read as words of four, and in which order.
    fn find_words(&mut self, order: &[NodeId]) {
        let graph = &self.iterations.graph;
        let token = |id: NodeId| match *graph.op(id) {
            Op::Input { port, offset } if graph.width(id) == 8 => Some((port, u64::try_from(offset).ok()?)),
            _ => None,
        };
        let mut read: BTreeMap<(u32, u64), [bool; WORD as usize]> = BTreeMap::new();
        let mut ascending: FxHashMap<(u32, u64), i64> = FxHashMap::default();
        for &id in order {
            if let Some((port, offset)) = token(id) {
                read.entry((port, offset / WORD)).or_default()[(offset % WORD) as usize] = true;
            }
            if let Op::Concat(parts) = graph.op(id) {
                for pair in parts.windows(2) {
                    if let [Some((port, a)), Some((other, b))] = [token(pair[0]), token(pair[1])]
                        && port == other
                        && a / WORD == b / WORD
                    {
                        *ascending.entry((port, a / WORD)).or_default() += if b > a { 1 } else { -1 };
                    }
                }
            }
        }
        for (word, bytes) in read {
            let first = word.1 * WORD;
            let there = self.body.consumes[word.0 as usize].0;
            if bytes.iter().all(|&byte| byte) && first + WORD <= there {
                let big = ascending.get(&word).is_none_or(|&up| up >= 0);
                self.words.insert((word.0, first), big);
            }
        }
    }

    /// The entry of the slot that is filled with this.
    fn slot(&mut self, filled: Filled, width: u32) -> Option<NodeId> {
        let kind = match width {
            ..=32 => 0,
            33..=64 => 1,
            _ => return None,
        };
        let slots = &mut self.filled[kind];
        let at = slots.iter().position(|own| *own == filled).unwrap_or_else(|| {
            slots.push(filled);
            slots.len() - 1
        });
        let index = self.graph.number(at as u128, 64);
        let bits = [32, 64][kind];
        let entry = self.graph.entry(ObjectId(self.first_slots + kind as u32), index, bits);
        Some(self.graph.extract(entry, 0, width))
    }

    fn node(&mut self, id: NodeId, known: &FxHashMap<NodeId, NodeId>) -> Option<NodeId> {
        let iterations = self.iterations;
        let (op, width) = (iterations.graph.op(id), iterations.graph.width(id));
        match op {
            Op::Input { port, offset } => {
                let offset = u64::try_from(*offset).ok()?;
                let first = offset / WORD * WORD;
                match self.words.get(&(*port, first)).copied().filter(|_| width == 8) {
                    Some(big) => {
                        let word = self.slot(Filled::Tokens(Tokens { port: *port, first, n: WORD, big }), 32)?;
                        let place = (offset - first) as u32;
                        let place = if big { WORD as u32 - 1 - place } else { place };
                        Some(self.graph.extract(word, 8 * place, 8))
                    }
                    None => self.slot(Filled::Tokens(Tokens { port: *port, first: offset, n: 1, big: false }), width),
                }
            }
            Op::Entry { object, index } => {
                // What is read at places that differ from lane to lane has no vector.
                let index = iterations.graph.constant(*index)?;
                match (object.0 as usize).checked_sub(iterations.first_kept()) {
                    Some(kept) => self.slot(Filled::Kept(kept, index as usize), width),
                    None => {
                        let index = self.graph.number(index, 64);
                        (width <= 64).then(|| self.graph.entry(*object, index, width))
                    }
                }
            }
            Op::Lookup(..) | Op::LookupBytes(..) | Op::Divide(..) | Op::Remainder(..) => None,
            Op::Loaded(_) | Op::Instruction { .. } => None,
            Op::Concat(parts) => {
                let parts: Vec<NodeId> = parts.iter().map(|part| known[part]).collect();
                Some(join_loads(&mut self.graph, &parts))
            }
            _ => {
                let operands: Vec<NodeId> = op.operands().iter().map(|operand| known[operand]).collect();
                Some(self.graph.rebuild(op, width, &operands))
            }
        }
    }
}

/// A word that comes out.
struct Made {
    tokens: Tokens,
    value: NodeId,
    plus: Option<Tokens>,
}

/// What comes out, bytes that lie together as words.
fn words(graph: &mut Graph, mut outputs: Vec<(u32, u64, NodeId)>, is_byte: &dyn Fn(u32) -> bool) -> Option<Vec<Made>> {
    outputs.sort_by_key(|&(port, offset, _)| (port, offset));
    let mut made = Vec::new();
    let mut rest = outputs.as_slice();
    while let [(port, first, value), ..] = *rest {
        let together = (0..).zip(rest).take_while(|(i, one)| one.0 == port && one.1 == first + i).count() as u64;
        let (n, big, value) = if is_byte(port) && first.is_multiple_of(WORD) && together >= WORD {
            let (big, word) = whole(graph, &rest[..WORD as usize]);
            (WORD, big, word)
        } else {
            (1, false, value)
        };
        rest = &rest[n as usize..];
        if graph.width(value) > 64 {
            return None;
        }
        made.push(Made { tokens: Tokens { port, first, n, big }, value, plus: None });
    }
    Some(made)
}

/// Stores to slots, from those behind the ones that are filled, and what is taken from them.
fn put(graph: &mut Graph, made: &[Made], first_slots: u32, n_filled: [usize; 2]) -> (Vec<Effect>, [Vec<Taken>; 2]) {
    let mut taken: [Vec<Taken>; 2] = Default::default();
    let effects = made.iter().map(|one| {
        let kind = usize::from(graph.width(one.value) > 32);
        let value = graph.zero_extend(one.value, [32, 64][kind]);
        let index = graph.number((n_filled[kind] + taken[kind].len()) as u128, 64);
        taken[kind].push(Taken { tokens: one.tokens, plus: one.plus });
        Effect::Store { object: ObjectId(first_slots + kind as u32), index, value }
    });
    (effects.collect(), taken)
}

/// Bytes as a word in the order in which they are one already, if there is one.
fn whole(graph: &mut Graph, bytes: &[(u32, u64, NodeId)]) -> (bool, NodeId) {
    let mut parts: Vec<NodeId> = bytes.iter().map(|byte| byte.2).collect();
    let big = join_loads(graph, &parts);
    parts.reverse();
    let little = join_loads(graph, &parts);
    let is_whole = |id: NodeId| !matches!(graph.op(id), Op::Concat(_));
    if !is_whole(big) && is_whole(little) { (false, little) } else { (true, big) }
}
