//! Paar's greedy heuristic: the pair of values that most rows contain becomes a value of its own.
//!
//! Columns are kept as sets of rows, so that what a pair shares is the number of bits of an AND. For every value the best
//! partner among the values before it is remembered; only those of the values that a step touches change.

use super::search::Draft;
use crate::matrix::{BitMatrix, ones};
use crate::random::Random;

fn shared(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
}

/// The most rows that column `i` shares with one before it.
fn best_before(columns: &[Vec<u64>], i: usize) -> u32 {
    columns[..i].iter().map(|other| shared(other, &columns[i])).max().unwrap_or(0)
}

/// A network without cancellation. Ties are broken at random, or, without a source of numbers, by the order of the values,
/// which keeps to the structure of matrices whose blocks repeat.
pub(super) fn draft(matrix: &BitMatrix, mut random: Option<&mut Random>) -> Draft {
    let mut choose = |from: &[usize]| from[random.as_mut().map_or(0, |random| random.below(from.len()))];
    let n_inputs = matrix.n_columns();
    let transposed = matrix.transpose();
    let mut columns: Vec<Vec<u64>> = (0..n_inputs).map(|j| transposed.row_words(j).to_vec()).collect();
    let mut best: Vec<u32> = (0..n_inputs).map(|i| best_before(&columns, i)).collect();
    let mut pairs = Vec::new();
    loop {
        let most = best.iter().copied().max().unwrap_or(0);
        if most == 0 {
            break;
        }
        let firsts: Vec<usize> = (0..columns.len()).filter(|&i| best[i] == most).collect();
        let second = choose(&firsts);
        let partners: Vec<usize> = (0..second).filter(|&j| shared(&columns[j], &columns[second]) == most).collect();
        let first = choose(&partners);
        let (old_first, old_second) = (columns[first].clone(), columns[second].clone());
        let both: Vec<u64> = old_first.iter().zip(&old_second).map(|(a, b)| a & b).collect();
        for column in [first, second] {
            for (word, taken) in columns[column].iter_mut().zip(&both) {
                *word &= !taken;
            }
        }
        for i in first..columns.len() {
            // What others share with the two that lost rows only became less: it matters where it was the best.
            let was_best = |old: &[u64]| best[i] != 0 && shared(old, &columns[i]) == best[i];
            if i == first || i == second || was_best(&old_first) || (i > second && was_best(&old_second)) {
                best[i] = best_before(&columns, i);
            }
        }
        columns.push(both);
        pairs.push((first, second));
        best.push(best_before(&columns, columns.len() - 1));
    }
    let mut outputs = vec![None; matrix.n_rows()];
    for (value, column) in columns.iter().enumerate() {
        for row in ones(column) {
            if let Some(output) = outputs.get_mut(row) {
                *output = Some(value);
            }
        }
    }
    Draft { n_inputs, pairs, outputs }
}
