//! Operations of printed loops, counted by kind: what models of processors go by that know their units.
//!
//! Estimates that choose between ways to print a loop are in `headrace_machines`; this counts what was printed, whatever it was
//! chosen by. Values beyond the registers are stored and loaded as the rule of Belady (1966) has it: what is needed last goes.

use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Bitwise operations of vectors, comparisons and choices.
pub const LOGIC: &str = "logic";
/// Sums of vectors.
pub const ADD: &str = "add";
/// Products of vectors.
pub const MULTIPLY: &str = "mul";
/// Shifts and rotations of lanes.
pub const SHIFT: &str = "shift";
/// Bytes chosen within 128 bits.
pub const SHUFFLE: &str = "shuffle";
/// Lanes or bytes chosen from one or two whole vectors.
pub const PERMUTE: &str = "permute";
/// Affine maps of bytes.
pub const AFFINE: &str = "affine";
/// Loads of vectors, as operands too.
pub const LOAD: &str = "load";
/// Stores of vectors.
pub const STORE: &str = "store";
/// Elements that are gathered.
pub const GATHER: &str = "gather";
/// Operations of words.
pub const WORD: &str = "word";
/// Loads of words.
pub const WORD_LOAD: &str = "word-load";
/// Stores of words.
pub const WORD_STORE: &str = "word-store";

/// What iterations of a loop have to do, by kind of operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Operations of an iteration.
    pub operations: BTreeMap<String, f64>,
    /// The longest chain of operations that wait for each other, in a group of iterations.
    pub chain: BTreeMap<String, f64>,
    /// Further operations of a kind whose results one of that chain takes together with the result it waits for: what is made
    /// of the same value by the same pipes is not all there at once.
    pub beside: BTreeMap<String, f64>,
    /// Iterations of a group: they are done together, and the next group beside them as far as a processor sees.
    pub group: f64,
    /// Whether a group waits for the one before.
    pub is_carried: bool,
}

impl Work {
    /// So many operations of a kind more.
    pub fn add(&mut self, kind: &str, count: f64) {
        if count > 0.0 {
            *self.operations.entry(kind.to_owned()).or_default() += count;
        }
    }

    /// All of another so many times.
    pub fn add_all(&mut self, other: &Work, times: f64) {
        other.operations.iter().for_each(|(kind, count)| self.add(kind, count * times));
    }

    /// What was counted is that of a group of so many iterations.
    pub fn of_group(mut self, iterations: f64) -> Work {
        self.operations.values_mut().for_each(|count| *count /= iterations.max(1.0));
        self.group = iterations.max(1.0);
        self
    }

    /// Both, one after the other: this one so many times for each iteration of the other.
    pub fn before(&self, times: f64, other: &Work) -> Work {
        let (chain, beside) = (self.chain.clone(), self.beside.clone());
        let mut all = Work { group: self.group / times.max(1.0), chain, beside, ..Work::default() };
        all.add_all(self, times);
        all.add_all(other, 1.0);
        all
    }
}

/// Computations in the order in which they are printed: each with the value that it defines, its kinds and its operands.
#[derive(Debug, Default)]
pub(super) struct Trace<'k> {
    steps: Vec<Step<'k>>,
}

/// The longest chain up to a value: how long it is waited for, operations of each kind, and those beside them.
type End<'k> = (f64, Vec<f64>, BTreeMap<&'k str, f64>);

/// A value, what it is made by, and what of.
type Step<'k> = (u64, Vec<(&'k str, f64)>, Vec<u64>);

impl<'k> Trace<'k> {
    /// A value made of others by some operations; none where it is there from the beginning.
    pub fn value(&mut self, value: u64, operations: Vec<(&'k str, f64)>, operands: impl IntoIterator<Item = u64>) {
        self.steps.push((value, operations, operands.into_iter().collect()));
    }

    /// The same without what is made of values that stay the same alone, which compilers compute once: `is_same` says it of values
    /// that are there from the beginning.
    pub fn repeated(self, is_same: impl Fn(u64) -> bool) -> Trace<'k> {
        let defined: FxHashSet<u64> = self.steps.iter().map(|step| step.0).collect();
        let mut same: FxHashSet<u64> = FxHashSet::default();
        let mut steps = Vec::new();
        for (value, operations, operands) in self.steps {
            let is_once =
                |operand: &u64| if defined.contains(operand) { same.contains(operand) } else { is_same(*operand) };
            if operands.iter().all(is_once) {
                same.insert(value);
            } else {
                steps.push((value, operations, operands));
            }
        }
        Trace { steps }
    }

