//! Loop vectorisation: one lane for each iteration. A loop with one lane of a vector for each iteration.
//!
//! Every value that differs from iteration to iteration is a vector of lanes as wide as the widest of them. Words that
//! a group of iterations reads lie iteration after iteration; they become one vector for each word by taking even and
//! odd ones apart, as often as the number of words halves. Vector types of gcc and clang are used, and instructions by
//! name where compilers do not find them.

mod counted;
mod interleave;
mod look_ups;
mod multi_buffer;
mod operations;
mod optimization_barriers;
mod rotations;
mod rows_of_messages;
mod shuffled;
mod statements;
mod ternary;

pub(super) use counted::{registers, registers_of};
pub(super) use multi_buffer::many_lanes;

use self::interleave::TOGETHER;
use self::statements::Computed;
use self::ternary::Ternary;
use super::expression::{Expressions, literal, word_type};
use super::loop_frame::{CFunction, LoopNames, OPERATION, Support, frame};
use super::machine::Machine;
use super::rows::Rows;
use super::translation_validation::LANES;
use super::vectors::{Mixed, behind, lie_together, load_words, store_words, vector_support};
use super::words::{Late, Layout, NotApplicable, WordLoop};
use super::work::Trace;
use super::{Names, Outside};
use headrace_boolean::nibble_tables::NibbleTables;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Graph, Loop, NodeId, Op, TableId};
use headrace_transform::passes::batch_byte_lookups;
use headrace_transform::passes::unroll_and_interleave::{self, unroll_and_interleave_counted};
use headrace_transform::statements::Piece;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Prints a loop with one lane for each iteration.
///
/// # Errors
///
/// Why it cannot be.
pub fn lanes(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    lanes_after(body, machine, names, "")
}

