//! Body and live-in values of a rerolled loop. What one round is, and what goes into it.

use super::Aim;
use super::trace::{LEAST, READ, Run, Trace};
use crate::kernel::{NodeId, ObjectId, Op};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Loads and stores for what goes from round to round, at most: one to so many other values of a round.
const OVERHEAD: usize = 3;

/// Values that must be saved at least.
const WORTH: usize = 100;

/// Values of how many rounds go on in registers at most; those of more are in a list that keeps all of them.
const MOVED: usize = 4;

/// Where an operand of a value of a round comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The value of the same round with this number.
    Inside(usize),
    /// A value of some rounds before.
    Carried(Before),
    /// The same value for all rounds.
    Same(NodeId),
    /// One of [`Rounds::handed`].
    Handed(usize),
}

/// A value of an earlier round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Before {
    /// Its number in the round.
    pub value: usize,
    /// How many rounds before; 1 is the last.
    pub rounds: usize,
}

/// Values that are known before, another one for each round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// They go into a list.
    List(Vec<NodeId>),
    /// They are constants, of which there is a table.
    Constants {
        /// One for each round.
        all: Vec<u128>,
        /// Bits of each.
        width: u32,
    },
    /// They are elements of an object, whose indices go on by a constant.
    Elements {
        /// The object.
        object: ObjectId,
        /// The index for the first round.
        first: u32,
        /// What is added for each, modulo 2^32.
        step: u32,
    },
}

/// Rounds that become a loop.
pub(super) struct Rounds {
    /// Position of the first value.
    pub start: usize,
    /// Values of a round.
    pub period: usize,
    /// How many rounds.
    pub n: usize,
    /// For each value of a round where its operands come from.
    pub sources: Vec<Vec<Source>>,
    /// What differs from round to round.
    pub handed: Vec<Handed>,
    /// Of which values those of earlier rounds go on from one to the next, and of how many.
    pub carried: BTreeMap<usize, usize>,
    /// Values of which those of all rounds are kept, as they are needed after the loop or much later in it, and of how
    /// many rounds before the first there are such.
    pub kept: BTreeMap<usize, usize>,
    /// What stands for values of rounds before the first, counted back from that.
    pub first: BTreeMap<Before, NodeId>,
    /// Positions whose values are needed after the loop.
    pub wanted: Vec<usize>,
}

impl Rounds {
    /// The first position that is no longer of it.
    pub fn end(&self) -> usize {
        self.start + self.n * self.period
    }

    /// What becomes of a run; `None` where too little would be gained.
    pub fn of(trace: &Trace, run: &Run, aim: Aim) -> Option<Self> {
        let (start, n) = phase(trace, run)?;
        let mut rounds = Self {
            start,
            period: run.period,
            n,
            sources: Vec::new(),
            handed: Vec::new(),
            carried: BTreeMap::new(),
            kept: BTreeMap::new(),
            first: BTreeMap::new(),
            wanted: Vec::new(),
        };
        let mut known: FxHashMap<Vec<NodeId>, usize> = FxHashMap::default();
        for value in 0..run.period {
            let sources = rounds.sources_of(trace, value, &mut known, aim)?;
            rounds.sources.push(sources);
        }
        if aim.is_registers() {
            let (carried, kept) = rounds.carried.iter().partition(|(_, n)| **n <= MOVED);
            (rounds.carried, rounds.kept) = (carried, kept);
        }
        let rest: Vec<usize> = (start..rounds.end())
            .filter(|&at| trace.users[at].last().is_some_and(|&user| user >= rounds.end()))
            .collect();
        for &at in &rest {
            let (round, value) = ((at - start) / run.period, (at - start) % run.period);
            // What later rounds read is still there.
            let reach = rounds.carried.get(&value).copied().unwrap_or(0);
            if round + 1 == n && !rounds.kept.contains_key(&value) {
                rounds.carried.entry(value).or_insert(1);
            } else if round + reach < n {
                rounds.kept.entry(value).or_insert(0);
            }
        }
        rounds.wanted = rest;
        rounds.is_worth_it(aim).then_some(rounds)
    }

    fn is_worth_it(&self, aim: Aim) -> bool {
        let carried: usize = self.carried.values().sum();
        let listed = self.handed.iter().filter(|handed| matches!(handed, Handed::List(_))).count();
        // Moving values through registers costs nothing where a compiler repeats the round.
        let moved = if aim.is_registers() { self.carried.len() } else { 2 * carried };
        let overhead = moved + listed + self.kept.len();
        let first: usize = self.kept.values().sum();
        let costs = 3 * carried + (self.n + 1) * listed + self.kept.len() + first + self.wanted.len();
        overhead * OVERHEAD <= self.period && (self.n - 1) * self.period >= 2 * costs + WORTH
    }

