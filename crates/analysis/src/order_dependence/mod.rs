//! Actors whose result may depend on the order of firings.
//!
//! Two actions of a state, the one tried first called *first*, the other *second*:
//!
//! * *time-dependent*: second can fire because tokens of first have not come yet, and first could have fired had they
//!   been there. Which one fires depends on when tokens come, hence on schedules and FIFO sizes.
//! * *overlapping*: both can be enabled by the same tokens and no priority relates them. The language leaves the choice
//!   open; here it is always the one tried first, so the result is the same everywhere, but another tool may choose the
//!   other.
//!
//! The method is conservative and needs no solver. Second implies the tokens of first if it needs at least as many on
//! every port. Two guards exclude each other if their conjunction, as a disjunction of a few conjunctions of simple
//! comparisons, has no model in which every distinct expression is a free variable ([`guards`]). Example: with
//! `a: action In:[x] ==> ... guard x > 3` and `b: action In:[x], Ctl:[c] ==> ... guard x <= 3`, no token satisfies both, so
//! nothing is reported whichever comes first.

mod guards;

use crate::rates::{of_action, reachable_states};
use headrace_ir::{Action, ActionId, Actor, Network, StateId};
use headrace_source::Diagnostic;

/// How the choice depends on the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependence {
    /// On when tokens come at these input ports, on which the first action may lack them.
    Time {
        /// Positions of the ports.
        ports: Vec<usize>,
    },
    /// On the choice between actions that no priority relates.
    Overlap,
}

/// Two actions of a state between which the choice depends on the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A state in which both are eligible; the first such state.
    pub state: StateId,
    /// The action that is tried first.
    pub first: ActionId,
    /// The other.
    pub second: ActionId,
    /// How.
    pub dependence: Dependence,
}

/// All such pairs of an actor, each once.
pub fn findings(actor: &Actor) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for state in reachable_states(actor) {
        let Some(entry) = actor.schedule.states.get(state.index()) else { continue };
        for (position, first) in entry.tests.iter().enumerate() {
            for second in &entry.tests[position + 1..] {
                let known = |finding: &Finding| finding.first == first.action && finding.second == second.action;
                if first.action == second.action || findings.iter().any(known) {
                    continue;
                }
                if let Some(dependence) = between(actor, first.action, second.action) {
                    findings.push(Finding { state, first: first.action, second: second.action, dependence });
                }
            }
        }
    }
    findings
}

fn between(actor: &Actor, first: ActionId, second: ActionId) -> Option<Dependence> {
    let (a, b) = (actor.actions.get(first.index())?, actor.actions.get(second.index())?);
    let missing = may_lack(actor, a, b);
    let related = actor.priorities.contains(&(first, second));
    if (missing.is_empty() && related) || guards::exclusive(actor, a, b) {
        return None;
    }
    Some(if missing.is_empty() { Dependence::Overlap } else { Dependence::Time { ports: missing } })
}

/// Ports on which `first` can lack tokens while `second` has all that it needs.
fn may_lack(actor: &Actor, first: &Action, second: &Action) -> Vec<usize> {
    let (a, b) = (of_action(actor, first), of_action(actor, second));
    (0..actor.inputs.len()).filter(|&port| a.consumes[port] > b.consumes[port]).collect()
}

/// A warning for each time-dependent pair and a note for each overlapping one, for all actors of a network.
pub fn diagnostics(network: &Network) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for actor in &network.actors {
        for finding in findings(actor) {
            let (first, second) = (&actor.actions[finding.first.index()], &actor.actions[finding.second.index()]);
            let diagnostic = match &finding.dependence {
                Dependence::Time { ports } => {
                    let ports: Vec<String> =
                        ports.iter().map(|&port| format!("`{}`", actor.inputs[port].name)).collect();
                    Diagnostic::warning(
                        "time-dependent",
                        format!("what `{}` does may depend on when tokens come", actor.class),
                    )
                    .at(second.span, format!("can fire while `{}` still lacks tokens", first.name))
                    .also(first.span, format!("goes first, once its tokens on {} are there", ports.join(", ")))
                }
                Dependence::Overlap => {
                    let mut diagnostic = Diagnostic::warning(
                        "overlapping-actions",
                        format!("two actions of `{}` can be enabled at once and no priority relates them", actor.class),
                    )
                    .at(first.span, "is tried first")
                    .also(second.span, "can be enabled by the same tokens")
                    .note("the order of the text decides here; other tools may choose otherwise");
                    diagnostic.severity = headrace_source::Severity::Note;
                    diagnostic
                }
            };
            // Instances of one class with other parameters say the same of the same places.
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
        }
    }
    diagnostics
}
