//! Memory of the walk: for every byte of a region whether it is secret, and what public bytes are known to be.
//!
//! Regions are stored in pages that states share until one writes. A store at several possible places makes each of them hold
//! the old or the new; a store at a place of which nothing is known reaches the whole region.

use crate::image::Image;
use crate::value::{Numbers, Region, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

const PAGE: i64 = 64;
/// A store that may go to more bytes than this counts as one to the whole region.
const WIDEST: i64 = 1 << 20;

/// What is known of 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    /// One bit a byte.
    secret: u64,
    /// Which bytes are known, and what they are.
    known: u64,
    bytes: [u8; 64],
    /// Numbers that were stored whole: where, in how many bytes. They tell more than `bytes` when several are possible.
    values: Vec<(u8, u8, Value)>,
}

/// Where an access goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub region: Region,
    pub offsets: Numbers,
}

/// What a load brings: which bytes are secret (one bit a byte, as many as were asked for, at most 64), and the number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loaded {
    pub secret: u64,
    pub value: Value,
    /// All bytes, where they are known.
    pub known: Option<Rc<[u8; 64]>>,
    /// Every eight bytes as a number or a pointer, where more than eight are loaded and something is known of one.
    pub lanes: Option<Rc<[Value]>>,
}

/// One region.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    /// What bytes are that were never stored.
    secret: bool,
    zeroed: bool,
    /// What its beginning is a multiple of.
    pub alignment: i64,
    /// Every eight bytes are a pointer to the beginning of this.
    points_to: Option<Region>,
    pages: Rc<BTreeMap<i64, Rc<Page>>>,
}

/// The lowest `n` bits.
pub(crate) fn low(n: usize) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

impl Page {
    fn kill(&mut self, at: usize, size: usize) {
        self.values.retain(|(from, bytes, _)| {
            usize::from(*from) + usize::from(*bytes) <= at || at + size <= usize::from(*from)
        });
    }

    fn number(&self, at: usize, size: usize) -> Value {
        if let Some((.., value)) =
            self.values.iter().find(|(from, bytes, _)| usize::from(*from) == at && usize::from(*bytes) == size)
        {
            return value.clone();
        }
        self.constant(at, size).map_or_else(|| Value::any_of(size), Value::number)
    }

    fn constant(&self, at: usize, size: usize) -> Option<i64> {
        let wanted = low(size) << at;
        if at + size > 64 || self.known & wanted != wanted || size > 8 {
            return None;
        }
        let mut bytes = [0; 8];
        bytes.get_mut(..size)?.copy_from_slice(self.bytes.get(at..at + size)?);
        Some(i64::from_le_bytes(bytes))
    }

    fn join(&self, other: &Self, widen: bool) -> Self {
        let mut joined = self.clone();
        joined.secret |= other.secret;
        for at in 0..64 {
            if self.known & other.known & (1 << at) == 0 || self.bytes[at] != other.bytes[at] {
                joined.known &= !(1 << at);
                // One form for what is not known, so that equal pages compare equal.
                joined.bytes[at] = 0;
            }
        }
        joined.values.clear();
        for (at, size, _) in self.values.iter().chain(&other.values) {
            let (from, bytes) = (usize::from(*at), usize::from(*size));
            if joined.secret & (low(bytes) << from) != 0 {
                continue;
            }
            let (a, b) = (self.number(from, bytes), other.number(from, bytes));
            let value = if widen { a.widen(&b) } else { a.join(&b) };
            let overlaps = joined.values.iter().any(|(known, n, _)| {
                usize::from(*known) < from + bytes && from < usize::from(*known) + usize::from(*n)
            });
            if !overlaps && (value.base.is_some() || value != Value::any_of(bytes)) {
                joined.values.push((*at, *size, value));
            }
        }
        joined.values.sort_by_key(|(at, ..)| *at);
        joined
    }
}

impl Space {
    pub(crate) fn new(secret: bool, zeroed: bool) -> Self {
        Self { secret, zeroed, alignment: 1, points_to: None, pages: Rc::default() }
    }

    /// A region of pointers to the beginning of another.
    pub(crate) fn of_pointers(region: Region) -> Self {
        Self { points_to: Some(region), ..Self::new(false, false) }
    }

