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
    known.into_values().max().unwrap_or(0)
}

fn levels() -> &'static Depth {
    &machines().fabric().depth
}

fn of_block(steps: &[Step], under: u32, known: &mut BTreeMap<SignalId, u32>) {
    for step in steps {
        match step {
            Step::Set(signal, value) => {
                let own = of_expr(value, known).max(under);
                known.insert(*signal, own);
            }
            Step::SetPart(signal, at, _, value) => {
                let before = known.get(signal).copied().unwrap_or(0);
                let place = of_expr(at, known);
                let place = if at.value().is_some() { 0 } else { place + levels().part_written.value };
                let own = of_expr(value, known).max(under).max(place).max(before);
                known.insert(*signal, own);
            }
            Step::If(condition, yes, no) => {
                let under = under.max(of_expr(condition, known) + levels().bitwise.value);
                of_block(yes, under, known);
                of_block(no, under, known);
            }
            Step::Case(signal, arms, rest) => {
                let under = under.max(known.get(signal).copied().unwrap_or(0) + levels().bitwise.value);
                arms.iter().for_each(|(_, arm)| of_block(arm, under, known));
                of_block(rest, under, known);
            }
            _ => {}
        }
    }
}

fn of_expr(expr: &Expr, known: &BTreeMap<SignalId, u32>) -> u32 {
    let below = expr.parts().into_iter().map(|part| of_expr(part, known)).max().unwrap_or(0);
    let levels = levels();
    // Of what works on halves of halves: into it, and as often as its width halves.
    let halved =
        |width: u32| levels.bitwise.value + index_bits(u64::from(width)).max(1) / levels.halvings_per_level.value;
    match &expr.kind {
        ExprKind::Signal(id) => known.get(id).copied().unwrap_or(0),
        ExprKind::Part(id, _) => below.max(known.get(id).copied().unwrap_or(0)) + levels.part_read.value,
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
}
