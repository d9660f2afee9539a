//! Function builder for WebAssembly. A function as it grows: lines, types and addresses.

use super::memory::{Frame, Memory};
use headrace_program::{BinaryOp, Expr, ExprKind, FieldType, Function, Module, Place, Root, Type, VariableKind};
use std::cmp::Ordering;

/// What all functions of a module are printed with.
pub(super) struct Shared<'a> {
    pub(super) module: &'a Module,
    pub(super) memory: &'a Memory,
}

/// The function that is printed.
pub(super) struct Code<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) function: &'a Function,
    pub(super) frame: Frame,
    pub(super) out: String,
    pub(super) depth: usize,
    n_blocks: u32,
    /// Locals of the printer's own.
    pub(super) locals: Vec<String>,
    /// Labels of the loops around, with their numbers.
    pub(super) around: Vec<(headrace_program::Label, u32)>,
}

/// The local of words whose bytes change places.
pub(super) const SWAPPED: &str = "$swapped.word";

/// Where something lies: an address that is computed, and a constant beside it.
pub(super) struct Address {
    pub(super) base: Base,
    pub(super) offset: u32,
}

/// What an address counts from.
#[derive(Clone)]
pub(super) enum Base {
    /// The beginning of memory.
    Memory,
    /// What one instruction gives.
    Short(String),
    /// What several compute.
    Long(String),
}

impl Base {
    pub(super) fn text(&self) -> &str {
        match self {
            Base::Memory => "(i32.const 0)",
            Base::Short(text) | Base::Long(text) => text,
        }
    }
}

/// The type of a value.
pub(super) fn value(ty: Type) -> &'static str {
    match ty {
        Type::U64 | Type::I64 => "i64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        _ => "i32",
    }
}

impl<'a> Code<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, function: &'a Function) -> Self {
        Code {
            shared,
            function,
            frame: super::memory::frame(function),
            out: String::new(),
            depth: 2,
            n_blocks: 0,
            locals: Vec::new(),
            around: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(&"  ".repeat(self.depth));
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A line that opens a form, which [`Code::close`] ends.
    pub(super) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line(")");
    }

    /// A number for the blocks of a statement.
    pub(super) fn number(&mut self) -> u32 {
        self.n_blocks += 1;
        self.n_blocks
    }

    /// Where a record, array or field begins, and the type of what is there or of its elements.
    pub(super) fn locate(&self, place: &Place) -> (Address, Type) {
        let Shared { module, memory } = *self.shared;
        let variable = match place.root {
            Root::Table(table) => {
                let address = Address { base: Base::Memory, offset: memory.tables[table.index()] };
                return (address, module.tables[table.index()].element);
            }
            Root::Variable(variable) => &self.function.variables[variable.index()],
        };
        let base = Base::Short(format!("(local.get ${})", variable.name));
        let mut record = match variable.kind {
            VariableKind::Scalar(ty) | VariableKind::Array(ty, _) => return (Address { base, offset: 0 }, ty),
            VariableKind::Vector(_) => return (Address { base, offset: 0 }, Type::U8),
            VariableKind::Reference { element, .. } | VariableKind::Slice { element, .. } => {
                return (Address { base, offset: 0 }, element);
            }
            VariableKind::Record(id) => id,
        };
        let mut offset = 0;
        let mut ty = Type::Bool;
        for &field in &place.path {
            offset += memory.layouts.record(record).offsets[field as usize];
            match module.record(record).fields[field as usize].ty {
                FieldType::Scalar(own) | FieldType::Array(own, _) => ty = own,
                FieldType::Record(id) => record = id,
            }
        }
        (Address { base, offset }, ty)
    }

    /// Where an element lies.
    pub(super) fn element(&self, place: &Place, index: &Expr) -> (Address, Type) {
        let (Address { base, offset }, ty) = self.locate(place);
        let bytes = ty.bytes();
        if let Some(index) = index.constant()
            && let Ok(at) = u32::try_from(u64::from(offset) + index * u64::from(bytes))
        {
            return (Address { base, offset: at }, ty);
        }
        let index = self.expr(&scaled(index, bytes.trailing_zeros()));
        let base = match base {
            Base::Memory => index,
            Base::Short(base) | Base::Long(base) => format!("(i32.add {base} {index})"),
        };
        (Address { base: Base::Long(base), offset }, ty)
    }

    /// The same, of an index that may be a number and something else, and does not wrap then: the number is a part of the
    /// constant.
    pub(super) fn element_behind(&self, place: &Place, index: &Expr) -> (Address, Type) {
        if let ExprKind::Binary(BinaryOp::Add, a, b) = &index.kind
            && let Some((rest, behind)) = a.constant().map(|n| (b, n)).or(b.constant().map(|n| (a, n)))
        {
            let (address, ty) = self.element(place, rest);
            let bytes = u64::from(ty.bytes()) * behind;
            if let Some(offset) = u32::try_from(bytes).ok().and_then(|bytes| address.offset.checked_add(bytes)) {
                return (Address { offset, ..address }, ty);
            }
        }
        self.element(place, index)
    }

