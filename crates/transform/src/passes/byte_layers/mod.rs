//! Substitution-permutation layers: recognition of byte-wise structure. Sees an iteration as layers of bytes: registers
//! of up to [`LANES`] bytes, each byte a sum of functions of bytes of others.
//!
//! ```text
//! y[i] = c[i] ^ A(S(x[p(i)])) ^ B(S(x[q(i)])) ^ k[i]
//! ```
//!
//! Substitution-permutation networks are such iterations whatever words they are written in. Bytes whose sums have the
//! same functions of the same layers belong to one layer. Functions are told apart into one that is not linear (S,
//! which is looked up once for a whole register) and linear ones after it (A, B), so that permuted registers are added,
//! mapped, and added again.
//!
//! Requires: all that goes on but counters are bytes of objects, or words of them. Establishes: layers in an order in
//! which they can be computed, that say what the loop says, iteration after iteration.

mod agreement;
mod functions;
mod sums;

use crate::kernel::{Carried, Carry, Loop, NodeId, ObjectId};
use crate::passes::pass::{Form, Parts, Pass, boxed};
pub use agreement::layers_agree;
use functions::{ByteId, FunctionId, Functions, VALUES};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use sums::{Origin, Sums, bytes_of};

/// The pass.
pub const PASS: Pass = Pass {
    name: "byte-layers",
    about: "Sees an iteration as layers of bytes that are looked up, permuted, mapped and added",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| byte_layers(body).map(boxed)),
};

/// Bytes of a register.
pub const LANES: usize = 64;

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 200_000;

/// Layers of an iteration: more do not fit the instruction cache.
const MOST_LAYERS: usize = 400;

/// Bytes of a layer, at least: below, words do as well.
const FEWEST_LANES: usize = 8;

/// A linear map of bytes over GF(2): what becomes of 1, 2, 4, … 128.
pub type Linear = [u8; 8];

/// Nothing is changed.
pub const IDENTITY: Linear = [1, 2, 4, 8, 16, 32, 64, 128];

/// For each byte of a register which byte of another it takes, if any.
pub type Order = Vec<Option<u8>>;

/// What a layer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Bytes `first` and following of the tokens that an iteration takes from a port.
    Tokens {
        /// The port.
        port: usize,
        /// The first byte.
        first: usize,
        /// How many.
        n: usize,
    },
    /// Bytes of an object.
    Elements {
        /// The object.
        object: ObjectId,
        /// The first byte.
        first: usize,
        /// How many.
        n: usize,
        /// Whether iterations change them.
        carried: bool,
    },
    /// A sum of other layers.
    Sum {
        /// What is added to all of it.
        constant: Vec<u8>,
        /// Layers, looked up, permuted and added before each map.
        terms: Vec<Term>,
    },
}

/// A part of a sum: `map(Σ table(layer) permuted)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Position in [`ByteLayers::layers`], before that of the sum.
    pub layer: usize,
    /// Position in [`ByteLayers::tables`] of what is looked up first; `None`: nothing.
    pub table: Option<usize>,
    /// What is added up of it.
    pub orders: Vec<Order>,
    /// The map of the sum.
    pub map: Linear,
}

/// Bytes in memory that an iteration writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where they come from.
    pub layer: usize,
    /// Which lanes, in the order of memory.
    pub order: Order,
    /// Where they go.
    pub place: Place,
}

/// A place of bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Tokens that an iteration produces.
    Tokens {
        /// The port.
        port: usize,
        /// The first byte.
        first: usize,
    },
    /// The layer of this number, which is [`Layer::Elements`], in the next iteration.
    Next(usize),
}

/// An iteration in layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteLayers {
    /// The layers, each after those that it is made from.
    pub layers: Vec<Layer>,
    /// Functions of bytes that are not linear; all are 0 for 0.
    pub tables: Vec<[u8; VALUES]>,
    /// What leaves the iteration.
    pub written: Vec<Written>,
}

