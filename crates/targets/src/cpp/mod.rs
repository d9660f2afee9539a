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

/// Words that C++ keeps for itself, macros of common platforms, and names that printed classes use.
const RESERVED: &[&str] = &[
    "Argument",
    "Error",
    "Host",
    "NAN",
    "NULL",
    "INFINITY",
    "EOF",
    "Status",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "clear",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "copy_elements",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "get",
    "get_word",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "linux",
    "load_big",
    "load_little",
    "long",
    "major",
    "minor",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "overwrite",
    "private",
    "protected",
    "public",
    "put",
    "put_word",
    "register",
    "reinterpret_cast",
    "requires",
    "restart",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "store_big",
    "store_little",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "wrapping_add",
    "wrapping_multiply",
    "wrapping_negate",
    "wrapping_subtract",
    "xor",
    "xor_eq",
];

/// A name that C++ takes. What printers add of their own ends in `_x`, and no name of a program does then.
fn name(text: &str) -> String {
    if RESERVED.contains(&text) || text.ends_with("_x") { format!("{text}_x") } else { text.to_owned() }
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
