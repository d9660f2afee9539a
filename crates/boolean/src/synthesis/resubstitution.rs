//! Makes a circuit smaller by walking among circuits that compute the same: a gate is replaced by another gate of signals
//! that are there already, or by two, and whatever nobody reads any more goes.
//!
//! `t0 = and a b; t1 = xor t0 c; t2 = or a b; t3 = xor t2 t1` can become the walk's next stop with `t3 = lut3 c a b`, and `t0` to
//! `t2` are gone if only `t3` read them. A replacement that saves nothing is taken as well: it opens the next (Mishchenko
//! and Brayton, «Scalable logic synthesis using a simple circuit structure», 2006, call it resubstitution; the test with
//! five signals for two gates is that of Kwan, «Reducing the gate count of bitslice DES», 2000). All signals are known as
//! truth tables, so every step is exact.
//!
//! Signals are kept such that they are 0 at input 0. For gates of three inputs complements cost nothing, and AND, OR, XOR
//! and AND-NOT of such signals are such signals again, so that only outputs may need inverters.

use crate::basis::Basis;
use crate::circuit::simplify::{simplify, with_fewer_inverters};
use crate::circuit::{Circuit, Gate, Signal};
use crate::random::Random;
use crate::truth_table::{Function, MAX_INPUTS};
use std::collections::HashMap;

/// How far to walk and where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// How many gates are looked at. One look takes some ten microseconds for four inputs, up to a few milliseconds for
    /// eight.
    pub steps: u64,
    /// Another number is another walk.
    pub seed: u64,
    /// How many gates more than the best so far a circuit on the way may have.
    pub slack: usize,
}

#[derive(Clone, Debug)]
struct Node<const W: usize> {
    operands: [u32; 3],
    value: [u64; W],
}

/// A circuit as a list of signals: inputs, then gates, each after what it reads.
#[derive(Clone, Debug)]
struct Net<const W: usize> {
    n_inputs: usize,
    nodes: Vec<Node<W>>,
    /// The signal behind each output and whether the output is its complement.
    outputs: Vec<(u32, bool)>,
}

const NONE: u32 = u32::MAX;

fn and<const W: usize>(a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|i| a[i] & b[i])
}

fn and_not<const W: usize>(a: &[u64; W], b: &[u64; W]) -> [u64; W] {
    std::array::from_fn(|i| a[i] & !b[i])
}

fn is_zero<const W: usize>(a: &[u64; W]) -> bool {
    a.iter().fold(0, |s, w| s | w) == 0
}

/// The parts of `on` and `off` that two signals do not tell apart: pairs of sets of which one signal more must tell one
/// from the other, or nothing if some are left after `limit`.
struct Rest<const W: usize> {
    parts: [([u64; W], [u64; W]); 4],
    n: usize,
}

