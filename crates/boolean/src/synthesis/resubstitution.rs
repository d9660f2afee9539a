//! Boolean resubstitution with a random walk. Makes a circuit smaller by walking among circuits that compute the same: a gate
//! is replaced by another gate of signals that are there already, or by two, and whatever nobody reads any more goes.
//!
//! `t0 = and a b; t1 = xor t0 c; t2 = or a b; t3 = xor t2 t1` can become the walk's next stop with `t3 = lut3 c a b`, and `t0` to
//! `t2` are gone if only `t3` read them. A replacement that saves nothing is taken as well: it opens the next (Mishchenko
//! and Brayton, «Scalable logic synthesis using a simple circuit structure», 2006, call it resubstitution; the test with
//! five signals for two gates is that of Kwan, «Reducing the gate count of bitslice DES», 2000). All signals are known as
//! truth tables, so every step is exact. The new gate has to agree with the old one only at those inputs where an output
//! would change with it, which is found by complementing it and looking.
//!
//! Signals are kept such that they are 0 at input 0. For gates of three inputs complements cost nothing, and AND, OR, XOR
//! and AND-NOT of such signals are such signals again, so that only outputs may need inverters.

use super::net::{NONE, Net, Node, and, and_not, emit, evaluate, is_zero, load, rest, separates};
use crate::basis::Basis;
use crate::circuit::Circuit;
use crate::circuit::simplify::{simplify, with_fewer_inverters};
use crate::random::Random;
use crate::truth_table::MAX_INPUTS;

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

struct Search<'a, const W: usize> {
    wide: bool,
    random: &'a mut Random,
}

impl<const W: usize> Search<'_, W> {
    /// The table of a gate that is 1 on `on` and 0 on `off`; where neither says anything, anything.
    fn table(&mut self, net: &Net<W>, operands: [u32; 3], on: &[u64; W], off: &[u64; W]) -> u8 {
        if is_zero(on) || is_zero(off) {
            return if is_zero(on) { 0 } else { 0xff };
        }
        let used = operands.iter().filter(|o| **o != NONE).count();
        let anything = self.random.next() as u8;
        let (mut table, mut fixed) = (0u8, 0u8);
        for place in 0..8u8 {
            let mut block = [u64::MAX; W];
            for (k, o) in operands.iter().enumerate() {
                let zero = [0; W];
                let value = if *o == NONE { &zero } else { &net.nodes[*o as usize].value };
                block = if place >> k & 1 == 1 { and(&block, value) } else { and_not(&block, value) };
            }
            let (ones, zeros) = (!is_zero(&and(&block, on)), !is_zero(&and(&block, off)));
            table |= u8::from(ones) << place;
            fixed |= u8::from(ones || zeros) << place;
        }
        if used == 1 {
            // A signal or its complement.
            return if table & !0xaa == 0 && !fixed & 2 | table & 2 != 0 { 0xaa } else { 0x55 };
        }
        table | anything & !fixed
    }

    /// One signal of a list that separates `on` from `off`.
    fn signal(&mut self, net: &Net<W>, list: &[u32], on: &[u64; W], off: &[u64; W]) -> Option<[u32; 3]> {
        let r = rest(on, off, &[0; W], &[0; W]);
        let turn = self.random.below(list.len());
        let at = |i: usize| list[(i + turn) % list.len()];
        (0..list.len()).map(at).find(|s| separates(&r, &net.nodes[*s as usize].value)).map(|s| [s, NONE, NONE])
    }

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
        while num_integer::gcd(stride, total) != 1 {
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
    let care = net.care(v, &above);
    let value = net.nodes[v].value;
    let (on, off) = (and(&care, &value), and_not(&care, &value));
    let mut search = Search { wide, random };
    let current = sorted(net.nodes[v].operands);
    let free: Vec<u32> = (0..net.nodes.len() as u32).filter(|s| !above[*s as usize]).collect();
    let beyond: Vec<u32> = free.iter().copied().filter(|s| !cone[*s as usize]).collect();
    // A signal that is there already, or a constant, for which any will do.
    if let Some(operands) = search.signal(net, &free, &on, &off) {
        return Some(replaced(net, v, operands, &on, &off, &mut search));
    }
    // What saves gates next: without the cone below.
    if cone_size > 1
        && let Some(operands) = search.gate(net, &beyond, &on, &off, if W == 1 { usize::MAX } else { 600 }, current)
    {
        return Some(replaced(net, v, operands, &on, &off, &mut search));
    }
    let room = limit.saturating_sub(net.n_gates());
    match search.random.below(3) {
        0 => {
            let operands = search.gate(net, &free, &on, &off, 200, current)?;
            Some(replaced(net, v, operands, &on, &off, &mut search))
        }
        // Two gates: the upper one reads p, q and the new one. That may use what the cone holds.
        _ if cone_size + room >= 2 => {
            let list = if search.random.below(2) == 0 { &free } else { &beyond };
            two_gates(net, v, list, &on, &off, &mut search)
        }
        _ => None,
    }
}

fn two_gates<const W: usize>(
    net: &Net<W>,
    v: usize,
    list: &[u32],
    on: &[u64; W],
    off: &[u64; W],
    search: &mut Search<'_, W>,
) -> Option<Net<W>> {
    if list.len() < 2 {
        return None;
    }
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
        let first = pick(0);
        let second = if search.wide { pick(1 + usize::from(first == operands[0])) } else { first };
        if search.wide && first == second {
            continue;
        }
        let value = |s: u32| &net.nodes[s as usize].value;
        let r = rest(on, off, value(first), value(second));
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
            let mut new = net.clone();
            let table = search.table(net, lower, &new_on, &new_off);
            let value = evaluate(table, lower, |o| net.nodes[o as usize].value);
            let index = new.nodes.len() as u32;
            new.nodes.push(Node { operands: lower, table, value });
            let upper = if search.wide { [first, second, index] } else { [first, index, NONE] };
            new.nodes[v].operands = upper;
            new.nodes[v].table = search.table(&new, upper, on, off);
            return Some(new.tidy());
        }
    }
    None
}

fn replaced<const W: usize>(
    net: &Net<W>,
    v: usize,
    operands: [u32; 3],
    on: &[u64; W],
    off: &[u64; W],
    search: &mut Search<'_, W>,
) -> Net<W> {
    let mut new = net.clone();
    new.nodes[v].operands = operands;
    new.nodes[v].table = search.table(net, operands, on, off);
    new.tidy()
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
