//! Affine equivalence of permutations. Whether one permutation of n bits is another with affine maps before and after it.
//!
//! T and S are affine equivalent if T(x) = B(S(A(x) ⊕ a)) ⊕ b for invertible linear A and B. The algorithm is that of
//! Biryukov, De Cannière, Braeken and Preneel, «A toolbox for cryptanalysis: linear and affine equivalence algorithms»
//! (EUROCRYPT 2003): with both sides moved so that 0 goes to 0, a guessed A(x) gives B at S(A(x)), sums of known points of B
//! give new points of A by way of the inverse tables, and so on until a contradiction or the whole of A and B. What a
//! guess may be is narrowed by a number that linear maps preserve: of every x, how many y have
//! S(x) ⊕ S(y) ⊕ S(x ⊕ y) = 0. The counts of these numbers also tell which translation `a` is worth a try.
//!
//! For functions that are no permutations, [`reordered`] finds whether they differ only in the order and sign of inputs
//! and outputs.

use crate::truth_table::{Function, Table};

/// x ↦ M·x ⊕ c over GF(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The images of the unit vectors under M.
    pub columns: Vec<u64>,
    /// c.
    pub constant: u64,
}

impl Affine {
    /// The map that changes nothing.
    pub fn identity(n: usize) -> Affine {
        Affine { columns: (0..n).map(|i| 1 << i).collect(), constant: 0 }
    }

    /// Its value at x.
    pub fn apply(&self, x: u64) -> u64 {
        self.columns.iter().enumerate().filter(|(i, _)| x >> i & 1 == 1).fold(self.constant, |y, (_, c)| y ^ c)
    }

    /// Which inputs the output bit `j` is the sum of, as a mask, and its constant.
    pub fn row(&self, j: usize) -> (u64, bool) {
        let mask = self.columns.iter().enumerate().fold(0, |m, (i, c)| m | (c >> j & 1) << i);
        (mask, self.constant >> j & 1 == 1)
    }
}

/// T = `after` ∘ S ∘ `before`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivalence {
    /// What comes before S.
    pub before: Affine,
    /// What comes after S.
    pub after: Affine,
}

/// Affine maps that turn `known` into `table`, at most `limit` pairs of them (for one translation; there are often as
/// many as `known` has symmetries). Both must be permutations of the same number of bits, at least one.
pub fn equivalences(known: &Table, table: &Table, limit: usize) -> Vec<Equivalence> {
    let n = known.n_inputs();
    if n == 0 || table.n_inputs() != n || !known.is_permutation() || !table.is_permutation() {
        return Vec::new();
    }
    let target = Centred::new(table.entries(), 0);
    let labels = target.labels();
    let counts = histogram(&labels);
    let mut found = Vec::new();
    for a in 0..1usize << n {
        let base = Centred::new(known.entries(), a);
        let base_labels = base.labels();
        if histogram(&base_labels) != counts {
            continue;
        }
        let search = Search { n, target: &target, base: &base, target_labels: &labels, base_labels: &base_labels };
        search.extend(&Partial::new(1 << n), limit, &mut |p: &Partial| {
            let before = Affine { columns: (0..n).map(|i| u64::from(p.a[1 << i])).collect(), constant: a as u64 };
            let linear: Vec<u64> = (0..n).map(|i| u64::from(p.b[1 << i])).collect();
            let after = Affine { columns: linear, constant: 0 };
            let constant = table.entries()[0] ^ after.apply(known.entries()[a]);
            found.push(Equivalence { before, after: Affine { constant, ..after } });
            found.len()
        });
        if !found.is_empty() {
            break;
        }
    }
    found.retain(|e| holds(known, table, e));
    found
}

fn holds(known: &Table, table: &Table, e: &Equivalence) -> bool {
    (0..table.entries().len()).all(|x| {
        let inner = e.before.apply(x as u64) as usize;
        known.entries().get(inner).is_some_and(|y| e.after.apply(*y) == table.entries()[x])
    })
}

/// x ↦ S(x ⊕ a) ⊕ S(a), which maps 0 to 0, and its inverse.
struct Centred {
    forward: Vec<u8>,
    backward: Vec<u8>,
}

impl Centred {
    fn new(entries: &[u64], a: usize) -> Centred {
        let forward: Vec<u8> = (0..entries.len()).map(|x| (entries[x ^ a] ^ entries[a]) as u8).collect();
        let mut backward = vec![0u8; entries.len()];
        forward.iter().enumerate().for_each(|(x, y)| backward[usize::from(*y)] = x as u8);
        Centred { forward, backward }
    }

    fn labels(&self) -> Vec<u16> {
        let f = &self.forward;
        let label = |x: usize| (0..f.len()).filter(|y| f[x] ^ f[*y] == f[x ^ y]).count() as u16;
        (0..f.len()).map(label).collect()
    }
}

