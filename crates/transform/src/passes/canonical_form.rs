//! Canonical form of transitions and loops, for function merging: what they do apart from where they keep things.
//!
//! Parts that were written once and stand in several networks have transitions and loops that do the same on other objects,
//! ports and tables. Here all of these have numbers: objects and tables in the order in which they are met, ports in the order
//! of the network among those that are used, values in the order in which they are needed. What has an equal [`Key`] does the
//! same, given its objects and ports in these orders, whatever it was printed from; so the key, not a text, says which functions
//! are one.

use super::canonicalize_loop::bare;
use super::pass::BlockRef;
use crate::kernel::{Carry, Effect, Graph, Loop, NodeId, Object, ObjectId, Op, TableId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transition or a loop does, by numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// Operations, their widths, operands by number. Objects, ports, tables and loads in them are numbers, too.
    nodes: Vec<(Op, u32, Vec<u32>)>,
    /// Widths and elements.
    tables: Vec<(u32, Arc<[u128]>)>,
    /// Effects, and what iterations leave: what it is, then its numbers.
    effects: Vec<(&'static str, Vec<u64>)>,
    /// Counters, delays and what else goes from iteration to iteration.
    carried: Vec<Carry>,
    /// Widths, lengths, and whether they live on.
    objects: Vec<(u32, usize, bool)>,
    /// Tokens of an iteration and their widths; inputs, outputs.
    ports: [Vec<(u64, u32)>; 2],
}

/// A transition or a loop in numbers.
#[derive(Clone, Debug)]
pub struct Canonical {
    /// Equal for what does the same.
    pub key: Key,
    /// What its objects are.
    pub objects: Vec<ObjectId>,
    /// What its input ports are.
    pub inputs: Vec<u32>,
    /// What its output ports are.
    pub outputs: Vec<u32>,
}

impl Canonical {
    /// The form of effects.
    pub fn of_block(block: BlockRef) -> Canonical {
        let mut outputs = BTreeSet::new();
        Effect::walk(block.effects, &mut |effect| {
            if let Effect::Output { port, .. } = effect {
                outputs.insert(*port);
            }
        });
        let mut met = Met::new(block.graph, block.objects, &Effect::roots(block.effects), outputs);
        met.effects(block.effects);
        met.done()
    }

    /// The same with one number for all objects that only live while it runs: which these are makes no difference.
    #[must_use]
    pub fn with_locals_alike(mut self) -> Canonical {
        for (object, (.., persistent)) in self.objects.iter_mut().zip(&self.key.objects) {
            if !persistent {
                *object = ObjectId(u32::MAX);
            }
        }
        self
    }

    /// The form of a loop.
    pub fn of_loop(body: &Loop) -> Canonical {
        let used = |ports: &[(u64, u32)]| -> BTreeSet<u32> {
            ports.iter().enumerate().filter(|(_, port)| port.0 > 0).map(|(at, _)| at as u32).collect()
        };
        let mut met = Met::new(&body.graph, &body.objects, &body.roots(), used(&body.produces));
        met.inputs = used(&body.consumes).into_iter().collect();
        met.key.ports = [(&met.inputs, &body.consumes), (&met.outputs, &body.produces)]
            .map(|(used, ports)| used.iter().filter_map(|&port| ports.get(port as usize).copied()).collect());
        for &(port, offset, value) in &body.outputs {
            let (port, value) = (met.output(port), met.node(value));
            met.key.effects.push(("output", vec![port, offset, value]));
        }
        for one in &body.carried {
            let (object, next) = (met.object(one.object), met.node(one.next));
            met.key.effects.push(("carried", vec![object, one.index as u64, next]));
            met.key.carried.push(one.carry.clone());
        }
        for counter in &body.counters {
            let start = met.node(counter.start);
            met.key.effects.push(("counter", vec![start, counter.step as u64, (counter.step >> 64) as u64]));
        }
        met.done()
    }
}

/// What has been met so far.
struct Met<'a> {
    graph: &'a Graph,
    all: &'a [Object],
    numbers: FxHashMap<NodeId, u32>,
    loads: FxHashMap<u32, u32>,
    objects: Vec<ObjectId>,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
    key: Key,
}

/// Stands before the number of an element that is known.
const PLACE: u32 = u32::MAX;

