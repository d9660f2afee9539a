//! Code generation for run-time schedulers. The scheduler of an actor: one C function that fires as long as it can.
//!
//! One label a state. Indices and fill of the FIFOs are read once at the beginning and written back at the end; in
//! between, what is known is kept in local variables. A firing ends in a jump to the next state. The first action whose
//! tokens are there and whose guard holds is the one that fires; when it lacks room the actor waits.
//!
//! A ring has a tail of as many elements as a burst can reach beyond its end, so that a burst is always contiguous: a
//! reader first copies what wrapped to the tail, a writer afterwards copies from there.

mod firing;

use super::code::{CONTROL, Code, LISTS, SCALARS};
use super::ctype;
use super::functions::Printed;
use super::plan::Plan;
use super::text::{Declared, Fixed, Lines, Name, Text, joined, text};
use headrace_analysis::ranges::Unit;
use headrace_ir::{Action, Scalar, StateId, Test, Type};
use rustc_hash::FxHashSet;

/// A FIFO as the code that reads or writes it knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    /// The C struct.
    pub name: String,
    /// Type of its tokens.
    pub scalar: Scalar,
    /// Elements of the ring, a power of two.
    pub size: u64,
    /// Tokens that it takes.
    pub capacity: u64,
    /// The reader never takes a burst across the end.
    pub read_aligned: bool,
    /// The writer never makes a burst across the end.
    pub write_aligned: bool,
    /// For a FIFO between two threads, how many tokens either of them moves before it publishes its index.
    pub shared: Option<u64>,
}

impl Ring {
    /// The writer cannot make a burst in place: the tail belongs to the reader, who is another thread.
    fn scattered(&self, tokens: u64) -> bool {
        self.shared.is_some() && tokens > 1 && !self.write_aligned
    }
}

/// A connection of an output port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    /// The FIFO.
    pub ring: Ring,
    /// Types that the tokens are converted to on their way to that of the FIFO.
    pub via: Vec<Scalar>,
    /// The input port of the same instance to which the FIFO leads back.
    pub back: Option<usize>,
}

/// How the ports of an instance are connected. Instances of one actor with equal wiring share a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wiring {
    /// For each input port its FIFO.
    pub inputs: Vec<Option<Ring>>,
    /// For each output port the FIFOs that get copies.
    pub outputs: Vec<Vec<Reader>>,
}

/// The instance, in its scheduler.
const SELF: Fixed = Fixed("self");

/// What was printed for an action.
#[derive(Clone, Debug, Default)]
pub struct ActionFunctions {
    /// Its guard.
    pub guard: Printed,
    /// Its body.
    pub body: Printed,
}

/// Scalar state up to this size is kept in a local copy while the actor runs.
const MAX_LOCAL_STATE_BYTES: u64 = 1024;

struct Input {
    fifo: Name,
    read: Name,
    there: Name,
    ring: Ring,
}

struct Output {
    fifos: Vec<Name>,
    written: Name,
    room: Name,
    readers: Vec<Reader>,
}

struct Scheduler<'p> {
    plan: &'p Plan<'p>,
    code: Code<'p>,
    inputs: Vec<Option<Input>>,
    outputs: Vec<Option<Output>>,
    states: Vec<String>,
    local_state: bool,
    stops: bool,
    budget: bool,
    uses_v: bool,
    uses_lists: bool,
}

/// A printed scheduler.
pub struct PrintedScheduler {
    /// The definition.
    pub text: String,
    /// Its lines.
    pub body: Lines,
    /// It can stop the program.
    pub stops: bool,
}

