//! Transposition of lanes in vector registers: words that iterations side by side have left in slots become the bytes of one
//! iteration after the other, several words of all lanes at once.
//!
//! Each slot is a register of one word of every lane. Four of them are transposed within their parts of 128 bits, by which each
//! part has four words of one lane; then parts of several registers are, by which a register has neighbouring words of one lane
//! only.

use super::kernel::{KernelCode, Values};
use super::lanes::{Own, parameters};
use super::registers::immediate;
use super::{Functions, Fused};
use crate::building::Building;
use headrace_program::{Expr, FeatureSetId, FunctionId, Place, VariableId, VectorOperand, VectorStmt};
use headrace_transform::kernel::Loop;
use headrace_transform::statements::{Taken, Tokens};
use headrace_vectorize::NotApplicable;

/// Bytes of a word.
const WORD: u64 = 4;

/// Words of a part of 128 bits.
const PART: usize = 4;

/// Words that come out one beside the other.
struct Row {
    /// Slots, by their numbers, in the order of their tokens.
    slots: Vec<u32>,
    /// Where the first goes.
    to: Tokens,
    /// Where tokens that are added modulo 2 begin.
    plus: Option<Tokens>,
}

impl Row {
    /// The words that all slots of 32 bits hold, if they come out so.
    fn of(own: &Own<'_>) -> Option<Row> {
        let [slots, others] = &own.lanes.slots;
        let mut taken: Vec<(u32, &Taken)> = (slots.filled.len() as u32..).zip(&slots.taken).collect();
        if !others.taken.is_empty() {
            return None;
        }
        taken.sort_by_key(|(_, taken)| taken.tokens.first);
        let (to, plus) = taken.first().map(|(_, taken)| (taken.tokens, taken.plus))?;
        let follows = |first: Tokens, one: Tokens, at: usize| {
            one.n == WORD && !one.big && one.port == first.port && one.first == first.first + WORD * at as u64
        };
        let is_row = taken.iter().enumerate().all(|(at, (_, taken))| {
            let is_added = match (plus, taken.plus) {
                (None, None) => true,
                (Some(first), Some(one)) => follows(first, one, at),
                _ => false,
            };
            is_added && follows(to, taken.tokens, at)
        });
        is_row.then(|| Row { slots: taken.iter().map(|(slot, _)| *slot).collect(), to, plus })
    }
}

