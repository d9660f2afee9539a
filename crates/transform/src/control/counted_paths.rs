//! Merging of alternative paths through a cycle into one loop with counters. Cycles that do the same with data are one
//! loop, whatever they count.
//!
//! A message that is cut into bursts goes round two cycles: one takes a block of the burst, the other takes the first
//! block of the next burst. Tokens go the same way in both; only counters differ, which decisions read and data does
//! not. So a loop may run all iterations at once, if what the counters do in the meantime is worked out beforehand: as
//! often as possible the inner cycle; then whole bursts, as many as are left (the outer cycle and as many times the
//! inner one as it makes possible, where that is a known number); then the outer cycle once; and so on.

use super::automaton::{Automaton, CountedLoop, CountedPath, CountedPaths, LastIteration, Next, Trips, Update};
use super::compose_transitions::{Element, Together, Way};
use super::list_windows::Windows;
use super::loops::{Turn, copied};
use crate::kernel::{Carry, Effect, Graph, NodeId, Op, Transition};
use headrace_ir::Network;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Times that the inner cycle may follow the outer one.
const BURST: u64 = 256;

/// Choices of the outer cycle that are tried to make it a known number.
const CHOICES: usize = 8;

/// What is control, and a way that ends in another state, with that state.
type Ending = (BTreeSet<Element>, Option<(Together, usize)>);

/// Bits of an element that counts.
const WIDTH: u32 = 64;

/// A loop of which an iteration is one time round any of several cycles through a state; gives which of the others
/// those are.
pub(super) fn merged(
    automaton: &Automaton,
    network: &Network,
    graph: &mut Graph,
    head: usize,
    inner: &[&Way],
    others: &[Vec<&Way>],
    work: &mut usize,
) -> Option<(CountedLoop, Vec<usize>)> {
    let mut all = vec![Together::of(network, graph, inner, None, work)?];
    all[0].drop_dead(automaton, graph, head);
    all[0] = all[0].clone().with_windows(graph, &automaton.objects)?;
    let data = needed(graph, &all[0])?;
    let mut control: BTreeSet<Element> = BTreeSet::new();
    let mut taken = Vec::new();
    for (number, other) in others.iter().enumerate() {
        let Some(mut other) = Together::of(network, graph, other, None, work) else { continue };
        other.drop_dead(automaton, graph, head);
        let Some(other) = other.with_windows(graph, &automaton.objects) else { continue };
        let Some(differing) = differing(&all[0], &other) else { continue };
        all.push(other);
        let more: BTreeSet<Element> = control.union(&differing).copied().collect();
        match decided(graph, &all, more, &data) {
            Some(more) if !differing.is_empty() => {
                control = more;
                taken.push(number);
            }
            _ => {
                all.pop();
            }
        }
    }
    if taken.is_empty() {
        return None;
    }
    let without = (control, None);
    let last = last(automaton, network, graph, inner, &all, &without.0, &data, work);
    let merged = last.into_iter().chain([without]).find_map(|(control, last)| {
        let rounds = rounds_of(graph, &all, &control, last, work)?;
        let mut of_data = all.first()?.clone();
        of_data.stores.retain(|element, _| !control.contains(element));
        of_data.conditions.clear();
        let turn = Turn::of(graph, &of_data)?;
        let mut counted = turn.packed(automaton, network, graph, &of_data, inner.len());
        counted.rounds = Some(rounds);
        Some(counted)
    });
    merged.map(|counted| (counted, taken))
}

/// How the counters go on: `all` are the inner cycle and the others.
fn rounds_of(
    graph: &mut Graph,
    all: &[Together],
    control: &BTreeSet<Element>,
    last: Option<(Together, usize)>,
    work: &mut usize,
) -> Option<CountedPaths> {
    let (inner_way, others_ways) = all.split_first()?;
    let mut ways = vec![counted(graph, &only(inner_way, control), 1)?];
    for other in others_ways {
        let outer = only(other, control);
        ways.extend(burst(graph, &outer, &only(inner_way, control), work));
        ways.push(one_time(&outer));
    }
    let last = last.map(|(way, target)| LastIteration { way: one_time(&only(&way, control)), target });
    Some(packed(graph, ways, last))
}

/// A way that is taken once.
fn one_time(way: &Together) -> CountedPath {
    let mut conditions = way.conditions.clone();
    conditions.sort_unstable();
    conditions.dedup();
    let updates =
        way.stores.iter().map(|(&(object, index), &value)| Update { object, index, next: Next::Value(value) });
    CountedPath {
        iterations: 1,
        once: true,
        trips: conditions.into_iter().map(|(condition, holds)| Trips::Unless(condition, holds)).collect(),
        updates: updates.collect(),
    }
}

