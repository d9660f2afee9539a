//! Placement of tables: in the scratchpad of each cluster, spread over those of all, in the stream register file, or in memory;
//! and what look-ups become then.
//!
//! A table that is spread has element `k` in cluster `k % C` at `k / C`, as in the paper of Yao et al. (section 3.2). Clusters take
//! turns then: one after the other says which elements it needs, all read their scratchpads, and each takes what it has asked for
//! from the cluster that has it. What a cluster says is its index, or the word that several indices are parts of (a *packed
//! broadcast*). Or clusters exchange such words: in turn `i` cluster `c` reads for cluster `c ^ i`, whose word it has, and hands it
//! what it found. Its own is there at once, so that a turn is saved; which turn was the right one is chosen by bits of the index.

use crate::legalize::NoForm;
use crate::machine::Machine;
use crate::words::{BITS, Binary, TableSource, TableUse, WordCode, WordId, WordOp};
use std::collections::BTreeMap;

/// Where a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Whole, in each scratchpad, from a word on; elements are so many bits up in their words.
    Scratchpad {
        /// The first word.
        base: u32,
        /// Bits below.
        lo: u32,
    },
    /// Spread over all scratchpads, from a word on.
    Spread {
        /// The first word.
        base: u32,
    },
    /// In the stream register file.
    StreamRegisters,
    /// In memory.
    Memory,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Scratchpad { base, lo: 0 } => write!(f, "scratchpad from word {base} on"),
            Place::Scratchpad { base, lo } => write!(f, "scratchpad from word {base} on, bit {lo} and above"),
            Place::Spread { base } => write!(f, "spread over all scratchpads, from word {base} on"),
            Place::StreamRegisters => f.write_str("stream register file"),
            Place::Memory => f.write_str("memory"),
        }
    }
}

/// What is done with tables that have no room in a scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Otherwise {
    /// Spread, each index broadcast by itself.
    SpreadEach,
    /// Spread, a broadcast for all indices that are parts of one word.
    SpreadPacked,
    /// Spread, clusters exchange the words that indices are parts of.
    SpreadExchange,
    /// In the stream register file.
    StreamRegisters,
    /// In memory.
    Memory,
}

/// A choice of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Tables that are whole in each scratchpad at most: those with the most look-ups for their size.
    pub whole: usize,
    /// Whether narrow tables lie side by side in words.
    pub packs: bool,
    /// The others.
    pub otherwise: Otherwise,
}

impl Choice {
    /// Those that can be for so many tables.
    pub fn all(n_tables: usize, machine: &Machine) -> Vec<Choice> {
        let mut otherwise = vec![];
        if machine.scratchpad.is_some() && machine.operation("broadcast").is_some() && *machine.clusters > 1 {
            otherwise.extend([Otherwise::SpreadEach, Otherwise::SpreadPacked]);
            if machine.operation("permute").is_some() && machine.clusters.is_power_of_two() {
                otherwise.push(Otherwise::SpreadExchange);
            }
        }
        if machine.operation("indexed").is_some() {
            otherwise.push(Otherwise::StreamRegisters);
        }
        if machine.operation("gather").is_some() {
            otherwise.push(Otherwise::Memory);
        }
        if n_tables == 0 {
            return vec![Choice { whole: 0, packs: false, otherwise: Otherwise::Memory }];
        }
        let mut all = Vec::new();
        for packs in [false, true] {
            for whole in (0..=n_tables).rev().filter(|&whole| whole == n_tables || whole < MOST_WHOLE) {
                let others = if whole == n_tables { &[Otherwise::Memory][..] } else { &otherwise };
                all.extend(others.iter().map(|&otherwise| Choice { whole, packs, otherwise }));
            }
        }
        all
    }
}

/// Tables that are tried to be whole in a scratchpad.
const MOST_WHOLE: usize = 3;

