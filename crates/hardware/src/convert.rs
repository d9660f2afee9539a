//! If-conversion in a process: a choice that only gives one variable one of two values becomes an assignment of a multiplexer.
//!
//! Where values depend on nothing that the process changes, such a variable has one value then and can stand in front of all choices
//! ([`crate::defaults`]); what ports show is chosen without waiting for room.

use headrace_rtl::{Expr, SignalId, Stmt};
use std::collections::BTreeSet;

/// A block with choices converted that do nothing but to give all of a signal of `free` a value in both branches.
pub(crate) fn converted(block: Vec<Stmt>, free: &BTreeSet<SignalId>) -> Vec<Stmt> {
    let each = |statement| match statement {
        Stmt::If(condition, yes, no) => {
            let (yes, no) = (converted(yes, free), converted(no, free));
            match (only(&yes, free), only(&no, free)) {
                (Some((signal, a)), Some((other, b))) if signal == other => {
                    Stmt::assign(signal, Expr::select(condition, a.clone(), b.clone()))
                }
                _ => Stmt::If(condition, yes, no),
            }
        }
        Stmt::Case(value, arms, rest) => {
            let arms = arms.into_iter().map(|(bits, arm)| (bits, converted(arm, free))).collect();
            Stmt::Case(value, arms, converted(rest, free))
        }
        statement => statement,
    };
    block.into_iter().map(each).collect()
}

/// The signal and its value, where a block assigns to nothing else.
fn only<'b>(block: &'b [Stmt], free: &BTreeSet<SignalId>) -> Option<(SignalId, &'b Expr)> {
    let [Stmt::Assign(target, value)] = block else { return None };
    (target.part.is_none() && free.contains(&target.signal)).then_some((target.signal, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_between_two_values_of_a_variable_is_a_multiplexer() {
        let signal = |number: u32| Expr::signal(SignalId(number), 8);
        let condition = signal(0).slice(0, 1);
        let choice = |to: [u32; 2]| {
            let [yes, no] = to.map(|to| vec![Stmt::assign(SignalId(to), signal(to + 1))]);
            Stmt::If(condition.clone(), yes, no)
        };
        let free = BTreeSet::from([SignalId(1)]);
        let multiplexer = Stmt::assign(SignalId(1), signal(2));
        // Both values are the same here: then the condition does not matter.
        assert_eq!(converted(vec![choice([1, 1])], &free), [multiplexer]);
        let other = Stmt::If(
            condition.clone(),
            vec![Stmt::assign(SignalId(1), signal(3))],
            vec![Stmt::assign(SignalId(1), signal(4))],
        );
        let chosen = Expr::select(condition.clone(), signal(3), signal(4));
        assert_eq!(converted(vec![other], &free), [Stmt::assign(SignalId(1), chosen)]);
        // Another variable, or a register, stays as it is.
        for left in [choice([1, 5]), choice([5, 5])] {
            assert_eq!(converted(vec![left.clone()], &free), [left]);
        }
    }
}
