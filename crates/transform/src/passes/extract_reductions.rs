//! Extraction of reductions. Takes sums out of a loop whose other iterations need not wait for each other.
//!
//! Two kinds of sums, both of sixteen bytes without carries. A *total* is only added to:
//!
//! ```text
//! t := t ^ x                     where x are tokens of the iteration, or anything else that it makes
//! ```
//!
//! and a *running sum* is what tokens are made from, of entries of a list that no iteration changes, at places that
//! counters tell:
//!
//! ```text
//! r := r ^ l[f(n)]; y := g(x, r)        or before the addition:        y := g(x, r); r := r ^ l[f(n)]
//! ```
//!
//! A loop with such sums becomes three: places of entries for each iteration, which counters tell; the loop without
//! sums, for which running sums are tokens that somebody writes down before; and totals over tokens that lie in memory.
//! All but the additions is independent, and most entries are known beforehand where places come again ([`Period`]).
//! Numbering the blocks of a message by sums of masks is such a loop, and a sum of what is authenticated too.
//!
//! Requires: all carries that are [`Carry::True`] belong to sums. Establishes: the loops that are left have none.

mod period;

pub use period::{PERIOD, Period};

use super::pass::{Form, ITERATIONS, Parts, Pass, Property, boxed, leaves_the_same};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::{Carried, Carry, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "extract-reductions",
    about: "Takes sums out of a loop whose other iterations are independent",
    requires: &[Property::Dependent],
    establishes: &[Property::Independent],
    gives_up: &[],
    form: Form::Parts(|body| extract_reductions(body).map(boxed)),
};

/// Bytes of a sum.
pub const BYTES: usize = 16;

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// Sixteen neighbouring elements of eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of which object.
    pub object: ObjectId,
    /// The first.
    pub first: usize,
}

/// A sum of entries that tokens are made from.
#[derive(Clone, Debug)]
pub struct Running {
    /// Where it is kept.
    pub sum: Place,
    /// The list with the entries.
    pub list: ObjectId,
    /// Makes the place of the first byte of an iteration's entry, one token of the first output port.
    pub index: Loop,
    /// Where most of these places come again, and this is the only such sum.
    pub period: Option<Period>,
    /// The input port on which [`Reductions::independent`] gets the sum: one that the network does not have.
    /// With a period it gets what has been added since the period began, and the element holds what the sum was then.
    pub port: usize,
    /// Whether that is the sum before the iteration, and not after it.
    pub before: bool,
}

/// A sum of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Where it is kept.
    pub sum: Place,
    /// Whether the tokens are of an output port.
    pub is_output: bool,
    /// Which port; where what is added is no token, an output port that the network does not have and on which
    /// [`Reductions::independent`] puts it out ([`Reductions::n_outputs`]).
    pub port: usize,
    /// The first of them, in the iteration.
    pub first: usize,
}

/// A loop taken apart.
#[derive(Clone, Debug)]
pub struct Reductions {
    /// What is left of it.
    pub independent: Loop,
    /// Output ports of the loop; further ones of what is left have what is only added to totals.
    pub n_outputs: usize,
    /// Before it.
    pub running: Vec<Running>,
    /// After it.
    pub totals: Vec<Total>,
}

/// Takes a loop apart, if all that goes from iteration to iteration are sums.
pub fn extract_reductions(body: &Loop) -> Option<Reductions> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let sums = sums(body)?;
    let own: FxHashSet<ObjectId> = sums.iter().map(|sum| sum.place.object).collect();
    let made: FxHashMap<NodeId, (bool, usize, usize)> = body
        .outputs
        .iter()
        .map(|&(port, offset, value)| (value, (true, port as usize, offset as usize)))
        .chain(body.graph.reachable(body.roots()).into_iter().filter_map(|id| match *body.graph.op(id) {
            Op::Input { port, offset } => Some((id, (false, port as usize, usize::try_from(offset).ok()?))),
            _ => None,
        }))
        .collect();
    let (mut running, mut totals) = (Vec::new(), Vec::new());
    let mut put_out: Vec<&Sum> = Vec::new();
    let mut written: FxHashMap<NodeId, (usize, usize)> = FxHashMap::default();
    for sum in &sums {
        if let Some(total) = sum.total(body, &made) {
            totals.push(total);
            continue;
        }
        let Some((list, place)) = sum.entry(body) else {
            let port = body.produces.len() + put_out.len();
            totals.push(Total { sum: sum.place, is_output: true, port, first: 0 });
            put_out.push(sum);
            continue;
        };
        let port = body.consumes.len() + running.len();
        let (read, before) = sum.read(body, &own);
        written.extend(read.into_iter().map(|(node, at)| (node, (port, at))));
        let index = index_loop(body, place)?;
        let period = period::period(&index).filter(|found| {
            let length = body.objects[list.0 as usize].length;
            found.places.iter().all(|&place| place + BYTES <= length)
        });
        running.push(Running { sum: sum.place, list, index, period, port, before });
    }
    if running.iter().any(|one| own.contains(&one.list)) {
        return None;
    }
    if running.len() > 1 {
        running.iter_mut().for_each(|one| one.period = None);
    }
    let independent = without(body, &own, &written, &running, &put_out)?;
    Some(Reductions { independent, n_outputs: body.produces.len(), running, totals })
}

