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

/// What is different in each row from the one before it, from a row of zeros on: how many numbers, and of each its place and
/// what it is. States that follow one another have much in common.
fn changes(rows: &[Vec<u32>]) -> Vec<u32> {
    let mut all = Vec::new();
    let mut before = vec![0; rows.first().map_or(0, Vec::len)];
    for row in rows {
        let changed: Vec<(usize, u32)> =
            (0..row.len()).filter(|&at| row[at] != before[at]).map(|at| (at, row[at])).collect();
        all.push(changed.len() as u32);
        all.extend(changed.into_iter().flat_map(|(at, number)| [at as u32, number]));
        before.clone_from(row);
    }
    all
}

/// States of which all others are looked at for the one that has most in common with one: it takes the square of them.
const ORDERED: usize = 1_500;

/// Rows in an order in which each has much in common with the one before: the nearest of those that are left (nearest neighbour).
fn in_order(rows: &[Vec<u32>]) -> Vec<usize> {
    let mut open: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > ORDERED {
        return open;
    }
    let mut before = vec![0; rows.first().map_or(0, Vec::len)];
    let mut order = Vec::new();
    let different = |a: &[u32], b: &[u32]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    while let Some(at) = (0..open.len()).min_by_key(|&at| different(&before, &rows[open[at]])) {
        let next = open.remove(at);
        before.clone_from(&rows[next]);
        order.push(next);
    }
    order
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
        // Elements that some state knows, with the values that they have there: memory does not hold them.
        let mut slots: Vec<((ObjectId, usize), Vec<u128>)> = Vec::new();
        for &(object, index, value) in states.iter().flat_map(|state| &state.known) {
            let field = self.automaton.object(object);
            if field.lives_on() && index < field.length {
                let at = slots.iter().position(|(slot, _)| *slot == (object, index)).unwrap_or_else(|| {
                    slots.push(((object, index), Vec::new()));
                    slots.len() - 1
                });
                position(&mut slots[at].1, value);
            }
        }
        // Tokens read and written of the FIFOs that ever hold some.
        let used: Vec<usize> = (0..self.network.connections.len())
            .filter(|&connection| states.iter().any(|state| state.written(self.network, connection) > 0))
            .collect();
        let row_of = |state: &&ControlState| -> Vec<u32> {
            let fsm = state.fsm.iter().map(|fsm| fsm.0);
            let tokens = used.iter().flat_map(|&connection| {
                let written = state.written(self.network, connection);
                [(written - state.fills[connection]) as u32, written as u32]
            });
            let known = slots.iter().map(|((object, index), values)| {
                let known = state.known.iter().find(|(other, at, _)| (other, at) == (object, index));
                known.and_then(|(.., value)| values.iter().position(|one| one == value)).map_or(0, |at| at as u32 + 1)
            });
            fsm.chain(tokens).chain(known).collect()
        };
        let rows: Vec<Vec<u32>> = states.iter().map(row_of).collect();
        let order = in_order(&rows);
        let numbers: Vec<usize> = order.iter().map(|&at| numbers[at]).collect();
        let rows: Vec<Vec<u32>> = order.iter().map(|&at| rows[at].clone()).collect();
        let (n_instances, n_numbers) = (self.network.instances.len(), rows.first().map_or(0, Vec::len));
        let first_known = n_instances + 2 * used.len();
        let changes = changes(&rows);
        let wide = slots.iter().any(|((object, _), _)| self.automaton.object(*object).width > 64);
        // C has no empty arrays.
        let (mut values, mut places) = (String::new(), String::new());
        let mut n_values = 0;
        for ((object, index), of_slot) in &slots {
            let object = self.automaton.object(*object);
            let (name, bytes) = (&object.name, object.width.div_ceil(8).next_power_of_two());
            let _ =
                writeln!(places, "    {{offsetof(struct {prefix}, {name}) + {index} * {bytes}, {bytes}, {n_values}}},");
            n_values += of_slot.len();
            for value in of_slot {
                let (high, low) = (value >> 64, value & u128::from(u64::MAX));
                let value = if wide { format!("{{{low:#x}u, {high:#x}u}}") } else { format!("{low:#x}u") };
                let _ = writeln!(values, "    {value},");
            }
        }
        let (halves, none) = if wide { ("[2]", "{0, 0}") } else { ("", "0") };
        let ty = smallest(&changes);
        let mut text = format!(
            "/* States that may be left, by their numbers, and what is different in each from the one before: how many numbers, and of\n   each which and what it is. These are the states of actors, tokens read and written of FIFOs, and of elements that may be\n   known the value, from 1 on, or 0. */\nstatic const uint16_t {prefix}_left[] = {{{}}};\nstatic const {ty} {prefix}_changes[] = {{{}}};\n\n/* Where these elements lie, how many bytes they have, and where their values begin; lower halves first. */\nstatic const struct {{\n    uint32_t place;\n    uint16_t n_bytes;\n    {} first;\n}} {prefix}_slots[] = {{\n{places}    {{0, 0, 0}}\n}};\nstatic const uint64_t {prefix}_values[]{halves} = {{\n{values}    {none}\n}};\n\n",
            row(&numbers),
            row(&changes),
            smallest(&[n_values as u32])
        );
        let value = format!("{prefix}_values[{prefix}_slots[i].first + row[{first_known} + i] - 1]");
        let both = if wide { format!("{value}[0], {value}[1]") } else { format!("{value}, 0") };
        text.push_str(STORE);
        let _ = write!(
            text,
            "\n/* From here on the network with its scheduler goes on. */\nHR_APART HR_COLD static void {prefix}_leave(struct {prefix} *s) {{\n    struct {inner} *const context = &s->scheduled;\n    /* What the automaton keeps lies where the network does. */\n    struct {prefix} copy = *s, *const from = &copy;\n    uint32_t row[{n_numbers}] = {{0}};\n    const {ty} *change = {prefix}_changes;\n    size_t i, state = 0;\n    do {{\n        for (i = *change++; i != 0; i--, change += 2) {{\n            row[change[0]] = change[1];\n        }}\n    }} while ({prefix}_left[state] != s->state && ++state < {});\n    {inner}_init(context, s->control.host);\n    s->left = 1;\n",
            states.len()
        );
        if !slots.is_empty() {
            let _ = write!(
                text,
                "    for (i = 0; i < {}; i++) {{\n        if (row[{first_known} + i] != 0) {{\n            hr_store((unsigned char *)from + {prefix}_slots[i].place, {prefix}_slots[i].n_bytes, {both});\n        }}\n    }}\n",
                slots.len()
            );
        }
        for instance in 0..n_instances {
            let _ = writeln!(text, "    context->i{instance}.state = row[{instance}];");
        }
        for (number, &connection) in used.iter().enumerate() {
            let (field, at) = (&fields.fifos[connection], n_instances + 2 * number);
            let _ = writeln!(
                text,
                "    context->{field}.read = row[{at}];\n    context->{field}.written = row[{}];",
                at + 1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_those_they_have_most_in_common_with() {
        let rows = vec![vec![1, 1, 1, 0], vec![0, 0, 0, 1], vec![1, 1, 0, 0], vec![0, 0, 1, 1]];
        let order = in_order(&rows);
        assert_eq!(order, [1, 3, 0, 2]);
        let ordered: Vec<Vec<u32>> = order.iter().map(|&at| rows[at].clone()).collect();
        assert!(changes(&ordered).len() < changes(&rows).len());
        // From the numbers that differ the rows come back.
        let mut read = changes(&ordered).into_iter();
        let mut row = vec![0; 4];
        for wanted in &ordered {
            for _ in 0..read.next().unwrap_or(0) {
                let (at, number) = (read.next().unwrap_or(0), read.next().unwrap_or(0));
                row[at as usize] = number;
            }
            assert_eq!(row, *wanted);
        }
        assert_eq!(in_order(&[]), [0usize; 0]);
    }
}
