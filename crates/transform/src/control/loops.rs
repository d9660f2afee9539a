//! Circles of kernels as loops without decisions.
//!
//! A circle is taken as often as its decisions come out the same way. Where they compare counters with what no pass
//! changes, how often that is can be computed beforehand, and what is left is a [`Loop`]: no test inside. Example: while
//! `left >= 16` is decided, 16 tokens are read and written and `left` becomes `left - 16`, there are
//! `(left - 15 - 1) / 16 + 1` passes.
//!
//! The circle's kernels are put together: what one stores the next one finds there. A circle may be cut open in any of
//! its states; the best one is where least goes from pass to pass.

use super::automaton::{Automaton, CountedLoop, Holds, Step, Trips};
use super::schedule::token_width;
use crate::kernel::graph::mask;
use crate::kernel::{Carried, Carry, Counter, Effect, Graph, Kernel, Loop, NodeId, ObjectId, Op};
use headrace_ir::Network;
use std::collections::{BTreeMap, HashMap, HashSet};

/// States of a circle.
const LENGTH: usize = 12;

/// Nodes that are gone through on the way round circles, over all of them.
const WORK: usize = 2_000_000;

/// Circles that are looked at for each state.
const CIRCLES: usize = 16;

/// A way from a state to another: decisions, then a kernel.
#[derive(Clone)]
struct Way<'a> {
    /// Conditions and how they come out.
    decisions: Vec<(NodeId, bool)>,
    kernel: &'a Kernel,
    target: usize,
}

fn ways<'a>(step: &'a Step, decisions: &mut Vec<(NodeId, bool)>, out: &mut Vec<Way<'a>>) {
    match step {
        Step::Branch { before, condition, then, otherwise } if before.is_empty() => {
            for (side, holds) in [(then, true), (otherwise, false)] {
                decisions.push((*condition, holds));
                ways(side, decisions, out);
                decisions.pop();
            }
        }
        Step::Wait(awaited) => awaited.iter().for_each(|one| ways(&one.step, decisions, out)),
        Step::Go { kernel, target } => {
            let straight =
                kernel.effects.iter().all(|effect| matches!(effect, Effect::Store { .. } | Effect::Output { .. }));
            if straight {
                out.push(Way { decisions: decisions.clone(), kernel, target: *target });
            }
        }
        Step::Branch { .. } | Step::End | Step::Leave => {}
    }
}

/// Finds the loops of all states.
pub(crate) fn find(automaton: &mut Automaton, network: &Network) {
    let mut graph = automaton.graph.clone();
    let all: Vec<Vec<Way>> = automaton
        .states
        .iter()
        .map(|state| {
            let mut out = Vec::new();
            ways(&state.step, &mut Vec::new(), &mut out);
            out
        })
        .collect();
    let mut found: Vec<Vec<CountedLoop>> = vec![Vec::new(); all.len()];
    // Each circle once, by its smallest state; those that move most first, as long as it is worth while.
    let mut open: Vec<Circle> = (0..all.len()).flat_map(|first| circles(&all, first)).collect();
    open.sort_by_cached_key(|circle| std::cmp::Reverse(tokens(circle)));
    let mut work = 0;
    for circle in open {
        if work > WORK {
            break;
        }
        // It is cut open where that is best.
        let mut best: Option<(usize, CountedLoop)> = None;
        for cut in 0..circle.len() {
            let turned: Vec<&Way> = (0..circle.len()).map(|at| circle[(cut + at) % circle.len()].1).collect();
            let fills = &automaton.states[circle[cut].0].fills;
            let Some(counted) = closed(automaton, network, &mut graph, &turned, fills, &mut work) else {
                continue;
            };
            if best.as_ref().is_none_or(|(_, other)| weight(&counted) < weight(other)) {
                best = Some((circle[cut].0, counted));
            }
        }
        if let Some((head, counted)) = best {
            found[head].push(counted);
        }
    }
    for (state, mut loops) in automaton.states.iter_mut().zip(found) {
        loops.sort_by_key(|counted| {
            let tokens: u64 = counted.body.consumes.iter().chain(&counted.body.produces).map(|port| port.0).sum();
            std::cmp::Reverse(tokens)
        });
        state.loops = loops;
    }
}

