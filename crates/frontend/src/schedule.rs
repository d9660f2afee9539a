//! Which actions are tried in which state, and in which order.
//!
//! Choice among enabled actions that no priority relates is left open by CAL. Published programs were only ever run with
//! one order, so that order is followed exactly: in each state the untagged actions in document order, then the tagged
//! ones in a topological order of the priorities that takes all actions without a higher one in document order first and
//! those that become free afterwards in the order in which they do.

use headrace_ir::{Action, ActionId, Schedule, State, StateId, Test};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, RegExpKind};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// Most states that a regular expression may need.
const MAX_STATES: usize = 4096;

/// What the schedule and the priorities of an actor come to.
pub(crate) struct Scheduled {
    pub schedule: Schedule,
    pub priorities: Vec<(ActionId, ActionId)>,
    pub problems: Vec<Diagnostic>,
}

struct Scheduler<'a> {
    actions: &'a [Action],
    /// Actions by every prefix of their tags.
    by_prefix: HashMap<&'a str, Vec<usize>>,
    /// Position of each tagged action in the order of trying.
    rank: Vec<usize>,
    problems: Vec<Diagnostic>,
}

/// Works out the schedule of an actor.
pub(crate) fn schedule(actor: &ast::Actor, actions: &[Action]) -> Scheduled {
    let mut by_prefix: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, action) in actions.iter().enumerate() {
        if let Some(tag) = &action.tag {
            let ends = tag.match_indices('.').map(|(dot, _)| dot).chain([tag.len()]);
            for end in ends {
                by_prefix.entry(&tag[..end]).or_default().push(at);
            }
        }
    }
    let mut scheduler = Scheduler { actions, by_prefix, rank: vec![0; actions.len()], problems: Vec::new() };
    let priorities = scheduler.order(&actor.priorities);
    let schedule = match &actor.schedule {
        None => scheduler.single_state(),
        Some(ast::Schedule::Fsm(fsm)) => scheduler.fsm(fsm),
        Some(ast::Schedule::RegExp(regexp)) => {
            if let Some(first) = actor.priorities.first() {
                scheduler.problems.push(
                    Diagnostic::error(
                        "regexp-with-priorities",
                        "a `schedule regexp` cannot be combined with priorities",
                    )
                    .at(first.span, "the order of the actions is given twice")
                    .also(regexp.span, "given here"),
                );
            }
            scheduler.regexp(regexp)
        }
    };
    Scheduled { schedule, priorities, problems: scheduler.problems }
}

