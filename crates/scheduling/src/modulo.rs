//! Iterative modulo scheduling (Rau 1994): the shortest interval in which iterations of a loop can begin. Operations get cycles
//! one after the other, the one first that the longest way waits for; one that finds no place takes it from another. Where no
//! recurrence is tight, chains may be followed to their ends instead, each operation going to the first place that is free: fewer
//! values are held at once then. Where recurrences are in the way of the least interval, `justify` looks for a shorter one.

use crate::cyclic::{Dependence, Problem, Reservations, Schedule};
use crate::justify::justified;
use crate::list_units;
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

/// Cycles of the way to the end that do not matter where chains are followed; in each turn half as many.
const COARSE: i64 = 200;

/// Intervals that are tried.
const MOST_FAILED: usize = 40;

/// A schedule with the shortest interval, from `least` on, for which one is found; `None`: none of at most `most`
/// cycles was found.
pub fn modulo(problem: &Problem, least: usize, most: usize) -> Option<Scheduled> {
    modulo_of(problem, least, most, Whose { stages: 1, turn: 0, order: Order::Height })
}

/// The same, one of several.
pub fn modulo_of(problem: &Problem, least: usize, most: usize, whose: Whose) -> Option<Scheduled> {
    let (res_mii, rec_mii) = (problem.res_mii(), problem.rec_mii());
    let least = least.max(res_mii).max(rec_mii);
    // Where nearly all of a long iteration lies on recurrences, a schedule without overlap is near, and found sooner.
    let mut found = None;
    if problem.operations.len() > SHORT && 2 * rec_mii > res_mii {
        let waits = |at: &Vec<Dependence>| at.iter().map(|one| one.latency).max().unwrap_or(1);
        let latencies: Vec<usize> = problem.outgoing().iter().map(waits).collect();
        found = Some(justified(problem, list_units::one_after_the_other(problem, &latencies), least));
    }
    if found.is_none() {
        let first = rising(problem, least, most, &tries(problem, rec_mii, res_mii, whose))?;
        found = Some(if rec_mii > 1 { justified(problem, first, least) } else { first });
    }
    let mut schedule = found.filter(|found| found.ii <= most)?;
    shorten_lives(problem, &mut schedule);
    debug_assert_eq!(problem.verify(&schedule), Ok(()));
    Some(Scheduled { schedule, res_mii, rec_mii })
}

/// A schedule of the first interval for which one of these tries finds one.
fn rising(problem: &Problem, least: usize, most: usize, tries: &[Whose]) -> Option<Schedule> {
    let mut ii = least;
    let mut n_failed = 0;
    while ii <= most && n_failed < MOST_FAILED {
        for whose in tries {
            let Some((retimed, stage_of)) = retimed(problem, ii, whose.stages) else { continue };
            let Some(begins) = attempt(&retimed, ii, *whose) else { continue };
            let begins = begins.into_iter().zip(&stage_of).map(|(begin, stage)| begin + stage * ii).collect();
            let schedule = Schedule { ii, begins };
            // An operation that takes a unit twice may be in its own way.
            if problem.verify(&schedule).is_ok() {
                return Some(schedule);
            }
        }
        // Where a long interval is not enough, the next one rarely is.
        ii += 1 + n_failed * (ii / 256);
        n_failed += 1;
    }
    None
}

/// What is tried at each interval.
fn tries(problem: &Problem, rec_mii: usize, res_mii: usize, whose: Whose) -> Vec<Whose> {
    // Where recurrences leave little room, chance finds what order does not.
    let is_tight = 10 * rec_mii > 8 * res_mii && rec_mii > 1 && problem.operations.len() <= SHORT;
    let turns = 0..if is_tight { TURNS } else { 0 };
    let of = |stages, turn| Whose { stages, turn, order: Order::Height };
    let others = turns.flat_map(|turn| [of(2, turn), of(1, turn), of(3, turn)]);
    std::iter::once(whose).chain(others.filter(|other| *other != whose)).collect()
}

/// Operations up to which an interval is tried several times, and how often with each number of stages.
const SHORT: usize = 1000;
const TURNS: usize = 4;

