//! Optimisation barriers. Values that compilers take as they are.
//!
//! Compilers add the terms of a sum in an order of their own, numbers last, whatever is there first. Where all waits
//! for a chain of sums, the sums that others are made of are kept from them, and so are the numbers, where they are few.

use super::Printer;
use headrace_transform::kernel::{NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write as _;

/// Numbers that are kept from compilers at most: each takes a register, or is stored and loaded.
const MOST_NUMBERS: usize = 8;

impl Printer<'_> {
    /// The sums that sums of more than two terms are made of; and numbers that are only added.
    pub(super) fn sums_to_keep(&self) -> FxHashSet<NodeId> {
        let graph = &self.words.graph;
        let lane = self.lane();
        let order = self.reachable();
        let mut readers: FxHashMap<NodeId, (usize, bool)> = FxHashMap::default();
        self.values.iter().for_each(|&value| *readers.entry(value).or_insert((0, false)) = (1, true));
        for &id in &order {
            let is_sum = matches!(graph.op(id), Op::Add(..)) && graph.width(id) == lane;
            for operand in graph.op(id).operands() {
                let (n, elsewhere) = readers.entry(operand).or_default();
                *n += 1;
                *elsewhere |= !is_sum;
            }
        }
        // Of the width of lanes, since what reads it is a sum of that width.
        let is_part = |id: &NodeId| matches!(graph.op(*id), Op::Add(..)) && readers.get(id) == Some(&(1, false));
        let mut kept: FxHashSet<NodeId> = order.iter().copied().filter(is_part).collect();
        let is_number = |id: &NodeId| matches!(graph.op(*id), Op::Const(_));
        let added = |id: &NodeId| is_number(id) && readers.get(id).is_some_and(|one| !one.1);
        let numbers: Vec<NodeId> = order.iter().copied().filter(added).collect();
        if !kept.is_empty() && numbers.len() <= MOST_NUMBERS {
            kept.extend(numbers);
        }
        kept
    }

    /// A value that compilers take as it is.
    pub(super) fn kept(&mut self, text: &str) -> String {
        let v = self.v();
        let name = format!("HR_KEPT_{}x{}", self.machine.vector_bits, self.lane());
        // Any vector register: those of AVX-512 where the function may use them.
        self.support(format!(
            "#define {name}(x) __extension__({{ {v} kept_ = (x); __asm__(\"\" : \"+v\"(kept_)); kept_; }})\n"
        ));
        format!("{name}({text})")
    }

    /// Statements that name the numbers among the values that are kept.
    pub(super) fn kept_numbers(&mut self) -> String {
        let mut numbers: Vec<(NodeId, u128)> =
            self.kept.iter().filter_map(|&id| self.words.graph.constant(id).map(|value| (id, value))).collect();
        numbers.sort_unstable();
        let mut text = String::new();
        for (id, value) in numbers {
            let number = self.number(value);
            let kept = self.kept(&number);
            let name = format!("n{}_", id.0);
            let _ = writeln!(text, "  const {} {name} = {kept};", self.v());
            self.vectors.insert(id, name);
        }
        text
    }
}
