//! Boyar and Peralta's heuristic: each step adds the XOR of two values that brings the rows nearer, where the distance of a
//! row is the number of XORs that it still takes from what is there, cancellation allowed.
//!
//! Example: with `a`, `b`, `c` and `s = a ^ b ^ c` there, the row `b ^ c` is one XOR away (`a ^ s`), though it contains
//! neither.
//!
//! A row's distance is the length, less one, of the shortest set of values that XORs to it. One such set is kept for each
//! row. Up to four values, all of the shortest sets are looked for through a table of the XORs of two values; beyond, only
//! the set that is kept says which pairs help, which bounds the work that makes the original slow on dense matrices. Of the
//! pairs that bring the rows nearest, the one that leaves the distances most uneven is taken (their «norm»), and a random one
//! of these.
//!
//! A depth limit H is a condition on sets: values at depths d can be XORed within depth H exactly when their 2^d add up to
//! no more than 2^H.

use super::search::{Draft, ValueMap, Work, input_values};
use crate::matrix::BitMatrix;
use crate::random::Random;
use std::collections::HashMap;

/// Sets of at most this many values are all looked for.
const EXACT: usize = 4;

struct Search {
    values: Vec<u128>,
    /// 2^depth of each value.
    weights: Vec<u64>,
    /// Which value a number is.
    index: ValueMap<usize>,
    /// Two values that XOR to a number: those that weigh least.
    sums: ValueMap<(usize, usize)>,
    /// 2^H.
    limit: u64,
}

impl Search {
    fn new(n_inputs: usize, max_depth: Option<usize>) -> Search {
        let limit = max_depth.and_then(|depth| 1_u64.checked_shl(depth as u32)).unwrap_or(u64::MAX);
        let mut search = Search {
            values: Vec::new(),
            weights: Vec::new(),
            index: ValueMap::default(),
            sums: ValueMap::default(),
            limit,
        };
        for value in input_values(n_inputs) {
            search.add(value, 1);
        }
        search
    }

    fn add(&mut self, value: u128, weight: u64) {
        let new = self.values.len();
        for (i, other) in self.values.iter().enumerate() {
            let weights = &self.weights;
            let at = |v: usize| if v == new { weight } else { weights[v] };
            self.sums
                .entry(other ^ value)
                .and_modify(|pair| {
                    if at(pair.0).saturating_add(at(pair.1)) > at(i).saturating_add(weight) {
                        *pair = (i, new);
                    }
                })
                .or_insert((i, new));
        }
        self.values.push(value);
        self.weights.push(weight);
        self.index.insert(value, new);
    }

    /// The weight of the XOR of two values. Depths below 63 are exact; deeper ones only occur without a limit.
    fn pair_weight(&self, i: usize, j: usize) -> u64 {
        self.weights[i].max(self.weights[j]).saturating_mul(2)
    }

    fn fits(&self, set: &[usize]) -> bool {
        self.limit == u64::MAX || set.iter().fold(0_u64, |sum, &v| sum.saturating_add(self.weights[v])) <= self.limit
    }

    /// A set of `size` values (at most 4) that XORs to `rest` and, together with value `with`, keeps to the depth.
    fn set(&self, rest: u128, size: usize, with: usize, work: &mut Work) -> Option<Vec<usize>> {
        let fitting = |mut set: Vec<usize>| {
            set.push(with);
            set.sort_unstable();
            let distinct = set.windows(2).all(|pair| pair[0] != pair[1]);
            (distinct && self.fits(&set)).then_some(set)
        };
        match size {
            0 => (rest == 0).then(|| vec![with]),
            1 => self.index.get(&rest).and_then(|&i| fitting(vec![i])),
            2 => self.sums.get(&rest).and_then(|&(i, j)| fitting(vec![i, j])),
            3 => {
                if !work.take(self.values.len()) {
                    return None;
                }
                self.values
                    .iter()
                    .enumerate()
                    .find_map(|(i, value)| self.sums.get(&(rest ^ value)).and_then(|&(j, k)| fitting(vec![i, j, k])))
            }
            _ => None,
        }
    }
}

/// What adding one pair would do to the rows.
#[derive(Clone, Copy, Default)]
struct Gain {
    n_nearer: u32,
    /// By how much the sum of the squares of the distances falls.
    norm: u32,
    /// The last row counted.
    row: u32,
}

