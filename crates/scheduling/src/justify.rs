//! Forward-backward improvement of modulo schedules: operations get their places anew, from the end as late as possible, then from
//! the beginning as early as possible, each time in the order that the schedule before has left.
//!
//! Double justification (Li and Willis 1992; Valls, Ballestín and Quintanilla 2005) makes schedules of projects shorter: where
//! what comes last is moved to the end, gaps open in front of it, which the way back closes. Recurrences on which nearly all of an
//! iteration lies are such projects, with the next iteration for an end. A pass is iterative modulo scheduling (Rau 1994) in
//! either direction: what finds no place takes it from another.
//!
//! Limits: which schedule is found depends on chance by numbers that are always the same; that none is found says nothing of
//! whether there is one.

use crate::chance::states;
use crate::cyclic::{Dependence, Operation, Problem, Schedule};
use std::collections::BTreeSet;

/// Attempts for each operation before a pass is given up.
const BUDGET: usize = 8;

/// Operations that all passes of a problem place together, about, and passes.
const PLACED: usize = 60_000;
const LEAST_PASSES: usize = 24;
const MOST_PASSES: usize = 60;

/// Ways there and back of what is scheduled as if iterations did not overlap.
const ROUNDS: usize = 6;

/// Intervals that are tried of each of these: what comes last is in the way of the next iteration in some.
const NEAR: usize = 64;

/// How far operations stand apart in keys, and chances among them, which change from pass to pass.
const APART: i64 = 16;
const CHANCES: [i64; 4] = [1, 16, 64, 256];

/// Cycles before its place in the schedule before that an operation goes to at most if nothing that is placed comes before it.
const FARTHEST: i64 = 32;

/// A schedule with a shorter interval than this one has, of `least` cycles or more; the same where none is found.
pub fn justified(problem: &Problem, schedule: Schedule, least: usize) -> Schedule {
    if schedule.ii <= least {
        return schedule;
    }
    let passes = Passes { problem, incoming: problem.incoming(), outgoing: problem.outgoing() };
    let n_passes = (PLACED / problem.operations.len().max(1)).clamp(LEAST_PASSES, MOST_PASSES);
    let mut chance = chances();
    let mut best = schedule;
    if let Some(other) = passes.without_overlap(least, best.ii)
        && other.ii < best.ii
    {
        best = other;
    }
    // Where operations are now: of the best schedule, or of another with the same interval.
    let mut now: Vec<i64> = best.begins.iter().map(|&begin| begin as i64).collect();
    for pass in 0..n_passes {
        if best.ii <= least {
            break;
        }
        let direction = if pass % 2 == 0 { Direction::Backward } else { Direction::Forward };
        let most = CHANCES[pass / 2 % CHANCES.len()];
        let sign = direction.sign();
        let keys: Vec<i64> = now.iter().map(|begin| sign * begin * APART + chance() % most).collect();
        let floors: Vec<i64> = now.iter().map(|begin| sign * begin - FARTHEST).collect();
        if let Some(made) = passes.place(&keys, &floors, direction, best.ii - 1)
            && let Some(shorter) = passes.settled(&made, best.ii - 1)
        {
            now = made;
            best = shorter;
        } else if pass % 3 == 2
            && let Some(made) = passes.place(&keys, &floors, direction, best.ii)
        {
            now = made;
        }
    }
    best
}

/// Numbers by chance, for all problems the same.
fn chances() -> impl FnMut() -> i64 {
    let mut state = states(1);
    move || (state() >> 40) as i64
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl Direction {
    /// What cycles are multiplied by, so that going backward looks like going forward.
    fn sign(self) -> i64 {
        if self == Direction::Forward { 1 } else { -1 }
    }
}

struct Passes<'a> {
    problem: &'a Problem,
    incoming: Vec<Vec<Dependence>>,
    outgoing: Vec<Vec<Dependence>>,
}

