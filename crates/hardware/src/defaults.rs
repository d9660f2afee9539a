//! Don't-care assignment: what signals of a process are where nobody looks at them.
//!
//! Data of a port counts only while it is valid, and a variable that no cycle needs from the one before only behind its assignment.
//! Zero in all other cases would be a gate for each bit. Where such a signal has one value in all of the process, and this depends
//! on nothing that the process changes, it has it always. Where a port's data are the same in all of a state, or in one branch of a
//! choice, they are so in all of that, and not only where tokens and room are there: what is chosen by is as little as can be.

use headrace_rtl::{Expr, ExprKind, SignalId, Stmt, Target};
use std::collections::{BTreeMap, BTreeSet};

/// A constant part of a signal: its lowest bit and its width; `None` where it is computed.
type Part = Option<(u32, u32)>;

/// Statements that give signals of `free`, which have so many bits, a value in front of `blocks`; others than these are zero there.
/// Signals of `changed` have different values at different places of the process. What is in front no longer stands in the blocks.
pub(crate) fn hoisted(
    free: &BTreeMap<SignalId, u32>,
    mut changed: BTreeSet<SignalId>,
    blocks: &mut [Vec<Stmt>],
) -> Vec<(SignalId, Vec<Stmt>)> {
    let mut given: BTreeMap<SignalId, Vec<(Target, Expr)>> = BTreeMap::new();
    blocks.iter().for_each(|block| collect(block, &mut given));
    let mut found: Vec<(SignalId, Vec<Stmt>)> = Vec::new();
    let mut is_done: BTreeSet<SignalId> = BTreeSet::new();
    // Those with one value first, until no more become known by others.
    loop {
        let is_new = |signal: &&SignalId| !is_done.contains(*signal);
        let single: Vec<SignalId> = free.keys().filter(is_new).copied().collect();
        let before = found.len();
        for signal in single {
            let Some(values) = given.get(&signal).and_then(|all| only_values(signal, all, free[&signal])) else {
                continue;
            };
            if values.iter().all(|value| is_stable(value, &changed)) {
                found.push((signal, vec![Stmt::assign(signal, Expr::concat(values))]));
                is_done.insert(signal);
                changed.remove(&signal);
            }
        }
        if found.len() == before {
            break;
        }
    }
    for block in blocks.iter_mut() {
        *block = without(std::mem::take(block), &is_done);
    }
    // What somebody reads may have had another value before.
    let mut read = BTreeSet::new();
    blocks.iter().for_each(|block| read_in(block, &mut read));
    let is_left = |signal: &&SignalId| !is_done.contains(*signal) && !read.contains(*signal);
    let left: BTreeSet<SignalId> = free.keys().filter(is_left).copied().collect();
    for block in blocks.iter_mut() {
        *block = raised(std::mem::take(block), &left, &changed);
    }
    found
}

/// A block in front of which signals have the value that they have in it, where that is only one.
fn raised(block: Vec<Stmt>, signals: &BTreeSet<SignalId>, changed: &BTreeSet<SignalId>) -> Vec<Stmt> {
    let mut given: BTreeMap<SignalId, Vec<(Target, Expr)>> = BTreeMap::new();
    collect(&block, &mut given);
    let only = |signal: &SignalId| {
        let all = given.get(signal)?;
        let (target, value) = all.first()?;
        let is_one = target.part.is_none() && all.iter().all(|other| other.1 == *value && other.0 == *target);
        (is_one && is_stable(value, changed)).then(|| Stmt::Assign(target.clone(), value.clone()))
    };
    let front: Vec<(SignalId, Stmt)> = signals.iter().filter_map(|signal| Some((*signal, only(signal)?))).collect();
    let here: BTreeSet<SignalId> = front.iter().map(|(signal, _)| *signal).collect();
    let rest: BTreeSet<SignalId> = signals.difference(&here).copied().collect();
    let deeper = |block: Vec<Stmt>| raised(block, &rest, changed);
    let inner = without(block, &here).into_iter().map(|statement| match statement {
        Stmt::If(condition, yes, no) => Stmt::If(condition, deeper(yes), deeper(no)),
        Stmt::Case(value, arms, other) => {
            let arms = arms.into_iter().map(|(bits, arm)| (bits, deeper(arm))).collect();
            Stmt::Case(value, arms, deeper(other))
        }
        statement => statement,
    });
    front.into_iter().map(|(_, statement)| statement).chain(inner).collect()
}

/// All assignments, by signal.
fn collect(block: &[Stmt], given: &mut BTreeMap<SignalId, Vec<(Target, Expr)>>) {
    for statement in block {
        if let Stmt::Assign(target, value) = statement {
            given.entry(target.signal).or_default().push((target.clone(), value.clone()));
        }
        statement.blocks().into_iter().for_each(|block| collect(block, given));
    }
}

/// All signals that are read.
fn read_in(block: &[Stmt], read: &mut BTreeSet<SignalId>) {
    for statement in block {
        for expression in statement.exprs() {
            expression.signals(&mut |signal| {
                read.insert(signal);
            });
        }
        statement.blocks().into_iter().for_each(|block| read_in(block, read));
    }
}

