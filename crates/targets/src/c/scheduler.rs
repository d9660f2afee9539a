//! The scheduler of an actor: one C function that fires as long as it can.
//!
//! One label a state. Indices and fill of the FIFOs are read once at the beginning and written back at the end; in
//! between, what is known is kept in local variables. A firing ends in a jump to the next state. The first action whose
//! tokens are there and whose guard holds is the one that fires; when it lacks room the actor waits.
//!
//! A ring has a tail of as many elements as a burst can reach beyond its end, so that a burst is always contiguous: a
//! reader first copies what wrapped to the tail, a writer afterwards copies from there.

use super::code::Code;
use super::ctype;
use super::functions::Printed;
use super::plan::Plan;
use super::range::Unit;
use headrace_ir::{Action, Scalar, StateId, Test, Type};

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
}

/// How the ports of an instance are connected. Instances of one actor with equal wiring share a scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wiring {
    /// For each input port its FIFO.
    pub inputs: Vec<Option<Ring>>,
    /// For each output port the FIFOs that get copies.
    pub outputs: Vec<Vec<Reader>>,
}

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
    fifo: String,
    read: String,
    there: String,
    ring: Ring,
}

struct Output {
    fifos: Vec<String>,
    written: String,
    room: String,
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
    let mut parameters = vec![format!("struct {} *self", plan.prefix)];
    let mut unused = Vec::new();
    let mut inputs = Vec::new();
    for (at, ring) in wiring.inputs.iter().enumerate() {
        let port = &actor.inputs[at].name;
        inputs.push(ring.as_ref().and_then(|ring| {
            let fifo = code.names.fresh(port);
            parameters.push(format!("struct {} *{fifo}", ring.name));
            if !used_in(at) {
                unused.push(fifo);
                return None;
            }
            let read = code.names.fresh(&format!("{fifo}_read"));
            let there = code.names.fresh(&format!("{fifo}_there"));
            Some(Input { fifo, read, there, ring: ring.clone() })
        }));
    }
    let mut outputs = Vec::new();
    for (at, readers) in wiring.outputs.iter().enumerate() {
        let port = &actor.outputs[at].name;
        let mut fifos = Vec::new();
        for (number, reader) in readers.iter().enumerate() {
            let like = if readers.len() == 1 { port.clone() } else { format!("{port}_{}", number + 1) };
            let fifo = code.names.fresh(&like);
            parameters.push(format!("struct {} *{fifo}", reader.ring.name));
            fifos.push(fifo);
        }
        if readers.is_empty() || !used_out(at) {
            unused.append(&mut fifos);
            outputs.push(None);
            continue;
        }
        let written = code.names.fresh(&format!("{port}_written"));
        let room = code.names.fresh(&format!("{port}_room"));
        outputs.push(Some(Output { fifos, written, room, readers: readers.clone() }));
    }
    parameters.push("struct headrace_control *control".to_owned());
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
    scheduler.code.splice(&rest);
    scheduler.epilogue();
    let mut text = format!("static bool {name}(\n    {}) {{\n", parameters.join(",\n    "));
    let stops = scheduler.stops;
    text.push_str(&scheduler.code.finish());
    text.push_str("}\n\n");
    PrintedScheduler { text, stops }
}

