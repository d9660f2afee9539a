//! Dead store elimination in a process: assignments to all of a signal go where all of its bits are assigned again behind them
//! before anything reads it.
//!
//! A list that gets all its elements begins with zeros. Without them it has one value only ([`crate::defaults`]).

use headrace_rtl::{Bits, Module, SignalId, Stmt};
use std::collections::BTreeMap;

/// Parts of signals that are assigned behind a place before they are read: bits from the first number on, as many as the second.
type Covered = BTreeMap<SignalId, BTreeMap<u32, u32>>;

/// A block without assignments that have no effect.
pub(crate) fn without_overwritten(block: Vec<Stmt>, module: &Module) -> Vec<Stmt> {
    let mut covered = Covered::new();
    let mut out: Vec<Stmt> = Vec::with_capacity(block.len());
    for statement in block.into_iter().rev() {
        let statement = match statement {
            Stmt::Assign(target, value) => {
                let width = module.signal(target.signal).width;
                let parts = covered.entry(target.signal).or_default();
                match &target.part {
                    None if is_whole(parts, width) => continue,
                    None => *parts = [(0, width)].into(),
                    Some((at, bits)) => {
                        if let Some(at) = at.value().and_then(Bits::to_u64).and_then(|at| u32::try_from(at).ok()) {
                            let known = parts.entry(at).or_default();
                            *known = (*known).max(*bits);
                        }
                    }
                }
                Stmt::Assign(target, value)
            }
            Stmt::If(condition, yes, no) => {
                Stmt::If(condition, without_overwritten(yes, module), without_overwritten(no, module))
            }
            Stmt::Case(value, arms, rest) => {
                let each = |(bits, arm)| (bits, without_overwritten(arm, module));
                Stmt::Case(value, arms.into_iter().map(each).collect(), without_overwritten(rest, module))
            }
            statement @ Stmt::Comment(_) => statement,
        };
        uncover(&statement, &mut covered);
        out.push(statement);
    }
    out.reverse();
    out
}

/// Whether parts are all bits of a signal.
fn is_whole(parts: &BTreeMap<u32, u32>, width: u32) -> bool {
    let mut end = 0;
    for (&at, &bits) in parts {
        if at > end {
            return false;
        }
        end = end.max(at + bits);
    }
    end >= width
}

/// What a statement reads is needed in front of it.
fn uncover(statement: &Stmt, covered: &mut Covered) {
    for expression in statement.exprs() {
        expression.signals(&mut |signal| {
            covered.remove(&signal);
        });
    }
    statement.blocks().into_iter().flatten().for_each(|inner| uncover(inner, covered));
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_rtl::{Expr, SignalKind, Target};

    fn part(signal: SignalId, at: u64, value: Expr) -> Stmt {
        let part = Some((Expr::number(3, at), value.width));
        Stmt::Assign(Target { signal, part }, value)
    }

    #[test]
    fn zeros_in_front_of_all_parts_go() {
        let mut module = Module::new("m");
        let input = module.add("input_i", 4, SignalKind::Input);
        let [list, other] = ["list", "other"].map(|name| module.add(name, 8, SignalKind::Wire));
        let token = Expr::signal(input, 4);
        let zeros = Stmt::assign(list, Expr::number(8, 0));
        let (low, high) = (part(list, 0, token.clone()), part(list, 4, token.clone()));
        let read = Stmt::assign(other, Expr::signal(list, 8));
        let of = |block: &[&Stmt]| -> Vec<Stmt> { block.iter().copied().cloned().collect() };
        let left = |block: &[&Stmt]| without_overwritten(of(block), &module);
        assert_eq!(left(&[&zeros, &low, &high, &read]), of(&[&low, &high, &read]));
        // A part is left, or somebody reads before.
        assert_eq!(left(&[&zeros, &low, &read]), of(&[&zeros, &low, &read]));
        assert_eq!(left(&[&zeros, &low, &read, &high]), of(&[&zeros, &low, &read, &high]));
        // A branch may read it, and does not always assign it.
        let choice = |block: &[&Stmt]| Stmt::If(token.clone().slice(0, 1), of(block), vec![]);
        let (reads, assigns) = (choice(&[&read]), choice(&[&low]));
        assert_eq!(left(&[&zeros, &reads, &low, &high]), of(&[&zeros, &reads, &low, &high]));
        assert_eq!(left(&[&zeros, &assigns, &high]), of(&[&zeros, &assigns, &high]));
        assert_eq!(left(&[&zeros, &assigns, &low, &high]), of(&[&assigns, &low, &high]));
    }
}
