//! Word code: a kernel as a graph of operations on machine words of 32 bits, each built once.
//!
//! A kernel does the same to each record of its streams: each cluster takes another record. What differs from cluster to
//! cluster is what is read from streams, what an iteration leaves to the next, and the number of the cluster.

use rustc_hash::FxHashMap;

/// Bits of a word.
pub const BITS: u32 = 32;

/// A value of a [`WordCode`]. Operands have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WordId(pub u32);

impl WordId {
    /// The position in the code.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation of two words. Machine files call it by its name in small letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// Sum modulo 2^32.
    Add,
    /// Difference modulo 2^32.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left by the second operand modulo 32.
    Shl,
    /// Right by the second operand modulo 32, zeros come in.
    Shr,
    /// Right by the second operand modulo 32, copies of the top bit come in.
    Sra,
    /// Left by the second operand modulo 32, what falls out comes in at the right.
    Rotl,
    /// Low word of a product.
    Mul,
    /// High word of a product of unsigned numbers.
    MulHi,
    /// 1 where both are equal, else 0.
    Eq,
    /// 1 where the first is less, unsigned, else 0.
    LtU,
    /// 1 where the first is less, as two's complement, else 0.
    LtS,
}

impl Binary {
    /// All of them.
    pub const ALL: [Binary; 14] = [
        Binary::Add,
        Binary::Sub,
        Binary::And,
        Binary::Or,
        Binary::Xor,
        Binary::Shl,
        Binary::Shr,
        Binary::Sra,
        Binary::Rotl,
        Binary::Mul,
        Binary::MulHi,
        Binary::Eq,
        Binary::LtU,
        Binary::LtS,
    ];

    /// What machine files and listings call it.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::Shl => "shl",
            Binary::Shr => "shr",
            Binary::Sra => "sra",
            Binary::Rotl => "rotl",
            Binary::Mul => "mul",
            Binary::MulHi => "mulhi",
            Binary::Eq => "eq",
            Binary::LtU => "ltu",
            Binary::LtS => "lts",
        }
    }

    /// Whether operands may change places.
    pub fn commutes(self) -> bool {
        use Binary::{Add, And, Eq, Mul, MulHi, Or, Xor};
        matches!(self, Add | And | Or | Xor | Mul | MulHi | Eq)
    }

    /// What it gives.
    #[inline]
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::And => a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => a.wrapping_shl(b),
            Binary::Shr => a.wrapping_shr(b),
            Binary::Sra => (a as i32).wrapping_shr(b) as u32,
            Binary::Rotl => a.rotate_left(b & 31),
            Binary::Mul => a.wrapping_mul(b),
            Binary::MulHi => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            Binary::Eq => u32::from(a == b),
            Binary::LtU => u32::from(a < b),
            Binary::LtS => u32::from((a as i32) < (b as i32)),
        }
    }
}

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WordOp {
    /// A constant.
    Const(u32),
    /// The number of the cluster, from 0.
    Cluster,
    /// A word of the iteration's record of an input stream.
    Read {
        /// Position in [`WordCode::inputs`].
        stream: u32,
        /// Which word of the record.
        word: u32,
    },
    /// What no iteration changes: a position in [`WordCode::held`].
    Held(u32),
    /// What the phase before handed on to all iterations of this one: a position in what it is given.
    Given(u32),
    /// What the iteration before left: a position in [`WordCode::carried`].
    Carried(u32),
    /// An operation.
    Binary(Binary, WordId, WordId),
    /// The second if the first is not 0, else the third.
    Select(WordId, WordId, WordId),
    /// An element of a table, whose place is not settled yet.
    Lookup {
        /// Position in [`WordCode::tables`].
        table: u32,
        /// Which element; less than their number.
        index: WordId,
    },
    /// The word at `base + index` of the cluster's own scratchpad.
    Scratchpad {
        /// Added to the index, as part of the instruction.
        base: u32,
        /// A word that says where; `None`: nothing is added to the base.
        index: Option<WordId>,
    },
    /// An element of a table in the stream register file, which each cluster reads at its own place.
    Indexed {
        /// Position in [`WordCode::tables`].
        table: u32,
        /// Which element.
        index: WordId,
    },
    /// An element of a table in memory.
    Gather {
        /// Position in [`WordCode::tables`].
        table: u32,
        /// Which element.
        index: WordId,
    },
    /// The value of one cluster, for all.
    Broadcast {
        /// The value.
        value: WordId,
        /// The cluster.
        from: u32,
    },
    /// The value of another cluster.
    Permute {
        /// The value.
        value: WordId,
        /// The number of the cluster, modulo their number.
        lane: WordId,
    },
}

