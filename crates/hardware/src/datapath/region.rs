//! Regions: networks whose control automaton is finite and complete, in the form in which a datapath runs them.
//!
//! A state waits for tokens and decides, and then a task is done: a transition of the automaton, with what it computes, stores and puts
//! out. What is refused here stays a network of actors.

use headrace_ir::Network;
use headrace_kernel::automaton::{Automaton, Step};
use headrace_kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, Transition};
use headrace_transform::control::{Limits, Unrolling, automaton_of};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Elements of all objects together, in bits, that may lie in registers.
const MOST_BITS: u64 = 1 << 15;

/// How far the control of a region is explored: cores have few states.
const LIMITS: Limits = Limits {
    states: 64,
    nodes: 200_000,
    firings: 5_000,
    values: 12,
    // Whatever a task does must be straight.
    unrolling: Unrolling { iterations: 300, operations: 160_000 },
    outputs: Vec::new(),
};

/// What may happen in a state.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Branch {
        condition: NodeId,
        then: Box<Tree>,
        otherwise: Box<Tree>,
    },
    /// Input ports with the tokens that must be there; the first that has them decides.
    Wait(Vec<(usize, u64, Tree)>),
    /// The first where one of its tasks can be done, else the second.
    Else(Box<Tree>, Box<Tree>),
    /// A task, and the state behind it.
    Go {
        task: usize,
        target: usize,
        /// Tasks that begin with it.
        beside: Vec<usize>,
    },
    End,
}

/// A transition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    /// Port, number of the token, value.
    pub(crate) outputs: Vec<(usize, u64, NodeId)>,
    /// Object, element, value; each element once.
    pub(crate) stores: Vec<(ObjectId, usize, NodeId)>,
    pub(crate) consumes: Vec<u64>,
    pub(crate) produces: Vec<u64>,
}

impl Task {
    pub(crate) fn roots(&self) -> Vec<NodeId> {
        let outputs = self.outputs.iter().map(|one| one.2);
        outputs.chain(self.stores.iter().map(|one| one.2)).collect()
    }
}

/// A network as states and tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub(crate) graph: Graph,
    pub(crate) objects: Vec<Object>,
    pub(crate) initial: Vec<Vec<u128>>,
    /// What may happen in each state, and what is known there, for readers.
    pub(crate) states: Vec<(Tree, String)>,
    pub(crate) tasks: Vec<Task>,
    /// Objects that are no memory, but 1 in the cycle in which a task begins.
    pub(crate) begins: FxHashMap<ObjectId, usize>,
}

impl Tree {
    /// The trees right below.
    fn below(&self) -> Vec<&Tree> {
        match self {
            Tree::Branch { then, otherwise, .. } => vec![then, otherwise],
            Tree::Wait(all) => all.iter().map(|one| &one.2).collect(),
            Tree::Else(first, second) => vec![first, second],
            Tree::Go { .. } | Tree::End => Vec::new(),
        }
    }

    /// Goes through all of it in preorder: what decides comes before what it decides.
    pub(crate) fn for_each<'a>(&'a self, visit: &mut impl FnMut(&'a Tree)) {
        visit(self);
        self.below().into_iter().for_each(|tree| tree.for_each(visit));
    }

    /// The same, to change it.
    pub(crate) fn for_each_mut(&mut self, visit: &mut impl FnMut(&mut Tree)) {
        visit(self);
        match self {
            Tree::Branch { then, otherwise, .. } => {
                then.for_each_mut(visit);
                otherwise.for_each_mut(visit);
            }
            Tree::Wait(all) => all.iter_mut().for_each(|one| one.2.for_each_mut(visit)),
            Tree::Else(first, second) => [first, second].into_iter().for_each(|tree| tree.for_each_mut(visit)),
            Tree::Go { .. } | Tree::End => {}
        }
    }

    /// Conditions of its decisions.
    pub(crate) fn conditions(&self) -> Vec<NodeId> {
        let mut found = Vec::new();
        self.for_each(&mut |tree| {
            if let Tree::Branch { condition, .. } = tree {
                found.push(*condition);
            }
        });
        found
    }

    /// Its tasks with their targets.
    pub(crate) fn leaves(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        self.for_each(&mut |tree| {
            if let Tree::Go { task, target, beside } = tree {
                found.extend(beside.iter().chain([task]).map(|task| (*task, *target)));
            }
        });
        found
    }

    /// Puts other conditions in the place of these.
    pub(crate) fn substitute(&mut self, new: &FxHashMap<NodeId, NodeId>) {
        self.for_each_mut(&mut |tree| {
            if let Tree::Branch { condition, .. } = tree {
                *condition = new.get(condition).copied().unwrap_or(*condition);
            }
        });
    }

    /// Gives states, and tasks, other numbers.
    pub(crate) fn renumber(&mut self, states: impl Fn(usize) -> usize, tasks: impl Fn(usize) -> usize) {
        self.for_each_mut(&mut |tree| {
            if let Tree::Go { task, target, beside } = tree {
                *target = states(*target);
                beside.iter_mut().chain([task]).for_each(|task| *task = tasks(*task));
            }
        });
    }
}

