//! Folding: which operator computes each value of a transition, in which clock cycle, and where its operands come from then.
//!
//! Values that stand at the same place of different iterations of a run are instances of one operator; iteration `i` of a run that
//! begins in cycle `t` is computed in cycle `t + i`. Cycle 0 is the one in which the transition begins, and in which its tokens are
//! there. An operand that always is the value that an operator had so many cycles before comes from a chain of registers behind that
//! operator (a retimed recurrence in the sense of Leiserson and Saxe). What is needed of it from before the first iteration is put into
//! the chain in cycle 0: the words of a block are where those of the message schedule come from afterwards.

use super::estimate::{choices, late_table, levels, weight};
use super::rings::{Rings, Stream};
use super::runs::{Order, Run, extended, is_source, is_wire};
use headrace_kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// Registers of how many cycles lie in a row at most; a value of one iteration that is needed longer after it gets its own.
const LONGEST_CHAIN: i64 = 128;

/// Where a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// By an operator, in an iteration.
    Instance(usize, usize),
    /// By itself, in a cycle.
    Single(u32),
}

/// Where an operand of an operator comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The same value in all iterations.
    Same(NodeId),
    /// What an operator computes, so many iterations away: `iteration + .1`.
    Value(usize, i64),
    /// Another constant in each iteration.
    Constants(Vec<(usize, u128)>),
    /// Wires, as this value has them, of others.
    Wire(NodeId, Vec<Source>),
    /// Another value in each iteration.
    Varying(Vec<(usize, NodeId)>),
    /// The same way but in some iterations.
    But(Box<Source>, Vec<(usize, NodeId)>),
}

/// Instances of the same operation, one an iteration.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// The values.
    pub(crate) nodes: Vec<NodeId>,
    /// The cycle of the first.
    pub(crate) time: u32,
    pub(crate) operands: Vec<Source>,
    /// What stands for values of iterations before the first, computed in cycle 0.
    pub(crate) before: BTreeMap<i64, NodeId>,
    /// The value of the iteration that is computed when the task begins, where the operator works a cycle before.
    pub(crate) first: Option<NodeId>,
    pub(crate) run: usize,
    /// Its place in an iteration.
    offset: usize,
}

/// What is computed where and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) classes: Vec<Class>,
    pub(crate) place: FxHashMap<NodeId, Place>,
    /// Values by themselves, operands first.
    pub(crate) singles: Vec<NodeId>,
    /// The last cycle.
    pub(crate) last: u32,
    /// Bits of logic and of what chooses between values, roughly.
    pub(crate) area: u64,
    /// Levels of logic in a cycle of an iteration, roughly.
    pub(crate) depth: u32,
    /// The same down to each value, in the cycle in which it is computed.
    pub(crate) depths: FxHashMap<NodeId, u32>,
    /// Values that are chosen by the cycle, in registers that turn.
    pub(crate) rings: Rings,
    /// Whether a block begins in each cycle: cycles of a block are stages then, and all values are by themselves.
    pub(crate) is_pipelined: bool,
}

/// For values of a class from before its first iteration, those that may be meant, with how much speaks for each.
type Votes = BTreeMap<(usize, i64), Vec<(NodeId, u32)>>;

/// What speaks for a value where its place among the operands is known.
const CERTAIN: u32 = 1000;

/// Why values cannot be folded as it was tried.
pub(crate) struct Infeasible;

impl Plan {
    /// The plan for these values; `unrolled` iterations are done in one cycle, all of them where it is 0.
    pub(crate) fn of(graph: &mut Graph, roots: &[NodeId], unrolled: usize) -> Plan {
        Self::searched(graph, roots, unrolled, None)
    }

    /// Plans for these values whose rounds begin at several places, the smallest first; they take no more cycles than that.
    pub(crate) fn all_of(graph: &mut Graph, roots: &[NodeId], unrolled: usize) -> Vec<Plan> {
        let mut all: Vec<Plan> = Vec::new();
        let best = Self::searched(graph, roots, unrolled, Some(&mut all));
        all.retain(|plan| plan.last > 0 && plan.last <= best.last && plan.area < 2 * best.area);
        all.insert(0, best);
        all
    }

