//! Places: which bits of which signal, or which word of which memory, with indices that stay within.

use crate::code::{Code, Home, Storage};
use crate::step::Step;
use headrace_ir::{self as ir, Int};
use headrace_rtl::{BinaryOp, CompareOp, Expr, index_bits};

/// A place: a home and the first of the elements that are meant.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) home: Home,
    /// The element, in as many bits as an index of the home has.
    pub(crate) at: Expr,
}

impl Home {
    /// Bits of an index of an element.
    pub(crate) fn index_width(&self) -> u32 {
        index_bits(u64::from(self.len)).max(1)
    }
}

/// A product with a constant, as wiring where it is one.
pub(crate) fn times(value: Expr, factor: u64) -> Expr {
    let width = value.width;
    if factor == 1 {
        return value;
    }
    if factor.is_power_of_two() && value.value().is_none() {
        let bits = factor.trailing_zeros();
        return if bits >= width {
            Expr::number(width, 0)
        } else {
            Expr::concat(vec![value.slice(0, width - bits), Expr::number(bits, 0)])
        };
    }
    Expr::binary(BinaryOp::Mul, value, Expr::number(width, factor))
}

impl Location {
    /// The first bit of an element, in as many bits as that takes.
    pub(crate) fn bit(&self) -> Expr {
        let width = index_bits(u64::from(self.home.len) * u64::from(self.home.width)).max(1);
        times(self.at.clone().resized(false, width), u64::from(self.home.width))
    }

    /// The place of the element that lies so many behind it.
    pub(crate) fn behind(&self, elements: Expr) -> Location {
        let width = self.home.index_width();
        Location { home: self.home.clone(), at: self.at.clone().plus(elements.resized(false, width)) }
    }
}

impl<'a> Code<'a> {
    /// An index that is below the size, in so many bits: the value where it is, and something else within where not.
    fn index(&mut self, index: &ir::Expr, size: u32, width: u32) -> Expr {
        let node = self.node(index);
        let most = Int::from(i64::from(size));
        if node.range.non_negative() && node.range.high < most {
            return self.low(&node, width);
        }
        if size == 1 {
            return Expr::number(width, 0);
        }
        if size.is_power_of_two() {
            return self.low(&node, index_bits(u64::from(size))).resized(false, width);
        }
        let (bits, signed) = node.bits();
        let bits = bits.max(index_bits(u64::from(size)) + u32::from(signed));
        let value = self.low(&node, bits);
        let value = self.named("index", value);
        // A negative number is a large one.
        let inside = Expr::compare(CompareOp::Less, value.clone(), Expr::number(bits, u64::from(size)));
        Expr::select(inside, value.resized(false, width), Expr::number(width, 0))
    }

    /// Where a place lies. Dimensions that are not indexed count from their beginning.
    pub(crate) fn locate(&mut self, place: &ir::Place) -> Location {
        let ty = self.type_of(place.root);
        let (home, offset) = self.root_home(place.root);
        let width = home.index_width();
        let mut flat = Expr::number(width, 0);
        for (index, &size) in place.indices.iter().zip(&ty.dims) {
            let index = self.index(index, size, width);
            flat = times(flat, u64::from(size)).plus(index);
        }
        let rest: u64 = ty.dims.iter().skip(place.indices.len()).map(|&size| u64::from(size)).product();
        // Where a word is a row, rows are all that is meant.
        let mut at = times(flat, rest / u64::from(home.row));
        if let Some(offset) = offset {
            at = offset.plus(at);
        }
        Location { home, at }
    }

    /// The element at a place.
    pub(crate) fn load(&mut self, location: &Location) -> Expr {
        let Location { home, at } = location;
        match home.storage.clone() {
            Storage::Constant(value) => Expr::constant(value),
            Storage::Table(table) => match at.value().and_then(|at| at.to_u64()) {
                Some(at) => {
                    let value = self.module.tables[table.index()].values.get(at as usize);
                    value.map_or(Expr::number(home.width, 0), |value| Expr::constant(value.clone()))
                }
                None => Expr::lookup(table, at.clone(), home.width),
            },
            Storage::Signal(id) => {
                let whole = self.module.signal(id).width;
                if whole == home.width {
                    return self.get(id);
                }
                Expr::part(id, whole, location.bit(), home.width)
            }
            Storage::Memory(number) => {
                let like = format!("{}word", self.prefix);
                let word = self.variable(&like, home.width);
                self.push(Step::Read(number, at.clone(), word));
                self.get(word)
            }
        }
    }

    /// Stores an element.
    pub(crate) fn store(&mut self, location: &Location, value: Expr) {
        let Location { home, at } = location;
        // A variable keeps no more bits than its values need.
        let value = if value.width > home.width { value.slice(0, home.width) } else { value };
        match home.storage {
            Storage::Signal(id) if self.module.signal(id).width == home.width => self.push(Step::Set(id, value)),
            Storage::Signal(id) => self.push(Step::SetPart(id, location.bit(), home.width, value)),
            Storage::Memory(number) => self.push(Step::Write(number, at.clone(), value)),
            // Nothing writes what never changes; what was refused lies there too.
            Storage::Table(_) | Storage::Constant(_) => {}
        }
    }

    /// So many elements from a place on as one value, the first in the lowest bits; nothing where they lie in several words of a memory.
    pub(crate) fn load_all(&mut self, location: &Location, n: u32) -> Option<Expr> {
        let Location { home, at } = location;
        match &home.storage {
            Storage::Signal(id) => Some(Expr::part(*id, self.module.signal(*id).width, location.bit(), n * home.width)),
            Storage::Constant(value) => Some(Expr::constant(value.clone())),
            Storage::Table(_) => {
                let from = at.value()?.to_u64()?;
                let width = home.index_width();
                let all = (0..u64::from(n)).rev().map(|ahead| {
                    let at = Expr::number(width, from + ahead);
                    self.load(&Location { home: home.clone(), at })
                });
                Some(Expr::concat(all.collect()))
            }
            Storage::Memory(_) => (n > 1 && n == home.row).then(|| self.load(location)),
        }
    }

    /// Stores so many elements at once, where they do not lie in several words of a memory; says whether.
    pub(crate) fn store_all(&mut self, location: &Location, n: u32, value: Expr) -> bool {
        if matches!(location.home.storage, Storage::Memory(_)) && n > 1 && n == location.home.row {
            self.store(location, value);
            return true;
        }
        let Storage::Signal(id) = location.home.storage else { return false };
        let width = n * location.home.width;
        if width == self.module.signal(id).width {
            self.push(Step::Set(id, value));
        } else {
            self.push(Step::SetPart(id, location.bit(), width, value));
        }
        true
    }
}