fn histogram(labels: &[u16]) -> Vec<u16> {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Linear maps known on subspaces; 0 stands for a point that is not known (other than 0 itself).
#[derive(Clone)]
struct Partial {
    a: Vec<u8>,
    b: Vec<u8>,
    a_points: Vec<u8>,
    b_points: Vec<u8>,
    a_taken: Vec<bool>,
    b_taken: Vec<bool>,
}

impl Partial {
    fn new(size: usize) -> Partial {
        let mut taken = vec![false; size];
        taken[0] = true;
        Partial {
            a: vec![0; size],
            b: vec![0; size],
            a_points: vec![0],
            b_points: vec![0],
            a_taken: taken.clone(),
            b_taken: taken,
        }
    }
}

struct Search<'s> {
    n: usize,
    target: &'s Centred,
    base: &'s Centred,
    target_labels: &'s [u16],
    base_labels: &'s [u16],
}

impl Search<'_> {
    /// Adds A(x) = y and all that follows; false if it contradicts what is known.
    fn learn(&self, p: &mut Partial, x: u8, y: u8) -> bool {
        // What is to be added: to A, or to B.
        let mut queue = vec![(true, x, y)];
        while let Some((to_a, x, y)) = queue.pop() {
            let (map, points, taken) = if to_a {
                (&mut p.a, &mut p.a_points, &mut p.a_taken)
            } else {
                (&mut p.b, &mut p.b_points, &mut p.b_taken)
            };
            let known = map[usize::from(x)];
            if x == 0 || y == 0 {
                if x != y {
                    return false;
                }
                continue;
            }
            if known != 0 {
                if known != y {
                    return false;
                }
                continue;
            }
            if taken[usize::from(y)] {
                return false;
            }
            for i in 0..points.len() {
                let (u, v) = (points[i] ^ x, map[usize::from(points[i])] ^ y);
                if to_a && self.target_labels[usize::from(u)] != self.base_labels[usize::from(v)] {
                    return false;
                }
                map[usize::from(u)] = v;
                taken[usize::from(v)] = true;
                points.push(u);
                if to_a {
                    // T(u) = B(S(A(u))).
                    queue.push((false, self.base.forward[usize::from(v)], self.target.forward[usize::from(u)]));
                } else {
                    queue.push((true, self.target.backward[usize::from(v)], self.base.backward[usize::from(u)]));
                }
            }
        }
        true
    }

    /// Hands on every completion of `p` until `limit` are found; returns how many there are.
    fn extend(&self, p: &Partial, limit: usize, found: &mut dyn FnMut(&Partial) -> usize) -> usize {
        let size = 1usize << self.n;
        if p.a_points.len() == size && p.b_points.len() == size {
            return found(p);
        }
        // The point with the rarest label is guessed next.
        let rarity = |x: &usize| self.target_labels.iter().filter(|l| **l == self.target_labels[*x]).count();
        let Some(x) = (1..size).filter(|x| p.a[*x] == 0).min_by_key(rarity) else { return 0 };
        let mut n_found = 0;
        for y in 1..size {
            if p.a_taken[y] || self.base_labels[y] != self.target_labels[x] {
                continue;
            }
            let mut next = p.clone();
            if self.learn(&mut next, x as u8, y as u8) {
                n_found = n_found.max(self.extend(&next, limit, found));
                if n_found >= limit {
                    break;
                }
            }
        }
        n_found
    }
}

/// How two tables that differ in the order and sign of their inputs and outputs correspond: input `i` of the known one is
/// input `inputs[i].0` of the table, complemented if `inputs[i].1`; output `j` of the table is output `outputs[j].0` of the
/// known one, complemented if `outputs[j].1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reordering {
    /// Where the known inputs come from.
    pub inputs: Vec<(usize, bool)>,
    /// Where the outputs come from.
    pub outputs: Vec<(usize, bool)>,
}

/// Whether a table of at most six inputs is a known one with its inputs and outputs reordered and complemented. It may
/// have fewer outputs, and one twice.
pub fn reordered(known: &Table, table: &Table) -> Option<Reordering> {
    let n = known.n_inputs();
    if n != table.n_inputs() || n > 6 || table.n_outputs() > known.n_outputs() {
        return None;
    }
    let wanted: Vec<u64> = table.outputs().iter().map(|f| f.0[0]).collect();
    let mut words: Vec<u64> = known.outputs().iter().map(|f| f.0[0]).collect();
    // Known input i stands at place order[i]. Permutations come in Heap's order, each by one exchange.
    let mut order: Vec<usize> = (0..n).collect();
    let mut counters = vec![0usize; n];
    let mut level = 1;
    loop {
        if let Some(found) = with_signs(&words, &wanted, n, &order) {
            return Some(found);
        }
        while level < n && counters[level] >= level {
            counters[level] = 0;
            level += 1;
        }
        if level >= n {
            return None;
        }
        let (i, j) = if level % 2 == 0 { (0, level) } else { (counters[level], level) };
        words.iter_mut().for_each(|w| *w = exchanged(*w, i, j));
        for place in &mut order {
            *place = if *place == i {
                j
            } else if *place == j {
                i
            } else {
                *place
            };
        }
        counters[level] += 1;
        level = 1;
    }
}