    /// A page that nothing was stored to.
    fn fresh(&self, index: i64, image: Option<&Image>) -> Page {
        let mut page = Page { secret: 0, known: 0, bytes: [0; 64], values: Vec::new() };
        if self.secret {
            page.secret = u64::MAX;
        } else if self.zeroed && image.is_none() {
            page.known = u64::MAX;
        }
        if let Some(region) = self.points_to {
            page.values = (0..8).map(|at| (at * 8, 8, Value::pointer(region, 0))).collect();
        }
        if let Some(image) = image {
            self.back(&mut page, index, image);
        }
        page
    }

    /// What the file holds there. Of variables that is what a program finds when it begins; a function that is called later
    /// finds anything.
    fn back(&self, page: &mut Page, index: i64, image: &Image) {
        let Ok(start) = u64::try_from(index * PAGE) else { return };
        for (at, bytes, writable) in image.overlapping(start, PAGE.cast_unsigned()) {
            if writable && (self.secret || !self.zeroed) {
                continue;
            }
            // Nothing of a section that ends where the page does.
            if bytes.is_empty() {
                continue;
            }
            let mask = low(bytes.len()) << at;
            page.secret &= !mask;
            page.known |= mask;
            page.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        }
        // Addresses are pointers into the image or to imports, not numbers.
        for address in image.pointers_between(start, start + PAGE.cast_unsigned()) {
            let at = usize::try_from(address - start).unwrap_or(0);
            if let Some(pointer) = page.constant(at, 8) {
                page.values.push((u8::try_from(at).unwrap_or(0), 8, Value::pointer(Region::Image, pointer)));
            }
        }
    }

    fn page(&self, index: i64, image: Option<&Image>) -> Rc<Page> {
        self.pages.get(&index).cloned().unwrap_or_else(|| Rc::new(self.fresh(index, image)))
    }

    fn page_mut(&mut self, index: i64, image: Option<&Image>) -> &mut Page {
        let fresh = if self.pages.contains_key(&index) { None } else { Some(self.fresh(index, image)) };
        let pages = Rc::make_mut(&mut self.pages);
        let page = pages.entry(index).or_default_with(fresh);
        Rc::make_mut(page)
    }

    pub(crate) fn load(&self, offsets: &Numbers, size: usize, image: Option<&Image>) -> Loaded {
        if let Some(list) = offsets.list() {
            let mut all: Option<Loaded> = None;
            for offset in list {
                let one = self.load_at(*offset, size, image);
                all = Some(match all {
                    None => one,
                    Some(before) => Loaded {
                        lanes: None,
                        secret: before.secret | one.secret,
                        value: before.value.join(&one.value),
                        known: None,
                    },
                });
            }
            if let Some(all) = all {
                return all;
            }
        }
        let (from, to) = offsets.bounds();
        let secret = if to.saturating_sub(from) > WIDEST {
            self.any_secret()
        } else {
            self.secret_between(from, to.saturating_add(size as i64), image)
        };
        let value = match self.points_to {
            Some(region) if self.pages.is_empty() && size == 8 => Value::pointer(region, 0),
            _ => Value::any_of(size),
        };
        Loaded { lanes: None, secret: if secret { low(size) } else { 0 }, value, known: None }
    }

    /// Whether anything in the region is secret.
    fn any_secret(&self) -> bool {
        self.secret || self.pages.values().any(|page| page.secret != 0)
    }

    fn secret_between(&self, from: i64, to: i64, image: Option<&Image>) -> bool {
        (from.div_euclid(PAGE)..=(to - 1).div_euclid(PAGE)).any(|index| {
            let start = index * PAGE;
            let first = usize::try_from(from - start).unwrap_or(0);
            let last = usize::try_from((to - start).min(PAGE)).unwrap_or(0);
            self.page(index, image).secret & (low(last) & !low(first)) != 0
        })
    }

