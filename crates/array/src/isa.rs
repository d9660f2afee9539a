//! The instruction set of an array's processors: register-less three-address code between data memory, FIFOs and pointers.
//!
//! ```text
//!     gen 0, 16              ; generator 0 begins at word 16 of data memory
//!     rpt 16, 1              ; the next instruction 16 times
//!     xor out0, in0, g0      ; a word of input port 0 and the next word that generator 0 names, to link 0
//!     shr p0, peek0, 1       ; the next input word, left in its FIFO, shifted: into pointer 0
//!     and -, in0, 1 !0       ; to nowhere, but flag 0 says whether it was not 0
//! 3   mov -, *p0             ; three NOPs before; the word that pointer 0 names
//!     shr out0, byp, 8 ?0    ; what the instruction before gave; only where flag 0 is set
//!     and out0, byp, 255 ?~0 ; only where it is not
//! ```
//!
//! An instruction takes a cycle when its words are there and its links have room. `byp` is the result of the last instruction
//! that had one and was carried out. A program runs from its beginning again when it ends. What is public of the instruction sets of
//! such arrays (AsapSim.jl for AsAP4, WikiChip for KiloCore) has all of these forms; their names here are ours.

mod generate;
mod lower;
mod schedule;
mod text;

pub use generate::{FORMS, Form, Generated, build};
pub use text::{assemble, disassemble};

use serde::Serialize;

/// What an instruction does with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Opcode {
    /// `a`
    Mov,
    /// `a + b`; sets the carry.
    Add,
    /// `a + b` and the carry; sets the carry.
    Addc,
    /// `a - b`; sets the carry where it borrows.
    Sub,
    /// `a - b` less the carry; sets it where it borrows.
    Subb,
    /// `a & b`
    And,
    /// `a | b`
    Or,
    /// `a ^ b`
    Xor,
    /// `a << b`
    Shl,
    /// `a >> b`, zeros from above
    Shr,
    /// `a >> b`, the sign from above
    Asr,
    /// `a * b`, the lower word
    Mul,
    /// `a * b`, the upper word, without signs
    Mulh,
    /// 1 where `a` is `b`, else 0
    Eq,
    /// 1 where `a` is less than `b`, without signs, else 0
    Lt,
}

