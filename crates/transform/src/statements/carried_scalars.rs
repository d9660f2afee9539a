//! Loop-carried scalars. What iterations of a loop that run one after the other keep in variables, and the effects of
//! one.
//!
//! Bytes that lie together are kept as words of 32 bits, in the order in which the iterations put them together.

use super::join_loads::join_loads;
use crate::kernel::{BYTES_OF_WORD, Effect, Graph, Loop, NodeId, Object, ObjectId, Op};
use rustc_hash::FxHashMap;

/// An object of which iterations change elements that are known.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The object.
    pub object: ObjectId,
    /// Elements of the object in one of the array that stands for it while iterations run.
    pub in_word: usize,
    /// Of several elements in one, the first is the most significant.
    pub big: bool,
    /// Elements that are changed.
    pub indices: Vec<usize>,
    /// Name of the array.
    pub name: String,
}

impl Kept {
    /// The words of the array that are kept, in order.
    pub fn words(&self) -> Vec<usize> {
        let mut words: Vec<usize> = self.indices.iter().map(|index| index / self.in_word).collect();
        words.dedup();
        words
    }
}

/// An iteration, and what goes on to the next.
#[derive(Clone, Debug)]
pub struct Iterations {
    /// The values of an iteration.
    pub graph: Graph,
    /// What is kept.
    pub kept: Vec<Kept>,
    /// The objects of the loop, and behind them the arrays of what is kept, in their order.
    pub objects: Vec<Object>,
    /// What an iteration does.
    pub effects: Vec<Effect>,
}

impl Iterations {
    /// The iterations of a loop.
    pub fn of(body: &Loop) -> Iterations {
        let mut iterations = Iterations::keeping(body);
        iterations.graph = iterations.import(body);
        iterations
    }

    /// The number of the object that the first of what is kept stands in.
    pub fn first_kept(&self) -> usize {
        self.objects.len() - self.kept.len()
    }

    fn keeping(body: &Loop) -> Iterations {
        let graph = &body.graph;
        // Objects that are read at places that are not known stay in memory.
        let at_unknown_places = body.read_at_unknown_places();
        let mut ascending: FxHashMap<ObjectId, i64> = FxHashMap::default();
        let entry = |id: NodeId| match graph.op(id) {
            Op::Entry { object, index } => graph.constant(*index).map(|index| (*object, index)),
            _ => None,
        };
        // Also of bytes that are masked before they are put together.
        let read = |id: NodeId| {
            entry(id).or_else(|| match *graph.op(id) {
                Op::Xor(a, b) => entry(a).or_else(|| entry(b)),
                _ => None,
            })
        };
        for id in graph.reachable(body.roots()) {
            let Op::Concat(parts) = graph.op(id) else { continue };
            for pair in parts.windows(2) {
                if let [Some((object, a)), Some((other, b))] = [read(pair[0]), read(pair[1])]
                    && object == other
                {
                    let up = i64::from(b == a + 1) - i64::from(a == b + 1);
                    *ascending.entry(object).or_default() += up;
                }
            }
        }
        let mut by_object: FxHashMap<ObjectId, Vec<usize>> = FxHashMap::default();
        for one in &body.carried {
            by_object.entry(one.object).or_default().push(one.index);
        }
        let mut order: Vec<ObjectId> = by_object.keys().copied().collect();
        order.sort_unstable();
        let mut kept = Vec::new();
        let mut objects = body.objects.clone();
        for object in order {
            if at_unknown_places.contains(&object) {
                continue;
            }
            let mut indices = by_object.remove(&object).unwrap_or_default();
            indices.sort_unstable();
            let bytes = body.objects[object.0 as usize].width == 8;
            let whole = indices.chunks(BYTES_OF_WORD).all(|word| {
                let first = word[0];
                first % BYTES_OF_WORD == 0 && word.iter().copied().eq(first..first + BYTES_OF_WORD)
            });
            let in_word = if bytes && whole { BYTES_OF_WORD } else { 1 };
            let name = format!("{}_kept_", body.objects[object.0 as usize].name);
            let (width, length) = (body.objects[object.0 as usize].width, body.objects[object.0 as usize].length);
            objects.push(Object {
                name: name.clone(),
                width: width * in_word as u32,
                length: length / in_word,
                persistent: true,
                residue: None,
            });
            let big = ascending.get(&object).is_none_or(|&up| up >= 0);
            kept.push(Kept { object, in_word, big, indices, name });
        }
        Iterations { graph: Graph::new(), kept, objects, effects: Vec::new() }
    }

