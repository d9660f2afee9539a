//! Instruction selection, by descriptions of what instructions mean. Instructions of a machine in the place of what
//! they mean.
//!
//! An instruction is known by its meaning only ([`Meaning`], a graph made from its description). Transition and meaning
//! are brought to one normal form, bits as exclusive ors of sources and of a non-linear function of bytes
//! ([`crate::passes::linear`]), and compared there: whether a round was written with an S-box and a matrix of bytes or
//! with tables of words makes no difference.
//!
//! 1. [`layers`] groups the atoms of a transition to layers, and the results made of each.
//! 2. [`positions`] finds which lane of a register each byte has, for whole chains of layers.
//! 3. [`rewrite`] puts one instruction for a layer: the state stays in a register from the first layer to the last, and
//!    whatever else is added (keys, chained blocks, the data of a mode) is the other operand, away from the chain.
//!
//! Before: 16 look-ups, then `t0 = s0 ^ sum ^ (s0 ^ s1) << 1 ^ …` for 16 bytes, then 16 `^ key`. After: one
//! [`crate::kernel::Op::Instruction`] of two operands of 128 bits.
//!
//! Instructions on words, with sums between them, are found by [`words`] instead.
//!
//! Equality of tables and matrices is decided exactly; that the graph as a whole means what it meant is tried on random
//! values with [`check`].

mod agreement;
mod layers;
pub mod meaning;
mod positions;
mod rewrite;
pub mod words;

pub use meaning::Meaning;

use crate::kernel::evaluate::{Environment, values};
use crate::kernel::{Evidence, Graph, Loop, NodeId, ObjectId, Op};
use crate::passes::linear::Forms;
use crate::passes::linear::spaces::Spaces;
use crate::passes::pass::{Form, Parts, Pass, Property, boxed};
use layers::{Layer, Layers, There, Use};
use meaning::{Matrix, Shape};
use positions::{Constraint, Puzzle};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Elements that stand in a register.
const BLOCK: u64 = 16;

/// The pass.
pub const PASS: Pass = Pass {
    name: "select-instructions",
    about: "Puts instructions of a machine in the place of what they mean",
    requires: &[Property::NoInstructions],
    establishes: &[],
    gives_up: &[],
    form: Form::Instructions(|body, choice| {
        let SelectedLoop { body, instructions, .. } = select_in_loop(body, &[], choice)?;
        Some(boxed(Selected { body, instructions, choice: choice.clone() }))
    }),
};

/// The instructions to choose from: their meanings in normal form.
#[derive(Clone, Debug)]
pub struct Choice {
    meanings: Vec<Meaning>,
    shapes: Vec<Shape>,
    /// Whether the machine has each.
    there: Vec<bool>,
    spaces: Spaces,
    patterns: Vec<words::Pattern>,
}

impl Choice {
    /// Of all descriptions, in their order, those that `there` accepts by name.
    pub fn new(meanings: Vec<Meaning>, there: impl Fn(&str) -> bool) -> Choice {
        let mut spaces = Spaces::default();
        let there: Vec<bool> = meanings.iter().map(|meaning| there(&meaning.name)).collect();
        let shape = |(meaning, there): (&Meaning, &bool)| match there {
            true => Shape::of(meaning, &mut spaces),
            false => Shape::Other,
        };
        let shapes = meanings.iter().zip(&there).map(shape).collect();
        let patterns = meanings
            .iter()
            .enumerate()
            .filter(|(number, _)| there[*number])
            .flat_map(|(number, meaning)| words::Pattern::all_of(meaning, number as u32))
            .collect();
        Choice { meanings, shapes, there, spaces, patterns }
    }

    /// The descriptions; [`crate::kernel::Op::Instruction`] holds positions in this list.
    pub fn meanings(&self) -> &[Meaning] {
        &self.meanings
    }

