//! Merging of linear layers into tables (T-tables). What is linear behind look-ups, a round's mixing of bytes, goes into the
//! tables, and results that depend on the same look-ups stand beside each other in one word.
//!
//! ```text
//! a := S[x]; b := S[y]; p := 2 * (a ^ b) ^ b ^ k; q := a ^ 2 * b     =>     p, q := T[x] ^ U[y] ^ (k, 0)
//! ```
//!
//! Each value is followed as the exclusive or of functions of single indices, given by all their values, and of other values. What
//! is linear is recognised by what it does to bits: movements, exclusive ors, choices between constants by such a bit. Products
//! in a field are written with these. The tables of a word are rotations of each other where the layer is a circulant matrix.

use headrace_kernel::graph::mask;
use headrace_kernel::{Graph, Loop, NodeId, Op, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A value as an exclusive or.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Functions of single indices: the node that is the index, and its value for each of its values.
    parts: BTreeMap<NodeId, Rc<[u64]>>,
    /// Other values of the same width.
    others: Vec<NodeId>,
    constant: u64,
}

/// Indices that a value may depend on.
const MOST_PARTS: usize = 16;

/// Elements of a table.
const MOST_ELEMENTS: usize = 256;

/// Bits of a word.
const WORD: u32 = 32;

impl Sum {
    fn opaque(id: NodeId) -> Sum {
        Sum { others: vec![id], ..Sum::default() }
    }

    fn is_opaque(&self) -> bool {
        self.parts.is_empty()
    }

    fn xor(&self, other: &Sum) -> Sum {
        let mut sum = self.clone();
        sum.constant ^= other.constant;
        for id in &other.others {
            match sum.others.iter().position(|one| one == id) {
                Some(at) => drop(sum.others.remove(at)),
                None => sum.others.push(*id),
            }
        }
        for (index, values) in &other.parts {
            let both = match sum.parts.get(index) {
                Some(own) => own.iter().zip(values.iter()).map(|(a, b)| a ^ b).collect(),
                None => Rc::clone(values),
            };
            sum.parts.insert(*index, both);
        }
        sum.parts.retain(|_, values| values.iter().any(|value| *value != 0));
        sum
    }

    /// A linear function of it, if nothing else is in it.
    fn mapped(&self, linear: impl Fn(u64) -> u64) -> Option<Sum> {
        if !self.others.is_empty() {
            return None;
        }
        let of = |values: &Rc<[u64]>| values.iter().map(|value| linear(*value)).collect::<Rc<[u64]>>();
        let mut parts: BTreeMap<NodeId, Rc<[u64]>> =
            self.parts.iter().map(|(index, values)| (*index, of(values))).collect();
        parts.retain(|_, values| values.iter().any(|value| *value != 0));
        Some(Sum { parts, others: Vec::new(), constant: linear(self.constant) })
    }
}

fn sum_of(graph: &Graph, id: NodeId, sums: &FxHashMap<NodeId, Sum>) -> Option<Sum> {
    let width = graph.width(id);
    if width > 64 {
        return None;
    }
    match graph.op(id) {
        Op::Const(value) => Some(Sum { constant: *value as u64, ..Sum::default() }),
        Op::Lookup(table, index) => {
            let elements = &graph.table(*table).elements;
            if elements.len() > MOST_ELEMENTS {
                return None;
            }
            let values: Rc<[u64]> = elements.iter().map(|element| *element as u64).collect();
            Some(Sum { parts: [(*index, values)].into(), ..Sum::default() })
        }
        Op::Xor(a, b) => Some(sums.get(a)?.xor(sums.get(b)?)),
        Op::Not(a) => {
            let mut sum = sums.get(a)?.clone();
            sum.constant ^= mask(width) as u64;
            Some(sum)
        }
        Op::Extract(a, lo) => sums.get(a)?.mapped(|value| value >> lo & mask(width) as u64),
        Op::Concat(parts) => {
            let mut all = Sum::default();
            let mut lo = width;
            for part in parts.iter() {
                lo -= graph.width(*part);
                all = all.xor(&sums.get(part)?.mapped(|value| value << lo)?);
            }
            Some(all)
        }
        Op::Select(c, a, b) => {
            let (a, b) = (graph.constant(*a)? as u64, graph.constant(*b)? as u64);
            let mut sum = sums.get(c)?.mapped(|bit| if bit & 1 == 1 { a ^ b } else { 0 })?;
            sum.constant ^= b;
            Some(sum)
        }
        _ => None,
    }
}