/// The values of the parts of a signal, the most significant first, if all of it is assigned, and each part of it has one value only.
fn only_values(signal: SignalId, all: &[(Target, Expr)], width: u32) -> Option<Vec<Expr>> {
    let mut values: Vec<(Target, Expr)> = Vec::new();
    for one in all.iter().filter(|one| one.0.signal == signal) {
        if !values.contains(one) {
            values.push(one.clone());
        }
    }
    let each = values.into_iter().map(|(target, value)| Some((part(&target, width)?, value)));
    let mut parts: Vec<((u32, u32), Expr)> = each.collect::<Option<_>>()?;
    parts.sort_unstable_by_key(|(part, _)| std::cmp::Reverse(*part));
    let mut rest = width;
    for ((from, bits), _) in &parts {
        if from + bits != rest {
            return None;
        }
        rest = *from;
    }
    (rest == 0).then(|| parts.into_iter().map(|(_, value)| value).collect())
}

fn part(target: &Target, width: u32) -> Part {
    match &target.part {
        None => Some((0, width)),
        Some((at, bits)) => match &at.kind {
            ExprKind::Constant(at) => Some((u32::try_from(at.to_u64()?).ok()?, *bits)),
            _ => None,
        },
    }
}

fn is_stable(value: &Expr, changed: &BTreeSet<SignalId>) -> bool {
    let mut is_stable = true;
    value.signals(&mut |signal| is_stable &= !changed.contains(&signal));
    is_stable
}

/// A block without assignments to these signals, and without choices of nothing.
fn without(block: Vec<Stmt>, signals: &BTreeSet<SignalId>) -> Vec<Stmt> {
    let kept = block.into_iter().filter_map(|statement| match statement {
        Stmt::Assign(target, _) if signals.contains(&target.signal) => None,
        Stmt::If(condition, yes, no) => {
            let (yes, no) = (without(yes, signals), without(no, signals));
            (!yes.is_empty() || !no.is_empty()).then_some(Stmt::If(condition, yes, no))
        }
        Stmt::Case(value, arms, rest) => {
            let arms = arms.into_iter().map(|(bits, arm)| (bits, without(arm, signals))).collect();
            Some(Stmt::Case(value, arms, without(rest, signals)))
        }
        statement => Some(statement),
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_rtl::Bits;

    /// Signals by number, of eight bits.
    fn signal(number: u32) -> Expr {
        Expr::signal(SignalId(number), 8)
    }

    fn assign(number: u32, value: Expr) -> Stmt {
        Stmt::assign(SignalId(number), value)
    }

    fn part_of(number: u32, at: u64, value: Expr) -> Stmt {
        let part = Some((Expr::number(4, at), value.width));
        Stmt::Assign(Target { signal: SignalId(number), part }, value)
    }

    fn ids(numbers: &[u32]) -> BTreeSet<SignalId> {
        numbers.iter().map(|&number| SignalId(number)).collect()
    }

    #[test]
    fn the_only_value_of_a_signal_is_its_value_everywhere() {
        // Inputs are 0 and 1; 2 and 3 are variables, 4 is an output, 5 the next value of a register.
        let condition = signal(0).slice(0, 1);
        let arm = vec![assign(2, signal(1)), assign(4, signal(2)), assign(5, signal(1))];
        let other =
            vec![part_of(3, 0, signal(2).slice(4, 4)), part_of(3, 4, signal(0).slice(0, 4)), assign(4, signal(3))];
        let mut blocks = vec![vec![Stmt::If(condition.clone(), arm, other)]];
        let free = [2, 3, 4].map(|number| (SignalId(number), 8)).into();
        let found = hoisted(&free, ids(&[2, 3, 4, 5]), &mut blocks);
        let signals: Vec<u32> = found.iter().map(|(signal, _)| signal.0).collect();
        assert_eq!(signals, [2, 3]);
        assert_eq!(found[0].1, [assign(2, signal(1))]);
        let parts = vec![signal(0).slice(0, 4), signal(2).slice(4, 4)];
        assert_eq!(found[1].1, [assign(3, Expr::concat(parts))]);
        let rest = Stmt::If(condition, vec![assign(4, signal(2)), assign(5, signal(1))], vec![assign(4, signal(3))]);
        assert_eq!(blocks, [vec![rest]]);
    }

    #[test]
    fn values_are_chosen_by_no_more_than_what_tells_them_apart() {
        // Signal 2 is an output, 3 the next value of a register.
        let [state, there, room] = [0, 1, 2].map(|bit| signal(0).slice(bit, 1));
        let fires = |value: u32| {
            let inner = vec![assign(2, signal(value)), assign(3, signal(value))];
            vec![Stmt::If(there.clone(), vec![Stmt::If(room.clone(), inner, vec![])], vec![])]
        };
        let mut blocks = vec![vec![Stmt::If(state.clone(), fires(1), fires(4))]];
        assert_eq!(hoisted(&[(SignalId(2), 8)].into(), ids(&[2, 3]), &mut blocks), []);
        let chosen = |value: u32| {
            let inner = vec![assign(3, signal(value))];
            let fires = Stmt::If(there.clone(), vec![Stmt::If(room.clone(), inner, vec![])], vec![]);
            vec![assign(2, signal(value)), fires]
        };
        assert_eq!(blocks, [vec![Stmt::If(state, chosen(1), chosen(4))]]);
    }

    #[test]
    fn what_changes_in_the_process_is_no_value_in_front_of_it() {
        let block = vec![
            Stmt::Case(signal(0), vec![(Bits::new(8, 1u32), vec![assign(2, signal(5)), assign(5, signal(1))])], vec![]),
            part_of(3, 0, signal(1).slice(0, 4)),
        ];
        let mut blocks = vec![block.clone()];
        let free = [2, 3].map(|number| (SignalId(number), 8)).into();
        assert_eq!(hoisted(&free, ids(&[2, 3, 5]), &mut blocks), []);
        assert_eq!(blocks, [block]);
    }
}
