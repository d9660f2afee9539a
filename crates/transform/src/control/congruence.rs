//! Value congruence across states, by partition refinement. Elements that hold the same whenever a state is reached, so
//! that loops read one of them only.
//!
//! What one actor keeps and sends is held twice: as its variable, and as the token that waits for whoever reads it. If
//! both are read in a loop, an iteration takes from the one before more than it seems to need, and what is known about
//! sums and counters does not fit any more:
//!
//! ```text
//! y[i] := g(x[i], fifo); r := r ^ l[i]; fifo := r      =>      y[i] := g(x[i], r); r := r ^ l[i]; fifo := r
//! ```
//!
//! Congruence of elements over the automaton, found as values of variables are found to be equal (Alpern, Wegman,
//! Zadeck, "Detecting equality of variables in programs", 1988): all elements of a loop whose values at the end of an
//! iteration have the same form are candidates, and two of these are equal in a state if on every way into it they
//! become the same value, or values of one form whose operands are. Where that asks for other elements in the state
//! before, these must be equal there: what holds before the first transition, and on each way if it held before, always
//! does.
//!
//! Requires: memory that is read in a state was written on every way into it, or holds what it held in the beginning.
//! Establishes: of elements that are equal when a loop begins its iterations read one. All are still written.

use super::automaton::{Automaton, CountedLoop, Step, Window};
use super::compose_transitions::Element;
use crate::kernel::{Carry, Effect, Graph, Loop, NodeId, ObjectId, Op, Transition};
use crate::passes::extract_reductions::extract_reductions;
use crate::passes::sink_copies::sink_copies;
use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of elements that one question may lead to.
const MOST_GOALS: usize = 4_000;

/// Pairs of values that are compared on one way.
const MOST_PAIRS: usize = 4_000;

/// Elements that iterations change of a loop that is looked at.
const MOST_CARRIED: usize = 2_000;

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 50_000;

/// Has the iterations of loops read one of elements that are equal, where `gains` says of a loop as it is and as it
/// becomes that it is worth it.
pub(crate) fn read_once(automaton: &mut Automaton, gains: impl Fn(&Loop, &Loop) -> bool) {
    let mut found: Vec<(usize, usize, CountedLoop)> = Vec::new();
    let mut ways = Ways::of(automaton);
    for (at, state) in automaton.states.iter().enumerate() {
        for (number, counted) in state.loops.iter().enumerate() {
            let made = read_once_in(counted, at, &mut ways).filter(|made| gains(&counted.body, &made.body));
            found.extend(made.map(|made| (at, number, made)));
        }
    }
    for (state, number, made) in found {
        automaton.states[state].loops[number] = made;
    }
}

/// Whether the elements were in the way of taking sums apart. Elsewhere a loop keeps the form in which the network has
/// it, since instructions are found in that form.
pub(crate) fn sums_come_to_light(body: &Loop, made: &Loop) -> bool {
    let has_sums = |body: &Loop| {
        let copied = sink_copies(body);
        extract_reductions(copied.as_ref().map_or(body, |copied| &copied.body)).is_some()
    };
    !has_sums(body) && has_sums(made)
}

/// The loop of a state with one element for all that equal it; `None` where that changes nothing.
fn read_once_in(counted: &CountedLoop, state: usize, ways: &mut Ways) -> Option<CountedLoop> {
    let mut instead: FxHashMap<Element, Element> = FxHashMap::default();
    for class in candidates(&counted.body) {
        let mut kept: Vec<Element> = Vec::new();
        for one in class {
            match kept.iter().find(|&&other| ways.equal(state, other, one)) {
                Some(&other) => {
                    instead.insert(one, other);
                }
                None => kept.push(one),
            }
        }
    }
    replaced(counted, &instead)
}