impl Fused<'_> {
    /// A function that takes tokens from slots as [`Fused::take`] does, on registers as wide as all lanes, where what slots hold is
    /// a row of words.
    pub(super) fn take_transposed(
        &self,
        own: &Own<'_>,
        features: FeatureSetId,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<FunctionId> {
        let row = Row::of(own)?;
        let n_parts = own.slots.count as usize / PART;
        let is_register = matches!(n_parts, 1 | 2 | 4) && own.slots.count as usize == n_parts * PART;
        if !is_register || !row.slots.len().is_multiple_of(n_parts * PART) {
            return None;
        }
        let iterations = &own.lanes.iterations;
        let values = Values { graph: &iterations.graph, objects: &iterations.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let read = parameters(&mut code.f, "in", &body.consumes);
        let made = parameters(&mut code.f, "out", &body.produces);
        let slots = code.field(own.slots.fields[0]?);
        let (to, plus) = (made.get(row.to.port as usize).copied().flatten()?, row.plus);
        let from = match plus {
            Some(plus) => Some((plus, read.get(plus.port as usize).copied().flatten()?)),
            None => None,
        };
        let bits = 32 * own.slots.count;
        for (chunk, words) in row.slots.chunks(n_parts * PART).enumerate() {
            let begin = (chunk * n_parts * PART) as u64 * WORD;
            let lanes = code.transposed(&slots, words, own.slots.count, bits).ok()?;
            for (lane, mut value) in lanes.into_iter().enumerate() {
                let at = |code: &KernelCode<'_, '_>, cursor: VariableId, per_lane: u64, first: u64| {
                    code.f.read(cursor).plus(Expr::u32((lane as u64 * per_lane + first + begin) as u32))
                };
                if let Some((plus, cursor)) = from {
                    let index = at(&code, cursor, body.consumes[plus.port as usize].0, plus.first);
                    let place = code.field(code.buffer_of(plus.port as usize));
                    let (tokens, sum) = (code.f.register("tokens", bits), code.f.register("sum", bits));
                    code.vector(VectorStmt::Load { to: tokens, place, index });
                    code.of_registers("xor", bits, sum, &[value, tokens]).ok()?;
                    value = sum;
                }
                let index = at(&code, to, body.produces[row.to.port as usize].0, row.to.first);
                let place = code.field(self.fields.outputs[row.to.port as usize].tokens);
                code.vector(VectorStmt::Store { place, index, from: value });
            }
        }
        let KernelCode { mut f, building, .. } = code;
        f.features = Some(features);
        let about = "makes tokens of what lanes have left in slots, transposed in registers";
        Some(functions.add(building, f, "take_lanes", about, None))
    }
}

impl KernelCode<'_, '_> {
    /// For each lane, a register of the words that it has in some slots.
    fn transposed(
        &mut self,
        slots: &Place,
        words: &[u32],
        count: u32,
        bits: u32,
    ) -> Result<Vec<VariableId>, NotApplicable> {
        // By lanes of a part: a register for each four words, whose parts are of one lane each.
        let mut parts: [Vec<VariableId>; PART] = Default::default();
        for four in words.chunks(PART) {
            let mut loaded = Vec::new();
            for &slot in four {
                let to = self.f.register("slot", bits);
                self.vector(VectorStmt::Load { to, place: slots.clone(), index: Expr::u32(slot * count) });
                loaded.push(to);
            }
            let mut pair = |name: &str, a: VariableId, b: VariableId| -> Result<VariableId, NotApplicable> {
                let to = self.f.register("mixed", bits);
                self.of_registers(name, bits, to, &[a, b])?;
                Ok(to)
            };
            for (half, name) in ["unpack_low32", "unpack_high32"].into_iter().enumerate() {
                let (first, second) = (pair(name, loaded[0], loaded[1])?, pair(name, loaded[2], loaded[3])?);
                parts[2 * half].push(pair("unpack_low64", first, second)?);
                parts[2 * half + 1].push(pair("unpack_high64", first, second)?);
            }
        }
        let mut lanes = vec![VariableId(0); count as usize];
        for (lane, parts) in parts.into_iter().enumerate() {
            for (part, whole) in self.parts_transposed(parts, bits)?.into_iter().enumerate() {
                lanes[part * PART + lane] = whole;
            }
        }
        Ok(lanes)
    }

    /// As many registers as each has parts: the first has the first part of all, and so on.
    fn parts_transposed(&mut self, parts: Vec<VariableId>, bits: u32) -> Result<Vec<VariableId>, NotApplicable> {
        let mut pair = |a: VariableId, b: VariableId, which: u128| -> Result<VariableId, NotApplicable> {
            let to = self.f.register("mixed", bits);
            let operands = vec![VectorOperand::Register(a), VectorOperand::Register(b), immediate(which)?];
            self.operation("select_parts", bits, to, operands)?;
            Ok(to)
        };
        match parts[..] {
            [a, b] => Ok(vec![pair(a, b, 0x20)?, pair(a, b, 0x31)?]),
            [a, b, c, d] => {
                // Even parts of each, and odd ones.
                let (even, odd) = (0x88, 0xdd);
                let [ab, cd] = [(a, b), (c, d)].map(|(a, b)| Ok((pair(a, b, even)?, pair(a, b, odd)?)));
                let ((ab_even, ab_odd), (cd_even, cd_odd)) = (ab?, cd?);
                let mut wholes = Vec::new();
                for (ab, cd, which) in
                    [(ab_even, cd_even, even), (ab_odd, cd_odd, even), (ab_even, cd_even, odd), (ab_odd, cd_odd, odd)]
                {
                    wholes.push(pair(ab, cd, which)?);
                }
                Ok(wholes)
            }
            _ => Ok(parts),
        }
    }
}
