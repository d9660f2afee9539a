//! Which kernels are better short than fast.
//!
//! What a message comes through once takes a small part of its time, but has a kernel of its own wherever a message may
//! begin, end or be cut. Where all of them are long, what they repeat is a loop. What comes again and again stays as it is:
//! kernels that lead back to their state, at once or by one other kernel. So does an automaton that is not long.

use super::automaton::{Automaton, Different};
use crate::kernel::Effect;
use crate::passes::rolled_rounds::{Aim, Rolled, rolled_rounds};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Values of all kernels that differ, from which on an automaton is long: about a megabyte of C.
const LONG: usize = 60_000;

/// What is made short in the code of an automaton.
#[derive(Clone, Debug)]
pub struct Brevity<'a> {
    automaton: &'a Automaton,
    /// The states that kernels of each lead to; nothing where the automaton is not long.
    next: Option<Vec<BTreeSet<usize>>>,
    /// What became of effects: many states have the same.
    known: RefCell<HashMap<Vec<Effect>, Option<Rc<Rolled>>>>,
}

impl<'a> Brevity<'a> {
    /// Looks at the kernels of an automaton.
    pub fn of(automaton: &'a Automaton) -> Self {
        let next = |state: &super::ControlState| {
            let mut targets = BTreeSet::new();
            state.step.kernels(&mut |_, target| {
                targets.insert(target);
            });
            targets
        };
        let next = is_long(automaton).then(|| automaton.states.iter().map(next).collect());
        Self { automaton, next, known: RefCell::default() }
    }

    /// Effects of a kernel that leads from a state to another, with loops for what they repeat; `None` where they stay as
    /// they are.
    pub fn rolled(&self, effects: &[Effect], from: usize, to: usize) -> Option<Rc<Rolled>> {
        let next = self.next.as_ref()?;
        let comes_again = from == to || next.get(to)?.contains(&from);
        if comes_again {
            return None;
        }
        if let Some(known) = self.known.borrow().get(effects) {
            return known.clone();
        }
        let Automaton { graph, objects, .. } = self.automaton;
        let rolled = rolled_rounds(graph, objects, effects, Aim::Brevity).map(Rc::new);
        self.known.borrow_mut().insert(effects.to_vec(), rolled.clone());
        rolled
    }
}

fn is_long(automaton: &Automaton) -> bool {
    let mut met = Different::default();
    let mut values = 0;
    for state in &automaton.states {
        state.step.kernels(&mut |kernel, _| {
            if values < LONG && met.is_new(&kernel.effects) {
                values += Effect::needed(&kernel.effects, &automaton.graph).len();
            }
        });
    }
    values >= LONG
}