/// Classes of elements with more than one that all have values of the same form in all iterations but the first,
/// smallest elements first: only what an iteration needs of the one before.
fn candidates(body: &Loop) -> Vec<Vec<Element>> {
    let carried: Vec<(Element, NodeId)> = (body.carried.iter())
        .filter(|one| one.carry == Carry::True)
        .map(|one| ((one.object, one.index), one.next))
        .collect();
    if carried.len() > MOST_CARRIED || body.graph.len() > MOST_NODES {
        return Vec::new();
    }
    // Coarsest first, and finer until it stays.
    let width = |element: &Element| body.objects[element.0.0 as usize].width as usize;
    let mut class: FxHashMap<Element, usize> = carried.iter().map(|(element, _)| (*element, width(element))).collect();
    loop {
        let mut first: FxHashMap<usize, Element> = FxHashMap::default();
        for (element, _) in &carried {
            let least = first.entry(class[element]).or_insert(*element);
            *least = (*least).min(*element);
        }
        let instead = carried.iter().map(|(element, _)| (*element, first[&class[element]])).collect();
        let (_, new) = rewritten(&body.graph, carried.iter().map(|one| one.1), &instead);
        let mut numbers: FxHashMap<(usize, NodeId), usize> = FxHashMap::default();
        let n_before = first.len();
        let finer: FxHashMap<Element, usize> = (carried.iter())
            .map(|(element, next)| {
                let n = numbers.len();
                (*element, *numbers.entry((class[element], new[next])).or_insert(n))
            })
            .collect();
        class = finer;
        if numbers.len() == n_before {
            break;
        }
    }
    let mut classes: FxHashMap<usize, Vec<Element>> = FxHashMap::default();
    for (element, number) in class {
        classes.entry(number).or_default().push(element);
    }
    let mut classes: Vec<Vec<Element>> = classes.into_values().filter(|class| class.len() > 1).collect();
    classes.iter_mut().for_each(|class| class.sort_unstable());
    classes.sort_unstable();
    classes
}

/// What roots need in a graph of its own, with elements in the place of others, and what each node is there.
fn rewritten(
    graph: &Graph,
    roots: impl IntoIterator<Item = NodeId>,
    instead: &FxHashMap<Element, Element>,
) -> (Graph, FxHashMap<NodeId, NodeId>) {
    let mut own = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in graph.reachable(roots) {
        let width = graph.width(id);
        let other = element(graph, id).and_then(|element| instead.get(&element));
        let made = match (other, graph.op(id)) {
            (Some(&(object, index)), Op::Entry { index: place, .. }) => {
                let index = own.number(index as u128, graph.width(*place));
                own.entry(object, index, width)
            }
            (_, op) => {
                let operands: Vec<NodeId> = op.operands().iter().map(|operand| new[operand]).collect();
                own.rebuild(op, width, &operands)
            }
        };
        new.insert(id, made);
    }
    (own, new)
}

/// A loop that reads elements instead of others.
fn replaced(counted: &CountedLoop, instead: &FxHashMap<Element, Element>) -> Option<CountedLoop> {
    let body = &counted.body;
    let is_read = |id: NodeId| element(&body.graph, id).is_some_and(|element| instead.contains_key(&element));
    if !body.graph.reachable(body.roots()).into_iter().any(is_read) {
        return None;
    }
    let roots = body.needed().into_iter().chain(counted.before());
    let (graph, new) = rewritten(&body.graph, roots, instead);
    let trips = counted.trips.iter().map(|trip| trip.clone().with(|node| new[&node])).collect();
    let windows = |windows: &[Window]| windows.iter().map(|one| Window { start: new[&one.start], ..*one }).collect();
    let (read, written) = (windows(&counted.read), windows(&counted.written));
    Some(CountedLoop { body: body.moved(graph, &new)?, read, written, trips, ..counted.clone() })
}

/// The element that a node reads, where its place is known.
fn element(graph: &Graph, id: NodeId) -> Option<Element> {
    match graph.op(id) {
        Op::Entry { object, index } => graph.constant(*index).map(|at| (*object, at as usize)),
        _ => None,
    }
}

/// A way into a state.
struct Way {
    /// Where it comes from.
    from: usize,
    /// Values of elements that it writes.
    stores: FxHashMap<Element, NodeId>,
    /// Objects of which it writes elements that are not known.
    spoilt: FxHashSet<ObjectId>,
    /// Whether values of its nodes may change while it runs.
    loads: bool,
}

/// Two elements in a state.
type Goal = (usize, Element, Element);

/// All ways into states.
struct Ways<'a> {
    graph: &'a Graph,
    initial: &'a [Vec<u128>],
    into: Vec<Vec<Way>>,
    /// Elements that memory does not hold.
    known: Vec<FxHashSet<Element>>,
    /// What was found.
    answers: FxHashMap<Goal, bool>,
}

impl<'a> Ways<'a> {
    fn of(automaton: &'a Automaton) -> Self {
        let mut into: Vec<Vec<Way>> = automaton.states.iter().map(|_| Vec::new()).collect();
        for (from, state) in automaton.states.iter().enumerate() {
            leaves(&state.step, &mut Vec::new(), &mut |before, transition, target| {
                into[target].push(Way::of(&automaton.graph, from, before, transition));
            });
        }
        let known = |known: &Vec<(ObjectId, usize, u128)>| known.iter().map(|one| (one.0, one.1)).collect();
        Ways {
            graph: &automaton.graph,
            initial: &automaton.initial,
            into,
            known: automaton.states.iter().map(|state| known(&state.known)).collect(),
            answers: FxHashMap::default(),
        }
    }

