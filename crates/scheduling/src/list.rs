//! List scheduling: in each cycle those operations begin whose operands are there, the one first that the longest way to
//! the end waits for (Graham 1969; Landskov, Davidson, Shriver and Mallett 1980).
//!
//! Processors look ahead over some sixty operations only. Where several chains run side by side, what the longest way
//! to the end waits for goes first, so that none of them holds up the others.

use crate::problem::{Problem, Schedule};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The schedule by the longest way to the end; of ways that are equally long, the operation with the smaller number goes
/// first.
pub fn by_longest_way(problem: &Problem) -> Schedule {
    let operations = &problem.operations;
    let readers = problem.readers();
    let ways = problem.ways(&readers);
    let mut missing: Vec<usize> = operations.iter().map(|operation| operation.reads.len()).collect();
    let mut earliest = vec![0; operations.len()];
    // Those that may begin, the longest way first, and those that may in a later cycle.
    let mut ready: BTreeSet<(Reverse<usize>, usize)> = BTreeSet::new();
    let mut later: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let free = (0..operations.len()).filter(|&at| missing[at] == 0);
    ready.extend(free.map(|at| (Reverse(ways[at]), at)));
    let (mut order, mut begins) = (Vec::with_capacity(operations.len()), vec![0; operations.len()]);
    let (mut cycle, mut begun) = (0, 0);
    loop {
        if begun == problem.issued || ready.is_empty() {
            // The next cycle, or the first in which something may begin.
            let next = if ready.is_empty() { *later.keys().next().unwrap_or(&cycle) } else { cycle + 1 };
            (cycle, begun) = (next, 0);
            while let Some(entry) = later.first_entry().filter(|entry| *entry.key() <= cycle) {
                ready.extend(entry.remove().into_iter().map(|at| (Reverse(ways[at]), at)));
            }
        }
        let Some((_, at)) = ready.pop_first() else { return Schedule { order, begins } };
        order.push(at);
        begins[at] = cycle;
        begun += usize::from(operations[at].latency > 0);
        for &reader in &readers[at] {
            missing[reader] -= 1;
            earliest[reader] = earliest[reader].max(cycle + operations[at].latency);
            if missing[reader] > 0 {
                continue;
            }
            match earliest[reader] {
                now if now <= cycle => {
                    ready.insert((Reverse(ways[reader]), reader));
                }
                then => later.entry(then).or_default().push(reader),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Operation;

    fn problem(issued: usize, operations: &[(usize, &[usize])]) -> Problem {
        let of = |&(latency, reads): &(usize, &[usize])| Operation { latency, reads: reads.to_vec() };
        Problem { operations: operations.iter().map(of).collect(), issued }
    }

    #[test]
    fn chains_take_turns() {
        let one = problem(1, &[(1, &[]), (1, &[0]), (1, &[1]), (1, &[]), (1, &[3]), (1, &[4])]);
        let schedule = by_longest_way(&one);
        assert_eq!(schedule.order, [0, 3, 1, 4, 2, 5]);
        assert_eq!(one.verify(&schedule), Ok(()));
    }

    #[test]
    fn what_the_longest_way_waits_for_goes_first() {
        let one = problem(2, &[(1, &[]), (1, &[]), (1, &[]), (2, &[2]), (1, &[0, 3])]);
        let schedule = by_longest_way(&one);
        assert_eq!((schedule.order[0], schedule.order[4]), (2, 4));
        assert_eq!(one.verify(&schedule), Ok(()));
    }

    #[test]
    fn schedules_of_random_problems_are_verified() {
        // A linear congruential generator (Knuth's MMIX constants).
        let mut state = 1_u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for _ in 0..500 {
            let n = 1 + below(40);
            let mut operations = Vec::new();
            for at in 0..n {
                let mut reads: Vec<usize> = (0..below(4)).filter(|_| at > 0).map(|_| below(at.max(1))).collect();
                reads.sort_unstable();
                reads.dedup();
                operations.push(Operation { latency: below(4), reads });
            }
            let problem = Problem { operations, issued: 1 + below(3) };
            assert_eq!(problem.verify(&by_longest_way(&problem)), Ok(()), "{problem:?}");
        }
    }
}