/// The beginning of the inner cycle that moves all its tokens, with the state that it leads to; and what is control
/// then.
#[expect(clippy::too_many_arguments, reason = "all that is known of the cycles")]
fn last(
    automaton: &Automaton,
    network: &Network,
    graph: &mut Graph,
    inner: &[&Way],
    all: &[Together],
    control: &BTreeSet<Element>,
    data: &BTreeSet<Element>,
    work: &mut usize,
) -> Option<Ending> {
    (1..inner.len()).find_map(|n| {
        let mut begun = Together::of(network, graph, &inner[..n], None, work)?;
        let target = inner[n - 1].target;
        begun.drop_dead(automaton, graph, target);
        let begun = begun.with_windows(graph, &automaton.objects)?;
        let differing = differing(all.first()?, &begun)?;
        let mut with: Vec<Together> = all.to_vec();
        with.push(begun.clone());
        let control = decided(graph, &with, control.union(&differing).copied().collect(), data)?;
        Some((control, Some((begun, target))))
    })
}

/// Elements that tokens depend on, now or in a later iteration.
fn needed(graph: &Graph, iteration: &Together) -> Option<BTreeSet<Element>> {
    let mut found = BTreeSet::new();
    let mut open: Vec<NodeId> = iteration.outputs.iter().map(|output| output.2).collect();
    while !open.is_empty() {
        let mut more = Vec::new();
        for element in read(graph, &open, iteration)? {
            if found.insert(element) {
                more.extend(iteration.stores.get(&element));
            }
        }
        open = more;
    }
    Some(found)
}

/// Elements that values are computed from; `None` where it is not known which of those that an iteration changes.
fn read(graph: &Graph, values: &[NodeId], iteration: &Together) -> Option<Vec<Element>> {
    let mut found = Vec::new();
    for id in graph.reachable(values.iter().copied()) {
        if let Op::Entry { object, index } = graph.op(id) {
            match graph.constant(*index) {
                Some(at) => found.push((*object, at as usize)),
                None if iteration.stores.keys().any(|element| element.0 == *object) => return None,
                None => {}
            }
        }
    }
    Some(found)
}

/// Elements that come out differently; `None` if tokens do.
fn differing(one: &Together, other: &Together) -> Option<BTreeSet<Element>> {
    let sorted = |iteration: &Together| {
        let mut outputs = iteration.outputs.clone();
        outputs.sort_unstable();
        outputs
    };
    if one.windows != other.windows
        || one.consumed != other.consumed
        || one.produced != other.produced
        || sorted(one) != sorted(other)
    {
        return None;
    }
    let all = one.stores.keys().chain(other.stores.keys());
    Some(all.filter(|element| one.stores.get(element) != other.stores.get(element)).copied().collect())
}

/// These elements and all that decisions and they themselves are made from, as far as iterations change it: `None` if
/// that takes tokens, tables or what tokens are made from.
fn decided(
    graph: &Graph,
    all: &[Together],
    mut control: BTreeSet<Element>,
    data: &BTreeSet<Element>,
) -> Option<BTreeSet<Element>> {
    loop {
        let mut more = control.clone();
        for iteration in all {
            let mut values: Vec<NodeId> = iteration.conditions.iter().map(|condition| condition.0).collect();
            values.extend(control.iter().filter_map(|element| iteration.stores.get(element)));
            if graph
                .reachable(values.iter().copied())
                .into_iter()
                .any(|id| matches!(graph.op(id), Op::Input { .. } | Op::Lookup(..)))
            {
                return None;
            }
            let changed = |element: &Element| all.iter().any(|iteration| iteration.stores.contains_key(element));
            more.extend(read(graph, &values, iteration)?.into_iter().filter(changed));
        }
        if more.iter().any(|element| data.contains(element)) {
            return None;
        }
        if more.len() == control.len() {
            return Some(control);
        }
        control = more;
    }
}

/// What an iteration does with some elements.
fn only(iteration: &Together, control: &BTreeSet<Element>) -> Together {
    Together {
        stores: iteration
            .stores
            .iter()
            .filter(|(element, _)| control.contains(element))
            .map(|(e, v)| (*e, *v))
            .collect(),
        consumed: vec![0; iteration.consumed.len()],
        produced: vec![0; iteration.produced.len()],
        outputs: Vec::new(),
        conditions: iteration.conditions.clone(),
        lists: Vec::new(),
        windows: Windows::default(),
    }
}

