//! Canonical form of loops, for function merging. What a loop does apart from where it keeps things, so that loops of
//! like parts of a network can be one function.
//!
//! Parts that were written once and stand in a network several times have loops that differ in the objects that they
//! work on and in what else goes on around them: numbers of their own that are counted, tokens that a FIFO keeps for
//! later. Nothing of that is needed by their iterations. So a loop is taken apart into its shape, which holds what
//! iterations need, with objects in the order in which they are met, and the rest, which is known from the number of
//! iterations and the last one's tokens.

use super::pass::{Form, ITERATIONS, Parts, Pass, boxed, leaves_the_same};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::{Carried, Carry, Loop, NodeId, Object, ObjectId, Op, TableId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The pass.
pub const PASS: Pass = Pass {
    name: "canonicalize-loop",
    about: "Separates what iterations need, over objects in the order in which they are met, from the rest",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| canonicalize_loop(body).map(boxed)),
};

/// A loop in two parts.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What iterations need. Objects are named `o0`, `o1`, …
    pub core: Loop,
    /// For each object of `core` that of the loop.
    pub objects: Vec<ObjectId>,
    /// What else they leave, over the loop's objects, if there is any: counters and tokens, in no order with `core`.
    pub rest: Option<Loop>,
    /// Equal for loops of the same shape.
    pub key: Key,
}

/// What iterations carry on as far as iterations need it, and what comes to stand there. The rest only matters after
/// the last one.
pub fn needed(body: &Loop) -> BTreeMap<(ObjectId, usize), NodeId> {
    let of = |one: &Carried| ((one.object, one.index), one.next);
    let all: FxHashMap<(ObjectId, usize), NodeId> = body.carried.iter().map(of).collect();
    let mut needed: BTreeMap<(ObjectId, usize), NodeId> =
        body.carried.iter().filter(|one| one.carry == Carry::True).map(of).collect();
    let mut open: Vec<NodeId> = body.outputs.iter().map(|output| output.2).chain(needed.values().copied()).collect();
    while !open.is_empty() {
        for id in body.graph.reachable(std::mem::take(&mut open)) {
            let Op::Entry { object, index } = body.graph.op(id) else { continue };
            let place = body.graph.constant(*index).map(|index| (*object, index as usize));
            if let Some((place, &next)) = place.and_then(|place| Some((place, all.get(&place)?)))
                && needed.insert(place, next).is_none()
            {
                open.push(next);
            }
        }
    }
    needed
}

/// Takes a loop apart; `None` where an element that iterations change is read at a place that is not known.
pub fn canonicalize_loop(body: &Loop) -> Option<Shape> {
    let places = needed(body);
    let changed: FxHashSet<ObjectId> = body.carried.iter().map(|one| one.object).collect();
    let unknown = |id: &NodeId| {
        let op = body.graph.op(*id);
        matches!(op, Op::Entry { object, index } if changed.contains(object) && body.graph.constant(*index).is_none())
    };
    if body.needed().iter().any(unknown) {
        return None;
    }
    // A counter is kept in one place: who has a part of it has all.
    let counter = |one: &Carried| match one.carry {
        Carry::Counter { counter, .. } => Some(counter),
        _ => None,
    };
    let is_place = |one: &Carried| places.contains_key(&(one.object, one.index));
    let counters: FxHashSet<usize> = body.carried.iter().filter(|one| is_place(one)).filter_map(counter).collect();
    let is_core = |one: &Carried| is_place(one) || counter(one).is_some_and(|own| counters.contains(&own));
    let (core, rest): (Vec<Carried>, Vec<Carried>) = body.carried.iter().cloned().partition(is_core);
    let rest =
        (!rest.is_empty()).then(|| Loop { outputs: Vec::new(), carried: rest, ..body.clone() }.with_own_counters());
    let (core, objects, key) = in_order(&Loop { carried: core, ..body.clone() }.with_own_counters())?;
    Some(Shape { core, objects, rest, key })
}

