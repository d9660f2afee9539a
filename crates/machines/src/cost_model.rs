//! Cost models: what operations take on a processor, by which one way to compute a loop is chosen among several.
//!
//! Choices are made by estimates: a strategy counts what it is made of, and a method here says what that takes. Only this
//! file knows how figures are put together. Cycles are those of one core whose loads hit the first cache.

use crate::Kind;
use crate::figure::Figure;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What operations take on a processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostModel {
    /// Its name, which is that of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// [`Kind::CostModel`].
    pub kind: Kind,
    /// The processor, for readers.
    pub about: String,
    /// Dependences.
    pub latency: Latency,
    /// Words.
    pub scalar: Scalar,
    /// Lanes of vectors.
    pub lanes: Lanes,
    /// Elements of tables, by lanes of vectors.
    pub look_up: LookUp,
    /// Circuits of which a gate is a vector.
    pub bitslice: Bitslice,
    /// Registers of blocks of 128 bits.
    pub blocks: Blocks,
    /// Registers of bytes that belong to one iteration.
    pub layers: Layers,
    /// Linear recurrences modulo a number.
    pub residues: Residues,
    /// Instructions by the names of their descriptions.
    #[serde(default)]
    pub instruction: BTreeMap<String, Instruction>,
}

/// How long operations are waited for, where it matters which of several chains is the longest. In times of a bitwise
/// operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// A bitwise operation.
    pub bitwise: Figure<u32>,
    /// Any other.
    pub operation: Figure<u32>,
    /// A permutation or rotation of a vector.
    pub permutation: Figure<u32>,
    /// Operations that begin in one of these times.
    pub issued: Figure<u32>,
    /// Operations, for each on the longest chain, that leave nothing of a vector unit idle.
    pub busy: Figure<u32>,
}

/// Words, one iteration after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// Cycles of an operation, many of which run at once.
    pub operation: Figure<f64>,
    /// Two iterations side by side, for one after the other 1.
    pub two_iterations: Figure<f64>,
    /// More than two.
    pub more_iterations: Figure<f64>,
    /// Cycles that a part of a folded value takes to be put to the others.
    pub folded_part: Figure<f64>,
}

/// A lane of a vector for each iteration, or for each message.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// Cycles of an operation of two vectors.
    pub operation: Figure<f64>,
    /// Cycles of a rotation of all lanes where no instruction rotates.
    pub rotation: Figure<f64>,
    /// Cycles of a shift of one lane, where lanes cannot be shifted by counts of their own.
    pub shifted_alone: Figure<f64>,
    /// Cycles to load or store a vector of words, and each time that even ones and odd ones are taken apart.
    pub word: Figure<f64>,
    /// Cycles to bring a word to its lane by itself.
    pub word_alone: Figure<f64>,
    /// Cycles of a permutation of words of 32 bits or more, or of bytes where that is an instruction.
    pub permutation: Figure<f64>,
    /// Cycles of a permutation of bytes where it is none.
    pub byte_permutation: Figure<f64>,
    /// Two iterations in each lane, for one after the other 1.
    pub two_iterations: Figure<f64>,
    /// A lane for each message, for a lane for each iteration 1: nothing waits for memory.
    pub messages: Figure<f64>,
    /// Two vectors of messages, for one after the other 1.
    pub two_groups: Figure<f64>,
}

/// Elements of tables for all lanes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookUp {
    /// Cycles of an element that is gathered.
    pub gathered: Figure<f64>,
    /// Cycles of one that is loaded by itself.
    pub alone: Figure<f64>,
    /// Cycles to choose all bytes of a vector from a table in registers by permutations.
    pub permuted: Figure<f64>,
    /// Cycles to choose them by tables of nibbles.
    pub nibbles: Figure<f64>,
    /// Cycles to choose them by shuffles: for each sixteen elements of the table,
    pub sixteen: Figure<f64>,
    /// and once.
    pub shuffled: Figure<f64>,
    /// A loop that looks up in registers, for what its parts take one after the other 1.
    pub beside: Figure<f64>,
}

