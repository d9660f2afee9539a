//! Binding: operators and registers of tasks that take cycles, which several of them use in turn.
//!
//! Only one task that takes cycles is under way at a time, so tasks with the same rounds need these once. Operators of two
//! tasks are held against each other from a pair of them towards their operands: where both come from operators that are
//! alike, from registers as many cycles behind, these are a pair, too; where they do not, the operand is chosen by the task
//! that is under way. Registers behind operators are bound with them, and take what each task begins with when it does.

use super::estimate::{choices, weight};
use super::plan::{Place, Plan, Source};
use super::region::Region;
use super::runs::{is_source, is_wire, parameter};
use headrace_kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Plans of tasks that take cycles whose rounds begin where those of an earlier task do, so that more of their operators are one.
pub(crate) fn align(region: &mut Region, plans: &mut [Plan], unrolled: u32) {
    let mut long: Vec<usize> =
        (0..plans.len()).filter(|&task| plans[task].last > 0 && !plans[task].is_pipelined).collect();
    // Those with the most rounds have all that others have.
    long.sort_by_key(|&task| std::cmp::Reverse(plans[task].last));
    if long.len() < 2 {
        return;
    }
    for (at, &task) in long.iter().enumerate() {
        let roots = region.tasks[task].roots();
        let mut all = Plan::all_of(&mut region.graph, &roots, unrolled as usize);
        for leader in &long[..at] {
            all.extend(Plan::like(&mut region.graph, &roots, &plans[*leader]));
        }
        let cost = |plan: &Plan| {
            let gain = |&leader: &usize| Pairs::of(&region.graph, (&plans[leader], plan)).gain();
            plan.area.saturating_sub(long[..at].iter().map(gain).max().unwrap_or(0))
        };
        let fits = all.into_iter().filter(|plan| plan.last <= plans[task].last);
        let best = fits.map(|plan| (cost(&plan), plan)).min_by_key(|(cost, _)| *cost);
        if let Some((least, plan)) = best
            && least < cost(&plans[task])
        {
            plans[task] = plan;
        }
    }
}

/// An operator of a task: the position of the task, and that of the class in its plan.
pub(crate) type Operator = (usize, usize);

/// Which operators of several tasks are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Binding {
    /// For each operator of a later task that of the first one, and whether its two operands are exchanged.
    bound: FxHashMap<Operator, (Operator, bool)>,
    /// Operators that others are bound to.
    leaders: FxHashSet<Operator>,
    /// Bits of logic that are there once instead of several times, roughly.
    pub(crate) saved: u64,
}

impl Binding {
    /// Operators of these plans that are worth to be one. Plans of pipelines and of what is done in one cycle have none.
    pub(crate) fn of(graph: &Graph, plans: &[Plan]) -> Self {
        let mut binding = Binding::default();
        let mut first: Vec<usize> = Vec::new();
        let takes_cycles = |plan: &Plan| plan.last > 0 && !plan.is_pipelined;
        let mut long: Vec<usize> = (0..plans.len()).filter(|&task| takes_cycles(&plans[task])).collect();
        long.sort_by_key(|&task| std::cmp::Reverse(plans[task].last));
        for task in long {
            let own = plans[task].operators_area(graph);
            let found = first.iter().filter_map(|&leader| {
                let pairs = Pairs::of(graph, (&plans[leader], &plans[task]));
                let gain = pairs.gain();
                // What is chosen lies in the way of the signal, so a little is not worth it.
                (10 * gain > own).then_some((gain, leader, pairs))
            });
            let best = found.max_by_key(|(gain, leader, _)| (*gain, std::cmp::Reverse(*leader)));
            match best {
                Some((gain, leader, pairs)) if !binding.with(leader, task, &pairs).has_loop(graph, plans) => {
                    binding = binding.with(leader, task, &pairs);
                    binding.saved += gain;
                }
                _ => first.push(task),
            }
        }
        binding
    }

    fn with(&self, leader: usize, task: usize, pairs: &Pairs<'_>) -> Self {
        let mut new = self.clone();
        for (&b, &(a, swapped)) in &pairs.of_b {
            new.bound.insert((task, b), ((leader, a), swapped));
            new.leaders.insert((leader, a));
        }
        new
    }