/// Word code whose tables have places.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The code, without look-ups that have no place.
    pub code: WordCode,
    /// The place of each table.
    pub places: Vec<Place>,
    /// Words of each scratchpad that tables take.
    pub scratchpad_words: u32,
    /// Words of the stream register file that tables take.
    pub register_words: u64,
}

/// Puts tables to their places.
///
/// # Errors
///
/// Where they have no room, or the machine has no way to reach them.
pub fn place(code: &WordCode, machine: &Machine, choice: Choice) -> Result<Placed, NoForm> {
    let needed = code.needed();
    let invariants = code.invariants();
    let mut n_reads = vec![0_usize; code.tables.len()];
    for &id in needed.iter().filter(|id| !invariants[id.index()]) {
        if let WordOp::Lookup { table, .. } = code.op(id) {
            n_reads[*table as usize] += 1;
        }
    }
    let mut order: Vec<usize> = (0..code.tables.len()).filter(|&at| n_reads[at] > 0).collect();
    // Most look-ups for a word first.
    order.sort_by(|&a, &b| {
        let (x, y) = (n_reads[a] * code.tables[b].length, n_reads[b] * code.tables[a].length);
        y.cmp(&x).then(a.cmp(&b))
    });
    let room = machine.scratchpad_words();
    let clusters = *machine.clusters;
    // Tables that are read before the first iteration only need no place; memory has them.
    let mut places = vec![Place::Memory; code.tables.len()];
    let mut used = 0;
    let mut register_words = 0;
    // Rows of words with bits that are free above: first word, words, bits.
    let mut rows: Vec<(u32, u32, u32)> = Vec::new();
    for (rank, &at) in order.iter().enumerate() {
        let table = &code.tables[at];
        let words = table.length as u32;
        let fits = |row: &&mut (u32, u32, u32)| row.1 >= words && row.2 + table.bits <= BITS;
        if rank < choice.whole {
            if choice.packs
                && let Some(row) = rows.iter_mut().find(fits)
            {
                places[at] = Place::Scratchpad { base: row.0, lo: row.2 };
                row.2 += table.bits;
                continue;
            }
            if used + words > room {
                return Err(NoForm::new(format!("`{}` has no room in the scratchpad", table.name)));
            }
            places[at] = Place::Scratchpad { base: used, lo: 0 };
            rows.push((used, words, table.bits));
            used += words;
            continue;
        }
        places[at] = match choice.otherwise {
            Otherwise::SpreadEach | Otherwise::SpreadPacked | Otherwise::SpreadExchange => {
                let words = words.div_ceil(clusters);
                if used + words > room {
                    return Err(NoForm::new(format!("`{}` has no room, even spread over all scratchpads", table.name)));
                }
                used += words;
                Place::Spread { base: used - words }
            }
            Otherwise::StreamRegisters => {
                // Each cluster reads its own bank: there is a copy in each.
                register_words += u64::from(words) * u64::from(clusters);
                Place::StreamRegisters
            }
            Otherwise::Memory => Place::Memory,
        };
    }
    if register_words > *machine.stream_registers.words / 2 {
        return Err(NoForm::new("tables take more than half of the stream register file"));
    }
    // Words of which other tables have the bits above.
    let is_shared = |place: &Place, bits: u32| match place {
        Place::Scratchpad { base, .. } => rows.iter().any(|row| row.0 == *base && row.2 > bits),
        _ => false,
    };
    let shared = places.iter().zip(&code.tables).map(|(place, table)| is_shared(place, table.bits)).collect();
    let mut placer = Placer {
        from: code,
        code: code.without_words(),
        new: BTreeMap::new(),
        words: BTreeMap::new(),
        clusters,
        shared,
    };
    for &id in &needed {
        let op = code.op(id);
        let made = match *op {
            WordOp::Lookup { table, index } if !invariants[id.index()] => {
                let place = places[table as usize];
                placer.look_up(table, index, place, choice.otherwise)
            }
            WordOp::Const(value) => placer.code.number(value),
            _ => {
                let op = op.with(&mut |operand| placer.new[&operand]);
                match op {
                    WordOp::Binary(op, a, b) => placer.code.binary(op, a, b),
                    WordOp::Select(c, a, b) => placer.code.select(c, a, b),
                    other => placer.code.add(other),
                }
            }
        };
        placer.new.insert(id, made);
    }
    let Placer { code: mut made, new, .. } = placer;
    made.writes = code.writes.iter().map(|&(stream, word, value)| (stream, word, new[&value])).collect();
    made.carried =
        code.carried.iter().map(|one| crate::words::Carried { next: new[&one.next], ..one.clone() }).collect();
    Ok(Placed { code: made, places, scratchpad_words: used, register_words })
}

