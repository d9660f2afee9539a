//! Target `llvm`: textual LLVM IR with opaque pointers, one module a network, and the interface of the C target around
//! it.
//!
//! Everything is settled by `lowering`; what is printed here is a lowered program in the words of LLVM. Modules name no
//! machine: where fields lie is written out by packed structures, and every access says its alignment, so that a module
//! may be optimised before it is known what it is for. Functions for machines with features cannot be in such a module, as LLVM
//! compiles every function for the machine that it is told: where a network has some, there is a second module of the same
//! network with them, for one architecture. Both are whole, so that whoever compiles either needs nothing else, neither weak
//! symbols, which not every linker has, nor a module that stands in for what another machine lacks. Scalars are slots on the stack, as front ends make them; LLVM's
//! first iteration puts them into registers.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `types` | types and constants |
//! | `alias` | which accesses can meet, as metadata |
//! | `code` | a function as it grows: values, blocks, addresses |
//! | `expression`, `statement` | what their names say |
//! | `vector` | statements on vector registers |
//! | `processor` | the question what a processor has |
//! | `module` | structures, tables, functions, what the outside calls |
//! | `glue` | the header of a module, and its table of functions in C |
//! | `project` | build files, interface and test around modules |

mod alias;
mod code;
pub(crate) mod contender;
mod expression;
mod glue;
mod module;
mod processor;
pub mod project;
#[cfg(test)]
mod spelled;
mod statement;
pub(crate) mod toolchain;
mod types;
mod vector;