impl Scheduler<'_> {
    /// The actions that a tag prefix stands for.
    fn matching(&mut self, tag: &ast::Tag) -> Vec<usize> {
        if let Some(found) = self.by_prefix.get(tag.text.as_str()) {
            return found.clone();
        }
        let mut diagnostic = Diagnostic::error("unknown-tag", format!("no action has the tag `{}`", tag.text))
            .at(tag.span, "no such action");
        let mut tags: Vec<&str> = self.by_prefix.keys().copied().collect();
        tags.sort_unstable();
        if let Some(near) = crate::names::nearest(&tag.text, tags.into_iter()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.problems.push(diagnostic);
        Vec::new()
    }

    /// Ranks the tagged actions and returns the transitive closure of the priorities.
    fn order(&mut self, inequalities: &[ast::Inequality]) -> Vec<(ActionId, ActionId)> {
        let n = self.actions.len();
        let mut lower: Vec<Vec<usize>> = vec![Vec::new(); n];
        let mut n_higher = vec![0usize; n];
        let mut edges: HashMap<(usize, usize), Span> = HashMap::new();
        let mut pairs: HashSet<(&str, &str)> = HashSet::new();
        for inequality in inequalities {
            let sets: Vec<Vec<usize>> = inequality.tags.iter().map(|tag| self.matching(tag)).collect();
            for (tags, sets) in inequality.tags.windows(2).zip(sets.windows(2)) {
                let ([left, right], [higher, below]) = (tags, sets) else { continue };
                if left.text == right.text {
                    self.problems.push(
                        Diagnostic::error("priority-cycle", format!("`{}` has priority over itself", left.text))
                            .at(left.span.to(right.span), "can never be told apart"),
                    );
                    continue;
                }
                if !pairs.insert((&left.text, &right.text)) {
                    continue;
                }
                let of_left: HashSet<usize> = higher.iter().copied().collect();
                for &a in higher {
                    // `x.y > x` sets `x.y` above the rest of `x`.
                    for &b in below.iter().filter(|b| !of_left.contains(b)) {
                        if let std::collections::hash_map::Entry::Vacant(entry) = edges.entry((a, b)) {
                            entry.insert(inequality.span);
                            lower[a].push(b);
                            n_higher[b] += 1;
                        }
                    }
                }
            }
        }
        let tagged: Vec<usize> = (0..n).filter(|&at| self.actions[at].tag.is_some()).collect();
        let mut queue: VecDeque<usize> = tagged.iter().copied().filter(|&at| n_higher[at] == 0).collect();
        let mut left = n_higher.clone();
        let mut done = 0;
        while let Some(at) = queue.pop_front() {
            self.rank[at] = done;
            done += 1;
            for &next in &lower[at] {
                left[next] -= 1;
                if left[next] == 0 {
                    queue.push_back(next);
                }
            }
        }
        if done < tagged.len() {
            self.report_cycle(&lower, &left, &edges);
            return Vec::new();
        }
        let mut closure = Vec::new();
        let mut seen = vec![usize::MAX; n];
        for &start in &tagged {
            let mut queue = lower[start].clone();
            let mut below = Vec::new();
            while let Some(at) = queue.pop() {
                if seen[at] != start {
                    seen[at] = start;
                    below.push(at);
                    queue.extend(&lower[at]);
                }
            }
            below.sort_unstable();
            closure.extend(below.into_iter().map(|at| (ActionId(start as u32), ActionId(at as u32))));
        }
        closure
    }

    /// Reports one cycle among the actions that are left.
    fn report_cycle(&mut self, lower: &[Vec<usize>], left: &[usize], edges: &HashMap<(usize, usize), Span>) {
        // Every action that is left has a higher one that is left too: going up must come round.
        let mut above: HashMap<usize, usize> = HashMap::new();
        for (a, below) in lower.iter().enumerate().filter(|(a, _)| left[*a] > 0) {
            for &b in below.iter().filter(|&&b| left[b] > 0) {
                above.entry(b).or_insert(a);
            }
        }
        let Some((&start, _)) = above.iter().min() else { return };
        let mut path = vec![start];
        let mut seen = HashSet::from([start]);
        let mut at = start;
        while let Some(&next) = above.get(&at) {
            if !seen.insert(next) {
                path.push(next);
                at = next;
                break;
            }
            path.push(next);
            at = next;
        }
        let first = path.iter().position(|&step| step == at).unwrap_or(0);
        let cycle = &path[first..];
        let names: Vec<String> = cycle.iter().rev().map(|&step| format!("`{}`", self.actions[step].name)).collect();
        let span = match cycle {
            [b, a, ..] => edges.get(&(*a, *b)).copied(),
            _ => None,
        };
        let span = span.or_else(|| edges.values().min().copied()).unwrap_or_default();
        self.problems.push(
            Diagnostic::error("priority-cycle", "the priorities contradict one another")
                .at(span, "part of a cycle")
                .note(format!("the cycle is {}", names.join(" > "))),
        );
    }

    fn untagged(&self, state: StateId) -> Vec<Test> {
        let untagged = self.actions.iter().enumerate().filter(|(_, action)| action.tag.is_none());
        untagged.map(|(at, _)| Test { action: ActionId(at as u32), next: state }).collect()
    }

    fn tests(&self, state: StateId, mut tagged: Vec<(usize, StateId)>) -> Vec<Test> {
        tagged.sort_by_key(|(at, _)| self.rank[*at]);
        let mut tests = self.untagged(state);
        tests.extend(tagged.into_iter().map(|(at, next)| Test { action: ActionId(at as u32), next }));
        tests
    }

    fn single_state(&self) -> Schedule {
        let state = StateId(0);
        let tagged = (0..self.actions.len()).filter(|&at| self.actions[at].tag.is_some());
        let tests = self.tests(state, tagged.map(|at| (at, state)).collect());
        Schedule { states: vec![State { name: String::new(), tests }], initial: state }
    }

    fn fsm(&mut self, fsm: &ast::Fsm) -> Schedule {
        let mut ids: HashMap<&str, usize> = HashMap::new();
        let mut names: Vec<&str> = Vec::new();
        let ends = fsm.transitions.iter().flat_map(|transition| [&transition.source, &transition.target]);
        for name in [&fsm.initial].into_iter().chain(ends) {
            ids.entry(&name.text).or_insert_with(|| {
                names.push(&name.text);
                names.len() - 1
            });
        }
        if !fsm.transitions.iter().any(|transition| transition.source.text == fsm.initial.text) {
            self.problems.push(
                Diagnostic::warning(
                    "state-without-transition",
                    format!("the initial state `{}` has no transition", fsm.initial.text),
                )
                .at(fsm.initial.span, "no tagged action ever fires"),
            );
        }
        let mut tagged: Vec<Vec<(usize, StateId)>> = vec![Vec::new(); names.len()];
        let mut seen: HashMap<(usize, usize), Span> = HashMap::new();
        for transition in &fsm.transitions {
            let (Some(&source), Some(&target)) =
                (ids.get(transition.source.text.as_str()), ids.get(transition.target.text.as_str()))
            else {
                continue;
            };
            for tag in &transition.tags {
                for action in self.matching(tag) {
                    if let Some(first) = seen.insert((source, action), tag.span) {
                        self.problems.push(
                            Diagnostic::error(
                                "ambiguous-transition",
                                format!(
                                    "the action `{}` has two transitions from the state `{}`",
                                    self.actions[action].name, transition.source.text
                                ),
                            )
                            .at(tag.span, "the second one")
                            .also(first, "the first one"),
                        );
                        continue;
                    }
                    tagged[source].push((action, StateId(target as u32)));
                }
            }
        }
        let mentioned: HashSet<usize> = seen.keys().map(|(_, action)| *action).collect();
        self.warn_unreachable(&mentioned, fsm.span);
        let states = tagged
            .into_iter()
            .enumerate()
            .map(|(at, tagged)| State { name: names[at].to_string(), tests: self.tests(StateId(at as u32), tagged) });
        Schedule { states: states.collect(), initial: StateId(0) }
    }

    fn warn_unreachable(&mut self, mentioned: &HashSet<usize>, schedule: Span) {
        // A tag that was misspelt is not also a transition that was forgotten.
        if self.problems.iter().any(|problem| problem.slug == "unknown-tag") {
            return;
        }
        for (at, action) in self.actions.iter().enumerate() {
            if action.tag.is_some() && !mentioned.contains(&at) {
                self.problems.push(
                    Diagnostic::warning("unreachable-action", format!("the action `{}` never fires", action.name))
                        .at(action.span, "has a tag, but no transition names it")
                        .also(schedule, "the schedule"),
                );
            }
        }
    }

    /// A non-deterministic automaton after Thompson, made deterministic by the construction of subsets.
    fn regexp(&mut self, regexp: &ast::RegExp) -> Schedule {
        let mut nfa = Nfa { steps: vec![Vec::new(), Vec::new()], empty: vec![Vec::new(), Vec::new()] };
        let mut mentioned = HashSet::new();
        self.build(regexp, 0, 1, &mut nfa, &mut mentioned);
        self.warn_unreachable(&mentioned, regexp.span);
        let start = nfa.closure([0].into_iter());
        let mut ids: HashMap<BTreeSet<usize>, usize> = HashMap::from([(start.clone(), 0)]);
        let mut sets = vec![start];
        let mut steps: Vec<Vec<(usize, usize)>> = Vec::new();
        let mut at = 0;
        while at < sets.len() {
            let mut targets: Vec<(usize, BTreeSet<usize>)> = Vec::new();
            for &position in &sets[at] {
                for &(action, target) in &nfa.steps[position] {
                    match targets.iter_mut().find(|(other, _)| *other == action) {
                        Some((_, set)) => {
                            set.insert(target);
                        }
                        None => targets.push((action, BTreeSet::from([target]))),
                    }
                }
            }
            let mut out = Vec::with_capacity(targets.len());
            for (action, targets) in targets {
                let closed = nfa.closure(targets.into_iter());
                let next = ids.len();
                let id = *ids.entry(closed.clone()).or_insert(next);
                if id == sets.len() {
                    sets.push(closed);
                }
                out.push((action, id));
            }
            if sets.len() > MAX_STATES {
                self.problems.push(
                    Diagnostic::error("schedule-too-large", "this schedule needs too many states")
                        .at(regexp.span, format!("more than {MAX_STATES}")),
                );
                return self.single_state();
            }
            out.sort_unstable();
            steps.push(out);
            at += 1;
        }
        let classes = equivalent(&steps);
        let mut states: Vec<State> = Vec::new();
        for (out, &class) in steps.iter().zip(&classes) {
            if class == states.len() {
                let tagged = out.iter().map(|&(action, target)| (action, StateId(classes[target] as u32))).collect();
                states.push(State { name: format!("s{class}"), tests: self.tests(StateId(class as u32), tagged) });
            }
        }
        Schedule { states, initial: StateId(0) }
    }

    fn build(&mut self, regexp: &ast::RegExp, from: usize, to: usize, nfa: &mut Nfa, mentioned: &mut HashSet<usize>) {
        match &regexp.kind {
            RegExpKind::Tag(tag) => {
                for action in self.matching(tag) {
                    mentioned.insert(action);
                    nfa.steps[from].push((action, to));
                }
            }
            RegExpKind::Sequence(parts) => {
                let mut at = from;
                for (n, part) in parts.iter().enumerate() {
                    let next = if n + 1 == parts.len() { to } else { nfa.state() };
                    self.build(part, at, next, nfa, mentioned);
                    at = next;
                }
            }
            RegExpKind::Choice(parts) => {
                for part in parts {
                    self.build(part, from, to, nfa, mentioned);
                }
            }
            RegExpKind::Star(part) => {
                let (inner, outer) = (nfa.state(), nfa.state());
                nfa.empty[from].push(inner);
                nfa.empty[inner].push(to);
                nfa.empty[outer].push(inner);
                self.build(part, inner, outer, nfa, mentioned);
            }
            RegExpKind::Optional(part) => {
                let (inner, outer) = (nfa.state(), nfa.state());
                nfa.empty[from].extend([inner, to]);
                nfa.empty[outer].push(to);
                self.build(part, inner, outer, nfa, mentioned);
            }
        }
    }
}

