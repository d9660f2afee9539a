//! Instruction encoding of the soft core: programs as words of program memory, with small tables beside it.
//!
//! ```text
//! | operation | target | a | b | modifier |        4 + 3 × field + 4 bits; fields of 8 bits make 32
//! ```
//!
//! A field is an address of data memory, or, with its highest bit set, one of the other places. Numbers, sets of links, and what
//! goes with an instruction (NOPs before it, the flag that it sets, its condition) stand in tables that are set up with the program,
//! as links are: an instruction has the place of its own there. Operation 15 is control: with a generator as target it sets that, with
//! a pointer it begins a hardware loop, else it jumps, where its condition holds.

use crate::isa::{Code, Instruction, Opcode, Source, Target};
use headrace_rtl::index_bits;

/// What else belongs to an instruction: NOPs before, the flag that is set, the flag that decides and how it must be.
pub type Modifier = (u8, Option<u8>, Option<(u8, bool)>);

/// Numbers and sets of links that a program may have.
pub const LITERALS: usize = 64;
/// Different modifiers that a program may have.
pub const MODIFIERS: usize = 16;
/// The number of control operations.
pub const CONTROL: u64 = 15;

/// Kinds of places behind the highest bit of a field, in the two bits above four.
pub mod kind {
    /// A pointer.
    pub const POINTER: u64 = 0;
    /// A generator.
    pub const GENERATOR: u64 = 1;
    /// An input port: the word is taken, or (from 8 on) left.
    pub const INPUT: u64 = 2;
    /// The result before; of targets nothing.
    pub const BYPASS: u64 = 3;
}

/// A program as words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// Bits of an address of data memory.
    pub address_bits: u32,
    /// Bits of an instruction.
    pub width: u32,
    /// Instructions, with the jump at the end.
    pub words: Vec<u64>,
    /// Numbers.
    pub literals: Vec<u64>,
    /// Sets of links, a bit each; the highest of `n_links + 1` bits is the outside.
    pub links: Vec<u64>,
    /// What goes with instructions.
    pub modifiers: Vec<Modifier>,
    /// Links that go out.
    pub n_links: usize,
}

/// The position of something in a list, where it is put if it is not there; none where there is no room.
fn place<T: PartialEq>(list: &mut Vec<T>, it: T, most: usize, what: &str) -> Result<u64, String> {
    let at = list.iter().position(|known| *known == it).unwrap_or_else(|| {
        list.push(it);
        list.len() - 1
    });
    if at < most { Ok(at as u64) } else { Err(format!("it has more than {most} different {what}")) }
}

impl Encoded {
    /// A program for a data memory of so many words.
    ///
    /// # Errors
    ///
    /// It has more numbers, sets of links or modifiers than there is room for.
    pub fn of(code: &Code, data_words: u32) -> Result<Self, String> {
        let address_bits = index_bits(u64::from(data_words)).max(7);
        let field = address_bits + 1;
        let mut all = Self { address_bits, width: 8 + 3 * field, n_links: code.outputs.len(), ..Self::default() };
        let end = Instruction::Loop { nops: 0, flag: 0, to: 0 };
        for (at, instruction) in code.instructions.iter().chain([&end]).enumerate() {
            let is_end = at == code.instructions.len();
            let (operation, to, a, b, modifier) = match *instruction {
                Instruction::Do { nops, op, to, a, b, sets, condition } => {
                    let operation = Opcode::ALL.iter().position(|(known, _)| *known == op).unwrap_or(0) as u64;
                    let [a, b] = [all.source(a)?, all.source(b)?];
                    (operation, all.target(to)?, a, b, (nops, sets, condition))
                }
                Instruction::Repeat { nops, times, length } => {
                    let times = all.source(Source::Immediate(u64::from(times - 1)))?;
                    let length = all.source(Source::Immediate(u64::from(length)))?;
                    (CONTROL, all.other(kind::POINTER, 0), times, length, (nops, None, None))
                }
                Instruction::Generate { generator, at } => {
                    let at = all.source(Source::Immediate(u64::from(at)))?;
                    (CONTROL, all.other(kind::GENERATOR, u64::from(generator)), at, at, (0, None, None))
                }
                Instruction::Loop { nops, flag, to } => {
                    let to = all.source(Source::Immediate(u64::from(to)))?;
                    let condition = (!is_end).then_some((flag, true));
                    (CONTROL, all.other(kind::BYPASS, 0), to, to, (nops, None, condition))
                }
            };
            let modifier = place(&mut all.modifiers, modifier, MODIFIERS, "NOPs and conditions")?;
            let word = operation << (4 + 3 * field) | to << (4 + 2 * field) | a << (4 + field) | b << 4 | modifier;
            all.words.push(word);
        }
        Ok(all)
    }

    /// A place that is no word of memory.
    fn other(&self, kind: u64, number: u64) -> u64 {
        1 << self.address_bits | 1 << (self.address_bits - 1) | kind << 4 | number
    }

    fn source(&mut self, source: Source) -> Result<u64, String> {
        Ok(match source {
            Source::Memory(at) => u64::from(at),
            Source::Immediate(number) => {
                1 << self.address_bits | place(&mut self.literals, number, LITERALS, "numbers")?
            }
            Source::Input(port) => self.other(kind::INPUT, u64::from(port)),
            Source::Peek(port) => self.other(kind::INPUT, 8 + u64::from(port)),
            Source::Bypass => self.other(kind::BYPASS, 0),
            Source::Pointer(pointer) => self.other(kind::POINTER, u64::from(pointer)),
            Source::Generator(generator) => self.other(kind::GENERATOR, u64::from(generator)),
        })
    }

    fn target(&mut self, target: Target) -> Result<u64, String> {
        Ok(match target {
            Target::Nowhere => self.other(kind::BYPASS, 0),
            Target::Memory(at) => u64::from(at),
            Target::Pointer(pointer) => self.other(kind::POINTER, u64::from(pointer)),
            Target::Generator(generator) => self.other(kind::GENERATOR, u64::from(generator)),
            Target::Links(links) => {
                let outside = u64::from(links & crate::isa::OUTSIDE != 0) << self.n_links;
                let links = u64::from(links & !crate::isa::OUTSIDE) | outside;
                1 << self.address_bits | place(&mut self.links, links, LITERALS, "sets of links")?
            }
        })
    }
}
