//! Values without control: a graph of operations on bit vectors, each node built once.
//!
//! A node is an unsigned bit vector of 1 to [`MAX_BITS`] bits. Arithmetic is modulo 2^width, and all operands of an
//! arithmetic or bitwise node have the width of the node. Building a node simplifies it: constants are folded, and what
//! only moves bits (constant shifts and rotations, masks, widening, gluing bytes to words with `<<` and `|`) becomes one
//! form, [`Op::Concat`] of [`Op::Extract`]s, whichever way it was written. Example: `(a << 24) | (b << 16) | (c << 8) | d`
//! on bytes is `Concat[a, b, c, d]`, and `(x << 3) | (x >> 29)` on 32 bits is `Concat[x[28..0], x[31..29]]`.

use std::collections::HashMap;
use std::rc::Rc;

mod carries;
mod division;

/// Widest node in bits.
pub const MAX_BITS: u32 = 128;

/// How many operations a choice looks through for its own condition.
const ASSUMED_DEPTH: u32 = 4;

/// A node of a [`Graph`]. Operands always have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The position in the graph.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A constant table of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// Something in memory: a state variable, a FIFO's content between two firings, a list of a firing. What it stands for
/// is known to who made the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant, less than 2^width.
    Const(u128),
    /// Token `offset` of an input port, counted from the first that this run of the kernel consumes. Negative offsets
    /// are tokens that runs before it consumed.
    Input {
        /// Position of the port in the network.
        port: u32,
        /// Which token.
        offset: i64,
    },
    /// What an element of an object held when the kernel began; the index is less than the length of the object.
    Entry {
        /// The object.
        object: ObjectId,
        /// Which element.
        index: NodeId,
    },
    /// What [`super::Effect::Load`] number `.0` of the kernel read.
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
    Concat(Rc<[NodeId]>),
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
    /// The elements of a constant table of 256 bytes at all bytes of a value, each in the place of its byte. Passes that
    /// print vectors make such nodes.
    LookupBytes(TableId, NodeId),
    /// An instruction of a machine, which a pass put in the place of what it means.
    Instruction {
        /// Position in the list of descriptions.
        description: u32,
        /// Operands in its order.
        operands: Rc<[NodeId]>,
    },
}

impl Op {
    /// The operands in order.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Op::Const(_) | Op::Input { .. } | Op::Loaded(_) => Vec::new(),
            Op::Entry { index, .. } => vec![*index],
            Op::Not(a) | Op::Extract(a, _) | Op::SignExtend(a) => vec![*a],
            Op::Lookup(_, a) | Op::LookupBytes(_, a) => vec![*a],
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Divide(a, b)
            | Op::Remainder(a, b)
            | Op::ShiftLeft(a, b)
            | Op::ShiftRight(a, b)
            | Op::ShiftRightSigned(a, b)
            | Op::RotateLeft(a, b)
            | Op::Equal(a, b)
            | Op::Less(a, b)
            | Op::LessSigned(a, b) => vec![*a, *b],
            Op::Select(c, a, b) => vec![*c, *a, *b],
            Op::Concat(parts) => parts.to_vec(),
            Op::Instruction { operands, .. } => operands.to_vec(),
        }
    }
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
    pub elements: Rc<[u128]>,
}

/// Nodes and tables.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Bounds of each node as an unsigned number, inclusive.
    bounds: Vec<(u128, u128)>,
    known: HashMap<Node, NodeId>,
    tables: Vec<Table>,
}