/// A network, or none when no work is left to begin with, the rows are too long for what is left, or the depth limit leaves
/// no way on. When the work runs out on the way, what is kept alone decides.
pub(super) fn draft(
    matrix: &BitMatrix,
    max_depth: Option<usize>,
    random: &mut Random,
    work: &mut Work,
) -> Option<Draft> {
    let n_inputs = matrix.n_columns();
    let pairs_in_rows: usize = (0..matrix.n_rows()).map(|i| matrix.ones_in_row(i).count().pow(2)).sum();
    if !work.take(pairs_in_rows * 8 + n_inputs * n_inputs) {
        return None;
    }
    let mut search = Search::new(n_inputs, max_depth);
    // For every row its number and the set that is kept.
    let mut rows: Vec<(u128, Vec<usize>)> = (0..matrix.n_rows())
        .map(|i| {
            let set: Vec<usize> = matrix.ones_in_row(i).collect();
            (set.iter().fold(0, |sum, &j| sum ^ search.values[j]), set)
        })
        .collect();
    let mut pairs = Vec::new();
    loop {
        let open: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].1.len() > 1).collect();
        if open.is_empty() {
            break;
        }
        let (a, b) = match open.iter().find(|&&i| rows[i].1.len() == 2) {
            Some(&i) => (rows[i].1[0], rows[i].1[1]),
            None => best_pair(&search, &rows, &open, random, work)?,
        };
        let value = search.values[a] ^ search.values[b];
        let weight = search.pair_weight(a, b);
        let new = search.values.len();
        search.add(value, weight);
        pairs.push((a, b));
        for i in open {
            let (target, set) = &rows[i];
            let nearer = if set.contains(&a) && set.contains(&b) {
                let mut set: Vec<usize> = set.iter().copied().filter(|&v| v != a && v != b).collect();
                set.push(new);
                Some(set).filter(|set| search.fits(set))
            } else if set.len() <= EXACT + 1 {
                search.set(target ^ value, set.len() - 2, new, work)
            } else {
                None
            };
            if let Some(set) = nearer {
                rows[i].1 = set;
            }
        }
        work.take(search.values.len());
    }
    Some(Draft { n_inputs, pairs, outputs: rows.iter().map(|(_, set)| set.first().copied()).collect() })
}

fn best_pair(
    search: &Search,
    rows: &[(u128, Vec<usize>)],
    open: &[usize],
    random: &mut Random,
    work: &mut Work,
) -> Option<(usize, usize)> {
    let n = search.values.len();
    let mut gains: HashMap<(usize, usize), Gain> = HashMap::new();
    for &i in open {
        let (target, set) = &rows[i];
        let distance = set.len() as u32 - 1;
        let mut count = |a: usize, b: usize| {
            let gain = gains.entry((a.min(b), a.max(b))).or_default();
            if gain.row != i as u32 + 1 {
                *gain = Gain { n_nearer: gain.n_nearer + 1, norm: gain.norm + 2 * distance - 1, row: i as u32 + 1 };
            }
        };
        let helps = |a: usize, b: usize, others: &[usize]| {
            search.limit == u64::MAX
                || others.iter().fold(search.pair_weight(a, b), |sum, &v| sum.saturating_add(search.weights[v]))
                    <= search.limit
        };
        work.take(set.len() * set.len() / 2);
        for (at, &a) in set.iter().enumerate() {
            for (to, &b) in set.iter().enumerate().skip(at + 1) {
                let others: Vec<usize> = set
                    .iter()
                    .enumerate()
                    .filter(|(v, _)| *v != at && *v != to)
                    .map(|(_, &v)| v)
                    .take(if search.limit == u64::MAX { 0 } else { usize::MAX })
                    .collect();
                if helps(a, b, &others) {
                    count(a, b);
                }
            }
        }
        if set.len() == 3 && work.take(n) {
            for a in 0..n {
                // The rest is the XOR of two others, in any of the ways there are.
                let rest = target ^ search.values[a];
                if search.sums.contains_key(&rest) {
                    work.take(n);
                    for b in a + 1..n {
                        if let Some(&c) = search.index.get(&(rest ^ search.values[b]))
                            && helps(a, b, &[c])
                        {
                            count(a, b);
                        }
                    }
                }
            }
        } else if set.len() == 4 && work.take(n * n / 2) {
            for a in 0..n {
                for b in a + 1..n {
                    if let Some(&(c, d)) = search.sums.get(&(target ^ search.values[a] ^ search.values[b]))
                        && helps(a, b, &[c, d])
                    {
                        count(a, b);
                    }
                }
            }
        }
    }
    let most = gains.values().map(|gain| gain.n_nearer).max()?;
    let least = gains.values().filter(|gain| gain.n_nearer == most).map(|gain| gain.norm).min()?;
    let mut candidates: Vec<(usize, usize)> =
        gains.iter().filter(|(_, gain)| gain.n_nearer == most && gain.norm == least).map(|(pair, _)| *pair).collect();
    candidates.sort_unstable();
    candidates.get(random.below(candidates.len())).copied()
}
