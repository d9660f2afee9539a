//! Subcircuit extraction, and levels of the calls that are left. Parts of a circuit that become calls, and how deep
//! calls lie behind one another.

use super::bits::{Bits, Call, Part, Source};
use headrace_boolean::circuit::{Circuit, Signal};
use rustc_hash::{FxHashMap, FxHashSet};

/// A part of a circuit that is called instead: signals that it reads, and signals that it gives.
pub(super) struct Found {
    pub table: Part,
    pub circuit: Circuit,
    pub inputs: Vec<Signal>,
    pub outputs: Vec<Signal>,
}

/// A signal as a sum of outputs of calls, and whether complemented.
pub(super) type Sums = FxHashMap<Signal, (Vec<Signal>, bool)>;

impl Bits {
    /// The same with some of its parts as calls; signals of `sums` are made of what these give.
    pub fn with_calls(&self, found: &[Found], sums: &Sums) -> Bits {
        let n_old = self.sources.len();
        let (mut sources, mut calls, mut tables) = (self.sources.clone(), self.calls.clone(), self.tables.clone());
        let mut map: FxHashMap<Signal, Signal> = (0..n_old).map(|i| (Signal::from(i), Signal::from(i))).collect();
        for one in found {
            let (call, first_input) = (calls.len(), sources.len());
            calls.push(Call { table: one.table.clone(), first_output: 0, n_inputs: one.inputs.len(), first_input });
            for (bit, &signal) in one.outputs.iter().enumerate() {
                map.insert(signal, Signal::from(sources.len()));
                sources.push(Source::Table { call, bit: bit as u32 });
            }
            tables.insert(one.table.clone(), one.circuit.clone());
        }
        // What is still computed beside them.
        let asked = found.iter().flat_map(|one| &one.inputs);
        let mut open: Vec<Signal> = self.circuit.outputs().iter().chain(asked).copied().collect();
        let mut needed: FxHashSet<Signal> = FxHashSet::default();
        while let Some(signal) = open.pop() {
            if map.contains_key(&signal) || !needed.insert(signal) {
                continue;
            }
            match sums.get(&signal) {
                Some((parts, _)) => open.extend(parts),
                None => open.extend(self.circuit.gate(signal).into_iter().flat_map(|gate| gate.operands())),
            }
        }
        let mut circuit = Circuit::new(sources.len());
        for (i, gate) in self.circuit.gates().iter().enumerate() {
            let signal = Signal::from(n_old + i);
            if !needed.contains(&signal) {
                continue;
            }
            let new = match sums.get(&signal) {
                Some((parts, inverted)) => {
                    let parts: Vec<Signal> = parts.iter().map(|part| map[part]).collect();
                    circuit.push_xor(&parts, *inverted)
                }
                None => circuit.push(gate.map(|operand| map[&operand])),
            };
            map.insert(signal, new);
        }
        let mut n_outputs = self.circuit.outputs().len();
        self.circuit.outputs().iter().for_each(|output| circuit.push_output(map[output]));
        for (call, one) in calls[self.calls.len()..].iter_mut().zip(found) {
            call.first_output = n_outputs;
            n_outputs += one.inputs.len();
            one.inputs.iter().for_each(|input| circuit.push_output(map[input]));
        }
        let n_tables = found.iter().map(|one| one.table.table + 1).fold(self.n_tables, u32::max);
        Bits { circuit, sources, calls, tables, outputs: self.outputs.clone(), n_tables, cases: self.cases }
    }

    /// The same without some calls, which nobody reads.
    pub fn without_calls(&self, gone: &FxHashSet<usize>) -> Bits {
        let kept = |call: &usize| !gone.contains(call);
        let places: FxHashMap<usize, usize> =
            (0..self.calls.len()).filter(kept).enumerate().map(|(new, old)| (old, new)).collect();
        let moved = |source: &Source| match *source {
            // What they gave is still an input of the circuit.
            Source::Table { call, bit } => {
                Source::Table { call: places.get(&call).copied().unwrap_or(usize::MAX), bit }
            }
            other => other,
        };
        Bits {
            circuit: self.circuit.clone(),
            sources: self.sources.iter().map(moved).collect(),
            calls: (0..self.calls.len()).filter(kept).map(|call| self.calls[call].clone()).collect(),
            tables: self.tables.clone(),
            outputs: self.outputs.clone(),
            n_tables: self.n_tables,
            cases: self.cases,
        }
    }

    /// What a call reads.
    pub fn asked(&self, call: &Call) -> &[Signal] {
        &self.circuit.outputs()[call.first_output..call.first_output + call.n_inputs]
    }

