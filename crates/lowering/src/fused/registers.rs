//! Emission of vector instructions: statements on registers, with the instructions that machines have under their names.

use super::kernel::KernelCode;
use headrace_instructions::{Form, registers};
use headrace_program::{Instruction, Stmt, VariableId, VectorOperand, VectorStmt};
use headrace_vectorize::NotApplicable;

/// The architecture whose instructions are described.
pub(super) const ARCHITECTURE: &str = "x86_64";

/// A constant of an instruction.
pub(super) fn immediate(value: u128) -> Result<VectorOperand, NotApplicable> {
    let too_large = |_| NotApplicable("a constant of an instruction has more than 8 bits".into());
    Ok(VectorOperand::Immediate(u8::try_from(value).map_err(too_large)?))
}

/// An instruction of a description as languages write it.
pub(super) fn written(name: &str, form: &Form) -> Instruction {
    Instruction { name: name.to_owned(), bits: form.bits, intrinsic: form.intrinsic.clone() }
}

impl KernelCode<'_, '_> {
    /// A statement on registers.
    pub(super) fn vector(&mut self, statement: VectorStmt) {
        self.f.push(Stmt::Vector(statement));
    }

    /// An operation that all machines with registers of so many bits have, by its name in `registers.toml`.
    pub(super) fn operation(
        &mut self,
        name: &str,
        bits: u32,
        to: VariableId,
        operands: Vec<VectorOperand>,
    ) -> Result<(), NotApplicable> {
        let missing = || NotApplicable(format!("there is no operation {name} of registers"));
        let intrinsics = registers::intrinsics(name).ok_or_else(missing)?;
        let at = match bits {
            128 => 0,
            256 => 1,
            _ => 2,
        };
        let intrinsic = intrinsics[at].clone();
        let instruction = Instruction { name: name.to_owned(), bits, intrinsic };
        let instruction = self.building.instruction(instruction);
        self.vector(VectorStmt::Apply { to, instruction, operands });
        Ok(())
    }

    /// The same of registers only.
    pub(super) fn of_registers(
        &mut self,
        name: &str,
        bits: u32,
        to: VariableId,
        operands: &[VariableId],
    ) -> Result<(), NotApplicable> {
        let operands = operands.iter().map(|&register| VectorOperand::Register(register)).collect();
        self.operation(name, bits, to, operands)
    }

    /// A register of 128 bits in each part of one of so many.
    pub(super) fn repeated(&mut self, like: &str, bits: u32, narrow: VariableId) -> VariableId {
        if bits == 128 {
            return narrow;
        }
        let to = self.f.register(like, bits);
        self.vector(VectorStmt::Repeat { to, from: narrow });
        to
    }
}
