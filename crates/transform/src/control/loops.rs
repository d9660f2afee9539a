//! Loop recognition: cycles of transitions become counted loops. Cycles of transitions as loops without decisions.
//!
//! A cycle is taken as often as its decisions come out the same way. Where they compare counters with what no iteration
//! changes, how often that is can be computed beforehand, and what is left is a [`Loop`]: no test inside. Example:
//! while `left >= 16` is decided, 16 tokens are read and written and `left` becomes `left - 16`, there are `(left - 15
//! - 1) / 16 + 1` iterations.
//!
//! The cycle's transitions are put together: what one stores the next one finds there. A cycle may be cut open in any
//! of its states; the best one is where least goes from iteration to iteration.

use super::automaton::{Automaton, CountedLoop, Trips};
use super::compose_transitions::{Element, Together, Way, deciding, is_straight, ways};
use super::counted_paths::merged;
use super::list_windows::Strided;
use super::schedule::token_width;
use crate::kernel::graph::mask;
use crate::kernel::{Carried, Carry, Counter, Effect, Graph, Loop, NodeId, ObjectId, Op, Transition};
use headrace_ir::Network;
use rustc_hash::{FxHashMap, FxHashSet};

/// States of a cycle that can be left in more than one way.
const DECISIONS: usize = 12;

/// Steps of a walk from a state.
const STEPS: usize = 2_000;

/// Nodes that are gone through on the way round cycles, over all of them.
const WORK: usize = 2_000_000;

/// Cycles that are looked at for each state.
const CYCLES: usize = 16;

/// Finds the loops of all states.
pub(crate) fn find(automaton: &mut Automaton, network: &Network) {
    let mut graph = automaton.graph.clone();
    let all: Vec<Vec<Way>> = automaton
        .states
        .iter()
        .map(|state| {
            let mut out = Vec::new();
            ways(&state.step, is_straight, &mut Vec::new(), &mut out);
            out
        })
        .collect();
    // Each cycle once, by its smallest state; those that move most first, as long as it is worth while.
    let (mut open, mut idle) = (Vec::new(), Vec::new());
    for first in 0..all.len() {
        let cycles = cycles(&automaton.graph, &all, first);
        open.extend(cycles.moving);
        idle.extend(cycles.idle);
    }
    open.sort_by_cached_key(|cycle| std::cmp::Reverse(tokens(&automaton.graph, cycle)));
    let moved = |cycle: &Cycle| tokens(&automaton.graph, cycle);
    let mut work = 0;
    // Of each cycle where it is cut open, and the loop that it becomes there: where that is best.
    let mut found: Vec<Vec<(usize, CountedLoop)>> = Vec::new();
    for cycle in &open {
        if work > WORK {
            break;
        }
        let mut cuts: Vec<(usize, CountedLoop)> = Vec::new();
        for (cut, (head, _)) in cycle.iter().enumerate() {
            let closed = closed(automaton, network, &mut graph, &turned(cycle, cut), Some(*head), &mut work);
            cuts.extend(closed.map(|counted| (cut, counted)));
        }
        if let Some(best) = cuts.iter().map(|(_, counted)| weight(counted)).min() {
            cuts.retain(|(_, counted)| weight(counted) == best);
        }
        found.push(cuts);
    }
    // Cycles that do the same with data become one loop.
    let mut swallowed: FxHashSet<usize> = FxHashSet::default();
    let mut loops: Vec<Vec<CountedLoop>> = vec![Vec::new(); all.len()];
    for (number, mut cuts) in found.into_iter().enumerate() {
        if cuts.is_empty() || swallowed.contains(&number) {
            continue;
        }
        let cycle = &open[number];
        let merged = cuts.iter().find_map(|&(cut, _)| {
            let head = cycle[cut].0;
            let through = |other: &Cycle, state: usize| other.iter().position(|(at, _)| *at == state);
            let others: Vec<(usize, Vec<&Way>)> = (0..open.len())
                .filter(|&other| other != number && moved(&open[other]) == moved(cycle))
                .filter_map(|other| through(&open[other], head).map(|cut| (other, turned(&open[other], cut))))
                .take(CYCLES)
                .collect();
            let inner = turned(cycle, cut);
            let (numbers, mut others): (Vec<usize>, Vec<Vec<&Way>>) = others.into_iter().unzip();
            // What moves no token and comes back, on the way round the cycle, is a longer cycle through its state.
            let longer = idle.iter().filter_map(|idle| {
                (0..inner.len()).find_map(|at| {
                    let round = turned(idle, through(idle, cycle[(cut + at) % cycle.len()].0)?);
                    Some([&inner[..at], &round, &inner[at..]].concat())
                })
            });
            others.extend(longer.take(CYCLES));
            if others.is_empty() || work > WORK {
                return None;
            }
            let (counted, taken) = merged(automaton, network, &mut graph, head, &inner, &others, &mut work)?;
            swallowed.extend(taken.into_iter().filter_map(|at| numbers.get(at)));
            Some((cut, counted))
        });
        let (cut, counted) = merged.unwrap_or_else(|| cuts.swap_remove(0));
        loops[cycle[cut].0].push(counted);
    }
    for (state, mut loops) in automaton.states.iter_mut().zip(loops) {
        loops.sort_by_key(|counted| {
            let tokens: u64 = counted.body.consumes.iter().chain(&counted.body.produces).map(|port| port.0).sum();
            std::cmp::Reverse(tokens)
        });
        state.loops = loops;
    }
}

