//! Places: where a variable, element or sub-list lies when the code runs.

use super::{Compiled, Home, Scope, Word, malformed};
use crate::machine::{Fault, Machine, trap};
use headrace_ir::{Place, Root, Type};
use headrace_source::Span;

/// One index that is not a constant.
pub(super) struct Index {
    pub value: Word,
    pub size: u32,
    pub stride: usize,
    pub span: Span,
}

impl Index {
    #[inline]
    fn offset(&self, m: &mut Machine<'_>) -> Result<usize, Fault> {
        let value = self.value.get(m)?;
        let index =
            if (value as u64) < u64::from(self.size) { value } else { outside(m, value, self.size, self.span)? };
        Ok(index as usize * self.stride)
    }
}

/// What an index outside its list stands for: nothing, or its first element where the user wants that.
#[cold]
pub(super) fn outside(m: &Machine<'_>, index: i64, size: u32, span: Span) -> Result<i64, Fault> {
    if m.lenient_indices { Ok(0) } else { Err(trap(format!("index {index} is outside 0..{}", size - 1), span)) }
}

/// The address of a place: constant indices are folded into the home, except those that are out of range.
pub(super) struct Address {
    pub home: Home,
    pub offset: usize,
    pub indices: Vec<Index>,
    pub ty: Type,
}

impl Address {
    /// Takes out the index that is not constant, if there is just one.
    pub fn only_index(&mut self) -> Option<Index> {
        if self.indices.len() == 1 { self.indices.pop() } else { None }
    }

    /// The address in the memory of the elements' class; `base` picks the part of an extent that belongs to it.
    #[inline]
    pub fn locate(&self, m: &mut Machine<'_>, base: fn(&crate::machine::Extent) -> usize) -> Result<usize, Fault> {
        let mut at = self.offset;
        for index in &self.indices {
            at += index.offset(m)?;
        }
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
        let mut address = Address { home, offset: 0, indices: Vec::new(), ty };
        let mut stride = root.len();
        for (index, &size) in place.indices.iter().zip(&root.dims) {
            stride /= (size as usize).max(1);
            match self.index(index)? {
                Word::Const(value) if (value as u64) < u64::from(size) => address.offset += value as usize * stride,
                value => address.indices.push(Index { value, size, stride, span: index.span }),
            }
        }
        Ok(address)
    }
}
