//! Fusion of outlined subcircuits with their only consumer. Calls that feed nothing but one sum are one call with it:
//! what goes from the ones to the other need not pass memory.
//!
//! Example: the four S-boxes of a column, and the sums that mix it.

use super::bits::{Bits, Part, Source};
use super::outlined_functions::is_linear;
use super::subcircuits::{Found, Sums};
use headrace_boolean::circuit::{Circuit, Signal};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Gates of a function, so that few of them stay inside the instruction cache.
const MOST_GATES: usize = 600;

/// An input of a sum: an output of a call that is taken in, or one of the function as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Input {
    Fed { feeder: usize, bit: u32 },
    Other,
}

/// A sum, the tables of its feeders, and its inputs.
type Shape = (Part, Vec<Part>, Vec<Input>);

/// The same with calls taken into the sums that they feed.
pub(super) fn with_feeders(bits: &Bits) -> Bits {
    // Which calls read what each call gives; `None` stands for others.
    let call_of = |signal: Signal| match bits.sources.get(signal.index()) {
        Some(&Source::Table { call, bit }) => Some((call, bit)),
        _ => None,
    };
    let mut readers: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
    let results = bits.outputs.iter().flatten().map(|&output| bits.circuit.outputs()[output]);
    let others = bits.circuit.gates().iter().flat_map(|gate| gate.operands()).chain(results);
    let asked = bits.calls.iter().enumerate();
    let asked = asked.flat_map(|(number, call)| bits.asked(call).iter().map(move |&signal| (signal, Some(number))));
    for (signal, reader) in others.map(|signal| (signal, None)).chain(asked) {
        if let Some((call, _)) = call_of(signal) {
            readers.entry(call).or_default().insert(reader);
        }
    }
    let is_sum = |call: usize| bits.tables[&bits.calls[call].table].gates().iter().all(is_linear);
    let mut parts: FxHashMap<Shape, (Part, Circuit)> = FxHashMap::default();
    let mut found = Vec::new();
    let mut gone: FxHashSet<usize> = FxHashSet::default();
    for (number, sum) in bits.calls.iter().enumerate().filter(|(number, _)| is_sum(*number)) {
        let mut feeders: Vec<usize> = Vec::new();
        let mut inputs = Vec::new();
        let mut rest = Vec::new();
        for &signal in bits.asked(sum) {
            let only = |call: usize| readers[&call].len() == 1 && !is_sum(call);
            match call_of(signal).filter(|(call, _)| only(*call)) {
                Some((call, bit)) => {
                    let feeder = feeders.iter().position(|&feeder| feeder == call).unwrap_or_else(|| {
                        feeders.push(call);
                        feeders.len() - 1
                    });
                    inputs.push(Input::Fed { feeder, bit });
                }
                None => {
                    inputs.push(Input::Other);
                    rest.push(signal);
                }
            }
        }
        let tables: Vec<Part> = feeders.iter().map(|&feeder| bits.calls[feeder].table.clone()).collect();
        let circuits: Vec<&Circuit> = tables.iter().chain([&sum.table]).map(|table| &bits.tables[table]).collect();
        if feeders.is_empty() || circuits.iter().map(|circuit| circuit.gates().len()).sum::<usize>() > MOST_GATES {
            continue;
        }
        let asked = feeders.iter().flat_map(|&feeder| bits.asked(&bits.calls[feeder])).copied().chain(rest);
        let asked: Vec<Signal> = asked.collect();
        let next = bits.n_tables + parts.len() as u32;
        let (part, circuit) = parts.entry((sum.table.clone(), tables, inputs.clone())).or_insert_with(|| {
            let part = Part { table: next, index: vec![None; asked.len()] };
            (part, composed(&circuits, &inputs, asked.len()))
        });
        gone.extend(feeders.iter().copied().chain([number]));
        let outputs = bits.circuit.n_inputs();
        let outputs = (0..outputs).map(Signal::from).filter(|&signal| call_of(signal).is_some_and(|of| of.0 == number));
        found.push(Found { table: part.clone(), circuit: circuit.clone(), inputs: asked, outputs: outputs.collect() });
    }
    bits.with_calls(&found, &Sums::default()).without_calls(&gone)
}

/// Circuits whose outputs go into the last one, as one circuit.
fn composed(circuits: &[&Circuit], inputs: &[Input], n_inputs: usize) -> Circuit {
    let mut whole = Circuit::new(n_inputs);
    let mut next = (0..n_inputs).map(Signal::from);
    let Some((sum, feeders)) = circuits.split_last() else { return whole };
    let mut fed = Vec::new();
    for feeder in feeders {
        let read: Vec<Signal> = next.by_ref().take(feeder.n_inputs()).collect();
        fed.push(whole.append(feeder, &read));
    }
    let read: Vec<Signal> = inputs
        .iter()
        .filter_map(|input| match *input {
            Input::Fed { feeder, bit } => Some(fed[feeder][bit as usize]),
            Input::Other => next.next(),
        })
        .collect();
    let outputs = whole.append(sum, &read);
    outputs.into_iter().for_each(|output| whole.push_output(output));
    whole
}
