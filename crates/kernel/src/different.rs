//! Value numbering of transitions, up to the names of temporaries. Which transitions of an automaton do the same, whatever the
//! loads and lists are called that are theirs alone.
//!
//! Exploration gives each load and each list of an action a new number wherever it comes to it. A key schedule in fifty states is
//! still one function in what is printed, and counts once.

use crate::automaton::{Automaton, Step};
use crate::{Effect, Graph, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// Transitions of an automaton that differ from each other.
#[derive(Clone)]
pub struct Different<'a> {
    automaton: &'a Automaton,
    forms: Rc<RefCell<Forms>>,
    /// Those that have been met, as numbers of their forms.
    met: FxHashSet<usize>,
}

/// What transitions do: their effects over a graph of their own, and width and length of the lists that are theirs alone.
type Form = (Vec<Effect>, Vec<(u32, usize)>);

struct Forms {
    graph: Graph,
    numbers: FxHashMap<Form, usize>,
    /// The numbers of those that have been looked at, by the effects as they were.
    of: FxHashMap<Vec<Effect>, usize>,
}

impl<'a> Different<'a> {
    /// None so far.
    pub fn of(automaton: &'a Automaton) -> Self {
        let graph = Graph::with_tables_of(&automaton.graph);
        let forms = Forms { graph, numbers: FxHashMap::default(), of: FxHashMap::default() };
        Different { automaton, forms: Rc::new(RefCell::new(forms)), met: FxHashSet::default() }
    }

    /// Adds the transitions of a step; gives how many effects those have that were not there.
    pub fn meet(&mut self, step: &Step) -> usize {
        let mut n = 0;
        step.transitions(&mut |transition, _| {
            if self.is_new(&transition.effects) {
                Effect::walk(&transition.effects, &mut |_| n += 1);
            }
        });
        n
    }

    /// Adds a kernel; gives whether it was not there.
    pub fn is_new(&mut self, effects: &[Effect]) -> bool {
        let number = self.forms.borrow_mut().number(self.automaton, effects);
        self.met.insert(number)
    }
}

impl Forms {
    fn number(&mut self, automaton: &Automaton, effects: &[Effect]) -> usize {
        if let Some(&known) = self.of.get(effects) {
            return known;
        }
        let form = self.form(automaton, effects);
        let next = self.numbers.len();
        let number = *self.numbers.entry(form).or_insert(next);
        self.of.insert(effects.to_vec(), number);
        number
    }

    /// What effects do, with loads and lists of their own by the order in which they come.
    fn form(&mut self, automaton: &Automaton, effects: &[Effect]) -> Form {
        let mut own = Own::default();
        let mut lists = Vec::new();
        Effect::walk(effects, &mut |effect| {
            if let Effect::Load { id, .. } = effect {
                let next = own.loads.len() as u32;
                own.loads.entry(*id).or_insert(next);
            }
            if let Effect::Load { object, .. } | Effect::Store { object, .. } = *effect {
                let list = automaton.object(object);
                if !list.persistent && !own.lists.contains_key(&object) {
                    own.lists.insert(object, ObjectId(u32::MAX - lists.len() as u32));
                    lists.push((list.width, list.length));
                }
            }
        });
        let from = &automaton.graph;
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in Effect::needed(effects, from) {
            let width = from.width(id);
            let made = match from.op(id) {
                Op::Loaded(load) => Some(self.graph.add(Op::Loaded(own.load(*load)), width)),
                Op::Entry { object, index } => {
                    new.get(index).map(|&index| self.graph.entry(own.list(*object), index, width))
                }
                _ => self.graph.copy(from, id, &new),
            };
            new.extend(made.map(|made| (id, made)));
        }
        let moved = effects.iter().filter_map(|effect| effect.moved(&new));
        (moved.map(|effect| own.renamed(effect)).collect(), lists)
    }
}

/// New names of what a transition has to itself.
#[derive(Default)]
struct Own {
    loads: FxHashMap<u32, u32>,
    lists: FxHashMap<ObjectId, ObjectId>,
}

impl Own {
    fn load(&self, id: u32) -> u32 {
        // What is loaded before the transition keeps its name, beyond those of the others.
        self.loads.get(&id).copied().unwrap_or(u32::MAX - id)
    }

    fn list(&self, object: ObjectId) -> ObjectId {
        self.lists.get(&object).copied().unwrap_or(object)
    }

    fn renamed(&self, effect: Effect) -> Effect {
        let all = |effects: Vec<Effect>| effects.into_iter().map(|effect| self.renamed(effect)).collect();
        match effect {
            Effect::Load { id, object, index } => Effect::Load { id: self.load(id), object: self.list(object), index },
            Effect::Store { object, index, value } => Effect::Store { object: self.list(object), index, value },
            Effect::While { before, condition, body, span } => {
                Effect::While { before: all(before), condition, body: all(body), span }
            }
            Effect::If { condition, then, otherwise } => {
                Effect::If { condition, then: all(then), otherwise: all(otherwise) }
            }
            Effect::Output { .. } | Effect::Check { .. } => effect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Transition};

    fn go(effects: Vec<Effect>) -> Step {
        Step::Go { transition: Transition { effects, consumes: Vec::new(), produces: Vec::new() }, target: 0 }
    }

    #[test]
    fn equal_kernels_count_once() {
        let mut automaton = Automaton::default();
        let value = automaton.graph.number(7, 8);
        let step = |n: u64| go((0..n).map(|offset| Effect::Output { port: 0, offset, value }).collect());
        let mut met = Different::of(&automaton);
        assert_eq!([step(2), step(2), step(3)].each_ref().map(|step| met.meet(step)), [2, 0, 3]);
    }

    #[test]
    fn kernels_that_differ_in_names_of_what_is_theirs_alone_count_once() {
        let mut automaton = Automaton::default();
        for length in [8, 8, 9] {
            let object = Object { name: "local".into(), width: 8, length, persistent: false, residue: None };
            automaton.objects.push(object);
        }
        let index = automaton.graph.number(3, 32);
        let mut step = |list: u32, id: u32| {
            let loaded = automaton.graph.add(Op::Loaded(id), 8);
            let value = automaton.graph.not(loaded);
            let object = ObjectId(list);
            go(vec![Effect::Load { id, object, index }, Effect::Store { object, index, value }])
        };
        let steps = [step(0, 5), step(1, 17), step(2, 18)];
        let mut met = Different::of(&automaton);
        assert_eq!(steps.each_ref().map(|step| met.meet(step)), [2, 0, 2]);
    }
}
