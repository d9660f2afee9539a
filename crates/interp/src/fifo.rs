//! FIFOs, the conversion of tokens when they are written, and their storage form at the boundary.

use crate::machine::Class;
use headrace_ir::{Int, IntType, RealType, Scalar};
use headrace_natives::real;
use std::collections::VecDeque;

/// Converts a word to an integer type of at most 64 bits: keeps the low bits, then extends.
#[inline]
pub(crate) fn wrap_word(ty: IntType, value: i64) -> i64 {
    match ty.width {
        0..=63 => {
            let shift = 64 - ty.width.max(1);
            if ty.signed { value << shift >> shift } else { ((value as u64) << shift >> shift) as i64 }
        }
        _ => value,
    }
}

/// The integer that a word of the type stands for.
pub(crate) fn word_to_int(ty: IntType, word: i64) -> Int {
    if ty.signed { Int::from(word) } else { Int::from(word as u64) }
}

/// The low 64 bits of an integer.
pub(crate) fn low_word(value: &Int) -> i64 {
    match value {
        Int::Small(small) => *small,
        Int::Big(big) => {
            let low = big.iter_u64_digits().next().unwrap_or(0) as i64;
            if value.is_negative() { low.wrapping_neg() } else { low }
        }
    }
}

/// A scalar outside the memories. A string is the number that stands for it as a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Word(i64),
    Wide(Int),
}

/// Converts as a store does. Only the conversions of the language are asked for.
pub(crate) fn convert(from: Scalar, to: Scalar, cell: Cell) -> Cell {
    match (from, to, cell) {
        (Scalar::Int(_), Scalar::Int(to), Cell::Word(word)) if to.width <= 64 => Cell::Word(wrap_word(to, word)),
        (Scalar::Int(from), Scalar::Int(to), cell) => from_int(to, exact(from, cell)),
        (Scalar::Int(from), Scalar::Real(to), cell) => {
            Cell::Word(real::from_int(&exact(from, cell), to).to_bits() as i64)
        }
        (Scalar::Real(_), Scalar::Real(to), Cell::Word(word)) => {
            Cell::Word(real::round(f64::from_bits(word as u64), to).to_bits() as i64)
        }
        (_, _, cell) => cell,
    }
}

fn exact(ty: IntType, cell: Cell) -> Int {
    match cell {
        Cell::Word(word) => word_to_int(ty, word),
        Cell::Wide(wide) => wide,
    }
}

fn from_int(ty: IntType, value: Int) -> Cell {
    if ty.width <= 64 { Cell::Word(wrap_word(ty, low_word(&value))) } else { Cell::Wide(value.wrap(ty)) }
}

/// Tokens that a firing has computed and not yet written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub words: Vec<i64>,
    pub wides: Vec<Int>,
}

/// The tokens of a FIFO.
#[derive(Debug)]
pub(crate) enum Tokens {
    Words(VecDeque<i64>),
    Wides(VecDeque<Int>),
}

/// A FIFO of tokens of one type.
#[derive(Debug)]
pub(crate) struct Fifo {
    pub tokens: Tokens,
    pub ty: Scalar,
    pub capacity: u64,
    /// Most tokens that lay in it at once.
    pub most: u64,
    /// Types that a written token takes on: that of the source port, those on the way, that of the FIFO. Empty when
    /// nothing changes.
    steps: Vec<Scalar>,
}

impl Fifo {
    pub fn new(source: Scalar, via: &[Scalar], target: Scalar, capacity: u64) -> Fifo {
        let tokens = match Class::of(target) {
            Class::Wide => Tokens::Wides(VecDeque::new()),
            _ => Tokens::Words(VecDeque::new()),
        };
        let mut steps = vec![source];
        steps.extend(via.iter().chain([&target]));
        steps.dedup();
        if steps.len() == 1 {
            steps.clear();
        }
        Fifo { tokens, ty: target, capacity, most: 0, steps }
    }

    #[inline]
    pub fn len(&self) -> u64 {
        match &self.tokens {
            Tokens::Words(words) => words.len() as u64,
            Tokens::Wides(wides) => wides.len() as u64,
        }
    }

