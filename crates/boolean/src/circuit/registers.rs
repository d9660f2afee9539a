//! An order of the gates for which few registers are enough.
//!
//! Compilers keep to the order of a long circuit more or less, and put on the stack what finds no register. Many orders are
//! made, each by taking next what frees registers or what most waits for, and the one is kept that takes the fewest stores
//! and loads when the value that is needed last leaves first (Belady 1966).

use super::{Circuit, Gate, Signal};
use crate::random::Random;

/// Orders that are tried.
const ORDERS: u32 = 64;

/// Larger circuits stay as they are: a search would take too long.
const MOST_GATES: usize = 2000;

/// The same circuit with its gates in another order, if that puts fewer values aside than their own.
pub fn for_registers(circuit: &Circuit, n_registers: usize) -> Circuit {
    let mut search = Search::new(circuit, n_registers);
    let own: Vec<usize> = (0..circuit.gates().len()).collect();
    let own_cost = search.cost(&own);
    let (mut best, mut best_cost) = (own, own_cost);
    if circuit.gates().len() <= MOST_GATES {
        for number in 0..ORDERS {
            if best_cost == 0 {
                break;
            }
            let order = search.order(number);
            let cost = search.cost(&order);
            if cost < best_cost {
                (best, best_cost) = (order, cost);
            }
        }
    }
    if best_cost == own_cost { circuit.clone() } else { circuit.in_order(&best) }
}

/// What a store and a load count: there is one of the one in a cycle, two of the other.
const STORE: u32 = 2;
const LOAD: u32 = 1;

struct Search {
    n_inputs: usize,
    n_registers: usize,
    /// What each gate reads, once each.
    operands: Vec<Vec<usize>>,
    /// The gates that read each signal.
    readers: Vec<Vec<usize>>,
    /// Gates from each gate to the end.
    ways: Vec<i64>,
    random: Random,
}

impl Search {
    fn new(circuit: &Circuit, n_registers: usize) -> Search {
        let n_inputs = circuit.n_inputs();
        let operands: Vec<Vec<usize>> = circuit.gates().iter().map(operands).collect();
        let mut readers = vec![Vec::new(); n_inputs + operands.len()];
        for (gate, list) in operands.iter().enumerate() {
            list.iter().for_each(|&signal| readers[signal].push(gate));
        }
        let mut ways = vec![0; operands.len()];
        for gate in (0..operands.len()).rev() {
            ways[gate] = 1 + readers[n_inputs + gate].iter().map(|&reader| ways[reader]).max().unwrap_or(0);
        }
        Search { n_inputs, n_registers: n_registers.max(2), operands, readers, ways, random: Random::new(1) }
    }

    /// An order: next is always what frees the most registers, or what the longest way to the end begins with.
    fn order(&mut self, number: u32) -> Vec<usize> {
        // What a register counts against a gate of the way, and chance against both.
        let (register, way, chance) = (200, i64::from(number % 16) * 2, [1, 30, 100, 100][number as usize / 16 % 4]);
        let n_inputs = self.n_inputs;
        let mut unread: Vec<usize> = self.readers.iter().map(Vec::len).collect();
        let mut is_held = vec![false; n_inputs];
        let mut missing: Vec<usize> =
            self.operands.iter().map(|list| list.iter().filter(|&&signal| signal >= n_inputs).count()).collect();
        let mut ready: Vec<usize> = (0..missing.len()).filter(|&gate| missing[gate] == 0).collect();
        let mut order = Vec::with_capacity(missing.len());
        loop {
            let mut best: Option<(i64, usize)> = None;
            for (at, &gate) in ready.iter().enumerate() {
                let list = &self.operands[gate];
                let freed = list.iter().filter(|&&signal| unread[signal] == 1).count() as i64;
                let read = list.iter().filter(|&&signal| signal < n_inputs && !is_held[signal]).count() as i64;
                let kept = i64::from(unread[n_inputs + gate] > 0);
                let value = register * (freed - read - kept) + way * self.ways[gate] + self.random.below(chance) as i64;
                if best.is_none_or(|(most, _)| value > most) {
                    best = Some((value, at));
                }
            }
            let Some((_, at)) = best else { return order };
            let gate = ready.swap_remove(at);
            for &signal in &self.operands[gate] {
                unread[signal] -= 1;
                if signal < n_inputs {
                    is_held[signal] = true;
                }
            }
            order.push(gate);
            for &reader in &self.readers[n_inputs + gate] {
                missing[reader] -= 1;
                if missing[reader] == 0 {
                    ready.push(reader);
                }
            }
        }
    }

