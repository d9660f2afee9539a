//! Synthesis by recursive selection of gates. A circuit from a table in the manner of Kwan («Reducing the gate count of
//! bitslice DES», 2000): an output is one of the signals there are, or one gate of them, or two; and if none of that, an input
//! selects between two functions that are made in the same way, each of which has to be right for one value of that input only.
//!
//! What counts are two sets, of the inputs at which the output must be 1 and at which it must be 0; elsewhere anything goes.
//! Signals serve up to complement, because whatever reads them can undo it. Which input selects is tried at random, best of
//! a few; all outputs share the signals of those before them, so that their order is tried at random too. The results are
//! starting points for `resubstitution`: many different ones are worth more than one that is good.

use super::net::{and, and_not, gate_of, rest, separates};
use crate::basis::Basis;
use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::random::Random;
use crate::truth_table::{Function, Table};

/// How it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// How many inputs are tried as selectors at each place.
    pub n_branches: usize,
    /// How many pairs are tried as the upper operands of two gates at each place.
    pub n_pairs: usize,
    /// Another number is another circuit.
    pub seed: u64,
}

struct Builder {
    wide: bool,
    options: Selection,
    n_inputs: usize,
    /// Inputs, then gates, each with its value.
    values: Vec<[u64; 4]>,
    gates: Vec<Gate>,
    random: Random,
    /// In which order the inputs select.
    order: Vec<usize>,
}

type Words = [u64; 4];

/// A circuit for a table in gates of a basis.
pub fn select(table: &Table, basis: &Basis, options: Selection) -> Circuit {
    let n = table.n_inputs();
    let mut b = Builder {
        wide: basis.lut3.is_some(),
        options,
        n_inputs: n,
        values: (0..n).map(|i| Function::variable(i).0).collect(),
        gates: Vec::new(),
        random: Random::new(options.seed ^ 0x5e1ec7),
        order: Vec::new(),
    };
    b.order = b.shuffled(n);
    let order = b.shuffled(table.n_outputs());
    let functions = table.outputs();
    let mut outputs = vec![Signal(0); functions.len()];
    for j in order {
        let f = functions[j];
        outputs[j] = if f.is_zero() || f == Function::ONE {
            b.push(Gate::Constant(!f.is_zero()))
        } else {
            let signal = b.make(&f.0, &(!f).0, (1 << n) - 1);
            if b.values[signal.index()] == f.0 { signal } else { b.push(Gate::Not(signal)) }
        };
    }
    let mut circuit = Circuit::new(n);
    for gate in b.gates {
        circuit.push(gate);
    }
    outputs.into_iter().for_each(|s| circuit.push_output(s));
    simplify(&circuit)
}

