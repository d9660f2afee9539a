//! Scheduling of gates for low register pressure. An order of the gates for which few registers are enough.

use super::{Circuit, Gate, Signal};
use crate::random::Random;
use headrace_scheduling::spills::Values;

/// Larger circuits stay as they are: a search would take too long.
const MOST_GATES: usize = 2000;

/// The same circuit with its gates in another order, if that puts fewer values aside than their own.
pub fn for_registers(circuit: &Circuit, n_registers: usize) -> Circuit {
    if circuit.gates().len() > MOST_GATES {
        return circuit.clone();
    }
    let operands: Vec<Vec<usize>> = circuit.gates().iter().map(operands).collect();
    let mut random = Random::new(1);
    let values = Values { n_inputs: circuit.n_inputs(), operands: &operands, n_registers };
    match values.better_order(&mut |most| random.below(most)) {
        Some(order) => circuit.in_order(&order),
        None => circuit.clone(),
    }
}

fn operands(gate: &Gate) -> Vec<usize> {
    let mut list: Vec<usize> = gate.operands().map(Signal::index).collect();
    list.sort_unstable();
    list.dedup();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First all products of two inputs, then sums of them, which begin with the last: more values than registers.
    fn wide() -> Circuit {
        let mut circuit = Circuit::new(6);
        let input = Signal::from;
        let mut products = Vec::new();
        for a in 0..6 {
            for b in 0..a {
                products.push(circuit.push(Gate::And(input(a), input(b))));
            }
        }
        let sums: Vec<Signal> =
            products.iter().rev().map(|&product| circuit.push(Gate::Or(product, input(0)))).collect();
        let mut sum = sums[0];
        for &one in &sums[1..] {
            sum = circuit.push(Gate::Xor(sum, one));
        }
        circuit.push_output(sum);
        circuit.push_output(sums[3]);
        circuit
    }

    #[test]
    fn an_order_for_few_registers_puts_fewer_values_aside_and_means_the_same() {
        let circuit = wide();
        let ordered = for_registers(&circuit, 8);
        assert_eq!(circuit.functions(), ordered.functions());
        let cost = |circuit: &Circuit| {
            let own: Vec<usize> = (0..circuit.gates().len()).collect();
            let operands: Vec<Vec<usize>> = circuit.gates().iter().map(operands).collect();
            Values { n_inputs: circuit.n_inputs(), operands: &operands, n_registers: 8 }.cost(&own)
        };
        assert!(cost(&ordered) * 4 < cost(&circuit), "{} for {}", cost(&ordered), cost(&circuit));
    }

    #[test]
    fn what_fits_in_registers_stays_as_it_is() {
        let circuit = wide();
        assert_eq!(for_registers(&circuit, 64), circuit);
    }

    #[test]
    fn random_circuits_mean_the_same_in_any_order() {
        let mut random = Random::new(7);
        for _ in 0..200 {
            let n_inputs = 1 + random.below(8);
            let mut circuit = Circuit::new(n_inputs);
            for _ in 0..random.below(60) {
                let there = n_inputs + circuit.gates().len();
                let mut any = || Signal::from(random.below(there));
                let (a, b, c) = (any(), any(), any());
                circuit.push(match random.below(7) {
                    0 => Gate::Constant(true),
                    1 => Gate::Not(a),
                    2 => Gate::And(a, b),
                    3 => Gate::Or(a, b),
                    4 => Gate::Xor(a, b),
                    5 => Gate::AndNot(a, b),
                    _ => Gate::Lut3(0x1b, a, b, c),
                });
            }
            for _ in 0..4 {
                let there = n_inputs + circuit.gates().len();
                circuit.push_output(Signal::from(random.below(there)));
            }
            for n_registers in [0, 3, 5] {
                assert_eq!(circuit.functions(), for_registers(&circuit, n_registers).functions());
            }
        }
    }
}
