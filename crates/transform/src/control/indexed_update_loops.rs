//! Loops that update lists at computed indices. Transitions that lead back to their state and write lists at places
//! that they compute.
//!
//! They are no [`Loop`](crate::kernel::Loop): what an iteration reads from such a list nobody can say before the
//! iteration. How often they run can be said, where their decisions are about counters: then iterations need no
//! decision between them, and lists can be held in another form as long as they run. Example: while `left > 0` elements
//! of a list of 256 bytes change places, and `left` becomes `left - 1`: there are `left` iterations.
//!
//! Several iterations can be put together as one transition. An element at a known place, such as a counter, then goes
//! from iteration to iteration as a value: its sums with constants are those with the first one.

use super::automaton::{Automaton, Trips};
use super::compose_transitions::{Together, Way, deciding, ways};
use super::loops::Turn;
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, Transition};
use headrace_ir::Network;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A transition that leads back to its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated<'a> {
    /// One iteration.
    pub transition: &'a Transition,
    /// Bounds on the number of iterations; nodes are of the automaton's graph. Tokens and room are bounds too.
    pub trips: Vec<Trips>,
}

/// Those of each state that load or store at places that are not known, and of which counters say how often they run.
pub fn repeated<'a>(automaton: &'a Automaton, network: &Network) -> Vec<Vec<Repeated<'a>>> {
    // What is asked for on the way is of no use afterwards.
    let mut scratch = automaton.graph.clone();
    let n_nodes = automaton.graph.len();
    let states = automaton.states.iter().enumerate().map(|(number, state)| {
        let mut back = Vec::new();
        ways(&state.step, is_wanted, &mut Vec::new(), &mut back);
        back.retain(|way| way.target == number && stores_somewhere(&automaton.graph, way.transition));
        let counted = back.into_iter().filter_map(|way| {
            let trips = trips(network, &mut scratch, &way)?;
            let is_own = trips.iter().all(|trip| trip.node().index() < n_nodes);
            is_own.then_some(Repeated { transition: way.transition, trips })
        });
        counted.collect()
    });
    states.collect()
}

/// Whether a transition has no loops and choices, and cannot end the run.
fn is_wanted(transition: &Transition) -> bool {
    let is_wanted =
        |effect: &Effect| matches!(effect, Effect::Load { .. } | Effect::Store { .. } | Effect::Output { .. });
    transition.effects.iter().all(is_wanted)
}

fn stores_somewhere(graph: &Graph, transition: &Transition) -> bool {
    let is_somewhere = |effect: &Effect| match effect {
        Effect::Store { index, .. } => graph.constant(*index).is_none(),
        _ => false,
    };
    transition.effects.iter().any(is_somewhere)
}

fn trips(network: &Network, graph: &mut Graph, way: &Way) -> Option<Vec<Trips>> {
    let cycle = [way];
    let deciding = deciding(graph, &cycle);
    let together = Together::of(network, graph, &cycle, Some(&deciding), &mut 0)?;
    Some(Turn::of(graph, &together)?.trips)
}

/// So many iterations of a transition as one; `None` where it has loops, choices or lists of its own, or where an
/// iteration would read a list at a place that may not be there.
pub fn together(
    graph: &mut Graph,
    objects: &[Object],
    transition: &Transition,
    n_iterations: u64,
) -> Option<Transition> {
    let lives = |effect: &Effect| match effect {
        Effect::Load { object, .. } | Effect::Store { object, .. } => objects[object.0 as usize].persistent,
        _ => true,
    };
    if !is_wanted(transition) || !transition.effects.iter().all(lives) {
        return None;
    }
    let order = graph.reachable(transition.effects.iter().flat_map(Effect::uses));
    let mut all = Iterations { in_memory: in_memory(graph, transition, &order), ..Iterations::default() };
    for iteration in 0..n_iterations {
        all.add(graph, objects, transition, &order, iteration)?;
    }
    for (&(object, index), &value) in &all.values {
        let index = graph.number(index, 32);
        all.effects.push(Effect::Store { object, index, value });
    }
    let times = |tokens: &Vec<u64>| tokens.iter().map(|n| n * n_iterations).collect();
    Some(Transition {
        effects: all.effects,
        consumes: times(&transition.consumes),
        produces: times(&transition.produces),
    })
}