impl Scheduler<'_> {
    /// Ports that no emitted test touches, since another port of their actions is not connected.
    fn drop_unused(&mut self, text: &str, unused: &mut Vec<String>) {
        let words: std::collections::HashSet<&str> = super::code::words_of(text).collect();
        for input in &mut self.inputs {
            if input.as_ref().is_some_and(|input| !words.contains(input.read.as_str())) {
                unused.extend(input.take().map(|input| input.fifo));
            }
        }
        for output in &mut self.outputs {
            if output.as_ref().is_some_and(|output| !words.contains(output.written.as_str())) {
                unused.extend(output.take().into_iter().flat_map(|output| output.fifos));
            }
        }
    }

    fn prologue(&mut self, unused: &[String]) {
        let code = &mut self.code;
        for name in unused {
            code.line(&format!("(void){name};"));
        }
        code.line("bool fired = false;");
        if self.budget {
            code.line("uint64_t budget = control->budget;");
        } else if !self.stops {
            code.line("(void)control;");
        }
        for input in self.inputs.iter().flatten() {
            let Input { fifo, read, there, ring } = input;
            match ring.shared {
                None => {
                    code.line(&format!("uint32_t {read} = {fifo}->read;"));
                    code.line(&format!("uint32_t {there} = {fifo}->written - {read};"));
                }
                Some(at_once) => {
                    code.line(&format!("uint32_t {read} = hr_own(&{fifo}->read);"));
                    code.line(&format!("uint32_t {there} = {fifo}->written_seen - {read};"));
                    code.line(&format!("{there} = {there} < {at_once}u ? {there} : {at_once}u;"));
                }
            }
        }
        for output in self.outputs.iter().flatten() {
            let Output { fifos, written, room, readers } = output;
            let own = match readers[0].ring.shared {
                None => format!("{}->written", fifos[0]),
                Some(_) => format!("hr_own(&{}->written)", fifos[0]),
            };
            code.line(&format!("uint32_t {written} = {own};"));
            let mut rooms: Vec<String> = fifos
                .iter()
                .zip(readers)
                .map(|(fifo, Reader { ring, .. })| {
                    let read = if ring.shared.is_some() { "read_seen" } else { "read" };
                    format!("{}u - ({written} - {fifo}->{read})", ring.capacity)
                })
                .collect();
            let at_once = readers.iter().filter_map(|reader| reader.ring.shared).min();
            rooms.extend(at_once.map(|tokens| format!("{tokens}u")));
            code.line(&format!("uint32_t {room} = {};", rooms[0]));
            for other in &rooms[1..] {
                code.line(&format!("{room} = {room} < {other} ? {room} : {other};"));
            }
        }
        if self.uses_v {
            let prefix = &self.plan.prefix;
            if self.local_state {
                code.line(&format!("struct {prefix}_scalars state = self->scalars;"));
                code.line(&format!("struct {prefix}_scalars *const v = &state;"));
            } else {
                code.line(&format!("struct {prefix}_scalars *const v = &self->scalars;"));
            }
        }
        if self.uses_lists {
            let prefix = &self.plan.prefix;
            code.line(&format!("struct {prefix}_lists *const lists = &self->lists;"));
        }
        code.line("self->blocked = 0;");
    }

    fn epilogue(&mut self) {
        let code = &mut self.code;
        code.splice("out:\n");
        for input in self.inputs.iter().flatten() {
            match input.ring.shared {
                None => code.line(&format!("{}->read = {};", input.fifo, input.read)),
                Some(_) => code.line(&format!("hr_publish(&{}->read, {});", input.fifo, input.read)),
            }
        }
        for output in self.outputs.iter().flatten() {
            for (fifo, reader) in output.fifos.iter().zip(&output.readers) {
                match reader.ring.shared {
                    None => code.line(&format!("{fifo}->written = {};", output.written)),
                    Some(_) => code.line(&format!("hr_publish(&{fifo}->written, {});", output.written)),
                }
            }
        }
        if self.uses_v && self.local_state {
            code.line("self->scalars = state;");
        }
        if self.budget {
            code.line("control->budget = budget;");
        }
        code.line("return fired;");
    }

    fn initializers(&mut self, functions: &[ActionFunctions]) {
        let n = functions.len();
        if n == 0 {
            return;
        }
        self.code.open(&format!("if (self->started < {n}) {{"));
        for (at, printed) in functions.iter().enumerate() {
            let action = &self.plan.actor.initializers[at];
            self.code.open(&format!("if (self->started == {at}) {{"));
            let number = self.plan.actor.actions.len() + at;
            self.attempt(action, printed, number, None, None);
            self.code.line(&format!("self->started = {};", at + 1));
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
                    self.code.line(&format!("case {at}: goto {label};"));
                }
            }
            self.code.line(&format!("default: goto {};", self.states[initial]));
            self.code.close("}");
        }
        for (at, state) in actor.schedule.states.iter().enumerate() {
            let (_, text) = self.capture(|scheduler| {
                let here = several.then_some(at);
                for test in &state.tests {
                    let action = &actor.actions[test.action.index()];
                    let number = test.action.index();
                    scheduler.attempt(action, &functions[number], number, Some(*test), here);
                }
            });
            if several || text.contains(&format!("goto {};", self.states[at])) {
                let label = format!("{}:\n", self.states[at]);
                self.code.splice(&label);
            }
            self.code.splice(&text);
            self.leave(StateId(at as u32));
        }
    }

    fn capture<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, String) {
        let before = self.code.take();
        let result = write(self);
        let written = self.code.take();
        self.code.splice(&before);
        (result, written)
    }

    fn leave(&mut self, state: StateId) {
        if self.plan.actor.schedule.states.len() > 1 {
            self.code.line(&format!("self->state = {};", state.index()));
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
                Some(input) => conditions.push(format!("{} >= {}u", input.there, pattern.tokens())),
                // Nothing ever comes: the action never fires.
                None => return,
            }
        }
        self.code.line(&format!("/* {} */", comment(&action.name)));
        if conditions.is_empty() {
            self.code.open("{");
        } else {
            self.code.open(&format!("if ({}) {{", conditions.join(" && ")));
        }
        let windows = self.windows(action);
        let mut guarded = false;
        if !printed.guard.name.is_empty() {
            let mut call = self.call(&printed.guard, &windows, &[]);
            if printed.guard.stops {
                self.stops = true;
                let holds = self.code.temporary("holds");
                self.code.line(&format!("const bool {holds} = {call};"));
                self.stopped(state);
                call = holds;
            }
            self.code.open(&format!("if ({call}) {{"));
            guarded = true;
        }
        self.room(action, number, state);
        self.fire(action, printed, number, &windows, state, test.is_none());
        if let Some(Test { next, .. }) = test {
            let label = self.states[next.index()].clone();
            self.code.line(&format!("goto {label};"));
        }
        if guarded {
            self.code.close("}");
        }
        self.code.close("}");
    }

    fn stopped(&mut self, state: Option<usize>) {
        self.stops = true;
        self.code.open("if (control->stopped != 0) {");
        self.leave_at(state);
        self.code.close("}");
    }

    fn leave_at(&mut self, state: Option<usize>) {
        if let Some(state) = state {
            self.code.line(&format!("self->state = {state};"));
        }
        self.code.line("goto out;");
    }

    fn room(&mut self, action: &Action, number: usize, state: Option<usize>) {
        let lacking: Vec<String> = action
            .produces
            .iter()
            .filter_map(|output| {
                let connected = self.outputs[output.port].as_ref()?;
                Some(format!("{} < {}u", connected.room, output.tokens()))
            })
            .collect();
        if lacking.is_empty() {
            return;
        }
        self.code.open(&format!("if ({}) {{", lacking.join(" || ")));
        self.code.line(&format!("self->blocked = {};", number + 1));
        self.leave_at(state);
        self.code.close("}");
    }

    /// Pointers to the tokens of each pattern, and the arrays into which dealt tokens are sorted.
    fn windows(&mut self, action: &Action) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for pattern in &action.consumes {
            let Some(Input { fifo, read, ring, .. }) = &self.inputs[pattern.port] else {
                all.push(Vec::new());
                continue;
            };
            let (fifo, read, ring) = (fifo.clone(), read.clone(), ring.clone());
            let n = pattern.tokens();
            let words = u64::from(ctype::words(ring.scalar));
            let position = format!("({read} & {}u)", ring.size - 1);
            if n > 1 && !ring.read_aligned {
                let code = &mut self.code;
                code.open(&format!("if ({position} + {n}u > {}u) {{", ring.size));
                code.line(&format!(
                    "memcpy(&{fifo}->tokens[{}], {fifo}->tokens, ({position} + {n}u - {}u) * {words} * sizeof {fifo}->tokens[0]);",
                    ring.size * words,
                    ring.size
                ));
                code.close("}");
            }
            let element = |offset: u64| match (words, offset) {
                (1, 0) => format!("{fifo}->tokens[{read} & {}u]", ring.size - 1),
                (1, offset) => format!("{fifo}->tokens[{position} + {offset}]"),
                (words, 0) => format!("{fifo}->tokens[{words} * {position}]"),
                (words, offset) => format!("{fifo}->tokens[{words} * ({position} + {offset})]"),
            };
            let names = pattern.locals.len() as u64;
            let texts = match pattern.repeat {
                None => (0..names)
                    .map(|name| if words > 1 { format!("&{}", element(name)) } else { element(name) })
                    .collect(),
                Some(_) if names == 1 => vec![format!("&{}", element(0))],
                Some(repeat) => {
                    let mut arrays = Vec::new();
                    for (name, local) in pattern.locals.iter().enumerate() {
                        let info = &action.locals[local.index()];
                        let array = self.scratch(&info.name, &info.ty, false);
                        let code = &mut self.code;
                        let i = code.temporary("i");
                        code.open(&format!("for (uint32_t {i} = 0; {i} < {repeat}u; {i}++) {{"));
                        let from = format!("{position} + {i} * {names} + {name}");
                        if words == 1 {
                            code.line(&format!("{array}[{i}] = {fifo}->tokens[{from}];"));
                        } else {
                            code.line(&format!(
                                "memcpy(&{array}[{words} * {i}], &{fifo}->tokens[{words} * ({from})], {words} * sizeof {array}[0]);"
                            ));
                        }
                        code.close("}");
                        self.code.line(&format!("(void){array};"));
                        arrays.push(array);
                    }
                    arrays
                }
            };
            all.push(texts);
        }
        all
    }

    /// An array on the stack, or in the lists when it is large. `zero`: what fills it may stop before it has.
    fn scratch(&mut self, like: &str, ty: &Type, zero: bool) -> String {
        let bytes = ctype::array_length(ty).unwrap_or(1) * ctype::element_bytes(ty.element);
        if bytes <= 1 << 15 {
            let name = self.code.temporary(like);
            let zero = if zero { " = {0}" } else { "" };
            self.code.line(&format!("{}{zero};", ctype::declaration(ty, &name)));
            return name;
        }
        let field = self.plan.list_names.borrow_mut().fresh(&format!("burst_{like}"));
        self.plan.list_fields.borrow_mut().push(ctype::declaration(ty, &field));
        self.uses_lists = true;
        format!("lists->{field}")
    }

    fn call(&mut self, printed: &Printed, windows: &[Vec<String>], outputs: &[String]) -> String {
        let mut arguments = Vec::new();
        if printed.uses_scalars {
            self.uses_v = true;
            arguments.push("v".to_owned());
        }
        if printed.uses_lists {
            self.uses_lists = true;
            arguments.push("lists".to_owned());
        }
        if printed.uses_control {
            self.stops = true;
            arguments.push("control".to_owned());
        }
        for given in &printed.given {
            let (pattern, name) = given.pattern;
            let text = windows.get(pattern).and_then(|texts| texts.get(name)).cloned().unwrap_or_default();
            arguments.push(text);
        }
        arguments.extend(outputs.iter().cloned());
        format!("{}({})", printed.name, arguments.join(", "))
    }

    fn fire(
        &mut self,
        action: &Action,
        printed: &ActionFunctions,
        number: usize,
        windows: &[Vec<String>],
        state: Option<usize>,
        initializer: bool,
    ) {
        let moves = action.consumes.iter().any(|pattern| self.inputs[pattern.port].is_some())
            || action.produces.iter().any(|output| self.outputs[output.port].is_some());
        // Only firings that move no token can go on without end.
        if !initializer && (self.plan.options.count_firings || !moves) {
            self.budget = true;
            self.code.open("if (budget == 0) {");
            self.code.line("control->limited = 1;");
            self.leave_at(state);
            self.code.close("}");
            self.code.line("budget--;");
        }
        let mut pointers = Vec::new();
        let mut after = Vec::new();
        for output in &action.produces {
            let port = self.plan.actor.outputs[output.port].ty;
            let n = output.tokens();
            let made_type = Type::list(port, vec![u32::try_from(n).unwrap_or(u32::MAX)]);
            let direct = self.outputs[output.port].as_ref().is_some_and(|connected| {
                let first = &connected.readers[0];
                first.via.is_empty() && first.ring.scalar == port && !first.ring.scattered(n)
            });
            if !direct {
                let like = format!("{}_made", self.plan.actor.outputs[output.port].name);
                let made = self.scratch(&like, &made_type, printed.body.stops);
                pointers.push(made.clone());
                after.push((output.port, n, made, false));
                continue;
            }
            let Some(connected) = &self.outputs[output.port] else { continue };
            let ring = &connected.readers[0].ring;
            let words = u64::from(ctype::words(port));
            let fifo = &connected.fifos[0];
            let written = &connected.written;
            let at = if words == 1 {
                format!("&{fifo}->tokens[{written} & {}u]", ring.size - 1)
            } else {
                format!("&{fifo}->tokens[{words} * ({written} & {}u)]", ring.size - 1)
            };
            pointers.push(at.clone());
            after.push((output.port, n, at, true));
        }
        if !printed.body.name.is_empty() {
            let call = self.call(&printed.body, windows, &pointers);
            self.code.line(&format!("{call};"));
            if printed.body.stops {
                self.stopped(state);
            }
        }
        for (port, n, source, direct) in after {
            self.deliver(port, n, &source, direct);
        }
        for pattern in &action.consumes {
            if let Some(Input { read, there, .. }) = &self.inputs[pattern.port] {
                let n = pattern.tokens();
                self.code.line(&format!("{read} += {n}u;"));
                self.code.line(&format!("{there} -= {n}u;"));
            }
        }
        for output in &action.produces {
            if let Some(Output { written, room, .. }) = &self.outputs[output.port] {
                let n = output.tokens();
                self.code.line(&format!("{written} += {n}u;"));
                self.code.line(&format!("{room} -= {n}u;"));
            }
        }
        self.code.line("fired = true;");
        if !initializer && self.plan.options.count_firings {
            self.code.line(&format!("self->firings[{number}]++;"));
        }
    }

    /// Gives the tokens that were made to all readers. `direct`: the first one has them already, except for what
    /// reached into its tail.
    fn deliver(&mut self, port: usize, n: u64, source: &str, direct: bool) {
        let Some(Output { fifos, written, readers, .. }) = &self.outputs[port] else { return };
        let (fifos, written, readers) = (fifos.clone(), written.clone(), readers.clone());
        let port_type = self.plan.actor.outputs[port].ty;
        for (at, (fifo, reader)) in fifos.iter().zip(&readers).enumerate() {
            let ring = &reader.ring;
            if direct && at == 0 {
                continue;
            }
            put(&mut self.code, fifo, ring, &written, source, port_type, &reader.via, n);
        }
        if direct && n > 1 && !readers[0].ring.write_aligned {
            let ring = &readers[0].ring;
            let fifo = &fifos[0];
            let words = u64::from(ctype::words(port_type));
            let position = format!("({written} & {}u)", ring.size - 1);
            self.code.open(&format!("if ({position} + {n}u > {}u) {{", ring.size));
            self.code.line(&format!(
                "memcpy({fifo}->tokens, &{fifo}->tokens[{}], ({position} + {n}u - {}u) * {words} * sizeof {fifo}->tokens[0]);",
                ring.size * words,
                ring.size
            ));
            self.code.close("}");
        }
    }
}

