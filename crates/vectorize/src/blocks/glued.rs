//! Register assembly: inserts, blends and exclusive-or trees of 128-bit registers. Registers that are put together of
//! bytes, and sums of registers.

use super::{BYTES, Block, Plan};
use crate::NotApplicable;
use headrace_transform::kernel::{Carry, NodeId, ObjectId, Op};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Terms of a sum that is written out: sums of sums of sums have more terms than anybody waits for.
const MOST_TERMS: usize = 4096;

fn few(n: usize) -> Result<(), NotApplicable> {
    if n < MOST_TERMS { Ok(()) } else { Err(NotApplicable("a sum has too many terms".into())) }
}

/// Where a byte of a register comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Byte {
    Token {
        port: u32,
        at: i64,
    },
    Element {
        object: ObjectId,
        at: usize,
    },
    Counter {
        counter: usize,
        at: u32,
    },
    Invariant {
        node: NodeId,
        lo: u32,
    },
    Register {
        node: NodeId,
        at: u32,
    },
    /// Bits of both operands, or of one of them: they may come from different registers, and be gates again.
    Gate {
        gate: Gate,
        operands: [NodeId; 2],
        lo: u32,
    },
}

/// What combines two bytes bit by bit, and gives zeros of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gate {
    And,
    Or,
}

/// For each byte of a register, the operands of the gate that it is, and their lowest bit.
type Gates = [Option<([NodeId; 2], u32)>; BYTES];