impl Passes<'_> {
    /// The best of some ways there and back, with units as if one iteration were alone; the interval, below `most`, is the least
    /// that such a schedule has.
    fn without_overlap(&self, least: usize, most: usize) -> Option<Schedule> {
        let problem = self.problem;
        let within = Problem {
            dependences: problem.dependences.iter().filter(|one| one.distance == 0).copied().collect(),
            ..problem.clone()
        };
        let heights = within.heights(1)?;
        let length: usize = problem.operations.iter().map(|one| one.busy.max(1)).sum::<usize>()
            + heights.iter().max().map_or(0, |height| *height as usize)
            + problem.operations.iter().flat_map(|one| &one.also).map(|also| also.1).max().unwrap_or(0);
        let horizon = 2 * length.max(most) + 2;
        let mut chance = chances();
        let mut keys: Vec<i64> = heights.iter().map(|height| -height).collect();
        let mut floors = vec![0; keys.len()];
        let mut direction = Direction::Forward;
        let mut best: Option<Schedule> = None;
        for _ in 0..2 * ROUNDS {
            let made = self.place(&keys, &floors, direction, horizon)?;
            let most = best.as_ref().map_or(most, |best| best.ii);
            // What comes back from the iteration before says where to look.
            let late = |one: &Dependence| {
                let late = (made[one.from] - made[one.to] + one.latency as i64).max(0) as usize;
                if one.distance > 0 { late.div_ceil(one.distance) } else { 0 }
            };
            let from = problem.dependences.iter().map(late).max().unwrap_or(0).max(least);
            if let Some(shorter) = (from..most.min(from + NEAR)).find_map(|ii| self.settled(&made, ii)) {
                best = Some(shorter);
            }
            direction = if direction == Direction::Forward { Direction::Backward } else { Direction::Forward };
            let sign = direction.sign();
            keys = made.iter().map(|begin| sign * begin * APART + chance() % (APART / 2)).collect();
            let first = made.iter().map(|begin| sign * begin).min().unwrap_or(0);
            floors.fill(first);
        }
        best
    }

    /// The schedule with these beginnings, if it is one.
    fn settled(&self, begins: &[i64], ii: usize) -> Option<Schedule> {
        let kept =
            |one: &Dependence| begins[one.to] + (one.distance * ii) as i64 >= begins[one.from] + one.latency as i64;
        if !self.problem.dependences.iter().all(kept) {
            return None;
        }
        let first = begins.iter().min().copied().unwrap_or(0);
        let schedule = Schedule { ii, begins: begins.iter().map(|begin| (begin - first) as usize).collect() };
        self.problem.verify(&schedule).is_ok().then_some(schedule)
    }

    /// When operations begin if those of lesser keys get places first, none before its floor; floors are cycles forward, and their
    /// negatives backward. `None`: too many took places from each other.
    fn place(&self, keys: &[i64], floors: &[i64], direction: Direction, ii: usize) -> Option<Vec<i64>> {
        let problem = self.problem;
        let n = problem.operations.len();
        let (sign, interval) = (direction.sign(), ii as i64);
        let (before, after) = match direction {
            Direction::Forward => (&self.incoming, &self.outgoing),
            Direction::Backward => (&self.outgoing, &self.incoming),
        };
        let other = |at: usize, one: &Dependence| if one.from == at { one.to } else { one.from };
        let slot = |unit: usize, cycle: i64| unit * ii + cycle.rem_euclid(interval) as usize;
        let mut busy: Vec<Vec<u32>> = vec![Vec::new(); problem.units.len() * ii];
        let mut places: Vec<Option<i64>> = vec![None; n];
        let mut last: Vec<Option<i64>> = vec![None; n];
        let mut open: BTreeSet<(i64, usize)> = (0..n).map(|at| (keys[at], at)).collect();
        let mut budget = BUDGET * n + 16;
        let mut in_the_way: Vec<usize> = Vec::new();
        while let Some((_, at)) = open.pop_first() {
            budget = budget.checked_sub(1)?;
            let operation = &problem.operations[at];
            if operation.busy > ii {
                return None;
            }
            let mut lowest = floors[at];
            for one in before[at].iter().filter(|one| one.from != one.to) {
                if let Some(place) = places[other(at, one)] {
                    lowest = lowest.max(sign * place + one.latency as i64 - one.distance as i64 * interval);
                }
            }
            let fits = |place: &i64| {
                taken(operation).all(|(unit, cycle)| busy[slot(unit, sign * place + cycle)].len() < problem.units[unit])
            };
            let found = (lowest..lowest + interval).find(fits);
            let place = found.unwrap_or_else(|| last[at].map_or(lowest, |last| lowest.max(last + 1)));
            in_the_way.clear();
            for (unit, cycle) in taken(operation) {
                let here = &busy[slot(unit, sign * place + cycle)];
                if here.len() >= problem.units[unit] {
                    in_the_way.extend(here.first().map(|&one| one as usize));
                }
            }
            for one in after[at].iter().filter(|one| one.from != one.to) {
                let reader = other(at, one);
                let is_late = |its: i64| sign * its + one.distance as i64 * interval < place + one.latency as i64;
                if places[reader].is_some_and(is_late) {
                    in_the_way.push(reader);
                }
            }
            for &one in &in_the_way {
                let Some(its) = places[one].take() else { continue };
                for (unit, cycle) in taken(&problem.operations[one]) {
                    let here = &mut busy[slot(unit, its + cycle)];
                    if let Some(position) = here.iter().position(|&other| other as usize == one) {
                        here.remove(position);
                    }
                }
                open.insert((keys[one], one));
            }
            for (unit, cycle) in taken(operation) {
                busy[slot(unit, sign * place + cycle)].push(at as u32);
            }
            (places[at], last[at]) = (Some(sign * place), Some(place));
        }
        places.into_iter().collect()
    }
}

