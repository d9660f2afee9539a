//! Affine maps: a matrix and a constant.

use super::{BitMatrix, BitVector, ShapeError};
use std::fmt;

/// The map `x ↦ matrix · x ^ constant`. The constant is as long as the matrix has rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AffineMap {
    matrix: BitMatrix,
    constant: BitVector,
}

impl AffineMap {
    /// The map of this matrix and constant.
    pub fn new(matrix: BitMatrix, constant: BitVector) -> Result<AffineMap, ShapeError> {
        if matrix.n_rows() != constant.len() {
            return Err(ShapeError { left: matrix.n_rows(), right: constant.len() });
        }
        Ok(AffineMap { matrix, constant })
    }

    /// The map without a constant.
    pub fn linear(matrix: BitMatrix) -> AffineMap {
        let constant = BitVector::zero(matrix.n_rows());
        AffineMap { matrix, constant }
    }

    /// The map that changes nothing.
    pub fn identity(n: usize) -> AffineMap {
        AffineMap::linear(BitMatrix::identity(n))
    }

    /// The affine map that agrees with `map` on zero and on the unit vectors. Whether `map` is affine is the caller's
    /// knowledge.
    pub fn from_map(n_inputs: usize, n_outputs: usize, mut map: impl FnMut(&BitVector) -> BitVector) -> AffineMap {
        let constant = BitVector::from_words(n_outputs, map(&BitVector::zero(n_inputs)).words());
        let matrix = BitMatrix::from_map(n_inputs, n_outputs, |x| {
            BitVector::from_words(n_outputs, map(x).words()).xor(&constant)
        });
        AffineMap { matrix, constant }
    }

    /// The linear part.
    pub fn matrix(&self) -> &BitMatrix {
        &self.matrix
    }

    /// What zero becomes.
    pub fn constant(&self) -> &BitVector {
        &self.constant
    }

    /// Whether zero becomes zero.
    pub fn is_linear(&self) -> bool {
        self.constant.is_zero()
    }

    /// What `x` becomes.
    pub fn apply(&self, x: &BitVector) -> Result<BitVector, ShapeError> {
        Ok(self.matrix.apply(x)?.xor(&self.constant))
    }

    /// The map that does `first` and then this one.
    pub fn after(&self, first: &AffineMap) -> Result<AffineMap, ShapeError> {
        Ok(AffineMap { matrix: self.matrix.multiply(&first.matrix)?, constant: self.apply(&first.constant)? })
    }

    /// The XOR of what both maps give.
    pub fn add(&self, other: &AffineMap) -> Result<AffineMap, ShapeError> {
        Ok(AffineMap { matrix: self.matrix.add(&other.matrix)?, constant: self.constant.xor(&other.constant) })
    }

    /// The map that undoes this one, if there is one.
    pub fn inverse(&self) -> Option<AffineMap> {
        let matrix = self.matrix.inverse()?;
        let constant = matrix.apply(&self.constant).ok()?;
        Some(AffineMap { matrix, constant })
    }
}

impl fmt::Display for AffineMap {
    /// One line an output bit: its row, and ` ^ 1` where the constant turns it over.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.matrix.n_rows())
            .try_for_each(|i| writeln!(f, "{}{}", self.matrix.row(i), if self.constant.get(i) { " ^ 1" } else { "" }))
    }
}
