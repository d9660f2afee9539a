//! Truth tables: one Boolean function of up to eight inputs as 256 bits, and a table of several outputs as its entries.
//!
//! A function of fewer inputs is kept as the function of eight inputs that ignores the others, so that all of them combine
//! word by word and a circuit is evaluated on every input at once. Bit `x` of a function is its value at the input whose
//! bit `i` is variable `i`; bit `j` of an entry is output `j`.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Most inputs a table may have.
pub const MAX_INPUTS: usize = 8;
/// Most outputs a table may have.
pub const MAX_OUTPUTS: usize = 64;

/// A Boolean function of eight inputs: bit `x` is its value at `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Function(pub [u64; 4]);

const LOW_VARIABLES: [u64; 6] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

impl Function {
    /// The function that is 0 everywhere.
    pub const ZERO: Function = Function([0; 4]);
    /// The function that is 1 everywhere.
    pub const ONE: Function = Function([u64::MAX; 4]);

    /// The function with the same value everywhere.
    pub fn constant(value: bool) -> Function {
        if value { Function::ONE } else { Function::ZERO }
    }

    /// Variable `index` (0 to 7) itself; what lies beyond is constantly 0.
    pub fn variable(index: usize) -> Function {
        match index {
            0..6 => Function([LOW_VARIABLES[index]; 4]),
            6 => Function([0, u64::MAX, 0, u64::MAX]),
            7 => Function([0, 0, u64::MAX, u64::MAX]),
            _ => Function::ZERO,
        }
    }

    /// Its value at `x` (0 to 255).
    pub fn at(&self, x: usize) -> bool {
        self.0[(x >> 6) & 3] >> (x & 63) & 1 == 1
    }

    /// Sets its value at `x` (0 to 255).
    pub fn set(&mut self, x: usize, value: bool) {
        let bit = 1u64 << (x & 63);
        if value {
            self.0[(x >> 6) & 3] |= bit;
        } else {
            self.0[(x >> 6) & 3] &= !bit;
        }
    }