/// The ways of a cycle that is cut open before one of them.
fn turned<'a>(cycle: &Cycle<'a>, cut: usize) -> Vec<&'a Way<'a>> {
    (0..cycle.len()).map(|at| cycle[(cut + at) % cycle.len()].1).collect()
}

/// Stores and tokens of a transition that need nothing of the rest of it, as a loop of which one iteration does what
/// they do. `None` for effects of other kinds, for elements at places that are not known, and for ports that the rest
/// of the transition writes too.
pub fn once(automaton: &Automaton, network: &Network, transition: &Transition, effects: &[Effect]) -> Option<Loop> {
    let mut produces = vec![0; transition.produces.len()];
    for effect in effects {
        if let Effect::Output { port, .. } = effect {
            produces[*port as usize] += 1;
        }
    }
    if produces.iter().zip(&transition.produces).any(|(&own, &all)| own != 0 && own != all) {
        return None;
    }
    // The graph of the automaton is large, and of many transitions somebody asks.
    let (mut graph, new) = copied(&automaton.graph, effects.iter().flat_map(Effect::uses).collect());
    let effects = effects.iter().map(|effect| match *effect {
        Effect::Output { port, offset, value } => Some(Effect::Output { port, offset, value: new[&value] }),
        Effect::Store { object, index, value } => {
            Some(Effect::Store { object, index: new[&index], value: new[&value] })
        }
        _ => None,
    });
    let effects = effects.collect::<Option<Vec<Effect>>>()?;
    let mut consumes = vec![0; transition.consumes.len()];
    for id in new.keys() {
        if let Op::Input { port, .. } = automaton.graph.op(*id) {
            consumes[*port as usize] = transition.consumes[*port as usize];
        }
    }
    let part = Transition { effects, consumes, produces };
    let way = Way { decisions: Vec::new(), transition: &part, target: 0 };
    closed(automaton, network, &mut graph, &[&way], None, &mut 0).map(|counted| counted.body)
}

/// What goes from iteration to iteration, the worst first.
fn weight(counted: &CountedLoop) -> (usize, usize, usize) {
    let carried = &counted.body.carried;
    let n = |wanted: fn(&Carry) -> bool| carried.iter().filter(|carried| wanted(&carried.carry)).count();
    (n(|carry| *carry == Carry::True), n(|carry| *carry == Carry::Delay), carried.len())
}

/// States, and the way that leaves each.
type Cycle<'a> = Vec<(usize, &'a Way<'a>)>;

/// How many tokens a cycle moves, and elements of lists at places that are not known.
fn tokens(graph: &Graph, cycle: &Cycle) -> u64 {
    let of = |transition: &Transition| {
        let unknown =
            |effect: &&Effect| matches!(effect, Effect::Store { index, .. } if graph.constant(*index).is_none());
        let stored = transition.effects.iter().filter(unknown).count() as u64;
        stored + transition.consumes.iter().chain(&transition.produces).sum::<u64>()
    };
    cycle.iter().map(|(_, way)| of(way.transition)).sum()
}

/// Cycles through a state and larger ones.
#[derive(Default)]
struct Cycles<'a> {
    moving: Vec<Cycle<'a>>,
    /// Those that move no token.
    idle: Vec<Cycle<'a>>,
}

