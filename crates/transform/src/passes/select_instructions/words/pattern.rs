//! Patterns of instruction selection: what an instruction does with words.

use super::super::Meaning;
use super::bits::{Bit, bits};
use super::bitwise::{MOST_LEAVES, leaves, truth};
use crate::kernel::graph::mask;
use crate::kernel::{Graph, NodeId, Op};
use rustc_hash::FxHashMap;

/// Bits of a word.
pub const WORD_BITS: u32 = 32;

/// Words of a register.
pub const LANES: usize = 4;

/// Widest operand that must be constant of which every value is tried.
const MOST_IMMEDIATE_BITS: u32 = 4;

/// An operand of a pattern.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A register: the variable of each word, the lowest first.
    Register(Vec<NodeId>),
    /// A constant and its width.
    Immediate(u128, u32),
}

/// The words of a result, made from words of the operands by sums, bitwise operations and moves of bits.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Position of the description.
    pub description: u32,
    /// The values: variables are the tokens (operand, word).
    pub graph: Graph,
    /// The words of the result, the lowest first.
    pub lanes: Vec<NodeId>,
    /// The operands.
    pub operands: Vec<Operand>,
    /// The values that move bits of a word.
    moves: FxHashMap<NodeId, Moved>,
    /// The values that are bitwise functions of few words.
    bitwise: FxHashMap<NodeId, Bitwise>,
    /// Whether a word of the result says by itself where it can stand: it is more than bare words added.
    telling: [bool; LANES],
}

/// A value that moves bits of a word.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The word.
    pub source: NodeId,
    /// Where each bit comes from, the lowest first.
    pub bits: Vec<Bit>,
}

/// A bitwise function of words.
#[derive(Clone, Debug)]
pub struct Bitwise {
    /// The words, and how many of the bits of each are constant.
    pub leaves: Vec<(NodeId, usize)>,
    /// What it gives for each combination of bits.
    pub truth: u16,
}

impl Pattern {
    /// The patterns of an instruction, one for each value of operands that must be constant; none if it does not work on words.
    pub fn all_of(meaning: &Meaning, description: u32) -> Vec<Pattern> {
        if meaning.graph.width(meaning.result) != WORD_BITS * LANES as u32 {
            return Vec::new();
        }
        let mut all = vec![Vec::new()];
        for &width in &meaning.operands {
            let values = match width {
                1..=MOST_IMMEDIATE_BITS => 0..=mask(width),
                width if width == WORD_BITS * LANES as u32 => 0..=0,
                _ => return Vec::new(),
            };
            all = all
                .into_iter()
                .flat_map(|before: Vec<u128>| values.clone().map(move |value| [&before[..], &[value]].concat()))
                .collect();
        }
        all.iter().filter_map(|values| Pattern::with(meaning, description, values)).collect()
    }

    fn with(meaning: &Meaning, description: u32, values: &[u128]) -> Option<Pattern> {
        let mut graph = Graph::new();
        let mut operands = Vec::new();
        let mut whole = Vec::new();
        for (port, (&width, &value)) in meaning.operands.iter().zip(values).enumerate() {
            if width <= MOST_IMMEDIATE_BITS {
                operands.push(Operand::Immediate(value, width));
                whole.push(graph.number(value, width));
            } else {
                let words: Vec<NodeId> =
                    (0..LANES).map(|lane| graph.input(port as u32, lane as i64, WORD_BITS)).collect();
                let parts: Vec<NodeId> = words.iter().rev().copied().collect();
                whole.push(graph.concat(&parts));
                operands.push(Operand::Register(words));
            }
        }
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in meaning.graph.reachable([meaning.result]) {
            let node = meaning.graph.node(id);
            let new = match &node.op {
                Op::Input { port, .. } => *whole.get(*port as usize)?,
                Op::Lookup(..) | Op::Entry { .. } | Op::Loaded(_) => return None,
                op => {
                    let operands: Vec<NodeId> = op.operands().iter().map(|operand| known[operand]).collect();
                    graph.rebuild(op, node.width, &operands)
                }
            };
            known.insert(id, new);
        }
        let result = known[&meaning.result];
        let lanes: Vec<NodeId> =
            (0..LANES as u32).map(|lane| graph.extract(result, WORD_BITS * lane, WORD_BITS)).collect();
        let (moves, bitwise, telling) = Default::default();
        let mut pattern = Pattern { description, graph, lanes, operands, moves, bitwise, telling };
        pattern.is_of_words().then(|| {
            pattern.learn();
            pattern
        })
    }