/// The place of something in a list, which it is put behind where it is not there.
fn place<T: PartialEq>(list: &mut Vec<T>, wanted: T) -> usize {
    list.iter().position(|known| *known == wanted).unwrap_or_else(|| {
        list.push(wanted);
        list.len() - 1
    })
}

impl<'a> Met<'a> {
    fn new(graph: &'a Graph, all: &'a [Object], roots: &[NodeId], outputs: BTreeSet<u32>) -> Met<'a> {
        let read: BTreeSet<u32> = graph
            .reachable(roots.iter().copied())
            .into_iter()
            .filter_map(|id| match graph.op(id) {
                Op::Input { port, .. } => Some(*port),
                _ => None,
            })
            .collect();
        Met {
            graph,
            all,
            numbers: FxHashMap::default(),
            loads: FxHashMap::default(),
            objects: Vec::new(),
            inputs: read.into_iter().collect(),
            outputs: outputs.into_iter().collect(),
            key: Key::default(),
        }
    }

    fn done(mut self) -> Canonical {
        let object = |id: &ObjectId| self.all.get(id.0 as usize);
        let about = |object: &Object| (object.width, object.length, object.persistent);
        self.key.objects = self.objects.iter().filter_map(object).map(about).collect();
        let Met { key, objects, inputs, outputs, .. } = self;
        Canonical { key, objects, inputs, outputs }
    }

    fn object(&mut self, object: ObjectId) -> u64 {
        place(&mut self.objects, object) as u64
    }

    fn output(&mut self, port: u32) -> u64 {
        place(&mut self.outputs, port) as u64
    }

    fn load(&mut self, load: u32) -> u32 {
        let next = self.loads.len() as u32;
        *self.loads.entry(load).or_insert(next)
    }

    /// The number of a value; its operands have theirs before it.
    fn node(&mut self, root: NodeId) -> u64 {
        let mut open = vec![(root, false)];
        while let Some((id, ready)) = open.pop() {
            if self.numbers.contains_key(&id) {
                continue;
            }
            let op = self.graph.op(id);
            let operands = op.operands();
            if !ready {
                open.push((id, true));
                if matches!(op, Op::Entry { index, .. } if self.graph.constant(*index).is_some()) {
                    continue;
                }
                open.extend(operands.iter().rev().map(|&operand| (operand, false)));
                continue;
            }
            let mut operands: Vec<u32> =
                operands.iter().filter_map(|operand| self.numbers.get(operand).copied()).collect();
            let bare = match op {
                Op::Input { port, offset } => {
                    Op::Input { port: place(&mut self.inputs, *port) as u32, offset: *offset }
                }
                Op::Loaded(load) => Op::Loaded(self.load(*load)),
                Op::Entry { object, index } => {
                    if let Some(place) = self.graph.constant(*index) {
                        operands = vec![PLACE, place as u32];
                    }
                    Op::Entry { object: ObjectId(self.object(*object) as u32), index: NodeId(0) }
                }
                Op::Lookup(table, _) => Op::Lookup(self.table(*table), NodeId(0)),
                Op::LookupBytes(table, _) => Op::LookupBytes(self.table(*table), NodeId(0)),
                other => bare(other),
            };
            self.key.nodes.push((bare, self.graph.width(id), operands));
            self.numbers.insert(id, self.numbers.len() as u32);
        }
        self.numbers.get(&root).map_or(u64::MAX, |&number| u64::from(number))
    }

    /// Which element: whatever width the number of a known one has.
    fn index(&mut self, index: NodeId) -> [u64; 2] {
        match self.graph.constant(index) {
            Some(place) => [u64::from(PLACE), place as u64],
            None => [0, self.node(index)],
        }
    }

    fn table(&mut self, table: TableId) -> TableId {
        let table = self.graph.table(table);
        TableId(place(&mut self.key.tables, (table.width, table.elements.clone())) as u32)
    }

    fn effects(&mut self, effects: &[Effect]) {
        for effect in effects {
            let (what, numbers) = match effect {
                Effect::Load { id, object, index } => {
                    let [kind, index] = self.index(*index);
                    ("load", vec![u64::from(self.load(*id)), self.object(*object), kind, index])
                }
                Effect::Store { object, index, value } => {
                    let ([kind, index], value) = (self.index(*index), self.node(*value));
                    ("store", vec![self.object(*object), kind, index, value])
                }
                Effect::Output { port, offset, value } => {
                    let value = self.node(*value);
                    ("output", vec![self.output(*port), *offset, value])
                }
                Effect::Check { condition, index, length, span } => {
                    let (condition, index) = (self.node(*condition), self.node(*index));
                    // What is reported is where it stands.
                    let place = [u64::from(span.file.0), u64::from(span.start), u64::from(span.end)];
                    ("check", [condition, index, *length as u64].into_iter().chain(place).collect())
                }
                Effect::While { before, condition, body, .. } => {
                    self.key.effects.push(("repeat", Vec::new()));
                    self.effects(before);
                    let condition = self.node(*condition);
                    self.key.effects.push(("while", vec![condition]));
                    self.effects(body);
                    ("again", Vec::new())
                }
                Effect::If { condition, then, otherwise } => {
                    let condition = self.node(*condition);
                    self.key.effects.push(("if", vec![condition]));
                    self.effects(then);
                    self.key.effects.push(("else", Vec::new()));
                    self.effects(otherwise);
                    ("end", Vec::new())
                }
            };
            self.key.effects.push((what, numbers));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_source::Span;

    fn object(name: &str, width: u32) -> Object {
        Object { name: name.to_owned(), width, length: 4, persistent: true, residue: None }
    }

    /// `to[0] := from[1] ^ token; output := loaded`, with a load of its own number.
    fn form(objects: &[Object], from: u32, to: u32, port: u32, load: u32, xor: bool) -> Canonical {
        let mut graph = Graph::new();
        // Numbers of elements have any width.
        let (zero, one) = (graph.number(0, 32), graph.number(1, 32 + port));
        let token = graph.input(port, 0, 8);
        let before = graph.entry(ObjectId(from), one, 8);
        let value = if xor { graph.xor(before, token) } else { graph.and(before, token) };
        let loaded = graph.add(Op::Loaded(load), 8);
        let effects = [
            Effect::Load { id: load, object: ObjectId(to), index: one },
            Effect::Store { object: ObjectId(to), index: zero, value },
            Effect::Output { port: port + 2, offset: 0, value: loaded },
        ];
        Canonical::of_block(BlockRef {
            graph: &graph,
            objects,
            effects: &effects,
            n_indexed: objects.len(),
            filled: &[],
        })
    }

    #[test]
    fn what_does_the_same_elsewhere_has_the_same_key() {
        let objects = [object("a", 8), object("b", 8), object("c", 8), object("wide", 16)];
        let one = form(&objects, 0, 1, 0, 5, true);
        let other = form(&objects, 2, 0, 3, 9, true);
        assert_eq!(one.key, other.key);
        assert_eq!((one.objects, other.objects), (vec![ObjectId(1), ObjectId(0)], vec![ObjectId(0), ObjectId(2)]));
        assert_eq!((other.inputs, other.outputs), (vec![3], vec![5]));
    }

    #[test]
    fn which_objects_are_local_makes_no_difference() {
        let mut objects = [object("a", 8), object("b", 8), object("c", 8)];
        (objects[1].persistent, objects[2].persistent) = (false, false);
        let form = |from, to| form(&objects, from, to, 0, 5, true).with_locals_alike();
        assert_eq!(form(0, 1).objects, form(0, 2).objects);
        assert_eq!(form(0, 1).key, form(0, 2).key);
        assert_ne!(form(0, 1).objects, form(1, 0).objects);
    }

    #[test]
    fn what_differs_has_another_key() {
        let objects = [object("a", 8), object("b", 8), object("c", 8), object("wide", 16)];
        let one = form(&objects, 0, 1, 0, 5, true);
        assert_ne!(one.key, form(&objects, 0, 1, 0, 5, false).key);
        // One object in the place of two, and one of another width.
        assert_ne!(one.key, form(&objects, 1, 1, 0, 5, true).key);
        assert_ne!(one.key, form(&objects, 0, 3, 0, 5, true).key);
    }

    #[test]
    fn checks_are_the_same_at_one_place_of_the_source_only() {
        let mut graph = Graph::new();
        let (condition, index) = (graph.input(0, 0, 1), graph.input(1, 0, 32));
        let form = |start: u32| {
            let span = Span { start, end: start + 1, ..Span::default() };
            let effects = [Effect::Check { condition, index, length: 3, span }];
            Canonical::of_block(BlockRef { graph: &graph, objects: &[], effects: &effects, n_indexed: 0, filled: &[] })
        };
        assert_eq!(form(4).key, form(4).key);
        assert_ne!(form(4).key, form(5).key);
    }
}
