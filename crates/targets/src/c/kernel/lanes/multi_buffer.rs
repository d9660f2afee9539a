//! Multi-buffer lanes: one lane for each message. One lane of a vector for each message.

use super::super::CFunction;
use super::super::loop_frame::{LoopNames, OPERATION};
use super::super::machine::{Machine, Needs, attribute};
use super::super::messages::{Gathered, Held, Many, OneIteration, head, leftovers};
use super::super::translation_validation::MANY_LANES;
use super::super::vectors::{behind, load_words, store_words, vector_support};
use super::super::words::{Layout, NotApplicable, WordLoop};
use super::{Printer, fits, word_name};
use headrace_transform::kernel::{Loop, NodeId, Op};
use headrace_transform::passes::pass::Property;
use headrace_transform::passes::pipelines::MULTI_BUFFER;
use headrace_transform::passes::unroll_and_interleave::{self, unroll_and_interleave};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// Prints a loop with one lane for each message, and one or two groups of lanes.
///
/// # Errors
///
/// Why it cannot be.
pub(in crate::c::kernel) fn many_lanes(
    body: &Loop,
    machine: &Machine,
    n_groups: u64,
    names: &LoopNames,
) -> Result<Many, NotApplicable> {
    let mut one = OneIteration::new(body)?;
    let (better, changed) = MULTI_BUFFER.on_loop_with(&one.body, &[]);
    let keeps_sums = changed.iter().any(|pass| pass.gives_up.contains(&Property::SumsAsWritten));
    one.body = better.unwrap_or(one.body);
    let mut reason = NotApplicable("no width of lanes is enough".into());
    for bits in [8, 16, 32, 64] {
        let ways = [false, true].map(|big| WordLoop::with_order(&one.body, bits, big));
        let mut fitting = Vec::new();
        for way in ways {
            match way {
                Ok(words) if fits(&words) => fitting.push(words.held()?),
                Ok(_) => {}
                Err(error) => reason = error,
            }
        }
        // What is read as it is computed with needs the least to be taken apart.
        if let Some(words) = fitting.iter().min_by_key(|words| pieces(words)) {
            return print(body, &one, (words, n_groups), keeps_sums, machine, names);
        }
    }
    Err(reason)
}

/// Nodes, and parts that words are put together from.
fn pieces(words: &WordLoop) -> usize {
    let of = |id: NodeId| match words.graph.op(id) {
        Op::Concat(parts) => 2 * parts.len(),
        _ => 1,
    };
    words.reachable().into_iter().map(of).sum()
}

fn printer<'a>(
    words: &'a WordLoop<'a>,
    frame: &'a WordLoop<'a>,
    machine: &'a Machine,
    names: &'a LoopNames<'a>,
) -> Printer<'a> {
    let values = words.written.iter().map(|one| one.2).collect();
    let mixed = vec![None; words.outputs.len()];
    Printer { frame, values, mixed, is_deep: true, ..Printer::new(words, machine, names) }
}