    fn sources_of(
        &mut self,
        trace: &Trace,
        value: usize,
        known: &mut FxHashMap<Vec<NodeId>, usize>,
        aim: Aim,
    ) -> Option<Vec<Source>> {
        let position = |round: usize| self.start + round * self.period + value;
        if !(1..self.n).all(|round| trace.is_alike(position(0), position(round))) {
            return None;
        }
        let mut sources = Vec::new();
        for number in 0..trace.operands(position(0)).len() {
            let operand = |round: usize| trace.operands(position(round))[number];
            let distance = |round: usize| position(round).checked_sub(operand(round));
            let away = distance(self.n - 1).filter(|_| (0..self.n).all(|round| distance(round) == distance(0)));
            let is_before = |round: usize| operand(round) < self.start || operand(round) == READ;
            let id = |round: usize| trace.graph.op(trace.nodes[position(round)]).operands()[number];
            let source = match away {
                Some(away) if away <= value => Source::Inside(value - away),
                Some(away) => Source::Carried(self.before(value, away)?),
                None if !(0..self.n).all(is_before) => {
                    let before = distance(self.n - 1).and_then(|away| self.before(value, away));
                    let before = before.filter(|_| aim.is_registers())?;
                    let goes_on = |round: usize| distance(round) == distance(self.n - 1);
                    if !(0..before.rounds).all(is_before) || !(before.rounds..self.n).all(goes_on) {
                        return None;
                    }
                    Source::Carried(before)
                }
                None if (0..self.n).all(|round| id(round) == id(0)) => Source::Same(id(0)),
                None => {
                    let all: Vec<NodeId> = (0..self.n).map(id).collect();
                    let handed = &mut self.handed;
                    let number = *known.entry(all).or_insert_with_key(|all| {
                        handed.push(Handed::of(trace, all, aim));
                        handed.len() - 1
                    });
                    Source::Handed(number)
                }
            };
            if let Source::Carried(before) = source {
                let most = self.carried.entry(before.value).or_default();
                *most = before.rounds.max(*most);
                for round in 0..before.rounds {
                    let place = Before { rounds: before.rounds - round, ..before };
                    if *self.first.entry(place).or_insert(id(round)) != id(round) {
                        return None;
                    }
                }
            }
            sources.push(source);
        }
        Some(sources)
    }

    /// Whose value is so far away from another one, if not of all rounds before.
    fn before(&self, value: usize, away: usize) -> Option<Before> {
        let rounds = away.checked_sub(value)?.div_ceil(self.period);
        (rounds < self.n).then(|| Before { value: value + rounds * self.period - away, rounds })
    }
}

impl Handed {
    fn of(trace: &Trace, all: &[NodeId], aim: Aim) -> Self {
        let constants: Option<Vec<u128>> = all.iter().map(|&id| trace.graph.constant(id)).collect();
        let width = trace.graph.width(all[0]);
        let table = constants.filter(|_| aim.is_registers()).map(|all| Handed::Constants { all, width });
        let indexed = |object: ObjectId| match aim {
            Aim::Brevity => true,
            Aim::Registers { n_indexed } => (object.0 as usize) < n_indexed,
        };
        table.or_else(|| elements(trace, all, &indexed)).unwrap_or_else(|| Handed::List(all.to_vec()))
    }
}

/// Where a round begins so that least goes from one to the next, and how many rounds there are then.
fn phase(trace: &Trace, run: &Run) -> Option<(usize, usize)> {
    let length = run.end - run.start;
    // There may be one round less if there are enough of them.
    let most = length / run.period;
    let rest = length % run.period;
    let choices = if most > LEAST { run.period } else { rest + 1 };
    // How many values are needed on both sides of a position of the second round.
    let (first, last) = (run.start + run.period, run.start + 2 * run.period);
    let mut across = vec![0i64; run.period + 2];
    for at in run.start..last {
        let inside = trace.users[at].iter().rev().find(|&&user| user < run.end);
        let Some(&user) = inside else { continue };
        let (from, to) = ((at + 1).max(first), user.min(last - 1));
        if from <= to {
            across[from - first] += 1;
            across[to + 1 - first] -= 1;
        }
    }
    let mut now = 0;
    let crossed = across.iter().take(choices).map(|more| {
        now += more;
        now
    });
    // What crosses is stored and loaded; a round that is lost is written out.
    let costs =
        |(shift, crossed): (usize, i64)| (3 * crossed + if shift > rest { run.period as i64 } else { 0 }, shift);
    let (_, shift) = crossed.enumerate().map(costs).min()?;
    Some((run.start + shift, (length - shift) / run.period))
}

/// Elements of one object at indices that go on by a constant.
fn elements(trace: &Trace, all: &[NodeId], indexed: &dyn Fn(ObjectId) -> bool) -> Option<Handed> {
    let place = |id: &NodeId| match trace.graph.op(*id) {
        Op::Entry { object, index } => Some((*object, u32::try_from(trace.graph.constant(*index)?).ok()? as usize)),
        _ => None,
    };
    let places: Vec<(ObjectId, usize)> = all.iter().map(place).collect::<Option<_>>()?;
    let (object, first, step) = progression(&places).filter(|place| indexed(place.0))?;
    Some(Handed::Elements { object, first, step })
}

/// The object, the first index and what is added to it each time, modulo 2^32, where places go on by a constant.
pub(super) fn progression(places: &[(ObjectId, usize)]) -> Option<(ObjectId, u32, u32)> {
    let place = |at: usize| places.get(at).map(|&(object, index)| (object, index as u32));
    let ((object, first), (_, second)) = (place(0)?, place(1)?);
    let step = second.wrapping_sub(first);
    let goes_on =
        |pair: &[(ObjectId, usize)]| pair[1].0 == object && (pair[1].1 as u32).wrapping_sub(pair[0].1 as u32) == step;
    places.windows(2).all(goes_on).then_some((object, first, step))
}