    /// What every comparison asks for.
    fn learn(&mut self) {
        let graph = &self.graph;
        for id in graph.reachable(self.lanes.iter().copied()) {
            match graph.op(id) {
                Op::Concat(_) => {
                    if let Some(source) = moved(graph, id) {
                        self.moves.insert(id, Moved { source, bits: bits(graph, id) });
                    }
                }
                Op::Xor(..) | Op::And(..) | Op::Or(..) | Op::Not(_) => {
                    let mut words = Vec::new();
                    leaves(graph, id, &|_| false, &mut words);
                    let constants =
                        |word| bits(graph, word).iter().filter(|bit| matches!(bit, Bit::Constant(_))).count();
                    if let Some(truth) = truth(graph, id, &words).filter(|_| words.len() <= MOST_LEAVES) {
                        let leaves = words.into_iter().map(|word| (word, constants(word))).collect();
                        self.bitwise.insert(id, Bitwise { leaves, truth });
                    }
                }
                _ => {}
            }
        }
        let moves = |&id: &NodeId| matches!(graph.op(id), Op::Concat(_));
        for (is_telling, &lane) in self.telling.iter_mut().zip(&self.lanes) {
            *is_telling = graph.reachable([lane]).iter().any(moves);
        }
    }

    /// A value that moves bits of a word.
    pub fn moved(&self, id: NodeId) -> Option<&Moved> {
        self.moves.get(&id)
    }

    /// A value that is a bitwise function of few words.
    pub fn bitwise(&self, id: NodeId) -> Option<&Bitwise> {
        self.bitwise.get(&id)
    }

    /// Whether every value is a word or a part of one that a rotation or a shift moves.
    fn is_of_words(&self) -> bool {
        let mut open = self.lanes.clone();
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if self.graph.width(id) != WORD_BITS {
                return false;
            }
            match self.graph.op(id) {
                Op::Const(_) | Op::Input { .. } => {}
                Op::Add(..) | Op::Xor(..) | Op::And(..) | Op::Or(..) | Op::Not(_) => {
                    open.extend(self.graph.op(id).operands());
                }
                Op::Concat(_) => match moved(&self.graph, id) {
                    Some(source) => open.push(source),
                    None => return false,
                },
                _ => return false,
            }
        }
        true
    }

    /// Whether each word of the result is the sum of those of two operands.
    pub fn is_sum(&self) -> bool {
        let [Operand::Register(a), Operand::Register(b)] = &self.operands[..] else { return false };
        self.lanes.iter().zip(a.iter().zip(b)).all(
            |(&lane, (&a, &b))| matches!(*self.graph.op(lane), Op::Add(x, y) if (x, y) == (a, b) || (x, y) == (b, a)),
        )
    }

    /// Whether a word of the result says by itself where it can stand: it is more than bare words added.
    pub fn is_telling(&self, lane: usize) -> bool {
        self.telling.get(lane) == Some(&true)
    }
}

/// The one word whose bits a node moves.
fn moved(graph: &Graph, id: NodeId) -> Option<NodeId> {
    let mut source = None;
    for bit in bits(graph, id) {
        if let Bit::Of(node, _) = bit
            && *source.get_or_insert(node) != node
        {
            return None;
        }
    }
    source.filter(|&source| source != id && graph.width(source) == WORD_BITS)
}