fn cycles<'a>(graph: &'a Graph, all: &'a [Vec<Way<'a>>], first: usize) -> Cycles<'a> {
    let found = Cycles::default();
    let mut walk = Walk { graph, all, first, path: Vec::new(), on_path: FxHashSet::default(), found, steps: 0 };
    walk.go_on(first, 0);
    walk.found
}

/// A walk round cycles.
struct Walk<'a> {
    graph: &'a Graph,
    all: &'a [Vec<Way<'a>>],
    first: usize,
    path: Cycle<'a>,
    on_path: FxHashSet<usize>,
    found: Cycles<'a>,
    steps: usize,
}

impl Walk<'_> {
    fn go_on(&mut self, at: usize, decisions: usize) {
        self.steps += 1;
        if decisions >= DECISIONS || self.found.moving.len() >= CYCLES || self.steps > STEPS {
            return;
        }
        self.on_path.insert(at);
        let decisions = decisions + usize::from(self.all[at].len() > 1);
        for way in &self.all[at] {
            self.path.push((at, way));
            if way.target == self.first {
                let found =
                    if tokens(self.graph, &self.path) > 0 { &mut self.found.moving } else { &mut self.found.idle };
                found.push(self.path.clone());
            } else if way.target > self.first && !self.on_path.contains(&way.target) {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.go_on(way.target, decisions));
            }
            self.path.pop();
        }
        self.on_path.remove(&at);
    }
}

/// A cycle as a loop, if its decisions can be counted; `head` is the state in which it is cut open.
fn closed(
    automaton: &Automaton,
    network: &Network,
    graph: &mut Graph,
    cycle: &[&Way],
    head: Option<usize>,
    work: &mut usize,
) -> Option<CountedLoop> {
    // Most cycles are refused by what decides, which is little beside what they compute.
    let deciding = deciding(graph, cycle);
    let mut turn = |only: Option<&FxHashSet<ObjectId>>| {
        let mut together = Together::of(network, graph, cycle, only, work)?;
        if let Some(head) = head {
            together.drop_dead(automaton, graph, head);
            if only.is_none() {
                together = together.with_windows(graph, &automaton.objects)?;
            }
        } else if !together.lists.is_empty() {
            return None;
        }
        Some((Turn::of(graph, &together)?, together))
    };
    turn(Some(&deciding))?;
    let (turn, together) = turn(None)?;
    Some(turn.packed(automaton, network, graph, &together, cycle.len()))
}

/// How a cycle goes on, in nodes of the graph that it was found in.
pub(super) struct Turn {
    pub carried: Vec<Carried>,
    pub counters: Vec<Counter>,
    pub trips: Vec<Trips>,
}

impl Turn {
    /// `None` if its decisions cannot be counted.
    pub fn of(graph: &mut Graph, together: &Together) -> Option<Turn> {
        let Together { stores, outputs, conditions, .. } = together;
        // What an iteration changes.
        let mut carried: Vec<Carried> = Vec::new();
        for (&(object, index), &next) in stores {
            let at = graph.number(index as u128, 32);
            if *graph.op(next) != (Op::Entry { object, index: at }) {
                carried.push(Carried { object, index, next, carry: Carry::True });
            }
        }
        let changed: FxHashSet<Element> = carried.iter().map(|carried| (carried.object, carried.index)).collect();
        let roots: Vec<NodeId> =
            outputs.iter().map(|output| output.2).chain(carried.iter().map(|carried| carried.next)).collect();
        // Nodes that iterations change, or what they change.
        let mut changing: FxHashSet<NodeId> = FxHashSet::default();
        for id in graph.reachable(roots.iter().copied().chain(conditions.iter().map(|condition| condition.0))) {
            let own = is_changed(graph, id, &changed);
            if own || graph.op(id).operands().iter().any(|operand| changing.contains(operand)) {
                changing.insert(id);
            }
        }
        // An element at a place that is not known must be one that no iteration changes.
        for id in graph.reachable(roots.iter().copied().chain(conditions.iter().map(|condition| condition.0))) {
            if let Op::Entry { object, index } = graph.op(id)
                && graph.constant(*index).is_none()
                && carried.iter().any(|carried| carried.object == *object)
            {
                return None;
            }
        }
        let mut counters: Vec<Counter> = Vec::new();
        for at in 0..carried.len() {
            let next = carried[at].next;
            if let Some((start, step, lo)) = counting(graph, &carried, at) {
                let counter = match counters.iter().position(|counter| counter.start == start && counter.step == step) {
                    Some(known) => known,
                    None => {
                        counters.push(Counter { start, step });
                        counters.len() - 1
                    }
                };
                carried[at].carry = Carry::Counter { counter, lo };
            } else if !changing.contains(&next) {
                carried[at].carry = Carry::Delay;
            }
        }
        let mut trips = trips(graph, together, &carried, &counters, &changing)?;
        for trip in together.windows.all().map(Strided::trips) {
            if !trips.contains(&trip) {
                trips.push(trip);
            }
        }
        Some(Turn { carried, counters, trips })
    }