/// Prints the scheduler of an actor.
pub fn scheduler(
    plan: &Plan<'_>,
    name: &str,
    wiring: &Wiring,
    initializers: &[ActionFunctions],
    actions: &[ActionFunctions],
) -> PrintedScheduler {
    let actor = plan.actor;
    let mut code = Code::new(plan, Unit::Procedure(0), "", &[], "goto out;");
    for taken in ["self", "fired", "state", "budget", "out"] {
        code.names.fresh(taken);
    }
    let used_in = |port: usize| actor.actions.iter().any(|action| action.consumed(port) > 0);
    let used_out =
        |port: usize| actor.actions.iter().chain(&actor.initializers).any(|action| action.produced(port) > 0);
    let mut parameters = vec![text!["struct ", plan.prefix, " *", SELF]];
    let mut unused = Vec::new();
    let mut inputs = Vec::new();
    for (at, ring) in wiring.inputs.iter().enumerate() {
        let port = &actor.inputs[at].name;
        inputs.push(ring.as_ref().and_then(|ring| {
            let fifo = code.temporary(port);
            parameters.push(text!["struct ", ring.name, " *", fifo]);
            if !used_in(at) {
                unused.push(fifo);
                return None;
            }
            let read = code.temporary(&format!("{fifo}_read"));
            let there = code.temporary(&format!("{fifo}_there"));
            Some(Input { fifo, read, there, ring: ring.clone() })
        }));
    }
    let mut outputs = Vec::new();
    for (at, readers) in wiring.outputs.iter().enumerate() {
        let port = &actor.outputs[at].name;
        let mut fifos = Vec::new();
        for (number, reader) in readers.iter().enumerate() {
            let like = if readers.len() == 1 { port.clone() } else { format!("{port}_{}", number + 1) };
            let fifo = code.temporary(&like);
            parameters.push(text!["struct ", reader.ring.name, " *", fifo]);
            fifos.push(fifo);
        }
        if readers.is_empty() || !used_out(at) {
            unused.append(&mut fifos);
            outputs.push(None);
            continue;
        }
        let written = code.temporary(&format!("{port}_written"));
        let room = code.temporary(&format!("{port}_room"));
        outputs.push(Some(Output { fifos, written, room, readers: readers.clone() }));
    }
    parameters.push(text!["struct headrace_control *", CONTROL]);
    let states: Vec<String> = {
        let mut names = super::names::Names::default();
        names.fresh("out");
        actor.schedule.states.iter().map(|state| names.fresh(&format!("state_{}", state.name))).collect()
    };
    let scalar_bytes: u64 = plan
        .scalar_fields
        .iter()
        .map(|(_, at)| {
            let ty = &actor.variables[*at].ty;
            ctype::array_length(ty).unwrap_or(1) * ctype::element_bytes(ty.element)
        })
        .sum();
    let mut scheduler = Scheduler {
        plan,
        code,
        inputs,
        outputs,
        states,
        local_state: scalar_bytes <= MAX_LOCAL_STATE_BYTES,
        stops: false,
        budget: false,
        uses_v: false,
        uses_lists: false,
    };
    scheduler.initializers(initializers);
    scheduler.states(actions);
    let rest = scheduler.code.take();
    scheduler.drop_unused(&rest, &mut unused);
    scheduler.prologue(&unused);
    scheduler.code.splice(rest);
    scheduler.epilogue();
    let cold = plan.options.attribute();
    let stops = scheduler.stops;
    let body = scheduler.code.finish();
    let parameters = joined(&parameters, ",\n    ");
    let text = format!("{cold}static bool {name}(\n    {parameters}) {{\n{body}}}\n\n");
    PrintedScheduler { text, body, stops }
}

