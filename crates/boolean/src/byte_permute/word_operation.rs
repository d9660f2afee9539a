//! Instruction selection for linear maps: those that do the same to every word, in one instruction.

use crate::matrix::BitMatrix;
use std::fmt;

/// What is done to each word of `word_bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordOperation {
    /// Nothing.
    Identity,
    /// Rotated left by `amount` bits, not by 0.
    RotateLeft {
        /// The width of the words.
        word_bits: usize,
        /// By how many bits.
        amount: usize,
    },
    /// Shifted left by `amount`, zeros below.
    ShiftLeft {
        /// The width of the words.
        word_bits: usize,
        /// By how many bits.
        amount: usize,
    },
    /// Shifted right by `amount`, zeros above.
    ShiftRight {
        /// The width of the words.
        word_bits: usize,
        /// By how many bits.
        amount: usize,
    },
    /// Its bytes the other way round.
    SwapBytes {
        /// The width of the words, at least 16.
        word_bits: usize,
    },
    /// Its bits the other way round.
    ReverseBits {
        /// The width of the words.
        word_bits: usize,
    },
}

impl WordOperation {
    /// The operation that a square matrix is, on the smallest words of 8, 16, 32, … bits on which it is one.
    pub fn of_matrix(matrix: &BitMatrix) -> Option<WordOperation> {
        let n = matrix.n_rows();
        if matrix.is_identity() {
            return Some(WordOperation::Identity);
        }
        // One column of one word tells the few operations that it can be.
        let mut word_bits = 8;
        while word_bits <= n && n == matrix.n_columns() {
            if n.is_multiple_of(word_bits) {
                let found = candidates(matrix, word_bits).into_iter().find(|op| op.matrix(n) == *matrix);
                if found.is_some() {
                    return found;
                }
            }
            word_bits *= 2;
        }
        None
    }

    /// The operation on `n_bits`, a multiple of the words' width, as a matrix.
    pub fn matrix(&self, n_bits: usize) -> BitMatrix {
        let source = |word_bits: usize, i: usize| {
            let (base, i) = (i / word_bits * word_bits, i % word_bits);
            let from = match *self {
                WordOperation::Identity => Some(i),
                WordOperation::RotateLeft { amount, .. } => Some((i + word_bits - amount % word_bits) % word_bits),
                WordOperation::ShiftLeft { amount, .. } => i.checked_sub(amount),
                WordOperation::ShiftRight { amount, .. } => Some(i + amount).filter(|from| *from < word_bits),
                WordOperation::SwapBytes { .. } => Some(word_bits - 8 - i / 8 * 8 + i % 8),
                WordOperation::ReverseBits { .. } => Some(word_bits - 1 - i),
            };
            from.map(|from| base + from)
        };
        let sources: Vec<Option<usize>> = (0..n_bits).map(|i| source(self.word_bits(), i)).collect();
        BitMatrix::from_selection(n_bits, &sources)
    }

    fn word_bits(&self) -> usize {
        match *self {
            WordOperation::Identity => 8,
            WordOperation::RotateLeft { word_bits, .. }
            | WordOperation::ShiftLeft { word_bits, .. }
            | WordOperation::ShiftRight { word_bits, .. }
            | WordOperation::SwapBytes { word_bits }
            | WordOperation::ReverseBits { word_bits } => word_bits,
        }
    }
}

/// The operations on words of this width that agree with where the lowest and the highest bit of the first word go.
fn candidates(matrix: &BitMatrix, word_bits: usize) -> Vec<WordOperation> {
    let mut found = Vec::new();
    let target = |bit: usize| matrix.column(bit).first_one();
    if let Some(amount) = target(0).filter(|amount| (1..word_bits).contains(amount)) {
        found.push(WordOperation::RotateLeft { word_bits, amount });
        found.push(WordOperation::ShiftLeft { word_bits, amount });
    }
    if let Some(amount) = target(word_bits - 1).map(|top| word_bits - 1 - top.min(word_bits - 1))
        && (1..word_bits).contains(&amount)
    {
        found.push(WordOperation::ShiftRight { word_bits, amount });
    }
    if word_bits >= 16 {
        found.push(WordOperation::SwapBytes { word_bits });
    }
    found.push(WordOperation::ReverseBits { word_bits });
    found
}

impl fmt::Display for WordOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WordOperation::Identity => write!(f, "identity"),
            WordOperation::RotateLeft { word_bits, amount } => {
                write!(f, "words of {word_bits} rotated left by {amount}")
            }
            WordOperation::ShiftLeft { word_bits, amount } => {
                write!(f, "words of {word_bits} shifted left by {amount}")
            }
            WordOperation::ShiftRight { word_bits, amount } => {
                write!(f, "words of {word_bits} shifted right by {amount}")
            }
            WordOperation::SwapBytes { word_bits } => write!(f, "bytes of words of {word_bits} the other way round"),
            WordOperation::ReverseBits { word_bits } => write!(f, "bits of words of {word_bits} the other way round"),
        }
    }
}