impl WordOp {
    /// What it reads, in order.
    pub fn operands(&self) -> Vec<WordId> {
        match *self {
            WordOp::Binary(_, a, b) => vec![a, b],
            WordOp::Select(c, a, b) => vec![c, a, b],
            WordOp::Lookup { index, .. } | WordOp::Indexed { index, .. } | WordOp::Gather { index, .. } => vec![index],
            WordOp::Scratchpad { index, .. } => index.into_iter().collect(),
            WordOp::Broadcast { value, .. } => vec![value],
            WordOp::Permute { value, lane } => vec![value, lane],
            WordOp::Const(_)
            | WordOp::Cluster
            | WordOp::Read { .. }
            | WordOp::Held(_)
            | WordOp::Given(_)
            | WordOp::Carried(_) => Vec::new(),
        }
    }

    /// The same on other operands.
    pub fn with(&self, new: &mut impl FnMut(WordId) -> WordId) -> WordOp {
        match *self {
            WordOp::Binary(op, a, b) => WordOp::Binary(op, new(a), new(b)),
            WordOp::Select(c, a, b) => WordOp::Select(new(c), new(a), new(b)),
            WordOp::Lookup { table, index } => WordOp::Lookup { table, index: new(index) },
            WordOp::Indexed { table, index } => WordOp::Indexed { table, index: new(index) },
            WordOp::Gather { table, index } => WordOp::Gather { table, index: new(index) },
            WordOp::Scratchpad { base, index } => WordOp::Scratchpad { base, index: index.map(new) },
            WordOp::Broadcast { value, from } => WordOp::Broadcast { value: new(value), from },
            WordOp::Permute { value, lane } => WordOp::Permute { value: new(value), lane: new(lane) },
            ref other => other.clone(),
        }
    }
}

/// A stream: records of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Position of the network's port, or of the list that kernels hand to each other.
    pub port: u32,
    /// Tokens of a record.
    pub tokens: u64,
    /// Bits of a token.
    pub token_bits: u32,
    /// Words of a record.
    pub words: u32,
    /// Whether the first token of a word is its most significant.
    pub big_endian: bool,
}

impl Stream {
    /// A stream of so many tokens a record.
    pub fn new(port: u32, tokens: u64, token_bits: u32, big_endian: bool) -> Stream {
        let words = match token_bits {
            0..=BITS => tokens.div_ceil(u64::from(per_word(token_bits))),
            _ => tokens * u64::from(token_bits.div_ceil(BITS)),
        };
        Stream { port, tokens, token_bits, words: words as u32, big_endian }
    }

    /// Where a token of a record lies: for each of its words, the least significant first, the word of the record, the lowest bit
    /// there, and how many bits.
    pub fn place(&self, token: u64) -> Vec<(u32, u32, u32)> {
        places(self.token_bits, token, self.tokens, self.big_endian)
    }
}

/// Tokens or elements of so many bits in a word.
pub fn per_word(bits: u32) -> u32 {
    match bits {
        1..=8 => 4,
        9..=16 => 2,
        _ => 1,
    }
}