/// The same loop with only what it needs, what its objects were, and a text that is equal for loops that do the same.
/// Nodes keep their order, which passes that look for patterns rely on.
fn in_order(body: &Loop) -> Option<(Loop, Vec<ObjectId>, Key)> {
    let alike = alike(body);
    let mut met = Met { body, alike: &alike, numbers: FxHashMap::default(), objects: Vec::new(), key: Key::default() };
    for &(port, offset, value) in &body.outputs {
        let number = met.node(value);
        met.key.ports.push((port, offset, number));
    }
    let mut carried: Vec<&Carried> = body.carried.iter().collect();
    carried.sort_by_key(|one| (one.index, alike.get(&one.next)));
    for one in carried {
        let (number, object) = (met.node(one.next), met.object(one.object));
        met.key.carried.push((object, one.index, number, one.carry.clone()));
    }
    for counter in &body.counters {
        let number = met.node(counter.start);
        met.key.counters.push((number, counter.step));
    }
    let Met { objects, mut key, .. } = met;
    key.consumes = body.consumes.clone();
    key.produces = body.produces.clone();
    let number_of: FxHashMap<ObjectId, ObjectId> =
        objects.iter().enumerate().map(|(at, &object)| (object, ObjectId(at as u32))).collect();
    let mut core = body.rebuilt(|graph, new, id| match body.graph.op(id) {
        Op::Entry { object, index } => {
            Some(graph.entry(*number_of.get(object)?, *new.get(index)?, body.graph.width(id)))
        }
        _ => graph.copy(&body.graph, id, new),
    })?;
    for one in &mut core.carried {
        one.object = *number_of.get(&one.object)?;
    }
    core.carried.sort_by_key(|one| (one.object, one.index));
    for (at, object) in objects.iter().enumerate() {
        let object = &body.objects[object.0 as usize];
        core.objects.push(Object { name: format!("o{at}"), ..object.clone() });
        key.objects.push((object.width, object.length));
    }
    core.objects.drain(..body.objects.len());
    Some((core, objects, key))
}

/// What a loop does, with values, objects and tables by numbers: equal for loops that do the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    nodes: Vec<(Op, u32, Vec<u32>)>,
    tables: Vec<(u32, std::sync::Arc<[u128]>)>,
    ports: Vec<(u32, u64, u32)>,
    carried: Vec<(ObjectId, usize, u32, Carry)>,
    counters: Vec<(u32, u128)>,
    objects: Vec<(u32, usize)>,
    consumes: Vec<(u64, u32)>,
    produces: Vec<(u64, u32)>,
}

/// An operation by itself: without its operands, objects and tables.
pub(super) fn bare(op: &Op) -> Op {
    let none = NodeId(0);
    match op {
        Op::Const(_) | Op::Input { .. } | Op::Loaded(_) => op.clone(),
        Op::Entry { .. } => Op::Entry { object: ObjectId(0), index: none },
        Op::Not(_) => Op::Not(none),
        Op::Extract(_, lo) => Op::Extract(none, *lo),
        Op::SignExtend(_) => Op::SignExtend(none),
        Op::Lookup(..) => Op::Lookup(TableId(0), none),
        Op::LookupBytes(..) => Op::LookupBytes(TableId(0), none),
        Op::And(..) => Op::And(none, none),
        Op::Or(..) => Op::Or(none, none),
        Op::Xor(..) => Op::Xor(none, none),
        Op::Add(..) => Op::Add(none, none),
        Op::Sub(..) => Op::Sub(none, none),
        Op::Mul(..) => Op::Mul(none, none),
        Op::Divide(..) => Op::Divide(none, none),
        Op::Remainder(..) => Op::Remainder(none, none),
        Op::ShiftLeft(..) => Op::ShiftLeft(none, none),
        Op::ShiftRight(..) => Op::ShiftRight(none, none),
        Op::ShiftRightSigned(..) => Op::ShiftRightSigned(none, none),
        Op::RotateLeft(..) => Op::RotateLeft(none, none),
        Op::Equal(..) => Op::Equal(none, none),
        Op::Less(..) => Op::Less(none, none),
        Op::LessSigned(..) => Op::LessSigned(none, none),
        Op::Select(..) => Op::Select(none, none, none),
        Op::Concat(_) => Op::Concat([].into()),
        Op::Instruction { description, .. } => Op::Instruction { description: *description, operands: [].into() },
    }
}

