//! Recognition of table functions in circuits. Tables that were written as formulas, found in a circuit and called.
//!
//! Gates that are not linear belong together where they read the same signal or one another, and groups of them where
//! each needs the other. If all that such a group reads from elsewhere is made of a few signals by sums, the group is a
//! function of these, with a truth table; and a table that occurs often is a call, whatever it was written as.
//!
//! Example: an S-box as products in a subfield, done bit by bit on all bytes at once: sixteen groups, which read eight
//! signals each, the sums of the round key and the state.

use super::bits::{Bits, Outside, Part, Source};
use super::subcircuits::{Found, Sums};
use super::translation_validation::proved;
use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::{Circuit, Gate, Signal};
use headrace_boolean::realisation::{Effort, circuit_for};
use headrace_boolean::truth_table::{Function, MAX_INPUTS, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Outputs of a table.
const MOST_OUTPUTS: usize = 32;

/// Signals in all sums together, written out: more are not looked through.
const MOST_TERMS: usize = 1 << 24;

/// Signals behind a group.
const LARGEST_CONE: usize = 20_000;

const XOR_OF_THREE: u8 = 0x96;

/// Whether a gate gives a sum of what it reads.
pub(super) fn is_linear(gate: &Gate) -> bool {
    matches!(gate, Gate::Constant(_) | Gate::Not(_) | Gate::Xor(..) | Gate::Lut3(XOR_OF_THREE, ..))
}

/// A group as a table.
struct Group {
    inputs: Vec<Signal>,
    outputs: Vec<Signal>,
    /// Other signals that are read outside of it: sums of its outputs.
    sums: Sums,
    table: Table,
}

/// The circuit with tables as calls; `None` where there are not enough of them.
pub(super) fn as_tables(bits: &Bits, basis: &Basis, outside: Outside) -> Option<Bits> {
    let forms = forms(&bits.circuit)?;
    let mut readers: Vec<Vec<Signal>> = vec![Vec::new(); forms.len()];
    for (i, gate) in bits.circuit.gates().iter().enumerate() {
        gate.operands().for_each(|operand| readers[operand.index()].push(Signal::from(bits.sources.len() + i)));
    }
    let outputs: FxHashSet<Signal> = bits.circuit.outputs().iter().copied().collect();
    let found: Vec<Group> =
        groups(bits, &forms).iter().filter_map(|members| group(bits, &forms, &readers, &outputs, members)).collect();
    let mut uses: FxHashMap<&Table, usize> = FxHashMap::default();
    found.iter().for_each(|group| *uses.entry(&group.table).or_default() += 1);
    let mut circuits: FxHashMap<&Table, (Part, Circuit)> = FxHashMap::default();
    let mut total = 0;
    for group in found.iter().filter(|group| uses[&group.table] > 2) {
        let number = bits.n_tables + circuits.len() as u32;
        let (_, circuit) = circuits.entry(&group.table).or_insert_with(|| {
            let part = Part { table: number, index: vec![None; group.inputs.len()] };
            (part, circuit_for(&group.table, basis, Effort::Quick).circuit)
        });
        total += circuit.gates().len();
    }
    let mut cases = bits.cases;
    for (table, (_, circuit)) in &circuits {
        cases = cases.max(proved(circuit, table).ok()?);
    }
    circuits.retain(|_, (_, circuit)| circuit.gates().len() >= outside.gates);
    if circuits.is_empty() || total <= outside.total {
        return None;
    }
    let mut sums = Sums::default();
    let mut calls = Vec::new();
    for group in &found {
        let Some((part, circuit)) = circuits.get(&group.table) else { continue };
        sums.extend(group.sums.iter().map(|(&signal, sum)| (signal, sum.clone())));
        let (inputs, outputs) = (group.inputs.clone(), group.outputs.clone());
        calls.push(Found { table: part.clone(), circuit: circuit.clone(), inputs, outputs });
    }
    Some(Bits { cases, ..bits.with_calls(&calls, &sums) })
}

/// What each signal is the sum of, but for a constant: inputs of the circuit and gates that are not linear, ascending.
fn forms(circuit: &Circuit) -> Option<Vec<Vec<u32>>> {
    let n_inputs = circuit.n_inputs();
    let mut forms: Vec<Vec<u32>> = (0..n_inputs as u32).map(|i| vec![i]).collect();
    let mut total = 0;
    for gate in circuit.gates() {
        let form = if is_linear(gate) {
            gate.operands().fold(Vec::new(), |sum, operand| added(&sum, &forms[operand.index()]))
        } else {
            vec![forms.len() as u32]
        };
        total += form.len();
        if total > MOST_TERMS {
            return None;
        }
        forms.push(form);
    }
    Some(forms)
}

/// The sum of two forms.
fn added(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x == y => {
                a.next();
                b.next();
            }
            (Some(x), Some(y)) if x > y => sum.extend(b.next()),
            (Some(_), _) => sum.extend(a.next()),
            (None, Some(_)) => sum.extend(b.next()),
            (None, None) => return sum,
        }
    }
}

