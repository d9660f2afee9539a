//! Superword packing: which words share a register. Registers for words that are asked for together.
//!
//! Whoever needs four words in a register asks for them; where an instruction gives them, its operands are asked for in
//! turn, down to tokens and to what the iteration before left. Of several ways the one is taken whose operands look
//! most like registers that are there or can be made ([`Registers::price`]).

mod prices;

use super::bits::Bit;
use super::kernel::{Gather, Transition};
use super::matching::{Found, Lanes, Matcher};
use super::pattern::{LANES, Operand, Pattern, WORD_BITS};
use crate::kernel::{NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a word costs that must be brought to a register by itself.
const ALONE: u32 = 8;

/// Ways to choose one operand of each of four sums.
const MOST_COLUMNS: usize = 512;

/// Bytes of a register.
const BYTES: i64 = 16;

/// Four words that go from iteration to iteration, or zeros.
pub type Chain = [Option<(ObjectId, usize)>; LANES];

/// Registers of a transition.
pub struct Registers<'a> {
    /// The values; registers are nodes of 128 bits among them.
    pub kernel: Transition,
    patterns: &'a [Pattern],
    /// Words that must go from iteration to iteration in registers.
    carried: &'a FxHashSet<(ObjectId, usize)>,
    made: FxHashMap<Lanes, NodeId>,
    /// Registers that hold a word, and where.
    homes: FxHashMap<NodeId, Vec<(NodeId, usize)>>,
    lanes_of: FxHashMap<NodeId, Lanes>,
    underway: FxHashSet<Lanes>,
    given: FxHashMap<Lanes, bool>,
    given_for: FxHashMap<Lanes, u32>,
    failed: FxHashSet<Lanes>,
    /// Words that go on, in the registers in which they do.
    pub chains: Vec<Chain>,
}

/// A way to have four words.
struct Way {
    price: u32,
    how: How,
}

enum How {
    Instruction { pattern: usize, operands: Vec<Lanes>, rest: Option<(Gather, Lanes)> },
    Sum { gather: Gather, column: Lanes, rest: Lanes },
}

fn is_partial(lanes: &Lanes) -> bool {
    lanes.iter().any(Option::is_none)
}

fn n_known(lanes: &Lanes) -> usize {
    lanes.iter().flatten().count()
}

