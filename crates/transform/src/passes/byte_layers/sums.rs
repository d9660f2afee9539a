//! Decomposition into exclusive-or sums of byte functions. Values of a loop as sums of functions of single bytes.
//!
//! An operation that is linear is applied to each term. What else an operation on several bytes does cannot be said in
//! a sum: such a value is a byte itself, whose sum is remembered, and what follows is said of that byte. So bytes come
//! about where the loop has its substitutions.

use super::functions::{ByteId, FunctionId, Functions, Sum, VALUES};
use crate::kernel::evaluate::operation;
use crate::kernel::{Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Terms of a sum: as many as bytes stand in a register.
const MOST_TERMS: usize = 64;

/// Functions that are looked at; cryptography on bytes has a few hundred.
const MOST_FUNCTIONS: usize = 20_000;

/// Dimensions of the values on which an operation is tried for being linear.
const MOST_DIMENSIONS: usize = 8;

/// Where a byte comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Byte `at` of the tokens that an iteration takes from a port.
    Token { port: usize, at: usize },
    /// Byte `at` of an object.
    Element { object: ObjectId, at: usize },
    /// It is computed.
    Sum(Sum),
}

/// Nodes and bytes of a loop.
pub struct Sums<'a> {
    body: &'a Loop,
    /// The functions of sums.
    pub functions: Functions,
    /// What is known of each byte; sums have bytes with smaller numbers.
    pub bytes: Vec<Origin>,
    /// What nodes are.
    of: FxHashMap<NodeId, Sum>,
    /// Bytes by where they come from.
    numbers: FxHashMap<Origin, ByteId>,
    /// The first node with these terms, whatever its constant.
    seen: FxHashMap<BTreeMap<ByteId, FunctionId>, NodeId>,
    /// Nodes that have become bytes.
    cut: FxHashSet<NodeId>,
    /// Nodes that become bytes at once, and words all of whose bytes do.
    known: FxHashSet<NodeId>,
}

/// How many bytes a token or an element of so many bits takes in memory, where they lie in a row.
pub fn bytes_of(width: u32) -> Option<usize> {
    matches!(width, 8 | 16 | 32 | 64).then_some(width as usize / 8)
}

impl<'a> Sums<'a> {
    /// All nodes that lead to `roots`; `None` if some is no sum.
    pub fn new(body: &'a Loop, roots: &[NodeId]) -> Option<Self> {
        let order = body.graph.reachable(roots.iter().copied());
        let first = Sums::with(body, &order, FxHashSet::default())?;
        // What is read before it is known to become a byte has been written as a sum. The second time it is not.
        let mut known = first.cut;
        let extracts = order.iter().filter_map(|&id| match body.graph.op(id) {
            Op::Extract(word, lo) if known.contains(&id) && lo % 8 == 0 => Some((*word, *lo)),
            _ => None,
        });
        let mut bytes: FxHashMap<NodeId, FxHashSet<u32>> = FxHashMap::default();
        extracts.for_each(|(word, lo)| _ = bytes.entry(word).or_default().insert(lo));
        let whole = bytes.into_iter().filter(|(word, bytes)| bytes.len() * 8 == body.graph.width(*word) as usize);
        known.extend(whole.map(|(word, _)| word).collect::<Vec<_>>());
        Sums::with(body, &order, known)
    }

    fn with(body: &'a Loop, order: &[NodeId], known: FxHashSet<NodeId>) -> Option<Self> {
        let mut sums = Sums {
            body,
            functions: Functions::new(),
            bytes: Vec::new(),
            of: FxHashMap::default(),
            numbers: FxHashMap::default(),
            seen: FxHashMap::default(),
            cut: FxHashSet::default(),
            known,
        };
        for &id in order {
            let sum = sums.node(id)?;
            if sum.terms.len() > MOST_TERMS || sums.functions.len() > MOST_FUNCTIONS {
                return None;
            }
            if body.graph.width(id) == 8 {
                sums.seen.entry(sum.terms.clone()).or_insert(id);
            }
            sums.of.insert(id, sum);
            if sums.known.contains(&id) {
                sums.cut(id)?;
            }
        }
        Some(sums)
    }

    /// Byte `number` of a root's value as a byte.
    pub fn byte_of(&mut self, root: NodeId, number: usize) -> Option<ByteId> {
        let sum = self.of.get(&root)?.clone();
        let byte = self.functions.map(&sum, |value| value >> (8 * number) & 255);
        Some(self.byte(byte))
    }