    /// On how many of the 256 inputs it is 1.
    pub fn weight(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Whether it is 0 everywhere.
    pub fn is_zero(&self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// Its algebraic normal form: bit `u` says whether the product of the variables in `u` is a term (Möbius transform,
    /// which is its own inverse).
    pub fn algebraic_normal_form(&self) -> Function {
        let mut words = self.0;
        for (i, mask) in LOW_VARIABLES.iter().enumerate() {
            for w in &mut words {
                *w ^= (*w << (1 << i)) & mask;
            }
        }
        words[1] ^= words[0];
        words[3] ^= words[2];
        words[2] ^= words[0];
        words[3] ^= words[1];
        Function(words)
    }

    /// The degree of its algebraic normal form; 0 for both constants.
    pub fn degree(&self) -> u32 {
        let form = self.algebraic_normal_form();
        (0..256usize).filter(|u| form.at(*u)).map(|u| u.count_ones()).max().unwrap_or(0)
    }

    /// Which variables it depends on, as a mask.
    pub fn support(&self) -> u8 {
        (0..MAX_INPUTS).filter(|i| self.cofactor(*i, false) != self.cofactor(*i, true)).fold(0, |m, i| m | 1 << i)
    }

    /// The function with variable `index` fixed to `value`; it ignores that variable.
    pub fn cofactor(&self, index: usize, value: bool) -> Function {
        let mut words = self.0;
        match index {
            0..6 => {
                let shift = 1 << index;
                for w in &mut words {
                    let mask = LOW_VARIABLES[index];
                    *w = if value { (*w & mask) | (*w & mask) >> shift } else { (*w & !mask) | (*w & !mask) << shift };
                }
            }
            6 => {
                let from = usize::from(value);
                words = [words[from], words[from], words[2 + from], words[2 + from]];
            }
            _ => {
                let from = 2 * usize::from(value);
                words = [words[from], words[from + 1], words[from], words[from + 1]];
            }
        }
        Function(words)
    }

    /// If it is affine: the mask of its variables and its constant term.
    pub fn as_affine(&self) -> Option<(u8, bool)> {
        let constant = self.at(0);
        let mask = (0..MAX_INPUTS).filter(|i| self.at(1 << i) != constant).fold(0u8, |m, i| m | 1 << i);
        (Function::affine(mask, constant) == *self).then_some((mask, constant))
    }

    /// The XOR of the variables in `mask` and a constant.
    pub fn affine(mask: u8, constant: bool) -> Function {
        (0..MAX_INPUTS)
            .filter(|i| mask >> i & 1 == 1)
            .fold(Function::constant(constant), |f, i| f ^ Function::variable(i))
    }
}

impl BitAnd for Function {
    type Output = Function;
    #[inline]
    fn bitand(self, o: Function) -> Function {
        Function([self.0[0] & o.0[0], self.0[1] & o.0[1], self.0[2] & o.0[2], self.0[3] & o.0[3]])
    }
}

impl BitOr for Function {
    type Output = Function;
    #[inline]
    fn bitor(self, o: Function) -> Function {
        Function([self.0[0] | o.0[0], self.0[1] | o.0[1], self.0[2] | o.0[2], self.0[3] | o.0[3]])
    }
}

impl BitXor for Function {
    type Output = Function;
    #[inline]
    fn bitxor(self, o: Function) -> Function {
        Function([self.0[0] ^ o.0[0], self.0[1] ^ o.0[1], self.0[2] ^ o.0[2], self.0[3] ^ o.0[3]])
    }
}

impl Not for Function {
    type Output = Function;
    #[inline]
    fn not(self) -> Function {
        Function([!self.0[0], !self.0[1], !self.0[2], !self.0[3]])
    }
}

/// Why some numbers are no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableError {
    /// More inputs than [`MAX_INPUTS`] or more outputs than [`MAX_OUTPUTS`].
    TooWide {
        /// How many inputs were asked for.
        n_inputs: usize,
        /// How many outputs were asked for.
        n_outputs: usize,
    },
    /// The number of entries is not 2 to the number of inputs.
    Length {
        /// How many entries there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// An entry has a bit beyond the last output.
    Entry {
        /// Where it stands.
        index: usize,
        /// What stands there.
        value: u64,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::TooWide { n_inputs, n_outputs } => write!(
                f,
                "a table of {n_inputs} inputs and {n_outputs} outputs is too wide: {MAX_INPUTS} and {MAX_OUTPUTS} are the most"
            ),
            TableError::Length { expected, found } => {
                write!(f, "a table has {expected} entries, one for each input; here are {found}")
            }
            TableError::Entry { index, value } => write!(f, "entry {index} is {value:#x}, wider than the outputs"),
        }
    }
}

impl std::error::Error for TableError {}

/// A function of up to eight input bits and up to 64 output bits, as its entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    n_inputs: usize,
    n_outputs: usize,
    entries: Vec<u64>,
}

impl Table {
    /// The table with these entries, `2^n_inputs` of them, none wider than `n_outputs` bits.
    pub fn new(n_inputs: usize, n_outputs: usize, entries: &[u64]) -> Result<Table, TableError> {
        if n_inputs > MAX_INPUTS || n_outputs > MAX_OUTPUTS {
            return Err(TableError::TooWide { n_inputs, n_outputs });
        }
        if entries.len() != 1 << n_inputs {
            return Err(TableError::Length { expected: 1 << n_inputs, found: entries.len() });
        }
        let mask = if n_outputs == 64 { u64::MAX } else { (1 << n_outputs) - 1 };
        if let Some((index, value)) = entries.iter().enumerate().find(|(_, v)| **v & !mask != 0) {
            return Err(TableError::Entry { index, value: *value });
        }
        Ok(Table { n_inputs, n_outputs, entries: entries.to_vec() })
    }

