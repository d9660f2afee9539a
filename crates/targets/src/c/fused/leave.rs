//! The way back to the run-time scheduler: the network is given the state that the automaton stands for.

use super::Writer;
use super::ports::literal;
use super::states::is_field;
use crate::c::ctype;
use headrace_ir::{InstanceId, Scalar};
use headrace_transform::control::Holds;
use headrace_transform::kernel::ObjectId;
use std::fmt::Write as _;

impl Writer<'_> {
    /// `PREFIX_leave(s)`: what the state knows, variables and FIFOs go to `s->scheduled`.
    pub(super) fn leave(&self) -> String {
        let prefix = self.prefix;
        let mut text = format!(
            "/* From here on the network with its scheduler goes on. */\nstatic void {prefix}_leave(struct {prefix} *s) {{\n    struct {} *const context = &s->scheduled;\n    size_t i;\n    (void)i;\n    s->left = 1;\n    switch (s->state) {{\n",
            self.inner
        );
        for (at, state) in self.automaton.states.iter().enumerate() {
            let _ = writeln!(text, "    case {at}:");
            for &(object, index, value) in &state.known {
                let object = self.automaton.object(object);
                if is_field(object) && index < object.length {
                    let _ = writeln!(text, "        s->{}[{index}] = {};", object.name, literal(value));
                }
            }
            for (instance, fsm) in state.fsm.iter().enumerate() {
                let _ = writeln!(text, "        context->i{instance}.state = {};", fsm.0);
            }
            for (connection, &fill) in state.fills.iter().enumerate() {
                // FIFOs that one port writes have the same count of tokens written.
                let source = self.network.connections[connection].source;
                let siblings = self.network.connections.iter().zip(&state.fills);
                let written = siblings.filter(|(other, _)| other.source == source).map(|(_, fill)| *fill).max();
                if let Some(written) = written.filter(|&written| written > 0) {
                    let field = &self.fields.fifos[connection];
                    let read = written - fill;
                    let _ = writeln!(
                        text,
                        "        context->{field}.read = {read};\n        context->{field}.written = {written};"
                    );
                }
            }
            text.push_str("        break;\n");
        }
        text.push_str("    default:\n        break;\n    }\n");
        for (number, object) in self.automaton.objects.iter().enumerate() {
            if !is_field(object) {
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
            return format!(
                "{head}        for (uint32_t word = 0; word < {words}u; word++) {{\n            context->{fifo}.tokens[({from} + i) * {words}u + word] = (uint32_t)(s->{name}[i] >> (32u * word));\n        }}\n    }}\n"
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
            return format!(
                "    for (i = 0; i < {}; i++) {{\n        {target}[i] = (uint32_t)(s->{name}[i / {words}] >> (32u * (i % {words})));\n    }}\n",
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