    /// The operator that this one is, where several are one, and whether its operands are exchanged there.
    pub(crate) fn shared(&self, operator: Operator) -> Option<(Operator, bool)> {
        let own = self.leaders.contains(&operator).then_some((operator, false));
        self.bound.get(&operator).copied().or(own)
    }

    /// Whether a task has operators that others have, too.
    pub(crate) fn is_shared(&self, task: usize) -> bool {
        self.leaders.iter().any(|&(leader, _)| leader == task) || self.bound.keys().any(|&(bound, _)| bound == task)
    }

    /// Whether an operator would wait for itself: for what one task computes of it and another one of that.
    fn has_loop(&self, graph: &Graph, plans: &[Plan]) -> bool {
        let one = |operator: Operator| self.shared(operator).map_or(operator, |(one, _)| one);
        let mut needs: FxHashMap<Operator, Vec<Operator>> = FxHashMap::default();
        for (task, plan) in plans.iter().enumerate() {
            for class in 0..plan.classes.len() {
                let found = plan.behind(graph, class);
                needs.entry(one((task, class))).or_default().extend(found.into_iter().map(|class| one((task, class))));
            }
        }
        // Operators that are being visited (false) or are done (true).
        let mut seen: FxHashMap<Operator, bool> = FxHashMap::default();
        for &root in needs.keys() {
            let mut stack = vec![(root, 0)];
            if seen.contains_key(&root) {
                continue;
            }
            seen.insert(root, false);
            while let Some((at, next)) = stack.pop() {
                match needs.get(&at).and_then(|all| all.get(next)) {
                    None => {
                        seen.insert(at, true);
                    }
                    Some(&operand) => {
                        stack.push((at, next + 1));
                        match seen.get(&operand) {
                            Some(false) => return true,
                            Some(true) => {}
                            None => {
                                seen.insert(operand, false);
                                stack.push((operand, 0));
                            }
                        }
                    }
                }
            }
        }
        false
    }
}

/// Operators of two tasks that are held to be the same.
#[derive(Clone)]
struct Pairs<'a> {
    graph: &'a Graph,
    a: &'a Plan,
    b: &'a Plan,
    of_a: FxHashMap<usize, usize>,
    of_b: FxHashMap<usize, (usize, bool)>,
}

