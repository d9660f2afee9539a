//! Decomposition of words into byte planes. Words become bytes, each a value of its own, and tables of words become
//! tables of bytes, so that a vector can hold one byte of many iterations.
//!
//! ```text
//! y := S[x >> 24] + z     =>     T0[i] := S[i] & 0xff;  T1[i] := S[i] >> 8 & 0xff; ...      before the first iteration
//!                                y0 := T0[x3] + z0;  y1 := T1[x3] + z1 - (y0 < z0 ? -1 : 0); ...
//! ```
//!
//! Machines choose a byte from tables of 256 that lie in registers by permutations, so no address depends on an index;
//! what the tables hold may be secret, or not be known before the loop begins. Bitwise operations go byte by byte,
//! shifts by whole bytes cost nothing, and sums hand a carry to the next byte.
//!
//! Result: the loop means the same, if the tables of [`Tabulated::built`] are filled first. All tokens, all indices
//! that differ from iteration to iteration and all that is looked up there have 8 bits at most.

use super::pass::{Form, Pass, boxed};
use super::tabulate::{Built, Tabulated};
use crate::kernel::graph::mask;
use crate::kernel::{Carry, Graph, Loop, NodeId, Object, ObjectId, Op, Table, TableId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "byte-planes",
    about: "Makes bytes of words, and tables of bytes of tables, those of the context before the first iteration",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| byte_planes(body).map(boxed)),
};

/// Bits of a plane.
const BYTE: u32 = 8;

/// Values of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// Bytes of all tables that are built, which stay in the nearest cache.
const MOST_BUILT: usize = 16 << 10;

/// Tables that registers hold are whole numbers of so many elements.
const CHOICE: usize = 16;

/// A loop of bytes; `None` where iterations need each other, nothing is looked up, or something has no form in bytes.
pub fn byte_planes(body: &Loop) -> Option<Tabulated> {
    let tokens = body.consumes.iter().chain(&body.produces);
    let has_words = tokens.into_iter().any(|&(tokens, width)| tokens > 0 && width > BYTE);
    if has_words || !body.is_independent() || body.graph.len() > MOST_NODES {
        return None;
    }
    let order = body.needed();
    let mut planes = Planes::new(body, &order);
    for &id in &order {
        let found = planes.of_node(id);
        planes.known.extend(found.map(|found| (id, found)));
    }
    if planes.n_looked_up == 0 || planes.built.len() << BYTE > MOST_BUILT {
        return None;
    }
    let outputs = body.outputs.iter().map(|&(port, offset, value)| {
        let width = body.graph.width(value);
        Some((port, offset, planes.bits(value, 0, width)?))
    });
    let outputs = outputs.collect::<Option<_>>()?;
    let mut carried = body.carried.clone();
    for one in carried.iter_mut().filter(|one| one.carry == Carry::Delay) {
        let width = body.graph.width(one.next);
        if width <= BYTE {
            one.next = planes.bits(one.next, 0, width)?;
        }
    }
    let Planes { graph, objects, built, .. } = planes;
    Some(Tabulated { body: Loop { graph, objects, outputs, carried, ..body.clone() }, built })
}

/// Where an element is looked up: at a byte behind a fixed place.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    byte: NodeId,
}

/// What goes to the next byte: what this one gives by itself, or what it got, if it passes that on: where it is the
/// `last` of its values.
fn handed_on(graph: &mut Graph, over: NodeId, got: Option<NodeId>, (partial, last): (NodeId, NodeId)) -> NodeId {
    let Some(got) = got else { return over };
    let is_last = graph.equal(partial, last);
    let passes = graph.sign_extend(is_last, BYTE);
    let passed = graph.and(passes, got);
    graph.or(over, passed)
}

struct Planes<'a> {
    body: &'a Loop,
    /// The graph of the loop with what is added; nodes of the loop keep their numbers.
    graph: Graph,
    /// Nodes that differ from iteration to iteration.
    varying: FxHashSet<NodeId>,
    /// Bytes of nodes that are computed, the least significant first.
    known: FxHashMap<NodeId, Vec<NodeId>>,
    objects: Vec<Object>,
    built: Vec<Built>,
    /// The tables of bytes of an object from a place on.
    tables: FxHashMap<(ObjectId, usize, usize), Vec<ObjectId>>,
    n_looked_up: usize,
}

