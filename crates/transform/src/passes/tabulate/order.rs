//! Packing of tables into words, for sharing. The order in which sums stand side by side in a word, such that tables
//! that were made for other sums serve again.
//!
//! A circulant matrix, or the same columns written in another order, gives the same tables if the sums stand in the
//! right order: with any other one each round of a cipher would have tables of its own.

use crate::kernel::NodeId;
use rustc_hash::FxHashSet;

/// Steps of a search.
const STEPS: usize = 20_000;

/// Orders that are found at most.
const ORDERS: usize = 16;

/// Tables as the functions that stand side by side in their elements.
pub(super) type Rows = FxHashSet<Vec<NodeId>>;

/// Orders of sums with which all rows are known ones, the first in lexical order first. `rows[w][m]` is the function of
/// window `w` that sum `m` has as a term.
pub(super) fn orders(rows: &[Vec<NodeId>], known: &Rows) -> Vec<Vec<usize>> {
    let n = rows.first().map_or(0, Vec::len);
    let mut search = Search { rows, known, prefixes: FxHashSet::default(), found: Vec::new(), steps: 0 };
    for row in known.iter().filter(|row| row.len() == n) {
        for end in 0..=n {
            search.prefixes.insert(&row[..end]);
        }
    }
    search.go_on(&mut Vec::with_capacity(n), n);
    search.found
}

struct Search<'a> {
    rows: &'a [Vec<NodeId>],
    known: &'a Rows,
    /// Beginnings of known rows.
    prefixes: FxHashSet<&'a [NodeId]>,
    found: Vec<Vec<usize>>,
    steps: usize,
}

impl Search<'_> {
    fn go_on(&mut self, order: &mut Vec<usize>, n: usize) {
        let turned = |row: &[NodeId]| -> Vec<NodeId> { order.iter().map(|&member| row[member]).collect() };
        if !self.rows.iter().all(|row| self.prefixes.contains(turned(row).as_slice())) {
            return;
        }
        if order.len() == n {
            if self.rows.iter().all(|row| self.known.contains(&turned(row))) {
                self.found.push(order.clone());
            }
            return;
        }
        for member in 0..n {
            self.steps += 1;
            if self.steps > STEPS || self.found.len() >= ORDERS {
                return;
            }
            if !order.contains(&member) {
                order.push(member);
                self.go_on(order, n);
                order.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a circulant of which sums and windows come in any order.
    fn circulant(sums: [usize; 4], windows: [usize; 4]) -> Vec<Vec<NodeId>> {
        let factors = [2, 3, 1, 1].map(NodeId);
        windows.iter().map(|&window| sums.iter().map(|&sum| factors[(window + 4 - sum) % 4]).collect()).collect()
    }

    #[test]
    fn rows_of_a_circulant_serve_again() {
        let known: Rows = circulant([0, 1, 2, 3], [0, 1, 2, 3]).into_iter().collect();
        // The four turns of the order in which the sums were.
        let found = orders(&circulant([2, 0, 3, 1], [3, 1, 0, 2]), &known);
        assert_eq!(found, [[0, 2, 1, 3], [1, 3, 0, 2], [2, 1, 3, 0], [3, 0, 2, 1]]);
        // With another factor there are none.
        let mut other = circulant([0, 1, 2, 3], [0, 1, 2, 3]);
        other[2][1] = NodeId(9);
        assert!(orders(&other, &known).is_empty());
    }
}
