//! Deoptimization: the run-time scheduler goes on, from the state that the automaton stands for where it is left.

use super::{Behind, Writer};
use crate::c::ctype;
use headrace_ir::{InstanceId, Scalar};
use headrace_transform::control::{ControlState, Holds};
use headrace_transform::kernel::{Object, ObjectId};
use std::fmt::Write as _;

/// Numbers of a row in a table of C.
fn row<N: std::fmt::Display>(numbers: impl IntoIterator<Item = N>) -> String {
    let texts: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    texts.join(", ")
}

/// The place of something in a list, where it is put if it is not there.
fn position<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

/// The smallest type of C that holds all of the numbers.
fn smallest(numbers: &[u32]) -> &'static str {
    crate::c::kernel::element_type(32 - numbers.iter().max().unwrap_or(&0).leading_zeros())
}

/// A row of numbers for each state that may be left, of which many are the same.
struct Rows {
    rows: Vec<Vec<u32>>,
    /// The row of each of them.
    of: Vec<u32>,
}

impl Rows {
    fn of(all: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut rows = Vec::new();
        let of = all.map(|row| position(&mut rows, row) as u32).collect();
        Self { rows, of }
    }

    /// The type of the numbers.
    fn ty(&self) -> &'static str {
        smallest(&self.rows.concat())
    }

    /// The tables `NAME`, the rows, and `NAME_of`.
    fn printed(&self, name: &str) -> String {
        let rows: String = self.rows.iter().map(|numbers| format!("    {{{}}},\n", row(numbers))).collect();
        format!(
            "static const {} {name}[{}][{}] = {{\n{rows}}};\nstatic const {} {name}_of[] = {{{}}};\n",
            self.ty(),
            self.rows.len(),
            self.rows.first().map_or(0, Vec::len),
            smallest(&self.of),
            row(&self.of)
        )
    }
}

/// Stores what is known to an element of any width.
const STORE: &str = "\
HR_COLD static void hr_store(unsigned char *at, uint32_t n_bytes, uint64_t low, uint64_t high) {
    const uint8_t byte = (uint8_t)low;
    const uint16_t half = (uint16_t)low;
    const uint32_t word = (uint32_t)low;
    const hr_u128 wide = hr_pair128(high, low);
    const void *const from[] = {&byte, &half, &word, &low, &wide};
    uint32_t size = 0;
    while (1u << size < n_bytes) {
        size++;
    }
    memcpy(at, from[size], n_bytes);
}

";

