//! Prologue, remainder and epilogue of vectorised loops. What stands around the iterations of a loop that run side by
//! side: groups of them, the rest at the end, counters, and what goes on to the next call.

use super::expression::{Expressions, literal};
use super::machine::{Machine, attribute};
use super::scalar::{element_type, statements};
use super::words::{Layout, WordLoop};
use super::work::Work;
use super::{Names, Outside};
use headrace_source::Span;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{
    Carried, Carry, Counter, Effect, Evidence, Loop, NodeId, Object, ObjectId, Op, TableId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Definitions that must stand once above functions which use them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Support {
    text: String,
    is_own: bool,
}

impl Support {
    /// Those that any function may use: they are the same wherever they stand.
    pub fn of_all(text: impl Into<String>) -> Support {
        Support { text: text.into(), is_own: false }
    }

    /// Those that are called after tables of one loop.
    pub fn of_loop(text: impl Into<String>) -> Support {
        Support { text: text.into(), is_own: true }
    }

    /// The definitions.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether they are called after tables of one loop.
    pub fn is_of_loop(&self) -> bool {
        self.is_own
    }
}

/// A printed function: `static void NAME(STATE *s, const T *in0, …, U *out0, …, size_t iterations)`. Pointers stand for
/// the ports of which an iteration consumes or produces tokens, in order; input and output do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct CFunction {
    /// Its name.
    pub name: String,
    /// What must stand once above it, in this order, after [`super::prelude`] and the tables.
    pub support: Vec<Support>,
    /// The function.
    pub text: String,
    /// Cycles that an iteration takes, estimated: good for comparing, not for promising.
    pub cycles: f64,
    /// How long it is, estimated from what is printed: in operands, as [`headrace_transform::statements::size`] counts.
    pub size: usize,
    /// Why it does what the loop means, beside what tests of the whole say.
    pub evidence: Vec<Evidence>,
    /// What it has to do by kind of operation; empty where nobody counted.
    pub work: Work,
}

impl CFunction {
    /// The same, with more that was shown: what was shown first comes first.
    pub fn shown_by(mut self, more: impl IntoIterator<Item = Evidence>) -> CFunction {
        for one in more {
            if !self.evidence.contains(&one) {
                self.evidence.push(one);
            }
        }
        self
    }

    /// The text below a comment that says why it does what the loop means.
    pub fn with_evidence(&self) -> String {
        if self.evidence.is_empty() {
            return self.text.clone();
        }
        let lines: Vec<String> = self.evidence.iter().map(ToString::to_string).collect();
        format!("/* {}:\n   {}. */\n{}", self.name, lines.join(";\n   "), self.text)
    }
}

/// Size of an operation on registers in a function: a name, what it is, and two operands.
pub(super) const OPERATION: usize = 4;

/// What the caller calls things.
pub struct LoopNames<'a> {
    /// The name of the function.
    pub function: &'a str,
    /// The type that `s` points to.
    pub state: &'a str,
    /// Elements and tables; those of the loop's graph.
    pub names: &'a dyn Names,
}

/// The head of the function: parameters and the opening brace.
pub(super) fn head(body: &Loop, machine: Option<&Machine>, names: &LoopNames) -> String {
    let attribute = machine.map(attribute).unwrap_or_default();
    let mut text = format!("{}static void {}({} *s", attribute, names.function, names.state);
    for (port, &(tokens, width)) in body.consumes.iter().enumerate() {
        if tokens > 0 {
            let _ = write!(text, ", const {} *restrict in{port}", element_type(width));
        }
    }
    for (port, &(tokens, width)) in body.produces.iter().enumerate() {
        if tokens > 0 {
            let _ = write!(text, ", {} *restrict out{port}", element_type(width));
        }
    }
    text.push_str(", size_t iterations)\n{\n");
    text.push_str(&names.names.entered());
    text
}

/// Names inside of a loop: tokens of the last iteration, for what goes on to the next call.
struct LastIteration<'a> {
    names: &'a dyn Names,
}

