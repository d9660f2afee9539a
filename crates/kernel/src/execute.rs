//! The evaluator of control automata: what their states, decisions, transitions and counted loops mean.
//!
//! It is the definition that passes and printers are held to, and itself is held to the interpreter of networks.
//! Tokens of all input ports are there from the beginning; it goes on until a state needs more, nothing can happen any
//! more, or the automaton leaves.

use crate::automaton::{Automaton, CountedLoop, CountedPath, CountedPaths, Next, Step, Trips, Update};
use crate::evaluate::{Run, World, run_loop};
use crate::graph::mask;
use crate::{Effect, Graph, Object};

/// Effects that a decision may take, at most, and that a transition may.
const MOST_EFFECTS: u64 = 10_000_000;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// In a state that needs more tokens.
    Waits(usize),
    /// In a state after which nothing ever happens.
    Ends(usize),
    /// In a state from which the automaton has not been explored further.
    Leaves(usize),
    /// In a state whose effects come to no end, or fail a check.
    Fails(usize),
    /// In a state that came after as many transitions as were allowed.
    Stopped(usize),
}

/// How far an execution goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Whether loops run. Without them transitions alone are taken: loops are what cycles of these do.
    pub with_loops: bool,
    /// The most transitions.
    pub transitions: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { with_loops: true, transitions: u64::MAX }
    }
}

/// What an execution came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// How it ended.
    pub ended: Ended,
    /// Iterations that loops have run.
    pub iterations: u64,
}

/// The memory of an automaton before its first transition, with tokens at its input ports.
pub fn beginning(automaton: &Automaton, inputs: Vec<Vec<u128>>, n_outputs: usize) -> World {
    let mut objects = automaton.initial.clone();
    for (elements, object) in objects.iter_mut().zip(&automaton.objects) {
        elements.resize(object.length, 0);
    }
    World { consumed: vec![0; inputs.len()], inputs, outputs: vec![Vec::new(); n_outputs], objects }
}

/// Executes an automaton from a state on.
pub fn execute(automaton: &Automaton, from: usize, world: &mut World, bounds: Bounds) -> Execution {
    let mut iterations = 0;
    let mut at = from;
    for _ in 0..bounds.transitions {
        let Some(state) = automaton.states.get(at) else {
            return Execution { ended: Ended::Fails(at), iterations };
        };
        if bounds.with_loops {
            let mut target = None;
            for counted in &state.loops {
                let (ran, next) = run_counted(counted, world, &automaton.objects);
                iterations += ran;
                if next.is_some() {
                    target = next;
                    break;
                }
            }
            if let Some(target) = target {
                at = target;
                continue;
            }
        }
        for (elements, object) in
            world.objects.iter_mut().zip(&automaton.objects).filter(|(_, object)| !object.persistent)
        {
            elements.clear();
            elements.resize(object.length, 0);
        }
        match step(automaton, &state.step, world, &mut Vec::new()) {
            Taken::To(target) => at = target,
            Taken::Waits => return Execution { ended: Ended::Waits(at), iterations },
            Taken::Ends => return Execution { ended: Ended::Ends(at), iterations },
            Taken::Leaves => return Execution { ended: Ended::Leaves(at), iterations },
            Taken::Fails => return Execution { ended: Ended::Fails(at), iterations },
        }
    }
    Execution { ended: Ended::Stopped(at), iterations }
}

/// Where a step leads.
enum Taken {
    To(usize),
    Waits,
    Ends,
    Leaves,
    Fails,
}

