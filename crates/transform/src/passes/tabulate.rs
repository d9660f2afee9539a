//! Tabulation of functions of narrow values (T-tables). Puts tables in the place of what depends on one byte of what
//! differs from iteration to iteration.
//!
//! Twice: first where all else is constant, so that the tables are constant too; then where all else is what no
//! iteration changes, so that a table is built when the loop begins:
//!
//! ```text
//! y0 := S[a] ^ 2 * S[b];  y1 := 2 * S[a] ^ S[b]     =>     y := T0[a] ^ T1[b]
//! z := S[S[a ^ k[0]] ^ k[1]]                        =>     T2[i] := S[S[i ^ k[0]] ^ k[1]] for all i;  z := T2[a]
//! ```
//!
//! Sums over the same bytes go together into one word, as in the first line. Nothing depends on how a function was
//! written: a node belongs to the narrow value through which all that reaches it from the tokens of the iteration goes,
//! its *window*.
//!
//! Result: the loop means the same, if the tables of [`Tabulated::built`] are filled first; and no window is an
//! index that did not decide where something is read before, so that no secret becomes an address.

use super::pass::{BlockRef, Form, ITERATIONS, Parts, Pass, Seen, boxed, leaves_the_same};
use crate::kernel::evaluate::{Environment, Run, run_loop, values};
use crate::kernel::{Effect, Graph, Loop, NodeId, Object, ObjectId, Op, Table, TableId};
use headrace_boolean::byte_permute::AffineByte;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

mod bitwise_windows;
mod order;
mod windows;

pub use bitwise_windows::tables_of_spread_bits;
use order::{Rows, orders};
use windows::{Window, Windows};

/// The pass.
pub const PASS: Pass = Pass {
    name: "tabulate",
    about: "Puts tables in the place of what depends on one byte, constant ones or built before the first iteration",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| tabulate(body).map(boxed)),
};

/// The pass.
pub const AFFINE_BYTES: Pass = Pass {
    name: "tabulate-affine-bytes",
    about: "Puts tables in the place of affine functions of a byte",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Loop(affine_bytes),
};

/// The pass.
pub const BUILT: Pass = Pass {
    name: "tabulate-built",
    about: "Puts tables that are built before the first iteration in the place of what depends on one byte",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| built_tables(body).map(boxed)),
};

/// The pass.
pub const BITWISE_WINDOWS: Pass = Pass {
    name: "tabulate-bitwise-windows",
    about: "Puts tables in the place of functions of a byte whose bits are spread over words",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Loop(tables_of_spread_bits),
};

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 100_000;

/// Bits that index a table.
const INDEX_BITS: std::ops::RangeInclusive<u32> = 4..=8;

/// Bits of an element.
const MOST_BITS: u32 = 64;

/// Operations of a function that a look-up is better than.
const LEAST_OPERATIONS: usize = 2;

/// How often an iteration must read a table that is built for one call.
const LEAST_READS: usize = 4;

/// Bytes of all tables that are built, which stay in the nearest cache.
const MOST_BUILT: usize = 8 << 10;

/// Bytes of all constant tables.
const MOST_CONSTANT: usize = 24 << 10;

/// A table that is filled when the loop begins.
#[derive(Clone, Debug)]
pub struct Built {
    /// The table.
    pub object: ObjectId,
    /// An object of one element, which holds the index of the element that `value` computes.
    pub position: ObjectId,
    /// What the element at the index is.
    pub value: NodeId,
}

/// A loop with tables.
#[derive(Clone, Debug)]
pub struct Tabulated {
    /// The loop. Its last objects are those of `built`.
    pub body: Loop,
    /// What is filled before the first iteration.
    pub built: Vec<Built>,
}

/// A loop with tables in the place of what depends on one byte, if there is something to put in one.
pub fn tabulate(body: &Loop) -> Option<Tabulated> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let constant = with_constant_tables(body);
    let (tabulated, built) = with_built_tables(constant.as_ref().unwrap_or(body), &FxHashSet::default());
    match (tabulated, constant) {
        (Some(body), _) => Some(Tabulated { body, built }),
        (None, Some(body)) => Some(Tabulated { body, built: Vec::new() }),
        (None, None) => None,
    }
}

