//! Bitslicing: one vector register for each bit position, one lane bit for each iteration. A loop with one bit of a
//! vector for each iteration: every bit of every value is a vector.
//!
//! As many iterations as a vector has bits run at once. Rows of 64-bit words are taken apart as for lanes, then blocks
//! of 64 by 64 bits are transposed in every lane; iteration `k * n_lanes + j` is bit `k` of lane `j`. What is mixed
//! into an output word as it came in is mixed in after the way back, and need not be transposed at all.

use super::bits::{Bits, Outside, Part, Source};
use super::lanes::{self, constants, mixed_into};
use super::loop_frame::{CFunction, LoopNames, OPERATION, Support, frame};
use super::machine::{Machine, attribute};
use super::outlined_circuit::{Rolled, place_of_word};
use super::translation_validation::{bits_agree, of_circuits};
use super::vectors::{Mixed, behind, gate_text, load_words, store_words, transposition, vector_support};
use super::words::{Late, Layout, NotApplicable, WordLoop};
use super::work::{self, Trace, Work};
use headrace_boolean::circuit::registers::for_registers;
use headrace_boolean::circuit::{Circuit, Gate, Signal};
use headrace_transform::kernel::{Loop, NodeId, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const LANE: u32 = 64;

/// Pairs of vectors that a transposition of 64 by 64 bits swaps: in each of six steps half of them.
const SWAPS: f64 = 192.0;

/// Operations of words that a call takes.
const CALL: f64 = 6.0;

/// What a circuit has to do with so many registers.
fn of_circuit(circuit: &Circuit, registers: usize) -> Work {
    let mut trace = Trace::default();
    for (at, gate) in circuit.gates().iter().enumerate() {
        let kinds = if matches!(gate, Gate::Constant(_)) { Vec::new() } else { vec![(work::LOGIC, 1.0)] };
        let operands: Vec<u64> = gate.operands().map(|operand| operand.index() as u64).collect();
        trace.value((circuit.n_inputs() + at) as u64, kinds, operands);
    }
    // Circuits are wide: what waits longest is not what they wait for.
    Work { chain: BTreeMap::new(), ..trace.work(registers, work::usual_weight) }
}

/// Prints a loop with one bit for each iteration.
///
/// # Errors
///
/// Why it cannot be.
pub fn bitslice(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    let words = WordLoop::new(body, LANE)?.held()?;
    let late: Vec<Late> = words.written.iter().map(|one| Late::new(&words, one.2)).collect();
    let values: Vec<NodeId> = late.iter().map(|one| one.value).collect();
    let bits = Bits::new(&words, &values, machine.ternary, Outside::ROLLED)?;
    let (bits, rolled) = match Rolled::of(&words, bits, machine.ternary) {
        Some((bits, rolled)) => (bits, Some(rolled)),
        None => {
            let bits = Bits::new(&words, &values, machine.ternary, Outside::CALLED)?;
            (bits.small(machine.ternary), None)
        }
    };
    if !bits_agree(&words, &values, &bits) {
        return Err(NotApplicable("a circuit computes something else than the words".into()));
    }
    let rolled = rolled.as_ref();
    Printer { words: &words, machine, names, bits: &bits, rolled, late: &late, slots: FxHashMap::default() }.function()
}

pub(super) struct Printer<'a> {
    words: &'a WordLoop<'a>,
    pub machine: &'a Machine,
    pub names: &'a LoopNames<'a>,
    pub bits: &'a Bits,
    rolled: Option<&'a Rolled>,
    late: &'a [Late],
    /// Where the masks of a node that no iteration changes begin.
    pub slots: FxHashMap<NodeId, usize>,
}

