//! Any linear map of bytes as shuffles, affine maps of all bytes, and XORs.
//!
//! The matrix is cut into 8 × 8 blocks. All entries with the same block value can be served together: their places form a
//! matrix of zeros and ones, which is a XOR of shuffles, as many as its fullest row has ones. The block values in turn are XORs
//! of a basis, and only basis values cost an affine map; the identity is taken into the basis first, because it costs none:
//!
//! ```text
//! y_i = 2·x_i ^ 3·x_{i+1} ^ x_{i+2} ^ x_{i+3}       values {2, 3, 1}, basis {1, 2}, 3 = 2 ^ 1
//!
//! first the shuffles:  r1, r2, r3 = rotated x;  y = affine2(x ^ r1) ^ r1 ^ r2 ^ r3     3 shuffles, 1 affine map, 4 XORs
//! first affine maps:   d = affine2(x); t = d ^ x;  y = d ^ shuffled t ^ x ^ x          3 shuffles, 1 affine map, 4 XORs
//! ```
//!
//! Both ways are made, and the second also with an affine map for every block value; each is multiplied back into its matrix
//! and compared before it is given back.

use super::{AffineByte, ByteShuffle};
use crate::matrix::{BitMatrix, BitVector};
use std::collections::BTreeMap;

/// One operation on vectors of bytes. Operands are numbers of values: the input is 0, then the operations in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ByteOp {
    /// The XOR of two values.
    Xor(usize, usize),
    /// The bytes of a value, moved.
    Shuffle(usize, ByteShuffle),
    /// Each byte of a value multiplied by the same matrix.
    Affine(usize, AffineByte),
    /// Nothing but zeros: `n` bytes.
    Zero(usize),
}

/// What operations cost, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BytePrices {
    /// A XOR.
    pub xor: f64,
    /// A shuffle.
    pub shuffle: f64,
    /// An affine map.
    pub affine: f64,
}

impl Default for BytePrices {
    fn default() -> BytePrices {
        BytePrices { xor: 0.5, shuffle: 1.0, affine: 1.0 }
    }
}

/// A list of operations; the last value is the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByteProgram {
    n_inputs: usize,
    ops: Vec<ByteOp>,
}

impl ByteProgram {
    /// The bytes that go in.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// The operations. Operation `i` computes value `i + 1`. None means that the result is the input.
    pub fn ops(&self) -> &[ByteOp] {
        &self.ops
    }

    /// What it costs at these prices.
    pub fn price(&self, prices: &BytePrices) -> f64 {
        let price = |op: &ByteOp| match op {
            ByteOp::Xor(..) => prices.xor,
            ByteOp::Shuffle(..) => prices.shuffle,
            ByteOp::Affine(..) => prices.affine,
            ByteOp::Zero(_) => 0.0,
        };
        self.ops.iter().map(price).sum()
    }

    /// What comes out for these bytes.
    pub fn evaluate(&self, bytes: &[u8]) -> Vec<u8> {
        let mut values = vec![bytes.to_vec()];
        for op in &self.ops {
            let value = match op {
                ByteOp::Xor(a, b) => values[*a].iter().zip(&values[*b]).map(|(a, b)| a ^ b).collect(),
                ByteOp::Shuffle(a, shuffle) => shuffle.apply(&values[*a]),
                ByteOp::Affine(a, affine) => values[*a].iter().map(|x| affine.apply(*x)).collect(),
                ByteOp::Zero(n) => vec![0; *n],
            };
            values.push(value);
        }
        values.pop().unwrap_or_default()
    }

    /// The matrix of the map. What it does to unit vectors says all, for no operation has a constant.
    pub fn matrix(&self) -> BitMatrix {
        let columns: Vec<BitVector> = (0..8 * self.n_inputs)
            .map(|bit| {
                let mut bytes = vec![0; self.n_inputs];
                bytes[bit / 8] = 1 << (bit % 8);
                BitVector::from_bits(
                    self.evaluate(&bytes).iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 != 0)),
                )
            })
            .collect();
        let n_rows = columns.first().map_or(0, BitVector::len);
        BitMatrix::from_columns(n_rows, &columns)
    }
}

