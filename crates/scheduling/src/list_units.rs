//! List scheduling for several kinds of units: in each cycle those operations begin whose operands are there and for which a
//! unit is free, the one first that the longest way waits for. Iterations of a loop do not overlap.

use crate::cyclic::{Problem, Reservations, Schedule};

/// The schedule whose interval is as long as an iteration: the next one begins when the last result is there. `latencies`
/// are the cycles from the beginning of each operation to its result.
pub fn one_after_the_other(problem: &Problem, latencies: &[usize]) -> Schedule {
    in_turn(problem, latencies, 0)
}

/// The shortest of several such schedules: of operations that wait about equally long, another comes first in each turn.
pub fn shortest_of(problem: &Problem, latencies: &[usize]) -> Schedule {
    let turns = (OPERATIONS_OF_TURNS / problem.operations.len().max(1)).clamp(1, MOST_TURNS);
    let rest = (1..turns).map(|turn| in_turn(problem, latencies, turn));
    let first = one_after_the_other(problem, latencies);
    rest.fold(first, |best, other| if other.ii < best.ii { other } else { best })
}

/// Operations that are scheduled in all turns together, about, and turns at most.
const OPERATIONS_OF_TURNS: usize = 12_000;
const MOST_TURNS: usize = 64;

fn in_turn(problem: &Problem, latencies: &[usize], turn: usize) -> Schedule {
    let n = problem.operations.len();
    let within = Problem {
        dependences: problem.dependences.iter().filter(|one| one.distance == 0).copied().collect(),
        ..problem.clone()
    };
    let mut heights = within.heights(1).unwrap_or_else(|| vec![0; n]);
    if turn > 0 {
        // Chance by multiplication (Knuth's constant), of a few cycles at most.
        let chance = |at: usize| ((at * 64 + turn) as u32).wrapping_mul(2_654_435_761) >> 20;
        let most = 4 << (turn % 4);
        heights.iter_mut().enumerate().for_each(|(at, height)| *height = 8 * *height + i64::from(chance(at) % most));
    }
    let (incoming, outgoing) = (within.incoming(), within.outgoing());
    let longest: usize = problem.operations.iter().map(|one| one.busy.max(1) + one.also.len()).sum::<usize>()
        + within.dependences.iter().map(|one| one.latency).sum::<usize>();
    let mut places = Reservations::new(problem, longest.max(1));
    let mut missing: Vec<usize> = incoming.iter().map(Vec::len).collect();
    let mut begins = vec![0; n];
    let mut earliest = vec![0; n];
    // Operations by the first cycle in which they may begin, then by height.
    let mut open: std::collections::BTreeSet<(usize, i64, usize)> =
        (0..n).filter(|&at| missing[at] == 0).map(|at| (0, -heights[at], at)).collect();
    while let Some((cycle, height, at)) = open.pop_first() {
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
    debug_assert_eq!(problem.verify(&schedule), Ok(()));
    schedule
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
        }
    }
}