    /// Names of those that may be used.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.meanings.iter().zip(&self.there).filter(|(_, there)| **there).map(|(meaning, _)| meaning.name.as_str())
    }
}

/// What the pass did.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The values anew.
    pub graph: Graph,
    /// The new roots, in the order of the old.
    pub roots: Vec<NodeId>,
    /// How often each instruction stands in the graph.
    pub instructions: BTreeMap<String, usize>,
}

/// A layer that an instruction computes.
struct Placed<'a> {
    layer: &'a Layer,
    description: u32,
    matrix: &'a Matrix,
    /// Position of the operands.
    state: usize,
    added: usize,
}

/// Puts instructions in the place of what they mean, for all that the roots need; `None` where none was found. Roots
/// come in the order in which they matter: where a value is needed in two ways, the first is the one that the
/// instruction gives. `beside` has roots that stand beside each other in a block.
pub fn select(graph: &Graph, roots: &[NodeId], beside: &[Vec<NodeId>], choice: &Choice) -> Option<Selection> {
    let mut spaces = choice.spaces.clone();
    let forms = Forms::new(graph, roots.iter().copied(), &mut spaces);
    let layers = Layers::new(graph, roots, &forms, &There::of(&choice.shapes), beside);
    let mut placed: Vec<Option<Placed>> =
        layers.layers.iter().map(|layer| place(layer, &layers, &forms, choice)).collect();
    let lanes = loop {
        if placed.iter().all(Option::is_none) {
            return None;
        }
        match arrange(&layers, &forms, graph, &placed) {
            Ok(lanes) => break lanes,
            Err(layer) => placed[layer] = None,
        }
    };
    let (graph, roots) = rewrite::rewrite(graph, roots, &forms, &layers, &placed, &lanes, choice)?;
    let mut instructions = BTreeMap::new();
    for id in graph.reachable(roots.iter().copied()) {
        if let crate::kernel::Op::Instruction { description, .. } = graph.op(id) {
            *instructions.entry(choice.meanings[*description as usize].name.clone()).or_insert(0) += 1;
        }
    }
    Some(Selection { graph, roots, instructions })
}

