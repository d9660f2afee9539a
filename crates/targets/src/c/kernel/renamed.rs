//! Renaming of tables and objects. Names of a loop that a pass has made of another: its tables are others, and some
//! objects may be local to its function.

use super::{Memo, Names, Shared};
use headrace_source::Span;
use headrace_transform::kernel::{Object, TableId};

/// The names of the loop that it was, but for tables and objects of its own.
pub struct Renamed<'a> {
    /// Names of all else.
    pub names: &'a dyn Names,
    /// Beginning of the names of tables.
    pub tables: String,
    /// Local variables of the function.
    pub own: &'a [Object],
}

impl Names for Renamed<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        self.names.input(port, offset)
    }
    fn input_bytes(&self, port: u32, offset: i64, n: u32) -> Option<String> {
        self.names.input_bytes(port, offset, n)
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        self.names.output(port, offset, value)
    }
    fn output_bytes(&self, port: u32, offset: u64, n: u32) -> Option<String> {
        self.names.output_bytes(port, offset, n)
    }
    fn element(&self, object: &Object, index: &str) -> String {
        match self.own.iter().any(|own| own.name == object.name) {
            true if object.length == 1 => object.name.clone(),
            true => format!("{}[{index}]", object.name),
            false => self.names.element(object, index),
        }
    }
    fn memo(&self, multiplier: &Object) -> Option<Memo> {
        self.names.memo(multiplier)
    }
    fn table(&self, table: TableId) -> String {
        format!("{}{}", self.tables, table.0)
    }
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        self.names.check(condition, index, length, span)
    }
    fn entered(&self) -> String {
        self.names.entered()
    }
    fn shared(&self, identity: &str, objects: &[&Object]) -> Option<Shared<'_>> {
        self.names.shared(identity, objects)
    }
    fn instruction(&self, description: u32, operands: &[String]) -> String {
        self.names.instruction(description, operands)
    }
}
