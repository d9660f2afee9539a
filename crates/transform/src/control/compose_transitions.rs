//! Composition of transitions along a path. Transitions on a way put together: what one stores the next one finds
//! there.

use super::automaton::{Automaton, Holds, Step};
use super::list_windows::Windows;
use crate::kernel::{Effect, Graph, NodeId, ObjectId, Op, Transition};
use headrace_ir::Network;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// An element of an object.
pub(super) type Element = (ObjectId, usize);

/// A way from a state to another: decisions, then a transition.
#[derive(Clone)]
pub(super) struct Way<'a> {
    /// Conditions and how they come out.
    pub decisions: Vec<(NodeId, bool)>,
    pub transition: &'a Transition,
    pub target: usize,
}

/// Whether a transition is no more than stores and tokens.
pub(super) fn is_straight(transition: &Transition) -> bool {
    transition.effects.iter().all(|effect| matches!(effect, Effect::Store { .. } | Effect::Output { .. }))
}

/// The ways that lead out of a state with transitions that are wanted.
pub(super) fn ways<'a>(
    step: &'a Step,
    wanted: fn(&Transition) -> bool,
    decisions: &mut Vec<(NodeId, bool)>,
    out: &mut Vec<Way<'a>>,
) {
    match step {
        Step::Branch { before, condition, then, otherwise } if before.is_empty() => {
            for (side, holds) in [(then, true), (otherwise, false)] {
                decisions.push((*condition, holds));
                ways(side, wanted, decisions, out);
                decisions.pop();
            }
        }
        Step::Wait(awaited) => awaited.iter().for_each(|one| ways(&one.step, wanted, decisions, out)),
        Step::Go { transition, target } => {
            if wanted(transition) {
                out.push(Way { decisions: decisions.clone(), transition, target: *target });
            }
        }
        Step::Branch { .. } | Step::End | Step::Deoptimize => {}
    }
}

/// What a way does, as values that are known when it begins.
#[derive(Clone)]
pub(super) struct Together {
    pub stores: BTreeMap<Element, NodeId>,
    pub consumed: Vec<u64>,
    pub produced: Vec<u64>,
    pub outputs: Vec<(u32, u64, NodeId)>,
    pub conditions: Vec<(NodeId, bool)>,
    /// What is stored to lists at places that are not known: the place and the value, in order.
    pub lists: Vec<(ObjectId, NodeId, NodeId)>,
    /// Lists that are ports behind those of the network.
    pub windows: Windows,
}

impl Together {
    /// All of a way, or only what it stores to some objects; `work` counts the nodes that are gone through.
    pub fn of(
        network: &Network,
        graph: &mut Graph,
        way: &[&Way],
        only: Option<&FxHashSet<ObjectId>>,
        work: &mut usize,
    ) -> Option<Together> {
        let mut together = Together {
            stores: BTreeMap::new(),
            consumed: vec![0; network.inputs.len()],
            produced: vec![0; network.outputs.len()],
            outputs: Vec::new(),
            conditions: Vec::new(),
            lists: Vec::new(),
            windows: Windows::default(),
        };
        for part in way {
            together.then(graph, part, only, work)?;
        }
        Some(together)
    }

    /// A node of the next transition, seen from the beginning of the first; nodes in `memo` stand for others.
    pub fn node(&self, graph: &mut Graph, id: NodeId, memo: &mut FxHashMap<NodeId, NodeId>) -> Option<NodeId> {
        let mut open = vec![id];
        while let Some(&next) = open.last() {
            if memo.contains_key(&next) {
                open.pop();
                continue;
            }
            let n = open.len();
            open.extend(graph.op(next).operands().into_iter().filter(|operand| !memo.contains_key(operand)));
            if open.len() > n {
                continue;
            }
            let node = graph.node(next).clone();
            let new = match node.op {
                Op::Input { port, offset } => {
                    let shift = self.consumed[port as usize] as i64;
                    graph.input(port, offset + shift, node.width)
                }
                Op::Entry { object, index } => {
                    let index = *memo.get(&index)?;
                    if self.lists.iter().any(|store| store.0 == object) {
                        return None;
                    }
                    match graph.constant(index) {
                        Some(at) => match self.stores.get(&(object, at as usize)) {
                            Some(&stored) => stored,
                            None => graph.entry(object, index, node.width),
                        },
                        None if self.stores.keys().any(|key| key.0 == object) => return None,
                        None => graph.entry(object, index, node.width),
                    }
                }
                Op::Loaded(_) => return None,
                ref op => {
                    let mut operands = Vec::new();
                    for operand in op.operands() {
                        operands.push(*memo.get(&operand)?);
                    }
                    graph.rebuild(op, node.width, &operands)
                }
            };
            memo.insert(next, new);
        }
        memo.get(&id).copied()
    }

