//! Results of vector and mask instructions that copy, rearrange or combine bytes in place; see [`crate::evaluate`].

use crate::evaluate::constant;
use crate::memory::{Loaded, low};
use crate::step::Step;
use crate::value::{Numbers, Value};
use iced_x86::{Instruction, Mnemonic, OpKind};
use std::rc::Rc;

/// What an instruction does with bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Copies them to the lowest place; above is zero.
    Copy,
    /// Makes each of those that stand in the same place.
    Bitwise,
    /// Zero, of an operand with itself.
    Difference,
    /// Ones, of an operand with itself.
    Equality,
    Other,
}

pub(crate) fn shape(mnemonic: Mnemonic) -> Shape {
    use Mnemonic as M;
    match mnemonic {
        M::Mov | M::Movzx | M::Movbe | M::Movd | M::Movq | M::Movnti | M::Vmovd | M::Vmovq | M::Movaps | M::Movapd => {
            Shape::Copy
        }
        M::Movups
        | M::Movupd
        | M::Movdqa
        | M::Movdqu
        | M::Lddqu
        | M::Movntdq
        | M::Movntps
        | M::Movntpd
        | M::Movntdqa => Shape::Copy,
        M::Vmovaps | M::Vmovapd | M::Vmovups | M::Vmovupd | M::Vmovdqa | M::Vmovdqu | M::Vlddqu | M::Vmovntdq => {
            Shape::Copy
        }
        M::Vmovdqa32 | M::Vmovdqa64 | M::Vmovdqu8 | M::Vmovdqu16 | M::Vmovdqu32 | M::Vmovdqu64 | M::Vmovntdqa => {
            Shape::Copy
        }
        M::Pand | M::Por | M::Andps | M::Andpd | M::Orps | M::Orpd | M::Pandn | M::Andnps | M::Andnpd => Shape::Bitwise,
        M::Vpand | M::Vpor | M::Vandps | M::Vandpd | M::Vorps | M::Vorpd | M::Vpandn | M::Vandnps | M::Vandnpd => {
            Shape::Bitwise
        }
        M::Vpandd | M::Vpandq | M::Vpord | M::Vporq | M::Vpandnd | M::Vpandnq => Shape::Bitwise,
        M::Pxor | M::Xorps | M::Xorpd | M::Vpxor | M::Vxorps | M::Vxorpd | M::Vpxord | M::Vpxorq => Shape::Difference,
        M::Psubb | M::Psubw | M::Psubd | M::Psubq | M::Pcmpgtb | M::Pcmpgtw | M::Pcmpgtd | M::Pcmpgtq => {
            Shape::Difference
        }
        M::Vpsubb | M::Vpsubw | M::Vpsubd | M::Vpsubq | M::Vpcmpgtb | M::Vpcmpgtw | M::Vpcmpgtd | M::Vpcmpgtq => {
            Shape::Difference
        }
        M::Kxorb | M::Kxorw | M::Kxord | M::Kxorq => Shape::Difference,
        M::Pcmpeqb | M::Pcmpeqw | M::Pcmpeqd | M::Pcmpeqq | M::Vpcmpeqb | M::Vpcmpeqw | M::Vpcmpeqd | M::Vpcmpeqq => {
            Shape::Equality
        }
        M::Kxnorb | M::Kxnorw | M::Kxnord | M::Kxnorq => Shape::Equality,
        _ => Shape::Other,
    }
}

/// The difference of one vector and itself is zero bit by bit where it is an exclusive or.
fn is_exclusive_or(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(mnemonic, M::Pxor | M::Xorps | M::Xorpd | M::Vpxor | M::Vxorps | M::Vxorpd | M::Vpxord | M::Vpxorq)
}

