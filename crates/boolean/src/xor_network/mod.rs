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
//!   redefines a value as the XOR of two others wherever that holds (the moves of Xiang, Zeng, Lin, Bao and Zhang, *Optimizing
//!   Implementations of Linear Layers*, ToSC 2020/2, turned into a walk).
//! * `ternary`: XORs of three operands in one instruction, by taking up XORs into all of those that read them; the walk
//!   then goes on with those.
//!
//! Before that, `components` takes the matrix apart, `parts` leaves out inputs that only one row reads, and `known` has networks that longer searches found.
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

pub(crate) mod components;
mod distance;
mod greedy;
mod known;
pub(crate) mod parts;
mod rewrite;
mod search;
mod ternary;

use crate::matrix::{BitMatrix, BitVector};
use crate::random::Random;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

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
    /// The network of these steps, each of which reads what is there before it, and so do the outputs.
    pub(crate) fn new(n_inputs: usize, steps: Vec<XorStep>, outputs: Vec<Option<usize>>) -> XorNetwork {
        XorNetwork { n_inputs, steps, outputs }
    }

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

    /// The network with every step of three as two steps of two.
    fn in_pairs(&self) -> XorNetwork {
        let mut result = XorNetwork::new(self.n_inputs, Vec::new(), Vec::new());
        let mut places: Vec<usize> = (0..self.n_inputs).collect();
        for step in &self.steps {
            let mut operands = step.operands().map(|v| places[v]);
            let first = operands.next().unwrap_or(0);
            let sum = operands.fold(first, |sum, v| {
                result.steps.push(XorStep::Two(sum, v));
                result.n_inputs + result.steps.len() - 1
            });
            places.push(sum);
        }
        result.outputs = self.outputs.iter().map(|output| output.map(|v| places[v])).collect();
        result
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

    /// Adds `part`, whose input `j` is input `inputs[j]` here and whose output `i` is output `outputs[i]`.
    fn append(&mut self, part: &XorNetwork, inputs: &[usize], outputs: &[usize]) {
        let first = self.n_inputs + self.steps.len();
        let place = |v: usize| inputs.get(v).copied().unwrap_or_else(|| first + v - part.n_inputs);
        self.steps.extend(part.steps.iter().map(|step| match *step {
            XorStep::Two(a, b) => XorStep::Two(place(a), place(b)),
            XorStep::Three(a, b, c) => XorStep::Three(place(a), place(b), place(c)),
        }));
        for (&to, output) in outputs.iter().zip(&part.outputs) {
            self.outputs[to] = output.map(place);
        }
    }

    /// The network in one line, which can be read again: the number of inputs, the steps, the outputs. `3 | 0^1 2^3 | 4 - 1`.
    pub fn to_line(&self) -> String {
        let step = |step: &XorStep| step.operands().map(|v| v.to_string()).collect::<Vec<_>>().join("^");
        let steps: Vec<String> = self.steps.iter().map(step).collect();
        let output = |output: &Option<usize>| output.map_or_else(|| "-".to_owned(), |v| v.to_string());
        let outputs: Vec<String> = self.outputs.iter().map(output).collect();
        format!("{} | {} | {}", self.n_inputs, steps.join(" "), outputs.join(" "))
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

/// A line that is no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// It has not the three parts inputs, steps, outputs.
    Parts(usize),
    /// Something is not a number.
    Number(String),
    /// A step has not two or three operands.
    Operands(String),
    /// A value is used before it is there, or never is.
    Unknown(usize),
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Parts(found) => write!(f, "a network has 3 parts separated by |, and here are {found}"),
            LineError::Number(text) => write!(f, "{text:?} is not a number"),
            LineError::Operands(text) => write!(f, "a step has two or three operands, unlike {text:?}"),
            LineError::Unknown(value) => write!(f, "value {value} is not there yet where it is used"),
        }
    }
}

impl std::error::Error for LineError {}

impl FromStr for XorNetwork {
    type Err = LineError;

