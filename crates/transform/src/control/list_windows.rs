//! Strided accesses of lists in loops: elements at places that a counter tells become tokens of further ports. A list that each
//! iteration of a loop reads or fills one group of elements further on is a stream like those of ports: the loop gets a port
//! for it, and a pointer to its first element when it runs.
//!
//! Example: an actor keeps a message, block `at` of it in `kept[at mod 4096]`, which is element `16 * (at mod 4096) + i`, and adds 1
//! to `at` with each block. A loop over blocks writes 16 tokens an iteration to a port beyond those of the network, as long
//! as places do not begin anew: for `4096 - at mod 4096` iterations.

use super::automaton::{Trips, Window};
use super::compose_transitions::{Element, Together};
use crate::kernel::{Graph, NodeId, Object, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a group. What goes element by element is copied as such ([`super::block_copies`]).
const GROUPS: std::ops::RangeInclusive<u64> = 8..=4096;

/// Lists in windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Windows {
    /// Those that are read; each is an input port behind those of the network.
    pub read: Vec<Strided>,
    /// Those that are written.
    pub written: Vec<Strided>,
}

impl Windows {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Strided> {
        self.read.iter().chain(&self.written)
    }

    /// As loops have them; `of` is what stands for a node there.
    pub fn of_loop(&self, of: impl Fn(NodeId) -> NodeId) -> (Vec<Window>, Vec<Window>) {
        let all = |windows: &[Strided]| {
            windows.iter().map(|one| Window { object: one.object, start: of(one.start) }).collect::<Vec<_>>()
        };
        (all(&self.read), all(&self.written))
    }
}

/// A list of which iterations take one group of elements after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strided {
    /// The list.
    pub object: ObjectId,
    /// The element of the first iteration's group that comes first.
    pub start: NodeId,
    /// The number of the first group, and how many groups there are.
    pub group: NodeId,
    pub n_groups: u128,
    /// Elements of a group, and their bits.
    pub n: u64,
    pub width: u32,
}

impl Strided {
    /// Places do not begin anew.
    pub fn trips(&self) -> Trips {
        Trips::Below { value: self.group, limit: self.n_groups, step: 1 }
    }
}

/// A place in a list: that of a group, by the bits of an element that say so, and that in the group.
struct Place {
    /// The element that counts groups.
    counter: Element,
    /// It or its low bits.
    group: NodeId,
    /// Bits of the place in a group.
    low_bits: u32,
    low: u128,
}

/// A place of a list that is told by a counter, above bits that are known.
fn place(graph: &Graph, index: NodeId) -> Option<Place> {
    // That of the group, and a number that is added to it without a carry.
    let (index, added) = match *graph.op(index) {
        Op::Add(group, added) => (group, graph.constant(added)?),
        _ => (index, 0),
    };
    let parts: Vec<NodeId> = match graph.op(index) {
        Op::Concat(parts) => parts.to_vec(),
        _ => vec![index],
    };
    let is_zero = |part: &NodeId| graph.constant(*part) == Some(0);
    let parts = if parts.first().is_some_and(is_zero) { &parts[1..] } else { &parts[..] };
    let (group, low_bits, low) = match *parts {
        [group] => (group, 0, 0),
        [group, low] => (group, graph.width(low), graph.constant(low)?),
        _ => return None,
    };
    if low & added != 0 || added >> low_bits != 0 {
        return None;
    }
    let low = low | added;
    let entry = match *graph.op(group) {
        Op::Extract(entry, 0) => entry,
        _ => group,
    };
    match *graph.op(entry) {
        Op::Entry { object, index } => {
            let counter = (object, usize::try_from(graph.constant(index)?).ok()?);
            Some(Place { counter, group, low_bits, low })
        }
        _ => None,
    }
}

impl Together {
    /// Takes lists at places that a counter tells for ports; `None` where something is written at other places.
    pub(super) fn with_windows(mut self, graph: &mut Graph, objects: &[Object]) -> Option<Self> {
        let mut written: BTreeMap<ObjectId, (Strided, BTreeMap<u128, NodeId>)> = BTreeMap::new();
        for (object, index, value) in std::mem::take(&mut self.lists) {
            let (place, strided) = self.strided(graph, objects, object, index)?;
            let (known, tokens) = written.entry(object).or_insert((strided, BTreeMap::new()));
            if *known != strided {
                return None;
            }
            tokens.insert(place.low, value);
        }
        for (_, (strided, tokens)) in written {
            if tokens.len() as u64 != strided.n || self.reads(graph, strided.object) {
                return None;
            }
            let port = self.produced.len() as u32;
            self.outputs.extend(tokens.into_iter().map(|(low, value)| (port, low as u64, value)));
            self.produced.push(strided.n);
            self.windows.written.push(strided);
        }
        self.read_windows(graph, objects);
        Some(self)
    }

