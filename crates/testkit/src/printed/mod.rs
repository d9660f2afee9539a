//! Random networks in the languages of targets: many of them are compiled together into one program, which shows what came
//! out of each, and must show what the interpreter shows.
//!
//! | file | what stands there |
//! | --- | --- |
//! | `one` | a random network with what the interpreter shows, and what a program shows held to it |
//! | `c` | programs in C around networks in C and in LLVM IR |
//! | `cpp`, `java`, `rust`, `wasm` | programs in these languages |
//! | `campaign` | as many networks as there is time for |
//! | `names` | networks in which things are called by words of languages |

mod c;
pub mod campaign;
mod cpp;
mod java;
pub mod names;
mod one;
mod rust;
pub mod wasm;

pub use one::One;

use headrace_targets::project::Files;
use headrace_targets::toolchain::{Step, Toolchain};

/// A language in which programs of many networks are made. They are built and run with the tools of a toolchain.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// The name of the toolchain.
    pub name: &'static str,
    /// The files of a program of all networks; or why one of them cannot be printed.
    pub files: fn(&[One]) -> Result<Files, String>,
    /// What builds the program in the folder of its files, by the commands for the tools.
    pub build: fn(&[String]) -> Vec<Step>,
    /// What runs it there, with a toolchain and the commands for its tools.
    pub run: fn(&Toolchain, &[String]) -> Step,
}

/// All of them: one for each toolchain but those of [`ELSEWHERE`].
pub const ALL: &[Language] =
    &[c::HERE, c::AARCH64, c::ARM, c::RISCV64, c::LLVM, rust::RUST, wasm::WASM, cpp::CPP, java::JAVA];

/// Toolchains that have none, and where their networks are compared.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("xlim", "tests/printed_xlim.rs executes what is printed in its own process"),
    ("verilog", "tests/printed_hdl.rs simulates each network by itself"),
    ("verilog-icarus", "tests/printed_hdl.rs simulates each network by itself"),
    ("verilog-actors", "tests/printed_hdl.rs simulates each network by itself"),
    ("vhdl", "tests/printed_hdl.rs simulates each network by itself"),
    ("opencl", "without loops for devices it is the project in C; loops: tests/kernel_items.rs of the targets"),
    ("cuda", "without loops for devices it is the project in C; loops: tests/kernel_items.rs of the targets"),
];

/// The language of a toolchain.
pub fn named(name: &str) -> Option<&'static Language> {
    ALL.iter().find(|language| language.name == name)
}

/// For how many rounds of tokens in and out the network at a position of a program runs before it is begun anew and shown.
fn rounds_before(at: usize) -> usize {
    1 + at % 3
}

/// In one line each, what a target refuses.
fn refused(one: &One, problems: &[headrace_source::Diagnostic]) -> String {
    let lines: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    format!("seed {}: {}", one.seed, lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_toolchain_has_a_language() {
        for toolchain in headrace_targets::toolchain::of_known_answers() {
            let is_elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == toolchain.name);
            assert!(named(toolchain.name).is_some() != is_elsewhere, "no random networks run on {}", toolchain.name);
        }
    }
}