/// A vector for each bit of each value.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bitslice {
    /// Cycles of a gate.
    pub gate: Figure<f64>,
    /// Cycles of a word of all iterations on its way in or out.
    pub transposed_word: Figure<f64>,
}

/// Blocks of 128 bits, one or several in a register.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Cycles from the operands of an instruction to its result, where nothing else is known of it.
    pub instruction_latency: Figure<f64>,
    /// The same of any other operation.
    pub latency: Figure<f64>,
    /// Cycles between two operations that do not depend on each other.
    pub cycles: Figure<f64>,
    /// Cycles that a block takes to come from elsewhere than the others of its register, or to go there.
    pub apart: Figure<f64>,
    /// Bits of a register that are computed at once: wider ones go through in parts.
    pub path_bits: Figure<u32>,
    /// Cycles of a carry-less multiplication of a product, with what is around it.
    pub multiplication: Figure<f64>,
    /// Cycles of a sum that an iteration goes on with, beside the places that say what is added,
    pub running_sum: Figure<f64>,
    /// of one of which the places come again after some iterations,
    pub periodic_sum: Figure<f64>,
    /// and of one that is read behind the last iteration only.
    pub total: Figure<f64>,
}

/// Bytes of an iteration in one register, layer by layer: cycles from operands to results.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// Bytes of a table of 256.
    pub look_up: Figure<u32>,
    /// A permutation.
    pub permute: Figure<u32>,
    /// An affine map.
    pub map: Figure<u32>,
    /// A sum.
    pub add: Figure<u32>,
    /// Instructions that begin in a cycle.
    pub issued: Figure<f64>,
}

/// Cycles of a block of a linear recurrence modulo a number.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residues {
    /// In lanes of 512 bits, which multiply by 52.
    pub lanes512: Figure<f64>,
    /// In lanes of 256 bits, which multiply by 32.
    pub lanes256: Figure<f64>,
    /// In words, one block after the other.
    pub words: Figure<f64>,
}

/// What an instruction takes with registers of one width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// Width of the registers.
    pub bits: u32,
    /// Cycles from operands to result.
    pub latency: f64,
    /// Cycles between two that do not depend on each other.
    pub cycles: f64,
    /// Where the figures come from.
    pub source: String,
}

/// The way to all elements of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// An affine map computes them.
    Mapped,
    /// Each lane gathers its own.
    Gathered {
        /// How many lanes.
        lanes: u32,
    },
    /// Each lane loads its own.
    Alone {
        /// How many lanes.
        lanes: u32,
    },
    /// Permutations choose bytes from registers.
    Permuted,
    /// Tables of nibbles are shuffled.
    Nibbles,
    /// Shuffles choose from sixteen elements each.
    Shuffled {
        /// How many sixteens the table has.
        sixteens: usize,
    },
}

impl CostModel {
    /// Cycles of so many operations of words.
    pub fn scalar(&self, operations: usize) -> f64 {
        operations as f64 * self.scalar.operation.value
    }

    /// What iterations that take these cycles one after the other take with so many side by side.
    pub fn scalar_iterations(&self, cycles: f64, side_by_side: u64) -> f64 {
        let Scalar { two_iterations, more_iterations, .. } = &self.scalar;
        cycles * if side_by_side > 2 { more_iterations } else { two_iterations }.value
    }

    /// Cycles to fold so many values of a part of an iteration into those of the others.
    pub fn folded_parts(&self, values: usize) -> f64 {
        self.scalar.folded_part.value * values as f64
    }

    /// Cycles of so many operations of vectors.
    pub fn lanes(&self, operations: usize) -> f64 {
        self.lanes.operation.value * operations as f64
    }

    /// Cycles of a rotation of all lanes where no instruction rotates.
    pub fn rotation(&self) -> f64 {
        self.lanes.rotation.value
    }

    /// Cycles to shift so many lanes by counts of their own where vectors of counts are no operand.
    pub fn shifts_alone(&self, lanes: u32) -> f64 {
        self.lanes.shifted_alone.value * f64::from(lanes)
    }

