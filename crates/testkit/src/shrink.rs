//! Makes a failing program small: takes items away and puts simpler expressions in place, as long as the failure
//! stays (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 2002, on the tree).

use crate::generate::{Case, Cut, Cuts, NodeId};

/// The smallest set of cuts found under which `fails` still holds, with at most `most_tries` calls of `fails`.
///
/// `fails` must hold for the whole case and should hold only for the failure in question: a program that no longer
/// compiles is no smaller example of one that computes wrongly.
pub fn shrink(case: &Case, most_tries: usize, fails: &mut dyn FnMut(&Cuts) -> bool) -> Cuts {
    let mut state = State { cuts: Cuts::default(), tries: most_tries, fails };
    loop {
        let before = state.cuts.clone();
        state.remove(case);
        state.replace(case);
        if state.cuts == before || state.tries == 0 {
            return state.cuts;
        }
    }
}

struct State<'f> {
    cuts: Cuts,
    tries: usize,
    fails: &'f mut dyn FnMut(&Cuts) -> bool,
}

impl State<'_> {
    fn accept(&mut self, cuts: Cuts) -> bool {
        if self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let accepted = (self.fails)(&cuts);
        if accepted {
            self.cuts = cuts;
        }
        accepted
    }

    /// Tries runs of items, halving their length; from the back, where the users of earlier declarations stand.
    fn remove(&mut self, case: &Case) {
        let mut left: Vec<NodeId> = case.removable().into_iter().filter(|id| !self.cuts.removed.contains(id)).collect();
        let mut length = left.len().div_ceil(2);
        while length > 0 {
            let mut end = left.len();
            while end > 0 {
                let start = end.saturating_sub(length);
                let mut cuts = self.cuts.clone();
                cuts.removed.extend(&left[start..end]);
                // An item inside one that is gone changes nothing and needs no try.
                let unchanged = case.texts(&cuts) == case.texts(&self.cuts);
                if unchanged || self.accept(cuts) {
                    left.drain(start..end);
                }
                end = start.min(left.len());
            }
            length = if length == 1 { 0 } else { length.div_ceil(2) };
        }
    }

    fn replace(&mut self, case: &Case) {
        for e in case.replaceable() {
            if self.cuts.replaced.contains_key(&e.id) {
                continue;
            }
            let simplest = e.has_simplest.then_some(Cut::Simplest);
            for cut in simplest.into_iter().chain(e.operands.iter().map(|i| Cut::Operand(*i))) {
                let mut cuts = self.cuts.clone();
                cuts.replaced.insert(e.id, cut);
                if case.size(&cuts) >= case.size(&self.cuts) {
                    continue;
                }
                if self.accept(cuts) {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::generate::{Cuts, Knobs, generate};

    #[test]
    fn a_shrunk_program_still_fails_and_is_much_smaller() {
        let knobs = Knobs::default();
        let mut checked = 0;
        for seed in 0..40 {
            let case = generate(seed, &knobs);
            let whole = case.size(&Cuts::default());
            let has_mod = |cuts: &Cuts| case.texts(cuts).iter().any(|(_, t)| t.contains(" mod "));
            if whole < 4000 || !has_mod(&Cuts::default()) {
                continue;
            }
            checked += 1;
            let cuts = shrink(&case, 5000, &mut |cuts| has_mod(cuts));
            assert!(has_mod(&cuts));
            assert!(case.size(&cuts) < whole / 2, "seed {seed}: {whole} to {}", case.size(&cuts));
        }
        assert!(checked > 5);
    }
}
