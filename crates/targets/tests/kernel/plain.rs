//! Plain names for what lies outside of a loop.

use headrace_source::Span;
use headrace_targets::c::kernel::Names;
use headrace_transform::kernel::{Object, TableId};

/// Ports and elements by their numbers and names; the number tells the tables of one loop from those of another.
pub struct Plain(pub usize);

impl Names for Plain {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("in{port}[{offset}]")
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        format!("out{port}[{offset}] = {value};")
    }
    fn element(&self, object: &Object, index: &str) -> String {
        format!("s->{}[{index}]", object.name)
    }
    fn check(&self, condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        format!("if (!({condition})) return;")
    }
    fn table(&self, table: TableId) -> String {
        format!("table{}_{}", self.0, table.0)
    }
}
