//! Resynthesis of linear regions. The linear regions of a circuit, made anew: whatever XORs stand between the gates that are
//! not linear is a matrix, and a matrix has a short network ([`crate::xor_network`]), however it was written.
//!
//! Example: `d = a ^ a<<1 ^ …` written bit by bit, in a circuit where the bits come from tables that stay outside and go into
//! others, is one region; four words that are treated alike are four parts of it, looked for once.
//!
//! The sources of a region are inputs of the circuit and outputs of gates that are not linear; its targets are the sums that
//! such gates read, or that are outputs. Targets are taken level by level, where the level of a signal is the number of
//! non-linear gates on the longest way to it: a sum may only be made from sources that are there, also when what is too late
//! would cancel. A part of a region is replaced when its network is smaller than the XORs that then are not needed; so the
//! circuit never becomes larger. Complements go to the end of the sums.

use crate::circuit::simplify::without_dead_gates;
use crate::circuit::{Circuit, Gate, Signal};
use crate::matrix::{BitMatrix, BitVector};
use crate::xor_network::components::components;
use crate::xor_network::{Arity, Options, XorNetwork, XorStep, improve, parts};
use std::collections::HashMap;

/// `a ^ b ^ c` as a table of three.
const XOR_OF_THREE: u8 = 0x96;

/// Forms of more bits than this, all signals together, are not made.
const LARGEST: usize = 1 << 30;

fn is_linear(gate: &Gate) -> bool {
    matches!(gate, Gate::Constant(_) | Gate::Not(_) | Gate::Xor(..) | Gate::Lut3(XOR_OF_THREE, ..))
}

/// A part that is to be replaced.
struct Replacement {
    /// The signals that its inputs are.
    sources: Vec<usize>,
    network: XorNetwork,
    /// The signals that its outputs replace, and whether complemented.
    targets: Vec<(usize, bool)>,
}

/// The circuit with smaller linear regions. `options.max_depth` counts within a region; with XORs of three, gates become
/// `Lut3`. The work is shared by all regions.
pub fn resynthesise(circuit: &Circuit, options: &Options) -> Circuit {
    let n_inputs = circuit.n_inputs();
    let gates = circuit.gates();
    let n = n_inputs + gates.len();
    // Levels, and each signal that is no sum as a source.
    let mut levels = vec![0_usize; n];
    let mut sources: Vec<usize> = (0..n_inputs).collect();
    for (i, gate) in gates.iter().enumerate() {
        let deepest = gate.operands().map(|s| levels[s.index()]).max().unwrap_or(0);
        levels[n_inputs + i] = deepest + usize::from(!is_linear(gate));
        if !is_linear(gate) {
            sources.push(n_inputs + i);
        }
    }
    if sources.len().saturating_mul(n) > LARGEST {
        return circuit.clone();
    }
    let mut is_target = vec![false; n];
    let mut targets: Vec<usize> = Vec::new();
    let read = gates.iter().filter(|gate| !is_linear(gate)).flat_map(Gate::operands);
    for signal in read.chain(circuit.outputs().iter().copied()) {
        let signal = signal.index();
        let is_sum = signal >= n_inputs && is_linear(&gates[signal - n_inputs]);
        if is_sum && !std::mem::replace(&mut is_target[signal], true) {
            targets.push(signal);
        }
    }
    let forms = forms(circuit, &sources);
    let n_levels = levels.iter().copied().max().unwrap_or(0) + 1;
    let share = Options { work: options.work / n_levels as u64, ..options.clone() };
    let mut known: HashMap<BitMatrix, Option<XorNetwork>> = HashMap::new();
    let mut replacements: Vec<Vec<Replacement>> = Vec::new();
    for level in 0..n_levels {
        let here: Vec<usize> = targets.iter().copied().filter(|&t| levels[t] == level).collect();
        let rows: Vec<BitVector> = here.iter().map(|&t| forms[t].0.clone()).collect();
        let found = components(&BitMatrix::from_rows(sources.len(), &rows)).into_iter().filter_map(|part| {
            let network = known
                .entry(part.matrix.clone())
                .or_insert_with(|| parts::network(&part.matrix, &share).ok())
                .clone()?;
            let targets: Vec<usize> = part.rows.iter().map(|&i| here[i]).collect();
            let columns: Vec<usize> = part.columns.iter().map(|&j| sources[j]).collect();
            let network = better(circuit, &is_target, &targets, &columns, network, &share)?;
            let targets = targets.into_iter().map(|t| (t, forms[t].1)).collect();
            Some(Replacement { sources: columns, network, targets })
        });
        replacements.push(found.collect());
    }
    let result = without_dead_gates(&rebuild(circuit, &levels, &replacements));
    let size = |circuit: &Circuit| circuit.gates().iter().filter(|gate| !matches!(gate, Gate::Constant(_))).count();
    if size(&result) < size(circuit) { result } else { circuit.clone() }
}