    /// Reads what [`XorNetwork::to_line`] writes.
    fn from_str(line: &str) -> Result<XorNetwork, LineError> {
        let number = |text: &str| text.parse::<usize>().map_err(|_| LineError::Number(text.to_owned()));
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [n_inputs, steps, outputs] = parts[..] else { return Err(LineError::Parts(parts.len())) };
        let mut network = XorNetwork { n_inputs: number(n_inputs)?, steps: Vec::new(), outputs: Vec::new() };
        let known = |value: usize, network: &XorNetwork| {
            let there = value < network.n_inputs + network.steps.len();
            there.then_some(value).ok_or(LineError::Unknown(value))
        };
        for text in steps.split_whitespace() {
            let operands: Vec<usize> =
                text.split('^').map(|v| known(number(v)?, &network)).collect::<Result<_, _>>()?;
            network.steps.push(match operands[..] {
                [a, b] => XorStep::Two(a, b),
                [a, b, c] => XorStep::Three(a, b, c),
                _ => return Err(LineError::Operands(text.to_owned())),
            });
        }
        for text in outputs.split_whitespace() {
            let output = if text == "-" { None } else { Some(known(number(text)?, &network)?) };
            network.outputs.push(output);
        }
        Ok(network)
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

/// A short network for `matrix`. Parts that have no input in common are looked for one by one, those that are equal up to the
/// order of their inputs and outputs once, and those that are known not at all.
pub fn synthesise(matrix: &BitMatrix, options: &Options) -> Result<XorNetwork, TooShallow> {
    by_parts(matrix, options, parts::network)
}

/// [`synthesise`] without what is known: always searches.
pub fn search(matrix: &BitMatrix, options: &Options) -> Result<XorNetwork, TooShallow> {
    by_parts(matrix, options, search::network)
}

fn by_parts(
    matrix: &BitMatrix,
    options: &Options,
    mut find: impl FnMut(&BitMatrix, &Options) -> Result<XorNetwork, TooShallow>,
) -> Result<XorNetwork, TooShallow> {
    let parts = components::components(matrix);
    let mut distinct: HashMap<BitMatrix, Option<XorNetwork>> = HashMap::new();
    for part in &parts {
        distinct.entry(part.matrix.clone()).or_default();
    }
    let weight: usize = distinct.keys().map(BitMatrix::weight).sum();
    let mut network =
        XorNetwork { n_inputs: matrix.n_columns(), steps: Vec::new(), outputs: vec![None; matrix.n_rows()] };
    for part in &parts {
        let found = match distinct.get(&part.matrix).and_then(Option::as_ref) {
            Some(found) => found.clone(),
            None => {
                let share = u128::from(options.work) * part.matrix.weight() as u128 / weight.max(1) as u128;
                let options = Options { work: u64::try_from(share).unwrap_or(u64::MAX), ..options.clone() };
                let found = find(&part.matrix, &options)?;
                distinct.insert(part.matrix.clone(), Some(found.clone()));
                found
            }
        };
        network.append(&found, &part.columns, &part.rows);
    }
    Ok(network)
}

/// A network for the map of `network` that is at most as long, by a walk from there. XORs of two become some of three first
/// where these are allowed.
pub fn improve(network: &XorNetwork, options: &Options) -> XorNetwork {
    let matrix = network.matrix();
    let max_depth = options.max_depth.unwrap_or(usize::MAX).max(network.depth());
    let mut random = Random::new(options.seed);
    let start = match (options.arity, network.pairs()) {
        (Arity::Three, Some(pairs)) => {
            let draft = search::Draft { n_inputs: network.n_inputs, pairs, outputs: network.outputs.clone() };
            ternary::take_up(&draft, &mut random)
        }
        (Arity::Two, None) => network.in_pairs(),
        _ => network.clone(),
    };
    let mut best = if start.steps.len() < network.steps.len() { start.clone() } else { network.clone() };
    let mut walk = rewrite::Walk::new(&start, options.arity, options.max_depth.map(|_| max_depth));
    let mut work = search::Work(options.work);
    while work.take((options.work / 8).max(1) as usize) {
        walk.run(&mut search::Work(options.work / 8), &mut random);
        let found = walk.network();
        if found.steps.len() < best.steps.len() && found.matrix() == matrix {
            best = found;
        }
    }
    best
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