/// Tokens of a beat at each output port, where transitions put out one beat at a port, or several: a port of a datapath has one beat
/// at a time. None where no port has that.
fn beats_within(automaton: &Automaton, n_ports: usize) -> Option<Vec<Option<u64>>> {
    let mut counts: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); n_ports];
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            let produced = transition.produces.iter().zip(&mut counts).filter(|(tokens, _)| **tokens > 0);
            produced.for_each(|(tokens, counts)| {
                counts.insert(*tokens);
            });
        });
    }
    let beat = |counts: &BTreeSet<u64>| {
        let least = *counts.first()?;
        (counts.len() > 1 && counts.iter().all(|tokens| tokens.is_multiple_of(least))).then_some(least)
    };
    let beats: Vec<Option<u64>> = counts.iter().map(beat).collect();
    beats.iter().any(Option::is_some).then_some(beats)
}

impl Region {
    /// The region that a network is.
    ///
    /// # Errors
    ///
    /// Why it is none, as a sentence without a full stop.
    pub(crate) fn of(network: &Network) -> Result<Region, String> {
        let explored = |limits: &Limits| automaton_of(network, &[], limits).map_err(|refused| refused.reason);
        let mut automaton = explored(&LIMITS)?;
        if let Some(outputs) = beats_within(&automaton, network.outputs.len()) {
            automaton = explored(&Limits { outputs, ..LIMITS })?;
        }
        let smaller = automaton.with_less_storage();
        Self::of_automaton(smaller.unwrap_or(automaton))
    }

    fn of_automaton(automaton: Automaton) -> Result<Region, String> {
        let mut region = Region { initial: automaton.initial, ..Region::default() };
        let mut known: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let Automaton { graph, objects, states, .. } = automaton;
        region.graph = graph;
        for state in states {
            let tree = region.tree(state.step, &mut known)?;
            region.states.push((tree, state.description));
        }
        region.objects = objects;
        region.initial.resize(region.objects.len(), Vec::new());
        let bits = region.held_bits();
        if bits > MOST_BITS {
            return Err(format!(
                "its variables have {bits} bits, which are more than registers of a datapath should be"
            ));
        }
        Ok(region)
    }

    /// Puts other values in the place of all that tasks and decisions use.
    pub(super) fn substitute(&mut self, new: &FxHashMap<NodeId, NodeId>) {
        for task in &mut self.tasks {
            task.outputs.iter_mut().for_each(|one| one.2 = new[&one.2]);
            task.stores.iter_mut().for_each(|one| one.2 = new[&one.2]);
        }
        self.states.iter_mut().for_each(|(tree, _)| tree.substitute(new));
    }

    /// What these values are with others in the place of elements, and all that they are made of.
    pub(super) fn with_elements(
        &mut self,
        roots: &[NodeId],
        values: &FxHashMap<(ObjectId, usize), NodeId>,
    ) -> FxHashMap<NodeId, NodeId> {
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in self.graph.reachable(roots.iter().copied()) {
            let (op, width) = (self.graph.op(id).clone(), self.graph.width(id));
            let element = match &op {
                Op::Entry { object, index } => self.graph.constant(*index).map(|index| (*object, index as usize)),
                _ => None,
            };
            let value = element.and_then(|element| values.get(&element).copied()).unwrap_or_else(|| {
                let operands: Vec<NodeId> = op.operands().iter().map(|operand| new[operand]).collect();
                self.graph.rebuild(&op, width, &operands)
            });
            new.insert(id, value);
        }
        new
    }

    /// Whether a value is an element at a computed place.
    pub(super) fn is_computed_element(&self, id: NodeId) -> bool {
        matches!(self.graph.op(id), Op::Entry { index, .. } if self.graph.constant(*index).is_none())
    }

    fn tree(&mut self, step: Step, known: &mut FxHashMap<usize, Vec<usize>>) -> Result<Tree, String> {
        Ok(match step {
            Step::Branch { before, condition, then, otherwise } => {
                if before.iter().any(|effect| !matches!(effect, Effect::Check { .. })) {
                    return Err("a decision depends on elements of lists at computed places".to_owned());
                }
                self.admit([condition])?;
                Tree::Branch {
                    condition,
                    then: Box::new(self.tree(*then, known)?),
                    otherwise: Box::new(self.tree(*otherwise, known)?),
                }
            }
            Step::Wait(awaited) => {
                let all = awaited.into_iter().map(|one| Ok((one.port, one.tokens, self.tree(one.step, known)?)));
                Tree::Wait(all.collect::<Result<_, String>>()?)
            }
            Step::Go { transition, target } => {
                let task = self.task(&transition)?;
                self.admit(task.roots())?;
                let alike = known.entry(task.roots().len()).or_default();
                let found = alike.iter().copied().find(|&at| self.tasks[at] == task);
                let task = found.unwrap_or_else(|| {
                    self.tasks.push(task);
                    alike.push(self.tasks.len() - 1);
                    self.tasks.len() - 1
                });
                Tree::Go { task, target, beside: Vec::new() }
            }
            Step::End => Tree::End,
            Step::Deoptimize => return Err("its control has no bounded number of states".to_owned()),
        })
    }

