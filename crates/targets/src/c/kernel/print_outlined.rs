//! Printing of outlined subcircuits. A rolled circuit as functions, a list of what they read and write, and their
//! calls.

use super::bits::Source;
use super::bitslice::Printer;
use super::machine::attribute;
use super::outlined_circuit::{Kind, Number, Read, Rolled};
use headrace_boolean::circuit::registers::for_registers;
use headrace_boolean::circuit::{Circuit, Signal};
use std::cell::Cell;
use std::fmt::Write as _;

/// Gates of all calls of a function together that are written out in the text; with more than that, it is called.
const MOST_INLINED: usize = 1000;

impl Printer<'_> {
    /// The functions of a rolled circuit, and its list.
    pub(super) fn called(&self, rolled: &Rolled) -> String {
        let v = self.v();
        let function = self.names.function;
        let bytes = self.machine.vector_bits as usize / 8;
        let numbers: Vec<usize> = rolled
            .numbers
            .iter()
            .map(|number| match *number {
                Number::Slot(slot) => slot * bytes,
                Number::Mask(Source::Constant { node, bit }) => self.slots[&node] + bit as usize,
                Number::Mask(_) => 0,
            })
            .collect();
        let most = numbers.iter().copied().max().unwrap_or(0);
        let number = if most < 1 << 16 { "uint16_t" } else { "uint32_t" };
        let mut text = format!("static const {number} {function}_list[] = {{");
        for (i, value) in numbers.iter().enumerate() {
            let _ = write!(text, "{}{value},", if i % 24 == 0 { "\n  " } else { "" });
        }
        text.push_str("\n};\n");
        for (at, kind) in rolled.kinds.iter().enumerate() {
            let circuit = &self.bits.tables[&kind.table];
            let written = rolled.calls[..rolled.period].iter().filter(|&&call| call == at).count();
            let apart = if written * circuit.gates().len() > MOST_INLINED { "__attribute__((noinline)) " } else { "" };
            let _ = writeln!(
                text,
                "{}{apart}static void {function}_call{at}({v} *pool, const uint64_t *m, const {number} *q)\n{{\n  \
                 char *const p = (char *)pool;",
                attribute(self.machine)
            );
            if !apart.is_empty() {
                // Without it compilers let vectors that they put on the stack cross lines of the cache.
                let v = self.v();
                let _ = writeln!(text, "  {v} aligned_;\n  __asm__(\"\" : : \"r\"(&aligned_));");
            }
            text += &self.statements(kind, &for_registers(circuit, self.machine.vector_registers as usize));
            text.push_str("}\n");
        }
        text
    }

    /// What a function of a rolled circuit does. Values are read where they are needed first, and written as soon as
    /// they are there, so that few are held.
    fn statements(&self, kind: &Kind, circuit: &Circuit) -> String {
        let v = self.v();
        let next = Cell::new(0);
        let take = || next.replace(next.get() + 1);
        let operand = |read: &Read| {
            let vector = read.vector.then(|| format!("*(const {v} *)(p + q[{}])", take()));
            let mask = read.mask.then(|| self.all(&format!("m[q[{}]]", take())));
            vector.into_iter().chain(mask).collect::<Vec<_>>()
        };
        let inputs: Vec<String> = kind.inputs.iter().map(|read| operand(read).join(" ^ ")).collect();
        let outputs: Vec<(Vec<String>, usize)> = kind.mixed.iter().map(|read| (operand(read), take())).collect();
        let name = |signal: Signal| match signal.index().checked_sub(circuit.n_inputs()) {
            None => format!("x{}_", signal.0),
            Some(gate) => format!("g{gate}_"),
        };
        let mut text = String::new();
        let mut is_read = vec![false; inputs.len()];
        let mut read = |signal: Signal, text: &mut String| {
            if let Some(is_read) = is_read.get_mut(signal.index())
                && !std::mem::replace(is_read, true)
            {
                let _ = writeln!(text, "  const {v} {} = {};", name(signal), inputs[signal.index()]);
            }
        };
        // A result may take the place of what is mixed into it, and another input may lie there too.
        let in_place = kind.mixed.iter().any(|mixed| mixed.vector);
        if in_place {
            (0..inputs.len()).for_each(|input| read(Signal::from(input), &mut text));
        }
        let mut written = String::new();
        for at in 0..circuit.n_inputs() + circuit.gates().len() {
            let signal = Signal::from(at);
            let is_output = circuit.outputs().contains(&signal);
            match circuit.gate(signal) {
                Some(gate) => {
                    gate.operands().for_each(|operand| read(operand, &mut text));
                    let _ = writeln!(text, "  const {v} {} = {};", name(signal), self.gate(&gate, &name));
                }
                None if is_output => read(signal, &mut text),
                None => {}
            }
            for (i, (mixed, place)) in outputs.iter().enumerate().filter(|(i, _)| circuit.outputs()[*i] == signal) {
                let sum = [vec![name(signal)], mixed.clone()].concat().join(" ^ ");
                if in_place {
                    let _ = writeln!(text, "  const {v} y{i}_ = {sum};");
                    let _ = writeln!(written, "  *({v} *)(p + q[{place}]) = y{i}_;");
                } else {
                    let _ = writeln!(text, "  *({v} *)(p + q[{place}]) = {sum};");
                }
            }
        }
        text + &written
    }

    /// The calls of a rolled circuit: those of a period in a loop, what remains after it.
    pub(super) fn calls(&self, rolled: &Rolled, group: &mut String) {
        let function = self.names.function;
        let masks = if self.slots.is_empty() { "0" } else { "m_" };
        let in_turns = rolled.calls.len() / rolled.period * rolled.period;
        let length = |calls: &[usize]| calls.iter().map(|&kind| rolled.kinds[kind].n_numbers()).sum::<usize>();
        let turn = length(&rolled.calls[..rolled.period]);
        let mut at = length(&rolled.calls[..in_turns]);
        let _ = writeln!(group, "    for (unsigned q_ = 0; q_ < {at}; q_ += {turn}) {{");
        let mut within = 0;
        for &kind in &rolled.calls[..rolled.period] {
            let _ = writeln!(group, "      {function}_call{kind}(p_, {masks}, {function}_list + q_ + {within});");
            within += length(&[kind]);
        }
        group.push_str("    }\n");
        for &kind in &rolled.calls[in_turns..] {
            let _ = writeln!(group, "    {function}_call{kind}(p_, {masks}, {function}_list + {at});");
            at += length(&[kind]);
        }
    }
}
