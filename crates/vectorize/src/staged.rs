//! Instruction selection for the part of a transition that has blocks: a transition as a short part in plain statements, and
//! a long one as a loop of one iteration, whichever comes first.
//!
//! What is short, and what reads or writes lists at places that are not known before, is done first. The bytes that what is
//! long needs of it are written down side by side and come as tokens of one more port: then the long part is a loop over
//! tokens and keys, and what it stores leaves as tokens too. Example: the mask of a block is taken from a table at a place
//! that a counter tells, and the block is masked and enciphered.
//!
//! Or what is long stores whole blocks, and the rest needs no more than bytes of these, which it reads where they were stored.
//! Example: blocks are enciphered and kept, and a part of each is a key.

use crate::blocks::BYTES;
use crate::single_iteration::FEWEST_NODES;
use headrace_ir::{Network, Port};
use headrace_transform::control::Automaton;
use headrace_transform::kernel::{Block, Effect, Graph, Loop, NodeId, Object, ObjectId, Op, Transition};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Values that an effect may need and still be short.
const SHORT: usize = 100;

/// Values that a byte may be made of and still be gathered.
const FEW: usize = 12;

/// Bits of the numbers of elements.
const INDEX: u32 = 32;

/// A transition in two parts.
pub struct Staged {
    /// Effects that come first.
    pub first: Vec<Effect>,
    /// Bytes that are written down after them.
    pub bytes: Vec<NodeId>,
    /// The others, as a loop of one iteration: the bytes are tokens of its last input port.
    pub body: Loop,
    /// Where bytes begin that leave on further output ports.
    pub stored: Vec<(ObjectId, usize)>,
}

/// A transition whose long part comes first.
pub struct Followed {
    /// Effects that have nothing to do with it, which come before it.
    pub first: Vec<Effect>,
    /// The long part, as a loop of one iteration.
    pub body: Loop,
    /// Where the bytes begin that its output ports store.
    pub stored: Vec<(ObjectId, usize)>,
    /// Bytes that one more output port hands to what comes behind it, as an object of their own.
    pub handed: Option<Object>,
    /// What comes behind it, and reads what it has stored or handed on.
    pub behind: Block,
}

/// What a transition is made of.
pub struct Source<'a> {
    /// The values.
    graph: &'a Graph,
    /// What its objects are.
    objects: &'a [Object],
    /// What it consumes and produces.
    transition: &'a Transition,
    /// Bits of the tokens of each input port.
    inputs: Vec<u32>,
    /// Bits of the tokens of each output port.
    outputs: Vec<u32>,
}

impl<'a> Source<'a> {
    /// A transition of the automaton of a network.
    pub fn of(automaton: &'a Automaton, network: &Network, transition: &'a Transition) -> Self {
        let width = |port: &Port| port.ty.width();
        Source {
            graph: &automaton.graph,
            objects: &automaton.objects,
            transition,
            inputs: network.inputs.iter().map(width).collect(),
            outputs: network.outputs.iter().map(width).collect(),
        }
    }
}