impl Builder {
    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut list: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            list.swap(i, self.random.below(i + 1));
        }
        list
    }

    fn push(&mut self, gate: Gate) -> Signal {
        let f = gate.apply(|s| Function(self.values[s.index()]));
        self.gates.push(gate);
        self.values.push(f.0);
        Signal::from(self.values.len() - 1)
    }

    fn restore(&mut self, n_gates: usize) {
        self.gates.truncate(n_gates);
        self.values.truncate(self.n_inputs + n_gates);
    }

    /// A signal that is 1 on `on` and 0 on `off`, or the other way round; `left` are the inputs that have not selected yet.
    fn make(&mut self, on: &Words, off: &Words, left: u32) -> Signal {
        if let Some(s) = self.there(on, off) {
            return s;
        }
        if let Some(s) = self.one_gate(on, off) {
            return s;
        }
        if let Some(s) = self.two_gates(on, off) {
            return s;
        }
        let inputs: Vec<usize> = self.order.iter().copied().filter(|i| left >> i & 1 == 1).collect();
        let begin = self.gates.len();
        let mut best: Option<(Vec<Gate>, Vec<Words>, Signal)> = None;
        // Far down, where there is little left to choose, one branch is enough.
        let n_branches = if inputs.len() + 1 >= self.n_inputs { self.options.n_branches } else { 1 };
        for input in inputs.into_iter().take(n_branches) {
            let signal = self.by_selection(on, off, left & !(1 << input), input);
            if best.as_ref().is_none_or(|(gates, ..)| self.gates.len() - begin < gates.len()) {
                best = Some((self.gates[begin..].to_vec(), self.values[self.n_inputs + begin..].to_vec(), signal));
            }
            self.restore(begin);
        }
        match best {
            Some((gates, values, signal)) => {
                self.gates.extend(gates);
                self.values.extend(values);
                signal
            }
            // No input is left: at most one place is cared for, which any constant serves.
            None => self.push(Gate::Constant(false)),
        }
    }

    fn by_selection(&mut self, on: &Words, off: &Words, left: u32, input: usize) -> Signal {
        let x = Function::variable(input).0;
        let empty = |w: &Words| w.iter().all(|w| *w == 0);
        let (low_on, low_off) = (and_not(on, &x), and_not(off, &x));
        let (high_on, high_off) = (and(on, &x), and(off, &x));
        // Where the output is the same throughout, the input alone decides.
        if empty(&low_on) || empty(&low_off) {
            let high = self.make(&high_on, &high_off, left);
            return self.gate(&[input, high.index()], on, off);
        }
        let low = self.make(&low_on, &low_off, left);
        if empty(&high_on) || empty(&high_off) {
            return self.gate(&[input, low.index()], on, off);
        }
        if self.wide {
            let high = self.make(&high_on, &high_off, left);
            return self.gate(&[input, high.index(), low.index()], on, off);
        }
        let selector = Signal::from(input);
        let low_value = self.values[low.index()];
        // Whether `low` is complemented where x is 0.
        let turned = low_on.iter().zip(&low_value).any(|(w, v)| w & !v != 0);
        // low ⊕ (x and what is wrong with low where x is 1)
        let flip = if turned { u64::MAX } else { 0 };
        let wrong: Words =
            std::array::from_fn(|i| x[i] & (on[i] & !(low_value[i] ^ flip) | off[i] & (low_value[i] ^ flip)));
        let right: Words =
            std::array::from_fn(|i| x[i] & (on[i] & (low_value[i] ^ flip) | off[i] & !(low_value[i] ^ flip)));
        if empty(&wrong) {
            return low;
        }
        if empty(&right) {
            return self.push(Gate::Xor(low, selector));
        }
        let change = self.make(&wrong, &right, left);
        let value = self.values[change.index()];
        let gate = if wrong.iter().zip(&value).any(|(w, v)| w & !v != 0) {
            Gate::AndNot(selector, change)
        } else {
            Gate::And(selector, change)
        };
        let chosen = self.push(gate);
        self.push(Gate::Xor(low, chosen))
    }

    fn there(&self, on: &Words, off: &Words) -> Option<Signal> {
        let r = rest(on, off, &[0; 4], &[0; 4]);
        self.values.iter().position(|v| separates(&r, v)).map(Signal::from)
    }

    /// The gate of these signals that is 1 on `on` and 0 on `off`, up to complement if it is one of two inputs.
    fn gate(&mut self, signals: &[usize], on: &Words, off: &Words) -> Signal {
        let values: Vec<&Words> = signals.iter().map(|s| &self.values[*s]).collect();
        let gate = gate_of(self.wide, signals, &values, on, off);
        self.push(gate)
    }

    fn one_gate(&mut self, on: &Words, off: &Words) -> Option<Signal> {
        let signals = self.operands(on, off)?;
        Some(self.gate(&signals, on, off))
    }

    /// Two or three signals that tell `on` from `off`.
    fn operands(&mut self, on: &Words, off: &Words) -> Option<Vec<usize>> {
        let n = self.values.len();
        let turn = self.random.below(n);
        let at = |i: usize| (i + turn) % n;
        for i in 0..n {
            for j in 0..i {
                let r = rest(on, off, &self.values[at(i)], &self.values[at(j)]);
                if r.n == 0 {
                    return Some(vec![at(i), at(j)]);
                }
                if !self.wide {
                    continue;
                }
                if let Some(k) = (0..j).find(|k| separates(&r, &self.values[at(*k)])) {
                    return Some(vec![at(i), at(j), at(k)]);
                }
            }
        }
        None
    }

    fn two_gates(&mut self, on: &Words, off: &Words) -> Option<Signal> {
        let n = self.values.len();
        for _ in 0..self.options.n_pairs {
            let i = self.random.below(n);
            let j = if self.wide { self.random.below(n) } else { i };
            if self.wide && i == j {
                continue;
            }
            let r = rest(on, off, &self.values[i], &self.values[j]);
            if r.n == 0 {
                continue;
            }
            for turns in 0..1usize << (r.n - 1) {
                let (mut new_on, mut new_off) = ([0u64; 4], [0u64; 4]);
                for (k, (x, y)) in r.parts[..r.n].iter().enumerate() {
                    let (x, y) = if turns >> k & 1 == 1 { (y, x) } else { (x, y) };
                    for w in 0..4 {
                        new_on[w] |= x[w];
                        new_off[w] |= y[w];
                    }
                }
                if let Some(signals) = self.operands(&new_on, &new_off) {
                    let lower = self.gate(&signals, &new_on, &new_off).index();
                    let upper = if self.wide { vec![i, j, lower] } else { vec![i, lower] };
                    return Some(self.gate(&upper, on, off));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn every_small_known_function_is_made() {
        for k in known::all().iter().filter(|k| k.table.n_inputs() <= 6) {
            for basis in [Basis::TWO_INPUT, Basis::THREE_INPUT] {
                let c = select(&k.table, &basis, Selection { n_branches: 1, n_pairs: 4, seed: 3 });
                assert_eq!(c.prove(&k.table), Ok(()), "{}", k.name);
                assert!(basis.lut3.is_some() || c.counts().lut3 == 0);
            }
        }
    }

    #[test]
    fn seeds_make_a_difference() {
        let k = known::all().iter().find(|k| k.name == "des_s1").expect("a known function");
        let sizes: Vec<usize> = (0..8)
            .map(|seed| {
                select(&k.table, &Basis::THREE_INPUT, Selection { n_branches: 1, n_pairs: 4, seed }).counts().total()
            })
            .collect();
        assert!(sizes.iter().any(|n| *n != sizes[0]), "{sizes:?}");
    }
}
