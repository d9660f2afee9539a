//! Bit blasting: the values of a loop become Boolean circuits. The values of a loop bit by bit: a circuit whose inputs
//! are bits of words, of counters and of what no iteration changes.
//!
//! Moving bits costs nothing here. Tables become circuits. Large ones that occur often stay outside: their outputs are
//! inputs of the circuit, what they read are outputs of it, and they are printed as functions.

use super::translation_validation::proved;
use super::words::{NotApplicable, WordLoop};
use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::lookup_tables::cover;
use headrace_boolean::circuit::simplify::simplify;
use headrace_boolean::circuit::{Circuit, Gate, Signal};
use headrace_boolean::realisation::{Effort, circuit_for};
use headrace_boolean::truth_table::Table;
use headrace_transform::kernel::{Graph, NodeId, Op, TableId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What an input of the circuit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A bit of a word of [`WordLoop`]: tokens, counters, the flag of the first iteration.
    Word { port: u32, word: i64, bit: u32 },
    /// A bit of a node that is the same in all iterations.
    Constant { node: NodeId, bit: u32 },
    /// An output of a table that stays outside.
    Table { call: usize, bit: u32 },
}

/// The elements of a table whose index has these bits: a table of what is open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Part {
    pub table: u32,
    /// Bits of the index, the least significant first; `None` where they are open.
    pub index: Vec<Option<bool>>,
}

impl Part {
    fn new(graph: &Graph, table: TableId, index: NodeId) -> Part {
        Part { table: table.0, index: known_bits(graph, index) }
    }

    /// The bits that are open.
    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.index.len()).filter(|&bit| self.index[bit].is_none())
    }

    /// A circuit from the open bits to an element.
    fn circuit(&self, graph: &Graph, basis: &Basis) -> Result<Circuit, NotApplicable> {
        let table = graph.table(TableId(self.table));
        let open: Vec<usize> = self.open().collect();
        let too_large = || NotApplicable("a table is too large for a circuit".into());
        if open.len() > 8 || table.width > 64 {
            return Err(too_large());
        }
        let fixed = (self.index.iter().enumerate()).fold(0_usize, |sum, (bit, known)| match known {
            Some(true) => sum | 1_usize.checked_shl(bit as u32).unwrap_or(0),
            _ => sum,
        });
        let element = |x: usize| {
            let index = open.iter().enumerate().fold(fixed, |index, (i, &bit)| index | (x >> i & 1) << bit.min(63));
            table.elements.get(index).map_or(0, |&element| element as u64)
        };
        let entries: Vec<u64> = (0..1_usize << open.len()).map(element).collect();
        let entries = Table::new(open.len(), table.width as usize, &entries).map_err(|_| too_large())?;
        let circuit = circuit_for(&entries, basis, Effort::Quick).circuit;
        proved(&circuit, &entries)?;
        Ok(circuit)
    }
}

/// Whether of each two bits at one place one is known to be zero.
fn apart(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    known_bits(graph, a).into_iter().zip(known_bits(graph, b)).all(|(a, b)| a == Some(false) || b == Some(false))
}

/// Bits of a node that are the same whatever the inputs are, as far as it is put together of parts.
fn known_bits(graph: &Graph, id: NodeId) -> Vec<Option<bool>> {
    match graph.op(id) {
        Op::Const(value) => (0..graph.width(id)).map(|bit| Some(value >> bit & 1 == 1)).collect(),
        Op::Concat(parts) => parts.iter().rev().flat_map(|&part| known_bits(graph, part)).collect(),
        // Where one of two bits is always zero, nothing is carried: a sum puts together.
        Op::Add(a, b) if apart(graph, *a, *b) => {
            let pairs = known_bits(graph, *a).into_iter().zip(known_bits(graph, *b));
            pairs.map(|(a, b)| if a == Some(false) { b } else { a }).collect()
        }
        _ => {
            let most = graph.bounds(id).1;
            (0..graph.width(id)).map(|bit| (most >> bit == 0).then_some(false)).collect()
        }
    }
}

/// A table that stays outside, where it is used.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Its circuit in [`Bits::tables`].
    pub table: Part,
    /// Its inputs among the outputs of the circuit.
    pub first_output: usize,
    pub n_inputs: usize,
    /// Its first output among the inputs of the circuit.
    pub first_input: usize,
}

