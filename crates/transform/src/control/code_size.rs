//! Code-size policy of automata. Which transitions are better short than fast.
//!
//! What a message comes through once takes a small part of its time, but has a transition of its own wherever a message
//! may begin, end or be cut. Where all of them are long, what they repeat is a loop. What comes again and again stays
//! as it is: transitions that lead back to their state, at once or by one other transition. So does an automaton that
//! is not long.
//!
//! Compilers that work while a program runs do little for code that is long. For them rounds of every long transition
//! are loops that registers hold, whether it comes again or not.

use super::automaton::Automaton;
use crate::kernel::different::Different;
use crate::kernel::{Block, Effect};
use crate::passes::pass::BlockRef;
use crate::passes::{reassociate_by_arrival, reroll_loops};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Values of all transitions that differ, from which on an automaton is long: about a megabyte of C.
const LONG_AUTOMATON_VALUES: usize = 60_000;

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

type Known = FxHashMap<Vec<Effect>, Option<Rc<Block>>>;

impl<'a> Brevity<'a> {
    /// Looks at the transitions of an automaton. Rounds of those with more than `most_values` values are loops
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
    pub fn rolled(&self, effects: &[Effect], from: usize, to: usize) -> Option<Rc<Block>> {
        let Automaton { graph, objects, .. } = self.automaton;
        let [in_registers, short] = &self.known;
        // All objects of an automaton are lists.
        let block = BlockRef { graph, objects, effects, n_indexed: objects.len(), filled: &[] };
        if self.most_values.is_some_and(|most| Effect::needed(effects, graph).len() > most) {
            let rolled = once(in_registers, effects, || {
                let rolled = reroll_loops::PASS.on_block(block)?;
                // Iterations of what is a loop now wait for each other.
                Some(reassociate_by_arrival::PASS.on_block(BlockRef::of(&rolled)).unwrap_or(rolled))
            });
            if rolled.is_some() {
                return rolled;
            }
        }
        let next = self.next.as_ref()?;
        let comes_again = from == to || next.get(to)?.contains(&from);
        if comes_again {
            return None;
        }
        once(short, effects, || reroll_loops::FOR_SIZE.on_block(block))
    }
}

/// What became of effects, which is found once.
fn once(known: &RefCell<Known>, effects: &[Effect], found: impl FnOnce() -> Option<Block>) -> Option<Rc<Block>> {
    if let Some(known) = known.borrow().get(effects) {
        return known.clone();
    }
    let rolled = found().map(Rc::new);
    known.borrow_mut().insert(effects.to_vec(), rolled.clone());
    rolled
}

fn is_long(automaton: &Automaton) -> bool {
    let mut met = Different::of(automaton);
    let mut values = 0;
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            if values < LONG_AUTOMATON_VALUES && met.is_new(&transition.effects) {
                values += Effect::needed(&transition.effects, &automaton.graph).len();
            }
        });
    }
    values >= LONG_AUTOMATON_VALUES
}
