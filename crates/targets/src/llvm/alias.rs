//! Alias metadata. Which accesses to memory can meet: what type-based alias metadata says to LLVM.
//!
//! Every field of a record is a type of its own: a store to the tokens of a FIFO leaves its counters alone. What a parameter
//! refers to may be any array of its elements, so the types of array fields are below one for all arrays of such elements.
//! What callers hand in has no type and may be anything.

use headrace_program::{FieldType, Module, RecordId, Type};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    /// An element of some array.
    Elements(Type),
    /// A field of a record, or an element of it.
    Field(RecordId, u32),
}

/// The accesses that a module has, with the numbers of their tags.
#[derive(Debug, Default)]
pub(super) struct Tags {
    numbers: BTreeMap<Access, u32>,
}

/// Numbers before these are used for other things.
const FIRST: u32 = 8;

/// The metadata that says of a byte that it is 0 or 1.
pub(super) const BOOL_RANGE: &str = "!range !0";

impl Tags {
    /// The attachment of an access.
    pub(super) fn tag(&mut self, access: Access) -> String {
        let next = FIRST + 2 * self.numbers.len() as u32;
        format!("!tbaa !{}", self.numbers.entry(access).or_insert(next))
    }

    /// All metadata.
    pub(super) fn text(&mut self, module: &Module) -> String {
        let mut parents = Vec::new();
        for access in self.numbers.keys() {
            if let Access::Field(record, field) = access
                && let FieldType::Array(ty, _) = module.record(*record).fields[*field as usize].ty
            {
                parents.push(Access::Elements(ty));
            }
        }
        parents.into_iter().for_each(|parent| drop(self.tag(parent)));
        let mut lines: BTreeMap<u32, String> = BTreeMap::new();
        for (access, &number) in &self.numbers {
            let (name, parent) = match access {
                Access::Elements(ty) => (format!("elements of {ty}"), 1),
                Access::Field(record, field) => {
                    let record = module.record(*record);
                    let field = &record.fields[*field as usize];
                    let parent = match field.ty {
                        FieldType::Array(ty, _) => self.numbers[&Access::Elements(ty)] + 1,
                        _ => 1,
                    };
                    (format!("{}.{}", record.name, field.name), parent)
                }
            };
            let own = number + 1;
            lines.insert(number, format!("!{{!{own}, !{own}, i64 0}}"));
            lines.insert(own, format!("!{{!\"{name}\", !{parent}, i64 0}}"));
        }
        let mut text = format!("!0 = !{{i8 0, i8 2}}\n!1 = !{{!\"{}\"}}\n", super::module::quoted(&module.name));
        for (number, line) in lines {
            let _ = writeln!(text, "!{number} = {line}");
        }
        text
    }
}