    /// What a place is, and the list with it, if its counter goes on by one group.
    fn strided(
        &self,
        graph: &mut Graph,
        objects: &[Object],
        object: ObjectId,
        index: NodeId,
    ) -> Option<(Place, Strided)> {
        let place = place(graph, index)?;
        let list = objects.get(object.0 as usize).filter(|list| list.persistent)?;
        let next = *self.stores.get(&place.counter)?;
        let at = graph.number(place.counter.1 as u128, 32);
        let counter = graph.entry(place.counter.0, at, graph.width(next));
        let one = graph.number(1, graph.width(next));
        let group_bits = graph.width(place.group);
        if next != graph.sum(counter, one)
            || !GROUPS.contains(&(1 << place.low_bits))
            || group_bits + place.low_bits > 32
        {
            return None;
        }
        let low = graph.number(0, place.low_bits);
        let start = graph.concat(&[place.group, low]);
        let n_groups = list.length as u128 >> place.low_bits;
        let n_groups = n_groups.min(1 << group_bits);
        let strided =
            Strided { object, start, group: place.group, n_groups, n: 1 << place.low_bits, width: list.width };
        Some((place, strided))
    }

    /// Whether anything is made of elements of a list.
    fn reads(&self, graph: &Graph, list: ObjectId) -> bool {
        let conditions = self.conditions.iter().map(|condition| condition.0);
        let values = self.values().chain(conditions);
        let is_read = |id: NodeId| matches!(graph.op(id), Op::Entry { object, .. } if *object == list);
        graph.reachable(values).into_iter().any(is_read) || self.stores.keys().any(|element| element.0 == list)
    }

    fn values(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.outputs.iter().map(|output| output.2).chain(self.stores.values().copied())
    }

    /// Lists that are read at places that a counter tells, and at no others.
    fn read_windows(&mut self, graph: &mut Graph, objects: &[Object]) {
        let conditions = self.conditions.iter().map(|condition| condition.0);
        let tested: FxHashSet<NodeId> = graph.reachable(conditions).into_iter().collect();
        let mut found: BTreeMap<ObjectId, Option<Strided>> = BTreeMap::new();
        let mut tokens: Vec<(NodeId, ObjectId, u128)> = Vec::new();
        for id in graph.reachable(self.values().collect::<BTreeSet<_>>()) {
            let Op::Entry { object, index } = *graph.op(id) else { continue };
            let is_changed = self.stores.keys().any(|element| element.0 == object);
            let strided = match graph.constant(index) {
                None if !is_changed && !tested.contains(&id) => self.strided(graph, objects, object, index),
                _ => None,
            };
            match strided {
                Some((place, strided)) => {
                    tokens.push((id, object, place.low));
                    let known = found.entry(object).or_insert(Some(strided));
                    *known = known.filter(|known| *known == strided);
                }
                None => _ = found.insert(object, None),
            }
        }
        let mut ports: FxHashMap<ObjectId, u32> = FxHashMap::default();
        for strided in found.into_values().flatten() {
            ports.insert(strided.object, self.consumed.len() as u32);
            self.consumed.push(strided.n);
            self.windows.read.push(strided);
        }
        if ports.is_empty() {
            return;
        }
        let mut instead: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (id, object, low) in tokens {
            if let Some(&port) = ports.get(&object) {
                let token = graph.input(port, low as i64, graph.width(id));
                instead.insert(id, token);
            }
        }
        for id in graph.reachable(self.values().collect::<BTreeSet<_>>()) {
            if instead.contains_key(&id) {
                continue;
            }
            let node = graph.node(id).clone();
            let operands: Vec<NodeId> = node.op.operands().iter().map(|operand| instead[operand]).collect();
            let same = operands.iter().copied().eq(node.op.operands());
            let new = if same { id } else { graph.rebuild(&node.op, node.width, &operands) };
            instead.insert(id, new);
        }
        self.outputs.iter_mut().for_each(|output| output.2 = instead[&output.2]);
        self.stores.values_mut().for_each(|value| *value = instead[value]);
    }
}
