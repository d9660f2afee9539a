//! Table merging: a linear map that follows a layer of tables goes into them.
//!
//! Let `y = L · (S_0(x_0), S_1(x_1), …)`. Cut `L` into the columns `L_i` that belong to position `i` and into the rows of one
//! output word `w`; then `y_w` is the XOR over `i` of `T_{w,i}(x_i)` with `T_{w,i} = L_{w,i} · S_i`, look-ups of whole words
//! and nothing else. With two positions of two bits, `S` the identity, and `y = (x0 ^ x1, x1)`, words of four bits:
//!
//! ```text
//! T0 = 0000 0001 0010 0011           y = T0[x0] ^ T1[x1]
//! T1 = 0000 0101 1010 1111
//! ```
//!
//! Wider words and several positions in one index mean fewer look-ups from larger tables. Tables that are equal, or equal up
//! to a rotation of the word, are stored once. [`SubstitutionLayer::plans`] gives all the ways with what they cost; which is
//! best depends on the machine's cache, which the caller knows.

use crate::matrix::{BitMatrix, BitVector};
use crate::truth_table::{MAX_INPUTS, Table};

/// Tables side by side, and the linear map behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubstitutionLayer {
    tables: Vec<Table>,
    positions: Vec<usize>,
    layer: BitMatrix,
}

/// One look-up of a merged layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The output word that it is XORed into.
    pub word: usize,
    /// The group of positions that are its index.
    pub group: usize,
    /// Which table.
    pub table: usize,
    /// By how much its entry is rotated left, within the word.
    pub rotate_left: usize,
}

/// A layer as look-ups and XORs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedTables {
    /// The width of words and entries.
    pub word_bits: usize,
    /// How many words come out.
    pub n_words: usize,
    /// How many positions make one index; the first of them is its low part.
    pub group_size: usize,
    /// The tables.
    pub tables: Vec<Table>,
    /// What to look up.
    pub lookups: Vec<Lookup>,
}

/// What a merged layer costs each time, and how much it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeCost {
    /// The look-ups.
    pub n_lookups: usize,
    /// The XORs of words.
    pub n_xors: usize,
    /// The rotations of words.
    pub n_rotations: usize,
    /// The bytes of all tables.
    pub table_bytes: usize,
}

/// What things cost on some machine, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// A look-up from a table in the nearest cache.
    pub lookup: f64,
    /// A XOR.
    pub xor: f64,
    /// A rotation.
    pub rotation: f64,
    /// The size of that cache in bytes.
    pub cache_bytes: usize,
    /// What a look-up costs more where it does not hit.
    pub miss: f64,
}

impl MergeCost {
    /// The price of one evaluation, when look-ups are spread evenly over the tables.
    pub fn price(&self, prices: &Prices) -> f64 {
        let missing = self.table_bytes.saturating_sub(prices.cache_bytes) as f64 / self.table_bytes.max(1) as f64;
        self.n_lookups as f64 * (prices.lookup + prices.miss * missing)
            + self.n_xors as f64 * prices.xor
            + self.n_rotations as f64 * prices.rotation
    }
}

impl SubstitutionLayer {
    /// The layer in which position `i` goes through `tables[positions[i]]`, and the outputs of all positions, one after the
    /// other, through `layer`. None when the sizes do not fit.
    pub fn new(tables: Vec<Table>, positions: Vec<usize>, layer: BitMatrix) -> Option<SubstitutionLayer> {
        let widths: Option<Vec<usize>> = positions.iter().map(|&p| tables.get(p).map(Table::n_outputs)).collect();
        (widths?.iter().sum::<usize>() == layer.n_columns()).then_some(SubstitutionLayer { tables, positions, layer })
    }

    /// How many tables stand side by side.
    pub fn n_positions(&self) -> usize {
        self.positions.len()
    }

    /// What the layer makes of the inputs of its positions.
    pub fn at(&self, inputs: &[usize]) -> BitVector {
        let mut values = BitVector::default();
        for (&position, &x) in self.positions.iter().zip(inputs) {
            let table = &self.tables[position];
            let entry = table.entries().get(x).copied().unwrap_or(0);
            values = values.concat(&BitVector::from_u128(table.n_outputs(), u128::from(entry)));
        }
        BitVector::from_bits((0..self.layer.n_rows()).map(|i| self.layer.row(i).dot(&values)))
    }