/// Forms that are independent, by their last signals.
#[derive(Default)]
struct Span(BTreeMap<u32, Vec<u32>>);

impl Span {
    /// What remains of a form; nothing, if it is a sum of those that are here.
    fn remainder(&self, form: &[u32]) -> Vec<u32> {
        let mut form = form.to_vec();
        while let Some(row) = form.last().and_then(|last| self.0.get(last)) {
            form = added(&form, row);
        }
        form
    }

    /// Adds a form, if it is independent of those that are here.
    fn insert(&mut self, form: &[u32]) -> bool {
        let rest = self.remainder(form);
        let Some(&last) = rest.last() else { return false };
        self.0.insert(last, rest);
        true
    }
}

/// Gates that are not linear, in groups of those that read the same signals or one another.
fn groups(bits: &Bits, forms: &[Vec<u32>]) -> Vec<Vec<Signal>> {
    let circuit = &bits.circuit;
    let n_inputs = circuit.n_inputs();
    let mut parents: Vec<usize> = (0..n_inputs + circuit.gates().len()).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let members = || (0..circuit.gates().len()).filter(|&i| !is_linear(&circuit.gates()[i]));
    for i in members() {
        for mut operand in circuit.gates()[i].operands() {
            while let Some(Gate::Not(inner)) = circuit.gate(operand) {
                operand = inner;
            }
            let apart = match bits.sources.get(operand.index()) {
                Some(source) => matches!(source, Source::Constant { .. }),
                None => matches!(circuit.gate(operand), Some(Gate::Constant(_))),
            };
            if !apart {
                // A signal and those who read it.
                let (a, b) = (root(&mut parents, n_inputs + i), root(&mut parents, operand.index()));
                parents[a.max(b)] = a.min(b);
            }
        }
    }
    let mut found: BTreeMap<usize, Vec<Signal>> = BTreeMap::new();
    for i in members() {
        found.entry(root(&mut parents, n_inputs + i)).or_default().push(Signal::from(n_inputs + i));
    }
    let found: Vec<Vec<Signal>> = found.into_values().collect();
    // What each needs of others.
    let mut group_of: FxHashMap<u32, usize> = FxHashMap::default();
    for (number, members) in found.iter().enumerate() {
        group_of.extend(members.iter().map(|member| (member.0, number)));
    }
    let needs: Vec<BTreeSet<usize>> = (found.iter().enumerate())
        .map(|(number, members)| {
            let operands = members.iter().filter_map(|&member| circuit.gate(member)).flat_map(|gate| gate.operands());
            let leaves = operands.flat_map(|operand| &forms[operand.index()]);
            leaves.filter_map(|leaf| group_of.get(leaf).copied()).filter(|&other| other != number).collect()
        })
        .collect();
    let mut together: Vec<Vec<Signal>> = cycles(&needs)
        .into_iter()
        .map(|numbers| {
            let mut members: Vec<Signal> = numbers.into_iter().flat_map(|number| found[number].clone()).collect();
            members.sort_unstable();
            members
        })
        .collect();
    together.sort_unstable();
    together
}

/// Those that need each other, together: strongly connected components, by two walks (Kosaraju).
fn cycles(needs: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    for (at, all) in needs.iter().enumerate() {
        all.iter().for_each(|&other| needed_by[other].push(at));
    }
    let mut met = vec![false; needs.len()];
    let mut finished = Vec::with_capacity(needs.len());
    for start in 0..needs.len() {
        let mut open = vec![(start, false)];
        while let Some((at, is_over)) = open.pop() {
            if is_over {
                finished.push(at);
            } else if !std::mem::replace(&mut met[at], true) {
                open.push((at, true));
                open.extend(needs[at].iter().filter(|&&other| !met[other]).map(|&other| (other, false)));
            }
        }
    }
    let mut found = Vec::new();
    let mut taken = vec![false; needs.len()];
    for start in finished.into_iter().rev() {
        let mut cycle = Vec::new();
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut taken[at], true) {
                cycle.push(at);
                open.extend(&needed_by[at]);
            }
        }
        if !cycle.is_empty() {
            found.push(cycle);
        }
    }
    found
}