    /// The graph in which what is kept stands in arrays, and the effects.
    fn import(&mut self, body: &Loop) -> Graph {
        let first_kept = body.objects.len();
        let at: FxHashMap<ObjectId, usize> = self.kept.iter().enumerate().map(|(i, kept)| (kept.object, i)).collect();
        let mut graph = Graph::with_tables_of(&body.graph);
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in body.graph.reachable(body.roots()) {
            let (op, width) = (body.graph.op(id), body.graph.width(id));
            let of = |operand: &NodeId| known[operand];
            let new = match op {
                Op::Entry { object, index } => {
                    let place = at.get(object).zip(body.graph.constant(*index));
                    match place.filter(|(i, index)| self.kept[**i].indices.contains(&(*index as usize))) {
                        Some((&i, index)) => self.kept[i].entry(&mut graph, first_kept + i, index as usize, width),
                        None => graph.entry(*object, of(index), width),
                    }
                }
                Op::Concat(parts) => {
                    let parts: Vec<NodeId> = parts.iter().map(of).collect();
                    join_loads(&mut graph, &parts)
                }
                _ => {
                    let operands: Vec<NodeId> = op.operands().iter().map(of).collect();
                    graph.rebuild(op, width, &operands)
                }
            };
            known.insert(id, new);
        }
        let mut effects = Vec::new();
        let mut outputs: Vec<(u32, u64, NodeId)> =
            body.outputs.iter().map(|&(port, offset, value)| (port, offset, known[&value])).collect();
        bytes_of_words(&mut graph, &mut outputs);
        for (port, offset, value) in outputs {
            effects.push(Effect::Output { port, offset, value });
        }
        let mut next: FxHashMap<(ObjectId, usize), NodeId> = FxHashMap::default();
        for one in &body.carried {
            next.insert((one.object, one.index), known[&one.next]);
            if !at.contains_key(&one.object) {
                let index = graph.number(one.index as u128, 64);
                effects.push(Effect::Store { object: one.object, index, value: known[&one.next] });
            }
        }
        for (i, kept) in self.kept.iter().enumerate() {
            for word in kept.words() {
                let mut parts: Vec<NodeId> =
                    (0..kept.in_word).map(|at| next[&(kept.object, kept.in_word * word + at)]).collect();
                if !kept.big {
                    parts.reverse();
                }
                let value = join_loads(&mut graph, &parts);
                let index = graph.number(word as u128, 64);
                effects.push(Effect::Store { object: ObjectId((first_kept + i) as u32), index, value });
            }
        }
        self.effects = effects;
        graph
    }
}

/// Bytes that lie together become those of a word where that takes fewer operations: `in[0] ^ (x >> 24)`,
/// `in[1] ^ (x >> 16 & 255)` and so on are the bytes of one XOR.
fn bytes_of_words(graph: &mut Graph, outputs: &mut [(u32, u64, NodeId)]) {
    outputs.sort_by_key(|&(port, offset, _)| (port, offset));
    let mut at = 0;
    while at < outputs.len() {
        let rest = &mut outputs[at..];
        at += WORDS.iter().find(|&&n| as_word(graph, rest, n)).copied().unwrap_or(1);
    }
}

/// Bytes of words that are looked for.
const WORDS: [usize; 2] = [8, 4];