    /// What an order takes: values that are put aside, and read again from there. One operand of a gate may lie in memory. An
    /// input comes into a register where it is first read.
    fn cost(&self, order: &[usize]) -> u32 {
        const NEVER: usize = usize::MAX;
        let n_signals = self.readers.len();
        // Where each operand of each gate is read next, and in the end where each signal is read first.
        let mut next = vec![NEVER; n_signals];
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (at, &gate) in order.iter().enumerate().rev() {
            after[at] = self.operands[gate].iter().map(|&signal| next[signal]).collect();
            self.operands[gate].iter().for_each(|&signal| next[signal] = at);
        }
        let mut is_stored = vec![false; n_signals];
        let mut is_known: Vec<bool> = vec![false; n_signals];
        // Signals in registers, and where they are read next.
        let mut held: Vec<(usize, usize)> = Vec::new();
        let mut cost = 0;
        for (at, &gate) in order.iter().enumerate() {
            let mut in_memory = 0;
            for (&signal, &then) in self.operands[gate].iter().zip(&after[at]) {
                if !std::mem::replace(&mut is_known[signal], true) {
                    held.push((signal, at));
                }
                match held.iter().position(|one| one.0 == signal) {
                    Some(place) if then == NEVER => drop(held.swap_remove(place)),
                    Some(place) => held[place].1 = then,
                    None => {
                        cost += LOAD;
                        in_memory += 1;
                        if in_memory > 1 && then != NEVER {
                            held.push((signal, then));
                        }
                    }
                }
            }
            let result = self.n_inputs + gate;
            is_known[result] = true;
            if next[result] != NEVER {
                held.push((result, next[result]));
            }
            while held.len() > self.n_registers {
                // Of those that are read at the same time what lies in memory already goes first.
                let others = held.iter().enumerate().filter(|(_, one)| one.0 != result);
                let last = others.max_by_key(|(_, one)| (one.1, is_stored[one.0])).map(|(place, _)| place);
                let (signal, _) = held.swap_remove(last.unwrap_or(0));
                if !std::mem::replace(&mut is_stored[signal], true) {
                    cost += STORE;
                }
            }
        }
        cost
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
    use crate::circuit::text;

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
            Search::new(circuit, 8).cost(&own)
        };
        assert!(cost(&ordered) * 4 < cost(&circuit), "{} for {}", cost(&ordered), cost(&circuit));
    }

    #[test]
    fn what_fits_in_registers_stays_as_it_is() {
        let circuit = wide();
        assert_eq!(for_registers(&circuit, 64), circuit);
    }

    #[test]
    fn values_that_find_no_register_are_stored_once_and_loaded_where_they_are_read() {
        // Of three registers two hold the inputs when `t1` comes: `t0` goes, and both of the last gates read it.
        let circuit = text::read(
            "in a b\nt0 = and a b\nt1 = xor a b\nt2 = or a b\nt3 = xor t1 t2\nt4 = or t3 t0\nt5 = and t4 t0\nout t5",
        )
        .expect("a circuit");
        let own: Vec<usize> = (0..circuit.gates().len()).collect();
        let cost = |n_registers| Search::new(&circuit, n_registers).cost(&own);
        assert_eq!(cost(4), 0);
        assert_eq!(cost(3), STORE + 2 * LOAD);
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
