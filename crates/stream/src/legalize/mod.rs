//! Legalization: iterations of a loop, on values of any width, as operations on words of 32 bits.
//!
//! | file | what is there |
//! | --- | --- |
//! | `bits` | what only moves bits, put together where a word is needed |
//! | `state` | keys, counters, the record before, chains |
//! | `wide` | sums, products and shifts of several words |
//!
//! Narrow tokens lie several in a word. What is done to each of them bit by bit is done to the word.

mod bits;
mod state;
mod wide;

use crate::words::{
    BITS, Binary, Carried, First, Has, Stream, TableSource, TableUse, Why, WordCode, WordId, WordOp, places,
};
use bits::{Bits, Run, ones, push, slice, width_of};
use headrace_kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::FxHashMap;
use state::Place;

/// Why something has no form as a kernel: a sentence without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoForm(pub String);

impl NoForm {
    /// For this reason, a sentence without a full stop.
    pub fn new(reason: impl Into<String>) -> NoForm {
        NoForm(reason.into())
    }
}

impl std::fmt::Display for NoForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoForm {}

/// How an iteration becomes word code.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the machine has.
    pub has: Has,
    /// Clusters, a power of two.
    pub clusters: u32,
    /// Whether the first token of a word of a stream is its most significant.
    pub big_endian: bool,
    /// Whether each cluster has records of a channel of its own, even where that is not necessary.
    pub channels: bool,
}

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 60_000;

struct Legalizer<'a> {
    body: &'a Loop,
    has: Has,
    big_endian: bool,
    /// Records from one iteration of a cluster to its next.
    stride: u32,
    code: WordCode,
    /// Bits of nodes that are there.
    known: Vec<Option<Bits>>,
    /// Nodes that are computed as a part of a word, if they can be.
    is_lazy: Vec<bool>,
    carries: FxHashMap<(ObjectId, usize), usize>,
    counters: FxHashMap<usize, Bits>,
    /// Carried words: of an object, packed or of one element, which word.
    places: FxHashMap<(ObjectId, usize, u32), Place>,
    /// Input streams of ports.
    ports: FxHashMap<u32, u32>,
    /// Words of the record before.
    before: FxHashMap<(u32, u32), WordId>,
}

/// A part of a node.
#[derive(Clone, Copy, Debug)]
struct Part {
    node: NodeId,
    lo: u32,
    width: u32,
}

/// Parts word by word: cut where a word ends.
fn words_of(parts: &[Part]) -> Vec<Vec<Part>> {
    let mut words = vec![Vec::new()];
    let mut filled = 0;
    for &part in parts {
        let mut rest = part;
        while rest.width > 0 {
            if filled == BITS {
                words.push(Vec::new());
                filled = 0;
            }
            let width = rest.width.min(BITS - filled);
            if let Some(last) = words.last_mut() {
                last.push(Part { width, ..rest });
            }
            filled += width;
            rest = Part { lo: rest.lo + width, width: rest.width - width, ..rest };
        }
    }
    words
}

/// Whether clusters can only take records of channels of their own: iterations wait for each other.
pub fn is_chain(body: &Loop) -> bool {
    !body.is_independent()
}

/// The word code of an iteration.
///
/// # Errors
///
/// Why it has none.
pub fn legalize(body: &Loop, options: Options) -> Result<WordCode, NoForm> {
    let roots = body.roots();
    let order = body.graph.reachable(roots.iter().copied());
    if order.len() > MOST_NODES {
        return Err(NoForm::new(format!("an iteration has {} values; a kernel has {MOST_NODES} at most", order.len())));
    }
    let n_nodes = body.graph.len();
    let carries = body.carried.iter().enumerate().map(|(at, one)| ((one.object, one.index), at)).collect();
    let mut legalizer = Legalizer {
        body,
        has: options.has,
        big_endian: options.big_endian,
        stride: if options.channels || is_chain(body) { 1 } else { options.clusters },
        code: WordCode::default(),
        known: vec![None; n_nodes],
        is_lazy: lazy(&body.graph, &order, &roots),
        carries,
        counters: FxHashMap::default(),
        places: FxHashMap::default(),
        ports: FxHashMap::default(),
        before: FxHashMap::default(),
    };
    legalizer.run(&order)?;
    Ok(legalizer.code)
}

