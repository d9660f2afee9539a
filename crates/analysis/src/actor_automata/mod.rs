//! Actors as finite automata over what decides: the states in which they can be and what they do in each.
//!
//! A state is a state of the FSM with the values of the variables that reach a choice
//! ([`crate::control`]); all others are unknown. Every FIFO whose tokens reach a choice has a set of values,
//! every other only a count. States and values grow from the initial ones to a fixed point in which whatever comes by a
//! FIFO, in any order, leads from a state of an actor to a state of it, so that the automata together do all that the
//! network does with these messages. Where a variable or a FIFO takes more values than are worth telling apart, it becomes
//! unknown, and choices that it decided become choices that may go either way.

pub mod environment;
pub mod execute;

mod conditions;

pub use conditions::Condition;

use self::environment::Environment;
use self::execute::{Assumptions, Execution, Holds, Known, known_elements};
use crate::control::{ControlSlice, Uses, analyse as slice};
use headrace_ir::{Action, Actor, Connection, Endpoint, Int, Network, Pattern, Scalar};
use headrace_source::Diagnostic;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Most states of an actor.
const MAX_STATES: usize = 30_000;

/// States after which it is looked whether one variable alone takes ever more values.
const LOOKED_AT: usize = 1000;

/// Most values of a variable for which states are told apart.
const MAX_OF_VARIABLE: usize = 500;

/// Most values that the tokens of a FIFO are told apart by.
const MAX_VALUES: usize = 200;

/// Most combinations of tokens that one action is tried with.
const MAX_COMBINATIONS: usize = 4096;

/// Most elements of all variables of an actor that are told apart.
const MAX_ELEMENTS: usize = 64;

/// Most tokens of a firing that may be either of two.
const MAX_EITHER: usize = 3;

/// A FIFO between two instances or behind an input; those before outputs always have room.
#[derive(Clone, Debug)]
pub struct Fifo {
    /// Tokens that it holds at most.
    pub capacity: u64,
    /// The values that its tokens have where these matter.
    pub values: Option<BTreeSet<Known>>,
}

/// A state of an actor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalState {
    /// Initialisers that are done.
    pub initialised: usize,
    /// Position of the state of the FSM.
    pub fsm: usize,
    /// The elements of the variables that are told apart.
    pub values: Vec<Known>,
    /// What has been found of conditions since the last firing.
    pub assumed: Assumptions,
}

/// What becomes of an action with certain tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<S> {
    /// Its guard does not hold.
    Refused,
    /// It fires in one of these ways.
    Fires(Vec<Fired<S>>),
    /// Its guard depends on a condition, which may hold or not.
    Open {
        /// The condition.
        condition: Condition,
        /// The state if it holds.
        yes: S,
        /// The state if it does not.
        no: S,
    },
}

/// A firing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired<S> {
    /// The state after it.
    pub next: S,
    /// The tokens of each output of the action.
    pub produced: Vec<Vec<Known>>,
}

/// Tokens that tell: FIFO, position from its front, value.
pub type Tokens = Vec<(usize, usize, Known)>;

/// An action that is tried in a state.
#[derive(Clone, Debug)]
pub struct Trial<S> {
    /// Its position among the actions, or among the initialisers in a state before these are done.
    pub action: usize,
    /// What becomes of it.
    pub cases: Vec<(Tokens, Outcome<S>)>,
}

/// The automaton of an instance.
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// Its states, in order; the FSM's follow each other.
    pub states: Vec<LocalState>,
    /// The first state.
    pub initial: usize,
    /// What is tried in each state, in order.
    pub trials: Vec<Vec<Trial<usize>>>,
    /// Names of the elements of the variables that are told apart.
    pub names: Vec<String>,
}

/// A network as automata.
#[derive(Clone, Debug)]
pub struct Abstraction {
    /// For each connection; none before outputs.
    pub fifos: Vec<Option<Fifo>>,
    /// For each instance.
    pub behaviours: Vec<Behaviour>,
    /// Variables and FIFOs whose values were to be told apart and are not, in words.
    pub unknown: Vec<String>,
}

/// The connections at the ports of an instance.
#[derive(Clone, Debug)]
pub struct Wires {
    /// For each input.
    pub inputs: Vec<Option<usize>>,
    /// For each output.
    pub outputs: Vec<Vec<usize>>,
}

