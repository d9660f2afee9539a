//! Technology mapping to lookup tables of three inputs. Covers a circuit with gates of three inputs (technology mapping): every
//! cone of gates that three signals feed can be one such gate, and the fewest that do are looked for.
//!
//! Cuts of at most three leaves are listed for every gate (Cong and Ding, «FlowMap», 1994; Mishchenko, Chatterjee and Brayton,
//! «DAG-aware AIG rewriting» and «Combinational and sequential mapping with priority cuts», 2007). A first choice is made by
//! area flow, which divides what a cone costs among those who read it; then gates are visited one by one and given the cut
//! that is cheapest given all the other choices, until nothing gets better. This is repeated from several starting points.

use super::simplify::{simplify, without_dead_gates};
use super::{Circuit, Gate, Signal};
use crate::basis::{Basis, depends};
use crate::random::Random;
use std::collections::{BTreeSet, HashMap};

const MAX_CUTS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// Leaves in ascending order; the first `n` count.
    leaves: [u32; 3],
    n: u8,
    /// Its function: bit `4 leaf0 + 2 leaf1 + leaf2`.
    table: u8,
    cost: u32,
}

impl Cut {
    fn leaves(&self) -> &[u32] {
        &self.leaves[..usize::from(self.n)]
    }

    fn unit(signal: usize) -> Cut {
        Cut { leaves: [signal as u32, u32::MAX, u32::MAX], n: 1, table: 0xf0, cost: 0 }
    }

    /// Its table over other leaves, among which its own are.
    fn table_over(&self, leaves: &[u32]) -> u8 {
        const VARIABLES: [u8; 3] = [0xf0, 0xcc, 0xaa];
        let mut at = [0u8; 3];
        for (k, leaf) in self.leaves().iter().enumerate() {
            at[k] = leaves.iter().position(|l| l == leaf).map_or(0, |p| VARIABLES[p]);
        }
        table_of(self.table, at)
    }
}

/// The table of a gate of three whose operands have these tables.
fn table_of(gate: u8, at: [u8; 3]) -> u8 {
    (0..8).fold(0u8, |t, x| {
        let place = (at[0] >> x & 1) << 2 | (at[1] >> x & 1) << 1 | (at[2] >> x & 1);
        t | (gate >> place & 1) << x
    })
}

struct Cover<'a> {
    circuit: &'a Circuit,
    cuts: Vec<Vec<Cut>>,
    chosen: Vec<usize>,
    readers: Vec<u32>,
}

/// The same circuit in gates of a basis that has those of three inputs (otherwise it is only simplified), as cheap as
/// `n_starts` searches make it. The answer depends on nothing but the arguments.
pub fn cover(circuit: &Circuit, basis: &Basis, n_starts: usize) -> Circuit {
    let simple = simplify(circuit);
    if basis.lut3.is_none() {
        return simple;
    }
    let simple = complemented_once(&simple);
    let cuts = list_cuts(&simple, basis);
    let mut random = Random::new(0x5eed);
    let mut best: Option<(u64, Circuit)> = None;
    for start in 0..n_starts.max(1) {
        let mut state = Cover { circuit: &simple, cuts: cuts.clone(), chosen: Vec::new(), readers: Vec::new() };
        state.choose_by_flow(if start == 0 { None } else { Some(&mut random) });
        state.improve(&mut random);
        let result = state.emit(basis);
        let cost = basis.cost(&result);
        if best.as_ref().is_none_or(|(c, _)| cost < *c) {
            best = Some((cost, result));
        }
    }
    let mut result = best.map_or(simple.clone(), |(_, c)| c);
    if basis.cost(&simple) < basis.cost(&result) {
        result = simple;
    }
    result
}