impl<'a> Planes<'a> {
    fn new(body: &'a Loop, order: &[NodeId]) -> Self {
        let carried: FxHashSet<(ObjectId, u128)> =
            body.carried.iter().map(|one| (one.object, one.index as u128)).collect();
        let mut varying = FxHashSet::default();
        for &id in order {
            let op = body.graph.op(id);
            let is_read = match op {
                Op::Input { .. } | Op::Loaded(_) => true,
                Op::Entry { object, index } => {
                    body.graph.constant(*index).is_some_and(|index| carried.contains(&(*object, index)))
                }
                _ => false,
            };
            if is_read || op.operands().iter().any(|operand| varying.contains(operand)) {
                varying.insert(id);
            }
        }
        Planes {
            body,
            graph: body.graph.clone(),
            varying,
            known: FxHashMap::default(),
            objects: body.objects.clone(),
            built: Vec::new(),
            tables: FxHashMap::default(),
            n_looked_up: 0,
        }
    }

    /// Some bits of a node of the loop, one byte at most.
    fn bits(&mut self, id: NodeId, lo: u32, n: u32) -> Option<NodeId> {
        let body = self.body;
        if !self.varying.contains(&id) {
            return Some(self.graph.extract(id, lo, n));
        }
        match body.graph.op(id) {
            Op::Extract(a, from) => self.bits(*a, from + lo, n),
            Op::Concat(parts) => {
                let mut pieces = Vec::new();
                let mut end = body.graph.width(id);
                for &part in parts.iter() {
                    let start = end - body.graph.width(part);
                    let (low, high) = (lo.max(start), (lo + n).min(end));
                    if low < high {
                        pieces.push(self.bits(part, low - start, high - low)?);
                    }
                    end = start;
                }
                Some(self.graph.concat(&pieces))
            }
            _ => {
                let planes = self.known.get(&id)?.clone();
                let mut pieces = Vec::new();
                let mut at = lo;
                while at < lo + n {
                    let within = at % BYTE;
                    let plane = *planes.get((at / BYTE) as usize)?;
                    let taken = (lo + n - at).min(self.graph.width(plane) - within);
                    pieces.push(self.graph.extract(plane, within, taken));
                    at += taken;
                }
                pieces.reverse();
                Some(self.graph.concat(&pieces))
            }
        }
    }

    /// All bytes of a node of the loop.
    fn bytes(&mut self, id: NodeId) -> Option<Vec<NodeId>> {
        let width = self.body.graph.width(id);
        (0..width.div_ceil(BYTE)).map(|at| self.bits(id, at * BYTE, (width - at * BYTE).min(BYTE))).collect()
    }

    /// The bytes of a node that is computed; `None` where it is not, or has no form in bytes.
    fn of_node(&mut self, id: NodeId) -> Option<Vec<NodeId>> {
        let body = self.body;
        let (op, width) = (body.graph.op(id), body.graph.width(id));
        if !self.varying.contains(&id) {
            return None;
        }
        match op {
            Op::Extract(..) | Op::Concat(_) => None,
            Op::Input { .. } => Some(self.taken_apart(id, width)),
            Op::Entry { index, .. } if body.graph.constant(*index).is_some() => Some(self.taken_apart(id, width)),
            Op::Entry { object, index } => self.entry(*object, *index),
            Op::Lookup(table, index) => self.lookup(*table, *index),
            Op::Not(a) => {
                let a = self.bytes(*a)?;
                Some(a.into_iter().map(|a| self.graph.not(a)).collect())
            }
            Op::And(a, b) => self.each(*a, *b, Graph::and),
            Op::Or(a, b) => self.each(*a, *b, Graph::or),
            Op::Xor(a, b) => self.each(*a, *b, Graph::xor),
            Op::Add(a, b) => self.sum(*a, *b),
            Op::Sub(a, b) => self.difference(*a, *b),
            Op::Equal(a, b) => {
                let equal = self.each(*a, *b, Graph::equal)?;
                let all = equal.into_iter().reduce(|all, one| self.graph.and(all, one));
                Some(vec![all?])
            }
            Op::Less(a, b) => {
                let (a, b) = (self.bytes(*a)?, self.bytes(*b)?);
                let mut less = self.graph.bit(false);
                for (a, b) in a.into_iter().zip(b) {
                    let (here, equal) = (self.graph.less(a, b), self.graph.equal(a, b));
                    let below = self.graph.and(equal, less);
                    less = self.graph.or(here, below);
                }
                Some(vec![less])
            }
            Op::Select(condition, a, b) => {
                let condition = self.bits(*condition, 0, 1)?;
                let (a, b) = (self.bytes(*a)?, self.bytes(*b)?);
                Some(a.into_iter().zip(b).map(|(a, b)| self.graph.select(condition, a, b)).collect())
            }
            Op::Loaded(_) | Op::Instruction { .. } | Op::LookupBytes(..) | Op::Const(_) => None,
            // Bytes are computed with as they are.
            _ => {
                let operands = op.operands();
                if width > BYTE || operands.iter().any(|&operand| body.graph.width(operand) > BYTE) {
                    return None;
                }
                let operands: Option<Vec<NodeId>> =
                    operands.iter().map(|&operand| self.bits(operand, 0, body.graph.width(operand))).collect();
                Some(vec![self.graph.rebuild(op, width, &operands?)])
            }
        }
    }

