//! Target `wasm`: WebAssembly modules with a wrapper in JavaScript and types, as an npm package without dependencies.
//!
//! Everything is settled by `lowering`; its structured statements are those of WebAssembly. What is printed here is the text
//! form, which is delivered beside the binary one that the crate `wat` makes of it: it is what a reader can compare with the
//! CAL, names and all.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `memory` | where tables, texts and arrays lie |
//! | `code` | a function as it grows: lines, types, addresses |
//! | `expression`, `statement` | what their names say |
//! | `lanes` | lanes as vectors |
//! | `module` | functions and data, what the outside calls |
//! | `shape` | the interface of an operation of the library, and its types |
//! | `answers` | the test on known answers |
//! | `project` | the package around it |

mod answers;
mod code;
pub(crate) mod contender;
mod expression;
mod lanes;
mod memory;
mod module;
pub mod project;
mod shape;
mod statement;
pub(crate) mod toolchain;
