//! Outlining of repeated subcircuits: the text of a circuit shrinks to calls. A circuit whose tables are functions that
//! are called again and again, so that the code stays inside the instruction cache: what a call reads and writes stands
//! in a list.
//!
//! All values are vectors of one pool. A call reads vectors, mixes masks that no iteration changes into some of them,
//! and mixes vectors or masks into some of its results: that is what stands between the tables of many ciphers. Where
//! there is more, sums become calls too ([`super::linear_subcircuits`]); a circuit of which more is left than that is
//! not rolled. Tables are called whatever they were written as ([`super::outlined_functions`]).
//!
//! ```text
//! x[i] = pool[list[i]] ^ all(mask[list[j]])      y = table(x)      pool[list[k]] = y[i] ^ pool[list[l]]
//! ```

use super::bits::{Bits, Outside, Part, Source, basis};
use super::words::{Layout, WordLoop};
use super::{fused_subcircuits, linear_subcircuits, outlined_functions};
use headrace_boolean::circuit::{Gate, Signal};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Functions that differ in what they mix; with more than this nothing is gained.
const MOST_KINDS: usize = 64;

/// Calls that are written one after the other in the text, at most.
const MOST_WRITTEN: usize = 512;

/// What is read or mixed in: a vector of the pool, a mask, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Read {
    pub vector: bool,
    pub mask: bool,
}

impl Read {
    fn n_numbers(self) -> usize {
        usize::from(self.vector) + usize::from(self.mask)
    }
}

/// A table, what its inputs are, and what is mixed into its outputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub table: Part,
    pub inputs: Vec<Read>,
    pub mixed: Vec<Read>,
}

impl Kind {
    /// Numbers in the list for one call.
    pub fn n_numbers(&self) -> usize {
        self.inputs.iter().chain(&self.mixed).map(|read| read.n_numbers()).sum::<usize>() + self.mixed.len()
    }
}

/// What a number of the list says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A vector of the pool.
    Slot(usize),
    /// The mask of a bit of a node that no iteration changes: its source.
    Mask(Source),
}

/// A circuit as calls.
pub(super) struct Rolled {
    /// Vectors of the pool.
    pub n_slots: usize,
    /// Where in the pool arrays of inputs begin, by their names.
    pub arrays: BTreeMap<String, usize>,
    pub kinds: Vec<Kind>,
    /// The kind of each call.
    pub calls: Vec<usize>,
    /// For each input its vector and its mask, then for each output the vector and the mask mixed in and where it goes.
    pub numbers: Vec<Number>,
    /// The vectors of the outputs of the circuit that are results.
    pub results: FxHashMap<usize, usize>,
    /// After so many calls the same kinds come again.
    pub period: usize,
}

/// The array that a bit of a word stands in when the circuit begins, the place there, and the length of the array.
pub(super) fn place_of_word(words: &WordLoop, port: u32, word: i64, bit: u32) -> (String, usize, usize) {
    let n_ports = words.inputs.len();
    let at = |word: i64| word as usize * words.bits as usize + bit as usize;
    match words.inputs.get(port as usize) {
        Some(layout) => {
            let n_words = Layout::words(layout, words.bits) as i64;
            let length = n_words as usize * words.bits as usize;
            if word < 0 {
                (format!("y{port}_"), at(word + n_words), length)
            } else {
                (format!("x{port}_"), at(word), length)
            }
        }
        None if port == words.first_port() => ("first_".to_owned(), 0, 1),
        None => {
            let counter = port as usize - n_ports;
            let width = words.body.graph.width(words.body.counters[counter].start);
            (format!("n{counter}_"), at(word), width as usize)
        }
    }
}

/// A vector and a mask, as signals.
#[derive(Clone, Copy, Default)]
struct Operand {
    vector: Option<Signal>,
    mask: Option<Signal>,
}

impl Operand {
    fn read(&self) -> Read {
        Read { vector: self.vector.is_some(), mask: self.mask.is_some() }
    }
}

