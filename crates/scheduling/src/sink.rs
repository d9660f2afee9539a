//! Sinking of definitions to their first reader, to lower register pressure.
//!
//! In the order in which a network computes, one actor is done before the next begins: all words of a message are there
//! before the first is used. Compilers hold as many values at once as the text does, and have registers for some.
//!
//! A value moves down where that is for fewer statements that something is held: it is not, from where it stood, but
//! what it is computed from is, unless others read that later anyway.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// No statement.
const NONE: usize = usize::MAX;

/// The distance between positions when they are given anew.
const GAP: u64 = 1 << 32;

/// How often the ranks of a block are counted anew at most: what moved since counts as if it stood where its reader
/// does.
const RENEWED: usize = 1024;

/// A statement of a block, with values that something identifies.
#[derive(Clone, Debug)]
pub struct Statement<T> {
    /// The value that it defines, if it does.
    pub defines: Option<T>,
    /// The values that it reads, each once.
    pub reads: Vec<T>,
    /// Whether it may stand further down: it defines a value, and nothing that it depends on changes.
    pub may_move: bool,
}

/// The statements of a block in an order in which values stand right before the first statement that reads them where less
/// is held then.
pub fn sunk<T: Copy + Eq + Hash>(block: &[Statement<T>]) -> Vec<usize> {
    let mut line = Line::of(block.len());
    let mut ranks = line.ranks();
    let mut n_moved = 0;
    // Of each value the first statement that reads it, and the last one, among those behind.
    let mut readers: FxHashMap<T, (usize, usize)> = FxHashMap::default();
    for at in (0..block.len()).rev() {
        let Statement { defines, reads, may_move } = &block[at];
        if *may_move && let Some(&(first, _)) = defines.as_ref().and_then(|id| readers.get(id)) {
            let held_until = |id: &T| readers.get(id).map_or(ranks[at], |&(_, last)| ranks[last]);
            let longer: usize = reads.iter().map(|id| ranks[first].saturating_sub(held_until(id))).sum();
            if longer < ranks[first].saturating_sub(ranks[at]) {
                line.put_before(at, first);
                n_moved += 1;
                if n_moved % (1 + block.len() / RENEWED) == 0 {
                    ranks = line.ranks();
                } else {
                    ranks[at] = ranks[first];
                }
            }
        }
        if let Some(id) = defines {
            // What stands before reads an earlier variable of it.
            readers.remove(id);
        }
        for &id in reads {
            let (first, last) = readers.entry(id).or_insert((at, at));
            if line.positions[at] < line.positions[*first] {
                *first = at;
            }
            if line.positions[at] > line.positions[*last] {
                *last = at;
            }
        }
    }
    line.order()
}

/// Statements in an order that changes: which one comes first is known by their positions.
struct Line {
    next: Vec<usize>,
    previous: Vec<usize>,
    positions: Vec<u64>,
    first: usize,
}

impl Line {
    fn of(n: usize) -> Self {
        let mut line = Self {
            next: (1..=n).map(|at| if at < n { at } else { NONE }).collect(),
            previous: (0..n).map(|at| at.checked_sub(1).unwrap_or(NONE)).collect(),
            positions: vec![0; n],
            first: if n > 0 { 0 } else { NONE },
        };
        line.give_positions();
        line
    }

    fn order(&self) -> Vec<usize> {
        std::iter::successors((self.first != NONE).then_some(self.first), |&at| {
            Some(self.next[at]).filter(|&at| at != NONE)
        })
        .collect()
    }

    /// How many statements stand before each.
    fn ranks(&self) -> Vec<usize> {
        let mut ranks = vec![0; self.next.len()];
        self.order().into_iter().enumerate().for_each(|(rank, at)| ranks[at] = rank);
        ranks
    }

    fn give_positions(&mut self) {
        for (number, at) in self.order().into_iter().enumerate() {
            self.positions[at] = (number as u64 + 1) * GAP;
        }
    }

    fn put_before(&mut self, at: usize, reader: usize) {
        if self.next[at] == reader {
            return;
        }
        let (before, behind) = (self.previous[at], self.next[at]);
        self.join(before, behind);
        let before = self.previous[reader];
        self.join(before, at);
        self.join(at, reader);
        let low = if before == NONE { 0 } else { self.positions[before] };
        self.positions[at] = low + (self.positions[reader] - low) / 2;
        if self.positions[at] == low {
            self.give_positions();
        }
    }

    fn join(&mut self, one: usize, other: usize) {
        match one {
            NONE => self.first = other,
            one => self.next[one] = other,
        }
        if other != NONE {
            self.previous[other] = one;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn define(id: char, reads: &[char]) -> Statement<char> {
        Statement { defines: Some(id), reads: reads.to_vec(), may_move: true }
    }

    fn read(reads: &[char]) -> Statement<char> {
        Statement { defines: None, reads: reads.to_vec(), may_move: false }
    }

    #[test]
    fn values_stand_before_what_reads_them() {
        let block = [define('a', &[]), define('b', &[]), read(&['b']), read(&['a'])];
        assert_eq!(sunk(&block), [1, 2, 0, 3]);
    }

    #[test]
    fn what_would_hold_two_others_stays() {
        let block = [define('a', &[]), define('b', &[]), define('c', &['a', 'b']), read(&[]), read(&[]), read(&['c'])];
        assert_eq!(sunk(&block), [1, 0, 2, 3, 4, 5]);
        let fixed = |id| Statement { may_move: false, ..define(id, &[]) };
        let block = [fixed('a'), fixed('b'), define('c', &['a', 'b']), read(&[]), read(&[]), read(&['c'])];
        assert_eq!(sunk(&block), [0, 1, 2, 3, 4, 5]);
    }
}
