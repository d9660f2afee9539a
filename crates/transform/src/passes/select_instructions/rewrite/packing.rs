//! Lane packing. Lanes of values that are put together to one value.

use super::super::meaning::{IDENTITY, LANE_BITS, Row, Shape};
use super::{At, Lane, Order, Rewriter, order};
use crate::kernel::{NodeId, Op};
use crate::passes::linear::Source;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

impl Rewriter<'_> {
    pub(super) fn can_be_packed(&self, row: &Row) -> bool {
        row.blocks.iter().all(|((source, _), block)| matches!(source, Source::Node(_)) && *block == IDENTITY)
    }

    // --- packing ----------------------------------------------------------------------------------------------------

    pub(super) fn pack(&mut self, lanes: &[Option<Lane>], layer: Option<usize>) -> NodeId {
        self.pack_with(lanes, layer, &vec![0; lanes.len()])
    }

    /// A register of lanes. `constants` are added where a lane is computed as it was written.
    pub(super) fn pack_with(&mut self, lanes: &[Option<Lane>], layer: Option<usize>, constants: &[u8]) -> NodeId {
        let mut rows: Vec<Option<Row>> = lanes.iter().map(|lane| lane.as_ref().map(|lane| lane.row.clone())).collect();
        let mut pieces: Vec<Vec<(Order, NodeId)>> = vec![Vec::new(); lanes.len()];
        let mut as_written: Vec<bool> = vec![false; lanes.len()];
        for (p, row) in rows.iter_mut().enumerate() {
            let Some(row) = row else { continue };
            as_written[p] = !self.take_results(row, &mut pieces[p]);
        }
        let matrices = self.matrices(&rows, &mut as_written);
        let mut terms: Vec<NodeId> = Vec::new();
        let mut in_matrices: FxHashSet<At> = FxHashSet::default();
        for (description, operand) in matrices {
            in_matrices.extend(operand.iter().flatten());
            let parts: Vec<NodeId> = operand.iter().rev().map(|source| self.lane_of(*source)).collect();
            let operand = self.new.concat(&parts);
            let operands = vec![operand].into();
            let width = lanes.len() as u32 * LANE_BITS;
            terms.push(self.new.add(Op::Instruction { description, operands }, width));
        }
        let mut constant = Vec::new();
        for (p, row) in rows.iter().enumerate() {
            constant.push(0);
            let (Some(row), Some(lane)) = (row, &lanes[p]) else { continue };
            if as_written[p] {
                let whole = self.without(layer, lane.stands.0);
                let part = self.new.extract(whole, lane.stands.1, LANE_BITS);
                pieces[p] = vec![((4, 0, 0, 0), part)];
                constant[p] = constants[p];
                continue;
            }
            constant[p] = row.constant;
            for (&(source, lo), &block) in &row.blocks {
                if block == IDENTITY && !in_matrices.contains(&(source, lo)) {
                    let key = order(self.old, source, lo);
                    pieces[p].push((key, self.lane_of(Some((source, lo)))));
                }
            }
        }
        // The first of each kind at every lane, the second, …: each is one register.
        let mut registers: BTreeMap<(u32, u64, usize), Vec<Option<NodeId>>> = BTreeMap::new();
        for (p, mut pieces) in pieces.into_iter().enumerate() {
            pieces.sort();
            let mut counts: FxHashMap<(u32, u64), usize> = FxHashMap::default();
            for (key, piece) in pieces {
                let kind = (key.0, key.1);
                let count = counts.entry(kind).or_insert(0);
                let register = registers.entry((kind.0, kind.1, *count)).or_insert_with(|| vec![None; lanes.len()]);
                register[p] = Some(piece);
                *count += 1;
            }
        }
        let bytes: Vec<NodeId> =
            constant.iter().rev().map(|&byte| self.new.number(u128::from(byte), LANE_BITS)).collect();
        terms.insert(0, self.new.concat(&bytes));
        // What no iteration changes is added first, so that it is added once, and what is known last is added last.
        let mut registers: Vec<_> = registers.into_iter().collect();
        registers.sort_by_key(|((kind, _, _), _)| [1, 0, 2, 4, 3].get(*kind as usize).copied().unwrap_or(5));
        for (_, register) in registers {
            let parts: Vec<NodeId> =
                register.into_iter().rev().map(|part| part.unwrap_or_else(|| self.new.number(0, LANE_BITS))).collect();
            terms.push(self.new.concat(&parts));
        }
        let sum = terms.into_iter().reduce(|sum, term| self.new.xor(sum, term));
        sum.unwrap_or_else(|| self.new.number(0, lanes.len() as u32 * LANE_BITS))
    }

    pub(super) fn lane_of(&mut self, source: Option<At>) -> NodeId {
        match source {
            Some((Source::Node(node), lo)) => {
                let value = self.value(node);
                let bits = LANE_BITS.min(self.old.width(node) - lo);
                let part = self.new.extract(value, lo, bits);
                self.new.zero_extend(part, LANE_BITS)
            }
            _ => self.new.number(0, LANE_BITS),
        }
    }

    /// Takes what other layers' instructions give out of a row; whether no atoms are left.
    pub(super) fn take_results(&mut self, row: &mut Row, pieces: &mut Vec<(Order, NodeId)>) -> bool {
        loop {
            let Some((atom, _)) = row.atoms().last() else { return true };
            let Some(layer) = self.layer_of(atom) else { return false };
            let entering: Vec<(usize, u64)> =
                row.atoms().filter(|&(atom, _)| self.layer_of(atom) == Some(layer)).collect();
            let same = |(target, _): &(&usize, &usize)| {
                let target = &self.layers.targets[**target];
                self.layer_of(target.entering[0].0) == Some(layer) && target.entering == entering
            };
            let Some((_, &lane)) = self.lanes.targets.iter().filter(same).min() else { return false };
            let (given, targets) = &self.results[layer][lane];
            if !given {
                return false;
            }
            let first = self.layers.targets[targets[0]].row.clone();
            let instruction = self.instruction(layer);
            let piece = self.new.extract(instruction, lane as u32 * LANE_BITS, LANE_BITS);
            pieces.push(((3, layer as u64, lane as u64, 0), piece));
            *row = row.xor(&first);
        }
    }

    /// Instructions for the matrices on sources that do not just stand in their lanes: a description, and what enters
    /// at each lane of its operand. Rows that need a matrix which no instruction has are marked to be computed as they
    /// were written.
    pub(super) fn matrices(&self, rows: &[Option<Row>], as_written: &mut [bool]) -> Vec<(u32, Vec<Option<At>>)> {
        // For each source lane the rows that it enters.
        let mut columns: BTreeMap<Order, (At, BTreeMap<usize, u64>)> = BTreeMap::new();
        for (p, row) in rows.iter().enumerate() {
            let Some(row) = row.as_ref().filter(|_| !as_written[p]) else { continue };
            for (&(source, lo), &block) in &row.blocks {
                let key = order(self.old, source, lo);
                columns.entry(key).or_insert_with(|| ((source, lo), BTreeMap::new())).1.insert(p, block);
            }
        }
        let mut made: Vec<(u32, Vec<Option<At>>)> = Vec::new();
        for (source, column) in columns.values() {
            let stands = column.values().all(|block| *block == IDENTITY);
            if stands {
                continue;
            }
            let shapes = self.choice.shapes.iter().enumerate().filter_map(|(description, shape)| match shape {
                Shape::Linear { matrix } if matrix.constants.iter().all(|&constant| constant == 0) => {
                    let lane = (0..matrix.lanes()).find(|&q| {
                        matrix.lanes() == rows.len()
                            && (0..rows.len()).all(|p| matrix.blocks[p][q] == column.get(&p).copied().unwrap_or(0))
                    });
                    lane.map(|lane| (description as u32, lane))
                }
                _ => None,
            });
            let Some((description, lane)) = shapes.into_iter().next() else {
                for (&p, _) in column.iter().filter(|(_, block)| **block != IDENTITY) {
                    as_written[p] = true;
                }
                continue;
            };
            let free = made.iter().position(|(other, operand)| *other == description && operand[lane].is_none());
            let at = free.unwrap_or_else(|| {
                made.push((description, vec![None; rows.len()]));
                made.len() - 1
            });
            made[at].1[lane] = Some(*source);
        }
        if as_written.iter().any(|&written| written) && !made.is_empty() {
            // A matrix gives whole registers; what is computed as it was written would have it twice.
            for (p, row) in rows.iter().enumerate() {
                let all = row.as_ref().is_some_and(|row| row.blocks.values().any(|block| *block != IDENTITY));
                as_written[p] |= all;
            }
            made.clear();
        }
        made
    }
}
