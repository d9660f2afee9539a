//! Code-size policy of automata. Which transitions are better short than fast.
//!
//! What a message comes through once takes a small part of its time, but has a transition of its own wherever a message
//! may begin, end or be cut. Where all of them are long, what they repeat is a loop. What comes again and again stays
//! as it is: transitions that lead back to their state, at once or by one other transition. So does an automaton that
//! is not long.
//!
//! Compilers that work while a program runs do little for code that is long. For them rounds of every long transition
//! are loops that registers hold, whether it comes again or not.

use super::automaton::{Automaton, Different};
use crate::kernel::{Effect, Graph, Object};
use crate::passes::reassociate_by_arrival::late_terms_last_in;
use crate::passes::reroll_loops::{Aim, Rolled, reroll_loops};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Values of all transitions that differ, from which on an automaton is long: about a megabyte of C.
const LONG: usize = 60_000;

/// What is made short in the code of an automaton.
#[derive(Clone, Debug)]
pub struct Brevity<'a> {
    automaton: &'a Automaton,
    /// The states that transitions of each lead to; nothing where the automaton is not long.
    next: Option<Vec<BTreeSet<usize>>>,
    /// Values of a transition that no compiler should get as it is.
    most_values: Option<usize>,
    /// What became of effects, for registers and for brevity: many states have the same.
    known: [RefCell<Known>; 2],
}

type Known = FxHashMap<Vec<Effect>, Option<Rc<Rolled>>>;

impl<'a> Brevity<'a> {
    /// Looks at the transitions of an automaton. CountedPaths of those with more than `most_values` values are loops
    /// that registers hold.
    pub fn of(automaton: &'a Automaton, most_values: Option<usize>) -> Self {
        let next = |state: &super::ControlState| {
            let mut targets = BTreeSet::new();
            state.step.transitions(&mut |_, target| {
                targets.insert(target);
            });
            targets
        };
        let next = is_long(automaton).then(|| automaton.states.iter().map(next).collect());
        Self { automaton, next, most_values, known: Default::default() }
    }

    /// Effects of a transition that leads from a state to another, with loops for what they repeat; `None` where they
    /// stay as they are.
    pub fn rolled(&self, effects: &[Effect], from: usize, to: usize) -> Option<Rc<Rolled>> {
        let Automaton { graph, objects, .. } = self.automaton;
        let [in_registers, short] = &self.known;
        if self.most_values.is_some_and(|most| Effect::needed(effects, graph).len() > most) {
            // All objects of an automaton are lists.
            let rolled = once(in_registers, effects, || rounds_in_registers(graph, objects, effects, objects.len()));
            if rolled.is_some() {
                return rolled;
            }
        }
        let next = self.next.as_ref()?;
        let comes_again = from == to || next.get(to)?.contains(&from);
        if comes_again {
            return None;
        }
        once(short, effects, || reroll_loops(graph, objects, effects, Aim::Brevity))
    }
}

/// What became of effects, which is found once.
fn once(known: &RefCell<Known>, effects: &[Effect], found: impl FnOnce() -> Option<Rolled>) -> Option<Rc<Rolled>> {
    if let Some(known) = known.borrow().get(effects) {
        return known.clone();
    }
    let rolled = found().map(Rc::new);
    known.borrow_mut().insert(effects.to_vec(), rolled.clone());
    rolled
}

/// Effects with loops for what they repeat that registers hold, in which late terms are added last, because iterations
/// wait for each other; `n_indexed` as in [`Aim::Registers`]. `None` where there are no such loops.
pub fn rounds_in_registers(graph: &Graph, objects: &[Object], effects: &[Effect], n_indexed: usize) -> Option<Rolled> {
    let mut rolled = reroll_loops(graph, objects, effects, Aim::Registers { n_indexed })?;
    if let Some(sooner) = late_terms_last_in(&rolled.graph, &rolled.effects) {
        (rolled.graph, rolled.effects) = sooner;
    }
    Some(rolled)
}

fn is_long(automaton: &Automaton) -> bool {
    let mut met = Different::default();
    let mut values = 0;
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            if values < LONG && met.is_new(&transition.effects) {
                values += Effect::needed(&transition.effects, &automaton.graph).len();
            }
        });
    }
    values >= LONG
}
