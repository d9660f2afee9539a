//! Instruction selection for substitution layers. Substitution layers: atoms that one instruction could compute
//! together, and the results made of them.
//!
//! Atoms belong together if they enter the same result, or if what is made of them stands together again: the rounds of
//! a cipher weave the bytes of a state into one layer each, and two ciphers beside each other stay apart.

use super::meaning::{Block, LANE_BITS, Matrix, Row, Shape};
use super::positions::Puzzle;
use crate::kernel::{Graph, NodeId, Op};
use crate::passes::linear::{Form, Forms, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Where a result is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// As the index of an atom.
    Index(usize),
    /// As bits `.1` to `.1 + 7` of a node that something else needs.
    Lane(NodeId, u32),
}

/// A result made of atoms: eight bits.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it is used.
    pub used: Use,
    /// A node and its lowest bit where it stands in the graph as it was.
    pub stands: (NodeId, u32),
    /// Its bits.
    pub row: Row,
    /// The atoms of its layer and how they enter.
    pub entering: Vec<(usize, Block)>,
}

/// Atoms that belong together.
#[derive(Clone, Debug, Default)]
pub struct Layer {
    /// The atoms, ascending.
    pub atoms: Vec<usize>,
    /// Positions of the results in the list of all.
    pub targets: Vec<usize>,
}

/// What the instructions of a machine have.
pub struct There<'a> {
    /// Functions that they put lanes through.
    pub spaces: FxHashSet<usize>,
    /// Matrices behind these.
    matrices: Vec<&'a Matrix>,
    /// Most lanes of one.
    lanes: usize,
    /// Most lanes that enter one lane of a result.
    most_entering: usize,
}

impl<'a> There<'a> {
    /// Of shapes of instructions.
    pub fn of(shapes: &'a [Shape]) -> There<'a> {
        let layers = || {
            shapes.iter().filter_map(|shape| match shape {
                Shape::Layer { space, matrix, .. } => Some((*space, matrix)),
                _ => None,
            })
        };
        let entering = |matrix: &Matrix| (0..matrix.lanes()).map(|lane| matrix.entering(lane).count()).max();
        There {
            spaces: layers().map(|layer| layer.0).collect(),
            matrices: layers().map(|layer| layer.1).collect(),
            lanes: layers().map(|layer| layer.1.lanes()).max().unwrap_or(0),
            most_entering: layers().filter_map(|layer| entering(layer.1)).max().unwrap_or(0),
        }
    }

    /// Whether one of them has a result like this.
    fn has(&self, target: &Target) -> bool {
        let blocks: Vec<Block> = target.entering.iter().map(|entering| entering.1).collect();
        self.matrices.iter().any(|matrix| Puzzle::possible(matrix, &blocks))
    }
}

/// All results and layers of a graph.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Results, those that atoms need first.
    pub targets: Vec<Target>,
    /// Layers in the order of their first atoms.
    pub layers: Vec<Layer>,
    /// The layer of each atom that has one.
    pub layer_of: FxHashMap<usize, usize>,
}

