//! Printer of the textual form; see there.

use super::plain_word;
use crate::automaton::{
    Arrival, Automaton, ControlState, CountedLoop, CountedPath, CountedPaths, Holds, LastIteration, Next, Step, Trips,
};
use crate::{Block, Carry, Effect, Graph, Loop, NodeId, Object, Op, Residue};
use headrace_source::Span;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// An automaton as text.
pub fn text(automaton: &Automaton) -> String {
    let mut out = String::from("automaton {\n");
    for (at, (object, holds)) in automaton.objects.iter().zip(&automaton.holds).enumerate() {
        let initial = automaton.initial.get(at).map_or(&[][..], Vec::as_slice);
        let _ = writeln!(out, "  object o{at} {} {{{}}}", described(object, Some(*holds)), elements(initial));
    }
    let mut roots = Vec::new();
    for state in &automaton.states {
        roots_of(&state.step, &mut roots);
    }
    let mut printer = Printer { out, depth: 1 };
    let names = printer.values(&automaton.graph, roots);
    for (number, state) in automaton.states.iter().enumerate() {
        printer.state(number, state, &names);
    }
    if let Some(why) = &automaton.open {
        printer.line(&format!("open {}", quoted(why)));
    }
    for path in &automaton.paths {
        let whole = if path.is_whole { "whole" } else { "part" };
        let arrival = match path.arrival {
            Arrival::AtOnce => "",
            Arrival::InPieces => " pieces",
            Arrival::InChunks => " chunks",
        };
        printer.line(&format!("path {} {whole}{arrival} {{{}}}", path.n_parts, numbers(&path.states)));
    }
    for part in &automaton.parts {
        let kind = if part.is_piece { "piece" } else { "message" };
        printer.line(&format!("{kind} {} {} {{{}}}", part.from, part.to, numbers(&part.states)));
    }
    printer.out.push_str("}\n");
    printer.out
}

/// A loop by itself as text.
pub fn loop_text(body: &Loop) -> String {
    let mut printer = Printer { out: String::new(), depth: 0 };
    printer.block("loop", |printer| {
        printer.objects(&body.objects);
        let names = printer.values(&body.graph, body.needed());
        printer.iteration(body, &names);
    });
    printer.out
}

/// Effects by themselves as text.
pub fn block_text(block: &Block) -> String {
    let mut printer = Printer { out: String::new(), depth: 0 };
    printer.block("block", |printer| {
        printer.objects(&block.objects);
        let filled: Vec<usize> = block.filled.iter().map(|object| object.0 as usize).collect();
        printer.line(&format!("indexed {} filled {{{}}}", block.n_indexed, numbers(&filled)));
        let names = printer.values(&block.graph, Effect::roots(&block.effects));
        printer.block("effects", |printer| printer.effects(&block.effects, &names));
    });
    printer.out
}

/// What stands behind the number of an object, but for what it begins with.
fn described(object: &Object, holds: Option<Holds>) -> String {
    let mut text = format!("{} {} x {}", quoted(&object.name), object.width, object.length);
    text.push_str(if object.persistent { " persistent" } else { " local" });
    match holds {
        Some(Holds::Variable(instance, variable)) => {
            let _ = write!(text, " variable {} {}", instance.0, variable.0);
        }
        Some(Holds::Fifo(connection)) => {
            let _ = write!(text, " fifo {connection}");
        }
        Some(Holds::Local) => text.push_str(" list"),
        None => {}
    }
    if let Some(Residue { limb_bits, bits, less }) = object.residue {
        let _ = write!(text, " residue {limb_bits} {bits} {less}");
    }
    text
}

/// A string between quotation marks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

fn elements(all: &[u128]) -> String {
    let all: Vec<String> = all.iter().map(|value| format!(" {value:#x}")).collect();
    if all.is_empty() { String::new() } else { all.concat() + " " }
}

fn numbers<'a>(all: impl IntoIterator<Item = &'a usize>) -> String {
    let all: Vec<String> = all.into_iter().map(|number| format!(" {number}")).collect();
    if all.is_empty() { String::new() } else { all.concat() + " " }
}

fn place(span: Span) -> String {
    format!("@{}:{}:{}", span.file.0, span.start, span.end)
}

