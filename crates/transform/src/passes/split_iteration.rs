//! Splitting of iterations into independent pieces (strip mining in reverse). An iteration of a loop that does the same
//! to one piece of its tokens after another becomes that many shorter iterations.
//!
//! Programs do several groups in a firing to be quick; vectors are quicker when each group is a lane. What is the same
//! is found by comparing: the value of a token of the first piece, computed from tokens that lie as much further as a
//! later piece does, must be the node of that piece's token.
//!
//! A value that goes from iteration to iteration as the sum, conjunction, … of itself and something of each piece is
//! not in the way: pieces produce their part as a token of a port of its own, and parts are put together afterwards.
//! Ports whose tokens are not made piece by piece, and counters, stay behind in a loop that runs beside.
//!
//! Example: an iteration that takes 48 bytes and makes 64 characters of them, each four from three bytes, is 16
//! iterations of 3 bytes.

use super::pass::{Form, ITERATIONS, Parts, Pass, Property, boxed, leaves_the_same};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::graph::mask;
use crate::kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "split-iteration",
    about: "Makes several short iterations of one that does the same to piece after piece",
    requires: &[],
    establishes: &[Property::Independent],
    gives_up: &[],
    form: Form::Parts(|body| split_iteration(body).map(boxed)),
};

/// Pieces of an iteration at most.
const MOST_PIECES: u64 = 256;

/// Parts of a value that goes from iteration to iteration at most.
const MOST_PARTS: usize = 4096;

/// What puts parts together; in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Bits that all have.
    And,
    /// Bits that any has.
    Or,
    /// Bits that an odd number has.
    Xor,
    /// The sum, in as many bits as the value has.
    Add,
}

impl Fold {
    fn of(op: &Op) -> Option<(Fold, NodeId, NodeId)> {
        match *op {
            Op::And(a, b) => Some((Fold::And, a, b)),
            Op::Or(a, b) => Some((Fold::Or, a, b)),
            Op::Xor(a, b) => Some((Fold::Xor, a, b)),
            Op::Add(a, b) => Some((Fold::Add, a, b)),
            _ => None,
        }
    }

    fn node(self, graph: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
        match self {
            Fold::And => graph.and(a, b),
            Fold::Or => graph.or(a, b),
            Fold::Xor => graph.xor(a, b),
            Fold::Add => graph.sum(a, b),
        }
    }
}

/// An element that becomes itself and the parts of all pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: usize,
    /// What puts the parts together.
    pub fold: Fold,
    /// The output port of the pieces that has the parts, a token each.
    pub port: usize,
}

/// A loop in pieces.
#[derive(Clone, Debug)]
pub struct SplitLoop {
    /// Its iterations are the pieces; they need nothing of each other. Output ports of the parts of folded values come
    /// after those of the loop.
    pub pieces: Loop,
    /// Pieces of an iteration.
    pub per_iteration: u64,
    /// What parts become.
    pub folded: Vec<Folded>,
    /// What is not done in pieces. Input ports that it does not read have no tokens here.
    pub rest: Loop,
}

/// Splits the iterations of a loop into as many pieces as there are; `None` where there is one only.
pub fn split_iteration(body: &Loop) -> Option<SplitLoop> {
    let most = body.produces.iter().map(|port| port.0).max().unwrap_or(0).min(MOST_PIECES);
    (2..=most).rev().filter(|&n| body.produces.iter().any(|port| port.0 > 0 && port.0 % n == 0)).find_map(
        |per_iteration| {
            let mut splitter = Splitter::new(body, per_iteration);
            splitter.split()
        },
    )
}

struct Splitter<'a> {
    body: &'a Loop,
    per_iteration: u64,
    graph: Graph,
    /// Nodes of the loop, with tokens so many pieces further.
    moved: FxHashMap<(u64, NodeId), NodeId>,
    /// Nodes that depend on what goes from iteration to iteration, or on tokens that do not come in pieces.
    tied: FxHashSet<NodeId>,
}

