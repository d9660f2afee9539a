//! Port pressure and latency bounds of loops on a processor that executes out of order.
//!
//! Where clusters are lanes of vectors, operations of all kinds go through the same pipes, as many in a cycle as there are, and
//! a processor looks ahead so far: what waits in one group of iterations is done beside the next as far as both are seen.

use crate::machine::Processor;
use std::collections::BTreeMap;

/// Operations of loops by kind, for an iteration of a group.
#[derive(Clone, Debug)]
pub struct Counted<'a> {
    /// Operations of an iteration.
    pub operations: &'a BTreeMap<String, f64>,
    /// The longest chain of a group.
    pub chain: &'a BTreeMap<String, f64>,
    /// Further operations that the chain waits for, of kinds that are in it: they go through the same pipes.
    pub beside: &'a BTreeMap<String, f64>,
    /// Iterations of a group.
    pub group: f64,
    /// Whether a group waits for the one before.
    pub is_carried: bool,
}

/// What a loop takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Cycles of an iteration.
    pub cycles: f64,
    /// What sets them: a kind of pipe, what begins in a cycle, or what is waited for.
    pub limit: String,
}

impl Processor {
    /// Whether it is that of this computer, as far as the system says so.
    pub fn is_here(&self) -> bool {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let family =
            text.lines().find_map(|line| line.strip_prefix("cpu family")?.split(':').nth(1)?.trim().parse().ok());
        family == Some(self.family.value)
    }

    /// Cycles of an iteration at least; the kinds of operations that nothing is known of where there are some.
    ///
    /// # Errors
    ///
    /// Such kinds.
    pub fn pace(&self, counted: &Counted) -> Result<Pace, String> {
        let is_known = |kind: &String| self.pipe.values().any(|pipe| pipe.busy.contains_key(kind));
        let unknown: Vec<&str> = counted.operations.keys().filter(|kind| !is_known(kind)).map(String::as_str).collect();
        if !unknown.is_empty() {
            return Err(format!("nothing is known of {}", unknown.join(", ")));
        }
        let all: f64 = counted.operations.values().sum();
        let mut best = Pace { cycles: all / self.issued.value, limit: "what begins in a cycle".into() };
        let mut bound = |cycles: f64, limit: &str| {
            if cycles > best.cycles {
                best = Pace { cycles, limit: limit.to_owned() };
            }
        };
        for (name, pipe) in &self.pipe {
            let busy = |(kind, count): (&String, &f64)| count * pipe.busy.get(kind).copied().unwrap_or(0.0);
            bound(counted.operations.iter().map(busy).sum::<f64>() / pipe.count.value, name);
        }
        // As much of a group as lies in the window is waited for at once.
        let latency = |(kind, count): (&String, &f64)| count * self.latency.get(kind).copied().unwrap_or(1.0);
        let begins = |(kind, count): (&String, &f64)| {
            let taken = self.pipe.values().filter_map(|pipe| Some(pipe.busy.get(kind)? / pipe.count.value));
            count * taken.fold(0.0, f64::max)
        };
        let chain: f64 =
            counted.chain.iter().map(latency).sum::<f64>() + counted.beside.iter().map(begins).sum::<f64>();
        let seen = if counted.is_carried { 1.0 } else { (all * counted.group / self.window.value).min(1.0) };
        bound(chain * seen / counted.group, "latency");
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    #[test]
    fn pipes_issue_and_chains_bound_a_loop() {
        let file = headrace_platform::find("avx512-zen5").expect("it is there");
        let machine = Machine::read(file).expect("it is a machine");
        let processor = machine.processor.expect("it is one");
        let operations = |n: f64| BTreeMap::from([("logic".to_owned(), n), ("shift".to_owned(), n)]);
        let none = BTreeMap::new();
        let pace = |operations: &BTreeMap<String, f64>, chain: &BTreeMap<String, f64>, is_carried: bool| {
            let counted = Counted { operations, chain, beside: &none, group: 1.0, is_carried };
            processor.pace(&counted).expect("all is known").cycles
        };
        let wide = pace(&operations(1000.0), &none, false);
        assert!((400.0..=600.0).contains(&wide), "{wide}");
        let chain = operations(500.0);
        assert!(pace(&operations(1000.0), &chain, true) >= 1000.0);
        // Few operations are done beside those of other groups.
        assert!(
            pace(&operations(10.0), &operations(10.0), false) < pace(&operations(10.0), &operations(10.0), true) / 5.0
        );
        let unknown = BTreeMap::from([("prayer".to_owned(), 1.0)]);
        // Three shifts that one operation waits for begin in two pipes.
        let (one, two) = (BTreeMap::from([("shift".to_owned(), 1.0)]), BTreeMap::from([("shift".to_owned(), 2.0)]));
        let counted = Counted { operations: &one, chain: &one, beside: &two, group: 1.0, is_carried: true };
        let waited = processor.pace(&counted).expect("all is known").cycles;
        assert!(waited > pace(&one, &one, true), "{waited}");
        let counted = Counted { operations: &unknown, chain: &none, beside: &none, group: 1.0, is_carried: false };
        assert_eq!(processor.pace(&counted), Err("nothing is known of prayer".into()));
    }
}
