//! Code generation for instances. The function of an instance: it fires the first action that can, and gives whether there was
//! one.

use super::fifos::{Fifo, Lies};
use super::{CONTEXT, FLOW};
use crate::c::code::Code;
use crate::c::code::places::Pointer;
use crate::c::ctype;
use crate::c::functions::Printed;
use crate::c::network::ActorText;
use crate::c::plan::Plan;
use crate::c::scheduler::{ActionFunctions, comment, convert_through};
use crate::c::text::{Declared, Fixed, Line, Lines, Name, Text, joined, listed, text};
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, Endpoint, InstanceId, Network, StateId, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// A printed function.
pub(super) struct Function {
    pub(super) definition: Definition,
    /// What it is called with.
    pub(super) arguments: Text,
    /// What it calls needs what a network has to report run-time errors and to call natives.
    pub(super) uses_control: bool,
}

/// What follows its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    parameters: Vec<Text>,
    body: Lines,
}

impl Definition {
    /// Every name in it.
    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.body.names()
    }

    /// The same with names in the place of others.
    pub(super) fn renamed(&self, names: &FxHashMap<Name, Name>) -> Definition {
        Definition { parameters: self.parameters.clone(), body: self.body.renamed(names) }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = if self.parameters.is_empty() { text!["void"] } else { listed(&self.parameters) };
        writeln!(f, "({parameters}) {{\n{}}}\n", self.body)
    }
}

/// The instance, in a function that several have.
const SELF: Fixed = Fixed("self");

/// How the ports of an instance are connected.
#[derive(Clone)]
pub(super) struct Wiring {
    /// Of each input port its FIFO.
    inputs: Vec<Option<Fifo>>,
    /// Of each output port those that get what it makes.
    outputs: Vec<Vec<Fifo>>,
}

impl Wiring {
    pub(super) fn of(network: &Network, at: usize, fifos: &[Fifo]) -> Wiring {
        let me = InstanceId(at as u32);
        let actor = network.actor_of(me);
        let read_by = |port: usize| fifos.iter().find(|fifo| fifo.target == Endpoint::Instance(me, port)).cloned();
        let written_by =
            |port: usize| fifos.iter().filter(|fifo| fifo.source == Endpoint::Instance(me, port)).cloned().collect();
        Wiring {
            inputs: (0..actor.inputs.len()).map(read_by).collect(),
            outputs: (0..actor.outputs.len()).map(written_by).collect(),
        }
    }

    /// Whether one function can serve both.
    pub(super) fn is_like(&self, other: &Wiring) -> bool {
        let inputs = self.inputs.iter().zip(&other.inputs).all(|(a, b)| match (a, b) {
            (Some(a), Some(b)) => a.is_like(b),
            (a, b) => a.is_none() && b.is_none(),
        });
        let outputs = self.outputs.iter().zip(&other.outputs);
        inputs && outputs.into_iter().all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_like(b)))
    }

    /// All of them.
    fn fifos(&mut self) -> impl Iterator<Item = &mut Fifo> {
        self.inputs.iter_mut().flatten().chain(self.outputs.iter_mut().flatten())
    }
}

struct Firing<'p> {
    plan: &'p Plan<'p>,
    code: Code<'p>,
    inputs: Vec<Option<Fifo>>,
    outputs: Vec<Vec<Fifo>>,
    /// Where the instance lies.
    own: Text,
    uses_control: bool,
}