/// A call before vectors are given places.
struct Draft {
    kind: Kind,
    inputs: Vec<Operand>,
    /// What is mixed in, and what comes out.
    outputs: Vec<(Operand, Signal)>,
}

impl Draft {
    /// All vectors that it reads.
    fn vectors(&self) -> impl Iterator<Item = Signal> + '_ {
        self.inputs.iter().chain(self.outputs.iter().map(|output| &output.0)).filter_map(|operand| operand.vector)
    }
}

impl Rolled {
    /// Rolls a circuit, and what the calls are of; `None` where it cannot be.
    pub fn of(words: &WordLoop, bits: Bits, ternary: bool) -> Option<(Bits, Rolled)> {
        let tables = outlined_functions::as_tables(&bits, basis(ternary), Outside::ROLLED);
        let bits = tables.unwrap_or_else(|| bits.simplified());
        if bits.calls.is_empty() {
            return None;
        }
        if let Some(rolled) = Rolled::new(words, &bits) {
            return Some((bits, rolled));
        }
        let bits = fused_subcircuits::with_feeders(&linear_subcircuits::as_calls(&bits, ternary)?);
        let rolled = Rolled::new(words, &bits)?;
        Some((bits, rolled))
    }

    /// `None` where calls are not all that the circuit is made of.
    fn new(words: &WordLoop, bits: &Bits) -> Option<Rolled> {
        let drafts = drafts(bits)?;
        let results: Vec<usize> = bits.outputs.iter().flatten().copied().collect();
        let outputs = bits.circuit.outputs();
        // Inputs have their places.
        let mut slots: FxHashMap<Signal, usize> = FxHashMap::default();
        let mut arrays: BTreeMap<String, usize> = BTreeMap::new();
        let mut n_slots = 0;
        for (i, source) in bits.sources.iter().enumerate() {
            let Source::Word { port, word, bit } = *source else { continue };
            let (array, at, length) = place_of_word(words, port, word, bit);
            let start = *arrays.entry(array).or_insert_with(|| {
                n_slots += length;
                n_slots - length
            });
            slots.insert(Signal::from(i), start + at);
        }
        // The last call that reads each value.
        let mut last: FxHashMap<Signal, usize> = FxHashMap::default();
        for (number, draft) in drafts.iter().enumerate() {
            last.extend(draft.vectors().map(|signal| (signal, number)));
        }
        last.extend(results.iter().map(|&output| (outputs[output], usize::MAX)));
        let mut free: Vec<usize> = Vec::new();
        let mut kinds: Vec<Kind> = Vec::new();
        let (mut calls, mut numbers) = (Vec::new(), Vec::new());
        for (number, draft) in drafts.iter().enumerate() {
            let mask = |operand: &Operand| operand.mask.map(|mask| Number::Mask(bits.sources[mask.index()]));
            for operand in &draft.inputs {
                if let Some(vector) = operand.vector {
                    numbers.push(Number::Slot(*slots.get(&vector)?));
                }
                numbers.extend(mask(operand));
            }
            let ends = |signal: &Signal| last.get(signal) == Some(&number);
            let mut reused = FxHashSet::default();
            for (mixed, result) in &draft.outputs {
                let again = draft.outputs.iter().filter(|output| output.0.vector == mixed.vector).count() > 1;
                let mut slot = None;
                let more = mask(mixed);
                if let Some(mixed) = mixed.vector {
                    let at = *slots.get(&mixed)?;
                    numbers.push(Number::Slot(at));
                    if ends(&mixed) && !again {
                        reused.insert(mixed);
                        slot = Some(at);
                    }
                }
                numbers.extend(more);
                let slot = slot.or_else(|| free.pop()).unwrap_or_else(|| {
                    n_slots += 1;
                    n_slots - 1
                });
                numbers.push(Number::Slot(slot));
                slots.insert(*result, slot);
            }
            let mut over: Vec<Signal> =
                draft.vectors().filter(|signal| ends(signal) && !reused.contains(signal)).collect();
            // Results that nobody reads.
            over.extend(draft.outputs.iter().map(|one| one.1).filter(|result| !last.contains_key(result)));
            over.sort_unstable();
            over.dedup();
            free.extend(over.iter().map(|signal| slots[signal]));
            let kind = kinds.iter().position(|kind| *kind == draft.kind).unwrap_or_else(|| {
                kinds.push(draft.kind.clone());
                kinds.len() - 1
            });
            if kinds.len() > MOST_KINDS {
                return None;
            }
            calls.push(kind);
        }
        let places = results.iter().map(|&output| slots.get(&outputs[output]).map(|&slot| (output, slot)));
        let results: FxHashMap<usize, usize> = places.collect::<Option<_>>()?;
        let period = (1..=calls.len()).find(|&period| (period..calls.len()).all(|i| calls[i] == calls[i - period]))?;
        (period <= MOST_WRITTEN).then_some(Rolled { n_slots, arrays, kinds, calls, numbers, results, period })
    }
}

