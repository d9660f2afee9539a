//! Lowering of lvalues, with bounds checks. Places: where they lie, with indices that stay within.

use crate::code::Code;
use crate::machine::{holding, machine, wide_words, words};
use headrace_ir::{self as ir, Int, Scalar};
use headrace_program::{Expr, Place, Type};

/// A place of the program: a scalar, or elements of an array from one on.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) place: Place,
    /// First element; nothing for scalars, whose words are the whole of it.
    pub(crate) at: Option<Expr>,
}

impl Location {
    /// The first element, where it is an array.
    pub(crate) fn offset(&self) -> Expr {
        self.at.clone().unwrap_or(Expr::u32(0))
    }
}

impl Code<'_, '_> {
    /// An index that is below the size: the value where it is, and something else within where not.
    fn index(&mut self, index: &ir::Expr, size: u32) -> Expr {
        let node = self.node(index);
        let most = Int::from(i64::from(size));
        if node.range.non_negative() && node.range.high < most {
            return self.low(&node, Type::U32);
        }
        if size.is_power_of_two() {
            return self.low(&node, Type::U32).and(Expr::u32(size - 1));
        }
        let class = if holding(&node.range).is_some_and(|ty| ty.bits() == 32) { Type::U32 } else { Type::U64 };
        let value = self.low(&node, class);
        let value = self.named("index", value);
        let inside = value.clone().less(Expr::int(class, u64::from(size)));
        Expr::select(inside, value.to(Type::U32), Expr::u32(0))
    }

    /// Where a place lies. Dimensions that are not indexed count from their beginning.
    pub(crate) fn locate(&mut self, place: &ir::Place) -> Location {
        let ty = self.type_of(place.root).clone();
        let words = words(ty.element);
        let mut flat = Expr::u32(0);
        for (index, &size) in place.indices.iter().zip(&ty.dims) {
            let index = self.index(index, size);
            flat = flat.times(Expr::u32(size)).plus(index);
        }
        let rest: u32 = ty.dims.iter().skip(place.indices.len()).product();
        let flat = flat.times(Expr::u32(rest.wrapping_mul(words)));
        let (root, offset) = self.root_place(place.root);
        let at = match offset {
            _ if !ty.is_list() => None,
            Some(offset) => Some(offset.plus(flat)),
            None => Some(flat),
        };
        Location { place: root, at }
    }

    /// A scalar of up to 64 bits as it is kept.
    pub(crate) fn load(&mut self, place: &ir::Place) -> Expr {
        let scalar = self.type_of(place.root).element;
        if let Some(value) = self.plan.folded(place).cloned() {
            let ty = machine(scalar);
            let values = crate::machine::elements(&value, scalar, &mut |text| self.building.text(text));
            return Expr { kind: headrace_program::ExprKind::Constant(values.first().copied().unwrap_or(0)), ty };
        }
        let ty = self.kept_type(place.root);
        let Location { place, at } = self.locate(place);
        match at {
            None => Expr::read(place, ty),
            Some(at) => Expr::element(place, at, ty),
        }
    }

    /// The low 32 or 64 bits of an integer.
    pub(crate) fn load_low(&mut self, place: &ir::Place, ty: Type) -> Expr {
        if wide_words(self.type_of(place.root).element).is_none() {
            return self.load(place).to(ty);
        }
        let location = self.locate(place);
        self.low_of_words(&location, ty)
    }

    /// The low 32 or 64 bits of the words from a place on.
    pub(crate) fn low_of_words(&mut self, location: &Location, ty: Type) -> Expr {
        let at = location.offset();
        let word = |at: Expr| Expr::element(location.place.clone(), at, Type::U32);
        if ty.bits() == 32 {
            return word(at).to(ty);
        }
        let at = if at.is_plain() { at } else { self.named("at", at) };
        let high = word(at.clone().plus(Expr::u32(1))).to(Type::U64).shifted_left(32);
        word(at).to(Type::U64).or(high).to(ty)
    }

    /// Stores a scalar of up to 64 bits, as it is kept.
    pub(crate) fn store(&mut self, location: Location, value: Expr) {
        let Location { place, at } = location;
        self.push(match at {
            None => headrace_program::Stmt::Assign(place, value),
            Some(at) => headrace_program::Stmt::Store(place, at, value),
        });
    }

    /// A value of an expression as variables and elements of the type keep it.
    pub(crate) fn stored(&mut self, value: Expr, scalar: Scalar) -> Expr {
        match scalar {
            Scalar::Real(ty) => self.stored_real(value, ty),
            _ => value.to(machine(scalar)),
        }
    }
}
