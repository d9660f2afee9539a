//! A linear map as a short list of XORs.
//!
//! Rows of a matrix share partial sums. For
//!
//! ```text
//! y0 = a ^ b ^ c        s = b ^ c
//! y1 = b ^ c       ──▶  y0 = a ^ s     three XORs instead of five
//! y2 = b ^ c ^ d        y1 = s, y2 = s ^ d
//! ```
//!
//! Finding the shortest list is NP-hard (Boyar, Matthews and Peralta, *Logic Minimization Techniques with Applications to
//! Cryptology*, J. Cryptology 26, 2013). Here several heuristics run one after the other, the best result is improved, and
//! whatever comes out is multiplied back into a matrix and compared before it is returned:
//!
//! * `greedy`: the pair that most rows share becomes a value of its own, again and again (C. Paar, *Optimized Arithmetic for
//!   Reed-Solomon Encoders*, ISIT 1997). Never cancels, works on matrices of any size.
//! * `distance`: Boyar and Peralta's heuristic: the pair that brings most rows nearer, with representations that cancel.
//! * `rewrite`: a random walk over networks of the same size that ends up in smaller ones. It regroups `a ^ (c ^ d)` and
//!   redefines a value as the XOR of two others wherever that holds (the moves of Lin, Xiang, Zeng and Zhang, *Optimizing
//!   Implementations of Linear Layers*, ToSC 2020/2, turned into a walk).
//! * `ternary`: XORs of three operands in one instruction, by taking up XORs into all of those that read them.
//!
//! All of it is counted in steps of work and not in seconds, so that the same matrix, options and seed give the same
//! network on every machine.
//!
//! ```
//! use headrace_boolean::matrix::BitMatrix;
//! use headrace_boolean::xor_network::{Options, synthesise};
//! let m = BitMatrix::from_u128_rows(4, &[0b0111, 0b0110, 0b1110]);
//! let network = synthesise(&m, &Options::default()).unwrap();
//! assert_eq!(network.steps().len(), 3);
//! assert_eq!(network.matrix(), m);
//! ```

mod distance;
mod greedy;
mod rewrite;
mod ternary;

use crate::matrix::{BitMatrix, BitVector};
use crate::random::Random;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// One XOR. Values are numbered: the inputs first, then the steps in order; a step reads values with smaller numbers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum XorStep {
    /// The XOR of two values.
    Two(usize, usize),
    /// The XOR of three values: one instruction where there is ternary logic (its table is 0x96).
    Three(usize, usize, usize),
}

impl XorStep {
    /// What it reads.
    pub fn operands(&self) -> impl Iterator<Item = usize> + use<> {
        let (list, n) = match *self {
            XorStep::Two(a, b) => ([a, b, b], 2),
            XorStep::Three(a, b, c) => ([a, b, c], 3),
        };
        list.into_iter().take(n)
    }
}

/// A list of XORs that computes a linear map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XorNetwork {
    n_inputs: usize,
    steps: Vec<XorStep>,
    outputs: Vec<Option<usize>>,
}

impl XorNetwork {
    /// The number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// The XORs. Step `i` computes value `n_inputs + i`.
    pub fn steps(&self) -> &[XorStep] {
        &self.steps
    }

    /// Which value each output is; none for an output that is always zero.
    pub fn outputs(&self) -> &[Option<usize>] {
        &self.outputs
    }

    /// The steps as pairs, when no step has three operands.
    pub fn pairs(&self) -> Option<Vec<(usize, usize)>> {
        let pair = |step: &XorStep| match *step {
            XorStep::Two(a, b) => Some((a, b)),
            XorStep::Three(..) => None,
        };
        self.steps.iter().map(pair).collect()
    }

    /// How many steps stand one after the other on the longest way from an input to an output.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.n_inputs];
        for step in &self.steps {
            let depth = step.operands().map(|v| depths[v]).max().unwrap_or(0) + 1;
            depths.push(depth);
        }
        self.outputs.iter().flatten().map(|&v| depths[v]).max().unwrap_or(0)
    }

    /// The matrix of the map that the network computes.
    pub fn matrix(&self) -> BitMatrix {
        let mut values: Vec<BitVector> = (0..self.n_inputs).map(|j| BitVector::unit(self.n_inputs, j)).collect();
        for step in &self.steps {
            let sum = step.operands().fold(BitVector::zero(self.n_inputs), |sum, v| sum.xor(&values[v]));
            values.push(sum);
        }
        let zero = BitVector::zero(self.n_inputs);
        let rows: Vec<BitVector> =
            self.outputs.iter().map(|output| output.map_or_else(|| zero.clone(), |v| values[v].clone())).collect();
        BitMatrix::from_rows(self.n_inputs, &rows)
    }

    /// What the network makes of words, each bit position by itself: `inputs` are the words of the inputs.
    pub fn evaluate(&self, inputs: &[u64]) -> Vec<u64> {
        let mut values: Vec<u64> = (0..self.n_inputs).map(|i| inputs.get(i).copied().unwrap_or(0)).collect();
        for step in &self.steps {
            let sum = step.operands().fold(0, |sum, v| sum ^ values[v]);
            values.push(sum);
        }
        self.outputs.iter().map(|output| output.map_or(0, |v| values[v])).collect()
    }
}

