//! Synthesis from algebraic normal forms. A circuit from a table by its algebraic normal form: the products of inputs that any
//! output contains, each made of smaller ones, and sums of them that share what they have in common.

use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::linear_layer::push_sums;
use crate::truth_table::{Function, Table};
use std::collections::BTreeMap;

/// A circuit for a table, if its outputs have at most 100 different products among them.
pub fn expand(table: &Table) -> Option<Circuit> {
    let forms: Vec<Function> = table.outputs().iter().map(Function::algebraic_normal_form).collect();
    let terms: Vec<usize> = (1..256).filter(|u| forms.iter().any(|f| f.at(*u))).collect();
    if terms.len() > 100 {
        return None;
    }
    let mut circuit = Circuit::new(table.n_inputs());
    let mut products: BTreeMap<usize, Signal> = (0..table.n_inputs()).map(|i| (1usize << i, Signal::from(i))).collect();
    let mut sorted = terms.clone();
    sorted.sort_by_key(|u| (u.count_ones(), *u));
    for u in sorted {
        push_product(&mut circuit, &mut products, u);
    }
    let signals: Vec<Signal> = terms.iter().filter_map(|u| products.get(u).copied()).collect();
    let rows: Vec<(u128, bool)> = forms
        .iter()
        .map(|f| (terms.iter().enumerate().fold(0, |m, (i, u)| m | u128::from(f.at(*u)) << i), f.at(0)))
        .collect();
    for s in push_sums(&mut circuit, &signals, &rows, 20_000) {
        circuit.push_output(s);
    }
    Some(simplify(&circuit))
}

/// Adds the product of the inputs in `u` from the largest products there are.
fn push_product(circuit: &mut Circuit, products: &mut BTreeMap<usize, Signal>, u: usize) {
    let mut left = u;
    let mut signal: Option<(usize, Signal)> = products.get(&u).map(|s| (u, *s));
    if signal.is_some() {
        return;
    }
    while left != 0 {
        let Some((part, s)) = products
            .iter()
            .filter(|(p, _)| **p & !left == 0)
            .max_by_key(|(p, _)| p.count_ones())
            .map(|(p, s)| (*p, *s))
        else {
            return;
        };
        signal = Some(match signal {
            None => (part, s),
            Some((so_far, t)) => {
                let product = circuit.push(Gate::And(t, s));
                products.insert(so_far | part, product);
                (so_far | part, product)
            }
        });
        left &= !part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn small_known_functions_are_expanded() {
        let mut n = 0;
        for k in known::all() {
            if let Some(c) = expand(&k.table) {
                assert_eq!(c.prove(&k.table), Ok(()), "{}", k.name);
                n += 1;
            }
        }
        assert!(n > 20);
    }

    #[test]
    fn a_quadratic_map_takes_few_gates() {
        let chi = known::all().iter().find(|k| k.name == "chi5").expect("a known function");
        let c = expand(&chi.table).expect("few products");
        assert!(c.counts().total() <= 20);
    }
}