    /// The table whose outputs are these functions of the first `n_inputs` variables (at most 8 inputs, 64 outputs; what
    /// is beyond is left out).
    pub fn from_functions(n_inputs: usize, functions: &[Function]) -> Table {
        let n_inputs = n_inputs.min(MAX_INPUTS);
        let functions = &functions[..functions.len().min(MAX_OUTPUTS)];
        let entry = |x: usize| functions.iter().enumerate().fold(0u64, |e, (j, f)| e | u64::from(f.at(x)) << j);
        Table { n_inputs, n_outputs: functions.len(), entries: (0..1usize << n_inputs).map(entry).collect() }
    }

    /// How many input bits.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// How many output bits.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Its entries, indexed by the input.
    pub fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// Output `j` as a function.
    pub fn output(&self, j: usize) -> Function {
        self.component(1u64.checked_shl(j as u32).unwrap_or(0))
    }

    /// All outputs as functions.
    pub fn outputs(&self) -> Vec<Function> {
        (0..self.n_outputs).map(|j| self.output(j)).collect()
    }

    /// The XOR of the outputs in `mask`, as a function.
    pub fn component(&self, mask: u64) -> Function {
        let wrap = self.entries.len() - 1;
        let mut f = Function::ZERO;
        for x in 0..256 {
            f.set(x, (self.entries[x & wrap] & mask).count_ones() & 1 == 1);
        }
        f
    }

    /// The highest degree of an output.
    pub fn degree(&self) -> u32 {
        self.outputs().iter().map(Function::degree).max().unwrap_or(0)
    }

    /// Whether it has as many outputs as inputs and every value occurs once.
    pub fn is_permutation(&self) -> bool {
        self.n_inputs == self.n_outputs && self.inverse().is_some()
    }

    /// The table that undoes it, if it is a permutation.
    pub fn inverse(&self) -> Option<Table> {
        if self.n_inputs != self.n_outputs {
            return None;
        }
        let mut entries = vec![u64::MAX; self.entries.len()];
        for (x, y) in self.entries.iter().enumerate() {
            let slot = entries.get_mut(*y as usize)?;
            if *slot != u64::MAX {
                return None;
            }
            *slot = x as u64;
        }
        Some(Table { n_inputs: self.n_inputs, n_outputs: self.n_outputs, entries })
    }

    /// Which inputs any output depends on, as a mask.
    pub fn support(&self) -> u8 {
        self.outputs().iter().fold(0, |m, f| m | f.support())
    }

    /// The same function of only the inputs that matter, and which ones these are, in order.
    pub fn without_idle_inputs(&self) -> (Table, Vec<usize>) {
        let support = self.support();
        let kept: Vec<usize> = (0..self.n_inputs).filter(|i| support >> i & 1 == 1).collect();
        let spread = |x: usize| kept.iter().enumerate().fold(0usize, |y, (k, i)| y | (x >> k & 1) << i);
        let entries = (0..1usize << kept.len()).map(|x| self.entries[spread(x)]).collect();
        (Table { n_inputs: kept.len(), n_outputs: self.n_outputs, entries }, kept)
    }

    /// A number that equal tables share.
    pub fn hash(&self) -> u64 {
        let mut state = Hasher::new();
        state.add(self.n_inputs as u64);
        state.add(self.n_outputs as u64);
        self.entries.iter().for_each(|e| state.add(*e));
        state.finish()
    }

    /// A number that tables share which differ by invertible affine maps before and after (and by an affine function of the
    /// input that is added, as long as it leaves the degrees): how often each absolute value occurs in the Walsh spectrum.
    pub fn affine_invariant(&self) -> u64 {
        let mut counts = [0u64; 257];
        let n_masks = if self.n_outputs >= MAX_INPUTS { 1usize << MAX_INPUTS } else { 1 << self.n_outputs };
        for mask in 1..n_masks {
            for value in self.walsh_spectrum(mask as u64) {
                counts[usize::from(value.unsigned_abs()).min(256)] += 1;
            }
        }
        let mut state = Hasher::new();
        state.add(self.n_inputs as u64);
        state.add(self.n_outputs as u64);
        counts.iter().for_each(|c| state.add(*c));
        state.finish()
    }

