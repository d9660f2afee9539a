//! Function builder for LLVM IR. A function as it grows: values, blocks, and where things lie.
//!
//! Names of variables are those of the program. Values and blocks of the printer's own have a dot in their names, which no
//! variable has.

use super::alias::{Access, BOOL_RANGE, Tags};
use super::module::table_name;
use super::types::{Structure, memory, value};
use crate::layout::Layouts;
use headrace_program::{
    Expr, FeatureSetId, Field, FieldType, Function, FunctionId, Label, Module, Place, Root, Type, VariableKind,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// What all functions of a module are printed with.
pub(super) struct Shared<'a> {
    pub(super) module: &'a Module,
    pub(super) layouts: &'a Layouts,
    pub(super) structures: &'a [Structure],
    /// Names of functions.
    pub(super) functions: &'a [String],
    /// Which functions take the host.
    pub(super) hosted: &'a [bool],
    /// What names of the outside begin with.
    pub(super) prefix: &'a str,
    /// Functions that put bytes of words in order, of which the functions printed so far call: order and type.
    pub(super) orders: RefCell<BTreeSet<(&'static str, &'static str)>>,
    /// Declarations of the intrinsic functions that the functions printed so far call.
    pub(super) intrinsics: RefCell<BTreeSet<String>>,
    /// The architecture that the module is for, where it is for one.
    pub(super) architecture: Option<&'static str>,
}

/// A loop around the statement that is printed.
pub(super) struct Around {
    pub(super) label: Label,
    /// The block of its next round, and the one behind it.
    pub(super) next: String,
    pub(super) end: String,
    pub(super) is_left: bool,
}

/// The function that is printed.
pub(super) struct Code<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) function: &'a Function,
    pub(super) tags: &'a mut Tags,
    pub(super) out: String,
    n_values: u32,
    n_blocks: u32,
    /// The place where statements go can be reached.
    pub(super) is_live: bool,
    pub(super) around: Vec<Around>,
}

/// Where elements or a scalar lie, and what is known of accesses to them.
pub(super) struct Spot {
    pub(super) pointer: String,
    pub(super) ty: Type,
    /// Elements of callers may lie anywhere.
    pub(super) is_aligned: bool,
    pub(super) access: Option<Access>,
    /// A slot of the function: a `Bool` in it is one bit.
    pub(super) is_slot: bool,
}

/// A position on the way into an array or a record.
struct Position {
    /// With its type.
    text: String,
    is_first: bool,
}

impl Position {
    fn number(number: u32) -> Position {
        Position { text: format!("i32 {number}"), is_first: number == 0 }
    }
}