/// Objects of which an iteration stores elements that another effect may name otherwise: what they hold is in memory.
/// Those of the others that are stored are values.
fn in_memory(graph: &Graph, transition: &Transition, order: &[NodeId]) -> FxHashSet<ObjectId> {
    let is_known = |index: &NodeId| graph.constant(*index).is_some();
    let touched = transition.effects.iter().filter_map(|effect| match effect {
        Effect::Load { object, .. } => Some(*object),
        Effect::Store { object, index, .. } if !is_known(index) => Some(*object),
        _ => None,
    });
    let read = order.iter().filter_map(|&id| match graph.op(id) {
        Op::Entry { object, index } if !is_known(index) => Some(*object),
        _ => None,
    });
    let stored: FxHashSet<ObjectId> = transition.effects.iter().filter_map(stored).collect();
    touched.chain(read).filter(|object| stored.contains(object)).collect()
}

fn stored(effect: &Effect) -> Option<ObjectId> {
    match effect {
        Effect::Store { object, .. } => Some(*object),
        _ => None,
    }
}

/// Iterations put together so far.
#[derive(Default)]
struct Iterations {
    effects: Vec<Effect>,
    in_memory: FxHashSet<ObjectId>,
    /// What elements of other objects hold after them.
    values: BTreeMap<(ObjectId, u128), NodeId>,
    /// Loads in them.
    n_loads: u32,
}

