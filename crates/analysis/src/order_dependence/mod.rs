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
//! comparisons, has no model in which every distinct expression is a free variable ([`guards`]), or if what they say of
//! variables cannot be so in that state ([`invariants`]). Example: with `a: action In:[x] ==> ... guard x > 3` and
//! `b: action In:[x], Ctl:[c] ==> ... guard x <= 3`, no token satisfies both, so nothing is reported whichever comes first.

mod guards;
mod invariants;

use crate::rates::{of_action, reachable_states};
use headrace_ir::{Action, ActionId, Actor, Endpoint, Network, StateId};
use headrace_source::Diagnostic;
use invariants::Invariants;

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
    let mut invariants = None;
    for state in reachable_states(actor) {
        let Some(entry) = actor.schedule.states.get(state.index()) else { continue };
        for (position, first) in entry.tests.iter().enumerate() {
            for second in &entry.tests[position + 1..] {
                let known = |finding: &Finding| finding.first == first.action && finding.second == second.action;
                if first.action == second.action || findings.iter().any(known) {
                    continue;
                }
                let Some(dependence) = between(actor, first.action, second.action) else { continue };
                let invariants = invariants.get_or_insert_with(|| Invariants::of(actor));
                if !invariants.exclusive(state.index(), first.action, second.action) {
                    findings.push(Finding { state, first: first.action, second: second.action, dependence });
                }
            }
        }
    }
    findings
}

/// How the choice between two actions depends on the order, if their guards can hold at once.
fn between(actor: &Actor, first: ActionId, second: ActionId) -> Option<Dependence> {
    let (a, b) = (actor.actions.get(first.index())?, actor.actions.get(second.index())?);
    let missing = may_lack(actor, a, b);
    let related = actor.priorities.contains(&(first, second));
    if missing.is_empty() && related {
        return None;
    }
    Some(if missing.is_empty() { Dependence::Overlap } else { Dependence::Time { ports: missing } })
}

/// Ports on which `first` can lack tokens while `second` has all that it needs.
fn may_lack(actor: &Actor, first: &Action, second: &Action) -> Vec<usize> {
    let (a, b) = (of_action(actor, first), of_action(actor, second));
    (0..actor.inputs.len()).filter(|&port| a.consumes[port] > b.consumes[port]).collect()
}

/// Input ports of an actor at which every instance gets tokens from itself only: when they come is its own doing.
fn own_ports(network: &Network, actor: usize) -> Vec<usize> {
    // For each port whether all connections to it, if there are any, come from the instances that they go to.
    let mut own: Vec<Option<bool>> = vec![None; network.actors[actor].inputs.len()];
    for connection in &network.connections {
        if let Endpoint::Instance(to, port) = connection.target
            && network.instances[to.index()].actor.index() == actor
        {
            let from_itself = matches!(connection.source, Endpoint::Instance(from, _) if from == to);
            own[port] = Some(from_itself && own[port] != Some(false));
        }
    }
    (0..own.len()).filter(|&port| own[port] == Some(true)).collect()
}

/// [`findings`] of an actor of a network, whose tokens from itself are there as soon as they are made.
pub fn findings_in(network: &Network, actor: usize) -> Vec<Finding> {
    let own = own_ports(network, actor);
    let actor = &network.actors[actor];
    let mut found = findings(actor);
    found.retain_mut(|finding| {
        if let Dependence::Time { ports } = &mut finding.dependence {
            ports.retain(|port| !own.contains(port));
            if ports.is_empty() {
                // Time decides nothing here; once the tokens are there, both can be enabled by them.
                finding.dependence = Dependence::Overlap;
                return !actor.priorities.contains(&(finding.first, finding.second));
            }
        }
        true
    });
    found
}

/// Actions that a report of another names; those behind them are counted.
const MAX_NAMED: usize = 3;

/// A warning for each action whose choice is time-dependent, a note for each that overlaps with others, and in it what
/// else can fire; for all actors of a network.
pub fn diagnostics(network: &Network) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for (at, actor) in network.actors.iter().enumerate() {
        let findings = findings_in(network, at);
        for (position, finding) in findings.iter().enumerate() {
            let alike = |other: &&Finding| other.first == finding.first && other.dependence == finding.dependence;
            if findings[..position].iter().any(|other| alike(&other)) {
                continue;
            }
            let seconds: Vec<&Action> =
                findings.iter().filter(alike).map(|finding| &actor.actions[finding.second.index()]).collect();
            let diagnostic = diagnostic(actor, finding, &seconds);
            // Instances of one class with other parameters say the same of the same places.
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
        }
    }
    diagnostics
}

fn diagnostic(actor: &Actor, finding: &Finding, seconds: &[&Action]) -> Diagnostic {
    let first = &actor.actions[finding.first.index()];
    let (mut diagnostic, other) = match &finding.dependence {
        Dependence::Time { ports } => {
            let ports: Vec<String> = ports.iter().map(|&port| format!("`{}`", actor.inputs[port].name)).collect();
            let diagnostic = Diagnostic::warning(
                "time-dependent",
                format!("what `{}` does may depend on when tokens come", actor.class),
            );
            let label = format!("goes first, once its tokens on {} are there", ports.join(", "));
            (diagnostic.at(first.span, label), "can fire while they have not come")
        }
        Dependence::Overlap => {
            let message =
                format!("two actions of `{}` can be enabled at once and no priority relates them", actor.class);
            let mut diagnostic = Diagnostic::warning("overlapping-actions", message).at(first.span, "is tried first");
            diagnostic.severity = headrace_source::Severity::Note;
            (diagnostic, "can be enabled by the same tokens")
        }
    };
    for second in seconds.iter().take(MAX_NAMED) {
        diagnostic = diagnostic.also(second.span, other);
    }
    if let Some(more) = seconds.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        diagnostic = diagnostic.note(format!("so can {more} other{}", if more == 1 { "" } else { "s" }));
    }
    if finding.dependence == Dependence::Overlap {
        diagnostic = diagnostic.note("the order of the text decides here; other tools may choose otherwise");
    }
    diagnostic
}
