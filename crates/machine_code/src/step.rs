//! What one instruction does to a state.
//!
//! What an instruction reads and writes (registers, memory, flags) comes from the decoder's tables, for every instruction that
//! there is: whatever it writes is secret as soon as anything that it reads is. Only what tells more than that is written by
//! hand: copies keep secrets apart byte by byte, `a ^ a` depends on nothing ([`crate::evaluate`]), and numbers are followed
//! where control and addresses are made of them. An instruction that has an effect outside of what the walk models is a
//! finding.

use crate::finding::{Findings, Kind};
use crate::image::Image;
use crate::memory::{Loaded, Target, low};
use crate::registers::{self, RBP, RSP, Slot};
use crate::state::{Compared, Origin, Side, State};
use crate::value::{Numbers, Region, Value};
use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
    UsedMemory,
};
use std::rc::Rc;

/// Where control goes after an instruction.
#[derive(Debug)]
pub(crate) enum Flow {
    Next,
    /// To the target if the condition holds, else on; `None`: either may happen.
    Branch(Option<ConditionCode>, u64),
    Jump(Value),
    Call(Value),
    Return,
    Stop,
}

/// One instruction on one state.
pub(crate) struct Step<'a> {
    pub image: &'a Image,
    pub state: &'a mut State,
    pub findings: &'a mut Findings,
    pub instruction: Instruction,
}

/// Whether it reads, and whether it writes what it names; conditional accesses do both.
fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn may_write(access: OpAccess) -> bool {
    matches!(access, OpAccess::CondWrite | OpAccess::ReadCondWrite)
}

/// An access to memory of this step.
struct Access {
    target: Option<Target>,
    size: usize,
    reads: bool,
    writes: bool,
    may_write: bool,
}