/// The same, with statements before the first iteration.
pub(super) fn lanes_after(
    body: &Loop,
    machine: &Machine,
    names: &LoopNames,
    before: &str,
) -> Result<CFunction, NotApplicable> {
    let mut reason = NotApplicable("no width of lanes is enough".into());
    let together = if machine.chooses_bytes() { batch_byte_lookups::PASS.on_loop(body) } else { None };
    let body = together.as_ref().unwrap_or(body);
    for bits in [8, 16, 32, 64] {
        match WordLoop::new(body, bits) {
            Ok(words) if fits(&words) => return printed(&words.held()?, machine, names, before),
            Ok(_) => {}
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// Prints a loop, two iterations in every lane where one would wait for itself.
fn printed(words: &WordLoop, machine: &Machine, names: &LoopNames, before: &str) -> Result<CFunction, NotApplicable> {
    let one = Printer::new(words, machine, names);
    if !one.waits() {
        return one.function(before);
    }
    let two = unroll_and_interleave::PASS.tried(|| unroll_and_interleave_counted(words.body, TOGETHER));
    let Some(two) = two else { return one.function(before) };
    let two = WordLoop::with_order(&two, words.bits, words.big)?.held_of(Some((words.body, TOGETHER)))?;
    // What lies before the first iteration has room for one iteration only.
    let before_first = two.read().iter().any(|&(port, _)| port == two.first_port());
    let together =
        two.inputs.iter().chain(&two.outputs).all(|layout| layout.tokens == 0 || lie_together(layout, words.bits));
    if before_first || !together {
        return one.function(before);
    }
    let printer = Printer { frame: words, ..Printer::new(&two, machine, names) };
    printer.function(before).or_else(|_| one.function(before))
}

/// Whether all that differs from iteration to iteration fits in a lane.
fn fits(words: &WordLoop) -> bool {
    let read = words.read();
    let is_read = |counter: usize| read.iter().any(|one| one.0 == words.counter_port(counter));
    words.varying.iter().all(|&id| words.graph.width(id) <= words.bits)
        // Carries from word to word are found for small steps only.
        && words.body.counters.iter().enumerate().all(|(at, counter)| {
            words.body.graph.width(counter.start) <= words.bits || counter.step < 1 << (words.bits - 7) || !is_read(at)
        })
}

/// The variable of a word that is read; negative ones belong to the iteration before.
fn word_name(port: u32, word: i64) -> String {
    if word < 0 { format!("y{port}_{}_", -word) } else { format!("x{port}_{word}_") }
}

/// Scalar statements for what no iteration changes, as far as `needed` asks for it.
pub(super) fn constants(
    graph: &Graph,
    objects: &[headrace_transform::kernel::Object],
    names: &dyn Names,
    needed: &[NodeId],
) -> (String, FxHashMap<NodeId, String>) {
    let outside = Outside { graph, objects, names, stored: FxHashSet::default() };
    let mut uses: FxHashMap<NodeId, u32> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut open: Vec<NodeId> = needed.to_vec();
    open.iter().for_each(|&id| *uses.entry(id).or_default() += 2);
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            for operand in outside.reads(id) {
                *uses.entry(operand).or_default() += 1;
                open.push(operand);
            }
        }
    }
    let mut order: Vec<NodeId> = seen.into_iter().collect();
    order.sort_unstable();
    let mut expressions = Expressions {
        outside: &outside,
        locals: FxHashMap::default(),
        loaded: FxHashMap::default(),
        copied: FxHashSet::default(),
        guarded: FxHashSet::default(),
    };
    let mut text = String::new();
    for id in order {
        if matches!(graph.op(id), Op::Const(_)) || uses.get(&id).is_none_or(|&n| n < 2) {
            continue;
        }
        let name = format!("k{}_", id.0);
        let _ = writeln!(text, "  const {} {name} = {};", word_type(graph.width(id)), expressions.value(id));
        expressions.locals.insert(id, name);
    }
    let values = needed.iter().map(|&id| (id, expressions.value(id))).collect();
    (text, values)
}

/// The input port whose words of the same iteration are mixed into all words of an output port, each into the one at
/// its place: they need not be taken apart, and rows are mixed as they lie in memory.
pub(super) fn mixed_into(words: &WordLoop, port: usize) -> Option<u32> {
    let layout = &words.outputs[port];
    let mut from = None;
    let mut n_words = 0;
    for &(_, word, value) in words.written.iter().filter(|one| one.0 as usize == port) {
        let (input, at, first) = Late::new(words, value).mixed?;
        if at != word as i64 || first.is_some() || from.is_some_and(|from| from != input) {
            return None;
        }
        from = Some(input);
        n_words += 1;
    }
    let same = words.inputs.get(from? as usize)?.bytes() == layout.bytes();
    (same && n_words == layout.words(words.bits) && lie_together(layout, words.bits)).then_some(from?)
}

struct Printer<'a> {
    words: &'a WordLoop<'a>,
    /// The loop that is called for, of which `words` may do several iterations at once.
    frame: &'a WordLoop<'a>,
    machine: &'a Machine,
    names: &'a LoopNames<'a>,
    outside: Outside<'a>,
    /// What is computed for each word that is written.
    values: Vec<NodeId>,
    /// For each output port the input port whose words are mixed into its rows.
    mixed: Vec<Option<u32>>,
    /// Vectors by node.
    vectors: FxHashMap<NodeId, String>,
    /// Vectors that are rotated, by how far.
    rotations: FxHashMap<(NodeId, u32), String>,
    /// Tables that are tables of nibbles.
    nibbles: FxHashMap<TableId, NibbleTables>,
    support: Vec<Support>,
    text: String,
    /// While values are computed, the statements for them, which may be put into another order.
    computed: Computed,
    /// The same as operations that are counted.
    trace: Trace<'static>,
    /// Sums, and numbers that are added, that compilers take as they are.
    kept: FxHashSet<NodeId>,
    /// Whether a value is computed when it is first needed, so that few are held at a time, and not where it was
    /// written.
    is_deep: bool,
}