    /// What all of it takes with so many registers; `weight` says how long an operation is waited for, to find the longest chain.
    pub fn work(&self, registers: usize, weight: impl Fn(&str) -> f64) -> Work {
        let mut work = Work::default();
        let mut ends: FxHashMap<u64, End<'k>> = FxHashMap::default();
        let mut kinds: Vec<&'k str> = Vec::new();
        let mut longest: End<'k> = Default::default();
        let mut made_by: FxHashMap<u64, &'k str> = FxHashMap::default();
        for (value, operations, operands) in &self.steps {
            let before = operands
                .iter()
                .filter_map(|operand| Some((operand, ends.get(operand)?)))
                .max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
            let (mut length, mut counts, mut beside) = before.map(|(_, end)| end.clone()).unwrap_or_default();
            if let Some(kind) = before.and_then(|(operand, _)| made_by.get(operand)) {
                let distinct: FxHashSet<u64> = operands.iter().copied().collect();
                let alike = |operand: &u64| {
                    made_by.get(operand) == Some(kind) && ends.get(operand).is_some_and(|end| end.0 == length)
                };
                let others = distinct.iter().filter(|operand| alike(operand)).count() as f64 - 1.0;
                if others > 0.0 {
                    *beside.entry(*kind).or_default() += others;
                }
            }
            if let [(kind, _)] = operations[..] {
                made_by.insert(*value, kind);
            }
            for &(kind, count) in operations {
                work.add(kind, count);
                let at = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                });
                counts.resize(kinds.len().max(counts.len()), 0.0);
                // What makes one value of several operations is a chain, but for elements that are gathered at once.
                let waited = if kind == GATHER || kind == WORD_LOAD { 1.0 } else { count };
                counts[at] += waited;
                length += waited * weight(kind);
            }
            if length > longest.0 {
                longest = (length, counts.clone(), beside.clone());
            }
            ends.insert(*value, (length, counts, beside));
        }
        work.beside = longest.2.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect();
        for (kind, count) in kinds.iter().zip(&longest.1).filter(|(_, count)| **count > 0.0) {
            work.chain.insert((*kind).to_owned(), *count);
        }
        let (loads, stores) = self.put_aside(registers);
        work.add(LOAD, loads as f64);
        work.add(STORE, stores as f64);
        work
    }

    /// Loads and stores of values that find no register: of those there are, the one that is needed last goes.
    fn put_aside(&self, registers: usize) -> (usize, usize) {
        let mut uses: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (at, (_, _, operands)) in self.steps.iter().enumerate() {
            operands.iter().for_each(|&operand| uses.entry(operand).or_default().push(at));
        }
        uses.values_mut().for_each(|all| all.reverse());
        let defined: FxHashSet<u64> = self.steps.iter().map(|step| step.0).collect();
        let (mut held, mut stored): (Vec<u64>, FxHashSet<u64>) = Default::default();
        let (mut loads, mut stores) = (0, 0);
        for (at, (value, _, operands)) in self.steps.iter().enumerate() {
            for operand in operands {
                if !held.contains(operand) {
                    loads += 1;
                    held.push(*operand);
                }
                let left = uses.entry(*operand).or_default();
                while left.last().is_some_and(|&use_| use_ <= at) {
                    left.pop();
                }
            }
            if uses.get(value).is_some_and(|left| !left.is_empty()) {
                held.push(*value);
            }
            held.retain(|value| uses.get(value).is_some_and(|left| !left.is_empty()));
            while held.len() > registers.max(1) {
                let next = |value: &u64| uses.get(value).and_then(|left| left.last()).copied().unwrap_or(usize::MAX);
                let Some(last) = (0..held.len()).max_by_key(|&place| next(&held[place])) else { break };
                let value = held.swap_remove(last);
                // What is there from the beginning lies in memory already.
                if defined.contains(&value) && stored.insert(value) {
                    stores += 1;
                }
            }
        }
        (loads, stores)
    }
}

/// How long operations are waited for beside each other, where no processor is known: to find what waits longest.
pub(super) fn usual_weight(kind: &str) -> f64 {
    match kind {
        LOGIC | ADD | SHIFT | SHUFFLE | WORD => 1.0,
        GATHER => 20.0,
        // Permutations, affine maps, products, loads and stores.
        _ => 4.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_chain_is_found_and_what_finds_no_register_is_put_aside() {
        let mut trace = Trace::default();
        (0..4).for_each(|at| trace.value(at, vec![], []));
        for at in 4..8 {
            trace.value(at, vec![(ADD, 1.0)], [at - 4]);
        }
        trace.value(8, vec![(LOGIC, 1.0)], [4, 5]);
        trace.value(9, vec![(LOGIC, 1.0)], [6, 7]);
        trace.value(10, vec![(PERMUTE, 2.0)], [8, 9]);
        let wide = trace.work(8, usual_weight);
        assert_eq!(
            wide.operations,
            BTreeMap::from([("add".into(), 4.0), ("logic".into(), 2.0), ("permute".into(), 2.0)])
        );
        assert_eq!(wide.chain, BTreeMap::from([("add".into(), 1.0), ("logic".into(), 1.0), ("permute".into(), 2.0)]));
        // Two sums each go into what the chain goes through, and two results of these into its end.
        assert_eq!(wide.beside, BTreeMap::from([("add".into(), 1.0), ("logic".into(), 1.0)]));
        let narrow = trace.work(3, usual_weight);
        assert!(narrow.operations.get("load").is_some_and(|loads| *loads >= 1.0), "{narrow:?}");
        let halved = wide.of_group(2.0);
        assert_eq!((halved.operations["add"], halved.group), (2.0, 2.0));
    }
}
