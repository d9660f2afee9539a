//! A taint walk over compiled code: which branches, addresses and times of an x86-64 function depend on a secret.
//!
//! A compiler may turn a selection back into a branch, so a claim that code takes the same time whatever its secrets are has to
//! be held against the machine code. Valgrind does that for what it can execute, which ends with AVX2. The walk executes
//! abstractly: it decodes functions of an ELF file ([`Image`]), follows which bytes of registers and memory depend on what a
//! [`Scenario`] calls secret, and reports every place where that shows ([`Kind`]). `docs/machine-code.md` says what it promises.
//!
//! What an instruction reads and writes comes from the decoder, so that none has to be listed to be covered:
//!
//! ```text
//! vmovdqu64 (%rdi), %zmm0           zmm0 secret: memory that rdi points to is
//! vpsrlq    $4, %zmm0, %zmm1        zmm1 secret: it is written, and zmm0 is read
//! vptestmb  %zmm1, %zmm1, %k1       k1 secret
//! kmovq     %k1, %rax               rax secret
//! and       $15, %eax               eax secret in its lowest byte
//! mov       table(,%rax,4), %edx    finding: the address depends on a secret
//! ```

mod debug;
mod evaluate;
mod finding;
mod graph;
mod image;
mod library;
mod memory;
mod registers;
mod scenario;
mod state;
mod step;
mod value;
mod vector;
mod walk;

pub use finding::{Finding, Kind, Source};
pub use image::{Function, Image};
pub use scenario::{Argument, Contents, RegionId, Report, Scenario};

use std::fmt;

/// Why something could not be walked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The file is not what it should be.
    File(String),
    /// There is no function of that name.
    NoFunction(String),
    /// The debug information does not tell what was asked.
    Debug(String),
    /// A scenario is not well written.
    Scenario(String),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(why) | Self::Debug(why) | Self::Scenario(why) => out.write_str(why),
            Self::NoFunction(name) => write!(out, "there is no function {name}"),
        }
    }
}

impl std::error::Error for Error {}