struct Placer<'a> {
    from: &'a WordCode,
    code: WordCode,
    new: BTreeMap<WordId, WordId>,
    /// Words of each cluster that all have: the word, the cluster.
    words: BTreeMap<(WordId, u32), WordId>,
    clusters: u32,
    /// Whether other tables lie in the same words, for each.
    shared: Vec<bool>,
}

/// How many operations with constants an index is followed back.
const MOST_STEPS: usize = 4;

impl Placer<'_> {
    fn look_up(&mut self, table: u32, index: WordId, place: Place, otherwise: Otherwise) -> WordId {
        let new = self.new[&index];
        match place {
            Place::Scratchpad { base, lo } => {
                let word = self.scratchpad(base, new);
                let bits = self.from.tables[table as usize].bits;
                let down = self.code.binary_with(Binary::Shr, word, lo);
                // Alone in its word, it has zeros above.
                let mask = if bits >= BITS { u32::MAX } else { (1 << bits) - 1 };
                if self.shared[table as usize] { self.code.binary_with(Binary::And, down, mask) } else { word }
            }
            Place::StreamRegisters => self.code.add(WordOp::Indexed { table, index: new }),
            Place::Memory => self.code.add(WordOp::Gather { table, index: new }),
            Place::Spread { base } if otherwise == Otherwise::SpreadExchange => self.exchange(index, base),
            Place::Spread { base } => self.spread(index, base, otherwise == Otherwise::SpreadPacked),
        }
    }

    /// A word of the scratchpad; what is added to the index stands in the instruction.
    fn scratchpad(&mut self, base: u32, index: WordId) -> WordId {
        if let WordOp::Binary(op @ (Binary::Or | Binary::Add), a, b) = *self.code.op(index)
            && let Some(more) = self.code.constant(b)
            && more < 1 << 16
            && self.code.maybe(a) < 1 << 16
            && (op == Binary::Add || self.code.maybe(a) & more == 0)
        {
            return self.code.add(WordOp::Scratchpad { base: base + more, index: Some(a) });
        }
        if let Some(at) = self.code.constant(index) {
            return self.code.add(WordOp::Scratchpad { base: base + at, index: None });
        }
        self.code.add(WordOp::Scratchpad { base, index: Some(index) })
    }

    fn spread(&mut self, index: WordId, base: u32, packed: bool) -> WordId {
        let log = self.clusters.trailing_zeros();
        let new = self.new[&index];
        let lane = self.code.binary_with(Binary::And, new, self.clusters - 1);
        let (source, steps) = if packed { self.source(index) } else { (index, Vec::new()) };
        let source = self.new[&source];
        let own = self.code.add(WordOp::Cluster);
        let mut result: Option<WordId> = None;
        for from in 0..self.clusters {
            let row = if packed {
                let word = *self
                    .words
                    .entry((source, from))
                    .or_insert_with(|| self.code.add(WordOp::Broadcast { value: source, from }));
                let index = steps.iter().rev().fold(word, |word, &(op, by)| self.code.binary_with(op, word, by));
                shifted_right(&mut self.code, index, log)
            } else {
                let row = self.code.binary_with(Binary::Shr, new, log);
                self.code.add(WordOp::Broadcast { value: row, from })
            };
            let read = self.scratchpad(base, row);
            let got = self.code.add(WordOp::Permute { value: read, lane });
            result = Some(match result {
                None => got,
                Some(others) => {
                    let turn = self.code.binary_with(Binary::Eq, own, from);
                    self.code.select(turn, got, others)
                }
            });
        }
        result.unwrap_or(new)
    }

    /// A look-up for which clusters exchange words.
    fn exchange(&mut self, index: WordId, base: u32) -> WordId {
        let clusters = self.clusters;
        let log = clusters.trailing_zeros();
        let (source, steps) = self.source(index);
        let source = self.new[&source];
        let own = self.code.add(WordOp::Cluster);
        let mut found = Vec::with_capacity(clusters as usize);
        for turn in 0..clusters {
            let other = self.code.binary_with(Binary::Xor, own, turn);
            let word = match turn {
                0 => source,
                _ => *self
                    .words
                    .entry((source, turn))
                    .or_insert_with(|| self.code.add(WordOp::Permute { value: source, lane: other })),
            };
            let index = steps.iter().rev().fold(word, |word, &(op, by)| self.code.binary_with(op, word, by));
            let row = shifted_right(&mut self.code, index, log);
            let read = self.scratchpad(base, row);
            found.push(match turn {
                0 => read,
                _ => self.code.add(WordOp::Permute { value: read, lane: other }),
            });
        }
        // Bits of the turn are those in which the cluster that has the element differs from this one: bits of the index, where they
        // lie in the word that it is cut out of. Those of all bytes of a word are found at once.
        let mut low = index;
        if let WordOp::Binary(Binary::And, a, b) = *self.from.op(low)
            && self.from.constant(b).is_some_and(|mask| mask & (clusters - 1) == clusters - 1)
        {
            low = a;
        }
        let mut lo = 0;
        if let WordOp::Binary(Binary::Shr, a, b) = *self.from.op(low)
            && let Some(by) = self.from.constant(b).filter(|by| by + log <= BITS)
        {
            (low, lo) = (a, by);
        }
        let mut own_bits = self.code.binary_with(Binary::Shl, own, lo);
        if lo % 8 == 0 && log <= 8 {
            let two = self.code.binary_with(Binary::Shl, own, 8);
            let two = self.code.binary(Binary::Or, own, two);
            let four = self.code.binary_with(Binary::Shl, two, 16);
            own_bits = self.code.binary(Binary::Or, two, four);
        }
        let turn = self.code.binary(Binary::Xor, self.new[&low], own_bits);
        for bit in 0..log {
            let differs = self.code.binary_with(Binary::And, turn, 1 << (lo + bit));
            found = found.chunks(2).map(|pair| self.code.select(differs, pair[1], pair[0])).collect();
        }
        found[0]
    }

    /// The word that an index is a part of, and what makes the index of it, the last step first.
    fn source(&self, index: WordId) -> (WordId, Vec<(Binary, u32)>) {
        let mut at = index;
        let mut steps = Vec::new();
        while steps.len() < MOST_STEPS
            && let WordOp::Binary(op @ (Binary::And | Binary::Shr | Binary::Shl | Binary::Add | Binary::Or), a, b) =
                *self.from.op(at)
            && let Some(by) = self.from.constant(b)
        {
            steps.push((op, by));
            at = a;
        }
        (at, steps)
    }
}