impl<'a> Printer<'a> {
    fn new(words: &'a WordLoop<'a>, machine: &'a Machine, names: &'a LoopNames<'a>) -> Printer<'a> {
        let outside = Outside {
            graph: &words.graph,
            objects: &words.body.objects,
            names: names.names,
            stored: FxHashSet::default(),
        };
        let mixed: Vec<Option<u32>> = (0..words.outputs.len()).map(|port| mixed_into(words, port)).collect();
        let value = |&(port, _, value): &(u32, u64, NodeId)| match mixed[port as usize] {
            Some(_) => Late::new(words, value).value,
            None => value,
        };
        let values = words.written.iter().map(value).collect();
        let (vectors, rotations, support, text) =
            (FxHashMap::default(), FxHashMap::default(), Vec::new(), String::new());
        let computed = Computed::default();
        let (frame, is_deep, nibbles, kept) = (words, false, FxHashMap::default(), FxHashSet::default());
        let mut printer = Printer {
            words,
            frame,
            machine,
            names,
            outside,
            values,
            mixed,
            vectors,
            rotations,
            nibbles,
            support,
            text,
            computed,
            trace: Trace::default(),
            kept,
            is_deep,
        };
        printer.find_nibbles();
        printer
    }

    /// What is computed, each node after those that it reads.
    fn reachable(&self) -> Vec<NodeId> {
        self.words.graph.reachable(self.values.iter().copied())
    }

    /// Ports and words that are read for that.
    fn read_words(&self) -> Vec<(u32, i64)> {
        let inputs = self.reachable().into_iter().filter_map(|id| match self.words.graph.op(id) {
            Op::Input { port, offset } => Some((*port, *offset)),
            _ => None,
        });
        inputs.collect()
    }

    fn support(&mut self, text: impl Into<String>) {
        self.needs(Support::of_all(text));
    }

    fn needs(&mut self, support: Support) {
        if !self.support.contains(&support) {
            self.support.push(support);
        }
    }

    fn lane(&self) -> u32 {
        self.words.bits
    }

    fn v(&self) -> String {
        format!("hr_v{}x{}", self.machine.vector_bits, self.lane())
    }

    /// The same type with signed lanes.
    fn signed(&self) -> String {
        format!("hr_s{}x{}", self.machine.vector_bits, self.lane())
    }

    fn all(&self, text: &str) -> String {
        format!("HR_ALL_{}x{}({text})", self.machine.vector_bits, self.lane())
    }

    fn number(&self, value: u128) -> String {
        self.all(&literal(value, if self.lane() == 64 { 64 } else { 32 }))
    }

    fn line(&mut self, text: &str) {
        self.text.push_str("    ");
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn function(mut self, before: &str) -> Result<CFunction, NotApplicable> {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let words = self.words;
        let n_together = self.together();
        let group_iterations = bits / lane * n_together;
        let mut once = self.unchanged(before);
        self.read(&mut once);
        self.compute()?;
        for (port, layout) in words.outputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0) {
            self.name_outputs(port);
            let mixed = self.mixed[port].map(|from| Mixed(format!("i{from}_")));
            let to = format!("o{port}_");
            let name = |k| format!("z{port}_{k}_");
            let text = store_words(layout, bits, lane, &behind(&to), mixed.as_ref(), &name, "    ");
            self.text.push_str(&text);
        }
        let text = frame(self.frame, self.machine, self.names, group_iterations, &once, &self.text);
        let nodes = self.reachable().into_iter().filter(|id| words.varying.contains(id));
        let rows = words.inputs.iter().chain(&words.outputs);
        let cycles = self.cycles(rows, nodes) / f64::from(group_iterations);
        let cycles = if n_together > 1 { self.machine.costs.two_iterations(cycles) } else { cycles };
        let name = self.names.function.to_owned();
        let moved: u64 = words.inputs.iter().chain(&words.outputs).map(|layout| layout.words(lane)).sum();
        let size = OPERATION * (self.reachable().len() + moved as usize) * n_together as usize;
        let work = self.work(words.inputs.len(), words.outputs.len(), f64::from(group_iterations));
        Ok(CFunction { name, support: self.support, text, cycles, size, evidence: LANES.to_vec(), work })
    }

    /// Statements for what vectors and tokens need of what no iteration changes, behind those of tables.
    fn unchanged(&mut self, before: &str) -> String {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let words = self.words;
        self.support(vector_support(bits, lane));
        let mut needed: Vec<NodeId> = Vec::new();
        let varying = |id: &NodeId| words.varying.contains(id);
        for id in self.reachable().into_iter().filter(varying) {
            needed.extend(self.reads(id).into_iter().filter(|id| !varying(id)));
        }
        needed.extend(self.values.iter().copied().filter(|id| !varying(id)));
        needed.sort_unstable();
        needed.dedup();
        needed.retain(|&id| !matches!(words.graph.op(id), Op::Const(_)) && words.graph.width(id) <= lane);
        let (constants, values) = constants(&words.graph, &words.body.objects, self.names.names, &needed);
        let mut once = format!("{before}{constants}");
        for &id in &needed {
            let name = format!("w{}_", id.0);
            let _ = writeln!(once, "  const {} {name} = {};", self.v(), self.all(&values[&id]));
            self.vectors.insert(id, name);
        }
        once.push_str(&self.kept_numbers());
        once
    }

    /// A vector for each value that differs from iteration to iteration.
    fn compute(&mut self) -> Result<(), NotApplicable> {
        let words = self.words;
        let order = match self.together() {
            1 if self.is_deep => self.depth_first(),
            1 => self.reachable(),
            _ => self.side_by_side(),
        };
        let varying = |id: &NodeId| words.varying.contains(id);
        let read = self.read_for_values();
        let order: Vec<NodeId> = order.into_iter().filter(|id| varying(id) && read.contains(id)).collect();
        let ternary = match self.machine.ternary {
            true => Ternary::new(&words.graph, &order, &self.values, self.lane(), &|id| self.reads(id)),
            false => Ternary::default(),
        };
        let mut gates = FxHashMap::default();
        for id in order {
            if matches!(words.graph.op(id), Op::Input { .. }) {
                continue;
            }
            if ternary.holds(id) {
                if let Some(signal) = ternary.output(id) {
                    let name = self.gate(&ternary, signal, &mut gates);
                    self.count_output(id, signal, ternary.source(signal).ok());
                    self.vectors.insert(id, name);
                }
                continue;
            }
            let text = self.node(id)?;
            self.count_node(id);
            let text = if self.kept.contains(&id) { self.kept(&text) } else { text };
            let operands: Vec<String> =
                self.reads(id).iter().filter_map(|operand| self.vectors.get(operand).cloned()).collect();
            let name = format!("v{}_", id.0);
            let v = self.v();
            self.computed.value(&v, &name, &text, operands);
            self.vectors.insert(id, name);
        }
        let scheduled = (self.together() > 1).then_some(&self.machine.costs.latency);
        let statements = self.computed.take(scheduled);
        statements.iter().for_each(|statement| self.line(statement));
        Ok(())
    }

    /// Names for the words of an output port: `zPORT_WORD_`.
    fn name_outputs(&mut self, port: usize) {
        let v = self.v();
        for (i, &(at, word, _)) in self.words.written.iter().enumerate() {
            if at as usize == port {
                let value = self.vector(self.values[i]);
                self.line(&format!("const {v} z{port}_{word}_ = {value};"));
            }
        }
    }

    /// Cycles that a group takes to move rows and to compute nodes, estimated.
    fn cycles<'l>(&self, rows: impl Iterator<Item = &'l Layout>, nodes: impl Iterator<Item = NodeId>) -> f64 {
        let (words, costs) = (self.words, &self.machine.costs);
        let n_lanes = self.machine.vector_bits / self.lane();
        let moved: f64 = rows
            .filter(|layout| layout.tokens > 0)
            .map(|layout| {
                let n = layout.words(self.lane());
                let together = n.is_power_of_two() && layout.bytes() == n * u64::from(self.lane() / 8);
                if together {
                    return costs.halved_row(n);
                }
                match Rows::new(layout, self.machine.vector_bits, self.lane()) {
                    Some(rows) => {
                        let cheap = self.machine.byte_permute || rows.unit_bits >= 32;
                        costs.permuted_row(n, rows.permutations(), cheap)
                    }
                    None => costs.row_alone(n, n_lanes),
                }
            })
            .sum();
        let computed: f64 = nodes
            .map(|id| match words.graph.op(id) {
                Op::Lookup(..) | Op::LookupBytes(..) | Op::Entry { .. } => {
                    self.way_of_elements(id).map_or(0.0, |way| costs.elements(way))
                }
                // Without vectors of their own, counts that differ cost a shift for each lane.
                Op::RotateLeft(..) | Op::ShiftLeft(..) | Op::ShiftRight(..) if !self.machine.gather => {
                    costs.shifts_alone(n_lanes)
                }
                Op::RotateLeft(..) if !self.rotates() => costs.rotation(),
                // Three operands of bitwise operations for every two that are there.
                Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Not(_) if self.machine.ternary => costs.lanes(1),
                Op::Concat(parts) => {
                    let pieces = self.outside.pieces(parts);
                    if !self.rotates() && self.one_rotation(&pieces).is_some() {
                        return costs.lanes(1);
                    }
                    let moved = pieces.iter().filter(|piece| !matches!(piece, Piece::Moved { shift: 0, .. })).count();
                    costs.lanes((moved + pieces.len()).saturating_sub(1).max(1))
                }
                _ => costs.lanes(self.reads(id).len()),
            })
            .sum();
        moved + computed
    }

