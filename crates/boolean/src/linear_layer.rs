//! Sums of signals, sharing what several sums have in common (Paar, «Optimized arithmetic for Reed-Solomon encoders», 1997):
//! the pair of signals that most sums contain is added first, until every sum is one signal.

use crate::circuit::{Circuit, Gate, Signal};
use crate::random::Random;

/// Adds the sums of `signals` that `rows` say (bit `i` for `signals[i]`, at most 128 of them) and a constant each; returns
/// them. Ties are broken by `random`, if given, else by the order.
pub(crate) fn push_sums(
    circuit: &mut Circuit,
    signals: &[Signal],
    rows: &[(u128, bool)],
    mut random: Option<&mut Random>,
) -> Vec<Signal> {
    let mut values: Vec<Signal> = signals.to_vec();
    let mut sums: Vec<Vec<usize>> =
        rows.iter().map(|(m, _)| (0..signals.len()).filter(|i| m >> i & 1 == 1).collect()).collect();
    loop {
        let n = values.len();
        let mut counts = vec![0u16; n * n];
        for sum in &sums {
            for (k, a) in sum.iter().enumerate() {
                sum[k + 1..].iter().for_each(|b| counts[a * n + b] += 1);
            }
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            break;
        }
        let ties: Vec<usize> = (0..counts.len()).filter(|i| counts[*i] == most).collect();
        let chosen = match random.as_deref_mut() {
            Some(r) => ties[r.below(ties.len())],
            None => ties[0],
        };
        let (a, b) = (chosen / n, chosen % n);
        values.push(circuit.push(Gate::Xor(values[a], values[b])));
        for sum in &mut sums {
            if sum.contains(&a) && sum.contains(&b) {
                sum.retain(|s| *s != a && *s != b);
                sum.push(n);
            }
        }
    }
    sums.iter()
        .zip(rows)
        .map(|(sum, (_, constant))| match sum.first() {
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
        for s in push_sums(&mut c, &inputs, &rows, None) {
            c.push_output(s);
        }
        for (f, (mask, constant)) in c.functions().iter().zip(rows) {
            assert_eq!(*f, Function::affine(mask as u8, constant));
        }
        assert_eq!(c.counts().xor, 3);
    }
}
