//! Register allocation of blocks: which 128-bit values an iteration computes, and from what. What an iteration does
//! with registers of 128 bits.
//!
//! Bytes of a register come from tokens, from counters, from other registers and from what no iteration changes. Where
//! all stand in their places they are a load, a broadcast or that register; otherwise they are shuffled from each
//! register they come from, and added.

mod glued;
pub mod linear;

use crate::NotApplicable;
use headrace_transform::kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use linear::{Matrix, Power};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Bytes of a register of an iteration.
pub const BYTES: usize = 16;

/// Words of a register.
pub const WORDS: usize = 4;

/// Bits of a word.
const WORD_BITS: u32 = 32;

/// A register of an iteration. Numbers of other registers are positions in [`Plan::blocks`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Block {
    /// Tokens of a port from this one on, which may belong to the iteration before.
    Load {
        /// The port.
        port: u32,
        /// The first token, counted from the first of the iteration.
        first: i64,
    },
    /// The same in every iteration.
    Invariant(NodeId),
    /// The low 16 bytes of a counter at the beginning of the iteration.
    Counter(usize),
    /// What the iteration before left, and this one needs for what it leaves: number in [`Plan::chains`].
    Chain(usize),
    /// Words that the iteration before left: number in [`Plan::words`].
    Words(usize),
    /// What the iteration before left, which needs nothing of the one before it: number in [`Plan::delays`].
    Delay(usize),
    /// A power of a matrix times what the loop began with: number in [`Plan::powers`].
    Power(usize),
    /// Bytes of another register.
    Shuffle {
        /// That register.
        from: usize,
        /// Which of its bytes each byte is; `None` is 0.
        bytes: [Option<u8>; BYTES],
    },
    /// The complement of a register.
    Not(usize),
    /// Bits of both registers.
    And(usize, usize),
    /// Bits of one of two registers.
    Or(usize, usize),
    /// Bits in which two registers differ.
    Xor(usize, usize),
    /// An instruction; what must be constant stays a number.
    Instruction {
        /// Position among the descriptions of instructions.
        description: u32,
        /// What it takes, in order.
        operands: Vec<Operand>,
    },
}

/// What an instruction takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Block(usize),
    /// A constant.
    Immediate(u128),
}

/// Sixteen neighbouring elements that go from iteration to iteration.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The object that they are elements of.
    pub object: ObjectId,
    /// The first of them.
    pub first: usize,
    /// The register that they hold at the end of an iteration.
    pub next: usize,
}

/// Four words that go from iteration to iteration, wherever they lie.
#[derive(Clone, Debug)]
pub struct Words {
    /// Where; `None` is 0.
    pub places: [Option<(ObjectId, usize)>; WORDS],
    /// The register that they are at the end of an iteration.
    pub next: usize,
}

/// Everything that an iteration computes.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The loop.
    pub body: &'a Loop,
    /// The graph of the loop, with nodes added that no iteration changes.
    pub graph: Graph,
    /// Registers, those that others need first.
    pub blocks: Vec<Block>,
    /// Port, first token and register of what is written.
    pub outputs: Vec<(u32, u64, usize)>,
    /// What each iteration needs of the one before it.
    pub chains: Vec<Chain>,
    /// The same, in words.
    pub words: Vec<Words>,
    /// What iterations take from the one before, which can be computed ahead.
    pub delays: Vec<Chain>,
    /// What goes from iteration to iteration by a matrix.
    pub powers: Vec<Power>,
    /// Whether each register is needed.
    pub live: Vec<bool>,
    /// Carried elements of which the next value can be computed before the iteration before is done.
    ahead: FxHashSet<(ObjectId, usize)>,
    /// Whether powers are taken instead of chains.
    with_powers: bool,
    numbers: FxHashMap<Block, usize>,
    of_node: FxHashMap<NodeId, usize>,
    varying: FxHashSet<NodeId>,
    carried: FxHashMap<(ObjectId, usize), usize>,
}

