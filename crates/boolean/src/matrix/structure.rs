//! The structure of a matrix: permutations, blocks, circulants, and putting matrices together from parts.

use super::{BitMatrix, BitVector, ShapeError};

impl BitMatrix {
    /// The part of `n_rows` × `n_columns` with its first entry at (`top`, `left`); zeros where that lies outside.
    #[must_use]
    pub fn block(&self, top: usize, left: usize, n_rows: usize, n_columns: usize) -> BitMatrix {
        let mut result = BitMatrix::zero(n_rows, n_columns);
        let shift = left % 64;
        let used = n_columns % 64;
        for i in 0..n_rows.min(self.n_rows.saturating_sub(top)) {
            let from = self.row_words(top + i);
            let word = |at: usize| from.get(left / 64 + at).copied().unwrap_or(0);
            let to = result.row_words_mut(i);
            for (at, target) in to.iter_mut().enumerate() {
                *target = if shift == 0 { word(at) } else { word(at) >> shift | word(at + 1) << (64 - shift) };
            }
            if used != 0
                && let Some(last) = to.last_mut()
            {
                *last &= (1 << used) - 1;
            }
        }
        result
    }

    /// This matrix with `other` to its right: the map of both inputs, one after the other, whose results are XORed. Rows
    /// that one of them lacks are zero there.
    #[must_use]
    pub fn beside(&self, other: &BitMatrix) -> BitMatrix {
        let mut result = BitMatrix::zero(self.n_rows.max(other.n_rows), self.n_columns + other.n_columns);
        result.place(0, 0, self);
        result.place(0, self.n_columns, other);
        result
    }

    /// This matrix with `other` below it: the map of one input to both results, one after the other. Columns that one of
    /// them lacks are zero there.
    #[must_use]
    pub fn above(&self, other: &BitMatrix) -> BitMatrix {
        let mut result = BitMatrix::zero(self.n_rows + other.n_rows, self.n_columns.max(other.n_columns));
        result.place(0, 0, self);
        result.place(self.n_rows, 0, other);
        result
    }

    /// XORs `part` in with its first entry at (`top`, `left`); what lies outside is dropped.
    pub fn place(&mut self, top: usize, left: usize, part: &BitMatrix) {
        let shift = left % 64;
        let n_columns = self.n_columns;
        for i in 0..part.n_rows.min(self.n_rows.saturating_sub(top)) {
            let row = self.row_words_mut(top + i);
            for (at, &word) in part.row_words(i).iter().enumerate() {
                if let Some(target) = row.get_mut(left / 64 + at) {
                    *target ^= word << shift;
                }
                if shift != 0
                    && let Some(target) = row.get_mut(left / 64 + at + 1)
                {
                    *target ^= word >> (64 - shift);
                }
            }
            let used = n_columns % 64;
            if used != 0
                && let Some(last) = row.last_mut()
            {
                *last &= (1 << used) - 1;
            }
        }
    }

    /// The matrix with these blocks along its diagonal, from the upper left, and zeros elsewhere.
    pub fn block_diagonal(blocks: &[BitMatrix]) -> BitMatrix {
        let n_rows = blocks.iter().map(BitMatrix::n_rows).sum();
        let n_columns = blocks.iter().map(BitMatrix::n_columns).sum();
        let mut result = BitMatrix::zero(n_rows, n_columns);
        let (mut top, mut left) = (0, 0);
        for block in blocks {
            result.place(top, left, block);
            top += block.n_rows;
            left += block.n_columns;
        }
        result
    }

    /// The matrix with every one replaced by `block` and every zero by zeros.
    #[must_use]
    pub fn expand(&self, block: &BitMatrix) -> BitMatrix {
        let mut result = BitMatrix::zero(self.n_rows * block.n_rows, self.n_columns * block.n_columns);
        for i in 0..self.n_rows {
            for j in self.ones_in_row(i) {
                result.place(i * block.n_rows, j * block.n_columns, block);
            }
        }
        result
    }