/// Narrow bitwise operations that only parts of words are made of: done for all parts of a word at once where they can be.
fn lazy(graph: &Graph, order: &[NodeId], roots: &[NodeId]) -> Vec<bool> {
    let mut n_users = vec![0_u32; graph.len()];
    let mut only_moved = vec![true; graph.len()];
    let mut is_lazy = vec![false; graph.len()];
    roots.iter().for_each(|root| n_users[root.index()] += 1);
    for &id in order.iter().rev() {
        let op = graph.op(id);
        let is_bitwise = matches!(op, Op::Not(_) | Op::And(..) | Op::Or(..) | Op::Xor(..));
        is_lazy[id.index()] =
            is_bitwise && graph.width(id) < BITS && only_moved[id.index()] && n_users[id.index()] == 1;
        let moves = matches!(op, Op::Concat(_)) || is_lazy[id.index()];
        for operand in op.operands().iter() {
            n_users[operand.index()] += 1;
            only_moved[operand.index()] &= moves;
        }
    }
    is_lazy
}

impl Legalizer<'_> {
    fn run(&mut self, order: &[NodeId]) -> Result<(), NoForm> {
        let body = self.body;
        for (port, &(tokens, bits)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            self.ports.insert(port as u32, self.code.inputs.len() as u32);
            self.code.inputs.push(Stream::new(port as u32, tokens, bits, self.big_endian));
        }
        for (port, &(tokens, bits)) in body.produces.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            self.code.outputs.push(Stream::new(port as u32, tokens, bits, self.big_endian));
        }
        let groups = self.groups();
        let (chains, others): (Vec<_>, Vec<_>) = groups.iter().partition(|(_, _, members)| self.is_true(members));
        // Chains first: their words stand for what comes in.
        for (key, first, _) in &chains {
            let at = self.code.carried.len();
            let now = self.code.add(WordOp::Carried(at as u32));
            self.code.carried.push(Carried { first: first.clone(), next: WordId(0), why: Why::Chain });
            self.places.insert(*key, Place { now, open: Some(at) });
        }
        for (key, first, members) in &others {
            let nexts: Vec<NodeId> = members.iter().map(|part| part.node).collect();
            for id in body.graph.reachable(nexts.iter().copied()) {
                self.visit(id)?;
            }
            let word = self.word_of(members)?;
            let now = self.of_record_before(word, first.clone());
            self.places.insert(*key, Place { now, open: None });
        }
        for &id in order {
            self.visit(id)?;
        }
        for (key, _, members) in &chains {
            if let Some(Place { open: Some(at), .. }) = self.places.get(key).copied() {
                let next = self.word_of(members)?;
                self.code.carried[at].next = next;
            }
        }
        self.write_outputs()
    }

    fn is_true(&self, members: &[Part]) -> bool {
        members
            .first()
            .is_some_and(|part| self.body.carried.iter().any(|one| one.next == part.node && one.carry == Carry::True))
    }

    /// Words that are carried, of chains or of the record before: where, what they are at first, and the parts of what they become,
    /// the least significant first.
    #[allow(clippy::type_complexity)]
    fn groups(&self) -> Vec<((ObjectId, usize, u32), First, Vec<Part>)> {
        let mut groups: Vec<((ObjectId, usize, u32), First, Vec<(u32, Part)>)> = Vec::new();
        for one in self.body.carried.iter().filter(|one| !matches!(one.carry, Carry::Counter { .. })) {
            let of = &self.body.objects[one.object.0 as usize];
            if self.is_packed(one.object) {
                let (word, lo, width) = places(of.width, one.index as u64, of.length as u64, self.big_endian)[0];
                let part = (lo, Part { node: one.next, lo: 0, width });
                let key = (one.object, usize::MAX, word);
                match groups.iter_mut().find(|group| group.0 == key) {
                    Some(group) => group.2.push(part),
                    None => groups.push((key, First::Elements { object: one.object.0, word }, vec![part])),
                }
            } else {
                for word in 0..of.width.div_ceil(BITS) {
                    let part = Part { node: one.next, lo: BITS * word, width: (of.width - BITS * word).min(BITS) };
                    let first = First::Element { object: one.object.0, index: one.index, word };
                    groups.push(((one.object, one.index, word), first, vec![(0, part)]));
                }
            }
        }
        groups
            .into_iter()
            .map(|(key, first, mut members)| {
                members.sort_by_key(|member| member.0);
                (key, first, members.into_iter().map(|member| member.1).collect())
            })
            .collect()
    }

    fn write_outputs(&mut self) -> Result<(), NoForm> {
        let streams = self.code.outputs.clone();
        for (number, stream) in streams.iter().enumerate() {
            let mut words: Vec<Vec<(u32, Part)>> = vec![Vec::new(); stream.words as usize];
            for &(port, offset, node) in &self.body.outputs {
                if port != stream.port {
                    continue;
                }
                let mut lo = 0;
                for (word, at, width) in stream.place(offset) {
                    words[word as usize].push((at, Part { node, lo, width }));
                    lo += width;
                }
            }
            for (word, mut parts) in words.into_iter().enumerate() {
                parts.sort_by_key(|part| part.0);
                // Zeros stand where tokens are narrower than their places.
                let mut bits = Bits::new();
                let zero = self.code.number(0);
                let is_dense = parts.iter().zip(parts.iter().skip(1)).all(|(a, b)| a.0 + a.1.width == b.0);
                let value = if is_dense && parts.first().is_none_or(|part| part.0 == 0) {
                    let parts: Vec<Part> = parts.iter().map(|part| part.1).collect();
                    match parts.is_empty() {
                        true => zero,
                        false => {
                            let bits = self.bits_of_parts(&parts)?;
                            self.word(&bits, true)
                        }
                    }
                } else {
                    for (at, part) in parts {
                        let filled = width_of(&bits);
                        if at > filled {
                            push(&mut bits, Run { word: zero, lo: 0, width: at - filled });
                        }
                        for run in self.bits_of_parts(&[part])? {
                            push(&mut bits, run);
                        }
                    }
                    self.word(&bits, true)
                };
                self.code.writes.push((number as u32, word as u32, value));
            }
        }
        Ok(())
    }

    /// A word with these parts, which may have anything above them.
    fn word_of(&mut self, parts: &[Part]) -> Result<WordId, NoForm> {
        let bits = self.bits_of_parts(parts)?;
        Ok(self.word(&bits, false))
    }

    /// Parts that only move bits taken apart.
    fn flatten(&self, part: Part, all: &mut Vec<Part>) {
        match self.body.graph.op(part.node) {
            Op::Concat(parts) => {
                let mut at = 0;
                for &inner in parts.iter().rev() {
                    let width = self.body.graph.width(inner);
                    let (begin, end) = (part.lo.max(at), (part.lo + part.width).min(at + width));
                    if begin < end {
                        self.flatten(Part { node: inner, lo: begin - at, width: end - begin }, all);
                    }
                    at += width;
                }
            }
            Op::Extract(inner, lo) => self.flatten(Part { node: *inner, lo: lo + part.lo, width: part.width }, all),
            _ => all.push(part),
        }
    }

    /// The bits of parts one above the other, the least significant first.
    fn bits_of_parts(&mut self, parts: &[Part]) -> Result<Bits, NoForm> {
        let mut flat = Vec::new();
        parts.iter().for_each(|&part| self.flatten(part, &mut flat));
        let mut bits = Bits::new();
        for chunk in words_of(&flat) {
            if let Some(together) = self.together(&chunk)? {
                together.into_iter().for_each(|run| push(&mut bits, run));
                continue;
            }
            for part in chunk {
                let whole = self.bits(part.node)?;
                for run in slice(&whole, part.lo, part.width) {
                    push(&mut bits, run);
                }
            }
        }
        Ok(bits)
    }

    /// Parts that are the same bitwise operation of others, as one operation of words.
    fn together(&mut self, parts: &[Part]) -> Result<Option<Bits>, NoForm> {
        let graph = &self.body.graph;
        let is_waiting = |part: &&Part| self.is_lazy[part.node.index()] && self.known[part.node.index()].is_none();
        let Some(first) = parts.iter().find(is_waiting) else { return Ok(None) };
        let kind = std::mem::discriminant(graph.op(first.node));
        let fits = |part: &Part| {
            graph.constant(part.node).is_some()
                || (is_waiting(&part) && std::mem::discriminant(graph.op(part.node)) == kind)
        };
        if parts.iter().filter(is_waiting).count() < 2 || !parts.iter().all(fits) {
            return Ok(None);
        }
        let width: u32 = parts.iter().map(|part| part.width).sum();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut constants = 0_u32;
        let mut at = 0;
        for part in parts {
            match *graph.op(part.node) {
                Op::Const(value) => {
                    constants |= ((value >> part.lo) as u32 & ones(part.width)) << at;
                    // Anything may stand here on either side; what comes out is put right behind.
                    left.push(*part);
                    right.push(*part);
                }
                Op::Not(a) => left.push(Part { node: a, ..*part }),
                Op::And(a, b) | Op::Or(a, b) | Op::Xor(a, b) => {
                    left.push(Part { node: a, ..*part });
                    right.push(Part { node: b, ..*part });
                }
                _ => {}
            }
            at += part.width;
        }
        let op = match graph.op(first.node) {
            Op::And(..) => Binary::And,
            Op::Or(..) => Binary::Or,
            _ => Binary::Xor,
        };
        let is_not = matches!(graph.op(first.node), Op::Not(_));
        let has_constant_parts = parts.iter().any(|part| graph.constant(part.node).is_some());
        if has_constant_parts && (op == Binary::Xor) && constants != 0 {
            return Ok(None);
        }
        let left = self.bits_of_parts(&left)?;
        let word = if is_not {
            if has_constant_parts {
                return Ok(None);
            }
            let left = self.word(&left, false);
            self.code.binary_with(Binary::Xor, left, ones(width))
        } else {
            let right = self.bits_of_parts(&right)?;
            let (left, right) = (self.word(&left, false), self.word(&right, false));
            self.code.binary(op, left, right)
        };
        Ok(Some(vec![Run { word, lo: 0, width }]))
    }

    /// Makes what a node is, unless that can wait.
    fn visit(&mut self, id: NodeId) -> Result<(), NoForm> {
        let waits = self.is_lazy[id.index()] || matches!(self.body.graph.op(id), Op::Concat(_) | Op::Extract(..));
        if !waits {
            self.bits(id)?;
        }
        Ok(())
    }

    /// The bits of a node.
    fn bits(&mut self, id: NodeId) -> Result<Bits, NoForm> {
        if let Some(known) = &self.known[id.index()] {
            return Ok(known.clone());
        }
        let bits = self.make(id)?;
        debug_assert_eq!(width_of(&bits), self.body.graph.width(id), "{:?}", self.body.graph.op(id));
        self.known[id.index()] = Some(bits.clone());
        Ok(bits)
    }

    fn clean(&mut self, id: NodeId) -> Result<Vec<WordId>, NoForm> {
        let bits = self.bits(id)?;
        Ok(self.words(&bits, true))
    }

    fn dirty(&mut self, id: NodeId) -> Result<Vec<WordId>, NoForm> {
        let bits = self.bits(id)?;
        Ok(self.words(&bits, false))
    }

    fn bitwise(&mut self, op: Binary, a: NodeId, b: NodeId) -> Result<Bits, NoForm> {
        let (x, y) = (self.bits(a)?, self.bits(b)?);
        // Runs that stand at the same place of their words: the words as a whole.
        if let ([x], [y]) = (&x[..], &y[..])
            && x.lo == y.lo
            && x.lo > 0
        {
            let word = self.code.binary(op, x.word, y.word);
            return Ok(vec![Run { word, ..*x }]);
        }
        let width = width_of(&x);
        let (x, y) = (self.words(&x, false), self.words(&y, false));
        let words: Vec<WordId> = x.iter().zip(&y).map(|(&x, &y)| self.code.binary(op, x, y)).collect();
        Ok(bits::of_words(&words, width))
    }

    fn make(&mut self, id: NodeId) -> Result<Bits, NoForm> {
        let body = self.body;
        let (graph, width) = (&body.graph, body.graph.width(id));
        let words = match *graph.op(id) {
            Op::Const(value) => return Ok(self.constant_bits(value, width)),
            Op::Input { port, offset } => return self.token(port, offset, width),
            Op::Entry { object, index } => match graph.constant(index) {
                Some(index) => return self.element(object, index as usize),
                None => {
                    let of = &body.objects[object.0 as usize];
                    if body.carried.iter().any(|one| one.object == object) {
                        return Err(NoForm::new(format!(
                            "`{}` is read at computed places and changed from iteration to iteration",
                            of.name
                        )));
                    }
                    let index = self.clean(index)?[0];
                    (0..width.div_ceil(BITS))
                        .map(|word| {
                            let table = TableUse {
                                name: of.name.clone(),
                                length: of.length,
                                bits: (width - BITS * word).min(BITS),
                                source: TableSource::Object { object: object.0, lo: BITS * word },
                            };
                            self.look_up(table, index)
                        })
                        .collect()
                }
            },
            Op::Lookup(table, index) => {
                let index = self.clean(index)?[0];
                let of = graph.table(table);
                (0..width.div_ceil(BITS))
                    .map(|word| {
                        let part = |element: &u128| (element >> (BITS * word)) as u32;
                        let table = TableUse {
                            name: of.name.clone(),
                            length: of.elements.len(),
                            bits: (width - BITS * word).min(BITS),
                            source: TableSource::Constant(of.elements.iter().map(part).collect()),
                        };
                        self.look_up(table, index)
                    })
                    .collect()
            }
            Op::Loaded(_) => return Err(NoForm::new("it reads and writes a list at computed places")),
            Op::LookupBytes(..) | Op::Instruction { .. } => {
                return Err(NoForm::new("it has an instruction of another machine"));
            }
            Op::Divide(..) | Op::Remainder(..) => return Err(NoForm::new("it divides")),
            Op::Not(a) => {
                let x = self.bits(a)?;
                if let [x] = x[..] {
                    let mask = ones(x.width) << x.lo;
                    let word = self.code.binary_with(Binary::Xor, x.word, mask);
                    return Ok(vec![Run { word, ..x }]);
                }
                let x = self.words(&x, false);
                let part = |at: usize| ones((width - BITS * at as u32).min(BITS));
                x.iter().enumerate().map(|(at, &x)| self.code.binary_with(Binary::Xor, x, part(at))).collect()
            }
            Op::And(a, b) => return self.bitwise(Binary::And, a, b),
            Op::Or(a, b) => return self.bitwise(Binary::Or, a, b),
            Op::Xor(a, b) => return self.bitwise(Binary::Xor, a, b),
            Op::Add(a, b) => {
                let (a, b) = (self.dirty(a)?, self.dirty(b)?);
                self.sum(&a, &b)
            }
            Op::Sub(a, b) => {
                let (a, b) = (self.dirty(a)?, self.dirty(b)?);
                match (&a[..], &b[..]) {
                    (&[a], &[b]) => vec![self.code.binary(Binary::Sub, a, b)],
                    _ => self.difference(&a, &b).0,
                }
            }
            Op::Mul(a, b) => {
                let (a, b) = (self.clean(a)?, self.clean(b)?);
                self.product(&a, &b)
            }
            Op::ShiftLeft(a, n) => self.shifted(Binary::Shl, a, n)?,
            Op::ShiftRight(a, n) => self.shifted(Binary::Shr, a, n)?,
            Op::ShiftRightSigned(a, n) => self.shifted(Binary::Sra, a, n)?,
            Op::RotateLeft(a, n) => self.shifted(Binary::Rotl, a, n)?,
            Op::Concat(_) | Op::Extract(..) => return self.bits_of_parts(&[Part { node: id, lo: 0, width }]),
            Op::SignExtend(a) => {
                let narrow = graph.width(a);
                let mut words = self.dirty(a)?;
                let rest = narrow % BITS;
                let top = words.len() - 1;
                if rest > 0 {
                    let up = self.code.binary_with(Binary::Shl, words[top], BITS - rest);
                    words[top] = self.code.binary_with(Binary::Sra, up, BITS - rest);
                }
                while words.len() < width.div_ceil(BITS) as usize {
                    let sign = self.code.binary_with(Binary::Sra, words[top], BITS - 1);
                    words.push(sign);
                }
                words
            }
            Op::Equal(a, b) => {
                let (a, b) = (self.clean(a)?, self.clean(b)?);
                vec![self.equal(&a, &b)]
            }
            Op::Less(a, b) => {
                let (a, b) = (self.clean(a)?, self.clean(b)?);
                vec![self.less(&a, &b)]
            }
            Op::LessSigned(a, b) => {
                let narrow = graph.width(a);
                if narrow > BITS {
                    return Err(NoForm::new("it compares signed numbers of more than 32 bits"));
                }
                let up = |this: &mut Self, id| -> Result<WordId, NoForm> {
                    let word = this.dirty(id)?[0];
                    Ok(this.code.binary_with(Binary::Shl, word, BITS - narrow))
                };
                let (a, b) = (up(self, a)?, up(self, b)?);
                vec![self.code.binary(Binary::LtS, a, b)]
            }
            Op::Select(c, a, b) => {
                let c = self.clean(c)?[0];
                let (a, b) = (self.dirty(a)?, self.dirty(b)?);
                a.iter().zip(&b).map(|(&a, &b)| self.code.select(c, a, b)).collect()
            }
        };
        Ok(bits::of_words(&words, width))
    }

    fn shifted(&mut self, how: Binary, a: NodeId, n: NodeId) -> Result<Vec<WordId>, NoForm> {
        let width = self.body.graph.width(a);
        let most = self.body.graph.bounds(n).1;
        let words = if how == Binary::Shl { self.dirty(a)? } else { self.clean(a)? };
        // A word is moved by its amount modulo 32: what stands above does not count.
        let rotates = how == Binary::Rotl && width == BITS;
        let modulo = words.len() == 1 && (rotates || self.body.graph.width(n) == BITS.trailing_zeros());
        let amount = if modulo { self.dirty(n)? } else { self.clean(n)? };
        self.moved(how, &words, width, &amount, most)
    }

    fn look_up(&mut self, table: TableUse, index: WordId) -> WordId {
        let at = self.code.tables.iter().position(|other| *other == table).unwrap_or_else(|| {
            self.code.tables.push(table);
            self.code.tables.len() - 1
        });
        self.code.add(WordOp::Lookup { table: at as u32, index })
    }

    fn token(&mut self, port: u32, offset: i64, width: u32) -> Result<Bits, NoForm> {
        let Some(&stream) = self.ports.get(&port) else {
            return Err(NoForm::new("it reads tokens again that iterations do not consume"));
        };
        let of = &self.code.inputs[stream as usize];
        let tokens = of.tokens as i64;
        let record = offset.div_euclid(tokens);
        if !(-1..=0).contains(&record) {
            return Err(NoForm::new("it reads tokens of records further back than the one before"));
        }
        let parts = of.place(offset.rem_euclid(tokens) as u64);
        let mut bits = Bits::new();
        for (word, lo, part) in parts {
            let read = self.code.add(WordOp::Read { stream, word });
            let id = match (record, self.before.get(&(stream, word)).copied()) {
                (0, _) => read,
                (_, Some(before)) => before,
                (_, None) => {
                    let before = self.of_record_before(read, First::Nothing);
                    self.before.insert((stream, word), before);
                    before
                }
            };
            bits.push(Run { word: id, lo, width: part });
        }
        debug_assert_eq!(width_of(&bits), width);
        Ok(bits)
    }
}
