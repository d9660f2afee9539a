//! Statements that compute values, and their order. As long as all of them give names to values, who reads what is known,
//! and a machine that begins several operations in a cycle gets them by the longest way to the end.

use super::Printer;
use headrace_machines::cost_model::Latency;
use headrace_scheduling::list::by_longest_way;
use headrace_scheduling::{Operation, Problem, pressure};
use headrace_transform::kernel::NodeId;
use rustc_hash::FxHashMap;

/// What a statement does for others.
struct Definition {
    name: String,
    /// Names that it reads, of values that are computed here or not.
    reads: Vec<String>,
    takes: Takes,
}

/// What takes time.
enum Takes {
    /// Another name of a value, which takes no time if that is computed here.
    Name(String),
    /// An operation on lanes.
    Lanes,
    /// Bytes that change places, or bits that are rotated.
    Permutation,
}

/// A statement.
struct Statement {
    text: String,
    /// What it gives a name to; `None`: it does something else.
    defines: Option<Definition>,
}

/// Statements so far.
#[derive(Default)]
pub(super) struct Computed {
    statements: Vec<Statement>,
    /// What the value that is being printed reads beside its operands.
    read: Vec<String>,
    /// Whether it moves bytes.
    moves: bool,
    /// Variables for indices so far.
    n_indices: usize,
}

impl Computed {
    fn define(&mut self, ty: &str, name: &str, value: &str, reads: Vec<String>, takes: Takes) {
        let defines = Some(Definition { name: name.to_owned(), reads, takes });
        self.statements.push(Statement { text: format!("const {ty} {name} = {value};"), defines });
    }

    /// The value of a node, after what has been printed for it.
    pub fn value(&mut self, ty: &str, name: &str, value: &str, operands: Vec<String>) {
        let mut reads = std::mem::take(&mut self.read);
        reads.extend(operands);
        let takes = match std::mem::take(&mut self.moves) {
            true => Takes::Permutation,
            false if reads.iter().any(|read| read == value) => Takes::Name(value.to_owned()),
            false => Takes::Lanes,
        };
        self.define(ty, name, value, reads, takes);
    }

    /// A gate of other values.
    pub fn gate(&mut self, ty: &str, name: &str, value: &str, operands: Vec<String>) {
        self.define(ty, name, value, operands, Takes::Lanes);
    }

    /// A value rotated, for the value that is being printed and others.
    pub fn rotated(&mut self, ty: &str, name: &str, value: &str, operand: String) {
        self.define(ty, name, value, vec![operand], Takes::Permutation);
        self.reads(name);
    }

    /// A variable for indices, which the value that is being printed reads; its name.
    pub fn index(&mut self, ty: &str, value: &str, operand: &str) -> String {
        let name = self.next_index();
        self.define(ty, &name, value, vec![operand.to_owned()], Takes::Lanes);
        self.reads(&name);
        name
    }

    /// A variable that a statement fills; its name.
    pub fn filled(&mut self, ty: &str, fill: impl FnOnce(&str) -> String) -> String {
        let name = self.next_index();
        let texts = [format!("{ty} {name};"), fill(&name)];
        self.statements.extend(texts.map(|text| Statement { text, defines: None }));
        name
    }

    fn next_index(&mut self) -> String {
        self.n_indices += 1;
        format!("e{}_", self.n_indices - 1)
    }

    /// The value that is being printed reads this, too.
    pub fn reads(&mut self, name: &str) {
        self.read.push(name.to_owned());
    }

    /// The value that is being printed moves bytes.
    pub fn permutes(&mut self) {
        self.moves = true;
    }

    /// The statements, for a machine of such latencies by the longest way to the end, if all of them name values.
    pub fn take(&mut self, latency: Option<&Latency>) -> Vec<String> {
        let statements = std::mem::take(&mut self.statements);
        let order = latency.and_then(|latency| Some(by_longest_way(&problem(&statements, latency)?).order));
        let mut texts: Vec<String> = statements.into_iter().map(|statement| statement.text).collect();
        match order {
            Some(order) => order.into_iter().map(|at| std::mem::take(&mut texts[at])).collect(),
            None => texts,
        }
    }
}

/// Statements as operations; `None` where one of them does not name a value.
fn problem(statements: &[Statement], latency: &Latency) -> Option<Problem> {
    let mut numbers: FxHashMap<&str, usize> = FxHashMap::default();
    let mut operations = Vec::with_capacity(statements.len());
    for statement in statements {
        let Definition { name, reads, takes } = statement.defines.as_ref()?;
        let mut reads: Vec<usize> = reads.iter().filter_map(|read| numbers.get(read.as_str()).copied()).collect();
        reads.sort_unstable();
        reads.dedup();
        let latency = match takes {
            Takes::Name(other) if numbers.contains_key(other.as_str()) => 0,
            Takes::Name(_) | Takes::Lanes => latency.bitwise.value as usize,
            Takes::Permutation => latency.permutation.value as usize,
        };
        numbers.insert(name, operations.len());
        operations.push(Operation { latency, reads });
    }
    Some(Problem { operations, issued: latency.issued.value as usize })
}

impl Printer<'_> {
    /// What is computed, in the order in which values are first needed, so that few are held at a time.
    pub(super) fn depth_first(&self) -> Vec<NodeId> {
        let graph = &self.words.graph;
        pressure::depth_first(&self.reachable(), &self.values, |id| graph.op(id).operands().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c::kernel::machine::usual_costs;

    #[test]
    fn what_the_longest_way_waits_for_goes_first_and_nothing_before_what_it_reads() {
        let mut computed = Computed::default();
        computed.value("v", "a", "x ^ y", vec!["x".into(), "y".into()]);
        computed.value("v", "b", "x & y", vec!["x".into(), "y".into()]);
        computed.value("v", "c", "x | y", vec!["x".into(), "y".into()]);
        computed.rotated("v", "r", "rol(c, 3)", "c".into());
        computed.value("v", "d", "r ^ a", vec!["c".into(), "a".into()]);
        let texts = computed.take(Some(&usual_costs().latency));
        assert_eq!(texts[0], "const v c = x | y;");
        assert_eq!(texts[4], "const v d = r ^ a;");
    }

    #[test]
    fn where_a_statement_names_no_value_all_stay() {
        let mut computed = Computed::default();
        computed.value("v", "a", "x", vec!["x".into()]);
        let name = computed.filled("v", |name| format!("{name}[0] = 1;"));
        computed.value("v", "c", &name, Vec::new());
        computed.value("v", "d", "c ^ c", vec!["c".into()]);
        let texts = computed.take(Some(&usual_costs().latency));
        assert_eq!(texts, ["const v a = x;", "v e0_;", "e0_[0] = 1;", "const v c = e0_;", "const v d = c ^ c;"]);
    }
}
