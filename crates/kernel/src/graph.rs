//! Values without control: a graph of operations on bit vectors, each node built once.
//!
//! A node is an unsigned bit vector of 1 to [`MAX_BITS`] bits. Arithmetic is modulo 2^width, and all operands of an
//! arithmetic or bitwise node have the width of the node. Building a node simplifies it: constants are folded, and what
//! only moves bits (constant shifts and rotations, masks, widening, gluing bytes to words with `<<` and `|`) becomes
//! one form, [`Op::Concat`] of [`Op::Extract`]s, whichever way it was written. Example: `(a << 24) | (b << 16) | (c <<
//! 8) | d` on bytes is `Concat[a, b, c, d]`, and `(x << 3) | (x >> 29)` on 32 bits is `Concat[x[28..0], x[31..29]]`.

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

mod arithmetic;
mod bitwise;
mod carries;
mod choices;
mod division;
mod moves;
mod operands;
mod reachable;

pub use operands::Operands;

/// Widest node in bits.
pub const MAX_BITS: u32 = 128;

/// A node of a [`Graph`]. Operands always have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position in the graph.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A constant table of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// Something in memory: a state variable, a FIFO's content between two firings, a list of a firing. What it stands for
/// is known to who made the transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant, less than 2^width.
    Const(u128),
    /// Token `offset` of an input port, counted from the first that this run of the transition consumes. Negative
    /// offsets are tokens that runs before it consumed.
    Input {
        /// Position of the port in the network.
        port: u32,
        /// Which token.
        offset: i64,
    },
    /// What an element of an object held when the transition began; the index is less than the length of the object.
    Entry {
        /// The object.
        object: ObjectId,
        /// Which element.
        index: NodeId,
    },
    /// What [`super::Effect::Load`] number `.0` of the transition read.
    Loaded(u32),
    /// All bits inverted.
    Not(NodeId),
    /// Bitwise and.
    And(NodeId, NodeId),
    /// Bitwise or.
    Or(NodeId, NodeId),
    /// Bitwise exclusive or.
    Xor(NodeId, NodeId),
    /// Sum modulo 2^width.
    Add(NodeId, NodeId),
    /// Difference modulo 2^width.
    Sub(NodeId, NodeId),
    /// Product modulo 2^width.
    Mul(NodeId, NodeId),
    /// Unsigned quotient; 0 where the divisor is 0.
    Divide(NodeId, NodeId),
    /// Unsigned remainder; 0 where the divisor is 0.
    Remainder(NodeId, NodeId),
    /// Left by an amount of any width; 0 from the width on.
    ShiftLeft(NodeId, NodeId),
    /// Right, zeros come in; 0 from the width on.
    ShiftRight(NodeId, NodeId),
    /// Right, copies of the top bit come in.
    ShiftRightSigned(NodeId, NodeId),
    /// Left by an amount modulo the width, what falls out comes in at the right. The width is a power of two.
    RotateLeft(NodeId, NodeId),
    /// Bits `lo` to `lo + width - 1`.
    Extract(NodeId, u32),
    /// Parts one beside the other, the first in the most significant bits. No part is a `Concat`.
    Concat(Arc<[NodeId]>),
    /// Copies of the top bit in front.
    SignExtend(NodeId),
    /// 1 bit: equal operands.
    Equal(NodeId, NodeId),
    /// 1 bit: less, unsigned.
    Less(NodeId, NodeId),
    /// 1 bit: less, as two's complement.
    LessSigned(NodeId, NodeId),
    /// The second operand if the first (1 bit) is 1, else the third.
    Select(NodeId, NodeId, NodeId),
    /// An element of a constant table; the index is less than its length.
    Lookup(TableId, NodeId),
    /// The elements of a constant table of 256 bytes at all bytes of a value, each in the place of its byte. Passes
    /// for code in vectors make such nodes.
    LookupBytes(TableId, NodeId),
    /// An instruction of a machine, which a pass put in the place of what it means.
    Instruction {
        /// Position in the list of descriptions.
        description: u32,
        /// Operands in its order.
        operands: Arc<[NodeId]>,
    },
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// Bits of the result.
    pub width: u32,
}

/// A constant table: elements of one width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// Where it comes from, for readers.
    pub name: String,
    /// Bits of an element.
    pub width: u32,
    /// The elements, each less than 2^width.
    pub elements: Arc<[u128]>,
}

/// Nodes and tables.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Bounds of each node as an unsigned number, inclusive.
    bounds: Vec<(u128, u128)>,
    /// Nodes by what they are, and which is taken where one is asked for: itself, or the constant that it always is.
    known: HashTable<(NodeId, NodeId)>,
    tables: Vec<Table>,
}

