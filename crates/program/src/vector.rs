//! Vector registers and instructions of machines: three-address code for functions that need features of a processor. What
//! such a function does with vectors are loads, stores and instructions on its own registers, one after the other.
//!
//! A function that has a [`FeatureSet`] runs only where a machine has all of it: it is called below an `if` of
//! [`crate::ExprKind::Has`], whose other way does the same without. So languages that have no vectors, or no way of asking,
//! leave such functions out and take every `Has` for false; the evaluator does, too. What an instruction means is not said
//! here: whoever makes programs has descriptions of them, and trials of what is made from them.

use crate::{Expr, Place, VariableId};

/// What a function needs of the machine that it runs on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FeatureSet {
    /// Machines of this architecture have it or do not, others never: `x86_64` for example.
    pub architecture: &'static str,
    /// Features by the names that C compilers give them, in alphabetical order.
    pub names: Vec<String>,
}

/// An instruction on registers of one width, as printers write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Its name in texts for readers.
    pub name: String,
    /// Bits of its registers.
    pub bits: u32,
    /// The intrinsic function of C, which Rust has under the same name.
    pub intrinsic: String,
}

/// What an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VectorOperand {
    /// A register of the width of the instruction.
    Register(VariableId),
    /// A constant of 8 bits.
    Immediate(u8),
}

/// A statement on vector registers, which are variables of the kind [`crate::VariableKind::Vector`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VectorStmt {
    /// As many elements of an array of integers as a register has room for, from an index on, as for [`crate::ExprKind::Word`]; the
    /// first is in the lowest bits of the register.
    Load {
        /// The register.
        to: VariableId,
        /// Where they lie.
        place: Place,
        /// The first.
        index: Expr,
    },
    /// Stores a register the same way.
    Store {
        /// Where it goes.
        place: Place,
        /// The first element.
        index: Expr,
        /// The register.
        from: VariableId,
    },
    /// Two words of 64 bits as a register of 128 bits.
    Set {
        /// The register.
        to: VariableId,
        /// Its low bits, a `U64`.
        low: Expr,
        /// Its high bits, a `U64`.
        high: Expr,
    },
    /// A register of 128 bits in each part of a register of the same width or a wider one.
    Repeat {
        /// The register that is wider, or as wide.
        to: VariableId,
        /// That of 128 bits.
        from: VariableId,
    },
    /// A part of a register of 128 bits or more: as the register itself, or as the lowest part of a wider one that is 0 above.
    Part {
        /// What is given the part: of 128 bits, or wider than `from`, which has 128 bits then.
        to: VariableId,
        /// What has it.
        from: VariableId,
        /// Which, the lowest first; 0 where `to` is wider.
        part: u8,
    },
    /// A register of the same width.
    Move {
        /// What is given the value.
        to: VariableId,
        /// What has it.
        from: VariableId,
    },
    /// An instruction.
    Apply {
        /// What is given its result.
        to: VariableId,
        /// Position in [`crate::Module::instructions`].
        instruction: u32,
        /// What it takes, in order.
        operands: Vec<VectorOperand>,
    },
}

impl VectorStmt {
    /// The register that is given a value.
    pub fn target(&self) -> Option<VariableId> {
        match self {
            VectorStmt::Load { to, .. }
            | VectorStmt::Set { to, .. }
            | VectorStmt::Repeat { to, .. }
            | VectorStmt::Part { to, .. }
            | VectorStmt::Move { to, .. }
            | VectorStmt::Apply { to, .. } => Some(*to),
            VectorStmt::Store { .. } => None,
        }
    }

    /// The registers that it takes.
    pub fn operands(&self) -> Vec<VariableId> {
        match self {
            VectorStmt::Load { .. } | VectorStmt::Set { .. } => Vec::new(),
            VectorStmt::Store { from, .. }
            | VectorStmt::Repeat { from, .. }
            | VectorStmt::Part { from, .. }
            | VectorStmt::Move { from, .. } => vec![*from],
            VectorStmt::Apply { operands, .. } => {
                let registers = operands.iter().filter_map(|operand| match operand {
                    VectorOperand::Register(register) => Some(*register),
                    VectorOperand::Immediate(_) => None,
                });
                registers.collect()
            }
        }
    }

    /// The index of what is loaded or stored, or the words of which a register is made.
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            VectorStmt::Load { index, .. } | VectorStmt::Store { index, .. } => vec![index],
            VectorStmt::Set { low, high, .. } => vec![low, high],
            _ => Vec::new(),
        }
    }

    /// The array that is read or written.
    pub fn place(&self) -> Option<&Place> {
        match self {
            VectorStmt::Load { place, .. } | VectorStmt::Store { place, .. } => Some(place),
            _ => None,
        }
    }
}
