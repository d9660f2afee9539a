//! The work of a firing: how many operations of which kind, and the longest chain of them.
//!
//! Operations are counted in the representation as it is, each as one, whatever its width; what a compiler folds away
//! (wraps, constants) counts nothing. Loops with constant bounds count as often as they run; of others one iteration is
//! counted, and the work is marked *at least*. Of two branches the larger is taken, kind by kind.
//!
//! The *depth* is the longest chain in which each operation needs the result of the one before (Graham's critical
//! path): what no number of units makes faster. A list is as deep as its deepest element. The depth that an iteration
//! of a loop adds is the one that its second iteration adds. Example: `foreach i in 0 .. 7 do x := x ^ t[i]; end` has 8
//! operations on bits, 8 loads and depth 9: one load, since all others can be made meanwhile, and 8 in a row.

use crate::constants::constant;
use headrace_ir::{
    Action, Actor, Argument, BinaryOp, Expr, ExprKind, OutputValue, Place, ProcedureId, Root, Stmt, StmtKind,
};
use std::collections::{BTreeMap, HashMap};

/// Number of kinds.
const N_KINDS: usize = 8;

/// Names of the kinds of operations, in the order of [`Operations::counts`].
pub const KINDS: [&str; N_KINDS] = ["bits", "shift", "add", "multiply", "divide", "compare", "load", "store"];

const BITS: usize = 0;
const SHIFT: usize = 1;
const ADD: usize = 2;
const MULTIPLY: usize = 3;
const DIVIDE: usize = 4;
const COMPARE: usize = 5;
const LOAD: usize = 6;
const STORE: usize = 7;

/// How many operations of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Logic (and choices between values), shifts, additions, multiplications, divisions, comparisons, and reads and
    /// writes of list elements.
    pub counts: [u64; N_KINDS],
}

impl Operations {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    fn one(&mut self, kind: usize, n: u64) {
        self.counts[kind] = self.counts[kind].saturating_add(n);
    }

    fn add(&mut self, other: &Operations, times: u64) {
        for (kind, n) in other.counts.iter().enumerate() {
            self.one(kind, n.saturating_mul(times));
        }
    }

    fn or(&mut self, other: &Operations) {
        for (one, other) in self.counts.iter_mut().zip(other.counts) {
            *one = (*one).max(other);
        }
    }
}

/// The work of a firing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Operations.
    pub operations: Operations,
    /// The longest chain of them.
    pub depth: u64,
    /// True when a loop runs as often as values say, of which one iteration is counted.
    pub at_least: bool,
}

/// The work of each action of an actor, its guard left out.
pub fn of_actor(actor: &Actor) -> Vec<Work> {
    let mut known = vec![None; actor.procedures.len()];
    actor.actions.iter().map(|action| of_action(actor, action, &mut known)).collect()
}

/// What a call does when all that it is given has depth 0.
#[derive(Clone, Debug, Default)]
struct Summary {
    operations: Operations,
    result: u64,
    /// By the positions of the list parameters that are written.
    lists: BTreeMap<usize, u64>,
    variables: HashMap<Root, u64>,
    at_least: bool,
}

fn of_action(actor: &Actor, action: &Action, known: &mut Vec<Option<Summary>>) -> Work {
    let mut walk = Walk::new(actor, known);
    walk.statements(&action.body);
    let mut depth = 0;
    for value in action.produces.iter().flat_map(|output| &output.values) {
        depth = depth.max(match value {
            OutputValue::Scalar(value) => walk.expr(value),
            OutputValue::List { place, .. } => walk.depth_of(place.root),
        });
    }
    let states = walk.depths.iter().filter(|(root, _)| matches!(root, Root::Actor(_))).map(|(_, depth)| *depth);
    depth = depth.max(states.max().unwrap_or(0));
    Work { operations: walk.operations, depth, at_least: walk.at_least }
}

struct Walk<'a, 'k> {
    actor: &'a Actor,
    known: &'k mut Vec<Option<Summary>>,
    depths: HashMap<Root, u64>,
    operations: Operations,
    at_least: bool,
}