    /// What a node is after all of this.
    pub fn after(&self, graph: &mut Graph, id: NodeId) -> Option<NodeId> {
        self.node(graph, id, &mut FxHashMap::default())
    }

    /// Adds a transition, or only its stores to some objects; `None` if its decisions cannot come out this way.
    pub fn then(
        &mut self,
        graph: &mut Graph,
        way: &Way,
        only: Option<&FxHashSet<ObjectId>>,
        work: &mut usize,
    ) -> Option<()> {
        let mut memo = FxHashMap::default();
        let done = self.then_with(graph, way, only, &mut memo);
        *work += memo.len();
        done
    }

    fn then_with(
        &mut self,
        graph: &mut Graph,
        way: &Way,
        only: Option<&FxHashSet<ObjectId>>,
        memo: &mut FxHashMap<NodeId, NodeId>,
    ) -> Option<()> {
        for &(condition, holds) in &way.decisions {
            let condition = self.node(graph, condition, memo)?;
            match graph.constant(condition) {
                Some(value) if (value == 1) == holds => {}
                Some(_) => return None,
                None => self.conditions.push((condition, holds)),
            }
        }
        let (mut stores, mut lists) = (Vec::new(), Vec::new());
        for effect in &way.transition.effects {
            match effect {
                Effect::Store { object, .. } if only.is_some_and(|only| !only.contains(object)) => {}
                Effect::Output { .. } | Effect::Load { .. } if only.is_some() => {}
                Effect::Store { object, index, value } => {
                    let value = self.node(graph, *value, memo)?;
                    match graph.constant(*index) {
                        Some(at) => stores.push(((*object, at as usize), value)),
                        None if only.is_some() => return None,
                        None => lists.push((*object, self.node(graph, *index, memo)?, value)),
                    }
                }
                Effect::Output { port, offset, value } => {
                    let value = self.node(graph, *value, memo)?;
                    self.outputs.push((*port, self.produced[*port as usize] + offset, value));
                }
                _ => return None,
            }
        }
        self.stores.extend(stores);
        self.lists.extend(lists);
        for (sum, more) in self.consumed.iter_mut().zip(&way.transition.consumes) {
            *sum += more;
        }
        for (sum, more) in self.produced.iter_mut().zip(&way.transition.produces) {
            *sum += more;
        }
        Some(())
    }

    /// Drops what nobody reads in a state to which the way leads: tokens beyond those that are there, and elements that
    /// stay what they are.
    pub fn drop_dead(&mut self, automaton: &Automaton, graph: &mut Graph, state: usize) {
        let fills = &automaton.states[state].fills;
        self.stores.retain(|&(object, index), next| {
            let there = match automaton.holds.get(object.0 as usize) {
                Some(Holds::Fifo(connection)) => index < fills[*connection],
                _ => true,
            };
            let at = graph.number(index as u128, 32);
            there && *graph.op(*next) != (Op::Entry { object, index: at })
        });
    }
}

/// The objects that decide how a cycle goes: what its conditions read, and what the stores to that read.
pub(super) fn deciding(graph: &Graph, cycle: &[&Way]) -> FxHashSet<ObjectId> {
    let conditions = cycle.iter().flat_map(|way| way.decisions.iter().map(|decision| decision.0));
    let mut open: Vec<NodeId> = conditions.collect();
    let mut objects = FxHashSet::default();
    while !open.is_empty() {
        let read: FxHashSet<ObjectId> = (graph.reachable(open.drain(..)).into_iter())
            .filter_map(|id| match graph.op(id) {
                Op::Entry { object, .. } if !objects.contains(object) => Some(*object),
                _ => None,
            })
            .collect();
        for effect in cycle.iter().flat_map(|way| &way.transition.effects) {
            match effect {
                Effect::Store { object, value, .. } if read.contains(object) => open.push(*value),
                _ => {}
            }
        }
        objects.extend(read);
    }
    objects
}
