//! Synthesis from decision diagrams. A circuit from a table by deciding one input after the other: a shared, reduced, ordered
//! decision diagram (Bryant 1986) with complemented edges, each node of which becomes a multiplexer or something simpler.
//!
//! The order of the inputs is improved by moving one input at a time to where the diagram is smallest (sifting, Rudell
//! 1993), the size being counted from the truth tables themselves: a level has as many nodes as there are different
//! cofactors, up to complement, that depend on its input.

use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::truth_table::{Function, Table};
use std::collections::{HashMap, HashSet};

/// A circuit for a table; each output is proved by the test of whoever uses it.
pub fn decide(table: &Table) -> Circuit {
    decide_in_order(table, &best_order(table))
}

/// The same for an order of the inputs: the first is decided at the outputs.
pub fn decide_in_order(table: &Table, order: &[usize]) -> Circuit {
    let mut circuit = Circuit::new(table.n_inputs());
    let mut known: HashMap<Function, Signal> = HashMap::new();
    for (i, input) in (0..table.n_inputs()).map(|i| (i, Signal::from(i))).collect::<Vec<_>>() {
        known.insert(Function::variable(i), input);
    }
    for f in table.outputs() {
        let signal = node(&mut circuit, &mut known, f, order);
        circuit.push_output(signal);
    }
    simplify(&circuit)
}

fn node(circuit: &mut Circuit, known: &mut HashMap<Function, Signal>, f: Function, order: &[usize]) -> Signal {
    if let Some(s) = known.get(&f) {
        return *s;
    }
    if let Some(s) = known.get(&!f).copied() {
        let not = circuit.push(Gate::Not(s));
        known.insert(f, not);
        return not;
    }
    let Some((input, rest)) = order.split_first() else {
        let constant = circuit.push(Gate::Constant(f.at(0)));
        known.insert(f, constant);
        return constant;
    };
    let (low, high) = (f.cofactor(*input, false), f.cofactor(*input, true));
    if low == high {
        return node(circuit, known, low, rest);
    }
    let x = Signal::from(*input);
    let signal = if low == !high {
        let s = node(circuit, known, low, rest);
        circuit.push(Gate::Xor(s, x))
    } else if low.is_zero() {
        let s = node(circuit, known, high, rest);
        circuit.push(Gate::And(s, x))
    } else if high.is_zero() {
        let s = node(circuit, known, low, rest);
        circuit.push(Gate::AndNot(s, x))
    } else if high == Function::ONE {
        let s = node(circuit, known, low, rest);
        circuit.push(Gate::Or(s, x))
    } else {
        // low ⊕ x·(low ⊕ high)
        let l = node(circuit, known, low, rest);
        let h = node(circuit, known, high, rest);
        let difference = match known.get(&(low ^ high)) {
            Some(s) => *s,
            None => {
                let d = circuit.push(Gate::Xor(l, h));
                known.insert(low ^ high, d);
                d
            }
        };
        let chosen = circuit.push(Gate::And(difference, x));
        circuit.push(Gate::Xor(chosen, l))
    };
    known.insert(f, signal);
    signal
}

fn best_order(table: &Table) -> Vec<usize> {
    let n = table.n_inputs();
    let outputs = table.outputs();
    let mut order: Vec<usize> = (0..n).collect();
    let mut size = diagram_size(&outputs, &order);
    loop {
        let before = size;
        for input in 0..n {
            for place in 0..n {
                let mut other: Vec<usize> = order.iter().copied().filter(|i| *i != input).collect();
                other.insert(place, input);
                let s = diagram_size(&outputs, &other);
                if s < size {
                    (order, size) = (other, s);
                }
            }
        }
        if size == before {
            return order;
        }
    }
}

/// How many nodes the diagram of these functions has.
fn diagram_size(outputs: &[Function], order: &[usize]) -> usize {
    let turned = |f: &Function| if f.at(0) { !*f } else { *f };
    let mut level: HashSet<Function> = outputs.iter().map(turned).collect();
    let mut size = 0;
    for input in order {
        let mut next = HashSet::with_capacity(2 * level.len());
        for f in &level {
            let (low, high) = (f.cofactor(*input, false), f.cofactor(*input, true));
            size += usize::from(low != high);
            next.insert(turned(&low));
            next.insert(turned(&high));
        }
        level = next;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn every_known_function_is_decided() {
        for k in known::all() {
            assert_eq!(decide(&k.table).prove(&k.table), Ok(()), "{}", k.name);
        }
    }

    #[test]
    fn parity_is_a_chain() {
        let entries: Vec<u64> = (0..256u64).map(|x| u64::from(x.count_ones() & 1)).collect();
        let c = decide(&Table::new(8, 1, &entries).expect("a table"));
        assert_eq!(c.counts().total(), 7);
    }
}