/// The function of a gate and its operands.
fn function(gate: &Gate) -> (u8, Vec<usize>) {
    match *gate {
        Gate::Constant(v) => (if v { 0xff } else { 0 }, vec![]),
        Gate::Not(a) => (0x0f, vec![a.index()]),
        Gate::And(a, b) => (0xc0, vec![a.index(), b.index()]),
        Gate::Or(a, b) => (0xfc, vec![a.index(), b.index()]),
        Gate::Xor(a, b) => (0x3c, vec![a.index(), b.index()]),
        Gate::AndNot(a, b) => (0x30, vec![a.index(), b.index()]),
        Gate::Lut3(t, a, b, c) => (t, vec![a.index(), b.index(), c.index()]),
    }
}

/// The same circuit, but where the complement of a gate comes out and the gate does not, the gate is the complement of
/// that: who reads it reads what has to be there anyway.
fn complemented_once(circuit: &Circuit) -> Circuit {
    let n = circuit.n_inputs();
    let outputs: BTreeSet<Signal> = circuit.outputs().iter().copied().collect();
    let complement = |signal: &Signal| match circuit.gate(*signal) {
        Some(Gate::Not(a)) if a.index() >= n && !outputs.contains(&a) => Some(a),
        _ => None,
    };
    let turned: BTreeSet<Signal> = outputs.iter().filter_map(complement).collect();
    if turned.is_empty() {
        return circuit.clone();
    }
    let mut result = Circuit::new(n);
    let mut map: Vec<Signal> = (0..n).map(Signal::from).collect();
    let mut complements: HashMap<Signal, Signal> = HashMap::new();
    for (at, gate) in circuit.gates().iter().enumerate() {
        let signal = Signal::from(n + at);
        let (table, operands) = function(gate);
        let of = |k: usize| operands.get(k).or(operands.first()).map_or(Signal(0), |&operand| map[operand]);
        let new = match gate {
            Gate::Not(a) if complements.contains_key(a) => complements[a],
            _ if turned.contains(&signal) && !operands.is_empty() => {
                let complement = result.push(Gate::Lut3(!table, of(0), of(1), of(2)));
                complements.insert(signal, complement);
                result.push(Gate::Not(complement))
            }
            gate => result.push(gate.map(|operand| map[operand.index()])),
        };
        map.push(new);
    }
    circuit.outputs().iter().for_each(|output| result.push_output(map[output.index()]));
    result
}

fn list_cuts(circuit: &Circuit, basis: &Basis) -> Vec<Vec<Cut>> {
    let n = circuit.n_inputs();
    let mut all: Vec<Vec<Cut>> = (0..n).map(|i| vec![Cut::unit(i)]).collect();
    for (i, gate) in circuit.gates().iter().enumerate() {
        let (table, operands) = function(gate);
        let mut cuts: Vec<Cut> = Vec::new();
        let mut partial: Vec<Vec<&Cut>> = vec![vec![]];
        for o in &operands {
            partial = partial
                .iter()
                .flat_map(|p| all[*o].iter().map(move |c| p.iter().copied().chain([c]).collect::<Vec<&Cut>>()))
                .filter(|p| union(p).is_some())
                .collect();
        }
        for p in partial {
            let Some(leaves) = union(&p) else { continue };
            let mut at = [0u8; 3];
            for (k, c) in p.iter().enumerate() {
                at[k] = c.table_over(&leaves);
            }
            let mut table = table_of(table, at);
            // Leaves that do not matter are dropped.
            let used = depends(table);
            let mut kept: Vec<u32> = Vec::with_capacity(3);
            for (k, leaf) in leaves.iter().enumerate() {
                if used[k] {
                    kept.push(*leaf);
                }
            }
            if kept.len() < leaves.len() {
                let whole = Cut { leaves: pad(&leaves), n: leaves.len() as u8, table, cost: 0 };
                // Leaves that are gone read as 0, which changes nothing.
                table = whole.table_over(&kept);
            }
            let cost = cut_cost(basis, table, kept.len());
            let cut = Cut { leaves: pad(&kept), n: kept.len() as u8, table, cost };
            if !cuts.contains(&cut) {
                cuts.push(cut);
            }
        }
        // A cut whose leaves contain another's is never better.
        let minimal: Vec<Cut> = cuts
            .iter()
            .filter(|c| {
                !cuts.iter().any(|d| d.n < c.n && d.cost <= c.cost && d.leaves().iter().all(|l| c.leaves().contains(l)))
            })
            .copied()
            .take(MAX_CUTS)
            .collect();
        let mut cuts = minimal;
        cuts.push(Cut::unit(n + i));
        all.push(cuts);
    }
    all
}

