//! What an instruction computes, in the form in which transitions are searched for it.

use crate::kernel::evaluate::{Environment, values};
use crate::kernel::{Graph, NodeId, ObjectId, Op};
use crate::passes::linear::spaces::Spaces;
use crate::passes::linear::{Form, Forms, Source};
use std::collections::BTreeMap;

/// Bits of a lane: what instructions on bytes work on.
pub const LANE_BITS: u32 = 8;

/// What an instruction computes: one value from operands, which are tokens 0 of the input ports 0, 1, ….
#[derive(Clone, Debug)]
pub struct Meaning {
    /// Name of the instruction.
    pub name: String,
    /// The values.
    pub graph: Graph,
    /// Bits of each operand.
    pub operands: Vec<u32>,
    /// The result.
    pub result: NodeId,
}

pub(super) struct Operands<'a>(pub &'a [u128]);

impl Environment for Operands<'_> {
    fn input(&self, port: u32, _offset: i64) -> u128 {
        self.0.get(port as usize).copied().unwrap_or(0)
    }

    fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
        0
    }
}

impl Meaning {
    /// The result for some operands.
    pub fn evaluate(&self, operands: &[u128]) -> u128 {
        let values = values(&self.graph, &[self.result], &Operands(operands));
        values.get(&self.result).copied().unwrap_or(0)
    }
}

/// An 8 x 8 matrix: bit 8 * i + j is set where function j is a term of output bit i.
pub type Block = u64;

/// The matrix of a bit that goes where it stands.
pub const IDENTITY: Block = 0x8040_2010_0804_0201;

/// Forms of eight bits, by lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// How each lane of a source (value and lowest bit) enters, none of them 0.
    pub blocks: BTreeMap<(Source, u32), Block>,
    /// The constant.
    pub constant: u8,
}

impl Row {
    /// The row of eight forms.
    pub fn of(forms: &Forms, bits: &[Form]) -> Row {
        let mut row = Row::default();
        for (i, form) in bits.iter().enumerate() {
            row.constant |= u8::from(form.one()) << i;
            for &term in form.terms() {
                let (source, bit) = forms.source(term);
                let lane = bit - bit % LANE_BITS;
                *row.blocks.entry((source, lane)).or_insert(0) |= 1 << (8 * i as u32 + bit % LANE_BITS);
            }
        }
        row
    }

    /// The exclusive or with another row.
    pub fn xor(&self, other: &Row) -> Row {
        let mut sum = self.clone();
        sum.constant ^= other.constant;
        for (&lane, block) in &other.blocks {
            let entry = sum.blocks.entry(lane).or_insert(0);
            *entry ^= block;
            if *entry == 0 {
                sum.blocks.remove(&lane);
            }
        }
        sum
    }

    /// The atoms and how they enter.
    pub fn atoms(&self) -> impl Iterator<Item = (usize, Block)> + '_ {
        self.blocks.iter().filter_map(|(&(source, _), &block)| match source {
            Source::Atom(atom) => Some((atom, block)),
            Source::Node(_) => None,
        })
    }
}

/// Lanes of a result as what is put before lanes of an operand: `result[p] = sum of blocks[p][q] * (S or nothing)(operand[q])
/// + constants[p]`.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// One row for a lane of the result, one block for a lane of the operand.
    pub blocks: Vec<Vec<Block>>,
    /// The constants.
    pub constants: Vec<u8>,
}

impl Matrix {
    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.blocks.len()
    }

    /// The lanes of the operand that enter a lane of the result.
    pub fn entering(&self, p: usize) -> impl Iterator<Item = (usize, Block)> + '_ {
        self.blocks[p].iter().copied().enumerate().filter(|(_, block)| *block != 0)
    }
}

/// What kind of instruction it is.
#[derive(Clone, Debug)]
pub enum Shape {
    /// One non-linear function on each lane of an operand, a matrix behind it, and another operand added.
    Layer {
        /// The function.
        space: usize,
        /// The matrix.
        matrix: Matrix,
        /// Position of the operand that goes through it.
        state: usize,
        /// Position of the one that is added.
        added: usize,
    },
    /// A matrix on the only operand.
    Linear {
        /// The matrix.
        matrix: Matrix,
    },
    /// Anything else.
    Other,
}

impl Shape {
    /// The shape of an instruction. Its non-linear functions become spaces.
    pub fn of(meaning: &Meaning, spaces: &mut Spaces) -> Shape {
        let forms = Forms::new(&meaning.graph, [meaning.result], spaces);
        layer(meaning, &forms).or_else(|| linear(meaning, &forms)).unwrap_or(Shape::Other)
    }
}

fn rows(meaning: &Meaning, forms: &Forms) -> Option<Vec<Row>> {
    let width = meaning.graph.width(meaning.result);
    let bits = forms.of(meaning.result);
    width.is_multiple_of(LANE_BITS).then(|| bits.chunks(LANE_BITS as usize).map(|bits| Row::of(forms, bits)).collect())
}

fn operand_of(meaning: &Meaning, source: Source) -> Option<usize> {
    let Source::Node(node) = source else { return None };
    match meaning.graph.op(node) {
        Op::Input { port, offset: 0 } => Some(*port as usize),
        _ => None,
    }
}

fn layer(meaning: &Meaning, forms: &Forms) -> Option<Shape> {
    let rows = rows(meaning, forms)?;
    // Which lane of which operand each atom stands on.
    let mut stands = Vec::new();
    for atom in forms.atoms() {
        let row = Row::of(forms, &atom.index);
        let (&(source, lane), &block) = row.blocks.first_key_value()?;
        if row.blocks.len() != 1 || block != IDENTITY || row.constant != 0 {
            return None;
        }
        stands.push((operand_of(meaning, source)?, (lane / LANE_BITS) as usize, atom.space));
    }
    let &(state, _, space) = stands.first()?;
    if stands.len() != rows.len() || stands.iter().any(|stand| stand.0 != state || stand.2 != space) {
        return None;
    }
    let mut blocks = vec![vec![0; rows.len()]; rows.len()];
    let mut added = None;
    for (p, row) in rows.iter().enumerate() {
        for (atom, block) in row.atoms() {
            *blocks[p].get_mut(stands[atom].1)? = block;
        }
        let mut others = row.blocks.iter().filter(|((source, _), _)| matches!(source, Source::Node(_)));
        let (&(source, lane), &block) = others.next()?;
        let operand = operand_of(meaning, source)?;
        if others.next().is_some() || block != IDENTITY || lane != p as u32 * LANE_BITS || operand == state {
            return None;
        }
        added = Some(operand);
    }
    let constants = rows.iter().map(|row| row.constant).collect();
    Some(Shape::Layer { space, matrix: Matrix { blocks, constants }, state, added: added? })
}

fn linear(meaning: &Meaning, forms: &Forms) -> Option<Shape> {
    let rows = rows(meaning, forms)?;
    if meaning.operands.len() != 1 {
        return None;
    }
    let mut blocks = vec![vec![0; rows.len()]; rows.len()];
    for (p, row) in rows.iter().enumerate() {
        for (&(source, lane), &block) in &row.blocks {
            operand_of(meaning, source)?;
            *blocks[p].get_mut((lane / LANE_BITS) as usize)? = block;
        }
    }
    let constants = rows.iter().map(|row| row.constant).collect();
    Some(Shape::Linear { matrix: Matrix { blocks, constants } })
}