impl Layers {
    /// The layers of atoms of functions that instructions have. `roots` come in the order in which they matter; `beside` has
    /// those that stand beside each other in a block.
    pub fn new(graph: &Graph, roots: &[NodeId], forms: &Forms, there: &There, beside: &[Vec<NodeId>]) -> Layers {
        let known = |space: usize| there.spaces.contains(&space);
        if !forms.atoms().iter().any(|atom| known(atom.space)) {
            return Layers::default();
        }
        let depths = depths(forms);
        let mut targets = Vec::new();
        let mut add = |used: Use, stands: (NodeId, u32), bits: &[Form]| {
            // Rows are made of few values only: those that no layer enters have many terms.
            let terms = bits.iter().flat_map(Form::terms).map(|&term| forms.source(term).0);
            let atoms = terms.filter_map(|source| match source {
                Source::Atom(atom) => Some(atom),
                Source::Node(_) => None,
            });
            let Some(deepest) = atoms.clone().map(|atom| depths[atom]).max() else { return };
            let mut entering = atoms.filter(|&atom| depths[atom] == deepest);
            if entering.all(|atom| known(forms.atoms()[atom].space)) {
                let row = Row::of(forms, bits);
                let entering = row.atoms().filter(|&(atom, _)| depths[atom] == deepest).collect();
                targets.push(Target { used, stands, row, entering });
            }
        };
        for (number, atom) in forms.atoms().iter().enumerate() {
            if known(atom.space) && atom.index.len() == LANE_BITS as usize {
                add(Use::Index(number), (forms.index_node(number), 0), &atom.index);
            }
        }
        for node in used_nodes(graph, roots, forms) {
            for (lane, bits) in forms.of(node).chunks_exact(LANE_BITS as usize).enumerate() {
                let lo = lane as u32 * LANE_BITS;
                add(Use::Lane(node, lo), (node, lo), bits);
            }
        }
        let left = leave_others(&mut targets, there);
        let mut sets = Sets::of_one_each(forms.atoms().len());
        let fits: Vec<bool> = targets.iter().map(|target| there.has(target)).collect();
        join(&targets, &mut sets, there.lanes, &fits, beside);
        // Atoms of one layer enter together.
        for (number, atoms) in left {
            let own = sets.first(targets[number].entering[0].0);
            if atoms.iter().any(|atom| sets.first(atom.0) == own) {
                targets[number].entering.extend(atoms);
            }
        }
        let mut layers: BTreeMap<usize, Layer> = BTreeMap::new();
        for (number, atom) in forms.atoms().iter().enumerate() {
            if known(atom.space) {
                layers.entry(sets.first(number)).or_default().atoms.push(number);
            }
        }
        for (position, target) in targets.iter().enumerate() {
            layers.entry(sets.first(target.entering[0].0)).or_default().targets.push(position);
        }
        let layers: Vec<Layer> = layers.into_values().collect();
        let layer_of = layers
            .iter()
            .enumerate()
            .flat_map(|(number, layer)| layer.atoms.iter().map(move |&atom| (atom, number)))
            .collect();
        Layers { targets, layers, layer_of }
    }
}

/// Leaves atoms of one layer in results that are sums of several which nothing tells apart by what they wait for: of a sum that
/// another result is a part of, what is not in that. Examples: the state of a cipher begins with a constant, and what its
/// round makes of that is one, too; then the next round, on the same bytes with another constant added, needs nothing of the
/// first one either, and their sum is of both. Or a ciphertext, of one cipher's last round, is added to what another cipher made.
/// What stands with fewer atoms elsewhere, such as the first round's result or the ciphertext, is then only added. Gives the atoms
/// that were left out, with the positions of their results.
fn leave_others(targets: &mut [Target], there: &There) -> Vec<(usize, Vec<(usize, Block)>)> {
    let whole: Vec<Vec<(usize, Block)>> = targets.iter().map(|target| target.entering.clone()).collect();
    let mut with_first: FxHashMap<(usize, Block), Vec<usize>> = FxHashMap::default();
    for (number, entering) in whole.iter().enumerate() {
        with_first.entry(entering[0]).or_default().push(number);
    }
    let mut left = Vec::new();
    for (number, target) in targets.iter_mut().enumerate() {
        let own = &whole[number];
        let is_too_long = own.len() > there.most_entering;
        if !is_too_long && (own.len() < 2 || there.has(target)) {
            continue;
        }
        let others = own.iter().filter_map(|atom| with_first.get(atom)).flatten().map(|&other| &whole[other]);
        let part = others.filter(|part| part.len() < own.len() && part.iter().all(|atom| own.contains(atom)));
        if let Some(part) = part.max_by_key(|part| part.len()) {
            target.entering.retain(|atom| !part.contains(atom));
            // A short one is only a sum of two results if it is one of an instruction without the other.
            if is_too_long || there.has(target) {
                left.push((number, part.clone()));
            } else {
                target.entering.clone_from(own);
            }
        }
    }
    left
}

/// For each atom, how many others stand in a row before it.
fn depths(forms: &Forms) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(forms.atoms().len());
    for atom in forms.atoms() {
        let terms = atom.index.iter().flat_map(Form::terms);
        let before = terms.filter_map(|&term| match forms.source(term).0 {
            Source::Atom(other) => depths.get(other).map(|depth| depth + 1),
            Source::Node(_) => None,
        });
        let depth = before.max().unwrap_or(0);
        depths.push(depth);
    }
    depths
}