/// A number for each node that is equal for nodes of the same operations, whatever objects they read.
fn alike(body: &Loop) -> FxHashMap<NodeId, u64> {
    let mut alike: FxHashMap<NodeId, u64> = FxHashMap::default();
    for id in body.needed() {
        let op = body.graph.op(id);
        let mut operands: Vec<Option<u64>> = op.operands().iter().map(|operand| alike.get(operand).copied()).collect();
        if op.commutes() {
            operands.sort_unstable();
        }
        let of = match op {
            Op::Entry { object, .. } => {
                body.objects.get(object.0 as usize).map_or((0, 0), |object| (object.width, object.length))
            }
            Op::Lookup(table, _) | Op::LookupBytes(table, _) => {
                (body.graph.table(*table).width, body.graph.table(*table).elements.len())
            }
            _ => (0, 0),
        };
        let mut hasher = DefaultHasher::new();
        (bare(op), body.graph.width(id), operands, of).hash(&mut hasher);
        alike.insert(id, hasher.finish());
    }
    alike
}

/// What has been met of a loop from its roots on.
struct Met<'a> {
    body: &'a Loop,
    alike: &'a FxHashMap<NodeId, u64>,
    numbers: FxHashMap<NodeId, u32>,
    objects: Vec<ObjectId>,
    key: Key,
}

impl Met<'_> {
    fn object(&mut self, object: ObjectId) -> ObjectId {
        let at = self.objects.iter().position(|&known| known == object).unwrap_or_else(|| {
            self.objects.push(object);
            self.objects.len() - 1
        });
        ObjectId(at as u32)
    }

    fn table(&mut self, table: TableId) -> TableId {
        let table = self.body.graph.table(table);
        let own = (table.width, table.elements.clone());
        let at = self.key.tables.iter().position(|known| *known == own).unwrap_or_else(|| {
            self.key.tables.push(own);
            self.key.tables.len() - 1
        });
        TableId(at as u32)
    }

    /// The number of a value; its operands have theirs before it.
    fn node(&mut self, root: NodeId) -> u32 {
        let body = self.body;
        let mut open = vec![(root, false)];
        while let Some((id, ready)) = open.pop() {
            if self.numbers.contains_key(&id) {
                continue;
            }
            let op = body.graph.op(id);
            let mut operands = op.operands().to_vec();
            if op.commutes() {
                operands.sort_by_key(|operand| self.alike.get(operand).copied());
            }
            if !ready {
                open.push((id, true));
                open.extend(operands.into_iter().rev().map(|operand| (operand, false)));
                continue;
            }
            let operands: Vec<u32> = operands.iter().filter_map(|operand| self.numbers.get(operand).copied()).collect();
            let bare = match (op, bare(op)) {
                (Op::Entry { object, .. }, Op::Entry { index, .. }) => {
                    Op::Entry { object: self.object(*object), index }
                }
                (Op::Lookup(table, _), Op::Lookup(_, index)) => Op::Lookup(self.table(*table), index),
                (Op::LookupBytes(table, _), Op::LookupBytes(_, word)) => Op::LookupBytes(self.table(*table), word),
                (_, bare) => bare,
            };
            self.key.nodes.push((bare, body.graph.width(id), operands));
            self.numbers.insert(id, self.numbers.len() as u32);
        }
        self.numbers.get(&root).copied().unwrap_or(u32::MAX)
    }
}