    /// Tokens, counters and the flag of the first iteration.
    fn read(&mut self, once: &mut String) {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let words = self.words;
        let read = self.read_words();
        for (port, layout) in words.inputs.iter().enumerate() {
            let port = port as u32;
            let n_words = layout.words(lane) as i64;
            for (before, from) in [(false, format!("i{port}_")), (true, format!("(i{port}_ - {})", layout.bytes()))] {
                if read.iter().any(|&(at, word)| at == port && (word < 0) == before) {
                    let name = |k: u64| word_name(port, if before { k as i64 - n_words } else { k as i64 });
                    let text = load_words(layout, bits, lane, &behind(&from), &name, "    ");
                    self.text.push_str(&text);
                }
            }
        }
        let v = self.v();
        for n in 0..words.body.counters.len() {
            let port = words.counter_port(n);
            if read.iter().any(|&(at, _)| at == port) {
                let most = read.iter().filter(|&&(at, _)| at == port).map(|one| one.1).max().unwrap_or(0);
                self.counter(n, most);
            }
        }
        if read.iter().any(|&(port, _)| port == words.first_port()) {
            once.push_str("  unsigned first_group_ = 1;\n");
            let port = words.first_port();
            self.line(&format!("const {v} {} = {{first_group_}};", word_name(port, 0)));
        }
        for id in self.reachable() {
            if let Op::Input { port, offset } = words.graph.op(id) {
                self.vectors.insert(id, word_name(*port, *offset));
            }
        }
    }