    /// A sum of eight bits as a byte.
    fn byte(&mut self, sum: Sum) -> ByteId {
        match sum.single() {
            Some((byte, Functions::IDENTITY)) if sum.constant == 0 => byte,
            _ => self.of_origin(Origin::Sum(sum)),
        }
    }

    /// The byte that comes from somewhere.
    fn of_origin(&mut self, origin: Origin) -> ByteId {
        let next = ByteId(self.bytes.len() as u32);
        let number = *self.numbers.entry(origin.clone()).or_insert(next);
        if number == next {
            self.bytes.push(origin);
        }
        number
    }

    /// Makes bytes of a node; words become several.
    fn cut(&mut self, id: NodeId) -> Option<()> {
        let width = self.body.graph.width(id);
        let sum = self.of.get(&id)?.clone();
        if sum.terms.len() < 2 || !width.is_multiple_of(8) {
            return Some(());
        }
        let mut whole = Sum::default();
        for number in 0..width / 8 {
            let byte = self.functions.map(&sum, |value| value >> (8 * number) & 255);
            let byte = self.byte(byte);
            whole = self.shifted(&whole, byte, 8 * number);
        }
        self.of.insert(id, whole);
        self.cut.insert(id);
        Some(())
    }

    /// A sum with one more byte, at a place above the others.
    fn shifted(&mut self, sum: &Sum, byte: ByteId, lo: u32) -> Sum {
        let values: Vec<u128> = (0..VALUES as u128).map(|value| value << lo).collect();
        let byte = self.functions.of_byte(byte, &values);
        self.functions.xor(sum, &byte)
    }

    /// A value in memory, byte by byte.
    fn memory(&mut self, width: u32, mut byte: impl FnMut(&mut Self, usize) -> ByteId) -> Option<Sum> {
        let n = bytes_of(width)?;
        let mut sum = Sum::default();
        for number in 0..n {
            let byte = byte(self, number);
            sum = self.shifted(&sum, byte, 8 * number as u32);
        }
        Some(sum)
    }

    fn node(&mut self, id: NodeId) -> Option<Sum> {
        let graph = &self.body.graph;
        let width = graph.width(id);
        match graph.op(id) {
            Op::Const(value) => Some(Sum::constant(*value)),
            &Op::Input { port, offset } => {
                let (port, first) = (port as usize, usize::try_from(offset).ok()? * bytes_of(width)?);
                self.memory(width, |sums, number| sums.of_origin(Origin::Token { port, at: first + number }))
            }
            &Op::Entry { object, index } => {
                let first = usize::try_from(graph.constant(index)?).ok()? * bytes_of(width)?;
                self.memory(width, |sums, number| sums.of_origin(Origin::Element { object, at: first + number }))
            }
            Op::Loaded(_) | Op::Instruction { .. } => None,
            Op::Xor(a, b) => {
                let (a, b) = (self.of.get(a)?.clone(), self.of.get(b)?.clone());
                Some(self.functions.xor(&a, &b))
            }
            Op::Concat(parts) => {
                let mut whole = Sum::default();
                for part in parts.iter() {
                    let part_width = graph.width(*part);
                    let part = self.of.get(part)?.clone();
                    whole = self.functions.map(&whole, |value| value.checked_shl(part_width).unwrap_or(0));
                    whole = self.functions.xor(&whole, &part);
                }
                Some(whole)
            }
            _ => {
                if let Some(sum) = self.linear(id) {
                    return Some(sum);
                }
                // Operands of several bytes become bytes, as far as they can.
                for operand in graph.op(id).operands() {
                    self.make_single(operand)?;
                }
                self.linear(id)
            }
        }
    }

