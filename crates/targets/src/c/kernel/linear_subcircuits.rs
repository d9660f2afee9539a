//! Linear layers between outlined subcircuits. Sums between calls, as calls: what mixes the outputs of tables before
//! other tables read them.
//!
//! Sums that share what they are made of belong together, as far as they are as deep. Sums that are made in the same
//! way are calls of one function, and it is made as short as can be found quickly: `headrace_boolean::linear_regions`.
//! A mask that no iteration changes stays outside where its reader can mix it in as it reads.

use super::bits::{Bits, Part, Source};
use super::outlined_functions::is_linear;
use super::subcircuits::{Found, Sums};
use headrace_boolean::circuit::{Circuit, Gate, Signal};
use headrace_boolean::linear_regions::resynthesise;
use headrace_boolean::xor_network::{Arity, Options};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Values and masks that go into sums that belong together, and such sums.
const MOST_INPUTS: usize = 192;
const MOST_OUTPUTS: usize = 64;

/// Functions for them.
const MOST_FUNCTIONS: usize = 16;

/// How long to look for each.
const WORK: u64 = 300_000;

/// Sums that belong together: for each the numbers of its inputs, values before masks, and whether it is complemented.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shape {
    n_inputs: usize,
    rows: Vec<(Vec<usize>, bool)>,
}

impl Shape {
    fn circuit(&self, ternary: bool) -> Circuit {
        let mut circuit = Circuit::new(self.n_inputs);
        for (row, inverted) in &self.rows {
            let parts: Vec<Signal> = row.iter().map(|&input| Signal::from(input)).collect();
            let sum = circuit.push_xor(&parts, *inverted);
            circuit.push_output(sum);
        }
        let arity = if ternary { Arity::Three } else { Arity::Two };
        resynthesise(&circuit, &Options { arity, work: WORK, ..Options::default() })
    }
}