/// An iteration in layers, if it can be seen so.
pub fn byte_layers(body: &Loop) -> Option<ByteLayers> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let chained = runs(chained_bytes(body)?);
    let outputs = body.outputs.iter().map(|output| output.2);
    let roots: Vec<NodeId> = chained_elements(body).map(|one| one.next).chain(outputs).collect();
    if !body.outputs.iter().all(|output| bytes_of(body.graph.width(output.2)).is_some()) {
        return None;
    }
    let mut sums = Sums::new(body, &roots)?;
    // Bytes that leave, by where they go.
    let mut next: FxHashMap<(ObjectId, usize), ByteId> = FxHashMap::default();
    for one in chained_elements(body) {
        let n = bytes_of(body.graph.width(one.next))?;
        for number in 0..n {
            next.insert((one.object, one.index * n + number), sums.byte_of(one.next, number)?);
        }
    }
    let mut made: BTreeMap<(usize, usize), ByteId> = BTreeMap::new();
    for &(port, offset, value) in &body.outputs {
        let n = bytes_of(body.graph.width(value))?;
        for number in 0..n {
            let at = usize::try_from(offset).ok()? * n + number;
            made.insert((port as usize, at), sums.byte_of(value, number)?);
        }
    }
    let mut packs = Packs::new(body, sums);
    for &(object, first, n) in &chained {
        packs.chain(object, first, n)?;
    }
    let leaving: BTreeSet<ByteId> = next.values().chain(made.values()).copied().collect();
    packs.sums(&leaving)?;
    for (number, &(object, first, n)) in chained.iter().enumerate() {
        let bytes: Vec<ByteId> =
            (first..first + n).map(|at| next.get(&(object, at)).copied()).collect::<Option<_>>()?;
        packs.write(&bytes, Place::Next(number))?;
    }
    for (port, first, n) in runs(made.keys().copied().collect()) {
        let bytes: Vec<ByteId> = (first..first + n).map(|at| made.get(&(port, at)).copied()).collect::<Option<_>>()?;
        // Neighbours of several layers are written apart.
        let mut first = first;
        let parts: Vec<&[ByteId]> = bytes.chunk_by(|a, b| packs.layer(*a) == packs.layer(*b)).collect();
        for part in parts {
            packs.write(part, Place::Tokens { port, first })?;
            first += part.len();
        }
    }
    Some(packs.found)
}

/// Elements that go from iteration to iteration; tokens of the iteration before do too where iterations run one after
/// the other.
fn chained_elements(body: &Loop) -> impl Iterator<Item = &Carried> {
    body.carried.iter().filter(|one| matches!(one.carry, Carry::True | Carry::Delay))
}

/// The bytes of these elements.
fn chained_bytes(body: &Loop) -> Option<BTreeSet<(ObjectId, usize)>> {
    let mut bytes = BTreeSet::new();
    for one in chained_elements(body) {
        let n = bytes_of(body.objects.get(one.object.0 as usize)?.width)?;
        bytes.extend((0..n).map(|number| (one.object, one.index * n + number)));
    }
    Some(bytes)
}

/// Neighbours, as many as a register holds: where, the first, and how many.
fn runs<T: Copy + Ord>(bytes: BTreeSet<(T, usize)>) -> Vec<(T, usize, usize)> {
    let mut runs: Vec<(T, usize, usize)> = Vec::new();
    for (place, at) in bytes {
        match runs.last_mut() {
            Some((last, first, n)) if *last == place && *first + *n == at && *n < LANES => *n += 1,
            _ => runs.push((place, at, 1)),
        }
    }
    runs
}

/// Layers under way.
struct Packs<'a> {
    body: &'a Loop,
    sums: Sums<'a>,
    /// Layer and lane of each byte.
    lanes: FxHashMap<ByteId, (usize, u8)>,
    /// Not linear functions, and functions as one of them and a map.
    parts: FxHashMap<FunctionId, (Option<usize>, Linear)>,
    found: ByteLayers,
}

impl<'a> Packs<'a> {
    fn new(body: &'a Loop, sums: Sums<'a>) -> Self {
        let found = ByteLayers { layers: Vec::new(), tables: Vec::new(), written: Vec::new() };
        Packs { body, sums, lanes: FxHashMap::default(), parts: FxHashMap::default(), found }
    }