impl Iterations {
    /// Adds one more; `order` is what the transition needs.
    fn add(
        &mut self,
        graph: &mut Graph,
        objects: &[Object],
        transition: &Transition,
        order: &[NodeId],
        iteration: u64,
    ) -> Option<()> {
        let mut loads: FxHashMap<u32, u32> = FxHashMap::default();
        for effect in &transition.effects {
            if let Effect::Load { id, .. } = effect {
                loads.insert(*id, self.n_loads);
                self.n_loads += 1;
            }
        }
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        // What depends on a load of this iteration: nothing at its beginning does.
        let mut late: FxHashSet<NodeId> = FxHashSet::default();
        for &id in order {
            let node = graph.node(id).clone();
            let operands: Vec<NodeId> = node.op.operands().iter().map(|operand| new[operand]).collect();
            if node.op.operands().iter().any(|operand| late.contains(operand)) {
                late.insert(id);
            }
            let made = match node.op {
                Op::Input { port, offset } => {
                    let before = transition.consumes.get(port as usize)? * iteration;
                    graph.input(port, offset + i64::try_from(before).ok()?, node.width)
                }
                Op::Loaded(load) => {
                    late.insert(id);
                    graph.add(Op::Loaded(*loads.get(&load)?), node.width)
                }
                Op::Entry { object, .. } if self.in_memory.contains(&object) && iteration > 0 => {
                    // The element as the iterations before leave it.
                    let length = objects[object.0 as usize].length as u128;
                    if late.contains(&id) || graph.bounds(operands[0]).1 >= length {
                        return None;
                    }
                    self.effects.push(Effect::Load { id: self.n_loads, object, index: operands[0] });
                    self.n_loads += 1;
                    graph.add(Op::Loaded(self.n_loads - 1), node.width)
                }
                Op::Entry { object, index } => {
                    let at = graph.constant(index);
                    let value = at.and_then(|at| self.values.get(&(object, at)).copied());
                    value.unwrap_or_else(|| graph.entry(object, operands[0], node.width))
                }
                ref op => graph.rebuild(op, node.width, &operands),
            };
            new.insert(id, made);
        }
        let mut values = Vec::new();
        for effect in &transition.effects {
            match effect {
                Effect::Load { id, object, index } => {
                    self.effects.push(Effect::Load { id: loads[id], object: *object, index: new[index] });
                }
                Effect::Store { object, index, value } if self.in_memory.contains(object) => {
                    self.effects.push(Effect::Store { object: *object, index: new[index], value: new[value] });
                }
                Effect::Store { object, index, value } => values.push(((*object, graph.constant(*index)?), new[value])),
                Effect::Output { port, offset, value } => {
                    let offset = offset + transition.produces.get(*port as usize)? * iteration;
                    self.effects.push(Effect::Output { port: *port, offset, value: new[value] });
                }
                _ => return None,
            }
        }
        self.values.extend(values);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::evaluate::{World, run};

    const LIST: ObjectId = ObjectId(0);
    const COUNTER: ObjectId = ObjectId(1);

    fn objects(persistent: bool) -> [Object; 2] {
        let object = |name: &str, width, length| Object { name: name.into(), width, length, persistent, residue: None };
        [object("list", 8, 16), object("counter", 8, 2)]
    }

    /// Two elements change places: one at a place that is counted, the other where it says. What both were goes out,
    /// with a token and the element that comes next. A second counter goes on by the first one.
    fn swap(graph: &mut Graph, reads_next: bool) -> Transition {
        let [zero, one] = [0, 1].map(|at| graph.number(at, 32));
        let place = |graph: &mut Graph, value| {
            let low = graph.extract(value, 0, 4);
            graph.zero_extend(low, 32)
        };
        let counter = graph.entry(COUNTER, zero, 8);
        let other = graph.entry(COUNTER, one, 8);
        let step = graph.number(1, 8);
        let next = graph.sum(counter, step);
        let (at, beyond) = (place(graph, next), graph.sum(next, step));
        let beyond = if reads_next { place(graph, beyond) } else { graph.zero_extend(beyond, 32) };
        let (here, following) = (graph.entry(LIST, at, 8), graph.entry(LIST, beyond, 8));
        let there = place(graph, here);
        let loaded = graph.add(Op::Loaded(7), 8);
        let token = graph.input(0, 0, 8);
        let mut out = graph.sum(here, loaded);
        out = graph.xor(out, token);
        out = graph.sum(out, following);
        let sum = graph.sum(other, counter);
        let store = |object, index, value| Effect::Store { object, index, value };
        let effects = vec![
            Effect::Load { id: 7, object: LIST, index: there },
            store(LIST, at, loaded),
            store(LIST, there, here),
            Effect::Output { port: 0, offset: 0, value: out },
            store(COUNTER, zero, next),
            store(COUNTER, one, sum),
        ];
        Transition { effects, consumes: vec![1], produces: vec![1] }
    }

    #[test]
    fn iterations_together_do_what_they_do_one_after_another() {
        let mut graph = Graph::new();
        let transition = swap(&mut graph, true);
        for n_iterations in 1..6_u64 {
            let all = together(&mut graph, &objects(true), &transition, n_iterations).unwrap();
            assert_eq!((&all.consumes, &all.produces), (&vec![n_iterations], &vec![n_iterations]));
            let mut one = World {
                inputs: vec![(10..20).collect()],
                consumed: vec![0],
                outputs: vec![Vec::new()],
                objects: vec![(0..16).map(|at| at * 11 % 16 + 32 * at).map(|x| x & 0xff).collect(), vec![250, 3]],
            };
            let mut other = one.clone();
            assert!(run(&graph, &all.effects, &mut other, &mut 1_000));
            for _ in 0..n_iterations {
                let before = one.outputs[0].len();
                let mut iteration = World { outputs: vec![Vec::new()], ..one.clone() };
                assert!(run(&graph, &transition.effects, &mut iteration, &mut 1_000));
                iteration.consumed[0] += 1;
                iteration.outputs[0].splice(0..0, one.outputs[0].iter().copied());
                assert_eq!(iteration.outputs[0].len(), before + 1);
                one = iteration;
            }
            assert_eq!((&one.outputs, &one.objects), (&other.outputs, &other.objects), "{n_iterations} iterations");
            // Counters are sums with the first value, and stored once.
            let stores = all.effects.iter().filter(|effect| stored(effect) == Some(COUNTER)).count();
            assert_eq!(stores, 2);
            let counted = graph.number(u128::from(n_iterations), 8);
            let zero = graph.number(0, 32);
            let first = graph.entry(COUNTER, zero, 8);
            let last = graph.sum(first, counted);
            assert!(all.effects.contains(&Effect::Store { object: COUNTER, index: zero, value: last }));
        }
    }

    #[test]
    fn what_may_not_be_there_is_not_read_earlier() {
        let mut graph = Graph::new();
        let transition = swap(&mut graph, false);
        assert!(together(&mut graph, &objects(true), &transition, 1).is_some());
        assert_eq!(together(&mut graph, &objects(true), &transition, 2), None);
        assert_eq!(together(&mut graph, &objects(false), &transition, 1), None);
    }
}