/// The circuit with its sums as calls; `None` where there is more than sums between the calls, or too many kinds of
/// them.
pub(super) fn as_calls(bits: &Bits, ternary: bool) -> Option<Bits> {
    if !bits.circuit.gates().iter().all(is_linear) {
        return None;
    }
    let targets = targets(bits, ternary);
    let is_target: FxHashSet<Signal> = targets.iter().copied().collect();
    let levels = bits.levels(&is_target)?;
    // What each is made of, and which belong together: numbers of the first of them.
    let forms: Vec<(Vec<Signal>, bool)> = targets.iter().map(|&target| form(bits, &is_target, target)).collect();
    let is_mask = |signal: &Signal| matches!(bits.sources.get(signal.index()), Some(Source::Constant { .. }));
    let mut together: Vec<usize> = (0..targets.len()).collect();
    fn first(together: &[usize], mut at: usize) -> usize {
        while together[at] != at {
            at = together[at];
        }
        at
    }
    let mut met: FxHashMap<(usize, Signal), usize> = FxHashMap::default();
    for (at, (parts, _)) in forms.iter().enumerate() {
        for &part in parts.iter().filter(|part| !is_mask(part)) {
            let other = *met.entry((levels[targets[at].index()], part)).or_insert(at);
            let (a, b) = (first(&together, at), first(&together, other));
            together[a.max(b)] = a.min(b);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    (0..targets.len()).for_each(|at| members.entry(first(&together, at)).or_default().push(at));
    let mut shapes: FxHashMap<Shape, u32> = FxHashMap::default();
    let mut found: Vec<(Shape, Vec<Signal>, Vec<Signal>)> = Vec::new();
    for members in members.values() {
        // Inputs in an order that depends on nothing but where they are read.
        let mut columns: BTreeMap<Signal, Vec<usize>> = BTreeMap::new();
        for (row, &at) in members.iter().enumerate() {
            forms[at].0.iter().for_each(|&part| columns.entry(part).or_default().push(row));
        }
        let mut inputs: Vec<(bool, Vec<usize>, Signal)> =
            columns.into_iter().map(|(signal, rows)| (is_mask(&signal), rows, signal)).collect();
        inputs.sort();
        if inputs.len() > MOST_INPUTS || members.len() > MOST_OUTPUTS {
            return None;
        }
        let mut rows: Vec<(Vec<usize>, bool)> = members.iter().map(|&at| (Vec::new(), forms[at].1)).collect();
        for (number, (_, column, _)) in inputs.iter().enumerate() {
            column.iter().for_each(|&row| rows[row].0.push(number));
        }
        let shape = Shape { n_inputs: inputs.len(), rows };
        let next = bits.n_tables + shapes.len() as u32;
        shapes.entry(shape.clone()).or_insert(next);
        if shapes.len() > MOST_FUNCTIONS {
            return None;
        }
        let outputs = members.iter().map(|&at| targets[at]).collect();
        found.push((shape, inputs.into_iter().map(|input| input.2).collect(), outputs));
    }
    let circuits: FxHashMap<&Shape, Circuit> = shapes.keys().map(|shape| (shape, shape.circuit(ternary))).collect();
    let found: Vec<Found> = found
        .into_iter()
        .map(|(shape, inputs, outputs)| Found {
            table: Part { table: shapes[&shape], index: vec![None; shape.n_inputs] },
            circuit: circuits[&shape].clone(),
            inputs,
            outputs,
        })
        .collect();
    Some(bits.with_calls(&found, &Sums::default()))
}

/// Sums that calls read and that are results, without the masks that their readers can mix in. With XORs of three it is
/// better to mix them in here.
fn targets(bits: &Bits, ternary: bool) -> Vec<Signal> {
    let is_source = |signal: Signal| signal.index() < bits.sources.len();
    let is_mask = |signal: Signal| matches!(bits.sources.get(signal.index()), Some(Source::Constant { .. }));
    let mut n_readers: FxHashMap<Signal, usize> = FxHashMap::default();
    let read = bits.circuit.gates().iter().flat_map(Gate::operands).chain(bits.circuit.outputs().iter().copied());
    read.for_each(|signal| *n_readers.entry(signal).or_default() += 1);
    let asked = bits.calls.iter().flat_map(|call| bits.asked(call));
    let results = bits.outputs.iter().flatten().map(|&output| &bits.circuit.outputs()[output]);
    let mut met = FxHashSet::default();
    let mut targets = Vec::new();
    for &signal in asked.chain(results) {
        let target = match bits.circuit.gate(signal) {
            Some(Gate::Xor(a, mask)) | Some(Gate::Xor(mask, a)) if is_mask(mask) => {
                if ternary && !is_source(a) && n_readers[&a] == 1 { signal } else { a }
            }
            _ => signal,
        };
        if !is_source(target) && met.insert(target) {
            targets.push(target);
        }
    }
    targets
}

/// What a sum is made of, down to inputs of the circuit and other targets; and whether it is complemented.
fn form(bits: &Bits, is_target: &FxHashSet<Signal>, target: Signal) -> (Vec<Signal>, bool) {
    let mut sum: FxHashMap<Signal, bool> = FxHashMap::default();
    let mut inverted = false;
    // How often a signal is in the sum does not matter, but whether it is odd: from the last to the first.
    let mut open: BTreeMap<Signal, bool> = BTreeMap::from([(target, true)]);
    while let Some((signal, odd)) = open.pop_last() {
        if !odd {
            continue;
        }
        match bits.circuit.gate(signal) {
            Some(gate) if signal == target || !is_target.contains(&signal) => {
                inverted ^= matches!(gate, Gate::Not(_) | Gate::Constant(true));
                gate.operands().for_each(|operand| *open.entry(operand).or_default() ^= true);
            }
            _ => *sum.entry(signal).or_default() ^= true,
        }
    }
    let mut parts: Vec<Signal> = sum.into_iter().filter_map(|(signal, odd)| odd.then_some(signal)).collect();
    parts.sort_unstable();
    (parts, inverted)
}
