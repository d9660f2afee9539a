//! Multiplexer reduction: a choice between values that are computed alike is a choice of what differs in them.
//!
//! Tasks that share registers put values into them that often have most in common: a state as it is, or with a key added. The
//! key is chosen then, and nothing added where the other value is meant, which goes into the logic that adds it.

use headrace_rtl::{BinaryOp, Expr, ExprKind, Module, SignalId, UnaryOp};
use rustc_hash::FxHashMap;

/// How far it is looked into values.
const DEEP: u32 = 4;

/// What a bit costs that is chosen among two values, and one that is let through or not, which adds no input that has a value.
const CHOSEN: u32 = 2;
const LET_THROUGH: u32 = 1;

/// What the wires of a module are.
pub(crate) struct Chooser<'m> {
    definitions: FxHashMap<SignalId, &'m Expr>,
}

impl<'m> Chooser<'m> {
    pub(crate) fn of(module: &'m Module) -> Self {
        Self { definitions: module.assigns.iter().map(|assign| (assign.signal, &assign.value)).collect() }
    }

    /// The value that is meant, where at most one of them is, by when each is: those first together that have the most in common.
    /// Equal ones are one already.
    pub(crate) fn one_of(&self, mut all: Vec<(Expr, Expr)>) -> Option<(Expr, Expr)> {
        while all.len() > 1 {
            let pairs = (0..all.len()).flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)));
            let costs = pairs.map(|(a, b)| (self.merged(&all[b].0, &all[b].1, &all[a].1, DEEP).1, a, b));
            let (_, a, b) = costs.min()?;
            let (when, value) = all.remove(b);
            let value = self.merged(&when, &value, &all[a].1, DEEP).0;
            all[a] = (all[a].0.clone().or(when), value);
        }
        all.pop()
    }

    /// Values that have so much in common that they are one with a choice in it; the others stay.
    pub(crate) fn joined(&self, mut all: Vec<(Expr, Expr)>) -> Vec<(Expr, Expr)> {
        loop {
            let pairs = (0..all.len()).flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)));
            let costs = pairs.map(|(a, b)| (self.merged(&all[b].0, &all[b].1, &all[a].1, DEEP).1, a, b));
            match costs.min() {
                Some((cost, a, b)) if cost < CHOSEN * all[a].1.width => {
                    let (when, value) = all.remove(b);
                    let value = self.merged(&when, &value, &all[a].1, DEEP).0;
                    all[a] = (all[a].0.clone().or(when), value);
                }
                _ => return all,
            }
        }
    }

    /// One of some values by when each is meant, and another one where none is.
    pub(crate) fn one_of_or(&self, all: Vec<(Expr, Expr)>, rest: Expr) -> Expr {
        all.into_iter().fold(rest, |rest, (when, value)| self.merged(&when, &value, &rest, DEEP).0)
    }

    /// Whether a value is another one, or that with something added bit by bit.
    pub(crate) fn has_term(&self, value: &Expr, term: &Expr) -> bool {
        self.has_term_within(value, term, DEEP)
    }

    fn has_term_within(&self, value: &Expr, term: &Expr, depth: u32) -> bool {
        value == term
            || depth > 0
                && match &self.definition(value).kind {
                    ExprKind::Binary(BinaryOp::Xor, a, b) => {
                        [a, b].into_iter().any(|one| self.has_term_within(one, term, depth - 1))
                    }
                    _ => false,
                }
    }

    /// What a wire is, or the value itself.
    fn definition<'e>(&'e self, value: &'e Expr) -> &'e Expr {
        match &value.kind {
            ExprKind::Signal(id) => self.definitions.get(id).copied().unwrap_or(value),
            _ => value,
        }
    }

    fn are_same(&self, a: &Expr, b: &Expr) -> bool {
        a == b || a.width == b.width && self.definition(a) == self.definition(b)
    }

    /// One value `when` that is so, and another one otherwise, with what it costs to choose.
    fn merged(&self, when: &Expr, yes: &Expr, no: &Expr, depth: u32) -> (Expr, u32) {
        if self.are_same(yes, no) {
            return (no.clone(), 0);
        }
        let plain = (Expr::select(when.clone(), yes.clone(), no.clone()), CHOSEN * no.width);
        if depth == 0 {
            return plain;
        }
        let all = [self.with_more(when, yes, no), self.with_more(&when.clone().inverted(), no, yes)];
        let deeper = self.alike(when, yes, no, depth);
        let all = all.into_iter().flatten().chain(deeper);
        all.chain([plain.clone()]).min_by_key(|(_, cost)| *cost).unwrap_or(plain)
    }

    /// Where one value is another one with something more.
    fn with_more(&self, when: &Expr, more: &Expr, plain: &Expr) -> Option<(Expr, u32)> {
        match &self.definition(more).kind {
            ExprKind::Binary(op @ (BinaryOp::Xor | BinaryOp::Or | BinaryOp::Add), a, b) => {
                let other = [(a, b), (b, a)].into_iter().find(|(a, _)| self.are_same(a, plain)).map(|(_, b)| b)?;
                let some = Expr::select(when.clone(), (**other).clone(), Expr::number(other.width, 0));
                Some((Expr::binary(*op, plain.clone(), some), LET_THROUGH * plain.width))
            }
            ExprKind::Select(condition, yes, no) if self.are_same(no, plain) => {
                let condition = (**condition).clone().and(when.clone());
                Some((Expr::select(condition, (**yes).clone(), plain.clone()), CHOSEN))
            }
            ExprKind::Select(condition, yes, no) if self.are_same(yes, plain) => {
                let condition = (**condition).clone().or(when.clone().inverted());
                Some((Expr::select(condition, plain.clone(), (**no).clone()), CHOSEN))
            }
            _ => None,
        }
    }

    /// Where both are the same operation.
    fn alike(&self, when: &Expr, yes: &Expr, no: &Expr, depth: u32) -> Option<(Expr, u32)> {
        match (&self.definition(yes).kind, &self.definition(no).kind) {
            (ExprKind::Binary(op, a, b), ExprKind::Binary(other, x, y)) if op == other && a.width == x.width => {
                let pair = |p: &Expr, q: &Expr| {
                    let (one, two) = (self.merged(when, p, x, depth - 1), self.merged(when, q, y, depth - 1));
                    (Expr::binary(*op, one.0, two.0), one.1 + two.1)
                };
                let straight = pair(a, b);
                let commutes =
                    matches!(op, BinaryOp::Xor | BinaryOp::Or | BinaryOp::And | BinaryOp::Add | BinaryOp::Mul);
                let crossed = commutes.then(|| pair(b, a)).filter(|crossed| crossed.1 < straight.1);
                Some(crossed.unwrap_or(straight))
            }
            (ExprKind::Unary(UnaryOp::Not, a), ExprKind::Unary(UnaryOp::Not, x)) => {
                let (value, cost) = self.merged(when, a, x, depth - 1);
                Some((value.inverted(), cost))
            }
            (ExprKind::Concat(a), ExprKind::Concat(x))
                if a.len() == x.len() && a.iter().zip(x).all(|(a, x)| a.width == x.width) =>
            {
                let parts: Vec<(Expr, u32)> = a.iter().zip(x).map(|(a, x)| self.merged(when, a, x, depth)).collect();
                let cost = parts.iter().map(|(_, cost)| cost).sum();
                Some((Expr::concat(parts.into_iter().map(|(part, _)| part).collect()), cost))
            }
            _ => None,
        }
    }
}
