//! Graph rewriting with selected instructions. The graph anew, with one instruction for each layer that was placed.
//!
//! What of a result is not made of the layer's atoms is the *rest*. The rest of the result that matters most at a lane
//! goes into the instruction as the operand that is added; other results at that lane are made from it with the
//! difference of the rests. A register is packed from rests by what they are: tokens of one port make one `Concat`,
//! elements of one object another, and a matrix that an instruction knows is that instruction. What cannot be packed so
//! is computed as it was written, with the layer's functions put to 0.

mod packing;

use super::layers::{Layers, Target, Use};
use super::meaning::{LANE_BITS, Row};
use super::{Choice, Lanes, Placed};
use crate::kernel::{Graph, NodeId, Op};
use crate::passes::linear::{Forms, Source};
use rustc_hash::{FxHashMap, FxHashSet};

/// Where a value comes in the order of a transition's world: tokens as they come, elements as they lie, values.
pub type Order = (u32, u64, u64, u32);

/// See [`Order`].
pub fn order(graph: &Graph, source: Source, lane: u32) -> Order {
    match source {
        Source::Node(node) => match graph.op(node) {
            Op::Input { port, offset } => (0, u64::from(*port), offset.wrapping_sub(i64::MIN) as u64, lane),
            Op::Entry { object, index } => match graph.constant(*index) {
                Some(at) => (1, u64::from(object.0), at as u64, lane),
                None => (1, u64::from(object.0), u64::MAX, lane),
            },
            _ => (2, 0, u64::from(node.0), lane),
        },
        Source::Atom(atom) => (3, 0, atom as u64, lane),
    }
}

/// Bits of a source from a lowest one on.
type At = (Source, u32);

/// What stands at lanes of a node now.
#[derive(Clone, Copy)]
enum Stand {
    Target(usize),
    State(usize, usize),
}

struct Rewriter<'a> {
    old: &'a Graph,
    forms: &'a Forms,
    layers: &'a Layers,
    placed: &'a [Option<Placed<'a>>],
    lanes: &'a Lanes,
    choice: &'a Choice,
    new: Graph,
    /// The old table under its number in the new graph.
    tables: FxHashMap<u32, crate::kernel::TableId>,
    values: FxHashMap<NodeId, NodeId>,
    without: FxHashMap<(usize, NodeId), NodeId>,
    stands: FxHashMap<NodeId, Vec<(u32, Stand)>>,
    /// Layers that each old node depends on.
    needs: FxHashMap<NodeId, FxHashSet<usize>>,
    ranks: Vec<(usize, usize)>,
    /// For each layer and lane the results that stand there, the one that the instruction gives first if it gives one.
    results: Vec<Vec<(bool, Vec<usize>)>>,
    states: FxHashMap<usize, NodeId>,
    /// Layers whose states are being made: what they are made of cannot be taken out of them.
    open: FxHashSet<usize>,
    instructions: FxHashMap<usize, NodeId>,
    differences: FxHashMap<(usize, usize), NodeId>,
}

/// Eight bits to pack, and where they stand in the old graph.
struct Lane {
    row: Row,
    stands: (NodeId, u32),
}

/// The new graph and roots; `None` where layers need each other.
pub fn rewrite(
    old: &Graph,
    roots: &[NodeId],
    forms: &Forms,
    layers: &Layers,
    placed: &[Option<Placed>],
    lanes: &Lanes,
    choice: &Choice,
) -> Option<(Graph, Vec<NodeId>)> {
    let mut rewriter = Rewriter {
        old,
        forms,
        layers,
        placed,
        lanes,
        choice,
        new: Graph::new(),
        tables: FxHashMap::default(),
        values: FxHashMap::default(),
        without: FxHashMap::default(),
        stands: FxHashMap::default(),
        needs: FxHashMap::default(),
        ranks: Vec::new(),
        results: Vec::new(),
        states: FxHashMap::default(),
        open: FxHashSet::default(),
        instructions: FxHashMap::default(),
        differences: FxHashMap::default(),
    };
    rewriter.find_needs(roots)?;
    rewriter.find_results();
    let roots = roots.iter().map(|&root| rewriter.value(root)).collect();
    Some((rewriter.new, roots))
}