    /// The smallest plan; all that are tried with one run go to `tried`.
    fn searched(graph: &mut Graph, roots: &[NodeId], unrolled: usize, mut tried: Option<&mut Vec<Plan>>) -> Plan {
        let order = Order::of(graph, roots);
        let runs = if unrolled == 0 { Vec::new() } else { order.runs(unrolled) };
        let Order { nodes: order, forms, .. } = order;
        let mut kept: Vec<Run> = Vec::new();
        let none = BTreeSet::new();
        let mut best = Plan::with(graph, roots, &order, &[], &none).unwrap_or_default();
        for phases in runs {
            // The first run says how many cycles there are; others go along with it.
            let mut found: Option<(Run, Plan)> = None;
            for run in phases {
                // What follows the last whole iteration may look like the beginning of one more by chance.
                let longer = extended(&forms, run, &kept);
                let lengths = [
                    Some(longer),
                    Some(run.whole()).filter(|whole| *whole != longer),
                    Some(run).filter(|run| *run != run.whole()),
                ];
                for run in lengths.into_iter().flatten() {
                    kept.push(run);
                    let plan = Plan::with(graph, roots, &order, &kept, &none).ok();
                    kept.pop();
                    let most = found.as_ref().map_or(best.area, |(_, plan)| plan.area);
                    // A little is not worth what is only alike.
                    let is_part = run != run.whole();
                    let is_better = |plan: &Plan| if is_part { 10 * plan.area < 9 * most } else { plan.area < most };
                    let is_as_long = |plan: &Plan| kept.is_empty() || plan.last <= best.last + 1;
                    if kept.is_empty()
                        && let Some(tried) = tried.as_mut()
                    {
                        tried.extend(Self::with_run(graph, roots, &order, run));
                    }
                    if let Some(plan) = plan.filter(|plan| is_better(plan) && is_as_long(plan)) {
                        found = Some((run, plan));
                    }
                }
            }
            if let Some((run, plan)) = found {
                best = plan;
                kept.push(run);
            }
        }
        // What needs nothing of the cycle before is computed in that.
        let early = best.early_sums(graph);
        if !early.is_empty()
            && let Ok(plan) = Plan::with(graph, roots, &order, &kept, &early)
            && plan.depth < best.depth
            && plan.last <= best.last
        {
            best = plan;
        }
        best
    }

    /// Sums whose operands are there a cycle before, from registers or from each other: run, place in an iteration.
    fn early_sums(&self, graph: &Graph) -> BTreeSet<(usize, usize)> {
        let mut early: FxHashSet<usize> = FxHashSet::default();
        loop {
            let is_early = |(at, class): &(usize, &Class)| {
                let is_there = |source: &Source| match source {
                    Source::Constants(_) => true,
                    Source::Value(of, delta) => match self.stage(class, *of, *delta) {
                        0 => early.contains(of),
                        stage => stage >= 2,
                    },
                    _ => false,
                };
                let is_sum = matches!(graph.op(class.nodes[0]), Op::Add(..)) && class.nodes.len() > 2;
                let rule = |source: &Source| match source {
                    // In the first iterations it is what was loaded.
                    Source::But(rule, others) if others.iter().all(|(_, id)| self.time(graph, *id) == 0) => {
                        is_there(rule)
                    }
                    source => is_there(source),
                };
                is_sum && !early.contains(at) && class.operands.iter().all(rule)
            };
            let more: Vec<usize> = self.classes.iter().enumerate().filter(is_early).map(|(at, _)| at).collect();
            if more.is_empty() {
                break;
            }
            early.extend(more);
        }
        early.into_iter().map(|at| (self.classes[at].run, self.classes[at].offset)).collect()
    }

    /// The plan with these runs.
    fn with(
        graph: &mut Graph,
        roots: &[NodeId],
        order: &[NodeId],
        runs: &[Run],
        early: &BTreeSet<(usize, usize)>,
    ) -> Result<Plan, Infeasible> {
        Self::with_beginnings(graph, roots, (order, runs, early), false)
    }

    /// Plans with this run: what its iterations begin with is voted at once, or step by step.
    pub(crate) fn with_run(graph: &mut Graph, roots: &[NodeId], order: &[NodeId], run: Run) -> Vec<Plan> {
        let none = BTreeSet::new();
        let plans = [false, true].map(|steps| Self::with_beginnings(graph, roots, (order, &[run], &none), steps).ok());
        plans.into_iter().flatten().collect()
    }