/// What of several schedules is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whose {
    /// Into how many stages iterations are cut before they are scheduled, at least 1.
    pub stages: usize,
    /// Of operations that wait equally long, another comes first in each turn.
    pub turn: usize,
    /// Whose turn it is.
    pub order: Order,
}

/// Which operation comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one that the longest way waits for.
    Height,
    /// The next of a chain, operands first.
    DepthFirst,
}

/// The problem with iterations cut into so many stages of the same length, which begin at the same time: an operation of a stage
/// works on the iteration before that of the stage in front (*retiming*, as in decomposed software pipelining, Wang and
/// Eisenbeis 1993). Also the stage of each operation; `None` where a recurrence would have to go back in time.
fn retimed(problem: &Problem, ii: usize, stages: usize) -> Option<(Problem, Vec<usize>)> {
    let n = problem.operations.len();
    if stages <= 1 {
        return Some((problem.clone(), vec![0; n]));
    }
    // The cycle in which each may begin at the earliest.
    let mut earliest = vec![0_i64; n];
    let incoming = problem.incoming();
    let order = problem.topological();
    for _ in 0..64 {
        let mut has_changed = false;
        for &at in &order {
            let after = |one: &Dependence| earliest[one.from] + one.latency as i64 - (one.distance * ii) as i64;
            let begin = incoming[at].iter().map(after).max().unwrap_or(0).max(0);
            has_changed |= begin > earliest[at];
            earliest[at] = earliest[at].max(begin);
        }
        if !has_changed {
            break;
        }
    }
    let heights = problem.heights(ii)?;
    let length = (0..n).map(|at| earliest[at] + heights[at]).max().unwrap_or(0) + 1;
    // What nothing comes before stands in the stage of what reads it.
    let stage = |at: usize| (earliest[at] * stages as i64 / length) as usize;
    let mut stage_of: Vec<usize> = (0..n).map(stage).collect();
    let outgoing = problem.outgoing();
    for &at in order.iter().rev().filter(|&&at| incoming[at].is_empty()) {
        stage_of[at] = outgoing[at].iter().map(|one| stage_of[one.to] + one.distance).min().unwrap_or(stage_of[at]);
    }
    let dependences: Option<Vec<Dependence>> = problem
        .dependences
        .iter()
        .map(|one| {
            Some(Dependence { distance: (one.distance + stage_of[one.to]).checked_sub(stage_of[one.from])?, ..*one })
        })
        .collect();
    let problem = Problem { dependences: dependences?, ..problem.clone() };
    // Those of distance 0 still make no circle: stages grow along them.
    Some((problem, stage_of))
}

