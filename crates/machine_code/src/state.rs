//! Abstract state of the taint analysis: the machine's state at one place of the walk.

use crate::image::Image;
use crate::memory::{Loaded, Space, Target, low};
use crate::registers::{self, Slot};
use crate::value::{Numbers, Region, Relation, Value};
use iced_x86::{ConditionCode, Register};
use std::rc::Rc;

/// A general register: which of its bytes are secret, and its 64 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct General {
    pub secret: u8,
    pub value: Value,
    /// What its lowest bytes are, so many, where nothing is known of the others.
    pub low: Option<(usize, Numbers)>,
}

impl General {
    /// What is known of the lowest bytes.
    fn lowest(&self, bytes: usize) -> Option<Numbers> {
        let bits = u32::try_from(bytes * 8).unwrap_or(64);
        let whole = self.value.base.is_none() && self.value.numbers != Numbers::Any;
        match &self.low {
            Some((n, numbers)) if *n >= bytes => Some(numbers.truncate(bits)),
            _ => whole.then(|| self.value.numbers.truncate(bits)),
        }
    }
}

/// A vector register: which of its bytes are secret, and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vector {
    pub secret: u64,
    /// What the lowest bytes are, and how many of them that tells.
    pub known: Option<(usize, Rc<[u8; 64]>)>,
    /// Every eight bytes as a number or a pointer, from the lowest on.
    pub lanes: Option<Rc<[Value]>>,
}

/// Where a compared number stands, so that a branch can tell more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Register(usize),
    /// The lower half of one.
    Half(usize),
    Memory(Region, i64, usize),
}

/// A compared number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub value: Value,
    pub origin: Option<Origin>,
}

/// What the flags come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compared {
    pub bits: u32,
    /// The flags are those of the first less the second.
    pub sides: Option<(Side, Side)>,
    /// The zero flag and the sign flag are those of this.
    pub result: Option<Side>,
}

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub general: [General; 16],
    pub vector: [Vector; 32],
    pub mask: [General; 8],
    pub media: [bool; 8],
    /// Which flags are secret, in iced's bits.
    pub flags: u32,
    /// The instruction that last wrote a secret to a flag.
    pub flags_at: u64,
    pub compared: Option<Rc<Compared>>,
    pub stack: Space,
    pub image: Space,
    pub given: Vec<Space>,
}

/// What one outcome of a condition tells.
#[derive(Default)]
pub(crate) struct Learnt {
    sides: Vec<(Origin, Value)>,
    /// A number that was one of few is now one of fewer.
    pub shrunk: bool,
}

impl State {
    pub(crate) fn new(given: Vec<Space>) -> Self {
        let general = General { secret: 0, value: Value::ANY, low: None };
        Self {
            general: std::array::from_fn(|_| general.clone()),
            vector: std::array::from_fn(|_| Vector { secret: 0, known: None, lanes: None }),
            mask: std::array::from_fn(|_| general.clone()),
            media: [false; 8],
            flags: 0,
            flags_at: 0,
            compared: None,
            stack: Space::new(false, false),
            image: Space::new(false, false),
            given,
        }
    }

    /// Which bytes of a register are secret, from its first byte on.
    pub(crate) fn secret(&self, register: Register) -> u64 {
        match registers::slot(register) {
            Slot::General { index, from, bytes } => (u64::from(self.general[index].secret) >> from) & low(bytes),
            Slot::Vector { index, bytes } => self.vector[index].secret & low(bytes),
            Slot::Mask(index) => u64::from(self.mask[index].secret != 0) * low(8),
            Slot::Media(index) => u64::from(self.media[index]) * low(8),
            Slot::Public | Slot::Unknown => 0,
        }
    }

    /// What is known of the lowest bytes of a vector register.
    pub(crate) fn constant(&self, register: Register) -> Option<Rc<[u8; 64]>> {
        let Slot::Vector { index, bytes } = registers::slot(register) else { return None };
        let (n_bytes, known) = self.vector[index].known.as_ref()?;
        (*n_bytes >= bytes && self.secret(register) == 0).then(|| Rc::clone(known))
    }