/// The connections of each instance.
pub fn wires(network: &Network) -> Vec<Wires> {
    let mut wires: Vec<Wires> = network
        .instances
        .iter()
        .map(|instance| &network.actors[instance.actor.index()])
        .map(|actor| Wires { inputs: vec![None; actor.inputs.len()], outputs: vec![Vec::new(); actor.outputs.len()] })
        .collect();
    for (at, connection) in network.connections.iter().enumerate() {
        if let Endpoint::Instance(instance, port) = connection.source {
            wires[instance.index()].outputs[port].push(at);
        }
        if let Endpoint::Instance(instance, port) = connection.target {
            wires[instance.index()].inputs[port] = Some(at);
        }
    }
    wires
}

/// What is too much to be told apart.
enum TooMuch {
    /// The states of the instance.
    States(BTreeSet<LocalState>),
    /// The tokens of a FIFO.
    Values(usize),
}

/// What is known of a try, whatever the state of the FSM.
#[derive(Clone)]
enum Tried {
    Refused,
    Depends(Condition),
    Fired { values: Vec<Known>, produced: Vec<Vec<Known>> },
}

/// Tokens that an action can find: those that tell, and all by pattern.
type Combination = (Tokens, Vec<Vec<Known>>);

/// What a try depends on: initialiser or action, its position, variables, assumptions, tokens.
type Key = (bool, usize, Vec<Known>, Assumptions, Vec<Vec<Known>>);

struct Instance<'a> {
    actor: &'a Actor,
    wires: Wires,
    /// Positions of the variables that are told apart.
    tracked: Vec<usize>,
    /// The elements of constants; those of other variables unknown.
    fixed: Vec<Rc<Vec<Known>>>,
    memo: FxHashMap<Key, Tried>,
}

struct Explorer<'a> {
    network: &'a Network,
    slice: ControlSlice,
    fifos: Vec<Option<Fifo>>,
    instances: Vec<Instance<'a>>,
    unknown: Vec<String>,
}

/// Makes automata of the actors of a network.
///
/// # Errors
///
/// An actor with too many states even with nothing known of its variables.
pub fn analyse(network: &Network, environment: &Environment, fifo_tokens: u32) -> Result<Abstraction, Vec<Diagnostic>> {
    let slice = slice(network);
    let decides = |uses: &Uses| uses.reaches(Uses::CHOICE);
    let mut fifos = Vec::new();
    for (connection, uses) in network.connections.iter().zip(&slice.connections) {
        let is_inner = matches!(connection.target, Endpoint::Instance(..));
        let is_real = matches!(network.target_port(connection).ty, Scalar::Real(_) | Scalar::String);
        let mut values = (decides(uses) && !is_real).then(BTreeSet::new);
        if let (Some(values), Endpoint::Boundary(port)) = (&mut values, connection.source) {
            values.extend(environment.values(port).map(|value| carried(network, connection, value)));
        }
        let capacity = network.capacity(connection, fifo_tokens);
        fifos.push(is_inner.then_some(Fifo { capacity, values }));
    }
    let mut instances = Vec::new();
    for (instance, wires) in network.instances.iter().zip(wires(network)) {
        let actor = &network.actors[instance.actor.index()];
        let uses = &slice.instances[instances.len()].variables;
        let mut left = MAX_ELEMENTS;
        let tracked = (0..actor.variables.len())
            .filter(|&at| actor.variables[at].mutable && uses.get(at).is_some_and(decides))
            .filter(|&at| matches!(actor.variables[at].ty.element, Scalar::Int(_) | Scalar::Bool))
            .filter(|&at| {
                let n = actor.variables[at].ty.len();
                let fits = n <= left;
                left -= if fits { n } else { 0 };
                fits
            })
            .collect();
        let fixed = actor.variables.iter().map(|variable| {
            let n = variable.ty.len();
            Rc::new(if variable.mutable { vec![None; n] } else { known_elements(&variable.whole_initial(), n) })
        });
        let fixed = fixed.collect();
        instances.push(Instance { actor, wires, tracked, fixed, memo: FxHashMap::default() });
    }
    let mut explorer = Explorer { network, slice, fifos, instances, unknown: Vec::new() };
    let behaviours = explorer.fixed_point()?;
    let Explorer { fifos, unknown, .. } = explorer;
    Ok(Abstraction { fifos, behaviours, unknown })
}

/// A token as it is behind a connection.
pub fn carried(network: &Network, connection: &Connection, value: Known) -> Known {
    let types = connection.via.iter().copied().chain([network.target_port(connection).ty]);
    types.fold(value, |value, ty| match ty {
        Scalar::Int(ty) => value.map(|value| value.wrap(ty)),
        Scalar::Bool => value,
        Scalar::Real(_) | Scalar::String => None,
    })
}