/// The loop with merged tables, if there is something to merge.
pub fn merge_tables(body: &Loop) -> Option<Loop> {
    let graph = &body.graph;
    let order = body.needed();
    let mut sums: FxHashMap<NodeId, Sum> = FxHashMap::default();
    for &id in &order {
        let sum = sum_of(graph, id, &sums).filter(|sum| sum.parts.len() <= MOST_PARTS);
        sums.insert(id, sum.unwrap_or_else(|| Sum::opaque(id)));
    }
    // Values that something reads which they are not a part of.
    let mut is_read: FxHashSet<NodeId> = body.roots().into_iter().collect();
    for &id in &order {
        let is_look_up = matches!(graph.op(id), Op::Lookup(..));
        if sums[&id].is_opaque() || is_look_up {
            is_read.extend(graph.op(id).operands().iter());
        }
        is_read.extend(sums[&id].others.iter().filter(|other| **other != id));
    }
    // Those of the same indices, in the order in which they are computed.
    let mut groups: Vec<(Vec<NodeId>, Vec<NodeId>, u32)> = Vec::new();
    for &id in order.iter().filter(|id| is_read.contains(id)) {
        let sum = &sums[&id];
        if sum.parts.len() < 2 {
            continue;
        }
        let indices: Vec<NodeId> = sum.parts.keys().copied().collect();
        let width = graph.width(id);
        match groups.iter_mut().rev().find(|group| group.0 == indices && group.2 + width <= WORD) {
            Some(group) => {
                group.1.push(id);
                group.2 += width;
            }
            None if width <= WORD => groups.push((indices, vec![id], width)),
            None => {}
        }
    }
    groups.retain(|group| group.1.len() > 1);
    if groups.is_empty() {
        return None;
    }
    let group_of: FxHashMap<NodeId, usize> =
        groups.iter().enumerate().flat_map(|(at, group)| group.1.iter().map(move |id| (*id, at))).collect();
    let mut made = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in &order {
        if new.contains_key(&id) {
            continue;
        }
        let Some(&at) = group_of.get(&id) else {
            let copy = made.copy(graph, id, &new)?;
            new.insert(id, copy);
            continue;
        };
        let (indices, members, width) = &groups[at];
        // What else is added must be there by now.
        for other in members.iter().flat_map(|member| &sums[member].others) {
            if !new.contains_key(other) {
                let leaf = match graph.op(*other) {
                    Op::Entry { index, .. } if !new.contains_key(index) => {
                        let constant = graph.constant(*index)?;
                        let index_new = made.number(constant, graph.width(*index));
                        new.insert(*index, index_new);
                        made.copy(graph, *other, &new)?
                    }
                    Op::Entry { .. } | Op::Input { .. } => made.copy(graph, *other, &new)?,
                    _ => return None,
                };
                new.insert(*other, leaf);
            }
        }
        let mut word: Option<NodeId> = None;
        for index in indices {
            let length = sums[&members[0]].parts[index].len();
            let element = |at: usize| {
                let of = |value: u128, member: &NodeId| {
                    value << graph.width(*member) | u128::from(sums[member].parts[index][at])
                };
                members.iter().fold(0, of)
            };
            let table = made.add_table(Table {
                name: "merged".into(),
                width: *width,
                elements: (0..length).map(element).collect(),
            });
            let one = made.lookup(table, *new.get(index)?);
            word = Some(word.map_or(one, |word| made.xor(word, one)));
        }
        let mut rest = Vec::new();
        for member in members {
            let sum = &sums[member];
            let mut value = made.number(u128::from(sum.constant), graph.width(*member));
            for other in &sum.others {
                value = made.xor(value, *new.get(other)?);
            }
            rest.push(value);
        }
        let rest = made.concat(&rest);
        let word = made.xor(word?, rest);
        let mut lo = *width;
        for member in members {
            lo -= graph.width(*member);
            let part = made.extract(word, lo, graph.width(*member));
            new.insert(*member, part);
        }
    }
    body.moved(made, &new)
}
