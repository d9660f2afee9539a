//! Lvalues, with bounds checks. Variables and elements of lists, as expressions read them and statements write them.

use super::Code;
use super::node::{Node, index_proven};
use super::value::{Kind, Value};
use crate::c::code::{LISTS, SCALARS};
use crate::c::ctype::{self, Repr};
use crate::c::plan::Spelling;
use crate::c::text::{Text, text};
use headrace_ir::{Expr, Int, Place, RealType, Root, Scalar};

/// An expression for where a list begins.
#[derive(Clone, Debug)]
pub struct Pointer {
    /// The expression.
    pub text: Text,
    /// Whether it is the address of something, and no name.
    is_address: bool,
}

impl Pointer {
    /// The beginning of what has a name.
    pub fn named(name: impl Into<Text>) -> Pointer {
        Pointer { text: name.into(), is_address: false }
    }

    /// The address of what an expression stands for, which is given with the operator.
    pub fn address(text: Text) -> Pointer {
        Pointer { text, is_address: true }
    }

    /// As what an index in brackets is put behind.
    pub fn base(&self) -> Text {
        if self.is_address { text!["(", self.text, ")"] } else { self.text.clone() }
    }
}

impl Code<'_> {
    /// The flat index of a place in scalars, and how many of them it covers. Dimensions that are not indexed count from
    /// their beginning.
    fn flat_index(&mut self, place: &Place) -> Option<Value> {
        let dims = self.type_of(place.root).dims.clone();
        if self.plan.options.lenient_indices
            && let Some(flat) = self.lenient_index(place, &dims)
        {
            return Some(flat);
        }
        let mut flat: Option<Value> = None;
        for (depth, index) in place.indices.iter().enumerate() {
            let Some(&size) = dims.get(depth) else { break };
            let index = self.index(index, size);
            let step = match flat {
                None => index,
                Some(flat) => {
                    let size = Value::int(&Int::from(i64::from(size)), Repr::I32);
                    let scaled = Value::infix("*", &flat.to(Repr::I32), &size, Kind::Int(Repr::I32));
                    Value::infix("+", &scaled, &index.to(Repr::I32), Kind::Int(Repr::I32))
                }
            };
            flat = Some(step);
        }
        let flat = flat?;
        let rest: u64 = dims.iter().skip(place.indices.len()).map(|&size| u64::from(size)).product();
        if rest == 1 {
            return Some(flat);
        }
        if let Some(constant) = &flat.constant {
            let scaled = constant.mul(&Int::from(rest));
            return Some(Value::int(&scaled, Repr::I32));
        }
        let rest = Value::int(&Int::from(rest), Repr::I32);
        Some(Value::infix("*", &flat.to(Repr::I32), &rest, Kind::Int(Repr::I32)))
    }

    /// The flat index of a place whose indices may lie beside their rows: what lies there in the whole list, row after row, and
    /// beside that the first one. `None` where no index can.
    fn lenient_index(&mut self, place: &Place, dims: &[u32]) -> Option<Value> {
        let indices: Vec<_> = place.indices.iter().zip(dims).collect();
        if indices.iter().all(|&(index, &size)| index_proven(&self.node(index).range, size)) {
            return None;
        }
        let mut sum = Text::default();
        for (depth, (index, _)) in indices.iter().enumerate() {
            let stride: u64 = dims[depth + 1..indices.len()].iter().map(|&size| u64::from(size)).product();
            let node = self.node(index);
            let value = self.index_value(&node).to(Repr::I64).to(Repr::U64);
            let plus = if depth == 0 { "" } else { " + " };
            sum = text![sum, plus, value.in_parentheses(), " * ", stride, "u"];
        }
        let n_places: u64 = dims[..indices.len()].iter().map(|&size| u64::from(size)).product();
        let rest: u64 = dims[indices.len()..].iter().map(|&size| u64::from(size)).product();
        let flat = text!["hr_index(", sum, ", ", n_places, ")"];
        let text = if rest == 1 { flat } else { text!["(", flat, " * ", rest, "u)"] };
        Some(Value::primary(text, Kind::Int(Repr::U64)))
    }

    fn index(&mut self, index: &Expr, size: u32) -> Value {
        let node = self.node(index);
        let span = index.span;
        if index_proven(&node.range, size) {
            return self.exact(&node);
        }
        if !self.checked_indices() {
            if size.is_power_of_two() {
                // Keeps what is inside as it is and brings the rest inside.
                let bits = u64::from(size.trailing_zeros()).max(1);
                let low = self.low(&node, bits);
                let mask = Value::int(&Int::from(i64::from(size) - 1), low.repr());
                let kind = low.kind;
                return Value::infix("&", &low, &mask, kind);
            }
            let value = self.index_value(&node);
            let value = value.to(Repr::I64).to(Repr::U64);
            return Value::primary(text!["hr_index(", value.text, ", ", size, ")"], Kind::Int(Repr::U64));
        }
        let value = self.index_value(&node);
        let value = self.named(value.clone(), value.repr().c());
        let unsigned = value.to(value.repr().unsigned());
        let bound = Value::int(&Int::from(i64::from(size)), unsigned.repr());
        let condition = text![unsigned.text, " >= ", bound.text];
        let shown = value.to(Repr::I64).text;
        self.stop(condition, "HEADRACE_TRAP_INDEX", span, shown, size);
        value
    }

    /// An index in a C integer; held at the limits of `int64_t` beyond them.
    fn index_value(&mut self, node: &Node<'_>) -> Value {
        if Repr::holding(&node.range).is_some() {
            return self.exact(node);
        }
        let mut small = |code: &mut Self, node: &Node<'_>| code.exact(node).to(Repr::I64);
        let mut general = |code: &mut Self, node: &Node<'_>| {
            let words = node.range.signed_bits().div_ceil(32) as u32;
            let name = code.wide(node, words);
            Value::primary(text!["hr_wide_saturated(", name, ", ", words, ")"], Kind::Int(Repr::I64))
        };
        self.by_counts(node, Kind::Int(Repr::I64), &mut small, &mut general).unwrap_or_else(|| general(self, node))
    }

    /// The name of a variable: a scalar, or a pointer to the first element of what is not.
    fn root(&mut self, root: Root) -> Text {
        match root {
            Root::Local(local) => self.slots[local.index()].text.clone(),
            Root::Actor(variable) => match self.plan.variable(variable.index()) {
                Spelling::Scalar(field) => {
                    self.uses_scalars = true;
                    text![SCALARS, "->", field]
                }
                Spelling::List(field) => {
                    self.uses_lists = true;
                    text![LISTS, "->", field]
                }
                Spelling::Table(name) | Spelling::Grid(name) => text![name],
                Spelling::Constant => Text::default(),
            },
        }
    }

    /// A place in a table that keeps its dimensions: an element, or a pointer to the first one of a sub-list.
    fn nested(&mut self, place: &Place) -> Option<Text> {
        let Root::Actor(variable) = place.root else { return None };
        let Spelling::Grid(name) = self.plan.variable(variable.index()) else { return None };
        let ty = self.type_of(place.root).clone();
        if ty.dims.len() < 2 || ctype::is_wide(ty.element) {
            return None;
        }
        let mut text = text![name];
        for (depth, &size) in ty.dims.iter().enumerate() {
            // Without an index the last dimension decays to the pointer.
            if let Some(index) = place.indices.get(depth) {
                let index = self.index(index, size);
                text = text![text, "[", index.text, "]"];
            }
        }
        Some(text)
    }

    /// The text of a root, the words of each of its elements, and the flat index.
    fn flattened(&mut self, place: &Place) -> (Text, u32, Option<Value>) {
        let words = ctype::words(self.type_of(place.root).element);
        let flat = self.flat_index(place);
        (self.root(place.root), words, flat)
    }

    /// An lvalue for a scalar of up to 64 bits, or a pointer to the words of a wide one.
    pub fn place(&mut self, place: &Place) -> Text {
        if let Some(text) = self.nested(place) {
            return text;
        }
        let (root, words, flat) = self.flattened(place);
        match flat {
            None => root,
            Some(flat) if words == 1 => text![root, "[", flat.text, "]"],
            Some(flat) => text!["&", root, "[", words, " * (", flat.text, ")]"],
        }
    }

    /// A pointer to the first element of a list or sub-list.
    pub fn list(&mut self, place: &Place) -> Text {
        self.list_pointer(place).text
    }

    /// The same with how tightly it binds.
    pub fn list_pointer(&mut self, place: &Place) -> Pointer {
        if let Some(text) = self.nested(place) {
            // A list of a list is one.
            return Pointer::named(text);
        }
        let (root, words, flat) = self.flattened(place);
        match flat {
            None => Pointer::named(root),
            Some(flat) if flat.constant.as_ref().is_some_and(|value| *value == Int::ZERO) => Pointer::named(root),
            Some(flat) if words == 1 => Pointer::address(text!["&", root, "[", flat.text, "]"]),
            Some(flat) => Pointer::address(text!["&", root, "[", words, " * (", flat.text, ")]"]),
        }
    }

    /// Reads a scalar of up to 64 bits.
    pub fn load(&mut self, place: &Place) -> Value {
        let scalar = self.type_of(place.root).element;
        if let Some(value) = self.plan.folded(place) {
            return constant_value(&value, scalar);
        }
        let text = self.place(place);
        match scalar {
            Scalar::Bool => Value::primary(text, Kind::Bool),
            Scalar::String => Value::primary(text, Kind::Text),
            Scalar::Real(RealType::Double) => Value::primary(text, Kind::Real),
            Scalar::Real(RealType::Float) => Value::primary(text, Kind::Real).cast("double", Kind::Real),
            Scalar::Real(RealType::Half) => Value::primary(text!["hr_half_value(", text, ")"], Kind::Real),
            Scalar::Int(ty) => match ctype::storage_words(ty) {
                Some(words) => Value::primary(text!["hr_wide_low(", text, ", ", words, ")"], Kind::Int(Repr::U64)),
                None => {
                    let own = match place.root {
                        Root::Local(local) => self.slots[local.index()].repr.filter(|_| place.indices.is_empty()),
                        Root::Actor(_) => None,
                    };
                    Value::primary(text, Kind::Int(own.unwrap_or(Repr::of_storage(ty))))
                }
            },
        }
    }

    /// Reads an integer whose interval fits `result`.
    pub fn load_exact(&mut self, place: &Place, result: Repr) -> Value {
        let value = self.load(place);
        if ctype::is_wide(self.type_of(place.root).element) { value.to(result) } else { value }
    }

    /// Reads the low bits of an integer.
    pub fn load_low(&mut self, place: &Place, class: Repr) -> Value {
        let value = self.load(place);
        if value.repr().bits() > class.bits() { value.to(class) } else { value }
    }
}

/// A constant as an expression reads it.
fn constant_value(value: &headrace_ir::Value, scalar: Scalar) -> Value {
    match (value, scalar) {
        (headrace_ir::Value::Bool(value), _) => Value::bool(*value),
        (headrace_ir::Value::Int(value), Scalar::Int(ty)) => {
            if ty.width > 64 {
                Value::int(&value.clone().wrap(headrace_ir::IntType::unsigned(64)), Repr::U64)
            } else {
                Value::int(value, Repr::of_storage(ty))
            }
        }
        (headrace_ir::Value::Real(value), _) => Value::primary(ctype::real_literal(*value), Kind::Real),
        (headrace_ir::Value::String(text), _) => Value::primary(ctype::text_literal(text), Kind::Text),
        _ => Value::int(&Int::ZERO, Repr::I32),
    }
}