/// A carried sum: where it is, what it becomes, and what is added for that.
struct Sum {
    place: Place,
    next: Vec<NodeId>,
    added: Vec<NodeId>,
}

/// Everything that truly goes from iteration to iteration, as sums.
fn sums(body: &Loop) -> Option<Vec<Sum>> {
    let mut objects: BTreeMap<ObjectId, BTreeMap<usize, &Carried>> = BTreeMap::new();
    for one in body.carried.iter().filter(|one| one.carry == Carry::True) {
        objects.entry(one.object).or_default().insert(one.index, one);
    }
    let mut sums = Vec::new();
    for (object, elements) in objects {
        let first = *elements.keys().next()?;
        let in_a_row = elements.keys().copied().eq(first..first + BYTES);
        if !in_a_row || body.objects.get(object.0 as usize)?.width != 8 {
            return None;
        }
        let next: Vec<NodeId> = elements.values().map(|one| one.next).collect();
        let added = elements.values().map(|one| added(&body.graph, one)).collect::<Option<_>>()?;
        sums.push(Sum { place: Place { object, first }, next, added });
    }
    (!sums.is_empty()).then_some(sums)
}

/// What an iteration adds to an element.
fn added(graph: &Graph, one: &Carried) -> Option<NodeId> {
    let Op::Xor(a, b) = *graph.op(one.next) else { return None };
    let is_own = |id: NodeId| match *graph.op(id) {
        Op::Entry { object, index } => object == one.object && graph.constant(index) == Some(one.index as u128),
        _ => false,
    };
    match (is_own(a), is_own(b)) {
        (true, false) => Some(b),
        (false, true) => Some(a),
        _ => None,
    }
}

impl Sum {
    /// As a sum of tokens.
    fn total(&self, body: &Loop, made: &FxHashMap<NodeId, (bool, usize, usize)>) -> Option<Total> {
        let &(is_output, port, first) = made.get(self.added.first()?)?;
        let ports = if is_output { &body.produces } else { &body.consumes };
        let in_order = |(at, added)| made.get(added) == Some(&(is_output, port, first + at));
        let all = self.added.iter().enumerate().all(in_order) && ports.get(port)?.1 == 8;
        all.then_some(Total { sum: self.place, is_output, port, first })
    }

    /// What iterations read of it, with the positions in it, and whether that is the sum before their addition. Who
    /// reads both finds one left.
    fn read(&self, body: &Loop, own: &FxHashSet<ObjectId>) -> (Vec<(NodeId, usize)>, bool) {
        let graph = &body.graph;
        let after: Vec<(NodeId, usize)> = self.next.iter().enumerate().map(|(at, &next)| (next, at)).collect();
        let others = body.carried.iter().filter(|one| !own.contains(&one.object)).map(|one| one.next);
        let roots = body.outputs.iter().map(|output| output.2).chain(others);
        let entry = |id: NodeId| match *graph.op(id) {
            Op::Entry { object, index } if object == self.place.object => {
                let at = usize::try_from(graph.constant(index)?).ok()?.checked_sub(self.place.first)?;
                (at < BYTES).then_some((id, at))
            }
            _ => None,
        };
        let inside = graph.reachable_but(roots, |id| self.next.contains(&id));
        let before: Vec<(NodeId, usize)> = inside.into_iter().filter_map(entry).collect();
        if before.is_empty() { (after, false) } else { (before, true) }
    }