/// A group as a table; `None` where it reads too much.
fn group(
    bits: &Bits,
    forms: &[Vec<u32>],
    readers: &[Vec<Signal>],
    circuit_outputs: &FxHashSet<Signal>,
    members: &[Signal],
) -> Option<Group> {
    let circuit = &bits.circuit;
    let own: FxHashSet<u32> = members.iter().map(|member| member.0).collect();
    // What it reads from elsewhere, and all signals behind that.
    let mut needed = Span::default();
    let mut open = Vec::new();
    for operand in members.iter().filter_map(|&member| circuit.gate(member)).flat_map(|gate| gate.operands()) {
        let form: Vec<u32> = forms[operand.index()].iter().copied().filter(|leaf| !own.contains(leaf)).collect();
        needed.insert(&form);
        if needed.0.len() > MAX_INPUTS {
            return None;
        }
        open.push(operand);
    }
    let mut cone: BTreeSet<Signal> = BTreeSet::new();
    while let Some(signal) = open.pop() {
        if cone.insert(signal) {
            open.extend(circuit.gate(signal).filter(is_linear).into_iter().flat_map(|gate| gate.operands()));
        }
        if cone.len() > LARGEST_CONE {
            return None;
        }
    }
    // The first signals that make up all of it.
    let mut span = Span::default();
    let of_it = |signal: &Signal| {
        let form = &forms[signal.index()];
        form.iter().all(|leaf| !own.contains(leaf)) && needed.remainder(form).is_empty() && span.insert(form)
    };
    let inputs: Vec<Signal> = cone.iter().copied().filter(of_it).collect();
    if inputs.len() < needed.0.len() {
        return None;
    }
    // All that can be computed from these.
    let mut inside: BTreeMap<Signal, Function> = BTreeMap::new();
    let mut queue: BTreeSet<Signal> = BTreeSet::new();
    for (i, input) in inputs.iter().enumerate() {
        inside.insert(*input, Function::variable(i));
        queue.extend(&readers[input.index()]);
    }
    while let Some(signal) = queue.pop_first() {
        let Some(gate) = circuit.gate(signal).filter(|gate| is_linear(gate) || own.contains(&signal.0)) else {
            continue;
        };
        let constant = |signal: Signal| match circuit.gate(signal) {
            Some(Gate::Constant(value)) => Some(Function::constant(value)),
            _ => None,
        };
        let value = |signal: Signal| inside.get(&signal).copied().or_else(|| constant(signal));
        if inside.contains_key(&signal) || gate.operands().any(|operand| value(operand).is_none()) {
            continue;
        }
        let function = gate.apply(|operand| value(operand).unwrap_or_default());
        inside.insert(signal, function);
        queue.extend(&readers[signal.index()]);
    }
    if members.iter().any(|member| !inside.contains_key(member)) {
        return None;
    }
    let is_read = |signal: &Signal| {
        circuit_outputs.contains(signal) || readers[signal.index()].iter().any(|reader| !inside.contains_key(reader))
    };
    let read = inside.iter().filter(|(signal, function)| function.as_affine().is_none() && is_read(signal));
    // Outputs that are sums of others are made of these. A row is a function, and the outputs and the constant in it.
    let mut rows: Vec<(usize, Function, u64, bool)> = vec![(0, Function::ONE, 0, true)];
    let (mut outputs, mut functions, mut sums) = (Vec::new(), Vec::new(), Sums::default());
    for (&signal, &function) in read {
        let (mut rest, mut parts, mut inverted) = (function, 0_u64, false);
        for &(pivot, row, of, one) in &rows {
            if rest.at(pivot) {
                rest = rest ^ row;
                parts ^= of;
                inverted ^= one;
            }
        }
        match (0..1 << MAX_INPUTS).find(|&x| rest.at(x)) {
            Some(pivot) => {
                rows.push((pivot, rest, parts | 1 << outputs.len(), inverted));
                outputs.push(signal);
                functions.push(function);
            }
            None => {
                let parts = (0..outputs.len()).filter(|i| parts >> i & 1 == 1).map(|i| outputs[i]).collect();
                sums.insert(signal, (parts, inverted));
            }
        }
        if outputs.len() > MOST_OUTPUTS {
            return None;
        }
    }
    let table = Table::from_functions(inputs.len(), &functions);
    Some(Group { inputs, outputs, sums, table })
}