/// What an operation takes: kinds of units, each with a cycle from its beginning on.
fn taken(operation: &Operation) -> impl Iterator<Item = (usize, i64)> + '_ {
    let cycles = 0..operation.busy.max(1) as i64;
    let own = operation.unit.into_iter().flat_map(move |unit| cycles.clone().map(move |cycle| (unit, cycle)));
    own.chain(operation.also.iter().map(|&(unit, cycle)| (unit, cycle as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::tests::{numbers, random};
    use crate::list_units::one_after_the_other;

    #[test]
    fn schedules_of_random_problems_stay_right_and_get_no_longer() {
        let mut below = numbers(5);
        let (mut n_shorter, mut n_least) = (0, 0);
        for case in 0..200 {
            let mut problem = random(&mut below);
            let n = problem.operations.len();
            // A recurrence through all that waits for the first.
            problem.dependences.push(Dependence { from: n - 1, to: 0, latency: 1, distance: 1, is_value: true });
            let list = one_after_the_other(&problem, &vec![1; n]);
            let least = problem.res_mii().max(problem.rec_mii());
            let made = justified(&problem, list.clone(), least);
            assert_eq!(problem.verify(&made), Ok(()), "case {case}: {problem:?}");
            assert!(made.ii <= list.ii && made.ii >= least.min(list.ii), "case {case}");
            n_shorter += usize::from(made.ii < list.ii);
            n_least += usize::from(made.ii == least);
        }
        assert!(n_shorter > 90 && n_least > 160, "{n_shorter} shorter, {n_least} least");
    }

    #[test]
    fn gaps_in_front_of_what_waits_are_closed() {
        // One unit: a long chain, and operations that only its end needs, which come first by their numbers and heights.
        let wait = |from, to, latency, distance| Dependence { from, to, latency, distance, is_value: true };
        let operation = Operation { unit: Some(0), busy: 1, also: Vec::new() };
        let mut problem = Problem { units: vec![1], operations: vec![operation; 21], dependences: Vec::new() };
        for at in 0..9 {
            problem.dependences.push(wait(at, at + 1, 2, 0));
        }
        problem.dependences.extend((10..20).map(|at| wait(0, at, 2, 0)));
        problem.dependences.extend((9..20).map(|at| wait(at, 20, 1, 0)));
        problem.dependences.push(wait(20, 0, 1, 1));
        let latencies = vec![2; 21];
        let list = one_after_the_other(&problem, &latencies);
        let least = problem.rec_mii().max(problem.rec_mii_of_units());
        let made = justified(&problem, list, least);
        assert_eq!(made.ii, least);
    }
}