/// Where element `at` of `all` lies when elements of so many bits lie in words: for each of its words, the least significant
/// first, the word, the lowest bit there, and how many bits.
pub fn places(bits: u32, at: u64, all: u64, big_endian: bool) -> Vec<(u32, u32, u32)> {
    let per_word = u64::from(per_word(bits));
    if per_word == 1 {
        let n = bits.div_ceil(BITS);
        return (0..n).map(|word| (at as u32 * n + word, 0, (bits - word * BITS).min(BITS))).collect();
    }
    let slot_bits = (BITS as u64 / per_word) as u32;
    let (word, slot) = (at / per_word, (at % per_word) as u32);
    let in_word = (all - word * per_word).min(per_word) as u32;
    let lo = if big_endian { (in_word - 1 - slot) * slot_bits } else { slot * slot_bits };
    vec![(word as u32, lo, bits)]
}

/// What a kernel holds and no iteration changes.
///
/// Elements of an object of the loop, several in a word where they are narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// Position of the object.
    pub object: u32,
    /// Which word of it; see [`places`].
    pub word: u32,
}

/// What an iteration leaves to the next of the same cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// What it is in the first iteration.
    pub first: First,
    /// What it is in the next iteration.
    pub next: WordId,
    /// What comes of it: how far iterations depend on each other.
    pub why: Why,
}

/// What is carried into the first iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum First {
    /// Elements of an object of the loop.
    Elements {
        /// Position of the object.
        object: u32,
        /// Which word of it; see [`places`].
        word: u32,
    },
    /// One element, or a word of it.
    Element {
        /// Position of the object.
        object: u32,
        /// Which element.
        index: usize,
        /// Which word of it.
        word: u32,
    },
    /// A word of a number to which each record adds the same.
    Counter {
        /// Position in the loop's counters.
        counter: usize,
        /// Which word of it, the least significant first.
        word: u32,
    },
    /// What the phase before handed on: a position in what this one is given.
    Given(u32),
    /// Nothing that is read; zero.
    Nothing,
}

/// Why something is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Any cluster computes it by itself.
    Counts,
    /// It was in the record before, which the cluster before had.
    RecordBefore,
    /// Each record needs what the one before came to: clusters can only take records of independent channels.
    Chain,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableUse {
    /// Where it comes from, for readers.
    pub name: String,
    /// Elements.
    pub length: usize,
    /// Bits of what of an element is read.
    pub bits: u32,
    /// What it is made of.
    pub source: TableSource,
}

/// What a table is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableSource {
    /// Constants.
    Constant(std::sync::Arc<[u32]>),
    /// Bits of elements of an object, of each those from `lo` on.
    Object {
        /// Position of the object.
        object: u32,
        /// The least significant bit.
        lo: u32,
    },
}

/// An iteration as word code.
#[derive(Clone, Debug, Default)]
pub struct WordCode {
    ops: Vec<WordOp>,
    /// Bits of each word that may be 1.
    maybe: Vec<u32>,
    known: FxHashMap<WordOp, WordId>,
    /// Streams in.
    pub inputs: Vec<Stream>,
    /// Streams out.
    pub outputs: Vec<Stream>,
    /// What is written: stream, word of its record, value.
    pub writes: Vec<(u32, u32, WordId)>,
    /// What no iteration changes.
    pub held: Vec<Held>,
    /// What goes from iteration to iteration.
    pub carried: Vec<Carried>,
    /// Tables.
    pub tables: Vec<TableUse>,
}

/// What a machine has of operations that not every one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Has {
    /// [`Binary::Rotl`].
    pub rotate: bool,
    /// [`Binary::MulHi`].
    pub high_product: bool,
}

impl WordCode {
    /// Number of words.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The same streams, held values and tables, and no words.
    pub fn without_words(&self) -> WordCode {
        WordCode {
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            held: self.held.clone(),
            tables: self.tables.clone(),
            ..WordCode::default()
        }
    }

    /// What a word is.
    pub fn op(&self, id: WordId) -> &WordOp {
        &self.ops[id.index()]
    }

    /// Bits that may be 1.
    pub fn maybe(&self, id: WordId) -> u32 {
        self.maybe[id.index()]
    }