/// Stores and tokens of a kernel that need nothing of the rest of it, as a loop of which one pass does what they do.
/// `None` for effects of other kinds, for elements at places that are not known, and for ports that the rest of the kernel
/// writes too.
pub fn once(automaton: &Automaton, network: &Network, kernel: &Kernel, effects: &[Effect]) -> Option<Loop> {
    let mut roots = Vec::new();
    let mut produces = vec![0; kernel.produces.len()];
    for effect in effects {
        roots.extend(effect.uses());
        if let Effect::Output { port, .. } = effect {
            produces[*port as usize] += 1;
        }
    }
    if produces.iter().zip(&kernel.produces).any(|(&own, &all)| own != 0 && own != all) {
        return None;
    }
    let mut consumes = vec![0; kernel.consumes.len()];
    for id in automaton.graph.reachable(roots) {
        if let Op::Input { port, .. } = automaton.graph.op(id) {
            consumes[*port as usize] = kernel.consumes[*port as usize];
        }
    }
    let part = Kernel { effects: effects.to_vec(), consumes, produces };
    let way = Way { decisions: Vec::new(), kernel: &part, target: 0 };
    let mut graph = automaton.graph.clone();
    let everything = vec![usize::MAX; network.connections.len()];
    closed(automaton, network, &mut graph, &[&way], &everything, &mut 0).map(|counted| counted.body)
}

/// What goes from pass to pass, the worst first.
fn weight(counted: &CountedLoop) -> (usize, usize, usize) {
    let carried = &counted.body.carried;
    let n = |wanted: fn(&Carry) -> bool| carried.iter().filter(|carried| wanted(&carried.carry)).count();
    (n(|carry| *carry == Carry::True), n(|carry| *carry == Carry::Delay), carried.len())
}

/// States, and the way that leaves each.
type Circle<'a> = Vec<(usize, &'a Way<'a>)>;

/// How many tokens a circle moves.
fn tokens(circle: &Circle) -> u64 {
    circle.iter().flat_map(|(_, way)| way.kernel.consumes.iter().chain(&way.kernel.produces)).sum()
}

/// Circles through a state and larger ones.
fn circles<'a>(all: &'a [Vec<Way<'a>>], first: usize) -> Vec<Circle<'a>> {
    let mut found = Vec::new();
    let mut steps = 0;
    let mut path: Circle = Vec::new();
    let mut on_path = HashSet::new();
    walk(all, first, first, &mut path, &mut on_path, &mut found, &mut steps);
    found
}

fn walk<'a>(
    all: &'a [Vec<Way<'a>>],
    first: usize,
    at: usize,
    path: &mut Circle<'a>,
    on_path: &mut HashSet<usize>,
    found: &mut Vec<Circle<'a>>,
    steps: &mut usize,
) {
    *steps += 1;
    if path.len() >= LENGTH || found.len() >= CIRCLES || *steps > 2_000 {
        return;
    }
    on_path.insert(at);
    for way in &all[at] {
        path.push((at, way));
        if way.target == first {
            if tokens(path) > 0 {
                found.push(path.clone());
            }
        } else if way.target > first && !on_path.contains(&way.target) {
            walk(all, first, way.target, path, on_path, found, steps);
        }
        path.pop();
    }
    on_path.remove(&at);
}

/// Kernels put together.
struct Together<'g> {
    graph: &'g mut Graph,
    stores: BTreeMap<(ObjectId, usize), NodeId>,
    consumed: Vec<u64>,
    produced: Vec<u64>,
    outputs: Vec<(u32, u64, NodeId)>,
    conditions: Vec<(NodeId, bool)>,
}

