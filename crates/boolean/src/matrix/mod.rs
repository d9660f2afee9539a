//! Dense matrices over GF(2): what a linear map is, once it no longer matters how it was written.
//!
//! A map of n bits to m is a matrix of m rows and n columns, used from the left on columns: bit `i` of `M·x` is the XOR of
//! the bits of `x` that are set in row `i`. Column `j` is what the map makes of the unit vector with bit `j` set, which is
//! how a matrix is found from code that is known to be linear:
//!
//! ```
//! use headrace_boolean::matrix::BitMatrix;
//! // x XOR (x rotated left by one), on four bits
//! let m = BitMatrix::from_u128_map(4, 4, |x| x ^ (x << 1 | x >> 3));
//! assert_eq!(m.to_string(), "1..1\n11..\n.11.\n..11\n");
//! assert_eq!(m.rank(), 3); // the all-ones vector becomes zero: it is no permutation of the values
//! assert!(m.is_circulant());
//! ```
//!
//! Rows are stored as 64-bit words. The bits of a row's last word above the number of columns are zero, always.
//! `structure` recognises permutations and blocks, `affine` adds a constant.

mod affine;
mod structure;
mod vector;

pub use affine::AffineMap;
pub use vector::BitVector;
pub(crate) use vector::{ones, xor_into};

use std::fmt;
use vector::n_words;

/// Two operands whose sizes do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// What the left operand offers.
    pub left: usize,
    /// What the right operand offers.
    pub right: usize,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sizes do not fit: {} on the left, {} on the right", self.left, self.right)
    }
}

impl std::error::Error for ShapeError {}

/// A matrix over GF(2).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BitMatrix {
    n_rows: usize,
    n_columns: usize,
    words: Vec<u64>,
}

/// A matrix in reduced row echelon form, see [`BitMatrix::echelon`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Echelon {
    /// The reduced matrix: the rows that are not zero come first, each begins with a one that is alone in its column.
    pub reduced: BitMatrix,
    /// The column of the leading one of each row that is not zero.
    pub pivots: Vec<usize>,
    /// The invertible matrix with `transform · original = reduced`.
    pub transform: BitMatrix,
}

impl BitMatrix {
    /// The zero matrix.
    pub fn zero(n_rows: usize, n_columns: usize) -> BitMatrix {
        BitMatrix { n_rows, n_columns, words: vec![0; n_rows * n_words(n_columns)] }
    }

    /// The identity of `n` bits.
    pub fn identity(n: usize) -> BitMatrix {
        BitMatrix::from_fn(n, n, |i, j| i == j)
    }

    /// The matrix with `entry(row, column)`.
    pub fn from_fn(n_rows: usize, n_columns: usize, mut entry: impl FnMut(usize, usize) -> bool) -> BitMatrix {
        let mut m = BitMatrix::zero(n_rows, n_columns);
        for i in 0..n_rows {
            for j in 0..n_columns {
                if entry(i, j) {
                    m.set(i, j, true);
                }
            }
        }
        m
    }

    /// The matrix of these rows. Bits above `n_columns` are dropped, missing ones are zero.
    pub fn from_rows(n_columns: usize, rows: &[BitVector]) -> BitMatrix {
        let mut m = BitMatrix::zero(rows.len(), n_columns);
        for (i, row) in rows.iter().enumerate() {
            let cut = BitVector::from_words(n_columns, row.words());
            m.row_words_mut(i).copy_from_slice(cut.words());
        }
        m
    }

    /// The matrix whose row `i` is the low `n_columns` bits of `rows[i]`.
    pub fn from_u128_rows(n_columns: usize, rows: &[u128]) -> BitMatrix {
        let rows: Vec<BitVector> = rows.iter().map(|&row| BitVector::from_u128(n_columns, row)).collect();
        BitMatrix::from_rows(n_columns, &rows)
    }

    /// The matrix of these columns. Bits above `n_rows` are dropped, missing ones are zero.
    pub fn from_columns(n_rows: usize, columns: &[BitVector]) -> BitMatrix {
        BitMatrix::from_rows(n_rows, columns).transpose()
    }