impl Explorer<'_> {
    fn fixed_point(&mut self) -> Result<Vec<Behaviour>, Vec<Diagnostic>> {
        loop {
            let sizes = |fifos: &[Option<Fifo>]| -> Vec<Option<usize>> {
                fifos.iter().map(|fifo| fifo.as_ref()?.values.as_ref().map(BTreeSet::len)).collect()
            };
            let before = sizes(&self.fifos);
            let mut behaviours = Vec::new();
            for at in 0..self.instances.len() {
                loop {
                    match self.explore(at) {
                        Ok(behaviour) => {
                            behaviours.push(behaviour);
                            break;
                        }
                        Err(TooMuch::Values(fifo)) => self.count_only(fifo),
                        Err(TooMuch::States(states)) => self.give_up_variable(at, &states)?,
                    }
                }
            }
            let large = |fifo: &Option<Fifo>| {
                fifo.as_ref().and_then(|fifo| fifo.values.as_ref()).is_some_and(|values| values.len() > MAX_VALUES)
            };
            while let Some(fifo) = self.fifos.iter().position(large) {
                self.count_only(fifo);
            }
            if sizes(&self.fifos) == before {
                return Ok(behaviours);
            }
        }
    }

    fn count_only(&mut self, fifo: usize) {
        let name = self.network.describe(&self.network.connections[fifo]).1;
        self.unknown.push(format!("tokens of {name}"));
        if let Some(fifo) = &mut self.fifos[fifo] {
            fifo.values = None;
        }
    }

    /// The variable that takes most values is no longer told apart.
    fn give_up_variable(&mut self, at: usize, states: &BTreeSet<LocalState>) -> Result<(), Vec<Diagnostic>> {
        let instance = &mut self.instances[at];
        let mut from = 0;
        let mut worst = None;
        for (position, &variable) in instance.tracked.iter().enumerate() {
            let n = instance.actor.variables[variable].ty.len();
            let values: BTreeSet<&[Known]> =
                states.iter().filter_map(|state| state.values.get(from..from + n)).collect();
            from += n;
            if worst.is_none_or(|(most, _)| values.len() > most) {
                worst = Some((values.len(), position));
            }
        }
        let name = &self.network.instances[at].name;
        let Some((_, position)) = worst else {
            let problem = format!("`{name}` has more than {MAX_STATES} states, with nothing known of its variables");
            return Err(vec![
                Diagnostic::error("state-too-large", problem).at(self.network.instances[at].span, "too large a model"),
            ]);
        };
        let variable = instance.tracked.remove(position);
        instance.memo.clear();
        self.unknown.push(format!("{name}.{}", instance.actor.variables[variable].name));
        Ok(())
    }

    /// All states that the instance can be in with the tokens that there can be, and what it does in each. Values that it
    /// produces are added to those that its readers can get.
    fn explore(&mut self, at: usize) -> Result<Behaviour, TooMuch> {
        let instance = &self.instances[at];
        let elements = |variable: usize| {
            let variable = &instance.actor.variables[variable];
            known_elements(&variable.whole_initial(), variable.ty.len())
        };
        let initial = LocalState {
            initialised: 0,
            fsm: instance.actor.schedule.initial.index(),
            values: instance.tracked.iter().flat_map(|&variable| elements(variable)).collect(),
            assumed: Assumptions::new(),
        };
        let mut found: BTreeMap<LocalState, Vec<Trial<LocalState>>> = BTreeMap::new();
        let mut waiting = vec![initial.clone()];
        let mut seen = BTreeSet::from([initial.clone()]);
        while let Some(state) = waiting.pop() {
            let trials = self.trials(at, &state)?;
            for (_, outcome) in trials.iter().flat_map(|trial| &trial.cases) {
                let next: Vec<&LocalState> = match outcome {
                    Outcome::Refused => Vec::new(),
                    Outcome::Fires(ways) => ways.iter().map(|way| &way.next).collect(),
                    Outcome::Open { yes, no, .. } => vec![yes, no],
                };
                for next in next {
                    if seen.insert(next.clone()) {
                        waiting.push(next.clone());
                    }
                }
            }
            found.insert(state, trials);
            let runs_away = || {
                let n = found.keys().next().map_or(0, |state| state.values.len());
                let values = |at: usize| seen.iter().map(|state| &state.values[at]).collect::<BTreeSet<_>>().len();
                found.len().is_multiple_of(LOOKED_AT) && (0..n).any(|at| values(at) > MAX_OF_VARIABLE)
            };
            if seen.len() > MAX_STATES || runs_away() {
                return Err(TooMuch::States(seen));
            }
        }
        let numbers: FxHashMap<&LocalState, usize> = found.keys().zip(0..).collect();
        let trials =
            found.values().map(|trials| trials.iter().map(|trial| numbered(trial, &numbers)).collect()).collect();
        let initial = numbers[&initial];
        let names = self.instances[at].names();
        Ok(Behaviour { initial, trials, names, states: found.into_keys().collect() })
    }

    /// What is tried in a state, in order.
    fn trials(&mut self, at: usize, state: &LocalState) -> Result<Vec<Trial<LocalState>>, TooMuch> {
        let actor = self.instances[at].actor;
        if let Some(action) = actor.initializers.get(state.initialised) {
            let after = LocalState { initialised: state.initialised + 1, ..state.clone() };
            let mut trial = self.trial(at, state, &after, true, state.initialised, action)?;
            for (_, outcome) in &mut trial.cases {
                // One whose guard does not hold is passed over.
                if *outcome == Outcome::Refused {
                    let next = LocalState { assumed: Assumptions::new(), ..after.clone() };
                    *outcome = Outcome::Fires(vec![Fired { next, produced: Vec::new() }]);
                }
            }
            return Ok(vec![trial]);
        }
        let mut trials = Vec::new();
        for test in &actor.schedule.states[state.fsm].tests {
            let action = &actor.actions[test.action.index()];
            let connected = |pattern: &Pattern| self.instances[at].wires.inputs[pattern.port].is_some();
            if !action.consumes.iter().all(connected) {
                continue;
            }
            let after = LocalState { fsm: test.next.index(), ..state.clone() };
            trials.push(self.trial(at, state, &after, false, test.action.index(), action)?);
        }
        Ok(trials)
    }

    fn trial(
        &mut self,
        at: usize,
        state: &LocalState,
        after: &LocalState,
        initialises: bool,
        number: usize,
        action: &Action,
    ) -> Result<Trial<LocalState>, TooMuch> {
        let mut cases = Vec::new();
        for (told, tokens) in self.combinations(at, initialises, number, action)? {
            let tried = self.instances[at].tried(state, initialises, number, tokens);
            let outcome = match tried {
                Tried::Refused => Outcome::Refused,
                Tried::Depends(condition) => {
                    let with = |holds: bool| {
                        let mut state = state.clone();
                        state.assumed.insert(condition.clone(), holds);
                        state
                    };
                    Outcome::Open { yes: with(true), no: with(false), condition: condition.clone() }
                }
                Tried::Fired { values, produced } => {
                    let next = LocalState { values, assumed: Assumptions::new(), ..after.clone() };
                    let ways = self.ways(at, action, &produced);
                    for way in &ways {
                        self.emit(at, action, way);
                    }
                    Outcome::Fires(ways.into_iter().map(|produced| Fired { next: next.clone(), produced }).collect())
                }
            };
            cases.push((told, outcome));
        }
        Ok(Trial { action: number, cases })
    }

    /// All tokens that an action can find at its ports.
    fn combinations(
        &self,
        at: usize,
        initialises: bool,
        number: usize,
        action: &Action,
    ) -> Result<Vec<Combination>, TooMuch> {
        let slice = &self.slice.instances[at];
        let uses = if initialises { slice.initializers.get(number) } else { slice.actions.get(number) };
        let mut all: Vec<Combination> = vec![(Vec::new(), Vec::new())];
        for pattern in &action.consumes {
            let n = pattern.tokens() as usize;
            for (_, tokens) in &mut all {
                tokens.push(vec![None; n]);
            }
            let Some(fifo) = self.instances[at].wires.inputs[pattern.port] else { continue };
            let Some(values) = self.fifos[fifo].as_ref().and_then(|fifo| fifo.values.as_ref()) else { continue };
            for position in 0..n {
                let local = pattern.locals[position % pattern.locals.len()].index();
                let tells = uses.and_then(|uses| uses.get(local)).is_none_or(|uses| uses.reaches(Uses::CHOICE));
                if !tells {
                    continue;
                }
                if all.len().saturating_mul(values.len()) > MAX_COMBINATIONS {
                    return Err(TooMuch::Values(fifo));
                }
                let with = |(told, tokens): &Combination, value: &Known| {
                    let (mut told, mut tokens) = (told.clone(), tokens.clone());
                    told.push((fifo, position, value.clone()));
                    if let Some(token) = tokens.last_mut().and_then(|tokens| tokens.get_mut(position)) {
                        token.clone_from(value);
                    }
                    (told, tokens)
                };
                all = all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect();
            }
        }
        Ok(all)
    }

    /// A firing with each value of those unknown tokens that can only be true or false and reach a choice.
    fn ways(&self, at: usize, action: &Action, produced: &[Vec<Known>]) -> Vec<Vec<Vec<Known>>> {
        let instance = &self.instances[at];
        let matters = |fifo: usize| self.fifos[fifo].as_ref().is_some_and(|fifo| fifo.values.is_some());
        let mut ways = vec![produced.to_vec()];
        let mut left = MAX_EITHER;
        for (at, output) in action.produces.iter().enumerate() {
            let decides = instance.wires.outputs[output.port].iter().any(|&fifo| matters(fifo));
            if !decides || instance.actor.outputs[output.port].ty != Scalar::Bool {
                continue;
            }
            for position in 0..produced[at].len() {
                if produced[at][position].is_none() && left > 0 {
                    left -= 1;
                    let with = |way: &Vec<Vec<Known>>, value: u64| {
                        let mut way = way.clone();
                        way[at][position] = Some(Int::from(value));
                        way
                    };
                    ways = ways.iter().flat_map(|way| [with(way, 0), with(way, 1)]).collect();
                }
            }
        }
        ways
    }

    /// Adds what is produced to what readers can get.
    fn emit(&mut self, at: usize, action: &Action, produced: &[Vec<Known>]) {
        for (output, tokens) in action.produces.iter().zip(produced) {
            for &fifo in &self.instances[at].wires.outputs[output.port] {
                if let Some(values) = self.fifos[fifo].as_mut().and_then(|fifo| fifo.values.as_mut()) {
                    let connection = &self.network.connections[fifo];
                    values.extend(tokens.iter().map(|token| carried(self.network, connection, token.clone())));
                }
            }
        }
    }
}

