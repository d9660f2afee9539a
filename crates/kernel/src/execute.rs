//! The evaluator of control automata: what their states, decisions, transitions and counted loops mean.
//!
//! It is the definition that passes and printers are held to, and itself is held to the interpreter of networks.
//! Tokens of all input ports are there from the beginning; it goes on until a state needs more, nothing can happen any
//! more, or the automaton leaves.

use crate::automaton::{Automaton, CountedLoop, CountedPath, CountedPaths, Next, Step, Trips, Update, Window};
use crate::evaluate::{Run, Values, World, iterate};
use crate::graph::mask;
use crate::{Effect, Graph, Object};
use rustc_hash::FxHashMap;

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
    Executor::new(automaton).execute(from, world, bounds)
}

/// An automaton with what its executions need again and again: memory for values of a transition, and for those of each loop
/// in the order in which they are computed.
#[derive(Debug)]
pub struct Executor<'a> {
    automaton: &'a Automaton,
    run: Run,
    /// By the state and the position of the loop there.
    bodies: FxHashMap<(usize, usize), Values<'a>>,
}

impl<'a> Executor<'a> {
    /// One that has executed nothing yet.
    pub fn new(automaton: &'a Automaton) -> Executor<'a> {
        Executor { automaton, run: Run::default(), bodies: FxHashMap::default() }
    }

    /// Executes the automaton from a state on.
    pub fn execute(&mut self, from: usize, world: &mut World, bounds: Bounds) -> Execution {
        let automaton = self.automaton;
        let mut iterations = 0;
        let mut at = from;
        let all = world.objects.iter_mut().zip(&automaton.objects);
        for (elements, object) in all.filter(|(_, object)| !object.persistent) {
            elements.clear();
            elements.resize(object.length, 0);
        }
        for _ in 0..bounds.transitions {
            let Some(state) = automaton.states.get(at) else {
                return Execution { ended: Ended::Fails(at), iterations };
            };
            if bounds.with_loops {
                let mut target = None;
                for (number, counted) in state.loops.iter().enumerate() {
                    let (ran, next) = self.run_counted((at, number), counted, world);
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
            let taken = self.step(&state.step, world, &mut Vec::new());
            // Objects of firings are zero when a transition begins.
            for (object, element) in self.run.written() {
                if !automaton.objects[object.0 as usize].persistent {
                    world.objects[object.0 as usize][element] = 0;
                }
            }
            match taken {
                Taken::To(target) => at = target,
                Taken::Waits => return Execution { ended: Ended::Waits(at), iterations },
                Taken::Ends => return Execution { ended: Ended::Ends(at), iterations },
                Taken::Leaves => return Execution { ended: Ended::Leaves(at), iterations },
                Taken::Fails => return Execution { ended: Ended::Fails(at), iterations },
            }
        }
        Execution { ended: Ended::Stopped(at), iterations }
    }

    fn step<'s>(&mut self, of: &'s Step, world: &mut World, path: &mut Vec<&'s [Effect]>) -> Taken {
        let graph = &self.automaton.graph;
        let there = |world: &World, port: usize| {
            let consumed = world.consumed.get(port).copied().unwrap_or(0);
            world.inputs.get(port).map_or(0, Vec::len).saturating_sub(consumed) as u64
        };
        match of {
            Step::Branch { before, condition, then, otherwise } => {
                path.push(before);
                // What is done for a decision is done once, by the transition that it leads to.
                self.run.restart(world);
                let mut budget = MOST_EFFECTS;
                if !path.iter().all(|effects| self.run.list(graph, effects, world, &mut budget)) {
                    return Taken::Fails;
                }
                let holds = self.run.value(graph, world, *condition) == 1;
                self.run.undo(world);
                self.step(if holds { then } else { otherwise }, world, path)
            }
            Step::Wait(awaited) => match awaited.iter().find(|one| there(world, one.port) >= one.tokens) {
                Some(one) => self.step(&one.step, world, path),
                None => Taken::Waits,
            },
            Step::Go { transition, target } => {
                path.push(&transition.effects);
                self.run.restart(world);
                let mut budget = MOST_EFFECTS;
                if !path.iter().all(|effects| self.run.list(graph, effects, world, &mut budget)) {
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

    /// Runs a loop, which has this key, as often as tokens and counters allow: how many iterations that was, and the state
    /// after it, if that is another.
    fn run_counted(
        &mut self,
        key: (usize, usize),
        counted: &'a CountedLoop,
        world: &mut World,
    ) -> (u64, Option<usize>) {
        let mut most = u64::MAX;
        let ports = counted.body.consumes.iter().enumerate().take(counted.n_inputs());
        for (port, &(tokens, _)) in ports.filter(|(_, port)| port.0 > 0) {
            most = most.min((world.inputs[port].len() - world.consumed[port]) as u64 / tokens);
        }
        let most = times(&counted.body.graph, &counted.trips, world, most, &mut self.run);
        // What paths count goes on before the loop does.
        self.run.restart(world);
        let mut starts = |windows: &[Window]| -> Vec<(usize, usize)> {
            let of = |window: &Window| {
                let first = self.run.value(&counted.body.graph, world, window.start);
                (window.object.0 as usize, usize::try_from(first).unwrap_or(usize::MAX))
            };
            windows.iter().map(of).collect()
        };
        let (read, written) = (starts(&counted.read), starts(&counted.written));
        let (iterations, target) = match &counted.rounds {
            Some(all) => paths(all, world, &self.automaton.objects, most, &mut self.run),
            // One iteration is what the transitions do as well.
            None if most <= 1 => (0, None),
            None => (most, None),
        };
        if iterations > 0 {
            // Windows are ports while the loop runs.
            let (n_inputs, n_outputs) = (counted.n_inputs(), counted.n_outputs());
            for &(object, first) in &read {
                let all = &world.objects[object];
                let window = all.get(first..).unwrap_or_default().to_vec();
                world.inputs.push(window);
                world.consumed.push(0);
            }
            world.outputs.resize(n_outputs + written.len(), Vec::new());
            let new = || Values::new(&counted.body.graph, counted.body.roots());
            iterate(&counted.body, self.bodies.entry(key).or_insert_with(new), world, iterations, &|_, _| 0);
            world.inputs.truncate(n_inputs);
            world.consumed.truncate(n_inputs);
            for (elements, (object, first)) in world.outputs.split_off(n_outputs).into_iter().zip(written) {
                let all = world.objects[object].get_mut(first..).unwrap_or_default();
                all.iter_mut().zip(elements).for_each(|(element, value)| *element = value);
            }
        }
        (iterations, target)
    }
}

/// Where a step leads.
enum Taken {
    To(usize),
    Waits,
    Ends,
    Leaves,
    Fails,
}

/// How many times counters allow, and no more than `most`; `run` has the memory for their values.
fn times(graph: &Graph, trips: &[Trips], world: &World, most: u64, run: &mut Run) -> u64 {
    run.restart(world);
    trips.iter().fold(most, |most, trip| {
        let bound = match *trip {
            Trips::Unless(node, holds) if (run.value(graph, world, node) == 1) == holds => u64::MAX,
            Trips::Unless(..) => 0,
            Trips::Above { value, limit, step } => match run.value(graph, world, value).checked_sub(limit + 1) {
                Some(above) => (above / step) as u64 + 1,
                None => 0,
            },
            Trips::Below { value, limit, step } => match limit.checked_sub(run.value(graph, world, value) + 1) {
                Some(below) => (below / step) as u64 + 1,
                None => 0,
            },
        };
        most.min(bound)
    })
}

/// Takes a path as often as `most` iterations allow: how many iterations that was.
fn path(way: &CountedPath, graph: &Graph, world: &mut World, objects: &[Object], most: u64, run: &mut Run) -> u64 {
    let room = most / way.iterations;
    let n = times(graph, &way.trips, world, if way.once { room.min(1) } else { room }, run);
    if n == 0 {
        return 0;
    }
    run.restart(world);
    let next = |update: &Update| match update.next {
        Next::Value(value) => run.value(graph, world, value),
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
fn paths(
    rounds: &CountedPaths,
    world: &mut World,
    objects: &[Object],
    most: u64,
    run: &mut Run,
) -> (u64, Option<usize>) {
    let mut left = most;
    loop {
        let before = left;
        for way in &rounds.ways {
            left -= path(way, &rounds.graph, world, objects, left, run);
        }
        if left == before {
            let last =
                rounds.last.as_ref().filter(|last| path(&last.way, &rounds.graph, world, objects, left, run) == 1);
            return (most - left + u64::from(last.is_some()), last.map(|last| last.target));
        }
    }
}
