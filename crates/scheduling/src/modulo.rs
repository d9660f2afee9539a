//! Iterative modulo scheduling (Rau 1994): the shortest interval in which iterations of a loop can begin. Operations get cycles
//! one after the other, the one first that the longest way waits for; one that finds no place takes it from another.

use crate::cyclic::{Problem, Reservations, Schedule};
use std::collections::BTreeSet;

/// A schedule and the bounds that it was made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The schedule.
    pub schedule: Schedule,
    /// The bound that units set.
    pub res_mii: usize,
    /// The bound that recurrences set.
    pub rec_mii: usize,
}

/// Attempts for each operation before an interval is given up.
const BUDGET: usize = 12;

/// Intervals that are tried.
const MOST_FAILED: usize = 40;

/// A schedule with the shortest interval, from `least` on, for which one is found; `None`: none of at most `most`
/// cycles was found.
pub fn modulo(problem: &Problem, least: usize, most: usize) -> Option<Scheduled> {
    modulo_in_turn(problem, least, most, 0)
}

/// The same; of operations that wait equally long, another comes first in each turn.
pub fn modulo_in_turn(problem: &Problem, least: usize, most: usize, turn: usize) -> Option<Scheduled> {
    let (res_mii, rec_mii) = (problem.res_mii(), problem.rec_mii());
    let mut ii = least.max(res_mii).max(rec_mii);
    let mut n_failed = 0;
    while ii <= most && n_failed < MOST_FAILED {
        if let Some(begins) = attempt(problem, ii, turn) {
            let mut schedule = Schedule { ii, begins };
            // An operation that takes a unit twice may be in its own way.
            if problem.verify(&schedule).is_ok() {
                shorten_lives(problem, &mut schedule);
                debug_assert_eq!(problem.verify(&schedule), Ok(()));
                return Some(Scheduled { schedule, res_mii, rec_mii });
            }
        }
        // Where a long interval is not enough, the next one rarely is.
        ii += 1 + n_failed * (ii / 256);
        n_failed += 1;
    }
    None
}

fn attempt(problem: &Problem, ii: usize, turn: usize) -> Option<Vec<usize>> {
    let heights = problem.heights(ii)?;
    let (incoming, outgoing) = (problem.incoming(), problem.outgoing());
    let n = problem.operations.len();
    let mut places = Reservations::new(problem, ii);
    let mut begins: Vec<Option<usize>> = vec![None; n];
    let mut last: Vec<Option<usize>> = vec![None; n];
    // By height, then by number. Ties of height follow the order within an iteration, so that the first time round
    // operands have places before what reads them.
    let mut ranks = vec![0; n];
    problem.topological().into_iter().enumerate().for_each(|(rank, at)| ranks[at] = in_turn(rank, turn));
    let key = |at: usize| (-heights[at], ranks[at], at);
    let mut open: BTreeSet<(i64, usize, usize)> = (0..n).map(key).collect();
    let mut budget = BUDGET * n + 16;
    while let Some((_, _, at)) = open.pop_first() {
        budget = budget.checked_sub(1)?;
        let operation = &problem.operations[at];
        let after = |one: &crate::cyclic::Dependence| {
            begins[one.from].map_or(0, |begin| (begin + one.latency).saturating_sub(one.distance * ii))
        };
        let earliest = incoming[at].iter().map(after).max().unwrap_or(0);
        let begin = (earliest..earliest + ii).find(|&begin| places.fits(operation, begin));
        let begin = begin.unwrap_or_else(|| earliest.max(last[at].map_or(0, |last| last + 1)));
        for other in places.in_the_way(operation, begin) {
            places.free(other, &problem.operations[other], begins[other].take()?);
            open.insert(key(other));
        }
        places.take(at, operation, begin);
        (begins[at], last[at]) = (Some(begin), Some(begin));
        for one in &outgoing[at] {
            let Some(reader) = begins[one.to].filter(|_| one.to != at) else { continue };
            if reader + one.distance * ii < begin + one.latency {
                places.free(one.to, &problem.operations[one.to], reader);
                begins[one.to] = None;
                open.insert(key(one.to));
            }
        }
    }
    begins.into_iter().collect()
}

/// A rank among equals; in the first turn it is itself.
fn in_turn(rank: usize, turn: usize) -> usize {
    // Multiplication by an odd number puts numbers into another order (Knuth's, for 32 bits).
    let mixed = || (rank as u32).wrapping_mul(2_654_435_761).rotate_left(turn as u32) as usize;
    if turn == 0 { rank } else { mixed() }
}

/// Moves operations to later cycles where their results are held shorter and no operand is held longer for it.
fn shorten_lives(problem: &Problem, schedule: &mut Schedule) {
    let ii = schedule.ii;
    let (incoming, outgoing) = (problem.incoming(), problem.outgoing());
    let mut places = Reservations::new(problem, ii);
    for (at, operation) in problem.operations.iter().enumerate() {
        places.take(at, operation, schedule.begins[at]);
    }
    for _ in 0..2 {
        let mut order: Vec<usize> = (0..problem.operations.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(schedule.begins[at]));
        for at in order {
            let begins = &schedule.begins;
            let end =
                |one: &crate::cyclic::Dependence| (begins[one.to] + one.distance * ii).saturating_sub(one.latency);
            let Some(latest) = outgoing[at].iter().filter(|one| one.to != at).map(end).min() else { continue };
            let now = begins[at];
            // Until when its operands are held for others.
            let held = incoming[at].iter().filter(|one| one.is_value).map(|one| {
                let others = outgoing[one.from].iter().filter(|other| other.is_value && other.to != at);
                let last = others.map(|other| begins[other.to] + other.distance * ii).max().unwrap_or(0);
                last.saturating_sub(one.distance * ii)
            });
            let latest = latest.min(held.min().unwrap_or(latest));
            let operation = &problem.operations[at];
            places.free(at, operation, now);
            // Cycles beyond an interval are the same again.
            let last = latest.min(now + ii.max(latest.saturating_sub(now) / ii * ii + ii));
            let lowest = last.saturating_sub(ii - 1).max(now);
            let begin = (lowest..=last.max(now)).rev().find(|&begin| places.fits(operation, begin)).unwrap_or(now);
            places.take(at, operation, begin);
            schedule.begins[at] = begin;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::tests::{numbers, random};
    use crate::cyclic::{Dependence, Operation};

    #[test]
    fn intervals_of_random_problems_are_short_and_verified() {
        let mut below = numbers(1);
        let mut n_least = 0;
        for case in 0..2000 {
            let problem = random(&mut below);
            let made = modulo(&problem, 1, 10_000).expect("there is always a schedule");
            assert_eq!(problem.verify(&made.schedule), Ok(()), "case {case}: {problem:?}");
            assert!(made.schedule.ii >= made.res_mii.max(made.rec_mii));
            n_least += usize::from(made.schedule.ii == made.res_mii.max(made.rec_mii));
        }
        assert!(n_least > 1900, "{n_least} of 2000 have the least interval");
    }

    #[test]
    fn iterations_overlap() {
        let value = |from, to, latency| Dependence { from, to, latency, distance: 0, is_value: true };
        // A chain of ten operations that take 4 cycles each, on two units.
        let problem = Problem {
            units: vec![2],
            operations: vec![Operation { unit: Some(0), busy: 1, also: Vec::new() }; 10],
            dependences: (0..9).map(|at| value(at, at + 1, 4)).collect(),
        };
        let made = modulo(&problem, 1, 100).expect("a schedule");
        assert_eq!((made.schedule.ii, made.res_mii, made.rec_mii), (5, 5, 1));
    }
}
