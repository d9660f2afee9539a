//! Superblock formation by tail duplication. The way of the plainest whole message once more, as code that is entered at its
//! beginning only.
//!
//! States are labels that are reached from many places, so that compilers know nothing of what has been stored before.
//! Along one way they do: that a counter which was just set is not zero, that several are the same, what the minimum of
//! them is. Whoever leaves the way goes on at the label of the state that it comes to, and does not return.

use headrace_transform::control::{Automaton, Part};
use std::collections::BTreeSet;

/// Steps of the search for a way through states.
const MOST_SEARCHED: usize = 20_000;

/// States of a way from which on it is worth its text: on a short one little is known that states do not know.
const LEAST_STATES: usize = 12;

/// The states that the plainest of messages with a loop comes through, in their order: fewest of all messages that find a
/// network in one of the states `rests` and leave it in one, with all of them among `states`. The last leads to one of
/// `rests`. What a message comes through again and again, one iteration of a loop at a time, is not on the way.
pub(super) fn usual_way(
    automaton: &Automaton,
    rests: &BTreeSet<usize>,
    states: &BTreeSet<usize>,
) -> Option<Vec<usize>> {
    let leaves = |part: &Part| rests.contains(&part.from) && rests.contains(&part.to);
    let fits = |part: &&Part| !part.is_piece && leaves(part) && part.states.is_subset(states);
    let part = plainest(automaton, automaton.parts.iter().filter(fits))?;
    let targets = |at| targets(automaton, at);
    let open = part.states.iter().copied().filter(|&at| at != part.from && at != part.to).collect();
    let mut search =
        Search { targets: &targets, to: part.to, open, way: vec![part.from], longest: Vec::new(), left: MOST_SEARCHED };
    search.on();
    let long = Some(search.longest).filter(|way| way.len() >= LEAST_STATES);
    long.filter(|way| way.iter().any(|&at| !automaton.states[at].loops.is_empty()))
}

/// The plainest of messages with a loop: that which comes through fewest states.
pub(super) fn plainest<'p>(automaton: &Automaton, parts: impl Iterator<Item = &'p Part>) -> Option<&'p Part> {
    let has_loop = |part: &&Part| part.states.iter().any(|&at| goes_round(automaton, at, part));
    parts.filter(has_loop).min_by_key(|part| (part.states.len(), part.from))
}

/// Whether a message goes round a loop of a state that takes tokens: it comes to a state with a loop, too, where there is
/// nothing to take. The message itself goes round through the state that it begins in.
fn goes_round(automaton: &Automaton, at: usize, part: &Part) -> bool {
    let Some(state) = automaton.states.get(at) else { return false };
    state.loops.iter().filter(|counted| counted.body.consumes.iter().any(|(tokens, _)| *tokens > 0)).any(|counted| {
        let mut reached = BTreeSet::from([at]);
        for _ in 0..counted.transitions {
            let all: BTreeSet<usize> = reached.iter().flat_map(|&from| targets(automaton, from)).collect();
            reached = all.intersection(&part.states).copied().filter(|&to| to == at || to != part.from).collect();
        }
        reached.contains(&at)
    })
}

/// The states that a state leads to.
fn targets(automaton: &Automaton, at: usize) -> BTreeSet<usize> {
    let mut targets = BTreeSet::new();
    automaton.states[at].step.transitions(&mut |_, target| {
        targets.insert(target);
    });
    targets
}

/// The search for the longest way that comes through no state twice.
struct Search<'a> {
    targets: &'a dyn Fn(usize) -> BTreeSet<usize>,
    to: usize,
    /// States that are not on the way.
    open: BTreeSet<usize>,
    /// The way so far.
    way: Vec<usize>,
    /// The longest that leads there.
    longest: Vec<usize>,
    /// Steps that are left.
    left: usize,
}

impl Search<'_> {
    fn on(&mut self) {
        let Some(&last) = self.way.last() else { return };
        let targets = (self.targets)(last);
        if targets.contains(&self.to) && self.way.len() > self.longest.len() {
            self.longest.clone_from(&self.way);
        }
        for target in targets {
            if self.left == 0 || !self.open.remove(&target) {
                continue;
            }
            self.left -= 1;
            self.way.push(target);
            self.on();
            self.way.pop();
            self.open.insert(target);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use headrace_transform::control::{Awaited, ControlState, CountedLoop, Step};
    use headrace_transform::kernel::{Graph, Loop, Transition};

    #[test]
    fn what_comes_again_is_not_on_the_longest_way() {
        // 0 → 1 → 2 → 4 → 0, 1 → 4, and 2 ⇄ 3.
        let all = [vec![1], vec![2, 4], vec![3, 4], vec![2], vec![0]];
        let targets = |at: usize| all[at].iter().copied().collect();
        let open = BTreeSet::from([1, 2, 3, 4]);
        let mut search = Search { targets: &targets, to: 0, open, way: vec![0], longest: Vec::new(), left: 100 };
        search.on();
        assert_eq!(search.longest, [0, 1, 2, 4]);
    }

    /// An automaton with five states: 0 → 1 → 0, and between 1 ⇄ 2 takes tokens, 3 ⇄ 4 takes none.
    pub(in super::super) fn with_loops(parts: Vec<Part>) -> Automaton {
        let state = |targets: &[usize], loops: Vec<CountedLoop>| {
            let go =
                |target| Awaited { port: 0, tokens: 1, step: Step::Go { transition: Transition::default(), target } };
            let step = Step::Wait(targets.iter().map(|&target| go(target)).collect());
            ControlState {
                step,
                loops,
                description: String::new(),
                fsm: Vec::new(),
                fills: Vec::new(),
                known: Vec::new(),
            }
        };
        let counted = |tokens| {
            let body = Loop {
                graph: Graph::default(),
                objects: Vec::new(),
                consumes: vec![(tokens, 8)],
                produces: Vec::new(),
                outputs: Vec::new(),
                carried: Vec::new(),
                counters: Vec::new(),
            };
            CountedLoop { transitions: 2, ..CountedLoop::of(body) }
        };
        let states = vec![
            state(&[1, 3], Vec::new()),
            state(&[0, 2], vec![counted(1)]),
            state(&[1], Vec::new()),
            state(&[0, 4], vec![counted(0)]),
            state(&[3], Vec::new()),
        ];
        Automaton { states, parts, ..Automaton::default() }
    }

    #[test]
    fn the_plainest_message_goes_round_a_loop_that_takes_tokens() {
        let part =
            |states: &[usize]| Part { from: 0, to: 0, states: states.iter().copied().collect(), is_piece: false };
        let automaton = with_loops(vec![part(&[0, 1]), part(&[0, 3, 4]), part(&[0, 1, 2, 3]), part(&[0, 1, 2])]);
        assert_eq!(plainest(&automaton, automaton.parts.iter()), Some(&automaton.parts[3]));
        assert_eq!(plainest(&automaton, automaton.parts[..2].iter()), None);
    }
}
