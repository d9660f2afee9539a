//! Name mangling. What things of a network are called in a model, and how the values of tokens are told apart there.

use headrace_analysis::actor_automata::execute::Known;
use headrace_analysis::actor_automata::{Abstraction, Behaviour, Fifo};
use headrace_ir::{Int, Network};
use headrace_program::language::PROMELA;
use headrace_program::names::{Names, identifier};
use std::fmt::Write as _;

/// Code of a token of which nothing is known, where known ones are their own codes.
const ANY: usize = 255;

/// How tokens of a FIFO are told apart: a number for each value.
#[derive(Clone, Debug)]
pub struct Codes {
    values: Vec<Known>,
    /// A token is its own number.
    plain: bool,
}

impl Codes {
    /// None where there is nothing to be told apart.
    fn of(fifo: &Fifo) -> Option<Codes> {
        let values: Vec<Known> = fifo.values.as_ref()?.iter().cloned().collect();
        let small = |value: &Known| value.as_ref().is_none_or(|value| value.to_u64().is_some_and(|n| n < ANY as u64));
        let plain = values.iter().all(small);
        (values.len() > 1).then_some(Codes { values, plain })
    }

    /// The number of a token.
    pub fn of_token(&self, token: &Known) -> usize {
        match (self.plain, token) {
            (true, None) => ANY,
            (true, Some(value)) => value.to_u64().map_or(ANY, |value| value as usize),
            (false, token) => self.values.iter().position(|value| value == token).unwrap_or_default(),
        }
    }

    /// All numbers, in order.
    pub fn all(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.values.iter().map(|value| self.of_token(value)).collect();
        all.sort_unstable();
        all
    }

    /// What the numbers stand for, unless that is seen.
    pub fn legend(&self) -> Option<String> {
        if self.plain {
            return self.values.contains(&None).then(|| format!("{ANY}: any"));
        }
        let said = |value: &Known| value.as_ref().map_or("any".to_owned(), shown);
        Some(
            self.values
                .iter()
                .map(|value| format!("{}: {}", self.of_token(value), said(value)))
                .collect::<Vec<_>>()
                .join(", "),
        )
    }
}

/// A value; large ones in hexadecimal, where flags are seen.
pub fn shown(value: &Int) -> String {
    match value.to_u64() {
        Some(large) if large > 0xffff => format!("{large:#x}"),
        _ => value.to_string(),
    }
}

/// Names in a model.
#[derive(Clone, Debug)]
pub struct Named {
    /// Of each instance.
    pub instances: Vec<String>,
    /// Of each FIFO.
    pub fifos: Vec<String>,
    /// Of each input port of the network.
    pub inputs: Vec<String>,
    /// How the tokens of each FIFO are told apart.
    pub codes: Vec<Option<Codes>>,
}

impl Named {
    /// Names for a network.
    pub fn of(network: &Network, abstraction: &Abstraction) -> Named {
        let mut scope = Names::of(&PROMELA);
        let mut instance = |name: &str| scope.fresh(name);
        let instances = network.instances.iter().map(|it| instance(&it.name)).collect();
        let mut scope = Names::default();
        let fifo = |connection| {
            let (_, target) = network.describe(connection);
            scope.fresh(&identifier(&target.replace('.', "_")))
        };
        let fifos = network.connections.iter().map(fifo).collect();
        let mut scope = Names::default();
        let inputs = network.inputs.iter().map(|port| scope.fresh(&port.name)).collect();
        let codes = abstraction.fifos.iter().map(|fifo| fifo.as_ref().and_then(Codes::of)).collect();
        Named { instances, fifos, inputs, codes }
    }
}

/// Numbers as ranges of a variable: `at == 3`, `at >= 3 && at <= 7`. Empty where it can have no other.
pub fn one_of(variable: &str, numbers: &[usize], all: &[usize]) -> String {
    if numbers.len() == all.len() {
        return String::new();
    }
    if all.len() > 2 && numbers.len() + 1 == all.len() {
        return all
            .iter()
            .find(|n| !numbers.contains(n))
            .map_or(String::new(), |other| format!("{variable} != {other}"));
    }
    // Numbers that do not occur lie in any range; those that do are in order.
    let position = |n: &usize| all.binary_search(n).unwrap_or_default();
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for n in sorted {
        match runs.last_mut() {
            Some((_, last)) if position(&n) == position(last) + 1 => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let (least, most) = (all.iter().min(), all.iter().max());
    let run = |&(first, last): &(usize, usize)| {
        if Some(&first) == least && first < last {
            format!("{variable} <= {last}")
        } else if Some(&last) == most && first < last {
            format!("{variable} >= {first}")
        } else if first == last {
            format!("{variable} == {first}")
        } else if runs.len() == 1 {
            format!("{variable} >= {first} && {variable} <= {last}")
        } else {
            format!("({variable} >= {first} && {variable} <= {last})")
        }
    };
    let said: Vec<String> = runs.iter().map(run).collect();
    if said.len() == 1 { said.concat() } else { format!("({})", said.join(" || ")) }
}

/// A state in words.
pub fn state(network: &Network, at: usize, behaviour: &Behaviour, state: usize) -> String {
    let actor = network.actor_of(headrace_ir::InstanceId(at as u32));
    let state = &behaviour.states[state];
    let mut text = String::new();
    if state.initialised < actor.initializers.len() {
        text.push_str("initialising");
    }
    let fsm = &actor.schedule.states[state.fsm].name;
    let mut add = |piece: String| {
        let _ = write!(text, "{}{piece}", if text.is_empty() { "" } else { ", " });
    };
    if !fsm.is_empty() {
        add(fsm.clone());
    }
    for (name, value) in behaviour.names.iter().zip(&state.values) {
        if let Some(value) = value {
            add(format!("{name} = {}", shown(value)));
        }
    }
    for (condition, holds) in &state.assumed {
        add(format!("{}{condition}", if *holds { "" } else { "not " }));
    }
    text.replace("*/", "* /").replace("/*", "/ *")
}
