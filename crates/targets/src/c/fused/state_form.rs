//! Structural keys of states, for tail merging: what a state does, apart from where it goes on.
//!
//! Two states with equal keys take the same decisions on the same values and do the same to the same objects and ports, in the
//! same order; their transitions, in that order, may lead elsewhere. It is gathered while a state is printed, of the forms
//! that are printed.

use super::Writer;
use super::outlined_transitions::Identity;
use headrace_transform::control::Awaited;
use headrace_transform::kernel::{Effect, NodeId, Transition};
use headrace_transform::passes::canonical_form::Canonical;
use rustc_hash::FxHashMap;

/// What a state does, one thing after the other.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StateForm(Vec<Part>);

#[derive(Debug, PartialEq, Eq, Hash)]
enum Part {
    /// The number of transitions is looked at.
    Counts,
    /// The context says which state it is, in case an error ends the run.
    Traps,
    /// Something is repeated in it by a function that only this state has.
    Repeats(usize),
    /// A decision.
    Decides(Identity),
    /// The other side of it.
    Otherwise,
    /// A port must have so many tokens for what follows.
    Awaits(usize, u64),
    /// Nothing that is awaited is there.
    Dry,
    /// A transition takes and gives so many tokens of each port.
    Moves(Vec<u64>, Vec<u64>),
    /// A part of what it does.
    Does(Identity),
    /// The automaton ends here, or is left.
    Ends { leaves: bool },
}

/// The port that a condition is written to in the form of a decision: networks have fewer.
const CONDITION: u32 = u32::MAX;

impl StateForm {
    /// What stands before the steps of a state: whether transitions are counted there, whether errors may end the run, and
    /// whether it, whose number is given, repeats something.
    pub(super) fn begun(counts: bool, traps: bool, repeats: Option<usize>) -> StateForm {
        let counts = counts.then_some(Part::Counts);
        let traps = traps.then_some(Part::Traps);
        StateForm(counts.into_iter().chain(traps).chain(repeats.map(Part::Repeats)).collect())
    }

    /// A decision after effects.
    pub(super) fn decides(&mut self, writer: &Writer, before: &[Effect], condition: NodeId) {
        let condition = Effect::Output { port: CONDITION, offset: 0, value: condition };
        let effects: Vec<Effect> = before.iter().cloned().chain([condition]).collect();
        self.0.push(Part::Decides(Canonical::of_block(writer.block(&effects)).with_locals_alike().into()));
    }

    /// The other side of the last decision whose first side has been said.
    pub(super) fn otherwise(&mut self) {
        self.0.push(Part::Otherwise);
    }

    /// Something is awaited.
    pub(super) fn awaits(&mut self, awaited: &Awaited) {
        self.0.push(Part::Awaits(awaited.port, awaited.tokens));
    }

    /// Nothing of that is there.
    pub(super) fn is_dry(&mut self) {
        self.0.push(Part::Dry);
    }

    /// A transition; what it does follows.
    pub(super) fn moves(&mut self, transition: &Transition) {
        self.0.push(Part::Moves(transition.consumes.clone(), transition.produces.clone()));
    }

    /// Something that it does.
    pub(super) fn does(&mut self, form: Canonical) {
        self.0.push(Part::Does(form.with_locals_alike().into()));
    }

    /// It ends, or is left for the run-time scheduler.
    pub(super) fn ends(&mut self, leaves: bool) {
        self.0.push(Part::Ends { leaves });
    }
}

/// States that do the same as others, in lists of those that do, and those that do not. States without a form are in none.
pub(super) fn alike(forms: Vec<Option<StateForm>>) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut known: FxHashMap<StateForm, usize> = FxHashMap::default();
    let mut all: Vec<Vec<usize>> = Vec::new();
    for (state, form) in forms.into_iter().enumerate() {
        let Some(form) = form else { continue };
        let at = *known.entry(form).or_insert(all.len());
        if at == all.len() {
            all.push(Vec::new());
        }
        all[at].push(state);
    }
    let (alike, alone): (Vec<_>, Vec<_>) = all.into_iter().partition(|states| states.len() > 1);
    let mut alone: Vec<usize> = alone.into_iter().flatten().collect();
    alone.sort_unstable();
    (alike, alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_that_do_the_same_stand_together() {
        let form = |counts| Some(StateForm::begun(counts, false, None));
        let forms = vec![form(true), None, form(false), form(true), Some(StateForm::begun(true, true, None))];
        assert_eq!(alike(forms), (vec![vec![0, 3]], vec![2, 4]));
    }

    #[test]
    fn what_repeats_something_is_like_no_other() {
        let repeats = |state| StateForm::begun(true, false, Some(state));
        assert_eq!(StateForm::begun(true, false, None), StateForm::begun(true, false, None));
        assert_ne!(repeats(1), repeats(2));
        assert_ne!(StateForm::begun(true, false, None), StateForm::begun(false, true, None));
    }
}