/// The blocks of a matrix that are not zero, by their value: for each, the shuffles whose XOR has its places.
struct Blocks {
    n_inputs: usize,
    n_outputs: usize,
    /// Block values as the instruction writes them.
    shuffles: BTreeMap<u64, Vec<ByteShuffle>>,
}

/// The programs for a map of whole bytes, cheapest first. Empty when the matrix has no whole bytes.
pub fn byte_programs(matrix: &BitMatrix, prices: &BytePrices) -> Vec<ByteProgram> {
    let Some(blocks) = blocks_of(matrix) else { return Vec::new() };
    let values: Vec<u64> = blocks.shuffles.keys().copied().collect();
    let basis = basis_of(&blocks);
    let mut programs =
        vec![shuffles_first(&blocks, &basis), affine_first(&blocks, &basis), affine_first(&blocks, &values)];
    programs.retain(|program| program.matrix() == *matrix);
    programs.sort_by(|a, b| a.price(prices).total_cmp(&b.price(prices)));
    programs.dedup();
    programs
}

fn blocks_of(matrix: &BitMatrix) -> Option<Blocks> {
    let whole = |n: usize| (n != 0 && n.is_multiple_of(8)).then_some(n / 8);
    let (n_outputs, n_inputs) = (whole(matrix.n_rows())?, whole(matrix.n_columns())?);
    // For each value and each byte that comes out, where the value stands.
    let mut places: BTreeMap<u64, Vec<Vec<usize>>> = BTreeMap::new();
    for i in 0..n_outputs {
        for j in 0..n_inputs {
            let value = AffineByte::of_matrix(&matrix.block(8 * i, 8 * j, 8, 8))?.matrix;
            if value != 0 {
                places.entry(value).or_insert_with(|| vec![Vec::new(); n_outputs])[i].push(j);
            }
        }
    }
    let mut shuffles = BTreeMap::new();
    for (value, rows) in places {
        shuffles.insert(value, layers(n_inputs, rows)?);
    }
    Some(Blocks { n_inputs, n_outputs, shuffles })
}

/// Shuffles whose XOR takes to each byte all of its `rows`. Each layer takes from all bytes the source at the same distance
/// where that goes, so that a map that treats bytes alike gets shuffles that do, and then whatever is left.
fn layers(n_inputs: usize, mut rows: Vec<Vec<usize>>) -> Option<Vec<ByteShuffle>> {
    let mut layers = Vec::new();
    let n_layers = rows.iter().map(Vec::len).max().unwrap_or(0);
    for _ in 0..n_layers {
        // A byte with as many sources as layers are left must give one away; the others may.
        let distance = |i: usize, j: usize| (j + n_inputs - i % n_inputs) % n_inputs;
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, row) in rows.iter().enumerate() {
            row.iter().for_each(|&j| *counts.entry(distance(i, j)).or_default() += 1);
        }
        let common = counts.iter().max_by_key(|(distance, count)| (**count, std::cmp::Reverse(**distance)));
        let common = common.map(|(distance, _)| *distance)?;
        let sources: Vec<Option<usize>> = rows
            .iter_mut()
            .enumerate()
            .map(|(i, row)| {
                let at = row.iter().position(|&j| distance(i, j) == common).unwrap_or(0);
                (!row.is_empty()).then(|| row.remove(at))
            })
            .collect();
        layers.push(ByteShuffle::new(n_inputs, sources)?);
    }
    Some(layers)
}

/// A basis of the block values: the identity if it is a XOR of values, then the values that need the most shuffles.
fn basis_of(blocks: &Blocks) -> Vec<u64> {
    let mut values: Vec<(u64, usize)> = blocks.shuffles.iter().map(|(value, list)| (*value, list.len())).collect();
    values.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
    let all: Vec<u64> = values.iter().map(|(value, _)| *value).collect();
    let identity = AffineByte::IDENTITY.matrix;
    let mut basis = Vec::new();
    if coordinates(&all, identity).is_some() {
        basis.push(identity);
    }
    for value in all {
        if coordinates(&basis, value).is_none() {
            basis.push(value);
        }
    }
    basis
}