    fn task(&self, transition: &Transition) -> Result<Task, String> {
        let mut task =
            Task { consumes: transition.consumes.clone(), produces: transition.produces.clone(), ..Task::default() };
        let mut stores: FxHashMap<(ObjectId, usize), NodeId> = FxHashMap::default();
        let mut order = Vec::new();
        for effect in &transition.effects {
            match effect {
                Effect::Output { port, offset, value } => task.outputs.push((*port as usize, *offset, *value)),
                Effect::Store { object, index, value } => {
                    let index = self.graph.constant(*index).ok_or("a list is written at a computed place")?;
                    let place = (*object, index as usize);
                    if stores.insert(place, *value).is_none() {
                        order.push(place);
                    }
                }
                Effect::Check { .. } => {}
                Effect::Load { .. } | Effect::While { .. } | Effect::If { .. } => {
                    return Err(
                        "lists are written at computed places, or loops have no fixed number of iterations".to_owned()
                    );
                }
            }
        }
        order.sort_unstable();
        task.stores = order.into_iter().map(|place| (place.0, place.1, stores[&place])).collect();
        // What an element holds already need not be stored.
        let is_kept = |&(object, index, value): &(ObjectId, usize, NodeId)| match self.graph.op(value) {
            Op::Entry { object: from, index: at } => *from == object && self.graph.constant(*at) == Some(index as u128),
            _ => false,
        };
        task.stores.retain(|store| !is_kept(store));
        Ok(task)
    }

    fn admit(&self, roots: impl IntoIterator<Item = NodeId>) -> Result<(), String> {
        for id in self.graph.reachable(roots) {
            match self.graph.op(id) {
                Op::Loaded(_) | Op::LookupBytes(..) | Op::Instruction { .. } => {
                    return Err("lists are read behind writes at computed places".to_owned());
                }
                Op::Input { offset, .. } if *offset < 0 => {
                    return Err("it looks at tokens that are gone".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a task, which takes no tokens and gives none, may come again right behind itself.
    pub(crate) fn is_round(&self, task: usize) -> bool {
        let Task { consumes, produces, .. } = &self.tasks[task];
        consumes.iter().chain(produces).all(|n| *n == 0)
            && self.states.iter().any(|(tree, _)| {
                let targets = tree.leaves().into_iter().filter(|leaf| leaf.0 == task).map(|leaf| leaf.1);
                targets.into_iter().any(|target| self.states[target].0.leaves().iter().any(|leaf| leaf.0 == task))
            })
    }

    /// Whether no token decides that a task is done: no port is waited for on the way to it, and no condition looks at one.
    pub(crate) fn is_blind(&self, task: usize) -> bool {
        self.states.iter().all(|(tree, _)| self.is_blind_in(tree, task))
    }

    fn is_blind_in(&self, tree: &Tree, wanted: usize) -> bool {
        if tree.leaves().iter().all(|leaf| leaf.0 != wanted) {
            return true;
        }
        match tree {
            Tree::Branch { condition, then, otherwise } => {
                let sees = |id: &NodeId| matches!(self.graph.op(*id), Op::Input { .. });
                !self.graph.reachable([*condition]).iter().any(sees)
                    && self.is_blind_in(then, wanted)
                    && self.is_blind_in(otherwise, wanted)
            }
            Tree::Wait(_) | Tree::Else(..) => false,
            Tree::Go { .. } | Tree::End => true,
        }
    }

    /// The conditions of all decisions.
    pub(crate) fn conditions_of_all(&self) -> Vec<NodeId> {
        self.states.iter().flat_map(|(tree, _)| tree.conditions()).collect()
    }

    /// Objects that anything reads, in order.
    pub(crate) fn used_objects(&self) -> Vec<ObjectId> {
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        let mut all: Vec<ObjectId> = self.objects_of(roots).into_iter().collect();
        all.sort_unstable();
        all
    }

    /// Bits of these.
    pub(crate) fn held_bits(&self) -> u64 {
        let bits = self.used_objects().into_iter().map(|ObjectId(at)| {
            let object = &self.objects[at as usize];
            u64::from(object.width) * object.length as u64
        });
        bits.sum()
    }

    /// Objects that these values read.
    pub(crate) fn objects_of(&self, roots: impl IntoIterator<Item = NodeId>) -> FxHashSet<ObjectId> {
        let object = |id: NodeId| match self.graph.op(id) {
            Op::Entry { object, .. } => Some(*object),
            _ => None,
        };
        self.graph.reachable(roots).into_iter().filter_map(object).collect()
    }

    /// The region without stores that nothing reads.
    pub(crate) fn without_dead_stores(mut self) -> Region {
        let used: FxHashSet<ObjectId> = self.used_objects().into_iter().collect();
        for task in &mut self.tasks {
            task.stores.retain(|store| used.contains(&store.0));
        }
        self
    }
}
