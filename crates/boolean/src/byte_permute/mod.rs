//! Linear maps as the byte instructions of vector units: shuffles, an affine map of each byte, whole words rotated, shifted or
//! turned round.
//!
//! A map whose matrix consists of 8 × 8 blocks, each zero or the identity, moves whole bytes. When each row of blocks has at
//! most one identity it is one shuffle:
//!
//! ```
//! use headrace_boolean::byte_permute::{ByteShuffle, WordOperation};
//! use headrace_boolean::matrix::BitMatrix;
//! let rotate = BitMatrix::from_u128_map(32, 32, |x| u128::from((x as u32).rotate_left(8)));
//! let shuffle = ByteShuffle::of_matrix(&rotate).unwrap();
//! assert_eq!(shuffle.sources(), [Some(3), Some(0), Some(1), Some(2)]);
//! assert_eq!(WordOperation::of_matrix(&rotate), Some(WordOperation::RotateLeft { word_bits: 32, amount: 8 }));
//! ```
//!
//! * here: shuffles and the controls of the instructions that do them;
//! * `word_operation`: maps that a scalar or a lane does in one instruction;
//! * `affine_byte`: the constants of the affine instruction, which numbers the rows of its matrix backwards;
//! * `program`: any other map of bytes, as few shuffles, affine maps and XORs, multiplied back into its matrix.

mod affine_byte;
mod program;
mod word_operation;

pub use affine_byte::{AffineByte, field_constant, inverse_in_field};
pub use program::{ByteOp, BytePrices, ByteProgram, byte_programs};
pub use word_operation::WordOperation;

use crate::matrix::BitMatrix;

/// A vector of bytes of which each is a byte of another one, or zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteShuffle {
    n_inputs: usize,
    sources: Vec<Option<usize>>,
}

impl ByteShuffle {
    /// The shuffle whose byte `i` is byte `sources[i]` of `n_inputs`. None when a source is not there.
    pub fn new(n_inputs: usize, sources: Vec<Option<usize>>) -> Option<ByteShuffle> {
        sources.iter().flatten().all(|&source| source < n_inputs).then_some(ByteShuffle { n_inputs, sources })
    }

    /// The shuffle that a matrix is, if it is one.
    pub fn of_matrix(matrix: &BitMatrix) -> Option<ByteShuffle> {
        let words = matrix.as_words(8)?;
        ByteShuffle::new(words.n_columns(), words.as_selection()?)
    }

    /// The shuffle as a matrix of bits.
    pub fn matrix(&self) -> BitMatrix {
        BitMatrix::from_selection(self.n_inputs, &self.sources).expand(&BitMatrix::identity(8))
    }

    /// Where each byte comes from.
    pub fn sources(&self) -> &[Option<usize>] {
        &self.sources
    }

    /// How many bytes go in.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// Whether the bytes that come out are those that went in, in their order.
    pub fn is_identity(&self) -> bool {
        self.sources.len() == self.n_inputs && self.sources.iter().enumerate().all(|(i, s)| *s == Some(i))
    }

    /// This shuffle after another: one that does both. None when the sizes do not fit.
    pub fn after(&self, first: &ByteShuffle) -> Option<ByteShuffle> {
        (first.sources.len() == self.n_inputs).then(|| ByteShuffle {
            n_inputs: first.n_inputs,
            sources: self.sources.iter().map(|source| source.and_then(|i| first.sources[i])).collect(),
        })
    }

    /// What it makes of bytes; those that are missing are zero.
    pub fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        self.sources.iter().map(|source| source.and_then(|i| bytes.get(i).copied()).unwrap_or(0)).collect()
    }

    /// The control of a shuffle within lanes of 16 bytes (SSSE3 `pshufb`, its AVX2 and AVX-512 forms; NEON `tbl` takes the
    /// same): in each lane the place within the lane, 0x80 for zero. None when a byte leaves its lane. What is short of a
    /// whole lane is filled up with zero.
    pub fn in_lanes(&self) -> Option<Vec<[u8; 16]>> {
        let lane = |(lane, sources): (usize, &[Option<usize>])| {
            let mut control = [0x80; 16];
            for (to, source) in control.iter_mut().zip(sources) {
                if let Some(source) = source {
                    *to = u8::try_from(source.checked_sub(16 * lane).filter(|place| *place < 16)?).ok()?;
                }
            }
            Some(control)
        };
        self.sources.chunks(16).enumerate().map(lane).collect()
    }

    /// The control of a permutation of 64 bytes (AVX-512 VBMI `vpermb`): the place of each byte, and the mask of those that
    /// are not zero. None beyond 64 bytes.
    pub fn in_64(&self) -> Option<([u8; 64], u64)> {
        (self.n_inputs <= 64).then(|| self.in_128()).flatten()
    }

    /// The control of a choice of 64 bytes from two vectors of 64 (`vpermi2b`, `vpermt2b`): bit 6 of a place chooses the
    /// vector. None beyond 128 bytes in or 64 out.
    pub fn in_128(&self) -> Option<([u8; 64], u64)> {
        if self.n_inputs > 128 || self.sources.len() > 64 {
            return None;
        }
        let mut control = [0; 64];
        let mut mask = 0;
        for (i, source) in self.sources.iter().enumerate() {
            if let Some(source) = source {
                control[i] = *source as u8;
                mask |= 1 << i;
            }
        }
        Some((control, mask))
    }

    /// The control of a shuffle of whole 32-bit words in one lane (SSE2 `pshufd`), when it is that: two bits a word.
    pub fn as_word_shuffle(&self) -> Option<u8> {
        if self.n_inputs != 16 || self.sources.len() != 16 {
            return None;
        }
        let mut control = 0;
        for (word, sources) in self.sources.chunks(4).enumerate() {
            let first = sources[0].filter(|first| first % 4 == 0)?;
            if (0..4).any(|i| sources[i] != Some(first + i)) {
                return None;
            }
            control |= (first / 4) as u8 * (1 << (2 * word));
        }
        Some(control)
    }

    /// Of 16 bytes moved up with zeros below, or down with zeros above (SSE2 `pslldq`, `psrldq`): by how many, upwards
    /// positive.
    pub fn as_byte_shift(&self) -> Option<i32> {
        if self.n_inputs != 16 || self.sources.len() != 16 {
            return None;
        }
        (-15..16).find(|&amount| {
            (0..16).all(|i| self.sources[i as usize] == usize::try_from(i - amount).ok().filter(|from| *from < 16))
        })
    }
}

#[cfg(test)]
mod tests;
