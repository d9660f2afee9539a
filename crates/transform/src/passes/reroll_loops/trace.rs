//! Period detection in instruction traces. Where the same operations come again, a period later.

use super::Aim;
use crate::kernel::{Effect, Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// Operations in a row that must be the same for their distance to be tried as a period. Many parts of a round are
/// alike, and longer rows tell rounds from parts of them.
const ROWS: [usize; 3] = [8, 32, 128];

/// Distances that are tried for each length of rows: those that occur most often.
const TRIED: usize = 4;

/// Rounds that are put together where each has too little between what goes in and what comes out.
const TOGETHER: [usize; 4] = [1, 2, 4, 8];

/// Where what is not computed but read is said to be.
pub(super) const READ: usize = usize::MAX;

/// What powers of stand before forms in a row: an odd number without a pattern.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The least number of rounds.
pub(super) const LEAST: usize = 3;

/// Positions where every operation is that of a period before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first position.
    pub start: usize,
    /// The first position that is no longer of it.
    pub end: usize,
    /// Positions of a round.
    pub period: usize,
}

impl Run {
    /// Positions that are left out when it is a loop.
    fn saves(&self) -> usize {
        (self.end - self.start) / self.period * self.period - self.period
    }

    /// The same without its last round, if there are enough others.
    pub fn shortened(&self) -> Option<Self> {
        let end = self.end - self.period;
        (end - self.start >= LEAST * self.period).then_some(Self { end, ..*self })
    }
}

/// What a transition computes, in order. What only reads tokens, constants and known elements is not among it.
pub(super) struct Trace<'g> {
    pub graph: &'g Graph,
    /// What is read.
    pub read: Vec<NodeId>,
    /// What is computed.
    pub nodes: Vec<NodeId>,
    /// Where operands are computed, one after the other for all positions; [`READ`] for what is read.
    operands: Vec<usize>,
    /// Where those of each position begin, and where the last ones end.
    first_operands: Vec<usize>,
    /// For each position those that need its value; one behind all stands for effects.
    pub users: Vec<Vec<usize>>,
    /// Hashes of what is computed there, but for where operands come from.
    forms: Vec<u64>,
    /// What waits for a load cannot be computed before all effects.
    waits: Vec<bool>,
}

/// What an operation has beside its operands.
fn parameter(op: &Op) -> Option<u32> {
    match op {
        Op::Extract(_, lo) => Some(*lo),
        Op::Lookup(table, _) | Op::LookupBytes(table, _) => Some(table.0),
        Op::Instruction { description, .. } => Some(*description),
        _ => None,
    }
}

fn reads(graph: &Graph, id: NodeId) -> bool {
    match graph.op(id) {
        Op::Const(_) | Op::Input { .. } | Op::Loaded(_) => true,
        Op::Entry { index, .. } => graph.constant(*index).is_some(),
        _ => false,
    }
}

/// The same in an order in which bits of values are taken where they are first needed, not where something else may
/// have had them before: so the first rounds do as the others.
fn bits_with_users(graph: &Graph, nodes: Vec<NodeId>) -> Vec<NodeId> {
    let takes_bits = |id: NodeId| matches!(graph.op(id), Op::Extract(..));
    let mut waiting: FxHashSet<NodeId> = nodes.iter().copied().filter(|&id| takes_bits(id)).collect();
    let mut ordered = Vec::with_capacity(nodes.len());
    for &id in nodes.iter().filter(|id| !takes_bits(**id)) {
        let operands = graph.op(id).operands();
        let mut open: Vec<NodeId> =
            operands.iter().copied().filter(|operand| waiting.contains(operand)).rev().collect();
        while let Some(&next) = open.last() {
            let of = graph.op(next).operands().into_iter().find(|operand| waiting.contains(operand));
            match of {
                Some(operand) => open.push(operand),
                None => {
                    if waiting.remove(&next) {
                        ordered.push(next);
                    }
                    open.pop();
                }
            }
        }
        ordered.push(id);
    }
    // What only effects need.
    ordered.extend(nodes.into_iter().filter(|id| waiting.contains(id)));
    ordered
}

impl<'g> Trace<'g> {
    pub fn of(graph: &'g Graph, effects: &[Effect], aim: Aim) -> Self {
        let roots: Vec<NodeId> = effects.iter().flat_map(Effect::uses).collect();
        let (read, mut nodes): (Vec<NodeId>, Vec<NodeId>) =
            graph.reachable(roots.iter().copied()).into_iter().partition(|&id| reads(graph, id));
        if aim.is_registers() {
            nodes = bits_with_users(graph, nodes);
        }
        let positions: FxHashMap<NodeId, usize> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let (mut operands, mut first_operands) = (Vec::with_capacity(2 * nodes.len()), vec![0]);
        let mut users = vec![Vec::new(); nodes.len()];
        let mut waits = vec![false; nodes.len()];
        let mut forms = Vec::with_capacity(nodes.len());
        for (at, &id) in nodes.iter().enumerate() {
            let node = graph.node(id);
            waits[at] = matches!(node.op, Op::Entry { .. });
            let mut form = FxHasher::default();
            std::mem::discriminant(&node.op).hash(&mut form);
            node.width.hash(&mut form);
            parameter(&node.op).hash(&mut form);
            for operand in node.op.operands() {
                graph.width(operand).hash(&mut form);
                let position = positions.get(&operand).copied();
                match position {
                    Some(position) => {
                        users[position].push(at);
                        waits[at] |= waits[position];
                    }
                    None => waits[at] |= matches!(graph.op(operand), Op::Loaded(_)),
                }
                operands.push(position.unwrap_or(READ));
            }
            first_operands.push(operands.len());
            if waits[at] {
                at.hash(&mut form);
            }
            forms.push(form.finish());
        }
        for root in roots {
            if let Some(&position) = positions.get(&root) {
                users[position].push(nodes.len());
            }
        }
        Self { graph, read, nodes, operands, first_operands, users, forms, waits }
    }