    /// The words of a counter: the lane's multiple of the step is added, and what it carries.
    fn counter(&mut self, n: usize, most: i64) {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let counter = &self.words.body.counters[n];
        let width = self.words.body.graph.width(counter.start);
        let port = self.words.counter_port(n);
        // Later iterations of a lane have counters behind those of the first.
        let in_frame = &self.frame.body.counters;
        let (n, iteration) = (n % in_frame.len(), (n / in_frame.len()) as u128);
        let later = iteration.wrapping_mul(in_frame[n].step) & mask(lane);
        let v = self.v();
        for word in 0..=most {
            let name = word_name(port, word);
            let above = width - word as u32 * lane;
            let base = self.all(&format!("(uint{lane}_t)(c{n}_ >> {})", word as u32 * lane));
            let text = if word == 0 {
                let steps = literal(counter.step, if lane == 64 { 64 } else { 32 });
                let steps = format!("{base} + HR_STEPS_{bits}x{lane}({steps})");
                if iteration == 0 { steps } else { format!("{steps} + {}", self.number(later)) }
            } else {
                let below = word_name(port, word - 1);
                let base_below = if word == 1 {
                    self.all(&format!("(uint{lane}_t)c{n}_"))
                } else {
                    self.all(&format!("(uint{lane}_t)(c{n}_ >> {})", (word as u32 - 1) * lane))
                };
                format!("{base} + (({v})({below} < {base_below}) & {})", self.number(1))
            };
            let text = if above < lane { format!("({text}) & {}", self.number(mask(above))) } else { text };
            self.line(&format!("const {v} {name} = {text};"));
        }
    }
}