fn attempt(problem: &Problem, ii: usize, whose: Whose) -> Option<Vec<usize>> {
    let heights = problem.heights(ii)?;
    let (incoming, outgoing) = (problem.incoming(), problem.outgoing());
    let n = problem.operations.len();
    let mut places = Reservations::new(problem, ii);
    let mut begins: Vec<Option<usize>> = vec![None; n];
    let mut last: Vec<Option<usize>> = vec![None; n];
    // By height, then by number. Ties of height follow the order within an iteration, so that the first time round
    // operands have places before what reads them.
    let mut ranks = vec![0; n];
    match whose.order {
        Order::Height => {
            let order = problem.topological().into_iter().enumerate();
            order.for_each(|(rank, at)| ranks[at] = in_turn(rank, whose.turn));
        }
        Order::DepthFirst => ranks = depth_first(problem),
    }
    // Far beyond each other, those of greater height go first even then: the end must not wait for what is left of the interval.
    let coarse = if whose.order == Order::DepthFirst { (COARSE >> whose.turn).max(1) } else { 1 };
    let key = |at: usize| (-(heights[at] / coarse), ranks[at], at);
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

/// For each operation its place in an order that has operands first and follows each chain before it begins the next.
pub(crate) fn depth_first(problem: &Problem) -> Vec<usize> {
    let incoming = problem.incoming();
    let mut ranks = vec![usize::MAX; problem.operations.len()];
    let mut is_open = vec![false; ranks.len()];
    let mut next = 0;
    for root in problem.topological().into_iter().rev() {
        let mut open = vec![root];
        while let Some(&at) = open.last() {
            if !std::mem::replace(&mut is_open[at], true) {
                let before = incoming[at].iter().filter(|one| one.distance == 0 && !is_open[one.from]);
                open.extend(before.map(|one| one.from));
            } else {
                open.pop();
                if ranks[at] == usize::MAX {
                    ranks[at] = next;
                    next += 1;
                }
            }
        }
    }
    ranks
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
    for round in 0..PASSES {
        let mut has_changed = false;
        let mut order: Vec<usize> = (0..problem.operations.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(schedule.begins[at]));
        for at in order {
            let begins = &schedule.begins;
            let end = |one: &Dependence| (begins[one.to] + one.distance * ii).saturating_sub(one.latency);
            let Some(latest) = outgoing[at].iter().filter(|one| one.to != at).map(end).min() else { continue };
            let now = begins[at];
            // Until when its operands are held for others.
            let held = incoming[at].iter().filter(|one| one.is_value).map(|one| {
                let others = outgoing[one.from].iter().filter(|other| other.is_value && other.to != at);
                let last = others.map(|other| begins[other.to] + other.distance * ii).max().unwrap_or(0);
                last.saturating_sub(one.distance * ii)
            });
            let held: Vec<usize> = held.collect();
            // Operands that are held for it alone are held longer when it begins later; its own result is held shorter.
            let n_own = held.iter().filter(|held| **held <= now).count();
            let operation = &problem.operations[at];
            let latest = if n_own == 0 { latest.min(held.into_iter().min().unwrap_or(latest)) } else { now };
            let mut begin = now;
            places.free(at, operation, now);
            if latest > now {
                // Cycles beyond an interval are the same again.
                let last = latest.min(now + ii.max(latest.saturating_sub(now) / ii * ii + ii));
                let lowest = last.saturating_sub(ii - 1).max(now);
                begin = (lowest..=last.max(now)).rev().find(|&begin| places.fits(operation, begin)).unwrap_or(now);
            } else if n_own > 1 && round > 0 {
                // Earlier, where two or more operands are held for it alone, and one result.
                let after = |one: &Dependence| (begins[one.from] + one.latency).saturating_sub(one.distance * ii);
                let earliest = incoming[at].iter().filter(|one| one.from != at).map(after).max().unwrap_or(now);
                let earliest = earliest.max(now.saturating_sub(ii - 1));
                begin = (earliest..now).find(|&begin| places.fits(operation, begin)).unwrap_or(now);
            }
            places.take(at, operation, begin);
            has_changed |= begin != now;
            schedule.begins[at] = begin;
        }
        if !has_changed {
            break;
        }
    }
}

/// How often all operations are looked at.
const PASSES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::Operation;
    use crate::cyclic::tests::{numbers, random};

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
    fn schedules_of_all_orders_and_stages_are_verified() {
        let mut below = numbers(4);
        for case in 0..300 {
            let problem = random(&mut below);
            for order in [Order::Height, Order::DepthFirst] {
                for (stages, turn) in [(1, 1), (2, 0), (3, 5)] {
                    let Some(made) = modulo_of(&problem, 1, 10_000, Whose { stages, turn, order }) else { continue };
                    assert_eq!(problem.verify(&made.schedule), Ok(()), "case {case}, {order:?}: {problem:?}");
                }
            }
        }
    }

    #[test]
    fn following_chains_holds_fewer_values() {
        // Many chains of one width: side by side all of them are held, one after the other few.
        let (n, length) = (24, 6);
        let value = |from, to| Dependence { from, to, latency: 2, distance: 0, is_value: true };
        let problem = Problem {
            units: vec![1],
            operations: vec![Operation { unit: Some(0), busy: 1, also: Vec::new() }; n * length],
            dependences: (0..n * length).filter(|at| at % length > 0).map(|at| value(at - 1, at)).collect(),
        };
        let held = |order| {
            let made = modulo_of(&problem, 1, 1000, Whose { stages: 1, turn: 0, order }).expect("a schedule");
            assert_eq!(made.schedule.ii, made.res_mii);
            problem.max_live(&made.schedule)
        };
        let (side_by_side, one_by_one) = (held(Order::Height), held(Order::DepthFirst));
        assert!(2 * one_by_one <= side_by_side, "{one_by_one} and {side_by_side}");
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