/// A word shifted to the right, with masks and shifts in front of it put together.
fn shifted_right(code: &mut WordCode, word: WordId, by: u32) -> WordId {
    if let WordOp::Binary(op, a, b) = *code.op(word)
        && let Some(constant) = code.constant(b)
    {
        match op {
            Binary::And => {
                let inner = shifted_right(code, a, by);
                return code.binary_with(Binary::And, inner, constant >> by);
            }
            Binary::Shr if constant + by < BITS => return code.binary_with(Binary::Shr, a, constant + by),
            Binary::Or | Binary::Add if constant.trailing_zeros() >= by && op == Binary::Or => {
                let inner = shifted_right(code, a, by);
                return code.binary_with(Binary::Or, inner, constant >> by);
            }
            // Without carries out of what is shifted away.
            Binary::Add if constant.trailing_zeros() >= by && code.maybe(a).leading_zeros() > 1 => {
                let inner = shifted_right(code, a, by);
                return code.binary_with(Binary::Add, inner, constant >> by);
            }
            _ => {}
        }
    }
    code.binary_with(Binary::Shr, word, by)
}

/// Tables of which one has the elements of another, rotated: look-ups in the other, and rotations.
pub fn share_rotated(code: &WordCode, has: crate::words::Has) -> Option<WordCode> {
    let constant = |table: &TableUse| match &table.source {
        TableSource::Constant(elements) if table.bits == BITS => Some(elements.clone()),
        _ => None,
    };
    let mut stands_for: Vec<Option<(u32, u32)>> = vec![None; code.tables.len()];
    // Narrow tables that are bits of a wide one: which, from which bit on.
    let mut bits_of: Vec<Option<(u32, u32)>> = vec![None; code.tables.len()];
    for at in 0..code.tables.len() {
        let Some(own) = constant(&code.tables[at]) else { continue };
        for other in 0..at {
            if stands_for[other].is_some() {
                continue;
            }
            let Some(elements) = constant(&code.tables[other]).filter(|elements| elements.len() == own.len()) else {
                continue;
            };
            let by =
                (1..BITS).find(|&by| own.iter().zip(elements.iter()).all(|(own, other)| *own == other.rotate_left(by)));
            if let Some(by) = by {
                stands_for[at] = Some((other as u32, by));
                break;
            }
        }
    }
    for (bits_of, narrow) in bits_of.iter_mut().zip(&code.tables) {
        let TableSource::Constant(own) = &narrow.source else { continue };
        if narrow.bits >= BITS {
            continue;
        }
        let mask = (1 << narrow.bits) - 1;
        *bits_of = (0..code.tables.len()).filter(|&other| stands_for[other].is_none()).find_map(|other| {
            let elements = constant(&code.tables[other]).filter(|elements| elements.len() == own.len())?;
            // The top bits need no mask.
            let lows = (0..=BITS - narrow.bits).rev();
            let is_part = |lo: &u32| own.iter().zip(elements.iter()).all(|(own, other)| *own == other >> lo & mask);
            lows.into_iter().find(is_part).map(|lo| (other as u32, lo))
        });
    }
    if stands_for.iter().all(Option::is_none) && bits_of.iter().all(Option::is_none) {
        return None;
    }
    let mut made = code.without_words();
    let mut new: BTreeMap<WordId, WordId> = BTreeMap::new();
    for id in code.needed() {
        let id_new = match *code.op(id) {
            WordOp::Lookup { table, index } if bits_of[table as usize].is_some() => {
                let (other, lo) = bits_of[table as usize].unwrap_or((table, 0));
                let found = made.add(WordOp::Lookup { table: other, index: new[&index] });
                let down = made.binary_with(Binary::Shr, found, lo);
                made.binary_with(Binary::And, down, (1 << code.tables[table as usize].bits) - 1)
            }
            WordOp::Lookup { table, index } => match stands_for[table as usize] {
                Some((other, by)) => {
                    let found = made.add(WordOp::Lookup { table: other, index: new[&index] });
                    let by = made.number(by);
                    made.rotate_left(has, found, by)
                }
                None => made.add(WordOp::Lookup { table, index: new[&index] }),
            },
            ref op => match op.with(&mut |operand| new[&operand]) {
                WordOp::Binary(op, a, b) => made.binary(op, a, b),
                WordOp::Select(c, a, b) => made.select(c, a, b),
                other => made.add(other),
            },
        };
        new.insert(id, id_new);
    }
    made.writes = code.writes.iter().map(|&(stream, word, value)| (stream, word, new[&value])).collect();
    made.carried =
        code.carried.iter().map(|one| crate::words::Carried { next: new[&one.next], ..one.clone() }).collect();
    Some(made)
}
