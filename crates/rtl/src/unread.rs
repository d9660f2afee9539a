//! Dead code elimination: leaves out of a module what nothing reads, so that what is printed has nothing idle in it.
//!
//! Ports stay, and what instances are connected to. A register that only itself reads goes, and a memory that nothing reads.

use crate::{Expr, ExprKind, Module, SignalId, SignalKind, Stmt};
use std::collections::BTreeSet;

/// Leaves out signals, assignments, memories, tables and processes that have no effect.
pub fn drop_unread(module: &mut Module) {
    let needed = needed(module);
    for process in &mut module.processes {
        let body = std::mem::take(&mut process.body);
        process.body = kept(body, &needed);
    }
    module.processes.retain(|process| process.body.iter().any(|one| !matches!(one, Stmt::Comment(_))));
    module.assigns.retain(|assign| needed.contains(&assign.signal));
    module.memories.retain(|memory| memory.reads.iter().any(|read| needed.contains(&read.data)));
    compact(module, &needed);
}

/// All signals that something depends on: from outputs, instances and memories back to where their values come from.
fn needed(module: &Module) -> BTreeSet<SignalId> {
    let mut needed = BTreeSet::new();
    let mut left: Vec<SignalId> = Vec::new();
    left.extend(module.ports().map(|(id, _)| id));
    left.extend(module.instances.iter().flat_map(|instance| &instance.connections).map(|one| one.signal));
    // What each signal depends on, conditions around its assignments included.
    let mut sources: Vec<BTreeSet<SignalId>> = vec![BTreeSet::new(); module.signals.len()];
    let mut add = |target: SignalId, value: &Expr| {
        value.signals(&mut |id| {
            sources[target.index()].insert(id);
        });
    };
    module.assigns.iter().for_each(|assign| add(assign.signal, &assign.value));
    for process in &module.processes {
        collect(&process.body, &mut Vec::new(), &mut add);
    }
    for (at, signal) in module.signals.iter().enumerate() {
        if let SignalKind::Register { next, .. } = signal.kind {
            sources[at].insert(next);
        }
    }
    for memory in &module.memories {
        for read in &memory.reads {
            let own = &mut sources[read.data.index()];
            own.insert(read.address);
            own.extend(memory.writes.iter().flat_map(|write| [write.enable, write.address, write.data]));
            own.extend(memory.reads.iter().flat_map(|read| [read.address, read.data]));
        }
    }
    while let Some(id) = left.pop() {
        if needed.insert(id) {
            left.extend(&sources[id.index()]);
        }
    }
    needed
}

fn collect<'m>(block: &'m [Stmt], conditions: &mut Vec<&'m Expr>, add: &mut impl FnMut(SignalId, &Expr)) {
    for statement in block {
        match statement {
            Stmt::Assign(target, value) => {
                add(target.signal, value);
                target.part.iter().for_each(|(at, _)| add(target.signal, at));
                conditions.iter().for_each(|condition| add(target.signal, condition));
            }
            Stmt::If(condition, ..) | Stmt::Case(condition, ..) => {
                conditions.push(condition);
                statement.blocks().into_iter().for_each(|block| collect(block, conditions, add));
                conditions.pop();
            }
            Stmt::Comment(_) => {}
        }
    }
}

fn kept(block: Vec<Stmt>, needed: &BTreeSet<SignalId>) -> Vec<Stmt> {
    let is_nothing = |block: &[Stmt]| block.iter().all(|one| matches!(one, Stmt::Comment(_)));
    let mut all = Vec::new();
    for statement in block {
        match statement {
            Stmt::Assign(target, value) if needed.contains(&target.signal) => all.push(Stmt::Assign(target, value)),
            Stmt::Assign(..) => {}
            Stmt::If(condition, yes, no) => {
                let (yes, no) = (kept(yes, needed), kept(no, needed));
                match (condition.value(), is_nothing(&yes), is_nothing(&no)) {
                    (Some(value), _, _) => all.extend(if value.is_zero() { no } else { yes }),
                    (None, true, true) => {}
                    (None, true, false) => all.push(Stmt::If(condition.inverted(), no, Vec::new())),
                    (None, false, true) => all.push(Stmt::If(condition, yes, Vec::new())),
                    (None, false, false) => all.push(Stmt::If(condition, yes, no)),
                }
            }
            Stmt::Case(value, arms, rest) => {
                let arms: Vec<_> = arms.into_iter().map(|(number, arm)| (number, kept(arm, needed))).collect();
                let rest = kept(rest, needed);
                if !(arms.iter().all(|(_, arm)| is_nothing(arm)) && is_nothing(&rest)) {
                    all.push(Stmt::Case(value, arms, rest));
                }
            }
            comment => all.push(comment),
        }
    }
    all
}

