//! Rerolling: where the values of a transition repeat, iteration after iteration.
//!
//! The rounds of a cipher stand in a transition one after the other, as the network computed them. Values are numbered in that
//! order, so the operations of a round come again a period later; a run is where they do. Only what computes counts: bits that are
//! taken apart and put together are wires, and looked through.

use super::estimate::{late_table, weight};
use headrace_kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHasher};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

/// Operations in a row that must be the same for their distance to be tried as a period.
const ROWS: [usize; 4] = [2, 8, 32, 128];

/// Distances that are tried for each length of rows.
const TRIED: usize = 8;

/// How many times a distance is a period: parts of a round may be alike.
const TOGETHER: [usize; 8] = [1, 2, 3, 4, 5, 6, 8, 16];

/// Times that the order is changed for one iteration more.
const REORDERED: usize = 4;

/// Places to begin at that are tried.
const PHASES: usize = 8;

/// Values that only the first iteration has.
const SKIPPED: usize = 8;

/// How far it is looked at what values are made of, to tell them apart.
const DEEP: usize = 8;

/// The least number of iterations.
const LEAST: usize = 3;

/// Logic that the first run must save, and that each other one must, in bits.
const WORTH: [u64; 2] = [800, 250];

/// Values in the order in which they were computed, without what is no more than wires.
pub(crate) struct Order<'g> {
    pub(crate) graph: &'g Graph,
    /// The values.
    pub(crate) nodes: Vec<NodeId>,
    at: FxHashMap<NodeId, usize>,
    /// Hashes of what is computed, whatever the operands are.
    pub(crate) forms: Vec<u64>,
    /// For each the positions that it needs, through wires.
    pub(crate) needs: Vec<Vec<usize>>,
}

/// Iterations: positions from `start` to before `end`, each `period` apart from the same one of the next iteration. The last one
/// may be shorter than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) period: usize,
}

/// Whether a value is others in another arrangement.
pub(crate) fn is_wire(op: &Op) -> bool {
    matches!(op, Op::Extract(..) | Op::Concat(_) | Op::SignExtend(_))
}

/// Whether a value comes from outside the transition.
pub(crate) fn is_source(graph: &Graph, id: NodeId) -> bool {
    match graph.op(id) {
        Op::Const(_) | Op::Input { .. } => true,
        Op::Entry { index, .. } => graph.constant(*index).is_some(),
        _ => false,
    }
}

/// What an operation has beside its operands.
pub(crate) fn parameter(op: &Op) -> u32 {
    match op {
        Op::Lookup(table, _) => table.0,
        Op::Entry { object, .. } => object.0,
        Op::Extract(_, lo) => *lo,
        _ => 0,
    }
}

impl Run {
    /// The same without the shorter iteration at the end.
    pub(crate) fn whole(&self) -> Run {
        Run { end: self.end - (self.end - self.start) % self.period, ..*self }
    }
}

/// Whole iterations of a run with those before and behind it that are alike, too, and that no other run has: where a run begins was
/// chosen after others were found beside it. `forms` are those of [`Order`].
pub(crate) fn extended(forms: &[u64], run: Run, others: &[Run]) -> Run {
    let mut run = run.whole();
    let period = run.period;
    let is_free = |from: usize| others.iter().all(|other| from + period <= other.start || other.end <= from);
    let is_alike = |from: usize, to: usize| forms[from..from + period] == forms[to..to + period];
    while run.end + period <= forms.len() && is_free(run.end) && is_alike(run.end - period, run.end) {
        run.end += period;
    }
    while run.start >= period && is_free(run.start - period) && is_alike(run.start - period, run.start) {
        run.start -= period;
    }
    run
}

impl<'g> Order<'g> {
    /// The values that these need, in an order in which iterations are alike.
    pub(crate) fn of(graph: &'g Graph, roots: &[NodeId]) -> Self {
        let mut order = Self::plain(graph, roots.iter().copied());
        for _ in 0..REORDERED {
            let mut found = Vec::new();
            order.search(0, order.nodes.len(), &mut found);
            let other = |run: &Run| {
                let first = order.with_first_iteration(run).or_else(|| order.with_last_iteration(run));
                first.or_else(|| order.with_part_before(run))
            };
            let Some(nodes) = found.iter().find_map(other) else { break };
            order = Self::in_order(graph, nodes);
        }
        order
    }