    fn load_at(&self, offset: i64, size: usize, image: Option<&Image>) -> Loaded {
        let (index, at) = (offset.div_euclid(PAGE), usize::try_from(offset.rem_euclid(PAGE)).unwrap_or(0));
        let first = self.page(index, image);
        if at + size <= 64 {
            let secret = (first.secret >> at) & low(size);
            let value = if secret == 0 && size <= 8 { first.number(at, size) } else { Value::any_of(size) };
            let wanted = low(size) << at;
            let known = (secret == 0 && first.known & wanted == wanted).then(|| {
                let mut bytes = [0; 64];
                bytes[..size].copy_from_slice(&first.bytes[at..at + size]);
                Rc::new(bytes)
            });
            // Nothing stands in a page without values that its bytes do not tell.
            let lanes =
                (size > 8 && size.is_multiple_of(8) && known.is_none() && !first.values.is_empty()).then(|| {
                    let lane = |k: usize| if (secret >> k) & 0xff == 0 { first.number(at + k, 8) } else { Value::ANY };
                    (0..size).step_by(8).map(lane).collect()
                });
            return Loaded { lanes, secret, value, known };
        }
        let here = 64 - at;
        let second = self.load_at((index + 1) * PAGE, size - here, image);
        let head = self.load_at(offset, here, image);
        let known = head.known.zip(second.known).map(|(a, b)| {
            let mut bytes = [0; 64];
            bytes[..here].copy_from_slice(&a[..here]);
            bytes[here..size].copy_from_slice(&b[..size - here]);
            Rc::new(bytes)
        });
        let value = match &known {
            Some(bytes) if size <= 8 => {
                let mut number = [0; 8];
                number[..size].copy_from_slice(&bytes[..size]);
                Value::number(i64::from_le_bytes(number))
            }
            _ => Value::any_of(size),
        };
        Loaded { lanes: None, secret: head.secret | (second.secret << here), value, known }
    }

    /// Stores `size` bytes at every offset that is possible.
    pub(crate) fn store(&mut self, offsets: &Numbers, size: usize, what: &Loaded, image: Option<&Image>) {
        match offsets.list() {
            Some([offset]) => self.store_at(*offset, size, what, image),
            Some(list) => {
                for offset in list {
                    let old = self.load_at(*offset, size, image);
                    let both = Loaded {
                        lanes: None,
                        secret: old.secret | what.secret,
                        value: old.value.join(&what.value),
                        known: old.known.filter(|old| what.known.as_ref() == Some(old)),
                    };
                    self.store_at(*offset, size, &both, image);
                }
            }
            None => {
                let (from, to) = offsets.bounds();
                if to.saturating_sub(from) > WIDEST {
                    self.store_anywhere(what.secret != 0);
                } else {
                    self.store_between(from, to.saturating_add(size as i64), what.secret != 0, image);
                }
            }
        }
    }

    fn store_at(&mut self, offset: i64, size: usize, what: &Loaded, image: Option<&Image>) {
        if let (Some(lanes), None, true) = (&what.lanes, &what.known, size > 8 && size.is_multiple_of(8)) {
            for k in 0..size / 8 {
                let secret = (what.secret >> (8 * k)) & 0xff;
                let value = lanes.get(k).filter(|_| secret == 0).cloned().unwrap_or(Value::ANY);
                let one = Loaded { lanes: None, secret, value, known: None };
                self.store_at(offset + 8 * k as i64, 8, &one, image);
            }
            return;
        }
        let (index, at) = (offset.div_euclid(PAGE), usize::try_from(offset.rem_euclid(PAGE)).unwrap_or(0));
        let here = size.min(64 - at);
        let constant = match (&what.known, &what.value) {
            (Some(bytes), _) => Some(**bytes),
            (None, Value { base: None, numbers: Numbers::One(n) }) if size <= 8 => {
                let mut bytes = [0; 64];
                bytes[..8].copy_from_slice(&n.to_le_bytes());
                Some(bytes)
            }
            _ => None,
        };
        let page = self.page_mut(index, image);
        let mask = low(here) << at;
        page.secret = (page.secret & !mask) | ((what.secret << at) & mask);
        page.kill(at, here);
        for k in 0..here {
            let known = constant.filter(|_| what.secret & (1 << k) == 0);
            page.bytes[at + k] = known.map_or(0, |bytes| bytes[k]);
            page.known = (page.known & !(1 << (at + k))) | (u64::from(known.is_some()) << (at + k));
        }
        if here == size
            && size <= 8
            && what.secret == 0
            && what.value != Value::any_of(size)
            && what.value != Value::ANY
        {
            page.values.push((u8::try_from(at).unwrap_or(0), u8::try_from(size).unwrap_or(0), what.value.clone()));
            page.values.sort_by_key(|(at, ..)| *at);
        }
        if here < size {
            let rest = Loaded {
                lanes: None,
                secret: what.secret >> here,
                value: Value::ANY,
                known: constant.map(|bytes| {
                    let mut rest = [0; 64];
                    rest[..size - here].copy_from_slice(&bytes[here..size]);
                    Rc::new(rest)
                }),
            };
            self.store_at((index + 1) * PAGE, size - here, &rest, image);
        }
    }

