//! Linear layers in circuits. Sums of signals in a circuit, by the networks of `xor_network`.

use crate::circuit::{Circuit, Gate, Signal};
use crate::matrix::BitMatrix;
use crate::xor_network::{Arity, Options, XorNetwork, XorStep, synthesise, without_sharing};

/// Adds the sums of `signals` that `rows` say (bit `i` for `signals[i]`, at most 128 of them) and a constant each; returns
/// them. `work` is what `xor_network` may do beyond its first guess.
pub(crate) fn push_sums(circuit: &mut Circuit, signals: &[Signal], rows: &[(u128, bool)], work: u64) -> Vec<Signal> {
    let masks: Vec<u128> = rows.iter().map(|(m, _)| *m).collect();
    let matrix = BitMatrix::from_u128_rows(signals.len(), &masks);
    let options = Options { work, ..Options::default() };
    let network: XorNetwork = synthesise(&matrix, &options).unwrap_or_else(|_| without_sharing(&matrix, Arity::Two));
    let mut values: Vec<Signal> = signals.to_vec();
    for step in network.steps() {
        let sum = match *step {
            XorStep::Two(a, b) => circuit.push(Gate::Xor(values[a], values[b])),
            XorStep::Three(a, b, c) => {
                let pair = circuit.push(Gate::Xor(values[a], values[b]));
                circuit.push(Gate::Xor(pair, values[c]))
            }
        };
        values.push(sum);
    }
    network
        .outputs()
        .iter()
        .zip(rows)
        .map(|(output, (_, constant))| match output {
            None => circuit.push(Gate::Constant(*constant)),
            Some(s) if *constant => circuit.push(Gate::Not(values[*s])),
            Some(s) => values[*s],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth_table::Function;

    #[test]
    fn sums_are_shared() {
        let mut c = Circuit::new(4);
        let inputs: Vec<Signal> = (0..4).map(Signal::from).collect();
        let rows = [(0b0111, false), (0b1110, true), (0b0110, false), (0, true), (0b1000, false)];
        for s in push_sums(&mut c, &inputs, &rows, 0) {
            c.push_output(s);
        }
        for (f, (mask, constant)) in c.functions().iter().zip(rows) {
            assert_eq!(*f, Function::affine(mask as u8, constant));
        }
        assert_eq!(c.counts().xor, 3);
    }
}
