//! Truth-table signatures for resubstitution. Circuits as `resubstitution` walks among them: signals with their truth tables in
//! `W` words, kept such that they are 0 at input 0, and the tests of which signals tell two sets of inputs apart.

use crate::basis::Basis;
use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::truth_table::Function;
use std::collections::HashMap;

#[derive(Clone, Debug)]
pub(super) struct Node<const W: usize> {
    /// What it reads; places that are not used come last.
    pub(super) operands: [u32; 3],
    /// Bit `a + 2b + 4c` for operands a, b and c; what is not there is 0.
    pub(super) table: u8,
    pub(super) value: [u64; W],
}

/// A circuit as a list of signals: inputs, then gates, each after what it reads.
#[derive(Clone, Debug)]
pub(super) struct Net<const W: usize> {
    pub(super) n_inputs: usize,
    pub(super) nodes: Vec<Node<W>>,
    /// The signal behind each output and whether the output is its complement.
    pub(super) outputs: Vec<(u32, bool)>,
}

pub(super) const NONE: u32 = u32::MAX;

pub(super) fn and<const W: usize>(a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|i| a[i] & b[i])
}

pub(super) fn and_not<const W: usize>(a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|i| a[i] & !b[i])
}

pub(super) fn is_zero<const W: usize>(a: &[u64; W]) -> bool {
    a.iter().fold(0, |s, w| s | w) == 0
}

/// The parts of `on` and `off` that two signals do not tell apart: pairs of sets of which one signal more must tell one
/// from the other, or nothing if some are left after `limit`.
pub(super) struct Rest<const W: usize> {
    pub(super) parts: [([u64; W], [u64; W]); 4],
    pub(super) n: usize,
}

pub(super) fn rest<const W: usize>(on: &[u64; W], off: &[u64; W], a: &[u64; W], b: &[u64; W]) -> Rest<W> {
    let mut r = Rest { parts: [([0; W], [0; W]); 4], n: 0 };
    let (on_a, off_a, on_n, off_n) = (and(on, a), and(off, a), and_not(on, a), and_not(off, a));
    for (x, y) in [
        (and(&on_a, b), and(&off_a, b)),
        (and_not(&on_a, b), and_not(&off_a, b)),
        (and(&on_n, b), and(&off_n, b)),
        (and_not(&on_n, b), and_not(&off_n, b)),
    ] {
        if !is_zero(&x) && !is_zero(&y) {
            r.parts[r.n] = (x, y);
            r.n += 1;
        }
    }
    r
}

/// Whether a signal tells all parts of a rest apart.
pub(super) fn separates<const W: usize>(r: &Rest<W>, c: &[u64; W]) -> bool {
    r.parts[..r.n].iter().all(|(x, y)| {
        let (mut below, mut above) = (0u64, 0u64);
        for i in 0..W {
            below |= x[i] & !c[i] | y[i] & c[i];
            above |= x[i] & c[i] | y[i] & !c[i];
        }
        below == 0 || above == 0
    })
}

impl<const W: usize> Net<W> {
    pub(super) fn n_gates(&self) -> usize {
        self.nodes.len() - self.n_inputs
    }

    /// Signals that depend on signal `v`, itself included.
    pub(super) fn above(&self, v: usize) -> Vec<bool> {
        let mut flags = vec![false; self.nodes.len()];
        flags[v] = true;
        for i in v.max(self.n_inputs)..self.nodes.len() {
            flags[i] |= self.nodes[i].operands.iter().any(|o| *o != NONE && flags[*o as usize]);
        }
        flags
    }

