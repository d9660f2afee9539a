//! Linear recurrences computed ahead: registers that hold the powers of a matrix for all iterations of a group. What each
//! iteration multiplies by the same matrix over GF(2) is there for as many iterations as the largest group has; each group then
//! multiplies all of them by the same power, and smaller groups, for what is left, move registers on.

use super::blocks::BlockCode;
use headrace_program::{Expr, Place, Stmt, Type, VariableId, VectorOperand, VectorStmt};
use headrace_vectorize::NotApplicable;
use headrace_vectorize::blocks::BYTES;
use headrace_vectorize::blocks::linear::Term;

/// Registers in which a byte is multiplied by a matrix by one instruction, which machines with others of these have.
const BY_INSTRUCTION: u32 = 512;

impl BlockCode<'_, '_, '_> {
    /// Loads what powers begin with, for groups of up to so many registers.
    pub(super) fn powers_start(&mut self, registers: u32) -> Result<(), NotApplicable> {
        let (plan, lanes) = (self.plan, self.iterations() as usize);
        if !plan.powers.is_empty() && self.bits == BY_INSTRUCTION {
            self.features.insert("gfni".to_owned());
        }
        for power in &plan.powers {
            // Constants of what groups do stand before all groups.
            for parts in uniform(power.matrix.power(registers as usize * lanes).terms(), lanes) {
                self.constants(&parts);
            }
            let narrow = self.code.f.register("power", 128);
            self.load_block(narrow, power.object.0, power.first);
            let wide = self.widened("power", narrow);
            let first = self.code.f.register("power", self.bits);
            self.multiply(first, wide, &power.matrix.side_by_side(lanes))?;
            let mut own = vec![first];
            for turn in 1..registers as usize {
                // As few products one after the other as there can be.
                let by = 1 << turn.ilog2();
                let to = self.code.f.register("power", self.bits);
                self.multiply(to, own[turn - by], &uniform(power.matrix.power(by * lanes).terms(), lanes))?;
                own.push(to);
            }
            self.powers.push(own);
        }
        Ok(())
    }

    /// Powers behind a group of so many registers.
    pub(super) fn powers_go_on(&mut self, group: u32) -> Result<(), NotApplicable> {
        let (plan, lanes) = (self.plan, self.iterations() as usize);
        for (power, own) in plan.powers.iter().zip(self.powers.clone()) {
            let by = uniform(power.matrix.power(own.len() * lanes).terms(), lanes);
            for (turn, &register) in own.iter().enumerate() {
                match own.get(turn + group as usize) {
                    Some(&from) => self.vector(VectorStmt::Move { to: register, from }),
                    None if group as usize == own.len() => {
                        let to = self.code.f.register("power", self.bits);
                        self.multiply(to, register, &by)?;
                        self.vector(VectorStmt::Move { to: register, from: to });
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Stores what powers leave after so many iterations in all.
    pub(super) fn powers_end(&mut self, all: &Expr) {
        let lanes = self.iterations();
        for (power, own) in self.plan.powers.iter().zip(self.powers.clone()) {
            if lanes == 1 {
                self.store_block(own[0], power.object.0, power.first);
                continue;
            }
            let array = self.code.f.array("left", Type::U8, self.bits / 8);
            let source = Place::variable(array);
            self.vector(VectorStmt::Store { place: source.clone(), index: Expr::u32(0), from: own[0] });
            let Some(&Some(field)) = self.fused.fields.objects.get(power.object.0 as usize) else { continue };
            let target = self.code.field(field);
            let from = all.clone().and(Expr::u32(lanes - 1)).times(Expr::u32(BYTES as u32));
            let (at, count) = (Expr::u32(power.first as u32), Expr::u32(BYTES as u32));
            self.code.f.push(Stmt::Copy { target, at, source, from, count });
        }
    }

    /// The sum of terms of a register; each has one for every part.
    fn multiply(&mut self, to: VariableId, from: VariableId, terms: &[Vec<Term>]) -> Result<(), NotApplicable> {
        let bits = self.bits;
        let mut sum: Option<VariableId> = None;
        for parts in terms {
            let Constants { order, factors } = self.constants(parts);
            let mut value = from;
            if let Some(order) = order {
                let moved = self.code.f.register("t", bits);
                self.operation("shuffle", moved, &[value, order])?;
                value = moved;
            }
            match factors[..] {
                [matrix] => {
                    let product = self.code.f.register("t", bits);
                    let operands = [VectorOperand::Register(value), VectorOperand::Register(matrix)];
                    let operands = operands.into_iter().chain([VectorOperand::Immediate(0)]).collect();
                    self.code.operation("affine", bits, product, operands)?;
                    value = product;
                }
                [low, high, nibbles] => {
                    let [lower, shifted, upper, left, right, product] =
                        [(); 6].map(|()| self.code.f.register("t", bits));
                    self.operation("and", lower, &[value, nibbles])?;
                    let operands = vec![VectorOperand::Register(value), VectorOperand::Immediate(4)];
                    self.code.operation("right64", bits, shifted, operands)?;
                    self.operation("and", upper, &[shifted, nibbles])?;
                    self.operation("shuffle", left, &[low, lower])?;
                    self.operation("shuffle", right, &[high, upper])?;
                    self.operation("xor", product, &[left, right])?;
                    value = product;
                }
                _ => {}
            }
            sum = Some(match sum {
                None => value,
                Some(sum) => {
                    let added = self.code.f.register("t", bits);
                    self.operation("xor", added, &[sum, value])?;
                    added
                }
            });
        }
        self.vector(VectorStmt::Move { to, from: sum.unwrap_or(from) });
        Ok(())
    }

    /// The registers that a term needs, one term for each part.
    fn constants(&mut self, parts: &[Term]) -> Constants {
        let order = (!parts.iter().all(Term::stays))
            .then(|| self.of_parts(parts.iter().map(|part| part.bytes.map(|at| at.unwrap_or(128)))));
        let mut factors = Vec::new();
        if parts.iter().all(Term::only_moves) {
            return Constants { order, factors };
        }
        if self.bits == BY_INSTRUCTION {
            let twice = |part: &Term| std::array::from_fn(|at| part.as_affine().to_le_bytes()[at % 8]);
            factors.push(self.of_parts(parts.iter().map(twice)));
        } else {
            for half in 0..2 {
                factors.push(self.of_parts(parts.iter().map(|part| part.of_nibbles()[half])));
            }
            factors.push(self.bytes("nibbles", vec![15; BYTES]));
        }
        Constants { order, factors }
    }

    /// A register that holds these bytes in its parts in all iterations.
    fn of_parts(&mut self, parts: impl Iterator<Item = [u8; BYTES]>) -> VariableId {
        let parts: Vec<[u8; BYTES]> = parts.collect();
        if parts.iter().all(|part| *part == parts[0]) {
            return self.bytes("power_by", parts[0].to_vec());
        }
        let bytes = parts.concat();
        let word = |word: &[u8]| word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        let words = bytes.chunks_exact(8).map(word);
        self.quads("power_by", words.collect())
    }
}

/// What a term needs in registers.
struct Constants {
    /// Which bytes go where, unless all stay.
    order: Option<VariableId>,
    /// The matrix, or products of both halves of a byte and the mask of one; nothing where bytes are only moved.
    factors: Vec<VariableId>,
}

/// The same terms in all parts of a register.
fn uniform(terms: Vec<Term>, parts: usize) -> Vec<Vec<Term>> {
    terms.into_iter().map(|term| vec![term; parts]).collect()
}