fn rest<const W: usize>(on: &[u64; W], off: &[u64; W], a: &[u64; W], b: &[u64; W]) -> Rest<W> {
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
fn separates<const W: usize>(r: &Rest<W>, c: &[u64; W]) -> bool {
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
    fn n_gates(&self) -> usize {
        self.nodes.len() - self.n_inputs
    }

    /// Signals that depend on signal `v`, itself included.
    fn above(&self, v: usize) -> Vec<bool> {
        let mut flags = vec![false; self.nodes.len()];
        flags[v] = true;
        for i in v.max(self.n_inputs)..self.nodes.len() {
            flags[i] |= self.nodes[i].operands.iter().any(|o| *o != NONE && flags[*o as usize]);
        }
        flags
    }

    /// Gates that nothing would read if gate `v` went, itself included.
    fn cone(&self, v: usize) -> Vec<bool> {
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

    /// The same net in order, without dead gates, and with equal signals made one.
    fn tidy(&self) -> Net<W> {
        let n = self.n_inputs;
        let mut new = Net { n_inputs: n, nodes: self.nodes[..n].to_vec(), outputs: Vec::new() };
        let mut known: HashMap<[u64; W], u32> = HashMap::new();
        let mut map = vec![NONE; self.nodes.len()];
        for (i, slot) in map.iter_mut().enumerate().take(n) {
            known.insert(self.nodes[i].value, i as u32);
            *slot = i as u32;
        }
        // Depth first from the outputs, with equal values sharing whichever comes first.
        for (o, inverted) in &self.outputs {
            let mut stack = vec![(*o as usize, false)];
            while let Some((s, ready)) = stack.pop() {
                if map[s] != NONE {
                    continue;
                }
                if let Some(same) = known.get(&self.nodes[s].value) {
                    map[s] = *same;
                    continue;
                }
                let operands = self.nodes[s].operands;
                if ready {
                    let at = |o: u32| if o == NONE { NONE } else { map[o as usize] };
                    let index = new.nodes.len() as u32;
                    new.nodes.push(Node {
                        operands: [at(operands[0]), at(operands[1]), at(operands[2])],
                        value: self.nodes[s].value,
                    });
                    known.insert(self.nodes[s].value, index);
                    map[s] = index;
                } else {
                    stack.push((s, true));
                    stack.extend(operands.iter().filter(|o| **o != NONE).map(|o| (*o as usize, false)));
                }
            }
            new.outputs.push((map[*o as usize], *inverted));
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
                kept.nodes.push(Node { operands, value: node.value });
            }
        }
        kept.outputs = new.outputs.iter().map(|(o, i)| (place[*o as usize], *i)).collect();
        kept
    }
}

struct Search<'a, const W: usize> {
    wide: bool,
    random: &'a mut Random,
}

impl<const W: usize> Search<'_, W> {
    /// Three signals of a list (or two) of which a gate separates `on` from `off`; looks at most at `n_pairs` pairs for the
    /// first two, all of them if that is `usize::MAX`.
    fn gate(
        &mut self,
        net: &Net<W>,
        list: &[u32],
        on: &[u64; W],
        off: &[u64; W],
        n_pairs: usize,
        not: [u32; 3],
    ) -> Option<[u32; 3]> {
        let n = list.len();
        if n < 2 {
            return None;
        }
        let total = n * (n - 1) / 2;
        let all = n_pairs >= total;
        // A walk over all pairs in an order that a stride coprime to their number makes.
        let mut stride = 1 + self.random.below(total);
        while gcd(stride, total) != 1 {
            stride += 1;
        }
        let mut at = self.random.below(total);
        let value = |s: u32| &net.nodes[s as usize].value;
        for _ in 0..if all { total } else { n_pairs } {
            at = (at + stride) % total;
            let (i, j) = pair(at);
            let (a, b) = (list[i], list[j]);
            let r = rest(on, off, value(a), value(b));
            if r.n == 0 {
                if sorted([a, b, NONE]) != not {
                    return Some([a, b, NONE]);
                }
                continue;
            }
            if !self.wide {
                continue;
            }
            // With every pair visited, a third beyond the second is enough.
            let (from, count) = if all { (j + 1, n - j - 1) } else { (self.random.below(n), n) };
            for k in 0..count {
                let c = list[(from + k) % n];
                if separates(&r, value(c)) && c != a && c != b && sorted([a, b, c]) != not {
                    return Some([a, b, c]);
                }
            }
        }
        None
    }
}