impl<'a> Splitter<'a> {
    fn new(body: &'a Loop, per_iteration: u64) -> Splitter<'a> {
        let mut tied = FxHashSet::default();
        for id in body.graph.reachable(body.roots()) {
            let own = match body.graph.op(id) {
                Op::Input { port, offset } => {
                    let tokens = body.consumes.get(*port as usize).map_or(0, |port| port.0);
                    *offset < 0 || *offset as u64 >= tokens || !tokens.is_multiple_of(per_iteration)
                }
                Op::Entry { object, index } => {
                    let index = body.graph.constant(*index).map(|index| index as usize);
                    let same = |at: usize| index.is_none_or(|index| index == at);
                    body.carried.iter().any(|one| one.object == *object && same(one.index))
                }
                Op::Loaded(_) => true,
                _ => false,
            };
            if own || body.graph.op(id).operands().iter().any(|operand| tied.contains(operand)) {
                tied.insert(id);
            }
        }
        Splitter { body, per_iteration, graph: body.graph.clone(), moved: FxHashMap::default(), tied }
    }

    /// A node of the loop made anew, with tokens that lie `pieces` further.
    fn moved(&mut self, pieces: u64, root: NodeId) -> NodeId {
        let body = self.body;
        if let Some(&known) = self.moved.get(&(pieces, root)) {
            return known;
        }
        for id in body.graph.reachable_but([root], |id| self.moved.contains_key(&(pieces, id))) {
            let (op, width) = (body.graph.op(id), body.graph.width(id));
            let new = match op {
                Op::Input { port, offset } => {
                    let step = body.consumes[*port as usize].0 / self.per_iteration;
                    self.graph.input(*port, offset + (pieces * step) as i64, width)
                }
                _ => {
                    let operands: Vec<NodeId> =
                        op.operands().iter().map(|operand| self.moved[&(pieces, *operand)]).collect();
                    self.graph.rebuild(op, width, &operands)
                }
            };
            self.moved.insert((pieces, id), new);
        }
        self.moved[&(pieces, root)]
    }

    /// Whether a node reads only tokens of one of the pieces.
    fn is_of_piece(&self, piece: u64, id: NodeId) -> bool {
        self.body.graph.reachable([id]).into_iter().all(|id| match self.body.graph.op(id) {
            Op::Input { port, offset } => {
                *offset as u64 / (self.body.consumes[*port as usize].0 / self.per_iteration) == piece
            }
            _ => true,
        })
    }

    fn split(&mut self) -> Option<SplitLoop> {
        let body = self.body;
        let mut tokens: FxHashMap<(u32, u64), NodeId> = FxHashMap::default();
        body.outputs.iter().for_each(|&(port, offset, value)| {
            tokens.insert((port, offset), value);
        });
        let in_pieces: Vec<bool> =
            (0..body.produces.len()).map(|port| self.port_splits(port as u32, &tokens)).collect();
        if !in_pieces.contains(&true) {
            return None;
        }
        let mut folded = Vec::new();
        let mut parts = Vec::new();
        for one in body.carried.iter().filter(|one| one.carry == Carry::True) {
            let (fold, part) = self.folds(one.object, one.index, one.next)?;
            folded.push(Folded { object: one.object, index: one.index, fold, port: body.produces.len() + parts.len() });
            parts.push((part, body.objects.get(one.object.0 as usize)?.width));
        }
        let mut pieces = body.clone();
        pieces.carried.clear();
        pieces.counters.clear();
        let per_iteration = self.per_iteration;
        pieces
            .consumes
            .iter_mut()
            .for_each(|port| port.0 = if port.0 % per_iteration == 0 { port.0 / per_iteration } else { 0 });
        let mut rest = body.clone();
        rest.carried.retain(|one| one.carry != Carry::True);
        rest.outputs.retain(|output| !in_pieces[output.0 as usize]);
        for (port, &splits) in in_pieces.iter().enumerate() {
            pieces.produces[port].0 = if splits { body.produces[port].0 / per_iteration } else { 0 };
            if splits {
                rest.produces[port].0 = 0;
            }
        }
        // What a folded value was when the iteration began is known nowhere but in its own next value.
        let of_folded = |id: NodeId| match body.graph.op(id) {
            Op::Entry { object, index } => {
                let index = body.graph.constant(*index).map(|index| index as usize);
                folded.iter().any(|one| one.object == *object && index.is_none_or(|index| index == one.index))
            }
            _ => false,
        };
        let needed = body.graph.reachable(rest.roots());
        if needed.iter().any(|&id| of_folded(id)) {
            return None;
        }
        // It has the ports that it reads.
        let reads = |port: usize| {
            needed.iter().any(|&id| matches!(body.graph.op(id), Op::Input { port: of, .. } if *of as usize == port))
        };
        rest.consumes.iter_mut().enumerate().filter(|(port, _)| !reads(*port)).for_each(|(_, tokens)| tokens.0 = 0);
        pieces.outputs.retain(|output| in_pieces[output.0 as usize] && output.1 < pieces.produces[output.0 as usize].0);
        for output in &mut pieces.outputs {
            output.2 = self.moved(0, output.2);
        }
        for (at, &(part, width)) in parts.iter().enumerate() {
            pieces.outputs.push(((body.produces.len() + at) as u32, 0, part));
            pieces.produces.push((1, width));
        }
        pieces.graph = self.graph.clone();
        Some(SplitLoop { pieces, per_iteration, folded, rest })
    }

    fn port_splits(&mut self, port: u32, tokens: &FxHashMap<(u32, u64), NodeId>) -> bool {
        let n = self.body.produces[port as usize].0;
        if n == 0 || !n.is_multiple_of(self.per_iteration) {
            return false;
        }
        let in_piece = n / self.per_iteration;
        for offset in 0..in_piece {
            let Some(&first) = tokens.get(&(port, offset)) else { return false };
            if self.tied.contains(&first) || !self.is_of_piece(0, first) {
                return false;
            }
            for piece in 1..self.per_iteration {
                let Some(&other) = tokens.get(&(port, offset + piece * in_piece)) else { return false };
                if self.tied.contains(&other) || self.moved(piece, first) != self.moved(0, other) {
                    return false;
                }
            }
        }
        true
    }

    /// How a value is put together of itself and one part of each piece: the fold, and the part of the first piece.
    fn folds(&mut self, object: ObjectId, index: usize, next: NodeId) -> Option<(Fold, NodeId)> {
        let (fold, ..) = Fold::of(self.body.graph.op(next))?;
        let mut leaves = Vec::new();
        let mut open = vec![next];
        while let Some(id) = open.pop() {
            match Fold::of(self.body.graph.op(id)) {
                Some((same, a, b)) if same == fold && (self.tied.contains(&id) || !self.is_of_one_piece(id)) => {
                    open.extend([a, b]);
                }
                _ => leaves.push(id),
            }
            if open.len() + leaves.len() > MOST_PARTS {
                return None;
            }
        }
        let is_itself = |id: NodeId| match *self.body.graph.op(id) {
            Op::Entry { object: of, index: at } => of == object && self.body.graph.constant(at) == Some(index as u128),
            _ => false,
        };
        let before = leaves.len();
        leaves.retain(|&id| !is_itself(id));
        if leaves.len() + 1 != before || leaves.iter().any(|id| self.tied.contains(id)) {
            return None;
        }
        // Parts of each piece, in terms of the first; what is no piece's own is in nobody's.
        let mut of_pieces: Vec<Vec<NodeId>> = vec![Vec::new(); self.per_iteration as usize];
        for id in leaves {
            let piece = (0..self.per_iteration).find(|&piece| self.is_of_piece(piece, id))?;
            of_pieces[piece as usize].push(id);
        }
        let first = of_pieces.first()?.clone();
        for (piece, parts) in (0..).zip(&of_pieces) {
            let mut expected: Vec<NodeId> = first.iter().map(|&id| self.moved(piece, id)).collect();
            let mut found: Vec<NodeId> = parts.iter().map(|&id| self.moved(0, id)).collect();
            expected.sort_unstable();
            found.sort_unstable();
            if expected != found {
                return None;
            }
        }
        let parts: Vec<NodeId> = first.iter().map(|&id| self.moved(0, id)).collect();
        let part = parts.into_iter().reduce(|a, b| fold.node(&mut self.graph, a, b))?;
        Some((fold, part))
    }

    fn is_of_one_piece(&self, id: NodeId) -> bool {
        (0..self.per_iteration).any(|piece| self.is_of_piece(piece, id))
    }
}

impl Parts for SplitLoop {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("pieces", &self.pieces), ("rest", &self.rest)]
    }

    fn beside(&self) -> Vec<String> {
        let folded = self.folded.iter().map(|one| {
            let Folded { object, index, fold, port } = *one;
            format!("o{}[{index}] becomes itself and output {port}, by {fold:?}", object.0)
        });
        [format!("{} pieces an iteration", self.per_iteration)].into_iter().chain(folded).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            let of = |part: &Loop| World { outputs: vec![Vec::new(); part.produces.len()], ..world.clone() };
            let (mut pieces, mut rest) = (of(&self.pieces), of(&self.rest));
            run_loop(&self.pieces, &mut pieces, ITERATIONS * self.per_iteration);
            run_loop(&self.rest, &mut rest, ITERATIONS);
            world.objects = std::mem::take(&mut rest.objects);
            for (port, tokens) in world.outputs.iter_mut().enumerate() {
                let from = if self.pieces.produces[port].0 > 0 { &mut pieces } else { &mut rest };
                *tokens = std::mem::take(&mut from.outputs[port]);
            }
            for one in &self.folded {
                let width = body.objects.get(one.object.0 as usize)?.width;
                let element = world.objects.get_mut(one.object.0 as usize)?.get_mut(one.index)?;
                *element = pieces.outputs.get(one.port)?.iter().fold(*element, |all, part| match one.fold {
                    Fold::And => all & part,
                    Fold::Or => all | part,
                    Fold::Xor => all ^ part,
                    Fold::Add => all.wrapping_add(*part) & mask(width),
                });
            }
            Some(())
        })
    }
}