    /// The memory instruction of a type.
    pub(super) fn load(ty: Type, Address { base, offset }: &Address) -> String {
        let name = match ty {
            Type::Bool | Type::U8 => "i32.load8_u",
            Type::I8 => "i32.load8_s",
            Type::U16 => "i32.load16_u",
            Type::I16 => "i32.load16_s",
            Type::U32 | Type::I32 => "i32.load",
            Type::U64 | Type::I64 => "i64.load",
            Type::F32 => "f32.load",
            Type::F64 => "f64.load",
        };
        format!("({name}{} {})", shown(*offset), base.text())
    }

    pub(super) fn store(ty: Type, Address { base, offset }: &Address, operand: &str) -> String {
        let name = match ty {
            Type::Bool | Type::U8 | Type::I8 => "i32.store8",
            Type::U16 | Type::I16 => "i32.store16",
            Type::U32 | Type::I32 => "i32.store",
            Type::U64 | Type::I64 => "i64.store",
            Type::F32 => "f32.store",
            Type::F64 => "f64.store",
        };
        format!("({name}{} {} {operand})", shown(*offset), base.text())
    }
}

/// An index times a power of two. Bits that are cut out of a word are cut out where they are wanted: engines do not see that.
fn scaled(index: &Expr, shift: u32) -> Expr {
    let moved = |x: &Expr, right: u32, mask: u64| {
        let x = match right.cmp(&shift) {
            Ordering::Less => x.clone().shifted_left(shift - right),
            Ordering::Equal => x.clone(),
            Ordering::Greater => x.clone().shifted_right(right - shift),
        };
        x.and(Expr::u32((mask << shift) as u32))
    };
    let shifted = |expr: &Expr| match &expr.kind {
        ExprKind::Binary(BinaryOp::ShiftRight, x, count) if x.ty == Type::U32 => {
            Some(((**x).clone(), count.constant()? as u32))
        }
        _ => None,
    };
    let fits = |mask: u64| mask << shift <= u64::from(u32::MAX);
    match &index.kind {
        _ if shift == 0 => index.clone(),
        ExprKind::Binary(BinaryOp::And, x, mask) if mask.constant().is_some_and(fits) => {
            let (x, right) = shifted(x).unwrap_or(((**x).clone(), 0));
            moved(&x, right, mask.constant().unwrap_or_default())
        }
        _ => match shifted(index) {
            Some((x, right)) if right >= shift => moved(&x, right, u64::from(u32::MAX) >> right),
            _ => index.clone().shifted_left(shift),
        },
    }
}

fn shown(offset: u32) -> String {
    if offset == 0 { String::new() } else { format!(" offset={offset}") }
}

impl Address {
    /// As the operand of an instruction for memory.
    pub(super) fn operand(&self) -> String {
        format!("{} {}", shown(self.offset), self.base.text())
    }

    /// So many bytes behind it.
    pub(super) fn plus(&self, bytes: u32) -> Address {
        Address { base: self.base.clone(), offset: self.offset + bytes }
    }

    /// The whole address as a value.
    pub(super) fn text(&self) -> String {
        match (&self.base, self.offset) {
            (base, 0) => base.text().to_owned(),
            (Base::Memory, offset) => format!("(i32.const {offset})"),
            (base, offset) => format!("(i32.add {} (i32.const {offset}))", base.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_program::VariableId;

    #[test]
    fn bits_are_cut_out_where_they_are_wanted() {
        let x = || Expr::read(Place::variable(VariableId(0)), Type::U32);
        let byte = |n: u32| x().shifted_right(n).and(Expr::u32(255));
        assert_eq!(scaled(&byte(16), 2), x().shifted_right(14).and(Expr::u32(1020)));
        assert_eq!(scaled(&byte(2), 2), x().and(Expr::u32(1020)));
        assert_eq!(scaled(&byte(1), 3), x().shifted_left(2).and(Expr::u32(2040)));
        assert_eq!(scaled(&x().shifted_right(24), 2), x().shifted_right(22).and(Expr::u32(1020)));
        // Bits would be lost at the top, or come in at the bottom.
        assert_eq!(scaled(&x().and(Expr::u32(u32::MAX)), 1), x().and(Expr::u32(u32::MAX)).shifted_left(1));
        assert_eq!(scaled(&x().shifted_right(1), 2), x().shifted_right(1).shifted_left(2));
        assert_eq!(scaled(&byte(8), 0), byte(8));
    }
}