    /// The matrix of the linear map `map` of `n_inputs` bits to `n_outputs`, from what it makes of the unit vectors. Whether
    /// it is linear is the caller's knowledge.
    pub fn from_map(n_inputs: usize, n_outputs: usize, mut map: impl FnMut(&BitVector) -> BitVector) -> BitMatrix {
        let columns: Vec<BitVector> = (0..n_inputs).map(|j| map(&BitVector::unit(n_inputs, j))).collect();
        BitMatrix::from_columns(n_outputs, &columns)
    }

    /// [`BitMatrix::from_map`] for maps of at most 128 bits to at most 128.
    pub fn from_u128_map(n_inputs: usize, n_outputs: usize, mut map: impl FnMut(u128) -> u128) -> BitMatrix {
        let columns: Vec<BitVector> = (0..n_inputs)
            .map(|j| BitVector::from_u128(n_outputs, map(1_u128.checked_shl(j as u32).unwrap_or(0))))
            .collect();
        BitMatrix::from_columns(n_outputs, &columns)
    }

    /// The map whose output `i` is input `sources[i]`, or zero where there is none.
    pub fn from_selection(n_inputs: usize, sources: &[Option<usize>]) -> BitMatrix {
        BitMatrix::from_fn(sources.len(), n_inputs, |i, j| sources[i] == Some(j))
    }

    /// The rotation of `n` bits left by `amount`: bit `j` of the input becomes bit `j + amount` modulo `n`.
    pub fn rotation(n: usize, amount: usize) -> BitMatrix {
        BitMatrix::from_fn(n, n, |i, j| (j + amount) % n == i)
    }