impl<'a> Pairs<'a> {
    /// The pairs of two tasks: for each operator of the first one those of the second are tried that it may be, and the one
    /// remains with which most goes along.
    fn of(graph: &'a Graph, (a, b): (&'a Plan, &'a Plan)) -> Self {
        let mut pairs = Pairs { graph, a, b, of_a: FxHashMap::default(), of_b: FxHashMap::default() };
        for x in 0..pairs.a.classes.len() {
            if pairs.of_a.contains_key(&x) {
                continue;
            }
            let mut all: Vec<usize> = (0..pairs.b.classes.len()).filter(|&y| pairs.fit(x, y)).collect();
            // Rounds that begin at the same place are alike in the same order.
            all.sort_by_key(|&y| y.abs_diff(x));
            let mut best: Option<(u64, Pairs<'a>)> = None;
            for y in all.into_iter().take(MOST_TRIED) {
                let mut other = pairs.clone();
                other.join(x, y);
                let gain = other.gain();
                if best.as_ref().map_or(pairs.gain(), |(most, _)| *most) < gain {
                    best = Some((gain, other));
                }
            }
            if let Some((_, other)) = best {
                pairs = other;
            }
        }
        pairs
    }

    /// Whether two operators may be one, and are no other one's.
    fn fit(&self, x: usize, y: usize) -> bool {
        let (own, other) = (&self.a.classes[x], &self.b.classes[y]);
        // What works a cycle before would meet the last cycle of another task.
        if own.first.is_some() || other.first.is_some() || self.of_a.contains_key(&x) || self.of_b.contains_key(&y) {
            return false;
        }
        let (a, b) = (own.nodes[0], other.nodes[0]);
        self.are_alike(a, b)
    }

    fn are_alike(&self, a: NodeId, b: NodeId) -> bool {
        let (one, other) = (self.graph.op(a), self.graph.op(b));
        let widths = |op: &Op| op.operands().iter().map(|&id| self.graph.width(id)).collect::<Vec<_>>();
        std::mem::discriminant(one) == std::mem::discriminant(other)
            && parameter(one) == parameter(other)
            && self.graph.width(a) == self.graph.width(b)
            && widths(one) == widths(other)
    }

    /// Takes two operators as one, and with them those that their operands come from.
    fn join(&mut self, x: usize, y: usize) {
        let mut next = vec![(x, y)];
        while let Some((x, y)) = next.pop() {
            if !self.fit(x, y) {
                continue;
            }
            let (own, other) = (&self.a.classes[x], &self.b.classes[y]);
            let mut of_y: Vec<&Source> = other.operands.iter().collect();
            let mut swapped = false;
            if let ([p, q], [r, s]) = (own.operands.as_slice(), other.operands.as_slice()) {
                let straight = self.likeness((x, p), (y, r), DEEP) + self.likeness((x, q), (y, s), DEEP);
                let crossed = self.likeness((x, p), (y, s), DEEP) + self.likeness((x, q), (y, r), DEEP);
                if self.graph.op(own.nodes[0]).commutes() && crossed > straight {
                    of_y.swap(0, 1);
                    swapped = true;
                }
            }
            self.of_a.insert(x, y);
            self.of_b.insert(y, (x, swapped));
            for (p, q) in own.operands.iter().zip(of_y) {
                self.follow((x, p), (y, q), &mut next);
            }
        }
    }

    /// Pairs of operators that two operands come from.
    fn follow(&self, (x, p): (usize, &Source), (y, q): (usize, &Source), next: &mut Vec<(usize, usize)>) {
        match (p, q) {
            (Source::But(p, _), q) => self.follow((x, p), (y, q), next),
            (p, Source::But(q, _)) => self.follow((x, p), (y, q), next),
            (Source::Value(one, d), Source::Value(other, e)) if self.stage(x, (*one, *d), y, (*other, *e)) => {
                next.push((*one, *other));
            }
            (Source::Wire(one, p), Source::Wire(other, q)) if p.len() == q.len() && self.are_alike(*one, *other) => {
                p.iter().zip(q).for_each(|(p, q)| self.follow((x, p), (y, q), next));
            }
            _ => {}
        }
    }

    /// Whether two operands lie as many registers behind their operators.
    fn stage(&self, x: usize, (one, d): (usize, i64), y: usize, (other, e): (usize, i64)) -> bool {
        self.a.stage(&self.a.classes[x], one, d) == self.b.stage(&self.b.classes[y], other, e)
    }

    /// How far two operands are computed alike.
    fn likeness(&self, (x, p): (usize, &Source), (y, q): (usize, &Source), depth: u32) -> u32 {
        match (p, q) {
            (Source::But(p, _), q) => self.likeness((x, p), (y, q), depth),
            (p, Source::But(q, _)) => self.likeness((x, p), (y, q), depth),
            (Source::Same(one), Source::Same(other)) => u32::from(one == other),
            (Source::Constants(one), Source::Constants(other)) => 1 + u32::from(one == other),
            (Source::Value(one, d), Source::Value(other, e)) => {
                let known = self.of_a.get(one).map(|b| b == other);
                let taken = self.of_b.contains_key(other);
                let (own, its) = (&self.a.classes[*one], &self.b.classes[*other]);
                if !self.stage(x, (*one, *d), y, (*other, *e)) || !self.are_alike(own.nodes[0], its.nodes[0]) {
                    return 0;
                }
                match (known, taken) {
                    (Some(true), _) => 1 << (2 * depth),
                    (Some(false), _) | (None, true) => 0,
                    (None, false) if depth == 0 => 1,
                    (None, false) => {
                        let operands = own.operands.iter().zip(&its.operands);
                        let below = operands.map(|(p, q)| self.likeness((*one, p), (*other, q), depth - 1));
                        1 + below.sum::<u32>()
                    }
                }
            }
            (Source::Wire(one, p), Source::Wire(other, q)) if p.len() == q.len() && self.are_alike(*one, *other) => {
                p.iter().zip(q).map(|(p, q)| self.likeness((x, p), (y, q), depth)).sum()
            }
            _ => 0,
        }
    }

    /// Whether two operands are wired to the same place.
    fn agree(&self, (x, p): (usize, &Source), (y, q): (usize, &Source)) -> bool {
        match (p, q) {
            (Source::Same(one), Source::Same(other)) => one == other,
            // A ROM more.
            (Source::Constants(_), Source::Constants(_)) => true,
            (Source::Value(one, d), Source::Value(other, e)) => {
                self.of_a.get(one) == Some(other) && self.stage(x, (*one, *d), y, (*other, *e))
            }
            (Source::Wire(one, p), Source::Wire(other, q)) => {
                p.len() == q.len()
                    && self.are_alike(*one, *other)
                    && p.iter().zip(q).all(|(p, q)| self.agree((x, p), (y, q)))
            }
            (Source::But(p, one), Source::But(q, other)) => one == other && self.agree((x, p), (y, q)),
            _ => false,
        }
    }

    /// Logic that is there once then, less what chooses operands.
    fn gain(&self) -> u64 {
        let (mut once, mut chosen) = (0, 0);
        for (&y, &(x, swapped)) in &self.of_b {
            let (own, other) = (&self.a.classes[x], &self.b.classes[y]);
            once += weight(self.graph, own.nodes[0]);
            let n = own.operands.len();
            for (at, p) in own.operands.iter().enumerate() {
                let q = &other.operands[if swapped { n - 1 - at } else { at }];
                if !self.agree((x, p), (y, q)) {
                    let operand = self.graph.op(own.nodes[0]).operands()[at];
                    chosen += choices(u64::from(self.graph.width(operand)));
                }
            }
        }
        u64::saturating_sub(once, chosen)
    }
}

/// Operands of operands that are looked at to tell which operands belong together.
const DEEP: u32 = 3;

/// Operators that are tried as one with another, at most.
const MOST_TRIED: usize = 64;

impl Plan {
    /// Bits of logic of all operators, roughly.
    fn operators_area(&self, graph: &Graph) -> u64 {
        self.classes.iter().map(|class| weight(graph, class.nodes[0])).sum()
    }

