//! XORs of three operands from XORs of two.
//!
//! `s = b ^ c; t = a ^ s` is `t = a ^ b ^ c` in one instruction, and `s` is not needed when every step that reads it takes it
//! up. Two steps exclude each other when one reads the other or when a third reads both, for that would make four operands.
//! Which ones go is thus a largest independent set in a sparse graph: the step with the fewest conflicts is taken first, ties
//! at random, the best of several tries.

use super::search::Draft;
use super::{XorNetwork, XorStep};
use crate::random::Random;

const N_TRIES: usize = 16;

/// The network of `draft` with XORs of three.
pub(super) fn take_up(draft: &Draft, random: &mut Random) -> XorNetwork {
    let n = draft.pairs.len();
    let step = |value: usize| value.checked_sub(draft.n_inputs);
    let mut fixed = vec![false; n];
    for output in draft.outputs.iter().flatten() {
        if let Some(i) = step(*output) {
            fixed[i] = true;
        }
    }
    let mut conflicts: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut conflict = |a: usize, b: usize| {
        if a != b && !conflicts[a].contains(&b) {
            conflicts[a].push(b);
            conflicts[b].push(a);
        }
    };
    for (i, &(a, b)) in draft.pairs.iter().enumerate() {
        for operand in [a, b] {
            if let Some(j) = step(operand) {
                conflict(i, j);
            }
        }
        if let (Some(a), Some(b)) = (step(a), step(b)) {
            conflict(a, b);
        }
    }
    let mut best: Vec<bool> = vec![false; n];
    for _ in 0..N_TRIES {
        let taken = independent_set(&conflicts, &fixed, random);
        if taken.iter().filter(|t| **t).count() > best.iter().filter(|t| **t).count() {
            best = taken;
        }
    }
    let mut place: Vec<usize> = (0..draft.n_inputs).collect();
    let mut steps = Vec::new();
    for (i, &(a, b)) in draft.pairs.iter().enumerate() {
        // What was taken up keeps a place in the numbering that nothing reads.
        let new = draft.n_inputs + steps.len();
        place.push(new);
        if best[i] {
            continue;
        }
        let up = |value: usize| step(value).filter(|&j| best[j]).map(|j| draft.pairs[j]);
        steps.push(match (up(a), up(b)) {
            (Some((c, d)), _) => XorStep::Three(place[b], place[c], place[d]),
            (None, Some((c, d))) => XorStep::Three(place[a], place[c], place[d]),
            (None, None) => XorStep::Two(place[a], place[b]),
        });
    }
    let outputs = draft.outputs.iter().map(|output| output.map(|v| place[v])).collect();
    XorNetwork { n_inputs: draft.n_inputs, steps, outputs }
}

fn independent_set(conflicts: &[Vec<usize>], fixed: &[bool], random: &mut Random) -> Vec<bool> {
    let n = conflicts.len();
    let mut free: Vec<bool> = fixed.iter().map(|f| !f).collect();
    let mut degree: Vec<usize> = (0..n).map(|i| conflicts[i].iter().filter(|&&j| free[j]).count()).collect();
    let mut taken = vec![false; n];
    loop {
        let Some(least) = (0..n).filter(|&i| free[i]).map(|i| degree[i]).min() else { return taken };
        let candidates: Vec<usize> = (0..n).filter(|&i| free[i] && degree[i] == least).collect();
        let chosen = candidates[random.below(candidates.len())];
        taken[chosen] = true;
        let mut out: Vec<usize> = conflicts[chosen].iter().copied().filter(|&j| free[j]).collect();
        out.push(chosen);
        for &i in &out {
            free[i] = false;
        }
        for i in out {
            for &j in &conflicts[i] {
                degree[j] = degree[j].saturating_sub(1);
            }
        }
    }
}