fn numbered(trial: &Trial<LocalState>, numbers: &FxHashMap<&LocalState, usize>) -> Trial<usize> {
    let outcome = |outcome: &Outcome<LocalState>| match outcome {
        Outcome::Refused => Outcome::Refused,
        Outcome::Fires(ways) => {
            let way = |way: &Fired<LocalState>| Fired { next: numbers[&way.next], produced: way.produced.clone() };
            Outcome::Fires(ways.iter().map(way).collect())
        }
        Outcome::Open { condition, yes, no } => {
            Outcome::Open { condition: condition.clone(), yes: numbers[yes], no: numbers[no] }
        }
    };
    let cases = trial.cases.iter().map(|(tokens, result)| (tokens.clone(), outcome(result))).collect();
    Trial { action: trial.action, cases }
}

impl Instance<'_> {
    fn names(&self) -> Vec<String> {
        let names = self.tracked.iter().flat_map(|&variable| {
            let variable = &self.actor.variables[variable];
            let name = variable.name.clone();
            let is_list = variable.ty.is_list();
            (0..variable.ty.len()).map(move |at| if is_list { format!("{name}[{at}]") } else { name.clone() })
        });
        names.collect()
    }

    fn tried(&mut self, state: &LocalState, initialises: bool, number: usize, tokens: Vec<Vec<Known>>) -> Tried {
        let key = (initialises, number, state.values.clone(), state.assumed.clone(), tokens);
        if let Some(tried) = self.memo.get(&key) {
            return tried.clone();
        }
        let mut values = state.values.iter();
        let mut variables = self.fixed.clone();
        for &at in &self.tracked {
            let n = self.actor.variables[at].ty.len();
            variables[at] = Rc::new(values.by_ref().take(n).cloned().collect());
        }
        let action = if initialises { &self.actor.initializers[number] } else { &self.actor.actions[number] };
        let mut execution = Execution::new(self.actor, variables, &state.assumed);
        let tried = match execution.guard(action, &key.4) {
            Holds::No => Tried::Refused,
            Holds::Depends(condition) => Tried::Depends(condition),
            Holds::Yes => {
                let produced = execution.fire(action, &key.4);
                let after = execution.into_variables();
                let values = self.tracked.iter().flat_map(|&at| after[at].iter().cloned()).collect();
                Tried::Fired { values, produced }
            }
        };
        self.memo.insert(key, tried.clone());
        tried
    }
}