impl<'a> Registers<'a> {
    /// Of a transition.
    pub fn new(
        kernel: Transition,
        patterns: &'a [Pattern],
        carried: &'a FxHashSet<(ObjectId, usize)>,
    ) -> Registers<'a> {
        Registers {
            kernel,
            patterns,
            carried,
            made: FxHashMap::default(),
            homes: FxHashMap::default(),
            lanes_of: FxHashMap::default(),
            underway: FxHashSet::default(),
            given: FxHashMap::default(),
            given_for: FxHashMap::default(),
            failed: FxHashSet::default(),
            chains: Vec::new(),
        }
    }

    /// Where each word is that a register holds.
    pub fn homes(&self) -> impl Iterator<Item = (NodeId, (NodeId, usize))> {
        self.homes.iter().filter_map(|(&word, homes)| Some((word, *homes.first()?)))
    }

    /// All words of the topmost instruction of a transition of which the operands look like registers.
    pub fn topmost(&mut self, nodes: &[NodeId]) -> Option<Lanes> {
        for &node in nodes.iter().rev() {
            for pattern in self.patterns {
                for lane in (0..LANES).filter(|&lane| pattern.is_telling(lane)) {
                    let mut lanes: Lanes = [None; LANES];
                    lanes[lane] = Some(node);
                    let Some(all) = self.completed(pattern, lanes) else { continue };
                    let way = self.best(&all);
                    let alone = way.as_ref().is_some_and(|way| matches!(way.how, How::Instruction { rest: None, .. }));
                    if alone && way.is_some_and(|way| way.price < ALONE) {
                        return Some(all);
                    }
                }
            }
        }
        None
    }

    /// Finds the words of a result that do not follow from those that are known.
    fn completed(&self, pattern: &Pattern, lanes: Lanes) -> Option<Lanes> {
        let matcher = Matcher { pattern, kernel: &self.kernel };
        let found = matcher.find_one(&lanes)?;
        let Some(missing) = found.lanes.iter().position(Option::is_none) else { return Some(found.lanes) };
        for node in self.kernel.sums_of(found.inside[missing]?) {
            let mut more = found.lanes;
            more[missing] = Some(node);
            if let Some(all) = self.completed(pattern, more) {
                return Some(all);
            }
        }
        None
    }

    fn zero(&mut self) -> NodeId {
        self.kernel.graph.number(0, WORD_BITS)
    }

    /// The register that holds some words.
    pub fn request(&mut self, lanes: Lanes) -> Option<NodeId> {
        if let Some(&made) = self.made.get(&lanes) {
            return Some(made);
        }
        if self.failed.contains(&lanes) || !self.underway.insert(lanes) {
            return None;
        }
        let made = stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || self.make(lanes));
        self.underway.remove(&lanes);
        match made {
            Some(made) => {
                self.made.insert(lanes, made);
            }
            None => {
                self.failed.insert(lanes);
            }
        }
        made
    }

    /// Notes which words a register holds.
    fn note(&mut self, register: NodeId, lanes: Lanes) -> NodeId {
        self.made.insert(lanes, register);
        if self.lanes_of.insert(register, lanes).is_none() {
            for (lane, word) in lanes.into_iter().enumerate() {
                if let Some(word) = word
                    && self.kernel.graph.constant(word).is_none()
                {
                    self.homes.entry(word).or_default().push((register, lane));
                }
            }
        }
        register
    }

    fn make(&mut self, lanes: Lanes) -> Option<NodeId> {
        let constants: Option<Vec<u128>> =
            lanes.iter().map(|lane| lane.map_or(Some(0), |word| self.kernel.graph.constant(word))).collect();
        if let Some(constants) = constants {
            let whole = constants.iter().rev().fold(0, |whole, word| whole << WORD_BITS | word);
            return Some(self.kernel.graph.number(whole, WORD_BITS * LANES as u32));
        }
        if let Some(known) = self.held(&lanes) {
            return Some(known);
        }
        if let Some(chain) = self.chain(&lanes) {
            return Some(chain);
        }
        if let Some(loaded) = self.loaded(&lanes) {
            return Some(loaded);
        }
        if is_partial(&lanes) {
            return self.part(&lanes);
        }
        let way = self.best(&lanes)?;
        let register = self.built(way)?;
        Some(self.note(register, lanes))
    }

    /// From registers that are there: as it is, or put together.
    fn held(&mut self, lanes: &Lanes) -> Option<NodeId> {
        let mut sources: Vec<Option<(NodeId, usize)>> = Vec::new();
        let in_one = lanes.iter().flatten().find_map(|word| {
            let homes = self.homes.get(word)?;
            homes.iter().map(|home| home.0).find(|&register| {
                let held = self.lanes_of[&register];
                lanes.iter().flatten().all(|word| held.contains(&Some(*word)))
            })
        });
        for (lane, word) in lanes.iter().enumerate() {
            let Some(word) = word else {
                sources.push(None);
                continue;
            };
            let homes = self.homes.get(word)?;
            let home =
                homes.iter().filter(|home| in_one.is_none_or(|one| home.0 == one)).min_by_key(|home| home.1 != lane)?;
            sources.push(Some(*home));
        }
        let first = sources.iter().flatten().next()?.0;
        let stays = sources.iter().enumerate().all(|(lane, source)| source.is_none_or(|one| one == (first, lane)));
        if stays {
            return Some(first);
        }
        let mut parts = Vec::new();
        for (lane, source) in sources.iter().enumerate().rev() {
            // Where any word will do, the neighbour's neighbour makes the move one of whole registers.
            let (register, at) = source.unwrap_or((first, lane));
            parts.push(self.kernel.graph.extract(register, WORD_BITS * at as u32, WORD_BITS));
        }
        Some(self.kernel.graph.concat(&parts))
    }

    fn entry(&self, word: NodeId) -> Option<(ObjectId, usize)> {
        let Op::Entry { object, index } = self.kernel.graph.op(word) else { return None };
        let place = (*object, self.kernel.graph.constant(*index)? as usize);
        self.carried.contains(&place).then_some(place)
    }

    /// Words that the iteration before left.
    fn chain(&mut self, lanes: &Lanes) -> Option<NodeId> {
        let mut chain: Chain = [None; LANES];
        for (place, word) in chain.iter_mut().zip(lanes) {
            if let Some(word) = *word
                && self.kernel.graph.constant(word) != Some(0)
            {
                *place = Some(self.entry(word)?);
            }
        }
        let zero = self.zero();
        let parts: Vec<NodeId> = lanes.iter().rev().map(|word| word.unwrap_or(zero)).collect();
        let register = self.kernel.graph.concat(&parts);
        self.chains.push(chain);
        let held = lanes.map(|word| word.or(Some(zero)));
        Some(self.note(register, held))
    }

    /// Where in a port or an object the four bytes of a word lie: what, and the place of the least.
    fn in_memory(&self, word: NodeId) -> Option<(Memory, i64)> {
        let graph = &self.kernel.graph;
        let all = self.kernel.bits(word);
        let mut memory = None;
        let mut least = i64::MAX;
        for eight in all.chunks(8) {
            let &Bit::Of(byte, 0) = eight.first()? else { return None };
            let whole = eight.iter().enumerate().all(|(i, bit)| *bit == Bit::Of(byte, i as u32));
            let (own, at) = match graph.op(byte) {
                Op::Input { port, offset } => (Memory::Port(*port), *offset),
                Op::Entry { object, index } => (Memory::Object(*object), graph.constant(*index)? as i64),
                _ => return None,
            };
            if !whole || graph.width(byte) != 8 || *memory.get_or_insert(own) != own {
                return None;
            }
            least = least.min(at);
        }
        (least.rem_euclid(4) == 0).then_some((memory?, least))
    }

    /// Words that lie in memory: those that lie together come together.
    fn loaded(&mut self, lanes: &Lanes) -> Option<NodeId> {
        let places: Vec<Option<(Memory, i64)>> =
            lanes.iter().map(|word| word.and_then(|word| self.in_memory(word))).collect();
        if lanes.iter().zip(&places).any(|(word, place)| word.is_some() && place.is_none()) {
            return None;
        }
        let ordered: Vec<i64> = places.iter().flatten().map(|place| place.1).collect();
        let down = ordered.first() > ordered.last();
        for (word, place) in lanes.iter().zip(&places) {
            let (Some(word), Some((memory, at))) = (*word, *place) else { continue };
            if self.homes.contains_key(&word) {
                continue;
            }
            let first = at.div_euclid(BYTES) * BYTES;
            let order: Vec<i64> = self
                .kernel
                .bits(word)
                .chunks(8)
                .filter_map(|eight| match eight.first() {
                    Some(Bit::Of(byte, _)) => self.byte_place(*byte).map(|place| place - at),
                    _ => None,
                })
                .collect();
            let mut words = Vec::new();
            for number in 0..LANES as i64 {
                let mut bytes = Vec::new();
                for place in order.iter().rev() {
                    bytes.push(self.byte(memory, first + 4 * number + place)?);
                }
                words.push(self.kernel.graph.concat(&bytes));
            }
            if down {
                words.reverse();
            }
            let parts: Vec<NodeId> = words.iter().rev().copied().collect();
            let register = self.kernel.graph.concat(&parts);
            let held: Vec<Option<NodeId>> = words.into_iter().map(Some).collect();
            self.note(register, held.try_into().ok()?);
        }
        self.held(lanes)
    }

    fn byte_place(&self, byte: NodeId) -> Option<i64> {
        match self.kernel.graph.op(byte) {
            Op::Input { offset, .. } => Some(*offset),
            Op::Entry { index, .. } => Some(self.kernel.graph.constant(*index)? as i64),
            _ => None,
        }
    }

    fn byte(&mut self, memory: Memory, at: i64) -> Option<NodeId> {
        match memory {
            Memory::Port(port) => Some(self.kernel.graph.input(port, at, 8)),
            Memory::Object(object) => {
                let index = self.kernel.graph.number(u128::try_from(at).ok()?, 32);
                Some(self.kernel.graph.entry(object, index, 8))
            }
        }
    }

    /// Some words of a register, which may stand elsewhere in a register that there is to be.
    fn part(&mut self, lanes: &Lanes) -> Option<NodeId> {
        // Sums of ours stand in no other register.
        if lanes.iter().flatten().any(|&word| self.is_sum(word)) {
            let way = self.best(lanes)?;
            let register = self.built(way)?;
            return Some(self.note(register, *lanes));
        }
        let mut best: Option<(u32, Lanes)> = None;
        let first = lanes.iter().position(Option::is_some)?;
        let last = lanes.iter().rposition(Option::is_some)?;
        for start in 0..LANES - (last - first) {
            let mut shifted: Lanes = [None; LANES];
            shifted[start..=start + last - first].copy_from_slice(&lanes[first..=last]);
            for pattern in self.patterns {
                let matcher = Matcher { pattern, kernel: &self.kernel };
                for found in matcher.find(&shifted) {
                    if n_known(&found.lanes) < LANES || found.rest.iter().any(|rest| !rest.is_empty()) {
                        continue;
                    }
                    let price = self.order(&found.lanes) + u32::from(start != first);
                    if best.as_ref().is_none_or(|best| price < best.0) {
                        best = Some((price, found.lanes));
                    }
                }
            }
        }
        if let Some((price, whole)) = best
            && price < ALONE
            && self.request(whole).is_some()
        {
            return self.held(lanes);
        }
        let way = self.best(lanes)?;
        let register = self.built(way)?;
        Some(self.note(register, *lanes))
    }

    /// Sums of ours, each with a constant: the constants are a register of their own.
    fn constants(&mut self, lanes: &Lanes) -> Option<Way> {
        let (mut column, mut rest): (Lanes, Lanes) = Default::default();
        for (lane, word) in lanes.iter().enumerate() {
            let Some(word) = word.filter(|_| n_known(lanes) > 0) else { continue };
            let parts = self.kernel.parts(Gather::Add, word).filter(|_| self.is_sum(word))?;
            let (constants, others): (Vec<NodeId>, Vec<NodeId>) =
                parts.into_iter().partition(|&part| self.kernel.graph.constant(part).is_some());
            column[lane] = Some(*constants.first().filter(|_| constants.len() == 1)?);
            rest[lane] = Some(self.kernel.gathered(Gather::Add, &others));
        }
        Some(Way { price: 1 + self.price(&rest), how: How::Sum { gather: Gather::Add, column, rest } })
    }

    /// The best way to have words that nothing holds yet.
    fn best(&mut self, lanes: &Lanes) -> Option<Way> {
        if let Some(way) = self.constants(lanes) {
            return Some(way);
        }
        let mut best: Option<Way> = None;
        for number in 0..self.patterns.len() {
            let pattern = &self.patterns[number];
            if pattern.is_sum() {
                continue;
            }
            let found = Matcher { pattern, kernel: &self.kernel }.find(lanes);
            for found in found {
                if let Some(way) = self.instruction(number, lanes, &found)
                    && best.as_ref().is_none_or(|best| way.price < best.price)
                {
                    best = Some(way);
                }
            }
        }
        // What an instruction gives from registers is not taken apart.
        if best.as_ref().is_some_and(|best| best.price < ALONE) {
            return best;
        }
        for gather in [Gather::Add, Gather::Xor] {
            for way in self.columns(gather, lanes) {
                if best.as_ref().is_none_or(|best| way.price < best.price) {
                    best = Some(way);
                }
            }
        }
        best.filter(|best| best.price < 2 * LANES as u32 * ALONE)
    }

    /// What an instruction takes, and what is added to what it gives.
    fn operands(&mut self, number: usize, lanes: &Lanes, found: &Found) -> Option<(Vec<Lanes>, Option<Lanes>)> {
        let pattern = &self.patterns[number];
        let mut operands = Vec::new();
        for operand in &pattern.operands {
            let Operand::Register(variables) = operand else { continue };
            let mut words: Lanes = [None; LANES];
            for (word, variable) in words.iter_mut().zip(variables) {
                *word = found.values.get(variable).map(|value| self.kernel.gathered(found.gather, value));
            }
            // An operand that is what is asked for leads nowhere.
            if words == *lanes {
                return None;
            }
            operands.push(words);
        }
        if found.rest.iter().all(Vec::is_empty) {
            return Some((operands, None));
        }
        let mut rest: Lanes = [None; LANES];
        for ((word, left), lane) in rest.iter_mut().zip(&found.rest).zip(lanes) {
            if lane.is_some() {
                *word = Some(self.kernel.gathered(found.gather, left));
            }
        }
        (rest != *lanes).then_some((operands, Some(rest)))
    }

    fn instruction(&mut self, number: usize, lanes: &Lanes, found: &Found) -> Option<Way> {
        let (operands, rest) = self.operands(number, lanes, found)?;
        let mut price = 1 + u32::from(rest.is_some());
        for words in operands.iter().chain(&rest) {
            price += self.price(words);
        }
        let rest = rest.map(|rest| (found.gather, rest));
        Some(Way { price, how: How::Instruction { pattern: number, operands, rest } })
    }

    /// Ways to have words as the sum of two registers.
    fn columns(&mut self, gather: Gather, lanes: &Lanes) -> Vec<Way> {
        let mut chosen: Vec<(Lanes, Vec<Vec<NodeId>>)> = vec![([None; LANES], Vec::new())];
        let mut any_sum = false;
        for (lane, word) in lanes.iter().enumerate() {
            let Some(word) = *word else {
                chosen.iter_mut().for_each(|one| one.1.push(Vec::new()));
                continue;
            };
            let parts = self.kernel.parts(gather, word);
            any_sum |= parts.is_some();
            let mut parts = parts.unwrap_or_else(|| vec![word]);
            parts.dedup();
            chosen = chosen
                .into_iter()
                .flat_map(|(column, rest)| {
                    let parts = parts.clone();
                    (0..parts.len()).map(move |at| {
                        let mut column = column;
                        column[lane] = Some(parts[at]);
                        let mut left = parts.clone();
                        left.remove(at);
                        let mut rest = rest.clone();
                        rest.push(left);
                        (column, rest)
                    })
                })
                .take(MOST_COLUMNS)
                .collect();
        }
        if !any_sum {
            return Vec::new();
        }
        let mut ways = Vec::new();
        for (column, rest) in chosen {
            let mut left: Lanes = [None; LANES];
            for ((left, rest), lane) in left.iter_mut().zip(&rest).zip(lanes) {
                if lane.is_some() {
                    *left = Some(self.kernel.gathered(gather, rest));
                }
            }
            if column == *lanes || left == *lanes {
                continue;
            }
            let price = 1 + self.price(&column) + self.price(&left);
            ways.push(Way { price, how: How::Sum { gather, column, rest: left } });
        }
        ways
    }

    fn built(&mut self, way: Way) -> Option<NodeId> {
        match way.how {
            How::Sum { gather, column, rest } => {
                let (a, b) = (self.request(column)?, self.request(rest)?);
                self.added(gather, a, b)
            }
            How::Instruction { pattern, operands, rest } => {
                let pattern = &self.patterns[pattern];
                // Words of which only some are asked for come first, as long as their neighbours can be chosen freely,
                // but single ones last: they are in a register that others ask for.
                let mut order: Vec<usize> = (0..operands.len()).collect();
                order.sort_by_key(|&at| self.urgency(&operands[at]));
                let mut registers = vec![None; operands.len()];
                for at in order {
                    registers[at] = Some(self.request(operands[at])?);
                }
                let mut registers = registers.into_iter().flatten();
                let mut taken = Vec::new();
                for operand in &pattern.operands {
                    taken.push(match operand {
                        Operand::Register(_) => registers.next()?,
                        Operand::Immediate(value, width) => self.kernel.graph.number(*value, *width),
                    });
                }
                let op = Op::Instruction { description: pattern.description, operands: taken.into() };
                let result = self.kernel.graph.add(op, WORD_BITS * LANES as u32);
                match rest {
                    None => Some(result),
                    Some((gather, rest)) => {
                        let rest = self.request(rest)?;
                        self.added(gather, result, rest)
                    }
                }
            }
        }
    }

    fn urgency(&self, lanes: &Lanes) -> u32 {
        match n_known(lanes) {
            0 | 1 => 3,
            LANES => 1 + u32::from(lanes.iter().flatten().any(|&word| self.is_sum(word))),
            _ => 0,
        }
    }

    fn added(&mut self, gather: Gather, a: NodeId, b: NodeId) -> Option<NodeId> {
        match gather {
            Gather::Xor => Some(self.kernel.graph.xor(a, b)),
            Gather::Add => {
                let description = self.patterns.iter().find(|pattern| pattern.is_sum())?.description;
                let op = Op::Instruction { description, operands: [a, b].into() };
                Some(self.kernel.graph.add(op, WORD_BITS * LANES as u32))
            }
        }
    }

    /// Whether a word was put together of parts here.
    fn is_sum(&self, word: NodeId) -> bool {
        self.kernel.is_own(word)
    }
}

/// Where bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Port(u32),
    Object(ObjectId),
}