fn pad(leaves: &[u32]) -> [u32; 3] {
    let mut out = [u32::MAX; 3];
    out[..leaves.len()].copy_from_slice(leaves);
    out
}

fn cut_cost(basis: &Basis, table: u8, n: usize) -> u32 {
    if n == 1 && table == 0xf0 {
        return 0;
    }
    let signals = [Signal(0), Signal(1), Signal(2)];
    basis.gate(table, signals).map_or(u32::MAX / 4, |g| u32::try_from(basis.gate_cost(&g)).unwrap_or(u32::MAX / 4))
}

fn union(cuts: &[&Cut]) -> Option<Vec<u32>> {
    let mut leaves: Vec<u32> = Vec::with_capacity(6);
    for c in cuts {
        for l in c.leaves() {
            if !leaves.contains(l) {
                leaves.push(*l);
            }
        }
    }
    leaves.sort_unstable();
    (leaves.len() <= 3).then_some(leaves)
}

impl Cover<'_> {
    fn n_inputs(&self) -> usize {
        self.circuit.n_inputs()
    }

    /// Cuts of a signal that a gate can be made of: all but the signal itself.
    fn n_choices(&self, signal: usize) -> usize {
        self.cuts[signal].len() - 1
    }

    fn choose_by_flow(&mut self, mut random: Option<&mut Random>) {
        let n = self.n_inputs();
        let n_signals = self.cuts.len();
        let mut readers = vec![0u32; n_signals];
        self.circuit.gates().iter().flat_map(Gate::operands).chain(self.circuit.outputs().iter().copied()).for_each(
            |s| {
                readers[s.index()] += 1;
            },
        );
        self.chosen = vec![0; n_signals];
        for _ in 0..4 {
            let mut flow = vec![0f64; n_signals];
            for s in n..n_signals {
                let mut best = (f64::INFINITY, 0);
                for (k, cut) in self.cuts[s][..self.n_choices(s)].iter().enumerate() {
                    let mut cost = f64::from(cut.cost) + cut.leaves().iter().map(|l| flow[*l as usize]).sum::<f64>();
                    if let Some(r) = random.as_deref_mut() {
                        cost *= 1.0 + 0.4 * r.unit();
                    }
                    if cost < best.0 {
                        best = (cost, k);
                    }
                }
                self.chosen[s] = best.1;
                flow[s] = best.0 / f64::from(readers[s].max(1));
            }
            self.count_readers();
            for (r, now) in readers.iter_mut().zip(&self.readers) {
                *r = (*r + 2 * now) / 3;
            }
        }
        self.count_readers();
    }

    fn count_readers(&mut self) {
        self.readers = vec![0; self.cuts.len()];
        for o in self.circuit.outputs().to_vec() {
            self.take(o.index());
        }
    }

    /// Counts one more reader of a signal; returns what that adds to the cost.
    fn take(&mut self, signal: usize) -> u64 {
        self.readers[signal] += 1;
        if self.readers[signal] > 1 || signal < self.n_inputs() {
            return 0;
        }
        let cut = self.cuts[signal][self.chosen[signal]];
        u64::from(cut.cost) + cut.leaves().iter().map(|l| self.take(*l as usize)).sum::<u64>()
    }

    /// Counts one reader less; returns what that saves.
    fn release(&mut self, signal: usize) -> u64 {
        self.readers[signal] -= 1;
        if self.readers[signal] > 0 || signal < self.n_inputs() {
            return 0;
        }
        let cut = self.cuts[signal][self.chosen[signal]];
        u64::from(cut.cost) + cut.leaves().iter().map(|l| self.release(*l as usize)).sum::<u64>()
    }

    fn improve(&mut self, random: &mut Random) {
        let mut idle = 0;
        while idle < 3 {
            let mut gain = 0;
            for s in self.n_inputs()..self.cuts.len() {
                if self.readers[s] == 0 || self.n_choices(s) == 0 {
                    continue;
                }
                let leaves = |me: &Self, k: usize| me.cuts[s][k].leaves().to_vec();
                let old: u64 = u64::from(self.cuts[s][self.chosen[s]].cost)
                    + leaves(self, self.chosen[s]).into_iter().map(|l| self.release(l as usize)).sum::<u64>();
                let mut best = (u64::MAX, 0, self.chosen[s]);
                for k in 0..self.n_choices(s) {
                    let list = leaves(self, k);
                    let cost =
                        u64::from(self.cuts[s][k].cost) + list.iter().map(|l| self.take(*l as usize)).sum::<u64>();
                    list.iter().for_each(|l| {
                        self.release(*l as usize);
                    });
                    let key = (cost, random.below(64), k);
                    if (key.0, key.1) < (best.0, best.1) {
                        best = key;
                    }
                }
                self.chosen[s] = best.2;
                leaves(self, best.2).into_iter().for_each(|l| {
                    self.take(l as usize);
                });
                gain += old.saturating_sub(best.0);
            }
            idle = if gain == 0 { idle + 1 } else { 0 };
        }
    }

    fn emit(&self, basis: &Basis) -> Circuit {
        let n = self.n_inputs();
        let mut result = Circuit::new(n);
        let mut map: Vec<Signal> = (0..n).map(Signal::from).collect();
        for s in n..self.cuts.len() {
            if self.readers[s] == 0 || self.n_choices(s) == 0 {
                map.push(Signal(0));
                continue;
            }
            let cut = self.cuts[s][self.chosen[s]];
            let first = cut.leaves().first().map_or(Signal(0), |l| map[*l as usize]);
            let at = |k: usize| cut.leaves().get(k).map_or(first, |l| map[*l as usize]);
            let signal = match (cut.n, cut.table) {
                (0, t) => result.push(Gate::Constant(t & 1 == 1)),
                (1, 0xf0) => first,
                _ => {
                    let gate = basis.gate(cut.table, [at(0), at(1), at(2)]);
                    result.push(gate.unwrap_or(Gate::Lut3(cut.table, at(0), at(1), at(2))))
                }
            };
            map.push(signal);
        }
        self.circuit.outputs().iter().for_each(|o| result.push_output(map[o.index()]));
        without_dead_gates(&result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::text;

    #[test]
    fn a_full_adder_takes_two() {
        let source = "in a b c\np = xor a b\ns = xor p c\nq = and a b\nr = and p c\nt = or q r\nout s t";
        let circuit = text::read(source).expect("a circuit");
        let covered = cover(&circuit, &Basis::THREE_INPUT, 1);
        assert_eq!(covered.functions(), circuit.functions());
        assert_eq!(covered.counts().lut3, 2);
        assert_eq!(covered.counts().total(), 2);
    }

    #[test]
    fn what_comes_out_as_complement_is_computed_once() {
        let source = "in a b c d e\np = and a b\nq = xor p c\nr = not q\ns = xor q d\nt = xor s e\nout r t";
        let circuit = text::read(source).expect("a circuit");
        let covered = cover(&circuit, &Basis::THREE_INPUT, 1);
        assert_eq!(covered.functions(), circuit.functions());
        assert_eq!(covered.counts().total(), 2);
    }

    #[test]
    fn shared_cones_are_not_doubled() {
        let source = "in a b c d e\np = and a b\nq = xor p c\nr = and q d\ns = and q e\nout q r s";
        let circuit = text::read(source).expect("a circuit");
        let covered = cover(&circuit, &Basis::THREE_INPUT, 4);
        assert_eq!(covered.functions(), circuit.functions());
        assert_eq!(covered.counts().total(), 3);
    }
}