/// Which of `basis` XOR to `value`.
fn coordinates(basis: &[u64], value: u64) -> Option<Vec<usize>> {
    let column = |value: u64| BitVector::from_words(64, &[value]);
    let columns: Vec<BitVector> = basis.iter().map(|&value| column(value)).collect();
    let x = BitMatrix::from_columns(64, &columns).solve(&column(value))?;
    Some(x.ones().collect())
}

struct Builder {
    program: ByteProgram,
}

impl Builder {
    fn op(&mut self, op: ByteOp) -> usize {
        if let Some(known) = self.program.ops.iter().position(|other| *other == op) {
            return known + 1;
        }
        self.program.ops.push(op);
        self.program.ops.len()
    }

    fn shuffle(&mut self, value: usize, shuffle: &ByteShuffle) -> usize {
        if shuffle.is_identity() { value } else { self.op(ByteOp::Shuffle(value, shuffle.clone())) }
    }

    fn affine(&mut self, value: usize, matrix: u64) -> usize {
        if matrix == AffineByte::IDENTITY.matrix {
            return value;
        }
        self.op(ByteOp::Affine(value, AffineByte { matrix, constant: 0 }))
    }

    fn xor_all(&mut self, values: &[usize]) -> Option<usize> {
        let (first, rest) = values.split_first()?;
        Some(rest.iter().fold(*first, |sum, &value| self.op(ByteOp::Xor(sum, value))))
    }

    /// The program with `result` as its last value.
    fn finish(mut self, result: Option<usize>, blocks: &Blocks) -> ByteProgram {
        match result {
            None => self.program.ops = vec![ByteOp::Zero(blocks.n_outputs)],
            Some(result) => self.program.ops.truncate(result),
        }
        self.program
    }
}

fn builder(blocks: &Blocks) -> Builder {
    Builder { program: ByteProgram { n_inputs: blocks.n_inputs, ops: Vec::new() } }
}

fn shuffles_first(blocks: &Blocks, basis: &[u64]) -> ByteProgram {
    let mut b = builder(blocks);
    let mut of_basis: Vec<Vec<usize>> = vec![Vec::new(); basis.len()];
    for (value, shuffles) in &blocks.shuffles {
        let moved: Vec<usize> = shuffles.iter().map(|shuffle| b.shuffle(0, shuffle)).collect();
        for at in coordinates(basis, *value).unwrap_or_default() {
            of_basis[at].extend(&moved);
        }
    }
    let mut parts = Vec::new();
    for (value, moved) in basis.iter().zip(of_basis) {
        if let Some(sum) = b.xor_all(&moved) {
            parts.push((b.affine(sum, *value), *value == AffineByte::IDENTITY.matrix));
        }
    }
    // What needed no affine map comes last, so that it does not wait.
    parts.sort_by_key(|(_, is_plain)| *is_plain);
    let parts: Vec<usize> = parts.into_iter().map(|(part, _)| part).collect();
    let sum = b.xor_all(&parts);
    b.finish(sum, blocks)
}

fn affine_first(blocks: &Blocks, basis: &[u64]) -> ByteProgram {
    let mut b = builder(blocks);
    let mut parts = Vec::new();
    for (value, shuffles) in &blocks.shuffles {
        let factors = coordinates(basis, *value).unwrap_or_default();
        let factors: Vec<usize> = factors.into_iter().map(|at| b.affine(0, basis[at])).collect();
        if let Some(multiple) = b.xor_all(&factors) {
            for shuffle in shuffles {
                parts.push(b.shuffle(multiple, shuffle));
            }
        }
    }
    let sum = b.xor_all(&parts);
    b.finish(sum, blocks)
}