impl Rewriter<'_> {
    fn layer_of(&self, atom: usize) -> Option<usize> {
        let layer = *self.layers.layer_of.get(&atom)?;
        self.placed[layer].as_ref().map(|_| layer)
    }

    fn find_needs(&mut self, roots: &[NodeId]) -> Option<()> {
        for id in self.old.reachable(roots.iter().copied()) {
            let mut needs = FxHashSet::default();
            for operand in self.old.op(id).operands() {
                needs.extend(self.needs.get(&operand).into_iter().flatten());
            }
            if matches!(self.old.op(id), Op::Lookup(..)) {
                let terms = self.forms.of(id).iter().flat_map(|form| form.terms());
                for &term in terms {
                    if let Source::Atom(atom) = self.forms.source(term).0 {
                        needs.extend(self.layer_of(atom));
                    }
                }
            }
            self.needs.insert(id, needs);
        }
        for (number, layer) in self.layers.layers.iter().enumerate() {
            let mut needs: FxHashSet<usize> = FxHashSet::default();
            for &atom in &layer.atoms {
                needs.extend(self.needs.get(&self.forms.index_node(atom)).into_iter().flatten());
            }
            if needs.contains(&number) {
                return None;
            }
            self.ranks.push((needs.len(), number));
        }
        Some(())
    }

    fn find_results(&mut self) {
        for (number, placed) in self.placed.iter().enumerate() {
            let Some(placed) = placed else {
                self.results.push(Vec::new());
                continue;
            };
            let mut results: Vec<(bool, Vec<usize>)> = vec![(false, Vec::new()); placed.matrix.lanes()];
            for &target in &placed.layer.targets {
                if let Some(&lane) = self.lanes.targets.get(&target) {
                    results[lane].1.push(target);
                }
            }
            for (given, targets) in &mut results {
                let first = targets.iter().position(|&target| self.may_be_added(number, &self.layers.targets[target]));
                if let Some(first) = first {
                    targets[..=first].rotate_right(1);
                    *given = true;
                }
            }
            for &target in results.iter().flat_map(|result| &result.1) {
                match self.layers.targets[target].used {
                    Use::Lane(node, lo) => self.stands.entry(node).or_default().push((lo, Stand::Target(target))),
                    Use::Index(atom) if self.layer_of(atom).is_none() => {
                        let node = self.forms.index_node(atom);
                        self.stands.entry(node).or_default().push((0, Stand::Target(target)));
                    }
                    Use::Index(_) => {}
                }
            }
            for &atom in &placed.layer.atoms {
                let stand = Stand::State(number, self.lanes.atoms[&atom]);
                let stands = self.stands.entry(self.forms.index_node(atom)).or_default();
                if stands.iter().all(|(lo, _)| *lo != 0) {
                    stands.push((0, stand));
                }
            }
            self.results.push(results);
        }
    }

    /// Whether the rest of a result is there before the instruction.
    fn may_be_added(&self, layer: usize, target: &Target) -> bool {
        self.rest(target).blocks.keys().all(|(source, _)| match source {
            Source::Atom(atom) => self.layer_of(*atom).is_none_or(|other| self.ranks[other] < self.ranks[layer]),
            Source::Node(node) => self.needs[node].iter().all(|&other| self.ranks[other] < self.ranks[layer]),
        })
    }

    /// A result without what the instruction makes, the constant too.
    fn rest(&self, target: &Target) -> Row {
        let mut rest = target.row.clone();
        for (atom, _) in &target.entering {
            rest.blocks.remove(&(Source::Atom(*atom), 0));
        }
        rest
    }

    // --- values -----------------------------------------------------------------------------------------------------

    /// An old node in the new graph.
    fn value(&mut self, id: NodeId) -> NodeId {
        if let Some(&value) = self.values.get(&id) {
            return value;
        }
        let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || match self.stands.get(&id).cloned() {
            Some(stands) => self.by_lanes(id, &stands),
            None => self.plain(id),
        });
        self.values.insert(id, value);
        value
    }

    fn by_lanes(&mut self, id: NodeId, stands: &[(u32, Stand)]) -> NodeId {
        let width = self.old.width(id);
        let mut parts = Vec::new();
        let mut lo = 0;
        while lo < width {
            let bits = LANE_BITS.min(width - lo);
            let stand = stands.iter().find(|stand| stand.0 == lo && bits == LANE_BITS);
            let stand = stand.filter(|(_, stand)| match stand {
                Stand::State(layer, _) => !self.open.contains(layer),
                Stand::Target(_) => true,
            });
            let forms = &self.forms.of(id)[lo as usize..(lo + bits) as usize];
            let known: Option<Vec<bool>> = forms.iter().map(|form| form.known()).collect();
            let part = match (stand, known) {
                (Some((_, Stand::Target(target))), _) => self.result(*target),
                (Some((_, Stand::State(layer, lane))), _) => {
                    let state = self.state(*layer);
                    self.new.extract(state, *lane as u32 * LANE_BITS, LANE_BITS)
                }
                (None, Some(bits_known)) => {
                    let number = bits_known.iter().rev().fold(0, |number, &bit| number << 1 | u128::from(bit));
                    self.new.number(number, bits)
                }
                (None, None) => {
                    let plain = self.plain(id);
                    self.new.extract(plain, lo, bits)
                }
            };
            parts.push(part);
            lo += bits;
        }
        parts.reverse();
        self.new.concat(&parts)
    }

    fn plain(&mut self, id: NodeId) -> NodeId {
        let operands = self.old.op(id).operands();
        let operands: Vec<NodeId> = operands.into_iter().map(|operand| self.value(operand)).collect();
        self.rebuild(id, &operands)
    }

    fn rebuild(&mut self, id: NodeId, operands: &[NodeId]) -> NodeId {
        let node = self.old.node(id);
        let op = match node.op {
            Op::Lookup(table, index) => {
                let new = &mut self.new;
                let old = self.old;
                let table = *self.tables.entry(table.0).or_insert_with(|| new.add_table(old.table(table).clone()));
                Op::Lookup(table, index)
            }
            _ => node.op.clone(),
        };
        self.new.rebuild(&op, node.width, operands)
    }

    /// An old node with the functions of a layer put to 0.
    fn without(&mut self, layer: Option<usize>, id: NodeId) -> NodeId {
        let Some(layer) = layer else { return self.plain(id) };
        if self.forms.is_source(id) || !self.needs[&id].contains(&layer) {
            return self.value(id);
        }
        if let Some(&value) = self.without.get(&(layer, id)) {
            return value;
        }
        let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            if let Op::Lookup(table, _) = *self.old.op(id) {
                let atoms = self.forms.of(id).iter().flat_map(|form| form.terms()).find_map(|&term| {
                    match self.forms.source(term).0 {
                        Source::Atom(atom) => self.layer_of(atom),
                        Source::Node(_) => None,
                    }
                });
                if atoms != Some(layer) {
                    return self.value(id);
                }
                let table = self.old.table(table);
                let (zero, width) = (table.elements.first().copied().unwrap_or(0), table.width);
                return self.new.number(zero, width);
            }
            let operands = self.old.op(id).operands();
            let operands: Vec<NodeId> =
                operands.into_iter().map(|operand| self.without(Some(layer), operand)).collect();
            self.rebuild(id, &operands)
        });
        self.without.insert((layer, id), value);
        value
    }

    // --- registers --------------------------------------------------------------------------------------------------

    /// What an instruction puts through its function, in lanes.
    fn state(&mut self, number: usize) -> NodeId {
        if let Some(&state) = self.states.get(&number) {
            return state;
        }
        self.open.insert(number);
        let state = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.make_state(number));
        self.open.remove(&number);
        self.states.insert(number, state);
        state
    }

    fn make_state(&mut self, number: usize) -> NodeId {
        let Some(placed) = &self.placed[number] else { return self.new.number(0, 1) };
        let mut at: Vec<Option<usize>> = vec![None; placed.matrix.lanes()];
        for &atom in &placed.layer.atoms {
            at[self.lanes.atoms[&atom]] = Some(atom);
        }
        // What an instruction before gives, as it gives it.
        let given = |atom: usize| -> Option<(usize, usize)> {
            let target = self.layers.targets.iter().position(|target| target.used == Use::Index(atom))?;
            let lane = *self.lanes.targets.get(&target)?;
            let before = self.layer_of(self.layers.targets[target].entering[0].0)?;
            let (first, results) = &self.results[before][lane];
            let leading = &self.layers.targets[*results.first()?];
            (*first && leading.row == self.layers.targets[target].row).then_some((before, lane))
        };
        let before: Vec<Option<(usize, usize)>> = at.iter().map(|atom| atom.and_then(given)).collect();
        let whole = before.iter().enumerate().find_map(|(lane, from)| from.filter(|from| from.1 == lane));
        if let Some((layer, _)) = whole {
            let fits =
                |(lane, from): (usize, &Option<(usize, usize)>)| *from == Some((layer, lane)) || at[lane].is_none();
            if before.iter().enumerate().all(fits) {
                return self.instruction(layer);
            }
        }
        let lanes = at.iter().map(|atom| {
            let atom = (*atom)?;
            let row = Row::of(self.forms, &self.forms.atoms()[atom].index);
            Some(Lane { row, stands: (self.forms.index_node(atom), 0) })
        });
        let lanes: Vec<Option<Lane>> = lanes.collect();
        self.pack(&lanes, None)
    }

    fn instruction(&mut self, number: usize) -> NodeId {
        if let Some(&instruction) = self.instructions.get(&number) {
            return instruction;
        }
        let Some(placed) = &self.placed[number] else { return self.new.number(0, 1) };
        let constants = placed.matrix.constants.clone();
        let (first, second) = (placed.state, placed.added);
        let description = placed.description;
        let lanes: Vec<Option<Lane>> = self.results[number]
            .iter()
            .zip(&constants)
            .map(|((given, targets), constant)| {
                let target = &self.layers.targets[*targets.first().filter(|_| *given)?];
                let mut row = self.rest(target);
                row.constant ^= constant;
                Some(Lane { row, stands: target.stands })
            })
            .collect();
        // The instruction's constant is in the row; where a row is computed as it was written it is added there.
        let added = self.pack_with(&lanes, Some(number), &constants);
        let state = self.state(number);
        let mut operands = vec![state; 2];
        operands[first] = state;
        operands[second] = added;
        let width = constants.len() as u32 * LANE_BITS;
        let instruction = self.new.add(Op::Instruction { description, operands: operands.into() }, width);
        self.instructions.insert(number, instruction);
        instruction
    }

    /// A result of a layer.
    fn result(&mut self, number: usize) -> NodeId {
        let target = &self.layers.targets[number];
        let (layer, lane) = match self.layer_of(target.entering[0].0) {
            Some(layer) => (layer, self.lanes.targets[&number]),
            None => return self.plain(target.stands.0),
        };
        let lo = lane as u32 * LANE_BITS;
        let instruction = self.instruction(layer);
        let (given, targets) = &self.results[layer][lane];
        let first = &self.layers.targets[targets[0]];
        if *given && first.row == target.row {
            return self.new.extract(instruction, lo, LANE_BITS);
        }
        // All results with the same place in the lists of their lanes differ from the instruction by one register.
        let place = targets.iter().position(|&other| self.layers.targets[other].row == target.row).unwrap_or(0);
        let both = match self.differences.get(&(layer, place)) {
            Some(&both) => Some(both),
            None => {
                let lanes = self.differences_at(layer, place);
                lanes.map(|lanes| {
                    let difference = self.pack(&lanes, Some(layer));
                    let both = self.new.xor(instruction, difference);
                    self.differences.insert((layer, place), both);
                    both
                })
            }
        };
        match both {
            // As it is: simplified it would be added lane by lane.
            Some(both) => self.new.add(Op::Extract(both, lo), LANE_BITS),
            // Something in the difference needs other lanes of this layer.
            None => {
                let mine = self.without(Some(layer), self.layers.targets[number].stands.0);
                let mine = self.new.extract(mine, self.layers.targets[number].stands.1, LANE_BITS);
                let from = self.new.extract(instruction, lo, LANE_BITS);
                let constant = self.placed[layer].as_ref().map_or(0, |placed| placed.matrix.constants[lane]);
                let constant = self.new.number(u128::from(constant), LANE_BITS);
                let mut sum = self.new.xor(mine, constant);
                if self.results[layer][lane].0 {
                    let stands = self.layers.targets[self.results[layer][lane].1[0]].stands;
                    let other = self.without(Some(layer), stands.0);
                    let other = self.new.extract(other, stands.1, LANE_BITS);
                    let other = self.new.xor(other, constant);
                    sum = self.new.xor(sum, other);
                }
                self.new.xor(from, sum)
            }
        }
    }

    /// Differences of results from what the instruction gives, at all lanes; `None` where one needs this layer.
    fn differences_at(&self, layer: usize, place: usize) -> Option<Vec<Option<Lane>>> {
        let constants = &self.placed[layer].as_ref()?.matrix.constants;
        let mut lanes = Vec::new();
        for (lane, (given, targets)) in self.results[layer].iter().enumerate() {
            let Some(&target) = targets.get(place) else {
                lanes.push(None);
                continue;
            };
            let target = &self.layers.targets[target];
            if !self.may_be_added_later(layer, target) {
                return None;
            }
            let mut row = self.rest(target);
            if *given {
                row = row.xor(&self.rest(&self.layers.targets[targets[0]]));
            } else {
                row.constant ^= constants[lane];
            }
            // A difference has no place of its own in the old graph.
            if !self.can_be_packed(&row) {
                return None;
            }
            lanes.push(Some(Lane { row, stands: target.stands }));
        }
        Some(lanes)
    }

    fn may_be_added_later(&self, layer: usize, target: &Target) -> bool {
        self.rest(target).blocks.keys().all(|(source, _)| match source {
            Source::Atom(_) => true,
            Source::Node(node) => !self.needs[node].contains(&layer),
        })
    }
}