/// The same with constant tables only.
pub fn constant_tables(body: &Loop) -> Option<Loop> {
    if body.graph.len() > MOST_NODES { None } else { with_constant_tables(body) }
}

/// The affine map of a byte that a table is.
pub fn affine_of(table: &Table) -> Option<AffineByte> {
    let elements: Vec<u8> = table.elements.iter().map(|&element| u8::try_from(element).ok()).collect::<Option<_>>()?;
    AffineByte::of_table(&<[u8; 256]>::try_from(elements).ok()?)
}

/// A loop in which functions of a byte that are affine are tables, for machines that have instructions for them: see
/// [`affine_of`].
pub fn affine_bytes(body: &Loop) -> Option<Loop> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let order = body.needed();
    let all = (0..body.graph.tables().len() as u32).map(TableId).collect();
    let windows = Windows::new(body, &order, false, &all);
    let parts = windows.parts(&order, &body.roots());
    let mut functions = Functions::new(&body.graph);
    let mut graph = functions.scratch.clone();
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut found = false;
    for &id in &order {
        let width = body.graph.width(id);
        let window = windows.of(id).filter(|window| width == 8 && window.width == 8 && parts.contains(&id));
        let table = window.filter(|_| windows.operations(id) >= LEAST_OPERATIONS).and_then(|window| {
            let function = functions.sum(&windows, window, &[id], 8);
            let elements = functions.elements(window, &[function]).to_vec();
            let table = Table { name: "affine".to_owned(), width, elements: elements.into() };
            affine_of(&table).map(|_| (window, table))
        });
        let value = match table {
            Some((window, table)) => {
                found = true;
                let table = graph.add_table(table);
                let index = window.index(&mut graph, &new)?;
                graph.lookup(table, index)
            }
            None => graph.copy(&body.graph, id, &new)?,
        };
        new.insert(id, value);
    }
    if found { body.moved(graph, &new) } else { None }
}

/// A loop with tables that are built when it begins, and no other ones. Tables that are affine stay as they are.
pub fn built_tables(body: &Loop) -> Option<Tabulated> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let is_affine = |table: &TableId| affine_of(body.graph.table(*table)).is_some();
    let affine = (0..body.graph.tables().len() as u32).map(TableId).filter(is_affine).collect();
    let (body, built) = with_built_tables(body, &affine);
    body.map(|body| Tabulated { body, built })
}

/// Whether a look-up is better than computing a function.
fn is_better(windows: &Windows, id: NodeId) -> bool {
    windows.of(id).is_some_and(|window| INDEX_BITS.contains(&window.width))
        && windows.graph().width(id) <= MOST_BITS
        && windows.operations(id) >= LEAST_OPERATIONS
        && windows.addresses(id)
}

/// Copies what lies between a window and a node, with `position` in the place of the window.
struct Copier<'a> {
    windows: &'a Windows<'a>,
    graph: &'a mut Graph,
    /// Nodes from outside, if they have others there than in the loop's graph.
    outside: Option<&'a FxHashMap<NodeId, NodeId>>,
    window: Window,
    position: NodeId,
    known: FxHashMap<NodeId, NodeId>,
}

impl Copier<'_> {
    fn copy(&mut self, id: NodeId) -> NodeId {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let from = self.windows.graph();
        let new = if self.window.is(from, id) {
            self.position
        } else if let Some(lo) = self.window.part(from, id) {
            self.graph.extract(self.position, lo, from.width(id))
        } else if !self.windows.varies(id) {
            match (self.outside, from.op(id)) {
                (Some(outside), _) => outside.get(&id).copied().unwrap_or(id),
                (None, Op::Const(value)) => self.graph.number(*value, from.width(id)),
                (None, op) => {
                    let operands: Vec<NodeId> = op.operands().into_iter().map(|operand| self.copy(operand)).collect();
                    self.graph.rebuild(op, from.width(id), &operands)
                }
            }
        } else {
            let op = from.op(id);
            let operands: Vec<NodeId> = op.operands().into_iter().map(|operand| self.copy(operand)).collect();
            self.graph.rebuild(op, from.width(id), &operands)
        };
        self.known.insert(id, new);
        new
    }
}