impl<'a, 'k> Walk<'a, 'k> {
    fn new(actor: &'a Actor, known: &'k mut Vec<Option<Summary>>) -> Self {
        Walk { actor, known, depths: HashMap::new(), operations: Operations::default(), at_least: false }
    }

    fn depth_of(&self, root: Root) -> u64 {
        self.depths.get(&root).copied().unwrap_or(0)
    }

    fn store(&mut self, place: &Place, depth: u64) {
        let mut depth = depth;
        for index in &place.indices {
            depth = depth.max(self.expr(index));
        }
        if !place.indices.is_empty() {
            depth = depth.max(self.depth_of(place.root));
        }
        self.depths.insert(place.root, depth);
    }

    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let depth = self.expr(value);
                self.operations.one(STORE, u64::from(!place.indices.is_empty()));
                self.store(place, depth);
            }
            StmtKind::Copy { target, source, .. } => {
                let indices = source.indices.iter().map(|index| self.expr(index)).max();
                let depth = self.depth_of(source.root).max(indices.unwrap_or(0));
                self.store(target, depth);
            }
            StmtKind::If(condition, then, otherwise) => {
                let decided = self.expr(condition) + 1;
                let (before, counted) = (self.depths.clone(), std::mem::take(&mut self.operations));
                self.statements(then);
                let after = std::mem::replace(&mut self.depths, before.clone());
                let mut larger = std::mem::take(&mut self.operations);
                self.statements(otherwise);
                larger.or(&self.operations);
                self.operations = counted;
                self.operations.add(&larger, 1);
                for (root, depth) in after {
                    let other = self.depth_of(root);
                    self.depths.insert(root, depth.max(other));
                }
                for (root, depth) in &mut self.depths {
                    if before.get(root) != Some(depth) {
                        *depth = (*depth).max(decided);
                    }
                }
            }
            StmtKind::While { before, condition, body } => {
                self.at_least = true;
                self.statements(before);
                self.expr(condition);
                self.statements(body);
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let (low_depth, high_depth) = (self.expr(low), self.expr(high));
                self.depths.insert(Root::Local(*variable), low_depth.max(high_depth));
                let iterations = constant(self.actor, low).zip(constant(self.actor, high));
                let iterations = iterations.and_then(|(low, high)| high.sub(&low).to_i64());
                self.at_least |= iterations.is_none();
                let iterations = iterations.map_or(1, |iterations| iterations.saturating_add(1).max(0) as u64);
                self.repeat(body, iterations);
            }
            StmtKind::Call { result, procedure, arguments } => {
                let depth = self.call(*procedure, arguments);
                if let Some(local) = result {
                    self.depths.insert(Root::Local(*local), depth);
                }
            }
            StmtKind::CallNative { result, arguments, .. } => {
                let mut depth = 0;
                for argument in arguments {
                    depth = depth.max(self.argument(argument));
                }
                if let Some(local) = result {
                    self.depths.insert(Root::Local(*local), depth + 1);
                }
            }
            StmtKind::Print { .. } => {}
        }
    }

    /// A body that runs so many times.
    fn repeat(&mut self, body: &[Stmt], iterations: u64) {
        if iterations == 0 {
            return;
        }
        let counted = std::mem::take(&mut self.operations);
        self.statements(body);
        let once = std::mem::replace(&mut self.operations, counted);
        self.operations.add(&once, iterations);
        if iterations == 1 {
            return;
        }
        let (first, counted) = (self.depths.clone(), self.operations);
        self.statements(body);
        self.operations = counted;
        for (root, depth) in &mut self.depths {
            let added = *depth - first.get(root).copied().unwrap_or(0).min(*depth);
            *depth = depth.saturating_add(added.saturating_mul(iterations - 2));
        }
    }

    fn argument(&mut self, argument: &Argument) -> u64 {
        match argument {
            Argument::Value(value) => self.expr(value),
            Argument::List(place) => {
                let indices = place.indices.iter().map(|index| self.expr(index)).max();
                self.depth_of(place.root).max(indices.unwrap_or(0))
            }
        }
    }

    /// The depth of the result of a call.
    fn call(&mut self, id: ProcedureId, arguments: &[Argument]) -> u64 {
        let given = arguments.iter().map(|argument| self.argument(argument)).max().unwrap_or(0);
        let summary = self.summary(id);
        self.operations.add(&summary.operations, 1);
        self.at_least |= summary.at_least;
        for (at, depth) in &summary.lists {
            if let Some(Argument::List(place)) = arguments.get(*at) {
                let deeper = self.depth_of(place.root).max(given + depth);
                self.depths.insert(place.root, deeper);
            }
        }
        for (root, depth) in &summary.variables {
            let deeper = self.depth_of(*root).max(given + depth);
            self.depths.insert(*root, deeper);
        }
        given + summary.result
    }

    fn summary(&mut self, id: ProcedureId) -> Summary {
        if let Some(Some(summary)) = self.known.get(id.index()) {
            return summary.clone();
        }
        let Some(procedure) = self.actor.procedures.get(id.index()) else { return Summary::default() };
        // A call of itself counts as one iteration.
        self.known[id.index()] = Some(Summary { at_least: true, ..Summary::default() });
        let mut inner = Walk::new(self.actor, self.known);
        inner.statements(&procedure.body);
        let result = procedure.result.as_ref().map_or(0, |(_, value)| inner.expr(value));
        let written = |root: &Root| match root {
            Root::Local(local) => local.index() < procedure.n_parameters,
            Root::Actor(_) => false,
        };
        let lists = inner.depths.iter().filter(|(root, _)| written(root)).filter_map(|(root, depth)| match root {
            Root::Local(local) => Some((local.index(), *depth)),
            Root::Actor(_) => None,
        });
        let states = inner.depths.iter().filter(|(root, _)| matches!(root, Root::Actor(_)));
        let summary = Summary {
            lists: lists.collect(),
            variables: states.map(|(root, depth)| (*root, *depth)).collect(),
            operations: inner.operations,
            result,
            at_least: inner.at_least,
        };
        self.known[id.index()] = Some(summary.clone());
        summary
    }

    /// Counts the operations of an expression and gives its depth.
    fn expr(&mut self, expr: &Expr) -> u64 {
        if constant(self.actor, expr).is_some() {
            return 0;
        }
        let (kind, operands): (usize, Vec<&Expr>) = match &expr.kind {
            ExprKind::Load(place) => {
                let mut depth = self.depth_of(place.root);
                for index in &place.indices {
                    depth = depth.max(self.expr(index));
                }
                let is_element = !place.indices.is_empty();
                self.operations.one(LOAD, u64::from(is_element));
                return depth + u64::from(is_element);
            }
            ExprKind::Wrap(_, a) | ExprKind::IntToReal(_, a) | ExprKind::RealToReal(_, a) => return self.expr(a),
            ExprKind::Call(procedure, arguments) => return self.call(*procedure, arguments),
            ExprKind::Negate(a) | ExprKind::RealNegate(a) => (ADD, vec![a]),
            ExprKind::Complement(a) | ExprKind::Not(a) => (BITS, vec![a]),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => (BITS, vec![a, b]),
            ExprKind::If(c, a, b) => (BITS, vec![c, a, b]),
            ExprKind::ShiftLeft(_, a, b) => (SHIFT, vec![a, b]),
            ExprKind::Compare(_, a, b) => (COMPARE, vec![a, b]),
            ExprKind::RealBinary(_, _, a, b) => (MULTIPLY, vec![a, b]),
            ExprKind::Binary(op, a, b) => {
                let kind = match op {
                    BinaryOp::Add | BinaryOp::Sub => ADD,
                    BinaryOp::Mul => MULTIPLY,
                    BinaryOp::Div | BinaryOp::Mod => DIVIDE,
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => BITS,
                    BinaryOp::ShiftRight => SHIFT,
                };
                (kind, vec![a, b])
            }
            ExprKind::Concat(operands) => {
                return operands.iter().map(|operand| self.expr(&operand.value)).max().unwrap_or(0);
            }
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => return 0,
        };
        let depth = operands.into_iter().map(|operand| self.expr(operand)).max().unwrap_or(0);
        self.operations.one(kind, 1);
        depth + 1
    }
}
