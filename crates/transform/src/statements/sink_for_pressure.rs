//! Sinking of definitions to their first use, to lower register pressure. Values right before what needs them first,
//! where less is held then.
//!
//! In the order in which a network computes, one actor is done before the next begins: all words of a message are there
//! before the first is used. Compilers hold as many values at once as the text does, and have registers for some.
//!
//! A value moves down where that is for fewer statements that something is held: it is not, from where it stood, but
//! what it is computed from is, unless others read that later anyway. What stays where it stands: whatever changes or
//! decides something, and values that depend on what changes.

use super::Together;
use super::bit_moves::Outside;
use super::order::Statement;
use crate::kernel::{NodeId, Op};
use headrace_scheduling::sink;
use rustc_hash::FxHashSet;

/// The statements of a block, values right before the first statement that reads them where less is held then; the same
/// in the blocks inside. Values in `outer` have variables further out.
pub(super) fn late<N: Together + ?Sized>(
    outside: &Outside<'_, N>,
    block: Vec<Statement>,
    outer: &FxHashSet<NodeId>,
) -> Vec<Statement> {
    let defined: FxHashSet<NodeId> = block.iter().filter_map(value_of).collect();
    let mut block = block;
    if block.iter().any(|statement| matches!(statement, Statement::Loop(_) | Statement::If(..))) {
        let visible: FxHashSet<NodeId> = outer.union(&defined).copied().collect();
        block = block.into_iter().map(|statement| inside(outside, statement, &visible)).collect();
    }
    let described: Vec<sink::Statement<NodeId>> = block
        .iter()
        .map(|statement| {
            let (values, seen) = (Vec::new(), FxHashSet::default());
            let mut read = Read { outside, defined: &defined, outer, values, seen, changes: false };
            read.statement(statement);
            let may_move = matches!(statement, Statement::Define { before: 0, .. }) && !read.changes;
            sink::Statement { defines: value_of(statement), reads: read.values, may_move }
        })
        .collect();
    let mut statements: Vec<Option<Statement>> = block.into_iter().map(Some).collect();
    sink::sunk(&described).into_iter().filter_map(|at| statements[at].take()).collect()
}

fn inside<N: Together + ?Sized>(
    outside: &Outside<'_, N>,
    statement: Statement,
    outer: &FxHashSet<NodeId>,
) -> Statement {
    match statement {
        Statement::Loop(block) => Statement::Loop(late(outside, block, outer)),
        Statement::If(condition, then, otherwise) => {
            Statement::If(condition, late(outside, then, outer), late(outside, otherwise, outer))
        }
        other => other,
    }
}

fn value_of(statement: &Statement) -> Option<NodeId> {
    match statement {
        Statement::Define { id, .. } => Some(*id),
        _ => None,
    }
}

/// What a statement reads of the values that have variables in its block.
struct Read<'a, N: ?Sized> {
    outside: &'a Outside<'a, N>,
    defined: &'a FxHashSet<NodeId>,
    outer: &'a FxHashSet<NodeId>,
    values: Vec<NodeId>,
    seen: FxHashSet<NodeId>,
    /// Whether it depends on what statements change.
    changes: bool,
}

