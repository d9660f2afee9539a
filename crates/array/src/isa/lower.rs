//! Instruction selection: values of any width to operations on words.
//!
//! A value is words, the lowest first, in two's complement where it may be negative. Operations that belong together (a sum
//! with its carries, the halves of a packed table word) are one group, whose instructions follow each other.

use super::Opcode;
use crate::values::{Id, Op, Values};
use headrace_ir::CompareOp;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A word: a number, or what is computed or comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Word {
    /// A number.
    Known(u64),
    /// A word by its position in [`Lowered::kinds`].
    Of(u32),
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The result of an instruction.
    Result,
    /// A pointer.
    Pointer,
    /// A flag.
    Flag,
    /// Comes in over a port.
    Input(u8),
    /// A word of memory that holds what is known when the machine is loaded, by its position among those.
    Parameter(u32),
}

/// An instruction before it has places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What is done.
    pub op: Opcode,
    /// The first operand; where `through` is set, the word that this pointer names.
    pub a: Word,
    /// The second operand.
    pub b: Word,
    /// The result: a word, a pointer or a flag.
    pub to: Option<u32>,
    /// Whether the first operand is what a pointer names.
    pub through: bool,
    /// The flag that decides whether it is carried out, and how it must be.
    pub condition: Option<(u32, bool)>,
    /// Links that the result goes to.
    pub links: u32,
}

/// Instructions that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The instructions.
    pub slots: Vec<Slot>,
}

/// A table in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packed {
    at: u32,
    element_bits: u32,
    /// Elements in a word, or 1.
    per_word: u32,
    /// Words of an element, or 1.
    words: u32,
    signed: bool,
    /// Where only bits that are not the same in all elements are kept: which, and what the others are.
    spread: Option<(u128, u128)>,
}

/// The bits of a number that a mask names, next to each other (parallel extraction).
fn gathered(number: u128, mask: u128) -> u128 {
    let places = (0..128).filter(|at| mask >> at & 1 == 1);
    places.enumerate().fold(0, |all, (to, from)| all | (number >> from & 1) << to)
}

/// Words of data memory that tables take.
pub fn table_words(values: &Values, tables: &BTreeSet<u32>, bits: u32) -> usize {
    let mut lowered = Lowered::new(bits);
    tables.iter().for_each(|&table| _ = lowered.packed(values, table));
    lowered.memory.len()
}

/// How tables are kept in data memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// An element a word: looking up takes the fewest instructions.
    Whole,
    /// Elements packed as powers of two allow.
    Packed,
    /// In as few words as can be, even if looking up takes longer.
    Least,
}

/// Words and instructions of a processor.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// Bits of a word.
    pub bits: u32,
    /// What each word is.
    pub kinds: Vec<Kind>,
    /// Instructions of the part that is being made.
    pub groups: Vec<Group>,
    /// Words of values, by message.
    pub known: HashMap<(u32, Id), Vec<Word>>,
    /// Memory from its beginning: tables.
    pub memory: Vec<u64>,
    /// Values of parameters.
    pub parameters: Vec<u64>,
    /// How tables are kept.
    pub room: Room,
    tables: HashMap<u32, Packed>,
    same: HashMap<(Opcode, Word, Word), Word>,
    /// How words of this part were made, as far as one instruction made them.
    made: HashMap<u32, (Opcode, Word, Word)>,
}

