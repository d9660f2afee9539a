//! Code versioning of shifts. Shifts by counts of which the program does not say that they are small: their values as a whole
//! may need thousands of bits, and hardly ever do. Code looks at the counts, and computes in 64 bits where these allow it.
//!
//! Example: in `x < (1 << n) - 1`, with an `int` n, the right side is a number of up to 2049 bits; with n at most 60, which
//! is tested first, it is one of 64.

use super::code::Code;
use super::code::node::Node;
use super::code::value::{Kind, Value};
use super::ctype::Repr;
use super::text::{Declared, text};
use headrace_ir::Int;

impl Code<'_> {
    /// The value by the usual case where counts are small and by the general one elsewhere; nothing when small counts do not
    /// help.
    pub fn by_counts(
        &mut self,
        node: &Node<'_>,
        kind: Kind,
        small: &mut dyn FnMut(&mut Self, &Node<'_>) -> Value,
        general: &mut dyn FnMut(&mut Self, &Node<'_>) -> Value,
    ) -> Option<Value> {
        let (narrow, counts) = node.with_small_counts(&|range| Repr::holding(range).is_some())?;
        let mut condition: Option<Value> = None;
        for (count, most) in counts {
            let by = self.exact(count);
            let limit = Value::int(&Int::from(most), by.repr());
            let holds = Value::infix("<=", &by, &limit, Kind::Bool);
            condition = Some(match condition {
                None => holds,
                Some(before) => Value::infix("&&", &before, &holds, Kind::Bool),
            });
        }
        let condition = condition?;
        let yes = self.capture(|code| small(code, &narrow));
        let no = self.capture(|code| general(code, node));
        let ty = match kind {
            Kind::Int(repr) => repr.c(),
            Kind::Bool => "bool",
            Kind::Real | Kind::Text => return None,
        };
        let name = self.temporary("usual");
        self.line(text![ty, " ", Declared(&name), ";"]);
        self.branches(&name, &condition, [yes, no]);
        Some(Value::primary(name, kind))
    }
}
