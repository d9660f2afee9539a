//! Graph matching of tasks: the rounds of one task as those of another one, value by value.
//!
//! Rounds are found in each task by themselves, and a task that does something else in front of them may have them begin at another
//! place. Where a task has the values of rounds of another one, these are found from one pair of values towards their operands,
//! and then towards what is computed of them; its rounds are then what the other task's rounds are, and operators can be bound.

use super::plan::Plan;
use super::runs::{Order, Run};
use headrace_kernel::{Graph, NodeId};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};

/// How far it is looked at what values are made of, to tell them apart.
const DEEP: usize = 8;

/// Values that the first pair is tried with, at most.
const TRIED: usize = 64;

impl Plan {
    /// Plans for these values with the rounds of another plan, as far as these are in it; none where less than two are.
    pub(crate) fn like(graph: &mut Graph, roots: &[NodeId], model: &Plan) -> Vec<Plan> {
        let found = Matcher::of(graph, roots, model).and_then(|matcher| {
            let mut best: Option<(usize, FxHashMap<NodeId, NodeId>)> = None;
            for (a, b) in matcher.seeds() {
                let known = matcher.matched(a, b);
                let n = matcher.complete(&known).len();
                if n >= 2 && best.as_ref().is_none_or(|(most, _)| n > *most) {
                    best = Some((n, known));
                }
            }
            matcher.order(&best?.1)
        });
        found.map_or_else(Vec::new, |(nodes, run)| Plan::with_run(graph, roots, &nodes, run))
    }
}

/// What is known of values of either task: what they compute, what they need, and hashes of what they are made of, the more of it
/// the deeper.
struct Matcher<'a> {
    model: &'a Plan,
    /// Values of the task, operands first.
    nodes: Vec<NodeId>,
    forms: FxHashMap<NodeId, u64>,
    needs: FxHashMap<NodeId, Vec<NodeId>>,
    users: FxHashMap<NodeId, Vec<NodeId>>,
    made: Vec<FxHashMap<NodeId, u64>>,
    /// Values of the rounds of the model.
    rounds: FxHashSet<NodeId>,
}

impl<'a> Matcher<'a> {
    fn of(graph: &Graph, roots: &[NodeId], model: &'a Plan) -> Option<Self> {
        let is_simple = |class: &super::plan::Class| class.first.is_none() && class.run == 0;
        if model.classes.is_empty() || !model.classes.iter().all(is_simple) {
            return None;
        }
        let rounds: FxHashSet<NodeId> = model.classes.iter().flat_map(|class| class.nodes.iter().copied()).collect();
        let own = Order::plain(graph, roots.iter().copied());
        let nodes = own.nodes.clone();
        let mut of_model: Vec<NodeId> = rounds.iter().copied().collect();
        of_model.sort_unstable();
        let other = Order::plain(graph, of_model);
        let (mut forms, mut needs) = (FxHashMap::default(), FxHashMap::default());
        let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for order in [&own, &other] {
            for (at, &id) in order.nodes.iter().enumerate() {
                forms.insert(id, order.forms[at]);
                let of: Vec<NodeId> = order.needs[at].iter().map(|&need| order.nodes[need]).collect();
                needs.insert(id, of);
            }
        }
        for &id in &nodes {
            for &need in &needs[&id] {
                users.entry(need).or_default().push(id);
            }
        }
        let mut made = vec![forms.clone()];
        for depth in 0..DEEP {
            let next = forms.iter().map(|(&id, &form)| {
                let mut of: Vec<u64> = needs[&id].iter().map(|need| made[depth][need]).collect();
                of.sort_unstable();
                let mut hash = FxHasher::default();
                (form, of).hash(&mut hash);
                (id, hash.finish())
            });
            let next = next.collect();
            made.push(next);
        }
        Some(Self { model, nodes, forms, needs, users, made, rounds })
    }

    /// How far two values are made alike.
    fn likeness(&self, a: NodeId, b: NodeId) -> usize {
        self.made.iter().take_while(|made| made[&a] == made[&b]).count()
    }

    /// First pairs: the last value of the operator whose operation is the rarest, with those that are made most alike.
    fn seeds(&self) -> Vec<(NodeId, NodeId)> {
        let often = |form: u64| self.model.classes.iter().filter(|class| self.forms[&class.nodes[0]] == form).count();
        let rarest = self
            .model
            .classes
            .iter()
            .enumerate()
            .min_by_key(|(at, class)| (often(self.forms[&class.nodes[0]]), std::cmp::Reverse(*at)));
        let Some(a) = rarest.and_then(|(_, class)| class.nodes.last().copied()) else { return Vec::new() };
        let mut all: Vec<NodeId> = self.nodes.iter().copied().filter(|b| self.forms[b] == self.forms[&a]).collect();
        all.sort_by_key(|&b| std::cmp::Reverse((self.likeness(a, b), b)));
        all.into_iter().take(TRIED).map(|b| (a, b)).collect()
    }

