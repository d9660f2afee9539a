//! Constant and copy propagation in a process: what is read there is a number or a signal that the process does not change, where
//! it is known to be one.
//!
//! A variable that keeps its value from cycle to cycle has, before it is assigned, that of its register. What is computed of it is
//! then no value of that place only, and can stand in front of all choices ([`crate::defaults`]).

use headrace_rtl::{Bits, Expr, ExprKind, Module, SignalId, Stmt, Target};
use std::collections::{BTreeMap, BTreeSet};

/// What signals are, where they are known: constants, and signals that do not change.
type Known = BTreeMap<SignalId, Expr>;

/// A block with what is known put in its place. Signals of `changed` have different values at different places of the process;
/// `known` says what is known of them at the beginning.
pub(crate) fn propagated(
    block: Vec<Stmt>,
    module: &Module,
    changed: &BTreeSet<SignalId>,
    known: &BTreeMap<SignalId, Expr>,
) -> Vec<Stmt> {
    let mut known = known.clone();
    Propagation { module, changed }.block(block, &mut known)
}

struct Propagation<'m> {
    module: &'m Module,
    changed: &'m BTreeSet<SignalId>,
}

impl Propagation<'_> {
    fn block(&self, block: Vec<Stmt>, known: &mut Known) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for statement in block {
            match statement {
                Stmt::Assign(target, value) => {
                    let value = self.value(&value, known);
                    let part = target.part.map(|(at, bits)| (self.value(&at, known), bits));
                    known.remove(&target.signal);
                    if part.is_none() && self.is_lasting(&value) {
                        known.insert(target.signal, value.clone());
                    }
                    out.push(Stmt::Assign(Target { signal: target.signal, part }, value));
                }
                Stmt::If(condition, yes, no) => {
                    let condition = self.value(&condition, known);
                    if let Some(value) = condition.value() {
                        out.extend(self.block(if value.is_zero() { no } else { yes }, known));
                        continue;
                    }
                    let mut other = known.clone();
                    let (yes, no) = (self.block(yes, known), self.block(no, &mut other));
                    meet(known, &other);
                    out.push(Stmt::If(condition, yes, no));
                }
                Stmt::Case(value, arms, rest) => {
                    let value = self.value(&value, known);
                    if let Some(value) = value.value() {
                        let arm = arms.into_iter().find(|(bits, _)| bits == value).map_or(rest, |(_, arm)| arm);
                        out.extend(self.block(arm, known));
                        continue;
                    }
                    let before = known.clone();
                    let rest = self.block(rest, known);
                    let each = |(bits, arm): (Bits, Vec<Stmt>)| {
                        let mut own = before.clone();
                        let arm = self.block(arm, &mut own);
                        meet(known, &own);
                        (bits, arm)
                    };
                    let arms = arms.into_iter().map(each).collect();
                    out.push(Stmt::Case(value, arms, rest));
                }
                Stmt::Comment(text) => out.push(Stmt::Comment(text)),
            }
        }
        out
    }

    /// Whether a value is the same in all of the cycle, and as short as a name.
    fn is_lasting(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Constant(_) => true,
            ExprKind::Signal(signal) => !self.changed.contains(signal),
            _ => false,
        }
    }

    fn value(&self, value: &Expr, known: &Known) -> Expr {
        value.substituted(&|signal| {
            let width = self.module.signal(signal).width;
            known.get(&signal).cloned().unwrap_or_else(|| Expr::signal(signal, width))
        })
    }
}

/// What is known behind both of two branches.
fn meet(known: &mut Known, other: &Known) {
    known.retain(|signal, value| other.get(signal) == Some(value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_rtl::SignalKind;

    /// An input, two variables, a register's next value and the register, of eight bits.
    fn module() -> (Module, [SignalId; 5]) {
        let mut module = Module::new("m");
        let input = module.add("input_i", 8, SignalKind::Input);
        let [a, b] = ["a", "b"].map(|name| module.add(name, 8, SignalKind::Wire));
        let (register, next) = module.add_register("r", Bits::zero(8));
        (module, [input, a, b, next, register])
    }

    #[test]
    fn a_variable_is_its_register_until_it_is_assigned() {
        let (module, [input, a, _, next, register]) = module();
        let of = |signal| Expr::signal(signal, 8);
        let changed = BTreeSet::from([a, next]);
        let known = Known::from([(next, of(register))]);
        let condition = of(input).slice(0, 1);
        let block = vec![
            Stmt::assign(a, of(next)),
            Stmt::If(condition.clone(), vec![Stmt::assign(next, of(a).plus(Expr::number(8, 1)))], vec![]),
            Stmt::assign(a, of(next)),
        ];
        let wanted = vec![
            Stmt::assign(a, of(register)),
            Stmt::If(condition, vec![Stmt::assign(next, of(register).plus(Expr::number(8, 1)))], vec![]),
            Stmt::assign(a, of(next)),
        ];
        assert_eq!(propagated(block, &module, &changed, &known), wanted);
    }

    #[test]
    fn what_both_branches_leave_is_known_behind_them() {
        let (module, [input, a, b, ..]) = module();
        let of = |signal| Expr::signal(signal, 8);
        let changed = BTreeSet::from([a, b]);
        let number = |value| Expr::number(8, value);
        let both = |first: u64, second: u64| {
            let arms = vec![(Bits::new(8, 1u32), vec![Stmt::assign(a, number(first))])];
            vec![
                Stmt::Case(of(input), arms, vec![Stmt::assign(a, number(second))]),
                Stmt::assign(b, of(a).plus(number(1))),
            ]
        };
        let propagated = |block| propagated(block, &module, &changed, &Known::new());
        assert_eq!(propagated(both(3, 3))[1], Stmt::assign(b, number(4)));
        assert_eq!(propagated(both(3, 4))[1], Stmt::assign(b, of(a).plus(number(1))));
    }

    #[test]
    fn a_part_that_is_assigned_leaves_nothing_known_of_the_whole() {
        let (module, [input, a, b, ..]) = module();
        let of = |signal| Expr::signal(signal, 8);
        let changed = BTreeSet::from([a, b]);
        let part = Some((Expr::number(3, 4), 4));
        let block = vec![
            Stmt::assign(a, Expr::number(8, 0)),
            Stmt::Assign(Target { signal: a, part }, of(input).slice(0, 4)),
            Stmt::assign(b, of(a)),
        ];
        assert_eq!(propagated(block.clone(), &module, &changed, &Known::new()), block);
    }
}
