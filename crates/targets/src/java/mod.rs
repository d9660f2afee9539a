//! Target `java`: a Maven project for Java 17 that needs nothing but the JDK, with the primitive as a provider of the JCA.
//!
//! Everything is settled by `lowering`; what is printed here is a lowered program in Java's words.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `expression` | places and expressions |
//! | `function` | statements and functions |
//! | `parts`, `size` | functions that are too large for one method |
//! | `reach` | which statements Java takes to end, so that it takes what follows |
//! | `network` | records, tables, and how the outside reaches a network |
//! | `shape` | the interface of an operation of the library |
//! | `provider` | the services of the JCA that are made of operations |
//! | `differences` | what the README says of these beside those of the JDK |
//! | `answers` | the test on known answers |
//! | `project` | the project around it |
//!
//! Java has neither unsigned integers nor arithmetic narrower than `int`. Integers of 32 and 64 bits are `int` and `long`
//! whatever their sign, and the operators that tell signs apart are chosen by the type. Narrower ones are stored in arrays
//! of `byte` and `short`; everywhere else they are an `int` of just their value.

mod answers;
pub(crate) mod contender;
mod differences;
mod expression;
mod function;
mod network;
mod parts;
pub mod project;
mod provider;
mod reach;
mod runtime;
mod shape;
mod size;
pub(crate) mod toolchain;

/// A name that Java takes. What printers add of their own ends in two underscores, and no name of a program does then.
fn name(text: &str) -> String {
    headrace_program::language::JAVA.spelled(text)
}

/// A literal of a text.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(b'"') => out.push_str("\\\""),
            Ok(b'\\') => out.push_str("\\\\"),
            Ok(b'\n') => out.push_str("\\n"),
            Ok(byte @ b' '..=b'~') => out.push(char::from(byte)),
            // Not `\u`, which is replaced before literals are read: a line could end there.
            Ok(byte) => out.push_str(&format!("\\{byte:03o}")),
            Err(_) => out.push_str(&format!("\\u{unit:04x}")),
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
        assert_eq!(name("switch"), "switch__");
        assert_eq!(name("switch__"), "switch____");
    }

    #[test]
    fn texts_stay_in_their_literals() {
        assert_eq!(literal("a\"\\\n\u{0}é€\u{1f600}"), r#""a\"\\\n\000\351\u20ac\ud83d\ude00""#);
    }
}