impl Step<'_> {
    pub(crate) fn vector(&mut self, instruction: &Instruction, bytes: usize) -> Option<Loaded> {
        let n = instruction.op_count();
        let width = match instruction.mnemonic() {
            Mnemonic::Kmovb => 8,
            Mnemonic::Kmovw => 16,
            Mnemonic::Kmovd => 32,
            Mnemonic::Kmovq => 64,
            _ => 0,
        };
        if width != 0 {
            let mut moved = self.operand(instruction, 1);
            moved.value = moved.value.map(|numbers| numbers.truncate(width));
            return Some(moved);
        }
        match shape(instruction.mnemonic()) {
            Shape::Copy if n == 2 && !instruction.op0_register().is_k() => {
                let source = self.operand(instruction, 1);
                let taken = bytes.min(self.bits(instruction, 1) as usize / 8);
                // `movq` between vectors takes eight bytes of the sixteen.
                let quad = matches!(instruction.mnemonic(), Mnemonic::Movq | Mnemonic::Vmovq);
                let taken = if quad { taken.min(8) } else { taken };
                let known = match (&source.known, &source.value) {
                    (Some(known), _) => Some(**known),
                    (None, Value { base: None, numbers: Numbers::One(n) }) if source.secret == 0 && taken <= 8 => {
                        let mut known = [0; 64];
                        known[..8].copy_from_slice(&n.to_le_bytes());
                        Some(known)
                    }
                    _ => None,
                };
                let known = known.map(|mut known| {
                    known[taken..].fill(0);
                    Rc::new(known)
                });
                let lanes = source.lanes.filter(|_| taken > 8);
                let value = if taken <= 8 { source.value } else { Value::ANY };
                Some(Loaded { lanes, secret: source.secret & low(taken), value, known })
            }
            Shape::Bitwise => {
                let (a, b) = (self.operand(instruction, n - 2), self.operand(instruction, n - 1));
                Some(Loaded { lanes: None, secret: a.secret | b.secret, value: Value::ANY, known: None })
            }
            Shape::Difference if is_exclusive_or(instruction.mnemonic()) => {
                let (a, b) = (self.operand(instruction, n - 2), self.operand(instruction, n - 1));
                Some(Loaded { lanes: None, secret: a.secret | b.secret, value: Value::ANY, known: None })
            }
            _ => self.rearranged(instruction, bytes),
        }
    }

    /// Copies that put bytes elsewhere.
    fn rearranged(&mut self, instruction: &Instruction, bytes: usize) -> Option<Loaded> {
        use Mnemonic as M;
        let n = instruction.op_count();
        let last = n - 1;
        let imm = || instruction.try_immediate(last).ok().and_then(|imm| usize::try_from(imm).ok());
        let lane = |step: &mut Self, operand: u32, at: usize| {
            let read = step.operand(instruction, operand);
            let one = read.lanes.as_ref().and_then(|lanes| lanes.get(at).cloned());
            one.unwrap_or(if at == 0 { read.value } else { Value::ANY })
        };
        let lanes: Option<Rc<[Value]>> = match instruction.mnemonic() {
            M::Punpcklqdq | M::Vpunpcklqdq | M::Unpcklpd | M::Movlhps | M::Vmovlhps if bytes == 16 => {
                Some(Rc::from([lane(self, n - 2, 0), lane(self, last, 0)]))
            }
            M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd if instruction.op_kind(0) == OpKind::Register => {
                Some(Rc::from([lane(self, n - 2, 0), lane(self, last, 0)]))
            }
            M::Pinsrq | M::Vpinsrq => {
                let mut both = [lane(self, last.checked_sub(2)?, 0), lane(self, last - 2, 1)];
                both[imm()? & 1] = lane(self, last - 1, 0);
                Some(Rc::from(both))
            }
            M::Vinserti128 | M::Vinsertf128 | M::Vinserti64x2 if bytes == 32 => {
                let at = 2 * (imm()? & 1);
                let mut all = [0, 1, 2, 3].map(|k| lane(self, 1, k));
                (all[at], all[at + 1]) = (lane(self, 2, 0), lane(self, 2, 1));
                Some(Rc::from(all))
            }
            M::Vextracti128 | M::Vextractf128 => {
                let at = 2 * (imm()? & 1);
                Some(Rc::from([lane(self, 1, at), lane(self, 1, at + 1)]))
            }
            M::Pextrq | M::Vpextrq => Some(Rc::from([lane(self, 1, imm()? & 1)])),
            _ => None,
        };
        let secret = match instruction.mnemonic() {
            M::Movss | M::Vmovss | M::Movsd | M::Vmovsd if n == 2 => {
                let taken = bytes.min(self.bits(instruction, 1) as usize / 8);
                let scalar = if matches!(instruction.mnemonic(), M::Movss | M::Vmovss) { 4 } else { 8 };
                if instruction.op_kind(0) == OpKind::Register && instruction.op_kind(1) == OpKind::Register {
                    return None;
                }
                self.operand(instruction, 1).secret & low(taken.min(scalar))
            }
            M::Punpcklqdq | M::Vpunpcklqdq | M::Unpcklpd | M::Movlhps | M::Vmovlhps if bytes == 16 => {
                let (a, b) = (self.operand(instruction, n - 2), self.operand(instruction, last));
                (a.secret & 0xff) | ((b.secret & 0xff) << 8)
            }
            M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd if instruction.op_kind(0) == OpKind::Register => {
                let (a, b) = (self.operand(instruction, n - 2), self.operand(instruction, last));
                (a.secret & 0xff) | ((b.secret & 0xff) << 8)
            }
            M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd => self.operand(instruction, 1).secret >> 8,
            M::Pinsrq | M::Vpinsrq | M::Pinsrd | M::Vpinsrd => {
                let width = if matches!(instruction.mnemonic(), M::Pinsrq | M::Vpinsrq) { 8 } else { 4 };
                let at = (imm()? & (16 / width - 1)) * width;
                let (a, b) = (self.operand(instruction, last.checked_sub(2)?), self.operand(instruction, last - 1));
                (a.secret & low(16) & !(low(width) << at)) | ((b.secret & low(width)) << at)
            }
            M::Pextrq | M::Vpextrq => (self.operand(instruction, 1).secret >> ((imm()? & 1) * 8)) & low(8),
            M::Pextrd | M::Vpextrd => (self.operand(instruction, 1).secret >> ((imm()? & 3) * 4)) & low(4),
            M::Vinserti128 | M::Vinsertf128 | M::Vinserti64x2 if bytes == 32 => {
                let at = (imm()? & 1) * 16;
                let (a, b) = (self.operand(instruction, 1), self.operand(instruction, 2));
                (a.secret & low(32) & !(low(16) << at)) | ((b.secret & low(16)) << at)
            }
            M::Vextracti128 | M::Vextractf128 => (self.operand(instruction, 1).secret >> ((imm()? & 1) * 16)) & low(16),
            _ => return None,
        };
        let value = lanes.as_ref().filter(|lanes| lanes.len() == 1).map_or(Value::ANY, |lanes| lanes[0].clone());
        Some(Loaded { lanes: lanes.filter(|lanes| lanes.len() > 1), secret, value, known: None })
    }

    /// Ternary logic reads only the operands that its truth table depends on.
    pub(crate) fn ternary(&mut self, instruction: &Instruction, bytes: usize) -> Option<Loaded> {
        let table = instruction.try_immediate(3).ok()? & 0xff;
        // The first operand is the most significant bit of the index into the table.
        let depends = [(4, 0x0f), (2, 0x33), (1, 0x55)].map(|(shift, half)| (table >> shift) & half != table & half);
        if instruction.has_op_mask() {
            return None;
        }
        let mut secret = 0;
        for (at, depends) in (0..).zip(depends) {
            if depends {
                let read = self.operand(instruction, at).secret;
                secret |= if instruction.is_broadcast() && at == 2 && read != 0 { low(bytes) } else { read };
            }
        }
        Some(match (depends, table) {
            ([false, false, false], 0) => constant(0, bytes),
            ([false, false, false], _) => constant(0xff, bytes),
            _ => Loaded { lanes: None, secret, value: Value::ANY, known: None },
        })
    }
}