    fn with_beginnings(
        graph: &mut Graph,
        roots: &[NodeId],
        (order, runs, early): (&[NodeId], &[Run], &BTreeSet<(usize, usize)>),
        in_steps: bool,
    ) -> Result<Plan, Infeasible> {
        let mut plan = Plan::default();
        for (number, run) in runs.iter().enumerate() {
            for first in run.start..run.start + run.period {
                // What works a cycle before does so for the first iteration when the task begins, and for the others in rounds.
                let offset = first - run.start;
                let is_early = early.contains(&(number, offset));
                let in_rounds = if is_early { first + run.period } else { first };
                let nodes: Vec<NodeId> = (in_rounds..run.end).step_by(run.period).map(|at| order[at]).collect();
                if nodes.is_empty() {
                    continue;
                }
                for (index, &id) in nodes.iter().enumerate() {
                    plan.place.insert(id, Place::Instance(plan.classes.len(), index));
                }
                let operands = Vec::new();
                let first = is_early.then(|| order[first]);
                plan.classes.push(Class {
                    nodes,
                    time: 1,
                    operands,
                    before: BTreeMap::new(),
                    first,
                    run: number,
                    offset,
                });
            }
        }
        for class in 0..plan.classes.len() {
            let operands = plan.sources_of(graph, class);
            plan.classes[class].operands = operands;
        }
        plan.settle_beginnings(graph, roots, in_steps);
        plan.settle_times(runs)?;
        plan.singles = order.iter().copied().filter(|id| !plan.place.contains_key(id)).collect();
        plan.place_singles(graph, roots)?;
        plan.check(graph)?;
        plan.rings = plan.rings_of(graph);
        plan.area = plan.area_of(graph);
        Ok(plan)
    }

    // ---- where operands come from ----

    fn sources_of(&self, graph: &Graph, class: usize) -> Vec<Source> {
        let nodes = &self.classes[class].nodes;
        let mut rows: Vec<Vec<NodeId>> = nodes.iter().map(|&id| graph.op(id).operands().to_vec()).collect();
        if graph.op(nodes[0]).commutes() {
            let middle = nodes.len() / 2;
            let wanted: Vec<Shape> = rows[middle].iter().map(|&id| self.shape(graph, id, middle)).collect();
            for (index, row) in rows.iter_mut().enumerate() {
                let own: Vec<Shape> = row.iter().map(|&id| self.shape(graph, id, index)).collect();
                let fits = |a: usize, b: usize| usize::from(own[a] == wanted[0]) + usize::from(own[b] == wanted[1]);
                if fits(1, 0) > fits(0, 1) {
                    row.swap(0, 1);
                }
            }
        }
        (0..rows[0].len())
            .map(|operand| {
                let all: Vec<(usize, NodeId)> = rows.iter().map(|row| row[operand]).enumerate().collect();
                self.source(graph, &all)
            })
            .collect()
    }

    /// What an operand looks like from its iteration.
    fn shape(&self, graph: &Graph, id: NodeId, index: usize) -> Shape {
        if let Some(Place::Instance(class, other)) = self.place.get(&id) {
            return Shape::Value(*class, *other as i64 - index as i64);
        }
        match graph.op(id) {
            Op::Const(_) => Shape::Constant,
            op if is_wire(op) => {
                let operands = op.operands().to_vec();
                let form = match op {
                    Op::Extract(_, lo) => vec![0, *lo, graph.width(id), graph.width(operands[0])],
                    Op::SignExtend(_) => vec![1, graph.width(id), graph.width(operands[0])],
                    _ => std::iter::once(2).chain(operands.iter().map(|&operand| graph.width(operand))).collect(),
                };
                Shape::Wire(form, operands.into_iter().map(|operand| self.shape(graph, operand, index)).collect())
            }
            _ => Shape::Other,
        }
    }