/// The calls in their order, with what they mix; `None` where there is something that is no part of a call.
fn drafts(bits: &Bits) -> Option<Vec<Draft>> {
    let n_sources = bits.sources.len();
    let outputs = bits.circuit.outputs();
    let source = |signal: Signal| bits.sources.get(signal.index());
    let is_mask = |signal: Signal| matches!(source(signal), Some(Source::Constant { .. }));
    // What each call reads, and all that is a value for that or a result.
    let mut inputs: Vec<Vec<Operand>> = Vec::new();
    let mut values: FxHashSet<Signal> = bits.outputs.iter().flatten().map(|&output| outputs[output]).collect();
    for call in &bits.calls {
        let operand = |signal: Signal| match bits.circuit.gate(signal) {
            Some(Gate::Xor(a, mask)) | Some(Gate::Xor(mask, a)) if is_mask(mask) && !is_mask(a) => {
                Operand { vector: Some(a), mask: Some(mask) }
            }
            None if is_mask(signal) => Operand { vector: None, mask: Some(signal) },
            _ => Operand { vector: Some(signal), mask: None },
        };
        let list: Vec<Operand> = bits.asked(call).iter().copied().map(operand).collect();
        values.extend(list.iter().filter_map(|input| input.vector));
        inputs.push(list);
    }
    let mut readers: FxHashMap<Signal, Vec<Signal>> = FxHashMap::default();
    for (i, gate) in bits.circuit.gates().iter().enumerate() {
        gate.operands().for_each(|operand| readers.entry(operand).or_default().push(Signal::from(n_sources + i)));
    }
    let words = bits.sources.iter().enumerate().filter(|(_, source)| matches!(source, Source::Word { .. }));
    let mut there: FxHashSet<Signal> = words.map(|(i, _)| Signal::from(i)).collect();
    let mut drafts = Vec::new();
    for number in by_level(bits, &readers)? {
        let (call, inputs) = (&bits.calls[number], std::mem::take(&mut inputs[number]));
        if inputs.iter().filter_map(|input| input.vector).any(|vector| !there.contains(&vector)) {
            return None;
        }
        let n_outputs = bits.tables.get(&call.table)?.outputs().len();
        let mut made = Vec::new();
        for bit in 0..n_outputs {
            let plain = Signal::from(call.first_input + bit);
            let reader = readers.get(&plain).and_then(|all| if let [one] = all[..] { Some(one) } else { None });
            let sum = reader.filter(|_| !values.contains(&plain)).and_then(|reader| match bits.circuit.gate(reader) {
                Some(Gate::Xor(a, b)) if a != b => Some((if a == plain { b } else { a }, reader)),
                _ => None,
            });
            match sum {
                Some((other, sum)) if there.contains(&other) => {
                    made.push((Operand { vector: Some(other), mask: None }, sum));
                }
                Some((mask, sum)) if is_mask(mask) => made.push((Operand { vector: None, mask: Some(mask) }, sum)),
                _ => made.push((Operand::default(), plain)),
            }
        }
        there.extend(made.iter().map(|output| output.1));
        let kind = Kind {
            table: call.table.clone(),
            inputs: inputs.iter().map(Operand::read).collect(),
            mixed: made.iter().map(|output| output.0.read()).collect(),
        };
        drafts.push(Draft { kind, inputs, outputs: made });
    }
    Some(drafts)
}

