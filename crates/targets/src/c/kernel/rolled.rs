//! A circuit whose tables are functions that are called again and again, so that the code stays inside the instruction
//! cache: what a call reads and writes stands in a list.
//!
//! All values are vectors of one pool. A call reads vectors, mixes masks that no pass changes into some of them, and mixes
//! vectors into some of its results: that is what stands between the tables of most ciphers. A circuit of which
//! more is left than that is not rolled.
//!
//! ```text
//! x[i] = pool[list[i]] ^ all(mask[list[j]])      y = table(x)      pool[list[k]] = y[i] ^ pool[list[l]]
//! ```

use super::bits::{Bits, Part, Source};
use super::words::{Layout, WordLoop};
use headrace_boolean::circuit::{Gate, Signal};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Functions that differ in what they mix; with more than this nothing is gained.
const MOST_KINDS: usize = 64;

/// Calls that are written one after the other in the text, at most.
const MOST_WRITTEN: usize = 512;

/// A table, and what is mixed into its inputs and outputs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub table: Part,
    /// Inputs that a mask is mixed into.
    pub masked: Vec<bool>,
    /// Outputs that another vector is mixed into.
    pub mixed: Vec<bool>,
}

impl Kind {
    /// Numbers in the list for one call.
    pub fn n_numbers(&self) -> usize {
        let count = |list: &[bool]| list.len() + list.iter().filter(|&&it| it).count();
        count(&self.masked) + count(&self.mixed)
    }
}

/// What a number of the list says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A vector of the pool.
    Slot(usize),
    /// The mask of a bit of a node that no pass changes: its source.
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
    /// For each input its vector and its mask, then for each output what is mixed in and where it goes.
    pub numbers: Vec<Number>,
    /// The vectors of the outputs of the circuit that are results.
    pub results: HashMap<usize, usize>,
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

/// A call before vectors are given places.
struct Draft {
    kind: Kind,
    /// Value and mask of each input.
    inputs: Vec<(Signal, Option<Signal>)>,
    /// What is mixed in, and what comes out.
    outputs: Vec<(Option<Signal>, Signal)>,
}

impl Rolled {
    /// Rolls a circuit; `None` where calls are not all that it is made of.
    pub fn new(words: &WordLoop, bits: &Bits) -> Option<Rolled> {
        let drafts = drafts(bits)?;
        let results: Vec<usize> = bits.outputs.iter().flatten().copied().collect();
        let outputs = bits.circuit.outputs();
        // Inputs have their places.
        let mut slots: HashMap<Signal, usize> = HashMap::new();
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
        let mut last: HashMap<Signal, usize> = HashMap::new();
        for (number, draft) in drafts.iter().enumerate() {
            let mixed = draft.outputs.iter().filter_map(|output| output.0);
            last.extend(draft.inputs.iter().map(|input| input.0).chain(mixed).map(|signal| (signal, number)));
        }
        last.extend(results.iter().map(|&output| (outputs[output], usize::MAX)));
        let mut free: Vec<usize> = Vec::new();
        let mut kinds: Vec<Kind> = Vec::new();
        let (mut calls, mut numbers) = (Vec::new(), Vec::new());
        for (number, draft) in drafts.iter().enumerate() {
            for &(value, mask) in &draft.inputs {
                numbers.push(Number::Slot(*slots.get(&value)?));
                numbers.extend(mask.map(|mask| Number::Mask(bits.sources[mask.index()])));
            }
            let ends = |signal: &Signal| last.get(signal) == Some(&number);
            let mut reused = HashSet::new();
            for &(mixed, result) in &draft.outputs {
                let again = draft.outputs.iter().filter(|output| output.0 == mixed).count() > 1;
                let mut slot = None;
                if let Some(mixed) = mixed {
                    let at = *slots.get(&mixed)?;
                    numbers.push(Number::Slot(at));
                    if ends(&mixed) && !again {
                        reused.insert(mixed);
                        slot = Some(at);
                    }
                }
                let slot = slot.or_else(|| free.pop()).unwrap_or_else(|| {
                    n_slots += 1;
                    n_slots - 1
                });
                numbers.push(Number::Slot(slot));
                slots.insert(result, slot);
            }
            let read = draft.inputs.iter().map(|input| input.0).chain(draft.outputs.iter().filter_map(|one| one.0));
            let mut over: Vec<Signal> = read.filter(|signal| ends(signal) && !reused.contains(signal)).collect();
            // Results that nobody reads.
            over.extend(draft.outputs.iter().map(|one| one.1).filter(|result| !last.contains_key(result)));
            over.sort_unstable();
            over.dedup();
            free.extend(over.iter().map(|signal| slots[signal]));
            let kind = kinds.iter().position(|kind| *kind == draft.kind).unwrap_or_else(|| {
                kinds.push(draft.kind.clone());
                kinds.len() - 1
            });
            calls.push(kind);
        }
        let places = results.iter().map(|&output| slots.get(&outputs[output]).map(|&slot| (output, slot)));
        let results: HashMap<usize, usize> = places.collect::<Option<_>>()?;
        let period = (1..=calls.len()).find(|&period| (period..calls.len()).all(|i| calls[i] == calls[i - period]))?;
        let fits = kinds.len() <= MOST_KINDS && period <= MOST_WRITTEN;
        fits.then_some(Rolled { n_slots, arrays, kinds, calls, numbers, results, period })
    }
}

