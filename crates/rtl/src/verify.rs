//! The verifier: whether a design keeps to what printers rely on.
//!
//! Verified:
//!
//! 1. Names are identifiers; those of modules are unique, and in a module those of signals, tables, memories, processes,
//!    instances and values of signals.
//! 2. Widths: operands have the width that their operator asks for, constants and slices fit, what is assigned has the width
//!    of what it is assigned to, conditions have one bit. No signal is without bits.
//! 3. Tables have elements of their width and no more of them than there are indices; the index has its width.
//! 4. Memories have at least two words; addresses have as many bits as the last word needs, data the width of a word, an
//!    enable one bit.
//! 5. Every wire and output has one driver: an assignment, a process, a read port or an instance. Inputs and registers have
//!    none. What a register holds next exists and has its width.
//! 6. A process gives every signal that it drives a value on every path, before it reads it or assigns a part of it: there is
//!    no latch.
//! 7. Values of a case have its width, and differ.
//! 8. Instances are of modules that come before; each port is connected once, to a signal of its width.
//! 9. No signal depends on itself within a clock cycle, through whatever.

use crate::depend::{self, Paths};
use crate::text::expr as shown;
use crate::{Design, Expr, ExprKind, Module, SignalId, SignalKind, Stmt, index_bits};
use std::collections::{BTreeSet, HashSet};

/// Everything in a design that is not as it must be; empty when all is well.
pub fn verify(design: &Design) -> Vec<String> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    let mut paths: Vec<Paths> = Vec::new();
    if design.modules.is_empty() {
        problems.push("a design has at least one module".to_owned());
    }
    for (at, module) in design.modules.iter().enumerate() {
        if !is_identifier(&module.name) || !names.insert(module.name.as_str()) {
            problems.push(format!("module `{}`: the name is none, or there twice", module.name));
        }
        let mut checker = Checker { design, module, at, problems: Vec::new() };
        checker.all();
        let own = if checker.problems.is_empty() { checker.loops(&paths) } else { Paths::new() };
        paths.push(own);
        problems.extend(checker.problems.into_iter().map(|problem| format!("{}: {problem}", module.name)));
    }
    problems
}

/// Letters, digits and underscores, beginning with a letter.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

struct Checker<'a> {
    design: &'a Design,
    module: &'a Module,
    /// Position of the module.
    at: usize,
    problems: Vec<String>,
}

