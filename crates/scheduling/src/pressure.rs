//! Register pressure: how many values an order of operations holds at once, and an order that follows chains to their
//! ends. Operations are whatever identifies them; `reads` says which others one reads.

use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// What is needed for `roots`, each operation after those that it reads, in the order in which results are first needed,
/// where the longest chain goes first: what joins it further on is computed then. `topological` has all of them, each after
/// those that it reads.
pub fn depth_first<T: Copy + Eq + Hash>(topological: &[T], roots: &[T], reads: impl Fn(T) -> Vec<T>) -> Vec<T> {
    let mut heights: FxHashMap<T, u32> = FxHashMap::default();
    for &id in topological {
        let below = reads(id).into_iter().filter_map(|operand| heights.get(&operand)).max().copied();
        heights.insert(id, below.map_or(0, |below| below + 1));
    }
    let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
    let mut open: Vec<(T, bool)> = roots.iter().rev().map(|&id| (id, false)).collect();
    while let Some((id, is_ready)) = open.pop() {
        if is_ready {
            order.push(id);
        } else if seen.insert(id) {
            open.push((id, true));
            let mut operands = reads(id);
            operands.sort_by_key(|operand| heights.get(operand));
            open.extend(operands.into_iter().map(|operand| (operand, false)));
        }
    }
    order
}

/// The most results that an order holds at once, each from its operation to the last that reads it; those of `kept` to the
/// end.
pub fn most_held<T: Copy + Eq + Hash>(order: &[T], kept: &[T], reads: impl Fn(T) -> Vec<T>) -> usize {
    let mut last: FxHashMap<T, usize> = FxHashMap::default();
    for (at, &id) in order.iter().enumerate() {
        last.extend(reads(id).into_iter().map(|operand| (operand, at)));
    }
    last.extend(kept.iter().map(|&id| (id, order.len())));
    let mut ends = vec![0_usize; order.len() + 1];
    let (mut held, mut most) = (0, 0);
    for (at, id) in order.iter().enumerate() {
        if let Some(&end) = last.get(id).filter(|&&end| end > at) {
            held += 1;
            ends[end] += 1;
        }
        most = most.max(held);
        held -= ends[at];
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two chains of three that meet: `0 1 2` and `3 4`, then `5` of both.
    fn reads(id: usize) -> Vec<usize> {
        match id {
            1 => vec![0],
            2 => vec![1],
            4 => vec![3],
            5 => vec![4, 2],
            _ => Vec::new(),
        }
    }

    #[test]
    fn the_longest_chain_goes_first() {
        assert_eq!(depth_first(&[0, 1, 2, 3, 4, 5], &[5], reads), [0, 1, 2, 3, 4, 5]);
        assert_eq!(depth_first(&[0, 3, 1, 4, 2, 5], &[4, 5], reads), [3, 4, 0, 1, 2, 5]);
    }

    #[test]
    fn results_are_held_until_the_last_that_reads_them() {
        assert_eq!(most_held(&[0, 1, 2, 3, 4, 5], &[5], reads), 3);
        assert_eq!(most_held(&[0, 3, 1, 4, 2, 5], &[5, 0], reads), 4);
    }
}
