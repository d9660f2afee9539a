//! Code generation for firings. One firing: room for what it makes, where tokens are read and written, and the call.

use super::super::code::places::Pointer;
use super::super::code::{CONTROL, Code, LISTS, SCALARS};
use super::super::ctype;
use super::super::functions::Printed;
use super::super::text::{Declared, Name, Text, joined, listed, text};
use super::{ActionFunctions, Input, Output, Ring, Scheduler, convert_through, rooms};
use headrace_ir::{Action, Scalar, Type};

impl Scheduler<'_> {
    pub(super) fn room(&mut self, action: &Action, number: usize, state: Option<usize>) {
        let lacking: Vec<Text> = action
            .produces
            .iter()
            .filter_map(|output| {
                let connected = self.outputs[output.port].as_ref()?;
                Some(text![connected.room, " < ", output.tokens(), "u"])
            })
            .collect();
        if lacking.is_empty() {
            return;
        }
        self.code.open(text!["if (", joined(&lacking, " || "), ") {"]);
        self.code.line(text!["self->blocked = ", number + 1, ";"]);
        self.leave_at(state);
        self.code.close("}");
    }

    /// Pointers to the tokens of each pattern, and the arrays into which dealt tokens are sorted.
    pub(super) fn windows(&mut self, action: &Action) -> Vec<Vec<Text>> {
        let mut all = Vec::new();
        for pattern in &action.consumes {
            let Some(Input { fifo, read, ring, .. }) = &self.inputs[pattern.port] else {
                all.push(Vec::new());
                continue;
            };
            let (fifo, read, ring) = (fifo.clone(), read.clone(), ring.clone());
            let n = pattern.tokens();
            let words = u64::from(ctype::words(ring.scalar));
            let position = text!["(", read, " & ", ring.size - 1, "u)"];
            if n > 1 && !ring.read_aligned {
                let code = &mut self.code;
                code.open(text!["if (", position, " + ", n, "u > ", ring.size, "u) {"]);
                let (tail, bytes) = (text![ring.size * words], beyond(&fifo, &position, n, &ring, words));
                code.line(text!["memcpy(&", fifo, "->tokens[", tail, "], ", fifo, "->tokens, ", bytes, ");"]);
                code.close("}");
            }
            let element = |offset: u64| match (words, offset) {
                (1, 0) => text![fifo, "->tokens[", read, " & ", ring.size - 1, "u]"],
                (1, offset) => text![fifo, "->tokens[", position, " + ", offset, "]"],
                (words, 0) => text![fifo, "->tokens[", words, " * ", position, "]"],
                (words, offset) => text![fifo, "->tokens[", words, " * (", position, " + ", offset, ")]"],
            };
            let names = pattern.locals.len() as u64;
            let texts = match pattern.repeat {
                None => {
                    (0..names).map(|name| if words > 1 { text!["&", element(name)] } else { element(name) }).collect()
                }
                Some(_) if names == 1 => vec![text!["&", element(0)]],
                Some(repeat) => {
                    let mut arrays = Vec::new();
                    for (name, local) in pattern.locals.iter().enumerate() {
                        let info = &action.locals[local.index()];
                        let array = self.scratch(&info.name, &info.ty, false);
                        let tokens = text![fifo, "->tokens"];
                        let from = |i: &Name| text![position, " + ", i, " * ", names, " + ", name];
                        self.code.deal(&array, repeat, words, &tokens, from);
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
    pub(super) fn scratch(&mut self, like: &str, ty: &Type, zero: bool) -> Text {
        let bytes = ctype::array_length(ty).unwrap_or(1) * ctype::element_bytes(ty.element);
        if bytes <= 1 << 15 {
            let name = self.code.temporary(like);
            let zero = if zero { " = {0}" } else { "" };
            self.code.line(text![ctype::declaration(ty, Declared(&name)), zero, ";"]);
            return text![name];
        }
        let field = self.plan.list_names.borrow_mut().fresh(&format!("burst_{like}"));
        self.plan.list_fields.borrow_mut().push(ctype::declaration(ty, &field).to_string());
        self.uses_lists = true;
        text![LISTS, "->", field]
    }

    pub(super) fn call(&mut self, printed: &Printed, windows: &[Vec<Text>], outputs: &[Pointer]) -> Text {
        let mut arguments = Vec::new();
        if printed.uses_scalars {
            self.uses_v = true;
            arguments.push(text![SCALARS]);
        }
        if printed.uses_lists {
            self.uses_lists = true;
            arguments.push(text![LISTS]);
        }
        if printed.uses_control {
            self.stops = true;
            arguments.push(text![CONTROL]);
        }
        for given in &printed.given {
            let (pattern, name) = given.pattern;
            let text = windows.get(pattern).and_then(|texts| texts.get(name)).cloned().unwrap_or_default();
            arguments.push(text);
        }
        arguments.extend(outputs.iter().map(|output| output.text.clone()));
        text![printed.name, "(", listed(&arguments), ")"]
    }

    pub(super) fn fire(
        &mut self,
        action: &Action,
        printed: &ActionFunctions,
        number: usize,
        windows: &[Vec<Text>],
        state: Option<usize>,
        initializer: bool,
    ) {
        let moves = action.consumes.iter().any(|pattern| self.inputs[pattern.port].is_some())
            || action.produces.iter().any(|output| self.outputs[output.port].is_some());
        // Only firings that move no token can go on without end.
        if !initializer && (self.plan.options.count_firings || !moves) {
            self.budget = true;
            self.code.open("if (budget == 0) {");
            self.code.line(text![CONTROL, "->limited = 1;"]);
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
                let made = Pointer::named(self.scratch(&like, &made_type, printed.body.stops));
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
                text!["&", fifo, "->tokens[", written, " & ", ring.size - 1, "u]"]
            } else {
                text!["&", fifo, "->tokens[", words, " * (", written, " & ", ring.size - 1, "u)]"]
            };
            let at = Pointer::address(at);
            pointers.push(at.clone());
            after.push((output.port, n, at, true));
        }
        if printed.body.is_called() {
            let call = self.call(&printed.body, windows, &pointers);
            self.code.line(text![call, ";"]);
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
                self.code.line(text![read, " += ", n, "u;"]);
                self.code.line(text![there, " -= ", n, "u;"]);
            }
        }
        for output in &action.produces {
            if let Some(Output { written, room, .. }) = &self.outputs[output.port] {
                let n = output.tokens();
                self.code.line(text![written, " += ", n, "u;"]);
                self.code.line(text![room, " -= ", n, "u;"]);
            }
        }
        self.led_back(action);
        self.code.line("fired = true;");
        if !initializer && self.plan.options.count_firings {
            self.code.line(text!["self->firings[", number, "]++;"]);
        }
    }

    /// What a firing put into FIFOs that lead back to the instance is there for the next, and what it took makes room.
    fn led_back(&mut self, action: &Action) {
        for (port, output) in self.outputs.iter().enumerate() {
            let Some(Output { fifos, written, room, readers }) = output else { continue };
            let made = action.produced(port) > 0;
            let input = |at: usize| self.inputs.get(at).and_then(Option::as_ref);
            let mut taken = false;
            for reader in readers {
                let Some((back, Input { read, there, .. })) = reader.back.and_then(|at| Some((at, input(at)?))) else {
                    continue;
                };
                if made {
                    self.code.line(text![there, " = ", written, " - ", read, ";"]);
                }
                taken |= action.consumed(back) > 0;
            }
            if taken {
                let own_read = |at: usize| input(at).map(|input| input.read.clone());
                let rooms = rooms(fifos, written, readers, &own_read);
                self.code.line(text![room, " = ", rooms[0], ";"]);
                for other in &rooms[1..] {
                    self.code.line(text![room, " = ", room, " < ", other, " ? ", room, " : ", other, ";"]);
                }
            }
        }
    }

    /// Gives the tokens that were made to all readers. `direct`: the first one has them already, except for what
    /// reached into its tail.
    fn deliver(&mut self, port: usize, n: u64, source: &Pointer, direct: bool) {
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
            let position = text!["(", written, " & ", ring.size - 1, "u)"];
            self.code.open(text!["if (", position, " + ", n, "u > ", ring.size, "u) {"]);
            let (tail, bytes) = (text![ring.size * words], beyond(fifo, &position, n, ring, words));
            self.code.line(text!["memcpy(", fifo, "->tokens, &", fifo, "->tokens[", tail, "], ", bytes, ");"]);
            self.code.close("}");
        }
    }
}

/// Writes `n` tokens from an array to a ring from index `written` on, with conversion.
#[allow(clippy::too_many_arguments)]
fn put(
    code: &mut Code<'_>,
    fifo: &Name,
    ring: &Ring,
    written: &Name,
    source: &Pointer,
    from: Scalar,
    via: &[Scalar],
    n: u64,
) {
    let i = code.temporary("i");
    let words = ctype::words(ring.scalar);
    let from_words = ctype::words(from);
    let base = source.base();
    if ring.scattered(n) && ring.scalar == from && via.is_empty() {
        let (at, first) = (code.temporary("at"), code.temporary("first"));
        let size = ring.size;
        code.open("{");
        code.line(text!["const uint32_t ", Declared(&at), " = ", written, " & ", size - 1, "u;"]);
        code.line(text![
            "const uint32_t ",
            Declared(&first),
            " = ",
            size,
            "u - ",
            at,
            " < ",
            n,
            "u ? ",
            size,
            "u - ",
            at,
            " : ",
            n,
            "u;"
        ]);
        let bytes = text![words, " * sizeof ", fifo, "->tokens[0]"];
        code.line(text!["memcpy(&", fifo, "->tokens[", words, " * ", at, "], ", base, ", ", first, " * ", bytes, ");"]);
        code.line(text![
            "memcpy(",
            fifo,
            "->tokens, ",
            base,
            " + ",
            words,
            " * ",
            first,
            ", (",
            n,
            "u - ",
            first,
            ") * ",
            bytes,
            ");"
        ]);
        code.close("}");
        return;
    }
    code.open(text!["for (uint32_t ", i, " = 0; ", i, " < ", n, "u; ", i, "++) {"]);
    let token = match from_words {
        1 => text![base, "[", i, "]"],
        have => text!["&", base, "[", have, " * ", i, "]"],
    };
    let target = match words {
        1 => text![fifo, "->tokens[(", written, " + ", i, ") & ", ring.size - 1, "u]"],
        words => text!["&", fifo, "->tokens[", words, " * ((", written, " + ", i, ") & ", ring.size - 1, "u)]"],
    };
    convert_through(code, &target, ring.scalar, &token, from, via);
    code.close("}");
}

/// Bytes of so many tokens from a position on that reach into the tail of a ring.
fn beyond(fifo: &Name, position: &Text, n: u64, ring: &Ring, words: u64) -> Text {
    text!["(", position, " + ", n, "u - ", ring.size, "u) * ", words, " * sizeof ", fifo, "->tokens[0]"]
}