    fn taken_apart(&mut self, id: NodeId, width: u32) -> Vec<NodeId> {
        let lows = (0..width).step_by(BYTE as usize);
        lows.map(|lo| self.graph.extract(id, lo, (width - lo).min(BYTE))).collect()
    }

    fn each(
        &mut self,
        a: NodeId,
        b: NodeId,
        operation: fn(&mut Graph, NodeId, NodeId) -> NodeId,
    ) -> Option<Vec<NodeId>> {
        let (a, b) = (self.bytes(a)?, self.bytes(b)?);
        Some(a.into_iter().zip(b).map(|(a, b)| operation(&mut self.graph, a, b)).collect())
    }

    /// A sum byte by byte. A byte that has become less than what was added to it hands on a carry, and so does one that
    /// is full when a carry comes. Carries are bytes, 0 or all ones, which is -1: what vectors give where they compare.
    fn sum(&mut self, a: NodeId, b: NodeId) -> Option<Vec<NodeId>> {
        let (a, b) = (self.bytes(a)?, self.bytes(b)?);
        let n = a.len();
        let graph = &mut self.graph;
        let mut carry: Option<NodeId> = None;
        let mut sums = Vec::with_capacity(n);
        for (at, (a, b)) in a.into_iter().zip(b).enumerate() {
            let width = graph.width(a);
            let partial = graph.sum(a, b);
            let next = (at + 1 < n).then(|| {
                let less = graph.less(partial, b);
                let over = graph.sign_extend(less, BYTE);
                let ones = graph.number(mask(width), width);
                handed_on(graph, over, carry, (partial, ones))
            });
            sums.push(match carry {
                None => partial,
                Some(carry) => {
                    let carry = graph.extract(carry, 0, width);
                    graph.difference(partial, carry)
                }
            });
            carry = next;
        }
        Some(sums)
    }

    /// A difference byte by byte. A byte that is less than what is taken from it borrows from the next, and so does one
    /// that is zero when it is borrowed from.
    fn difference(&mut self, a: NodeId, b: NodeId) -> Option<Vec<NodeId>> {
        let (a, b) = (self.bytes(a)?, self.bytes(b)?);
        let n = a.len();
        let graph = &mut self.graph;
        let mut borrow: Option<NodeId> = None;
        let mut differences = Vec::with_capacity(n);
        for (at, (a, b)) in a.into_iter().zip(b).enumerate() {
            let width = graph.width(a);
            let partial = graph.difference(a, b);
            let next = (at + 1 < n).then(|| {
                let less = graph.less(a, b);
                let over = graph.sign_extend(less, BYTE);
                let zero = graph.number(0, width);
                handed_on(graph, over, borrow, (partial, zero))
            });
            differences.push(match borrow {
                None => partial,
                Some(borrow) => {
                    let borrow = graph.extract(borrow, 0, width);
                    graph.sum(partial, borrow)
                }
            });
            borrow = next;
        }
        Some(differences)
    }

