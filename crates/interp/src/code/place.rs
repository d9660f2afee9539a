//! Places: where a variable, element or sub-list lies when the code runs.

use super::{Compiled, Home, Scope, Word, malformed};
use crate::machine::{Class, Element, Extent, Fault, Machine, trap};
use headrace_ir::{Place, Root, Type};
use headrace_source::Span;

/// One index that is not a constant.
pub(super) struct Index {
    pub value: Word,
    pub size: u32,
    pub stride: usize,
    pub span: Span,
}

/// The elements that one index that is not constant reaches, in the units of [`Address`].
pub(super) struct Reach {
    offset: usize,
    size: u64,
    stride: usize,
    room: usize,
    span: Span,
}

impl Reach {
    /// How far from the root the element lies.
    #[inline]
    pub fn at(&self, m: &Machine<'_>, index: i64) -> Result<usize, Fault> {
        if (index as u64) < self.size {
            return Ok(self.offset + index as usize * self.stride);
        }
        self.beside(m, index)
    }

    #[cold]
    fn beside(&self, m: &Machine<'_>, index: i64) -> Result<usize, Fault> {
        may_be_outside(m, index, self.size, self.span)?;
        let at = (self.offset as i64).wrapping_add(index.wrapping_mul(self.stride as i64));
        Ok(within(at, self.room))
    }
}

/// An index outside its list is an error unless the user wants none.
#[cold]
fn may_be_outside(m: &Machine<'_>, index: i64, size: u64, span: Span) -> Result<(), Fault> {
    if m.lenient_indices { Ok(()) } else { Err(trap(format!("index {index} is outside 0..{}", size - 1), span)) }
}

/// What indices outside stand for, some of them beside their rows: the element that lies there in the whole list, row after
/// row, as in C, and beside that the first one.
fn within(at: i64, room: usize) -> usize {
    usize::try_from(at).ok().filter(|&at| at <= room).unwrap_or(0)
}

/// The address of a place: constant indices are folded into the home, except those that are out of range.
pub(super) struct Address {
    pub home: Home,
    pub offset: usize,
    pub indices: Vec<Index>,
    /// The largest offset within the root.
    pub room: usize,
    pub ty: Type,
    /// How elements lie, when the root is a list of words: offsets and strides are in bytes then.
    pub element: Option<Element>,
}

impl Address {
    /// Takes out the index that is not constant, if there is just one, with what it reaches.
    pub fn only_index(&mut self) -> Option<(Word, Reach)> {
        if self.indices.len() > 1 {
            return None;
        }
        let Index { value, size, stride, span } = self.indices.pop()?;
        Some((value, Reach { offset: self.offset, size: u64::from(size), stride, room: self.room, span }))
    }

    /// The address in the memory that the root lies in.
    #[inline]
    pub fn locate_any(&self, m: &mut Machine<'_>) -> Result<usize, Fault> {
        match (self.element, Class::of(self.ty.element)) {
            (Some(_), _) => self.locate(m, |extent| extent.lists),
            (None, Class::Word) => self.locate(m, |extent| extent.words),
            (None, Class::Wide) => self.locate(m, |extent| extent.wides),
            (None, Class::Text) => self.locate(m, |extent| extent.texts),
        }
    }

    /// The address in the memory of the elements' class; `base` picks the part of an extent that belongs to it.
    #[inline]
    pub fn locate(&self, m: &mut Machine<'_>, base: fn(&Extent) -> usize) -> Result<usize, Fault> {
        let mut at = self.offset as i64;
        let mut is_beside = false;
        for index in &self.indices {
            let value = index.value.get(m)?;
            if (value as u64) >= u64::from(index.size) {
                may_be_outside(m, value, u64::from(index.size), index.span)?;
                is_beside = true;
            }
            at = at.wrapping_add(value.wrapping_mul(index.stride as i64));
        }
        let at = if is_beside { within(at, self.room) } else { at as usize };
        Ok(at
            + match self.home {
                Home::Fixed(at) => at,
                Home::State(at) => base(&m.state) + at,
                Home::Frame(at) => base(&m.frame) + at,
                Home::Reference(at) => m.memory.words[m.frame.words + at] as usize,
            })
    }
}

impl Scope<'_> {
    /// Where the root of a place is, and its type.
    fn root(&self, place: &Place) -> Compiled<(Home, &Type)> {
        let entry = match place.root {
            Root::Actor(id) => self.context.variables.get(id.index()),
            Root::Local(id) => self.frame.homes.get(id.index()),
        };
        match entry {
            Some((home, ty)) => Ok((*home, ty)),
            None => malformed("a variable that does not exist", place.span),
        }
    }

    /// The type of a place.
    pub(super) fn place_type(&self, place: &Place) -> Compiled<Type> {
        let (_, ty) = self.root(place)?;
        if place.indices.len() > ty.dims.len() {
            return malformed("more indices than dimensions", place.span);
        }
        Ok(ty.after_indices(place.indices.len()))
    }

    pub(super) fn address(&self, place: &Place) -> Compiled<Address> {
        let (home, root) = self.root(place)?;
        let ty = self.place_type(place)?;
        let is_packed = root.is_list() && Class::of(root.element) == Class::Word;
        let element = is_packed.then(|| Element::of(root.element));
        let mut address = Address { home, offset: 0, indices: Vec::new(), room: 0, ty, element };
        let whole = root.len() * element.map_or(1, Element::bytes);
        let mut stride = whole;
        for (index, &size) in place.indices.iter().zip(&root.dims) {
            stride /= (size as usize).max(1);
            match self.index(index)? {
                Word::Const(value) if (value as u64) < u64::from(size) => address.offset += value as usize * stride,
                value => address.indices.push(Index { value, size, stride, span: index.span }),
            }
        }
        address.room = whole - stride;
        Ok(address)
    }
}
