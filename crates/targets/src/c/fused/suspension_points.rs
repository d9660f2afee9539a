//! Suspension and resumption points of runs. Where a run may stop between states, and so where one may begin.
//!
//! A run is limited to a number of transitions. It is enough to look at that once on every way round: what lies between
//! is one piece of code for compilers, which keep in registers what one state leaves for the next. Only states in which
//! a run can stop are told by a number in the context, and set it where they stop.

use headrace_transform::control::{Automaton, Step};
use headrace_transform::kernel::Effect;
use std::collections::BTreeSet;

/// What is known of the states of an automaton.
pub(super) struct Stops {
    /// Whether the number of transitions is looked at before the state.
    pub counts: Vec<bool>,
    /// Whether a run can begin there.
    pub begins: Vec<bool>,
    /// Whether something in the state may end the run wherever it stands.
    pub traps: Vec<bool>,
}

impl Stops {
    pub fn of(automaton: &Automaton) -> Self {
        let targets: Vec<Vec<usize>> = automaton
            .states
            .iter()
            .map(|state| {
                let mut targets = Vec::new();
                state.step.transitions(&mut |_, target| targets.push(target));
                let ends = state.loops.iter().filter_map(|counted| counted.rounds.as_ref()?.last.as_ref());
                targets.extend(ends.map(|last| last.target));
                targets
            })
            .collect();
        // Loops count their iterations.
        let mut counts: Vec<bool> = automaton.states.iter().map(|state| !state.loops.is_empty()).collect();
        cut_cycles(&targets, &mut counts);
        let mut begins = counts.clone();
        if let Some(first) = begins.first_mut() {
            *first = true;
        }
        for (number, state) in automaton.states.iter().enumerate() {
            begins[number] |= stops_inside(&state.step);
        }
        let traps = automaton.states.iter().map(|state| may_trap(&state.step)).collect();
        Stops { counts, begins, traps }
    }

    /// And where one function goes on after another.
    pub fn across(&mut self, automaton: &Automaton, functions: &[usize]) {
        for (number, state) in automaton.states.iter().enumerate() {
            let mut mark = |target: usize| self.begins[target] |= functions[target] != functions[number];
            state.step.transitions(&mut |_, target| mark(target));
            let ends = state.loops.iter().filter_map(|counted| counted.rounds.as_ref()?.last.as_ref());
            ends.for_each(|last| mark(last.target));
        }
    }

    /// A run begins, too, where whole messages go on that leave their `states`.
    pub fn after_whole(&mut self, automaton: &Automaton, states: &BTreeSet<usize>) {
        for &number in states {
            let state = &automaton.states[number];
            let mut mark = |target: usize| self.begins[target] |= !states.contains(&target);
            state.step.transitions(&mut |_, target| mark(target));
            let ends = state.loops.iter().filter_map(|counted| counted.rounds.as_ref()?.last.as_ref());
            ends.for_each(|last| mark(last.target));
            self.begins[number] |= leaves(&state.step);
        }
    }
}

/// Marks states until no way leads round past unmarked ones only.
fn cut_cycles(targets: &[Vec<usize>], marked: &mut [bool]) {
    let mut met = vec![false; targets.len()];
    let mut open = vec![false; targets.len()];
    for first in 0..targets.len() {
        // Each state on the way with how many of its targets have been followed.
        let mut way = vec![(first, 0)];
        while let Some((state, followed)) = way.last_mut() {
            let state = *state;
            if *followed == 0 {
                if met[state] || marked[state] {
                    way.pop();
                    continue;
                }
                met[state] = true;
                open[state] = true;
            }
            match targets[state].get(*followed) {
                Some(&target) => {
                    *followed += 1;
                    if open[target] {
                        marked[target] = true;
                    } else {
                        way.push((target, 0));
                    }
                }
                None => {
                    open[state] = false;
                    way.pop();
                }
            }
        }
    }
}

/// Whether a run can stop for want of input or room.
fn stops_inside(step: &Step) -> bool {
    match step {
        Step::Branch { then, otherwise, .. } => stops_inside(then) || stops_inside(otherwise),
        Step::Wait(_) | Step::End => true,
        Step::Go { transition, .. } => transition.produces.iter().any(|&n| n > 0),
        Step::Deoptimize => false,
    }
}

/// Whether the automaton ends somewhere in a state.
fn leaves(step: &Step) -> bool {
    match step {
        Step::Branch { then, otherwise, .. } => leaves(then) || leaves(otherwise),
        Step::Wait(awaited) => awaited.iter().any(|awaited| leaves(&awaited.step)),
        Step::Deoptimize => true,
        Step::Go { .. } | Step::End => false,
    }
}

/// Whether an error may end the run in a state.
pub(super) fn may_trap(step: &Step) -> bool {
    let checks = |effects: &[Effect]| {
        let mut found = false;
        Effect::walk(effects, &mut |effect| found |= matches!(effect, Effect::Check { .. }));
        found
    };
    match step {
        Step::Branch { before, then, otherwise, .. } => checks(before) || may_trap(then) || may_trap(otherwise),
        Step::Wait(awaited) => awaited.iter().any(|awaited| may_trap(&awaited.step)),
        Step::Go { transition, .. } => checks(&transition.effects),
        Step::End | Step::Deoptimize => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_circle_has_a_marked_state_and_ways_have_none() {
        // 0 → 1 → 2 → 3 → 1, and 2 → 4 → 4.
        let targets = [vec![1], vec![2], vec![3, 4], vec![1], vec![4]];
        let mut marked = vec![false; 5];
        cut_cycles(&targets, &mut marked);
        assert_eq!(marked, [false, true, false, false, true]);
        // One that is marked already is enough.
        let mut marked = vec![false, false, true, false, false];
        cut_cycles(&targets, &mut marked);
        assert_eq!(marked, [false, false, true, false, true]);
    }

    #[test]
    fn circles_behind_what_has_been_met_are_found() {
        // 0 → 2 → 1 → 2: met from 0 first.
        let targets = [vec![2, 1], vec![2], vec![1]];
        let mut marked = vec![false; 3];
        cut_cycles(&targets, &mut marked);
        assert_eq!(marked, [false, false, true]);
    }
}