fn step<'a>(automaton: &Automaton, of: &'a Step, world: &mut World, path: &mut Vec<&'a [Effect]>) -> Taken {
    let there = |world: &World, port: usize| {
        world.inputs.get(port).map_or(0, Vec::len).saturating_sub(world.consumed.get(port).copied().unwrap_or(0)) as u64
    };
    match of {
        Step::Branch { before, condition, then, otherwise } => {
            path.push(before);
            // What is done for a decision is done once, by the transition that it leads to.
            let mut run = Run::begin(world);
            let mut budget = MOST_EFFECTS;
            if !path.iter().all(|effects| run.list(&automaton.graph, effects, world, &mut budget)) {
                return Taken::Fails;
            }
            let holds = run.value(&automaton.graph, world, *condition) == 1;
            run.undo(world);
            step(automaton, if holds { then } else { otherwise }, world, path)
        }
        Step::Wait(awaited) => match awaited.iter().find(|one| there(world, one.port) >= one.tokens) {
            Some(one) => step(automaton, &one.step, world, path),
            None => Taken::Waits,
        },
        Step::Go { transition, target } => {
            path.push(&transition.effects);
            let mut run = Run::begin(world);
            let mut budget = MOST_EFFECTS;
            if !path.iter().all(|effects| run.list(&automaton.graph, effects, world, &mut budget)) {
                return Taken::Fails;
            }
            for (consumed, more) in world.consumed.iter_mut().zip(&transition.consumes) {
                *consumed += *more as usize;
            }
            Taken::To(*target)
        }
        Step::End => Taken::Ends,
        Step::Deoptimize => Taken::Leaves,
    }
}

/// Runs a loop as often as tokens and counters allow: how many iterations that was, and the state after it, if that is
/// another.
fn run_counted(counted: &CountedLoop, world: &mut World, objects: &[Object]) -> (u64, Option<usize>) {
    let mut most = u64::MAX;
    for (port, &(tokens, _)) in counted.body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        most = most.min((world.inputs[port].len() - world.consumed[port]) as u64 / tokens);
    }
    let (iterations, target) = match &counted.rounds {
        Some(all) => paths(all, world, objects, most),
        // One iteration is what the transitions do as well.
        None => match times(&counted.body.graph, &counted.trips, world, most) {
            0 | 1 => (0, None),
            more => (more, None),
        },
    };
    run_loop(&counted.body, world, iterations);
    (iterations, target)
}

/// How many times counters allow, and no more than `most`.
pub fn times(graph: &Graph, trips: &[Trips], world: &World, most: u64) -> u64 {
    let mut values = Run::begin(world);
    trips.iter().fold(most, |most, trip| {
        let bound = match *trip {
            Trips::Unless(node, holds) if (values.value(graph, world, node) == 1) == holds => u64::MAX,
            Trips::Unless(..) => 0,
            Trips::Above { value, limit, step } => match values.value(graph, world, value).checked_sub(limit + 1) {
                Some(above) => (above / step) as u64 + 1,
                None => 0,
            },
            Trips::Below { value, limit, step } => match limit.checked_sub(values.value(graph, world, value) + 1) {
                Some(below) => (below / step) as u64 + 1,
                None => 0,
            },
        };
        most.min(bound)
    })
}

/// Takes a path as often as `most` iterations allow: how many iterations that was.
fn path(way: &CountedPath, graph: &Graph, world: &mut World, objects: &[Object], most: u64) -> u64 {
    let room = most / way.iterations;
    let n = times(graph, &way.trips, world, if way.once { room.min(1) } else { room });
    if n == 0 {
        return 0;
    }
    let mut values = Run::begin(world);
    let next = |update: &Update| match update.next {
        Next::Value(value) => values.value(graph, world, value),
        Next::Step(step) => {
            let object = update.object.0 as usize;
            world.objects[object][update.index].wrapping_add(step * u128::from(n)) & mask(objects[object].width)
        }
    };
    let all: Vec<u128> = way.updates.iter().map(next).collect();
    for (update, value) in way.updates.iter().zip(all) {
        world.objects[update.object.0 as usize][update.index] = value;
    }
    n * way.iterations
}

/// Takes paths as often as `most` iterations allow: how many iterations that was, and the state where the last one
/// ends, if that is another.
fn paths(rounds: &CountedPaths, world: &mut World, objects: &[Object], most: u64) -> (u64, Option<usize>) {
    let mut left = most;
    loop {
        let before = left;
        for way in &rounds.ways {
            left -= path(way, &rounds.graph, world, objects, left);
        }
        if left == before {
            let last = rounds.last.as_ref().filter(|last| path(&last.way, &rounds.graph, world, objects, left) == 1);
            return (most - left + u64::from(last.is_some()), last.map(|last| last.target));
        }
    }
}