impl Writer<'_> {
    /// `PREFIX_leave(s)`: what the state knows, variables and FIFOs go to `s->scheduled`. A complete automaton has
    /// none.
    pub(super) fn leave(&self) -> String {
        let Some(Behind { inner, fields }) = self.behind else { return String::new() };
        let prefix = self.prefix;
        // Only of states in which it may be left.
        let numbered = self.automaton.states.iter().enumerate().filter(|(_, state)| state.step.leaves());
        let (numbers, states): (Vec<usize>, Vec<&ControlState>) = numbered.unzip();
        // Elements that some state knows: memory does not hold them there. Few facts are known, in many states each.
        let mut slots: Vec<(ObjectId, usize)> = Vec::new();
        let mut facts: Vec<(usize, u128)> = Vec::new();
        let mut known: Vec<Vec<u32>> = Vec::new();
        for state in &states {
            let mut of_state = Vec::new();
            for &(object, index, value) in &state.known {
                let field = self.automaton.object(object);
                if field.lives_on() && index < field.length {
                    let slot = position(&mut slots, (object, index));
                    of_state.push(position(&mut facts, (slot, value)) as u32);
                }
            }
            known.push(of_state);
        }
        let fsm = states.iter().map(|state| state.fsm.iter().map(|fsm| fsm.0).collect());
        let fsm = Rows::of(fsm);
        // Tokens read and written of the FIFOs that ever hold some.
        let used: Vec<usize> = (0..self.network.connections.len())
            .filter(|&connection| states.iter().any(|state| state.written(self.network, connection) > 0))
            .collect();
        let tokens = states.iter().map(|state| {
            let counts = used.iter().map(|&connection| {
                let written = state.written(self.network, connection);
                [(written - state.fills[connection]) as u32, written as u32]
            });
            counts.flatten().collect()
        });
        let tokens = Rows::of(tokens);
        let wide = slots.iter().any(|&(object, _)| self.automaton.object(object).width > 64);
        let listed: Vec<String> = facts
            .iter()
            .map(|&(slot, value)| {
                let (object, index) = slots[slot];
                let object = self.automaton.object(object);
                let (name, bytes) = (&object.name, object.width.div_ceil(8).next_power_of_two());
                let (high, low) = (value >> 64, value & u128::from(u64::MAX));
                let value = if wide { format!("{{{low:#x}u, {high:#x}u}}") } else { format!("{low:#x}u") };
                format!("    {{{value}, offsetof(struct {prefix}, {name}) + {index} * {bytes}, {bytes}}},\n")
            })
            .collect();
        let mut first = vec![0];
        first.extend(known.iter().scan(0, |n, of_state| {
            *n += of_state.len() as u32;
            Some(*n)
        }));
        // C has no empty arrays.
        let mut known = known.concat();
        known.push(0);
        let mut text = format!(
            "/* States that may be left, by their numbers. */\nstatic const uint16_t {prefix}_left[] = {{{}}};\n\n/* What they know: values of elements, lower half first, and where these lie; and which of them each knows. */\nstatic const struct {{\n    uint64_t value{};\n    uint32_t place;\n    uint32_t n_bytes;\n}} {prefix}_facts[] = {{\n{}    {{{}, 0, 0}}\n}};\nstatic const {} {prefix}_known[] = {{{}}};\nstatic const {} {prefix}_known_first[] = {{{}}};\n\n/* States of the actors, and tokens read and written of FIFOs: rows, and which of them are those of each. */\n",
            row(&numbers),
            if wide { "[2]" } else { "" },
            listed.concat(),
            if wide { "{0, 0}" } else { "0" },
            smallest(&known),
            row(&known),
            smallest(&first),
            row(&first)
        );
        text.push_str(&fsm.printed(&format!("{prefix}_actors")));
        if !used.is_empty() {
            text.push_str(&tokens.printed(&format!("{prefix}_tokens")));
        }
        let declared = match used.is_empty() {
            true => String::new(),
            false => {
                format!("    const {} *const tokens = {prefix}_tokens[{prefix}_tokens_of[state]];\n", tokens.ty())
            }
        };
        let fact = format!("{prefix}_facts[{prefix}_known[i]]");
        let halves = if wide { format!("{fact}.value[0], {fact}.value[1]") } else { format!("{fact}.value, 0") };
        let fact = format!("        hr_store((unsigned char *)from + {fact}.place, {fact}.n_bytes, {halves});\n");
        text.push_str(STORE);
        let _ = write!(
            text,
            "\n/* From here on the network with its scheduler goes on. */\nHR_APART HR_COLD static void {prefix}_leave(struct {prefix} *s) {{\n    struct {0} *const context = &s->scheduled;\n    /* What the automaton keeps lies where the network does. */\n    struct {prefix} copy = *s, *const from = &copy;\n    const {1} *actors;\n    size_t i, state = 0;\n    while (state + 1 < {3} && {prefix}_left[state] != s->state) {{\n        state++;\n    }}\n    actors = {prefix}_actors[{prefix}_actors_of[state]];\n{2}    {0}_init(context, s->control.host);\n    s->left = 1;\n    for (i = {prefix}_known_first[state]; i < {prefix}_known_first[state + 1]; i++) {{\n{fact}    }}\n",
            inner,
            fsm.ty(),
            declared,
            states.len()
        );
        for instance in 0..self.network.instances.len() {
            let _ = writeln!(text, "    context->i{instance}.state = actors[{instance}];");
        }
        for (number, &connection) in used.iter().enumerate() {
            let field = &fields.fifos[connection];
            let _ = writeln!(
                text,
                "    context->{field}.read = tokens[{}];\n    context->{field}.written = tokens[{}];",
                2 * number,
                2 * number + 1
            );
        }
        for (number, object) in self.automaton.objects.iter().enumerate() {
            if !object.lives_on() {
                continue;
            }
            let (target, ty) = match self.automaton.holds[number] {
                Holds::Variable(instance, variable) => {
                    let Some(field) = fields.variables[instance.index()].get(&variable.index()) else { continue };
                    (format!("context->{field}"), self.ty_of(instance, variable.index()))
                }
                Holds::Fifo(connection) => {
                    let port = self.network.target_port(&self.network.connections[connection]);
                    text.push_str(&self.move_tokens(ObjectId(number as u32), &fields.fifos[connection], port.ty));
                    continue;
                }
                Holds::Local => continue,
            };
            text.push_str(&self.move_elements(ObjectId(number as u32), &target, ty));
        }
        text.push_str("    memset(context->news, 0xff, sizeof context->news);\n    hr_wipe(from, sizeof copy);\n}\n\n");
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
            Scalar::Int(ty) if ty.signed => format!("hr_signed64(from->{name}[i], {})", ty.width),
            _ => format!("from->{name}[i]"),
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
            Scalar::Int(ty) if ty.signed => format!("hr_signed64(from->{name}[i], {})", ty.width),
            _ => format!("from->{name}[i]"),
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
    let element = format!("from->{}[{index}]", object.name);
    if object.width > 64 { element } else { format!("hr_wide128({element})") }
}
