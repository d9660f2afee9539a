//! Guarded commands. What an instance does as guarded rules: states that do the same with other numbers share one.
//!
//! Actions of a state are tried in order, and the first that is enabled waits for room: a rule holds where no rule of an
//! earlier action does. Counters show as states that follow each other: a rule that leads from each of them to the next
//! adds one.

use super::names::{Named, one_of};
use headrace_analysis::actor_automata::execute::Known;
use headrace_analysis::actor_automata::{Abstraction, Outcome, Tokens, Wires, carried};
use headrace_ir::{Action, InstanceId, Network};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    /// An action fires.
    Fires(usize),
    /// An initialiser fires or is passed over.
    Initialises(usize),
    /// A condition turns out to hold or not.
    Finds {
        /// The condition.
        condition: String,
        /// Whether it holds.
        holds: bool,
    },
}

/// The state after a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// So many states further.
    By(i64),
    /// This one.
    To(usize),
}

/// What a rule does in all its states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    /// Which action, or what else.
    pub does: Does,
    /// What else than the state it needs.
    pub when: Vec<String>,
    /// Tokens that it takes from FIFOs.
    pub takes: Vec<(usize, u64)>,
    /// Tokens that it puts into FIFOs, by their numbers where these tell.
    pub puts: Vec<(usize, Vec<usize>)>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The states in which it holds, in order.
    pub states: Vec<usize>,
    /// What it does.
    pub effect: Effect,
    /// The state after it.
    pub next: Next,
}

/// The tokens that an action needs, by FIFO.
pub fn needs(action: &Action, wires: &Wires) -> Vec<(usize, u64)> {
    let needed = |pattern: &headrace_ir::Pattern| Some((wires.inputs[pattern.port]?, pattern.tokens()));
    action.consumes.iter().filter_map(needed).collect()
}

/// The rules of an instance.
pub fn of_instance(network: &Network, at: usize, abstraction: &Abstraction, wires: &Wires, named: &Named) -> Vec<Rule> {
    let actor = network.actor_of(InstanceId(at as u32));
    let behaviour = &abstraction.behaviours[at];
    let mut found: BTreeMap<Effect, Vec<(usize, usize)>> = BTreeMap::new();
    for (state, (trials, local)) in behaviour.trials.iter().zip(&behaviour.states).enumerate() {
        let initialises = local.initialised < actor.initializers.len();
        let mut earlier: Vec<String> = Vec::new();
        for trial in trials {
            let action = if initialises { &actor.initializers[trial.action] } else { &actor.actions[trial.action] };
            let takes = needs(action, wires);
            let there: Vec<String> = takes.iter().map(|(fifo, n)| format!("n_{} >= {n}", named.fifos[*fifo])).collect();
            let told: Vec<&Tokens> = trial.cases.iter().map(|(tokens, _)| tokens).collect();
            let with = |wanted: &dyn Fn(&Outcome<usize>) -> bool| {
                let chosen: Vec<bool> = trial.cases.iter().map(|(_, outcome)| wanted(outcome)).collect();
                let mut when = there.clone();
                when.extend(telling(&told, &chosen, named));
                when
            };
            let mut outcomes: Vec<&Outcome<usize>> = Vec::new();
            for (_, outcome) in &trial.cases {
                if *outcome != Outcome::Refused && !outcomes.contains(&outcome) {
                    outcomes.push(outcome);
                }
            }
            for outcome in &outcomes {
                let mut when = with(&|other| other == *outcome);
                when.extend(earlier.iter().cloned());
                let mut add = |effect: Effect, next: usize| found.entry(effect).or_default().push((state, next));
                match outcome {
                    Outcome::Refused => {}
                    Outcome::Fires(ways) => {
                        for way in ways {
                            let does =
                                if initialises { Does::Initialises(trial.action) } else { Does::Fires(trial.action) };
                            let puts = puts(network, action, wires, &way.produced, named, abstraction);
                            add(Effect { does, when: when.clone(), takes: takes.clone(), puts }, way.next);
                        }
                    }
                    Outcome::Open { condition, yes, no } => {
                        for (holds, next) in [(true, *yes), (false, *no)] {
                            let does = Does::Finds { condition: condition.name.clone(), holds };
                            add(Effect { does, when: when.clone(), takes: Vec::new(), puts: Vec::new() }, next);
                        }
                    }
                }
            }
            if !outcomes.is_empty() {
                let when = with(&|outcome| *outcome != Outcome::Refused);
                if when.is_empty() {
                    // Nothing comes after an action that is always enabled.
                    break;
                }
                earlier.push(format!("!({})", when.join(" && ")));
            }
        }
    }
    let mut rules: Vec<Rule> = found.into_iter().flat_map(|(effect, steps)| together(&effect, &steps)).collect();
    rules.sort_by(|a, b| (a.states[0], &a.effect).cmp(&(b.states[0], &b.effect)));
    rules
}