    /// Eight bytes of a vector register as a number or a pointer.
    fn lane(&self, index: usize, at: usize) -> Value {
        let vector = &self.vector[index];
        if (vector.secret >> (8 * at)) & 0xff != 0 {
            return Value::ANY;
        }
        let known = vector.known.as_ref().filter(|(bytes, _)| 8 * at + 8 <= *bytes);
        if let Some((_, bytes)) = known {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[8 * at..8 * at + 8]);
            return Value::number(i64::from_le_bytes(number));
        }
        vector.lanes.as_ref().and_then(|lanes| lanes.get(at).cloned()).unwrap_or(Value::ANY)
    }

    /// All lanes of a vector register, where something is known of one.
    pub(crate) fn lanes(&self, register: Register) -> Option<Rc<[Value]>> {
        let Slot::Vector { index, bytes } = registers::slot(register) else { return None };
        let lanes: Rc<[Value]> = (0..bytes / 8).map(|at| self.lane(index, at)).collect();
        lanes.iter().any(|lane| *lane != Value::ANY).then_some(lanes)
    }

    /// The number in a general register of any width.
    pub(crate) fn number(&self, register: Register) -> Value {
        match registers::slot(register) {
            Slot::General { index, from: 0, bytes: 8 } => self.general[index].value.clone(),
            Slot::General { index, from, bytes } => {
                let by = u32::try_from(from * 8).unwrap_or(0);
                let value = &self.general[index].value;
                if let (Some(low), 0, 0) = (self.general[index].lowest(bytes), from, self.secret(register)) {
                    return Value::of(low);
                }
                if value.base.is_some() || self.secret(register) != 0 {
                    return Value::any_of(bytes);
                }
                value.map(|numbers| numbers.shr(by).truncate(u32::try_from(bytes * 8).unwrap_or(64)))
            }
            Slot::Vector { index, .. } => match &self.vector[index].known {
                Some((8.., bytes)) if self.vector[index].secret & 0xff == 0 => {
                    let mut number = [0; 8];
                    number.copy_from_slice(&bytes[..8]);
                    Value::number(i64::from_le_bytes(number))
                }
                _ => self.lane(index, 0),
            },
            Slot::Mask(index) => self.mask[index].value.clone(),
            _ => Value::ANY,
        }
    }

    /// Writes a register as the architecture does: 32 bits clear the upper half, fewer keep the rest.
    pub(crate) fn write(&mut self, register: Register, what: &Loaded) {
        match registers::slot(register) {
            Slot::General { index, from, bytes } => {
                self.forget_origin(index);
                let whole = bytes >= 4;
                let old = &self.general[index];
                let mask = low(bytes) as u8;
                let secret = what.secret as u8 & mask;
                let kept = if whole { 0 } else { old.secret & !(mask << from) };
                let secret = kept | (secret << from);
                let value = if secret != 0 {
                    Value { base: what.value.base.filter(|_| bytes == 8), numbers: Numbers::Any }
                } else if bytes == 8 {
                    what.value.clone()
                } else {
                    let bits = u32::try_from(bytes * 8).unwrap_or(64);
                    let part = what.value.map(|numbers| numbers.truncate(bits));
                    let part = if what.value.base.is_some() { Value::any_of(bytes) } else { part };
                    if whole {
                        part
                    } else if let (Some(old), Some(new), None) =
                        (old.value.numbers.one(), part.numbers.one(), old.value.base)
                    {
                        let mask = i64::try_from(low(8 * bytes)).unwrap_or(0) << (8 * from);
                        Value::number((old & !mask) | (new << (8 * from)))
                    } else if from == 0 && old.value.base.is_none() && old.value.numbers.bounds().0 >= 0 {
                        // What stood above stays as large as it was.
                        let above = old.value.numbers.shr(bits).shl(bits);
                        Value::of(above.or_like(&part.numbers, |a, b| a | b))
                    } else {
                        Value::ANY
                    }
                };
                let part = (bytes < 4 && from == 0 && secret == 0 && value == Value::ANY && what.value.base.is_none())
                    .then(|| (bytes, what.value.numbers.truncate(u32::try_from(bytes * 8).unwrap_or(64))));
                self.general[index] = General { secret, value, low: part };
            }
            Slot::Vector { index, bytes } => {
                let mask = low(bytes);
                let old = &self.vector[index];
                let secret = (old.secret & !mask) | (what.secret & mask);
                let known = what.known.clone().filter(|_| what.secret == 0).map(|known| (bytes, known));
                let number = (what.value != Value::ANY && bytes >= 8).then(|| Rc::from([what.value.clone()]));
                let lanes = what.lanes.clone().or(number).filter(|_| known.is_none());
                self.vector[index] = Vector { secret, known, lanes };
            }
            Slot::Mask(index) => {
                let (secret, value) = if what.secret != 0 { (0xff, Value::ANY) } else { (0, what.value.clone()) };
                self.mask[index] = General { secret, value, low: None };
            }
            Slot::Media(index) => self.media[index] = what.secret != 0,
            Slot::Public | Slot::Unknown => {}
        }
    }

    pub(crate) fn set(&mut self, index: usize, value: Value) {
        self.forget_origin(index);
        self.general[index] = General { secret: 0, value, low: None };
    }

    fn forget_origin(&mut self, index: usize) {
        self.forget(|origin| matches!(origin, Origin::Register(other) | Origin::Half(other) if other == index));
    }

    fn forget(&mut self, gone: impl Fn(Origin) -> bool) {
        let Some(compared) = &mut self.compared else { return };
        let stale = |side: &Side| side.origin.is_some_and(&gone);
        if compared.result.as_ref().is_some_and(stale)
            || compared.sides.as_ref().is_some_and(|(a, b)| stale(a) || stale(b))
        {
            let compared = Rc::make_mut(compared);
            let sides = compared.sides.iter_mut().flat_map(|(a, b)| [a, b]);
            for side in compared.result.iter_mut().chain(sides) {
                side.origin = side.origin.filter(|origin| !gone(*origin));
            }
        }
    }

    /// What the beginning of a region is a multiple of.
    pub(crate) fn alignment(&self, region: Region) -> i64 {
        match region {
            // Where the stack lies is up to us: as well as it can be aligned. What is left out below is never used.
            Region::Stack => 1 << 16,
            // Offsets are addresses.
            Region::Image => i64::MAX,
            Region::Given(index) => self.given[index].alignment,
        }
    }

    pub(crate) fn space(&self, region: Region) -> &Space {
        match region {
            Region::Stack => &self.stack,
            Region::Image => &self.image,
            Region::Given(index) => &self.given[index],
        }
    }

    pub(crate) fn space_mut(&mut self, region: Region) -> &mut Space {
        match region {
            Region::Stack => &mut self.stack,
            Region::Image => &mut self.image,
            Region::Given(index) => &mut self.given[index],
        }
    }

    pub(crate) fn load(&self, target: &Target, size: usize, image: &Image) -> Loaded {
        self.space(target.region).load(&target.offsets, size, backing(target.region, image))
    }

    pub(crate) fn store(&mut self, target: &Target, size: usize, what: &Loaded, image: &Image) {
        self.forget_memory(target, size as i64);
        self.space_mut(target.region).store(&target.offsets, size, what, backing(target.region, image));
    }

    /// Compared numbers that may lie there count as changed.
    pub(crate) fn forget_memory(&mut self, target: &Target, size: i64) {
        let (from, to) = target.offsets.bounds();
        let region = target.region;
        self.forget(|origin| match origin {
            Origin::Memory(other, at, bytes) => {
                other == region && from < at.saturating_add(bytes as i64) && at < to.saturating_add(size)
            }
            Origin::Register(_) | Origin::Half(_) => false,
        });
    }

    /// Takes in another state; says whether that added anything.
    pub(crate) fn join(&mut self, other: &Self, widen: bool, image: &Image) -> bool {
        let mut changed = false;
        let masks = self.mask.iter_mut().zip(&other.mask);
        for (mine, theirs) in self.general.iter_mut().zip(&other.general).chain(masks) {
            if mine == theirs {
                continue;
            }
            let secret = mine.secret | theirs.secret;
            let value = if widen { mine.value.widen(&theirs.value) } else { mine.value.join(&theirs.value) };
            let known = |one: &General| match (&one.low, &one.value) {
                (Some((bytes, _)), _) => *bytes,
                (None, Value { base: None, numbers: Numbers::Any }) => 0,
                (None, Value { base: None, .. }) => 8,
                _ => 0,
            };
            let bytes = known(mine).min(known(theirs)).min(4);
            let low = match (mine.lowest(bytes), theirs.lowest(bytes)) {
                (Some(a), Some(b)) if secret == 0 && value == Value::ANY && bytes > 0 => {
                    Some((bytes, if widen { a.widen(&b) } else { a.join(&b) }))
                }
                _ => None,
            };
            let joined = General { secret, value, low };
            changed |= joined != *mine;
            *mine = joined;
        }
        for (mine, theirs) in self.vector.iter_mut().zip(&other.vector) {
            let joined = Vector {
                secret: mine.secret | theirs.secret,
                known: mine.known.clone().filter(|known| theirs.known.as_ref() == Some(known)),
                lanes: mine.lanes.clone().filter(|lanes| theirs.lanes.as_ref() == Some(lanes)),
            };
            changed |= joined != *mine;
            *mine = joined;
        }
        for (mine, theirs) in self.media.iter_mut().zip(&other.media) {
            changed |= !*mine && *theirs;
            *mine |= theirs;
        }
        changed |= self.flags | other.flags != self.flags;
        if self.flags == 0 {
            self.flags_at = other.flags_at;
        }
        self.flags |= other.flags;
        if self.compared != other.compared && self.compared.is_some() {
            self.compared = None;
            changed = true;
        }
        changed |= self.stack.join(&other.stack, widen, None);
        changed |= self.image.join(&other.image, widen, Some(image));
        for (mine, theirs) in self.given.iter_mut().zip(&other.given) {
            changed |= mine.join(theirs, widen, None);
        }
        changed
    }

    /// What is learnt where a condition holds, or does not; nothing where that cannot be.
    pub(crate) fn assume(&self, condition: ConditionCode, holds: bool) -> Option<Learnt> {
        let nothing = Learnt::default();
        let Some(compared) = &self.compared else { return Some(nothing) };
        let Some((relation, signed, by_result)) = relation(condition) else { return Some(nothing) };
        let relation = if holds { relation } else { relation.negated() };
        let zero = Side { value: Value::number(0), origin: None };
        let (a, b) = match (&compared.sides, &compared.result) {
            (_, Some(result)) if by_result && (result.origin.is_some() || compared.sides.is_none()) => (result, &zero),
            (Some((a, b)), _) if !matches!(condition, ConditionCode::s | ConditionCode::ns) => (a, b),
            (_, Some(result)) if by_result => (result, &zero),
            _ => return Some(nothing),
        };
        let (kept_a, kept_b) = Value::compared(relation, &a.value, &b.value, compared.bits, signed)?;
        let mut learnt = nothing;
        for (side, value) in [(a, kept_a), (b, kept_b)] {
            if value != side.value {
                learnt.shrunk |= side.value.numbers.list().is_some();
                learnt.sides.extend(side.origin.map(|origin| (origin, value)));
            }
        }
        Some(learnt)
    }

    /// Takes over what was learnt.
    pub(crate) fn learn(&mut self, learnt: Learnt, image: &Image) {
        for (origin, value) in learnt.sides {
            match origin {
                Origin::Register(index) => self.general[index].value = value,
                Origin::Half(index) => self.general[index].low = Some((4, value.numbers)),
                Origin::Memory(region, offset, size) => {
                    let what = Loaded { lanes: None, secret: 0, value, known: None };
                    self.space_mut(region).store(&Numbers::One(offset), size, &what, backing(region, image));
                }
            }
        }
    }
}

/// The bytes behind a region that nothing was stored to.
pub(crate) fn backing(region: Region, image: &Image) -> Option<&Image> {
    (region == Region::Image).then_some(image)
}

/// What a condition says of compared numbers, whether it reads them with a sign, and whether the result alone tells.
fn relation(condition: ConditionCode) -> Option<(Relation, bool, bool)> {
    Some(match condition {
        ConditionCode::e => (Relation::Equal, false, true),
        ConditionCode::ne => (Relation::NotEqual, false, true),
        ConditionCode::b => (Relation::Less, false, false),
        ConditionCode::ae => (Relation::GreaterEqual, false, false),
        ConditionCode::be => (Relation::LessEqual, false, false),
        ConditionCode::a => (Relation::Greater, false, false),
        ConditionCode::l => (Relation::Less, true, false),
        ConditionCode::ge => (Relation::GreaterEqual, true, false),
        ConditionCode::le => (Relation::LessEqual, true, false),
        ConditionCode::g => (Relation::Greater, true, false),
        ConditionCode::s => (Relation::Less, true, true),
        ConditionCode::ns => (Relation::GreaterEqual, true, true),
        _ => return None,
    })
}
