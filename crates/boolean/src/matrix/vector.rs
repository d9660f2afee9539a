//! Bit vectors over GF(2): a row of bits.

use std::fmt;

/// How many 64-bit words hold `n_bits`.
pub(crate) fn n_words(n_bits: usize) -> usize {
    n_bits.div_ceil(64)
}

/// The numbers of the bits that are set in `words`, lowest first.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                index * 64 + bit
            })
        })
    })
}

/// XORs `source` into `target`, word by word.
pub(crate) fn xor_into(target: &mut [u64], source: &[u64]) {
    for (t, s) in target.iter_mut().zip(source) {
        *t ^= s;
    }
}

/// A vector over GF(2). Bit 0 stands in the lowest bit of the first word; the bits of the last word above the length are
/// zero, always, so that vectors compare by their words.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BitVector {
    n_bits: usize,
    words: Vec<u64>,
}

impl BitVector {
    /// The zero vector of `n_bits`.
    pub fn zero(n_bits: usize) -> BitVector {
        BitVector { n_bits, words: vec![0; n_words(n_bits)] }
    }

    /// The vector whose only set bit is `bit`; zero when there is no such bit.
    pub fn unit(n_bits: usize, bit: usize) -> BitVector {
        let mut v = BitVector::zero(n_bits);
        v.set(bit, true);
        v
    }

    /// The low `n_bits` of `value`, and zeros above 128.
    pub fn from_u128(n_bits: usize, value: u128) -> BitVector {
        BitVector::from_words(n_bits, &[value as u64, (value >> 64) as u64])
    }

    /// The low `n_bits` of `words`, lowest word first; words that are missing are zero.
    pub fn from_words(n_bits: usize, words: &[u64]) -> BitVector {
        let mut v = BitVector::zero(n_bits);
        for (to, from) in v.words.iter_mut().zip(words) {
            *to = *from;
        }
        v.clear_above();
        v
    }

    /// The bits in order, lowest first.
    pub fn from_bits(bits: impl IntoIterator<Item = bool>) -> BitVector {
        let mut v = BitVector::default();
        for bit in bits {
            if v.n_bits.is_multiple_of(64) {
                v.words.push(0);
            }
            v.n_bits += 1;
            v.set(v.n_bits - 1, bit);
        }
        v
    }

    fn clear_above(&mut self) {
        let used = self.n_bits % 64;
        if used != 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << used) - 1;
        }
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.n_bits
    }

    /// Whether there are no bits at all (a vector of zeros is `is_zero`).
    pub fn is_empty(&self) -> bool {
        self.n_bits == 0
    }

    /// The bits, lowest word first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The low 128 bits as a number.
    pub fn to_u128(&self) -> u128 {
        let word = |i: usize| u128::from(self.words.get(i).copied().unwrap_or(0));
        word(0) | word(1) << 64
    }

    /// Bit `bit`; false above the length.
    pub fn get(&self, bit: usize) -> bool {
        self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    /// Sets bit `bit`; nothing happens above the length.
    pub fn set(&mut self, bit: usize, value: bool) {
        if bit < self.n_bits {
            let mask = 1 << (bit % 64);
            let word = &mut self.words[bit / 64];
            *word = if value { *word | mask } else { *word & !mask };
        }
    }

    /// Turns bit `bit` over; nothing happens above the length.
    pub fn flip(&mut self, bit: usize) {
        self.set(bit, !self.get(bit));
    }

    /// XORs `other` in; of vectors of unequal length, the common bits only.
    pub fn xor_assign(&mut self, other: &BitVector) {
        xor_into(&mut self.words, &other.words);
        self.clear_above();
    }

    /// The XOR of both; as long as this one.
    #[must_use]
    pub fn xor(&self, other: &BitVector) -> BitVector {
        let mut sum = self.clone();
        sum.xor_assign(other);
        sum
    }

    /// The scalar product.
    pub fn dot(&self, other: &BitVector) -> bool {
        self.words.iter().zip(&other.words).fold(0, |sum, (a, b)| sum ^ (a & b)).count_ones() % 2 == 1
    }

    /// Whether no bit is set.
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// How many bits are set.
    pub fn weight(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers of the set bits, lowest first.
    pub fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        ones(&self.words)
    }

    /// The lowest set bit.
    pub fn first_one(&self) -> Option<usize> {
        self.ones().next()
    }

    /// This vector followed by `other`.
    #[must_use]
    pub fn concat(&self, other: &BitVector) -> BitVector {
        BitVector::from_bits((0..self.n_bits).map(|i| self.get(i)).chain((0..other.n_bits).map(|i| other.get(i))))
    }

    /// `n_bits` bits from `start` on; zeros above the length.
    #[must_use]
    pub fn slice(&self, start: usize, n_bits: usize) -> BitVector {
        BitVector::from_bits((start..start + n_bits).map(|i| self.get(i)))
    }
}

impl fmt::Display for BitVector {
    /// Bit 0 first: `1` for set, `.` for clear.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.n_bits).try_for_each(|bit| f.write_str(if self.get(bit) { "1" } else { "." }))
    }
}

impl fmt::Debug for BitVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}