/// Each signal as a sum of sources and a constant; a source as itself.
fn forms(circuit: &Circuit, sources: &[usize]) -> Vec<(BitVector, bool)> {
    let places: HashMap<usize, usize> = sources.iter().enumerate().map(|(at, &signal)| (signal, at)).collect();
    let mut forms: Vec<(BitVector, bool)> = Vec::new();
    for signal in 0..circuit.n_inputs() + circuit.gates().len() {
        let form = match places.get(&signal) {
            Some(&at) => (BitVector::unit(sources.len(), at), false),
            None => {
                let gate = circuit.gates()[signal - circuit.n_inputs()];
                let constant = matches!(gate, Gate::Not(_) | Gate::Constant(true));
                gate.operands().fold((BitVector::zero(sources.len()), constant), |(sum, constant), operand| {
                    let (form, other) = &forms[operand.index()];
                    (sum.xor(form), constant ^ other)
                })
            }
        };
        forms.push(form);
    }
    forms
}

/// The network to replace a part by: the new one, or the old one improved, when it is smaller than the gates that only these
/// targets need.
fn better(
    circuit: &Circuit,
    is_target: &[bool],
    targets: &[usize],
    columns: &[usize],
    network: XorNetwork,
    options: &Options,
) -> Option<XorNetwork> {
    let n_inputs = circuit.n_inputs();
    let sum = |signal: usize| signal.checked_sub(n_inputs).map(|i| circuit.gates()[i]).filter(is_linear);
    // What the sums of other targets need, not counting these here.
    let reach = |from: &[usize], stop: &[usize]| {
        let mut seen = vec![false; is_target.len()];
        let mut rest = from.to_vec();
        while let Some(signal) = rest.pop() {
            if let Some(gate) = sum(signal)
                && !seen[signal]
            {
                seen[signal] = true;
                rest.extend(gate.operands().map(Signal::index).filter(|s| !stop.contains(s)));
            }
        }
        seen
    };
    let others: Vec<usize> = (0..is_target.len()).filter(|&t| is_target[t] && !targets.contains(&t)).collect();
    let (mine, theirs) = (reach(targets, &[]), reach(&others, targets));
    let gates = |signal: &usize| matches!(sum(*signal), Some(Gate::Xor(..) | Gate::Lut3(..)));
    let only_mine: Vec<usize> = (0..mine.len()).filter(|&s| mine[s] && !theirs[s]).filter(gates).collect();
    let all_mine = (0..mine.len()).filter(|&s| mine[s]).filter(gates).count();
    let old = old_network(circuit, &mine, targets, columns).filter(|_| only_mine.len() == all_mine);
    let Some(old) = old else {
        // With XORs of three, gates of two that are kept for others cannot be compared.
        return (options.arity == Arity::Two && network.steps().len() < only_mine.len()).then_some(network);
    };
    let matrix = old.matrix();
    let improved = improve(&old, options);
    let best = if improved.steps().len() < network.steps().len() { improved } else { network };
    (best.steps().len() < old.steps().len() && best.matrix() == matrix).then_some(best)
}

