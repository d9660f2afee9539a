//! Linear recurrences over GF(2): a block that each iteration multiplies by the same matrix, computed ahead by powers of it.
//! What goes from iteration to iteration as a linear function of itself alone, such as the mask of a mode that doubles it
//! in a field for each block, need not be waited for: iteration `i` has power `i` of the matrix times what the loop
//! began with.
//!
//! A matrix of 128 × 128 bits is applied as a sum of [`Term`]s: bytes are put elsewhere, and each is multiplied by the same
//! matrix of 8 × 8 bits. Example: doubling in GF(2^128), the lowest powers first, moves the bits of each byte up by one,
//! has the highest bit of each byte go to the next one, and adds 0x87 to the first byte where the highest bit of the last one
//! was set: three terms. Sixteen doublings move bytes by two and add products of the last two bytes to the first three: three
//! terms as well.

use super::BYTES;
use headrace_transform::kernel::{Graph, NodeId, ObjectId, Op};
use headrace_transform::passes::linear::spaces::Spaces;
use headrace_transform::passes::linear::{Forms, Source};

/// Bits of a block.
const BITS: usize = 8 * BYTES;

/// Values that a function of a block may take: a linear function that anybody writes down has few.
const MOST_NODES: usize = 4096;

/// Terms of a matrix: with more of them, iterations wait less for each other than for the terms.
const MOST_TERMS: usize = 8;

/// Sixteen neighbouring elements that are multiplied by a matrix in each iteration.
#[derive(Clone, Debug)]
pub struct Power {
    /// The object that they are elements of.
    pub object: ObjectId,
    /// The first of them.
    pub first: usize,
    /// What one iteration does to them.
    pub matrix: Matrix,
}

/// A matrix of 128 × 128 bits. Bit `8 * i + j` of a block is bit `j` of its byte `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// For each bit of the result, the bits of the operand of which it is the exclusive or.
    rows: Vec<u128>,
}

/// Bytes that are put elsewhere and multiplied by a matrix of 8 × 8 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// For each byte of the result, which byte of the operand it comes from; `None`: it is 0.
    pub bytes: [Option<u8>; BYTES],
    /// For each bit of a byte of the result, the lowest first, the bits of the byte that it comes from.
    pub matrix: [u8; 8],
}

/// The matrix that changes nothing.
const IDENTITY: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

impl Term {
    /// The term that is 0.
    const ZERO: Term = Term { bytes: [None; BYTES], matrix: IDENTITY };

    /// Whether bytes stay as they are, wherever they are put.
    pub fn only_moves(&self) -> bool {
        self.matrix == IDENTITY
    }

    /// Whether all bytes stay in their places.
    pub fn stays(&self) -> bool {
        self.bytes.iter().enumerate().all(|(place, at)| *at == Some(place as u8))
    }

    /// The matrix as `gf2p8affineqb` takes it: the row of the highest bit is the lowest byte.
    pub fn as_affine(&self) -> u64 {
        u64::from_be_bytes(self.matrix)
    }

    /// What becomes of each number of 4 bits in the lower half of a byte, then in the upper one.
    pub fn of_nibbles(&self) -> [[u8; 16]; 2] {
        [0, 4].map(|shift| {
            std::array::from_fn(|nibble| {
                let byte = (nibble as u8) << shift;
                (0..8).fold(0, |out, bit| out | ((self.matrix[bit] & byte).count_ones() as u8 & 1) << bit)
            })
        })
    }
}

impl Matrix {
    /// What sixteen elements from `first` on are multiplied by, if these nodes, which they become, are linear in them and need
    /// nothing else; `None` also where that takes too many terms.
    pub fn of(graph: &Graph, (object, first): (ObjectId, usize), next: &[NodeId]) -> Option<Matrix> {
        let place = |id: NodeId| match *graph.op(id) {
            Op::Entry { object: other, index } if other == object && graph.width(id) == 8 => {
                let at = usize::try_from(graph.constant(index)?).ok()?.checked_sub(first)?;
                (at < BYTES).then_some(at)
            }
            _ => None,
        };
        let needed = graph.reachable(next.iter().copied());
        let foreign = |&id: &NodeId| match graph.op(id) {
            Op::Entry { .. } => place(id).is_none(),
            Op::Input { .. } | Op::Loaded(_) | Op::Instruction { .. } => true,
            _ => false,
        };
        if needed.len() > MOST_NODES || needed.iter().any(foreign) {
            return None;
        }
        let forms = Forms::new(graph, next.iter().copied(), &mut Spaces::default());
        let mut rows = Vec::with_capacity(BITS);
        for &byte in next {
            for form in forms.of(byte) {
                let mut row = 0;
                for &term in form.terms() {
                    let (Source::Node(source), bit) = forms.source(term) else { return None };
                    row ^= 1 << (8 * place(source)? + bit as usize);
                }
                if form.one() {
                    return None;
                }
                rows.push(row);
            }
        }
        let matrix = Matrix { rows };
        // What stays as it is needs nobody to multiply it.
        let fits = matrix.rows.len() == BITS && matrix != Matrix::identity();
        (fits && matrix.terms().len() <= MOST_TERMS).then_some(matrix)
    }

    fn identity() -> Matrix {
        Matrix { rows: (0..BITS).map(|bit| 1 << bit).collect() }
    }

    /// First another one, then this one.
    fn after(&self, other: &Matrix) -> Matrix {
        let row = |&row: &u128| (0..BITS).filter(|bit| row >> bit & 1 == 1).fold(0, |sum, bit| sum ^ other.rows[bit]);
        Matrix { rows: self.rows.iter().map(row).collect() }
    }