impl<'a> Plan<'a> {
    /// The plan of a loop.
    ///
    /// # Errors
    ///
    /// What cannot be done with registers of 128 bits.
    pub fn new(body: &'a Loop) -> Result<Plan<'a>, NotApplicable> {
        Plan::with(body, true)
    }

    /// The same without [`Plan::powers`]: what goes from iteration to iteration is computed one after the other.
    ///
    /// # Errors
    ///
    /// As [`Plan::new`].
    pub fn without_powers(body: &'a Loop) -> Result<Plan<'a>, NotApplicable> {
        Plan::with(body, false)
    }

    fn with(body: &'a Loop, with_powers: bool) -> Result<Plan<'a>, NotApplicable> {
        let carried: FxHashMap<(ObjectId, usize), usize> =
            body.carried.iter().enumerate().map(|(i, one)| ((one.object, one.index), i)).collect();
        let mut plan = Plan {
            body,
            graph: body.graph.clone(),
            blocks: Vec::new(),
            outputs: Vec::new(),
            chains: Vec::new(),
            words: Vec::new(),
            delays: Vec::new(),
            powers: Vec::new(),
            live: Vec::new(),
            ahead: ahead(body),
            with_powers,
            numbers: FxHashMap::default(),
            of_node: FxHashMap::default(),
            varying: FxHashSet::default(),
            carried,
        };
        for id in body.graph.reachable(body.roots()) {
            let own = match body.graph.op(id) {
                Op::Input { .. } | Op::Loaded(_) => true,
                Op::Entry { object, index } => match body.graph.constant(*index) {
                    Some(at) => plan.carried.contains_key(&(*object, at as usize)),
                    None => plan.carried.keys().any(|(other, _)| other == object),
                },
                _ => false,
            };
            if own || body.graph.op(id).operands().iter().any(|operand| plan.varying.contains(operand)) {
                plan.varying.insert(id);
            }
        }
        let mut tokens: BTreeMap<(u32, u64), NodeId> = BTreeMap::new();
        for &(port, offset, value) in &body.outputs {
            tokens.insert((port, offset), value);
        }
        for (port, &(n_tokens, width)) in body.produces.iter().enumerate() {
            if n_tokens > 0 && width != 8 {
                return Err(NotApplicable("tokens are not bytes".into()));
            }
            if !n_tokens.is_multiple_of(BYTES as u64) {
                return Err(NotApplicable("an iteration does not give whole blocks".into()));
            }
            for first in (0..n_tokens).step_by(BYTES) {
                let bytes = (0..BYTES as u64).map(|i| tokens.get(&(port as u32, first + i)).copied());
                let bytes: Option<Vec<NodeId>> = bytes.collect();
                let bytes = bytes.ok_or_else(|| NotApplicable("a token is missing".into()))?;
                let block = plan.glued(&bytes.iter().map(|&node| (node, 0)).collect::<Vec<_>>())?;
                plan.outputs.push((port as u32, first, block));
            }
        }
        plan.find_next()?;
        plan.find_live();
        Ok(plan)
    }

    /// Registers that a register is made from.
    pub fn operands(&self, number: usize) -> Vec<usize> {
        match &self.blocks[number] {
            Block::Shuffle { from, .. } | Block::Not(from) => vec![*from],
            Block::And(a, b) | Block::Or(a, b) | Block::Xor(a, b) => vec![*a, *b],
            Block::Instruction { operands, .. } => {
                let blocks = operands.iter().filter_map(|operand| match operand {
                    Operand::Block(block) => Some(*block),
                    Operand::Immediate(_) => None,
                });
                blocks.collect()
            }
            Block::Load { .. }
            | Block::Invariant(_)
            | Block::Counter(_)
            | Block::Chain(_)
            | Block::Words(_)
            | Block::Delay(_)
            | Block::Power(_) => Vec::new(),
        }
    }

    fn find_live(&mut self) {
        let mut live = vec![false; self.blocks.len()];
        let ends = self.chains.iter().chain(&self.delays).map(|chain| chain.next);
        let ends = ends.chain(self.words.iter().map(|words| words.next));
        let mut open: Vec<usize> = self.outputs.iter().map(|output| output.2).chain(ends).collect();
        while let Some(number) = open.pop() {
            if std::mem::replace(&mut live[number], true) {
                continue;
            }
            open.extend(self.operands(number));
        }
        self.live = live;
    }

    /// What chains hold at the end of an iteration; that may need further chains.
    fn find_next(&mut self) -> Result<(), NotApplicable> {
        let (mut done, mut words_done) = (0, 0);
        loop {
            while words_done < self.words.len() {
                let places = self.words[words_done].places;
                self.words[words_done].next = self.next_words(places)?;
                words_done += 1;
            }
            while done < self.chains.len() {
                let (object, first) = (self.chains[done].object, self.chains[done].first);
                self.chains[done].next = self.next_of(object, first)?;
                done += 1;
            }
            // What only goes on, without being read in an iteration.
            let in_chain = |object: ObjectId, at: usize| {
                (self.chains.iter().chain(&self.delays))
                    .any(|chain| chain.object == object && (chain.first..chain.first + BYTES).contains(&at))
                    || self.words.iter().any(|words| words.places.contains(&Some((object, at))))
                    || (self.powers.iter())
                        .any(|power| power.object == object && (power.first..power.first + BYTES).contains(&at))
            };
            let open =
                self.body.carried.iter().find(|one| one.carry == Carry::True && !in_chain(one.object, one.index));
            match open {
                Some(_) if words_done < self.words.len() => {}
                // Words are in the registers that the one needs in which they come out.
                Some(one) if self.body.objects[one.object.0 as usize].width == WORD_BITS => {
                    let Op::Extract(register, _) = *self.graph.op(one.next) else {
                        return Err(NotApplicable(
                            "a word goes from iteration to iteration outside of registers".into(),
                        ));
                    };
                    self.block(register)?;
                    if words_done == self.words.len() {
                        return Err(NotApplicable(
                            "a word goes from iteration to iteration that no register holds".into(),
                        ));
                    }
                }
                Some(one) => {
                    let (object, first) = (one.object, one.index / BYTES * BYTES);
                    self.kept(object, first)?;
                }
                None if words_done < self.words.len() || done < self.chains.len() => {}
                None => return Ok(()),
            }
        }
    }

    /// The register of words that the iteration before left, if these are such words or zeros.
    fn words_kept(&mut self, parts: &[NodeId]) -> Option<usize> {
        let mut places = Vec::new();
        for &part in parts.iter().rev() {
            let width = self.graph.width(part);
            match *self.graph.op(part) {
                Op::Const(0) if width.is_multiple_of(WORD_BITS) => {
                    places.extend((0..width / WORD_BITS).map(|_| None));
                }
                Op::Entry { object, index } if width == WORD_BITS => {
                    let place = (object, self.graph.constant(index)? as usize);
                    if self.body.carried[*self.carried.get(&place)?].carry != Carry::True {
                        return None;
                    }
                    places.push(Some(place));
                }
                _ => return None,
            }
        }
        let places: [Option<(ObjectId, usize)>; WORDS] = places.try_into().ok()?;
        let known = self.words.iter().position(|words| words.places == places);
        let number = known.unwrap_or_else(|| {
            self.words.push(Words { places, next: usize::MAX });
            self.words.len() - 1
        });
        Some(self.add(Block::Words(number)))
    }

    fn next_words(&mut self, places: [Option<(ObjectId, usize)>; WORDS]) -> Result<usize, NotApplicable> {
        let zero = self.graph.number(0, WORD_BITS);
        let words = places.map(|place| place.map_or(zero, |place| self.body.carried[self.carried[&place]].next));
        // What only goes on is there already.
        let highest_first: Vec<NodeId> = words.into_iter().rev().collect();
        if let Some(kept) = self.words_kept(&highest_first) {
            return Ok(kept);
        }
        let bytes = words.into_iter().flat_map(|word| (0..WORD_BITS / 8).map(move |at| (word, 8 * at)));
        self.glued(&bytes.collect::<Vec<_>>())
    }

    /// The register of what the iteration before left in sixteen elements.
    fn kept(&mut self, object: ObjectId, first: usize) -> Result<usize, NotApplicable> {
        let whole = (first..first + BYTES).all(|at| {
            self.carried
                .get(&(object, at))
                .is_some_and(|&one| !matches!(self.body.carried[one].carry, Carry::Counter { .. }))
        });
        if !whole || self.body.objects[object.0 as usize].width != 8 {
            return Err(NotApplicable("what goes from iteration to iteration is not a block of bytes".into()));
        }
        if (first..first + BYTES).all(|at| self.ahead.contains(&(object, at))) {
            if let Some(known) = self.delays.iter().position(|kept| kept.object == object && kept.first == first) {
                return Ok(self.add(Block::Delay(known)));
            }
            let next = self.next_of(object, first)?;
            self.delays.push(Chain { object, first, next });
            return Ok(self.add(Block::Delay(self.delays.len() - 1)));
        }
        if let Some(known) = self.powers.iter().position(|kept| kept.object == object && kept.first == first) {
            return Ok(self.add(Block::Power(known)));
        }
        let known = self.chains.iter().position(|kept| kept.object == object && kept.first == first);
        if known.is_none() && self.with_powers {
            let next: Vec<NodeId> =
                (first..first + BYTES).map(|at| self.body.carried[self.carried[&(object, at)]].next).collect();
            if let Some(matrix) = Matrix::of(&self.body.graph, (object, first), &next) {
                self.powers.push(Power { object, first, matrix });
                return Ok(self.add(Block::Power(self.powers.len() - 1)));
            }
        }
        let number = known.unwrap_or_else(|| {
            self.chains.push(Chain { object, first, next: usize::MAX });
            self.chains.len() - 1
        });
        Ok(self.add(Block::Chain(number)))
    }

    fn next_of(&mut self, object: ObjectId, first: usize) -> Result<usize, NotApplicable> {
        let next: Vec<(NodeId, u32)> =
            (first..first + BYTES).map(|at| (self.body.carried[self.carried[&(object, at)]].next, 0)).collect();
        self.glued(&next)
    }

    fn add(&mut self, block: Block) -> usize {
        if let Some(&number) = self.numbers.get(&block) {
            return number;
        }
        self.blocks.push(block.clone());
        self.numbers.insert(block, self.blocks.len() - 1);
        self.blocks.len() - 1
    }

    /// A node of 128 bits.
    fn block(&mut self, id: NodeId) -> Result<usize, NotApplicable> {
        if let Some(&known) = self.of_node.get(&id) {
            return Ok(known);
        }
        let number = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.make(id))?;
        self.of_node.insert(id, number);
        Ok(number)
    }

    fn make(&mut self, id: NodeId) -> Result<usize, NotApplicable> {
        if self.graph.width(id) != 128 {
            return Err(NotApplicable("a value that differs from iteration to iteration is no block".into()));
        }
        if !self.varying.contains(&id) {
            return Ok(self.add(Block::Invariant(id)));
        }
        let block = match self.graph.op(id).clone() {
            Op::Not(a) => Block::Not(self.block(a)?),
            Op::And(a, b) => Block::And(self.block(a)?, self.block(b)?),
            Op::Or(a, b) => Block::Or(self.block(a)?, self.block(b)?),
            Op::Xor(..) => {
                let mut registers = Vec::new();
                self.added(id, &mut registers)?;
                return self.sum(registers);
            }
            Op::Instruction { description, operands } => {
                let mut taken = Vec::new();
                for &operand in operands.iter() {
                    taken.push(match self.graph.constant(operand) {
                        Some(value) if self.graph.width(operand) < 128 => Operand::Immediate(value),
                        _ => Operand::Block(self.block(operand)?),
                    });
                }
                Block::Instruction { description, operands: taken }
            }
            Op::Concat(parts) => {
                if let Some(words) = self.words_kept(&parts) {
                    return Ok(words);
                }
                let mut bytes = Vec::new();
                for &part in parts.iter().rev() {
                    let width = self.graph.width(part);
                    if !width.is_multiple_of(8) {
                        return Err(NotApplicable("a block is put together from bits".into()));
                    }
                    bytes.extend((0..width / 8).map(|i| (part, 8 * i)));
                }
                return self.glued(&bytes);
            }
            other => return Err(NotApplicable(format!("no register of bytes does this: {other:?}"))),
        };
        Ok(self.add(block))
    }

    /// Whether iterations need each other.
    pub fn is_chained(&self) -> bool {
        !self.chains.is_empty() || !self.words.is_empty()
    }

    /// Whether an iteration reads tokens of the one before.
    pub fn reads_before(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Load { first, .. } if *first < 0))
    }
}

