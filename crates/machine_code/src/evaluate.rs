//! What an instruction writes to its first operand, where that can be told more closely than «secret if anything it reads is».
//!
//! Nothing has to stand here for the walk to be right: an instruction that is not here makes what it writes secret as a whole,
//! and unknown.

use crate::memory::{Loaded, low};
use crate::state::{Compared, Side};
use crate::step::Step;
use crate::value::{Numbers, Value};
use crate::vector::{Shape, shape};
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};
use std::rc::Rc;

/// So many bytes that are all the same.
pub(crate) fn constant(byte: u8, bytes: usize) -> Loaded {
    let mut known = [0; 64];
    if let Some(filled) = known.get_mut(..bytes) {
        filled.fill(byte);
    }
    let number = if byte == 0 { Value::number(0) } else { Value::any_of(bytes) };
    Loaded { lanes: None, secret: 0, value: number, known: Some(Rc::new(known)) }
}

impl Step<'_> {
    /// The registers that the last two operands name are the same one, and nothing masks what is written.
    fn of_one_register(&self, instruction: &Instruction) -> bool {
        let n = instruction.op_count();
        if n < 2 || instruction.has_op_mask() {
            return false;
        }
        let (a, b) = (n - 2, n - 1);
        instruction.op_kind(a) == OpKind::Register
            && instruction.op_kind(b) == OpKind::Register
            && instruction.op_register(a) == instruction.op_register(b)
    }

    /// Whether the result is the same whatever the operands are.
    pub(crate) fn depends_on_nothing(&self, instruction: &Instruction) -> bool {
        self.of_one_register(instruction)
            && (matches!(instruction.mnemonic(), Mnemonic::Xor | Mnemonic::Sub)
                || matches!(shape(instruction.mnemonic()), Shape::Difference | Shape::Equality))
    }

    /// What the first operand becomes; nothing where the general rule applies.
    pub(crate) fn evaluate(&mut self, instruction: &Instruction) -> Option<Loaded> {
        if instruction.op_count() == 0 {
            return None;
        }
        let bytes = self.bits(instruction, 0) as usize / 8;
        if self.depends_on_nothing(instruction) {
            let ones = shape(instruction.mnemonic()) == Shape::Equality;
            return Some(constant(if ones { 0xff } else { 0 }, bytes));
        }
        if matches!(instruction.mnemonic(), Mnemonic::Vpternlogd | Mnemonic::Vpternlogq) {
            return self.ternary(instruction, bytes);
        }
        if instruction.has_op_mask() || instruction.is_broadcast() {
            return None;
        }
        if self.is_wide(instruction) {
            return self.vector(instruction, bytes);
        }
        self.number(instruction)
    }

    /// Whether any operand is a vector or a mask.
    fn is_wide(&self, instruction: &Instruction) -> bool {
        (0..instruction.op_count()).any(|at| {
            let register = instruction.op_register(at);
            instruction.op_kind(at) == OpKind::Register
                && (register.is_vector_register() || register.is_k() || register.is_mm() || register.is_st())
        })
    }

    fn number(&mut self, instruction: &Instruction) -> Option<Loaded> {
        use Mnemonic as M;
        let bits = self.bits(instruction, 0);
        if bits > 64 {
            return None;
        }
        let bytes = bits as usize / 8;
        let all = |secret: bool| if secret { low(bytes) } else { 0 };
        let n = instruction.op_count();
        if instruction.mnemonic() == M::Lea {
            let secret = [instruction.memory_base(), instruction.memory_index()]
                .iter()
                .any(|register| *register != Register::None && self.state.secret(*register) != 0);
            return Some(Loaded {
                lanes: None,
                secret: all(secret),
                value: self.named_address(instruction),
                known: None,
            });
        }
        let (first, second) = (self.operand(instruction, 0), self.operand(instruction, n.min(2) - 1));
        let (a, b) = (&first.value, &second.value);
        let both = first.secret != 0 || second.secret != 0;
        let numeric = |f: fn(&Numbers, &Numbers) -> Numbers| match (a.base, b.base) {
            (None, None) => Value::of(f(&a.numbers, &b.numbers)),
            _ => Value::ANY,
        };
        let (secret, value) = match instruction.mnemonic() {
            M::Mov | M::Movnti => (second.secret, b.clone()),
            M::Movzx => (second.secret & low(self.bits(instruction, 1) as usize / 8), b.clone()),
            M::Movsx | M::Movsxd => {
                let from = self.bits(instruction, 1);
                let taken = second.secret & low(from as usize / 8);
                let sign = taken & (1 << (from / 8 - 1)) != 0;
                let extended = if sign { low(bytes) & !low(from as usize / 8) } else { 0 };
                (taken | extended, b.map(|numbers| numbers.truncate(from).extend(from)))
            }
            M::Add => (all(both), a.add(b)),
            M::Sub => (all(both), a.sub(b)),
            M::Sbb | M::Adc => {
                let carry_secret = instruction.rflags_read() & self.state.flags != 0;
                let can = |holds| self.state.assume(ConditionCode::b, holds).is_some();
                let carry = match (can(true), can(false)) {
                    (true, false) => Numbers::One(1),
                    (false, true) => Numbers::One(0),
                    _ => Numbers::of(vec![0, 1]),
                };
                let carry = Value::of(if carry_secret { Numbers::Any } else { carry });
                let subtracts = instruction.mnemonic() == M::Sbb;
                match (subtracts, self.of_one_register(instruction)) {
                    // What stood in the register does not matter.
                    (true, true) => (all(carry_secret), Value::number(0).sub(&carry)),
                    (true, false) => (all(both || carry_secret), a.sub(b).sub(&carry)),
                    (false, _) => (all(both || carry_secret), a.add(b).add(&carry)),
                }
            }
            M::Inc => (all(first.secret != 0), a.add(&Value::number(1))),
            M::Dec => (all(first.secret != 0), a.sub(&Value::number(1))),
            M::Neg => (all(first.secret != 0), a.map(|numbers| Numbers::One(0).sub(numbers))),
            M::Not => (first.secret, a.map(|numbers| Numbers::One(-1).sub(numbers))),
            M::And => {
                // Bytes that a constant clears are the same whatever they were.
                let kept = |other: &Loaded| match other.value.numbers.one() {
                    Some(n) if other.value.base.is_none() && other.secret == 0 => {
                        n.to_le_bytes().iter().enumerate().map(|(at, byte)| u64::from(*byte != 0) << at).sum()
                    }
                    _ => u64::MAX,
                };
                ((first.secret & kept(&second)) | (second.secret & kept(&first)), self.and(a, b))
            }
            M::Or => (first.secret | second.secret, numeric(|a, b| a.or_like(b, |a, b| a | b))),
            M::Xor => (first.secret | second.secret, numeric(|a, b| a.or_like(b, |a, b| a ^ b))),
            M::Shl | M::Sal | M::Shr | M::Sar if n == 2 => {
                let by = second.value.numbers.one().filter(|_| second.secret == 0 && second.value.base.is_none());
                let Some(by) = by.and_then(|by| u32::try_from(by & if bits == 64 { 63 } else { 31 }).ok()) else {
                    return Some(Loaded { lanes: None, secret: all(both), value: Value::ANY, known: None });
                };
                let value = match instruction.mnemonic() {
                    M::Shr => a.map(|numbers| numbers.shr(by)),
                    M::Sar => a.map(|numbers| numbers.extend(bits).sar(by)),
                    _ => a.map(|numbers| numbers.shl(by)),
                };
                // A byte moves to one place or is spread over two.
                let (whole, parts) = (by as usize / 8, u64::from(by % 8 != 0));
                let secret = match instruction.mnemonic() {
                    M::Shr => (first.secret >> whole) | (first.secret >> whole >> parts),
                    M::Sar => all(both),
                    _ => (first.secret << whole) | (first.secret << whole << parts),
                };
                (secret & low(bytes), value)
            }
            M::Imul if n == 2 => (all(both), numeric(Numbers::mul)),
            M::Imul if n == 3 => {
                let by = self.operand(instruction, 2).value;
                (all(second.secret != 0), b.map(|numbers| numbers.mul(&by.numbers)))
            }
            M::Bsf | M::Bsr | M::Tzcnt | M::Lzcnt | M::Popcnt => {
                let known = b.numbers.list().is_some_and(|list| !list.contains(&0)) && b.base.is_none();
                let counted = b.numbers.map(|n| counted(instruction.mnemonic(), n, bits));
                (all(both), Value::of(counted.filter(|_| known).unwrap_or(Numbers::Between(0, 64))))
            }
            M::Bswap => (all(first.secret != 0), a.map(|numbers| swapped(numbers, bits))),
            M::Rol | M::Ror | M::Rorx => {
                let (what, by) =
                    if n == 3 { (&second, self.operand(instruction, 2)) } else { (&first, second.clone()) };
                let by = by.value.numbers.one().filter(|_| by.secret == 0).and_then(|by| u32::try_from(by & 63).ok());
                let left = instruction.mnemonic() == M::Rol;
                let turned =
                    by.map(|by| by % bits).map(|by| what.value.map(|numbers| rotated(numbers, by, bits, left)));
                (all(what.secret != 0 || both), turned.unwrap_or(Value::ANY))
            }
            M::Shlx | M::Shrx | M::Sarx => {
                let by = self.operand(instruction, 2);
                let secret = all(second.secret != 0 || by.secret != 0);
                let places =
                    by.value.numbers.one().and_then(|by| u32::try_from(by & if bits == 64 { 63 } else { 31 }).ok());
                let value = match (places, instruction.mnemonic()) {
                    (Some(by), M::Shlx) => b.map(|numbers| numbers.shl(by)),
                    (Some(by), M::Shrx) => b.map(|numbers| numbers.shr(by)),
                    (Some(by), _) => b.map(|numbers| numbers.extend(bits).sar(by)),
                    _ => Value::ANY,
                };
                (secret, value)
            }
            M::Andn => {
                let third = self.operand(instruction, 2);
                let inverted = b.map(|numbers| Numbers::One(-1).sub(numbers).truncate(bits));
                (second.secret | third.secret, self.and(&inverted, &third.value))
            }
            M::Blsr => (all(second.secret != 0), b.map(|numbers| lowest(numbers, |n| n & n.wrapping_sub(1)))),
            M::Blsi => (all(second.secret != 0), b.map(|numbers| lowest(numbers, |n| n & n.wrapping_neg()))),
            M::Bts | M::Btr | M::Btc => {
                let mnemonic = instruction.mnemonic();
                let width = i64::from(bits);
                let by = b.numbers.one().filter(|_| b.base.is_none() && instruction.op_kind(0) == OpKind::Register);
                let value = by.map(|by| {
                    a.map(|numbers| {
                        let changed = numbers.map(|n| {
                            let bit = 1i64 << by.rem_euclid(width);
                            match mnemonic {
                                M::Bts => n | bit,
                                M::Btr => n & !bit,
                                _ => n ^ bit,
                            }
                        });
                        changed.unwrap_or(Numbers::Any)
                    })
                });
                (all(both), value.unwrap_or(Value::ANY))
            }
            _ if is_conditional_move(instruction) => {
                return Some(self.conditional(instruction, &first, &second, bytes));
            }
            _ if is_set(instruction) => {
                let secret = instruction.rflags_read() & self.state.flags != 0;
                let can = |holds| self.state.assume(instruction.condition_code(), holds).is_some();
                let value = match (can(true), can(false)) {
                    (true, false) => Value::number(1),
                    (false, true) => Value::number(0),
                    _ => Value::of(Numbers::of(vec![0, 1])),
                };
                (all(secret), value)
            }
            _ => return None,
        };
        Some(Loaded { lanes: None, secret, value, known: None })
    }

    /// What other registers become than the first operand, where that is known.
    pub(crate) fn implied(&mut self, instruction: &Instruction) -> Vec<(Register, Value)> {
        use Mnemonic as M;
        let of = |step: &Self, register: Register| step.state.number(register).numbers;
        match instruction.mnemonic() {
            M::Cdqe => vec![(Register::RAX, Value::of(of(self, Register::EAX).extend(32)))],
            M::Cwde => vec![(Register::EAX, Value::of(of(self, Register::AX).extend(16).truncate(32)))],
            M::Cqo => vec![(Register::RDX, Value::of(of(self, Register::RAX).sar(63)))],
            M::Cdq => vec![(Register::EDX, Value::of(of(self, Register::EAX).extend(32).sar(63).truncate(32)))],
            M::Div => {
                let bits = self.bits(instruction, 0);
                let (low, high) = match bits {
                    64 => (Register::RAX, Register::RDX),
                    32 => (Register::EAX, Register::EDX),
                    _ => return Vec::new(),
                };
                let divisor = self.operand(instruction, 0);
                let dividend = of(self, low);
                let (least, most) = divisor.value.numbers.bounds();
                if of(self, high) != Numbers::One(0)
                    || least <= 0
                    || dividend.bounds().0 < 0
                    || divisor.value.base.is_some()
                {
                    return Vec::new();
                }
                let quotient = dividend.pairs(&divisor.value.numbers, |a, b| a / b);
                let remainder = dividend.pairs(&divisor.value.numbers, |a, b| a % b);
                vec![
                    (low, Value::of(quotient.unwrap_or(Numbers::range(0, dividend.bounds().1 / least)))),
                    (high, Value::of(remainder.unwrap_or(Numbers::range(0, most - 1)))),
                ]
            }
            M::Mul if self.bits(instruction, 0) == 64 => {
                let factor = self.operand(instruction, 0).value;
                let product = of(self, Register::RAX).mul(&factor.numbers);
                // Where no factor is large, the upper half is zero.
                let small = |numbers: &Numbers| matches!(numbers.bounds(), (0.., high) if high < 1 << 31);
                if factor.base.is_some() || !small(&of(self, Register::RAX)) || !small(&factor.numbers) {
                    return Vec::new();
                }
                vec![(Register::RAX, Value::of(product)), (Register::RDX, Value::number(0))]
            }
            _ => Vec::new(),
        }
    }

    /// `a & b`, where one of them may be a pointer.
    fn and(&self, a: &Value, b: &Value) -> Value {
        let (pointer, mask, region) = match (a.base, b.base) {
            (None, None) => return Value::of(a.numbers.and(&b.numbers)),
            (Some(region), None) => (a, &b.numbers, region),
            (None, Some(region)) => (b, &a.numbers, region),
            _ => return Value::ANY,
        };
        let Some(mask) = mask.one() else { return Value::of(Numbers::Any.and(mask)) };
        let alignment = self.state.alignment(region);
        let step = mask.wrapping_neg();
        if mask < 0 && step & (step - 1) == 0 {
            let (low, high) = pointer.numbers.bounds();
            let down = pointer.numbers.map(|n| n & mask).filter(|_| step <= alignment);
            // What it is rounded down by is less than a step.
            let range = || Numbers::range(low.saturating_sub(step - 1), high);
            return Value { base: pointer.base, numbers: down.unwrap_or_else(range) };
        }
        match pointer.numbers.map(|n| n & mask) {
            Some(numbers) if (0..alignment).contains(&mask) => Value::of(numbers),
            _ if mask < 0 => Value { base: pointer.base, numbers: Numbers::Any },
            _ => Value::of(Numbers::Any.and(&Numbers::One(mask))),
        }
    }

    fn conditional(&mut self, instruction: &Instruction, old: &Loaded, new: &Loaded, bytes: usize) -> Loaded {
        if instruction.rflags_read() & self.state.flags != 0 {
            return Loaded { lanes: None, secret: low(bytes), value: old.value.join(&new.value), known: None };
        }
        let can = |holds| self.state.assume(instruction.condition_code(), holds).is_some();
        match (can(true), can(false)) {
            (true, false) => new.clone(),
            (false, true) => old.clone(),
            _ => {
                Loaded { lanes: None, secret: old.secret | new.secret, value: old.value.join(&new.value), known: None }
            }
        }
    }

    /// What the flags tell after this instruction; asked before it writes.
    pub(crate) fn compared(&mut self, instruction: &Instruction, result: Option<&Loaded>) -> Option<Compared> {
        use Mnemonic as M;
        let width = match instruction.mnemonic() {
            M::Kortestb => 8,
            M::Kortestw => 16,
            M::Kortestd => 32,
            M::Kortestq => 64,
            _ => 0,
        };
        if width != 0 {
            let (a, b) = (self.operand(instruction, 0).value.numbers, self.operand(instruction, 1).value.numbers);
            let value = Value::of(a.or_like(&b, |a, b| a | b).truncate(width));
            return Some(Compared { bits: width, sides: None, result: Some(Side { value, origin: None }) });
        }
        if instruction.op_count() == 0 || self.is_wide(instruction) {
            return None;
        }
        let bits = self.bits(instruction, 0);
        let zero = || Side { value: Value::number(0), origin: None };
        // What is written stands in the first operand afterwards, if it is a register and the number fits.
        let written = |value: &Value| {
            let narrow = if bits < 64 { value.map(|numbers| numbers.truncate(bits)) } else { value.clone() };
            Side { value: narrow, origin: None }
        };
        match instruction.mnemonic() {
            M::Cmp => {
                let (a, mut b) = (self.side(instruction, 0), self.side(instruction, 1));
                if bits < 64 && b.value.base.is_none() {
                    b.value = b.value.map(|numbers| numbers.truncate(bits));
                }
                Some(Compared { bits, sides: Some((a, b)), result: None })
            }
            M::Test if self.of_one_register(instruction) => {
                let side = self.side(instruction, 0);
                Some(Compared { bits, sides: Some((side.clone(), zero())), result: Some(side) })
            }
            M::Test => {
                let (a, b) = (self.operand(instruction, 0).value, self.operand(instruction, 1).value);
                let side = written(&self.and(&a, &b));
                Some(Compared { bits, sides: Some((side.clone(), zero())), result: Some(side) })
            }
            M::And | M::Or | M::Xor => {
                let side = written(&result?.value);
                Some(Compared { bits, sides: Some((side.clone(), zero())), result: Some(side) })
            }
            M::Sub => {
                let (mut a, mut b) = (self.side(instruction, 0), self.side(instruction, 1));
                (a.origin, b.origin) = (None, None);
                if bits < 64 && b.value.base.is_none() {
                    b.value = b.value.map(|numbers| numbers.truncate(bits));
                }
                Some(Compared { bits, sides: Some((a, b)), result: Some(written(&result?.value)) })
            }
            // A negation is a difference from zero, and borrows as one.
            M::Neg => {
                let mut b = self.side(instruction, 0);
                b.origin = None;
                if bits < 64 && b.value.base.is_none() {
                    b.value = b.value.map(|numbers| numbers.truncate(bits));
                }
                Some(Compared { bits, sides: Some((zero(), b)), result: Some(written(&result?.value)) })
            }
            M::Add | M::Inc | M::Dec | M::Shl | M::Shr | M::Sar => {
                Some(Compared { bits, sides: None, result: Some(written(&result?.value)) })
            }
            _ => None,
        }
    }
}