impl Plan<'_> {
    /// Sixteen bytes as a register.
    pub(super) fn glued(&mut self, bytes: &[(NodeId, u32)]) -> Result<usize, NotApplicable> {
        // For each register that is read, which of its bytes go where.
        let mut sources: BTreeMap<(u32, usize), [Option<u8>; BYTES]> = BTreeMap::new();
        let mut invariant: [Vec<(NodeId, u32)>; BYTES] = Default::default();
        let mut registers: Vec<usize> = Vec::new();
        let mut read: Vec<(usize, usize, u8)> = Vec::new();
        let mut gates: BTreeMap<(Gate, usize), Gates> = BTreeMap::new();
        let mut terms = Vec::new();
        for (place, &(node, lo)) in bytes.iter().enumerate() {
            let mut own = Vec::new();
            self.terms(node, lo, &mut own)?;
            for byte in own {
                match byte {
                    Byte::Invariant { node, lo } => invariant[place].push((node, lo)),
                    Byte::Gate { gate, operands, lo } => {
                        let turn = (0..).find(|&turn| gates.get(&(gate, turn)).is_none_or(|row| row[place].is_none()));
                        gates.entry((gate, turn.unwrap_or(0))).or_default()[place] = Some((operands, lo));
                    }
                    other => terms.push((place, other)),
                }
            }
        }
        for &(place, byte) in &terms {
            let (register, at) = self.register(place, byte, &terms)?;
            read.push((place, register, at));
        }
        for (place, register, at) in read {
            // A register may be read twice for one place, by two terms.
            let turn = (0..)
                .find(|&turn| sources.get(&(turn, register)).is_none_or(|bytes| bytes[place].is_none()))
                .unwrap_or(0);
            sources.entry((turn, register)).or_insert([None; BYTES])[place] = Some(at);
        }
        for ((_, from), bytes) in sources {
            let stays = bytes.iter().enumerate().all(|(place, at)| *at == Some(place as u8));
            registers.push(if stays { from } else { self.add(Block::Shuffle { from, bytes }) });
        }
        for ((gate, _), row) in gates {
            registers.push(self.gate(gate, &row)?);
        }
        if invariant.iter().any(|terms| !terms.is_empty()) || registers.is_empty() {
            let mut parts = Vec::new();
            for terms in invariant.iter().rev() {
                let mut sum = self.graph.number(0, 8);
                for &(node, lo) in terms {
                    let byte = self.graph.extract(node, lo, 8);
                    sum = self.graph.xor(sum, byte);
                }
                parts.push(sum);
            }
            let whole = self.graph.concat(&parts);
            if self.graph.constant(whole) != Some(0) || registers.is_empty() {
                registers.push(self.add(Block::Invariant(whole)));
            }
        }
        self.sum(registers)
    }

    /// A register of gates of bytes, 0 where there is none.
    fn gate(&mut self, gate: Gate, row: &Gates) -> Result<usize, NotApplicable> {
        let none = (self.graph.number(0, 8), 0);
        let mut operand = |number: usize| {
            let bytes: Vec<(NodeId, u32)> =
                row.iter().map(|one| one.map_or(none, |(operands, lo)| (operands[number], lo))).collect();
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.glued(&bytes))
        };
        let (a, b) = (operand(0)?, operand(1)?);
        Ok(self.add(match gate {
            Gate::And => Block::And(a, b),
            Gate::Or => Block::Or(a, b),
        }))
    }

    /// The registers of which a node is the exclusive or.
    pub(super) fn added(&mut self, id: NodeId, registers: &mut Vec<usize>) -> Result<(), NotApplicable> {
        match *self.graph.op(id) {
            Op::Xor(a, b) if self.varying.contains(&id) => {
                self.added(a, registers)?;
                self.added(b, registers)
            }
            _ => {
                let register = self.block(id)?;
                registers.push(register);
                few(registers.len())
            }
        }
    }

    /// The exclusive or of registers: first what is known first, last what the iteration before leaves, so that a chain
    /// of iterations is as short as it can be.
    pub(super) fn sum(&mut self, registers: Vec<usize>) -> Result<usize, NotApplicable> {
        let mut flat = Vec::new();
        let mut open = registers;
        while let Some(register) = open.pop() {
            match self.blocks[register] {
                Block::Xor(a, b) => open.extend([a, b]),
                _ => flat.push(register),
            }
            few(flat.len())?;
        }
        flat.sort_by_key(|&register| (self.lateness(register), register));
        let mut sum: Option<usize> = None;
        for register in flat {
            sum = Some(match sum {
                None => register,
                Some(sum) => match (&self.blocks[sum], &self.blocks[register]) {
                    (&Block::Invariant(a), &Block::Invariant(b)) => {
                        let both = self.graph.xor(a, b);
                        self.add(Block::Invariant(both))
                    }
                    _ => self.add(Block::Xor(sum, register)),
                },
            });
        }
        Ok(sum.unwrap_or(0))
    }

    fn lateness(&self, register: usize) -> u32 {
        match self.blocks[register] {
            Block::Invariant(_) => 0,
            Block::Load { .. } | Block::Counter(_) => 1,
            Block::Shuffle { from, .. } => self.lateness(from),
            Block::Delay(_) | Block::Power(_) => 2,
            Block::Chain(_) | Block::Words(_) => 4,
            _ => 3,
        }
    }

    /// The bytes of which eight bits of a node are the exclusive or.
    fn terms(&self, node: NodeId, lo: u32, terms: &mut Vec<Byte>) -> Result<(), NotApplicable> {
        if !self.varying.contains(&node) {
            terms.push(Byte::Invariant { node, lo });
            return few(terms.len());
        }
        let width = self.graph.width(node);
        let byte = match *self.graph.op(node) {
            Op::Xor(a, b) if width < 128 => {
                self.terms(a, lo, terms)?;
                return self.terms(b, lo, terms);
            }
            Op::And(a, b) if width < 128 => Byte::Gate { gate: Gate::And, operands: [a, b], lo },
            Op::Or(a, b) if width < 128 => Byte::Gate { gate: Gate::Or, operands: [a, b], lo },
            Op::Extract(from, below) => return self.terms(from, below + lo, terms),
            Op::Input { port, offset } if width == 8 && self.body.consumes[port as usize].1 == 8 => {
                Byte::Token { port, at: offset }
            }
            Op::Entry { object, index } if width == 8 => {
                let at =
                    self.graph.constant(index).ok_or_else(|| NotApplicable("an index is not known".into()))? as usize;
                let one = self.carried.get(&(object, at)).map(|&one| &self.body.carried[one]);
                let one = one.ok_or_else(|| NotApplicable("an element is not carried".into()))?;
                match one.carry {
                    Carry::Counter { counter, lo } if lo.is_multiple_of(8) && lo < 128 => {
                        Byte::Counter { counter, at: lo / 8 }
                    }
                    Carry::Delay => match *self.graph.op(one.next) {
                        Op::Input { port, offset } if self.body.consumes[port as usize].1 == 8 => {
                            let before = self.body.consumes[port as usize].0 as i64;
                            Byte::Token { port, at: offset - before }
                        }
                        _ => Byte::Element { object, at },
                    },
                    Carry::True => Byte::Element { object, at },
                    Carry::Counter { .. } => return Err(NotApplicable("a counter is not made of bytes".into())),
                }
            }
            _ if width == 128 && lo.is_multiple_of(8) => Byte::Register { node, at: lo / 8 },
            _ => return Err(NotApplicable("a byte is not taken from a block".into())),
        };
        terms.push(byte);
        few(terms.len())
    }

    /// The register that holds a byte, and where in it.
    fn register(&mut self, place: usize, byte: Byte, terms: &[(usize, Byte)]) -> Result<(usize, u8), NotApplicable> {
        match byte {
            Byte::Token { port, at } => {
                let others = terms.iter().filter_map(|&(place, other)| match other {
                    Byte::Token { port: same, at } if same == port => Some(at - place as i64),
                    _ => None,
                });
                // Where all stand in a row that row is loaded, else the sixteen that it belongs to.
                let starts: FxHashSet<i64> = others.collect();
                let row = at - place as i64;
                let n_tokens = self.body.consumes[port as usize].0 as i64;
                let fits = |first: i64| {
                    (first >= 0 && first + BYTES as i64 <= n_tokens) || (first < 0 && first + (BYTES as i64) <= 0)
                };
                let first = if starts.len() <= 2 && fits(row) { row } else { at.div_euclid(16) * 16 };
                if !fits(first) || first < -n_tokens {
                    return Err(NotApplicable("tokens are not in whole blocks".into()));
                }
                Ok((self.add(Block::Load { port, first }), (at - first) as u8))
            }
            Byte::Element { object, at } => {
                let first = at / BYTES * BYTES;
                Ok((self.kept(object, first)?, (at - first) as u8))
            }
            Byte::Counter { counter, at } => Ok((self.add(Block::Counter(counter)), at as u8)),
            Byte::Register { node, at } => Ok((self.block(node)?, at as u8)),
            Byte::Invariant { .. } => Err(NotApplicable("a byte that no iteration changes".into())),
            Byte::Gate { .. } => Err(NotApplicable("a byte that is computed of others".into())),
        }
    }
}