impl Scheduler<'_> {
    /// Ports that no emitted test touches, since another port of their actions is not connected.
    fn drop_unused(&mut self, lines: &Lines, unused: &mut Vec<Name>) {
        let touched: FxHashSet<&Name> = lines.names().collect();
        for input in &mut self.inputs {
            if input.as_ref().is_some_and(|input| !touched.contains(&input.read)) {
                unused.extend(input.take().map(|input| input.fifo));
            }
        }
        for output in &mut self.outputs {
            if output.as_ref().is_some_and(|output| !touched.contains(&output.written)) {
                unused.extend(output.take().into_iter().flat_map(|output| output.fifos));
            }
        }
    }

    fn prologue(&mut self, unused: &[Name]) {
        let code = &mut self.code;
        for name in unused {
            code.line(text!["(void)", name, ";"]);
        }
        code.line("bool fired = false;");
        if self.budget {
            code.line(text!["uint64_t budget = ", CONTROL, "->budget;"]);
        } else if !self.stops {
            code.line(text!["(void)", CONTROL, ";"]);
        }
        for input in self.inputs.iter().flatten() {
            let Input { fifo, read, there, ring } = input;
            match ring.shared {
                None => {
                    code.line(text!["uint32_t ", read, " = ", fifo, "->read;"]);
                    code.line(text!["uint32_t ", there, " = ", fifo, "->written - ", read, ";"]);
                }
                Some(at_once) => {
                    code.line(text!["uint32_t ", read, " = hr_own(&", fifo, "->read);"]);
                    code.line(text!["uint32_t ", there, " = ", fifo, "->written_seen - ", read, ";"]);
                    code.line(text![there, " = ", there, " < ", at_once, "u ? ", there, " : ", at_once, "u;"]);
                }
            }
        }
        for output in self.outputs.iter().flatten() {
            let Output { fifos, written, room, readers } = output;
            let own = match readers[0].ring.shared {
                None => text![fifos[0], "->written"],
                Some(_) => text!["hr_own(&", fifos[0], "->written)"],
            };
            code.line(text!["uint32_t ", written, " = ", own, ";"]);
            let rooms = rooms(fifos, written, readers, &|_| None);
            code.line(text!["uint32_t ", room, " = ", rooms[0], ";"]);
            for other in &rooms[1..] {
                code.line(text![room, " = ", room, " < ", other, " ? ", room, " : ", other, ";"]);
            }
        }
        if self.uses_v {
            let prefix = &self.plan.prefix;
            if self.local_state {
                code.line(text!["struct ", prefix, "_scalars state = self->scalars;"]);
                code.line(text!["struct ", prefix, "_scalars *const ", SCALARS, " = &state;"]);
            } else {
                code.line(text!["struct ", prefix, "_scalars *const ", SCALARS, " = &self->scalars;"]);
            }
        }
        if self.uses_lists {
            let prefix = &self.plan.prefix;
            code.line(text!["struct ", prefix, "_lists *const ", LISTS, " = &self->lists;"]);
        }
        code.line("self->blocked = 0;");
    }

    fn epilogue(&mut self) {
        let code = &mut self.code;
        code.label("out");
        for input in self.inputs.iter().flatten() {
            match input.ring.shared {
                None => code.line(text![input.fifo, "->read = ", input.read, ";"]),
                Some(_) => code.line(text!["hr_publish(&", input.fifo, "->read, ", input.read, ");"]),
            }
        }
        for output in self.outputs.iter().flatten() {
            for (fifo, reader) in output.fifos.iter().zip(&output.readers) {
                match reader.ring.shared {
                    None => code.line(text![fifo, "->written = ", output.written, ";"]),
                    Some(_) => code.line(text!["hr_publish(&", fifo, "->written, ", output.written, ");"]),
                }
            }
        }
        if self.uses_v && self.local_state {
            code.line("self->scalars = state;");
        }
        if self.budget {
            code.line(text![CONTROL, "->budget = budget;"]);
        }
        code.line("return fired;");
    }

    fn initializers(&mut self, functions: &[ActionFunctions]) {
        let n = functions.len();
        if n == 0 {
            return;
        }
        self.code.open(text!["if (self->started < ", n, ") {"]);
        for (at, printed) in functions.iter().enumerate() {
            let action = &self.plan.actor.initializers[at];
            self.code.open(text!["if (self->started == ", at, ") {"]);
            let number = self.plan.actor.actions.len() + at;
            self.attempt(action, printed, number, None, None);
            self.code.line(text!["self->started = ", at + 1, ";"]);
            self.code.close("}");
        }
        self.code.close("}");
    }

    fn states(&mut self, functions: &[ActionFunctions]) {
        let actor = self.plan.actor;
        let initial = actor.schedule.initial.index();
        let several = actor.schedule.states.len() > 1;
        if several {
            self.code.open("switch (self->state) {");
            for (at, label) in self.states.clone().iter().enumerate() {
                if at != initial {
                    self.code.line(text!["case ", at, ": goto ", label, ";"]);
                }
            }
            self.code.line(text!["default: goto ", self.states[initial], ";"]);
            self.code.close("}");
        }
        for (at, state) in actor.schedule.states.iter().enumerate() {
            let (_, lines) = self.capture(|scheduler| {
                let here = several.then_some(at);
                for test in &state.tests {
                    let action = &actor.actions[test.action.index()];
                    let number = test.action.index();
                    scheduler.attempt(action, &functions[number], number, Some(*test), here);
                }
            });
            // Whatever fires goes to the only state again, and what has no input never does.
            let fires = |test: &Test| {
                let consumes = &actor.actions[test.action.index()].consumes;
                consumes.iter().all(|pattern| self.inputs[pattern.port].is_some())
            };
            if several || state.tests.iter().any(fires) {
                self.code.label(&self.states[at]);
            }
            self.code.splice(lines);
            self.leave(StateId(at as u32));
        }
    }

    fn capture<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Lines) {
        let before = self.code.take();
        let result = write(self);
        let written = self.code.take();
        self.code.splice(before);
        (result, written)
    }

    fn leave(&mut self, state: StateId) {
        if self.plan.actor.schedule.states.len() > 1 {
            self.code.line(text!["self->state = ", state.index(), ";"]);
        }
        self.code.line("goto out;");
    }

    /// Fires the action if it is enabled. `test` is absent for initialisers.
    fn attempt(
        &mut self,
        action: &Action,
        printed: &ActionFunctions,
        number: usize,
        test: Option<Test>,
        state: Option<usize>,
    ) {
        let mut conditions = Vec::new();
        for pattern in &action.consumes {
            match &self.inputs[pattern.port] {
                Some(input) => conditions.push(text![input.there, " >= ", pattern.tokens(), "u"]),
                // Nothing ever comes: the action never fires.
                None => return,
            }
        }
        self.code.line(text!["/* ", comment(&action.name), " */"]);
        if conditions.is_empty() {
            self.code.open("{");
        } else {
            self.code.open(text!["if (", joined(&conditions, " && "), ") {"]);
        }
        let windows = self.windows(action);
        let mut guarded = false;
        if printed.guard.is_called() {
            let mut call = self.call(&printed.guard, &windows, &[]);
            if printed.guard.stops {
                self.stops = true;
                let holds = self.code.temporary("holds");
                self.code.line(text!["const bool ", Declared(&holds), " = ", call, ";"]);
                self.stopped(state);
                call = text![holds];
            }
            self.code.open(text!["if (", call, ") {"]);
            guarded = true;
        }
        self.room(action, number, state);
        self.fire(action, printed, number, &windows, state, test.is_none());
        if let Some(Test { next, .. }) = test {
            let label = self.states[next.index()].clone();
            self.code.line(text!["goto ", label, ";"]);
        }
        if guarded {
            self.code.close("}");
        }
        self.code.close("}");
    }

    fn stopped(&mut self, state: Option<usize>) {
        self.stops = true;
        self.code.open(text!["if (", CONTROL, "->stopped != 0) {"]);
        self.leave_at(state);
        self.code.close("}");
    }

    fn leave_at(&mut self, state: Option<usize>) {
        if let Some(state) = state {
            self.code.line(text!["self->state = ", state, ";"]);
        }
        self.code.line("goto out;");
    }
}