    fn source(&self, graph: &Graph, all: &[(usize, NodeId)]) -> Source {
        let first = all[0].1;
        if all.iter().all(|&(_, id)| id == first) {
            return Source::Same(first);
        }
        if let Some(values) = all.iter().map(|&(at, id)| Some((at, graph.constant(id)?))).collect() {
            return Source::Constants(values);
        }
        // The way most of them have it.
        let mut often: Vec<(Shape, usize)> = Vec::new();
        for &(index, id) in all {
            let shape = self.shape(graph, id, index).outermost();
            match often.iter_mut().find(|(known, _)| *known == shape) {
                Some((_, n)) => *n += 1,
                None => often.push((shape, 1)),
            }
        }
        // Of equally many the later, for it is the first iterations that are otherwise.
        let Some((most, n)) = often.into_iter().max_by_key(|(_, n)| *n) else { return Source::Same(first) };
        let (own, others): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|&(index, id)| self.shape(graph, id, index).outermost() == most);
        let is_rule = 2 * n >= all.len() || others.iter().all(|(index, _)| own.iter().all(|(later, _)| index < later));
        let rule = match most {
            Shape::Value(class, delta) if is_rule && n > 1 => Source::Value(class, delta),
            Shape::Wire(..) if is_rule && n > 1 => {
                let like = own[own.len() - 1].1;
                let n_operands = graph.op(like).operands().len();
                let parts = (0..n_operands).map(|operand| {
                    let column: Vec<(usize, NodeId)> =
                        own.iter().map(|&(index, id)| (index, graph.op(id).operands()[operand])).collect();
                    self.source(graph, &column)
                });
                Source::Wire(like, parts.collect())
            }
            _ => return Source::Varying(all.to_vec()),
        };
        if others.is_empty() { rule } else { Source::But(Box::new(rule), others) }
    }

    /// What iterations need from before the first: values of iterations that were not computed, where they agree on them.
    fn settle_beginnings(&mut self, graph: &mut Graph, roots: &[NodeId], in_steps: bool) {
        // What no iteration has computed.
        let mut outside: FxHashSet<NodeId> = FxHashSet::default();
        for id in graph.reachable(roots.iter().copied()) {
            let is_outside = !self.place.contains_key(&id)
                && graph.op(id).operands().into_iter().all(|operand| outside.contains(&operand));
            if is_outside {
                outside.insert(id);
            }
        }
        // In steps: what is certain of one operand may make certain what the other one is, and so on.
        loop {
            let mut votes: Votes = BTreeMap::new();
            for class in 0..self.classes.len() {
                let doubtful = if in_steps { self.still_doubtful(graph, class) } else { self.doubtful(graph, class) };
                let operands = &self.classes[class].operands;
                operands.iter().for_each(|source| Self::begin(source, &outside, &doubtful, &mut votes));
            }
            votes.retain(|(class, at), _| !self.classes[*class].before.contains_key(at));
            let is_certain = |found: &Vec<(NodeId, u32)>| found.iter().any(|(_, n)| *n >= CERTAIN);
            let any_certain = in_steps && votes.values().any(is_certain);
            for ((class, at), found) in votes {
                if any_certain && !is_certain(&found) {
                    continue;
                }
                // Of equally many votes the first.
                let most = found.iter().map(|(_, n)| *n).max();
                if let Some((id, _)) = found.iter().find(|(_, n)| Some(*n) == most) {
                    self.classes[class].before.insert(at, *id);
                }
            }
            for class in 0..self.classes.len() {
                self.settle_order(graph, class);
            }
            if !any_certain {
                break;
            }
        }
        for class in 0..self.classes.len() {
            let mut operands = std::mem::take(&mut self.classes[class].operands);
            operands.iter_mut().for_each(|source| self.without_beginnings(graph, source));
            self.classes[class].operands = operands;
        }
    }

    /// Iterations in which both operands of an operation that commutes are exceptions: which is which is not known.
    fn doubtful(&self, graph: &Graph, class: usize) -> FxHashSet<usize> {
        let indices = |source: &Source| -> FxHashSet<usize> {
            match source {
                Source::But(_, others) => others.iter().map(|(index, _)| *index).collect(),
                _ => FxHashSet::default(),
            }
        };
        let class = &self.classes[class];
        match class.operands.as_slice() {
            [a, b] if graph.op(class.nodes[0]).commutes() => indices(a).intersection(&indices(b)).copied().collect(),
            _ => FxHashSet::default(),
        }
    }

    /// The same without those in which an operand is what its rule says, as far as that is known.
    fn still_doubtful(&self, graph: &mut Graph, class: usize) -> FxHashSet<usize> {
        let mut found = self.doubtful(graph, class);
        if let [Source::But(rule_a, others_a), Source::But(rule_b, others_b)] = self.classes[class].operands.as_slice()
        {
            for (rule, others) in [(rule_a, others_a), (rule_b, others_b)] {
                for &(index, id) in others {
                    if self.by_rule(graph, rule, index) == Some(id) {
                        found.remove(&index);
                    }
                }
            }
        }
        found
    }

    /// Votes for values from before the first iteration, by those that need them.
    fn begin(source: &Source, outside: &FxHashSet<NodeId>, doubtful: &FxHashSet<usize>, votes: &mut Votes) {
        match source {
            Source::But(rule, others) => {
                if let Source::Value(class, delta) = **rule {
                    for &(index, id) in others.iter().filter(|(_, id)| outside.contains(id)) {
                        let at = index as i64 + delta;
                        if at < 0 {
                            let found = votes.entry((class, at)).or_default();
                            let n = if doubtful.contains(&index) { 1 } else { CERTAIN };
                            match found.iter_mut().find(|(known, _)| *known == id) {
                                Some((_, all)) => *all += n,
                                None => found.push((id, n)),
                            }
                        }
                    }
                }
                Self::begin(rule, outside, doubtful, votes);
            }
            Source::Wire(_, parts) => parts.iter().for_each(|part| Self::begin(part, outside, doubtful, votes)),
            _ => {}
        }
    }

    /// Exchanges operands of early iterations where that is what the rules say of values from before the first.
    fn settle_order(&mut self, graph: &mut Graph, class: usize) {
        let doubtful = self.doubtful(graph, class);
        if doubtful.is_empty() {
            return;
        }
        let mut operands = std::mem::take(&mut self.classes[class].operands);
        if let [Source::But(rule_a, others_a), Source::But(rule_b, others_b)] = operands.as_mut_slice() {
            for a in others_a.iter_mut().filter(|(index, _)| doubtful.contains(index)) {
                let Some(b) = others_b.iter_mut().find(|(index, _)| *index == a.0) else { continue };
                let [by_a, by_b] = [&*rule_a, &*rule_b].map(|rule| self.by_rule(graph, rule, a.0));
                let fits = |a: NodeId, b: NodeId| usize::from(by_a == Some(a)) + usize::from(by_b == Some(b));
                if fits(b.1, a.1) > fits(a.1, b.1) {
                    std::mem::swap(&mut a.1, &mut b.1);
                }
            }
        }
        self.classes[class].operands = operands;
    }

    /// Leaves exceptions out that are what the rule says of values from before the first iteration.
    fn without_beginnings(&self, graph: &mut Graph, source: &mut Source) {
        match source {
            Source::But(rule, others) => {
                self.without_beginnings(graph, rule);
                others.retain(|&(index, id)| self.by_rule(graph, rule, index) != Some(id));
                if others.is_empty() {
                    *source = (**rule).clone();
                }
            }
            Source::Wire(_, parts) => parts.iter_mut().for_each(|part| self.without_beginnings(graph, part)),
            _ => {}
        }
    }

    /// The value that a source is in an iteration.
    fn by_rule(&self, graph: &mut Graph, source: &Source, index: usize) -> Option<NodeId> {
        match source {
            Source::Same(id) => Some(*id),
            Source::Value(class, delta) => {
                let at = index as i64 + delta;
                let class = &self.classes[*class];
                if at < 0 { class.before.get(&at).copied() } else { class.nodes.get(at as usize).copied() }
            }
            Source::Constants(_) => None,
            Source::Wire(like, parts) => {
                let parts: Vec<NodeId> =
                    parts.iter().map(|part| self.by_rule(graph, part, index)).collect::<Option<_>>()?;
                let (op, width) = (graph.op(*like).clone(), graph.width(*like));
                let fits = match &op {
                    Op::Extract(_, lo) => graph.width(parts[0]) >= lo + width,
                    _ => true,
                };
                fits.then(|| graph.rebuild(&op, width, &parts))
            }
            Source::Varying(all) => all.iter().find(|(at, _)| *at == index).map(|(_, id)| *id),
            Source::But(rule, others) => match others.iter().find(|(at, _)| *at == index) {
                Some((_, id)) => Some(*id),
                None => self.by_rule(graph, rule, index),
            },
        }
    }

    // ---- when ----

    /// The cycle in which each run begins: the first one in cycle 1, each other one where that takes fewest registers.
    fn settle_times(&mut self, runs: &[Run]) -> Result<(), Infeasible> {
        let Some(first) = runs.first() else { return Ok(()) };
        let last = (first.end - first.start).div_ceil(first.period) as u32;
        for number in 1..runs.len() {
            let costs = (1..=last + 1).filter_map(|time| {
                self.classes.iter_mut().filter(|class| class.run == number).for_each(|class| class.time = time);
                Some((self.registers(number)?, time))
            });
            let costs: Vec<(u64, u32)> = costs.collect();
            let (_, time) = costs.into_iter().min().ok_or(Infeasible)?;
            self.classes.iter_mut().filter(|class| class.run == number).for_each(|class| class.time = time);
        }
        self.registers(runs.len()).map(|_| ()).ok_or(Infeasible)
    }

    /// How much registers and choices cost, as far as runs up to one go; `None` where a value would be needed before it is there.
    fn registers(&self, up_to: usize) -> Option<u64> {
        let mut depth = vec![0i64; self.classes.len()];
        let mut cost = 0;
        for class in self.classes.iter().filter(|class| class.run <= up_to) {
            for source in &class.operands {
                self.cost(class, source, up_to, &mut depth, &mut cost)?;
            }
        }
        Some(cost + depth.iter().map(|&depth| 32 * depth.max(0) as u64).sum::<u64>())
    }

    fn cost(&self, user: &Class, source: &Source, up_to: usize, depth: &mut [i64], cost: &mut u64) -> Option<()> {
        match source {
            Source::Value(of, delta) if self.classes[*of].run <= up_to => {
                let stage = self.stage(user, *of, *delta);
                if !(0..=LONGEST_CHAIN).contains(&stage) {
                    return None;
                }
                depth[*of] = depth[*of].max(stage);
                *cost += 64 * self.missed(user, *of, *delta).len() as u64;
            }
            Source::Value(..) | Source::Same(_) | Source::Constants(_) => {}
            Source::Wire(_, parts) => {
                for part in parts {
                    self.cost(user, part, up_to, depth, cost)?;
                }
            }
            Source::Varying(all) => {
                for &(index, id) in all {
                    if let Some(Place::Instance(of, other)) = self.place.get(&id) {
                        let of = &self.classes[*of];
                        if of.run <= up_to && of.time as usize + other > user.time as usize + index {
                            return None;
                        }
                    }
                }
                *cost += 64 * all.len() as u64;
            }
            Source::But(rule, others) => {
                self.cost(user, rule, up_to, depth, cost)?;
                *cost += 64 * others.len() as u64;
            }
        }
        Some(())
    }

    /// The value that an operator computes when the task begins, where it has nothing else to do then: in no cycle in which the task
    /// before may be in its last one.
    pub(crate) fn computed_first(&self, class: usize) -> Option<NodeId> {
        let class = &self.classes[class];
        let end = class.time + class.nodes.len() as u32 - 1;
        class
            .first
            .filter(|id| class.time == 1 && end < self.last && class.before.get(&-1).is_none_or(|known| known == id))
    }

    /// How many registers behind an operator lie where a user takes its value.
    pub(crate) fn stage(&self, user: &Class, of: usize, delta: i64) -> i64 {
        i64::from(user.time) - i64::from(self.classes[of].time) - delta
    }

    /// Iterations of a user that take what comes from before the first iteration of an operator, but cannot find it in its chain.
    pub(crate) fn missed(&self, user: &Class, of: usize, delta: i64) -> Vec<usize> {
        let stage = self.stage(user, of, delta);
        let first = (-delta).clamp(0, user.nodes.len() as i64) as usize;
        // In cycle 1 it lies as many registers nearer to the operator as cycles have gone since.
        (0..first).filter(|&index| stage - (i64::from(user.time) + index as i64 - 1) < 1).collect()
    }

    /// The cycle in which a value is there; 0 for what comes from outside.
    pub(crate) fn time(&self, graph: &Graph, id: NodeId) -> u32 {
        match self.place.get(&id) {
            Some(Place::Single(time)) => *time,
            Some(Place::Instance(class, index)) => self.classes[*class].time + *index as u32,
            None if is_source(graph, id) => 0,
            None => graph.op(id).operands().into_iter().map(|operand| self.time(graph, operand)).max().unwrap_or(0),
        }
    }

    fn place_singles(&mut self, graph: &Graph, roots: &[NodeId]) -> Result<(), Infeasible> {
        let ends = self.classes.iter().map(|class| class.time + class.nodes.len() as u32 - 1);
        let last = ends.max().unwrap_or(0);
        for at in 0..self.singles.len() {
            let id = self.singles[at];
            let time = graph.op(id).operands().into_iter().map(|operand| self.time(graph, operand)).max().unwrap_or(0);
            self.place.insert(id, Place::Single(time));
        }
        self.last = roots.iter().map(|&root| self.time(graph, root)).max().unwrap_or(0).max(last);
        if self.classes.is_empty() {
            return Ok(());
        }
        // What comes after the last iteration has a cycle of its own where the logic of both would be longer than an iteration.
        let mut depth: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut of_iterations = 0;
        let instances: Vec<NodeId> = {
            let mut all: Vec<NodeId> = self.place.keys().copied().collect();
            all.sort_unstable();
            all
        };
        let mut of_last = 0;
        let mut needed: FxHashSet<NodeId> = FxHashSet::default();
        for &id in &instances {
            if matches!(self.place[&id], Place::Instance(..)) {
                graph.op(id).operands().into_iter().for_each(|operand| self.through_wires(graph, operand, &mut needed));
            }
        }
        for id in instances {
            let time = self.time(graph, id);
            let below = graph.op(id).operands().into_iter().map(|operand| self.depth_at(graph, operand, time, &depth));
            let own = below.max().unwrap_or(0) + levels(graph, id);
            depth.insert(id, own);
            match self.place[&id] {
                Place::Instance(..) => of_iterations = of_iterations.max(own),
                Place::Single(time) if time == self.last => of_last = of_last.max(own),
                Place::Single(_) => {}
            }
        }
        self.depth = of_iterations;
        // What would make an earlier cycle longer than an iteration waits for the next one, and takes what operators computed from
        // the registers behind them.
        for at in 0..self.singles.len() {
            let id = self.singles[at];
            let operands = graph.op(id).operands();
            let time = operands.iter().map(|operand| self.time(graph, *operand)).max().unwrap_or(0);
            let below =
                operands.into_iter().map(|operand| self.depth_at(graph, operand, time, &depth)).max().unwrap_or(0);
            let own = below + levels(graph, id);
            let waits = time > 0 && time < self.last && below > 0 && own > of_iterations && !needed.contains(&id);
            self.place.insert(id, Place::Single(time + u32::from(waits)));
            depth.insert(id, if waits { levels(graph, id) } else { own });
        }
        if of_last > of_iterations + 1 && self.last == last {
            for at in 0..self.singles.len() {
                let id = self.singles[at];
                if self.place[&id] == Place::Single(self.last) {
                    self.place.insert(id, Place::Single(self.last + 1));
                }
            }
            self.last += 1;
        }
        self.depths = depth;
        Ok(())
    }

    fn through_wires(&self, graph: &Graph, id: NodeId, found: &mut FxHashSet<NodeId>) {
        if is_wire(graph.op(id)) {
            graph.op(id).operands().into_iter().for_each(|operand| self.through_wires(graph, operand, found));
        } else {
            found.insert(id);
        }
    }

    fn depth_at(&self, graph: &Graph, id: NodeId, time: u32, known: &FxHashMap<NodeId, u32>) -> u32 {
        match known.get(&id) {
            Some(depth) if self.time(graph, id) == time => *depth,
            Some(_) => 0,
            None if is_source(graph, id) => 0,
            None => {
                let operands = graph.op(id).operands().into_iter();
                operands.map(|operand| self.depth_at(graph, operand, time, known)).max().unwrap_or(0)
            }
        }
    }

    /// Whether each value is there when it is needed.
    fn check(&self, graph: &Graph) -> Result<(), Infeasible> {
        for class in &self.classes {
            for (index, &id) in class.nodes.iter().enumerate() {
                let time = class.time + index as u32;
                let late = |operand: NodeId| self.time(graph, operand) > time;
                if graph.op(id).operands().into_iter().any(late) {
                    return Err(Infeasible);
                }
            }
            if class.before.values().any(|&id| self.time(graph, id) > 0) {
                return Err(Infeasible);
            }
            let same_but_later = |source: &Source| matches!(source, Source::Same(id) if self.time(graph, *id) >= class.time && !is_constant(graph, *id));
            if class.operands.iter().any(|source| any(source, &same_but_later)) {
                return Err(Infeasible);
            }
        }
        Ok(())
    }

    /// What an operand needs in which cycle.
    pub(crate) fn stream(user: &Class, all: &[(usize, NodeId)]) -> Stream {
        all.iter().map(|&(index, id)| (user.time + index as u32, id)).collect()
    }

    fn rings_of(&self, graph: &Graph) -> Rings {
        fn streams(user: &Class, source: &Source, found: &mut Vec<Stream>) {
            match source {
                Source::Varying(all) => found.push(Plan::stream(user, all)),
                Source::But(rule, _) => streams(user, rule, found),
                Source::Wire(_, parts) => parts.iter().for_each(|part| streams(user, part, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        for class in &self.classes {
            class.operands.iter().for_each(|source| streams(class, source, &mut found));
        }
        let is_there = |id: NodeId| self.time(graph, id) == 0 && !is_constant(graph, id);
        Rings::of(graph, found, is_there, choices)
    }

    /// The logic that chooses by the cycle where an operand comes from, but for what rings have.
    fn choice(&self, graph: &Graph, user: &Class, source: &Source) -> u64 {
        let among = |all: &[(usize, NodeId)]| choices(all.len() as u64 * u64::from(graph.width(all[0].1)));
        match source {
            Source::Varying(all) if self.rings.place(&Self::stream(user, all)).is_some() => 0,
            Source::Varying(all) => among(all),
            Source::But(rule, others) => self.choice(graph, user, rule) + among(others),
            Source::Wire(_, parts) => parts.iter().map(|part| self.choice(graph, user, part)).sum(),
            Source::Constants(all) => choices(all.len() as u64),
            Source::Same(_) | Source::Value(..) => 0,
        }
    }

    fn area_of(&self, graph: &Graph) -> u64 {
        let classes = self.classes.iter().map(|class| {
            let chosen: u64 = class.operands.iter().map(|source| self.choice(graph, class, source)).sum();
            let own = weight(graph, class.nodes[0]);
            let is_behind =
                |source: &Source| matches!(source, Source::Value(of, delta) if self.stage(class, *of, *delta) == 0);
            let is_table = matches!(graph.op(class.nodes[0]), Op::Lookup(..));
            let behind = is_table && class.operands.iter().any(|source| any(source, &is_behind));
            own + chosen + if behind { late_table(own) } else { 0 }
        });
        // Registers are loaded when the task begins.
        let mut depth = vec![0i64; self.classes.len()];
        let mut cost = 0;
        for class in &self.classes {
            for source in &class.operands {
                let _ = self.cost(class, source, usize::MAX, &mut depth, &mut cost);
            }
        }
        let widths = self.classes.iter().map(|class| u64::from(graph.width(class.nodes[0])));
        let loaded: u64 = depth.iter().zip(widths).map(|(&depth, width)| depth.max(0) as u64 * width).sum();
        let rings: u64 = self.rings.all.iter().map(|ring| ring.area(graph)).sum();
        loaded + rings + classes.sum::<u64>() + self.singles.iter().map(|&id| weight(graph, id)).sum::<u64>()
    }
}

fn is_constant(graph: &Graph, id: NodeId) -> bool {
    graph.constant(id).is_some()
}

/// Whether a source, or one in it, is such a one.
fn any(source: &Source, is: &dyn Fn(&Source) -> bool) -> bool {
    is(source)
        || match source {
            Source::Wire(_, parts) => parts.iter().any(|part| any(part, is)),
            Source::But(rule, _) => any(rule, is),
            _ => false,
        }
}

/// What tells operands from each other, from where their iteration is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    Value(usize, i64),
    Constant,
    Wire(Vec<u32>, Vec<Shape>),
    Other,
}

impl Shape {
    /// The outermost operation alone, with the number of its operands.
    fn outermost(self) -> Shape {
        match self {
            Shape::Wire(form, parts) => Shape::Wire(form, vec![Shape::Other; parts.len()]),
            shape => shape,
        }
    }
}