/// The instruction whose matrix has the rows of most results of a layer.
fn place<'a>(layer: &'a Layer, layers: &Layers, forms: &Forms, choice: &'a Choice) -> Option<Placed<'a>> {
    let mut best: Option<(usize, Placed<'a>)> = None;
    for (description, shape) in choice.shapes.iter().enumerate() {
        let Shape::Layer { space, matrix, state, added } = shape else { continue };
        let same = layer.atoms.iter().all(|&atom| forms.atoms()[atom].space == *space);
        // Half of the lanes at least: an instruction for less is not worth its packing.
        if !same || layer.atoms.len() > matrix.lanes() || 2 * layer.atoms.len() < matrix.lanes() {
            continue;
        }
        let fitting = layer.targets.iter().filter(|&&target| is_possible(matrix, &layers.targets[target])).count();
        if fitting > best.as_ref().map_or(0, |best| best.0) {
            let placed = Placed { layer, description: description as u32, matrix, state: *state, added: *added };
            best = Some((fitting, placed));
        }
    }
    best.map(|best| best.1)
}

fn is_possible(matrix: &Matrix, target: &layers::Target) -> bool {
    let blocks: Vec<meaning::Block> = target.entering.iter().map(|entering| entering.1).collect();
    Puzzle::possible(matrix, &blocks)
}

/// Lanes of atoms and of results.
struct Lanes {
    atoms: FxHashMap<usize, usize>,
    targets: FxHashMap<usize, usize>,
}

/// A lane for each atom and each result of the layers that have an instruction, or a layer that cannot have it.
fn arrange(layers: &Layers, forms: &Forms, graph: &Graph, placed: &[Option<Placed>]) -> Result<Lanes, usize> {
    let mut puzzle = Puzzle::default();
    let mut atoms: FxHashMap<usize, usize> = FxHashMap::default();
    for placed in placed.iter().flatten() {
        let first = puzzle.variables.len();
        for (rank, atom) in in_order(&placed.layer.atoms, forms, graph).into_iter().enumerate() {
            atoms.insert(atom, puzzle.variables.len());
            puzzle.variables.push((placed.matrix.lanes(), rank));
        }
        puzzle.different.push((first..puzzle.variables.len()).collect());
    }
    let mut targets: FxHashMap<usize, usize> = FxHashMap::default();
    for placed in placed.iter().flatten() {
        for &number in
            placed.layer.targets.iter().filter(|&&target| is_possible(placed.matrix, &layers.targets[target]))
        {
            let target = &layers.targets[number];
            let variable = match target.used {
                Use::Index(atom) if atoms.contains_key(&atom) => atoms[&atom],
                _ => {
                    puzzle.variables.push((placed.matrix.lanes(), 0));
                    puzzle.variables.len() - 1
                }
            };
            targets.insert(number, variable);
            let entering = target.entering.iter().map(|(atom, block)| (atoms[atom], *block)).collect();
            puzzle.constraints.push(Constraint { matrix: placed.matrix, result: variable, entering });
        }
    }
    puzzle.order = (0..puzzle.variables.len()).collect();
    match puzzle.solve() {
        Some(lanes) => Ok(Lanes {
            atoms: atoms.into_iter().map(|(atom, variable)| (atom, lanes[variable])).collect(),
            targets: targets.into_iter().map(|(target, variable)| (target, lanes[variable])).collect(),
        }),
        None => Err(placed.iter().rposition(Option::is_some).unwrap_or(0)),
    }
}

/// Atoms in the order of what they stand on: tokens as they come, elements of objects as they lie.
fn in_order(atoms: &[usize], forms: &Forms, graph: &Graph) -> Vec<usize> {
    let mut keyed: Vec<_> = atoms
        .iter()
        .map(|&atom| {
            let row = meaning::Row::of(forms, &forms.atoms()[atom].index);
            let keys = row.blocks.keys().map(|&(source, lane)| rewrite::order(graph, source, lane));
            (keys.min(), atom)
        })
        .collect();
    keyed.sort();
    keyed.into_iter().map(|(_, atom)| atom).collect()
}

/// A loop with instructions.
#[derive(Clone, Debug)]
pub struct SelectedLoop {
    /// The loop.
    pub body: Loop,
    /// Other nodes that were asked for, in the new graph.
    pub others: Vec<NodeId>,
    /// How often each instruction stands in the graph.
    pub instructions: BTreeMap<String, usize>,
    /// How it was shown to mean what the loop does.
    pub evidence: Vec<Evidence>,
}

/// Puts instructions into a loop; `None` where none was found, or what was found does not mean what the loop does. What
/// is carried from iteration to iteration matters first. `others` are further nodes of the loop's graph that somebody
/// holds.
pub fn select_in_loop(body: &Loop, others: &[NodeId], choice: &Choice) -> Option<SelectedLoop> {
    found_in_loop(body, others, choice).filter(|found| agreement::loops_agree(body, &found.body, choice))
}

fn found_in_loop(body: &Loop, others: &[NodeId], choice: &Choice) -> Option<SelectedLoop> {
    let carried = body.carried.iter().map(|carried| carried.next);
    let outputs = body.outputs.iter().map(|output| output.2);
    let counters = body.counters.iter().map(|counter| counter.start);
    let roots: Vec<NodeId> = carried.chain(outputs).chain(counters).chain(others.iter().copied()).collect();
    let Some(selection) = select(&body.graph, &roots, &blocks(body), choice) else {
        let name = |description: u32| choice.meanings[description as usize].name.clone();
        return words::select(body, others, &choice.patterns, name);
    };
    let mut new = body.clone();
    new.graph = selection.graph;
    let (carried, rest) = selection.roots.split_at(body.carried.len());
    let (outputs, rest) = rest.split_at(body.outputs.len());
    let (counters, others) = rest.split_at(body.counters.len());
    for (carried, next) in new.carried.iter_mut().zip(carried) {
        carried.next = *next;
    }
    for (output, value) in new.outputs.iter_mut().zip(outputs) {
        output.2 = *value;
    }
    for (counter, start) in new.counters.iter_mut().zip(counters) {
        counter.start = *start;
    }
    let (others, evidence) = (others.to_vec(), agreement::of_layers());
    Some(SelectedLoop { body: new, others, instructions: selection.instructions, evidence })
}

/// What is carried and what comes out, sixteen neighbouring elements and tokens each.
fn blocks(body: &Loop) -> Vec<Vec<NodeId>> {
    let mut blocks: BTreeMap<(bool, u32, u64), Vec<NodeId>> = BTreeMap::new();
    let carried = body.carried.iter().map(|one| ((true, one.object.0, one.index as u64 / BLOCK), one.next));
    let outputs = body.outputs.iter().map(|&(port, offset, value)| ((false, port, offset / BLOCK), value));
    for (block, value) in carried.chain(outputs) {
        blocks.entry(block).or_default().push(value);
    }
    blocks.into_values().collect()
}

struct Drawn<'a> {
    seed: u64,
    choice: &'a Choice,
}