    /// The same as they come.
    pub(crate) fn plain(graph: &'g Graph, roots: impl IntoIterator<Item = NodeId>) -> Self {
        let all = graph.reachable(roots);
        Self::in_order(graph, all.into_iter().filter(|&id| !is_source(graph, id) && !is_wire(graph.op(id))).collect())
    }

    /// The order with one iteration more before a run: values of it that no later iteration has, as these took them from the one
    /// before, stand in front.
    fn with_first_iteration(&self, run: &Run) -> Option<Vec<NodeId>> {
        let (mut at, mut skipped, mut matched) = (run.start, Vec::new(), 0);
        while matched < run.period && at > 0 && skipped.len() <= SKIPPED {
            at -= 1;
            if self.forms[at] == self.forms[run.start + run.period - 1 - matched] {
                matched += 1;
            } else {
                skipped.push(at);
            }
        }
        let first = at;
        let moves = |at: &usize| self.needs[*at].iter().all(|need| *need < first || skipped.contains(need));
        if matched < run.period || skipped.is_empty() || !skipped.iter().all(moves) {
            return None;
        }
        skipped.reverse();
        let rest = (first..run.start).filter(|at| !skipped.contains(at));
        let all = (0..first).chain(skipped.iter().copied()).chain(rest).chain(run.start..self.nodes.len());
        Some(all.map(|at| self.nodes[at]).collect())
    }

    /// The order with one iteration more behind a run: values of it that were asked for later stand with the others.
    fn with_last_iteration(&self, run: &Run) -> Option<Vec<NodeId>> {
        let end = run.whole().end;
        let model = end - run.period;
        let mut found: Vec<usize> = Vec::new();
        for at in 0..run.period {
            // What it needs of its own iteration and of those before.
            let wanted: Vec<usize> = self.needs[model + at]
                .iter()
                .filter(|&&need| need >= run.start)
                .filter_map(
                    |&need| if need >= model { found.get(need - model).copied() } else { Some(need + run.period) },
                )
                .collect();
            let is_it = |candidate: &usize| {
                let needs = &self.needs[*candidate];
                self.forms[*candidate] == self.forms[model + at]
                    && !found.contains(candidate)
                    && needs.iter().all(|need| *need < end || found.contains(need))
                    && wanted.iter().all(|need| needs.contains(need))
            };
            found.push((end..self.nodes.len()).find(is_it)?);
        }
        if found.iter().enumerate().all(|(at, &place)| place == end + at) {
            return None;
        }
        let rest = (end..self.nodes.len()).filter(|at| !found.contains(at));
        Some((0..end).chain(found.iter().copied()).chain(rest).map(|at| self.nodes[at]).collect())
    }