    /// The loop.
    pub fn packed(
        self,
        automaton: &Automaton,
        network: &Network,
        graph: &Graph,
        together: &Together,
        transitions: usize,
    ) -> CountedLoop {
        let Turn { carried, counters, trips } = self;
        let mut roots: Vec<NodeId> = together.outputs.iter().map(|output| output.2).collect();
        roots.extend(carried.iter().map(|carried| carried.next));
        roots.extend(counters.iter().map(|counter| counter.start));
        roots.extend(trips.iter().map(Trips::node));
        roots.extend(together.windows.all().map(|window| window.start));
        let (own, memo) = copied(graph, roots);
        let of = |id: NodeId| memo[&id];
        let width = |ty| token_width(ty).unwrap_or(1);
        let consumes = together.consumed.iter().zip(&network.inputs).map(|(&n, port)| (n, width(port.ty)));
        let produces = together.produced.iter().zip(&network.outputs).map(|(&n, port)| (n, width(port.ty)));
        let (read, written) = together.windows.of_loop(of);
        let tokens = |window: &Strided| (window.n, window.width);
        let body = Loop {
            objects: automaton.objects.clone(),
            consumes: consumes.chain(together.windows.read.iter().map(tokens)).collect(),
            produces: produces.chain(together.windows.written.iter().map(tokens)).collect(),
            outputs: together.outputs.iter().map(|&(port, offset, value)| (port, offset, of(value))).collect(),
            carried: carried.into_iter().map(|one| Carried { next: of(one.next), ..one }).collect(),
            counters: counters.into_iter().map(|counter| Counter { start: of(counter.start), ..counter }).collect(),
            graph: own,
        };
        let trips = trips.into_iter().map(|trip| trip.with(of)).collect();
        CountedLoop { body, read, written, trips, transitions, rounds: None }
    }
}

/// A graph with what some nodes need, and which node of it each is.
pub(super) fn copied(graph: &Graph, roots: Vec<NodeId>) -> (Graph, FxHashMap<NodeId, NodeId>) {
    let mut own = Graph::new();
    let mut memo: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in graph.reachable(roots) {
        let node = graph.node(id).clone();
        let operands: Vec<NodeId> = node.op.operands().iter().map(|operand| memo[operand]).collect();
        let new = match &node.op {
            Op::Lookup(table, _) => {
                let table = own.add_table(graph.table(*table).clone());
                own.lookup(table, operands[0])
            }
            op => own.rebuild(op, node.width, &operands),
        };
        memo.insert(id, new);
    }
    (own, memo)
}

fn is_changed(graph: &Graph, id: NodeId, changed: &FxHashSet<Element>) -> bool {
    match graph.op(id) {
        Op::Entry { object, index } => match graph.constant(*index) {
            Some(at) => changed.contains(&(*object, at as usize)),
            None => false,
        },
        _ => false,
    }
}

/// Where an element is part of a number that goes on by a constant: the number, the step, and the lowest bit of the
/// element in it.
fn counting(graph: &mut Graph, carried: &[Carried], at: usize) -> Option<(NodeId, u128, u32)> {
    let one = &carried[at];
    let index = graph.number(one.index as u128, 32);
    let width = graph.width(one.next);
    let entry = graph.entry(one.object, index, width);
    let by_itself = |graph: &Graph, next: NodeId| match *graph.op(next) {
        Op::Add(a, b) if a == entry => graph.constant(b),
        Op::Sub(a, b) if a == entry => graph.constant(b).map(|b| b.wrapping_neg() & mask(width)),
        _ => None,
    };
    // The widest number that the element is a part of counts.
    let whole = carried.iter().filter_map(|other| match *graph.op(other.next) {
        Op::Extract(sum, _) => match *graph.op(sum) {
            Op::Add(number, step) => graph.constant(step).map(|step| (number, step, graph.width(sum))),
            _ => None,
        },
        _ => None,
    });
    let mut candidates: Vec<(NodeId, u128, u32)> = whole.collect();
    candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.2));
    for (number, step, number_width) in candidates {
        let parts: Vec<NodeId> = match graph.op(number) {
            Op::Concat(parts) => parts.to_vec(),
            _ => continue,
        };
        let mut lo = number_width;
        for part in parts {
            lo -= graph.width(part);
            if part == entry {
                let step_node = graph.number(step, number_width);
                let sum = graph.sum(number, step_node);
                if graph.extract(sum, lo, width) == one.next {
                    return Some((number, step, lo));
                }
            }
        }
    }
    by_itself(graph, one.next).map(|step| (entry, step, 0))
}