    /// Whether two elements hold the same whenever a state is reached, as far as it can be found.
    fn equal(&mut self, state: usize, one: Element, other: Element) -> bool {
        let asked = (state, one.min(other), one.max(other));
        let (mut open, mut assumed) = (vec![asked], FxHashSet::from_iter([asked]));
        while let Some(goal) = open.pop() {
            let needed = match self.answers.get(&goal) {
                Some(true) => continue,
                Some(false) => None,
                None => self.needed(goal),
            };
            let Some(needed) = needed.filter(|_| assumed.len() <= MOST_GOALS) else {
                self.answers.insert(asked, false);
                return false;
            };
            open.extend(needed.into_iter().filter(|goal| assumed.insert(*goal)));
        }
        // None of them was refuted on any way.
        self.answers.extend(assumed.into_iter().map(|goal| (goal, true)));
        true
    }

    /// What must be equal in the states before for a pair to be; `None` where it is not.
    fn needed(&self, (state, one, other): Goal) -> Option<Vec<Goal>> {
        if [one, other].iter().any(|element| self.known[state].contains(element)) {
            return None;
        }
        let first = |(object, at): Element| self.initial.get(object.0 as usize).and_then(|all| all.get(at));
        if state == 0 && first(one).is_none_or(|value| first(other) != Some(value)) {
            return None;
        }
        let mut needed = Vec::new();
        for way in &self.into[state] {
            let values = (way.value(one)?, way.value(other)?);
            match values {
                (Value::Node(one), Value::Node(other)) => self.pairs(way, one, other, &mut needed)?,
                (Value::Before(one), Value::Before(other)) => needed.push(goal(way.from, one, other)),
                (Value::Node(node), Value::Before(kept)) | (Value::Before(kept), Value::Node(node)) => {
                    match element(self.graph, node)? {
                        same if same == kept => {}
                        other => needed.push(goal(way.from, kept, other)),
                    }
                }
            }
        }
        Some(needed)
    }

    /// Elements that must be equal for two values to be.
    fn pairs(&self, way: &Way, one: NodeId, other: NodeId, needed: &mut Vec<Goal>) -> Option<()> {
        let graph = self.graph;
        let loaded = |id: NodeId| matches!(graph.op(id), Op::Loaded(_));
        if way.loads && graph.reachable([one, other]).into_iter().any(loaded) {
            return None;
        }
        let (mut open, mut seen) = (vec![(one, other)], FxHashSet::default());
        while let Some((one, other)) = open.pop() {
            if one == other || !seen.insert((one, other)) {
                continue;
            }
            if let (Some(one), Some(other)) = (element(graph, one), element(graph, other)) {
                needed.push(goal(way.from, one, other));
                continue;
            }
            if seen.len() > MOST_PAIRS || !alike(graph, one, other) {
                return None;
            }
            open.extend(graph.op(one).operands().into_iter().zip(graph.op(other).operands()));
        }
        Some(())
    }
}

fn goal(state: usize, one: Element, other: Element) -> Goal {
    (state, one.min(other), one.max(other))
}

/// Whether two nodes do the same with their operands.
fn alike(graph: &Graph, one: NodeId, other: NodeId) -> bool {
    let same = match (graph.op(one), graph.op(other)) {
        (Op::Const(_) | Op::Input { .. } | Op::Entry { .. } | Op::Loaded(_), _) => false,
        (Op::Extract(_, lo), Op::Extract(_, other)) => lo == other,
        (Op::Lookup(table, _), Op::Lookup(other, _)) | (Op::LookupBytes(table, _), Op::LookupBytes(other, _)) => {
            table == other
        }
        (Op::Instruction { description, .. }, Op::Instruction { description: other, .. }) => description == other,
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    };
    let widths = |id: NodeId| -> Vec<u32> {
        let operands = graph.op(id).operands();
        std::iter::once(graph.width(id)).chain(operands.into_iter().map(|id| graph.width(id))).collect()
    };
    same && widths(one) == widths(other)
}

/// What an element is at the end of a way.
enum Value {
    Node(NodeId),
    /// What it was in the beginning.
    Before(Element),
}