/// Prints the function of an instance, which lies at `place`, in a context of the given type. `shared`: it is told where the
/// instance and its tokens lie.
pub(super) fn function(
    wiring: &Wiring,
    plan: &Plan<'_>,
    text: &ActorText,
    context: &str,
    place: Option<&Text>,
    shared: bool,
) -> Function {
    let mut code = Code::new(plan, Unit::Procedure(0), "", &[], "return false;");
    for taken in ["c", "f", "self"] {
        code.names.fresh(taken);
    }
    let mut wiring = wiring.clone();
    let mut parameters = vec![text!["struct ", context, " *", CONTEXT], text!["struct ", context, "_flow *", FLOW]];
    let mut arguments = vec![text![CONTEXT], text![FLOW]];
    let mut own = place.cloned().unwrap_or_default();
    if shared {
        parameters.clear();
        arguments.clear();
        if let Some(place) = place {
            parameters.push(text!["struct ", plan.prefix, " *", SELF]);
            arguments.push(text!["&", place]);
            own = text!["(*", SELF, ")"];
        }
        let actor = plan.actor;
        let names: Vec<String> = wiring
            .inputs
            .iter()
            .zip(&actor.inputs)
            .filter(|(fifo, _)| fifo.is_some())
            .map(|(_, port)| port.name.clone())
            .chain(
                wiring
                    .outputs
                    .iter()
                    .zip(&actor.outputs)
                    .flat_map(|(fifos, port)| fifos.iter().map(|_| port.name.clone())),
            )
            .collect();
        for (fifo, name) in wiring.fifos().zip(names) {
            let alias = code.temporary(&name);
            code.names.fresh(&format!("n_{alias}"));
            *fifo = fifo.called(alias);
            let (own_parameters, own_arguments) = fifo.parameters();
            parameters.extend(own_parameters);
            arguments.extend(own_arguments);
        }
    }
    let Wiring { inputs, outputs } = wiring;
    let mut firing = Firing { plan, code, inputs, outputs, own, uses_control: false };
    firing.initializers(&text.initializers);
    firing.states(&text.actions);
    let uses_control = firing.uses_control;
    let mut body = firing.code.finish();
    let named: FxHashSet<&Name> = body.names().collect();
    let mut unused = Vec::new();
    for parameter in parameters.iter().rev() {
        unused.extend(parameter.names().filter(|name| !named.contains(name)).cloned());
    }
    drop(named);
    for name in unused {
        body.0.insert(0, Line { depth: 1, text: text!["(void)", name, ";"] });
    }
    Function { definition: Definition { parameters, body }, arguments: listed(&arguments), uses_control }
}