// --- constant tables ------------------------------------------------------------------------------------------------

/// Sums over the same windows, which one word holds.
struct Group {
    windows: BTreeSet<Window>,
    /// The first in the most significant bits.
    members: Vec<Sum>,
}

#[derive(Clone)]
struct Sum {
    id: NodeId,
    /// What depends on one of the windows.
    inner: Vec<(Window, NodeId)>,
    others: Vec<NodeId>,
}

/// The tables of a graph as functions of an index.
struct Functions {
    scratch: Graph,
    known: FxHashMap<NodeId, Vec<u128>>,
}

struct AtPosition(u128);

impl Environment for AtPosition {
    fn input(&self, _port: u32, _offset: i64) -> u128 {
        self.0
    }
    fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
        0
    }
}

impl Functions {
    fn new(graph: &Graph) -> Functions {
        Functions { scratch: Graph::with_tables_of(graph), known: FxHashMap::default() }
    }

    /// A function of a window: the sum of what depends on it.
    fn sum(&mut self, windows: &Windows, window: Window, leaves: &[NodeId], width: u32) -> NodeId {
        let position = self.scratch.input(0, 0, window.width);
        let known = FxHashMap::default();
        let mut copier = Copier { windows, graph: &mut self.scratch, outside: None, window, position, known };
        let zero = copier.graph.number(0, width);
        leaves.iter().fold(zero, |sum, &leaf| {
            let leaf = copier.copy(leaf);
            copier.graph.xor(sum, leaf)
        })
    }

    /// The elements of the table of several functions of a window, one beside the other.
    fn elements(&mut self, window: Window, functions: &[NodeId]) -> &[u128] {
        let value = self.scratch.concat(functions);
        let scratch = &self.scratch;
        self.known.entry(value).or_insert_with(|| {
            let at = |index: u128| values(scratch, &[value], &AtPosition(index)).get(&value).copied().unwrap_or(0);
            (0..1 << window.width).map(at).collect()
        })
    }
}