impl Names for LastIteration<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("last{port}_[{offset}]")
    }
    fn input_bytes(&self, port: u32, offset: i64, _n: u32) -> Option<String> {
        Some(format!("last{port}_ + {offset}"))
    }
    fn output(&self, _port: u32, _offset: u64, _value: &str) -> String {
        String::new()
    }
    fn element(&self, object: &Object, index: &str) -> String {
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

/// Puts the frame around the text of a group. `once` stands before the first group, `group` reads `i<port>_` and writes
/// `o<port>_`, pointers to bytes; `c<n>_` is counter n at the beginning of the group, and `first_group_` is 1 in the
/// first.
pub(super) fn frame(
    words: &WordLoop,
    machine: &Machine,
    names: &LoopNames,
    group_iterations: u32,
    once: &str,
    group: &str,
) -> String {
    let body = words.body;
    let mut text = head(body, Some(machine), names);
    let has_delay = words.read().iter().any(|&(port, _)| port == words.first_port());
    let carries_delay = body.carried.iter().any(|one| one.carry == Carry::Delay);
    let inputs: Vec<(usize, u64)> = layouts(&words.inputs);
    let outputs: Vec<(usize, u64)> = layouts(&words.outputs);
    text.push_str("  if (iterations == 0) return;\n");
    if carries_delay {
        text.push_str(&last_iteration(body));
    }
    text.push_str(&counter_bounds(body, names.names));
    text.push_str(once);
    for &(port, bytes) in &inputs {
        let more = if has_delay { bytes } else { 0 };
        let _ = writeln!(text, "  uint8_t pad_in{port}_[{}];", bytes * u64::from(group_iterations) + more);
    }
    for &(port, bytes) in &outputs {
        let _ = writeln!(text, "  uint8_t pad_out{port}_[{}];", bytes * u64::from(group_iterations));
    }
    text.push_str("  for (;;) {\n");
    let _ = writeln!(text, "    const size_t n_ = iterations < {group_iterations} ? iterations : {group_iterations};");
    for &(port, _) in &inputs {
        let _ = writeln!(text, "    const uint8_t *i{port}_ = (const uint8_t *)in{port};");
    }
    for &(port, _) in &outputs {
        let _ = writeln!(text, "    uint8_t *o{port}_ = (uint8_t *)out{port};");
    }
    let first = if has_delay { " || first_group_" } else { "" };
    let _ = writeln!(text, "    if (n_ < {group_iterations}{first}) {{");
    for &(port, bytes) in &inputs {
        let skipped = if has_delay { bytes } else { 0 };
        let _ = writeln!(text, "      memset(pad_in{port}_, 0, sizeof pad_in{port}_);");
        let _ = writeln!(text, "      memcpy(pad_in{port}_ + {skipped}, in{port}, n_ * {bytes});");
        if has_delay {
            let _ = writeln!(text, "      if (!first_group_) memcpy(pad_in{port}_, i{port}_ - {bytes}, {bytes});");
        }
        let _ = writeln!(text, "      i{port}_ = pad_in{port}_ + {skipped};");
    }
    text.push_str("    }\n");
    if !outputs.is_empty() {
        let _ = writeln!(text, "    if (n_ < {group_iterations}) {{");
        for &(port, _) in &outputs {
            let _ = writeln!(text, "      o{port}_ = pad_out{port}_;");
        }
        text.push_str("    }\n");
    }
    text.push_str(group);
    for &(port, bytes) in &outputs {
        let _ = writeln!(text, "    if (n_ < {group_iterations}) memcpy(out{port}, pad_out{port}_, n_ * {bytes});");
    }
    text.push_str("    iterations -= n_;\n    if (iterations == 0) break;\n");
    for &(port, _) in &inputs {
        let _ = writeln!(text, "    in{port} += {};", words.inputs[port].tokens * u64::from(group_iterations));
    }
    for &(port, _) in &outputs {
        let _ = writeln!(text, "    out{port} += {};", words.outputs[port].tokens * u64::from(group_iterations));
    }
    for (n, counter) in body.counters.iter().enumerate().filter(|(n, _)| element_of_its_own(body, *n).is_none()) {
        let _ =
            writeln!(text, "    c{n}_ += {};", literal(counter.step.wrapping_mul(u128::from(group_iterations)), 128));
    }
    if has_delay {
        text.push_str("    first_group_ = 0;\n");
    }
    text.push_str("  }\n");
    text.push_str(&counter_ends(body, names.names));
    text.push_str(&delay_ends(body, names.names));
    text.push_str("}\n");
    text
}

/// Stores what the last iteration leaves of its tokens, which begin at `lastPORT_`.
pub(super) fn delay_ends(body: &Loop, names: &dyn Names) -> String {
    let mut graph = body.graph.clone();
    let mut stores = Vec::new();
    for one in body.carried.iter().filter(|one| one.carry == Carry::Delay) {
        let index = graph.number(one.index as u128, 64);
        stores.push(Effect::Store { object: one.object, index, value: one.next });
    }
    if stores.is_empty() {
        return String::new();
    }
    statements(&graph, &body.objects, &stores, &LastIteration { names }, 1)
}

/// Ports that take part, and their bytes of an iteration.
fn layouts(layouts: &[Layout]) -> Vec<(usize, u64)> {
    let used = layouts.iter().enumerate().filter(|(_, layout)| layout.tokens > 0);
    used.map(|(port, layout)| (port, layout.bytes())).collect()
}

/// The definitions of what counters are before all iterations, `c<n>_`, and after them, `end<n>_`. Those that nothing
/// reads are counted, all iterations at once.
pub(super) fn counter_bounds(body: &Loop, names: &dyn Names) -> String {
    let mut text = counted_at_once(body, names);
    for (n, counter) in body.counters.iter().enumerate().filter(|(n, _)| element_of_its_own(body, *n).is_none()) {
        text.push_str(&counter_start(body, n, names));
        let ones = literal(mask(body.graph.width(counter.start)), 128);
        let _ =
            writeln!(text, "  const u128 end{n}_ = (c{n}_ + {} * iterations) & {ones};", literal(counter.step, 128));
    }
    text
}

/// The definitions of where the tokens of the last iteration begin, `last<port>_`.
pub(super) fn last_iteration(body: &Loop) -> String {
    let mut text = String::new();
    for (port, &(tokens, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        let ty = element_type(width);
        let _ = writeln!(text, "  const {ty} *const last{port}_ = in{port} + (iterations - 1) * {tokens};");
    }
    text
}

/// The definition of the variable of a counter.
pub(super) fn counter_start(body: &Loop, counter: usize, names: &dyn Names) -> String {
    let outside = Outside { graph: &body.graph, objects: &body.objects, names, stored: FxHashSet::default() };
    let expressions = Expressions {
        outside: &outside,
        locals: FxHashMap::default(),
        loaded: FxHashMap::default(),
        copied: FxHashSet::default(),
        guarded: FxHashSet::default(),
    };
    format!("  u128 c{counter}_ = {};\n", expressions.value(body.counters[counter].start))
}

/// The element that a counter is, if it is one by itself and nothing else reads it: then it can be counted at any time of
/// a call.
pub(super) fn element_of_its_own(body: &Loop, counter: usize) -> Option<&Carried> {
    let mut parts =
        body.carried.iter().filter(|one| matches!(one.carry, Carry::Counter { counter: of, .. } if of == counter));
    let (part, None) = (parts.next()?, parts.next()) else { return None };
    let is_it = |id: NodeId| match *body.graph.op(id) {
        Op::Entry { object, index } => {
            object == part.object && body.graph.constant(index).is_none_or(|index| index == part.index as u128)
        }
        _ => false,
    };
    let Counter { start, .. } = body.counters[counter];
    let is_whole = part.carry == Carry::Counter { counter, lo: 0 }
        && is_it(start)
        && body.graph.width(start) == body.objects[part.object.0 as usize].width
        && body.graph.width(start) <= u64::BITS;
    let others = body.carried.iter().filter(|one| !matches!(one.carry, Carry::Counter { .. })).map(|one| one.next);
    let starts = body.counters.iter().map(|one| one.start).filter(|&other| other != start);
    let read = body.graph.reachable(body.outputs.iter().map(|output| output.2).chain(others).chain(starts));
    (is_whole && !read.into_iter().any(is_it)).then_some(part)
}

/// Counts such elements for all iterations.
pub(super) fn counted_at_once(body: &Loop, names: &dyn Names) -> String {
    let mut text = String::new();
    for (n, counter) in body.counters.iter().enumerate() {
        let Some(part) = element_of_its_own(body, n) else { continue };
        let object = &body.objects[part.object.0 as usize];
        let (element, ty) = (names.element(object, &part.index.to_string()), element_type(object.width));
        let sum = format!("{element} + {} * ({ty})iterations", literal(counter.step, object.width));
        let _ = match object.width {
            8 | 16 | 32 | 64 => writeln!(text, "  {element} = ({ty})({sum});"),
            width => writeln!(text, "  {element} = ({ty})(({sum}) & {});", literal(mask(width), width)),
        };
        text.push_str("  HR_ALONE();\n");
    }
    text
}

/// Stores what other counters are after all iterations; bytes that lie side by side at once.
pub(super) fn counter_ends(body: &Loop, names: &dyn Names) -> String {
    let mut text = String::new();
    let mut parts: Vec<EndPart> = body.carried.iter().filter_map(|one| end_part(body, one)).collect();
    parts.sort_unstable();
    let mut rest = &parts[..];
    while let Some(&EndPart { object, index, counter, lo }) = rest.first() {
        let element = |index: usize| names.element(&body.objects[object.0 as usize], &index.to_string());
        let width = body.objects[object.0 as usize].width;
        let orders = [Order::BigEndian, Order::LittleEndian];
        let (order, n) =
            orders.map(|order| (order, order.run(rest))).into_iter().max_by_key(|run| run.1).unwrap_or_default();
        if width == 8 && n > 1 {
            let lowest = rest[..n].iter().map(|part| part.lo).min().unwrap_or(lo);
            let (bits, to) = (8 * n, element(index));
            let value = format!("end{counter}_ >> {lowest}");
            let name = order.name();
            let _ = match bits {
                128 => writeln!(text, "  hr_put_{name}128(&{to}, {value});"),
                _ => writeln!(text, "  hr_put_{name}{bits}(&{to}, (uint{bits}_t)({value}));"),
            };
            rest = &rest[n..];
            continue;
        }
        let ones = literal(mask(width), 128);
        let _ = writeln!(text, "  {} = ({})((end{counter}_ >> {lo}) & {ones});", element(index), element_type(width));
        rest = &rest[1..];
    }
    text
}

/// Where a part of a counter is stored, and its lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EndPart {
    object: ObjectId,
    index: usize,
    counter: usize,
    lo: u32,
}

fn end_part(body: &Loop, one: &Carried) -> Option<EndPart> {
    let Carry::Counter { counter, lo } = one.carry else { return None };
    let apart = element_of_its_own(body, counter).is_none();
    apart.then_some(EndPart { object: one.object, index: one.index, counter, lo })
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Default)]
enum Order {
    #[default]
    BigEndian,
    LittleEndian,
}

impl Order {
    /// In names of functions.
    fn name(self) -> &'static str {
        match self {
            Order::BigEndian => "be",
            Order::LittleEndian => "le",
        }
    }

    /// How many of the first parts are bytes of a number in this order, as many as one store has: a power of two, at most 16.
    fn run(self, parts: &[EndPart]) -> usize {
        let follows = |pair: &[EndPart]| {
            let lo = match self {
                Order::BigEndian => pair[1].lo + 8 == pair[0].lo,
                Order::LittleEndian => pair[0].lo + 8 == pair[1].lo,
            };
            let [one, next] = [pair[0], pair[1]];
            one.object == next.object && one.counter == next.counter && one.index + 1 == next.index && lo
        };
        let n = 1 + parts.windows(2).take(15).take_while(|pair| follows(pair)).count();
        1 << n.ilog2()
    }
}