    /// The value of a constant.
    pub fn constant(&self, id: WordId) -> Option<u32> {
        match *self.op(id) {
            WordOp::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Adds a word as it is, or finds it.
    pub fn add(&mut self, op: WordOp) -> WordId {
        if let Some(&id) = self.known.get(&op) {
            return id;
        }
        let maybe = self.maybe_of(&op);
        let id = WordId(self.ops.len() as u32);
        self.ops.push(op.clone());
        self.maybe.push(maybe);
        self.known.insert(op, id);
        id
    }

    fn maybe_of(&self, op: &WordOp) -> u32 {
        let below = |bits: u32| if bits >= BITS { u32::MAX } else { (1 << bits) - 1 };
        match *op {
            WordOp::Const(value) => value,
            WordOp::Cluster => 0xff,
            WordOp::Binary(op, a, b) => {
                let (x, y) = (self.maybe(a), self.maybe(b));
                let amount = self.constant(b);
                match (op, amount) {
                    (Binary::And, _) => x & y,
                    (Binary::Or | Binary::Xor, _) => x | y,
                    (Binary::Shl, Some(n)) => x.wrapping_shl(n),
                    (Binary::Shr, Some(n)) => x.wrapping_shr(n),
                    (Binary::Shr, None) => below(BITS - x.leading_zeros()),
                    (Binary::Rotl, Some(n)) => x.rotate_left(n & 31),
                    // Nothing is carried where no bit can be 1 in both.
                    (Binary::Add, _) if x & y == 0 => x | y,
                    (Binary::Add, _) => match below(BITS - (x | y).leading_zeros()) {
                        u32::MAX => u32::MAX,
                        bits => bits << 1 | 1,
                    },
                    (Binary::Mul, _) => below(2 * BITS - x.leading_zeros() - y.leading_zeros()),
                    (Binary::Eq | Binary::LtU | Binary::LtS, _) => 1,
                    _ => u32::MAX,
                }
            }
            WordOp::Select(_, a, b) => self.maybe(a) | self.maybe(b),
            WordOp::Lookup { table, .. } | WordOp::Indexed { table, .. } | WordOp::Gather { table, .. } => {
                below(self.tables[table as usize].bits)
            }
            WordOp::Broadcast { value, .. } | WordOp::Permute { value, .. } => self.maybe(value),
            WordOp::Scratchpad { .. }
            | WordOp::Read { .. }
            | WordOp::Held(_)
            | WordOp::Given(_)
            | WordOp::Carried(_) => u32::MAX,
        }
    }

    /// A constant.
    pub fn number(&mut self, value: u32) -> WordId {
        self.add(WordOp::Const(value))
    }

    /// An operation, simplified.
    pub fn binary(&mut self, op: Binary, a: WordId, b: WordId) -> WordId {
        let (a, b) = if op.commutes() && (self.constant(a).is_some() || (self.constant(b).is_none() && a > b)) {
            (b, a)
        } else {
            (a, b)
        };
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.number(op.apply(x, y));
        }
        match (op, self.constant(b)) {
            (Binary::Add | Binary::Sub | Binary::Or | Binary::Xor, Some(0)) => return a,
            (Binary::Shl | Binary::Shr | Binary::Sra | Binary::Rotl, Some(n)) if n.is_multiple_of(BITS) => return a,
            (Binary::And | Binary::Mul | Binary::MulHi, Some(0)) => return b,
            (Binary::And, Some(mask)) if self.maybe(a) & !mask == 0 => return a,
            (Binary::Mul, Some(1)) => return a,
            (Binary::Mul, Some(n)) if n.is_power_of_two() => {
                let n = self.number(n.trailing_zeros());
                return self.binary(Binary::Shl, a, n);
            }
            // What is shifted out again need not be cleared.
            (Binary::Sra, Some(n)) if n < BITS => {
                if let WordOp::Binary(Binary::Shl, x, left) = *self.op(a)
                    && let WordOp::Binary(Binary::Shr, x, right) = *self.op(x)
                    && let (Some(left), Some(right)) = (self.constant(left), self.constant(right))
                    && n >= left
                    && left >= right
                {
                    let moved = self.binary_with(Binary::Shl, x, left - right);
                    return self.binary(Binary::Sra, moved, b);
                }
            }
            // Bits that are cut out at one place and go to another: one shift at most.
            (Binary::Shl, Some(left)) if left < BITS => {
                if let WordOp::Binary(Binary::And, x, mask) = *self.op(a)
                    && let WordOp::Binary(Binary::Shr, x, right) = *self.op(x)
                    && let (Some(mask), Some(right)) = (self.constant(mask), self.constant(right))
                    && right < BITS
                {
                    let moved = match left >= right {
                        true => self.binary_with(Binary::Shl, x, left - right),
                        false => self.binary_with(Binary::Shr, x, right - left),
                    };
                    return self.binary_with(Binary::And, moved, mask << left);
                }
            }
            // A mask that the shift behind makes no difference to, or one behind another.
            (Binary::And, Some(mask)) => {
                if let WordOp::Binary(inner, x, y) = *self.op(a)
                    && let Some(other) = self.constant(y)
                {
                    let is_low = mask & mask.wrapping_add(1) == 0;
                    match inner {
                        Binary::And => {
                            let both = self.number(mask & other);
                            return self.binary(Binary::And, x, both);
                        }
                        Binary::Or | Binary::Xor if other & mask == 0 => return self.binary(Binary::And, x, b),
                        Binary::Add if other & mask == 0 && is_low => return self.binary(Binary::And, x, b),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        if a == b {
            match op {
                Binary::Xor | Binary::Sub => return self.number(0),
                Binary::And | Binary::Or => return a,
                Binary::LtU | Binary::LtS => return self.number(0),
                Binary::Eq => return self.number(1),
                _ => {}
            }
        }
        if op == Binary::LtU && self.constant(b) == Some(0) {
            return b;
        }
        self.add(WordOp::Binary(op, a, b))
    }

    /// The same with a constant.
    pub fn binary_with(&mut self, op: Binary, a: WordId, b: u32) -> WordId {
        let b = self.number(b);
        self.binary(op, a, b)
    }

    /// A rotation to the left, by shifts where the machine has none.
    pub fn rotate_left(&mut self, has: Has, a: WordId, n: WordId) -> WordId {
        if has.rotate {
            return self.binary(Binary::Rotl, a, n);
        }
        let zero = self.number(0);
        let back = self.binary(Binary::Sub, zero, n);
        let back = match self.constant(back) {
            Some(back) => self.number(back % BITS),
            None => back,
        };
        // Shifts take their amounts modulo 32.
        let (high, low) = (self.binary(Binary::Shl, a, n), self.binary(Binary::Shr, a, back));
        self.binary(Binary::Or, high, low)
    }

    /// A choice, simplified.
    pub fn select(&mut self, condition: WordId, a: WordId, b: WordId) -> WordId {
        match self.constant(condition) {
            _ if a == b => a,
            Some(0) => b,
            Some(_) => a,
            None if self.constant(a) == Some(1) && self.constant(b) == Some(0) && self.maybe(condition) == 1 => {
                condition
            }
            None => self.add(WordOp::Select(condition, a, b)),
        }
    }

    /// Words that writes and what is carried need, operands first.
    pub fn needed(&self) -> Vec<WordId> {
        let mut is_needed = vec![false; self.ops.len()];
        let roots = self.writes.iter().map(|write| write.2).chain(self.carried.iter().map(|one| one.next));
        roots.for_each(|id| is_needed[id.index()] = true);
        for at in (0..self.ops.len()).rev() {
            if is_needed[at] {
                self.ops[at].operands().iter().for_each(|id| is_needed[id.index()] = true);
            }
        }
        (0..self.ops.len()).filter(|&at| is_needed[at]).map(|at| WordId(at as u32)).collect()
    }

    /// Whether each word is the same in all iterations.
    pub fn invariants(&self) -> Vec<bool> {
        let mut all: Vec<bool> = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            let is_invariant = match op {
                WordOp::Const(_) | WordOp::Cluster | WordOp::Held(_) => true,
                // What is given is the same in the iterations of a phase, and another for each record.
                WordOp::Read { .. } | WordOp::Carried(_) | WordOp::Given(_) => false,
                _ => op.operands().iter().all(|id| all[id.index()]),
            };
            all.push(is_invariant);
        }
        all
    }
}