    /// For each signal the most calls, and signals of `steps`, on a way to it; `None` where calls need each other.
    pub fn levels(&self, steps: &FxHashSet<Signal>) -> Option<Vec<usize>> {
        let n = self.sources.len() + self.circuit.gates().len();
        let mut levels: Vec<Option<usize>> = vec![None; n];
        let mut entered = vec![false; n];
        let mut open: Vec<Signal> = (0..n).rev().map(Signal::from).collect();
        while let Some(&signal) = open.last() {
            let at = signal.index();
            if levels[at].is_some() {
                open.pop();
                continue;
            }
            let operands: Vec<Signal> = match self.sources.get(at) {
                Some(Source::Table { call, .. }) => {
                    self.calls.get(*call).map_or_else(Vec::new, |call| self.asked(call).to_vec())
                }
                Some(_) => Vec::new(),
                None => self.circuit.gate(signal).into_iter().flat_map(|gate| gate.operands()).collect(),
            };
            let n_open = open.len();
            open.extend(operands.iter().filter(|operand| levels[operand.index()].is_none()));
            if open.len() > n_open {
                if std::mem::replace(&mut entered[at], true) {
                    return None;
                }
                continue;
            }
            let is_step = matches!(self.sources.get(at), Some(Source::Table { .. })) || steps.contains(&signal);
            let below = operands.iter().filter_map(|operand| levels[operand.index()]).max().unwrap_or(0);
            levels[at] = Some(below + usize::from(is_step));
        }
        levels.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::{Outside, basis};
    use super::super::{fused_subcircuits, linear_subcircuits, outlined_functions};
    use super::*;
    use headrace_boolean::circuit::Gate;
    use headrace_boolean::truth_table::Function;
    use headrace_transform::kernel::NodeId;
    use std::collections::BTreeMap;

    /// What the outputs are, on 256 inputs at once.
    fn run(bits: &Bits, inputs: &[Function]) -> Vec<Function> {
        fn value(
            bits: &Bits,
            inputs: &[Function],
            signal: Signal,
            known: &mut FxHashMap<Signal, Function>,
        ) -> Function {
            if let Some(&value) = known.get(&signal) {
                return value;
            }
            let found = match bits.sources.get(signal.index()) {
                Some(Source::Table { call, bit }) => {
                    let call = &bits.calls[*call];
                    let asked: Vec<Function> =
                        bits.asked(call).iter().map(|&asked| value(bits, inputs, asked, known)).collect();
                    let circuit = &bits.tables[&call.table];
                    circuit.signals_on(&asked)[circuit.outputs()[*bit as usize].index()]
                }
                Some(_) => inputs[signal.index()],
                None => {
                    let gate = bits.circuit.gate(signal).expect("a gate");
                    let operands: FxHashMap<Signal, Function> =
                        gate.operands().map(|operand| (operand, value(bits, inputs, operand, known))).collect();
                    gate.apply(|operand| operands[&operand])
                }
            };
            known.insert(signal, found);
            found
        }
        let mut known = FxHashMap::default();
        let outputs = bits.outputs.iter().flatten().map(|&output| bits.circuit.outputs()[output]);
        outputs.map(|output| value(bits, inputs, output, &mut known)).collect()
    }

    /// Four boxes of four bits as formulas, sums that mix all of them, and again; masks go in before.
    fn two_rounds() -> Bits {
        let mut sources = Vec::new();
        sources.extend((0..16).map(|bit| Source::Word { port: 0, word: 0, bit }));
        sources.extend((0..32).map(|bit| Source::Constant { node: NodeId(0), bit }));
        let mut circuit = Circuit::new(sources.len());
        let mut state: Vec<Signal> = (0..16).map(Signal::from).collect();
        for round in 0..2 {
            let mut next = Vec::new();
            for at in 0..4 {
                let x: Vec<Signal> = (0..4)
                    .map(|i| {
                        let mask = Signal::from(16 + 16 * round + 4 * at + i);
                        circuit.push(Gate::Xor(state[4 * at + i], mask))
                    })
                    .collect();
                let mut last = x[3];
                for i in 0..4 {
                    let product = circuit.push(Gate::And(x[i], last));
                    let sum = circuit.push(Gate::Xor(product, x[(i + 1) % 4]));
                    let more = circuit.push(Gate::Or(sum, x[(i + 2) % 4]));
                    last = circuit.push(Gate::Not(more));
                    next.push(last);
                }
            }
            state = (0..16)
                .map(|i| {
                    let sum = circuit.push(Gate::Xor(next[i], next[(i + 5) % 16]));
                    circuit.push(Gate::Xor(sum, next[(i + 10) % 16]))
                })
                .collect();
        }
        state.iter().for_each(|&signal| circuit.push_output(signal));
        let outputs = vec![(0..16).collect()];
        Bits { circuit, sources, calls: Vec::new(), tables: BTreeMap::new(), outputs, n_tables: 3, cases: 0 }
    }

    #[test]
    fn formulas_and_sums_become_calls_that_do_the_same() {
        let bits = two_rounds();
        let mut seed = 1_u64;
        let inputs: Vec<Function> = (bits.sources.iter())
            .map(|_| {
                Function([0; 4].map(|_: u64| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    seed ^ seed >> 31
                }))
            })
            .collect();
        let expected = run(&bits, &inputs);
        for ternary in [false, true] {
            let boxes =
                outlined_functions::as_tables(&bits, basis(ternary), Outside { total: 0, gates: 4 }).expect("tables");
            assert_eq!((boxes.calls.len(), boxes.tables.len()), (8, 1));
            assert_eq!(run(&boxes, &inputs), expected);
            let whole = linear_subcircuits::as_calls(&boxes, ternary).expect("calls");
            assert!(whole.calls.len() > 8 && whole.circuit.gates().len() <= 32);
            assert_eq!(run(&whole, &inputs), expected);
            let fed = fused_subcircuits::with_feeders(&whole);
            assert!(fed.calls.len() < whole.calls.len());
            assert_eq!(run(&fed, &inputs), expected);
        }
    }

    #[test]
    fn calls_that_need_each_other_have_no_levels() {
        let mut bits = two_rounds();
        let part = Part { table: 0, index: vec![None; 1] };
        bits.tables.insert(part.clone(), Circuit::new(1));
        let first_output = bits.circuit.outputs().len();
        let first_input = bits.sources.len();
        // A circuit whose only call reads what it gives.
        bits.sources.push(Source::Table { call: 0, bit: 0 });
        bits.circuit = Circuit::new(bits.sources.len());
        (0..=first_output).for_each(|_| bits.circuit.push_output(Signal::from(first_input)));
        bits.calls.push(Call { table: part, first_output, n_inputs: 1, first_input });
        assert!(bits.levels(&FxHashSet::default()).is_none());
    }
}
