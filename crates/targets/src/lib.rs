//! Target languages: a network in, the files of a program out.
//!
//! One folder a language, all of one shape: options, what is settled before anything is printed, and printing. Pure: a
//! target returns a map from path to bytes and does no IO.

pub mod c;

/// A target language, for those who list and choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it makes.
    pub about: &'static str,
    /// Commands of which one must be there to build and test what it makes.
    pub tools: &'static [&'static str],
}

/// All targets.
pub const ALL: &[Target] = &[Target {
    name: "c",
    about: "C11 without heap, globals or undefined behaviour; make, CMake and pkg-config",
    tools: &["gcc", "clang", "cc"],
}];