fn with_signs(words: &[u64], wanted: &[u64], n: usize, order: &[usize]) -> Option<Reordering> {
    let mut words = words.to_vec();
    let mut signs = 0usize;
    for step in 0..1u32 << n {
        let match_one = |w: &u64| {
            words
                .iter()
                .position(|k| k == w)
                .map(|j| (j, false))
                .or_else(|| words.iter().position(|k| !k == *w).map(|j| (j, true)))
        };
        if wanted.first().is_none_or(|w| match_one(w).is_some())
            && let Some(outputs) = wanted.iter().map(match_one).collect::<Option<Vec<_>>>()
        {
            let inputs = order.iter().map(|place| (*place, signs >> place & 1 == 1)).collect();
            return Some(Reordering { inputs, outputs });
        }
        // The next set of complemented inputs in Gray code.
        let i = (step + 1).trailing_zeros() as usize;
        if i < n {
            signs ^= 1 << i;
            words.iter_mut().for_each(|w| *w = complemented(*w, i));
        }
    }
    None
}

/// A function of six variables with variable `i` complemented.
fn complemented(w: u64, i: usize) -> u64 {
    let mask = Function::variable(i).0[0];
    (w & mask) >> (1 << i) | (w & !mask) << (1 << i)
}

/// A function of six variables with variables `i` and `j` exchanged.
fn exchanged(w: u64, i: usize, j: usize) -> u64 {
    let (i, j) = (i.min(j), i.max(j));
    let shift = (1usize << j) - (1 << i);
    // Places where i is 1 and j is 0 exchange with those where it is the other way round.
    let mask = Function::variable(i).0[0] & !Function::variable(j).0[0];
    if shift == 0 {
        return w;
    }
    let t = (w ^ w >> shift) & mask;
    w ^ t ^ t << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;
    use crate::random::Random;

    fn table(name: &str) -> Table {
        known::all().iter().find(|k| k.name == name).expect("a known function").table.clone()
    }

    fn random_affine(n: usize, random: &mut Random) -> Affine {
        loop {
            let columns: Vec<u64> = (0..n).map(|_| random.below(1 << n) as u64).collect();
            let map = Affine { columns, constant: random.below(1 << n) as u64 };
            let mut seen = vec![false; 1 << n];
            (0..1u64 << n).for_each(|x| seen[map.apply(x) as usize] = true);
            if seen.iter().all(|s| *s) {
                return map;
            }
        }
    }

    fn disguised(known: &Table, random: &mut Random) -> Table {
        let n = known.n_inputs();
        let (a, b) = (random_affine(n, random), random_affine(n, random));
        let entries: Vec<u64> = (0..1u64 << n).map(|x| b.apply(known.entries()[a.apply(x) as usize])).collect();
        Table::new(n, n, &entries).expect("a table")
    }

    #[test]
    fn the_byte_permutations_of_the_field_are_recognised() {
        let inverse = table("gf256_inverse");
        for name in ["aes_s", "aes_s_inverse"] {
            let found = equivalences(&inverse, &table(name), 3);
            assert_eq!(found.len(), 3, "{name}");
        }
        assert!(equivalences(&inverse, &table("whirlpool_s"), 1).is_empty());
    }

    #[test]
    fn disguises_are_seen_through() {
        let mut random = Random::new(5);
        for name in ["gf256_inverse", "whirlpool_s", "serpent_s3", "ascon_s"] {
            let known = table(name);
            for _ in 0..3 {
                let hidden = disguised(&known, &mut random);
                assert_eq!(equivalences(&known, &hidden, 1).len(), 1, "{name}");
            }
        }
    }

    #[test]
    fn reordered_inputs_and_outputs_are_seen_through() {
        let known = table("des_s3");
        let order = [3usize, 0, 5, 1, 4, 2];
        let entries: Vec<u64> = (0..64usize)
            .map(|x| {
                let y = order.iter().enumerate().fold(0usize, |y, (i, place)| y | (x >> place & 1) << i) ^ 0b010010;
                let z = known.entries()[y];
                (z >> 1 & 1) | (z & 1) << 1 | (z >> 3 ^ 1) << 2
            })
            .collect();
        let found = reordered(&known, &Table::new(6, 3, &entries).expect("a table")).expect("a reordering");
        for (x, e) in entries.iter().enumerate() {
            let y = found
                .inputs
                .iter()
                .enumerate()
                .fold(0usize, |y, (i, (p, s))| y | ((x >> p & 1) ^ usize::from(*s)) << i);
            let z = known.entries()[y];
            let w = found.outputs.iter().enumerate().fold(0, |w, (j, (o, s))| w | ((z >> o & 1) ^ u64::from(*s)) << j);
            assert_eq!(w, *e);
        }
        assert_eq!(reordered(&known, &table("des_s4")), None);
    }
}
