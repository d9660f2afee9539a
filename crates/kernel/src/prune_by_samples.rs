//! Trace-guided pruning: an automaton of those states that whole samples come through.
//!
//! Typical messages also explore what is rare and long: a message in pieces that do not fit blocks takes a state for
//! each byte that waits. A message is only fast if all states that it comes through are there, so what is kept are
//! whole paths of samples: those first that need the fewest more states for each of their messages. Where there is room
//! left that no whole sample fits in, the first messages of samples come next. Samples whose messages come at once go
//! before those of messages in pieces, and these before those in chunks that are all there, however many states they need:
//! nobody expects an ordinary message to be slow.
//! The other states are left to the run-time scheduler, which goes on from any state.

use crate::automaton::{Arrival, Automaton, LastIteration, Path, Step};
use crate::different::Different;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

impl Automaton {
    /// The states of as many samples as there may be states and as their transitions have so many effects; where
    /// another one would come it is left. `None` when nothing is repeated in them.
    pub fn typical(mut self, n_states: usize, n_effects: usize) -> Option<Automaton> {
        let order: Vec<usize> = self.fitting(n_states, n_effects).into_iter().collect();
        let numbers: FxHashMap<usize, usize> = order.iter().enumerate().map(|(number, &at)| (at, number)).collect();
        if numbers.get(&0) != Some(&0) {
            return None;
        }
        let n_before = self.states.len();
        if order.len() < n_before {
            let mut all: Vec<Option<_>> = self.states.into_iter().map(Some).collect();
            self.states = order.iter().filter_map(|&at| all[at].take()).collect();
            for state in &mut self.states {
                renumber(&mut state.step, &numbers);
                for rounds in state.loops.iter_mut().filter_map(|counted| counted.rounds.as_mut()) {
                    rounds.last = rounds.last.take().and_then(|last| {
                        let target = *numbers.get(&last.target)?;
                        Some(LastIteration { target, ..last })
                    });
                }
            }
        }
        if order.len() < n_before && self.leaves() {
            self.open = Some("states that few samples come through are left out, for there are too many".to_owned());
        }
        let all_kept = |path: &Path| path.states.iter().all(|at| numbers.contains_key(at));
        self.paths.retain(all_kept);
        for path in &mut self.paths {
            path.states = path.states.iter().filter_map(|at| numbers.get(at).copied()).collect();
        }
        self.parts.retain(|part| part.states.iter().all(|at| numbers.contains_key(at)));
        for part in &mut self.parts {
            let number = |at: &usize| numbers.get(at).copied();
            part.states = part.states.iter().filter_map(number).collect();
            (part.from, part.to) = (number(&part.from).unwrap_or(0), number(&part.to).unwrap_or(0));
        }
        self.states.iter().any(|state| !state.loops.is_empty()).then_some(self)
    }

    /// The states of the samples that are kept.
    fn fitting(&self, n_states: usize, n_effects: usize) -> BTreeSet<usize> {
        let mut kept: BTreeSet<usize> = BTreeSet::new();
        let mut effects = 0;
        let mut met = Different::of(self);
        for (arrival, whole) in Arrival::ALL.into_iter().flat_map(|arrival| [(arrival, true), (arrival, false)]) {
            let is_of = |path: &&Path| path.n_parts > 0 && path.arrival == arrival && path.is_whole == whole;
            let parts = self.paths.iter().filter(is_of);
            // With how many more states each needs.
            let mut open: Vec<(&Path, usize)> = parts.map(|path| (path, 0)).collect();
            loop {
                // What does not fit any more never will.
                open.retain_mut(|(path, more)| {
                    *more = path.states.difference(&kept).count();
                    kept.len() + *more <= n_states
                });
                let fewest = |(a, more_a): &(&Path, usize), (b, more_b): &(&Path, usize)| {
                    (more_a * b.n_parts).cmp(&(more_b * a.n_parts))
                };
                let Some((next, _)) = open.iter().enumerate().min_by(|a, b| fewest(a.1, b.1)) else { break };
                let (path, _) = open.remove(next);
                let mut with = met.clone();
                let states = path.states.difference(&kept).filter_map(|&at| self.states.get(at));
                let own: usize = states.map(|state| with.meet(&state.step)).sum();
                if effects + own <= n_effects {
                    (met, effects) = (with, effects + own);
                    kept.extend(&path.states);
                }
            }
        }
        kept
    }
}