/// All ones in the low `width` bits.
pub fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// The low `width` bits of a value as two's complement.
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
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// What a node computes.
    pub fn op(&self, id: NodeId) -> &Op {
        &self.nodes[id.index()].op
    }

    /// Bits of a node.
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

    /// Adds a node as it is, or finds it. For passes whose node must not be simplified; others use the functions named
    /// after the operations.
    pub fn add(&mut self, op: Op, width: u32) -> NodeId {
        debug_assert!((1..=MAX_BITS).contains(&width));
        let node = Node { op, width };
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let bounds = self.bounds_of(&node);
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node.clone());
        self.bounds.push(bounds);
        self.known.insert(node, id);
        // A value that has only one possibility is a constant.
        if bounds.0 == bounds.1 && !matches!(self.op(id), Op::Const(_)) { self.number(bounds.0, width) } else { id }
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
                let reach = elements.iter().skip(low as usize).take((high - low) as usize + 1);
                let least = reach.clone().min().copied().unwrap_or(0);
                (least, reach.max().copied().unwrap_or(all.1))
            }
            _ => all,
        }
    }

    // --- leaves -----------------------------------------------------------------------------------------------------

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

    // --- moving bits ------------------------------------------------------------------------------------------------

    /// Bits `lo` to `lo + width - 1`; `lo + width` is at most the width of the operand.
    pub fn extract(&mut self, a: NodeId, lo: u32, width: u32) -> NodeId {
        if lo == 0 && width == self.width(a) {
            return a;
        }
        match self.op(a).clone() {
            Op::Const(value) => self.number(value >> lo, width),
            Op::Extract(inner, below) => self.extract(inner, below + lo, width),
            Op::Concat(parts) => {
                let mut taken = Vec::new();
                let mut end = self.width(a);
                for part in parts.iter() {
                    let part_width = self.width(*part);
                    let start = end - part_width;
                    let (from, to) = (start.max(lo), end.min(lo + width));
                    if from < to {
                        taken.push(self.extract(*part, from - start, to - from));
                    }
                    end = start;
                }
                self.concat(&taken)
            }
            Op::SignExtend(inner) if lo + width <= self.width(inner) => self.extract(inner, lo, width),
            // Low bits depend on low bits only. Sums of other things are not computed twice for their parts.
            Op::Add(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let sum = self.sum(x, y);
                self.extract(sum, lo, width)
            }
            Op::Sub(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let difference = self.difference(x, y);
                self.extract(difference, lo, width)
            }
            Op::Mul(x, y) if lo + width < self.width(a) && self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, 0, lo + width), self.extract(y, 0, lo + width));
                let product = self.product(x, y);
                self.extract(product, lo, width)
            }
            // Where one side is constant or mostly made of parts, bits are followed through.
            Op::Xor(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.xor(x, y)
            }
            Op::And(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.and(x, y)
            }
            Op::Or(x, y) if self.splits(x, y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.or(x, y)
            }
            Op::Select(c, x, y) if self.moves_bits(x) && self.moves_bits(y) => {
                let (x, y) = (self.extract(x, lo, width), self.extract(y, lo, width));
                self.select(c, x, y)
            }
            _ => {
                let (least, most) = self.bounds(a);
                // Known zeros above.
                let bits = 128 - most.leading_zeros();
                if lo >= bits {
                    return self.number(0, width);
                }
                if least == most {
                    return self.number(least >> lo, width);
                }
                self.add(Op::Extract(a, lo), width)
            }
        }
    }

    /// Whether a bitwise operation on the two falls into parts.
    fn splits(&self, a: NodeId, b: NodeId) -> bool {
        (self.moves_bits(a) && self.moves_bits(b)) || self.constant(a).is_some() || self.constant(b).is_some()
    }

    fn moves_bits(&self, a: NodeId) -> bool {
        matches!(self.op(a), Op::Const(_) | Op::Concat(_))
    }

    /// Parts one beside the other, the first in the most significant bits. There is at least one, and together they have
    /// at most [`MAX_BITS`] bits.
    pub fn concat(&mut self, parts: &[NodeId]) -> NodeId {
        let mut flat: Vec<NodeId> = Vec::with_capacity(parts.len());
        for &part in parts {
            let pieces: Vec<NodeId> = match self.op(part) {
                Op::Concat(inner) => inner.to_vec(),
                _ => vec![part],
            };
            for piece in pieces {
                match flat.last().copied().and_then(|last| self.joined(last, piece)) {
                    Some(both) => {
                        flat.pop();
                        flat.push(both);
                    }
                    None => flat.push(piece),
                }
            }
        }
        if let [one] = flat[..] {
            return one;
        }
        let width = flat.iter().map(|&part| self.width(part)).sum();
        self.add(Op::Concat(flat.into()), width)
    }

    /// Two neighbours as one node: constants, or neighbouring bits of one value.
    fn joined(&mut self, high: NodeId, low: NodeId) -> Option<NodeId> {
        let (high_width, low_width) = (self.width(high), self.width(low));
        match (self.op(high).clone(), self.op(low).clone()) {
            (Op::Const(a), Op::Const(b)) => Some(self.number((a << low_width) | b, high_width + low_width)),
            (Op::Extract(a, at), Op::Extract(b, below)) if a == b && below + low_width == at => {
                Some(self.extract(a, below, high_width + low_width))
            }
            _ => None,
        }
    }

    /// Zeros in front, up to the width.
    pub fn zero_extend(&mut self, a: NodeId, width: u32) -> NodeId {
        let more = width - self.width(a);
        if more == 0 {
            return a;
        }
        let zeros = self.number(0, more);
        self.concat(&[zeros, a])
    }

    /// Copies of the top bit in front, up to the width.
    pub fn sign_extend(&mut self, a: NodeId, width: u32) -> NodeId {
        let from = self.width(a);
        if width == from {
            return a;
        }
        if let Some(value) = self.constant(a) {
            return self.number(signed(value, from) as u128, width);
        }
        if self.bounds(a).1 <= mask(from - 1) {
            return self.zero_extend(a, width);
        }
        let inner = match self.op(a) {
            Op::SignExtend(inner) => *inner,
            _ => a,
        };
        self.add(Op::SignExtend(inner), width)
    }

    /// The value cut or extended with zeros to the width.
    pub fn resize(&mut self, a: NodeId, width: u32) -> NodeId {
        if width <= self.width(a) { self.extract(a, 0, width) } else { self.zero_extend(a, width) }
    }

    /// Left by a constant.
    pub fn shift_left_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        if count == 0 {
            return a;
        }
        if count >= width {
            return self.number(0, width);
        }
        let kept = self.extract(a, 0, width - count);
        let zeros = self.number(0, count);
        self.concat(&[kept, zeros])
    }

    /// Right by a constant, zeros come in.
    pub fn shift_right_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        if count == 0 {
            return a;
        }
        if count >= width {
            return self.number(0, width);
        }
        let kept = self.extract(a, count, width - count);
        self.zero_extend(kept, width)
    }

    /// Left by a constant, what falls out comes in at the right.
    pub fn rotate_left_by(&mut self, a: NodeId, count: u32) -> NodeId {
        let width = self.width(a);
        let count = count % width;
        if count == 0 {
            return a;
        }
        let (low, high) = (self.extract(a, 0, width - count), self.extract(a, width - count, count));
        self.concat(&[low, high])
    }

    // --- bitwise ----------------------------------------------------------------------------------------------------

    /// All bits inverted.
    pub fn not(&mut self, a: NodeId) -> NodeId {
        match *self.op(a) {
            Op::Const(value) => self.number(!value, self.width(a)),
            Op::Not(inner) => inner,
            _ => self.add(Op::Not(a), self.width(a)),
        }
    }

    /// Bitwise exclusive or.
    pub fn xor(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return self.number(0, width);
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x ^ y, width),
            (_, Op::Const(0)) => return a,
            (_, Op::Const(ones)) if ones == mask(width) => return self.not(a),
            (Op::Xor(x, y), Op::Const(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c ^ d, width);
                    return self.xor(x, both);
                }
            }
            (Op::Xor(x, y), _) if x == b => return y,
            (Op::Xor(x, y), _) if y == b => return x,
            (_, Op::Xor(x, y)) if x == a => return y,
            (_, Op::Xor(x, y)) if y == a => return x,
            _ => {}
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Xor(a, b), width)
    }

    /// Bitwise or.
    pub fn or(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return a;
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x | y, width),
            (_, Op::Const(0)) => return a,
            (_, Op::Const(ones)) if ones == mask(width) => return b,
            (Op::ShiftLeft(x, n), Op::ShiftRight(y, m)) | (Op::ShiftRight(y, m), Op::ShiftLeft(x, n)) if x == y => {
                if let Some(count) = self.rotation(width, n, m) {
                    return self.rotate_left(x, count);
                }
            }
            _ => {}
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Or(a, b), width)
    }

    /// Bitwise and.
    pub fn and(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return a;
        }
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.op(b).clone()) {
            (Op::Const(x), Op::Const(y)) => return self.number(x & y, width),
            (_, Op::Const(0)) => return b,
            (_, Op::Const(ones)) if ones == mask(width) => return a,
            (Op::And(x, y), Op::Const(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c & d, width);
                    return self.and(x, both);
                }
            }
            // A mask of one run of ones, or on parts, moves bits.
            (inner, Op::Const(ones)) if one_run(ones) || matches!(inner, Op::Concat(_)) => {
                let mut parts = Vec::new();
                let mut end = width;
                while end > 0 {
                    let bit = ones >> (end - 1) & 1;
                    let run = (1..=end).take_while(|n| (ones >> (end - n)) & 1 == bit).count() as u32;
                    let start = end - run;
                    parts.push(if bit == 1 { self.extract(a, start, run) } else { self.number(0, run) });
                    end = start;
                }
                return self.concat(&parts);
            }
            _ => {}
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::And(a, b), width)
    }

    /// The exclusive or (and the or) of values of which, bit for bit, at least one is known to be zero.
    fn disjoint(&mut self, a: NodeId, b: NodeId) -> Option<NodeId> {
        let (x, y) = (self.zero_runs(a)?, self.zero_runs(b)?);
        let mut cuts: Vec<u32> = x.iter().chain(&y).flat_map(|&(lo, hi, _)| [lo, hi]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let zero_at =
            |runs: &[(u32, u32, bool)], lo: u32| runs.iter().any(|&(from, to, zero)| zero && from <= lo && lo < to);
        let mut parts = Vec::new();
        for pair in cuts.windows(2) {
            let &[lo, hi] = pair else { continue };
            let part = match (zero_at(&x, lo), zero_at(&y, lo)) {
                (_, true) => self.extract(a, lo, hi - lo),
                (true, _) => self.extract(b, lo, hi - lo),
                _ => return None,
            };
            parts.push(part);
        }
        parts.reverse();
        Some(self.concat(&parts))
    }

    /// The parts of a value as (from, to, known to be zero), if it is made of parts.
    fn zero_runs(&self, a: NodeId) -> Option<Vec<(u32, u32, bool)>> {
        let Op::Concat(parts) = self.op(a) else { return None };
        let mut end = self.width(a);
        let mut runs = Vec::with_capacity(parts.len());
        for &part in parts.iter() {
            let start = end - self.width(part);
            runs.push((start, end, self.constant(part) == Some(0)));
            end = start;
        }
        Some(runs)
    }

    fn constant_last(&self, a: NodeId, b: NodeId) -> (NodeId, NodeId) {
        if self.constant(a).is_some() { (b, a) } else { (a, b) }
    }

    fn ordered(&self, a: NodeId, b: NodeId) -> (NodeId, NodeId) {
        if self.constant(b).is_some() || a <= b { (a, b) } else { (b, a) }
    }

    // --- arithmetic -------------------------------------------------------------------------------------------------

    /// Sum modulo 2^width.
    pub fn sum(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        let (a, b) = self.constant_last(a, b);
        match (self.op(a).clone(), self.constant(b)) {
            (Op::Const(x), Some(y)) => return self.number(x.wrapping_add(y), width),
            (_, Some(0)) => return a,
            (Op::Add(x, y), Some(c)) => {
                if let Some(d) = self.constant(y) {
                    let both = self.number(c.wrapping_add(d), width);
                    return self.sum(x, both);
                }
            }
            _ => {}
        }
        if width == 1 {
            return self.xor(a, b);
        }
        if let Some(merged) = self.disjoint(a, b) {
            return merged;
        }
        if let Some(wide) = self.carried_in(a, b).or_else(|| self.carried_in(b, a)) {
            return wide;
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Add(a, b), width)
    }

    /// Difference modulo 2^width.
    pub fn difference(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if a == b {
            return self.number(0, width);
        }
        if width == 1 {
            return self.xor(a, b);
        }
        if let Some(c) = self.constant(b) {
            // One form for constants: they are added. Bounds know sums without overflow only, so a difference that
            // cannot be negative stays one.
            if let Some(x) = self.constant(a) {
                return self.number(x.wrapping_sub(c), width);
            }
            if c == 0 {
                return a;
            }
            if self.bounds(a).0 < c {
                let negated = self.number(c.wrapping_neg(), width);
                return self.sum(a, negated);
            }
        }
        self.add(Op::Sub(a, b), width)
    }

    /// Product modulo 2^width.
    pub fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        let (a, b) = self.constant_last(a, b);
        match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => return self.number(x.wrapping_mul(y), width),
            (_, Some(0)) => return b,
            (_, Some(1)) => return a,
            (_, Some(power)) if power.is_power_of_two() => return self.shift_left_by(a, power.trailing_zeros()),
            _ => {}
        }
        // A bit times a value: the value or nothing.
        for (bit, value) in [(a, b), (b, a)] {
            if self.bounds(bit).1 == 1 {
                let bit = self.extract(bit, 0, 1);
                let zero = self.number(0, width);
                return self.select(bit, value, zero);
            }
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Mul(a, b), width)
    }

    // --- shifts by values -------------------------------------------------------------------------------------------

    /// Left; 0 from the width on.
    pub fn shift_left(&mut self, a: NodeId, count: NodeId) -> NodeId {
        match self.constant(count) {
            Some(count) => self.shift_left_by(a, count.min(255) as u32),
            None => self.add(Op::ShiftLeft(a, count), self.width(a)),
        }
    }

    /// Right, zeros come in; 0 from the width on.
    pub fn shift_right(&mut self, a: NodeId, count: NodeId) -> NodeId {
        match self.constant(count) {
            Some(count) => self.shift_right_by(a, count.min(255) as u32),
            None => self.add(Op::ShiftRight(a, count), self.width(a)),
        }
    }

    /// Right, copies of the top bit come in.
    pub fn shift_right_signed(&mut self, a: NodeId, count: NodeId) -> NodeId {
        let width = self.width(a);
        match self.constant(count) {
            Some(count) => {
                let count = count.min(u128::from(width - 1)) as u32;
                let kept = self.extract(a, count, width - count);
                self.sign_extend(kept, width)
            }
            None => self.add(Op::ShiftRightSigned(a, count), width),
        }
    }

    /// Left by an amount modulo the width, a power of two.
    pub fn rotate_left(&mut self, a: NodeId, count: NodeId) -> NodeId {
        let width = self.width(a);
        let count = self.modulo(count, width);
        match self.constant(count) {
            Some(count) => self.rotate_left_by(a, (count % u128::from(width)) as u32),
            None => self.add(Op::RotateLeft(a, count), width),
        }
    }

    /// An amount that is the same modulo a power of two as another one, whose higher bits were cut off by a mask for nothing.
    fn modulo(&self, mut amount: NodeId, power: u32) -> NodeId {
        let covers = |mask: NodeId| self.constant(mask).is_some_and(|mask| !mask & u128::from(power - 1) == 0);
        loop {
            amount = match *self.op(amount) {
                Op::And(a, b) if covers(b) => a,
                Op::And(a, b) if covers(a) => b,
                _ => return amount,
            };
        }
    }

    /// `x << n | x >> m` is a rotation when n + m = width for all counts that can occur: the amount to the left.
    fn rotation(&mut self, width: u32, left: NodeId, right: NodeId) -> Option<NodeId> {
        if !width.is_power_of_two() {
            return None;
        }
        // Complement of the other: width - n, written as a difference from a constant or a sum with a negative one.
        // Without the bits above those that count a rotation, the difference from the width is that from zero.
        let is_rest = |graph: &Graph, rest: NodeId, of: NodeId| {
            let rest = graph.without_zeros(rest);
            let Op::Sub(whole, n) = *graph.op(rest) else { return false };
            let from = graph.constant(whole);
            let short = graph.width(rest) == width.trailing_zeros();
            (from == Some(u128::from(width)) || short && from == Some(0)) && graph.same_number(n, of)
        };
        if self.bounds(left).1 <= u128::from(width) && is_rest(self, right, left) {
            return Some(left);
        }
        if self.bounds(right).1 <= u128::from(width) && is_rest(self, left, right) {
            // Rotating right by n is rotating left by the rest.
            return Some(left);
        }
        None
    }

    /// Whether two nodes have the same value whatever zeros stand in front.
    pub fn same_number(&self, a: NodeId, b: NodeId) -> bool {
        self.without_zeros(a) == self.without_zeros(b)
    }

    fn without_zeros(&self, a: NodeId) -> NodeId {
        match self.op(a) {
            Op::Concat(parts) => match parts[..] {
                [zeros, rest] if self.constant(zeros) == Some(0) => rest,
                _ => a,
            },
            _ => a,
        }
    }

    // --- choices ----------------------------------------------------------------------------------------------------

    /// Whether two values are equal.
    pub fn equal(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return self.bit(true);
        }
        let ((a_low, a_high), (b_low, b_high)) = (self.bounds(a), self.bounds(b));
        if a_high < b_low || b_high < a_low {
            return self.bit(false);
        }
        let (a, b) = self.constant_last(a, b);
        if self.width(a) == 1
            && let Some(value) = self.constant(b)
        {
            return if value == 1 { a } else { self.not(a) };
        }
        // Zeros in front of both say nothing.
        if let (Some(c), Op::Concat(parts)) = (self.constant(b), self.op(a).clone())
            && self.constant(parts[0]) == Some(0)
        {
            let width = self.width(a) - self.width(parts[0]);
            let (a, b) = (self.extract(a, 0, width), self.number(c, width));
            return self.equal(a, b);
        }
        let (a, b) = self.ordered(a, b);
        self.add(Op::Equal(a, b), 1)
    }

    /// Whether the first is less than the second, unsigned.
    pub fn less(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let ((a_low, a_high), (b_low, b_high)) = (self.bounds(a), self.bounds(b));
        if a_high < b_low {
            return self.bit(true);
        }
        if a == b || a_low >= b_high {
            return self.bit(false);
        }
        if a_high <= 1 && b_high <= 1 {
            let (a, b) = (self.extract(a, 0, 1), self.extract(b, 0, 1));
            let not_a = self.not(a);
            return self.and(not_a, b);
        }
        // Zeros in front of both say nothing.
        let most = a_high.max(b_high);
        let width = (128 - most.leading_zeros()).max(1);
        if width < self.width(a) {
            let (a, b) = (self.extract(a, 0, width), self.extract(b, 0, width));
            return self.add(Op::Less(a, b), 1);
        }
        self.add(Op::Less(a, b), 1)
    }

    /// Whether the first is less than the second, as two's complement.
    pub fn less_signed(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.bit(signed(x, width) < signed(y, width));
        }
        let positive = mask(width - 1);
        if self.bounds(a).1 <= positive && self.bounds(b).1 <= positive {
            return self.less(a, b);
        }
        if a == b {
            return self.bit(false);
        }
        self.add(Op::LessSigned(a, b), 1)
    }

    /// The second operand if the first is 1, else the third.
    pub fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        if a == b {
            return a;
        }
        match *self.op(condition) {
            Op::Const(0) => return b,
            Op::Const(_) => return a,
            Op::Not(inner) => return self.select(inner, b, a),
            _ => {}
        }
        if self.width(a) == 1 {
            match (self.constant(a), self.constant(b)) {
                (Some(1), Some(0)) => return condition,
                (Some(0), Some(1)) => return self.not(condition),
                (_, Some(0)) => return self.and(condition, a),
                (Some(1), _) => return self.or(condition, b),
                _ => {}
            }
        }
        // A side that the other becomes wherever it is not chosen is the value in both cases.
        let a_where_not = self.assuming(a, condition, false, ASSUMED_DEPTH);
        if a_where_not == self.assuming(b, condition, false, ASSUMED_DEPTH) {
            return a;
        }
        if self.assuming(a, condition, true, ASSUMED_DEPTH) == self.assuming(b, condition, true, ASSUMED_DEPTH) {
            return b;
        }
        self.add(Op::Select(condition, a, b), self.width(a))
    }

    /// The value where a condition is known, as far as a few operations show.
    fn assuming(&mut self, a: NodeId, condition: NodeId, holds: bool, depth: u32) -> NodeId {
        if a == condition {
            return self.bit(holds);
        }
        if depth == 0 || a < condition {
            return a;
        }
        let op = self.op(a).clone();
        let operands = op.operands();
        if operands.len() > 4 {
            return a;
        }
        let known: Vec<NodeId> = operands.iter().map(|&x| self.assuming(x, condition, holds, depth - 1)).collect();
        if known == operands { a } else { self.rebuild(&op, self.width(a), &known) }
    }

    /// An element of a constant table. The index is less than its length.
    pub fn lookup(&mut self, table: TableId, index: NodeId) -> NodeId {
        let width = self.table(table).width;
        if let Some(at) = self.constant(index) {
            let value = self.table(table).elements.get(at as usize).copied().unwrap_or(0);
            return self.number(value, width);
        }
        self.add(Op::Lookup(table, index), width)
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

    /// A node of another graph whose tables have the same numbers here, simplified; `new` has what stands for its operands.
    /// `None` where one is missing.
    pub fn copy(&mut self, from: &Graph, id: NodeId, new: &HashMap<NodeId, NodeId>) -> Option<NodeId> {
        let op = from.op(id);
        let operands: Option<Vec<NodeId>> = op.operands().iter().map(|operand| new.get(operand).copied()).collect();
        Some(self.rebuild(op, from.width(id), &operands?))
    }

    /// Nodes that the given ones need, themselves included, operands first.
    pub fn reachable(&self, roots: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let mut needed: Vec<NodeId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut open: Vec<NodeId> = roots.into_iter().collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                needed.push(id);
                open.extend(self.op(id).operands());
            }
        }
        needed.sort_unstable();
        needed
    }
}

/// Whether the ones of a mask stand together.
fn one_run(ones: u128) -> bool {
    let run = ones.checked_shr(ones.trailing_zeros()).unwrap_or(0);
    run != 0 && (run & run.wrapping_add(1)) == 0
}
