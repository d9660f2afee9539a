//! Which variables are registers: those that some state reads before it gives them a value (liveness at the entry of states).

use headrace_rtl::{Expr, SignalId, Stmt};
use std::collections::BTreeSet;

/// All signals that a block reads, or assigns a part of, on some path on which it has given them no value before.
pub(crate) fn read_early(block: &[Stmt], early: &mut BTreeSet<SignalId>) {
    walk(block, BTreeSet::new(), early);
}

fn walk(block: &[Stmt], before: BTreeSet<SignalId>, early: &mut BTreeSet<SignalId>) -> BTreeSet<SignalId> {
    let mut sure = before;
    let reads = |value: &Expr, sure: &BTreeSet<SignalId>, early: &mut BTreeSet<SignalId>| {
        value.signals(&mut |id| {
            if !sure.contains(&id) {
                early.insert(id);
            }
        });
    };
    for statement in block {
        statement.exprs().into_iter().for_each(|value| reads(value, &sure, early));
        match statement {
            Stmt::Assign(target, _) => {
                if target.part.is_some() && !sure.contains(&target.signal) {
                    early.insert(target.signal);
                } else {
                    sure.insert(target.signal);
                }
            }
            Stmt::Comment(_) => {}
            _ => {
                let ends = statement.blocks().into_iter().map(|block| walk(block, sure.clone(), early));
                let ends: Vec<BTreeSet<SignalId>> = ends.collect();
                let common = ends.into_iter().reduce(|a, b| a.intersection(&b).copied().collect());
                sure = common.unwrap_or(sure);
            }
        }
    }
    sure
}