impl Drawn<'_> {
    fn draw(&self, key: (u64, u64, u64)) -> u128 {
        let mut words = [0u64; 2];
        for (i, word) in words.iter_mut().enumerate() {
            let mut state = self.seed.wrapping_mul(2).wrapping_add(i as u64);
            for part in [key.0, key.1, key.2] {
                state = (state ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                state ^= state >> 29;
                state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
                state ^= state >> 32;
            }
            *word = state;
        }
        u128::from(words[0]) << 64 | u128::from(words[1])
    }
}

impl Environment for Drawn<'_> {
    fn input(&self, port: u32, offset: i64) -> u128 {
        self.draw((0, u64::from(port), offset as u64))
    }

    fn entry(&self, object: ObjectId, index: u128) -> u128 {
        self.draw((1, u64::from(object.0), index as u64))
    }

    fn loaded(&self, id: u32) -> u128 {
        self.draw((2, u64::from(id), 0))
    }

    fn instruction(&self, description: u32, operands: &[u128]) -> u128 {
        self.choice.meanings.get(description as usize).map_or(0, |meaning| meaning.evaluate(operands))
    }
}

/// Whether both graphs have the same values at their roots, for `n` draws of all that lies outside.
pub fn check(old: (&Graph, &[NodeId]), new: (&Graph, &[NodeId]), choice: &Choice, n: u64) -> bool {
    (0..n).all(|seed| {
        let environment = Drawn { seed, choice };
        let before = values(old.0, old.1, &environment);
        let after = values(new.0, new.1, &environment);
        old.1.len() == new.1.len() && old.1.iter().zip(new.1).all(|(a, b)| before.get(a) == after.get(b))
    })
}

/// A loop with instructions, and what they mean.
struct Selected {
    body: Loop,
    instructions: BTreeMap<String, usize>,
    choice: Choice,
}

impl Parts for Selected {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("selected", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.instructions.iter().map(|(name, n)| format!("{name}: {n} in an iteration")).collect();
        let n = |number: usize| self.choice.meanings[number].name.as_str();
        let used = self.body.needed().into_iter().filter_map(|id| match self.body.graph.op(id) {
            Op::Instruction { description, .. } => Some(*description as usize),
            _ => None,
        });
        lines.extend(
            BTreeSet::from_iter(used).into_iter().map(|number| format!("instruction {number} is {}", n(number))),
        );
        lines
    }

    fn agree_with(&self, body: &Loop) -> bool {
        agreement::loops_agree(body, &self.body, &self.choice)
    }
}
