//! Trip counts of loops, and induction variables after them. How many iterations a loop runs, and what becomes of the
//! counters that say so.

use super::ports::{literal, streams};
use super::states::Place;
use super::template::Template;
use super::{Writer, local_name, memoized_powers};
use crate::c::kernel::{element_type, statements};
use headrace_transform::control::{CountedLoop, CountedPath, CountedPaths, Next, Trips, Window};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What is written for a number of iterations that is not known before.
pub(super) struct Room {
    /// Counts them: `iterations`, in a block that is open.
    pub text: String,
    /// Arguments of who runs them, behind the context: where tokens are.
    pub inputs: String,
    /// And where they go.
    pub outputs: String,
    /// Has ports and the limit of the run go on by them.
    pub takes: String,
}

/// Statements that come before a loop, in one place of the text.
struct Counting<'w> {
    writer: &'w Writer<'w>,
    /// The values.
    graph: &'w Graph,
    /// Beginning of the names of tables.
    tables: String,
    /// Objects of one element that are in local variables.
    local: &'w [String],
}

impl Writer<'_> {
    /// Runs a loop as often as tokens, room and counters allow; `many` is what a context that stops before it says.
    pub(super) fn counted(&self, counted: &CountedLoop, number: usize, state: usize, many: Option<usize>) -> Template {
        let prefix = self.prefix;
        let tokens = |ports: &[(u64, u32)]| ports.iter().map(|port| port.0).collect::<Vec<u64>>();
        let room = self.room(&tokens(&counted.body.consumes), &tokens(&counted.body.produces));
        let (mut text, takes) = (room.text, room.takes);
        let [read, written] = self.windows(counted, number, &mut text);
        let arguments = format!("s{}{read}{}{written}", room.inputs, room.outputs);
        let last = counted.rounds.as_ref().and_then(|rounds| rounds.last.as_ref());
        let tables = format!("{prefix}_loop_{number}_table");
        text.push_str(&self.bounds(&counted.body.graph, tables, &counted.trips));
        let fewest = match &counted.rounds {
            None => usize::from(!self.pays_once(counted)),
            // What rounds count has gone on by then.
            Some(rounds) => {
                text.push_str(&self.rounds(rounds));
                0
            }
        };
        // What rounds count has gone on: nothing may stop the loop any more.
        let mut text = Template::from(text);
        let mut alone = "";
        if let Some(code) = many.filter(|_| counted.rounds.is_none()) {
            let _ = writeln!(
                text,
                "            if (iterations > 1 && s->many == 1) {{\n                s->many_loop = {code};\n                s->many_iterations = iterations;"
            );
            Place { state, depth: 4 }.stop(&mut text, "full");
            text.push_str("            }\n");
            alone = "                s->many = s->many != 0;\n";
        }
        let _ = write!(
            text,
            "            if (iterations > {fewest} && {prefix}_loop_{number}_divided({arguments}, iterations)) {{\n{takes}{alone}"
        );
        if let Some(last) = last {
            text.push_str("                if (ends) {\n                    ");
            text.append(self.go_to(last.target, "                    "));
            text.push_str("\n                }\n");
        }
        text.push_str("                ");
        match self.whole {
            Some(_) => text.append(self.go_to(state, "")),
            None => {
                let _ = write!(text, "goto at_{state};");
            }
        }
        text.push_str("\n            }\n        }\n");
        text
    }

    /// Whether a loop is worth its call for one iteration: that is as fast as the transitions that it stands for, or faster.
    fn pays_once(&self, counted: &CountedLoop) -> bool {
        // Between several transitions, what a loop keeps in registers would go through memory; where iterations need each other,
        // none of it was made for many at once.
        let chains = counted.transitions > 1 && !counted.body.is_independent();
        // A product by a power that is kept is as fast in a loop as without; others have their powers computed first.
        match memoized_powers::is_product(&counted.body) {
            true => memoized_powers::multiplies(self.automaton, &counted.body),
            false => chains,
        }
    }

    /// Has pointers to the lists that a loop goes through as ports, and gives them as arguments: those that it reads, which
    /// come behind the inputs of the network, and those that it writes, which come behind the outputs.
    fn windows(&self, counted: &CountedLoop, number: usize, text: &mut String) -> [String; 2] {
        let tables = format!("{}_loop_{number}_table", self.prefix);
        let counting = Counting { writer: self, graph: &counted.body.graph, tables, local: &[] };
        let mut pointer = |at: usize, window: &Window, quality: &str| {
            let object = self.automaton.object(window.object);
            let ty = super::object_type(object);
            text.push_str(&counting.value(window.start, "bound"));
            let _ = writeln!(text, "            {quality}{ty} *const window{at}_ = s->{} + bound;", object.name);
            format!(", window{at}_")
        };
        let n_read = counted.read.len();
        let read: String = counted.read.iter().enumerate().map(|(at, one)| pointer(at, one, "const ")).collect();
        let written = counted.written.iter().enumerate().map(|(at, one)| pointer(n_read + at, one, "")).collect();
        [read, written]
    }

    /// Counts the iterations that tokens, room and the run allow, where one takes and makes so many tokens of each
    /// port.
    pub(super) fn room(&self, consumes: &[u64], produces: &[u64]) -> Room {
        // Whole messages have no limit.
        let (most, spent) = match self.whole {
            Some(_) => ("SIZE_MAX", ""),
            None => {
                ("budget < SIZE_MAX ? (size_t)budget + 1u : SIZE_MAX", "                budget -= iterations - 1;\n")
            }
        };
        let mut text = format!(
            "        {{\n            size_t iterations = {most}, bound;\n            bool met;\n            (void)bound;\n            (void)met;\n"
        );
        let (mut inputs, mut outputs, mut takes) = (String::new(), String::new(), String::new());
        for (n, port) in consumes.iter().zip(&self.network.inputs).filter(|(n, _)| **n > 0) {
            let name = &port.name;
            let window = self.window(&format!("in_{name}"));
            let _ = write!(
                text,
                "            (void){};\n            iterations = {window}_there / {n} < iterations ? {window}_there / {n} : iterations;\n",
                self.there(name, *n)
            );
            let _ = write!(inputs, ", {window}");
            let _ = write!(
                takes,
                "                {window} += iterations * {n};\n                {window}_there -= iterations * {n};\n"
            );
        }
        for (n, port) in produces.iter().zip(&self.network.outputs).filter(|(n, _)| **n > 0) {
            let (ty, name) = (element_type(port.ty.width()), &port.name);
            let of_caller = match streams(port) {
                true => format!("to_{name} == s->caller_out ? s->caller_out_room : "),
                false => String::new(),
            };
            let bound = match self.whole {
                Some(_) => format!("w_out_{name}_room"),
                None => format!(
                    "to_{name} == NULL ? 0 : {of_caller}(size_t)(s->out_{name}_buffer + sizeof s->out_{name}_buffer / sizeof *to_{name} - to_{name})"
                ),
            };
            let _ = write!(
                text,
                "            {ty} *const to_{name} = {};\n            bound = {bound};\n            bound /= {n};\n            iterations = bound < iterations ? bound : iterations;\n",
                self.place_for(name, *n)
            );
            let _ = write!(outputs, ", to_{name}");
            let made = self.made(name, &format!("to_{name}"), &format!("iterations * {n}"));
            let _ = writeln!(takes, "                {made}");
        }
        takes.push_str(spent);
        Room { text, inputs, outputs, takes }
    }

    /// Makes `iterations` no more than counters allow.
    pub(super) fn bounds(&self, graph: &Graph, tables: String, trips: &[Trips]) -> String {
        let counting = Counting { writer: self, graph, tables, local: &[] };
        trips.iter().map(|trip| counting.bound(trip, "iterations")).collect()
    }

    /// Makes `iterations` those that the ways allow, and has their counters go on.
    fn rounds(&self, rounds: &CountedPaths) -> String {
        let registers: Vec<&Object> =
            registers(rounds, &self.automaton.objects).into_iter().map(|id| self.automaton.object(id)).collect();
        let local: Vec<String> = registers.iter().map(|object| object.name.clone()).collect();
        let tables = format!("{}_rounds_table", self.prefix);
        let counting = Counting { writer: self, graph: &rounds.graph, tables, local: &local };
        let mut text = String::from(
            "            size_t left = iterations, before;\n            do {\n            size_t times;\n",
        );
        for (number, way) in rounds.ways.iter().enumerate() {
            text.push_str(&counting.round(way));
            // Only what another way does makes the first one possible again.
            if number == 0 {
                text.push_str("            before = left;\n");
            }
        }
        text.push_str("            } while (left != before && left != 0);\n");
        if let Some(last) = &rounds.last {
            let way = counting.round(&last.way);
            let _ = write!(
                text,
                "            bool ends;\n            {{\n            size_t times;\n            before = left;\n{way}            ends = left != before;\n            }}\n"
            );
        }
        text.push_str("            iterations -= left;\n");
        // What one way stores and the next loads takes longer than all that is counted.
        let (mut before, mut behind) = (String::new(), String::new());
        for object in registers {
            let (name, local) = (&object.name, local_name(object));
            let _ = writeln!(before, "            {} {local} = s->{name}[0];", super::object_type(object));
            let _ = writeln!(behind, "            s->{name}[0] = {local};");
        }
        before + &text + &behind
    }
}

