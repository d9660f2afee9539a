//! Target `rust`: a crate without the standard library that needs nothing but `core`, and the traits of RustCrypto where programs
//! want to use it by these. Its only unsafe code is that of functions for processors with features, and can be left out.
//!
//! Everything is settled by `lowering`; what is printed here is a lowered program in Rust's words.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `expression` | places and expressions |
//! | `function` | statements and functions |
//! | `module` | records, tables, and how the outside reaches a network |
//! | `shape` | the interface of an operation of the library |
//! | `traits` | nothing: which traits of RustCrypto operations have |
//! | `rustcrypto` | types with these traits |
//! | `answers` | the test on known answers |
//! | `project` | the crate around it |

mod answers;
pub(crate) mod contender;
mod expression;
mod function;
mod module;
pub mod project;
mod rustcrypto;
mod shape;
pub(crate) mod toolchain;
mod traits;

/// What stands at the root of crates and tests. Printed code is written for compilers, whose warnings it does not draw.
/// Of clippy all lints must be off: only passes of it that have none which is on are left out, and one takes minutes over
/// long chains of calls.
const NO_LINTS: &str = "#![allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]\n";

/// A name that Rust takes. What printers add of their own ends in two underscores, and no name of a program does then.
fn name(text: &str) -> String {
    headrace_program::language::RUST.spelled(text)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_stay_apart() {
        assert_eq!(name("round"), "round");
        assert_eq!(name("loop"), "loop__");
        assert_eq!(name("loop__"), "loop____");
    }
}