impl Way {
    fn of(graph: &Graph, from: usize, before: &[&Effect], transition: &Transition) -> Way {
        let mut way = Way { from, stores: FxHashMap::default(), spoilt: FxHashSet::default(), loads: false };
        for effect in before.iter().copied().chain(&transition.effects) {
            match effect {
                Effect::Store { object, index, value } => match graph.constant(*index) {
                    Some(at) => {
                        way.stores.insert((*object, at as usize), *value);
                    }
                    None => {
                        way.spoilt.insert(*object);
                    }
                },
                Effect::Load { .. } => way.loads = true,
                Effect::While { .. } | Effect::If { .. } => {
                    way.loads = true;
                    Effect::walk(std::slice::from_ref(effect), &mut |inner| {
                        if let Effect::Store { object, .. } = inner {
                            way.spoilt.insert(*object);
                        }
                    });
                }
                Effect::Output { .. } | Effect::Check { .. } => {}
            }
        }
        way
    }

    /// `None` where it is not known.
    fn value(&self, element: Element) -> Option<Value> {
        if self.spoilt.contains(&element.0) {
            return None;
        }
        Some(self.stores.get(&element).map_or(Value::Before(element), |&node| Value::Node(node)))
    }
}

/// All transitions of a step with what decisions before them do, and where they lead.
fn leaves<'a>(
    step: &'a Step,
    before: &mut Vec<&'a Effect>,
    visit: &mut dyn FnMut(&[&'a Effect], &'a Transition, usize),
) {
    match step {
        Step::Branch { before: more, then, otherwise, .. } => {
            let n = before.len();
            before.extend(more);
            leaves(then, before, visit);
            leaves(otherwise, before, visit);
            before.truncate(n);
        }
        Step::Wait(awaited) => awaited.iter().for_each(|one| leaves(&one.step, before, visit)),
        Step::Go { transition, target } => visit(before, transition, *target),
        Step::End | Step::Deoptimize => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlState;
    use crate::kernel::evaluate::{World, run};
    use crate::kernel::{Carried, Object};

    const OBJECTS: u32 = 3;
    const LENGTH: usize = 2;
    const STATES: usize = 4;

    /// Elements of the automata below.
    fn elements() -> Vec<Element> {
        (0..OBJECTS).flat_map(|object| (0..LENGTH).map(move |at| (ObjectId(object), at))).collect()
    }

    fn object(name: &str) -> Object {
        Object { name: name.to_owned(), width: 8, length: LENGTH, persistent: true, residue: None }
    }

    fn automaton(graph: Graph, states: Vec<Step>, initial: Vec<Vec<u128>>) -> Automaton {
        let state = |step| ControlState {
            step,
            loops: Vec::new(),
            description: String::new(),
            fsm: Vec::new(),
            fills: Vec::new(),
            known: Vec::new(),
        };
        let objects = vec![object("a"), object("b"), object("c")];
        Automaton { graph, objects, initial, states: states.into_iter().map(state).collect(), ..Automaton::default() }
    }

    fn read(graph: &mut Graph, (object, at): Element) -> NodeId {
        let index = graph.number(at as u128, 32);
        graph.entry(object, index, 8)
    }

    /// A transition that writes some elements, often two with what is the same.
    fn arbitrary(graph: &mut Graph, below: &mut dyn FnMut(usize) -> usize) -> Transition {
        let all = elements();
        let mut effects = Vec::new();
        for _ in 0..1 + below(3) {
            let entry = read(graph, all[below(all.len())]);
            let token = graph.input(0, below(2) as i64, 8);
            let value = match below(5) {
                0 => graph.number(7, 8),
                1 => token,
                2 => entry,
                _ => graph.xor(entry, token),
            };
            for _ in 0..1 + below(3) {
                let (object, at) = all[below(all.len())];
                // Now and then at a place that is not known.
                let index = if below(20) == 0 {
                    let bit = graph.extract(entry, 0, 1);
                    graph.zero_extend(bit, 32)
                } else {
                    graph.number(at as u128, 32)
                };
                effects.push(Effect::Store { object, index, value });
            }
        }
        Transition { effects, consumes: vec![2], produces: Vec::new() }
    }

    #[test]
    fn what_is_found_equal_is_whenever_a_state_is_reached() {
        // Knuth's linear congruential generator.
        let mut state: u64 = 1;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut n_equal = 0;
        for _ in 0..400 {
            let mut graph = Graph::new();
            let mut steps = Vec::new();
            for _ in 0..STATES {
                let condition = graph.input(1, 0, 1);
                let mut go = || {
                    let transition = arbitrary(&mut graph, &mut below);
                    Box::new(Step::Go { transition, target: below(STATES) })
                };
                steps.push(Step::Branch { before: Vec::new(), condition, then: go(), otherwise: go() });
            }
            let initial = vec![vec![0; LENGTH], vec![0, 1], vec![0; LENGTH]];
            let automaton = automaton(graph, steps, initial);
            let mut ways = Ways::of(&automaton);
            let all = elements();
            let mut equal: Vec<Vec<(Element, Element)>> = Vec::new();
            for at in 0..STATES {
                let pairs = all.iter().flat_map(|&one| all.iter().map(move |&other| (one, other)));
                equal.push(pairs.filter(|&(one, other)| one < other && ways.equal(at, one, other)).collect());
            }
            let mut reached = [false; STATES];
            for _ in 0..8 {
                let mut world = World {
                    inputs: vec![(0..200).map(|_| below(256) as u128).collect()],
                    consumed: vec![0],
                    outputs: Vec::new(),
                    objects: automaton.initial.clone(),
                };
                let mut at = 0;
                for _ in 0..24 {
                    for &(one, other) in &equal[at] {
                        let value = |(object, index): Element| world.objects[object.0 as usize][index];
                        assert_eq!(value(one), value(other), "{one:?} and {other:?} in state {at} of {automaton:?}");
                    }
                    reached[at] = true;
                    let Step::Branch { then, otherwise, .. } = &automaton.states[at].step else { unreachable!() };
                    let side = if below(2) == 0 { then } else { otherwise };
                    let Step::Go { transition, target } = side.as_ref() else { unreachable!() };
                    assert!(run(&automaton.graph, &transition.effects, &mut world, &mut 100));
                    world.consumed[0] += 2;
                    at = *target;
                }
            }
            n_equal += (0..STATES).filter(|&at| reached[at]).map(|at| equal[at].len()).sum::<usize>();
        }
        assert!(n_equal > 400, "{n_equal}");
    }

    /// A state with a loop that reads a sum and the token that it was sent as, after a first one that `before` says.
    fn sent(before: impl Fn(&mut Graph, NodeId) -> [NodeId; 2]) -> Automaton {
        let mut graph = Graph::new();
        let (sum, token) = ((ObjectId(0), 0), (ObjectId(1), 0));
        let iteration = |graph: &mut Graph| {
            let [now, waiting] = [sum, token].map(|element| read(graph, element));
            let input = graph.input(0, 0, 8);
            (graph.xor(input, waiting), graph.sum(now, input))
        };
        let store = |graph: &mut Graph, (object, at): Element, value: NodeId| {
            let index = graph.number(at as u128, 32);
            Effect::Store { object, index, value }
        };
        let go = |effects: Vec<Effect>, target: usize| Step::Go {
            transition: Transition { effects, consumes: vec![1], produces: vec![1] },
            target,
        };
        let first = graph.input(0, 0, 8);
        let [one, other] = before(&mut graph, first);
        let begin = vec![store(&mut graph, sum, one), store(&mut graph, token, other)];
        let (out, next) = iteration(&mut graph);
        let mut again = vec![store(&mut graph, sum, next), store(&mut graph, token, next)];
        again.push(Effect::Output { port: 0, offset: 0, value: out });
        let mut made = automaton(graph, vec![go(begin, 1), go(again, 1)], vec![vec![0; LENGTH]; 3]);
        let mut graph = Graph::new();
        let (out, next) = iteration(&mut graph);
        let one = |(object, index): Element| Carried { object, index, next, carry: Carry::True };
        let body = Loop {
            objects: made.objects.clone(),
            consumes: vec![(1, 8)],
            produces: vec![(1, 8)],
            outputs: vec![(0, 0, out)],
            carried: vec![one(sum), one(token)],
            counters: Vec::new(),
            graph,
        };
        made.states[1].loops.push(CountedLoop::of(body));
        made
    }

    /// Elements that iterations of the loop read.
    fn reads(automaton: &Automaton) -> Vec<Element> {
        let body = &automaton.states[1].loops[0].body;
        let mut reads: Vec<Element> =
            body.graph.reachable(body.roots()).into_iter().filter_map(|id| element(&body.graph, id)).collect();
        reads.sort_unstable();
        reads
    }

    #[test]
    fn loops_read_what_was_sent_where_it_was_kept() {
        let mut same = sent(|graph, token| [graph.not(token); 2]);
        read_once(&mut same, |_, _| true);
        assert_eq!(reads(&same), [(ObjectId(0), 0)]);
        assert_eq!(same.states[1].loops[0].body.carried.len(), 2);
    }

    #[test]
    fn what_differs_when_a_loop_begins_is_read_as_it_is() {
        let mut different = sent(|graph, token| [graph.not(token), token]);
        read_once(&mut different, |_, _| true);
        assert_eq!(reads(&different), [(ObjectId(0), 0), (ObjectId(1), 0)]);
    }
}