/// Leaves out all signals but the needed ones, and tables that nothing looks into.
fn compact(module: &mut Module, needed: &BTreeSet<SignalId>) {
    let mut signals = vec![None; module.signals.len()];
    for (number, id) in needed.iter().enumerate() {
        signals[id.index()] = Some(number as u32);
    }
    let mut tables = vec![false; module.tables.len()];
    each_expr(module, &mut |expr| {
        if let ExprKind::Lookup(table, _) = expr.kind {
            tables[table.index()] = true;
        }
    });
    let mut number = 0;
    let tables: Vec<Option<u32>> = tables
        .into_iter()
        .map(|used| {
            number += u32::from(used);
            used.then(|| number - 1)
        })
        .collect();
    let new = |id: SignalId| SignalId(signals[id.index()].unwrap_or(0));
    each_expr(module, &mut |expr| match &mut expr.kind {
        ExprKind::Signal(id) | ExprKind::Part(id, _) => *id = new(*id),
        ExprKind::Lookup(table, _) => table.0 = tables[table.index()].unwrap_or(0),
        _ => {}
    });
    fn targets(block: &mut [Stmt], new: &impl Fn(SignalId) -> SignalId) {
        for statement in block {
            match statement {
                Stmt::Assign(target, _) => target.signal = new(target.signal),
                Stmt::If(_, yes, no) => {
                    targets(yes, new);
                    targets(no, new);
                }
                Stmt::Case(_, arms, rest) => {
                    arms.iter_mut().for_each(|(_, arm)| targets(arm, new));
                    targets(rest, new);
                }
                Stmt::Comment(_) => {}
            }
        }
    }
    module.processes.iter_mut().for_each(|process| targets(&mut process.body, &new));
    module.assigns.iter_mut().for_each(|assign| assign.signal = new(assign.signal));
    for memory in &mut module.memories {
        for read in &mut memory.reads {
            (read.address, read.data) = (new(read.address), new(read.data));
        }
        for write in &mut memory.writes {
            (write.enable, write.address, write.data) = (new(write.enable), new(write.address), new(write.data));
        }
    }
    for connection in module.instances.iter_mut().flat_map(|instance| &mut instance.connections) {
        connection.signal = new(connection.signal);
    }
    let mut at = 0;
    module.signals.retain(|_| {
        at += 1;
        signals[at - 1].is_some()
    });
    for signal in &mut module.signals {
        if let SignalKind::Register { next, .. } = &mut signal.kind {
            *next = new(*next);
        }
    }
    let mut at = 0;
    module.tables.retain(|_| {
        at += 1;
        tables[at - 1].is_some()
    });
}

/// Calls `see` with every expression of a module, operands included.
fn each_expr(module: &mut Module, see: &mut impl FnMut(&mut Expr)) {
    fn of_expr(expr: &mut Expr, see: &mut impl FnMut(&mut Expr)) {
        see(expr);
        expr.parts_mut().into_iter().for_each(|part| of_expr(part, see));
    }
    fn of_block(block: &mut [Stmt], see: &mut impl FnMut(&mut Expr)) {
        for statement in block {
            match statement {
                Stmt::Assign(target, value) => {
                    of_expr(value, see);
                    target.part.iter_mut().for_each(|(at, _)| of_expr(at, see));
                }
                Stmt::If(condition, yes, no) => {
                    of_expr(condition, see);
                    of_block(yes, see);
                    of_block(no, see);
                }
                Stmt::Case(value, arms, rest) => {
                    of_expr(value, see);
                    arms.iter_mut().for_each(|(_, arm)| of_block(arm, see));
                    of_block(rest, see);
                }
                Stmt::Comment(_) => {}
            }
        }
    }
    module.assigns.iter_mut().for_each(|assign| of_expr(&mut assign.value, see));
    module.processes.iter_mut().for_each(|process| of_block(&mut process.body, see));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, read, text, verify};

    #[test]
    fn what_nothing_reads_is_left_out() {
        let given = "module m\n    input a: 2\n    output o: 2\n    wire idle_d: 2\n    register idle_q: 2 = 2'h0 next idle_d\n    \
                     wire used: 2\n    wire word: 2\n    table t: 1 -> 2 = 1 2\n    memory words: 2 x 4\n        read a word\n        \
                     write flag a a\n    wire flag: 1\n    assign flag = 1'h1\n    process p\n        idle_d = add(idle_q, lookup(t, slice(a, 0, 1)))\n        \
                     used = a\n        if slice(a, 1, 1)\n            idle_d = used\n        o = used\n";
        let wanted = "module m\n    input a: 2\n    output o: 2\n    wire used: 2\n    process p\n        used = a\n        o = used\n";
        let mut design = read(given).expect("reads");
        assert_eq!(verify(&design), Vec::<String>::new());
        drop_unread(&mut design.modules[0]);
        assert_eq!(text(&design), wanted);
        assert_eq!(verify(&Design { modules: design.modules }), Vec::<String>::new());
    }
}