fn with_constant_tables(body: &Loop) -> Option<Loop> {
    let order = body.needed();
    let none = FxHashSet::default();
    let windows = Windows::new(body, &order, false, &none);
    let groups = groups(body, &order, &windows);
    let group_of: FxHashMap<NodeId, &Group> =
        groups.iter().flat_map(|group| group.members.iter().map(move |sum| (sum.id, group))).collect();
    let in_groups: FxHashSet<NodeId> = group_of.keys().copied().collect();
    let exits: FxHashSet<NodeId> =
        (windows.exits(&order, &body.roots(), &in_groups).into_iter()).filter(|&id| is_better(&windows, id)).collect();
    if groups.is_empty() && exits.is_empty() {
        return None;
    }
    let mut functions = Functions::new(&body.graph);
    let mut graph = functions.scratch.clone();
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut bytes = 0;
    let mut rows = Rows::default();
    let mut look_up = |graph: &mut Graph,
                       new: &FxHashMap<NodeId, NodeId>,
                       functions: &mut Functions,
                       window: Window,
                       parts: &[NodeId]| {
        let elements = functions.elements(window, parts).to_vec();
        let width: u32 = parts.iter().map(|&part| functions.scratch.width(part)).sum();
        let n_tables = graph.tables().len();
        let size = elements.len() * width.next_power_of_two().max(8) as usize / 8;
        let table = graph.add_table(Table { name: "merged".to_owned(), width, elements: elements.into() });
        bytes += if graph.tables().len() > n_tables { size } else { 0 };
        let index = window.index(graph, new)?;
        Some(graph.lookup(table, index))
    };
    for &id in &order {
        if new.contains_key(&id) {
            continue;
        }
        if let Some(&group) = group_of.get(&id) {
            for chunk in chunks(&group.members, &body.graph) {
                let chunk = arranged(chunk, group, &windows, &mut functions, &mut rows, &mut graph, &new);
                let widths: Vec<u32> = chunk.iter().map(|sum| body.graph.width(sum.id)).collect();
                let mut word = None;
                for &window in &group.windows {
                    let parts = terms(&chunk, window, &windows, &mut functions);
                    let one = look_up(&mut graph, &new, &mut functions, window, &parts)?;
                    word = Some(word.map_or(one, |word| graph.xor(word, one)));
                }
                let mut word = word?;
                // What else is added goes to the whole word, where it is known by now.
                let is_known = chunk.iter().flat_map(|sum| &sum.others).all(|other| new.contains_key(other));
                let others: Vec<NodeId> = (chunk.iter().zip(&widths))
                    .map(|(sum, &width)| {
                        let zero = graph.number(0, width);
                        sum.others.iter().filter_map(|other| new.get(other)).fold(zero, |all, &one| graph.xor(all, one))
                    })
                    .collect();
                if is_known {
                    let others = graph.concat(&others);
                    word = graph.xor(word, others);
                }
                let mut lo = graph.width(word);
                for (sum, width) in chunk.iter().zip(widths) {
                    lo -= width;
                    let mut value = graph.extract(word, lo, width);
                    if !is_known && sum.id != id {
                        continue;
                    }
                    if !is_known {
                        value = sum
                            .others
                            .iter()
                            .filter_map(|other| new.get(other))
                            .fold(value, |all, &one| graph.xor(all, one));
                    }
                    new.insert(sum.id, value);
                }
            }
            if new.contains_key(&id) {
                continue;
            }
            return None;
        }
        let value = if exits.contains(&id) {
            let window = windows.of(id)?;
            let function = functions.sum(&windows, window, &[id], body.graph.width(id));
            look_up(&mut graph, &new, &mut functions, window, &[function])?
        } else {
            graph.copy(&body.graph, id, &new)?
        };
        new.insert(id, value);
    }
    if bytes > MOST_CONSTANT {
        return None;
    }
    body.moved(graph, &new)
}

/// What sums have as terms that depend on a window.
fn terms(sums: &[Sum], window: Window, windows: &Windows, functions: &mut Functions) -> Vec<NodeId> {
    let of = |sum: &Sum| {
        let leaves: Vec<NodeId> = sum.inner.iter().filter(|one| one.0 == window).map(|one| one.1).collect();
        functions.sum(windows, window, &leaves, windows.graph().width(sum.id))
    };
    sums.iter().map(of).collect()
}

/// Sums in an order with which tables that are there serve again, if there is one: of several that with which least
/// must be put together that is added to all of them.
fn arranged(
    sums: &[Sum],
    group: &Group,
    windows: &Windows,
    functions: &mut Functions,
    known: &mut Rows,
    graph: &mut Graph,
    new: &FxHashMap<NodeId, NodeId>,
) -> Vec<Sum> {
    let rows: Vec<Vec<NodeId>> = group.windows.iter().map(|&window| terms(sums, window, windows, functions)).collect();
    let pieces = |order: &Vec<usize>, graph: &mut Graph| {
        let added: Vec<NodeId> = (order.iter().filter_map(|&member| sums.get(member)))
            .flat_map(|sum| sum.others.first().and_then(|other| new.get(other)).copied())
            .collect();
        if added.is_empty() {
            return 0;
        }
        let word = graph.concat(&added);
        if let Op::Concat(parts) = graph.op(word) { parts.len() } else { 1 }
    };
    let as_they_are: Vec<usize> = (0..sums.len()).collect();
    let found = orders(&rows, known);
    let best = found.into_iter().min_by_key(|order| (pieces(order, graph), *order != as_they_are));
    let order = best.unwrap_or(as_they_are);
    for row in &rows {
        known.insert(order.iter().map(|&member| row[member]).collect());
    }
    order.into_iter().map(|member| sums[member].clone()).collect()
}