impl Together<'_> {
    /// A node of the next kernel, seen from the beginning of the first.
    fn node(&mut self, id: NodeId, memo: &mut HashMap<NodeId, NodeId>) -> Option<NodeId> {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if memo.contains_key(&next) {
                open.pop();
                continue;
            }
            let n = open.len();
            open.extend(self.graph.op(next).operands().into_iter().filter(|operand| !memo.contains_key(operand)));
            if open.len() > n {
                continue;
            }
            let node = self.graph.node(next).clone();
            let new = match node.op {
                Op::Input { port, offset } => {
                    let shift = self.consumed[port as usize] as i64;
                    self.graph.input(port, offset + shift, node.width)
                }
                Op::Entry { object, index } => {
                    let index = *memo.get(&index)?;
                    match self.graph.constant(index) {
                        Some(at) => match self.stores.get(&(object, at as usize)) {
                            Some(&stored) => stored,
                            None => self.graph.entry(object, index, node.width),
                        },
                        None if self.stores.keys().any(|key| key.0 == object) => return None,
                        None => self.graph.entry(object, index, node.width),
                    }
                }
                Op::Loaded(_) => return None,
                ref op => {
                    let mut operands = Vec::new();
                    for operand in op.operands() {
                        operands.push(*memo.get(&operand)?);
                    }
                    self.graph.rebuild(op, node.width, &operands)
                }
            };
            memo.insert(next, new);
        }
        memo.get(&id).copied()
    }

    /// Adds a kernel, or only its stores to some objects; `work` counts the nodes that are gone through.
    fn way(&mut self, way: &Way, only: Option<&HashSet<ObjectId>>, work: &mut usize) -> Option<()> {
        let mut memo = HashMap::new();
        let done = self.way_with(way, only, &mut memo);
        *work += memo.len();
        done
    }

    fn way_with(
        &mut self,
        way: &Way,
        only: Option<&HashSet<ObjectId>>,
        memo: &mut HashMap<NodeId, NodeId>,
    ) -> Option<()> {
        for &(condition, holds) in &way.decisions {
            let condition = self.node(condition, memo)?;
            match self.graph.constant(condition) {
                Some(value) if (value == 1) == holds => {}
                Some(_) => return None,
                None => self.conditions.push((condition, holds)),
            }
        }
        let mut stores = Vec::new();
        for effect in &way.kernel.effects {
            match effect {
                Effect::Store { object, .. } if only.is_some_and(|only| !only.contains(object)) => {}
                Effect::Output { .. } if only.is_some() => {}
                Effect::Store { object, index, value } => {
                    let at = self.graph.constant(*index)?;
                    let value = self.node(*value, memo)?;
                    stores.push(((*object, at as usize), value));
                }
                Effect::Output { port, offset, value } => {
                    let value = self.node(*value, memo)?;
                    self.outputs.push((*port, self.produced[*port as usize] + offset, value));
                }
                _ => return None,
            }
        }
        self.stores.extend(stores);
        for (sum, more) in self.consumed.iter_mut().zip(&way.kernel.consumes) {
            *sum += more;
        }
        for (sum, more) in self.produced.iter_mut().zip(&way.kernel.produces) {
            *sum += more;
        }
        Some(())
    }
}

/// The objects that decide how a circle goes: what its conditions read, and what the stores to that read.
fn deciding(graph: &Graph, circle: &[&Way]) -> HashSet<ObjectId> {
    let conditions = circle.iter().flat_map(|way| way.decisions.iter().map(|decision| decision.0));
    let mut open: Vec<NodeId> = conditions.collect();
    let mut objects = HashSet::new();
    while !open.is_empty() {
        let read: HashSet<ObjectId> = (graph.reachable(open.drain(..)).into_iter())
            .filter_map(|id| match graph.op(id) {
                Op::Entry { object, .. } if !objects.contains(object) => Some(*object),
                _ => None,
            })
            .collect();
        for effect in circle.iter().flat_map(|way| &way.kernel.effects) {
            match effect {
                Effect::Store { object, value, .. } if read.contains(object) => open.push(*value),
                _ => {}
            }
        }
        objects.extend(read);
    }
    objects
}

/// What a circle does in one pass, and how many passes there are.
struct Pass {
    consumed: Vec<u64>,
    produced: Vec<u64>,
    outputs: Vec<(u32, u64, NodeId)>,
    carried: Vec<Carried>,
    counters: Vec<Counter>,
    trips: Vec<Trips>,
}

/// Puts the kernels of a circle together, all of them or what they do to some objects; `None` where its decisions cannot be
/// counted. What does not last is not carried.
fn pass(
    network: &Network,
    graph: &mut Graph,
    circle: &[&Way],
    lasts: &dyn Fn(ObjectId, usize) -> bool,
    only: Option<&HashSet<ObjectId>>,
    work: &mut usize,
) -> Option<Pass> {
    let mut together = Together {
        graph,
        stores: BTreeMap::new(),
        consumed: vec![0; network.inputs.len()],
        produced: vec![0; network.outputs.len()],
        outputs: Vec::new(),
        conditions: Vec::new(),
    };
    for way in circle {
        together.way(way, only, work)?;
    }
    let Together { mut stores, consumed, produced, outputs, conditions, .. } = together;
    // Tokens that went from one kernel of the circle to another are gone.
    stores.retain(|&(object, index), _| lasts(object, index));

    // What a pass changes.
    let mut carried: Vec<Carried> = Vec::new();
    for ((object, index), next) in stores {
        let at = graph.number(index as u128, 32);
        if *graph.op(next) != (Op::Entry { object, index: at }) {
            carried.push(Carried { object, index, next, carry: Carry::True });
        }
    }
    let changed: HashSet<(ObjectId, usize)> = carried.iter().map(|carried| (carried.object, carried.index)).collect();
    let roots: Vec<NodeId> =
        outputs.iter().map(|output| output.2).chain(carried.iter().map(|carried| carried.next)).collect();
    // Nodes that passes change, or what they change.
    let mut changing: HashSet<NodeId> = HashSet::new();
    for id in graph.reachable(roots.iter().copied().chain(conditions.iter().map(|condition| condition.0))) {
        let own = is_changed(graph, id, &changed);
        if own || graph.op(id).operands().iter().any(|operand| changing.contains(operand)) {
            changing.insert(id);
        }
    }
    // An element at a place that is not known must be one that no pass changes.
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
    let trips = trips(graph, &conditions, &carried, &counters, &changing)?;
    Some(Pass { consumed, produced, outputs, carried, counters, trips })
}