impl<'a> Checker<'a> {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn name(&self, id: SignalId) -> &'a str {
        self.module.signals.get(id.index()).map_or("?", |signal| &signal.name)
    }

    fn width(&mut self, id: SignalId) -> Option<u32> {
        let width = self.module.signals.get(id.index()).map(|signal| signal.width);
        if width.is_none() {
            self.problem(format!("signal number {} does not exist", id.0));
        }
        width
    }

    fn all(&mut self) {
        let module = self.module;
        self.names();
        for signal in &module.signals {
            if signal.width == 0 {
                self.problem(format!("`{}` has no bits", signal.name));
            }
            if let SignalKind::Register { reset, next } = &signal.kind {
                let next = self.width(*next);
                if reset.width() != signal.width || next.is_some_and(|next| next != signal.width) {
                    self.problem(format!("register `{}` does not have one width throughout", signal.name));
                }
            }
            if signal.names.iter().any(|(value, _)| value.width() != signal.width) {
                self.problem(format!("a named value of `{}` has another width", signal.name));
            }
        }
        for table in &module.tables {
            let fits = !table.values.is_empty()
                && table.index_width < 32
                && table.values.len() as u64 <= 1 << table.index_width
                && table.values.iter().all(|value| value.width() == table.width);
            if !fits {
                self.problem(format!("table `{}` has no elements, too many, or some of another width", table.name));
            }
        }
        self.memories();
        for assign in &module.assigns {
            self.has_width(&assign.value, self.module.signals.get(assign.signal.index()).map_or(0, |s| s.width));
        }
        for process in &module.processes {
            self.block(&process.body);
            let mut given = BTreeSet::new();
            driven(&process.body, &mut given);
            let before = self.problems.len();
            let sure = self.assigned(&process.body, BTreeSet::new(), &given);
            for &signal in given.difference(&sure) {
                let name = self.name(signal);
                self.problem(format!("process `{}` gives `{name}` no value on some path", process.name));
            }
            // One and the same mistake is reported once.
            self.problems.truncate((before + 8).min(self.problems.len()));
        }
        self.instances();
        self.drivers();
    }

    fn names(&mut self) {
        let module = self.module;
        let mut names = HashSet::new();
        let all = module
            .signals
            .iter()
            .flat_map(|signal| {
                [signal.name.as_str()].into_iter().chain(signal.names.iter().map(|(_, name)| name.as_str()))
            })
            .chain(module.tables.iter().map(|table| table.name.as_str()))
            .chain(module.memories.iter().map(|memory| memory.name.as_str()))
            .chain(module.processes.iter().map(|process| process.name.as_str()))
            .chain(module.instances.iter().map(|instance| instance.name.as_str()));
        for name in all {
            if !is_identifier(name) {
                self.problem(format!("`{name}` is no identifier"));
            }
            if !names.insert(name) {
                self.problem(format!("`{name}` is there twice"));
            }
        }
    }

    fn memories(&mut self) {
        for memory in &self.module.memories {
            let address = index_bits(u64::from(memory.depth));
            let reads = memory.reads.iter().flat_map(|read| [(read.address, address), (read.data, memory.width)]);
            let writes = memory
                .writes
                .iter()
                .flat_map(|write| [(write.enable, 1), (write.address, address), (write.data, memory.width)]);
            for (signal, wanted) in reads.chain(writes) {
                if self.width(signal).is_some_and(|width| width != wanted) {
                    let name = self.name(signal);
                    self.problem(format!("`{name}` at memory `{}` does not have {wanted} bits", memory.name));
                }
            }
            if memory.depth < 2 || memory.width == 0 {
                self.problem(format!("memory `{}` has fewer than two words, or words without bits", memory.name));
            }
        }
    }

    fn instances(&mut self) {
        for instance in &self.module.instances {
            let found = self.design.module(&instance.module).filter(|(number, _)| *number < self.at);
            let Some((_, inner)) = found else {
                self.problem(format!("instance `{}` is of no module before this one", instance.name));
                continue;
            };
            for (_, port) in inner.ports() {
                let connected: Vec<_> = instance.connections.iter().filter(|one| one.port == port.name).collect();
                let fits = connected.len() == 1 && self.width(connected[0].signal) == Some(port.width);
                if !fits {
                    self.problem(format!(
                        "port `{}` of instance `{}` is not connected once, to {} bits",
                        port.name, instance.name, port.width
                    ));
                }
            }
            for connection in &instance.connections {
                if !inner.ports().any(|(_, port)| port.name == connection.port) {
                    self.problem(format!("instance `{}` has no port `{}`", instance.name, connection.port));
                }
            }
        }
    }

    fn drivers(&mut self) {
        let mut drivers = vec![0; self.module.signals.len()];
        let mut count = |id: SignalId| {
            if let Some(number) = drivers.get_mut(id.index()) {
                *number += 1;
            }
        };
        self.module.assigns.iter().for_each(|assign| count(assign.signal));
        for process in &self.module.processes {
            let mut given = BTreeSet::new();
            driven(&process.body, &mut given);
            given.into_iter().for_each(&mut count);
        }
        self.module.memories.iter().flat_map(|memory| &memory.reads).for_each(|read| count(read.data));
        for instance in &self.module.instances {
            let Some((_, inner)) = self.design.module(&instance.module) else { continue };
            for connection in &instance.connections {
                let port = inner.ports().find(|(_, port)| port.name == connection.port);
                if port.is_some_and(|(_, port)| port.kind == SignalKind::Output) {
                    count(connection.signal);
                }
            }
        }
        for (signal, n) in self.module.signals.iter().zip(drivers) {
            let wanted = usize::from(matches!(signal.kind, SignalKind::Wire | SignalKind::Output));
            if n != wanted {
                self.problem(format!("`{}` has {n} drivers and not {wanted}", signal.name));
            }
        }
    }

    fn has_width(&mut self, expr: &Expr, width: u32) {
        self.expr(expr);
        if expr.width != width {
            let text = self.shown(expr);
            self.problem(format!("{text} has {} bits and not {width}", expr.width));
        }
    }

    fn shown(&self, expr: &Expr) -> String {
        let text = shown(self.module, expr);
        if text.len() > 80 { format!("{}…", text.chars().take(80).collect::<String>()) } else { text }
    }

    fn expr(&mut self, expr: &Expr) {
        let width = expr.width;
        let fits = match &expr.kind {
            ExprKind::Constant(value) => value.width() == width,
            ExprKind::Signal(id) => match self.width(*id) {
                Some(own) => own == width,
                // What does not exist is reported once, and cannot be shown.
                None => return,
            },
            ExprKind::Lookup(table, index) => {
                let Some(table) = self.module.tables.get(table.index()) else {
                    return self.problem("a table does not exist");
                };
                self.has_width(index, table.index_width);
                table.width == width
            }
            ExprKind::Unary(_, x) => {
                self.has_width(x, width);
                true
            }
            ExprKind::Binary(_, a, b) => {
                self.has_width(a, width);
                self.has_width(b, width);
                true
            }
            ExprKind::Shift(_, a, b) => {
                self.has_width(a, width);
                self.expr(b);
                true
            }
            ExprKind::Compare(_, a, b) => {
                self.expr(a);
                self.has_width(b, a.width);
                width == 1
            }
            ExprKind::Select(condition, a, b) => {
                self.has_width(condition, 1);
                self.has_width(a, width);
                self.has_width(b, width);
                true
            }
            ExprKind::Concat(parts) => {
                parts.iter().for_each(|part| self.expr(part));
                !parts.is_empty() && parts.iter().map(|part| u64::from(part.width)).sum::<u64>() == u64::from(width)
            }
            ExprKind::Slice(x, low) => {
                self.expr(x);
                u64::from(*low) + u64::from(width) <= u64::from(x.width)
            }
            ExprKind::Part(id, low) => {
                self.expr(low);
                match self.width(*id) {
                    Some(own) => width <= own,
                    None => return,
                }
            }
            ExprKind::Extend(_, x) => {
                self.expr(x);
                x.width <= width
            }
        };
        if !fits || width == 0 {
            let text = self.shown(expr);
            self.problem(format!("{text} does not have {width} bits"));
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        for statement in block {
            match statement {
                Stmt::Comment(_) => {}
                Stmt::Assign(target, value) => {
                    let Some(own) = self.width(target.signal) else { continue };
                    match &target.part {
                        None => self.has_width(value, own),
                        Some((at, width)) => {
                            self.expr(at);
                            self.has_width(value, *width);
                            if *width > own {
                                let name = self.name(target.signal);
                                self.problem(format!("a part of `{name}` is wider than all of it"));
                            }
                        }
                    }
                }
                Stmt::If(condition, ..) => self.has_width(condition, 1),
                Stmt::Case(value, arms, _) => {
                    self.expr(value);
                    let mut seen = HashSet::new();
                    if arms.iter().any(|(case, _)| case.width() != value.width || !seen.insert(case)) {
                        self.problem("a case has a value twice, or one of another width");
                    }
                }
            }
            statement.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    /// What surely has a value after a block, given what has one before; `given` is all that the process drives.
    fn assigned(
        &mut self,
        block: &[Stmt],
        before: BTreeSet<SignalId>,
        given: &BTreeSet<SignalId>,
    ) -> BTreeSet<SignalId> {
        let mut sure = before;
        for statement in block {
            let mut early = Vec::new();
            for value in statement.exprs() {
                value.signals(&mut |id| {
                    if given.contains(&id) && !sure.contains(&id) {
                        early.push(id);
                    }
                });
            }
            match statement {
                Stmt::Assign(target, _) => {
                    if target.part.is_some() && !sure.contains(&target.signal) {
                        early.push(target.signal);
                    }
                    sure.insert(target.signal);
                }
                Stmt::Comment(_) => {}
                _ => {
                    let ends: Vec<_> =
                        statement.blocks().into_iter().map(|block| self.assigned(block, sure.clone(), given)).collect();
                    let common = ends.into_iter().reduce(|a, b| a.intersection(&b).copied().collect());
                    sure = common.unwrap_or_default();
                }
            }
            for id in early {
                let name = self.name(id);
                self.problem(format!("`{name}` is read, or assigned in part, before it has a value"));
            }
        }
        sure
    }

    fn loops(&mut self, paths: &[Paths]) -> Paths {
        let nodes = depend::nodes(self.module, self.design, paths);
        depend::paths(self.module, &nodes).unwrap_or_else(|looped| {
            let names: Vec<&str> = looped.iter().map(|&id| self.name(id)).collect();
            self.problem(format!("depends on itself within a cycle: {}", names.join(", ")));
            Paths::new()
        })
    }
}

/// All signals that a block assigns.
pub(crate) fn driven(block: &[Stmt], given: &mut BTreeSet<SignalId>) {
    for statement in block {
        if let Stmt::Assign(target, _) = statement {
            given.insert(target.signal);
        }
        statement.blocks().into_iter().for_each(|block| driven(block, given));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn problems(text: &str) -> Vec<String> {
        verify(&read(text).expect("reads"))
    }

    #[test]
    fn what_is_as_it_must_be_passes() {
        let text = "module counter\n    input enable_i: 1\n    output count_o: 4\n    wire count_d: 4\n    \
                    register count_q: 4 = 4'h0 next count_d\n    assign count_o = count_q\n    process count\n        \
                    count_d = count_q\n        if enable_i\n            count_d = add(count_q, 4'h1)\n";
        assert_eq!(problems(text), Vec::<String>::new());
    }

    #[test]
    fn each_mistake_is_found() {
        let head = "module m\n    input a: 1\n    input b: 4\n    output o: 4\n";
        for (body, wanted) in [
            ("    assign o = add(b, 3'h1)\n", "3'h1 has 3 bits and not 4"),
            ("    assign o = zext(a, 3)\n", "zext(a, 3) has 3 bits and not 4"),
            ("    assign o = b\n    assign o = b\n", "`o` has 2 drivers and not 1"),
            ("", "`o` has 0 drivers and not 1"),
            ("    assign o = b\n    assign b = 4'h0\n", "`b` has 1 drivers and not 0"),
            ("    process p\n        if a\n            o = b\n", "process `p` gives `o` no value on some path"),
            ("    process p\n        o = add(o, b)\n", "`o` is read, or assigned in part, before it has a value"),
            ("    assign o = not(o)\n", "depends on itself within a cycle: o"),
            (
                "    wire w: 4\n    assign o = w\n    process p\n        w = not(o)\n",
                "depends on itself within a cycle",
            ),
            ("    process p\n        o = b\n        if b\n            o = 4'h0\n", "b has 4 bits and not 1"),
            (
                "    process p\n        case a\n            when 1'h0\n                o = b\n            when 1'h0\n                \
                 o = b\n            default\n                o = b\n",
                "a case has a value twice",
            ),
            ("    assign o = slice(b, 1, 4)\n", "slice(b, 1, 4) does not have 4 bits"),
            ("    assign o = b\n    instance i: n\n", "instance `i` is of no module before this one"),
            ("    assign o = b\n    register a: 1 = 1'h0 next a\n", "`a` is there twice"),
            ("    assign o = b\n    table t: 1 -> 2 = 0 1 2\n", "table `t` has no elements, too many"),
            (
                "    wire d: 4\n    memory r: 4 x 3\n        read b d\n    assign o = d\n",
                "`b` at memory `r` does not have 2",
            ),
        ] {
            let found = problems(&format!("{head}{body}"));
            assert!(found.iter().any(|problem| problem.contains(wanted)), "{body}: {found:?}");
        }
    }

    #[test]
    fn loops_through_instances_are_found_and_paths_that_are_none_are_not() {
        let inner = "module inner\n    input a: 1\n    input b: 1\n    output x: 1\n    output y: 1\n    \
                     assign x = a\n    assign y = b\n";
        let outer = |feedback: &str| {
            format!(
                "{inner}module outer\n    input i: 1\n    output o: 1\n    wire w: 1\n    wire v: 1\n    instance u: inner\n        \
                 a = i\n        b = {feedback}\n        x = w\n        y = v\n    assign o = v\n"
            )
        };
        assert_eq!(problems(&outer("w")), Vec::<String>::new());
        assert!(problems(&outer("v")).iter().any(|problem| problem.contains("depends on itself")));
    }
}