    /// The value of the task for each value of the model's rounds, as far as these are computed alike.
    fn matched(&self, a: NodeId, b: NodeId) -> FxHashMap<NodeId, NodeId> {
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut taken: FxHashSet<NodeId> = FxHashSet::default();
        let mut next = vec![(a, b)];
        while let Some((a, b)) = next.pop() {
            if known.contains_key(&a) || taken.contains(&b) || self.forms[&a] != self.forms[&b] {
                continue;
            }
            known.insert(a, b);
            taken.insert(b);
            // Operands that belong together are made most alike.
            let mut pairs: Vec<(usize, NodeId, NodeId)> = Vec::new();
            for &x in self.needs[&a].iter().filter(|x| self.rounds.contains(x) && !known.contains_key(x)) {
                let free = self.needs[&b].iter().filter(|y| !taken.contains(y));
                pairs.extend(free.map(|&y| (self.likeness(x, y), x, y)).filter(|(alike, ..)| *alike > 0));
            }
            pairs.sort_by_key(|&(alike, x, y)| (alike, std::cmp::Reverse((x, y))));
            next.extend(pairs.into_iter().map(|(_, x, y)| (x, y)));
        }
        // What is computed of them, an iteration after the other.
        let most = self.model.classes.iter().map(|class| class.nodes.len()).max().unwrap_or(0);
        for index in 0..most {
            for class in &self.model.classes {
                let Some(&a) = class.nodes.get(index).filter(|a| !known.contains_key(a)) else { continue };
                let of: Option<Vec<NodeId>> =
                    self.needs[&a].iter().filter(|x| self.rounds.contains(x)).map(|x| known.get(x).copied()).collect();
                let Some(of) = of.filter(|of| !of.is_empty()) else { continue };
                let users = self.users.get(&of[0]).into_iter().flatten().copied();
                let fits = users.filter(|b| {
                    self.forms[b] == self.forms[&a]
                        && !taken.contains(b)
                        && of.iter().all(|need| self.needs[b].contains(need))
                });
                if let Some(b) = fits.max_by_key(|&b| (self.likeness(a, b), std::cmp::Reverse(b))) {
                    known.insert(a, b);
                    taken.insert(b);
                }
            }
        }
        known
    }

    /// The most iterations in a row of which all values are known.
    fn complete(&self, known: &FxHashMap<NodeId, NodeId>) -> std::ops::Range<usize> {
        let n = self.model.classes.iter().map(|class| class.nodes.len()).min().unwrap_or(0);
        let is_there = |index: usize| self.model.classes.iter().all(|class| known.contains_key(&class.nodes[index]));
        let (mut best, mut start) = (0..0, 0);
        for index in 0..n {
            if !is_there(index) {
                start = index + 1;
            } else if index + 1 - start > best.len() {
                best = start..index + 1;
            }
        }
        best
    }

    /// The values of the task with its rounds in a row, and where they are.
    fn order(&self, known: &FxHashMap<NodeId, NodeId>) -> Option<(Vec<NodeId>, Run)> {
        let range = self.complete(known);
        let period = self.model.classes.len();
        let n = range.len();
        let rounds: Vec<NodeId> =
            range.flat_map(|index| self.model.classes.iter().map(move |class| known[&class.nodes[index]])).collect();
        let place: FxHashMap<NodeId, usize> = rounds.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        // What needs something of the rounds comes behind them.
        let mut behind: FxHashSet<NodeId> = FxHashSet::default();
        for &id in &self.nodes {
            let needs = &self.needs[&id];
            match place.get(&id) {
                Some(at) => {
                    let is_late =
                        |need: &NodeId| behind.contains(need) || place.get(need).is_some_and(|need| need >= at);
                    if needs.iter().any(is_late) {
                        return None;
                    }
                }
                None if needs.iter().any(|need| place.contains_key(need) || behind.contains(need)) => {
                    behind.insert(id);
                }
                None => {}
            }
        }
        let others = self.nodes.iter().copied().filter(|id| !place.contains_key(id));
        let (late, early): (Vec<NodeId>, Vec<NodeId>) = others.partition(|id| behind.contains(id));
        let start = early.len();
        let nodes = early.into_iter().chain(rounds).chain(late).collect();
        Some((nodes, Run { start, end: start + n * period, period }))
    }
}
