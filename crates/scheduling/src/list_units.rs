//! List scheduling for several kinds of units: in each cycle those operations begin whose operands are there and for which a
//! unit is free, the one first that the longest way waits for. Iterations of a loop do not overlap.

use crate::cyclic::{Problem, Reservations, Schedule};
use crate::modulo::depth_first;

/// The schedule whose interval is as long as an iteration: the next one begins when the last result is there. `latencies`
/// are the cycles from the beginning of each operation to its result.
pub fn one_after_the_other(problem: &Problem, latencies: &[usize]) -> Schedule {
    let mut places = Reservations::new(problem, longest(problem));
    in_turn(problem, latencies, By::Height(0), &mut places).unwrap_or_else(|| Schedule { ii: 0, begins: Vec::new() })
}

/// The shortest of several such schedules: of operations that wait about equally long, another comes first in each turn.
pub fn shortest_of(problem: &Problem, latencies: &[usize]) -> Schedule {
    let turns = (OPERATIONS_OF_TURNS / problem.operations.len().max(1)).clamp(1, MOST_TURNS);
    let first = one_after_the_other(problem, latencies);
    // What is not much longer than the first needs less room.
    let room = longest(problem).min(2 * first.ii + ROOM);
    let rest = (1..turns)
        .filter_map(|turn| in_turn(problem, latencies, By::Height(turn), &mut Reservations::new(problem, room)));
    rest.fold(first, |best, other| if other.ii < best.ii { other } else { best })
}

/// The same where each chain is followed to its end before the next begins: longer, and fewer values are held at once.
pub fn following_chains(problem: &Problem, latencies: &[usize]) -> Schedule {
    let mut places = Reservations::new(problem, longest(problem));
    let made = in_turn(problem, latencies, By::Chains, &mut places);
    made.unwrap_or_else(|| one_after_the_other(problem, latencies))
}

/// Which operation comes first: the one that the longest way waits for, with chance in turns but the first; or the next of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Height(usize),
    Chains,
}

/// Cycles beyond twice the first schedule in which others have room.
const ROOM: usize = 256;

/// Cycles that no schedule of one iteration is longer than.
fn longest(problem: &Problem) -> usize {
    let busy = problem.operations.iter().map(|one| one.busy.max(1) + one.also.len()).sum::<usize>();
    let waits = problem.dependences.iter().filter(|one| one.distance == 0).map(|one| one.latency).sum::<usize>();
    let after = problem.operations.iter().flat_map(|one| &one.also).map(|also| also.1).max().unwrap_or(0);
    (busy + waits + after).max(1)
}

/// Cycles at the end in which no operation begins, so that none goes on beyond.
const LAST: usize = 128;

/// Operations that are scheduled in all turns together, about, and turns at most.
const OPERATIONS_OF_TURNS: usize = 12_000;
const MOST_TURNS: usize = 64;

/// `None`: it would be longer than the cycles that there are places for.
fn in_turn(problem: &Problem, latencies: &[usize], by: By, places: &mut Reservations) -> Option<Schedule> {
    let n = problem.operations.len();
    let within = Problem {
        dependences: problem.dependences.iter().filter(|one| one.distance == 0).copied().collect(),
        ..problem.clone()
    };
    let mut heights = within.heights(1).unwrap_or_else(|| vec![0; n]);
    if by == By::Chains {
        heights = depth_first(&within).into_iter().map(|rank| -(rank as i64)).collect();
    }
    if let By::Height(turn @ 1..) = by {
        // Chance by multiplication (Knuth's constant), of a few cycles at most.
        let chance = |at: usize| ((at * 64 + turn) as u32).wrapping_mul(2_654_435_761) >> 20;
        let most = 4 << (turn % 4);
        heights.iter_mut().enumerate().for_each(|(at, height)| *height = 8 * *height + i64::from(chance(at) % most));
    }
    let (incoming, outgoing) = (within.incoming(), within.outgoing());
    let longest = places.interval();
    let is_bounded = matches!(by, By::Height(1..));
    let mut missing: Vec<usize> = incoming.iter().map(Vec::len).collect();
    let mut begins = vec![0; n];
    let mut earliest = vec![0; n];
    // Operations by the first cycle in which they may begin, then by height.
    let mut open: std::collections::BTreeSet<(usize, i64, usize)> =
        (0..n).filter(|&at| missing[at] == 0).map(|at| (0, -heights[at], at)).collect();
    while let Some((cycle, height, at)) = open.pop_first() {
        if is_bounded && cycle + LAST >= longest {
            return None;
        }
        if !places.fits(&problem.operations[at], cycle) {
            open.insert((cycle + 1, height, at));
            continue;
        }
        places.take(at, &problem.operations[at], cycle);
        begins[at] = cycle;
        for one in &outgoing[at] {
            earliest[one.to] = earliest[one.to].max(cycle + one.latency);
            missing[one.to] -= 1;
            if missing[one.to] == 0 {
                open.insert((earliest[one.to], -heights[one.to], one.to));
            }
        }
    }
    let end = |at: usize| begins[at] + latencies.get(at).copied().unwrap_or(0).max(problem.operations[at].busy).max(1);
    let mut ii = (0..n).map(end).max().unwrap_or(1).max(1);
    // What comes back from the iteration before may ask for more.
    for one in problem.dependences.iter().filter(|one| one.distance > 0) {
        let late = (begins[one.from] + one.latency).saturating_sub(begins[one.to]);
        ii = ii.max(late.div_ceil(one.distance));
    }
    let mut schedule = Schedule { ii, begins };
    // The last results come through ports when the next iteration has begun; where another is in their way, it begins later.
    while problem.verify(&schedule).is_err() && schedule.ii <= 2 * longest {
        schedule.ii += 1;
    }
    debug_assert!(is_bounded || problem.verify(&schedule).is_ok());
    problem.verify(&schedule).is_ok().then_some(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cyclic::tests::{numbers, random};

    #[test]
    fn schedules_of_random_problems_are_verified() {
        let mut below = numbers(2);
        for case in 0..1000 {
            let problem = random(&mut below);
            let latencies = vec![1; problem.operations.len()];
            let schedule = one_after_the_other(&problem, &latencies);
            assert_eq!(problem.verify(&schedule), Ok(()), "case {case}: {problem:?}");
            assert!(schedule.ii >= problem.res_mii());
            let shortest = shortest_of(&problem, &latencies);
            assert_eq!(problem.verify(&shortest), Ok(()), "case {case}: {problem:?}");
            assert!(shortest.ii <= schedule.ii);
            assert_eq!(problem.verify(&following_chains(&problem, &latencies)), Ok(()), "case {case}: {problem:?}");
        }
    }
}