/// The steps with one effect as rules: those that go equally far, or to the same state.
fn together(effect: &Effect, steps: &[(usize, usize)]) -> Vec<Rule> {
    let far = |&(from, to): &(usize, usize)| to as i64 - from as i64;
    let (mut as_far, mut same): (FxHashMap<i64, usize>, FxHashMap<usize, usize>) =
        (FxHashMap::default(), FxHashMap::default());
    for step in steps {
        *as_far.entry(far(step)).or_default() += 1;
        *same.entry(step.1).or_default() += 1;
    }
    let mut rules: BTreeMap<Next, BTreeSet<usize>> = BTreeMap::new();
    for step in steps {
        let next = if as_far[&far(step)] > same[&step.1] { Next::By(far(step)) } else { Next::To(step.1) };
        rules.entry(next).or_default().insert(step.0);
    }
    let rule = |(next, states): (Next, BTreeSet<usize>)| Rule {
        states: states.into_iter().collect(),
        effect: effect.clone(),
        next,
    };
    rules.into_iter().map(rule).collect()
}

fn puts(
    network: &Network,
    action: &Action,
    wires: &Wires,
    produced: &[Vec<Known>],
    named: &Named,
    abstraction: &Abstraction,
) -> Vec<(usize, Vec<usize>)> {
    let mut puts = Vec::new();
    for (output, tokens) in action.produces.iter().zip(produced) {
        for &fifo in wires.outputs[output.port].iter().filter(|&&fifo| abstraction.fifos[fifo].is_some()) {
            let number = |token: &Known| match &named.codes[fifo] {
                Some(codes) => codes.of_token(&carried(network, &network.connections[fifo], token.clone())),
                None => 0,
            };
            puts.push((fifo, tokens.iter().map(number).collect()));
        }
    }
    puts
}

/// The condition that tokens are those of the chosen cases; nothing where all cases are chosen.
fn telling(cases: &[&Tokens], chosen: &[bool], named: &Named) -> Option<String> {
    if chosen.iter().all(|&chosen| chosen) {
        return None;
    }
    let n = cases.first().map_or(0, |tokens| tokens.len());
    let mut relevant: Vec<usize> = (0..n).collect();
    // A position does not tell if cases that differ there alone are chosen alike.
    for position in 0..n {
        let without: Vec<usize> = relevant.iter().copied().filter(|&other| other != position).collect();
        let mut alike: BTreeMap<Vec<&Known>, bool> = BTreeMap::new();
        let consistent = cases.iter().zip(chosen).all(|(tokens, &chosen)| {
            let key = without.iter().map(|&position| &tokens[position].2).collect();
            *alike.entry(key).or_insert(chosen) == chosen
        });
        if consistent {
            relevant = without;
        }
    }
    let mut wanted: BTreeSet<Vec<usize>> = BTreeSet::new();
    let number = |tokens: &Tokens, position: usize| {
        let (fifo, _, token) = &tokens[position];
        named.codes[*fifo].as_ref().map_or(0, |codes| codes.of_token(token))
    };
    for (tokens, _) in cases.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
        wanted.insert(relevant.iter().map(|&position| number(tokens, position)).collect());
    }
    let place = |position: usize| {
        let (fifo, at, _) = &cases[0][position];
        (format!("q_{}[{at}]", named.fifos[*fifo]), named.codes[*fifo].as_ref())
    };
    let said = |position: usize, numbers: &[usize]| {
        let (name, codes) = place(position);
        one_of(&name, numbers, &codes.map(super::names::Codes::all).unwrap_or_default())
    };
    // All but the last position as they are, and ranges of the last.
    let (&last, others) = relevant.split_last()?;
    let mut by_others: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for mut numbers in wanted {
        let of_last = numbers.pop().unwrap_or_default();
        by_others.entry(numbers).or_default().push(of_last);
    }
    let ways: Vec<String> = by_others
        .into_iter()
        .map(|(numbers, of_last)| {
            let mut all: Vec<String> =
                others.iter().zip(numbers).map(|(&position, number)| said(position, &[number])).collect();
            all.push(said(last, &of_last));
            all.retain(|condition| !condition.is_empty());
            all.join(" && ")
        })
        .collect();
    match ways.as_slice() {
        [] => None,
        [one] => Some(one.clone()).filter(|one| !one.is_empty()),
        several => Some(format!("(({}))", several.join(") || ("))),
    }
}
