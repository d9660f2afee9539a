//! Target `llvm`: textual LLVM IR with opaque pointers, one module a network, and the interface of the C target around
//! it.
//!
//! Everything is settled by `lowering`; what is printed here is a lowered program in the words of LLVM. Modules name no
//! machine: where fields lie is written out by packed structures, and every access says its alignment, so that a module
//! may be optimised before it is known what it is for. Scalars are slots on the stack, as front ends make them; LLVM's
//! first iteration puts them into registers.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `types` | types and constants |
//! | `alias` | which accesses can meet, as metadata |
//! | `code` | a function as it grows: values, blocks, addresses |
//! | `expression`, `statement` | what their names say |
//! | `module` | structures, tables, functions, what the outside calls |
//! | `glue` | the header of a module, and its table of functions in C |
//! | `project` | build files, interface and test around modules |

mod alias;
mod code;
pub(crate) mod contender;
mod expression;
mod glue;
mod module;
pub mod project;
mod statement;
pub(crate) mod toolchain;
mod types;