impl Opcode {
    /// All, with their names.
    pub const ALL: [(Opcode, &'static str); 15] = [
        (Opcode::Mov, "mov"),
        (Opcode::Add, "add"),
        (Opcode::Addc, "addc"),
        (Opcode::Sub, "sub"),
        (Opcode::Subb, "subb"),
        (Opcode::And, "and"),
        (Opcode::Or, "or"),
        (Opcode::Xor, "xor"),
        (Opcode::Shl, "shl"),
        (Opcode::Shr, "shr"),
        (Opcode::Asr, "asr"),
        (Opcode::Mul, "mul"),
        (Opcode::Mulh, "mulh"),
        (Opcode::Eq, "eq"),
        (Opcode::Lt, "lt"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// The result on words of so many bits, with the carry before and behind.
    pub fn apply(self, a: u64, b: u64, bits: u32, carry: &mut bool) -> u64 {
        let mask = u64::MAX >> (64 - bits);
        let signed = |it: u64| ((it << (64 - bits)) as i64) >> (64 - bits);
        let sum = |a: u64, b: u64, more: u64, carry: &mut bool| {
            let whole = u128::from(a) + u128::from(b) + u128::from(more);
            *carry = whole >> bits != 0;
            whole as u64 & mask
        };
        let difference = |a: u64, b: u64, less: u64, carry: &mut bool| {
            let whole = i128::from(a) - i128::from(b) - i128::from(less);
            *carry = whole < 0;
            whole as u64 & mask
        };
        match self {
            Opcode::Mov => a,
            Opcode::Add => sum(a, b, 0, carry),
            Opcode::Addc => sum(a, b, u64::from(*carry), carry),
            Opcode::Sub => difference(a, b, 0, carry),
            Opcode::Subb => difference(a, b, u64::from(*carry), carry),
            Opcode::And => a & b,
            Opcode::Or => a | b,
            Opcode::Xor => a ^ b,
            Opcode::Shl if b >= u64::from(bits) => 0,
            Opcode::Shl => (a << b) & mask,
            Opcode::Shr if b >= u64::from(bits) => 0,
            Opcode::Shr => a >> b,
            Opcode::Asr => (signed(a) >> b.min(63)) as u64 & mask,
            Opcode::Mul => a.wrapping_mul(b) & mask,
            Opcode::Mulh => ((u128::from(a) * u128::from(b)) >> bits) as u64 & mask,
            Opcode::Eq => u64::from(a == b),
            Opcode::Lt => u64::from(a < b),
        }
    }

    /// Whether it takes one operand.
    pub fn is_unary(self) -> bool {
        self == Opcode::Mov
    }
}

/// From where an instruction takes an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Source {
    /// A word of data memory.
    Memory(u32),
    /// A number in the instruction.
    Immediate(u64),
    /// The next word of an input port, which is taken.
    Input(u8),
    /// The next word of an input port, which is left.
    Peek(u8),
    /// The result of the instruction before.
    Bypass,
    /// The word that a pointer names.
    Pointer(u8),
    /// The word that a generator names, which goes on to the next.
    Generator(u8),
}

/// Where an instruction puts its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Target {
    /// Nowhere.
    Nowhere,
    /// A word of data memory.
    Memory(u32),
    /// A pointer.
    Pointer(u8),
    /// The word that a generator names, which goes on to the next.
    Generator(u8),
    /// Links, a bit each; the highest bit is the outside.
    Links(u32),
}

/// The bit of [`Target::Links`] that is the outside.
pub const OUTSIDE: u32 = 1 << 31;

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Instruction {
    /// An operation.
    Do {
        /// NOPs before.
        nops: u8,
        /// What is done.
        op: Opcode,
        /// Where the result goes.
        to: Target,
        /// The first operand.
        a: Source,
        /// The second operand; the number 0 where there is none.
        b: Source,
        /// The flag that says whether the result was not 0, where one is set.
        sets: Option<u8>,
        /// The flag that decides whether it is carried out, and how it must be.
        condition: Option<(u8, bool)>,
    },
    /// The next so many instructions, so many times.
    Repeat {
        /// NOPs before.
        nops: u8,
        /// How many times, at least 1.
        times: u32,
        /// How many instructions.
        length: u32,
    },
    /// A generator begins at a word of data memory.
    Generate {
        /// Which.
        generator: u8,
        /// Where.
        at: u32,
    },
    /// Goes to an instruction while a flag is set.
    Loop {
        /// NOPs before.
        nops: u8,
        /// The flag.
        flag: u8,
        /// The instruction.
        to: u32,
    },
}

/// A program with what its memory holds at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Instructions. Behind the last, the first comes again, after a jump.
    pub instructions: Vec<Instruction>,
    /// Words of data memory at the beginning.
    pub memory: Vec<u64>,
    /// The link at each input port.
    pub inputs: Vec<u32>,
    /// Links that it writes, by their numbers in [`Target::Links`].
    pub outputs: Vec<u32>,
    /// Words that leave in a period, in their order: message, positions in its output, and which word of the value.
    pub leaves: Vec<(u32, Vec<u32>, u32)>,
    /// Bits of a word.
    pub bits: u32,
    /// Cycles of a repeat, of setting a generator, and of a jump.
    pub setup: (u32, u32, u32),
    /// How often it runs in a period.
    pub runs: u32,
}

impl Code {
    /// Words of program memory that it takes, with the jump at its end.
    pub fn program_words(&self) -> usize {
        self.instructions.len() + 1
    }
}