impl Step<'_> {
    pub(crate) fn found(&mut self, kind: Kind, detail: impl Into<String>) {
        self.findings.add(kind, self.instruction.ip(), detail);
    }

    pub(crate) fn execute(&mut self, factory: &mut InstructionInfoFactory) -> Flow {
        let instruction = self.instruction;
        if instruction.is_invalid() {
            self.found(Kind::NotUnderstood, "no instruction that is known");
            return Flow::Stop;
        }
        let info = factory.info(&instruction);
        let memory: Vec<UsedMemory> = info.used_memory().to_vec();
        if self.address_is_secret(&instruction, &memory) {
            let kind =
                if instruction.flow_control() == FlowControl::Next { "" } else { ", which tells where control goes," };
            self.found(Kind::Address, format!("the address{kind} depends on a secret"));
        }
        if let Some(flow) = self.control(&instruction) {
            return flow;
        }
        if self.stack(&instruction) || self.special(&instruction) {
            return Flow::Next;
        }
        let used: Vec<(Register, OpAccess)> =
            info.used_registers().iter().map(|used| (used.register(), used.access())).collect();
        self.costs(&instruction);
        for (register, _) in &used {
            if registers::slot(*register) == Slot::Unknown {
                self.found(Kind::NotUnderstood, format!("{register:?} is a register that the walk does not follow"));
            }
        }
        if instruction.fpu_stack_increment_info().writes_top() {
            self.found(Kind::NotUnderstood, "the walk does not follow the stack of the floating-point unit");
        }
        let accesses: Vec<Access> = memory.iter().map(|used| self.access(&instruction, used)).collect();
        let mut secret = instruction.rflags_read() & self.state.flags != 0;
        secret |= used.iter().any(|(register, access)| reads(*access) && self.state.secret(*register) != 0);
        for access in accesses.iter().filter(|access| access.reads) {
            secret |= self.load(access.target.as_ref(), access.size).secret != 0;
        }
        let result = self.evaluate(&instruction);
        // Of a register less itself, only the borrow is left.
        if let (Mnemonic::Sbb, Some(result)) = (instruction.mnemonic(), &result) {
            secret = result.secret != 0;
        }
        let flag_secret = match &result {
            // What depends on nothing sets flags that depend on nothing.
            Some(result) if self.depends_on_nothing(&instruction) => result.secret != 0,
            _ => secret,
        };
        let compared = self.compared(&instruction, result.as_ref());
        let implied = if secret { Vec::new() } else { self.implied(&instruction) };
        let destination = instruction.op0_register();
        for (register, access) in &used {
            if !writes(*access) {
                continue;
            }
            let is_result = instruction.op_count() > 0
                && instruction.op0_kind() == OpKind::Register
                && register.full_register() == destination.full_register();
            let bytes =
                if is_result && destination.is_vector_register() { destination.size() } else { register.size() };
            let mut what = match &result {
                Some(result) if is_result => result.clone(),
                _ => {
                    Loaded { lanes: None, secret: if secret { low(bytes) } else { 0 }, value: Value::ANY, known: None }
                }
            };
            if may_write(*access) && !(is_result && result.is_some()) {
                what.secret |= self.state.secret(*register);
            }
            // A register of 32 bits is reported as the one of 64 whose upper half it clears.
            let target = if is_result && destination.is_gpr() { destination } else { *register };
            self.state.write(target, &what);
        }
        for (register, value) in implied {
            self.state.write(register, &Loaded { lanes: None, secret: 0, value, known: None });
        }
        for access in accesses.iter().filter(|access| access.writes) {
            let Some(target) = &access.target else { continue };
            let is_result = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Memory;
            let mut what = match &result {
                Some(result) if is_result => result.clone(),
                _ => Loaded {
                    lanes: None,
                    secret: if secret { low(access.size) } else { 0 },
                    value: Value::any_of(access.size),
                    known: None,
                },
            };
            if access.may_write && !(is_result && result.is_some()) {
                let old = self.state.load(target, access.size, self.image);
                what = Loaded {
                    lanes: None,
                    secret: what.secret | old.secret,
                    value: Value::any_of(access.size),
                    known: None,
                };
            }
            if access.size < 8 && what.value.base.is_none() {
                let bits = u32::try_from(access.size * 8).unwrap_or(64);
                what.value = what.value.map(|numbers| numbers.truncate(bits));
            }
            self.state.store(target, access.size, &what, self.image);
        }
        self.flags(&instruction, flag_secret, compared);
        Flow::Next
    }

    fn flags(&mut self, instruction: &Instruction, secret: bool, compared: Option<Compared>) {
        let modified = instruction.rflags_modified();
        if modified == 0 {
            return;
        }
        let uncertain = instruction.rflags_undefined() | instruction.rflags_written();
        // A shift by a number of places that may be none leaves the flags alone.
        let kept =
            if shifts(instruction.mnemonic()) && instruction.op1_kind() == OpKind::Register { modified } else { 0 };
        self.state.flags &= !modified | kept;
        if secret {
            self.state.flags |= uncertain;
            self.state.flags_at = instruction.ip();
        }
        let told = RflagsBits::ZF | RflagsBits::CF | RflagsBits::SF | RflagsBits::OF;
        if modified & told != 0 {
            self.state.compared = compared.filter(|_| kept == 0 && !secret).map(Rc::new);
        }
    }

    fn address_is_secret(&self, instruction: &Instruction, memory: &[UsedMemory]) -> bool {
        let secret = |register: Register| register != Register::None && self.state.secret(register) != 0;
        // What is named without being read: a prefetch does touch it.
        let named = (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory)
            && !matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
        named && (secret(instruction.memory_base()) || secret(instruction.memory_index()))
            || memory.iter().any(|used| secret(used.base()) || secret(used.index()))
    }

    /// The address that a base, an index and a displacement make.
    fn address(&self, base: Register, index: Register, scale: i64, displacement: i64) -> Value {
        if matches!(base, Register::RIP | Register::EIP) {
            return Value::pointer(Region::Image, displacement);
        }
        let mut value = if base == Register::None { Value::number(0) } else { self.state.number(base) };
        if index != Register::None {
            let number = if index.is_gpr() { self.state.number(index) } else { Value::ANY };
            let scaled = if scale == 1 { number } else { number.map(|numbers| numbers.mul(&Numbers::One(scale))) };
            value = value.add(&scaled);
        }
        value.add(&Value::number(displacement))
    }

    /// The value that `lea` computes.
    pub(crate) fn named_address(&self, instruction: &Instruction) -> Value {
        let displacement = instruction.memory_displacement64().cast_signed();
        self.address(
            instruction.memory_base(),
            instruction.memory_index(),
            i64::from(instruction.memory_index_scale()),
            displacement,
        )
    }

    /// Where a pointer points; nothing if that is not known.
    pub(crate) fn resolve(&self, pointer: &Value) -> Option<Target> {
        match pointer.base {
            Some(region) => Some(Target { region, offsets: pointer.numbers.clone() }),
            None => {
                let (low, high) = pointer.numbers.bounds();
                let held = |at: i64| u64::try_from(at).is_ok_and(|at| self.image.holds(at));
                (held(low) && held(high)).then(|| Target { region: Region::Image, offsets: pointer.numbers.clone() })
            }
        }
    }

    fn access(&mut self, instruction: &Instruction, used: &UsedMemory) -> Access {
        let mut size = used.memory_size().size();
        let (mut reads, writes) = (reads(used.access()), writes(used.access()));
        let mut access = Access { target: None, size, reads, writes, may_write: may_write(used.access()) };
        if !reads && !writes {
            return access;
        }
        if size == 0 || size > 64 {
            self.found(Kind::NotUnderstood, "an access of a size that the walk does not know");
            size = size.clamp(1, 64);
            reads = true;
            access = Access { size, reads, ..access };
        }
        if matches!(used.segment(), Register::FS | Register::GS) {
            // What belongs to the thread, like the canary of the stack.
            if writes {
                self.found(Kind::NotUnderstood, "a store to what belongs to the thread");
            }
            access.reads = false;
            return access;
        }
        let displacement = used.displacement().cast_signed();
        let rip =
            instruction.is_ip_rel_memory_operand() && used.base() == Register::None && used.index() == Register::None;
        let base = if rip { Register::RIP } else { used.base() };
        let pointer = self.address(base, used.index(), i64::from(used.scale()), displacement);
        access.target = self.resolve(&pointer).or_else(|| {
            // An index of which nothing is known stays in the table that it indexes.
            let table = pointer.base.is_none() && used.displacement() != 0 && self.image.holds(used.displacement());
            table.then_some(Target { region: Region::Image, offsets: Numbers::Any })
        });
        if access.target.is_none() {
            self.found(Kind::NotUnderstood, "an access through a pointer of which nothing is known");
        }
        access
    }

    /// What an access brings; from a place of which nothing is known, a secret.
    fn load(&self, target: Option<&Target>, size: usize) -> Loaded {
        match target {
            Some(target) => self.state.load(target, size, self.image),
            None => Loaded { lanes: None, secret: low(size), value: Value::any_of(size), known: None },
        }
    }

    /// An operand as it is read.
    pub(crate) fn operand(&mut self, instruction: &Instruction, at: u32) -> Loaded {
        match instruction.op_kind(at) {
            OpKind::Register => {
                let register = instruction.op_register(at);
                Loaded {
                    lanes: self.state.lanes(register),
                    secret: self.state.secret(register),
                    value: self.state.number(register),
                    known: self.state.constant(register),
                }
            }
            OpKind::Memory => {
                let size = instruction.memory_size().size().clamp(1, 64);
                if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
                    return Loaded { lanes: None, secret: 0, value: Value::any_of(size), known: None };
                }
                let pointer = self.named_address(instruction);
                let target = self.resolve(&pointer).or_else(|| {
                    let table = pointer.base.is_none() && self.image.holds(instruction.memory_displacement64());
                    table.then_some(Target { region: Region::Image, offsets: Numbers::Any })
                });
                self.load(target.as_ref(), size)
            }
            _ => {
                let number = instruction.try_immediate(at).map_or(Value::ANY, |n| Value::number(n.cast_signed()));
                Loaded { lanes: None, secret: 0, value: number, known: None }
            }
        }
    }

    /// The number of bits that an operand has.
    pub(crate) fn bits(&self, instruction: &Instruction, at: u32) -> u32 {
        let bytes = match instruction.op_kind(at) {
            OpKind::Register => instruction.op_register(at).size(),
            OpKind::Memory => instruction.memory_size().size(),
            _ => 8,
        };
        u32::try_from(bytes * 8).unwrap_or(64).clamp(1, 512)
    }

    /// Jumps, calls and returns.
    fn control(&mut self, instruction: &Instruction) -> Option<Flow> {
        Some(match instruction.flow_control() {
            FlowControl::Next => return None,
            FlowControl::ConditionalBranch => {
                let flags = instruction.rflags_read() & self.state.flags != 0;
                // These read a counter as well.
                let counts = instruction.is_jcx_short() || instruction.is_loop() || instruction.is_loopcc();
                let counter = counts && self.state.secret(Register::RCX) != 0;
                if flags {
                    let by = self.state.flags_at;
                    self.found(Kind::Branch, format!("the flags, from {by:#x}, depend on a secret"));
                } else if counter {
                    self.found(Kind::Branch, "the counter depends on a secret");
                }
                if counts {
                    let secret = self.state.general[1].secret;
                    self.state.set(1, Value::ANY);
                    self.state.general[1].secret = secret;
                }
                let condition = (instruction.is_jcc_short_or_near() && !flags).then(|| instruction.condition_code());
                Flow::Branch(condition, instruction.near_branch_target())
            }
            FlowControl::UnconditionalBranch => {
                Flow::Jump(Value::pointer(Region::Image, instruction.near_branch_target().cast_signed()))
            }
            FlowControl::Call if instruction.op0_kind() == OpKind::NearBranch64 => {
                Flow::Call(Value::pointer(Region::Image, instruction.near_branch_target().cast_signed()))
            }
            FlowControl::IndirectBranch | FlowControl::IndirectCall => {
                let target = self.operand(instruction, 0);
                if target.secret != 0 {
                    self.found(Kind::IndirectJump, "the target depends on a secret");
                }
                if instruction.flow_control() == FlowControl::IndirectCall {
                    Flow::Call(target.value)
                } else {
                    Flow::Jump(target.value)
                }
            }
            FlowControl::Return => Flow::Return,
            FlowControl::Interrupt | FlowControl::Exception => Flow::Stop,
            _ => {
                self.found(Kind::NotUnderstood, "the walk cannot follow control here");
                Flow::Next
            }
        })
    }

    fn stack_target(&self, offset: i64) -> Option<Target> {
        self.resolve(&self.state.general[RSP].value.add(&Value::number(offset)))
    }

    /// What moves the stack pointer along with data.
    fn stack(&mut self, instruction: &Instruction) -> bool {
        let delta = i64::from(instruction.stack_pointer_increment());
        match instruction.mnemonic() {
            Mnemonic::Push if delta == -8 => {
                let what = self.operand(instruction, 0);
                match self.stack_target(delta) {
                    Some(target) => self.state.store(&target, 8, &what, self.image),
                    None => self.found(Kind::NotUnderstood, "nothing is known of the stack pointer"),
                }
            }
            Mnemonic::Pop if delta == 8 && instruction.op0_kind() == OpKind::Register => {
                let target = self.stack_target(0);
                let what = self.load(target.as_ref(), 8);
                self.state.write(instruction.op0_register(), &what);
            }
            Mnemonic::Leave => {
                let frame = self.state.general[RBP].value.clone();
                self.state.set(RSP, frame);
                let target = self.stack_target(0);
                let what = self.load(target.as_ref(), 8);
                self.state.write(Register::RBP, &what);
                let moved = self.state.general[RSP].value.add(&Value::number(8));
                self.state.set(RSP, moved);
                return true;
            }
            Mnemonic::Pushfq | Mnemonic::Popfq | Mnemonic::Enter => {
                self.found(Kind::NotUnderstood, "the walk does not follow this use of the stack");
                return false;
            }
            _ => return false,
        }
        let moved = self.state.general[RSP].value.add(&Value::number(delta));
        self.state.set(RSP, moved);
        true
    }

    /// Instructions whose effect the decoder's tables do not tell closely enough.
    fn special(&mut self, instruction: &Instruction) -> bool {
        match instruction.mnemonic() {
            Mnemonic::Vzeroupper | Mnemonic::Vzeroall => {
                let kept = if instruction.mnemonic() == Mnemonic::Vzeroall { 0 } else { low(16) };
                for vector in &mut self.state.vector[..16] {
                    vector.secret &= kept;
                    vector.known = vector.known.take().filter(|_| kept != 0).map(|(n, known)| (n.min(16), known));
                }
            }
            Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Xbegin => {
                self.found(Kind::NotUnderstood, "the walk does not follow what the system does");
            }
            _ if instruction.is_string_instruction() => self.string(instruction),
            _ => return false,
        }
        true
    }

    /// What takes as long as its operands want, and what touches memory where they say.
    fn costs(&mut self, instruction: &Instruction) {
        // The number of a bit reaches beyond the word that the operand names.
        let bits = matches!(instruction.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
        if bits && instruction.op0_kind() == OpKind::Memory && instruction.op1_kind() == OpKind::Register {
            let number = self.operand(instruction, 1);
            let word = i64::from(self.bits(instruction, 0));
            if number.secret != 0 {
                self.found(Kind::Address, "the number of the bit, which is a part of the address, depends on a secret");
            } else if number.value.numbers.bounds().0 < 0 || number.value.numbers.bounds().1 >= word {
                self.found(Kind::NotUnderstood, "a bit of memory whose number is not known");
            }
        }
        let secret = |step: &mut Self, registers: &[Register]| {
            registers.iter().any(|register| step.state.secret(*register) != 0)
                || (0..instruction.op_count()).any(|at| step.operand(instruction, at).secret != 0)
        };
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let found = match instruction.mnemonic() {
            Mnemonic::Div | Mnemonic::Idiv if secret(self, &[Register::RAX, Register::RDX]) => {
                Some((Kind::Division, "an operand of a division depends on a secret"))
            }
            Mnemonic::Div | Mnemonic::Idiv => None,
            // Microcode on AMD processors before Zen 3, with a step for each bit that is set.
            Mnemonic::Pdep | Mnemonic::Pext if secret(self, &[]) => {
                Some((Kind::VariableTime, "takes as long as its mask wants on some processors"))
            }
            _ if ["div", "sqrt"].iter().any(|part| name.contains(part)) && secret(self, &[]) => {
                Some((Kind::VariableTime, "takes as long as its operands want"))
            }
            _ => None,
        };
        if let Some((kind, detail)) = found {
            self.found(kind, detail);
        }
        let masked = instruction.has_op_mask() && self.state.secret(instruction.op_mask()) != 0;
        let old_masked = name.contains("maskmov") && self.operand(instruction, 1).secret != 0;
        let memory = (0..instruction.op_count()).any(|at| instruction.op_kind(at) == OpKind::Memory);
        if (masked && memory) || old_masked {
            self.found(Kind::MaskedAccess, "the mask, which tells what is touched in memory, depends on a secret");
        }
    }

    /// A number that is compared, and where it stands.
    pub(crate) fn side(&mut self, instruction: &Instruction, at: u32) -> Side {
        let bits = self.bits(instruction, at);
        let loaded = self.operand(instruction, at);
        let origin = match instruction.op_kind(at) {
            OpKind::Register => match registers::slot(instruction.op_register(at)) {
                // Only where the part that is compared is the whole number.
                Slot::General { index, from: 0, .. } if self.state.general[index].value == loaded.value => {
                    Some(Origin::Register(index))
                }
                Slot::General { index, from: 0, bytes: 4 } if self.state.general[index].value.base.is_none() => {
                    Some(Origin::Half(index))
                }
                _ => None,
            },
            OpKind::Memory => self
                .resolve(&self.named_address(instruction))
                .and_then(|target| Some(Origin::Memory(target.region, target.offsets.one()?, bits as usize / 8))),
            _ => None,
        };
        let value = if loaded.value.base.is_none() && bits < 64 {
            loaded.value.map(|numbers| numbers.truncate(bits))
        } else {
            loaded.value
        };
        Side { value, origin: origin.filter(|_| loaded.secret == 0) }
    }
}

pub(crate) fn shifts(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Shl
            | Mnemonic::Sal
            | Mnemonic::Shr
            | Mnemonic::Sar
            | Mnemonic::Rol
            | Mnemonic::Ror
            | Mnemonic::Rcl
            | Mnemonic::Rcr
            | Mnemonic::Shld
            | Mnemonic::Shrd
    )
}