/// All ones in the low `width` bits.
#[inline]
pub fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// The low `width` bits of a value as two's complement.
#[inline]
pub fn signed(value: u128, width: u32) -> i128 {
    let shift = 128 - width.clamp(1, 128);
    ((value << shift) as i128) >> shift
}

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// A graph without nodes that has the tables of another under the same numbers.
    pub fn with_tables_of(other: &Graph) -> Graph {
        let mut graph = Graph::new();
        for table in &other.tables {
            graph.add_table(table.clone());
        }
        graph
    }

    /// Number of nodes.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// What a node computes.
    #[inline]
    pub fn op(&self, id: NodeId) -> &Op {
        &self.nodes[id.index()].op
    }

    /// Bits of a node.
    #[inline]
    pub fn width(&self, id: NodeId) -> u32 {
        self.nodes[id.index()].width
    }

    /// Smallest and largest value that a node can have, unsigned, as far as its form tells.
    pub fn bounds(&self, id: NodeId) -> (u128, u128) {
        self.bounds[id.index()]
    }

    /// The value of a constant node.
    pub fn constant(&self, id: NodeId) -> Option<u128> {
        match self.op(id) {
            Op::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// All tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// A table.
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0 as usize]
    }

    /// Adds a table, or finds one with the same elements.
    pub fn add_table(&mut self, table: Table) -> TableId {
        let same = |other: &Table| other.width == table.width && other.elements == table.elements;
        if let Some(position) = self.tables.iter().position(same) {
            return TableId(position as u32);
        }
        self.tables.push(table);
        TableId(self.tables.len() as u32 - 1)
    }

    /// Adds a node as it is, or finds it. For passes whose node must not be simplified; others use the functions
    /// named after the operations.
    pub fn add(&mut self, op: Op, width: u32) -> NodeId {
        debug_assert!((1..=MAX_BITS).contains(&width));
        let node = Node { op, width };
        let hash = FxBuildHasher.hash_one(&node);
        if let Some(&(_, found)) = self.known.find(hash, |(id, _)| self.nodes[id.index()] == node) {
            return found;
        }
        let bounds = self.bounds_of(&node);
        let id = NodeId(self.nodes.len() as u32);
        // A value that has only one possibility is a constant, whenever it is asked for.
        let is_known = bounds.0 == bounds.1 && !matches!(node.op, Op::Const(_));
        self.nodes.push(node);
        self.bounds.push(bounds);
        let found = if is_known { self.number(bounds.0, width) } else { id };
        self.known.insert_unique(hash, (id, found), |(id, _)| FxBuildHasher.hash_one(&self.nodes[id.index()]));
        found
    }

    fn bounds_of(&self, node: &Node) -> (u128, u128) {
        let all = (0, mask(node.width));
        let of = |id: &NodeId| self.bounds[id.index()];
        match &node.op {
            Op::Const(value) => (*value, *value),
            Op::And(a, b) => (0, of(a).1.min(of(b).1)),
            Op::Or(a, b) => {
                let most = of(a).1 | of(b).1;
                let bits = 128 - most.leading_zeros();
                (of(a).0.max(of(b).0), mask(bits))
            }
            Op::Xor(a, b) => {
                let most = of(a).1 | of(b).1;
                (0, mask(128 - most.leading_zeros()))
            }
            Op::Add(a, b) => match of(a).1.checked_add(of(b).1) {
                Some(most) if most <= all.1 => (of(a).0 + of(b).0, most),
                _ => all,
            },
            Op::Sub(a, b) if of(a).0 >= of(b).1 => (of(a).0 - of(b).1, of(a).1 - of(b).0),
            Op::Mul(a, b) => match of(a).1.checked_mul(of(b).1) {
                Some(most) if most <= all.1 => (of(a).0 * of(b).0, most),
                _ => all,
            },
            Op::Divide(a, b) if of(b).0 > 0 => (of(a).0 / of(b).1, of(a).1 / of(b).0),
            Op::Divide(a, _) => (0, of(a).1),
            Op::Remainder(a, b) if of(b).1 > 0 => (0, of(a).1.min(of(b).1 - 1)),
            Op::ShiftRight(a, _) => (0, of(a).1),
            Op::Concat(parts) => {
                let (mut low, mut high) = (0, 0);
                for part in parts.iter() {
                    let width = self.width(*part);
                    let (part_low, part_high) = of(part);
                    low = if width >= 128 { part_low } else { (low << width) | part_low };
                    high = if width >= 128 { part_high } else { (high << width) | part_high };
                }
                (low, high)
            }
            Op::Extract(a, 0) if of(a).1 <= all.1 => of(a),
            Op::Extract(a, lo) => (0, (of(a).1 >> lo).min(all.1)),
            Op::Select(_, a, b) => (of(a).0.min(of(b).0), of(a).1.max(of(b).1)),
            Op::Lookup(table, index) => {
                let (low, high) = of(index);
                let elements = &self.table(*table).elements;
                let reach = elements.iter().skip(low as usize).take(((high - low) as usize).saturating_add(1));
                let least = reach.clone().min().copied().unwrap_or(0);
                (least, reach.max().copied().unwrap_or(all.1))
            }
            _ => all,
        }
    }

    /// A constant, cut to the width.
    pub fn number(&mut self, value: u128, width: u32) -> NodeId {
        self.add(Op::Const(value & mask(width)), width)
    }

    /// A constant of one bit.
    pub fn bit(&mut self, value: bool) -> NodeId {
        self.number(u128::from(value), 1)
    }

    /// A token of an input port.
    pub fn input(&mut self, port: u32, offset: i64, width: u32) -> NodeId {
        self.add(Op::Input { port, offset }, width)
    }

    /// What an element held at the beginning.
    pub fn entry(&mut self, object: ObjectId, index: NodeId, width: u32) -> NodeId {
        self.add(Op::Entry { object, index }, width)
    }

    fn constant_last(&self, a: NodeId, b: NodeId) -> (NodeId, NodeId) {
        if self.constant(a).is_some() { (b, a) } else { (a, b) }
    }

    fn ordered(&self, a: NodeId, b: NodeId) -> (NodeId, NodeId) {
        if self.constant(b).is_some() || a <= b { (a, b) } else { (b, a) }
    }

    /// A node of the same operation with other operands, simplified; the operands have the widths of the old ones.
    pub fn rebuild(&mut self, op: &Op, width: u32, operands: &[NodeId]) -> NodeId {
        match (op, operands) {
            (Op::Entry { object, .. }, &[index]) => self.entry(*object, index, width),
            (Op::Not(_), &[a]) => self.not(a),
            (Op::Extract(_, lo), &[a]) => self.extract(a, *lo, width),
            (Op::SignExtend(_), &[a]) => self.sign_extend(a, width),
            (Op::Lookup(table, _), &[a]) => self.lookup(*table, a),
            (Op::LookupBytes(table, _), &[a]) => self.add(Op::LookupBytes(*table, a), width),
            (Op::And(..), &[a, b]) => self.and(a, b),
            (Op::Or(..), &[a, b]) => self.or(a, b),
            (Op::Xor(..), &[a, b]) => self.xor(a, b),
            (Op::Add(..), &[a, b]) => self.sum(a, b),
            (Op::Sub(..), &[a, b]) => self.difference(a, b),
            (Op::Mul(..), &[a, b]) => self.product(a, b),
            (Op::Divide(..), &[a, b]) => self.quotient(a, b),
            (Op::Remainder(..), &[a, b]) => self.remainder(a, b),
            (Op::ShiftLeft(..), &[a, b]) => self.shift_left(a, b),
            (Op::ShiftRight(..), &[a, b]) => self.shift_right(a, b),
            (Op::ShiftRightSigned(..), &[a, b]) => self.shift_right_signed(a, b),
            (Op::RotateLeft(..), &[a, b]) => self.rotate_left(a, b),
            (Op::Equal(..), &[a, b]) => self.equal(a, b),
            (Op::Less(..), &[a, b]) => self.less(a, b),
            (Op::LessSigned(..), &[a, b]) => self.less_signed(a, b),
            (Op::Select(..), &[c, a, b]) => self.select(c, a, b),
            (Op::Concat(_), parts) => self.concat(parts),
            (Op::Instruction { description, .. }, operands) => {
                self.add(Op::Instruction { description: *description, operands: operands.into() }, width)
            }
            _ => self.add(op.clone(), width),
        }
    }

    /// A node of another graph whose tables have the same numbers here, simplified; `new` has what stands for its
    /// operands. `None` where one is missing.
    pub fn copy(&mut self, from: &Graph, id: NodeId, new: &FxHashMap<NodeId, NodeId>) -> Option<NodeId> {
        let op = from.op(id);
        let operands: Option<Vec<NodeId>> = op.operands().iter().map(|operand| new.get(operand).copied()).collect();
        Some(self.rebuild(op, from.width(id), &operands?))
    }
}