/// Writes `n` tokens from an array to a ring from index `written` on, with conversion.
#[allow(clippy::too_many_arguments)]
fn put(
    code: &mut Code<'_>,
    fifo: &str,
    ring: &Ring,
    written: &str,
    source: &str,
    from: Scalar,
    via: &[Scalar],
    n: u64,
) {
    let i = code.temporary("i");
    let words = ctype::words(ring.scalar);
    let from_words = ctype::words(from);
    let base = if source.starts_with('&') { format!("({source})") } else { source.to_owned() };
    if ring.scattered(n) && ring.scalar == from && via.is_empty() {
        let (at, first) = (code.temporary("at"), code.temporary("first"));
        let size = ring.size;
        code.open("{");
        code.line(&format!("const uint32_t {at} = {written} & {}u;", size - 1));
        code.line(&format!("const uint32_t {first} = {size}u - {at} < {n}u ? {size}u - {at} : {n}u;"));
        let bytes = format!("{words} * sizeof {fifo}->tokens[0]");
        code.line(&format!("memcpy(&{fifo}->tokens[{words} * {at}], {base}, {first} * {bytes});"));
        code.line(&format!("memcpy({fifo}->tokens, {base} + {words} * {first}, ({n}u - {first}) * {bytes});"));
        code.close("}");
        return;
    }
    code.open(&format!("for (uint32_t {i} = 0; {i} < {n}u; {i}++) {{"));
    let token = match from_words {
        1 => format!("{base}[{i}]"),
        have => format!("&{base}[{have} * {i}]"),
    };
    let target = match words {
        1 => format!("{fifo}->tokens[({written} + {i}) & {}u]", ring.size - 1),
        words => format!("&{fifo}->tokens[{words} * (({written} + {i}) & {}u)]", ring.size - 1),
    };
    convert_through(code, &target, ring.scalar, &token, from, via);
    code.close("}");
}

/// Stores a token after the conversions of the ports that it passes.
pub fn convert_through(code: &mut Code<'_>, target: &str, to: Scalar, source: &str, from: Scalar, via: &[Scalar]) {
    let mut at = source.to_owned();
    let mut scalar = from;
    for &next in via {
        let name = code.temporary("passed");
        code.line(&format!("{};", ctype::declaration(&Type::scalar(next), &name)));
        code.convert(&name, next, &at, scalar);
        at = name;
        scalar = next;
    }
    if scalar == to && ctype::words(to) > 1 {
        code.line(&format!("hr_wide_copy({target}, {at}, {});", ctype::words(to)));
    } else {
        code.convert(target, to, &at, scalar);
    }
}

/// A name that may stand in a comment.
pub fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}