impl Lowered {
    /// Nothing yet.
    pub fn new(bits: u32) -> Self {
        Self {
            bits,
            kinds: Vec::new(),
            groups: Vec::new(),
            known: HashMap::new(),
            memory: Vec::new(),
            parameters: Vec::new(),
            room: Room::Packed,
            tables: HashMap::new(),
            same: HashMap::new(),
            made: HashMap::new(),
        }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// A new word.
    pub fn word(&mut self, kind: Kind) -> u32 {
        self.kinds.push(kind);
        (self.kinds.len() - 1) as u32
    }

    /// Begins another part: what it has in common with earlier ones is computed again.
    pub fn begin(&mut self) -> Vec<Group> {
        self.same.clear();
        self.made.clear();
        std::mem::take(&mut self.groups)
    }

    /// A parameter's word.
    pub fn parameter(&mut self, value: u64) -> Word {
        self.parameters.push(value);
        Word::Of(self.word(Kind::Parameter(self.parameters.len() as u32 - 1)))
    }

    fn slot(&mut self, op: Opcode, a: Word, b: Word, to: u32) -> Slot {
        Slot { op, a, b, to: Some(to), through: false, condition: None, links: 0 }
    }

    /// The result of an operation, simplified.
    fn operation(&mut self, op: Opcode, a: Word, b: Word) -> Word {
        let mask = self.mask();
        match (op, a, b) {
            (_, Word::Known(a), Word::Known(b)) => return Word::Known(op.apply(a, b, self.bits, &mut false)),
            (Opcode::And, Word::Known(0), _) | (Opcode::And, _, Word::Known(0)) => return Word::Known(0),
            (Opcode::And, it, Word::Known(ones)) | (Opcode::And, Word::Known(ones), it) if ones == mask => return it,
            (Opcode::Or | Opcode::Xor | Opcode::Add, it, Word::Known(0))
            | (Opcode::Or | Opcode::Xor | Opcode::Add, Word::Known(0), it)
            | (Opcode::Sub | Opcode::Shl | Opcode::Shr | Opcode::Asr, it, Word::Known(0)) => return it,
            (Opcode::Shl | Opcode::Shr, Word::Known(0), _) => return Word::Known(0),
            (Opcode::Shl | Opcode::Shr, _, Word::Known(by)) if by >= u64::from(self.bits) => return Word::Known(0),
            (Opcode::Mul, it, Word::Known(1)) | (Opcode::Mul, Word::Known(1), it) => return it,
            _ => {}
        }
        if let Some(&known) = self.same.get(&(op, a, b)) {
            return known;
        }
        let to = self.word(Kind::Result);
        let slot = self.slot(op, a, b, to);
        self.groups.push(Group { slots: vec![slot] });
        self.same.insert((op, a, b), Word::Of(to));
        self.made.insert(to, (op, a, b));
        Word::Of(to)
    }

    /// Bits of a word from bit `from` on, `width` of them (or all that are left), from what the word was made of where that
    /// saves instructions: an instruction that is left unused is removed.
    fn bits_of(&mut self, word: Word, from: u32, width: Option<u32>) -> (Word, u32, Option<u32>) {
        let Word::Of(at) = word else { return (word, from, width) };
        match self.made.get(&at).copied() {
            Some((Opcode::Shr, inner, Word::Known(by))) if u64::from(from) + by < u64::from(self.bits) => {
                let left = self.bits - by as u32 - from;
                let width = width.filter(|width| *width < left);
                self.bits_of(inner, from + by as u32, width)
            }
            Some((Opcode::And, inner, Word::Known(mask))) if mask.count_ones() == mask.trailing_ones() => {
                let ones = mask.count_ones();
                match ones.checked_sub(from) {
                    Some(left) if left > 0 => {
                        let width = Some(width.map_or(left, |width| width.min(left)));
                        self.bits_of(inner, from, width)
                    }
                    _ => (word, from, width),
                }
            }
            _ => (word, from, width),
        }
    }

    /// Removes instructions whose results nobody uses, neither here nor, of those that are kept, later.
    pub fn sweep(&mut self, kept_words: &BTreeSet<u32>) {
        let mut used = kept_words.clone();
        let mut kept = Vec::new();
        for group in std::mem::take(&mut self.groups).into_iter().rev() {
            let is_wanted =
                group.slots.iter().any(|slot| slot.links != 0 || slot.to.is_none_or(|to| used.contains(&to)));
            if is_wanted {
                for slot in &group.slots {
                    for word in [slot.a, slot.b] {
                        if let Word::Of(word) = word {
                            used.insert(word);
                        }
                    }
                    used.extend(slot.condition.map(|(flag, _)| flag));
                }
                kept.push(group);
            }
        }
        kept.reverse();
        self.groups = kept;
    }

    /// A chain of sums or differences with carries.
    fn chain(&mut self, first: Opcode, rest: Opcode, pairs: &[(Word, Word)]) -> Vec<Word> {
        let n_zero = pairs.iter().take_while(|(_, b)| *b == Word::Known(0)).count();
        // What nothing is added to stays as it is, and gives no carry.
        let mut all: Vec<Word> = pairs[..n_zero].iter().map(|(a, _)| *a).collect();
        if pairs.len() - n_zero == 1 {
            let (a, b) = pairs[n_zero];
            all.push(self.operation(first, a, b));
            return all;
        }
        let mut slots = Vec::new();
        for (at, &(a, b)) in pairs[n_zero..].iter().enumerate() {
            let to = self.word(Kind::Result);
            slots.push(self.slot(if at == 0 { first } else { rest }, a, b, to));
            all.push(Word::Of(to));
        }
        if !slots.is_empty() {
            self.groups.push(Group { slots });
        }
        all
    }

    /// Word `at` of a value of which these are the words; beyond them its sign.
    fn extended(&mut self, words: &[Word], signed: bool, at: usize) -> Word {
        match words.get(at) {
            Some(&word) => word,
            None if signed => {
                let top = words[words.len() - 1];
                let by = Word::Known(u64::from(self.bits - 1));
                self.operation(Opcode::Asr, top, by)
            }
            None => Word::Known(0),
        }
    }

    /// The words of a value, computed where they are not known.
    ///
    /// # Errors
    ///
    /// An operation has no instructions here.
    pub fn value(&mut self, values: &Values, message: u32, id: Id) -> Result<Vec<Word>, String> {
        let n = values.n_words(id, self.bits);
        if let Some(number) = values.constant(id) {
            return Ok((0..n as u32)
                .map(|at| Word::Known((number >> (at * self.bits)) as u64 & self.mask()))
                .collect());
        }
        if let Some(words) = self.known.get(&(message, id)) {
            return Ok(words.clone());
        }
        let words = self.compute(values, message, id, n)?;
        self.known.insert((message, id), words.clone());
        Ok(words)
    }

    fn compute(&mut self, values: &Values, message: u32, id: Id, n: usize) -> Result<Vec<Word>, String> {
        let node = values.node(id).clone();
        let mut args = Vec::new();
        for &arg in &node.args {
            args.push((self.value(values, message, arg)?, values.node(arg).low < 0));
        }
        let bitwise = |this: &mut Self, op: Opcode| -> Vec<Word> {
            (0..n)
                .map(|at| {
                    let a = this.extended(&args[0].0, args[0].1, at);
                    let b = this.extended(&args[1].0, args[1].1, at);
                    this.operation(op, a, b)
                })
                .collect()
        };
        let pairs = |this: &mut Self, a: &(Vec<Word>, bool), b: &(Vec<Word>, bool), n: usize| -> Vec<(Word, Word)> {
            (0..n).map(|at| (this.extended(&a.0, a.1, at), this.extended(&b.0, b.1, at))).collect()
        };
        let count = |at: usize| values.constant(node.args[at]).and_then(|it| u32::try_from(it).ok());
        Ok(match node.op {
            Op::And => bitwise(self, Opcode::And),
            Op::Or => bitwise(self, Opcode::Or),
            Op::Xor => bitwise(self, Opcode::Xor),
            Op::Complement => {
                let ones = Word::Known(self.mask());
                (0..n)
                    .map(|at| {
                        let a = self.extended(&args[0].0, args[0].1, at);
                        self.operation(Opcode::Xor, a, ones)
                    })
                    .collect()
            }
            Op::Add => {
                // Numbers last, so that zeros at the bottom are found.
                let swap = args[0].0.iter().all(|word| matches!(word, Word::Known(_)));
                let (a, b) = if swap { (&args[1], &args[0]) } else { (&args[0], &args[1]) };
                let pairs = pairs(self, a, b, n);
                self.chain(Opcode::Add, Opcode::Addc, &pairs)
            }
            Op::Sub => {
                let pairs = pairs(self, &args[0], &args[1], n);
                self.chain(Opcode::Sub, Opcode::Subb, &pairs)
            }
            Op::Negate => {
                let zero = (vec![Word::Known(0)], false);
                let pairs = pairs(self, &zero, &args[0], n);
                self.chain(Opcode::Sub, Opcode::Subb, &pairs)
            }
            Op::Mul => {
                let (a, b) = (&args[0], &args[1]);
                let bit = |at: usize| values.node(node.args[at]).low >= 0 && values.node(node.args[at]).high == 1;
                let power = |at: usize| {
                    values
                        .constant(node.args[at])
                        .filter(|by| *by > 0 && by.count_ones() == 1)
                        .map(i128::trailing_zeros)
                };
                if let Some(by) = power(1).or_else(|| power(0)) {
                    let other = if power(1).is_some() { a } else { b };
                    self.shift_left(other, by, n)
                } else if bit(0) || bit(1) {
                    // A bit chooses: no multiplier is needed.
                    let (bit, other) = if bit(0) { (a.0[0], b) } else { (b.0[0], a) };
                    let mask = self.operation(Opcode::Sub, Word::Known(0), bit);
                    (0..n)
                        .map(|at| {
                            let word = self.extended(&other.0, other.1, at);
                            self.operation(Opcode::And, word, mask)
                        })
                        .collect()
                } else if n == 1 {
                    vec![self.operation(Opcode::Mul, a.0[0], b.0[0])]
                } else if a.0.len() == 1 && b.0.len() == 1 && n == 2 && !a.1 && !b.1 {
                    [Opcode::Mul, Opcode::Mulh].map(|op| self.operation(op, a.0[0], b.0[0])).to_vec()
                } else {
                    return Err("a product of more than two words has no instructions here".into());
                }
            }
            Op::Div | Op::Mod => {
                let by = values.constant(node.args[1]).filter(|by| *by > 0 && by.count_ones() == 1);
                let by = by.filter(|_| values.node(node.args[0]).low >= 0);
                let by = by.ok_or("a division by what is no power of two has no instructions here")?.trailing_zeros();
                match node.op {
                    Op::Div => self.shift_right(&args[0], by, n),
                    _ => self.cut(&args[0], by, n),
                }
            }
            Op::ShiftRight => match count(1) {
                Some(by) => self.shift_right(&args[0], by, n),
                None if args[0].0.len() == 1 && args[1].0.len() == 1 => {
                    let op = if args[0].1 { Opcode::Asr } else { Opcode::Shr };
                    vec![self.operation(op, args[0].0[0], args[1].0[0])]
                }
                None => return Err("a shift of several words by what is not known has no instructions here".into()),
            },
            Op::ShiftLeft(ty) => match count(1) {
                Some(by) => {
                    let shifted = self.shift_left(&args[0], by, (ty.width.div_ceil(self.bits) as usize).max(n));
                    // What cannot have bits above the type needs no cutting.
                    let (from, to) = (values.node(node.args[0]), values.node(id));
                    let fits = from.low >= 0 && by < 64 && from.high.checked_mul(1 << by) == Some(to.high);
                    match fits {
                        true => shifted[..n].to_vec(),
                        false => self.wrapped(&(shifted, false), ty.width, ty.signed, n),
                    }
                }
                None if n == 1 && args[0].0.len() == 1 && args[1].0.len() == 1 => {
                    let mut shifted = vec![self.operation(Opcode::Shl, args[0].0[0], args[1].0[0])];
                    if args[1].1 {
                        // A negative count goes the other way.
                        let back = self.operation(Opcode::Sub, Word::Known(0), args[1].0[0]);
                        let op = if args[0].1 { Opcode::Asr } else { Opcode::Shr };
                        let right = self.operation(op, args[0].0[0], back);
                        let sign = Word::Known(u64::from(self.bits - 1));
                        let is_negative = self.operation(Opcode::Asr, args[1].0[0], sign);
                        let both = self.operation(Opcode::Xor, right, shifted[0]);
                        let chosen = self.operation(Opcode::And, both, is_negative);
                        shifted = vec![self.operation(Opcode::Xor, chosen, shifted[0])];
                    }
                    self.wrapped(&(shifted, false), ty.width, ty.signed, n)
                }
                None => return Err("a shift of several words by what is not known has no instructions here".into()),
            },
            Op::Wrap(ty) => self.wrapped(&args[0], ty.width, ty.signed, n),
            Op::Compare(how) => vec![self.compare(how, &args[0], &args[1])],
            Op::Select => {
                let condition = match (values.node(node.args[0]).low, values.node(node.args[0]).high) {
                    (0, 1) => args[0].0[0],
                    _ => {
                        let zero = (vec![Word::Known(0)], false);
                        self.compare(CompareOp::NotEqual, &args[0], &zero)
                    }
                };
                let mask = self.operation(Opcode::Sub, Word::Known(0), condition);
                (0..n)
                    .map(|at| {
                        let yes = self.extended(&args[1].0, args[1].1, at);
                        let no = self.extended(&args[2].0, args[2].1, at);
                        let both = self.operation(Opcode::Xor, yes, no);
                        let chosen = self.operation(Opcode::And, both, mask);
                        self.operation(Opcode::Xor, chosen, no)
                    })
                    .collect()
            }
            Op::Table(table) => self.look_up(values, table, args[0].0[0], n)?,
            Op::Input(..) | Op::Constant(_) => return Err("a word is needed that never comes".into()),
        })
    }

    fn shift_right(&mut self, a: &(Vec<Word>, bool), by: u32, n: usize) -> Vec<Word> {
        let (whole, part) = ((by / self.bits) as usize, by % self.bits);
        let n_own = a.0.len();
        (0..n)
            .map(|at| {
                let low = self.extended(&a.0, a.1, at + whole);
                if part == 0 {
                    return low;
                }
                let is_top = at + whole + 1 >= n_own;
                if is_top {
                    let op = if a.1 { Opcode::Asr } else { Opcode::Shr };
                    return self.operation(op, low, Word::Known(u64::from(part)));
                }
                let high = self.extended(&a.0, a.1, at + whole + 1);
                let low = self.operation(Opcode::Shr, low, Word::Known(u64::from(part)));
                let high = self.operation(Opcode::Shl, high, Word::Known(u64::from(self.bits - part)));
                self.operation(Opcode::Or, low, high)
            })
            .collect()
    }

    fn shift_left(&mut self, a: &(Vec<Word>, bool), by: u32, n: usize) -> Vec<Word> {
        let (whole, part) = ((by / self.bits) as usize, by % self.bits);
        (0..n)
            .map(|at| {
                let from = |this: &mut Self, back: usize| match at.checked_sub(whole + back) {
                    Some(at) => this.extended(&a.0, a.1, at),
                    None => Word::Known(0),
                };
                let high = from(self, 0);
                if part == 0 {
                    return high;
                }
                let low = from(self, 1);
                let high = self.operation(Opcode::Shl, high, Word::Known(u64::from(part)));
                let low = self.operation(Opcode::Shr, low, Word::Known(u64::from(self.bits - part)));
                self.operation(Opcode::Or, high, low)
            })
            .collect()
    }

    /// The lowest bits of a value.
    fn cut(&mut self, a: &(Vec<Word>, bool), width: u32, n: usize) -> Vec<Word> {
        (0..n)
            .map(|at| {
                let word = self.extended(&a.0, a.1, at);
                match width.saturating_sub(at as u32 * self.bits) {
                    0 => Word::Known(0),
                    left if left >= self.bits => word,
                    left => self.operation(Opcode::And, word, Word::Known((1 << left) - 1)),
                }
            })
            .collect()
    }

    /// A value cut to a type.
    fn wrapped(&mut self, a: &(Vec<Word>, bool), width: u32, signed: bool, n: usize) -> Vec<Word> {
        if !signed {
            return self.cut(a, width, n);
        }
        let n_type = width.div_ceil(self.bits) as usize;
        let mut words: Vec<Word> = (0..n_type).map(|at| self.extended(&a.0, a.1, at)).collect();
        let unused = (n_type as u32 * self.bits - width) as u64;
        if unused > 0 {
            let top = self.operation(Opcode::Shl, words[n_type - 1], Word::Known(unused));
            words[n_type - 1] = self.operation(Opcode::Asr, top, Word::Known(unused));
        }
        (0..n).map(|at| self.extended(&words, true, at)).collect()
    }

    fn compare(&mut self, how: CompareOp, a: &(Vec<Word>, bool), b: &(Vec<Word>, bool)) -> Word {
        let n = a.0.len().max(b.0.len()) + usize::from(a.1 != b.1);
        let one = Word::Known(1);
        match how {
            CompareOp::Equal | CompareOp::NotEqual => {
                let mut all = None;
                for at in 0..n {
                    let (a, b) = (self.extended(&a.0, a.1, at), self.extended(&b.0, b.1, at));
                    let equal = self.operation(Opcode::Eq, a, b);
                    all = Some(match all {
                        None => equal,
                        Some(all) => self.operation(Opcode::And, all, equal),
                    });
                }
                let equal = all.unwrap_or(one);
                if how == CompareOp::Equal { equal } else { self.operation(Opcode::Xor, equal, one) }
            }
            CompareOp::Greater => self.compare(CompareOp::Less, b, a),
            CompareOp::LessEqual => {
                let greater = self.compare(CompareOp::Less, b, a);
                self.operation(Opcode::Xor, greater, one)
            }
            CompareOp::GreaterEqual => {
                let less = self.compare(CompareOp::Less, a, b);
                self.operation(Opcode::Xor, less, one)
            }
            CompareOp::Less => {
                let mut pairs: Vec<(Word, Word)> =
                    (0..n).map(|at| (self.extended(&a.0, a.1, at), self.extended(&b.0, b.1, at))).collect();
                if a.1 || b.1 {
                    // With the signs turned over, order is that of numbers without signs.
                    let sign = Word::Known(1 << (self.bits - 1));
                    let (x, y) = pairs[n - 1];
                    pairs[n - 1] = (self.operation(Opcode::Xor, x, sign), self.operation(Opcode::Xor, y, sign));
                }
                if n == 1 {
                    return self.operation(Opcode::Lt, pairs[0].0, pairs[0].1);
                }
                // The borrow of the difference.
                let mut slots = Vec::new();
                for (at, &(x, y)) in pairs.iter().enumerate() {
                    let to = self.word(Kind::Result);
                    slots.push(self.slot(if at == 0 { Opcode::Sub } else { Opcode::Subb }, x, y, to));
                }
                let to = self.word(Kind::Result);
                slots.push(self.slot(Opcode::Subb, Word::Known(0), Word::Known(0), to));
                self.groups.push(Group { slots });
                self.operation(Opcode::And, Word::Of(to), one)
            }
        }
    }

    /// Puts a table to memory, elements packed as powers of two allow.
    fn packed(&mut self, values: &Values, table: u32) -> Packed {
        if let Some(&packed) = self.tables.get(&table) {
            return packed;
        }
        let elements = values.table(table);
        let signed = elements.iter().any(|element| *element < 0);
        let width = |value: i128| 128 - (if value < 0 { !value } else { value }).leading_zeros() + u32::from(signed);
        let wide = elements.iter().copied().map(width).max().unwrap_or(1).max(1);
        let element_bits = if signed { wide.div_ceil(self.bits) * self.bits } else { wide.next_power_of_two() };
        let at = self.memory.len() as u32;
        let mask = self.mask();
        // Bits that differ, and those that are set in all.
        let bits = |join: fn(u128, u128) -> u128| elements.iter().map(|it| *it as u128).reduce(join).unwrap_or(0);
        let (any, all) = (bits(|a, b| a | b), bits(|a, b| a & b));
        let dense_bits = (any & !all).count_ones().max(1).next_power_of_two();
        let spread = (self.room == Room::Least && !signed && dense_bits <= self.bits && dense_bits < element_bits)
            .then_some((any & !all, all));
        let (elements, element_bits, wide): (Vec<i128>, u32, u32) = match spread {
            Some((differ, _)) => {
                let dense = elements.iter().map(|&element| gathered(element as u128, differ) as i128);
                (dense.collect(), dense_bits, dense_bits)
            }
            None => (elements.to_vec(), element_bits, wide),
        };
        let packed = match self.bits.checked_div(element_bits) {
            Some(per_word @ 2..) if self.room != Room::Whole => {
                for chunk in elements.chunks(per_word as usize) {
                    let put = |word: u64, (at, element): (usize, &i128)| {
                        word | (*element as u64) << (at as u32 * element_bits)
                    };
                    self.memory.push(chunk.iter().enumerate().fold(0, put));
                }
                Packed { at, element_bits, per_word, words: 1, signed, spread }
            }
            _ => {
                let words = wide.div_ceil(self.bits);
                for element in &elements {
                    self.memory.extend((0..words).map(|word| (element >> (word * self.bits)) as u64 & mask));
                }
                Packed { at, element_bits: words * self.bits, per_word: 1, words, signed, spread }
            }
        };
        self.tables.insert(table, packed);
        packed
    }

    fn look_up(&mut self, values: &Values, table: u32, index: Word, n: usize) -> Result<Vec<Word>, String> {
        let packed = self.packed(values, table);
        let shift = packed.per_word.trailing_zeros();
        let mut all = Vec::new();
        for part in 0..(packed.words as usize).min(n) {
            // The pointer, in the fewest instructions.
            let base = Word::Known(u64::from(packed.at) + part as u64);
            let scaled = match packed.words {
                1 => index,
                words if words.is_power_of_two() => {
                    self.operation(Opcode::Shl, index, Word::Known(u64::from(words.trailing_zeros())))
                }
                words => self.operation(Opcode::Mul, index, Word::Known(u64::from(words))),
            };
            let pointer = self.word(Kind::Pointer);
            let (op, a, b) = match (shift, base) {
                (0, Word::Known(0)) => (Opcode::Mov, scaled, Word::Known(0)),
                (0, base) => (Opcode::Add, scaled, base),
                (shift, Word::Known(0)) => match self.bits_of(scaled, shift, None) {
                    (inner, from, None) => (Opcode::Shr, inner, Word::Known(u64::from(from))),
                    (inner, from, Some(width)) => {
                        let shifted = self.operation(Opcode::Shr, inner, Word::Known(u64::from(from)));
                        (Opcode::And, shifted, Word::Known((1 << width) - 1))
                    }
                },
                (shift, base) => {
                    (Opcode::Add, self.operation(Opcode::Shr, scaled, Word::Known(u64::from(shift))), base)
                }
            };
            let slot = self.slot(op, a, b, pointer);
            self.groups.push(Group { slots: vec![slot] });
            let read = |this: &mut Self| {
                let to = this.word(Kind::Result);
                let slot = this.slot(Opcode::Mov, Word::Of(pointer), Word::Known(0), to);
                this.groups.push(Group { slots: vec![Slot { through: true, ..slot }] });
                Word::Of(to)
            };
            let word = match packed.per_word {
                1 => read(self),
                2 => {
                    let flag = self.word(Kind::Flag);
                    let (inner, from, _) = self.bits_of(index, 0, Some(1));
                    let slot = self.slot(Opcode::And, inner, Word::Known(1 << from), flag);
                    self.groups.push(Group { slots: vec![slot] });
                    let whole = read(self);
                    let to = self.word(Kind::Result);
                    let high = self.slot(Opcode::Shr, whole, Word::Known(u64::from(packed.element_bits)), to);
                    let low = self.slot(Opcode::And, whole, Word::Known((1 << packed.element_bits) - 1), to);
                    self.groups.push(Group {
                        slots: vec![
                            Slot { condition: Some((flag, true)), ..high },
                            Slot { condition: Some((flag, false)), ..low },
                        ],
                    });
                    Word::Of(to)
                }
                per_word => {
                    let whole = read(self);
                    let place = self.operation(Opcode::And, index, Word::Known(u64::from(per_word - 1)));
                    let by = self.operation(
                        Opcode::Shl,
                        place,
                        Word::Known(u64::from(packed.element_bits.trailing_zeros())),
                    );
                    let shifted = self.operation(Opcode::Shr, whole, by);
                    self.operation(Opcode::And, shifted, Word::Known((1 << packed.element_bits) - 1))
                }
            };
            all.push(word);
        }
        if let Some((differ, fixed)) = packed.spread {
            all = self.spread(all[0], differ, fixed, n);
        }
        while all.len() < n {
            let word = self.extended(&all.clone(), packed.signed, all.len());
            all.push(word);
        }
        Ok(all)
    }

    /// Words of a value of which only bits that differ are known, next to each other: each goes to its place among those that are
    /// fixed. Bits that go equally far are moved together.
    fn spread(&mut self, dense: Word, differ: u128, fixed: u128, n: usize) -> Vec<Word> {
        let places: Vec<u32> = (0..128).filter(|at| differ >> at & 1 == 1).collect();
        (0..n as u32)
            .map(|at| {
                let begin = at * self.bits;
                let mut together: BTreeMap<i32, u64> = BTreeMap::new();
                for (from, &to) in places.iter().enumerate() {
                    if (begin..begin + self.bits).contains(&to) {
                        *together.entry((to - begin) as i32 - from as i32).or_default() |= 1 << from;
                    }
                }
                let mut word = Word::Known((fixed >> begin) as u64 & self.mask());
                for (by, mask) in together {
                    let own = self.operation(Opcode::And, dense, Word::Known(mask));
                    let how = if by < 0 { Opcode::Shr } else { Opcode::Shl };
                    let moved = self.operation(how, own, Word::Known(u64::from(by.unsigned_abs())));
                    word = self.operation(Opcode::Or, moved, word);
                }
                word
            })
            .collect()
    }
}