    /// The order with more of the iteration before a run: as much of its end as there is, in the order of the others. A value is
    /// found by those that need it: they need it as others, an iteration later, need another.
    fn with_part_before(&self, run: &Run) -> Option<Vec<NodeId>> {
        let (start, period) = (run.start, run.period);
        if run.whole().end < start + 2 * period {
            return None;
        }
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); period];
        for at in start..start + 2 * period {
            for &need in self.needs[at].iter().filter(|need| (start..start + period).contains(need)) {
                users[need - start].push(at - start);
            }
        }
        let made = self.made_of(start + period);
        // Places in the model, from its end; the values found for them lie before the run.
        let mut found: Vec<usize> = Vec::new();
        let mut taken = vec![false; start];
        for at in (0..period).rev() {
            // Who needs it, an iteration before: in the run, or among those found.
            let needed_by = |user: &usize| match user.checked_sub(period) {
                Some(later) => Some(start + later),
                None => found.get(period - 1 - user).copied(),
            };
            let by: Vec<usize> = users[at].iter().filter_map(needed_by).collect();
            let is_it = |candidate: &usize| {
                !taken[*candidate]
                    && self.forms[*candidate] == self.forms[start + at]
                    && by.iter().all(|user| self.needs[*user].contains(candidate))
            };
            // Of several the one that is made most alike.
            let alike = |candidate: usize| made.iter().filter(|made| made[candidate] == made[start + at]).count();
            let Some(place) = by.first().and_then(|&user| {
                let fits = self.needs[user].iter().copied().filter(|need| *need < start).filter(is_it);
                fits.max_by_key(|&candidate| (alike(candidate), std::cmp::Reverse(candidate)))
            }) else {
                break;
            };
            taken[place] = true;
            found.push(place);
        }
        found.reverse();
        let n = found.len();
        if 4 * n < period || found.iter().enumerate().all(|(at, &place)| place == start - n + at) {
            return None;
        }
        let rest = (0..start).filter(|&at| !taken[at]);
        let all: Vec<usize> = rest.chain(found).chain(start..self.nodes.len()).collect();
        let mut place = vec![0; all.len()];
        all.iter().enumerate().for_each(|(at, &old)| place[old] = at);
        let is_right = all.iter().all(|&old| self.needs[old].iter().all(|&need| place[need] < place[old]));
        is_right.then(|| all.into_iter().map(|at| self.nodes[at]).collect())
    }

    /// Hashes of how each of the first so many values is made, of what it needs, of what that needs, and so on.
    fn made_of(&self, n: usize) -> Vec<Vec<u64>> {
        let mut all = vec![self.forms[..n].to_vec()];
        for depth in 0..DEEP {
            let next = (0..n).map(|at| {
                let mut of: Vec<u64> = self.needs[at].iter().map(|&need| all[depth][need]).collect();
                of.sort_unstable();
                let mut hash = FxHasher::default();
                (self.forms[at], of).hash(&mut hash);
                hash.finish()
            });
            let next = next.collect();
            all.push(next);
        }
        all
    }

    fn in_order(graph: &'g Graph, nodes: Vec<NodeId>) -> Self {
        let at: FxHashMap<NodeId, usize> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let mut order = Self { graph, at, forms: Vec::new(), needs: Vec::new(), nodes };
        for number in 0..order.nodes.len() {
            let id = order.nodes[number];
            let node = graph.node(id);
            let mut form = FxHasher::default();
            std::mem::discriminant(&node.op).hash(&mut form);
            (node.width, parameter(&node.op)).hash(&mut form);
            let mut needs = Vec::new();
            for operand in node.op.operands() {
                graph.width(operand).hash(&mut form);
                order.through_wires(operand, &mut needs);
            }
            needs.sort_unstable();
            needs.dedup();
            order.forms.push(form.finish());
            order.needs.push(needs);
        }
        order
    }

    fn through_wires(&self, id: NodeId, found: &mut Vec<usize>) {
        if let Some(&at) = self.at.get(&id) {
            found.push(at);
        } else if is_wire(self.graph.op(id)) {
            self.graph.op(id).operands().into_iter().for_each(|operand| self.through_wires(operand, found));
        }
    }

    fn weights(&self, from: usize, to: usize) -> u64 {
        self.nodes[from..to].iter().map(|&id| weight(self.graph, id)).sum()
    }

    /// The runs, those that save most first, each as it can begin at several places. `unrolled`: so many iterations are taken as
    /// one.
    pub(crate) fn runs(&self, unrolled: usize) -> Vec<Vec<Run>> {
        let mut found = Vec::new();
        self.search(0, self.nodes.len(), &mut found);
        found.sort_by_key(|run| std::cmp::Reverse(self.saved(run)));
        // Those that go along with the first take as many cycles: four words of a schedule for each round of four words.
        let n = |run: &Run| (run.end - run.start) / run.period;
        let most = found.first().map_or(1, n);
        let alongside = |run: &Run| {
            let together = if n(run) > most + 1 { (n(run) + most / 2) / most } else { 1 };
            Run { period: run.period * together.max(1), ..*run }
        };
        let grouped = |run: Run| Run { period: run.period * unrolled.max(1), ..run };
        let is_loop = |run: &Run| (run.end - run.start) / run.period >= 2;
        let at_all_places = |run: &Run| self.phases(alongside(run)).into_iter().map(grouped).filter(is_loop).collect();
        found.iter().map(at_all_places).collect()
    }

    fn saved(&self, run: &Run) -> u64 {
        self.weights(run.start + run.period, run.end)
    }

    fn search(&self, from: usize, to: usize, found: &mut Vec<Run>) {
        let worth = WORTH[usize::from(!found.is_empty())];
        let mut periods: BTreeSet<usize> = BTreeSet::new();
        for row in ROWS {
            for distance in self.distances(from, to, row) {
                periods.extend(TOGETHER.map(|n| n * distance));
            }
        }
        let mut runs: Vec<Run> = periods.into_iter().flat_map(|period| self.longest(from, to, period)).collect();
        runs.retain(|run| self.saved(run) >= worth);
        runs.sort_by_key(|run| (std::cmp::Reverse(self.saved(run)), run.period));
        let is_first = found.is_empty();
        let Some(run) = runs.into_iter().find(|run| self.recurs(run, is_first)) else { return };
        found.push(run);
        self.search(from, run.start, found);
        self.search(run.end, to, found);
    }

    /// The distances at which rows come again most often.
    fn distances(&self, from: usize, to: usize, row: usize) -> Vec<usize> {
        let mut last: FxHashMap<&[u64], usize> = FxHashMap::default();
        let mut often: FxHashMap<usize, usize> = FxHashMap::default();
        for (at, row) in self.forms[from..to].windows(row).enumerate() {
            if let Some(before) = last.insert(row, at) {
                *often.entry(at - before).or_default() += 1;
            }
        }
        let mut often: Vec<(usize, usize)> = often.into_iter().collect();
        often.sort_by_key(|&(distance, times)| (std::cmp::Reverse(times * distance), distance));
        often.into_iter().take(TRIED).map(|(distance, _)| distance).collect()
    }

    /// Where forms come again a period later, for at least [`LEAST`] iterations.
    fn longest(&self, from: usize, to: usize, period: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut start = from;
        for at in from..to {
            if at + period < to && self.forms[at] == self.forms[at + period] {
                continue;
            }
            let run = Run { start, end: (at + period).min(to), period };
            if at > start && run.end - run.start >= LEAST * period {
                runs.push(run);
            }
            start = at + 1;
        }
        runs
    }

    /// Whether iterations need each other, one after the other; where they do not, they are lanes side by side, and no loop. Those
    /// that go along with others may need what came before the last one.
    fn recurs(&self, run: &Run, is_first: bool) -> bool {
        let n = (run.end - run.start).div_ceil(run.period);
        let mut hops = vec![0usize; run.end - run.start];
        for at in run.start..run.end {
            let iteration = (at - run.start) / run.period;
            for &need in self.needs[at].iter().filter(|&&need| need >= run.start) {
                let hop = usize::from((need - run.start) / run.period < iteration);
                hops[at - run.start] = hops[at - run.start].max(hops[need - run.start] + hop);
            }
        }
        let most = hops.into_iter().max().unwrap_or(0);
        if is_first { 10 * most >= 9 * (n - 1) } else { 5 * most >= 2 * (n - 1) }
    }

    fn is_table(&self, at: usize) -> bool {
        matches!(self.graph.op(self.nodes[at]), Op::Lookup(..))
    }

    /// The run from places where few bits go from one iteration to the next, the fewest first.
    fn phases(&self, run: Run) -> Vec<Run> {
        let mut users = vec![0usize; run.end];
        for at in run.start..run.end {
            for &need in self.needs[at].iter().filter(|&&need| need >= run.start) {
                users[need] = users[need].max(at);
            }
        }
        let n = (run.end - run.start) / run.period;
        let choices = if n > LEAST { run.period } else { 1 };
        let costs = (0..choices).map(|shift| {
            let cut = run.start + run.period + shift;
            let crossing =
                (run.start..cut).filter(|&at| users[at] >= cut).map(|at| u64::from(self.graph.width(self.nodes[at])));
            let lost = self.weights(run.start, run.start + shift);
            let is_behind = |at: &usize| self.needs[*at].iter().any(|need| *need >= cut);
            let tables = (cut..(cut + run.period).min(run.end)).filter(|&at| self.is_table(at)).filter(is_behind);
            let behind: u64 = tables.map(|at| late_table(weight(self.graph, self.nodes[at]))).sum();
            (crossing.sum::<u64>() + lost + behind, shift)
        });
        let mut costs: Vec<(u64, usize)> = costs.collect();
        costs.sort_unstable();
        // Where it was found to begin may be where a round does.
        let (cheapest, others) = costs.split_at(costs.len().min(PHASES));
        let natural = others.iter().filter(|(_, shift)| *shift == 0);
        cheapest.iter().chain(natural).map(|(_, shift)| Run { start: run.start + shift, ..run }).collect()
    }
}