impl Printer<'_> {
    pub fn v(&self) -> String {
        format!("hr_v{}x{LANE}", self.machine.vector_bits)
    }

    pub fn all(&self, text: &str) -> String {
        format!("HR_ALL_{}x{LANE}({text})", self.machine.vector_bits)
    }

    fn function(mut self) -> Result<CFunction, NotApplicable> {
        let bits = self.machine.vector_bits;
        let mut support = Vec::new();
        if self.machine.ternary {
            support.push(Support::of_all("#include <immintrin.h>\n"));
        }
        support.extend([vector_support(bits, LANE), transposition(self.machine)].map(Support::of_all));
        let mut before = String::new();
        let mut once = String::new();
        self.masks(&mut once);
        let mut group = String::new();
        match self.rolled {
            None => {
                for (number, circuit) in self.bits.tables.values().enumerate() {
                    before += &self.table(number, &for_registers(circuit, self.machine.vector_registers as usize));
                }
                self.read(&mut once, &mut group);
                self.circuit(&mut group);
            }
            Some(rolled) => {
                before += &self.called(rolled);
                let _ = writeln!(once, "  {} p_[{}];", self.v(), rolled.n_slots);
                self.read(&mut once, &mut group);
                self.calls(rolled, &mut group);
            }
        }
        self.write(&mut group);
        let text = before + &frame(self.words, self.machine, self.names, bits, &once, &group);
        let cycles = self.cycles() / f64::from(bits);
        let (name, evidence) = (self.names.function.to_owned(), of_circuits(self.bits));
        let size = self.size();
        let work = self.work().of_group(f64::from(bits));
        Ok(CFunction { name, support, text, cycles, size, evidence, work })
    }

    /// Cycles of a group, estimated: gates, and the way in and out.
    /// How long the function is: gates of the circuit, or what it calls, its list and the calls of a period.
    fn size(&self) -> usize {
        let tables: usize = self.bits.tables.values().map(|circuit| circuit.gates().len()).sum();
        match self.rolled {
            None => OPERATION * (tables + self.bits.circuit.gates().len()),
            Some(rolled) => {
                let called: usize = rolled
                    .kinds
                    .iter()
                    .map(|kind| self.bits.tables[&kind.table].gates().len() + kind.n_numbers())
                    .sum();
                OPERATION * (called + rolled.period) + rolled.numbers.len() / 2
            }
        }
    }

    fn cycles(&self) -> f64 {
        let called = self.bits.calls.iter().map(|call| {
            let circuit = &self.bits.tables[&call.table];
            circuit.gates().len() + 2 * (circuit.n_inputs() + circuit.outputs().len())
        });
        let gates = self.bits.circuit.gates().len() + called.sum::<usize>();
        let read = self.words.read();
        let layouts = self.words.inputs.iter().enumerate();
        let used = layouts.filter(|(port, _)| read.iter().any(|one| one.0 as usize == *port)).map(|(_, layout)| layout);
        let moved: u64 = used.chain(&self.words.outputs).map(|layout| layout.words(LANE)).sum();
        self.machine.costs.bitsliced(gates, moved)
    }

    /// What a group has to do: gates, values that find no register, calls, and the way in and out.
    fn work(&self) -> Work {
        let registers = lanes::registers(self.machine);
        let mut work = of_circuit(&self.bits.circuit, registers);
        let of_tables: BTreeMap<_, Work> =
            self.bits.tables.iter().map(|(part, circuit)| (part.clone(), of_circuit(circuit, registers))).collect();
        let mut call = |part: &Part, numbers: usize, mixed: usize| {
            let circuit = &self.bits.tables[part];
            work.add_all(&of_tables[part], 1.0);
            work.add(work::LOAD, circuit.n_inputs() as f64);
            work.add(work::LOGIC, mixed as f64);
            work.add(work::STORE, circuit.outputs().len() as f64);
            work.add(work::WORD_LOAD, numbers as f64);
            work.add(work::WORD, CALL);
        };
        match self.rolled {
            None => self.bits.calls.iter().for_each(|one| call(&one.table, 0, 0)),
            Some(rolled) => {
                for &kind in &rolled.calls {
                    let kind = &rolled.kinds[kind];
                    let reads = kind.inputs.iter().chain(&kind.mixed);
                    let mixed =
                        reads.filter(|read| read.mask).count() + kind.mixed.iter().filter(|read| read.vector).count();
                    call(&kind.table, kind.n_numbers(), mixed);
                }
            }
        }
        let read = self.words.read();
        let layouts = self.words.inputs.iter().enumerate();
        let used = layouts.filter(|(port, _)| read.iter().any(|one| one.0 as usize == *port)).map(|(_, layout)| layout);
        let rows = used
            .map(|layout| (layout, work::LOAD))
            .chain(self.words.outputs.iter().map(|layout| (layout, work::STORE)));
        for (layout, moves) in rows {
            let n = layout.words(LANE) as f64;
            let groups = f64::from(LANE);
            work.add(moves, groups * n);
            work.add(work::PERMUTE, groups * n * n.max(1.0).log2());
            // Each array of vectors is written, taken to registers twice, and stored.
            work.add(work::SHIFT, n * SWAPS * 2.0);
            work.add(work::LOGIC, n * SWAPS * 2.0);
            work.add(work::LOAD, n * groups * 2.0);
            work.add(work::STORE, n * groups * 2.0);
        }
        work
    }

    /// A function for a table that stays outside of the circuit.
    fn table(&self, number: usize, circuit: &Circuit) -> String {
        let v = self.v();
        let mut text = format!(
            "{}__attribute__((noinline)) static void {}_table{number}(const {v} *x, {v} *y)\n{{\n",
            attribute(self.machine),
            self.names.function
        );
        let name = |signal: Signal| match signal.index().checked_sub(circuit.n_inputs()) {
            None => format!("x[{}]", signal.0),
            Some(gate) => format!("g{gate}_"),
        };
        for (i, gate) in circuit.gates().iter().enumerate() {
            let _ = writeln!(text, "  const {v} g{i}_ = {};", self.gate(gate, &name));
        }
        for (i, output) in circuit.outputs().iter().enumerate() {
            let _ = writeln!(text, "  y[{i}] = {};", name(*output));
        }
        text.push_str("}\n");
        text
    }

    pub fn gate(&self, gate: &Gate, name: &dyn Fn(Signal) -> String) -> String {
        gate_text(gate, self.machine, LANE, name)
    }

    /// A mask for each bit of what no iteration changes.
    fn masks(&mut self, once: &mut String) {
        let mut needed: Vec<NodeId> = Vec::new();
        for source in &self.bits.sources {
            if let Source::Constant { node, .. } = source
                && needed.last() != Some(node)
            {
                needed.push(*node);
            }
        }
        for one in self.late {
            if let Some((.., Some(first))) = one.mixed {
                needed.push(first);
            }
            if !self.words.varying.contains(&one.value) {
                needed.push(one.value);
            }
        }
        needed.sort_unstable();
        needed.dedup();
        needed.retain(|&id| !matches!(self.words.graph.op(id), Op::Const(_)));
        if needed.is_empty() {
            return;
        }
        let (text, values) = constants(&self.words.graph, &self.words.body.objects, self.names.names, &needed);
        once.push_str(&text);
        let mut total = 0;
        let mut loops = String::new();
        // Nodes of one width share a loop.
        let mut widths: Vec<u32> = needed.iter().map(|&id| self.words.graph.width(id)).collect();
        widths.sort_unstable();
        widths.dedup();
        for width in widths {
            let nodes: Vec<NodeId> = needed.iter().copied().filter(|&id| self.words.graph.width(id) == width).collect();
            let halves: u32 = width.div_ceil(64);
            let mut list = Vec::new();
            for &id in &nodes {
                self.slots.insert(id, total);
                total += 64 * halves as usize;
                for half in 0..halves {
                    let value = &values[&id];
                    list.push(if half == 0 {
                        format!("(uint64_t)({value})")
                    } else {
                        format!("(uint64_t)(({value}) >> 64)")
                    });
                }
            }
            // Masks of narrow values lie close together.
            let room = if halves == 1 { width.div_ceil(8) * 8 } else { 64 } as usize;
            if room < 64 {
                total -= (64 - room) * nodes.len();
                for (i, id) in nodes.iter().enumerate() {
                    self.slots.insert(*id, total - (nodes.len() - i) * room);
                }
            }
            let first = self.slots[&nodes[0]];
            let (v, lanes) = (self.v(), self.machine.vector_bits / LANE);
            let places: Vec<String> = (0..lanes).map(|lane| lane.to_string()).collect();
            let _ = writeln!(
                loops,
                "  {{\n    const uint64_t list[] = {{{}}};\n    const {v} places = {{{}}};\n    \
                 for (size_t i = 0; i < sizeof list / sizeof *list; i++)\n      \
                 for (unsigned b = 0; b < {room}; b += {lanes}) {{\n        \
                 const {v} mask = 0 - ({} >> (places + {}) & 1);\n        \
                 memcpy(m_ + {first} + i * {room} + b, &mask, sizeof mask);\n      }}\n  }}",
                list.join(", "),
                places.join(","),
                self.all("list[i]"),
                self.all("b")
            );
        }
        let _ = writeln!(once, "  uint64_t m_[{total}];");
        once.push_str(&loops);
    }

    fn rows(&self, layout: &Layout) -> u64 {
        layout.bytes() * u64::from(self.machine.vector_bits / LANE)
    }

    /// Tokens, counters and the flag of the first iteration, bit by bit.
    fn read(&self, once: &mut String, group: &mut String) {
        let bits = self.machine.vector_bits;
        let v = self.v();
        let used = |port: u32, before: Option<bool>| {
            self.bits.sources.iter().any(|source| {
                matches!(source, Source::Word { port: at, word, .. }
                    if *at == port && before.is_none_or(|before| before == (*word < 0)))
            })
        };
        for (port, layout) in self.words.inputs.iter().enumerate() {
            let port = port as u32;
            let n_words = layout.words(LANE);
            for (before, letter) in [(false, 'x'), (true, 'y')] {
                if !used(port, Some(before)) {
                    continue;
                }
                let _ = match self.rolled.and_then(|rolled| rolled.arrays.get(&format!("{letter}{port}_"))) {
                    None => writeln!(group, "    {v} {letter}{port}_[{n_words}][64];"),
                    Some(start) => {
                        writeln!(group, "    {v} (*const {letter}{port}_)[64] = ({v} (*)[64])(p_ + {start});")
                    }
                };
                let _ = writeln!(group, "    for (unsigned k = 0; k < 64; k++) {{");
                let back = if before { layout.bytes() } else { 0 };
                let from = format!("(i{port}_ + k * {} - {back})", self.rows(layout));
                *group += &load_words(layout, bits, LANE, &behind(&from), &|w| format!("w{w}_"), "      ");
                for word in 0..n_words {
                    let _ = writeln!(group, "      {letter}{port}_[{word}][k] = w{word}_;");
                }
                group.push_str("    }\n");
                for word in 0..n_words {
                    let _ = writeln!(group, "    hr_transpose_{}({letter}{port}_[{word}]);", self.machine.name);
                }
            }
        }
        for (n, counter) in self.words.body.counters.iter().enumerate() {
            if !used(self.words.counter_port(n), None) {
                continue;
            }
            let width = self.words.body.graph.width(counter.start);
            let n_lanes = u64::from(bits / LANE);
            let most = u128::from(bits - 1).wrapping_mul(counter.step);
            let low = (128 - most.leading_zeros()).min(width);
            // Bits of what is added in each iteration of a group.
            let _ = writeln!(once, "  static const {v} p{n}_[] = {{");
            for bit in 0..low {
                let lanes = (0..n_lanes).map(|j| {
                    let lane = (0..64_u64).fold(0_u64, |lane, k| {
                        let added = u128::from(k * n_lanes + j).wrapping_mul(counter.step);
                        lane | ((added >> bit & 1) as u64) << k
                    });
                    format!("{lane:#x}ull")
                });
                let _ = writeln!(once, "    {{{}}},", lanes.collect::<Vec<_>>().join(","));
            }
            once.push_str("  };\n");
            let _ = match self.rolled.and_then(|rolled| rolled.arrays.get(&format!("n{n}_"))) {
                None => writeln!(group, "    {v} n{n}_[{width}];"),
                Some(start) => writeln!(group, "    {v} *const n{n}_ = p_ + {start};"),
            };
            let (word, places) = (self.all("(uint64_t)(c >> (b & 64))"), self.all("b & 63"));
            let lanes: Vec<String> = (0..n_lanes).map(|lane| lane.to_string()).collect();
            // The bits of the first iteration as words, then what each iteration adds.
            let _ = writeln!(
                group,
                "    {{\n      u128 c = c{n}_;\n      uint64_t b_[{}];\n      \
                 for (unsigned b = 0; b < {width}; b += {n_lanes}) {{\n        const {v} places = {{{}}};\n        \
                 const {v} mask = 0 - ({word} >> (places + {places}) & 1);\n        \
                 memcpy(b_ + b, &mask, sizeof mask);\n      }}\n      {v} carry = {{0}};\n      \
                 for (unsigned b = 0; b < {low}; b++) {{\n        const {v} base = {base};\n        \
                 n{n}_[b] = base ^ p{n}_[b] ^ carry;\n        carry = (base & p{n}_[b]) | (carry & (base ^ p{n}_[b]));\n      }}\n      \
                 for (unsigned b = {low}; b < {width}; b++) {{\n        const {v} base = {base};\n        \
                 n{n}_[b] = base ^ carry;\n        carry &= base;\n      }}\n    }}",
                u64::from(width).next_multiple_of(n_lanes),
                lanes.join(","),
                base = self.all("b_[b]"),
            );
        }
        let mixed_first = self.late.iter().any(|one| matches!(one.mixed, Some((.., Some(_)))));
        if used(self.words.first_port(), None) || mixed_first {
            once.push_str("  unsigned first_group_ = 1;\n");
            let _ = writeln!(group, "    const {v} first_ = {{first_group_}};");
            if let Some(start) = self.rolled.and_then(|rolled| rolled.arrays.get("first_")) {
                let _ = writeln!(group, "    p_[{start}] = first_;");
            }
        }
    }

    fn source(&self, source: Source) -> String {
        match source {
            Source::Word { port, word, bit } => {
                let (array, at, length) = place_of_word(self.words, port, word, bit);
                match length {
                    1 => array,
                    _ if (port as usize) < self.words.inputs.len() => format!("{array}[{}][{}]", at / 64, at % 64),
                    _ => format!("{array}[{at}]"),
                }
            }
            Source::Constant { node, bit } => self.all(&format!("m_[{}]", self.slots[&node] + bit as usize)),
            Source::Table { call, bit } => format!("t{call}_{bit}_"),
        }
    }

    fn name(&self, signal: Signal) -> String {
        match self.bits.sources.get(signal.index()) {
            Some(&source) => self.source(source),
            None => format!("g{}_", signal.index() - self.bits.sources.len()),
        }
    }

    /// The gates, each before those that read it; tables as soon as they can be called.
    fn circuit(&self, group: &mut String) {
        let bits = self.bits;
        let v = self.v();
        let n_inputs = bits.sources.len();
        let outputs = bits.circuit.outputs();
        let mut done = vec![false; n_inputs + bits.circuit.gates().len()];
        let mut called = vec![false; bits.calls.len()];
        if bits.calls.is_empty() {
            for i in 0..bits.circuit.gates().len() {
                self.emit(i, group);
            }
            return;
        }
        let most = bits.tables.values().map(Circuit::n_inputs).max().unwrap_or(0);
        let wide = bits.tables.values().map(|circuit| circuit.outputs().len()).max().unwrap_or(0);
        let _ = writeln!(group, "    {v} qx_[{most}], qy_[{wide}];");
        enum Task {
            Signal(Signal),
            Gate(usize),
            Call(usize),
        }
        let mut tasks: Vec<Task> = Vec::new();
        let wanted = (0..bits.calls.len()).flat_map(|call| {
            let call = &bits.calls[call];
            (call.first_output..call.first_output + call.n_inputs).chain([usize::MAX])
        });
        // Calls in the order of the program, what remains at the end.
        let mut order: Vec<Task> = Vec::new();
        let mut call = 0;
        for output in wanted {
            if output == usize::MAX {
                order.push(Task::Call(call));
                call += 1;
            } else {
                order.push(Task::Signal(outputs[output]));
            }
        }
        order.extend(bits.outputs.iter().flatten().map(|&output| Task::Signal(outputs[output])));
        order.reverse();
        tasks.append(&mut order);
        while let Some(task) = tasks.pop() {
            match task {
                Task::Signal(signal) => {
                    if done[signal.index()] {
                        continue;
                    }
                    match bits.sources.get(signal.index()) {
                        Some(Source::Table { call, .. }) => {
                            if !called[*call] {
                                tasks.push(Task::Call(*call));
                                let call = &bits.calls[*call];
                                let asked = &outputs[call.first_output..call.first_output + call.n_inputs];
                                tasks.extend(asked.iter().copied().map(Task::Signal));
                            }
                        }
                        Some(_) => {}
                        None => {
                            let gate = signal.index() - n_inputs;
                            tasks.push(Task::Gate(gate));
                            tasks.extend(bits.circuit.gates()[gate].operands().map(Task::Signal));
                        }
                    }
                }
                Task::Gate(gate) => {
                    if !done[n_inputs + gate] {
                        done[n_inputs + gate] = true;
                        self.emit(gate, group);
                    }
                }
                Task::Call(number) => {
                    if called[number] {
                        continue;
                    }
                    called[number] = true;
                    let call = &bits.calls[number];
                    for i in 0..call.n_inputs {
                        let _ = writeln!(group, "    qx_[{i}] = {};", self.name(outputs[call.first_output + i]));
                    }
                    let table = self.bits.tables.keys().position(|part| *part == call.table).unwrap_or_default();
                    let _ = writeln!(group, "    {}_table{table}(qx_, qy_);", self.names.function);
                    for bit in 0..bits.tables[&call.table].outputs().len() {
                        done[call.first_input + bit] = true;
                        let _ = writeln!(group, "    const {v} t{number}_{bit}_ = qy_[{bit}];");
                    }
                }
            }
        }
    }

    fn emit(&self, gate: usize, group: &mut String) {
        let text = self.gate(&self.bits.circuit.gates()[gate], &|signal| self.name(signal));
        let _ = writeln!(group, "    const {} g{gate}_ = {text};", self.v());
    }

    fn write(&self, group: &mut String) {
        let bits = self.machine.vector_bits;
        let v = self.v();
        for (port, layout) in self.words.outputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0) {
            let n_words = layout.words(LANE);
            let _ = writeln!(group, "    {v} u{port}_[{n_words}][64];");
            let mut used: Vec<(u32, bool)> = Vec::new();
            let mut mixes = String::new();
            let in_rows = mixed_into(self.words, port);
            for (i, &(at, word, _)) in self.words.written.iter().enumerate() {
                if at as usize != port {
                    continue;
                }
                let list = &self.bits.outputs[i];
                for bit in 0..LANE as usize {
                    let value = match list.get(bit) {
                        Some(output) => match self.rolled.and_then(|rolled| rolled.results.get(output)) {
                            Some(slot) => format!("p_[{slot}]"),
                            None => self.name(self.bits.circuit.outputs()[*output]),
                        },
                        None => format!("({v}){{0}}"),
                    };
                    let _ = writeln!(group, "    u{port}_[{word}][{bit}] = {value};");
                }
                if let Some((from, at, first)) = self.late[i].mixed.filter(|_| in_rows.is_none()) {
                    let n_words = self.words.inputs[from as usize].words(LANE) as i64;
                    let (name, before) = if at < 0 {
                        (format!("y{from}_{}_", at + n_words), true)
                    } else {
                        (format!("x{from}_{at}_"), false)
                    };
                    if !used.contains(&(from, before)) {
                        used.push((from, before));
                    }
                    match first {
                        None => {
                            let _ = writeln!(mixes, "      z{word}_ ^= {name};");
                        }
                        Some(first) => {
                            let slot = self.slots.get(&first).copied();
                            let entry = match (self.words.graph.op(first), slot) {
                                (Op::Const(value), _) => format!("{value:#x}ull"),
                                (_, Some(slot)) => format!("hr_gather_bits_{}(m_ + {slot})", self.machine.name),
                                _ => "0".into(),
                            };
                            let _ = writeln!(
                                mixes,
                                "      {{ {v} t = {name}; if (first_group_ && k == 0) t[0] = {entry}; z{word}_ ^= t; }}"
                            );
                        }
                    }
                }
            }
            for word in 0..n_words {
                let _ = writeln!(group, "    hr_transpose_{}(u{port}_[{word}]);", self.machine.name);
            }
            let _ = writeln!(group, "    for (unsigned k = 0; k < 64; k++) {{");
            for (from, before) in used {
                let layout = &self.words.inputs[from as usize];
                let back = if before { layout.bytes() } else { 0 };
                let letter = if before { 'y' } else { 'x' };
                let text = format!("(i{from}_ + k * {} - {back})", self.rows(layout));
                *group +=
                    &load_words(layout, bits, LANE, &behind(&text), &|w| format!("{letter}{from}_{w}_"), "      ");
            }
            for word in 0..n_words {
                let _ = writeln!(group, "      {v} z{word}_ = u{port}_[{word}][k];");
            }
            group.push_str(&mixes);
            let to = format!("(o{port}_ + k * {})", self.rows(layout));
            let mixed = in_rows.map(|from| Mixed(format!("i{from}_ + k * {}", self.rows(layout))));
            let name = |word| format!("z{word}_");
            *group += &store_words(layout, bits, LANE, &behind(&to), mixed.as_ref(), &name, "      ");
            group.push_str("    }\n");
        }
    }
}