    /// An operation on operands that are constant, of one byte together, or for which it is linear.
    fn linear(&mut self, id: NodeId) -> Option<Sum> {
        let graph = &self.body.graph;
        let op = graph.op(id);
        let operands: Vec<Sum> =
            op.operands().iter().map(|operand| self.of.get(operand).cloned()).collect::<Option<_>>()?;
        let value = |values: &[u128]| operation(graph, id, values);
        let constants: Vec<u128> = operands.iter().map(|operand| operand.constant).collect();
        let varying: Vec<usize> = (0..operands.len()).filter(|&at| !operands[at].is_constant()).collect();
        let bytes: FxHashSet<ByteId> = operands.iter().flat_map(|operand| operand.terms.keys().copied()).collect();
        match (varying.as_slice(), bytes.len()) {
            ([], _) => return Some(Sum::constant(value(&constants))),
            (_, 1) => {
                let byte = bytes.into_iter().next()?;
                let functions: Vec<_> = operands
                    .iter()
                    .map(|operand| operand.single().map(|(_, function)| self.functions.values(function)))
                    .collect();
                let mut at = constants.clone();
                let value_at = |x: usize| {
                    for ((operand, constant), function) in at.iter_mut().zip(&constants).zip(&functions) {
                        *operand = constant ^ function.as_ref().map_or(0, |values| values[x]);
                    }
                    value(&at)
                };
                let values: Vec<u128> = (0..VALUES).map(value_at).collect();
                return Some(self.functions.of_byte(byte, &values));
            }
            _ => {}
        }
        if let Op::Select(..) = op {
            // One of two values whose difference is the same always.
            let [condition, then, otherwise] = operands.as_slice() else { return None };
            let difference = self.functions.xor(then, otherwise);
            if !difference.is_constant() {
                return None;
            }
            let chosen = self.functions.map(condition, |bit| if bit == 1 { difference.constant } else { 0 });
            return Some(self.functions.xor(&chosen, otherwise));
        }
        let &[at] = varying.as_slice() else { return None };
        let operand = &operands[at];
        let with = |x: u128| {
            let mut values = constants.clone();
            values[at] = x;
            value(&values)
        };
        let is_linear = match op {
            Op::Not(_) | Op::Extract(..) | Op::SignExtend(_) | Op::And(..) | Op::Or(..) => true,
            Op::ShiftLeft(..) | Op::ShiftRight(..) | Op::ShiftRightSigned(..) | Op::RotateLeft(..) if at == 0 => true,
            _ => {
                let basis = self.functions.basis(operand, MOST_DIMENSIONS)?;
                is_affine(&basis, operand.constant, with)
            }
        };
        // A map that is affine on all that the operand takes: seen from its constant.
        let origin = with(operand.constant);
        let changed = |x: u128| with(x ^ operand.constant) ^ origin;
        is_linear.then(|| Sum { constant: origin, ..self.functions.map(operand, changed) })
    }

    /// Makes a byte of what an operand has of several bytes.
    fn make_single(&mut self, operand: NodeId) -> Option<()> {
        if self.of.get(&operand)?.terms.len() < 2 {
            return Some(());
        }
        // From the operand down to a byte, and up again.
        let graph = &self.body.graph;
        let mut path = vec![operand];
        loop {
            let &id = path.last()?;
            if graph.width(id) == 8 {
                break;
            }
            let varying = |part: &NodeId| self.of.get(part).is_some_and(|sum| !sum.is_constant());
            let below = match graph.op(id) {
                Op::Concat(parts) => {
                    let mut parts = parts.iter().copied().filter(varying);
                    parts.next().filter(|_| parts.next().is_none())?
                }
                Op::Extract(whole, _) if graph.width(*whole) == 8 => *whole,
                _ => return None,
            };
            path.push(below);
        }
        self.cut(path.pop()?)?;
        while let Some(id) = path.pop() {
            let sum = self.node(id)?;
            self.of.insert(id, sum);
        }
        Some(())
    }

    /// The first node of eight bits with the terms of a byte, if there is one: the program computes bytes in some
    /// order.
    pub fn first_seen(&self, byte: ByteId) -> Option<NodeId> {
        self.terms(byte).and_then(|terms| self.seen.get(terms)).copied()
    }

    /// The terms of a byte.
    pub fn terms(&self, byte: ByteId) -> Option<&BTreeMap<ByteId, FunctionId>> {
        match self.bytes.get(byte.0 as usize)? {
            Origin::Sum(sum) => Some(&sum.terms),
            _ => None,
        }
    }
}

/// Whether an operation is affine on a constant and all sums of a basis.
fn is_affine(basis: &[u128], constant: u128, of: impl Fn(u128) -> u128) -> bool {
    let origin = of(constant);
    let steps: Vec<u128> = basis.iter().map(|&one| of(constant ^ one) ^ origin).collect();
    (0..1_usize << basis.len()).all(|chosen| {
        let sum = |list: &[u128]| {
            let of_chosen = list.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
            of_chosen.fold(0, |sum, (_, one)| sum ^ one)
        };
        of(constant ^ sum(basis)) ^ origin == sum(&steps)
    })
}
