//! Legalisation: what Verilog cannot say in one expression gets signals of its own.
//!
//! Bits are selected of signals only, so an operand of a slice or of a sign extension that is none becomes one. Operators that
//! mean signs (shifts that fill with the sign, signed division) stand alone on the right side of an assignment, since operands
//! without a sign around them would take the sign away.

use headrace_rtl::{Assign, BinaryOp, Expr, ExprKind, Module, ShiftOp, SignalId, SignalKind, Stmt, Target};
use std::collections::{BTreeMap, HashSet};

/// The module with the signals that it needs more.
pub(crate) fn legalised(module: &Module) -> Module {
    let names = module.signals.iter().map(|signal| signal.name.clone()).collect();
    let mut legal = Legal { module: module.clone(), names, number: 0 };
    for assign in std::mem::take(&mut legal.module.assigns) {
        let mut before = Vec::new();
        let value = legal.operands(assign.value, &mut before);
        legal.module.assigns.extend(before.into_iter().map(|(signal, value)| Assign { signal, value }));
        legal.module.assigns.push(Assign { signal: assign.signal, value });
    }
    constant_processes(&mut legal.module);
    for at in 0..legal.module.processes.len() {
        let body = std::mem::take(&mut legal.module.processes[at].body);
        let first = legal.module.signals.len();
        let body = legal.block(body);
        // On paths on which they are not needed they are zero: there is no latch.
        let own = (first..legal.module.signals.len()).map(|at| {
            let width = legal.module.signals[at].width;
            Stmt::assign(SignalId(at as u32), Expr::number(width, 0))
        });
        legal.module.processes[at].body = own.chain(body).collect();
    }
    legal.module
}

/// A process that reads nothing would never run: it becomes assignments that always hold.
fn constant_processes(module: &mut Module) {
    for process in std::mem::take(&mut module.processes) {
        let mut values: BTreeMap<SignalId, Expr> = BTreeMap::new();
        let is_constant = process.body.iter().all(|statement| match statement {
            Stmt::Assign(target, value) if target.part.is_none() && value.value().is_some() => {
                values.insert(target.signal, value.clone());
                true
            }
            Stmt::Comment(_) => true,
            _ => false,
        });
        if is_constant {
            module.assigns.extend(values.into_iter().map(|(signal, value)| Assign { signal, value }));
        } else {
            module.processes.push(process);
        }
    }
}

struct Legal {
    module: Module,
    names: HashSet<String>,
    number: u32,
}

/// Signals with what they are, to be assigned before they are used.
type Before = Vec<(SignalId, Expr)>;

impl Legal {
    fn hoisted(&mut self, value: Expr, before: &mut Before) -> Expr {
        if let ExprKind::Signal(_) = value.kind {
            return value;
        }
        if let Some((known, _)) = before.iter().find(|(_, known)| *known == value) {
            return self.module.get(*known);
        }
        let name = loop {
            self.number += 1;
            let name = format!("value_{}", self.number);
            if self.names.insert(name.clone()) {
                break name;
            }
        };
        let id = self.module.add(name, value.width, SignalKind::Wire);
        before.push((id, value));
        self.module.get(id)
    }

    fn expr(&mut self, value: Expr, before: &mut Before) -> Expr {
        let value = self.operands(value, before);
        let stands_alone = matches!(
            value.kind,
            ExprKind::Shift(ShiftOp::RightSigned, ..) | ExprKind::Binary(BinaryOp::DivSigned | BinaryOp::RemSigned, ..)
        );
        if stands_alone { self.hoisted(value, before) } else { value }
    }

    /// The operands of an expression, which itself may stand alone on the right side of an assignment.
    fn operands(&mut self, mut value: Expr, before: &mut Before) -> Expr {
        let needs_signal = matches!(value.kind, ExprKind::Slice(..) | ExprKind::Extend(true, _));
        for part in value.parts_mut() {
            let own = std::mem::replace(part, Expr::bit(false));
            let own = self.expr(own, before);
            *part = if needs_signal { self.hoisted(own, before) } else { own };
        }
        value
    }

    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut all = Vec::new();
        for statement in block {
            let mut before = Vec::new();
            let statement = match statement {
                Stmt::Assign(target, value) => {
                    let part = target.part.map(|(at, width)| (self.expr(at, &mut before), width));
                    let value = self.operands(value, &mut before);
                    Stmt::Assign(Target { signal: target.signal, part }, value)
                }
                Stmt::If(condition, yes, no) => {
                    let condition = self.expr(condition, &mut before);
                    Stmt::If(condition, self.block(yes), self.block(no))
                }
                Stmt::Case(value, arms, rest) => {
                    let value = self.expr(value, &mut before);
                    let arms = arms.into_iter().map(|(case, arm)| (case, self.block(arm))).collect();
                    Stmt::Case(value, arms, self.block(rest))
                }
                comment => comment,
            };
            all.extend(before.into_iter().map(|(signal, value)| Stmt::assign(signal, value)));
            all.push(statement);
        }
        all
    }
}