impl<'a> Code<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, id: FunctionId, tags: &'a mut Tags) -> Self {
        let function = shared.module.function(id);
        let out = String::new();
        Code { shared, function, tags, out, n_values: 0, n_blocks: 0, is_live: true, around: Vec::new() }
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "  {text}");
    }

    /// A value of its own.
    pub(super) fn define(&mut self, text: &str) -> String {
        self.n_values += 1;
        let name = format!("%.{}", self.n_values);
        self.line(&format!("{name} = {text}"));
        name
    }

    /// A number for the blocks of a statement.
    pub(super) fn blocks(&mut self) -> u32 {
        self.n_blocks += 1;
        self.n_blocks
    }

    /// Statements go to this block from here on.
    pub(super) fn begin(&mut self, block: &str) {
        let _ = writeln!(self.out, "{block}:");
        self.is_live = true;
    }

    /// Goes on there, if this place can be reached.
    pub(super) fn go(&mut self, block: &str) {
        if self.is_live {
            self.line(&format!("br label %{block}"));
        }
        self.is_live = false;
    }

    pub(super) fn branch(&mut self, condition: &str, yes: &str, no: &str) {
        self.line(&format!("br i1 {condition}, label %{yes}, label %{no}"));
        self.is_live = false;
    }

    /// Whether functions for machines with features are printed, of the set of this number.
    pub(super) fn has_features(&self, features: FeatureSetId) -> bool {
        let set = self.shared.module.features.get(features.index());
        set.is_some_and(|set| self.shared.architecture == Some(set.architecture))
    }

    // --- addresses ---

    /// The type that a place is found in, its pointer, and the positions that lead to it.
    fn walk(&mut self, place: &Place) -> (String, String, Vec<Position>, Option<Access>, Option<FieldType>) {
        let Shared { module, structures, prefix, .. } = *self.shared;
        let variable = match place.root {
            Root::Table(table) => {
                let table = &module.tables[table.index()];
                let ty = format!("[{} x {}]", table.values.len(), memory(table.element));
                let name = format!("@{}", table_name(module, prefix, table));
                return (ty, name, vec![Position::number(0)], None, None);
            }
            Root::Variable(variable) => &self.function.variables[variable.index()],
        };
        let pointer = format!("%{}", variable.name);
        let zero = || vec![Position::number(0)];
        match variable.kind {
            VariableKind::Scalar(ty) => (value(ty).to_owned(), pointer, Vec::new(), None, None),
            VariableKind::Array(ty, len) | VariableKind::Reference { element: ty, len, .. } => {
                (format!("[{len} x {}]", memory(ty)), pointer, zero(), Some(Access::Elements(ty)), None)
            }
            VariableKind::Slice { element, .. } => (memory(element).to_owned(), pointer, Vec::new(), None, None),
            VariableKind::Vector(bits) => (super::vector::register(bits), pointer, Vec::new(), None, None),
            VariableKind::Record(id) => {
                let (mut record, mut path, mut access, mut last) = (Some(id), zero(), None, FieldType::Record(id));
                for &field in &place.path {
                    let Some(id) = record else { break };
                    path.push(Position::number(structures[id.index()].positions[field as usize]));
                    access = Some(Access::Field(id, field));
                    last = module.record(id).fields[field as usize].ty;
                    record = match last {
                        FieldType::Record(id) => Some(id),
                        _ => None,
                    };
                }
                (super::types::structure(module, id), pointer, path, access, Some(last))
            }
        }
    }

    /// The pointer to a position, in a record if the last field is known.
    fn pointer_to(&mut self, ty: &str, field: Option<FieldType>, pointer: &str, path: &[Position]) -> String {
        let is_there = match field {
            Some(_) => path.len() <= 1,
            None => path.iter().all(|position| position.is_first),
        };
        if is_there {
            return pointer.to_owned();
        }
        let path: Vec<&str> = path.iter().map(|position| position.text.as_str()).collect();
        self.define(&format!("getelementptr inbounds {ty}, ptr {pointer}, {}", path.join(", ")))
    }

    /// A pointer to a whole record, array or scalar.
    pub(super) fn reference(&mut self, place: &Place) -> String {
        let (ty, pointer, path, _, field) = self.walk(place);
        self.pointer_to(&ty, field, &pointer, &path)
    }

    /// Where a scalar lies.
    pub(super) fn scalar(&mut self, place: &Place, ty: Type) -> Spot {
        let (within, pointer, path, access, field) = self.walk(place);
        let is_slot = access.is_none();
        Spot { pointer: self.pointer_to(&within, field, &pointer, &path), ty, is_aligned: true, access, is_slot }
    }

    /// The type of the elements of an array.
    pub(super) fn element(&self, place: &Place) -> Type {
        let Shared { module, .. } = *self.shared;
        let variable = match place.root {
            Root::Table(table) => return module.tables[table.index()].element,
            Root::Variable(variable) => &self.function.variables[variable.index()],
        };
        match variable.kind {
            VariableKind::Scalar(ty) | VariableKind::Array(ty, _) => ty,
            VariableKind::Reference { element, .. } | VariableKind::Slice { element, .. } => element,
            VariableKind::Vector(_) => Type::U8,
            VariableKind::Record(_) => match module.fields(self.function, place).last() {
                Some(Some(Field { ty: FieldType::Scalar(ty) | FieldType::Array(ty, _), .. })) => *ty,
                _ => Type::Bool,
            },
        }
    }

    /// Where an element lies.
    pub(super) fn spot(&mut self, place: &Place, index: &Expr) -> Spot {
        let ty = self.element(place);
        let is_first = index.constant() == Some(0);
        let index = self.wide_index(index);
        let (within, pointer, mut path, access, field) = self.walk(place);
        path.push(Position { text: format!("i64 {index}"), is_first });
        let is_slice = matches!(place.root, Root::Variable(variable)
            if matches!(self.function.variables[variable.index()].kind, VariableKind::Slice { .. }));
        let pointer = self.pointer_to(&within, field, &pointer, &path);
        Spot { pointer, ty, is_aligned: !is_slice, access, is_slot: false }
    }

    /// An index as a number of 64 bits.
    pub(super) fn wide_index(&mut self, index: &Expr) -> String {
        match index.constant() {
            Some(value) => value.to_string(),
            None => {
                let index = self.value(index);
                self.define(&format!("zext i32 {index} to i64"))
            }
        }
    }

    // --- memory ---

    pub(super) fn known(&mut self, spot: &Spot) -> String {
        if spot.is_slot {
            return String::new();
        }
        let alignment = if spot.is_aligned { spot.ty.bytes() } else { 1 };
        let tag = spot.access.map_or(String::new(), |access| format!(", {}", self.tags.tag(access)));
        format!(", align {alignment}{tag}")
    }

    pub(super) fn load(&mut self, spot: &Spot) -> String {
        let known = self.known(spot);
        if spot.is_slot || spot.ty != Type::Bool {
            return self.define(&format!("load {}, ptr {}{known}", value(spot.ty), spot.pointer));
        }
        let byte = self.define(&format!("load i8, ptr {}{known}, {BOOL_RANGE}", spot.pointer));
        self.define(&format!("trunc i8 {byte} to i1"))
    }

    pub(super) fn store(&mut self, spot: &Spot, operand: &str) {
        let known = self.known(spot);
        let operand = if spot.is_slot { operand.to_owned() } else { self.in_memory(spot.ty, operand) };
        let ty = if spot.is_slot { value(spot.ty) } else { memory(spot.ty) };
        self.line(&format!("store {ty} {operand}, ptr {}{known}", spot.pointer));
    }

    /// A value as memory has it.
    pub(super) fn in_memory(&mut self, ty: Type, operand: &str) -> String {
        match (ty, operand) {
            (Type::Bool, "true") => "1".to_owned(),
            (Type::Bool, "false") => "0".to_owned(),
            (Type::Bool, _) => self.define(&format!("zext i1 {operand} to i8")),
            _ => operand.to_owned(),
        }
    }
}