fn print(
    outer: &Loop,
    one: &OneIteration,
    (frame, n_groups): (&WordLoop, u64),
    keeps_sums: bool,
    machine: &Machine,
    names: &LoopNames,
) -> Result<Many, NotApplicable> {
    let (bits, lane) = (machine.vector_bits, frame.bits);
    let of_group = u64::from(bits / lane);
    let lanes = (of_group * n_groups) as usize;
    let (n_in, n_out) = (outer.consumes.len(), outer.produces.len());
    let groups = || 0..n_groups;
    let several = unroll_and_interleave::PASS.tried(|| unroll_and_interleave(frame.body, n_groups));
    let several = several.ok_or_else(|| NotApplicable("a list is changed at a place that is not known".into()))?;
    let words = &WordLoop::with_order(&several, lane, frame.big)?.held()?;
    let mut printer = printer(words, frame, machine, names);
    if keeps_sums {
        printer.kept = printer.sums_to_keep();
    }
    if n_groups > 1 {
        let one = self::printer(frame, frame, machine, names);
        let whole = |layout: &Layout| layout.bytes() == layout.words(lane) * u64::from(lane / 8);
        if !frame.inputs.iter().chain(&frame.outputs).all(whole) || !one.has_room(&one.depth_first()) {
            return Err(NotApplicable("registers do not hold two groups".into()));
        }
    }
    let v = printer.v();
    let unchanged = printer.unchanged("");
    // What contexts hold becomes words, before the first iteration.
    let (mut pads, mut start, mut each) = (String::new(), String::new(), String::new());
    for (n, held) in one.held.iter().enumerate() {
        let (port, pad) = (n_in + n, format!("held{n}_"));
        let _ = writeln!(pads, "  uint8_t {pad}[{}] = {{0}};", held.layout.bytes() * lanes as u64);
        for (at, element, bytes) in moves(outer, held, names) {
            let _ = writeln!(each, "    memcpy({pad} + i * {} + {at}, &{element}, {bytes});", held.layout.bytes());
        }
        let name = |k: u64| format!("b{port}_{k}_");
        let (row, n_words) = (held.layout.bytes() * of_group, held.layout.words(lane));
        for group in groups() {
            let from = format!("{pad} + {}", row * group);
            let name = |k: u64| name(n_words * group + k);
            start.push_str(&load_words(&held.layout, bits, lane, &behind(&from), &name, "  "));
        }
        for k in 0..n_words * n_groups {
            let word = word_name(port as u32, k as i64);
            if n < one.n_carried {
                let _ = writeln!(start, "  {v} h{word} = {};", name(k));
                let read = printer.ordered(port, &format!("h{word}"));
                printer.line(&format!("const {v} {word} = {read};"));
            } else {
                let _ = writeln!(start, "  const {v} {word} = {};", printer.ordered(port, &name(k)));
            }
        }
    }
    // An iteration of each.
    for (port, layout) in frame.inputs.iter().enumerate().take(n_in).filter(|(_, layout)| layout.tokens > 0) {
        let name = |k: u64| match words.is_big(port) {
            true => format!("b{}", word_name(port as u32, k as i64)),
            false => word_name(port as u32, k as i64),
        };
        let n_words = layout.words(lane);
        for group in groups() {
            let text = printer.rows_in((port, layout), of_group * group, &|k| name(n_words * group + k));
            printer.text.push_str(&text);
        }
        for k in (0..n_words * n_groups).filter(|_| words.is_big(port)) {
            let read = printer.ordered(port, &name(k));
            printer.line(&format!("const {v} {} = {read};", word_name(port as u32, k as i64)));
        }
    }
    for id in printer.reachable() {
        if let Op::Input { port, offset } = words.graph.op(id) {
            printer.vectors.insert(id, word_name(*port, *offset));
        }
    }
    printer.compute()?;
    for (port, layout) in frame.outputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0) {
        printer.name_outputs(port);
        if port >= n_out {
            continue;
        }
        let n_words = layout.words(lane);
        for group in groups() {
            let name = |k: u64| format!("z{port}_{}_", n_words * group + k);
            let text = printer.rows_out((port, layout), of_group * group, &name);
            printer.text.push_str(&text);
        }
    }
    // What the iteration leaves, for the next one and for contexts.
    let mut end = String::new();
    let left = leftovers(outer, names);
    if !left.is_empty() {
        let _ = writeln!(
            end,
            "  for (size_t i = 0; i < count; i++) {{\n    {} *const s = states[i];\n{left}  }}",
            names.state
        );
    }
    for (n, held) in one.held[..one.n_carried].iter().enumerate() {
        let n_words = held.layout.words(lane);
        for k in 0..n_words * n_groups {
            printer.line(&format!("h{} = z{}_{k}_;", word_name((n_in + n) as u32, k as i64), n_out + n));
        }
        let pad = format!("held{n}_");
        for group in groups() {
            let name = |k: u64| format!("h{}", word_name((n_in + n) as u32, (n_words * group + k) as i64));
            let to = format!("{pad} + {}", held.layout.bytes() * of_group * group);
            end.push_str(&store_words(&held.layout, bits, lane, &behind(&to), None, &name, "  "));
        }
        let _ = writeln!(end, "  for (size_t i = 0; i < count; i++) {{\n    {} *const s = states[i];", names.state);
        for (at, element, bytes) in moves(outer, held, names) {
            let _ = writeln!(end, "    memcpy(&{element}, {pad} + i * {} + {at}, {bytes});", held.layout.bytes());
        }
        end.push_str("  }\n");
    }
    let mut text = head(outer, &attribute(machine), names, lanes, &Gathered { once: pads, each });
    let _ = write!(
        text,
        "{unchanged}{start}  for (size_t at_ = 0; at_ < iterations; at_++) {{\n{}  }}\n{end}}}\n",
        printer.text
    );
    let cycles = machine.costs.messages(cycles(&printer, one, n_in, n_out), n_groups);
    let name = names.function.to_owned();
    let size = OPERATION * printer.reachable().len() * n_groups as usize;
    let n_changing = n_in + one.n_carried;
    let work = printer.work_of_messages(n_in, n_out, |port| port as usize >= n_changing);
    let function =
        CFunction { name, support: printer.support, text, cycles, size, evidence: MANY_LANES.to_vec(), work };
    Ok(Many { way: String::new(), function, lanes, needs: Needs::of(&machine.features) })
}

impl Printer<'_> {
    /// A word as it is read: with its bytes the other way round where that is so.
    fn ordered(&mut self, port: usize, word: &str) -> String {
        if !self.words.is_big(port) {
            return word.to_owned();
        }
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        self.support(vector_support(bits, 8));
        let order: Vec<String> = (0..bits / 8).map(|at| (at ^ (lane / 8 - 1)).to_string()).collect();
        let bytes = format!("hr_v{bits}x8");
        format!("({})__builtin_shufflevector(({bytes}){word}, ({bytes}){word}, {})", self.v(), order.join(","))
    }
}

/// Elements one beside the other: the byte at which they stand among those that are held, the first of them, their
/// bytes.
fn moves(body: &Loop, held: &Held, names: &LoopNames) -> Vec<(u64, String, u64)> {
    let size = u64::from(held.layout.token_bytes);
    let runs = held.runs().into_iter();
    runs.map(|(at, (object, index), n)| {
        let element = names.names.element(&body.objects[object.0 as usize], &index.to_string());
        (at as u64 * size, element, n as u64 * size)
    })
    .collect()
}

/// Cycles of an iteration of all messages, as those of one: what only needs what no iteration changes is computed once.
fn cycles(printer: &Printer, one: &OneIteration, n_in: usize, n_out: usize) -> f64 {
    let words = printer.words;
    let order = printer.reachable();
    let mut once: FxHashSet<NodeId> = FxHashSet::default();
    for &id in &order {
        let op = words.graph.op(id);
        let is_once = match op {
            Op::Input { port, .. } => *port as usize >= n_in + one.n_carried,
            _ => op.operands().iter().all(|operand| once.contains(operand)),
        };
        if is_once {
            once.insert(id);
        }
    }
    let rows = words.inputs[..n_in].iter().chain(&words.outputs[..n_out]);
    printer.cycles(rows, order.into_iter().filter(|id| words.varying.contains(id) && !once.contains(id)))
}
