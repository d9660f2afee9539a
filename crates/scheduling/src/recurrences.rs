//! A bound on the interval that recurrences and units set together: what lies on a circle waits for units, too.
//!
//! RecMII takes it that every operation of a circle begins when its operands are there, ResMII that units are never idle.
//! Where all that a unit has to do waits for one value and comes before another (the look-ups of a round, say), neither is
//! near. Here each operation of a circle begins no earlier than units have done what it waits for: the relaxation of Rim and
//! Jain (1994) for all that is in front of it, from the first operation to the last (Langevin and Cerny 1996). Of operations that a
//! unit does one after the other the last one, too, has its way to what waits: heads and tails, as in Carlier (1982).

use crate::cyclic::{Dependence, Problem};
use std::collections::BTreeSet;

/// Iterations that are looked at as one, and operations of which.
const UNROLLED: usize = 3;
const MOST_UNROLLED: usize = 1500;

/// Circles that are looked at, and operations on them squared, at most: a bound is not worth more time.
const MOST_CIRCLES: usize = 4;
const MOST_PAIRS: usize = 60_000_000;

/// Tails by which operations are left out.
const MOST_TAILS: usize = 12;

impl Problem {
    /// No interval is shorter: values come back so late when units are busy with what they are made of. At least 1, and not
    /// less than circles of one iteration ask for in [`Problem::rec_mii`].
    pub fn rec_mii_of_units(&self) -> usize {
        let least = self.bound_of_circles_and_units();
        // Where several values go on, what waits for one of them comes before all of the iteration after that.
        let n_ends =
            self.dependences.iter().filter(|one| one.distance > 0).map(|one| one.from).collect::<BTreeSet<_>>();
        match n_ends.len() > 1 && self.operations.len() <= MOST_UNROLLED {
            true => least.max(self.unrolled(UNROLLED).bound_of_circles_and_units().div_ceil(UNROLLED)),
            false => least,
        }
    }

    /// So many iterations as one.
    fn unrolled(&self, n: usize) -> Problem {
        let size = self.operations.len();
        let of = |at: usize| {
            self.dependences.iter().map(move |one| Dependence {
                from: at * size + one.from,
                to: (at + one.distance) % n * size + one.to,
                distance: (at + one.distance) / n,
                ..*one
            })
        };
        Problem {
            units: self.units.clone(),
            operations: (0..n).flat_map(|_| self.operations.iter().cloned()).collect(),
            dependences: (0..n).flat_map(of).collect(),
        }
    }

    fn bound_of_circles_and_units(&self) -> usize {
        let (incoming, outgoing) = (self.incoming(), self.outgoing());
        let order = self.topological();
        // Circles through what goes to the next iteration, the longest first.
        let mut ends: Vec<usize> =
            self.dependences.iter().filter(|one| one.distance == 1).map(|one| one.from).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut circles: Vec<(usize, Vec<usize>, usize)> = Vec::new();
        for end in ends {
            let begins = outgoing[end].iter().filter(|one| one.distance == 1).map(|one| one.to);
            let after = self.reached(begins.collect(), &outgoing, |one| one.to);
            let before = self.reached(vec![end], &incoming, |one| one.from);
            if !after[end] {
                continue;
            }
            let on: Vec<usize> = order.iter().copied().filter(|&at| after[at] && before[at]).collect();
            let length = self.heads(end, &on, &incoming, false);
            circles.push((length, on, end));
        }
        circles.sort_by_key(|(length, on, end)| (std::cmp::Reverse((*length, on.len())), *end));
        let mut left = MOST_PAIRS;
        let mut least = 1;
        for (length, on, end) in circles.into_iter().take(MOST_CIRCLES) {
            least = least.max(length);
            let pairs = on.len() * on.len();
            if pairs <= left {
                left -= pairs;
                least = least.max(self.heads(end, &on, &incoming, true));
            }
        }
        least
    }