    /// Cycles of a row of `words`, a power of two, of each lane: even ones and odd ones are taken apart as often as their
    /// number halves.
    pub fn halved_row(&self, words: u64) -> f64 {
        words as f64 * f64::from(words.checked_ilog2().unwrap_or(0) + 1) * self.lanes.word.value
    }

    /// Cycles of a row of words that permutations bring to their lanes; `cheap` ones are one instruction.
    pub fn permuted_row(&self, words: u64, permutations: usize, cheap: bool) -> f64 {
        let Lanes { word, permutation, byte_permutation, .. } = &self.lanes;
        words as f64 * word.value + permutations as f64 * if cheap { permutation } else { byte_permutation }.value
    }

    /// Cycles of a row of words that go to so many lanes one by one.
    pub fn row_alone(&self, words: u64, lanes: u32) -> f64 {
        self.lanes.word_alone.value * words as f64 * f64::from(lanes)
    }

    /// What iterations that take these cycles take with two of them in each lane.
    pub fn two_iterations(&self, cycles: f64) -> f64 {
        cycles * self.lanes.two_iterations.value
    }

    /// What iterations that take these cycles take with a lane for each message, in `groups` vectors side by side.
    pub fn messages(&self, cycles: f64, groups: u64) -> f64 {
        let Lanes { messages, two_groups, .. } = &self.lanes;
        messages.value * cycles * if groups > 1 { two_groups.value } else { 1.0 }
    }

    /// Cycles to find an element for each lane.
    pub fn elements(&self, way: Elements) -> f64 {
        let LookUp { gathered, alone, permuted, nibbles, sixteen, shuffled, .. } = &self.look_up;
        match way {
            Elements::Mapped => self.lanes(1),
            Elements::Gathered { lanes } => f64::from(lanes) * gathered.value,
            Elements::Alone { lanes } => f64::from(lanes) * alone.value,
            Elements::Permuted => permuted.value,
            Elements::Nibbles => nibbles.value,
            Elements::Shuffled { sixteens } => shuffled.value + sixteen.value * sixteens as f64,
        }
    }

    /// What a loop takes that looks up in registers, and whose parts take these cycles.
    pub fn beside_look_ups(&self, cycles: f64) -> f64 {
        cycles * self.look_up.beside.value
    }

    /// Cycles of so many gates and words of all iterations that go in or out.
    pub fn bitsliced(&self, gates: usize, words: u64) -> f64 {
        let Bitslice { gate, transposed_word } = &self.bitslice;
        gates as f64 * gate.value + words as f64 * transposed_word.value
    }

    /// What is known of an instruction by the name of its description.
    pub fn instruction(&self, name: &str) -> Option<&Instruction> {
        self.instruction.get(name)
    }

    /// Parts in which a register goes through.
    pub fn block_parts(&self, bits: u32) -> f64 {
        let path = self.blocks.path_bits.value;
        f64::from(bits.max(path)) / f64::from(path)
    }

    /// Blocks of a register that are computed at once.
    pub fn blocks_at_once(&self, bits: u32) -> f64 {
        f64::from(bits.min(self.blocks.path_bits.value)) / BLOCK_BITS
    }

    /// Cycles to bring the blocks of a register that come from places of their own, or go there, beside the first.
    pub fn blocks_apart(&self, bits: u32) -> f64 {
        self.blocks.apart.value * (f64::from(bits) / BLOCK_BITS - 1.0)
    }

    /// Cycles of products of blocks in registers of so many bits, each of `multiplications`.
    pub fn products(&self, multiplications: usize, bits: u32) -> f64 {
        self.blocks.multiplication.value * multiplications as f64 * BLOCK_BITS / f64::from(bits)
    }

    /// Cycles of an iteration of layers of bytes: what it waits for, or all there is to do.
    pub fn layered(&self, latency: u32, instructions: u32) -> f64 {
        f64::from(latency).max(f64::from(instructions) / self.layers.issued.value)
    }
}

/// Bits of a block.
const BLOCK_BITS: f64 = 128.0;

/// Writes the name of a cost model where a machine refers to it.
pub(crate) fn by_name<S: Serializer>(costs: &Arc<CostModel>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&costs.name)
}