/// A loop as a circuit.
pub(super) struct Bits {
    pub circuit: Circuit,
    pub sources: Vec<Source>,
    pub calls: Vec<Call>,
    /// Circuits of the tables that stay outside.
    pub tables: BTreeMap<Part, Circuit>,
    /// The bits of the values that were asked for, least significant first; `None` where a bit is 0.
    pub outputs: Vec<Vec<usize>>,
    /// Numbers that tables have: those of the graph, and of functions that were found.
    pub n_tables: u32,
    /// Inputs of the largest table, on all of which its circuit was compared with it; 0 where there is no table.
    pub cases: u64,
}

/// Which tables stay outside of the circuit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outside {
    /// With fewer gates in all tables together, none.
    pub total: usize,
    /// Tables of fewer gates never do: passing values would cost too much.
    pub gates: usize,
}

impl Outside {
    /// Where calls are a part of what is printed, and copy what they iteration.
    pub const CALLED: Outside = Outside { total: 7000, gates: 40 };
    /// Where calls are all that is printed.
    pub const ROLLED: Outside = Outside { total: 1000, gates: 8 };
}

/// Products and sums that would take more gates than this are left to other ways of printing.
const LARGEST_ARITHMETIC: u32 = 4096;

/// The gates that there are.
pub(super) fn basis(ternary: bool) -> &'static Basis {
    if ternary { &Basis::THREE_INPUT } else { &Basis::TWO_INPUT }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    Known(bool),
    Of(Signal),
}

struct Builder<'a> {
    words: &'a WordLoop<'a>,
    circuit: Circuit,
    known: FxHashMap<Gate, Signal>,
    bits: FxHashMap<NodeId, Vec<Bit>>,
    inside: FxHashMap<Part, Circuit>,
    arithmetic: u32,
}

impl Bits {
    /// The circuit of some values, gate by gate as they were written, so that what is alike looks alike.
    ///
    /// # Errors
    ///
    /// Operations that take too many gates, elements at places that differ from iteration to iteration.
    pub fn new(words: &WordLoop, values: &[NodeId], ternary: bool, outside: Outside) -> Result<Bits, NotApplicable> {
        let basis = basis(ternary);
        let graph = &words.graph;
        let order: Vec<NodeId> =
            graph.reachable(values.iter().copied()).into_iter().filter(|id| words.varying.contains(id)).collect();
        // Tables, and which of them stay outside.
        let mut tables: FxHashMap<Part, Circuit> = FxHashMap::default();
        let mut uses: FxHashMap<Part, usize> = FxHashMap::default();
        for &id in &order {
            if let Op::Lookup(table, index) = graph.op(id) {
                let part = Part::new(graph, *table, *index);
                if !tables.contains_key(&part) {
                    tables.insert(part.clone(), part.circuit(graph, basis)?);
                }
                *uses.entry(part).or_default() += 1;
            }
        }
        let gates = |part: &Part| tables.get(part).map_or(0, |circuit| circuit.gates().len());
        let total: usize = uses.iter().map(|(part, n)| gates(part) * n).sum();
        let is_outside = |part: &Part| total > outside.total && gates(part) >= outside.gates && uses[part] > 2;
        // Inputs.
        let mut sources = Vec::new();
        let mut starts: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut calls: Vec<Call> = Vec::new();
        for &id in &order {
            match graph.op(id) {
                Op::Input { port, offset } => {
                    starts.insert(id, sources.len());
                    let bits = 0..graph.width(id);
                    sources.extend(bits.map(|bit| Source::Word { port: *port, word: *offset, bit }));
                }
                op => {
                    for operand in op.operands() {
                        let constant = matches!(graph.op(operand), Op::Const(_));
                        if !words.varying.contains(&operand) && !constant && !starts.contains_key(&operand) {
                            starts.insert(operand, sources.len());
                            let bits = 0..graph.width(operand);
                            sources.extend(bits.map(|bit| Source::Constant { node: operand, bit }));
                        }
                    }
                    if let Op::Lookup(table, index) = op {
                        let part = Part::new(graph, *table, *index);
                        if is_outside(&part) {
                            starts.insert(id, sources.len());
                            let n_inputs = tables[&part].n_inputs();
                            calls.push(Call { table: part, first_output: 0, n_inputs, first_input: sources.len() });
                            let call = calls.len() - 1;
                            sources.extend((0..graph.width(id)).map(|bit| Source::Table { call, bit }));
                        }
                    }
                }
            }
        }
        for &id in values {
            let constant = matches!(graph.op(id), Op::Const(_));
            if !words.varying.contains(&id) && !constant && !starts.contains_key(&id) {
                starts.insert(id, sources.len());
                sources.extend((0..graph.width(id)).map(|bit| Source::Constant { node: id, bit }));
            }
        }
        let mut builder = Builder {
            words,
            circuit: Circuit::new(sources.len()),
            known: FxHashMap::default(),
            bits: FxHashMap::default(),
            inside: tables.clone(),
            arithmetic: 0,
        };
        for (&id, &start) in &starts {
            let bits = (0..graph.width(id) as usize).map(|bit| Bit::Of(Signal::from(start + bit))).collect();
            builder.bits.insert(id, bits);
        }
        let mut n_outputs = 0;
        let mut next_call = 0;
        for &id in &order {
            if let Op::Lookup(table, index) = graph.op(id) {
                let part = Part::new(graph, *table, *index);
                if is_outside(&part) {
                    let inputs = builder.of(*index);
                    calls[next_call].first_output = n_outputs;
                    for at in part.open() {
                        let bit = inputs.get(at).copied().unwrap_or(Bit::Known(false));
                        let signal = builder.signal(bit);
                        builder.circuit.push_output(signal);
                        n_outputs += 1;
                    }
                    next_call += 1;
                    continue;
                }
            }
            if !builder.bits.contains_key(&id) {
                let bits = builder.node(id)?;
                builder.bits.insert(id, bits);
            }
        }
        let mut outputs = Vec::new();
        for &value in values {
            let mut list = Vec::new();
            for bit in builder.of(value) {
                let signal = builder.signal(bit);
                builder.circuit.push_output(signal);
                list.push(n_outputs);
                n_outputs += 1;
            }
            outputs.push(list);
        }
        let circuit = builder.circuit;
        let cases = tables.keys().map(|part| 1 << part.open().count()).max().unwrap_or(0);
        let tables: BTreeMap<Part, Circuit> = tables
            .iter()
            .filter(|pair| is_outside(pair.0))
            .map(|(part, circuit)| (part.clone(), circuit.clone()))
            .collect();
        Ok(Bits { circuit, sources, calls, tables, outputs, n_tables: graph.tables().len() as u32, cases })
    }
}