/// Pieces of a group that fit in words.
fn chunks<'a>(members: &'a [Sum], graph: &Graph) -> Vec<&'a [Sum]> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut width = 0;
    for (at, sum) in members.iter().enumerate() {
        let more = graph.width(sum.id);
        if width + more > MOST_BITS {
            pieces.push(&members[start..at]);
            (start, width) = (at, 0);
        }
        width += more;
    }
    pieces.push(&members[start..]);
    pieces
}

/// Sums that go together, and for which tables are better.
fn groups(body: &Loop, order: &[NodeId], windows: &Windows) -> Vec<Group> {
    let graph = &body.graph;
    let mut at: FxHashMap<NodeId, (usize, usize)> = FxHashMap::default();
    for (number, &id) in order.iter().enumerate() {
        if let Op::Concat(parts) = graph.op(id) {
            for (place, &part) in parts.iter().enumerate() {
                at.entry(part).or_insert((number, place));
            }
        }
    }
    let mut by_windows: BTreeMap<Vec<Window>, Vec<Sum>> = BTreeMap::new();
    for (id, leaves) in windows.sums(order, &body.roots()) {
        let inner: Vec<(Window, NodeId)> = (leaves.iter())
            .filter_map(|&leaf| windows.of(leaf).map(|window| (window, leaf)))
            .filter(|(window, _)| INDEX_BITS.contains(&window.width))
            .collect();
        let wanted: BTreeSet<Window> = inner.iter().filter(|one| windows.addresses(one.1)).map(|one| one.0).collect();
        if wanted.is_empty() || graph.width(id) > MOST_BITS {
            continue;
        }
        let (inner, rest): (Vec<_>, Vec<_>) = leaves
            .into_iter()
            .map(|leaf| (windows.of(leaf), leaf))
            .partition(|(window, _)| window.is_some_and(|window| wanted.contains(&window)));
        let inner = inner.into_iter().filter_map(|(window, leaf)| Some((window?, leaf))).collect();
        let others = rest.into_iter().map(|one| one.1).collect();
        by_windows.entry(wanted.into_iter().collect()).or_default().push(Sum { id, inner, others });
    }
    let mut groups = Vec::new();
    for (of, mut members) in by_windows {
        members.sort_by_key(|sum| (at.get(&sum.id).copied().unwrap_or((usize::MAX, 0)), sum.id));
        let operations: BTreeSet<NodeId> =
            members.iter().flat_map(|sum| &sum.inner).flat_map(|one| windows.cone(one.1)).collect();
        let terms: usize = members.iter().map(|sum| sum.inner.len()).sum();
        let look_ups = of.len() * chunks(&members, graph).len();
        if look_ups * 2 < operations.len() + terms {
            groups.push(Group { windows: of.into_iter().collect(), members });
        }
    }
    groups
}

// --- tables that are built ------------------------------------------------------------------------------------------

/// Whether a function reads one element, at a place that is computed: a table of it would be a copy of a part of
/// another.
fn is_part(graph: &Graph, function: NodeId) -> bool {
    let read = |id: NodeId| match graph.op(id) {
        Op::Entry { index, .. } | Op::Lookup(_, index) if graph.constant(*index).is_none() => Some(*index),
        _ => None,
    };
    read(function).is_some_and(|index| graph.reachable([index]).into_iter().all(|id| read(id).is_none()))
}