fn is_conditional_move(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None && format!("{:?}", instruction.mnemonic()).starts_with("Cmov")
}

fn is_set(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None && format!("{:?}", instruction.mnemonic()).starts_with("Set")
}

/// Bits counted by an instruction; `n` is not zero.
fn counted(mnemonic: Mnemonic, n: i64, bits: u32) -> i64 {
    i64::from(match mnemonic {
        Mnemonic::Popcnt => n.count_ones(),
        Mnemonic::Bsf | Mnemonic::Tzcnt => n.trailing_zeros(),
        Mnemonic::Lzcnt => n.leading_zeros() - (64 - bits),
        _ => 63 - n.leading_zeros(),
    })
}

fn swapped(numbers: &Numbers, bits: u32) -> Numbers {
    let shift = 64 - bits;
    numbers.map(|n| (n.swap_bytes().cast_unsigned() >> shift).cast_signed()).unwrap_or(Numbers::Any)
}

fn rotated(numbers: &Numbers, by: u32, bits: u32, left: bool) -> Numbers {
    let turn = |n: i64| {
        let n = n.cast_unsigned();
        let by = if left { by } else { (bits - by) % bits };
        let turned = if by == 0 { n } else { (n << by) | (n >> (bits - by)) };
        turned.cast_signed()
    };
    numbers.map(turn).map_or(Numbers::Any, |turned| turned.truncate(bits))
}

fn lowest(numbers: &Numbers, f: impl Fn(i64) -> i64) -> Numbers {
    numbers.map(f).unwrap_or(Numbers::Any)
}
