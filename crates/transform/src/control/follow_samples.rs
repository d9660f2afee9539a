//! Trace-guided exploration. Exploring what samples do: a typical run is followed along the states, which grow where it
//! goes on.

use super::NotFused;
use super::automaton::{Arrival, Part, Path};
use super::explore::{Explorer, Sample, Tree};
use crate::kernel::evaluate::{Run, World};
use std::collections::BTreeSet;

/// Transitions that a sample may run.
const SAMPLED_STEPS: usize = 100_000;

/// Effects that a sample may have.
const SAMPLED_EFFECTS: u64 = 3_000_000;

/// Values that are computed for samples before no further one is followed: what the last ones do is rarely new.
pub(super) const SAMPLED_VALUES: u64 = 40_000_000;

/// What the parts of a sample are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Messages that come at once, as most do.
    Message,
    /// The same, of which none tells what most are.
    Rare,
    /// Messages in chunks that are all there.
    Cut,
    /// Pieces of whole blocks, of one message after another.
    Piece,
    /// Pieces of any length, which none is taken to be like.
    Apart,
}

impl Kind {
    fn arrival(self) -> Arrival {
        match self {
            Kind::Message | Kind::Rare => Arrival::AtOnce,
            Kind::Piece | Kind::Apart => Arrival::InPieces,
            Kind::Cut => Arrival::InChunks,
        }
    }

    /// Whether its parts tell what others are like.
    fn is_typical(self) -> bool {
        !matches!(self, Kind::Rare | Kind::Apart)
    }
}

impl Explorer<'_> {
    /// Explores what a sample does.
    pub(super) fn follow(&mut self, sample: &Sample, kind: Kind) -> Result<(), NotFused> {
        let mut parts = sample.iter();
        let mut world = World {
            inputs: vec![Vec::new(); self.network.inputs.len()],
            consumed: vec![0; self.network.inputs.len()],
            outputs: vec![Vec::new(); self.network.outputs.len()],
            objects: self.initial.clone(),
        };
        self.make_room(&mut world);
        let mut at = 0;
        let mut path = Path { n_parts: 0, is_whole: false, arrival: kind.arrival(), states: BTreeSet::new() };
        let mut part_of: Option<Part> = None;
        let mut budget = SAMPLED_EFFECTS;
        let mut run = Run::default();
        for _ in 0..SAMPLED_STEPS {
            path.states.insert(at);
            if let Some(part) = &mut part_of {
                part.states.insert(at);
                part.to = at;
            }
            let mut tree = std::mem::replace(&mut self.trees[at], Tree::End);
            run.restart(&world);
            let next = self.follow_tree(&mut tree, &mut world, &mut run, &mut budget);
            self.trees[at] = tree;
            self.n_sampled_values += run.n_computed();
            // Objects of firings are zero when a transition begins.
            for (object, element) in run.written() {
                if !self.objects[object.0 as usize].persistent {
                    world.objects[object.0 as usize][element] = 0;
                }
            }
            match next? {
                Some(target) => at = target,
                None => match parts.next() {
                    Some(tokens) => {
                        if path.n_parts > 0 {
                            self.paths.push(path.clone());
                        }
                        path.n_parts += 1;
                        let part = Part { from: at, to: at, states: BTreeSet::new(), is_piece: kind == Kind::Piece };
                        self.parts.extend(part_of.replace(part).filter(|_| kind.is_typical()));
                        world.inputs.iter_mut().zip(tokens).for_each(|(all, more)| all.extend(more));
                    }
                    None => break,
                },
            }
        }
        self.parts.extend(part_of.filter(|_| kind.is_typical()));
        self.paths.push(Path { n_parts: sample.len(), is_whole: true, ..path });
        Ok(())
    }

    /// One transition of a sample, which has just begun; `None` where it ends.
    fn follow_tree(
        &mut self,
        tree: &mut Tree,
        world: &mut World,
        run: &mut Run,
        budget: &mut u64,
    ) -> Result<Option<usize>, NotFused> {
        let mut tree = tree;
        loop {
            if matches!(tree, Tree::Unexplored(_)) {
                self.grow(tree)?;
                self.make_room(world);
            }
            match tree {
                Tree::Branch { before, condition, then, otherwise } => {
                    if !run.list(&self.graph, before, world, budget) {
                        return Ok(None);
                    }
                    tree = if run.value(&self.graph, world, *condition) == 1 { then } else { otherwise };
                }
                Tree::Wait(awaited) => {
                    let there = |port: usize| (world.inputs[port].len() - world.consumed[port]) as u64;
                    match awaited.iter_mut().find(|awaited| there(awaited.0) >= awaited.1) {
                        Some((_, _, next)) => tree = next,
                        None => {
                            run.undo(world);
                            return Ok(None);
                        }
                    }
                }
                Tree::Go { transition, decisive, target } => {
                    if !run.list(&self.graph, decisive, world, budget) {
                        return Ok(None);
                    }
                    for (port, consumed) in world.consumed.iter_mut().enumerate() {
                        *consumed += transition.consumes[port] as usize;
                    }
                    return Ok(Some(*target));
                }
                _ => return Ok(None),
            }
        }
    }

    /// Objects may have come, or become longer.
    fn make_room(&self, world: &mut World) {
        for (number, object) in self.objects.iter().enumerate() {
            match world.objects.get_mut(number) {
                Some(elements) => elements.resize(object.length, 0),
                None => world.objects.push(vec![0; object.length]),
            }
        }
    }
}
