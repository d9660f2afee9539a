//! Don't-care assignment: what signals of a process are where nobody looks at them.
//!
//! Data of a port counts only while it is valid, and a variable that no cycle needs from the one before only behind its assignment. Zero
//! in all other cases would be a gate for each bit, and another value for whoever shares logic. So such a signal has one of the values
//! that it is given anyway, if that depends on nothing that the process changes; where it is the only one, it is the signal's in all
//! cases, and its assignment goes.

use headrace_rtl::{Expr, ExprKind, SignalId, Stmt, Target};
use std::collections::{BTreeMap, BTreeSet};

/// A constant part of a signal: its lowest bit and its width; `None` where it is computed.
type Part = Option<(u32, u32)>;

/// Statements that give signals of `free` a value in front of `blocks`; others than these are zero there. Signals of `changed` have different
/// values at different places of the process. What is in front no longer stands in the blocks.
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
            if values.iter().all(|(_, value)| is_stable(value, &changed)) {
                let assign = |(target, value): (Target, Expr)| Stmt::Assign(target, value);
                found.push((signal, values.into_iter().map(assign).collect()));
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
    // Of several values the first.
    for signal in free.keys().filter(|signal| !is_done.contains(signal)) {
        let whole = given.get(signal).into_iter().flatten().filter(|(target, _)| target.part.is_none());
        let mut stable = whole.filter(|(_, value)| is_stable(value, &changed) && !is_constant(value));
        if let Some((target, value)) = stable.next() {
            found.push((*signal, vec![Stmt::Assign(target.clone(), value.clone())]));
        }
    }
    found
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

/// The values of the parts of a signal, if all of it is assigned, and each part of it has one value only.
fn only_values(signal: SignalId, all: &[(Target, Expr)], width: u32) -> Option<Vec<(Target, Expr)>> {
    let mut values: Vec<(Target, Expr)> = Vec::new();
    for one in all.iter().filter(|one| one.0.signal == signal) {
        if !values.contains(one) {
            values.push(one.clone());
        }
    }
    let mut parts: Vec<(u32, u32)> = values.iter().map(|(target, _)| part(target, width)).collect::<Option<_>>()?;
    parts.sort_unstable();
    let mut end = 0;
    for (from, bits) in parts {
        if from != end {
            return None;
        }
        end += bits;
    }
    (end == width).then_some(values)
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

fn is_constant(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Constant(_))
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
        assert_eq!(signals, [2, 3, 4]);
        assert_eq!(found[0].1, [assign(2, signal(1))]);
        assert_eq!(found[1].1.len(), 2);
        // The output has two values, and the first of them where nobody looks.
        assert_eq!(found[2].1, [assign(4, signal(2))]);
        let rest = Stmt::If(condition, vec![assign(4, signal(2)), assign(5, signal(1))], vec![assign(4, signal(3))]);
        assert_eq!(blocks, [vec![rest]]);
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
