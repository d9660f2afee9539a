//! Instruction selection for substitution layers. Substitution layers: atoms that one instruction could compute
//! together, and the results made of them.
//!
//! Atoms belong together if they enter the same result, or if what is made of them stands together again: the rounds of
//! a cipher weave the bytes of a state into one layer each, and two ciphers beside each other stay apart.

use super::meaning::{Block, LANE_BITS, Row};
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
    /// The layers of atoms of functions that `known` accepts. `roots` come in the order in which they matter.
    pub fn new(graph: &Graph, roots: &[NodeId], forms: &Forms, known: impl Fn(usize) -> bool) -> Layers {
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
        let mut sets = Sets((0..forms.atoms().len()).collect());
        join(&targets, &mut sets);
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

/// Sets of atoms, each known by its first.
struct Sets(Vec<usize>);

impl Sets {
    fn first(&mut self, mut atom: usize) -> usize {
        while self.0[atom] != atom {
            self.0[atom] = self.0[self.0[atom]];
            atom = self.0[atom];
        }
        atom
    }

    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}

fn join(targets: &[Target], sets: &mut Sets) {
    loop {
        let mut changed = false;
        // A layer whose atoms use results of one layer, and one that is used by atoms of one layer.
        let mut made_of: FxHashMap<usize, usize> = FxHashMap::default();
        let mut makes: FxHashMap<usize, usize> = FxHashMap::default();
        for target in targets {
            let (first, _) = target.entering[0];
            for &(other, _) in &target.entering[1..] {
                changed |= sets.join(first, other);
            }
            if let Use::Index(atom) = target.used {
                let known = *made_of.entry(sets.first(atom)).or_insert(first);
                changed |= sets.join(known, first);
                let known = *makes.entry(sets.first(first)).or_insert(atom);
                changed |= sets.join(known, atom);
            }
        }
        if !changed {
            return;
        }
    }
}
