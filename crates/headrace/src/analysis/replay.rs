//! Whether a network stops where its model does: what a model checker found, run on the interpreter.
//!
//! A file has a line for each step of the model, as projects of the target `promela` write it. The messages and tokens
//! that come in there come in here; strings, which have no values in the model, are arbitrary, several times. A network
//! whose result does not depend on the order of firings does the same in any order, so only others are run in several.

use crate::error::{Error, Result};
use crate::words::plural;
use headrace_engine::{Blocked, Engine, Outcome as Stop, Report};
use headrace_exchange::SilentHost;
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{Endpoint, InstanceId, Int, IntType, Network, Scalar};
use headrace_targets::promela::environment::Environment;
use headrace_targets::promela::order_matters;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Runs with other strings.
const RUNS: u64 = 8;

/// Runs where the order of firings matters.
const ORDERS: u64 = 200;

/// Firings after which a run is taken to go on for ever.
const MAX_FIRINGS: u64 = 1 << 22;

/// What a file says.
#[derive(Debug, Default)]
struct Found {
    /// Positions of the messages that come in, in order.
    messages: Vec<usize>,
    /// Tokens that come in at each input.
    given: BTreeMap<String, u64>,
    /// Inputs at which another token finds no room in the end.
    undelivered: Vec<String>,
    /// How often each action fires, by `instance.action`.
    firings: BTreeMap<String, u64>,
    /// Choices that depend on data.
    n_choices: u64,
}