    /// As a sum of entries: the list, and the place of the first byte.
    fn entry(&self, body: &Loop) -> Option<(ObjectId, NodeId)> {
        let graph = &body.graph;
        let place = |id: NodeId| match *graph.op(id) {
            Op::Entry { object, index } => Some((object, index)),
            _ => None,
        };
        let (list, first) = place(*self.added.first()?)?;
        let neighbour = |at: usize, index: NodeId| match *graph.op(index) {
            Op::Add(a, b) => a == first && graph.constant(b) == Some(at as u128),
            _ => at == 0 && index == first,
        };
        let in_order =
            |(at, &added)| place(added).is_some_and(|(object, index)| object == list && neighbour(at, index));
        let bytes = body.objects.get(list.0 as usize)?.width == 8;
        (bytes && self.added.iter().enumerate().all(in_order)).then_some((list, first))
    }
}

/// The loop that makes places, of what counters tell.
fn index_loop(body: &Loop, place: NodeId) -> Option<Loop> {
    let reads = entries(&body.graph, [place])?;
    let carried: Vec<Carried> =
        body.carried.iter().filter(|one| reads.contains(&(one.object, one.index))).cloned().collect();
    let counts = |one: &Carried| matches!(one.carry, Carry::Counter { .. });
    let from_tokens = body.graph.reachable([place]).into_iter().any(|id| matches!(body.graph.op(id), Op::Input { .. }));
    if !carried.iter().all(counts) || from_tokens {
        return None;
    }
    let width = body.graph.width(place);
    let made = Loop {
        consumes: vec![(0, 8); body.consumes.len()],
        produces: vec![(1, width)],
        outputs: vec![(0, 0, place)],
        carried,
        ..body.clone()
    };
    Some(made.with_own_counters())
}

/// Elements at known places that nodes are made from; `None` if others are.
fn entries(graph: &Graph, roots: impl IntoIterator<Item = NodeId>) -> Option<FxHashSet<(ObjectId, usize)>> {
    let read = graph.reachable(roots).into_iter().filter_map(|id| match *graph.op(id) {
        Op::Entry { object, index } => Some(graph.constant(index).map(|at| (object, at as usize))),
        _ => None,
    });
    read.collect()
}

/// The loop without sums; `written` are nodes that stand in tokens, and what is added to those of `put_out` becomes tokens.
fn without(
    body: &Loop,
    own: &FxHashSet<ObjectId>,
    written: &FxHashMap<NodeId, (usize, usize)>,
    running: &[Running],
    put_out: &[&Sum],
) -> Option<Loop> {
    let counted = |one: &Carried| {
        running.iter().any(|running| {
            running.index.carried.iter().any(|counted| (counted.object, counted.index) == (one.object, one.index))
        })
    };
    let carried = body.carried.iter().filter(|one| one.carry != Carry::True && !counted(one)).cloned().collect();
    let mut consumes = body.consumes.clone();
    consumes.extend(running.iter().map(|_| (BYTES as u64, 8)));
    let (mut produces, mut outputs) = (body.produces.clone(), body.outputs.clone());
    for sum in put_out {
        let tokens = sum.added.iter().enumerate();
        outputs.extend(tokens.map(|(at, &added)| (produces.len() as u32, at as u64, added)));
        produces.push((BYTES as u64, 8));
    }
    let periodic = running.iter().find(|one| one.period.is_some()).map(|one| one.sum);
    let left = Loop { consumes, produces, outputs, carried, ..body.clone() }.rebuilt(|graph, new, id| {
        let Some(&(port, at)) = written.get(&id) else { return graph.copy(&body.graph, id, new) };
        let sum = graph.input(port as u32, at as i64, 8);
        let Some(before) = periodic else { return Some(sum) };
        let index = graph.number((before.first + at) as u128, 32);
        let before = graph.entry(before.object, index, 8);
        Some(graph.xor(sum, before))
    })?;
    let left = left.with_own_counters();
    // What was taken out may not be read any more.
    let gone = |object: ObjectId, at: Option<usize>| {
        let counted = running.iter().flat_map(|one| &one.index.carried);
        own.contains(&object) && periodic.is_none_or(|kept| kept.object != object)
            || counted.into_iter().any(|one| one.object == object && at.is_none_or(|at| at == one.index))
    };
    let reads = left.graph.reachable(left.roots()).into_iter().any(|id| match *left.graph.op(id) {
        Op::Entry { object, index } => gone(object, left.graph.constant(index).map(|at| at as usize)),
        _ => false,
    });
    (!reads).then_some(left)
}