/// The room in each FIFO of an output, given in what variable the read index of a FIFO that leads back is kept.
fn rooms(fifos: &[Name], written: &Name, readers: &[Reader], own_read: &dyn Fn(usize) -> Option<Name>) -> Vec<Text> {
    let mut rooms: Vec<Text> = fifos
        .iter()
        .zip(readers)
        .map(|(fifo, Reader { ring, back, .. })| {
            let read = back
                .and_then(own_read)
                .map(Text::from)
                .unwrap_or_else(|| text![fifo, "->", if ring.shared.is_some() { "read_seen" } else { "read" }]);
            text![ring.capacity, "u - (", written, " - ", read, ")"]
        })
        .collect();
    let at_once = readers.iter().filter_map(|reader| reader.ring.shared).min();
    rooms.extend(at_once.map(|tokens| text![tokens, "u"]));
    rooms
}

/// Stores a token after the conversions of the ports that it passes.
pub fn convert_through(code: &mut Code<'_>, target: &Text, to: Scalar, source: &Text, from: Scalar, via: &[Scalar]) {
    let mut at = source.clone();
    let mut scalar = from;
    for &next in via {
        let name = code.temporary("passed");
        code.line(text![ctype::declaration(&Type::scalar(next), Declared(&name)), ";"]);
        code.convert(&text![name], next, &at, scalar);
        at = text![name];
        scalar = next;
    }
    if scalar == to && ctype::words(to) > 1 {
        code.line(text!["hr_wide_copy(", target.as_filled(), ", ", at, ", ", ctype::words(to), ");"]);
    } else {
        code.convert(target, to, &at, scalar);
    }
}

/// A name that may stand in a comment.
pub fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *")
}