    /// The layer as look-ups of words of `word_bits`, at most 64, with `group_size` positions in one index. Tables that are
    /// rotations of each other by a multiple of `rotation_step` are stored once; 0 for equal tables only. None when the
    /// words do not divide the outputs, or the groups the positions, or an index has too many bits.
    pub fn merge(&self, word_bits: usize, group_size: usize, rotation_step: usize) -> Option<MergedTables> {
        if word_bits == 0
            || word_bits > 64
            || group_size == 0
            || !self.layer.n_rows().is_multiple_of(word_bits)
            || !self.positions.len().is_multiple_of(group_size)
        {
            return None;
        }
        let n_words = self.layer.n_rows() / word_bits;
        let mut merged = MergedTables { word_bits, n_words, group_size, tables: Vec::new(), lookups: Vec::new() };
        let mut left = 0;
        for (group, members) in self.positions.chunks(group_size).enumerate() {
            let members: Vec<&Table> = members.iter().map(|&position| &self.tables[position]).collect();
            let joined = side_by_side(&members)?;
            for word in 0..n_words {
                let block = self.layer.block(word * word_bits, left, word_bits, joined.n_outputs);
                if block.is_zero() {
                    continue;
                }
                let entries: Vec<u64> = joined.entries.iter().map(|&entry| block.apply_u128(entry) as u64).collect();
                let rotations = match rotation_step {
                    0 => 1,
                    step => word_bits.div_ceil(step),
                };
                let known = (0..rotations).map(|i| i * rotation_step).find_map(|amount| {
                    let equals = |table: &Table| {
                        table.entries().len() == entries.len()
                            && table.entries().iter().zip(&entries).all(|(a, b)| rotate(*a, amount, word_bits) == *b)
                    };
                    Some((merged.tables.iter().position(equals)?, amount))
                });
                let (table, rotate_left) = match known {
                    Some(known) => known,
                    None => {
                        merged.tables.push(Table::new(joined.n_inputs, word_bits, &entries).ok()?);
                        (merged.tables.len() - 1, 0)
                    }
                };
                merged.lookups.push(Lookup { word, group, table, rotate_left });
            }
            left += joined.n_outputs;
        }
        Some(merged)
    }

    /// All the ways of [`SubstitutionLayer::merge`] with words of 8 to 64 bits, cheapest first at these prices.
    pub fn plans(&self, prices: &Prices) -> Vec<MergedTables> {
        let mut plans: Vec<MergedTables> = Vec::new();
        for word_bits in [8, 16, 32, 64] {
            for group_size in 1..=MAX_INPUTS {
                for rotation_step in [0, 8, 1] {
                    plans.extend(self.merge(word_bits, group_size, rotation_step).filter(|plan| !plans.contains(plan)));
                }
            }
        }
        plans.sort_by(|a, b| a.cost().price(prices).total_cmp(&b.cost().price(prices)));
        plans
    }
}

/// Tables on inputs side by side as one.
struct Joined {
    n_inputs: usize,
    n_outputs: usize,
    entries: Vec<u128>,
}

fn side_by_side(members: &[&Table]) -> Option<Joined> {
    let mut joined = Joined { n_inputs: 0, n_outputs: 0, entries: vec![0] };
    for table in members {
        if joined.n_inputs + table.n_inputs() > MAX_INPUTS || joined.n_outputs + table.n_outputs() > 128 {
            return None;
        }
        let shift = joined.n_outputs;
        joined.entries = table
            .entries()
            .iter()
            .flat_map(|&high| joined.entries.iter().map(move |low| low | u128::from(high) << shift))
            .collect();
        joined.n_inputs += table.n_inputs();
        joined.n_outputs += table.n_outputs();
    }
    Some(joined)
}

/// `value` rotated left within `n_bits`.
fn rotate(value: u64, amount: usize, n_bits: usize) -> u64 {
    if amount == 0 {
        return value;
    }
    let mask = if n_bits == 64 { u64::MAX } else { (1 << n_bits) - 1 };
    (value << amount | value >> (n_bits - amount)) & mask
}

impl MergedTables {
    /// What it costs.
    pub fn cost(&self) -> MergeCost {
        let n_targets = (0..self.n_words).filter(|&w| self.lookups.iter().any(|lookup| lookup.word == w)).count();
        MergeCost {
            n_lookups: self.lookups.len(),
            n_xors: self.lookups.len() - n_targets,
            n_rotations: self.lookups.iter().filter(|lookup| lookup.rotate_left != 0).count(),
            table_bytes: self.tables.iter().map(|table| table.entries().len() * self.word_bits.div_ceil(8)).sum(),
        }
    }

    /// What the look-ups make of the indices of the groups, word by word.
    pub fn at(&self, indices: &[usize]) -> Vec<u64> {
        let mut words = vec![0; self.n_words];
        for lookup in &self.lookups {
            let index = indices.get(lookup.group).copied().unwrap_or(0);
            let entry = self.tables[lookup.table].entries().get(index).copied().unwrap_or(0);
            words[lookup.word] ^= rotate(entry, lookup.rotate_left, self.word_bits);
        }
        words
    }
}
