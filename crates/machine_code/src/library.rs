//! What is not walked: string instructions, and functions of the C library that are known by name.

use crate::finding::Kind;
use crate::memory::{Loaded, low};
use crate::registers::RSP;
use crate::state::backing;
use crate::step::Step;
use crate::value::{Numbers, Value};
use iced_x86::{Instruction, Mnemonic, Register};

const RAX: usize = 0;
const RCX: usize = 1;
const RSI: usize = 6;
const RDI: usize = 7;
/// A copy of more bytes than this does not keep apart which of them are secret.
const MOST: i64 = 1 << 24;

impl Step<'_> {
    pub(crate) fn string(&mut self, instruction: &Instruction) {
        use Mnemonic as M;
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let width = match instruction.mnemonic() {
            M::Movsb | M::Stosb | M::Cmpsb | M::Scasb | M::Lodsb => 1,
            M::Movsw | M::Stosw | M::Cmpsw | M::Scasw | M::Lodsw => 2,
            M::Movsd | M::Stosd | M::Cmpsd | M::Scasd | M::Lodsd => 4,
            M::Movsq | M::Stosq | M::Cmpsq | M::Scasq | M::Lodsq => 8,
            _ => {
                self.found(Kind::NotUnderstood, "the walk does not follow input and output");
                return;
            }
        };
        if repeated && self.state.secret(Register::RCX) != 0 {
            self.found(Kind::RepeatCount, "the count depends on a secret");
        }
        let count = if repeated { self.state.general[RCX].value.clone() } else { Value::number(1) };
        let n_bytes = count.map(|numbers| numbers.mul(&Numbers::One(width)));
        let (to, from) = (self.state.general[RDI].value.clone(), self.state.general[RSI].value.clone());
        let (moves_to, moves_from) = match instruction.mnemonic() {
            M::Movsb | M::Movsw | M::Movsd | M::Movsq => {
                self.copy(&to, &from, &n_bytes);
                (true, true)
            }
            M::Stosb | M::Stosw | M::Stosd | M::Stosq => {
                let secret = self.state.general[RAX].secret != 0;
                let zero = self.state.general[RAX].value == Value::number(0);
                self.fill(&to, secret, zero, &n_bytes);
                (true, false)
            }
            M::Lodsb | M::Lodsw | M::Lodsd | M::Lodsq => {
                let secret = self.any_secret(&from, &n_bytes) || self.state.general[RAX].secret != 0;
                self.state.set(RAX, Value::ANY);
                self.state.general[RAX].secret = if secret { 0xff } else { 0 };
                (false, true)
            }
            _ => {
                let compares = matches!(instruction.mnemonic(), M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq);
                let secret = self.any_secret(&to, &n_bytes)
                    || (compares && self.any_secret(&from, &n_bytes))
                    || (!compares && self.state.secret(Register::RAX) != 0);
                if secret && repeated {
                    self.found(Kind::VariableTime, "ends where secrets differ");
                }
                if secret {
                    self.state.flags |= instruction.rflags_written();
                    self.state.flags_at = instruction.ip();
                } else {
                    self.state.flags &= !instruction.rflags_written();
                }
                self.state.compared = None;
                for index in [RDI, RSI, RCX] {
                    let old = self.state.general[index].value.clone();
                    self.state.set(index, Value { base: old.base, numbers: Numbers::Any });
                    self.state.general[index].secret = if secret && repeated { 0xff } else { 0 };
                }
                return;
            }
        };
        for (index, moves) in [(RDI, moves_to), (RSI, moves_from)] {
            if moves {
                let moved = self.state.general[index].value.add(&n_bytes);
                self.state.set(index, moved);
            }
        }
        if repeated {
            self.state.set(RCX, Value::number(0));
        }
    }

    /// Copies as many bytes as there are, all of them read before any is written.
    fn copy(&mut self, to: &Value, from: &Value, n_bytes: &Value) {
        let (Some(target), Some(source)) = (self.resolve(to), self.resolve(from)) else {
            self.found(Kind::NotUnderstood, "a copy through a pointer of which nothing is known");
            return;
        };
        let exact = n_bytes.numbers.one().filter(|n| (0..=MOST).contains(n));
        if let (Some(n), Some(start), Some(first)) = (exact, target.offsets.one(), source.offsets.one()) {
            let mut pieces = Vec::new();
            let mut at = 0;
            while at < n {
                // Numbers keep what is known of them where they are copied whole.
                let piece = if n - at >= 8 && n <= 512 { 8 } else { (n - at).min(if n <= 512 { 8 } else { 64 }) };
                let size = usize::try_from(piece).unwrap_or(1);
                let image = backing(source.region, self.image);
                pieces.push((at, size, self.state.space(source.region).load(&Numbers::One(first + at), size, image)));
                at += piece;
            }
            for (at, size, what) in pieces {
                let image = backing(target.region, self.image);
                self.state.space_mut(target.region).store(&Numbers::One(start + at), size, &what, image);
            }
            self.state.forget_memory(&target, n);
            return;
        }
        let secret = self.any_secret(from, n_bytes);
        self.fill(to, secret, false, n_bytes);
    }

    /// Stores to some of these bytes, or to all when how many is known.
    fn fill(&mut self, to: &Value, secret: bool, zero: bool, n_bytes: &Value) {
        let Some(target) = self.resolve(to) else {
            self.found(Kind::NotUnderstood, "a store through a pointer of which nothing is known");
            return;
        };
        let image = backing(target.region, self.image);
        let exact = n_bytes.numbers.one().filter(|n| (0..=MOST).contains(n));
        self.state.forget_memory(&target, n_bytes.numbers.bounds().1.max(0));
        let space = self.state.space_mut(target.region);
        if let (Some(n), Some(start)) = (exact, target.offsets.one()) {
            let mut at = 0;
            while at < n {
                let piece = (n - at).min(64);
                let size = usize::try_from(piece).unwrap_or(1);
                let known = (zero && !secret).then(|| std::rc::Rc::new([0; 64]));
                let what = Loaded { lanes: None, secret: if secret { low(size) } else { 0 }, value: Value::ANY, known };
                space.store(&Numbers::One(start + at), size, &what, image);
                at += piece;
            }
            return;
        }
        let what = Loaded { lanes: None, secret: u64::from(secret), value: Value::ANY, known: None };
        let (low, high) = target.offsets.bounds();
        let most = n_bytes.numbers.bounds().1.max(0);
        let end = high.saturating_add(most);
        match end.saturating_sub(low) {
            0 => {}
            bytes if bytes > 1 << 20 => space.store(&Numbers::Any, 1, &what, image),
            _ => space.store_between(low, end, secret, image),
        }
    }

    /// Whether any of the bytes is secret.
    fn any_secret(&mut self, from: &Value, n_bytes: &Value) -> bool {
        let Some(source) = self.resolve(from) else {
            self.found(Kind::NotUnderstood, "a read through a pointer of which nothing is known");
            return true;
        };
        let most = n_bytes.numbers.bounds().1.max(0);
        if most == 0 {
            return false;
        }
        let (low, high) = source.offsets.bounds();
        let image = backing(source.region, self.image);
        let space = self.state.space(source.region);
        let last = high.saturating_add(most - 1);
        if last.saturating_sub(low) > 1 << 20 {
            return space.load(&Numbers::Any, 1, image).secret != 0;
        }
        (low..=last).step_by(64).any(|at| {
            let size = usize::try_from((last - at + 1).min(64)).unwrap_or(1);
            space.load(&Numbers::One(at), size, image).secret != 0
        })
    }

    /// Does what an imported function does; says whether it comes back.
    pub(crate) fn call_library(&mut self, name: &str) -> bool {
        let name = name.strip_prefix("__").and_then(|name| name.strip_suffix("_chk")).unwrap_or(name);
        let argument = |step: &Self, index: usize| step.state.general[index].value.clone();
        let (first, second, third) = (argument(self, RDI), argument(self, RSI), argument(self, 2));
        let n_arguments = match name {
            "memcpy" | "memmove" | "mempcpy" | "memset" | "memcmp" | "bcmp" => 3,
            "bzero" | "explicit_bzero" | "headrace_walk_secret" | "headrace_walk_public" => 2,
            _ => 0,
        };
        if [RDI, RSI, 2][..n_arguments].iter().any(|index| self.state.general[*index].secret != 0) && name != "memset" {
            self.found(Kind::LibraryCall, format!("an address or a length for {name} depends on a secret"));
        }
        let (mut result, mut result_is_secret) = (Value::ANY, false);
        match name {
            "memcpy" | "memmove" => {
                self.copy(&first, &second, &third);
                result = first;
            }
            "mempcpy" => {
                self.copy(&first, &second, &third);
                result = first.add(&third);
            }
            "memset" => {
                if [RDI, 2].iter().any(|index| self.state.general[*index].secret != 0) {
                    self.found(Kind::LibraryCall, "an address or a length for memset depends on a secret");
                }
                let zero = self.state.number(Register::SIL) == Value::number(0);
                self.fill(&first, self.state.general[RSI].secret != 0, zero, &third);
                result = first;
            }
            "bzero" | "explicit_bzero" => self.fill(&first, false, true, &second),
            "memcmp" | "bcmp" => {
                if self.any_secret(&first, &third) || self.any_secret(&second, &third) {
                    self.found(Kind::LibraryCall, format!("{name} ends where secrets differ"));
                    result_is_secret = true;
                }
            }
            "headrace_walk_secret" | "headrace_walk_public" => self.declare(&first, &second, name.ends_with("secret")),
            // What is printed is seen, so a secret must be declared public before.
            "printf" | "puts" | "putchar" => {
                if [RDI, RSI, 2, RCX, 8, 9].iter().any(|index| self.state.general[*index].secret != 0) {
                    self.found(Kind::LibraryCall, format!("{name} may print a secret"));
                }
            }
            "abort" | "exit" | "_exit" | "__stack_chk_fail" | "__assert_fail" | "stack_fail" => return false,
            _ => self.found(Kind::NotUnderstood, format!("the walk does not know what {name} does")),
        }
        for index in [RAX, RCX, 2, RSI, RDI, 8, 9, 10, 11] {
            self.state.set(index, Value::ANY);
        }
        self.state.set(RAX, result);
        self.state.general[RAX].secret = if result_is_secret { 0xff } else { 0 };
        self.state.flags = 0;
        self.state.compared = None;
        debug_assert!(self.state.general[RSP].secret == 0);
        true
    }

    /// What the program itself says of its data, in builds for the walk.
    fn declare(&mut self, start: &Value, n_bytes: &Value, secret: bool) {
        let exact = self.resolve(start).and_then(|target| Some((target.region, target.offsets.one()?)));
        match (exact, n_bytes.numbers.one()) {
            (Some((region, offset)), Some(n)) if (0..=1 << 24).contains(&n) => {
                let image = backing(region, self.image);
                self.state.space_mut(region).declare(offset, offset + n, secret, image);
            }
            _ => self.found(Kind::NotUnderstood, "it is not known which bytes are declared"),
        }
    }
}