    /// Where the operands of what is computed at a position are; [`READ`] for what is read.
    pub fn operands(&self, at: usize) -> &[usize] {
        &self.operands[self.first_operands[at]..self.first_operands[at + 1]]
    }

    /// Whether the same is computed at two positions, from whatever has the same width, and before all effects.
    pub fn is_alike(&self, a: usize, b: usize) -> bool {
        let (one, other) = (self.graph.node(self.nodes[a]), self.graph.node(self.nodes[b]));
        let widths = |op: &Op| op.operands().into_iter().map(|operand| self.graph.width(operand));
        std::mem::discriminant(&one.op) == std::mem::discriminant(&other.op)
            && one.width == other.width
            && parameter(&one.op) == parameter(&other.op)
            && widths(&one.op).eq(widths(&other.op))
            && !self.waits[a]
            && !self.waits[b]
    }

    /// Runs between two positions, those that save most first.
    pub fn runs(&self, from: usize, to: usize, aim: Aim) -> Vec<Run> {
        let mut periods: BTreeSet<usize> = BTreeSet::new();
        for row in ROWS {
            for distance in self.distances(from, to, row) {
                periods.extend(TOGETHER.map(|n| n * distance));
            }
        }
        let fits = |period: &usize| period * LEAST <= to - from;
        // What is known before the first rounds may be what later ones take from others.
        let beginnings: &[bool] = if aim.is_registers() { &[false, true] } else { &[false] };
        let mut runs: Vec<Run> = (periods.into_iter().filter(fits))
            .flat_map(|period| beginnings.iter().filter_map(move |begins| self.longest(from, to, period, *begins)))
            .collect();
        runs.sort_by_key(|run| (std::cmp::Reverse(run.saves()), run.period));
        runs.dedup();
        runs
    }

    /// The distances at which rows come again most often.
    fn distances(&self, from: usize, to: usize, row: usize) -> Vec<usize> {
        let mut last: FxHashMap<u64, usize> = FxHashMap::default();
        let mut often: FxHashMap<usize, usize> = FxHashMap::default();
        // A polynomial of the forms of a row: that of the next one differs in the first and the last (Karp and Rabin
        // 1987).
        let forms = &self.forms[from..to];
        let leaving = (0..row).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut form = 0u64;
        for (at, &next) in forms.iter().enumerate() {
            form = form.wrapping_mul(BASE).wrapping_add(next);
            if at + 1 < row {
                continue;
            }
            if at >= row {
                form = form.wrapping_sub(forms[at - row].wrapping_mul(leaving));
            }
            if let Some(before) = last.insert(form, at) {
                *often.entry(at - before).or_default() += 1;
            }
        }
        let mut often: Vec<(usize, usize)> = often.into_iter().collect();
        often.sort_by_key(|&(distance, times)| (std::cmp::Reverse(times), distance));
        often.into_iter().take(TRIED).map(|(distance, _)| distance).collect()
    }

    /// The longest run of a period, if it has enough rounds; `begins`: the first of them may have other operands, known
    /// before.
    fn longest(&self, from: usize, to: usize, period: usize, begins: bool) -> Option<Run> {
        let mut longest: Option<Run> = None;
        let mut start = from;
        for at in from..=to - period {
            if at < to - period && self.comes_again(start, at, period, begins) {
                continue;
            }
            let run = Run { start, end: at + period, period };
            let rounds = (run.end - run.start) / period;
            if rounds >= LEAST && longest.as_ref().is_none_or(|other| run.saves() > other.saves()) {
                longest = Some(run);
            }
            start = at + 1;
        }
        longest
    }

    /// Whether a period after a position the same is computed, as far as hashes tell, in a run that begins at `start`:
    /// from operands as far away, from the same ones, or from others that are known before it; where it `begins` also
    /// from what is known before it, and then from what its first rounds compute.
    fn comes_again(&self, start: usize, at: usize, period: usize, begins: bool) -> bool {
        if self.forms[at] != self.forms[at + period] {
            return false;
        }
        let (now, then) = (self.operands(at), self.operands(at + period));
        let is_before = |position: usize| position < start || position == READ;
        // Where a run begins is not known exactly.
        let is_first = |position: usize| begins && (start..start + 2 * period).contains(&position);
        let fits = |(&a, &b): (&usize, &usize)| {
            a == b || is_before(a) && (is_before(b) || is_first(b)) || a != READ && a + period == b
        };
        now.len() == then.len() && now.iter().zip(then).all(fits)
    }
}