impl<N: Together + ?Sized> Read<'_, N> {
    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Define { id, .. } => self.expression(*id),
            Statement::Load { index, .. } => self.value(*index),
            Statement::Store { index, value, .. } => [index, value].into_iter().for_each(|id| self.value(*id)),
            Statement::Write(write) => {
                if let Some(source) = write.source() {
                    self.value(source);
                }
            }
            Statement::Leave(condition) => self.value(*condition),
            Statement::Check { condition, index, .. } => [condition, index].into_iter().for_each(|id| self.value(*id)),
            Statement::Loop(block) => block.iter().for_each(|statement| self.statement(statement)),
            Statement::If(condition, then, otherwise) => {
                self.value(*condition);
                then.iter().chain(otherwise).for_each(|statement| self.statement(statement));
            }
            // What is forgotten depends on loads that are done again, and so does what is computed from it: all of that
            // is forgotten there, and read before.
            Statement::Forget(_) | Statement::List(_) | Statement::Copy(_) | Statement::Ahead(..) => {}
        }
    }

    /// A value where it is read: its variable, or what its expression reads.
    fn value(&mut self, id: NodeId) {
        if !self.seen.insert(id) {
            return;
        }
        if self.defined.contains(&id) {
            self.values.push(id);
        } else if !self.outer.contains(&id) {
            self.expression(id);
        }
    }

    fn expression(&mut self, id: NodeId) {
        match self.outside.graph.op(id) {
            Op::Loaded(_) => self.changes = true,
            Op::Entry { object, .. } => self.changes |= self.outside.stored.contains(object),
            _ => {}
        }
        self.outside.reads(id).into_iter().for_each(|operand| self.value(operand));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Apart;
    use super::super::order::{Order, ordered};
    use super::*;
    use crate::kernel::{Effect, Graph};

    /// The values that get variables, in their order, each of which must be there before it is read.
    fn defined(graph: &Graph, effects: &[Effect], order: Order) -> Vec<NodeId> {
        let mut outside = Outside { graph, objects: &[], names: &Apart, stored: FxHashSet::default() };
        let statements = ordered(&mut outside, effects, order).statements;
        let all: FxHashSet<NodeId> = statements.iter().filter_map(value_of).collect();
        let mut there: FxHashSet<NodeId> = FxHashSet::default();
        for statement in &statements {
            let (defined, outer) = (&all, &FxHashSet::default());
            let mut read = Read {
                outside: &outside,
                defined,
                outer,
                values: Vec::new(),
                seen: FxHashSet::default(),
                changes: false,
            };
            read.statement(statement);
            assert!(read.values.iter().all(|id| there.contains(id)), "{statement:?} reads what is not there");
            there.extend(value_of(statement));
        }
        statements.iter().filter_map(value_of).collect()
    }

    fn outputs(values: &[NodeId]) -> Vec<Effect> {
        let output = |(offset, &value): (u64, &NodeId)| Effect::Output { port: 0, offset, value };
        (0..).zip(values).map(output).collect()
    }

    #[test]
    fn words_stand_where_they_are_used() {
        let mut graph = Graph::new();
        let words: Vec<NodeId> = (0..6)
            .map(|at| {
                let token = graph.input(0, at, 32);
                let factor = graph.number(0x9e37_79b9, 32);
                graph.product(token, factor)
            })
            .collect();
        let mut state = graph.input(1, 0, 32);
        let mut wanted = Vec::new();
        for &word in &words {
            let turned = graph.rotate_left_by(state, 5);
            let with = graph.sum(turned, word);
            let mixed = graph.xor(state, word);
            state = graph.xor(with, mixed);
            wanted.extend([word, state]);
        }
        let effects = outputs(&[state]);
        // The last state is written where it is computed, and tokens are not looked at.
        wanted.pop();
        let of = |order: Order| -> Vec<NodeId> {
            defined(&graph, &effects, order).into_iter().filter(|id| wanted.contains(id)).collect()
        };
        let (before, behind) = (of(Order::ByEffect), of(Order::Late));
        assert_eq!(before[..words.len()], words);
        assert_eq!(behind, wanted);
    }

    #[test]
    fn everything_is_there_before_it_is_read() {
        let mut draw = 88_172_645_463_325_252_u64;
        let mut below = move |n: usize| {
            // xorshift, Marsaglia 2003.
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            (draw >> 11) as usize % n
        };
        for _ in 0..200 {
            let mut graph = Graph::new();
            let mut values: Vec<NodeId> = (0..4).map(|at| graph.input(0, at, 32)).collect();
            for _ in 0..below(120) + 10 {
                let (a, b) = (values[below(values.len())], values[values.len() - 1 - below(4)]);
                values.push(match below(4) {
                    0 => graph.sum(a, b),
                    1 => graph.product(a, b),
                    2 => graph.rotate_left_by(b, 7),
                    _ => graph.xor(a, b),
                });
            }
            let wanted: Vec<NodeId> = (0..5).map(|_| values[below(values.len())]).collect();
            let effects = outputs(&wanted);
            let (mut one, mut other) =
                (defined(&graph, &effects, Order::ByEffect), defined(&graph, &effects, Order::Late));
            one.sort_unstable();
            other.sort_unstable();
            assert_eq!(one, other);
        }
    }
}