fn parse(name: &str, text: &str) -> Result<Found> {
    let mut found = Found::default();
    for (at, line) in text.lines().enumerate() {
        let wrong = || Error::wrong(format!("{name}:{}: no step of a model: {}", at + 1, line.escape_debug()));
        let (step, rest) = line.split_once(' ').unwrap_or((line, ""));
        match step {
            "message" => found.messages.push(rest.parse().map_err(|_| wrong())?),
            "give" => {
                let (port, n) = rest.rsplit_once(' ').ok_or_else(wrong)?;
                let n: u64 = n.parse().map_err(|_| wrong())?;
                let all = found.given.entry(port.to_owned()).or_default();
                *all = all.saturating_add(n);
            }
            "undelivered" => found.undelivered.push(rest.to_owned()),
            "fire" => *found.firings.entry(rest.to_owned()).or_default() += 1,
            "find" => found.n_choices += 1,
            "initialise" | "end" | "rest" | "left" | "room" | "wait" | "cycle" | "" => {}
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

/// Tokens in storage form.
fn stored(ty: Scalar, value: &Int) -> Vec<u8> {
    let value = match ty {
        Scalar::Int(ty) => value.clone().wrap(ty),
        _ => value.clone().wrap(IntType::unsigned(ty.width().max(1))),
    };
    value.to_le_bytes(ty.storage_bytes())
}

/// The tokens of each input, with arbitrary ones where the model has none.
fn tokens(network: &Network, environment: &Environment, found: &Found, seed: u64) -> Result<Vec<Vec<u8>>> {
    // A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones.
    let mut state = seed;
    let mut arbitrary = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Int::from(state >> 33)
    };
    let mut streams = Vec::new();
    for (at, port) in network.inputs.iter().enumerate() {
        let given = found.given.get(&port.name).copied().unwrap_or_default();
        let mut stream = Vec::new();
        if environment.unlimited[at] {
            for _ in 0..given.min(MAX_FIRINGS) {
                stream.extend(stored(port.ty, &arbitrary()));
            }
        }
        for &message in &found.messages {
            let message = environment.messages.get(message).ok_or_else(|| {
                Error::wrong(format!("the model had a message {message}; this network is not given so many kinds"))
            })?;
            for token in &message.tokens[at] {
                stream.extend(stored(port.ty, &token.clone().unwrap_or_else(&mut arbitrary)));
            }
        }
        streams.push(stream);
    }
    Ok(streams)
}

/// Instances that wait for each other in a cycle: the largest set of which each lacks tokens for some action, and for
/// each such action those that another of the set would make.
fn cycle(network: &Network, report: &Report) -> Vec<usize> {
    let mut there: BTreeMap<&str, u64> = BTreeMap::new();
    for left in &report.leftovers {
        there.insert(&left.target, left.tokens);
    }
    // Of each action that lacks tokens, who would make those.
    let lacking: Vec<Vec<Vec<Option<usize>>>> = (0..network.instances.len())
        .map(|at| {
            let instance = &network.instances[at].name;
            let actor = network.actor_of(InstanceId(at as u32));
            let state = report.waits.iter().find(|wait| wait.instance == *instance).map(|wait| &wait.state);
            let state = actor.schedule.states.iter().find(|it| Some(&it.name) == state);
            let actions = state.map_or(&[][..], |state| &state.tests).iter();
            let of_action = |test: &headrace_ir::Test| -> Option<Vec<Option<usize>>> {
                let mut makers = Vec::new();
                for pattern in &actor.actions[test.action.index()].consumes {
                    let target = Endpoint::Instance(InstanceId(at as u32), pattern.port);
                    // Without a connection the action never fires.
                    let connection = network.connections.iter().find(|connection| connection.target == target)?;
                    let (_, name) = network.describe(connection);
                    if there.get(name.as_str()).copied().unwrap_or_default() < pattern.tokens() {
                        makers.push(match connection.source {
                            Endpoint::Instance(maker, _) => Some(maker.index()),
                            Endpoint::Boundary(_) => None,
                        });
                    }
                }
                (!makers.is_empty()).then_some(makers)
            };
            actions.filter_map(of_action).collect()
        })
        .collect();
    let mut waits: Vec<bool> = lacking.iter().map(|actions| !actions.is_empty()).collect();
    loop {
        let may_go_on =
            |at: usize| lacking[at].iter().any(|makers| !makers.iter().flatten().any(|&maker| waits[maker]));
        let Some(at) = (0..waits.len()).find(|&at| waits[at] && may_go_on(at)) else { break };
        waits[at] = false;
    }
    (0..waits.len()).filter(|&at| waits[at]).collect()
}

/// How a run ended.
struct Ended {
    /// Why that is a deadlock, in words.
    reasons: Vec<String>,
    report: Report,
    /// It fired what the model fired.
    as_model: bool,
}

/// A run with these tokens; none where it fails or goes on for ever.
fn run(network: &Arc<Network>, streams: &[Vec<u8>], found: &Found, fifo_tokens: u32, order: Order) -> Option<Ended> {
    let options = Options { fifo_tokens, order, step_limit: Some(MAX_FIRINGS), ..Options::default() };
    let mut engine = Interpreter::new(network.clone(), options).ok()?;
    let mut left: Vec<&[u8]> = streams.iter().map(Vec::as_slice).collect();
    let mut fired = 0;
    let mut out = Vec::new();
    loop {
        let mut moved = 0;
        for (at, (port, tokens)) in network.inputs.iter().zip(&mut left).enumerate() {
            let n = engine.write(at, tokens);
            *tokens = &tokens[n * port.ty.storage_bytes()..];
            moved += n;
        }
        if engine.run(Some(MAX_FIRINGS), &mut SilentHost) != Ok(Stop::Idle) {
            return None;
        }
        for output in 0..network.outputs.len() {
            out.clear();
            moved += engine.read(output, &mut out);
        }
        let now: u64 = engine.firings().iter().flatten().sum();
        if moved == 0 && now == fired {
            break;
        }
        fired = now;
    }
    let report = engine.report();
    let mut reasons = Vec::new();
    for (at, (port, tokens)) in network.inputs.iter().zip(&left).enumerate() {
        let one_more = || vec![0; port.ty.storage_bytes()];
        let refused =
            !tokens.is_empty() || found.undelivered.contains(&port.name) && engine.write(at, &one_more()) == 0;
        if refused {
            reasons.push(format!("a token that comes in at {} finds no room", port.name));
        }
    }
    for wait in report.waits.iter().filter(|wait| matches!(wait.blocked, Blocked::Room { .. })) {
        reasons.push(format!("{}.{} waits for room", wait.instance, wait.action));
    }
    let names: Vec<&str> = cycle(network, &report).into_iter().map(|at| network.instances[at].name.as_str()).collect();
    if !names.is_empty() {
        reasons.push(format!("in a cycle wait for tokens: {}", names.join(", ")));
    }
    let mut firings = BTreeMap::new();
    for (instance, counts) in network.instances.iter().zip(engine.firings()) {
        let actor = &network.actors[instance.actor.index()];
        for (action, n) in actor.actions.iter().zip(counts).filter(|(_, n)| *n > 0) {
            *firings.entry(format!("{}.{}", instance.name, action.name)).or_default() += n;
        }
    }
    Some(Ended { reasons, report, as_model: firings == found.firings })
}

/// What a run of a model came to on the network.
pub struct Replayed {
    found: Found,
    /// The run that stopped, most like the model.
    stopped: Option<Ended>,
}

/// Runs a network with what came in in a model, whose steps are a text of this name, and finds out whether it stops as the model
/// did.
///
/// # Errors
///
/// The text has no steps of a model, or of another network.
pub fn replay(
    network: &Arc<Network>,
    environment: &Environment,
    name: &str,
    text: &str,
    fifo_tokens: u32,
) -> Result<Replayed> {
    let found = parse(name, text)?;
    if found.firings.is_empty() && found.given.is_empty() && !text.lines().any(|line| line == "rest") {
        return Err(Error::wrong(format!("{name}: no steps of a model")));
    }
    let timed = order_matters(network);
    let mut stopped: Option<Ended> = None;
    for seed in 0..if timed { ORDERS } else { RUNS } {
        let order = if timed && seed > 0 { Order::Random(seed) } else { Order::RoundRobin };
        let streams = tokens(network, environment, &found, seed)?;
        let Some(ended) = run(network, &streams, &found, fifo_tokens, order) else { continue };
        let better = |best: &Ended| ended.as_model && !best.as_model;
        if !ended.reasons.is_empty() && stopped.as_ref().is_none_or(better) {
            let done = ended.as_model;
            stopped = Some(ended);
            if done {
                break;
            }
        }
    }
    Ok(Replayed { found, stopped })
}

impl Replayed {
    /// What waits for what where the network stops; none where it did not.
    pub fn report(&self) -> Option<&Report> {
        self.stopped.as_ref().map(|ended| &ended.report)
    }

    /// What was found, in words.
    pub fn text(&self) -> String {
        let Some(ended) = &self.stopped else { return self.possible() };
        let same = if ended.as_model { ", the same as in the model" } else { "" };
        let mut text = String::from("confirmed: the network stops with these messages\n");
        for reason in &ended.reasons {
            let _ = writeln!(text, "  {reason}");
        }
        let _ = writeln!(text, "firings{same}");
        for (action, n) in &self.found.firings {
            let _ = writeln!(text, "  {action}: {n}");
        }
        text
    }

    /// That the network went on where the model stops.
    fn possible(&self) -> String {
        let n: u64 = self.found.firings.values().sum();
        let why = match self.found.n_choices {
            0 => String::new(),
            n => format!("; the model made {} that depend on data", plural(n as usize, "choice")),
        };
        format!(
            "possible: the model stops after {}, the network did not with any of the data tried{why}\n",
            plural(n as usize, "firing")
        )
    }
}