/// Gives targets their new numbers, and leaves for those that have none.
fn renumber(step: &mut Step, numbers: &FxHashMap<usize, usize>) {
    match step {
        Step::Branch { then, otherwise, .. } => {
            renumber(then, numbers);
            renumber(otherwise, numbers);
        }
        Step::Wait(awaited) => awaited.iter_mut().for_each(|awaited| renumber(&mut awaited.step, numbers)),
        Step::Go { target, .. } => match numbers.get(target) {
            Some(&number) => *target = number,
            None => *step = Step::Deoptimize,
        },
        Step::End | Step::Deoptimize => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::Part;
    use crate::automaton::{ControlState, CountedLoop};
    use crate::{Graph, Loop, Transition};

    fn go(target: usize) -> Step {
        Step::Go { transition: Transition::default(), target }
    }

    fn state(name: &str, step: Step) -> ControlState {
        let (fsm, fills, known) = (Vec::new(), Vec::new(), Vec::new());
        ControlState { step, loops: Vec::new(), description: name.to_owned(), fsm, fills, known }
    }

    #[test]
    fn whole_paths_are_kept() {
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
        let mut states = vec![state("a", both(3, 2)), state("b", go(0)), state("c", go(1)), state("d", go(4))];
        states.push(state("e", go(0)));
        states[0].loops.push(CountedLoop::of(body));
        // Two more states for one message, and two more for each of two.
        let path = |n_parts, states: &[usize]| Path {
            n_parts,
            is_whole: true,
            arrival: Arrival::InChunks,
            states: states.iter().copied().collect(),
        };
        let first = Path { is_whole: false, ..path(1, &[0, 2]) };
        let paths = vec![path(1, &[0, 3, 4]), path(2, &[0, 1, 2]), first];
        let part = |states: &[usize]| Part {
            from: states[0],
            to: states[states.len() - 1],
            states: states.iter().copied().collect(),
            is_piece: false,
        };
        let parts = vec![part(&[0, 3, 4]), part(&[2, 0])];
        let (objects, holds, initial) = (Vec::new(), Vec::new(), Vec::new());
        let automaton = Automaton { graph, objects, holds, initial, states, paths, parts, open: None };
        let names =
            |kept: &Automaton| -> Vec<String> { kept.states.iter().map(|state| state.description.clone()).collect() };
        // Messages that come at once go before, with however many states.
        let mut at_once = automaton.clone();
        at_once.paths[0].arrival = Arrival::AtOnce;
        assert_eq!(at_once.typical(4, 100).map(|kept| names(&kept).concat()).as_deref(), Some("acde"));
        let Some(mut kept) = automaton.typical(4, 100) else { panic!("nothing is kept") };
        assert_eq!(names(&kept), ["a", "b", "c"]);
        let Step::Branch { then, otherwise, .. } = &kept.states[0].step else { panic!("no decision") };
        assert_eq!((then.as_ref(), otherwise.as_ref()), (&Step::Deoptimize, &go(2)));
        let Some(fewest) = kept.clone().typical(2, 100) else { panic!("nothing is kept") };
        assert_eq!((&kept.parts, &fewest.parts), (&vec![part(&[2, 0])], &vec![part(&[1, 0])]));
        // Where no sample fits its first message does, again and again.
        let Some(fewer) = kept.clone().typical(2, 100) else { panic!("nothing is kept") };
        assert_eq!((names(&fewer), fewer.paths.len()), (vec!["a".to_owned(), "c".to_owned()], 1));
        kept.paths.pop();
        assert!(kept.typical(2, 100).is_none());
    }
}