    /// The rows in this order; a row may come several times or not at all.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> BitMatrix {
        let rows: Vec<BitVector> =
            rows.iter().map(|&i| if i < self.n_rows { self.row(i) } else { BitVector::zero(self.n_columns) }).collect();
        BitMatrix::from_rows(self.n_columns, &rows)
    }

    /// The columns in this order; a column may come several times or not at all.
    #[must_use]
    pub fn select_columns(&self, columns: &[usize]) -> BitMatrix {
        self.transpose().select_rows(columns).transpose()
    }

    /// Whether the map changes nothing.
    pub fn is_identity(&self) -> bool {
        self.n_rows == self.n_columns && (0..self.n_rows).all(|i| self.ones_in_row(i).eq([i]))
    }

    /// Of a map whose outputs are each one input or zero: which. None of any other map.
    pub fn as_selection(&self) -> Option<Vec<Option<usize>>> {
        (0..self.n_rows)
            .map(|i| {
                let mut ones = self.ones_in_row(i);
                let first = ones.next();
                ones.next().is_none().then_some(first)
            })
            .collect()
    }

    /// Of a permutation of the bits: which input each output is. None of any other map.
    pub fn as_permutation(&self) -> Option<Vec<usize>> {
        let sources: Vec<usize> = self.as_selection()?.into_iter().collect::<Option<_>>()?;
        let mut seen = vec![false; self.n_columns];
        (self.n_rows == self.n_columns && sources.iter().all(|&j| !std::mem::replace(&mut seen[j], true)))
            .then_some(sources)
    }

    /// Of a matrix that consists of square blocks of `block_bits`, each zero or the identity: the matrix with one entry a
    /// block. With 8, the map moves and XORs whole bytes, and its selection, if it has one, is a byte shuffle.
    pub fn as_words(&self, block_bits: usize) -> Option<BitMatrix> {
        if block_bits == 0 || !self.n_rows.is_multiple_of(block_bits) || !self.n_columns.is_multiple_of(block_bits) {
            return None;
        }
        let words = BitMatrix::from_fn(self.n_rows / block_bits, self.n_columns / block_bits, |i, j| {
            self.get(i * block_bits, j * block_bits)
        });
        (words.expand(&BitMatrix::identity(block_bits)) == *self).then_some(words)
    }

    /// The largest power of two of bits that the map moves and XORs only as a whole; 1 for a map that splits every byte.
    pub fn word_bits(&self) -> usize {
        let mut best = 1;
        while self.as_words(best * 2).is_some() && best * 2 <= self.n_rows.max(1) {
            best *= 2;
        }
        best
    }

    /// The square blocks of `block_bits` along the diagonal, of a matrix that is zero elsewhere.
    pub fn as_block_diagonal(&self, block_bits: usize) -> Option<Vec<BitMatrix>> {
        if block_bits == 0 || self.n_rows != self.n_columns || !self.n_rows.is_multiple_of(block_bits) {
            return None;
        }
        let at = |i: usize| self.block(i * block_bits, i * block_bits, block_bits, block_bits);
        let blocks: Vec<BitMatrix> = (0..self.n_rows / block_bits).map(at).collect();
        (BitMatrix::block_diagonal(&blocks) == *self).then_some(blocks)
    }

    /// The smallest block that, repeated along the diagonal, makes the whole matrix: the map does the same to each of its
    /// words. The matrix itself when nothing smaller does; None when it is not square.
    pub fn repeated_block(&self) -> Option<BitMatrix> {
        if self.n_rows != self.n_columns {
            return None;
        }
        (1..=self.n_rows).filter(|size| self.n_rows.is_multiple_of(*size)).find_map(|size| {
            let blocks = self.as_block_diagonal(size)?;
            let first = blocks.first()?.clone();
            blocks.iter().all(|block| *block == first).then_some(first)
        })
    }

    /// Whether each row is the row above, rotated by one column to the right: multiplication modulo X^n + 1.
    pub fn is_circulant(&self) -> bool {
        self.as_block_circulant(1).is_some()
    }

    /// Of a matrix of square blocks of `block_bits`, each row of them the one above rotated by one to the right: the first
    /// row of blocks.
    pub fn as_block_circulant(&self, block_bits: usize) -> Option<Vec<BitMatrix>> {
        if block_bits == 0 || self.n_rows != self.n_columns || !self.n_rows.is_multiple_of(block_bits) {
            return None;
        }
        let n = self.n_rows / block_bits;
        let at = |i: usize, j: usize| self.block(i * block_bits, j * block_bits, block_bits, block_bits);
        let first: Vec<BitMatrix> = (0..n).map(|j| at(0, j)).collect();
        let mut again = BitMatrix::zero(self.n_rows, self.n_columns);
        for i in 0..n {
            for (j, block) in first.iter().enumerate() {
                again.place(i * block_bits, (i + j) % n * block_bits, block);
            }
        }
        (again == *self).then_some(first)
    }

    /// Which inputs the map looks at.
    pub fn used_columns(&self) -> BitVector {
        (0..self.n_rows).fold(BitVector::zero(self.n_columns), |mut used, i| {
            used = BitVector::from_words(
                self.n_columns,
                &used.words().iter().zip(self.row_words(i)).map(|(a, b)| a | b).collect::<Vec<_>>(),
            );
            used
        })
    }

    /// The map on other orders of the bits: `output · self · inputᵀ`, where both are permutations given as in
    /// [`BitMatrix::as_permutation`].
    pub fn reordered(&self, output: &[usize], input: &[usize]) -> Result<BitMatrix, ShapeError> {
        if output.len() != self.n_rows {
            return Err(ShapeError { left: output.len(), right: self.n_rows });
        }
        if input.len() != self.n_columns {
            return Err(ShapeError { left: self.n_columns, right: input.len() });
        }
        Ok(self.select_rows(output).select_columns(input))
    }
}