/// The calls in their order, with what they mix; `None` where there is something that is no part of a call.
fn drafts(bits: &Bits) -> Option<Vec<Draft>> {
    let n_sources = bits.sources.len();
    let outputs = bits.circuit.outputs();
    let source = |signal: Signal| bits.sources.get(signal.index());
    let is_mask = |signal: Signal| matches!(source(signal), Some(Source::Constant { .. }));
    // What each call reads, and all that is a value for that or a result.
    let mut inputs: Vec<Vec<(Signal, Option<Signal>)>> = Vec::new();
    let mut values: HashSet<Signal> = bits.outputs.iter().flatten().map(|&output| outputs[output]).collect();
    for call in &bits.calls {
        let asked = &outputs[call.first_output..call.first_output + call.n_inputs];
        let list: Vec<(Signal, Option<Signal>)> = asked
            .iter()
            .map(|&signal| match bits.circuit.gate(signal) {
                Some(Gate::Xor(a, mask)) | Some(Gate::Xor(mask, a)) if is_mask(mask) => (a, Some(mask)),
                _ => (signal, None),
            })
            .collect();
        values.extend(list.iter().map(|input| input.0));
        inputs.push(list);
    }
    let mut readers: HashMap<Signal, Vec<Signal>> = HashMap::new();
    for (i, gate) in bits.circuit.gates().iter().enumerate() {
        gate.operands().for_each(|operand| readers.entry(operand).or_default().push(Signal::from(n_sources + i)));
    }
    let words = bits.sources.iter().enumerate().filter(|(_, source)| matches!(source, Source::Word { .. }));
    let mut there: HashSet<Signal> = words.map(|(i, _)| Signal::from(i)).collect();
    let mut drafts = Vec::new();
    for number in by_level(bits) {
        let (call, inputs) = (&bits.calls[number], std::mem::take(&mut inputs[number]));
        if inputs.iter().any(|input| !there.contains(&input.0)) {
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
            match sum.filter(|(other, _)| there.contains(other)) {
                Some((other, sum)) => made.push((Some(other), sum)),
                None => made.push((None, plain)),
            }
        }
        there.extend(made.iter().map(|output| output.1));
        let kind = Kind {
            table: call.table.clone(),
            masked: inputs.iter().map(|input| input.1.is_some()).collect(),
            mixed: made.iter().map(|output| output.0.is_some()).collect(),
        };
        drafts.push(Draft { kind, inputs, outputs: made });
    }
    Some(drafts)
}

/// The calls, those first that need the fewest before them, and of those the same tables one beside the other.
fn by_level(bits: &Bits) -> Vec<usize> {
    let outputs = bits.circuit.outputs();
    let mut levels: HashMap<Signal, usize> = HashMap::new();
    let mut of_call = vec![0; bits.calls.len()];
    for (number, call) in bits.calls.iter().enumerate() {
        let asked = &outputs[call.first_output..call.first_output + call.n_inputs];
        let mut open: Vec<Signal> = asked.to_vec();
        while let Some(&signal) = open.last() {
            if levels.contains_key(&signal) {
                open.pop();
                continue;
            }
            let level = match bits.sources.get(signal.index()) {
                Some(Source::Table { call, .. }) => Some(of_call[*call] + 1),
                Some(_) => Some(0),
                None => {
                    let operands = || bits.circuit.gate(signal).into_iter().flat_map(|gate| gate.operands());
                    let missing: Vec<Signal> = operands().filter(|operand| !levels.contains_key(operand)).collect();
                    open.extend(&missing);
                    missing.is_empty().then(|| operands().map(|operand| levels[&operand]).max().unwrap_or(0))
                }
            };
            if let Some(level) = level {
                levels.insert(signal, level);
            }
        }
        of_call[number] = asked.iter().map(|signal| levels[signal]).max().unwrap_or(0);
    }
    let mut order: Vec<usize> = (0..bits.calls.len()).collect();
    order.sort_by_key(|&number| (of_call[number], &bits.calls[number].table));
    order
}
