//! An automaton of fewer states.
//!
//! Typical messages also explore what is rare and long: a message in pieces that do not fit blocks takes a state for each
//! byte that waits. What most of them come through is what matters. The other states are left to the run-time scheduler,
//! which goes on from any state.

use super::automaton::{Automaton, Different, LastPass, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

impl Automaton {
    /// The states that most samples come through, each of them led to by others that are kept, as many as there may be and
    /// as their kernels have so many effects; where another one would come it is left. `None` when nothing is repeated in
    /// them.
    pub fn typical(mut self, n_states: usize, n_effects: usize) -> Option<Automaton> {
        let mut order = Vec::new();
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let rank = |at: usize| Some((self.states.get(at)?.samples, Reverse(at)));
        let mut open: BinaryHeap<(usize, Reverse<usize>)> = rank(0).into_iter().collect();
        let mut effects = 0;
        let mut met = Different::default();
        while let Some((_, Reverse(at))) = open.pop() {
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
            state.step.kernels(&mut |_, target| open.extend(rank(target)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{ControlState, CountedLoop};
    use crate::kernel::{Graph, Kernel, Loop};

    fn go(target: usize) -> Step {
        Step::Go { kernel: Kernel::default(), target }
    }

    fn state(samples: usize, step: Step) -> ControlState {
        let (fsm, fills, known) = (Vec::new(), Vec::new(), Vec::new());
        ControlState { step, loops: Vec::new(), samples, description: samples.to_string(), fsm, fills, known }
    }

    #[test]
    fn what_most_samples_come_through_is_kept() {
        let mut graph = Graph::new();
        let condition = graph.input(0, 0, 1);
        let both = |then, otherwise| Step::Branch {
            before: Vec::new(),
            condition,
            then: Box::new(go(then)),
            otherwise: Box::new(go(otherwise)),
        };
        let body = Loop {
            graph: Graph::new(),
            objects: Vec::new(),
            consumes: Vec::new(),
            produces: Vec::new(),
            outputs: Vec::new(),
            carried: Vec::new(),
            counters: Vec::new(),
        };
        let mut states = vec![state(9, both(1, 2)), state(1, go(0)), state(8, go(3)), state(2, go(0))];
        states[0].loops.push(CountedLoop { body, trips: Vec::new(), kernels: 1, rounds: None });
        let automaton = Automaton { graph, objects: Vec::new(), holds: Vec::new(), initial: Vec::new(), states };
        let Some(kept) = automaton.typical(3, 100) else { panic!("nothing is kept") };
        let names: Vec<&str> = kept.states.iter().map(|state| state.description.as_str()).collect();
        assert_eq!(names, ["9", "8", "2"]);
        let Step::Branch { then, otherwise, .. } = &kept.states[0].step else { panic!("no decision") };
        assert_eq!((then.as_ref(), otherwise.as_ref()), (&Step::Leave, &go(1)));
    }
}