/// A way round that can be taken any number of times, if counters say how many.
fn counted(graph: &mut Graph, way: &Together, iterations: u64) -> Option<CountedPath> {
    let turn = Turn::of(graph, way)?;
    let mut updates = Vec::new();
    for carried in &turn.carried {
        let next = match carried.carry {
            Carry::Counter { counter, lo: 0 } if graph.width(carried.next) <= WIDTH => {
                let counter = &turn.counters[counter];
                if graph.width(counter.start) != graph.width(carried.next) {
                    return None;
                }
                Next::Step(counter.step)
            }
            Carry::Delay => Next::Value(carried.next),
            _ => return None,
        };
        updates.push(Update { object: carried.object, index: carried.index, next });
    }
    Some(CountedPath { iterations, once: false, trips: turn.trips, updates })
}

/// The outer cycle and then the inner one as often as it makes possible, if that is a known number, for some choice of
/// the outer one.
fn burst(graph: &mut Graph, outer: &Together, inner: &Together, work: &mut usize) -> Option<CountedPath> {
    let mut effects = Vec::new();
    for (&(object, index), &value) in &inner.stores {
        effects.push(Effect::Store { object, index: graph.number(index as u128, 32), value });
    }
    let transition =
        Transition { effects, consumes: vec![0; inner.consumed.len()], produces: vec![0; inner.produced.len()] };
    let inner = Way { decisions: inner.conditions.clone(), transition: &transition, target: 0 };
    let mut choices = vec![None];
    for id in graph.reachable(outer.stores.values().copied()) {
        if let Op::Select(condition, ..) = *graph.op(id)
            && choices.len() < CHOICES
            && !choices.contains(&Some((condition, true)))
        {
            choices.extend([Some((condition, true)), Some((condition, false))]);
        }
    }
    choices.into_iter().find_map(|choice| {
        let mut whole = match choice {
            Some((condition, holds)) => chosen(graph, outer, condition, holds)?,
            None => outer.clone(),
        };
        let mut times = 0;
        loop {
            let before = whole.clone();
            if whole.then(graph, &inner, None, work).is_none() {
                return if times > 0 { counted(graph, &before, times + 1) } else { None };
            }
            times += 1;
            if times > BURST {
                return None;
            }
        }
    })
}

/// A way with a condition taken for granted, and tested.
fn chosen(graph: &mut Graph, way: &Together, condition: NodeId, holds: bool) -> Option<Together> {
    let bit = graph.bit(holds);
    let mut memo = FxHashMap::from_iter([(condition, bit)]);
    let nothing = Together { stores: Default::default(), conditions: Vec::new(), ..way.clone() };
    let mut out = nothing.clone();
    for (&element, &value) in &way.stores {
        out.stores.insert(element, nothing.node(graph, value, &mut memo)?);
    }
    for &(test, wanted) in &way.conditions {
        let test = nothing.node(graph, test, &mut memo)?;
        match graph.constant(test) {
            Some(value) if (value == 1) == wanted => {}
            Some(_) => return None,
            None => out.conditions.push((test, wanted)),
        }
    }
    out.conditions.push((condition, holds));
    Some(out)
}

/// Counted paths in a graph of their own.
fn packed(graph: &Graph, ways: Vec<CountedPath>, last: Option<LastIteration>) -> CountedPaths {
    let mut roots = Vec::new();
    for way in ways.iter().chain(last.iter().map(|last| &last.way)) {
        roots.extend(way.trips.iter().map(Trips::node));
        roots.extend(way.updates.iter().filter_map(|update| match update.next {
            Next::Value(value) => Some(value),
            Next::Step(_) => None,
        }));
    }
    let (own, memo) = copied(graph, roots);
    let of = |way: CountedPath| CountedPath {
        trips: way.trips.into_iter().map(|trip| trip.with(|node| memo[&node])).collect(),
        updates: way
            .updates
            .into_iter()
            .map(|update| match update.next {
                Next::Value(value) => Update { next: Next::Value(memo[&value]), ..update },
                Next::Step(_) => update,
            })
            .collect(),
        ..way
    };
    let last = last.map(|last| LastIteration { way: of(last.way), ..last });
    CountedPaths { ways: ways.into_iter().map(of).collect(), last, graph: own }
}