impl Place {
    fn text(self) -> String {
        format!("o{}[{}..={}]", self.object.0, self.first, self.first + BYTES - 1)
    }

    fn read(self, world: &World) -> Option<[u128; BYTES]> {
        let elements = world.objects.get(self.object.0 as usize)?.get(self.first..self.first + BYTES)?;
        elements.try_into().ok()
    }

    /// Adds bytes to those in memory.
    fn add(self, world: &mut World, bytes: &[u128]) -> Option<()> {
        let elements = world.objects.get_mut(self.object.0 as usize)?.get_mut(self.first..self.first + BYTES)?;
        elements.iter_mut().zip(bytes).for_each(|(element, byte)| *element ^= byte);
        Some(())
    }
}

impl Running {
    /// What the sum is in each iteration, less what it is before the first where it has a period, and all that is added in
    /// the end. What tells the places goes on in `counted`.
    fn sums(&self, world: &World, counted: &mut World) -> Option<(Vec<u128>, Vec<u128>)> {
        let mut places = World { outputs: vec![Vec::new(); self.index.produces.len()], ..world.clone() };
        run_loop(&self.index, &mut places, ITERATIONS);
        for one in &self.index.carried {
            let object = one.object.0 as usize;
            counted.objects[object][one.index] = places.objects[object][one.index];
        }
        let begins = if self.period.is_some() { [0; BYTES] } else { self.sum.read(world)? };
        let (mut tokens, mut added) = (Vec::new(), [0; BYTES]);
        let now = |added: &[u128]| -> Vec<u128> { begins.iter().zip(added).map(|(one, other)| one ^ other).collect() };
        for place in places.outputs.first()? {
            if self.before {
                tokens.extend(now(&added));
            }
            let list = world.objects.get(self.list.0 as usize)?;
            let entry = list.get(*place as usize..)?.get(..BYTES)?;
            added.iter_mut().zip(entry).for_each(|(sum, byte)| *sum ^= byte);
            if !self.before {
                tokens.extend(now(&added));
            }
        }
        Some((tokens, added.to_vec()))
    }
}

impl Parts for Reductions {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        let places = self.running.iter().map(|running| ("places", &running.index));
        [("independent", &self.independent)].into_iter().chain(places).collect()
    }

    fn beside(&self) -> Vec<String> {
        let running = self.running.iter().map(|one| {
            let when = if one.before { "before" } else { "after" };
            let period = if one.period.is_some() { ", whose places come again" } else { "" };
            format!(
                "running sum: {} of o{}{period}; input {} is it {when} the addition",
                one.sum.text(),
                one.list.0,
                one.port
            )
        });
        let totals = self.totals.iter().map(|one| {
            let port = if one.is_output { "output" } else { "input" };
            let last = one.first + BYTES - 1;
            format!("total: {} of {port} {}, tokens {}..={last}", one.sum.text(), one.port, one.first)
        });
        running.chain(totals).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            let n_outputs = world.outputs.len();
            let (mut sums, begins) = (Vec::new(), world.clone());
            for running in &self.running {
                let (tokens, added) = running.sums(&begins, world)?;
                world.inputs.resize(world.inputs.len().max(running.port + 1), Vec::new());
                world.inputs[running.port] = tokens;
                sums.push((running.sum, added));
            }
            world.consumed.resize(world.inputs.len(), 0);
            world.outputs.resize(n_outputs.max(self.independent.produces.len()), Vec::new());
            run_loop(&self.independent, world, ITERATIONS);
            sums.into_iter().try_for_each(|(sum, added)| sum.add(world, &added))?;
            for total in &self.totals {
                let (lists, ports) = match total.is_output {
                    true => (&world.outputs, &self.independent.produces),
                    false => (&world.inputs, &body.consumes),
                };
                let per_iteration = ports.get(total.port)?.0 as usize;
                let tokens = lists.get(total.port)?.clone();
                for iteration in tokens.chunks(per_iteration).take(ITERATIONS as usize) {
                    total.sum.add(world, iteration.get(total.first..)?.get(..BYTES)?)?;
                }
            }
            world.outputs.truncate(n_outputs);
            Some(())
        })
    }
}