/// The class of each state, states of one class allowing the same sequences of actions; classes are numbered in the order
/// of their first states. Refines from one class until nothing changes (Moore).
fn equivalent(steps: &[Vec<(usize, usize)>]) -> Vec<usize> {
    let mut classes = vec![0; steps.len()];
    let mut n_classes = 1;
    loop {
        let mut numbers: HashMap<(usize, Vec<(usize, usize)>), usize> = HashMap::new();
        let next: Vec<usize> = steps
            .iter()
            .zip(&classes)
            .map(|(out, &class)| {
                let key = (class, out.iter().map(|&(action, target)| (action, classes[target])).collect());
                let number = numbers.len();
                *numbers.entry(key).or_insert(number)
            })
            .collect();
        classes = next;
        if numbers.len() == n_classes {
            return classes;
        }
        n_classes = numbers.len();
    }
}

struct Nfa {
    steps: Vec<Vec<(usize, usize)>>,
    empty: Vec<Vec<usize>>,
}

impl Nfa {
    fn state(&mut self) -> usize {
        self.steps.push(Vec::new());
        self.empty.push(Vec::new());
        self.steps.len() - 1
    }

    /// All positions that are reached without an action.
    fn closure(&self, from: impl Iterator<Item = usize>) -> BTreeSet<usize> {
        let mut queue: Vec<usize> = from.collect();
        let mut closed = BTreeSet::new();
        while let Some(at) = queue.pop() {
            if closed.insert(at) {
                queue.extend(&self.empty[at]);
            }
        }
        closed
    }
}