    /// Gates that nothing would read if gate `v` went, itself included.
    pub(super) fn cone(&self, v: usize) -> Vec<bool> {
        let mut outside = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|(o, _)| outside[*o as usize] = true);
        outside[v] = false;
        let mut inside = vec![false; self.nodes.len()];
        inside[v] = true;
        for i in (self.n_inputs..self.nodes.len()).rev() {
            if i > v {
                self.nodes[i].operands.iter().filter(|o| **o != NONE).for_each(|o| outside[*o as usize] = true);
                continue;
            }
            inside[i] = i == v || (!outside[i] && i < v);
            if !inside[i] {
                self.nodes[i].operands.iter().filter(|o| **o != NONE).for_each(|o| outside[*o as usize] = true);
            }
        }
        (0..self.n_inputs).for_each(|i| inside[i] = false);
        inside
    }

    /// At which inputs some output changes with gate `v`, all above which is flagged.
    pub(super) fn care(&self, v: usize, above: &[bool]) -> [u64; W] {
        let mut values: Vec<[u64; W]> = self.nodes.iter().map(|n| n.value).collect();
        values[v] = std::array::from_fn(|i| !values[v][i]);
        for i in v + 1..self.nodes.len() {
            if above[i] {
                values[i] = evaluate(self.nodes[i].table, self.nodes[i].operands, |o| values[o as usize]);
            }
        }
        let mut care = [0u64; W];
        for (o, _) in &self.outputs {
            let (new, old) = (&values[*o as usize], &self.nodes[*o as usize].value);
            (0..W).for_each(|i| care[i] |= new[i] ^ old[i]);
        }
        care
    }

    /// The same net in order, with values made anew, without dead gates, and with equal signals made one.
    pub(super) fn tidy(&self) -> Net<W> {
        let n = self.n_inputs;
        let mut new = Net { n_inputs: n, nodes: self.nodes[..n].to_vec(), outputs: Vec::new() };
        let mut known: HashMap<[u64; W], u32> = HashMap::new();
        // For each old signal, the new one and whether it is the complement.
        let mut map = vec![(NONE, false); self.nodes.len()];
        for (i, slot) in map.iter_mut().enumerate().take(n) {
            known.insert(self.nodes[i].value, i as u32);
            *slot = (i as u32, false);
        }
        let mut stack: Vec<(usize, bool)> = Vec::new();
        for (o, inverted) in &self.outputs {
            stack.push((*o as usize, false));
            while let Some((s, ready)) = stack.pop() {
                if map[s].0 != NONE {
                    continue;
                }
                let Node { operands, table, .. } = self.nodes[s];
                if !ready {
                    stack.push((s, true));
                    stack.extend(operands.iter().filter(|o| **o != NONE).map(|o| (*o as usize, false)));
                    continue;
                }
                let at = |o: u32| if o == NONE { (NONE, false) } else { map[o as usize] };
                let places = operands.map(at);
                let turn = places.iter().enumerate().fold(0u8, |t, (k, (_, flipped))| t | u8::from(*flipped) << k);
                let mut table = (0..8u8).fold(0u8, |t, place| t | (table >> (place ^ turn) & 1) << place);
                let operands = places.map(|(o, _)| o);
                let mut value = evaluate(table, operands, |o| new.nodes[o as usize].value);
                let flipped = value[0] & 1 == 1;
                if flipped {
                    table = !table;
                    value = std::array::from_fn(|i| !value[i]);
                }
                let index = *known.entry(value).or_insert_with(|| {
                    new.nodes.push(Node { operands, table, value });
                    new.nodes.len() as u32 - 1
                });
                map[s] = (index, flipped);
            }
            let (index, flipped) = map[*o as usize];
            new.outputs.push((index, inverted ^ flipped));
        }
        // Sharing may have left gates that nobody reads.
        let mut live = vec![false; new.nodes.len()];
        new.outputs.iter().for_each(|(o, _)| live[*o as usize] = true);
        for i in (n..new.nodes.len()).rev() {
            if live[i] {
                new.nodes[i].operands.iter().filter(|o| **o != NONE).for_each(|o| live[*o as usize] = true);
            }
        }
        if live[n..].iter().all(|l| *l) {
            return new;
        }
        let mut kept = Net { n_inputs: n, nodes: new.nodes[..n].to_vec(), outputs: Vec::new() };
        let mut place: Vec<u32> = (0..n as u32).collect();
        for (node, live) in new.nodes.iter().zip(&live).skip(n) {
            place.push(kept.nodes.len() as u32);
            if *live {
                let operands = node.operands.map(|o| if o == NONE { NONE } else { place[o as usize] });
                kept.nodes.push(Node { operands, ..*node });
            }
        }
        kept.outputs = new.outputs.iter().map(|(o, i)| (place[*o as usize], *i)).collect();
        kept
    }
}

/// The value of a gate.
pub(super) fn evaluate<const W: usize>(table: u8, operands: [u32; 3], value: impl Fn(u32) -> [u64; W]) -> [u64; W] {
    let [a, b, c] = operands.map(|o| if o == NONE { [0; W] } else { value(o) });
    std::array::from_fn(|i| {
        let pair = |bits: u8| -> u64 {
            match bits & 3 {
                0 => 0,
                1 => !a[i],
                2 => a[i],
                _ => u64::MAX,
            }
        };
        let low = pair(table) & !b[i] | pair(table >> 2) & b[i];
        let high = pair(table >> 4) & !b[i] | pair(table >> 6) & b[i];
        low & !c[i] | high & c[i]
    })
}

/// A gate of two or three signals that is 1 on `on` and 0 on `off`. For gates of two inputs it may be the other way round.
pub(super) fn gate_of<const W: usize>(
    wide: bool,
    signals: &[usize],
    values: &[&[u64; W]],
    on: &[u64; W],
    off: &[u64; W],
) -> Gate {
    let at = |k: usize| Signal::from(signals[k.min(signals.len() - 1)]);
    let value = |k: usize| values[k.min(values.len() - 1)];
    let (mut ones, mut zeros) = (0u8, 0u8);
    for place in 0..8u8 {
        let mut block = [u64::MAX; W];
        for k in 0..3 {
            block = if place >> (2 - k) & 1 == 1 { and(&block, value(k)) } else { and_not(&block, value(k)) };
        }
        ones |= u8::from(!is_zero(&and(&block, on))) << place;
        zeros |= u8::from(!is_zero(&and(&block, off))) << place;
    }
    let operands = [at(0), at(1), at(2)];
    let basis = if wide { Basis::THREE_INPUT } else { Basis::TWO_INPUT };
    let fits = |t: &u8| (t & zeros == 0 && ones & !t == 0) || !wide && (t & ones == 0 && zeros & !t == 0);
    let gate = (0..=255u8).filter(fits).find_map(|t| basis.gate(t, operands));
    gate.unwrap_or(Gate::Lut3(ones, operands[0], operands[1], operands[2]))
}