impl Source<'_> {
    /// Effects of the transition in two parts, if one of them is long and needs bytes of the other; `gathered`: also where these
    /// are made of tokens and elements in a few steps, so that blocks lie side by side that come from several places.
    pub fn staged(&self, effects: &[Effect], gathered: bool) -> Option<Staged> {
        let graph = self.graph;
        let is_plain = |effect: &Effect| match effect {
            Effect::Store { index, .. } => graph.constant(*index).is_some(),
            Effect::Output { .. } => true,
            _ => false,
        };
        // Nothing that reads what others have stored comes after this.
        let begin = effects.iter().rposition(|effect| !is_plain(effect)).map_or(0, |at| at + 1);
        let is_long = |effect: &Effect| is_long(graph, effect);
        let mut first = effects[..begin].to_vec();
        if first.iter().any(is_long) {
            return None;
        }
        let (long, short): (Vec<Effect>, Vec<Effect>) = effects[begin..].iter().cloned().partition(is_long);
        let written: FxHashSet<(ObjectId, u128)> = short.iter().filter_map(|effect| place(graph, effect)).collect();
        if long.is_empty() || long.iter().filter_map(|effect| place(graph, effect)).any(|at| written.contains(&at)) {
            return None;
        }
        first.extend(short);
        // Loads in loops and choices are not there any more behind them.
        let loaded: FxHashSet<u32> = first
            .iter()
            .filter_map(|effect| match effect {
                Effect::Load { id, .. } => Some(*id),
                _ => None,
            })
            .collect();
        let known: FxHashSet<NodeId> = first
            .iter()
            .filter_map(|effect| match effect {
                Effect::Store { value, .. } | Effect::Output { value, .. } => Some(*value),
                _ => None,
            })
            .filter(|&value| !matches!(graph.op(value), Op::Const(_) | Op::Input { .. }))
            .collect();
        let stored: FxHashSet<ObjectId> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Store { object, .. } => Some(*object),
                _ => None,
            })
            .collect();
        let is_byte = |id: NodeId| match graph.op(id) {
            Op::Loaded(_) => true,
            Op::Entry { object, index } => stored.contains(object) || graph.constant(*index).is_none(),
            _ => known.contains(&id) || gathered && graph.width(id) == 8 && is_gathered(graph, &stored, id),
        };
        let mut bytes = FxHashSet::default();
        let mut met = FxHashSet::default();
        let mut open: Vec<NodeId> = long.iter().flat_map(Effect::uses).collect();
        while let Some(id) = open.pop() {
            if !met.insert(id) {
                continue;
            }
            match is_byte(id) {
                true => bytes.insert(id),
                false => {
                    open.extend(graph.op(id).operands());
                    false
                }
            };
        }
        let is_there = |id: &NodeId| {
            let there = !matches!(graph.op(*id), Op::Loaded(load) if !loaded.contains(load));
            there && graph.width(*id) == 8
        };
        if bytes.is_empty() || !bytes.iter().all(is_there) || met.len() < FEWEST_NODES {
            return None;
        }
        let mut bytes: Vec<NodeId> = bytes.into_iter().collect();
        bytes.sort_unstable();
        let (body, stored) = self.body(&long, &bytes, &[])?;
        Some(Staged { first, bytes, body, stored })
    }

    /// Effects of the transition in two parts, if one of them stores whole blocks and the other is short where these are there.
    pub fn followed(&self, effects: &[Effect]) -> Option<Followed> {
        let graph = self.graph;
        let mut places: BTreeMap<(ObjectId, u128), NodeId> = BTreeMap::new();
        for effect in effects {
            match effect {
                Effect::Store { object, value, .. } => {
                    let twice = places.insert((*object, place(graph, effect)?.1), *value).is_some();
                    if twice || !self.objects[object.0 as usize].persistent {
                        return None;
                    }
                }
                Effect::Output { .. } => {}
                _ => return None,
            }
        }
        let (long, first): (Vec<&Effect>, Vec<&Effect>) = effects.iter().partition(|effect| is_long(graph, effect));
        let is_leading = self.blocks_stored(&long);
        let (leading, rest): (Vec<&Effect>, Vec<&Effect>) =
            long.into_iter().partition(|effect| place(graph, effect).is_some_and(|at| is_leading.contains(&at)));
        let mut there: FxHashMap<NodeId, (ObjectId, u128)> =
            leading.iter().filter_map(|effect| Some((stored_value(effect)?, place(graph, effect)?))).collect();
        let own = ObjectId(self.objects.len() as u32);
        let handed = self.blocks_read(&rest, &there);
        there.extend(handed.iter().enumerate().map(|(at, &byte)| (byte, (own, at as u128))));
        if there.is_empty() || rest.is_empty() {
            return None;
        }
        // Whoever reads what is stored would have to come before that; those that come first do.
        let reads_stored = |id: &NodeId| match graph.op(*id) {
            Op::Entry { object, index } => match graph.constant(*index) {
                Some(at) => places.contains_key(&(*object, at)),
                None => places.keys().any(|place| place.0 == *object),
            },
            _ => false,
        };
        let made = graph.reachable(leading.iter().flat_map(|effect| effect.uses()).chain(handed.iter().copied()));
        if made.len() < FEWEST_NODES || made.iter().any(reads_stored) {
            return None;
        }
        let mut short = Graph::with_tables_of(graph);
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (&id, &(object, at)) in &there {
            let index = short.number(at, INDEX);
            new.insert(id, short.entry(object, index, graph.width(id)));
        }
        let mut behind = Vec::new();
        for effect in rest {
            let known = new.len();
            let mut open = effect.uses();
            while let Some(&id) = open.last() {
                let missing: Vec<NodeId> = match new.contains_key(&id) {
                    true => Vec::new(),
                    false => graph.op(id).operands().into_iter().filter(|one| !new.contains_key(one)).collect(),
                };
                if !missing.is_empty() {
                    open.extend(missing);
                    continue;
                }
                open.pop();
                if new.contains_key(&id) {
                    continue;
                }
                let is_far = matches!(graph.op(id), Op::Input { .. } | Op::Loaded(_)) || reads_stored(&id);
                if is_far || new.len() > known + SHORT {
                    return None;
                }
                let copied = short.copy(graph, id, &new)?;
                new.insert(id, copied);
            }
            behind.push(match effect {
                Effect::Store { object, index, value } => {
                    let index = short.number(graph.constant(*index)?, INDEX);
                    Effect::Store { object: *object, index, value: *new.get(value)? }
                }
                Effect::Output { port, offset, value } => {
                    Effect::Output { port: *port, offset: *offset, value: *new.get(value)? }
                }
                _ => return None,
            });
        }
        let leading: Vec<Effect> = leading.into_iter().cloned().collect();
        let (body, stored) = self.body(&leading, &[], &handed)?;
        let mut name = "handed".to_owned();
        while self.objects.iter().any(|object| object.name == name) {
            name.push('_');
        }
        // Who comes behind finds bytes in it, where an object of its own would begin with zeros.
        let object = Object { name, width: 8, length: handed.len(), persistent: true, residue: None };
        let handed = (!handed.is_empty()).then_some(object);
        let objects: Vec<Object> = self.objects.iter().chain(&handed).cloned().collect();
        let behind = Block { graph: short, n_indexed: objects.len(), objects, effects: behind, filled: Vec::new() };
        Some(Followed { first: first.into_iter().cloned().collect(), body, stored, handed, behind })
    }

    /// Bytes of whole blocks that effects read in a few steps, of those that take many and are not there: sums or what is looked up,
    /// as blocks end with.
    fn blocks_read(&self, effects: &[&Effect], there: &FxHashMap<NodeId, (ObjectId, u128)>) -> Vec<NodeId> {
        let graph = self.graph;
        let mut met = FxHashSet::default();
        let mut read = BTreeSet::new();
        let mut open: Vec<NodeId> = effects.iter().flat_map(|effect| effect.uses()).collect();
        while let Some(id) = open.pop().filter(|_| met.len() <= SHORT) {
            if there.contains_key(&id) || !met.insert(id) || !is_far(graph, vec![id], there) {
                continue;
            }
            let ends = graph.width(id) == 8 && matches!(graph.op(id), Op::Xor(..) | Op::Lookup(..));
            match ends {
                true => _ = read.insert(id),
                false => open.extend(graph.op(id).operands()),
            }
        }
        if met.len() > SHORT || !read.len().is_multiple_of(BYTES) { Vec::new() } else { read.into_iter().collect() }
    }

    /// Places that effects store bytes at which lie side by side in whole blocks.
    fn blocks_stored(&self, effects: &[&Effect]) -> FxHashSet<(ObjectId, u128)> {
        let is_bytes = |at: &(ObjectId, u128)| self.objects[at.0.0 as usize].width == 8;
        let mut places: Vec<_> =
            effects.iter().filter_map(|effect| place(self.graph, effect)).filter(is_bytes).collect();
        places.sort_unstable();
        let runs = places.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1);
        runs.filter(|run| run.len() % BYTES == 0).flatten().copied().collect()
    }

    /// Effects as a loop of one iteration to which some values come as tokens, and where the bytes begin that it
    /// stores.
    fn body(&self, effects: &[Effect], bytes: &[NodeId], handed: &[NodeId]) -> Option<(Loop, Vec<(ObjectId, usize)>)> {
        let (from, transition) = (self.graph, self.transition);
        let mut graph = Graph::with_tables_of(from);
        let mut consumes: Vec<(u64, u32)> = self.inputs.iter().map(|&width| (0, width)).collect();
        let mut produces: Vec<(u64, u32)> = self.outputs.iter().map(|&width| (0, width)).collect();
        let port = consumes.len() as u32;
        consumes.push((bytes.len() as u64, 8));
        let mut new: FxHashMap<NodeId, NodeId> =
            bytes.iter().enumerate().map(|(at, &id)| (id, graph.input(port, at as i64, 8))).collect();
        let mut open: Vec<NodeId> = effects.iter().flat_map(Effect::uses).chain(handed.iter().copied()).collect();
        while let Some(&id) = open.last() {
            if new.contains_key(&id) {
                open.pop();
                continue;
            }
            let op = from.op(id);
            let missing: Vec<NodeId> = op.operands().into_iter().filter(|operand| !new.contains_key(operand)).collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            if let Op::Input { port, .. } = op {
                consumes[*port as usize].0 = transition.consumes[*port as usize];
            }
            let made = graph.copy(from, id, &new)?;
            new.insert(id, made);
        }
        let mut outputs = Vec::new();
        let mut stores: BTreeMap<(ObjectId, usize), NodeId> = BTreeMap::new();
        for effect in effects {
            match effect {
                Effect::Output { port, offset, value } => {
                    produces[*port as usize].0 += 1;
                    outputs.push((*port, *offset, *new.get(value)?));
                }
                Effect::Store { object, index, value } => {
                    let at = usize::try_from(from.constant(*index)?).ok()?;
                    let kept = &self.objects[object.0 as usize];
                    let twice = stores.insert((*object, at), *new.get(value)?).is_some();
                    if twice || kept.width != 8 || !kept.persistent {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        if produces.iter().zip(&transition.produces).any(|(own, &all)| own.0 != 0 && own.0 != all) {
            return None;
        }
        let mut stored: Vec<(ObjectId, usize)> = Vec::new();
        for ((object, at), value) in stores {
            let follows = |&(other, first): &(ObjectId, usize)| {
                let n = produces.last().map_or(0, |port| port.0 as usize);
                other == object && first + n == at
            };
            if !stored.last().is_some_and(follows) {
                stored.push((object, at));
                produces.push((0, 8));
            }
            let port = produces.len() - 1;
            outputs.push((port as u32, produces[port].0, value));
            produces[port].0 += 1;
        }
        if !handed.is_empty() {
            let port = produces.len() as u32;
            produces.push((handed.len() as u64, 8));
            for (at, byte) in handed.iter().enumerate() {
                outputs.push((port, at as u64, *new.get(byte)?));
            }
        }
        let objects = self.objects.to_vec();
        let body = Loop { graph, objects, consumes, produces, outputs, carried: Vec::new(), counters: Vec::new() };
        Some((body, stored))
    }
}

/// Whether a value is made in a few steps, of tokens or of elements of objects among these.
fn is_gathered(graph: &Graph, stored: &FxHashSet<ObjectId>, id: NodeId) -> bool {
    let mut met = FxHashSet::default();
    let mut open = vec![id];
    let mut varies = false;
    while let Some(id) = open.pop() {
        if !met.insert(id) {
            continue;
        }
        match graph.op(id) {
            Op::Input { .. } => varies = true,
            Op::Entry { object, .. } => varies |= stored.contains(object),
            Op::Lookup(..) | Op::LookupBytes(..) => return false,
            _ => {}
        }
        if met.len() > FEW {
            return false;
        }
        open.extend(graph.op(id).operands());
    }
    varies
}

/// Whether an effect needs more values than are short.
fn is_long(graph: &Graph, effect: &Effect) -> bool {
    is_far(graph, effect.uses(), &FxHashMap::default())
}

/// Whether values need more others than are short, but for those that are there.
fn is_far(graph: &Graph, mut open: Vec<NodeId>, there: &FxHashMap<NodeId, (ObjectId, u128)>) -> bool {
    let mut met = FxHashSet::default();
    while let Some(id) = open.pop().filter(|_| met.len() <= SHORT) {
        if !there.contains_key(&id) && met.insert(id) {
            open.extend(graph.op(id).operands());
        }
    }
    met.len() > SHORT
}

/// The value that an effect stores.
fn stored_value(effect: &Effect) -> Option<NodeId> {
    match effect {
        Effect::Store { value, .. } => Some(*value),
        _ => None,
    }
}

/// The element that an effect writes, if it is known.
fn place(graph: &Graph, effect: &Effect) -> Option<(ObjectId, u128)> {
    match effect {
        Effect::Store { object, index, .. } => Some((*object, graph.constant(*index)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: ObjectId = ObjectId(0);
    const MADE: ObjectId = ObjectId(1);

    /// A token, masked with a byte of a list, goes through many products; the byte goes on, and the place in the list.
    fn masked(graph: &mut Graph) -> (NodeId, Vec<Effect>) {
        let at = graph.number(0, 32);
        let place = graph.input(1, 0, 8);
        let place = graph.zero_extend(place, 32);
        let mask = graph.entry(LIST, place, 8);
        let token = graph.input(0, 0, 8);
        let mut value = graph.xor(token, mask);
        for _ in 0..2 * FEWEST_NODES {
            value = graph.product(value, value);
            value = graph.sum(value, token);
        }
        let store = |object, value| Effect::Store { object, index: at, value };
        (mask, vec![store(LIST, mask), store(MADE, value), Effect::Output { port: 0, offset: 0, value }])
    }

    fn source<'a>(graph: &'a Graph, objects: &'a [Object], transition: &'a Transition) -> Source<'a> {
        Source { graph, objects, transition, inputs: vec![8, 8], outputs: vec![8] }
    }

    fn objects(width: u32) -> [Object; 2] {
        let object = |name: &str, length| Object { name: name.into(), width, length, persistent: true, residue: None };
        [object("list", 256), object("made", 1)]
    }

    #[test]
    fn what_is_short_is_written_down() {
        let mut graph = Graph::new();
        let (mask, effects) = masked(&mut graph);
        let transition = Transition { effects: effects.clone(), consumes: vec![1, 1], produces: vec![1] };
        let objects = objects(8);
        let Some(staged) = source(&graph, &objects, &transition).staged(&effects, false) else { panic!("one part") };
        assert_eq!((staged.first, staged.bytes), (effects[..1].to_vec(), vec![mask]));
        // The place is of no use behind it, and what is stored is one more port.
        assert_eq!(staged.body.consumes, [(1, 8), (0, 8), (1, 8)]);
        assert_eq!(staged.body.produces, [(1, 8), (1, 8)]);
        assert_eq!(staged.stored, [(MADE, 0)]);
        let reads = |id: &NodeId| matches!(staged.body.graph.op(*id), Op::Entry { .. });
        assert!(!staged.body.graph.reachable(staged.body.roots()).iter().any(reads));
    }

    #[test]
    fn what_is_made_of_tokens_in_a_few_steps_is_gathered() {
        let mut graph = Graph::new();
        let (at, key) = (graph.number(0, 32), graph.number(7, 32));
        let token = graph.input(0, 0, 8);
        let (bit, key) = (graph.number(1, 8), graph.entry(LIST, key, 8));
        let mut value = graph.or(token, bit);
        for _ in 0..2 * FEWEST_NODES {
            value = graph.product(value, value);
            value = graph.sum(value, key);
        }
        let effects = [Effect::Store { object: MADE, index: at, value }];
        let transition = Transition { effects: effects.to_vec(), consumes: vec![1, 0], produces: vec![0] };
        let objects = objects(8);
        assert!(source(&graph, &objects, &transition).staged(&effects, false).is_none());
        let Some(staged) = source(&graph, &objects, &transition).staged(&effects, true) else { panic!("one part") };
        // A few steps more are, too; what nobody stores is read where it is.
        assert_eq!((staged.bytes.len(), staged.body.consumes), (1, vec![(0, 8), (0, 8), (1, 8)]));
    }

    #[test]
    fn what_ends_with_the_kernel_is_no_port() {
        let mut graph = Graph::new();
        let (_, effects) = masked(&mut graph);
        let transition = Transition { effects: effects.clone(), consumes: vec![1, 1], produces: vec![1] };
        let mut objects = objects(8);
        objects[1].persistent = false;
        assert!(source(&graph, &objects, &transition).staged(&effects, false).is_none());
    }

    /// A token goes through many products for each byte of a block, which is kept; a word has bytes of it.
    fn kept(graph: &mut Graph, n: usize) -> Vec<Effect> {
        let bytes: Vec<NodeId> = (0..n as i64).map(|at| long(graph, at)).collect();
        let store = |graph: &mut Graph, at: usize, value| Effect::Store {
            object: MADE,
            index: graph.number(at as u128, 32),
            value,
        };
        let mut effects: Vec<Effect> = bytes.iter().enumerate().map(|(at, &byte)| store(graph, at, byte)).collect();
        let word = graph.concat(&[bytes[1], bytes[0]]);
        let at = graph.number(0, 32);
        effects.push(Effect::Store { object: WORD, index: at, value: word });
        effects
    }

    fn long(graph: &mut Graph, at: i64) -> NodeId {
        let token = graph.input(0, at, 8);
        let mut value = token;
        for _ in 0..SHORT {
            value = graph.product(value, value);
            value = graph.sum(value, token);
        }
        value
    }

    const WORD: ObjectId = ObjectId(2);

    fn followed(n: usize, change: impl FnOnce(&mut Graph, &mut Vec<Effect>)) -> Option<Followed> {
        let mut graph = Graph::new();
        let mut effects = kept(&mut graph, n);
        change(&mut graph, &mut effects);
        let transition = Transition { effects: effects.clone(), consumes: vec![n as u64, 0], produces: vec![0] };
        let [list, mut made] = objects(8);
        made.length = 2 * BYTES;
        let word = Object { width: 16, name: "word".into(), ..made.clone() };
        source(&graph, &[list, made, word], &transition).followed(&effects)
    }

    #[test]
    fn what_reads_blocks_that_are_stored_comes_behind() {
        let Some(followed) = followed(BYTES, |_, _| ()) else { panic!("one part") };
        assert!(followed.first.is_empty());
        assert_eq!((followed.body.produces, followed.stored), (vec![(0, 8), (BYTES as u64, 8)], vec![(MADE, 0)]));
        let Block { graph, effects, .. } = followed.behind;
        let [Effect::Store { object: WORD, value, .. }] = effects[..] else { panic!("{effects:?}") };
        let read = graph.reachable([value]).into_iter().filter_map(|id| match graph.op(id) {
            Op::Entry { object, index } => Some((*object, graph.constant(*index)?)),
            _ => None,
        });
        let mut read: Vec<_> = read.collect();
        read.sort_unstable();
        assert_eq!(read, [(MADE, 0), (MADE, 1)]);
    }

    #[test]
    fn a_block_that_nobody_stores_is_handed_on() {
        let mut graph = Graph::new();
        let key = graph.number(0, 8);
        let bytes: Vec<NodeId> = (0..BYTES as i64)
            .map(|at| {
                let (value, key) = (long(&mut graph, at), graph.input(1, at, 8));
                graph.xor(value, key)
            })
            .collect();
        let any = bytes.iter().fold(key, |any, &byte| graph.or(any, byte));
        let effects = [Effect::Output { port: 0, offset: 0, value: any }];
        let n = BYTES as u64;
        let transition = Transition { effects: effects.to_vec(), consumes: vec![n, n], produces: vec![1] };
        let objects = objects(8);
        let Some(followed) = source(&graph, &objects, &transition).followed(&effects) else { panic!("one part") };
        assert_eq!((followed.body.produces, followed.stored), (vec![(0, 8), (n, 8)], Vec::new()));
        let handed = followed.handed.unwrap();
        assert_eq!((handed.length, handed.persistent), (BYTES, true));
        let Block { graph, effects, objects, .. } = followed.behind;
        assert!(objects.last().is_some_and(|own| own.persistent));
        let [Effect::Output { value, .. }] = effects[..] else { panic!("{effects:?}") };
        let own = ObjectId(objects.len() as u32 - 1);
        let reads = |id: &NodeId| matches!(graph.op(*id), Op::Entry { object, .. } if *object == own);
        assert_eq!(graph.reachable([value]).iter().filter(|id| reads(id)).count(), BYTES);
    }

    #[test]
    fn what_is_no_block_or_is_long_behind_it_has_no_followers() {
        assert!(followed(BYTES - 1, |_, _| ()).is_none(), "a part of a block");
        let another = |graph: &mut Graph, effects: &mut Vec<Effect>| {
            let (index, value) = (graph.number(1, 32), long(graph, 0));
            let value = graph.product(value, value);
            let value = graph.concat(&[value, value]);
            effects.push(Effect::Store { object: WORD, index, value });
        };
        // A few more values, since one of the bytes is that long as well.
        assert!(followed(BYTES, another).is_some());
        let far = |graph: &mut Graph, effects: &mut Vec<Effect>| {
            let (index, value) = (graph.number(1, 32), long(graph, 1 << 20));
            let value = graph.concat(&[value, value]);
            effects.push(Effect::Store { object: WORD, index, value });
        };
        assert!(followed(BYTES, far).is_none(), "long by itself");
        let stale = |graph: &mut Graph, effects: &mut Vec<Effect>| {
            let (index, old) = (graph.number(1, 32), graph.number(3, 32));
            let (old, value) = (graph.entry(MADE, old, 8), long(graph, 0));
            let value = graph.concat(&[old, value]);
            effects.push(Effect::Store { object: WORD, index, value });
        };
        assert!(followed(BYTES, stale).is_none(), "what was there before the block");
    }

    #[test]
    fn elements_have_one_writer_and_checks_come_first() {
        let mut graph = Graph::new();
        let (_, mut effects) = masked(&mut graph);
        let transition = Transition { effects: effects.clone(), consumes: vec![1, 1], produces: vec![1] };
        let objects = objects(8);
        let again = effects[1].clone();
        effects.push(again);
        assert!(source(&graph, &objects, &transition).staged(&effects, false).is_none());
        effects.pop();
        let Effect::Output { value, .. } = effects[2] else { panic!("no token") };
        let condition = graph.extract(value, 0, 1);
        effects.push(Effect::Check { condition, index: value, length: 1, span: headrace_source::Span::default() });
        assert!(source(&graph, &objects, &transition).staged(&effects, false).is_none());
    }
}
