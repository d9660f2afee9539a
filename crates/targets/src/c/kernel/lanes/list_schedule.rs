//! List scheduling, for register pressure and for issue width. Orders of what is computed: where registers are few, and,
//! of statements, where a machine that begins several of them in a cycle is done first.
//!
//! Processors look ahead over some sixty operations only. Where several chains run side by side, what the longest way
//! to the end waits for goes first, so that none of them holds up the others.

use super::Printer;
use headrace_machines::cost_model::Latency;
use headrace_transform::kernel::NodeId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A statement that gives a name to a value.
struct Statement<'a> {
    line: &'a str,
    /// Statements whose names it reads.
    reads: Vec<usize>,
    latency: usize,
}

/// The same lines, each after those whose names it reads, if all of them are `const TYPE NAME = VALUE;`.
pub(super) fn by_longest_way(text: &str, costs: &Latency) -> Option<String> {
    let statements = statements(text, costs)?;
    let most_begun = costs.issued.value as usize;
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); statements.len()];
    for (at, statement) in statements.iter().enumerate() {
        statement.reads.iter().for_each(|&read| readers[read].push(at));
    }
    // Cycles from the beginning of a statement to the end of all.
    let mut ways = vec![0; statements.len()];
    for at in (0..statements.len()).rev() {
        let after = readers[at].iter().map(|&reader| ways[reader]).max().unwrap_or(0);
        ways[at] = statements[at].latency + after;
    }
    let mut missing: Vec<usize> = statements.iter().map(|statement| statement.reads.len()).collect();
    let mut earliest = vec![0; statements.len()];
    // Those that may begin, the longest way first, and those that may in a later cycle.
    let mut ready: BTreeSet<(Reverse<usize>, usize)> = BTreeSet::new();
    let mut later: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let free = (0..statements.len()).filter(|&at| missing[at] == 0);
    ready.extend(free.map(|at| (Reverse(ways[at]), at)));
    let mut out = String::with_capacity(text.len());
    let (mut cycle, mut begun) = (0, 0);
    loop {
        if begun == most_begun || ready.is_empty() {
            // The next cycle, or the first in which something may begin.
            let next = if ready.is_empty() { *later.keys().next().unwrap_or(&cycle) } else { cycle + 1 };
            (cycle, begun) = (next, 0);
            while let Some(entry) = later.first_entry().filter(|entry| *entry.key() <= cycle) {
                ready.extend(entry.remove().into_iter().map(|at| (Reverse(ways[at]), at)));
            }
        }
        let Some((_, at)) = ready.pop_first() else { break };
        out.push_str(statements[at].line);
        out.push('\n');
        begun += usize::from(statements[at].latency > 0);
        for &reader in &readers[at] {
            missing[reader] -= 1;
            earliest[reader] = earliest[reader].max(cycle + statements[at].latency);
            if missing[reader] > 0 {
                continue;
            }
            match earliest[reader] {
                now if now <= cycle => {
                    ready.insert((Reverse(ways[reader]), reader));
                }
                then => later.entry(then).or_default().push(reader),
            }
        }
    }
    Some(out)
}

impl Printer<'_> {
    /// What is computed, in the order in which values are first needed, where the longest chain goes first: what joins
    /// it further on is computed then.
    pub(super) fn depth_first(&self) -> Vec<NodeId> {
        let graph = &self.words.graph;
        let mut heights: FxHashMap<NodeId, u32> = FxHashMap::default();
        for id in self.reachable() {
            let below = graph.op(id).operands().into_iter().map(|operand| heights[&operand]).max();
            heights.insert(id, below.map_or(0, |below| below + 1));
        }
        let (mut order, mut seen) = (Vec::new(), FxHashSet::default());
        let mut open: Vec<(NodeId, bool)> = self.values.iter().rev().map(|&id| (id, false)).collect();
        while let Some((id, is_ready)) = open.pop() {
            if is_ready {
                order.push(id);
            } else if seen.insert(id) {
                open.push((id, true));
                let mut operands = graph.op(id).operands().to_vec();
                operands.sort_by_key(|operand| heights[operand]);
                open.extend(operands.into_iter().map(|operand| (operand, false)));
            }
        }
        order
    }
}

fn statements<'t>(text: &'t str, costs: &Latency) -> Option<Vec<Statement<'t>>> {
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut statements = Vec::new();
    for line in text.lines() {
        let (name, value) = line.trim_start().strip_prefix("const ")?.strip_suffix(';')?.split_once(" = ")?;
        let name = name.rsplit(' ').next()?;
        if value.contains(['{', ';', '=']) && !value.contains("shufflevector") {
            return None;
        }
        let words = value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let mut reads: Vec<usize> = words.filter_map(|word| numbers.get(word).copied()).collect();
        reads.sort_unstable();
        reads.dedup();
        let is_permutation = ["_rol_", "_ror_", "shuffle"].iter().any(|one| value.contains(one));
        // Other names of values take no time.
        let latency = match is_permutation {
            true => costs.permutation.value,
            false if numbers.contains_key(value) => 0,
            false => costs.bitwise.value,
        };
        let latency = latency as usize;
        if numbers.insert(name, statements.len()).is_some() {
            return None;
        }
        statements.push(Statement { line, reads, latency });
    }
    Some(statements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::kernel::machine::usual_costs;

    #[test]
    fn chains_take_turns() {
        let text = "const v a1 = x << 1;\nconst v a2 = a1 ^ y;\nconst v a3 = a2 << 1;\nconst v b1 = z << 1;\n\
                    const v b2 = b1 ^ y;\nconst v b3 = b2 << 1;\n";
        let ordered = by_longest_way(text, &usual_costs().latency).expect("statements");
        let names: Vec<&str> = ordered.lines().filter_map(|line| line.split(' ').nth(2)).collect();
        assert_eq!(names, ["a1", "b1", "a2", "b2", "a3", "b3"]);
    }

    #[test]
    fn what_the_longest_way_waits_for_goes_first() {
        let text = "const v a = x ^ y;\nconst v b = x & y;\nconst v c = x | y;\nconst v d = _mm512_rol_epi32(c, 3);\n\
                    const v e = d ^ a;\n";
        let ordered = by_longest_way(text, &usual_costs().latency).expect("statements");
        assert!(ordered.starts_with("const v c = "));
        let mut lines: Vec<&str> = ordered.lines().collect();
        assert_eq!(lines.pop(), Some("const v e = d ^ a;"));
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn other_statements_stay_where_they_are() {
        let costs = &usual_costs().latency;
        assert!(by_longest_way("const v a = x;\nfor (;;) {\n}\n", costs).is_none());
        assert!(by_longest_way("const v a = x;\nconst v a = y;\n", costs).is_none());
    }
}