    /// An index as a byte behind a fixed place.
    fn place(&self, index: NodeId) -> Option<Place> {
        let graph = &self.body.graph;
        let width = graph.width(index);
        if width <= BYTE {
            return Some(Place { first: 0, byte: index });
        }
        match graph.op(index) {
            Op::Concat(parts) => {
                let (&last, above) = parts.split_last()?;
                let mut first = 0_usize;
                for &part in above {
                    first = first.checked_shl(graph.width(part))? | usize::try_from(graph.constant(part)?).ok()?;
                }
                let Place { first: behind, byte } = self.place(last)?;
                Some(Place { first: first.checked_shl(graph.width(last))?.checked_add(behind)?, byte })
            }
            Op::Add(a, b) => {
                let added = usize::try_from(graph.constant(*b)?).ok()?;
                let Place { first, byte } = self.place(*a)?;
                let first = first.checked_add(added)?;
                let last = first.checked_add((1 << graph.width(byte)) - 1)?;
                let fits = width >= usize::BITS || last >> width == 0;
                fits.then_some(Place { first, byte })
            }
            _ => None,
        }
    }

    /// Elements of an object: of tables that hold one byte of each.
    fn entry(&mut self, object: ObjectId, index: NodeId) -> Option<Vec<NodeId>> {
        if self.body.carried.iter().any(|one| one.object == object) {
            return None;
        }
        let Place { first, byte } = self.place(index)?;
        let index_bits = self.body.graph.width(byte);
        let index = self.bits(byte, 0, index_bits)?;
        let length = 1_usize << index_bits;
        let Object { width, length: whole, .. } = self.objects[object.0 as usize];
        if first.checked_add(length)? > whole {
            return None;
        }
        self.n_looked_up += 1;
        if width <= BYTE && first == 0 && length == whole {
            return Some(vec![self.graph.entry(object, index, width)]);
        }
        let tables = match self.tables.get(&(object, first, length)) {
            Some(tables) => tables.clone(),
            None => {
                let tables: Vec<ObjectId> = (0..width)
                    .step_by(BYTE as usize)
                    .map(|lo| self.table(object, first, index_bits, (lo, (width - lo).min(BYTE))))
                    .collect();
                self.tables.insert((object, first, length), tables.clone());
                tables
            }
        };
        let entries = tables.into_iter().map(|table| {
            let width = self.objects[table.0 as usize].width;
            self.graph.entry(table, index, width)
        });
        Some(entries.collect())
    }

    /// A table of some bits of elements from one on.
    fn table(&mut self, of: ObjectId, first: usize, index_bits: u32, (lo, width): (u32, u32)) -> ObjectId {
        let position_name = format!("plane_position_{index_bits}_");
        let position = self.objects.iter().position(|object| object.name == position_name).unwrap_or_else(|| {
            self.objects.push(Object {
                name: position_name,
                width: index_bits,
                length: 1,
                persistent: true,
                residue: None,
            });
            self.objects.len() - 1
        });
        let position = ObjectId(position as u32);
        let zero = self.graph.number(0, u64::BITS);
        let at = self.graph.entry(position, zero, index_bits);
        let at = self.graph.zero_extend(at, u64::BITS);
        let start = self.graph.number(first as u128, u64::BITS);
        let at = self.graph.sum(at, start);
        let element = self.graph.entry(of, at, self.objects[of.0 as usize].width);
        let value = self.graph.extract(element, lo, width);
        let object = ObjectId(self.objects.len() as u32);
        let name = format!("plane_{}_", self.built.len());
        self.objects.push(Object { name, width, length: 1 << index_bits, persistent: true, residue: None });
        self.built.push(Built { object, position, value });
        object
    }

    /// Elements of a constant table, of tables that hold one byte of each.
    fn lookup(&mut self, table: TableId, index: NodeId) -> Option<Vec<NodeId>> {
        let Place { first, byte } = self.place(index)?;
        let index_bits = self.body.graph.width(byte);
        let index = self.bits(byte, 0, index_bits)?;
        let Table { name, width, elements } = self.graph.table(table).clone();
        let length = elements.len().saturating_sub(first).min(1 << index_bits);
        let shown = elements.get(first..first + length)?;
        self.n_looked_up += 1;
        if width <= BYTE && first == 0 && length == elements.len() && length.is_multiple_of(CHOICE) {
            return Some(vec![self.graph.lookup(table, index)]);
        }
        let lows = (0..width).step_by(BYTE as usize);
        let planes = lows.map(|lo| {
            let taken = (width - lo).min(BYTE);
            let mut elements: Vec<u128> = shown.iter().map(|element| element >> lo & mask(taken)).collect();
            elements.resize(length.next_multiple_of(CHOICE), 0);
            let plane = self.graph.add_table(Table { name: name.clone(), width: taken, elements: elements.into() });
            self.graph.lookup(plane, index)
        });
        Some(planes.collect())
    }
}
