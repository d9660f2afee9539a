//! Cost model of superword packing. What words cost in a register: how much they look like a register that is there or
//! can be made.

use super::super::kernel::Gather;
use super::super::matching::{Lanes, Matcher};
use super::super::pattern::LANES;
use super::{ALONE, Registers, n_known};
use crate::kernel::{NodeId, ObjectId, Op};

impl Registers<'_> {
    /// What words in a register cost, roughly.
    pub(super) fn price(&mut self, lanes: &Lanes) -> u32 {
        if lanes.iter().flatten().all(|&word| self.kernel.graph.constant(word).is_some()) {
            return 0;
        }
        if self.made.contains_key(lanes) {
            return 0;
        }
        if n_known(lanes) == 1 {
            return 1;
        }
        if lanes.iter().flatten().any(|&word| self.is_sum(word)) {
            let apart = self.apart(lanes);
            return if apart <= 1 { apart } else { apart.min(self.given_for(lanes)) };
        }
        let row = self.row(lanes);
        if row > 1 && self.is_given(lanes) { 1 } else { row }
    }

    /// What sums of ours cost as one register for each operand; other words in a row.
    fn apart(&self, lanes: &Lanes) -> u32 {
        if !lanes.iter().flatten().any(|&word| self.is_sum(word)) {
            return self.row(lanes);
        }
        self.rows(Gather::Add, lanes).min(self.rows(Gather::Xor, lanes))
    }

    /// What sums of ours cost that an instruction gives, perhaps with something added.
    fn given_for(&mut self, lanes: &Lanes) -> u32 {
        if let Some(&known) = self.given_for.get(lanes) {
            return known;
        }
        let mut best = ALONE * LANES as u32;
        for number in 0..self.patterns.len() {
            let pattern = &self.patterns[number];
            if !(0..LANES).any(|lane| pattern.is_telling(lane)) {
                continue;
            }
            for found in (Matcher { pattern, kernel: &self.kernel }).find(lanes) {
                let Some((operands, rest)) = self.operands(number, lanes, &found) else { continue };
                let price: u32 = operands.iter().chain(&rest).map(|words| 1 + self.apart(words)).sum();
                best = best.min(price);
            }
        }
        self.given_for.insert(*lanes, best);
        best
    }

    /// Whether an instruction gives them, perhaps with something added.
    fn is_given(&mut self, lanes: &Lanes) -> bool {
        if let Some(&known) = self.given.get(lanes) {
            return known;
        }
        let given = self
            .patterns
            .iter()
            .filter(|pattern| (0..LANES).any(|lane| pattern.is_telling(lane)))
            .any(|pattern| Matcher { pattern, kernel: &self.kernel }.find_one(lanes).is_some());
        self.given.insert(*lanes, given);
        given
    }

    /// What four words cost that are no sums of our own: those that were made one after the other belong together.
    fn row(&self, lanes: &Lanes) -> u32 {
        let words: Vec<NodeId> =
            lanes.iter().flatten().copied().filter(|&word| self.kernel.graph.constant(word) != Some(0)).collect();
        let entries: Vec<Option<(ObjectId, usize)>> = words.iter().map(|&word| self.entry(word)).collect();
        if entries.iter().all(|entry| entry.is_some_and(|entry| entries[0].is_some_and(|first| first.0 == entry.0))) {
            return 1;
        }
        if entries.iter().any(Option::is_some) || words.iter().any(|&word| !self.is_packable(word)) {
            return ALONE * words.len() as u32;
        }
        self.order(lanes)
    }

    /// What the order of words says: those that were made one after the other, in equal distances, belong together.
    pub(super) fn order(&self, lanes: &Lanes) -> u32 {
        let words: Vec<(i64, NodeId)> = lanes
            .iter()
            .enumerate()
            .filter_map(|(lane, word)| word.map(|word| (lane as i64, word)))
            .filter(|(_, word)| self.kernel.graph.constant(*word) != Some(0))
            .collect();
        let gaps: Vec<i64> = words
            .windows(2)
            .map(|pair| (i64::from(pair[1].1.0) - i64::from(pair[0].1.0)) / (pair[1].0 - pair[0].0))
            .collect();
        let (Some(&least), Some(&most)) = (gaps.iter().min(), gaps.iter().max()) else { return 1 };
        match (least.signum() == most.signum(), most - least) {
            (true, 0) => 1,
            (true, difference) if difference <= least.abs().min(most.abs()) => 2,
            (true, _) => 3,
            (false, _) => ALONE * words.len() as u32,
        }
    }

    fn is_packable(&self, word: NodeId) -> bool {
        match self.kernel.graph.op(word) {
            Op::Add(..) => !self.kernel.is_step(word),
            op => matches!(op, Op::Input { .. } | Op::Entry { .. } | Op::Concat(_)),
        }
    }

    /// What words cost that are sums of ours: one register for each operand.
    fn rows(&self, gather: Gather, lanes: &Lanes) -> u32 {
        let mut sorted: Vec<Option<Vec<NodeId>>> = Vec::new();
        for word in lanes {
            let Some(word) = *word else {
                sorted.push(None);
                continue;
            };
            let mut parts = match self.kernel.is_own(word) {
                true => self.kernel.parts(gather, word).unwrap_or_else(|| vec![word]),
                false => vec![word],
            };
            parts.sort_by_key(|&part| (self.kernel.graph.constant(part).is_none(), part));
            parts.reverse();
            sorted.push(Some(parts));
        }
        let rows = sorted.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut price = 0;
        for at in 0..rows {
            let mut row: Lanes = [None; LANES];
            for (word, parts) in row.iter_mut().zip(&sorted) {
                *word = parts.as_ref().and_then(|parts| parts.get(at).copied());
            }
            let constant = row.iter().flatten().all(|&word| self.kernel.graph.constant(word).is_some());
            price += if constant { 1 } else { 1 + self.row(&row) };
        }
        price
    }
}