/// A circle as a loop, if its decisions can be counted; `fills` are the tokens that FIFOs hold where it begins.
fn closed(
    automaton: &Automaton,
    network: &Network,
    graph: &mut Graph,
    circle: &[&Way],
    fills: &[usize],
    work: &mut usize,
) -> Option<CountedLoop> {
    // Most circles are refused by what decides, which is little beside what they compute.
    let deciding = deciding(graph, circle);
    let lasts = |object: ObjectId, index: usize| match automaton.holds[object.0 as usize] {
        Holds::Fifo(connection) => index < fills[connection],
        _ => true,
    };
    pass(network, graph, circle, &lasts, Some(&deciding), work)?;
    let Pass { consumed, produced, outputs, carried, counters, trips } =
        pass(network, graph, circle, &lasts, None, work)?;
    let mut needed: Vec<NodeId> =
        outputs.iter().map(|output| output.2).chain(carried.iter().map(|carried| carried.next)).collect();

    // A graph of its own, with what the loop needs.
    let mut own = Graph::new();
    let mut memo: HashMap<NodeId, NodeId> = HashMap::new();
    needed.extend(counters.iter().map(|counter| counter.start));
    for trip in &trips {
        match trip {
            Trips::Unless(node, _) => needed.push(*node),
            Trips::Above { value, .. } | Trips::Below { value, .. } => needed.push(*value),
        }
    }
    for id in graph.reachable(needed) {
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
    let of = |id: NodeId| memo[&id];
    let width = |ty| token_width(ty).unwrap_or(1);
    let body = Loop {
        objects: automaton.objects.clone(),
        consumes: consumed.iter().zip(&network.inputs).map(|(&n, port)| (n, width(port.ty))).collect(),
        produces: produced.iter().zip(&network.outputs).map(|(&n, port)| (n, width(port.ty))).collect(),
        outputs: outputs.into_iter().map(|(port, offset, value)| (port, offset, of(value))).collect(),
        carried: carried.into_iter().map(|one| Carried { next: of(one.next), ..one }).collect(),
        counters: counters.into_iter().map(|counter| Counter { start: of(counter.start), ..counter }).collect(),
        graph: own,
    };
    let trips = trips
        .into_iter()
        .map(|trip| match trip {
            Trips::Unless(node, holds) => Trips::Unless(of(node), holds),
            Trips::Above { value, limit, step } => Trips::Above { value: of(value), limit, step },
            Trips::Below { value, limit, step } => Trips::Below { value: of(value), limit, step },
        })
        .collect();
    Some(CountedLoop { body, trips, kernels: circle.len() })
}

fn is_changed(graph: &Graph, id: NodeId, changed: &HashSet<(ObjectId, usize)>) -> bool {
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

/// Bounds on the number of passes; `None` when a decision does not follow from counters.
fn trips(
    graph: &mut Graph,
    conditions: &[(NodeId, bool)],
    carried: &[Carried],
    counters: &[Counter],
    changing: &HashSet<NodeId>,
) -> Option<Vec<Trips>> {
    let mut trips: Vec<Trips> = Vec::new();
    for &(condition, holds) in conditions {
        let reads_input = graph.reachable([condition]).into_iter().any(|id| matches!(graph.op(id), Op::Input { .. }));
        if reads_input {
            return None;
        }
        let trip = if !changing.contains(&condition) {
            Trips::Unless(condition, holds)
        } else {
            counted(graph, condition, holds, carried, counters)?
        };
        if !trips.contains(&trip) {
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
    // base - d is more than the limit as long as base is more than both together; the other way round d may be too much.
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
