//! Code sinking in a process: what several branches assign alike to a wide signal stands once behind them, behind a multiplexer whose
//! select signal they set instead.
//!
//! A window of tokens moves on in every action that takes some, by as many as it takes. Synthesis makes a row of multiplexers as
//! wide as the window of every branch, and does not find out that most have the same inputs; of this it makes the select signal
//! once, of a few bits, and one multiplexer for the different values.

use headrace_rtl::{Bits, Expr, Module, SignalId, SignalKind, Stmt, index_bits};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of assignments that must be saved for a select signal to pay.
const LEAST_SAVED: u32 = 32;

/// Statements that do the same as `block`, for the module that they are of; `name` gives names that nothing else has.
pub(crate) fn sunk(block: Vec<Stmt>, module: &mut Module, name: &mut dyn FnMut(&str) -> String) -> Vec<Stmt> {
    let mut seen = Seen::default();
    seen.block(&block);
    let mut chosen: BTreeMap<SignalId, Choice> = BTreeMap::new();
    for (&signal, values) in &seen.whole {
        if seen.read.contains(&signal) || seen.parts.contains(&signal) {
            continue;
        }
        let mut lasting: Vec<(Expr, u32)> = Vec::new();
        for value in values.iter().filter(|value| seen.is_lasting(value)) {
            match lasting.iter_mut().find(|known| known.0 == *value) {
                Some(known) => known.1 += 1,
                None => lasting.push((value.clone(), 1)),
            }
        }
        let own = module.signal(signal);
        let saved: u32 = lasting.iter().map(|(_, n)| (n - 1) * own.width).sum();
        if saved >= LEAST_SAVED {
            let base = own.name.strip_suffix("_d").unwrap_or(&own.name).to_owned();
            let width = index_bits(lasting.len() as u64 + 1);
            let number = module.add(name(&format!("{base}_sel")), width, SignalKind::Wire);
            module.signals[number.index()].about =
                format!("select signal: which value {base} gets behind all branches; 0: none");
            chosen.insert(
                signal,
                Choice { number, width, values: lasting.into_iter().map(|(value, _)| value).collect() },
            );
        }
    }
    if chosen.is_empty() {
        return block;
    }
    let none = chosen.values().map(|choice| choice.numbered(0));
    let behind = chosen.iter().map(|(&signal, choice)| {
        let arms = choice
            .values
            .iter()
            .zip(1_u32..)
            .map(|(value, number)| (Bits::new(choice.width, number), vec![Stmt::assign(signal, value.clone())]));
        Stmt::Case(Expr::signal(choice.number, choice.width), arms.collect(), Vec::new())
    });
    let (none, behind): (Vec<Stmt>, Vec<Stmt>) = (none.collect(), behind.collect());
    none.into_iter().chain(replaced(block, &chosen)).chain(behind).collect()
}

/// What a signal gets behind a block.
struct Choice {
    /// The select signal.
    number: SignalId,
    width: u32,
    /// The values, by their numbers less one.
    values: Vec<Expr>,
}

impl Choice {
    fn numbered(&self, number: usize) -> Stmt {
        Stmt::assign(self.number, Expr::number(self.width, number as u64))
    }
}

/// What statements do to signals.
#[derive(Default)]
struct Seen {
    /// Values that all of a signal is assigned.
    whole: BTreeMap<SignalId, Vec<Expr>>,
    /// Signals of which parts are assigned.
    parts: BTreeSet<SignalId>,
    read: BTreeSet<SignalId>,
}

impl Seen {
    fn block(&mut self, block: &[Stmt]) {
        for statement in block {
            for value in statement.exprs() {
                value.signals(&mut |signal| {
                    self.read.insert(signal);
                });
            }
            if let Stmt::Assign(target, value) = statement {
                match target.part {
                    None => self.whole.entry(target.signal).or_default().push(value.clone()),
                    Some(_) => {
                        self.parts.insert(target.signal);
                    }
                }
            }
            statement.blocks().into_iter().for_each(|inner| self.block(inner));
        }
    }

    /// Whether a value is the same behind the statements.
    fn is_lasting(&self, value: &Expr) -> bool {
        let mut lasts = true;
        value.signals(&mut |signal| lasts &= !self.whole.contains_key(&signal) && !self.parts.contains(&signal));
        lasts
    }
}

/// A block that sets select signals instead of signals.
fn replaced(block: Vec<Stmt>, chosen: &BTreeMap<SignalId, Choice>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for statement in block {
        match statement {
            Stmt::Assign(target, value) => match chosen.get(&target.signal) {
                None => out.push(Stmt::Assign(target, value)),
                Some(choice) => match choice.values.iter().position(|known| *known == value) {
                    Some(at) => out.push(choice.numbered(at + 1)),
                    // The last assignment counts.
                    None => out.extend([choice.numbered(0), Stmt::Assign(target, value)]),
                },
            },
            Stmt::If(condition, yes, no) => {
                out.push(Stmt::If(condition, replaced(yes, chosen), replaced(no, chosen)));
            }
            Stmt::Case(value, arms, rest) => {
                let arms = arms.into_iter().map(|(bits, arm)| (bits, replaced(arm, chosen)));
                out.push(Stmt::Case(value, arms.collect(), replaced(rest, chosen)));
            }
            comment @ Stmt::Comment(_) => out.push(comment),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_branches_assign_alike_stands_once_behind_them() {
        let mut module = Module::new("m");
        let (window, next) = module.add_register("window", Bits::zero(64));
        let choice = module.add("which", 2, SignalKind::Input);
        let moved = module.get(window).slice(8, 56).extended(false, 64);
        let arm = |number: u64, value: Expr| (Bits::new(2, number), vec![Stmt::assign(next, value)]);
        let late = module.get(choice).extended(false, 64);
        let arms = vec![arm(0, moved.clone()), arm(1, moved.clone()), arm(2, late.clone())];
        let block = vec![Stmt::Case(module.get(choice), arms, Vec::new())];
        let mut name = |base: &str| base.to_owned();
        let out = sunk(block.clone(), &mut module, &mut name);
        let number = module.find("window_sel").unwrap();
        assert_eq!(out.first(), Some(&Stmt::assign(number, Expr::number(2, 0))));
        let arms = vec![
            (Bits::new(2, 1_u32), vec![Stmt::assign(next, moved)]),
            (Bits::new(2, 2_u32), vec![Stmt::assign(next, late)]),
        ];
        assert_eq!(out.last(), Some(&Stmt::Case(Expr::signal(number, 2), arms, Vec::new())));
        // Who reads it in between needs it there.
        let reads = vec![block[0].clone(), Stmt::assign(choice, module.get(next).slice(0, 2))];
        assert_eq!(sunk(reads.clone(), &mut module, &mut name), reads);
    }

    #[test]
    fn the_last_assignment_counts() {
        let mut module = Module::new("m");
        let (window, next) = module.add_register("window", Bits::zero(64));
        let other = module.add("other", 64, SignalKind::Wire);
        let (moved, late) = (module.get(window).inverted(), module.get(other));
        let twice = |value: &Expr| Stmt::assign(next, value.clone());
        let block = vec![Stmt::assign(other, Expr::number(64, 5)), twice(&moved), twice(&moved), twice(&late)];
        let out = sunk(block, &mut module, &mut |base| base.to_owned());
        let number = module.find("window_sel").unwrap();
        let none = Stmt::assign(number, Expr::number(1, 0));
        assert_eq!(out[out.len() - 3..out.len() - 1], [none, twice(&late)]);
    }
}