impl fmt::Display for XorNetwork {
    /// One line a step, `v7 = v0 ^ v3`, then one an output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.steps.iter().enumerate() {
            let operands: Vec<String> = step.operands().map(|v| format!("v{v}")).collect();
            writeln!(f, "v{} = {}", self.n_inputs + i, operands.join(" ^ "))?;
        }
        for (i, output) in self.outputs.iter().enumerate() {
            match output {
                Some(v) => writeln!(f, "y{i} = v{v}")?,
                None => writeln!(f, "y{i} = 0")?,
            }
        }
        Ok(())
    }
}

/// How many operands one XOR may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Arity {
    /// Two.
    #[default]
    Two,
    /// Two or three, at the same price.
    Three,
}

/// What kind of network is wanted, and how long to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The XORs there are.
    pub arity: Arity,
    /// How many steps may stand one after the other.
    pub max_depth: Option<usize>,
    /// How much to search, in look-ups of some ten nanoseconds each. The greedy result is there even with 0.
    pub work: u64,
    /// Where the random choices start.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { arity: Arity::Two, max_depth: None, work: 2_000_000, seed: 1 }
    }
}

/// No network is this shallow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShallow {
    /// The depth that was asked for.
    pub asked: usize,
    /// The least depth that a row needs.
    pub needed: usize,
}

impl fmt::Display for TooShallow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a row needs a depth of {}, and {} is asked for", self.needed, self.asked)
    }
}

impl std::error::Error for TooShallow {}

/// A network of XORs of two, while it is being worked on: like [`XorNetwork`], but cheaper to change.
#[derive(Clone, Debug)]
struct Draft {
    n_inputs: usize,
    pairs: Vec<(usize, usize)>,
    outputs: Vec<Option<usize>>,
}

impl Draft {
    fn network(&self) -> XorNetwork {
        XorNetwork {
            n_inputs: self.n_inputs,
            steps: self.pairs.iter().map(|&(a, b)| XorStep::Two(a, b)).collect(),
            outputs: self.outputs.clone(),
        }
    }
}

/// A hash of numbers that are spread well or are sums of few powers of two: nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
struct ValueHasher(u64);

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
type ValueMap<T> = HashMap<u128, T, BuildHasherDefault<ValueHasher>>;

/// How much may still be done.
#[derive(Clone, Copy, Debug)]
struct Work(u64);

impl Work {
    /// Takes `amount`; false when there is not that much.
    fn take(&mut self, amount: usize) -> bool {
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
fn input_values(n_inputs: usize) -> Vec<u128> {
    if n_inputs <= 128 {
        return (0..n_inputs).map(|j| 1 << j).collect();
    }
    let mut random = Random::new(0x5eed);
    (0..n_inputs).map(|_| u128::from(random.next()) << 64 | u128::from(random.next())).collect()
}

/// A short network for `matrix`.
pub fn synthesise(matrix: &BitMatrix, options: &Options) -> Result<XorNetwork, TooShallow> {
    let direct = without_sharing(matrix, options.arity);
    let max_depth = options.max_depth.unwrap_or(usize::MAX);
    if direct.depth() > max_depth {
        return Err(TooShallow { asked: max_depth, needed: direct.depth() });
    }
    let mut best = direct;
    let mut consider = |draft: &Draft, random: &mut Random| {
        let network = match options.arity {
            Arity::Two => draft.network(),
            Arity::Three => ternary::take_up(draft, random),
        };
        if network.steps.len() < best.steps.len() && network.depth() <= max_depth && network.matrix() == *matrix {
            best = network;
        }
    };
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
    starts.sort_by_key(|draft| draft.pairs.len());
    for draft in &starts {
        consider(draft, &mut random);
    }
    // The best few walk; after each leg the worse half stays behind.
    let mut walks: Vec<rewrite::Walk> = starts.iter().take(4).map(|draft| rewrite::Walk::new(draft, limit)).collect();
    const N_LEGS: u64 = 16;
    let leg = work.0 / N_LEGS;
    while !walks.is_empty() && leg > 0 && work.0 >= leg {
        for walk in &mut walks {
            walk.run(&mut Work(leg.min(work.0)), &mut random);
            work.take(leg as usize);
            consider(&walk.draft(), &mut random);
        }
        walks.sort_by_key(rewrite::Walk::n_steps);
        walks.truncate(walks.len().div_ceil(2));
    }
    Ok(best)
}

/// The network of `rows` over `n_inputs` inputs, with XORs of two and the default effort.
pub fn xor_network(rows: &[u128], n_inputs: usize) -> XorNetwork {
    let matrix = BitMatrix::from_u128_rows(n_inputs, rows);
    let found = synthesise(&matrix, &Options::default());
    found.unwrap_or_else(|_| without_sharing(&matrix, Arity::Two))
}

/// Every row by itself, as a tree of the least depth.
pub fn without_sharing(matrix: &BitMatrix, arity: Arity) -> XorNetwork {
    let n_inputs = matrix.n_columns();
    let mut steps = Vec::new();
    let mut outputs = Vec::new();
    for i in 0..matrix.n_rows() {
        let mut level: Vec<usize> = matrix.ones_in_row(i).collect();
        while level.len() > 1 {
            let mut next = Vec::new();
            let size = if arity == Arity::Three { 3 } else { 2 };
            for group in level.chunks(size) {
                match *group {
                    [a, b, c] => steps.push(XorStep::Three(a, b, c)),
                    [a, b] => steps.push(XorStep::Two(a, b)),
                    _ => {
                        next.extend(group);
                        continue;
                    }
                }
                next.push(n_inputs + steps.len() - 1);
            }
            level = next;
        }
        outputs.push(level.first().copied());
    }
    XorNetwork { n_inputs, steps, outputs }
}

#[cfg(test)]
mod tests;