/// Objects of one element that paths change: all that is read and stored of them has a place that is known, so that local
/// variables can stand for them until all paths are done.
fn registers(paths: &CountedPaths, objects: &[Object]) -> BTreeSet<ObjectId> {
    let all = || paths.ways.iter().chain(paths.last.iter().map(|last| &last.way));
    let updates = || all().flat_map(|path| &path.updates);
    let values = updates().filter_map(|update| match update.next {
        Next::Value(value) => Some(value),
        Next::Step(_) => None,
    });
    let read = paths.graph.reachable(values.chain(all().flat_map(|path| &path.trips).map(Trips::node)));
    let is_known = |wanted: ObjectId| {
        read.iter().all(|&id| match paths.graph.op(id) {
            Op::Entry { object, index } => *object != wanted || paths.graph.constant(*index).is_some(),
            _ => true,
        })
    };
    let changed: BTreeSet<ObjectId> = updates().map(|update| update.object).collect();
    changed.into_iter().filter(|&id| objects[id.0 as usize].length == 1 && is_known(id)).collect()
}

impl Counting<'_> {
    /// The value of a node in a variable that is declared already.
    fn value(&self, node: NodeId, target: &str) -> String {
        let effects = [Effect::Output { port: super::ASKED, offset: 0, value: node }];
        format!("            {{\n{}            }}\n", self.statements(&effects, target))
    }

    fn statements(&self, effects: &[Effect], target: &str) -> String {
        let names = super::KernelNames {
            tables: self.tables.clone(),
            local: self.local.to_vec(),
            ..self.writer.names(vec![target.to_owned()])
        };
        statements(self.graph, &self.writer.automaton.objects, effects, &names, 4)
    }

    /// Makes a number of times not more than a bound allows.
    fn bound(&self, trip: &Trips, times: &str) -> String {
        let mut text = self.value(trip.node(), if matches!(trip, Trips::Unless(..)) { "met" } else { "bound" });
        match trip {
            Trips::Unless(_, holds) => {
                let _ = writeln!(text, "            {times} = met == {holds} ? {times} : 0;");
                return text;
            }
            Trips::Above { limit, step, .. } => {
                let limit = literal(*limit);
                let _ = writeln!(
                    text,
                    "            bound = bound > {limit} ? (bound - {limit} - 1u) / {} + 1u : 0;",
                    literal(*step)
                );
            }
            Trips::Below { limit, step, .. } => {
                let limit = literal(*limit);
                let _ = writeln!(
                    text,
                    "            bound = bound < {limit} ? ({limit} - bound - 1u) / {} + 1u : 0;",
                    literal(*step)
                );
            }
        }
        let _ = writeln!(text, "            {times} = bound < {times} ? bound : {times};");
        text
    }

    /// Takes a way as often as it can be taken.
    fn round(&self, way: &CountedPath) -> String {
        let most = if way.once { "1".to_owned() } else { format!("left / {}", way.iterations) };
        let mut text = match way.iterations {
            1 => format!("            times = {};\n", if way.once { "left != 0" } else { "left" }),
            iterations => format!("            times = left < {iterations} ? 0 : {most};\n"),
        };
        way.trips.iter().for_each(|trip| text.push_str(&self.bound(trip, "times")));
        text.push_str("            if (times != 0) {\n");
        let mut effects = Vec::new();
        let mut graph = self.graph.clone();
        for update in &way.updates {
            if let Next::Value(value) = update.next {
                let index = graph.number(update.index as u128, 32);
                effects.push(Effect::Store { object: update.object, index, value });
            }
        }
        text.push_str(
            &Counting { writer: self.writer, graph: &graph, tables: self.tables.clone(), local: self.local }
                .statements(&effects, ""),
        );
        for update in &way.updates {
            if let Next::Step(step) = update.next {
                let object = self.writer.automaton.object(update.object);
                let element = match self.local.contains(&object.name) {
                    true => local_name(object),
                    false => format!("s->{}[{}]", object.name, update.index),
                };
                let _ = writeln!(
                    text,
                    "            {element} = ({})(((uint64_t){element} + times * {}) & {});",
                    element_type(object.width),
                    literal(step),
                    literal(mask(object.width))
                );
            }
        }
        let _ = write!(text, "            left -= times * {};\n            }}\n", way.iterations);
        text
    }
}
