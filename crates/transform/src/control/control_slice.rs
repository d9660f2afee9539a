//! Backward slicing of transitions on what control decides by. The part of a transition that later decisions may depend
//! on: what samples have to compute.

use super::automaton::Holds;
use super::explore::Explorer;
use crate::kernel::{Effect, Graph, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is needed so far.
struct Slice<'a> {
    graph: &'a Graph,
    /// The object that each load reads.
    loads: FxHashMap<u32, ObjectId>,
    /// Loads that are needed.
    needed: FxHashSet<u32>,
    /// Objects of which something is needed.
    objects: FxHashSet<ObjectId>,
}

impl Explorer<'_> {
    /// The effects at the end of a transition that reach what the next one decides by: stores to variables and tokens
    /// of control, and to lists of the firing that these are read from. Tokens that leave and data are not among them,
    /// and no loops that only compute data. Samples are typical messages, so that no index is outside.
    pub(super) fn decisive(&self, effects: &[Effect]) -> Vec<Effect> {
        let mut slice = Slice {
            graph: &self.graph,
            loads: FxHashMap::default(),
            needed: FxHashSet::default(),
            objects: FxHashSet::default(),
        };
        Effect::walk(effects, &mut |effect| {
            match effect {
                Effect::Load { id, object, .. } => {
                    slice.loads.insert(*id, *object);
                }
                Effect::Store { object, .. } if self.is_decisive(*object) => {
                    slice.objects.insert(*object);
                }
                _ => {}
            };
        });
        loop {
            let before = (slice.needed.len(), slice.objects.len());
            slice.mark(effects);
            if before == (slice.needed.len(), slice.objects.len()) {
                return slice.kept(effects);
            }
        }
    }

    /// Whether an object holds what decisions read in later transitions.
    fn is_decisive(&self, object: ObjectId) -> bool {
        match self.holds.get(object.0 as usize) {
            Some(Holds::Variable(instance, variable)) => {
                self.slice.instances[instance.index()].variables[variable.index()].is_control()
            }
            Some(Holds::Fifo(connection)) => self.slice.connections[*connection].is_control(),
            Some(Holds::Local) | None => false,
        }
    }
}

impl Slice<'_> {
    fn matters(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Load { id, .. } => self.needed.contains(id),
            Effect::Store { object, .. } => self.objects.contains(object),
            Effect::Output { .. } | Effect::Check { .. } => false,
            Effect::While { before, body, .. } => before.iter().chain(body).any(|inner| self.matters(inner)),
            Effect::If { then, otherwise, .. } => then.iter().chain(otherwise).any(|inner| self.matters(inner)),
        }
    }

    /// Adds what effects that matter read.
    fn mark(&mut self, effects: &[Effect]) {
        let mut values: Vec<NodeId> = Vec::new();
        Effect::walk(effects, &mut |effect| {
            if self.matters(effect) {
                values.extend(effect.uses());
            }
        });
        for id in self.graph.reachable(values) {
            if let Op::Loaded(load) = *self.graph.op(id)
                && self.needed.insert(load)
            {
                self.objects.extend(self.loads.get(&load));
            }
        }
    }

    fn kept(&self, effects: &[Effect]) -> Vec<Effect> {
        effects
            .iter()
            .filter(|effect| self.matters(effect))
            .map(|effect| match effect {
                Effect::While { before, condition, body, span } => Effect::While {
                    before: self.kept(before),
                    condition: *condition,
                    body: self.kept(body),
                    span: *span,
                },
                Effect::If { condition, then, otherwise } => {
                    Effect::If { condition: *condition, then: self.kept(then), otherwise: self.kept(otherwise) }
                }
                other => other.clone(),
            })
            .collect()
    }
}