impl Firing<'_> {
    fn initializers(&mut self, functions: &[ActionFunctions]) {
        for (at, printed) in functions.iter().enumerate() {
            let action = &self.plan.actor.initializers[at];
            let own = self.own.clone();
            self.code.open(text!["if (", own, ".started == ", at, ") {"]);
            self.attempt(action, printed, None);
            self.code.line(text![own, ".started = ", at + 1, ";"]);
            self.code.line("return true;");
            self.code.close("}");
        }
    }

    fn states(&mut self, functions: &[ActionFunctions]) {
        let actor = self.plan.actor;
        let several = actor.schedule.states.len() > 1;
        if several {
            let own = self.own.clone();
            self.code.open(text!["switch (", own, ".state) {"]);
        }
        for (at, state) in actor.schedule.states.iter().enumerate() {
            if several {
                // The last one needs no test.
                let label = if at + 1 == actor.schedule.states.len() { text!["default"] } else { text!["case ", at] };
                self.code.open(text![label, ": { /* ", comment(&state.name), " */"]);
            }
            for test in &state.tests {
                let number = test.action.index();
                let next = (test.next != StateId(at as u32)).then_some(test.next.index());
                self.attempt(&actor.actions[number], &functions[number], Some(next));
            }
            self.code.line("return false;");
            if several {
                self.code.close("}");
            }
        }
        if several {
            self.code.close("}");
        }
    }

    /// Fires the action if it is enabled. `after`: the state that it leads to if that is another; none for initialisers.
    fn attempt(&mut self, action: &Action, printed: &ActionFunctions, after: Option<Option<usize>>) {
        let mut conditions = Vec::new();
        for pattern in &action.consumes {
            // Where nothing ever comes the action never fires.
            let Some(fifo) = &self.inputs[pattern.port] else { return };
            conditions.push(match pattern.tokens() {
                1 => text![fifo.count(), " != 0"],
                n => text![fifo.count(), " >= ", n, "u"],
            });
        }
        self.code.line(text!["/* ", comment(&action.name), " */"]);
        match conditions.is_empty() {
            true => self.code.open("{"),
            false => self.code.open(text!["if (", joined(&conditions, " && "), ") {"]),
        }
        let windows = self.windows(action);
        let guarded = printed.guard.is_called();
        if guarded {
            let call = self.call(&printed.guard, &windows, &[]);
            self.code.open(text!["if (", call, ") {"]);
        }
        self.room(action);
        self.fire(action, printed, &windows);
        if let Some(next) = after {
            if let Some(state) = next {
                let own = self.own.clone();
                self.code.line(text![own, ".state = ", state, ";"]);
            }
            self.code.line("return true;");
        }
        if guarded {
            self.code.close("}");
        }
        self.code.close("}");
    }

    fn room(&mut self, action: &Action) {
        let mut lacking = Vec::new();
        for output in &action.produces {
            let n = output.tokens();
            for fifo in &self.outputs[output.port] {
                match fifo.lies {
                    Lies::Array(_, capacity) if capacity == n => lacking.push(text![fifo.count(), " != 0"]),
                    Lies::Array(_, capacity) => {
                        lacking.push(text![fifo.count(), " > ", capacity.saturating_sub(n), "u"]);
                    }
                    Lies::Wanted => lacking.push(text![fifo.count(), " < ", n, "u"]),
                    Lies::Given | Lies::Dropped => {}
                }
            }
        }
        if !lacking.is_empty() {
            self.code.open(text!["if (", joined(&lacking, " || "), ") {"]);
            self.code.line("return false;");
            self.code.close("}");
        }
        self.make_room(action);
    }

    /// Moves what lies at the end of an array towards its beginning, so that there is room behind it.
    fn make_room(&mut self, action: &Action) {
        for output in &action.produces {
            let n = output.tokens();
            for fifo in self.outputs[output.port].clone() {
                if !fifo.is_right_aligned() || fifo.is_written_empty() || fifo.capacity() == Some(n) {
                    continue;
                }
                let (count, capacity) = (fifo.count(), fifo.capacity().unwrap_or(0));
                let (words, bytes) = (fifo.words(), fifo.token_bytes());
                self.code.open(text!["if (", count, " != 0) {"]);
                let first = text![capacity, "u - ", n, " - ", count];
                let first = if words == 1 { first } else { text![words, " * (", first, ")"] };
                let left = if bytes == 1 { count } else { text![bytes, "u * ", count] };
                self.code.line(text![
                    "hr_small_shift(&",
                    fifo.tokens(),
                    "[",
                    first,
                    "], ",
                    n * bytes,
                    "u, ",
                    left,
                    ");"
                ]);
                self.code.close("}");
            }
        }
    }

    /// Pointers to the tokens of each pattern, and the arrays into which dealt tokens are sorted.
    fn windows(&mut self, action: &Action) -> Vec<Vec<Text>> {
        let mut all = Vec::new();
        for pattern in &action.consumes {
            let Some(fifo) = self.inputs[pattern.port].clone() else {
                all.push(Vec::new());
                continue;
            };
            let (tokens, words) = (fifo.begin(), fifo.words());
            let names = pattern.locals.len() as u64;
            all.push(match pattern.repeat {
                None => (0..names)
                    .map(|name| match words {
                        1 => text![tokens, "[", name, "]"],
                        words => text!["&", tokens, "[", words * name, "]"],
                    })
                    .collect(),
                Some(_) if names == 1 => vec![tokens],
                Some(repeat) => {
                    let mut arrays = Vec::new();
                    for (name, local) in pattern.locals.iter().enumerate() {
                        let info = &action.locals[local.index()];
                        let array = self.scratch(&info.name, &info.ty);
                        let array = text![array];
                        let from = |i: &Name| text![i, " * ", names, " + ", name];
                        self.code.deal(&array, repeat, words, &tokens, from);
                        arrays.push(array);
                    }
                    arrays
                }
            });
        }
        all
    }

    fn scratch(&mut self, like: &str, ty: &Type) -> Name {
        let name = self.code.temporary(like);
        self.code.line(text![ctype::declaration(ty, Declared(&name)), ";"]);
        name
    }

    fn call(&mut self, printed: &Printed, windows: &[Vec<Text>], outputs: &[Pointer]) -> Text {
        let mut arguments = Vec::new();
        if printed.uses_scalars {
            arguments.push(text!["&", self.own, ".scalars"]);
        }
        if printed.uses_lists {
            arguments.push(text!["&", self.own, ".lists"]);
        }
        self.uses_control |= printed.uses_control || printed.stops;
        for given in &printed.given {
            let (pattern, name) = given.pattern;
            arguments.push(windows.get(pattern).and_then(|texts| texts.get(name)).cloned().unwrap_or_default());
        }
        arguments.extend(outputs.iter().map(|output| output.text.clone()));
        text![printed.name, "(", listed(&arguments), ")"]
    }

    fn fire(&mut self, action: &Action, printed: &ActionFunctions, windows: &[Vec<Text>]) {
        // Output may go to where input is read in the same firing: in place.
        let reads_given =
            action.consumes.iter().any(|pattern| self.inputs[pattern.port].as_ref().is_some_and(Fifo::is_input_window));
        let mut pointers = Vec::new();
        let mut made = Vec::new();
        for output in &action.produces {
            let port = self.plan.actor.outputs[output.port].ty;
            let n = output.tokens();
            let first = self.outputs[output.port].first().cloned();
            let direct = first.filter(|fifo: &Fifo| {
                let in_place = fifo.lies == Lies::Wanted && reads_given;
                fifo.via.is_empty() && fifo.scalar == port && fifo.lies != Lies::Dropped && !in_place
            });
            let pointer = match &direct {
                Some(fifo) => end(fifo, n),
                None => {
                    let ty = Type::list(port, vec![u32::try_from(n).unwrap_or(u32::MAX)]);
                    let like = format!("{}_made", self.plan.actor.outputs[output.port].name);
                    Pointer::named(self.scratch(&like, &ty))
                }
            };
            pointers.push(pointer.clone());
            made.push((output.port, n, pointer, direct.is_some()));
        }
        if printed.body.is_called() {
            let call = self.call(&printed.body, windows, &pointers);
            self.code.line(text![call, ";"]);
        }
        for (port, n, source, direct) in &made {
            let readers = self.outputs[*port].clone();
            for fifo in readers.into_iter().skip(usize::from(*direct)) {
                self.put(&fifo, *port, *n, source);
            }
        }
        for (port, n, ..) in &made {
            for fifo in self.outputs[*port].clone() {
                let count = fifo.count();
                match fifo.lies {
                    Lies::Array(..) if fifo.capacity() == Some(*n) => self.code.line(text![count, " = ", n, ";"]),
                    Lies::Array(..) => self.add(&fifo, text!["+ ", n]),
                    Lies::Wanted => {
                        self.code.line(text![fifo.tokens(), " += ", n, ";"]);
                        self.code.line(text![count, " -= ", n, ";"]);
                    }
                    Lies::Given | Lies::Dropped => {}
                }
            }
        }
        for pattern in &action.consumes {
            let Some(fifo) = self.inputs[pattern.port].clone() else { continue };
            let (n, count, tokens) = (pattern.tokens(), fifo.count(), fifo.tokens());
            match fifo.lies {
                Lies::Array(..) if fifo.is_slot() => self.code.line(text![count, " = 0;"]),
                Lies::Array(..) => {
                    self.add(&fifo, text!["- ", n]);
                    if fifo.is_right_aligned() {
                        continue;
                    }
                    let bytes = fifo.token_bytes();
                    let left = if bytes == 1 { count } else { text![bytes, "u * ", count] };
                    self.code.line(text!["hr_small_shift(", tokens, ", ", n * bytes, "u, ", left, ");"]);
                }
                _ => {
                    self.code.line(text![tokens, " += ", n, ";"]);
                    self.code.line(text![count, " -= ", n, ";"]);
                }
            }
        }
    }

    fn add(&mut self, fifo: &Fifo, what: Text) {
        let count = fifo.count();
        self.code.line(text![count, " = (", fifo.count_type(), ")(", count, " ", what, ");"]);
    }

    /// Gives tokens from an array to a reader.
    fn put(&mut self, fifo: &Fifo, port: usize, n: u64, source: &Pointer) {
        if fifo.lies == Lies::Dropped {
            return;
        }
        let from = self.plan.actor.outputs[port].ty;
        let to = end(fifo, n);
        let words = fifo.words();
        if fifo.via.is_empty() && fifo.scalar == from {
            if n * words == 1 {
                self.code.line(text!["*", to.base(), " = *", source.base(), ";"]);
            } else {
                self.code.line(text!["memcpy(", to.text, ", ", source.text, ", ", n * fifo.token_bytes(), "u);"]);
            }
            return;
        }
        let i = self.code.temporary("i");
        self.code.open(text!["for (uint32_t ", i, " = 0; ", i, " < ", n, "u; ", i, "++) {"]);
        let element = |base: &Pointer, words: u64| match words {
            1 => text![base.base(), "[", i, "]"],
            words => text!["&", base.base(), "[", words, " * ", i, "]"],
        };
        let (target, token) = (element(&to, words), element(source, u64::from(ctype::words(from))));
        convert_through(&mut self.code, &target, fifo.scalar, &token, from, &fifo.via);
        self.code.close("}");
    }
}

/// Where the next tokens go, as a pointer.
fn end(fifo: &Fifo, n: u64) -> Pointer {
    let tokens = fifo.elements();
    match fifo.lies {
        // There is room, so it is empty.
        Lies::Array(_, capacity) if capacity == n => Pointer::named(tokens),
        Lies::Array(_, capacity) if fifo.is_right_aligned() => {
            Pointer::address(text!["&", tokens, "[", fifo.words() * (capacity - n), "]"])
        }
        Lies::Array(..) if fifo.words() == 1 => Pointer::address(text!["&", tokens, "[", fifo.count(), "]"]),
        Lies::Array(..) => Pointer::address(text!["&", tokens, "[", fifo.words(), " * ", fifo.count(), "]"]),
        _ => Pointer::named(tokens),
    }
}