impl Parts for Shape {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        [("core", &self.core)].into_iter().chain(self.rest.as_ref().map(|rest| ("rest", rest))).collect()
    }

    fn beside(&self) -> Vec<String> {
        let objects = self.objects.iter().enumerate();
        objects.map(|(own, object)| format!("o{own} of the core is o{} of the loop", object.0)).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            let objects = self.objects.iter().map(|object| world.objects.get(object.0 as usize).cloned());
            let mut core = World { objects: objects.collect::<Option<_>>()?, ..world.clone() };
            run_loop(&self.core, &mut core, ITERATIONS);
            if let Some(rest) = &self.rest {
                run_loop(rest, world, ITERATIONS);
            }
            for (object, elements) in self.objects.iter().zip(core.objects) {
                let changed = self.core.carried.iter().filter(|one| self.objects[one.object.0 as usize] == *object);
                changed.for_each(|one| world.objects[object.0 as usize][one.index] = elements[one.index]);
            }
            world.outputs = core.outputs;
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Counter, Graph};

    fn object(name: &str) -> Object {
        Object { name: name.to_owned(), width: 32, length: 1, persistent: true, residue: None }
    }

    /// A sum of tokens in object `sum`, and a counter in each object of `counted`; `swapped` adds the other way round.
    fn summed(n_objects: u32, sum: u32, counted: &[u32], swapped: bool, xor: bool) -> Loop {
        let mut graph = Graph::new();
        let at = graph.number(0, 64);
        let mut carried = Vec::new();
        let mut counters = Vec::new();
        for &object in counted {
            let object = ObjectId(object);
            let start = graph.entry(object, at, 32);
            let one = graph.number(1, 32);
            let next = graph.sum(start, one);
            carried.push(Carried { object, index: 0, next, carry: Carry::Counter { counter: counters.len(), lo: 0 } });
            counters.push(Counter { start, step: 1 });
        }
        let (token, before);
        if swapped {
            before = graph.entry(ObjectId(sum), at, 32);
            token = graph.input(0, 0, 32);
        } else {
            token = graph.input(0, 0, 32);
            before = graph.entry(ObjectId(sum), at, 32);
        }
        let next = if xor { graph.xor(token, before) } else { graph.sum(token, before) };
        carried.push(Carried { object: ObjectId(sum), index: 0, next, carry: Carry::True });
        let objects = (0..n_objects).map(|n| object(&format!("x{n}"))).collect();
        Loop { graph, objects, consumes: vec![(1, 32)], produces: Vec::new(), outputs: Vec::new(), carried, counters }
    }

    fn taken(body: &Loop) -> Shape {
        canonicalize_loop(body).unwrap_or_else(|| panic!("it has no shape"))
    }

    #[test]
    fn like_loops_have_one_shape() {
        let (one, other) = (taken(&summed(2, 0, &[1], false, false)), taken(&summed(5, 4, &[1, 2], true, false)));
        assert_eq!(one.key, other.key);
        assert_eq!((one.objects, other.objects), (vec![ObjectId(0)], vec![ObjectId(4)]));
        assert!(one.core.counters.is_empty() && other.core.carried.len() == 1);
        let Some(rest) = other.rest else { panic!("counters are lost") };
        let left: Vec<(ObjectId, Carry)> = rest.carried.iter().map(|one| (one.object, one.carry.clone())).collect();
        let counter = |counter| Carry::Counter { counter, lo: 0 };
        assert_eq!(left, [(ObjectId(1), counter(0)), (ObjectId(2), counter(1))]);
        assert_eq!(rest.counters.len(), 2);
    }

    #[test]
    fn what_does_something_else_has_another_shape() {
        let key = |xor| taken(&summed(1, 0, &[], false, xor)).key;
        assert_ne!(key(true), key(false));
    }

    #[test]
    fn iterations_keep_the_counters_that_they_need() {
        let mut body = summed(3, 2, &[1, 0], false, false);
        body.produces = vec![(1, 32)];
        body.outputs = vec![(0, 0, body.counters[0].start)];
        let Shape { core, objects, rest, .. } = taken(&body);
        assert_eq!((core.counters.len(), core.carried.len(), objects.len()), (1, 2, 2));
        assert!(core.objects.iter().map(|object| object.name.as_str()).eq(["o0", "o1"]));
        let rest: Vec<ObjectId> = rest.iter().flat_map(|rest| &rest.carried).map(|one| one.object).collect();
        assert_eq!(rest, [ObjectId(0)]);
    }
}