impl Bits {
    /// The same with fewer gates of two inputs, which say what is mixed into what.
    pub fn simplified(self) -> Bits {
        Bits { circuit: simplify(&self.circuit), ..self }
    }

    /// The same with as few gates as can be found quickly.
    pub fn small(self, ternary: bool) -> Bits {
        if !ternary {
            return self.simplified();
        }
        Bits { circuit: cover(&self.circuit, basis(ternary), 1), ..self }
    }
}

impl Builder<'_> {
    fn of(&self, id: NodeId) -> Vec<Bit> {
        let graph = &self.words.graph;
        match graph.op(id) {
            Op::Const(value) => (0..graph.width(id)).map(|bit| Bit::Known(value >> bit & 1 == 1)).collect(),
            _ => self.bits.get(&id).cloned().unwrap_or_default(),
        }
    }

    fn push(&mut self, gate: Gate) -> Bit {
        if let Some(&signal) = self.known.get(&gate) {
            return Bit::Of(signal);
        }
        let signal = self.circuit.push(gate);
        self.known.insert(gate, signal);
        Bit::Of(signal)
    }

    fn signal(&mut self, bit: Bit) -> Signal {
        let bit = match bit {
            Bit::Known(value) => self.push(Gate::Constant(value)),
            Bit::Of(_) => bit,
        };
        match bit {
            Bit::Of(signal) => signal,
            Bit::Known(_) => Signal(0),
        }
    }

    fn not(&mut self, a: Bit) -> Bit {
        match a {
            Bit::Known(value) => Bit::Known(!value),
            Bit::Of(signal) => self.push(Gate::Not(signal)),
        }
    }

    fn and(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Known(false), _) | (_, Bit::Known(false)) => Bit::Known(false),
            (Bit::Known(true), other) | (other, Bit::Known(true)) => other,
            (Bit::Of(x), Bit::Of(y)) if x == y => a,
            (Bit::Of(x), Bit::Of(y)) => self.push(Gate::And(x.min(y), x.max(y))),
        }
    }

    fn or(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Known(true), _) | (_, Bit::Known(true)) => Bit::Known(true),
            (Bit::Known(false), other) | (other, Bit::Known(false)) => other,
            (Bit::Of(x), Bit::Of(y)) if x == y => a,
            (Bit::Of(x), Bit::Of(y)) => self.push(Gate::Or(x.min(y), x.max(y))),
        }
    }

    fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Known(false), other) | (other, Bit::Known(false)) => other,
            (Bit::Known(true), other) | (other, Bit::Known(true)) => self.not(other),
            (Bit::Of(x), Bit::Of(y)) if x == y => Bit::Known(false),
            (Bit::Of(x), Bit::Of(y)) => self.push(Gate::Xor(x.min(y), x.max(y))),
        }
    }

    fn choose(&mut self, c: Bit, a: Bit, b: Bit) -> Bit {
        match c {
            Bit::Known(true) => a,
            Bit::Known(false) => b,
            Bit::Of(_) => {
                let different = self.xor(a, b);
                let taken = self.and(c, different);
                self.xor(b, taken)
            }
        }
    }

    fn spend(&mut self, gates: u32) -> Result<(), NotApplicable> {
        self.arithmetic += gates;
        if self.arithmetic > LARGEST_ARITHMETIC {
            return Err(NotApplicable("arithmetic takes too many gates".into()));
        }
        Ok(())
    }

    /// Sum with a carry that comes in; the carry that goes out.
    fn sum(&mut self, a: &[Bit], b: &[Bit], carry: Bit) -> Result<(Vec<Bit>, Bit), NotApplicable> {
        let before = self.circuit.gates().len();
        let mut carry = carry;
        let mut bits = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let half = self.xor(x, y);
            bits.push(self.xor(half, carry));
            // Where both are equal they decide, else the carry does.
            carry = self.choose(half, carry, x);
        }
        self.spend((self.circuit.gates().len() - before) as u32)?;
        Ok((bits, carry))
    }

    /// Whether the first is less, as unsigned numbers: no carry comes out of the difference.
    fn less(&mut self, a: &[Bit], b: &[Bit]) -> Result<Bit, NotApplicable> {
        let inverted: Vec<Bit> = b.iter().map(|&bit| self.not(bit)).collect();
        let (_, carry) = self.sum(a, &inverted, Bit::Known(true))?;
        Ok(self.not(carry))
    }

    fn node(&mut self, id: NodeId) -> Result<Vec<Bit>, NotApplicable> {
        let graph = &self.words.graph;
        let width = graph.width(id) as usize;
        let op = graph.op(id);
        Ok(match op {
            Op::Not(a) => self.of(*a).into_iter().map(|bit| self.not(bit)).collect(),
            Op::And(a, b) => self.of(*a).into_iter().zip(self.of(*b)).map(|(a, b)| self.and(a, b)).collect(),
            Op::Or(a, b) => self.of(*a).into_iter().zip(self.of(*b)).map(|(a, b)| self.or(a, b)).collect(),
            Op::Xor(a, b) => self.of(*a).into_iter().zip(self.of(*b)).map(|(a, b)| self.xor(a, b)).collect(),
            Op::Add(a, b) => {
                let (a, b) = (self.of(*a), self.of(*b));
                self.sum(&a, &b, Bit::Known(false))?.0
            }
            Op::Sub(a, b) => {
                let a = self.of(*a);
                let b: Vec<Bit> = self.of(*b).into_iter().map(|bit| self.not(bit)).collect();
                self.sum(&a, &b, Bit::Known(true))?.0
            }
            Op::Mul(a, b) => {
                let (a, b) = (self.of(*a), self.of(*b));
                let mut total = vec![Bit::Known(false); width];
                for (i, &bit) in b.iter().enumerate() {
                    if bit == Bit::Known(false) {
                        continue;
                    }
                    let row: Vec<Bit> = a[..width - i].iter().map(|&x| self.and(x, bit)).collect();
                    let (sum, _) = self.sum(&total[i..], &row, Bit::Known(false))?;
                    total.splice(i.., sum);
                }
                total
            }
            Op::ShiftLeft(a, n) | Op::ShiftRight(a, n) | Op::ShiftRightSigned(a, n) | Op::RotateLeft(a, n) => {
                let (mut bits, count) = (self.of(*a), self.of(*n));
                let top = bits[width - 1];
                let fill = if matches!(op, Op::ShiftRightSigned(..)) { top } else { Bit::Known(false) };
                for (stage, &bit) in count.iter().enumerate() {
                    let distance = 1_usize.checked_shl(stage as u32).filter(|&d| d < width);
                    if distance.is_none() && matches!(op, Op::RotateLeft(..)) {
                        break;
                    }
                    self.spend(3 * width as u32)?;
                    let moved: Vec<Bit> = (0..width)
                        .map(|i| match (op, distance) {
                            (Op::RotateLeft(..), Some(d)) => bits[(i + width - d) % width],
                            (Op::ShiftLeft(..), Some(d)) if i >= d => bits[i - d],
                            (Op::ShiftRight(..) | Op::ShiftRightSigned(..), Some(d)) if i + d < width => bits[i + d],
                            _ => fill,
                        })
                        .collect();
                    bits = moved.into_iter().zip(bits).map(|(moved, old)| self.choose(bit, moved, old)).collect();
                }
                bits
            }
            Op::Extract(a, lo) => self.of(*a)[*lo as usize..][..width].to_vec(),
            Op::Concat(parts) => parts.iter().rev().flat_map(|part| self.of(*part)).collect(),
            Op::SignExtend(a) => {
                let mut bits = self.of(*a);
                let top = bits[bits.len() - 1];
                bits.resize(width, top);
                bits
            }
            Op::Equal(a, b) => {
                let mut all = Bit::Known(true);
                for (a, b) in self.of(*a).into_iter().zip(self.of(*b)) {
                    let different = self.xor(a, b);
                    let same = self.not(different);
                    all = self.and(all, same);
                }
                vec![all]
            }
            Op::Less(a, b) => {
                let (a, b) = (self.of(*a), self.of(*b));
                vec![self.less(&a, &b)?]
            }
            Op::LessSigned(a, b) => {
                let (mut a, mut b) = (self.of(*a), self.of(*b));
                for bits in [&mut a, &mut b] {
                    let top = bits.len() - 1;
                    bits[top] = self.not(bits[top]);
                }
                vec![self.less(&a, &b)?]
            }
            Op::Select(c, a, b) => {
                let c = self.of(*c)[0];
                self.of(*a).into_iter().zip(self.of(*b)).map(|(a, b)| self.choose(c, a, b)).collect()
            }
            Op::Lookup(table, index) => {
                let part = Part::new(graph, *table, *index);
                let circuit = self.inside[&part].clone();
                let all = self.of(*index);
                let inputs: Vec<Bit> = part.open().map(|bit| all[bit]).collect();
                self.append(&circuit, &inputs)
            }
            Op::Entry { .. } => {
                return Err(NotApplicable(
                    "elements are read at places that differ from iteration to iteration".into(),
                ));
            }
            Op::Divide(..) | Op::Remainder(..) => return Err(NotApplicable("division takes too many gates".into())),
            Op::LookupBytes(..) => return Err(NotApplicable("bytes are looked up one by one".into())),
            Op::Const(_) | Op::Input { .. } | Op::Loaded(_) | Op::Instruction { .. } => {
                return Err(NotApplicable("a node has no form in bits".into()));
            }
        })
    }

    fn append(&mut self, circuit: &Circuit, inputs: &[Bit]) -> Vec<Bit> {
        let mut map: Vec<Bit> = inputs.to_vec();
        for gate in circuit.gates() {
            let at = |signal: Signal| map[signal.index()];
            let bit = match *gate {
                Gate::Constant(value) => Bit::Known(value),
                Gate::Not(a) => self.not(at(a)),
                Gate::And(a, b) => self.and(at(a), at(b)),
                Gate::Or(a, b) => self.or(at(a), at(b)),
                Gate::Xor(a, b) => self.xor(at(a), at(b)),
                Gate::AndNot(a, b) => match (at(a), at(b)) {
                    (Bit::Of(a), Bit::Of(b)) => self.push(Gate::AndNot(a, b)),
                    (a, b) => {
                        let inverted = self.not(b);
                        self.and(a, inverted)
                    }
                },
                Gate::Lut3(table, a, b, c) => {
                    let (a, b, c) = (at(a), at(b), at(c));
                    let (a, b, c) = (self.signal(a), self.signal(b), self.signal(c));
                    self.push(Gate::Lut3(table, a, b, c))
                }
            };
            map.push(bit);
        }
        circuit.outputs().iter().map(|output| map[output.index()]).collect()
    }
}