/// Bounds on the number of iterations; `None` when a decision does not follow from counters.
fn trips(
    graph: &mut Graph,
    together: &Together,
    carried: &[Carried],
    counters: &[Counter],
    changing: &FxHashSet<NodeId>,
) -> Option<Vec<Trips>> {
    let mut trips: Vec<Trips> = Vec::new();
    for &(condition, holds) in &together.conditions {
        let reads_input = graph.reachable([condition]).into_iter().any(|id| matches!(graph.op(id), Op::Input { .. }));
        if reads_input {
            return None;
        }
        let trip = if !changing.contains(&condition) {
            Trips::Unless(condition, holds)
        } else if let Some(trip) = counted(graph, condition, holds, carried, counters) {
            trip
        } else {
            // Whatever it is before the first iteration, an iteration makes it come out this way.
            let after = together.after(graph, condition)?;
            if graph.constant(after) != Some(u128::from(holds)) {
                return None;
            }
            Trips::Unless(condition, holds)
        };
        // Of two bounds on the same counter the narrower one is enough.
        let mut known = false;
        if let Trips::Above { value, limit, step } = trip {
            for other in &mut trips {
                if let Trips::Above { value: same, limit: least, step: by } = other
                    && (*same, *by) == (value, step)
                {
                    *least = limit.max(*least);
                    known = true;
                }
            }
        }
        if !known && !trips.contains(&trip) {
            trips.push(trip);
        }
    }
    Some(trips)
}

fn counted(
    graph: &mut Graph,
    condition: NodeId,
    holds: bool,
    carried: &[Carried],
    counters: &[Counter],
) -> Option<Trips> {
    let (value, limit, above) = match (graph.op(condition).clone(), holds) {
        (Op::Not(inner), _) => return counted(graph, inner, !holds, carried, counters),
        // x = 0 is false as long as it is more than 0.
        (Op::Equal(x, k), false) if graph.constant(k) == Some(0) => (x, 0, true),
        (Op::Less(k, x), true) if graph.constant(k).is_some() => (x, graph.constant(k)?, true),
        (Op::Less(x, k), false) if graph.constant(k).is_some() => (x, graph.constant(k)?.checked_sub(1)?, true),
        (Op::Less(x, k), true) if graph.constant(k).is_some() => (x, graph.constant(k)?, false),
        (Op::Less(k, x), false) if graph.constant(k).is_some() => (x, graph.constant(k)? + 1, false),
        _ => return None,
    };
    // The value itself, or with zeros in front, or a known number more or less.
    let mut base = value;
    let mut offset = 0_u128;
    loop {
        match graph.op(base).clone() {
            Op::Concat(parts) if parts.len() == 2 && graph.constant(parts[0]) == Some(0) => base = parts[1],
            Op::Add(a, b) if graph.constant(b).is_some() && offset == 0 => {
                offset = graph.constant(b)?;
                base = a;
            }
            _ => break,
        }
    }
    let Op::Entry { object, index } = *graph.op(base) else { return None };
    let at = graph.constant(index)? as usize;
    let one = carried.iter().find(|carried| carried.object == object && carried.index == at)?;
    let Carry::Counter { counter, lo: 0 } = one.carry else { return None };
    let counter = &counters[counter];
    let width = graph.width(base);
    if graph.width(counter.start) != width {
        return None;
    }
    // base - d is more than the limit as long as base is more than both together; the other way round d may be too
    // much.
    let limit = match offset {
        0 => limit,
        _ if above && offset > mask(width) / 2 => limit.checked_add(mask(width).checked_sub(offset)? + 1)?,
        _ => return None,
    };
    let down = counter.step > mask(width) / 2;
    match (above, down) {
        (true, true) => Some(Trips::Above { value: base, limit, step: (mask(width) - counter.step) + 1 }),
        (false, false) => Some(Trips::Below { value: base, limit, step: counter.step }),
        _ => None,
    }
}
