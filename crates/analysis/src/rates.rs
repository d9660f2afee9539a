//! Tokens per firing, and the model of computation that follows from them.
//!
//! *Static* (synchronous dataflow, Lee and Messerschmitt 1987): every firing moves the same numbers of tokens.
//! *Cyclo-static* (Bilsen et al. 1996): the numbers follow from the number of the firing: after a prefix they repeat.
//! *Quasi-static* (parameterised dataflow, Bhattacharya and Bhattacharyya 2001): they depend on values, but on those of
//! state variables and of tokens that only say what is to be done; once these are known, so is what fires.
//! *Dynamic*: the same tokens choose and are computed with, or a native decides, or when tokens come does.
//!
//! Example: `s0 (a) --> s1; s1 (b) --> s0` with `a: In:[x] ==>` and `b: ==> Out:[y, y]` is cyclo-static, with the cycle
//! (1 in, 0 out), (0 in, 2 out).

use crate::flow::{ActorFlow, Decides, Dependence, NodeId, Origin, Scope};
use crate::order_dependence;
use headrace_ir::{Action, ActionId, Actor, Guard, Network, StateId, StmtKind, VariableId};
use std::collections::BTreeSet;

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
    /// The rates depend on values that do nothing else than decide.
    QuasiStatic {
        /// Where.
        choice: Choice,
        /// What decides.
        control: Control,
    },
    /// The rates depend on values, and nothing is known before they are there.
    Dynamic {
        /// Where.
        choice: Choice,
        /// Why.
        reason: Reason,
    },
}

/// Two actions with different rates, or with different next states, that can be chosen in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The state.
    pub state: StateId,
    /// The two actions.
    pub actions: (ActionId, ActionId),
}

/// What the choices of an actor depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// State variables.
    pub variables: Vec<VariableId>,
    /// Input ports whose tokens decide, at once or later by way of these variables.
    pub ports: Vec<usize>,
}

/// Why nothing is known before the tokens are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The tokens of this input choose the action that consumes them and are computed with.
    Data(usize),
    /// A guard calls a native.
    Native,
    /// When tokens come at these ports decides.
    Time(Vec<usize>),
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

/// The class of an actor, by its FSM, the rates of its actions and what its guards read.
pub fn classify(actor: &Actor) -> Class {
    classify_among(actor, &order_dependence::findings(actor))
}

/// The class of an actor of a network, at which tokens from itself are there as soon as they are made.
pub fn classify_in(network: &Network, actor: usize) -> Class {
    classify_among(&network.actors[actor], &order_dependence::findings_in(network, actor))
}

fn classify_among(actor: &Actor, findings: &[order_dependence::Finding]) -> Class {
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
            return by_values(actor, findings, Choice { state, actions: (first.action, other.action) });
        }
        path.push(state);
        firings.extend(expected);
        state = first.next;
    }
}

/// The class of an actor with this choice.
fn by_values(actor: &Actor, findings: &[order_dependence::Finding], choice: Choice) -> Class {
    let time = findings.iter().find_map(|finding| match &finding.dependence {
        order_dependence::Dependence::Time { ports } => Some(ports.clone()),
        order_dependence::Dependence::Overlap => None,
    });
    if let Some(ports) = time {
        return Class::Dynamic { choice, reason: Reason::Time(ports) };
    }
    if actor.actions.iter().any(|action| calls_native(&action.guard)) {
        return Class::Dynamic { choice, reason: Reason::Native };
    }
    let flow = ActorFlow::of(actor);
    let port_of = |node: NodeId| match flow.nodes[node as usize].origin {
        Origin::Input(port) => Some(port),
        _ => None,
    };
    // Tokens that a guard sees before they are consumed, and that come out again changed or unchanged.
    let at_guards = || flow.places.iter().filter(|place| place.decides == Decides::Choice);
    let peeked = backward(&flow, at_guards().flat_map(|place| place.nodes.iter().copied()), |origin| {
        matches!(origin, Origin::Local(Scope::Action(_), _) | Origin::Input(_))
    });
    for port in peeked.iter().filter_map(|&node| port_of(node)) {
        if is_computed_with(&flow, port) {
            return Class::Dynamic { choice, reason: Reason::Data(port) };
        }
    }
    let mut control = Control::default();
    for node in backward(&flow, at_guards().flat_map(|place| place.nodes.iter().copied()), |_| true) {
        match flow.nodes[node as usize].origin {
            Origin::Variable(variable) => control.variables.push(variable),
            Origin::Input(port) => control.ports.push(port),
            _ => {}
        }
    }
    Class::QuasiStatic { choice, control }
}

/// True when a guard calls a native, itself or by a function: calls that can are statements.
fn calls_native(guard: &Guard) -> bool {
    guard.before.iter().any(|statement| matches!(statement.kind, StmtKind::CallNative { .. } | StmtKind::Call { .. }))
}

/// The nodes that some are computed from or decided by, as far as they are wanted.
fn backward(flow: &ActorFlow, from: impl Iterator<Item = NodeId>, wanted: impl Fn(Origin) -> bool) -> BTreeSet<NodeId> {
    let mut reasons: Vec<Vec<NodeId>> = vec![Vec::new(); flow.nodes.len()];
    for edge in &flow.edges {
        reasons[edge.to as usize].push(edge.from);
    }
    reach(&reasons, from.collect(), &|node| wanted(flow.nodes[node as usize].origin))
}

/// True when tokens of an input are computed into tokens that come out.
fn is_computed_with(flow: &ActorFlow, port: usize) -> bool {
    let mut dependents: Vec<Vec<NodeId>> = vec![Vec::new(); flow.nodes.len()];
    for edge in flow.edges.iter().filter(|edge| edge.dependence == Dependence::Data) {
        // Whether an action fires is no part of what it computes.
        if !matches!(flow.nodes[edge.to as usize].origin, Origin::Choice(_)) {
            dependents[edge.from as usize].push(edge.to);
        }
    }
    let reached = reach(&dependents, vec![flow.input(port)], &|_| true);
    reached.iter().any(|&node| matches!(flow.nodes[node as usize].origin, Origin::Output(_)))
}

fn reach(links: &[Vec<NodeId>], mut waiting: Vec<NodeId>, wanted: &dyn Fn(NodeId) -> bool) -> BTreeSet<NodeId> {
    let mut found = BTreeSet::new();
    while let Some(node) = waiting.pop() {
        if wanted(node) && found.insert(node) {
            waiting.extend(&links[node as usize]);
        }
    }
    found
}
