//! Known answers as text that the test of a project reads, whatever its language.
//!
//! ```text
//! # comment
//! operation ctr
//! KEY 2b7e151628aed2a6abf7158809cf4f3c
//! INPUT -
//! OUTPUT -
//! accepted
//! ```
//!
//! Of a message the strings that go in and come out, in hexadecimal digits, `-` for the empty one; `words`, of a generator;
//! and whether it must be accepted or refused. Messages belong to the operation that was named last.

use crate::operation::STRINGS;
use crate::project::KnownAnswer;
use headrace_library::catalog::OperationSpec;
use std::fmt::Write as _;

/// The known answers of all operations.
pub(crate) fn text<'s>(specs: impl Iterator<Item = &'s OperationSpec>, known: &[KnownAnswer]) -> String {
    let mut text = String::new();
    for (position, spec) in specs.enumerate() {
        let _ = writeln!(text, "operation {}", spec.own_name());
        for answer in known.iter().filter(|answer| answer.operation == position) {
            for (role, constant, _) in STRINGS {
                let expected = answer.expected.as_ref().and_then(|expected| expected.get(&role));
                if let Some(bytes) = answer.strings.get(&role).or(expected) {
                    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    let _ = writeln!(text, "{constant} {}", if digits.is_empty() { "-" } else { &digits });
                }
            }
            if answer.words != 0 {
                let _ = writeln!(text, "words {}", answer.words);
            }
            text.push_str(if answer.expected.is_some() { "accepted\n" } else { "refused\n" });
        }
    }
    text
}
