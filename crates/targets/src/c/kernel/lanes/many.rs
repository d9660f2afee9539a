//! One lane of a vector for each message.

use super::super::frame::LoopNames;
use super::super::many::{Gathered, Held, Many, OnePass, head, leftovers};
use super::super::vectors::{behind, lie_together, load_words, store_words, vector_support};
use super::super::words::{Layout, Unsuited, WordLoop};
use super::super::{CFunction, Machine};
use super::{Printer, fits, word_name};
use headrace_transform::kernel::{Loop, NodeId, Op};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Operations take so much of what they are taken for elsewhere: nothing here waits for memory, and two are issued a cycle.
const ISSUED: f64 = 0.55;

/// Prints a loop with one lane for each message.
///
/// # Errors
///
/// Why it cannot be.
pub(in crate::c::kernel) fn many_lanes(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<Many, Unsuited> {
    let one = OnePass::new(body)?;
    let mut reason = Unsuited("no width of lanes is enough".into());
    for bits in [8, 16, 32, 64] {
        let ways = [false, true].map(|big| WordLoop::with_order(&one.body, bits, big));
        let mut fitting = Vec::new();
        for way in ways {
            match way {
                Ok(words) if fits(&words) => fitting.push(words),
                Ok(_) => {}
                Err(error) => reason = error,
            }
        }
        // What is read as it is computed with needs the least to be taken apart.
        if let Some(words) = fitting.iter().min_by_key(|words| pieces(words)) {
            return print(body, &one, words, machine, names);
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

/// Rows of messages: straight from where they lie, if vectors hold no more than one row, and through a pad otherwise.
fn is_straight(layout: &Layout, bits: u32, lane: u32) -> bool {
    lie_together(layout, lane) && layout.bytes().is_multiple_of(u64::from(bits / 8))
}

fn print(
    outer: &Loop,
    one: &OnePass,
    words: &WordLoop,
    machine: &Machine,
    names: &LoopNames,
) -> Result<Many, Unsuited> {
    let (bits, lane) = (machine.vector_bits, words.bits);
    let lanes = (bits / lane) as usize;
    let (n_in, n_out) = (outer.consumes.len(), outer.produces.len());
    let mut printer = Printer::new(words, machine, names);
    printer.values = words.written.iter().map(|one| one.2).collect();
    printer.mixed = vec![None; words.outputs.len()];
    printer.is_deep = true;
    let v = printer.v();
    let unchanged = printer.unchanged("");
    // What contexts hold becomes words, before the first pass.
    let (mut pads, mut start, mut each) = (String::new(), String::new(), String::new());
    for (n, held) in one.held.iter().enumerate() {
        let (port, pad) = (n_in + n, format!("held{n}_"));
        let _ = writeln!(pads, "  uint8_t {pad}[{}] = {{0}};", held.layout.bytes() * lanes as u64);
        for (at, element, bytes) in moves(outer, held, names) {
            let _ = writeln!(each, "    memcpy({pad} + i * {} + {at}, &{element}, {bytes});", held.layout.bytes());
        }
        let name = |k: u64| format!("b{port}_{k}_");
        start.push_str(&load_words(&held.layout, bits, lane, &behind(&pad), &name, "  "));
        for k in 0..held.layout.words(lane) {
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
    // A pass of each.
    for (port, layout) in words.inputs.iter().enumerate().take(n_in).filter(|(_, layout)| layout.tokens > 0) {
        let row = layout.bytes();
        let name = |k: u64| match words.is_big(port) {
            true => format!("b{}", word_name(port as u32, k as i64)),
            false => word_name(port as u32, k as i64),
        };
        let text = if is_straight(layout, bits, lane) {
            let from = |at: u64| format!("i{port}_[{}] + at_ * {row} + {}", at / row, at % row);
            load_words(layout, bits, lane, &from, &name, "    ")
        } else {
            printer.line(&format!("uint8_t pad_in{port}_[{}];", row * lanes as u64));
            printer.line(&format!(
                "for (size_t i = 0; i < {lanes}; i++) memcpy(pad_in{port}_ + i * {row}, i{port}_[i] + at_ * {row}, {row});"
            ));
            load_words(layout, bits, lane, &behind(&format!("pad_in{port}_")), &name, "    ")
        };
        printer.text.push_str(&text);
        for k in (0..layout.words(lane)).filter(|_| words.is_big(port)) {
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
    for (port, layout) in words.outputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0) {
        printer.name_outputs(port);
        if port >= n_out {
            continue;
        }
        let row = layout.bytes();
        let name = |k: u64| format!("z{port}_{k}_");
        let text = if is_straight(layout, bits, lane) {
            let to = |at: u64| format!("o{port}_[{}] + at_ * {row} + {}", at / row, at % row);
            store_words(layout, bits, lane, &to, None, &name, "    ")
        } else {
            printer.line(&format!("uint8_t pad_out{port}_[{}];", row * lanes as u64));
            let text = store_words(layout, bits, lane, &behind(&format!("pad_out{port}_")), None, &name, "    ");
            format!(
                "{text}    for (size_t i = 0; i < {lanes}; i++) memcpy(o{port}_[i] + at_ * {row}, pad_out{port}_ + i * {row}, {row});\n"
            )
        };
        printer.text.push_str(&text);
    }
    // What the pass leaves, for the next one and for contexts.
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
        for k in 0..held.layout.words(lane) {
            printer.line(&format!("h{} = z{}_{k}_;", word_name((n_in + n) as u32, k as i64), n_out + n));
        }
        let pad = format!("held{n}_");
        let name = |k: u64| format!("h{}", word_name((n_in + n) as u32, k as i64));
        end.push_str(&store_words(&held.layout, bits, lane, &behind(&pad), None, &name, "  "));
        let _ = writeln!(end, "  for (size_t i = 0; i < count; i++) {{\n    {} *const s = states[i];", names.state);
        for (at, element, bytes) in moves(outer, held, names) {
            let _ = writeln!(end, "    memcpy(&{element}, {pad} + i * {} + {at}, {bytes});", held.layout.bytes());
        }
        end.push_str("  }\n");
    }
    let mut text = head(outer, &machine.attribute(), names, lanes, &Gathered { once: pads, each });
    let _ = write!(
        text,
        "{unchanged}{start}  for (size_t at_ = 0; at_ < passes; at_++) {{\n{}  }}\n{end}}}\n",
        printer.text
    );
    let cycles = cycles(&printer, one, n_in, n_out);
    let function = CFunction { name: names.function.to_owned(), support: printer.support, text, cycles };
    Ok(Many { function, lanes, supported: machine.supported() })
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

/// Elements one beside the other: the byte at which they stand among those that are held, the first of them, their bytes.
fn moves(body: &Loop, held: &Held, names: &LoopNames) -> Vec<(u64, String, u64)> {
    let size = u64::from(held.layout.token_bytes);
    let runs = held.runs().into_iter();
    runs.map(|(at, (object, index), n)| {
        let element = names.names.element(&body.objects[object.0 as usize], &index.to_string());
        (at as u64 * size, element, n as u64 * size)
    })
    .collect()
}

/// Cycles of a pass of all messages: what only needs what no pass changes is computed once.
fn cycles(printer: &Printer, one: &OnePass, n_in: usize, n_out: usize) -> f64 {
    let words = printer.words;
    let order = printer.reachable();
    let mut once: HashSet<NodeId> = HashSet::new();
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
    ISSUED * printer.cycles(rows, order.into_iter().filter(|id| words.varying.contains(id) && !once.contains(id)))
}