    /// Operators whose values an operator needs in the cycle in which they are computed.
    fn behind(&self, graph: &Graph, class: usize) -> Vec<usize> {
        fn of_value(plan: &Plan, graph: &Graph, id: NodeId, time: u32, found: &mut Vec<usize>) {
            match plan.place.get(&id) {
                _ if is_source(graph, id) => {}
                Some(Place::Instance(class, index)) if plan.classes[*class].time + *index as u32 == time => {
                    found.push(*class);
                }
                Some(Place::Instance(..)) => {}
                Some(Place::Single(there)) if *there != time => {}
                Some(Place::Single(_)) => {
                    graph.op(id).operands().into_iter().for_each(|id| of_value(plan, graph, id, time, found));
                }
                None if is_wire(graph.op(id)) => {
                    graph.op(id).operands().into_iter().for_each(|id| of_value(plan, graph, id, time, found));
                }
                None => {}
            }
        }
        fn of_source(plan: &Plan, graph: &Graph, user: usize, source: &Source, found: &mut Vec<usize>) {
            let own = &plan.classes[user];
            let mut values = |all: &[(usize, NodeId)]| {
                for &(index, id) in all {
                    of_value(plan, graph, id, own.time + index as u32, found);
                }
            };
            match source {
                Source::Value(class, delta) => {
                    for index in plan.missed(own, *class, *delta) {
                        let before = plan.classes[*class].before.get(&(index as i64 + delta));
                        before.into_iter().for_each(|&id| values(&[(index, id)]));
                    }
                    if plan.stage(own, *class, *delta) == 0 {
                        found.push(*class);
                    }
                }
                Source::Wire(_, parts) => parts.iter().for_each(|part| of_source(plan, graph, user, part, found)),
                Source::Varying(all) => values(all),
                Source::But(rule, others) => {
                    values(others);
                    of_source(plan, graph, user, rule, found);
                }
                Source::Same(_) | Source::Constants(_) => {}
            }
        }
        let mut found = Vec::new();
        for source in &self.classes[class].operands {
            of_source(self, graph, class, source, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