    /// The number of rows: of bits that come out.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns: of bits that go in.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn stride(&self) -> usize {
        n_words(self.n_columns)
    }

    /// The words of row `i`, which must be below `n_rows`.
    pub fn row_words(&self, i: usize) -> &[u64] {
        let stride = self.stride();
        &self.words[i * stride..(i + 1) * stride]
    }

    fn row_words_mut(&mut self, i: usize) -> &mut [u64] {
        let stride = self.stride();
        &mut self.words[i * stride..(i + 1) * stride]
    }

    /// The entry in row `i` and column `j`; false outside.
    pub fn get(&self, i: usize, j: usize) -> bool {
        i < self.n_rows && j < self.n_columns && self.words[i * self.stride() + j / 64] >> (j % 64) & 1 != 0
    }

    /// Sets the entry in row `i` and column `j`; nothing happens outside.
    pub fn set(&mut self, i: usize, j: usize, value: bool) {
        if i < self.n_rows && j < self.n_columns {
            let at = i * self.stride() + j / 64;
            let mask = 1 << (j % 64);
            self.words[at] = if value { self.words[at] | mask } else { self.words[at] & !mask };
        }
    }

    /// Row `i`: which inputs output `i` is the XOR of.
    pub fn row(&self, i: usize) -> BitVector {
        BitVector::from_words(self.n_columns, self.row_words(i))
    }

    /// All rows.
    pub fn rows(&self) -> Vec<BitVector> {
        (0..self.n_rows).map(|i| self.row(i)).collect()
    }

    /// The rows as numbers, where there are at most 128 columns.
    pub fn to_u128_rows(&self) -> Option<Vec<u128>> {
        (self.n_columns <= 128).then(|| (0..self.n_rows).map(|i| self.row(i).to_u128()).collect())
    }

    /// Column `j`: what input `j` contributes to.
    pub fn column(&self, j: usize) -> BitVector {
        BitVector::from_bits((0..self.n_rows).map(|i| self.get(i, j)))
    }

    /// The columns that are set in row `i`, lowest first.
    pub fn ones_in_row(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        ones(self.row_words(i))
    }

    /// How many entries are one.
    pub fn weight(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether every entry is zero.
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// `self · x`.
    pub fn apply(&self, x: &BitVector) -> Result<BitVector, ShapeError> {
        if x.len() != self.n_columns {
            return Err(ShapeError { left: self.n_columns, right: x.len() });
        }
        Ok(BitVector::from_bits((0..self.n_rows).map(|i| parity(self.row_words(i), x.words()))))
    }

    /// `self · x` of at most 128 bits in and the low 128 bits out; bits of `x` above the columns count for nothing.
    pub fn apply_u128(&self, x: u128) -> u128 {
        let x = BitVector::from_u128(self.n_columns, x);
        (0..self.n_rows.min(128))
            .filter(|&i| parity(self.row_words(i), x.words()))
            .fold(0, |result, i| result | 1_u128 << i)
    }

    /// `self · other`: `other` first, then `self`.
    pub fn multiply(&self, other: &BitMatrix) -> Result<BitMatrix, ShapeError> {
        if self.n_columns != other.n_rows {
            return Err(ShapeError { left: self.n_columns, right: other.n_rows });
        }
        let mut product = BitMatrix::zero(self.n_rows, other.n_columns);
        for i in 0..self.n_rows {
            let row = product.row_words_mut(i);
            for j in self.ones_in_row(i) {
                xor_into(row, other.row_words(j));
            }
        }
        Ok(product)
    }

    /// `self + other`.
    pub fn add(&self, other: &BitMatrix) -> Result<BitMatrix, ShapeError> {
        if self.n_rows != other.n_rows {
            return Err(ShapeError { left: self.n_rows, right: other.n_rows });
        }
        if self.n_columns != other.n_columns {
            return Err(ShapeError { left: self.n_columns, right: other.n_columns });
        }
        let mut sum = self.clone();
        xor_into(&mut sum.words, &other.words);
        Ok(sum)
    }

    /// `self` multiplied by itself `exponent` times; of a matrix that is not square, an error.
    pub fn power(&self, exponent: u64) -> Result<BitMatrix, ShapeError> {
        if self.n_rows != self.n_columns {
            return Err(ShapeError { left: self.n_rows, right: self.n_columns });
        }
        let mut result = BitMatrix::identity(self.n_rows);
        for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
            result = result.multiply(&result)?;
            if exponent >> bit & 1 != 0 {
                result = result.multiply(self)?;
            }
        }
        Ok(result)
    }

    /// The matrix with rows and columns exchanged.
    #[must_use]
    pub fn transpose(&self) -> BitMatrix {
        let mut result = BitMatrix::zero(self.n_columns, self.n_rows);
        let (stride, result_stride) = (self.stride(), result.stride());
        let mut block = [0_u64; 64];
        for top in 0..n_words(self.n_rows) {
            for left in 0..stride {
                for (i, word) in block.iter_mut().enumerate() {
                    *word = self.words.get((top * 64 + i) * stride + left).copied().unwrap_or(0);
                }
                transpose_block(&mut block);
                for (i, word) in block.iter().enumerate().take(self.n_columns - left * 64) {
                    result.words[(left * 64 + i) * result_stride + top] = *word;
                }
            }
        }
        result
    }

    /// The reduced row echelon form by Gauss and Jordan's elimination, and how it comes about.
    pub fn echelon(&self) -> Echelon {
        let mut work = self.beside(&BitMatrix::identity(self.n_rows));
        let pivots = work.eliminate(self.n_columns);
        Echelon {
            reduced: work.block(0, 0, self.n_rows, self.n_columns),
            transform: work.block(0, self.n_columns, self.n_rows, self.n_rows),
            pivots,
        }
    }

    /// Eliminates in place, looking for pivots in the first `n_pivot_columns`; gives the pivots.
    fn eliminate(&mut self, n_pivot_columns: usize) -> Vec<usize> {
        let stride = self.stride();
        let mut pivots = Vec::new();
        for column in 0..n_pivot_columns {
            let rank = pivots.len();
            let Some(found) = (rank..self.n_rows).find(|&i| self.get(i, column)) else { continue };
            if found != rank {
                let (upper, lower) = self.words.split_at_mut(found * stride);
                upper[rank * stride..(rank + 1) * stride].swap_with_slice(&mut lower[..stride]);
            }
            let pivot = self.row_words(rank).to_vec();
            for i in 0..self.n_rows {
                if i != rank && self.get(i, column) {
                    // Left of the pivot's word the pivot's row is zero wherever a pivot has been sought already.
                    let first = column / 64;
                    xor_into(&mut self.words[i * stride + first..(i + 1) * stride], &pivot[first..]);
                }
            }
            pivots.push(column);
            if pivots.len() == self.n_rows {
                break;
            }
        }
        pivots
    }

    /// The number of rows that are linearly independent.
    pub fn rank(&self) -> usize {
        self.clone().eliminate(self.n_columns).len()
    }

    /// The inverse of a square matrix that has one.
    pub fn inverse(&self) -> Option<BitMatrix> {
        if self.n_rows != self.n_columns {
            return None;
        }
        let mut work = self.beside(&BitMatrix::identity(self.n_rows));
        (work.eliminate(self.n_columns).len() == self.n_rows)
            .then(|| work.block(0, self.n_columns, self.n_rows, self.n_rows))
    }

    /// One `x` with `self · x = b`, if there is one: the one that is zero wherever it may be.
    pub fn solve(&self, b: &BitVector) -> Option<BitVector> {
        let b = BitMatrix::from_columns(self.n_rows, std::slice::from_ref(b));
        self.solve_matrix(&b).map(|x| x.column(0))
    }

    /// One `X` with `self · X = b`, if there is one: all columns of `b` at once.
    pub fn solve_matrix(&self, b: &BitMatrix) -> Option<BitMatrix> {
        if b.n_rows != self.n_rows {
            return None;
        }
        let mut work = self.beside(b);
        let pivots = work.eliminate(self.n_columns);
        let right = work.block(0, self.n_columns, self.n_rows, b.n_columns);
        if (pivots.len()..self.n_rows).any(|i| right.row_words(i).iter().any(|&word| word != 0)) {
            return None;
        }
        let mut x = BitMatrix::zero(self.n_columns, b.n_columns);
        for (i, &pivot) in pivots.iter().enumerate() {
            x.row_words_mut(pivot).copy_from_slice(right.row_words(i));
        }
        Some(x)
    }

    /// A basis of the vectors that the map makes zero.
    pub fn kernel(&self) -> Vec<BitVector> {
        let mut work = self.clone();
        let pivots = work.eliminate(self.n_columns);
        (0..self.n_columns)
            .filter(|column| !pivots.contains(column))
            .map(|free| {
                let mut v = BitVector::unit(self.n_columns, free);
                for (i, &pivot) in pivots.iter().enumerate() {
                    v.set(pivot, work.get(i, free));
                }
                v
            })
            .collect()
    }
}

/// Whether an odd number of bits is set in both.
fn parity(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum ^ (a & b)).count_ones() % 2 == 1
}

/// Transposes 64 × 64 bits by exchanging ever smaller squares (Warren, Hacker's Delight, section 7-3; here with bit 0 first).
fn transpose_block(block: &mut [u64; 64]) {
    let mut mask = 0x0000_0000_ffff_ffff_u64;
    let mut size = 32;
    while size != 0 {
        let mut i = 0;
        while i < 64 {
            let swap = (block[i] >> size ^ block[i + size]) & mask;
            block[i] ^= swap << size;
            block[i + size] ^= swap;
            i = (i + size + 1) & !size;
        }
        size /= 2;
        mask ^= mask << size;
    }
}

impl fmt::Display for BitMatrix {
    /// One line a row, column 0 first: `1` for set, `.` for clear.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.n_rows).try_for_each(|i| writeln!(f, "{}", self.row(i)))
    }
}

impl fmt::Debug for BitMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}\n{self}", self.n_rows, self.n_columns)
    }
}

#[cfg(test)]
mod tests;