    #[inline]
    pub fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.len())
    }

    /// Writes words from a port of a type held in words.
    #[inline]
    pub fn write_words(&mut self, words: &[i64]) {
        match &mut self.tokens {
            Tokens::Words(queue) if self.steps.is_empty() => queue.extend(words),
            _ => words.iter().for_each(|&word| self.write(Cell::Word(word))),
        }
        self.most = self.most.max(self.len());
    }

    /// Writes tokens from a port of a type wider than a word.
    pub fn write_wides(&mut self, wides: &[Int]) {
        wides.iter().for_each(|wide| self.write(Cell::Wide(wide.clone())));
        self.most = self.most.max(self.len());
    }

    fn write(&mut self, mut cell: Cell) {
        for pair in self.steps.windows(2) {
            cell = convert(pair[0], pair[1], cell);
        }
        match (&mut self.tokens, cell) {
            (Tokens::Words(queue), Cell::Word(word)) => queue.push_back(word),
            (Tokens::Words(queue), Cell::Wide(wide)) => queue.push_back(low_word(&wide)),
            (Tokens::Wides(queue), Cell::Word(word)) => queue.push_back(Int::from(word)),
            (Tokens::Wides(queue), Cell::Wide(wide)) => queue.push_back(wide),
        }
    }

    /// Copies `n` words from position `from` on without removing them.
    #[inline]
    pub fn peek_words(&self, from: usize, step: usize, out: &mut [i64]) {
        if let Tokens::Words(queue) = &self.tokens {
            if step == 1 {
                let (first, second) = queue.as_slices();
                let split = first.len().saturating_sub(from).min(out.len());
                let n = out.len();
                if split > 0 {
                    out[..split].copy_from_slice(&first[from..from + split]);
                }
                if split < n {
                    let start = (from + split).saturating_sub(first.len());
                    out[split..].copy_from_slice(&second[start..start + n - split]);
                }
            } else {
                for (slot, word) in out.iter_mut().zip(queue.iter().skip(from).step_by(step)) {
                    *slot = *word;
                }
            }
        }
    }

    /// Every `step`th word from position `from` on.
    pub fn words(&self, from: usize, step: usize) -> impl Iterator<Item = i64> {
        let queue = match &self.tokens {
            Tokens::Words(queue) => Some(queue),
            Tokens::Wides(_) => None,
        };
        queue.into_iter().flat_map(move |queue| queue.iter().copied().skip(from).step_by(step))
    }

    /// The same for tokens wider than a word.
    pub fn peek_wides(&self, from: usize, step: usize, out: &mut [Int]) {
        if let Tokens::Wides(queue) = &self.tokens {
            for (slot, wide) in out.iter_mut().zip(queue.iter().skip(from).step_by(step)) {
                slot.clone_from(wide);
            }
        }
    }

    /// Removes the first `n` tokens.
    #[inline]
    pub fn discard(&mut self, n: usize) {
        match &mut self.tokens {
            Tokens::Words(queue) if n == 1 => drop(queue.pop_front()),
            Tokens::Words(queue) => drop(queue.drain(..n.min(queue.len()))),
            Tokens::Wides(queue) => drop(queue.drain(..n.min(queue.len()))),
        }
    }

    /// The first `n` tokens, for a trace.
    pub fn first(&self, n: usize) -> Vec<Cell> {
        match &self.tokens {
            Tokens::Words(queue) => queue.iter().take(n).map(|&word| Cell::Word(word)).collect(),
            Tokens::Wides(queue) => queue.iter().take(n).cloned().map(Cell::Wide).collect(),
        }
    }

    /// Appends all tokens in storage form and removes them.
    pub fn take_storage(&mut self, out: &mut Vec<u8>) -> usize {
        let ty = self.ty;
        let n = self.len() as usize;
        match &mut self.tokens {
            Tokens::Words(queue) => queue.drain(..).for_each(|word| encode_word(ty, word, out)),
            Tokens::Wides(queue) => {
                queue.drain(..).for_each(|wide| out.extend(wide.to_le_bytes(ty.storage_bytes())));
            }
        }
        n
    }
}

pub(crate) fn encode_word(ty: Scalar, word: i64, out: &mut Vec<u8>) {
    let bits = match ty {
        Scalar::Real(real) => real::to_bits(f64::from_bits(word as u64), real),
        _ => word as u64,
    };
    out.extend_from_slice(&bits.to_le_bytes()[..ty.storage_bytes().min(8)]);
}

/// Reads tokens of a type from their storage form.
pub(crate) fn decode(ty: Scalar, tokens: &[u8], out: &mut Outgoing) {
    let size = ty.storage_bytes();
    out.words.clear();
    out.wides.clear();
    for token in tokens.chunks_exact(size) {
        if let (Scalar::Int(int), Class::Wide) = (ty, Class::of(ty)) {
            out.wides.push(Int::from_le_bytes(token, int.signed).wrap(int));
            continue;
        }
        let mut bytes = [0; 8];
        bytes[..size.min(8)].copy_from_slice(&token[..size.min(8)]);
        let bits = u64::from_le_bytes(bytes);
        out.words.push(match ty {
            Scalar::Bool => i64::from(bits != 0),
            Scalar::Int(int) => wrap_word(int, bits as i64),
            Scalar::Real(real_type) => real::from_bits(bits, real_type).to_bits() as i64,
            Scalar::String => bits as i64,
        });
    }
}

pub(crate) fn show_real(ty: RealType, word: i64) -> String {
    real::format_real(f64::from_bits(word as u64), ty)
}