    /// Something goes to a part of these bytes.
    pub(crate) fn store_between(&mut self, from: i64, to: i64, secret: bool, image: Option<&Image>) {
        for index in from.div_euclid(PAGE)..=(to - 1).div_euclid(PAGE) {
            let start = index * PAGE;
            let first = usize::try_from((from - start).max(0)).unwrap_or(0);
            let last = usize::try_from((to - start).min(PAGE)).unwrap_or(0);
            let mask = low(last) & !low(first);
            let page = self.page_mut(index, image);
            if secret {
                page.secret |= mask;
            }
            page.known &= !mask;
            for at in first..last {
                page.bytes[at] = 0;
            }
            page.kill(first, last - first);
        }
    }

    /// Something goes to a part of the region of which nothing is known.
    fn store_anywhere(&mut self, secret: bool) {
        self.secret |= secret;
        self.zeroed = false;
        self.points_to = None;
        for page in Rc::make_mut(&mut self.pages).values_mut() {
            let page = Rc::make_mut(page);
            if secret {
                page.secret = u64::MAX;
            }
            page.known = 0;
            page.bytes = [0; 64];
            page.values.clear();
        }
    }

    /// Declares bytes secret or public; what they were known to be is forgotten.
    pub(crate) fn declare(&mut self, from: i64, to: i64, secret: bool, image: Option<&Image>) {
        if from >= to {
            return;
        }
        self.store_between(from, to, secret, image);
        if !secret {
            for index in from.div_euclid(PAGE)..=(to - 1).div_euclid(PAGE) {
                let start = index * PAGE;
                let first = usize::try_from((from - start).max(0)).unwrap_or(0);
                let last = usize::try_from((to - start).min(PAGE)).unwrap_or(0);
                self.page_mut(index, image).secret &= !(low(last) & !low(first));
            }
        }
    }

    /// Takes in what another state holds; says whether that added anything.
    pub(crate) fn join(&mut self, other: &Self, widen: bool, image: Option<&Image>) -> bool {
        if Rc::ptr_eq(&self.pages, &other.pages) && self.secret == other.secret && self.zeroed == other.zeroed {
            return false;
        }
        let mut changed = false;
        let indices: Vec<i64> = self.pages.keys().chain(other.pages.keys()).copied().collect();
        for index in indices {
            let (mine, theirs) = (self.page(index, image), other.page(index, image));
            if Rc::ptr_eq(&mine, &theirs) || mine == theirs {
                continue;
            }
            let joined = mine.join(&theirs, widen);
            if joined != *mine || !self.pages.contains_key(&index) {
                changed |= joined != *mine;
                Rc::make_mut(&mut self.pages).insert(index, Rc::new(joined));
            }
        }
        let (secret, zeroed) = (self.secret || other.secret, self.zeroed && other.zeroed);
        changed |= secret != self.secret || zeroed != self.zeroed;
        (self.secret, self.zeroed) = (secret, zeroed);
        changed
    }
}

/// Creates an entry from something that is there when the entry is not.
trait OrDefaultWith<'a, V> {
    fn or_default_with(self, fresh: Option<V>) -> &'a mut Rc<V>;
}

impl<'a> OrDefaultWith<'a, Page> for std::collections::btree_map::Entry<'a, i64, Rc<Page>> {
    fn or_default_with(self, fresh: Option<Page>) -> &'a mut Rc<Page> {
        self.or_insert_with(|| {
            Rc::new(fresh.unwrap_or(Page { secret: u64::MAX, known: 0, bytes: [0; 64], values: Vec::new() }))
        })
    }
}
