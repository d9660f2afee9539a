//! Local moves of a modulo schedule: an operation goes to another cycle of its slack, or two exchange their cycles.
//!
//! What a schedule is good for is sometimes only seen when units and registers are settled. Moves leave the interval and everything
//! that is verified as it is, so that this can be tried again beside the same schedule.

use crate::cyclic::{Dependence, Problem, Reservations, Schedule};

/// Cycles to either side that an operation is moved at most.
const FARTHEST: usize = 24;

/// How often a move is looked for.
const LOOKS: usize = 24;

/// A schedule that moves are made on.
pub struct Moves<'a> {
    problem: &'a Problem,
    incoming: Vec<Vec<Dependence>>,
    outgoing: Vec<Vec<Dependence>>,
    places: Reservations,
    schedule: Schedule,
}

impl<'a> Moves<'a> {
    /// Of a schedule that has been verified.
    pub fn new(problem: &'a Problem, schedule: Schedule) -> Moves<'a> {
        let mut places = Reservations::new(problem, schedule.ii);
        for (at, operation) in problem.operations.iter().enumerate() {
            places.take(at, operation, schedule.begins[at]);
        }
        Moves { problem, incoming: problem.incoming(), outgoing: problem.outgoing(), places, schedule }
    }

    /// The schedule as it is now.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Moves an operation, and another one in its place where that is needed: which ones, and when they began before. `below` gives
    /// numbers by chance, less than its argument. `None`: no move was found.
    pub fn shift(&mut self, at: usize, below: &mut dyn FnMut(usize) -> usize) -> Option<Vec<(usize, usize)>> {
        let ii = self.schedule.ii;
        let now = self.schedule.begins[at];
        for _ in 0..LOOKS {
            let distance = 1 + below(FARTHEST.min(ii - 1).max(1));
            let then = if below(2) == 0 { now + distance } else { now.checked_sub(distance).unwrap_or(now + distance) };
            if !self.is_kept(at, then) {
                continue;
            }
            if self.moved(at, then) {
                return Some(vec![(at, now)]);
            }
            // Another one of its kind in that cycle comes here.
            let others = self.places.of(self.problem.operations[at].unit?, then);
            let other = *others.get(below(others.len().max(1)))?;
            let began = self.schedule.begins[other];
            let goes = if then > now { began.checked_sub(distance) } else { Some(began + distance) };
            let Some(goes) = goes.filter(|_| other != at) else { continue };
            self.set(at, None);
            self.set(other, None);
            self.schedule.begins[at] = then;
            let fits = self.is_kept(at, then) && self.is_kept(other, goes) && {
                self.schedule.begins[other] = goes;
                self.is_kept(at, then) && self.fits_both(at, other)
            };
            if fits {
                return Some(vec![(at, now), (other, began)]);
            }
            self.set(at, Some(now));
            self.set(other, Some(began));
        }
        None
    }

    /// Takes moves back.
    pub fn undo(&mut self, before: &[(usize, usize)]) {
        before.iter().for_each(|&(at, _)| self.set(at, None));
        before.iter().for_each(|&(at, begin)| self.set(at, Some(begin)));
    }

    /// Gives up the place of an operation, or takes one for it.
    fn set(&mut self, at: usize, begin: Option<usize>) {
        let operation = &self.problem.operations[at];
        match begin {
            None => self.places.free(at, operation, self.schedule.begins[at]),
            Some(begin) => {
                self.places.take(at, operation, begin);
                self.schedule.begins[at] = begin;
            }
        }
    }

    fn moved(&mut self, at: usize, then: usize) -> bool {
        let now = self.schedule.begins[at];
        self.set(at, None);
        let fits = self.places.fits(&self.problem.operations[at], then);
        self.set(at, Some(if fits { then } else { now }));
        fits
    }

    /// Whether two that have no places fit where they begin; they take them then.
    fn fits_both(&mut self, at: usize, other: usize) -> bool {
        let (first, second) = (self.schedule.begins[at], self.schedule.begins[other]);
        if !self.places.fits(&self.problem.operations[at], first) {
            return false;
        }
        self.set(at, Some(first));
        if self.places.fits(&self.problem.operations[other], second) {
            self.set(other, Some(second));
            return true;
        }
        self.set(at, None);
        false
    }

    /// Whether dependences are kept when an operation begins then.
    fn is_kept(&self, at: usize, then: usize) -> bool {
        let (begins, ii) = (&self.schedule.begins, self.schedule.ii);
        let of = |other: usize| if other == at { then } else { begins[other] };
        let is_kept = |one: &Dependence| of(one.to) + one.distance * ii >= of(one.from) + one.latency;
        self.incoming[at].iter().chain(&self.outgoing[at]).all(is_kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::tests::{numbers, random};
    use crate::modulo::modulo;

    #[test]
    fn schedules_stay_right_however_operations_are_moved() {
        let mut below = numbers(3);
        let mut n_moved = 0;
        for case in 0..400 {
            let problem = random(&mut below);
            let made = modulo(&problem, 1, 10_000).expect("there is always a schedule");
            let mut moves = Moves::new(&problem, made.schedule);
            for _ in 0..20 {
                let at = below(problem.operations.len());
                let kept = moves.schedule().clone();
                let Some(before) = moves.shift(at, &mut below) else {
                    assert_eq!(moves.schedule(), &kept);
                    continue;
                };
                n_moved += 1;
                assert_eq!(problem.verify(moves.schedule()), Ok(()), "case {case}: {problem:?}");
                if below(2) == 0 {
                    moves.undo(&before);
                    assert_eq!(moves.schedule(), &kept);
                }
            }
        }
        assert!(n_moved > 1000, "{n_moved} moves");
    }
}
