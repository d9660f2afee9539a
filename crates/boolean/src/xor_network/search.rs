//! The search for one connected matrix: which heuristics run, on what share of the work, and what they share.

use super::{Arity, Options, TooShallow, XorNetwork, XorStep, distance, greedy, rewrite, ternary, without_sharing};
use crate::matrix::BitMatrix;
use crate::random::Random;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A network of XORs of two, while it is being worked on: like [`XorNetwork`], but cheaper to change.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) n_inputs: usize,
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) outputs: Vec<Option<usize>>,
}

impl Draft {
    pub(super) fn network(&self) -> XorNetwork {
        XorNetwork {
            n_inputs: self.n_inputs,
            steps: self.pairs.iter().map(|&(a, b)| XorStep::Two(a, b)).collect(),
            outputs: self.outputs.clone(),
        }
    }
}

/// A hash of numbers that are spread well or are sums of few powers of two: nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
pub(super) struct ValueHasher(u64);

impl Hasher for ValueHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 29;
    }

    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}

/// A map from values, as numbers.
pub(super) type ValueMap<T> = HashMap<u128, T, BuildHasherDefault<ValueHasher>>;

/// How much may still be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work(pub(super) u64);

impl Work {
    /// Takes `amount`; false when there is not that much.
    pub(super) fn take(&mut self, amount: usize) -> bool {
        let enough = self.0 >= amount as u64;
        self.0 = self.0.saturating_sub(amount as u64);
        enough
    }

    /// Sets `share` of a hundred aside for one stage.
    fn part(&mut self, share: u64) -> Work {
        let part = self.0 / 100 * share;
        self.0 -= part;
        Work(part)
    }
}

/// A number for each input such that XORs of inputs have different numbers: the unit vectors when there are at most 128
/// inputs, random ones otherwise (then two XORs may look equal with a probability of 2^-128 each; the comparison of the
/// final network with the matrix would show it).
pub(super) fn input_values(n_inputs: usize) -> Vec<u128> {
    if n_inputs <= 128 {
        return (0..n_inputs).map(|j| 1 << j).collect();
    }
    let mut random = Random::new(0x5eed);
    (0..n_inputs).map(|_| u128::from(random.next()) << 64 | u128::from(random.next())).collect()
}

/// A short network for `matrix`, which is connected.
pub(super) fn network(matrix: &BitMatrix, options: &Options) -> Result<XorNetwork, TooShallow> {
    let mut best = without_sharing(matrix, options.arity);
    let max_depth = options.max_depth.unwrap_or(usize::MAX);
    if best.depth() > max_depth {
        return Err(TooShallow { asked: max_depth, needed: best.depth() });
    }
    // A network of XORs of two may be deeper by a factor of two, when each step then takes up one that it reads.
    let limit = match options.arity {
        Arity::Two => options.max_depth,
        Arity::Three => options.max_depth.map(|depth| depth.saturating_mul(2)),
    };
    let mut random = Random::new(options.seed);
    let mut work = Work(options.work);

    let mut starts: Vec<Draft> = Vec::new();
    if limit.is_none() {
        starts.push(greedy::draft(matrix, None));
        let n_values = matrix.n_columns() + starts[0].pairs.len();
        let cost = (n_values * n_values / 8).max(1);
        let mut part = work.part(5);
        while part.take(cost) && starts.len() < 16 {
            starts.push(greedy::draft(matrix, Some(&mut random)));
        }
    }
    let mut part = work.part(40);
    while let Some(draft) = distance::draft(matrix, limit, &mut random, &mut part) {
        starts.push(draft);
    }
    let mut starts: Vec<XorNetwork> = starts
        .iter()
        .map(|draft| match options.arity {
            Arity::Two => draft.network(),
            Arity::Three => ternary::take_up(draft, &mut random),
        })
        .filter(|network| network.depth() <= max_depth)
        .collect();
    starts.push(best.clone());
    starts.sort_by_key(|network| network.steps.len());
    starts.dedup();
    // The best few walk; after each leg the worse half stays behind.
    let mut walks: Vec<rewrite::Walk> =
        starts.iter().take(4).map(|network| rewrite::Walk::new(network, options.arity, options.max_depth)).collect();
    let mut consider = |network: XorNetwork| {
        if network.steps.len() < best.steps.len() && network.depth() <= max_depth && network.matrix() == *matrix {
            best = network;
        }
    };
    consider(starts.swap_remove(0));
    const N_LEGS: u64 = 16;
    let leg = work.0 / N_LEGS;
    while !walks.is_empty() && leg > 0 && work.0 >= leg {
        for walk in &mut walks {
            walk.run(&mut Work(leg.min(work.0)), &mut random);
            work.take(leg as usize);
            consider(walk.network());
        }
        walks.sort_by_key(rewrite::Walk::n_steps);
        walks.truncate(walks.len().div_ceil(2));
    }
    Ok(best)
}
