//! Taking a matrix apart: rows and columns that are not connected by ones have nothing to share.
//!
//! A map that does the same to each of its words falls into as many equal parts, but the words may be scattered, and then the
//! parts are equal only up to the order of their rows and columns. So each part is put into an order that depends on its ones
//! alone: rows and columns are coloured by how many ones they have, then by the colours of those they meet, until nothing
//! changes; where colours are shared, one of those that share is told apart, and it goes on (the scheme of McKay's *nauty*,
//! without its backtracking: two parts that are equal up to order may, rarely, still come out different, which costs a second
//! search and nothing else).

use crate::matrix::BitMatrix;

/// A connected part of a matrix.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    /// Its rows in the whole matrix, in the part's order.
    pub(crate) rows: Vec<usize>,
    /// Its columns, likewise.
    pub(crate) columns: Vec<usize>,
    /// The part itself.
    pub(crate) matrix: BitMatrix,
}

/// The connected parts. Rows and columns without a one are in none of them.
pub(crate) fn components(matrix: &BitMatrix) -> Vec<Component> {
    let transposed = matrix.transpose();
    let mut row_seen = vec![false; matrix.n_rows()];
    let mut column_seen = vec![false; matrix.n_columns()];
    let mut parts = Vec::new();
    for start in 0..matrix.n_rows() {
        if row_seen[start] || matrix.ones_in_row(start).next().is_none() {
            continue;
        }
        row_seen[start] = true;
        let (mut rows, mut columns) = (vec![start], Vec::new());
        let mut done = 0;
        while done < rows.len() {
            for column in matrix.ones_in_row(rows[done]) {
                if !std::mem::replace(&mut column_seen[column], true) {
                    columns.push(column);
                    for row in transposed.ones_in_row(column) {
                        if !std::mem::replace(&mut row_seen[row], true) {
                            rows.push(row);
                        }
                    }
                }
            }
            done += 1;
        }
        rows.sort_unstable();
        columns.sort_unstable();
        let part = matrix.select_rows(&rows).select_columns(&columns);
        let (row_order, column_order) = order(&part);
        parts.push(Component {
            rows: row_order.iter().map(|&i| rows[i]).collect(),
            columns: column_order.iter().map(|&j| columns[j]).collect(),
            matrix: part.select_rows(&row_order).select_columns(&column_order),
        });
    }
    parts
}

fn mix(a: u64, b: u64) -> u64 {
    let mixed = (a ^ b.rotate_left(32)).wrapping_add(b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 31
}

/// An order of the rows and columns that does not depend on the one they are in.
pub(super) fn order(matrix: &BitMatrix) -> (Vec<usize>, Vec<usize>) {
    let n_rows = matrix.n_rows();
    let transposed = matrix.transpose();
    // Rows first, then columns, each with those it meets.
    let rows = (0..n_rows).map(|i| matrix.ones_in_row(i).map(|j| n_rows + j).collect());
    let columns = (0..matrix.n_columns()).map(|j| transposed.ones_in_row(j).collect());
    let neighbours: Vec<Vec<usize>> = rows.chain(columns).collect();
    let n = neighbours.len();
    let mut colours: Vec<u64> = (0..n).map(|v| u64::from(v < n_rows)).collect();
    let n_distinct = |colours: &[u64]| {
        let mut sorted = colours.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len()
    };
    let mut distinct = n_distinct(&colours);
    loop {
        // A sum of mixed colours does not depend on the order of the neighbours.
        let next: Vec<u64> = neighbours
            .iter()
            .zip(&colours)
            .map(|(list, &own)| mix(own, list.iter().fold(0, |sum: u64, &v| sum.wrapping_add(mix(colours[v], 1)))))
            .collect();
        let now = n_distinct(&next);
        colours = next;
        if now > distinct {
            distinct = now;
            continue;
        }
        if distinct == n {
            break;
        }
        let mut sorted: Vec<(u64, usize)> = colours.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) else { break };
        colours[pair[0].1] = mix(pair[0].0, 2);
        distinct += 1;
    }
    let by_colour = |from: usize, to: usize| {
        let mut list: Vec<usize> = (from..to).collect();
        list.sort_by_key(|&v| colours[v]);
        list.iter().map(|v| v - from).collect()
    };
    (by_colour(0, n_rows), by_colour(n_rows, n))
}