fn sorted(mut list: [u32; 3]) -> [u32; 3] {
    list.sort_unstable();
    list
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Pair number `at` among those `i < j`: (0,1), (0,2), (1,2), (0,3), …
fn pair(at: usize) -> (usize, usize) {
    let mut j = (((8 * at + 1) as f64).sqrt() as usize).div_ceil(2).max(1);
    while j * (j - 1) / 2 > at {
        j -= 1;
    }
    while (j + 1) * j / 2 <= at {
        j += 1;
    }
    (at - j * (j - 1) / 2, j)
}

/// The smallest circuit met on a walk from this one, of at most eight inputs (one of more comes back as it is). It is never
/// dearer than the one given.
pub fn shrink(circuit: &Circuit, basis: &Basis, walk: Walk) -> Circuit {
    let simple = simplify(circuit);
    if simple.n_inputs() > MAX_INPUTS {
        return simple;
    }
    let result = if simple.n_inputs() <= 6 {
        shrink_words::<1>(&simple, basis, walk)
    } else {
        shrink_words::<4>(&simple, basis, walk)
    };
    let best = if basis.cost(&result) < basis.cost(&simple) { result } else { simple };
    if walk.steps > 0 { with_fewer_inverters(&best) } else { best }
}

fn shrink_words<const W: usize>(circuit: &Circuit, basis: &Basis, walk: Walk) -> Circuit {
    let wide = basis.lut3.is_some();
    let Some(net) = load::<W>(circuit, wide) else { return circuit.clone() };
    let mut random = Random::new(walk.seed.wrapping_add(1));
    let mut now = net.tidy();
    let mut best = now.clone();
    for _ in 0..walk.steps {
        if now.n_gates() == 0 {
            break;
        }
        let limit = best.n_gates() + walk.slack;
        let Some(next) = step(&now, wide, limit, &mut random) else { continue };
        if next.n_gates() <= limit {
            now = next;
        }
        if now.n_gates() <= best.n_gates() {
            best = now.clone();
        }
    }
    emit(&best, basis)
}

/// One replacement, if the gate that is picked allows one.
fn step<const W: usize>(net: &Net<W>, wide: bool, limit: usize, random: &mut Random) -> Option<Net<W>> {
    let v = net.n_inputs + random.below(net.n_gates());
    let above = net.above(v);
    let cone = net.cone(v);
    let cone_size = cone.iter().filter(|c| **c).count();
    let on = net.nodes[v].value;
    let off: [u64; W] = std::array::from_fn(|i| !on[i]);
    let mut search = Search { wide, random };
    let current = sorted(net.nodes[v].operands);
    let free: Vec<u32> = (0..net.nodes.len() as u32).filter(|s| !above[*s as usize]).collect();
    let beyond: Vec<u32> = free.iter().copied().filter(|s| !cone[*s as usize]).collect();
    // What saves gates first: without the cone below.
    if cone_size > 1
        && let Some(operands) = search.gate(net, &beyond, &on, &off, if W == 1 { usize::MAX } else { 600 }, current)
    {
        return Some(replaced(net, v, operands));
    }
    let room = limit.saturating_sub(net.n_gates());
    match search.random.below(3) {
        0 => {
            let operands = search.gate(net, &free, &on, &off, 200, current)?;
            Some(replaced(net, v, operands))
        }
        _ => {
            // Two gates: the upper one reads p, q and the new one. That may use what the cone holds.
            let within = cone_size + room >= 2;
            if !within {
                return None;
            }
            let list = if search.random.below(2) == 0 { &free } else { &beyond };
            two_gates(net, v, list, &mut search)
        }
    }
}

fn two_gates<const W: usize>(net: &Net<W>, v: usize, list: &[u32], search: &mut Search<'_, W>) -> Option<Net<W>> {
    if list.len() < 2 {
        return None;
    }
    let on = net.nodes[v].value;
    let off: [u64; W] = std::array::from_fn(|i| !on[i]);
    let operands = net.nodes[v].operands;
    for _ in 0..4 {
        let mut pick = |slot: usize| {
            let old = operands[slot];
            if search.random.below(2) == 0 && old != NONE && list.contains(&old) {
                old
            } else {
                list[search.random.below(list.len())]
            }
        };
        let slot = if search.wide { 3 } else { 2 };
        let first = pick(0);
        let second = if search.wide { pick(1 + usize::from(slot == 3 && first == operands[0])) } else { first };
        if search.wide && first == second {
            continue;
        }
        let value = |s: u32| &net.nodes[s as usize].value;
        let r = rest(&on, &off, value(first), value(second));
        if r.n == 0 {
            continue;
        }
        // In each part the new gate may be 1 where v is or where v is not.
        let turns = search.random.below(1 << (r.n - 1));
        let (mut new_on, mut new_off) = ([0u64; W], [0u64; W]);
        for (k, (x, y)) in r.parts[..r.n].iter().enumerate() {
            let (x, y) = if turns >> k & 1 == 1 { (y, x) } else { (x, y) };
            for i in 0..W {
                new_on[i] |= x[i];
                new_off[i] |= y[i];
            }
        }
        if let Some(lower) = search.gate(net, list, &new_on, &new_off, if W == 1 { 60 } else { 30 }, [NONE; 3]) {
            let upper = if search.wide { [first, second, NONE] } else { [first, NONE, NONE] };
            return Some(replaced_by_two(net, v, upper, lower, &new_on, &new_off));
        }
    }
    None
}

/// The value of a gate of these operands that is 1 on `on` and 0 on `off`, turned so that it is 0 at input 0.
fn gate_value<const W: usize>(net: &Net<W>, operands: [u32; 3], on: &[u64; W], off: &[u64; W]) -> [u64; W] {
    let ones = [u64::MAX; W];
    let mut sum = [0u64; W];
    for place in 0..8u32 {
        let mut block = ones;
        for (k, o) in operands.iter().enumerate() {
            if *o == NONE {
                if place >> k & 1 == 1 {
                    block = [0; W];
                }
                continue;
            }
            let value = &net.nodes[*o as usize].value;
            block = if place >> k & 1 == 1 { and(&block, value) } else { and_not(&block, value) };
        }
        // A part that is neither on nor off is 0 where the operands are all 0.
        if !is_zero(&and(&block, on)) && is_zero(&and(&block, off)) {
            for i in 0..W {
                sum[i] |= block[i];
            }
        }
    }
    if sum[0] & 1 == 1 { std::array::from_fn(|i| !sum[i]) } else { sum }
}

fn replaced<const W: usize>(net: &Net<W>, v: usize, operands: [u32; 3]) -> Net<W> {
    let mut new = net.clone();
    new.nodes[v].operands = operands;
    new.tidy()
}

fn replaced_by_two<const W: usize>(
    net: &Net<W>,
    v: usize,
    mut upper: [u32; 3],
    lower: [u32; 3],
    on: &[u64; W],
    off: &[u64; W],
) -> Net<W> {
    let mut new = net.clone();
    let value = gate_value(net, lower, on, off);
    let index = new.nodes.len() as u32;
    new.nodes.push(Node { operands: lower, value });
    if let Some(slot) = upper.iter_mut().find(|o| **o == NONE) {
        *slot = index;
    }
    new.nodes[v].operands = upper;
    new.tidy()
}

fn load<const W: usize>(circuit: &Circuit, wide: bool) -> Option<Net<W>> {
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
        net.nodes.push(Node { operands: [NONE; 3], value: words(f).0 });
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
                net.nodes.push(Node { operands, value });
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
fn emit<const W: usize>(net: &Net<W>, basis: &Basis) -> Circuit {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::text;

    const WALK: Walk = Walk { steps: 300, seed: 1, slack: 0 };

    #[test]
    fn pairs_are_all_visited() {
        let all: Vec<(usize, usize)> = (0..10).map(pair).collect();
        let expected = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4), (3, 4)];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_multiplexer_is_found() {
        let source = "in s a b\np = and s a\nn = not s\nq = and n b\nr = or p q\nout r";
        let circuit = text::read(source).expect("a circuit");
        let three = shrink(&circuit, &Basis::THREE_INPUT, WALK);
        assert_eq!(three.functions(), circuit.functions());
        assert_eq!(three.counts().total(), 1);
        let two = shrink(&circuit, &Basis::TWO_INPUT, WALK);
        assert_eq!(two.functions(), circuit.functions());
        assert_eq!(two.counts().total(), 3);
    }

    #[test]
    fn eight_inputs_and_complemented_outputs() {
        let source = "in a b c d e f g h\np = and a b\nq = xor p h\nr = xnor q c\ns = nor r g\nt = xor s r\nu = nand t f\nv = and a b\nw = xor v e\nout u r w q";
        let circuit = text::read(source).expect("a circuit");
        for basis in [Basis::TWO_INPUT, Basis::THREE_INPUT] {
            let small = shrink(&circuit, &basis, WALK);
            assert_eq!(small.functions(), circuit.functions());
            assert!(basis.cost(&small) < basis.cost(&circuit));
        }
    }
}