/// The sums of `targets` as they are. None when they read something that cancels.
fn old_network(circuit: &Circuit, mine: &[bool], targets: &[usize], columns: &[usize]) -> Option<XorNetwork> {
    let n_inputs = circuit.n_inputs();
    let mut places: HashMap<usize, Option<usize>> = columns.iter().enumerate().map(|(j, &s)| (s, Some(j))).collect();
    let mut steps = Vec::new();
    for signal in (0..mine.len()).filter(|&s| mine[s]) {
        let gate = circuit.gates()[signal - n_inputs];
        let operands: Vec<usize> = gate
            .operands()
            .map(|s| places.get(&s.index()).copied())
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        let place = match operands[..] {
            [] => None,
            [a] => Some(a),
            [a, b] => {
                steps.push(XorStep::Two(a, b));
                Some(columns.len() + steps.len() - 1)
            }
            [a, b, c, ..] => {
                steps.push(XorStep::Three(a, b, c));
                Some(columns.len() + steps.len() - 1)
            }
        };
        places.insert(signal, place);
    }
    let outputs = targets.iter().map(|t| places.get(t).copied()).collect::<Option<Vec<_>>>()?;
    Some(XorNetwork::new(columns.len(), steps, outputs))
}

fn rebuild(circuit: &Circuit, levels: &[usize], replacements: &[Vec<Replacement>]) -> Circuit {
    let n_inputs = circuit.n_inputs();
    let mut result = Circuit::new(n_inputs);
    let mut places: HashMap<usize, Signal> = (0..n_inputs).map(|i| (i, result.input(i))).collect();
    for (level, replacements) in replacements.iter().enumerate() {
        let here = |i: &usize| levels[n_inputs + i] == level;
        let copy = |result: &mut Circuit, places: &mut HashMap<usize, Signal>, i: usize| {
            let place = |s: Signal| places.get(&s.index()).copied().unwrap_or(s);
            let signal = result.push(circuit.gates()[i].map(place));
            places.insert(n_inputs + i, signal);
        };
        for i in (0..circuit.gates().len()).filter(here).filter(|&i| !is_linear(&circuit.gates()[i])) {
            copy(&mut result, &mut places, i);
        }
        for replacement in replacements {
            let mut values: Vec<Signal> =
                replacement.sources.iter().map(|s| places.get(s).copied().unwrap_or(Signal(0))).collect();
            for step in replacement.network.steps() {
                values.push(result.push(match *step {
                    XorStep::Two(a, b) => Gate::Xor(values[a], values[b]),
                    XorStep::Three(a, b, c) => Gate::Lut3(XOR_OF_THREE, values[a], values[b], values[c]),
                }));
            }
            for (&(target, complemented), output) in replacement.targets.iter().zip(replacement.network.outputs()) {
                let value = match output {
                    None => result.push(Gate::Constant(complemented)),
                    Some(v) if complemented => result.push(Gate::Not(values[*v])),
                    Some(v) => values[*v],
                };
                places.insert(target, value);
            }
        }
        for i in (0..circuit.gates().len()).filter(here).filter(|&i| is_linear(&circuit.gates()[i])) {
            if !places.contains_key(&(n_inputs + i)) {
                copy(&mut result, &mut places, i);
            }
        }
    }
    for output in circuit.outputs() {
        result.push_output(places.get(&output.index()).copied().unwrap_or(*output));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::lookup_tables::cover;
    use crate::random::Random;
    use crate::truth_table::Function;

    /// What a circuit computes for 256 random inputs at once.
    fn sample(circuit: &Circuit, random: &mut Random) -> (Vec<Function>, Vec<Function>) {
        let inputs: Vec<Function> =
            (0..circuit.n_inputs()).map(|_| Function(std::array::from_fn(|_| random.next()))).collect();
        let values = circuit.signals_on(&inputs);
        (inputs, circuit.outputs().iter().map(|s| values[s.index()]).collect())
    }

    fn same(a: &Circuit, b: &Circuit, random: &mut Random) {
        for _ in 0..4 {
            let (inputs, outputs) = sample(a, random);
            let values = b.signals_on(&inputs);
            assert_eq!(outputs, b.outputs().iter().map(|s| values[s.index()]).collect::<Vec<_>>());
        }
    }

    /// Random gates of all kinds, most of them XORs.
    fn random_circuit(random: &mut Random, n_inputs: usize, n_gates: usize) -> Circuit {
        let mut c = Circuit::new(n_inputs);
        for _ in 0..n_gates {
            let mut any = || Signal::from(random.below(c.n_inputs() + c.gates().len()));
            let (a, b, d) = (any(), any(), any());
            c.push(match random.below(12) {
                0 => Gate::And(a, b),
                1 => Gate::Not(a),
                2 => Gate::AndNot(a, b),
                3 => Gate::Lut3(XOR_OF_THREE, a, b, d),
                4 => Gate::Lut3(0x1b, a, b, d),
                5 if random.below(4) == 0 => Gate::Constant(true),
                _ => Gate::Xor(a, b),
            });
        }
        for _ in 0..6 {
            c.push_output(Signal::from(random.below(n_inputs + n_gates)));
        }
        c
    }

    #[test]
    fn circuits_stay_equal_and_never_grow() {
        let mut random = Random::new(1);
        let mut n_smaller = 0;
        for _ in 0..60 {
            let circuit = random_circuit(&mut random, 12, 80);
            for arity in [Arity::Two, Arity::Three] {
                let options = Options { arity, work: 50_000, ..Options::default() };
                let live = without_dead_gates(&circuit);
                let result = resynthesise(&live, &options);
                same(&circuit, &result, &mut random);
                assert!(result.gates().len() <= live.gates().len());
                n_smaller += usize::from(result.gates().len() < live.gates().len());
            }
        }
        assert!(n_smaller > 20, "{n_smaller}");
    }

    #[test]
    fn a_linear_layer_written_step_by_step_becomes_a_short_one() {
        // Four bytes: each twice itself, three times the next, once the others, and a key; doubling bit by bit.
        let mut c = Circuit::new(64);
        let byte = |i: usize| -> Vec<Signal> { (0..8).map(|b| Signal::from(8 * (i % 4) + b)).collect() };
        for i in 0..4 {
            let sum: Vec<Signal> = byte(i).into_iter().zip(byte(i + 1)).map(|(a, b)| c.push(Gate::Xor(a, b))).collect();
            for b in 0..8 {
                let mut bit = if b == 0 { sum[7] } else { sum[b - 1] };
                if [1, 3, 4].contains(&b) {
                    bit = c.push(Gate::Xor(bit, sum[7]));
                }
                for other in [byte(i + 1)[b], byte(i + 2)[b], byte(i + 3)[b], Signal::from(32 + 8 * i + b)] {
                    bit = c.push(Gate::Xor(bit, other));
                }
                c.push_output(bit);
            }
        }
        let mut random = Random::new(2);
        let two = resynthesise(&c, &Options::default());
        same(&c, &two, &mut random);
        assert!(c.gates().len() > 150 && two.gates().len() <= 121, "{}", two.gates().len());
        let three = resynthesise(&c, &Options { arity: Arity::Three, ..Options::default() });
        same(&c, &three, &mut random);
        let covered = cover(&c, &crate::basis::Basis::THREE_INPUT, 1).gates().len();
        eprintln!("three {} against {covered}", three.gates().len());
        assert!(three.gates().len() <= covered);
        let again = cover(&three, &crate::basis::Basis::THREE_INPUT, 1).gates().len();
        assert!(again <= three.gates().len());
    }
}
