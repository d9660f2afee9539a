//! A loop whose passes run one after the other, each as scalar statements.
//!
//! What goes from pass to pass is kept in local arrays, which compilers turn into registers. Bytes that lie
//! together are kept as words of 32 bits, in the order in which the passes put them together.

use super::Names;
use super::frame::{CFunction, LoopNames, head};
use super::pieces::Outside;
use super::scalar::{element_type, statements_in_order};
use super::words::glue;
use headrace_source::Span;
use headrace_transform::kernel::{Effect, Evidence, Graph, Loop, NodeId, Object, ObjectId, Op, TableId};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Cycles that an operation is taken for, many of which run at once.
const SCALAR_OPERATION: f64 = 0.3;

/// Bytes of statements from which on compilers are told to leave passes one by one: putting those side by side takes them
/// minutes, and nothing is gained by it.
const LONG: usize = 60_000;

/// What passes are held to.
const TESTED: Evidence =
    Evidence::Test { what: "statements", test: "crates/targets/tests/kernel_loops.rs passes_do_what_loops_mean" };

/// Prints a loop pass after pass.
pub fn passes(body: &Loop, names: &LoopNames) -> CFunction {
    let (block, cycles) = passes_block(body, names.names, "passes", false);
    let own = if block.len() > LONG { "HR_SCALAR " } else { "" };
    let text = format!("{own}{}{block}}}\n", head(body, None, names));
    CFunction { name: names.function.to_owned(), support: Vec::new(), text, cycles, evidence: vec![TESTED] }
}

/// Statements that do as many passes as an expression says and leave pointers behind them, and estimated cycles of a pass;
/// `by_number`: values are computed in the order of the graph.
pub(super) fn passes_block(body: &Loop, names: &dyn Names, n_passes: &str, by_number: bool) -> (String, f64) {
    let mut plan = Plan::new(body);
    let graph = plan.import();
    let effects = plan.effects.clone();
    let outside = PassNames { names, body, kept: &plan.kept };
    let mut text = String::new();
    for kept in &plan.kept {
        text.push_str(&kept.declaration(body, names));
    }
    let statements = statements_in_order(&graph, &plan.objects, &effects, &outside, 2, by_number);
    if statements.len() > LONG {
        text.push_str("  HR_ONE_BY_ONE\n");
    }
    let _ = writeln!(text, "  for (size_t n_ = {n_passes}; n_ != 0; n_--) {{");
    text.push_str(&statements);
    for (letter, ports) in [("in", &body.consumes), ("out", &body.produces)] {
        for (port, &(tokens, _)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = writeln!(text, "    {letter}{port} += {tokens};");
        }
    }
    text.push_str("  }\n");
    for kept in &plan.kept {
        text.push_str(&kept.store(body, names));
    }
    let printing = Outside { graph: &graph, objects: &plan.objects, names: &outside, stored: HashSet::new() };
    let mut roots = Vec::new();
    Effect::walk(&effects, &mut |effect| roots.extend(effect.uses()));
    let operations: usize = graph.reachable(roots).into_iter().map(|id| printing.reads(id).len()).sum();
    (text, operations as f64 * SCALAR_OPERATION)
}

/// An object of which passes change elements that are known.
struct Kept {
    object: ObjectId,
    /// Elements of the object in one of the array.
    in_word: usize,
    big: bool,
    /// Elements that are changed.
    indices: Vec<usize>,
    name: String,
}

impl Kept {
    fn declaration(&self, body: &Loop, names: &dyn Names) -> String {
        let object = &body.objects[self.object.0 as usize];
        let element = |index: usize| names.element(object, &index.to_string());
        if self.in_word == 1 {
            let mut text = format!("  {} {}[{}];\n", element_type(object.width), self.name, object.length);
            for &index in &self.indices {
                let _ = writeln!(text, "  {}[{index}] = {};", self.name, element(index));
            }
            return text;
        }
        let mut text = format!("  uint32_t {}[{}];\n", self.name, object.length / 4);
        for word in self.words() {
            let order = if self.big { "be" } else { "le" };
            let _ = writeln!(text, "  {}[{word}] = hr_{order}32(&{});", self.name, element(4 * word));
        }
        text
    }

    fn words(&self) -> Vec<usize> {
        let mut words: Vec<usize> = self.indices.iter().map(|index| index / self.in_word).collect();
        words.dedup();
        words
    }