    /// For every input mask, the correlation of that linear function with the XOR of the outputs in `mask`: agreements less
    /// disagreements.
    pub fn walsh_spectrum(&self, mask: u64) -> Vec<i16> {
        let mut v: Vec<i16> =
            self.entries.iter().map(|e| if (e & mask).count_ones() & 1 == 1 { -1 } else { 1 }).collect();
        let mut half = 1;
        while half < v.len() {
            for block in v.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (a, b) in low.iter_mut().zip(high) {
                    (*a, *b) = (*a + *b, *a - *b);
                }
            }
            half *= 2;
        }
        v
    }
}

/// Fowler–Noll–Vo over words, with a final mix.
struct Hasher(u64);

impl Hasher {
    fn new() -> Hasher {
        Hasher(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    fn finish(&self) -> u64 {
        let x = (self.0 ^ self.0 >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_form_of_a_product() {
        let f = (Function::variable(0) & Function::variable(7)) ^ Function::variable(6) ^ Function::ONE;
        let form = f.algebraic_normal_form();
        let terms: Vec<usize> = (0..256).filter(|u| form.at(*u)).collect();
        assert_eq!(terms, [0, 64, 129]);
        assert_eq!(form.algebraic_normal_form(), f);
        assert_eq!(f.degree(), 2);
        assert_eq!(f.support(), 0b1100_0001);
    }

    #[test]
    fn cofactors_agree_with_values() {
        let f = Function([0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x5a5a_1234_aaaa_0f0f, 0x1357_9bdf_0246_8ace]);
        for i in 0..8 {
            for x in 0..256 {
                assert_eq!(f.cofactor(i, true).at(x), f.at(x | 1 << i));
                assert_eq!(f.cofactor(i, false).at(x), f.at(x & !(1 << i)));
            }
        }
    }

    #[test]
    fn affine_functions_are_recognised() {
        for mask in 0..=255u8 {
            assert_eq!(Function::affine(mask, true).as_affine(), Some((mask, true)));
        }
        assert_eq!((Function::variable(0) & Function::variable(1)).as_affine(), None);
    }

    #[test]
    fn idle_inputs_go() {
        let table = Table::new(3, 1, &[0, 0, 1, 1, 1, 1, 0, 0]).expect("a table");
        let (small, kept) = table.without_idle_inputs();
        assert_eq!(kept, [1, 2]);
        assert_eq!(small.entries(), [0, 1, 1, 0]);
    }

    #[test]
    fn wrong_tables_are_refused() {
        assert_eq!(Table::new(2, 1, &[0, 1, 1]), Err(TableError::Length { expected: 4, found: 3 }));
        assert_eq!(Table::new(1, 1, &[0, 2]), Err(TableError::Entry { index: 1, value: 2 }));
        assert!(Table::new(9, 1, &[0; 512]).is_err());
    }

    #[test]
    fn the_invariant_survives_affine_maps() {
        let s: Vec<u64> = vec![12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2];
        let swapped: Vec<u64> = (0..16).map(|x: usize| s[(x ^ 5) << 1 & 15 | (x ^ 5) >> 3] ^ 9).collect();
        let a = Table::new(4, 4, &s).expect("a table");
        let b = Table::new(4, 4, &swapped).expect("a table");
        assert_eq!(a.affine_invariant(), b.affine_invariant());
        assert_ne!(a.hash(), b.hash());
        let c = Table::new(4, 4, &(0..16).collect::<Vec<u64>>()).expect("a table");
        assert_ne!(a.affine_invariant(), c.affine_invariant());
    }
}
