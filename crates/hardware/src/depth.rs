//! Logic depth: how many levels of logic lie behind one another in steps that are done in one cycle (the critical path,
//! roughly).
//!
//! A level is about what a lookup table of an FPGA does. Only the order of magnitude counts: it decides whether the
//! iterations of a loop stand side by side or in a row when they are written out.

use crate::step::Step;
use headrace_machines::fabric::Depth;
use headrace_machines::machines;
use headrace_rtl::{BinaryOp, Expr, ExprKind, SignalId, index_bits};
use std::collections::BTreeMap;

/// The levels behind the last variable of some steps.
pub(crate) fn depth(steps: &[Step]) -> u32 {
    let mut known = BTreeMap::new();
    of_block(steps, 0, &mut known);
    known.values().map(Levels::most).max().unwrap_or(0)
}

/// The levels behind a variable: those of the whole, and of parts that were written by themselves afterwards, by their first bit and
/// their width. Elements of a list that are changed one after the other do not wait for each other.
#[derive(Clone, Debug, Default)]
struct Levels {
    whole: u32,
    parts: BTreeMap<(u32, u32), u32>,
}

impl Levels {
    fn most(&self) -> u32 {
        self.parts.values().copied().fold(self.whole, u32::max)
    }

    /// Those behind some bits of it.
    fn of(&self, low: u32, width: u32) -> u32 {
        if let Some(levels) = self.parts.get(&(low, width)) {
            return *levels;
        }
        let meets = |&(from, bits): &(u32, u32)| from < low + width && low < from + bits;
        self.parts.iter().filter(|(part, _)| meets(part)).map(|(_, levels)| *levels).fold(self.whole, u32::max)
    }
}

/// What is known of variables.
type Known = BTreeMap<SignalId, Levels>;

fn of_signal(id: SignalId, known: &Known) -> u32 {
    known.get(&id).map_or(0, Levels::most)
}

fn levels() -> &'static Depth {
    &machines().fabric().depth
}

fn of_block(steps: &[Step], under: u32, known: &mut Known) {
    for step in steps {
        match step {
            Step::Set(signal, value) => {
                let own = of_expr(value, known).max(under);
                known.insert(*signal, Levels { whole: own, parts: BTreeMap::new() });
            }
            Step::SetPart(signal, at, width, value) => {
                let own = of_expr(value, known).max(under);
                if let Some(low) = at.value().and_then(|at| at.to_u64()).and_then(|low| u32::try_from(low).ok()) {
                    known.entry(*signal).or_default().parts.insert((low, *width), own);
                    continue;
                }
                let place = of_expr(at, known) + levels().part_written.value;
                let whole = own.max(place).max(of_signal(*signal, known));
                known.insert(*signal, Levels { whole, parts: BTreeMap::new() });
            }
            Step::If(condition, yes, no) => {
                let under = under.max(of_expr(condition, known) + levels().bitwise.value);
                of_block(yes, under, known);
                of_block(no, under, known);
            }
            Step::Case(signal, arms, rest) => {
                let under = under.max(of_signal(*signal, known) + levels().bitwise.value);
                arms.iter().for_each(|(_, arm)| of_block(arm, under, known));
                of_block(rest, under, known);
            }
            _ => {}
        }
    }
}

fn of_expr(expr: &Expr, known: &Known) -> u32 {
    if let ExprKind::Slice(inner, low) = &expr.kind
        && let ExprKind::Signal(id) = &inner.kind
    {
        return known.get(id).map_or(0, |levels| levels.of(*low, expr.width));
    }
    let below = expr.parts().into_iter().map(|part| of_expr(part, known)).max().unwrap_or(0);
    let levels = levels();
    // Of what works on halves of halves: into it, and as often as its width halves.
    let halved =
        |width: u32| levels.bitwise.value + index_bits(u64::from(width)).max(1) / levels.halvings_per_level.value;
    match &expr.kind {
        ExprKind::Signal(id) => of_signal(*id, known),
        ExprKind::Part(id, _) => below.max(of_signal(*id, known)) + levels.part_read.value,
        ExprKind::Constant(_)
        | ExprKind::Unary(..)
        | ExprKind::Concat(_)
        | ExprKind::Slice(..)
        | ExprKind::Extend(..) => below,
        ExprKind::Lookup(_, index) => below + index.width.div_ceil(levels.index_per_level.value),
        ExprKind::Binary(op, ..) => {
            below
                + match op {
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => levels.bitwise.value,
                    BinaryOp::Add | BinaryOp::Sub => halved(expr.width),
                    BinaryOp::Mul => levels.product.value * index_bits(u64::from(expr.width)).max(1),
                    BinaryOp::Div | BinaryOp::Rem | BinaryOp::DivSigned | BinaryOp::RemSigned => {
                        levels.quotient.value * expr.width
                    }
                }
        }
        ExprKind::Shift(_, _, count) => below + if count.value().is_some() { 0 } else { halved(expr.width) },
        ExprKind::Compare(_, a, _) => below + halved(a.width),
        ExprKind::Select(..) => below + levels.bitwise.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_in_a_row_are_deeper_than_iterations_side_by_side() {
        let (a, b) = (SignalId(0), SignalId(1));
        let signal = |id| Expr::signal(id, 8);
        let sum = |to, from| Step::Set(to, signal(from).plus(Expr::number(8, 3)));
        let row: Vec<Step> = (0..8).map(|_| sum(a, a)).collect();
        let side: Vec<Step> = (0..8).map(|_| sum(a, b)).collect();
        assert_eq!(depth(&row), 8 * depth(&side));
    }

    #[test]
    fn elements_that_are_changed_one_after_the_other_do_not_wait_for_each_other() {
        let list = SignalId(0);
        let whole = Expr::signal(list, 64);
        let changed = |at: u32, from: u32| {
            let value = whole.clone().slice(8 * from, 8).plus(Expr::number(8, 3));
            Step::SetPart(list, Expr::number(6, u64::from(8 * at)), 8, value)
        };
        let own: Vec<Step> = (0..8).map(|at| changed(at, at)).collect();
        let chained: Vec<Step> = (1..8).map(|at| changed(at, at - 1)).collect();
        assert_eq!(depth(&own), depth(&own[..1]));
        assert_eq!(depth(&chained), 7 * depth(&own));
    }
}