    /// A layer of bytes that go from iteration to iteration.
    fn chain(&mut self, object: ObjectId, first: usize, n: usize) -> Option<()> {
        self.found.layers.push(Layer::Elements { object, first, n, carried: true });
        let layer = self.found.layers.len() - 1;
        for (number, origin) in self.sums.bytes.iter().enumerate() {
            match *origin {
                Origin::Element { object: read, at } if read == object && (first..first + n).contains(&at) => {
                    self.lanes.insert(ByteId(number as u32), (layer, (at - first) as u8));
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Layers of all that leads to these bytes.
    fn sums(&mut self, leaving: &BTreeSet<ByteId>) -> Option<()> {
        let mut needed: BTreeSet<ByteId> = BTreeSet::new();
        let mut open: Vec<ByteId> = leaving.iter().copied().collect();
        while let Some(byte) = open.pop() {
            if needed.insert(byte) {
                open.extend(self.sums.terms(byte).into_iter().flat_map(|terms| terms.keys().copied()));
            }
        }
        self.sources(&needed)?;
        // Bytes with the same functions of the same layers are one layer; operands have smaller numbers.
        let mut layers: FxHashMap<Vec<(usize, FunctionId)>, usize> = FxHashMap::default();
        let mut members: Vec<Vec<ByteId>> = vec![Vec::new(); self.found.layers.len()];
        for &byte in &needed {
            let Some(terms) = self.sums.terms(byte) else { continue };
            let mut key: Vec<(usize, FunctionId)> = Vec::new();
            for (operand, &function) in terms {
                key.push((self.lanes.get(operand)?.0, function));
            }
            key.sort_unstable();
            let layer = *layers.entry(key).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            members[layer].push(byte);
            if members[layer].len() > LANES || members.len() > MOST_LAYERS {
                return None;
            }
            self.lanes.insert(byte, (layer, 0));
        }
        for (layer, members) in members.iter_mut().enumerate().skip(self.found.layers.len()) {
            if members.len() < FEWEST_LANES {
                return None;
            }
            self.put(layer, members);
            let sum = self.sum(members)?;
            self.found.layers.push(sum);
        }
        Some(())
    }

    /// Layers of what is read from memory and not carried on.
    fn sources(&mut self, needed: &BTreeSet<ByteId>) -> Option<()> {
        let mut tokens: BTreeMap<(usize, usize), ByteId> = BTreeMap::new();
        let mut elements: BTreeMap<(ObjectId, usize), ByteId> = BTreeMap::new();
        for &byte in needed.iter().filter(|byte| !self.lanes.contains_key(byte)) {
            match self.sums.bytes.get(byte.0 as usize)? {
                Origin::Token { port, at } => _ = tokens.insert((*port, *at), byte),
                Origin::Element { object, at } => _ = elements.insert((*object, *at), byte),
                Origin::Sum(_) => {}
            }
        }
        // What counts on is not in memory while the loop runs.
        if self.body.carried.iter().any(|one| elements.keys().any(|(object, _)| *object == one.object)) {
            return None;
        }
        for (port, first, n) in runs(tokens.keys().copied().collect()) {
            self.found.layers.push(Layer::Tokens { port, first, n });
            self.note(|at| tokens.get(&(port, first + at)).copied(), n)?;
        }
        for (object, first, n) in runs(elements.keys().copied().collect()) {
            self.found.layers.push(Layer::Elements { object, first, n, carried: false });
            self.note(|at| elements.get(&(object, first + at)).copied(), n)?;
        }
        Some(())
    }

    /// Remembers the lanes of the last layer.
    fn note(&mut self, byte: impl Fn(usize) -> Option<ByteId>, n: usize) -> Option<()> {
        let layer = self.found.layers.len() - 1;
        for at in 0..n {
            self.lanes.insert(byte(at)?, (layer, at as u8));
        }
        Some(())
    }

    /// Puts bytes into lanes: those of what is added to them as it is, where there is such a thing, since that need not
    /// be permuted; else in the order of the program, so that rounds that do the same have the same permutations.
    fn put(&mut self, layer: usize, members: &mut [ByteId]) {
        members.sort_by_cached_key(|byte| (self.sums.first_seen(*byte), *byte));
        let mut plain: BTreeMap<Reverse<usize>, Vec<u8>> = BTreeMap::new();
        for byte in members.iter() {
            for (operand, &function) in self.sums.terms(*byte).into_iter().flatten() {
                if let (Functions::IDENTITY, Some(&(from, lane))) = (function, self.lanes.get(operand)) {
                    plain.entry(Reverse(from)).or_default().push(lane);
                }
            }
        }
        // All bytes have the same functions of the same layers, each as often.
        let lanes = plain
            .into_values()
            .find(|lanes| lanes.len() == members.len() && lanes.iter().collect::<BTreeSet<_>>().len() == lanes.len());
        let lanes = lanes.unwrap_or_else(|| (0..members.len() as u8).collect());
        self.lanes.extend(members.iter().zip(lanes).map(|(byte, lane)| (*byte, (layer, lane))));
    }

    /// The sum of a layer, from those of its bytes.
    fn sum(&mut self, members: &[ByteId]) -> Option<Layer> {
        let n = members.iter().map(|byte| self.lanes.get(byte).map(|lane| usize::from(lane.1) + 1)).max()??;
        let mut constant = vec![0; n];
        // For each layer and function the lanes that it takes, lane by lane.
        let mut taken: BTreeMap<(usize, FunctionId), Vec<Vec<u8>>> = BTreeMap::new();
        for byte in members {
            let lane = usize::from(self.lanes.get(byte)?.1);
            let Origin::Sum(sum) = self.sums.bytes.get(byte.0 as usize)? else { return None };
            constant[lane] = sum.constant as u8;
            for (operand, &function) in &sum.terms {
                let (layer, from) = *self.lanes.get(operand)?;
                taken.entry((layer, function)).or_insert_with(|| vec![Vec::new(); n])[lane].push(from);
            }
        }
        let mut maps: BTreeMap<(usize, Option<usize>), BTreeMap<Linear, BTreeSet<Order>>> = BTreeMap::new();
        for ((layer, function), lanes) in taken {
            let (table, map) = self.parts(function)?;
            maps.entry((layer, table)).or_default().entry(map).or_default().extend(orders(lanes));
        }
        let mut terms = Vec::new();
        for ((layer, table), mut maps) in maps {
            fewer_maps(&mut maps);
            let term = |(map, orders): (Linear, BTreeSet<Order>)| Term {
                layer,
                table,
                orders: orders.into_iter().collect(),
                map,
            };
            terms.extend(maps.into_iter().map(term));
        }
        Some(Layer::Sum { constant, terms })
    }

    /// A function as one of the tables and a linear map.
    fn parts(&mut self, function: FunctionId) -> Option<(Option<usize>, Linear)> {
        if let Some(parts) = self.parts.get(&function) {
            return Some(*parts);
        }
        let values: Vec<u8> = self.sums.functions.values(function).iter().map(|&value| value as u8).collect();
        let values: [u8; VALUES] = values.try_into().ok()?;
        let mut parts = linear(|x| values[usize::from(x)]).map(|map| (None, map));
        for (number, table) in self.found.tables.iter().enumerate() {
            parts = parts.or_else(|| {
                let inverse = inverse(table)?;
                let map = linear(|y| values[usize::from(inverse[usize::from(y)])])?;
                Some((Some(number), map))
            });
        }
        let parts = parts.unwrap_or_else(|| {
            // Others are seen as maps of this one, if it takes each value once.
            self.found.tables.push(values);
            (Some(self.found.tables.len() - 1), IDENTITY)
        });
        self.parts.insert(function, parts);
        Some(parts)
    }

    /// The layer of a byte.
    fn layer(&self, byte: ByteId) -> Option<usize> {
        self.lanes.get(&byte).map(|lane| lane.0)
    }

    /// Bytes go to memory.
    fn write(&mut self, bytes: &[ByteId], place: Place) -> Option<()> {
        let lanes: Vec<(usize, u8)> = bytes.iter().map(|byte| self.lanes.get(byte).copied()).collect::<Option<_>>()?;
        let layer = lanes.first()?.0;
        let order = lanes.iter().map(|lane| Some(lane.1)).collect();
        lanes.iter().all(|lane| lane.0 == layer).then(|| self.found.written.push(Written { layer, order, place }))
    }
}

/// The map that a function is, if it is linear.
fn linear(of: impl Fn(u8) -> u8) -> Option<Linear> {
    let map = IDENTITY.map(&of);
    (0..=255).all(|x| apply(&map, x) == of(x)).then_some(map)
}

/// The inverse of a function that takes each value once.
fn inverse(table: &[u8; VALUES]) -> Option<[u8; VALUES]> {
    let mut inverse = [None; VALUES];
    for x in 0..=255_u8 {
        inverse[usize::from(table[usize::from(x)])] = Some(x);
    }
    inverse.iter().all(Option::is_some).then(|| inverse.map(Option::unwrap_or_default))
}

/// What a map makes of a byte.
pub fn apply(map: &Linear, x: u8) -> u8 {
    map.iter().enumerate().filter(|(bit, _)| x >> bit & 1 == 1).fold(0, |sum, (_, image)| sum ^ image)
}

/// Permutations that together take for each lane what it takes; as many lanes as can be stay where they are.
fn orders(mut lanes: Vec<Vec<u8>>) -> Vec<Order> {
    let mut orders = Vec::new();
    let stays = |(lane, taken): (usize, &Vec<u8>)| taken.is_empty() || taken.contains(&(lane as u8));
    if lanes.iter().enumerate().all(stays) {
        orders.push(lanes.iter().enumerate().map(|(lane, taken)| (!taken.is_empty()).then_some(lane as u8)).collect());
        lanes.iter_mut().enumerate().for_each(|(lane, taken)| taken.retain(|from| *from != lane as u8));
    }
    while lanes.iter().any(|taken| !taken.is_empty()) {
        orders.push(lanes.iter_mut().map(Vec::pop).collect());
    }
    orders
}

/// Says maps that are the sum of two others by those.
fn fewer_maps(maps: &mut BTreeMap<Linear, BTreeSet<Order>>) {
    let all: Vec<Linear> = maps.keys().copied().filter(|map| *map != IDENTITY).collect();
    for map in all {
        let others: Vec<Linear> = maps.keys().copied().filter(|other| *other != map).collect();
        let pair = others.iter().enumerate().find_map(|(at, a)| {
            let b = others[at + 1..].iter().find(|b| (0..8).all(|bit| a[bit] ^ b[bit] == map[bit]))?;
            Some([*a, *b])
        });
        let Some(pair) = pair else { continue };
        let orders = maps.remove(&map).unwrap_or_default();
        for other in pair {
            let own = maps.entry(other).or_default();
            // What is added twice is gone.
            orders.iter().for_each(|order| _ = own.remove(order) || own.insert(order.clone()));
        }
    }
    maps.retain(|_, orders| !orders.is_empty());
}

#[cfg(test)]
mod tests;

impl Parts for ByteLayers {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        Vec::new()
    }

    fn beside(&self) -> Vec<String> {
        let order = |order: &Order| {
            let lane = |lane: &Option<u8>| lane.map_or(" -".to_owned(), |lane| format!(" {lane}"));
            order.iter().map(lane).collect::<String>()
        };
        let mut lines = Vec::new();
        for (number, layer) in self.layers.iter().enumerate() {
            match layer {
                Layer::Tokens { port, first, n } => {
                    lines.push(format!("layer {number}: bytes {first}..={} of input {port}", first + n - 1));
                }
                Layer::Elements { object, first, n, carried } => {
                    let how = if *carried { ", carried" } else { "" };
                    lines.push(format!("layer {number}: bytes {first}..={} of o{}{how}", first + n - 1, object.0));
                }
                Layer::Sum { constant, terms } => {
                    lines.push(format!("layer {number}: sum of {constant:02x?}"));
                    for Term { layer, table, orders, map } in terms {
                        let table = table.map_or(String::new(), |table| format!(" in table {table}"));
                        let map = if *map == IDENTITY { String::new() } else { format!(", mapped by {map:02x?}") };
                        let orders: Vec<String> = orders.iter().map(order).collect();
                        lines.push(format!("  layer {layer}{table}, lanes{}{map}", orders.join(" +")));
                    }
                }
            }
        }
        for (number, table) in self.tables.iter().enumerate() {
            lines.push(format!("table {number}: {:02x?} and so on", &table[..8]));
        }
        for Written { layer, order: lanes, place } in &self.written {
            let place = match place {
                Place::Tokens { port, first } => format!("output {port}, from byte {first} on"),
                Place::Next(layer) => format!("what layer {layer} is next"),
            };
            lines.push(format!("layer {layer}, lanes{}: {place}", order(lanes)));
        }
        lines
    }

    fn agree_with(&self, body: &Loop) -> bool {
        layers_agree(body, self)
    }
}