    fn reached(&self, starts: Vec<usize>, lists: &[Vec<Dependence>], next: fn(&Dependence) -> usize) -> Vec<bool> {
        let mut is_reached = vec![false; self.operations.len()];
        let mut open = starts;
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut is_reached[at], true) {
                open.extend(lists[at].iter().filter(|one| one.distance == 0).map(next));
            }
        }
        is_reached
    }

    /// Cycles from the beginning of a circle until the result of its end is there; `on`: its operations in topological order.
    fn heads(&self, end: usize, on: &[usize], incoming: &[Vec<Dependence>], with_units: bool) -> usize {
        let mut place = vec![usize::MAX; self.operations.len()];
        on.iter().enumerate().for_each(|(n, &at)| place[at] = n);
        let n_words = on.len().div_ceil(64);
        let mut heads = vec![0_usize; on.len()];
        let mut ancestors: Vec<Vec<u64>> = Vec::with_capacity(if with_units { on.len() } else { 0 });
        let mut of_unit: Vec<Vec<(usize, i64, usize)>> = vec![Vec::new(); self.units.len()];
        // Cycles from the beginning of an operation on the circle to that of the one that is looked at, at least.
        let mut tails = vec![0_usize; on.len()];
        for (n, &at) in on.iter().enumerate() {
            let within = |one: &&Dependence| one.distance == 0 && place[one.from] != usize::MAX;
            let from: Vec<&Dependence> = incoming[at].iter().filter(within).collect();
            let mut head = from.iter().map(|one| heads[place[one.from]] + one.latency).max().unwrap_or(0);
            if with_units {
                let mut own = vec![0_u64; n_words];
                for one in &from {
                    let other = place[one.from];
                    own.iter_mut().zip(&ancestors[other]).for_each(|(own, its)| *own |= its);
                    own[other / 64] |= 1 << (other % 64);
                }
                // What waits for one operation alone has no other units in front of it than that has.
                if from.len() > 1 {
                    of_unit.iter_mut().for_each(Vec::clear);
                    from.iter().for_each(|one| tails[place[one.from]] = tails[place[one.from]].max(one.latency));
                    // Those behind have their tails before those in front of them need these.
                    for (word, &bits) in own.iter().enumerate().rev() {
                        let mut bits = bits;
                        while bits != 0 {
                            let other = 64 * word + 63 - bits.leading_zeros() as usize;
                            bits &= !(1 << (other % 64));
                            let tail = std::mem::take(&mut tails[other]);
                            let before = incoming[on[other]].iter().filter(within);
                            before.for_each(|one| {
                                tails[place[one.from]] = tails[place[one.from]].max(tail + one.latency)
                            });
                            let operation = &self.operations[on[other]];
                            if let Some(unit) = operation.unit {
                                let busy = operation.busy.max(1);
                                of_unit[unit].push((heads[other], tail as i64 - busy as i64, busy));
                            }
                        }
                    }
                    for (unit, all) in of_unit.iter_mut().enumerate() {
                        head = head.max(self.after(unit, all));
                    }
                }
                ancestors.push(own);
            }
            heads[n] = head;
        }
        let back = |one: &&Dependence| one.distance == 1 && one.from == end;
        let latency = self.dependences.iter().filter(back).map(|one| one.latency).min().unwrap_or(0);
        heads[place[end]] + latency
    }

    /// When what waits for all of these operations of a unit can begin at best. Of each the cycle before which it does not begin,
    /// the cycles from its end to the beginning of what waits (less than none where that does not wait for the unit to be free), and
    /// those that the unit is busy with it.
    fn after(&self, unit: usize, all: &mut [(usize, i64, usize)]) -> usize {
        all.sort_unstable();
        let count = self.units[unit].max(1);
        // Without those that may end late, units have to be done with the others before.
        let mut tails: Vec<i64> = all.iter().map(|one| one.1).collect();
        tails.sort_unstable();
        tails.dedup();
        let mut least = 0;
        for &tail in tails.iter().take(MOST_TAILS) {
            let mut busy = 0;
            for &(head, _, own) in all.iter().rev().filter(|one| one.1 >= tail) {
                busy += own;
                least = least.max((head + busy.div_ceil(count)) as i64 + tail);
            }
        }
        least.max(0) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::Operation;
    use crate::cyclic::tests::{numbers, random};
    use crate::modulo::modulo;

    /// Rounds of which each has so many operations between a value and the next.
    fn rounds(n_rounds: usize, width: usize, units: usize) -> Problem {
        let mut problem = Problem { units: vec![units, 1000], ..Problem::default() };
        let operation = |unit| Operation { unit: Some(unit), busy: 1, also: Vec::new() };
        let wait = |from, to, latency, distance| Dependence { from, to, latency, distance, is_value: true };
        problem.operations.push(operation(1));
        let mut last = 0;
        for _ in 0..n_rounds {
            let first = problem.operations.len();
            problem.operations.extend((0..width).map(|_| operation(0)));
            problem.operations.push(operation(1));
            let join = first + width;
            for at in first..join {
                problem.dependences.push(wait(last, at, 2, 0));
                problem.dependences.push(wait(at, join, 3, 0));
            }
            last = join;
        }
        problem.dependences.push(wait(last, 0, 2, 1));
        problem
    }

    #[test]
    fn rounds_that_wait_for_each_other_take_as_long_as_units_do_in_each() {
        let problem = rounds(4, 10, 1);
        assert_eq!((problem.res_mii(), problem.rec_mii()), (40, 22));
        // A round: 2 cycles to the first look-up, 9 more of them, and 3 to what takes the last.
        assert_eq!(problem.rec_mii_of_units(), 4 * (2 + 9 + 3) + 2);
    }

    #[test]
    fn values_that_go_on_side_by_side_wait_for_all_that_is_done_with_each() {
        // Two values, each of which is made of twenty operations on both.
        let mut problem = Problem { units: vec![1, 1000], ..Problem::default() };
        let wait = |from, to, latency, distance| Dependence { from, to, latency, distance, is_value: true };
        problem.operations =
            (0..42).map(|at| Operation { unit: Some(usize::from(at >= 40)), busy: 1, also: vec![] }).collect();
        for at in 0..40 {
            problem.dependences.extend([wait(40 + at % 2, at, 1, 1), wait(at, 40, 5, 0), wait(at, 41, 5, 0)]);
        }
        assert_eq!((problem.res_mii(), problem.rec_mii()), (40, 6));
        let bound = problem.rec_mii_of_units();
        // The half that waits for the first value, and all of two iterations: (20 + 40 + 40 + 3 * 6) / 3.
        assert!((38..=40).contains(&bound), "{bound}");
    }

    #[test]
    fn no_schedule_has_a_shorter_interval_than_the_bound() {
        let mut below = numbers(6);
        let mut n_more = 0;
        for case in 0..600 {
            let mut problem = random(&mut below);
            let n = problem.operations.len();
            for distance in 1..=2 {
                let (from, to) = (n - 1 - below(n.div_ceil(4)), below(n.div_ceil(4)));
                problem.dependences.push(Dependence { from, to, latency: below(4), distance, is_value: true });
            }
            let bound = problem.rec_mii_of_units();
            let made = modulo(&problem, 1, 10_000).expect("there is always a schedule");
            assert!(made.schedule.ii >= bound, "case {case}: {} and {bound}: {problem:?}", made.schedule.ii);
            n_more += usize::from(bound > made.rec_mii.max(made.res_mii));
        }
        assert!(n_more > 5, "the bound is more than others {n_more} times");
    }

    #[test]
    fn enough_units_leave_the_bound_of_circles() {
        let problem = rounds(4, 10, 10);
        assert_eq!(problem.rec_mii_of_units(), problem.rec_mii());
        assert_eq!(Problem { dependences: Vec::new(), ..problem }.rec_mii_of_units(), 1);
    }
}
