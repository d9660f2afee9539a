//! An automaton of fewer states.
//!
//! Typical messages also explore what is rare and long: a message in pieces that do not fit blocks takes a state for each
//! byte that waits. What is near the beginning is what every message comes through. The others are left to the run-time
//! scheduler, which goes on from any state.

use super::automaton::{Automaton, Different, LastPass, Step};
use std::collections::{HashMap, VecDeque};

impl Automaton {
    /// The states that take the fewest kernels from the first one, as many as there may be and as their kernels have so many
    /// effects; where another one would come it is left. `None` when nothing is repeated in them.
    pub fn nearest(mut self, n_states: usize, n_effects: usize) -> Option<Automaton> {
        let mut order = Vec::new();
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let mut open = VecDeque::from([0]);
        let mut effects = 0;
        let mut met = Different::default();
        while let Some(at) = open.pop_front() {
            if numbers.contains_key(&at) {
                continue;
            }
            let state = self.states.get(at)?;
            let mut with = met.clone();
            let own = with.meet(&state.step);
            if order.len() == n_states || effects + own > n_effects {
                continue;
            }
            met = with;
            effects += own;
            numbers.insert(at, order.len());
            order.push(at);
            state.step.kernels(&mut |_, target| open.push_back(target));
        }
        if !numbers.contains_key(&0) {
            return None;
        }
        if order.len() < self.states.len() {
            let mut all: Vec<Option<_>> = self.states.into_iter().map(Some).collect();
            self.states = order.iter().filter_map(|&at| all[at].take()).collect();
            for state in &mut self.states {
                renumber(&mut state.step, &numbers);
                for rounds in state.loops.iter_mut().filter_map(|counted| counted.rounds.as_mut()) {
                    rounds.last = rounds.last.take().and_then(|last| {
                        let target = *numbers.get(&last.target)?;
                        Some(LastPass { target, ..last })
                    });
                }
            }
        }
        self.states.iter().any(|state| !state.loops.is_empty()).then_some(self)
    }
}

/// Gives targets their new numbers, and leaves for those that have none.
fn renumber(step: &mut Step, numbers: &HashMap<usize, usize>) {
    match step {
        Step::Branch { then, otherwise, .. } => {
            renumber(then, numbers);
            renumber(otherwise, numbers);
        }
        Step::Wait(awaited) => awaited.iter_mut().for_each(|awaited| renumber(&mut awaited.step, numbers)),
        Step::Go { target, .. } => match numbers.get(target) {
            Some(&number) => *target = number,
            None => *step = Step::Leave,
        },
        Step::End | Step::Leave => {}
    }
}
