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
    let has_loop = |part: &Part| part.states.iter().any(|&at| !automaton.states[at].loops.is_empty());
    let fits = |part: &&Part| {
        rests.contains(&part.from) && rests.contains(&part.to) && part.states.is_subset(states) && has_loop(part)
    };
    let part = automaton.parts.iter().filter(fits).min_by_key(|part| (part.states.len(), part.from))?;
    let targets = |at: usize| {
        let mut targets = BTreeSet::new();
        automaton.states[at].step.transitions(&mut |_, target| {
            targets.insert(target);
        });
        targets
    };
    let open = part.states.iter().copied().filter(|&at| at != part.from && at != part.to).collect();
    let mut search =
        Search { targets: &targets, to: part.to, open, way: vec![part.from], longest: Vec::new(), left: MOST_SEARCHED };
    search.on();
    let long = Some(search.longest).filter(|way| way.len() >= LEAST_STATES);
    long.filter(|way| way.iter().any(|&at| !automaton.states[at].loops.is_empty()))
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
mod tests {
    use super::*;

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
}
