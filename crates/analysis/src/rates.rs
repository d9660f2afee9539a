//! Tokens per firing, and the model of computation that follows from them.
//!
//! *Static* (synchronous dataflow, Lee and Messerschmitt 1987): every firing moves the same numbers of tokens.
//! *Cyclo-static* (Bilsen et al. 1996): the numbers follow from the number of the firing: after a prefix they repeat.
//! *Dynamic*: they depend on values. What the FSM alone decides is found; what guards over counters decide is not.
//!
//! Example: `s0 (a) --> s1; s1 (b) --> s0` with `a: In:[x] ==>` and `b: ==> Out:[y, y]` is cyclo-static, with the cycle
//! (1 in, 0 out), (0 in, 2 out).

use headrace_ir::{Action, ActionId, Actor, StateId};

/// Tokens that one firing moves, for each port in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Consumed, for each input port.
    pub consumes: Vec<u64>,
    /// Produced, for each output port.
    pub produces: Vec<u64>,
}

/// The model of computation of an actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Every firing has these rates.
    Static(Rates),
    /// The rates of the first firings, then those that repeat. Without a cycle the actor ends.
    CycloStatic {
        /// Firings before the cycle.
        prefix: Vec<Rates>,
        /// Firings that repeat.
        cycle: Vec<Rates>,
    },
    /// The rates depend on values: in this state two actions with different rates, or with different next states, can
    /// be chosen.
    Dynamic {
        /// The state.
        state: StateId,
        /// The two actions.
        actions: (ActionId, ActionId),
    },
}

/// The rates of an action.
pub fn of_action(actor: &Actor, action: &Action) -> Rates {
    Rates {
        consumes: (0..actor.inputs.len()).map(|port| action.consumed(port)).collect(),
        produces: (0..actor.outputs.len()).map(|port| action.produced(port)).collect(),
    }
}

/// States that can be reached from the initial one, in the order in which they are found.
pub fn reachable_states(actor: &Actor) -> Vec<StateId> {
    let mut found = vec![actor.schedule.initial];
    let mut at = 0;
    while let Some(state) = found.get(at).copied() {
        at += 1;
        let tests = actor.schedule.states.get(state.index()).map_or(&[][..], |state| &state.tests);
        for test in tests {
            if !found.contains(&test.next) {
                found.push(test.next);
            }
        }
    }
    found
}

/// The class of an actor, by its FSM and the rates of its actions.
pub fn classify(actor: &Actor) -> Class {
    let mut path: Vec<StateId> = Vec::new();
    let mut firings: Vec<Rates> = Vec::new();
    let all_tests = || {
        let states = reachable_states(actor).into_iter();
        states.flat_map(|state| actor.schedule.states.get(state.index()).map_or(&[][..], |state| &state.tests))
    };
    let all_rates: Vec<Rates> = all_tests()
        .filter_map(|test| actor.actions.get(test.action.index()))
        .map(|action| of_action(actor, action))
        .collect();
    let never_ends = || {
        reachable_states(actor)
            .iter()
            .all(|state| actor.schedule.states.get(state.index()).is_some_and(|state| !state.tests.is_empty()))
    };
    match all_rates.split_first() {
        Some((first, rest)) if rest.iter().all(|rates| rates == first) && never_ends() => {
            return Class::Static(first.clone());
        }
        _ => {}
    }
    let mut state = actor.schedule.initial;
    loop {
        if let Some(start) = path.iter().position(|&seen| seen == state) {
            let cycle = firings.split_off(start);
            return Class::CycloStatic { prefix: firings, cycle };
        }
        let tests = actor.schedule.states.get(state.index()).map_or(&[][..], |state| &state.tests);
        let Some((first, rest)) = tests.split_first() else {
            return Class::CycloStatic { prefix: firings, cycle: Vec::new() };
        };
        let rates = |action: ActionId| actor.actions.get(action.index()).map(|action| of_action(actor, action));
        let expected = rates(first.action);
        if let Some(other) = rest.iter().find(|test| test.next != first.next || rates(test.action) != expected) {
            return Class::Dynamic { state, actions: (first.action, other.action) };
        }
        path.push(state);
        firings.extend(expected);
        state = first.next;
    }
}