fn with_built_tables(body: &Loop, apart: &FxHashSet<TableId>) -> (Option<Loop>, Vec<Built>) {
    let order = body.needed();
    let windows = Windows::new(body, &order, true, apart);
    let roots = body.roots();
    let exits = windows.exits(&order, &roots, &FxHashSet::default());
    // The functions, as nodes of a graph in which a place of its own stands for the window.
    let mut scratch = body.graph.clone();
    let position = |graph: &mut Graph, width: u32| {
        let first = graph.number(0, 64);
        graph.entry(ObjectId((body.objects.len() + width as usize) as u32), first, width)
    };
    let mut function_of: BTreeMap<NodeId, NodeId> = BTreeMap::new();
    let mut reads: BTreeMap<NodeId, usize> = BTreeMap::new();
    for &id in &exits {
        let Some(window) = windows.of(id) else { continue };
        if !is_better(&windows, id) || !windows.reads_held(id) {
            continue;
        }
        let position = position(&mut scratch, window.width);
        let (graph, known) = (&mut scratch, FxHashMap::default());
        let mut copier =
            Copier { windows: &windows, graph, outside: Some(&FxHashMap::default()), window, position, known };
        let function = copier.copy(id);
        if is_part(&scratch, function) {
            continue;
        }
        function_of.insert(id, function);
        *reads.entry(function).or_default() += 1;
    }
    reads.retain(|_, n| *n >= LEAST_READS);
    function_of.retain(|_, function| reads.contains_key(function));
    let bytes: usize =
        (reads.keys()).map(|&id| (scratch.width(id).next_power_of_two().max(8) as usize / 8) << INDEX_BITS.end()).sum();
    if reads.is_empty() || bytes > MOST_BUILT {
        return (None, Vec::new());
    }
    // Positions, one object for each width of an index up to the widest, then the tables.
    let mut objects = body.objects.clone();
    for width in 0..=*INDEX_BITS.end() {
        objects.push(Object {
            name: format!("position_{width}_"),
            width: width.max(1),
            length: 1,
            persistent: true,
            residue: None,
        });
    }
    let mut built: Vec<Built> = Vec::new();
    let mut object_of: FxHashMap<NodeId, ObjectId> = FxHashMap::default();
    for (&id, &function) in &function_of {
        let Some(window) = windows.of(id) else { continue };
        object_of.entry(function).or_insert_with(|| {
            let object = ObjectId(objects.len() as u32);
            let name = format!("built_{}_", built.len());
            objects.push(Object {
                name,
                width: scratch.width(function),
                length: 1 << window.width,
                persistent: true,
                residue: None,
            });
            let position = ObjectId((body.objects.len() + window.width as usize) as u32);
            built.push(Built { object, position, value: function });
            object
        });
    }
    // The loop, in the graph of the functions.
    let mut graph = scratch;
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in &order {
        let (op, width) = (body.graph.op(id), body.graph.width(id));
        let object = function_of.get(&id).and_then(|function| object_of.get(function));
        let value = match (object, windows.of(id)) {
            (Some(&object), Some(window)) => match window.index(&mut graph, &new) {
                Some(index) => graph.entry(object, index, width),
                None => return (None, Vec::new()),
            },
            _ if !windows.varies(id) => id,
            _ => {
                let operands: Vec<NodeId> =
                    op.operands().iter().map(|operand| new.get(operand).copied().unwrap_or(*operand)).collect();
                graph.rebuild(op, width, &operands)
            }
        };
        new.insert(id, value);
    }
    let tabulated = body.moved(graph, &new).map(|body| Loop { objects, ..body });
    (tabulated, built)
}

impl Parts for Tabulated {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("tabulated", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        let line = |built: &Built| {
            let Loop { graph, objects, .. } = &self.body;
            let mut graph = graph.clone();
            let zero = graph.number(0, 64);
            let at = graph.entry(built.position, zero, objects[built.position.0 as usize].width);
            let store = Effect::Store { object: built.object, index: at, value: built.value };
            let block = BlockRef { graph: &graph, objects, effects: &[store], n_indexed: objects.len(), filled: &[] };
            let n = objects[built.object.0 as usize].length;
            format!(
                "before it, for o{}[0] from 0 to {}: {}",
                built.position.0,
                n - 1,
                Seen::Block(block).text().trim_end()
            )
        };
        self.built.iter().map(line).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            let own = self.body.objects.get(body.objects.len()..)?;
            world.objects.extend(own.iter().map(|object| vec![0; object.length]));
            for built in &self.built {
                for at in 0..world.objects[built.object.0 as usize].len() {
                    world.objects[built.position.0 as usize][0] = at as u128;
                    let value = Run::begin(world).value(&self.body.graph, world, built.value);
                    world.objects[built.object.0 as usize][at] = value;
                }
            }
            run_loop(&self.body, world, ITERATIONS);
            Some(())
        })
    }
}