pub(super) fn load<const W: usize>(circuit: &Circuit, wide: bool) -> Option<Net<W>> {
    let n = circuit.n_inputs();
    let mut net: Net<W> = Net { n_inputs: n, nodes: Vec::new(), outputs: Vec::new() };
    // For each signal of the circuit, what stands for it and whether complemented; a constant has nothing.
    let mut map: Vec<Option<(u32, bool)>> = Vec::new();
    let values = circuit.signals();
    let words = |f: &Function| -> ([u64; W], bool) {
        let turned = f.at(0);
        (std::array::from_fn(|i| if turned { !f.0[i] } else { f.0[i] }), turned)
    };
    for (i, f) in values.iter().enumerate().take(n) {
        net.nodes.push(Node { operands: [NONE; 3], table: 0, value: words(f).0 });
        map.push(Some((i as u32, false)));
    }
    for (gate, f) in circuit.gates().iter().zip(&values[n..]) {
        let (value, turned) = words(f);
        let entry = match gate {
            Gate::Constant(_) => None,
            Gate::Not(a) => map[a.index()].map(|(s, t)| (s, !t)),
            Gate::Lut3(..) if !wide => return None,
            _ => {
                let mut operands = [NONE; 3];
                for (slot, s) in operands.iter_mut().zip(gate.operands()) {
                    *slot = map[s.index()]?.0;
                }
                let mut table = 0;
                for place in 0..8u8 {
                    let mut block = [u64::MAX; W];
                    for (k, o) in operands.iter().enumerate().filter(|(_, o)| **o != NONE) {
                        let v = &net.nodes[*o as usize].value;
                        block = if place >> k & 1 == 1 { and(&block, v) } else { and_not(&block, v) };
                    }
                    table |= u8::from(!is_zero(&and(&block, &value))) << place;
                }
                net.nodes.push(Node { operands, table, value });
                Some((net.nodes.len() as u32 - 1, turned))
            }
        };
        map.push(entry);
    }
    for o in circuit.outputs() {
        net.outputs.push(map[o.index()]?);
    }
    Some(net)
}

/// The circuit that a net stands for.
pub(super) fn emit<const W: usize>(net: &Net<W>, basis: &Basis) -> Circuit {
    let wide = basis.lut3.is_some();
    let n = net.n_inputs;
    // A gate of three inputs whose outputs are all complemented is made complemented.
    let mut plain = vec![false; net.nodes.len()];
    let mut turned = vec![false; net.nodes.len()];
    for (o, inverted) in &net.outputs {
        if *inverted { turned[*o as usize] = true } else { plain[*o as usize] = true }
    }
    let flipped = |s: usize| wide && s >= n && turned[s] && !plain[s];
    let value = |s: usize| -> [u64; W] {
        let v = net.nodes[s].value;
        if flipped(s) { std::array::from_fn(|i| !v[i]) } else { v }
    };
    let mut circuit = Circuit::new(n);
    let mut map: Vec<Signal> = (0..n).map(Signal::from).collect();
    for s in n..net.nodes.len() {
        let operands = net.nodes[s].operands;
        let first = operands[0] as usize;
        let places: Vec<usize> = operands.iter().map(|o| if *o == NONE { first } else { *o as usize }).collect();
        let f = value(s);
        let mut table = 0u8;
        let mut seen = 0u8;
        for place in 0..8u8 {
            let mut block = [u64::MAX; W];
            for (k, p) in places.iter().enumerate() {
                let v = value(*p);
                block = if place >> (2 - k) & 1 == 1 { and(&block, &v) } else { and_not(&block, &v) };
            }
            if !is_zero(&block) {
                seen |= 1 << place;
                if !is_zero(&and(&block, &f)) {
                    table |= 1 << place;
                }
            }
        }
        let at = [map[places[0]], map[places[1]], map[places[2]]];
        // Places that never occur are filled such that the gate is as cheap as can be.
        let gate = (0..=255u8)
            .filter(|t| t & seen == table)
            .filter_map(|t| basis.gate(t, at))
            .min_by_key(|g| basis.gate_cost(g))
            .unwrap_or(Gate::Lut3(table, at[0], at[1], at[2]));
        map.push(circuit.push(gate));
    }
    let mut inverters: HashMap<u32, Signal> = HashMap::new();
    for (o, inverted) in &net.outputs {
        let signal = map[*o as usize];
        let signal = if *inverted && !flipped(*o as usize) {
            *inverters.entry(*o).or_insert_with(|| circuit.push(Gate::Not(signal)))
        } else {
            signal
        };
        circuit.push_output(signal);
    }
    simplify(&circuit)
}