/// Elements that are carried, are no counters, and do not need what is carried round a cycle.
fn ahead(body: &Loop) -> FxHashSet<(ObjectId, usize)> {
    let counters: FxHashSet<(ObjectId, usize)> = body
        .carried
        .iter()
        .filter(|one| matches!(one.carry, Carry::Counter { .. }))
        .map(|one| (one.object, one.index))
        .collect();
    let others: FxHashSet<(ObjectId, usize)> =
        body.carried.iter().map(|one| (one.object, one.index)).filter(|one| !counters.contains(one)).collect();
    // For each node, the carried elements that it needs.
    let mut needs: FxHashMap<NodeId, FxHashSet<(ObjectId, usize)>> = FxHashMap::default();
    for id in body.graph.reachable(body.roots()) {
        let mut own = FxHashSet::default();
        if let Op::Entry { object, index } = body.graph.op(id) {
            match body.graph.constant(*index) {
                Some(at) => own.extend(others.get(&(*object, at as usize))),
                None => own.extend(others.iter().filter(|other| other.0 == *object)),
            }
        }
        for operand in body.graph.op(id).operands() {
            own.extend(needs.get(&operand).into_iter().flatten());
        }
        needs.insert(id, own);
    }
    let mut ahead = FxHashSet::default();
    loop {
        let before = ahead.len();
        for one in &body.carried {
            let key = (one.object, one.index);
            if others.contains(&key) && needs[&one.next].is_subset(&ahead) {
                ahead.insert(key);
            }
        }
        if ahead.len() == before {
            return ahead;
        }
    }
}