/// Roots, and the operands of nodes that are sources.
fn used_nodes(graph: &Graph, roots: &[NodeId], forms: &Forms) -> Vec<NodeId> {
    let mut seen = FxHashSet::default();
    let mut used: Vec<NodeId> = roots.iter().copied().filter(|&root| seen.insert(root)).collect();
    for id in graph.reachable(roots.iter().copied()) {
        let entry = matches!(graph.op(id), Op::Entry { .. });
        if forms.is_source(id) && !entry {
            used.extend(graph.op(id).operands().into_iter().filter(|&operand| seen.insert(operand)));
        }
    }
    used
}

/// Sets of atoms, each known by its first, with their sizes.
struct Sets {
    first: Vec<usize>,
    sizes: Vec<usize>,
}

impl Sets {
    fn of_one_each(n: usize) -> Sets {
        Sets { first: (0..n).collect(), sizes: vec![1; n] }
    }

    fn first(&mut self, mut atom: usize) -> usize {
        while self.first[atom] != atom {
            self.first[atom] = self.first[self.first[atom]];
            atom = self.first[atom];
        }
        atom
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        self.join_up_to(a, b, usize::MAX)
    }

    /// Joins two sets that have no more atoms than this together.
    fn join_up_to(&mut self, a: usize, b: usize, most: usize) -> bool {
        let (a, b) = (self.first(a), self.first(b));
        if a == b || self.sizes[a] + self.sizes[b] > most {
            return false;
        }
        self.first[a.max(b)] = a.min(b);
        self.sizes[a.min(b)] += self.sizes[a.max(b)];
        true
    }
}

/// Joins atoms to layers of at most so many lanes. `fits` says which results instructions have, and `beside` has nodes that stand
/// beside each other in a block.
fn join(targets: &[Target], sets: &mut Sets, lanes: usize, fits: &[bool], beside: &[Vec<NodeId>]) {
    let fitting = || targets.iter().zip(fits).filter(|(_, fits)| **fits).map(|(target, _)| target);
    loop {
        let mut changed = false;
        // A layer whose atoms use results of one layer.
        let mut made_of: FxHashMap<usize, usize> = FxHashMap::default();
        for target in fitting() {
            let (first, _) = target.entering[0];
            for &(other, _) in &target.entering[1..] {
                changed |= sets.join(first, other);
            }
            if let Use::Index(atom) = target.used {
                let known = *made_of.entry(sets.first(atom)).or_insert(first);
                changed |= sets.join(known, first);
            }
        }
        if changed {
            continue;
        }
        // One that is used by atoms of one layer: of several where one state is enciphered in two ways, which are whole by then.
        let mut makes: FxHashMap<usize, usize> = FxHashMap::default();
        for target in fitting() {
            if let Use::Index(atom) = target.used {
                let first = sets.first(target.entering[0].0);
                let known = *makes.entry(first).or_insert(atom);
                changed |= sets.join_up_to(known, atom, lanes);
            }
        }
        if changed {
            continue;
        }
        // What nothing comes after: results that make a block, unless they come from different layers.
        let mut from: FxHashMap<usize, usize> = FxHashMap::default();
        for target in fitting() {
            if let Use::Index(atom) = target.used {
                from.insert(sets.first(atom), sets.first(target.entering[0].0));
            }
        }
        for block in beside {
            let of_block = |target: &&Target| matches!(target.used, Use::Lane(node, 0) if block.contains(&node));
            let atoms = fitting().filter(of_block).map(|target| target.entering[0].0);
            let mut firsts: Vec<usize> = atoms.map(|atom| sets.first(atom)).collect();
            firsts.sort_unstable();
            firsts.dedup();
            let fits = firsts.iter().map(|&first| sets.sizes[first]).sum::<usize>() <= lanes;
            if fits && firsts.windows(2).all(|pair| from.get(&pair[0]) == from.get(&pair[1])) {
                firsts.windows(2).for_each(|pair| changed |= sets.join(pair[0], pair[1]));
            }
        }
        if changed {
            continue;
        }
        // What instructions do not have tells least.
        for target in targets {
            for pair in target.entering.windows(2) {
                let [a, b] = [pair[0].0, pair[1].0].map(|atom| sets.first(atom));
                if from.get(&a) == from.get(&b) {
                    changed |= sets.join_up_to(a, b, lanes);
                }
            }
        }
        if !changed {
            return;
        }
    }
}