    /// What so many iterations do.
    pub fn power(&self, iterations: usize) -> Matrix {
        let (mut power, mut squared, mut left) = (Matrix::identity(), self.clone(), iterations);
        while left > 0 {
            if left % 2 == 1 {
                power = squared.after(&power);
            }
            squared = squared.after(&squared);
            left /= 2;
        }
        power
    }

    /// The matrices of 8 × 8 bits from byte to byte that are not 0: for each byte of the result, from which byte and by what.
    fn parts(&self) -> Vec<Vec<(u8, [u8; 8])>> {
        let of = |to: usize, from: usize| std::array::from_fn(|bit| (self.rows[8 * to + bit] >> (8 * from)) as u8);
        let row = |to: usize| (0..BYTES).map(move |from| (from as u8, of(to, from))).filter(|one| one.1 != [0; 8]);
        (0..BYTES).map(|to| row(to).collect()).collect()
    }

    /// Terms of which the matrix is the sum; those that only move bytes come first.
    pub fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for (to, row) in self.parts().into_iter().enumerate() {
            for (from, matrix) in row {
                match terms.iter_mut().find(|term| term.matrix == matrix && term.bytes[to].is_none()) {
                    Some(term) => term.bytes[to] = Some(from),
                    None => {
                        let mut bytes = [None; BYTES];
                        bytes[to] = Some(from);
                        terms.push(Term { bytes, matrix });
                    }
                }
            }
        }
        terms.sort_by_key(|term| !term.only_moves());
        terms
    }

    /// What stands in the parts of a register of so many once the first part's block is in all of them: part `i` has done `i`
    /// iterations. Terms of all parts, one after the other; each has one for every part.
    pub fn side_by_side(&self, parts: usize) -> Vec<Vec<Term>> {
        let parts: Vec<Vec<Term>> = (0..parts).map(|part| self.power(part).terms()).collect();
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        let of = |at: usize| parts.iter().map(|terms| terms.get(at).unwrap_or(&Term::ZERO).clone()).collect();
        (0..most).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Doubling in GF(2^128) as modes write it, the lowest powers first.
    fn doubled() -> (Graph, Vec<NodeId>) {
        let mut graph = Graph::new();
        let bytes: Vec<NodeId> = (0..BYTES)
            .map(|at| {
                let index = graph.number(at as u128, 64);
                graph.entry(ObjectId(0), index, 8)
            })
            .collect();
        let highest_first: Vec<NodeId> = bytes.iter().rev().copied().collect();
        let whole = graph.concat(&highest_first);
        let top = graph.extract(whole, 127, 1);
        let (mask, polynomial) = (graph.sign_extend(top, 128), graph.number(0x87, 128));
        let (moved, added) = (graph.shift_left_by(whole, 1), graph.and(mask, polynomial));
        let sum = graph.xor(moved, added);
        let next = (0..BYTES as u32).map(|at| graph.extract(sum, 8 * at, 8)).collect();
        (graph, next)
    }

    fn applied(terms: &[Term], block: u128) -> u128 {
        let block = block.to_le_bytes();
        let mut sum = [0; BYTES];
        for term in terms {
            let [low, high] = term.of_nibbles();
            for (out, from) in sum.iter_mut().zip(term.bytes) {
                let byte = from.map_or(0, |from| block[from as usize]);
                *out ^= low[(byte & 15) as usize] ^ high[(byte >> 4) as usize];
            }
        }
        u128::from_le_bytes(sum)
    }

    #[test]
    fn doublings_are_few_terms() {
        let (graph, next) = doubled();
        let matrix = Matrix::of(&graph, (ObjectId(0), 0), &next).unwrap();
        let double = |block: u128| block << 1 ^ if block >> 127 == 1 { 0x87 } else { 0 };
        let mut expected = 0xfedc_ba98_7654_3210_0f1e_2d3c_4b5a_6978_u128;
        let start = expected;
        for (times, most) in [(0, 1), (1, 3), (2, 4), (4, 4), (8, 3), (16, 3), (32, 3)] {
            assert!(matrix.power(times).terms().len() <= most, "{times} doublings");
        }
        for times in 0..40 {
            assert_eq!(applied(&matrix.power(times).terms(), start), expected, "{times} doublings");
            expected = double(expected);
        }
        let parts = matrix.side_by_side(4);
        for part in 0..4 {
            let own: Vec<Term> = parts.iter().map(|term| term[part].clone()).collect();
            assert_eq!(applied(&own, start), applied(&matrix.power(part).terms(), start));
        }
    }

    #[test]
    fn what_needs_something_else_is_no_power() {
        let (mut graph, mut next) = doubled();
        let token = graph.input(0, 0, 8);
        next[3] = graph.xor(next[3], token);
        assert_eq!(Matrix::of(&graph, (ObjectId(0), 0), &next), None);
        let (mut graph, mut next) = doubled();
        next[3] = graph.not(next[3]);
        assert_eq!(Matrix::of(&graph, (ObjectId(0), 0), &next), None);
        let (mut graph, mut next) = doubled();
        next[3] = graph.and(next[3], next[4]);
        assert_eq!(Matrix::of(&graph, (ObjectId(0), 0), &next), None);
        let (graph, next) = doubled();
        assert_eq!(Matrix::of(&graph, (ObjectId(1), 0), &next), None);
    }
}
