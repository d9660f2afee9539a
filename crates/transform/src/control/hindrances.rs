//! Missed-optimisation remarks: states without loops. Why states of an automaton have no loops: what in a transition
//! that leads back to its state keeps it from being a [`Loop`](crate::kernel::Loop).
//!
//! A loop has straight-line transitions only, and its trip count follows from counters: a loop in an action that is not
//! unrolled, an access at an index that depends on data, or a branch with side effects stand in the way.

use super::automaton::Automaton;
use super::compose_transitions::ways;
use crate::kernel::{Effect, Transition};
use headrace_source::Span;

/// Something that keeps tokens from going through a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// The reason, as a sentence without a full stop.
    pub reason: String,
    /// Where, if that is one place.
    pub span: Option<Span>,
}

/// What keeps states that move blocks and come back to themselves from having loops, each reason once.
pub fn hindrances(automaton: &Automaton) -> Vec<Hindrance> {
    let mut found: Vec<Hindrance> = Vec::new();
    for (number, state) in automaton.states.iter().enumerate().filter(|(_, state)| state.loops.is_empty()) {
        let mut all = Vec::new();
        ways(&state.step, |_| true, &mut Vec::new(), &mut all);
        // Single tokens are sizes and the ends of strings.
        let moves = |transition: &Transition| transition.consumes.iter().chain(&transition.produces).any(|&n| n > 1);
        for way in all.iter().filter(|way| way.target == number && moves(way.transition)) {
            let hindrance = of_kernel(automaton, way.transition);
            if !found.contains(&hindrance) {
                found.push(hindrance);
            }
        }
    }
    found
}

fn of_kernel(automaton: &Automaton, transition: &Transition) -> Hindrance {
    let mut found = None;
    Effect::walk(&transition.effects, &mut |effect| {
        let hindrance = match effect {
            Effect::While { span, .. } => Hindrance {
                reason:
                    "a loop in an action is not unrolled: its trip count is not constant, or it would become too many \
                         operations"
                        .to_owned(),
                span: Some(*span),
            },
            Effect::Load { object, index, .. } | Effect::Store { object, index, .. }
                if automaton.graph.constant(*index).is_none() =>
            {
                let name = &automaton.object(*object).name;
                Hindrance {
                    reason: format!("elements of `{name}` are accessed at indices that depend on data"),
                    span: None,
                }
            }
            Effect::If { .. } => {
                Hindrance { reason: "a branch with side effects is not if-converted".to_owned(), span: None }
            }
            Effect::Check { span, .. } => {
                Hindrance { reason: "an index may be outside of its list".to_owned(), span: Some(*span) }
            }
            Effect::Load { .. } | Effect::Store { .. } | Effect::Output { .. } => return,
        };
        found.get_or_insert(hindrance);
    });
    found.unwrap_or_else(|| Hindrance {
        reason: "the trip count of a cycle of firings depends on data, not on counters".to_owned(),
        span: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{ControlState, Step};

    fn automaton(effects: Vec<Effect>) -> Automaton {
        let transition = Transition { effects, consumes: vec![16], produces: Vec::new() };
        let state = ControlState {
            step: Step::Go { transition, target: 0 },
            loops: Vec::new(),
            description: String::new(),
            fsm: Vec::new(),
            fills: Vec::new(),
            known: Vec::new(),
        };
        Automaton { states: vec![state], ..Automaton::default() }
    }

    #[test]
    fn a_loop_of_statements_is_told_with_its_place() {
        let mut automaton = automaton(Vec::new());
        let condition = automaton.graph.bit(true);
        let span = Span::default();
        let effect = Effect::While { before: Vec::new(), condition, body: Vec::new(), span };
        if let Step::Go { transition, .. } = &mut automaton.states[0].step {
            transition.effects.push(effect);
        }
        let found = hindrances(&automaton);
        assert!(matches!(found.as_slice(), [one] if one.span == Some(span) && one.reason.contains("unrolled")));
    }

    #[test]
    fn what_only_counts_is_not_told_of_single_tokens() {
        let mut automaton = automaton(Vec::new());
        assert_eq!(hindrances(&automaton).len(), 1);
        if let Step::Go { transition, .. } = &mut automaton.states[0].step {
            transition.consumes = vec![1];
        }
        assert!(hindrances(&automaton).is_empty());
    }
}
