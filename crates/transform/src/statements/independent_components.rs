//! Connected components of effects. A transition as several ones that do not need each other's values.
//!
//! What takes long is the same in many transitions, such as a block of a cipher; what differs is next to it: a counter,
//! the state of somebody else. Taken apart, what takes long is one function for all of them. Parts read what the
//! transition began with, so a part that reads an element comes before the one that writes it.

use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Values of a part that is worth a function of its own.
const COMPONENT_VALUES: usize = 150;

/// The element that an index stands for, if it is known.
type Element = (ObjectId, Option<u128>);

/// Effects that share no values with those in other parts, in an order in which they can be done one after another.
pub fn independent_components(graph: &Graph, objects: &[Object], effects: &[Effect]) -> Vec<Vec<Effect>> {
    separate(graph, objects, effects).unwrap_or_else(|| vec![effects.to_vec()])
}

fn separate(graph: &Graph, objects: &[Object], effects: &[Effect]) -> Option<Vec<Vec<Effect>>> {
    let mut written: FxHashMap<(ObjectId, u128), usize> = FxHashMap::default();
    // The first effect that needs each value, and which effects are together: each points to one that is not later.
    let mut owner: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut together: Vec<usize> = (0..effects.len()).collect();
    let mut reads: Vec<FxHashSet<Element>> = vec![FxHashSet::default(); effects.len()];
    let mut weight = vec![0; effects.len()];
    fn first(together: &[usize], mut at: usize) -> usize {
        while together[at] != at {
            at = together[at];
        }
        at
    }
    for (at, effect) in effects.iter().enumerate() {
        match effect {
            Effect::Store { object, index, .. } => {
                let index = graph.constant(*index)?;
                if !objects[object.0 as usize].persistent || written.insert((*object, index), at).is_some() {
                    return None;
                }
            }
            Effect::Output { .. } => {}
            _ => return None,
        }
        let mut open = effect.uses();
        while let Some(id) = open.pop() {
            match graph.op(id) {
                Op::Const(_) | Op::Input { .. } => continue,
                Op::Entry { object, index } => {
                    let known = graph.constant(*index);
                    reads[at].insert((*object, known));
                    if known.is_some() {
                        continue;
                    }
                }
                Op::Loaded(_) => return None,
                _ => {}
            }
            match owner.get(&id) {
                Some(&other) => {
                    let (a, b) = (first(&together, other), first(&together, at));
                    together[a.max(b)] = a.min(b);
                }
                None => {
                    owner.insert(id, at);
                    weight[at] += 1;
                    open.extend(graph.op(id).operands());
                }
            }
        }
    }
    // What is short stays together, as part `effects.len()`.
    let mut weights: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, weight) in weight.iter().enumerate() {
        *weights.entry(first(&together, at)).or_default() += weight;
    }
    let part_of = |at: usize| {
        let part = first(&together, at);
        if weights[&part] < COMPONENT_VALUES { effects.len() } else { part }
    };
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..effects.len() {
        parts.entry(part_of(at)).or_default().push(at);
    }
    if parts.len() < 2 {
        return None;
    }
    // For each part, those that read what it writes: they come before it.
    let mut before: BTreeMap<usize, FxHashSet<usize>> = BTreeMap::new();
    for (at, reads) in reads.iter().enumerate() {
        let reader = part_of(at);
        for &(object, index) in reads {
            let writers = written.iter().filter(|(element, _)| match index {
                Some(index) => **element == (object, index),
                None => element.0 == object,
            });
            for (_, &writer) in writers {
                if part_of(writer) != reader {
                    before.entry(part_of(writer)).or_default().insert(reader);
                }
            }
        }
    }
    let mut done: Vec<usize> = Vec::new();
    while done.len() < parts.len() {
        let next = parts.keys().copied().find(|part| {
            !done.contains(part)
                && before.get(part).is_none_or(|before| before.iter().all(|other| done.contains(other)))
        })?;
        done.push(next);
    }
    Some(done.iter().map(|part| parts[part].iter().map(|&at| effects[at].clone()).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str) -> Object {
        Object { name: name.into(), width: 8, length: 4, persistent: true, residue: None }
    }

    /// A long chain of additions and multiplications of an element with itself.
    fn long(graph: &mut Graph, object: ObjectId) -> NodeId {
        let at = graph.number(0, 32);
        let entry = graph.entry(object, at, 8);
        let mut value = entry;
        for _ in 0..COMPONENT_VALUES {
            value = graph.product(value, entry);
            value = graph.sum(value, entry);
        }
        value
    }

    #[test]
    fn readers_come_before_writers() {
        let mut graph = Graph::new();
        let objects = [object("a"), object("b")];
        let (a, b) = (ObjectId(0), ObjectId(1));
        let index = graph.number(0, 32);
        let (of_a, of_b) = (long(&mut graph, a), long(&mut graph, b));
        let writes_b = Effect::Store { object: b, index, value: of_a };
        let writes_out = Effect::Output { port: 0, offset: 0, value: of_b };
        let parts = independent_components(&graph, &objects, &[writes_b.clone(), writes_out.clone()]);
        assert_eq!(parts, [vec![writes_out], vec![writes_b.clone()]]);
        // In a cycle nothing can be first.
        let writes_a = Effect::Store { object: a, index, value: of_b };
        assert_eq!(
            independent_components(&graph, &objects, &[writes_b.clone(), writes_a.clone()]),
            [vec![writes_b, writes_a]]
        );
    }
}