fn roots_of(step: &Step, roots: &mut Vec<NodeId>) {
    match step {
        Step::Branch { before, condition, then, otherwise } => {
            roots.extend(Effect::roots(before));
            roots.push(*condition);
            roots_of(then, roots);
            roots_of(otherwise, roots);
        }
        Step::Wait(awaited) => awaited.iter().for_each(|one| roots_of(&one.step, roots)),
        Step::Go { transition, .. } => roots.extend(Effect::roots(&transition.effects)),
        Step::End | Step::Deoptimize => {}
    }
}

/// The numbers by which values are called.
type Names = FxHashMap<NodeId, usize>;

struct Printer {
    out: String,
    depth: usize,
}

impl Printer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 2 * self.depth);
    }

    fn block(&mut self, head: &str, inside: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line("}");
    }

    fn objects(&mut self, objects: &[Object]) {
        for (at, object) in objects.iter().enumerate() {
            self.line(&format!("object o{at} {}", described(object, None)));
        }
    }

    /// Tables and values of a graph, those that are needed; gives their numbers.
    fn values(&mut self, graph: &Graph, roots: Vec<NodeId>) -> Names {
        let order = graph.reachable(roots);
        let names: Names = order.iter().enumerate().map(|(number, id)| (*id, number)).collect();
        self.block("values", |printer| {
            for (number, table) in graph.tables().iter().enumerate() {
                let (name, width) = (quoted(&table.name), table.width);
                printer.line(&format!("table t{number} {name} {width} {{{}}}", elements(&table.elements)));
            }
            for (number, &id) in order.iter().enumerate() {
                let operation = operation(graph, id, &names);
                printer.line(&format!("v{number}:{} = {operation}", graph.width(id)));
            }
        });
        names
    }

    fn state(&mut self, number: usize, state: &ControlState, names: &Names) {
        self.block(&format!("state {number} {}", quoted(&state.description)), |printer| {
            let fsm: Vec<String> = state.fsm.iter().map(|id| format!(" {}", id.0)).collect();
            printer.line(&format!("fsm {{{}}}", if fsm.is_empty() { String::new() } else { fsm.concat() + " " }));
            printer.line(&format!("fills {{{}}}", numbers(&state.fills)));
            for (object, index, value) in &state.known {
                printer.line(&format!("known o{} {index} {value:#x}", object.0));
            }
            state.loops.iter().for_each(|counted| printer.counted(counted));
            printer.step(&state.step, names);
        });
    }

    fn step(&mut self, step: &Step, names: &Names) {
        match step {
            Step::Branch { before, condition, then, otherwise } => {
                self.block("branch", |printer| printer.effects(before, names));
                self.block(&format!("v{}", names[condition]), |printer| printer.step(then, names));
                self.block("else", |printer| printer.step(otherwise, names));
            }
            Step::Wait(awaited) => self.block("wait", |printer| {
                for one in awaited {
                    let head = format!("input {} {}", one.port, one.tokens);
                    printer.block(&head, |printer| printer.step(&one.step, names));
                }
            }),
            Step::Go { transition, target } => {
                self.block("go", |printer| printer.effects(&transition.effects, names));
                let tokens = |all: &[u64]| all.iter().map(|n| format!(" {n}")).collect::<String>();
                let (consumes, produces) = (tokens(&transition.consumes), tokens(&transition.produces));
                self.line(&format!("consumes{consumes} produces{produces} to {target}"));
            }
            Step::End => self.line("end"),
            Step::Deoptimize => self.line("deoptimize"),
        }
    }

    fn effects(&mut self, effects: &[Effect], names: &Names) {
        let of = |id: &NodeId| names[id];
        for effect in effects {
            match effect {
                Effect::Load { id, object, index } => self.line(&format!("load {id} o{} v{}", object.0, of(index))),
                Effect::Store { object, index, value } => {
                    self.line(&format!("store o{} v{} v{}", object.0, of(index), of(value)));
                }
                Effect::Output { port, offset, value } => self.line(&format!("output {port} {offset} v{}", of(value))),
                Effect::Check { condition, index, length, span } => {
                    self.line(&format!("check v{} v{} {length} {}", of(condition), of(index), place(*span)));
                }
                Effect::While { before, condition, body, span } => {
                    self.block(&format!("while {}", place(*span)), |printer| printer.effects(before, names));
                    self.block(&format!("v{}", of(condition)), |printer| printer.effects(body, names));
                }
                Effect::If { condition, then, otherwise } => {
                    self.block(&format!("if v{}", of(condition)), |printer| printer.effects(then, names));
                    self.block("else", |printer| printer.effects(otherwise, names));
                }
            }
        }
    }

    fn counted(&mut self, counted: &CountedLoop) {
        self.block(&format!("loop {}", counted.transitions), |printer| {
            let body = &counted.body;
            let mut roots = body.roots();
            roots.extend(body.counters.iter().map(|counter| counter.start));
            roots.extend(counted.before());
            let names = printer.values(&body.graph, roots);
            printer.iteration(body, &names);
            for (word, windows) in [("reads", &counted.read), ("writes", &counted.written)] {
                for window in windows {
                    printer.line(&format!("{word} o{} v{}", window.object.0, names[&window.start]));
                }
            }
            printer.trips(&counted.trips, &names);
            if let Some(rounds) = &counted.rounds {
                printer.paths(rounds);
            }
        });
    }

    fn iteration(&mut self, body: &Loop, names: &Names) {
        let tokens = |all: &[(u64, u32)]| all.iter().map(|(n, width)| format!(" {n}x{width}")).collect::<String>();
        let (consumes, produces) = (tokens(&body.consumes), tokens(&body.produces));
        self.line(&format!("consumes{consumes} produces{produces}"));
        for (port, offset, value) in &body.outputs {
            self.line(&format!("output {port} {offset} v{}", names[value]));
        }
        for one in &body.carried {
            let how = match one.carry {
                Carry::Counter { counter, lo } => format!("counter {counter} {lo}"),
                Carry::Delay => "delay".to_owned(),
                Carry::True => "true".to_owned(),
            };
            self.line(&format!("carried o{} {} v{} {how}", one.object.0, one.index, names[&one.next]));
        }
        for counter in &body.counters {
            self.line(&format!("counter v{} {:#x}", names[&counter.start], counter.step));
        }
    }

    fn trips(&mut self, trips: &[Trips], names: &Names) {
        for trip in trips {
            let value = names[&trip.node()];
            let line = match *trip {
                Trips::Unless(_, holds) => format!("trips unless v{value} {}", u8::from(holds)),
                Trips::Above { limit, step, .. } => format!("trips above v{value} {limit:#x} {step:#x}"),
                Trips::Below { limit, step, .. } => format!("trips below v{value} {limit:#x} {step:#x}"),
            };
            self.line(&line);
        }
    }

    fn paths(&mut self, rounds: &CountedPaths) {
        self.block("paths", |printer| {
            let ways = rounds.ways.iter().chain(rounds.last.as_ref().map(|last| &last.way));
            let mut roots = Vec::new();
            for way in ways {
                roots.extend(way.trips.iter().map(Trips::node));
                roots.extend(way.updates.iter().filter_map(|update| match update.next {
                    Next::Value(node) => Some(node),
                    Next::Step(_) => None,
                }));
            }
            let names = printer.values(&rounds.graph, roots);
            for way in &rounds.ways {
                let often = if way.once { "once" } else { "often" };
                printer.block(&format!("path {} {often}", way.iterations), |printer| printer.path(way, &names));
            }
            if let Some(LastIteration { way, target }) = &rounds.last {
                let often = if way.once { "once" } else { "often" };
                let head = format!("last {} {often} to {target}", way.iterations);
                printer.block(&head, |printer| printer.path(way, &names));
            }
        });
    }

    fn path(&mut self, way: &CountedPath, names: &Names) {
        self.trips(&way.trips, names);
        for update in &way.updates {
            let (object, index) = (update.object.0, update.index);
            self.line(&match update.next {
                Next::Step(step) => format!("step o{object} {index} {step:#x}"),
                Next::Value(node) => format!("set o{object} {index} v{}", names[&node]),
            });
        }
    }
}

fn operation(graph: &Graph, id: NodeId, names: &Names) -> String {
    let op = graph.op(id);
    let operands: String = op.operands().iter().map(|operand| format!(" v{}", names[operand])).collect();
    if let Some(word) = plain_word(op) {
        return format!("{word}{operands}");
    }
    match op {
        Op::Const(value) => format!("const {value:#x}"),
        Op::Input { port, offset } => format!("input {port} {offset}"),
        Op::Entry { object, .. } => format!("entry o{}{operands}", object.0),
        Op::Loaded(id) => format!("loaded {id}"),
        Op::Extract(_, lo) => format!("extract{operands} {lo}"),
        Op::Lookup(table, _) => format!("lookup t{}{operands}", table.0),
        Op::LookupBytes(table, _) => format!("lookup_bytes t{}{operands}", table.0),
        Op::Instruction { description, .. } => format!("instruction {description}{operands}"),
        _ => operands,
    }
}