/// The calls, those first that need the fewest before them, of those such whose outputs are mixed into what others give
/// after these, and of those the same tables one beside the other. `None` where they need each other.
///
/// Example: of `y = a(x) ^ (b(x) ^ z)`, where neither table needs the other, `b` comes first, so that `a` finds the
/// sum.
fn by_level(bits: &Bits, readers: &FxHashMap<Signal, Vec<Signal>>) -> Option<Vec<usize>> {
    let levels = bits.levels(&FxHashSet::default())?;
    let of_call = |number: usize| bits.asked(&bits.calls[number]).iter().map(|signal| levels[signal.index()]).max();
    // Gates behind one another on the same level.
    let mut behind: Vec<usize> = vec![0; levels.len()];
    for (i, gate) in bits.circuit.gates().iter().enumerate() {
        let at = bits.sources.len() + i;
        let same = gate.operands().map(Signal::index).filter(|&operand| levels[operand] == levels[at]);
        behind[at] = same.map(|operand| behind[operand] + 1).max().unwrap_or(0);
    }
    let sums_before = |number: usize| {
        let call = &bits.calls[number];
        let n_outputs = bits.tables.get(&call.table).map_or(0, |table| table.outputs().len());
        let outputs = (call.first_input..call.first_input + n_outputs).map(Signal::from);
        let sums = outputs.flat_map(|output| readers.get(&output).into_iter().flatten()).map(|sum| sum.index());
        sums.filter(|&sum| Some(levels[sum]) == of_call(number).map(|level| level + 1)).map(|sum| behind[sum]).max()
    };
    let mut order: Vec<usize> = (0..bits.calls.len()).collect();
    order.sort_by_cached_key(|&number| (of_call(number), sums_before(number), bits.calls[number].table.clone()));
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::super::bits::Call;
    use super::*;
    use headrace_boolean::circuit::Circuit;

    #[test]
    fn what_is_mixed_into_the_outputs_of_others_is_called_after_them() {
        let sources: Vec<Source> = (0..8)
            .map(|bit| Source::Word { port: 0, word: 0, bit })
            .chain((0..8).map(|i| Source::Table { call: i / 4, bit: i as u32 % 4 }))
            .collect();
        let mut circuit = Circuit::new(16);
        let outputs = vec![(0..4).collect()];
        for bit in 0..4_usize {
            let [first, second, z] = [8 + bit, 12 + bit, 4 + bit].map(Signal::from);
            let sum = circuit.push(Gate::Xor(second, z));
            let whole = circuit.push(Gate::Xor(first, sum));
            circuit.push_output(whole);
        }
        (0..2).for_each(|_| (0..4_usize).for_each(|bit| circuit.push_output(Signal::from(bit))));
        let parts = [0, 1].map(|table| Part { table, index: vec![None; 4] });
        let calls = [(0, 4, 8), (1, 8, 12)].map(|(table, first_output, first_input)| Call {
            table: parts[table].clone(),
            first_output,
            n_inputs: 4,
            first_input,
        });
        let mut inverted = Circuit::new(4);
        for bit in 0..4_usize {
            let not = inverted.push(Gate::Not(Signal::from(bit)));
            inverted.push_output(not);
        }
        let tables = parts.clone().map(|part| (part, inverted.clone())).into();
        let bits = Bits { circuit, sources, calls: calls.to_vec(), tables, outputs, n_tables: 2, cases: 0 };
        let drafts = drafts(&bits).expect("calls only");
        let order: Vec<&Part> = drafts.iter().map(|draft| &draft.kind.table).collect();
        assert_eq!(order, [&parts[1], &parts[0]]);
    }
}