/// Whether the first `n` of some outputs are now bytes of one bitwise operation on words.
fn as_word(graph: &mut Graph, outputs: &mut [(u32, u64, NodeId)], n: usize) -> bool {
    let Some(outputs) = outputs.get_mut(..n) else { return false };
    let (port, first) = (outputs[0].0, outputs[0].1);
    let lie_together = |(i, one): (usize, &(u32, u64, NodeId))| one.0 == port && one.1 == first + i as u64;
    let is_bitwise = |op: &Op| matches!(op, Op::Xor(..) | Op::And(..) | Op::Or(..));
    let fits = |one: &(u32, u64, NodeId)| graph.width(one.2) == 8 && is_bitwise(graph.op(one.2));
    if !outputs.iter().enumerate().all(lie_together) || !outputs.iter().all(fits) {
        return false;
    }
    for big in [true, false] {
        let mut parts: Vec<NodeId> = outputs.iter().map(|one| one.2).collect();
        if !big {
            parts.reverse();
        }
        let word = join_loads(graph, &parts);
        let is_whole = |side: &NodeId| !matches!(graph.op(*side), Op::Concat(_));
        if is_bitwise(graph.op(word)) && graph.op(word).operands().iter().any(is_whole) {
            for (i, one) in outputs.iter_mut().enumerate() {
                let place = if big { n - 1 - i } else { i };
                // Not `extract`, which follows bytes to where they came from.
                one.2 = graph.add(Op::Extract(word, 8 * place as u32), 8);
            }
            return true;
        }
    }
    false
}

impl Kept {
    fn entry(&self, graph: &mut Graph, object: usize, index: usize, width: u32) -> NodeId {
        let word = graph.number((index / self.in_word) as u128, 64);
        let word = graph.entry(ObjectId(object as u32), word, width * self.in_word as u32);
        let place = index % self.in_word;
        let place = if self.big { self.in_word - 1 - place } else { place };
        graph.extract(word, width * place as u32, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Carried, Carry};

    fn masked(graph: &mut Graph, places: [u32; 4]) -> Vec<(u32, u64, NodeId)> {
        let index = graph.number(0, 32);
        let word = graph.entry(ObjectId(0), index, 32);
        let mut outputs = Vec::new();
        for (offset, place) in (0..).zip(places) {
            let (byte, token) = (graph.extract(word, place, 8), graph.input(0, offset, 8));
            outputs.push((0, offset as u64, graph.xor(byte, token)));
        }
        outputs
    }

    #[test]
    fn bytes_that_are_masked_and_put_together_are_kept_in_that_order() {
        for is_big in [true, false] {
            let mut graph = Graph::new();
            let mut bytes: Vec<NodeId> = (0..4)
                .map(|at| {
                    let (index, token) = (graph.number(at, 32), graph.input(0, at as i64, 8));
                    let byte = graph.entry(ObjectId(0), index, 8);
                    graph.xor(byte, token)
                })
                .collect();
            if !is_big {
                bytes.reverse();
            }
            let joined = graph.concat(&bytes);
            let one = graph.number(1, 32);
            let word = graph.add(Op::Add(joined, one), 32);
            let next = (0..4).map(|at| Carried {
                object: ObjectId(0),
                index: at as usize,
                next: graph.extract(word, 8 * at, 8),
                carry: Carry::True,
            });
            let carried = next.collect();
            let kept = Object { name: "kept".into(), width: 8, length: 4, persistent: true, residue: None };
            let body = Loop {
                graph,
                objects: vec![kept],
                consumes: vec![(4, 8)],
                produces: Vec::new(),
                outputs: Vec::new(),
                carried,
                counters: Vec::new(),
            };
            let iterations = Iterations::of(&body);
            assert_eq!((iterations.kept[0].in_word, iterations.kept[0].big), (4, is_big));
        }
    }

    #[test]
    fn masked_bytes_of_a_word_are_bytes_of_a_masked_word() {
        for places in [[24, 16, 8, 0], [0, 8, 16, 24]] {
            let mut graph = Graph::new();
            let mut outputs = masked(&mut graph, places);
            bytes_of_words(&mut graph, &mut outputs);
            let found: Vec<(NodeId, u32)> = (outputs.iter())
                .filter_map(|one| match *graph.op(one.2) {
                    Op::Extract(word, lo) if matches!(graph.op(word), Op::Xor(..)) => Some((word, lo)),
                    _ => None,
                })
                .collect();
            assert_eq!(found.iter().map(|one| one.1).collect::<Vec<_>>(), places);
            assert!(found.iter().all(|one| one.0 == found[0].0));
        }
    }

    #[test]
    fn bytes_in_another_order_stay() {
        let mut graph = Graph::new();
        let before = masked(&mut graph, [8, 24, 0, 16]);
        let mut outputs = before.clone();
        bytes_of_words(&mut graph, &mut outputs);
        assert_eq!(outputs, before);
    }
}
