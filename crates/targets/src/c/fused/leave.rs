//! The way back to the run-time scheduler: the network is given the state that the automaton stands for.

use super::Writer;
use crate::c::ctype;
use headrace_ir::{InstanceId, Scalar};
use headrace_transform::control::Holds;
use headrace_transform::kernel::{Object, ObjectId};
use std::fmt::Write as _;

/// Numbers of a row in a table of C.
fn row<N: std::fmt::Display>(numbers: impl IntoIterator<Item = N>) -> String {
    let texts: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    texts.join(", ")
}

impl Writer<'_> {
    /// `PREFIX_leave(s)`: what the state knows, variables and FIFOs go to `s->scheduled`.
    pub(super) fn leave(&self) -> String {
        let prefix = self.prefix;
        let states = &self.automaton.states;
        // Elements that some state knows: memory does not hold them there.
        let mut slots: Vec<(ObjectId, usize)> = Vec::new();
        let (mut known, mut first) = (String::new(), vec![0]);
        let mut n_known = 0;
        for state in states {
            for &(object, index, value) in &state.known {
                let field = self.automaton.object(object);
                if !field.lives_on() || index >= field.length {
                    continue;
                }
                let slot = slots.iter().position(|slot| *slot == (object, index)).unwrap_or_else(|| {
                    slots.push((object, index));
                    slots.len() - 1
                });
                let (high, low) = (value >> 64, value & u128::from(u64::MAX));
                let _ = writeln!(known, "    {{{slot}, {{{high:#x}u, {low:#x}u}}}},");
                n_known += 1;
            }
            first.push(n_known);
        }
        let fsm: Vec<String> =
            states.iter().map(|state| format!("    {{{}}},\n", row(state.fsm.iter().map(|fsm| fsm.0)))).collect();
        // Tokens read and written of the FIFOs that ever hold some.
        let used: Vec<usize> = (0..self.network.connections.len())
            .filter(|&connection| states.iter().any(|state| state.written(self.network, connection) > 0))
            .collect();
        let tokens: Vec<String> = states
            .iter()
            .map(|state| {
                let counts = used.iter().map(|&connection| {
                    let written = state.written(self.network, connection);
                    format!("{{{}, {written}}}", written - state.fills[connection])
                });
                format!("    {{{}}},\n", row(counts))
            })
            .collect();
        let mut text = format!(
            "/* What each state knows: elements by their numbers below, with upper and lower half. */\nstatic const struct {{\n    uint32_t element;\n    uint64_t value[2];\n}} {prefix}_known[] = {{\n{known}    {{0, {{0, 0}}}}\n}};\nstatic const uint32_t {prefix}_known_first[] = {{{}}};\n\n/* States of the actors, and tokens read and written of FIFOs. */\nstatic const uint32_t {prefix}_actors[{}][{}] = {{\n{}}};\n",
            row(&first),
            states.len(),
            self.network.instances.len(),
            fsm.concat(),
        );
        if !used.is_empty() {
            let _ = write!(
                text,
                "static const uint32_t {prefix}_tokens[{}][{}][2] = {{\n{}}};\n",
                states.len(),
                used.len(),
                tokens.concat()
            );
        }
        let _ = write!(
            text,
            "\n/* From here on the network with its scheduler goes on. */\nHR_APART static void {prefix}_leave(struct {prefix} *s) {{\n    struct {0} *const context = &s->scheduled;\n    const uint32_t *const actors = {prefix}_actors[s->state];\n    size_t i;\n    {0}_init(context, context->control.host);\n    s->left = 1;\n    for (i = {prefix}_known_first[s->state]; i < {prefix}_known_first[s->state + 1]; i++) {{\n        const uint64_t *const value = {prefix}_known[i].value;\n        (void)value;\n        switch ({prefix}_known[i].element) {{\n",
            self.inner
        );
        for (number, &(object, index)) in slots.iter().enumerate() {
            let object = self.automaton.object(object);
            let value = if object.width > 64 {
                "hr_pair128(value[0], value[1])".to_owned()
            } else {
                format!("({})(value[1])", crate::c::kernel::element_type(object.width))
            };
            let _ = writeln!(
                text,
                "        case {number}:\n            s->{}[{index}] = {value};\n            break;",
                object.name
            );
        }
        text.push_str("        default:\n            break;\n        }\n    }\n");
        for instance in 0..self.network.instances.len() {
            let _ = writeln!(text, "    context->i{instance}.state = actors[{instance}];");
        }
        for (number, &connection) in used.iter().enumerate() {
            let field = &self.fields.fifos[connection];
            let _ = writeln!(
                text,
                "    context->{field}.read = {prefix}_tokens[s->state][{number}][0];\n    context->{field}.written = {prefix}_tokens[s->state][{number}][1];"
            );
        }
        for (number, object) in self.automaton.objects.iter().enumerate() {
            if !object.lives_on() {
                continue;
            }
            let (target, ty) = match self.automaton.holds[number] {
                Holds::Variable(instance, variable) => {
                    let Some(field) = self.fields.variables[instance.index()].get(&variable.index()) else { continue };
                    (format!("context->{field}"), self.ty_of(instance, variable.index()))
                }
                Holds::Fifo(connection) => {
                    let port = self.network.target_port(&self.network.connections[connection]);
                    text.push_str(&self.move_tokens(ObjectId(number as u32), &self.fields.fifos[connection], port.ty));
                    continue;
                }
                Holds::Local => continue,
            };
            text.push_str(&self.move_elements(ObjectId(number as u32), &target, ty));
        }
        text.push_str("    memset(context->news, 0xff, sizeof context->news);\n}\n\n");
        text.push_str(&self.inspect(&used));
        text
    }

    /// `PREFIX_inspect(s, …)`: what the network would show in this state.
    fn inspect(&self, used: &[usize]) -> String {
        let prefix = self.prefix;
        let mut text = format!(
            "static void {prefix}_inspect(const struct {prefix} *s, uint32_t *fills, uint32_t *states, uint32_t *blocked) {{\n    memset(fills, 0, {} * sizeof *fills);\n    memcpy(states, {prefix}_actors[s->state], {1} * sizeof *states);\n    memset(blocked, 0, {1} * sizeof *blocked);\n",
            self.network.connections.len(),
            self.network.instances.len()
        );
        for (number, connection) in used.iter().enumerate() {
            let tokens = format!("{prefix}_tokens[s->state][{number}]");
            let _ = writeln!(text, "    fills[{connection}] = {tokens}[1] - {tokens}[0];");
        }
        text.push_str("}\n\n");
        text
    }

    fn ty_of(&self, instance: InstanceId, variable: usize) -> (Scalar, bool) {
        let ty = &self.network.actor_of(instance).variables[variable].ty;
        (ty.element, ty.is_list())
    }

    /// Tokens of a FIFO, as many as it holds.
    fn move_tokens(&self, object: ObjectId, fifo: &str, scalar: Scalar) -> String {
        let name = &self.automaton.object(object).name;
        let from = format!("context->{fifo}.read");
        let head = format!("    for (i = 0; i < context->{fifo}.written - {from}; i++) {{\n");
        if ctype::is_wide(scalar) {
            let words = ctype::words(scalar);
            let value = wide_of(self.automaton.object(object), "i");
            return format!(
                "{head}        for (uint32_t word = 0; word < {words}u; word++) {{\n            context->{fifo}.tokens[({from} + i) * {words}u + word] = (uint32_t)hr_bits128({value}, 32u * word);\n        }}\n    }}\n"
            );
        }
        let value = match scalar {
            Scalar::Int(ty) if ty.signed => format!("hr_signed64(s->{name}[i], {})", ty.width),
            _ => format!("s->{name}[i]"),
        };
        let cast = ctype::element(scalar);
        format!("{head}        context->{fifo}.tokens[{from} + i] = ({cast}){value};\n    }}\n")
    }

    fn move_elements(&self, object: ObjectId, target: &str, (scalar, is_list): (Scalar, bool)) -> String {
        let object = self.automaton.object(object);
        let (name, length) = (&object.name, object.length);
        if ctype::is_wide(scalar) {
            let words = ctype::words(scalar);
            let value = wide_of(object, &format!("i / {words}"));
            return format!(
                "    for (i = 0; i < {}; i++) {{\n        {target}[i] = (uint32_t)hr_bits128({value}, 32u * (i % {words}));\n    }}\n",
                length as u64 * u64::from(words)
            );
        }
        let value = match scalar {
            Scalar::Int(ty) if ty.signed => format!("hr_signed64(s->{name}[i], {})", ty.width),
            _ => format!("s->{name}[i]"),
        };
        let cast = ctype::element(scalar);
        if is_list {
            format!("    for (i = 0; i < {length}; i++) {{\n        {target}[i] = ({cast}){value};\n    }}\n")
        } else {
            format!("    i = 0;\n    {target} = ({cast}){value};\n")
        }
    }
}

/// An element as a value of 128 bits.
fn wide_of(object: &Object, index: &str) -> String {
    let element = format!("s->{}[{index}]", object.name);
    if object.width > 64 { element } else { format!("hr_wide128({element})") }
}