    fn store(&self, body: &Loop, names: &dyn Names) -> String {
        let object = &body.objects[self.object.0 as usize];
        let mut text = String::new();
        for word in self.words() {
            let element = names.element(object, &(self.in_word * word).to_string());
            if self.in_word == 1 {
                let _ = writeln!(text, "  {element} = {}[{word}];", self.name);
            } else {
                let order = if self.big { "be" } else { "le" };
                let _ = writeln!(text, "  hr_put_{order}32(&{element}, {}[{word}]);", self.name);
            }
        }
        text
    }
}

struct Plan<'a> {
    body: &'a Loop,
    kept: Vec<Kept>,
    /// The objects of the loop, and behind them the arrays of what is kept.
    objects: Vec<Object>,
    effects: Vec<Effect>,
}

impl<'a> Plan<'a> {
    fn new(body: &'a Loop) -> Plan<'a> {
        let graph = &body.graph;
        // Objects that are read at places that are not known stay in memory.
        let mut at_unknown_places = HashSet::new();
        let mut ascending: HashMap<ObjectId, i64> = HashMap::new();
        for id in graph.reachable(body.roots()) {
            match graph.op(id) {
                Op::Entry { object, index } if graph.constant(*index).is_none() => {
                    at_unknown_places.insert(*object);
                }
                Op::Concat(parts) => {
                    let entry = |id: NodeId| match graph.op(id) {
                        Op::Entry { object, index } => graph.constant(*index).map(|index| (*object, index)),
                        _ => None,
                    };
                    for pair in parts.windows(2) {
                        if let [Some((object, a)), Some((other, b))] = [entry(pair[0]), entry(pair[1])]
                            && object == other
                        {
                            let up = i64::from(b == a + 1) - i64::from(a == b + 1);
                            *ascending.entry(object).or_default() += up;
                        }
                    }
                }
                _ => {}
            }
        }
        let mut by_object: HashMap<ObjectId, Vec<usize>> = HashMap::new();
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
            let whole = indices.chunks(4).all(|four| four.len() == 4 && four[0] % 4 == 0 && four[3] == four[0] + 3);
            let in_word = if bytes && whole { 4 } else { 1 };
            let name = format!("{}_kept_", body.objects[object.0 as usize].name);
            let (width, length) = (body.objects[object.0 as usize].width, body.objects[object.0 as usize].length);
            objects.push(Object {
                name: name.clone(),
                width: if in_word == 4 { 32 } else { width },
                length: length / in_word,
                persistent: true,
            });
            let big = ascending.get(&object).is_none_or(|&up| up >= 0);
            kept.push(Kept { object, in_word, big, indices, name });
        }
        Plan { body, kept, objects, effects: Vec::new() }
    }

    /// The graph in which what is kept stands in arrays, and the effects.
    fn import(&mut self) -> Graph {
        let body = self.body;
        let first_kept = body.objects.len();
        let at: HashMap<ObjectId, usize> = self.kept.iter().enumerate().map(|(i, kept)| (kept.object, i)).collect();
        let mut graph = Graph::with_tables_of(&body.graph);
        let mut known: HashMap<NodeId, NodeId> = HashMap::new();
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
                    glue(&mut graph, &parts)
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
        let mut next: HashMap<(ObjectId, usize), NodeId> = HashMap::new();
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
                let value = glue(&mut graph, &parts);
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
        let word = glue(graph, &parts);
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

struct PassNames<'a> {
    names: &'a dyn Names,
    body: &'a Loop,
    kept: &'a [Kept],
}

impl Names for PassNames<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("in{port}[{offset}]")
    }
    fn input_bytes(&self, port: u32, offset: i64, _n: u32) -> Option<String> {
        (self.body.consumes[port as usize].1 == 8).then(|| format!("in{port} + {offset}"))
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        let name = element_type(self.body.produces[port as usize].1);
        format!("out{port}[{offset}] = ({name})({value});")
    }
    fn output_bytes(&self, port: u32, offset: u64, _n: u32) -> Option<String> {
        (self.body.produces[port as usize].1 == 8).then(|| format!("out{port} + {offset}"))
    }
    fn element(&self, object: &Object, index: &str) -> String {
        if self.kept.iter().any(|kept| kept.name == object.name) {
            return format!("{}[{index}]", object.name);
        }
        self.names.element(object, index)
    }
    fn table(&self, table: TableId) -> String {
        self.names.table(table)
    }
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        self.names.check(condition, index, length, span)
    }
    fn instruction(&self, description: u32, operands: &[String]) -> String {
        self.names.instruction(description, operands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
