//! Target `cpp`: headers for C++20, with a CMake package, that need nothing but the standard library.
//!
//! Everything is settled by `lowering`; what is printed here is a lowered program in C++'s words.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `expression` | places and expressions |
//! | `function` | statements and functions |
//! | `network` | records, tables, and how the outside reaches a network |
//! | `shape` | the interface of an operation of the library |
//! | `answers` | the test on known answers |
//! | `project` | the project around it |

mod answers;
pub(crate) mod contender;
mod expression;
mod function;
mod network;
pub mod project;
mod shape;
pub(crate) mod toolchain;

/// A name that C++ takes. What printers add of their own ends in `_x`, and no name of a program does then.
fn name(text: &str) -> String {
    headrace_program::language::CPP.spelled(text)
}

/// A literal of a text, in pieces that no compiler finds too long.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            // Not `??`, which older compilers take for the beginning of another sign.
            b' '..=b'~' if byte != b'?' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::{literal, name};

    #[test]
    fn names_stay_apart() {
        assert_eq!(name("round"), "round");
        assert_eq!(name("switch"), "switch_x");
        assert_eq!(name("switch_x"), "switch_x_x");
    }

    #[test]
    fn texts_stay_in_their_literals() {
        assert_eq!(literal("a\"\\\n\u{0}1é??="), r#""a\"\\\n\0001\303\251\077\077=""#);
    }
}
